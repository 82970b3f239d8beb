use super::*;
use mote_common::Oid;
use mote_common::env::Disk;
use mote_common::env::sim::{SimDisk, env};
use mote_log::RedoBuffer;
use mote_log::frame::{FrameHeader, frame_bytes};
use mote_log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader, segment_path};
use mote_log::told::{ToldStorage, ToldView};
use mote_log::varint;
use std::sync::Arc;

const SEGMENT_BYTES: u64 = 1 << 20;
const TABLE: TableId = TableId(7);

fn relation(name: &str) -> Vec<u8> {
    let relation = ToldRelation {
        layout: 1,
        storage: vec![ToldStorage {
            class: 4,
            nullable: false,
        }],
        views: vec![ToldView {
            oid: Oid(16400),
            name: name.into(),
            ..ToldView::default()
        }],
    };
    relation.encode()
}

/// A log of one file, written frame by frame.
struct Written {
    bytes: Vec<u8>,
    frames: Vec<(FrameHeader, Vec<u8>)>,
}

impl Written {
    fn new() -> Written {
        Written {
            bytes: Vec::new(),
            frames: Vec::new(),
        }
    }

    fn frame(&mut self, kind: FrameKind, tells: bool, payload: &[u8]) -> Lsn {
        let header = FrameHeader {
            kind,
            tells,
            payload_bytes: payload.len() as u32,
            lsn: Lsn(SEGMENT_BYTES + self.bytes.len() as u64),
            durable: Lsn::ZERO,
            wall_us: 5,
            term: 1,
            payload_crc: crc32fast::hash(payload),
        };
        let end = self.bytes.len() + frame_bytes(payload.len()) as usize;
        self.bytes.extend_from_slice(&header.encode());
        self.bytes.extend_from_slice(payload);
        self.bytes.resize(end, 0);
        self.frames.push((header, payload.to_vec()));
        header.end()
    }

    fn ranges(&self) -> LogRanges {
        let disk: Arc<dyn Disk> = env(&SimDisk::new(3), 1).0.disk;
        disk.create_dir_all("log").expect("the disk works");
        let file = disk.create(&segment_path(SEGMENT_BYTES)).expect("the disk works");
        let header = SegmentHeader {
            system_id: 9,
            start: Lsn(SEGMENT_BYTES),
            segment_bytes: SEGMENT_BYTES,
        };
        file.write_all_at(&header.encode(), 0).expect("the disk works");
        let mut whole = self.bytes.clone();
        whole.resize(SEGMENT_BYTES as usize, 0);
        file.write_all_at(&whole, SEGMENT_HEADER_BYTES)
            .expect("the disk works");
        LogRanges::new(disk, 9, SEGMENT_BYTES)
    }

    /// What is told of the frames from `first` on, in short words.
    fn told(&self, first: usize, start: Lsn) -> Result<Vec<String>, DecodeError> {
        let mut ranges = self.ranges();
        let mut decoder = Decoder::new(self.frames[first].0.lsn, start);
        let mut words = Vec::new();
        for (header, payload) in &self.frames[first..] {
            let frame = Frame {
                header: *header,
                payload,
            };
            decoder.frame(&frame, &mut ranges, &mut |_, event| {
                words.push(match event {
                    Event::Begin { .. } => "begin".into(),
                    Event::Commit => "commit".into(),
                    Event::Relation { relation, .. } => format!("table {}", relation.views[0].name),
                    Event::Insert { new, .. } => format!("insert {new:?}"),
                    Event::Update { old, new, .. } => format!("update {old:?} {new:?}"),
                    Event::Delete { old, .. } => format!("delete {old:?}"),
                    Event::Truncate { tables, .. } => format!("truncate {}", tables.len()),
                });
                Ok(())
            })?;
        }
        Ok(words)
    }
}

/// One transaction's operations without the header.
fn operations(redo: &mut RedoBuffer) -> Vec<u8> {
    let payload = redo.commit_payload().expect("it fits").expect("it has some");
    payload[1..].to_vec()
}

fn fragment(number: u64, sequence: u64, piece: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put(&mut out, number);
    varint::put(&mut out, sequence);
    out.extend_from_slice(piece);
    out
}

#[test]
fn what_a_commit_has_is_told_and_what_nobody_published_is_not() {
    let (row, mut log) = (RowId::new(1, 2), Written::new());
    let mut plain = RedoBuffer::new();
    plain.insert(TABLE, row, 1, b"x");
    log.frame(
        FrameKind::Commit,
        false,
        &[&[0], &operations(&mut plain)[..]].concat(),
    );
    let mut redo = RedoBuffer::new();
    assert!(!redo.tells());
    redo.relation(TABLE, &relation("t"));
    redo.insert(TABLE, row, 1, b"a");
    redo.old_row(TABLE, row, b"a");
    redo.update_whole(TABLE, row, 1, Lsn(5), b"b");
    redo.update_whole(TABLE, row, 1, Lsn(5), b"c");
    redo.old_row(TABLE, row, b"c");
    redo.delete(TABLE, row, Lsn(5));
    redo.truncated(0, &[TABLE]);
    assert!(redo.tells());
    let end = log.frame(
        FrameKind::Commit,
        true,
        &[&[0], &operations(&mut redo)[..]].concat(),
    );
    let expected = [
        "begin",
        "table t",
        "insert [97]",
        "update Some([97]) [98]",
        "update None [99]",
        "delete Some([99])",
        "truncate 1",
        "commit",
    ];
    assert_eq!(log.told(0, Lsn::ZERO).expect("it is sound"), expected);
    assert!(
        log.told(0, end).expect("it is sound").is_empty(),
        "confirmed before"
    );
}

#[test]
fn fragments_are_read_again_and_what_was_rolled_back_is_left_out() {
    let (row, mut log) = (RowId::new(1, 2), Written::new());
    let mut long = RedoBuffer::new();
    long.relation(TABLE, &relation("long"));
    for byte in 0..40u8 {
        long.insert(TABLE, row, 1, &[byte; 50]);
    }
    let stream = operations(&mut long);
    // Cut in the midst of an operation.
    let (first, second) = stream.split_at(stream.len() / 2 + 3);
    log.frame(FrameKind::Fragment, true, &fragment(7, 0, first));
    let mut short = RedoBuffer::new();
    short.relation(TABLE, &relation("short"));
    short.insert(TABLE, row, 1, b"s");
    let between = log.frame(
        FrameKind::Commit,
        true,
        &[&[0], &operations(&mut short)[..]].concat(),
    );
    // Number, one fragment, one range: ordinals 3 to 40.
    let mut last = Vec::new();
    [7, 1, 1, 3, 37]
        .iter()
        .for_each(|&number| varint::put(&mut last, number));
    last.extend_from_slice(second);
    log.frame(FrameKind::Commit, true, &last);
    let words = log.told(0, Lsn::ZERO).expect("it is sound");
    assert_eq!(words[..4], ["begin", "table short", "insert [115]", "commit"]);
    assert_eq!(words[4..6], ["begin", "table long"]);
    assert_eq!(words.len(), 4 + 6, "{words:?}");
    assert!(
        words[6].starts_with("insert [0,") && words[8].starts_with("insert [39,"),
        "{words:?}"
    );
    // Who has the short one needs the log from the long one's first frame on.
    let mut ranges = log.ranges();
    let mut decoder = Decoder::new(log.frames[0].0.lsn, Lsn::ZERO);
    for (header, payload) in &log.frames[..2] {
        let frame = Frame {
            header: *header,
            payload,
        };
        decoder
            .frame(&frame, &mut ranges, &mut |_, _| Ok(()))
            .expect("it is sound");
    }
    assert_eq!(
        (decoder.position(), decoder.needed_from()),
        (between, log.frames[0].0.lsn)
    );
    // Without the first fragment nothing is told in part.
    assert!(matches!(log.told(1, Lsn::ZERO), Err(DecodeError::Gone(_))));
}

#[test]
fn a_prepared_transaction_is_told_when_it_commits() {
    let (row, mut log) = (RowId::new(1, 2), Written::new());
    let prepare = |gid: &[u8], name: &str| {
        let mut redo = RedoBuffer::new();
        redo.relation(TABLE, &relation(name));
        redo.insert(TABLE, row, 1, b"p");
        redo.prepare_payload(gid, b"locks").expect("it fits")
    };
    log.frame(FrameKind::Prepare, true, &prepare(b"one", "one"));
    log.frame(FrameKind::Prepare, true, &prepare(b"two", "two"));
    log.frame(FrameKind::RollbackPrepared, false, b"two");
    assert!(log.told(0, Lsn::ZERO).expect("it is sound").is_empty());
    log.frame(FrameKind::CommitPrepared, true, b"one");
    let words = log.told(0, Lsn::ZERO).expect("it is sound");
    assert_eq!(words, ["begin", "table one", "insert [112]", "commit"]);
    assert!(matches!(log.told(1, Lsn::ZERO), Err(DecodeError::Gone(_))));
}

/// The position of each event.
fn positions(log: &Written) -> Vec<Lsn> {
    let mut ranges = log.ranges();
    let mut decoder = Decoder::new(log.frames[0].0.lsn, Lsn::ZERO);
    let mut positions = Vec::new();
    for (header, payload) in &log.frames {
        let frame = Frame {
            header: *header,
            payload,
        };
        let taken = decoder.frame(&frame, &mut ranges, &mut |at, _| {
            positions.push(at);
            Ok(())
        });
        taken.expect("it is sound");
    }
    positions
}

/// Who stops in the midst of a transaction names the position of the last change it has, and skips up to there when it is told
/// all of it again: a position that two changes have would skip both.
#[test]
fn each_change_has_a_position_of_its_own() {
    let (row, mut log) = (RowId::new(1, 2), Written::new());
    let many = |count: u8| {
        let mut redo = RedoBuffer::new();
        redo.relation(TABLE, &relation("t"));
        (0..count).for_each(|byte| redo.insert(TABLE, row, 1, &[byte]));
        redo
    };
    // Nearly all of it stands in fragments, and the frame that commits it has room for one number.
    let stream = operations(&mut many(200));
    let (first, rest) = stream.split_at(stream.len() / 2 + 1);
    log.frame(FrameKind::Fragment, true, &fragment(7, 0, first));
    let prepare = many(100).prepare_payload(b"one", b"locks").expect("it fits");
    log.frame(FrameKind::Prepare, true, &prepare);
    log.frame(FrameKind::Fragment, true, &fragment(7, 1, rest));
    let mut last = Vec::new();
    [7, 2, 0]
        .iter()
        .for_each(|&number| varint::put(&mut last, number));
    let first_end = log.frame(FrameKind::Commit, true, &last);
    let second_end = log.frame(FrameKind::CommitPrepared, true, b"one");
    let positions = positions(&log);
    assert_eq!(positions.len(), (200 + 3) + (100 + 3));
    let (first, second) = positions.split_at(203);
    for (positions, end) in [(first, first_end), (second, second_end)] {
        assert!(positions.is_sorted_by(|one, next| one < next), "{positions:?}");
        assert_eq!(positions.last(), Some(&end));
    }
    assert!(second.iter().all(|at| !first.contains(at)), "{positions:?}");
}
