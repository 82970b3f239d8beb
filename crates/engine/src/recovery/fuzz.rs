//! A seeded mutation fuzzer for everything that is read at a start: log frames, images, the manifest.
//!
//! A corpus of directories comes from random lives of the toy engine. A case takes one, changes bytes *inside* a frame's
//! payload, an image or the manifest, and puts the checksums right again: so that, other than rot, the change reaches the
//! decoders behind them. Whatever is read must end in an answer or an error: no panic, no endless loop, no allocation
//! larger than what the files can justify.
//!
//! `MOTE_FUZZ_CASES=1000000 cargo test --release -p mote-engine fuzz` runs long; a failure prints the case, and
//! `MOTE_FUZZ_FIRST=<case>` repeats it. Leaves out: what rows mean; the engine trusts rows that pass their checksums.

use std::sync::Arc;

use mote_common::env::Disk;
use mote_common::env::sim::{SimDisk, env};
use mote_common::prng::Prng;

use super::RecoveryError;
use super::tests::World;
use super::toy::Life;
use crate::checkpoint::Manifest;
use crate::checkpoint::image::IMAGE_HEADER_BYTES;
use mote_log::frame::{FRAME_HEADER_BYTES, FrameHeader};
use mote_log::reader::{LogFiles, LogReader};

const CASES: u64 = 3_000;
const CORPUS: u64 = 8;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Directories with fragments, prepared transactions, dropped tables, several terms.
fn corpus() -> Vec<SimDisk> {
    let directory = |seed: u64| {
        let mut world = World::new(seed);
        for life in 0..1 + seed % 3 {
            for _ in 0..400 {
                assert!(world.act(), "seed {seed}");
            }
            if life < seed % 3 {
                world.crash_and_compare(1);
            }
        }
        world.life.log.flush_and_seal();
        world.disk.crash()
    };
    (0..CORPUS).map(directory).collect()
}

fn read_file(disk: &SimDisk, path: &str) -> Vec<u8> {
    let file = disk.open(path).expect("a path of the disk's own list");
    let mut bytes = vec![0; file.len().expect("alive") as usize];
    file.read_at(&mut bytes, 0).expect("alive");
    bytes
}

fn write_file(disk: &SimDisk, path: &str, bytes: &[u8]) {
    let file = disk.open(path).expect("a path of the disk's own list");
    file.set_len(bytes.len() as u64).expect("alive");
    file.write_all_at(bytes, 0).expect("there is room");
}

/// A few changes of the kinds that break decoders: bits, bytes at the edges of their range, runs moved from elsewhere,
/// and numbers that are too large.
fn mutate(bytes: &mut [u8], prng: &mut Prng) {
    if bytes.is_empty() {
        return;
    }
    for _ in 0..1 + prng.below(4) {
        let at = prng.below(bytes.len() as u64) as usize;
        let left = bytes.len() - at;
        match prng.below(6) {
            0 => bytes[at] ^= 1 << prng.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][prng.below(5) as usize],
            2 => bytes[at..at + left.min(10)].fill(0xff),
            3 => {
                let from = prng.below(bytes.len() as u64) as usize;
                let length = (prng.below(40) as usize).min(left).min(bytes.len() - from);
                bytes.copy_within(from..from + length, at);
            }
            4 => bytes[at..at + left.min(8)].copy_from_slice(&prng.next_u64().to_le_bytes()[..left.min(8)]),
            _ => bytes[at..].rotate_left(1),
        }
    }
}

/// Changes the payload of some frame, now and then its kind or its length.
fn mutate_frame(disk: &SimDisk, manifest: &Manifest, prng: &mut Prng) {
    let files = LogFiles::open(disk, manifest.system_id, manifest.segment_bytes).expect("a whole log");
    let mut reader = LogReader::new(&files, manifest.log_start);
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect("a whole log") {
        frames.push(frame.header);
    }
    let Some(header) = frames.get(prng.below(frames.len().max(1) as u64) as usize) else {
        return;
    };
    let (path, offset) = files.place(header.lsn);
    let mut bytes = read_file(disk, &path);
    let start = offset as usize;
    let end = (start + FRAME_HEADER_BYTES + header.payload_bytes as usize).min(bytes.len());
    let mut header: FrameHeader = *header;
    if prng.chance(1, 10) {
        header.payload_bytes = prng.below(header.payload_bytes as u64 + 1) as u32;
    }
    if prng.chance(1, 10) {
        // A payload under another frame's kind.
        header.kind = frames[prng.below(frames.len() as u64) as usize].kind;
    }
    let payload = start + FRAME_HEADER_BYTES..end;
    mutate(&mut bytes[payload.clone()], prng);
    let length = (header.payload_bytes as usize).min(payload.len());
    header.payload_crc = crc32fast::hash(&bytes[payload.start..payload.start + length]);
    bytes[start..payload.start].copy_from_slice(&header.encode());
    write_file(disk, &path, &bytes);
}

/// Changes the rows of some image, or what the manifest says of it.
fn mutate_image(disk: &SimDisk, manifest: &mut Manifest, prng: &mut Prng) {
    let images = manifest.images.values_mut().filter(|image| image.file != 0);
    let images: Vec<_> = images.collect();
    let count = images.len();
    let Some(entry) = images.into_iter().nth(prng.below(count.max(1) as u64) as usize) else {
        return;
    };
    if prng.chance(1, 4) {
        let wild = prng.next_u64() >> prng.below(64);
        match prng.below(4) {
            0 => entry.offset = wild,
            1 => entry.bytes = wild,
            2 => entry.rows = wild as u32,
            _ => entry.file = 1 + wild % 9,
        }
        return;
    }
    let path = crate::checkpoint::image::image_path(entry.file);
    let mut bytes = read_file(disk, &path);
    let image = &mut bytes[entry.offset as usize..(entry.offset + entry.bytes) as usize];
    let (header, rows) = image.split_at_mut(IMAGE_HEADER_BYTES);
    mutate(rows, prng);
    // The two checksums of an image's header: of the rows, and of what stands before it.
    header[36..40].copy_from_slice(&crc32fast::hash(rows).to_le_bytes());
    let crc = crc32fast::hash(&header[..40]);
    header[40..44].copy_from_slice(&crc.to_le_bytes());
    write_file(disk, &path, &bytes);
}

fn mutate_manifest(disk: &SimDisk, prng: &mut Prng) {
    let mut bytes = read_file(disk, "MANIFEST");
    let body = bytes.len() - 4;
    mutate(&mut bytes[8..body], prng);
    let crc = crc32fast::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(&crc.to_le_bytes());
    write_file(disk, "MANIFEST", &bytes);
}

/// One case. Answers whether the directory was still taken.
fn run(case: u64, corpus: &[SimDisk]) -> bool {
    let mut prng = Prng::fork(77, case);
    let disk = corpus[prng.below(corpus.len() as u64) as usize].copy();
    let mut manifest = Manifest::read(&disk).expect("readable").expect("there is one");
    match prng.below(10) {
        0..6 => mutate_frame(&disk, &manifest, &mut prng),
        6..9 => {
            mutate_image(&disk, &mut manifest, &mut prng);
            manifest.write(&disk).expect("there is room");
        }
        _ => mutate_manifest(&disk, &mut prng),
    }
    let (world, _) = env(&disk, case);
    let threads = 1 + prng.below(2) as usize;
    match Life::begin(&world, threads, Arc::new(|_| {})) {
        Ok(_) => true,
        Err(RecoveryError::ThreadPanicked) => panic!("a recovery thread panicked"),
        Err(_) => false,
    }
}

#[test]
fn nothing_that_is_read_at_a_start_panics() {
    let first = setting("MOTE_FUZZ_FIRST").unwrap_or(0);
    let cases = setting("MOTE_FUZZ_CASES").unwrap_or(CASES);
    let corpus = corpus();
    let mut taken = 0;
    for case in first..first + cases {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(case, &corpus)));
        taken += u64::from(outcome.unwrap_or_else(|_| {
            panic!("case {case} panicked; repeat with MOTE_FUZZ_FIRST={case} MOTE_FUZZ_CASES=1")
        }));
    }
    // Were all refused, the changes would not get past the checksums.
    if cases >= CASES {
        assert!(
            taken * 20 > cases && taken < cases,
            "{taken} of {cases} were taken"
        );
    }
}
