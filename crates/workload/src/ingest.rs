//! Ingest: N connections insert batches of 200-byte rows, one multi-row INSERT and one commit per round trip.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use mote_common::prng::Prng;

use super::closed_loop::{self, LoopPlan, Step};
use super::definitions::Definitions;
use super::loader::{Data, Phase, RowSource, counted};
use super::tpcc::random::put_letters;
use super::tpcc::transactions::Stamp;
use mote_driver::{Admin, Definition, DriverResult, Param, StatementId, StatementSet, Target};
use mote_measure::RunOutcome;
use mote_measure::outcome::SeriesPoint;

pub const KINDS: &[&str] = &["INSERT"];
const INSERT: StatementId = StatementId(0);
/// With 8 bytes of id, 4 of device, 8 of time and a header, a row is about 200 bytes.
const PAYLOAD_BYTES: usize = 160;
/// The protocol counts parameters in 16 bits.
pub const ROWS_MAX: usize = 8_000;

/// One INSERT of `rows` rows.
pub fn statement_set(rows: usize) -> StatementSet {
    let mut sql = String::from("INSERT INTO bench_ingest (id, device, measured_at, payload) VALUES ");
    let mut params = Vec::with_capacity(rows * 4);
    for row in 0..rows {
        let first = row * 4 + 1;
        let comma = if row == 0 { "" } else { ", " };
        sql.push_str(&format!(
            "{comma}(${first}, ${}, ${}, ${})",
            first + 1,
            first + 2,
            first + 3
        ));
        params.extend([Param::Long, Param::Int, Param::Timestamp, Param::Text]);
    }
    StatementSet::new(vec![Definition {
        sql: Cow::Owned(sql),
        params: Cow::Owned(params),
        results: &[],
    }])
}

pub fn set_up(target: &Target) -> DriverResult<()> {
    let mut admin = Admin::connect(target)?;
    admin.execute(&Definitions::drop_table(target, "bench_ingest"))?;
    admin.execute(&Definitions::table(target, CREATE))
}

/// Takes the tables of inserts and of COPY away, so that what comes next has the memory they held.
pub fn tear_down(target: &Target) -> DriverResult<()> {
    let mut admin = Admin::connect(target)?;
    admin.execute(&Definitions::drop_table(target, "bench_ingest"))?;
    admin.execute(&Definitions::drop_table(target, "bench_ingest_copy"))
}

const CREATE: &str = "CREATE TABLE bench_ingest (id bigint PRIMARY KEY, device integer, measured_at timestamp, payload varchar(200))";

fn payload(prng: &mut Prng) -> String {
    let mut payload = Vec::new();
    put_letters(&mut payload, prng, PAYLOAD_BYTES as i64, PAYLOAD_BYTES as i64);
    String::from_utf8(payload).expect("letters are ASCII")
}

/// Whether the table holds as many rows as were acknowledged, at least; rows of the warm-up and of answers that came
/// after the end make it more.
pub fn count(target: &Target) -> DriverResult<u64> {
    let value = Admin::connect(target)?.value("SELECT count(*) FROM bench_ingest")?;
    Ok(value.and_then(|text| text.parse().ok()).unwrap_or(0))
}

pub fn run(
    plan: &LoopPlan<'_>,
    rows: usize,
    seed: u64,
    watch: &mut dyn FnMut(&SeriesPoint),
) -> Result<RunOutcome, String> {
    closed_loop::run(plan, watch, &|number| {
        step(rows, number, Prng::fork(seed, number as u64))
    })
}

fn step(rows: usize, connection: usize, mut prng: Prng) -> Step {
    // Ids of different connections are interleaved, as those of devices that report at the same time.
    let stride = 1 << 20;
    let mut next: i64 = 0;
    let payload = payload(&mut prng);
    Box::new(move |session, wait| {
        let stamp = Stamp::now();
        session.send(INSERT, |mut v| {
            for _ in 0..rows {
                v = v
                    .long(next * stride + connection as i64)
                    .int(connection as i32)
                    .text(stamp.as_str())
                    .text(&payload);
                next += 1;
            }
            v
        });
        session.round_trip(wait)?;
        Ok(())
    })
}

/// Rows of one transaction of a COPY.
pub const COPY_ROWS: u64 = 10_000;

/// The same rows by COPY, in units of one transaction each.
pub struct CopiedRows {
    pub units: usize,
    pub seed: u64,
}

impl Data for CopiedRows {
    fn workload(&self) -> &'static str {
        "ingest by copy"
    }

    fn description(&self) -> String {
        format!("{} rows, seed {}", self.units as u64 * COPY_ROWS, self.seed)
    }

    fn tables(&self) -> &'static [&'static str] {
        &["bench_ingest_copy"]
    }

    fn create(&self) -> Vec<String> {
        vec![CREATE.replace("bench_ingest", "bench_ingest_copy")]
    }

    fn units(&self) -> usize {
        self.units
    }

    fn copy_statement(&self, _: usize) -> String {
        "COPY bench_ingest_copy FROM STDIN".into()
    }

    fn rows_expected(&self, _: usize) -> u64 {
        COPY_ROWS
    }

    fn rows(&self, unit: usize) -> RowSource {
        let payload = payload(&mut Prng::fork(self.seed, unit as u64));
        let stamp = Stamp::now();
        let first = unit as u64 * COPY_ROWS;
        counted(COPY_ROWS, move |out, number| {
            let row = writeln!(out, "{}\t{unit}\t{}\t{payload}", first + number, stamp.as_str());
            row.expect("writing to a Vec cannot fail");
        })
    }

    fn phases(&self) -> Vec<Phase> {
        Vec::new()
    }
}

pub fn shared_statements(rows: usize) -> Arc<StatementSet> {
    Arc::new(statement_set(rows))
}
