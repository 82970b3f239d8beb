//! Whether many transactions that write are on their way to their commit: the log's flusher asks, and waits for them
//! (docs/design/0067). Those that have only read so far are not counted: most of them will have nothing to flush.

use mote_common::Lsn;
use mote_log::Company;

use super::fast::notes_a_write;
use crate::slots::slot::SlotTable;

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
        let writers = young.filter(|(_, slot)| notes_a_write(slot));
        writers.take(TRANSACTIONS).count() == TRANSACTIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::TableLockMode;
    use crate::lock::fast::FastPath;
    use crate::slots::TransactionId;
    use mote_common::TableId;

    #[test]
    fn readers_old_transactions_and_few_are_not_waited_for() {
        let slots = SlotTable::obtain(64);
        let (under_way, locks) = (UnderWay(slots), FastPath::new());
        let begin = |id: u64, tail: u64, mode: TableLockMode| {
            let number = slots.take(|| TransactionId(id), 1, Lsn(tail));
            let number = number.expect("there are 64");
            let noted = locks.try_lock(slots.get(number), TableId(7), mode);
            assert!(noted.is_some(), "nobody has the table closed");
            number
        };
        let end = |number: u32| {
            FastPath::release_all(slots.get(number), 1);
            slots.give(number);
        };
        let readers: Vec<u32> = (1..9)
            .map(|id| begin(id, 1_000, TableLockMode::AccessShare))
            .collect();
        assert!(!under_way.is_expected(Lsn::ZERO), "who reads commits nothing");
        let mut writers: Vec<u32> = (1..8)
            .map(|id| begin(8 + id, 100 * id, TableLockMode::RowExclusive))
            .collect();
        assert!(!under_way.is_expected(Lsn::ZERO), "seven");
        writers.push(begin(16, 800, TableLockMode::RowExclusive));
        assert!(under_way.is_expected(Lsn(100)));
        assert!(!under_way.is_expected(Lsn(101)), "the first is too old");
        end(writers.pop().expect("eight"));
        assert!(!under_way.is_expected(Lsn::ZERO), "it has ended");
        readers.into_iter().chain(writers).for_each(end);
        slots.retire();
    }
}
