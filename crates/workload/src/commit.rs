//! Commits and nothing else: N connections, each updates a row of its own, one durable transaction per round trip.

use std::borrow::Cow;
use std::sync::Arc;

use super::closed_loop::{self, LoopPlan, Step};
use mote_driver::{Admin, Definition, DriverResult, Param, StatementId, StatementSet, Target};
use mote_measure::RunOutcome;

pub const KINDS: &[&str] = &["COMMIT"];
const UPDATE: StatementId = StatementId(0);

pub fn set_up(target: &Target, rows: usize) -> DriverResult<()> {
    let mut admin = Admin::connect(target)?;
    admin.execute("DROP TABLE IF EXISTS bench_commit")?;
    admin.execute("CREATE TABLE bench_commit (id integer PRIMARY KEY, n bigint NOT NULL)")?;
    admin.execute(&format!(
        "INSERT INTO bench_commit SELECT g, 0 FROM generate_series(1, {rows}) g"
    ))
}

/// What all updates together have counted.
pub fn counted(target: &Target) -> DriverResult<u64> {
    let value = Admin::connect(target)?.value("SELECT sum(n) FROM bench_commit")?;
    Ok(value.and_then(|text| text.parse().ok()).unwrap_or(0))
}

pub fn statements() -> Arc<StatementSet> {
    Arc::new(StatementSet::new(vec![Definition {
        sql: Cow::Borrowed("UPDATE bench_commit SET n = n + 1 WHERE id = $1"),
        params: Cow::Borrowed(&[Param::Int]),
        results: &[],
    }]))
}

pub fn run(plan: &LoopPlan<'_>) -> Result<RunOutcome, String> {
    closed_loop::run(plan, &mut |_| {}, &|number| step(number as i32 + 1))
}

fn step(id: i32) -> Step {
    Box::new(move |session, wait| {
        session.send(UPDATE, |v| v.int(id));
        session.round_trip(wait)?;
        Ok(())
    })
}
