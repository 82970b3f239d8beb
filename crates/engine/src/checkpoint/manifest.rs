//! MANIFEST: the one file that says what a database consists of.
//!
//! It names the live image of each segment, from where the log is needed, sequence states and counters. It is written
//! anew beside the old one, synced and renamed over it: there is always exactly one whole manifest.
//! `docs/formats/manifest.md` has the bytes. Decoding takes untrusted bytes and never panics.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use mote_common::env::Disk;
use mote_common::{Lsn, TableId};

use mote_log::SequenceState;
use mote_log::varint::{self, Cursor};

pub const MANIFEST_PATH: &str = "MANIFEST";
const NEW_PATH: &str = "MANIFEST.new";
pub const DATA_FORMAT_VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"moteMNF\0";
/// Magic and version stand before everything that may change between versions.
const PREAMBLE_BYTES: usize = 12;

/// No log gets so long; readers may add to positions without a thought.
const POSITION_MAX: u64 = 1 << 62;

/// Numbers that the engine hands out and never takes back; it decides which is which.
pub const COUNTERS: usize = 8;

/// A segment of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SegmentKey {
    pub table: TableId,
    pub segment: u32,
}

/// Where the image of a segment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageEntry {
    /// The image holds exactly the rows visible at this timestamp.
    pub ts: Lsn,
    /// `image/<number>.img`; 0 when the segment is empty and needs no bytes.
    pub file: u64,
    pub offset: u64,
    /// Header and rows.
    pub bytes: u64,
    pub rows: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    pub system_id: u64,
    /// Counts the manifests of this database.
    pub generation: u64,
    /// The term of whoever wrote it.
    pub term: u32,
    /// Log bytes in one segment file, for ever.
    pub segment_bytes: u64,
    /// The first log position that recovery needs; the start of a frame.
    pub log_start: Lsn,
    /// Everything committed up to here is in the images; a segment without one was empty then.
    pub covered: Lsn,
    /// The log was durable up to here when the manifest was written: it must not end below.
    pub stable: Lsn,
    pub counters: [u64; COUNTERS],
    /// No image file has this number or a higher one.
    pub next_image_file: u64,
    pub sequences: Vec<SequenceState>,
    pub images: BTreeMap<SegmentKey, ImageEntry>,
}

impl Manifest {
    /// Of a new database.
    pub fn new(system_id: u64, segment_bytes: u64) -> Manifest {
        Manifest {
            system_id,
            generation: 1,
            term: 0,
            segment_bytes,
            log_start: Lsn(segment_bytes),
            covered: Lsn::ZERO,
            stable: Lsn(segment_bytes),
            counters: [0; COUNTERS],
            next_image_file: 1,
            sequences: Vec::new(),
            images: BTreeMap::new(),
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + self.images.len() * 24);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&DATA_FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&self.term.to_le_bytes());
        for value in [
            self.system_id,
            self.generation,
            self.segment_bytes,
            self.log_start.0,
            self.covered.0,
            self.stable.0,
            self.next_image_file,
        ] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        varint::put(&mut out, COUNTERS as u64);
        self.counters
            .iter()
            .for_each(|&counter| varint::put(&mut out, counter));
        varint::put(&mut out, self.sequences.len() as u64);
        self.sequences.iter().for_each(|sequence| sequence.put(&mut out));
        varint::put(&mut out, self.images.len() as u64);
        for (key, image) in &self.images {
            let numbers = [key.table.0 as u64, key.segment as u64, image.ts.0, image.file];
            numbers
                .into_iter()
                .for_each(|number| varint::put(&mut out, number));
            if image.file != 0 {
                let numbers = [image.offset, image.bytes, image.rows as u64];
                numbers
                    .into_iter()
                    .for_each(|number| varint::put(&mut out, number));
            }
        }
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        if bytes.len() < PREAMBLE_BYTES + 4 || bytes[..8] != MAGIC {
            return Err(ManifestError::NotAManifest);
        }
        let version = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes were sliced"));
        if version != DATA_FORMAT_VERSION {
            return Err(ManifestError::Version(version));
        }
        let (body, crc) = bytes.split_at(bytes.len() - 4);
        if crc != crc32fast::hash(body).to_le_bytes() {
            return Err(ManifestError::Checksum);
        }
        let mut cursor = Cursor::new(&body[PREAMBLE_BYTES..]);
        let manifest = decode_fields(&mut cursor).ok_or(ManifestError::Malformed)?;
        if cursor.is_empty() {
            Ok(manifest)
        } else {
            Err(ManifestError::Malformed)
        }
    }

    /// The manifest on the disk; `None` when there is none.
    pub fn read(disk: &dyn Disk) -> Result<Option<Manifest>, ManifestError> {
        if !disk.exists(MANIFEST_PATH).map_err(ManifestError::Io)? {
            return Ok(None);
        }
        let read = || {
            let file = disk.open(MANIFEST_PATH)?;
            let mut bytes = vec![0; file.len()? as usize];
            let length = file.read_at(&mut bytes, 0)?;
            bytes.truncate(length);
            io::Result::Ok(bytes)
        };
        Manifest::decode(&read().map_err(ManifestError::Io)?).map(Some)
    }

    /// Replaces the manifest on the disk. After an error either of the two may be there.
    pub fn write(&self, disk: &dyn Disk) -> io::Result<()> {
        if disk.exists(NEW_PATH)? {
            disk.remove(NEW_PATH)?;
        }
        let file = disk.create(NEW_PATH)?;
        file.write_all_at(&self.encode(), 0)?;
        file.sync_data()?;
        disk.rename(NEW_PATH, MANIFEST_PATH)?;
        disk.sync_dir("")
    }
}

fn decode_fields(cursor: &mut Cursor<'_>) -> Option<Manifest> {
    let term = cursor.u32()?;
    let mut manifest = Manifest {
        term,
        system_id: cursor.u64()?,
        generation: cursor.u64()?,
        segment_bytes: cursor.u64()?,
        log_start: Lsn(cursor.u64()?),
        covered: Lsn(cursor.u64()?),
        stable: Lsn(cursor.u64()?),
        next_image_file: cursor.u64()?,
        counters: [0; COUNTERS],
        sequences: Vec::new(),
        images: BTreeMap::new(),
    };
    if !manifest.segment_bytes.is_power_of_two() || !(1 << 16..=1 << 40).contains(&manifest.segment_bytes) {
        return None;
    }
    let positions = [manifest.log_start, manifest.covered, manifest.stable];
    if positions.iter().any(|position| position.0 > POSITION_MAX) {
        return None;
    }
    if cursor.varint()? != COUNTERS as u64 {
        return None;
    }
    for counter in &mut manifest.counters {
        *counter = cursor.varint()?;
    }
    for _ in 0..cursor.varint()? {
        manifest.sequences.push(SequenceState::take(cursor)?);
    }
    for _ in 0..cursor.varint()? {
        let key = SegmentKey {
            table: TableId(cursor.varint_u32()?),
            segment: cursor.varint_u32()?,
        };
        let mut image = ImageEntry {
            ts: Lsn(cursor.varint()?),
            file: cursor.varint()?,
            offset: 0,
            bytes: 0,
            rows: 0,
        };
        if image.file != 0 {
            (image.offset, image.bytes, image.rows) =
                (cursor.varint()?, cursor.varint()?, cursor.varint_u32()?);
        }
        manifest.images.insert(key, image);
    }
    Some(manifest)
}

#[derive(Debug)]
pub enum ManifestError {
    Io(io::Error),
    NotAManifest,
    Version(u32),
    Checksum,
    Malformed,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManifestError::Io(error) => write!(f, "file {MANIFEST_PATH} cannot be read: {error}"),
            ManifestError::NotAManifest => {
                write!(
                    f,
                    "file {MANIFEST_PATH} is not a manifest of mote: this is not a data directory, or it is damaged"
                )
            }
            ManifestError::Version(version) => write!(
                f,
                "file {MANIFEST_PATH}: the data directory has format {version}, this release reads format {DATA_FORMAT_VERSION}: \
                 start the release that wrote it, or dump with that one and restore with this one"
            ),
            ManifestError::Checksum => {
                write!(
                    f,
                    "file {MANIFEST_PATH} fails its checksum: restore it from a backup of the directory"
                )
            }
            ManifestError::Malformed => {
                write!(
                    f,
                    "file {MANIFEST_PATH} passes its checksum but makes no sense: report this with the file"
                )
            }
        }
    }
}

impl std::error::Error for ManifestError {}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::env::sim::SimDisk;
    use mote_common::prng::Prng;

    fn sample() -> Manifest {
        let mut manifest = Manifest::new(77, 1 << 20);
        manifest.counters[2] = u64::MAX;
        manifest.sequences.push(SequenceState {
            id: 9,
            logged_value: -4,
            is_called: true,
        });
        for segment in 0..50 {
            let key = SegmentKey {
                table: TableId(segment % 3),
                segment,
            };
            let file = (segment % 4) as u64;
            let bytes = if file == 0 { 0 } else { 100 };
            let image = ImageEntry {
                ts: Lsn(segment as u64),
                file,
                offset: bytes * 7,
                bytes,
                rows: bytes as u32 / 2,
            };
            manifest.images.insert(key, image);
        }
        manifest
    }

    #[test]
    fn survives_the_disk_and_replaces_the_old_one() {
        let disk = SimDisk::new(1);
        assert!(Manifest::read(&disk).expect("readable").is_none());
        Manifest::new(77, 1 << 20).write(&disk).expect("written");
        sample().write(&disk).expect("written");
        assert_eq!(Manifest::read(&disk.crash()).expect("readable"), Some(sample()));
    }

    #[test]
    fn a_crash_while_it_is_replaced_leaves_one_of_the_two() {
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            Manifest::new(77, 1 << 20).write(&disk).expect("written");
            disk.set_faults(mote_common::env::sim::FaultPlan {
                sync_fails_ppm: 500_000,
                ..Default::default()
            });
            let _ = sample().write(&disk);
            let found = Manifest::read(&disk.crash())
                .expect("readable")
                .expect("there is one");
            assert!(
                found == sample() || found == Manifest::new(77, 1 << 20),
                "seed {seed}"
            );
        }
    }

    /// Found by the fuzzer (case 5208): the reader of the log added to such a position.
    #[test]
    fn positions_beyond_every_log_make_no_sense() {
        let wild = |change: fn(&mut Manifest)| {
            let mut manifest = sample();
            change(&mut manifest);
            matches!(
                Manifest::decode(&manifest.encode()),
                Err(ManifestError::Malformed)
            )
        };
        assert!(wild(|manifest| manifest.log_start = Lsn(u64::MAX)));
        assert!(wild(|manifest| manifest.covered = Lsn(u64::MAX - 7)));
        assert!(wild(|manifest| manifest.stable = Lsn(1 << 63)));
        assert!(!wild(|manifest| manifest.stable = Lsn(1 << 50)));
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let good = sample().encode();
        let seed = 3;
        let mut prng = Prng::new(seed);
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << prng.below(8);
            assert!(Manifest::decode(&bytes).is_err(), "byte {at}");
            assert!(Manifest::decode(&good[..at]).is_err(), "cut at {at}");
            // With a right checksum over wrong bytes only a panic would be wrong.
            let body = bytes.len() - 4;
            let crc = crc32fast::hash(&bytes[..body]);
            bytes[body..].copy_from_slice(&crc.to_le_bytes());
            let _ = Manifest::decode(&bytes);
        }
        let mut other = good.clone();
        other[8] = 2;
        let message = Manifest::decode(&other).expect_err("another version").to_string();
        assert!(
            message.contains("format 2") && message.contains("format 1"),
            "{message}"
        );
    }
}
