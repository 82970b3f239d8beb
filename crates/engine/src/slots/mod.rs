//! Who runs, what became of them, and what they may still read: the words that transactions share.
//!
//! Read `slot` first (a transaction's state, its registered snapshots, its fast locks), then `horizon` (which old versions
//! somebody may still read). Leaves out: what a transaction does (`txn`), which version a snapshot sees (`table`).
//!
//! Source: PostgreSQL's procarray.c has the same place; a snapshot there lists running transactions, here it is one position
//! in the log. Which versions a set of snapshots needs is the interval rule of Steam (Boettcher et al., VLDB 2019).

pub(crate) mod horizon;
pub(crate) mod slot;

pub use slot::TransactionId;
