//! Failures of the driver: the network, the server's ErrorResponse, or bytes that make no sense.

use std::fmt;
use std::io;

/// The fields of an ErrorResponse that reports need.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerError {
    pub severity: String,
    pub sqlstate: String,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

#[derive(Debug)]
pub enum DriverError {
    /// The connection is unusable.
    Io(io::Error),
    /// The statement failed; the connection may live on (see `Session::is_usable`).
    Server(Box<ServerError>),
    /// The peer broke the protocol; the connection is unusable.
    Protocol(String),
}

pub type DriverResult<T> = Result<T, DriverError>;

impl DriverError {
    pub fn protocol(what: impl Into<String>) -> DriverError {
        DriverError::Protocol(what.into())
    }

    /// The SQLSTATE under which the outcome table counts this failure. Failures without one get the codes that
    /// SQL gives them: 08006 for a lost connection, 08P01 for a broken protocol.
    pub fn sqlstate(&self) -> &str {
        match self {
            DriverError::Io(_) => "08006",
            DriverError::Server(error) => &error.sqlstate,
            DriverError::Protocol(_) => "08P01",
        }
    }

    /// Serialization failure, deadlock, or a lock that was not to be had in time: running the same transaction again may
    /// succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self.sqlstate(), "40001" | "40P01" | "55P03")
    }

    /// Whether the session that raised it is lost.
    pub fn is_fatal(&self) -> bool {
        match self {
            DriverError::Io(_) | DriverError::Protocol(_) => true,
            DriverError::Server(error) => error.severity == "FATAL" || error.severity == "PANIC",
        }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverError::Io(error) => write!(f, "connection: {error}"),
            DriverError::Protocol(what) => write!(f, "protocol: {what}"),
            DriverError::Server(error) => {
                write!(f, "{} {}: {}", error.severity, error.sqlstate, error.message)?;
                if let Some(detail) = &error.detail {
                    write!(f, " ({detail})")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for DriverError {}

impl From<io::Error> for DriverError {
    fn from(error: io::Error) -> DriverError {
        DriverError::Io(error)
    }
}
