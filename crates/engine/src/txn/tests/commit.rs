//! What a commit does to others while it is under way, and when it fails.

use super::*;
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
