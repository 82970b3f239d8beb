//! Keys sort as the values do, for every class, direction and place of NULLs.

use super::*;
use mote_common::prng::Prng;
use std::cmp::Ordering;

fn column(class: KeyClass, nullable: bool, descending: bool, nulls_first: bool) -> KeyColumn {
    KeyColumn {
        source: KeySource::Column(0),
        class,
        nullable,
        descending,
        nulls_first,
    }
}

fn encode(column: &KeyColumn, value: KeyValue<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    column.append(value, &mut key);
    key
}

/// Encodes every pair of `values` (in rising order) in all directions and compares.
fn check_order(class: KeyClass, values: &[KeyValue<'_>]) {
    for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let column = column(class, true, descending, nulls_first);
        let null = encode(&column, KeyValue::Null);
        let keys: Vec<Vec<u8>> = values.iter().map(|&value| encode(&column, value)).collect();
        for pair in keys.windows(2) {
            let expect = if descending {
                Ordering::Greater
            } else {
                Ordering::Less
            };
            assert_eq!(pair[0].cmp(&pair[1]), expect, "{class:?} descending={descending}");
        }
        for key in &keys {
            assert_eq!(
                null.cmp(key),
                if nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            );
        }
    }
}

#[test]
fn numbers_sort_by_value() {
    let signed = [i64::MIN, -70_000, -1, 0, 1, 255, 256, i64::MAX].map(KeyValue::Signed);
    check_order(KeyClass::Signed8, &signed);
    check_order(
        KeyClass::Signed4,
        &[i32::MIN as i64, -1, 0, 1, i32::MAX as i64].map(KeyValue::Signed),
    );
    check_order(
        KeyClass::Signed2,
        &[i16::MIN as i64, -1, 0, 1, i16::MAX as i64].map(KeyValue::Signed),
    );
    check_order(
        KeyClass::Unsigned8,
        &[0, 1, 255, 256, u64::MAX].map(KeyValue::Unsigned),
    );
    check_order(KeyClass::Bool, &[KeyValue::Bool(false), KeyValue::Bool(true)]);
    let floats = [
        f64::NEG_INFINITY,
        -1.5,
        -0.25,
        0.0,
        0.25,
        1.5,
        f64::INFINITY,
        f64::NAN,
    ];
    check_order(KeyClass::Float8, &floats.map(KeyValue::Float));
    check_order(KeyClass::Float4, &floats.map(KeyValue::Float));
}

#[test]
fn zeros_and_nans_are_one_value_each() {
    let column = column(KeyClass::Float8, false, false, false);
    assert_eq!(
        encode(&column, KeyValue::Float(0.0)),
        encode(&column, KeyValue::Float(-0.0))
    );
    assert_eq!(
        encode(&column, KeyValue::Float(f64::NAN)),
        encode(&column, KeyValue::Float(-f64::NAN))
    );
}

#[test]
fn byte_strings_sort_as_bytes_do_also_with_zeros_and_a_following_column() {
    let seed = 11;
    let mut prng = Prng::new(seed);
    let mut strings: Vec<Vec<u8>> = (0..400)
        .map(|_| {
            (0..prng.below(6))
                .map(|_| [0u8, 1, 0x7f, 0xfe, 0xff][prng.below(5) as usize])
                .collect()
        })
        .collect();
    strings.sort();
    strings.dedup();
    for descending in [false, true] {
        let first = column(KeyClass::Variable, false, descending, false);
        let second = column(KeyClass::Signed4, true, false, false);
        for pair in strings.windows(2) {
            let key = |string: &[u8], number: i64| {
                let mut key = encode(&first, KeyValue::Bytes(string));
                second.append(KeyValue::Signed(number), &mut key);
                key
            };
            let (low, high) = (key(&pair[0], 9), key(&pair[1], -9));
            assert_eq!(
                low < high,
                !descending,
                "seed {seed}: {:?} {:?}",
                pair[0],
                pair[1]
            );
            assert!(key(&pair[0], -1) < key(&pair[0], 1));
        }
    }
}

#[test]
fn the_byte_contract() {
    let nullable = column(KeyClass::Signed4, true, false, false);
    assert_eq!(encode(&nullable, KeyValue::Signed(1)), [1, 0x80, 0, 0, 1]);
    assert_eq!(encode(&nullable, KeyValue::Null), [2]);
    let descending = column(KeyClass::Variable, true, true, true);
    assert_eq!(
        encode(&descending, KeyValue::Bytes(&[0, 5])),
        [1, 0xff, 0x00, 0xfa, 0xff, 0xff]
    );
    assert_eq!(encode(&descending, KeyValue::Null), [0]);
}
