//! Ingest: N connections insert batches of 200-byte rows, one multi-row INSERT and one commit per round trip.

use std::borrow::Cow;
use std::sync::Arc;

use mote_common::prng::Prng;

use super::closed_loop::{self, LoopPlan, Step};
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
    admin.execute("DROP TABLE IF EXISTS bench_ingest")?;
    admin.execute(
        "CREATE TABLE bench_ingest (id bigint PRIMARY KEY, device integer, measured_at timestamp, payload varchar(200))",
    )
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
    let mut payload = Vec::new();
    put_letters(
        &mut payload,
        &mut prng,
        PAYLOAD_BYTES as i64,
        PAYLOAD_BYTES as i64,
    );
    let payload = String::from_utf8(payload).expect("letters are ASCII");
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

pub fn shared_statements(rows: usize) -> Arc<StatementSet> {
    Arc::new(statement_set(rows))
}
