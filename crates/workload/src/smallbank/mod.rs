//! SmallBank (Alomari and others, 2008): a bank of customers with a savings and a checking account each, in six short
//! transactions. Under snapshot isolation a balance, a write check and a savings transaction can be skewed; money is never
//! made or lost by any of them.
//!
//! Shares and hot spot are those of BenchBase, amounts are in cents. A transaction changes a balance by what it computed
//! from its reads (`bal = bal - $1`), as BenchBase does, so that the sum holds at every isolation level; an amalgamation
//! moves the money of its first customer to the second one's checking account, as the paper has it and BenchBase does not.

mod rows;

use std::fmt::Write;

use mote_common::prng::Prng;
use serde_json::{Value, json};

use self::rows::Customers;
use super::condition::{self, Condition, ConditionVerdict};
use super::contract::{Client, Done, Effect, Exchange, Workload};
use super::loader::Data;
use super::statements::statements;
use mote_driver::Format::Binary as B;
use mote_driver::Param::{Int, Long, Text};
use mote_driver::{Admin, DriverError, DriverResult, StatementId, StatementSet};

statements! {
    BEGIN() -> [] "BEGIN";
    COMMIT() -> [] "COMMIT";
    ROLLBACK() -> [] "ROLLBACK";
    CUSTOMER(Text) -> [B] "SELECT custid FROM sb_account WHERE name = $1";
    SAVINGS(Int) -> [B] "SELECT bal FROM sb_savings WHERE custid = $1";
    CHECKING(Int) -> [B] "SELECT bal FROM sb_checking WHERE custid = $1";
    ADD_SAVINGS(Long, Int) -> [] "UPDATE sb_savings SET bal = bal + $1 WHERE custid = $2";
    ADD_CHECKING(Long, Int) -> [] "UPDATE sb_checking SET bal = bal + $1 WHERE custid = $2";
}

const CONDITIONS: [Condition; 2] = [
    Condition {
        number: 1,
        says: "every customer has one savings and one checking account",
        violations: "SELECT count(*) FROM (SELECT k FROM (SELECT custid AS k, 1 AS a, 0 AS s, 0 AS c FROM sb_account \
            UNION ALL SELECT custid, 0, 1, 0 FROM sb_savings UNION ALL SELECT custid, 0, 0, 1 FROM sb_checking) AS u \
            GROUP BY k HAVING sum(a) <> 1 OR sum(s) <> 1 OR sum(c) <> 1) AS bad",
    },
    // The first to update wins at these levels, so what was read before still holds.
    Condition {
        number: 2,
        says: "no savings account is overdrawn (at REPEATABLE READ and above)",
        violations: "SELECT count(*) FROM sb_savings WHERE bal < 0",
    },
];

/// Types of transactions, with their shares of 100.
const KINDS: &[&str] = &["BALANCE", "DEPOSIT", "SAVINGS", "AMALGAMATE", "CHECK", "PAYMENT"];
const SHARES: [u64; 6] = [15, 15, 15, 15, 15, 25];
const BALANCE: usize = 0;
const DEPOSIT: usize = 1;
const SAVE: usize = 2;
const AMALGAMATE: usize = 3;
const CHECK: usize = 4;
const PAYMENT: usize = 5;

/// Amounts in cents, as BenchBase has them.
const DEPOSIT_CENTS: i64 = 130;
const SAVINGS_CENTS: i64 = 2_020;
const CHECK_CENTS: i64 = 500;
const PAYMENT_CENTS: i64 = 500;
/// What an overdraft costs.
const PENALTY_CENTS: i64 = 100;

#[derive(Clone, Copy, Debug)]
pub struct SmallBank {
    pub customers: i32,
    /// So many customers at the front take `hot_percent` of the transactions.
    pub hot_customers: i32,
    pub hot_percent: u32,
    pub seed: u64,
}

impl Workload for SmallBank {
    fn name(&self) -> &'static str {
        "smallbank"
    }

    fn title(&self) -> String {
        format!("SmallBank, {} customers", self.customers)
    }

    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn writing(&self) -> &'static [usize] {
        &[DEPOSIT, SAVE, AMALGAMATE, CHECK, PAYMENT]
    }

    fn settings(&self) -> Value {
        json!({"customers": self.customers, "hot_customers": self.hot_customers, "hot_percent": self.hot_percent})
    }

    fn data(&self) -> Box<dyn Data + '_> {
        Box::new(Customers(*self))
    }

    fn statements(&self) -> StatementSet {
        statement_set()
    }

    fn client(&self, number: usize, seed: u64) -> Box<dyn Client> {
        Box::new(Customer {
            bank: *self,
            prng: Prng::fork(seed, 1_000 + number as u64),
            kind: BALANCE,
            pair: (1, 2),
            name: String::new(),
        })
    }

    fn effect(&self, admin: &mut Admin) -> DriverResult<Effect> {
        let row = admin.query(
            "SELECT 0, coalesce(sum(bal), 0) FROM (SELECT bal FROM sb_savings UNION ALL SELECT bal FROM sb_checking) AS u",
        )?;
        Effect::of(&row)
    }

    fn effect_says(&self) -> &'static str {
        "the sum of all balances"
    }

    fn conditions(&self, admin: &mut Admin, repeatable: bool) -> Vec<ConditionVerdict> {
        let judged = &CONDITIONS[..if repeatable { 2 } else { 1 }];
        judged.iter().map(|one| condition::check(admin, one)).collect()
    }
}

struct Customer {
    bank: SmallBank,
    prng: Prng,
    kind: usize,
    pair: (i32, i32),
    name: String,
}

/// The kind that `ticket` of 0..100 draws.
fn drawn(mut ticket: u64) -> usize {
    for (kind, share) in SHARES.iter().enumerate() {
        if ticket < *share {
            return kind;
        }
        ticket -= share;
    }
    PAYMENT
}

impl Client for Customer {
    fn draw(&mut self) -> usize {
        let SmallBank {
            customers,
            hot_customers,
            hot_percent,
            ..
        } = self.bank;
        let hot = self.prng.chance(hot_percent as u64, 100);
        let (low, high) = match hot || hot_customers == customers {
            true => (1, hot_customers),
            false => (hot_customers + 1, customers),
        };
        let mut draw = || self.prng.between(low as i64, high as i64) as i32;
        self.pair = (draw(), draw());
        while self.pair.1 == self.pair.0 {
            // Of one hot customer there is no second.
            self.pair.1 = self.prng.between(1, customers as i64) as i32;
        }
        self.kind = drawn(self.prng.below(100));
        self.kind
    }

    fn attempt(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done> {
        let first = self.look_up(exchange, self.pair.0, true)?;
        match self.kind {
            BALANCE => {
                funds(exchange, SAVINGS, first)?;
                funds(exchange, CHECKING, first)?;
                exchange.commit(Effect::default())?;
            }
            DEPOSIT => {
                add(exchange, ADD_CHECKING, DEPOSIT_CENTS, first)?;
                commit_change(exchange, DEPOSIT_CENTS)?;
            }
            SAVE => {
                let amount = if self.prng.chance(1, 2) {
                    SAVINGS_CENTS
                } else {
                    -SAVINGS_CENTS
                };
                if funds(exchange, SAVINGS, first)? + amount < 0 {
                    exchange.rollback()?;
                    return Ok(Done::RolledBack);
                }
                add(exchange, ADD_SAVINGS, amount, first)?;
                commit_change(exchange, amount)?;
            }
            AMALGAMATE => {
                let second = self.look_up(exchange, self.pair.1, false)?;
                let savings = funds(exchange, SAVINGS, first)?;
                let checking = funds(exchange, CHECKING, first)?;
                add(exchange, ADD_SAVINGS, -savings, first)?;
                add(exchange, ADD_CHECKING, -checking, first)?;
                add(exchange, ADD_CHECKING, savings + checking, second)?;
                exchange.commit(Effect::default())?;
            }
            CHECK => {
                let total = funds(exchange, SAVINGS, first)? + funds(exchange, CHECKING, first)?;
                let penalty = if total < CHECK_CENTS { PENALTY_CENTS } else { 0 };
                add(exchange, ADD_CHECKING, -CHECK_CENTS - penalty, first)?;
                commit_change(exchange, -CHECK_CENTS - penalty)?;
            }
            _ => {
                let second = self.look_up(exchange, self.pair.1, false)?;
                if funds(exchange, CHECKING, first)? < PAYMENT_CENTS {
                    exchange.rollback()?;
                    return Ok(Done::RolledBack);
                }
                add(exchange, ADD_CHECKING, -PAYMENT_CENTS, first)?;
                add(exchange, ADD_CHECKING, PAYMENT_CENTS, second)?;
                exchange.commit(Effect::default())?;
            }
        }
        Ok(Done::Committed)
    }
}

impl Customer {
    /// Customers are known by name; `first` opens the transaction.
    fn look_up(&mut self, exchange: &mut Exchange<'_, '_>, number: i32, first: bool) -> DriverResult<i32> {
        self.name.clear();
        write!(self.name, "customer{number:010}").expect("writing to a String cannot fail");
        let reply = match first {
            true => exchange.begin(CUSTOMER, |v| v.text(&self.name))?,
            false => exchange.run(CUSTOMER, |v| v.text(&self.name))?,
        };
        reply.row("the customer")?.int()
    }
}

fn funds(exchange: &mut Exchange<'_, '_>, of: StatementId, customer: i32) -> DriverResult<i64> {
    exchange.run(of, |v| v.int(customer))?.row("the account")?.long()
}

fn add(exchange: &mut Exchange<'_, '_>, to: StatementId, amount: i64, customer: i32) -> DriverResult<()> {
    match exchange.run(to, |v| v.long(amount).int(customer))?.affected() {
        1 => Ok(()),
        rows => Err(DriverError::protocol(format!(
            "an account was updated in {rows} rows"
        ))),
    }
}

fn commit_change(exchange: &mut Exchange<'_, '_>, amount: i64) -> DriverResult<()> {
    exchange.commit(Effect { rows: 0, amount })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_hot_customers_are_as_asked() {
        let bank = SmallBank {
            customers: 1_000,
            hot_customers: 10,
            hot_percent: 25,
            seed: 1,
        };
        let mut client = Customer {
            bank,
            prng: Prng::new(5),
            kind: 0,
            pair: (1, 2),
            name: String::new(),
        };
        let (mut kinds, mut hot) = ([0u32; 6], 0);
        for _ in 0..40_000 {
            kinds[client.draw()] += 1;
            assert!(client.pair.0 != client.pair.1 && (1..=1_000).contains(&client.pair.1));
            hot += (client.pair.0 <= 10) as u32;
        }
        assert!((9_600..10_400).contains(&hot), "{hot} of 40000, seed 5");
        for (count, share) in kinds.iter().zip(SHARES) {
            let share = share as f64 / 100.0;
            assert!(
                (*count as f64 / 40_000.0 - share).abs() < 0.01,
                "{kinds:?}, seed 5"
            );
        }
        assert_eq!(SHARES.iter().sum::<u64>(), 100);
        assert_eq!((drawn(0), drawn(14), drawn(15), drawn(99)), (0, 0, 1, 5));
    }

    #[test]
    fn one_hot_customer_finds_a_partner() {
        let bank = SmallBank {
            customers: 2,
            hot_customers: 1,
            hot_percent: 100,
            seed: 1,
        };
        let mut client = Customer {
            bank,
            prng: Prng::new(5),
            kind: 0,
            pair: (1, 2),
            name: String::new(),
        };
        client.draw();
        assert_eq!(client.pair, (1, 2));
    }
}
