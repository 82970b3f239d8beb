//! A leader's log and a follower's, on two simulated disks.

use std::sync::{Arc, Mutex};

use mote_common::Lsn;
use mote_common::env::sim::{FaultPlan, SimDisk, env};
use mote_common::env::{Disk, Env};
use mote_common::prng::Prng;

use super::super::range::LogRanges;
use super::super::scan::{LogScan, scan_log, scan_log_to};
use super::super::stream::FrameStream;
use super::super::*;
use super::{Intake, IntakeError};

const SEGMENT_BYTES: u64 = 64 << 10;
const SYSTEM: u64 = 7;

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: SEGMENT_BYTES,
        ring_bytes: 2 << 20,
        segments_ahead: 5,
        writers_max: 2,
        ..LogConfig::default()
    }
}

/// What the tap was given: where, and the bytes.
#[derive(Default)]
struct Kept(Mutex<Vec<(Lsn, Vec<u8>)>>);

impl LogTap for Kept {
    fn flushing(&self, from: Lsn, parts: [&[u8]; 2]) {
        self.0.lock().expect("unpoisoned").push((from, parts.concat()));
    }
}

struct Leader {
    world: Env,
    log: Log,
    ranges: Arc<Kept>,
}

fn leader(disk: &SimDisk, position: LogPosition) -> Leader {
    let world = env(disk, 5).0;
    let log = Log::open(&world, config(), position, Arc::new(|why| panic!("{why}"))).expect("it opens");
    let ranges = Arc::new(Kept::default());
    log.set_tap(Some(ranges.clone()));
    Leader { world, log, ranges }
}

fn fresh_leader(disk: &SimDisk) -> Leader {
    leader(disk, LogPosition::fresh(SYSTEM, SEGMENT_BYTES))
}

impl Leader {
    fn commit(&self, bytes: usize) {
        let writer = self.log.writer();
        let admission = loop {
            match writer.admit(bytes) {
                Ok(admission) => break admission,
                Err(_) => assert!(self.log.prepare_step() | (self.log.flush_step() != FlushOutcome::Idle)),
            }
        };
        writer.append(admission, FrameKind::RestorePoint, &vec![3; bytes], |_| {});
    }

    /// From the files, blocks of `[from, to)`.
    fn read(&self, from: Lsn, to: Lsn) -> Vec<u8> {
        let mut ranges = LogRanges::new(self.world.disk.clone(), SYSTEM, SEGMENT_BYTES);
        let mut bytes = vec![0; (to.0 - from.0) as usize];
        let mut done = 0;
        while done < bytes.len() {
            let read = ranges.read(Lsn(from.0 + done as u64), &mut bytes[done..]);
            done += read.expect("the disk works").expect("nothing was released");
        }
        bytes
    }
}

fn scan(disk: &SimDisk) -> LogScan {
    let world = env(disk, 6).0;
    world.disk.create_dir_all("log").expect("the disk works");
    scan_log(&*world.disk, SYSTEM, SEGMENT_BYTES, Lsn(SEGMENT_BYTES)).expect("a sound log")
}

fn follower(disk: &SimDisk, coming: Vec<TermMark>) -> Intake {
    let world = env(disk, 6).0;
    Intake::open(&world, config(), SYSTEM, Lsn(SEGMENT_BYTES), &scan(disk), coming).expect("it opens")
}

#[test]
fn a_followers_log_is_its_leaders_whatever_crashes() {
    let seed = 77;
    let mut prng = Prng::new(seed);
    for round in 0..30 {
        let (here, mut there) = (SimDisk::new(round), SimDisk::new(round + 1000));
        let leader = fresh_leader(&here);
        let mut intake = follower(&there, vec![leader.log.began()]);
        let mut told = Lsn::ZERO;
        for _ in 0..20 {
            for _ in 0..prng.below(4) {
                leader.commit(16 + prng.below(9000) as usize);
            }
            leader.log.flush_step();
            let end = leader.log.flushed();
            let mut from = intake.wants();
            while from < end {
                let to = Lsn((from.0 + 4096 * (1 + prng.below(3))).min(end.0));
                intake
                    .write(from, &leader.read(from, to))
                    .expect("whole blocks, in order");
                from = to;
            }
            // Who knows how far was written finds the same without the rest of the files.
            let disk = env(&there, 6).0.disk;
            let bounded = scan_log_to(&*disk, SYSTEM, SEGMENT_BYTES, Lsn(SEGMENT_BYTES), intake.reach());
            let (whole, bounded) = (scan(&there), bounded.expect("a sound log"));
            assert!(bounded.reach <= whole.reach);
            assert_eq!(
                LogScan {
                    reach: whole.reach,
                    ..bounded
                },
                whole,
                "seed {seed}, round {round}"
            );
            if prng.chance(2, 3) {
                told = intake.sync().expect("the disk works");
                assert_eq!(told, end);
            }
            if prng.chance(1, 4) {
                drop(intake);
                there = there.crash();
                // A reader that found frames behind a torn one would refuse the log.
                intake = follower(&there, vec![]);
                assert!(
                    intake.flushed() >= told,
                    "seed {seed}, round {round}: what was synced is gone"
                );
            }
        }
        assert!(scan(&there).end >= told, "seed {seed}, round {round}");
        assert!(intake.received() <= leader.log.flushed());
    }
}

/// A piece out of a file holds several flushes, and each vouches for the one before.
#[test]
fn flushes_that_come_as_one_never_look_like_lost_commits() {
    for round in 0..200 {
        let leader = fresh_leader(&SimDisk::new(1));
        for _ in 0..6 {
            leader.commit(5000);
            leader.log.flush_step();
        }
        let (start, end) = (Lsn(SEGMENT_BYTES), leader.log.flushed());
        let there = SimDisk::new(round);
        let mut intake = follower(&there, vec![leader.log.began()]);
        intake
            .write(start, &leader.read(start, end))
            .expect("it is the log");
        drop(intake);
        assert!(scan(&there.crash()).end <= end, "round {round}");
    }
}

/// What only this node has is durable and not stable, and no frame says that it is.
#[test]
fn a_quorum_holds_stable_back_and_a_seal_with_it() {
    let disk = SimDisk::new(1);
    let world = env(&disk, 5).0;
    let (position, start) = (LogPosition::fresh(SYSTEM, SEGMENT_BYTES), Lsn(SEGMENT_BYTES));
    let stops: FailStop = Arc::new(|why| panic!("{why}"));
    let log = Log::open_agreed(&world, config(), position, start, stops).expect("it opens");
    let leader = Leader {
        world,
        ranges: Arc::default(),
        log,
    };
    leader.commit(100);
    leader.log.flush_step();
    let flushed = leader.log.flushed();
    assert_eq!(leader.log.stable(), start);
    assert!(
        !leader.log.flush_to(flushed).is_stable(),
        "the quorum does not have it"
    );
    assert_eq!(leader.log.seal_step(), FlushOutcome::Idle);
    leader.commit(100);
    leader.log.flush_step();
    assert_eq!(scan(&disk).durable, start);
    leader.log.raise_agreed(flushed);
    assert_eq!(leader.log.stable(), flushed);
    leader.log.raise_agreed(start);
    assert_eq!(leader.log.stable(), flushed, "it never falls");
    leader.log.raise_agreed(Lsn(u64::MAX));
    assert_eq!(leader.log.stable(), leader.log.flushed());
    assert!(matches!(leader.log.seal_step(), FlushOutcome::Flushed { .. }));
    assert!(scan(&disk).durable > flushed);
}

#[test]
fn the_tap_gets_what_the_files_get() {
    let leader = fresh_leader(&SimDisk::new(1));
    for bytes in [10, 5000, 100_000, 3] {
        leader.commit(bytes);
        leader.log.flush_step();
    }
    let ranges = leader.ranges.0.lock().expect("unpoisoned");
    let mut at = ranges[0].0;
    for (from, bytes) in ranges.iter() {
        assert_eq!(*from, at, "ranges follow one another");
        at = Lsn(at.0 + bytes.len() as u64);
        assert!(leader.read(*from, at) == *bytes, "the range at {from}");
    }
    assert_eq!(at, leader.log.flushed());
}

/// A file may become another segment between two reads of it.
#[test]
fn recycled_log_is_told_from_the_log_that_is_asked_for() {
    let leader = fresh_leader(&SimDisk::new(1));
    let mut ranges = LogRanges::new(leader.world.disk.clone(), SYSTEM, SEGMENT_BYTES);
    let (start, mut block) = (Lsn(SEGMENT_BYTES), [0; 4096]);
    leader.commit(10);
    leader.log.flush_step();
    assert_eq!(
        ranges.read(start, &mut block).expect("the disk works"),
        Some(4096)
    );
    for _ in 0..40 {
        leader.commit(9000);
        leader.log.flush_step();
        leader.log.prepare_step();
        let released = leader.log.release_below(leader.log.flushed());
        released.expect("the disk works");
    }
    // The file is still open here, and holds frames of a later segment by now.
    assert_eq!(ranges.read(start, &mut block).expect("the disk works"), None);
    assert_eq!(ranges.read(start, &mut block).expect("the disk works"), None);
}

#[test]
fn gaps_parts_of_blocks_and_garbage_are_refused() {
    let leader = fresh_leader(&SimDisk::new(1));
    leader.commit(9000);
    leader.log.flush_step();
    let (start, end) = (Lsn(SEGMENT_BYTES), leader.log.flushed());
    let bytes = leader.read(start, end);
    let mut intake = follower(&SimDisk::new(2), vec![leader.log.began()]);
    let gap = intake.write(Lsn(start.0 + 4096), &bytes[4096..]);
    assert!(matches!(gap, Err(IntakeError::Gap { .. })));
    let part = intake.write(start, &bytes[..1000]);
    assert!(matches!(part, Err(IntakeError::Gap { .. })));
    let mut damaged = bytes.clone();
    damaged[5000] ^= 1;
    assert!(matches!(
        intake.write(start, &damaged),
        Err(IntakeError::Fault(_))
    ));
    let mut intake = follower(&SimDisk::new(3), vec![leader.log.began()]);
    intake.write(start, &bytes).expect("it is the leader's log");
    assert_eq!(intake.sync().expect("the disk works"), end);
    assert_eq!(intake.take_terms(), [leader.log.began()]);
}

/// A torn frame whose header survived names a length that reaches far behind the next term's start.
#[test]
fn a_term_behind_a_torn_frame_is_seen_at_once() {
    let here = SimDisk::new(1);
    let first = fresh_leader(&here);
    first.commit(10);
    first.log.flush_step();
    let end = scan(&here).end;
    first.commit(200_000);
    let bytes = {
        // The flush's first block reaches the disk, the rest does not.
        first.log.flush_step();
        first.read(end, Lsn(end.0 + 4096))
    };
    let torn = SimDisk::new(2);
    let mut intake = follower(&torn, vec![first.log.began()]);
    intake
        .write(Lsn(SEGMENT_BYTES), &first.read(Lsn(SEGMENT_BYTES), end))
        .expect("it is the log");
    intake.write(end, &bytes).expect("it is the log");
    intake.sync().expect("the disk works");
    let found = scan(&torn);
    assert_eq!(found.end, end);
    drop(intake);
    let position = LogPosition {
        term: 2,
        end,
        ..LogPosition::fresh(SYSTEM, SEGMENT_BYTES)
    };
    let second = leader(&torn, position);
    // The next term overwrites the torn block here; a follower that took it before has it cut off first.
    let other = SimDisk::new(3);
    let mut intake = follower(&other, vec![first.log.began(), second.log.began()]);
    let all = second.read(Lsn(SEGMENT_BYTES), second.log.flushed());
    intake.write(Lsn(SEGMENT_BYTES), &all).expect("it is the log");
    assert_eq!(intake.sync().expect("the disk works"), second.log.flushed());
    assert_eq!(intake.term(), Some(2));
}

/// The primary keeps log from the end that it is told: one behind the gap would not be found again after a restart.
#[test]
fn the_gap_before_a_term_is_not_told_as_log_until_the_terms_first_frame_is_here() {
    let here = SimDisk::new(1);
    let first = fresh_leader(&here);
    first.commit(10);
    first.log.flush_step();
    first.commit(200_000);
    let block = scan(&here).end;
    // Of the second flush nothing reaches the disk, of the first all but what filled its block.
    let term_end = {
        let mut frames = FrameStream::resume(Lsn(SEGMENT_BYTES), None);
        frames.feed(&first.read(Lsn(SEGMENT_BYTES), block));
        let mut end = Lsn(SEGMENT_BYTES);
        while let Ok(Some(frame)) = frames.next_frame() {
            if frame.header.kind != FrameKind::Pad {
                end = frame.header.end();
            }
        }
        end
    };
    assert!(term_end < block);
    cut_log(&*env(&here, 5).0.disk, SYSTEM, SEGMENT_BYTES, term_end).expect("it is cut");
    let position = LogPosition {
        term: 2,
        end: term_end,
        ..LogPosition::fresh(SYSTEM, SEGMENT_BYTES)
    };
    let second = leader(&here, position);
    let mark = second.log.began();
    assert_eq!((mark.previous_end, mark.start), (term_end, block));

    let disk = SimDisk::new(2);
    let mut intake = follower(&disk, vec![mark]);
    let before = second.read(Lsn(SEGMENT_BYTES), block);
    intake.write(Lsn(SEGMENT_BYTES), &before).expect("it is the log");
    assert_eq!(intake.sync().expect("the disk works"), term_end);
    assert_eq!((intake.received(), intake.wants()), (term_end, block));
    assert_eq!(scan(&disk).end, term_end);
    let rest = second.read(block, second.log.flushed());
    intake.write(block, &rest).expect("it is the log");
    assert_eq!(intake.sync().expect("the disk works"), second.log.flushed());
    assert_eq!(scan(&disk).end, second.log.flushed());
}

/// Whoever takes the log finds the next segment made; several that want it make one.
#[test]
fn the_next_segment_is_made_ahead() {
    let leader = fresh_leader(&SimDisk::new(1));
    let disk = SimDisk::new(2);
    let mut intake = follower(&disk, vec![leader.log.began()]);
    leader.commit(10);
    leader.log.flush_step();
    let first = Lsn(SEGMENT_BYTES);
    intake
        .write(first, &leader.read(first, leader.log.flushed()))
        .expect("it is the log");
    let (ahead, again) = (intake.ahead(), intake.ahead());
    let ahead = ahead.expect("the log's second segment is not there");
    std::thread::scope(|scope| {
        scope.spawn(|| ahead.make());
        again.expect("nor now").make();
    });
    let names = |disk: &SimDisk| disk.list("log").expect("the disk works");
    assert_eq!(names(&disk).len(), 2, "{:?}", names(&disk));
    assert!(intake.ahead().is_none(), "one is enough");
    intake.sync().expect("the disk works");
    assert_eq!(scan(&disk).end, leader.log.flushed(), "and it holds nothing");
    // Where it is not wanted any more, nothing is left of it.
    let mut intake = follower(&SimDisk::new(3), vec![leader.log.began()]);
    intake.give_up_ahead();
    let taken = intake.write(first, &leader.read(first, leader.log.flushed()));
    assert!(matches!(taken, Err(IntakeError::Disk(_))), "{taken:?}");
}

/// What was taken before stays sound, and who opens the log again goes on where it ends.
#[test]
fn a_full_disk_takes_no_more_and_loses_nothing() {
    let leader = fresh_leader(&SimDisk::new(1));
    for _ in 0..60 {
        leader.commit(9000);
        leader.log.flush_step();
    }
    let (start, end) = (Lsn(SEGMENT_BYTES), leader.log.flushed());
    let there = SimDisk::new(2);
    let mut intake = follower(&there, vec![leader.log.began()]);
    let taken = Lsn(start.0 + 8 * 4096);
    intake
        .write(start, &leader.read(start, taken))
        .expect("there is room");
    let known = intake.sync().expect("the disk works");
    there.set_faults(FaultPlan {
        capacity_bytes: Some(there.used_bytes()),
        ..FaultPlan::default()
    });
    // One message that needs another file.
    let rest = leader.read(taken, end);
    assert!(matches!(intake.write(taken, &rest), Err(IntakeError::Full)));
    assert!(!intake.has_room(SEGMENT_BYTES).expect("it is asked"));
    let reported = (intake.sync().expect("the disk works"), intake.received());
    assert!(
        reported.0 >= known && reported.0 <= scan(&there).end,
        "{reported:?}"
    );
    assert!(reported.1 <= scan(&there).end, "{reported:?}");
    there.set_faults(FaultPlan::default());
    let mut intake = follower(&there.crash(), vec![leader.log.began()]);
    let goes_on = intake.wants();
    intake
        .write(goes_on, &leader.read(goes_on, end))
        .expect("there is room");
    assert_eq!(intake.sync().expect("the disk works"), end);
}

/// Two logs part; the one that was left is whole by itself, and none of the new leader's. An archive may still have it.
#[test]
fn log_of_a_term_that_was_left_is_refused() {
    let here = SimDisk::new(1);
    let first = fresh_leader(&here);
    first.commit(10);
    first.log.flush_step();
    let cut = first.log.flushed();
    let before = first.read(Lsn(SEGMENT_BYTES), cut);
    let copy = here.copy();
    first.commit(10);
    first.log.flush_step();
    let left = first.read(cut, first.log.flushed());
    let position = LogPosition {
        term: 2,
        end: cut,
        ..LogPosition::fresh(SYSTEM, SEGMENT_BYTES)
    };
    let second = leader(&copy, position);
    let mut intake = follower(&SimDisk::new(3), vec![first.log.began(), second.log.began()]);
    intake.write(Lsn(SEGMENT_BYTES), &before).expect("both have it");
    let refused = intake.write(cut, &left).expect_err("nobody has it any more");
    let told = refused.to_string();
    assert!(
        told.contains("the frame is of term 1, and that of the primary's log is 2"),
        "{told}"
    );
}

#[test]
fn a_cut_log_ends_at_the_cut_and_a_crash_meanwhile_leaves_a_log() {
    let mut failed = 0;
    for round in 0..60 {
        let disk = SimDisk::new(round);
        let leader = fresh_leader(&disk);
        let mut ends = Vec::new();
        for _ in 0..40 {
            leader.commit(5000);
            leader.log.flush_step();
            ends.push(leader.log.flushed());
        }
        drop(leader);
        let mut prng = Prng::new(round);
        let before = scan(&disk);
        let at = ends[prng.below(ends.len() as u64) as usize];
        let world = env(&disk, 1).0;
        disk.set_faults(FaultPlan {
            sync_fails_ppm: 300_000,
            write_fails_ppm: 300_000,
            ..FaultPlan::default()
        });
        let done = cut_log(&*world.disk, SYSTEM, SEGMENT_BYTES, at).is_ok();
        failed += !done as u32;
        // The names that a crash in the middle leaves: some of the removals, then the renaming.
        let crashed = disk.crash();
        let left = scan(&crashed).end;
        assert!(
            left >= at && left <= before.end && (!done || left == at),
            "round {round}: {left}"
        );
        let world = env(&crashed, 1).0;
        cut_log(&*world.disk, SYSTEM, SEGMENT_BYTES, at).expect("the disk works again");
        assert_eq!(scan(&crashed).end, at, "round {round}");
    }
    assert!((10..50).contains(&failed), "{failed} of 60 failed");
}

/// Frames behind a torn one do not count, and are told of: a later end may stand right before them.
#[test]
fn a_scan_tells_of_headers_behind_the_end() {
    let (here, there) = (SimDisk::new(1), SimDisk::new(2));
    let leader = fresh_leader(&here);
    let mut intake = follower(&there, vec![leader.log.began()]);
    // One flush: none vouches for another.
    (0..4).for_each(|_| leader.commit(5000));
    leader.log.flush_step();
    let (start, end) = (Lsn(SEGMENT_BYTES), leader.log.flushed());
    intake
        .write(start, &leader.read(start, end))
        .expect("it is the log");
    intake.sync().expect("the disk works");
    let whole = scan(&there);
    assert_eq!(
        (whole.reach, intake.reach().0.next_multiple_of(4096)),
        (whole.end, end.0)
    );
    // The second commit's frame is torn; those behind it name their places still.
    let path = segment::segment_path(SEGMENT_BYTES);
    assert!(there.flip_bit(&path, segment::SEGMENT_HEADER_BYTES + 8192, 1));
    let disk = env(&there, 6).0.disk;
    let torn = scan_log_to(&*disk, SYSTEM, SEGMENT_BYTES, start, intake.reach()).expect("a torn end");
    assert!(torn.end < Lsn(start.0 + 8192), "{torn:?}");
    assert!(
        torn.reach > Lsn(start.0 + 15_000) && torn.reach < whole.end,
        "{torn:?}"
    );
}
