//! What a terminal's user types in: the inputs of the five transactions (clauses 2.4.1 to 2.8.1).
//!
//! Inputs are drawn before the clock of a transaction starts and survive its retries, so that a retried transaction
//! is the same transaction. They hold no heap memory.

use mote_common::prng::Prng;

use super::random::{LastName, NurandConstants};

pub const LINES_MAX: usize = 15;
/// An item number that no item has: makes one new order in a hundred roll back (clause 2.4.1.4).
pub const UNUSED_ITEM: i32 = 999_999;

#[derive(Clone, Copy)]
pub struct LineInput {
    pub item: i32,
    pub supply_warehouse: i32,
    pub quantity: i32,
}

#[derive(Clone, Copy)]
pub struct NewOrderInput {
    pub warehouse: i32,
    pub district: i32,
    pub customer: i32,
    pub count: usize,
    /// The first `count` are used. Ordered by (warehouse, item), so that concurrent new orders lock stock rows in
    /// one order; an unused item stands last, since all other work must be done before it is noticed.
    pub lines: [LineInput; LINES_MAX],
}

impl NewOrderInput {
    pub fn lines(&self) -> &[LineInput] {
        &self.lines[..self.count]
    }

    pub fn all_local(&self) -> bool {
        self.lines()
            .iter()
            .all(|line| line.supply_warehouse == self.warehouse)
    }
}

#[derive(Clone, Copy)]
pub enum CustomerKey {
    Id(i32),
    Name(LastName),
}

#[derive(Clone, Copy)]
pub struct PaymentInput {
    pub warehouse: i32,
    pub district: i32,
    pub customer_warehouse: i32,
    pub customer_district: i32,
    pub customer: CustomerKey,
    pub amount: f64,
}

#[derive(Clone, Copy)]
pub struct OrderStatusInput {
    pub warehouse: i32,
    pub district: i32,
    pub customer: CustomerKey,
}

#[derive(Clone, Copy)]
pub struct StockLevelInput {
    pub warehouse: i32,
    pub district: i32,
    pub threshold: i32,
}

#[derive(Clone, Copy)]
pub struct DeliveryInput {
    pub warehouse: i32,
    pub carrier: i32,
}

#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant)] // one lives on a terminal's stack at a time
pub enum Input {
    NewOrder(NewOrderInput),
    Payment(PaymentInput),
    OrderStatus(OrderStatusInput),
    StockLevel(StockLevelInput),
    Delivery(DeliveryInput),
}

/// Draws inputs for one terminal.
pub struct Source {
    pub prng: Prng,
    pub constants: NurandConstants,
    /// The warehouses in use: the first, and how many.
    pub first: i32,
    pub warehouses: i32,
}

impl Source {
    pub fn district(&mut self) -> i32 {
        self.prng.between(1, 10) as i32
    }

    /// Any warehouse.
    pub fn warehouse(&mut self) -> i32 {
        self.first + self.prng.between(0, self.warehouses as i64 - 1) as i32
    }

    /// A warehouse other than `home`, or `home` when there is no other.
    fn other_warehouse(&mut self, home: i32) -> i32 {
        if self.warehouses == 1 {
            return home;
        }
        let drawn = self.first + self.prng.between(0, self.warehouses as i64 - 2) as i32;
        if drawn >= home { drawn + 1 } else { drawn }
    }

    pub fn new_order(&mut self, warehouse: i32) -> NewOrderInput {
        let count = self.prng.between(5, LINES_MAX as i64) as usize;
        let mut input = NewOrderInput {
            warehouse,
            district: self.district(),
            customer: self.constants.customer_id(&mut self.prng),
            count,
            lines: [LineInput {
                item: 0,
                supply_warehouse: warehouse,
                quantity: 0,
            }; LINES_MAX],
        };
        for line in &mut input.lines[..count] {
            line.item = self.constants.item_id(&mut self.prng);
            line.quantity = self.prng.between(1, 10) as i32;
            if self.prng.chance(1, 100) {
                line.supply_warehouse = self.other_warehouse(warehouse);
            }
        }
        let rolls_back = self.prng.chance(1, 100);
        let valid = count - rolls_back as usize;
        input.lines[..valid].sort_unstable_by_key(|line| (line.supply_warehouse, line.item));
        if rolls_back {
            input.lines[valid].item = UNUSED_ITEM;
        }
        input
    }

    fn customer_key(&mut self) -> CustomerKey {
        if self.prng.chance(60, 100) {
            CustomerKey::Name(LastName::new(self.constants.last_name_number(&mut self.prng)))
        } else {
            CustomerKey::Id(self.constants.customer_id(&mut self.prng))
        }
    }

    pub fn payment(&mut self, warehouse: i32) -> PaymentInput {
        let district = self.district();
        let remote = self.prng.chance(15, 100);
        let (customer_warehouse, customer_district) = if remote {
            (self.other_warehouse(warehouse), self.district())
        } else {
            (warehouse, district)
        };
        PaymentInput {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer_key(),
            amount: self.prng.between(100, 500_000) as f64 / 100.0,
        }
    }

    pub fn order_status(&mut self, warehouse: i32) -> OrderStatusInput {
        OrderStatusInput {
            warehouse,
            district: self.district(),
            customer: self.customer_key(),
        }
    }

    /// The terminal's own district, which stays the same as long as its warehouse does (clause 2.8.1.1).
    pub fn stock_level(&mut self, warehouse: i32, district: i32) -> StockLevelInput {
        StockLevelInput {
            warehouse,
            district,
            threshold: self.prng.between(10, 20) as i32,
        }
    }

    pub fn delivery(&mut self, warehouse: i32) -> DeliveryInput {
        DeliveryInput {
            warehouse,
            carrier: self.prng.between(1, 10) as i32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::input_audit::InputAudit;

    fn source(warehouses: i32) -> Source {
        let mut prng = Prng::new(17);
        let constants = NurandConstants::for_load(&mut prng);
        Source {
            prng,
            constants,
            first: 1,
            warehouses,
        }
    }

    #[test]
    fn new_orders_lock_stock_in_one_order() {
        let (mut source, mut audit) = (source(5), InputAudit::default());
        for number in 0..20_000 {
            let input = source.new_order(3);
            audit.note(&Input::NewOrder(input), (number % 10 == 0) as u32);
            let valid: Vec<_> = input
                .lines()
                .iter()
                .filter(|line| line.item != UNUSED_ITEM)
                .collect();
            assert!(valid.windows(2).all(|pair| {
                (pair[0].supply_warehouse, pair[0].item) <= (pair[1].supply_warehouse, pair[1].item)
            }));
            assert!(valid.len() + 1 >= input.count);
            assert!(
                input
                    .lines()
                    .iter()
                    .all(|line| (1..=5).contains(&line.supply_warehouse))
            );
        }
        // A tenth of the orders with one brand each, of ten lines.
        let verdicts = audit.verdicts(5);
        assert!(verdicts.iter().all(|verdict| verdict.pass), "{verdicts:?}");
    }

    #[test]
    fn a_remote_warehouse_is_never_home() {
        let mut source = source(4);
        for home in 1..=4 {
            assert!((0..1000).all(|_| source.other_warehouse(home) != home));
        }
        source.warehouses = 1;
        assert_eq!(source.other_warehouse(1), 1);
    }

    #[test]
    fn payments_and_order_statuses_pass_the_audit() {
        let (mut source, mut audit) = (source(10), InputAudit::default());
        for _ in 0..20_000 {
            let input = source.payment(7);
            assert!((1.0..=5000.0).contains(&input.amount));
            audit.note(&Input::Payment(input), 0);
            audit.note(&Input::OrderStatus(source.order_status(7)), 0);
        }
        let verdicts = audit.verdicts(10);
        assert!(
            verdicts
                .iter()
                .filter(|verdict| verdict.sample > 0)
                .all(|verdict| verdict.pass),
            "{verdicts:?}"
        );
    }

    #[test]
    fn a_window_of_warehouses_is_never_left() {
        let mut source = source(5);
        source.first = 11;
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..4_000 {
            let home = source.warehouse();
            let payment = source.payment(home);
            seen.extend([home, payment.customer_warehouse]);
            seen.extend(
                source
                    .new_order(home)
                    .lines()
                    .iter()
                    .map(|line| line.supply_warehouse),
            );
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [11, 12, 13, 14, 15]);
    }
}
