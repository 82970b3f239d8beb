//! random() and setseed().
//!
//! A session that has said where to begin, by `setseed()` or `SET seed`, gets PostgreSQL's numbers from there on. All
//! others share their thread's generator.

use std::cell::Cell;

use mote_common::SqlError;
use mote_common::error::state;
use mote_common::prng::Prng;
use mote_types::Datum;

use super::{Body, float8};

/// PostgreSQL's generator, xoroshiro128**.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeededRandom {
    s: [u64; 2],
}

impl SeededRandom {
    /// `seed` is between -1 and 1.
    pub fn new(seed: f64) -> SeededRandom {
        let mut state = ((((1u64 << 52) - 1) as f64) * seed) as i64 as u64;
        // splitmix64 spreads the few bits of a seed.
        let mut spread = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        SeededRandom {
            s: [spread(), spread()],
        }
    }

    /// Uniform in 0..1.
    pub fn unit(&mut self) -> f64 {
        let [s0, s1] = self.s;
        let sx = s1 ^ s0;
        let value = s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.s = [s0.rotate_left(24) ^ sx ^ (sx << 16), sx.rotate_left(37)];
        (value >> 12) as f64 / (1u64 << 52) as f64
    }
}

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "drandom" => Body::Runtime(|runtime, _, _| {
            let session = &mut runtime.context().session;
            Ok(Datum::Float8(match &mut session.settings.random {
                Some(seeded) => seeded.unit(),
                None => unseeded(session.clock_us() as u64 ^ (session.pid as u64) << 40),
            }))
        }),
        "setseed" => Body::Runtime(|runtime, _, a| {
            let seed = float8(&a[0]);
            if !(-1.0..=1.0).contains(&seed) {
                let message = format!("setseed parameter {seed} is out of allowed range [-1,1]");
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
            runtime.context().session.settings.random = Some(SeededRandom::new(seed));
            Ok(Datum::from(""))
        }),
        _ => return None,
    })
}

mote_common::per_thread! {
    /// Seeded once per thread; not for secrets.
    static RANDOM: Cell<Option<u64>> = const { Cell::new(None) };
}

fn unseeded(seed: u64) -> f64 {
    RANDOM.with(|cell| {
        let mut prng = Prng::new(cell.get().unwrap_or(seed));
        cell.set(Some(prng.next_u64()));
        prng.unit()
    })
}

#[cfg(test)]
mod tests {
    use super::SeededRandom;

    /// The numbers of a PostgreSQL 15 server.
    #[test]
    fn numbers_after_a_seed() {
        let mut random = SeededRandom::new(0.5);
        assert_eq!(random.unit(), 0.9851677175347999);
        assert_eq!(random.unit(), 0.825301858027981);
        assert_eq!(SeededRandom::new(-0.25).unit(), 0.5553213340039351);
    }
}
