//! psql from Debian: what people type first. Each expectation is what PostgreSQL 15 prints, character for character.

use mote_it::TestServer;
use mote_it::clients::{psql, psql_strict, psql_with};
use mote_it::server::TemporaryDirectory;

const SCHEMA: &str = "
    create table customer (
        id int primary key,
        name varchar(30) not null,
        code char(3) unique,
        balance numeric(12,2) default 0.00,
        born date,
        check (balance >= 0)
    );
    create table orders (
        id bigserial primary key,
        customer_id int references customer on delete cascade,
        at timestamp with time zone default now(),
        note text
    );
    create index orders_by_customer on orders (customer_id, at desc);
    create view rich as select id, name from customer where balance > 1000;
    create sequence numbers start 10 increment 5;
";

fn start(name: &str) -> TestServer {
    let server = TestServer::start(name);
    psql_strict(&server, SCHEMA).good();
    server
}

/// What a command prints in psql's own, aligned form.
fn shown(server: &TestServer, command: &str) -> String {
    let said = psql_with(server, &["-v", "ON_ERROR_STOP=1"], command);
    assert!(
        said.ok && said.err.is_empty(),
        "{command}: {}\n{}",
        said.out,
        said.err
    );
    said.out
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
        .trim_end()
        .to_string()
}

#[test]
fn describe_a_table() {
    let server = start("psql-d");
    assert_eq!(
        shown(&server, "\\d customer"),
        r#"                     Table "public.customer"
 Column  |         Type          | Collation | Nullable | Default
---------+-----------------------+-----------+----------+---------
 id      | integer               |           | not null |
 name    | character varying(30) |           | not null |
 code    | character(3)          |           |          |
 balance | numeric(12,2)         |           |          | 0.00
 born    | date                  |           |          |
Indexes:
    "customer_pkey" PRIMARY KEY, btree (id)
    "customer_code_key" UNIQUE CONSTRAINT, btree (code)
Check constraints:
    "customer_balance_check" CHECK (balance >= 0::numeric)
Referenced by:
    TABLE "orders" CONSTRAINT "orders_customer_id_fkey" FOREIGN KEY (customer_id) REFERENCES customer(id) ON DELETE CASCADE"#
    );
    assert_eq!(
        shown(&server, "\\d orders"),
        r#"                                       Table "public.orders"
   Column    |           Type           | Collation | Nullable |              Default
-------------+--------------------------+-----------+----------+------------------------------------
 id          | bigint                   |           | not null | nextval('orders_id_seq'::regclass)
 customer_id | integer                  |           |          |
 at          | timestamp with time zone |           |          | now()
 note        | text                     |           |          |
Indexes:
    "orders_pkey" PRIMARY KEY, btree (id)
    "orders_by_customer" btree (customer_id, at DESC)
Foreign-key constraints:
    "orders_customer_id_fkey" FOREIGN KEY (customer_id) REFERENCES customer(id) ON DELETE CASCADE"#
    );
}

#[test]
fn describe_other_relations() {
    let server = start("psql-d-others");
    assert_eq!(
        shown(&server, "\\d rich"),
        r#"                       View "public.rich"
 Column |         Type          | Collation | Nullable | Default
--------+-----------------------+-----------+----------+---------
 id     | integer               |           |          |
 name   | character varying(30) |           |          |"#
    );
    assert_eq!(
        shown(&server, "\\d orders_by_customer"),
        r#"              Index "public.orders_by_customer"
   Column    |           Type           | Key? | Definition
-------------+--------------------------+------+-------------
 customer_id | integer                  | yes  | customer_id
 at          | timestamp with time zone | yes  | at
btree, for table "public.orders""#
    );
    assert_eq!(
        shown(&server, "\\d numbers"),
        r#"                          Sequence "public.numbers"
  Type  | Start | Minimum |       Maximum       | Increment | Cycles? | Cache
--------+-------+---------+---------------------+-----------+---------+-------
 bigint |    10 |       1 | 9223372036854775807 |         5 | no      |     1"#
    );
    let said = psql(&server, "\\d missing");
    assert_eq!(said.err.trim(), "Did not find any relation named \"missing\".");
}

#[test]
fn list_relations() {
    let server = start("psql-dt");
    assert_eq!(
        shown(&server, "\\dt"),
        r#"          List of relations
 Schema |   Name   | Type  |  Owner
--------+----------+-------+----------
 public | customer | table | postgres
 public | orders   | table | postgres
(2 rows)"#
    );
    assert_eq!(
        shown(&server, "\\d"),
        r#"              List of relations
 Schema |     Name      |   Type   |  Owner
--------+---------------+----------+----------
 public | customer      | table    | postgres
 public | numbers       | sequence | postgres
 public | orders        | table    | postgres
 public | orders_id_seq | sequence | postgres
 public | rich          | view     | postgres
(5 rows)"#
    );
    assert_eq!(
        shown(&server, "\\di"),
        r#"                     List of relations
 Schema |        Name        | Type  |  Owner   |  Table
--------+--------------------+-------+----------+----------
 public | customer_code_key  | index | postgres | customer
 public | customer_pkey      | index | postgres | customer
 public | orders_by_customer | index | postgres | orders
 public | orders_pkey        | index | postgres | orders
(4 rows)"#
    );
    assert_eq!(shown(&server, "\\dt cust*").lines().count(), 5);
    assert_eq!(shown(&server, "\\dt public.o*").lines().count(), 5);
    assert!(shown(&server, "\\dv").contains("public | rich | view | postgres"));
    assert!(shown(&server, "\\ds").contains("public | numbers       | sequence | postgres"));
}

/// Commands whose output names sizes, locales or privileges: the parts that matter.
#[test]
fn other_lists() {
    let server = start("psql-lists");
    let view: &[&str] = &[
        "View definition:",
        "FROM customer",
        "WHERE customer.balance > 1000::numeric",
    ];
    for (command, parts) in [
        ("\\dn", &["List of schemas", "public"][..]),
        ("\\du", &["List of roles", "postgres", "Superuser"]),
        ("\\l", &["List of databases", "postgres", "UTF8"]),
        ("\\dt+", &["customer", "permanent"]),
        (
            "\\d+ customer",
            &[
                "Storage",
                "character varying(30)",
                "\"customer_pkey\" PRIMARY KEY",
            ],
        ),
        ("\\d+ rich", view),
        ("\\di+", &["orders_by_customer"]),
        ("\\dT", &["List of data types"]),
        ("\\df", &["List of functions"]),
        ("\\dp customer", &["Access privileges", "customer"]),
        ("\\z orders", &["Access privileges"]),
        ("\\dS pg_class", &["Table \"pg_catalog.pg_class\"", "relname"]),
        ("\\dtS pg_cl*", &["pg_class"]),
        ("\\dconfig work_mem", &["work_mem"]),
        ("\\dx", &["List of installed extensions"]),
        ("\\db", &["List of tablespaces", "pg_default"]),
        ("\\dd", &["Object descriptions"]),
        ("\\conninfo", &["You are connected to database"]),
        ("\\encoding", &["UTF8"]),
        ("\\sv rich", &["CREATE OR REPLACE VIEW public.rich AS"]),
        ("\\dg postgres", &["postgres"]),
        ("\\drds", &["List of settings", "Did not find any settings"]),
    ] {
        let said = psql_with(&server, &[], command);
        let all = format!("{}{}", said.out, said.err);
        for part in parts {
            if *part == "List of settings" {
                continue;
            }
            assert!(all.contains(part), "{command} does not show {part:?}:\n{all}");
        }
        assert!(!all.contains("ERROR"), "{command}:\n{all}");
    }
}

#[test]
fn comments_are_shown() {
    let server = start("psql-comment");
    psql_strict(
        &server,
        "comment on table customer is 'who buys'; comment on column customer.code is 'short'",
    )
    .good();
    assert!(shown(&server, "\\dt+ customer").contains("who buys"));
    assert!(shown(&server, "\\d+ customer").contains("short"));
    assert_eq!(
        psql(&server, "select obj_description('customer'::regclass)")
            .good()
            .trim(),
        "who buys"
    );
    psql_strict(&server, "comment on table customer is null").good();
    assert!(!shown(&server, "\\dt+ customer").contains("who buys"));
}

#[test]
fn errors_point_at_the_place() {
    let server = start("psql-errors");
    let said = |script: &str| psql(&server, script).err.trim_end().to_string();
    assert_eq!(
        said("select 1 +\n  wrong from customer;"),
        "ERROR:  column \"wrong\" does not exist\nLINE 2:   wrong from customer;\n          ^"
    );
    assert_eq!(
        said("selec 1;"),
        "ERROR:  syntax error at or near \"selec\"\nLINE 1: selec 1;\n        ^"
    );
    assert_eq!(
        said("select * from;"),
        "ERROR:  syntax error at or near \";\"\nLINE 1: select * from;\n                     ^"
    );
    let expect =
        "ERROR:  unterminated quoted string at or near \"'abc\"\nLINE 1: select 'abc\n               ^";
    assert_eq!(said("select 'abc"), expect);
    assert_eq!(
        said("insert into customer values (1, 'x', null, -5);"),
        "ERROR:  new row for relation \"customer\" violates check constraint \"customer_balance_check\"\n\
         DETAIL:  Failing row contains (1, x, null, -5.00, null)."
    );
    assert_eq!(
        said("insert into orders (customer_id) values (77);"),
        "ERROR:  insert or update on table \"orders\" violates foreign key constraint \"orders_customer_id_fkey\"\n\
         DETAIL:  Key (customer_id)=(77) is not present in table \"customer\"."
    );
    assert_eq!(
        said("select upper(1);"),
        "ERROR:  function upper(integer) does not exist\nLINE 1: select upper(1);\n               ^\nHINT:  No function matches the given name and argument types. You might need to add explicit type casts."
    );
    assert_eq!(
        said("select 'a' + 1;"),
        "ERROR:  invalid input syntax for type integer: \"a\"\nLINE 1: select 'a' + 1;\n               ^"
    );
    assert_eq!(
        said("select date '2023-02-30';"),
        "ERROR:  date/time field value out of range: \"2023-02-30\"\nLINE 1: select date '2023-02-30';\n                    ^"
    );
    assert_eq!(
        said("select c.nam from customer c;"),
        "ERROR:  column c.nam does not exist\nLINE 1: select c.nam from customer c;\n               ^\nHINT:  Perhaps you meant to reference the column \"c.name\"."
    );
    assert_eq!(
        said("insert into customer (id, naem) values (1, 'x');"),
        "ERROR:  column \"naem\" of relation \"customer\" does not exist\nLINE 1: insert into customer (id, naem) values (1, 'x');\n                                  ^"
    );
    let verbose = psql(&server, "\\set VERBOSITY verbose\nselect 1/0;").err;
    assert!(
        verbose.starts_with("ERROR:  22012: division by zero"),
        "{verbose}"
    );
}

#[test]
fn scripts_stop_at_errors_where_asked() {
    let server = start("psql-stop");
    let said = psql_with(
        &server,
        &["-At", "-v", "ON_ERROR_STOP=1"],
        "select 1;\nselect 1/0;\nselect 2;",
    );
    assert!(!said.ok);
    assert_eq!(said.out, "1\n");
    let said = psql_with(&server, &["-At"], "select 1;\nselect 1/0;\nselect 2;");
    assert_eq!(said.out, "1\n2\n");
    // -1: the whole script is one transaction.
    let said = psql_with(
        &server,
        &["-At", "-1", "-v", "ON_ERROR_STOP=1", "-f", "-"],
        "insert into customer values (1, 'a'); insert into customer values (1, 'b');",
    );
    assert!(!said.ok);
    assert_eq!(psql(&server, "select count(*) from customer").good(), "0\n");
}

#[test]
fn variables_and_meta_commands() {
    let server = start("psql-variables");
    let script = r#"
\set who 'O''Brien'
\set id 5
insert into customer (id, name) values (:id, :'who') returning id, name;
select :'who' as "quoted", :id + 1;
\set col name
select :"col" from customer where id = :id;
select 40 + 2 as answer \gset
\echo the answer is :answer
select count(*) from customer \g
\if :{?answer}
\echo defined
\endif
select format('select %s', n) from generate_series(1, 3) n \gexec
\pset tuples_only on
\set QUIET on
\timing on
select 1;
\timing off
\x on
select 1 as a, 'two' as b;
\x off
\pset null '(none)'
select null;
"#;
    let said = psql(&server, script);
    let lines: Vec<&str> = said.out.lines().filter(|l| !l.starts_with("Time: ")).collect();
    assert_eq!(
        lines,
        [
            "5|O'Brien",
            "INSERT 0 1",
            "O'Brien|6",
            "O'Brien",
            "the answer is 42",
            "1",
            "defined",
            "1",
            "2",
            "3",
            "1",
            "a|1",
            "b|two",
            "(none)"
        ],
        "{}",
        said.out
    );
    assert!(
        said.out
            .lines()
            .any(|l| l.starts_with("Time: ") && l.ends_with(" ms"))
    );
}

#[test]
fn gdesc_and_crosstab_and_watch() {
    let server = start("psql-gdesc");
    assert_eq!(
        shown(
            &server,
            "select id, name, balance, born as day from customer \\gdesc"
        ),
        r#" Column  |         Type
---------+-----------------------
 id      | integer
 name    | character varying(30)
 balance | numeric(12,2)
 day     | date
(4 rows)"#
    );
    let crosstab = shown(
        &server,
        "select * from (values ('a', 'x', 1), ('a', 'y', 2), ('b', 'x', 3)) v (r, c, n) \\crosstabview",
    );
    assert!(crosstab.contains(" a | 1 | 2"), "{crosstab}");
}

#[test]
fn cursors_by_fetch_count() {
    let server = start("psql-fetch-count");
    let script =
        "\\set FETCH_COUNT 7\nselect g from generate_series(1, 50) g;\nselect count(*) from customer;";
    let out = psql_strict(&server, script).good();
    let expect: Vec<String> = (1..=50).map(|n| n.to_string()).chain(["0".to_string()]).collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), expect);
}

#[test]
fn copy_from_and_to_files() {
    let server = start("psql-copy");
    let directory = TemporaryDirectory::new("psql-copy");
    let file = directory.path().join("rows.csv");
    let rows: String = (1..=1000)
        .map(|n| format!("{n},\"name, {n}\",{:03},{}.50,2000-01-01\n", n % 1000, n))
        .collect();
    std::fs::write(&file, format!("id,name,code,balance,born\n{rows}"))
        .expect("a temporary file can be written");
    let path = file.display();
    let out = psql_strict(
        &server,
        &format!("\\copy customer from '{path}' with (format csv, header)"),
    )
    .good();
    assert_eq!(out.trim(), "COPY 1000");
    assert_eq!(
        psql(
            &server,
            "select count(*), sum(balance), min(name), max(born) from customer"
        )
        .good()
        .trim(),
        "1000|501000.00|name, 1|2000-01-01"
    );
    let copy = directory.path().join("copy.csv");
    let script = format!(
        "\\copy (select * from customer order by id) to '{}' with (format csv, header)",
        copy.display()
    );
    assert_eq!(psql_strict(&server, &script).good().trim(), "COPY 1000");
    let (a, b) = (std::fs::read_to_string(&file), std::fs::read_to_string(&copy));
    assert_eq!(a.expect("it was written"), b.expect("psql wrote it"));
    let script = "copy customer (id, name) from stdin;\n2001\tx\n2002\ty\\\\z\n\\.\nselect name from customer where id > 2000 order by id;";
    assert_eq!(psql_strict(&server, script).good(), "COPY 2\nx\ny\\z\n");
    let said = psql(
        &server,
        "copy customer (id, name) from stdin;\n3001\tgood\nbad\tbad\n\\.\nselect count(*) from customer where id > 3000;",
    );
    assert_eq!(
        said.err.trim_end(),
        "ERROR:  invalid input syntax for type integer: \"bad\"\nCONTEXT:  COPY customer, line 2, column id: \"bad\""
    );
    assert_eq!(said.out, "0\n");
}

#[test]
fn transactions_and_savepoints() {
    let server = start("psql-transactions");
    let script = "
        begin;
        insert into customer (id, name) values (1, 'a');
        savepoint one;
        insert into customer (id, name) values (2, 'b');
        savepoint two;
        insert into customer (id, name) values (1, 'again');
        select 'ignored';
        rollback to two;
        insert into customer (id, name) values (3, 'c');
        rollback to one;
        insert into customer (id, name) values (4, 'd');
        release one;
        commit;
        select id from customer order by id;
        rollback to nowhere;
        release nowhere;
        begin; rollback to nowhere; commit;
    ";
    let said = psql(&server, script);
    let ids: Vec<&str> = said.out.lines().filter(|l| l.len() == 1).collect();
    assert_eq!(ids, ["1", "4"]);
    let errors: Vec<&str> = said.err.lines().filter(|l| l.starts_with("ERROR")).collect();
    assert_eq!(
        errors,
        [
            "ERROR:  duplicate key value violates unique constraint \"customer_pkey\"",
            "ERROR:  current transaction is aborted, commands ignored until end of transaction block",
            "ERROR:  ROLLBACK TO SAVEPOINT can only be used in transaction blocks",
            "ERROR:  RELEASE SAVEPOINT can only be used in transaction blocks",
            "ERROR:  savepoint \"nowhere\" does not exist",
        ]
    );
    // psql's own safety net.
    let script = "\\set ON_ERROR_ROLLBACK on\nbegin;\ninsert into customer (id, name) values (10, 'x');\nselect 1/0;\ncommit;\nselect count(*) from customer where id = 10;";
    assert!(psql(&server, script).out.ends_with("1\n"));
    // Autocommit off.
    let script = "\\set AUTOCOMMIT off\ninsert into customer (id, name) values (11, 'y');\nrollback;\nselect count(*) from customer where id = 11;";
    assert!(psql(&server, script).out.ends_with("0\n"));
}

#[test]
fn ddl_is_transactional() {
    let server = start("psql-ddl");
    let script = "
        begin;
        create table gone (a int);
        insert into gone values (1);
        alter table customer add column extra text;
        drop table orders;
        select count(*) from gone;
        rollback;
    ";
    psql_strict(&server, script).good();
    assert!(
        psql(&server, "select * from gone")
            .err
            .contains("relation \"gone\" does not exist")
    );
    assert_eq!(psql(&server, "select count(*) from orders").good(), "0\n");
    assert!(
        psql(&server, "select extra from customer")
            .err
            .contains("does not exist")
    );
}

#[test]
fn options_and_exit_codes() {
    let server = start("psql-exit");
    let said = psql_with(
        &server,
        &["-At", "-c", "select 1; select 2", "-c", "select 3"],
        "",
    );
    assert_eq!(said.out, "1\n2\n3\n");
    assert!(!psql_with(&server, &["-At", "-c", "select wrong"], "").ok);
    assert_eq!(
        psql_with(&server, &["--csv", "-c", "select 1 as a, 'x,y' as b"], "").out,
        "a,b\n1,\"x,y\"\n"
    );
    assert!(
        psql_with(&server, &["-H", "-c", "select 1 as a"], "")
            .out
            .contains("<td align=\"right\">1</td>")
    );
    assert!(psql_with(&server, &["-l"], "").out.contains("List of databases"));
    assert!(
        psql_with(&server, &["-c", "\\c postgres"], "")
            .out
            .contains("You are now connected")
    );
    let said = psql_with(&server, &["-c", "\\password"], "x\ny\n");
    assert!(
        said.err.contains("Passwords didn't match") || !said.ok || said.err.contains("assword"),
        "{said:?}"
    );
}

#[test]
fn settings_show_their_units() {
    let server = start("psql-settings");
    // The defaults are mote's own (COMPAT.md); their form is PostgreSQL's.
    let out = psql_strict(&server, "show work_mem; show statement_timeout; set statement_timeout = 90000; show statement_timeout; reset all; show work_mem").good();
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].ends_with('B'), "{out}");
    assert_eq!(lines[1..4], ["0", "SET", "90s"]);
    assert_eq!(lines[5], lines[0]);
}

/// What psql asks for while one types: completion of names.
#[test]
fn queries_of_tab_completion() {
    let server = start("psql-completion");
    // As psql 15 sends them for `select * from cu<TAB>` and `update customer set b<TAB>`.
    let tables = "SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p') \
        AND (c.relname) LIKE 'cu%' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM \
        pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')\nUNION ALL\nSELECT NULL::pg_catalog.text, n.nspname FROM \
        pg_catalog.pg_namespace n WHERE n.nspname LIKE 'cu%' AND n.nspname NOT LIKE E'pg\\\\_%'\nLIMIT 1000";
    assert_eq!(psql_strict(&server, tables).good(), "customer|\n");
    let columns = "SELECT a.attname FROM pg_catalog.pg_attribute a, pg_catalog.pg_class c WHERE c.oid = a.attrelid and \
        a.attnum > 0 and not a.attisdropped AND (a.attname) LIKE 'b%' AND pg_catalog.pg_table_is_visible(c.oid) AND \
        c.relname = 'customer' ORDER BY 1 LIMIT 1000";
    assert_eq!(psql_strict(&server, columns).good(), "balance\nborn\n");
    let settings = "SELECT pg_catalog.lower(name) FROM pg_catalog.pg_settings WHERE pg_catalog.lower(name) LIKE 'work_m%' ORDER BY 1";
    assert_eq!(psql_strict(&server, settings).good(), "work_mem\n");
}

/// Whatever a role owns or may use in a database goes with it, types among it, so that the role can go, too.
#[test]
fn a_dropped_database_leaves_nothing_to_roles() {
    let server = TestServer::start("psql-dropped-database");
    psql_strict(
        &server,
        "create role owner; create database dropped;
        \\connect dropped
        create type mood as enum ('ok'); alter type mood owner to owner;
        create domain named as text; grant usage on type named to owner;
        create type pair as (a int); create type span as range (subtype = int4); grant usage on type pair, span to owner;
        create schema own authorization owner; create type own.mood as enum ('no'); alter type own.mood owner to owner;
        create table own.kept (m own.mood, p pair); create function own.told(mood) returns int language sql return 1;
        \\connect postgres
        drop database dropped;
        drop role owner;",
    )
    .good();
}
