//! The generator behind random() of a session that has said where to begin, by `setseed()` or `SET seed`: PostgreSQL's, so
//! that its numbers come again.

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
