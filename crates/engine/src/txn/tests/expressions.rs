//! An index on an expression, with a predicate: what is in it, what is unique in it, and that it comes back.

use super::*;
use crate::check::check_indexes;

fn build(f: &Fixture) -> Result<Arc<TableIndex>, WriteError> {
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let mut build = transaction.create_index(&half_index(&f.table))?;
    while transaction.build_index(&mut build, 2)? == BuildProgress::More {}
    transaction.commit().expect("logged");
    Ok(f.table.index(build.id()).expect("there"))
}

/// Keys of the index, as halves.
fn halves(index: &TableIndex) -> Vec<i64> {
    let mut cursor = index.tree.cursor(KeyRange::all(), Direction::Forward);
    let mut found = Vec::new();
    while let Some((key, _)) = cursor.next(&index.tree) {
        let bytes = key.try_into().expect("eight bytes");
        found.push((u64::from_be_bytes(bytes) ^ 1 << 63) as i64);
    }
    found
}

#[test]
fn uniqueness_holds_among_covered_rows_only() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 11), (3, 12)]);
    let index = build(&f).expect("no duplicates");
    assert_eq!(halves(&index), [5, 6]);
    let transaction = f.begin();
    assert!(matches!(
        f.add(&transaction, 4, 10),
        Err(WriteError::Duplicate { index: other, .. }) if other == index.id
    ));
    f.add(&transaction, 4, 11).expect("odd ones are not in the index");
    assert!(matches!(
        f.set(&transaction, 4, 12),
        Err(WriteError::Duplicate { .. })
    ));
    f.set(&transaction, 1, 13).expect("leaves the index");
    transaction.next_command();
    f.set(&transaction, 4, 10).expect("takes its place");
    transaction.commit().expect("logged");
    f.settle();
    assert_eq!(halves(&index), [5, 6]);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    assert!(matches!(
        f.add(&transaction, 5, 0),
        Err(WriteError::Expression(_))
    ));
    assert!(matches!(
        f.set(&transaction, 2, 0),
        Err(WriteError::Expression(_))
    ));
    f.set(&transaction, 2, 15)
        .expect("the refused update left nothing");
    transaction.commit().expect("logged");
    f.settle();
    assert_eq!(halves(&index), [5, 6]);
    assert_eq!(check_indexes(&f.engine, &mut |_, _| {}).expect("runs").faults, []);
}

#[test]
fn rows_are_judged_when_the_index_is_made() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 10)]);
    assert!(matches!(build(&f), Err(WriteError::Duplicate { .. })));
    let f = Fixture::new();
    f.load([(1, 10), (2, 0)]);
    assert!(matches!(build(&f), Err(WriteError::Expression(_))));
}

#[test]
fn an_update_that_changes_neither_key_nor_outcome_leaves_the_index_alone() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 11)]);
    let index = build(&f).expect("no duplicates");
    let program = &index.key_program;
    let same = |old: i64, new: i64| {
        let (old, new) = (f.row(1, old), f.row(1, new));
        let layout = f.table.newest_layout();
        program.surely_same(&RowView::new(layout, &old), &RowView::new(layout, &new))
    };
    assert!(same(10, 10) && same(11, 13) && same(9, 7));
    assert!(!same(10, 12) && !same(10, 11) && !same(11, 10) && !same(10, 0));
}

#[test]
fn it_comes_back_with_the_rows() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 11), (3, 12)]);
    let id = build(&f).expect("no duplicates").id;
    let transaction = f.begin();
    f.set(&transaction, 2, 20).expect("free");
    transaction.commit().expect("logged");
    f.engine.stop();
    let (disk, table) = (f.disk.clone(), f.table.id());
    drop(f);
    let engine = open(&disk);
    let table = engine.table(table).expect("recovered");
    assert_eq!(halves(&table.index(id).expect("recovered")), [5, 6, 10]);
    assert_eq!(check_indexes(&engine, &mut |_, _| {}).expect("runs").faults, []);
}

#[test]
fn a_truncated_table_keeps_its_expressions() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    build(&f).expect("no duplicates");
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let made = transaction.truncate_table(f.table.id()).expect("there");
    let table = f.engine.table(made.table).expect("made");
    transaction.insert(&table, &f.row(1, 10)).expect("free");
    let again = transaction.insert(&table, &f.row(2, 10));
    assert!(matches!(again, Err(WriteError::Duplicate { .. })));
    transaction.commit().expect("logged");
}
