//! Versions: the 24-byte header in front of row bytes, and the stamp that says whose and since when.
//!
//! ```text
//!  0  8  stamp     commit timestamp, or bit 63 | transaction slot (31 bits) | command id (32 bits)
//!  8  6  previous  older version, 0 = end of chain          } one atomic word
//! 14  2  length    payload in units of 8 bytes, or 0xFFFF   }
//! 16  4  lock      explicit row lock (see `lock/row.rs`), 0 = none
//! 20  1  layout    21  1  flags    22  2  revision
//! 24     payload   row bytes, zero-padded to 8; with length 0xFFFF the first 8 bytes hold the payload's length
//! ```
//! Invariants: once a version is reachable only stamp, previous, lock and flags change; an uncommitted stamp is replaced
//! before its transaction's slot is used again. Versions are freed through the epoch, never directly, once reachable.

use crate::memory::slab;
use mote_common::Lsn;
use mote_common::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::ptr::NonNull;

pub(crate) const HEADER_BYTES: usize = 24;
const PREVIOUS_MASK: u64 = (1 << 48) - 1;
const LENGTH_SHIFT: u32 = 48;
const LENGTH_HUGE: u64 = 0xffff;
const UNITS_MAX: usize = 0xfffe;

/// No row: deleted as of the stamp.
pub(crate) const TOMBSTONE: u8 = 1;
/// Some index entry of this row may belong to another version of the chain: readers re-check keys.
pub(crate) const KEY_CHANGED: u8 = 2;
/// The update changed a key of a unique index (or deleted the row): conflicts with KEY SHARE as well.
pub(crate) const KEY_LOCK: u8 = 4;
/// The row stands in the collector's queue.
pub(crate) const QUEUED: u8 = 8;
/// Of a tombstone: the row went on elsewhere, under an id that nothing here knows. Not logged: it matters to who waited
/// for the deleting transaction, and nobody waits across a restart.
pub(crate) const MOVED: u8 = 16;

#[repr(C)]
pub(crate) struct Version {
    stamp: AtomicU64,
    link: AtomicU64,
    pub(crate) lock: AtomicU32,
    layout: u8,
    flags: AtomicU8,
    revision: u16,
}

const _: () = assert!(size_of::<Version>() == HEADER_BYTES);
const _: () = assert!(align_of::<Version>() == 8);

/// A stamp, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp(pub(crate) u64);

impl Stamp {
    const UNCOMMITTED: u64 = 1 << 63;
    /// Slot number of no transaction: the version was rolled back.
    const ABORTED_SLOT: u32 = 0x7fff_ffff;
    pub(crate) const ABORTED: Stamp = Stamp(Self::UNCOMMITTED | (Self::ABORTED_SLOT as u64) << 32);

    pub(crate) fn committed(ts: Lsn) -> Stamp {
        debug_assert!(ts.0 & Self::UNCOMMITTED == 0);
        Stamp(ts.0)
    }

    pub(crate) fn uncommitted(slot: u32, command: u32) -> Stamp {
        debug_assert!(slot < Self::ABORTED_SLOT);
        Stamp(Self::UNCOMMITTED | (slot as u64) << 32 | command as u64)
    }

    #[inline]
    pub(crate) fn timestamp(self) -> Option<Lsn> {
        (self.0 & Self::UNCOMMITTED == 0).then_some(Lsn(self.0))
    }

    /// Of an uncommitted stamp.
    #[inline]
    pub(crate) fn slot(self) -> u32 {
        (self.0 >> 32) as u32 & 0x7fff_ffff
    }

    /// Of an uncommitted stamp.
    #[inline]
    pub(crate) fn command(self) -> u32 {
        self.0 as u32
    }
}

/// What a new version is made of.
pub(crate) struct NewVersion<'a> {
    pub(crate) stamp: Stamp,
    pub(crate) previous: *const Version,
    pub(crate) layout: u8,
    pub(crate) flags: u8,
    pub(crate) revision: u16,
    /// Row bytes; empty for a tombstone.
    pub(crate) row: &'a [u8],
}

/// Bytes a version with `row_bytes` of row takes.
#[inline]
pub(crate) fn allocation_bytes(row_bytes: usize) -> usize {
    let padded = row_bytes.next_multiple_of(8);
    HEADER_BYTES + padded + if padded / 8 > UNITS_MAX { 8 } else { 0 }
}

impl Version {
    /// Allocates and fills a version. The budget was charged with `allocation_bytes(row.len())`.
    pub(crate) fn allocate(new: NewVersion<'_>) -> NonNull<Version> {
        let bytes = allocation_bytes(new.row.len());
        let block = slab::allocate(bytes);
        let version = block.cast::<Version>();
        let units = new.row.len().div_ceil(8);
        let huge = units > UNITS_MAX;
        let length = if huge { LENGTH_HUGE } else { units as u64 };
        debug_assert!(new.previous as u64 & !PREVIOUS_MASK == 0);
        let header = Version {
            stamp: AtomicU64::new(new.stamp.0),
            link: AtomicU64::new(new.previous as u64 | length << LENGTH_SHIFT),
            lock: AtomicU32::new(0),
            layout: new.layout,
            flags: AtomicU8::new(new.flags),
            revision: new.revision,
        };
        // SAFETY: the block has `bytes` bytes, 8-aligned, and is ours: header, the long length if huge, the padded row.
        unsafe {
            version.write(header);
            let mut payload = block.as_ptr().add(HEADER_BYTES);
            if huge {
                payload.cast::<u64>().write((units * 8) as u64);
                payload = payload.add(8);
            }
            if units > 0 {
                payload.add(units * 8 - 8).cast::<u64>().write(0); // padding
                payload.copy_from_nonoverlapping(new.row.as_ptr(), new.row.len());
            }
        }
        version
    }

    /// Frees a version at once.
    ///
    /// # Safety
    /// It came from `allocate`, and no other thread can reach it.
    pub(crate) unsafe fn free(version: NonNull<Version>) {
        // SAFETY: alive until the next line.
        let bytes = unsafe { Version::total_bytes(version) };
        // SAFETY: allocated with `allocation_bytes` of the same row, which is what `total_bytes` recomputes.
        unsafe { slab::free(version.cast(), bytes) };
    }

    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        // Acquire: pairs with `set_stamp`, and keeps the second look of `visibility` behind the first.
        Stamp(self.stamp.load(Ordering::Acquire))
    }

    /// Release: pairs with `stamp`. The transaction's slot is given back only after this.
    #[inline]
    pub(crate) fn set_stamp(&self, stamp: Stamp) {
        self.stamp.store(stamp.0, Ordering::Release);
    }

    #[inline]
    pub(crate) fn previous(&self) -> *const Version {
        // Acquire: pairs with `set_previous` and with the publication of the version the link was made with.
        (self.link.load(Ordering::Acquire) & PREVIOUS_MASK) as *const Version
    }

    /// Only under the row latch: the length beside the link does not change, so no read-modify-write is needed.
    pub(crate) fn set_previous(&self, previous: *const Version) {
        let length = self.link.load(Ordering::Relaxed) & !PREVIOUS_MASK;
        // Release: pairs with `previous`.
        self.link.store(previous as u64 | length, Ordering::Release);
    }

    /// Where the row begins, and its padded length. Of a pointer and not of a reference, here and below: a reference covers
    /// the header alone, and what is read through one must not lie behind it.
    ///
    /// # Safety
    /// As `payload`.
    #[inline]
    unsafe fn payload_span(version: NonNull<Version>) -> (usize, usize) {
        // SAFETY: alive by the contract.
        let units = unsafe { version.as_ref() }.link.load(Ordering::Relaxed) >> LENGTH_SHIFT;
        if units != LENGTH_HUGE {
            return (HEADER_BYTES, units as usize * 8);
        }
        let length = version.as_ptr().cast::<u8>();
        // SAFETY: a huge version has its length in the 8 bytes after the header, written before publication.
        let bytes = unsafe { length.add(HEADER_BYTES).cast::<u64>().read() };
        (HEADER_BYTES + 8, bytes as usize)
    }

    /// The row, padded to a multiple of 8 bytes.
    ///
    /// # Safety
    /// `version` is the pointer that came from `allocate`, not one made of a reference, and stays allocated during `'a`.
    #[inline]
    pub(crate) unsafe fn payload<'a>(version: NonNull<Version>) -> &'a [u8] {
        // SAFETY: by the contract.
        let (start, bytes) = unsafe { Version::payload_span(version) };
        // SAFETY: the allocation has `bytes` initialised bytes from `start`, immutable since publication.
        unsafe { std::slice::from_raw_parts(version.as_ptr().cast::<u8>().add(start), bytes) }
    }

    /// What was allocated for it, bytes.
    ///
    /// # Safety
    /// As `payload`.
    pub(crate) unsafe fn total_bytes(version: NonNull<Version>) -> usize {
        // SAFETY: by the contract.
        let (start, bytes) = unsafe { Version::payload_span(version) };
        start + bytes
    }

    pub(crate) fn layout(&self) -> u8 {
        self.layout
    }

    pub(crate) fn revision(&self) -> u16 {
        self.revision
    }

    #[inline]
    pub(crate) fn flags(&self) -> u8 {
        // Relaxed: flags set after publication are hints (QUEUED), or set under the row latch before the head that
        // readers load with Acquire (KEY_CHANGED).
        self.flags.load(Ordering::Relaxed)
    }

    pub(crate) fn set_flags(&self, flags: u8) {
        self.flags.fetch_or(flags, Ordering::Relaxed);
    }

    pub(crate) fn clear_flags(&self, flags: u8) {
        self.flags.fetch_and(!flags, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_tombstone(&self) -> bool {
        self.flags() & TOMBSTONE != 0
    }
}

/// `free` for the epoch: the size is the version's own.
///
/// # Safety
/// As `Version::free`.
pub(crate) unsafe fn free_deferred(pointer: *mut u8, _bytes: usize) {
    if let Some(version) = NonNull::new(pointer.cast::<Version>()) {
        // SAFETY: passed on.
        unsafe { Version::free(version) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_and_size_survive_for_small_padded_and_huge_rows() {
        for length in [0usize, 1, 7, 8, 9, 250, 65_535, 524_272, 524_273, 600_001] {
            let row: Vec<u8> = (0..length).map(|i| i as u8 | 1).collect();
            let version = Version::allocate(NewVersion {
                stamp: Stamp::uncommitted(7, 9),
                previous: std::ptr::null(),
                layout: 3,
                flags: KEY_CHANGED,
                revision: 4,
                row: &row,
            });
            // SAFETY: just allocated, freed at the end of the round.
            unsafe {
                let header = version.as_ref();
                assert_eq!(Version::total_bytes(version), allocation_bytes(length));
                assert_eq!((header.stamp().slot(), header.stamp().command()), (7, 9));
                assert_eq!(
                    (header.layout(), header.flags(), header.revision()),
                    (3, KEY_CHANGED, 4)
                );
                let payload = Version::payload(version);
                assert_eq!(&payload[..length], &row[..]);
                assert!(payload[length..].iter().all(|&byte| byte == 0));
                Version::free(version);
            }
        }
    }
}
