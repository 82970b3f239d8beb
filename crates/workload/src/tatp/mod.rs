//! TATP, the Telecom Application Transaction Processing Benchmark (IBM, 2009): a home location register. Seven short
//! transactions on four tables, 80 % of them reads, most of single rows.
//!
//! Read in this order: `rows` (subscribers and what the seed gives them), and this file.
//!
//! Many transactions find nothing, or insert what is there already: the description says how many should, and the audit
//! holds the run to it. They are not errors.

mod rows;

use std::fmt::Write;

use mote_common::prng::Prng;
use serde_json::{Value, json};

use self::rows::Register;
use super::condition::{self, Condition, ConditionVerdict};
use super::contract::{Client, Done, Effect, Exchange, Workload};
use super::loader::Data;
use super::statements::statements;
use super::tpcc::input_audit::Verdict;
use mote_driver::Format::{Binary as B, Text as T};
use mote_driver::Param::{Int, Text};
use mote_driver::{Admin, DriverError, DriverResult, StatementSet};
use mote_measure::RunOutcome;

statements! {
    BEGIN() -> [] "BEGIN";
    COMMIT() -> [] "COMMIT";
    ROLLBACK() -> [] "ROLLBACK";
    SUBSCRIBER(Int) -> [B, T, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B]
        "SELECT s_id, sub_nbr, bit_1, bit_2, bit_3, bit_4, bit_5, bit_6, bit_7, bit_8, bit_9, bit_10, \
         hex_1, hex_2, hex_3, hex_4, hex_5, hex_6, hex_7, hex_8, hex_9, hex_10, \
         byte2_1, byte2_2, byte2_3, byte2_4, byte2_5, byte2_6, byte2_7, byte2_8, byte2_9, byte2_10, \
         msc_location, vlr_location FROM tatp_subscriber WHERE s_id = $1";
    DESTINATION(Int, Int, Int, Int) -> [T]
        "SELECT cf.numberx FROM tatp_special_facility AS sf, tatp_call_forwarding AS cf \
         WHERE sf.s_id = $1 AND sf.sf_type = $2 AND sf.is_active = 1 AND cf.s_id = sf.s_id AND cf.sf_type = sf.sf_type \
         AND cf.start_time <= $3 AND $4 < cf.end_time";
    ACCESS(Int, Int) -> [B, B, T, T]
        "SELECT data1, data2, data3, data4 FROM tatp_access_info WHERE s_id = $1 AND ai_type = $2";
    SET_BIT(Int, Int) -> []
        "UPDATE tatp_subscriber SET bit_1 = $1 WHERE s_id = $2";
    SET_FACILITY(Int, Int, Int) -> []
        "UPDATE tatp_special_facility SET data_a = $1 WHERE s_id = $2 AND sf_type = $3";
    SET_LOCATION(Int, Text) -> []
        "UPDATE tatp_subscriber SET vlr_location = $1 WHERE sub_nbr = $2";
    BY_NUMBER(Text) -> [B]
        "SELECT s_id FROM tatp_subscriber WHERE sub_nbr = $1";
    FACILITIES(Int) -> [B]
        "SELECT sf_type FROM tatp_special_facility WHERE s_id = $1";
    FORWARD(Int, Int, Int, Int, Text) -> []
        "INSERT INTO tatp_call_forwarding (s_id, sf_type, start_time, end_time, numberx) VALUES ($1, $2, $3, $4, $5)";
    FORWARD_NO_MORE(Int, Int, Int) -> []
        "DELETE FROM tatp_call_forwarding WHERE s_id = $1 AND sf_type = $2 AND start_time = $3";
}

const CONDITIONS: [Condition; 4] = [
    Condition {
        number: 1,
        says: "SUB_NBR is the subscriber's number in fifteen digits",
        violations: "SELECT count(*) FROM tatp_subscriber WHERE sub_nbr <> lpad(s_id::text, 15, '0')",
    },
    Condition {
        number: 2,
        says: "every subscriber has one to four access types and one to four special facilities",
        violations: "SELECT count(*) FROM (SELECT k FROM (SELECT s_id AS k, 0 AS a, 0 AS f FROM tatp_subscriber \
            UNION ALL SELECT s_id, 1, 0 FROM tatp_access_info UNION ALL SELECT s_id, 0, 1 FROM tatp_special_facility) AS u \
            GROUP BY k HAVING sum(a) NOT BETWEEN 1 AND 4 OR sum(f) NOT BETWEEN 1 AND 4) AS bad",
    },
    Condition {
        number: 3,
        says: "a call is forwarded from 0, 8 or 16 o'clock for one to eight hours",
        violations: "SELECT count(*) FROM tatp_call_forwarding \
            WHERE start_time NOT IN (0, 8, 16) OR end_time NOT BETWEEN start_time + 1 AND start_time + 8",
    },
    Condition {
        number: 4,
        says: "every call forwarding has its special facility",
        violations: "SELECT count(*) FROM (SELECT s, f FROM (SELECT s_id AS s, sf_type AS f, 0 AS there, 1 AS wanted \
            FROM tatp_call_forwarding UNION ALL SELECT s_id, sf_type, 1, 0 FROM tatp_special_facility) AS u \
            GROUP BY s, f HAVING sum(wanted) > 0 AND sum(there) <> 1) AS bad",
    },
];

const KINDS: &[&str] = &[
    "GET_SUB",
    "GET_DEST",
    "GET_ACCESS",
    "UPD_SUB",
    "UPD_LOC",
    "INS_FORW",
    "DEL_FORW",
];
const GET_SUBSCRIBER: usize = 0;
const GET_DESTINATION: usize = 1;
const GET_ACCESS: usize = 2;
const UPDATE_SUBSCRIBER: usize = 3;
const UPDATE_LOCATION: usize = 4;
const INSERT_FORWARDING: usize = 5;
const DELETE_FORWARDING: usize = 6;
/// Shares of 100.
const SHARES: [u64; 7] = [35, 10, 35, 2, 14, 2, 2];
/// How many of 100 find what they look for, and what the audit calls that; `None` is all of them.
const FOUND_PERCENT: [Option<(f64, &str)>; 7] = [
    None,
    Some((23.9, "new destinations found")),
    Some((62.5, "access data found")),
    Some((62.5, "special facilities found and updated")),
    None,
    Some((31.25, "call forwardings inserted")),
    Some((31.25, "call forwardings found and deleted")),
];
/// A smaller sample says nothing about a share.
const SAMPLE_MIN: u64 = 1_000;
/// The shares are those of a population as it was loaded: a few inserts and deletes move those of a smaller one.
const POPULATION_MIN: i32 = 10_000;

#[derive(Clone, Copy, Debug)]
pub struct Tatp {
    pub subscribers: i32,
    /// Subscribers drawn evenly, not as the description has it.
    pub uniform: bool,
    pub seed: u64,
}

impl Workload for Tatp {
    fn name(&self) -> &'static str {
        "tatp"
    }

    fn title(&self) -> String {
        format!("TATP, {} subscribers", self.subscribers)
    }

    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn writing(&self) -> &'static [usize] {
        &[
            UPDATE_SUBSCRIBER,
            UPDATE_LOCATION,
            INSERT_FORWARDING,
            DELETE_FORWARDING,
        ]
    }

    fn settings(&self) -> Value {
        json!({"subscribers": self.subscribers, "uniform": self.uniform})
    }

    fn data(&self) -> Box<dyn Data + '_> {
        Box::new(Register(*self))
    }

    fn statements(&self) -> StatementSet {
        statement_set()
    }

    fn client(&self, number: usize, seed: u64) -> Box<dyn Client> {
        Box::new(Caller {
            register: *self,
            prng: Prng::fork(seed, 1_000 + number as u64),
            kind: 0,
            subscriber: 1,
            facility: 1,
            start: 0,
            end: 1,
            value: 0,
            number: String::new(),
            facilities: Vec::new(),
        })
    }

    fn effect(&self, admin: &mut Admin) -> DriverResult<Effect> {
        Effect::of(&admin.query("SELECT count(*), 0 FROM tatp_call_forwarding")?)
    }

    fn effect_says(&self) -> &'static str {
        "the number of call forwardings"
    }

    fn conditions(&self, admin: &mut Admin, _: bool) -> Vec<ConditionVerdict> {
        CONDITIONS
            .iter()
            .map(|one| condition::check(admin, one))
            .collect()
    }

    /// Inserts and deletes pull the number of call forwardings towards a balance, so a long run drifts a little.
    fn audit(&self, outcome: &RunOutcome) -> Vec<Verdict> {
        let expected = FOUND_PERCENT.iter().zip(&outcome.totals.kinds);
        let judged = expected.filter_map(|(expected, totals)| {
            let ((percent, what), sample) = ((*expected)?, totals.latency.len());
            let found = sample - totals.skipped - totals.rolled_back;
            let value = 100.0 * found as f64 / sample.max(1) as f64;
            let (low, high) = (percent - 5.0, percent + 5.0);
            Some(Verdict {
                what,
                value,
                low,
                high,
                unit: "%",
                sample,
                pass: (low..=high).contains(&value),
                judged: sample >= SAMPLE_MIN && self.subscribers >= POPULATION_MIN,
            })
        });
        judged.collect()
    }
}

struct Caller {
    register: Tatp,
    prng: Prng,
    kind: usize,
    subscriber: i32,
    /// An access type or a special facility: both count from 1 to 4.
    facility: i32,
    start: i32,
    end: i32,
    value: i32,
    number: String,
    facilities: Vec<i16>,
}

/// The description's A of the non-uniform draw, by the number of subscribers.
fn spread(subscribers: i32) -> i64 {
    match subscribers {
        ..=1_000_000 => 65_535,
        1_000_001..=10_000_000 => 1_048_575,
        _ => 2_097_151,
    }
}

impl Client for Caller {
    fn draw(&mut self) -> usize {
        let (prng, subscribers) = (&mut self.prng, self.register.subscribers as i64);
        let even = prng.between(1, subscribers);
        self.subscriber = match self.register.uniform {
            true => even as i32,
            false => ((prng.between(0, spread(subscribers as i32)) | even) % subscribers) as i32 + 1,
        };
        self.facility = prng.between(1, 4) as i32;
        self.start = 8 * prng.between(0, 2) as i32;
        self.value = self.prng.between(0, i32::MAX as i64) as i32;
        let mut ticket = self.prng.below(100);
        self.kind = 0;
        while ticket >= SHARES[self.kind] {
            ticket -= SHARES[self.kind];
            self.kind += 1;
        }
        self.end = match self.kind {
            GET_DESTINATION => self.prng.between(1, 24) as i32,
            _ => self.start + self.prng.between(1, 8) as i32,
        };
        self.kind
    }

    fn attempt(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done> {
        let (subscriber, facility) = (self.subscriber, self.facility);
        let found = match self.kind {
            GET_SUBSCRIBER => {
                let reply = exchange.run(SUBSCRIBER, |v| v.int(subscriber))?;
                reply.row("the subscriber")?.int()? == subscriber
            }
            GET_DESTINATION => {
                let reply = exchange.run(DESTINATION, |v| {
                    v.int(subscriber).int(facility).int(self.start).int(self.end)
                })?;
                reply.first_row().is_some()
            }
            GET_ACCESS => {
                let reply = exchange.run(ACCESS, |v| v.int(subscriber).int(facility))?;
                reply.first_row().is_some()
            }
            UPDATE_SUBSCRIBER => return self.update_subscriber(exchange),
            UPDATE_LOCATION => {
                self.write_number(subscriber);
                let reply = exchange.run(SET_LOCATION, |v| v.int(self.value).text(&self.number))?;
                if reply.affected() != 1 {
                    return Err(DriverError::protocol("a subscriber has no number"));
                }
                true
            }
            INSERT_FORWARDING => return self.insert_forwarding(exchange),
            _ => return self.delete_forwarding(exchange),
        };
        Ok(if found { Done::Committed } else { Done::Nothing })
    }
}

impl Caller {
    fn write_number(&mut self, subscriber: i32) {
        self.number.clear();
        write!(self.number, "{subscriber:015}").expect("writing to a String cannot fail");
    }

    fn update_subscriber(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done> {
        let (subscriber, facility, value) = (self.subscriber, self.facility, self.value);
        exchange.begin(SET_BIT, |v| v.int(value & 1).int(subscriber))?;
        let reply = exchange.run(SET_FACILITY, |v| {
            v.int(value >> 8 & 255).int(subscriber).int(facility)
        })?;
        if reply.affected() == 0 {
            exchange.rollback()?;
            return Ok(Done::RolledBack);
        }
        exchange.commit(Effect::default())?;
        Ok(Done::Committed)
    }

    fn insert_forwarding(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done> {
        self.write_number(self.subscriber);
        let reply = exchange.begin(BY_NUMBER, |v| v.text(&self.number))?;
        let subscriber = reply.row("the subscriber")?.int()?;
        self.facilities.clear();
        for mut row in exchange.run(FACILITIES, |v| v.int(subscriber))?.rows() {
            self.facilities.push(row.short()?);
        }
        let to = self.value % self.register.subscribers + 1;
        self.write_number(to);
        let (facility, start, end) = (self.facility, self.start, self.end);
        let inserted = exchange.run(FORWARD, |v| {
            v.int(subscriber)
                .int(facility)
                .int(start)
                .int(end)
                .text(&self.number)
        });
        match inserted.map(|_| ()) {
            Ok(()) => {}
            // It is there already, or there is no such facility: both are part of the workload.
            Err(error) if matches!(error.sqlstate(), "23505" | "23503") => {
                exchange.rollback()?;
                return Ok(Done::RolledBack);
            }
            Err(error) => return Err(error),
        }
        exchange.commit(Effect { rows: 1, amount: 0 })?;
        Ok(Done::Committed)
    }

    fn delete_forwarding(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done> {
        self.write_number(self.subscriber);
        let reply = exchange.begin(BY_NUMBER, |v| v.text(&self.number))?;
        let subscriber = reply.row("the subscriber")?.int()?;
        let (facility, start) = (self.facility, self.start);
        let reply = exchange.run(FORWARD_NO_MORE, |v| v.int(subscriber).int(facility).int(start))?;
        let rows = -(reply.affected() as i64);
        exchange.commit(Effect { rows, amount: 0 })?;
        Ok(if rows == 0 { Done::Nothing } else { Done::Committed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_within_the_register_and_keep_the_shares() {
        let register = Tatp {
            subscribers: 1_000,
            uniform: false,
            seed: 1,
        };
        let mut client = Caller {
            register,
            prng: Prng::new(11),
            kind: 0,
            subscriber: 1,
            facility: 1,
            start: 0,
            end: 1,
            value: 0,
            number: String::new(),
            facilities: Vec::new(),
        };
        let mut counts = [0u32; 7];
        for _ in 0..50_000 {
            counts[client.draw()] += 1;
            assert!((1..=1_000).contains(&client.subscriber) && (1..=4).contains(&client.facility));
            let window = if client.kind == GET_DESTINATION {
                1..=24
            } else {
                client.start + 1..=client.start + 8
            };
            assert!(window.contains(&client.end));
        }
        for (count, share) in counts.iter().zip(SHARES) {
            assert!(
                (*count as f64 / 500.0 - share as f64).abs() < 0.8,
                "{counts:?}, seed 11"
            );
        }
        assert_eq!(SHARES.iter().sum::<u64>(), 100);
    }
}
