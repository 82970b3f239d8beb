//! The rows of TPC-B: balances of zero, and fillers that make a row 100 bytes long (clause 4.2).

use std::io::Write;

use super::{TELLERS_PER_BRANCH, TpcB};
use crate::loader::{Data, Phase, RowSource, counted};

/// Accounts of a unit of loading, at most.
const UNIT_ACCOUNTS: i32 = 100_000;
const FILLER: &str = "                                                                                    ";

pub struct Bank(pub TpcB);

impl Bank {
    fn accounts(&self) -> i32 {
        self.0.branches * self.0.accounts_per_branch
    }
}

impl Data for Bank {
    fn workload(&self) -> &'static str {
        "tpcb"
    }

    fn description(&self) -> String {
        let TpcB {
            branches,
            accounts_per_branch,
        } = self.0;
        format!("{branches} branches of {accounts_per_branch} accounts")
    }

    fn tables(&self) -> &'static [&'static str] {
        &["tpcb_history", "tpcb_account", "tpcb_teller", "tpcb_branch"]
    }

    fn create(&self) -> Vec<String> {
        [
            "CREATE TABLE tpcb_branch (b_id integer NOT NULL, b_balance bigint NOT NULL, b_filler char(88))",
            "CREATE TABLE tpcb_teller (t_id integer NOT NULL, b_id integer NOT NULL, t_balance bigint NOT NULL, \
             t_filler char(84))",
            "CREATE TABLE tpcb_account (a_id integer NOT NULL, b_id integer NOT NULL, a_balance bigint NOT NULL, \
             a_filler char(84))",
            "CREATE TABLE tpcb_history (t_id integer NOT NULL, b_id integer NOT NULL, a_id integer NOT NULL, \
             h_amount bigint NOT NULL, h_time timestamp NOT NULL, h_filler char(22))",
        ]
        .map(String::from)
        .to_vec()
    }

    /// Branches, tellers, then accounts in parts.
    fn units(&self) -> usize {
        2 + (self.accounts() as usize).div_ceil(UNIT_ACCOUNTS as usize)
    }

    fn copy_statement(&self, unit: usize) -> String {
        match unit {
            0 => "COPY tpcb_branch (b_id, b_balance, b_filler) FROM STDIN",
            1 => "COPY tpcb_teller (t_id, b_id, t_balance, t_filler) FROM STDIN",
            _ => "COPY tpcb_account (a_id, b_id, a_balance, a_filler) FROM STDIN",
        }
        .to_string()
    }

    fn rows_expected(&self, unit: usize) -> u64 {
        let rows = match unit {
            0 => self.0.branches,
            1 => self.0.branches * TELLERS_PER_BRANCH,
            _ => (self.accounts() - (unit as i32 - 2) * UNIT_ACCOUNTS).min(UNIT_ACCOUNTS),
        };
        rows as u64
    }

    fn rows(&self, unit: usize) -> RowSource {
        let (rows, per_branch) = (self.rows_expected(unit), self.0.accounts_per_branch);
        let before = (unit as i32 - 2).max(0) * UNIT_ACCOUNTS;
        counted(rows, move |out, number| {
            let id = number as i32 + before;
            let written = match unit {
                0 => writeln!(out, "{id}\t0\t{FILLER}"),
                1 => writeln!(out, "{id}\t{}\t0\t{FILLER}", (id - 1) / TELLERS_PER_BRANCH + 1),
                _ => writeln!(out, "{id}\t{}\t0\t{FILLER}", (id - 1) / per_branch + 1),
            };
            written.expect("writing to a Vec cannot fail");
        })
    }

    fn phases(&self) -> Vec<Phase> {
        let keys = [
            "ALTER TABLE tpcb_branch ADD PRIMARY KEY (b_id)",
            "ALTER TABLE tpcb_teller ADD PRIMARY KEY (t_id)",
            "ALTER TABLE tpcb_account ADD PRIMARY KEY (a_id)",
        ];
        vec![Phase {
            name: "keys",
            statements: keys.map(String::from).to_vec(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_hold_every_account_once() {
        let bank = Bank(TpcB {
            branches: 5,
            accounts_per_branch: 45_000,
        });
        let mut accounts = Vec::new();
        for unit in 2..bank.units() {
            let (mut source, mut out) = (bank.rows(unit), Vec::new());
            while source(&mut out) > 0 {}
            let text = String::from_utf8(out).expect("ASCII");
            accounts.extend(text.lines().map(|line| {
                let mut fields = line.split('\t').map(|field| field.parse::<i32>());
                (fields.next(), fields.next())
            }));
        }
        assert_eq!(accounts.len(), 225_000);
        for (at, (id, branch)) in accounts.iter().enumerate() {
            assert_eq!(id, &Some(Ok(at as i32 + 1)));
            assert_eq!(branch, &Some(Ok(at as i32 / 45_000 + 1)));
        }
    }
}
