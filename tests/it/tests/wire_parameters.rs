//! Parameters of statements of every kind, through the extended protocol, on mote and on a real PostgreSQL 15: types
//! that are described, formats, rows and errors. What mote decided otherwise is not asked here.

use std::fmt::Write;

use mote_it::TestServer;
use mote_it::postgres::PostgresServer;
use mote_it::wire::*;

/// A statement with what its client declares and binds.
struct Sent {
    text: &'static str,
    types: &'static [u32],
    values: &'static [Option<&'static str>],
}

const fn sent(text: &'static str, types: &'static [u32], values: &'static [Option<&'static str>]) -> Sent {
    Sent { text, types, values }
}

const INFERRED: u32 = 0;
const INT8: u32 = 20;
const INT4: u32 = 23;
const TEXT: u32 = 25;
const VOID: u32 = 2278;

/// Runs each after the other on a connection, and writes down all that comes.
fn answers(server: &TestServer, setup: &[&str], statements: &[Sent]) -> Vec<String> {
    let mut client = RawClient::connect(server);
    for text in setup {
        let said = client.query(text);
        assert_eq!(error(&said), None, "{text}");
    }
    statements.iter().map(|sent| answer(&mut client, sent)).collect()
}

fn answer(client: &mut RawClient, sent: &Sent) -> String {
    let values: Vec<Option<&[u8]>> = sent.values.iter().map(|value| value.map(str::as_bytes)).collect();
    let messages = client.exchange(&[
        parse("", sent.text, sent.types),
        describe(b'S', ""),
        bind_with("", "", &[], &values, &[]),
        describe(b'P', ""),
        execute("", 0),
        sync(),
    ]);
    shown(&messages)
}

fn shown(messages: &[Message]) -> String {
    let mut out = String::new();
    for message in messages {
        let kind = message.kind as char;
        let what = match message.kind {
            b'E' | b'N' => {
                let fields = b"SCMDHPW".iter().filter_map(|code| message.field(*code));
                fields.collect::<Vec<_>>().join(" / ")
            }
            b'T' => format!("{:?}", message.described()),
            b'D' => text_rows(std::slice::from_ref(message)).concat(),
            b't' => format!("{:?}", &message.body[2..]),
            _ => String::from_utf8_lossy(&message.body).into_owned(),
        };
        let _ = writeln!(out, "{kind} {what}");
    }
    out
}

fn compare(name: &str, setup: &[&str], statements: &[Sent]) {
    let postgres = PostgresServer::start();
    let expected = answers(&TestServer::in_server(&postgres.url()), setup, statements);
    let got = answers(&TestServer::start(name), setup, statements);
    let mut report = String::new();
    for ((sent, expected), got) in statements.iter().zip(&expected).zip(&got) {
        if expected != got {
            let text = sent.text;
            let _ = write!(
                report,
                "\n{text} {:?}\n--- PostgreSQL\n{expected}--- mote\n{got}",
                sent.types
            );
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn of_utility_statements() {
    const SEVEN: &[Option<&str>] = &[Some("7")];
    compare(
        "utility-parameters",
        &[
            "create table t (a int)",
            "prepare one (int) as select $1 as a",
            "begin; declare held cursor with hold for select 1 as a, 2 as b; commit",
        ],
        &[
            sent(
                "create table made as select $1::int as a, $2 as b",
                &[],
                &[Some("1"), Some("x")],
            ),
            sent("table made", &[], &[]),
            sent("create view v as select $1::int", &[], SEVEN),
            sent("explain (costs off) insert into t values ($1)", &[], SEVEN),
            sent(
                "explain (costs off) create table explained as select $1::int",
                &[],
                SEVEN,
            ),
            sent(
                "declare c cursor with hold for select $1 || $2",
                &[],
                &[Some("a"), Some("b")],
            ),
            sent("fetch all from c", &[], &[]),
            sent("declare d cursor with hold for select $1 + 1", &[INT8], SEVEN),
            sent("fetch all from d", &[], &[]),
            // What takes no parameters is told of those that were declared, and fails where it uses one.
            sent("execute one (5)", &[], &[]),
            sent("execute one (5)", &[INT4], SEVEN),
            sent("execute one ($1)", &[], SEVEN),
            sent("execute one ($1)", &[INT4], SEVEN),
            sent("explain (costs off, verbose) execute one ($1)", &[INT4], SEVEN),
            sent("copy (select $1) to stdout", &[INT4], SEVEN),
            sent("copy (select $1) to stdout", &[INFERRED], SEVEN),
            sent("prepare two as select $1::int", &[], SEVEN),
            sent("set work_mem to $1", &[], SEVEN),
            sent("vacuum t", &[INT4, TEXT], &[Some("1"), Some("2")]),
            sent("vacuum t", &[], SEVEN),
            sent("begin", &[INT4], SEVEN),
            sent("commit", &[INFERRED], SEVEN),
            sent("commit", &[], &[]),
            // What is not there is missed when it is used.
            sent("fetch all from held", &[], &[]),
            sent("fetch all from nocursor", &[], &[]),
            sent("move 1 in nocursor", &[], &[]),
            sent("close nocursor", &[], &[]),
            sent("execute nostatement", &[], &[]),
            sent("deallocate nostatement", &[], &[]),
        ],
    );
}

#[test]
fn of_calls() {
    const ONE_AND_X: &[Option<&str>] = &[Some("1"), Some("x")];
    const ONE_AND_NULL: &[Option<&str>] = &[Some("1"), None];
    compare(
        "call-parameters",
        &[
            "create procedure told (a int, b text default 'none') language plpgsql
                as $$ begin raise notice '% %', a, b; end $$",
            "create procedure raised (inout a int, b text) language plpgsql as $$ begin a := a + 1; end $$",
            "create procedure next (a int, out b int, out c text) language plpgsql
                as $$ begin b := a + 1; c := 'c'; end $$",
            "create procedure either (a int) language plpgsql as $$ begin raise notice 'int'; end $$",
            "create procedure either (a text) language plpgsql as $$ begin raise notice 'text'; end $$",
            "create table kept (a int)",
            "create procedure twice (a int) language plpgsql
                as $$ begin insert into kept values (a); commit; insert into kept values (a + 1); rollback; end $$",
            "create function plus (a int) returns int language sql as 'select a + 1'",
        ],
        &[
            sent("call told($1)", &[], &[Some("1")]),
            sent("call told($1, $2)", &[], ONE_AND_X),
            sent("call told(b => $2, a => $1)", &[INT4, TEXT], ONE_AND_X),
            sent("call told($1 + $1, $2 || $1::text)", &[INT4], ONE_AND_X),
            sent("call told(1)", &[INT4], &[Some("1")]),
            sent("call told($1)", &[], &[Some("x")]),
            sent("call told($1)", &[TEXT], &[Some("1")]),
            sent("call told($2)", &[INT4], ONE_AND_X),
            sent("call raised($1, $2)", &[], ONE_AND_X),
            sent("call raised($1, $2)", &[VOID, TEXT], &[None, Some("x")]),
            sent("call next($1, $2, $3)", &[], &[Some("1"), None, None]),
            sent(
                "call next($1, $2, $3)",
                &[INT4, VOID, VOID],
                &[Some("1"), None, None],
            ),
            sent("call next($1, null, $2)", &[], ONE_AND_NULL),
            sent(
                "call next(c => $1, b => $2, a => $3)",
                &[],
                &[None, None, Some("1")],
            ),
            sent("call next($1)", &[], &[Some("1")]),
            sent("call either($1)", &[], &[Some("1")]),
            sent("call either($1)", &[INT4], &[Some("1")]),
            sent("call either('x')", &[], &[]),
            sent("call twice($1)", &[], &[Some("1")]),
            sent("table kept", &[], &[]),
            sent("call plus($1)", &[], &[Some("1")]),
            sent("call now()", &[], &[]),
            sent("call nothing($1)", &[], &[Some("1")]),
            sent("call told((select $1))", &[INT4], &[Some("1")]),
        ],
    );
}

/// JDBC declares the place of a function's result as void: `{?= call f(?)}` is `select * from f($1,$2) as result`.
#[test]
fn of_type_void() {
    const NULL_AND_7: &[Option<&str>] = &[None, Some("7")];
    const SEVEN_AND_NULL: &[Option<&str>] = &[Some("7"), None];
    compare(
        "void-parameters",
        &["create function plus (a int) returns int language sql as 'select a + 1'"],
        &[
            sent("select * from plus($1,$2) as result", &[VOID, INT4], NULL_AND_7),
            sent("select plus($1, $2)", &[INT4, VOID], SEVEN_AND_NULL),
            sent("select plus($1, $2)", &[INFERRED, VOID], SEVEN_AND_NULL),
            sent(
                "select plus($1, $2)",
                &[VOID, INT4],
                &[Some("not looked at"), Some("7")],
            ),
            sent("select plus(($1), $2)", &[VOID, INT4], NULL_AND_7),
            sent("select abs($1, $2), upper($1, 'x')", &[VOID, INT4], NULL_AND_7),
            sent("select count($1, $2), sum($2, $1)", &[VOID, INT4], NULL_AND_7),
            sent("select row_number($1) over ()", &[VOID], &[None]),
            sent(
                "select * from generate_series($1, $2, $2)",
                &[VOID, INT4],
                NULL_AND_7,
            ),
            sent("select now($1) is null", &[VOID], &[None]),
            sent("select coalesce($1, $2)", &[INT4, VOID], SEVEN_AND_NULL),
            sent("select $1", &[VOID], &[None]),
            sent("select $1::int", &[VOID], &[None]),
            sent("select 1 + $1", &[VOID], &[None]),
            sent("select plus($1, $2)", &[INT4, INT4], SEVEN_AND_NULL),
        ],
    );
}

/// Objects by name: as parameters of their own types, inside arrays, and as texts that are cast.
#[test]
fn of_object_names() {
    const REGCLASS: u32 = 2205;
    const REGTYPE: u32 = 2206;
    const REGCLASSES: u32 = 2210;
    compare(
        "object names",
        &[
            "create table known (id int)",
            "create table \"Odd name\" (id int)",
        ],
        &[
            sent("select $1::regclass", &[INFERRED], &[Some("known")]),
            sent(
                "select cast($1 as regclass)::text",
                &[INFERRED],
                &[Some("\"Odd name\"")],
            ),
            sent("select $1::regclass", &[TEXT], &[Some("known")]),
            sent("select $1::regclass", &[REGCLASS], &[Some("pg_class")]),
            sent("select $1::regclass", &[REGCLASS], &[Some("1259")]),
            sent("select $1::regclass", &[REGCLASS], &[Some("-")]),
            sent("select $1::regclass", &[REGCLASS], &[None]),
            sent("select $1::regclass", &[REGCLASS], &[Some("nothing")]),
            sent(
                "select $1::regclass[]",
                &[INFERRED],
                &[Some("{known,pg_class,NULL}")],
            ),
            sent(
                "select 'known'::regclass = any($1)",
                &[REGCLASSES],
                &[Some("{known}")],
            ),
            sent(
                "select $1, $2::regtype",
                &[REGTYPE, INFERRED],
                &[Some("int4"), Some("varchar")],
            ),
            sent(
                "select $1::regproc, $2::regprocedure",
                &[INFERRED, INFERRED],
                &[Some("now"), Some("abs(integer)")],
            ),
            sent(
                "select $1::regnamespace, $2::regrole",
                &[INFERRED, INFERRED],
                &[Some("public"), Some("nobody at all")],
            ),
            sent(
                "select relname from pg_class where oid = $1::regclass",
                &[INFERRED],
                &[Some("known")],
            ),
        ],
    );
}
