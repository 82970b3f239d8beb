//! Backups, archives and restores of the toy engine on simulated disks: the toy knows what every earlier moment looked
//! like, so a restore to any of them can be compared.

use std::sync::Arc;
use std::time::Duration;

use mote_common::env::sim::{FaultPlan, SimClock, SimDisk, env};
use mote_common::env::{Disk, Env};
use mote_common::prng::Prng;
use mote_common::{Lsn, RowId, TableId};

use super::archive::{ArchiveConfig, Archiver, archive_start, archived_path};
use super::restore::{RestoreReport, RestoreTarget, restore};
use super::*;
use crate::checkpoint::Manifest;
use crate::recovery::CATALOG_TABLE;
use crate::recovery::toy::{Contents, Life, SEGMENT_BYTES, ToyTransaction};
use mote_log::{FrameKind, Log};

/// A life that writes, is archived and backed up.
struct World {
    prng: Prng,
    disk: SimDisk,
    env: Env,
    clock: Arc<SimClock>,
    life: Life,
    archive: SimDisk,
    archiver: Archiver,
    /// Every commit, and what the database was then.
    history: Vec<(Lsn, i64)>,
}

/// Reads the server's disk as a client would.
struct Local {
    disk: SimDisk,
    log: Log,
}

impl BackupSource for Local {
    fn read(&mut self, path: &str, offset: u64, bytes: usize) -> Result<Vec<u8>, BackupError> {
        let mut data = vec![0; bytes];
        let file = self.disk.open(path).map_err(BackupError::io(path))?;
        let read = file.read_at(&mut data, offset).map_err(BackupError::io(path))?;
        data.truncate(read);
        Ok(data)
    }

    fn log_end(&mut self) -> Result<Lsn, BackupError> {
        assert!(self.log.flush_to(self.log.tail()).is_stable());
        Ok(self.log.stable())
    }
}

fn archive_config(disk: &SimDisk) -> ArchiveConfig {
    ArchiveConfig {
        disk: Arc::new(disk.clone()),
        name: "ARCHIVE".into(),
        timeout: Duration::ZERO,
    }
}

impl World {
    fn new(seed: u64) -> World {
        let (disk, archive) = (SimDisk::new(seed), SimDisk::new(seed + 1));
        let mut world = World::on(seed, disk, archive);
        let mut transaction = ToyTransaction::default();
        for table in 2..4 {
            transaction.set(&world.life.toy, CATALOG_TABLE, RowId(table), Some(vec![1]));
        }
        world.commit(transaction);
        world
    }

    fn on(seed: u64, disk: SimDisk, archive: SimDisk) -> World {
        let (env, clock) = env(&disk, seed);
        let manifest = crate::recovery::open_manifest(&env, SEGMENT_BYTES).expect("readable");
        let (id, start) = (manifest.system_id, manifest.log_start);
        let config = archive_config(&archive);
        let from = archive_start(&*env.disk, &config, id, SEGMENT_BYTES, start).expect("readable");
        let life = Life::begin(&env, 1, Arc::new(|_| {})).expect("it starts");
        let archiver = Archiver::new(&env, config, &life.log, from);
        World {
            prng: Prng::new(seed),
            disk,
            env,
            clock,
            life,
            archive,
            archiver,
            history: Vec::new(),
        }
    }

    fn commit(&mut self, transaction: ToyTransaction) -> Lsn {
        let wall = self.env.clock.wall_us();
        let ts = self.life.commit(transaction).expect("the log runs");
        // Nothing is logged for a transaction that changed nothing.
        if ts > Lsn::ZERO {
            self.history.push((ts, wall));
        }
        ts
    }

    /// Some random work: a commit, now and then a large one, a checkpoint step, an archive step.
    fn act(&mut self) {
        self.clock.advance_ns(1 + self.prng.below(5_000_000));
        let mut transaction = ToyTransaction::default();
        for _ in 0..1 + self.prng.below(4) {
            let table = TableId(2 + self.prng.below(2) as u32);
            let row = RowId::new(self.prng.below(3) as u32, self.prng.below(30) as u16);
            let length = if self.prng.chance(1, 20) {
                40_000
            } else {
                self.prng.below(200)
            };
            let fill = self.prng.next_u64() as u8;
            let new = self.prng.chance(5, 6).then(|| vec![fill; length as usize]);
            transaction.set(&self.life.toy, table, row, new);
        }
        if self.prng.chance(1, 12) {
            self.life.abort(transaction);
        } else {
            self.commit(transaction);
        }
        match self.prng.below(10) {
            0..3 => _ = self.life.log.flush_step(),
            3..6 => _ = self.life.checkpointer.step().expect("the disk is sound"),
            6 => _ = self.archiver.step(self.prng.chance(1, 3)),
            _ => {}
        }
        self.life.log.prepare_step();
    }

    fn work(&mut self, steps: u64) {
        (0..steps).for_each(|_| self.act());
    }

    fn archive_all(&mut self) {
        self.life.log.flush_and_seal();
        assert!(self.archiver.step(true).is_ok());
    }

    /// A backup taken while the world goes on.
    fn backup(&mut self) -> (SimDisk, BackupLabel) {
        let hold = self.life.checkpointer.hold();
        self.work(60);
        let target = SimDisk::new(9);
        let mut source = Local {
            disk: self.disk.clone(),
            log: self.life.log.clone(),
        };
        let mut sink = DirectorySink::create(&target).expect("an empty disk");
        let label = copy_backup(
            hold.manifest(),
            "test",
            &|| 5,
            &mut source,
            &mut sink,
            &mut |_| Ok(()),
        )
        .expect("nothing is damaged");
        (target, label)
    }

    fn restore_point(&mut self, name: &str) -> Lsn {
        let at = self.life.append(FrameKind::RestorePoint, name.as_bytes());
        at.expect("the log runs")
    }
}

/// The same files on another disk.
fn copy_of(disk: &SimDisk) -> SimDisk {
    let copy = SimDisk::new(3);
    for path in disk.paths() {
        let file = disk.open(&path).expect("listed");
        let mut bytes = vec![0; file.len().expect("readable") as usize];
        file.read_at(&mut bytes, 0).expect("readable");
        let target = copy.create(&path).expect("an empty disk");
        target.write_all_at(&bytes, 0).expect("written");
    }
    copy
}

fn restored(
    backup: &SimDisk,
    archive: Option<&SimDisk>,
    target: &RestoreTarget,
    seed: u64,
) -> Result<(SimDisk, RestoreReport), BackupError> {
    let disk = SimDisk::new(seed);
    let (env, _) = env(&disk, seed);
    let report = restore(
        &env,
        backup,
        archive.map(|archive| archive as &dyn Disk),
        target,
        &mut |_| Ok(()),
    )?;
    Ok((disk, report))
}

fn contents_of(disk: &SimDisk, seed: u64) -> Contents {
    let (env, _) = env(disk, seed);
    let life = Life::begin(&env, 1, Arc::new(|_| {})).expect("a restored database starts");
    life.toy.contents(Lsn::MAX)
}

#[test]
fn a_restore_is_what_the_database_was_then() {
    for seed in 0..12 {
        let mut world = World::new(seed);
        world.work(200);
        let (backup, label) = world.backup();
        let (_, faults) = verify_backup(&backup, &mut |_| Ok(())).expect("a backup");
        assert!(faults.is_empty(), "seed {seed}: {faults:?}");
        assert!(contents_of_backup(&world, &backup, &label, seed), "seed {seed}");
        world.work(250);
        world.archive_all();
        for round in 0..6 {
            let reachable: Vec<_> = world
                .history
                .iter()
                .filter(|(ts, _)| *ts >= label.consistent)
                .collect();
            let (ts, wall) = *reachable[world.prng.below(reachable.len() as u64) as usize];
            let target = match round % 3 {
                0 => RestoreTarget::Lsn {
                    lsn: ts,
                    exclusive: false,
                },
                1 => RestoreTarget::Time {
                    us: wall,
                    exclusive: false,
                },
                _ => RestoreTarget::Latest,
            };
            let (disk, report) = restored(&backup, Some(&world.archive), &target, seed + 100 + round)
                .unwrap_or_else(|error| panic!("seed {seed}, {target:?}: {error}"));
            let expected = match target {
                RestoreTarget::Lsn { lsn, .. } => lsn,
                RestoreTarget::Time { us, .. } => {
                    let within = world.history.iter().filter(|(_, wall)| *wall <= us);
                    within.map(|(ts, _)| *ts).max().expect("at least that one")
                }
                _ => Lsn::MAX,
            };
            let found = contents_of(&disk, seed);
            assert_eq!(
                found,
                world.life.toy.contents(expected),
                "seed {seed}, {target:?}, {report:?}"
            );
            assert_ne!(report.system_id, label.system_id);
        }
    }
}

/// The backup alone is the database at its end.
fn contents_of_backup(world: &World, backup: &SimDisk, label: &BackupLabel, seed: u64) -> bool {
    let (disk, report) = restored(backup, None, &RestoreTarget::Latest, seed + 50).expect("a sound backup");
    report.end == label.end && contents_of(&disk, seed) == world.life.toy.contents(label.end)
}

#[test]
fn exclusive_targets_and_names_stop_where_they_say() {
    let seed = 21;
    let mut world = World::new(seed);
    world.work(40);
    let (backup, _) = world.backup();
    world.work(30);
    let named = world.restore_point("before the mistake");
    world.work(30);
    world.restore_point("before the mistake");
    let (ts, _) = *world.history.last().expect("it worked");
    world.archive_all();
    let archive = Some(&world.archive);
    let name = |name: &str| RestoreTarget::Name(name.into());
    let (disk, report) = restored(&backup, archive, &name("before the mistake"), 1).expect("it is there");
    assert_eq!(report.end, named, "the first of two points of a name");
    assert_eq!(contents_of(&disk, seed), world.life.toy.contents(named));
    let lsn = |exclusive| RestoreTarget::Lsn { lsn: ts, exclusive };
    let (_, with) = restored(&backup, archive, &lsn(false), 2).expect("it is there");
    let (disk, without) = restored(&backup, archive, &lsn(true), 3).expect("it is there");
    assert!(with.end == ts && without.end < ts && without.commits + 1 == with.commits);
    assert_eq!(contents_of(&disk, seed), world.life.toy.contents(Lsn(ts.0 - 1)));
    let refused = restored(&backup, archive, &name("never made"), 4)
        .map(|_| ())
        .expect_err("no such point");
    assert!(refused.to_string().contains("was not reached"), "{refused}");
}

#[test]
fn targets_out_of_reach_gaps_and_strangers_are_refused() {
    let seed = 31;
    let mut world = World::new(seed);
    world.work(150);
    world.life.checkpointer.run().expect("the disk is sound");
    let (backup, label) = world.backup();
    world.work(700);
    world.archive_all();
    let refused = |archive: &SimDisk, target: RestoreTarget| {
        restored(&backup, Some(archive), &target, 1)
            .map(|_| ())
            .expect_err("refused")
            .to_string()
    };
    let lsn = |lsn| RestoreTarget::Lsn {
        lsn,
        exclusive: false,
    };
    let early = refused(&world.archive, lsn(Lsn(label.consistent.0 - 16)));
    assert!(early.contains("lies before the backup's own moment"), "{early}");
    // After a checkpoint the log may begin at the backup's moment: nothing in it tells what the images hold.
    let (_, before) = world.history[world.history.len() / 20];
    let early = RestoreTarget::Time {
        us: before,
        exclusive: false,
    };
    let early = refused(&world.archive, early);
    assert!(early.contains("lies before the backup's own moment"), "{early}");
    let late = refused(&world.archive, lsn(Lsn(1 << 50)));
    assert!(late.contains("was not reached"), "{late}");
    let future = RestoreTarget::Time {
        us: i64::MAX,
        exclusive: false,
    };
    let late = refused(&world.archive, future);
    assert!(
        late.contains("was not reached") && late.contains("2026-01-01"),
        "{late}"
    );
    let stranger = World::new(77);
    let other = refused(&stranger.archive, RestoreTarget::Latest);
    assert!(other.contains("another"), "{other}");

    let missing = label.end.0 / SEGMENT_BYTES * SEGMENT_BYTES + SEGMENT_BYTES;
    let path = archived_path(label.system_id, missing, true);
    world.archive.remove(&path).expect("it was archived");
    let gap = refused(&world.archive, RestoreTarget::Latest);
    assert!(gap.contains("gap") && gap.contains(&path), "{gap}");
    let mut whole = world.history.iter().filter(|(ts, _)| ts.0 < missing);
    let (last, _) = whole.next_back().expect("it worked before");
    let before = lsn(whole.next_back().map_or(*last, |(ts, _)| *ts));
    let reached = restored(&backup, Some(&world.archive), &before, 2);
    assert!(reached.is_ok(), "{before:?} before the gap: {:?}", reached.err());
}

#[test]
fn the_old_future_cannot_be_mixed_in() {
    let seed = 41;
    let mut world = World::new(seed);
    world.work(60);
    let (backup, label) = world.backup();
    world.work(600);
    world.archive_all();
    let target = RestoreTarget::Lsn {
        lsn: label.end,
        exclusive: false,
    };
    let (disk, report) = restored(&backup, Some(&world.archive), &target, 5).expect("reached");
    // A later segment of the old history, put into the restored log by hand.
    let later = report.end.0 / SEGMENT_BYTES * SEGMENT_BYTES + SEGMENT_BYTES;
    let old = world
        .archive
        .open(&archived_path(label.system_id, later, true))
        .expect("archived");
    let mut bytes = vec![0; old.len().expect("readable") as usize];
    old.read_at(&mut bytes, 0).expect("readable");
    let path = mote_log::segment::segment_path(later);
    let file = disk.create(&path).expect("the restored log ends before");
    file.write_all_at(&bytes, 0).expect("written");
    let (env, _) = env(&disk, 6);
    let error = Life::begin(&env, 1, Arc::new(|_| {}))
        .err()
        .expect("another system's file");
    assert!(error.to_string().contains("belongs elsewhere"), "{error}");
    // Without it the new history goes on, under a new term, and archives beside the old one.
    disk.remove(&path).expect("it is there");
    let mut second = World::on(7, disk, world.archive.clone());
    assert!(second.life.log.term() > world.life.log.term());
    second.work(300);
    second.archive_all();
    assert_ne!(second.life.log.system_id(), label.system_id);
    let (again, _) = restored(&backup, Some(&world.archive), &RestoreTarget::Latest, 8).expect("whole");
    assert_eq!(contents_of(&again, 8), world.life.toy.contents(Lsn::MAX));
}

#[test]
fn every_mutation_of_a_backup_is_found_or_harmless() {
    for seed in 50..54 {
        let mut world = World::new(seed);
        world.work(150);
        let (backup, label) = world.backup();
        let expected = world.life.toy.contents(label.end);
        for round in 0..120u64 {
            let files = &label.files;
            let victim = &files[world.prng.below(files.len() as u64) as usize];
            let file = backup.open(&victim.path).expect("listed");
            let mut before = vec![0; victim.bytes as usize];
            file.read_at(&mut before, 0).expect("readable");
            // Mostly where something stands; zeros behind the log's end are checked as well.
            let place = world.prng.below(victim.bytes);
            let removed = round % 40 == 39;
            match round % 10 {
                _ if removed => backup.remove(&victim.path).expect("listed"),
                9 => file.set_len(place).expect("shortened"),
                _ => assert!(backup.flip_bit(&victim.path, place, world.prng.below(8) as u8)),
            }
            let (_, faults) = verify_backup(&backup, &mut |_| Ok(())).expect("the label is whole");
            let named = faults
                .iter()
                .any(|fault| fault.to_string().contains(&victim.path));
            assert!(
                named,
                "seed {seed}, round {round}, {} at {place}: {faults:?}",
                victim.path
            );
            match restored(&backup, None, &RestoreTarget::Latest, seed + round) {
                Err(error) => assert!(!error.to_string().is_empty()),
                Ok((disk, _)) => assert_eq!(contents_of(&disk, seed), expected, "seed {seed}, round {round}"),
            }
            let file = match removed {
                true => backup.create(&victim.path).expect("removed above"),
                false => backup.open(&victim.path).expect("listed"),
            };
            file.set_len(victim.bytes).expect("as it was");
            file.write_all_at(&before, 0).expect("as it was");
        }
    }
}

#[test]
fn every_mutation_of_an_archive_is_refused_or_harmless() {
    for seed in 150..153 {
        let mut world = World::new(seed);
        world.work(60);
        let (backup, label) = world.backup();
        world.work(400);
        world.archive_all();
        let expected = world.life.toy.contents(Lsn::MAX);
        let paths: Vec<String> = world.archive.paths();
        for round in 0..80u64 {
            let path = &paths[world.prng.below(paths.len() as u64) as usize];
            let file = world.archive.open(path).expect("listed");
            let length = file.len().expect("readable");
            let place = world.prng.below(length);
            let bit = world.prng.below(8) as u8;
            assert!(world.archive.flip_bit(path, place, bit));
            let result = restored(
                &backup,
                Some(&world.archive),
                &RestoreTarget::Latest,
                seed + round,
            );
            match result {
                Err(error) => assert!(
                    error.to_string().contains(path.as_str()) || error.to_string().contains("log position"),
                    "seed {seed}, round {round}: {error}"
                ),
                // Only what nothing vouches for may be cut: the seal behind the last commit.
                Ok((disk, _)) => assert_eq!(
                    contents_of(&disk, seed),
                    expected,
                    "seed {seed}, round {round}, {path} at {place}"
                ),
            }
            assert!(world.archive.flip_bit(path, place, bit));
        }
        assert_eq!(label.system_id, world.life.log.system_id());
    }
}

#[test]
fn a_failing_archive_keeps_the_log_and_catches_up() {
    let seed = 61;
    let mut world = World::new(seed);
    world.work(50);
    let full = FaultPlan {
        capacity_bytes: Some(1000),
        ..FaultPlan::default()
    };
    world.archive.set_faults(full);
    world.work(500);
    world.life.checkpointer.run().expect("the disk is sound");
    assert!(world.archiver.step(true).is_err());
    let report = world.archiver.report();
    assert!(report.failed_count > 0 && report.error.is_some() && report.last_failed.is_some());
    let held = mote_log::segment::segment_path(SEGMENT_BYTES);
    assert!(
        world.disk.exists(&held).expect("readable"),
        "the first segment waits for the archive"
    );
    world.archive.set_faults(FaultPlan::default());
    world.archive_all();
    let report = world.archiver.report();
    assert!(report.error.is_none() && report.archived_to == world.life.log.stable());
    world.work(20);
    world.life.log.flush_and_seal();
    world.life.checkpointer.run().expect("the disk is sound");
    assert!(
        !world.disk.exists(&held).expect("readable"),
        "archived log is recycled"
    );
}

#[test]
fn an_archive_survives_crashes_of_both_sides() {
    for seed in 70..90 {
        let mut world = World::new(seed);
        let (backup, label) = world.backup();
        for crash in 0..4 {
            let steps = world.prng.below(150);
            world.work(steps);
            world.life.log.flush_step();
            if world.prng.chance(1, 2) {
                assert!(world.archiver.step(true).is_ok());
            }
            let (disk, archive) = (world.disk.crash(), world.archive.crash());
            world = World::on(seed * 10 + crash, disk, archive);
        }
        world.archive_all();
        let now = world.life.toy.contents(Lsn::MAX);
        let (disk, _) = restored(&backup, Some(&world.archive), &RestoreTarget::Latest, seed)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(contents_of(&disk, seed), now, "seed {seed}");
        assert_eq!(label.system_id, world.life.log.system_id());
    }
}

#[test]
fn two_histories_do_not_share_an_archive() {
    let mut world = World::new(95);
    world.work(30);
    world.life.log.flush_and_seal();
    let copy = copy_of(&world.disk);
    world.work(40);
    world.archive_all();
    let mut second = World::on(97, copy, world.archive.clone());
    second.clock.advance_ns(1_000_000_000);
    second.work(40);
    second.life.log.flush_and_seal();
    assert!(second.archiver.step(true).is_err());
    let error = second.archiver.report().error.expect("told");
    assert!(error.contains("another history"), "{error}");
}

#[test]
fn files_of_a_later_format_are_named() {
    let mut world = World::new(98);
    world.work(100);
    world.life.checkpointer.run().expect("the disk is sound");
    let (backup, label) = world.backup();
    // Byte 8 of each binary file is its version; a checksum of its own follows later and is not what is complained of.
    for file in &label.files {
        let open = backup.open(&file.path).expect("listed");
        open.write_all_at(&[2], 8).expect("written");
        let error = restored(&backup, None, &RestoreTarget::Latest, 1)
            .map(|_| ())
            .expect_err("a later format");
        let said = error.to_string();
        assert!(
            said.contains(&file.path) && said.contains("format 2"),
            "{}: {said}",
            file.path
        );
        open.write_all_at(&[1], 8).expect("written");
    }
    assert!(Manifest::read(&backup).expect("as it was").is_some());
    // The same for an image within its file, and for a segment of the archive.
    let manifest = Manifest::read(&backup).expect("readable").expect("there is one");
    let image = manifest.images.values().find(|image| image.file != 0);
    let image = image.expect("a checkpoint was made");
    let path = crate::checkpoint::image::image_path(image.file);
    let open = backup.open(&path).expect("listed");
    open.write_all_at(&[2], image.offset + 4).expect("written");
    let error = restored(&backup, None, &RestoreTarget::Latest, 2).map(|_| ());
    let said = error.expect_err("a later format").to_string();
    assert!(said.contains(&path) && said.contains("image format 2"), "{said}");
    open.write_all_at(&[1], image.offset + 4).expect("written");
    world.work(100);
    world.archive_all();
    let path = world.archive.paths().pop().expect("archived");
    let open = world.archive.open(&path).expect("listed");
    open.write_all_at(&[2], 8).expect("written");
    let error = restored(&backup, Some(&world.archive), &RestoreTarget::Latest, 3).map(|_| ());
    let said = error.expect_err("a later format").to_string();
    assert!(said.contains(&path) && said.contains("log format 2"), "{said}");
}
