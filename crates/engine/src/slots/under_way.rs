//! Whether many transactions are on their way to their commit: the log's flusher asks, and waits for them (docs/design/0067).

use mote_common::Lsn;
use mote_log::Company;

use super::slot::SlotTable;

/// So many transactions are worth a flush's pause (PostgreSQL's `commit_siblings` is 5). With fewer, those that wait for the
/// flush may be half of all that there are.
const TRANSACTIONS: usize = 8;

/// The transactions of an engine.
pub(crate) struct UnderWay(pub &'static SlotTable);

impl Company for UnderWay {
    /// A transaction that is committed has given its slot back before its session waits for the flush.
    fn is_expected(&self, since: Lsn) -> bool {
        let young = self
            .0
            .walk()
            .filter(|(_, slot)| slot.begin_tail().is_some_and(|begin| begin >= since));
        young.take(TRANSACTIONS).count() == TRANSACTIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::TransactionId;

    #[test]
    fn old_transactions_and_few_are_not_waited_for() {
        let slots = SlotTable::obtain(64);
        let under_way = UnderWay(slots);
        let begin = |id: u64, tail: u64| {
            slots
                .take(|| TransactionId(id), 1, Lsn(tail))
                .expect("there are 64")
        };
        let mut taken: Vec<u32> = (1..8).map(|id| begin(id, 100 * id)).collect();
        assert!(!under_way.is_expected(Lsn::ZERO), "seven");
        taken.push(begin(8, 800));
        assert!(under_way.is_expected(Lsn(100)));
        assert!(!under_way.is_expected(Lsn(101)), "the first is too old");
        slots.give(taken.pop().expect("eight"));
        assert!(!under_way.is_expected(Lsn::ZERO), "it has ended");
        taken.into_iter().for_each(|number| slots.give(number));
        slots.retire();
    }
}
