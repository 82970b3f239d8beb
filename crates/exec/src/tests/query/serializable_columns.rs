//! SERIALIZABLE through SQL: which columns a statement is held to have read, and which statements begin again at a later
//! snapshot.

use super::concurrency::start;
use super::serializable::{Case, REFUSED};

const CHANGED: &str = "!40001 could not serialize access due to concurrent update";

const TABLES: &str = "CREATE TABLE t (id int PRIMARY KEY, v int, w int, ref int);
     CREATE INDEX ON t (v);
     CREATE INDEX partial ON t (ref) WHERE w > 0;
     CREATE INDEX doubled ON t ((v * 2));
     CREATE TABLE u (id int PRIMARY KEY, n int);
     INSERT INTO t SELECT g, g, g, g % 5 FROM generate_series(1, 50) g;
     INSERT INTO u SELECT g, g FROM generate_series(0, 9) g";

/// A read, a change of what it looked at, and a change of something else in the very same rows.
#[test]
fn the_columns_a_statement_looks_at() {
    let reads = [
        (
            "SELECT v FROM t WHERE id = 1",
            "UPDATE t SET v = 99 WHERE id = 1",
            "UPDATE t SET w = 99 WHERE id = 1",
        ),
        (
            "SELECT id FROM t WHERE w + ref < 5",
            "UPDATE t SET w = 99 WHERE id = 40",
            "UPDATE t SET v = 99 WHERE id = 1",
        ),
        // A filter that is judged on the stored bytes has read the rows that it turned away.
        (
            "SELECT id FROM t WHERE w < 5",
            "UPDATE t SET w = 3 WHERE id = 40",
            "UPDATE t SET v = 99 WHERE id = 1",
        ),
        (
            "SELECT count(*) FROM t",
            "DELETE FROM t WHERE id = 1",
            "UPDATE t SET v = v + 1",
        ),
        (
            "SELECT t FROM t WHERE id = 1",
            "UPDATE t SET ref = 99 WHERE id = 1",
            "UPDATE t SET ref = 99 WHERE id = 2",
        ),
        (
            "SELECT xmin FROM t WHERE id = 1",
            "UPDATE t SET w = w WHERE id = 1",
            "UPDATE t SET w = w WHERE id = 2",
        ),
        (
            "SELECT ctid FROM t WHERE id = 1",
            "UPDATE t SET id = 99 WHERE id = 1",
            "UPDATE t SET w = 99 WHERE id = 1",
        ),
        (
            "SELECT u.n FROM t JOIN u ON u.id = t.ref WHERE t.id = 7",
            "UPDATE t SET ref = 3 WHERE id = 7",
            "UPDATE t SET v = 99, w = 99 WHERE id = 7",
        ),
        (
            "SELECT id FROM t ORDER BY v LIMIT 1",
            "UPDATE t SET v = 60 WHERE id = 1",
            "UPDATE t SET w = 60 WHERE id = 1",
        ),
        (
            "SELECT id FROM t WHERE v BETWEEN 3 AND 5",
            "UPDATE t SET v = 4 WHERE id = 30",
            "UPDATE t SET w = 4 WHERE id = 4",
        ),
        (
            "SELECT id FROM t WHERE ref = 2 AND w > 0",
            "UPDATE t SET w = -1 WHERE id = 2",
            "UPDATE t SET v = 99 WHERE id = 2",
        ),
        (
            "SELECT id FROM t WHERE v * 2 = 8",
            "UPDATE t SET v = 99 WHERE id = 4",
            "UPDATE t SET w = 99 WHERE id = 4",
        ),
        (
            "UPDATE u SET n = t.w FROM t WHERE t.id = u.id AND u.id = 4",
            "UPDATE t SET w = 99 WHERE id = 4",
            "UPDATE t SET v = 99 WHERE id = 4",
        ),
        (
            "INSERT INTO u SELECT id + 100, v FROM t WHERE id = 4",
            "UPDATE t SET v = 99 WHERE id = 4",
            "UPDATE t SET w = 99 WHERE id = 4",
        ),
        (
            "SELECT sum((SELECT max(t.w) FROM t WHERE t.ref = u.id)) FROM u",
            "UPDATE t SET w = 99 WHERE id = 4",
            "UPDATE t SET v = 99 WHERE id = 4",
        ),
    ];
    for (read, concerns, harmless) in reads {
        for (change, conflict) in [(concerns, true), (harmless, false)] {
            let mut case = Case::new(TABLES);
            case.begin(&[1]);
            let write = "UPDATE u SET n = -1 WHERE id = 9";
            case.steps(&[(1, read), (1, write), (2, change)]);
            let outcome = case.run(1, "COMMIT");
            assert_eq!(outcome == REFUSED, conflict, "{read}; {change}: {outcome}");
        }
    }
}

#[test]
fn write_skew_through_different_columns_of_the_same_rows() {
    for (column_read, refused) in [("v", false), ("w", true)] {
        let mut case = Case::new(TABLES);
        case.begin(&[1, 2]);
        let read = |id| format!("SELECT {column_read} FROM t WHERE id = {id}");
        case.steps(&[
            (1, &read(1)),
            (2, &read(2)),
            (1, "UPDATE t SET w = 0 WHERE id = 2"),
            (2, "UPDATE t SET w = 0 WHERE id = 1"),
            (1, "COMMIT"),
        ]);
        assert_eq!(case.run(2, "COMMIT") == REFUSED, refused, "{column_read} is read");
    }
}

/// One session reads, another changes row 2; what the first one's statement shows then.
fn after_a_change(setup: &str, read: &str, change: &str, statement: &str) -> (Case, String) {
    let mut case = Case::new(TABLES);
    if !setup.is_empty() {
        case.steps(&[(3, setup)]);
    }
    case.begin(&[1]);
    case.steps(&[(1, read), (2, change)]);
    let shown = case.run(1, statement);
    (case, shown)
}

#[test]
fn a_statement_that_meets_a_changed_row_begins_again() {
    let read = "SELECT v FROM t WHERE id = 1";
    let change = "UPDATE t SET v = v + 100 WHERE id = 2";
    for (statement, expected) in [
        ("UPDATE t SET v = v + 1 WHERE id = 2 RETURNING v", "103"),
        ("SELECT v FROM t WHERE id = 2 FOR UPDATE", "102"),
        ("SELECT v FROM t WHERE v = 2 FOR UPDATE", ""),
        ("DELETE FROM t WHERE id BETWEEN 2 AND 3 RETURNING v", "102 3"),
        (
            "SELECT sum(v) FROM (SELECT v FROM t WHERE id < 4 FOR UPDATE) s",
            "106",
        ),
    ] {
        let (mut case, shown) = after_a_change("", read, change, statement);
        assert_eq!(shown, expected, "{statement}");
        case.steps(&[(1, "COMMIT")]);
    }
    let gone = "DELETE FROM t WHERE id = 2";
    let (mut case, shown) = after_a_change("", read, gone, "UPDATE t SET v = 0 WHERE id = 2 RETURNING v");
    assert_eq!(shown, "");
    case.steps(&[(1, "COMMIT")]);
}

#[test]
fn what_was_read_before_is_as_it_was_and_the_rest_is_newer() {
    let both = "UPDATE t SET w = w + 100 WHERE id < 3";
    let statement = "UPDATE t SET v = 0 WHERE id = 2";
    let (mut case, _) = after_a_change("", "SELECT v FROM t WHERE id = 1", both, statement);
    assert_eq!(case.run(1, "SELECT v, w FROM t WHERE id = 1"), "1|101");
    case.steps(&[(1, "COMMIT")]);
    let (mut case, shown) = after_a_change("", "SELECT w FROM t WHERE id = 1", both, statement);
    assert!(shown.starts_with("!40001"), "{shown}");
    case.steps(&[(1, "ROLLBACK")]);
    // Found at the first write in the case above; here later.
    let mut case = Case::new(TABLES);
    case.begin(&[1]);
    case.steps(&[
        (1, "UPDATE u SET n = 0 WHERE id = 1"),
        (1, "SELECT w FROM t WHERE id = 1"),
        (2, both),
    ]);
    assert_eq!(case.run(1, statement), CHANGED);
}

#[test]
fn statements_that_keep_their_snapshot() {
    let read = "SELECT v FROM t WHERE id = 1";
    let change = "UPDATE t SET v = v + 100 WHERE id = 2";
    let function = "CREATE FUNCTION noted(x int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN x; END'";
    let trigger = "CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
         CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION fired()";
    for (setup, read, statement) in [
        (function, read, "UPDATE t SET v = noted(v) WHERE id = 2"),
        (trigger, read, "UPDATE t SET v = 0 WHERE id = 2"),
        // Rows before the changed one were written, or answered.
        ("", read, "UPDATE t SET v = 0 WHERE id < 3"),
        ("", read, "SELECT v FROM t WHERE id < 3 FOR UPDATE"),
        // A cursor reads on through the old snapshot.
        (
            "",
            "DECLARE c CURSOR FOR SELECT v FROM t; FETCH c",
            "UPDATE t SET v = 0 WHERE id = 2",
        ),
    ] {
        let (_, shown) = after_a_change(setup, read, change, statement);
        assert_eq!(shown, CHANGED, "{read}; {statement}");
    }
    let mut case = Case::new(TABLES);
    case.steps(&[
        (1, "BEGIN ISOLATION LEVEL REPEATABLE READ"),
        (1, read),
        (2, change),
    ]);
    assert_eq!(case.run(1, "UPDATE t SET v = 0 WHERE id = 2"), CHANGED);
}

#[test]
fn who_waited_for_a_row_goes_on_with_what_it_is_now() {
    let mut case = Case::new(TABLES);
    case.begin(&[1, 2]);
    case.steps(&[
        (1, "SELECT w FROM t WHERE id = 2"),
        (2, "SELECT w FROM t WHERE id = 1"),
        (2, "UPDATE t SET v = v + 100 WHERE id = 2"),
    ]);
    let waiting = start(
        case.sessions.remove(0),
        "UPDATE t SET v = v + 1 WHERE id = 2 RETURNING v",
    );
    assert_eq!(case.run(1, "COMMIT"), "");
    let (session, shown) = waiting.finish();
    assert_eq!(shown, "103");
    case.sessions.insert(0, session);
    case.steps(&[(1, "COMMIT")]);
    assert_eq!(case.run(3, "SELECT v FROM t WHERE id = 2"), "103");
}
