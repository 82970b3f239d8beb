//! SERIALIZABLE through SQL. Named after PostgreSQL's isolation tests, where there is one of the kind; each case is a list
//! of steps on numbered sessions, and says which step is refused.

use std::sync::Arc;

use super::{database, session, shown};
use crate::embedded::LocalSession;
use mote_catalog::database::Database;

pub(super) const REFUSED: &str =
    "!40001 could not serialize access due to read/write dependencies among transactions";

pub(super) struct Case {
    database: Arc<Database>,
    pub(super) sessions: Vec<LocalSession>,
}

impl Case {
    pub(super) fn new(setup: &str) -> Case {
        let database = database();
        session(&database).query(setup).expect("the set-up works");
        let sessions = (0..3).map(|_| session(&database)).collect();
        Case { database, sessions }
    }

    /// Runs a statement of session `number` (from 1) and answers what it shows.
    pub(super) fn run(&mut self, number: usize, text: &str) -> String {
        shown(&mut self.sessions[number - 1], text)
    }

    pub(super) fn begin(&mut self, numbers: &[usize]) {
        for &number in numbers {
            assert_eq!(self.run(number, "BEGIN ISOLATION LEVEL SERIALIZABLE"), "");
        }
    }

    /// Steps that show nothing, or not what matters here.
    pub(super) fn steps(&mut self, steps: &[(usize, &str)]) {
        for &(number, text) in steps {
            let answer = self.run(number, text);
            assert!(!answer.starts_with('!'), "session {number}, {text}: {answer}");
        }
    }

    fn refused(&mut self, number: usize, text: &str) {
        assert_eq!(self.run(number, text), REFUSED, "session {number}, {text}");
    }
}

#[test]
fn the_error_is_postgresqls() {
    let mut case =
        Case::new("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2)");
    case.begin(&[1]);
    case.steps(&[
        (1, "SELECT sum(v) FROM t"),
        (1, "UPDATE t SET v = 6 WHERE id = 2"),
        (2, "UPDATE t SET v = 5 WHERE id = 1"),
    ]);
    let error = case.sessions[0].rows("COMMIT").expect_err("the sum was changed");
    assert_eq!(error.state().to_string(), "40001");
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("Reason code: Canceled on identification as a pivot, during commit attempt.")
    );
    assert_eq!(
        error.fields().hint.as_deref(),
        Some("The transaction might succeed if retried.")
    );
    assert_eq!(case.run(1, "SELECT v FROM t ORDER BY id"), "5 2");
}

#[test]
fn who_cannot_commit_is_told_early() {
    let setup = "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)";
    let mut case = Case::new(setup);
    case.begin(&[1]);
    case.steps(&[
        (1, "UPDATE t SET v = 6 WHERE id = 2"),
        (2, "UPDATE t SET v = 5 WHERE id = 1"),
        (1, "SELECT v FROM t WHERE id = 3"),
    ]);
    let error = case.sessions[0]
        .rows("SELECT v FROM t WHERE id = 1")
        .expect_err("changed since the snapshot, by somebody who cannot come later");
    assert_eq!(error.state().to_string(), "40001");
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("Reason code: Canceled on identification as a pivot, during conflict out checking.")
    );
    // Locking a row is no write: who only locks commits.
    let mut case = Case::new(setup);
    case.begin(&[1]);
    case.steps(&[
        (1, "SELECT v FROM t WHERE id = 1"),
        (2, "UPDATE t SET v = 5 WHERE id = 1"),
        (1, "SELECT v FROM t WHERE id = 2 FOR UPDATE"),
        (1, "COMMIT"),
    ]);
}

#[test]
fn simple_write_skew() {
    let mut case = Case::new(
        "CREATE TABLE test (i int PRIMARY KEY, t text); INSERT INTO test VALUES (5, 'apple'), (7, 'pear'), (11, 'banana')",
    );
    case.begin(&[1, 2]);
    case.steps(&[
        (1, "UPDATE test SET t = 'apple' WHERE t = 'pear'"),
        (2, "UPDATE test SET t = 'pear' WHERE t = 'apple'"),
        (1, "COMMIT"),
    ]);
    case.refused(2, "COMMIT");
    assert_eq!(case.run(3, "SELECT t FROM test ORDER BY i"), "apple apple banana");
}

#[test]
fn receipt_report() {
    let mut case = Case::new(
        "CREATE TABLE ctl (k text PRIMARY KEY, deposit_date int NOT NULL);
         INSERT INTO ctl VALUES ('receipt', 1);
         CREATE TABLE receipt (receipt_no int PRIMARY KEY, deposit_date int NOT NULL, amount int);
         INSERT INTO receipt VALUES (1, 1, 10), (2, 1, 20)",
    );
    case.begin(&[1, 2]);
    case.steps(&[
        (
            1,
            "INSERT INTO receipt VALUES (3, (SELECT deposit_date FROM ctl WHERE k = 'receipt'), 40)",
        ),
        (2, "UPDATE ctl SET deposit_date = 2 WHERE k = 'receipt'"),
        (2, "COMMIT"),
    ]);
    case.steps(&[(3, "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY")]);
    assert_eq!(
        case.run(3, "SELECT deposit_date FROM ctl WHERE k = 'receipt'"),
        "2"
    );
    assert_eq!(
        case.run(3, "SELECT receipt_no FROM receipt WHERE deposit_date = 1"),
        "1 2"
    );
    case.steps(&[(3, "COMMIT")]);
    case.refused(1, "COMMIT");
}

#[test]
fn total_cash_and_class_room_scheduling() {
    let mut case = Case::new(
        "CREATE TABLE room (id text, start int, finish int, PRIMARY KEY (id, start));
         INSERT INTO room VALUES ('101', 9, 10), ('101', 20, 21)",
    );
    case.begin(&[1, 2]);
    let free = "SELECT count(*) FROM room WHERE id = '101' AND start < 14 AND finish > 13";
    assert_eq!((case.run(1, free), case.run(2, free)), ("0".into(), "0".into()));
    case.steps(&[
        (1, "INSERT INTO room VALUES ('101', 13, 14)"),
        (
            2,
            "UPDATE room SET start = 12, finish = 14 WHERE id = '101' AND start = 9",
        ),
        (2, "COMMIT"),
    ]);
    case.refused(1, "COMMIT");
    case.refused_nothing_else();
}

impl Case {
    /// The database works on, and nothing of a refused transaction is left.
    fn refused_nothing_else(&mut self) {
        let fresh = session(&self.database).rows("SELECT 1").expect("it answers");
        assert_eq!(fresh.len(), 1);
        for number in 1..=self.sessions.len() {
            assert_eq!(self.run(number, "SELECT 1"), "1");
        }
    }
}

#[test]
fn predicates_through_indexes_joins_and_aggregates() {
    let setup = "CREATE TABLE dept (id int PRIMARY KEY, name text);
         CREATE TABLE emp (id int PRIMARY KEY, dept int, pay int);
         CREATE INDEX ON emp (dept, pay);
         INSERT INTO dept SELECT g, 'd' || g FROM generate_series(1, 5) g;
         INSERT INTO emp SELECT g, g % 5 + 1, g FROM generate_series(1, 100) g";
    // A read, and changes by others that concern it or do not.
    let reads = [
        (
            "SELECT max(pay) FROM emp WHERE dept = 3",
            "INSERT INTO emp VALUES (200, 3, 500)",
            "UPDATE emp SET pay = pay + 1 WHERE id = 100",
        ),
        (
            "SELECT d.name, sum(e.pay) FROM dept d JOIN emp e ON e.dept = d.id WHERE d.id = 2 GROUP BY 1",
            "UPDATE emp SET dept = 2 WHERE id = 7",
            "INSERT INTO dept VALUES (9, 'd9')",
        ),
        (
            "SELECT id FROM emp WHERE dept = 4 ORDER BY pay LIMIT 1",
            "INSERT INTO emp VALUES (201, 4, 0)",
            "DELETE FROM emp WHERE id = 99",
        ),
        (
            "SELECT EXISTS (SELECT FROM emp WHERE id = 1000)",
            "INSERT INTO emp VALUES (1000, 1, 1)",
            "INSERT INTO emp VALUES (1001, 1, 1)",
        ),
        (
            "SELECT count(*) FROM emp WHERE id BETWEEN 10 AND 20",
            "DELETE FROM emp WHERE id = 15",
            "DELETE FROM emp WHERE id = 25",
        ),
        (
            "SELECT count(*) FROM emp WHERE id IN (3, 300)",
            "INSERT INTO emp VALUES (300, 1, 1)",
            "INSERT INTO emp VALUES (301, 1, 1)",
        ),
    ];
    for (read, concerns, harmless) in reads {
        for (change, conflict) in [(concerns, true), (harmless, false)] {
            let write = "UPDATE dept SET name = 'x' WHERE id = 5";
            let mut case = Case::new(setup);
            case.begin(&[1]);
            case.steps(&[(1, read), (1, write), (2, change)]);
            let outcome = case.run(1, "COMMIT");
            assert_eq!(outcome == REFUSED, conflict, "{read}; {change}: {outcome}");
            // Changed before the first write: that is where it is told.
            let mut case = Case::new(setup);
            case.begin(&[1]);
            case.steps(&[(1, read), (2, change)]);
            let outcome = case.run(1, write);
            assert_eq!(outcome == REFUSED, conflict, "{read}; {change}: {outcome}");
        }
    }
}

#[test]
fn read_write_unique() {
    let mut case = Case::new("CREATE TABLE test (i int PRIMARY KEY)");
    case.begin(&[1, 2]);
    case.steps(&[
        (1, "SELECT * FROM test WHERE i = 42"),
        (2, "SELECT * FROM test WHERE i = 42"),
        (1, "INSERT INTO test VALUES (42)"),
        (1, "COMMIT"),
    ]);
    let refused = case.run(2, "INSERT INTO test VALUES (42)");
    assert_eq!(refused, REFUSED);
    case.steps(&[(2, "ROLLBACK")]);
    // Who did not look gets the plain error.
    case.begin(&[1, 2]);
    case.steps(&[
        (2, "SELECT 1"),
        (1, "INSERT INTO test VALUES (43)"),
        (1, "COMMIT"),
    ]);
    let plain = case.run(2, "INSERT INTO test VALUES (43)");
    assert!(plain.starts_with("!23505"), "{plain}");
}

#[test]
fn foreign_keys() {
    let setup = "CREATE TABLE parent (id int PRIMARY KEY, note int);
         CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent, note int);
         INSERT INTO parent VALUES (1, 0), (2, 0); INSERT INTO child VALUES (1, 1, 0)";
    // A change of the parent's other columns is no business of its children.
    let mut case = Case::new(setup);
    case.begin(&[1]);
    case.steps(&[
        (1, "SELECT note FROM child WHERE id = 1"),
        (2, "UPDATE parent SET note = 1 WHERE id = 2"),
        (1, "INSERT INTO child VALUES (2, 2, 0)"),
        (1, "COMMIT"),
    ]);
    // The race between a child and the end of its parent.
    let mut case = Case::new(setup);
    case.begin(&[1, 2]);
    case.steps(&[
        (1, "SELECT note FROM parent WHERE id = 2"),
        (2, "SELECT count(*) FROM child WHERE parent = 2"),
        (2, "DELETE FROM parent WHERE id = 2"),
        (2, "COMMIT"),
    ]);
    let late = case.run(1, "INSERT INTO child VALUES (2, 2, 0)");
    assert!(late.starts_with("!40001"), "{late}");
    case.steps(&[(1, "ROLLBACK")]);
    // The other way round: the child is there first.
    let mut case = Case::new(setup);
    case.begin(&[1, 2]);
    case.steps(&[
        (2, "SELECT count(*) FROM child WHERE parent = 2"),
        (1, "INSERT INTO child VALUES (2, 2, 0)"),
        (1, "COMMIT"),
    ]);
    assert_eq!(case.run(2, "DELETE FROM parent WHERE id = 2"), REFUSED);
}

#[test]
fn what_happened_in_a_savepoint_counts() {
    let mut case =
        Case::new("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2)");
    case.begin(&[1]);
    case.steps(&[
        (1, "SAVEPOINT a"),
        (1, "SELECT v FROM t WHERE id = 1"),
        (1, "ROLLBACK TO a"),
        (1, "UPDATE t SET v = 8 WHERE id = 2"),
        (2, "UPDATE t SET v = 7 WHERE id = 1"),
    ]);
    case.refused(1, "COMMIT");
    assert_eq!(case.run(3, "SELECT v FROM t ORDER BY id"), "7 2");
}

#[test]
fn autocommit_upserts_truncate_and_sequences() {
    let mut case =
        Case::new("CREATE TABLE t (id serial PRIMARY KEY, v int); INSERT INTO t (v) VALUES (1), (2)");
    for number in 1..=2 {
        case.steps(&[(
            number,
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        )]);
    }
    case.steps(&[
        (1, "INSERT INTO t (v) SELECT sum(v) FROM t"),
        (
            2,
            "INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = t.v + excluded.v",
        ),
        (1, "INSERT INTO t VALUES (1, 5) ON CONFLICT DO NOTHING"),
    ]);
    assert_eq!(case.run(1, "SELECT v FROM t ORDER BY id"), "6 2 3");
    // An upsert that meets a row its snapshot does not show cannot go on.
    case.steps(&[(1, "BEGIN"), (1, "SELECT 1"), (2, "INSERT INTO t VALUES (50, 1)")]);
    let met = case.run(1, "INSERT INTO t VALUES (50, 2) ON CONFLICT DO NOTHING");
    assert!(met.starts_with("!40001"), "{met}");
    case.steps(&[(1, "ROLLBACK")]);
    // TRUNCATE waits for readers, and is one transaction with what else it did.
    case.steps(&[
        (1, "BEGIN"),
        (1, "TRUNCATE t"),
        (1, "INSERT INTO t VALUES (7, 7)"),
        (1, "COMMIT"),
    ]);
    assert_eq!(case.run(2, "SELECT id FROM t"), "7");
}
