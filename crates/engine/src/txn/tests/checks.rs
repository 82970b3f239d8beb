//! Indexes that disagree with their tables are found.

use super::*;
use crate::check::check_indexes;

#[test]
fn indexes_are_compared_with_their_tables_both_ways() {
    let fixture = Fixture::new();
    fixture.load((0..100).map(|id| (id, i64::from(id))));
    let sound = check_indexes(&fixture.engine, &mut |_, _| {}).expect("it runs");
    assert!(sound.faults.is_empty(), "{:?}", sound.faults);
    assert!(sound.entries >= 100 && sound.rows >= 100);
    // An entry too many, and one too few.
    let mut cursor = fixture.primary.tree.cursor(KeyRange::all(), Direction::Forward);
    let (key, row) = cursor.next(&fixture.primary.tree).expect("a hundred rows");
    let (key, gone) = (key.to_vec(), row);
    let (other, _) = cursor.next(&fixture.primary.tree).expect("a hundred rows");
    let other = other.to_vec();
    assert!(fixture.primary.tree.remove(&key, gone));
    fixture
        .primary
        .tree
        .insert(&other, gone)
        .expect("there is memory");
    let report = check_indexes(&fixture.engine, &mut |_, _| {}).expect("it runs");
    let said: Vec<String> = report.faults.iter().map(|fault| fault.to_string()).collect();
    for words in ["under another key", "missing in the index"] {
        assert!(said.iter().any(|fault| fault.contains(words)), "{said:?}");
    }
    assert!(
        report
            .faults
            .iter()
            .all(|fault| fault.row == Some(gone) && fault.table == Some(fixture.table.id()))
    );
}

#[test]
fn a_prepared_row_must_have_its_entry_and_only_that() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let writer = f.begin();
    let row = f.add(&writer, 2, 20).expect("a new key");
    writer.prepare("g", b"").expect("prepared");
    let said = || {
        let report = check_indexes(&f.engine, &mut |_, _| {}).expect("it runs");
        report
            .faults
            .iter()
            .map(|fault| fault.to_string())
            .collect::<Vec<_>>()
    };
    assert!(said().is_empty(), "{:?}", said());
    f.primary.tree.insert(&f.key(3), row).expect("there is memory");
    assert!(
        said()
            .iter()
            .any(|fault| fault.contains("a row that is not there")),
        "{:?}",
        said()
    );
    f.primary.tree.remove(&f.key(3), row);
    f.primary.tree.remove(&f.key(2), row);
    assert!(
        said()
            .iter()
            .any(|fault| fault.contains("as a prepared transaction wrote it")),
        "{:?}",
        said()
    );
}
