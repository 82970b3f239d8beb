//! Temporary tables: transactions as everywhere, and nothing on disk.

use super::*;
use mote_log::Operation;

fn make(f: &Fixture) -> Arc<Table> {
    let transaction = f.begin();
    let id = transaction
        .create_temporary_table(&table_definition())
        .expect("made");
    let table = f.engine.table(id).expect("there");
    let definition = index_on(&table, 0, KeyClass::Signed4, true);
    let mut build = transaction.create_index(&definition).expect("made");
    while transaction.build_index(&mut build, 10).expect("empty") == BuildProgress::More {}
    transaction.commit().expect("a frame for the timestamp");
    table
}

fn rows(f: &Fixture, table: &Table) -> usize {
    let transaction = f.begin();
    let snapshot = transaction.begin_statement(Access::Write);
    let mut scan = table.scan();
    let mut found = 0;
    while scan.next(table, &transaction, &snapshot).is_some() {
        found += 1;
    }
    drop(snapshot);
    transaction.abort();
    found
}

#[test]
fn rows_are_committed_and_rolled_back_and_no_operation_is_logged() {
    let f = Fixture::new();
    let table = make(&f);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    transaction.insert(&table, &f.row(1, 10)).expect("free");
    assert!(matches!(
        transaction.insert(&table, &f.row(1, 11)),
        Err(WriteError::Duplicate { .. })
    ));
    let receipt = transaction.commit().expect("a frame for the timestamp");
    assert!(receipt.commit_ts.is_some());
    assert_eq!(rows(&f, &table), 1);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    transaction.insert(&table, &f.row(2, 10)).expect("free");
    transaction.abort();
    assert_eq!(rows(&f, &table), 1);
    // Taken back by a savepoint: still a commit.
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let savepoint = transaction.savepoint();
    transaction.insert(&table, &f.row(3, 10)).expect("free");
    transaction.rollback_to(savepoint);
    transaction.commit().expect("logged");
    assert_eq!(rows(&f, &table), 1);
    let mut redo = mote_log::RedoBuffer::new();
    redo.note_unlogged();
    let payload = redo
        .commit_payload()
        .expect("few rollbacks")
        .expect("a frame")
        .to_vec();
    let (_, operations) = mote_log::record::CommitHeader::decode(&payload).expect("well formed");
    assert!(operations.is_empty() && Operation::decode(operations).is_none());
}

#[test]
fn read_only_transactions_may_write_to_them() {
    let f = Fixture::new();
    let table = make(&f);
    let transaction = f.engine.begin(Isolation::ReadCommitted, true).expect("begun");
    transaction.begin_statement(Access::Write);
    transaction.insert(&table, &f.row(1, 10)).expect("allowed");
    assert!(matches!(f.add(&transaction, 1, 10), Err(WriteError::ReadOnly)));
    transaction.commit().expect("logged");
    assert_eq!(rows(&f, &table), 1);
}

#[test]
fn a_restart_is_their_end_and_their_ids_are_not_used_again() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let table = make(&f);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    transaction.insert(&table, &f.row(1, 10)).expect("free");
    let definition = crate::table::SequenceDefinition {
        id: crate::table::SequenceId(0),
        start: 1,
        increment: 1,
        minimum: 1,
        maximum: 100,
        cycle: false,
    };
    let sequence = transaction.create_temporary_sequence(&definition).expect("made");
    let counter = f.engine.sequence(sequence).expect("there");
    assert_eq!(transaction.sequence_next(&counter), Ok(1));
    assert_eq!(transaction.sequence_next(&counter), Ok(2));
    transaction.commit().expect("logged");
    f.engine.checkpoint().expect("written");
    f.engine.stop();
    let (disk, id) = (f.disk.clone(), table.id());
    drop((table, f));
    let engine = open(&disk);
    assert!(engine.table(id).is_none() && engine.sequence(sequence).is_none());
    let transaction = engine.begin(Isolation::ReadCommitted, false).expect("begun");
    assert_ne!(transaction.create_table(&table_definition()).expect("made"), id);
    transaction.abort();
}

#[test]
fn they_can_be_truncated_and_dropped() {
    let f = Fixture::new();
    let table = make(&f);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    transaction.insert(&table, &f.row(1, 10)).expect("free");
    let made = transaction.truncate_table(table.id()).expect("there");
    let fresh = f.engine.table(made.table).expect("made");
    assert!(fresh.is_temporary());
    transaction.insert(&fresh, &f.row(1, 11)).expect("free");
    transaction.commit().expect("logged");
    assert!(f.engine.table(table.id()).is_none());
    assert_eq!(rows(&f, &fresh), 1);
    f.engine.drop_temporary_table(f.table.id());
    assert!(f.engine.table(f.table.id()).is_some(), "not a temporary one");
    f.engine.drop_temporary_table(fresh.id());
    assert!(f.engine.table(fresh.id()).is_none());
}
