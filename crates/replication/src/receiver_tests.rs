//! A follower's stream, seen from a primary over a simulated network.

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use mote_common::env::net::sim::SimNetwork;
use mote_common::env::net::{Received, Stream};
use mote_common::env::sim::SimClock;

use super::*;
use crate::NodeId;
use crate::message::PROTOCOL_VERSION;

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const BLOCK: u64 = 4096;

/// A log that takes everything.
#[derive(Default)]
struct Taken {
    received: Lsn,
    flushed: Lsn,
    applied: Lsn,
}

impl FollowerLog for Taken {
    fn write(&mut self, from: Lsn, bytes: &[u8]) -> Result<(), IntakeError> {
        self.received = Lsn(from.0 + bytes.len() as u64);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flushed = self.received;
        Ok(())
    }

    fn received(&self) -> Lsn {
        self.received
    }

    fn flushed(&self) -> Lsn {
        self.flushed
    }

    fn applied(&self) -> Lsn {
        self.applied
    }
}

struct World {
    network: SimNetwork,
    clock: Arc<SimClock>,
    now_ns: u64,
    primary: Wire,
    receiver: Receiver,
    log: Taken,
}

impl World {
    fn new() -> World {
        let network = SimNetwork::new(9);
        let clock = Arc::new(SimClock::default());
        let hosts = network.host(HOST, clock.clone());
        let address = SocketAddr::new(HOST, 5432);
        let mut listener = hosts.listen(address).expect("the port is free");
        let wire = Wire::new(hosts.connect(address).expect("it waits for nothing"));
        let hello = Hello {
            version: PROTOCOL_VERSION,
            system_id: 7,
            id: NodeId(2),
            name: "b".into(),
            promised: 1,
            end: Lsn::ZERO,
            stable: Lsn::ZERO,
            marks: Vec::new(),
        };
        let receiver = Receiver::new(wire, hello).expect("the stream stands");
        network.advance_to(1_000_000);
        clock.advance_ns(1_000_000);
        let stream = listener.accept().expect("listening").expect("it has arrived");
        let mut world = World {
            network,
            clock,
            now_ns: 1_000_000,
            primary: Wire::new(stream),
            receiver,
            log: Taken::default(),
        };
        world.say(&Message::Start(Start {
            system_id: 7,
            id: NodeId(1),
            term: 1,
            cut: Lsn::ZERO,
            stable: Lsn::ZERO,
            marks: Vec::new(),
        }));
        assert!(matches!(world.step(), Outcome::Begin(_)));
        world.receiver.begin();
        world
    }

    fn pass(&mut self) {
        self.now_ns += 1_000_000;
        self.clock.advance_ns(1_000_000);
        self.network.advance_to(self.now_ns);
    }

    fn say(&mut self, message: &Message<'_>) {
        self.primary.say(message).expect("the stream stands");
        self.pass();
    }

    fn beat(&mut self, eager: bool) {
        let (stable, beat_ns) = (Lsn::ZERO, self.now_ns);
        self.say(&Message::Beat {
            stable,
            beat_ns,
            eager,
        });
        self.step();
        assert_eq!(self.reports().len(), 1, "a heartbeat is answered at once");
    }

    fn send_block(&mut self) {
        let from = self.log.received;
        let sent = self
            .primary
            .send_log(from, Lsn::ZERO, 0, [&[0; BLOCK as usize], &[]]);
        sent.expect("the stream stands");
        self.pass();
        assert!(matches!(self.step(), Outcome::Heard));
    }

    fn step(&mut self) -> Outcome {
        let outcome = self.receiver.step(1, self.now_ns, &mut self.log);
        self.pass();
        outcome
    }

    /// What has been reported since this was asked last.
    fn reports(&mut self) -> Vec<Progress> {
        let mut reports = Vec::new();
        while self.primary.fill().expect("the stream stands") {
            while let Some(message) = self.primary.next_message().expect("the stream stands") {
                if let Message::Report { progress, .. } = message {
                    reports.push(progress);
                }
            }
        }
        reports
    }
}

#[test]
fn what_nobody_waits_for_is_reported_with_the_next_sync_or_a_little_later() {
    let mut world = World::new();
    world.beat(false);
    for blocks in 1..4 {
        world.send_block();
        let reports = world.reports();
        assert_eq!(reports.len(), 1, "one for each flush");
        assert_eq!(reports[0].flushed, Lsn(blocks * BLOCK));
        assert_eq!(reports[0].received, reports[0].flushed);
    }
    assert_eq!(world.receiver.due_ns(), None, "all was said");
    world.log.applied = world.log.flushed;
    world.step();
    assert!(world.reports().is_empty());
    let due_ns = world.receiver.due_ns().expect("something is unsaid");
    assert!(due_ns <= world.now_ns + REPORT_DELAY_NS);
    while world.now_ns < due_ns {
        world.pass();
    }
    world.step();
    assert_eq!(
        world.reports().last().map(|report| report.applied),
        Some(Lsn(3 * BLOCK))
    );
    assert_eq!(world.receiver.due_ns(), None);
}

#[test]
fn what_somebody_waits_for_is_reported_at_once() {
    let mut world = World::new();
    world.beat(true);
    world.send_block();
    let reports = world.reports();
    assert_eq!(reports.len(), 2, "received, then flushed");
    assert_eq!((reports[0].received, reports[0].flushed), (Lsn(BLOCK), Lsn::ZERO));
    assert_eq!(reports[1].flushed, Lsn(BLOCK));
    world.log.applied = Lsn(BLOCK);
    world.step();
    assert_eq!(
        world.reports().last().map(|report| report.applied),
        Some(Lsn(BLOCK))
    );
    // What was put off is said as soon as somebody waits.
    world.beat(false);
    world.send_block();
    world.reports();
    world.log.applied = Lsn(2 * BLOCK);
    world.step();
    assert!(world.reports().is_empty());
    world.beat(true);
    assert_eq!(world.receiver.due_ns(), None);
}

/// Log behind the slots is taken when they are written down, and nothing has to arrive for that.
#[test]
fn what_comes_behind_the_slots_waits_for_the_next_step() {
    let mut world = World::new();
    world.beat(false);
    let kept = vec![KeptFor {
        name: "s".into(),
        position: Lsn(1),
        lost: false,
        logical: None,
    }];
    world.say(&Message::Keep(kept.clone()));
    let sent = world
        .primary
        .send_log(Lsn::ZERO, Lsn::ZERO, 0, [&[0; BLOCK as usize], &[]]);
    sent.expect("the stream stands");
    world.pass();
    assert!(matches!(world.step(), Outcome::Heard));
    assert_eq!(world.receiver.take_kept(), Some(kept));
    assert_eq!(world.log.received, Lsn::ZERO);
    assert_eq!(world.receiver.due_ns(), Some(0));
    assert!(matches!(world.step(), Outcome::Heard));
    assert_eq!(world.log.flushed, Lsn(BLOCK));
    assert_eq!(world.receiver.due_ns(), None);
    assert_eq!(world.reports().len(), 1);
}

/// A primary that sends faster than the log is written.
struct Torrent {
    message: Vec<u8>,
    /// Of which so much was received.
    at: usize,
    left_bytes: usize,
}

impl Stream for Torrent {
    fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(parts.iter().map(|part| part.len()).sum())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        let length = buffer.len().min(self.left_bytes);
        for byte in &mut buffer[..length] {
            *byte = self.message[self.at];
            self.at = (self.at + 1) % self.message.len();
        }
        self.left_bytes -= length;
        Ok(match length {
            0 => Received::Nothing,
            bytes => Received::Bytes(bytes),
        })
    }

    fn set_deadline(&mut self, _: Option<u64>) {}

    fn close(&mut self) {}

    fn peer(&self) -> Option<SocketAddr> {
        None
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

#[test]
fn log_that_comes_without_a_pause_is_synced_and_reported_all_the_same() {
    let mut world = World::new();
    let payload = Message::Wal {
        from: Lsn::ZERO,
        stable: Lsn::ZERO,
        sent_us: 0,
        bytes: &[0; 4 * BLOCK as usize],
    }
    .encode();
    let length = payload.len() as u32 + 4;
    let message = [b"d", &length.to_be_bytes()[..], &payload].concat();
    let left_bytes = message.len() * 4096;
    world.receiver.wire = Wire::new(Box::new(Torrent {
        message,
        at: 0,
        left_bytes,
    }));
    let (mut steps, mut reported) = (0, 0);
    while world.receiver.due_ns() == Some(0) || steps == 0 {
        assert!(matches!(world.step(), Outcome::Heard));
        assert_eq!(world.log.flushed, world.log.received);
        (steps, reported) = (
            steps + 1,
            reported + usize::from(world.receiver.unsaid_ns.is_none()),
        );
    }
    assert!(steps >= 8, "{steps} steps for 64 MiB");
    assert_eq!(reported, steps);
    let stub = world.receiver.wire.fill().expect("it stands");
    assert!(!stub, "nothing was left");
}
