//! Changes of tables for subscribers: PostgreSQL's logical replication with `pgoutput` (docs/design/0061).
//!
//! Read in this order:
//!  1. `syntax`: the replication commands that name a slot; `options`: what a subscriber asks of pgoutput.
//!  2. `source`: a thread for each stream. It reads the log out of the files, has `mote_replication::decoder` put
//!     transactions together, and makes messages of them.
//!  3. `output`: these messages; `rows`: rows of the log as values.
//!
//! The session's own coroutine (`connection/logical`) sends what the thread has made, and hears what the subscriber has.
//!
//! Promises: no worker waits for a disk; memory of a stream is a few pieces of log and messages, whatever a transaction's
//! length. Leaves out: slots (`mote_replication::slots`), what published tables write (`mote_engine`).

pub mod options;
pub mod output;
pub mod rows;
pub mod source;
pub mod syntax;
