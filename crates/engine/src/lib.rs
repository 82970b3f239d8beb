//! The storage engine: rows in memory, transactions, locks, indexes, and the log that makes them durable.
//!
//! Read in this order:
//!  1. `engine`: what is open, and what runs in the background; `objects`: tables and sequences by id.
//!  2. `table`: rows and their versions.
//!  3. `txn`: snapshots, writes, commit.
//!  4. `slots`: who runs, and what they may still read; `lock`: who waits for whom.
//!  5. `index`, `epoch`: ordered indexes, and when memory may be freed.
//!  6. `mote_log`, `checkpoint`, `recovery`: what is on disk and how it comes back.
//!  7. `backup`: base backups, the archive of the log, point-in-time recovery.
//!  8. `follow`: another node's log, applied beside readers.
//!  9. `check`: is what is on disk sound?
//! 10. `memory`: budget and allocator; `sequence`: counters; `parallel`: pieces of work for several threads.
//!
//! Promises (docs/design/0002, 0003): a reader never waits for a writer; nothing here blocks a thread on a lock, it answers
//! `WriteError::MustWait`; what was acknowledged survives. Leaves out: SQL types, names, expressions, sessions.

pub mod backup;
pub mod check;
pub mod checkpoint;
mod engine;
pub mod epoch;
pub mod follow;
pub mod index;
mod lock;
mod memory;
mod objects;
mod parallel;
pub mod recovery;
mod sequence;
mod slots;
mod table;
mod txn;

pub use engine::promotion::PromotionError;
pub use engine::{Engine, EngineConfig, KeepLogFrom, OpenError};
pub use index::IndexMethod;
pub use lock::{
    AdvisoryKey, AdvisoryMode, AdvisoryScope, DeadlockEdge, DeadlockReport, LockInfo, LockMode, LockTag,
    MayWait, Room, RowLockStrength, TableLockMode, Ticket, WaitPolicy, Wake,
};
pub use memory::{
    MemoryAccount, MemoryCharge, MemoryRefused, MemoryReport, SessionMemory, UnlimitedMemory,
    give_memory_back,
};
/// What subscribers are told, as the log holds it.
pub use mote_log::told;
pub use mote_log::{Awaited, HorizonListener, Horizons, LEVELS, Level, LogUnavailable, Moved};
pub use sequence::{DrawnNumbers, Sequence, SequenceError};
pub use slots::TransactionId;
pub use table::prune::Collected;
pub use table::{
    CATALOG_TABLE, COLUMNS_MAX, ColumnSet, ColumnStorage, Definition, DefinitionCorrupt, FIRST_USER_TABLE,
    IndexDefinition, IndexList, KeyClass, KeyColumn, KeyExpressionProvider, KeyExpressions, KeyOutcome,
    KeyProgram, KeySource, KeyValue, Layout, ROW_BYTES_MAX, RowBuffers, RowChanges, RowTooLarge, RowView,
    RowWriter, SLOTS_AHEAD, SQL_CATALOG_TABLE, SequenceDefinition, SequenceId, StorageClass, Table,
    TableDefinition, TableIndex, VERSIONS_AHEAD,
};
pub use txn::{
    Access, BeginError, BeginOptions, BuildProgress, CommitError, CommitReceipt, EngineCore, FinishError,
    GID_BYTES_MAX, IndexBuild, Isolation, LockedRow, Lockers, OldRow, PrepareError, PrepareFailure,
    PreparedInfo, PreparedWrite, RevocationListener, RowVersion, Running, SavepointId, Snapshot,
    StatementStart, SuspendedStatement, TableSample, TableScan, Told, TrackingPause, Transaction,
    TruncatedTable, Undecided, WriteError, list_running_transactions,
};
