//! What the frames of a followed log do to the tables.
//!
//! A transaction whose operations stand in one frame is written and committed at once, by a transaction of this node that
//! does so for all that follow one another (`txn::replayed`); one that changes definitions has one of its own. Of one with
//! fragments only the place of the first is kept; at its COMMIT or PREPARE its fragments are read again, from there on. So
//! nothing of an open transaction is in memory, and an aborted one costs nothing; what a savepoint took back, which only the
//! last frame tells, is skipped.

use std::collections::BTreeMap;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::Disk;
use mote_common::sync::atomic::Ordering;

use super::{FollowedCatalog, ReplayError};
use crate::recovery::{ApplyError, PreparedTransaction, Target};
use crate::table::{CATALOG_TABLE, SQL_CATALOG_TABLE};
use crate::txn::{EngineCore, Replaying};
use mote_log::frame::FrameKind;
use mote_log::range::LogRanges;
use mote_log::reader::Frame;
use mote_log::record::{CommitHeader, FragmentHeader, Malformed, Operation, OperationStream, PrepareHeader};
use mote_log::stream::FrameStream;
use mote_log::varint::Cursor;
use mote_log::{Log, SequenceState};

const PIECE_BYTES: usize = 256 << 10;
/// Of a short commit in the log, as a guess: versions and index entries. Patches are counted beside it.
const MEMORY_PER_BYTE: u64 = 64;
/// With so much for each byte nobody looks how long the rows are that are patched: a patch takes a dozen bytes of the log, and
/// is of less than 12 MB of row.
const AMPLE_PER_BYTE: u64 = 1 << 20;

pub(super) struct Applier {
    engine: Arc<EngineCore>,
    disk: Arc<dyn Disk>,
    /// First fragments of transactions that are not over, by term and number.
    open: BTreeMap<(u32, u64), Lsn>,
    /// Writes short commits, as long as they follow one another.
    short: Option<Replaying>,
    /// Reads fragments again.
    ranges: Option<LogRanges>,
}

/// The last frame of a transaction's operations.
struct LastPart<'a> {
    lsn: Lsn,
    term: u32,
    header: CommitHeader,
    body: &'a [u8],
    tells: bool,
}

impl Applier {
    pub fn new(engine: &Arc<EngineCore>, disk: &Arc<dyn Disk>, open: BTreeMap<(u32, u64), Lsn>) -> Applier {
        Applier {
            engine: engine.clone(),
            disk: disk.clone(),
            open,
            short: None,
            ranges: None,
        }
    }

    pub fn log(&self) -> &Log {
        &self.engine.log
    }

    /// Whether the last commit got its memory.
    pub fn note_memory(&self, had: bool) {
        let waits = &self.engine.replay_waits;
        if waits.load(Ordering::Relaxed) == had {
            waits.store(!had, Ordering::Relaxed);
        }
    }

    pub fn files_changed(&mut self) {
        self.ranges = None;
    }

    pub fn apply(&mut self, frame: &Frame<'_>, catalog: &dyn FollowedCatalog) -> Result<(), ReplayError> {
        let (header, payload) = (&frame.header, frame.payload);
        let lsn = header.lsn;
        let malformed = |what: &str| ReplayError::Apply {
            lsn,
            error: ApplyError::Other(format!("{what} is malformed")),
        };
        match header.kind {
            FrameKind::Commit => {
                let (commit, body) = CommitHeader::decode(payload).ok_or_else(|| malformed("a COMMIT"))?;
                let last = LastPart {
                    lsn,
                    term: header.term,
                    header: commit,
                    body,
                    tells: header.tells,
                };
                self.commit(last, header.end(), catalog)?;
                self.log().note_replayed_commit(header.wall_us);
            }
            FrameKind::Fragment => {
                let (fragment, _) = FragmentHeader::decode(payload).ok_or_else(|| malformed("a FRAGMENT"))?;
                if fragment.sequence == 0 {
                    self.open.insert((header.term, fragment.transaction), lsn);
                    self.log().keep_fragments(header.term, fragment.transaction, lsn);
                }
            }
            FrameKind::Abort | FrameKind::Void => {
                let number = Cursor::new(payload)
                    .varint()
                    .ok_or_else(|| malformed("an ABORT"))?;
                self.forget(header.term, number, None);
            }
            FrameKind::Prepare => {
                let (prepare, rest) = PrepareHeader::decode(payload).ok_or_else(|| malformed("a PREPARE"))?;
                let (commit, body) = CommitHeader::decode(rest).ok_or_else(|| malformed("a PREPARE"))?;
                let last = LastPart {
                    lsn,
                    term: header.term,
                    header: commit,
                    body,
                    tells: header.tells,
                };
                self.rest();
                self.prepare(prepare, last)?;
            }
            FrameKind::CommitPrepared => {
                self.rest();
                self.commit_prepared(lsn, payload, header.end(), catalog)?;
                self.log().note_replayed_commit(header.wall_us);
            }
            FrameKind::RollbackPrepared => {
                self.rest();
                self.engine.replay_decision(payload, None);
                self.log().prepared_ended(payload, None);
            }
            FrameKind::Sequence => {
                let state = SequenceState::decode(payload).ok_or_else(|| malformed("a SEQUENCE"))?;
                self.engine.objects().restore_sequence(state);
            }
            FrameKind::Term => {
                self.abort_open();
                self.log().note_term(header.term);
            }
            FrameKind::Pad | FrameKind::RestorePoint => {}
        }
        self.log().replayed(header.end());
        Ok(())
    }

    fn commit(
        &mut self,
        last: LastPart<'_>,
        ts: Lsn,
        catalog: &dyn FollowedCatalog,
    ) -> Result<(), ReplayError> {
        let short = last.header.fragments == 0 && !describes(last.body) && !self.engine.has_prepared();
        if short && self.has_memory_for(last.body) {
            return self.commit_short(&last, ts);
        }
        self.rest();
        let apply = |error| ReplayError::Apply { lsn: last.lsn, error };
        let mut replaying = self.engine.begin_replay().map_err(apply)?;
        let (ranges, open) = (&mut self.ranges, &self.open);
        let written = operations(&self.engine, &self.disk, ranges, open, &last, |body| {
            replaying.write(body)
        });
        // What was written is taken back then, as of a session's transaction that ends in an error.
        written
            .and_then(|()| replaying.complete().map_err(apply))
            .map_err(taken_back)?;
        self.publish(last.lsn, replaying, ts, catalog)?;
        self.forget(last.term, last.header.transaction, Some(ts));
        Ok(())
    }

    /// A short commit cannot be taken back. Near the limit each has a transaction of its own, which can.
    fn has_memory_for(&self, operations: &[u8]) -> bool {
        let (budget, bytes) = (&self.engine.budget, operations.len() as u64);
        let guess = bytes * MEMORY_PER_BYTE;
        budget.has_ample(bytes * AMPLE_PER_BYTE)
            || budget.has_ample(guess) && budget.has_ample(guess + self.engine.patched_bytes(operations))
    }

    /// One that changes no definition, while nobody else's locks are on any row.
    fn commit_short(&mut self, last: &LastPart<'_>, ts: Lsn) -> Result<(), ReplayError> {
        let apply = |error| ReplayError::Apply { lsn: last.lsn, error };
        let mut short = match self.short.take() {
            Some(short) => short,
            None => self.engine.begin_replay().map_err(apply)?,
        };
        let (ranges, open) = (&mut self.ranges, &self.open);
        short.commit_at(ts, |replaying| {
            operations(&self.engine, &self.disk, ranges, open, last, |body| {
                replaying.write(body)
            })
        })?;
        self.short = Some(short);
        Ok(())
    }

    /// Nothing is replayed for a while, or by somebody else.
    pub fn rest(&mut self) {
        self.short = None;
    }

    fn publish(
        &self,
        lsn: Lsn,
        replaying: Replaying,
        ts: Lsn,
        catalog: &dyn FollowedCatalog,
    ) -> Result<(), ReplayError> {
        let writes = replaying.written_to(SQL_CATALOG_TABLE);
        let published = match writes.is_empty() {
            true => None,
            false => catalog
                .changes(writes)
                .map_err(|what| ReplayError::Catalog { lsn, what })?,
        };
        replaying.commit(ts);
        if let Some(published) = published {
            published(ts);
        }
        Ok(())
    }

    fn prepare(&mut self, prepare: PrepareHeader<'_>, last: LastPart<'_>) -> Result<(), ReplayError> {
        let first = self.first(&last);
        let mut prepared = PreparedTransaction {
            gid: prepare.gid.to_vec(),
            state: prepare.state.to_vec(),
            operations: Vec::new(),
            tells: last.tells,
        };
        operations(
            &self.engine,
            &self.disk,
            &mut self.ranges,
            &self.open,
            &last,
            |body| {
                prepared.operations.push(body.to_vec());
                Ok(())
            },
        )?;
        let apply = |error| ReplayError::Apply { lsn: last.lsn, error };
        self.engine
            .replay_prepare(prepared)
            .map_err(|error| taken_back(apply(error)))?;
        self.log().keep_prepared(prepare.gid, first);
        self.forget(last.term, last.header.transaction, None);
        Ok(())
    }

    fn commit_prepared(
        &self,
        lsn: Lsn,
        gid: &[u8],
        ts: Lsn,
        catalog: &dyn FollowedCatalog,
    ) -> Result<(), ReplayError> {
        let writes = self.engine.replayed_writes_to(gid, SQL_CATALOG_TABLE);
        let published = match writes.is_empty() {
            true => None,
            false => catalog
                .changes(writes)
                .map_err(|what| ReplayError::Catalog { lsn, what })?,
        };
        self.engine.replay_decision(gid, Some(ts));
        self.log().prepared_ended(gid, Some(ts));
        if let Some(published) = published {
            published(ts);
        }
        Ok(())
    }

    /// Whoever wrote what is open does not go on.
    pub(super) fn abort_open(&mut self) {
        for (term, number) in std::mem::take(&mut self.open).into_keys() {
            self.log().fragments_ended(term, number, None);
        }
    }

    fn forget(&mut self, term: u32, number: u64, committed: Option<Lsn>) {
        if self.open.remove(&(term, number)).is_some() {
            self.log().fragments_ended(term, number, committed);
        }
    }

    fn first(&self, last: &LastPart<'_>) -> Lsn {
        let first = self.open.get(&(last.term, last.header.transaction));
        first.copied().unwrap_or(last.lsn)
    }
}

/// Of what is taken back when there is no memory, and tried again.
fn taken_back(error: ReplayError) -> ReplayError {
    match error {
        ReplayError::Apply {
            lsn,
            error: ApplyError::OutOfMemory,
        } => ReplayError::NoMemory(lsn),
        error => error,
    }
}

/// Is there a change of a definition among these operations? Of malformed ones the answer means nothing.
fn describes(operations: &[u8]) -> bool {
    let visited =
        OperationStream::default().feed_bodies(operations, |_, body| match Operation::table_in(body) {
            Some(CATALOG_TABLE | SQL_CATALOG_TABLE) | None => Err(Malformed),
            Some(_) => Ok(()),
        });
    visited.is_err()
}

/// Every operation of a transaction that counts, in order.
fn operations(
    engine: &EngineCore,
    disk: &Arc<dyn Disk>,
    ranges: &mut Option<LogRanges>,
    open: &BTreeMap<(u32, u64), Lsn>,
    last: &LastPart<'_>,
    mut each: impl FnMut(&[u8]) -> Result<(), ApplyError>,
) -> Result<(), ReplayError> {
    let mut stream = OperationStream::default();
    let mut feed = |part: &[u8]| {
        let fed =
            stream.feed_bodies::<Refused>(part, |ordinal, body| match last.header.is_rolled_back(ordinal) {
                true => Ok(()),
                false => each(body).map_err(Refused),
            });
        fed.map_err(|Refused(error)| ReplayError::Apply { lsn: last.lsn, error })
    };
    if last.header.fragments > 0 {
        let key = (last.term, last.header.transaction);
        let missing = || ReplayError::Apply {
            lsn: last.lsn,
            error: ApplyError::Other("its first fragments are missing".into()),
        };
        let first = *open.get(&key).ok_or_else(missing)?;
        let log = &engine.log;
        let ranges =
            ranges.get_or_insert_with(|| LogRanges::new(disk.clone(), log.system_id(), log.segment_bytes()));
        read_fragments(ranges, first, last, &mut feed)?;
    }
    feed(last.body)?;
    match stream.is_complete() {
        true => Ok(()),
        false => Err(ReplayError::Apply {
            lsn: last.lsn,
            error: ApplyError::Other("its last operation is cut off".into()),
        }),
    }
}

/// The fragments of a transaction, from the first one to the frame that ends it. No other term lies between.
fn read_fragments(
    ranges: &mut LogRanges,
    first: Lsn,
    last: &LastPart<'_>,
    feed: &mut dyn FnMut(&[u8]) -> Result<(), ReplayError>,
) -> Result<(), ReplayError> {
    let mut frames = FrameStream::new(first);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        while let Some(frame) = frames.next_frame().map_err(ReplayError::Fault)? {
            if frame.header.lsn >= last.lsn {
                return Ok(());
            }
            if frame.header.kind == FrameKind::Fragment
                && let Some((header, body)) = FragmentHeader::decode(frame.payload)
                && header.transaction == last.header.transaction
            {
                feed(body)?;
            }
        }
        if frames.position() >= last.lsn {
            return Ok(());
        }
        let from = frames.fed_to();
        match ranges.read(from, &mut piece) {
            Ok(Some(read)) => frames.feed(&piece[..read]),
            Ok(None) => return Err(ReplayError::Gone(from)),
            Err(error) => return Err(ReplayError::Io(error)),
        }
    }
}

struct Refused(ApplyError);

impl From<Malformed> for Refused {
    fn from(_: Malformed) -> Refused {
        Refused(ApplyError::Other("an operation is malformed".into()))
    }
}
