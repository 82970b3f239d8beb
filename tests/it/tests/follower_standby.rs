//! What a follower allows and refuses, beside a standby of PostgreSQL 15: the same statements, the same answers, SQLSTATEs
//! and words. The kinds of statements are those of PostgreSQL's hs_standby_allowed, hs_standby_disallowed and
//! hs_standby_functions, and further ones that write. What differs stands in COMPAT.md's table of followers.

use std::process::Command;
use std::time::Duration;

use mote_it::TestServer;
use mote_it::clients::{psql_with, run_with_input};
use mote_it::nodes::{await_replay, follow, value};
use mote_it::postgres::PostgresServer;
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;

const ADVICE: &str = "install postgresql-client";

const SETUP: &str = "create table one (a int primary key);
    insert into one values (1);
    create table two (a int primary key);
    insert into two values (12), (13);
    create table three (a int primary key, b text);
    insert into three values (113, 'x'), (114, 'y'), (115, null);
    create sequence numbers minvalue 10;
    create view seen as select a from two where a > 12;
    create materialized view kept as select a from two;
    create function writes(int) returns void language sql as 'insert into one values ($1)';
    create function counts() returns bigint language sql stable as 'select count(*) from three';
    create table children (a int) partition by range (a);
    create table low partition of children for values from (0) to (10);
    insert into children values (5);
    create table tied (a int references two);
    insert into tied values (12);
    create role reader";

/// Each is a session of its own.
const ALLOWED: &[&str] = &[
    "select count(*) from one; select count(*) from two; select count(*) from three;",
    "table seen; table kept; select counts(); select * from children; select * from tied join two using (a);",
    "copy three to stdout; copy (select a from two order by a) to stdout with (format csv, header);",
    "select min_value, is_called from numbers, pg_sequences where sequencename = 'numbers';",
    "begin; select count(*) from one; end;",
    "begin transaction read only; select count(*) from one; end;",
    "begin transaction isolation level repeatable read; select count(*) from one; select count(*) from one; commit;",
    "begin; select count(*) from one; abort;",
    "start transaction isolation level repeatable read; select count(*) from one; commit and chain; rollback;",
    "begin; select count(*) from one; savepoint s; select count(*) from two; commit;",
    "begin; savepoint s; select count(*) from two; release savepoint s; savepoint s; select count(*) from three;
     rollback to savepoint s; select count(*) from two; commit;",
    "begin; savepoint s; select 1 / 0; rollback to s; select a from one; commit;",
    "set synchronous_commit = on; show synchronous_commit; reset synchronous_commit;",
    "set transaction_read_only = on; set default_transaction_read_only = on; show transaction_read_only;",
    "begin; set transaction_read_only = on; set local transaction_read_only = on; show transaction_read_only; commit;",
    "show in_hot_standby; show transaction_read_only; show default_transaction_read_only;",
    "discard temp; discard plans; discard sequences; discard all;",
    "begin; declare c cursor for select a from three order by a; fetch next from c; fetch first from c; fetch last from c;
     fetch 1 from c; move backward all in c; close c; commit;",
    "declare c cursor with hold for select a from two order by a; fetch all from c; close c;",
    "prepare p as select count(*) from one; prepare q (int) as insert into one values ($1); execute p; deallocate p;",
    "begin; lock one in access share mode; lock two in row share mode; lock three in row exclusive mode; commit;",
    "unlisten a; unlisten *;",
    "checkpoint;",
    "explain (costs off) insert into one values (5);",
    "explain (analyze, costs off, timing off, summary off) select 1;",
    "select pg_is_in_recovery(), pg_is_wal_replay_paused(), pg_get_wal_replay_pause_state();",
    "select pg_last_wal_replay_lsn() is not null, pg_last_wal_receive_lsn() is not null;",
    "select pg_advisory_lock(5), pg_try_advisory_lock(5), pg_advisory_unlock(5), pg_advisory_unlock(5);",
    "select * from pg_prepared_xacts; select pg_cancel_backend(pg_backend_pid());",
    "do $$ begin perform count(*) from three; end $$;",
    "begin; set local role reader; select current_user; commit; set role none;",
    "values (1), (2); select generate_series(1, 3); with recursive r as (select 1 n union all select n + 1 from r where n < 3)
     table r;",
    "set session characteristics as transaction read only; show default_transaction_read_only;",
    "set session characteristics as transaction read write; show transaction_read_only;",
    "do $$ begin insert into one values (5); exception when read_only_sql_transaction then raise notice 'refused'; end $$;",
];

const REFUSED: &[&str] = &[
    "set transaction_read_only = off; show transaction_read_only;",
    "select 1; set transaction_read_only = off; show transaction_read_only;",
    "begin transaction read write; commit;",
    "begin; set transaction read write; commit;",
    "begin; select 1; set transaction read write; rollback;",
    "begin; savepoint s; set transaction read write; rollback;",
    "set default_transaction_read_only = off; begin; insert into one values (37); commit;",
    "select set_config('transaction_read_only', 'off', false);",
    "select * from one for update;",
    "begin; declare c cursor for select * from one for update; rollback;",
    "begin; insert into one values (37); rollback;",
    "begin; delete from one where a = 1; rollback;",
    "begin; update one set a = null where a > 0; rollback;",
    "begin; truncate three; rollback;",
    "begin; insert into one values (37); select 1; commit;",
    "insert into one values (1) on conflict do nothing; insert into one select 5 where false;",
    "merge into one using two on one.a = two.a when matched then delete;",
    "with w as (insert into one values (2) returning a) select * from w;",
    "select writes(5);",
    "do $$ begin insert into one values (5); end $$;",
    "prepare q (int) as insert into one values ($1); execute q(5);",
    "explain (analyze, costs off) insert into one values (5);",
    "create temporary table mine (a int);",
    "begin; drop table two; rollback;",
    "begin; create table four (a int); rollback;",
    "create view w as select 1; create function f() returns int language sql as 'select 1'; drop function counts();",
    "create index on one (a); drop index one_pkey; reindex table two; reindex index two_pkey;",
    "alter table one add column b int; alter sequence numbers restart; create table four as select a from one;",
    "comment on table one is 'x'; create schema s; drop schema public; create type t as enum ('a'); create domain d as int;",
    "create role writer; drop role reader; alter role reader login; create database d; drop database postgres;",
    "revoke select on one from public; grant select on one to public; alter table one owner to reader;",
    "refresh materialized view kept; create materialized view k as select 1; drop materialized view kept;",
    "create trigger t before insert on one for each row execute function f(); create rule r as on insert to one do nothing;",
    "create extension pgcrypto; create publication p for table one; create sequence s; drop sequence numbers;",
    "alter default privileges grant select on tables to reader; reassign owned by reader to postgres; drop owned by reader;",
    "select nextval('numbers');",
    "select setval('numbers', 20);",
    "select currval('numbers');",
    "begin; select count(*) from one; prepare transaction 'x'; rollback;",
    "begin; select count(*) from one; commit prepared 'x'; rollback;",
    "begin; select count(*) from one; prepare transaction 'x'; rollback prepared 'x'; rollback;",
    "begin; select count(*) from one; rollback prepared 'x'; rollback;",
    "commit prepared 'x'; rollback prepared 'x';",
    "begin; lock one; commit;",
    "begin; lock one in share update exclusive mode; commit;",
    "begin; lock one in share mode; commit;",
    "begin; lock one in share row exclusive mode; commit;",
    "begin; lock one in exclusive mode; commit;",
    "begin; lock one in access exclusive mode; commit;",
    "do $$ begin lock one; end $$; do $$ begin lock one in share mode; end $$;
     do $$ begin lock one in row exclusive mode; end $$;",
    "do $$ begin execute 'listen a'; end $$; do $$ begin notify a; end $$; do $$ begin perform pg_notify('a', 'b'); end $$;",
    "do $$ begin execute 'vacuum two'; end $$; do $$ begin execute 'analyze two'; end $$;
     do $$ begin execute 'reindex table two'; end $$; do $$ begin execute 'cluster two using two_pkey'; end $$;",
    "listen a; notify a; notify a, 'b'; select pg_notify('a', 'b');",
    "analyze one; analyze; vacuum two; vacuum; vacuum (analyze) two; cluster two using two_pkey; cluster;",
    "select pg_current_xact_id();",
    "select txid_current();",
    "select pg_switch_wal();",
    "select pg_create_restore_point('x');",
    "select pg_current_wal_lsn();",
    "select pg_current_wal_insert_lsn(); select pg_current_wal_flush_lsn();",
    "begin; set transaction snapshot 'nothing'; rollback;",
];

/// The same SQLSTATE in other words, which stand in COMPAT.md.
const OTHER_WORDS: &[&str] = &[
    "select * from one for share; select * from one for no key update; select * from one for key share;",
    "copy one from stdin;\n5\n\\.\n",
    "select a into four from one;",
    "alter table one rename to other;",
];

fn answers(said: &mote_it::clients::Said) -> String {
    // Where in the source an error was raised.
    let told = said.err.lines().filter(|line| !line.starts_with("LOCATION:"));
    format!("{}\n{}", said.out, told.collect::<Vec<_>>().join("\n"))
}

fn on_standby(standby: &PostgresServer, script: &str) -> String {
    let url = standby.url();
    let mut command = Command::new("psql");
    command.args(["-X", "-A", "-d", &url]).env("LC_ALL", "C.UTF-8");
    answers(&run_with_input(&mut command, script, ADVICE))
}

fn await_standby(primary: &PostgresServer, standby: &PostgresServer) {
    let end = primary.value("select pg_current_wal_lsn()");
    let has_it = format!("select pg_last_wal_replay_lsn() >= '{end}'");
    await_that("the standby replays", Duration::from_secs(60), || {
        standby.value(&has_it) == "t"
    });
}

#[test]
fn a_follower_answers_as_a_standby_does() {
    let primary = TestServer::start_with("follower-standby", &[]);
    value(&primary, SETUP);
    let data = TemporaryDirectory::new("follower-standby-b");
    let follower = follow(&primary, &data, "b");
    await_replay(&primary, &follower);
    let postgres = PostgresServer::start();
    postgres.execute(SETUP);
    let standby = postgres.standby();
    await_standby(&postgres, &standby);
    let mut differences = Vec::new();
    let exactly = ALLOWED.iter().chain(REFUSED).map(|one| (one, "verbose"));
    let by_state = OTHER_WORDS.iter().map(|one| (one, "sqlstate"));
    for (statements, verbosity) in exactly.chain(by_state) {
        let script = format!("\\set VERBOSITY {verbosity}\n{statements}\n");
        let theirs = on_standby(&standby, &script);
        let ours = answers(&psql_with(&follower, &["-A"], &script));
        if ours != theirs {
            differences.push(format!(
                "-- {statements}\n-- PostgreSQL:\n{theirs}\n-- mote:\n{ours}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    for refused in REFUSED {
        let script = format!("\\set VERBOSITY verbose\n{refused}\n");
        assert!(
            on_standby(&standby, &script).contains("ERROR:"),
            "PostgreSQL does it: {refused}"
        );
    }
}
