//! Redo operations, and the payloads of the frames that carry them.
//!
//! The operations of a transaction form one byte stream, numbered from 0 (their ordinals). A short transaction sends the
//! whole stream in its COMMIT. A long one sends pieces, cut anywhere, in FRAGMENTs while it runs; the COMMIT then carries
//! the rest, the number of fragments, and which ordinals savepoints rolled back after they had been sent. Each operation
//! stands behind its length, so that a reader can put cut ones together and step over those it does not want.
//!
//! Invariants: ordinals count every operation that was ever sent; what was not sent is simply cut off by `truncate`.
//! Decoders take untrusted bytes and never panic. Leaves out: frames (`frame`), operations for subscribers (`told`), who applies
//! operations (`mote_engine::recovery`, `mote_engine::follow`).

use mote_common::{Lsn, RowId, TableId};

use super::Log;
use super::frame::PAYLOAD_BYTES_MAX;
use super::patch;
use super::told::{self, is_told};
use super::varint::{self, Cursor};

/// A transaction sends a fragment when it has buffered this much; the commit frame has room for that and its header.
pub const FRAGMENT_BYTES: usize = 128 * 1024;
/// Room for the header of a FRAGMENT.
const FRAGMENT_BODY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX - 32;

const INSERT: u8 = 1;
const UPDATE: u8 = 2;
const UPDATE_WHOLE: u8 = 3;
const DELETE: u8 = 4;

/// One change of one row. `base_ts` is the commit timestamp of the version that was changed; zero stands for a version
/// of the same transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation<'a> {
    Insert {
        table: TableId,
        row: RowId,
        layout: u8,
        bytes: &'a [u8],
    },
    Update {
        table: TableId,
        row: RowId,
        layout: u8,
        base_ts: Lsn,
        patch: &'a [u8],
    },
    UpdateWhole {
        table: TableId,
        row: RowId,
        layout: u8,
        base_ts: Lsn,
        bytes: &'a [u8],
    },
    Delete {
        table: TableId,
        row: RowId,
        base_ts: Lsn,
    },
}

impl<'a> Operation<'a> {
    pub fn table(&self) -> TableId {
        match *self {
            Operation::Insert { table, .. }
            | Operation::Update { table, .. }
            | Operation::UpdateWhole { table, .. }
            | Operation::Delete { table, .. } => table,
        }
    }

    pub fn row(&self) -> RowId {
        match *self {
            Operation::Insert { row, .. }
            | Operation::Update { row, .. }
            | Operation::UpdateWhole { row, .. }
            | Operation::Delete { row, .. } => row,
        }
    }

    /// The table of an operation that was not decoded.
    pub fn table_in(body: &[u8]) -> Option<TableId> {
        let mut cursor = Cursor::new(body);
        cursor.byte()?;
        Some(TableId(cursor.varint_u32()?))
    }

    /// Decodes what stands behind the length. `None`: malformed.
    pub fn decode(body: &'a [u8]) -> Option<Operation<'a>> {
        let mut cursor = Cursor::new(body);
        let kind = cursor.byte()?;
        let table = TableId(cursor.varint_u32()?);
        let row = RowId(cursor.varint()?);
        if row.0 >> 48 != 0 || row.offset() as u32 >= RowId::SEGMENT_ROWS {
            return None;
        }
        Some(match kind {
            INSERT => Operation::Insert {
                table,
                row,
                layout: cursor.byte()?,
                bytes: cursor.rest(),
            },
            UPDATE => {
                let (layout, base_ts) = (cursor.byte()?, Lsn(cursor.varint()?));
                Operation::Update {
                    table,
                    row,
                    layout,
                    base_ts,
                    patch: cursor.rest(),
                }
            }
            UPDATE_WHOLE => {
                let (layout, base_ts) = (cursor.byte()?, Lsn(cursor.varint()?));
                Operation::UpdateWhole {
                    table,
                    row,
                    layout,
                    base_ts,
                    bytes: cursor.rest(),
                }
            }
            DELETE => {
                let base_ts = Lsn(cursor.varint()?);
                cursor
                    .is_empty()
                    .then_some(Operation::Delete { table, row, base_ts })?
            }
            _ => return None,
        })
    }
}

/// A place in a transaction's operations to which a savepoint can return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    position: u64,
    ordinal: u64,
}

/// The redo of one transaction: grows while it runs, leaves in fragments and in the commit frame.
#[derive(Debug, Default)]
pub struct RedoBuffer {
    /// A zero byte (the header of a COMMIT without fragments) and the operations that were not sent.
    /// Empty until the first operation, so that a reader allocates nothing.
    bytes: Vec<u8>,
    /// Operations so far, sent or not: the next ordinal.
    operations: u64,
    /// How much of the stream was sent, and how many operations began in it.
    sent_bytes: u64,
    sent_operations: u64,
    /// Of `bytes`, behind the zero: the rest of operations counted as sent, which must follow.
    owed_bytes: usize,
    fragments: u32,
    /// Names the transaction in its fragments; 0 while there are none.
    transaction: u64,
    /// Ordinals `from..to` that were rolled back after they had been sent; ascending, disjoint.
    rolled_back: Vec<(u64, u64)>,
    /// Something was written that the log does not hold: the commit needs a frame for its timestamp.
    unlogged: bool,
    /// Operations for subscribers were among those so far.
    tells: bool,
    scratch: Vec<u8>,
}

impl RedoBuffer {
    pub fn new() -> RedoBuffer {
        RedoBuffer::default()
    }

    /// Nothing to log: a commit needs no frame.
    pub fn is_empty(&self) -> bool {
        self.buffered_bytes() == 0 && self.fragments == 0 && !self.unlogged
    }

    /// Notes a write to a temporary table: nothing of it is logged, but it has to be committed.
    pub fn note_unlogged(&mut self) {
        self.unlogged = true;
    }

    /// Bytes of operations held in memory.
    pub fn buffered_bytes(&self) -> usize {
        self.bytes.len().saturating_sub(1)
    }

    /// Bytes allocated, for the memory account.
    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity() + self.scratch.capacity()
    }

    /// Makes the buffer fit for the next transaction, keeping up to `keep_bytes` of its memory.
    pub fn reset(&mut self, keep_bytes: usize) {
        let (mut bytes, mut scratch) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.scratch));
        bytes.clear();
        bytes.shrink_to(keep_bytes);
        scratch.clear();
        scratch.shrink_to(keep_bytes);
        *self = RedoBuffer {
            bytes,
            scratch,
            ..RedoBuffer::default()
        };
    }

    pub fn insert(&mut self, table: TableId, row: RowId, layout: u8, bytes: &[u8]) {
        self.whole(INSERT, table, row, layout, None, bytes);
    }

    /// An update within one layout: logged as a patch when that is shorter.
    pub fn update(&mut self, table: TableId, row: RowId, layout: u8, base_ts: Lsn, old: &[u8], new: &[u8]) {
        let mut patch = std::mem::take(&mut self.scratch);
        patch.clear();
        patch::encode(&mut patch, old, new);
        if patch.len() < new.len() {
            self.whole(UPDATE, table, row, layout, Some(base_ts), &patch);
        } else {
            self.whole(UPDATE_WHOLE, table, row, layout, Some(base_ts), new);
        }
        self.scratch = patch;
    }

    /// An update that changes the layout.
    pub fn update_whole(&mut self, table: TableId, row: RowId, layout: u8, base_ts: Lsn, bytes: &[u8]) {
        self.whole(UPDATE_WHOLE, table, row, layout, Some(base_ts), bytes);
    }

    pub fn delete(&mut self, table: TableId, row: RowId, base_ts: Lsn) {
        let body = 1 + varint::size(table.0 as u64) + varint::size(row.0) + varint::size(base_ts.0);
        self.begin(DELETE, body, table, row);
        varint::put(&mut self.bytes, base_ts.0);
    }

    /// Some frame of the transaction may hold operations for subscribers.
    pub fn tells(&self) -> bool {
        self.tells
    }

    /// For subscribers: what the table is ([`told::ToldRelation`]).
    pub fn relation(&mut self, table: TableId, content: &[u8]) {
        let body = 1 + varint::size(table.0 as u64) + content.len();
        self.begin_told(told::RELATION, body);
        varint::put(&mut self.bytes, table.0 as u64);
        self.bytes.extend_from_slice(content);
    }

    /// For subscribers: the row as it is before the change that follows.
    pub fn old_row(&mut self, table: TableId, row: RowId, bytes: &[u8]) {
        let body = 1 + varint::size(table.0 as u64) + varint::size(row.0) + bytes.len();
        self.begin_told(told::OLD_ROW, body);
        varint::put(&mut self.bytes, table.0 as u64);
        varint::put(&mut self.bytes, row.0);
        self.bytes.extend_from_slice(bytes);
    }

    /// For subscribers: these tables lose their rows.
    pub fn truncated(&mut self, options: u8, tables: &[TableId]) {
        let names: usize = tables.iter().map(|table| varint::size(table.0 as u64)).sum();
        self.begin_told(told::TRUNCATE, 2 + varint::size(tables.len() as u64) + names);
        self.bytes.push(options);
        varint::put(&mut self.bytes, tables.len() as u64);
        for table in tables {
            varint::put(&mut self.bytes, table.0 as u64);
        }
    }

    fn begin_told(&mut self, kind: u8, body_bytes: usize) {
        if self.bytes.is_empty() {
            self.bytes.push(0);
        }
        varint::put(&mut self.bytes, body_bytes as u64);
        self.bytes.push(kind);
        self.operations += 1;
        self.tells = true;
    }

    fn whole(&mut self, kind: u8, table: TableId, row: RowId, layout: u8, base_ts: Option<Lsn>, tail: &[u8]) {
        let base_size = base_ts.map_or(0, |ts| varint::size(ts.0));
        let body = 2 + varint::size(table.0 as u64) + varint::size(row.0) + base_size + tail.len();
        self.begin(kind, body, table, row);
        self.bytes.push(layout);
        if let Some(ts) = base_ts {
            varint::put(&mut self.bytes, ts.0);
        }
        self.bytes.extend_from_slice(tail);
    }

    fn begin(&mut self, kind: u8, body_bytes: usize, table: TableId, row: RowId) {
        if self.bytes.is_empty() {
            self.bytes.push(0);
        }
        varint::put(&mut self.bytes, body_bytes as u64);
        self.bytes.push(kind);
        varint::put(&mut self.bytes, table.0 as u64);
        varint::put(&mut self.bytes, row.0);
        self.operations += 1;
    }

    pub fn mark(&self) -> Mark {
        Mark {
            position: self.sent_bytes + self.buffered_bytes() as u64,
            ordinal: self.operations,
        }
    }

    /// Takes back every operation since `mark`: cuts off those still here, notes those already sent.
    pub fn truncate(&mut self, mark: Mark) {
        let kept = mark.position.saturating_sub(self.sent_bytes) as usize;
        if !self.bytes.is_empty() {
            self.bytes.truncate(1 + kept.max(self.owed_bytes));
        }
        self.operations = mark.ordinal.max(self.sent_operations);
        if mark.ordinal < self.sent_operations {
            while self
                .rolled_back
                .last()
                .is_some_and(|&(from, _)| from >= mark.ordinal)
            {
                self.rolled_back.pop();
            }
            match self.rolled_back.last_mut() {
                Some(last) if last.1 >= mark.ordinal => last.1 = self.sent_operations,
                _ => self.rolled_back.push((mark.ordinal, self.sent_operations)),
            }
        }
    }

    /// The number that names the transaction in fragments that were sent.
    pub(super) fn fragmented_transaction(&self) -> Option<u64> {
        (self.fragments > 0).then_some(self.transaction)
    }

    /// Whether it is time for a FRAGMENT.
    pub(super) fn fragment_is_due(&self) -> bool {
        self.buffered_bytes() >= FRAGMENT_BYTES
    }

    /// The payload of the next FRAGMENT. Call `fragment_sent` once it was appended; until then every call answers the
    /// same. `LogWriter::send_fragments` does both.
    pub(super) fn fragment(&mut self, log: &Log) -> &[u8] {
        if self.transaction == 0 {
            self.transaction = log.next_fragmented_transaction();
        }
        let body = self.buffered_bytes().min(FRAGMENT_BODY_BYTES_MAX);
        self.scratch.clear();
        varint::put(&mut self.scratch, self.transaction);
        varint::put(&mut self.scratch, self.fragments as u64);
        self.scratch.extend_from_slice(&self.bytes[1..1 + body]);
        &self.scratch
    }

    pub(super) fn fragment_sent(&mut self) {
        let body = self.buffered_bytes().min(FRAGMENT_BODY_BYTES_MAX);
        self.bytes.drain(1..1 + body);
        self.sent_bytes += body as u64;
        self.fragments += 1;
        // A cut may fall inside an operation. All that is left then counts as sent, so that no half is ever cut off.
        self.owed_bytes = self.buffered_bytes();
        self.sent_operations = self.operations;
    }

    /// The payload of the COMMIT (or VOID); `None` when there is nothing to log. `send_fragments` must have run.
    pub fn commit_payload(&mut self) -> Result<Option<&[u8]>, TooManyRollbacks> {
        if self.is_empty() {
            return Ok(None);
        }
        if self.bytes.is_empty() {
            self.bytes.push(0);
        }
        if self.fragments == 0 {
            return Ok(Some(&self.bytes));
        }
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        self.put_commit(&mut out);
        self.scratch = out;
        if self.scratch.len() > PAYLOAD_BYTES_MAX {
            Err(TooManyRollbacks)
        } else {
            Ok(Some(&self.scratch))
        }
    }

    fn put_commit(&self, out: &mut Vec<u8>) {
        varint::put(out, self.transaction);
        if self.transaction != 0 {
            varint::put(out, self.fragments as u64);
            varint::put(out, self.rolled_back.len() as u64);
            let mut last = 0;
            for &(from, to) in &self.rolled_back {
                varint::put(out, from - last);
                varint::put(out, to - from);
                last = to;
            }
        }
        out.extend_from_slice(self.bytes.get(1..).unwrap_or_default());
    }

    /// The payload of the ABORT; `None` when no fragment was sent, so that nobody has to be told.
    pub fn abort_payload(&self) -> Option<Vec<u8>> {
        (self.fragments > 0).then(|| {
            let mut out = Vec::new();
            varint::put(&mut out, self.transaction);
            out
        })
    }

    /// The payload of a PREPARE. `state` is what its owner needs to restore the transaction's locks.
    pub fn prepare_payload(&self, gid: &[u8], state: &[u8]) -> Result<Vec<u8>, TooManyRollbacks> {
        let mut out = Vec::new();
        varint::put_bytes(&mut out, gid);
        varint::put_bytes(&mut out, state);
        self.put_commit(&mut out);
        if out.len() > PAYLOAD_BYTES_MAX {
            Err(TooManyRollbacks)
        } else {
            Ok(out)
        }
    }
}

/// The final frame of a fragmented transaction does not fit: some ten thousand fragments were partly rolled back, or
/// the locks of a prepared transaction are too many to write down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyRollbacks;

/// What a COMMIT says before its operations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommitHeader {
    /// 0: no fragments.
    pub transaction: u64,
    pub fragments: u32,
    pub rolled_back: Vec<(u64, u64)>,
}

impl CommitHeader {
    /// Splits the payload of a COMMIT into its header and its part of the operation stream.
    pub fn decode(payload: &[u8]) -> Option<(CommitHeader, &[u8])> {
        let mut cursor = Cursor::new(payload);
        let mut header = CommitHeader {
            transaction: cursor.varint()?,
            ..CommitHeader::default()
        };
        if header.transaction != 0 {
            header.fragments = cursor.varint_u32()?;
            let mut last = 0u64;
            for _ in 0..cursor.varint()? {
                let from = last.checked_add(cursor.varint()?)?;
                last = from.checked_add(cursor.varint()?)?;
                header.rolled_back.push((from, last));
            }
        }
        Some((header, cursor.rest()))
    }

    pub fn is_rolled_back(&self, ordinal: u64) -> bool {
        let next = self.rolled_back.partition_point(|&(_, to)| to <= ordinal);
        self.rolled_back
            .get(next)
            .is_some_and(|&(from, _)| from <= ordinal)
    }
}

/// What a FRAGMENT says before its operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentHeader {
    pub transaction: u64,
    pub sequence: u32,
}

impl FragmentHeader {
    pub fn decode(payload: &[u8]) -> Option<(FragmentHeader, &[u8])> {
        let mut cursor = Cursor::new(payload);
        let header = FragmentHeader {
            transaction: cursor.varint()?,
            sequence: cursor.varint_u32()?,
        };
        (header.transaction != 0).then_some((header, cursor.rest()))
    }
}

/// What a PREPARE says before the part that equals a COMMIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrepareHeader<'a> {
    pub gid: &'a [u8],
    pub state: &'a [u8],
}

impl<'a> PrepareHeader<'a> {
    pub fn decode(payload: &'a [u8]) -> Option<(PrepareHeader<'a>, &'a [u8])> {
        let mut cursor = Cursor::new(payload);
        let header = PrepareHeader {
            gid: cursor.bytes()?,
            state: cursor.bytes()?,
        };
        Some((header, cursor.rest()))
    }
}

/// The payload of a SEQUENCE frame and an entry of the manifest: values up to `logged_value` may have been handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceState {
    pub id: u32,
    pub logged_value: i64,
    /// PostgreSQL's `is_called`: whether `logged_value` itself was handed out.
    pub is_called: bool,
}

impl SequenceState {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out);
        out
    }

    pub fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.id as u64);
        varint::put(out, varint::zigzag(self.logged_value));
        out.push(self.is_called as u8);
    }

    pub fn decode(payload: &[u8]) -> Option<SequenceState> {
        let mut cursor = Cursor::new(payload);
        let state = SequenceState::take(&mut cursor)?;
        cursor.is_empty().then_some(state)
    }

    pub fn take(cursor: &mut Cursor<'_>) -> Option<SequenceState> {
        let (id, value) = (cursor.varint_u32()?, varint::unzigzag(cursor.varint()?));
        let flag = cursor.byte()?;
        (flag <= 1).then_some(SequenceState {
            id,
            logged_value: value,
            is_called: flag == 1,
        })
    }
}

/// Puts the operations of one transaction together from its frames.
#[derive(Debug, Default)]
pub struct OperationStream {
    carry: Vec<u8>,
    ordinal: u64,
}

/// The bytes are no operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl OperationStream {
    /// Hands over each operation that `bytes` completes, with its ordinal.
    pub fn feed<E: From<Malformed>>(
        &mut self,
        bytes: &[u8],
        mut visit: impl FnMut(u64, Operation<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.feed_bodies(bytes, |ordinal, body| {
            visit(ordinal, Operation::decode(body).ok_or(Malformed)?)
        })
    }

    /// The same with the operations' bytes, not yet decoded. Those for subscribers are stepped over.
    pub fn feed_bodies<E: From<Malformed>>(
        &mut self,
        bytes: &[u8],
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.feed_told(bytes, |ordinal, body| match is_told(body) {
            true => Ok(()),
            false => visit(ordinal, body),
        })
    }

    /// The same with those for subscribers.
    pub fn feed_told<E: From<Malformed>>(
        &mut self,
        bytes: &[u8],
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.carry.is_empty() {
            let used = self.visit_whole(bytes, &mut visit)?;
            self.carry.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        self.carry.extend_from_slice(bytes);
        let mut carry = std::mem::take(&mut self.carry);
        let used = self.visit_whole(&carry, &mut visit)?;
        // In place: an operation of many frames is not copied with each of them.
        carry.drain(..used);
        self.carry = carry;
        Ok(())
    }

    /// Hands over the operations that are whole; answers how many bytes they have.
    fn visit_whole<E: From<Malformed>>(
        &mut self,
        bytes: &[u8],
        visit: &mut impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut cursor = Cursor::new(bytes);
        while !cursor.is_empty() {
            let before = cursor.rest();
            let Some(body) = cursor.bytes() else {
                // Ten bytes that are no length will not become one.
                if before.len() >= 10 && Cursor::new(before).varint().is_none() {
                    return Err(Malformed.into());
                }
                return Ok(bytes.len() - before.len());
            };
            visit(self.ordinal, body)?;
            self.ordinal += 1;
        }
        Ok(bytes.len())
    }

    /// Whether the last operation was whole.
    pub fn is_complete(&self) -> bool {
        self.carry.is_empty()
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
