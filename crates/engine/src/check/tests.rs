//! Every flipped bit that matters is named. (Indexes: `txn::tests::checks`.)

use std::sync::Arc;

use mote_common::env::sim::{SimDisk, env};
use mote_common::prng::Prng;
use mote_common::{Lsn, RowId};

use super::*;
use crate::checkpoint::Manifest;
use crate::recovery::CATALOG_TABLE;
use crate::recovery::toy::{Life, ToyTransaction};
use mote_log::FrameKind;

/// A database with images and log, closed.
fn closed(seed: u64) -> SimDisk {
    let mut prng = Prng::new(seed);
    let disk = SimDisk::new(seed);
    let (world, _) = env(&disk, seed);
    let life = Life::begin(&world, 1, Arc::new(|_| {})).expect("a new database starts");
    for round in 0..60u64 {
        let mut transaction = ToyTransaction::default();
        let table = if round == 0 { CATALOG_TABLE.0 } else { 2 };
        let row = if round == 0 {
            RowId(2)
        } else {
            RowId::new(prng.below(2) as u32, prng.below(50) as u16)
        };
        let bytes = vec![round as u8; prng.below(300) as usize];
        transaction.set(&life.toy, TableId(table), row, Some(bytes));
        life.commit(transaction).expect("the log runs");
        if round == 40 {
            life.log.flush_step();
            life.checkpointer.run().expect("the disk is sound");
        }
    }
    life.append(FrameKind::RestorePoint, b"end");
    life.log.flush_and_seal();
    disk
}

#[test]
fn a_sound_directory_has_no_fault_and_every_flip_is_named() {
    for seed in 0..6 {
        let disk = closed(seed);
        let report = check_files(&disk, &mut |_| {});
        assert!(report.faults.is_empty(), "seed {seed}: {:?}", report.faults);
        assert!(report.images > 0 && report.frames > 20 && report.image_rows > 0);
        let manifest = Manifest::read(&disk).expect("readable").expect("there is one");
        let mut prng = Prng::new(seed);
        for _ in 0..60 {
            let (path, offset) = match prng.below(3) {
                0 => ("MANIFEST".to_string(), prng.below(70)),
                1 => {
                    let images: Vec<_> = manifest.images.values().filter(|image| image.file != 0).collect();
                    let image = images[prng.below(images.len() as u64) as usize];
                    let within = prng.below(image.bytes);
                    // Reserved bytes of an image's header are not checked.
                    let within = if (44..64).contains(&within) { 0 } else { within };
                    (
                        crate::checkpoint::image::image_path(image.file),
                        image.offset + within,
                    )
                }
                _ => {
                    // The last block is the seal, which vouches for what is below it and for nothing in itself.
                    let span = report.log_end.0 - 4096 - manifest.log_start.0;
                    let lsn = manifest.log_start.0 + prng.below(span);
                    let start = lsn / manifest.segment_bytes * manifest.segment_bytes;
                    (mote_log::segment::segment_path(start), 4096 + lsn - start)
                }
            };
            let bit = prng.below(8) as u8;
            assert!(disk.flip_bit(&path, offset, bit));
            let damaged = check_files(&disk, &mut |_| {});
            let named = damaged
                .faults
                .iter()
                .any(|fault| fault.path.as_deref() == Some(path.as_str()));
            // Padding behind a frame's payload and reserved fields are covered by no checksum, and read by nobody.
            let harmless = path.starts_with("log/")
                && damaged.faults.is_empty()
                && (damaged.frames, damaged.log_end) == (report.frames, report.log_end);
            assert!(
                named || harmless,
                "seed {seed}, {path} at {offset}: {:?}",
                damaged.faults
            );
            disk.flip_bit(&path, offset, bit);
        }
    }
}

#[test]
fn missing_files_are_named() {
    let disk = closed(9);
    let manifest = Manifest::read(&disk).expect("readable").expect("there is one");
    let image = manifest
        .images
        .values()
        .find(|image| image.file != 0)
        .expect("one image");
    let path = crate::checkpoint::image::image_path(image.file);
    mote_common::env::Disk::remove(&disk, &path).expect("it is there");
    let report = check_files(&disk, &mut |_| {});
    assert!(
        report
            .faults
            .iter()
            .any(|fault| fault.path.as_ref() == Some(&path))
    );
    let empty = check_files(&SimDisk::new(1), &mut |_| {});
    assert!(empty.faults[0].to_string().contains("no data directory"));
}

#[test]
fn faults_tell_all_they_know() {
    let fault = Fault {
        table: Some(TableId(16)),
        row: Some(RowId::new(2, 7)),
        ..Fault::in_file("image/1.img", 4096, "the checksum does not fit")
    };
    assert_eq!(
        fault.to_string(),
        "file image/1.img, byte 4096, table 16, row (2,7): the checksum does not fit"
    );
    assert_eq!(Lsn(5).to_string(), "0/5");
}
