//! The lock table: holders and queues of everything that is contended, or is locked by more than one.
//!
//! Uncontended row locks stand in versions and weak table locks in transaction slots; both are moved here
//! ("materialized") by whoever finds them in the way, so that for a tag that is here, all holders are here.
//!
//! Handshake with the end of a transaction. Who materializes a lock of transaction T sets T's `contended` flag, then
//! looks whether T is still active; T's end changes its state, then looks at the flag. All SeqCst: either the former
//! sees the end and leaves T out, or T sees the flag and comes here to let go.
//!
//! Queues are first in, first out: a request is granted at once only if it conflicts with no holder and with nobody who
//! waits. Rows are PostgreSQL's exception: there only holders count for a newcomer, so that a share lock never waits
//! behind somebody who himself waits for sharers (a stream of sharers may starve him, as it may in PostgreSQL).
//! Whoever holds the tag already and asks for more goes to the front: behind others it would wait for itself.
//!
//! Who lets go leaves behind what it knew of commits (`released`), and who holds or waits for an advisory key what it knew
//! when it asked: a lock that is granted or refused tells the asker of both.
//!
//! One mutex guards it all, which makes the deadlock search exact and every hand-over atomic. Lock order: row latch,
//! then this mutex. Leaves out: the search (`deadlock`), weak table locks (`fast`).

use super::fast::FastPath;
use super::mode::{RowLockStrength, TableLockMode, WaitPolicy};
use super::owner::{NO_SLOT, Owner, Party};
use super::released::ReleasedKeys;
use super::ticket::{AdvisoryKey, AdvisoryMode, DeadlockReport, LockInfo, LockMode, LockTag, Ticket, Wake};
use crate::slots::TransactionId;
use crate::slots::slot::{SlotTable, TransactionSlot, TransactionState};
use hashbrown::HashMap;
use mote_common::sync::Mutex;
use mote_common::{Lsn, RowId, TableId};
use std::collections::VecDeque;
use std::sync::Arc;

impl LockMode {
    pub(super) fn bit(self) -> u16 {
        match self {
            LockMode::Table(mode) => mode.bit(),
            LockMode::Row(strength) => 1 << strength as u8,
            LockMode::Transaction { exclusive } => 1 << exclusive as u8,
            LockMode::Advisory(mode) => 1 << (mode == AdvisoryMode::Exclusive) as u8,
        }
    }

    pub(super) fn conflicts(self) -> u16 {
        match self {
            LockMode::Table(mode) => mode.conflicts(),
            LockMode::Row(strength) => RowLockStrength::ALL
                .into_iter()
                .filter(|&other| strength.conflicts_with(other))
                .fold(0, |bits, other| bits | 1 << other as u8),
            LockMode::Transaction { exclusive } => {
                if exclusive {
                    3
                } else {
                    2
                }
            }
            LockMode::Advisory(mode) => {
                if mode == AdvisoryMode::Exclusive {
                    3
                } else {
                    2
                }
            }
        }
    }

    /// The modes of `tag` whose bits are set, strongest first.
    fn of_bits(tag: LockTag, bits: u16) -> impl Iterator<Item = LockMode> {
        let all: Vec<LockMode> = match tag {
            LockTag::Table(_) => TableLockMode::ALL.map(LockMode::Table).into(),
            LockTag::Row(..) => RowLockStrength::ALL.map(LockMode::Row).into(),
            LockTag::Transaction(_) => vec![LockMode::Transaction { exclusive: true }],
            LockTag::Advisory(_) => [AdvisoryMode::Shared, AdvisoryMode::Exclusive]
                .map(LockMode::Advisory)
                .into(),
        };
        all.into_iter().rev().filter(move |mode| mode.bit() & bits != 0)
    }
}

pub(super) struct Holder {
    pub(super) owner: Owner,
    pub(super) modes: u16,
    /// What it knew when it asked for an advisory key; zero for other tags.
    pub(super) known: Lsn,
}

pub(super) struct Waiter {
    pub(super) owner: Owner,
    pub(super) mode: LockMode,
    pub(super) ticket: Ticket,
    pub(super) wake: Arc<dyn Wake>,
    pub(super) known: Lsn,
}

#[derive(Default)]
pub(super) struct Queue {
    pub(super) holders: Vec<Holder>,
    pub(super) waiters: VecDeque<Waiter>,
}

impl Queue {
    fn modes_of(&self, owner: &Owner) -> u16 {
        self.holders
            .iter()
            .filter(|holder| holder.owner == *owner)
            .fold(0, |bits, holder| bits | holder.modes)
    }

    fn party_holds(&self, owner: &Owner) -> bool {
        self.holders
            .iter()
            .any(|holder| holder.owner.is_same_party(owner))
    }

    fn conflicts_with_holders(&self, owner: &Owner, mode: LockMode) -> bool {
        let conflicts = mode.conflicts();
        self.holders
            .iter()
            .any(|holder| holder.modes & conflicts != 0 && !holder.owner.is_same_party(owner))
    }

    /// With any of the first `count` who wait.
    fn conflicts_with_waiters(&self, owner: &Owner, mode: LockMode, count: usize) -> bool {
        let conflicts = mode.conflicts();
        self.waiters
            .iter()
            .take(count)
            .any(|waiter| waiter.mode.bit() & conflicts != 0 && !waiter.owner.is_same_party(owner))
    }

    fn add(&mut self, owner: Owner, modes: u16, known: Lsn) {
        match self.holders.iter_mut().find(|holder| holder.owner == owner) {
            Some(holder) => {
                holder.modes |= modes;
                holder.known = known.max(holder.known);
            }
            None => self.holders.push(Holder { owner, modes, known }),
        }
    }

    /// What a refusal tells of: those who hold or wait have got that far.
    fn known(&self) -> Lsn {
        let holders = self.holders.iter().map(|holder| holder.known);
        let waiters = self.waiters.iter().map(|waiter| waiter.known);
        holders.chain(waiters).max().unwrap_or(Lsn::ZERO)
    }
}

/// Everything under the mutex.
#[derive(Default)]
pub(super) struct LockTable {
    pub(super) queues: HashMap<LockTag, Queue>,
    /// What each owner holds here.
    held: HashMap<OwnerKey, Vec<LockTag>>,
    /// A party waits for one thing at a time.
    pub(super) waiting: HashMap<Party, (LockTag, Ticket)>,
    /// How often a session has locked an advisory key.
    advisory_counts: HashMap<(u32, AdvisoryKey, AdvisoryMode), u32>,
    released_keys: ReleasedKeys,
    tickets: u64,
}

/// Key of an owner: transaction id, or session.
type OwnerKey = (TransactionId, u32);

fn owner_key(owner: &Owner) -> OwnerKey {
    if owner.id.0 != 0 {
        (owner.id, 0)
    } else {
        (owner.id, owner.session)
    }
}

/// What a request came to.
#[derive(Debug)]
pub(crate) enum Acquired {
    /// Tells of what those knew who had a table or an advisory key before. For other tags, and for strong table
    /// locks, that is not kept.
    Granted(Lsn),
    Wait(Ticket),
    /// Tells of what those knew who have the advisory key, or wait for it.
    WouldBlock(Lsn),
    Deadlock(Box<DeadlockReport>),
    /// A transaction whose lock should have been materialized is over: look again.
    HolderGone,
}

/// A request for the lock table.
pub(crate) struct LockRequest<'a> {
    pub(crate) owner: Owner,
    pub(crate) tag: LockTag,
    pub(crate) mode: LockMode,
    pub(crate) policy: WaitPolicy,
    pub(crate) wake: &'a Arc<dyn Wake>,
    /// What the asker knows of commits, where that is for others to learn: advisory keys.
    pub(crate) known: Lsn,
}

/// What is left to do after the mutex: wake sessions, clear lock words.
#[derive(Default)]
pub(crate) struct Aftermath {
    wakes: Vec<(Arc<dyn Wake>, Ticket)>,
    /// Rows that nobody holds or waits for here any more.
    pub(crate) idle_rows: Vec<(TableId, RowId)>,
}

impl Aftermath {
    pub(crate) fn wake(&mut self) {
        for (wake, ticket) in self.wakes.drain(..) {
            wake.wake(ticket);
        }
    }
}

/// Holders and queues.
pub(crate) struct LockManager {
    table: Mutex<LockTable>,
    pub(super) fast: FastPath,
    pub(super) slots: &'static SlotTable,
}

impl LockManager {
    pub(crate) fn new(slots: &'static SlotTable) -> LockManager {
        LockManager {
            table: Mutex::default(),
            fast: FastPath::new(),
            slots,
        }
    }

    /// Grants, queues or refuses. `implicit` are locks on the tag that stand elsewhere.
    pub(crate) fn acquire(&self, request: LockRequest<'_>, implicit: &[(Owner, LockMode)]) -> Acquired {
        let mut table = self.table.lock();
        let table = &mut *table;
        if let Some(&(tag, ticket)) = table.waiting.get(&request.owner.party()) {
            if tag == request.tag {
                return Acquired::Wait(ticket);
            }
            // Whoever asks for something else has given up the wait before.
            let mut aftermath = Aftermath::default();
            table.leave(&self.fast, ticket, &mut aftermath);
            aftermath.wake();
        }
        for (holder, _) in implicit {
            if !self.announce(holder) {
                return Acquired::HolderGone;
            }
        }
        let fresh = !table.queues.contains_key(&request.tag);
        table.queues.entry(request.tag).or_default();
        if fresh && let LockTag::Table(id) = request.tag {
            self.fast.close(id, self.slots, |owner, modes| {
                table.hold(request.tag, owner, modes, Lsn::ZERO)
            });
        }
        for &(holder, mode) in implicit {
            // Read here, under the mutex: it may have been prepared since the caller looked.
            let session = self.slots.get(holder.slot).session();
            let holder = Owner { session, ..holder };
            table.hold(request.tag, holder, mode.bit(), Lsn::ZERO);
        }
        let outcome = self.decide(table, &request);
        table.forget_if_idle(&self.fast, request.tag);
        outcome
    }

    /// Marks a holder as known here; false if its transaction is over.
    fn announce(&self, holder: &Owner) -> bool {
        let slot = self.slots.get(holder.slot);
        slot.set_contended();
        let live = matches!(
            slot.state(),
            TransactionState::Active | TransactionState::Validating(_)
        );
        slot.id() == holder.id && live
    }

    fn decide(&self, table: &mut LockTable, request: &LockRequest<'_>) -> Acquired {
        let LockRequest {
            owner,
            tag,
            mode,
            policy,
            known,
            ..
        } = *request;
        let released = match &tag {
            LockTag::Table(id) => self.fast.released(*id),
            LockTag::Advisory(key) => table.released_keys.get(key),
            LockTag::Row(..) | LockTag::Transaction(_) => Lsn::ZERO,
        };
        let queue = table.queues.get_mut(&tag).expect("acquire made the queue");
        if queue.modes_of(&owner) & mode.bit() != 0 {
            return Acquired::Granted(released);
        }
        let more = queue.party_holds(&owner);
        let overtakes = more || matches!(tag, LockTag::Row(..));
        let free = !queue.conflicts_with_holders(&owner, mode)
            && (overtakes || !queue.conflicts_with_waiters(&owner, mode, usize::MAX));
        if owner.slot != NO_SLOT {
            self.slots.get(owner.slot).set_contended();
        }
        if free {
            table.hold(tag, owner, mode.bit(), known);
            return Acquired::Granted(released);
        }
        if policy == WaitPolicy::NoWait {
            return Acquired::WouldBlock(queue.known().max(released));
        }
        table.tickets += 1;
        let ticket = Ticket(table.tickets);
        let waiter = Waiter {
            owner,
            mode,
            ticket,
            wake: request.wake.clone(),
            known,
        };
        if more {
            queue.waiters.push_front(waiter)
        } else {
            queue.waiters.push_back(waiter)
        }
        table.waiting.insert(owner.party(), (tag, ticket));
        match table.untie(owner) {
            Ok(changed) => {
                let mut aftermath = Aftermath::default();
                for tag in changed {
                    table.hand_over(&self.fast, tag, &mut aftermath);
                }
                aftermath.wake();
                if table.waiting.contains_key(&owner.party()) {
                    Acquired::Wait(ticket)
                } else {
                    Acquired::Granted(released)
                }
            }
            Err(report) => {
                // Nobody can have been granted behind a wait that did not exist before: no aftermath.
                table.leave(&self.fast, ticket, &mut Aftermath::default());
                Acquired::Deadlock(Box::new(report))
            }
        }
    }

    /// Leaves the queue. A ticket that was granted meanwhile stays granted.
    pub(crate) fn cancel(&self, ticket: Ticket) {
        let mut aftermath = Aftermath::default();
        self.table.lock().leave(&self.fast, ticket, &mut aftermath);
        aftermath.wake();
    }

    /// Lets go of everything a transaction has here, and of the waits for its end.
    pub(crate) fn release_transaction(&self, owner: Owner, known: Lsn) -> Aftermath {
        let mut aftermath = Aftermath::default();
        let mut table = self.table.lock();
        table.leave_party(&self.fast, owner, &mut aftermath);
        for tag in table.held.remove(&owner_key(&owner)).unwrap_or_default() {
            table.leave_word(&self.fast, tag, owner, known);
            table.drop_modes(&self.fast, tag, owner, 0, &mut aftermath);
        }
        aftermath
    }

    /// Reduces what `owner` holds of `tag` to `modes`.
    pub(crate) fn reduce(&self, owner: Owner, tag: LockTag, modes: &[LockMode], known: Lsn) -> Aftermath {
        let mut aftermath = Aftermath::default();
        let keep = modes.iter().fold(0, |bits, mode| bits | mode.bit());
        let mut table = self.table.lock();
        if keep == 0
            && let Some(held) = table.held.get_mut(&owner_key(&owner))
        {
            held.retain(|&other| other != tag);
        }
        table.leave_word(&self.fast, tag, owner, known);
        table.drop_modes(&self.fast, tag, owner, keep, &mut aftermath);
        aftermath
    }

    /// What the lock table knows `owner` to hold.
    pub(crate) fn held_by(&self, owner: Owner) -> Vec<(LockTag, LockMode)> {
        let table = self.table.lock();
        let tags = table.held.get(&owner_key(&owner)).into_iter().flatten();
        tags.filter_map(|&tag| Some((tag, table.queues.get(&tag)?.modes_of(&owner))))
            .flat_map(|(tag, modes)| LockMode::of_bits(tag, modes).map(move |mode| (tag, mode)))
            .collect()
    }

    /// A transaction is prepared: it keeps its locks, and they are its session's no longer.
    pub(crate) fn leave_session(&self, owner: Owner) {
        let mut table = self.table.lock();
        let table = &mut *table;
        self.slots.get(owner.slot).leave_session();
        for tag in table.held.get(&owner_key(&owner)).into_iter().flatten() {
            let Some(queue) = table.queues.get_mut(tag) else {
                continue;
            };
            for holder in queue.holders.iter_mut().filter(|holder| holder.owner == owner) {
                holder.owner.session = 0;
            }
        }
    }

    /// An advisory key that both the session and its transaction have locked.
    pub(crate) fn locked_at_both_levels(&self, owner: Owner) -> bool {
        let table = self.table.lock();
        let of = |owner: Owner| table.held.get(&owner_key(&owner)).into_iter().flatten();
        owner.session != 0
            && of(owner)
                .filter(|tag| matches!(tag, LockTag::Advisory(_)))
                .any(|tag| of(Owner::session(owner.session)).any(|other| other == tag))
    }

    /// A weak table lock in the transaction's own slot, and what it tells of; `None`: ask the lock table.
    pub(crate) fn try_fast(&self, slot: &TransactionSlot, id: TableId, mode: TableLockMode) -> Option<Lsn> {
        self.fast.try_lock(slot, id, mode)
    }

    /// Releases all of a transaction's `noted` weak locks; true if some had been moved to the lock table.
    pub(crate) fn release_fast(&self, slot: &TransactionSlot, noted: usize) -> bool {
        noted > 0 && FastPath::release_all(slot, noted)
    }

    /// Reduces a weak lock in the slot to `keep`; false if it is not there.
    pub(crate) fn release_fast_table(
        &self,
        slot: &TransactionSlot,
        id: TableId,
        keep: &[TableLockMode],
    ) -> bool {
        FastPath::release(slot, id, keep.iter().fold(0, |bits, mode| bits | mode.bit()))
    }

    /// Does the lock table know the tag? Asked under the row latch before a lock word is cleared.
    pub(crate) fn knows(&self, tag: LockTag) -> bool {
        self.table.lock().queues.contains_key(&tag)
    }

    /// Counts one more lock of a session on an advisory key that was granted to it.
    pub(crate) fn count_advisory(&self, session: u32, key: AdvisoryKey, mode: AdvisoryMode) {
        *self
            .table
            .lock()
            .advisory_counts
            .entry((session, key, mode))
            .or_default() += 1;
    }

    /// Undoes one `count_advisory`; false if the session does not hold the lock.
    pub(crate) fn unlock_advisory(
        &self,
        session: u32,
        key: AdvisoryKey,
        mode: AdvisoryMode,
        known: Lsn,
    ) -> bool {
        let mut aftermath = Aftermath::default();
        let mut table = self.table.lock();
        let Some(count) = table.advisory_counts.get_mut(&(session, key, mode)) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            table.advisory_counts.remove(&(session, key, mode));
            let (owner, tag) = (Owner::session(session), LockTag::Advisory(key));
            let held = table.queues.get(&tag).map_or(0, |queue| queue.modes_of(&owner));
            let keep = held & !LockMode::Advisory(mode).bit();
            if keep == 0
                && let Some(tags) = table.held.get_mut(&owner_key(&owner))
            {
                tags.retain(|&other| other != tag);
            }
            table.leave_word(&self.fast, tag, owner, known);
            table.drop_modes(&self.fast, tag, owner, keep, &mut aftermath);
        }
        drop(table);
        aftermath.wake();
        true
    }

    /// Lets go of all advisory locks that belong to the session itself, which knows that much of commits.
    pub(crate) fn release_session(&self, session: u32, known: Lsn) {
        let mut aftermath = Aftermath::default();
        let owner = Owner::session(session);
        let mut table = self.table.lock();
        table.advisory_counts.retain(|&(holder, ..), _| holder != session);
        for tag in table.held.remove(&owner_key(&owner)).unwrap_or_default() {
            table.leave_word(&self.fast, tag, owner, known);
            table.drop_modes(&self.fast, tag, owner, 0, &mut aftermath);
        }
        drop(table);
        aftermath.wake();
    }

    /// Every lock the lock table and the slots know.
    pub(crate) fn list(&self) -> Vec<LockInfo> {
        let table = self.table.lock();
        let info = |tag, mode, owner: &Owner, granted, fast_path| LockInfo {
            tag,
            mode,
            session: owner.session,
            transaction: owner.id,
            granted,
            fast_path,
        };
        let mut list = Vec::new();
        for (&tag, queue) in &table.queues {
            for holder in &queue.holders {
                let modes = LockMode::of_bits(tag, holder.modes);
                list.extend(modes.map(|mode| info(tag, mode, &holder.owner, true, false)));
            }
            let waiters = queue.waiters.iter();
            list.extend(waiters.map(|waiter| info(tag, waiter.mode, &waiter.owner, false, false)));
        }
        self.fast.for_each(self.slots, |id, owner, modes| {
            let tag = LockTag::Table(id);
            list.extend(LockMode::of_bits(tag, modes).map(|mode| info(tag, mode, &owner, true, true)));
        });
        list
    }

    /// Transactions of others that hold the table in a mode that conflicts with `mode`.
    pub(crate) fn conflicting_holders(&self, owner: &Owner, id: TableId, mode: TableLockMode) -> Vec<Owner> {
        let table = self.table.lock();
        let in_the_way = |holder: &Owner, modes: u16| {
            modes & mode.conflicts() != 0 && holder.slot != NO_SLOT && !holder.is_same_party(owner)
        };
        let queue = table.queues.get(&LockTag::Table(id));
        let holders = queue.into_iter().flat_map(|queue| &queue.holders);
        let mut found: Vec<Owner> = holders
            .filter(|holder| in_the_way(&holder.owner, holder.modes))
            .map(|holder| holder.owner)
            .collect();
        self.fast.for_each(self.slots, |noted, holder, modes| {
            if noted == id && in_the_way(&holder, modes) {
                found.push(holder);
            }
        });
        found
    }

    /// The parties that keep a session from going on, by session and transaction: pg_blocking_pids.
    pub(crate) fn blockers(&self, session: u32) -> Vec<(u32, TransactionId)> {
        let table = self.table.lock();
        let party = Party::Session(session);
        let Some(&(tag, ticket)) = table.waiting.get(&party) else {
            return Vec::new();
        };
        table
            .in_the_way(tag, ticket)
            .into_iter()
            .map(|owner| (owner.session, owner.id))
            .collect()
    }
}

impl LockTable {
    fn hold(&mut self, tag: LockTag, owner: Owner, modes: u16, known: Lsn) {
        let queue = self.queues.entry(tag).or_default();
        let holds = queue.modes_of(&owner) != 0;
        queue.add(owner, modes, known);
        if !holds {
            self.held.entry(owner_key(&owner)).or_default().push(tag);
        }
    }

    /// Tells those who get the lock next what its holder knew. Before `drop_modes`. Of a table only strong holders do: who
    /// gets a strong lock reads at the tail whatever it is told, and a weak one that stood here, because somebody asked for
    /// a strong one beside it, has kept no weak one waiting. Otherwise plain readers would wait for commits of plain
    /// writers.
    fn leave_word(&mut self, fast: &FastPath, tag: LockTag, owner: Owner, known: Lsn) {
        match &tag {
            LockTag::Table(id) => {
                let modes = self.queues.get(&tag).map_or(0, |queue| queue.modes_of(&owner));
                if modes & !TableLockMode::WEAK != 0 {
                    fast.raise_released(*id, known);
                }
            }
            LockTag::Advisory(key) => self.released_keys.raise(key, known),
            LockTag::Row(..) | LockTag::Transaction(_) => {}
        }
    }

    /// Reduces the owner's modes of `tag` to those in `keep` and hands over what became free.
    fn drop_modes(&mut self, fast: &FastPath, tag: LockTag, owner: Owner, keep: u16, after: &mut Aftermath) {
        let Some(queue) = self.queues.get_mut(&tag) else {
            return;
        };
        queue.holders.retain_mut(|holder| {
            if holder.owner == owner {
                // Set, not masked: a strong row lock may come down to a weaker one that never stood here.
                holder.modes = keep;
            }
            holder.modes != 0
        });
        self.hand_over(fast, tag, after);
    }

    /// Grants, in order, everybody who conflicts with no holder and with nobody still waiting in front.
    fn hand_over(&mut self, fast: &FastPath, tag: LockTag, after: &mut Aftermath) {
        let Some(queue) = self.queues.get_mut(&tag) else {
            return;
        };
        let mut position = 0;
        let mut granted = Vec::new();
        while position < queue.waiters.len() {
            let (owner, mode) = (queue.waiters[position].owner, queue.waiters[position].mode);
            let free = !queue.conflicts_with_holders(&owner, mode)
                && !queue.conflicts_with_waiters(&owner, mode, position);
            if !free {
                position += 1;
                continue;
            }
            let waiter = queue
                .waiters
                .remove(position)
                .expect("the position is below the length");
            // Waiting for a transaction is over when it is: nothing to hold.
            if !matches!(tag, LockTag::Transaction(_)) {
                let holds = queue.modes_of(&owner) != 0;
                queue.add(owner, mode.bit(), waiter.known);
                if !holds {
                    granted.push(owner);
                }
            }
            self.waiting.remove(&owner.party());
            after.wakes.push((waiter.wake, waiter.ticket));
        }
        for owner in granted {
            self.held.entry(owner_key(&owner)).or_default().push(tag);
        }
        if self.forget_if_idle(fast, tag)
            && let LockTag::Row(table, row) = tag
        {
            after.idle_rows.push((table, row));
        }
    }

    fn forget_if_idle(&mut self, fast: &FastPath, tag: LockTag) -> bool {
        let idle = self
            .queues
            .get(&tag)
            .is_some_and(|queue| queue.holders.is_empty() && queue.waiters.is_empty());
        if idle {
            self.queues.remove(&tag);
            if let LockTag::Table(id) = tag {
                fast.open(id);
            }
        }
        idle
    }

    /// Takes a waiter out of its queue.
    fn leave(&mut self, fast: &FastPath, ticket: Ticket, after: &mut Aftermath) {
        let Some((&party, &(tag, _))) = self.waiting.iter().find(|(_, wait)| wait.1 == ticket) else {
            return;
        };
        self.waiting.remove(&party);
        if let Some(queue) = self.queues.get_mut(&tag) {
            queue.waiters.retain(|waiter| waiter.ticket != ticket);
            self.hand_over(fast, tag, after);
        }
    }

    fn leave_party(&mut self, fast: &FastPath, owner: Owner, after: &mut Aftermath) {
        if let Some(&(_, ticket)) = self.waiting.get(&owner.party()) {
            self.leave(fast, ticket, after);
        }
    }
}
