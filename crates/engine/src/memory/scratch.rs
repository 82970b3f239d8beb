//! Blocks of plain values for work that is thrown away: what a start sorts before it becomes indexes.
//!
//! Blocks of 64 KiB are used again and again until the pool goes, so that the next index does not pay the page faults of
//! the last one once more. Several threads may share a pool.
//!
//! Leaves out: the budget; how much is taken is said where it is used (`table/load`).

use super::mapping::{self, Pages};
use mote_common::sync::Mutex;
use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

const BLOCK_BYTES: usize = 64 << 10;
const MAPPING_BYTES: usize = 2 << 20;

/// Where blocks come from and where they go back to. All memory goes back to the system with the pool.
pub(crate) struct BlockPool<T: Copy> {
    state: Mutex<State<T>>,
}

struct State<T> {
    mappings: Vec<NonNull<u8>>,
    /// Blocks that nobody has.
    free: Vec<NonNull<T>>,
}

// SAFETY: the pointers name memory of the pool that nobody else has; they move between threads under the mutex.
unsafe impl<T: Copy + Send> Send for State<T> {}

impl<T: Copy> Default for BlockPool<T> {
    fn default() -> BlockPool<T> {
        const { assert!(align_of::<T>() <= BLOCK_BYTES && size_of::<T>() > 0) };
        let state = State {
            mappings: Vec::new(),
            free: Vec::new(),
        };
        BlockPool {
            state: Mutex::new(state),
        }
    }
}

impl<T: Copy> BlockPool<T> {
    /// An empty block.
    pub(crate) fn block(&self) -> Block<'_, T> {
        let mut state = self.state.lock();
        if state.free.is_empty() {
            state.grow();
        }
        let values = state.free.pop().expect("a mapping has blocks");
        Block {
            pool: self,
            values,
            length: 0,
        }
    }
}

impl<T> State<T> {
    fn grow(&mut self) {
        let layout = Layout::new::<[u8; MAPPING_BYTES]>();
        let mapping = mapping::map(MAPPING_BYTES, Pages::Small).unwrap_or_else(|| handle_alloc_error(layout));
        self.mappings.push(mapping);
        for at in (0..MAPPING_BYTES).step_by(BLOCK_BYTES).rev() {
            // SAFETY: inside the mapping.
            self.free.push(unsafe { mapping.add(at) }.cast());
        }
    }
}

impl<T: Copy> Drop for BlockPool<T> {
    fn drop(&mut self) {
        for mapping in self.state.lock().mappings.drain(..) {
            // SAFETY: mapped with this size in `grow`; blocks borrow the pool, so none is left.
            unsafe { mapping::unmap(mapping, MAPPING_BYTES) };
        }
    }
}

/// A vector that does not grow: values up to [`Block::CAPACITY`].
pub(crate) struct Block<'a, T: Copy> {
    pool: &'a BlockPool<T>,
    values: NonNull<T>,
    length: usize,
}

// SAFETY: a block owns its memory until its drop, as a vector does.
unsafe impl<T: Copy + Send> Send for Block<'_, T> {}
// SAFETY: shared, it hands out shared references to its values only.
unsafe impl<T: Copy + Sync> Sync for Block<'_, T> {}

impl<T: Copy> Block<'_, T> {
    pub(crate) const CAPACITY: usize = BLOCK_BYTES / size_of::<T>();

    pub(crate) fn is_full(&self) -> bool {
        self.length == Self::CAPACITY
    }

    /// # Panics
    /// When the block is full.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        assert!(self.length < Self::CAPACITY, "the block is full");
        // SAFETY: the block has room for `CAPACITY` values and is ours.
        unsafe { self.values.add(self.length).write(value) };
        self.length += 1;
    }

    #[inline]
    pub(crate) fn values(&self) -> &[T] {
        // SAFETY: the first `length` values were written by `push`, and nobody else writes.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.length) }
    }
}

impl<T: Copy> Drop for Block<'_, T> {
    fn drop(&mut self) {
        self.pool.state.lock().free.push(self.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_what_was_pushed_and_are_used_again() {
        let pool = BlockPool::<[u64; 4]>::default();
        for _ in 0..3 {
            let full = |mark: u64| {
                let mut block = pool.block();
                while !block.is_full() {
                    block.push([mark, block.values().len() as u64, 0, 0]);
                }
                (mark, block)
            };
            let blocks: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|thread| scope.spawn(move || (thread * 20..thread * 20 + 20).map(full).collect()))
                    .collect();
                let joined = threads
                    .into_iter()
                    .map(|thread| -> Vec<_> { thread.join().expect("no panic") });
                joined.flatten().collect()
            });
            for (mark, block) in &blocks {
                assert_eq!(block.values().len(), 2048);
                for (at, value) in block.values().iter().enumerate() {
                    assert_eq!(value[..2], [*mark, at as u64]);
                }
            }
        }
        // 80 blocks at a time are 5 MiB: three mappings, whatever the number of rounds.
        assert_eq!(pool.state.lock().mappings.len(), 3);
    }

    #[test]
    #[should_panic(expected = "the block is full")]
    fn a_full_block_takes_no_more() {
        let pool = BlockPool::<u64>::default();
        let mut block = pool.block();
        for value in 0..=Block::<u64>::CAPACITY as u64 {
            block.push(value);
        }
    }
}
