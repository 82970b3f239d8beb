//! Readers beside a follower's replay: what they see of a transaction, and what is kept for them.

use super::following::{Follower, NoCatalog, check, flushed};
use super::prepared::mortal;
use super::*;
use crate::follow::{FollowedCatalog, Published};
use crate::table::SQL_CATALOG_TABLE;
use mote_common::Lsn;
use mote_common::prng::Prng;
use mote_common::sync::atomic::{AtomicBool, Ordering};

/// A piece of log is shown as a whole: nobody reads at the borders of blocks within it.
#[test]
fn a_hot_row_has_a_short_chain_however_long_the_piece_of_log() {
    let f = Fixture::with(mortal());
    f.load([(1, 0), (2, 0)]);
    let mut follower = Follower::open(f.disk.copy());
    follower.follow(&f, flushed(&f));
    let here = follower.as_fixture(&f);
    let row = here.primary.tree.get_first(&here.key(1)).expect("replayed");
    let reader = here
        .engine
        .begin(Isolation::RepeatableRead, true)
        .expect("a slot");
    let snapshot = reader.begin_statement(Access::Read);
    for value in 1..2000 {
        let writer = f.begin();
        f.set(&writer, 1, value).expect("free");
        writer.commit().expect("logged");
        if value % 20 == 0 {
            f.engine.log().flush_step();
        }
    }
    let pieces = follower.engine.log().stable();
    follower.follow(&f, flushed(&f));
    assert!(
        follower.engine.log().stable().0 - pieces.0 > 50 * 4096,
        "many borders"
    );
    let length = here.chain_length(row);
    assert!(length <= 7, "{length} versions for one reader and the horizons");
    let seen = here.find(&reader, &snapshot, 1);
    assert_eq!(seen.map(|version| here.value(&version)), Some(0));
    assert_eq!(here.contents(), [(1, 1999), (2, 0)]);
    drop((snapshot, reader));
    here.engine.collect(1000);
    here.engine.collect(1000);
    assert_eq!(here.chain_length(row), 1);
    check(&here);
}

/// Rows that transactions change: all of 0..SAME have the number of the last transaction, and those of MOVED add up to 0.
const SAME: i32 = 3;
const MOVED: std::ops::Range<i32> = 10..18;

fn write_history(f: &Fixture, transactions: i64) {
    let mut prng = Prng::new(3);
    let mut values = vec![0; MOVED.len()];
    for number in 1..=transactions {
        let transaction = f.begin();
        for id in 0..SAME {
            // Twice: the first is nobody's.
            f.set(&transaction, id, -1).expect("free");
            f.set(&transaction, id, number).expect("free");
        }
        let (from, to) = (prng.below(8) as usize, prng.below(8) as usize);
        for (at, change) in [(from, -5), (to, 5)] {
            values[at] += change;
            f.set(&transaction, MOVED.start + at as i32, values[at])
                .expect("free");
        }
        // Guests come and go: their row ids are used again, while rows that had them are kept here for readers.
        let guest = 100 + (number % 4) as i32;
        match number % 8 < 4 {
            true => f.add(&transaction, guest, number).map(|_| ()).expect("free"),
            false => f.remove(&transaction, guest).expect("it came four before"),
        }
        transaction.commit().expect("logged");
        if number % 7 == 0 {
            f.engine.log().flush_step();
            f.engine.collect(100);
        }
    }
}

/// One snapshot's view; answers the number of the last transaction in it.
fn judge(here: &Fixture, reader: &Transaction, snapshot: &Snapshot) -> i64 {
    let value = |id| {
        let version = here.find(reader, snapshot, id).expect("never deleted");
        here.value(&version)
    };
    let number = value(0);
    assert!((1..SAME).all(|id| value(id) == number), "a part of a transaction");
    assert_eq!(MOVED.map(value).sum::<i64>(), 0, "a part of transaction {number}");
    number
}

fn read_until(here: &Fixture, done: &AtomicBool, access: Access) {
    let mut last = 0;
    let old = here
        .engine
        .begin(Isolation::RepeatableRead, true)
        .expect("a slot");
    let old_snapshot = old.begin_statement(Access::Read);
    let then = judge(here, &old, &old_snapshot);
    while !done.load(Ordering::Acquire) {
        let reader = here.begin();
        let snapshot = reader.begin_statement(access);
        let number = judge(here, &reader, &snapshot);
        assert!(number >= last, "{number} after {last}");
        last = number;
        assert_eq!(judge(here, &reader, &snapshot), number, "the same snapshot");
        assert_eq!(judge(here, &old, &old_snapshot), then, "what it saw at first");
        if access == Access::Write {
            // Somebody was told of it at a weaker level.
            here.engine.raise_acked(reader.seen());
        }
    }
}

#[test]
fn readers_meet_whole_transactions_in_the_order_of_the_log() {
    const TRANSACTIONS: i64 = 1500;
    let f = Fixture::with(mortal());
    f.load((0..SAME).chain(MOVED).chain([100]).map(|id| (id, 0)));
    let mut follower = Follower::open(f.disk.copy());
    follower.follow(&f, flushed(&f));
    let here = follower.as_fixture(&f);
    write_history(&f, TRANSACTIONS);
    let end = flushed(&f);
    follower.take(&f);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for access in [Access::Read, Access::Write] {
            let (here, done) = (&here, &done);
            scope.spawn(move || read_until(here, done, access));
        }
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                here.engine.collect(50);
                std::thread::yield_now();
            }
        });
        // Set whatever happens here: the others wait for it.
        let replayed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut until = follower.engine.log().stable();
            while follower.engine.log().stable() < Lsn(end.0 / 4096 * 4096) {
                until = Lsn(until.0 + 32 * 4096).min(end);
                let advanced = follower.replay.advance(until, &[], &NoCatalog);
                advanced.expect("it is the primary's log");
            }
        }));
        done.store(true, Ordering::Release);
        replayed.expect("it is replayed");
    });
    assert_eq!(here.contents(), f.contents());
    here.engine.collect(100_000);
    here.engine.collect(100_000);
    check(&here);
}

/// Refuses definitions, as one would that does not understand them.
struct Refusing;

impl FollowedCatalog for Refusing {
    fn changes<'a>(&'a self, _: Vec<PreparedWrite>) -> Result<Option<Published<'a>>, String> {
        Err("not understood".into())
    }
}

/// A transaction that is missing, or there in part, is nothing to go on behind.
#[test]
fn a_frame_that_was_refused_is_not_stepped_over() {
    let f = Fixture::with(mortal());
    f.load([(1, 10)]);
    let mut follower = Follower::open(f.disk.copy());
    follower.follow(&f, flushed(&f));
    let definitions = f.engine.table(SQL_CATALOG_TABLE).expect("every engine has it");
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let mut writer = RowWriter::new(definitions.newest_layout());
    writer.set_variable(0, b"a definition");
    transaction
        .insert(&definitions, writer.finish().expect("small"))
        .expect("free");
    transaction.commit().expect("logged");
    f.load([(2, 20)]);
    let end = flushed(&f);
    follower.take(&f);
    for _ in 0..2 {
        let refused = follower.replay.advance(end, &[], &Refusing);
        refused.expect_err("the definition is not understood");
        let here = follower.as_fixture(&f);
        assert_eq!(here.contents(), [(1, 10)]);
    }
    let engine = follower.engine.clone();
    let led = engine.lead(follower.finish(), None, &NoCatalog);
    led.expect_err("a transaction is missing");
}
