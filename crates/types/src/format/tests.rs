//! Input and output against PostgreSQL 15: `golden_input.txt` holds `type|time zone|input|output or error`, made by
//! running each input through the real server (`insert into t values (...); select x from t`).

use super::*;
use crate::catalog::{ColumnType, parse_type};
use crate::datetime::TimeZone;
use crate::oid;
use crate::settings::{ByteaOutput, FormatSettings, IntervalStyle};
use mote_common::prng::Prng;

const GOLDEN: &str = include_str!("golden_input.txt");

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, false) => out.push(c),
            _ => match chars.next().expect("an escape has a second character") {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'p' => out.push('|'),
                other => out.push(other),
            },
        }
    }
    out
}

struct Case {
    ty: ColumnType,
    settings: FormatSettings,
    input: String,
    expect: String,
}

fn cases() -> impl Iterator<Item = Case> {
    GOLDEN.lines().map(|line| {
        let fields: Vec<String> = line.split('|').map(unescape).collect();
        let [name, zone, input, expect] = &fields[..] else {
            panic!("bad line {line}")
        };
        let settings = FormatSettings {
            time_zone: TimeZone::parse(zone).unwrap(),
            ..FormatSettings::default()
        };
        Case {
            ty: parse_type(name).unwrap(),
            settings,
            input: input.clone(),
            expect: expect.clone(),
        }
    })
}

fn outcome(case: &Case) -> String {
    match input_text(case.ty, &case.input, &case.settings) {
        Ok(datum) => output_to_string(&datum, case.ty, &case.settings),
        Err(error) => format!("ERROR {} {}", error.state(), error.message()),
    }
}

#[test]
fn input_and_output_are_postgresqls() {
    let mut wrong = Vec::new();
    for case in cases() {
        let got = outcome(&case);
        let expect = match case.expect.split_once(" DETAIL ") {
            Some((message, _)) if message.starts_with("ERROR") => message,
            _ => &case.expect,
        };
        if got != expect {
            wrong.push(format!(
                "{} {:?}: got {got:?}, PostgreSQL {expect:?}",
                case.ty.name(),
                case.input
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// What was read survives text and binary, in every setting that changes the text.
#[test]
fn text_and_binary_round_trip() {
    let others = FormatSettings {
        bytea_output: ByteaOutput::Escape,
        interval_style: IntervalStyle::Iso8601,
        time_zone: TimeZone::parse("Asia/Kolkata").unwrap(),
        ..FormatSettings::default()
    };
    for case in cases() {
        let Ok(datum) = input_text(case.ty, &case.input, &case.settings) else {
            continue;
        };
        let expect = output_to_string(&datum, case.ty, &case.settings);
        let other = output_to_string(&datum, case.ty, &others);
        let again = input_text(case.ty, &other, &others).unwrap_or_else(|error| panic!("{other}: {error}"));
        assert_eq!(
            output_to_string(&again, case.ty, &case.settings),
            expect,
            "{} {other:?}",
            case.ty.name()
        );
        // PostgreSQL sends vectors without elements and takes none.
        if case.ty.oid == oid::INT2VECTOR && expect.is_empty() {
            continue;
        }
        let mut bytes = Vec::new();
        output_binary(&datum, case.ty, &mut bytes);
        let again = input_binary(case.ty, &bytes).unwrap_or_else(|error| panic!("{expect}: {error}"));
        assert_eq!(
            output_to_string(&again, case.ty, &case.settings),
            expect,
            "{}",
            case.ty.name()
        );
    }
}

#[test]
fn floats_read_back_the_same() {
    let seed = 0x666c6f61;
    let mut prng = Prng::new(seed);
    for round in 0..20_000 {
        let wide = f64::from_bits(prng.next_u64());
        let narrow = f32::from_bits(prng.next_u64() as u32);
        let mut out = Vec::new();
        float::write_float8(wide, 1, &mut out);
        let text = String::from_utf8(out).unwrap();
        let back = float::parse_float8(&text).unwrap();
        assert!(
            back == wide || back.is_nan() && wide.is_nan(),
            "seed {seed} round {round}: {text}"
        );
        let mut out = Vec::new();
        float::write_float4(narrow, 1, &mut out);
        let text = String::from_utf8(out).unwrap();
        let back = float::parse_float4(&text).unwrap();
        assert!(
            back == narrow || back.is_nan() && narrow.is_nan(),
            "seed {seed} round {round}: {text}"
        );
    }
}

#[test]
fn fewer_float_digits_on_request() {
    let text = |value: f64, digits| {
        let mut out = Vec::new();
        float::write_float8(value, digits, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(0.1 + 0.2, 1), "0.30000000000000004");
    assert_eq!(text(0.1 + 0.2, 0), "0.3");
    assert_eq!(text(1234567.891, -10), "1.2346e+06");
    assert_eq!(text(100.0, 0), "100");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let message = |bytes: &[u8]| utf8(bytes).unwrap_err().message().to_owned();
    assert_eq!(
        message(b"a\xff"),
        "invalid byte sequence for encoding \"UTF8\": 0xff"
    );
    assert_eq!(
        message(b"\xe4\xb8"),
        "invalid byte sequence for encoding \"UTF8\": 0xe4 0xb8"
    );
    assert_eq!(
        message(b"a\0"),
        "invalid byte sequence for encoding \"UTF8\": 0x00"
    );
    assert_eq!(utf8("\u{e9}".as_bytes()).unwrap(), "\u{e9}");
}

/// No bytes make the readers panic or allocate without bound.
#[test]
fn arbitrary_binary_input_is_survived() {
    let seed = 0x62696e61;
    let mut prng = Prng::new(seed);
    for round in 0..20_000 {
        let info =
            &crate::catalog::BUILTIN_TYPES[prng.below(crate::catalog::BUILTIN_TYPES.len() as u64) as usize];
        let length = prng.below(40) as usize;
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                if prng.chance(1, 2) {
                    0
                } else {
                    prng.next_u64() as u8
                }
            })
            .collect();
        if let Ok(datum) = input_binary(ColumnType::new(info.oid), &bytes) {
            let text = output_to_string(&datum, ColumnType::new(info.oid), &FormatSettings::default());
            assert!(text.len() < 1_000_000, "seed {seed} round {round}");
        }
    }
}

/// Vectors have one dimension that begins at 0, elements, and no NULLs.
#[test]
fn vectors_are_no_other_arrays() {
    let array = |dims: &[(i32, i32)], values: &[Option<i16>]| {
        let mut bytes = Vec::new();
        for word in [dims.len() as i32, 0, 21] {
            bytes.extend(word.to_be_bytes());
        }
        for (length, lower_bound) in dims {
            bytes.extend(length.to_be_bytes());
            bytes.extend(lower_bound.to_be_bytes());
        }
        for value in values {
            bytes.extend(value.map_or(-1_i32, |_| 2).to_be_bytes());
            bytes.extend(value.iter().flat_map(|value: &i16| value.to_be_bytes()));
        }
        input_binary(ColumnType::new(oid::INT2VECTOR), &bytes)
    };
    assert!(array(&[(2, 0)], &[Some(7), Some(8)]).is_ok());
    for wrong in [
        array(&[], &[]),
        array(&[(0, 0)], &[]),
        array(&[(1, 1)], &[Some(7)]),
        array(&[(1, 0)], &[None]),
        array(&[(1, 0), (1, 0)], &[Some(7)]),
    ] {
        let error = wrong.expect_err("no vector");
        assert_eq!(error.message(), "invalid int2vector data");
    }
}

/// No text makes the parsers panic.
#[test]
fn arbitrary_text_input_is_survived() {
    let seed = 0x74657874;
    let mut prng = Prng::new(seed);
    let inputs: Vec<Case> = cases().collect();
    for _ in 0..40_000 {
        let case = &inputs[prng.below(inputs.len() as u64) as usize];
        let other = &inputs[prng.below(inputs.len() as u64) as usize];
        let mut chars: Vec<char> = case.input.chars().collect();
        for _ in 0..=prng.below(3) {
            let at = prng.below(chars.len() as u64 + 1) as usize;
            match prng.below(3) {
                0 if at < chars.len() => {
                    chars.remove(at);
                }
                1 => chars.extend(other.input.chars()),
                _ => chars.insert(
                    at,
                    *b"0129-+:. TZeP{}[],\"\\"[..]
                        .get(prng.below(20) as usize)
                        .unwrap_or(&b'x') as char,
                ),
            }
        }
        let text: String = chars.into_iter().collect();
        if let Ok(datum) = input_text(case.ty, &text, &case.settings) {
            output_to_string(&datum, case.ty, &case.settings);
        }
    }
}

#[test]
fn integers_are_written_as_rust_writes_them() {
    let seed = 0x696e7465;
    let mut prng = Prng::new(seed);
    let edges = (0..=18).flat_map(|zeros| {
        let power = 10i64.pow(zeros);
        [power - 1, power, power + 1, 1 - power, -power, -1 - power]
    });
    let mut numbers: Vec<i64> = edges
        .chain([0, i64::MIN, i64::MAX, i32::MIN as i64, i32::MAX as i64])
        .collect();
    numbers.extend((0..10_000).map(|_| prng.next_u64() as i64 >> prng.below(64)));
    for number in numbers {
        let mut buffer = [b'x'; crate::integer_text::INTEGER_BYTES];
        let start = crate::integer_text::integer_text(number, &mut buffer);
        assert_eq!(&buffer[start..], number.to_string().as_bytes(), "seed {seed:#x}");
        assert!(start >= 4 && buffer[..start].iter().all(|&byte| byte == b'x'));
        let mut out = b"a".to_vec();
        crate::integer_text::write_int(number, &mut out);
        assert_eq!(out[1..], buffer[start..]);
    }
}
