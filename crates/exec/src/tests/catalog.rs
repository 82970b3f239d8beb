//! What a session sees of the catalog while its transaction changes it.

use mote_catalog::catalog_store::stored::{StoredObject, StoredRelation};
use mote_common::error::state;
use mote_engine::Isolation;

use crate::embedded::LocalSession;
use crate::tests::support::session;

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

/// Puts a table into the catalog as no statement would, without a lock.
fn put_behind_locks(session: &mut LocalSession, table: &str, change: impl FnOnce(&mut StoredRelation)) {
    let engine = session.session().database().engine().clone();
    let catalog = &mut session.session().state.catalog;
    let current = catalog.current();
    let schema = catalog.schema_oid("public").expect("every database has it");
    let oid = current.name(schema, table).expect("the table is there");
    let entry = current.relation(oid).expect("it has a name");
    let mut stored = entry.stored.clone();
    change(&mut stored);
    let put = Some((StoredObject::Relation(stored), entry.row));
    catalog.record(oid, put, 0).expect("it fits on what is committed");
    let transaction = engine
        .begin(Isolation::ReadCommitted, false)
        .expect("a slot is free");
    let published = catalog.publish(transaction).ok().expect("nothing was written");
    assert!(published.is_ok());
}

/// Locks keep it from happening. If it happens all the same, no statement acts on a state that nobody has, and the commit
/// does not take the process along.
#[test]
fn changes_that_no_longer_fit_are_refused() {
    let mut one = session();
    one.query("create table p (a int) partition by range (a)")
        .unwrap();
    let database = one.session().database().clone();
    let mut two = LocalSession::open(&database, "postgres", "postgres").unwrap();
    let mut kept = None;
    for next in [
        "select * from c",
        "create table d (a int)",
        "savepoint s",
        "commit",
    ] {
        one.query("begin").unwrap();
        one.query("create table c partition of p for values from (0) to (10)")
            .unwrap();
        put_behind_locks(&mut two, "p", |stored| kept = stored.partitioning.take());
        let refused = match next {
            "savepoint s" => {
                one.query(next).unwrap();
                one.query("rollback to s").unwrap_err()
            }
            _ => one.query(next).unwrap_err(),
        };
        assert_eq!(refused.state(), state::INTERNAL_ERROR, "{next}: {refused:?}");
        one.query("rollback").unwrap();
        one.query("select * from c").unwrap_err();
        put_behind_locks(&mut two, "p", |stored| stored.partitioning = kept.clone());
    }
    one.query("create table c partition of p for values from (0) to (10)")
        .unwrap();
    two.query("insert into p values (1)").unwrap();
}

/// Sessions that change the catalog at the same time: each applies its changes to what the others have published
/// meanwhile, and nobody's get lost.
#[test]
fn definitions_of_many_sessions_all_stand_in_the_end() {
    const SESSIONS: usize = 4;
    const ROUNDS: usize = 12;
    let mut first = session();
    first.query("create table shared (id int)").unwrap();
    let database = first.session().database().clone();
    std::thread::scope(|scope| {
        for number in 0..SESSIONS {
            let database = &database;
            scope.spawn(move || {
                let mut session = LocalSession::open(database, "postgres", "postgres").unwrap();
                for round in 0..ROUNDS {
                    let own = format!("t{number}_{round}");
                    session.query("begin").unwrap();
                    session
                        .query(&format!("create table {own} (id int primary key)"))
                        .unwrap();
                    session.query("savepoint s").unwrap();
                    session
                        .query(&format!("create table gone{number} (id int)"))
                        .unwrap();
                    session.query("rollback to s").unwrap();
                    session
                        .query(&format!("insert into {own} values ({round})"))
                        .unwrap();
                    session
                        .query(&format!("create view v_{own} as select * from {own}"))
                        .unwrap();
                    session
                        .query(if round % 3 == 2 { "rollback" } else { "commit" })
                        .unwrap();
                }
            });
        }
    });
    for number in 0..SESSIONS {
        first.query(&format!("select * from gone{number}")).unwrap_err();
        for round in 0..ROUNDS {
            let shown = first.rows(&format!("select * from v_t{number}_{round}"));
            match round % 3 {
                2 => _ = shown.unwrap_err(),
                _ => assert_eq!(shown.unwrap(), [[Some(round.to_string())]]),
            }
        }
    }
}
