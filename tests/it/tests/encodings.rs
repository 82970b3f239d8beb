//! Clients whose text is not UTF-8. What goes over the wire is compared byte by byte; every expectation holds for
//! PostgreSQL 15 too (`MOTE_IT_TARGET`).

use mote_it::TestServer;
use mote_it::wire::*;

/// A session with this encoding, and how the server names it.
fn session(server: &TestServer, encoding: &str) -> (RawClient, Option<String>) {
    let mut client = RawClient::open(server);
    client.start_up(&[
        ("user", server.user()),
        ("database", server.database()),
        ("client_encoding", encoding),
    ]);
    let named = reported(&client.until(b'Z'));
    (client, named)
}

/// The last client_encoding among messages.
fn reported(messages: &[Message]) -> Option<String> {
    let statuses = messages.iter().filter(|message| message.kind == b'S');
    let mut named = statuses.filter_map(|message| {
        let mut parts = message.body.split(|&byte| byte == 0);
        let value = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        (parts.next() == Some(b"client_encoding")).then(|| parts.next().map(value))?
    });
    named.next_back()
}

/// A statement in bytes.
fn raw_query(client: &mut RawClient, text: &[u8]) -> Vec<Message> {
    let query = framed(b'Q', &[text, &[0]].concat());
    client.raw(&query);
    client.until(b'Z')
}

/// The only column of the only row.
fn value(messages: &[Message]) -> Vec<u8> {
    let row = messages.iter().find(|message| message.kind == b'D');
    let row = row.unwrap_or_else(|| panic!("no row: {:?}", error(messages)));
    row.columns()[0].clone().expect("a value")
}

#[test]
fn names_at_the_start_and_later() {
    let server = TestServer::start("encoding_names");
    for (asked, name) in [
        ("latin1", "LATIN1"),
        ("iso-8859-15", "LATIN9"),
        ("windows-1251", "WIN1251"),
        ("Shift_JIS", "SJIS"),
        ("utf-8", "UTF8"),
        ("UNICODE", "UNICODE"),
        ("sql_ascii", "SQL_ASCII"),
    ] {
        assert_eq!(session(&server, asked).1.as_deref(), Some(name), "{asked}");
    }
    let (mut client, _) = session(&server, "LATIN1");
    let text = b"select '\xe9'";
    assert_eq!(value(&raw_query(&mut client, text)), b"\xe9");
    assert_eq!(
        reported(&client.query("set client_encoding = 'koi8-r'")).as_deref(),
        Some("KOI8R")
    );
    assert_eq!(value(&client.query("select chr(1103)")), b"\xd1");
    // What is taken back is taken back on the wire, too.
    let undone = client.query("begin; set local client_encoding = 'utf8'; rollback");
    assert_eq!(reported(&undone).as_deref(), Some("KOI8R"));
    assert_eq!(value(&client.query("select chr(1103)")), b"\xd1");
    // An error takes it back at once: its own words are still in what was set, and nothing is told at the block's end.
    client.query("begin; set client_encoding = 'utf8'");
    let failed = client.query("select \"\u{44f}\"");
    let expected = "42703 column \"\u{44f}\" does not exist";
    assert_eq!(error(&failed).as_deref(), Some(expected));
    assert_eq!(reported(&failed).as_deref(), Some("KOI8R"));
    assert_eq!(reported(&client.query("rollback")), None);
    assert_eq!(value(&client.query("select chr(1103)")), b"\xd1");
    assert_eq!(
        reported(&client.query("reset client_encoding")).as_deref(),
        Some("LATIN1")
    );
    assert_eq!(
        sqlstate(&client.query("set client_encoding = 'nope'")).as_deref(),
        Some("22023")
    );
    client.query("create role encoded login; alter role encoded set client_encoding = 'euc_jp'");
    let mut other = RawClient::open(&server);
    other.start_up(&[("user", "encoded"), ("database", server.database())]);
    assert_eq!(reported(&other.until(b'Z')).as_deref(), Some("EUC_JP"));
    assert_eq!(value(&other.query("select chr(26085)")), b"\xc6\xfc");
    client.query("drop role encoded");
}

#[test]
fn names_of_objects_errors_and_notices() {
    let server = TestServer::start("encoding_strings");
    let (mut client, _) = session(&server, "LATIN1");
    raw_query(&mut client, b"create temp table \"t\xe4\" (\"\xfc\" int)");
    let described = raw_query(&mut client, b"select \"\xfc\" from \"t\xe4\"");
    let columns = described
        .iter()
        .find(|message| message.kind == b'T')
        .expect("columns");
    assert!(columns.body.starts_with(b"\0\x01\xfc\0"), "{:?}", columns.body);
    let missing = raw_query(&mut client, b"select * from \"\xf6\"");
    let report = missing
        .iter()
        .find(|message| message.kind == b'E')
        .expect("an error");
    let said = b"Mrelation \"\xf6\" does not exist\0";
    assert!(report.body.windows(said.len()).any(|bytes| bytes == said));
    let told = raw_query(&mut client, b"do $$ begin raise notice '\xe9'; end $$");
    let notice = told
        .iter()
        .find(|message| message.kind == b'N')
        .expect("a notice");
    assert!(notice.body.windows(3).any(|bytes| bytes == b"M\xe9\0"));
    // An error that cannot be shown gives way to the error about that; the session goes on.
    let unshown = client.query("do $$ begin raise exception '%', chr(8364); end $$");
    assert_eq!(sqlstate(&unshown).as_deref(), Some("22P05"));
    let unshown = client.query("select 'ascii' union all select chr(8364) union all select 'more'");
    assert_eq!(kinds(&unshown), "TDEZ");
    assert_eq!(
        error(&unshown).as_deref(),
        Some(
            "22P05 character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
        )
    );
    // LISTEN and NOTIFY.
    raw_query(&mut client, b"listen \"\xe9\"");
    let notified = raw_query(&mut client, b"notify \"\xe9\", '\xe8'");
    let notification = notified
        .iter()
        .find(|message| message.kind == b'A')
        .expect("a notification");
    assert_eq!(notification.body[4..], *b"\xe9\0\xe8\0");
}

#[test]
fn bytes_that_are_no_text() {
    let server = TestServer::start("encoding_bytes");
    for (encoding, text, expected) in [
        (
            "SJIS",
            &b"select '\x83 '"[..],
            "22021 invalid byte sequence for encoding \"SJIS\": 0x83 0x20",
        ),
        (
            "EUC_KR",
            b"select '\xff\xff'",
            "22021 invalid byte sequence for encoding \"EUC_KR\": 0xff 0xff",
        ),
        (
            "WIN1252",
            b"select '\x81'",
            "22P05 character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\"",
        ),
        (
            "SQL_ASCII",
            b"select '\xe9'",
            "22021 invalid byte sequence for encoding \"UTF8\": 0xe9 0x27",
        ),
    ] {
        let (mut client, _) = session(&server, encoding);
        assert_eq!(error(&raw_query(&mut client, text)).as_deref(), Some(expected));
        assert_eq!(client.rows("select 1"), ["1"]);
    }
}

#[test]
fn parameters_and_results_in_both_formats() {
    let server = TestServer::start("encoding_parameters");
    let (mut client, _) = session(&server, "SJIS");
    // The second byte of this Katakana is a backslash.
    let so: &[u8] = b"\x83\x5c";
    for (parameter_format, result_format) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let messages = client.exchange(&[
            parse("", "select $1::text || $1::text", &[]),
            bind_with("", "", &[parameter_format], &[Some(so)], &[result_format]),
            execute("", 0),
            sync(),
        ]);
        assert_eq!(
            value(&messages),
            [so, so].concat(),
            "{parameter_format} {result_format}"
        );
    }
    // Text inside of an array, in binary: one dimension, no nulls, text, two elements from 1 on.
    let array = [
        &[
            0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2,
        ][..],
        so,
        &[0, 0, 0, 1, b'x'],
    ]
    .concat();
    let messages = client.exchange(&[
        parse(
            "",
            "select $1::text[], ($1::text[])[1] = chr(12477), row(7, ($1::text[])[1])",
            &[],
        ),
        bind_with("", "", &[1], &[Some(&array)], &[1, 0, 1]),
        execute("", 0),
        sync(),
    ]);
    let row = messages
        .iter()
        .find(|message| message.kind == b'D')
        .expect("a row")
        .columns();
    assert_eq!(row[0].as_deref(), Some(&array[..]));
    assert_eq!(row[1].as_deref(), Some(&b"t"[..]));
    let record = [
        &[
            0, 0, 0, 2, 0, 0, 0, 23, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0, 25, 0, 0, 0, 2,
        ][..],
        so,
    ]
    .concat();
    assert_eq!(row[2].as_deref(), Some(&record[..]));
    let refused = client.exchange(&[
        parse("", "select $1::text", &[]),
        bind_with("", "", &[0], &[Some(b"\x83")], &[]),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(
        error(&refused).as_deref(),
        Some("22021 invalid byte sequence for encoding \"SJIS\": 0x83")
    );
    // Names of statements and portals.
    let name = framed(b'P', b"\x83\x5c\0select 1\0\0\0");
    let described = framed(b'D', b"S\x83\x5c\0");
    assert_eq!(kinds(&client.exchange(&[name, described, sync()])), "1tTZ");
}

/// COPY in pieces that cut characters apart, with an encoding of its own, and what is wrong in it.
#[test]
fn copy_in_and_out() {
    let server = TestServer::start("encoding_copy");
    let (mut client, _) = session(&server, "SJIS");
    client.query("create temp table t (n int, a text)");
    client.raw(&query("copy t from stdin"));
    client.until(b'G');
    for piece in [&b"1\t\x83"[..], b"\x5cx\n2", b"\t\x83\x5c\\n\n"] {
        client.send(b'd', piece);
    }
    client.send(b'c', b"");
    assert_eq!(tags(&client.until(b'Z')), ["COPY 2"]);
    assert_eq!(
        client.rows("select string_agg(length(a)::text, ' ' order by n) from t"),
        ["2 2"]
    );
    let copied = client.query("copy t to stdout");
    let lines: Vec<&[u8]> = copied
        .iter()
        .filter(|m| m.kind == b'd')
        .map(|m| &m.body[..])
        .collect();
    assert_eq!(lines, [&b"1\t\x83\x5cx\n"[..], b"2\t\x83\x5c\\n\n"]);
    let copied = client.query("copy t to stdout (encoding 'euc_jp')");
    let line = copied
        .iter()
        .find(|message| message.kind == b'd')
        .expect("a line");
    assert_eq!(line.body, b"1\t\xa5\xbdx\n");

    client.raw(&query("copy t from stdin (encoding 'win1252')"));
    client.until(b'G');
    client.send(b'd', b"3\t\xe9\n4\tx\n5\t\x81\n6\ty\n");
    client.send(b'c', b"");
    let refused = client.until(b'Z');
    let report = refused
        .iter()
        .find(|message| message.kind == b'E')
        .expect("an error");
    assert_eq!(report.field(b'C').as_deref(), Some("22P05"));
    assert_eq!(report.field(b'W').as_deref(), Some("COPY t, line 3"));
    client.raw(&query("copy t from stdin"));
    client.until(b'G');
    client.send(b'd', b"7\t\x83");
    client.send(b'c', b"");
    let refused = client.until(b'Z');
    assert_eq!(
        error(&refused).as_deref(),
        Some("22021 invalid byte sequence for encoding \"SJIS\": 0x83")
    );
    assert_eq!(client.rows("select count(*) from t"), ["2"]);
}
