//! PostgreSQL's isolation suite: what `isolationtester` and `pg_isolation_regress` do, over mote's own client code.
//!
//! Read in this order:
//!  1. `spec`: a test specification and its grammar.
//!  2. `connection`: a session that can be looked at while its statement runs.
//!  3. `table`: rows as libpq's PQprint shows them.
//!  4. `permutation`: one interleaving, and when a step counts as waiting.
//!  5. `suite`: all files, expected output, verdicts.
//!  6. `report`: the table of verdicts.
//!
//! Promises: on PostgreSQL the output is isolationtester's, byte for byte; so what differs on another server is the
//! server's doing.
//! Leaves out: Windows, authentication, and specifications in other encodings than UTF-8.

pub mod connection;
pub mod permutation;
pub mod report;
pub mod spec;
pub mod suite;
pub mod table;
