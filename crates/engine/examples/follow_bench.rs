//! What a follower's replay costs: a primary writes a log, a second engine takes it and applies it.
//!
//! `cargo run --release -p mote-engine --example follow_bench [rows] [transactions] [phase..]`. Both engines are in this
//! process, their directories temporary. Reported is the processor time of the thread that replays, in row changes a second
//! and in nanoseconds a transaction; reading the log out of the files is in it, taking it from the network is not. The
//! follower's collector works between the measured parts. A phase is a part of a report's name; without one, all of them.

use mote_common::env::{Env, real};
use mote_common::prng::Prng;
use mote_common::{IndexId, Lsn, RowId, SqlError};
use mote_engine::follow::{FollowedCatalog, Published, Replay};
use mote_engine::index::IndexMethod;
use mote_engine::{
    Access, ColumnStorage, Engine, EngineConfig, IndexDefinition, Isolation, KeyClass, KeyColumn,
    KeyExpressionProvider, KeyExpressions, PreparedWrite, RowWriter, StorageClass, Table, TableDefinition,
    Transaction,
};
use mote_log::LogConfig;
use mote_log::intake::Intake;
use mote_log::range::LogRanges;
use std::path::Path;
use std::sync::Arc;

/// As the server does: readers are shown what is applied after each piece of this size.
const REPLAY_BYTES: u64 = 4 << 20;
const ACCOUNTS_PER_BRANCH: u64 = 100_000;
const TELLERS_PER_BRANCH: u64 = 10;
/// Sessions whose commits come in turns: as many transactions lie between two of one row of a branch, at least.
const BRANCHES: u64 = 16;

const TPCB: &str = "TPC-B: transactions of four changes";

struct NoExpressions;

impl KeyExpressionProvider for NoExpressions {
    fn compile(&self, _definition: &[u8]) -> Result<Arc<dyn KeyExpressions>, SqlError> {
        Err(SqlError::unsupported("index expressions"))
    }
}

struct NoCatalog;

impl FollowedCatalog for NoCatalog {
    fn changes<'a>(&'a self, _: Vec<PreparedWrite>) -> Result<Option<Published<'a>>, String> {
        Ok(None)
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        let argument = arguments.next();
        argument.map_or(default, |text| text.parse().expect("a number"))
    };
    let (rows, transactions) = (number(1_000_000), number(200_000));
    let phases: Vec<String> = arguments.collect();
    let wanted = |what: &str| phases.is_empty() || phases.iter().any(|phase| what.contains(phase.as_str()));
    let root = std::env::temp_dir().join(format!("mote-follow-bench-{}", std::process::id()));
    let mut pair = Pair::open(&root);
    if phases.is_empty() || phases.iter().any(|phase| !TPCB.contains(phase.as_str())) {
        rows_of_one_table(&mut pair, rows, &wanted);
    }
    if wanted(TPCB) {
        tpcb(&mut pair, transactions);
    }
    pair.primary.stop();
    pair.follower.stop();
    std::fs::remove_dir_all(&root).expect("the directory is ours");
}

/// A primary and what follows it.
struct Pair {
    primary: Arc<Engine>,
    follower: Arc<Engine>,
    intake: Intake,
    replay: Replay,
}

fn open(root: &Path, following: bool) -> (Env, Arc<Engine>) {
    let env = real::env(root);
    let config = EngineConfig {
        memory_limit_bytes: 16 << 30,
        following,
        ..EngineConfig::default()
    };
    let engine = Engine::open(env.clone(), config, Arc::new(NoExpressions)).expect("a sound directory opens");
    (env, engine)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the temporary directory is writable");
    for entry in std::fs::read_dir(from).expect("it is a directory") {
        let entry = entry.expect("it is readable");
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &copied),
            false => std::fs::copy(&path, &copied).map(drop).expect("there is room"),
        }
    }
}

impl Pair {
    fn open(root: &Path) -> Pair {
        let (first, second) = (root.join("primary"), root.join("follower"));
        std::fs::create_dir_all(&first).expect("the temporary directory is writable");
        let (_, primary) = open(&first, false);
        primary.start_background().expect("threads start");
        copy(&first, &second);
        let (env, follower) = open(&second, true);
        let (replay, scan) = follower.take_replay().expect("it follows");
        let log = follower.log();
        let config = LogConfig {
            segment_bytes: log.segment_bytes(),
            ..LogConfig::default()
        };
        let start = log.needed_from(follower.checkpoint_report().log_start);
        let intake = Intake::open(&env, config, log.system_id(), start, &scan, Vec::new());
        Pair {
            primary,
            follower,
            intake: intake.expect("the disk works"),
            replay,
        }
    }

    fn begin(&self) -> Transaction {
        let transaction = self.primary.begin(Isolation::ReadCommitted, false);
        transaction.expect("a slot is free")
    }

    /// The follower has all of the primary's log, and has applied none of it. Answers where it ends.
    fn take(&mut self) -> Lsn {
        let log = self.primary.log();
        let end = log.tail();
        while log.flushed() < end {
            log.request_flush();
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        let mut ranges = LogRanges::new(self.primary.disk(), log.system_id(), log.segment_bytes());
        let mut piece = vec![0; 128 << 10];
        loop {
            let from = self.intake.wants();
            let length = piece.len().min((log.flushed().0 - from.0) as usize);
            if length == 0 {
                break;
            }
            let read = ranges.read(from, &mut piece[..length]).expect("the disk works");
            let read = read.expect("the log is kept");
            self.intake.write(from, &piece[..read]).expect("it is log");
        }
        self.intake.sync().expect("the disk works")
    }

    fn apply(&mut self, end: Lsn) {
        while self.follower.log().stable() < end {
            let until = end.min(Lsn(self.follower.log().stable().0 + REPLAY_BYTES));
            let before = self.follower.log().stable();
            self.replay
                .advance(until, &[], &NoCatalog)
                .expect("it is the primary's log");
            if self.follower.log().stable() == before {
                break;
            }
        }
    }

    /// Nothing waits for the collectors.
    fn collect(&self) {
        while self.follower.collect(1 << 20).examined > 0 {}
    }

    fn settle(&mut self) {
        let end = self.take();
        self.apply(end);
        self.collect();
    }

    fn measure(&mut self, what: &str, transactions: u64, changes: u64) {
        let end = self.take();
        // A thread of its own, so that a profile can tell it from the primary.
        let ns = std::thread::scope(|scope| {
            let replaying = std::thread::Builder::new().name("mote-replay".into());
            let replaying = replaying.spawn_scoped(scope, || {
                self.apply(end);
                processor_ns()
            });
            replaying.expect("threads start").join().expect("it applies")
        }) as f64;
        self.collect();
        println!(
            "{what:<52} {:>9.0} changes/s {:>7.0} ns a change {:>9.0} ns a transaction",
            changes as f64 * 1e9 / ns,
            ns / changes as f64,
            ns / transactions as f64
        );
    }

    fn table(&self, columns: &[StorageClass], keys: &[(u16, bool)]) -> Arc<Table> {
        let transaction = self.begin();
        transaction.begin_statement(Access::Write);
        let columns = columns.iter().map(|&class| ColumnStorage::new(class, false));
        let id = transaction
            .create_table(&TableDefinition::new(columns.collect()))
            .expect("a new table");
        for &(column, unique) in keys {
            let definition = IndexDefinition {
                id: IndexId(0),
                table: id,
                method: IndexMethod::Ordered,
                columns: vec![KeyColumn::ascending(column, KeyClass::Signed4, false)],
                unique,
                deferrable: false,
                nulls_not_distinct: false,
                expressions: None,
            };
            let mut build = transaction.create_index(&definition).expect("a new index");
            transaction
                .build_index(&mut build, usize::MAX)
                .expect("the table is empty");
        }
        transaction.commit().expect("the log takes it");
        self.primary.table(id).expect("made above")
    }

    fn insert(&self, table: &Table, rows: u64, mut row: impl FnMut(&mut RowWriter<'_>, u64)) -> Vec<RowId> {
        let transaction = self.begin();
        transaction.begin_statement(Access::Write);
        let mut writer = RowWriter::new(table.newest_layout());
        let ids = (0..rows).map(|number| {
            writer.clear();
            row(&mut writer, number);
            transaction
                .insert(table, writer.finish().expect("a small row"))
                .expect("keys are distinct")
        });
        let ids = ids.collect();
        transaction.commit().expect("the log takes it");
        ids
    }
}

fn processor_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Replaces a row: `change` gets what a writer starts from.
fn update(
    transaction: &Transaction,
    table: &Table,
    row: RowId,
    writer: &mut RowWriter<'_>,
    change: impl FnOnce(&mut RowWriter<'_>),
) {
    let snapshot = transaction.begin_statement(Access::Write);
    let version = transaction.fetch(table, row, &snapshot).expect("it is there");
    writer.clear();
    change(writer);
    transaction
        .update(table, &version, writer.finish().expect("a small row"))
        .expect("nobody else writes");
}

/// Statements that change every row of a table with a key, an indexed column, a counter and a text.
fn rows_of_one_table(pair: &mut Pair, rows: u64, wanted: &dyn Fn(&str) -> bool) {
    let columns = [
        StorageClass::Fixed4,
        StorageClass::Fixed4,
        StorageClass::Fixed8,
        StorageClass::Variable,
    ];
    let table = pair.table(&columns, &[(0, true), (1, false)]);
    let fill = |writer: &mut RowWriter<'_>, id: u64, indexed: u32, value: u64| {
        writer.set_fixed4(0, id as u32);
        writer.set_fixed4(1, indexed);
        writer.set_fixed8(2, value);
        writer.set_variable(3, &[b'x'; 40]);
    };
    pair.settle();
    let near = |id: u64| id as u32 * 4;
    let ids = pair.insert(&table, rows, |writer, id| fill(writer, id, near(id), 0));
    pair.measure("rows: INSERT, two indexes", 1, rows);
    let mut all = |what: &str, indexed: &mut dyn FnMut(u64) -> u32, value: u64| {
        if !wanted(what) {
            return;
        }
        let transaction = pair.begin();
        let mut writer = RowWriter::new(table.newest_layout());
        for (number, &row) in ids.iter().enumerate() {
            let id = number as u64;
            update(&transaction, &table, row, &mut writer, |writer| {
                fill(writer, id, indexed(id), value);
            });
        }
        transaction.commit().expect("the log takes it");
        pair.measure(what, 1, rows);
    };
    all("rows: UPDATE, no index concerned", &mut |id| near(id), 1);
    all(
        "rows: UPDATE, of an indexed column by one",
        &mut |id| near(id) + 1,
        1,
    );
    let mut prng = Prng::new(1);
    let mut any = |_| prng.below(1 << 30) as u32;
    all("rows: UPDATE, of an indexed column to any value", &mut any, 1);
    let what = "rows: DELETE of half";
    if wanted(what) {
        let transaction = pair.begin();
        for &row in ids.iter().step_by(2) {
            let snapshot = transaction.begin_statement(Access::Write);
            let version = transaction.fetch(&table, row, &snapshot).expect("it is there");
            transaction.delete(&table, &version).expect("nobody else writes");
        }
        transaction.commit().expect("the log takes it");
        pair.measure(what, 1, rows / 2);
    }
}

/// Transactions of four changes, as pgbench makes them.
fn tpcb(pair: &mut Pair, transactions: u64) {
    let balances = [
        StorageClass::Fixed4,
        StorageClass::Fixed4,
        StorageClass::Fixed4,
        StorageClass::Variable,
    ];
    let fill = |writer: &mut RowWriter<'_>, id: u64, balance: u64| {
        writer.set_fixed4(0, id as u32);
        writer.set_fixed4(1, 1);
        writer.set_fixed4(2, balance as u32);
        writer.set_variable(3, &[b' '; 84]);
    };
    let counts = [
        BRANCHES,
        BRANCHES * TELLERS_PER_BRANCH,
        (BRANCHES * ACCOUNTS_PER_BRANCH).min(transactions * 8),
    ];
    let tables = counts.map(|count| {
        let table = pair.table(&balances, &[(0, true)]);
        let ids = pair.insert(&table, count, |writer, id| fill(writer, id, 0));
        (table, ids)
    });
    let history = pair.table(&[StorageClass::Fixed4; 4], &[]);
    pair.settle();
    let mut prng = Prng::new(7);
    let mut writers = tables
        .each_ref()
        .map(|(table, _)| RowWriter::new(table.newest_layout()));
    let mut entry = RowWriter::new(history.newest_layout());
    for number in 0..transactions {
        let transaction = pair.begin();
        // The account first, the branch last.
        for ((table, ids), writer) in tables.iter().zip(&mut writers).rev() {
            let id = prng.below(ids.len() as u64);
            update(&transaction, table, ids[id as usize], writer, |writer| {
                fill(writer, id, number);
            });
        }
        transaction.begin_statement(Access::Write);
        entry.clear();
        (0..4).for_each(|column| entry.set_fixed4(column, number as u32));
        transaction
            .insert(&history, entry.finish().expect("a small row"))
            .expect("it has no key");
        transaction.commit().expect("the log takes it");
        if number % 16 == 0 {
            pair.primary.log().request_flush();
        }
    }
    pair.measure(TPCB, transactions, transactions * 4);
}
