//! The ring in memory between the writers and the flusher, and the protocol that lets all of them fill it at once.
//!
//! An LSN `p` lives at `p % capacity`. A writer reserves `[start, start + size)` with one `fetch_add` on `tail` and copies
//! its frame there while others do the same beside it. Before the `fetch_add` it publishes, in its own slot, a position
//! that is not above its start; it withdraws that when the frame is filled. Hence everything below the minimum of `tail`
//! and of all published positions is filled: the flusher may read it.
//!
//! Invariants:
//! 1. Nobody reserves without admission, and admission leaves room for everything that others may still reserve:
//!    `ALLOWANCE_BYTES` for each slot, and the sum in `large` for larger frames and for what is set aside. So `tail` never
//!    passes the space that is free in the ring and prepared on disk, although reserving checks nothing.
//! 2. Reserved ranges are disjoint, and the flusher reads only below `filled`: plain copies race with nothing.
//! 3. From reservation to filled nothing allocates or panics; a panic there aborts the process, since the range would stay
//!    unfilled for ever. Nothing waits but for ranges below its own (`await_lower`): so the lowest waits for nobody.

use mote_common::critical::AbortOnPanic;
use mote_common::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::alloc::{self, Layout};
use std::cell::UnsafeCell;
use std::ptr::NonNull;

use super::frame::BLOCK_BYTES;

/// Where a panic leaves a hole in the log.
const COMMIT_STEP: &str = "between the reservation of a log position and its filling";

/// Room that admission keeps for each writer: a frame of `SMALL_FRAME_BYTES` and the PADs a flush may add behind it.
pub(super) const ALLOWANCE_BYTES: u64 = 16 * 1024;
/// Frames up to this size are covered by the allowance of their writer.
pub(super) const SMALL_FRAME_BYTES: u64 = ALLOWANCE_BYTES - 2 * BLOCK_BYTES - 64;
/// Looks at writers of lower frames before the thread is given up: one may have lost the processor.
const LOWER_SPINS: u32 = 256;
/// A published position of a writer that is filling nothing.
const NOTHING: u64 = u64::MAX;

/// Keeps what many threads write away from its neighbours' cache lines.
#[repr(align(128))]
pub(super) struct Padded<T>(pub T);

#[repr(align(128))]
struct Slot {
    taken: AtomicBool,
    /// Not above the start of the frame that is being filled; `NOTHING` between frames.
    unfilled: AtomicU64,
}

pub(super) struct Buffer {
    memory: Memory,
    capacity: u64,
    tail: Padded<AtomicU64>,
    /// Bytes of admitted large frames whose position is not yet reserved, and bytes that are set aside.
    large: Padded<AtomicU64>,
    /// Everything below is in files: its room in the ring is free.
    flushed: Padded<AtomicU64>,
    /// Segment files exist, zeroed and synced, up to here.
    prepared: AtomicU64,
    slots: Box<[Slot]>,
}

/// Why a frame was not admitted.
pub(super) enum Shortage {
    /// The ring has room once everything below this is flushed.
    Ring { until: u64 },
    /// No segment file is prepared for it.
    Segment,
}

impl Buffer {
    /// `start` is where the log continues: a block border.
    pub fn new(capacity: u64, slots: usize, start: u64, prepared: u64) -> Buffer {
        assert!(start.is_multiple_of(BLOCK_BYTES) && capacity.is_multiple_of(BLOCK_BYTES));
        let slot = || Slot {
            taken: AtomicBool::new(false),
            unfilled: AtomicU64::new(NOTHING),
        };
        Buffer {
            memory: Memory::new(capacity as usize),
            capacity,
            tail: Padded(AtomicU64::new(start)),
            large: Padded(AtomicU64::new(0)),
            flushed: Padded(AtomicU64::new(start)),
            prepared: AtomicU64::new(prepared),
            slots: (0..slots).map(|_| slot()).collect(),
        }
    }

    /// A slot that nobody holds.
    pub fn take_slot(&self) -> Option<usize> {
        // Acquire pairs with the Release in `give_slot`: the last holder's frame is filled and withdrawn.
        self.slots.iter().position(|slot| {
            !slot.taken.load(Relaxed) && slot.taken.compare_exchange(false, true, Acquire, Relaxed).is_ok()
        })
    }

    pub fn give_slot(&self, slot: usize) {
        self.slots[slot].taken.store(false, Release);
    }

    pub fn tail(&self) -> u64 {
        self.tail.0.load(SeqCst)
    }

    pub fn flushed(&self) -> u64 {
        self.flushed.0.load(Acquire)
    }

    pub fn prepared(&self) -> u64 {
        self.prepared.load(Acquire)
    }

    /// Frees room: called by the flusher after a flush, and when a segment was prepared.
    pub fn set_flushed(&self, lsn: u64) {
        // Release pairs with the Acquire in `admit`: the flusher's reads of the ring come before the next writes.
        self.flushed.0.store(lsn, Release);
    }

    /// Goes on at `start`, a block border, with files prepared up to `prepared`. Nobody appends or flushes meanwhile.
    pub fn go_on_at(&self, start: u64, prepared: u64) {
        debug_assert!(start.is_multiple_of(BLOCK_BYTES) && start >= self.tail());
        self.set_flushed(start);
        self.set_prepared(prepared);
        self.raise_tail(start);
    }

    /// Of a log that nobody appends to here: it was replayed up to `lsn`.
    pub fn raise_tail(&self, lsn: u64) {
        self.tail.0.fetch_max(lsn, SeqCst);
    }

    pub fn set_prepared(&self, lsn: u64) {
        self.prepared.store(lsn, Release);
    }

    /// Asks for room for a frame of `size` bytes, to be used (or given back with `retract`) soon by one slot's holder.
    ///
    /// Everything here is SeqCst, so that of all checks that overlap the last one saw every large frame added before
    /// it, and the tail no older than those; small frames need no announcement, each slot has an allowance.
    pub fn admit(&self, size: u64) -> Result<(), Shortage> {
        if size > SMALL_FRAME_BYTES {
            self.large.0.fetch_add(size, SeqCst);
        }
        let outstanding = self.large.0.load(SeqCst);
        let judged = self.judge(self.tail.0.load(SeqCst) + outstanding + self.reserve());
        if judged.is_err() {
            self.retract(size);
        }
        judged
    }

    /// Would a frame of `size` bytes be admitted now?
    pub fn look(&self, size: u64) -> Result<(), Shortage> {
        let outstanding = self.large.0.load(SeqCst) + size;
        self.judge(self.tail.0.load(SeqCst) + outstanding + self.reserve())
    }

    /// Admits frames ahead of their writers, whatever their size: all of it is announced until it is given back.
    pub fn set_aside(&self, size: u64) -> Result<(), Shortage> {
        let outstanding = self.large.0.fetch_add(size, SeqCst) + size;
        let judged = self.judge(self.tail.0.load(SeqCst) + outstanding + self.reserve());
        if judged.is_err() {
            self.give_back(size);
        }
        judged
    }

    /// What was set aside is not needed any more, or is in `tail` now.
    pub fn give_back(&self, size: u64) {
        self.large.0.fetch_sub(size, SeqCst);
    }

    fn judge(&self, needed: u64) -> Result<(), Shortage> {
        if needed > self.prepared.load(SeqCst) {
            Err(Shortage::Segment)
        } else if needed > self.flushed.0.load(SeqCst) + self.capacity {
            Err(Shortage::Ring {
                until: (needed - self.capacity).min(self.tail()),
            })
        } else {
            Ok(())
        }
    }

    /// Gives an admission back, or marks it used: the frame is in `tail` now.
    pub fn retract(&self, size: u64) {
        if size > SMALL_FRAME_BYTES {
            self.large.0.fetch_sub(size, SeqCst);
        }
    }

    /// What admission leaves free above the tail, without large frames.
    pub fn reserve(&self) -> u64 {
        self.slots.len() as u64 * ALLOWANCE_BYTES
    }

    /// The commit step: reserves `size` admitted bytes and has `fill` write them. `fill` gets the start.
    pub fn append(&self, slot: usize, size: u64, fill: impl FnOnce(u64, &Filling<'_>)) -> u64 {
        let critical = AbortOnPanic(COMMIT_STEP);
        let unfilled = &self.slots[slot].unfilled;
        // SeqCst: the store is before the fetch_add in the one order in which `filled` loads tail, then the slots.
        // Whoever saw a tail beyond our start therefore sees this bound, or that it was withdrawn.
        unfilled.store(self.tail.0.load(SeqCst), SeqCst);
        let start = self.tail.0.fetch_add(size, SeqCst);
        fill(
            start,
            &Filling {
                buffer: self,
                start,
                size,
            },
        );
        // Release pairs with the loads in `filled`: who no longer finds the bound finds the bytes.
        unfilled.store(NOTHING, Release);
        std::mem::forget(critical);
        start
    }

    /// Between the reservation of `start` by `slot` and its filling: until every lower frame is filled, hence its
    /// transaction decided.
    ///
    /// Whoever waits here has first published its exact start (`narrow`), so the writer with the lowest start among
    /// those that wait waits for none of the others, and writers that do not wait get on by themselves.
    fn await_lower(&self, slot: usize, start: u64) {
        let mut spins = 0u32;
        let busy = |(other, candidate): (usize, &Slot)| {
            // SeqCst, as in `filled`: we reserved after every lower frame's bound was published.
            other != slot && candidate.unfilled.load(SeqCst) < start
        };
        while self.slots.iter().enumerate().any(busy) {
            spins += 1;
            if spins < LOWER_SPINS {
                mote_common::sync::hint::spin_loop()
            } else {
                mote_common::sync::thread::yield_now()
            }
        }
    }

    /// Reserves from exactly `start`, or fails because somebody else did. For the flusher's PADs.
    pub fn append_at(&self, slot: usize, start: u64, size: u64, fill: impl FnOnce(&Filling<'_>)) -> bool {
        let critical = AbortOnPanic(COMMIT_STEP);
        let unfilled = &self.slots[slot].unfilled;
        unfilled.store(start, SeqCst); // as in `append`
        let reserved = self
            .tail
            .0
            .compare_exchange(start, start + size, SeqCst, SeqCst)
            .is_ok();
        if reserved {
            fill(&Filling {
                buffer: self,
                start,
                size,
            });
        }
        unfilled.store(NOTHING, Release); // as in `append`
        std::mem::forget(critical);
        reserved
    }

    /// Everything below is filled: every frame there is complete and its transaction decided.
    pub fn filled(&self) -> u64 {
        // The tail first, the slots after it: see `append`.
        let tail = self.tail.0.load(SeqCst);
        self.slots
            .iter()
            .map(|slot| slot.unfilled.load(SeqCst))
            .fold(tail, u64::min)
    }

    /// The bytes `[from, to)`, in at most two pieces. The caller is the flusher: `flushed <= from`, `to <= filled`.
    pub fn read(&self, from: u64, to: u64) -> [&[u8]; 2] {
        assert!(self.flushed() <= from && from <= to && to - from <= self.capacity);
        let (offset, length) = ((from % self.capacity) as usize, (to - from) as usize);
        let first = length.min(self.capacity as usize - offset);
        // SAFETY: both ranges lie in the allocation; they are filled, and nobody writes there before `flushed` passes
        // them (invariants 1 and 2).
        unsafe {
            let base = self.memory.base();
            [
                std::slice::from_raw_parts(base.add(offset), first),
                std::slice::from_raw_parts(base, length - first),
            ]
        }
    }
}

/// The right to write one reserved range.
pub(super) struct Filling<'a> {
    buffer: &'a Buffer,
    start: u64,
    size: u64,
}

impl Filling<'_> {
    /// Publishes the exact start instead of the lower bound: nobody above has to take this frame for a lower one.
    pub fn narrow(&self, slot: usize) {
        // SeqCst: see `await_lower`.
        self.buffer.slots[slot].unfilled.store(self.start, SeqCst);
    }

    /// Waits until every lower frame is filled. After `narrow`, by the same slot's holder.
    pub fn await_lower(&self, slot: usize) {
        self.buffer.await_lower(slot, self.start);
    }

    /// Copies `bytes` to `at` bytes behind the start of the range.
    pub fn put(&self, at: usize, bytes: &[u8]) {
        self.split(at, bytes.len(), |to, from, length| {
            // SAFETY: `to` is inside the reserved range, which is this writer's alone; `bytes` is another allocation.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().add(from), to, length) }
        });
    }

    /// Zeros from `at` to the end of the range: the ring still holds what stood here a lap ago.
    pub fn zero_from(&self, at: usize) {
        self.split(at, self.size as usize - at, |to, _, length| {
            // SAFETY: as in `put`.
            unsafe { std::ptr::write_bytes(to, 0, length) }
        });
    }

    fn split(&self, at: usize, length: usize, write: impl Fn(*mut u8, usize, usize)) {
        debug_assert!(at + length <= self.size as usize);
        let capacity = self.buffer.capacity as usize;
        let offset = ((self.start + at as u64) % self.buffer.capacity) as usize;
        let first = length.min(capacity - offset);
        // SAFETY: `offset < capacity`: inside the allocation.
        write(unsafe { self.buffer.memory.base().add(offset) }, 0, first);
        if first < length {
            write(self.buffer.memory.base(), first, length - first);
        }
    }
}

/// The ring's bytes. A plain allocation behind a cell, since its parts are written through shared references.
struct Memory {
    base: NonNull<UnsafeCell<u8>>,
    layout: Layout,
}

// SAFETY: plain bytes; who may touch which is settled by `Buffer` (invariants 1 and 2).
unsafe impl Send for Memory {}
// SAFETY: `Buffer` gives every byte to one writer at a time, and to readers only when it is written (invariants 1, 2).
unsafe impl Sync for Memory {}

impl Memory {
    fn new(bytes: usize) -> Memory {
        let layout =
            Layout::from_size_align(bytes, BLOCK_BYTES as usize).expect("a ring fits the address space");
        assert!(bytes > 0);
        // SAFETY: the size is not zero.
        let base = unsafe { alloc::alloc_zeroed(layout) };
        let base = NonNull::new(base.cast()).unwrap_or_else(|| alloc::handle_alloc_error(layout));
        Memory { base, layout }
    }

    fn base(&self) -> *mut u8 {
        self.base.as_ptr().cast()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { alloc::dealloc(self.base.as_ptr().cast(), self.layout) }
    }
}
