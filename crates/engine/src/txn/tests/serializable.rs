//! SERIALIZABLE: anomalies by name, each of which REPEATABLE READ lets through; what must not be refused; savepoints,
//! foreign observations, bounds; the races of the commit step; VOID frames and recovery.

use super::*;
use crate::table::{ColumnSet, Table};
use crate::txn::reads::{READS_MAX, ReadSet};

impl Fixture {
    pub(super) fn serializable(&self) -> Transaction {
        self.begin_at(Isolation::Serializable)
    }

    /// Ids and values of a range of the primary key, read as an index scan does; at most `limit` rows.
    pub(super) fn range(
        &self,
        transaction: &Transaction,
        range: std::ops::Range<i32>,
        limit: usize,
    ) -> Vec<(i32, i64)> {
        self.range_columns(transaction, range, limit, ColumnSet::WHOLE)
    }

    /// The same for a reader that looks at these columns only.
    pub(super) fn range_columns(
        &self,
        transaction: &Transaction,
        range: std::ops::Range<i32>,
        limit: usize,
        columns: ColumnSet,
    ) -> Vec<(i32, i64)> {
        let snapshot = transaction.begin_statement(Access::Read);
        let range = KeyRange {
            lower: std::ops::Bound::Included(self.key(range.start)),
            upper: std::ops::Bound::Excluded(self.key(range.end)),
        };
        let mut cursor = transaction.cursor(range, Direction::Forward);
        let (mut rows, mut scratch) = (Vec::new(), Vec::new());
        while rows.len() < limit
            && let Some(row) = transaction.next_entry(&self.table, &self.primary, &mut cursor)
        {
            let Some(version) = transaction.fetch_columns(&self.table, row, &snapshot, columns) else {
                continue;
            };
            let view = self.table.view(version.layout(), version.bytes());
            if version.needs_key_check()
                && !self
                    .primary
                    .key_program
                    .matches(&view, cursor.key(), &mut scratch)
            {
                continue;
            }
            rows.push((view.fixed4(0) as i32, view.fixed8(1) as i64));
        }
        rows
    }

    /// The sum of all values, by a scan of the table.
    pub(super) fn scan_sum(&self, transaction: &Transaction) -> i64 {
        let snapshot = transaction.begin_statement(Access::Read);
        let mut scan = self.table.scan();
        let mut sum = 0;
        while let Some(version) = scan.next(&self.table, transaction, &snapshot) {
            sum += self.value(&version);
        }
        sum
    }

    fn write(&self, id: i32, value: i64) {
        let transaction = self.begin();
        self.set(&transaction, id, value).expect("nobody else writes");
        transaction.commit().expect("logged");
    }
}

pub(super) fn assert_refused(transaction: Transaction) {
    let outcome = transaction.commit();
    assert!(
        matches!(outcome, Err(CommitError::ReadConflict { .. })),
        "{outcome:?}"
    );
}

fn ten_rows() -> Fixture {
    let f = Fixture::new();
    f.load((0..10).map(|id| (id, 100)));
    f
}

#[test]
fn write_skew_is_refused() {
    let f = ten_rows();
    let (a, b) = (f.serializable(), f.serializable());
    for transaction in [&a, &b] {
        assert_eq!(f.read(transaction, 1), Some(100));
        assert_eq!(f.read(transaction, 2), Some(100));
    }
    f.set(&a, 1, -50).expect("free");
    f.set(&b, 2, -50).expect("free");
    a.commit().expect("the first one wins");
    assert_refused(b);
    assert_eq!(f.contents()[1..3], [(1, -50), (2, 100)]);
}

#[test]
fn repeatable_read_lets_write_skew_through() {
    let f = ten_rows();
    let (a, b) = (
        f.begin_at(Isolation::RepeatableRead),
        f.begin_at(Isolation::RepeatableRead),
    );
    assert_eq!((f.read(&a, 2), f.read(&b, 1)), (Some(100), Some(100)));
    f.set(&a, 1, -50).expect("free");
    f.set(&b, 2, -50).expect("free");
    a.commit().expect("logged");
    b.commit().expect("snapshot isolation sees nothing wrong");
}

/// Fekete, O'Neil and O'Neil: checking and savings; the report makes the order of the two others visible.
#[test]
fn the_read_only_anomaly_is_refused() {
    let f = Fixture::new();
    f.load([(1, 0), (2, 0)]);
    let withdrawal = f.serializable();
    assert_eq!(
        (f.read(&withdrawal, 1), f.read(&withdrawal, 2)),
        (Some(0), Some(0))
    );
    let deposit = f.serializable();
    assert_eq!(f.read(&deposit, 2), Some(0));
    f.set(&deposit, 2, 20).expect("free");
    deposit.commit().expect("nothing it read was changed");
    let report = f.serializable();
    assert_eq!((f.read(&report, 1), f.read(&report, 2)), (Some(0), Some(20)));
    report
        .commit()
        .expect("a transaction that writes nothing is never refused");
    f.set(&withdrawal, 1, -11).expect("free");
    assert_refused(withdrawal);
}

/// PostgreSQL's receipt-report: a receipt must not be added to a batch that a report has shown as closed.
#[test]
fn the_receipt_that_a_report_missed_is_refused() {
    let f = Fixture::new();
    // Row 0 holds the current batch; receipts are rows 1000 * batch + number.
    f.load([(0, 1), (1000, 7)]);
    let receipt = f.serializable();
    let batch = f.read(&receipt, 0).expect("there");
    f.add(&receipt, 1000 * batch as i32 + 1, 5).expect("free");
    let close = f.serializable();
    f.set(&close, 0, 2).expect("free");
    close.commit().expect("it read nothing that was changed");
    let report = f.serializable();
    assert_eq!(f.read(&report, 0), Some(2));
    assert_eq!(f.range(&report, 1000..2000, usize::MAX), [(1000, 7)]);
    report.commit().expect("reads only");
    assert_refused(receipt);
}

#[test]
fn a_lost_update_is_refused() {
    let f = ten_rows();
    let (a, b) = (f.serializable(), f.serializable());
    let seen = (f.read(&a, 1), f.read(&b, 1));
    assert_eq!(seen, (Some(100), Some(100)));
    f.set(&a, 1, 110).expect("free");
    a.commit().expect("first");
    assert_eq!(f.set(&b, 1, 120), Err(WriteError::Serialization));
}

#[test]
fn a_phantom_insert_is_refused() {
    let f = Fixture::new();
    f.load((0..10).map(|id| (id * 10, 1)));
    let reader = f.serializable();
    assert_eq!(f.range(&reader, 20..40, usize::MAX), [(20, 1), (30, 1)]);
    let other = f.begin();
    f.add(&other, 25, 1).expect("free");
    other.commit().expect("logged");
    f.set(&reader, 90, 2).expect("free");
    assert_refused(reader);
}

/// The entry stands in the leaf before the scan comes by; only the row's stamp changes at commit.
#[test]
fn a_phantom_already_in_the_leaf_is_refused() {
    let f = ten_rows();
    let other = f.begin();
    f.add(&other, 15, 1).expect("free");
    let reader = f.serializable();
    assert_eq!(f.range(&reader, 10..20, usize::MAX), []);
    other.commit().expect("logged");
    f.set(&reader, 1, 2).expect("free");
    assert_refused(reader);
}

#[test]
fn a_phantom_delete_is_refused() {
    let f = ten_rows();
    let reader = f.serializable();
    assert_eq!(f.range(&reader, 2..5, usize::MAX).len(), 3);
    let other = f.begin();
    f.remove(&other, 3).expect("free");
    other.commit().expect("logged");
    f.set(&reader, 9, 2).expect("free");
    assert_refused(reader);
}

#[test]
fn a_row_moved_into_the_range_is_refused() {
    let f = Fixture::new();
    f.load((0..10).map(|id| (id * 10, 1)));
    let reader = f.serializable();
    assert_eq!(f.range(&reader, 20..40, usize::MAX).len(), 2);
    let other = f.begin();
    let snapshot = other.begin_statement(Access::Write);
    let moved = f.find(&other, &snapshot, 80).expect("there");
    other
        .update(&f.table, &moved, &f.row(35, 1))
        .expect("the key is free");
    drop(snapshot);
    other.commit().expect("logged");
    f.set(&reader, 90, 2).expect("free");
    assert_refused(reader);
}

#[test]
fn a_key_that_was_not_there_is_remembered() {
    let f = ten_rows();
    let reader = f.serializable();
    assert_eq!(f.read(&reader, 77), None);
    let other = f.begin();
    f.add(&other, 77, 1).expect("free");
    other.commit().expect("logged");
    f.set(&reader, 1, 2).expect("free");
    assert_refused(reader);
}

/// A row that a filter threw away counts: it may pass the filter now.
#[test]
fn a_row_that_did_not_pass_the_filter_counts() {
    let f = ten_rows();
    let reader = f.serializable();
    let rich = f.range(&reader, 0..10, usize::MAX);
    assert!(rich.iter().all(|&(_, value)| value < 1000));
    f.write(4, 5000);
    f.set(&reader, 9, 1).expect("free");
    assert_refused(reader);
}

/// PostgreSQL's predicate-lock-hot-tuple and multiple-row-versions, with more writers ahead of the reader.
#[test]
fn many_preceders_are_refused_by_the_first_of_them() {
    let f = ten_rows();
    let reader = f.serializable();
    assert_eq!(f.scan_sum(&reader), 1000);
    for round in 0..5 {
        f.write(3, round);
    }
    f.settle();
    f.set(&reader, 9, 1).expect("free");
    assert_refused(reader);
}

#[test]
fn a_scan_of_the_table_meets_inserts_changes_and_deletes() {
    for kind in 0..3 {
        let f = ten_rows();
        let reader = f.serializable();
        assert_eq!(f.scan_sum(&reader), 1000);
        let other = f.begin();
        match kind {
            0 => _ = f.add(&other, 50, 1).expect("free"),
            1 => f.set(&other, 5, 1).expect("free"),
            _ => f.remove(&other, 5).expect("free"),
        }
        other.commit().expect("logged");
        f.set(&reader, 9, 1).expect("free");
        assert_refused(reader);
    }
}

/// A queue: whoever takes the first row does not care for rows behind it.
#[test]
fn a_scan_that_stopped_early_does_not_see_what_comes_behind() {
    let f = Fixture::new();
    f.load((0..2000).map(|id| (id, 1)));
    let worker = f.serializable();
    assert_eq!(f.range(&worker, 0..5000, 1), [(0, 1)]);
    f.remove(&worker, 0).expect("free");
    let other = f.begin();
    f.add(&other, 4000, 1).expect("free");
    other.commit().expect("logged");
    worker.commit().expect("the row behind was not read");
}

#[test]
fn rows_of_the_same_leaf_but_another_range_do_not_matter() {
    let f = Fixture::new();
    f.load((0..10).map(|id| (id * 10, 1)));
    let reader = f.serializable();
    assert_eq!(f.range(&reader, 20..40, usize::MAX).len(), 2);
    assert_eq!(f.read(&reader, 66), None);
    let other = f.begin();
    f.add(&other, 45, 1).expect("free");
    f.add(&other, 67, 1).expect("free");
    other.commit().expect("logged");
    f.set(&reader, 90, 2).expect("free");
    reader
        .commit()
        .expect("neither the range nor the key was touched");
}

#[test]
fn own_writes_are_no_conflict() {
    let f = ten_rows();
    let transaction = f.serializable();
    assert_eq!(f.range(&transaction, 0..20, usize::MAX).len(), 10);
    assert_eq!(f.scan_sum(&transaction), 1000);
    f.add(&transaction, 11, 5).expect("free");
    f.set(&transaction, 1, 2).expect("free");
    f.remove(&transaction, 2).expect("free");
    assert_eq!(f.range(&transaction, 0..20, usize::MAX).len(), 10);
    transaction.commit().expect("nobody else was there");
}

#[test]
fn what_was_rolled_back_by_others_is_no_conflict() {
    let f = ten_rows();
    let reader = f.serializable();
    assert_eq!(f.range(&reader, 0..20, usize::MAX).len(), 10);
    let other = f.begin();
    f.add(&other, 11, 5).expect("free");
    f.set(&other, 1, 2).expect("free");
    other.abort();
    let open = f.begin();
    f.add(&open, 12, 5).expect("free");
    f.set(&reader, 3, 2).expect("free");
    reader
        .commit()
        .expect("one was rolled back, the other still runs");
    open.commit().expect("logged");
}

#[test]
fn transactions_that_write_nothing_are_never_refused() {
    let f = ten_rows();
    let undeclared = f.serializable();
    let declared = f
        .engine
        .begin(Isolation::Serializable, true)
        .expect("a slot is free");
    assert_eq!(f.scan_sum(&undeclared), 1000);
    assert_eq!(f.scan_sum(&declared), 1000);
    f.write(1, 0);
    assert_eq!(f.scan_sum(&undeclared), 1000);
    assert!(!undeclared.reads.borrow().is_empty() && declared.reads.borrow().is_empty());
    undeclared.commit().expect("it is where its snapshot is");
    declared.commit().expect("it notes nothing");
}

// Savepoints, keys

#[test]
fn reads_outlive_rollback_to() {
    let f = ten_rows();
    let transaction = f.serializable();
    let savepoint = transaction.savepoint();
    assert_eq!(f.read(&transaction, 1), Some(100));
    transaction.rollback_to(savepoint);
    f.write(1, 0);
    f.set(&transaction, 2, 0).expect("free");
    assert_refused(transaction);
}

/// The client was told that the key was free. After ROLLBACK TO anybody may take it.
#[test]
fn a_key_once_inserted_and_rolled_back_is_a_read() {
    for then_writes in [true, false] {
        let f = ten_rows();
        let transaction = f.serializable();
        let savepoint = transaction.savepoint();
        f.add(&transaction, 50, 1).expect("free");
        transaction.rollback_to(savepoint);
        let other = f.begin();
        f.add(&other, 50, 1).expect("free again");
        other.commit().expect("logged");
        if then_writes {
            f.set(&transaction, 2, 0).expect("free");
        }
        assert_refused(transaction);
    }
}

#[test]
fn a_lock_given_back_is_a_read() {
    use crate::lock::{RowLockStrength, WaitPolicy};
    let f = ten_rows();
    let transaction = f.serializable();
    let snapshot = transaction.begin_statement(Access::Write);
    let row = f.find(&transaction, &snapshot, 3).expect("there").row();
    drop(snapshot);
    transaction.abort();
    let transaction = f.serializable();
    transaction.begin_statement(Access::Write);
    let savepoint = transaction.savepoint();
    transaction
        .lock_row(&f.table, row, None, RowLockStrength::KeyShare, WaitPolicy::Block)
        .expect("free");
    transaction.rollback_to(savepoint);
    let other = f.begin();
    f.remove(&other, 3).expect("no longer locked");
    other.commit().expect("logged");
    f.set(&transaction, 5, 0).expect("free");
    assert_refused(transaction);
}

/// PostgreSQL's read-write-unique: who looked for the key first gets 40001, who did not gets 23505.
#[test]
fn the_race_for_a_unique_key_is_a_serialization_failure_for_who_looked_first() {
    let f = ten_rows();
    let (looked, blind) = (f.serializable(), f.serializable());
    assert_eq!(f.read(&looked, 50), None);
    assert_eq!(f.read(&blind, 1), Some(100));
    let other = f.serializable();
    assert_eq!(f.read(&other, 50), None);
    f.add(&other, 50, 1).expect("free");
    other.commit().expect("first");
    assert_eq!(f.add(&looked, 50, 2), Err(WriteError::ReadConflict));
    assert!(matches!(f.add(&blind, 50, 2), Err(WriteError::Duplicate { .. })));
    // It now knows of a row that its snapshot does not show: it can go on, but not commit.
    f.set(&blind, 2, 0).expect("free");
    assert_refused(blind);
}

#[test]
fn a_duplicate_of_an_old_row_is_a_read_of_it() {
    let f = ten_rows();
    for deleted in [false, true] {
        let transaction = f.serializable();
        f.set(&transaction, 5, 1).expect("free");
        assert!(matches!(
            f.add(&transaction, 1, 0),
            Err(WriteError::Duplicate { .. })
        ));
        if deleted {
            let other = f.begin();
            f.remove(&other, 1).expect("free");
            other.commit().expect("logged");
            assert_refused(transaction);
        } else {
            transaction.commit().expect("the key is still taken");
        }
    }
}

// Bounds

#[test]
fn at_the_bound_the_table_read_most_counts_as_read_whole() {
    let f = ten_rows();
    let transaction = f.begin();
    let snapshot = transaction.begin_statement(Access::Write);
    let row = f.find(&transaction, &snapshot, 0).expect("there").row();
    let mut reads = ReadSet::default();
    for offset in 0..READS_MAX as u64 {
        reads.note_row(
            &f.table,
            crate::table::store::row_of_ordinal(offset + 10),
            ColumnSet::WHOLE,
        );
    }
    assert!(!reads.has_whole(&f.table));
    reads.note_row(&f.table, row, ColumnSet::WHOLE);
    assert!(reads.has_whole(&f.table));
    assert_eq!(reads.len(), 0);
    reads.note_row(&f.table, row, ColumnSet::WHOLE);
    assert_eq!(reads.len(), 0, "a table that was read whole needs no rows");
}

#[test]
fn a_transaction_at_the_bound_conflicts_with_any_change_of_the_table() {
    let f = Fixture::new();
    let count = READS_MAX as i32 + 500;
    f.load((0..count).map(|id| (id, 1)));
    let calm = f.serializable();
    assert_eq!(
        f.range(&calm, 0..count - 100, usize::MAX).len(),
        count as usize - 100
    );
    f.set(&calm, 1, 2).expect("free");
    calm.commit().expect("nobody else was there");
    let disturbed = f.serializable();
    assert_eq!(
        f.range(&disturbed, 0..count - 100, usize::MAX).len(),
        count as usize - 100
    );
    f.write(count - 1, 0);
    f.set(&disturbed, 1, 3).expect("free");
    assert_refused(disturbed);
}

// The commit step

/// A commit on another connection, from inside the commit under test.
pub(super) fn from_elsewhere(
    engine: &Arc<Engine>,
    table: &Arc<Table>,
    row: Vec<u8>,
    replace: Option<RowId>,
) -> impl FnOnce() + use<> {
    let (engine, table) = (engine.clone(), table.clone());
    move || {
        let work = move || {
            let transaction = engine
                .begin(Isolation::ReadCommitted, false)
                .expect("a slot is free");
            let snapshot = transaction.begin_statement(Access::Write);
            match replace {
                None => _ = transaction.insert(&table, &row).expect("free"),
                Some(id) => {
                    let seen = transaction.fetch(&table, id, &snapshot).expect("there");
                    transaction.update(&table, &seen, &row).expect("free");
                }
            }
            drop(snapshot);
            transaction.commit().expect("logged")
        };
        std::thread::spawn(work)
            .join()
            .expect("the other commit ends well");
    }
}

impl Fixture {
    pub(super) fn row_id(&self, id: i32) -> RowId {
        let transaction = self.begin();
        let snapshot = transaction.begin_statement(Access::Write);
        self.find(&transaction, &snapshot, id).expect("there").row()
    }
}

#[test]
fn a_commit_between_the_two_checks_is_found() {
    enum Read {
        Row,
        Range,
        Scan,
    }
    for read in [Read::Row, Read::Range, Read::Scan] {
        for insert in [false, true] {
            let f = ten_rows();
            let transaction = f.serializable();
            match read {
                Read::Row => _ = (f.read(&transaction, 1), f.read(&transaction, 20)),
                Read::Range => _ = f.range(&transaction, 0..30, usize::MAX),
                Read::Scan => _ = f.scan_sum(&transaction),
            }
            f.set(&transaction, 9, 1).expect("free");
            let (row, replace) = match insert {
                true => (f.row(20, 1), None),
                false => (f.row(1, 7), Some(f.row_id(1))),
            };
            at(
                Moment::BetweenChecks,
                from_elsewhere(&f.engine, &f.table, row, replace),
            );
            assert_refused(transaction);
        }
    }
}

#[test]
fn a_leaf_that_only_a_neighbour_changed_costs_another_attempt() {
    let f = ten_rows();
    let transaction = f.serializable();
    assert_eq!(f.range(&transaction, 0..5, usize::MAX).len(), 5);
    f.set(&transaction, 9, 1).expect("free");
    for id in [50, 51] {
        let row = f.row(id, 1);
        at(
            Moment::BetweenChecks,
            from_elsewhere(&f.engine, &f.table, row, None),
        );
    }
    transaction.commit().expect("the third attempt");
    // Two VOID frames stand in the log.
    let before = f.contents();
    f.engine.stop();
    let (id, index, disk) = (f.table.id(), f.primary.id, f.disk.clone());
    drop(f);
    let f = reopened(&disk, id, index);
    assert_eq!(f.contents(), before);
    assert_eq!(f.contents().len(), 12);
}

fn reopened(disk: &SimDisk, table: mote_common::TableId, index: IndexId) -> Fixture {
    let engine = open(disk);
    let table = engine.table(table).expect("recovered");
    let primary = table.index(index).expect("loaded");
    Fixture {
        engine,
        table,
        primary,
        disk: disk.clone(),
    }
}

/// The frame is VOID, and so are the fragments that were sent before.
#[test]
fn a_large_transaction_that_fails_in_the_commit_step_leaves_nothing() {
    let f = ten_rows();
    let transaction = f.serializable();
    assert_eq!(f.read(&transaction, 1), Some(100));
    for id in 1000..20_000 {
        f.add(&transaction, id, 1).expect("free");
    }
    let (row, id) = (f.row(1, 7), f.row_id(1));
    at(
        Moment::BetweenChecks,
        from_elsewhere(&f.engine, &f.table, row, Some(id)),
    );
    assert_refused(transaction);
    let expected: Vec<(i32, i64)> = (0..10).map(|id| (id, if id == 1 { 7 } else { 100 })).collect();
    assert_eq!(f.contents(), expected);
    f.settle();
    assert_eq!(f.primary.tree.len_estimate(), 10);
    f.engine.stop();
    let (id, index, disk) = (f.table.id(), f.primary.id, f.disk.clone());
    drop(f);
    assert_eq!(reopened(&disk, id, index).contents(), expected);
}

/// Who reads at the tail while the outcome is open waits for it; who reads below, or locks, does not.
#[test]
fn a_tail_reader_waits_for_the_outcome() {
    for commits in [true, false] {
        let f = Arc::new(ten_rows());
        let transaction = f.serializable();
        assert_eq!(f.read(&transaction, 1), Some(100));
        f.set(&transaction, 2, 5).expect("free");
        let old = f.begin_at(Isolation::RepeatableRead);
        assert_eq!(f.read(&old, 1), Some(100));
        if !commits {
            let (row, id) = (f.row(1, 7), f.row_id(1));
            at(
                Moment::BetweenChecks,
                from_elsewhere(&f.engine, &f.table, row, Some(id)),
            );
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let shared = f.clone();
        at(Moment::Validating, move || {
            assert_eq!(shared.read(&old, 2), Some(100), "an older snapshot does not wait");
            let reader = std::thread::spawn(move || {
                let reader = shared.begin();
                shared.read(&reader, 2)
            });
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!reader.is_finished(), "the outcome is open");
            sender.send(reader).expect("the test waits for it");
        });
        assert_eq!(transaction.commit().is_ok(), commits);
        let reader = receiver.recv().expect("sent in the commit");
        let expected = if commits { 5 } else { 100 };
        assert_eq!(reader.join().expect("it ends well"), Some(expected));
    }
}

#[test]
fn reads_that_no_longer_hold_are_told_before_the_first_write() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 20)]);
    let transaction = f.serializable();
    assert_eq!(f.read(&transaction, 1), Some(10));
    f.write(1, 11);
    assert_eq!(transaction.check_before_writing(), Err(WriteError::ReadConflict));
    drop(transaction);
    // What it did not read may change.
    let transaction = f.serializable();
    assert_eq!(f.read(&transaction, 1), Some(11));
    f.write(2, 21);
    assert_eq!(transaction.check_before_writing(), Ok(()));
    assert_eq!(transaction.check_after_reading(), Ok(()));
}

#[test]
fn a_writer_that_reads_what_has_changed_is_told_at_once_and_a_reader_never() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 20)]);
    let (writer, reader) = (f.serializable(), f.serializable());
    assert_eq!(f.read(&reader, 2), Some(20));
    f.set(&writer, 2, 22).expect("free");
    assert_eq!(writer.check_after_reading(), Ok(()));
    f.write(1, 11);
    for transaction in [&writer, &reader] {
        assert_eq!(f.read(transaction, 1), Some(10));
    }
    assert_eq!(writer.check_after_reading(), Err(WriteError::ReadConflict));
    assert_eq!(reader.check_after_reading(), Ok(()));
    assert_refused(writer);
    reader.commit().expect("it wrote nothing");
    // A row that was not there when the snapshot was taken, met by a scan of the table.
    let writer = f.serializable();
    f.set(&writer, 2, 23).expect("free");
    let other = f.begin();
    f.add(&other, 3, 30).expect("free");
    other.commit().expect("logged");
    f.scan_sum(&writer);
    assert_eq!(writer.check_after_reading(), Err(WriteError::ReadConflict));
}
