//! CREATE INDEX CONCURRENTLY: an index built while others write holds what it would hold if it had always been there.

use super::*;
use mote_common::prng::Prng;
use std::collections::BTreeSet;

const ROWS: i32 = 60;
/// Few, so that rows share values and take them back.
const VALUES: u64 = 25;

fn build(f: &Fixture, unique: bool) -> Result<Arc<TableIndex>, WriteError> {
    let (builder, bell) = f.session(999);
    let mut definition = index_on(&f.table, 1, KeyClass::Signed8, unique);
    if unique {
        // (value, id): unique in truth, whatever the values.
        definition
            .columns
            .push(KeyColumn::ascending(0, KeyClass::Signed4, false));
    }
    let mut building = builder.create_index_among_writers(&definition)?;
    loop {
        match builder.build_index(&mut building, 7) {
            Ok(BuildProgress::More) => std::thread::yield_now(),
            Ok(BuildProgress::Done) => break,
            Err(WriteError::MustWait(ticket)) => bell.wait(ticket),
            Err(error) => return Err(error),
        }
    }
    builder.commit().expect("logged");
    Ok(f.table.index(building.id()).expect("built"))
}

/// One transaction of some writes; waits are waited for, and conflicts roll it back.
fn write_something(f: &Fixture, session: u32, prng: &mut Prng) {
    let (transaction, bell) = f.session(session);
    for _ in 0..1 + prng.below(4) {
        let (id, value) = (prng.below(ROWS as u64) as i32, prng.below(VALUES) as i64);
        let kind = prng.below(4);
        let savepoint = prng.chance(1, 4).then(|| transaction.savepoint());
        loop {
            let result = match kind {
                0 => f.add(&transaction, id, value).map(|_| ()),
                1 => f.remove(&transaction, id),
                _ => f.set(&transaction, id, value),
            };
            match result {
                Err(WriteError::MustWait(ticket)) => bell.wait(ticket),
                Err(WriteError::Deadlock(_)) => return,
                // No such row, or there is one, or somebody was faster.
                Ok(()) | Err(_) => break,
            }
        }
        if let Some(savepoint) = savepoint.filter(|_| prng.chance(1, 2)) {
            transaction.rollback_to(savepoint);
        }
        if prng.chance(1, 6) {
            std::thread::yield_now();
        }
    }
    if prng.chance(1, 4) {
        transaction.abort();
    } else {
        transaction.commit().expect("logged");
    }
}

/// What a reader finds through the index, against what it finds in the table.
fn compare(f: &Fixture, index: &TableIndex, seed: u64) {
    let reader = f.begin();
    let snapshot = reader.begin_statement(Access::Write);
    let mut through_index = Vec::new();
    let mut cursor = index.tree.cursor(KeyRange::all(), Direction::Forward);
    let mut scratch = Vec::new();
    while let Some((key, row)) = cursor.next(&index.tree) {
        let Some(version) = reader.fetch(&f.table, row, &snapshot) else {
            continue;
        };
        let view = f.table.view(version.layout(), version.bytes());
        if !version.needs_key_check() || index.key_program.matches(&view, key, &mut scratch) {
            through_index.push((view.fixed4(0) as i32, view.fixed8(1) as i64));
        }
    }
    through_index.sort_unstable();
    let mut rows = f.contents();
    rows.sort_unstable();
    assert_eq!(through_index, rows, "seed {seed}");
}

/// Nothing is left that the table does not have, once nothing waits for the collector.
fn entries_are_exact(f: &Fixture, index: &TableIndex, seed: u64) {
    let mut left = None;
    for _ in 0..400 {
        f.settle();
        left = surplus(f, index);
        if left.is_none() && f.engine.collector_backlog() == 0 {
            break;
        }
        // The collector's thread may have rows in its hands, and the last ones wait for a later horizon.
        f.load([(5_000, 0)]);
        let writer = f.begin();
        f.remove(&writer, 5_000).expect("loaded");
        writer.commit().expect("logged");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(
        left,
        None,
        "seed {seed}, backlog {}",
        f.engine.collector_backlog()
    );
    index.tree.check().expect("the tree is sound");
}

fn surplus(f: &Fixture, index: &TableIndex) -> Option<String> {
    let reader = f.begin();
    let snapshot = reader.begin_statement(Access::Write);
    let mut cursor = index.tree.cursor(KeyRange::all(), Direction::Forward);
    let (mut rows, mut scratch) = (BTreeSet::new(), Vec::new());
    while let Some((key, row)) = cursor.next(&index.tree) {
        let Some(version) = reader.fetch(&f.table, row, &snapshot) else {
            return Some(format!("an entry of {row:?}, which is gone"));
        };
        let view = f.table.view(version.layout(), version.bytes());
        if !index.key_program.matches(&view, key, &mut scratch) {
            return Some(format!("an entry of {row:?} that is not its own"));
        }
        rows.insert(row);
    }
    drop(snapshot);
    let count = f.contents().len();
    (rows.len() != count).then(|| format!("{} entries for {count} rows", rows.len()))
}

#[test]
fn it_holds_what_it_would_hold_if_it_had_always_been_there() {
    for seed in 0..40u64 {
        let f = Fixture::new();
        f.engine.start_background().expect("threads start");
        f.load((0..ROWS / 2).map(|id| (id, i64::from(id) % VALUES as i64)));
        // Keeps old versions on their chains.
        let old = (seed % 2 == 0).then(|| {
            let old = f.begin_at(Isolation::RepeatableRead);
            old.begin_statement(Access::Write);
            old
        });
        let index = std::thread::scope(|scope| {
            for thread in 0..3u32 {
                let f = &f;
                scope.spawn(move || {
                    let mut prng = Prng::fork(seed, thread as u64);
                    for _ in 0..120 {
                        write_something(f, thread + 1, &mut prng);
                    }
                });
            }
            let unique = seed % 3 == 0;
            build(&f, unique).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"))
        });
        compare(&f, &index, seed);
        drop(old);
        entries_are_exact(&f, &index, seed);
    }
}

#[test]
fn versions_in_flight_are_entered_whatever_becomes_of_them() {
    for commit in [true, false] {
        let f = Fixture::new();
        f.load((0..3).map(|id| (id, 10)));
        let (writer, _) = f.session(1);
        f.set(&writer, 0, 20).expect("free");
        f.set(&writer, 0, 30).expect("its own");
        f.remove(&writer, 1).expect("free");
        f.add(&writer, 7, 70).expect("a new key");
        let index = build(&f, false).expect("nobody is waited for");
        compare(&f, &index, 0);
        if commit {
            writer.commit().expect("logged");
        } else {
            writer.abort();
        }
        compare(&f, &index, 1);
        // A later change must not make the reader trust an entry that is not its row's.
        let (writer, _) = f.session(1);
        writer.begin_statement(Access::Write);
        f.set(&writer, 2, 11).expect("free");
        writer.commit().expect("logged");
        compare(&f, &index, 2);
        entries_are_exact(&f, &index, 3);
    }
}

#[test]
fn a_unique_build_waits_for_writers_that_do_not_know_it_and_fails_on_duplicates() {
    let f = Fixture::new();
    f.load((0..3).map(|id| (id, i64::from(id))));
    let (writer, _) = f.session(1);
    f.set(&writer, 0, 2).expect("free");
    let (builder, bell) = f.session(2);
    let definition = index_on(&f.table, 1, KeyClass::Signed8, true);
    let mut building = builder
        .create_index_among_writers(&definition)
        .expect("indexes can be made");
    let waiting = loop {
        match builder.build_index(&mut building, 100) {
            Ok(BuildProgress::More) => {}
            other => break ticket_of(other),
        }
    };
    // Who knows the index is judged by it at once.
    let (other, _) = f.session(3);
    f.set(&other, 1, 50).expect("free");
    other.commit().expect("logged");
    writer.commit().expect("logged");
    assert!(bell.has_rung(waiting));
    let built = builder.build_index(&mut building, 100);
    assert!(matches!(built, Err(WriteError::Duplicate { .. })), "{built:?}");
    builder.abort();
    assert!(f.table.index(building.id()).is_none(), "nothing is left of it");
    let writer = f.begin();
    f.set(&writer, 1, 2).expect("nobody minds duplicates any more");
}
