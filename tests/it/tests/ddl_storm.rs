//! Transactional DDL under concurrency: several sessions create, alter, drop, truncate, index, write and roll back at the
//! same time, the server is killed in between, and the catalog must always be what the rows say it is.
//!
//! Each change of the schema goes with a row of `slots` in one transaction: whatever exists is marked there, whatever does
//! not is not. `pile` is filled and truncated together with its counter. Statements that read while others change the
//! table may fail only as PostgreSQL's would.

use std::time::Duration;

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::clients::{psql, psql_strict};
use mote_it::server::TemporaryDirectory;
use mote_it::storm::Storm;
use tokio_postgres::Client;
use tokio_postgres::error::DbError;

const LIVES: u64 = 5;
const SESSIONS: u64 = 4;
const SLOTS: u64 = 4;
/// In each life, at least.
const COMMITS: u64 = 25;
/// What somebody may be told whose statement met a change: the object exists already or not (any more), a deadlock, a
/// plan that went stale, a wait that took too long, and a catalog row that somebody else deleted meanwhile.
const EXPECTED: [&str; 9] = [
    "42P07", "42P01", "42701", "42703", "42704", "40P01", "0A000", "55P03", "40001",
];

#[test]
fn the_catalog_is_what_the_rows_say() {
    let seed = mote_common::env::real::entropy_u64();
    eprintln!("seed {seed}");
    let directory = TemporaryDirectory::new("ddl-storm");
    let data = directory.path().join("data");
    let open = || TestServer::open(&data, &[]).unwrap_or_else(|said| panic!("no start: {said}"));
    let mut server = open();
    psql_strict(
        &server,
        &format!(
            "create table slots (name text primary key, present boolean not null);
             insert into slots select k || g, false from unnest(array['t', 'c', 'i']) k, generate_series(0, {SLOTS} - 1) g;
             create table base (id int primary key, v int not null);
             insert into base select g, 0 from generate_series(1, 100) g;
             create table pile (id bigint);
             create table counter (n bigint not null);
             insert into counter values (0);"
        ),
    )
    .good();
    let storm = Storm::default();
    let mut prng = Prng::new(seed);
    for life in 0..LIVES {
        let lasts = Duration::from_millis(700 + prng.below(500));
        storm.until_killed(server, SESSIONS, lasts, COMMITS, async |session, client| {
            let mut prng = Prng::fork(seed, life * SESSIONS + session);
            storm_until_killed(&storm, &client, &mut prng).await
        });
        server = open();
        check(&server);
        storm.assert_no_surprise(seed);
    }
    let committed = storm.committed();
    assert!(committed > 100, "only {committed} transactions committed");
}

/// Names that `query` gives, one a line.
fn names(server: &TestServer, query: &str) -> Vec<String> {
    let said = psql(server, query).good();
    said.lines().map(|line| line.trim().to_string()).collect()
}

fn check(server: &TestServer) {
    let marked = |kind: &str| {
        names(
            server,
            &format!("select name from slots where present and name like '{kind}%' order by 1"),
        )
    };
    let tables = "select relname from pg_class where relkind = 'r' and relname ~ '^t[0-9]$' order by 1";
    assert_eq!(names(server, tables), marked("t"));
    let columns = "select attname from pg_attribute where attrelid = 'base'::regclass and not attisdropped
                   and attname ~ '^c[0-9]$' order by 1";
    assert_eq!(names(server, columns), marked("c"));
    let indexes = "select relname from pg_class where relkind = 'i' and relname ~ '^i[0-9]$' order by 1";
    assert_eq!(names(server, indexes), marked("i"));
    assert_eq!(
        names(server, "select count(*) from pile"),
        names(server, "select n from counter")
    );
    // Every way to the rows finds the same ones.
    assert_eq!(
        names(server, "select count(*), sum(v) from base where v >= 0"),
        names(server, "select count(*), sum(v + 0) from base where id + 0 > 0")
    );
    for table in marked("t") {
        psql_strict(server, &format!("select count(*) from {table}")).good();
    }
}

async fn storm_until_killed(
    storm: &Storm,
    client: &Client,
    prng: &mut Prng,
) -> Result<(), tokio_postgres::Error> {
    let may_fail = |told: &DbError| EXPECTED.contains(&told.code().code());
    client.batch_execute("set lock_timeout = '2s'").await?;
    // A plan of long standing, which must follow every change.
    let cached = client.prepare("select * from base where id = $1").await?;
    while !storm.is_over() {
        if prng.chance(1, 4) {
            let id = 1 + prng.below(100) as i32;
            let outcome = client.query(&cached, &[&id]).await.map(|_| ());
            storm.note(outcome, may_fail)?;
            continue;
        }
        let done = transaction(client, prng).await;
        if storm.note(done, may_fail)? {
            storm.count_commit();
        } else {
            client.batch_execute("rollback").await?;
        }
    }
    Ok(())
}

/// Some changes, each with its mark, and then COMMIT or ROLLBACK.
async fn transaction(client: &Client, prng: &mut Prng) -> Result<(), tokio_postgres::Error> {
    client.batch_execute("begin").await?;
    for _ in 0..1 + prng.below(2) {
        let slot = prng.below(SLOTS);
        let nested = prng.chance(1, 4);
        if nested {
            client.batch_execute("savepoint s").await?;
        }
        let (name, on, off) = match prng.below(4) {
            0 => (
                format!("t{slot}"),
                format!("create table t{slot} (a int primary key); insert into t{slot} values (1)"),
                format!("drop table t{slot}"),
            ),
            1 => (
                format!("c{slot}"),
                format!("alter table base add column c{slot} int default {slot}"),
                format!("alter table base drop column c{slot}"),
            ),
            2 => (
                format!("i{slot}"),
                format!("create index i{slot} on base (v, id)"),
                format!("drop index i{slot}"),
            ),
            _ => {
                let text = match prng.below(3) {
                    0 => "truncate pile; update counter set n = 0".to_string(),
                    1 => "insert into pile values (1); update counter set n = n + 1".to_string(),
                    _ => format!("update base set v = v + 1 where id = {}", 1 + prng.below(100)),
                };
                client.batch_execute(&text).await?;
                continue;
            }
        };
        let (change, present) = if prng.chance(1, 2) {
            (on, true)
        } else {
            (off, false)
        };
        client
            .batch_execute(&format!(
                "{change}; update slots set present = {present} where name = '{name}'"
            ))
            .await?;
        if nested && prng.chance(1, 2) {
            client.batch_execute("rollback to s").await?;
        }
    }
    let end = if prng.chance(1, 4) { "rollback" } else { "commit" };
    client.batch_execute(end).await
}
