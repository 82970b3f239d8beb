//! The table: layouts, segments of slots, row ids to give out, indexes.
//!
//! Row ids are given out in blocks of 64 (eight cache lines of slots) per stripe, so that threads that insert at the
//! same time write different lines; ids of rows that are gone for everybody come first, the lowest of them first. A single
//! inserting thread fills the table in row-id order; the first 1,024 rows that a table ever has come so from all threads
//! together, and take the ids of no others: a session changes its thread, rows go when the collector has the time, and
//! whoever reads a small table without ORDER BY expects to see first what was put in first.
//!
//! Invariant: a row id on a free list has a null slot, no index entry, and no active snapshot that could see the row
//! that had it.
//!
//! Leaves out: chains (`version`), pruning (`prune`), writing (`txn/write.rs`).

use super::columns::ColumnSet;
use super::counts::{RowChanges, RowCounts};
use super::definition::{IndexDefinition, TableDefinition};
use super::key_program::KeyProgram;
use super::layout::{LAYOUTS_MAX, Layout};
use super::row::RowView;
use super::segment::{Directory, Slot};
use super::version::{self, Version};
use crate::epoch::{self, Guard};
use crate::index::{IndexError, OrderedIndex};
use crate::memory::stripe::{self, Padded, STRIPES};
use crate::memory::{IndexAccount, MemoryBudget};
use crate::slots::slot::SlotTable;
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use mote_common::{IndexId, Lsn, RowId, TableId};
use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Row ids a stripe takes at once.
const BLOCK_ROWS: u64 = 64;
/// As long as a table has had no more blocks, all threads take ids from one lane. Two that insert into a small table at
/// the same time meet at its lock, and soon no more.
const ORDERED_BLOCKS: u64 = 16;
/// Blocks that 32 bits of segments have room for.
const BLOCKS_MAX: u64 = (u32::MAX as u64 + 1) * RowId::SEGMENT_ROWS as u64 / BLOCK_ROWS;

/// Rows by row id.
pub struct Table {
    id: TableId,
    /// Of whoever made the table; means nothing here. Relaxed: it guards nothing.
    label: AtomicU64,
    /// See `is_temporary`.
    temporary: bool,
    budget: Arc<MemoryBudget>,
    pub(crate) slots: &'static SlotTable,
    layouts: Box<[OnceLock<Arc<Layout>>]>,
    /// Number of the layout to write with.
    newest_layout: AtomicUsize,
    pub(crate) directory: Directory,
    /// The next block of row ids never used.
    next_block: AtomicU64,
    lanes: Box<[Padded<Mutex<Lane>>]>,
    /// Row ids free for reuse that no lane has.
    free: Mutex<Vec<RowId>>,
    free_count: AtomicUsize,
    counts: RowCounts,
    /// Replaced whole by DDL; old lists are freed through the epoch.
    indexes: AtomicPtr<IndexList>,
    changing_indexes: Mutex<()>,
}

/// Where one stripe gets row ids.
#[derive(Default)]
struct Lane {
    next: u64,
    end: u64,
    free: Vec<RowId>,
}

/// The indexes of a table at one moment.
pub type IndexList = Vec<Arc<TableIndex>>;

/// An index of a table.
pub struct TableIndex {
    pub id: IndexId,
    pub definition: IndexDefinition,
    pub key_program: KeyProgram,
    /// What keys are made of, the predicate's columns included.
    columns: ColumnSet,
    pub unique: bool,
    pub tree: OrderedIndex,
    /// Snapshots older than this must not use the index: entries for what they see may be missing. `Lsn::MAX` until
    /// the transaction that built it over its own changes has committed.
    valid_from: AtomicU64,
    /// Every row is in it.
    built: AtomicBool,
    /// A transaction that has not ended drops it. Written and read under that transaction's exclusive lock of the
    /// table alone, which orders both: relaxed.
    dropped: AtomicBool,
}

impl TableIndex {
    pub(crate) fn new(
        definition: IndexDefinition,
        key_program: KeyProgram,
        budget: &Arc<MemoryBudget>,
    ) -> Result<TableIndex, IndexError> {
        let tree = OrderedIndex::new(Arc::new(IndexAccount(budget.clone())))?;
        Ok(TableIndex::with_tree(definition, key_program, tree))
    }

    pub(crate) fn with_tree(
        definition: IndexDefinition,
        key_program: KeyProgram,
        tree: OrderedIndex,
    ) -> TableIndex {
        TableIndex {
            id: definition.id,
            unique: definition.unique,
            columns: key_program.columns_read(),
            key_program,
            definition,
            tree,
            valid_from: AtomicU64::new(0),
            built: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
        }
    }

    /// What tells whether, and where, a row stands in the index.
    #[inline]
    pub fn columns(&self) -> ColumnSet {
        self.columns
    }

    pub(crate) fn valid_from(&self) -> Lsn {
        Lsn(self.valid_from.load(Ordering::Acquire))
    }

    /// Does the index lead to everything that a snapshot of `ts` sees? Before its commit only the transaction that made
    /// the index asks, and that sees the versions it entered.
    #[inline]
    pub fn serves(&self, ts: Lsn) -> bool {
        let valid_from = self.valid_from();
        ts >= valid_from || valid_from == Lsn::MAX
    }

    /// Every row of the table is in the index; until then only its builder and writers may touch it.
    pub fn is_built(&self) -> bool {
        self.built.load(Ordering::Acquire)
    }

    pub(crate) fn set_built(&self, valid_from: Lsn) {
        self.valid_from.store(valid_from.0, Ordering::Release);
        self.built.store(true, Ordering::Release);
    }

    /// At the commit of the transaction that made the index: its own changes are commits now.
    pub(crate) fn settle_valid_from(&self, commit_ts: Lsn) {
        let (pending, settled) = (Lsn::MAX.0, commit_ts.0);
        let _ = self
            .valid_from
            .compare_exchange(pending, settled, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Must an equal key of another live row be refused, if `has_null` says whether the key has a NULL? Not by whoever
    /// drops the index: what it writes from then on is gone again if the index is not.
    pub(crate) fn checks(&self, has_null: bool) -> bool {
        self.unique && (!has_null || self.definition.nulls_not_distinct) && !self.is_dropped()
    }

    /// Does the transaction that has the table to itself drop the index?
    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn set_dropped(&self, dropped: bool) {
        self.dropped.store(dropped, Ordering::Relaxed);
    }
}

impl Table {
    pub(crate) fn new(
        definition: &TableDefinition,
        budget: Arc<MemoryBudget>,
        slots: &'static SlotTable,
        temporary: bool,
    ) -> Table {
        let table = Table {
            id: definition.id,
            temporary,
            label: AtomicU64::new(0),
            budget,
            slots,
            layouts: (0..LAYOUTS_MAX).map(|_| OnceLock::new()).collect(),
            newest_layout: AtomicUsize::new(0),
            directory: Directory::new(),
            next_block: AtomicU64::new(0),
            lanes: (0..STRIPES).map(|_| Padded::default()).collect(),
            free: Mutex::default(),
            free_count: AtomicUsize::new(0),
            counts: RowCounts::new(),
            indexes: AtomicPtr::new(Box::into_raw(Box::default())),
            changing_indexes: Mutex::new(()),
        };
        for layout in &definition.layouts {
            table.add_layout(layout.clone());
        }
        table
    }

    pub fn id(&self) -> TableId {
        self.id
    }

    /// One session's own: neither the log nor a checkpoint knows it, and a crash is its end.
    #[inline]
    pub fn is_temporary(&self) -> bool {
        self.temporary
    }

    /// A number for reports, by which the caller finds out which of its objects this is.
    pub fn set_label(&self, label: u64) {
        self.label.store(label, Ordering::Relaxed);
    }

    pub fn label(&self) -> u64 {
        self.label.load(Ordering::Relaxed)
    }

    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    // Layouts

    /// The layout with this number, which some version was written with.
    ///
    /// # Panics
    /// When the table never had it: no version can name it.
    #[inline]
    pub fn layout(&self, number: u8) -> &Arc<Layout> {
        self.layouts[number as usize]
            .get()
            .expect("versions name layouts of their table")
    }

    pub(crate) fn find_layout(&self, number: u8) -> Option<&Arc<Layout>> {
        self.layouts[number as usize].get()
    }

    /// The layout that new rows are written with.
    #[inline]
    pub fn newest_layout(&self) -> &Arc<Layout> {
        self.layout(self.newest_layout.load(Ordering::Acquire) as u8)
    }

    /// A row of the table, seen under the newest layout.
    #[inline]
    pub fn view<'a>(&'a self, layout: u8, bytes: &'a [u8]) -> RowView<'a> {
        let newest_number = self.newest_layout.load(Ordering::Acquire) as u8;
        let newest = self.layout(newest_number);
        if layout == newest_number {
            return RowView::new(newest, bytes);
        }
        RowView::new(self.layout(layout), bytes).under(newest)
    }

    /// Another layout can be added. A table that has had all of them is to be written anew, which leaves one.
    pub fn takes_layout(&self) -> bool {
        self.next_layout_number().is_some()
    }

    /// The lowest number no layout has had.
    pub(crate) fn next_layout_number(&self) -> Option<u8> {
        self.layouts
            .iter()
            .position(|layout| layout.get().is_none())
            .map(|number| number as u8)
    }

    /// Adds a layout and makes it the one to write with. Adding it again changes nothing.
    pub(crate) fn add_layout(&self, layout: Layout) {
        let number = layout.number() as usize;
        self.layouts[number].get_or_init(|| Arc::new(layout));
        self.newest_layout.store(number, Ordering::Release);
    }

    /// After a rollback: the layout stays known, since its number is never used again.
    pub(crate) fn set_newest_layout(&self, number: u8) {
        debug_assert!(self.layouts[number as usize].get().is_some());
        self.newest_layout.store(number as usize, Ordering::Release);
    }

    pub(crate) fn all_layouts(&self) -> Vec<Layout> {
        let newest = self.newest_layout.load(Ordering::Acquire);
        let known = self.layouts.iter().filter_map(|layout| layout.get());
        let mut layouts: Vec<Layout> = known.map(|layout| (**layout).clone()).collect();
        // The last one of a definition is the one to write with.
        layouts.sort_by_key(|layout| (layout.number() as usize == newest, layout.number()));
        layouts
    }

    // Rows

    #[inline]
    pub(crate) fn slot(&self, row: RowId) -> Option<&Slot> {
        if row.offset() as u32 >= RowId::SEGMENT_ROWS {
            return None;
        }
        self.directory.slot(row)
    }

    /// A row id nobody uses, with its slot; `None` when the table has all rows it can have.
    pub(crate) fn allocate_row(&self) -> Option<(RowId, &Slot)> {
        // Relaxed: whichever lane is chosen, no other has its ids.
        let ordered = self.next_block.load(Ordering::Relaxed) <= ORDERED_BLOCKS;
        let number = if ordered { 0 } else { stripe::current() };
        let mut lane = self.lanes[number].0.lock();
        let row = match ordered {
            true => self.next_row(&mut lane)?,
            false => match lane.free.pop() {
                Some(row) => row,
                None => self.allocate_slow(&mut lane)?,
            },
        };
        drop(lane);
        Some((row, self.directory.ensure(row.segment()).slot(row.offset())))
    }

    fn allocate_slow(&self, lane: &mut Lane) -> Option<RowId> {
        if self.free_count.load(Ordering::Relaxed) > 0 {
            let mut free = self.free.lock();
            let keep = free.len().saturating_sub(BLOCK_ROWS as usize);
            lane.free.extend(free.drain(keep..));
            // Taken from the end.
            lane.free.sort_unstable_by(|a, b| b.cmp(a));
            self.free_count.store(free.len(), Ordering::Relaxed);
            if let Some(row) = lane.free.pop() {
                return Some(row);
            }
        }
        self.next_row(lane)
    }

    /// An id that nobody has had.
    fn next_row(&self, lane: &mut Lane) -> Option<RowId> {
        if lane.next == lane.end {
            let block = self.next_block.fetch_add(1, Ordering::AcqRel);
            if block >= BLOCKS_MAX {
                self.next_block.fetch_sub(1, Ordering::AcqRel);
                return None;
            }
            lane.next = block * BLOCK_ROWS;
            lane.end = lane.next + BLOCK_ROWS;
        }
        let row = row_of_ordinal(lane.next);
        lane.next += 1;
        Some(row)
    }

    /// Takes back row ids that fulfil the invariant of the module head.
    pub(crate) fn free_rows(&self, rows: impl IntoIterator<Item = RowId>) {
        let mut free = self.free.lock();
        free.extend(rows);
        self.free_count.store(free.len(), Ordering::Relaxed);
    }

    /// None of the ids that were given out counts as free any more; nobody is about to take one.
    pub(crate) fn forget_free_rows(&self) {
        for lane in &self.lanes {
            *lane.0.lock() = Lane::default();
        }
        self.free.lock().clear();
        self.free_count.store(0, Ordering::Relaxed);
    }

    /// Recovery: these ids, free as far as the table knows, belong to rows of prepared transactions.
    pub(crate) fn reserve_rows(&self, rows: &HashSet<RowId>) {
        let mut free = self.free.lock();
        free.retain(|row| !rows.contains(row));
        self.free_count.store(free.len(), Ordering::Relaxed);
    }

    /// Row ids given out so far, in row-id order and without gaps: what a scan must look at.
    pub(crate) fn ordinals_end(&self) -> u64 {
        self.next_block.load(Ordering::Acquire) * BLOCK_ROWS
    }

    /// Recovery: rows up to this segment may be there.
    pub(crate) fn raise_ordinals_end(&self, end: u64) {
        let block = end.div_ceil(BLOCK_ROWS);
        // The look before: during replay all threads come by here, and nearly always it is high enough.
        if self.next_block.load(Ordering::Acquire) < block {
            self.next_block.fetch_max(block, Ordering::AcqRel);
        }
    }

    /// Segments that may hold rows.
    pub fn segment_count(&self) -> u32 {
        self.ordinals_end().div_ceil(RowId::SEGMENT_ROWS as u64) as u32
    }

    /// At least the commit timestamp of the last change in the segment.
    pub fn segment_last_change(&self, segment: u32) -> Lsn {
        self.directory
            .get(segment)
            .map_or(Lsn::ZERO, |segment| segment.last_change())
    }

    /// Committed rows, nearly: for the planner.
    pub fn row_count_estimate(&self) -> u64 {
        self.counts.live()
    }

    /// What commits have done to the rows since the process began.
    pub fn row_changes(&self) -> RowChanges {
        self.counts.changes()
    }

    /// Counts changes from zero on.
    pub fn forget_row_changes(&self) {
        self.counts.forget_changes();
    }

    /// No row was ever put into the table, or all that were are gone for everybody.
    pub fn is_empty(&self) -> bool {
        let mut ordinals = 0..self.ordinals_end();
        ordinals.all(|ordinal| {
            self.slot(row_of_ordinal(ordinal))
                .is_none_or(|slot| slot.head().is_null())
        })
    }

    /// Rows that recovery found.
    pub(crate) fn count_rows(&self, found: i64) {
        self.counts.add_live(found);
    }

    pub(crate) fn count_changes(&self, changes: RowChanges) {
        self.counts.add(changes);
    }

    // Indexes

    /// The indexes of the table now.
    pub fn indexes(&self) -> Vec<Arc<TableIndex>> {
        self.indexes_pinned(&epoch::pin()).clone()
    }

    /// An index by id.
    pub fn index(&self, id: IndexId) -> Option<Arc<TableIndex>> {
        self.indexes_pinned(&epoch::pin())
            .iter()
            .find(|index| index.id == id)
            .cloned()
    }

    #[inline]
    pub(crate) fn indexes_pinned<'g>(&self, _guard: &'g Guard) -> &'g IndexList {
        // SAFETY: never null; a replaced list is freed through the epoch. Acquire pairs with the swap below.
        unsafe { &*self.indexes.load(Ordering::Acquire) }
    }

    pub(crate) fn add_index(&self, index: Arc<TableIndex>) {
        self.change_indexes(|list| list.push(index));
    }

    pub(crate) fn remove_index(&self, id: IndexId) {
        self.change_indexes(|list| list.retain(|index| index.id != id));
    }

    fn change_indexes(&self, change: impl FnOnce(&mut IndexList)) {
        unsafe fn free(pointer: *mut u8, _size: usize) {
            // SAFETY: made from a box below or in `new`, unlinked, handed over once.
            drop(unsafe { Box::from_raw(pointer.cast::<IndexList>()) });
        }
        let _one_at_a_time = self.changing_indexes.lock();
        let guard = epoch::pin();
        let mut list = Box::new(self.indexes_pinned(&guard).clone());
        change(&mut list);
        // AcqRel: pairs with the load in `indexes_pinned`.
        let old = self.indexes.swap(Box::into_raw(list), Ordering::AcqRel);
        // SAFETY: unlinked by the swap; readers hold a guard while they use it.
        unsafe { guard.defer_free(free, old.cast(), size_of::<IndexList>()) };
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for segment in 0..self.segment_count() {
            let Some(segment) = self.directory.get(segment) else {
                continue;
            };
            for offset in 0..RowId::SEGMENT_ROWS as u16 {
                let mut at = segment.slot(offset).head();
                while let Some(version) = NonNull::new(at.cast_mut()) {
                    // SAFETY: nobody else has the table any more, so nobody walks its chains.
                    unsafe {
                        at = version.as_ref().previous();
                        self.budget.release(Version::total_bytes(version));
                        Version::free(version);
                    }
                }
            }
        }
        // SAFETY: never null, made from a box, and nobody else has the table.
        drop(unsafe { Box::from_raw(*self.indexes.get_mut()) });
    }
}

/// The row id with this place in row-id order.
#[inline]
pub(crate) fn row_of_ordinal(ordinal: u64) -> RowId {
    let rows = RowId::SEGMENT_ROWS as u64;
    RowId::new((ordinal / rows) as u32, (ordinal % rows) as u16)
}

pub(crate) fn ordinal_of_row(row: RowId) -> u64 {
    row.segment() as u64 * RowId::SEGMENT_ROWS as u64 + row.offset() as u64
}

/// Hands an unlinked version to the epoch and its bytes to the budget.
///
/// # Safety
/// No reader that pins from now on can reach the version, and it is handed over once.
pub(crate) unsafe fn retire(version: NonNull<Version>, budget: &MemoryBudget, guard: &Guard) {
    // SAFETY: unlinked but not freed: it is ours.
    let bytes = unsafe { Version::total_bytes(version) };
    budget.release(bytes);
    // SAFETY: by the contract.
    unsafe { guard.defer_free(version::free_deferred, version.as_ptr().cast(), bytes) };
}
