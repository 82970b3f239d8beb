//! Products and quotients of long digit strings, on limbs of eight decimals.
//!
//! A limb pair multiplies into a u64 with room for 1,800 sums, so a limb does the work of two base-10,000 digits on each
//! side. Products above [`KARATSUBA_LIMBS`] are split in three (Knuth 4.3.3); quotients are algorithm D (4.3.1).
//! All of it takes time with the square of the length or nearly so, and is paid for as it goes.

use mote_common::SqlResult;
use mote_common::work::Meter;

const LIMB: u64 = 100_000_000;
/// Below this many limbs on the shorter side rows are multiplied one by one.
const KARATSUBA_LIMBS: usize = 40;

/// Base-10,000 digits, first the highest, as limbs, first the lowest.
pub(super) fn from_digits(digits: &[u16]) -> Vec<u32> {
    let limb = |pair: &[u16]| pair.iter().fold(0, |limb, &digit| limb * 10_000 + digit as u32);
    digits.rchunks(2).map(limb).collect()
}

/// Back to `count` digits, cut or filled with zeros in front. What is cut must be zero.
pub(super) fn to_digits(limbs: &[u32], count: usize) -> Vec<u16> {
    let mut digits = vec![0; count];
    let pairs = limbs.iter().flat_map(|&limb| [limb % 10_000, limb / 10_000]);
    for (slot, digit) in digits.iter_mut().rev().zip(pairs) {
        *slot = digit as u16;
    }
    digits
}

/// The product: as many limbs as both factors together.
pub(super) fn product(a: &[u32], b: &[u32], meter: &mut Meter) -> SqlResult<Vec<u32>> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() < KARATSUBA_LIMBS {
        return by_rows(short, long, meter);
    }
    let half = long.len().div_ceil(2);
    if short.len() <= half {
        return by_pieces(short, long, meter);
    }
    let ((a0, a1), (b0, b1)) = (short.split_at(half), long.split_at(half));
    let low = product(a0, b0, meter)?;
    let high = product(a1, b1, meter)?;
    let mut middle = product(&sum(a0, a1), &sum(b0, b1), meter)?;
    subtract(&mut middle, &low);
    subtract(&mut middle, &high);
    let mut out = low;
    out.extend_from_slice(&high);
    add_at(&mut out, &middle, half);
    Ok(out)
}

fn by_rows(short: &[u32], long: &[u32], meter: &mut Meter) -> SqlResult<Vec<u32>> {
    // Fewer than 1,800 products of less than 10^16 fit a sum.
    let mut sums = vec![0u64; short.len() + long.len()];
    for (i, &a) in short.iter().enumerate() {
        meter.tick(long.len())?;
        for (sum, &b) in sums[i..].iter_mut().zip(long) {
            *sum += a as u64 * b as u64;
        }
    }
    let mut carry = 0;
    let limbs = sums.into_iter().map(|sum| {
        let total = sum + carry;
        carry = total / LIMB;
        (total % LIMB) as u32
    });
    Ok(limbs.collect())
}

/// Factors of very different lengths: the longer one in pieces as long as the shorter.
fn by_pieces(short: &[u32], long: &[u32], meter: &mut Meter) -> SqlResult<Vec<u32>> {
    let mut out = vec![0; short.len() + long.len()];
    for (number, piece) in long.chunks(short.len()).enumerate() {
        add_at(&mut out, &product(short, piece, meter)?, number * short.len());
    }
    Ok(out)
}

fn sum(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut out = long.to_vec();
    out.push(0);
    add_at(&mut out, short, 0);
    out
}

/// Adds `b`, moved up by `at` limbs. The sum fits; limbs of `b` beyond the end of `out` are zero.
fn add_at(out: &mut [u32], b: &[u32], at: usize) {
    let mut carry = 0;
    let mut rest = b.iter();
    for limb in &mut out[at..] {
        let next = rest.next();
        if next.is_none() && carry == 0 {
            return;
        }
        let total = *limb + next.copied().unwrap_or(0) + carry;
        (*limb, carry) = if total >= LIMB as u32 {
            (total - LIMB as u32, 1)
        } else {
            (total, 0)
        };
    }
}

/// Takes `b` away, which is not the larger one.
fn subtract(out: &mut [u32], b: &[u32]) {
    let mut borrow = 0;
    let mut rest = b.iter();
    for limb in out {
        let next = rest.next();
        if next.is_none() && borrow == 0 {
            return;
        }
        let taken = next.copied().unwrap_or(0) + borrow;
        (*limb, borrow) = if *limb >= taken {
            (*limb - taken, 0)
        } else {
            (*limb + LIMB as u32 - taken, 1)
        };
    }
}

/// The whole part of `dividend / divisor`. The divisor has two limbs or more, and its highest is not zero.
pub(super) fn quotient(dividend: &[u32], divisor: &[u32], meter: &mut Meter) -> SqlResult<Vec<u32>> {
    if dividend.len() < divisor.len() {
        return Ok(Vec::new());
    }
    let n = divisor.len();
    let scale = LIMB / (divisor[n - 1] as u64 + 1);
    let scaled = |limbs: &[u32], out: &mut Vec<u32>| {
        let mut carry = 0;
        out.extend(limbs.iter().map(|&limb| {
            let total = limb as u64 * scale + carry;
            carry = total / LIMB;
            (total % LIMB) as u32
        }));
        carry as u32
    };
    let (mut v, mut u) = (Vec::with_capacity(n), Vec::with_capacity(dividend.len() + 1));
    scaled(divisor, &mut v);
    let top = scaled(dividend, &mut u);
    u.push(top);
    let mut out = vec![0; dividend.len() - n + 1];
    for j in (0..out.len()).rev() {
        meter.tick(4 * n)?;
        out[j] = quotient_limb(&mut u[j..=j + n], &v);
    }
    Ok(out)
}

/// One limb of the quotient; leaves the remainder in `u`, which is one limb longer than `v`.
fn quotient_limb(u: &mut [u32], v: &[u32]) -> u32 {
    let n = v.len();
    let top = u[n] as u64 * LIMB + u[n - 1] as u64;
    let (high, next) = (v[n - 1] as u64, v[n - 2] as u64);
    let (mut guess, mut rest) = (top / high, top % high);
    while guess >= LIMB || guess * next > rest * LIMB + u[n - 2] as u64 {
        guess -= 1;
        rest += high;
        if rest >= LIMB {
            break;
        }
    }
    let mut borrow = 0;
    for (limb, &digit) in u.iter_mut().zip(v) {
        // What is to be taken away is below 10^16 + 10^8.
        let taken = guess * digit as u64 + borrow;
        let (part, mut carry) = (taken % LIMB, taken / LIMB);
        let mut difference = *limb as i64 - part as i64;
        if difference < 0 {
            difference += LIMB as i64;
            carry += 1;
        }
        *limb = difference as u32;
        borrow = carry;
    }
    let left = u[n] as i64 - borrow as i64;
    if left < 0 {
        // The guess was one too large: add the divisor back; the carry out of the top cancels the borrow.
        guess -= 1;
        let mut carry = 0;
        for (limb, &digit) in u.iter_mut().zip(v) {
            let total = *limb + digit + carry;
            (*limb, carry) = if total >= LIMB as u32 {
                (total - LIMB as u32, 1)
            } else {
                (total, 0)
            };
        }
    }
    u[n] = 0;
    guess as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::prng::Prng;

    /// Digits with runs of the extremes, where carries and wrong guesses are.
    fn digits(prng: &mut Prng, count: usize) -> Vec<u16> {
        let kind = prng.next_u64() % 3;
        let mut digits: Vec<u16> = (0..count)
            .map(|_| match (kind, prng.next_u64() % 4) {
                (0, _) => (prng.next_u64() % 10_000) as u16,
                (1, 0) => 0,
                (1, _) => 9_999,
                (_, 0) => 9_999,
                _ => 0,
            })
            .collect();
        digits[0] = digits[0].max(1);
        digits
    }

    #[test]
    fn products_by_parts_are_those_by_rows() {
        let seed = 0x6d75_6c74;
        let mut prng = Prng::new(seed);
        for round in 0..60 {
            let (a, b) = (1 + prng.next_u64() % 400, 1 + prng.next_u64() % 900);
            let (a, b) = (digits(&mut prng, a as usize), digits(&mut prng, b as usize));
            let (a, b) = (from_digits(&a), from_digits(&b));
            let mut meter = Meter::default();
            let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
            let rows = by_rows(short, long, &mut meter).unwrap();
            assert_eq!(
                product(&a, &b, &mut meter).unwrap(),
                rows,
                "seed {seed} round {round}"
            );
        }
    }

    #[test]
    fn quotients_and_remainders_give_the_dividend() {
        let seed = 0x6469_7669;
        let mut prng = Prng::new(seed);
        for round in 0..200 {
            let (a, b) = (1 + prng.next_u64() % 300, 3 + prng.next_u64() % 120);
            let (a, b) = (digits(&mut prng, a as usize), digits(&mut prng, b as usize));
            let (a, b) = (from_digits(&a), from_digits(&b));
            let mut meter = Meter::default();
            let q = quotient(&a, &b, &mut meter).unwrap();
            // a - q * b is not negative and below b.
            let mut rest = a.clone();
            rest.resize(a.len().max(q.len() + b.len()), 0);
            let times = product(&q, &b, &mut meter).unwrap();
            let order = |x: &[u32], y: &[u32]| {
                let length = x.len().max(y.len());
                let at = |limbs: &[u32], place: usize| limbs.get(place).copied().unwrap_or(0);
                (0..length)
                    .rev()
                    .map(|place| at(x, place).cmp(&at(y, place)))
                    .find(|order| order.is_ne())
                    .unwrap_or(std::cmp::Ordering::Equal)
            };
            assert!(order(&times, &rest).is_le(), "seed {seed} round {round}");
            subtract(&mut rest, &times);
            assert!(order(&rest, &b).is_lt(), "seed {seed} round {round}");
        }
    }
}
