//! What a directory keeps of its place among other nodes, and the log that is read for them.
//!
//! The first byte says what the rest is: one of the files in `replication/` (what the directory is, its promise, its slots, its
//! terms), a record or an entry of the store, or a file of the log out of which ranges are read and which is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mote_common::Lsn;
use mote_common::env::Disk;
use mote_common::env::sim::{SimDisk, env};
use mote_log::cut_log;
use mote_log::range::LogRanges;
use mote_log::segment::{SEGMENT_HEADER_BYTES, segment_path};
use mote_log::scan::scan_log;
use mote_replication::record::Record;
use mote_replication::roster::Entry;
use mote_replication::slots::Slots;
use mote_replication::vote::Voter;
use mote_replication::node;

const SYSTEM_ID: u64 = 7;
const SEGMENT_BYTES: u64 = 64 << 10;

/// As `replication/small_file` writes it, with the right checksum.
fn small_file(disk: &SimDisk, name: &str, contents: &[u8]) {
    let body = [&SYSTEM_ID.to_le_bytes()[..], contents].concat();
    let mut bytes = b"moteREP\0".to_vec();
    bytes.extend_from_slice(&1u32.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    disk.create_dir_all("replication").expect("alive");
    let file = disk.create(&format!("replication/{name}")).expect("alive");
    file.write_all_at(&bytes, 0).expect("alive");
    file.sync_data().expect("alive");
}

/// A log of one file with these bytes behind a right header or instead of it.
fn log(disk: &SimDisk, with_header: bool, bytes: &[u8]) {
    disk.create_dir_all("log").expect("alive");
    let file = disk.create(&segment_path(SEGMENT_BYTES)).expect("alive");
    file.write_all_at(&vec![0; (SEGMENT_HEADER_BYTES + SEGMENT_BYTES) as usize], 0).expect("alive");
    let header = mote_log::segment::SegmentHeader {
        system_id: SYSTEM_ID,
        start: Lsn(SEGMENT_BYTES),
        segment_bytes: SEGMENT_BYTES,
    };
    let head = header.encode();
    let length = bytes.len().min(SEGMENT_BYTES as usize);
    let at = if with_header {
        file.write_all_at(&head, 0).expect("alive");
        SEGMENT_HEADER_BYTES
    } else {
        0
    };
    file.write_all_at(&bytes[..length], at).expect("alive");
    file.sync_data().expect("alive");
}

fuzz_target!(|input: &[u8]| {
    let [what, rest @ ..] = input else { return };
    let disk = SimDisk::new(1);
    let world = env(&disk, 1).0;
    match what % 8 {
        0 => {
            small_file(&disk, "follows", rest);
            drop(node::part(&disk, SYSTEM_ID));
        }
        1 => {
            small_file(&disk, "promise", rest);
            drop(Voter::open(&disk, SYSTEM_ID, 0, 1));
            small_file(&disk, "record", rest);
            if let Ok(Some(record)) = mote_replication::vote::seen(&disk, SYSTEM_ID) {
                assert_eq!(record.encode().as_bytes(), rest);
            }
        }
        2 => {
            small_file(&disk, "slots", rest);
            if let Ok(mut slots) = Slots::open(world.disk.clone(), SYSTEM_ID, 1 << 20, 4096) {
                slots.enforce(Lsn(2 << 20)).expect("alive");
                assert!(slots.keep_from().is_none_or(|from| from >= Lsn(1 << 20)));
            }
        }
        3 => {
            small_file(&disk, "terms", rest);
            if let Ok(history) = node::terms(&disk, SYSTEM_ID) {
                let _ = history.common_end(Lsn(1 << 40), history.newest(64), Lsn(1 << 30));
                let _ = history.twin(history.marks());
            }
        }
        4 => {
            let Ok(text) = std::str::from_utf8(rest) else { return };
            if let Some(record) = Record::decode(text) {
                assert_eq!(record.encode(), text);
            }
            if let Some(entry) = Entry::decode(text) {
                assert_eq!(entry.encode(), text);
            }
        }
        kind => {
            let [low, high, bytes @ ..] = rest else { return };
            log(&disk, kind != 5, bytes);
            let from = Lsn(SEGMENT_BYTES + u64::from(u16::from_le_bytes([*low, *high])));
            let mut ranges = LogRanges::new(world.disk.clone(), SYSTEM_ID, SEGMENT_BYTES);
            let mut buffer = vec![0; 8192];
            drop(ranges.read(from, &mut buffer));
            // What a scan finds it finds again behind a cut, up to there.
            if let Ok(found) = scan_log(&disk, SYSTEM_ID, SEGMENT_BYTES, Lsn(SEGMENT_BYTES)) {
                let at = from.min(found.end).max(found.durable);
                cut_log(&disk, SYSTEM_ID, SEGMENT_BYTES, at).expect("alive");
                let again = scan_log(&disk, SYSTEM_ID, SEGMENT_BYTES, Lsn(SEGMENT_BYTES)).expect("cut above what is durable");
                assert!(again.end <= at);
            }
        }
    }
});
