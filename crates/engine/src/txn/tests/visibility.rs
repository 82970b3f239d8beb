//! What transactions see of each other, anomaly by anomaly, and of themselves.

use super::*;

#[test]
fn no_dirty_read_and_no_dirty_write() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let (writer, reader) = (f.begin(), f.begin());
    f.set(&writer, 1, 20).expect("free");
    f.add(&writer, 2, 5).expect("free");
    assert_eq!(f.read(&writer, 1), Some(20));
    assert_eq!(f.read(&reader, 1), Some(10));
    assert_eq!(f.read(&reader, 2), None);
    ticket_of(f.set(&reader, 1, 30));
    reader.abort();
    writer.abort();
    assert_eq!(f.contents(), [(1, 10)]);
}

#[test]
fn read_committed_sees_new_commits_and_repeatable_read_does_not() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let (committed, repeatable) = (f.begin(), f.begin_at(Isolation::RepeatableRead));
    assert_eq!(
        (f.read(&committed, 1), f.read(&repeatable, 1)),
        (Some(10), Some(10))
    );
    let writer = f.begin();
    f.set(&writer, 1, 20).expect("free");
    f.add(&writer, 2, 0).expect("free");
    writer.commit().expect("logged");
    assert_eq!(
        (f.read(&committed, 1), f.read(&repeatable, 1)),
        (Some(20), Some(10))
    );
    assert_eq!((f.read(&committed, 2), f.read(&repeatable, 2)), (Some(0), None));
}

#[test]
fn a_lost_update_is_refused_under_repeatable_read() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let late = f.begin_at(Isolation::RepeatableRead);
    assert_eq!(f.read(&late, 1), Some(10));
    let writer = f.begin();
    f.set(&writer, 1, 11).expect("free");
    writer.commit().expect("logged");
    assert_eq!(f.set(&late, 1, 12), Err(WriteError::Serialization));
    assert_eq!(f.remove(&late, 1), Err(WriteError::Serialization));
}

#[test]
fn under_read_committed_a_lost_update_waits_and_goes_on_from_the_newest_version() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let (first, _) = f.session(1);
    let (second, bell) = f.session(2);
    f.set(&first, 1, 11).expect("free");
    let snapshot = second.begin_statement(Access::Write);
    let seen = f.find(&second, &snapshot, 1).expect("there");
    let ticket = ticket_of(second.update(&f.table, &seen, &f.row(1, 12)));
    assert!(!bell.has_rung(ticket));
    first.commit().expect("logged");
    assert!(bell.has_rung(ticket));
    assert_eq!(
        second.update(&f.table, &seen, &f.row(1, 12)),
        Err(WriteError::Changed)
    );
    let locked = second
        .lock_row(
            &f.table,
            seen.row(),
            Some(&seen),
            crate::RowLockStrength::NoKeyUpdate,
            crate::WaitPolicy::Block,
        )
        .expect("handed over");
    assert!(locked.changed);
    let newest = locked.newest.expect("still there");
    assert_eq!(f.value(&newest), 11);
    second.update(&f.table, &newest, &f.row(1, 12)).expect("locked");
    second.commit().expect("logged");
    assert_eq!(f.contents(), [(1, 12)]);
}

#[test]
fn write_skew_is_allowed_at_repeatable_read() {
    let f = Fixture::new();
    f.load([(1, 1), (2, 1)]);
    let (a, b) = (
        f.begin_at(Isolation::RepeatableRead),
        f.begin_at(Isolation::RepeatableRead),
    );
    assert_eq!((f.read(&a, 2), f.read(&b, 1)), (Some(1), Some(1)));
    f.set(&a, 1, 0).expect("free");
    f.set(&b, 2, 0).expect("free");
    a.commit().expect("logged");
    b.commit().expect("logged");
    assert_eq!(f.contents(), [(1, 0), (2, 0)]);
}

#[test]
fn plain_readers_see_what_is_acknowledged_and_writers_see_the_tail() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let writer = f.begin();
    f.set(&writer, 1, 20).expect("free");
    let ts = writer
        .commit()
        .expect("logged")
        .commit_ts
        .expect("something was written");
    let reader = f.begin();
    let snapshot = reader.begin_statement(Access::Read);
    assert_eq!(f.find(&reader, &snapshot, 1).map(|row| f.value(&row)), Some(10));
    assert!(reader.seen() < ts);
    let snapshot = reader.begin_statement(Access::Write);
    assert_eq!(f.find(&reader, &snapshot, 1).map(|row| f.value(&row)), Some(20));
    assert!(reader.seen() >= ts);
    // Having seen it, the transaction never goes back.
    let snapshot = reader.begin_statement(Access::Read);
    assert_eq!(f.find(&reader, &snapshot, 1).map(|row| f.value(&row)), Some(20));
    // A weak acknowledgement is seen by everybody.
    f.engine.raise_acked(ts);
    let other = f.begin();
    let snapshot = other.begin_statement(Access::Read);
    assert_eq!(f.find(&other, &snapshot, 1).map(|row| f.value(&row)), Some(20));
}

#[test]
fn a_statement_does_not_see_its_own_writes_and_the_next_one_does() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let transaction = f.begin();
    let snapshot = transaction.begin_statement(Access::Write);
    let seen = f.find(&transaction, &snapshot, 1).expect("there");
    transaction.update(&f.table, &seen, &f.row(1, 11)).expect("free");
    assert_eq!(
        f.find(&transaction, &snapshot, 1).map(|row| f.value(&row)),
        Some(10)
    );
    assert_eq!(
        transaction.update(&f.table, &seen, &f.row(1, 12)),
        Err(WriteError::SelfModified)
    );
    let later = transaction.advance_command();
    assert_eq!(f.find(&transaction, &later, 1).map(|row| f.value(&row)), Some(11));
    assert_eq!(
        f.find(&transaction, &snapshot, 1).map(|row| f.value(&row)),
        Some(10)
    );
}

#[test]
fn nested_savepoints_take_back_what_came_after_them() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 20)]);
    let transaction = f.begin();
    f.set(&transaction, 1, 11).expect("free");
    let outer = transaction.savepoint();
    f.set(&transaction, 1, 12).expect("free");
    f.add(&transaction, 3, 30).expect("free");
    let inner = transaction.savepoint();
    f.remove(&transaction, 2).expect("free");
    f.set(&transaction, 1, 13).expect("free");
    transaction.rollback_to(inner);
    assert_eq!(f.read(&transaction, 1), Some(12));
    assert_eq!(f.read(&transaction, 2), Some(20));
    assert_eq!(f.read(&transaction, 3), Some(30));
    transaction.rollback_to(outer);
    assert_eq!(f.read(&transaction, 1), Some(11));
    assert_eq!(f.read(&transaction, 3), None);
    // The savepoint is still there.
    f.add(&transaction, 4, 40).expect("free");
    transaction.rollback_to(outer);
    let released = transaction.savepoint();
    f.add(&transaction, 5, 50).expect("free");
    transaction.release(released);
    transaction.commit().expect("logged");
    assert_eq!(f.contents(), [(1, 11), (2, 20), (5, 50)]);
}

#[test]
fn a_dropped_transaction_is_rolled_back() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let transaction = f.begin();
    f.set(&transaction, 1, 11).expect("free");
    f.add(&transaction, 2, 20).expect("free");
    drop(transaction);
    assert_eq!(f.contents(), [(1, 10)]);
    let next = f.begin();
    f.set(&next, 1, 12).expect("nobody holds a lock");
    f.add(&next, 2, 21).expect("the key is free");
    next.commit().expect("logged");
    assert_eq!(f.contents(), [(1, 12), (2, 21)]);
}

#[test]
fn a_changed_key_is_found_once_and_under_the_right_key() {
    let f = Fixture::new();
    f.load([(1, 10), (5, 50)]);
    let old = f.begin_at(Isolation::RepeatableRead);
    let before = old.begin_statement(Access::Write);
    for (from, to) in [(1, 2), (2, 3), (3, 1), (1, 4)] {
        let transaction = f.begin();
        let snapshot = transaction.begin_statement(Access::Write);
        let seen = f.find(&transaction, &snapshot, from).expect("there");
        transaction.update(&f.table, &seen, &f.row(to, 10)).expect("free");
        assert_eq!(
            f.find(&transaction, &transaction.advance_command(), to)
                .map(|row| f.value(&row)),
            Some(10)
        );
        transaction.commit().expect("logged");
        assert_eq!(f.contents(), [(to.min(5), 10), (5, 50)]);
    }
    assert_eq!(f.find(&old, &before, 1).map(|row| f.value(&row)), Some(10));
    assert!(f.find(&old, &before, 4).is_none());
    drop((before, old));
    // A rolled back key change leaves nothing behind.
    let transaction = f.begin();
    let snapshot = transaction.begin_statement(Access::Write);
    let seen = f.find(&transaction, &snapshot, 4).expect("there");
    transaction.update(&f.table, &seen, &f.row(9, 10)).expect("free");
    drop(snapshot);
    transaction.abort();
    assert_eq!(f.contents(), [(4, 10), (5, 50)]);
    f.settle();
    assert_eq!(f.primary.tree.len_estimate(), 2);
    f.primary.tree.check().expect("the tree is sound");
}

#[test]
fn revisions_change_with_versions_and_survive_commit() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let transaction = f.begin();
    let snapshot = transaction.begin_statement(Access::Write);
    let seen = f.find(&transaction, &snapshot, 1).expect("there");
    transaction.update(&f.table, &seen, &f.row(1, 11)).expect("free");
    let own = transaction
        .fetch_newest(&f.table, seen.row())
        .expect("there")
        .revision();
    assert_ne!(own, seen.revision());
    drop(snapshot);
    transaction.commit().expect("logged");
    let reader = f.begin();
    let snapshot = reader.begin_statement(Access::Write);
    assert_eq!(f.find(&reader, &snapshot, 1).expect("there").revision(), own);
}
