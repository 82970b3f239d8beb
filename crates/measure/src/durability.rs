//! Whether the commits of a run can have reached a disk before they were answered.
//!
//! A durable commit is answered after a flush that began when the commit was under way already. A connection has one
//! commit under way at a time, so one flush can carry at most as many commits as there are connections: more commits than
//! connections x flushes were answered without waiting for a disk. The rule never accuses wrongly, since flushes of other
//! processes count as the server's; it can miss a server whose neighbours flush often. Where a disk takes durable writes
//! without a flush (no cache, or FUA), every completed write counts as one.
//! Leaves out: whether the disk keeps what it says it has flushed.

use serde::Serialize;

use super::outcome::RunOutcome;
use super::system;

/// The evidence, as reports show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Durability {
    pub commits: u64,
    pub flushes: u64,
    /// Whether `flushes` holds all completed writes too, because the disks take durable writes without a flush.
    pub writes_counted: bool,
    /// The most commits that so many flushes can carry.
    pub commits_at_most: u64,
    /// `None`: nothing was committed, or the server runs elsewhere.
    pub durable: Option<bool>,
}

impl Durability {
    /// Judges what was committed by the types of transactions that write.
    pub fn of(outcome: &RunOutcome, writing: &[usize], connections: usize) -> Durability {
        let kinds = writing.iter().filter_map(|kind| outcome.totals.kinds.get(*kind));
        let commits = kinds.map(|kind| kind.latency.len() - kind.rolled_back).sum();
        let need_flushes = system::disks_need_flushes();
        // Whole seconds that touch the window: at its edges too many rather than too few.
        let measured = outcome.system.iter().filter(|point| point.second > 0.0);
        let flushes = measured
            .map(|point| point.disk_flushes + if need_flushes { 0 } else { point.disk_writes })
            .sum();
        let local = outcome.server_cpu_s.is_some() && !outcome.system.is_empty();
        Durability::judge(commits, flushes, !need_flushes, connections, local)
    }

    fn judge(
        commits: u64,
        flushes: u64,
        writes_counted: bool,
        connections: usize,
        local: bool,
    ) -> Durability {
        // One more: the flush that was under way when the window began.
        let commits_at_most = (flushes + 1) * connections as u64;
        Durability {
            commits,
            flushes,
            writes_counted,
            commits_at_most,
            durable: (local && commits > 0).then_some(commits <= commits_at_most),
        }
    }

    /// One line for a report.
    pub fn says(&self) -> String {
        let what = if self.writes_counted {
            "flushes and writes"
        } else {
            "flushes"
        };
        let Durability {
            commits,
            flushes,
            commits_at_most,
            ..
        } = self;
        match self.durable {
            None if *commits == 0 => "nothing was committed, so durability does not show".to_string(),
            None => {
                "durability is unknown: the server runs elsewhere, or was started again meanwhile".to_string()
            }
            Some(true) => {
                format!(
                    "{commits} commits with {flushes} {what} of the disks: at most {commits_at_most} could wait for them"
                )
            }
            Some(false) => format!(
                "NOT DURABLE: {commits} commits came with {flushes} {what} of the disks, which can carry {commits_at_most} at most"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_carries_one_commit_of_each_connection() {
        let judge = |commits, flushes| Durability::judge(commits, flushes, false, 16, true).durable;
        assert_eq!(judge(1_600, 100), Some(true));
        assert_eq!(judge(50_000, 100), Some(false));
        assert_eq!(judge(0, 0), None);
        assert_eq!(Durability::judge(10, 0, false, 1, false).durable, None);
        assert!(
            Durability::judge(50_000, 0, false, 16, true)
                .says()
                .starts_with("NOT DURABLE")
        );
    }
}
