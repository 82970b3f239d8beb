//! The committed catalog, and how a transaction's changes become it.
//!
//! Publication
//!  A transaction that changed the catalog commits in the engine and replaces the shared state in one step as others
//!  see it: `generation` is made odd before the engine's commit and even again after the new state stands. Whoever
//!  starts a statement compares the generation *after* it has its table locks; an odd one means a publication that
//!  takes microseconds, and is waited for. Since the engine hands locks over inside its commit, a waiter can have the
//!  lock while the generation is still odd, but can never take an old description for a current one.
//!  Between the commit and the new state a panic ends the process: the rows are committed, and nobody would ever see
//!  what they say.
//!
//! What the catalog tells of is committed, but need not be durable: the engine's schema horizon is raised before the new
//! state can be seen, new snapshots are not below it, and sessions hold back replies until it is safe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock};

use mote_common::Oid;

use super::catalog::Catalog;
use crate::extensions::pg_stat_statements;

/// What a panic interrupts from the commit of a change on, until it is published.
pub(super) const PUBLISHING: &str = "while a change of the catalog was published";

pub struct CatalogStore {
    committed: RwLock<Arc<Catalog>>,
    /// Even = stable; odd = a publication is under way. Only the holder of `publishing` stores it.
    generation: AtomicU64,
    /// Derived from `committed`.
    counts_statements: AtomicBool,
    /// Held from before a catalog-changing commit until its state stands.
    publishing: Mutex<()>,
    next_oid: AtomicU32,
    /// Counts descriptions ever made, so that each has its own version.
    next_version: AtomicU64,
}

impl CatalogStore {
    /// `highest_prepared`: the highest OID of an object that a prepared transaction made.
    pub fn new(catalog: Catalog, highest_prepared: u32) -> CatalogStore {
        let next_oid = next_oid(&catalog, highest_prepared);
        CatalogStore {
            counts_statements: AtomicBool::new(counts_statements(&catalog)),
            committed: RwLock::new(Arc::new(catalog)),
            generation: AtomicU64::new(2),
            publishing: Mutex::new(()),
            next_oid: AtomicU32::new(next_oid),
            next_version: AtomicU64::new(1),
        }
    }

    pub fn committed(&self) -> Arc<Catalog> {
        self.committed.read().clone()
    }

    /// The current generation, after waiting out a publication in progress.
    #[inline]
    pub fn generation(&self) -> u64 {
        loop {
            // Acquire pairs with the Release stores of `Publication`: who sees the even number sees the new state.
            let generation = self.generation.load(Ordering::Acquire);
            if generation & 1 == 0 {
                return generation;
            }
            std::thread::yield_now();
        }
    }

    /// The same for those who only compare it with an earlier answer: a publication in progress counts as a change.
    #[inline]
    pub fn generation_seen(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// OIDs are given out here from now on; another node has done that for the objects that are here.
    pub(crate) fn go_on_behind(&self, highest_prepared: u32) {
        let next_oid = next_oid(&self.committed(), highest_prepared);
        self.next_oid.fetch_max(next_oid, Ordering::Relaxed);
    }

    /// Whether pg_stat_statements is in any database. Asked by every statement.
    #[inline]
    pub fn counts_statements(&self) -> bool {
        self.counts_statements.load(Ordering::Relaxed)
    }

    pub fn allocate_oid(&self) -> Oid {
        Oid(self.next_oid.fetch_add(1, Ordering::Relaxed))
    }

    pub fn next_version(&self) -> u64 {
        self.next_version.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins a publication: to be called right before the engine's commit.
    pub fn begin_publication(&self) -> Publication<'_> {
        let guard = self.publishing.lock();
        let generation = self.generation.load(Ordering::Relaxed);
        debug_assert!(generation & 1 == 0);
        self.generation.store(generation + 1, Ordering::Release);
        Publication {
            store: self,
            generation,
            _guard: guard,
        }
    }
}

fn next_oid(catalog: &Catalog, highest_prepared: u32) -> u32 {
    let highest = catalog.highest_oid().max(highest_prepared);
    highest.max(Oid::FIRST_USER.0 - 1) + 1
}

/// Whether some database has the extension that shows what statements cost.
fn counts_statements(catalog: &Catalog) -> bool {
    let mut installed = catalog.extensions.values();
    installed.any(|entry| entry.object.name == pg_stat_statements::NAME)
}

/// A publication under way. Dropped without `finish` (the commit failed) it leaves the old state.
pub struct Publication<'a> {
    store: &'a CatalogStore,
    generation: u64,
    _guard: MutexGuard<'a, ()>,
}

impl Publication<'_> {
    /// That of the state the change is applied to.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The state that the change is applied to: nobody else can publish meanwhile.
    pub fn base(&self) -> Arc<Catalog> {
        self.store.committed()
    }

    pub fn finish(self, catalog: Catalog) {
        // Relaxed: a statement that still sees the old answer is counted once more, or not yet.
        self.store
            .counts_statements
            .store(counts_statements(&catalog), Ordering::Relaxed);
        *self.store.committed.write() = Arc::new(catalog);
    }
}

impl Drop for Publication<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire load in `generation`.
        self.store
            .generation
            .store(self.generation + 2, Ordering::Release);
    }
}
