//! Rows from images and from the log: recovery, and whoever replays.
//!
//! In place: a row has one version, no old ones, and indexes are loaded afterwards (`load`). Nobody reads meanwhile, and calls for
//! one segment come from one thread at a time, in log order. No constraint is checked; what is checked is that an operation
//! meets the version it was made for.
//!
//! Also here: reading a segment for an image.

use super::store::{Table, ordinal_of_row};
use super::version::{NewVersion, Stamp, Version, allocation_bytes};
use super::visibility::{Eye, look};
use crate::checkpoint::{RowImage, TableSource};
use crate::epoch;
use crate::memory::Charge;
use crate::recovery::{ApplyError, TableTarget};
use mote_common::{Lsn, RowId, TableId};
use mote_log::patch;
use std::ptr::NonNull;

/// No transaction has this slot.
const NOBODY: u32 = u32::MAX;

fn unknown_layout(layout: u8) -> ApplyError {
    ApplyError::Other(format!("the table has no layout {layout}"))
}

impl Table {
    /// The row's only version.
    pub(super) fn loaded(&self, row: RowId) -> Option<NonNull<Version>> {
        NonNull::new(self.slot(row)?.head().cast_mut())
    }

    fn put(&self, row: RowId, layout: u8, revision: u16, ts: Lsn, bytes: &[u8]) -> Result<(), ApplyError> {
        if self.find_layout(layout).is_none() {
            return Err(unknown_layout(layout));
        }
        if !self
            .budget()
            .charge(allocation_bytes(bytes.len()), Charge::Essential)
        {
            return Err(ApplyError::OutOfMemory);
        }
        self.raise_ordinals_end(ordinal_of_row(row) + 1);
        let segment = self.directory.ensure(row.segment());
        let version = Version::allocate(NewVersion {
            stamp: Stamp::committed(ts),
            previous: std::ptr::null(),
            layout,
            flags: 0,
            revision,
            row: bytes,
        });
        self.replace(row, version.as_ptr());
        segment.raise_last_change(ts);
        Ok(())
    }

    /// Whether all of these can be loaded; takes the memory for them.
    fn check_image(&self, rows: &[RowImage<'_>]) -> Result<(), (usize, ApplyError)> {
        let (mut bytes, mut layout, mut before) = (0, None, None);
        for (at, row) in rows.iter().enumerate() {
            if layout != Some(row.layout) && self.find_layout(row.layout).is_none() {
                return Err((at, unknown_layout(row.layout)));
            }
            // Images are written in row-id order, so this finds a row given twice.
            if before >= Some(row.row) || row.row.segment() != rows[0].row.segment() {
                return Err((at, ApplyError::Other("the image has the row out of order".into())));
            }
            (layout, before) = (Some(row.layout), Some(row.row));
            bytes += allocation_bytes(row.bytes.len());
        }
        if self.budget().charge(bytes, Charge::Essential) {
            Ok(())
        } else {
            Err((0, ApplyError::OutOfMemory))
        }
    }

    /// Puts `version` (or nothing) into the slot and frees what was there.
    fn replace(&self, row: RowId, version: *const Version) {
        let slot = self.slot(row).expect("the segment is there");
        let mut latched = slot.latch();
        let old = latched.head();
        latched.set_head(version);
        drop(latched);
        if let Some(old) = NonNull::new(old.cast_mut()) {
            // SAFETY: nobody reads during replay, and it is unlinked.
            unsafe {
                self.budget().release(Version::total_bytes(old));
                Version::free(old);
            }
        }
    }

    /// The version that an operation changes; zero stands for one of the operation's own transaction.
    fn base(&self, row: RowId, base_ts: Lsn, ts: Lsn) -> Result<NonNull<Version>, ApplyError> {
        let version = self.loaded(row).ok_or(ApplyError::BaseMismatch { found: None })?;
        let expected = if base_ts == Lsn::ZERO { ts } else { base_ts };
        // SAFETY: nobody else changes the row during replay.
        match unsafe { version.as_ref() }.stamp().timestamp() {
            Some(found) if found == expected => Ok(version),
            found => Err(ApplyError::BaseMismatch { found }),
        }
    }
}

impl TableTarget for Table {
    fn load_image(&self, rows: &[RowImage<'_>]) -> Result<(), (usize, ApplyError)> {
        let Some(last) = rows.iter().map(|row| row.row).max() else {
            return Ok(());
        };
        self.check_image(rows)?;
        // What holds for all rows is done once: this is where a cold start spends its time.
        self.raise_ordinals_end(ordinal_of_row(last) + 1);
        let segment = self.directory.ensure(last.segment());
        for row in rows {
            let version = Version::allocate(NewVersion {
                stamp: Stamp::committed(row.commit_ts),
                previous: std::ptr::null(),
                layout: row.layout,
                flags: 0,
                revision: row.revision,
                row: row.bytes,
            });
            segment.slot(row.row.offset()).publish(version.as_ptr());
        }
        let newest = rows.iter().map(|row| row.commit_ts).max();
        segment.raise_last_change(newest.unwrap_or(Lsn::ZERO));
        Ok(())
    }

    fn apply_insert(&self, row: RowId, layout: u8, ts: Lsn, bytes: &[u8]) -> Result<(), ApplyError> {
        // SAFETY: nobody else changes the row during replay.
        let stamped = |version: NonNull<Version>| unsafe { version.as_ref() }.stamp().timestamp();
        match self.loaded(row).and_then(stamped) {
            Some(found) => Err(ApplyError::AlreadyThere { found }),
            None => self.put(row, layout, 1, ts, bytes),
        }
    }

    fn apply_update_whole(
        &self,
        row: RowId,
        layout: u8,
        base_ts: Lsn,
        ts: Lsn,
        bytes: &[u8],
    ) -> Result<(), ApplyError> {
        let base = self.base(row, base_ts, ts)?;
        // SAFETY: nobody else changes the row during replay.
        let revision = unsafe { base.as_ref() }.revision().wrapping_add(1);
        self.put(row, layout, revision, ts, bytes)
    }

    fn apply_patch(
        &self,
        row: RowId,
        layout: u8,
        base_ts: Lsn,
        ts: Lsn,
        patch: &[u8],
    ) -> Result<(), ApplyError> {
        let base = self.base(row, base_ts, ts)?;
        let mut bytes = Vec::new();
        // SAFETY: nobody else changes the row during replay.
        let (header, old) = unsafe { (base.as_ref(), Version::payload(base)) };
        let revision = header.revision().wrapping_add(1);
        patch::apply(old, patch, &mut bytes)
            .map_err(|_| ApplyError::Other(format!("the patch of row {row:?} does not fit the row")))?;
        self.put(row, layout, revision, ts, &bytes)
    }

    fn apply_delete(&self, row: RowId, base_ts: Lsn, ts: Lsn) -> Result<(), ApplyError> {
        self.base(row, base_ts, ts)?;
        self.replace(row, std::ptr::null());
        if let Some(segment) = self.directory.get(row.segment()) {
            segment.raise_last_change(ts);
        }
        Ok(())
    }
}

impl TableSource for Table {
    fn id(&self) -> TableId {
        self.id()
    }

    fn segment_count(&self) -> u32 {
        self.segment_count()
    }

    fn segment_last_change(&self, segment: u32) -> Lsn {
        self.segment_last_change(segment)
    }

    fn visit_segment(&self, segment: u32, snapshot: Lsn, visit: &mut dyn FnMut(RowImage<'_>)) {
        let Some(slots) = self.directory.get(segment) else {
            return;
        };
        let eye = Eye {
            slots: self.slots,
            own_slot: NOBODY,
            command: 0,
            ts: snapshot,
        };
        for offset in 0..RowId::SEGMENT_ROWS as u16 {
            let _guard = epoch::pin();
            // SAFETY: pinned before the head is loaded.
            let Some(sight) = (unsafe { look(slots.slot(offset).head(), eye) }) else {
                continue;
            };
            let found = NonNull::new(sight.version.cast_mut()).expect("what is visible is a version");
            // SAFETY: found under the pin.
            let version = unsafe { found.as_ref() };
            let (false, Some(commit_ts)) = (version.is_tombstone(), sight.ts) else {
                continue;
            };
            visit(RowImage {
                row: RowId::new(segment, offset),
                layout: version.layout(),
                revision: version.revision(),
                commit_ts,
                // SAFETY: found under the pin, which is held until the visit is over.
                bytes: unsafe { Version::payload(found) },
            });
        }
    }
}
