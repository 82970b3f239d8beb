//! The five transactions, each in its own file, with the order of statements and the round trips that BenchmarkSQL's
//! generic application makes: BEGIN rides with the first statement, batches are one round trip, COMMIT is its own.
//!
//! `pipelined` sends the same statements in fewer round trips, `procedures` has the server run them; [`Execution`] chooses.
//!
//! Read `new_order` first. Each function runs one attempt: it returns an error without cleaning up, and the terminal
//! rolls back, retries or gives up.
//! Leaves out: the terminal's display (input and output screens); the brand-generic flag is not computed.

pub mod new_order;
pub mod payment;
pub mod order_status;
pub mod stock_level;
pub mod delivery;
pub mod pipelined;
pub mod procedures;

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::input::CustomerKey;
use super::shards::branches::Branches;
use super::statements as st;
use mote_driver::statement::BindWriter;
use mote_driver::{DriverError, DriverResult, Reply, Session, StatementId, StatementSet, Wait};

/// How the terminals' transactions reach the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// A round trip for each statement, as BenchmarkSQL has it
    Interactive,
    /// The same statements in one to three round trips
    Pipelined,
    /// A function call in PL/pgSQL for each transaction
    Procedures,
}

impl Execution {
    pub fn statement_set(self) -> StatementSet {
        match self {
            Execution::Interactive | Execution::Pipelined => st::statement_set(),
            Execution::Procedures => procedures::statement_set(),
        }
    }
}

/// How an attempt ended, when it ended well.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    Committed,
    /// On purpose: the unused item of clause 2.4.1.4.
    RolledBack,
    /// A delivery that found no order in so many districts.
    CommittedWithSkips(u32),
}

impl Outcome {
    fn of_delivery(delivered: &delivery::Delivered) -> Outcome {
        match delivered.iter().filter(|order| **order == 0).count() as u32 {
            0 => Outcome::Committed,
            skipped => Outcome::CommittedWithSkips(skipped),
        }
    }
}

/// One session while one terminal uses it.
pub struct Client<'a, 'w> {
    pub session: &'a mut Session,
    /// The transaction's other servers, where the database lies on several.
    pub branches: Option<&'a mut Branches>,
    pub wait: &'a Wait<'w>,
    pub scratch: &'a mut Scratch,
}

/// Buffers that keep their memory from transaction to transaction.
#[derive(Default)]
pub struct Scratch {
    pub text: String,
    pub more_text: String,
}

impl Client<'_, '_> {
    /// Queues a statement without waiting for it.
    fn queue(&mut self, id: StatementId, values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>) {
        self.session.send(id, values);
    }

    fn flush(&mut self) -> DriverResult<Reply<'_>> {
        self.session.round_trip(self.wait)
    }

    /// The session of the server that has a warehouse.
    fn session_of(&mut self, warehouse: i32) -> &mut Session {
        let other = self
            .branches
            .as_mut()
            .and_then(|branches| branches.session(warehouse));
        other.unwrap_or(self.session)
    }

    /// Queues a statement where the warehouse is.
    fn queue_at(
        &mut self,
        warehouse: i32,
        id: StatementId,
        values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>,
    ) {
        self.session_of(warehouse).send(id, values);
    }

    /// One statement, one round trip, where the warehouse is.
    fn run_at(
        &mut self,
        warehouse: i32,
        id: StatementId,
        values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>,
    ) -> DriverResult<Reply<'_>> {
        let wait = self.wait;
        let session = self.session_of(warehouse);
        session.send(id, values);
        session.round_trip(wait)
    }

    /// Sends what [`Client::queue_at`] has queued; its answers are not looked at.
    fn flush_everywhere(&mut self) -> DriverResult<()> {
        if let Some(branches) = &mut self.branches {
            branches.flush(self.wait)?;
        }
        match self.session.has_output() {
            true => self.flush().map(|_| ()),
            false => Ok(()),
        }
    }

    /// One statement, one round trip.
    fn run(
        &mut self,
        id: StatementId,
        values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>,
    ) -> DriverResult<Reply<'_>> {
        self.session.send(id, values);
        self.session.round_trip(self.wait)
    }

    /// BEGIN and the first statement in one round trip.
    fn begin(
        &mut self,
        id: StatementId,
        values: impl FnOnce(BindWriter<'_>) -> BindWriter<'_>,
    ) -> DriverResult<Reply<'_>> {
        self.session.send(st::BEGIN, |none| none);
        self.run(id, values)
    }

    fn commit(&mut self) -> DriverResult<()> {
        if let Some(branches) = &mut self.branches
            && branches.is_distributed()
        {
            return branches.commit(self.session, self.wait);
        }
        let reply = self.run(st::COMMIT, |none| none)?;
        // COMMIT of a failed block answers ROLLBACK without an error: that would be an order lost in silence.
        // Before it stand the answers of what was queued with it.
        match reply.ended_with(b"COMMIT\0") {
            true => Ok(()),
            false => Err(DriverError::protocol("COMMIT was not answered by COMMIT")),
        }
    }

    pub fn rollback(&mut self) -> DriverResult<()> {
        self.session.discard_output();
        self.run(st::ROLLBACK, |none| none).map(|_| ())
    }

    /// Finds the customer's number. Of several with the same last name it is the one in the middle by first name,
    /// rounded up (clause 2.5.2.2). `first` says whether this is the transaction's first statement.
    fn customer_id(
        &mut self,
        warehouse: i32,
        district: i32,
        key: &CustomerKey,
        first: bool,
    ) -> DriverResult<i32> {
        let name = match key {
            CustomerKey::Id(id) => return Ok(*id),
            CustomerKey::Name(name) => name,
        };
        if first {
            self.queue(st::BEGIN, |none| none);
        }
        let reply = self.run_at(warehouse, st::CUSTOMERS_BY_NAME, |v| {
            v.int(warehouse).int(district).text(name.as_str())
        })?;
        middle(reply, name.as_str())
    }
}

/// The customer in the middle of those that a name has, rounded up.
fn middle(reply: Reply<'_>, name: &str) -> DriverResult<i32> {
    let count = reply.rows().count();
    let row = reply.rows().nth(count.div_ceil(2).wrapping_sub(1));
    row.ok_or_else(|| DriverError::protocol(format!("no customer is called {name}")))?
        .int()
}

/// The current UTC time as timestamp text with milliseconds, made without allocating.
#[derive(Clone, Copy)]
pub struct Stamp([u8; 23]);

impl Stamp {
    pub fn now() -> Stamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Stamp::at_ms(since.as_millis() as u64)
    }

    pub fn at_ms(ms: u64) -> Stamp {
        let (day, ms) = (ms / 86_400_000, ms % 86_400_000);
        let (year, month, date) = civil(day as i64);
        let mut text = *b"0000-00-00 00:00:00.000";
        let mut put = |at: usize, width: usize, mut value: u64| {
            for slot in text[at..at + width].iter_mut().rev() {
                *slot = b'0' + (value % 10) as u8;
                value /= 10;
            }
        };
        put(0, 4, year as u64);
        put(5, 2, month);
        put(8, 2, date);
        put(11, 2, ms / 3_600_000);
        put(14, 2, ms / 60_000 % 60);
        put(17, 2, ms / 1000 % 60);
        put(20, 3, ms % 1000);
        Stamp(text)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and punctuation")
    }
}

/// Year, month and day of a day number counted from 1970-01-01, in the Gregorian calendar: 400 years have 146,097
/// days, and a year that begins in March has its leap day at the end.
fn civil(day: i64) -> (i64, u64, u64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let date = (of_year - (153 * march_month + 2) / 5 + 1) as u64;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    } as u64;
    (era * 400 + year_of_era + (month <= 2) as i64, month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps() {
        assert_eq!(Stamp::at_ms(0).as_str(), "1970-01-01 00:00:00.000");
        assert_eq!(Stamp::at_ms(951_827_696_789).as_str(), "2000-02-29 12:34:56.789");
        assert_eq!(
            Stamp::at_ms(1_795_564_799_001).as_str(),
            "2026-11-24 23:59:59.001"
        );
    }
}
