//! Seeded pseudo-random numbers: xoshiro256** (Blackman and Vigna), seeded through SplitMix64.
//!
//! For tests, the simulator, workloads and jitter. Not for secrets: those come from `env`'s entropy.

/// A generator whose whole future is its seed.
#[derive(Clone, Debug)]
pub struct Prng {
    s: [u64; 4],
}

impl Prng {
    pub fn new(seed: u64) -> Prng {
        let mut x = seed;
        let mut next = || {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Prng {
            s: [next(), next(), next(), next()],
        }
    }

    /// An independent generator for part `index` of the work: the loader's warehouse, a terminal.
    pub fn fork(seed: u64, index: u64) -> Prng {
        let mut base = Prng::new(seed ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Prng::new(base.next_u64())
    }

    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.s;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..bound` (Lemire's multiply-shift; the bias is below 2^-32 for bounds below 2^32).
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0);
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high);
        low.wrapping_add(self.below((high.wrapping_sub(low) as u64).wrapping_add(1).max(1)) as i64)
    }

    /// Uniform in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `numerator / denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_sequence() {
        let (mut a, mut b) = (Prng::new(7), Prng::new(7));
        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
    }

    #[test]
    fn bounds_are_inclusive_and_reached() {
        let mut prng = Prng::new(1);
        let seen: Vec<i64> = (0..1000).map(|_| prng.between(-1, 1)).collect();
        assert!((-1..=1).all(|v| seen.contains(&v)));
        assert!(seen.iter().all(|v| (-1..=1).contains(v)));
    }
}
