//! Ranges and multiranges of integers beside the sets of numbers that they stand for.

use std::collections::BTreeSet;

use mote_common::prng::Prng;

use super::functions::*;
use super::*;
use crate::compare::compare;
use crate::datum::{Bound, Datum};
use crate::oid::{INT4, INT4MULTIRANGE, INT4RANGE, NUMERIC, NUMRANGE};
use crate::{ColumnType, FormatSettings, Numeric, input_binary, input_text, output_binary};

/// Bounds are among these, and a number beside each end stands for what is without a bound.
const LEAST: i32 = 0;
const GREATEST: i32 = 12;

fn seeded(seed: u64) -> Prng {
    println!("seed {seed}");
    Prng::new(seed)
}

fn bound(prng: &mut Prng, at: i32) -> Bound {
    match prng.chance(1, 8) {
        true => Bound::NONE,
        false => Bound::new(Datum::Int4(at), prng.chance(1, 2)),
    }
}

fn random_range(prng: &mut Prng) -> Datum {
    let mut ends = [(); 2].map(|_| prng.between(LEAST as i64, GREATEST as i64) as i32);
    ends.sort_unstable();
    let (lower, upper) = (bound(prng, ends[0]), bound(prng, ends[1]));
    Datum::Range(Box::new(make(INT4RANGE, INT4, lower, upper).unwrap()))
}

fn random_multirange(prng: &mut Prng) -> Datum {
    let count = prng.below(4);
    let ranges: Vec<Datum> = (0..count).map(|_| random_range(prng)).collect();
    let all = ranges.iter().flat_map(spans).cloned().collect();
    Datum::multirange(INT4, normalized(all).unwrap())
}

fn random(prng: &mut Prng) -> Datum {
    match prng.chance(1, 2) {
        true => random_range(prng),
        false => random_multirange(prng),
    }
}

/// The numbers that belong to it, one beyond each end included.
fn numbers(datum: &Datum) -> BTreeSet<i32> {
    let belongs =
        |number: &i32| contains_value(datum, &Datum::Int4(*number)).unwrap().as_bool() == Some(true);
    (LEAST - 1..=GREATEST + 1).filter(belongs).collect()
}

fn says(answer: mote_common::SqlResult<Datum>) -> bool {
    answer.unwrap().as_bool().unwrap()
}

#[test]
fn operators_are_those_of_sets() {
    let mut prng = seeded(1);
    for _ in 0..20_000 {
        let (a, b) = (random(&mut prng), random(&mut prng));
        let (x, y) = (numbers(&a), numbers(&b));
        let pair = [a.clone(), b.clone()];
        assert_eq!(says(overlap(&a, &b)), !x.is_disjoint(&y), "{a:?} {b:?}");
        assert_eq!(says(contains(&a, &b)), x.is_superset(&y), "{a:?} {b:?}");
        let before = x.last().zip(y.first()).is_some_and(|(x, y)| x < y);
        assert_eq!(says(extents(&pair, |a, b| a.is_before(b))), before, "{a:?} {b:?}");
        let touches = |x: &BTreeSet<i32>, y: &BTreeSet<i32>| {
            // What has no end reaches the last number.
            x.last()
                .zip(y.first())
                .is_some_and(|(x, y)| x + 1 == *y && *x <= GREATEST && *y >= LEAST)
        };
        let adjacent = touches(&x, &y) || touches(&y, &x);
        assert_eq!(
            says(extents(&pair, |a, b| a.is_adjacent(b))),
            adjacent,
            "{a:?} {b:?}"
        );
    }
}

#[test]
fn sets_of_spans_are_made_of_as_few_as_can_be() {
    let mut prng = seeded(2);
    for _ in 0..20_000 {
        let pair = [random_multirange(&mut prng), random_multirange(&mut prng)];
        let (x, y) = (numbers(&pair[0]), numbers(&pair[1]));
        let results = [
            (multirange_union(&pair).unwrap(), &x | &y),
            (intersection(&pair[0], &pair[1]).unwrap(), &x & &y),
            (multirange_difference(&pair).unwrap(), &x - &y),
        ];
        for (result, expected) in results {
            assert_eq!(numbers(&result), expected, "{pair:?}");
            let again = normalized(spans(&result).to_vec()).unwrap();
            assert!(
                compare(&result, &Datum::multirange(INT4, again)).is_eq(),
                "{result:?}"
            );
        }
    }
}

#[test]
fn equal_numbers_of_different_scale_are_one_bound() {
    let number = |text: &str| Datum::Numeric(Numeric::parse(text).unwrap());
    let range = |lower: &str, upper: &str| {
        let (lower, upper) = (Bound::new(number(lower), true), Bound::new(number(upper), false));
        Datum::Range(Box::new(make(NUMRANGE, NUMERIC, lower, upper).unwrap()))
    };
    assert!(compare(&range("1.0", "2"), &range("1.00", "2.0")).is_eq());
    assert!(spans(&range("1.0", "1.00")).is_empty());
    let joined = range_union(&[range("1", "2.0"), range("2.00", "3")]).unwrap();
    assert!(compare(&joined, &range("1", "3")).is_eq());
}

#[test]
fn values_survive_text_and_wire() {
    let mut prng = seeded(3);
    let settings = FormatSettings::default();
    for _ in 0..2_000 {
        for (ty, datum) in [
            (ColumnType::new(INT4RANGE), random_range(&mut prng)),
            (ColumnType::new(INT4MULTIRANGE), random_multirange(&mut prng)),
        ] {
            let text = crate::format::output_to_string(&datum, ty, &settings);
            assert!(
                compare(&input_text(ty, &text, &settings).unwrap(), &datum).is_eq(),
                "{text}"
            );
            let mut bytes = Vec::new();
            output_binary(&datum, ty, &mut bytes);
            assert!(
                compare(&input_binary(ty, &bytes).unwrap(), &datum).is_eq(),
                "{text}"
            );
            let mut stored = Vec::new();
            crate::encode_storage(&datum, ty, &mut stored);
            assert!(
                compare(&crate::decode_storage(ty, &stored), &datum).is_eq(),
                "{text}"
            );
        }
    }
}

#[test]
fn keys_sort_as_values_do() {
    let mut prng = seeded(4);
    for ty in [INT4RANGE, INT4MULTIRANGE] {
        let column = crate::KeyColumn::new(ColumnType::new(ty), false);
        let key = |datum: &Datum| {
            let mut key = Vec::new();
            crate::encode_key(datum, &column, &mut key);
            key
        };
        for _ in 0..5_000 {
            let [a, b] = [(); 2].map(|_| match ty {
                INT4RANGE => random_range(&mut prng),
                _ => random_multirange(&mut prng),
            });
            assert_eq!(key(&a).cmp(&key(&b)), compare(&a, &b), "{a:?} {b:?}");
        }
    }
}
