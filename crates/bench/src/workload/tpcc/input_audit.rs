//! Clause 9.2.2.5: whether the inputs that were drawn have the shares that the specification demands.

use serde::Serialize;

use super::input::{CustomerKey, NewOrderInput, OrderStatusInput, PaymentInput};

/// Counts of inputs drawn; mergeable.
#[derive(Clone, Copy, Default, Debug)]
pub struct InputAudit {
    new_orders: u64,
    rolled_back: u64,
    lines: u64,
    remote_lines: u64,
    payments: u64,
    remote_payments: u64,
    payments_by_name: u64,
    order_statuses: u64,
    order_statuses_by_name: u64,
}

/// One line of the audit.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub what: &'static str,
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub unit: &'static str,
    pub sample: u64,
    pub pass: bool,
}

impl InputAudit {
    pub fn new_order(&mut self, input: &NewOrderInput, rolls_back: bool) {
        self.new_orders += 1;
        self.rolled_back += rolls_back as u64;
        self.lines += input.count as u64;
        let remote = input
            .lines()
            .iter()
            .filter(|line| line.supply_warehouse != input.warehouse);
        self.remote_lines += remote.count() as u64;
    }

    pub fn payment(&mut self, input: &PaymentInput) {
        self.payments += 1;
        self.remote_payments += (input.customer_warehouse != input.warehouse) as u64;
        self.payments_by_name += matches!(input.customer, CustomerKey::Name(_)) as u64;
    }

    pub fn order_status(&mut self, input: &OrderStatusInput) {
        self.order_statuses += 1;
        self.order_statuses_by_name += matches!(input.customer, CustomerKey::Name(_)) as u64;
    }

    pub fn merge(&mut self, other: &InputAudit) {
        self.new_orders += other.new_orders;
        self.rolled_back += other.rolled_back;
        self.lines += other.lines;
        self.remote_lines += other.remote_lines;
        self.payments += other.payments;
        self.remote_payments += other.remote_payments;
        self.payments_by_name += other.payments_by_name;
        self.order_statuses += other.order_statuses;
        self.order_statuses_by_name += other.order_statuses_by_name;
    }

    /// One warehouse has no remote inputs, so those lines are left out for it.
    pub fn verdicts(&self, warehouses: i32) -> Vec<Verdict> {
        let mut verdicts = vec![
            share(
                "new orders rolled back",
                self.rolled_back,
                self.new_orders,
                0.9,
                1.1,
            ),
            mean_lines(self.lines, self.new_orders),
            share(
                "payments by last name",
                self.payments_by_name,
                self.payments,
                57.0,
                63.0,
            ),
            share(
                "order statuses by last name",
                self.order_statuses_by_name,
                self.order_statuses,
                57.0,
                63.0,
            ),
        ];
        if warehouses > 1 {
            verdicts.push(share(
                "order lines from a remote warehouse",
                self.remote_lines,
                self.lines,
                0.95,
                1.05,
            ));
            verdicts.push(share(
                "payments of remote customers",
                self.remote_payments,
                self.payments,
                14.0,
                16.0,
            ));
        }
        verdicts
    }
}

/// Judges a share in percent. The specification's bounds are meant for two-hour runs: for small samples they are
/// widened to four standard deviations around their middle, so that a short run does not fail by chance.
fn share(what: &'static str, hits: u64, sample: u64, low: f64, high: f64) -> Verdict {
    let value = 100.0 * hits as f64 / sample.max(1) as f64;
    let middle = (low + high) / 200.0;
    let slack = 400.0 * (middle * (1.0 - middle) / sample.max(1) as f64).sqrt();
    let (low, high) = (
        low.min(100.0 * middle - slack).max(0.0),
        high.max(100.0 * middle + slack).min(100.0),
    );
    Verdict {
        what,
        value,
        low,
        high,
        unit: "%",
        sample,
        pass: (low..=high).contains(&value),
    }
}

/// Lines per order are uniform in 5..=15: mean 10, standard deviation the square root of 10.
fn mean_lines(lines: u64, orders: u64) -> Verdict {
    let value = lines as f64 / orders.max(1) as f64;
    let slack = (4.0 * (10.0 / orders.max(1) as f64).sqrt()).max(0.5);
    let (low, high) = (10.0 - slack, 10.0 + slack);
    let pass = orders == 0 || (low..=high).contains(&value);
    Verdict {
        what: "lines per order",
        value,
        low,
        high,
        unit: "",
        sample: orders,
        pass,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_share_fails_once_the_sample_is_large() {
        assert!(share("x", 2, 100, 0.9, 1.1).pass);
        assert!(!share("x", 2_000, 100_000, 0.9, 1.1).pass);
        assert!(share("x", 1_000, 100_000, 0.9, 1.1).pass);
        assert!(share("x", 0, 0, 57.0, 63.0).pass);
    }
}
