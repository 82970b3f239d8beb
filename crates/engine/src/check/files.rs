//! Manifest, images and log, as bytes: every checksum, every chain of positions.
//!
//! Takes untrusted bytes and never panics.

use std::collections::{BTreeMap, BTreeSet};

use mote_common::env::Disk;
use mote_common::{Lsn, RowId};

use super::Fault;
use crate::backup::Progress;
use crate::checkpoint::image::{
    IMAGE_DIRECTORY, ImageDamage, image_path, open_image_file, parse_image_name, read_image,
};
use crate::checkpoint::manifest::MANIFEST_PATH;
use crate::checkpoint::{ImageEntry, Manifest, RowImage, SegmentKey};
use mote_log::reader::{LogDamage, LogFiles, LogReader};
use mote_log::segment::LOG_DIRECTORY;

/// What was read, and what was wrong with it.
#[derive(Clone, Debug, Default)]
pub struct FileReport {
    pub system_id: u64,
    pub images: u64,
    pub image_rows: u64,
    pub frames: u64,
    pub log_start: Lsn,
    pub log_end: Lsn,
    pub faults: Vec<Fault>,
    /// Worth telling, not wrong.
    pub notes: Vec<String>,
}

/// Checks the files of a data directory. `pace` is told how far it is.
pub fn check_files(disk: &dyn Disk, pace: &mut dyn FnMut(Progress)) -> FileReport {
    let mut report = FileReport::default();
    let manifest = match Manifest::read(disk) {
        Ok(Some(manifest)) => manifest,
        Ok(None) => {
            let what = "the file is missing: this is no data directory, or it has lost its manifest";
            report.faults.push(Fault::in_file(MANIFEST_PATH, 0, what));
            return report;
        }
        Err(error) => {
            report
                .faults
                .push(Fault::in_file(MANIFEST_PATH, 0, error.to_string()));
            return report;
        }
    };
    report.system_id = manifest.system_id;
    report.log_start = manifest.log_start;
    let image_bytes: u64 = manifest.images.values().map(|image| image.bytes).sum();
    let mut progress = Progress {
        done: 0,
        total: image_bytes,
    };
    let files = LogFiles::open(disk, manifest.system_id, manifest.segment_bytes);
    if let Ok(files) = &files {
        progress.total += files.end().0.saturating_sub(manifest.log_start.0);
    }
    check_entries(&manifest, &mut report);
    check_images(disk, &manifest, &mut report, &mut progress, pace);
    match files {
        Ok(files) => check_log(&files, &manifest, &mut report, progress, pace),
        Err(damage) => report.faults.push(log_fault(damage)),
    }
    note_other_files(disk, &manifest, &mut report);
    report
}

/// What the manifest says must be possible.
fn check_entries(manifest: &Manifest, report: &mut FileReport) {
    let mut wrong = |what: String| report.faults.push(Fault::in_file(MANIFEST_PATH, 0, what));
    if manifest.log_start > manifest.stable || manifest.covered > manifest.stable {
        wrong(format!(
            "log start {} and covered {} must not be above stable {}",
            manifest.log_start, manifest.covered, manifest.stable
        ));
    }
    for (key, image) in &manifest.images {
        if image.ts > manifest.stable {
            wrong(format!(
                "the image of table {}, segment {} is of {}, above stable {}",
                key.table.0, key.segment, image.ts, manifest.stable
            ));
        }
        if image.file >= manifest.next_image_file {
            wrong(format!(
                "the image of table {}, segment {} is in file {}, which was not made yet",
                key.table.0, key.segment, image.file
            ));
        }
    }
}

fn image_fault(damage: ImageDamage) -> Fault {
    Fault {
        table: damage.key.map(|key| key.table),
        segment: damage.key.map(|key| key.segment),
        ..Fault::in_file(damage.path, damage.offset, damage.what)
    }
}

fn check_images(
    disk: &dyn Disk,
    manifest: &Manifest,
    report: &mut FileReport,
    progress: &mut Progress,
    pace: &mut dyn FnMut(Progress),
) {
    let mut files: BTreeMap<u64, Vec<(SegmentKey, ImageEntry)>> = BTreeMap::new();
    for (&key, &entry) in manifest.images.iter().filter(|(_, entry)| entry.file != 0) {
        files.entry(entry.file).or_default().push((key, entry));
    }
    let mut buffer = Vec::new();
    for (number, images) in files {
        let file = match open_image_file(disk, number, manifest.system_id) {
            Ok(file) => file,
            Err(damage) => {
                report.faults.push(image_fault(damage));
                continue;
            }
        };
        for (key, entry) in images {
            match read_image(&*file, key, &entry, &mut buffer) {
                Err(damage) => report.faults.push(image_fault(damage)),
                Ok(rows) => {
                    report.image_rows += rows.len() as u64;
                    if let Some((row, what)) = odd_row(&rows, &entry) {
                        report.faults.push(Fault {
                            table: Some(key.table),
                            row: Some(row),
                            ..Fault::in_file(image_path(number), entry.offset, what)
                        });
                    }
                }
            }
            report.images += 1;
            progress.done += entry.bytes;
            pace(*progress);
        }
    }
}

/// The first row that passes its checksum and should not be there.
fn odd_row(rows: &[RowImage<'_>], entry: &ImageEntry) -> Option<(RowId, String)> {
    let mut seen = BTreeSet::new();
    rows.iter().find_map(|row| {
        if !seen.insert(row.row) {
            return Some((row.row, "the row stands twice in its image".to_string()));
        }
        let above = row.commit_ts > entry.ts;
        above.then(|| {
            let what = format!(
                "the row is of {}, above its image, of {}",
                row.commit_ts, entry.ts
            );
            (row.row, what)
        })
    })
}

fn log_fault(damage: LogDamage) -> Fault {
    Fault::in_file(
        damage.path,
        damage.offset,
        format!("log position {}: {}", damage.lsn, damage.what),
    )
}

fn check_log(
    files: &LogFiles,
    manifest: &Manifest,
    report: &mut FileReport,
    mut progress: Progress,
    pace: &mut dyn FnMut(Progress),
) {
    let mut reader = LogReader::new(files, manifest.log_start);
    let (before, mut told) = (progress.done, 0);
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => {
                report.frames += 1;
                let read = frame.header.end().0 - manifest.log_start.0;
                if read - told >= 1 << 20 {
                    told = read;
                    progress.done = before + read;
                    pace(progress);
                }
            }
            Ok(None) => break,
            Err(damage) => {
                report.faults.push(log_fault(damage));
                report.log_end = reader.position();
                return;
            }
        }
    }
    report.log_end = reader.position();
    if report.log_end < manifest.stable {
        let (path, offset) = files.place(report.log_end);
        let what = format!(
            "the log ends at {}, but was durable up to {} when the manifest was written: acknowledged commits are missing",
            report.log_end, manifest.stable
        );
        report.faults.push(Fault::in_file(path, offset, what));
    }
}

/// Files that a start of the server would remove or use again.
fn note_other_files(disk: &dyn Disk, manifest: &Manifest, report: &mut FileReport) {
    let live: BTreeSet<u64> = manifest.images.values().map(|image| image.file).collect();
    let images = disk.list(IMAGE_DIRECTORY).unwrap_or_default();
    let logs = disk.list(LOG_DIRECTORY).unwrap_or_default();
    let dead = images
        .iter()
        .filter(|name| parse_image_name(name).is_none_or(|number| !live.contains(&number)))
        .map(|name| format!("{IMAGE_DIRECTORY}/{name}"));
    let spare = logs
        .iter()
        .filter(|name| name.ends_with(".new"))
        .map(|name| format!("{LOG_DIRECTORY}/{name}"));
    for path in dead.chain(spare) {
        report
            .notes
            .push(format!("file {path} is not used; the next checkpoint removes it"));
    }
}
