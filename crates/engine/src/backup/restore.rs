//! Restore: from a base backup and an archive to a data directory as of a time, a log position or a name.
//!
//! First the log is read, each frame checked, up to the target: whatever is missing, damaged or does not fit is refused
//! before anything is written. Then images and log are copied; the log ends at the cut, for good: the new database has a
//! system id of its own, so that segments of the old one, archived or shipped later, are refused wherever they turn up.
//! The manifest comes last; a directory without it does not start.
//!
//! Leaves out: replaying (the server's start does that, with the code of every other start).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::{Disk, Env, File};

use super::archive::{archive_directory, archived_path};
use super::copy::{compact, frame_damage};
use super::label::{BackupLabel, LABEL_PATH};
use super::verify::{image_fault, read_label, read_manifest, segments_of};
use super::{BackupError, CHUNK_BYTES, Pace, Progress};
use crate::checkpoint::Manifest;
use crate::checkpoint::image::{
    IMAGE_DIRECTORY, ImageDamage, encode_file_header, image_path, open_image_file, verify_image,
};
use mote_log::frame::FrameKind;
use mote_log::reader::{Frame, find_proof};
use mote_log::segment::{
    LOG_DIRECTORY, SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_name, segment_path,
};
use mote_log::stream::FrameStream;

/// How far to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RestoreTarget {
    /// To the end of the archive, or of the backup where there is none.
    Latest,
    /// Up to the first commit whose wall clock, in microseconds since 1970 UTC, is above; with `exclusive`: not below.
    Time { us: i64, exclusive: bool },
    /// Every commit whose timestamp - the end of its frame - is not above; with `exclusive`: below.
    Lsn { lsn: Lsn, exclusive: bool },
    /// Up to the first restore point of this name.
    Name(String),
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestoreReport {
    pub label: BackupLabel,
    pub system_id: u64,
    /// The restored database ends here.
    pub end: Lsn,
    /// Commits in the part of the log that was read.
    pub commits: u64,
    /// Wall clock of the last one.
    pub last_commit_us: Option<i64>,
    /// Segments taken from the archive.
    pub archived_segments: u64,
}

/// A file of log and how far it reaches.
struct Source {
    start: u64,
    file: Arc<dyn File>,
    path: String,
    /// Log bytes in it.
    bytes: u64,
    archived: bool,
    /// Of the archive, and still growing when it was copied: may be torn at its end.
    partial: bool,
}

struct Sources<'a> {
    label: &'a BackupLabel,
    backup: &'a dyn Disk,
    archive: Option<&'a dyn Disk>,
    whole: BTreeSet<u64>,
    partial: BTreeSet<u64>,
}

/// Where the log is cut.
struct Cut {
    end: Lsn,
    commits: u64,
    last_commit_us: Option<i64>,
    /// The last wall clock that was read, for messages.
    last_us: i64,
    /// A frame that is not below the backup's own moment was written by the time that is the target. Without one the
    /// images may hold commits that are later.
    in_time: bool,
    reached: bool,
}

/// Restores into `env.disk`, an empty directory.
pub fn restore(
    env: &Env,
    backup: &dyn Disk,
    archive: Option<&dyn Disk>,
    target: &RestoreTarget,
    pace: Pace<'_>,
) -> Result<RestoreReport, BackupError> {
    let label = read_label(backup)?;
    let manifest = read_manifest(backup, &label)?;
    let sources = Sources::find(&label, backup, archive)?;
    let mut used = Vec::new();
    let mut progress = Progress {
        done: 0,
        total: sources.bytes() + label.files.iter().map(|file| file.bytes).sum::<u64>(),
    };
    let cut = read_to_target(&sources, target, &mut used, &mut progress, pace)?;
    check_reached(&cut, &label, target, archive.is_some())?;
    progress.total = progress.done + label.files.iter().map(|file| file.bytes).sum::<u64>();
    let seed = mote_common::prng::Prng::fork(env.seed, env.clock.wall_us() as u64).next_u64();
    let system_id = if seed == label.system_id { !seed } else { seed };
    let disk = &*env.disk;
    disk.create_dir_all(IMAGE_DIRECTORY)
        .map_err(BackupError::io(IMAGE_DIRECTORY))?;
    disk.create_dir_all(LOG_DIRECTORY)
        .map_err(BackupError::io(LOG_DIRECTORY))?;
    let images = copy_images(backup, disk, &manifest, system_id, &mut progress, pace)?;
    for source in used.iter().filter(|source| source.start < cut.end.0) {
        copy_log(disk, &label, system_id, source, cut.end, &mut progress, pace)?;
    }
    let restored = Manifest {
        system_id,
        generation: manifest.generation + 1,
        stable: cut.end,
        ..images
    };
    for directory in [IMAGE_DIRECTORY, LOG_DIRECTORY] {
        disk.sync_dir(directory).map_err(BackupError::io(directory))?;
    }
    restored.write(disk).map_err(BackupError::io("MANIFEST"))?;
    Ok(RestoreReport {
        system_id,
        end: cut.end,
        commits: cut.commits,
        last_commit_us: cut.last_commit_us,
        archived_segments: used
            .iter()
            .filter(|source| source.archived && source.start < cut.end.0)
            .count() as u64,
        label,
    })
}

impl<'a> Sources<'a> {
    fn find(
        label: &'a BackupLabel,
        backup: &'a dyn Disk,
        archive: Option<&'a dyn Disk>,
    ) -> Result<Sources<'a>, BackupError> {
        let (mut whole, mut partial) = (BTreeSet::new(), BTreeSet::new());
        if let Some(archive) = archive {
            let directory = archive_directory(label.system_id);
            let listed = archive.list(&directory);
            let names = listed.as_deref().unwrap_or_default();
            if names.is_empty() {
                let why = listed
                    .as_ref()
                    .err()
                    .map_or(String::new(), |error| format!(" ({error})"));
                return Err(BackupError::Refused(format!(
                    "the archive holds nothing of the backup's system {directory}{why}: it belongs to another database, or \
                     nothing was archived yet"
                )));
            }
            whole = names.iter().filter_map(|name| parse_segment_name(name)).collect();
            partial = names
                .iter()
                .filter_map(|name| parse_segment_name(&format!("{}.log", name.strip_suffix(".partial")?)))
                .collect();
        }
        Ok(Sources {
            label,
            backup,
            archive,
            whole,
            partial,
        })
    }

    /// An upper bound of the log to read.
    fn bytes(&self) -> u64 {
        let size = self.label.segment_bytes;
        let first = self.label.log_start.0;
        let last = self
            .whole
            .iter()
            .chain(&self.partial)
            .map(|start| start + size)
            .fold(self.label.end.0, u64::max);
        last.saturating_sub(first)
    }

    /// The best file for a segment: whole from the archive, else whichever of backup and partial archive reaches farther.
    fn segment(&self, start: u64) -> Result<Option<Source>, BackupError> {
        let (size, id) = (self.label.segment_bytes, self.label.system_id);
        if let Some(archive) = self.archive
            && self.whole.contains(&start)
        {
            let path = archived_path(id, start, true);
            return self.open(archive, path, start, size, true, false).map(Some);
        }
        let backup = segments_of(self.label)
            .any(|held| held == start)
            .then(|| (self.label.end.0 - start).min(size));
        if let Some(archive) = self.archive
            && self.partial.contains(&start)
        {
            let path = archived_path(id, start, false);
            let length = archive
                .open(&path)
                .and_then(|file| file.len())
                .map_err(BackupError::io(path.as_str()))?;
            let bytes = length.saturating_sub(SEGMENT_HEADER_BYTES).min(size);
            if bytes > backup.unwrap_or(0) {
                return self.open(archive, path, start, bytes, true, true).map(Some);
            }
        }
        backup
            .map(|bytes| self.open(self.backup, segment_path(start), start, bytes, false, false))
            .transpose()
    }

    fn open(
        &self,
        disk: &dyn Disk,
        path: String,
        start: u64,
        bytes: u64,
        archived: bool,
        partial: bool,
    ) -> Result<Source, BackupError> {
        let file = disk.open(&path).map_err(BackupError::io(path.as_str()))?;
        let mut header = [0; 64];
        let read = file
            .read_at(&mut header, 0)
            .map_err(BackupError::io(path.as_str()))?;
        let found = SegmentHeader::decode(&header[..read])
            .map_err(|what| BackupError::damage(path.as_str(), 0, what))?;
        if found.system_id != self.label.system_id {
            return Err(BackupError::Refused(format!(
                "file {path} belongs to system {:016x}, the backup to {:016x}: they cannot be restored together",
                found.system_id, self.label.system_id
            )));
        }
        if (found.start.0, found.segment_bytes) != (start, self.label.segment_bytes) {
            return Err(BackupError::damage(path, 0, "the file belongs elsewhere"));
        }
        Ok(Source {
            start,
            file,
            path,
            bytes,
            archived,
            partial,
        })
    }

    /// The first segment behind a missing one.
    fn next_behind(&self, start: u64) -> Option<u64> {
        let behind = |set: &BTreeSet<u64>| set.range(start + 1..).next().copied();
        behind(&self.whole).into_iter().chain(behind(&self.partial)).min()
    }
}

impl Source {
    fn read(&self, lsn: u64, buffer: &mut [u8]) -> Result<usize, BackupError> {
        self.file
            .read_at(buffer, SEGMENT_HEADER_BYTES + lsn - self.start)
            .map_err(BackupError::io(self.path.as_str()))
    }

    fn damage(&self, lsn: Lsn, what: &str) -> BackupError {
        let offset = SEGMENT_HEADER_BYTES + lsn.0.saturating_sub(self.start);
        BackupError::damage(self.path.as_str(), offset, format!("{what} (log position {lsn})"))
    }
}

/// Reads and checks the log up to the target.
fn read_to_target(
    sources: &Sources<'_>,
    target: &RestoreTarget,
    used: &mut Vec<Source>,
    progress: &mut Progress,
    pace: Pace<'_>,
) -> Result<Cut, BackupError> {
    let label = sources.label;
    let size = label.segment_bytes;
    let mut frames = FrameStream::new(label.log_start);
    let mut cut = Cut {
        end: label.log_start,
        commits: 0,
        last_commit_us: None,
        last_us: i64::MIN,
        in_time: false,
        reached: false,
    };
    let mut start = label.log_start.0 / size * size;
    while let Some(source) = sources.segment(start)? {
        let stop = source.start + source.bytes;
        let read = read_segment(&source, label, &mut frames, target, &mut cut, progress, pace)?;
        used.push(source);
        if cut.reached {
            return Ok(cut);
        }
        if read == Ended::Torn || stop < start + size {
            break;
        }
        start += size;
    }
    // The log ends here; nothing of it may be behind.
    let end = used.last().map_or(start, |source| source.start + source.bytes);
    if let Some(behind) = sources.next_behind(start) {
        return Err(gap(label, end, behind));
    }
    if let Some(last) = used.last() {
        check_end(last, label, &frames, end)?;
    }
    Ok(cut)
}

/// The log's last bytes are frames to the end, or what a copy that was under way may have left behind them.
fn check_end(last: &Source, label: &BackupLabel, frames: &FrameStream, end: u64) -> Result<(), BackupError> {
    if frames.position().0 >= end {
        return Ok(());
    }
    if last.archived {
        // A frame may go on in a segment that was not archived yet.
        return prove_torn(last, frames, frames.fed_to().0, end);
    }
    let what = format!("the log ends here, not at {}", label.end);
    Err(frame_damage(label.segment_bytes, frames.position(), &what))
}

fn gap(label: &BackupLabel, from: u64, to: u64) -> BackupError {
    let missing = from / label.segment_bytes * label.segment_bytes;
    BackupError::Refused(format!(
        "the archive has a gap: log from {} to {} is missing (file {} is not there, or not whole; the next is {}). Find the \
         missing files, or restore to a target before {}",
        Lsn(from),
        Lsn(to),
        archived_path(label.system_id, missing, true),
        archived_path(label.system_id, to, true),
        Lsn(from)
    ))
}

#[derive(PartialEq, Eq)]
enum Ended {
    /// All its bytes were read.
    Read,
    /// The partial file ends in a torn block.
    Torn,
}

fn read_segment(
    source: &Source,
    label: &BackupLabel,
    frames: &mut FrameStream,
    target: &RestoreTarget,
    cut: &mut Cut,
    progress: &mut Progress,
    pace: Pace<'_>,
) -> Result<Ended, BackupError> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = source.start.max(label.log_start.0);
    let stop = source.start + source.bytes;
    while at < stop {
        let part = (stop - at).min(CHUNK_BYTES as u64) as usize;
        let read = source.read(at, &mut chunk[..part])?;
        if read == 0 {
            return Err(source.damage(Lsn(at), "the file ends early"));
        }
        frames.feed(&chunk[..read]);
        at += read as u64;
        progress.done += read as u64;
        pace(*progress)?;
        loop {
            match frames.next_frame() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    if cut.take(&frame, target, label.consistent) {
                        return Ok(Ended::Read);
                    }
                }
                Err(fault) if source.partial && fault.lsn >= label.end => {
                    return Ok(Ended::Torn);
                }
                Err(fault) if fault.lsn.0 >= source.start => {
                    return Err(source.damage(fault.lsn, &fault.what));
                }
                Err(fault) => return Err(frame_damage(label.segment_bytes, fault.lsn, &fault.what)),
            }
        }
    }
    Ok(Ended::Read)
}

/// No frame behind the end of a partial file may prove that the log went on: that would be damage, not a torn tail.
fn prove_torn(source: &Source, frames: &FrameStream, fed: u64, stop: u64) -> Result<(), BackupError> {
    let end = frames.position();
    let mut rest = frames.rest().to_vec();
    let mut more = vec![0; stop.saturating_sub(fed) as usize];
    let read = source.read(fed.min(stop), &mut more)?;
    rest.extend_from_slice(&more[..read]);
    match find_proof(&rest, end.0, end) {
        None => Ok(()),
        Some(proof) => Err(source.damage(
            end,
            &format!(
                "no valid frame here, but the frame at {} was written when the log was durable up to {}",
                proof.lsn, proof.durable
            ),
        )),
    }
}

impl Cut {
    /// Takes a frame into the restored log, unless the target is reached: true.
    fn take(&mut self, frame: &Frame<'_>, target: &RestoreTarget, consistent: Lsn) -> bool {
        let header = &frame.header;
        let commits = matches!(header.kind, FrameKind::Commit | FrameKind::CommitPrepared);
        let beyond = match target {
            // Not at the first frame of any kind: only commits show, and a commit that was acknowledged by then has its
            // clock and its position before any commit of a later clock.
            RestoreTarget::Time { us, exclusive } => {
                commits && (header.wall_us > *us || *exclusive && header.wall_us == *us)
            }
            RestoreTarget::Lsn { lsn, exclusive } => {
                header.end() > *lsn || *exclusive && header.end() == *lsn
            }
            RestoreTarget::Latest | RestoreTarget::Name(_) => false,
        };
        self.last_us = self.last_us.max(header.wall_us);
        if beyond {
            self.reached = true;
            return true;
        }
        self.end = header.end();
        self.in_time |= matches!(target, RestoreTarget::Time { us, .. } if header.wall_us <= *us)
            && header.end() >= consistent;
        if commits {
            self.commits += 1;
            self.last_commit_us = Some(header.wall_us);
        }
        if header.kind == FrameKind::RestorePoint
            && matches!(target, RestoreTarget::Name(name) if name.as_bytes() == frame.payload)
        {
            self.reached = true;
        }
        self.reached
    }
}

fn check_reached(
    cut: &Cut,
    label: &BackupLabel,
    target: &RestoreTarget,
    archived: bool,
) -> Result<(), BackupError> {
    let refuse = |what: String| Err(BackupError::Refused(what));
    let early = match target {
        RestoreTarget::Time { us, .. } => !cut.in_time && cut.last_us > *us,
        RestoreTarget::Lsn { lsn, exclusive } => {
            *lsn < label.consistent || *exclusive && *lsn == label.consistent
        }
        RestoreTarget::Latest | RestoreTarget::Name(_) => false,
    };
    if early || cut.end < label.consistent {
        return refuse(format!(
            "the target ({target}) lies before the backup's own moment {}: its images hold later changes. Take an earlier \
             backup",
            label.consistent
        ));
    }
    let reached = match target {
        RestoreTarget::Latest => true,
        RestoreTarget::Time { us, .. } => cut.reached || cut.last_us >= *us,
        RestoreTarget::Lsn { lsn, .. } => cut.reached || cut.end >= *lsn,
        RestoreTarget::Name(_) => cut.reached,
    };
    if reached {
        return Ok(());
    }
    let whose = if archived { "archive" } else { "backup" };
    refuse(format!(
        "the target ({target}) was not reached: the {whose}'s log ends at {}, written at {}. Leave the target out to restore \
         all of it",
        cut.end,
        display_us(cut.last_us)
    ))
}

impl fmt::Display for RestoreTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |exclusive: &bool| if *exclusive { "before " } else { "" };
        match self {
            RestoreTarget::Latest => write!(f, "the end of the log"),
            RestoreTarget::Time { us, exclusive } => write!(f, "{}{}", word(exclusive), display_us(*us)),
            RestoreTarget::Lsn { lsn, exclusive } => write!(f, "{}{lsn}", word(exclusive)),
            RestoreTarget::Name(name) => write!(f, "restore point \"{name}\""),
        }
    }
}

/// `2026-01-31 12:00:00.000000 UTC`.
pub fn display_us(us: i64) -> String {
    const DAY_US: i64 = 86_400_000_000;
    let (days, rest) = (us.div_euclid(DAY_US), us.rem_euclid(DAY_US));
    // Howard Hinnant's days-to-civil, in eras of 400 years that begin on 1 March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let seconds = rest / 1_000_000;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:06} UTC",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        rest % 1_000_000
    )
}

/// Copies the images under a header of the new system; each is checked. Answers the manifest that names them.
fn copy_images(
    backup: &dyn Disk,
    disk: &dyn Disk,
    manifest: &Manifest,
    system_id: u64,
    progress: &mut Progress,
    pace: Pace<'_>,
) -> Result<Manifest, BackupError> {
    let (compacted, plan) = compact(manifest);
    let mut image = Vec::new();
    for file in &plan {
        let path = image_path(file.number);
        let source = open_image_file(backup, file.number, manifest.system_id).map_err(image_fault)?;
        let target = disk.create(&path).map_err(BackupError::io(path.as_str()))?;
        let write = |data: &[u8], at: u64| {
            target
                .write_all_at(data, at)
                .map_err(BackupError::io(path.as_str()))
        };
        write(&encode_file_header(system_id, file.number), 0)?;
        for (key, from, to) in &file.images {
            let damage = |what: String| {
                image_fault(ImageDamage {
                    path: path.clone(),
                    offset: from.offset,
                    key: Some(*key),
                    what,
                })
            };
            let length = source.len().map_err(BackupError::io(path.as_str()))?;
            if from.offset.checked_add(from.bytes).is_none_or(|end| end > length) {
                return Err(damage(format!("the file has {length} bytes, too few")));
            }
            image.clear();
            image.resize(from.bytes as usize, 0);
            let read = source
                .read_at(&mut image, from.offset)
                .map_err(BackupError::io(path.as_str()))?;
            verify_image(&image[..read], *key, from).map_err(damage)?;
            write(&image, to.offset)?;
            progress.done += from.bytes;
            pace(*progress)?;
        }
        target.sync_data().map_err(BackupError::io(path.as_str()))?;
    }
    Ok(compacted)
}

/// One segment, zeros behind the cut. Its frames were checked when the cut was found.
fn copy_log(
    disk: &dyn Disk,
    label: &BackupLabel,
    system_id: u64,
    source: &Source,
    cut: Lsn,
    progress: &mut Progress,
    pace: Pace<'_>,
) -> Result<(), BackupError> {
    let size = label.segment_bytes;
    let path = segment_path(source.start);
    let file = disk.create(&path).map_err(BackupError::io(path.as_str()))?;
    let header = SegmentHeader {
        system_id,
        start: Lsn(source.start),
        segment_bytes: size,
    };
    let write = |data: &[u8], at: u64| {
        file.write_all_at(data, at)
            .map_err(BackupError::io(path.as_str()))
    };
    write(&header.encode(), 0)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = source.start.max(label.log_start.0);
    let stop = cut.0.min(source.start + size);
    while at < stop {
        let part = (stop - at).min(CHUNK_BYTES as u64) as usize;
        if source.read(at, &mut chunk[..part])? != part {
            return Err(source.damage(Lsn(at), "the file ends early"));
        }
        write(&chunk[..part], SEGMENT_HEADER_BYTES + at - source.start)?;
        at += part as u64;
        progress.done += part as u64;
        pace(*progress)?;
    }
    // Zeros are written, not left out: the log goes on in this file, and its writes must change no metadata.
    chunk.fill(0);
    for gap in [(source.start, label.log_start.0), (stop, source.start + size)] {
        let (mut at, end) = (gap.0, gap.1.min(source.start + size));
        while at < end {
            let part = (end - at).min(CHUNK_BYTES as u64) as usize;
            write(&chunk[..part], SEGMENT_HEADER_BYTES + at - source.start)?;
            at += part as u64;
        }
    }
    file.sync_data().map_err(BackupError::io(path.as_str()))
}

/// Whether a directory is a backup, which no server may write to.
pub fn is_backup(disk: &dyn Disk) -> bool {
    disk.exists(LABEL_PATH).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::display_us;

    #[test]
    fn moments_are_shown_as_dates() {
        assert_eq!(display_us(0), "1970-01-01 00:00:00.000000 UTC");
        assert_eq!(
            display_us(951_782_400_000_000 + 1),
            "2000-02-29 00:00:00.000001 UTC"
        );
        assert_eq!(display_us(-1), "1969-12-31 23:59:59.999999 UTC");
        assert_eq!(
            display_us(1_793_000_000_000_000),
            "2026-10-26 07:33:20.000000 UTC"
        );
    }
}
