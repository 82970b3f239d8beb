//! Definitions between changes and within their transaction, and what stands above partitions.

use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::postgres::PostgresServer;

use super::subscriber::Subscriber;

#[test]
fn rows_that_a_definition_writes_anew_are_not_told() {
    let server = TestServer::start("cdc-rewrite");
    let postgres = PostgresServer::start();
    psql_strict(
        &server,
        "create table t (id int primary key, a int, b text);
         insert into t select i, i, 'b' from generate_series(1, 50) i; create publication p for table t",
    )
    .good();
    postgres.execute("create table t (id int primary key, a bigint, b varchar(20), c text)");
    let subscriber = Subscriber::begin(&postgres, &server, "p");
    subscriber.await_copied();
    psql_strict(
        &server,
        "begin; insert into t values (100, 1, 'x'); alter table t alter a type bigint; insert into t values (101, 1 << 33, 'x');
         commit;
         alter table t alter b type varchar(20); update t set a = 5 where id = 7;
         alter table t add column c text default 'c' || random(); update t set c = 'same'",
    )
    .good();
    subscriber.compare(&server, &["t"]);
    subscriber.end();
}

/// Subscribers are told of the same columns, and the rows stand otherwise in the log.
#[test]
fn a_column_that_is_not_told_may_come_and_go_within_a_transaction() {
    let server = TestServer::start("cdc-layout");
    let postgres = PostgresServer::start();
    let table = "create table t (id int primary key, a text, b text, n int)";
    psql_strict(&server, table).good();
    postgres.execute(table);
    psql_strict(&server, "create publication p for table t (id, a)").good();
    let subscriber = Subscriber::begin(&postgres, &server, "p");
    subscriber.await_copied();
    psql_strict(
        &server,
        "begin; insert into t values (1, 'a', 'b', 1); alter table t add column c int default 7;
         insert into t values (2, 'aa', 'bb', 2, 3); savepoint s; alter table t add column d int; insert into t values (3, 'no');
         rollback to s; insert into t values (4, 'd', 'dd', 4, 5); update t set a = a || 'x'; delete from t where id = 1;
         alter table t drop column b; insert into t values (5, 'e', 6, 7); update t set id = id + 10; commit",
    )
    .good();
    subscriber.compare(&server, &["(select id, a from t)"]);
    subscriber.end();
}

#[test]
fn what_leaves_a_publication_within_a_transaction_is_not_told_from_there_on() {
    let server = TestServer::start("cdc-leaves");
    let postgres = PostgresServer::start();
    psql_strict(
        &server,
        "create table t (id int primary key); create table part (id int primary key) partition by range (id);
         create table low partition of part for values from (0) to (100); create publication p for table t, part",
    )
    .good();
    postgres.execute(
        "create table t (id int primary key); create table part (id int primary key) partition by range (id);
         create table low partition of part for values from (0) to (100)",
    );
    let subscriber = Subscriber::begin(&postgres, &server, "p");
    subscriber.await_copied();
    psql_strict(
        &server,
        "begin; insert into t values (1); alter publication p drop table t; insert into t values (2); savepoint s;
         alter publication p add table t; insert into t values (3); rollback to s; insert into t values (4);
         alter publication p add table t; insert into t values (5); commit;
         begin; insert into part values (1); alter table part detach partition low; insert into low values (2); commit",
    )
    .good();
    subscriber.await_mark(&server);
    assert_eq!(
        postgres.value("select string_agg(id::text, ' ' order by id) from t"),
        "1 5"
    );
    assert_eq!(postgres.value("select string_agg(id::text, ' ') from low"), "1");
    subscriber.end();
}

#[test]
fn what_is_told_of_by_the_name_of_a_partitioned_table_is_truncated_by_it_too() {
    let server = TestServer::start("cdc-root");
    let postgres = PostgresServer::start();
    psql_strict(
        &server,
        "create table t (id int primary key, v text) partition by range (id);
         create table low partition of t for values from (0) to (100) partition by range (id);
         create table lowest partition of low default;
         create table high (junk int, v text, id int primary key); alter table high drop column junk;
         alter table t attach partition high for values from (100) to (200);
         insert into t values (1, 'one'), (101, 'other');
         create publication p for table t with (publish_via_partition_root = true)",
    )
    .good();
    postgres.execute("create table t (id int primary key, v text)");
    let subscriber = Subscriber::begin(&postgres, &server, "p");
    subscriber.await_copied();
    psql_strict(
        &server,
        "insert into t values (2, 'two'); update t set id = id + 100 where id = 2; update t set v = 'q'; delete from t where id = 1",
    )
    .good();
    subscriber.compare(&server, &["t"]);
    psql_strict(
        &server,
        "truncate t; insert into t values (3, 'three'), (103, 'more')",
    )
    .good();
    subscriber.compare(&server, &["t"]);
    subscriber.end();
}

/// The subscriber has no such table: it would end with the first row that it were told of.
#[test]
fn an_unlogged_table_is_not_told_of_while_it_is_one() {
    let server = TestServer::start("cdc-unlogged");
    let postgres = PostgresServer::start();
    psql_strict(
        &server,
        "create table t (id int primary key); create unlogged table scratch (id int primary key);
         insert into scratch values (1); create publication p; create publication whole for all tables",
    )
    .good();
    postgres.execute("create table t (id int primary key)");
    let subscriber = Subscriber::begin(&postgres, &server, "p");
    subscriber.execute("alter subscription s set publication p, whole");
    subscriber.await_copied();
    psql_strict(
        &server,
        "begin; insert into scratch values (2); insert into t values (1); create unlogged table other as select 1 as n;
         insert into t values (2); update scratch set id = 3 where id = 2; commit;
         alter table t set unlogged; insert into t values (3); delete from t where id = 3; alter table t set logged;
         insert into t values (4); truncate scratch; insert into t values (5)",
    )
    .good();
    subscriber.compare(&server, &["t"]);
    subscriber.end();
}
