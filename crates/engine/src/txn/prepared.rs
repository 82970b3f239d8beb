//! Two-phase commit: PREPARE TRANSACTION, and the decision.
//!
//! A prepared transaction is a transaction without a session: its slot stays taken, its versions stay uncommitted, its
//! locks stay where they are and belong to nobody's session. What is kept of it is *dormant*: slot, list of writes, held
//! locks. The decision makes a `Transaction` of it again and ends that as any other, except that the redo stands in the
//! log already: COMMIT PREPARED is a frame of its own, whose end is the commit timestamp.
//!
//! Read in this order: `state` (what the PREPARE frame says of locks), this file, `undecided` (what whoever decides may
//! look at), `restore` and `objects` (after a crash; `damage`), `replayed` (on a node that follows), `relog` (so that an old one does not keep the log for ever). The
//! argument: docs/design/0007.
//!
//! Source: PostgreSQL's twophase.c. Other than there the redo stands in the log with PREPARE, and the decision is a frame that
//! names it.
//!
//! Promises: a gid names at most one prepared transaction; after `prepare` nothing can fail but the log; a decision that
//! the log did not take leaves the transaction prepared. Leaves out: who may decide (the caller is asked), durability
//! (the receipt's `seen` covers the frame: wait for `stable`, never for less).

mod damage;
mod objects;
mod relog;
mod replayed;
mod restore;
mod state;
mod undecided;

use super::commit::{ENDING, decide_commit, stamp_versions};
use super::dormant::{Dormant, PrepareError, PreparedInfo};
use super::engine_core::{EngineCore, NoRoom};
use super::error::{CommitReceipt, WriteError};
use super::transaction::{BeginOptions, Isolation, Transaction};
use super::work::Work;
use crate::epoch;
use crate::lock::owner::Owner;
use crate::lock::{LockMode, LockTag, MayWait, Ticket, Wake};
use crate::slots::TransactionId;
use crate::table::version::Version;
use mote_common::critical::AbortOnPanic;
use mote_common::sync::atomic::Ordering;
use mote_common::{Lsn, RowId, TableId};
use mote_log::LogUnavailable;
use mote_log::{FrameKind, LogError, RedoBuffer, SetAside, varint};
pub(crate) use objects::InsertedRows;
use state::{RowLock, State};
use std::sync::Arc;
pub(super) use undecided::writes_to;
pub use undecided::{PreparedWrite, Undecided};

/// Locks as bytes in the PREPARE frame, beside the last piece of redo.
const STATE_BYTES_MAX: usize = 96 << 10;

/// A transaction was not prepared but rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrepareFailure {
    pub error: PrepareError,
    pub receipt: CommitReceipt,
}

/// Why a decision was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FinishError<E> {
    /// No prepared transaction has this gid (any more).
    Unknown,
    Refused(E),
    /// It is as prepared as before.
    LogUnavailable(LogUnavailable),
    /// The log has no room now: wait for the ticket, then call again.
    MustWait(Ticket),
}

impl<E> MayWait for FinishError<E> {
    fn ticket(&self) -> Option<Ticket> {
        match self {
            FinishError::MustWait(ticket) => Some(*ticket),
            _ => None,
        }
    }
}

impl Transaction {
    /// PREPARE TRANSACTION: from here on the transaction survives crashes and belongs to whoever knows the gid. Its reply
    /// may leave when `stable` has reached the receipt's `seen`. On error the transaction was rolled back.
    pub fn prepare(self, gid: &str, note: &[u8]) -> Result<CommitReceipt, PrepareFailure> {
        let info = PreparedInfo {
            gid: gid.to_string(),
            transaction: self.id(),
            note: note.to_vec(),
        };
        let entry = match self.engine.prepared.reserve(info) {
            Ok(entry) => entry,
            Err(error) => {
                // Tells of others that are prepared.
                self.note_view();
                return Err(self.fail_prepare(error));
            }
        };
        match self.log_prepare(gid, note) {
            Ok(end) => {
                self.note_seen(end);
                self.engine.locks.leave_session(self.owner());
                // Whatever locks and views have told of lies below the frame's end.
                let seen = self.known();
                entry.settle(self.into_dormant());
                Ok(CommitReceipt {
                    commit_ts: None,
                    seen,
                    known: seen,
                })
            }
            Err(error) => {
                self.engine.prepared.forget(gid);
                Err(self.fail_prepare(error))
            }
        }
    }

    /// Sets room in the log aside for [`prepare`](Self::prepare), and waits for it as for a lock; call it right before.
    pub fn await_prepare_room(&self, gid: &str, note: &[u8]) -> Result<(), WriteError> {
        let state = held_locks(&self.engine, &self.work.borrow(), self.owner(), note).encode();
        if state.len() > STATE_BYTES_MAX {
            // Refused before it is written.
            return Ok(());
        }
        let lengths = 2 * varint::BYTES_MAX;
        self.await_end_room(gid.len() + state.len() + lengths, Some(1))
    }

    fn fail_prepare(self, error: PrepareError) -> PrepareFailure {
        PrepareFailure {
            error,
            receipt: self.abort(),
        }
    }

    /// Everything that can fail.
    fn log_prepare(&self, gid: &str, note: &[u8]) -> Result<Lsn, PrepareError> {
        if self.isolation() == Isolation::Serializable {
            return Err(PrepareError::Unsupported(
                "PREPARE TRANSACTION of a SERIALIZABLE transaction",
            ));
        }
        if self.has_temporary_objects() {
            return Err(PrepareError::Unsupported(
                "PREPARE TRANSACTION of a transaction that made temporary objects",
            ));
        }
        if self.engine.locks.locked_at_both_levels(self.owner()) {
            return Err(PrepareError::LockedAtBothLevels);
        }
        self.drop_snapshots();
        let state = held_locks(&self.engine, &self.work.borrow(), self.owner(), note).encode();
        if state.len() > STATE_BYTES_MAX {
            return Err(PrepareError::TooManyLocks {
                bytes: state.len(),
                maximum_bytes: STATE_BYTES_MAX,
            });
        }
        let mut work = self.work.borrow_mut();
        self.engine
            .append_prepare(&mut work.redo, gid, &state, self.aside.borrow_mut().as_mut())
            .map_err(PrepareError::LogUnavailable)
    }

    /// Takes the transaction apart without ending it.
    fn into_dormant(self) -> Dormant {
        // Readers of versions that ROLLBACK TO unlinked are gone with the snapshots.
        self.retire_undone();
        let mut work = self.work.take();
        work.tells |= work.redo.tells();
        work.redo.reset(0);
        work.savepoints.clear();
        work.told.clear();
        self.over.set(true);
        Dormant {
            slot: self.slot,
            work,
            seen: self.seen(),
            relogged: None,
        }
    }

    /// Writes the decision and ends the transaction; an error leaves it as it was.
    fn log_decision(&self, gid: &str, commit: bool) -> Result<Lsn, LogUnavailable> {
        let engine = &*self.engine;
        let guard = epoch::pin();
        let decided = engine.with_writer(|writer| {
            let work = self.work.borrow();
            // Always there: `finish_prepared` has set it aside.
            let mut admission = writer.admit_from(self.aside.borrow_mut().as_mut(), gid.len())?;
            admission.tells(work.tells);
            admission.checksum(gid.as_bytes());
            let critical = AbortOnPanic(ENDING);
            if !commit {
                let kind = FrameKind::RollbackPrepared;
                let end = writer.append(admission, kind, gid.as_bytes(), |_| {});
                return Ok((end, critical));
            }
            let slot = self.slot();
            slot.precommit();
            let end = writer.append(admission, FrameKind::CommitPrepared, gid.as_bytes(), |ts| {
                decide_commit(slot, &work.writes, ts)
            });
            Ok((end, critical))
        });
        let (end, critical) = decided?;
        if commit {
            let work = self.work.borrow();
            stamp_versions(&work, end);
            self.queue_superseded(&work, end);
            drop(work);
            let ddl = std::mem::take(&mut self.work.borrow_mut().ddl);
            self.finish_ddl(ddl);
            self.end(Some(end));
        } else {
            self.note_seen(end);
            self.roll_back();
        }
        std::mem::forget(critical);
        drop(guard);
        Ok(end)
    }
}

/// Every lock of the transaction, wherever it stands. What its uncommitted versions lock, they lock again when they are
/// written again.
fn held_locks(engine: &EngineCore, work: &Work, owner: Owner, note: &[u8]) -> State {
    let mut state = State {
        note: note.to_vec(),
        tables: work.tables.clone(),
        ..State::default()
    };
    for held in &work.rows {
        // SAFETY: tables outlive the transactions that locked their rows.
        let table = unsafe { &*held.table }.id();
        state.rows.push(RowLock::new(table, held.row, held.strength));
    }
    for (tag, mode) in engine.locks.held_by(owner) {
        match (tag, mode) {
            // Whoever waited for a row and found it deleted still has the lock it was handed. It protects nothing, and
            // after a restart the row's id may be another row's.
            (LockTag::Row(table, row), LockMode::Row(strength)) if !is_gone(engine, table, row) => {
                state.rows.push(RowLock::new(table, row, strength));
            }
            (LockTag::Advisory(key), LockMode::Advisory(mode)) => state.advisory.push((key, mode)),
            // Table locks are all in `work`; the end of a transaction is locked by being there.
            _ => {}
        }
    }
    state.tidy();
    state
}

/// Whether a row has no newest version, or a deletion for one.
fn is_gone(engine: &EngineCore, table: TableId, row: RowId) -> bool {
    let Some(table) = engine.table(table) else {
        return true;
    };
    let _guard = epoch::pin();
    let head = table.slot(row).map_or(std::ptr::null(), |slot| slot.head());
    // SAFETY: pinned before the head was loaded.
    unsafe { head.as_ref() }.is_none_or(Version::is_tombstone)
}

impl EngineCore {
    /// Prepared transactions, in order of their gids.
    pub fn prepared(&self) -> Vec<PreparedInfo> {
        let ready = self.prepared.ready();
        ready.iter().map(|entry| entry.info.clone()).collect()
    }

    /// Prepared transactions there can be.
    pub fn prepared_max(&self) -> usize {
        self.prepared.maximum.load(Ordering::Relaxed)
    }

    /// COMMIT PREPARED or ROLLBACK PREPARED, if `allow` does; what it answers is handed back. The reply may leave when
    /// `stable` has reached the receipt's `seen`. Without `wake` it waits for room in the log on its thread.
    pub fn finish_prepared<T, E>(
        self: &Arc<EngineCore>,
        gid: &str,
        commit: bool,
        wake: Option<&Arc<dyn Wake>>,
        allow: impl FnOnce(Undecided<'_>) -> Result<T, E>,
    ) -> Result<(CommitReceipt, T), FinishError<E>> {
        let entry = self.prepared.entries.lock().get(gid).cloned();
        let entry = entry
            .filter(|entry| entry.ready.load(Ordering::Acquire))
            .ok_or(FinishError::Unknown)?;
        // Before the place is locked and `allow` begins to publish: from there on nobody waits for the disk.
        let aside = self.with_log_room(wake, || self.log.set_aside(gid.len(), 1));
        let aside = aside.map_err(|refused| match refused {
            NoRoom::MustWait(ticket) => FinishError::MustWait(ticket),
            NoRoom::Failed(error) => FinishError::LogUnavailable(error.into()),
        })?;
        let mut place = entry.dormant.lock();
        let undecided = Undecided {
            info: &entry.info,
            // Otherwise another session was faster.
            dormant: place.as_ref().ok_or(FinishError::Unknown)?,
        };
        let allowed = allow(undecided).map_err(FinishError::Refused)?;
        let dormant = place.take().expect("there a moment ago, and locked");
        let relogged = dormant.relogged;
        let transaction = self.wake_up(entry.info.transaction, dormant);
        *transaction.aside.borrow_mut() = Some(aside);
        match transaction.log_decision(gid, commit) {
            Ok(end) => {
                drop(place);
                self.prepared.forget(gid);
                let seen = transaction.known();
                let receipt = CommitReceipt {
                    commit_ts: commit.then_some(end),
                    seen,
                    known: seen,
                };
                Ok((receipt, allowed))
            }
            Err(reason) => {
                let dormant = transaction.into_dormant();
                *place = Some(Dormant { relogged, ..dormant });
                Err(FinishError::LogUnavailable(reason))
            }
        }
    }

    fn wake_up(self: &Arc<EngineCore>, id: TransactionId, dormant: Dormant) -> Transaction {
        let options = BeginOptions {
            session_seen: dormant.seen,
            ..BeginOptions::default()
        };
        Transaction::around(self, dormant.slot, id, options, dormant.work)
    }

    /// Appends what is missing of `redo`, and the PREPARE. Answers its end.
    fn append_prepare(
        &self,
        redo: &mut RedoBuffer,
        gid: &str,
        state: &[u8],
        mut aside: Option<&mut SetAside>,
    ) -> Result<Lsn, LogUnavailable> {
        let append = || {
            self.with_writer(|writer| {
                writer.send_fragments(redo)?;
                writer.pin_until_end(redo)?;
                let payload = redo
                    .prepare_payload(gid.as_bytes(), state)
                    .map_err(|_| LogError::TooLarge)?;
                let mut admission = writer.admit_from(aside.as_deref_mut(), payload.len())?;
                admission.tells(redo.tells());
                admission.checksum(&payload);
                Ok(writer.append(admission, FrameKind::Prepare, &payload, |_| {}))
            })
        };
        match self.with_log_room(None, append) {
            Ok(end) => Ok(end),
            Err(NoRoom::Failed(error)) => Err(error.into()),
            Err(NoRoom::MustWait(_)) => unreachable!("nobody is queued without a wake"),
        }
    }

    /// The engine is going: its slots are given back as if the prepared transactions were over. They are in the log.
    pub(crate) fn abandon_prepared(&self) {
        for (_, entry) in std::mem::take(&mut *self.prepared.entries.lock()) {
            if let Some(dormant) = entry.dormant.lock().take() {
                let slot = self.slots.get(dormant.slot);
                slot.abort();
                self.locks.release_fast(slot, usize::MAX);
                self.slots.give(dormant.slot);
            }
        }
    }
}
