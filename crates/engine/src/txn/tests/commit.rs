//! What a commit does to others while it is under way, and when it fails.

use super::*;
use mote_log::SetAside;
use mote_log::record::FRAGMENT_BYTES;
use std::process::Command;

/// Set for the copy of the test that dies.
const DIES: &str = "MOTE_TEST_DIES";

/// Whoever unwinds behind the decision would roll back what is logged and seen: the process ends instead.
#[test]
fn a_panic_behind_the_decision_ends_the_process() {
    if std::env::var_os(DIES).is_some() {
        let f = Fixture::new();
        at(Moment::Decided, || panic!("as a bug would"));
        f.load([(1, 10)]);
        return;
    }
    let name = "txn::tests::commit::a_panic_behind_the_decision_ends_the_process";
    let mut copy = Command::new(std::env::current_exe().expect("this test runs"));
    let output = copy
        .args([name, "--exact", "--nocapture"])
        .env(DIES, "1")
        .output();
    let output = output.expect("the test's own binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), None, "ended by a signal: {said}");
    assert!(said.contains("while a transaction ended"), "{said}");
}

/// A panic before the decision rolls back: nobody has seen anything.
#[test]
fn a_panic_before_the_decision_rolls_back() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 20)]);
    let transaction = f.begin_at(Isolation::Serializable);
    assert_eq!(f.read(&transaction, 1), Some(10));
    f.set(&transaction, 2, 21).expect("free");
    at(Moment::BetweenChecks, || panic!("as a bug would"));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| transaction.commit()));
    assert!(panicked.is_err());
    assert_eq!(f.contents(), [(1, 10), (2, 20)]);
    assert!(f.engine.locks().is_empty() && f.engine.transactions().is_empty());
}

/// All the room there is, to the last frame that is not small.
fn take_all_room(f: &Fixture) -> Vec<SetAside> {
    let take = |bytes: usize| std::iter::from_fn(move || f.engine.log().set_aside(bytes, 1).ok());
    [1 << 16, 1 << 10].into_iter().flat_map(take).collect()
}

/// A session must not wait on its thread: a commit whose room was taken hands the transaction back, which goes on.
#[test]
fn a_commit_without_room_goes_on_and_finds_what_it_sets_aside() {
    for isolation in [Isolation::ReadCommitted, Isolation::Serializable] {
        let f = Fixture::new();
        f.load([(1, 10)]);
        let transaction = f.begin_at(isolation);
        assert_eq!(f.read(&transaction, 1), Some(10));
        f.set(&transaction, 1, 11).expect("free");
        // More than a frame for which room is always kept.
        for id in 2..602 {
            f.add(&transaction, id, 0).expect("free");
        }
        transaction.await_commit_room(false).expect("room is seen");
        let taken = take_all_room(&f);
        let written = f.engine.horizons().tail;
        let transaction = transaction.try_commit().expect_err("others have taken the room");
        assert_eq!(f.engine.horizons().tail, written, "nothing was appended");
        assert_eq!(f.contents(), [(1, 10)], "nobody sees it");
        f.add(&transaction, 602, 0).expect("it still runs");

        drop(taken);
        transaction.await_commit_room(true).expect("there is room");
        let _taken = take_all_room(&f);
        let ended = transaction.try_commit().ok().expect("its room was set aside");
        ended.expect("the log takes it");
        assert_eq!(f.contents().len(), 602);
    }
}

/// The steps of a definition cannot be made again, so they must not ask the log for room.
#[test]
fn a_step_of_a_definition_sends_nothing_to_the_log() {
    let f = Fixture::new();
    let transaction = f.begin();
    let due = |transaction: &Transaction| transaction.work.borrow().redo.buffered_bytes() >= FRAGMENT_BYTES;
    transaction.without_sending(|| {
        let mut id = 0;
        while !due(&transaction) {
            f.add(&transaction, id, 0).expect("free");
            id += 1;
        }
        f.add(&transaction, id, 0).expect("free");
    });
    assert!(due(&transaction), "nothing was sent");
    f.add(&transaction, -1, 0).expect("free");
    assert!(!due(&transaction), "the next write sends it");
    transaction.commit().expect("the log takes it");
}
