//! The clients of a workload on the driver's threads: retries, lost connections, and what was acknowledged.
//!
//! Invariant: of every attempt whose commit was sent the tally learns exactly one thing: acknowledged, or unknown. A client
//! that is abandoned while it waits is unwound, and its drop says "unknown".

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::contract::{self, Client, Done, Exchange, Progress, Tally, Workload};
use super::tpcc::Isolation;
use mote_driver::session::Traffic;
use mote_driver::{DriverResult, Session, StatementSet, Target, Wait};
use mote_measure::arrivals::OpenLoop;
use mote_measure::cpu::ProcessTree;
use mote_measure::faults::Faults;
use mote_measure::outcome::SeriesPoint;
use mote_measure::run::{self, Role};
use mote_measure::{RunOutcome, RunPlan, Sample, ThreadContext, Timeline};

/// How long a client waits before it connects again.
const RECONNECT_PAUSE_NS: u64 = 50_000_000;

#[derive(Clone)]
pub struct CrewPlan<'a> {
    pub target: &'a Target,
    pub server: Option<ProcessTree>,
    pub connections: usize,
    pub driver_threads: usize,
    pub warmup_s: f64,
    pub duration_s: f64,
    pub seed: u64,
    pub isolation: Option<Isolation>,
    pub retries_max: u32,
    /// `None`: the closed loop.
    pub open_loop: Option<OpenLoop>,
}

/// Runs the workload; answers what was measured and what clients know of the database.
pub fn run(
    plan: &CrewPlan<'_>,
    workload: &dyn Workload,
    faults: Option<Faults<'_>>,
    watch: &mut dyn FnMut(&SeriesPoint),
) -> Result<(RunOutcome, Arc<Tally>), String> {
    let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
    let timeline = Arc::new(Timeline::new(
        plan.connections,
        nanoseconds(plan.warmup_s),
        nanoseconds(plan.duration_s),
    ));
    let run_plan = RunPlan {
        threads: plan.driver_threads,
        timeline,
        kinds: workload.kinds(),
        server: plan.server,
        open_loop: plan.open_loop,
        faults,
        role: Role::Alone,
        watch,
    };
    let mut target = plan.target.clone();
    let level = plan.isolation.map(|level| level.name().to_string());
    target
        .settings
        .extend(level.map(|level| ("default_transaction_isolation", level)));
    let (statements, tally) = (contract::shared_statements(workload), Arc::new(Tally::default()));
    let outcome = run::execute(run_plan, |context, fibers| {
        for number in (context.thread..plan.connections).step_by(context.threads) {
            let connection = Connection {
                context: context.clone(),
                target: target.clone(),
                statements: Arc::clone(&statements),
                session: None,
                client: workload.client(number, plan.seed),
                retries_max: plan.retries_max,
                tally: Arc::clone(&tally),
            };
            fibers.spawn(move |wait| connection.live(wait))?;
        }
        Ok(())
    })?;
    Ok((outcome, tally))
}

/// An attempt's progress, which reaches the tally whatever becomes of the attempt.
struct InFlight {
    progress: Progress,
    tally: Arc<Tally>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.progress.commit_sent {
            self.tally.unknown(self.progress.effect);
        }
    }
}

struct Connection {
    context: ThreadContext,
    target: Target,
    statements: Arc<StatementSet>,
    session: Option<Session>,
    client: Box<dyn Client>,
    retries_max: u32,
    tally: Arc<Tally>,
}

impl Connection {
    fn live(mut self, wait: &Wait<'_>) {
        let timeline = Arc::clone(&self.context.timeline);
        if let Err(error) = timeline.log_in(wait, || self.connect(wait)) {
            return timeline.fail(format!("cannot connect: {error}"));
        }
        timeline.ready(wait);
        let mut due = timeline.now_ns();
        while !timeline.is_over() {
            let kind = self.client.draw();
            if self.context.arrivals.is_some() {
                match self.context.next_due(wait) {
                    Some(at) => due = at,
                    None => break,
                }
            }
            self.perform(kind, due, wait);
            self.client.settled();
            due = timeline.now_ns();
        }
    }

    fn connect(&mut self, wait: &Wait<'_>) -> DriverResult<()> {
        if self.session.is_none() {
            self.session = Some(Session::open(&self.target, Arc::clone(&self.statements), wait)?);
        }
        Ok(())
    }

    /// Runs a transaction until it ends well, fails for good, or the retries are used up.
    fn perform(&mut self, kind: usize, due: u64, wait: &Wait<'_>) {
        let timeline = Arc::clone(&self.context.timeline);
        let (begun, mut traffic, mut retries) = (timeline.now_ns(), Traffic::default(), 0);
        loop {
            let result = self.attempt(&mut traffic, wait);
            let now = timeline.now_ns();
            let measured = timeline.is_measured(now);
            let collector: &Rc<RefCell<_>> = &self.context.collector;
            let error = match result {
                Ok(done) => {
                    let sample = Sample {
                        kind,
                        latency_ns: now.saturating_sub(due),
                        service_ns: self.context.arrivals.as_ref().map(|_| now - begun),
                        rolled_back: done == Done::RolledBack,
                        skipped: (done == Done::Nothing) as u32,
                        retries,
                        traffic,
                    };
                    let mut collector = collector.borrow_mut();
                    collector.beat(now);
                    return collector.success(sample, measured);
                }
                Err(error) => error,
            };
            if error.is_retryable() && retries < self.retries_max && !timeline.stopped() {
                retries += 1;
                collector.borrow_mut().retry(error.sqlstate(), measured);
                continue;
            }
            let message = || error.to_string();
            collector
                .borrow_mut()
                .failure(kind, error.sqlstate(), message, measured);
            if self.session.is_none() {
                wait.until(now + RECONNECT_PAUSE_NS);
            }
            return;
        }
    }

    /// One attempt. Leaves no transaction open, and no session that is lost.
    fn attempt(&mut self, traffic: &mut Traffic, wait: &Wait<'_>) -> DriverResult<Done> {
        self.connect(wait)?;
        let session = self.session.as_mut().expect("it is connected");
        let before = session.traffic;
        let mut flight = InFlight {
            progress: Progress::default(),
            tally: Arc::clone(&self.tally),
        };
        let mut exchange = Exchange {
            session,
            wait,
            progress: &mut flight.progress,
        };
        let result = self.client.attempt(&mut exchange);
        let lost = match &result {
            Ok(_) => false,
            Err(error) => {
                let lost = error.is_fatal();
                // An error that leaves the session usable is the server's word that nothing was committed.
                let undone = !lost && (!exchange.session.in_transaction() || exchange.rollback().is_ok());
                exchange.session.discard_output();
                flight.progress.commit_sent &= lost;
                !undone
            }
        };
        traffic.add(session.traffic.since(before));
        if result.is_ok() {
            if flight.progress.commit_sent {
                self.tally.acknowledge(flight.progress.effect);
            }
            flight.progress.commit_sent = false;
        }
        if lost {
            self.lose();
        }
        result
    }

    fn lose(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.abandon();
            self.context.collector.borrow_mut().reconnects += 1;
        }
    }
}
