//! kill -9 under what a statement moves besides its own rows: partitions and the rows they are due, triggers and what
//! they write, expression and partial indexes, functions that are replaced, procedures that commit, sequences with a
//! cache, children of a table, prepared transactions. What must agree after every life stands in `check`.
//!
//! As in `ddl_storm` whatever comes and goes is marked in `slots` by the transaction that makes or drops it. Sums and
//! counts are kept in `counters` by the transactions or triggers that change them. So everything agrees at every moment, and
//! must when a backup is restored to one.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::clients::{mote, psql, psql_strict};
use mote_it::server::TemporaryDirectory;
use mote_it::site::{Site, text};
use mote_it::storm::Storm;
use tokio_postgres::error::DbError;
use tokio_postgres::{Client, Error};

const LIVES: u64 = 5;
const SESSIONS: u64 = 4;
const SLOTS: u64 = 3;
/// In each life, at least.
const COMMITS: u64 = 25;
const ACCOUNTS: u64 = 100;
const REGIONS: [&str; 4] = ["eu", "us", "x", "y"];

/// What may be told to a statement that met a change: the object is there or gone, a deadlock, a wait that took too long,
/// a conflict, a default partition with rows for the new one, a partition that exists under another name, and PREPARE
/// TRANSACTION after DDL, which COMPAT.md leaves out.
const EXPECTED: [&str; 12] = [
    "42P07", "42P01", "42710", "42704", "42701", "42703", "42P17", "40P01", "55P03", "40001", "23514",
    "0A000",
];

const SCHEMA: &str = "
create table slots (name text primary key, present boolean not null);
insert into slots select k || g, false from unnest(array['p', 'h', 'x', 'e', 'g']) k, generate_series(0, 2) g;
create table counters (name text primary key, n bigint not null);
insert into counters select k, 0 from unnest(array['measure', 'heirs', 'plain', 'paid', 'audited', 'level']) k;

create table account (id int not null, region text not null, v bigint not null, twice bigint, note text not null)
    partition by list (region);
create table account_eu partition of account for values in ('eu') partition by range (id);
create table account_eu_low partition of account_eu for values from (minvalue) to (51);
create table account_eu_high partition of account_eu for values from (51) to (maxvalue);
create table account_us (note text not null, gone int, twice bigint, v bigint not null, region text not null, id int not null);
alter table account_us drop column gone;
alter table account attach partition account_us for values in ('us');
create table account_rest partition of account default;
create unique index account_key on account (region, id);
create index account_note on account (lower(note), (v % 10)) where v > 100;
create table audit (n bigint generated always as identity (cache 10) primary key, place text, region text, id int, rows int,
    v bigint);
create function audited() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        insert into audit (place, region, id, rows, v) values (tg_table_name, old.region, old.id, -1, -old.v);
    end if;
    if tg_op <> 'DELETE' then
        insert into audit (place, region, id, rows, v) values (tg_table_name, new.region, new.id, 1, new.v);
    end if;
    return null;
end $$;
create trigger audited after insert or update or delete on account for each row execute function audited();
create function doubled() returns trigger language plpgsql as 'begin new.twice := new.v * 2; return new; end';
create trigger doubled before insert or update on account for each row execute function doubled();
insert into account select g, r, 90, 0, 'N' || g % 7
    from generate_series(1, 100) g, unnest(array['eu', 'us', 'x', 'y']) r where g % 2 = length(r) % 2;

create table measure (at int not null, v int not null) partition by range (at);
create table measure_rest partition of measure default;
create index measure_v on measure ((v % 7), at) where v > 3;

create table plain (id int primary key, v bigint not null);
create function born() returns trigger language plpgsql as $$
begin update counters set n = n + (select coalesce(sum(v), 0) from new_rows) where name = 'plain'; return null; end $$;
create function changed() returns trigger language plpgsql as $$
begin
    update counters set n = n + (select coalesce(sum(v), 0) from new_rows) - (select coalesce(sum(v), 0) from old_rows)
        where name = 'plain';
    return null;
end $$;
create trigger born after insert on plain referencing new table as new_rows for each statement execute function born();
create trigger changed after update on plain referencing old table as old_rows new table as new_rows
    for each statement execute function changed();
create function nothing() returns trigger language plpgsql as 'begin return null; end';

create table heir_root (id bigint not null, v int not null);
create table payment (n bigint generated always as identity (cache 5) primary key, amount int not null);
create procedure pay(times int) language plpgsql as $$
begin
    for k in 1..times loop
        insert into payment (amount) values (k);
        update counters set n = n + k where name = 'paid';
        commit;
    end loop;
end $$;
create function level() returns bigint language sql as 'select 0::bigint';
create sequence ticket cache 20;
create table drawn (n bigint primary key);
";

/// Of a client's whole life: what nextval told anybody, and the transactions it left prepared.
#[derive(Default)]
struct Shared {
    storm: Storm,
    told: Mutex<BTreeSet<i64>>,
    prepared: Mutex<Vec<String>>,
}

#[test]
fn what_depends_on_rows_agrees_with_them() {
    let seed = mote_common::env::real::entropy_u64();
    eprintln!("seed {seed}");
    let directory = TemporaryDirectory::new("object-storm");
    let data = directory.path().join("data");
    let open = || TestServer::open(&data, &[]).unwrap_or_else(|said| panic!("seed {seed}: no start: {said}"));
    let mut server = open();
    psql_strict(&server, SCHEMA).good();
    let shared = Shared::default();
    let mut prng = Prng::new(seed);
    for life in 0..LIVES {
        let lasts = Duration::from_millis(900 + prng.below(600));
        shared
            .storm
            .until_killed(server, SESSIONS, lasts, COMMITS, async |session, client| {
                let mut prng = Prng::fork(seed, life * SESSIONS + session);
                work_until_killed(&shared, &client, &mut prng).await
            });
        assert_sound(&data, seed);
        server = open();
        decide_what_is_prepared(&server, &shared, &mut prng);
        check(&server, seed);
        shared.storm.assert_no_surprise(seed);
    }
    let committed = shared.storm.committed();
    assert!(committed > 100, "only {committed} transactions committed");
}

/// Every moment is one at which everything agrees: of a backup that is taken meanwhile, and of each later one.
#[test]
fn a_restored_moment_agrees_with_itself() {
    let seed = mote_common::env::real::entropy_u64();
    eprintln!("seed {seed}");
    let site = Site::new("object-moments");
    psql_strict(&site.server, SCHEMA).good();
    let shared = Shared::default();
    let work = async |session, client: Client| {
        let mut prng = Prng::fork(seed, session);
        work_until_killed(&shared, &client, &mut prng).await
    };
    let (backup, lsn, time) = shared.storm.meanwhile(&site.server, SESSIONS, work, || {
        let pause = || std::thread::sleep(Duration::from_millis(400));
        pause();
        let backup = site.backup("base");
        pause();
        let lsn = site.value("select pg_current_wal_lsn()");
        pause();
        site.value("select pg_create_restore_point('half-way')");
        pause();
        let time = site.value("select clock_timestamp()");
        pause();
        (backup, lsn, time)
    });
    shared.storm.assert_no_surprise(seed);
    site.archive_all();
    let mut prng = Prng::new(seed);
    for (name, options) in [
        ("by-lsn", &["--to-lsn", &lsn][..]),
        ("by-name", &["--to-name", "half-way"]),
        ("by-time", &["--to-time", &time]),
        ("latest", &[]),
    ] {
        let (data, said) = site.restore(&backup, name, options);
        assert!(said.ok, "seed {seed}, {options:?}: {}\n{}", said.out, said.err);
        assert_sound(&data, seed);
        let server = TestServer::open(&data, &[]).expect("a restored database starts");
        decide_what_is_prepared(&server, &Shared::default(), &mut prng);
        check(&server, seed);
    }
}

/// `mote check` reads all images, the log and every index entry.
#[track_caller]
fn assert_sound(data: &Path, seed: u64) {
    let said = mote(&["check", text(data), "--memory", "1GB"]);
    assert!(said.ok, "seed {seed}: {}\n{}", said.out, said.err);
}

#[track_caller]
fn lines(server: &TestServer, query: &str) -> Vec<String> {
    let said = psql_strict(server, query).good();
    said.lines().map(str::to_string).collect()
}

/// Every PREPARE that was answered and not decided is there, with its rows, and can still end either way.
fn decide_what_is_prepared(server: &TestServer, shared: &Shared, prng: &mut Prng) {
    let found = lines(server, "select gid from pg_prepared_xacts order by gid");
    for gid in shared.prepared.lock().expect("no panic while held").drain(..) {
        assert!(found.contains(&gid), "prepared transaction {gid} is gone");
    }
    for gid in found {
        let end = if prng.chance(1, 2) { "commit" } else { "rollback" };
        psql(server, &format!("{end} prepared '{gid}'")).good();
    }
}

fn check(server: &TestServer, seed: u64) {
    // Each of these queries names what is wrong, and so must give nothing.
    let wrong = [
        // A row stands where its key belongs.
        "select tableoid::regclass, region, id from account where tableoid::regclass::text is distinct from
             case when region = 'us' then 'account_us' when region <> 'eu' then 'account_rest'
                  when id < 51 then 'account_eu_low' else 'account_eu_high' end",
        "select m.tableoid::regclass, at from measure m join slots on present and name = 'p' || at / 100
             where m.tableoid::regclass::text <> name",
        "select m.tableoid::regclass, at from measure m left join slots on present and name = 'p' || at / 100
             where name is null and m.tableoid <> 'measure_rest'::regclass",
        // BEFORE triggers saw each row; AFTER triggers wrote down each change, wherever the row was then.
        "select region, id, v, twice from account where twice is distinct from v * 2",
        "select coalesce(a.place, b.place), coalesce(a.region, b.region), coalesce(a.id, b.id), a.v, b.v
             from (select tableoid::regclass::text as place, region, id, 1::bigint as rows, v from account) a
             full join (select place, region, id, sum(rows) as rows, sum(v)::bigint as v from audit group by 1, 2, 3
                        having sum(rows) <> 0 or sum(v) <> 0) b
             on a.place = b.place and a.region = b.region and a.id = b.id and a.rows = b.rows and a.v = b.v
             where a.place is null or b.place is null",
        // An index on expressions finds what a look at every row finds.
        "select k, a.n, b.n from generate_series(0, 6) k,
             lateral (select count(*) as n, sum(id) as s from account where lower(note) = 'n' || k and v > 100) a,
             lateral (select count(*) as n, sum(id) as s from account where lower(note || '') = 'n' || k and v + 0 > 100) b
             where a.n <> b.n or a.s <> b.s",
        "select k, a.n, b.n from generate_series(0, 6) k,
             lateral (select count(*) as n, sum(at) as s from measure where v % 7 = k and v > 3) a,
             lateral (select count(*) as n, sum(at) as s from measure where (v + 0) % 7 = k and v + 0 > 3) b
             where a.n <> b.n or a.s <> b.s",
        // What was counted along: by the same transaction, by triggers with transition tables, by a procedure.
        "select name, n, found from counters join (
             select 'measure' as name, count(*) as found from measure union all
             select 'heirs', count(*) from heir_root union all
             select 'plain', coalesce(sum(v), 0)::bigint from plain union all
             select 'paid', coalesce(sum(amount), 0)::bigint from payment union all
             select 'level', level()) f using (name) where n <> found",
        "select n, src from counters, (select prosrc as src from pg_proc where proname = 'audited') p
             where name = 'audited' and n > 0 and src not like '%-- version ' || n || E'\n%'",
        // The catalog is what the marks say.
        "select name, present from slots where left(name, 1) in ('p', 'h')
             and present <> exists (select from pg_inherits where inhrelid::regclass::text = name)",
        "select name, present from slots where left(name, 1) in ('p', 'h', 'e')
             and present <> exists (select from pg_class where relname = name)",
        "select name, present from slots where left(name, 1) = 'g'
             and present <> exists (select from pg_trigger where tgname = name)",
        "select name, present, c.relname from slots, pg_class c
             where left(name, 1) = 'x' and (c.relname = 'heir_root' or c.oid in (select inhrelid from pg_inherits
                   where inhparent = 'heir_root'::regclass))
             and present <> exists (select from pg_attribute where attrelid = c.oid and attname = name and not attisdropped)",
        // Every index of a partitioned table has one in each partition, and none is left over.
        "select i.relname, t.relname from pg_class i join pg_index x on x.indexrelid = i.oid and i.relkind = 'I'
             join pg_inherits h on h.inhparent = x.indrelid join pg_class t on t.oid = h.inhrelid
             where not exists (select from pg_inherits o join pg_index y on y.indexrelid = o.inhrelid
                               where o.inhparent = i.oid and y.indrelid = t.oid)",
        // A sequence goes on behind what was kept.
        "select max(n) from drawn having max(n) >= nextval('ticket')",
    ];
    for query in wrong {
        let said = lines(server, query);
        assert!(said.is_empty(), "seed {seed}: {query}\ngave {said:?}");
    }
    let plan = lines(
        server,
        "explain select from account where lower(note) = 'n1' and v > 100",
    );
    assert!(plan.iter().any(|line| line.contains("Index Scan")), "{plan:?}");
}

/// A unique key of `account` is met on purpose; of a sequence's values never.
fn may_fail(told: &DbError) -> bool {
    let code = told.code().code();
    EXPECTED.contains(&code)
        || code == "23505" && told.table().is_some_and(|table| table.starts_with("account"))
}

async fn work_until_killed(shared: &Shared, client: &Client, prng: &mut Prng) -> Result<(), Error> {
    client.batch_execute("set lock_timeout = '300ms'").await?;
    let indexed = client
        .prepare("select count(*), sum(id) from account where lower(note) = $1 and v > 100")
        .await?;
    while !shared.storm.is_over() {
        let done = match prng.below(16) {
            0 => look_both_ways(shared, client, &indexed, prng).await,
            1 => draw(shared, client).await,
            2 => {
                client
                    .batch_execute(&format!("call pay({})", 1 + prng.below(3)))
                    .await
            }
            3 => decide(shared, client, prng).await,
            4 if prng.chance(1, 4) => client.batch_execute("checkpoint").await,
            _ => transaction(shared, client, prng).await,
        };
        if shared.storm.note(done, may_fail)? {
            shared.storm.count_commit();
        } else {
            client.batch_execute("rollback").await?;
        }
    }
    Ok(())
}

/// A plan of long standing that uses the index, and one that cannot, in one snapshot.
async fn look_both_ways(
    shared: &Shared,
    client: &Client,
    indexed: &tokio_postgres::Statement,
    prng: &mut Prng,
) -> Result<(), Error> {
    let note = format!("n{}", prng.below(7));
    client
        .batch_execute("begin isolation level repeatable read")
        .await?;
    let fast = client.query_one(indexed, &[&note]).await?;
    let slow = "select count(*), sum(id) from account where lower(note || '') = $1 and v + 0 > 100";
    let slow = client.query_one(slow, &[&note]).await?;
    let answer = |row: &tokio_postgres::Row| (row.get::<_, i64>(0), row.get::<_, Option<i64>>(1));
    if answer(&fast) != answer(&slow) {
        shared.storm.surprise(format!(
            "{note}: {:?} by index, {:?} by rows",
            answer(&fast),
            answer(&slow)
        ));
    }
    client.batch_execute("commit").await
}

/// What nextval has told once it never tells again, committed or not, to whomever.
async fn draw(shared: &Shared, client: &Client) -> Result<(), Error> {
    for _ in 0..5 {
        let n: i64 = client.query_one("select nextval('ticket')", &[]).await?.get(0);
        if !shared.told.lock().expect("no panic while held").insert(n) {
            shared.storm.surprise(format!("nextval gave {n} twice"));
        }
    }
    client
        .batch_execute("insert into drawn values (nextval('ticket'))")
        .await
}

/// Ends a transaction that somebody, often somebody else, left prepared.
async fn decide(shared: &Shared, client: &Client, prng: &mut Prng) -> Result<(), Error> {
    let Some(gid) = shared.prepared.lock().expect("no panic while held").pop() else {
        return Ok(());
    };
    let end = if prng.chance(2, 3) { "commit" } else { "rollback" };
    client.batch_execute(&format!("{end} prepared '{gid}'")).await
}

/// Some changes of rows, or of one object with its mark, and one of several ends.
async fn transaction(shared: &Shared, client: &Client, prng: &mut Prng) -> Result<(), Error> {
    client.batch_execute("begin").await?;
    let of_objects = prng.chance(1, 3);
    for _ in 0..1 + prng.below(3) {
        let nested = prng.chance(1, 4);
        if nested {
            client.batch_execute("savepoint s").await?;
        }
        let change = if of_objects && prng.chance(1, 2) {
            change_of_objects(prng)
        } else {
            change_of_rows(prng)
        };
        client.batch_execute(&change).await?;
        if nested && prng.chance(1, 2) {
            client.batch_execute("rollback to s").await?;
        }
    }
    match prng.below(8) {
        0 => client.batch_execute("rollback").await,
        1 if !of_objects => {
            let gid = format!("g{}", prng.next_u64());
            client
                .batch_execute(&format!("prepare transaction '{gid}'"))
                .await?;
            shared.prepared.lock().expect("no panic while held").push(gid);
            Ok(())
        }
        _ => client.batch_execute("commit").await,
    }
}

fn change_of_rows(prng: &mut Prng) -> String {
    let (id, slot) = (1 + prng.below(ACCOUNTS), prng.below(SLOTS));
    let mut region = || REGIONS[prng.below(4) as usize];
    let (from, to) = (region(), region());
    let (v, at) = (prng.below(40), prng.below(SLOTS * 100 + 50));
    match prng.below(9) {
        0 | 1 => format!("update account set v = v + {v} - 10 where region = '{from}' and id = {id}"),
        2 => format!("update account set note = 'n{}' where region = '{from}' and id % 20 = {v}", v % 7),
        3 => format!("update account set region = '{to}', v = v + 1 where region = '{from}' and id = {id}"),
        4 => format!(
            "delete from account where region = '{from}' and id = {id};
             insert into account values ({id}, '{from}', {v}, null, 'N{}') on conflict (region, id) do update set v = 7",
            v % 7
        ),
        5 => format!(
            "insert into measure select {at} + g, {v} from generate_series(0, 2) g;
             update counters set n = n + 3 where name = 'measure'"
        ),
        6 => format!("update measure set at = {at}, v = v + 1 where at = {v} * 9"),
        7 => format!("insert into plain values ({v}, 5), ({v} + 40, 6) on conflict (id) do update set v = plain.v + 2"),
        _ => format!("insert into h{slot} (id, v) values ({id}, 1); update counters set n = n + 1 where name = 'heirs'"),
    }
}

fn change_of_objects(prng: &mut Prng) -> String {
    let slot = prng.below(SLOTS);
    let (low, high) = (slot * 100, slot * 100 + 100);
    let range = format!("for values from ({low}) to ({high})");
    let (name, on, off) = match prng.below(8) {
        // A new function under the old triggers; its version is counted along.
        0 => {
            return "update counters set n = n + 1 where name = 'audited';
                    do $$ declare version bigint := (select n from counters where name = 'audited'); begin
                        execute replace(regexp_replace(pg_get_functiondef('audited'::regproc), '-- version \\d+\\n', ''),
                                        E'\\nbegin\\n', E'\\n-- version ' || version || E'\\nbegin\\n');
                    end $$"
            .into();
        }
        1 => {
            return "update counters set n = n + 1 where name = 'level';
                    do $$ declare version bigint := (select n from counters where name = 'level'); begin
                        execute 'create or replace function level() returns bigint language sql as ''select '
                                || version || '::bigint''';
                    end $$"
            .into();
        }
        2 => (
            "e",
            format!("create index e{slot} on account (lower(note || region), abs(v)) where id % 2 = {}", slot % 2),
            format!("drop index e{slot}"),
        ),
        3 => (
            "g",
            format!("create trigger g{slot} after insert on account for each row execute function nothing()"),
            format!("drop trigger g{slot} on account"),
        ),
        4 => (
            "h",
            format!("create table h{slot} (own int default 1) inherits (heir_root)"),
            format!(
                "lock table h{slot}; update counters set n = n - (select count(*) from h{slot}) where name = 'heirs';
                 drop table h{slot}"
            ),
        ),
        5 => (
            "x",
            format!("alter table heir_root add column x{slot} int default {slot}"),
            format!("alter table heir_root drop column x{slot}"),
        ),
        // Into a default partition that may hold rows for it.
        6 => (
            "p",
            format!("create table p{slot} partition of measure {range}"),
            format!(
                "lock table measure; update counters set n = n - (select count(*) from p{slot}) where name = 'measure';
                 drop table p{slot}"
            ),
        ),
        // With its rows, out of the default partition and back.
        _ => (
            "p",
            format!(
                "lock table measure; create table p{slot} (like measure including all);
                 with moved as (delete from measure_rest where at >= {low} and at < {high} returning *)
                     insert into p{slot} select * from moved;
                 alter table measure attach partition p{slot} {range}"
            ),
            format!(
                "lock table measure; alter table measure detach partition p{slot};
                 insert into measure select * from p{slot}; drop table p{slot}"
            ),
        ),
    };
    let present = prng.chance(1, 2);
    let change = if present { on } else { off };
    format!("{change}; update slots set present = {present} where name = '{name}{slot}'")
}
