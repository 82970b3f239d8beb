//! Who runs, as a snapshot is told it.

use super::*;
use mote_common::Lsn;
use mote_common::env::Clock;

#[test]
fn who_had_not_ended_before_a_snapshot_is_listed_with_it() {
    list_running_transactions();
    let f = Fixture::new();
    f.load([(1, 10)]);
    let writer = f.begin();
    f.set(&writer, 1, 11).expect("free");
    let reader = f.begin_at(Isolation::RepeatableRead);
    let before = reader.begin_statement(Access::Read);
    let listed = || reader.running_at(before.timestamp());
    assert_eq!(listed().ids, [writer.id().0, reader.id().0]);
    assert!(writer.is_named() && !reader.is_named());
    let committed = writer.id().0;
    writer.commit().expect("nothing fails");
    // What the snapshot does not see stays listed, whatever became of it.
    assert_eq!(listed().ids, [committed, reader.id().0]);
    assert!(!f.engine.is_running(committed) && f.engine.is_running(reader.id().0));
    let later = f.begin();
    assert!(later.id().0 >= listed().next);
    let after = later.begin_statement(Access::Write);
    assert_eq!(
        later.running_at(after.timestamp()).ids,
        [reader.id().0, later.id().0]
    );
}

/// Of a snapshot without a list nothing of this start is told to be over.
#[test]
fn a_snapshot_that_nobody_listed_sees_nobody_for_certain() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let reader = f.begin();
    let unknown = reader.running_at(Lsn(1));
    assert_eq!(unknown.next, f.engine.first_transaction());
    assert!(unknown.ids.is_empty() && reader.id().0 >= unknown.next);
}

struct At(i64);

impl Clock for At {
    fn monotonic_ns(&self) -> u64 {
        0
    }

    fn wall_us(&self) -> i64 {
        self.0
    }
}

#[test]
fn numbers_of_a_later_start_are_higher() {
    let starts = [
        0,
        1_735_689_600_000_000,
        1_800_000_000_999_000,
        3_800_000_000_000_000,
    ];
    let firsts = starts.map(|wall_us| Numbers::new(&At(wall_us)).draw());
    assert_eq!(firsts[..2], [3, 3]);
    assert!(firsts.is_sorted() && firsts[3] < 1 << 63);
    // Clients read what an `xid` keeps of it as an `int`.
    assert!(firsts.iter().all(|first| (*first as u32) < 1 << 31));
    let numbers = Numbers::new(&At(starts[1]));
    numbers.follow(&At(starts[2]));
    assert_eq!(numbers.draw(), firsts[2]);
}
