//! Tables, layouts, indexes, sequences; and all of it after a restart.

use super::*;
use crate::sequence::SequenceError;
use crate::table::SequenceDefinition;

#[test]
fn ddl_is_taken_back_with_its_transaction() {
    let f = Fixture::new();
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let id = transaction.create_table(&table_definition()).expect("made");
    let table = f.engine.table(id).expect("there");
    transaction.insert(&table, &f.row(1, 1)).expect("free");
    let savepoint = transaction.savepoint();
    let index = transaction
        .create_index(&index_on(&table, 0, KeyClass::Signed4, true))
        .expect("made")
        .id();
    assert!(table.index(index).is_some());
    transaction.rollback_to(savepoint);
    assert!(table.index(index).is_none());
    transaction.drop_table(f.table.id()).expect("there");
    assert!(f.engine.table(f.table.id()).is_some(), "until commit");
    transaction.abort();
    assert!(f.engine.table(id).is_none());
    assert!(f.engine.table(f.table.id()).is_some());
    f.load([(1, 1)]);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    transaction.drop_table(f.table.id()).expect("there");
    transaction.commit().expect("logged");
    assert!(f.engine.table(f.table.id()).is_none());
}

/// Rows written under a layout are undone while the table still knows it as its newest: their keys are derived under it.
#[test]
fn rows_of_a_new_layout_are_rolled_back_with_it() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 20)]);
    let widen = |transaction: &Transaction| {
        let mut columns = f.table.newest_layout().columns().to_vec();
        columns.push(
            ColumnStorage::new(StorageClass::Fixed4, false)
                .with_missing(Some(7u32.to_le_bytes().to_vec().into())),
        );
        transaction.add_layout(f.table.id(), columns).expect("there");
        let snapshot = transaction.begin_statement(Access::Write);
        let seen = f.find(transaction, &snapshot, 1).expect("there");
        let view = f.table.view(seen.layout(), seen.bytes());
        let mut writer = RowWriter::new(f.table.newest_layout());
        (0..4).for_each(|column| writer.set_from(column, &view));
        // Another key, so that index entries have to go.
        writer.set_fixed4(0, 100);
        let row = writer.finish().expect("small");
        transaction.update(&f.table, &seen, row).expect("free");
    };
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let savepoint = transaction.savepoint();
    widen(&transaction);
    transaction.rollback_to(savepoint);
    widen(&transaction);
    transaction.abort();
    assert_eq!(f.table.newest_layout().column_count(), 3);
    assert_eq!(f.contents(), [(1, 10), (2, 20)]);
    assert_eq!(f.primary.tree.len_estimate(), 2);
    // The catalog's row is the committed one again: it can be changed, and the change recovers.
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    widen(&transaction);
    transaction.commit().expect("logged");
    f.engine.stop();
    let (disk, id) = (f.disk.clone(), f.table.id());
    drop(f);
    let engine = open(&disk);
    let table = engine.table(id).expect("recovered");
    assert_eq!(table.newest_layout().column_count(), 4);
}

#[test]
fn an_index_is_built_step_by_step_and_judges_duplicates() {
    let f = Fixture::new();
    f.load((0..500).map(|id| (id, i64::from(id % 499))));
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let mut build = transaction
        .create_index(&index_on(&f.table, 1, KeyClass::Signed8, false))
        .expect("made");
    let mut steps = 1;
    while transaction.build_index(&mut build, 100).expect("free") == BuildProgress::More {
        steps += 1;
    }
    assert!(steps >= 5);
    let index = f.table.index(build.id()).expect("there");
    assert!(index.is_built());
    assert_eq!(index.tree.len_estimate(), 500);
    let mut unique = transaction
        .create_index(&index_on(&f.table, 1, KeyClass::Signed8, true))
        .expect("made");
    let outcome = transaction.build_index(&mut unique, usize::MAX);
    assert!(
        matches!(outcome, Err(WriteError::Duplicate { .. })),
        "{outcome:?}"
    );
    transaction.abort();
    assert_eq!(f.table.indexes().len(), 1);
}

#[test]
fn truncate_swaps_in_an_empty_table_at_commit() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let fresh = transaction.truncate_table(f.table.id()).expect("there");
    assert_eq!(fresh.indexes[0].0, f.primary.id);
    let table = f.engine.table(fresh.table).expect("made");
    assert!(table.is_empty() && table.index(fresh.indexes[0].1).is_some());
    transaction.insert(&table, &f.row(1, 11)).expect("empty");
    transaction.commit().expect("logged");
    assert!(f.engine.table(f.table.id()).is_none());
}

#[test]
fn everything_committed_is_there_after_a_restart() {
    let f = Fixture::new();
    f.load((0..300).map(|id| (id, 0)));
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let columns = vec![
        ColumnStorage::new(StorageClass::Fixed4, false),
        ColumnStorage::new(StorageClass::Fixed8, false),
        ColumnStorage::new(StorageClass::Variable, true),
        ColumnStorage::new(StorageClass::Fixed8, false)
            .with_missing(Some(77u64.to_le_bytes().to_vec().into())),
    ];
    transaction.add_layout(f.table.id(), columns).expect("there");
    let definition = SequenceDefinition {
        id: crate::table::SequenceId(0),
        start: 5,
        increment: 5,
        minimum: 1,
        maximum: 1000,
        cycle: false,
    };
    let sequence_id = transaction.create_sequence(&definition).expect("made");
    transaction.commit().expect("logged");
    let (checkpoint, id) = (f.engine.checkpoint(), f.table.id());
    checkpoint.expect("the disk takes it");
    let sequence = f.engine.sequence(sequence_id).expect("there");
    let transaction = f.begin();
    assert_eq!(transaction.sequence_next(&sequence), Ok(5));
    assert_eq!(transaction.sequence_next(&sequence), Ok(10));
    let mut writer = RowWriter::new(f.table.newest_layout());
    for id in 0..100 {
        let snapshot = transaction.begin_statement(Access::Write);
        let seen = f.find(&transaction, &snapshot, id).expect("there");
        let view = f.table.view(seen.layout(), seen.bytes());
        assert_eq!(view.fixed8(3), 77);
        writer.clear();
        (0..3).for_each(|column| writer.set_from(column, &view));
        writer.set_fixed8(1, 1);
        writer.set_fixed8(3, 78);
        transaction
            .update(&f.table, &seen, writer.finish().expect("small"))
            .expect("free");
    }
    for id in 100..200 {
        f.remove(&transaction, id).expect("free");
    }
    transaction.commit().expect("logged");
    let lost = f.begin();
    f.remove(&lost, 250).expect("free");
    drop(lost);
    f.engine.stop();
    let (disk, index) = (f.disk.clone(), f.primary.id);
    drop((sequence, f));
    let engine = open(&disk);
    let table = engine.table(id).expect("recovered");
    let primary = table.index(index).expect("loaded");
    assert_eq!(primary.tree.len_estimate(), 200);
    primary.tree.check().expect("the tree is sound");
    let f = Fixture {
        engine,
        table,
        primary,
        disk,
    };
    let contents = f.contents();
    assert_eq!(contents.len(), 200);
    assert!(contents.iter().all(|&(id, value)| (value == 1) == (id < 100)));
    assert_eq!(f.table.row_count_estimate(), 200);
    let transaction = f.begin();
    let snapshot = transaction.begin_statement(Access::Write);
    for (id, expect) in [(3, 78), (220, 77)] {
        let version = f.find(&transaction, &snapshot, id).expect("there");
        assert_eq!(f.table.view(version.layout(), version.bytes()).fixed8(3), expect);
    }
    // The sequence goes on behind what was logged ahead.
    let sequence = f.engine.sequence(sequence_id).expect("recovered");
    let next = transaction.sequence_next(&sequence).expect("far from the end");
    assert!(next > 10 && next % 5 == 0 && next <= 5 * 40, "{next}");
    transaction
        .sequence_set(&sequence, 1000, true)
        .expect("within bounds");
    assert_eq!(
        transaction.sequence_next(&sequence),
        Err(SequenceError::MaximumReached(1000))
    );
    // Ids are not used again.
    let made = transaction.create_table(&table_definition()).expect("made");
    assert!(made.0 > id.0);
}

#[test]
fn a_large_transaction_goes_out_in_fragments_and_comes_back_whole_or_not_at_all() {
    let f = Fixture::new();
    for commits in [false, true] {
        let transaction = f.begin();
        for id in 0..6000 {
            let savepoint = (id % 2000 == 1999).then(|| transaction.savepoint());
            f.add(&transaction, id, 1).expect("free");
            if let Some(savepoint) = savepoint {
                transaction.rollback_to(savepoint);
            }
        }
        if commits {
            _ = transaction.commit().expect("logged")
        } else {
            _ = transaction.abort()
        }
    }
    let (id, index, disk) = (f.table.id(), f.primary.id, f.disk.clone());
    f.engine.stop();
    drop(f);
    let engine = open(&disk);
    let table = engine.table(id).expect("recovered");
    let primary = table.index(index).expect("loaded");
    let f = Fixture {
        engine,
        table,
        primary,
        disk,
    };
    assert_eq!(f.contents().len(), 6000 - 3);
}

/// Numbers drawn together end with the bounds, and CYCLE begins a draw of its own.
#[test]
fn numbers_are_drawn_ahead_within_the_bounds() {
    let f = Fixture::new();
    let transaction = f.begin();
    let definition = SequenceDefinition {
        id: crate::table::SequenceId(0),
        start: 7,
        increment: -3,
        minimum: -10,
        maximum: 9,
        cycle: true,
    };
    let id = transaction.create_sequence(&definition).expect("made");
    let sequence = f.engine.sequence(id).expect("there");
    let draw = |count| {
        let drawn = transaction.sequence_draw(&sequence, count).expect("it cycles");
        (drawn.first, drawn.count)
    };
    assert_eq!(draw(4), (7, 4));
    assert_eq!(draw(4), (-5, 2));
    assert_eq!(draw(1), (9, 1));
    assert_eq!(draw(1 << 40), (6, 6));
    assert_eq!(draw(0), (9, 1));
    let widest = SequenceDefinition {
        start: i64::MIN,
        increment: 1,
        minimum: i64::MIN,
        maximum: i64::MAX,
        cycle: false,
        ..definition
    };
    let id = transaction.create_sequence(&widest).expect("made");
    let sequence = f.engine.sequence(id).expect("there");
    let drawn = transaction
        .sequence_draw(&sequence, i64::MAX as u64)
        .expect("plenty");
    assert_eq!((drawn.first, drawn.count), (i64::MIN, i64::MAX as u64));
    assert_eq!(transaction.sequence_next(&sequence), Ok(-1));
}
