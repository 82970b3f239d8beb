//! One live row per key, whoever asks and however they race.

use super::*;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_live_key_is_a_duplicate_and_a_deleted_one_is_free() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let reader = f.begin_at(Isolation::RepeatableRead);
    assert_eq!(f.read(&reader, 1), Some(10));
    let transaction = f.begin();
    assert!(matches!(
        f.add(&transaction, 1, 0),
        Err(WriteError::Duplicate { .. })
    ));
    f.remove(&transaction, 1).expect("free");
    f.add(&transaction, 1, 11).expect("our own delete frees the key");
    assert!(matches!(
        f.add(&transaction, 1, 12),
        Err(WriteError::Duplicate { .. })
    ));
    transaction.commit().expect("logged");
    assert_eq!(f.contents(), [(1, 11)]);
    assert_eq!(f.read(&reader, 1), Some(10));
}

#[test]
fn a_key_in_flight_is_waited_for_and_the_end_decides() {
    let f = Fixture::new();
    for commits in [true, false] {
        let (first, _) = f.session(1);
        let (second, bell) = f.session(2);
        f.add(&first, 1, 10).expect("free");
        let ticket = ticket_of(f.add(&second, 1, 20));
        assert!(!bell.has_rung(ticket));
        if commits {
            _ = first.commit().expect("logged")
        } else {
            _ = first.abort()
        }
        assert!(bell.has_rung(ticket));
        let again = f.add(&second, 1, 20);
        assert_eq!(again.is_err(), commits, "{again:?}");
        second.commit().expect("logged");
        assert_eq!(f.contents(), [(1, if commits { 10 } else { 20 })]);
        let cleaner = f.begin();
        f.remove(&cleaner, 1).expect("free");
        cleaner.commit().expect("logged");
    }
}

#[test]
fn an_uncommitted_delete_of_the_key_is_waited_for() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let (first, _) = f.session(1);
    let (second, bell) = f.session(2);
    f.remove(&first, 1).expect("free");
    let ticket = ticket_of(f.add(&second, 1, 20));
    first.commit().expect("logged");
    assert!(bell.has_rung(ticket));
    f.add(&second, 1, 20).expect("the key is free");
}

#[test]
fn nulls_are_distinct_unless_told_otherwise() {
    let f = Fixture::new();
    for not_distinct in [false, true] {
        let transaction = f.begin();
        transaction.begin_statement(Access::Write);
        let columns = vec![ColumnStorage::new(StorageClass::Fixed4, true)];
        let id = transaction
            .create_table(&TableDefinition::new(columns))
            .expect("made");
        let table = f.engine.table(id).expect("made above");
        let definition = IndexDefinition {
            columns: vec![KeyColumn::ascending(0, KeyClass::Signed4, true)],
            nulls_not_distinct: not_distinct,
            ..index_on(&table, 0, KeyClass::Signed4, true)
        };
        let mut build = transaction.create_index(&definition).expect("made");
        transaction.build_index(&mut build, 10).expect("empty");
        let null = RowWriter::new(table.newest_layout())
            .finish()
            .expect("small")
            .to_vec();
        transaction.insert(&table, &null).expect("the first");
        let second = transaction.insert(&table, &null);
        assert_eq!(
            matches!(second, Err(WriteError::Duplicate { .. })),
            not_distinct,
            "{second:?}"
        );
    }
}

#[test]
fn of_threads_that_insert_one_key_exactly_one_wins() {
    const THREADS: usize = 4;
    let f = Fixture::new();
    for key in 0..200 {
        let (won, barrier) = (AtomicUsize::new(0), Barrier::new(THREADS));
        std::thread::scope(|scope| {
            for session in 0..THREADS {
                let (f, won, barrier) = (&f, &won, &barrier);
                scope.spawn(move || {
                    let (transaction, bell) = f.session(session as u32 + 1);
                    barrier.wait();
                    let outcome = loop {
                        match f.add(&transaction, key, session as i64) {
                            Err(WriteError::MustWait(ticket)) => bell.wait(ticket),
                            outcome => break outcome,
                        }
                    };
                    match outcome {
                        // Now and then the winner gives up: then another one wins.
                        Ok(_) if key % 3 == 0 && session == 0 => _ = transaction.abort(),
                        Ok(_) => {
                            transaction.commit().expect("logged");
                            won.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(WriteError::Duplicate { .. }) => _ = transaction.abort(),
                        Err(error) => panic!("{error:?}"),
                    }
                });
            }
        });
        // If the one that gives up came last, the key is a duplicate for it.
        assert_eq!(won.load(Ordering::Relaxed), 1, "key {key}");
    }
    assert_eq!(f.contents().len(), 200);
    f.primary.tree.check().expect("the tree is sound");
}

/// A table of one column under a deferrable unique index.
fn deferrable(f: &Fixture) -> (Arc<Table>, Arc<TableIndex>) {
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let columns = vec![ColumnStorage::new(StorageClass::Fixed4, false)];
    let id = transaction
        .create_table(&TableDefinition::new(columns))
        .expect("made");
    let table = f.engine.table(id).expect("made above");
    let definition = IndexDefinition {
        deferrable: true,
        ..index_on(&table, 0, KeyClass::Signed4, true)
    };
    let mut build = transaction.create_index(&definition).expect("made");
    transaction.build_index(&mut build, 10).expect("empty");
    transaction.commit().expect("logged");
    let index = table.indexes()[0].clone();
    (table, index)
}

fn key_row(table: &Table, key: i32) -> Vec<u8> {
    let mut writer = RowWriter::new(table.newest_layout());
    writer.set_fixed4(0, key as u32);
    writer.finish().expect("small").to_vec()
}

#[test]
fn a_deferrable_key_is_entered_and_judged_later() {
    let f = Fixture::new();
    let (table, index) = deferrable(&f);
    let transaction = f.begin();
    let first = transaction.insert(&table, &key_row(&table, 1)).expect("free");
    assert!(transaction.take_unchecked_keys().is_empty());
    let second = transaction
        .insert(&table, &key_row(&table, 1))
        .expect("not judged");
    assert_eq!(transaction.take_unchecked_keys(), [(index.id, second)]);
    let judged = transaction.check_key(&table, &index, second);
    assert!(matches!(judged, Err(WriteError::Duplicate { existing, .. }) if existing == first));
    transaction.begin_statement(Access::Write);
    let version = transaction.fetch_newest(&table, first).expect("own");
    transaction.delete(&table, &version).expect("own");
    transaction
        .check_key(&table, &index, second)
        .expect("the only one now");
    transaction.check_key(&table, &index, first).expect("gone");
    transaction.commit().expect("logged");
}

#[test]
fn of_two_writers_of_a_deferrable_key_the_later_one_waits_when_it_checks() {
    let f = Fixture::new();
    let (table, index) = deferrable(&f);
    for (key, commits) in [(1, true), (2, false)] {
        let (first, _) = f.session(1);
        let (second, bell) = f.session(2);
        first.insert(&table, &key_row(&table, key)).expect("free");
        assert!(first.take_unchecked_keys().is_empty());
        let row = second.insert(&table, &key_row(&table, key)).expect("not judged");
        assert_eq!(second.take_unchecked_keys(), [(index.id, row)]);
        let Err(WriteError::MustWait(ticket)) = second.check_key(&table, &index, row) else {
            panic!("the first one has not decided");
        };
        match commits {
            true => _ = first.commit().expect("logged"),
            false => _ = first.abort(),
        }
        assert!(bell.has_rung(ticket));
        let judged = second.check_key(&table, &index, row);
        assert_eq!(judged.is_err(), commits, "{judged:?}");
        second.abort();
    }
}
