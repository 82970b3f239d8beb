//! Schedules of faults: what a user writes, and what of it makes sense.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Action {
    /// SIGKILL to all of the server's processes.
    Kill,
    /// Starts the killed server again, on its data and at its address.
    Start,
    /// SIGSTOP, and SIGCONT so many seconds later.
    Stop(f64),
    /// SIGSTOP, and nothing more before its standby is promoted.
    Hang,
    /// Cuts the network between two nodes, and heals it so many seconds later.
    Cut(f64),
    /// Makes the standby a primary, in place of one that was killed or hangs.
    Promote,
    /// Ends the primary in order and makes the standby a primary.
    SwitchOver,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Fault {
    /// Seconds since the measured window began.
    pub at_s: f64,
    pub action: Action,
}

impl Fault {
    fn ends_s(&self) -> f64 {
        match self.action {
            Action::Stop(seconds) | Action::Cut(seconds) => self.at_s + seconds,
            _ => self.at_s,
        }
    }
}

/// As in `30s kill; 45s start; 60s stop 2s`, or `30s stop; 31s promote`.
///
/// Invariant: times ascend, a kill is followed by a start or a promotion, a stop without an end by a promotion, nothing else is
/// done to a server that is down, and nothing at all after a promotion.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule(Vec<Fault>);

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedule, String> {
        let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
        let faults: Vec<Fault> = parts.map(parse_fault).collect::<Result<_, _>>()?;
        if faults.is_empty() {
            return Err("no fault is named, as in \"30s kill; 45s start; 60s stop 2s\"".into());
        }
        let mut state = State::Up;
        let mut free_s = 0.0;
        for fault in &faults {
            if fault.at_s < free_s {
                return Err(format!(
                    "\"{text}\": the faults are not in the order of their times"
                ));
            }
            free_s = fault.ends_s();
            state = state
                .after(fault.action)
                .map_err(|why| format!("\"{text}\": {why}"))?;
        }
        match state {
            State::Up | State::Promoted => Ok(Schedule(faults)),
            State::Killed => Err(format!(
                "\"{text}\": a server that is killed has to be started again, or its standby promoted"
            )),
            State::Hanging => Err(format!(
                "\"{text}\": a stop needs a length, as in \"60s stop 2s\", or a promotion that follows it"
            )),
        }
    }
}

/// Of the server, while a schedule is read.
#[derive(Clone, Copy)]
enum State {
    Up,
    Killed,
    Hanging,
    Promoted,
}

impl State {
    fn after(self, action: Action) -> Result<State, &'static str> {
        match (action, self) {
            (_, State::Promoted) => Err("a promotion is the last that is done"),
            (Action::Kill, State::Up) => Ok(State::Killed),
            (Action::Start, State::Killed) => Ok(State::Up),
            (Action::Stop(_) | Action::Cut(_), State::Up) => Ok(State::Up),
            (Action::Hang, State::Up) => Ok(State::Hanging),
            (Action::SwitchOver, State::Up) | (Action::Promote, State::Killed | State::Hanging) => {
                Ok(State::Promoted)
            }
            (Action::Promote, State::Up) => {
                Err("promote comes after kill or stop, or there would be two primaries")
            }
            (Action::Start, _) => Err("start comes after kill"),
            (_, State::Killed | State::Hanging) => {
                Err("the server is down until it is started, or its standby promoted")
            }
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Fault { at_s, action }) in self.0.iter().enumerate() {
            let separator = if number > 0 { "; " } else { "" };
            write!(f, "{separator}{at_s}s ")?;
            match action {
                Action::Kill => write!(f, "kill")?,
                Action::Start => write!(f, "start")?,
                Action::Stop(length) => write!(f, "stop {length}s")?,
                Action::Hang => write!(f, "stop")?,
                Action::Cut(length) => write!(f, "cut {length}s")?,
                Action::Promote => write!(f, "promote")?,
                Action::SwitchOver => write!(f, "switchover")?,
            }
        }
        Ok(())
    }
}

fn parse_fault(text: &str) -> Result<Fault, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let wrong = || {
        format!(
            "\"{text}\" is not of the form \"30s kill\", \"45s start\", \"60s stop 2s\", \"60s cut 2s\", \"30s stop\", \
             \"31s promote\" or \"30s switchover\""
        )
    };
    let (at, action) = match words.as_slice() {
        [at, "kill"] => (at, Action::Kill),
        [at, "start"] => (at, Action::Start),
        [at, "stop", length] => (at, Action::Stop(seconds(length).ok_or_else(wrong)?)),
        [at, "stop"] => (at, Action::Hang),
        [at, "cut", length] => (at, Action::Cut(seconds(length).ok_or_else(wrong)?)),
        [at, "promote"] => (at, Action::Promote),
        [at, "switchover"] => (at, Action::SwitchOver),
        _ => return Err(wrong()),
    };
    Ok(Fault {
        at_s: seconds(at).ok_or_else(wrong)?,
        action,
    })
}

/// `30s`, `1.5s`, `200ms`, `2m`.
fn seconds(text: &str) -> Option<f64> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0)];
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    let number: f64 = number.parse().ok()?;
    (number >= 0.0 && number.is_finite()).then_some(number * factor)
}

impl Schedule {
    pub(super) fn faults(&self) -> &[Fault] {
        &self.0
    }

    /// Whether the server is killed and has to be started again.
    pub fn restarts(&self) -> bool {
        self.0.iter().any(|fault| fault.action == Action::Start)
    }

    /// Whether a standby takes over.
    pub fn promotes(&self) -> bool {
        let promotes = |fault: &Fault| matches!(fault.action, Action::Promote | Action::SwitchOver);
        self.0.iter().any(promotes)
    }

    /// Whether the network between two nodes is cut.
    pub fn cuts(&self) -> bool {
        self.0.iter().any(|fault| matches!(fault.action, Action::Cut(_)))
    }

    /// Whether anything is done to processes.
    pub fn hurts_processes(&self) -> bool {
        self.0.iter().any(|fault| !matches!(fault.action, Action::Cut(_)))
    }

    /// When the last of it is over, in seconds of the measured window.
    pub fn ends_s(&self) -> f64 {
        self.0.last().map_or(0.0, Fault::ends_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_and_judged() {
        let schedule: Schedule = "30s kill; 45s start; 1m stop 500ms;".parse().expect("valid");
        let action = |at_s, action| Fault { at_s, action };
        assert_eq!(
            schedule.0,
            [
                action(30.0, Action::Kill),
                action(45.0, Action::Start),
                action(60.0, Action::Stop(0.5))
            ]
        );
        assert_eq!(schedule.ends_s(), 60.5);
        assert_eq!(schedule.to_string(), "30s kill; 45s start; 60s stop 0.5s");
        for (wrong, says) in [
            ("", "no fault is named"),
            ("30s kill", "has to be started again"),
            ("30s start", "start comes after kill"),
            ("30s kill; 40s stop 1s; 50s start", "is down"),
            ("30s kill; 20s start", "order of their times"),
            ("10s stop 5s; 12s stop 1s", "order of their times"),
            ("30 kill", "is not of the form"),
            ("30s explode", "is not of the form"),
            ("80s promote", "comes after kill or stop"),
            ("1s kill; 2s promote; 3s kill", "the last that is done"),
            ("1s switchover; 3s kill", "the last that is done"),
            ("1s kill; 2s switchover", "is down"),
            ("1s stop", "a stop needs a length"),
            ("1s stop; 2s start", "start comes after kill"),
            ("1s stop 2s; 4s promote", "comes after kill or stop"),
            ("1s cut", "is not of the form"),
            ("1s cut 5s; 4s kill; 9s start", "order of their times"),
            ("1s kill; 2s cut 1s; 4s start", "is down"),
        ] {
            let error = wrong.parse::<Schedule>().expect_err(wrong);
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_cut_hurts_no_process() {
        let schedule: Schedule = "1s cut 500ms; 3s cut 1s".parse().expect("valid");
        assert!(schedule.cuts() && !schedule.hurts_processes() && !schedule.restarts());
        assert_eq!(
            (schedule.to_string().as_str(), schedule.ends_s()),
            ("1s cut 0.5s; 3s cut 1s", 4.0)
        );
        let both: Schedule = "1s cut 1s; 3s kill; 4s start".parse().expect("valid");
        assert!(both.cuts() && both.hurts_processes());
    }

    #[test]
    fn a_standby_takes_over_in_three_ways() {
        for text in ["1s kill; 2s promote", "1s stop; 2s promote", "1s switchover"] {
            let schedule: Schedule = text.parse().expect("valid");
            assert!(schedule.promotes() && !schedule.restarts(), "{text}");
            assert_eq!(schedule.to_string(), text);
        }
    }
}
