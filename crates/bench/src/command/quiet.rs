//! An observer of experiments that says what goes on, and nothing each second.

use crate::board;
use mote_measure::outcome::SeriesPoint;
use mote_workload::tpcc::Observer;
use mote_workload::tpcc::consistency::ConditionVerdict;

#[derive(Clone)]
pub struct Quiet {
    quiet: bool,
}

impl Quiet {
    pub fn new(quiet: bool) -> Quiet {
        Quiet { quiet }
    }

    pub fn say(&self, what: &str) {
        board::says(what);
        if !self.quiet {
            eprintln!("{what}");
        }
    }
}

impl Observer for Quiet {
    fn phase(&mut self, what: &str) {
        self.say(what);
    }

    fn second(&mut self, _: &SeriesPoint) {}

    fn condition(&mut self, _: &ConditionVerdict) {}

    fn interactive(&self) -> bool {
        !self.quiet && std::io::IsTerminal::is_terminal(&std::io::stderr())
    }
}
