//! Bob Jenkins' lookup3 as PostgreSQL has it (`hash_bytes` in hashfn.c): the numbers must be PostgreSQL's, because scripts have
//! `hashtext` baked in, and the rows of a dump must live in the same hash partitions here and there. Words are read as
//! little-endian ones, as PostgreSQL does on such machines.

/// The 32-bit hash.
pub fn hash_any(key: &[u8]) -> u32 {
    digest(key, 0)[2]
}

/// The 64-bit hash. With the seed 0 its lower half is the 32-bit hash.
pub fn hash_any_extended(key: &[u8], seed: u64) -> u64 {
    let [_, high, low] = digest(key, seed);
    u64::from(high) << 32 | u64::from(low)
}

fn digest(key: &[u8], seed: u64) -> [u32; 3] {
    let mut state = start(key.len() as u32, seed);
    let mut chunks = key.chunks_exact(12);
    for chunk in &mut chunks {
        for (word, bytes) in state.iter_mut().zip(chunk.chunks_exact(4)) {
            *word = word.wrapping_add(u32::from_le_bytes(bytes.try_into().expect("chunks of four")));
        }
        mix(&mut state);
    }
    // The last eleven bytes; the lowest byte of the third word is kept for the length.
    for (position, &byte) in chunks.remainder().iter().enumerate() {
        let (word, shift) = if position < 8 {
            (position / 4, position % 4 * 8)
        } else {
            (2, (position - 7) * 8)
        };
        state[word] = state[word].wrapping_add(u32::from(byte) << shift);
    }
    finish(&mut state);
    state
}

/// What a key of `length` bytes begins with.
fn start(length: u32, seed: u64) -> [u32; 3] {
    let word = 0x9e37_79b9u32.wrapping_add(length).wrapping_add(3_923_095);
    let mut state = [word; 3];
    if seed != 0 {
        state[0] = state[0].wrapping_add((seed >> 32) as u32);
        state[1] = state[1].wrapping_add(seed as u32);
        mix(&mut state);
    }
    state
}

/// lookup3's mix: three words stirred reversibly.
fn mix(state: &mut [u32; 3]) {
    for (x, y, z, shift) in [
        (0, 2, 1, 4),
        (1, 0, 2, 6),
        (2, 1, 0, 8),
        (0, 2, 1, 16),
        (1, 0, 2, 19),
        (2, 1, 0, 4),
    ] {
        state[x] = state[x].wrapping_sub(state[y]);
        state[x] ^= state[y].rotate_left(shift);
        state[y] = state[y].wrapping_add(state[z]);
    }
}

/// lookup3's final: every bit of the three words comes to bear on the last one.
fn finish(state: &mut [u32; 3]) {
    for (x, y, shift) in [
        (2, 1, 14),
        (0, 2, 11),
        (1, 0, 25),
        (2, 1, 16),
        (0, 2, 4),
        (1, 0, 14),
        (2, 1, 24),
    ] {
        state[x] ^= state[y];
        state[x] = state[x].wrapping_sub(state[y].rotate_left(shift));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `hashtext(t)`, `hashtextextended(t, 0)` and `hashtextextended(t, SEED)` say on PostgreSQL 15.
    #[test]
    fn numbers_are_postgresqls() {
        const SEED: u64 = 0x7A5B_2236_7996_DCFD;
        for (text, hash, extended, seeded) in [
            (
                "",
                -1_477_818_771,
                -6_939_563_903_564_495_251,
                -5_700_645_584_453_517_373,
            ),
            (
                "mote",
                1_900_414_936,
                -1_132_822_339_956_373_544,
                -3_219_081_969_681_866_680,
            ),
            (
                "exactly 12 b",
                -1_637_647_677,
                3_728_373_950_248_614_595,
                3_367_039_547_082_052_597,
            ),
            (
                "a longer text than twelve bytes",
                39_646_714,
                -4_659_443_086_896_859_654,
                -1_763_559_430_508_958_815,
            ),
        ] {
            let key = text.as_bytes();
            assert_eq!(hash_any(key) as i32, hash, "{text}");
            assert_eq!(hash_any_extended(key, 0) as i64, extended, "{text}");
            assert_eq!(hash_any_extended(key, SEED) as i64, seeded, "{text}");
        }
    }
}
