//! A primary and those who ask it for its log, over a simulated network.

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mote_common::env::net::sim::{SimNetwork, Weather};
use mote_common::env::net::{Listener, Network, Received, Stream};
use mote_common::env::sim::{SimClock, SimDisk, env};

use super::telling::{PIECES_MAX, READS_MAX};
use super::*;
use crate::message::{Hello, PROTOCOL_VERSION, Progress, Reason, Start};
use crate::names::SyncNames;

const SYSTEM: u64 = 7;
const ME: NodeId = NodeId(1);
const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const START: u64 = 1 << 20;

/// A log whose byte at `lsn` is told by `lsn`, from `start` on.
struct Pattern {
    start: Lsn,
    /// Below, each piece has to be asked for twice.
    archived_to: Lsn,
    fetched: bool,
}

fn pattern(lsn: u64) -> u8 {
    (lsn / 4096) as u8
}

impl LogSource for Pattern {
    fn read(&mut self, from: Lsn, buffer: &mut [u8]) -> io::Result<LogPiece> {
        if from < self.start {
            return Ok(LogPiece::Gone);
        }
        if from < self.archived_to && !std::mem::replace(&mut self.fetched, false) {
            self.fetched = true;
            return Ok(LogPiece::Later);
        }
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = pattern(from.0 + at as u64);
        }
        Ok(LogPiece::Bytes(buffer.len()))
    }
}

struct World {
    network: SimNetwork,
    clock: Arc<SimClock>,
    hosts: Arc<dyn Network>,
    listener: Box<dyn Listener>,
    primary: Primary,
    source: Pattern,
    now_ns: u64,
}

fn mark(term: u32, start: u64) -> TermMark {
    TermMark {
        term,
        start: Lsn(start),
        previous_end: Lsn(start),
        nonce: term.into(),
    }
}

fn marks() -> Vec<TermMark> {
    vec![mark(1, START), mark(3, 2 * START)]
}

fn world(rules: Vec<Rule>) -> World {
    let network = SimNetwork::new(9);
    network.set_weather(Weather {
        window_bytes: 20_000,
        ..Weather::default()
    });
    let clock = Arc::new(SimClock::default());
    let hosts = network.host(HOST, clock.clone());
    let listener = hosts.listen(address()).expect("the port is free");
    let config = PrimaryConfig {
        system_id: SYSTEM,
        id: ME,
        member: Some("a".into()),
        heartbeat_ns: 10_000_000,
        silence_ns: 1_000_000_000,
        piece_bytes: 8192,
    };
    let disk = env(&SimDisk::new(1), 1).0.disk;
    let slots = Slots::open(disk, SYSTEM, 4 * START, 1).expect("the disk works");
    let end = Lsn(3 * START);
    let quorum = Quorum::new(ME, Lsn(2 * START + 4096), rules);
    World {
        primary: Primary::new(config, History::new(marks()), Lsn(START), end, quorum, slots),
        source: Pattern {
            start: Lsn(START),
            archived_to: Lsn::ZERO,
            fetched: false,
        },
        network,
        clock,
        hosts,
        listener,
        now_ns: 0,
    }
}

fn address() -> SocketAddr {
    SocketAddr::new(HOST, 5432)
}

fn hello() -> Hello {
    Hello {
        version: PROTOCOL_VERSION,
        system_id: SYSTEM,
        id: NodeId(2),
        name: "b".into(),
        promised: 3,
        end: Lsn(2 * START + 8192),
        stable: Lsn(START),
        marks: marks(),
    }
}

impl World {
    fn pass(&mut self) {
        self.now_ns += 30_000_000;
        self.clock.advance_ns(30_000_000);
        self.network.advance_to(self.now_ns);
    }

    /// Connects and asks.
    fn ask(&mut self, hello: &Hello) -> Wire {
        let client = Wire::new(self.hosts.connect(address()).expect("it waits for nothing"));
        self.pass();
        let server = self
            .listener
            .accept()
            .expect("listening")
            .expect("it has arrived");
        self.primary
            .accept(Wire::new(server), hello, self.now_ns)
            .expect("the disk works");
        self.pass();
        client
    }

    fn step(&mut self) {
        self.pass();
        self.primary
            .step(self.now_ns, 0, &mut self.source)
            .expect("the disk works");
        self.pass();
    }

    fn refusal(&mut self, hello: &Hello) -> (Reason, String) {
        let mut wire = self.ask(hello);
        wire.fill().expect("the answer came");
        match wire.next_message() {
            Ok(Some(Message::Refused(refusal))) => (refusal.reason, refusal.text),
            other => panic!("{other:?}"),
        }
    }
}

fn start_of(wire: &mut Wire) -> Start {
    wire.fill().expect("the answer came");
    match wire.next_message() {
        Ok(Some(Message::Start(start))) => start,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_must_not_have_the_log_is_told_why_and_what_to_do() {
    let mut world = world(vec![]);
    let _connected = world.ask(&Hello {
        id: NodeId(9),
        name: "taken".into(),
        ..hello()
    });
    let cases: Vec<(Hello, Reason, &str)> = vec![
        (
            Hello {
                version: 9,
                ..hello()
            },
            Reason::Version,
            "upgrade followers first",
        ),
        (
            Hello {
                system_id: 8,
                ..hello()
            },
            Reason::WrongSystem,
            "empty directory",
        ),
        (
            Hello { id: ME, ..hello() },
            Reason::SameDirectory,
            "clone it anew",
        ),
        (
            Hello {
                promised: 4,
                ..hello()
            },
            Reason::TermTooLow,
            "promised itself to term 4",
        ),
        (
            Hello {
                name: "taken".into(),
                ..hello()
            },
            Reason::NameTaken,
            "another --name",
        ),
        (
            Hello {
                marks: vec![mark(2, 9 * START)],
                ..hello()
            },
            Reason::Diverged,
            "empty directory",
        ),
        (
            // It has a term of its own behind 1.5, and knows that commits behind that count.
            Hello {
                marks: vec![mark(1, START), mark(2, START + START / 2)],
                stable: Lsn(START + START / 2 + 4096),
                ..hello()
            },
            Reason::WouldLose,
            "do not let it serve",
        ),
        (
            Hello {
                stable: Lsn(9 * START),
                ..hello()
            },
            Reason::WouldLose,
            "lacks acknowledged commits",
        ),
    ];
    for (hello, reason, text) in cases {
        let refused = world.refusal(&hello);
        assert_eq!(refused.0, reason, "{}", refused.1);
        assert!(refused.1.contains(text), "{}", refused.1);
    }
    assert_eq!(world.primary.outbid(), Some(4));
    world.primary.released_below(Lsn(2 * START + 40_960));
    let refused = world.refusal(&hello());
    assert_eq!(refused.0, Reason::MissingPosition, "{}", refused.1);
    assert!(refused.1.contains("archive"), "{}", refused.1);
}

/// As much as an archive has, at the pace at which it gives it; then the slot keeps the log here.
#[test]
fn what_is_not_here_any_more_comes_out_of_an_archive() {
    let mut world = world(vec![]);
    let oldest = Lsn(2 * START + 40_960);
    world.primary.released_below(oldest);
    world.primary.archived_from(Lsn(START + START / 2));
    world.source.archived_to = oldest;
    let behind = Hello {
        end: Lsn(START + START / 2 - 4096),
        ..hello()
    };
    let refused = world.refusal(&behind);
    assert_eq!(refused.0, Reason::MissingPosition, "{}", refused.1);
    let mut wire = world.ask(&hello());
    assert_eq!(start_of(&mut wire).cut, hello().end);
    let kept = world.primary.slots().get(&hello().name).expect("it has one");
    assert_eq!(kept.position, oldest, "what is archived is not kept here");
    // It is lost while the follower is behind, and the follower's again when that has caught up.
    world.primary.config.silence_ns = u64::MAX;
    let far = Lsn(oldest.0 + 4 * START + 4096);
    world.primary.slots_mut().enforce(far).expect("the disk works");
    assert!(
        world
            .primary
            .slots()
            .get(&hello().name)
            .is_some_and(|slot| slot.lost)
    );
    let (mut next, mut steps) = (block_of(hello().end).0, 0);
    while next < 3 * START {
        (steps, _) = (steps + 1, world.step());
        assert!(steps < 10_000, "it stands at {next}");
        while wire.fill().expect("the stream stands") {
            while let Some(message) = wire.next_message().expect("the stream stands") {
                if let Message::Wal { from, bytes, .. } = message {
                    assert_eq!(from, Lsn(next), "no gap");
                    next += bytes.len() as u64;
                }
            }
        }
    }
    let progress = Progress {
        received: Lsn(next),
        flushed: Lsn(next),
        applied: Lsn(next),
    };
    assert!(wire.say(&Message::Report { progress, beat_ns: 0 }).expect("open"));
    for _ in 0..100 {
        world.step();
    }
    let slot = world.primary.slots().get(&hello().name).expect("it has one");
    assert!(!slot.lost && slot.position > oldest, "{slot:?}");
}

#[test]
fn a_follower_is_cut_and_gets_the_log_from_there() {
    let mut world = world(vec![]);
    let ahead = Hello {
        marks: vec![mark(1, START), mark(2, START + START / 2 + 100)],
        end: Lsn(5 * START),
        ..hello()
    };
    let mut wire = world.ask(&ahead);
    let start = start_of(&mut wire);
    assert_eq!((start.cut, start.term), (Lsn(START + START / 2 + 100), 3));
    assert_eq!(start.marks, [mark(3, 2 * START)]);
    // It has nothing to say in this test.
    world.primary.config.silence_ns = u64::MAX;
    let mut next = START + START / 2;
    while next < 3 * START {
        world.step();
        while wire.fill().expect("the stream stands") {
            while let Some(message) = wire.next_message().expect("the stream stands") {
                let Message::Wal { from, bytes, .. } = message else {
                    continue;
                };
                assert_eq!(from, Lsn(next), "no gap");
                assert!(
                    bytes
                        .iter()
                        .enumerate()
                        .all(|(at, byte)| *byte == pattern(next + at as u64))
                );
                next += bytes.len() as u64;
            }
        }
        let held = world.primary.streams[0].wire.held_bytes();
        assert!(held <= 8192 + 64, "{held} bytes wait for one follower");
    }
    assert_eq!(next, 3 * START);
}

#[test]
fn a_flush_goes_straight_to_who_is_up_to_date_and_waits_for_nobody() {
    let mut world = world(vec![]);
    let end = 3 * START;
    let at_end = Hello {
        end: Lsn(end),
        ..hello()
    };
    let mut wire = world.ask(&at_end);
    start_of(&mut wire);
    let _behind = world.ask(&Hello {
        id: NodeId(3),
        name: "c".into(),
        ..hello()
    });
    // Each has been told for whom to keep log.
    let slots = world.primary.slots_to_tell();
    world
        .primary
        .streams
        .iter_mut()
        .for_each(|stream| stream.told_slots = slots);
    world.primary.flushing(Lsn(end), [&[1; 4096], &[2; 8192]], 5);
    world.pass();
    let mut got = Vec::new();
    while wire.fill().expect("the stream stands") {
        while let Some(message) = wire.next_message().expect("the stream stands") {
            if let Message::Wal { bytes, .. } = message {
                got.extend_from_slice(bytes);
            }
        }
    }
    assert_eq!(got, [vec![1; 4096], vec![2; 8192]].concat());
    assert_eq!(
        world.primary.streams[1].position,
        Lsn(2 * START + 8192),
        "who is behind is left alone"
    );
    // Far more than a window: what does not go stays in the log, not here.
    world.primary.flushing(Lsn(end + 12_288), [&[3; 200_704], &[]], 5);
    let stream = &world.primary.streams[0];
    assert!(stream.wire.held_bytes() <= 8192 + 64);
    assert!(stream.position < Lsn(end + 12_288 + 200_704));
}

/// The names of each list of slots, and where each piece of log begins, in the order of the stream.
fn slots_and_log(wire: &mut Wire) -> Vec<Result<Vec<String>, Lsn>> {
    let mut told = Vec::new();
    while wire.fill().expect("the stream stands") {
        while let Some(message) = wire.next_message().expect("the stream stands") {
            match message {
                Message::Keep(kept) => told.push(Ok(kept.into_iter().map(|kept| kept.name).collect())),
                Message::Wal { from, .. } => told.push(Err(from)),
                _ => {}
            }
        }
    }
    told
}

/// So whoever has log that was written behind a slot knows of the slot, and a slot that was answered is on every later
/// primary.
#[test]
fn log_is_sent_behind_the_slots_as_they_stand() {
    let mut world = world(vec![]);
    let end = Lsn(3 * START);
    let mut wire = world.ask(&Hello {
        end: Lsn(end.0 - 4096),
        ..hello()
    });
    start_of(&mut wire);
    world.step();
    let names = |names: &[&str]| Ok(names.iter().map(|name| name.to_string()).collect());
    assert_eq!(
        slots_and_log(&mut wire),
        [names(&["b", "a"]), Err(Lsn(end.0 - 4096))]
    );
    let slots = world.primary.slots_mut();
    slots.create("later", end, None).expect("there is room");
    world.primary.flushing(end, [&[1; 4096], &[]], 5);
    world.pass();
    assert_eq!(slots_and_log(&mut wire), [], "it does not know of the slot");
    world.primary.flushed(Lsn(end.0 + 4096));
    assert!(world.primary.is_behind());
    world.step();
    assert_eq!(slots_and_log(&mut wire), [names(&["b", "later", "a"]), Err(end)]);
    world.primary.flushing(Lsn(end.0 + 4096), [&[1; 4096], &[]], 5);
    world.pass();
    assert_eq!(slots_and_log(&mut wire), [Err(Lsn(end.0 + 4096))]);
}

/// Else nobody keeps any log for this node, and who leads next may lack what it needs (seed 5000432 of three nodes).
#[test]
fn log_is_kept_for_a_leader_whose_follower_knows_of_nothing_stable() {
    let voters = Rule::Voters {
        count: 2,
        ids: [NodeId(2), NodeId(3)].into(),
    };
    let mut world = world(vec![voters]);
    let mut wire = world.ask(&Hello {
        stable: Lsn::ZERO,
        ..hello()
    });
    start_of(&mut wire);
    world.step();
    let mut own = None;
    while wire.fill().expect("the stream stands") {
        while let Some(message) = wire.next_message().expect("the stream stands") {
            if let Message::Keep(kept) = message {
                own = kept.into_iter().find(|kept| kept.name == "a");
            }
        }
    }
    assert_eq!(own.map(|kept| kept.position), Some(Lsn(START)));
}

/// A follower says what it has synced.
fn report(world: &mut World, wire: &mut Wire, flushed: u64, beat_ns: u64) {
    let progress = Progress {
        received: Lsn(flushed),
        flushed: Lsn(flushed),
        applied: Lsn(0),
    };
    let said = wire.say(&Message::Report { progress, beat_ns });
    assert!(said.expect("the stream stands"));
    world.pass();
}

/// The flusher rouses the hub's thread only if this says so.
#[test]
fn a_flush_that_no_follower_has_synced_leaves_nothing_to_do() {
    let names = SyncNames::parse("ANY 1 (b)").expect("a list").expect("not empty");
    let mut world = world(vec![Rule::Names(names)]);
    let end = 3 * START;
    let at_end = Hello {
        end: Lsn(end),
        ..hello()
    };
    let mut wire = world.ask(&at_end);
    start_of(&mut wire);
    let mut report = |world: &mut World, flushed: u64| report(world, &mut wire, flushed, 0);
    report(&mut world, end);
    world.step();
    assert!(!world.primary.is_behind());
    world.primary.flushing(Lsn(end), [&[1; 4096], &[]], 5);
    world.primary.flushed(Lsn(end + 4096));
    assert!(!world.primary.is_behind(), "it was sent, and nobody has it");
    report(&mut world, end + 4096);
    world.step();
    assert_eq!(world.primary.levels().stable, Lsn(end + 4096));
    assert!(!world.primary.is_behind());
    // The follower is first.
    world.primary.flushing(Lsn(end + 4096), [&[1; 4096], &[]], 5);
    report(&mut world, end + 8192);
    world.step();
    world.primary.flushed(Lsn(end + 8192));
    assert!(world.primary.is_behind(), "commits may be told of");
    world.step();
    // One that could not be sent at once.
    world.primary.flush_begun(Lsn(end + 12_288));
    world.primary.flushed(Lsn(end + 12_288));
    assert!(world.primary.is_behind());
    world.step();
    world.primary.set_eager(true);
    assert!(world.primary.is_behind());
}

#[test]
fn news_of_the_horizon_wait_for_the_next_flush_unless_somebody_waits_for_them() {
    let names = SyncNames::parse("ANY 1 (b)").expect("a list").expect("not empty");
    let mut world = world(vec![Rule::Names(names)]);
    world.primary.config.heartbeat_ns = u64::MAX;
    let end = 3 * START;
    let at_end = Hello {
        end: Lsn(end),
        ..hello()
    };
    let mut wire = world.ask(&at_end);
    start_of(&mut wire);
    let mut report = |world: &mut World, flushed: u64| {
        report(world, &mut wire, flushed, 0);
        let now_ns = world.now_ns;
        world
            .primary
            .step(now_ns, 0, &mut world.source)
            .expect("the disk works");
        now_ns
    };
    let flush = |world: &mut World, from: u64| {
        world.primary.flushing(Lsn(from), [&[1; 4096], &[]], 5);
        world.primary.flushed(Lsn(from + 4096));
    };
    // The first step tells that nobody is eager, and the horizon with it.
    report(&mut world, end);
    assert_eq!(world.primary.due_ns(), None);
    flush(&mut world, end);
    let since_ns = report(&mut world, end + 4096);
    assert_eq!(world.primary.due_ns(), Some(since_ns + TELL_DELAY_NS));
    flush(&mut world, end + 4096);
    assert_eq!(world.primary.due_ns(), None, "the flush has carried it");
    report(&mut world, end + 8192);
    assert!(world.primary.due_ns().is_some());
    world.step();
    assert_eq!(world.primary.due_ns(), None, "it was time");
    world.primary.set_eager(true);
    flush(&mut world, end + 8192);
    report(&mut world, end + 12_288);
    assert_eq!(world.primary.due_ns(), None, "told at once");
}

/// Trace 7: etcd was set back, and two nodes have begun one term.
#[test]
fn of_two_that_began_one_term_neither_takes_the_others_log() {
    let mut world = world(vec![]);
    let mut twin = hello();
    twin.marks[1].nonce = 77;
    let (reason, text) = world.refusal(&twin);
    assert_eq!(reason, Reason::Diverged);
    assert!(text.starts_with("term 3 was begun by two nodes"), "{text}");
    // A lone pair has nobody who would give numbers to terms.
    world.primary.config.member = None;
    twin.stable = Lsn::ZERO;
    assert!(world.primary.judge(&twin, world.now_ns).is_ok());
}

#[test]
fn reports_move_the_horizon_and_the_slot_and_impossible_ones_end_the_stream() {
    let names = SyncNames::parse("ANY 1 (b)").expect("a list").expect("not empty");
    let mut world = world(vec![Rule::Names(names)]);
    let mut wire = world.ask(&hello());
    start_of(&mut wire);
    let mut report = |world: &mut World, flushed: u64| {
        report(world, &mut wire, flushed, 1);
        world.step();
    };
    report(&mut world, 2 * START + 4095);
    assert_eq!(
        world.primary.levels().stable,
        Lsn::ZERO,
        "the term's first frame is missing"
    );
    report(&mut world, 2 * START + 8192);
    assert_eq!(world.primary.levels().stable, Lsn(2 * START + 8192));
    assert_eq!(world.primary.levels().applied, Lsn::ZERO);
    assert_eq!(world.primary.answered_ns(), Some(1));
    assert_eq!(
        world.primary.keep_from().expect("the disk works"),
        Lsn(2 * START + 8192)
    );
    report(&mut world, 9 * START);
    assert!(world.primary.streams.is_empty(), "nobody has what was never sent");
    assert_eq!(world.primary.levels().stable, Lsn(2 * START + 8192));
    // Nobody asks any more, and the log goes on.
    world.primary.flushed(Lsn(7 * START));
    assert_eq!(world.primary.keep_from().expect("the disk works"), Lsn(7 * START));
    assert!(world.primary.slots().get("b").is_some_and(|slot| slot.lost));
}

/// What it says of its disk and of its tables is judged as what it says to have received: commits count on it.
#[test]
fn nobody_has_synced_or_applied_what_was_never_sent() {
    for (flushed, applied) in [(u64::MAX, 0), (0, u64::MAX)] {
        let names = SyncNames::parse("ANY 1 (b)").expect("a list").expect("not empty");
        let mut world = world(vec![Rule::Names(names)]);
        let mut wire = world.ask(&hello());
        start_of(&mut wire);
        let progress = Progress {
            received: Lsn(2 * START),
            flushed: Lsn(flushed),
            applied: Lsn(applied),
        };
        let said = wire.say(&Message::Report { progress, beat_ns: 0 });
        assert!(said.expect("the stream stands"));
        world.pass();
        world.step();
        assert!(world.primary.streams.is_empty());
        let levels = world.primary.levels();
        assert_eq!((levels.stable, levels.applied), (Lsn::ZERO, Lsn::ZERO));
    }
}

/// Nothing of the term is stable: another may lead next, and cut both logs at what was stable before.
#[test]
fn a_slot_begins_no_higher_than_what_is_known_to_be_stable() {
    let voters = Rule::Voters {
        count: 2,
        ids: [NodeId(2), NodeId(3)].into(),
    };
    let mut world = world(vec![voters]);
    let mut wire = world.ask(&Hello {
        stable: Lsn(START + 3 * BLOCK_BYTES + 5),
        ..hello()
    });
    world.pass();
    assert_eq!(start_of(&mut wire).cut, Lsn(2 * START + 8192));
    let position = |world: &World| world.primary.slots().get("b").map(|slot| slot.position);
    assert_eq!(position(&world), Some(Lsn(START + 3 * BLOCK_BYTES)));
    // One that knows of nothing has at least what every log begins with.
    world.ask(&Hello {
        stable: Lsn::ZERO,
        ..hello()
    });
    assert_eq!(position(&world), Some(Lsn(START)));
}

#[test]
fn a_silent_follower_is_given_up_and_a_newer_stream_replaces_an_older() {
    let mut world = world(vec![]);
    let mut first = world.ask(&hello());
    let _second = world.ask(&hello());
    assert_eq!(world.primary.streams.len(), 1);
    start_of(&mut first);
    world.pass();
    while first.fill().expect("what was sent arrives") {}
    assert!(first.expect_open().is_err());
    for _ in 0..40 {
        world.step();
    }
    assert!(world.primary.streams.is_empty());
}

/// Trace 20: a node whose disk hangs is silent, so that another one may lead, and goes on when its disk does.
#[test]
fn heartbeats_stop_while_a_flush_hangs() {
    let mut world = world(vec![]);
    world.primary.config.silence_ns = u64::MAX;
    world.primary.limit_flush(100_000_000);
    let mut wire = world.ask(&Hello {
        end: Lsn(3 * START),
        ..hello()
    });
    start_of(&mut wire);
    let mut beats = |world: &mut World, steps: usize| {
        let mut beats = 0;
        for _ in 0..steps {
            world.step();
            while wire.fill().expect("the stream stands") {
                while let Some(message) = wire.next_message().expect("the stream stands") {
                    beats += usize::from(matches!(message, Message::Beat { .. }));
                }
            }
        }
        beats
    };
    assert!(beats(&mut world, 10) >= 9);
    // Flushes that come to an end silence nobody, however many they are.
    for flush in 1..20 {
        world.primary.flush_begun(Lsn(3 * START + flush * 4096));
        assert_eq!(beats(&mut world, 1), 1);
        world.primary.flushed(Lsn(3 * START + flush * 4096));
    }
    world.primary.flush_begun(Lsn(3 * START + 30 * 4096));
    assert!(beats(&mut world, 10) <= 5, "the limit is 100 ms, a step 30 ms");
    assert_eq!(beats(&mut world, 10), 0);
    world.primary.flushed(Lsn(3 * START + 30 * 4096));
    assert!(beats(&mut world, 10) >= 9);
}

/// A follower that says the same again and again, without a pause, and takes whatever it is sent.
struct Torrent {
    message: Vec<u8>,
    /// Of which so much was received.
    at: usize,
    reads: Arc<AtomicUsize>,
}

impl Stream for Torrent {
    fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(parts.iter().map(|part| part.len()).sum())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        assert!(
            self.reads.fetch_add(1, Ordering::Relaxed) < 1000,
            "a step hears one stream without end"
        );
        if self.message.is_empty() {
            return Ok(Received::Nothing);
        }
        for byte in &mut *buffer {
            *byte = self.message[self.at];
            self.at = (self.at + 1) % self.message.len();
        }
        Ok(Received::Bytes(buffer.len()))
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

impl World {
    /// A follower whose stream is a torrent of the message; how often it was asked.
    fn begin_torrent(&mut self, message: Vec<u8>) -> Arc<AtomicUsize> {
        let reads = Arc::new(AtomicUsize::new(0));
        let torrent = Torrent {
            message,
            at: 0,
            reads: reads.clone(),
        };
        self.primary
            .accept(Wire::new(Box::new(torrent)), &hello(), self.now_ns)
            .expect("the disk works");
        reads
    }
}

#[test]
fn a_follower_that_reports_without_a_pause_leaves_the_others_their_turn() {
    let mut world = world(vec![]);
    let payload = Message::Report {
        progress: Progress::default(),
        beat_ns: 0,
    }
    .encode();
    let length = payload.len() as u32 + 4;
    let reads = world.begin_torrent([b"d", &length.to_be_bytes()[..], &payload].concat());
    let mut other = world.ask(&Hello {
        id: NodeId(3),
        name: "c".into(),
        ..hello()
    });
    for step in 1..5 {
        world.step();
        assert_eq!(reads.load(Ordering::Relaxed), step * READS_MAX);
        assert_eq!(world.primary.due_ns(), Some(0), "there is more");
        assert!(other.fill().expect("the stream stands"), "it has its heartbeat");
        while other.next_message().expect("the stream stands").is_some() {}
    }
}

#[test]
fn a_follower_that_takes_log_as_fast_as_it_is_read_leaves_the_others_their_turn() {
    let mut world = world(vec![]);
    world.primary.config.silence_ns = u64::MAX;
    world.begin_torrent(Vec::new());
    let sent = |world: &World| world.primary.streams().next().expect("it streams").sent;
    let before = sent(&world);
    let mut steps = 0;
    while sent(&world) < world.primary.written {
        let from = sent(&world);
        world.step();
        let most = (PIECES_MAX * world.primary.config.piece_bytes) as u64;
        assert!(sent(&world).0 - from.0 <= most);
        steps += 1;
        assert_eq!(
            world.primary.due_ns() == Some(0),
            sent(&world) < world.primary.written
        );
    }
    assert!(steps > 4, "{steps} steps from {before}");
}

/// Two directories with one number: neither ends the other's stream again and again.
#[test]
fn a_copy_of_a_connected_directory_is_refused_until_that_is_silent() {
    for name in ["b", "c"] {
        let mut world = world(vec![]);
        let mut first = world.ask(&hello());
        start_of(&mut first);
        let copy = Hello {
            name: name.into(),
            ..hello()
        };
        world.primary.config.heartbeat_ns = 100_000_000;
        let speak = |world: &mut World, wire: &mut Wire| {
            let report = Message::Report {
                progress: Progress::default(),
                beat_ns: 0,
            };
            wire.say(&report).expect("the stream stands");
            world.step();
        };
        for _ in 0..3 {
            speak(&mut world, &mut first);
            let (reason, text) = world.refusal(&copy);
            assert_eq!(reason, Reason::SameDirectory, "{text}");
            assert!(text.contains("a copy of that of \"b\""), "{text}");
            assert!(text.contains("start on an empty directory"), "{text}");
        }
        // It stands still or is cut off; whoever comes then may be itself.
        for _ in 0..20 {
            world.pass();
        }
        let mut second = world.ask(&copy);
        start_of(&mut second);
        world.step();
        assert_eq!(world.primary.streams().count(), 1);
        // And one that has closed its stream is not waited for.
        speak(&mut world, &mut second);
        second.close();
        world.pass();
        start_of(&mut world.ask(&copy));
    }
}
