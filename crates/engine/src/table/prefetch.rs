//! Hints to the processor that a row will be read soon, for scans that know the next rows ahead.
//!
//! Rows of a range lie anywhere in memory: without a hint each costs two cache misses one after the other, slot and
//! version (about 80 ns each when memory answers). A hint changes nothing but time: it never faults, whatever the address.

use mote_common::RowId;

use super::store::Table;

/// How many rows ahead of the reader a scan asks for the slot: two memory latencies at 30 to 50 ns a row.
pub const SLOTS_AHEAD: usize = 8;
/// How many rows ahead it asks for the version, whose address the slot then holds: one latency.
pub const VERSIONS_AHEAD: usize = 4;

impl Table {
    /// Asks for the slot of a row.
    #[inline]
    pub fn prefetch_slot(&self, row: RowId) {
        if let Some(slot) = self.slot(row) {
            fetch_line(std::ptr::from_ref(slot).cast());
        }
    }

    /// Asks for the newest version of a row: its header and the bytes behind it. Reads the slot.
    #[inline]
    pub fn prefetch_version(&self, row: RowId) {
        if let Some(slot) = self.slot(row) {
            let version = slot.head().cast::<u8>();
            fetch_line(version);
            fetch_line(version.wrapping_add(64));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing into registers and does not fault; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch_line(_: *const u8) {}
