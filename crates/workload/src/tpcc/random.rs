//! Random values as clause 4.3.2 and 2.1.6 of TPC-C define them, over seeded generators.

use mote_common::prng::Prng;

/// The constants C of NURand, one per A; drawn once for the load and once for each run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NurandConstants {
    pub c_last: i64,
    pub c_id: i64,
    pub ol_i_id: i64,
}

impl NurandConstants {
    pub fn for_load(prng: &mut Prng) -> NurandConstants {
        NurandConstants {
            c_last: prng.between(0, 255),
            c_id: prng.between(0, 1023),
            ol_i_id: prng.between(0, 8191),
        }
    }

    /// Clause 2.1.6.1: the run's constant for C_LAST differs from the load's by 65 to 119, but not by 96 or 112, so
    /// that the names asked for are not those that the load made most frequent.
    pub fn for_run(prng: &mut Prng, load_c_last: i64) -> NurandConstants {
        loop {
            let drawn = NurandConstants::for_load(prng);
            if is_valid_delta(drawn.c_last, load_c_last) {
                return drawn;
            }
        }
    }
}

pub fn is_valid_delta(run: i64, load: i64) -> bool {
    let delta = (run - load).abs();
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

/// Non-uniform random within `low..=high`.
pub fn nurand(prng: &mut Prng, a: i64, low: i64, high: i64, c: i64) -> i64 {
    (((prng.between(0, a) | prng.between(low, high)) + c) % (high - low + 1)) + low
}

impl NurandConstants {
    pub fn customer_id(&self, prng: &mut Prng) -> i32 {
        nurand(prng, 1023, 1, 3000, self.c_id) as i32
    }

    pub fn item_id(&self, prng: &mut Prng) -> i32 {
        nurand(prng, 8191, 1, 100_000, self.ol_i_id) as i32
    }

    /// The number behind a customer's last name, 0..=999.
    pub fn last_name_number(&self, prng: &mut Prng) -> u32 {
        nurand(prng, 255, 0, 999, self.c_last) as u32
    }
}

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// A last name is three syllables, one per decimal digit of its number. At most 15 bytes, so no allocation.
#[derive(Clone, Copy)]
pub struct LastName {
    bytes: [u8; 15],
    length: u8,
}

impl LastName {
    pub fn new(number: u32) -> LastName {
        let mut name = LastName {
            bytes: [0; 15],
            length: 0,
        };
        for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
            let syllable = SYLLABLES[digit as usize].as_bytes();
            let start = name.length as usize;
            name.bytes[start..start + syllable.len()].copy_from_slice(syllable);
            name.length += syllable.len() as u8;
        }
        name
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length as usize]).expect("syllables are ASCII")
    }
}

/// What six random bits pick from; the two numbers beyond it are drawn again, so that all are equally likely.
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// An "a-string": letters and digits, of random length in `low..=high`.
pub fn put_letters(out: &mut Vec<u8>, prng: &mut Prng, low: i64, high: i64) {
    let mut missing = prng.between(low, high) as usize;
    while missing > 0 {
        let mut bits = prng.next_u64();
        for _ in 0..10 {
            if let Some(&letter) = LETTERS.get((bits & 63) as usize)
                && missing > 0
            {
                out.push(letter);
                missing -= 1;
            }
            bits >>= 6;
        }
    }
}

/// An "n-string": exactly `length` digits.
pub fn put_digits(out: &mut Vec<u8>, prng: &mut Prng, length: usize) {
    for _ in 0..length {
        out.push(b'0' + prng.below(10) as u8);
    }
}

/// I_DATA and S_DATA: 26..=50 letters; in a tenth of the rows "ORIGINAL" stands somewhere in them.
pub fn put_data(out: &mut Vec<u8>, prng: &mut Prng) {
    let start = out.len();
    put_letters(out, prng, 26, 50);
    if prng.chance(1, 10) {
        let at = start + prng.below((out.len() - start - 7) as u64) as usize;
        out[at..at + 8].copy_from_slice(b"ORIGINAL");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names() {
        assert_eq!(LastName::new(0).as_str(), "BARBARBAR");
        assert_eq!(LastName::new(371).as_str(), "PRICALLYOUGHT");
        assert_eq!(LastName::new(999).as_str(), "EINGEINGEING");
        assert!((0..1000).all(|number| LastName::new(number).as_str().len() <= 15));
    }

    #[test]
    fn the_delta_rule_holds_for_every_load_constant() {
        for load in 0..=255 {
            let run = NurandConstants::for_run(&mut Prng::new(load as u64), load);
            assert!(is_valid_delta(run.c_last, load), "load {load} run {}", run.c_last);
        }
        assert!(!is_valid_delta(96, 0));
        assert!(!is_valid_delta(112, 0));
        assert!(is_valid_delta(65, 0));
        assert!(!is_valid_delta(0, 120));
    }

    /// NURand ORs two uniform numbers, so values with many set low bits are more frequent: over 1..=3000 with A =
    /// 1023 the top tenth of the values draws well over a tenth of the hits, and every value stays in range.
    #[test]
    fn nurand_is_in_range_and_skewed() {
        let mut prng = Prng::new(11);
        let mut hits = vec![0u32; 3001];
        let draws = 300_000;
        for _ in 0..draws {
            hits[nurand(&mut prng, 1023, 1, 3000, 577) as usize] += 1;
        }
        assert_eq!(hits[0], 0);
        hits.sort_unstable_by(|a, b| b.cmp(a));
        let top: u32 = hits[..300].iter().sum();
        assert!(
            top as f64 > 0.3 * draws as f64,
            "the top tenth has only {top} of {draws}"
        );
    }

    #[test]
    fn letters_are_equally_likely() {
        let (mut prng, mut out) = (Prng::new(6), Vec::new());
        put_letters(&mut out, &mut prng, 620_000, 620_000);
        for letter in LETTERS {
            let count = out.iter().filter(|found| *found == letter).count();
            assert!((9_500..=10_500).contains(&count), "{}: {count}", *letter as char);
        }
    }

    #[test]
    fn strings_have_the_lengths_asked_for() {
        let mut prng = Prng::new(5);
        let mut originals = 0;
        for _ in 0..2_000 {
            let mut out = Vec::new();
            put_letters(&mut out, &mut prng, 8, 16);
            assert!((8..=16).contains(&out.len()));
            out.clear();
            put_data(&mut out, &mut prng);
            assert!((26..=50).contains(&out.len()));
            originals += out.windows(8).any(|window| window == b"ORIGINAL") as u32;
        }
        assert!((140..=260).contains(&originals), "{originals}");
    }
}
