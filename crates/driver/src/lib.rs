//! The client half of PostgreSQL's wire protocol, and of MySQL's behind the same seam, built to cost the measuring machine as little as possible.
//!
//! Read in this order:
//!  1. `error`: what can go wrong, in three kinds.
//!  2. `url`: where the server is.
//!  3. `wire`: message framing and value encodings, as pure functions over byte buffers.
//!  4. `scram`: the password exchange.
//!  5. `statement`: statements with their constant bytes prepared once for all sessions.
//!  6. `fiber`: an epoll loop that runs thousands of terminals written in blocking style.
//!  7. `tls`, `socket`, `session`: one connection; a round trip is one write and one read.
//!  8. `form`, `mysql`: the wire of MariaDB and MySQL behind the same sessions.
//!  9. `odbc`: any driver of ODBC behind them, if it is built in; `dialect`: what Oracle and Db2 say differently.
//! 10. `admin`: the convenient slow path (text queries, COPY) for loading and checking.
//!
//! Promises: no allocation per statement in steady state; bytes and round trips are counted where they happen.
//! Leaves out: cancel requests, and every retry policy (the workload's business).

#![forbid(unsafe_code)]

pub mod error;
pub mod url;
pub mod wire;
mod scram;
pub mod statement;
pub mod fiber;
pub mod tls;
mod socket;
mod form;
pub mod dialect;
mod mysql;
#[cfg(feature = "odbc")]
mod odbc;
mod reply;
pub mod session;
pub mod admin;

pub use admin::Admin;
pub use error::{DriverError, DriverResult};
pub use fiber::{FiberLoop, Wait};
pub use reply::{Answers, Reply};
pub use session::Session;
pub use socket::Handed;
pub use statement::{Definition, Format, Param, StatementId, StatementSet};
pub use url::{System, Target};
