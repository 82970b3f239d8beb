//! A follower that comes to lead in place: it has what a start would recover, and goes on with it.

use super::following::{Follower, NoCatalog, check, flushed, following};
use super::prepared::{crash, crash_with, finish, mortal};
use super::*;
use mote_common::prng::Prng;
use mote_log::Agreed;
use std::collections::BTreeMap;

/// The primary is gone: the follower leads.
fn lead(follower: Follower, primary: &Fixture, term: Option<u32>) -> Fixture {
    let led = follower.as_fixture(primary);
    let engine = led.engine.clone();
    engine
        .lead(follower.finish(), term, &NoCatalog)
        .expect("it leads");
    led
}

fn rows(model: &BTreeMap<i32, i64>) -> Vec<(i32, i64)> {
    model.clone().into_iter().collect()
}

/// Sound, once what is deleted has been cleared away: until then it has entries.
fn check_cleared(f: &Fixture) {
    f.engine.log().flush_step();
    while f.engine.collect(1000).examined > 0 {}
    check(f);
}

/// Adds, changes and removes rows, in transactions that commit or not.
fn change(f: &Fixture, model: &mut BTreeMap<i32, i64>, prng: &mut Prng, rounds: i64) {
    for round in 0..rounds {
        let transaction = f.begin();
        let mut next = model.clone();
        for _ in 0..=prng.below(5) {
            let id = prng.below(300) as i32;
            let done = match next.contains_key(&id) {
                true if prng.chance(1, 2) => {
                    next.remove(&id);
                    f.remove(&transaction, id)
                }
                true => {
                    next.insert(id, round);
                    f.set(&transaction, id, round)
                }
                false => {
                    next.insert(id, round);
                    f.add(&transaction, id, round).map(|_| ())
                }
            };
            done.expect("nobody else is there");
        }
        match prng.chance(4, 5) {
            true => {
                transaction.commit().expect("the log takes it");
                *model = next;
            }
            false => _ = transaction.abort(),
        }
        if prng.chance(1, 4) {
            f.engine.collect(200);
        }
    }
}

/// Row ids that the old primary freed and used again, rows that are deleted and not cleared away yet, old versions: the new
/// one goes on with all of them, and so does whoever recovers its log or follows it.
#[test]
fn it_goes_on_where_the_primary_was_and_so_does_whoever_comes_after() {
    for seed in 0..16 {
        println!("seed {seed}");
        let mut prng = Prng::new(seed);
        let f = Fixture::with(mortal());
        let mut model: BTreeMap<i32, i64> = (0..200).map(|id| (id, 0)).collect();
        f.load(rows(&model));
        let mut follower = Follower::open(f.disk.copy());
        for _ in 0..4 {
            change(&f, &mut model, &mut prng, 15);
            follower.follow(&f, flushed(&f));
            if prng.chance(1, 2) {
                follower.engine.collect(300);
            }
            if prng.chance(1, 4) {
                follower.engine.checkpoint().expect("the disk works");
            }
        }
        // Received, and shown to nobody yet.
        change(&f, &mut model, &mut prng, 5);
        flushed(&f);
        follower.take(&f);
        let term = f.engine.log().term();
        let mut second = Follower::open(f.disk.copy());
        second.follow(&f, flushed(&f));
        let led = lead(follower, &f, None);
        drop(f);
        assert!(!led.engine.log().is_following());
        assert_eq!(led.engine.log().term(), term + 1);
        assert_eq!(led.contents(), rows(&model));
        if prng.chance(1, 2) {
            check_cleared(&led);
        }
        change(&led, &mut model, &mut prng, 60);
        assert_eq!(led.contents(), rows(&model));
        check_cleared(&led);
        second.follow(&led, flushed(&led));
        assert_eq!(second.as_fixture(&led).contents(), rows(&model));
        if prng.chance(1, 2) {
            led.engine.checkpoint().expect("the disk works");
        }
        change(&led, &mut model, &mut prng, 10);
        flushed(&led);
        let again = crash(led);
        assert_eq!(again.contents(), rows(&model));
        check(&again);
        assert_eq!(again.engine.log().term(), term + 2);
    }
}

/// What the primary before may have acknowledged is read at once; it is stable when others have the new term, too.
#[test]
fn what_was_received_is_read_at_once_and_stable_when_others_have_the_term() {
    let f = Fixture::with(mortal());
    f.load([(1, 10), (2, 20)]);
    let mut follower = Follower::open(f.disk.copy());
    let known = flushed(&f);
    follower.follow(&f, known);
    let transaction = f.begin();
    f.set(&transaction, 1, 11).expect("free");
    f.remove(&transaction, 2).expect("free");
    transaction.commit().expect("the log takes it");
    flushed(&f);
    follower.take(&f);
    let led = lead(follower, &f, Some(9));
    let log = led.engine.log().clone();
    assert_eq!((log.term(), log.stable()), (9, known));
    assert_eq!(led.contents(), [(1, 11)]);
    led.load([(3, 30)]);
    log.flush_step();
    assert_eq!(log.stable(), known, "nobody has the term's first frame");
    // An image as of the stable horizon: its rows are here still.
    led.engine.checkpoint_step().expect("the disk works");
    led.engine.collect(100);
    let agreed = log.flushed();
    log.set_agreed(Some(Agreed {
        received: agreed,
        flushed: agreed,
        applied: agreed,
    }));
    assert_eq!(log.stable(), agreed);
    led.engine.checkpoint().expect("the disk works");
    assert_eq!(crash(led).contents(), [(1, 11), (3, 30)]);
}

/// What others lack is lost with this node alone: when it starts again, it follows, and holds that back.
#[test]
fn a_node_that_led_recovers_as_a_follower_to_what_was_stable() {
    let f = Fixture::with(mortal());
    f.load([(1, 10)]);
    let mut follower = Follower::open(f.disk.copy());
    let known = flushed(&f);
    follower.follow(&f, known);
    f.load([(2, 20)]);
    flushed(&f);
    follower.take(&f);
    let led = lead(follower, &f, Some(7));
    assert_eq!(led.contents(), [(1, 10), (2, 20)]);
    let again = crash_with(led, following());
    assert_eq!(again.contents(), [(1, 10)]);
    assert_eq!(again.engine.log().stable(), known);
}

#[test]
fn a_term_that_has_begun_is_not_begun_again() {
    let f = Fixture::with(mortal());
    f.load([(1, 10)]);
    let mut follower = Follower::open(f.disk.copy());
    follower.follow(&f, flushed(&f));
    let begun = f.engine.log().term();
    let engine = follower.engine.clone();
    let refused = engine.lead(follower.finish(), Some(begun), &NoCatalog);
    let refused = refused.expect_err("the primary has begun it").to_string();
    assert!(refused.contains("has begun in the log already"), "{refused}");
}

/// Neither the term nor its frames are in what recovery reads: the manifest alone tells.
#[test]
fn a_checkpoint_remembers_the_term_of_a_log_that_is_gone() {
    let f = Fixture::with(mortal());
    f.load([(1, 10)]);
    let f = crash(crash(f));
    let term = f.engine.log().term();
    assert!(term > 2);
    let mut follower = Follower::open(f.disk.copy());
    f.load([(2, 20)]);
    follower.follow(&f, flushed(&f));
    follower.engine.checkpoint().expect("the disk works");
    let mut follower = follower.restart();
    f.load([(3, 30)]);
    follower.follow(&f, flushed(&f));
    follower.engine.checkpoint().expect("the disk works");
    let follower = follower.restart();
    let led = lead(follower, &f, None);
    assert_eq!(led.engine.log().term(), term + 1);
}

#[test]
fn prepared_transactions_are_decided_and_open_ones_are_gone() {
    let f = Fixture::with(mortal());
    f.load((1..=5).map(|id| (id, 10)));
    let mut follower = Follower::open(f.disk.copy());
    f.prepare_three();
    let open = f.begin();
    for id in 10_000..16_000 {
        f.add(&open, id, 9).expect("free");
    }
    finish(&f.engine, "no", false).expect("prepared");
    follower.follow(&f, flushed(&f));
    let led = lead(follower, &f, None);
    open.abort();
    finish(&led.engine, "yes", true).expect("prepared");
    // Ids of the rows that were rolled back, and those of the transaction that is gone, are given out again, once.
    led.load((200..400).map(|id| (id, 2)));
    led.engine.collect(1000);
    led.load((400..600).map(|id| (id, 2)));
    led.engine.checkpoint().expect("the disk works");
    let mut expected = vec![(1, 11), (2, 10), (3, 10), (4, 10), (5, 10), (101, 1)];
    expected.extend((200..600).map(|id| (id, 2)));
    assert_eq!(led.contents(), expected);
    check_cleared(&led);
    flushed(&led);
    let again = crash(led);
    finish(&again.engine, "late", true).expect("prepared");
    assert!(again.contents().contains(&(3, 11)) && again.contents().contains(&(103, 1)));
    assert_eq!(again.contents().len(), expected.len() + 1);
}

#[test]
fn objects_that_were_replayed_can_be_changed_and_new_ones_get_other_ids() {
    let f = Fixture::with(mortal());
    f.load((1..=50).map(|id| (id, 2 * i64::from(id))));
    let mut follower = Follower::open(f.disk.copy());
    let make = |f: &Fixture| {
        let transaction = f.begin();
        transaction.begin_statement(Access::Write);
        let made = transaction.create_table(&table_definition()).expect("made");
        let table = f.engine.table(made).expect("made above");
        transaction.insert(&table, &f.row(1, 1)).expect("free");
        transaction.commit().expect("the log takes it");
        made
    };
    let made = make(&f);
    follower.follow(&f, flushed(&f));
    let led = lead(follower, &f, None);
    let other = make(&led);
    assert_ne!(made, other);
    let transaction = led.begin();
    transaction.begin_statement(Access::Write);
    transaction.drop_table(made).expect("it is there");
    transaction.commit().expect("the log takes it");
    flushed(&led);
    let again = crash(led);
    assert!(again.engine.table(made).is_none());
    let table = again.engine.table(other).expect("recovered");
    assert_eq!(table.row_count_estimate(), 1);
}
