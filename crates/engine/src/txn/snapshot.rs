//! Snapshots, and rows read through them.

use crate::slots::slot::{SNAPSHOTS, SlotTable, SnapshotEntry};
use crate::table::version::Version;
use mote_common::{CommandId, Lsn, RowId};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Told when memory runs out and a session holds the oldest snapshot: it must end what reads through it (72000).
pub trait RevocationListener: Send + Sync {
    /// Called by the collector. Must not block. Others may read through the snapshot, too ([`Snapshot::session`]).
    fn revoked(&self, session: u32);
}

/// What a statement reads: every commit up to `ts`, and the transaction's own writes of earlier commands.
///
/// Registered: versions it sees stay where they are until its last clone is dropped, also across suspensions.
pub struct Snapshot {
    slots: &'static SlotTable,
    slot: u32,
    entry: u8,
    command: u32,
    ts: Lsn,
}

impl Snapshot {
    /// Takes over one reference of a registered entry.
    pub(super) fn adopt(slots: &'static SlotTable, slot: u32, entry: u8, command: u32, ts: Lsn) -> Snapshot {
        Snapshot {
            slots,
            slot,
            entry,
            command,
            ts,
        }
    }

    pub fn timestamp(&self) -> Lsn {
        self.ts
    }

    /// Own writes of commands below this one are seen.
    pub fn command(&self) -> CommandId {
        CommandId(self.command)
    }

    /// The same snapshot for another command of its transaction.
    pub(super) fn at_command(&self, command: u32) -> Snapshot {
        let mut snapshot = self.clone();
        snapshot.command = command;
        snapshot
    }

    /// Does anybody else read through it?
    pub(super) fn is_shared(&self) -> bool {
        self.registered().is_shared()
    }

    /// The session whose transaction registered it; it may have ended since.
    pub fn session(&self) -> u32 {
        self.slots.get(self.slot).session()
    }

    pub(super) fn is_revoked(&self) -> bool {
        self.registered().is_revoked()
    }

    fn registered(&self) -> &'static SnapshotEntry {
        &self.slots.get(self.slot).snapshots[self.entry as usize]
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Snapshot {
        self.registered().acquire();
        Snapshot {
            slots: self.slots,
            slot: self.slot,
            entry: self.entry,
            command: self.command,
            ts: self.ts,
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        match self.entry as usize == SNAPSHOTS - 1 {
            true => self.registered().release_joinable(),
            false => self.registered().release(),
        }
        self.slots.snapshot_released(self.slot);
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("ts", &self.ts)
            .field("command", &self.command)
            .finish()
    }
}

/// A row as one snapshot (or the holder of its lock) sees it. The bytes stay valid for `'s`.
///
/// It borrows the transaction besides the snapshot: a rollback frees what the transaction has written itself, so that the
/// row has to be gone by then.
///
/// ```
/// use mote_engine::{RowVersion, Snapshot, Table, Transaction};
///
/// fn look(transaction: Transaction, table: &Table, row: mote_common::RowId, snapshot: &Snapshot) {
///     let version: Option<RowVersion<'_>> = transaction.fetch(table, row, snapshot);
///     drop(version.map(|version| version.bytes().len()));
///     transaction.abort();
/// }
/// ```
///
/// ```compile_fail,E0505
/// use mote_engine::{RowVersion, Snapshot, Table, Transaction};
///
/// fn look(transaction: Transaction, table: &Table, row: mote_common::RowId, snapshot: &Snapshot) {
///     let version: Option<RowVersion<'_>> = transaction.fetch(table, row, snapshot);
///     transaction.abort();
///     drop(version.map(|version| version.bytes().len()));
/// }
/// ```
#[derive(Clone, Copy)]
pub struct RowVersion<'s> {
    pub(crate) version: NonNull<Version>,
    row: RowId,
    key_check: bool,
    alive: PhantomData<&'s ()>,
}

// SAFETY: a version's bytes are immutable and kept alive for `'s` by a registered snapshot or a row lock, neither of which
// belongs to a thread.
unsafe impl Send for RowVersion<'_> {}

impl<'s> RowVersion<'s> {
    /// # Safety
    /// The version stays allocated during `'s` and is not a tombstone.
    pub(crate) unsafe fn new(version: NonNull<Version>, row: RowId, key_check: bool) -> RowVersion<'s> {
        RowVersion {
            version,
            row,
            key_check,
            alive: PhantomData,
        }
    }

    pub fn row(&self) -> RowId {
        self.row
    }

    pub(crate) fn header(&self) -> &'s Version {
        // SAFETY: alive during 's, see `new`.
        unsafe { self.version.as_ref() }
    }

    /// Row bytes, padded with zeros to a multiple of 8.
    #[inline]
    pub fn bytes(&self) -> &'s [u8] {
        // SAFETY: alive during 's, see `new`.
        unsafe { Version::payload(self.version) }
    }

    /// Number of the layout the bytes were written with: `Table::layout`, or `Table::view` for both at once.
    pub fn layout(&self) -> u8 {
        self.header().layout()
    }

    /// Was it committed behind `ts`, or not at all yet?
    pub fn is_newer_than(&self, ts: Lsn) -> bool {
        self.header()
            .stamp()
            .timestamp()
            .is_none_or(|committed| committed > ts)
    }

    /// Changes with every committed version, stays the same across commit: xmin for clients.
    pub fn revision(&self) -> u16 {
        self.header().revision()
    }

    /// An index entry that led here may belong to another version of the row: derive the key again and compare.
    pub fn needs_key_check(&self) -> bool {
        self.key_check
    }

    /// Is this the very version that `other` is?
    pub fn is_same_version(&self, other: &RowVersion<'_>) -> bool {
        self.version == other.version
    }
}

impl fmt::Debug for RowVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowVersion")
            .field("row", &self.row)
            .field("revision", &self.revision())
            .finish()
    }
}
