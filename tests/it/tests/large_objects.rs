//! Large objects from outside: the function call message that libpq's `lo_*` send, compared with a real PostgreSQL 15, and
//! what is left of objects after kill -9. What the functions do in SQL: `sql_differential/scripts/large_objects.sql`.

use std::fmt::Write;

use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::nodes::{compare, follow, value};
use mote_it::postgres::PostgresServer;
use mote_it::server::TemporaryDirectory;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::*;

/// FunctionCall. `formats` of the arguments: none is text.
fn call(function: u32, formats: &[i16], arguments: &[Option<&[u8]>], result: i16) -> Vec<u8> {
    let mut body = function.to_be_bytes().to_vec();
    body.extend_from_slice(&(formats.len() as i16).to_be_bytes());
    formats
        .iter()
        .for_each(|format| body.extend_from_slice(&format.to_be_bytes()));
    body.extend_from_slice(&(arguments.len() as i16).to_be_bytes());
    for argument in arguments {
        match argument {
            None => body.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(bytes) => {
                body.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
                body.extend_from_slice(bytes);
            }
        }
    }
    body.extend_from_slice(&result.to_be_bytes());
    framed(b'F', &body)
}

/// FunctionCall with one binary argument, of which nothing but this length is there.
fn only_length(function: u32, length: i32) -> Vec<u8> {
    let numbers = [1i16, 1, 1].map(i16::to_be_bytes).concat();
    framed(
        b'F',
        &[
            &function.to_be_bytes()[..],
            &numbers,
            &length.to_be_bytes(),
            &[0, 1],
        ]
        .concat(),
    )
}

fn shown(messages: &[Message]) -> String {
    let mut out = String::new();
    // PostgreSQL sends it behind CommandComplete, mote at once.
    for message in messages.iter().filter(|message| message.kind != b'S') {
        let what = match message.kind {
            b'E' | b'N' => {
                let fields = b"SCMDH".iter().filter_map(|code| message.field(*code));
                fields.collect::<Vec<_>>().join(" / ")
            }
            _ => format!("{:?}", message.body),
        };
        let _ = writeln!(out, "{} {what}", message.kind as char);
    }
    out
}

const LO_CREATE: u32 = 715;
const LO_OPEN: u32 = 952;
const LO_CLOSE: u32 = 953;
const LOREAD: u32 = 954;
const LOWRITE: u32 = 955;
const LO_LSEEK: u32 = 956;
const LO_TELL64: u32 = 3171;
const LO_UNLINK: u32 = 964;
/// Without a collation, which a call by number does not have in PostgreSQL.
const REVERSE: u32 = 3062;
const GENERATE_SERIES: u32 = 1067;
const COUNT: u32 = 2147;

/// What is sent, one after the other, each answered up to ReadyForQuery.
fn conversation() -> Vec<Vec<u8>> {
    let number = |n: i32| n.to_be_bytes();
    let write_mode = number(0x0002_0000);
    let object = number(5001);
    let binary = |function, arguments: &[Option<&[u8]>]| call(function, &[1], arguments, 1);
    vec![
        binary(LO_CREATE, &[Some(&object)]),
        // Its own transaction: nothing is open afterwards.
        binary(LO_OPEN, &[Some(&object), Some(&write_mode)]),
        binary(LOWRITE, &[Some(&number(0)), Some(b"lost")]),
        query("begin"),
        binary(LO_OPEN, &[Some(&object), Some(&write_mode)]),
        binary(LOWRITE, &[Some(&number(0)), Some(b"\x00\xffbytes")]),
        call(LO_LSEEK, &[], &[Some(b"0"), Some(b"-5"), Some(b"2")], 0),
        call(LOREAD, &[], &[Some(b"0"), Some(b"100")], 0),
        call(LOREAD, &[1, 0], &[Some(&number(0)), Some(b"100")], 1),
        call(LO_TELL64, &[0], &[Some(b"0")], 1),
        call(LOREAD, &[1], &[Some(&number(0)), None], 1),
        binary(LO_CLOSE, &[Some(&number(0))]),
        query("commit"),
        // Errors, in a block and outside.
        binary(LO_CLOSE, &[Some(&number(0))]),
        query("begin"),
        call(LO_OPEN, &[], &[Some(b"x"), Some(b"1")], 0),
        binary(LO_CREATE, &[Some(&object)]),
        query("rollback"),
        call(99_999_999, &[], &[], 0),
        call(LO_OPEN, &[], &[Some(b"5001")], 0),
        call(LO_OPEN, &[0, 0, 0], &[Some(b"5001"), Some(b"1")], 0),
        call(LO_TELL64, &[7], &[Some(b"0")], 0),
        call(REVERSE, &[], &[Some(b"x")], 7),
        // Lengths: of another type's value, negative, beyond the message.
        binary(LO_TELL64, &[Some(b"12345")]),
        only_length(LO_TELL64, -2),
        only_length(LO_TELL64, i32::MAX),
        framed(b'F', &[0; 3]),
        call(GENERATE_SERIES, &[], &[Some(b"1"), Some(b"3")], 0),
        call(COUNT, &[], &[Some(b"1")], 0),
        // Functions of any kind may be called.
        call(REVERSE, &[], &[Some("h\u{e9}llo".as_bytes())], 0),
        call(REVERSE, &[], &[None], 0),
        // Client encodings.
        query("set client_encoding = latin1"),
        call(REVERSE, &[], &[Some(b"h\xe9llo")], 0),
        query("reset client_encoding"),
        // A client's own unnamed statement stays what it was.
        [parse("", "select 7", &[]), sync()].concat(),
        call(REVERSE, &[], &[Some(b"x")], 0),
        [bind("", "", &[]), execute("", 0), sync()].concat(),
        // After an error of the extended protocol it is skipped like everything else.
        [
            parse("", "no statement", &[]),
            call(REVERSE, &[], &[Some(b"x")], 0),
            sync(),
        ]
        .concat(),
        query("select lo_get(5001)"),
        binary(LO_UNLINK, &[Some(&object)]),
        query("select lo_get(5001)"),
    ]
}

fn answers(server: &TestServer) -> Vec<String> {
    let mut client = RawClient::connect(server);
    conversation()
        .into_iter()
        .map(|message| shown(&client.exchange(&[message])))
        .collect()
}

#[test]
fn functions_are_called_as_in_postgresql() {
    let postgres = PostgresServer::start();
    let expected = answers(&TestServer::in_server(&postgres.url()));
    let mut server = TestServer::start("function-calls");
    let got = answers(&server);
    server.assert_unharmed();
    let mut report = String::new();
    for (number, (expected, got)) in expected.iter().zip(&got).enumerate() {
        if expected != got {
            let _ = write!(
                report,
                "\nmessage {number}\n--- PostgreSQL\n{expected}--- mote\n{got}"
            );
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn a_user_s_function_is_called_if_one_may() {
    let server = TestServer::start("own-function-calls");
    let setup = "create function twice(int) returns int language sql as 'select $1 * 2';
                 create procedure p() language sql as 'select 1';
                 revoke all on function twice(int) from public; create role nobody";
    psql_strict(&server, setup).good();
    let oid = |name: &str| -> u32 {
        let found = value(
            &server,
            &format!("select oid from pg_proc where proname = '{name}'"),
        );
        found.parse().expect("an OID")
    };
    let (twice, procedure) = (oid("twice"), oid("p"));
    let mut client = RawClient::connect(&server);
    let said = client.exchange(&[call(twice, &[], &[Some(b"21")], 0)]);
    assert_eq!((said[0].kind, &said[0].body[4..]), (b'V', &b"42"[..]));
    let refused = "0A000 cannot call function \"p\" via fastpath interface";
    let said = client.exchange(&[call(procedure, &[], &[], 0)]);
    assert_eq!(error(&said).as_deref(), Some(refused));
    client.query("set role nobody");
    let said = client.exchange(&[call(twice, &[], &[Some(b"21")], 0)]);
    assert_eq!(
        error(&said).as_deref(),
        Some("42501 permission denied for function twice")
    );
}

/// Makes objects of 1, 10, .. pages, changes and deletes some, and leaves one transaction open.
const WORK: &str = "
    select lo_from_bytea(9000 + g, convert_to(repeat(md5(g::text), g * 640), 'utf8')) from generate_series(1, 20) g;
    select lo_put(9003, 5000, 'changed'), lo_unlink(9004);
    comment on large object 9005 is 'kept';
    begin; select lo_create(9100), lo_put(9001, 0, 'never'), lo_unlink(9002); rollback;
    begin; select lo_open(9006, 131072), lo_truncate(0, 777); commit;";
const CHECKSUM: &str = "
    select string_agg(format('%s:%s:%s:%s', oid, length(lo_get(oid)), md5(lo_get(oid)), obj_description(oid, 'pg_largeobject')), ' '
        order by oid)
    from pg_largeobject_metadata";

#[test]
fn objects_survive_a_kill_and_what_was_not_committed_does_not() {
    let server = TestServer::start("killed-large-objects");
    psql_strict(&server, WORK).good();
    let expected = value(&server, CHECKSUM);
    let mut open = RawClient::connect(&server);
    open.query("begin");
    open.query("select lo_put(9001, 0, 'never'), lo_unlink(9007), lo_from_bytea(9200, 'never')");
    let (data, directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(value(&server, CHECKSUM), expected);
    // From an image, with log behind it, and numbers that are taken are not given again.
    psql_strict(
        &server,
        "checkpoint; select lo_put(9008, 1, 'after'), lo_create(0) from generate_series(1, 5)",
    )
    .good();
    let expected = value(&server, CHECKSUM);
    let (data, _) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers again");
    assert_eq!(value(&server, CHECKSUM), expected);
    psql_strict(&server, "select lo_create(0) from generate_series(1, 20)").good();
    assert_eq!(
        value(&server, "select count(*) from pg_largeobject_metadata"),
        "44"
    );
    drop(directory);
}

#[test]
fn a_follower_has_the_objects_and_makes_none() {
    let primary = TestServer::start("followed-large-objects");
    let data = TemporaryDirectory::new("followed-large-objects-b");
    let follower = follow(&primary, &data, "b");
    psql_strict(&primary, WORK).good();
    compare(&primary, &follower, &[CHECKSUM]);
    let mut client = RawClient::connect(&follower);
    client.query("begin");
    assert_eq!(client.rows("select lo_open(9001, 262144)"), ["0"]);
    assert_eq!(client.rows("select length(loread(0, 100))"), ["100"]);
    assert_eq!(
        error(&client.query("select lo_create(1)")).as_deref(),
        Some("25006 cannot execute lo_create() during recovery")
    );
}

#[test]
fn writers_keep_an_object_and_readers_see_what_was() {
    let server = TestServer::start("shared-large-objects");
    psql_strict(
        &server,
        "select lo_from_bytea(1, 'first'), lo_from_bytea(2, 'second')",
    )
    .good();
    let mut reader = RawClient::connect(&server);
    let mut writer = RawClient::connect(&server);
    let mut deleter = RawClient::connect(&server);
    let mut observer = RawClient::connect(&server);
    let deleter_pid = pid(&mut deleter);
    reader.query("begin");
    assert_eq!(
        reader.rows("select lo_open(1, 262144), lo_open(2, 262144)"),
        ["0|1"]
    );
    writer.query("begin");
    writer.rows("select lo_put(1, 0, 'FIRST')");
    // Who deletes waits for who writes.
    deleter.send(b'Q', b"select lo_unlink(1)\0");
    await_lock(&mut observer, &deleter_pid);
    writer.query("commit");
    assert_eq!(error(&deleter.until(b'Z')), None);
    assert_eq!(
        error(&writer.query("select lo_get(1)")).as_deref(),
        Some("42704 large object 1 does not exist")
    );
    assert_eq!(
        value(&server, "select count(*) from pg_largeobject where loid = 1"),
        "0"
    );
    // The descriptor's snapshot is older.
    assert_eq!(
        reader.rows("select convert_from(loread(0, 10), 'utf8')"),
        ["first"]
    );
    reader.query("commit");
    // Two write to one page, one after the other: both writes are there.
    writer.query("begin");
    writer.rows("select lo_put(2, 0, 'S')");
    deleter.send(b'Q', b"select lo_put(2, 5, 'D')\0");
    await_lock(&mut observer, &deleter_pid);
    writer.query("commit");
    assert_eq!(error(&deleter.until(b'Z')), None);
    assert_eq!(value(&server, "select convert_from(lo_get(2), 'utf8')"), "SeconD");
}
