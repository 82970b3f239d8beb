//! The simplest experiment: N connections, each of which runs the same short exchange as fast as answers come, or, in an
//! open loop, whenever one is due and a connection is free.

use std::sync::Arc;

use mote_driver::{DriverResult, Session, StatementSet, Target, Wait};
use mote_measure::arrivals::OpenLoop;
use mote_measure::cpu::ProcessTree;
use mote_measure::outcome::SeriesPoint;
use mote_measure::run::{self, Role};
use mote_measure::{RunOutcome, RunPlan, Sample, ThreadContext, Timeline};

#[derive(Clone)]
pub struct LoopPlan<'a> {
    pub target: &'a Target,
    pub server: Option<ProcessTree>,
    pub connections: usize,
    pub driver_threads: usize,
    pub warmup_s: f64,
    pub duration_s: f64,
    pub kinds: &'static [&'static str],
    pub statements: Arc<StatementSet>,
    /// `None`: the closed loop.
    pub open_loop: Option<OpenLoop>,
}

/// One connection's work: called again and again on its session.
pub type Step = Box<dyn FnMut(&mut Session, &Wait<'_>) -> DriverResult<()>>;

/// Runs the step that `make` gives each connection, by the connection's number.
pub fn run(
    plan: &LoopPlan<'_>,
    watch: &mut dyn FnMut(&SeriesPoint),
    make: &(dyn Fn(usize) -> Step + Sync),
) -> Result<RunOutcome, String> {
    let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
    let timeline = Arc::new(Timeline::new(
        plan.connections,
        nanoseconds(plan.warmup_s),
        nanoseconds(plan.duration_s),
    ));
    let run_plan = RunPlan {
        threads: plan.driver_threads,
        timeline,
        kinds: plan.kinds,
        server: plan.server,
        open_loop: plan.open_loop,
        faults: None,
        role: Role::Alone,
        watch,
    };
    run::execute(run_plan, |context, fibers| {
        for number in (context.thread..plan.connections).step_by(context.threads) {
            let (context, target) = (context.clone(), plan.target.clone());
            let (statements, step) = (Arc::clone(&plan.statements), make(number));
            fibers.spawn(move |wait| connection(&context, &target, statements, step, wait))?;
        }
        Ok(())
    })
}

/// One connection's life. A lost connection ends the run: these experiments measure, they do not survive.
fn connection(
    context: &ThreadContext,
    target: &Target,
    statements: Arc<StatementSet>,
    mut step: Step,
    wait: &Wait<'_>,
) {
    let timeline = &context.timeline;
    let mut session = match Session::open(target, statements, wait) {
        Ok(session) => session,
        Err(error) => return timeline.fail(format!("cannot connect: {error}")),
    };
    timeline.ready(wait);
    let mut due = timeline.now_ns();
    while !timeline.is_over() {
        if context.arrivals.is_some() {
            match context.next_due(wait) {
                Some(at) => due = at,
                None => break,
            }
        }
        let begun = timeline.now_ns();
        let before = session.traffic;
        let result = step(&mut session, wait);
        let now = timeline.now_ns();
        let measured = timeline.is_measured(now);
        let mut collector = context.collector.borrow_mut();
        match result {
            Ok(()) => {
                let traffic = session.traffic.since(before);
                let latency_ns = now.saturating_sub(due);
                let sample = Sample {
                    kind: 0,
                    latency_ns,
                    service_ns: context.arrivals.as_ref().map(|_| now - begun),
                    rolled_back: false,
                    skipped: 0,
                    retries: 0,
                    traffic,
                };
                collector.success(sample, measured);
            }
            Err(error) if error.is_fatal() => return timeline.fail(format!("connection lost: {error}")),
            Err(error) => {
                collector.failure(0, error.sqlstate(), || error.to_string(), measured);
                session.discard_output();
            }
        }
        due = now;
    }
}
