//! What every layer of mote shares and no layer owns.
//!
//! Read in this order:
//!  1. `ids`: the newtypes that name things (rows, tables, log positions).
//!  2. `error`: SQLSTATEs and the one error type that reaches a client.
//!  3. `prng`: seeded randomness, so that a test can be replayed.
//!  4. `heap`: what a thread has allocated, for those who keep what nobody can measure; `work`: how functions on long
//!     values pay for time and memory, and how they are ended.
//!  5. `env`: the only door to clock, disk, randomness and threads.
//!  6. `per_thread`: thread-local state that sessions may use; `sync`: how threads meet, also under a model checker;
//!     `critical`: sections in which a panic ends the process; `courtesy`: threads that do not interrupt others.
//!
//! Promises: nothing here knows SQL, rows or the wire; nothing here blocks except through `env`.
//! Leaves out: logging and metrics of particular subsystems, which live where they are produced.

pub mod critical;
pub mod ids;
pub mod error;
pub mod prng;
pub mod heap;
pub mod standby_names;
pub mod work;
pub mod env;
pub mod courtesy;
pub mod per_thread;
pub mod sync;

pub use error::{SqlError, SqlResult, SqlState};
pub use ids::{CommandId, IndexId, Lsn, Oid, RowId, TableId, Timestamp};
