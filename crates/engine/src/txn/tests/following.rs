//! A second engine that replays the log of the first: the same rows, indexes and objects at each border, beside readers
//! with old snapshots, over restarts and cuts.

use super::prepared::{finish, mortal};
use super::*;
use crate::check::check_indexes;
use crate::follow::{Followed, FollowedCatalog, Published, Replay};
use mote_common::Lsn;
use mote_common::prng::Prng;
use mote_log::cut_log;
use mote_log::intake::Intake;
use mote_log::range::LogRanges;
use mote_log::scan::LogScan;

/// These databases have no SQL catalog.
pub(super) struct NoCatalog;

impl FollowedCatalog for NoCatalog {
    fn changes<'a>(&'a self, _: Vec<PreparedWrite>) -> Result<Option<Published<'a>>, String> {
        Ok(None)
    }
}

pub(super) struct Follower {
    pub engine: Arc<Engine>,
    pub disk: SimDisk,
    pub intake: Intake,
    pub replay: Replay,
}

pub(super) fn following() -> EngineConfig {
    EngineConfig {
        following: true,
        ..mortal()
    }
}

impl Follower {
    /// On a copy of the primary's directory, or where it was.
    pub fn open(disk: SimDisk) -> Follower {
        let engine = open_with(&disk, following());
        let (replay, scan) = engine.take_replay().expect("it follows, and nobody has asked");
        let intake = open_intake(&disk, &engine, &scan);
        Follower {
            engine,
            disk,
            intake,
            replay,
        }
    }

    pub fn restart(self) -> Follower {
        let disk = self.disk.crash();
        Follower::open(disk)
    }

    /// Takes what the primary has flushed, and shows what lies below `stable`.
    pub fn follow(&mut self, primary: &Fixture, stable: Lsn) {
        self.take(primary);
        self.replay
            .advance(stable.min(self.intake.flushed()), &[], &NoCatalog)
            .expect("it is the primary's log");
    }

    pub fn take(&mut self, primary: &Fixture) {
        let log = primary.engine.log();
        let mut ranges = LogRanges::new(primary.engine.disk(), log.system_id(), log.segment_bytes());
        let mut piece = vec![0; 64 << 10];
        loop {
            let from = self.intake.wants();
            let length = piece.len().min((log.flushed().0 - from.0) as usize);
            if length == 0 {
                break;
            }
            let read = ranges.read(from, &mut piece[..length]).expect("the disk works");
            let read = read.expect("the log is kept");
            self.intake.write(from, &piece[..read]).expect("it is log");
        }
        self.intake.sync().expect("the disk works");
    }

    pub fn finish(self) -> Followed {
        Followed {
            replay: self.replay,
            end: self.intake.flushed(),
            terms: Vec::new(),
        }
    }

    pub fn as_fixture(&self, primary: &Fixture) -> Fixture {
        let table = self.engine.table(primary.table.id()).expect("replayed");
        Fixture {
            engine: self.engine.clone(),
            primary: table.index(primary.primary.id).expect("replayed"),
            table,
            disk: self.disk.clone(),
        }
    }
}

fn open_intake(disk: &SimDisk, engine: &Arc<Engine>, scan: &LogScan) -> Intake {
    let (world, _) = env(disk, 1);
    let segment_bytes = engine.log().segment_bytes();
    let config = LogConfig {
        segment_bytes,
        ..config().log
    };
    Intake::open(
        &world,
        config,
        engine.log().system_id(),
        Lsn(segment_bytes),
        scan,
        Vec::new(),
    )
    .expect("the disk works")
}

/// Everything that a reader of the follower sees, as READ ONLY sessions look.
fn seen(f: &Fixture) -> Vec<(i32, i64)> {
    let transaction = f
        .engine
        .begin(Isolation::RepeatableRead, true)
        .expect("a slot is free");
    let snapshot = transaction.begin_statement(Access::Read);
    seen_by(f, &transaction, &snapshot)
}

fn seen_by(f: &Fixture, transaction: &Transaction, snapshot: &Snapshot) -> Vec<(i32, i64)> {
    let mut cursor = f.primary.tree.cursor(KeyRange::all(), Direction::Forward);
    let (mut rows, mut scratch) = (Vec::new(), Vec::new());
    while let Some((key, row)) = cursor.next(&f.primary.tree) {
        let Some(version) = transaction.fetch(&f.table, row, snapshot) else {
            continue;
        };
        let view = f.table.view(version.layout(), version.bytes());
        if version.needs_key_check() && !f.primary.key_program.matches(&view, key, &mut scratch) {
            continue;
        }
        rows.push((view.fixed4(0) as i32, view.fixed8(1) as i64));
    }
    rows
}

pub(super) fn check(f: &Fixture) {
    let checked = check_indexes(&f.engine, &mut |_, _| {}).expect("it runs");
    assert_eq!(checked.faults, []);
}

pub(super) fn flushed(f: &Fixture) -> Lsn {
    f.engine.log().flush_step();
    f.engine.log().stable()
}

#[test]
fn random_changes_arrive_and_old_readers_keep_what_they_saw() {
    for seed in 0..12 {
        let mut prng = Prng::new(seed);
        let f = Fixture::with(mortal());
        f.load((0..40).map(|id| (id, 0)));
        let mut follower = Follower::open(f.disk.copy());
        let mut model: std::collections::BTreeMap<i32, i64> = (0..40).map(|id| (id, 0)).collect();
        follower.follow(&f, flushed(&f));
        let mut readers = Vec::new();
        for step in 1..120 {
            let transaction = f.begin();
            for _ in 0..=prng.below(4) {
                let id = prng.below(60) as i32;
                match model.contains_key(&id) {
                    true if prng.chance(1, 2) => {
                        f.remove(&transaction, id).expect("it is there");
                        model.remove(&id);
                    }
                    true => {
                        f.set(&transaction, id, step).expect("it is there");
                        model.insert(id, step);
                    }
                    false => {
                        f.add(&transaction, id, step).expect("it is free");
                        model.insert(id, step);
                    }
                }
            }
            transaction.commit().expect("the log takes it");
            if prng.chance(1, 3) {
                f.engine.collect(100);
            }
            if prng.chance(1, 2) {
                follower.follow(&f, flushed(&f));
                let here = follower.as_fixture(&f);
                assert_eq!(
                    seen(&here),
                    model.clone().into_iter().collect::<Vec<_>>(),
                    "seed {seed}"
                );
                if readers.len() < 3 {
                    let reader = here
                        .engine
                        .begin(Isolation::RepeatableRead, true)
                        .expect("a slot");
                    let snapshot = reader.begin_statement(Access::Read);
                    readers.push((reader, snapshot, model.clone()));
                }
                for (reader, snapshot, then) in &readers {
                    let rows = seen_by(&here, reader, snapshot);
                    assert_eq!(rows, then.clone().into_iter().collect::<Vec<_>>(), "seed {seed}");
                }
                if prng.chance(1, 4) {
                    readers.pop();
                }
                here.engine.collect(100);
                // What is deleted and not cleared away has entries still.
                if readers.is_empty() {
                    here.engine.collect(100);
                    check(&here);
                }
            }
            if prng.chance(1, 30) {
                readers.clear();
                if prng.chance(1, 2) {
                    follower.engine.checkpoint().expect("the disk works");
                }
                follower = follower.restart();
            }
        }
    }
}

#[test]
fn nothing_above_what_is_stable_is_shown_and_a_restart_goes_on_there() {
    let f = Fixture::with(mortal());
    f.load([(1, 1)]);
    let mut follower = Follower::open(f.disk.copy());
    let known = flushed(&f);
    follower.follow(&f, known);
    f.load([(2, 2)]);
    follower.follow(&f, known);
    assert_eq!(seen(&follower.as_fixture(&f)), [(1, 1)]);
    let mut follower = follower.restart();
    assert_eq!(
        seen(&follower.as_fixture(&f)),
        [(1, 1)],
        "nothing vouches for the second"
    );
    // The primary lost what it had sent beyond its own disk; the log goes on differently.
    let cut = known;
    let system_id = f.engine.log().system_id();
    let segment_bytes = f.engine.log().segment_bytes();
    let (world, _) = env(&follower.disk, 1);
    cut_log(&*world.disk, system_id, segment_bytes, cut).expect("the disk works");
    let scan = mote_log::scan::scan_log(&*world.disk, system_id, segment_bytes, Lsn(segment_bytes));
    follower.intake = open_intake(&follower.disk, &follower.engine, &scan.expect("sound"));
    follower.replay.files_changed();
    follower.follow(&f, flushed(&f));
    assert_eq!(seen(&follower.as_fixture(&f)), [(1, 1), (2, 2)]);
}

#[test]
fn a_transaction_of_many_fragments_counts_at_its_commit_and_not_before() {
    let f = Fixture::with(mortal());
    f.load([(1, 1)]);
    let mut follower = Follower::open(f.disk.copy());
    let (large, lost) = (f.begin(), f.begin());
    for id in 100..6000 {
        f.add(&large, id, 7).expect("free");
    }
    let savepoint = large.savepoint();
    for id in 10_000..16_000 {
        f.add(&large, id, 8).expect("free");
    }
    large.rollback_to(savepoint);
    for id in 20_000..26_000 {
        f.add(&lost, id, 9).expect("free");
    }
    f.load([(2, 2)]);
    follower.follow(&f, flushed(&f));
    assert_eq!(seen(&follower.as_fixture(&f)), [(1, 1), (2, 2)]);
    follower.engine.checkpoint().expect("the disk works");
    f.load([(3, 3)]);
    let mut follower = follower.restart();
    f.set(&large, 100, 70).expect("its own");
    large.commit().expect("the log takes it");
    lost.abort();
    f.load([(4, 4)]);
    follower.follow(&f, flushed(&f));
    assert_eq!(seen(&follower.as_fixture(&f)).len(), f.contents().len());
    check(&follower.as_fixture(&f));
    let mut follower = follower.restart();
    follower.follow(&f, flushed(&f));
    assert!(seen(&follower.as_fixture(&f)) == f.contents());
}

#[test]
fn prepared_transactions_wait_for_their_decision_here_too() {
    let f = Fixture::with(mortal());
    f.load((1..=5).map(|id| (id, 10)));
    let mut follower = Follower::open(f.disk.copy());
    f.prepare_three();
    f.load([(6, 10)]);
    follower.follow(&f, flushed(&f));
    assert_eq!(follower.engine.prepared().len(), 3);
    assert_eq!(seen(&follower.as_fixture(&f)).len(), 6);
    f.load([(7, 10)]);
    follower.follow(&f, flushed(&f));
    let mut follower = follower.restart();
    assert_eq!(follower.engine.prepared().len(), 3);
    finish(&f.engine, "yes", true).expect("prepared");
    finish(&f.engine, "no", false).expect("prepared");
    follower.follow(&f, flushed(&f));
    assert_eq!(follower.engine.prepared().len(), 1);
    assert_eq!(seen(&follower.as_fixture(&f)), f.contents());
    finish(&f.engine, "late", true).expect("prepared");
    follower.follow(&f, flushed(&f));
    assert_eq!(seen(&follower.as_fixture(&f)), f.contents());
    check(&follower.as_fixture(&f));
}

#[test]
fn objects_come_and_go_and_ids_are_not_given_out_here() {
    let f = Fixture::with(mortal());
    f.load((1..=50).map(|id| (id, 2 * i64::from(id))));
    let mut follower = Follower::open(f.disk.copy());
    follower.follow(&f, flushed(&f));
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    let made = transaction.create_table(&table_definition()).expect("made");
    let definition = index_on(&f.table, 1, KeyClass::Signed8, false);
    let mut build = transaction.create_index(&definition).expect("made");
    assert_eq!(transaction.build_index(&mut build, 1000), Ok(BuildProgress::Done));
    let table = f.engine.table(made).expect("made above");
    transaction.insert(&table, &f.row(1, 1)).expect("free");
    transaction.commit().expect("the log takes it");
    follower.follow(&f, flushed(&f));
    let here = follower.as_fixture(&f);
    assert!(here.table.index(build.id()).is_some());
    assert_eq!(
        here.engine.table(made).map(|table| table.row_count_estimate()),
        Some(1)
    );
    check(&here);
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    transaction.drop_table(made).expect("it is there");
    transaction.commit().expect("the log takes it");
    follower.follow(&f, flushed(&f));
    assert!(follower.engine.table(made).is_none());
    // Sessions are read only; what writes all the same is refused by the log.
    let here = follower.as_fixture(&f);
    let writer = here.begin();
    here.add(&writer, 900, 1).expect("nothing is logged yet");
    let refused = writer.commit().expect_err("the log is another's");
    let following = mote_log::LogUnavailable::Following;
    assert!(matches!(refused, CommitError::LogUnavailable { reason, .. } if reason == following));
}
