//! Row, table and advisory locks as statements ask for them, and letting go of them.

use super::admission::RowRequest;
use super::error::WriteError;
use super::snapshot::RowVersion;
use super::transaction::{Isolation, LockedRow, Transaction};
use super::work::HeldRow;
use crate::epoch;
use crate::lock::manager::{Acquired, Aftermath, LockRequest};
use crate::lock::owner::Owner;
use crate::lock::row::RowLockWord;
use crate::lock::{
    AdvisoryKey, AdvisoryMode, AdvisoryScope, LockMode, LockTag, RowLockStrength, TableLockMode, WaitPolicy,
};
use crate::table::Table;
use crate::table::version::{KEY_CHANGED, KEY_LOCK, MOVED, TOMBSTONE, Version};
use crate::table::visibility::{Standing, standing};
use mote_common::sync::atomic::Ordering;
use mote_common::{Lsn, RowId, TableId};

impl Transaction {
    /// Locks a row and answers its newest version. READ COMMITTED evaluates it again if it differs from `seen`;
    /// higher levels get `Serialization` then.
    pub fn lock_row<'t>(
        &'t self,
        table: &Table,
        row: RowId,
        seen: Option<&RowVersion<'_>>,
        strength: RowLockStrength,
        wait: WaitPolicy,
    ) -> Result<LockedRow<'t>, WriteError> {
        let gone = LockedRow {
            newest: None,
            changed: true,
            moved: false,
        };
        let Some(slot) = table.slot(row) else {
            return Ok(gone);
        };
        let _guard = epoch::pin();
        let latched = slot.latch();
        let request = RowRequest {
            table,
            row,
            strength,
            policy: wait,
        };
        let admitted = match self.admit_row(&request, &latched) {
            Err(WriteError::Deleted) => return Ok(gone),
            admitted => admitted?,
        };
        let head = admitted.head;
        // To somebody who protects the key alone a row is changed when a key has changed; its other columns are not
        // his business, not even under REPEATABLE READ.
        let keeps_key = strength == RowLockStrength::KeyShare
            && admitted.ts.is_some()
            && !head.is_tombstone()
            && head.flags() & KEY_CHANGED == 0;
        let changed = seen.is_some_and(|seen| !std::ptr::eq(seen.version.as_ptr(), head)) && !keeps_key;
        match admitted.ts {
            Some(_) if changed && self.isolation() != Isolation::ReadCommitted => {
                return Err(self.refuse_changed());
            }
            None if head.stamp().command() >= self.command().0 => return Err(WriteError::SelfModified),
            _ => {}
        }
        if head.is_tombstone() {
            let moved = head.flags() & MOVED != 0;
            return Ok(LockedRow { moved, ..gone });
        }
        if !admitted.in_table {
            self.note_row_lock(table, row, head, strength, admitted.ts.is_none());
        }
        let key_check = head.flags() & KEY_CHANGED != 0;
        // SAFETY: the newest version that the lock is good for of a row that we have locked, see `fetch_newest`.
        let newest = unsafe { RowVersion::new(admitted.found, row, key_check) };
        Ok(LockedRow {
            newest: Some(newest),
            changed,
            moved: false,
        })
    }

    /// Writes the lock into the version's lock word; the row latch is held and nobody else has a lock.
    fn note_row_lock(
        &self,
        table: &Table,
        row: RowId,
        head: &Version,
        strength: RowLockStrength,
        own_version: bool,
    ) {
        let held = RowLockWord(head.lock.load(Ordering::SeqCst))
            .owner()
            .map(|(_, held)| held);
        let implicit = match own_version {
            false => None,
            true if head.flags() & (KEY_LOCK | TOMBSTONE) != 0 => Some(RowLockStrength::Update),
            true => Some(RowLockStrength::NoKeyUpdate),
        };
        if held.max(implicit) >= Some(strength) {
            return;
        }
        head.lock
            .store(RowLockWord::alone(self.slot, strength).0, Ordering::SeqCst);
        self.work.borrow_mut().rows.push(HeldRow { table, row, strength });
    }

    /// Locks a table until the transaction ends (or is rolled back to a savepoint before).
    pub fn lock_table(&self, id: TableId, mode: TableLockMode, wait: WaitPolicy) -> Result<(), WriteError> {
        // Replay itself has no session, and locks what the log says.
        if self.owner().session != 0 && self.has_lost_table() {
            return Err(WriteError::LostTable);
        }
        let mut work = self.work.borrow_mut();
        if work.tables.contains(&(id, mode)) {
            return Ok(());
        }
        if mode.is_weak()
            && let Some(told) = self.engine.locks.try_fast(self.slot(), id, mode)
        {
            self.note_known(told);
            work.tables.push((id, mode));
            if !work.fast_tables.contains(&id) {
                work.fast_tables.push(id);
            }
            return Ok(());
        }
        drop(work);
        self.acquire(self.owner(), LockTag::Table(id), LockMode::Table(mode), wait)?;
        if !mode.is_weak() {
            // Also by those whose lock was weak, who leave no word.
            self.note_lock();
        }
        self.work.borrow_mut().tables.push((id, mode));
        Ok(())
    }

    /// Locks an advisory key. Session locks count: each needs its own unlock.
    pub fn lock_advisory(
        &self,
        key: AdvisoryKey,
        mode: AdvisoryMode,
        scope: AdvisoryScope,
        wait: WaitPolicy,
    ) -> Result<(), WriteError> {
        let session = self.owner().session;
        let owner = match scope {
            AdvisoryScope::Transaction => self.owner(),
            AdvisoryScope::Session => {
                assert!(session != 0, "a session lock needs a session");
                Owner::session(session)
            }
        };
        self.acquire(owner, LockTag::Advisory(key), LockMode::Advisory(mode), wait)?;
        match scope {
            AdvisoryScope::Session => self.engine.locks.count_advisory(session, key, mode),
            // Not given back by ROLLBACK TO: `reduce` would need the modes taken before.
            AdvisoryScope::Transaction => {}
        }
        Ok(())
    }

    /// Undoes one session lock; false if the session does not have it.
    pub fn unlock_advisory(&self, key: AdvisoryKey, mode: AdvisoryMode) -> bool {
        self.engine
            .locks
            .unlock_advisory(self.owner().session, key, mode, self.settled())
    }

    /// Undoes all locks of the session on advisory keys.
    pub fn unlock_all_advisory(&self) {
        self.engine
            .release_session_locks(self.owner().session, self.settled());
    }

    fn acquire(
        &self,
        owner: Owner,
        tag: LockTag,
        mode: LockMode,
        policy: WaitPolicy,
    ) -> Result<(), WriteError> {
        let wake = self.wake();
        // What this transaction has done so far, others can infer from its lock on an advisory key, held or wanted.
        let known = match tag {
            LockTag::Advisory(_) => self.settled(),
            LockTag::Table(_) | LockTag::Row(..) | LockTag::Transaction(_) => Lsn::ZERO,
        };
        let acquired = self.engine.locks.acquire(
            LockRequest {
                owner,
                tag,
                mode,
                policy,
                wake: &wake,
                known,
            },
            &[],
        );
        match acquired {
            Acquired::Granted(told) => {
                match mode {
                    LockMode::Table(mode) if mode.is_weak() => self.note_known(told),
                    _ => self.note_granted(told),
                }
                Ok(())
            }
            Acquired::WouldBlock(told) => {
                // Holders of tables say nothing; those of keys have said what they knew.
                if matches!(tag, LockTag::Table(_)) {
                    self.note_view();
                }
                self.note_known(told);
                Err(WriteError::WouldBlock)
            }
            // Whoever comes back when the wait is over is granted the lock then.
            Acquired::Wait(ticket) => {
                self.note_view();
                Err(WriteError::MustWait(ticket))
            }
            Acquired::Deadlock(report) => {
                self.note_view();
                Err(WriteError::Deadlock(self.engine.labelled(report)))
            }
            Acquired::HolderGone => unreachable!("nothing was to be materialized"),
        }
    }

    // Letting go

    /// At the end: everything. The state has changed already.
    pub(super) fn release_locks(&self) {
        let (rows, fast) = {
            let mut work = self.work.borrow_mut();
            work.tables.clear();
            let fast = work.fast_tables.len();
            work.fast_tables.clear();
            (std::mem::take(&mut work.rows), fast)
        };
        for held in &rows {
            // SAFETY: tables outlive the transactions that locked their rows.
            self.change_lone_lock(unsafe { &*held.table }, held.row, RowLockWord::NONE);
        }
        let mut rows = rows;
        rows.clear();
        self.work.borrow_mut().rows = rows;
        let moved = self.engine.locks.release_fast(self.slot(), fast);
        if moved || self.slot().is_contended() {
            let aftermath = self.engine.locks.release_transaction(self.owner(), self.known());
            self.finish_release(aftermath);
        }
    }

    /// Replaces this transaction's lone lock word on a row; one in the lock table is left alone.
    fn change_lone_lock(&self, table: &Table, row: RowId, to: RowLockWord) {
        let Some(slot) = table.slot(row) else { return };
        let _guard = epoch::pin();
        let mut at = slot.head();
        // SAFETY: reached from the head under the pin.
        while let Some(version) = unsafe { at.as_ref() } {
            let word = RowLockWord(version.lock.load(Ordering::SeqCst));
            if word.in_table() {
                return;
            }
            if word.owner().is_some_and(|(slot, _)| slot == self.slot) {
                // Fails if somebody is just moving the lock into the lock table: then that will let go of it.
                let _ = version
                    .lock
                    .compare_exchange(word.0, to.0, Ordering::SeqCst, Ordering::SeqCst);
                return;
            }
            at = version.previous();
        }
    }

    /// Brings a row's lock down to what the remaining writes and lock requests of this transaction amount to.
    pub(super) fn settle_row_lock(&self, table: &Table, row: RowId) {
        let held = self
            .work
            .borrow()
            .rows
            .iter()
            .rev()
            .fold(None, |strongest, held| {
                let same = std::ptr::eq(held.table, table) && held.row == row;
                if same {
                    strongest.max(Some(held.strength))
                } else {
                    strongest
                }
            });
        let word = held.map_or(RowLockWord::NONE, |strength| {
            RowLockWord::alone(self.slot, strength)
        });
        self.change_lone_lock(table, row, word);
        if !self.slot().is_contended() {
            return;
        }
        let mut modes: Vec<LockMode> = held.map(LockMode::Row).into_iter().collect();
        modes.extend(self.implicit_row_lock(table, row).map(LockMode::Row));
        let tag = LockTag::Row(table.id(), row);
        let aftermath = self.engine.locks.reduce(self.owner(), tag, &modes, Lsn::ZERO);
        self.finish_release(aftermath);
    }

    /// What this transaction's uncommitted newest version locks.
    fn implicit_row_lock(&self, table: &Table, row: RowId) -> Option<RowLockStrength> {
        let _guard = epoch::pin();
        // SAFETY: found under the pin.
        let head = unsafe { table.slot(row)?.head().as_ref() }?;
        matches!(standing(head, self.engine.slots, self.slot), Standing::Own(_)).then(|| {
            if head.flags() & (KEY_LOCK | TOMBSTONE) != 0 {
                RowLockStrength::Update
            } else {
                RowLockStrength::NoKeyUpdate
            }
        })
    }

    /// Gives back table locks taken from number `from` on.
    pub(super) fn release_tables_from(&self, from: usize) {
        let mut released = self.work.borrow_mut().tables.split_off(from);
        if self.tracking.get() {
            // Reads stay, so their tables and indexes must: what weak locks keep out stays out until the end.
            let weak = released.extract_if(.., |(_, mode)| mode.is_weak());
            self.work.borrow_mut().tables.extend(weak);
        }
        for (id, _) in released {
            let keep: Vec<TableLockMode> = {
                let work = self.work.borrow();
                work.tables
                    .iter()
                    .filter(|(table, _)| *table == id)
                    .map(|&(_, mode)| mode)
                    .collect()
            };
            if self.engine.locks.release_fast_table(self.slot(), id, &keep) {
                if keep.is_empty() {
                    self.work.borrow_mut().fast_tables.retain(|&table| table != id);
                }
                continue;
            }
            let keep: Vec<LockMode> = keep.into_iter().map(LockMode::Table).collect();
            let known = self.settled();
            let aftermath = self
                .engine
                .locks
                .reduce(self.owner(), LockTag::Table(id), &keep, known);
            self.finish_release(aftermath);
        }
    }

    /// Clears lock words of rows the lock table has forgotten, then wakes who was granted something.
    pub(super) fn finish_release(&self, mut aftermath: Aftermath) {
        for (id, row) in std::mem::take(&mut aftermath.idle_rows) {
            let Some(table) = self.engine.table(id) else {
                continue;
            };
            let Some(slot) = table.slot(row) else { continue };
            let latched = slot.latch();
            // SAFETY: linked, under the latch. Who queues does it under the latch too.
            if let Some(head) = unsafe { latched.head().as_ref() }
                && !self.engine.locks.knows(LockTag::Row(id, row))
            {
                let (table, none) = (RowLockWord::TABLE.0, RowLockWord::NONE.0);
                let _ = head
                    .lock
                    .compare_exchange(table, none, Ordering::SeqCst, Ordering::SeqCst);
            }
        }
        aftermath.wake();
    }
}
