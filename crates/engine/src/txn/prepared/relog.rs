//! Old prepared transactions are written again at the tail of the log, so that they do not keep it for ever.
//!
//! The redo is made anew from the versions, which are there until the decision; updates are written whole. Until the new
//! PREPARE is stable the old frames count and are kept; recovery takes the last PREPARE of an undecided gid. A decision
//! waits meanwhile (`dormant`), so that no PREPARE follows it.

use super::held_locks;
use super::state::State;
use crate::lock::owner::Owner;
use crate::table::version::Version;
use crate::table::visibility::{Standing, standing};
use crate::txn::dormant::Dormant;
use crate::txn::engine_core::EngineCore;
use crate::txn::work::WriteKind;
use mote_common::Lsn;
use mote_log::{FrameKind, LogError, RedoBuffer};

/// Redo up to this size is written again: in one go it takes a worker that decides at the same time some ten
/// milliseconds. A larger transaction keeps the log until it is decided.
const RELOG_BYTES_MAX: usize = 16 << 20;

impl EngineCore {
    /// A step of the collector.
    pub(crate) fn relog_prepared(&self) {
        if self.prepared.entries.lock().is_empty() {
            return;
        }
        let stable = self.log.stable();
        for entry in self.prepared.ready() {
            // Somebody is deciding it: then there is nothing to do.
            let Some(mut place) = entry.dormant.try_lock() else {
                continue;
            };
            let Some(dormant) = place.as_mut() else { continue };
            let gid = &entry.info.gid;
            if let Some((first, end)) = dormant.relogged {
                if stable >= end {
                    self.log.prepared_moved(gid.as_bytes(), first);
                    dormant.relogged = None;
                }
                continue;
            }
            let kept_from = self.log.kept_by_prepared(gid.as_bytes()).unwrap_or(stable);
            if stable.0.saturating_sub(kept_from.0) > self.prepared.log_bytes {
                self.relog(gid, &entry.info.note, dormant);
            }
        }
    }

    /// Where the log takes nothing now, the next step tries again.
    fn relog(&self, gid: &str, note: &[u8], dormant: &mut Dormant) {
        let Some(mut redo) = self.redo_of(dormant) else {
            return;
        };
        let state = self.state_of(note, dormant).encode();
        // Not above any of the new frames.
        let first = self.log.tail();
        match self.append_prepare(&mut redo, gid, &state, None) {
            Ok(end) => dormant.relogged = Some((first, end)),
            Err(_) => {
                if let Some(payload) = redo.abort_payload() {
                    // If the log does not take this either, the fragments are kept for nothing until the next start.
                    let _ = self.with_writer(|writer| {
                        let admission = writer.admit(payload.len())?;
                        Ok::<_, LogError>(writer.append(admission, FrameKind::Abort, &payload, |_| {}))
                    });
                }
            }
        }
    }

    fn state_of(&self, note: &[u8], dormant: &Dormant) -> State {
        let slot = self.slots.get(dormant.slot);
        let owner = Owner {
            id: slot.id(),
            session: slot.session(),
            slot: dormant.slot,
        };
        held_locks(self, &dormant.work, owner, note)
    }

    /// `None`: too much, or what it says to subscribers stands in the old frames alone.
    fn redo_of(&self, dormant: &Dormant) -> Option<RedoBuffer> {
        if dormant.work.tells {
            return None;
        }
        let mut redo = RedoBuffer::new();
        for write in &dormant.work.writes {
            // SAFETY: tables outlive the transactions that wrote them; uncommitted versions and what is directly below
            // them stay until the decision, which we exclude.
            let (table, version, bytes) = unsafe {
                (
                    (*write.table).id(),
                    write.version.as_ref(),
                    Version::payload(write.version),
                )
            };
            let base = || self.base_of(version, dormant.slot);
            match write.kind {
                WriteKind::Insert => redo.insert(table, write.row, version.layout(), bytes),
                WriteKind::Update => redo.update_whole(table, write.row, version.layout(), base(), bytes),
                WriteKind::Delete => redo.delete(table, write.row, base()),
            }
            if redo.buffered_bytes() > RELOG_BYTES_MAX {
                return None;
            }
        }
        Some(redo)
    }

    /// The timestamp of the version below; zero for one of the transaction's own.
    fn base_of(&self, version: &Version, own_slot: u32) -> Lsn {
        // SAFETY: as in `redo_of`.
        let base = unsafe { version.previous().as_ref() }.expect("a version was changed");
        match standing(base, self.slots, own_slot) {
            Standing::Committed(ts) => ts,
            _ => Lsn::ZERO,
        }
    }
}
