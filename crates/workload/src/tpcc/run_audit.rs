//! What the specification asks of a whole run, beside its inputs: the shares of the types, response times that make
//! sense, deliveries that found their orders.

use super::input_audit::{Verdict, share};
use super::mix::{KIND_NAMES, Kind, MixMode};
use mote_measure::RunOutcome;
use mote_measure::collector::KindTotals;

/// Clause 5.2.3: the least shares of the types, in percent. New orders get what is left.
const SHARES_MIN: [(Kind, &str, f64); 4] = [
    (Kind::Payment, "payments of all transactions", 43.0),
    (Kind::OrderStatus, "order statuses of all transactions", 4.0),
    (Kind::Delivery, "deliveries of all transactions", 4.0),
    (Kind::StockLevel, "stock levels of all transactions", 4.0),
];

/// Judges what ended in the measured window. Shares that the experiment did not ask for are remarked upon only, and so is a
/// mean above the 90th percentile in a closed loop, where one stall of the server meets all terminals at once.
pub fn verdicts(outcome: &RunOutcome, mix: MixMode, paced: bool) -> Vec<Verdict> {
    let kinds = &outcome.totals.kinds;
    let count = |kind: Kind| kinds[kind as usize].latency.len();
    let asked: u64 = (0..KIND_NAMES.len())
        .filter(|&kind| kind != Kind::DeliveryBackground as usize)
        .map(|kind| kinds[kind].latency.len())
        .sum();
    let shares = SHARES_MIN.iter().map(|&(kind, what, low)| Verdict {
        judged: mix.share_percent(kind) >= low,
        ..at_least(what, count(kind), asked, low)
    });
    let mut verdicts: Vec<Verdict> = shares.collect();
    verdicts.push(skipping(&kinds[Kind::DeliveryBackground as usize]));
    for (name, totals) in KIND_NAMES.iter().zip(kinds) {
        // Queueing a delivery takes no time to speak of.
        if *name != KIND_NAMES[Kind::Delivery as usize] && totals.latency.len() >= P90_SAMPLE_MIN {
            verdicts.push(Verdict {
                judged: paced,
                ..p90_at_least_mean(name, totals)
            });
        }
    }
    verdicts
}

/// Below this many transactions a percentile and a mean say little about each other.
const P90_SAMPLE_MIN: u64 = 100;

/// A share that may be larger, but for four standard deviations not smaller.
fn at_least(what: &'static str, hits: u64, sample: u64, low: f64) -> Verdict {
    let judged = share(what, hits, sample, low, low);
    Verdict {
        high: 100.0,
        pass: sample == 0 || judged.value >= judged.low,
        ..judged
    }
}

/// Clause 2.7.2.2: at most 1 % of the deliveries, or one, may find a district without an order.
fn skipping(deliveries: &KindTotals) -> Verdict {
    let sample = deliveries.latency.len();
    let value = 100.0 * deliveries.skipping as f64 / sample.max(1) as f64;
    Verdict {
        what: "deliveries that found a district without an order",
        value,
        low: 0.0,
        high: 1.0,
        unit: "%",
        sample,
        pass: value <= 1.0 || deliveries.skipping <= 1,
        judged: true,
    }
}

/// Clause 5.2.5.6: the 90th percentile of a type is not below its mean; shown as a percentage of it.
fn p90_at_least_mean(name: &'static str, totals: &KindTotals) -> Verdict {
    let (p90, mean) = (
        totals.latency.value_at_quantile(0.9) as f64,
        totals.latency.mean(),
    );
    let value = 100.0 * p90 / mean.max(1.0);
    Verdict {
        what: match name {
            "NEW_ORDER" => "90th percentile of new orders, of their mean",
            "PAYMENT" => "90th percentile of payments, of their mean",
            "ORDER_STATUS" => "90th percentile of order statuses, of their mean",
            "STOCK_LEVEL" => "90th percentile of stock levels, of their mean",
            _ => "90th percentile of deliveries, of their mean",
        },
        value,
        low: 100.0,
        high: f64::INFINITY,
        unit: "%",
        sample: totals.latency.len(),
        pass: value >= 100.0,
        judged: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::mix::DEFAULT_WEIGHTS;
    use mote_measure::Collector;

    fn outcome(counts: [u64; 6]) -> RunOutcome {
        let mut totals = Collector::new(KIND_NAMES.len());
        for (kind, count) in totals.kinds.iter_mut().zip(counts) {
            for number in 0..count {
                kind.latency.record(1_000_000 + number * 1_000).expect("in range");
            }
        }
        RunOutcome::of(totals)
    }

    fn failed(outcome: &RunOutcome) -> Vec<&'static str> {
        let all = verdicts(outcome, DEFAULT_WEIGHTS, true);
        all.iter()
            .filter(|verdict| !verdict.pass)
            .map(|verdict| verdict.what)
            .collect()
    }

    #[test]
    fn the_default_mix_passes_and_a_thin_one_fails() {
        assert_eq!(
            failed(&outcome([44_200, 43_200, 4_200, 4_200, 4_200, 4_200])),
            [""; 0]
        );
        assert_eq!(
            failed(&outcome([54_200, 33_200, 4_200, 4_200, 4_200, 4_200])),
            ["payments of all transactions"]
        );
        assert_eq!(failed(&outcome([0; 6])), [""; 0]);
    }

    #[test]
    fn a_mix_that_was_asked_for_is_remarked_upon() {
        let mix: MixMode = "100,0,0,0,0".parse().expect("it adds up");
        let all = verdicts(&outcome([1_000, 0, 0, 0, 0, 0]), mix, false);
        assert!(all.iter().all(Verdict::holds) && all.iter().any(|verdict| !verdict.pass));
    }

    #[test]
    fn deliveries_that_skip_are_judged() {
        let mut run = outcome([44_200, 43_200, 4_200, 4_200, 4_200, 4_200]);
        run.totals.kinds[Kind::DeliveryBackground as usize].skipping = 42;
        assert_eq!(failed(&run), [""; 0]);
        run.totals.kinds[Kind::DeliveryBackground as usize].skipping = 43;
        assert_eq!(
            failed(&run),
            ["deliveries that found a district without an order"]
        );
    }

    #[test]
    fn a_mean_above_the_90th_percentile_is_suspicious() {
        let mut run = outcome([44_200, 43_200, 4_200, 4_200, 4_200, 4_200]);
        let payments = &mut run.totals.kinds[Kind::Payment as usize].latency;
        payments.clear();
        payments.record_n(1_000_000, 42_000).expect("in range");
        payments.record_n(3_000_000_000_000, 1_200).expect("in range");
        assert_eq!(failed(&run), ["90th percentile of payments, of their mean"]);
    }
}
