//! How far a standby is behind its primary, as a reader of the standby sees it.
//!
//! One thread asks the primary how far its log is on disk and the standby how far it shows it, every 10 ms, and notes when. A
//! standby at position S is behind since the last moment at which the primary was known to be no further than S: what
//! the primary has done between two looks counts as done right after the first, so a distance is never told too small, and too
//! large by one look at most.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mote_driver::{Admin, DriverResult, Target};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);
const PRIMARY: &str = "SELECT pg_current_wal_flush_lsn()";
const STANDBY: &str = "SELECT pg_last_wal_replay_lsn()";

/// One look at a standby.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub at: Instant,
    pub behind: Duration,
}

/// Looks until it is asked for what it has seen.
pub struct DistanceWatch {
    /// Written by the owner, read by the thread after each look: Relaxed, nothing else is passed by it.
    stop: Arc<AtomicBool>,
    thread: JoinHandle<DriverResult<Vec<Look>>>,
}

impl DistanceWatch {
    /// Without a standby the primary is asked all the same, so that it has the same work.
    pub fn start(primary: &Target, standby: Option<&Target>) -> DriverResult<DistanceWatch> {
        let mut primary = Admin::connect(primary)?;
        let mut standby = standby.map(Admin::connect).transpose()?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut history, mut looks) = (History::default(), Vec::new());
            while !told.load(Ordering::Relaxed) {
                let asked = Instant::now();
                history.primary(asked, position(&mut primary, PRIMARY)?);
                if let Some(standby) = &mut standby {
                    let shown = position(standby, STANDBY)?;
                    let at = Instant::now();
                    let behind = at.duration_since(history.since(shown));
                    looks.push(Look { at, behind });
                }
                std::thread::sleep(LOOK.saturating_sub(asked.elapsed()));
            }
            Ok(looks)
        });
        Ok(DistanceWatch { stop, thread })
    }

    pub fn finish(self) -> DriverResult<Vec<Look>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the watch does not panic")
    }
}

/// Where the primary was and when it was asked, of moments that a standby has not passed; never empty after the first.
#[derive(Default)]
struct History(VecDeque<(Instant, u64)>);

impl History {
    fn primary(&mut self, asked: Instant, position: u64) {
        self.0.push_back((asked, position));
    }

    /// The last moment known at which the primary was no further; the first of all, if it always was.
    fn since(&mut self, shown: u64) -> Instant {
        while self.0.get(1).is_some_and(|(_, position)| *position <= shown) {
            self.0.pop_front();
        }
        self.0.front().expect("the primary is asked first").0
    }
}

/// A position in a log as a number.
fn position(admin: &mut Admin, question: &str) -> DriverResult<u64> {
    // A standby that has replayed nothing yet says NULL.
    Ok(admin
        .value(question)?
        .and_then(|text| parse_position(&text))
        .unwrap_or(0))
}

/// As in `16/B374D848`.
fn parse_position(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    Some(u64::from_str_radix(high, 16).ok()? << 32 | u64::from_str_radix(low, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read() {
        assert_eq!(parse_position("16/B374D848"), Some(0x16_B374_D848));
        assert_eq!(parse_position("0/0"), Some(0));
        assert_eq!(parse_position("16"), None);
    }

    #[test]
    fn a_standby_is_behind_since_the_primary_was_last_where_it_is() {
        let (begin, mut history) = (Instant::now(), History::default());
        let at = |ms: u64| begin + Duration::from_millis(ms);
        // At 10 ms the primary had written to 200, at 20 ms to 300, and nothing more by 30 ms.
        for (ms, position) in [(0, 100), (10, 200), (20, 300), (30, 300)] {
            history.primary(at(ms), position);
        }
        assert_eq!(history.since(50), at(0));
        assert_eq!(history.since(150), at(0));
        assert_eq!(history.since(200), at(10));
        assert_eq!(history.since(299), at(10));
        assert_eq!(history.since(300), at(30));
        // It does not go back.
        assert_eq!(history.since(300), at(30));
    }
}
