//! Replicating sessions that say what no follower says: commands, hellos and reports with random changes. The server
//! answers or hangs up, other sessions and a follower go on unharmed. The seed is printed; `MOTE_IT_SEED` repeats a run.

use std::time::{Duration, Instant};

use mote_common::Lsn;
use mote_common::env::real::entropy_u64;
use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::nodes::{await_replay, follow, value};
use mote_it::server::TemporaryDirectory;
use mote_it::wire::{RawClient, framed, query};
use mote_replication::NodeId;
use mote_replication::message::{Ask, Hello, KeptFor, Message, PROTOCOL_VERSION, Progress};

const ROUNDS: u64 = 400;

/// Whole commands, to be changed.
const COMMANDS: [&str; 12] = [
    "IDENTIFY_SYSTEM",
    "TIMELINE_HISTORY 1",
    "START_REPLICATION PHYSICAL 0/4000000",
    "START_REPLICATION SLOT \"s\" PHYSICAL 0/0 TIMELINE 1",
    "CREATE_REPLICATION_SLOT noise TEMPORARY PHYSICAL RESERVE_WAL",
    "CREATE_REPLICATION_SLOT \"n\" PHYSICAL (RESERVE_WAL true)",
    "DROP_REPLICATION_SLOT noise WAIT",
    "READ_REPLICATION_SLOT n",
    "PROMISE 4 0000000000000001 WOULD",
    "PROMISE 4294967295 ffffffffffffffff FIRM",
    "SWITCHOVER b",
    "SHOW synchronous_standby_names",
];

fn changed(prng: &mut Prng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..prng.below(4) {
        let at = prng.below(bytes.len().max(1) as u64) as usize;
        match prng.below(4) {
            0 if at < bytes.len() => bytes[at] = prng.below(256) as u8,
            1 => bytes.truncate(at),
            2 => bytes.insert(at.min(bytes.len()), prng.below(256) as u8),
            _ => {
                let again = bytes[at.min(bytes.len())..].to_vec();
                bytes.extend_from_slice(&again[..again.len().min(200)]);
            }
        }
    }
    bytes
}

fn messages(prng: &mut Prng, system_id: u64, end: Lsn) -> Vec<Vec<u8>> {
    let hello = Hello {
        version: PROTOCOL_VERSION,
        system_id,
        id: NodeId(prng.next_u64()),
        name: ["b", "noise", ""][prng.below(3) as usize].into(),
        promised: prng.below(3) as u32,
        end: Lsn(prng.below(2) * end.0),
        stable: Lsn(prng.below(2) * end.0),
        marks: Vec::new(),
    };
    let position = Lsn(prng.below(3) * (end.0 / 2));
    let report = Message::Report {
        progress: Progress {
            received: position,
            flushed: Lsn(prng.next_u64() >> prng.below(64)),
            applied: position,
        },
        beat_ns: prng.next_u64() >> prng.below(64),
    };
    let others = [
        Message::HandedOver,
        Message::Keep(vec![KeptFor {
            name: "b".into(),
            position: end,
            lost: true,
            logical: None,
        }]),
        Message::Ask(Ask {
            term: 9,
            candidate: NodeId(1),
            firm: true,
        }),
        Message::Wal {
            from: end,
            stable: end,
            sent_us: 0,
            bytes: &[7; 4096],
        },
    ];
    let mut all = vec![Message::Hello(hello).encode(), report.encode(), report.encode()];
    all.push(others[prng.below(others.len() as u64) as usize].encode());
    all
}

/// A connection that speaks the replication protocol.
fn replicating(server: &TestServer) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[("user", server.user()), ("replication", "true")]);
    client
}

fn system_id(server: &TestServer) -> u64 {
    let mut client = replicating(server);
    client.until(b'Z');
    let rows = client.rows("IDENTIFY_SYSTEM");
    let id = rows[0].split('|').next().and_then(|id| id.parse().ok());
    id.expect("the system's number comes first")
}

fn round(prng: &mut Prng, server: &TestServer, system_id: u64, end: Lsn) {
    let mut client = replicating(server);
    for _ in 0..1 + prng.below(4) {
        let command = COMMANDS[prng.below(COMMANDS.len() as u64) as usize];
        let text = String::from_utf8_lossy(&changed(prng, command.as_bytes())).replace('\0', "");
        client.try_raw(&query(&text));
    }
    if prng.chance(2, 3) {
        client.try_raw(&query(COMMANDS[2]));
        for message in messages(prng, system_id, end) {
            let message = match prng.chance(1, 2) {
                true => changed(prng, &message),
                false => message,
            };
            client.try_raw(&framed(b'd', &message));
        }
    }
    if prng.chance(1, 8) {
        let noise: Vec<u8> = (0..prng.below(100)).map(|_| prng.below(256) as u8).collect();
        client.try_raw(&noise);
    }
    client.finish_writing();
}

#[test]
fn what_no_follower_says_harms_nobody() {
    let seed =
        std::env::var("MOTE_IT_SEED").map_or_else(|_| entropy_u64(), |seed| seed.parse().expect("a number"));
    println!("seed {seed}");
    let mut prng = Prng::new(seed);
    let mut server = TestServer::start("replication-noise");
    let data = TemporaryDirectory::new("replication-noise-b");
    let follower = follow(&server, &data, "b");
    value(&server, "create table t (id int)");
    let system_id = system_id(&server);
    let since = Instant::now();
    for number in 0..ROUNDS {
        let end = value_lsn(&server);
        round(&mut prng, &server, system_id, end);
        if number % 50 == 0 {
            value(&server, &format!("insert into t values ({number})"));
            await_replay(&server, &follower);
        }
        assert!(
            since.elapsed() < Duration::from_secs(300),
            "round {number} of seed {seed}"
        );
    }
    await_replay(&server, &follower);
    assert_eq!(
        value(&follower, "select count(*) from t"),
        value(&server, "select count(*) from t")
    );
    // Slots that the noise has made are bounded, and go.
    let slots: u64 = value(&server, "select count(*) from pg_replication_slots")
        .parse()
        .expect("a number");
    assert!(slots <= 64, "{slots}");
    server.assert_unharmed();
}

fn value_lsn(server: &TestServer) -> Lsn {
    let text = value(server, "select pg_current_wal_flush_lsn() - '0/0'::pg_lsn");
    Lsn(text.parse().expect("a number"))
}
