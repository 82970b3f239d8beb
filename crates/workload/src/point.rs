//! One-row select by key, prepared, on N connections: the cost of the wire and of a session.
//!
//! Table and statement are those of pgbench's select-only script, so the figure stands beside `pgbench -M prepared
//! -S`, and the canned-bytes server can answer it.

use std::borrow::Cow;
use std::sync::Arc;

use mote_common::prng::Prng;

use super::closed_loop::{self, LoopPlan, Step};
use mote_driver::{
    Admin, Definition, DriverError, DriverResult, Format, Param, StatementId, StatementSet, Target,
};
use mote_measure::RunOutcome;
use mote_measure::outcome::SeriesPoint;

pub const KINDS: &[&str] = &["SELECT"];
const SELECT: StatementId = StatementId(0);

pub fn statement_set() -> StatementSet {
    StatementSet::new(vec![Definition {
        sql: Cow::Borrowed("SELECT abalance FROM pgbench_accounts WHERE aid = $1"),
        params: Cow::Borrowed(&[Param::Int]),
        results: &[Format::Binary],
    }])
}

/// Creates and fills the table unless it holds `rows` rows already.
pub fn set_up(target: &Target, rows: i32) -> DriverResult<()> {
    let mut admin = Admin::connect(target)?;
    match admin.value("SELECT count(*) FROM pgbench_accounts") {
        Ok(Some(count)) if count == rows.to_string() => return Ok(()),
        Ok(_) => {}
        Err(error) if error.sqlstate() == "42P01" => {}
        Err(error) => return Err(error),
    }
    admin.execute("DROP TABLE IF EXISTS pgbench_accounts")?;
    admin.execute(
        "CREATE TABLE pgbench_accounts (aid integer NOT NULL, bid integer, abalance integer, filler char(84))",
    )?;
    let mut aid = 0;
    admin.copy_in(
        "COPY pgbench_accounts (aid, bid, abalance, filler) FROM STDIN",
        |out| {
            aid += 1;
            out.extend_from_slice(format!("{aid}\t1\t0\t\n").as_bytes());
            aid < rows
        },
    )?;
    admin.execute("ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)")?;
    match admin.execute("VACUUM ANALYZE pgbench_accounts") {
        Ok(()) | Err(DriverError::Server(_)) => Ok(()), // maintenance that a server may not know
        Err(error) => Err(error),
    }
}

pub fn run(
    plan: &LoopPlan<'_>,
    rows: i32,
    seed: u64,
    watch: &mut dyn FnMut(&SeriesPoint),
) -> Result<RunOutcome, String> {
    closed_loop::run(plan, watch, &|number| step(rows, Prng::fork(seed, number as u64)))
}

fn step(rows: i32, mut prng: Prng) -> Step {
    Box::new(move |session, wait| {
        let aid = prng.between(1, rows as i64) as i32;
        session.send(SELECT, |v| v.int(aid));
        session.round_trip(wait)?.row("the account")?.opt_int()?;
        Ok(())
    })
}

/// The set as sessions share it.
pub fn shared_statements() -> Arc<StatementSet> {
    Arc::new(statement_set())
}
