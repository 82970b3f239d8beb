//! Where nodes live: chunks that double in size, found by node id without a lock, recycled through a free list.
//!
//! Invariants: a chunk, once published, stays until the index is dropped, so a `&Node` lives as long as the borrow
//! of the arena. Nodes are never given back to the system one by one, because a reader may still look at them (see
//! `node`, Recycling); the account is charged for nodes in use only. Node 0 is the first one handed out: the root.

use super::node::{NODE_BYTES, Node, NodeId};
use crate::index::IndexError;
use crate::memory::MemoryAccount;
use crate::memory::mapping::{self, Pages};
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Chunk c holds the node ids 2^c - 1 .. 2^(c+1) - 1; 32 of them hold all ids.
const CHUNKS: usize = 32;

/// Chunks from this size on are mapped from the system: zero pages that cost nothing until touched.
const MAP_FROM_BYTES: usize = 1 << 20;

/// Chunks from this size on ask for huge pages: a random look-up would miss the TLB at every level.
const HUGE_PAGES_FROM_BYTES: usize = 4 << 20;

pub(super) struct Arena {
    chunks: [AtomicPtr<Node>; CHUNKS],
    free: Mutex<FreeNodes>,
    in_use: AtomicUsize,
    memory: Arc<dyn MemoryAccount>,
}

struct FreeNodes {
    recycled: Vec<NodeId>,
    /// The first id never handed out.
    next: u64,
}

/// The chunk of an id and the index in it.
#[inline]
fn place(id: NodeId) -> (usize, usize) {
    let number = id as u64 + 1;
    let chunk = number.ilog2() as usize;
    (chunk, (number - (1 << chunk)) as usize)
}

fn chunk_layout(chunk: usize) -> Layout {
    Layout::from_size_align(NODE_BYTES << chunk, NODE_BYTES)
        .expect("2^31 nodes of 4 KiB fit the address space")
}

fn is_mapped(chunk: usize) -> bool {
    cfg!(not(miri)) && chunk_layout(chunk).size() >= MAP_FROM_BYTES
}

impl Arena {
    pub(super) fn new(memory: Arc<dyn MemoryAccount>) -> Arena {
        Arena {
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS],
            free: Mutex::new(FreeNodes {
                recycled: Vec::new(),
                next: 0,
            }),
            in_use: AtomicUsize::new(0),
            memory,
        }
    }

    /// A node by an id that a validated read or the free list gave.
    #[inline]
    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.get(id).expect("validated node ids point into the arena")
    }

    /// A node by an id of unknown origin.
    #[inline]
    pub(super) fn get(&self, id: NodeId) -> Option<&Node> {
        let (chunk, index) = place(id);
        // Acquire: pairs with the Release store in `grow`.
        let base = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if base.is_null() {
            return None;
        }
        // SAFETY: chunk c holds 2^c zeroed nodes (all-zero is a valid node: atomics), `place` gives an index below
        // that, and chunks are freed only in `drop`.
        Some(unsafe { &*base.add(index) })
    }

    /// Takes a node out of the free list, or a new one. Its contents are whatever was there.
    pub(super) fn allocate(&self) -> Result<NodeId, IndexError> {
        if !self.memory.charge(NODE_BYTES) {
            return Err(IndexError::OutOfMemory);
        }
        let id = self.take_free();
        match id {
            Some(_) => self.in_use.fetch_add(1, Ordering::Relaxed),
            None => {
                self.memory.release(NODE_BYTES);
                0
            }
        };
        id.ok_or(IndexError::OutOfMemory)
    }

    fn take_free(&self) -> Option<NodeId> {
        let mut free = self.free.lock();
        if let Some(id) = free.recycled.pop() {
            return Some(id);
        }
        let id = NodeId::try_from(free.next)
            .ok()
            .filter(|&id| place(id).0 < CHUNKS)?;
        let (chunk, _) = place(id);
        if self.chunks[chunk].load(Ordering::Relaxed).is_null() {
            let base = allocate_chunk(chunk)?;
            // Release: pairs with the Acquire load in `get`. The lock makes this the only writer.
            self.chunks[chunk].store(base, Ordering::Release);
        }
        free.next += 1;
        Some(id)
    }

    /// Gives back an unlinked node. It may be handed out at once.
    pub(super) fn free(&self, id: NodeId) {
        self.free.lock().recycled.push(id);
        self.in_use.fetch_sub(1, Ordering::Relaxed);
        self.memory.release(NODE_BYTES);
    }

    pub(super) fn nodes_in_use(&self) -> usize {
        self.in_use.load(Ordering::Relaxed)
    }
}

fn allocate_chunk(chunk: usize) -> Option<*mut Node> {
    let layout = chunk_layout(chunk);
    if !is_mapped(chunk) {
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc_zeroed(layout) }.cast::<Node>();
        return (!base.is_null()).then_some(base);
    }
    let pages = if layout.size() >= HUGE_PAGES_FROM_BYTES {
        Pages::Huge
    } else {
        Pages::Small
    };
    Some(mapping::map(layout.size(), pages)?.as_ptr().cast())
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (chunk, base) in self.chunks.iter().enumerate() {
            // Relaxed: `&mut self`, nobody else is left.
            let Some(base) = NonNull::new(base.load(Ordering::Relaxed)) else {
                continue;
            };
            let layout = chunk_layout(chunk);
            if is_mapped(chunk) {
                // SAFETY: mapped with this size by `allocate_chunk`; no borrow of a node outlives the arena.
                unsafe { mapping::unmap(base.cast(), layout.size()) };
            } else {
                // SAFETY: allocated with this layout by `allocate_chunk`; no borrow of a node outlives the arena.
                unsafe { dealloc(base.as_ptr().cast(), layout) };
            }
        }
        self.memory.release(self.nodes_in_use() * NODE_BYTES);
    }
}
