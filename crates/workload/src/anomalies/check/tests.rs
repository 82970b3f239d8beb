//! Hand-made histories: one for each anomaly, and clean ones.

use super::*;
use crate::anomalies::{Outcome, Value, value_of};

fn transaction(id: u64, operations: &[Operation]) -> Transaction {
    Transaction {
        id,
        operations: operations.to_vec(),
        outcome: Outcome::Committed,
        is_final: false,
    }
}

fn list(key: u64, list: &[Value]) -> Operation {
    Operation::ReadList {
        key,
        list: list.to_vec(),
    }
}

fn append(key: u64, value: Value) -> Operation {
    Operation::Append { key, value }
}

fn read(key: u64, value: Value) -> Operation {
    Operation::ReadRegister { key, value }
}

fn write(key: u64, value: Value, replaced: Value) -> Operation {
    Operation::Write { key, value, replaced }
}

fn v(transaction: u64) -> Value {
    value_of(transaction, 0)
}

fn w(transaction: u64) -> Value {
    value_of(transaction, 1)
}

/// Exactly these anomalies, by name.
#[track_caller]
fn shows(history: &[Transaction], expected: &[Anomaly]) -> Verdict {
    let verdict = check(history, Level::Serializable);
    let found: Vec<Anomaly> = verdict.found.iter().map(|found| found.anomaly).collect();
    assert_eq!(found, expected, "{verdict:#?}");
    verdict
}

#[test]
fn a_serial_history_is_clean() {
    let history = [
        transaction(1, &[append(1, v(1)), append(2, w(1)), list(1, &[v(1)])]),
        transaction(2, &[list(1, &[v(1)]), append(1, v(2)), list(1, &[v(1), v(2)])]),
        transaction(3, &[write(7, v(3), 0), read(7, v(3))]),
        transaction(4, &[read(7, v(3)), write(7, v(4), v(3)), write(7, w(4), v(4))]),
        transaction(
            5,
            &[
                read(7, w(4)),
                list(1, &[v(1), v(2)]),
                list(2, &[w(1)]),
                list(3, &[]),
            ],
        ),
    ];
    let verdict = shows(&history, &[]);
    assert!(verdict.holds());
    assert_eq!((verdict.transactions, verdict.committed), (5, 5));
    assert_eq!(verdict.dependencies, [2, 5, 2]);
}

#[test]
fn g0_dirty_write() {
    // Two transactions append to two keys, interleaved.
    let history = [
        transaction(1, &[append(1, v(1)), append(2, w(1))]),
        transaction(2, &[append(1, v(2)), append(2, w(2))]),
        transaction(3, &[list(1, &[v(1), v(2)]), list(2, &[w(2), w(1)])]),
    ];
    let verdict = shows(&history, &[Anomaly::G0]);
    let example = &verdict.found[0].examples[0];
    assert_eq!(example.steps.len(), 2);
    assert!(example.steps[0].contains("-ww->"), "{example:?}");
    assert!(example.transactions[0].contains("append 1"));
}

#[test]
fn g0_of_registers() {
    let history = [
        transaction(1, &[write(1, v(1), 0), write(2, w(1), w(2))]),
        transaction(2, &[write(1, v(2), v(1)), write(2, w(2), 0)]),
    ];
    shows(&history, &[Anomaly::G0]);
}

#[test]
fn g1a_aborted_read() {
    let mut aborted = transaction(1, &[append(1, v(1))]);
    aborted.outcome = Outcome::Aborted;
    shows(&[aborted, transaction(2, &[list(1, &[v(1)])])], &[Anomaly::G1a]);
    let mut aborted = transaction(1, &[write(1, v(1), 0)]);
    aborted.outcome = Outcome::Aborted;
    shows(&[aborted, transaction(2, &[read(1, v(1))])], &[Anomaly::G1a]);
}

#[test]
fn g1b_intermediate_read() {
    let history = [
        transaction(1, &[append(1, v(1)), append(1, w(1))]),
        transaction(2, &[list(1, &[v(1)])]),
        transaction(3, &[list(1, &[v(1), w(1)])]),
    ];
    // The reader also stands between two writes of one transaction: circular flow.
    let verdict = check(&history, Level::ReadCommitted);
    assert!(verdict.has(Anomaly::G1b) && !verdict.holds(), "{verdict:#?}");
}

#[test]
fn g1c_circular_flow() {
    let history = [
        transaction(1, &[append(1, v(1)), list(2, &[v(2)])]),
        transaction(2, &[append(2, v(2)), list(1, &[v(1)])]),
    ];
    shows(&history, &[Anomaly::G1c]);
    assert!(!check(&history, Level::ReadCommitted).holds());
}

#[test]
fn lost_update() {
    // Both read the first value; the second writes over what the first wrote.
    let history = [
        transaction(1, &[read(1, 0), write(1, v(1), 0)]),
        transaction(2, &[read(1, 0), write(1, v(2), v(1))]),
    ];
    shows(&history, &[Anomaly::LostUpdate]);
    assert!(check(&history, Level::ReadCommitted).holds());
    assert!(!check(&history, Level::RepeatableRead).holds());
}

#[test]
fn g_single_read_skew() {
    let history = [
        transaction(1, &[append(1, v(1)), append(2, w(1))]),
        transaction(2, &[list(1, &[]), list(2, &[w(1)])]),
        transaction(3, &[list(1, &[v(1)])]),
    ];
    shows(&history, &[Anomaly::GSingle]);
    assert!(check(&history, Level::ReadCommitted).holds());
    assert!(!check(&history, Level::RepeatableRead).holds());
}

#[test]
fn g2_item_write_skew() {
    let history = [
        transaction(1, &[read(1, 0), write(2, v(1), 0)]),
        transaction(2, &[read(2, 0), write(1, v(2), 0)]),
    ];
    let verdict = shows(&history, &[Anomaly::G2Item]);
    assert!(!verdict.holds());
    assert!(check(&history, Level::RepeatableRead).holds());
}

#[test]
fn long_fork() {
    let history = [
        transaction(1, &[append(1, v(1))]),
        transaction(2, &[append(2, v(2))]),
        transaction(3, &[list(1, &[v(1)]), list(2, &[])]),
        transaction(4, &[list(1, &[]), list(2, &[v(2)])]),
        transaction(5, &[list(1, &[v(1)]), list(2, &[v(2)])]),
    ];
    shows(&history, &[Anomaly::LongFork]);
    assert!(!check(&history, Level::RepeatableRead).holds());
}

#[test]
fn a_long_fork_is_found_beside_write_skew() {
    let mut history = vec![
        transaction(1, &[append(1, v(1)), list(9, &[])]),
        transaction(2, &[append(2, v(2)), append(9, w(2))]),
        transaction(3, &[list(1, &[v(1)]), list(2, &[])]),
        transaction(4, &[list(1, &[]), list(2, &[v(2)])]),
        transaction(5, &[list(1, &[v(1)]), list(2, &[v(2)]), list(9, &[w(2)])]),
    ];
    // Write skew through the same transactions makes the shortest cycle another one.
    history.push(transaction(6, &[list(1, &[]), append(3, v(6))]));
    history.push(transaction(7, &[list(3, &[]), append(1, v(7))]));
    history.push(transaction(8, &[list(1, &[v(1), v(7)]), list(3, &[v(6)])]));
    let verdict = check(&history, Level::RepeatableRead);
    assert!(verdict.has(Anomaly::LongFork), "{verdict:#?}");
}

#[test]
fn flaws_of_single_reads() {
    let twice = [
        transaction(1, &[append(1, v(1))]),
        transaction(2, &[list(1, &[v(1), v(1)])]),
    ];
    assert!(check(&twice, Level::ReadCommitted).has(Anomaly::Garbage));
    let nobody = [transaction(2, &[list(1, &[v(9)])])];
    assert!(check(&nobody, Level::ReadCommitted).has(Anomaly::Garbage));
    let blind = [transaction(1, &[append(1, v(1)), list(1, &[])])];
    shows(&blind, &[Anomaly::Internal]);
    let blind = [transaction(1, &[write(1, v(1), 0), read(1, 0)])];
    assert!(check(&blind, Level::ReadCommitted).has(Anomaly::Internal));
    let orders = [
        transaction(1, &[append(1, v(1))]),
        transaction(2, &[append(1, v(2))]),
        transaction(3, &[list(1, &[v(1), v(2)])]),
        transaction(4, &[list(1, &[v(2)])]),
    ];
    assert!(check(&orders, Level::ReadCommitted).has(Anomaly::IncompatibleOrder));
    let replaced_twice = [
        transaction(1, &[write(1, v(1), 0)]),
        transaction(2, &[write(1, v(2), 0)]),
    ];
    assert!(check(&replaced_twice, Level::ReadCommitted).has(Anomaly::IncompatibleOrder));
}

#[test]
fn acknowledged_writes_must_be_there_at_the_end() {
    let mut last = transaction(3, &[list(1, &[v(1)])]);
    last.is_final = true;
    let history = [
        transaction(1, &[append(1, v(1))]),
        transaction(2, &[append(1, v(2))]),
        last,
    ];
    shows(&history, &[Anomaly::LostWrite]);
}

#[test]
fn a_commit_in_doubt_is_what_others_saw() {
    let mut doubtful = transaction(1, &[append(1, v(1)), append(2, w(1))]);
    doubtful.outcome = Outcome::Unknown;
    let unseen = transaction(2, &[list(1, &[])]);
    let verdict = shows(&[doubtful.clone(), unseen.clone()], &[]);
    assert_eq!(verdict.committed, 1);
    let seen = transaction(3, &[list(1, &[v(1)])]);
    let verdict = shows(&[doubtful.clone(), unseen.clone(), seen.clone()], &[]);
    assert_eq!(verdict.committed, 3);
    // Then it is there as a whole, or there is read skew.
    let half = transaction(4, &[list(1, &[v(1)]), list(2, &[])]);
    let whole = transaction(5, &[list(2, &[w(1)])]);
    shows(&[doubtful, unseen, seen, half, whole], &[Anomaly::GSingle]);
}

#[test]
fn levels_forbid_more_and_more() {
    for anomaly in Anomaly::ALL {
        assert!(Level::Serializable.forbids(anomaly));
        assert!(Level::RepeatableRead.forbids(anomaly) || anomaly == Anomaly::G2Item);
        assert!(Level::RepeatableRead.forbids(anomaly) >= Level::ReadCommitted.forbids(anomaly));
    }
}
