//! Two-phase commit of changes to the engine's objects: made, changed and dropped tables, indexes and sequences, over
//! crashes, checkpoints and a PREPARE that was written again.

use super::prepared::{crash_with, finish, mortal};
use super::*;
use crate::lock::{TableLockMode, WaitPolicy};
use crate::table::{SequenceDefinition, SequenceId};
use mote_common::{Lsn, TableId};

/// What the transaction made, by id.
#[derive(Clone, Copy)]
struct Made {
    table: TableId,
    table_index: IndexId,
    /// Over the old table's rows, some of which the transaction changed.
    index: IndexId,
    sequence: SequenceId,
    /// Before the transaction, and dropped by it.
    dropped: TableId,
    dropped_index: IndexId,
    dropped_sequence: SequenceId,
    /// Where the PREPARE frame ends.
    prepared: Lsn,
}

const ROWS: std::ops::Range<i32> = 1..200;

fn counter() -> SequenceDefinition {
    SequenceDefinition {
        id: SequenceId(0),
        start: 1,
        increment: 1,
        minimum: 1,
        maximum: 1000,
        cycle: false,
    }
}

fn build(transaction: &Transaction, definition: &IndexDefinition) -> IndexId {
    let mut build = transaction.create_index(definition).expect("made");
    while transaction.build_index(&mut build, 100).expect("no duplicates") == BuildProgress::More {}
    build.id()
}

fn plain_row(table: &Table, id: i32) -> Vec<u8> {
    let mut writer = RowWriter::new(table.newest_layout());
    writer.set_fixed4(0, id as u32);
    writer.set_fixed8(1, 0);
    writer.set_variable(2, b"some text");
    writer.finish().expect("small").to_vec()
}

/// The old table's row with one more column.
fn widened(f: &Fixture, id: i32, value: i64, more: u32) -> Vec<u8> {
    let mut writer = RowWriter::new(f.table.newest_layout());
    writer.set_fixed4(0, id as u32);
    writer.set_fixed8(1, value as u64);
    writer.set_variable(2, b"some text");
    writer.set_fixed4(3, more);
    writer.finish().expect("small").to_vec()
}

pub(super) fn widen(f: &Fixture, transaction: &Transaction) {
    let mut columns = f.table.newest_layout().columns().to_vec();
    columns.push(
        ColumnStorage::new(StorageClass::Fixed4, false)
            .with_missing(Some(7u32.to_le_bytes().to_vec().into())),
    );
    transaction.add_layout(f.table.id(), columns).expect("there");
}

/// Makes, changes and drops some of everything, and writes rows in between.
fn prepare_objects(f: &Fixture) -> Made {
    f.load(ROWS.map(|id| (id, i64::from(id) * 10)));
    let before = f.begin();
    before.begin_statement(Access::Write);
    let dropped = before.create_table(&table_definition()).expect("made");
    let old = f.engine.table(dropped).expect("made");
    before.insert(&old, &f.row(5, 50)).expect("free");
    let dropped_index = build(&before, &index_on(&f.table, 1, KeyClass::Signed8, false));
    let dropped_sequence = before.create_sequence(&counter()).expect("made");
    before.commit().expect("logged");

    let (transaction, _) = f.session(7);
    for table in [f.table.id(), dropped] {
        let mode = TableLockMode::AccessExclusive;
        transaction
            .lock_table(table, mode, WaitPolicy::Block)
            .expect("free");
    }
    transaction.begin_statement(Access::Write);
    let table = transaction.create_table(&table_definition()).expect("made");
    let new = f.engine.table(table).expect("made");
    transaction.insert(&new, &f.row(1, 100)).expect("free");
    let savepoint = transaction.savepoint();
    transaction.insert(&new, &f.row(2, 200)).expect("free");
    transaction.rollback_to(savepoint);
    let table_index = build(&transaction, &index_on(&new, 0, KeyClass::Signed4, true));
    transaction.begin_statement(Access::Write);
    transaction.insert(&new, &f.row(3, 300)).expect("free");
    f.set(&transaction, 1, 11).expect("free");
    widen(f, &transaction);
    let snapshot = transaction.begin_statement(Access::Write);
    let seen = f.find(&transaction, &snapshot, 2).expect("loaded");
    transaction
        .update(&f.table, &seen, &widened(f, 2, 22, 1))
        .expect("free");
    transaction
        .insert(&f.table, &widened(f, 1000, 33, 1))
        .expect("free");
    let index = build(&transaction, &half_index(&f.table));
    transaction.drop_index(dropped_index).expect("there");
    transaction.drop_table(dropped).expect("there");
    transaction.drop_sequence(dropped_sequence).expect("there");
    let sequence = transaction.create_sequence(&counter()).expect("made");
    let numbers = f.engine.sequence(sequence).expect("made");
    assert_eq!(transaction.sequence_next(&numbers), Ok(1));
    // Made and dropped: nothing is left of it either way.
    let passing = transaction.create_table(&table_definition()).expect("made");
    transaction.drop_table(passing).expect("there");
    let prepared = transaction.prepare("g", b"note").expect("prepared").seen;
    f.engine.log().flush_step();
    Made {
        prepared,
        table,
        table_index,
        index,
        sequence,
        dropped,
        dropped_index,
        dropped_sequence,
    }
}

fn count(f: &Fixture, table: &Table) -> usize {
    let transaction = f.begin();
    let snapshot = transaction.begin_statement(Access::Write);
    let mut scan = table.scan();
    let rows = std::iter::from_fn(|| scan.next(table, &transaction, &snapshot).map(|_| ()));
    rows.count()
}

fn sound(index: &TableIndex) {
    index.tree.check().expect("the tree is sound");
}

fn expect_undecided(f: &Fixture, made: Made) {
    assert_eq!(f.engine.prepared().len(), 1);
    let new = f.engine.table(made.table).expect("waits for its decision");
    assert_eq!(count(f, &new), 0, "nobody sees it");
    assert!(f.engine.table(made.dropped).is_some(), "until the decision");
    assert!(f.table.index(made.dropped_index).is_some());
    assert!(f.engine.sequence(made.dropped_sequence).is_some());
    let (other, _) = f.session(8);
    for table in [f.table.id(), made.dropped] {
        let locked = other.lock_table(table, TableLockMode::AccessShare, WaitPolicy::NoWait);
        assert_eq!(locked, Err(WriteError::WouldBlock));
    }
}

fn expect_committed(f: &Fixture, made: Made) {
    let new = f.engine.table(made.table).expect("made");
    assert_eq!(count(f, &new), 2);
    let unique = new.index(made.table_index).expect("made");
    sound(&unique);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let again = transaction.insert(&new, &plain_row(&new, 3));
    assert!(matches!(again, Err(WriteError::Duplicate { .. })), "{again:?}");
    // Row ids that the transaction used are not given out again.
    for id in 10..400 {
        transaction.insert(&new, &plain_row(&new, id)).expect("a new key");
    }
    transaction.abort();
    assert_eq!(count(f, &new), 2);
    assert_eq!(f.table.newest_layout().column_count(), 4);
    assert_eq!(f.contents().len(), ROWS.len() + 1);
    assert_eq!(f.contents()[..2], [(1, 11), (2, 22)]);
    let half = f.table.index(made.index).expect("made");
    assert!(half.is_built());
    sound(&half);
    // Odd values are not covered: 11 and 33.
    assert_eq!(half.tree.len_estimate(), ROWS.len() - 1);
    assert!(f.table.index(made.dropped_index).is_none());
    assert!(f.engine.table(made.dropped).is_none());
    assert!(f.engine.sequence(made.dropped_sequence).is_none());
    let sequence = f.engine.sequence(made.sequence).expect("made");
    let transaction = f.begin();
    assert!(transaction.sequence_next(&sequence).expect("there are more") > 1);
    expect_free(f);
}

fn expect_rolled_back(f: &Fixture, made: Made) {
    assert!(f.engine.table(made.table).is_none());
    assert_eq!(f.table.newest_layout().column_count(), 3);
    assert_eq!(f.contents().len(), ROWS.len());
    assert_eq!(f.contents()[..2], [(1, 10), (2, 20)]);
    assert!(f.table.index(made.index).is_none());
    sound(&f.table.index(made.dropped_index).expect("not dropped"));
    let old = f.engine.table(made.dropped).expect("not dropped");
    assert_eq!(count(f, &old), 1);
    assert!(f.engine.sequence(made.sequence).is_none());
    assert!(f.engine.sequence(made.dropped_sequence).is_some());
    expect_free(f);
}

fn expect_free(f: &Fixture) {
    assert!(f.engine.prepared().is_empty());
    assert!(f.engine.locks().is_empty(), "{:?}", f.engine.locks());
    // The definitions' rows can be changed again.
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    transaction
        .lock_table(f.table.id(), TableLockMode::AccessExclusive, WaitPolicy::NoWait)
        .expect("nobody is left");
    widen(f, &transaction);
    transaction.abort();
}

fn expect_decided(f: &Fixture, made: Made, commit: bool) {
    match commit {
        true => expect_committed(f, made),
        false => expect_rolled_back(f, made),
    }
}

fn crash(f: Fixture) -> Fixture {
    crash_with(f, mortal())
}

#[test]
fn objects_are_there_or_not_with_the_decision() {
    for commit in [true, false] {
        let f = Fixture::with(mortal());
        let made = prepare_objects(&f);
        expect_undecided(&f, made);
        finish(&f.engine, "g", commit).expect("decided");
        expect_decided(&f, made, commit);
        f.engine.log().flush_step();
        expect_decided(&crash(f), made, commit);
    }
}

#[test]
fn objects_survive_crashes_and_checkpoints_before_the_decision() {
    for commit in [true, false] {
        for checkpoint in [true, false] {
            let mut f = Fixture::with(mortal());
            let made = prepare_objects(&f);
            for _ in 0..3 {
                if checkpoint {
                    f.engine.checkpoint().expect("the disk takes it");
                }
                f = crash(f);
                expect_undecided(&f, made);
            }
            finish(&f.engine, "g", commit).expect("decided");
            expect_decided(&f, made, commit);
            if checkpoint {
                f.engine.checkpoint().expect("the disk takes it");
            }
            f.engine.log().flush_step();
            let f = crash(f);
            expect_decided(&f, made, commit);
        }
    }
}

#[test]
fn objects_survive_a_prepare_that_is_written_again() {
    for commit in [true, false] {
        let config = || EngineConfig {
            prepared_log_bytes: 1,
            ..mortal()
        };
        let mut f = Fixture::with(config());
        let made = prepare_objects(&f);
        let mut written_at = made.prepared;
        for _ in 0..2 {
            for _ in 0..20 {
                let transaction = f.engine.begin(Isolation::ReadCommitted, false).expect("a slot");
                transaction.create_restore_point("moves the log").expect("logged");
                transaction.abort();
                f.engine.log().flush_step();
                f.engine.collect(100);
            }
            f.engine.checkpoint().expect("the disk takes it");
            let kept_from = f.engine.checkpoint_report().log_start;
            assert!(kept_from >= written_at, "{kept_from} is before {written_at}");
            written_at = kept_from;
            f = crash_with(f, config());
            expect_undecided(&f, made);
        }
        finish(&f.engine, "g", commit).expect("decided");
        expect_decided(&f, made, commit);
    }
}

#[test]
fn a_truncated_table_is_swapped_by_the_decision() {
    for commit in [true, false] {
        let f = Fixture::with(mortal());
        f.load([(1, 10), (2, 20)]);
        let transaction = f.begin();
        transaction.begin_statement(Access::Write);
        let fresh = transaction.truncate_table(f.table.id()).expect("there");
        let table = f.engine.table(fresh.table).expect("made");
        transaction.insert(&table, &f.row(1, 11)).expect("empty");
        transaction.prepare("g", b"").expect("prepared");
        f.engine.log().flush_step();
        let id = f.table.id();
        drop(table);
        let f = crash(f);
        assert_eq!(f.contents(), [(1, 10), (2, 20)]);
        finish(&f.engine, "g", commit).expect("decided");
        assert_eq!(f.engine.table(id).is_some(), !commit);
        let table = f.engine.table(fresh.table);
        assert_eq!(table.is_some(), commit);
        if let Some(table) = table {
            assert_eq!(count(&f, &table), 1);
            sound(&table.index(fresh.indexes[0].1).expect("made"));
        }
    }
}
