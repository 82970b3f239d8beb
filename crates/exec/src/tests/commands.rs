//! Definitions against PostgreSQL 15: each script in `tests/` ran through psql (verbose messages, unaligned rows without
//! headers; lines about source places left out), and what it printed is what a session here must say.

mod hash_index;
mod view_texts;
#[cfg(debug_assertions)]
mod visits;

use mote_types::FormatSettings;
use mote_types::format::output_to_string;

use crate::embedded::{LocalSession, Outcome};
use crate::tests::support::session;
use mote_catalog::tag::CommandTag;

/// What psql shows for one statement.
fn shown(session: &mut LocalSession, number: usize, statement: &str) -> String {
    let mut out = format!("> {statement}\n");
    // The number keeps texts apart: cached plans have tests of their own.
    let result = session.query(&format!("{statement} -- {number}"));
    for notice in session.take_notices() {
        out += &message(notice.fields().severity.as_str(), &notice);
    }
    match result {
        Ok(outcomes) => outcomes.iter().for_each(|outcome| out += &rows(outcome)),
        Err(error) => out += &message("ERROR", &error),
    }
    out
}

fn message(severity: &str, error: &mote_common::SqlError) -> String {
    let fields = error.fields();
    let mut out = format!("{severity}:  {}: {}\n", fields.state, fields.message);
    for (name, text) in [
        ("DETAIL", &fields.detail),
        ("HINT", &fields.hint),
        ("CONTEXT", &fields.context),
    ] {
        if let Some(text) = text {
            out += &format!("{name}:  {text}\n");
        }
    }
    out
}

fn rows(outcome: &Outcome) -> String {
    let mut out = String::new();
    for row in &outcome.rows {
        let cell = |(value, column): (&mote_types::Datum, &mote_planner::plan::OutputColumn)| {
            if value.is_null() {
                String::new()
            } else {
                output_to_string(value, column.ty, &FormatSettings::default())
            }
        };
        let cells: Vec<String> = row.iter().zip(&outcome.columns).map(cell).collect();
        out += &format!("{}\n", cells.join("|"));
    }
    out += &String::from_utf8_lossy(&outcome.copied_out);
    match outcome.tag {
        None | Some(CommandTag::Select(_)) => {}
        Some(CommandTag::Copy(_)) if !outcome.copied_out.is_empty() => {}
        Some(tag) => out += &format!("{tag}\n"),
    }
    out
}

fn compare(script: &str, expected: &str) {
    let mut session = session();
    let statements = script.lines().enumerate();
    let found: String = statements
        .map(|(number, statement)| shown(&mut session, number, statement))
        .collect();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of the expected output", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

#[test]
fn definitions() {
    compare(
        include_str!("commands/definitions.sql"),
        include_str!("commands/definitions.out"),
    );
}

#[test]
fn changes() {
    compare(
        include_str!("commands/changes.sql"),
        include_str!("commands/changes.out"),
    );
}

#[test]
fn dependents() {
    compare(
        include_str!("commands/dependents.sql"),
        include_str!("commands/dependents.out"),
    );
}

/// Statements that fail must say so with this SQLSTATE.
fn refused(session: &mut LocalSession, statement: &str, code: &str) {
    let error = session.query(statement).expect_err(statement);
    assert_eq!(error.state().as_str(), code, "{statement}: {}", error.message());
}

#[test]
fn privileges_of_others() {
    let database = crate::tests::support::database();
    let open = |user: &str| LocalSession::open(&database, user, "postgres").expect("the role may log in");
    let mut owner = open("postgres");
    owner
        .query("CREATE USER ann; CREATE USER bob; CREATE ROLE staff; GRANT staff TO ann")
        .expect("roles");
    owner
        .query("CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; CREATE SCHEMA s")
        .expect("objects");
    owner
        .query("CREATE TABLE s.t (a int); GRANT ALL ON s.t TO ann")
        .expect("objects");
    let (mut ann, mut bob) = (open("ann"), open("bob"));
    refused(&mut ann, "SELECT * FROM t", "42501");
    refused(&mut ann, "SELECT * FROM s.t", "42501");
    refused(&mut ann, "CREATE TABLE public.mine (a int)", "42501");
    refused(&mut ann, "DROP TABLE t", "42501");
    refused(&mut ann, "CREATE ROLE x", "42501");
    refused(&mut ann, "COPY t FROM STDIN", "42501");
    refused(&mut ann, "TRUNCATE t", "42501");
    owner
        .query("GRANT SELECT ON v TO PUBLIC; GRANT SELECT, INSERT ON t TO staff WITH GRANT OPTION")
        .expect("grant");
    owner.query("GRANT USAGE ON SCHEMA s TO ann").expect("grant");
    ann.query("INSERT INTO t VALUES (1); SELECT * FROM t; SELECT * FROM s.t")
        .expect("granted");
    assert_eq!(
        bob.rows("SELECT * FROM v").expect("the view's owner may"),
        [[Some("1".to_string())]]
    );
    refused(&mut bob, "SELECT * FROM t", "42501");
    refused(&mut bob, "GRANT SELECT ON t TO bob", "42501");
    ann.query("GRANT SELECT ON t TO bob").expect("with grant option");
    bob.query("SELECT * FROM t").expect("granted on");
    owner.query("REVOKE staff FROM ann").expect("revoke");
    refused(&mut ann, "INSERT INTO t VALUES (2)", "42501");
    owner.query("GRANT CREATE ON SCHEMA s TO ann").expect("grant");
    ann.query("CREATE TABLE s.mine (a int); ALTER TABLE s.mine ADD b int; DROP TABLE s.mine")
        .expect("own table");
    refused(&mut bob, "ALTER ROLE ann PASSWORD 'x'", "42501");
    bob.query("ALTER ROLE bob PASSWORD 'x'")
        .expect("one's own password");
}

#[test]
fn databases_have_their_own_schemas() {
    let database = crate::tests::support::database();
    let mut first = LocalSession::open(&database, "postgres", "postgres").expect("a session");
    first.query("CREATE DATABASE other").expect("create");
    first
        .query("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        .expect("table");
    refused(&mut first, "CREATE DATABASE other", "42P04");
    refused(&mut first, "DROP DATABASE postgres", "55006");
    let mut second = LocalSession::open(&database, "postgres", "other").expect("a session");
    refused(&mut second, "SELECT * FROM t", "42P01");
    second
        .query("CREATE TABLE t (b text); CREATE TABLE u (a serial)")
        .expect("table");
    assert_eq!(
        first.rows("SELECT a FROM t").expect("rows"),
        [[Some("1".to_string())]]
    );
    drop(second);
    first.query("DROP DATABASE other").expect("drop");
    assert!(LocalSession::open(&database, "postgres", "other").is_err());
    refused(&mut first, "DROP DATABASE other", "3D000");
    refused(&mut first, "BEGIN; CREATE DATABASE x", "25001");
}

/// What the text of a default names is in its own database, whatever has the name in another.
#[test]
fn databases_have_their_own_sequences_and_functions() {
    let database = crate::tests::support::database();
    let mut first = LocalSession::open(&database, "postgres", "postgres").expect("a session");
    first.query("CREATE DATABASE other").expect("create");
    let mut second = LocalSession::open(&database, "postgres", "other").expect("a session");
    for session in [&mut first, &mut second] {
        session
            .query(
                "CREATE TABLE t (a serial, b int); CREATE TABLE u (a serial);
                 CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 7'; CREATE TABLE w (a int DEFAULT f(), CHECK (a = f()))",
            )
            .expect("tables");
    }
    second
        .query("ALTER SEQUENCE t_a_seq RENAME TO s; INSERT INTO t (b) VALUES (1)")
        .expect("its default follows it");
    second
        .query("DROP TABLE t")
        .expect("nobody here reads its sequence");
    second.query("DROP TABLE u CASCADE").expect("drop");
    second
        .query("DROP TABLE w; DROP FUNCTION f()")
        .expect("nobody here calls it");
    first
        .query("INSERT INTO t (b) VALUES (2); INSERT INTO u DEFAULT VALUES; INSERT INTO w DEFAULT VALUES")
        .expect("the defaults here are as they were");
    let rows = first.rows("SELECT t.a, u.a FROM t, u").expect("rows");
    assert_eq!(rows, [[Some("1".to_string()), Some("1".to_string())]]);
    drop(second);
}

#[test]
fn definitions_survive_a_restart() {
    use mote_common::env::sim::{SimDisk, env};
    let disk = SimDisk::new(7);
    let open = |disk: &SimDisk| {
        let config = mote_engine::EngineConfig {
            memory_limit_bytes: 256 << 20,
            ..Default::default()
        };
        mote_catalog::database::Database::open_in(
            env(disk, 7).0,
            config,
            &Default::default(),
            &mote_executor::index_keys::EVALUATION,
        )
        .expect("opens")
    };
    let database = open(&disk);
    let mut session = LocalSession::open(&database, "postgres", "postgres").expect("a session");
    session
        .query(
            "CREATE TABLE t (a serial PRIMARY KEY, b varchar(9), c int GENERATED ALWAYS AS (a * 2) STORED);
             INSERT INTO t (b) VALUES ('x'), ('y');
             ALTER TABLE t ADD d int DEFAULT 4; ALTER TABLE t ADD e int DEFAULT 5;
             ALTER TABLE t ALTER b TYPE text; CREATE VIEW v AS SELECT * FROM t; ALTER TABLE t RENAME TO u",
        )
        .expect("definitions");
    let before = session.rows("SELECT * FROM v ORDER BY a").expect("rows before");
    drop(session);
    database.close();
    drop(database);
    let database = open(&disk);
    let mut session = LocalSession::open(&database, "postgres", "postgres").expect("a session");
    assert_eq!(session.rows("SELECT * FROM v ORDER BY a").expect("rows"), before);
    assert_eq!(
        before[0],
        ["1", "x", "2", "4", "5"].map(|text| Some(text.to_string()))
    );
    let next = session
        .rows("INSERT INTO u (b) VALUES ('z') RETURNING a, c, d")
        .expect("insert");
    let next: i64 = next[0][0].as_deref().expect("a value").parse().expect("a number");
    assert!(next > 2, "a number is never handed out twice");
}
