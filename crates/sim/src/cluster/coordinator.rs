//! The coordinator as one node reaches it: perhaps not at all, and now and then its answer is lost.

use mote_replication::coordinator::{Coordinator, NoAnswer};
use mote_replication::record::Record;

use super::Around;

pub(super) struct Reach<'a> {
    pub around: &'a mut Around,
    pub reachable: bool,
}

impl Reach<'_> {
    fn answers(&self) -> Result<(), NoAnswer> {
        match self.reachable {
            true => Ok(()),
            false => Err(NoAnswer("it cannot be reached".into())),
        }
    }
}

impl Coordinator for Reach<'_> {
    fn read(&mut self) -> Result<Option<Record>, NoAnswer> {
        self.answers()?;
        Ok((!self.around.record_is_lost).then(|| self.around.record.clone()))
    }

    fn swap(&mut self, expected: Option<&Record>, next: &Record) -> Result<bool, NoAnswer> {
        self.answers()?;
        let around = &mut *self.around;
        if around.record_is_lost {
            if expected.is_some() {
                return Ok(false);
            }
            around.report.records_rebuilt += 1;
            around.record_is_lost = false;
            around.set_record(next.clone());
        } else if around.record != *next {
            if Some(&around.record) != expected {
                return Ok(false);
            }
            let is_newest = around.record.changes >= around.newest.changes;
            around.report.voter_changes += u64::from(is_newest && around.record.term == next.term);
            around.report.records_rebuilt += u64::from(!is_newest);
            around.set_record(next.clone());
            around.swapped_ns = around.now_ns;
        }
        match self.around.prng.chance(1, 10) {
            true => Err(NoAnswer("its answer is lost".into())),
            false => Ok(true),
        }
    }
}
