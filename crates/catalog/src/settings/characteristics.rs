//! What BEGIN and SET TRANSACTION ask of a transaction, and the settings that show it.

use mote_engine::Isolation;
use mote_grammar::ast::IsolationLevel;

/// What the current transaction is. Kept among the settings, which answer from it: `transaction_isolation` and its kin
/// are true at any time, however they are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Characteristics {
    /// As it was asked for: READ UNCOMMITTED runs as READ COMMITTED and is shown as itself.
    pub isolation: IsolationLevel,
    pub read_only: bool,
    pub deferrable: bool,
}

impl Characteristics {
    pub fn engine_isolation(&self) -> Isolation {
        match self.isolation {
            IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
            IsolationLevel::Serializable => Isolation::Serializable,
        }
    }

    /// The value of a setting that tells of the transaction; None for all others.
    pub fn shown(&self, setting: &str) -> Option<&'static str> {
        let flag = |on: bool| if on { "on" } else { "off" };
        Some(match setting {
            "transaction_isolation" => isolation_text(self.isolation),
            "transaction_read_only" => flag(self.read_only),
            "transaction_deferrable" => flag(self.deferrable),
            _ => return None,
        })
    }
}

impl Default for Characteristics {
    fn default() -> Characteristics {
        Characteristics {
            isolation: IsolationLevel::ReadCommitted,
            read_only: false,
            deferrable: false,
        }
    }
}

pub const ISOLATION_HINT: &str =
    "Available values: serializable, repeatable read, read committed, read uncommitted.";

pub fn isolation_text(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "read uncommitted",
        IsolationLevel::ReadCommitted => "read committed",
        IsolationLevel::RepeatableRead => "repeatable read",
        IsolationLevel::Serializable => "serializable",
    }
}

/// The level that a setting's text names.
pub fn isolation_named(text: &str) -> Option<IsolationLevel> {
    Some(match text.to_ascii_lowercase().as_str() {
        "read uncommitted" => IsolationLevel::ReadUncommitted,
        "read committed" => IsolationLevel::ReadCommitted,
        "repeatable read" => IsolationLevel::RepeatableRead,
        "serializable" => IsolationLevel::Serializable,
        _ => return None,
    })
}
