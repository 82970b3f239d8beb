//! What goes on in this process, for whoever looks while it does: the run that is measured, the runs before it, what is said, and
//! the report as far as it is written.
//!
//! A process has at most one board, put up before anything is measured ([`put_up`]). Whoever measures writes to it in passing; whoever
//! shows it (`web`) copies what it needs.
//!
//! Bounds: a run has at most [`POINTS_MAX`] points, of which neighbours become one when there are more; [`RUNS_MAX`] runs
//! are remembered, of which the oldest go first.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use mote_measure::audience::{self, Audience};
use mote_measure::buckets::Buckets;
use mote_measure::outcome::{SeriesKind, SeriesPoint};
use mote_measure::system::SystemPoint;

/// Points of a run, each at first a second.
pub const POINTS_MAX: usize = 480;
/// Runs that have ended.
pub const RUNS_MAX: usize = 200;

static HERE: OnceLock<Board> = OnceLock::new();

/// The process's board, if somebody may look.
pub fn here() -> Option<&'static Board> {
    HERE.get()
}

/// Puts the board up and shows it every run of this process. An error is that there is one.
pub fn put_up(title: &str) -> Result<&'static Board, String> {
    HERE.set(Board::new(title))
        .map_err(|_| "there is a live page already".to_string())?;
    audience::seat(Box::new(Seated));
    here().ok_or_else(|| "there is no live page".to_string())
}

/// Something that goes on, if there is a board.
pub fn says(what: &str) {
    if let Some(board) = here() {
        board.state().phase = what.trim().to_string();
    }
}

/// A report, if there is a board: the last one is shown.
pub fn publish(html: &str) {
    if let Some(board) = here() {
        let mut state = board.state();
        state.report = Some(html.into());
        state.reports += 1;
    }
}

/// A run that goes on or has ended.
#[derive(Clone)]
pub struct Run {
    /// What was said last when it began.
    pub what: String,
    pub kinds: &'static [&'static str],
    pub points: Vec<Arc<SeriesPoint>>,
    pub machine: Vec<SystemPoint>,
    pub goes_on: bool,
}

/// A run of which only the figures are left.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub what: String,
    pub seconds: f64,
    /// Of the first type.
    pub per_minute: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub errors: u64,
    pub retries: u64,
}

pub struct State {
    pub title: String,
    pub since: Instant,
    pub phase: String,
    pub lines: VecDeque<Line>,
    pub run: Option<Run>,
    pub report: Option<Arc<str>>,
    /// How many reports there were.
    pub reports: u64,
    /// How the command ended.
    pub ended: Option<bool>,
    /// When somebody asked last, and whether he has seen the end.
    pub asked: Option<Instant>,
    pub end_seen: bool,
}

pub struct Board {
    state: Mutex<State>,
    seen: Condvar,
}

impl Board {
    pub fn new(title: &str) -> Board {
        Board {
            state: Mutex::new(State {
                title: title.to_string(),
                since: Instant::now(),
                phase: String::new(),
                lines: VecDeque::new(),
                run: None,
                report: None,
                reports: 0,
                ended: None,
                asked: None,
                end_seen: false,
            }),
            seen: Condvar::new(),
        }
    }

    /// Held for a copy, never for a wait: whoever measures takes it, too.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }

    /// The command has ended. Somebody who looked in the last seconds gets so long to see the end.
    pub fn end(&self, well: bool, patience: Duration) {
        const LOOKED_LATELY: Duration = Duration::from_secs(10);
        let mut state = self.state();
        state.ended = Some(well);
        let until = Instant::now() + patience;
        while !state.end_seen
            && state.asked.is_some_and(|asked| asked.elapsed() < LOOKED_LATELY)
            && Instant::now() < until
        {
            let left = until.saturating_duration_since(Instant::now());
            state = self
                .seen
                .wait_timeout(state, left)
                .expect("no panic while held")
                .0;
        }
    }

    /// Somebody has got what there is to see at the end.
    pub fn end_was_seen(&self) {
        self.state().end_seen = true;
        self.seen.notify_all();
    }

    pub fn begins(&self, kinds: &'static [&'static str]) {
        let mut state = self.state();
        state.put_away();
        let what = state.phase.clone();
        state.run = Some(Run {
            what,
            kinds,
            points: Vec::new(),
            machine: Vec::new(),
            goes_on: true,
        });
    }

    pub fn second(&self, point: &SeriesPoint) {
        if let Some(run) = &mut self.state().run {
            run.points.push(Arc::new(point.clone()));
            if run.points.len() > POINTS_MAX {
                let pairs = run.points.chunks(2);
                run.points = pairs.map(|pair| Arc::new(merged(pair))).collect();
            }
        }
    }

    pub fn machine(&self, point: SystemPoint) {
        if let Some(run) = &mut self.state().run {
            run.machine.push(point);
            if run.machine.len() > POINTS_MAX {
                // A picture of the machine shows rates: every other second does.
                let mut keep = false;
                run.machine.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
        }
    }

    pub fn ends(&self) {
        if let Some(run) = &mut self.state().run {
            run.goes_on = false;
        }
    }
}

impl State {
    /// Leaves a line of the run that has ended.
    fn put_away(&mut self) {
        if let Some(line) = self.run.take().as_ref().and_then(Run::line) {
            self.lines.push_back(line);
            if self.lines.len() > RUNS_MAX {
                self.lines.pop_front();
            }
        }
    }
}

impl Run {
    /// Its figures so far, of the measured window; `None` before there are any.
    pub fn line(&self) -> Option<Line> {
        let measured = || self.points.iter().filter(|point| point.second > 0.0);
        let seconds: f64 = measured().map(|point| point.seconds).sum();
        let first = Buckets::merge(measured().filter_map(|point| Some(&point.kinds.first()?.latency)));
        (seconds > 0.0).then(|| Line {
            what: self.what.clone(),
            seconds,
            per_minute: first.count() as f64 * 60.0 / seconds,
            p50_ms: first.quantile(0.5) as f64 / 1e6,
            p99_ms: first.quantile(0.99) as f64 / 1e6,
            errors: measured().map(|point| point.errors).sum(),
            retries: measured().map(|point| point.retries).sum(),
        })
    }
}

/// Neighbours as one.
fn merged(points: &[Arc<SeriesPoint>]) -> SeriesPoint {
    let mut sum = (*points[0]).clone();
    for point in &points[1..] {
        sum.second = point.second;
        sum.seconds += point.seconds;
        sum.errors += point.errors;
        sum.retries += point.retries;
        for (state, count) in &point.errors_by_sqlstate {
            *sum.errors_by_sqlstate.entry(state.clone()).or_default() += count;
        }
        for (state, count) in &point.retries_by_sqlstate {
            *sum.retries_by_sqlstate.entry(state.clone()).or_default() += count;
        }
        for (kind, other) in sum.kinds.iter_mut().zip(&point.kinds) {
            let latency = Buckets::merge([&kind.latency, &other.latency]);
            let us = |share: f64| latency.quantile(share) as f64 / 1e3;
            *kind = SeriesKind {
                count: kind.count + other.count,
                p50_us: us(0.5),
                p95_us: us(0.95),
                p99_us: us(0.99),
                max_us: kind.max_us.max(other.max_us),
                latency,
            };
        }
    }
    sum
}

/// What the process's runs are shown to.
struct Seated;

impl Audience for Seated {
    fn begins(&self, kinds: &'static [&'static str]) {
        here().into_iter().for_each(|board| board.begins(kinds));
    }

    fn second(&self, point: &SeriesPoint) {
        here().into_iter().for_each(|board| board.second(point));
    }

    fn machine(&self, point: SystemPoint) {
        here().into_iter().for_each(|board| board.machine(point.clone()));
    }

    fn ends(&self) {
        here().into_iter().for_each(Board::ends);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    pub(crate) fn second(number: i64) -> SeriesPoint {
        let kind = SeriesKind {
            count: 10,
            p50_us: 1e3,
            p95_us: 1e3,
            p99_us: 1e3,
            max_us: 2e3,
            latency: serde_json::from_str("[[1000000, 9], [2000000, 1]]").expect("buckets"),
        };
        SeriesPoint {
            second: number as f64,
            seconds: 1.0,
            kinds: vec![kind],
            errors: 1,
            retries: 0,
            errors_by_sqlstate: BTreeMap::from([("40001".to_string(), 1)]),
            retries_by_sqlstate: BTreeMap::new(),
        }
    }

    #[test]
    fn long_runs_keep_their_sums_in_fewer_points() {
        let board = Board::new("x");
        board.begins(&["A"]);
        for number in 1..=2_000 {
            board.second(&second(number));
        }
        let run = board.state().run.clone().expect("it goes on");
        assert!(run.points.len() <= POINTS_MAX, "{}", run.points.len());
        let line = run.line().expect("figures");
        assert_eq!(
            (line.seconds, line.per_minute, line.errors),
            (2_000.0, 600.0, 2_000)
        );
        assert_eq!(run.points.last().map(|point| point.second), Some(2_000.0));
        board.ends();
        for _ in 0..RUNS_MAX + 5 {
            board.begins(&["A"]);
            board.second(&second(1));
            board.ends();
        }
        assert_eq!(board.state().lines.len(), RUNS_MAX);
    }

    #[test]
    fn the_end_waits_for_whoever_looks_and_for_nobody_else() {
        let board = Board::new("x");
        let begun = Instant::now();
        board.end(true, Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody looked");
        board.state().asked = Some(Instant::now());
        std::thread::scope(|scope| {
            scope.spawn(|| board.end_was_seen());
            board.end(true, Duration::from_secs(60));
        });
        assert!(begun.elapsed() < Duration::from_secs(30), "he has seen it");
    }
}
