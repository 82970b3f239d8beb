//! mote_stat_checkpoint and mote_stat_recovery.

use mote_common::{Lsn, SqlResult};
use mote_types::Datum;

use crate::views::facts::Facts;
use crate::views::row::{NULL, row};
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;

pub fn checkpoint(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let report = facts.engine.checkpoint_report();
    let time =
        |unix_us: Option<i64>| unix_us.map_or(NULL, |us| Datum::TimestampTz(us - POSTGRES_EPOCH_UNIX_US));
    let lsn = |lsn: Lsn| Datum::Unsigned8(lsn.0);
    Ok(vec![row![
        report.running,
        report.segments_total as i64,
        report.segments_done as i64,
        report.round_bytes as i64,
        time(report.started_us),
        // While one runs, the end of the one before it would mislead.
        time(report.finished_us.filter(|_| !report.running)),
        report.rounds as i64,
        report.failures as i64,
        report.last_error.as_deref().map_or(NULL, Datum::text),
        report.images as i64,
        report.image_bytes as i64,
        report.live_bytes as i64,
        facts.engine.log().disk_bytes() as i64,
        lsn(report.covered),
        lsn(report.log_start),
        lsn(facts.engine.horizons().stable),
    ]])
}

pub fn recovery(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let stats = facts.engine.recovery_stats();
    let seconds = |ns: u64| ns as f64 / 1e9;
    Ok(vec![row![
        stats.threads as i32,
        stats.image_bytes as i64,
        stats.image_rows as i64,
        stats.log_bytes as i64,
        stats.transactions as i64,
        stats.operations as i64,
        stats.operations_skipped as i64,
        stats.index_entries as i64,
        seconds(stats.read_log_ns),
        seconds(stats.load_images_ns),
        seconds(stats.replay_ns),
        seconds(stats.build_indexes_ns),
        seconds(stats.total_ns()),
    ]])
}
