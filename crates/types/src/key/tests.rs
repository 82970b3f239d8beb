use super::*;
use crate::compare::compare;
use crate::numeric::Numeric;
use crate::oid;
use mote_common::prng::Prng;

fn key(datum: &Datum, column: &KeyColumn) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(datum, column, &mut out);
    out
}

fn numeric(text: &str) -> Datum {
    Datum::Numeric(Numeric::parse(text).unwrap())
}

/// Every pair of datums compares as their keys do, ascending and descending.
fn check_order(ty: ColumnType, data: &[Datum]) {
    let ascending = KeyColumn::new(ty, true);
    let descending = KeyColumn {
        descending: true,
        nulls_first: true,
        ..ascending
    };
    for a in data {
        for b in data {
            let expect = compare(a, b);
            assert_eq!(key(a, &ascending).cmp(&key(b, &ascending)), expect, "{a:?} {b:?}");
            assert_eq!(
                key(a, &descending).cmp(&key(b, &descending)),
                expect.reverse(),
                "{a:?} {b:?}"
            );
        }
    }
}

#[test]
fn integers_and_floats_keep_their_order() {
    check_order(
        ColumnType::INT2,
        &[
            Datum::Int2(i16::MIN),
            Datum::Int2(-1),
            Datum::Int2(0),
            Datum::Int2(5),
            Datum::Null,
        ],
    );
    check_order(ColumnType::INT4, &[i32::MIN, -1, 0, 1, i32::MAX].map(Datum::Int4));
    check_order(ColumnType::INT8, &[i64::MIN, -1, 0, 1, i64::MAX].map(Datum::Int8));
    check_order(ColumnType::OID, &[0, 1, u32::MAX].map(Datum::Oid));
    check_order(
        ColumnType::BOOL,
        &[Datum::Bool(false), Datum::Bool(true), Datum::Null],
    );
    let floats = [
        f64::NEG_INFINITY,
        -1.5,
        -0.0,
        0.0,
        1e-300,
        1.0,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
        -f64::NAN,
    ];
    check_order(ColumnType::FLOAT8, &floats.map(Datum::Float8));
    check_order(
        ColumnType::FLOAT4,
        &floats.map(|value| Datum::Float4(value as f32)),
    );
}

#[test]
fn strings_keep_their_order() {
    let texts = [
        "",
        "\0",
        "\0\0",
        "\0a",
        "a",
        "a\0",
        "a\0b",
        "ab",
        "b",
        "\u{e9}",
        "\u{10ffff}",
    ];
    check_order(ColumnType::TEXT, &texts.map(Datum::from));
    let bytes: [&[u8]; 6] = [b"", b"\0", b"\0\xff", b"\xff", b"\xff\xff", b"\x01"];
    check_order(ColumnType::BYTEA, &bytes.map(Datum::bytea));
    check_order(ColumnType::UUID, &[Datum::Uuid([0; 16]), Datum::Uuid([0xff; 16])]);
}

#[test]
fn numerics_keep_their_order_without_scale() {
    let texts = [
        "-Infinity",
        "-1e100",
        "-10000.1",
        "-10000",
        "-9999.9999",
        "-1.01",
        "-1",
        "-0.5",
        "-1e-50",
        "0",
        "1e-50",
        "0.01",
        "0.5",
        "1",
        "1.0",
        "1.00000000000000000000",
        "1.01",
        "9999",
        "10000",
        "10001",
        "1e100",
        "Infinity",
        "NaN",
    ];
    check_order(ColumnType::NUMERIC, &texts.map(numeric));
    let fixed = [
        "-9999999999.99",
        "-1",
        "0",
        "0.01",
        "5.00",
        "9999999999.99",
        "NaN",
    ];
    check_order(ColumnType::numeric(12, 2), &fixed.map(numeric));
    let seed = 0x6b657973;
    let mut prng = Prng::new(seed);
    let random: Vec<Datum> = (0..150)
        .map(|_| {
            Datum::Numeric(Numeric::from_scaled_i64(
                prng.next_u64() as i64 >> prng.below(63),
                prng.below(18) as i32,
            ))
        })
        .collect();
    check_order(ColumnType::NUMERIC, &random);
}

#[test]
fn times_keep_their_order() {
    check_order(ColumnType::DATE, &[i32::MIN, -1, 0, i32::MAX].map(Datum::Date));
    check_order(
        ColumnType::TIMESTAMPTZ,
        &[i64::MIN, -1, 0, i64::MAX].map(Datum::TimestampTz),
    );
    let intervals = [
        (-1, 0, 0),
        (0, -30, 0),
        (0, 0, 0),
        (0, 0, 1),
        (0, 30, 0),
        (1, 0, 0),
        (1, 0, 1),
    ];
    check_order(
        ColumnType::INTERVAL,
        &intervals.map(|(m, d, us)| Datum::interval(m, d, us)),
    );
}

#[test]
fn layout_is_the_contract() {
    let not_null = KeyColumn::new(ColumnType::INT4, false);
    assert_eq!(key(&Datum::Int4(1), &not_null), [0x80, 0, 0, 1]);
    let nullable = KeyColumn::new(ColumnType::INT4, true);
    assert_eq!(key(&Datum::Int4(1), &nullable), [0x01, 0x80, 0, 0, 1]);
    assert_eq!(key(&Datum::Null, &nullable), [0x02]);
    let descending = KeyColumn {
        descending: true,
        nulls_first: true,
        ..nullable
    };
    assert_eq!(key(&Datum::Int4(1), &descending), [0x01, 0x7f, 0xff, 0xff, 0xfe]);
    assert_eq!(key(&Datum::Null, &descending), [0x00]);
    let text = KeyColumn::new(ColumnType::TEXT, false);
    assert_eq!(key(&"a\0".into(), &text), [b'a', 0, 0xff, 0, 0]);
}

/// Stored bytes turned into key bytes by `KeyEncoding` alone equal the keys made from datums.
#[test]
fn storage_gives_the_same_keys() {
    use crate::storage::encode_storage;
    let cases = [
        (ColumnType::INT4, Datum::Int4(-7)),
        (ColumnType::INT8, Datum::Int8(1 << 40)),
        (ColumnType::new(oid::XID8), Datum::Int8(-1)),
        (ColumnType::OID, Datum::Oid(77)),
        (ColumnType::BOOL, Datum::Bool(true)),
        (ColumnType::FLOAT8, Datum::Float8(-0.0)),
        (ColumnType::FLOAT8, Datum::Float8(-2.5)),
        (ColumnType::FLOAT4, Datum::Float4(2.5)),
        (ColumnType::FLOAT8, Datum::Float8(-f64::NAN)),
        (ColumnType::numeric(12, 2), numeric("-12.34")),
        (ColumnType::NUMERIC, numeric("-12.3400")),
        (ColumnType::INTERVAL, Datum::interval(1, -2, 3)),
        (ColumnType::TEXT, "a\0b".into()),
        (ColumnType::UUID, Datum::Uuid([3; 16])),
        (ColumnType::DATE, Datum::Date(-1)),
    ];
    for (ty, datum) in cases {
        let mut stored = Vec::new();
        encode_storage(&datum, ty, &mut stored);
        let mut from_storage = Vec::new();
        let big_endian = |stored: &[u8]| stored.iter().rev().copied().collect::<Vec<u8>>();
        match key_encoding(ty).unwrap() {
            KeyEncoding::Unsigned => from_storage = big_endian(&stored),
            KeyEncoding::Signed => {
                from_storage = big_endian(&stored);
                from_storage[0] ^= 0x80;
            }
            KeyEncoding::Float if stored.len() == 4 => from_storage.extend(ordered_bytes::float4_key(
                f32::from_le_bytes(stored[..].try_into().unwrap()),
            )),
            KeyEncoding::Float => from_storage.extend(ordered_bytes::float8_key(f64::from_le_bytes(
                stored[..].try_into().unwrap(),
            ))),
            KeyEncoding::Raw16 => from_storage = stored,
            KeyEncoding::Escaped => ordered_bytes::write_escaped(&stored, &mut from_storage),
            KeyEncoding::Unpadded => {
                let blanks = stored.iter().rev().take_while(|&&byte| byte == b' ').count();
                ordered_bytes::write_escaped(&stored[..stored.len() - blanks], &mut from_storage)
            }
            KeyEncoding::Prefixed => {
                let length = u16::from_le_bytes([stored[0], stored[1]]) as usize;
                from_storage.extend(&stored[2..2 + length]);
            }
        }
        assert_eq!(from_storage, key(&datum, &KeyColumn::new(ty, false)), "{datum:?}");
    }
}

#[test]
fn search_values_that_are_no_keys_become_bounds() {
    let ty = ColumnType::numeric(12, 2);
    let bound = |text: &str| key_bound(&numeric(text), ty);
    assert_eq!(bound("1.00"), KeyBound::Exact);
    assert_eq!(bound("1.0000"), KeyBound::Exact);
    assert_eq!(bound("1.005"), KeyBound::Between(100));
    assert_eq!(bound("-1.005"), KeyBound::Between(-101));
    assert_eq!(bound("1e40"), KeyBound::Between(i64::MAX - 1));
    assert_eq!(bound("-1e40"), KeyBound::BelowAll);
    assert_eq!(bound("Infinity"), KeyBound::Between(i64::MAX - 1));
    assert_eq!(bound("NaN"), KeyBound::Exact);
    assert_eq!(key_bound(&numeric("1.005"), ColumnType::NUMERIC), KeyBound::Exact);
}

/// What `text` is as a value of the type.
fn value(ty: oid::Oid, text: &str) -> Datum {
    crate::input_text(ColumnType::new(ty), text, &crate::FormatSettings::default()).unwrap()
}

#[test]
fn computed_keys_keep_the_order_of_arrays_and_documents() {
    let arrays = |ty, texts: &[&str]| {
        let data: Vec<Datum> = texts.iter().map(|text| value(ty, text)).collect();
        check_order(ColumnType::new(ty), &data);
    };
    let numbers = [
        "{}",
        "{1}",
        "{1,2}",
        "{1,NULL}",
        "{NULL}",
        "{-5}",
        "{{1,2}}",
        "{{1},{2}}",
        "[0:1]={1,2}",
        "[2:2]={1}",
    ];
    arrays(oid::INT4_ARRAY, &numbers);
    arrays(
        oid::NUMERIC_ARRAY,
        &["{}", "{1.5}", "{1.50,0}", "{NaN}", "{-Infinity}", "{0}", "{1e30}"],
    );
    arrays(
        oid::TEXT_ARRAY,
        &["{}", "{a}", "{a,b}", "{ab}", r#"{""}"#, r#"{"",a}"#, "{NULL,a}"],
    );
    let documents = [
        "[]",
        "null",
        r#""s""#,
        r#""""#,
        "1",
        "-1.5",
        "1.50",
        "true",
        "false",
        "[1]",
        "[[]]",
        "[null]",
        "[1, 2]",
        "{}",
        r#"{"k": 1}"#,
        r#"{"k": []}"#,
        r#"{"k": {}}"#,
        r#"{"l": 0}"#,
        r#"{"k": 1, "l": 0}"#,
        r#"{"kk": 0}"#,
        r#"[[], 1]"#,
    ];
    arrays(oid::JSONB, &documents);
}
