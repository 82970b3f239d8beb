//! Which transaction comes next, and how long a terminal keys and thinks.

use mote_common::prng::Prng;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    NewOrder = 0,
    Payment = 1,
    OrderStatus = 2,
    StockLevel = 3,
    /// Queueing a delivery, which is what the terminal waits for.
    Delivery = 4,
    /// The deferred part.
    DeliveryBackground = 5,
}

pub const KINDS: [Kind; 6] = [
    Kind::NewOrder,
    Kind::Payment,
    Kind::OrderStatus,
    Kind::StockLevel,
    Kind::Delivery,
    Kind::DeliveryBackground,
];

/// In the order of [`KINDS`].
pub const KIND_NAMES: &[&str] = &[
    "NEW_ORDER",
    "PAYMENT",
    "ORDER_STATUS",
    "STOCK_LEVEL",
    "DELIVERY",
    "DELIVERY_BG",
];

/// How transactions are chosen (clause 5.2.4.2 allows both).
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MixMode {
    /// Independent draws with BenchmarkSQL's default weights: 44.2 / 43.2 / 4.2 / 4.2 / 4.2 %.
    Weights,
    /// A shuffled deck of 23 cards per terminal: 10 / 10 / 1 / 1 / 1.
    Deck,
}

const DECK: [(Kind, usize); 5] = [
    (Kind::NewOrder, 10),
    (Kind::Payment, 10),
    (Kind::OrderStatus, 1),
    (Kind::StockLevel, 1),
    (Kind::Delivery, 1),
];

pub struct Mix {
    mode: MixMode,
    /// Cards that are still to be dealt.
    deck: Vec<Kind>,
}

impl Mix {
    pub fn new(mode: MixMode) -> Mix {
        Mix {
            mode,
            deck: Vec::new(),
        }
    }

    pub fn next(&mut self, prng: &mut Prng) -> Kind {
        match self.mode {
            MixMode::Weights => weighted(prng.below(1000)),
            MixMode::Deck => {
                if self.deck.is_empty() {
                    self.deck.extend(
                        DECK.iter()
                            .flat_map(|&(kind, cards)| std::iter::repeat_n(kind, cards)),
                    );
                    prng.shuffle(&mut self.deck);
                }
                self.deck.pop().expect("a fresh deck is not empty")
            }
        }
    }
}

fn weighted(per_mille: u64) -> Kind {
    match per_mille {
        0..442 => Kind::NewOrder,
        442..874 => Kind::Payment,
        874..916 => Kind::OrderStatus,
        916..958 => Kind::StockLevel,
        _ => Kind::Delivery,
    }
}

impl Kind {
    /// Clause 5.2.5.7: seconds at the keyboard before the transaction.
    pub fn keying_s(self) -> f64 {
        match self {
            Kind::NewOrder => 18.0,
            Kind::Payment => 3.0,
            _ => 2.0,
        }
    }

    /// Clause 5.2.5.7: mean seconds of thought after it.
    pub fn think_mean_s(self) -> f64 {
        match self {
            Kind::NewOrder | Kind::Payment => 12.0,
            Kind::OrderStatus => 10.0,
            _ => 5.0,
        }
    }

    /// Clause 5.2.5.7: the most that the 90th percentile may be, in seconds.
    pub fn limit_s(self) -> f64 {
        match self {
            Kind::StockLevel => 20.0,
            Kind::DeliveryBackground => 80.0,
            _ => 5.0,
        }
    }
}

/// Clause 5.2.5.4: negative exponential, cut at ten times the mean.
pub fn think_s(prng: &mut Prng, mean_s: f64) -> f64 {
    (-(1.0 - prng.unit()).ln() * mean_s).min(10.0 * mean_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deck_deals_the_exact_shares() {
        let (mut mix, mut prng) = (Mix::new(MixMode::Deck), Prng::new(3));
        for _ in 0..50 {
            let mut dealt = [0; 5];
            (0..23).for_each(|_| dealt[mix.next(&mut prng) as usize] += 1);
            assert_eq!(dealt, [10, 10, 1, 1, 1]);
        }
    }

    #[test]
    fn weights_meet_the_minimum_of_the_specification() {
        let (mut mix, mut prng) = (Mix::new(MixMode::Weights), Prng::new(4));
        let mut drawn = [0f64; 5];
        (0..100_000).for_each(|_| drawn[mix.next(&mut prng) as usize] += 0.001);
        for (share, expect) in drawn.iter().zip([44.2, 43.2, 4.2, 4.2, 4.2]) {
            assert!((share - expect).abs() < 0.6, "{drawn:?}");
        }
    }

    #[test]
    fn think_times_have_their_mean_and_their_cut() {
        let mut prng = Prng::new(9);
        let times: Vec<f64> = (0..100_000).map(|_| think_s(&mut prng, 12.0)).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean - 12.0).abs() < 0.2, "{mean}");
        assert!(times.iter().all(|time| (0.0..=120.0).contains(time)));
    }
}
