//! What is done to a primary that has a standby (`pair`), as a user names it.

use clap::ValueEnum;
use mote_measure::faults::Schedule;
use serde::Serialize;

/// How a primary goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Harm {
    /// SIGKILL, as a crash
    Kill,
    /// SIGSTOP, as a machine that hangs; ended before its standby is promoted
    Stop,
    /// Ended in order, its standby promoted at once
    #[value(name = "switchover")]
    SwitchOver,
    /// The network between it and its standby is cut, and healed again; nobody is promoted
    Cut,
}

impl Harm {
    pub fn word(self) -> &'static str {
        match self {
            Harm::Kill => "kill",
            Harm::Stop => "stop",
            Harm::SwitchOver => "switchover",
            Harm::Cut => "cut",
        }
    }

    /// Whether the primary has ended afterwards, and its standby took over.
    pub fn ends_primary(self) -> bool {
        self != Harm::Cut
    }

    /// How a standby that this shall be done to reaches its primary.
    pub(super) fn way(self) -> Way {
        match self {
            Harm::Cut => Way::Link,
            _ => Way::Direct,
        }
    }

    pub(super) fn schedule(self, at_s: f64, decided_after_s: f64) -> Result<Schedule, String> {
        let word = self.word();
        let promoted_s = at_s + decided_after_s;
        match self {
            Harm::SwitchOver => format!("{at_s}s {word}").parse(),
            Harm::Cut => format!("{at_s}s {word} {decided_after_s}s").parse(),
            _ => format!("{at_s}s {word}; {promoted_s}s promote").parse(),
        }
    }
}

/// How a standby reaches its primary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Direct,
    /// Through a network that the laboratory can cut.
    Link,
}
