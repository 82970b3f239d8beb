//! pg_stat_statements, compared with a real PostgreSQL 15 that has loaded it; counts of many sessions; numbers of statements
//! in EXPLAIN and pg_stat_activity.

use std::process::Command;

use mote_it::TestServer;
use mote_it::clients::{client, psql_strict, run_with_input};
use mote_it::postgres::PostgresServer;
use mote_it::wire::{RawClient, error};

/// Everything but times, which no two servers have in common.
const SCRIPT: &str = include_str!("statement_statistics.sql");

#[test]
fn statistics_are_those_of_postgresql() {
    let server = TestServer::start("statement-statistics");
    let postgres = PostgresServer::start_with("-c shared_preload_libraries=pg_stat_statements");
    let advice = "install postgresql-client";
    let mut own = client("psql", &server);
    let mut other = Command::new("psql");
    other.arg(postgres.url());
    let [own, other] = [&mut own, &mut other].map(|psql| run_with_input(psql.arg("-X"), SCRIPT, advice));
    assert!(own.out.contains("select * from t where a = $1"), "{}", own.out);
    for (own, other) in own.out.lines().zip(other.out.lines()) {
        assert_eq!(own.trim_end(), other.trim_end());
    }
    assert_eq!(own.out.lines().count(), other.out.lines().count());
    assert_eq!(own.err, other.err);
}

/// Every run of every session counts, whichever thread it ran on, and none where no database has the extension.
#[test]
fn no_run_is_lost_and_none_is_counted_without_the_extension() {
    const SESSIONS: usize = 4;
    const RUNS: usize = 250;
    let server = TestServer::start("statement-counts");
    psql_strict(&server, "create table t (a int primary key, b int); insert into t select n, 0 from generate_series(1, 100) n;")
        .good();
    let storm = || {
        std::thread::scope(|scope| {
            for session in 0..SESSIONS {
                let server = &server;
                scope.spawn(move || {
                    let mut client = RawClient::connect(server);
                    for run in 0..RUNS {
                        let text =
                            format!("update t set b = b + 1 where a = {}", session * 20 + run % 20 + 1);
                        assert_eq!(error(&client.query(&text)), None);
                    }
                });
            }
        });
    };
    storm();
    let mut observer = RawClient::connect(&server);
    assert_eq!(
        error(&observer.query("create extension pg_stat_statements")),
        None
    );
    let counts = "select calls || ' ' || rows from pg_stat_statements where query like 'update t set%'";
    assert!(observer.rows(counts).is_empty());
    storm();
    assert_eq!(observer.rows(counts), [format!("{0} {0}", SESSIONS * RUNS)]);
    let spread = "select min_exec_time <= mean_exec_time and mean_exec_time <= max_exec_time
         and abs(mean_exec_time * calls - total_exec_time) < 1e-6 * total_exec_time and stddev_exec_time > 0
         from pg_stat_statements where query like 'update t set%'";
    assert_eq!(observer.rows(spread), ["t"]);
    observer.query("drop extension pg_stat_statements");
    storm();
    observer.query("create extension pg_stat_statements");
    assert_eq!(observer.rows(counts), [format!("{0} {0}", SESSIONS * RUNS)]);
}

/// The number is that of the statement itself, and does not depend on constants.
#[test]
fn numbers_of_statements() {
    let server = TestServer::start("statement-numbers");
    let mut client = RawClient::connect(&server);
    client.query("create table t (a int); create schema s; create table s.t (a int)");
    let explain = "explain (verbose, costs off) select * from t where a = 7";
    let number = |lines: Vec<String>| -> Option<i64> {
        let line = lines
            .iter()
            .find_map(|line| line.strip_prefix("Query Identifier: ").map(str::to_owned));
        line.map(|number| number.parse().expect("a number"))
    };
    assert_eq!(number(client.rows(explain)), None);
    client.query("create extension pg_stat_statements");
    client.query("select * from t where a = 5");
    let shown = number(client.rows(explain)).expect("statements have numbers");
    let kept = "select queryid from pg_stat_statements where query = 'select * from t where a = $1'";
    assert_eq!(client.rows(kept), [shown.to_string()]);
    // The same words are another statement where they mean another table.
    client.query("set search_path = s, public");
    assert_ne!(number(client.rows(explain)), Some(shown));
    client.query("reset search_path");
    let own =
        "select query_id = (select queryid from pg_stat_statements where query like 'select query_id = (%')
         from pg_stat_activity where pid = pg_backend_pid()";
    client.rows(own);
    assert_eq!(client.rows(own), ["t"]);
    client.query("set compute_query_id = regress");
    assert_eq!(number(client.rows(explain)), None);
    client.query("set compute_query_id = off");
    let none = "select query_id is null from pg_stat_activity where pid = pg_backend_pid()";
    assert_eq!(client.rows(none), ["t"]);
    client.query("drop extension pg_stat_statements");
    assert!(
        number(client.rows("set compute_query_id = on; explain (verbose, costs off) select * from t"))
            .is_some()
    );
}
