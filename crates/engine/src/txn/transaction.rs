//! A running transaction: begin, statements, reads.
//!
//! A transaction belongs to one session and moves with it between threads, never shared. Methods take `&self`, so that a
//! row that was read can be held while another is written; state stands behind cells.

use super::engine_core::EngineCore;
use super::error::{BeginError, WriteError};
use super::lent::Lent;
use super::memory_wait::MemoryWait;
use super::met::Known;
use super::numbers::Running;
use super::reads::ReadSet;
use super::snapshot::{RowVersion, Snapshot};
use super::source::Source;
use super::work::Work;
use crate::epoch;
use crate::lock::owner::Owner;
use crate::lock::{Ticket, Wake};
use crate::slots::TransactionId;
use crate::slots::slot::{SNAPSHOTS, TransactionSlot};
use crate::table::version::KEY_CHANGED;
use crate::table::visibility::{self, Eye};
use crate::table::{ColumnSet, Table};
use mote_common::sync::atomic::{Ordering, fence};
use mote_common::{CommandId, Lsn, RowId};
use mote_log::SetAside;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;

/// PostgreSQL's levels; READ UNCOMMITTED is READ COMMITTED.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// What a statement is going to do: decides where its snapshot is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Sees everything acknowledged to anybody, waits for nothing.
    Read,
    /// Locks or writes: sees the tail.
    Write,
}

/// How a transaction begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BeginOptions {
    pub isolation: Isolation,
    pub read_only: bool,
    /// Names the session in pg_locks and deadlock reports; 0 = none. A session has one transaction at a time.
    pub session: u32,
    /// The highest `seen` or commit timestamp of the session so far: no snapshot is older, and replies wait for it.
    pub session_seen: Lsn,
    /// The highest `known` of its receipts: no snapshot is older.
    pub session_known: Lsn,
}

impl Default for BeginOptions {
    fn default() -> BeginOptions {
        BeginOptions {
            isolation: Isolation::ReadCommitted,
            read_only: false,
            session: 0,
            session_seen: Lsn::ZERO,
            session_known: Lsn::ZERO,
        }
    }
}

/// What `resume_statement` puts back.
#[must_use]
pub struct SuspendedStatement {
    command: u32,
    snapshot: Option<Snapshot>,
}

/// A row this transaction has locked.
#[derive(Clone, Copy, Debug)]
pub struct LockedRow<'t> {
    /// The newest version; `None` when the row was deleted.
    pub newest: Option<RowVersion<'t>>,
    /// The newest version is not `seen`: READ COMMITTED evaluates the row again.
    pub changed: bool,
    /// It was not just deleted: its transaction wrote it to another table ([`Transaction::delete_moved`]).
    pub moved: bool,
}

/// A transaction. Dropped without `commit`, it is rolled back.
pub struct Transaction {
    pub(super) engine: Arc<EngineCore>,
    pub(super) slot: u32,
    id: TransactionId,
    isolation: Cell<Isolation>,
    read_only: Cell<bool>,
    session: u32,
    command: Cell<u32>,
    /// The highest command so far: above `command` while a statement goes on after others that ran inside of it.
    last_command: Cell<u32>,
    pub(super) current: RefCell<Option<Snapshot>>,
    /// What it has met of the commits of others; at first what its session has.
    pub(super) known: Known,
    pub(super) work: RefCell<Lent<Work>>,
    pub(super) source: Cell<Source>,
    pub(super) wake: RefCell<Arc<dyn Wake>>,
    /// Somebody listens to `wake`.
    can_wait: Cell<bool>,
    /// False within [`without_sending`](Self::without_sending).
    sends: Cell<bool>,
    pub(super) memory_wait: MemoryWait,
    /// Room in the log for the frame that ends the transaction.
    pub(super) aside: RefCell<Option<SetAside>>,
    /// SERIALIZABLE, and may write: reads are noted in `reads`. Every read tests this.
    pub(super) tracking: Cell<bool>,
    pub(super) reads: RefCell<Lent<ReadSet>>,
    /// The client was told of more than its snapshot: a commit that wrote nothing must validate, too.
    pub(super) validate_without_writes: Cell<bool>,
    /// A read met a row of which somebody has changed what was read since the snapshot: this transaction cannot commit
    /// writes.
    pub(super) read_stale: Cell<bool>,
    /// The running statement was refused a row that somebody has changed since the snapshot.
    pub(super) row_changed: Cell<bool>,
    /// Scratch for keys.
    pub(super) key: Cell<Vec<u8>>,
    pub(super) over: Cell<bool>,
    /// Whom its snapshots do not see, by their timestamps; see `running`.
    pub(super) running: RefCell<Vec<(Lsn, Running)>>,
    /// Somebody was told its number.
    named: Cell<bool>,
}

/// A session that never waits needs no wake.
struct NoWake;

impl Wake for NoWake {
    fn wake(&self, _ticket: Ticket) {}
}

impl EngineCore {
    /// Begins a transaction without a session.
    pub fn begin(
        self: &Arc<EngineCore>,
        isolation: Isolation,
        read_only: bool,
    ) -> Result<Transaction, BeginError> {
        self.begin_with(BeginOptions {
            isolation,
            read_only,
            ..BeginOptions::default()
        })
    }

    pub fn begin_with(self: &Arc<EngineCore>, options: BeginOptions) -> Result<Transaction, BeginError> {
        if self.is_stopped() {
            return Err(BeginError::Stopped);
        }
        let slot = self
            .slots
            .take(|| self.next_transaction_id(), options.session, self.log.tail())
            .ok_or(BeginError::TooManyTransactions {
                maximum: self.slots.capacity(),
            })?;
        let id = self.slots.get(slot).id();
        Ok(Transaction::around(self, slot, id, options, self.take_work()))
    }
}

impl Transaction {
    /// A transaction that has its slot and its buffers.
    pub(super) fn around(
        engine: &Arc<EngineCore>,
        slot: u32,
        id: TransactionId,
        options: BeginOptions,
        mut work: Lent<Work>,
    ) -> Transaction {
        mote_common::sync::thread_local! {
            static NO_WAKE: Arc<dyn Wake> = Arc::new(NoWake);
        }
        let mut reads = std::mem::take(&mut work.reads);
        if !reads.is_there() {
            reads = Lent::filled();
        }
        Transaction {
            engine: engine.clone(),
            slot,
            id,
            isolation: Cell::new(options.isolation),
            read_only: Cell::new(options.read_only),
            session: options.session,
            command: Cell::new(0),
            last_command: Cell::new(0),
            current: RefCell::new(None),
            known: Known::of_session(options.session_seen, options.session_known),
            work: RefCell::new(work),
            source: Cell::new(Source::Session),
            tracking: Cell::new(options.isolation == Isolation::Serializable && !options.read_only),
            reads: RefCell::new(reads),
            validate_without_writes: Cell::new(false),
            read_stale: Cell::new(false),
            row_changed: Cell::new(false),
            wake: RefCell::new(NO_WAKE.with(Arc::clone)),
            can_wait: Cell::new(false),
            sends: Cell::new(true),
            memory_wait: MemoryWait::default(),
            aside: RefCell::new(None),
            key: Cell::new(Vec::new()),
            over: Cell::new(false),
            running: RefCell::default(),
            named: Cell::new(false),
        }
    }

    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// The number, for somebody who may keep it.
    pub fn name(&self) -> TransactionId {
        self.named.set(true);
        self.id
    }

    /// Has it a number in the sense of PostgreSQL, which gives one to who writes or asks for it?
    pub fn is_named(&self) -> bool {
        self.named.get() || self.has_writes()
    }

    pub fn isolation(&self) -> Isolation {
        self.isolation.get()
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only.get()
    }

    pub fn engine(&self) -> &Arc<EngineCore> {
        &self.engine
    }

    /// SET TRANSACTION ISOLATION LEVEL: before the first snapshot, which belongs to the level.
    pub fn set_isolation(&self, isolation: Isolation) -> Result<(), BeginError> {
        if isolation == self.isolation.get() {
            return Ok(());
        }
        if self.current.borrow().is_some() {
            return Err(BeginError::Unsupported("another isolation level after a query"));
        }
        self.isolation.set(isolation);
        self.tracking
            .set(isolation == Isolation::Serializable && !self.read_only.get());
        Ok(())
    }

    /// SET TRANSACTION READ ONLY, or READ WRITE. What a SERIALIZABLE transaction that began READ ONLY has read was not
    /// noted, so READ WRITE is then refused.
    pub fn set_read_only(&self, read_only: bool) -> Result<(), BeginError> {
        if self.isolation.get() == Isolation::Serializable && !read_only && !self.tracking.get() {
            if self.current.borrow().is_some() {
                return Err(BeginError::Unsupported(
                    "READ WRITE after a query in a SERIALIZABLE transaction",
                ));
            }
            self.tracking.set(true);
        }
        self.read_only.set(read_only);
        Ok(())
    }

    /// Has anything been written or locked that rollback must undo?
    pub fn has_writes(&self) -> bool {
        let work = self.work.borrow();
        !work.writes.is_empty() || !work.ddl.is_empty()
    }

    /// Called, from any thread, when a ticket of this transaction is decided.
    pub fn set_wake(&self, wake: Arc<dyn Wake>) {
        *self.wake.borrow_mut() = wake;
        self.can_wait.set(true);
    }

    /// Leaves the queue. Call when the wait ends any other way than by the wake; harmless after it.
    pub fn cancel_wait(&self, ticket: Ticket) {
        self.engine.cancel_wait(ticket);
    }

    // Statements

    /// The same as [`start_statement`](Self::start_statement), for a caller that reads through the snapshot itself.
    pub fn begin_statement(&self, access: Access) -> Snapshot {
        self.start_statement(access);
        self.snapshot()
    }

    /// Begins a command and gives it its snapshot: a new one under READ COMMITTED, else the transaction's first.
    pub fn start_statement(&self, access: Access) {
        let command = self.next_command();
        let first = match self.isolation.get() {
            Isolation::ReadCommitted => None,
            _ => self
                .current
                .borrow()
                .as_ref()
                .map(|snapshot| snapshot.at_command(command)),
        };
        let snapshot = match first {
            Some(snapshot) => snapshot,
            None => {
                // Let go of the old one first: its entry can be used again.
                *self.current.borrow_mut() = None;
                let at_tail = match self.isolation.get() {
                    Isolation::ReadCommitted => access == Access::Write,
                    _ => !self.read_only.get(),
                };
                self.register(at_tail, command)
            }
        };
        *self.current.borrow_mut() = Some(snapshot);
    }

    /// Reads through a snapshot that another transaction has, from the first statement on: of REPEATABLE READ, or of
    /// SERIALIZABLE that does not write. What `other` sees stays where it is as long as anybody reads through it; the own
    /// writes of its transaction are not seen.
    pub fn import_snapshot(&self, other: &Snapshot) {
        assert!(self.isolation.get() != Isolation::ReadCommitted && self.current.borrow().is_none());
        debug_assert!(
            !self.tracking.get(),
            "reads as of an older snapshot are not validated"
        );
        // What it sees may not be stable yet: replies wait for that.
        self.note_seen(other.timestamp());
        let command = self.next_command();
        *self.current.borrow_mut() = Some(other.at_command(command));
    }

    /// The snapshot of the current statement; begins a reading one if there is none.
    pub fn snapshot(&self) -> Snapshot {
        let current = self.current.borrow().clone();
        current.unwrap_or_else(|| self.begin_statement(Access::Read))
    }

    /// Makes own writes so far visible: the same timestamp, a later command.
    pub fn advance_command(&self) -> Snapshot {
        let command = self.next_command();
        let snapshot = self.snapshot().at_command(command);
        *self.current.borrow_mut() = Some(snapshot.clone());
        snapshot
    }

    /// Lets go of the current statement's snapshot, so that an idle READ COMMITTED transaction holds nothing back.
    pub fn end_statement(&self) {
        if self.isolation.get() == Isolation::ReadCommitted {
            *self.current.borrow_mut() = None;
        }
    }

    /// Makes room for statements inside of the running one: until `resume_statement` they begin and end as any others
    /// do. `snapshot` is what a statement sees that begins none of its own: the running statement's.
    pub fn suspend_statement(&self, snapshot: &Snapshot) -> SuspendedStatement {
        SuspendedStatement {
            command: self.command.get(),
            snapshot: self.current.borrow_mut().replace(snapshot.clone()),
        }
    }

    /// Goes on with a suspended statement: it writes under its own command again, and sees nothing of those that ran
    /// meanwhile.
    pub fn resume_statement(&self, suspended: SuspendedStatement) {
        self.command.set(suspended.command);
        *self.current.borrow_mut() = suspended.snapshot;
    }

    /// Was the session asked to give a snapshot of this transaction up, or one that it has imported? It stays good until
    /// that is done.
    #[inline]
    pub fn is_revoked(&self) -> bool {
        let registered = &self.slot().snapshots;
        // Without branches: asked twice a statement, and hardly ever true.
        let own = registered
            .iter()
            .fold(false, |revoked, entry| revoked | entry.is_revoked());
        own || self.current.borrow().as_ref().is_some_and(Snapshot::is_revoked)
    }

    /// The command that is running: what it writes, it does not see.
    pub fn command(&self) -> CommandId {
        CommandId(self.command.get())
    }

    pub(super) fn next_command(&self) -> u32 {
        let command = self.last_command.get() + 1;
        self.last_command.set(command);
        self.command.set(command);
        command
    }

    /// Registers a snapshot; the protocol is argued in `horizon`.
    pub(super) fn register(&self, at_tail: bool, command: u32) -> Snapshot {
        let (slots, log) = (self.engine.slots, &self.engine.log);
        let entries = &self.slot().snapshots;
        let (exact, shared) = entries.split_at(SNAPSHOTS - 1);
        let (number, entry) = match exact.iter().position(|entry| entry.is_free()) {
            Some(number) => (number, &exact[number]),
            None => (SNAPSHOTS - 1, &shared[0]),
        };
        let running = self.list_running();
        let is_shared = number == SNAPSHOTS - 1;
        if is_shared {
            entry.join(log.stable());
        } else {
            entry.announce(log.stable());
            entry.begin();
        }
        // Pairs with the fence in `ActiveView::collect`: announce, then read.
        fence(Ordering::SeqCst);
        let acked = log.acked();
        // Relaxed: see the field.
        let indexed = Lsn(self.engine.schema_horizon.load(Ordering::Relaxed));
        let floor = self.snapshot_floor().filter(|_| !at_tail);
        let ts = match floor {
            Some(floor) if floor <= acked && indexed <= acked => acked,
            _ => {
                let tail = log.tail();
                self.settle_told(tail);
                tail
            }
        };
        if !is_shared {
            entry.settle(ts);
        }
        if let Some(running) = running {
            self.keep_list(ts, running);
        }
        Snapshot::adopt(slots, self.slot, number as u8, command, ts)
    }

    // Reads

    /// The row as `snapshot` sees it. Borrows the transaction, too: its rollback frees what it has written itself.
    #[inline]
    pub fn fetch<'s>(&'s self, table: &Table, row: RowId, snapshot: &'s Snapshot) -> Option<RowVersion<'s>> {
        self.fetch_columns(table, row, snapshot, ColumnSet::WHOLE)
    }

    /// The same for a caller that looks at these columns only: SERIALIZABLE lets others change the rest.
    #[inline]
    pub fn fetch_columns<'s>(
        &'s self,
        table: &Table,
        row: RowId,
        snapshot: &'s Snapshot,
        columns: ColumnSet,
    ) -> Option<RowVersion<'s>> {
        if self.tracking.get() {
            self.note_row(table, row, columns);
        }
        self.look_up(table, row, snapshot, columns)
    }

    /// `fetch` for a caller that notes the read itself.
    #[inline]
    pub(crate) fn look_up<'s>(
        &'s self,
        table: &Table,
        row: RowId,
        snapshot: &'s Snapshot,
        columns: ColumnSet,
    ) -> Option<RowVersion<'s>> {
        let slot = table.slot(row)?;
        let _guard = epoch::pin();
        let head = slot.head();
        // SAFETY: pinned before the head was loaded.
        let sight = unsafe { visibility::look(head, self.eye(snapshot)) };
        if self.tracking.get()
            && sight
                .as_ref()
                .is_none_or(|sight| !std::ptr::eq(sight.version, head))
        {
            self.note_stale(table, row, columns);
        }
        let sight = sight?;
        if let Some(ts) = sight.ts {
            self.note_seen(ts);
        }
        let found = NonNull::new(sight.version.cast_mut())?;
        // SAFETY: found under the pin.
        let version = unsafe { found.as_ref() };
        if version.is_tombstone() {
            return None;
        }
        // SAFETY: the head was found under the same pin. It tells of entries of newer versions, the version of older ones.
        let key_check = (unsafe { &*head }.flags() | version.flags()) & KEY_CHANGED != 0;
        // SAFETY: visible to a registered snapshot, or our own write, which stays until the transaction ends: 's borrows
        // both.
        Some(unsafe { RowVersion::new(found, row, key_check) })
    }

    /// The newest version of a row that this transaction has locked or written.
    pub fn fetch_newest<'t>(&'t self, table: &Table, row: RowId) -> Option<RowVersion<'t>> {
        let slot = table.slot(row)?;
        let _guard = epoch::pin();
        let head = NonNull::new(slot.head().cast_mut())?;
        // SAFETY: found under the pin.
        let version = unsafe { head.as_ref() };
        if version.is_tombstone() {
            return None;
        }
        // SAFETY: nobody else can replace it while this transaction has the lock, and what this transaction itself
        // unlinks it keeps until its end.
        Some(unsafe { RowVersion::new(head, row, version.flags() & KEY_CHANGED != 0) })
    }

    /// Whether this transaction wrote the row in a command after the current one: statements inside of it did.
    pub fn is_written_later(&self, table: &Table, row: RowId) -> bool {
        let _guard = epoch::pin();
        let head = table.slot(row).map_or(std::ptr::null(), |slot| slot.head());
        // SAFETY: found under the pin.
        let head = unsafe { head.as_ref() };
        head.is_some_and(
            |head| match visibility::standing(head, self.engine.slots, self.slot) {
                visibility::Standing::Own(command) => command > self.command().0,
                _ => false,
            },
        )
    }

    #[inline]
    pub(crate) fn eye(&self, snapshot: &Snapshot) -> Eye<'static> {
        Eye {
            slots: self.engine.slots,
            own_slot: self.slot,
            command: snapshot.command().0,
            ts: snapshot.timestamp(),
        }
    }

    // What the other files of `txn` need

    pub(super) fn slot(&self) -> &'static TransactionSlot {
        self.engine.slots.get(self.slot)
    }

    pub(super) fn owner(&self) -> Owner {
        Owner {
            id: self.id,
            session: self.session,
            slot: self.slot,
        }
    }

    /// Whom to wake when the log has room again; None: the call waits itself.
    pub(crate) fn own_wake(&self) -> Option<Arc<dyn Wake>> {
        self.can_wait().then(|| self.wake())
    }

    pub(super) fn can_wait(&self) -> bool {
        self.can_wait.get()
    }

    /// For steps of a call that cannot be made again: nothing of the transaction is sent to the log, which may have no room.
    /// They are small; the next write, or the end of the transaction, sends it.
    pub(super) fn without_sending<T>(&self, work: impl FnOnce() -> T) -> T {
        self.sends.set(false);
        let result = work();
        self.sends.set(true);
        result
    }

    pub(super) fn sends(&self) -> bool {
        self.sends.get()
    }

    pub(super) fn wake(&self) -> Arc<dyn Wake> {
        self.wake.borrow().clone()
    }

    pub(super) fn check_writable(&self) -> Result<(), WriteError> {
        if self.read_only.get() {
            Err(WriteError::ReadOnly)
        } else {
            Ok(())
        }
    }

    /// READ ONLY transactions may write to temporary tables.
    #[inline]
    pub(super) fn check_writable_in(&self, table: &Table) -> Result<(), WriteError> {
        match table.is_temporary() {
            true => Ok(()),
            false => self.check_writable(),
        }
    }

    /// Of the present snapshot, if there is one.
    pub(super) fn snapshot_timestamp(&self) -> Option<Lsn> {
        self.current.borrow().as_ref().map(Snapshot::timestamp)
    }

    pub(super) fn drop_snapshots(&self) {
        *self.current.borrow_mut() = None;
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.over.get() {
            self.roll_back();
        }
    }
}
