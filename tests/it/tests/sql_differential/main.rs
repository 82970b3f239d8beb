//! The same SQL on mote and on a real PostgreSQL 15, through psql, compared statement by statement: rows, column
//! names, command tags, SQLSTATEs, messages, details, hints, positions.
//!
//! The corpus stands in `scripts/`, one file per subject, each run in a new database. A statement begins on a line of
//! its own and ends with the line that ends in `;`. A comment line `-- differs: REASON` before a statement says that
//! mote decided otherwise (COMPAT.md); such a statement must differ, so that the list cannot outlive its reasons.
//! `-- differs: known defect: REASON` says that mote is wrong and that the statement waits for its repair;
//! `known defect: panics: REASON` that the server panics there, as often as there are such marks and no oftener.
//!
//! PostgreSQL 15 itself changes from one minor release to the next. `-- since 15.20: REASON` says that mote does what
//! PostgreSQL does from that release on: an older server may answer the statement otherwise, a server of that release
//! or a later one must not. `-- until 15.20: REASON` is the other way round: mote does what PostgreSQL did before.
//! The report of a failure names the release that mote was compared with.
//! `MOTE_IT_SCRIPT=joins` runs one script. Plans (EXPLAIN) are not compared.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mote_it::TestServer;
use mote_it::clients::{client, run_with_input};
use mote_it::postgres::PostgresServer;
use mote_it::releases::Releases;

/// Marks the place in psql's output where a statement's answer begins.
const MARK: &str = "@@statement ";
/// How the reason of a statement begins at which the server panics.
const PANICS: &str = "known defect: panics: ";
/// Scripts under way at a time.
const THREADS: usize = 2;

struct Statement {
    line: usize,
    text: String,
    /// Why mote differs here.
    differs: Option<String>,
    /// The releases of PostgreSQL 15 that answer as mote does, where not all do.
    releases: Option<Releases>,
}

/// From the text behind `-- `: the mark of a minor release, if it is one.
fn releases_of(comment: &str) -> Option<Releases> {
    let (mark, reason) = comment.split_once(": ")?;
    let releases = Releases::parse(mark)?;
    assert!(!reason.trim().is_empty(), "a mark without a reason: {comment}");
    Some(releases)
}

fn statements(script: &str) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut open = false;
    let mut reason = None;
    let mut releases = None;
    for (index, line) in script.lines().enumerate() {
        if !open {
            if let Some(text) = line.strip_prefix("-- differs: ") {
                reason = Some(text.to_string());
                continue;
            }
            if let Some(mark) = line.strip_prefix("-- ").and_then(releases_of) {
                releases = Some(mark);
                continue;
            }
            if line.trim().is_empty() || line.starts_with("-- ") {
                continue;
            }
            statements.push(Statement {
                line: index + 1,
                text: String::new(),
                differs: reason.take(),
                releases: releases.take(),
            });
        }
        let statement = statements.last_mut().expect("pushed above");
        statement.text.push_str(line);
        statement.text.push('\n');
        // A line for psql itself, such as `\c - somebody`, is whole; a body in dollars ends where they end.
        let quoted = statement.text.matches("$$").count() % 2 == 1;
        open = quoted || (!line.trim_end().ends_with(';') && !line.starts_with('\\'));
    }
    statements
}

/// What each statement printed: results and errors in the order they came.
fn answers(server: &TestServer, statements: &[Statement]) -> Vec<String> {
    let mut input = String::from("\\set VERBOSITY verbose\n\\pset null '<NULL>'\n");
    for (number, statement) in statements.iter().enumerate() {
        let _ = write!(input, "\\echo {MARK}{number}\n{}", statement.text);
    }
    // One stream for both, as in PostgreSQL's own regression tests: psql flushes one before it writes to the other.
    let mut command = client("sh", server);
    command.args(["-c", "exec psql -X -q 2>&1"]).env("PGTZ", "UTC");
    let said = run_with_input(&mut command, &input, "install postgresql-client");
    let mut answers = vec![String::new(); statements.len()];
    let mut current: Option<usize> = None;
    for line in said.out.lines() {
        if let Some(number) = line.strip_prefix(MARK) {
            current = number.parse().ok();
        } else if let Some(number) = current
            // Where in PostgreSQL's source an error was raised.
            && !line.starts_with("LOCATION:  ")
        {
            let _ = writeln!(answers[number], "{}", without_session_number(line.trim_end()));
        }
    }
    answers
}

/// `pg_temp_7`, the schema of the seventh session, is `pg_temp_N` in every answer.
fn without_session_number(line: &str) -> String {
    const SCHEMA: &str = "pg_temp_";
    let mut parts = line.split(SCHEMA);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let _ = write!(
            out,
            "{SCHEMA}{}{rest}",
            if rest.len() < part.len() { "N" } else { "" }
        );
    }
    out
}

/// What is wrong with a script, empty if nothing.
fn compare(path: &Path, postgres: &PostgresServer, minor: u32) -> String {
    let name = path
        .file_stem()
        .expect("a file has a name")
        .to_string_lossy()
        .into_owned();
    let statements = statements(&std::fs::read_to_string(path).expect("the corpus can be read"));
    let expected = answers(&TestServer::in_server(&postgres.url()), &statements);
    let mut server = TestServer::start(&format!("differential-{name}"));
    let got = answers(&server, &statements);
    let mut report = String::new();
    let mut place = |statement: &Statement, what: &str| {
        let _ = write!(
            report,
            "\n=== {name}.sql:{}: {what}\n{}",
            statement.line, statement.text
        );
    };
    for ((statement, expected), got) in statements.iter().zip(&expected).zip(&got) {
        let comparable = statement
            .releases
            .is_none_or(|releases| mote_it::server::is_oracle() || releases.hold(minor));
        match (expected == got, &statement.differs) {
            (_, None) if !comparable => {}
            (true, None) => {}
            (false, Some(_)) => {}
            (true, Some(_)) if mote_it::server::is_oracle() => {}
            (true, Some(reason)) => place(
                statement,
                &format!("does not differ any more, although: {reason}"),
            ),
            (false, None) => place(
                statement,
                &format!("differs\n--- PostgreSQL 15.{minor}\n{expected}--- mote\n{got}--- by"),
            ),
        }
    }
    if !server.is_running() {
        let _ = write!(report, "\n=== {name}.sql: the server ended:\n{}", server.log());
    } else if !mote_it::server::is_oracle() {
        let marked = |s: &&Statement| s.differs.as_ref().is_some_and(|r| r.starts_with(PANICS));
        let known = statements.iter().filter(marked).count();
        let panics = server.log().matches("panicked at").count();
        if panics != known {
            let _ = write!(
                report,
                "\n=== {name}.sql: the server panicked {panics} times, not {known}:\n{}",
                server.log()
            );
        }
    }
    report
}

#[test]
fn corpus() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql_differential/scripts");
    let chosen = std::env::var("MOTE_IT_SCRIPT").ok();
    let entries = std::fs::read_dir(&directory).expect("the corpus is there");
    let mut scripts: Vec<PathBuf> = entries
        .map(|e| e.expect("the corpus can be listed").path())
        .collect();
    scripts.sort();
    scripts.retain(|path| {
        chosen
            .as_deref()
            .is_none_or(|name| path.file_stem().is_some_and(|stem| stem == name))
    });
    assert!(!scripts.is_empty(), "no script");
    let postgres = PostgresServer::start();
    let minor = postgres.minor_release();
    let queue = Mutex::new(scripts.into_iter());
    let reports = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no panic while held").next();
                    let Some(script) = next else { break };
                    let report = compare(&script, &postgres, minor);
                    if !report.is_empty() {
                        reports.lock().expect("no panic while held").push(report);
                    }
                }
            });
        }
    });
    let mut reports = reports.into_inner().expect("no panic while held");
    reports.sort();
    let count: usize = reports.iter().map(|r| r.matches("\n=== ").count()).sum();
    assert!(
        reports.is_empty(),
        "{count} statements differ from PostgreSQL 15.{minor}; where a minor release changed an answer, follow the newest \
         and say so with `-- since 15.N: REASON`\n{}",
        reports.concat()
    );
}
