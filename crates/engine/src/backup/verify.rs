//! A backup's directory, checked: each file against the label, each image and each log frame against itself.
//!
//! Goes on after a fault, so that one run names all of them. Takes untrusted bytes and never panics.

use std::collections::BTreeSet;

use mote_common::env::Disk;

use super::copy::{compact, frame_damage};
use super::label::{BackupLabel, FileSum, LABEL_BYTES_MAX, LABEL_PATH};
use super::{BackupError, CHUNK_BYTES, Pace, Progress};
use crate::checkpoint::image::{ImageDamage, open_image_file, read_image};
use crate::checkpoint::manifest::MANIFEST_PATH;
use crate::checkpoint::{ImageEntry, Manifest, SegmentKey};
use mote_log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader, segment_path};
use mote_log::stream::FrameStream;

/// Longest label file that is read: some million files.
const LABEL_FILE_BYTES_MAX: u64 = (128 << 20) + LABEL_BYTES_MAX as u64;

/// The label of the backup in `disk`.
pub fn read_label(disk: &dyn Disk) -> Result<BackupLabel, BackupError> {
    let there = disk.exists(LABEL_PATH).map_err(BackupError::io(LABEL_PATH))?;
    if !there {
        return Err(BackupError::Refused(format!(
            "there is no file {LABEL_PATH}: this is no backup, or one that was not finished"
        )));
    }
    let bytes = read_whole(disk, LABEL_PATH, LABEL_FILE_BYTES_MAX)?;
    BackupLabel::decode(&bytes).map_err(|what| BackupError::damage(LABEL_PATH, 0, what))
}

/// The manifest of the backup, which must be the one of its label.
pub fn read_manifest(disk: &dyn Disk, label: &BackupLabel) -> Result<Manifest, BackupError> {
    let manifest = Manifest::read(disk)
        .map_err(|error| BackupError::damage(MANIFEST_PATH, 0, error.to_string()))?
        .ok_or_else(|| BackupError::damage(MANIFEST_PATH, 0, "the file is missing"))?;
    let said = (
        label.system_id,
        label.segment_bytes,
        label.log_start,
        label.consistent,
    );
    let found = (
        manifest.system_id,
        manifest.segment_bytes,
        manifest.log_start,
        manifest.stable,
    );
    if said == found {
        Ok(manifest)
    } else {
        Err(BackupError::damage(
            MANIFEST_PATH,
            0,
            format!("it is not the manifest that the file {LABEL_PATH} tells of"),
        ))
    }
}

fn read_whole(disk: &dyn Disk, path: &str, bytes_max: u64) -> Result<Vec<u8>, BackupError> {
    let file = disk.open(path).map_err(BackupError::io(path))?;
    let length = file.len().map_err(BackupError::io(path))?;
    if length > bytes_max {
        return Err(BackupError::damage(
            path,
            0,
            format!("{length} bytes are too many"),
        ));
    }
    let mut bytes = vec![0; length as usize];
    let read = file.read_at(&mut bytes, 0).map_err(BackupError::io(path))?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Checks everything. The label could be read if there is one; faults are in no particular order.
pub fn verify_backup(
    disk: &dyn Disk,
    pace: Pace<'_>,
) -> Result<(BackupLabel, Vec<BackupError>), BackupError> {
    let label = read_label(disk)?;
    let mut faults = Vec::new();
    let mut progress = Progress {
        done: 0,
        total: label.files.iter().map(|file| file.bytes).sum(),
    };
    let mut sound = true;
    for file in &label.files {
        let checked = check_sum(disk, file, &mut progress, pace);
        sound &= checked.is_ok();
        match checked {
            Err(fault @ (BackupError::Damage { .. } | BackupError::Io { .. })) => faults.push(fault),
            // The caller asked to stop.
            Err(stop) => return Err(stop),
            Ok(()) => {}
        }
    }
    match read_manifest(disk, &label) {
        Err(fault) => faults.push(fault),
        // A file whose checksum fits holds what was checked when it was written. Where one does not, the place is told.
        Ok(manifest) => {
            check_names(&label, &manifest, &mut faults);
            if !sound {
                check_images(disk, &manifest, &mut faults);
                check_log(disk, &label, &mut faults);
            }
        }
    }
    Ok((label, faults))
}

fn check_sum(
    disk: &dyn Disk,
    file: &FileSum,
    progress: &mut Progress,
    pace: Pace<'_>,
) -> Result<(), BackupError> {
    let path = file.path.as_str();
    let there = disk.exists(path).map_err(BackupError::io(path))?;
    if !there {
        return Err(BackupError::damage(path, 0, "the file is missing"));
    }
    let open = disk.open(path).map_err(BackupError::io(path))?;
    let length = open.len().map_err(BackupError::io(path))?;
    if length != file.bytes {
        let what = format!("the file has {length} bytes, expected {}", file.bytes);
        return Err(BackupError::damage(path, length.min(file.bytes), what));
    }
    let mut hash = crc32fast::Hasher::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = 0;
    while at < length {
        let read = open.read_at(&mut chunk, at).map_err(BackupError::io(path))?;
        if read == 0 {
            break;
        }
        hash.update(&chunk[..read]);
        at += read as u64;
        progress.done += read as u64;
        pace(*progress)?;
    }
    if hash.finalize() == file.crc {
        Ok(())
    } else {
        Err(BackupError::damage(
            path,
            0,
            format!("its checksum is not the one in {LABEL_PATH}"),
        ))
    }
}

/// Everything the manifest needs stands in the label.
fn check_names(label: &BackupLabel, manifest: &Manifest, faults: &mut Vec<BackupError>) {
    let listed: BTreeSet<&str> = label.files.iter().map(|file| file.path.as_str()).collect();
    let (_, plan) = compact(manifest);
    let images = plan
        .iter()
        .map(|file| crate::checkpoint::image::image_path(file.number));
    let segments = segments_of(label).map(segment_path);
    for path in images.chain(segments).chain([MANIFEST_PATH.to_string()]) {
        if !listed.contains(path.as_str()) {
            faults.push(BackupError::damage(
                LABEL_PATH,
                0,
                format!("it does not list {path}, which the backup needs"),
            ));
        }
    }
}

/// The first positions of the log files of a backup.
pub(super) fn segments_of(label: &BackupLabel) -> impl Iterator<Item = u64> + use<> {
    let (size, end) = (label.segment_bytes, label.end.0);
    let first = label.log_start.0 / size * size;
    (0..)
        .map(move |number| first + number * size)
        .take_while(move |&start| start < end)
}

fn check_images(disk: &dyn Disk, manifest: &Manifest, faults: &mut Vec<BackupError>) {
    let mut buffer = Vec::new();
    let (_, plan) = compact(manifest);
    for file in &plan {
        let open = match open_image_file(disk, file.number, manifest.system_id) {
            Ok(open) => open,
            Err(damage) => {
                faults.push(image_fault(damage));
                continue;
            }
        };
        for (key, entry, _) in &file.images {
            let (key, entry): (SegmentKey, &ImageEntry) = (*key, entry);
            if let Err(damage) = read_image(&*open, key, entry, &mut buffer) {
                faults.push(image_fault(damage));
            }
        }
    }
}

pub(super) fn image_fault(damage: ImageDamage) -> BackupError {
    let what = match damage.key {
        Some(key) => format!(
            "image of table {}, segment {}: {}",
            key.table.0, key.segment, damage.what
        ),
        None => damage.what,
    };
    BackupError::damage(damage.path, damage.offset, what)
}

fn check_log(disk: &dyn Disk, label: &BackupLabel, faults: &mut Vec<BackupError>) {
    if let Err(fault) = try_check_log(disk, label) {
        faults.push(fault);
    }
}

fn try_check_log(disk: &dyn Disk, label: &BackupLabel) -> Result<(), BackupError> {
    let size = label.segment_bytes;
    let mut frames = FrameStream::new(label.log_start);
    let mut chunk = vec![0; CHUNK_BYTES];
    for start in segments_of(label) {
        let path = segment_path(start);
        let file = disk.open(&path).map_err(BackupError::io(path.as_str()))?;
        let mut header = [0; 64];
        let read = file
            .read_at(&mut header, 0)
            .map_err(BackupError::io(path.as_str()))?;
        let found = SegmentHeader::decode(&header[..read])
            .map_err(|what| BackupError::damage(path.as_str(), 0, what))?;
        if (found.system_id, found.start.0, found.segment_bytes) != (label.system_id, start, size) {
            return Err(BackupError::damage(path, 0, "the file belongs elsewhere"));
        }
        let mut at = start.max(label.log_start.0);
        let stop = label.end.0.min(start + size);
        while at < stop {
            let part = (stop - at).min(CHUNK_BYTES as u64) as usize;
            let read = file
                .read_at(&mut chunk[..part], SEGMENT_HEADER_BYTES + at - start)
                .map_err(BackupError::io(path.as_str()))?;
            if read == 0 {
                return Err(frame_damage(size, mote_common::Lsn(at), "the file ends early"));
            }
            frames.feed(&chunk[..read]);
            at += read as u64;
            loop {
                match frames.next_frame() {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(fault) => return Err(frame_damage(size, fault.lsn, &fault.what)),
                }
            }
        }
    }
    if frames.position() == label.end {
        Ok(())
    } else {
        let what = format!("the log ends here, not at {}", label.end);
        Err(frame_damage(size, frames.position(), &what))
    }
}
