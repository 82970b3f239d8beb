//! Faults during a run: what is done to the server and when, and what its clients saw of it.
//!
//! Read in this order: `schedule` (what a user writes), [`Victim`] (who can be hurt), `link` (a network that can be cut),
//! [`carry_out`], [`Recovery`].
//!
//! Invariants: a server that was stopped goes on when the run ends, however it ends, unless its standby was promoted, and a
//! network that was cut is whole again. The
//! laboratory never makes two primaries: whoever is still there when its standby is promoted is ended first.

pub mod link;
mod schedule;

use std::time::Duration;

use serde::Serialize;

use self::schedule::Action;
pub use self::schedule::Schedule;
use super::collector::BEAT_NS;
use super::timeline::Timeline;

const BEATS_PER_SECOND: usize = (1_000_000_000 / BEAT_NS) as usize;
/// Silence shorter than this is not an outage.
const SILENCE_MIN: usize = 5;
/// The former rate is that of so many seconds before the first fault.
const FORMER_SECONDS: usize = 10;
/// Recovered is who does so much of the former rate for a second.
const RECOVERED_SHARE: f64 = 0.9;
/// How often the one who waits for a fault looks at whether the run has ended.
const LOOK: Duration = Duration::from_millis(20);

/// A server that may be hurt.
pub trait Victim: Send {
    fn kill(&mut self) -> Result<(), String>;
    /// Ends it in order, and returns when it has ended.
    fn shut_down(&mut self) -> Result<(), String>;
    /// Returns when it accepts connections again, or has said that it never will.
    fn start(&mut self) -> Result<(), String>;
    /// Returns when the standby has said that it is a primary now.
    fn promote(&mut self) -> Result<(), String>;
    fn suspend(&mut self) -> Result<(), String>;
    fn resume(&mut self) -> Result<(), String>;
    /// Cuts the network between two nodes: nothing is closed, nothing arrives.
    fn cut(&mut self) -> Result<(), String>;
    fn heal(&mut self) -> Result<(), String>;
}

/// What shall be done to whom.
pub struct Faults<'a> {
    pub schedule: &'a Schedule,
    pub victim: &'a mut dyn Victim,
}

/// Something that was done.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// Seconds since the measured window began.
    pub second: f64,
    pub what: &'static str,
    /// Whether it takes service away.
    pub harm: bool,
    #[serde(skip)]
    pub at_ns: u64,
}

/// Waits for each fault's time and does it. An error of the victim's ends the run.
pub fn carry_out(faults: Faults<'_>, timeline: &Timeline) -> Vec<Event> {
    let mut events = Vec::new();
    let Some(from_ns) = begun(timeline) else {
        return events;
    };
    let Faults { schedule, victim } = faults;
    let mut hangs = false;
    for fault in schedule.faults() {
        if !sleep_until(timeline, from_ns, fault.at_s) {
            break;
        }
        let mut note = |what, harm| {
            let at_ns = timeline.now_ns();
            let second = (at_ns as f64 - from_ns as f64) / 1e9;
            events.push(Event {
                second,
                what,
                harm,
                at_ns,
            });
        };
        let done = match fault.action {
            Action::Kill => {
                note("kill", true);
                victim.kill()
            }
            Action::Start => {
                note("start", false);
                victim.start()
            }
            Action::Hang => {
                note("stop", true);
                hangs = true;
                victim.suspend()
            }
            Action::Promote => {
                note("promote", false);
                // It might go on and answer beside its successor.
                let ended = if std::mem::take(&mut hangs) {
                    victim.kill()
                } else {
                    Ok(())
                };
                ended.and_then(|()| victim.promote())
            }
            Action::SwitchOver => {
                note("switchover", true);
                victim.shut_down().and_then(|()| victim.promote())
            }
            Action::Stop(length) => {
                note("stop", true);
                let stopped = victim.suspend();
                sleep_until(timeline, from_ns, fault.at_s + length);
                let resumed = victim.resume();
                note("go on", false);
                stopped.and(resumed)
            }
            Action::Cut(length) => {
                note("cut", true);
                let cut = victim.cut();
                sleep_until(timeline, from_ns, fault.at_s + length);
                note("heal", false);
                cut.and(victim.heal())
            }
        };
        if let Err(error) = done {
            timeline.fail(format!("a fault could not be done: {error}"));
            break;
        }
    }
    if hangs && let Err(error) = victim.resume() {
        timeline.fail(format!("the stopped server does not go on: {error}"));
    }
    events
}

/// When the measured window begins, once the run has begun.
fn begun(timeline: &Timeline) -> Option<u64> {
    while !timeline.stopped() {
        if let Some((from_ns, _)) = timeline.window() {
            return Some(from_ns);
        }
        std::thread::sleep(LOOK);
    }
    None
}

/// False if the run has ended before.
fn sleep_until(timeline: &Timeline, from_ns: u64, second: f64) -> bool {
    let until_ns = from_ns + (second * 1e9) as u64;
    loop {
        let left = Duration::from_nanos(until_ns.saturating_sub(timeline.now_ns()));
        if left.is_zero() || timeline.is_over() {
            return left.is_zero();
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// What clients saw of a fault. Seconds; `None` where the run ended before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recovery {
    pub fault: &'static str,
    /// Seconds since the measured window began.
    pub second: f64,
    /// The longest silence that followed.
    pub outage_s: Option<f64>,
    /// From the fault to the first answer after that silence.
    pub first_answer_s: Option<f64>,
    /// From the fault to the first second with 90 % of the former rate.
    pub recovered_s: Option<f64>,
}

/// What a run with faults found, beside its proofs.
#[derive(Clone, Debug, Serialize)]
pub struct Recoveries {
    /// Answers a second before the first fault.
    pub former_per_s: f64,
    pub faults: Vec<Recovery>,
}

impl Recoveries {
    /// From the answers of the whole run in beats, whose first begins at 0 of the run's clock; clients began at `begin_ns`.
    pub fn of(events: &[Event], beats: &[u32], begin_ns: u64) -> Recoveries {
        let beat = |at_ns: u64| ((at_ns / BEAT_NS) as usize).min(beats.len());
        let harms: Vec<&Event> = events.iter().filter(|event| event.harm).collect();
        let first = harms.first().map_or(beats.len(), |event| beat(event.at_ns));
        let from = beat(begin_ns).max(first.saturating_sub(FORMER_SECONDS * BEATS_PER_SECOND));
        let former_per_s = sum(&beats[from.min(first)..first]) as f64 * BEATS_PER_SECOND as f64
            / first.saturating_sub(from).max(1) as f64;
        let each = harms.iter().enumerate().map(|(number, event)| {
            let start = beat(event.at_ns);
            let end = harms.get(number + 1).map_or(beats.len(), |next| beat(next.at_ns));
            Recovery::of(event, &beats[start..end.max(start)], former_per_s)
        });
        Recoveries {
            former_per_s,
            faults: each.collect(),
        }
    }

    pub fn all_answered(&self) -> bool {
        self.faults.iter().all(|fault| fault.first_answer_s.is_some())
    }
}

fn sum(beats: &[u32]) -> u64 {
    beats.iter().map(|count| *count as u64).sum()
}

impl Recovery {
    /// `beats` begin with the fault and end with the next one or the run.
    fn of(event: &Event, beats: &[u32], former_per_s: f64) -> Recovery {
        let seconds = |beats: usize| beats as f64 / BEATS_PER_SECOND as f64;
        let (silent, answered) = longest_silence(beats);
        let (outage_s, first_answer_s) = match () {
            _ if answered - silent < SILENCE_MIN => (Some(0.0), Some(0.0)),
            _ if answered == beats.len() => (None, None),
            _ => (Some(seconds(answered - silent)), Some(seconds(answered))),
        };
        let after = if outage_s == Some(0.0) { 0 } else { answered };
        let recovered = beats[after..]
            .windows(BEATS_PER_SECOND)
            .position(|second| sum(second) as f64 >= RECOVERED_SHARE * former_per_s);
        Recovery {
            fault: event.what,
            second: event.second,
            outage_s,
            first_answer_s,
            recovered_s: recovered.map(|at| seconds(after + at)),
        }
    }
}

/// Where the longest stretch without an answer begins, and where it ends.
fn longest_silence(beats: &[u32]) -> (usize, usize) {
    let (mut best, mut begin) = ((0, 0), 0);
    for (at, count) in beats.iter().chain([&1]).enumerate() {
        if *count > 0 {
            if at - begin > best.1 - best.0 {
                best = (begin, at);
            }
            begin = at + 1;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use mote_driver::Wait;

    fn event(second: f64, what: &'static str, harm: bool) -> Event {
        Event {
            second,
            what,
            harm,
            at_ns: (second * 1e9) as u64,
        }
    }

    /// Beats of whole seconds with so many answers each.
    fn beats(seconds: &[(f64, u32)]) -> Vec<u32> {
        let of = seconds
            .iter()
            .flat_map(|(length, each)| vec![*each; (length * BEATS_PER_SECOND as f64).round() as usize]);
        of.collect()
    }

    #[test]
    fn an_outage_is_measured_from_the_fault_to_the_first_answer_and_to_the_former_rate() {
        // Killed at 12 s, answers for 20 ms more, silent to 15 s, half speed to 16.5 s; stopped at 20 s for 2 s.
        let beats = beats(&[
            (12.0, 10),
            (0.02, 10),
            (2.98, 0),
            (1.5, 5),
            (3.5, 10),
            (2.0, 0),
            (3.0, 10),
        ]);
        let events = [
            event(12.0, "kill", true),
            event(14.0, "start", false),
            event(20.0, "stop", true),
            event(22.0, "go on", false),
        ];
        let found = Recoveries::of(&events, &beats, 1_000_000_000);
        assert_eq!(found.former_per_s, 1_000.0);
        let [kill, stop] = found.faults.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!((kill.outage_s, kill.first_answer_s), (Some(2.98), Some(3.0)));
        // A second from 16.3 s on holds 0.2 s of half speed: 90 %.
        assert_eq!(kill.recovered_s, Some(4.3));
        assert_eq!(
            (stop.outage_s, stop.first_answer_s, stop.recovered_s),
            (Some(2.0), Some(2.0), Some(2.0))
        );
        assert!(found.all_answered());
    }

    #[test]
    fn a_server_that_stays_away_has_no_recovery_and_a_short_pause_is_none() {
        let gone = Recoveries::of(&[event(2.0, "kill", true)], &beats(&[(2.0, 10), (5.0, 0)]), 0);
        assert_eq!(gone.faults[0].first_answer_s, None);
        assert_eq!(gone.faults[0].outage_s, None);
        assert!(!gone.all_answered());
        let pause = Recoveries::of(
            &[event(2.0, "stop", true)],
            &beats(&[(2.0, 10), (0.04, 0), (3.0, 10)]),
            0,
        );
        assert_eq!(
            (pause.faults[0].outage_s, pause.faults[0].first_answer_s),
            (Some(0.0), Some(0.0))
        );
        assert_eq!(Recoveries::of(&[], &[], 0).faults, []);
    }

    struct Diary<'a>(&'a Mutex<Vec<&'static str>>);

    impl Diary<'_> {
        fn note(&self, what: &'static str) -> Result<(), String> {
            self.0.lock().expect("no panic while held").push(what);
            if what == "start" {
                Err("no such server".into())
            } else {
                Ok(())
            }
        }
    }

    impl Victim for Diary<'_> {
        fn kill(&mut self) -> Result<(), String> {
            self.note("kill")
        }
        fn shut_down(&mut self) -> Result<(), String> {
            self.note("shut down")
        }
        fn start(&mut self) -> Result<(), String> {
            self.note("start")
        }
        fn promote(&mut self) -> Result<(), String> {
            self.note("promote")
        }
        fn suspend(&mut self) -> Result<(), String> {
            self.note("suspend")
        }
        fn resume(&mut self) -> Result<(), String> {
            self.note("resume")
        }
        fn cut(&mut self) -> Result<(), String> {
            self.note("cut")
        }
        fn heal(&mut self) -> Result<(), String> {
            self.note("heal")
        }
    }

    #[test]
    fn faults_come_in_order_a_stop_ends_with_the_run_and_a_failure_ends_it() {
        let carry = |schedule: &str, duration_ms: u64| {
            let (timeline, diary) = (
                Timeline::new(1, 0, duration_ms * 1_000_000),
                Mutex::new(Vec::new()),
            );
            timeline.ready(&Wait::Blocking);
            let schedule: Schedule = schedule.parse().expect("valid");
            let victim = &mut Diary(&diary);
            let events = carry_out(
                Faults {
                    schedule: &schedule,
                    victim,
                },
                &timeline,
            );
            (
                diary.into_inner().expect("no panic while held"),
                events.len(),
                timeline.failure(),
            )
        };
        let (done, events, failure) = carry("0s stop 10ms; 30ms kill; 31ms start", 10_000);
        assert_eq!(done, ["suspend", "resume", "kill", "start"]);
        assert_eq!(events, 4);
        assert!(failure.is_some_and(|reason| reason.contains("no such server")));
        let (done, ..) = carry("0s stop 1m; 2m kill; 3m start", 30);
        assert_eq!(done, ["suspend", "resume"]);
        // Who hangs is ended before its standby takes over, and goes on where the run ends before.
        let (done, events, failure) = carry("0s stop; 10ms promote", 10_000);
        assert_eq!((done, events), (vec!["suspend", "kill", "promote"], 2));
        assert_eq!(failure, None);
        let (done, ..) = carry("0s stop; 1m promote", 30);
        assert_eq!(done, ["suspend", "resume"]);
        // A network is whole again when the run ends.
        let (done, events, _) = carry("0s cut 10ms; 20ms cut 1m", 40);
        assert_eq!((done, events), (vec!["cut", "heal", "cut", "heal"], 4));
        let (done, events, _) = carry("0s switchover", 10_000);
        assert_eq!((done, events), (vec!["shut down", "promote"], 1));
    }
}
