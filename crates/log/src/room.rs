//! Room in the log that is set aside ahead: what must not wait once it has begun (a commit that publishes a change of the
//! catalog) takes it before. Sessions that wait for room queue in `mote_engine::lock::room`.

use super::segment::Scarcity;
use super::{Log, LogError, Shortage, frame_bytes};

/// Room for one frame or several, set aside. What is not used is given back.
pub struct SetAside {
    log: Log,
    bytes: u64,
}

impl SetAside {
    /// Takes room for a frame out of what was set aside: it counts as admitted until it is given back to the buffer.
    pub(super) fn draw(&mut self, bytes: u64) -> bool {
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                true
            }
            None => false,
        }
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        self.log.inner.buffer.give_back(self.bytes);
    }
}

impl Log {
    /// Sets room aside for `frames` frames with payloads of up to this size.
    pub fn set_aside(&self, payload_bytes: usize, frames: u64) -> Result<SetAside, LogError> {
        let bytes = frames * frame_bytes(payload_bytes);
        self.check_writable()?;
        match self.inner.buffer.set_aside(bytes) {
            Ok(()) => Ok(SetAside {
                log: self.clone(),
                bytes,
            }),
            Err(shortage) => Err(self.refusal(shortage)),
        }
    }

    /// Is there room for a frame of this size now? Nothing is promised: others may take it.
    pub fn look_for_room(&self, payload_bytes: usize) -> Result<(), LogError> {
        if self.inner.is_following() {
            return Err(LogError::Following);
        }
        match self.inner.buffer.look(frame_bytes(payload_bytes)) {
            Ok(()) => Ok(()),
            Err(shortage) => Err(self.refusal(shortage)),
        }
    }

    pub(super) fn check_writable(&self) -> Result<(), LogError> {
        match () {
            () if self.inner.is_following() => Err(LogError::Following),
            () if self.inner.is_stopped() => Err(LogError::Stopped),
            () => Ok(()),
        }
    }

    /// Asks for what is missing, and says what it is.
    #[cold]
    pub(super) fn refusal(&self, shortage: Shortage) -> LogError {
        match shortage {
            Shortage::Ring { until } => {
                self.request_flush();
                LogError::RingFull {
                    until: mote_common::Lsn(until),
                }
            }
            Shortage::Segment => {
                self.inner.prepare_bell.ring();
                match self.inner.segments.scarcity() {
                    Scarcity::Space => LogError::DiskFull,
                    Scarcity::Descriptors => LogError::NoDescriptors,
                    Scarcity::None => LogError::RingFull { until: self.tail() },
                }
            }
        }
    }
}
