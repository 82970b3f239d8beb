//! SERIALIZABLE compares the columns that were read: what that lets through, and what it must not.

use super::*;
use crate::table::ColumnSet;
use crate::txn::tests::serializable::assert_refused;
use std::ops::Bound;

pub(super) const VALUE: ColumnSet = column(1);
pub(super) const TEXT: ColumnSet = column(2);

const fn column(number: usize) -> ColumnSet {
    ColumnSet::NONE.with(number)
}

impl Fixture {
    /// Finds a row by its key and looks at these columns of it.
    pub(super) fn look(&self, transaction: &Transaction, id: i32, columns: ColumnSet) -> bool {
        let snapshot = transaction.begin_statement(Access::Read);
        let (key, mut rows, mut scratch) = (self.key(id), Vec::new(), Vec::new());
        transaction.rows_with_key(&self.table, &self.primary, &key, &snapshot, &mut rows);
        let mut rows = rows.into_iter();
        rows.any(|row| {
            let Some(version) = transaction.fetch_columns(&self.table, row, &snapshot, columns) else {
                return false;
            };
            let view = self.table.view(version.layout(), version.bytes());
            !version.needs_key_check() || self.primary.key_program.matches(&view, &key, &mut scratch)
        })
    }

    /// Ids found in a range of an index of which these columns are looked at.
    pub(super) fn look_at_range(
        &self,
        transaction: &Transaction,
        index: &Arc<TableIndex>,
        range: KeyRange,
        columns: ColumnSet,
    ) -> usize {
        let snapshot = transaction.begin_statement(Access::Read);
        let mut cursor = transaction.cursor(range, Direction::Forward);
        let (mut found, mut scratch) = (0, Vec::new());
        while let Some(row) = transaction.next_entry(&self.table, index, &mut cursor) {
            let Some(version) = transaction.fetch_columns(&self.table, row, &snapshot, columns) else {
                continue;
            };
            let view = self.table.view(version.layout(), version.bytes());
            let matches =
                !version.needs_key_check() || index.key_program.matches(&view, cursor.key(), &mut scratch);
            found += usize::from(matches);
        }
        found
    }

    /// Rows that a scan which looks at these columns meets.
    pub(super) fn count(&self, transaction: &Transaction, columns: ColumnSet) -> usize {
        let snapshot = transaction.begin_statement(Access::Read);
        let mut scan = self.table.scan_columns(columns);
        let mut count = 0;
        while scan.next(&self.table, transaction, &snapshot).is_some() {
            count += 1;
        }
        count
    }

    /// UPDATE ... SET text = text WHERE id = id.
    pub(super) fn set_text(&self, transaction: &Transaction, id: i32, text: &[u8]) -> Result<(), WriteError> {
        let snapshot = transaction.begin_statement(Access::Write);
        let version = self.find(transaction, &snapshot, id).ok_or(WriteError::Deleted)?;
        let mut writer = RowWriter::new(self.table.newest_layout());
        writer.set_fixed4(0, id as u32);
        writer.set_fixed8(1, self.value(&version) as u64);
        writer.set_variable(2, text);
        transaction.update(&self.table, &version, writer.finish().expect("small"))
    }

    /// Another transaction does something and commits.
    pub(super) fn elsewhere(&self, work: impl FnOnce(&Transaction)) {
        let other = self.begin();
        work(&other);
        other.commit().expect("logged");
    }

    pub(super) fn index_by_value(&self) -> Arc<TableIndex> {
        let transaction = self.begin();
        transaction.begin_statement(Access::Write);
        let definition = index_on(&self.table, 1, KeyClass::Signed8, false);
        let mut build = transaction.create_index(&definition).expect("free");
        assert_eq!(transaction.build_index(&mut build, 1000), Ok(BuildProgress::Done));
        transaction.commit().expect("logged");
        self.table.index(build.id()).expect("built above")
    }
}

pub(super) fn values(index: &TableIndex, range: std::ops::Range<i64>) -> KeyRange {
    let key = |value| {
        let mut key = Vec::new();
        index.key_program.columns()[0].append(KeyValue::Signed(value), &mut key);
        key
    };
    KeyRange {
        lower: Bound::Included(key(range.start)),
        upper: Bound::Excluded(key(range.end)),
    }
}

fn two_rows() -> Fixture {
    let f = Fixture::new();
    f.load([(1, 100), (2, 100), (9, 0)]);
    f
}

#[test]
fn write_skew_through_columns_that_were_not_read_is_none() {
    let f = two_rows();
    let (a, b) = (
        f.begin_at(Isolation::Serializable),
        f.begin_at(Isolation::Serializable),
    );
    assert!(f.look(&a, 1, VALUE) && f.look(&b, 2, VALUE));
    f.set_text(&a, 2, b"by a").expect("free");
    f.set_text(&b, 1, b"by b").expect("free");
    a.commit().expect("first");
    b.commit().expect("what it read is as it was");
}

#[test]
fn write_skew_through_the_columns_read_is_refused() {
    let f = two_rows();
    let (a, b) = (
        f.begin_at(Isolation::Serializable),
        f.begin_at(Isolation::Serializable),
    );
    assert!(f.look(&a, 1, TEXT) && f.look(&b, 2, VALUE));
    f.set(&a, 2, -1).expect("free");
    f.set_text(&b, 1, b"by b").expect("free");
    a.commit().expect("first");
    assert_refused(b);
}

#[test]
fn a_row_that_goes_or_comes_is_a_change_whatever_was_read() {
    let f = two_rows();
    let reader = f.begin_at(Isolation::Serializable);
    assert!(f.look(&reader, 1, ColumnSet::NONE));
    f.elsewhere(|other| f.remove(other, 1).expect("free"));
    f.set(&reader, 9, 1).expect("free");
    assert_refused(reader);
    let reader = f.begin_at(Isolation::Serializable);
    assert!(!f.look(&reader, 5, ColumnSet::NONE));
    f.elsewhere(|other| _ = f.add(other, 5, 1).expect("free"));
    f.set(&reader, 9, 2).expect("free");
    assert_refused(reader);
}

#[test]
fn a_row_deleted_and_inserted_again_is_another_one() {
    let f = two_rows();
    let reader = f.begin_at(Isolation::Serializable);
    assert!(f.look(&reader, 1, VALUE));
    f.elsewhere(|other| f.remove(other, 1).expect("free"));
    f.elsewhere(|other| _ = f.add(other, 1, 100).expect("free"));
    f.set(&reader, 9, 1).expect("free");
    assert_refused(reader);
}

#[test]
fn a_value_changed_and_changed_back_is_no_change() {
    let f = two_rows();
    let reader = f.begin_at(Isolation::Serializable);
    assert!(f.look(&reader, 1, VALUE));
    f.elsewhere(|other| f.set(other, 1, 7).expect("free"));
    f.elsewhere(|other| f.set(other, 1, 100).expect("free"));
    f.engine.collect(1000);
    f.set(&reader, 9, 1).expect("free");
    reader.commit().expect("there is nothing it would read otherwise");
    let reader = f.begin_at(Isolation::Serializable);
    assert!(f.look(&reader, 1, ColumnSet::WHOLE));
    f.elsewhere(|other| f.set(other, 1, 100).expect("free"));
    f.set(&reader, 9, 2).expect("free");
    assert_refused(reader);
}

#[test]
fn the_key_that_led_to_a_row_counts() {
    let f = two_rows();
    let by_value = f.index_by_value();
    let reader = f.begin_at(Isolation::Serializable);
    let hundred = values(&by_value, 100..101);
    assert_eq!(
        f.look_at_range(&reader, &by_value, hundred.clone(), ColumnSet::NONE),
        2
    );
    f.elsewhere(|other| f.set_text(other, 1, b"not read").expect("free"));
    f.set(&reader, 9, 1).expect("free");
    reader.commit().expect("the rows are where they were");
    let reader = f.begin_at(Isolation::Serializable);
    assert_eq!(f.look_at_range(&reader, &by_value, hundred, ColumnSet::NONE), 2);
    f.elsewhere(|other| f.set(other, 1, 5000).expect("free"));
    f.set(&reader, 9, 2).expect("free");
    assert_refused(reader);
}

/// The row is known, by another column, when its key moves it into a range that was read.
#[test]
fn a_row_moved_into_a_range_is_found_though_it_was_read_otherwise() {
    let f = two_rows();
    let by_value = f.index_by_value();
    let reader = f.begin_at(Isolation::Serializable);
    assert!(f.look(&reader, 1, TEXT));
    assert_eq!(
        f.look_at_range(&reader, &by_value, values(&by_value, 10..50), TEXT),
        0
    );
    f.elsewhere(|other| f.set(other, 1, 20).expect("free"));
    f.set(&reader, 9, 1).expect("free");
    assert_refused(reader);
}

/// A leaf changes beside the range: reading the range again must not widen what was read of its rows.
#[test]
fn a_range_read_again_compares_keys_only() {
    let f = two_rows();
    let by_value = f.index_by_value();
    let reader = f.begin_at(Isolation::Serializable);
    assert_eq!(
        f.look_at_range(&reader, &by_value, values(&by_value, 100..101), VALUE),
        2
    );
    f.elsewhere(|other| f.set_text(other, 1, b"not read").expect("free"));
    f.elsewhere(|other| _ = f.add(other, 77, 5000).expect("free"));
    f.set(&reader, 9, 1).expect("free");
    reader.commit().expect("the rows of the range are as they were");
}

#[test]
fn a_scan_remembers_the_columns_it_read() {
    let f = two_rows();
    let reader = f.begin_at(Isolation::Serializable);
    assert_eq!(f.count(&reader, TEXT), 3);
    f.elsewhere(|other| f.set(other, 1, 7).expect("free"));
    f.set(&reader, 9, 1).expect("free");
    reader.commit().expect("only another column was changed");
    for change in [
        (|f: &Fixture, other: &Transaction| f.set_text(other, 1, b"x").expect("free"))
            as fn(&Fixture, &Transaction),
        |f, other| _ = f.add(other, 3, 0).expect("free"),
        |f, other| f.remove(other, 2).expect("free"),
    ] {
        let reader = f.begin_at(Isolation::Serializable);
        f.count(&reader, TEXT);
        f.elsewhere(|other| change(&f, other));
        f.set(&reader, 9, 2).expect("free");
        assert_refused(reader);
    }
}

#[test]
fn a_write_taken_back_counts_as_a_read_of_the_whole_row() {
    let f = two_rows();
    let reader = f.begin_at(Isolation::Serializable);
    let savepoint = reader.savepoint();
    f.set(&reader, 1, 50).expect("free");
    reader.rollback_to(savepoint);
    f.elsewhere(|other| f.set_text(other, 1, b"since").expect("free"));
    f.set(&reader, 9, 1).expect("free");
    assert_refused(reader);
}

/// What a failed check had found is found again by the next one.
#[test]
fn a_refusal_before_a_savepoint_is_not_forgotten_behind_it() {
    let f = two_rows();
    let reader = f.begin_at(Isolation::Serializable);
    assert_eq!(f.range(&reader, 3..8, usize::MAX), []);
    let savepoint = reader.savepoint();
    f.elsewhere(|other| _ = f.add(other, 5, 1).expect("free"));
    assert_eq!(reader.check_before_writing(), Err(WriteError::ReadConflict));
    reader.rollback_to(savepoint);
    f.set(&reader, 9, 1).expect("free");
    assert_refused(reader);
}

/// Above the own timestamp lies a version whose predecessor, which counts, may be gone: another attempt decides.
#[test]
fn a_commit_above_the_own_timestamp_costs_another_attempt() {
    for (columns, holds) in [(TEXT, true), (VALUE, false)] {
        let f = two_rows();
        let reader = f.begin_at(Isolation::Serializable);
        assert!(f.look(&reader, 1, columns));
        f.set(&reader, 9, 1).expect("free");
        let (engine, table) = (f.engine.clone(), f.table.clone());
        let row = f.row_id(1);
        // One commit between the checks, so that the second one looks; one above the timestamp.
        let first = serializable::from_elsewhere(&engine, &table, f.row(50, 1), None);
        let second = serializable::from_elsewhere(&engine, &table, f.row(1, 5), Some(row));
        at(Moment::BetweenChecks, first);
        at(Moment::Validating, second);
        let outcome = reader.commit();
        assert_eq!(outcome.is_ok(), holds, "{outcome:?}");
    }
}
