//! Which transaction comes next, and how long a terminal keys and thinks.

use std::fmt;
use std::str::FromStr;

use mote_common::prng::Prng;
use serde::{Serialize, Serializer};

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

/// The types that write, by their place in [`KIND_NAMES`].
pub const WRITING: [usize; 3] = [
    Kind::NewOrder as usize,
    Kind::Payment as usize,
    Kind::DeliveryBackground as usize,
];

/// How transactions are chosen (clause 5.2.4.2 allows both).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MixMode {
    /// Independent draws; hundredths of a percent of new orders, payments, order statuses, deliveries, stock levels.
    Weights([u32; 5]),
    /// A shuffled deck of 23 cards per terminal: 10 / 10 / 1 / 1 / 1.
    Deck,
}

/// BenchmarkSQL's default weights: 44.2 / 43.2 / 4.2 / 4.2 / 4.2 %.
pub const DEFAULT_WEIGHTS: MixMode = MixMode::Weights([4_420, 4_320, 420, 420, 420]);

/// What the weights belong to.
const WEIGHED: [Kind; 5] = [
    Kind::NewOrder,
    Kind::Payment,
    Kind::OrderStatus,
    Kind::Delivery,
    Kind::StockLevel,
];

/// Hundredths of a percent in the whole.
const WHOLE: u32 = 10_000;

impl FromStr for MixMode {
    type Err = String;

    fn from_str(text: &str) -> Result<MixMode, String> {
        match text {
            "deck" => return Ok(MixMode::Deck),
            "weights" => return Ok(DEFAULT_WEIGHTS),
            _ => {}
        }
        let advice = || {
            "give `weights`, `deck`, or five percentages such as 45,43,4,4,4 (new orders, payments, order statuses, \
             deliveries, stock levels) that add up to 100"
                .to_string()
        };
        let mut weights = [0; 5];
        let mut parts = text.split(',');
        for weight in &mut weights {
            let percent: f64 = parts
                .next()
                .and_then(|part| part.trim().parse().ok())
                .ok_or_else(advice)?;
            if !(0.0..=100.0).contains(&percent) {
                return Err(advice());
            }
            *weight = (percent * 100.0).round() as u32;
        }
        match parts.next().is_none() && weights.iter().sum::<u32>() == WHOLE {
            true => Ok(MixMode::Weights(weights)),
            false => Err(advice()),
        }
    }
}

impl MixMode {
    /// What share of the terminals' transactions is asked for, in percent.
    pub fn share_percent(self, kind: Kind) -> f64 {
        match self {
            MixMode::Deck => {
                let cards = DECK
                    .iter()
                    .find(|(dealt, _)| *dealt == kind)
                    .map_or(0, |(_, cards)| *cards);
                let all: usize = DECK.iter().map(|(_, cards)| cards).sum();
                100.0 * cards as f64 / all as f64
            }
            MixMode::Weights(weights) => {
                let position = WEIGHED.iter().position(|weighed| *weighed == kind);
                position.map_or(0.0, |position| weights[position] as f64 / 100.0)
            }
        }
    }
}

impl fmt::Display for MixMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MixMode::Deck => f.write_str("deck"),
            MixMode::Weights(weights) => {
                let percent: Vec<String> = weights
                    .iter()
                    .map(|&weight| (weight as f64 / 100.0).to_string())
                    .collect();
                f.write_str(&percent.join(","))
            }
        }
    }
}

impl Serialize for MixMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
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
            MixMode::Weights(weights) => weighted(&weights, prng.below(WHOLE as u64) as u32),
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

fn weighted(weights: &[u32; 5], drawn: u32) -> Kind {
    let mut below = 0;
    for (kind, weight) in WEIGHED.into_iter().zip(weights) {
        below += weight;
        if drawn < below {
            return kind;
        }
    }
    unreachable!("the weights add up to the whole")
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
        let (mut mix, mut prng) = (Mix::new(DEFAULT_WEIGHTS), Prng::new(4));
        let mut drawn = [0f64; 5];
        (0..100_000).for_each(|_| drawn[mix.next(&mut prng) as usize] += 0.001);
        for (share, expect) in drawn.iter().zip([44.2, 43.2, 4.2, 4.2, 4.2]) {
            assert!((share - expect).abs() < 0.6, "{drawn:?}");
        }
    }

    #[test]
    fn a_mix_is_read_as_it_is_shown() {
        let asked: MixMode = "45,43,4,4,4".parse().expect("it adds up");
        assert_eq!(asked, MixMode::Weights([4_500, 4_300, 400, 400, 400]));
        assert_eq!(asked.to_string(), "45,43,4,4,4");
        assert_eq!(DEFAULT_WEIGHTS.to_string().parse(), Ok(DEFAULT_WEIGHTS));
        assert_eq!("deck".parse(), Ok(MixMode::Deck));
        for wrong in [
            "",
            "45,43,4,4",
            "45,43,4,4,5",
            "45,43,4,4,4,0",
            "-5,93,4,4,4",
            "x,1,1,1,1",
        ] {
            assert!(wrong.parse::<MixMode>().is_err(), "{wrong}");
        }
        let (mut mix, mut prng) = (Mix::new("0,0,0,100,0".parse().expect("it adds up")), Prng::new(1));
        assert!((0..100).all(|_| mix.next(&mut prng) == Kind::Delivery));
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
