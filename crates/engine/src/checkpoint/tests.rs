//! Checkpoints of the toy engine: what they write, what they let go, what they survive.

use std::sync::Arc;

use mote_common::env::Disk;
use mote_common::env::sim::{FaultPlan, SimDisk, env};
use mote_common::{Lsn, RowId, TableId};

use super::image::{IMAGE_DIRECTORY, parse_image_name};
use super::*;
use crate::recovery::CATALOG_TABLE;
use crate::recovery::toy::{Life, SEGMENT_BYTES, ToyTransaction, manifest_of};

const TABLE: TableId = TableId(2);

fn begin(disk: &SimDisk) -> Life {
    let (world, _) = env(disk, 1);
    Life::begin(&world, 1, Arc::new(|_| {})).expect("it starts")
}

fn set(life: &Life, table: TableId, row: RowId, bytes: Option<Vec<u8>>) -> Lsn {
    let mut transaction = ToyTransaction::default();
    transaction.set(&life.toy, table, row, bytes);
    life.commit(transaction).expect("committed")
}

fn create(life: &Life, table: TableId) {
    set(life, CATALOG_TABLE, RowId(table.0 as u64), Some(vec![1]));
}

fn image_files(disk: &SimDisk) -> Vec<u64> {
    let names = disk.list(IMAGE_DIRECTORY).expect("listed");
    names.iter().filter_map(|name| parse_image_name(name)).collect()
}

#[test]
fn a_checkpoint_covers_everything_before_it_and_writes_only_what_changed() {
    let disk = SimDisk::new(1);
    let life = begin(&disk);
    create(&life, TABLE);
    for segment in 0..10 {
        set(&life, TABLE, RowId::new(segment, 0), Some(vec![1; 100]));
    }
    let last = set(&life, TABLE, RowId::new(3, 1), Some(vec![2; 100]));
    life.checkpointer.run().expect("written");
    assert!(life.checkpointer.report().covered >= last);
    assert_eq!(life.checkpointer.report().images, 11);
    set(&life, TABLE, RowId::new(3, 1), Some(vec![3; 100]));
    life.checkpointer.run().expect("written");
    assert_eq!(life.checkpointer.report().images, 12);
    let next = begin(&disk.crash());
    assert_eq!(next.recovered.stats.operations, 0, "the images have it all");
    assert_eq!(next.toy.contents(Lsn::MAX), life.toy.contents(Lsn::MAX));
}

#[test]
fn threads_share_a_round_and_its_figures_tell() {
    let disk = SimDisk::new(5);
    let (world, _) = env(&disk, 1);
    let life = Life::begin(&world, 1, Arc::new(|_| {})).expect("it starts");
    create(&life, TABLE);
    for segment in 0..100 {
        set(
            &life,
            TABLE,
            RowId::new(segment, 0),
            Some(vec![segment as u8; 3_000]),
        );
    }
    let config = CheckpointConfig {
        threads: 3,
        ..crate::recovery::toy::checkpoint_config()
    };
    let source = Arc::new(life.toy.clone());
    let checkpointer = Checkpointer::new(&world, &life.log, source, manifest_of(&world), config);
    assert!(!checkpointer.report().running);
    assert!(life.log.flush_to(life.log.tail()).is_stable());
    let started = checkpointer.step_with(3).expect("alive");
    assert_eq!(started, CheckpointOutcome::Started { segments: 101 });
    checkpointer.step_with(3).expect("written");
    let report = checkpointer.report();
    assert!(
        report.running && (2..101).contains(&report.segments_done),
        "{report:?}"
    );
    checkpointer.run().expect("written");
    let report = checkpointer.report();
    assert!(!report.running && report.segments_done == report.segments_total);
    assert!(report.live_bytes >= 300_000 && report.last_error.is_none());
    assert_eq!(
        begin(&disk.crash()).toy.contents(Lsn::MAX),
        life.toy.contents(Lsn::MAX)
    );
}

#[test]
fn the_background_keeps_to_its_share_of_the_disk() {
    let disk = SimDisk::new(6);
    let (world, _) = env(&disk, 1);
    let life = Life::begin(&world, 1, Arc::new(|_| {})).expect("it starts");
    create(&life, TABLE);
    let row = vec![7; 50_000];
    for segment in 0..20 {
        set(&life, TABLE, RowId::new(segment, 0), Some(row.clone()));
    }
    assert!(life.log.flush_to(life.log.tail()).is_stable());
    let config = CheckpointConfig {
        bytes_per_s: 1_000_000,
        ..crate::recovery::toy::checkpoint_config()
    };
    let source = Arc::new(life.toy.clone());
    let checkpointer = Checkpointer::new(&world, &life.log, source, manifest_of(&world), config);
    let mut pauses = std::time::Duration::ZERO;
    while checkpointer.report().rounds == 0 {
        pauses += checkpointer.background_step();
    }
    // 20 images of 50 kB at 1 MB/s.
    assert!((1.0..1.1).contains(&pauses.as_secs_f64()), "{pauses:?}");
}

#[test]
fn images_of_dropped_tables_and_sparse_files_go() {
    let disk = SimDisk::new(2);
    let life = begin(&disk);
    create(&life, TABLE);
    create(&life, TableId(3));
    for segment in 0..8 {
        set(&life, TABLE, RowId::new(segment, 0), Some(vec![1; 9_000]));
        set(&life, TableId(3), RowId::new(segment, 0), Some(vec![1; 9_000]));
    }
    life.checkpointer.run().expect("written");
    let before = image_files(&disk);
    assert!(before.len() >= 2, "{before:?}");
    set(&life, CATALOG_TABLE, RowId(3), None);
    life.checkpointer.run().expect("written");
    let manifest = manifest_of(&env(&disk, 1).0);
    assert!(manifest.images.keys().all(|key| key.table != TableId(3)));
    // The files that both shared are sparse now: the next round moves what is left of them.
    set(&life, TABLE, RowId::new(0, 0), Some(vec![2; 9_000]));
    life.checkpointer.run().expect("written");
    let live: u64 = manifest_of(&env(&disk, 1).0)
        .images
        .values()
        .map(|image| image.bytes)
        .sum();
    let used: u64 = image_files(&disk)
        .iter()
        .map(|&number| {
            disk.open(&image::image_path(number))
                .expect("there")
                .len()
                .expect("alive")
        })
        .sum();
    assert!(
        used < 3 * live + 3 * image::IMAGE_FILE_HEADER_BYTES,
        "{used} bytes of files for {live} of images"
    );
    assert_eq!(
        begin(&disk.crash()).toy.contents(Lsn::MAX),
        life.toy.contents(Lsn::MAX)
    );
}

#[test]
fn a_failed_checkpoint_changes_nothing_and_is_repeated() {
    let disk = SimDisk::new(3);
    let life = begin(&disk);
    create(&life, TABLE);
    for segment in 0..10 {
        set(&life, TABLE, RowId::new(segment, 0), Some(vec![1; 10_000]));
    }
    while life.log.prepare_step() {}
    assert!(life.log.flush_to(life.log.tail()).is_stable());
    let manifest = manifest_of(&env(&disk, 1).0);
    disk.set_faults(FaultPlan {
        capacity_bytes: Some(disk.used_bytes() + 50_000),
        ..FaultPlan::default()
    });
    let error = life.checkpointer.run().expect_err("the disk is full");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(manifest_of(&env(&disk, 1).0), manifest);
    disk.set_faults(FaultPlan::default());
    life.checkpointer.run().expect("there is room again");
    assert_eq!(life.checkpointer.report().failures, 1);
    assert_eq!(
        begin(&disk.crash()).toy.contents(Lsn::MAX),
        life.toy.contents(Lsn::MAX)
    );
}

#[test]
fn the_log_is_released_while_the_background_runs() {
    let disk = SimDisk::new(4);
    let (world, _) = env(&disk, 1);
    let life = Life::begin(&world, 1, Arc::new(|_| {})).expect("it starts");
    let config = CheckpointConfig {
        log_bytes: SEGMENT_BYTES,
        ..crate::recovery::toy::checkpoint_config()
    };
    let source = Arc::new(life.toy.clone());
    let manifest = manifest_of(&world);
    let checkpointer = Arc::new(Checkpointer::new(&world, &life.log, source, manifest, config));
    let thread = CheckpointThread::start(&checkpointer).expect("a thread starts");
    create(&life, TABLE);
    for i in 0..400u32 {
        set(&life, TABLE, RowId::new(i % 5, 0), Some(vec![i as u8; 5_000]));
        assert!(life.log.flush_to(life.log.tail()).is_stable());
    }
    // The thread looks once a second at most; wait for it within reason.
    let started = std::time::Instant::now();
    while checkpointer.report().rounds == 0 && started.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(thread);
    let report = checkpointer.report();
    assert!(
        report.rounds > 0 && report.log_start.0 > SEGMENT_BYTES,
        "{report:?}"
    );
    assert_eq!(
        begin(&disk.crash()).toy.contents(Lsn::MAX),
        life.toy.contents(Lsn::MAX)
    );
}

#[test]
fn what_somebody_held_goes_with_the_next_checkpoint_though_nothing_has_changed() {
    let disk = SimDisk::new(5);
    let life = begin(&disk);
    create(&life, TABLE);
    let first = life.log.oldest();
    let hold = life.log.hold_from(first);
    for i in 0..400u32 {
        set(&life, TABLE, RowId::new(i % 5, 0), Some(vec![i as u8; 5_000]));
        assert!(life.log.flush_to(life.log.tail()).is_stable());
    }
    life.checkpointer.run().expect("written");
    life.checkpointer.run().expect("nothing has changed");
    assert_eq!(life.log.oldest(), first);
    drop(hold);
    life.checkpointer.run().expect("nothing has changed");
    assert!(life.log.oldest() > first);
}
