//! Concurrent writes: EvalPlanQual, unique keys, upserts, foreign keys. Named after PostgreSQL's isolation tests.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{database, session, shown};
use crate::embedded::LocalSession;
use mote_catalog::activity::Waiting as ActivityWaiting;
use mote_catalog::database::Database;

/// A statement that does not wait for a lock after so long never will.
const LONGEST: Duration = Duration::from_secs(60);

/// A statement that runs on a thread of its own and waits for a lock.
pub(super) struct Waiting(JoinHandle<(LocalSession, String)>);

pub(super) fn start(mut session: LocalSession, text: &'static str) -> Waiting {
    let activity = session.session().state.activity.clone();
    let handle = std::thread::spawn(move || {
        let result = shown(&mut session, text);
        (session, result)
    });
    let began = Instant::now();
    while !matches!(activity.doing().waiting, Some((ActivityWaiting::Lock, _))) {
        assert!(!handle.is_finished(), "{text} did not wait");
        assert!(began.elapsed() < LONGEST, "{text} neither ends nor waits");
        std::thread::sleep(Duration::from_millis(1));
    }
    Waiting(handle)
}

impl Waiting {
    pub(super) fn finish(self) -> (LocalSession, String) {
        self.0.join().expect("the waiting thread ends well")
    }
}

fn accounts() -> Arc<Database> {
    let database = database();
    session(&database)
        .query(
            "CREATE TABLE accounts (accountid text PRIMARY KEY, balance numeric NOT NULL);
             INSERT INTO accounts VALUES ('checking', 600), ('savings', 600)",
        )
        .expect("the table is made");
    database
}

pub(super) fn run(session: &mut LocalSession, text: &str) {
    session
        .query(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"));
}

#[test]
fn wx1_wx2_the_second_update_adds_to_the_first() {
    let database = accounts();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "BEGIN; UPDATE accounts SET balance = balance - 200 WHERE accountid = 'checking'",
    );
    run(&mut s2, "BEGIN");
    let waiting = start(
        s2,
        "UPDATE accounts SET balance = balance + 450 WHERE accountid = 'checking' RETURNING balance",
    );
    run(&mut s1, "COMMIT");
    let (mut s2, result) = waiting.finish();
    assert_eq!(result, "850");
    run(&mut s2, "COMMIT");
    assert_eq!(
        shown(&mut s1, "SELECT balance FROM accounts ORDER BY 1"),
        "600 850"
    );
}

#[test]
fn a_row_that_no_longer_qualifies_is_left_alone() {
    let database = accounts();
    let (mut s1, s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "BEGIN; UPDATE accounts SET balance = 0 WHERE accountid = 'checking'",
    );
    let waiting = start(
        s2,
        "UPDATE accounts SET balance = balance + 1 WHERE balance > 100 RETURNING accountid",
    );
    run(&mut s1, "COMMIT");
    assert_eq!(waiting.finish().1, "savings");
    assert_eq!(shown(&mut s1, "SELECT balance FROM accounts ORDER BY 1"), "0 601");
}

#[test]
fn deleted_rows_are_skipped() {
    let database = accounts();
    let (mut s1, s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "BEGIN; DELETE FROM accounts WHERE accountid = 'checking'",
    );
    let waiting = start(s2, "DELETE FROM accounts RETURNING accountid");
    run(&mut s1, "COMMIT");
    assert_eq!(waiting.finish().1, "savings");
}

#[test]
fn repeatable_read_gets_40001() {
    let database = accounts();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s2,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM accounts",
    );
    run(
        &mut s1,
        "UPDATE accounts SET balance = 1 WHERE accountid = 'checking'",
    );
    assert_eq!(
        shown(
            &mut s2,
            "UPDATE accounts SET balance = 2 WHERE accountid = 'checking'"
        ),
        "!40001 could not serialize access due to concurrent update"
    );
    run(
        &mut s2,
        "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM accounts",
    );
    run(&mut s1, "DELETE FROM accounts WHERE accountid = 'checking'");
    assert_eq!(
        shown(&mut s2, "DELETE FROM accounts WHERE accountid = 'checking'"),
        "!40001 could not serialize access due to concurrent delete"
    );
}

/// FOR KEY SHARE protects a key: that other columns changed behind the snapshot is no conflict, and not seen either.
#[test]
fn repeatable_read_locks_the_key_of_a_newer_row() {
    let database = accounts();
    let (mut s1, mut s2) = (session(&database), session(&database));
    let begin = "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM accounts";
    let lock = "SELECT balance FROM accounts WHERE accountid = 'checking' FOR KEY SHARE";
    run(&mut s2, begin);
    run(
        &mut s1,
        "UPDATE accounts SET balance = 1 WHERE accountid = 'checking'",
    );
    assert_eq!(shown(&mut s2, lock), "600");
    assert_eq!(
        shown(&mut s2, &lock.replace("KEY SHARE", "SHARE")),
        "!40001 could not serialize access due to concurrent update"
    );
    run(&mut s2, begin);
    run(
        &mut s1,
        "UPDATE accounts SET accountid = 'moved' WHERE accountid = 'checking'",
    );
    assert_eq!(
        shown(&mut s2, lock),
        "!40001 could not serialize access due to concurrent update"
    );
    run(&mut s2, begin);
    run(&mut s1, "DELETE FROM accounts WHERE accountid = 'savings'");
    assert_eq!(
        shown(&mut s2, &lock.replace("checking", "savings")),
        "!40001 could not serialize access due to concurrent update"
    );
}

#[test]
fn repeatable_read_finds_that_a_referenced_row_went_away() {
    let database = accounts();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(&mut s1, "CREATE TABLE entries (account text REFERENCES accounts)");
    run(
        &mut s2,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM accounts",
    );
    run(
        &mut s1,
        "UPDATE accounts SET balance = 1; DELETE FROM accounts WHERE accountid = 'savings'",
    );
    run(&mut s2, "INSERT INTO entries VALUES ('checking')");
    assert_eq!(
        shown(&mut s2, "INSERT INTO entries VALUES ('savings')"),
        "!40001 could not serialize access due to concurrent update"
    );
    run(&mut s2, "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ");
    run(&mut s2, "DELETE FROM accounts WHERE accountid = 'checking'");
    assert!(
        shown(&mut s2, "INSERT INTO entries VALUES ('checking')").starts_with("!23503"),
        "its own delete is no conflict"
    );
}

#[test]
fn repeatable_read_does_not_update_a_newer_row_on_conflict() {
    let database = accounts();
    let (mut s1, mut s2) = (session(&database), session(&database));
    let upsert = "INSERT INTO accounts VALUES ('checking', 5) ON CONFLICT (accountid) \
                  DO UPDATE SET balance = accounts.balance + 1";
    run(
        &mut s2,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM accounts",
    );
    run(
        &mut s1,
        "UPDATE accounts SET balance = 1 WHERE accountid = 'checking'",
    );
    assert_eq!(
        shown(&mut s2, upsert),
        "!40001 could not serialize access due to concurrent update"
    );
    // The writer ends while the upsert waits for it.
    run(
        &mut s2,
        "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM accounts",
    );
    run(
        &mut s1,
        "BEGIN; UPDATE accounts SET balance = 2 WHERE accountid = 'checking'",
    );
    let waiting = start(s2, upsert);
    run(&mut s1, "COMMIT");
    assert_eq!(
        waiting.finish().1,
        "!40001 could not serialize access due to concurrent update"
    );
    // What the transaction itself has changed is no conflict.
    let mut s3 = session(&database);
    run(
        &mut s3,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE accounts SET balance = 7 WHERE accountid = 'checking'",
    );
    run(&mut s3, upsert);
    run(&mut s3, "COMMIT");
    assert_eq!(
        shown(
            &mut s3,
            "SELECT balance FROM accounts WHERE accountid = 'checking'"
        ),
        "8"
    );
}

#[test]
fn select_for_update_sees_the_newest_row() {
    let database = accounts();
    let (mut s1, s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "BEGIN; UPDATE accounts SET balance = 7 WHERE accountid = 'checking'",
    );
    let waiting = start(
        s2,
        "SELECT balance FROM accounts WHERE accountid = 'checking' FOR UPDATE",
    );
    run(&mut s1, "COMMIT");
    assert_eq!(waiting.finish().1, "7");
}

#[test]
fn nowait_and_skip_locked() {
    let database = accounts();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "BEGIN; SELECT * FROM accounts WHERE accountid = 'checking' FOR UPDATE",
    );
    assert_eq!(
        shown(&mut s2, "SELECT * FROM accounts FOR UPDATE NOWAIT"),
        "!55P03 could not obtain lock on row in relation \"accounts\""
    );
    assert_eq!(
        shown(&mut s2, "SELECT accountid FROM accounts FOR UPDATE SKIP LOCKED"),
        "savings"
    );
    assert_eq!(
        shown(
            &mut s2,
            "SELECT accountid FROM accounts ORDER BY 1 FOR KEY SHARE SKIP LOCKED"
        ),
        "savings"
    );
}

#[test]
fn readforss_other_tables_keep_the_rows_they_had() {
    let database = database();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "CREATE TABLE table_a (id int PRIMARY KEY, value text); CREATE TABLE table_b (id int PRIMARY KEY, value text);
         INSERT INTO table_a VALUES (1, 'tableAValue'); INSERT INTO table_b VALUES (1, 'tableBValue')",
    );
    run(
        &mut s1,
        "BEGIN; UPDATE table_a SET value = 'newTableAValue' WHERE id = 1;
         UPDATE table_b SET value = 'newTableBValue' WHERE id = 1",
    );
    run(&mut s2, "BEGIN");
    let waiting = start(
        s2,
        "SELECT table_a.value, table_b.value FROM table_a JOIN table_b ON table_a.id = table_b.id
         WHERE table_a.id = 1 FOR UPDATE OF table_a",
    );
    run(&mut s1, "COMMIT");
    assert_eq!(waiting.finish().1, "newTableAValue|tableBValue");
}

/// The update waits for the outer row after the sub-query has locked the inner one: the inner row is changed and
/// committed before the outer one, so that the first run takes its newest version and EvalPlanQual's run must, too.
#[test]
fn recheck_evaluates_the_locking_subquery_anew() {
    let database = accounts();
    let (mut s1, mut s3, s2) = (session(&database), session(&database), session(&database));
    run(
        &mut s1,
        "CREATE TABLE limits (accountid text PRIMARY KEY, floor int); INSERT INTO limits VALUES ('checking', 10)",
    );
    run(
        &mut s1,
        "BEGIN; UPDATE accounts SET balance = 500 WHERE accountid = 'checking'",
    );
    run(&mut s3, "BEGIN; UPDATE limits SET floor = 1000");
    let waiting = start(
        s2,
        "UPDATE accounts SET balance = balance - 1 WHERE accountid = 'checking' AND EXISTS (
             SELECT FROM limits WHERE limits.accountid = accounts.accountid
             AND (limits.floor < accounts.balance OR accounts.balance = 600) FOR UPDATE) RETURNING balance",
    );
    run(&mut s3, "COMMIT");
    run(&mut s1, "COMMIT");
    assert_eq!(waiting.finish().1, "");
}

#[test]
fn partiallock_update_from_rechecks_the_join() {
    let database = accounts();
    let (mut s1, s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "BEGIN; UPDATE accounts SET balance = balance * 2 WHERE accountid = 'checking'",
    );
    let waiting = start(
        s2,
        "UPDATE accounts a SET balance = a.balance + b.balance FROM accounts b
         WHERE a.accountid = 'checking' AND b.accountid = 'savings' RETURNING a.balance",
    );
    run(&mut s1, "COMMIT");
    assert_eq!(waiting.finish().1, "1800");
}

#[test]
fn deadlock_has_one_victim() {
    let database = accounts();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "BEGIN; UPDATE accounts SET balance = 1 WHERE accountid = 'checking'",
    );
    run(
        &mut s2,
        "BEGIN; UPDATE accounts SET balance = 2 WHERE accountid = 'savings'",
    );
    let waiting = start(s2, "UPDATE accounts SET balance = 2 WHERE accountid = 'checking'");
    assert_eq!(
        shown(
            &mut s1,
            "UPDATE accounts SET balance = 1 WHERE accountid = 'savings'"
        ),
        "!40P01 deadlock detected"
    );
    run(&mut s1, "ROLLBACK");
    assert_eq!(waiting.finish().1, "");
}

#[test]
fn unique_keys_wait_for_the_insert_in_flight() {
    let database = accounts();
    let (mut s1, s2) = (session(&database), session(&database));
    run(&mut s1, "BEGIN; INSERT INTO accounts VALUES ('new', 1)");
    let waiting = start(s2, "INSERT INTO accounts VALUES ('new', 2)");
    run(&mut s1, "ROLLBACK");
    let (mut s2, result) = waiting.finish();
    assert_eq!(result, "");
    let error = s2
        .query("INSERT INTO accounts VALUES ('new', 3)")
        .expect_err("the key is taken");
    assert_eq!(
        error.message(),
        "duplicate key value violates unique constraint \"accounts_pkey\""
    );
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("Key (accountid)=(new) already exists.")
    );
}

#[test]
fn insert_conflict_do_update_meets_the_committed_row() {
    let database = accounts();
    let (mut s1, s2) = (session(&database), session(&database));
    run(&mut s1, "BEGIN; INSERT INTO accounts VALUES ('new', 1)");
    let waiting = start(
        s2,
        "INSERT INTO accounts VALUES ('new', 10) ON CONFLICT (accountid)
         DO UPDATE SET balance = accounts.balance + excluded.balance RETURNING balance",
    );
    run(&mut s1, "COMMIT");
    let (mut s2, result) = waiting.finish();
    assert_eq!(result, "11");
    assert_eq!(
        shown(
            &mut s2,
            "INSERT INTO accounts VALUES ('new', 10) ON CONFLICT DO NOTHING RETURNING 1"
        ),
        ""
    );
    assert_eq!(
        shown(
            &mut s2,
            "INSERT INTO accounts VALUES ('x', 1), ('x', 2) ON CONFLICT (accountid) DO UPDATE SET balance = 0"
        ),
        "!21000 ON CONFLICT DO UPDATE command cannot affect row a second time"
    );
}

fn family() -> Arc<Database> {
    let database = database();
    session(&database)
        .query(
            "CREATE TABLE parent (id int PRIMARY KEY, note text);
             CREATE TABLE child (id int PRIMARY KEY, pid int REFERENCES parent);
             INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (1, 1)",
        )
        .expect("the tables are made");
    database
}

#[test]
fn foreign_keys_in_one_session() {
    let database = family();
    let mut s = session(&database);
    let error = s
        .query("INSERT INTO child VALUES (2, 9)")
        .expect_err("there is no such parent");
    assert_eq!(
        error.message(),
        "insert or update on table \"child\" violates foreign key constraint \"child_pid_fkey\""
    );
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("Key (pid)=(9) is not present in table \"parent\".")
    );
    let error = s
        .query("DELETE FROM parent WHERE id = 1")
        .expect_err("the child is there");
    assert_eq!(
        error.message(),
        "update or delete on table \"parent\" violates foreign key constraint \"child_pid_fkey\" on table \"child\""
    );
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("Key (id)=(1) is still referenced from table \"child\".")
    );
    run(
        &mut s,
        "INSERT INTO child VALUES (3, NULL); DELETE FROM parent WHERE id = 2",
    );
    run(&mut s, "UPDATE parent SET note = 'x' WHERE id = 1");
    assert!(s.query("UPDATE parent SET id = 5 WHERE id = 1").is_err());
    run(
        &mut s,
        "CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree)",
    );
    run(&mut s, "INSERT INTO tree VALUES (2, 1), (1, NULL), (3, 3)");
}

#[test]
fn referential_actions() {
    let database = database();
    let mut s = session(&database);
    run(
        &mut s,
        "CREATE TABLE p (id int PRIMARY KEY);
         CREATE TABLE c (id int PRIMARY KEY, a int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE,
                         b int DEFAULT 3 REFERENCES p ON DELETE SET NULL, d int DEFAULT 3 REFERENCES p ON DELETE SET DEFAULT);
         CREATE TABLE g (id int PRIMARY KEY, c int REFERENCES c ON DELETE CASCADE);
         INSERT INTO p VALUES (1), (2), (3); INSERT INTO c VALUES (1, 1, 2, 2), (2, 2, 1, 1); INSERT INTO g VALUES (1, 1)",
    );
    run(
        &mut s,
        "UPDATE p SET id = 10 WHERE id = 3 AND false; DELETE FROM p WHERE id = 1",
    );
    assert_eq!(shown(&mut s, "SELECT * FROM c"), "2|2|~|3");
    assert_eq!(shown(&mut s, "SELECT count(*) FROM g"), "0");
    run(&mut s, "UPDATE p SET id = 20 WHERE id = 2");
    assert_eq!(shown(&mut s, "SELECT * FROM c"), "2|20|~|3");
}

#[test]
fn fk_contention_a_child_waits_for_the_parents_delete() {
    let database = family();
    let (mut s1, s2) = (session(&database), session(&database));
    run(&mut s1, "BEGIN; DELETE FROM parent WHERE id = 2");
    let waiting = start(s2, "INSERT INTO child VALUES (5, 2)");
    run(&mut s1, "COMMIT");
    assert!(waiting.finish().1.starts_with("!23503"));
}

#[test]
fn fk_contention_a_parents_delete_waits_for_the_child() {
    let database = family();
    let (mut s1, s2) = (session(&database), session(&database));
    run(&mut s1, "BEGIN; INSERT INTO child VALUES (5, 2)");
    let waiting = start(s2, "DELETE FROM parent WHERE id = 2");
    run(&mut s1, "COMMIT");
    assert!(waiting.finish().1.starts_with("!23503"));
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(&mut s1, "BEGIN; INSERT INTO child VALUES (6, 2)");
    // An update that leaves the key alone does not meet KEY SHARE.
    run(&mut s2, "UPDATE parent SET note = 'seen' WHERE id = 2");
    run(&mut s1, "COMMIT");
}

#[test]
fn violations_name_the_row() {
    let database = database();
    let mut s = session(&database);
    run(
        &mut s,
        "CREATE TABLE t (a int NOT NULL, b text, CONSTRAINT small CHECK (a < 10))",
    );
    let error = s
        .query("INSERT INTO t VALUES (NULL, 'x')")
        .expect_err("a is NOT NULL");
    assert_eq!(
        error.message(),
        "null value in column \"a\" of relation \"t\" violates not-null constraint"
    );
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("Failing row contains (null, x).")
    );
    let error = s.query("INSERT INTO t VALUES (11)").expect_err("a is small");
    assert_eq!(
        error.message(),
        "new row for relation \"t\" violates check constraint \"small\""
    );
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("Failing row contains (11, null).")
    );
    run(&mut s, "INSERT INTO t VALUES (1, 'x')");
    assert!(s.query("UPDATE t SET a = NULL").is_err());
    assert!(s.query("UPDATE t SET a = a + 9").is_err());
    assert_eq!(shown(&mut s, "UPDATE t SET b = b || a RETURNING a, b"), "1|x1");
}

/// The referencing row that is in flight looks for its key after the delete, and finds it gone: nobody waits in a circle.
#[test]
fn a_deferred_child_does_not_stop_the_delete_of_its_parent() {
    for index in ["", "CREATE INDEX ON child (p);"] {
        for level in ["READ COMMITTED", "REPEATABLE READ"] {
            let database = database();
            let (mut s1, mut s2) = (session(&database), session(&database));
            run(
                &mut s1,
                "CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1), (2);
                 CREATE TABLE child (p int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
            );
            run(&mut s1, index);
            run(&mut s1, "BEGIN; INSERT INTO child VALUES (1)");
            run(&mut s2, &format!("BEGIN ISOLATION LEVEL {level}; SELECT 1"));
            run(&mut s2, "DELETE FROM parent WHERE id = 1");
            let waiting = start(s1, "COMMIT");
            run(&mut s2, "COMMIT");
            let (mut s1, result) = waiting.finish();
            assert_eq!(
                result,
                "!23503 insert or update on table \"child\" violates foreign key constraint \"child_p_fkey\""
            );
            // The other way round: the child is checked first, and its key stays.
            run(
                &mut s1,
                "BEGIN; INSERT INTO child VALUES (2); SET CONSTRAINTS ALL IMMEDIATE",
            );
            let waiting = start(s2, "DELETE FROM parent WHERE id = 2");
            run(&mut s1, "COMMIT");
            let (_, result) = waiting.finish();
            assert_eq!(
                result,
                "!23503 update or delete on table \"parent\" violates foreign key constraint \"child_p_fkey\" on table \"child\""
            );
        }
    }
}

#[test]
fn of_two_deferred_equal_keys_the_second_waits_at_its_commit() {
    let database = database();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "CREATE TABLE k (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)",
    );
    for (end, expected) in [
        ("ROLLBACK", ""),
        (
            "COMMIT",
            "!23505 duplicate key value violates unique constraint \"k_pkey\"",
        ),
    ] {
        run(&mut s1, "DELETE FROM k; BEGIN; INSERT INTO k VALUES (1)");
        run(&mut s2, "BEGIN; INSERT INTO k VALUES (1)");
        let waiting = start(s2, "COMMIT");
        run(&mut s1, end);
        let result;
        (s2, result) = waiting.finish();
        assert_eq!(result, expected);
        assert_eq!(shown(&mut s1, "SELECT * FROM k"), "1");
    }
}

/// What SERIALIZABLE learnt from a key that was taken has to hold at its commit.
#[test]
fn deferred_checks_hold_in_serializable_transactions() {
    let database = database();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "CREATE TABLE k (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v int); INSERT INTO k VALUES (1, 0)",
    );
    run(
        &mut s2,
        "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM k WHERE id = 2; INSERT INTO k VALUES (1, 1)",
    );
    run(&mut s1, "DELETE FROM k WHERE id = 1; INSERT INTO k VALUES (2, 0)");
    let ended = shown(&mut s2, "COMMIT");
    assert!(ended.starts_with("!40001"), "{ended}");
    assert_eq!(shown(&mut s1, "SELECT id FROM k"), "2");
}

#[test]
fn deferred_checks_run_before_a_transaction_is_prepared() {
    let database = database();
    let mut s1 = session(&database);
    run(
        &mut s1,
        "CREATE TABLE parent (id int PRIMARY KEY);
         CREATE TABLE child (p int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
    );
    run(&mut s1, "BEGIN; INSERT INTO child VALUES (1)");
    let ended = shown(&mut s1, "PREPARE TRANSACTION 'a'");
    assert!(ended.starts_with("!23503"), "{ended}");
    run(
        &mut s1,
        "BEGIN; INSERT INTO child VALUES (1); INSERT INTO parent VALUES (1)",
    );
    run(&mut s1, "PREPARE TRANSACTION 'a'");
    run(&mut s1, "COMMIT PREPARED 'a'");
    assert_eq!(shown(&mut s1, "SELECT * FROM child"), "1");
}

#[test]
fn what_waits_for_the_end_of_a_transaction_is_bounded() {
    let database = database();
    let mut s1 = session(&database);
    run(
        &mut s1,
        "CREATE TABLE child (p int REFERENCES child (id) DEFERRABLE INITIALLY DEFERRED, id int UNIQUE);
         SET work_mem = '64kB'",
    );
    run(&mut s1, "BEGIN");
    let refused = shown(
        &mut s1,
        "INSERT INTO child SELECT n + 1, n FROM generate_series(1, 5000) n",
    );
    assert!(refused.starts_with("!53200"), "{refused}");
    run(&mut s1, "ROLLBACK");
    run(
        &mut s1,
        "INSERT INTO child SELECT n, n FROM generate_series(1, 100) n",
    );
}

#[test]
fn a_change_of_an_object_that_was_dropped_meanwhile_does_not_find_it() {
    let cases = [
        (
            "CREATE SCHEMA s",
            "DROP SCHEMA s",
            "COMMENT ON SCHEMA s IS 'late'",
            "!3F000 schema \"s\" does not exist",
        ),
        (
            "CREATE ROLE r",
            "DROP ROLE r",
            "ALTER ROLE r CREATEDB",
            "!42704 role \"r\" does not exist",
        ),
        (
            "CREATE VIEW v AS SELECT 1",
            "DROP VIEW v",
            "COMMENT ON VIEW v IS 'late'",
            "!42P01 relation \"v\" does not exist",
        ),
    ];
    for (create, drop, change, expected) in cases {
        let database = database();
        let (mut s1, s2) = (session(&database), session(&database));
        run(&mut s1, create);
        run(&mut s1, "BEGIN");
        run(&mut s1, drop);
        let waiting = start(s2, change);
        run(&mut s1, "COMMIT");
        assert_eq!(waiting.finish().1, expected, "{change}");
    }
}

#[test]
fn two_changes_of_one_object_are_not_folded_into_one() {
    let database = database();
    let (mut s1, s2) = (session(&database), session(&database));
    run(&mut s1, "CREATE SCHEMA s; CREATE ROLE a; CREATE ROLE b");
    run(&mut s1, "BEGIN; GRANT USAGE ON SCHEMA s TO a");
    let waiting = start(s2, "GRANT USAGE ON SCHEMA s TO b");
    run(&mut s1, "COMMIT");
    let (s2, answer) = waiting.finish();
    assert_eq!(answer, "", "grants wait for each other");
    run(&mut s1, "BEGIN; ALTER ROLE a CREATEDB");
    let waiting = start(s2, "COMMENT ON ROLE a IS 'late'");
    run(&mut s1, "COMMIT");
    let (mut s2, answer) = waiting.finish();
    assert_eq!(answer, "!XX000 tuple concurrently updated");
    let facts = "SELECT has_schema_privilege('a', 's', 'USAGE'), has_schema_privilege('b', 's', 'USAGE'),
                 (SELECT rolcreatedb FROM pg_roles WHERE rolname = 'a')";
    assert_eq!(shown(&mut s2, facts), "t|t|t");
}

#[test]
fn a_snapshot_older_than_an_index_is_not_answered_from_it() {
    let database = database();
    let (mut s1, mut s2) = (session(&database), session(&database));
    run(
        &mut s1,
        "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, g FROM generate_series(1, 2000) g",
    );
    run(&mut s1, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(shown(&mut s1, "SELECT v FROM t WHERE id = 1"), "1");
    // The index holds the new key alone; the old snapshot sees the row under the old one.
    run(&mut s2, "UPDATE t SET v = 5000 WHERE id = 7");
    run(&mut s2, "CREATE INDEX ON t (v)");
    let answer = shown(&mut s1, "SELECT id FROM t WHERE v = 7");
    assert!(answer == "7" || answer.starts_with("!40001"), "{answer}");
    run(&mut s1, "ROLLBACK");
    run(&mut s1, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(shown(&mut s1, "SELECT id FROM t WHERE v = 7"), "");
    assert_eq!(shown(&mut s1, "SELECT id FROM t WHERE v = 5000"), "7");
    run(&mut s1, "ROLLBACK");
}
