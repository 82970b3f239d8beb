//! What statements have cost since the server started: what pg_stat_statements shows (docs/design/0051).
//!
//! A statement adds to the table of the thread that it ends on, under a mutex that nobody else wants but who reads or resets;
//! a reader adds the tables up. Each table keeps as many statements as `pg_stat_statements.max` says, and drops the
//! least used twentieth when it is full.
//!
//! Source: PostgreSQL's contrib/pg_stat_statements. Other than there each thread has a table, and nothing is written to a file.
//!
//! Leaves out: what a statement is and which of them count (executor, exec), and keeping anything over a restart.

mod counters;

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use hashbrown::HashMap;
use mote_common::Oid;
use parking_lot::Mutex;

pub use counters::{Counters, Times};

/// More threads than these share tables.
const TABLES: usize = 64;
/// Texts in a table may take this much for each statement that it may keep.
const TEXT_BYTES_PER_STATEMENT: usize = 2048;
/// Of the statements in a full table, in percent.
const DROPPED_PERCENT: usize = 5;
const DROPPED_MIN: usize = 10;
/// What was used long ago counts less with every time that statements are dropped.
const USE_DECAY: f64 = 0.99;

/// Whose statement, where, which, and whether the client sent it itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StatementKey {
    pub user: Oid,
    pub database: Oid,
    pub query_id: i64,
    pub top_level: bool,
}

/// A row of pg_stat_statements.
#[derive(Clone, Debug)]
pub struct StatementRow {
    pub key: StatementKey,
    pub text: Arc<str>,
    pub counters: Counters,
}

/// The number of a statement is a hash: the rest of its key only stirs it.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_i64(&mut self, value: i64) {
        self.write_u64(value as u64);
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
}

#[derive(Default)]
struct Table {
    statements: HashMap<StatementKey, Kept, BuildHasherDefault<KeyHasher>>,
    text_bytes: usize,
    /// How often statements were dropped because the table was full.
    drops: u64,
}

struct Kept {
    counters: Counters,
    text: Arc<str>,
    /// Runs, the older the less.
    used: f64,
}

/// In a cache line pair of its own: its thread takes it for each statement.
#[repr(align(128))]
#[derive(Default)]
struct Aligned(Mutex<Table>);

pub struct StatementStatistics {
    tables: Box<[Aligned]>,
    reset_us: AtomicI64,
}

mote_common::per_thread! {
    /// The thread's table.
    static TABLE: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: only that threads get different numbers matters.
        THREADS.fetch_add(1, Ordering::Relaxed) % TABLES
    };
}

impl StatementStatistics {
    pub fn new(now_us: i64) -> StatementStatistics {
        StatementStatistics {
            tables: (0..TABLES).map(|_| Aligned::default()).collect(),
            reset_us: AtomicI64::new(now_us),
        }
    }

    /// Counts something of a statement. `statements_max` is how many a table keeps.
    pub fn count(
        &self,
        key: StatementKey,
        text: &Arc<str>,
        statements_max: usize,
        add: impl FnOnce(&mut Counters),
    ) {
        let mut table = self.tables[TABLE.with(|index| *index)].0.lock();
        if let Some(known) = table.statements.get_mut(&key) {
            known.used += 1.0;
            return add(&mut known.counters);
        }
        table.insert(key, text.clone(), statements_max, add);
    }

    /// All statements, of all threads; the most used, where they are more than one table keeps.
    pub fn rows(&self, statements_max: usize) -> Vec<StatementRow> {
        let mut all: HashMap<StatementKey, (StatementRow, f64)> = HashMap::new();
        for table in &self.tables {
            for (key, kept) in &table.0.lock().statements {
                let fresh = || {
                    let row = StatementRow {
                        key: *key,
                        text: kept.text.clone(),
                        counters: Counters::default(),
                    };
                    (row, 0.0)
                };
                let (row, used) = all.entry(*key).or_insert_with(fresh);
                row.counters.combine(&kept.counters);
                *used += kept.used;
            }
        }
        let mut rows: Vec<(StatementRow, f64)> = all.into_values().collect();
        rows.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        rows.truncate(statements_max);
        rows.into_iter().map(|(row, _)| row).collect()
    }

    /// Forgets the statements that are asked for.
    pub fn reset(&self, asked: impl Fn(&StatementKey) -> bool) {
        for table in &self.tables {
            table.0.lock().forget(&asked);
        }
    }

    /// Forgets everything, also how often statements were dropped.
    pub fn reset_all(&self, now_us: i64) {
        for table in &self.tables {
            *table.0.lock() = Table::default();
        }
        // Relaxed: a moment that nothing is concluded from.
        self.reset_us.store(now_us, Ordering::Relaxed);
    }

    /// How often statements were dropped for room, and since when everything is counted.
    pub fn about(&self) -> (u64, i64) {
        let drops = self.tables.iter().map(|table| table.0.lock().drops).sum();
        (drops, self.reset_us.load(Ordering::Relaxed))
    }
}

impl Table {
    #[cold]
    fn insert(
        &mut self,
        key: StatementKey,
        text: Arc<str>,
        statements_max: usize,
        add: impl FnOnce(&mut Counters),
    ) {
        let texts_max = statements_max.saturating_mul(TEXT_BYTES_PER_STATEMENT);
        let too_long = |table: &Table| table.text_bytes + text.len() > texts_max;
        if self.statements.len() >= statements_max {
            self.drop_least_used(statements_max);
        }
        while too_long(self) && !self.statements.is_empty() {
            self.drop_least_used(statements_max);
        }
        let mut kept = Kept {
            counters: Counters::default(),
            text,
            used: 1.0,
        };
        add(&mut kept.counters);
        self.text_bytes += kept.text.len();
        self.statements.insert(key, kept);
    }

    fn forget(&mut self, asked: impl Fn(&StatementKey) -> bool) {
        self.statements.retain(|key, _| !asked(key));
        self.text_bytes = self.statements.values().map(|kept| kept.text.len()).sum();
    }

    /// Makes room: drops a twentieth, more if the maximum was lowered.
    fn drop_least_used(&mut self, statements_max: usize) {
        let mut by_use: Vec<(f64, StatementKey)> = Vec::with_capacity(self.statements.len());
        for (key, kept) in &mut self.statements {
            kept.used *= USE_DECAY;
            by_use.push((kept.used, *key));
        }
        by_use.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let over = self.statements.len().saturating_sub(statements_max);
        let share = (self.statements.len() * DROPPED_PERCENT / 100).max(DROPPED_MIN);
        for (_, key) in by_use.into_iter().take(over + share) {
            if let Some(kept) = self.statements.remove(&key) {
                self.text_bytes -= kept.text.len();
            }
        }
        self.drops += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(query_id: i64) -> StatementKey {
        StatementKey {
            user: Oid(10),
            database: Oid(5),
            query_id,
            top_level: true,
        }
    }

    fn run(statistics: &StatementStatistics, query_id: i64, ns: u64, max: usize) {
        let text: Arc<str> = format!("select {query_id}").into();
        statistics.count(key(query_id), &text, max, |counters| {
            counters.runs.add(ns);
            counters.rows += 2;
        });
    }

    #[test]
    fn threads_are_added_up() {
        let statistics = StatementStatistics::new(7);
        std::thread::scope(|scope| {
            for thread in 1..=4u64 {
                let statistics = &statistics;
                scope.spawn(move || (0..100).for_each(|_| run(statistics, 1, thread * 1_000_000, 100)));
            }
        });
        let rows = statistics.rows(100);
        assert_eq!(rows.len(), 1);
        let counters = rows[0].counters;
        assert_eq!((counters.runs.count, counters.rows), (400, 800));
        assert_eq!((counters.runs.min_ms, counters.runs.max_ms), (1.0, 4.0));
        assert!((counters.runs.mean_ms - 2.5).abs() < 1e-9);
        assert_eq!(&*rows[0].text, "select 1");
        assert_eq!(statistics.about(), (0, 7));
    }

    #[test]
    fn the_least_used_make_room() {
        let statistics = StatementStatistics::new(0);
        (0..5).for_each(|_| (0..50).for_each(|id| run(&statistics, id, 1, 100)));
        (50..500).for_each(|id| run(&statistics, id, 1, 100));
        let rows = statistics.rows(1000);
        assert!(rows.len() <= 100, "{}", rows.len());
        // Used five times, they stay while others come and go.
        assert!((0..50).all(|id| rows.iter().any(|row| row.key.query_id == id)));
        assert!(statistics.about().0 >= 40, "{:?}", statistics.about());
        assert_eq!(statistics.rows(10).len(), 10);
    }

    #[test]
    fn long_texts_make_room_too() {
        let statistics = StatementStatistics::new(0);
        let long: Arc<str> = "x".repeat(TEXT_BYTES_PER_STATEMENT * 30).into();
        (0..100).for_each(|id| statistics.count(key(id), &long, 100, |counters| counters.rows += 1));
        let bytes: usize = statistics.rows(1000).iter().map(|row| row.text.len()).sum();
        assert!(bytes <= 100 * TEXT_BYTES_PER_STATEMENT, "{bytes}");
    }

    #[test]
    fn reset_forgets_what_is_asked_for() {
        let statistics = StatementStatistics::new(0);
        (0..5).for_each(|id| run(&statistics, id, 1, 100));
        statistics.reset(|key| key.query_id == 3);
        assert_eq!(statistics.rows(100).len(), 4);
        statistics.reset_all(9);
        assert_eq!(statistics.rows(100).len(), 0);
        assert_eq!(statistics.about(), (0, 9));
    }
}
