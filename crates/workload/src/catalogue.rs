//! The workloads of the contract by name, for commands that take any of them.

use super::contract::Workload;
use super::smallbank::SmallBank;
use super::tatp::Tatp;
use super::tpcb::TpcB;
use super::ycsb::{Letter, Ycsb};

/// Letters of a field, where nobody says otherwise: a record of about a kilobyte, as the original's.
pub const FIELD_BYTES: usize = 100;
pub const ACCOUNTS_PER_BRANCH: i32 = 100_000;
pub const HOT_CUSTOMERS: i32 = 100;
pub const HOT_PERCENT: u32 = 25;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    TpcB,
    Ycsb(Letter),
    Tatp,
    SmallBank,
}

impl Known {
    /// What a size counts.
    pub fn counted(self) -> &'static str {
        match self {
            Known::TpcB => "branches",
            Known::Ycsb(_) => "records",
            Known::Tatp => "subscribers",
            Known::SmallBank => "customers",
        }
    }

    fn default_size(self) -> i32 {
        match self {
            Known::TpcB => 10,
            Known::Ycsb(_) | Known::Tatp | Known::SmallBank => 100_000,
        }
    }

    /// With everything but the size as the command line has it by default.
    pub fn build(self, size: Option<i32>, seed: u64) -> Box<dyn Workload> {
        let size = size.unwrap_or(self.default_size());
        match self {
            Known::TpcB => Box::new(TpcB {
                branches: size,
                accounts_per_branch: ACCOUNTS_PER_BRANCH,
            }),
            Known::Ycsb(letter) => Box::new(Ycsb::new(letter, size as u64, FIELD_BYTES, seed)),
            Known::Tatp => Box::new(Tatp {
                subscribers: size,
                uniform: false,
                seed,
            }),
            Known::SmallBank => Box::new(SmallBank {
                customers: size.max(2),
                hot_customers: HOT_CUSTOMERS.min(size.max(2)),
                hot_percent: HOT_PERCENT,
                seed,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::shared_statements;

    #[test]
    fn every_workload_keeps_the_contract() {
        let letters = [Letter::A, Letter::B, Letter::C, Letter::D, Letter::E, Letter::F];
        let all = letters.map(Known::Ycsb).into_iter();
        for known in all.chain([Known::TpcB, Known::Tatp, Known::SmallBank]) {
            let workload = known.build(Some(50), 1);
            assert!(!shared_statements(&*workload).is_empty());
            let data = workload.data();
            assert!(data.description().len() < 150 && !data.description().contains('\''));
            for unit in 0..data.units() {
                let (mut source, mut out, mut rows) = (data.rows(unit), Vec::new(), 0);
                loop {
                    match source(&mut out) {
                        0 => break,
                        more => rows += more,
                    }
                }
                assert_eq!(out.iter().filter(|byte| **byte == b'\n').count() as u64, rows);
                let mut again = Vec::new();
                let mut source = data.rows(unit);
                while source(&mut again) > 0 {}
                assert!(
                    out == again,
                    "{} unit {unit}: rows depend on the seed alone",
                    workload.name()
                );
            }
            let mut client = workload.client(3, 5);
            for _ in 0..200 {
                assert!(client.draw() < workload.kinds().len());
                client.settled();
            }
            assert!(
                workload
                    .writing()
                    .iter()
                    .all(|kind| *kind < workload.kinds().len())
            );
        }
    }
}
