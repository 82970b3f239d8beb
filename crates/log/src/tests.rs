//! The log as a whole, on a simulated disk: what was flushed is read back, what crashed is cut, what rotted is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_common::env::Env;
use mote_common::env::sim::{FaultPlan, SimDisk, env};
use mote_common::prng::Prng;
use mote_common::{Lsn, RowId, TableId};

use super::frame::{FRAME_HEADER_BYTES, FrameKind, PAYLOAD_BYTES_MAX};
use super::reader::{LogDamage, LogFiles, LogReader};
use super::record::{CommitHeader, FragmentHeader, Malformed, OperationStream, RedoBuffer};
use super::segment::SEGMENT_HEADER_BYTES;
use super::*;

const SEGMENT_BYTES: u64 = 256 << 10;

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: SEGMENT_BYTES,
        ring_bytes: 2 << 20,
        segments_ahead: 2,
        writers_max: 4,
        ..LogConfig::default()
    }
}

fn never_stops() -> FailStop {
    Arc::new(|reason| panic!("the log stopped: {reason}"))
}

fn open_at(world: &Env, position: LogPosition) -> Log {
    Log::open(world, config(), position, never_stops()).expect("the log opens")
}

fn fresh(world: &Env) -> Log {
    open_at(world, LogPosition::fresh(7, SEGMENT_BYTES))
}

/// Appends one frame, flushing and preparing when there is no room.
fn append(log: &Log, writer: &LogWriter, kind: FrameKind, payload: &[u8]) -> Lsn {
    loop {
        match writer.admit(payload.len()) {
            Ok(admission) => return writer.append(admission, kind, payload, |_| {}),
            Err(LogError::RingFull { .. }) => {
                log.flush_step();
                log.prepare_step();
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// What a reader finds: end of each frame that is not filling, and its payload.
struct Found {
    frames: Vec<(FrameKind, Lsn, Vec<u8>)>,
    end: Lsn,
    term: u32,
}

fn read(world: &Env, start: Lsn) -> Result<Found, LogDamage> {
    let files = LogFiles::open(&*world.disk, 7, SEGMENT_BYTES)?;
    let mut reader = LogReader::new(&files, start);
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        if !matches!(frame.header.kind, FrameKind::Pad | FrameKind::Term) {
            frames.push((frame.header.kind, frame.header.end(), frame.payload.to_vec()));
        }
    }
    Ok(Found {
        frames,
        end: reader.position(),
        term: reader.term().unwrap_or(0),
    })
}

fn start() -> Lsn {
    Lsn(SEGMENT_BYTES)
}

fn reopen(world: &Env) -> (Found, Log) {
    let found = read(world, start()).expect("the log is not damaged");
    let position = LogPosition {
        system_id: 7,
        term: found.term + 1,
        log_start: start(),
        end: found.end,
        pins: Vec::new(),
    };
    let log = open_at(world, position);
    (found, log)
}

#[test]
fn frames_come_back_in_order_across_segments() {
    let (world, _) = env(&SimDisk::new(1), 1);
    let log = fresh(&world);
    let writer = log.writer();
    let mut expected = Vec::new();
    let mut prng = Prng::new(3);
    for i in 0..300u64 {
        let size = if i % 10 == 0 {
            prng.below(100_000)
        } else {
            prng.below(300)
        };
        let payload = vec![i as u8; size as usize];
        expected.push((
            FrameKind::Commit,
            append(&log, &writer, FrameKind::Commit, &payload),
            payload,
        ));
        if prng.chance(1, 4) {
            log.flush_step();
        }
    }
    log.flush_and_seal();
    assert_eq!(log.stable(), log.tail());
    let found = read(&world, start()).expect("the log is whole");
    assert!(found.frames == expected);
    assert_eq!(found.end, log.tail());
}

#[test]
fn crashes_keep_every_stable_frame_and_restarts_continue() {
    for seed in 0..150u64 {
        let mut prng = Prng::new(seed);
        let mut disk = SimDisk::new(seed);
        let mut promised: Vec<(FrameKind, Lsn, Vec<u8>)> = Vec::new();
        for life in 0..4 {
            let (world, _) = env(&disk, seed);
            let (found, log) = if life == 0 {
                let log = fresh(&world);
                (
                    Found {
                        frames: Vec::new(),
                        end: start(),
                        term: 0,
                    },
                    log,
                )
            } else {
                reopen(&world)
            };
            assert!(
                found.frames.starts_with(&promised),
                "seed {seed} life {life}: a stable frame is missing"
            );
            // What was found is durable from now on: the next life must find it too.
            promised = found.frames;
            let writer = log.writer();
            let mut unflushed = Vec::new();
            for i in 0..prng.below(40) {
                let payload = vec![i as u8; prng.below(9000) as usize];
                let end = append(&log, &writer, FrameKind::Commit, &payload);
                unflushed.push((FrameKind::Commit, end, payload));
                match prng.below(6) {
                    0 => _ = log.flush_step(),
                    1 => _ = log.seal_step(),
                    2 => _ = log.prepare_step(),
                    _ => {}
                }
            }
            let stable = log.stable();
            promised.extend(unflushed.into_iter().filter(|(_, end, _)| *end <= stable));
            drop(writer);
            disk = disk.crash();
        }
    }
}

/// The power fails while a file gets the header of its next use: it must not stand there under the name of its last.
#[test]
fn a_recycled_file_is_never_found_under_its_old_name() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let (world, _) = env(&disk, seed);
        // A failed sync stops the log where the power is to fail.
        let log = Log::open(
            &world,
            config(),
            LogPosition::fresh(7, SEGMENT_BYTES),
            Arc::new(|_| {}),
        )
        .expect("the log opens");
        let writer = log.writer();
        let until = Lsn(start().0 + 3 * SEGMENT_BYTES);
        while log.tail() < until {
            append(&log, &writer, FrameKind::Commit, &[7; 9000]);
        }
        assert!(log.flush_to(log.tail()).is_stable());
        log.release_below(log.stable()).expect("files become free");
        disk.set_faults(FaultPlan {
            sync_fails_ppm: 400_000,
            ..FaultPlan::default()
        });
        while log.prepare_step() {}
        let (world, _) = env(&disk.crash(), seed);
        if let Err(damage) = LogFiles::open(&*world.disk, 7, SEGMENT_BYTES) {
            panic!("seed {seed}: {damage}");
        }
    }
}

/// A write that failed may still have reached the disk in part: half of the frames of the last flush are there.
#[test]
fn a_flush_cut_by_a_crash_is_a_torn_tail() {
    let mut torn = 0;
    for seed in 0..200u64 {
        let disk = SimDisk::new(seed);
        let (world, _) = env(&disk, seed);
        let log = Log::open(
            &world,
            config(),
            LogPosition::fresh(7, SEGMENT_BYTES),
            Arc::new(|_| {}),
        )
        .expect("the log opens");
        let writer = log.writer();
        for i in 0..20u8 {
            append(&log, &writer, FrameKind::Commit, &[i; 1000]);
        }
        log.flush_step();
        for i in 20..60u8 {
            append(&log, &writer, FrameKind::Commit, &[i; 1000]);
        }
        disk.set_faults(FaultPlan {
            sync_fails_ppm: 1_000_000,
            ..FaultPlan::default()
        });
        assert_eq!(log.flush_step(), FlushOutcome::Stopped);
        assert!(matches!(writer.admit(10).err(), Some(LogError::Stopped)));
        let (world, _) = env(&disk.crash(), seed);
        let (found, log) = reopen(&world);
        assert!((20..=60).contains(&found.frames.len()), "seed {seed}");
        torn += (21..60).contains(&found.frames.len()) as u32;
        let count = found.frames.len();
        append(&log, &log.writer(), FrameKind::Commit, b"after");
        log.flush_step();
        // The rest of the torn flush still lies behind the cut, with its own positions: it must not come back.
        let found = read(&world, start()).expect("the log is whole");
        assert_eq!(found.frames.len(), count + 1, "seed {seed}");
        assert_eq!(found.frames[count].2, b"after");
    }
    assert!(torn > 10, "{torn} flushes were torn");
}

#[test]
fn rot_below_the_durable_horizon_refuses_to_start() {
    for seed in 0..100u64 {
        let mut prng = Prng::new(seed);
        let disk = SimDisk::new(seed);
        let (world, _) = env(&disk, seed);
        let log = fresh(&world);
        let writer = log.writer();
        for i in 0..20u8 {
            append(&log, &writer, FrameKind::Commit, &[i; 500]);
            log.flush_step();
        }
        let stable = log.stable();
        log.flush_and_seal();
        let victim = start().0 + prng.below(stable.0 - start().0) / 4096 * 4096 + prng.below(44);
        disk.flip_bit(
            &segment::segment_path(SEGMENT_BYTES),
            SEGMENT_HEADER_BYTES + victim - start().0,
            3,
        );
        let damage = read(&world, start())
            .err()
            .unwrap_or_else(|| panic!("seed {seed}: rot at {victim} unseen"));
        assert!(
            damage.lsn.0 <= victim && damage.to_string().contains("acknowledged"),
            "{damage}"
        );
    }
}

#[test]
fn random_damage_never_panics_the_reader() {
    let seed = 4;
    let mut prng = Prng::new(seed);
    for round in 0..300 {
        let disk = SimDisk::new(round);
        let (world, _) = env(&disk, seed);
        let log = fresh(&world);
        let writer = log.writer();
        for i in 0..10u8 {
            append(
                &log,
                &writer,
                FrameKind::Commit,
                &vec![i; prng.below(3000) as usize],
            );
        }
        log.flush_step();
        for _ in 0..1 + prng.below(20) {
            let offset = prng.below(SEGMENT_HEADER_BYTES + 40_000);
            disk.flip_bit(
                &segment::segment_path(SEGMENT_BYTES),
                offset,
                prng.next_u64() as u8,
            );
        }
        let _ = read(&world, start()); // `seed` and `round` name the case if this panics
    }
}

#[test]
fn a_full_disk_refuses_writers_and_recovers() {
    let disk = SimDisk::new(9);
    let (world, _) = env(&disk, 9);
    let log = fresh(&world);
    let writer = log.writer();
    disk.set_faults(FaultPlan {
        capacity_bytes: Some(disk.used_bytes()),
        ..FaultPlan::default()
    });
    let payload = [1; 10_000];
    let refused = (0..200).find_map(|_| match writer.admit(payload.len()) {
        Ok(admission) => {
            writer.append(admission, FrameKind::Commit, &payload, |_| {});
            log.flush_step();
            log.prepare_step();
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(refused, Some(LogError::DiskFull));
    assert_eq!(
        log.flush_step(),
        FlushOutcome::Idle,
        "what was admitted could be flushed"
    );
    disk.set_faults(FaultPlan::default());
    while log.prepare_step() {}
    assert!(writer.admit(payload.len()).is_ok());
}

#[test]
fn segments_are_recycled_and_old_frames_in_them_are_not_read() {
    let (world, _) = env(&SimDisk::new(2), 2);
    let log = fresh(&world);
    let writer = log.writer();
    for i in 0..200u32 {
        append(&log, &writer, FrameKind::Commit, &i.to_le_bytes().repeat(2000));
        log.flush_step();
        let keep = Lsn(log.stable().0.saturating_sub(SEGMENT_BYTES));
        log.release_below(keep).expect("released");
    }
    assert!(
        log.disk_bytes() <= 6 * SEGMENT_BYTES,
        "{} bytes of log",
        log.disk_bytes()
    );
    // A frame border in the middle: the reader must find the end, not old frames.
    let border = log.tail();
    append(&log, &writer, FrameKind::Commit, b"last");
    log.flush_step();
    let found = read(&world, border).expect("the log is whole");
    assert_eq!(found.frames.len(), 1);
    assert_eq!(found.end, log.tail());
}

#[test]
fn long_transactions_go_out_in_fragments() {
    let seed = 21;
    for round in 0..20 {
        let mut prng = Prng::fork(seed, round);
        let (world, _) = env(&SimDisk::new(round), round);
        let log = fresh(&world);
        let writer = log.writer();
        let mut redo = RedoBuffer::new();
        let mut expected: Vec<u64> = Vec::new();
        let mut marks = Vec::new();
        for i in 0..150u64 {
            match prng.below(20) {
                0 => marks.push((redo.mark(), expected.len())),
                1 if !marks.is_empty() => {
                    let (mark, length) = marks.swap_remove(prng.below(marks.len() as u64) as usize);
                    marks.retain(|(_, other)| *other <= length);
                    redo.truncate(mark);
                    expected.truncate(length);
                }
                _ => {
                    let size = if prng.chance(1, 15) {
                        700_000
                    } else {
                        prng.below(9_000)
                    };
                    redo.insert(TableId(1), RowId(i), 0, &vec![i as u8; size as usize]);
                    expected.push(i);
                    while writer.send_fragments(&mut redo).is_err() {
                        log.flush_step();
                        log.prepare_step();
                    }
                }
            }
        }
        let payload = redo
            .commit_payload()
            .expect("it fits")
            .expect("something")
            .to_vec();
        assert!(payload.len() <= PAYLOAD_BYTES_MAX);
        append(&log, &writer, FrameKind::Commit, &payload);
        log.flush_step();
        assert_eq!(
            committed_rows(&read(&world, start()).expect("the log is whole")),
            expected,
            "round {round}"
        );
    }
}

fn committed_rows(found: &Found) -> Vec<u64> {
    let (last, fragments) = found.frames.split_last().expect("the commit is there");
    let (header, rest) = CommitHeader::decode(&last.2).expect("a commit");
    assert_eq!(header.fragments as usize, fragments.len());
    let mut rows = Vec::new();
    let mut stream = OperationStream::default();
    let bodies = fragments.iter().enumerate().map(|(sequence, frame)| {
        let (fragment, body) = FragmentHeader::decode(&frame.2).expect("a fragment");
        assert_eq!(
            (fragment.transaction, fragment.sequence),
            (header.transaction, sequence as u32)
        );
        body
    });
    for body in bodies.chain([rest]) {
        stream
            .feed::<Malformed>(body, |ordinal, operation| {
                if !header.is_rolled_back(ordinal) {
                    rows.push(operation.row().0);
                }
                Ok(())
            })
            .expect("operations decode");
    }
    assert!(stream.is_complete());
    rows
}

/// Four writers and the real threads: every frame is there once, timestamps are unique, listeners heard of the end.
#[test]
fn concurrent_writers_fill_one_log() {
    struct Heard(AtomicU64);
    impl HorizonListener for Heard {
        fn horizon_moved(&self, horizons: Horizons, _: super::Moved) {
            assert!(horizons.stable <= horizons.acked && horizons.acked <= horizons.tail);
            self.0.fetch_max(horizons.stable.0, Ordering::Relaxed);
        }
    }
    let (world, _) = env(&SimDisk::new(5), 5);
    let log = fresh(&world);
    let heard = Arc::new(Heard(AtomicU64::new(0)));
    log.on_horizon(heard.clone());
    let threads = LogThreads::start(&log, None).expect("threads start");
    let workers: Vec<_> = (0..4u8)
        .map(|id| {
            let log = log.clone();
            std::thread::spawn(move || {
                let writer = log.writer();
                let mut prng = Prng::new(id as u64);
                let mut ends = Vec::new();
                while ends.len() < 1_000 {
                    // Large ones fill the ring: admission must hold them back without an overrun.
                    let size = if prng.chance(1, 30) {
                        prng.below(PAYLOAD_BYTES_MAX as u64)
                    } else {
                        prng.below(400)
                    };
                    let payload = vec![id; size as usize];
                    match writer.admit(payload.len()) {
                        Ok(admission) => {
                            let mut decided = Lsn::ZERO;
                            let end =
                                writer.append(admission, FrameKind::Commit, &payload, |ts| decided = ts);
                            assert_eq!(end, decided);
                            ends.push((FrameKind::Commit, end, payload));
                            if prng.chance(1, 50) {
                                log.request_flush();
                            }
                        }
                        Err(LogError::RingFull { .. }) => std::thread::yield_now(),
                        Err(other) => panic!("{other:?}"),
                    }
                }
                ends
            })
        })
        .collect();
    let mut expected: Vec<_> = workers
        .into_iter()
        .flat_map(|w| w.join().expect("a writer ends"))
        .collect();
    threads.stop();
    expected.sort_by_key(|(_, end, _)| *end);
    let found = read(&world, start()).expect("the log is whole");
    assert!(found.frames == expected);
    assert_eq!(heard.0.load(Ordering::Relaxed), log.stable().0);
    assert!(
        expected
            .windows(2)
            .all(|pair| pair[0].1.0 + FRAME_HEADER_BYTES as u64 <= pair[1].1.0)
    );
}

/// Each level follows what it waits for; a rule that begins takes nothing back that was told.
#[test]
fn levels_follow_the_flush_and_the_quorum() {
    let (world, _) = env(&SimDisk::new(11), 11);
    let log = fresh(&world);
    let writer = log.writer();
    let commit = || {
        let end = append(&log, &writer, FrameKind::Commit, b"row");
        assert!(!log.flush_to(end).is_stable() || !log.has_quorum());
        end
    };
    let levels = [Level::Local, Level::RemoteWrite, Level::On, Level::RemoteApply];
    let alone = commit();
    assert!(levels.iter().all(|&level| log.reached(level) >= alone));
    let told = log.stable();
    log.set_agreed(Some(Agreed {
        received: Lsn::ZERO,
        flushed: Lsn::ZERO,
        applied: Lsn::ZERO,
    }));
    assert_eq!(log.stable(), told);
    let end = commit();
    assert_eq!(log.flush_to(end), FlushedTo::NotAgreed);
    let reached = |end: Lsn| levels.map(|level| log.reached(level) >= end);
    assert_eq!(reached(end), [true, false, false, false]);
    let flushed = log.flushed();
    for (agreed, expected) in [
        ((flushed, told, told), [true, true, false, false]),
        ((flushed, flushed, told), [true, true, true, false]),
        ((flushed, flushed, flushed), [true, true, true, true]),
    ] {
        let (received, flushed, applied) = agreed;
        log.set_agreed(Some(Agreed {
            received,
            flushed,
            applied,
        }));
        assert_eq!(reached(end), expected);
    }
    assert_eq!(log.flush_to(end), FlushedTo::Stable);
    let end = commit();
    assert!(log.stable() < end);
    log.set_agreed(None);
    assert!(levels.iter().all(|&level| log.reached(level) >= end));
}

/// Writers who wait for nobody run ahead of the quorum up to the bound, and go on when it has caught up.
#[test]
fn log_that_is_not_agreed_is_bounded() {
    let (world, _) = env(&SimDisk::new(12), 12);
    let bound = 3 * SEGMENT_BYTES;
    let config = LogConfig {
        unagreed_bytes_max: bound,
        ..config()
    };
    let position = LogPosition::fresh(7, SEGMENT_BYTES);
    let log = Log::open(&world, config, position, never_stops()).expect("the log opens");
    let agree = |lsn: Lsn| {
        log.set_agreed(Some(Agreed {
            received: lsn,
            flushed: lsn,
            applied: lsn,
        }));
    };
    agree(log.flushed());
    let writer = log.writer();
    let fill = || {
        let payload = [1; 50_000];
        let mut refused = 0;
        // Twice in a row, with a flush and a look at the segments between: nothing more can be had.
        while refused < 2 {
            match writer.admit(payload.len()) {
                Ok(admission) => {
                    writer.append(admission, FrameKind::Commit, &payload, |_| {});
                    refused = 0;
                }
                Err(LogError::RingFull { .. }) => {
                    log.flush_step();
                    while log.prepare_step() {}
                    refused += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        log.tail()
    };
    let full = fill();
    let unagreed = full.0 - log.stable().0;
    assert!(unagreed <= bound + SEGMENT_BYTES, "{unagreed} of {bound}");
    agree(log.flushed());
    assert!(fill() > full, "the quorum has caught up");
}
