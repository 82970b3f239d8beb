//! What a session sees of the catalog while its transaction changes it.

use crate::command::test_support::session;
use crate::embedded::LocalSession;

#[test]
fn a_released_savepoint_s_changes_outlive_a_later_one() {
    let mut session = session();
    for statement in [
        "begin",
        "savepoint a",
        "create table kept (id int)",
        "set local work_mem = '5MB'",
        "release a",
        "savepoint b",
        "create table gone (id int)",
        "set local work_mem = '6MB'",
        "rollback to b",
    ] {
        session.query(statement).unwrap();
    }
    session.query("select * from kept").unwrap();
    let shown = session.rows("show work_mem").unwrap();
    assert_eq!(shown[0][0].as_deref(), Some("5MB"));
    session.query("select * from gone").unwrap_err();
}

#[test]
fn changes_that_others_commit_are_not_overwritten() {
    let mut one = session();
    one.query("create table t (id int)").unwrap();
    let database = one.session().database().clone();
    let mut two = LocalSession::open(&database, "postgres", "postgres").unwrap();
    // From here on the first session has changes of its own.
    one.query("begin").unwrap();
    one.query("create table own (id int)").unwrap();
    two.query("alter table t add column theirs int").unwrap();
    one.query("alter table t add column ours int").unwrap();
    one.query("commit").unwrap();
    for session in [&mut one, &mut two] {
        session.query("select id, theirs, ours from t").unwrap();
    }
}
