//! Runs in a SQLite file, second by second with their histograms, to be listed and compared long afterwards.
//!
//! The tables are the interface: whatever reads SQLite reads them. `run` has a line per run and its whole document as
//! JSON; `histogram` the measured window's latencies by type; `second` those of each second; `machine` and `error` what
//! else was recorded each second. Histograms are JSON lists of [nanoseconds, count].

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use mote_measure::RunOutcome;
use mote_measure::buckets::Buckets;
use mote_measure::statistics::Block;

/// Said in the file itself, so that another version's file is not misread.
const FORMAT: i64 = 1;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS run (
    id INTEGER PRIMARY KEY, unix_time_s INTEGER NOT NULL, experiment TEXT NOT NULL, target TEXT NOT NULL,
    server_version TEXT NOT NULL, command TEXT NOT NULL, measured_s REAL NOT NULL, transactions_per_s REAL NOT NULL,
    durable INTEGER, pass INTEGER NOT NULL, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS histogram (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, kind TEXT NOT NULL, position INTEGER NOT NULL,
    count INTEGER NOT NULL, latency TEXT NOT NULL, service TEXT NOT NULL, PRIMARY KEY (run, kind));
CREATE TABLE IF NOT EXISTS second (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, second REAL NOT NULL, seconds REAL NOT NULL,
    kind TEXT NOT NULL, count INTEGER NOT NULL, latency TEXT NOT NULL, PRIMARY KEY (run, second, kind));
CREATE TABLE IF NOT EXISTS error (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, second REAL NOT NULL, sqlstate TEXT NOT NULL,
    failed INTEGER NOT NULL, retried INTEGER NOT NULL, PRIMARY KEY (run, second, sqlstate));
CREATE TABLE IF NOT EXISTS machine (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, second REAL NOT NULL, seconds REAL NOT NULL,
    cpu_busy REAL, cpu_waiting REAL, server_cpu REAL, driver_cpu REAL, server_memory_bytes INTEGER,
    disk_read_bytes INTEGER, disk_written_bytes INTEGER, disk_writes INTEGER, disk_flushes INTEGER,
    loopback_bytes INTEGER, network_bytes INTEGER, PRIMARY KEY (run, second));
";

pub struct Store(Connection);

/// A line of the list.
pub struct RunLine {
    pub id: i64,
    pub unix_time_s: i64,
    pub experiment: String,
    pub target: String,
    pub server_version: String,
    pub transactions_per_s: f64,
    pub durable: Option<bool>,
    pub pass: bool,
}

/// A type's seconds within the measured window.
pub struct KindSeconds {
    pub kind: String,
    pub seconds: Vec<Block>,
}

fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

impl Store {
    /// Opens the file, and makes it if there is none.
    pub fn open(path: &Path) -> Result<Store, String> {
        let connection = Connection::open(path).map_err(failed(path))?;
        let format: i64 = connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(failed(path))?;
        if format != 0 && format != FORMAT {
            return Err(format!(
                "{} has format {format}; this program reads {FORMAT}",
                path.display()
            ));
        }
        connection
            .execute_batch(&format!(
                "{TABLES} PRAGMA user_version = {FORMAT}; PRAGMA foreign_keys = on;"
            ))
            .map_err(failed(path))?;
        Ok(Store(connection))
    }

    /// A file that is there; one that is not is no empty store but a typing error.
    pub fn existing(path: &Path) -> Result<Store, String> {
        if !path.exists() {
            return Err(format!(
                "{}: there is no such file; runs write it with --store",
                path.display()
            ));
        }
        Store::open(path)
    }

    /// Keeps a run; answers its number.
    pub fn save(&mut self, document: &Value, kinds: &[&str], outcome: &RunOutcome) -> Result<i64, String> {
        self.insert(document, kinds, outcome)
            .map_err(|error| format!("the run could not be stored: {error}"))
    }

    fn insert(&mut self, document: &Value, kinds: &[&str], outcome: &RunOutcome) -> rusqlite::Result<i64> {
        let transaction = self.0.transaction()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let command = document["environment"]["command"]
            .as_array()
            .into_iter()
            .flatten();
        let command: Vec<String> = command.map(text).collect();
        // Everything but the series, which has tables of its own.
        let mut rest = document.clone();
        if let Some(members) = rest.as_object_mut() {
            members.retain(|name, _| !matches!(name.as_str(), "series" | "system" | "histograms"));
        }
        transaction.execute(
            "INSERT INTO run (unix_time_s, experiment, target, server_version, command, measured_s, transactions_per_s, \
             durable, pass, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                document["environment"]["unix_time_s"].as_i64(),
                text(&document["experiment"]),
                text(&document["target"]),
                text(&document["server_version"]),
                command.join(" "),
                outcome.measured_s,
                document["summary"]["transactions_per_s"].as_f64(),
                document["summary"]["durability"]["durable"].as_bool(),
                document["pass"].as_bool(),
                rest.to_string(),
            ],
        )?;
        let run = transaction.last_insert_rowid();
        let json = |buckets: &Buckets| serde_json::to_string(buckets).unwrap_or_default();
        for (position, (kind, totals)) in kinds.iter().zip(&outcome.totals.kinds).enumerate() {
            let (latency, service) = (Buckets::of(&totals.latency), Buckets::of(&totals.service));
            transaction.execute(
                "INSERT INTO histogram VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    run,
                    kind,
                    position,
                    latency.count(),
                    json(&latency),
                    json(&service)
                ],
            )?;
        }
        for point in &outcome.series {
            for (kind, of_kind) in kinds.iter().zip(&point.kinds) {
                transaction.execute(
                    "INSERT INTO second VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![
                        run,
                        point.second,
                        point.seconds,
                        kind,
                        of_kind.count,
                        json(&of_kind.latency)
                    ],
                )?;
            }
            let states = point
                .errors_by_sqlstate
                .keys()
                .chain(point.retries_by_sqlstate.keys());
            for state in states.collect::<std::collections::BTreeSet<_>>() {
                let number =
                    |map: &std::collections::BTreeMap<String, u64>| map.get(state).copied().unwrap_or(0);
                transaction.execute(
                    "INSERT INTO error VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![
                        run,
                        point.second,
                        state,
                        number(&point.errors_by_sqlstate),
                        number(&point.retries_by_sqlstate)
                    ],
                )?;
            }
        }
        for point in &outcome.system {
            transaction.execute(
                "INSERT INTO machine VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                params![
                    run,
                    point.second,
                    point.seconds,
                    point.cpu_busy,
                    point.cpu_waiting,
                    point.server_cpu,
                    point.driver_cpu,
                    point.server_memory_bytes,
                    point.disk_read_bytes,
                    point.disk_written_bytes,
                    point.disk_writes,
                    point.disk_flushes,
                    point.loopback_bytes,
                    point.network_bytes
                ],
            )?;
        }
        transaction.commit()?;
        Ok(run)
    }

    /// All runs, the newest first.
    pub fn runs(&self) -> Result<Vec<RunLine>, String> {
        self.lines("SELECT id, unix_time_s, experiment, target, server_version, transactions_per_s, durable, pass FROM run \
                    ORDER BY id DESC", params![])
    }

    pub fn run(&self, id: i64) -> Result<RunLine, String> {
        let sql = "SELECT id, unix_time_s, experiment, target, server_version, transactions_per_s, durable, pass FROM run \
                   WHERE id = ?1";
        let line = self.lines(sql, params![id])?.pop();
        line.ok_or_else(|| format!("there is no run {id}"))
    }

    fn lines(&self, sql: &str, parameters: &[&dyn rusqlite::ToSql]) -> Result<Vec<RunLine>, String> {
        let read = || -> rusqlite::Result<Vec<RunLine>> {
            let mut statement = self.0.prepare(sql)?;
            let rows = statement.query_map(parameters, |row| {
                Ok(RunLine {
                    id: row.get(0)?,
                    unix_time_s: row.get(1)?,
                    experiment: row.get(2)?,
                    target: row.get(3)?,
                    server_version: row.get(4)?,
                    transactions_per_s: row.get(5)?,
                    durable: row.get(6)?,
                    pass: row.get(7)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| format!("the runs could not be read: {error}"))
    }

    /// The settings of a run, to be told apart from another's.
    pub fn settings(&self, id: i64) -> Result<Value, String> {
        let document: Option<String> = self
            .0
            .query_row("SELECT document FROM run WHERE id = ?1", params![id], |row| {
                row.get(0)
            })
            .optional()
            .map_err(|error| format!("run {id} could not be read: {error}"))?;
        let document = document.ok_or_else(|| format!("there is no run {id}"))?;
        let document: Value = serde_json::from_str(&document)
            .map_err(|error| format!("run {id} holds no document: {error}"))?;
        Ok(document["settings"].clone())
    }

    /// The seconds of the measured window, by type in the order of the experiment.
    pub fn seconds(&self, id: i64) -> Result<Vec<KindSeconds>, String> {
        let read = || -> rusqlite::Result<Vec<(String, f64, String)>> {
            let mut statement = self.0.prepare(
                "SELECT s.kind, s.seconds, s.latency FROM second s JOIN histogram h ON h.run = s.run AND h.kind = s.kind \
                 WHERE s.run = ?1 AND s.second > 0 ORDER BY h.position, s.second",
            )?;
            let rows = statement.query_map(params![id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect()
        };
        let rows = read().map_err(|error| format!("run {id} could not be read: {error}"))?;
        let mut kinds: Vec<KindSeconds> = Vec::new();
        for (kind, seconds, latency) in rows {
            let latency = serde_json::from_str(&latency).map_err(|error| format!("run {id}: {error}"))?;
            if kinds.last().is_none_or(|last| last.kind != kind) {
                kinds.push(KindSeconds {
                    kind,
                    seconds: Vec::new(),
                });
            }
            if let Some(last) = kinds.last_mut() {
                last.seconds.push(Block { seconds, latency });
            }
        }
        Ok(kinds)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use mote_measure::Collector;
    use mote_measure::collector::interval_histogram;
    use mote_measure::outcome::{SeriesKind, SeriesPoint};
    use mote_measure::system::SystemPoint;

    fn outcome() -> RunOutcome {
        let mut latency = interval_histogram();
        latency.record_n(2_000_000, 30).expect("in range");
        let latency = Buckets::of(&latency);
        let mut outcome = RunOutcome::of(Collector::new(1));
        outcome.totals.kinds[0]
            .latency
            .record_n(2_000_000, 60)
            .expect("in range");
        outcome.series = [-0.5, 0.5, 1.5]
            .map(|second| SeriesPoint {
                second,
                seconds: 1.0,
                kinds: vec![SeriesKind {
                    count: 30,
                    p50_us: 2e3,
                    p95_us: 2e3,
                    p99_us: 2e3,
                    max_us: 2e3,
                    latency: latency.clone(),
                }],
                errors: 1,
                retries: 2,
                errors_by_sqlstate: BTreeMap::from([("23505".to_string(), 1)]),
                retries_by_sqlstate: BTreeMap::from([("40001".to_string(), 2)]),
            })
            .to_vec();
        outcome.system = vec![SystemPoint::default()];
        outcome
    }

    #[test]
    fn a_run_comes_back_as_it_was_kept() {
        let path = std::env::temp_dir().join(format!("mote-bench-store-{}.db", std::process::id()));
        let document = json!({"experiment": "x", "target": "t", "server_version": "v", "pass": true,
            "settings": {"rows": 3}, "series": [1, 2], "summary": {"transactions_per_s": 30.0},
            "environment": {"unix_time_s": 5, "command": ["mote", "bench"]}});
        let mut store = Store::open(&path).expect("made");
        let first = store.save(&document, &["SELECT"], &outcome()).expect("kept");
        let second = store.save(&document, &["SELECT"], &outcome()).expect("kept");
        drop(store);
        let store = Store::existing(&path).expect("there");
        let runs = store.runs().expect("listed");
        std::fs::remove_file(&path).expect("it is ours");
        assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [second, first]);
        assert_eq!(
            (runs[0].transactions_per_s, runs[0].durable, runs[0].pass),
            (30.0, None, true)
        );
        let kinds = store.seconds(first).expect("read");
        assert_eq!((kinds.len(), kinds[0].kind.as_str()), (1, "SELECT"));
        assert_eq!(kinds[0].seconds.len(), 2, "the warm-up is not measured");
        assert_eq!(kinds[0].seconds[0].latency.count(), 30);
        assert_eq!(store.settings(first).expect("read"), json!({"rows": 3}));
        assert!(store.run(99).is_err() && Store::existing(&path).is_err());
    }
}
