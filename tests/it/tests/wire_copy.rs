//! COPY on the wire, in and out: text, CSV and binary, pieces, failures on either side.

use mote_it::TestServer;
use mote_it::wire::*;

fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let client = RawClient::connect(&server);
    (server, client)
}

#[test]
fn copy_in() {
    let (_server, mut client) = start("copy-in");
    client.rows("create table t (id int primary key, v text)");
    client.raw(&query("copy t from stdin"));
    let answer = client.receive().expect("CopyInResponse");
    assert_eq!((answer.kind, answer.body), (b'G', vec![0, 0, 2, 0, 0, 0, 0]));
    // Rows may be split anywhere.
    for piece in [&b"1\to"[..], b"ne\n2\t\\N", b"\n3\ta\\tb\\\\c\n", b"\\.\n"] {
        client.send(b'd', piece);
    }
    client.send(b'c', b"");
    let messages = client.until(b'Z');
    assert_eq!(
        (kinds(&messages).as_str(), tags(&messages)),
        ("CZ", vec!["COPY 3".to_string()])
    );
    assert_eq!(
        client.rows("select * from t order by id"),
        ["1|one", "2|~", "3|a\tb\\c"]
    );
    // The client gives up.
    client.raw(&query("copy t from stdin"));
    client.until(b'G');
    client.send(b'd', b"4\tfour\n");
    client.send(b'f', b"changed my mind\0");
    let messages = client.until(b'Z');
    assert_eq!(
        error(&messages).as_deref(),
        Some("57014 COPY from stdin failed: changed my mind")
    );
    // A bad row: rows after it are drained, nothing of it stays.
    for (data, state) in [
        ("5\tfive\nsix\tsix\n7\tseven\n", "22P02"),
        ("5\n", "22P04"),
        ("5\tfive\textra\n", "22P04"),
        ("5\tfive\n5\tagain\n", "23505"),
    ] {
        client.raw(&query("copy t from stdin"));
        client.until(b'G');
        client.send(b'd', data.as_bytes());
        client.send(b'c', b"");
        let messages = client.until(b'Z');
        assert_eq!(sqlstate(&messages).as_deref(), Some(state), "{data:?}");
        assert_eq!(kinds(&messages), "EZ");
    }
    assert_eq!(client.rows("select count(*) from t"), ["3"]);
    // CSV through the extended protocol.
    let messages_before = [
        parse("", "copy t from stdin with (format csv, header)", &[]),
        bind("", "", &[]),
        execute("", 0),
    ];
    client.raw(&[messages_before.concat(), flush()].concat());
    client.until(b'G');
    client.raw(
        &[
            framed(b'd', b"id,v\n8,\"eight, quoted\"\n9,\n"),
            framed(b'c', b""),
            sync(),
        ]
        .concat(),
    );
    let messages = client.until(b'Z');
    assert_eq!(tags(&messages), ["COPY 2"]);
    assert_eq!(
        client.rows("select * from t where id > 7 order by id"),
        ["8|eight, quoted", "9|~"]
    );
    // Something else than COPY's messages ends it.
    client.raw(&query("copy t from stdin"));
    client.until(b'G');
    client.raw(&query("select 1"));
    let messages = client.until(b'Z');
    assert_eq!(sqlstate(&messages).as_deref(), Some("08P01"));
    if messages.last().is_some_and(|m| m.kind == b'Z') {
        assert_eq!(client.rows("select count(*) from t"), ["5"]);
    }
}

#[test]
fn copy_out() {
    let (_server, mut client) = start("copy-out");
    client.rows("create table t (id int, v text); insert into t values (1, 'a'), (2, null), (3, E'tab\\tback\\\\slash')");
    let data = |messages: &[Message]| -> String {
        let data = messages
            .iter()
            .filter(|m| m.kind == b'd')
            .flat_map(|m| m.body.clone())
            .collect();
        String::from_utf8(data).expect("text")
    };
    let messages = client.query("copy t to stdout");
    assert_eq!(kinds(&messages), "HdddcCZ");
    assert_eq!(messages[0].body, [0, 0, 2, 0, 0, 0, 0]);
    assert_eq!(data(&messages), "1\ta\n2\t\\N\n3\ttab\\tback\\\\slash\n");
    assert_eq!(tags(&messages), ["COPY 3"]);
    let messages =
        client.query("copy (select id, v from t where id < 3 order by id desc) to stdout with csv header");
    assert_eq!(data(&messages), "id,v\n2,\n1,a\n");
    let messages = client.query("copy t to stdout (format binary)");
    let bytes: Vec<u8> = messages
        .iter()
        .filter(|m| m.kind == b'd')
        .flat_map(|m| m.body.clone())
        .collect();
    assert!(
        bytes.starts_with(b"PGCOPY\n\xff\r\n\0"),
        "{:?}",
        &bytes[..bytes.len().min(20)]
    );
    assert!(bytes.ends_with(&[0xff, 0xff]));
    // A binary copy goes back in.
    client.rows("create table u (id int, v text)");
    client.raw(&query("copy u from stdin (format binary)"));
    client.until(b'G');
    client.raw(&[framed(b'd', &bytes), framed(b'c', b"")].concat());
    assert_eq!(tags(&client.until(b'Z')), ["COPY 3"]);
    assert_eq!(
        client.rows("select count(*) from (select * from t except select * from u) d"),
        ["0"]
    );
    let messages = client.query("copy missing to stdout");
    assert_eq!(sqlstate(&messages).as_deref(), Some("42P01"));
}
