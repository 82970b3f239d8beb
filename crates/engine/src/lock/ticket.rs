//! Tickets: what a wait is known by outside the engine.

use super::mode::{RowLockStrength, TableLockMode};
use crate::slots::TransactionId;
use mote_common::{RowId, TableId};

/// Names one place in one queue, for as long as the wait lasts. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket(pub u64);

impl Ticket {
    /// Tickets of the queues for room count from here, those of the lock manager from zero.
    const FIRST_FOR_MEMORY: u64 = 1 << 62;
    const FIRST_FOR_LOG: u64 = 1 << 63;

    /// What its holder waits for room in. None: it waits for a lock.
    pub fn room(self) -> Option<Room> {
        match self.0 {
            Ticket::FIRST_FOR_LOG.. => Some(Room::Log),
            Ticket::FIRST_FOR_MEMORY.. => Some(Room::Memory),
            _ => None,
        }
    }
}

/// What can be full for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    Log,
    Memory,
}

impl Room {
    pub(crate) fn first_ticket(self) -> u64 {
        match self {
            Room::Log => Ticket::FIRST_FOR_LOG,
            Room::Memory => Ticket::FIRST_FOR_MEMORY,
        }
    }
}

/// Why a call had no result: perhaps only because it has to wait.
pub trait MayWait {
    /// What to wait for before the call is made again with the same arguments; None if the answer is final.
    fn ticket(&self) -> Option<Ticket>;
}

/// Told, from any thread and possibly while it is still being queued, that a ticket was decided: call the engine again
/// with the same arguments. Must not call back into the engine and must not block.
pub trait Wake: Send + Sync {
    fn wake(&self, ticket: Ticket);
}

/// What an advisory lock is named by: PostgreSQL's one 64-bit key or two 32-bit keys, within a database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AdvisoryKey {
    pub database: u32,
    pub key: u64,
    /// The key was given as two 32-bit numbers, which are another name space.
    pub two_parts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AdvisoryMode {
    Shared,
    Exclusive,
}

/// Who lets go of an advisory lock: the end of the transaction, or an unlock or the end of the session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AdvisoryScope {
    Transaction,
    Session,
}

/// What can be locked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockTag {
    Table(TableId),
    Row(TableId, RowId),
    /// The end of a transaction: waited for by whoever wants a key that it wrote.
    Transaction(TransactionId),
    Advisory(AdvisoryKey),
}

/// How a tag is locked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockMode {
    Table(TableLockMode),
    Row(RowLockStrength),
    /// Of a transaction's end: its owner holds it exclusively, others wait for it shared.
    Transaction {
        exclusive: bool,
    },
    Advisory(AdvisoryMode),
}

impl LockMode {
    /// The mode's name in pg_locks and in deadlock reports.
    pub fn name(self) -> &'static str {
        match self {
            LockMode::Table(mode) => mode.name(),
            LockMode::Row(strength) => strength.name(),
            LockMode::Transaction { exclusive: true } => "ExclusiveLock",
            LockMode::Transaction { exclusive: false } => "ShareLock",
            LockMode::Advisory(AdvisoryMode::Shared) => "ShareLock",
            LockMode::Advisory(AdvisoryMode::Exclusive) => "ExclusiveLock",
        }
    }
}

/// One edge of a deadlock: who waits for what, and who stands in the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockEdge {
    pub session: u32,
    pub transaction: TransactionId,
    pub tag: LockTag,
    pub mode: LockMode,
    pub blocked_by_session: u32,
    pub blocked_by_transaction: TransactionId,
    /// The blocker holds the lock; else it only waits further in front.
    pub blocker_holds: bool,
    /// By what the caller knows the table of the tag (`Table::set_label`); 0 = no table, or not known.
    pub label: u64,
}

/// The cycle, beginning with the wait that closed it and was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockReport {
    pub cycle: Vec<DeadlockEdge>,
}

/// A row of pg_locks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockInfo {
    pub tag: LockTag,
    pub mode: LockMode,
    pub session: u32,
    pub transaction: TransactionId,
    pub granted: bool,
    pub fast_path: bool,
}
