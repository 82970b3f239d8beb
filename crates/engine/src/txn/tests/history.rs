//! Random SERIALIZABLE transactions, then the proof: commit order is the serial order, so every committed transaction,
//! executed again alone in the order of commit timestamps (one that wrote nothing: where its snapshot is), must read what
//! it read then, and the table must end as it did.
//!
//! Transactions read single keys, ranges, the whole table, and keys by value through a second index, each with or without
//! the values; they insert, change, move and delete, with values that depend on what they read; they set savepoints and
//! go back to them. A write that meets a changed row begins again at a later snapshot if it may. Once interleaved on one
//! thread, seed by seed, and once on several threads. The same at REPEATABLE READ must fail, else the check would prove
//! nothing.

use super::*;
use crate::table::ColumnSet;
use mote_common::Lsn;
use mote_common::prng::Prng;
use std::collections::BTreeMap;

const KEYS: i32 = 24;
const VALUES: i64 = 6;

/// What a transaction does.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Op {
    Read(i32),
    Range(i32, i32),
    Scan,
    ByValue(i64),
    /// As above, of which only the key is looked at.
    Exists(i32),
    RangeKeys(i32, i32),
    ScanKeys,
    KeysByValue(i64),
    Insert(i32),
    Set(i32),
    Move(i32, i32),
    Remove(i32),
    Savepoint,
    RollBack,
}

/// What came of it: rows found, or whether the write happened.
#[derive(Clone, PartialEq, Debug)]
enum Seen {
    Rows(Vec<(i32, i64)>),
    Written,
    Missing,
    Duplicate,
    Nothing,
}

/// A committed transaction.
struct Committed {
    /// Its place in the serial order; one that wrote comes after those that only read there.
    ts: Lsn,
    /// One that took writes back stands where it was validated: somewhere up to here.
    until: Lsn,
    wrote: bool,
    steps: Vec<(Op, Seen)>,
}

/// What written values depend on.
fn mix(digest: i64, seen: &Seen) -> i64 {
    let mut digest = digest.wrapping_mul(31).wrapping_add(1);
    if let Seen::Rows(rows) = seen {
        for &(id, value) in rows {
            digest = digest.wrapping_mul(1_000_003).wrapping_add(id as i64 * 7 + value);
        }
    }
    digest
}

/// What is left of an answer if only keys were looked at.
fn keys(seen: Seen) -> Seen {
    match seen {
        Seen::Rows(rows) => Seen::Rows(rows.into_iter().map(|(id, _)| (id, 0)).collect()),
        other => other,
    }
}

fn value_of(digest: i64) -> i64 {
    (digest >> 7).rem_euclid(VALUES)
}

fn random_op(prng: &mut Prng) -> Op {
    let key = prng.below(KEYS as u64) as i32;
    let other = prng.below(KEYS as u64) as i32;
    let value = prng.below(VALUES as u64) as i64;
    match prng.below(16) {
        0 | 1 => Op::Read(key),
        2 => Op::Range(key, key + 1 + other / 4),
        3 => Op::Scan,
        4 => Op::ByValue(value),
        5 | 6 => Op::Exists(key),
        7 => Op::RangeKeys(key, key + 1 + other / 4),
        8 if prng.chance(1, 2) => Op::ScanKeys,
        8 => Op::KeysByValue(value),
        9 | 10 => Op::Insert(key),
        11 => Op::Set(key),
        // Hot ones: somebody else has changed them.
        12 => Op::Set(key % 3),
        13 => Op::Move(key, other),
        14 => Op::Remove(key),
        _ if prng.chance(1, 2) => Op::Savepoint,
        _ => Op::RollBack,
    }
}

// The model

#[derive(Clone, Default)]
struct Model {
    rows: BTreeMap<i32, i64>,
}

impl Model {
    /// Runs a transaction alone; the first step that sees something else than it did is the error.
    fn run(&mut self, transaction: &Committed) -> Result<(), String> {
        let (mut digest, mut savepoints) = (0, Vec::new());
        for (number, (op, seen)) in transaction.steps.iter().enumerate() {
            let now = self.step(*op, value_of(digest), &mut savepoints);
            if now != *seen {
                return Err(format!(
                    "step {number} of the transaction at {}, {op:?}: saw {seen:?}, alone it sees {now:?}; {:?}",
                    transaction.ts, transaction.steps
                ));
            }
            digest = mix(digest, seen);
        }
        Ok(())
    }

    fn step(&mut self, op: Op, value: i64, savepoints: &mut Vec<Model>) -> Seen {
        let rows = |found: &mut dyn Iterator<Item = (&i32, &i64)>| {
            Seen::Rows(found.map(|(&id, &value)| (id, value)).collect())
        };
        match op {
            Op::Read(id) => rows(&mut self.rows.range(id..=id)),
            Op::Range(from, to) => rows(&mut self.rows.range(from..to)),
            Op::Scan => rows(&mut self.rows.iter()),
            Op::ByValue(wanted) => rows(&mut self.rows.iter().filter(|(_, value)| **value == wanted)),
            Op::Exists(id) => keys(self.step(Op::Read(id), value, savepoints)),
            Op::RangeKeys(from, to) => keys(self.step(Op::Range(from, to), value, savepoints)),
            Op::ScanKeys => keys(self.step(Op::Scan, value, savepoints)),
            Op::KeysByValue(wanted) => keys(self.step(Op::ByValue(wanted), value, savepoints)),
            Op::Insert(id) if self.rows.contains_key(&id) => Seen::Duplicate,
            Op::Insert(id) => {
                self.rows.insert(id, value);
                Seen::Written
            }
            Op::Set(id) => match self.rows.get_mut(&id) {
                None => Seen::Missing,
                Some(row) => {
                    *row = value;
                    Seen::Written
                }
            },
            Op::Move(from, to) => match self.rows.get(&from) {
                None => Seen::Missing,
                Some(_) if from != to && self.rows.contains_key(&to) => Seen::Duplicate,
                Some(_) => {
                    self.rows.remove(&from);
                    self.rows.insert(to, value);
                    Seen::Written
                }
            },
            Op::Remove(id) => match self.rows.remove(&id) {
                None => Seen::Missing,
                Some(_) => Seen::Written,
            },
            Op::Savepoint => {
                savepoints.push(self.clone());
                Seen::Nothing
            }
            Op::RollBack => {
                if let Some(model) = savepoints.pop() {
                    *self = model;
                }
                Seen::Nothing
            }
        }
    }
}

/// Executes all of it again. The first difference is the error.
fn replay(history: &mut [Committed], end: &[(i32, i64)]) -> Result<(), String> {
    history.sort_by_key(|transaction| (transaction.ts, transaction.wrote));
    // A transaction that only read stands behind the commit its snapshot shows.
    let mut model = Model::default();
    let mut readers: Vec<&Committed> = Vec::new();
    for transaction in history.iter() {
        if !transaction.wrote {
            readers.push(transaction);
            continue;
        }
        let here = std::mem::take(&mut readers);
        for reader in here {
            if reader.ts >= transaction.ts {
                readers.push(reader);
            } else if let Err(difference) = model.clone().run(reader) {
                if reader.until < transaction.ts {
                    return Err(difference);
                }
                readers.push(reader);
            }
        }
        model.run(transaction)?;
    }
    for reader in readers {
        model.clone().run(reader)?;
    }
    let rows: Vec<(i32, i64)> = model.rows.into_iter().collect();
    if rows == end {
        Ok(())
    } else {
        Err(format!("the table ends as {end:?}, alone they make {rows:?}"))
    }
}

// The engine

struct Bench {
    f: Fixture,
    by_value: Arc<TableIndex>,
}

/// A transaction on its way.
struct Client {
    transaction: Transaction,
    bell: Arc<Bell>,
    savepoints: Vec<SavepointId>,
    digest: i64,
    snapshot: Lsn,
    steps: Vec<(Op, Seen)>,
    /// The write that waits, or is about to be tried, and where it began.
    pending: Option<(Op, Option<StatementStart>)>,
    /// Later snapshots taken.
    moved: usize,
}

enum Stepped {
    Done,
    Waits(Ticket),
    /// It must be rolled back.
    Refused,
}

impl Bench {
    fn new() -> Bench {
        let f = Fixture::new();
        let transaction = f.begin();
        transaction.begin_statement(Access::Write);
        let definition = index_on(&f.table, 1, KeyClass::Signed8, false);
        let mut build = transaction.create_index(&definition).expect("free");
        assert_eq!(transaction.build_index(&mut build, 1000), Ok(BuildProgress::Done));
        transaction.commit().expect("logged");
        let by_value = f.table.index(build.id()).expect("built above");
        Bench { f, by_value }
    }

    fn begin(&self, isolation: Isolation, read_only: bool, session: u32) -> Client {
        let options = BeginOptions {
            isolation,
            read_only,
            session,
            ..BeginOptions::default()
        };
        let transaction = self.f.engine.begin_with(options).expect("a slot is free");
        let bell = Arc::new(Bell::default());
        transaction.set_wake(bell.clone());
        let snapshot = transaction.begin_statement(Access::Read).timestamp();
        Client {
            transaction,
            bell,
            savepoints: Vec::new(),
            digest: 0,
            snapshot,
            steps: Vec::new(),
            pending: None,
            moved: 0,
        }
    }

    fn step(&self, client: &mut Client, op: Op) -> Stepped {
        let start = match client.pending.take() {
            Some((_, start)) => start,
            None => client.transaction.statement_start(),
        };
        let seen = loop {
            match self.perform(client, op) {
                Ok(seen) => break seen,
                Err(WriteError::MustWait(ticket)) => {
                    client.pending = Some((op, start));
                    return Stepped::Waits(ticket);
                }
                Err(WriteError::Serialization) => {
                    let transaction = &client.transaction;
                    if !start.is_some_and(|start| transaction.take_later_snapshot(&start)) {
                        return Stepped::Refused;
                    }
                    client.snapshot = transaction.snapshot().timestamp();
                    client.moved += 1;
                }
                Err(WriteError::ReadConflict | WriteError::Deadlock(_)) => return Stepped::Refused,
                Err(error) => panic!("{op:?}: {error:?}"),
            }
        };
        client.digest = mix(client.digest, &seen);
        client.steps.push((op, seen));
        Stepped::Done
    }

    fn perform(&self, client: &mut Client, op: Op) -> Result<Seen, WriteError> {
        let (f, transaction) = (&self.f, &client.transaction);
        let value = value_of(client.digest);
        let snapshot = transaction.begin_statement(Access::Write);
        let written = |result: Result<(), WriteError>| match result {
            Ok(()) => Ok(Seen::Written),
            Err(WriteError::Duplicate { .. }) => Ok(Seen::Duplicate),
            Err(error) => Err(error),
        };
        let found = |id| f.find(transaction, &snapshot, id);
        match op {
            Op::Read(id) => {
                let row = found(id).map(|version| (id, f.value(&version)));
                Ok(Seen::Rows(row.into_iter().collect()))
            }
            Op::Range(from, to) => Ok(Seen::Rows(f.range(transaction, from..to, usize::MAX))),
            Op::Scan => {
                let mut rows = Vec::new();
                let mut scan = f.table.scan();
                while let Some(version) = scan.next(&f.table, transaction, &snapshot) {
                    let view = f.table.view(version.layout(), version.bytes());
                    rows.push((view.fixed4(0) as i32, view.fixed8(1) as i64));
                }
                rows.sort_unstable();
                Ok(Seen::Rows(rows))
            }
            Op::ByValue(value) => {
                let whole = ColumnSet::WHOLE;
                Ok(Seen::Rows(self.by_value(transaction, &snapshot, value, whole)))
            }
            Op::Exists(id) => Ok(Seen::Rows(match f.look(transaction, id, ColumnSet::NONE) {
                true => vec![(id, 0)],
                false => Vec::new(),
            })),
            Op::RangeKeys(from, to) => {
                let id = ColumnSet::NONE.with(0);
                Ok(keys(Seen::Rows(f.range_columns(
                    transaction,
                    from..to,
                    usize::MAX,
                    id,
                ))))
            }
            Op::ScanKeys => {
                let mut rows = Vec::new();
                let mut scan = f.table.scan_columns(ColumnSet::NONE.with(0));
                while let Some(version) = scan.next(&f.table, transaction, &snapshot) {
                    let view = f.table.view(version.layout(), version.bytes());
                    rows.push((view.fixed4(0) as i32, 0));
                }
                rows.sort_unstable();
                Ok(Seen::Rows(rows))
            }
            Op::KeysByValue(value) => {
                let id = ColumnSet::NONE.with(0);
                Ok(keys(Seen::Rows(self.by_value(transaction, &snapshot, value, id))))
            }
            Op::Insert(id) => written(transaction.insert(&f.table, &f.row(id, value)).map(|_| ())),
            Op::Set(id) => found(id).map_or(Ok(Seen::Missing), |row| {
                written(transaction.update(&f.table, &row, &f.row(id, value)))
            }),
            Op::Move(from, to) => found(from).map_or(Ok(Seen::Missing), |row| {
                written(transaction.update(&f.table, &row, &f.row(to, value)))
            }),
            Op::Remove(id) => found(id).map_or(Ok(Seen::Missing), |row| {
                written(transaction.delete(&f.table, &row))
            }),
            Op::Savepoint => {
                client.savepoints.push(transaction.savepoint());
                Ok(Seen::Nothing)
            }
            Op::RollBack => {
                if let Some(id) = client.savepoints.pop() {
                    transaction.rollback_to(id);
                    transaction.release(id);
                }
                Ok(Seen::Nothing)
            }
        }
    }

    fn by_value(
        &self,
        transaction: &Transaction,
        snapshot: &Snapshot,
        value: i64,
        columns: ColumnSet,
    ) -> Vec<(i32, i64)> {
        let (f, index) = (&self.f, &self.by_value);
        let (mut key, mut ids, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        index.key_program.columns()[0].append(KeyValue::Signed(value), &mut key);
        transaction.rows_with_key(&f.table, index, &key, snapshot, &mut ids);
        let mut rows: Vec<(i32, i64)> = ids
            .into_iter()
            .filter_map(|row| {
                let version = transaction.fetch_columns(&f.table, row, snapshot, columns)?;
                let view = f.table.view(version.layout(), version.bytes());
                let matches =
                    !version.needs_key_check() || index.key_program.matches(&view, &key, &mut scratch);
                matches.then(|| (view.fixed4(0) as i32, view.fixed8(1) as i64))
            })
            .collect();
        rows.sort_unstable();
        rows
    }
}

impl Client {
    /// `None`: refused.
    fn commit(self) -> Option<Committed> {
        let Client {
            transaction,
            snapshot,
            steps,
            ..
        } = self;
        let engine = transaction.engine().clone();
        match transaction.commit() {
            Ok(receipt) => Some(Committed {
                ts: receipt.commit_ts.unwrap_or(snapshot),
                until: match steps.iter().any(|(op, _)| *op == Op::RollBack) {
                    true => engine.log.tail(),
                    false => snapshot,
                },
                wrote: receipt.commit_ts.is_some(),
                steps,
            }),
            Err(CommitError::ReadConflict { .. }) => None,
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[derive(Default)]
struct Tally {
    committed: usize,
    refused: usize,
    /// Later snapshots taken.
    moved: usize,
}

/// Several transactions on one thread, one step at a time.
fn interleaved(seed: u64, isolation: Isolation, tally: &mut Tally) -> Result<(), String> {
    let bench = Bench::new();
    let mut prng = Prng::new(seed);
    let mut history = Vec::new();
    let mut clients: Vec<Client> = Vec::new();
    for number in 0..400 {
        if clients.len() < 4 && (clients.is_empty() || prng.chance(1, 3)) {
            clients.push(bench.begin(isolation, prng.chance(1, 10), number + 1));
        }
        let mut client = clients.swap_remove(prng.below(clients.len() as u64) as usize);
        if prng.chance(1, 8) {
            bench.f.engine.log().flush_step();
            bench.f.engine.collect(1000);
        }
        let ends = client.pending.is_none() && prng.chance(1, 5);
        if ends {
            tally.moved += client.moved;
            match client.commit() {
                Some(committed) => history.push(committed),
                None => tally.refused += 1,
            }
            continue;
        }
        let pending = client.pending.as_ref().map(|(op, _)| *op);
        let mut op = pending.unwrap_or_else(|| random_op(&mut prng));
        if client.transaction.is_read_only() {
            op = Op::Scan;
        }
        match bench.step(&mut client, op) {
            Stepped::Done => clients.push(client),
            // Whoever it waits for has its turn some time; a deadlock is told at once.
            Stepped::Waits(_) if prng.chance(3, 4) => clients.push(client),
            Stepped::Waits(ticket) => {
                client.transaction.cancel_wait(ticket);
                client.transaction.abort();
            }
            Stepped::Refused => {
                tally.refused += 1;
                client.transaction.abort();
            }
        }
    }
    drop(clients);
    tally.committed += history.len();
    replay(&mut history, &bench.f.contents())
}

#[test]
fn interleaved_transactions_are_as_good_as_one_by_one() {
    let mut tally = Tally::default();
    for seed in 0..150 {
        interleaved(seed, Isolation::Serializable, &mut tally)
            .unwrap_or_else(|difference| panic!("seed {seed}: {difference}"));
    }
    let Tally {
        committed,
        refused,
        moved,
    } = tally;
    assert!(
        committed > 5000 && refused > 500 && moved > 50,
        "{committed} committed, {refused} refused, {moved} later snapshots"
    );
}

#[test]
fn the_check_finds_what_repeatable_read_lets_through() {
    let found =
        (0..150).filter(|&seed| interleaved(seed, Isolation::RepeatableRead, &mut Tally::default()).is_err());
    let found = found.count();
    assert!(found > 100, "{found} of 150 histories");
}

fn threaded(seed: u64, isolation: Isolation, transactions: usize) -> (Result<(), String>, Tally) {
    let bench = Bench::new();
    bench.f.engine.start_background().expect("threads start");
    let results = Mutex::new((Vec::new(), Tally::default()));
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (bench, results) = (&bench, &results);
            scope.spawn(move || {
                let mut prng = Prng::fork(seed, thread as u64);
                for _ in 0..transactions {
                    let committed = one_of_many(bench, isolation, thread + 1, &mut prng);
                    let (history, tally) = &mut *results.lock();
                    match committed {
                        Some(committed) => history.push(committed),
                        None => tally.refused += 1,
                    }
                }
            });
        }
    });
    let end = bench.f.contents();
    bench.f.engine.stop();
    let (mut history, mut tally) = results.into_inner();
    tally.committed = history.len();
    (replay(&mut history, &end), tally)
}

fn one_of_many(bench: &Bench, isolation: Isolation, session: u32, prng: &mut Prng) -> Option<Committed> {
    let mut client = bench.begin(isolation, prng.chance(1, 10), session);
    for _ in 0..1 + prng.below(5) {
        let op = match client.transaction.is_read_only() {
            true => Op::Scan,
            false => random_op(prng),
        };
        loop {
            match bench.step(&mut client, op) {
                Stepped::Done => break,
                Stepped::Waits(ticket) => client.bell.wait(ticket),
                Stepped::Refused => {
                    client.transaction.abort();
                    return None;
                }
            }
        }
        if prng.chance(1, 3) {
            std::thread::yield_now();
        }
    }
    // Others get a chance where it hurts most: between the two checks, and while the outcome is open.
    for moment in [Moment::BetweenChecks, Moment::Validating] {
        if prng.chance(1, 4) {
            at(moment, std::thread::yield_now);
        }
    }
    client.commit()
}

#[test]
fn transactions_on_threads_are_as_good_as_one_by_one() {
    for seed in 0..3 {
        let (result, tally) = threaded(seed, Isolation::Serializable, 1500);
        result.unwrap_or_else(|difference| panic!("seed {seed}: {difference}"));
        let Tally {
            committed, refused, ..
        } = tally;
        assert!(
            committed > 1000 && refused > 100,
            "{committed} committed, {refused} refused"
        );
    }
}
