//! Texts and wire bytes of every type: what is taken comes out in a form that is the same value when it is taken again, is stored
//! and read as the same value, and converts to other types without a panic.
//!
//! The first two bytes choose the type (by its OID, or another one), the third its modifier, the fourth the settings, the fifth whether the rest is a text, wire
//! bytes, or a text that is cast.
#![no_main]

use std::cmp::Ordering;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mote_types::catalog::{BUILTIN_TYPES, typmod_from_args};
use mote_types::cast::CastContext;
use mote_types::family::FAMILIES;
use mote_types::time_zone::TimeZone;
use mote_types::{
    ByteaOutput, ColumnType, DateOrder, Datum, FormatSettings, IntervalStyle, KeyColumn, can_cast, cast, compare,
    decode_storage, encode_key, encode_storage, equal, has_key, input_binary, input_text, oid, output_binary, output_text,
};

/// All but those of which there are no values, with those of extensions.
static TYPES: LazyLock<Vec<ColumnType>> = LazyLock::new(|| {
    let values = BUILTIN_TYPES.iter().filter(|info| info.kind != b'p').map(|info| info.oid);
    let of_families = FAMILIES.iter().flat_map(|family| family.types).map(|ty| ty.oid);
    let mut oids: Vec<_> = values.chain(of_families).collect();
    oids.sort_unstable();
    oids.dedup();
    oids.into_iter().map(ColumnType::new).collect()
});

fn chosen(number: u16) -> ColumnType {
    let named = TYPES.iter().find(|ty| ty.oid.0 == u32::from(number));
    *named.unwrap_or(&TYPES[usize::from(number) % TYPES.len()])
}

/// Field masks of intervals: year to month, day to second, hour.
const INTERVAL_FIELDS: [i32; 4] = [1 << 2 | 1 << 1, 1 << 3 | 1 << 10 | 1 << 11 | 1 << 12, 1 << 10, 0x7fff];

fn with_modifier(ty: ColumnType, byte: u8) -> ColumnType {
    if byte == 0 {
        return ty;
    }
    let [low, high] = [i32::from(byte % 16), i32::from(byte / 16)];
    let tries: [&[i32]; 3] = [
        &[low],
        &[low + 1, high - 4],
        &[INTERVAL_FIELDS[high as usize % INTERVAL_FIELDS.len()], low],
    ];
    let is_interval = [oid::INTERVAL, oid::INTERVAL_ARRAY].contains(&ty.oid);
    let tries = if is_interval { &tries[2..] } else { &tries[..2] };
    let typmod = tries.iter().find_map(|args| typmod_from_args(ty.oid, args).ok());
    ColumnType::with_typmod(ty.oid, typmod.unwrap_or(-1))
}

/// Only styles whose output PostgreSQL reads as the same value.
fn settings(byte: u8) -> FormatSettings {
    let zones = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"];
    FormatSettings {
        time_zone: TimeZone::named(zones[usize::from(byte % 4)]).expect("a zone"),
        date_order: [DateOrder::Ymd, DateOrder::Dmy, DateOrder::Mdy, DateOrder::Mdy][usize::from(byte / 4 % 4)],
        interval_style: [
            IntervalStyle::Postgres,
            IntervalStyle::PostgresVerbose,
            IntervalStyle::Iso8601,
            IntervalStyle::SqlStandard,
        ][usize::from(byte / 16 % 4)],
        bytea_output: if byte < 128 { ByteaOutput::Hex } else { ByteaOutput::Escape },
        ..FormatSettings::default()
    }
}

fn text(datum: &Datum, ty: ColumnType, settings: &FormatSettings) -> String {
    let mut out = Vec::new();
    output_text(datum, ty, settings, &mut out);
    String::from_utf8(out).expect("texts are UTF-8")
}

fn binary(datum: &Datum, ty: ColumnType) -> Vec<u8> {
    let mut out = Vec::new();
    output_binary(datum, ty, &mut out);
    out
}

fn key(datum: &Datum, ty: ColumnType) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(datum, &KeyColumn::new(ty, false), &mut out);
    out
}

/// The same value in the same form.
fn is_again(datum: &Datum, ty: ColumnType, settings: &FormatSettings) {
    let shown = text(datum, ty, settings);
    let again = input_text(ty, &shown, settings).unwrap_or_else(|error| panic!("{ty:?} {shown:?}: {error}"));
    assert!(equal(datum, &again), "{ty:?} {shown:?}: {datum:?} {again:?}");
    assert_eq!(text(&again, ty, settings), shown, "{ty:?}");
}

fn is_again_in_binary(datum: &Datum, ty: ColumnType) {
    // PostgreSQL sends vectors without elements and takes none.
    let is_vector = [oid::INT2VECTOR, oid::OIDVECTOR].contains(&ty.oid);
    if is_vector && matches!(datum, Datum::Array(array) if array.elements.is_empty()) {
        return;
    }
    let sent = binary(datum, ty);
    let again = input_binary(ty, &sent).unwrap_or_else(|error| panic!("{ty:?} {datum:?} {sent:?}: {error}"));
    assert!(equal(datum, &again), "{ty:?} {sent:?}: {datum:?} {again:?}");
    assert_eq!(binary(&again, ty), sent, "{ty:?} {datum:?}");
}

fn is_stored(datum: &Datum, ty: ColumnType, settings: &FormatSettings) {
    let mut bytes = Vec::new();
    encode_storage(datum, ty, &mut bytes);
    let again = decode_storage(ty, &bytes);
    assert!(equal(datum, &again), "{ty:?}: {datum:?} {again:?}");
    assert_eq!(text(&again, ty, settings), text(datum, ty, settings));
    if has_key(ty) {
        assert_eq!(key(&again, ty), key(datum, ty), "{ty:?} {datum:?}");
    }
}

/// To all types that there is a way to; the casts that answer give values that can be shown.
fn converts(datum: &Datum, ty: ColumnType, settings: &FormatSettings) {
    for &to in TYPES.iter() {
        if can_cast(ty.oid, to.oid).is_some()
            && let Ok(value) = cast(datum, ty, to, CastContext::Explicit, settings)
        {
            drop(text(&value, to, settings));
        }
    }
}

fn orders(a: &Datum, b: &Datum, ty: ColumnType) {
    if has_key(ty) {
        let of_keys = key(a, ty).cmp(&key(b, ty));
        assert_eq!(of_keys, compare(a, b), "{ty:?} {a:?} {b:?}");
        assert_eq!(of_keys == Ordering::Equal, equal(a, b));
    }
}

fn all(datum: &Datum, ty: ColumnType, settings: &FormatSettings) {
    is_again(datum, ty, settings);
    is_again_in_binary(datum, ty);
    is_stored(datum, ty, settings);
    converts(datum, ty, settings);
}

fuzz_target!(|input: &[u8]| {
    let [low, high, modifier, how, form, rest @ ..] = input else { return };
    let ty = with_modifier(chosen(u16::from_le_bytes([*low, *high])), *modifier);
    let settings = settings(*how);
    if form % 4 == 0 {
        if let Ok(datum) = input_binary(ty, rest) {
            all(&datum, ty, &settings);
        }
        return;
    }
    let Ok(written) = mote_types::format::utf8(rest) else { return };
    // Two values of a type have one order, whoever is asked.
    let (first, second) = written.split_once('\n').unwrap_or((written, written));
    let read = |text: &str| match form % 4 {
        1 => cast(&Datum::Text(text.into()), ColumnType::TEXT, ty, CastContext::Explicit, &settings),
        _ => input_text(ty, text, &settings),
    };
    let Ok(datum) = read(first) else { return };
    all(&datum, ty, &settings);
    if let Ok(other) = read(second) {
        orders(&datum, &other, ty);
    }
});
