//! Which version of a chain a reader sees.
//!
//! A stamp is either a commit timestamp or names the slot of its transaction. The slot may have been given to another
//! transaction meanwhile, but never before the stamp was replaced: when the stamp is the same after looking at the slot,
//! what was seen there belonged to it.
//!
//! A SERIALIZABLE writer that is validating has a timestamp but no outcome. Who reads at or above that timestamp waits
//! for it (the one exception to "readers never wait"; microseconds of another thread's work); to everybody else it is
//! in flight.

use super::store::Table;
use super::version::{Stamp, Version};
use crate::epoch::Guard;
use crate::slots::slot::{SlotTable, TransactionState};
use mote_common::{Lsn, RowId};
use std::ptr::NonNull;

/// No transaction has this slot: every uncommitted version is somebody else's.
pub(crate) const NOBODY: u32 = u32::MAX;

/// What a version is to one transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    Committed(Lsn),
    /// Written by the asking transaction, in this command.
    Own(u32),
    /// Written by the transaction in this slot, which may still commit or abort.
    InFlight(u32),
    /// Rolled back, about to be unlinked or unlinked already.
    Aborted,
}

/// Spins before the thread is given up: the writer between reservation and decision needs some 50 ns.
const SPINS: u32 = 128;

/// Decides what `version` is to the transaction in `own_slot`. Waits out a transaction that is just deciding.
#[inline]
pub(crate) fn standing(version: &Version, slots: &SlotTable, own_slot: u32) -> Standing {
    standing_as_of(version, slots, own_slot, Lsn::ZERO)
}

/// The same for somebody to whom commits up to `as_of` count: waits for the outcome of validations up to there.
#[inline]
pub(crate) fn standing_as_of(version: &Version, slots: &SlotTable, own_slot: u32, as_of: Lsn) -> Standing {
    let stamp = version.stamp();
    if let Some(ts) = stamp.timestamp() {
        return Standing::Committed(ts);
    }
    if stamp.slot() == own_slot {
        return Standing::Own(stamp.command());
    }
    standing_of_other(version, slots, stamp, as_of)
}

fn standing_of_other(version: &Version, slots: &SlotTable, mut stamp: Stamp, as_of: Lsn) -> Standing {
    let mut spins = 0;
    loop {
        if let Some(ts) = stamp.timestamp() {
            return Standing::Committed(ts);
        }
        if stamp == Stamp::ABORTED {
            return Standing::Aborted;
        }
        let state = slots.get(stamp.slot()).state();
        let again = version.stamp();
        if again != stamp {
            stamp = again;
            continue;
        }
        match state {
            TransactionState::Committed(ts) => return Standing::Committed(ts),
            TransactionState::Active => return Standing::InFlight(stamp.slot()),
            TransactionState::Aborted => return Standing::Aborted,
            TransactionState::Validating(ts) if ts > as_of => return Standing::InFlight(stamp.slot()),
            TransactionState::Precommitting | TransactionState::Validating(_) => {
                spins += 1;
                if spins < SPINS {
                    mote_common::sync::hint::spin_loop()
                } else {
                    mote_common::sync::thread::yield_now()
                }
                stamp = version.stamp();
            }
            TransactionState::Free => {
                // Impossible with the stamp unchanged, by the rule above.
                unreachable!("a stamp names a free transaction slot");
            }
        }
    }
}

/// The versions of a row whose transaction may still commit, newest first, without tombstones: layout and bytes.
pub(crate) fn in_flight<'g>(
    table: &Table,
    row: RowId,
    slots: &SlotTable,
    _pinned: &'g Guard,
) -> Vec<(u8, &'g [u8])> {
    let mut found = Vec::new();
    let mut at = table.slot(row).map_or(std::ptr::null(), |slot| slot.head());
    while let Some(version) = NonNull::new(at.cast_mut()) {
        // SAFETY: reached from the head under the guard, which also keeps the bytes.
        let (header, bytes) = unsafe { (version.as_ref(), Version::payload(version)) };
        let undecided = matches!(standing(header, slots, NOBODY), Standing::InFlight(_));
        if undecided && !header.is_tombstone() {
            found.push((header.layout(), bytes));
        }
        at = header.previous();
    }
    found
}

/// Who looks.
#[derive(Clone, Copy)]
pub(crate) struct Eye<'a> {
    pub(crate) slots: &'a SlotTable,
    pub(crate) own_slot: u32,
    /// Own versions of earlier commands are seen.
    pub(crate) command: u32,
    pub(crate) ts: Lsn,
}

/// What a look at a chain found.
#[derive(Clone, Copy)]
pub(crate) struct Sight {
    /// The visible version; may be a tombstone.
    pub(crate) version: *const Version,
    /// Its timestamp; `None` for an own one.
    pub(crate) ts: Option<Lsn>,
}

/// Walks from `head` to the newest version that `eye` sees.
///
/// # Safety
/// The caller is pinned since before it loaded `head` from its slot.
#[inline]
pub(crate) unsafe fn look(head: *const Version, eye: Eye<'_>) -> Option<Sight> {
    let mut at = head;
    // SAFETY: versions reachable from a head loaded under the pin are freed only after the pin.
    while let Some(version) = unsafe { at.as_ref() } {
        match standing_as_of(version, eye.slots, eye.own_slot, eye.ts) {
            Standing::Committed(ts) if ts <= eye.ts => {
                return Some(Sight {
                    version: at,
                    ts: Some(ts),
                });
            }
            Standing::Own(command) if command < eye.command => {
                return Some(Sight {
                    version: at,
                    ts: None,
                });
            }
            _ => at = version.previous(),
        }
    }
    None
}
