//! What a run proves, as reports show it.

use crate::workload::condition::ConditionVerdict;
use crate::workload::contract::TallyVerdict;
use crate::workload::loader;
use crate::workload::tpcc::input_audit::Verdict;

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
