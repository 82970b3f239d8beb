//! One session: a transaction stepped action by action, its own writes remembered; a SERIALIZABLE one's reads, too.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mote_common::prng::Prng;
use mote_common::{Lsn, RowId, TableId};
use mote_engine::index::{Direction, KeyRange};
use mote_engine::{
    Access, BeginOptions, CommitError, Engine, Isolation, KeyValue, LogUnavailable, PrepareError,
    PrepareFailure, RowLockStrength, RowVersion, SavepointId, Snapshot, Table, Ticket, Transaction,
    WaitPolicy, Wake, WriteError,
};

use crate::check::show;
use crate::model::{Model, Row, RowKey, Version};
use crate::schema;

/// Told by the engine that a wait is over.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(&self, _ticket: Ticket) {
        // Relaxed: everything happens on one thread.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a session is trying to do; repeated with the same arguments while it must wait.
#[derive(Clone)]
enum Action {
    Insert { table: TableId, row: Row },
    Update { key: RowKey, row: Row },
    Delete { key: RowKey },
    Lock { key: RowKey, strength: RowLockStrength },
}

pub struct Session {
    transaction: Transaction,
    isolation: Isolation,
    read_only: bool,
    changes: Vec<(RowKey, Version)>,
    savepoints: Vec<(SavepointId, usize)>,
    reads: RefCell<Reads>,
    /// The highest commit timestamp its reads met: the reply that ends it must wait for that.
    met: Cell<Lsn>,
    woken: Arc<Woken>,
    waiting: Option<(Ticket, Action, Snapshot)>,
}

/// What a SERIALIZABLE session has looked at: nobody else may have changed it when it commits.
#[derive(Default)]
struct Reads {
    snapshot: Lsn,
    rows: Vec<RowKey>,
    groups: Vec<(TableId, i64)>,
}

/// How a step of a session ended.
pub enum Step {
    Done,
    /// It waits for somebody.
    Waits,
    /// The transaction is over: its commit, if it wrote and did commit.
    Ended {
        committed: Option<(Lsn, Vec<(RowKey, Version)>)>,
    },
    /// The transaction is prepared; its frame ends at `at`.
    Prepared {
        gid: String,
        at: Lsn,
        changes: Vec<(RowKey, Version)>,
    },
    /// SERIALIZABLE: what it had read was changed.
    Refused,
    /// The log was not kept any longer for the transaction, which is over.
    GivenUp,
    /// The engine has stopped.
    Stopped,
}

/// Few, so that they are used again, and are in use.
const GIDS: u64 = 8;

type Outcome = Result<Step, String>;

impl Session {
    /// `None`: the engine has stopped.
    pub fn begin(engine: &Arc<Engine>, prng: &mut Prng, number: u32) -> Option<Session> {
        let isolation = match prng.below(6) {
            0..2 => Isolation::RepeatableRead,
            2..4 => Isolation::Serializable,
            _ => Isolation::ReadCommitted,
        };
        let read_only = prng.chance(1, 8);
        let options = BeginOptions {
            isolation,
            read_only,
            session: number,
            ..BeginOptions::default()
        };
        let transaction = engine.begin_with(options).ok()?;
        let woken = Arc::new(Woken::default());
        transaction.set_wake(woken.clone());
        let (changes, savepoints) = (Vec::new(), Vec::new());
        let met = Cell::new(Lsn::ZERO);
        Some(Session {
            transaction,
            isolation,
            read_only,
            changes,
            savepoints,
            met,
            reads: RefCell::default(),
            woken,
            waiting: None,
        })
    }

    /// Waits, and nobody has called yet.
    pub fn is_asleep(&self) -> bool {
        self.waiting.is_some() && !self.woken.0.load(Ordering::Relaxed)
    }

    /// One action, or another attempt at the one that waits.
    pub fn step(
        mut self,
        engine: &Arc<Engine>,
        model: &Model,
        prng: &mut Prng,
        tables: &[TableId],
    ) -> (Option<Session>, Outcome) {
        if let Some((ticket, action, snapshot)) = self.waiting.take() {
            if !self.woken.0.swap(false, Ordering::Relaxed) {
                // Chosen although asleep: statement_timeout.
                self.transaction.cancel_wait(ticket);
                return self.abort();
            }
            return self.attempt(engine, model, action, snapshot);
        }
        match prng.below(12) {
            0 => self.end(model, prng),
            1 => {
                self.savepoints
                    .push((self.transaction.savepoint(), self.changes.len()));
                (Some(self), Ok(Step::Done))
            }
            2 if !self.savepoints.is_empty() => {
                let at = prng.below(self.savepoints.len() as u64) as usize;
                let (id, changes) = self.savepoints[at];
                self.transaction.rollback_to(id);
                self.savepoints.truncate(at + 1);
                self.changes.truncate(changes);
                (Some(self), Ok(Step::Done))
            }
            3..6 => self.read(engine, model, prng, tables),
            _ if self.read_only => self.read(engine, model, prng, tables),
            _ => {
                let Some(action) = choose_action(model, prng, tables) else {
                    return (Some(self), Ok(Step::Done));
                };
                let snapshot = self.transaction.begin_statement(Access::Write);
                self.attempt(engine, model, action, snapshot)
            }
        }
    }

    fn end(self, model: &Model, prng: &mut Prng) -> (Option<Session>, Outcome) {
        if prng.chance(1, 5) {
            return self.abort();
        }
        if prng.chance(1, 5) {
            return (None, self.prepare(format!("gid {}", prng.below(GIDS))));
        }
        let Session {
            transaction,
            changes,
            met,
            reads,
            ..
        } = self;
        let outcome = match transaction.commit() {
            Ok(receipt) if receipt.seen < met.get() => Err(format!(
                "the receipt says {} was seen, but a read met {}",
                receipt.seen,
                met.get()
            )),
            Ok(receipt) => match (receipt.commit_ts, changes.is_empty()) {
                (Some(ts), false) => reads.into_inner().hold(model, ts).map(|()| Step::Ended {
                    committed: Some((ts, changes)),
                }),
                (None, true) | (Some(_), true) => Ok(Step::Ended { committed: None }),
                (None, false) => Err("a commit that wrote has no timestamp".into()),
            },
            Err(CommitError::LogUnavailable {
                reason: LogUnavailable::Stopped,
                ..
            }) => Ok(Step::Stopped),
            Err(CommitError::LogUnavailable {
                reason: LogUnavailable::DiskFull,
                ..
            }) => Ok(Step::Ended { committed: None }),
            Err(CommitError::LogUnavailable {
                reason: LogUnavailable::KeepsTooMuch { .. },
                ..
            }) => Ok(Step::GivenUp),
            Err(CommitError::ReadConflict { .. }) => Ok(Step::Refused),
            Err(other) => Err(format!("commit: {other:?}")),
        };
        (None, outcome)
    }

    fn prepare(self, gid: String) -> Outcome {
        let (seen, outcome) = match self.transaction.prepare(&gid, gid.as_bytes()) {
            Ok(receipt) => {
                let (at, changes) = (receipt.seen, self.changes);
                (at, Ok(Step::Prepared { gid, at, changes }))
            }
            Err(PrepareFailure { error, receipt }) => {
                let outcome = match error {
                    PrepareError::GidInUse | PrepareError::LogUnavailable(LogUnavailable::DiskFull) => {
                        Ok(Step::Ended { committed: None })
                    }
                    PrepareError::LogUnavailable(LogUnavailable::Stopped) => Ok(Step::Stopped),
                    PrepareError::LogUnavailable(LogUnavailable::KeepsTooMuch { .. }) => Ok(Step::GivenUp),
                    PrepareError::Unsupported(_) if self.isolation == Isolation::Serializable => {
                        Ok(Step::Ended { committed: None })
                    }
                    other => Err(format!("prepare: {other:?}")),
                };
                (receipt.seen, outcome)
            }
        };
        if seen < self.met.get() {
            return Err(format!("a PREPARE saw {seen}, but a read met {}", self.met.get()));
        }
        outcome
    }

    fn abort(self) -> (Option<Session>, Outcome) {
        let receipt = self.transaction.abort();
        if receipt.seen < self.met.get() {
            return (
                None,
                Err(format!(
                    "an abort saw {}, but a read met {}",
                    receipt.seen,
                    self.met.get()
                )),
            );
        }
        (None, Ok(Step::Ended { committed: None }))
    }

    /// Reads some rows at one snapshot and compares each with the model.
    fn read(
        self,
        engine: &Arc<Engine>,
        model: &Model,
        prng: &mut Prng,
        tables: &[TableId],
    ) -> (Option<Session>, Outcome) {
        let snapshot = self.transaction.begin_statement(Access::Read);
        if prng.chance(1, 4) {
            let table = tables[prng.below(tables.len() as u64) as usize];
            if let Err(error) = self.expect_group(engine, model, table, prng.between(0, 5), &snapshot) {
                return (None, Err(error));
            }
        }
        for _ in 0..4 {
            let Some(key) = model.some_row(tables, |count| prng.below(count)) else {
                break;
            };
            if let Err(error) = self.expect(engine, model, key, &snapshot) {
                return (None, Err(error));
            }
        }
        drop(snapshot);
        self.transaction.end_statement();
        (Some(self), Ok(Step::Done))
    }

    /// What this session must see of a row: its own last change, or the model's version.
    fn visible<'a>(&'a self, model: &'a Model, key: RowKey, ts: Lsn) -> Option<&'a Row> {
        match self.changes.iter().rev().find(|(changed, _)| *changed == key) {
            Some((_, version)) => version.as_ref(),
            None => model.version(key, ts),
        }
    }

    fn expect(
        &self,
        engine: &Arc<Engine>,
        model: &Model,
        key: RowKey,
        snapshot: &Snapshot,
    ) -> Result<(), String> {
        let Some(table) = engine.table(key.table) else {
            return Err(format!("{key:?}: the table is gone"));
        };
        self.note(snapshot, |reads| reads.rows.push(key));
        let found = self.transaction.fetch(&table, key.row, snapshot);
        let found = found.map(|row| schema::decode(&table.view(row.layout(), row.bytes())));
        let expected = self.visible(model, key, snapshot.timestamp());
        if let Some((ts, version)) = model.version_at(key, snapshot.timestamp()) {
            // A deletion that is stable may be forgotten: nobody waits for it any more.
            let own = self.changes.iter().any(|(changed, _)| *changed == key);
            if !own && (version.is_some() || ts > engine.log().stable()) {
                self.met.set(self.met.get().max(ts));
            }
        }
        if found.as_ref() == expected {
            Ok(())
        } else {
            let own = self.changes.iter().any(|(changed, _)| *changed == key);
            Err(format!(
                "{key:?} at {}, command {}: found {}, expected {}; isolation {:?}, own change {own}",
                snapshot.timestamp(),
                snapshot.command().0,
                show(found.as_ref()),
                show(expected),
                self.isolation
            ))
        }
    }

    fn note(&self, snapshot: &Snapshot, note: impl FnOnce(&mut Reads)) {
        if self.isolation == Isolation::Serializable && !self.read_only {
            let mut reads = self.reads.borrow_mut();
            reads.snapshot = snapshot.timestamp();
            note(&mut reads);
        }
    }

    /// Reads all rows of a group through the index and compares them with the model.
    fn expect_group(
        &self,
        engine: &Arc<Engine>,
        model: &Model,
        id: TableId,
        group: i64,
        snapshot: &Snapshot,
    ) -> Result<(), String> {
        let table = engine
            .table(id)
            .ok_or_else(|| format!("table {} is gone", id.0))?;
        self.note(snapshot, |reads| reads.groups.push((id, group)));
        let indexes = table.indexes();
        let index = indexes
            .iter()
            .find(|index| {
                !index.unique && index.definition.method.is_exact() && !index.key_program.has_expressions()
            })
            .ok_or("the group's index is gone")?;
        let (mut key, mut scratch) = (Vec::new(), Vec::new());
        index.key_program.columns()[0].append(KeyValue::Signed(group), &mut key);
        let mut cursor = self
            .transaction
            .cursor(KeyRange::exactly(&key), Direction::Forward);
        let mut found = BTreeMap::new();
        while let Some(row) = self.transaction.next_entry(&table, index, &mut cursor) {
            let Some(version) = self.transaction.fetch(&table, row, snapshot) else {
                continue;
            };
            let view = table.view(version.layout(), version.bytes());
            if !version.needs_key_check() || index.key_program.matches(&view, &key, &mut scratch) {
                found.insert(RowKey { table: id, row }, schema::decode(&view));
            }
        }
        let mut expected: BTreeMap<RowKey, Row> = model
            .contents(&[id], snapshot.timestamp())
            .into_iter()
            .map(|(key, row)| (key, row.clone()))
            .collect();
        for (key, version) in self.changes.iter().filter(|(key, _)| key.table == id) {
            match version {
                Some(row) => _ = expected.insert(*key, row.clone()),
                None => _ = expected.remove(key),
            }
        }
        expected.retain(|_, row| row.group == Some(group));
        if found == expected {
            Ok(())
        } else {
            Err(format!(
                "group {group} of table {} at {}: found {} rows, expected {}",
                id.0,
                snapshot.timestamp(),
                found.len(),
                expected.len()
            ))
        }
    }

    /// What a lock answers is the newest version that is committed, or one's own.
    fn expect_newest(
        &self,
        model: &Model,
        table: &Table,
        key: RowKey,
        newest: Option<RowVersion<'_>>,
    ) -> Result<(), String> {
        let found = newest.map(|row| schema::decode(&table.view(row.layout(), row.bytes())));
        let expected = self.visible(model, key, Lsn::MAX);
        if found.as_ref() == expected {
            return Ok(());
        }
        Err(format!(
            "{key:?} locked: found {}, expected {}",
            show(found.as_ref()),
            show(expected)
        ))
    }

    fn attempt(
        mut self,
        engine: &Arc<Engine>,
        model: &Model,
        action: Action,
        snapshot: Snapshot,
    ) -> (Option<Session>, Outcome) {
        let result = match self.perform(engine, model, &action, &snapshot) {
            Ok(result) => result,
            Err(error) => return (None, Err(error)),
        };
        match result {
            Ok(change) => {
                self.changes.extend(change);
                drop(snapshot);
                self.transaction.end_statement();
                (Some(self), Ok(Step::Done))
            }
            Err(WriteError::MustWait(ticket)) => {
                self.waiting = Some((ticket, action, snapshot));
                (Some(self), Ok(Step::Waits))
            }
            // READ COMMITTED looks again at a newer snapshot; that the row is gone is an answer.
            Err(WriteError::Changed) if self.isolation == Isolation::ReadCommitted => {
                drop(snapshot);
                let snapshot = self.transaction.begin_statement(Access::Write);
                self.attempt(engine, model, action, snapshot)
            }
            Err(WriteError::Deleted) if self.isolation == Isolation::ReadCommitted => {
                (Some(self), Ok(Step::Done))
            }
            Err(WriteError::LogUnavailable(LogUnavailable::Stopped)) => (None, Ok(Step::Stopped)),
            Err(WriteError::LogUnavailable(LogUnavailable::KeepsTooMuch { .. })) => {
                drop(snapshot);
                let (session, outcome) = self.abort();
                (session, outcome.map(|_| Step::GivenUp))
            }
            Err(
                WriteError::Serialization
                | WriteError::ReadConflict
                | WriteError::Deadlock(_)
                | WriteError::Duplicate { .. }
                | WriteError::LogUnavailable(LogUnavailable::DiskFull),
            ) => {
                drop(snapshot);
                self.abort()
            }
            Err(other) => (None, Err(format!("a write answered {other:?}"))),
        }
    }

    /// The outer error is a failed check.
    #[allow(clippy::type_complexity)] // two kinds of failure, and there is no third user of the type
    fn perform(
        &self,
        engine: &Arc<Engine>,
        model: &Model,
        action: &Action,
        snapshot: &Snapshot,
    ) -> Result<Result<Option<(RowKey, Version)>, WriteError>, String> {
        let table_of = |id: TableId| engine.table(id).ok_or_else(|| format!("table {} is gone", id.0));
        Ok(match action {
            Action::Insert { table, row } => {
                let storage = table_of(*table)?;
                let inserted = self.transaction.insert(&storage, &schema::encode(&storage, row));
                inserted.map(|id| {
                    Some((
                        RowKey {
                            table: *table,
                            row: id,
                        },
                        Some(row.clone()),
                    ))
                })
            }
            Action::Update { key, row } => {
                self.expect(engine, model, *key, snapshot)?;
                let table = table_of(key.table)?;
                self.update(&table, key.row, snapshot, row)
                    .map(|done| done.then(|| (*key, Some(row.clone()))))
            }
            Action::Delete { key } => {
                self.expect(engine, model, *key, snapshot)?;
                let table = table_of(key.table)?;
                match self.transaction.fetch(&table, key.row, snapshot) {
                    Some(seen) => self
                        .transaction
                        .delete(&table, &seen)
                        .map(|()| Some((*key, None))),
                    None => Ok(None),
                }
            }
            Action::Lock { key, strength } => {
                let table = table_of(key.table)?;
                let seen = self.transaction.fetch(&table, key.row, snapshot);
                match seen {
                    Some(seen) => {
                        let policy = WaitPolicy::Block;
                        match self
                            .transaction
                            .lock_row(&table, key.row, Some(&seen), *strength, policy)
                        {
                            Ok(locked) => self
                                .expect_newest(model, &table, *key, locked.newest)
                                .map(|()| Ok(None))?,
                            Err(error) => Err(error),
                        }
                    }
                    None => Ok(None),
                }
            }
        })
    }

    fn update(&self, table: &Table, row: RowId, snapshot: &Snapshot, new: &Row) -> Result<bool, WriteError> {
        match self.transaction.fetch(table, row, snapshot) {
            Some(seen) => self
                .transaction
                .update(table, &seen, &schema::encode(table, new))
                .map(|()| true),
            None => Ok(false),
        }
    }
}

impl Reads {
    /// Is everything as it was read, just before the commit at `ts`?
    fn hold(&self, model: &Model, ts: Lsn) -> Result<(), String> {
        for &key in &self.rows {
            if let Some((changed, _)) = model.version_at(key, ts)
                && changed > self.snapshot
            {
                return Err(format!(
                    "committed at {ts} although {key:?}, read at {}, was changed at {changed}",
                    self.snapshot
                ));
            }
        }
        for &(table, group) in &self.groups {
            let rows = |ts| {
                let mut rows = model.contents(&[table], ts);
                rows.retain(|_, row| row.group == Some(group));
                rows
            };
            if rows(self.snapshot) != rows(ts) {
                return Err(format!(
                    "committed at {ts} although group {group} of table {}, read at {}, has changed",
                    table.0, self.snapshot
                ));
            }
        }
        Ok(())
    }
}

fn choose_action(model: &Model, prng: &mut Prng, tables: &[TableId]) -> Option<Action> {
    if prng.chance(1, 3) {
        let table = tables[prng.below(tables.len() as u64) as usize];
        return Some(Action::Insert {
            table,
            row: random_row(prng),
        });
    }
    let key = model.some_row(tables, |count| prng.below(count))?;
    Some(match prng.below(6) {
        0 => Action::Delete { key },
        1 => {
            let strengths = [
                RowLockStrength::KeyShare,
                RowLockStrength::Share,
                RowLockStrength::NoKeyUpdate,
                RowLockStrength::Update,
            ];
            Action::Lock {
                key,
                strength: strengths[prng.below(4) as usize],
            }
        }
        _ => {
            let mut row = random_row(prng);
            // Updates that keep the key take a weaker lock and are logged as patches.
            if let Some(old) = model.version(key, Lsn::MAX).filter(|_| prng.chance(2, 3)) {
                row.key = old.key;
                if prng.chance(1, 2) {
                    row.text.clone_from(&old.text);
                }
            }
            Action::Update { key, row }
        }
    })
}

fn random_row(prng: &mut Prng) -> Row {
    // Mostly small; some alone or with others of their transaction go out in fragments.
    let length = match prng.below(60) {
        0..4 => 60_000 + prng.below(140_000),
        4..7 => prng.below(60_000),
        _ => prng.below(200),
    };
    let text = vec![prng.below(3) as u8; length as usize];
    Row {
        key: prng.between(-40, 40),
        group: prng.chance(3, 4).then(|| prng.between(0, 5)),
        text,
    }
}
