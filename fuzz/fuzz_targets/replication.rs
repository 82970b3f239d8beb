//! What nodes say to each other: messages in pieces of any size, to a follower with a log of its own and to a primary.
//!
//! The first byte says how large the pieces are, the second who listens; the rest is the stream. What is read as a message
//! must be written as the same bytes; a follower takes what it takes, and its log can be opened again.
#![no_main]

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;

use libfuzzer_sys::fuzz_target;
use mote_common::Lsn;
use mote_common::env::net::{Received, Stream};
use mote_common::env::sim::{SimDisk, env};
use mote_log::intake::Intake;
use mote_log::range::LogRanges;
use mote_log::scan::scan_log;
use mote_log::{LogConfig, TermMark};
use mote_replication::NodeId;
use mote_replication::history::History;
use mote_replication::message::{Hello, Message, PROTOCOL_VERSION, Start};
use mote_replication::primary::{Primary, PrimaryConfig};
use mote_replication::quorum::Quorum;
use mote_replication::receiver::{Outcome, Receiver};
use mote_replication::slots::Slots;
use mote_replication::wire::Wire;

const SYSTEM_ID: u64 = 7;
const SEGMENT_BYTES: u64 = 64 << 10;
const BEGIN: Lsn = Lsn(SEGMENT_BYTES);

/// Brings what the input says, and takes everything.
struct Script {
    bytes: Vec<u8>,
    piece: usize,
}

impl Stream for Script {
    fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(parts.iter().map(|part| part.len()).sum())
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<Received> {
        let length = self.piece.min(self.bytes.len()).min(into.len());
        into[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes.drain(..length);
        Ok(match length {
            0 => Received::End,
            length => Received::Bytes(length),
        })
    }

    fn peer(&self) -> Option<SocketAddr> {
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)))
    }

    fn set_deadline(&mut self, _: Option<u64>) {}

    fn close(&mut self) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: SEGMENT_BYTES,
        ring_bytes: 2 << 20,
        segments_ahead: 1,
        writers_max: 2,
        ..LogConfig::default()
    }
}

fn mark() -> TermMark {
    TermMark {
        term: 1,
        start: BEGIN,
        previous_end: BEGIN,
        nonce: 9,
    }
}

fn hello() -> Hello {
    Hello {
        version: PROTOCOL_VERSION,
        system_id: SYSTEM_ID,
        id: NodeId(2),
        name: "b".into(),
        promised: 0,
        end: BEGIN,
        stable: BEGIN,
        marks: Vec::new(),
    }
}

/// A follower that has been answered as it should be, and then hears the input.
fn follower(script: Script) {
    let disk = SimDisk::new(1);
    let world = env(&disk, 1).0;
    world.disk.create_dir_all("log").expect("alive");
    let open = || {
        let scan = scan_log(&*world.disk, SYSTEM_ID, SEGMENT_BYTES, BEGIN).expect("what was taken is whole");
        Intake::open(&world, config(), SYSTEM_ID, BEGIN, &scan, vec![mark()]).expect("alive")
    };
    let mut log = open();
    let Ok(mut receiver) = Receiver::new(Wire::new(Box::new(script)), hello()) else { return };
    for now_ns in 0..10_000 {
        match receiver.step(0, now_ns, &mut log) {
            Outcome::Nothing | Outcome::Heard => {}
            Outcome::Begin(start) => {
                assert!(start.cut == BEGIN, "a cut behind its log, or below what is stable");
                receiver.begin();
            }
            Outcome::Refused(_) | Outcome::Lost(_) => break,
            Outcome::Disk(error) => panic!("the disk works: {error}"),
        }
    }
    let flushed = log.flushed();
    drop(log);
    assert!(open().received() >= flushed, "what was called flushed is there");
}

/// A primary with the input as its follower.
fn primary(script: Script) {
    let disk = SimDisk::new(1);
    let world = env(&disk, 1).0;
    let slots = Slots::open(world.disk.clone(), SYSTEM_ID, 1 << 20, 4096).expect("alive");
    let config = PrimaryConfig {
        system_id: SYSTEM_ID,
        id: NodeId(1),
        member: Some("a".into()),
        heartbeat_ns: 10,
        silence_ns: 1000,
        piece_bytes: 4096,
    };
    let history = History::new(vec![mark()]);
    let quorum = Quorum::new(NodeId(1), BEGIN, Vec::new());
    let mut primary = Primary::new(config, history, BEGIN, BEGIN, quorum, slots);
    let mut wire = Wire::new(Box::new(script));
    while let Ok(true) = wire.fill() {
        match wire.next_message() {
            Ok(None) => {}
            Ok(Some(Message::Hello(hello))) => {
                primary.accept(wire, &hello, 0).expect("the disk works");
                break;
            }
            _ => return,
        }
    }
    let mut ranges = LogRanges::new(world.disk.clone(), SYSTEM_ID, SEGMENT_BYTES);
    for now_ns in 1..200 {
        primary.step(now_ns, 0, &mut ranges).expect("the disk works");
        assert!(primary.levels().stable <= BEGIN, "nobody has flushed more than there is");
    }
}

fuzz_target!(|input: &[u8]| {
    let [piece, who, rest @ ..] = input else { return };
    if let Some(message) = Message::decode(rest) {
        assert_eq!(Message::decode(&message.encode()), Some(message));
    }
    let script = |begin: &[u8]| Script {
        bytes: [begin, rest].concat(),
        piece: usize::from(*piece) * 64 + 1,
    };
    let framed = |message: Message<'_>| {
        let payload = message.encode();
        [&b"d"[..], &(payload.len() as u32 + 4).to_be_bytes(), &payload].concat()
    };
    match who % 4 {
        0 => follower(script(&[])),
        1 => follower(script(&framed(Message::Start(Start {
            system_id: SYSTEM_ID,
            id: NodeId(1),
            term: 1,
            cut: BEGIN,
            stable: BEGIN,
            marks: vec![mark()],
        })))),
        2 => primary(script(&[])),
        _ => primary(script(&framed(Message::Hello(hello())))),
    }
});
