//! A base backup: from a held manifest to a sink, each byte checked as it passes.
//!
//! The images are copied without the dead ones between them, so the backup's manifest names them at new offsets. The log
//! follows from the manifest's start to `stable` as it is when the images are done; every frame is checked. Then come
//! the manifest and, last, the label: what has no label is no backup. The images are not above the manifest's `stable`
//! and the log reaches at least there, so the copy is a data directory.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::{Disk, File};

use super::label::{BackupLabel, FileSum, LABEL_PATH};
use super::{BackupError, CHUNK_BYTES, Pace, Progress};
use crate::checkpoint::image::{
    IMAGE_DIRECTORY, IMAGE_FILE_HEADER_BYTES, encode_file_header, image_path, verify_image,
};
use crate::checkpoint::manifest::MANIFEST_PATH;
use crate::checkpoint::{ImageEntry, Manifest, SegmentKey};
use mote_log::segment::{LOG_DIRECTORY, SEGMENT_HEADER_BYTES, SegmentHeader, segment_path};
use mote_log::stream::FrameStream;

/// Where the files come from: a running server that holds them.
pub trait BackupSource {
    /// Up to `bytes` bytes of a held file; fewer only at its end.
    fn read(&mut self, path: &str, offset: u64, bytes: usize) -> Result<Vec<u8>, BackupError>;
    /// Makes the log durable; answers up to where it is. A block border.
    fn log_end(&mut self) -> Result<Lsn, BackupError>;
}

/// Where they go: file by file, each from its first byte to its last.
pub trait BackupSink {
    fn begin(&mut self, path: &str, bytes: u64) -> io::Result<()>;
    fn write(&mut self, data: &[u8]) -> io::Result<()>;
    fn zeros(&mut self, bytes: u64) -> io::Result<()>;
    /// The file is complete.
    fn end(&mut self) -> io::Result<()>;
    /// All files are complete.
    fn finish(&mut self) -> io::Result<()>;
}

/// The images of one file that are alive, and where each goes.
pub(super) struct FilePlan {
    pub number: u64,
    pub bytes: u64,
    pub images: Vec<(SegmentKey, ImageEntry, ImageEntry)>,
}

/// The manifest with its images moved together, and the moves.
pub(super) fn compact(manifest: &Manifest) -> (Manifest, Vec<FilePlan>) {
    let mut files: BTreeMap<u64, Vec<(SegmentKey, ImageEntry)>> = BTreeMap::new();
    for (&key, &entry) in manifest.images.iter().filter(|(_, entry)| entry.file != 0) {
        files.entry(entry.file).or_default().push((key, entry));
    }
    let mut compacted = manifest.clone();
    let plan = files.into_iter().map(|(number, mut images)| {
        images.sort_by_key(|(_, entry)| entry.offset);
        let mut end = IMAGE_FILE_HEADER_BYTES;
        let moves = images.into_iter().map(|(key, entry)| {
            let moved = ImageEntry { offset: end, ..entry };
            end += entry.bytes;
            compacted.images.insert(key, moved);
            (key, entry, moved)
        });
        let images = moves.collect();
        FilePlan {
            number,
            bytes: end,
            images,
        }
    });
    let plan = plan.collect();
    (compacted, plan)
}

/// Writes through to the sink, with a checksum per file and the progress of all.
struct Copy<'a> {
    source: &'a mut dyn BackupSource,
    sink: &'a mut dyn BackupSink,
    pace: Pace<'a>,
    progress: Progress,
    files: Vec<FileSum>,
    hash: crc32fast::Hasher,
}

/// Copies what `manifest` names. The server must hold its files until this returns.
pub fn copy_backup(
    manifest: &Manifest,
    label: &str,
    now_us: &dyn Fn() -> i64,
    source: &mut dyn BackupSource,
    sink: &mut dyn BackupSink,
    pace: Pace<'_>,
) -> Result<BackupLabel, BackupError> {
    let started_us = now_us();
    let (compacted, plan) = compact(manifest);
    let image_bytes: u64 = plan.iter().map(|file| file.bytes).sum();
    let mut copy = Copy {
        source,
        sink,
        pace,
        progress: Progress {
            done: 0,
            total: image_bytes + (manifest.stable.0 - manifest.log_start.0),
        },
        files: Vec::new(),
        hash: crc32fast::Hasher::new(),
    };
    for file in &plan {
        copy.image_file(manifest.system_id, file)?;
    }
    let end = copy.source.log_end()?;
    if end < manifest.stable {
        return Err(BackupError::Refused(format!(
            "the server's log is durable up to {end} only, although its manifest says {}",
            manifest.stable
        )));
    }
    copy.progress.total = copy.progress.done + (end.0 - manifest.log_start.0);
    copy.log(manifest, end)?;
    copy.whole_file(MANIFEST_PATH, &compacted.encode())?;
    let label = BackupLabel {
        label: label.to_string(),
        system_id: manifest.system_id,
        started_us,
        finished_us: now_us(),
        segment_bytes: manifest.segment_bytes,
        log_start: manifest.log_start,
        consistent: manifest.stable,
        end,
        files: std::mem::take(&mut copy.files),
    };
    copy.whole_file(LABEL_PATH, &label.encode())?;
    copy.sink.finish().map_err(BackupError::io("the backup"))?;
    Ok(label)
}

impl Copy<'_> {
    fn begin(&mut self, path: &str, bytes: u64) -> Result<(), BackupError> {
        self.hash = crc32fast::Hasher::new();
        self.files.push(FileSum {
            path: path.into(),
            bytes,
            crc: 0,
        });
        self.sink.begin(path, bytes).map_err(BackupError::io(path))
    }

    fn path(&self) -> String {
        self.files.last().map_or(String::new(), |file| file.path.clone())
    }

    fn write(&mut self, data: &[u8]) -> Result<(), BackupError> {
        self.hash.update(data);
        self.sink
            .write(data)
            .map_err(|error| BackupError::io(self.path())(error))
    }

    fn zeros(&mut self, mut bytes: u64) -> Result<(), BackupError> {
        const ZEROS: [u8; 4096] = [0; 4096];
        self.sink
            .zeros(bytes)
            .map_err(|error| BackupError::io(self.path())(error))?;
        while bytes > 0 {
            let part = bytes.min(ZEROS.len() as u64);
            self.hash.update(&ZEROS[..part as usize]);
            bytes -= part;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), BackupError> {
        let crc = std::mem::take(&mut self.hash).finalize();
        if let Some(file) = self.files.last_mut() {
            file.crc = crc;
        }
        self.sink
            .end()
            .map_err(|error| BackupError::io(self.path())(error))
    }

    fn whole_file(&mut self, path: &str, bytes: &[u8]) -> Result<(), BackupError> {
        self.begin(path, bytes.len() as u64)?;
        self.write(bytes)?;
        self.end()
    }

    fn advance(&mut self, bytes: u64) -> Result<(), BackupError> {
        self.progress.done += bytes;
        (self.pace)(self.progress)
    }

    /// Reads exactly what is asked for.
    fn read(&mut self, path: &str, offset: u64, bytes: u64, out: &mut Vec<u8>) -> Result<(), BackupError> {
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let part = (end - at).min(CHUNK_BYTES as u64) as usize;
            let data = self.source.read(path, at, part)?;
            if data.len() != part {
                return Err(BackupError::damage(path, at, "the server's file ends early"));
            }
            out.extend_from_slice(&data);
            at += part as u64;
            self.advance(part as u64)?;
        }
        Ok(())
    }

    fn image_file(&mut self, system_id: u64, file: &FilePlan) -> Result<(), BackupError> {
        let path = image_path(file.number);
        let header = encode_file_header(system_id, file.number);
        let mut image = Vec::new();
        self.read(&path, 0, IMAGE_FILE_HEADER_BYTES, &mut image)?;
        if image != header {
            return Err(BackupError::damage(
                path,
                0,
                "the header does not say what the manifest expects",
            ));
        }
        self.begin(&path, file.bytes)?;
        self.write(&header)?;
        for (key, from, _) in &file.images {
            image.clear();
            self.read(&path, from.offset, from.bytes, &mut image)?;
            verify_image(&image, *key, from).map_err(|what| {
                let what = format!("image of table {}, segment {}: {what}", key.table.0, key.segment);
                BackupError::damage(path.as_str(), from.offset, what)
            })?;
            self.write(&image)?;
        }
        self.end()
    }

    /// The log from the manifest's start to `end`, in whole segment files.
    fn log(&mut self, manifest: &Manifest, end: Lsn) -> Result<(), BackupError> {
        let segment_bytes = manifest.segment_bytes;
        let mut frames = FrameStream::new(manifest.log_start);
        let mut start = manifest.log_start.0 / segment_bytes * segment_bytes;
        let mut chunk = Vec::new();
        while start < end.0 {
            let path = segment_path(start);
            let header = SegmentHeader {
                system_id: manifest.system_id,
                start: Lsn(start),
                segment_bytes,
            }
            .encode();
            if self.source.read(&path, 0, header.len())? != header {
                return Err(BackupError::damage(
                    path,
                    0,
                    "the header does not say what the manifest expects",
                ));
            }
            self.begin(&path, SEGMENT_HEADER_BYTES + segment_bytes)?;
            self.write(&header)?;
            let mut at = start.max(manifest.log_start.0);
            // Below the log's start stands nothing that a restore may read.
            self.zeros(at - start)?;
            let stop = end.0.min(start + segment_bytes);
            while at < stop {
                let part = (stop - at).min(CHUNK_BYTES as u64);
                chunk.clear();
                self.read(&path, SEGMENT_HEADER_BYTES + at - start, part, &mut chunk)?;
                frames.feed(&chunk);
                check_frames(&mut frames, segment_bytes)?;
                self.write(&chunk)?;
                at += part;
            }
            self.zeros(start + segment_bytes - stop)?;
            self.end()?;
            start += segment_bytes;
        }
        if frames.position() != end {
            let lsn = frames.position();
            return Err(frame_damage(
                segment_bytes,
                lsn,
                &format!("the log ends here, not at {end}"),
            ));
        }
        Ok(())
    }
}

fn check_frames(frames: &mut FrameStream, segment_bytes: u64) -> Result<(), BackupError> {
    loop {
        match frames.next_frame() {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(()),
            Err(fault) => return Err(frame_damage(segment_bytes, fault.lsn, &fault.what)),
        }
    }
}

/// Damage to the log, with its place in a data directory.
pub(super) fn frame_damage(segment_bytes: u64, lsn: Lsn, what: &str) -> BackupError {
    let start = lsn.0 / segment_bytes * segment_bytes;
    BackupError::damage(
        segment_path(start),
        SEGMENT_HEADER_BYTES + lsn.0 - start,
        format!("{what} (log position {lsn})"),
    )
}

/// A backup as a directory. The label goes into place with a rename, when everything else is on the medium.
pub struct DirectorySink<'a> {
    disk: &'a dyn Disk,
    open: Option<(Arc<dyn File>, u64)>,
}

const NEW_LABEL_PATH: &str = "BACKUP.new";

impl<'a> DirectorySink<'a> {
    /// `disk` is an empty directory.
    pub fn create(disk: &'a dyn Disk) -> io::Result<DirectorySink<'a>> {
        disk.create_dir_all(IMAGE_DIRECTORY)?;
        disk.create_dir_all(LOG_DIRECTORY)?;
        Ok(DirectorySink { disk, open: None })
    }

    fn place(&mut self) -> io::Result<&mut (Arc<dyn File>, u64)> {
        self.open
            .as_mut()
            .ok_or_else(|| io::Error::other("no file was begun"))
    }
}

impl BackupSink for DirectorySink<'_> {
    fn begin(&mut self, path: &str, bytes: u64) -> io::Result<()> {
        let path = if path == LABEL_PATH { NEW_LABEL_PATH } else { path };
        let file = self.disk.create(path)?;
        file.set_len(bytes)?;
        self.open = Some((file, 0));
        Ok(())
    }

    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let (file, at) = self.place()?;
        file.write_all_at(data, *at)?;
        *at += data.len() as u64;
        Ok(())
    }

    fn zeros(&mut self, bytes: u64) -> io::Result<()> {
        // The length is set, so what is not written reads as zeros.
        self.place()?.1 += bytes;
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.place()?.0.sync_data()?;
        self.open = None;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.disk.sync_dir(IMAGE_DIRECTORY)?;
        self.disk.sync_dir(LOG_DIRECTORY)?;
        self.disk.rename(NEW_LABEL_PATH, LABEL_PATH)?;
        self.disk.sync_dir("")
    }
}
