//! A terminal: chooses transactions, runs them with retries, and counts what happened.
//!
//! Three ways to live. *Closed loop*: the next transaction is due when the last one ended, on the terminal's own
//! session; the deferred part of a delivery runs there too. *Open loop*: as the closed loop, but a transaction is due at
//! a time of its own, and the next free terminal takes it. *Keyed* (clause 5.2.5): keying and think times pass
//! between transactions, sessions come from a pool, and deferred deliveries go to background workers.
//!
//! Invariants
//!  1. Latency runs from when the transaction was due, over waiting for a session and all retries, to its last answer.
//!  2. An order enters the ledger only after its COMMIT was answered.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::delivery_results::DeliveryResults;
use super::input::{DeliveryInput, Input, Source};
use super::input_audit::InputAudit;
use super::ledger::{LedgerWriter, OrderFacts};
use super::mix::{Kind, Mix, think_s};
use super::shards::Counts;
use super::shards::branches::Branches;
use super::transactions::delivery::Delivered;
use super::transactions::new_order::OrderProgress;
use super::transactions::{
    Client, Execution, Outcome, Scratch, delivery, new_order, order_status, payment, pipelined, procedures,
    stock_level,
};
use crate::pool::Pool;
use mote_driver::session::Traffic;
use mote_driver::{DriverError, DriverResult, Wait};
use mote_measure::{Sample, ThreadContext};

/// How long a terminal waits before it connects again.
const RECONNECT_PAUSE_NS: u64 = 50_000_000;
/// How often an idle delivery worker looks at its queue.
const DELIVERY_POLL_NS: u64 = 20_000_000;

/// What all terminals of a run share.
pub struct Shared {
    pub retries_max: u32,
    pub execution: Execution,
    /// Factor on keying and think times; `None` is the closed loop.
    pub pace: Option<f64>,
    /// Terminals stay with their warehouse, or draw one for every transaction.
    pub home_fixed: bool,
    pub ledger: Option<LedgerWriter>,
    pub delivery_results: Option<DeliveryResults>,
    pub audit: Mutex<InputAudit>,
    /// What terminals did on several servers.
    pub counts: Mutex<Counts>,
}

/// Deliveries that wait for a background worker, with the time at which they were queued.
pub type DeliveryQueue = Rc<RefCell<VecDeque<(u64, DeliveryInput)>>>;

/// What terminals and delivery workers have in common: a way to run one transaction to its end.
pub struct Runner {
    pub context: ThreadContext,
    pub shared: Arc<Shared>,
    /// By server.
    pub pools: Rc<[Pool]>,
    /// Where there are several.
    pub branches: Option<Branches>,
    pub scratch: Scratch,
    /// What the last new order found out.
    pub progress: OrderProgress,
    /// What the last delivery delivered.
    pub delivered: Delivered,
    /// Inputs of the measured window.
    pub audit: InputAudit,
}

impl Runner {
    /// Runs a transaction until it commits, fails for good, or the retries are used up.
    fn perform(&mut self, kind: Kind, due_ns: u64, input: &Input, wait: &Wait<'_>) {
        let mut traffic = Traffic::default();
        let mut retries = 0;
        let begun = self.context.timeline.now_ns();
        loop {
            let result = self.attempt(input, &mut traffic, wait);
            let now = self.context.timeline.now_ns();
            let measured = self.context.timeline.is_measured(now);
            let error = match result {
                Ok(outcome) => {
                    if measured {
                        self.audit.note(input, self.progress.brand_lines);
                    }
                    if let (Input::Delivery(input), Some(results)) = (input, &self.shared.delivery_results) {
                        results.record(input, due_ns, now, &self.delivered);
                    }
                    let sample = Sample {
                        kind: kind as usize,
                        latency_ns: now.saturating_sub(due_ns),
                        service_ns: self.context.arrivals.as_ref().map(|_| now.saturating_sub(begun)),
                        rolled_back: outcome == Outcome::RolledBack,
                        skipped: if let Outcome::CommittedWithSkips(skipped) = outcome {
                            skipped
                        } else {
                            0
                        },
                        retries,
                        traffic,
                    };
                    let mut collector = self.context.collector.borrow_mut();
                    collector.beat(now);
                    return collector.success(sample, measured);
                }
                Err(error) => error,
            };
            if error.is_retryable() && retries < self.shared.retries_max && !self.context.timeline.stopped() {
                retries += 1;
                self.context
                    .collector
                    .borrow_mut()
                    .retry(error.sqlstate(), measured);
                continue;
            }
            let message = || error.to_string();
            self.context
                .collector
                .borrow_mut()
                .failure(kind as usize, error.sqlstate(), message, measured);
            if error.is_fatal() {
                wait.until(now + RECONNECT_PAUSE_NS);
            }
            return;
        }
    }

    /// One attempt on a session of the pool, or one of each server that it needs. Leaves no transaction open.
    fn attempt(&mut self, input: &Input, traffic: &mut Traffic, wait: &Wait<'_>) -> DriverResult<Outcome> {
        let mut session = match &mut self.branches {
            None => self.pools[0].acquire(wait)?,
            Some(branches) => branches.acquire(input, wait)?,
        };
        let before = session.traffic;
        self.progress = OrderProgress::default();
        let mut client = Client {
            session: &mut session,
            branches: self.branches.as_mut(),
            wait,
            scratch: &mut self.scratch,
        };
        let (progress, delivered) = (&mut self.progress, &mut self.delivered);
        let result = match self.shared.execution {
            Execution::Interactive => interactive(&mut client, input, progress, delivered),
            Execution::Pipelined => pipelined::execute(&mut client, input, progress, delivered),
            Execution::Procedures => procedures::execute(&mut client, input, progress, delivered),
        };
        record_order(self.shared.ledger.as_ref(), input, &self.progress, &result);
        if let Err(error) = &result {
            let lost = error.is_fatal() || (client.session.in_transaction() && client.rollback().is_err());
            if lost {
                session.abandon();
                self.context.collector.borrow_mut().reconnects += 1;
            } else {
                session.discard_output();
            }
        }
        traffic.add(session.traffic.since(before));
        match &mut self.branches {
            None => self.pools[0].release(session, wait),
            Some(branches) => {
                branches.home_pool().release(session, wait);
                branches.settle(&self.context.timeline, traffic, wait);
                branches.counts.committed +=
                    matches!(result, Ok(outcome) if outcome != Outcome::RolledBack) as u64;
            }
        }
        result
    }
}

fn interactive(
    client: &mut Client<'_, '_>,
    input: &Input,
    progress: &mut OrderProgress,
    delivered: &mut Delivered,
) -> DriverResult<Outcome> {
    match input {
        Input::NewOrder(input) => new_order::execute(client, input, progress),
        Input::Payment(input) => payment::execute(client, input),
        Input::OrderStatus(input) => order_status::execute(client, input),
        Input::StockLevel(input) => stock_level::execute(client, input),
        Input::Delivery(input) => delivery::execute(client, input, delivered),
    }
}

fn record_order(
    ledger: Option<&LedgerWriter>,
    input: &Input,
    progress: &OrderProgress,
    result: &DriverResult<Outcome>,
) {
    let (Some(ledger), Input::NewOrder(input)) = (ledger, input) else {
        return;
    };
    let key = (input.warehouse, input.district, progress.order);
    match result {
        Ok(Outcome::Committed) => {
            let facts = OrderFacts {
                customer: input.customer,
                lines: input.count as i32,
                amount_cents: progress.amount_cents,
            };
            ledger.acknowledged(key, facts);
        }
        Err(error) if progress.commit_sent && error.is_fatal() => ledger.unknown(key),
        _ => {}
    }
}

pub struct Terminal {
    pub runner: Runner,
    pub source: Source,
    pub mix: Mix,
    pub warehouse: i32,
    pub district: i32,
    /// Where deferred deliveries go; `None` runs them at once.
    pub deliveries: Option<DeliveryQueue>,
}

impl Terminal {
    pub fn run(mut self, wait: &Wait<'_>) {
        let timeline = Arc::clone(&self.runner.context.timeline);
        if let Err(error) = timeline.log_in(wait, || self.connect(wait)) {
            return timeline.fail(format!("cannot connect a terminal: {error}"));
        }
        timeline.ready(wait);
        if let Some(pace) = self.runner.shared.pace {
            // Spread the first transactions over a mean cycle: nobody starts a shift of work all at once.
            self.pause(self.source.prng.clone().unit() * 21.0 * pace, wait);
        }
        while !timeline.is_over() {
            let kind = self.mix.next(&mut self.source.prng);
            if let Some(pace) = self.runner.shared.pace {
                self.pause(kind.keying_s() * pace, wait);
                if timeline.is_over() {
                    break;
                }
            }
            let due = match self.runner.context.arrivals {
                None => timeline.now_ns(),
                Some(_) => match self.runner.context.next_due(wait) {
                    Some(due) => due,
                    None => break,
                },
            };
            self.transaction(kind, due, wait);
            if let Some(pace) = self.runner.shared.pace {
                let think = think_s(&mut self.source.prng, kind.think_mean_s());
                if kind == Kind::NewOrder && timeline.is_measured(timeline.now_ns()) {
                    self.runner.audit.note_think(think / kind.think_mean_s());
                }
                self.pause(think * pace, wait);
            }
        }
        self.runner
            .shared
            .audit
            .lock()
            .expect("no panic while held")
            .merge(&self.runner.audit);
        if let Some(branches) = &self.runner.branches {
            let mut counts = self.runner.shared.counts.lock().expect("no panic while held");
            counts.add(branches.counts);
        }
    }

    fn connect(&mut self, wait: &Wait<'_>) -> Result<(), DriverError> {
        for pool in self.runner.pools.iter() {
            let session = pool.acquire(wait)?;
            pool.release(session, wait);
        }
        Ok(())
    }

    fn pause(&self, seconds: f64, wait: &Wait<'_>) {
        wait.until(self.runner.context.timeline.now_ns() + (seconds * 1e9) as u64);
    }

    fn transaction(&mut self, kind: Kind, due: u64, wait: &Wait<'_>) {
        if !self.runner.shared.home_fixed {
            // A terminal that moves stands at any district of its new warehouse.
            self.warehouse = self.source.warehouse();
            self.district = self.source.district();
        }
        let warehouse = self.warehouse;
        let input = match kind {
            Kind::NewOrder => Input::NewOrder(self.source.new_order(warehouse)),
            Kind::Payment => Input::Payment(self.source.payment(warehouse)),
            Kind::OrderStatus => Input::OrderStatus(self.source.order_status(warehouse)),
            Kind::StockLevel => Input::StockLevel(self.source.stock_level(warehouse, self.district)),
            Kind::Delivery | Kind::DeliveryBackground => return self.delivery(warehouse, due, wait),
        };
        self.runner.perform(kind, due, &input, wait);
    }

    /// Queues a delivery, which is all that the terminal's user waits for.
    fn delivery(&mut self, warehouse: i32, due: u64, wait: &Wait<'_>) {
        let timeline = Arc::clone(&self.runner.context.timeline);
        let input = self.source.delivery(warehouse);
        if let Some(queue) = &self.deliveries {
            queue.borrow_mut().push_back((due, input));
        }
        let now = timeline.now_ns();
        let queued = Sample {
            kind: Kind::Delivery as usize,
            latency_ns: now - due,
            service_ns: None,
            rolled_back: false,
            skipped: 0,
            retries: 0,
            traffic: Traffic::default(),
        };
        self.runner
            .context
            .collector
            .borrow_mut()
            .success(queued, timeline.is_measured(now));
        if self.deliveries.is_none() {
            self.runner
                .perform(Kind::DeliveryBackground, due, &Input::Delivery(input), wait);
        }
    }
}

/// A background worker for deferred deliveries.
pub struct DeliveryWorker {
    pub runner: Runner,
    pub queue: DeliveryQueue,
}

impl DeliveryWorker {
    pub fn run(mut self, wait: &Wait<'_>) {
        let timeline = Arc::clone(&self.runner.context.timeline);
        loop {
            let next = self.queue.borrow_mut().pop_front();
            match next {
                Some((due, input)) => {
                    self.runner
                        .perform(Kind::DeliveryBackground, due, &Input::Delivery(input), wait);
                }
                None if timeline.is_over() => return,
                None => wait.until(timeline.now_ns() + DELIVERY_POLL_NS),
            }
        }
    }
}
