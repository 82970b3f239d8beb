//! MERGE beside other writers: which clause a row gets that changed under it.

use std::sync::Arc;

use super::concurrency::{run, start};
use super::{database, session, shown};
use mote_catalog::database::Database;

fn stock() -> Arc<Database> {
    let database = database();
    run(
        &mut session(&database),
        "CREATE TABLE stock (item int PRIMARY KEY, quantity int, note text);
         INSERT INTO stock VALUES (1, 10, 'a'), (2, 20, 'b')",
    );
    database
}

const STOCK: &str = "SELECT item, quantity, note FROM stock ORDER BY item";
const MERGE: &str =
    "MERGE INTO stock s USING (VALUES (1, 5), (2, 6), (3, 7)) v(item, more) ON s.item = v.item
     WHEN MATCHED AND quantity > 15 THEN UPDATE SET quantity = quantity + more, note = note || ' large'
     WHEN MATCHED THEN UPDATE SET quantity = quantity + more, note = note || ' small'
     WHEN NOT MATCHED THEN INSERT VALUES (v.item, more, 'new')";

/// Runs `change` in one session, `MERGE` in another, which waits for it, and shows what the MERGE answered and left.
fn merge_behind(change: &str) -> (String, String) {
    let database = stock();
    let (mut s1, s2) = (session(&database), session(&database));
    run(&mut s1, "BEGIN");
    run(&mut s1, change);
    let waiting = start(s2, MERGE);
    run(&mut s1, "COMMIT");
    let (mut s2, answer) = waiting.finish();
    (answer, shown(&mut s2, STOCK))
}

/// The source is no table: its rows are held by their values, not run again.
#[test]
fn the_clauses_are_tried_again_on_the_newest_version() {
    let (answer, left) = merge_behind("UPDATE stock SET quantity = 16, note = 'changed' WHERE item = 1");
    assert!(!answer.starts_with('!'), "{answer}");
    assert_eq!(left, "1|21|changed large 2|26|b large 3|7|new");
}

#[test]
fn a_deleted_row_is_not_matched() {
    let (_, left) = merge_behind("DELETE FROM stock WHERE item = 2");
    assert_eq!(left, "1|15|a small 2|6|new 3|7|new");
}

#[test]
fn a_row_that_no_longer_meets_on_is_not_matched() {
    let (_, left) = merge_behind("UPDATE stock SET item = 9 WHERE item = 1");
    assert_eq!(left, "1|5|new 2|26|b large 3|7|new 9|10|a");
}

/// The key moved to what the next source row looks for. That row did not see it, and its insert finds the key taken.
#[test]
fn a_moved_key_is_not_another_source_rows_match() {
    let (answer, left) = merge_behind("UPDATE stock SET item = 3 WHERE item = 1");
    assert!(answer.starts_with("!23505"), "{answer}");
    assert_eq!(left, "2|20|b 3|10|a");
}

#[test]
fn above_read_committed_a_changed_row_is_40001() {
    let database = stock();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s2,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM stock",
    );
    run(&mut s1, "UPDATE stock SET quantity = 0 WHERE item = 1");
    assert_eq!(
        shown(&mut s2, MERGE),
        "!40001 could not serialize access due to concurrent update"
    );
}

#[test]
fn a_second_source_row_for_a_changed_row_is_21000() {
    let database = stock();
    let (mut s1, s2) = (session(&database), session(&database));
    run(&mut s1, "BEGIN; UPDATE stock SET quantity = 0 WHERE item = 1");
    let waiting = start(
        s2,
        "MERGE INTO stock s USING (VALUES (1, 5), (1, 6)) v(item, more) ON s.item = v.item
         WHEN MATCHED THEN UPDATE SET quantity = quantity + more",
    );
    run(&mut s1, "COMMIT");
    assert_eq!(
        waiting.finish().1,
        "!21000 MERGE command cannot affect row a second time"
    );
}
