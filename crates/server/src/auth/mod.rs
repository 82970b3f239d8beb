//! Who may connect: the method for a connection (`method`), the SCRAM exchange (`scram`), MD5 (`md5`), and who is at the
//! other end of a Unix socket (`peer`).
//!
//! The rules that choose the method are `mote_catalog::hba`'s. Leaves out: privileges on objects, which the plan names and the
//! executor checks.
//!
//! Source: PostgreSQL's auth.c and auth-scram.c; RFC 5802 and 7677.

pub mod md5;
mod method;
pub mod peer;
pub mod scram;

pub use method::AuthMethod;
