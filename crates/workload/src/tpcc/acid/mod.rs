//! Clause 3: the atomicity tests of 3.2.2 and the isolation tests 1 to 9 of 3.4.2, each a few transactions that are stopped
//! where the clause says so.
//!
//! The clause describes what a system that locks does, and leaves open whether a reader waits or sees the state before:
//! both are told apart and accepted. A transaction that the server refuses to serialise is begun anew, as its terminal
//! would do. Tests 7 to 9 ask for repeatable reads and against phantoms, which READ COMMITTED does not promise: there a
//! failure is reported, and judged as allowed.
//!
//! Every test leaves the database consistent: what test 7 and 8 change on purpose is put back.

mod steps;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use mote_common::prng::Prng;
use serde::Serialize;

use super::Isolation;
use mote_driver::{Admin, DriverError, DriverResult, Target};
use steps::{
    Customer, commit, committed_new_order, delivery, last_order, new_order, number, oldest_new_order,
    order_status, payment, payment_rows,
};

/// A transaction that has not ended after this long waits for the other one.
const WAITS_AFTER: Duration = Duration::from_millis(300);
/// One that has not ended so long after the other one did hangs.
const HANGS_AFTER: Duration = Duration::from_secs(30);
const RETRIES_MAX: usize = 20;

/// One test's result.
#[derive(Clone, Debug, Serialize)]
pub struct TestVerdict {
    pub name: &'static str,
    pub says: &'static str,
    pub pass: bool,
    /// Whether the isolation level promises it; otherwise a failure fails nothing.
    pub promised: bool,
    /// What was seen: who waited, what was wrong.
    pub detail: String,
}

impl TestVerdict {
    pub fn holds(&self) -> bool {
        self.pass || !self.promised
    }
}

type Test = fn(&Stage, &mut Prng) -> Result<String, Failure>;

const TESTS: [(&str, &str, Test, bool); 11] = [
    (
        "A1",
        "a committed payment has changed all its rows",
        payment_commits,
        true,
    ),
    (
        "A2",
        "a payment rolled back has changed nothing",
        payment_rolls_back,
        true,
    ),
    (
        "I1",
        "order status beside an open new order",
        status_beside_commit,
        true,
    ),
    (
        "I2",
        "order status beside a new order that rolls back",
        status_beside_rollback,
        true,
    ),
    ("I3", "two new orders in one district", new_orders_commit, true),
    (
        "I4",
        "two new orders, the first rolls back",
        new_orders_roll_back,
        true,
    ),
    (
        "I5",
        "payment of a customer who is being delivered to",
        payment_and_delivery,
        true,
    ),
    (
        "I6",
        "payment beside a delivery that rolls back",
        payment_and_lost_delivery,
        true,
    ),
    ("I7", "prices read twice while they change", prices_repeat, false),
    (
        "I8",
        "no new order appears to a delivery",
        no_phantom_order,
        false,
    ),
    (
        "I9",
        "no later order appears to an order status",
        no_phantom_status,
        false,
    ),
];

/// Why a test did not pass.
enum Failure {
    /// What the clause demands does not hold.
    Broken(String),
    Driver(DriverError),
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        Failure::Driver(error)
    }
}

/// Where the tests run: the server, and how large its database is.
pub struct Stage {
    target: Target,
    warehouses: i32,
}

impl Stage {
    /// Transactions run at `isolation`, or the server's own level.
    pub fn new(target: &Target, isolation: Option<Isolation>, warehouses: i32) -> Stage {
        let mut target = target.clone();
        let level = isolation.map(|level| ("default_transaction_isolation", level.name().to_string()));
        target.settings.extend(level);
        Stage { target, warehouses }
    }

    /// Runs all tests, telling of each.
    pub fn run(
        &self,
        isolation: Option<Isolation>,
        seed: u64,
        mut each: impl FnMut(&TestVerdict),
    ) -> DriverResult<Vec<TestVerdict>> {
        let repeatable = matches!(
            isolation,
            Some(Isolation::RepeatableRead | Isolation::Serializable)
        );
        let mut verdicts = Vec::with_capacity(TESTS.len());
        for (number, (name, says, test, always)) in TESTS.into_iter().enumerate() {
            let (pass, detail) = match test(self, &mut Prng::fork(seed, number as u64)) {
                Ok(detail) => (true, detail),
                Err(Failure::Broken(detail)) => (false, detail),
                Err(Failure::Driver(error)) => return Err(error),
            };
            let verdict = TestVerdict {
                name,
                says,
                pass,
                promised: always || repeatable,
                detail,
            };
            each(&verdict);
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    fn session(&self) -> DriverResult<Admin> {
        Admin::connect(&self.target)
    }

    /// Runs a transaction on a thread and a session of its own.
    fn beside<T: Send + 'static>(
        &self,
        transaction: impl Fn(&mut Admin) -> DriverResult<T> + Send + 'static,
    ) -> DriverResult<Beside<T>> {
        let mut session = self.session()?;
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            // Nobody listens any more if the test has failed already.
            let _ = sender.send(retried(&mut session, &transaction));
        });
        let mut beside = Beside {
            receiver,
            early: None,
        };
        beside.early = match beside.receiver.recv_timeout(WAITS_AFTER) {
            Ok(result) => Some(result?),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(DriverError::protocol("a session's thread ended"));
            }
        };
        Ok(beside)
    }

    fn customer(&self, prng: &mut Prng) -> Customer {
        Customer {
            warehouse: prng.between(1, self.warehouses as i64) as i32,
            district: prng.between(1, 10) as i32,
            customer: prng.between(1, 3000) as i32,
        }
    }
}

/// A transaction on another session.
struct Beside<T> {
    receiver: mpsc::Receiver<DriverResult<T>>,
    /// Its result, if it did not wait.
    early: Option<T>,
}

impl<T> Beside<T> {
    fn waits(&self) -> bool {
        self.early.is_none()
    }

    fn finish(self) -> Result<T, Failure> {
        match self.early {
            Some(result) => Ok(result),
            None => match self.receiver.recv_timeout(HANGS_AFTER) {
                Ok(result) => Ok(result?),
                Err(_) => Err(Failure::Broken("the second transaction never ended".into())),
            },
        }
    }
}

/// Runs a whole transaction, again after each refusal that invites it.
fn retried<T>(session: &mut Admin, transaction: &dyn Fn(&mut Admin) -> DriverResult<T>) -> DriverResult<T> {
    let mut left = RETRIES_MAX;
    loop {
        match transaction(session) {
            Err(error) if error.is_retryable() && left > 0 => {
                left -= 1;
                session.execute("ROLLBACK")?;
            }
            result => return result,
        }
    }
}

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds {
        Ok(())
    } else {
        Err(Failure::Broken(otherwise()))
    }
}

/// Money is compared to the cent.
fn same(left: f64, right: f64) -> bool {
    (left - right).abs() < 0.005
}

/// What the open transaction reads and commits, or None where the server refuses to serialise it: a terminal would begin
/// anew, and has seen nothing that it may not see.
fn unless_refused<T>(
    session: &mut Admin,
    rest: impl FnOnce(&mut Admin) -> DriverResult<T>,
) -> DriverResult<Option<T>> {
    let ended = rest(session).and_then(|seen| commit(session).map(|()| seen));
    match ended {
        Err(error) if error.is_retryable() => session.execute("ROLLBACK").map(|()| None),
        result => result.map(Some),
    }
}

// Atomicity

fn payment_ends(stage: &Stage, prng: &mut Prng, end: &str, counted: f64) -> Result<String, Failure> {
    let (mut session, at) = (stage.session()?, stage.customer(prng));
    let amount = prng.between(100, 500_000) as f64 / 100.0;
    let before = payment_rows(&mut session, at)?;
    payment(&mut session, at, amount)?;
    session.execute(end)?;
    let after = payment_rows(&mut stage.session()?, at)?;
    let changes = [amount, amount, amount, amount, 1.0, 1.0];
    for ((before, after), change) in before.iter().zip(after).zip(changes) {
        expect(same(before + counted * change, after), || {
            format!("{before} became {after}, not {}", before + counted * change)
        })?;
    }
    Ok(format!("{end} of {amount:.2}"))
}

fn payment_commits(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    payment_ends(stage, prng, "COMMIT", 1.0)
}

fn payment_rolls_back(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    payment_ends(stage, prng, "ROLLBACK", 0.0)
}

// Isolation

fn status_beside(stage: &Stage, prng: &mut Prng, end: &'static str) -> Result<String, Failure> {
    let (mut first, at) = (stage.session()?, stage.customer(prng));
    let before = last_order(&mut first, at)?.0;
    let order = new_order(&mut first, at)?;
    let second = stage.beside(move |session| order_status(session, at))?;
    let waits = second.waits();
    first.execute(end)?;
    let (seen, whole) = second.finish()?;
    expect(whole, || {
        format!("order {seen} was seen without all of its lines")
    })?;
    let committed = end == "COMMIT";
    let expected = if waits && committed { order } else { before };
    expect(seen == expected, || {
        format!(
            "order status, which {}, saw {seen} instead of {expected}",
            waited(waits)
        )
    })?;
    let after = last_order(&mut stage.session()?, at)?.0;
    let expected = if committed { order } else { before };
    expect(after == expected, || {
        format!("afterwards {after} is the last order, not {expected}")
    })?;
    Ok(format!("the reader {}", waited(waits)))
}

fn waited(waits: bool) -> &'static str {
    if waits { "waited" } else { "did not wait" }
}

fn refused(refused: bool) -> &'static str {
    if refused {
        "; the reader was refused and would begin anew"
    } else {
        ""
    }
}

fn status_beside_commit(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    status_beside(stage, prng, "COMMIT")
}

fn status_beside_rollback(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    status_beside(stage, prng, "ROLLBACK")
}

fn two_new_orders(stage: &Stage, prng: &mut Prng, end: &'static str) -> Result<String, Failure> {
    let (mut first, at) = (stage.session()?, stage.customer(prng));
    let order = new_order(&mut first, at)?;
    let second = stage.beside(move |session| committed_new_order(session, at))?;
    expect(second.waits(), || {
        "the second new order did not wait for the first one's district".into()
    })?;
    first.execute(end)?;
    let later = second.finish()?;
    let expected = if end == "COMMIT" { order + 1 } else { order };
    expect(later == expected, || {
        format!("the second order is {later}, not {expected}")
    })?;
    let next = number(
        &mut stage.session()?,
        &format!(
            "SELECT d_next_o_id FROM bmsql_district WHERE {}",
            at.district_is("d")
        ),
    )? as i32;
    expect(next == later + 1, || {
        format!("the district gives {next} next, not {}", later + 1)
    })?;
    Ok(format!("orders {order} ({end}) and {later}; the second waited"))
}

fn new_orders_commit(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    two_new_orders(stage, prng, "COMMIT")
}

fn new_orders_roll_back(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    two_new_orders(stage, prng, "ROLLBACK")
}

fn payment_beside_delivery(stage: &Stage, prng: &mut Prng, end: &'static str) -> Result<String, Failure> {
    let mut first = stage.session()?;
    let district = stage.customer(prng);
    let (at, delivered) = delivery(&mut first, district)?;
    let paid = prng.between(100, 500_000) as f64 / 100.0;
    let balance = |session: &mut Admin| {
        number(
            session,
            &format!("SELECT c_balance FROM bmsql_customer WHERE {}", at.is()),
        )
    };
    let before = balance(&mut stage.session()?)?;
    let second = stage.beside(move |session| {
        payment(session, at, paid)?;
        commit(session)
    })?;
    expect(second.waits(), || {
        "the payment did not wait for the delivery's customer".into()
    })?;
    first.execute(end)?;
    second.finish()?;
    let after = balance(&mut stage.session()?)?;
    let credited = if end == "COMMIT" { delivered } else { 0.0 };
    let expected = before + credited - paid;
    expect(same(after, expected), || {
        format!("the balance is {after:.2}, not {expected:.2}")
    })?;
    Ok(format!(
        "{before:.2} + {credited:.2} - {paid:.2} = {after:.2}; the payment waited"
    ))
}

fn payment_and_delivery(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    payment_beside_delivery(stage, prng, "COMMIT")
}

fn payment_and_lost_delivery(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    payment_beside_delivery(stage, prng, "ROLLBACK")
}

fn prices_repeat(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    let (mut first, at) = (stage.session()?, stage.customer(prng));
    let (x, y) = (prng.between(1, 50_000), prng.between(50_001, 100_000));
    let price = |session: &mut Admin, item: i64| {
        number(
            session,
            &format!("SELECT i_price FROM bmsql_item WHERE i_id = {item}"),
        )
    };
    let before = (price(&mut first, x)?, price(&mut first, y)?);
    let order = new_order(&mut first, at)?;
    let met = price(&mut first, x)?;
    let raise = stage.beside(move |session| {
        session.execute(&format!(
            "UPDATE bmsql_item SET i_price = i_price * 1.1 WHERE i_id IN ({x}, {y})"
        ))
    })?;
    let waits = raise.waits();
    let again = unless_refused(&mut first, |session| Ok((price(session, x)?, price(session, y)?)))?;
    // Put back whatever came of it.
    let raised = raise.finish();
    stage.session()?.execute(&format!(
        "UPDATE bmsql_item SET i_price = CASE i_id WHEN {x} THEN {} ELSE {} END WHERE i_id IN ({x}, {y})",
        before.0, before.1
    ))?;
    raised?;
    let repeats = |again: (f64, f64)| same(again.0, before.0) && same(again.1, before.1);
    expect(same(met, before.0) && again.is_none_or(repeats), || {
        format!(
            "order {order} read {before:?} and then {:?}",
            again.unwrap_or_default()
        )
    })?;
    Ok(format!(
        "who raised the prices {}{}",
        waited(waits),
        refused(again.is_none())
    ))
}

fn no_phantom_order(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    let (mut first, at) = (stage.session()?, stage.customer(prng));
    let district = at.district_is("no");
    let rows = first.query(&format!("SELECT no_o_id FROM bmsql_new_order WHERE {district}"))?;
    first.execute(&format!("DELETE FROM bmsql_new_order WHERE {district}"))?;
    first.execute("BEGIN")?;
    let seen = oldest_new_order(&mut first, at)?;
    let second = stage.beside(move |session| committed_new_order(session, at))?;
    let waits = second.waits();
    let again = unless_refused(&mut first, |session| oldest_new_order(session, at))?;
    let ordered = second.finish();
    // Put back whatever came of it.
    for row in rows.iter().filter_map(|row| row[0].as_deref()) {
        first.execute(&format!(
            "INSERT INTO bmsql_new_order (no_w_id, no_d_id, no_o_id) VALUES ({}, {}, {row})",
            at.warehouse, at.district
        ))?;
    }
    let order = ordered?;
    let appeared = again.flatten();
    expect(seen.is_none() && appeared.is_none(), || {
        format!(
            "order {order} appeared, {:?} and then {:?}",
            seen.unwrap_or(0),
            appeared.unwrap_or(0)
        )
    })?;
    Ok(format!(
        "the new order {}{}",
        waited(waits),
        refused(again.is_none())
    ))
}

fn no_phantom_status(stage: &Stage, prng: &mut Prng) -> Result<String, Failure> {
    let (mut first, at) = (stage.session()?, stage.customer(prng));
    first.execute("BEGIN")?;
    let seen = last_order(&mut first, at)?.0;
    let second = stage.beside(move |session| committed_new_order(session, at))?;
    let waits = second.waits();
    let again = unless_refused(&mut first, |session| last_order(session, at))?;
    let order = second.finish()?;
    let later = again.map(|(last, _)| last).filter(|last| *last != seen);
    expect(later.is_none(), || {
        format!("{seen} was the last order, and then {}", later.unwrap_or(order))
    })?;
    Ok(format!(
        "the new order {}{}",
        waited(waits),
        refused(again.is_none())
    ))
}
