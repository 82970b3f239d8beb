//! What a server must survive: broken messages, wrong values, floods, a full disk. Each is a clear error with
//! PostgreSQL's SQLSTATE; nothing is lost, nothing panics, other sessions go on.

use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{program, psql, psql_strict};
use mote_it::server::{TemporaryDirectory, is_oracle};
use mote_it::wire::*;

/// A server, and a session that must not notice anything.
fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let mut bystander = RawClient::connect(&server);
    bystander.rows("create table kept (id int primary key); insert into kept values (1)");
    bystander.rows("begin; insert into kept values (2)");
    (server, bystander)
}

/// The bystander's open transaction still commits, and the server is well.
fn finish(mut server: TestServer, mut bystander: RawClient) {
    bystander.rows("commit");
    assert_eq!(bystander.rows("select count(*) from kept"), ["2"]);
    server.assert_unharmed();
}

#[test]
fn garbage_instead_of_start_up() {
    let (server, bystander) = start("garbage");
    let cases: &[&[u8]] = &[
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[0, 0, 0, 0],
        &[0, 0, 0, 3, 1],
        &[0, 0, 0, 7, 0, 3, 0],
        &[0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0],
        &[0xff; 64],
        &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03],
        // A name without a value, no terminator, no name at all.
        &[0, 0, 0, 13, 0, 3, 0, 0, b'u', b's', b'e', b'r', 0],
        &[0, 0, 0, 12, 0, 3, 0, 0, b'u', b's', b'e', b'r'],
        &[0, 0, 0, 8, 0, 3, 0, 0],
        // Invalid UTF-8 as a user's name.
        &[0, 0, 0, 17, 0, 3, 0, 0, b'u', b's', b'e', b'r', 0, 0xff, 0xfe, 0, 0],
    ];
    for bytes in cases {
        let mut client = RawClient::open(&server);
        client.try_raw(bytes);
        client.finish_writing();
        // Some answers have no message at all; what counts is that the connection ends.
        // PostgreSQL says AuthenticationOk before it looks for the role.
        let answer = kinds(&client.until_closed());
        assert!(matches!(answer.as_str(), "" | "E" | "RE"), "{bytes:?} was answered {answer}");
    }
    // A cancel for nobody, a short cancel, and a password before anything.
    for body in [&[4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 2][..], &[4, 210, 22, 46, 0, 0]] {
        let mut client = RawClient::open(&server);
        client.untyped(body);
        client.until_closed();
    }
    finish(server, bystander);
}

#[test]
fn oversized_and_impossible_lengths() {
    let (server, bystander) = start("lengths");
    for length in [0u32, 1, 3, 0x4000_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
        let mut client = RawClient::connect(&server);
        let mut bytes = vec![b'Q'];
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(b"select 1\0");
        client.try_raw(&bytes);
        let messages = client.until_closed();
        if is_oracle() {
            continue; // PostgreSQL hangs up, and says why in its own log only.
        }
        let fatal = messages.iter().find(|m| m.kind == b'E').and_then(|m| m.field(b'S'));
        assert_eq!((sqlstate(&messages).as_deref(), fatal.as_deref()), (Some("08P01"), Some("FATAL")), "{length}");
    }
    finish(server, bystander);
}

#[test]
fn unknown_message_types_end_the_connection() {
    let (server, bystander) = start("types");
    for kind in [b'?', 0, 0xff, b'Z', b'R', b'p'] {
        let mut client = RawClient::connect(&server);
        client.try_raw(&framed(kind, b"abc\0"));
        let messages = client.until_closed();
        assert_eq!(sqlstate(&messages).as_deref(), Some("08P01"), "type {kind}");
    }
    finish(server, bystander);
}

#[test]
fn malformed_bodies_leave_the_session_usable() {
    let (server, bystander) = start("bodies");
    let mut client = RawClient::connect(&server);
    let cases: &[(&str, Vec<u8>)] = &[
        ("Parse without a second string", framed(b'P', b"name\0select 1")),
        ("Parse with too many types announced", framed(b'P', b"\0select 1\0\0\x05\0\0\0\x17")),
        ("Parse with bytes left over", framed(b'P', b"\0select 1\0\0\0junk")),
        ("Bind with a length beyond its end", framed(b'B', b"\0\0\0\0\0\x01\0\0\xff\xff1")),
        ("Bind with a negative length", framed(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\x001\0\0")),
        ("Bind with counts only", framed(b'B', b"\0\0\xff\xff")),
        ("Bind that is empty", framed(b'B', b"")),
        ("Describe without a kind", framed(b'D', b"")),
        ("Describe of an unknown kind", framed(b'D', b"X\0")),
        ("Execute without a limit", framed(b'E', b"\0")),
        ("Close of an unknown kind", framed(b'C', b"Q\0")),
        ("Close without a name", framed(b'C', b"S")),
    ];
    for (what, bytes) in cases {
        client.raw(&[parse("", "select $1::int", &[]), bytes.clone(), sync()].concat());
        let messages = client.until(b'Z');
        assert_eq!(sqlstate(&messages).as_deref(), Some("08P01"), "{what}: {messages:?}");
        assert_eq!(messages.last().map(|m| m.kind), Some(b'Z'), "{what}");
    }
    client.raw(&[framed(b'Q', b"select 1"), sync()].concat());
    assert_eq!(sqlstate(&client.until(b'Z')).as_deref(), Some("08P01"));
    client.until(b'Z');
    assert_eq!(client.rows("select 42"), ["42"]);
    finish(server, bystander);
}

#[test]
fn invalid_utf8() {
    let (server, bystander) = start("utf8");
    let mut client = RawClient::connect(&server);
    client.send(b'Q', b"select '\xff\xfe'\0");
    let expect = "22021 invalid byte sequence for encoding \"UTF8\": 0xff";
    assert_eq!(error(&client.until(b'Z')).as_deref(), Some(expect));
    client.send(b'Q', b"select '\xc3\x28'\0");
    let expect = "22021 invalid byte sequence for encoding \"UTF8\": 0xc3 0x28";
    assert_eq!(error(&client.until(b'Z')).as_deref(), Some(expect));
    for formats in [&[0i16][..], &[1]] {
        let messages = client.exchange(&[
            parse("", "select $1::text", &[]),
            bind_with("", "", formats, &[Some(b"\xe2\x82")], &[]),
            execute("", 0),
            sync(),
        ]);
        let expect = "22021 invalid byte sequence for encoding \"UTF8\": 0xe2 0x82";
        assert_eq!(error(&messages).as_deref(), Some(expect));
    }
    // A zero byte cannot be part of text.
    let messages = client.exchange(&[
        parse("", "select $1::text", &[]),
        bind_with("", "", &[1], &[Some(b"a\0b")], &[]),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(error(&messages).as_deref(), Some("22021 invalid byte sequence for encoding \"UTF8\": 0x00"));
    client.rows("create table t (v text)");
    client.raw(&query("copy t from stdin"));
    client.until(b'G');
    client.send(b'd', b"good\n\xf0\x9f\n");
    client.send(b'c', b"");
    assert_eq!(sqlstate(&client.until(b'Z')).as_deref(), Some("22021"));
    client.send(b'P', b"\xff\0select 1\0\0\0");
    client.raw(&sync());
    assert_eq!(client.until(b'Z').last().map(|m| m.kind), Some(b'Z'));
    assert_eq!(client.rows("select count(*) from t"), ["0"]);
    finish(server, bystander);
}

#[test]
fn wrong_parameters() {
    let (server, bystander) = start("parameters");
    let mut client = RawClient::connect(&server);
    let bound = |client: &mut RawClient, text: &str, types: &[u32], formats: &[i16], values: &[Option<&[u8]>]| {
        let messages =
            client.exchange(&[parse("s", text, types), bind_with("", "s", formats, values, &[]), execute("", 0), sync()]);
        client.exchange(&[close(b'S', "s"), sync()]);
        error(&messages).unwrap_or_default()
    };
    let expect = "08P01 bind message supplies 1 parameters, but prepared statement \"s\" requires 2";
    assert_eq!(bound(&mut client, "select $1::int, $2::int", &[], &[], &[None]), expect);
    let expect = "08P01 bind message supplies 2 parameters, but prepared statement \"s\" requires 0";
    assert_eq!(bound(&mut client, "select 1", &[], &[], &[None, None]), expect);
    let cases: &[(&str, i16, &[u8], &str)] = &[
        ("int4", 0, b"12x", "22P02 invalid input syntax for type integer: \"12x\""),
        ("int4", 0, b"", "22P02 invalid input syntax for type integer: \"\""),
        ("int4", 0, b"2147483648", "22003 value \"2147483648\" is out of range for type integer"),
        ("int2", 0, b"40000", "22003 value \"40000\" is out of range for type smallint"),
        ("int8", 0, b"9223372036854775808", "22003 value \"9223372036854775808\" is out of range for type bigint"),
        ("int4", 1, &[0, 0, 1], "08P01 insufficient data left in message"),
        ("int4", 1, &[0, 0, 0, 1, 0], "22P03 incorrect binary data format in bind parameter 1"),
        ("float8", 0, b"1e400", "22003 \"1e400\" is out of range for type double precision"),
        ("numeric", 0, b"1.2.3", "22P02 invalid input syntax for type numeric: \"1.2.3\""),
        ("numeric", 1, &[0, 1, 0, 0, 0x12, 0x34, 0, 0, 0, 1], "22P03 invalid sign in external \"numeric\" value"),
        ("numeric", 1, &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10], "22P03 invalid digit in external \"numeric\" value"),
        ("bool", 0, b"maybe", "22P02 invalid input syntax for type boolean: \"maybe\""),
        ("date", 0, b"2023-02-29", "22008 date/time field value out of range: \"2023-02-29\""),
        ("date", 0, b"soon", "22007 invalid input syntax for type date: \"soon\""),
        ("timestamp", 0, b"2023-01-01 25:00", "22008 date/time field value out of range: \"2023-01-01 25:00\""),
        ("timestamptz", 0, b"2023-01-01 10:00 Mars/Phobos", "22023 time zone \"mars/phobos\" not recognized"),
        ("uuid", 0, b"123", "22P02 invalid input syntax for type uuid: \"123\""),
        ("int4[]", 0, b"{1,2", "22P02 malformed array literal: \"{1,2\""),
        ("bytea", 0, b"\\xabc", "22023 invalid hexadecimal data: odd number of digits"),
        ("interval", 0, b"3 parsecs", "22007 invalid input syntax for type interval: \"3 parsecs\""),
        ("json", 0, b"{\"a\":}", "22P02 invalid input syntax for type json"),
        ("jsonb", 1, b"\x07{}", "XX000 unsupported jsonb version number 7"),
    ];
    let mut wrong = Vec::new();
    for (ty, format, value, expect) in cases {
        let text = format!("select $1::{ty}");
        let got = bound(&mut client, &text, &[], &[*format], &[Some(value)]);
        if &got != expect {
            wrong.push(format!("{ty}, format {format}, {value:?}\n    expected {expect}\n    got      {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} values:\n{}", wrong.len(), wrong.join("\n"));
    // An array that claims more elements than there are bytes.
    let array = [&1i32.to_be_bytes()[..], &[0; 4], &23i32.to_be_bytes(), &i32::MAX.to_be_bytes(), &1i32.to_be_bytes()].concat();
    let got = bound(&mut client, "select $1::int4[]", &[], &[1], &[Some(&array)]);
    assert!(got.starts_with("54000") || got.starts_with("08P01") || got.starts_with("22P03"), "{got}");
    // Unknown type OIDs.
    let got = bound(&mut client, "select $1", &[999_999], &[], &[None]);
    assert!(got.starts_with("42704") || got.starts_with("XX000"), "{got}");
    finish(server, bystander);
}

/// SQLSTATE, message and position of statements that must fail.
#[test]
fn statements_that_must_fail() {
    let (server, bystander) = start("statements");
    let mut client = RawClient::connect(&server);
    client.rows(
        "create table t (id int primary key, s smallint, n numeric(5,2), v varchar(3), c char(2), r int references t);
         insert into t values (1, 1, 1, 'a', 'b', null)",
    );
    let mut wrong = Vec::new();
    for (text, state, message, position) in [
        ("selec 1", "42601", "syntax error at or near \"selec\"", Some(1)),
        ("select 1 from", "42601", "syntax error at end of input", Some(14)),
        ("select * from t where", "42601", "syntax error at end of input", Some(22)),
        ("select 'abc", "42601", "unterminated quoted string at or near \"'abc\"", Some(8)),
        ("select \"abc", "42601", "unterminated quoted identifier at or near \"\"abc\"", Some(8)),
        ("select /* abc", "42601", "unterminated /* comment at or near \"/* abc\"", Some(8)),
        ("select $$abc", "42601", "unterminated dollar-quoted string at or near \"$$abc\"", Some(8)),
        ("select 1a", "42601", "trailing junk after numeric literal at or near \"1a\"", Some(8)),
        ("select nothing from t", "42703", "column \"nothing\" does not exist", Some(8)),
        ("select t.nothing from t", "42703", "column t.nothing does not exist", Some(8)),
        ("select x.id from t", "42P01", "missing FROM-clause entry for table \"x\"", Some(8)),
        ("select * from nowhere", "42P01", "relation \"nowhere\" does not exist", Some(15)),
        ("select * from no.where", "42P01", "relation \"no.where\" does not exist", Some(15)),
        ("select id from t a, t b", "42702", "column reference \"id\" is ambiguous", Some(8)),
        ("select * from t, t", "42712", "table name \"t\" specified more than once", None),
        ("select nofunction(1)", "42883", "function nofunction(integer) does not exist", Some(8)),
        ("select 1 + true", "42883", "operator does not exist: integer + boolean", Some(10)),
        ("select 1 = 'x'", "22P02", "invalid input syntax for type integer: \"x\"", Some(12)),
        ("select 1 where 1", "42804", "argument of WHERE must be type boolean, not type integer", Some(16)),
        ("select count(*) from t where count(*) > 1", "42803", "aggregate functions are not allowed in WHERE", Some(30)),
        ("select id, count(*) from t group by v", "42803",
         "column \"t.id\" must appear in the GROUP BY clause or be used in an aggregate function", Some(8)),
        ("select sum(sum(id)) from t", "42803", "aggregate function calls cannot be nested", Some(12)),
        ("select 1 union select 1, 2", "42601", "each UNION query must have the same number of columns", Some(23)),
        ("select 1 union select 'x'::text", "42804", "UNION types integer and text cannot be matched", Some(23)),
        ("select (select 1, 2)", "42601", "subquery must return only one column", Some(8)),
        ("select (select generate_series(1, 2))", "21000",
         "more than one row returned by a subquery used as an expression", None),
        ("select * from t order by 7", "42P10", "ORDER BY position 7 is not in select list", Some(26)),
        ("select 1/0", "22012", "division by zero", None),
        ("select 1 % 0", "22012", "division by zero", None),
        ("select 1.0/0", "22012", "division by zero", None),
        ("select 1::float8/0", "22012", "division by zero", None),
        ("select 2147483647 + 1", "22003", "integer out of range", None),
        ("select -2147483648 - 1", "22003", "integer out of range", None),
        ("select 65536 * 65536", "22003", "integer out of range", None),
        ("select 9223372036854775807 + 1", "22003", "bigint out of range", None),
        ("select (-32768)::int2 / (-1)::int2", "22003", "smallint out of range", None),
        ("select 70000::int2", "22003", "smallint out of range", None),
        ("select 1e20::int8", "22003", "bigint out of range", None),
        ("select 1e300::float8 * 1e300", "22003", "value out of range: overflow", None),
        ("select abs((-2147483648)::int)", "22003", "integer out of range", None),
        ("select -((-2147483648)::int)", "22003", "integer out of range", None),
        ("select 10::numeric ^ 200000", "22003", "value overflows numeric format", None),
        ("select sqrt(-1)", "2201F", "cannot take square root of a negative number", None),
        ("select ln(0)", "2201E", "cannot take logarithm of zero", None),
        ("insert into t values (2, 70000)", "22003", "smallint out of range", None),
        ("insert into t (id, n) values (2, 1000)", "22003", "numeric field overflow", None),
        ("insert into t (id, v) values (2, 'abcd')", "22001", "value too long for type character varying(3)", None),
        ("insert into t (id, c) values (2, 'abc')", "22001", "value too long for type character(2)", None),
        ("insert into t values (1)", "23505", "duplicate key value violates unique constraint \"t_pkey\"", None),
        ("insert into t (id) values (null)", "23502",
         "null value in column \"id\" of relation \"t\" violates not-null constraint", None),
        ("insert into t (id, r) values (2, 99)", "23503",
         "insert or update on table \"t\" violates foreign key constraint \"t_r_fkey\"", None),
        ("insert into t values (1, 2, 3, 'a', 'b', 1, 7)", "42601", "INSERT has more expressions than target columns", Some(45)),
        ("insert into t (id, id) values (1, 2)", "42701", "column \"id\" specified more than once", Some(20)),
        ("insert into t (id) values ('x')", "22P02", "invalid input syntax for type integer: \"x\"", Some(28)),
        ("insert into t (id) values (true)", "42804", "column \"id\" is of type integer but expression is of type boolean", Some(28)),
        ("update t set nothing = 1", "42703", "column \"nothing\" of relation \"t\" does not exist", Some(14)),
        ("update t set id = 1, id = 2", "42601", "multiple assignments to same column \"id\"", None),
        ("create table t (a int)", "42P07", "relation \"t\" already exists", None),
        ("create table u (a int, a int)", "42701", "column \"a\" specified more than once", None),
        ("create table u (a nosuchtype)", "42704", "type \"nosuchtype\" does not exist", Some(19)),
        ("create table u (a varchar(0))", "22023", "length for type varchar must be at least 1", Some(19)),
        ("create table u (a numeric(2000))", "22023", "NUMERIC precision 2000 must be between 1 and 1000", Some(19)),
        ("create table u (a int primary key, b int primary key)", "42P16",
         "multiple primary keys for table \"u\" are not allowed", Some(42)),
        ("create table u (a int references t (v))", "42830",
         "there is no unique constraint matching given keys for referenced table \"t\"", None),
        ("create table u (a int references nowhere)", "42P01", "relation \"nowhere\" does not exist", None),
        ("create index on t (nothing)", "42703", "column \"nothing\" does not exist", None),
        ("drop table nowhere", "42P01", "table \"nowhere\" does not exist", None),
        ("alter table t add column id int", "42701", "column \"id\" of relation \"t\" already exists", None),
        ("alter table t drop column nothing", "42703", "column \"nothing\" of relation \"t\" does not exist", None),
        ("set no_such_setting = 1", "42704", "unrecognized configuration parameter \"no_such_setting\"", None),
        ("set work_mem = 'much'", "22023", "invalid value for parameter \"work_mem\": \"much\"", None),
        ("show no_such_setting", "42704", "unrecognized configuration parameter \"no_such_setting\"", None),
        ("execute nothing", "26000", "prepared statement \"nothing\" does not exist", None),
        ("fetch from nothing", "34000", "cursor \"nothing\" does not exist", None),
        ("savepoint a", "25P01", "SAVEPOINT can only be used in transaction blocks", None),
        ("declare c cursor for select 1", "25P01", "DECLARE CURSOR can only be used in transaction blocks", None),
        ("lock table t", "25P01", "LOCK TABLE can only be used in transaction blocks", None),
        ("select substring('abc' from 1 for -1)", "22011", "negative substring length not allowed", None),
        ("select chr(0)", "54000", "null character not permitted", None),
        ("select repeat('x', 2000000000)", "54000", "requested length too large", None),
        ("select array[1,2] || 'x'", "22P02", "malformed array literal: \"x\"", Some(22)),
        ("select 'ab' like 'a\\'", "22025", "LIKE pattern must not end with escape character", None),
        ("select 'a' ~ '('", "2201B", "invalid regular expression: parentheses () not balanced", None),
        ("select to_date('2023-13-01', 'YYYY-MM-DD')", "22008", "date/time field value out of range: \"2023-13-01\"", None),
        ("select 1 limit -1", "2201W", "LIMIT must not be negative", None),
        ("select 1 offset -1", "2201X", "OFFSET must not be negative", None),
        ("values (1, 2), (3)", "42601", "VALUES lists must all be the same length", Some(17)),
        ("select generate_series(1, 10, 0)", "22023", "step size cannot equal zero", None),
        ("insert into t (id) values (5), (5)", "23505", "duplicate key value violates unique constraint \"t_pkey\"", None),
        ("delete from t where id = (select id from nowhere)", "42P01", "relation \"nowhere\" does not exist", Some(42)),
        ("with recursive x as (select 1 union all select * from x) select 1 from x, y", "42P01", "relation \"y\" does not exist", Some(75)),
    ] {
        let messages = client.query(text);
        match messages.iter().find(|m| m.kind == b'E') {
            None => wrong.push(format!("{text}\n    no error")),
            Some(error) => {
                let position_got = error.field(b'P').map(|p| p.parse::<usize>().expect("a number"));
                let got = (error.field(b'C'), error.field(b'M'), position_got);
                let expect = (Some(state.to_string()), Some(message.to_string()), position);
                if got != expect {
                    wrong.push(format!("{text}\n    expected {expect:?}\n    got      {got:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} statements:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(client.rows("select count(*) from t"), ["1"]);
    finish(server, bystander);
}

#[test]
fn deep_and_long_statements() {
    let (server, bystander) = start("deep");
    let mut client = RawClient::connect(&server);
    let nested = |depth: usize| format!("select {}1{}", "(".repeat(depth), ")".repeat(depth));
    let selects = |depth: usize| format!("{}select 1{}", "select (".repeat(depth), ")".repeat(depth));
    let nots = |depth: usize| format!("select {} true", "not ".repeat(depth));
    let sums = |depth: usize| format!("select 1{}", " + 1".repeat(depth));
    let cases = |depth: usize| format!("select {}0{}", "case when true then ".repeat(depth), " end".repeat(depth));
    for text in [nested(300), selects(30), nots(300), sums(900), cases(100)] {
        let messages = client.query(&text);
        assert_eq!(error(&messages), None, "{} bytes: {}", text.len(), &text[..40]);
    }
    // Far beyond any stack: an error or an answer, never a crash.
    for text in [nested(200_000), selects(50_000), nots(200_000), sums(500_000), cases(100_000)] {
        let messages = client.query(&text);
        let state = sqlstate(&messages);
        assert!(
            matches!(state.as_deref(), None | Some("54001" | "54000" | "53200" | "42601")),
            "{} bytes: {:?}",
            text.len(),
            error(&messages)
        );
        assert_eq!(messages.last().map(|m| m.kind), Some(b'Z'));
    }
    let list = (0..100_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(client.rows(&format!("select count(*) from kept where id in ({list})")), ["1"]);
    finish(server, bystander);
}

#[test]
fn connection_floods() {
    let mut server = TestServer::start_with("flood", &["--max-connections", "20"]);
    let mut bystander = RawClient::connect(&server);
    let mut open: Vec<RawClient> = (0..19).map(|_| RawClient::connect(&server)).collect();
    for _ in 0..5 {
        let mut client = RawClient::open(&server);
        client.start_up(&[("user", "postgres"), ("database", "postgres")]);
        let messages = client.until_closed();
        assert_eq!(error(&messages).as_deref(), Some("53300 sorry, too many clients already"));
    }
    let said = psql(&server, "select 1");
    assert!(said.err.contains("sorry, too many clients already"), "{}", said.err);
    assert_eq!(bystander.rows("select 1"), ["1"]);
    // Each that leaves makes room.
    open.truncate(10);
    let deadline = Instant::now() + Duration::from_secs(5);
    while !psql(&server, "select 1").ok {
        assert!(Instant::now() < deadline, "the places of closed connections are not free again");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Cancel requests are served even when all places are taken.
    while open.len() < 19 {
        open.push(RawClient::connect(&server));
    }
    bystander.raw(&query("select pg_sleep(30)"));
    std::thread::sleep(Duration::from_millis(100));
    let mut cancel = RawClient::open(&server);
    cancel.untyped(&[80_877_102u32.to_be_bytes().to_vec(), bystander.key_data.clone()].concat());
    assert_eq!(sqlstate(&bystander.until(b'Z')).as_deref(), Some("57014"));
    drop(open);
    drop(bystander);
    // Connections that never say anything, and ones that hang up at once.
    let silent: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(server.address).ok()).collect();
    drop(silent);
    for _ in 0..500 {
        drop(TcpStream::connect(server.address));
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    while !psql(&server, "select 1").ok {
        assert!(Instant::now() < deadline, "the flood left no place");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.assert_unharmed();
}

#[test]
fn memory_runs_out() {
    let mut server = TestServer::start_with("memory", &["--memory", "64MB"]);
    psql_strict(&server, "create table t (id int primary key, v text); insert into t values (0, 'first')").good();
    // Values that no compression or sharing makes small.
    let grow = "insert into t select g, repeat(md5(g::text), 32) from generate_series(1, 500000) g";
    let said = psql(&server, &format!("\\set VERBOSITY verbose\n{grow};"));
    assert!(said.err.starts_with("ERROR:  53200:"), "{}{}", said.out, said.err);
    // Reads, deletes and small writes go on once the failed statement has let its memory go.
    assert_eq!(psql(&server, "select count(*) from t").good().trim(), "1");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !psql_strict(&server, "insert into t values (-1, 'after')").ok {
        assert!(Instant::now() < deadline, "memory did not come back; {}", psql(&server, "insert into t values (-2, 'x')").err);
        std::thread::sleep(Duration::from_millis(100));
    }
    server.assert_unharmed();
}

/// A mounted tmpfs, unmounted when dropped.
struct SmallDisk(TemporaryDirectory);

impl SmallDisk {
    /// None only where the environment says that a mount is impossible here; else a failed mount fails the test.
    fn mount(megabytes: u32) -> Option<SmallDisk> {
        let directory = TemporaryDirectory::new("small-disk");
        let path = directory.path().display().to_string();
        let size = format!("size={megabytes}m");
        let said = program("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &path], Path::new("/"), "install mount");
        if said.ok {
            return Some(SmallDisk(directory));
        }
        if std::env::var("MOTE_IT_NO_MOUNT").is_ok_and(|v| v == "1") {
            eprintln!("no mount is possible here, as MOTE_IT_NO_MOUNT says: the full disk was not tested");
            return None;
        }
        panic!("mount failed: {}\nrun as root, or set MOTE_IT_NO_MOUNT=1 to go without this test", said.err);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = self.0.path().display().to_string();
        let _ = program("umount", &["-l", &path], Path::new("/"), "install mount");
    }
}

#[test]
fn full_disk() {
    const DISK_MB: u32 = 96;
    let Some(disk) = SmallDisk::mount(DISK_MB) else { return };
    let data = disk.0.path().join("data");
    let server = match TestServer::open(&data, &[]) {
        Ok(server) => server,
        // A log larger than the disk is refused at the start, in words.
        Err(said) => panic!("the server does not start on a disk of {DISK_MB} MB: {said}"),
    };
    psql_strict(&server, "create table t (id int primary key, v text)").good();
    // Each line is acknowledged before the next is sent.
    let mut acknowledged = 0;
    let mut client = RawClient::connect(&server);
    let mut failure = None;
    for id in 1..=400 {
        // 512 kB that do not compress.
        let insert = format!("insert into t select {id}, string_agg(md5(({id} * 20000 + g)::text), '') from generate_series(1, 16000) g");
        client.try_raw(&query(&insert));
        let messages = client.until(b'Z');
        match error(&messages) {
            None if tags(&messages) == ["INSERT 0 1"] => acknowledged = id,
            got => {
                failure = Some(got);
                break;
            }
        }
    }
    assert!(acknowledged > 0, "nothing fits on the disk");
    let failure = failure.expect("200 MB do not fit on the disk");
    if let Some(error) = &failure {
        assert!(error.starts_with("53100") || error.starts_with("58030") || error.starts_with("57P0"), "{error}");
    }
    // Whether the server goes on reading or stops: it says why, and nothing acknowledged is lost.
    drop(client);
    let mut server = server;
    if server.is_running() && psql(&server, "select 1").ok {
        let count = psql(&server, "select count(*) from t").good();
        assert!(count.trim().parse::<u32>().expect("a number") >= acknowledged);
        drop(server.kill());
    } else {
        server.await_log("No space left on device");
        drop(server);
    }
    // More space, and it starts again with everything that was acknowledged.
    let path = disk.0.path().display().to_string();
    let remount = program("mount", &["-o", "remount,size=1g", &path], Path::new("/"), "install mount");
    assert!(remount.ok, "{}", remount.err);
    let mut server = TestServer::open(&data, &[]).expect("the server starts once there is space");
    let row = psql(&server, "select count(*), max(id), min(length(v)), max(length(v)) from t").good();
    let columns: Vec<u32> = row.trim().split('|').map(|c| c.parse().expect("a number")).collect();
    assert!(columns[0] >= acknowledged && columns[0] <= acknowledged + 1, "{acknowledged} acknowledged, {row}");
    assert_eq!((columns[0], columns[2], columns[3]), (columns[1], 512_000, 512_000));
    psql_strict(&server, "insert into t values (100000, 'after')").good();
    server.assert_unharmed();
    server.stop();
}
