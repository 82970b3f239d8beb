//! Committed transactions out of the log, in the order of their commits, for subscribers (docs/design/0061).
//!
//! A step function: frames go in, what the transactions did to published tables comes out. A transaction whose operations
//! stand in its last frame is told at once. Of one with fragments only the place of the first is kept; they are read again
//! when the frame that commits it is there, so that what was rolled back is known before anything is told, and memory does
//! not depend on a transaction's length.
//!
//! The caller feeds what is stable only: what was told cannot be cut off the log.
//!
//! Takes untrusted bytes: answers errors, never panics. Leaves out: which publications a subscriber asked for, and what
//! values look like (`mote_server::replication::logical`).

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use mote_common::{Lsn, RowId, TableId};
use mote_log::frame::FrameKind;
use mote_log::range::LogRanges;
use mote_log::reader::Frame;
use mote_log::record::{CommitHeader, FragmentHeader, Malformed, Operation, OperationStream, PrepareHeader};
use mote_log::stream::{FrameFault, FrameStream};
use mote_log::told::{Told, ToldRelation, is_told};
use mote_log::varint::Cursor;

/// Log that is read at once when fragments are read again.
const PIECE_BYTES: usize = 256 << 10;

/// What a transaction did, in order.
#[derive(Debug)]
pub enum Event<'a> {
    /// A transaction: where the frame that commits it begins and ends, and the time.
    Begin {
        commit: Lsn,
        end: Lsn,
        wall_us: i64,
    },
    /// The table is this from here on.
    Relation {
        table: TableId,
        relation: ToldRelation,
    },
    Insert {
        table: TableId,
        new: &'a [u8],
    },
    /// `old` where the subscriber finds the row by it.
    Update {
        table: TableId,
        old: Option<&'a [u8]>,
        new: &'a [u8],
    },
    Delete {
        table: TableId,
        old: Option<&'a [u8]>,
    },
    Truncate {
        options: u8,
        tables: &'a [TableId],
    },
    Commit,
}

/// Why there is nothing more.
#[derive(Debug)]
pub enum DecodeError {
    /// Where the log is no log.
    Malformed(Lsn, &'static str),
    Fault(FrameFault),
    /// The log from there is not here any more.
    Gone(Lsn),
    Io(io::Error),
    /// The receiver wants no more.
    Ended,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Malformed(lsn, what) => write!(f, "at {lsn}: {what}"),
            DecodeError::Fault(fault) => write!(f, "at {}: {}", fault.lsn, fault.what),
            DecodeError::Gone(lsn) => write!(f, "the log at {lsn} is not here any more"),
            DecodeError::Io(error) => write!(f, "the log could not be read: {error}"),
            DecodeError::Ended => f.write_str("the stream has ended"),
        }
    }
}

impl From<FrameFault> for DecodeError {
    fn from(fault: FrameFault) -> DecodeError {
        DecodeError::Fault(fault)
    }
}

/// A PREPARE that has not been decided.
struct Prepared {
    /// Of its frame, and of its first.
    lsn: Lsn,
    first: Lsn,
    term: u32,
    tells: bool,
}

/// Where a transaction's operations stand.
struct Span<'a> {
    first: Lsn,
    /// Of the frame with the last part.
    last: Lsn,
    header: CommitHeader,
    body: &'a [u8],
}

pub struct Decoder {
    /// Transactions that end here or below are not told.
    start: Lsn,
    /// The end of the last frame.
    position: Lsn,
    /// First fragments of transactions that are not over, by term and number.
    open: BTreeMap<(u32, u64), Lsn>,
    prepared: BTreeMap<Vec<u8>, Prepared>,
    piece: Vec<u8>,
}

/// Is told what a transaction did, and the position of each: ascending within the transaction, different from all others of its
/// operations, and the same whenever the log is read again. Subscribers that stop in the midst of a transaction go on by it. It is
/// where the operation ends in the log, as far as the frame; the beginning of the first frame for Begin, the end of the last for
/// Commit.
type Tell<'t> = &'t mut dyn FnMut(Lsn, Event<'_>) -> Result<(), DecodeError>;

impl Decoder {
    /// Reads from `from` on, and tells what ends above `start`.
    pub fn new(from: Lsn, start: Lsn) -> Decoder {
        Decoder {
            start,
            position: from,
            open: BTreeMap::new(),
            prepared: BTreeMap::new(),
            piece: Vec::new(),
        }
    }

    /// The end of the last frame: all below was told, or is of no concern.
    pub fn position(&self) -> Lsn {
        self.position
    }

    /// From where the log must be read to go on behind [`position`](Decoder::position): all that ends later is whole from
    /// there on.
    pub fn needed_from(&self) -> Lsn {
        let told = self.prepared.values().filter(|prepared| prepared.tells);
        let firsts = self
            .open
            .values()
            .copied()
            .chain(told.map(|prepared| prepared.first));
        firsts
            .min()
            .map_or(self.position, |first| first.min(self.position))
    }

    /// Takes the next frame of the log. `ranges` reads fragments again.
    pub fn frame(
        &mut self,
        frame: &Frame<'_>,
        ranges: &mut LogRanges,
        tell: Tell<'_>,
    ) -> Result<(), DecodeError> {
        let (header, payload) = (&frame.header, frame.payload);
        let (lsn, term) = (header.lsn, header.term);
        let malformed = |what| DecodeError::Malformed(lsn, what);
        match header.kind {
            FrameKind::Commit => {
                let decoded = CommitHeader::decode(payload);
                let (commit, body) = decoded.ok_or_else(|| malformed("a COMMIT is malformed"))?;
                let first = self.open.remove(&(term, commit.transaction));
                if header.tells && header.end() > self.start {
                    let lost = commit.fragments > 0 && first.is_none();
                    let span = Span {
                        first: first.unwrap_or(lsn),
                        last: lsn,
                        header: commit,
                        body,
                    };
                    if lost {
                        return Err(DecodeError::Gone(lsn));
                    }
                    let wall_us = header.wall_us;
                    self.transaction((lsn, header.end(), wall_us), term, span, ranges, tell)?;
                }
            }
            FrameKind::Fragment => {
                let decoded = FragmentHeader::decode(payload);
                let (fragment, _) = decoded.ok_or_else(|| malformed("a FRAGMENT is malformed"))?;
                if fragment.sequence == 0 {
                    self.open.insert((term, fragment.transaction), lsn);
                }
            }
            FrameKind::Abort | FrameKind::Void => {
                let number = Cursor::new(payload).varint();
                let number = number.ok_or_else(|| malformed("an ABORT is malformed"))?;
                self.open.remove(&(term, number));
            }
            FrameKind::Prepare => {
                let decoded = PrepareHeader::decode(payload);
                let (prepare, rest) = decoded.ok_or_else(|| malformed("a PREPARE is malformed"))?;
                let commit = CommitHeader::decode(rest).map(|(commit, _)| commit.transaction);
                let number = commit.ok_or_else(|| malformed("a PREPARE is malformed"))?;
                let first = self.open.remove(&(term, number)).unwrap_or(lsn);
                let prepared = Prepared {
                    lsn,
                    first,
                    term,
                    tells: header.tells,
                };
                self.prepared.insert(prepare.gid.to_vec(), prepared);
            }
            FrameKind::CommitPrepared => {
                let prepared = self.prepared.remove(payload);
                if header.tells && header.end() > self.start {
                    let prepared = prepared.ok_or(DecodeError::Gone(lsn))?;
                    self.commit_prepared(frame, &prepared, ranges, tell)?;
                }
            }
            FrameKind::RollbackPrepared => _ = self.prepared.remove(payload),
            // Whoever wrote what is open does not go on.
            FrameKind::Term => self.open.clear(),
            FrameKind::Sequence | FrameKind::Pad | FrameKind::RestorePoint => {}
        }
        self.position = header.end();
        Ok(())
    }

    fn commit_prepared(
        &mut self,
        frame: &Frame<'_>,
        prepared: &Prepared,
        ranges: &mut LogRanges,
        tell: Tell<'_>,
    ) -> Result<(), DecodeError> {
        let header = &frame.header;
        let place = (header.lsn, header.end(), header.wall_us);
        let malformed = DecodeError::Malformed(prepared.lsn, "a PREPARE is malformed");
        // The PREPARE's own frame is read again for its part of the operations.
        let mut payload = None;
        self.read(prepared.lsn, Lsn(prepared.lsn.0 + 1), ranges, &mut |frame| {
            payload.get_or_insert_with(|| frame.payload.to_vec());
            Ok(())
        })?;
        let payload = payload.ok_or(DecodeError::Gone(prepared.lsn))?;
        let part = PrepareHeader::decode(&payload).and_then(|(_, rest)| CommitHeader::decode(rest));
        let (commit, body) = part.ok_or(malformed)?;
        let span = Span {
            first: prepared.first,
            last: prepared.lsn,
            header: commit,
            body,
        };
        self.transaction(place, prepared.term, span, ranges, tell)
    }

    fn transaction(
        &mut self,
        (commit, end, wall_us): (Lsn, Lsn, i64),
        term: u32,
        span: Span<'_>,
        ranges: &mut LogRanges,
        tell: Tell<'_>,
    ) -> Result<(), DecodeError> {
        tell(span.first, Event::Begin { commit, end, wall_us })?;
        let mut operations = Operations {
            stream: OperationStream::default(),
            header: &span.header,
            old: None,
        };
        if span.header.fragments > 0 {
            let number = span.header.transaction;
            self.read(span.first, span.last, ranges, &mut |frame| {
                if frame.header.kind == FrameKind::Fragment
                    && frame.header.term == term
                    && let Some((fragment, body)) = FragmentHeader::decode(frame.payload)
                    && fragment.transaction == number
                {
                    operations.feed(frame.header.lsn, body, tell)?;
                }
                Ok(())
            })?;
        }
        operations.feed(span.last, span.body, tell)?;
        if !operations.stream.is_complete() {
            return Err(DecodeError::Malformed(span.last, "the last operation is cut off"));
        }
        tell(end, Event::Commit)
    }

    /// The frames from the one at `first` to those below `end`.
    fn read(
        &mut self,
        first: Lsn,
        end: Lsn,
        ranges: &mut LogRanges,
        each: &mut dyn FnMut(&Frame<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.piece.resize(PIECE_BYTES, 0);
        let mut frames = FrameStream::new(first);
        loop {
            while let Some(frame) = frames.next_frame()? {
                if frame.header.lsn >= end {
                    return Ok(());
                }
                each(&frame)?;
            }
            if frames.position() >= end {
                return Ok(());
            }
            let from = frames.fed_to();
            match ranges.read(from, &mut self.piece) {
                Ok(Some(read)) => frames.feed(&self.piece[..read]),
                Ok(None) => return Err(DecodeError::Gone(from)),
                Err(error) => return Err(DecodeError::Io(error)),
            }
        }
    }
}

/// The operations of one transaction, put together from its frames.
struct Operations<'h> {
    stream: OperationStream,
    header: &'h CommitHeader,
    /// What stands before the change that it belongs to.
    old: Option<(TableId, RowId, Vec<u8>)>,
}

/// An error on its way through the stream of operations.
struct Refused(Option<DecodeError>);

impl From<Malformed> for Refused {
    fn from(_: Malformed) -> Refused {
        Refused(None)
    }
}

impl Operations<'_> {
    /// The part that stands in the frame at `lsn`.
    fn feed(&mut self, lsn: Lsn, part: &[u8], tell: Tell<'_>) -> Result<(), DecodeError> {
        let (header, old) = (self.header, &mut self.old);
        let malformed = || DecodeError::Malformed(lsn, "an operation is malformed");
        // An operation that ends in a frame has a byte there at least: the count stays within the frame.
        let mut at = lsn;
        let fed = self.stream.feed_told::<Refused>(part, |ordinal, body| {
            at.0 += 1;
            if header.is_rolled_back(ordinal) {
                return Ok(());
            }
            let mut tell_here = |event: Event<'_>| tell(at, event);
            let event = match is_told(body) {
                true => told(body, old, &mut tell_here),
                false => row(body, old, &mut tell_here),
            };
            event
                .unwrap_or_else(|| Err(malformed()))
                .map_err(|error| Refused(Some(error)))
        });
        fed.map_err(|Refused(error)| error.unwrap_or_else(malformed))
    }
}

type TellHere<'t> = &'t mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>;

type Old = Option<(TableId, RowId, Vec<u8>)>;

/// `None`: malformed.
fn told(body: &[u8], old: &mut Old, tell: TellHere<'_>) -> Option<Result<(), DecodeError>> {
    Some(match Told::decode(body)? {
        Told::Relation { table, content } => {
            let relation = ToldRelation::decode(content)?;
            tell(Event::Relation { table, relation })
        }
        Told::OldRow { table, row, bytes } => {
            *old = Some((table, row, bytes.to_vec()));
            Ok(())
        }
        Told::Truncate { options, tables } => tell(Event::Truncate {
            options,
            tables: &tables,
        }),
    })
}

fn row(body: &[u8], old: &mut Old, tell: TellHere<'_>) -> Option<Result<(), DecodeError>> {
    let operation = Operation::decode(body)?;
    let (table, row) = (operation.table(), operation.row());
    let before = old.take();
    let before = before.filter(|(of, at, _)| *of == table && *at == row);
    let old = before.as_ref().map(|(_, _, bytes)| &bytes[..]);
    Some(match operation {
        Operation::Insert { bytes, .. } => tell(Event::Insert { table, new: bytes }),
        Operation::UpdateWhole { bytes, .. } => tell(Event::Update {
            table,
            old,
            new: bytes,
        }),
        // Of a table that nobody is told of: a published one has no patches.
        Operation::Update { .. } => Ok(()),
        Operation::Delete { .. } => tell(Event::Delete { table, old }),
    })
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
