//! Calls as a session sees them: what a body sees, what it leaves behind, how deep it may nest, how plans follow.

use crate::embedded::LocalSession;
use crate::tests::support::session;

fn one(session: &mut LocalSession, query: &str) -> Option<String> {
    session.rows(query).expect(query).remove(0).remove(0)
}

fn state_of(session: &mut LocalSession, statement: &str) -> String {
    let error = session.query(statement).expect_err(statement);
    error.fields().state.to_string()
}

#[test]
fn recursion_is_bounded() {
    let mut session = session();
    session
        .query("create function down(n int) returns int language sql as 'select 0'")
        .unwrap();
    let body = "select case when n = 0 then 0 else down(n - 1) + 1 end";
    session
        .query(&format!(
            "create or replace function down(n int) returns int language sql as '{body}'"
        ))
        .unwrap();
    assert_eq!(one(&mut session, "select down(5)").as_deref(), Some("5"));
    assert_eq!(state_of(&mut session, "select down(1000000)"), "54001");
    // The session goes on, and the depth begins anew.
    assert_eq!(one(&mut session, "select down(5)").as_deref(), Some("5"));
}

#[test]
fn plans_follow_a_changed_function() {
    let mut session = session();
    let database = session.session().database().clone();
    let mut other = LocalSession::open(&database, "postgres", "postgres").unwrap();
    session
        .query("create function f() returns int language sql as 'select 1'")
        .unwrap();
    session.query("prepare p as select f()").unwrap();
    assert_eq!(one(&mut session, "execute p").as_deref(), Some("1"));
    other
        .query("create or replace function f() returns int language sql as 'select 2'")
        .unwrap();
    assert_eq!(one(&mut session, "execute p").as_deref(), Some("2"));
    assert_eq!(one(&mut session, "select f()").as_deref(), Some("2"));
    other.query("drop function f()").unwrap();
    assert_eq!(state_of(&mut session, "execute p"), "42883");
}

#[test]
fn a_failed_body_leaves_identity_and_settings() {
    let mut session = session();
    session
        .query("create role owner; create table secret (a int); grant all on secret to owner")
        .unwrap();
    session
        .query(
            "create function bad() returns int language sql security definer set work_mem = '3MB' \
             as 'insert into secret values (1); select 1 / (select a - a from secret limit 1)'; \
             alter function bad() owner to owner",
        )
        .unwrap();
    let before = one(&mut session, "show work_mem");
    session.query("begin; savepoint s").unwrap();
    assert_eq!(state_of(&mut session, "select bad()"), "22012");
    session.query("rollback to s").unwrap();
    assert_eq!(
        one(&mut session, "select current_user").as_deref(),
        Some("postgres")
    );
    assert_eq!(one(&mut session, "show work_mem"), before);
    assert_eq!(
        one(&mut session, "select count(*) from secret").as_deref(),
        Some("0")
    );
    session.query("commit").unwrap();
}

#[test]
fn what_a_function_wrote_the_calling_statement_does_not_see() {
    let mut session = session();
    session
        .query("create table t (a int); insert into t values (1), (2), (3)")
        .unwrap();
    session
        .query(
            "create function grow(n int) returns bigint language sql \
             as 'insert into t values (n + 10); select count(*) from t'",
        )
        .unwrap();
    let rows = session.rows("select a, grow(a) from t").unwrap();
    let counts: Vec<_> = rows.iter().map(|row| row[1].as_deref().unwrap()).collect();
    assert_eq!(counts, ["4", "5", "6"]);
    // Nor does an UPDATE meet the rows that its own expressions inserted.
    session
        .query("update t set a = a + 100 where grow(a) > 0")
        .unwrap();
    assert_eq!(
        one(&mut session, "select count(*) from t where a > 100").as_deref(),
        Some("6")
    );
    assert_eq!(one(&mut session, "select count(*) from t").as_deref(), Some("12"));
}

#[test]
fn a_row_that_a_function_of_the_statement_wrote_is_not_written_again() {
    let mut session = session();
    session
        .query("create table t (id int primary key, v int); insert into t values (1, 1), (2, 2)")
        .unwrap();
    session
        .query(
            "create function touch(i int) returns int language sql \
             as 'update t set v = v + 10 where id = i returning v'",
        )
        .unwrap();
    assert_eq!(state_of(&mut session, "update t set v = touch(id)"), "27000");
    assert_eq!(
        state_of(&mut session, "delete from t where touch(id) > 0"),
        "27000"
    );
    // Another row it may write, and a SELECT does not mind.
    session.query("update t set v = touch(2) where id = 1").unwrap();
    session.query("select touch(id) from t").unwrap();
    let rows = session.rows("select v from t order by id").unwrap();
    let values: Vec<_> = rows.iter().map(|row| row[0].as_deref().unwrap()).collect();
    assert_eq!(values, ["22", "22"]);
}

#[test]
fn names_of_arguments_do_not_reach_into_views_and_checks() {
    let mut session = session();
    session
        .query(
            "create table t (a int check (a > 0), b int default 7); create view v as select a, b from t; \
             create function put(a int, b int) returns bigint language sql \
             as 'insert into t (a) values (b); select count(*) from v where v.a = put.b'",
        )
        .unwrap();
    assert_eq!(one(&mut session, "select put(-1, 5)").as_deref(), Some("1"));
    assert_eq!(one(&mut session, "select b from t").as_deref(), Some("7"));
    assert_eq!(state_of(&mut session, "select put(1, -5)"), "23514");
}
