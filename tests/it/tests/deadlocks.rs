//! Deadlocks over rows, keys, tables and advisory locks: exactly one victim, the others go on, and the detail tells the
//! cycle in PostgreSQL's words. Every expectation holds for PostgreSQL 15 too (`MOTE_IT_TARGET`).

use mote_it::TestServer;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::*;

struct Party {
    client: RawClient,
    pid: String,
}

/// Each party takes its first lock, then all ask for the next one's. Answers the victim's detail, numbers replaced by what
/// they name.
fn deadlock(server: &TestServer, steps: &[(&str, &str)]) -> Vec<String> {
    let mut parties: Vec<Party> = steps
        .iter()
        .map(|(first, _)| {
            let mut client = RawClient::connect(server);
            let pid = pid(&mut client);
            client.rows("set deadlock_timeout = '100ms'; begin");
            assert_eq!(error(&client.query(first)), None, "{first}");
            Party { client, pid }
        })
        .collect();
    // The last of them may be the victim already.
    let mut observer = RawClient::connect(server);
    for (at, (party, (_, second))) in parties.iter_mut().zip(steps).enumerate() {
        party.client.raw(&query(second));
        if at + 1 < steps.len() {
            await_lock(&mut observer, &party.pid);
        }
    }
    // Whoever gets an answer ends its transaction, which lets the next one go on.
    let pids: Vec<String> = parties.iter().map(|party| party.pid.clone()).collect();
    let (sender, answers) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for party in &mut parties {
            let sender = sender.clone();
            scope.spawn(move || {
                let messages = party.client.until(b'Z');
                let outcome = sqlstate(&messages);
                let detail = messages
                    .iter()
                    .find(|m| m.kind == b'E')
                    .and_then(|m| m.field(b'D'));
                party.client.rows("rollback");
                sender.send((outcome, detail)).expect("the test listens");
            });
        }
    });
    drop(sender);
    let answers: Vec<(Option<String>, Option<String>)> = answers.iter().collect();
    let victims: Vec<_> = answers.iter().filter(|(state, _)| state.is_some()).collect();
    assert_eq!(victims.len(), 1, "{answers:?}");
    assert_eq!(victims[0].0.as_deref(), Some("40P01"));
    let detail = victims[0].1.clone().expect("a deadlock has a detail");
    let mut lines: Vec<String> = detail.lines().map(|line| named(server, &pids, line)).collect();
    // The cycle may begin with any of them.
    lines.sort();
    lines
}

/// Processes by their place, objects by their names.
fn named(server: &TestServer, pids: &[String], line: &str) -> String {
    let mut client = RawClient::connect(server);
    let text = "select oid, relname from pg_class where relname in ('a', 'b') union all \
                select oid, 'here' from pg_database where datname = current_database()";
    let mut words: Vec<(String, String)> = client
        .rows(text)
        .iter()
        .filter_map(|row| row.split_once('|'))
        .map(|(oid, name)| (oid.to_string(), name.to_string()))
        .collect();
    words.extend(
        pids.iter()
            .enumerate()
            .map(|(at, pid)| (pid.clone(), format!("P{}", at + 1))),
    );
    let mut out = Vec::new();
    let mut before = "";
    for word in line.split(' ') {
        let bare = word.trim_end_matches([';', '.', ',']);
        let known = words
            .iter()
            .find(|(number, _)| number == bare && before != "transaction");
        out.push(match known {
            Some((number, name)) => word.replacen(number.as_str(), name, 1),
            None if before == "transaction" => word.replacen(bare, "N", 1),
            None => word.to_string(),
        });
        before = word;
    }
    out.join(" ")
}

fn start(name: &str) -> TestServer {
    let server = TestServer::start(name);
    RawClient::connect(&server).rows(
        "create table a (id int primary key, v int); insert into a values (1, 0), (2, 0), (3, 0);
         create table b (id int primary key, v int)",
    );
    server
}

#[test]
fn rows() {
    let server = start("deadlock-rows");
    let (one, two, three) = (
        "update a set v = 1 where id = 1",
        "update a set v = 2 where id = 2",
        "update a set v = 3 where id = 3",
    );
    assert_eq!(
        deadlock(&server, &[(one, two), (two, one)]),
        [
            "Process P1 waits for ShareLock on transaction N; blocked by process P2.",
            "Process P2 waits for ShareLock on transaction N; blocked by process P1."
        ]
    );
    assert_eq!(
        deadlock(&server, &[(one, two), (two, three), (three, one)]),
        [
            "Process P1 waits for ShareLock on transaction N; blocked by process P2.",
            "Process P2 waits for ShareLock on transaction N; blocked by process P3.",
            "Process P3 waits for ShareLock on transaction N; blocked by process P1."
        ]
    );
}

#[test]
fn keys() {
    let server = start("deadlock-keys");
    let (seven, eight) = ("insert into b values (7, 0)", "insert into b values (8, 0)");
    assert_eq!(
        deadlock(&server, &[(seven, eight), (eight, seven)]),
        [
            "Process P1 waits for ShareLock on transaction N; blocked by process P2.",
            "Process P2 waits for ShareLock on transaction N; blocked by process P1."
        ]
    );
}

#[test]
fn tables() {
    let server = start("deadlock-tables");
    let steps = [
        ("lock table a in share mode", "insert into b values (1, 1)"),
        (
            "lock table b in exclusive mode",
            "lock table a in access exclusive mode",
        ),
    ];
    assert_eq!(
        deadlock(&server, &steps),
        [
            "Process P1 waits for RowExclusiveLock on relation b of database here; blocked by process P2.",
            "Process P2 waits for AccessExclusiveLock on relation a of database here; blocked by process P1."
        ]
    );
}

#[test]
fn advisory_locks_and_a_mixture() {
    let server = start("deadlock-advisory");
    let mut client = RawClient::connect(&server);
    let database = client
        .rows("select oid from pg_database where datname = current_database()")
        .remove(0);
    let (one, two) = (
        "select pg_advisory_xact_lock(1)",
        "select pg_advisory_xact_lock(2, 3)",
    );
    assert_eq!(
        deadlock(&server, &[(one, two), (two, one)]),
        [
            format!(
                "Process P1 waits for ExclusiveLock on advisory lock [{database},2,3,2]; blocked by process P2."
            ),
            format!(
                "Process P2 waits for ExclusiveLock on advisory lock [{database},0,1,1]; blocked by process P1."
            ),
        ]
    );
    let steps = [
        (one, "update a set v = 1 where id = 1"),
        ("update a set v = 2 where id = 1", "lock table b"),
        ("lock table b", one),
    ];
    assert_eq!(
        deadlock(&server, &steps),
        [
            "Process P1 waits for ShareLock on transaction N; blocked by process P2.".to_string(),
            "Process P2 waits for AccessExclusiveLock on relation b of database here; blocked by process P3."
                .to_string(),
            format!(
                "Process P3 waits for ExclusiveLock on advisory lock [{database},0,1,1]; blocked by process P1."
            ),
        ]
    );
}
