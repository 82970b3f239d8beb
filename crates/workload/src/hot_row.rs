//! One row that everybody updates: N connections, each UPDATE a durable transaction of its own.
//!
//! What limits it is how long a row stays locked: a system that holds the lock until its log is on disk makes at most one
//! update per flush.

use std::borrow::Cow;
use std::sync::Arc;

use super::closed_loop::{self, LoopPlan, Step};
use mote_driver::{Admin, Definition, DriverResult, StatementId, StatementSet, Target};
use mote_measure::RunOutcome;
use mote_measure::outcome::SeriesPoint;

pub const KINDS: &[&str] = &["UPDATE"];
const UPDATE: StatementId = StatementId(0);

/// The set as sessions share it.
pub fn shared_statements() -> Arc<StatementSet> {
    Arc::new(StatementSet::new(vec![Definition {
        sql: Cow::Borrowed("UPDATE bench_hot_row SET v = v + 1 WHERE k = 1"),
        params: Cow::Borrowed(&[]),
        results: &[],
    }]))
}

/// Two rows: the hot one, and one more for deadlocks.
pub fn set_up(target: &Target) -> DriverResult<()> {
    let mut admin = Admin::connect(target)?;
    admin.execute("DROP TABLE IF EXISTS bench_hot_row")?;
    admin.execute("CREATE TABLE bench_hot_row (k integer PRIMARY KEY, v bigint NOT NULL)")?;
    admin.execute("INSERT INTO bench_hot_row VALUES (1, 0), (2, 0)")
}

/// How often the row was updated: at least as often as was acknowledged.
pub fn count(target: &Target) -> DriverResult<u64> {
    let value = Admin::connect(target)?.value("SELECT v FROM bench_hot_row WHERE k = 1")?;
    Ok(value.and_then(|text| text.parse().ok()).unwrap_or(0))
}

pub fn run(plan: &LoopPlan<'_>, watch: &mut dyn FnMut(&SeriesPoint)) -> Result<RunOutcome, String> {
    closed_loop::run(plan, watch, &|_| step())
}

fn step() -> Step {
    Box::new(|session, wait| {
        session.send(UPDATE, |values| values);
        session.round_trip(wait)?;
        Ok(())
    })
}
