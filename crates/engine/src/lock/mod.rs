//! Locks: who may change, or must wait for, rows, tables, transactions and advisory keys.
//!
//! Read in this order:
//!  1. `mode`: modes, strengths, conflicts;
//!  2. `ticket`: tags, tickets, reports: what the outside sees;
//!  3. `row`: the lock word of a version, for a row that one transaction has locked;
//!  4. `owner`: who holds or waits; `manager`: the lock table: holders and queues, first in first out, handed over directly;
//!  5. `deadlock`: the search for a cycle when a wait begins;
//!  6. `fast`: weak table locks without the lock table;
//!  7. `released`: what those knew who let go of a lock;
//!  8. `room`: waits for room in the log or in memory, which are not for locks and are waited for like them;
//!  9. `under_way`: whether many transactions that write are on their way to their commit, which the log's flusher asks.
//!
//! Source: PostgreSQL's lock.c (modes, conflicts, weak table locks beside the table), proc.c (queues) and deadlock.c (soft edges).
//! Other than there a cycle is looked for when a wait begins, not after deadlock_timeout; a lock is handed to the next in its queue
//! by who lets go; a row is locked in its version's word and moves into the lock table when a second one wants it, where
//! PostgreSQL writes tuple headers and multixacts.
//!
//! Promises: nothing here blocks a thread; a ticket is decided exactly once; whoever queues first among those that
//! conflict is granted first, but for rows, where only holders are in a newcomer's way (`manager`). Leaves out: what a row's uncommitted version locks by itself (`txn/admission.rs`).

mod mode;
mod ticket;
pub(crate) mod row;
pub(crate) mod owner;
pub(crate) mod manager;
mod deadlock;
mod fast;
mod released;
pub(crate) mod room;
pub(crate) mod under_way;

pub use mode::{RowLockStrength, TableLockMode, WaitPolicy};
pub use ticket::{
    AdvisoryKey, AdvisoryMode, AdvisoryScope, DeadlockEdge, DeadlockReport, LockInfo, LockMode, LockTag,
    MayWait, Room, Ticket, Wake,
};
