//! A SERIALIZABLE transaction that goes on with a later snapshot: when it may, and what counts from then on.

use super::read_columns::{TEXT, VALUE};
use super::serializable::assert_refused;
use super::*;
use crate::table::ColumnSet;
use crate::txn::StatementStart;

impl Fixture {
    /// UPDATE of a row in a statement that may begin again once.
    fn set_later(&self, transaction: &Transaction, id: i32, value: i64) -> Result<bool, WriteError> {
        let start = transaction.statement_start().expect("it notes its reads");
        match self.set(transaction, id, value) {
            Ok(()) => Ok(false),
            Err(WriteError::Serialization) if transaction.take_later_snapshot(&start) => {
                self.set(transaction, id, value).map(|()| true)
            }
            Err(error) => Err(error),
        }
    }
}

fn three_rows() -> Fixture {
    let f = Fixture::new();
    f.load([(1, 100), (2, 100), (3, 100)]);
    f
}

fn start(transaction: &Transaction) -> StatementStart {
    transaction.statement_start().expect("it notes its reads")
}

#[test]
fn a_changed_row_is_written_at_a_later_snapshot() {
    let f = three_rows();
    let writer = f.begin_at(Isolation::Serializable);
    assert!(f.look(&writer, 1, VALUE));
    f.elsewhere(|other| f.set(other, 2, 7).expect("free"));
    f.elsewhere(|other| f.set_text(other, 1, b"not read").expect("free"));
    assert_eq!(f.set_later(&writer, 2, 8), Ok(true));
    assert_eq!((f.read(&writer, 1), f.read(&writer, 2)), (Some(100), Some(8)));
    writer.commit().expect("nobody disturbed it since");
    assert_eq!(f.contents(), [(1, 100), (2, 8), (3, 100)]);
}

#[test]
fn not_if_what_was_read_before_has_changed() {
    let f = three_rows();
    let writer = f.begin_at(Isolation::Serializable);
    assert!(f.look(&writer, 1, VALUE));
    f.elsewhere(|other| {
        f.set(other, 1, 7).expect("free");
        f.set(other, 2, 7).expect("free");
    });
    assert_eq!(f.set_later(&writer, 2, 8), Err(WriteError::Serialization));
}

#[test]
fn not_in_a_statement_that_has_written() {
    let f = three_rows();
    let writer = f.begin_at(Isolation::Serializable);
    assert!(f.look(&writer, 3, VALUE));
    f.elsewhere(|other| f.set(other, 2, 7).expect("free"));
    let start = start(&writer);
    f.set(&writer, 1, 8).expect("free");
    assert_eq!(f.set(&writer, 2, 8), Err(WriteError::Serialization));
    assert!(!writer.take_later_snapshot(&start));
}

#[test]
fn not_while_somebody_else_reads_through_the_snapshot() {
    let f = three_rows();
    let writer = f.begin_at(Isolation::Serializable);
    let cursor = writer.begin_statement(Access::Read);
    f.elsewhere(|other| f.set(other, 2, 7).expect("free"));
    let start = start(&writer);
    assert_eq!(f.set(&writer, 2, 8), Err(WriteError::Serialization));
    assert!(!writer.take_later_snapshot(&start));
    drop(cursor);
    assert_eq!(f.set(&writer, 2, 8), Err(WriteError::Serialization));
    assert!(writer.take_later_snapshot(&start));
}

#[test]
fn not_for_another_reason_and_not_at_another_level() {
    let f = three_rows();
    let writer = f.begin_at(Isolation::Serializable);
    assert!(f.look(&writer, 1, VALUE));
    let start = start(&writer);
    assert!(!writer.take_later_snapshot(&start), "no row was refused");
    let repeatable = f.begin_at(Isolation::RepeatableRead);
    assert!(repeatable.statement_start().is_none());
    let reader = f
        .engine
        .begin(Isolation::Serializable, true)
        .expect("a slot is free");
    assert!(reader.statement_start().is_none());
}

#[test]
fn reads_of_before_and_after_count_from_the_later_snapshot_on() {
    for (changed, refused) in [(1, true), (2, true), (3, false)] {
        let f = three_rows();
        f.load([(4, 100), (5, 100)]);
        let writer = f.begin_at(Isolation::Serializable);
        assert!(f.look(&writer, 1, VALUE));
        f.elsewhere(|other| f.set(other, 2, 7).expect("free"));
        f.elsewhere(|other| f.set(other, 4, 7).expect("free"));
        assert_eq!(f.set_later(&writer, 4, 8), Ok(true));
        assert_eq!(f.read(&writer, 2), Some(7), "the later snapshot sees it");
        f.elsewhere(|other| f.set(other, changed, 9).expect("free"));
        match refused {
            true => assert_refused(writer),
            false => assert!(writer.commit().is_ok()),
        }
    }
}

/// A phantom between the snapshots, and one after.
#[test]
fn gaps_count_before_and_after() {
    let f = three_rows();
    let writer = f.begin_at(Isolation::Serializable);
    assert_eq!(f.range(&writer, 10..20, usize::MAX), []);
    f.elsewhere(|other| _ = f.add(other, 30, 1).expect("free"));
    f.elsewhere(|other| f.set(other, 2, 7).expect("free"));
    assert_eq!(f.set_later(&writer, 2, 8), Ok(true));
    f.elsewhere(|other| _ = f.add(other, 15, 1).expect("free"));
    assert_refused(writer);
    let writer = f.begin_at(Isolation::Serializable);
    assert_eq!(f.range(&writer, 12..15, usize::MAX), []);
    f.elsewhere(|other| {
        f.add(other, 13, 1).expect("free");
        f.set(other, 2, 7).expect("free");
    });
    assert_eq!(f.set_later(&writer, 2, 8), Err(WriteError::Serialization));
}

/// What the statement read before it began again is forgotten; if it does not, it was read.
#[test]
fn reads_of_the_statement_are_forgotten_only_if_it_begins_again() {
    for refused in [false, true] {
        let f = three_rows();
        let writer = f.begin_at(Isolation::Serializable);
        assert!(f.look(&writer, 1, TEXT));
        let savepoint = writer.savepoint();
        let start = start(&writer);
        assert!(f.look(&writer, 1, VALUE) && f.look(&writer, 3, VALUE));
        f.elsewhere(|other| {
            f.set(other, 1, 7).expect("free");
            f.set(other, 2, 7).expect("free");
            f.set(other, 3, 7).expect("free");
        });
        if refused {
            f.elsewhere(|other| f.set_text(other, 1, b"read before").expect("free"));
        }
        assert_eq!(f.set(&writer, 2, 8), Err(WriteError::Serialization));
        assert_eq!(writer.take_later_snapshot(&start), !refused);
        if refused {
            writer.rollback_to(savepoint);
            f.elsewhere(|other| f.set_text(other, 1, b"some text").expect("free"));
            _ = f.add(&writer, 9, 1).expect("free");
            assert_refused(writer);
        } else {
            f.set(&writer, 2, 8).expect("its row now");
            writer.commit().expect("it has read nothing that was changed");
        }
    }
}

/// At its end a transaction that only locked stands where its snapshot is: all it read must hold just there.
#[test]
fn a_value_that_came_back_after_the_later_snapshot_does_not_hold() {
    let f = three_rows();
    let writer = f.begin_at(Isolation::Serializable);
    assert!(f.look(&writer, 1, VALUE));
    f.elsewhere(|other| f.set(other, 1, 7).expect("free"));
    let later = f.begin_at(Isolation::RepeatableRead);
    let later = later.begin_statement(Access::Write);
    f.elsewhere(|other| f.set(other, 1, 100).expect("free"));
    assert_eq!(writer.check_before_writing(), Ok(()), "as of now it holds");
    assert!(writer.reads_hold_at(&later).is_err(), "as of then it did not");
}

#[test]
fn the_row_waited_for_is_there_at_the_second_attempt() {
    let f = three_rows();
    let options = BeginOptions {
        isolation: Isolation::Serializable,
        session: 2,
        ..BeginOptions::default()
    };
    let (first, _) = f.session(1);
    f.set(&first, 1, 1).expect("free");
    let second = f.engine.begin_with(options).expect("a slot is free");
    let bell = Arc::new(Bell::default());
    second.set_wake(bell.clone());
    assert!(f.look(&second, 2, ColumnSet::WHOLE));
    let start = start(&second);
    let Err(WriteError::MustWait(ticket)) = f.set(&second, 1, 2) else {
        panic!("somebody has the row");
    };
    first.commit().expect("logged");
    assert!(bell.has_rung(ticket));
    assert_eq!(f.set(&second, 1, 2), Err(WriteError::Serialization));
    assert!(second.take_later_snapshot(&start));
    assert_eq!(f.read(&second, 1), Some(1));
    f.set(&second, 1, 2).expect("it has the lock");
    second.commit().expect("nothing else happened");
}
