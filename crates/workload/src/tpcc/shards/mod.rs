//! Order entry over several servers: warehouses are dealt out among them, and a transaction that changes rows on two commits
//! in two phases, with the driver as its coordinator.
//!
//! Read in this order: this file (who has which warehouse), `branches` (a transaction's other servers, and its commit),
//! `decisions` (who says whether it has committed, and what becomes of one that nobody has finished), `conditions` (the
//! proofs over all servers).
//!
//! Placement: every row lies with its own warehouse; ITEM, which nobody changes, lies everywhere. A history row lies with the
//! warehouse that was paid at, so it may tell of a customer of another server; an order line may name the stock of another
//! server. The two foreign keys that would cross servers are left out.
//!
//! Leaves out: a snapshot over all servers. A reader may see one server's part of a transaction before the other's; no
//! transaction of the workload reads on two servers without changing both.

pub mod branches;
pub mod conditions;
pub mod decisions;

use serde::Serialize;

use super::input::Input;

/// One server's place among all that have parts of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Shard {
    /// From 0.
    pub number: usize,
    pub of: usize,
}

impl Shard {
    /// The only server there is.
    pub const WHOLE: Shard = Shard { number: 0, of: 1 };

    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Which of `warehouses` it has.
    pub fn warehouses(self, warehouses: i32) -> Vec<i32> {
        (1..=warehouses)
            .filter(|warehouse| shard_of(*warehouse, self.of) == self.number)
            .collect()
    }
}

/// Warehouses are dealt out one by one, so servers differ by one of them at most.
pub fn shard_of(warehouse: i32, servers: usize) -> usize {
    (warehouse - 1) as usize % servers
}

/// Calls `each` with the warehouses whose rows a transaction reads or changes, its own first.
pub fn touched(input: &Input, mut each: impl FnMut(i32)) {
    match input {
        Input::NewOrder(input) => {
            each(input.warehouse);
            input.lines().iter().for_each(|line| each(line.supply_warehouse));
        }
        Input::Payment(input) => {
            each(input.warehouse);
            each(input.customer_warehouse);
        }
        Input::OrderStatus(input) => each(input.warehouse),
        Input::StockLevel(input) => each(input.warehouse),
        Input::Delivery(input) => each(input.warehouse),
    }
}

/// What a run over several servers has done.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Counts {
    /// Transactions that have committed.
    pub committed: u64,
    /// Of them, those that have changed rows on two servers or more, and so were prepared.
    pub distributed: u64,
    /// Attempts that were rolled back after they had been prepared somewhere.
    pub undone: u64,
    /// Prepared parts that their driver finished only after it had lost their server.
    pub finished_late: u64,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.committed += other.committed;
        self.distributed += other.distributed;
        self.undone += other.undone;
        self.finished_late += other.finished_late;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warehouse_has_one_server() {
        for of in 1..=5 {
            let mut all: Vec<i32> = (0..of)
                .flat_map(|number| Shard { number, of }.warehouses(11))
                .collect();
            all.sort_unstable();
            assert_eq!(all, (1..=11).collect::<Vec<_>>());
        }
        assert!(Shard { number: 1, of: 2 }.warehouses(1).is_empty());
    }
}
