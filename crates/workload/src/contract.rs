//! What a workload is: its data, its transactions, its proofs. Everything else (connections, load models, retries,
//! records, reports, comparisons) is the same for all of them.
//!
//! A new workload is a folder with one [`Workload`], a line in `catalogue`, and its arguments in `command::args`.
//!
//! Invariant: a transaction states in [`Progress`] what it adds to the database before its commit is sent, so that a lost
//! answer leaves a bound, not a doubt.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use serde_json::Value;

use super::condition::ConditionVerdict;
use super::loader::Data;
use super::tpcc::input_audit::Verdict;
use mote_driver::admin::TextRow;
use mote_driver::statement::BindWriter;
use mote_driver::{Admin, DriverError, DriverResult, Reply, Session, StatementId, StatementSet, Wait};
use mote_measure::RunOutcome;

/// The first three statements of every workload's set, in this order.
pub const BEGIN: StatementId = StatementId(0);
pub const COMMIT: StatementId = StatementId(1);
pub const ROLLBACK: StatementId = StatementId(2);

pub trait Workload: Sync {
    fn name(&self) -> &'static str;
    /// For a page's title and a table's heading.
    fn title(&self) -> String;
    /// Types of transactions; a client's `draw` answers positions in it.
    fn kinds(&self) -> &'static [&'static str];
    /// Those that write.
    fn writing(&self) -> &'static [usize];
    /// Sizes and shapes, for reports.
    fn settings(&self) -> Value;
    fn data(&self) -> Box<dyn Data + '_>;
    fn statements(&self) -> StatementSet;
    /// What an earlier run has left that clients need to know. Called before each run.
    fn prepare(&self, _: &mut Admin) -> DriverResult<()> {
        Ok(())
    }
    /// The client of connection `number`.
    fn client(&self, number: usize, seed: u64) -> Box<dyn Client>;
    /// Reads what transactions add to; see [`Effect`].
    fn effect(&self, admin: &mut Admin) -> DriverResult<Effect>;
    /// What `effect` counts, for reports: "rows of HISTORY and the sum of their amounts".
    fn effect_says(&self) -> &'static str;
    /// The data's own conditions. `repeatable` says whether transactions ran at REPEATABLE READ or above.
    fn conditions(&self, admin: &mut Admin, repeatable: bool) -> Vec<ConditionVerdict>;
    /// Whether clients asked for what they should, as far as that shows.
    fn audit(&self, _: &RunOutcome) -> Vec<Verdict> {
        Vec::new()
    }
}

/// One connection's user.
pub trait Client {
    /// Draws the next transaction and answers its type.
    fn draw(&mut self) -> usize;
    /// One attempt at it. An error is returned as it comes: the caller rolls back, and tries again or gives up.
    fn attempt(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done>;
    /// Called once when the transaction has ended, well or not.
    fn settled(&mut self) {}
}

/// How an attempt ended, when it ended as the workload wants it to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Done {
    Committed,
    /// It found nothing to work on, which the workload expects of a share of them.
    Nothing,
    /// The workload wanted it to: funds that do not suffice, a row that is there already.
    RolledBack,
}

/// What a transaction adds to the database: rows, and an amount.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Effect {
    pub rows: i64,
    pub amount: i64,
}

impl Effect {
    /// From the one row of a query for a count and a sum.
    pub fn of(rows: &[TextRow]) -> DriverResult<Effect> {
        let number = |column: usize| {
            let text = rows.first().and_then(|row| row.get(column)?.as_deref());
            text.and_then(|text| text.parse().ok())
        };
        match (number(0), number(1)) {
            (Some(rows), Some(amount)) => Ok(Effect { rows, amount }),
            _ => Err(DriverError::protocol("a count and a sum were expected")),
        }
    }
}

/// How far an attempt has come.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Progress {
    pub effect: Effect,
    /// From here on only an answer tells whether it is committed.
    pub commit_sent: bool,
}

/// A session while one transaction uses it.
pub struct Exchange<'a, 'w> {
    pub session: &'a mut Session,
    pub wait: &'a Wait<'w>,
    pub progress: &'a mut Progress,
}

impl Exchange<'_, '_> {
    /// Queues a statement without waiting for it.
    pub fn queue(&mut self, id: StatementId, values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>) {
        self.session.send(id, values);
    }

    /// One statement, one round trip; with it goes what was queued.
    pub fn run(
        &mut self,
        id: StatementId,
        values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>,
    ) -> DriverResult<Reply<'_>> {
        self.session.send(id, values);
        self.session.round_trip(self.wait)
    }

    /// BEGIN and the first statement in one round trip.
    pub fn begin(
        &mut self,
        id: StatementId,
        values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>,
    ) -> DriverResult<Reply<'_>> {
        self.session.send(BEGIN, |none| none);
        self.run(id, values)
    }

    /// A statement that is a transaction of its own and adds `effect`.
    pub fn alone(
        &mut self,
        id: StatementId,
        effect: Effect,
        values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>,
    ) -> DriverResult<Reply<'_>> {
        *self.progress = Progress {
            effect,
            commit_sent: true,
        };
        self.run(id, values)
    }

    /// Commits what adds `effect`.
    pub fn commit(&mut self, effect: Effect) -> DriverResult<()> {
        let reply = self.alone(COMMIT, effect, |none| none)?;
        // COMMIT of a failed block answers ROLLBACK without an error: that would be a transaction lost in silence.
        match reply.frames().find(|frame| frame.kind == b'C') {
            Some(frame) if frame.body == b"COMMIT\0" => Ok(()),
            _ => Err(DriverError::protocol("COMMIT was not answered by COMMIT")),
        }
    }

    pub fn rollback(&mut self) -> DriverResult<()> {
        self.session.discard_output();
        self.run(ROLLBACK, |none| none).map(|_| ())
    }
}

/// What the clients of a run know of the database: what was acknowledged, and bounds for what may have been.
///
/// The counters are sums that nothing else is read through, and are read when all clients have ended: Relaxed everywhere.
#[derive(Default)]
pub struct Tally {
    rows: AtomicI64,
    amount: AtomicI64,
    /// Acknowledged transactions that add rows or amounts.
    acknowledged: AtomicU64,
    /// Transactions whose COMMIT was sent and not answered.
    unknown: AtomicU64,
    rows_below: AtomicI64,
    rows_above: AtomicI64,
    amount_below: AtomicI64,
    amount_above: AtomicI64,
}

impl Tally {
    pub fn acknowledge(&self, effect: Effect) {
        if effect != Effect::default() {
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        self.rows.fetch_add(effect.rows, Ordering::Relaxed);
        self.amount.fetch_add(effect.amount, Ordering::Relaxed);
    }

    pub fn unknown(&self, effect: Effect) {
        self.unknown.fetch_add(1, Ordering::Relaxed);
        for (change, below, above) in [
            (effect.rows, &self.rows_below, &self.rows_above),
            (effect.amount, &self.amount_below, &self.amount_above),
        ] {
            let side = if change < 0 { below } else { above };
            side.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// How far what was found lies outside of what was acknowledged and may have been.
    pub fn compare(&self, before: Effect, after: Effect) -> TallyVerdict {
        let get = |counter: &AtomicI64| counter.load(Ordering::Relaxed);
        let outside = |found: i64, sure: i64, below: i64, above: i64| {
            let (low, high) = (sure + below, sure + above);
            if found < low {
                found - low
            } else {
                (found - high).max(0)
            }
        };
        TallyVerdict {
            acknowledged: self.acknowledged.load(Ordering::Relaxed),
            unknown: self.unknown.load(Ordering::Relaxed),
            rows: after.rows - before.rows,
            amount: after.amount - before.amount,
            rows_outside: outside(
                after.rows - before.rows,
                get(&self.rows),
                get(&self.rows_below),
                get(&self.rows_above),
            ),
            amount_outside: outside(
                after.amount - before.amount,
                get(&self.amount),
                get(&self.amount_below),
                get(&self.amount_above),
            ),
        }
    }
}

/// What comparing a tally with the database found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TallyVerdict {
    /// Acknowledged transactions that add something.
    pub acknowledged: u64,
    /// Those whose acknowledgement was lost: each may be there or not.
    pub unknown: u64,
    /// What the run has added to the database.
    pub rows: i64,
    pub amount: i64,
    /// How many rows are missing (negative) or too many; 0 is right.
    pub rows_outside: i64,
    pub amount_outside: i64,
}

impl TallyVerdict {
    pub fn pass(&self) -> bool {
        self.rows_outside == 0 && self.amount_outside == 0
    }

    pub fn says(&self) -> String {
        let TallyVerdict {
            acknowledged,
            unknown,
            rows_outside,
            amount_outside,
            ..
        } = self;
        let found = match self.pass() {
            true => "the database holds exactly what they add".to_string(),
            false => format!("the database is {rows_outside:+} rows and {amount_outside:+} in amount off"),
        };
        format!("{acknowledged} acknowledged transactions, {unknown} with a lost answer: {found}")
    }
}

/// The statement sets of all workloads begin alike.
pub fn shared_statements(workload: &dyn Workload) -> Arc<StatementSet> {
    let set = workload.statements();
    for (id, sql) in [(BEGIN, "BEGIN"), (COMMIT, "COMMIT"), (ROLLBACK, "ROLLBACK")] {
        assert_eq!(set.sql(id), sql, "{}", workload.name());
    }
    Arc::new(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_answer_widens_the_bounds_and_nothing_else_does() {
        let tally = Tally::default();
        let effect = |rows, amount| Effect { rows, amount };
        tally.acknowledge(effect(1, -500));
        tally.acknowledge(Effect::default());
        tally.unknown(effect(1, 70));
        tally.unknown(effect(-1, -30));
        let before = effect(10, 1_000);
        let found = |rows, amount| tally.compare(before, effect(rows, amount));
        assert!(found(11, 500).pass() && found(12, 570).pass() && found(10, 470).pass());
        assert_eq!(found(9, 500).rows_outside, -1);
        assert_eq!(found(11, 571).amount_outside, 1);
        let verdict = found(11, 400);
        assert_eq!((verdict.acknowledged, verdict.unknown), (1, 2));
        assert!(verdict.says().contains("-70 in amount"), "{}", verdict.says());
    }
}
