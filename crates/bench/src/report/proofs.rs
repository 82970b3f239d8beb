//! What a run proves, as reports show it.

use mote_workload::condition::ConditionVerdict;
use mote_workload::contract::TallyVerdict;
use mote_workload::loader;
use mote_workload::tpcc::input_audit::Verdict;

#[derive(Default)]
pub struct Proofs {
    /// The load that the run began with.
    pub load: Option<loader::Report>,
    pub audit: Vec<Verdict>,
    /// What was acknowledged beside what the database holds, and of what.
    pub tally: Option<(&'static str, TallyVerdict)>,
    pub conditions: Vec<ConditionVerdict>,
}

impl Proofs {
    pub fn hold(&self) -> bool {
        self.audit.iter().all(Verdict::holds)
            && self.tally.as_ref().is_none_or(|(_, tally)| tally.pass())
            && self.conditions.iter().all(|verdict| verdict.pass)
    }
}
