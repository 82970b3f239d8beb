//! Commands of the replication protocol as a stranger writes them, answered as a PostgreSQL 15 answers them: the kinds of
//! messages and the SQLSTATE. What mote leaves out by name is a 0A000.

use mote_it::TestServer;
use mote_it::postgres::PostgresServer;
use mote_it::releases::Releases;
use mote_it::wire::{self, RawClient, query};

/// What mote answers otherwise, and why.
const KNOWN: [(&str, &str); 6] = [
    ("identify_system;", "commands are read in any case"),
    ("IDENTIFY_SYSTEM x", "on a connection to no database: read as SQL"),
    (
        "BASE_BACKUP (nonsense 'x'",
        "left out by name, however it goes on",
    ),
    ("TIMELINE_HISTORY 99999999999", "a number that no timeline has"),
    (
        "CREATE_REPLICATION_SLOT a LOGICAL no_such_plugin",
        "there are no libraries to look into",
    ),
    (
        "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '2', publication_names 'p', two_phase 'on')",
        "left out by name, whatever the protocol",
    ),
];

/// An error takes a session's temporary slots from it: not here.
const KEPT: &str = "DROP_REPLICATION_SLOT a1";

/// What a server before 15.20 dies of.
const KILLING: (&str, Releases) = (
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version, publication_names 'p')",
    Releases::Since(20),
);

const COMMANDS: &[&str] = &[
    "",
    ";",
    "IDENTIFY_SYSTEM",
    "identify_system;",
    "IDENTIFY_SYSTEM x",
    "TIMELINE_HISTORY",
    "TIMELINE_HISTORY 0",
    "TIMELINE_HISTORY x",
    "TIMELINE_HISTORY 99999999999",
    "SHOW",
    "SHOW wal_level",
    "SHOW nothing_of_the_kind",
    "BASE_BACKUP (nonsense 'x'",
    "CREATE_REPLICATION_SLOT",
    "CREATE_REPLICATION_SLOT a",
    "CREATE_REPLICATION_SLOT a LOGICAL",
    "CREATE_REPLICATION_SLOT a SIDEWAYS",
    "CREATE_REPLICATION_SLOT a LOGICAL no_such_plugin",
    "CREATE_REPLICATION_SLOT a LOGICAL pgoutput (SNAPSHOT)",
    "CREATE_REPLICATION_SLOT a LOGICAL pgoutput (SNAPSHOT 'other')",
    "CREATE_REPLICATION_SLOT a LOGICAL pgoutput (SNAPSHOT 'use')",
    "CREATE_REPLICATION_SLOT a LOGICAL pgoutput (SNAPSHOT 'nothing', SNAPSHOT 'nothing')",
    "CREATE_REPLICATION_SLOT a LOGICAL pgoutput (RESERVE_WAL)",
    "CREATE_REPLICATION_SLOT a LOGICAL pgoutput (nonsense)",
    "CREATE_REPLICATION_SLOT a LOGICAL pgoutput NOEXPORT_SNAPSHOT USE_SNAPSHOT",
    "CREATE_REPLICATION_SLOT a PHYSICAL (SNAPSHOT 'nothing')",
    "CREATE_REPLICATION_SLOT a PHYSICAL (RESERVE_WAL maybe)",
    "CREATE_REPLICATION_SLOT a PHYSICAL (RESERVE_WAL, RESERVE_WAL)",
    "CREATE_REPLICATION_SLOT a PHYSICAL (",
    "CREATE_REPLICATION_SLOT a PHYSICAL ()",
    "CREATE_REPLICATION_SLOT \"a b\" PHYSICAL",
    "CREATE_REPLICATION_SLOT \"\" PHYSICAL",
    "CREATE_REPLICATION_SLOT \"A\" PHYSICAL",
    "CREATE_REPLICATION_SLOT a_name_that_is_longer_than_what_a_slot_may_be_called_which_is_63 PHYSICAL",
    "CREATE_REPLICATION_SLOT 'a' PHYSICAL",
    "CREATE_REPLICATION_SLOT A1 TEMPORARY PHYSICAL RESERVE_WAL",
    "CREATE_REPLICATION_SLOT a1 PHYSICAL",
    "READ_REPLICATION_SLOT a1",
    "READ_REPLICATION_SLOT \"A1\"",
    "READ_REPLICATION_SLOT",
    "READ_REPLICATION_SLOT a1 b",
    "READ_REPLICATION_SLOT \"no such\"",
    "DROP_REPLICATION_SLOT a1",
    "DROP_REPLICATION_SLOT a1",
    "DROP_REPLICATION_SLOT a1 WAIT",
    "DROP_REPLICATION_SLOT a1 NOW",
    "DROP_REPLICATION_SLOT \"no such\"",
    "DROP_REPLICATION_SLOT",
    "CREATE_REPLICATION_SLOT l LOGICAL pgoutput (SNAPSHOT 'nothing')",
    "CREATE_REPLICATION_SLOT l LOGICAL pgoutput (SNAPSHOT 'nothing')",
    "READ_REPLICATION_SLOT l",
    "START_REPLICATION",
    "START_REPLICATION 0",
    "START_REPLICATION nonsense",
    "START_REPLICATION PHYSICAL",
    "START_REPLICATION PHYSICAL nonsense",
    "START_REPLICATION PHYSICAL 0/0 TIMELINE",
    "START_REPLICATION PHYSICAL 0/0 TIMELINE x",
    "START_REPLICATION SLOT l",
    "START_REPLICATION SLOT l LOGICAL",
    "START_REPLICATION SLOT l LOGICAL x",
    "START_REPLICATION SLOT l LOGICAL 0/G",
    "START_REPLICATION SLOT l LOGICAL 0/0 (",
    "START_REPLICATION SLOT l LOGICAL 0/0 ()",
    "START_REPLICATION SLOT none LOGICAL 0/0 (proto_version '1', publication_names 'p')",
    "START_REPLICATION SLOT \"no such\" LOGICAL 0/0 (proto_version '1', publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '0', publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '4', publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '-1', publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '99999999999', publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version 'x', publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version, publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names '')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names ',')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names '\"p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names 'p', nonsense 'x')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', proto_version '1', publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names 'p', publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names 'p', streaming 'on')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '2', publication_names 'p', streaming 'maybe')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '2', publication_names 'p', streaming 'parallel')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '2', publication_names 'p', two_phase 'on')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names 'p', messages 'maybe')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names 'p', origin 'any')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version 1, publication_names 'p')",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1', publication_names 'p',)",
    "START_REPLICATION SLOT l LOGICAL 0/0 (proto_version '1' publication_names 'p')",
    "begin",
    "IDENTIFY_SYSTEM",
    "CREATE_REPLICATION_SLOT u TEMPORARY LOGICAL pgoutput (SNAPSHOT 'export')",
    "rollback",
    "select 1",
    "select 1; select 2",
    "CREATE_REPLICATION_SLOT é PHYSICAL",
    "DROP_REPLICATION_SLOT l",
];

fn connect(server: &TestServer, how: &str) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[
        ("user", server.user()),
        ("database", server.database()),
        ("replication", how),
    ]);
    client.until(b'Z');
    client
}

/// Kinds without notices and settings, and the state of an error.
fn answer(server: &TestServer, client: &mut RawClient, how: &str, command: &str) -> String {
    client.raw(&query(command));
    let mut messages = Vec::new();
    while let Some(message) = client.receive() {
        let last = matches!(message.kind, b'Z' | b'W');
        messages.push(message);
        if last {
            break;
        }
    }
    let streams = messages.last().is_some_and(|message| message.kind == b'W');
    let ended = messages.last().is_none_or(|message| message.kind != b'Z');
    if streams || ended {
        *client = connect(server, how);
    }
    messages.retain(|message| !matches!(message.kind, b'N' | b'S'));
    let state = wire::sqlstate(&messages).unwrap_or_default();
    format!("{} {state}", wire::kinds(&messages))
}

fn differences(mote: &TestServer, postgres: &TestServer, minor: u32, how: &str) -> Vec<String> {
    let mut clients = (connect(mote, how), connect(postgres, how));
    let mut differing = Vec::new();
    for command in COMMANDS {
        if *command == KILLING.0 && !KILLING.1.hold(minor) {
            continue;
        }
        let said = answer(mote, &mut clients.0, how, command);
        let expected = answer(postgres, &mut clients.1, how, command);
        let known = KNOWN.iter().any(|(known, _)| known == command) || *command == KEPT;
        if said != expected && !known {
            differing.push(format!("{how}: {command}: {said}, and PostgreSQL {expected}"));
        }
    }
    differing
}

#[test]
fn commands_are_answered_as_postgresql_answers_them() {
    let oracle = PostgresServer::start_with("-c wal_level=logical");
    let postgres = TestServer::in_server(&oracle.url());
    let mut mote = TestServer::start("replication-commands");
    let minor = oracle.minor_release();
    let mut differing = differences(&mote, &postgres, minor, "database");
    differing.extend(differences(&mote, &postgres, minor, "true"));
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    mote.assert_unharmed();
}

/// Publications that there are on both sides: what names them is answered alike, up to the stream.
const PUBLICATIONS: [&str; 9] = [
    "p",
    "\"P\"",
    "q",
    "\"p\"\"q\"",
    "\"é\"",
    "\"É\"",
    "\"p;q\"",
    "\"\u{a0}p\"",
    "a_publication_with_a_name_of_exactly_as_many_letters_as_one_has",
];

const NAMES: &[&str] = &[
    "p",
    "P",
    "\"P\"",
    "p,q",
    " p ,\tq\n, \"P\"",
    "p,p",
    "\"p\"\"q\"",
    "p\"q",
    "\"p\",q",
    "\"p\"q",
    "\"p",
    "p q",
    "p,,q",
    ",p",
    "p,",
    "p;q",
    " ",
    "é",
    "É",
    "\"É\"",
    "\u{a0}p",
    "a_publication_with_a_name_of_exactly_as_many_letters_as_one_has_and_more",
    "\"a_publication_with_a_name_of_exactly_as_many_letters_as_one_has_and_more\"",
];

const PROTOCOLS: &[&str] = &[
    "1",
    "2",
    "3",
    "4",
    "0",
    "-1",
    "+1",
    " 1",
    "\t1",
    "1 ",
    "",
    " ",
    "+",
    "01",
    "0x1",
    "1.0",
    "1e0",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "-18446744073709551615",
    "\u{a0}1",
];

const FLAGS: &[Option<&str>] = &[
    None,
    Some("on"),
    Some("FALSE"),
    Some("1"),
    Some("0"),
    Some("yes"),
    Some("2"),
    Some(""),
];

/// What a subscriber may ask of pgoutput: each option with each of its values, and those of two protocols that are good in all
/// combinations.
fn asked() -> Vec<String> {
    let quoted = |text: &str| text.replace('\'', "''");
    let option = |name: &str, value: Option<&str>| match value {
        Some(value) => format!(", {name} '{}'", quoted(value)),
        None => String::new(),
    };
    let mut asked = Vec::new();
    for names in NAMES {
        asked.push(format!(
            "proto_version '1', publication_names '{}'",
            quoted(names)
        ));
    }
    for protocol in PROTOCOLS {
        asked.push(format!("proto_version '{protocol}', publication_names 'p'"));
    }
    for flag in ["binary", "streaming", "messages", "two_phase"] {
        for value in FLAGS {
            asked.push(format!(
                "proto_version '3', publication_names 'p'{}",
                option(flag, *value)
            ));
        }
        asked.push(format!("proto_version '3', publication_names 'p', {flag}"));
    }
    let switch = [None, Some("on"), Some("off")];
    for protocol in ["1", "2", "3"] {
        for binary in switch {
            for streaming in switch {
                for messages in switch {
                    asked.push(format!(
                        "proto_version '{protocol}', publication_names 'p, q'{}{}{}",
                        option("binary", binary),
                        option("streaming", streaming),
                        option("messages", messages),
                    ));
                }
            }
        }
    }
    asked
}

/// Options that a server before 15.20 reads otherwise: an empty number was none.
const READ_SINCE: (&str, Releases) = ("proto_version '', publication_names 'p'", Releases::Since(20));

/// Left out by name, which is told before anything else that is wrong.
fn is_left_out(answer: &str) -> bool {
    answer.starts_with("0A000 binary of pgoutput") || answer.starts_with("0A000 two_phase of pgoutput")
}

/// The error, or that it streams; the stream is ended.
fn told(client: &mut RawClient, command: &str) -> String {
    client.raw(&query(command));
    let mut messages = Vec::new();
    while let Some(message) = client.receive() {
        let kind = message.kind;
        messages.push(message);
        match kind {
            // Ends the stream.
            b'W' => client.send(b'c', &[]),
            b'Z' => break,
            _ => {}
        }
    }
    wire::error(&messages).unwrap_or_else(|| match wire::kinds(&messages).contains('W') {
        true => "streams".into(),
        false => wire::kinds(&messages),
    })
}

#[test]
fn what_is_asked_of_pgoutput_is_answered_as_postgresql_answers_it() {
    let oracle = PostgresServer::start_with("-c wal_level=logical");
    let postgres = TestServer::in_server(&oracle.url());
    let mut mote = TestServer::start("pgoutput-options");
    let mut clients = [&mote, &postgres].map(|server| {
        let mut client = connect(server, "database");
        for publication in PUBLICATIONS {
            assert_eq!(
                told(&mut client, &format!("create publication {publication}")),
                "CZ"
            );
        }
        told(
            &mut client,
            "CREATE_REPLICATION_SLOT o LOGICAL pgoutput (SNAPSHOT 'nothing')",
        );
        client
    });
    let mut differing = Vec::new();
    let minor = oracle.minor_release();
    for options in asked() {
        if options == READ_SINCE.0 && !READ_SINCE.1.hold(minor) {
            continue;
        }
        let command = format!("START_REPLICATION SLOT o LOGICAL 0/0 ({options})");
        let [said, expected] = [0, 1].map(|side| told(&mut clients[side], &command));
        if said != expected && !is_left_out(&said) {
            differing.push(format!("{options:?}: {said}, and PostgreSQL {expected}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    drop(clients);
    mote.assert_unharmed();
}
