//! PostgreSQL's regression suite, statement by statement: every file runs through psql on PostgreSQL 15 and on mote,
//! and what psql prints is compared.
//!
//! Read in this order:
//!  1. `script`: where a statement of a psql script ends.
//!  2. `schedule`: the files in their order, and which need which.
//!  3. `servers`: the two servers, with pg_regress's settings.
//!  4. `proxy`: what passes between psql and a server: errors, cancel keys, when COPY wants data.
//!  5. `session`: psql fed one statement at a time.
//!  6. `run`: a file on the reference, then what was recorded there on mote.
//!  7. `classify`, `cause`: how two answers differ, and which gap is behind it.
//!  8. `words`, `effects`, `following`: which other rows follow from an earlier difference.
//!  9. `known`: the list of those whose reason is known.
//! 10. `report`: the page, the list, and what stepped back since the page was written.
//! 11. `suite`: all of it.
//!
//! Promises: a statement that hangs or ends its session costs its own time and not the file; both servers get the same
//! text in the same order; the data of a COPY goes only to a server that asked for it.
//! Leaves out: the shared library of C functions (regress.so), which the suite builds for itself.

pub mod cause;
pub mod classify;
pub mod effects;
pub mod following;
pub mod known;
pub mod proxy;
pub mod report;
pub mod run;
pub mod schedule;
pub mod script;
pub mod servers;
pub mod session;
pub mod suite;
pub mod words;
