//! TPC-B's transaction (revision 2.0 of its specification, retired in 1995): a deposit at a bank of branches, each with ten
//! tellers and 100,000 accounts. Few branches make it a test of hot rows, many of them one of commits.
//!
//! As the specification has it and pgbench does not: a teller belongs to a branch, and 85 % of the accounts are of the
//! teller's branch (clause 5.3.5). The specification's scaling rule and its limits on response time are not judged.

mod rows;

use mote_common::prng::Prng;
use serde_json::{Value, json};

use self::rows::Bank;
use super::condition::{self, Condition, ConditionVerdict};
use super::contract::{Client, Done, Effect, Exchange, Workload};
use super::loader::Data;
use super::statements::statements;
use mote_driver::Format::Binary as B;
use mote_driver::Param::{Int, Long};
use mote_driver::{Admin, DriverResult, StatementSet};

pub const TELLERS_PER_BRANCH: i32 = 10;
/// Of 100 deposits, those to an account of the teller's own branch.
const LOCAL_PERCENT: u64 = 85;
/// The largest amount, in either direction.
const AMOUNT_MAX: i64 = 999_999;

statements! {
    BEGIN() -> [] "BEGIN";
    COMMIT() -> [] "COMMIT";
    ROLLBACK() -> [] "ROLLBACK";
    ACCOUNT(Long, Int) -> []
        "UPDATE tpcb_account SET a_balance = a_balance + $1 WHERE a_id = $2";
    BALANCE(Int) -> [B]
        "SELECT a_balance FROM tpcb_account WHERE a_id = $1";
    TELLER(Long, Int) -> []
        "UPDATE tpcb_teller SET t_balance = t_balance + $1 WHERE t_id = $2";
    BRANCH(Long, Int) -> []
        "UPDATE tpcb_branch SET b_balance = b_balance + $1 WHERE b_id = $2";
    HISTORY(Int, Int, Int, Long) -> []
        "INSERT INTO tpcb_history (t_id, b_id, a_id, h_amount, h_time) VALUES ($1, $2, $3, $4, current_timestamp)";
}

/// Each adds up both sides with opposite signs under one key, so a row that is missing on either side is found.
const CONDITIONS: [Condition; 4] = [
    Condition {
        number: 1,
        says: "a branch's balance is the sum of its tellers'",
        violations: "SELECT count(*) FROM (SELECT k FROM (SELECT b_id AS k, b_balance AS v FROM tpcb_branch \
            UNION ALL SELECT b_id, -t_balance FROM tpcb_teller) AS u GROUP BY k HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 2,
        says: "a branch's balance is the sum of its history",
        violations: "SELECT count(*) FROM (SELECT k FROM (SELECT b_id AS k, b_balance AS v FROM tpcb_branch \
            UNION ALL SELECT b_id, -h_amount FROM tpcb_history) AS u GROUP BY k HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 3,
        says: "a teller's balance is the sum of its history",
        violations: "SELECT count(*) FROM (SELECT k FROM (SELECT t_id AS k, t_balance AS v FROM tpcb_teller \
            UNION ALL SELECT t_id, -h_amount FROM tpcb_history) AS u GROUP BY k HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 4,
        says: "an account's balance is the sum of its history",
        violations: "SELECT count(*) FROM (SELECT k FROM (SELECT a_id AS k, a_balance AS v FROM tpcb_account \
            UNION ALL SELECT a_id, -h_amount FROM tpcb_history) AS u GROUP BY k HAVING sum(v) <> 0) AS bad",
    },
];

#[derive(Clone, Copy, Debug)]
pub struct TpcB {
    pub branches: i32,
    pub accounts_per_branch: i32,
}

impl Workload for TpcB {
    fn name(&self) -> &'static str {
        "tpcb"
    }

    fn title(&self) -> String {
        format!(
            "TPC-B's deposits, {} branches of {} accounts",
            self.branches, self.accounts_per_branch
        )
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["DEPOSIT"]
    }

    fn writing(&self) -> &'static [usize] {
        &[0]
    }

    fn settings(&self) -> Value {
        json!({"branches": self.branches, "accounts_per_branch": self.accounts_per_branch})
    }

    fn data(&self) -> Box<dyn Data + '_> {
        Box::new(Bank(*self))
    }

    fn statements(&self) -> StatementSet {
        statement_set()
    }

    fn client(&self, number: usize, seed: u64) -> Box<dyn Client> {
        Box::new(Depositor {
            bank: *self,
            prng: Prng::fork(seed, 1_000 + number as u64),
            deposit: Deposit::default(),
        })
    }

    fn effect(&self, admin: &mut Admin) -> DriverResult<Effect> {
        let row = admin.query("SELECT count(*), coalesce(sum(h_amount), 0) FROM tpcb_history")?;
        Effect::of(&row)
    }

    fn effect_says(&self) -> &'static str {
        "rows of the history and the sum of their amounts"
    }

    fn conditions(&self, admin: &mut Admin, _: bool) -> Vec<ConditionVerdict> {
        CONDITIONS
            .iter()
            .map(|one| condition::check(admin, one))
            .collect()
    }
}

#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Deposit {
    teller: i32,
    branch: i32,
    account: i32,
    amount: i64,
}

struct Depositor {
    bank: TpcB,
    prng: Prng,
    deposit: Deposit,
}

impl Client for Depositor {
    fn draw(&mut self) -> usize {
        let TpcB {
            branches,
            accounts_per_branch,
        } = self.bank;
        let teller = self.prng.between(1, (branches * TELLERS_PER_BRANCH) as i64) as i32;
        let branch = (teller - 1) / TELLERS_PER_BRANCH + 1;
        let of = if branches == 1 || self.prng.chance(LOCAL_PERCENT, 100) {
            branch
        } else {
            // One of the other branches, each as likely.
            let other = self.prng.between(1, branches as i64 - 1) as i32;
            other + (other >= branch) as i32
        };
        let within = self.prng.between(1, accounts_per_branch as i64) as i32;
        self.deposit = Deposit {
            teller,
            branch,
            account: (of - 1) * accounts_per_branch + within,
            amount: self.prng.between(-AMOUNT_MAX, AMOUNT_MAX),
        };
        0
    }

    fn attempt(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done> {
        let Deposit {
            teller,
            branch,
            account,
            amount,
        } = self.deposit;
        exchange.begin(ACCOUNT, |v| v.long(amount).int(account))?;
        exchange
            .run(BALANCE, |v| v.int(account))?
            .row("the account")?
            .long()?;
        exchange.run(TELLER, |v| v.long(amount).int(teller))?;
        exchange.run(BRANCH, |v| v.long(amount).int(branch))?;
        exchange.run(HISTORY, |v| v.int(teller).int(branch).int(account).long(amount))?;
        exchange.commit(Effect { rows: 1, amount })?;
        Ok(Done::Committed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deposits_are_mostly_local_and_always_exist() {
        let bank = TpcB {
            branches: 4,
            accounts_per_branch: 50,
        };
        let mut client = Depositor {
            bank,
            prng: Prng::new(3),
            deposit: Deposit::default(),
        };
        let mut local = 0;
        for _ in 0..20_000 {
            client.draw();
            let Deposit {
                teller,
                branch,
                account,
                amount,
            } = client.deposit;
            assert!((1..=40).contains(&teller) && branch == (teller - 1) / 10 + 1);
            assert!((1..=200).contains(&account) && amount.abs() <= AMOUNT_MAX);
            local += ((account - 1) / 50 + 1 == branch) as u32;
        }
        assert!((16_700..17_300).contains(&local), "{local} of 20000, seed 3");
    }
}
