//! Tests of transactions, from one thread and from many.
//!
//!  - `visibility`: anomalies by name, savepoints, rollback, commands.
//!  - `uniqueness`: duplicates, waits for keys, races.
//!  - `locks`: queues, hand-over, deadlocks, table and advisory locks.
//!  - `known`: what locks and views tell of commits, and that the next read sees it.
//!  - `collection`: pruning, the collector, memory.
//!  - `commit`: what a commit does to others while it is under way, and when it fails.
//!  - `checks`: indexes against tables.
//!  - `objects`: tables, layouts, indexes, sequences; recovery; `temporary`: those that are not logged.
//!  - `expressions`: indexes on expressions and with predicates.
//!  - `cold_start`: recovery of larger tables.
//!  - `prepared`: two-phase commit, over crashes; `prepared_objects`: of changed objects.
//!  - `following`: a second engine that replays the first one's log; `following_readers`: beside readers; `promotion`: it comes
//!    to lead.
//!  - `pace`: long transactions beside a slow quorum.
//!  - `told`: what published tables leave for subscribers.
//!  - `build_among_writers`: CREATE INDEX CONCURRENTLY.
//!  - `stress`: many threads, invariants at the end.
//!  - `serializable`: anomalies that SERIALIZABLE refuses, by name; what it must not refuse; the commit step's races.
//!  - `read_columns`: and what it compares of a row; `later_snapshot`: and when it goes on with a newer snapshot.
//!  - `model`: schedules chosen by a model checker, in builds for it.
//!  - `history`: random SERIALIZABLE transactions, executed again one by one in commit order.

mod checks;
mod cold_start;
mod build_among_writers;
mod collection;
mod commit;
mod expressions;
mod following;
mod following_readers;
mod history;
mod known;
mod later_snapshot;
mod locks;
#[cfg(mote_shuttle)]
mod model;
mod objects;
mod pace;
mod prepared;
mod prepared_objects;
mod promotion;
mod read_columns;
mod serializable;
mod running;
mod stress;
mod temporary;
mod told;
mod uniqueness;
mod visibility;

use super::*;
use crate::engine::{Engine, EngineConfig};
use crate::index::KeyRange;
use crate::index::{Direction, IndexMethod};
use crate::lock::{Ticket, Wake};
use crate::table::{
    ColumnStorage, IndexDefinition, KeyClass, KeyColumn, KeyExpressionProvider, KeyExpressions, KeySource,
    KeyValue, RowView, RowWriter, StorageClass, Table, TableDefinition, TableIndex,
};
use mote_common::env::sim::{SimDisk, env};
use mote_common::sync::{Condvar, Mutex};
use mote_common::{IndexId, RowId, SqlError};
use mote_log::LogConfig;
use std::sync::Arc;

/// The one definition that tests have: half of `value`, of the rows where `value` is even.
pub(super) const HALF_OF_EVEN: &[u8] = b"half of the even ones";

pub(super) struct HalfOfEven;

impl KeyExpressionProvider for HalfOfEven {
    fn compile(&self, definition: &[u8]) -> Result<Arc<dyn KeyExpressions>, SqlError> {
        assert_eq!(definition, HALF_OF_EVEN);
        Ok(Arc::new(HalfOfEven))
    }
}

impl KeyExpressions for HalfOfEven {
    fn columns(&self) -> &[u16] {
        &[1]
    }

    fn append(
        &self,
        _number: u16,
        column: &KeyColumn,
        row: &RowView<'_>,
        key: &mut Vec<u8>,
    ) -> Result<bool, SqlError> {
        // A value that no key can be made of, as an expression that divides by zero.
        match row.fixed8(1) {
            0 => Err(SqlError::internal("half of nothing")),
            value => Ok(column.append(KeyValue::Signed(value as i64 / 2), key)),
        }
    }

    fn covers(&self, row: &RowView<'_>) -> Result<bool, SqlError> {
        Ok(row.fixed8(1).is_multiple_of(2))
    }
}

/// Lets a thread sleep until its ticket is decided.
#[derive(Default)]
pub(super) struct Bell {
    rung: Mutex<Vec<Ticket>>,
    signal: Condvar,
}

impl Wake for Bell {
    fn wake(&self, ticket: Ticket) {
        self.rung.lock().push(ticket);
        self.signal.notify_all();
    }
}

impl Bell {
    pub(super) fn has_rung(&self, ticket: Ticket) -> bool {
        self.rung.lock().contains(&ticket)
    }

    pub(super) fn wait(&self, ticket: Ticket) {
        let mut rung = self.rung.lock();
        while !rung.contains(&ticket) {
            let timeout = self
                .signal
                .wait_for(&mut rung, std::time::Duration::from_secs(20));
            assert!(!timeout.timed_out(), "a ticket was never decided");
        }
    }
}

/// A database in simulated memory with one table: id int primary key, value int, text.
pub(super) struct Fixture {
    pub(super) engine: Arc<Engine>,
    pub(super) table: Arc<Table>,
    pub(super) primary: Arc<TableIndex>,
    pub(super) disk: SimDisk,
}

pub(super) fn config() -> EngineConfig {
    EngineConfig {
        memory_limit_bytes: 256 << 20,
        transactions_max: 256,
        recovery_threads: 1,
        log: LogConfig {
            segment_bytes: 4 << 20,
            ring_bytes: 4 << 20,
            segments_ahead: 1,
            writers_max: 40,
            ..LogConfig::default()
        },
        ..EngineConfig::default()
    }
}

pub(super) fn open(disk: &SimDisk) -> Arc<Engine> {
    open_with(disk, config())
}

pub(super) fn open_with(disk: &SimDisk, config: EngineConfig) -> Arc<Engine> {
    let (world, _) = env(disk, 1);
    Engine::open(world, config, Arc::new(HalfOfEven)).expect("the database opens")
}

pub(super) fn table_definition() -> TableDefinition {
    TableDefinition::new(vec![
        ColumnStorage::new(StorageClass::Fixed4, false),
        ColumnStorage::new(StorageClass::Fixed8, false),
        ColumnStorage::new(StorageClass::Variable, true),
    ])
}

pub(super) fn index_on(table: &Table, column: u16, class: KeyClass, unique: bool) -> IndexDefinition {
    IndexDefinition {
        id: IndexId(0),
        table: table.id(),
        method: IndexMethod::Ordered,
        columns: vec![KeyColumn::ascending(column, class, false)],
        unique,
        deferrable: false,
        nulls_not_distinct: false,
        expressions: None,
    }
}

/// Unique: half of `value`, where that is even.
pub(super) fn half_index(table: &Table) -> IndexDefinition {
    let column = KeyColumn {
        source: KeySource::Expression(0),
        ..KeyColumn::ascending(0, KeyClass::Signed8, false)
    };
    IndexDefinition {
        columns: vec![column],
        expressions: Some(HALF_OF_EVEN.into()),
        ..index_on(table, 0, KeyClass::Signed8, true)
    }
}

impl Fixture {
    pub(super) fn new() -> Fixture {
        Fixture::with(config())
    }

    pub(super) fn with(config: EngineConfig) -> Fixture {
        let disk = SimDisk::new(1);
        let engine = open_with(&disk, config);
        let transaction = engine
            .begin(Isolation::ReadCommitted, false)
            .expect("a slot is free");
        transaction.begin_statement(Access::Write);
        let id = transaction
            .create_table(&table_definition())
            .expect("tables can be made");
        let table = engine.table(id).expect("made above");
        let definition = index_on(&table, 0, KeyClass::Signed4, true);
        let mut build = transaction
            .create_index(&definition)
            .expect("indexes can be made");
        assert_eq!(transaction.build_index(&mut build, 1000), Ok(BuildProgress::Done));
        transaction.commit().expect("the log takes it");
        engine.log().flush_step();
        let primary = table.index(build.id()).expect("built above");
        Fixture {
            engine,
            table,
            primary,
            disk,
        }
    }

    pub(super) fn begin(&self) -> Transaction {
        self.begin_at(Isolation::ReadCommitted)
    }

    pub(super) fn begin_at(&self, isolation: Isolation) -> Transaction {
        self.engine.begin(isolation, false).expect("a slot is free")
    }

    /// A transaction of a session with its own bell.
    pub(super) fn session(&self, session: u32) -> (Transaction, Arc<Bell>) {
        let options = BeginOptions {
            session,
            ..BeginOptions::default()
        };
        let transaction = self.engine.begin_with(options).expect("a slot is free");
        let bell = Arc::new(Bell::default());
        transaction.set_wake(bell.clone());
        (transaction, bell)
    }

    pub(super) fn row(&self, id: i32, value: i64) -> Vec<u8> {
        let layout = self.table.newest_layout();
        let mut writer = RowWriter::new(layout);
        writer.set_fixed4(0, id as u32);
        writer.set_fixed8(1, value as u64);
        writer.set_variable(2, b"some text");
        writer.finish().expect("small").to_vec()
    }

    /// Inserts and commits.
    pub(super) fn load(&self, rows: impl IntoIterator<Item = (i32, i64)>) {
        let transaction = self.begin();
        transaction.begin_statement(Access::Write);
        for (id, value) in rows {
            transaction
                .insert(&self.table, &self.row(id, value))
                .expect("no conflict");
        }
        transaction.commit().expect("the log takes it");
        self.engine.log().flush_step();
    }

    pub(super) fn key(&self, id: i32) -> Vec<u8> {
        let mut key = Vec::new();
        self.primary.key_program.columns()[0].append(KeyValue::Signed(id as i64), &mut key);
        key
    }

    /// Looks a row up through the primary key, as an index scan does.
    pub(super) fn find<'s>(
        &self,
        transaction: &'s Transaction,
        snapshot: &'s Snapshot,
        id: i32,
    ) -> Option<RowVersion<'s>> {
        let key = self.key(id);
        let mut rows = Vec::new();
        transaction.rows_with_key(&self.table, &self.primary, &key, snapshot, &mut rows);
        let mut scratch = Vec::new();
        rows.into_iter().find_map(|row| {
            let version = transaction.fetch(&self.table, row, snapshot)?;
            let view = self.table.view(version.layout(), version.bytes());
            let matches =
                !version.needs_key_check() || self.primary.key_program.matches(&view, &key, &mut scratch);
            matches.then_some(version)
        })
    }

    pub(super) fn value(&self, version: &RowVersion<'_>) -> i64 {
        self.table.view(version.layout(), version.bytes()).fixed8(1) as i64
    }

    /// The value of a row in a statement of its own.
    pub(super) fn read(&self, transaction: &Transaction, id: i32) -> Option<i64> {
        let snapshot = transaction.begin_statement(Access::Write);
        self.find(transaction, &snapshot, id)
            .map(|version| self.value(&version))
    }

    /// UPDATE ... SET value = value WHERE id = id, as one statement without re-check.
    pub(super) fn set(&self, transaction: &Transaction, id: i32, value: i64) -> Result<(), WriteError> {
        let snapshot = transaction.begin_statement(Access::Write);
        let version = self.find(transaction, &snapshot, id).ok_or(WriteError::Deleted)?;
        transaction.update(&self.table, &version, &self.row(id, value))
    }

    pub(super) fn remove(&self, transaction: &Transaction, id: i32) -> Result<(), WriteError> {
        let snapshot = transaction.begin_statement(Access::Write);
        let version = self.find(transaction, &snapshot, id).ok_or(WriteError::Deleted)?;
        transaction.delete(&self.table, &version)
    }

    pub(super) fn add(&self, transaction: &Transaction, id: i32, value: i64) -> Result<RowId, WriteError> {
        transaction.begin_statement(Access::Write);
        transaction.insert(&self.table, &self.row(id, value))
    }

    /// Leaves `yes`, `no` and `late` prepared: each has set the value of one of the rows 1, 2 and 3 to 11, and has added the
    /// row of that id and 100, with the value 1.
    pub(super) fn prepare_three(&self) {
        for (gid, id) in [("yes", 1), ("no", 2), ("late", 3)] {
            let transaction = self.begin();
            self.set(&transaction, id, 11).expect("free");
            self.add(&transaction, id + 100, 1).expect("free");
            transaction.prepare(gid, b"").expect("prepared");
        }
    }

    /// Everything a fresh transaction sees, by a range scan of the primary key.
    pub(super) fn contents(&self) -> Vec<(i32, i64)> {
        let transaction = self.begin();
        let snapshot = transaction.begin_statement(Access::Write);
        let mut cursor = self.primary.tree.cursor(KeyRange::all(), Direction::Forward);
        let mut contents = Vec::new();
        let mut scratch = Vec::new();
        while let Some((key, row)) = cursor.next(&self.primary.tree) {
            let Some(version) = transaction.fetch(&self.table, row, &snapshot) else {
                continue;
            };
            let view = self.table.view(version.layout(), version.bytes());
            if version.needs_key_check() && !self.primary.key_program.matches(&view, key, &mut scratch) {
                continue;
            }
            contents.push((view.fixed4(0) as i32, view.fixed8(1) as i64));
        }
        contents
    }

    pub(super) fn chain_length(&self, row: RowId) -> usize {
        let _guard = crate::epoch::pin();
        let mut length = 0;
        let mut at = self.table.slot(row).expect("a row").head();
        // SAFETY: pinned before the head was loaded.
        while let Some(version) = unsafe { at.as_ref() } {
            length += 1;
            at = version.previous();
        }
        length
    }

    /// Flushes and collects until nothing is left to collect.
    pub(super) fn settle(&self) {
        for _ in 0..10 {
            self.engine.log().flush_step();
            self.engine.collect(1_000_000);
        }
    }
}

/// Places inside a commit where a test can do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// The first check of the reads has passed, the position in the log is not yet reserved.
    BetweenChecks,
    /// The position is reserved, the outcome open.
    Validating,
    /// It is in the log and everybody sees it; no lock is released.
    Decided,
}

type Action = Box<dyn FnOnce()>;

thread_local! {
    static ACTIONS: std::cell::RefCell<Vec<(Moment, Action)>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Runs `action` in this thread's next commit that comes to `moment`.
pub(super) fn at(moment: Moment, action: impl FnOnce() + 'static) {
    ACTIONS.with_borrow_mut(|actions| actions.push((moment, Box::new(action))));
}

/// Called by the commit under test.
pub(super) fn pause_at(moment: Moment) {
    let action = ACTIONS.with_borrow_mut(|actions| {
        let next = actions.iter().position(|(wanted, _)| *wanted == moment)?;
        Some(actions.remove(next).1)
    });
    if let Some(action) = action {
        action();
    }
}

pub(super) fn ticket_of<T: std::fmt::Debug>(result: Result<T, WriteError>) -> Ticket {
    match result {
        Err(WriteError::MustWait(ticket)) => ticket,
        other => panic!("expected a wait, got {other:?}"),
    }
}
