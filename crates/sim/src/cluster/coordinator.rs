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
        let Around {
            record,
            record_is_lost,
            report,
            ..
        } = &mut *self.around;
        if *record_is_lost {
            if expected.is_some() {
                return Ok(false);
            }
            report.records_rebuilt += 1;
            *record_is_lost = false;
            *record = next.clone();
        } else if record != next {
            if Some(&*record) != expected {
                return Ok(false);
            }
            report.voter_changes += u64::from(record.term == next.term);
            *record = next.clone();
            self.around.swapped_ns = self.around.now_ns;
        }
        match self.around.prng.chance(1, 10) {
            true => Err(NoAnswer("its answer is lost".into())),
            false => Ok(true),
        }
    }
}
