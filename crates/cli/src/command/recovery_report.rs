//! What `mote serve` says while the database recovers: a line now and then, and one with the figures at the end.

use std::time::{Duration, Instant};

use mote_engine::recovery::{Phase, Progress, RecoveryStats};

use super::units::show_bytes;

/// Nothing is said about what takes no longer.
const INTERVAL: Duration = Duration::from_secs(2);

pub struct RecoveryReport {
    said: Instant,
    phase_began: Instant,
    phase: Option<Phase>,
}

impl RecoveryReport {
    pub fn new() -> RecoveryReport {
        RecoveryReport {
            said: Instant::now(),
            phase_began: Instant::now(),
            phase: None,
        }
    }

    pub fn progress(&mut self, progress: Progress) {
        if self.phase != Some(progress.phase) {
            self.phase = Some(progress.phase);
            self.phase_began = Instant::now();
        }
        if self.said.elapsed() >= INTERVAL {
            self.said = Instant::now();
            eprintln!("{}", line(progress, self.phase_began.elapsed()));
        }
    }
}

fn line(progress: Progress, elapsed: Duration) -> String {
    let Progress { phase, done, total } = progress;
    let percent = 100 * done / total.max(1);
    let per_s = (done as f64 / elapsed.as_secs_f64().max(1e-3)) as u64;
    let (what, of, rate) = match phase {
        Phase::BuildIndexes => (
            "building indexes",
            format!("{total} entries"),
            format!("{per_s} entries"),
        ),
        Phase::ReadLog => ("reading the log", show_bytes(total), show_bytes(per_s)),
        Phase::LoadImages => ("loading the checkpoint", show_bytes(total), show_bytes(per_s)),
        Phase::Replay => ("replaying the log", show_bytes(total), show_bytes(per_s)),
    };
    format!("mote: recovery: {what}: {percent} % of {of}, {rate} a second")
}

/// The figures of a recovery that had something to do.
pub fn summary(stats: &RecoveryStats) -> Option<String> {
    if stats.image_rows + stats.operations == 0 {
        return None;
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    Some(format!(
        "mote: recovered with {} threads in {:.2} s: {} rows from {} of checkpoint in {:.2} s; {} changes from {} of log \
         in {:.2} s; {} index entries in {:.2} s",
        stats.threads,
        seconds(stats.total_ns()),
        stats.image_rows,
        show_bytes(stats.image_bytes),
        seconds(stats.load_images_ns),
        stats.operations,
        show_bytes(stats.log_bytes),
        seconds(stats.read_log_ns + stats.replay_ns),
        stats.index_entries,
        seconds(stats.build_indexes_ns),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_share_and_rate() {
        let progress = Progress {
            phase: Phase::LoadImages,
            done: 500_000_000,
            total: 2_000_000_000,
        };
        assert_eq!(
            line(progress, Duration::from_secs(1)),
            "mote: recovery: loading the checkpoint: 25 % of 2.00 GB, 500 MB a second"
        );
        assert_eq!(summary(&RecoveryStats::default()), None);
    }
}
