//! Driver threads, here or on other hosts (`agents`): start them, watch them, gather what they counted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::agents::{Agent, Message, Share};
use super::arrivals::{Arrivals, OpenLoop};
use super::audience;
use super::buckets::Buckets;
use super::collector::{BEAT_NS, Collector, Interval};
use super::cpu::{self, ProcessTree};
use super::faults::{self, Faults, Recoveries};
use super::halt;
use super::outcome::{RunOutcome, SeriesKind, SeriesPoint};
use super::pinning::Processors;
use super::system::SystemWatch;
use super::timeline::Timeline;
use mote_common::courtesy;
use mote_driver::{FiberLoop, Wait};

const TICK_NS: u64 = 1_000_000_000;
/// Transactions that the server has not answered so long after the end are abandoned and counted.
const GRACE_NS: u64 = 15_000_000_000;

pub struct RunPlan<'a, 'f> {
    pub threads: usize,
    pub timeline: Arc<Timeline>,
    pub kinds: &'static [&'static str],
    /// The server's processes, when they run on this machine.
    pub server: Option<ProcessTree>,
    /// When transactions are due; `None` is the closed loop.
    pub open_loop: Option<OpenLoop>,
    /// What is done to the server meanwhile.
    pub faults: Option<Faults<'f>>,
    pub role: Role<'a>,
    /// Called each second with the series so far.
    pub watch: &'a mut dyn FnMut(&SeriesPoint),
}

/// What this process has to do with a run's terminals.
pub enum Role<'a> {
    /// All are its own.
    Alone,
    /// None are: these agents have a share each. `RunPlan::threads` says nothing then.
    Leads(Vec<Agent>),
    /// A share of them is its own, and every tick goes to this.
    Serves {
        share: Share,
        counted: &'a mut dyn FnMut(&Interval),
    },
}

/// What a driver thread's fibers share.
#[derive(Clone)]
pub struct ThreadContext {
    /// Of all threads of the run, wherever they are.
    pub thread: usize,
    pub threads: usize,
    pub timeline: Arc<Timeline>,
    pub collector: Rc<RefCell<Collector>>,
    /// This thread's share of the open loop.
    pub arrivals: Option<Rc<RefCell<Arrivals>>>,
}

impl ThreadContext {
    /// Open loop: takes the next due time and waits until it comes. `None` when the run ends before.
    pub fn next_due(&self, wait: &Wait<'_>) -> Option<u64> {
        let (begin_ns, window) = (self.timeline.begin_ns()?, self.timeline.window()?);
        let due_ns = self.arrivals.as_ref()?.borrow_mut().take(begin_ns, window);
        while self.timeline.now_ns() < due_ns && !self.timeline.is_over() {
            wait.until(due_ns);
        }
        (!self.timeline.is_over()).then_some(due_ns)
    }
}

/// Runs `populate` on every driver thread to spawn its fibers, then runs the loops to the end of the timeline.
pub fn execute<F>(plan: RunPlan<'_, '_>, populate: F) -> Result<RunOutcome, String>
where
    F: Fn(&ThreadContext, &mut FiberLoop) -> std::io::Result<()> + Sync,
{
    let RunPlan {
        threads,
        timeline,
        kinds,
        server,
        open_loop,
        faults,
        role,
        watch,
    } = plan;
    let (sender, receiver) = mpsc::channel();
    let (share, threads, agents, counted) = match role {
        Role::Alone => (Share::WHOLE, threads, Vec::new(), None),
        Role::Leads(agents) => (Share::WHOLE, 0, agents, None),
        Role::Serves { share, counted } => (share, threads, Vec::new(), Some(counted)),
    };
    let sources = threads + agents.len();
    // A share of another host's run is that host's to show.
    let audience = audience::here().filter(|_| counted.is_none());
    if let Some(audience) = audience {
        audience.begins(kinds);
    }
    let mut listeners = Listeners {
        watch,
        counted,
        audience,
    };
    let result = std::thread::scope(|scope| {
        for agent in agents {
            let (sender, timeline) = (sender.clone(), Arc::clone(&timeline));
            scope.spawn(move || {
                if let Err(error) = agent.lead(&timeline, kinds.len(), &sender) {
                    timeline.fail(error.clone());
                    // The receiver lives until all threads have ended.
                    let _ = sender.send(Message::Failed(error));
                }
            });
        }
        for thread in 0..threads {
            let (sender, timeline, populate) = (sender.clone(), Arc::clone(&timeline), &populate);
            scope.spawn(move || {
                // A client beside its server shall not stop it in the midst of a statement.
                courtesy::interrupt_nobody();
                // A client of another machine arrives on the same processor all the time, too. Where it is refused, the run is as good.
                let _ = Processors::spread(thread, threads);
                let (thread, threads) = share.thread(thread, threads);
                let arrivals =
                    open_loop.map(|rate| Rc::new(RefCell::new(Arrivals::new(rate, thread, threads))));
                let context = ThreadContext {
                    thread,
                    threads,
                    timeline,
                    collector: Rc::new(RefCell::new(Collector::new(kinds.len()))),
                    arrivals,
                };
                if let Err(error) = drive(&context, populate, &sender) {
                    context.timeline.fail(error.clone());
                    // The receiver lives until all threads have ended.
                    let _ = sender.send(Message::Failed(error));
                }
            });
        }
        drop(sender);
        let hurting = faults.map(|faults| {
            let timeline = Arc::clone(&timeline);
            scope.spawn(move || faults::carry_out(faults, &timeline))
        });
        let gathered = gather(&receiver, &timeline, sources, kinds.len(), server, &mut listeners);
        let events = hurting.map(|thread| thread.join().expect("who hurts the server does not panic"));
        let mut outcome = gathered?;
        // A fault may have failed after the clients had ended.
        if let Some(reason) = timeline.failure() {
            return Err(reason);
        }
        if let Some(events) = events {
            // Beats end with the last answer; a server that gave none any more was silent to the end.
            let until = (outcome.from_ns + (outcome.measured_s * 1e9) as u64) / BEAT_NS;
            let beats = &mut outcome.totals.beats;
            beats.resize(beats.len().max(until as usize), 0);
            outcome.recoveries = Some(Recoveries::of(&events, beats, outcome.begin_ns));
            outcome.events = events;
        }
        outcome.offered = outcome.offered.filter(|_| open_loop.is_some());
        Ok(outcome)
    });
    if let Some(audience) = audience {
        audience.ends();
    }
    result
}

/// One driver thread.
fn drive<F>(context: &ThreadContext, populate: &F, sender: &mpsc::Sender<Message>) -> Result<(), String>
where
    F: Fn(&ThreadContext, &mut FiberLoop) -> std::io::Result<()>,
{
    let timeline = &context.timeline;
    let mut fibers = FiberLoop::new(timeline.clock).map_err(|error| format!("epoll: {error}"))?;
    populate(context, &mut fibers).map_err(|error| format!("cannot create terminals: {error}"))?;
    let tick = |now_ns: u64| {
        let interval = context
            .collector
            .borrow_mut()
            .take_interval(now_ns / TICK_NS, now_ns);
        let _ = sender.send(Message::Interval(interval));
    };
    let stop = timeline.stop_signal(GRACE_NS);
    let abandoned = fibers
        .run(&stop, TICK_NS, tick)
        .map_err(|error| format!("epoll: {error}"))?;
    drop(fibers);
    let totals = context.collector.replace(Collector::new(0));
    let offered = match (&context.arrivals, timeline.window()) {
        (Some(arrivals), Some(window)) => arrivals.borrow_mut().offered_within(window),
        _ => 0,
    };
    let _ = sender.send(Message::Done {
        totals: Box::new(totals),
        abandoned,
        offered,
        away: None,
    });
    Ok(())
}

/// Processor time at one moment.
#[derive(Clone, Copy)]
struct Reading {
    driver_s: f64,
    server_s: Option<f64>,
}

impl Reading {
    fn now(server: Option<ProcessTree>) -> Reading {
        Reading {
            driver_s: cpu::own_cpu_seconds(),
            server_s: server.and_then(|tree| tree.cpu_seconds()),
        }
    }
}

/// Processor times at the edges of the measured window.
#[derive(Default)]
struct WindowReadings {
    begin: Option<Reading>,
    end: Option<Reading>,
}

impl WindowReadings {
    /// Reads at an edge that has been reached; returns when to look again at the latest.
    fn observe(&mut self, timeline: &Timeline, server: Option<ProcessTree>) -> u64 {
        let now = timeline.now_ns();
        let mut next = now + TICK_NS / 5;
        let Some((from, until)) = timeline.window() else {
            return next;
        };
        for (edge, reading) in [(from, &mut self.begin), (until, &mut self.end)] {
            if now < edge {
                next = next.min(edge);
            } else if reading.is_none() {
                *reading = Some(Reading::now(server));
            }
        }
        next
    }

    /// Driver's and server's seconds within the window.
    fn spent(&self, server: Option<ProcessTree>) -> (f64, Option<f64>) {
        let begin = self.begin.unwrap_or_else(|| Reading::now(server));
        let end = self.end.unwrap_or_else(|| Reading::now(server));
        let server_s = end
            .server_s
            .zip(begin.server_s)
            .map(|(end, begin)| (end - begin).max(0.0));
        (end.driver_s - begin.driver_s, server_s)
    }
}

/// Puts the threads' intervals together, second by second.
struct SeriesBuilder {
    threads: usize,
    kinds: usize,
    /// By tick: how many threads have reported, and their sum.
    open: BTreeMap<u64, (usize, Interval)>,
    last_ns: u64,
    points: Vec<SeriesPoint>,
}

impl SeriesBuilder {
    fn add(&mut self, interval: &Interval) {
        let kinds = self.kinds;
        let entry = self
            .open
            .entry(interval.tick)
            .or_insert_with(|| (0, Interval::new(kinds)));
        entry.0 += 1;
        entry.1.merge(interval);
    }

    /// Turns seconds that all threads have reported into points, as long as they belong to the run. A thread that was kept
    /// from one of its ticks, or began after it, holds up the others' for so many seconds only.
    fn complete(&mut self, timeline: &Timeline, listeners: &mut Listeners<'_>, at_end: bool) {
        const WAITED_FOR: u64 = 3;
        loop {
            let newest = self.open.last_key_value().map_or(0, |(tick, _)| *tick);
            let Some(entry) = self.open.first_entry() else {
                return;
            };
            if entry.get().0 < self.threads && newest < *entry.key() + WAITED_FOR && !at_end {
                return;
            }
            let (_, interval) = entry.remove();
            if let Some(counted) = &mut listeners.counted {
                counted(&interval);
            }
            if let (Some((from, until)), Some(begin_ns)) = (timeline.window(), timeline.begin_ns())
                && self.last_ns < until
            {
                // Nothing was counted before the begin.
                let point = point(&interval, self.last_ns.max(begin_ns.min(interval.at_ns)), from);
                (listeners.watch)(&point);
                if let Some(audience) = listeners.audience {
                    audience.second(&point);
                }
                self.points.push(point);
            }
            self.last_ns = interval.at_ns;
        }
    }
}

/// Who is told each second.
struct Listeners<'a> {
    watch: &'a mut dyn FnMut(&SeriesPoint),
    counted: Option<&'a mut (dyn FnMut(&Interval) + 'a)>,
    audience: Option<&'static dyn audience::Audience>,
}

/// The main thread's part: listens to the driver threads and reads processor times at the window's edges.
fn gather(
    receiver: &mpsc::Receiver<Message>,
    timeline: &Timeline,
    threads: usize,
    kinds: usize,
    server: Option<ProcessTree>,
    listeners: &mut Listeners<'_>,
) -> Result<RunOutcome, String> {
    let mut totals = Collector::new(kinds);
    let (open, last_ns) = (BTreeMap::new(), timeline.now_ns());
    let mut series = SeriesBuilder {
        threads,
        kinds,
        open,
        last_ns,
        points: Vec::new(),
    };
    let mut readings = WindowReadings::default();
    let mut system = SystemWatch::start(server, timeline.now_ns(), TICK_NS);
    let mut shown = 0;
    let (mut done, mut abandoned, mut offered) = (0, 0, 0);
    let (mut away_threads, mut away_cpu_s, mut reports) = (0, 0.0, Vec::new());
    while done < threads {
        if let Err(why) = halt::here().check() {
            // The threads see it and end; the last of them closes the channel.
            timeline.fail(why);
        }
        let next = readings
            .observe(timeline, server)
            .min(system.observe(timeline.now_ns()));
        if let (Some(audience), Some((from, _)), true) =
            (listeners.audience, timeline.window(), system.seen() > shown)
        {
            shown = system.seen();
            system
                .latest(from)
                .into_iter()
                .for_each(|point| audience.machine(point));
        }
        match receiver.recv_timeout(Duration::from_nanos(next.saturating_sub(timeline.now_ns()))) {
            Ok(Message::Interval(interval)) => series.add(&interval),
            Ok(Message::Done {
                totals: collector,
                abandoned: left,
                offered: due,
                away,
            }) => {
                totals.merge(&collector);
                abandoned += left;
                offered += due;
                done += 1;
                if let Some(away) = away {
                    away_threads += away.threads;
                    away_cpu_s += away.driver_cpu_s;
                    reports.push(away.report);
                }
            }
            Ok(Message::Failed(reason)) => return Err(reason),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        series.complete(timeline, listeners, false);
    }
    series.complete(timeline, listeners, true);
    if let Some(reason) = timeline.failure() {
        return Err(reason);
    }
    let (from, until) = timeline
        .window()
        .ok_or("the run ended before all terminals were connected")?;
    let begin_ns = timeline.begin_ns().unwrap_or(from);
    let measured_s = timeline.now_ns().min(until).saturating_sub(from) as f64 / 1e9;
    let (own_cpu_s, server_cpu_s) = readings.spent(server);
    // Where agents drive, this process only listens.
    let (driver_cpu_s, threads) = match away_threads {
        0 => (own_cpu_s, threads),
        threads => (away_cpu_s, threads),
    };
    Ok(RunOutcome {
        events: Vec::new(),
        recoveries: None,
        begin_ns,
        from_ns: from,
        totals,
        series: series.points,
        system: system.finish(timeline.now_ns(), begin_ns, (from, until)),
        offered: Some(offered),
        measured_s,
        server_cpu_s,
        driver_cpu_s,
        driver_saturation: driver_cpu_s / (measured_s.max(1e-9) * threads.max(1) as f64),
        abandoned,
        reports,
    })
}

fn point(interval: &Interval, from_ns: u64, window_from_ns: u64) -> SeriesPoint {
    let kinds = interval.latency.iter().map(|latency| {
        let percentile = |p: f64| latency.value_at_quantile(p) as f64 / 1e3;
        SeriesKind {
            count: latency.len(),
            p50_us: percentile(0.50),
            p95_us: percentile(0.95),
            p99_us: percentile(0.99),
            max_us: if latency.is_empty() {
                0.0
            } else {
                latency.max() as f64 / 1e3
            },
            latency: Buckets::of(latency),
        }
    });
    SeriesPoint {
        second: (interval.at_ns as f64 - window_from_ns as f64) / 1e9,
        seconds: interval.at_ns.saturating_sub(from_ns) as f64 / 1e9,
        kinds: kinds.collect(),
        errors: interval.errors.values().sum(),
        retries: interval.retries.values().sum(),
        errors_by_sqlstate: interval.errors.clone(),
        retries_by_sqlstate: interval.retries.clone(),
    }
}
