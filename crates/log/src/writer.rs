//! How commits get into the log: a writer for each thread, room that is admitted first, and one step that decides.
//!
//! `admit` does all that can fail. `append` cannot: between the reservation of a position and the filled frame nothing
//! allocates or panics, because every later frame waits for this one. `append_judged` lets a commit look at what lies below
//! before it is decided, and wait for that alone ([`LowerFrames`]).

use std::cell::Cell;
use std::marker::PhantomData;

use mote_common::Lsn;

use super::buffer;
use super::frame::{FRAME_HEADER_BYTES, FrameHeader, FrameKind, PAYLOAD_BYTES_MAX, frame_bytes};
use super::pins::{PinChange, PinOwner};
use super::record::RedoBuffer;
use super::room::SetAside;
use super::{Inner, Log, LogError};

impl Log {
    /// A place for one thread's commits. Waits for one when `writers_max` exist already.
    pub fn writer(&self) -> LogWriter {
        loop {
            if let Some(slot) = self.inner.buffer.take_slot() {
                return LogWriter {
                    log: self.clone(),
                    slot,
                    admitted: Cell::new(false),
                    not_sync: PhantomData,
                };
            }
            mote_common::sync::thread::yield_now();
        }
    }
}

/// One thread's way into the log. May move between threads, not be shared.
pub struct LogWriter {
    log: Log,
    slot: usize,
    admitted: Cell<bool>,
    not_sync: PhantomData<Cell<()>>,
}

/// Room in the ring and on disk for one frame. Dropped unused, it is given back.
#[must_use]
pub struct Admission<'a> {
    writer: &'a LogWriter,
    payload_bytes: usize,
    /// Its room was set aside before.
    aside: bool,
    header: FrameHeader,
    checked: bool,
}

impl LogWriter {
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Everything that can fail, before the commit step. One admission at a time.
    pub fn admit(&self, payload_bytes: usize) -> Result<Admission<'_>, LogError> {
        assert!(!self.admitted.get(), "a writer holds one admission at a time");
        let inner = &*self.log.inner;
        if payload_bytes > PAYLOAD_BYTES_MAX {
            return Err(LogError::TooLarge);
        }
        self.log.check_writable()?;
        match inner.buffer.admit(frame_bytes(payload_bytes)) {
            Ok(()) => {}
            Err(shortage) => return Err(self.log.refusal(shortage)),
        }
        Ok(self.admission(payload_bytes, false))
    }

    /// The same out of what was set aside, as far as that goes.
    pub fn admit_from(
        &self,
        aside: Option<&mut SetAside>,
        payload_bytes: usize,
    ) -> Result<Admission<'_>, LogError> {
        let drawn = aside.is_some_and(|aside| aside.draw(frame_bytes(payload_bytes)));
        if !drawn {
            return self.admit(payload_bytes);
        }
        assert!(!self.admitted.get(), "a writer holds one admission at a time");
        let admission = self.admission(payload_bytes, true);
        match self.log.inner.is_stopped() {
            true => Err(LogError::Stopped),
            false => Ok(admission),
        }
    }

    fn admission(&self, payload_bytes: usize, aside: bool) -> Admission<'_> {
        self.admitted.set(true);
        Admission {
            writer: self,
            payload_bytes,
            aside,
            header: self.log.inner.header(FrameKind::Commit, 0, 0),
            checked: false,
        }
    }

    /// The commit step: reserves the position, calls `decided` with the frame's end, fills the frame.
    ///
    /// `decided` runs between reservation and filling: it must not allocate, wait or panic (a panic ends the process).
    pub fn append(
        &self,
        mut admission: Admission<'_>,
        kind: FrameKind,
        payload: &[u8],
        decided: impl FnOnce(Lsn),
    ) -> Lsn {
        assert!(std::ptr::eq(self, admission.writer) && payload.len() <= admission.payload_bytes);
        let inner = &*self.log.inner;
        if !admission.checked {
            admission.checksum(payload);
        }
        let mut header = admission.header;
        header.kind = kind;
        header.payload_bytes = payload.len() as u32;
        let change = self.pin_change(kind, payload);
        if let Some(change) = &change {
            inner.pin_before(change);
        }
        let start = inner
            .buffer
            .append(self.slot, frame_bytes(payload.len()), |start, filling| {
                header.lsn = Lsn(start);
                header.durable = inner.stable();
                decided(header.end());
                filling.put(0, &header.encode());
                filling.put(FRAME_HEADER_BYTES, payload);
                filling.zero_from(FRAME_HEADER_BYTES + payload.len());
            });
        let end = Lsn(start + frame_bytes(payload.len()));
        if let Some(change) = &change {
            inner.pin_after(change, end);
        }
        end
    }

    /// The commit step of a transaction that may still fail: `judge` is told the frame's end and answers whether it is
    /// a COMMIT; else it is a VOID. Between reservation and filling, like `decided` of [`append`](Self::append).
    pub fn append_judged(
        &self,
        mut admission: Admission<'_>,
        payload: &[u8],
        judge: impl FnOnce(Lsn, &LowerFrames<'_>) -> bool,
    ) -> Option<Lsn> {
        assert!(std::ptr::eq(self, admission.writer) && payload.len() <= admission.payload_bytes);
        let inner = &*self.log.inner;
        if !admission.checked {
            admission.checksum(payload);
        }
        let mut header = admission.header;
        header.payload_bytes = payload.len() as u32;
        let (committed, voided) = (
            self.pin_change(FrameKind::Commit, payload),
            self.pin_change(FrameKind::Void, payload),
        );
        let mut valid = false;
        let start = inner
            .buffer
            .append(self.slot, frame_bytes(payload.len()), |start, filling| {
                filling.narrow(self.slot);
                header.lsn = Lsn(start);
                let lower = LowerFrames {
                    filling,
                    slot: self.slot,
                    start: Lsn(start),
                };
                valid = judge(header.end(), &lower);
                header.kind = if valid { FrameKind::Commit } else { FrameKind::Void };
                header.durable = inner.stable();
                filling.put(0, &header.encode());
                filling.put(FRAME_HEADER_BYTES, payload);
                filling.zero_from(FRAME_HEADER_BYTES + payload.len());
            });
        let end = Lsn(start + frame_bytes(payload.len()));
        if let Some(change) = if valid { committed } else { voided } {
            inner.pin_after(&change, end);
        }
        valid.then_some(end)
    }

    /// Sends fragments as long as `redo` has enough for one. Call after each operation and before the commit.
    pub fn send_fragments(&self, redo: &mut RedoBuffer) -> Result<(), LogError> {
        let inner = &*self.log.inner;
        while redo.fragment_is_due() {
            if let Some(owner) = self.fragment_owner(redo) {
                inner
                    .pins
                    .may_grow(&owner, inner.oldest_kept())
                    .map_err(|first| inner.keeps_too_much(first))?;
            }
            let tells = redo.tells();
            let payload = redo.fragment(&self.log);
            let mut admission = self.admit(payload.len())?;
            admission.tells(tells);
            self.append(admission, FrameKind::Fragment, payload, |_| {});
            redo.fragment_sent();
        }
        Ok(())
    }

    /// Before the frame that commits or prepares `redo`: from here on the log of its fragments is kept, whatever the
    /// limit.
    pub fn pin_until_end(&self, redo: &RedoBuffer) -> Result<(), LogError> {
        let inner = &*self.log.inner;
        match self.fragment_owner(redo) {
            Some(owner) => inner
                .pins
                .pin_until_end(&owner)
                .map_err(|first| inner.keeps_too_much(first)),
            None => Ok(()),
        }
    }

    fn fragment_owner(&self, redo: &RedoBuffer) -> Option<PinOwner> {
        Some(PinOwner::Fragmented {
            term: self.log.inner.term(),
            transaction: redo.fragmented_transaction()?,
        })
    }

    fn pin_change(&self, kind: FrameKind, payload: &[u8]) -> Option<PinChange> {
        let term = self.log.inner.term();
        match kind {
            FrameKind::Commit | FrameKind::Void => {
                let change = PinChange::of_commit(term, payload)?;
                match change {
                    PinChange::Commit(owner) if kind == FrameKind::Void => Some(PinChange::Abort(owner)),
                    change => Some(change),
                }
            }
            FrameKind::Fragment => PinChange::of_fragment(term, payload),
            FrameKind::Abort => PinChange::of_abort(term, payload),
            FrameKind::Prepare => PinChange::of_prepare(term, payload),
            FrameKind::CommitPrepared => Some(PinChange::of_decision(payload, true)),
            FrameKind::RollbackPrepared => Some(PinChange::of_decision(payload, false)),
            FrameKind::Sequence | FrameKind::Pad | FrameKind::Term | FrameKind::RestorePoint => None,
        }
    }
}

/// What lies below a frame that is being decided.
pub struct LowerFrames<'a> {
    filling: &'a buffer::Filling<'a>,
    slot: usize,
    start: Lsn,
}

impl LowerFrames<'_> {
    /// Where the frame begins: every commit that counts before it has a timestamp up to here.
    pub fn start(&self) -> Lsn {
        self.start
    }

    /// Waits until all of them are filled: what a commit does between its decision and that is done.
    pub fn await_filled(&self) {
        self.filling.await_lower(self.slot);
    }
}

impl Inner {
    /// Pins are there before the frame can become stable, so that no checkpoint overlooks it.
    fn pin_before(&self, change: &PinChange) {
        let lower_bound = Lsn(self.buffer.tail());
        match change {
            PinChange::Open(owner) => self.pins.open(owner.clone(), lower_bound),
            PinChange::Prepare { gid, fragmented } => {
                self.pins.prepare(gid, fragmented.as_ref(), lower_bound)
            }
            PinChange::Commit(_) | PinChange::Abort(_) => {}
        }
    }

    fn pin_after(&self, change: &PinChange, ts: Lsn) {
        match change {
            PinChange::Commit(owner) => self.pins.commit(owner, ts),
            PinChange::Abort(owner) => self.pins.abort(owner),
            PinChange::Open(_) | PinChange::Prepare { .. } => {}
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.log.inner.buffer.give_slot(self.slot);
    }
}

impl Admission<'_> {
    /// The frame may hold operations for subscribers.
    pub fn tells(&mut self, tells: bool) {
        self.header.tells = tells;
    }

    /// Computes the checksum ahead, so that even that is not done while others wait for the outcome.
    pub fn checksum(&mut self, payload: &[u8]) {
        self.header.payload_crc = crc32fast::hash(payload);
        self.checked = true;
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        let buffer = &self.writer.log.inner.buffer;
        match self.aside {
            true => buffer.give_back(frame_bytes(self.payload_bytes)),
            false => buffer.retract(frame_bytes(self.payload_bytes)),
        }
        self.writer.admitted.set(false);
    }
}
