//! Transactions: snapshots, writes, commit and rollback.
//!
//! Read in this order:
//!  1. `engine_core`: what transactions need of the engine; `crate::slots`: where a transaction's state and snapshots stand, and what pruning must keep for them;
//!  2. `snapshot`: what a statement reads, and the rows it gets; `scan`: all rows of a table;
//!  3. `work`: what a transaction has done so far (`lent`: how it carries that); `transaction`: begin, statements, reads; `met` and
//!     `known`: what it knows of the commits of others; `error`: how calls end;
//!  4. `admission`: may this transaction write, or lock, this row now?
//!  5. `write`: insert, update, delete; `entries`: of indexes; `source`, `later_entries`: what replay does otherwise; `room`,
//!     `memory_wait`, `pace`: memory and log for them; `told`, `tell`: what subscribers are told; `deferred_keys`: keys that are judged
//!     later;
//!  6. `locking`: row, table and advisory locks as statements ask for them; `lockers`: waiting for who has them;
//!  7. `savepoint`, `undo`: taking writes and locks back;
//!  8. `commit`: the end, either way; `running`: who has not ended as a snapshot sees it, by `numbers`;
//!  9. `prepared`: PREPARE TRANSACTION, and what comes of it; `dormant`: prepared transactions until their decision;
//! 10. `tracking`, `reads`, `validate`: what SERIALIZABLE notes, and whether it still holds at commit; `later_snapshot`:
//!     and whether the transaction may go on with a newer snapshot;
//! 11. `ddl`: tables, layouts, indexes and sequences as rows of the catalog.
//!
//! Source: PostgreSQL's levels and what they do on conflicts (heapam.c, execMain.c: EvalPlanQual); snapshots that are one number and
//! SERIALIZABLE by validation at commit as in Hekaton (Larson et al., VLDB 2012) and Silo (Tu et al., SOSP 2013), where PostgreSQL
//! finds dangerous structures (predicate.c). docs/design/0002 and 0006 argue both.
//!
//! Promises: whatever can fail or wait does so before the commit step; an outcome that is not an error leaves nothing
//! half done. Leaves out: PREPARE of SERIALIZABLE transactions (refused there).

mod admission;
mod commit;
mod engine_core;
mod ddl;
mod deferred_keys;
mod dormant;
mod entries;
mod error;
mod known;
mod later_entries;
mod later_snapshot;
mod lent;
mod lockers;
mod locking;
mod memory_wait;
mod met;
mod numbers;
mod pace;
mod prepared;
mod reads;
mod replayed;
mod room;
mod running;
mod savepoint;
mod scan;
mod sequences;
mod snapshot;
mod source;
mod tell;
mod told;
mod tracking;
mod transaction;
mod undo;
mod validate;
mod work;
mod write;

#[cfg(test)]
mod tests;

pub use ddl::{BuildProgress, IndexBuild, TruncatedTable};
pub(crate) use dormant::PreparedTransactions;
pub use dormant::{GID_BYTES_MAX, PrepareError, PreparedInfo};
pub use engine_core::EngineCore;
pub use error::{BeginError, CommitError, CommitReceipt, WriteError};
pub use later_snapshot::StatementStart;
pub use lockers::Lockers;
pub(crate) use numbers::Numbers;
pub use numbers::{Running, list_running_transactions};
pub use prepared::{FinishError, PrepareFailure, PreparedWrite, Undecided};
pub(crate) use replayed::Replaying;
pub use scan::{TableSample, TableScan};
pub use snapshot::{RevocationListener, RowVersion, Snapshot};
pub use told::{OldRow, Told};
pub use tracking::TrackingPause;
pub use transaction::{Access, BeginOptions, Isolation, LockedRow, SuspendedStatement, Transaction};
pub use work::SavepointId;
