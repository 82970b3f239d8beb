//! What no well-behaved client sends: broken messages, impossible lengths, invalid UTF-8, wrong parameters. Each is a
//! clear error with PostgreSQL's SQLSTATE; nothing panics, and other sessions go on unharmed.

use mote_it::bystander::{finish, start};
use mote_it::server::is_oracle;
use mote_it::wire::*;

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
        &[
            0, 0, 0, 17, 0, 3, 0, 0, b'u', b's', b'e', b'r', 0, 0xff, 0xfe, 0, 0,
        ],
    ];
    for bytes in cases {
        let mut client = RawClient::open(&server);
        client.try_raw(bytes);
        client.finish_writing();
        // Some answers have no message at all; what counts is that the connection ends.
        // PostgreSQL says AuthenticationOk before it looks for the role.
        let answer = kinds(&client.until_closed());
        assert!(
            matches!(answer.as_str(), "" | "E" | "RE"),
            "{bytes:?} was answered {answer}"
        );
    }
    // A cancel for nobody, a short cancel, and a password before anything.
    for body in [
        &[4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 2][..],
        &[4, 210, 22, 46, 0, 0],
    ] {
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
        let fatal = messages
            .iter()
            .find(|m| m.kind == b'E')
            .and_then(|m| m.field(b'S'));
        assert_eq!(
            (sqlstate(&messages).as_deref(), fatal.as_deref()),
            (Some("08P01"), Some("FATAL")),
            "{length}"
        );
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
        (
            "Parse with too many types announced",
            framed(b'P', b"\0select 1\0\0\x05\0\0\0\x17"),
        ),
        (
            "Parse with bytes left over",
            framed(b'P', b"\0select 1\0\0\0junk"),
        ),
        (
            "Bind with a length beyond its end",
            framed(b'B', b"\0\0\0\0\0\x01\0\0\xff\xff1"),
        ),
        (
            "Bind with a negative length",
            framed(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\x001\0\0"),
        ),
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
        assert_eq!(
            sqlstate(&messages).as_deref(),
            Some("08P01"),
            "{what}: {messages:?}"
        );
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
    assert_eq!(
        error(&messages).as_deref(),
        Some("22021 invalid byte sequence for encoding \"UTF8\": 0x00")
    );
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
    let bound =
        |client: &mut RawClient, text: &str, types: &[u32], formats: &[i16], values: &[Option<&[u8]>]| {
            let messages = client.exchange(&[
                parse("s", text, types),
                bind_with("", "s", formats, values, &[]),
                execute("", 0),
                sync(),
            ]);
            client.exchange(&[close(b'S', "s"), sync()]);
            error(&messages).unwrap_or_default()
        };
    let expect = "08P01 bind message supplies 1 parameters, but prepared statement \"s\" requires 2";
    assert_eq!(
        bound(&mut client, "select $1::int, $2::int", &[], &[], &[None]),
        expect
    );
    let expect = "08P01 bind message supplies 2 parameters, but prepared statement \"s\" requires 0";
    assert_eq!(bound(&mut client, "select 1", &[], &[], &[None, None]), expect);
    let cases: &[(&str, i16, &[u8], &str)] = &[
        (
            "int4",
            0,
            b"12x",
            "22P02 invalid input syntax for type integer: \"12x\"",
        ),
        (
            "int4",
            0,
            b"",
            "22P02 invalid input syntax for type integer: \"\"",
        ),
        (
            "int4",
            0,
            b"2147483648",
            "22003 value \"2147483648\" is out of range for type integer",
        ),
        (
            "int2",
            0,
            b"40000",
            "22003 value \"40000\" is out of range for type smallint",
        ),
        (
            "int8",
            0,
            b"9223372036854775808",
            "22003 value \"9223372036854775808\" is out of range for type bigint",
        ),
        ("int4", 1, &[0, 0, 1], "08P01 insufficient data left in message"),
        (
            "int4",
            1,
            &[0, 0, 0, 1, 0],
            "22P03 incorrect binary data format in bind parameter 1",
        ),
        (
            "float8",
            0,
            b"1e400",
            "22003 \"1e400\" is out of range for type double precision",
        ),
        (
            "numeric",
            0,
            b"1.2.3",
            "22P02 invalid input syntax for type numeric: \"1.2.3\"",
        ),
        (
            "numeric",
            1,
            &[0, 1, 0, 0, 0x12, 0x34, 0, 0, 0, 1],
            "22P03 invalid sign in external \"numeric\" value",
        ),
        (
            "numeric",
            1,
            &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10],
            "22P03 invalid digit in external \"numeric\" value",
        ),
        (
            "bool",
            0,
            b"maybe",
            "22P02 invalid input syntax for type boolean: \"maybe\"",
        ),
        (
            "date",
            0,
            b"2023-02-29",
            "22008 date/time field value out of range: \"2023-02-29\"",
        ),
        (
            "date",
            0,
            b"soon",
            "22007 invalid input syntax for type date: \"soon\"",
        ),
        (
            "timestamp",
            0,
            b"2023-01-01 25:00",
            "22008 date/time field value out of range: \"2023-01-01 25:00\"",
        ),
        (
            "timestamptz",
            0,
            b"2023-01-01 10:00 Mars/Phobos",
            "22023 time zone \"mars/phobos\" not recognized",
        ),
        (
            "uuid",
            0,
            b"123",
            "22P02 invalid input syntax for type uuid: \"123\"",
        ),
        ("int4[]", 0, b"{1,2", "22P02 malformed array literal: \"{1,2\""),
        (
            "bytea",
            0,
            b"\\xabc",
            "22023 invalid hexadecimal data: odd number of digits",
        ),
        (
            "interval",
            0,
            b"3 parsecs",
            "22007 invalid input syntax for type interval: \"3 parsecs\"",
        ),
        ("json", 0, b"{\"a\":}", "22P02 invalid input syntax for type json"),
        ("jsonb", 1, b"\x07{}", "XX000 unsupported jsonb version number 7"),
    ];
    let mut wrong = Vec::new();
    for (ty, format, value, expect) in cases {
        let text = format!("select $1::{ty}");
        let got = bound(&mut client, &text, &[], &[*format], &[Some(value)]);
        if &got != expect {
            wrong.push(format!(
                "{ty}, format {format}, {value:?}\n    expected {expect}\n    got      {got}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} values:\n{}", wrong.len(), wrong.join("\n"));
    // An array that claims more elements than there are bytes.
    let array = [
        &1i32.to_be_bytes()[..],
        &[0; 4],
        &23i32.to_be_bytes(),
        &i32::MAX.to_be_bytes(),
        &1i32.to_be_bytes(),
    ]
    .concat();
    let got = bound(&mut client, "select $1::int4[]", &[], &[1], &[Some(&array)]);
    assert!(
        got.starts_with("54000") || got.starts_with("08P01") || got.starts_with("22P03"),
        "{got}"
    );
    // Unknown type OIDs.
    let got = bound(&mut client, "select $1", &[999_999], &[], &[None]);
    assert!(got.starts_with("42704") || got.starts_with("XX000"), "{got}");
    finish(server, bystander);
}
