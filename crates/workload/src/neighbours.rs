//! Point selects beside heavy statements: does one session's work cost the others their latency?
//!
//! Eight connections select single rows in a closed loop while as many sessions as the server has processors run one heavy
//! statement over and over. Then the heavy statement is cancelled from another session, and run once more under a
//! statement timeout: both tell how long it stays deaf. Memory of the server is sampled throughout.
//!
//! The statements are of three kinds: long scans, which any executor can interrupt between rows; single calls of functions
//! over large values, which it cannot unless the function itself looks up; and statements that are heavy to plan.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::closed_loop::LoopPlan;
use super::point;
use mote_driver::{Admin, DriverError, DriverResult, Target};
use mote_measure::cpu::ProcessTree;

/// Rows of the table that scans read.
const ROWS: i32 = 300_000;
/// What the heavy statement's last run is given before the server should end it.
const TIMEOUT: Duration = Duration::from_millis(200);
/// A statement that has not ended so long after it was told to is given up, and its session with it.
const DEAF_AFTER: Duration = Duration::from_secs(60);
const MEMORY_EVERY: Duration = Duration::from_millis(50);

/// A heavy statement.
pub struct Heavy {
    pub name: &'static str,
    pub sql: &'static str,
}

macro_rules! heavy {
    ($($name:literal $sql:literal,)*) => { &[$(Heavy { name: $name, sql: $sql }),*] };
}

/// `neighbours_rows` has the columns `id`, `k` and `t`. Calls have a random argument: a planner would compute constant ones once.
pub const HEAVY: &[Heavy] = heavy! {
    "count" "SELECT count(*) FROM neighbours_rows WHERE t LIKE '%7%3%'",
    "group" "SELECT k, count(*), avg(id) FROM neighbours_rows GROUP BY k ORDER BY 2, 1",
    "sort" "SELECT t FROM neighbours_rows ORDER BY t DESC LIMIT 10",
    "distinct" "SELECT count(DISTINCT t) FROM neighbours_rows",
    "hash-join" "SELECT count(*) FROM neighbours_rows a JOIN neighbours_rows b ON a.t = b.t",
    "cross-join" "SELECT count(*) FROM neighbours_rows a, generate_series(1, 50) b WHERE a.id % 7 = b % 7",
    "window" "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY t) r FROM neighbours_rows) x",
    "series" "SELECT sum(i) FROM generate_series(1, 20000000) i",
    "recursive" "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT count(*) FROM n",
    "string-agg" "SELECT length(string_agg(t, ',')) FROM neighbours_rows",
    "json-agg" "SELECT length(json_agg(r)::text) FROM neighbours_rows r",
    "array-agg" "SELECT cardinality(array_agg(t ORDER BY t)) FROM neighbours_rows",
    "plpgsql-loop" "DO $$ DECLARE s bigint := 0; BEGIN FOR i IN 1..20000000 LOOP s := s + i; END LOOP; END $$",
    "plpgsql-text" "DO $$ DECLARE x text := 'x'; BEGIN FOR i IN 1..26 LOOP x := x || x; END LOOP; END $$",
    "repeat" "SELECT length(repeat('x', (500000000 - random())::int))",
    "repeat-wide" "SELECT length(repeat('äöü', (100000000 - random())::int))",
    "replace" "SELECT length(replace(repeat('ab', (50000000 - random())::int), 'a', 'xyz'))",
    "translate" "SELECT length(translate(repeat('abc', (20000000 - random())::int), 'abc', 'xyz'))",
    "reverse" "SELECT length(reverse(repeat('abc', (50000000 - random())::int)))",
    "lpad" "SELECT length(lpad('x', (200000000 - random())::int, 'abc'))",
    "upper" "SELECT length(upper(repeat('straße', (20000000 - random())::int)))",
    "md5" "SELECT md5(repeat('x', (500000000 - random())::int))",
    "sha512" "SELECT sha512(repeat('x', (200000000 - random())::int)::bytea)",
    "encode" "SELECT length(encode(repeat('x', (200000000 - random())::int)::bytea, 'base64'))",
    "string-to-array" "SELECT cardinality(string_to_array(repeat('a,', (10000000 - random())::int), ','))",
    "regexp-replace" "SELECT length(regexp_replace(repeat('ab1', (10000000 - random())::int), '[0-9]', '#', 'g'))",
    "like" "SELECT repeat('ab', (20000000 - random())::int) LIKE '%a%b%a%b%a%b%c'",
    "factorial" "SELECT length(factorial((20000 - random())::int)::text)",
    "numeric-power" "SELECT length(((1.000001 + 0 * random()::numeric) ^ 100000000)::text)",
    "numeric-sqrt" "SELECT length(sqrt(1e60000 + random()::numeric)::text)",
    "jsonb" "SELECT length(jsonb_build_array(repeat('x', (100000000 - random())::int))::text)",
    "plan-joins" "EXPLAIN SELECT 1 FROM neighbours_rows a NATURAL JOIN neighbours_rows b NATURAL JOIN neighbours_rows c \
     NATURAL JOIN neighbours_rows d NATURAL JOIN neighbours_rows e NATURAL JOIN neighbours_rows f NATURAL JOIN \
     neighbours_rows g NATURAL JOIN neighbours_rows h NATURAL JOIN neighbours_rows i NATURAL JOIN neighbours_rows j \
     NATURAL JOIN neighbours_rows k NATURAL JOIN neighbours_rows l NATURAL JOIN neighbours_rows m NATURAL JOIN \
     neighbours_rows n NATURAL JOIN neighbours_rows o NATURAL JOIN neighbours_rows p NATURAL JOIN neighbours_rows q",
};

/// What the selects felt, and how the heavy statement ended. Times in milliseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Beside {
    pub selects_per_s: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    /// How often the heavy statement ended by itself, well or badly.
    pub heavy_runs: u64,
    /// The SQLSTATE of its last failure.
    pub heavy_error: Option<String>,
    /// From the cancel to the answer; None where the statement ended before.
    pub cancel_ms: Option<f64>,
    /// Beyond the timeout; None where the statement ended before.
    pub timeout_ms: Option<f64>,
    pub peak_memory_bytes: Option<u64>,
}

/// Creates what the statements read, unless it is there.
pub fn set_up(target: &Target, point_rows: i32) -> DriverResult<()> {
    point::set_up(target, point_rows)?;
    let mut admin = Admin::connect(target)?;
    match admin.value("SELECT count(*) FROM neighbours_rows") {
        Ok(Some(count)) if count == ROWS.to_string() => return Ok(()),
        Ok(_) => {}
        Err(error) if error.sqlstate() == "42P01" => {}
        Err(error) => return Err(error),
    }
    admin.execute("DROP TABLE IF EXISTS neighbours_rows")?;
    admin.execute("CREATE TABLE neighbours_rows (id integer PRIMARY KEY, k integer, t text)")?;
    admin.execute(&format!(
        "INSERT INTO neighbours_rows SELECT i, i % 1000, md5(i::text) FROM generate_series(1, {ROWS}) i"
    ))?;
    admin.execute("ANALYZE neighbours_rows")
}

/// Runs the selects, beside `sessions` sessions of the heavy statement if there is one.
pub fn measure(
    plan: &LoopPlan<'_>,
    point_rows: i32,
    seed: u64,
    heavy: Option<&Heavy>,
    sessions: usize,
) -> Result<Beside, String> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sampler = scope.spawn(|| peak_memory(plan.server, &stop));
        let workers: Vec<_> = heavy
            .iter()
            .flat_map(|heavy| (0..sessions).map(move |_| HeavySession::start(plan.target, heavy)))
            .collect();
        let result = beside(plan, point_rows, seed, workers);
        stop.store(true, Ordering::Relaxed); // a flag by itself
        let peak = sampler.join().map_err(|_| "the sampler panicked")?;
        Ok(Beside {
            peak_memory_bytes: peak,
            ..result?
        })
    })
}

fn beside(
    plan: &LoopPlan<'_>,
    point_rows: i32,
    seed: u64,
    workers: Vec<Result<HeavySession, String>>,
) -> Result<Beside, String> {
    let workers = workers.into_iter().collect::<Result<Vec<_>, String>>()?;
    let outcome = point::run(plan, point_rows, seed, &mut |_| {})?;
    let latency = &outcome.totals.kinds[0].latency;
    let milliseconds = |quantile: f64| latency.value_at_quantile(quantile) as f64 / 1e6;
    let mut result = Beside {
        selects_per_s: latency.len() as f64 / outcome.measured_s.max(1e-9),
        p50_ms: milliseconds(0.5),
        p99_ms: milliseconds(0.99),
        max_ms: latency.max() as f64 / 1e6,
        ..Beside::default()
    };
    for worker in workers {
        worker.finish(&mut result)?;
    }
    Ok(result)
}

fn peak_memory(server: Option<ProcessTree>, stop: &AtomicBool) -> Option<u64> {
    let server = server?;
    let mut peak = 0;
    while !stop.load(Ordering::Relaxed) {
        peak = peak.max(server.memory_bytes());
        std::thread::sleep(MEMORY_EVERY);
    }
    Some(peak)
}

/// What a heavy session's thread reports.
enum Report {
    /// One run, and how it ended: the SQLSTATE of a failure.
    Ended(Option<String>),
    /// The run under the timeout, and how long it took.
    Timed(Option<String>, Duration),
    Lost(String),
}

/// A session on a thread of its own that runs the statement until it is told to stop.
struct HeavySession {
    target: Target,
    pid: String,
    stop: mpsc::Sender<()>,
    reports: mpsc::Receiver<Report>,
}

impl HeavySession {
    fn start(target: &Target, heavy: &Heavy) -> Result<HeavySession, String> {
        let failed = |error: DriverError| format!("cannot start a heavy session: {error}");
        let mut admin = Admin::connect(target).map_err(failed)?;
        let pid = admin
            .value("SELECT pg_backend_pid()")
            .map_err(failed)?
            .unwrap_or_default();
        let (stop, stopped) = mpsc::channel();
        let (sender, reports) = mpsc::channel();
        let sql = heavy.sql;
        std::thread::spawn(move || {
            // The receiver goes when the experiment has failed: then there is nobody to tell.
            let _ = work(&mut admin, sql, &stopped, &sender);
        });
        Ok(HeavySession {
            target: target.clone(),
            pid,
            stop,
            reports,
        })
    }

    /// Stops the loop, cancels what runs, and measures the statement under a timeout.
    fn finish(self, result: &mut Beside) -> Result<(), String> {
        let lost = |what: &str| format!("a heavy session {what}");
        while let Ok(report) = self.reports.try_recv() {
            note(result, report)?;
        }
        // The thread may be between two runs: it then ends without the cancel, or meets it in its last run.
        let _ = self.stop.send(());
        let cancelled = Instant::now();
        let mut admin =
            Admin::connect(&self.target).map_err(|error| format!("cannot connect to cancel: {error}"))?;
        let cancel = format!("SELECT pg_cancel_backend({})", self.pid);
        admin
            .execute(&cancel)
            .map_err(|error| format!("cannot cancel: {error}"))?;
        let report = self
            .reports
            .recv_timeout(DEAF_AFTER)
            .map_err(|_| lost("did not hear its cancel"))?;
        if matches!(&report, Report::Ended(Some(state)) if state == "57014") {
            let took = cancelled.elapsed().as_secs_f64() * 1e3;
            result.cancel_ms = Some(result.cancel_ms.map_or(took, |other| other.max(took)));
        } else {
            note(result, report)?;
        }
        match self
            .reports
            .recv_timeout(DEAF_AFTER)
            .map_err(|_| lost("did not keep its timeout"))?
        {
            // Sooner than the timeout it was the cancel, which met the thread between two runs.
            Report::Timed(Some(state), took) if state == "57014" && took >= TIMEOUT => {
                let beyond = took.saturating_sub(TIMEOUT).as_secs_f64() * 1e3;
                result.timeout_ms = Some(result.timeout_ms.map_or(beyond, |other| other.max(beyond)));
                Ok(())
            }
            report => note(result, report),
        }
    }
}

fn note(result: &mut Beside, report: Report) -> Result<(), String> {
    match report {
        Report::Lost(error) => Err(format!("a heavy session was lost: {error}")),
        Report::Ended(error) | Report::Timed(error, _) => {
            result.heavy_runs += 1;
            if error.is_some() {
                result.heavy_error = error;
            }
            Ok(())
        }
    }
}

fn work(
    admin: &mut Admin,
    sql: &str,
    stopped: &mpsc::Receiver<()>,
    reports: &mpsc::Sender<Report>,
) -> Result<(), mpsc::SendError<Report>> {
    loop {
        match run(admin, sql) {
            Ok(state) => reports.send(Report::Ended(state))?,
            Err(error) => return reports.send(Report::Lost(error.to_string())),
        }
        if stopped.try_recv().is_ok() {
            break;
        }
    }
    let begun = Instant::now();
    let timed = admin
        .execute(&format!("SET statement_timeout = {}", TIMEOUT.as_millis()))
        .and_then(|()| run(admin, sql));
    match timed {
        Ok(state) => reports.send(Report::Timed(state, begun.elapsed())),
        Err(error) => reports.send(Report::Lost(error.to_string())),
    }
}

/// The SQLSTATE of a failure that leaves the session alive.
fn run(admin: &mut Admin, sql: &str) -> DriverResult<Option<String>> {
    match admin.query_each(sql, |_, _| Ok(())) {
        Ok(()) => Ok(None),
        Err(error) if !error.is_fatal() => Ok(Some(error.sqlstate().to_string())),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::HEAVY;

    #[test]
    fn there_are_thirty_statements_with_names_of_their_own() {
        assert!(HEAVY.len() >= 30);
        let names: std::collections::HashSet<&str> = HEAVY.iter().map(|heavy| heavy.name).collect();
        assert_eq!(names.len(), HEAVY.len());
    }
}
