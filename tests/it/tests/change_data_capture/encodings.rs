//! A subscriber whose `client_encoding` is not UTF-8, as one in a database of another encoding is.

use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::wire::{self, RawClient};

/// In front of what pgoutput says: the kind of message, two positions and a time.
const HEADER_BYTES: usize = 25;

fn replicating(server: &TestServer, encoding: &str) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[
        ("user", "postgres"),
        ("database", "postgres"),
        ("replication", "database"),
        ("client_encoding", encoding),
    ]);
    client.until(b'Z');
    client
}

fn stream(server: &TestServer, encoding: &str, publication: &[u8]) -> RawClient {
    let mut client = replicating(server, encoding);
    let before = b"START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names '\"";
    client.send(b'Q', &[&before[..], publication, b"\"')\0"].concat());
    client
}

fn has(told: &[u8], bytes: &[u8]) -> bool {
    told.windows(bytes.len()).any(|window| window == bytes)
}

/// Of pgoutput, up to where `end` stands.
fn told_up_to(client: &mut RawClient, end: &[u8]) -> Vec<u8> {
    let mut told = Vec::new();
    while !has(&told, end) {
        let message = client.receive().expect("the stream goes on");
        assert_ne!(message.kind, b'E', "{:?}", message.field(b'M'));
        if message.kind == b'd' && message.body[0] == b'w' {
            told.extend_from_slice(&message.body[HEADER_BYTES..]);
        }
    }
    told
}

#[test]
fn a_subscriber_is_told_in_its_encoding_or_that_it_lacks_a_character() {
    let server = TestServer::start("cdc-encoding");
    psql_strict(
        &server,
        "create type straße as enum ('süß', 'fein');
         create table größe (id int primary key, länge text, s straße); create publication öffentlich for all tables;
         select pg_create_logical_replication_slot('l', 'pgoutput');
         insert into größe values (1, 'Maß', 'süß'), (2, 'end', null)",
    )
    .good();
    let mut client = stream(&server, "LATIN1", b"\xf6ffentlich");
    let told = told_up_to(&mut client, b"end");
    for expected in [
        &b"gr\xf6\xdfe\0"[..],
        b"l\xe4nge\0",
        b"stra\xdfe\0",
        b"\0\0\0\x03Ma\xdf",
        b"\0\0\0\x03s\xfc\xdf",
    ] {
        assert!(has(&told, expected), "{expected:?} in {told:?}");
    }
    psql_strict(&server, "insert into größe values (3, '17 €', null)").good();
    let rest = client.until(b'E');
    assert_eq!(wire::sqlstate(&rest).as_deref(), Some("22P05"), "{rest:?}");
    drop(client);
    // It is there for whoever can show it.
    let mut client = stream(&server, "UTF8", "öffentlich".as_bytes());
    told_up_to(&mut client, "17 €".as_bytes());
}

/// A PostgreSQL in a database of another encoding makes its slot with such a connection.
#[test]
fn commands_of_the_protocol_are_answered_in_other_encodings_too() {
    let server = TestServer::start("cdc-encoding-commands");
    let mut client = replicating(&server, "LATIN1");
    for (command, kinds) in [
        ("IDENTIFY_SYSTEM", "TDCZ"),
        (
            "CREATE_REPLICATION_SLOT s LOGICAL pgoutput (SNAPSHOT 'nothing')",
            "TDCZ",
        ),
        ("DROP_REPLICATION_SLOT s", "CZ"),
    ] {
        let answer = client.query(command);
        assert_eq!(wire::kinds(&answer), kinds, "{command}: {answer:?}");
    }
}
