//! A log whose frames have right checksums and any contents: the engine opens, or says why not.
//!
//! The input is a list of frames: a byte for the kind, two for the length, the payload. They stand behind the log of an
//! empty database. The input as it is also goes through the reader of streams (archives, backups).
#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use mote_common::env::Disk;
use mote_common::env::sim::{SimDisk, env};
use mote_common::{Lsn, SqlError};
use mote_engine::checkpoint::Manifest;
use mote_log::frame::{FRAME_HEADER_BYTES, FrameHeader, frame_bytes};
use mote_log::reader::{LogFiles, LogReader};
use mote_log::segment::{SEGMENT_HEADER_BYTES, segment_path};
use mote_log::stream::FrameStream;
use mote_log::{FrameKind, LogConfig};
use mote_engine::recovery::RecoveryError;
use mote_engine::{Engine, EngineConfig, KeyExpressionProvider, KeyExpressions, OpenError};

const SEGMENT_BYTES: u64 = 1 << 20;

struct NoExpressions;

impl KeyExpressionProvider for NoExpressions {
    fn compile(&self, _definition: &[u8]) -> Result<Arc<dyn KeyExpressions>, SqlError> {
        Err(SqlError::unsupported("index expressions in the fuzzer"))
    }
}

/// An empty database, and where its log ends.
struct Base {
    disk: SimDisk,
    manifest: Manifest,
    end: Lsn,
    term: u32,
}

fn config() -> EngineConfig {
    EngineConfig {
        memory_limit_bytes: 64 << 20,
        transactions_max: 64,
        recovery_threads: 1,
        log: LogConfig {
            segment_bytes: SEGMENT_BYTES,
            ring_bytes: 2 << 20,
            writers_max: 4,
            ..LogConfig::default()
        },
        ..EngineConfig::default()
    }
}

fn open(disk: &SimDisk) -> Result<Arc<Engine>, OpenError> {
    let (world, _) = env(disk, 1);
    Engine::open(world, config(), Arc::new(NoExpressions))
}

fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let disk = SimDisk::new(1);
        let engine = open(&disk).ok().expect("an empty directory becomes a database");
        engine.stop();
        drop(engine);
        // The lock of the directory went with the engine's disk.
        let disk = disk.copy();
        let manifest = Manifest::read(&disk).expect("readable").expect("there is one");
        let files = LogFiles::open(&disk, manifest.system_id, manifest.segment_bytes).expect("whole");
        let mut reader = LogReader::new(&files, manifest.log_start);
        while reader.next_frame().expect("whole").is_some() {}
        let (end, term) = (reader.position(), reader.term().expect("every log begins a term"));
        Base { disk, manifest, end, term }
    })
}

/// The frames that the input asks for, as far as they fit into one file.
fn frames(mut input: &[u8], from: Lsn, term: u32) -> Vec<u8> {
    let room = (SEGMENT_BYTES - from.0 % SEGMENT_BYTES) as usize;
    let mut bytes = Vec::new();
    while let [kind, low, high, rest @ ..] = input {
        // The uppermost bit says whether the frame tells subscribers something.
        let length = (u16::from_le_bytes([*low, *high & 0x7f]) as usize).min(rest.len());
        let (payload, next) = rest.split_at(length);
        input = next;
        let whole = frame_bytes(length) as usize;
        if bytes.len() + whole > room {
            break;
        }
        let Some(kind) = FrameKind::from_byte(*kind) else { continue };
        let header = FrameHeader {
            kind,
            tells: *high & 0x80 != 0,
            payload_bytes: length as u32,
            lsn: Lsn(from.0 + bytes.len() as u64),
            durable: from,
            wall_us: 0,
            term,
            payload_crc: crc32fast::hash(payload),
        };
        let start = bytes.len();
        bytes.extend_from_slice(&header.encode());
        bytes.extend_from_slice(payload);
        bytes.resize(start + whole, 0);
    }
    debug_assert!(bytes.is_empty() || bytes.len() >= FRAME_HEADER_BYTES);
    bytes
}

fuzz_target!(|input: &[u8]| {
    let base = base();
    let mut stream = FrameStream::new(Lsn(SEGMENT_BYTES));
    stream.feed(input);
    while let Ok(Some(_)) = stream.next_frame() {}
    let disk = base.disk.copy();
    let start = base.end.0 / SEGMENT_BYTES * SEGMENT_BYTES;
    let file = disk.open(&segment_path(start)).expect("the log's file");
    let bytes = frames(input, base.end, base.term);
    file.write_all_at(&bytes, SEGMENT_HEADER_BYTES + base.end.0 - start)
        .expect("there is room");
    file.sync_data().expect("alive");
    assert_eq!(base.manifest.segment_bytes, SEGMENT_BYTES);
    match open(&disk) {
        Err(OpenError::Recovery(RecoveryError::ThreadPanicked)) => panic!("a recovery thread panicked"),
        Err(error) => drop(error.to_string()),
        // What was taken can be read again.
        Ok(engine) => {
            engine.checkpoint().ok();
            engine.stop();
            drop(engine);
            let again = open(&disk.copy());
            assert!(again.is_ok(), "{}", again.err().expect("not taken"));
        }
    }
});
