//! Since when statistics of the whole server count: pg_stat_reset_shared. Nothing is set to zero: what was counted until then
//! is subtracted when somebody looks.

use mote_common::Lsn;
use parking_lot::Mutex;

/// What is reset by its own name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedStatistics {
    Archiver,
    Background,
    Log,
    /// Followers of mote prefetch nothing: there are no counts.
    RecoveryPrefetch,
}

impl SharedStatistics {
    pub fn named(name: &str) -> Option<SharedStatistics> {
        Some(match name {
            "archiver" => SharedStatistics::Archiver,
            "bgwriter" => SharedStatistics::Background,
            "wal" => SharedStatistics::Log,
            "recovery_prefetch" => SharedStatistics::RecoveryPrefetch,
            _ => return None,
        })
    }
}

/// Moments are microseconds since 2000-01-01 UTC; None: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resets {
    pub archiver_us: Option<i64>,
    /// Files archived, and failures, until then.
    pub archived: u64,
    pub failed: u64,
    pub background_us: Option<i64>,
    pub log_us: Option<i64>,
    /// How far the log was.
    pub log: Lsn,
}

#[derive(Default)]
pub struct SharedResets(Mutex<Resets>);

impl SharedResets {
    pub fn current(&self) -> Resets {
        *self.0.lock()
    }

    /// `archived` and `log` are the counts of now.
    pub fn reset(&self, what: SharedStatistics, now_us: i64, archived: (u64, u64), log: Lsn) {
        let mut resets = self.0.lock();
        match what {
            SharedStatistics::Archiver => {
                resets.archiver_us = Some(now_us);
                (resets.archived, resets.failed) = archived;
            }
            SharedStatistics::Background => resets.background_us = Some(now_us),
            SharedStatistics::Log => {
                resets.log_us = Some(now_us);
                resets.log = log;
            }
            SharedStatistics::RecoveryPrefetch => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reset_leaves_the_others() {
        let resets = SharedResets::default();
        resets.reset(SharedStatistics::Log, 5, (3, 1), Lsn(70));
        let expected = Resets {
            log_us: Some(5),
            log: Lsn(70),
            ..Resets::default()
        };
        assert_eq!(resets.current(), expected);
        resets.reset(SharedStatistics::Archiver, 6, (3, 1), Lsn(90));
        assert_eq!((resets.current().archived, resets.current().log), (3, Lsn(70)));
        assert_eq!(SharedStatistics::named("Wal"), None);
    }
}
