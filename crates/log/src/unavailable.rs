//! Why the log takes nothing, as those outside of the engine see it.

use super::LogError;

/// Why the log takes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogUnavailable {
    /// No space for new segments: 53100.
    DiskFull,
    /// No file descriptor for new segments: 53000.
    NoDescriptors,
    /// The engine is stopping, or its log failed.
    Stopped,
    /// The frame can never fit.
    TooLarge,
    /// The log was not kept any longer for this open transaction: 53400.
    KeepsTooMuch { kept_bytes: u64, limit_bytes: u64 },
    /// This node follows another one, whose log it is: 25006.
    Following,
}

impl From<LogError> for LogUnavailable {
    fn from(error: LogError) -> LogUnavailable {
        match error {
            LogError::DiskFull => LogUnavailable::DiskFull,
            LogError::NoDescriptors => LogUnavailable::NoDescriptors,
            LogError::TooLarge => LogUnavailable::TooLarge,
            LogError::Following => LogUnavailable::Following,
            LogError::KeepsTooMuch {
                kept_bytes,
                limit_bytes,
            } => LogUnavailable::KeepsTooMuch {
                kept_bytes,
                limit_bytes,
            },
            LogError::Stopped | LogError::RingFull { .. } => LogUnavailable::Stopped,
        }
    }
}
