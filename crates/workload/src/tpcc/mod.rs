//! The order-entry workload of TPC-C, revision 5.11, over BenchmarkSQL's schema and statements.
//!
//! Read in this order:
//!  1. `random`, `mix`, `input`, `input_audit`, `run_audit`: what terminals ask for, and whether they did.
//!  2. `schema`, `rows`, `load`: the database.
//!  3. `statements`, `transactions`: what goes over the wire.
//!  4. `terminal`: a terminal's life.
//!  5. `consistency`, `ledger`, `acid`: proofs; `delivery_results`: the file of clause 2.7.2.
//!  6. `settings`, `terminals`, `experiment`: a whole experiment, from an empty server to a verdict.
//!  7. `shards`: the same over several servers.
//!
//! Promises: every deviation from the specification is listed in [`DEVIATIONS`] and stands in every report. Results
//! are NOPM, never the benchmark's own metric, which belongs to audited results.

pub mod random;
pub mod mix;
pub mod input;
pub mod input_audit;
pub mod run_audit;
pub mod schema;
mod sizes;
pub mod rows;
pub mod load;
pub mod statements;
pub mod transactions;
pub mod terminal;
pub mod consistency;
pub mod row_consistency;
#[cfg(test)]
mod dialects;
pub mod ledger;
pub mod delivery_results;
pub mod acid;
pub mod settings;
mod terminals;
pub mod remote;
mod experiment;
pub mod shards;

pub use self::experiment::{
    Experiment, LimitVerdict, Observer, ShardsReport, experiment, experiment_over, experiment_with,
};
pub use self::settings::{ActiveWarehouses, HomeMode, Isolation, Settings};
pub use self::transactions::Execution;
pub use crate::loader::LoadMode;

/// Stands in every report.
pub const DISCLAIMER: &str =
    "Unaudited; derived from the TPC-C specification and not comparable to published TPC results.";

/// Where a run knowingly differs from the specification.
pub const DEVIATIONS: [&str; 12] = [
    "A run lasts as long as it was asked to, not the two hours of clause 5.5.2, and its steady state is not demonstrated.",
    "Without --pace there are as many terminals as connections, not ten per warehouse, and the 9 to 12.86 new orders a \
     minute and warehouse of clause 4.1.3 are exceeded; where terminals do not divide evenly among warehouses, some \
     warehouses have more.",
    "Fewer terminals than warehouses move: each transaction draws its warehouse, and Stock-Level a district of it.",
    "C_SINCE, H_DATE and O_ENTRY_D of loaded rows are one constant date, so that a seed gives the same database.",
    "Delivery searches its order among all undelivered ones of a district, as BenchmarkSQL sends it.",
    "Order lines are sent in the order of warehouse and item, so that concurrent orders lock stock rows in one order.",
    "Terminals have no screens; what they would show is read from the wire and dropped.",
    "Isolation is the server's default (READ COMMITTED on PostgreSQL, REPEATABLE READ on MariaDB), as BenchmarkSQL leaves it, unless a level was asked for.",
    "In the closed loop there is no keying or think time, and a delivery's deferred part runs on the same connection.",
    "A transaction that is refused with 40001, 40P01 or 55P03 is run again with the same input: it counts once, and its response time \
     covers all attempts.",
    "The driver may share the machine, and the processors, with the server it measures; durability (clause 3.5) is tried by commands \
     of its own, which kill servers.",
    "Over several servers the foreign keys of history to customer and of order line to stock are left out, and a reader may see a \
     transaction on one server a moment before the other.",
];
