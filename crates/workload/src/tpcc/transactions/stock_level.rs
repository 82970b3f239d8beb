//! Stock-Level (clause 2.8): one counting statement over the last twenty orders; 2 round trips.

use super::{Client, Outcome};
use crate::tpcc::input::StockLevelInput;
use crate::tpcc::statements as st;
use mote_driver::DriverResult;

pub fn execute(client: &mut Client<'_, '_>, input: &StockLevelInput) -> DriverResult<Outcome> {
    let (w, d) = (input.warehouse, input.district);
    client
        .begin(st::STOCK_LEVEL_COUNT, |v| {
            v.int(w).int(input.threshold).int(w).int(d)
        })?
        .row("a count")?
        .long()?;
    client.commit()?;
    Ok(Outcome::Committed)
}
