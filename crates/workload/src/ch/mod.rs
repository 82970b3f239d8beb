//! CH-benCHmark: TPC-H's questions asked of TPC-C's tables, after Cole et al., "The mixed workload CH-benCHmark" (DBTest 2011).
//!
//! Read in this order: this file (the queries for the laboratory), `tables` (what is loaded), `nations` (who supplies from
//! where), `queries`.
//!
//! Promises: rows follow from warehouses and seed alone. The twelve conditions of TPC-C hold on what is loaded, so that order
//! entry can run beside the queries.
//!
//! Deviates from the description: three facts of loaded rows that it leaves constant until transactions have run differ from
//! row to row (dates of orders and lines, quantities of lines, orders of stock), or half of the queries would have nothing to
//! answer; ranges of dates in the queries fit these rows. Nothing here is comparable to published figures.

mod nations;
mod queries;
mod tables;

pub use self::tables::Tables;
use super::answers::Question;

/// Where the tables lie, so that order entry's own are not dropped.
pub const SCHEMA: &str = "ch";

/// Stock of a warehouse and an item comes from the supplier of this number modulo this.
const SUPPLIERS: i64 = 10_000;

/// All 22 queries.
pub fn questions() -> Vec<Question> {
    let asked = queries::QUERIES
        .iter()
        .zip(1..)
        .map(|((order, sql), number)| Question {
            number,
            sql: sql.to_string(),
            order,
            limit: None,
        });
    asked.collect()
}
