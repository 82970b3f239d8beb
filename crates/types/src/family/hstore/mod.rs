//! `hstore`: sets of pairs of texts, of the extension of that name.
//!
//! Read `pairs` (the value and its order), then `text` (its forms); this file registers the type, its operators and functions.
//!
//! Source: PostgreSQL's contrib/hstore (hstore_io.c, hstore_op.c).
//!
//! Leaves out: what answers rows or takes records (executor, `functions/extension/hstore`), GIN and GiST.

pub mod pairs;
mod text;

use super::comparisons::{Comparisons, comparisons};
use super::{Representation, Routine, TypeDescriptor, TypeFamily, routine};
use crate::catalog::extension::HSTORE;
use crate::datum::{Array, Datum, ELEMENT_COST, copy_text};
use crate::json::Json;
use crate::oid::*;
use crate::signature::{
    CastContext, CastRow, FunctionSignature, OperatorClass, OperatorRow, cast, default_class, function,
    operator,
};
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use pairs::{Pair, Pairs, merged, of_pairs, of_sorted};

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[TypeDescriptor {
        oid: HSTORE,
        representation: Representation::OrderedBytes,
        input: |given, _| text::parse(given),
        output: |datum, _, out| text::write(datum, out),
        receive: text::receive,
        send: text::send,
    }],
    compared: &["hstore"],
    comparisons: COMPARISONS,
    routines: ROUTINES,
    input_output: INPUT_OUTPUT,
    operators: OPERATORS,
    aggregates: &[],
    casts: CASTS,
    classes: CLASSES,
    hash_classes: &[default_class(15392, "hash_hstore_ops", 15393, HSTORE)],
};

const INPUT_OUTPUT: &[FunctionSignature] = &[
    function(15310, "hstore_in", "hstore_in", &[CSTRING], HSTORE),
    function(15311, "hstore_out", "hstore_out", &[HSTORE], CSTRING),
    function(15312, "hstore_recv", "hstore_recv", &[INTERNAL], HSTORE),
    function(15313, "hstore_send", "hstore_send", &[HSTORE], BYTEA),
];

#[rustfmt::skip]
const ROUTINES: &[Routine] = &[
    routine(function(15314, "hstore_version_diag", "hstore_version_diag", &[HSTORE], INT4), |_| Ok(Datum::Int4(2))),
    routine(function(15315, "fetchval", "hstore_fetchval", &[HSTORE, TEXT], TEXT), |a| {
        shown(Pairs::of(&a[0]).find(word(&a[1])).flatten())
    }),
    routine(function(15316, "slice_array", "hstore_slice_to_array", &[HSTORE, TEXT_ARRAY], TEXT_ARRAY), slice_to_array),
    routine(function(15317, "slice", "hstore_slice_to_hstore", &[HSTORE, TEXT_ARRAY], HSTORE), |a| {
        let value = Pairs::of(&a[0]);
        let found = keys(&a[1])?.into_iter().filter_map(|key| Some((key, value.find(key)?)));
        of_pairs(found.collect())
    }),
    routine(function(15318, "isexists", "hstore_exists", &[HSTORE, TEXT], BOOL), exists),
    routine(function(15319, "exist", "hstore_exists", &[HSTORE, TEXT], BOOL), exists),
    routine(function(15320, "exists_any", "hstore_exists_any", &[HSTORE, TEXT_ARRAY], BOOL), |a| {
        let value = Pairs::of(&a[0]);
        truth(keys(&a[1])?.into_iter().any(|key| value.find(key).is_some()))
    }),
    routine(function(15321, "exists_all", "hstore_exists_all", &[HSTORE, TEXT_ARRAY], BOOL), |a| {
        let value = Pairs::of(&a[0]);
        truth(keys(&a[1])?.into_iter().all(|key| value.find(key).is_some()))
    }),
    routine(function(15322, "isdefined", "hstore_defined", &[HSTORE, TEXT], BOOL), defined),
    routine(function(15323, "defined", "hstore_defined", &[HSTORE, TEXT], BOOL), defined),
    routine(function(15324, "delete", "hstore_delete", &[HSTORE, TEXT], HSTORE), |a| {
        kept(&a[0], |(key, _)| key != word(&a[1]))
    }),
    routine(function(15325, "delete", "hstore_delete_array", &[HSTORE, TEXT_ARRAY], HSTORE), |a| {
        let gone = of_pairs(keys(&a[1])?.into_iter().map(|key| (key, None)).collect())?;
        kept(&a[0], |(key, _)| Pairs::of(&gone).find(key).is_none())
    }),
    routine(function(15326, "delete", "hstore_delete_hstore", &[HSTORE, HSTORE], HSTORE), |a| {
        kept(&a[0], |(key, value)| Pairs::of(&a[1]).find(key) != Some(value))
    }),
    routine(function(15327, "hs_concat", "hstore_concat", &[HSTORE, HSTORE], HSTORE), |a| {
        of_sorted(&merged(Pairs::of(&a[0]), Pairs::of(&a[1]))?)
    }),
    routine(function(15328, "hs_contains", "hstore_contains", &[HSTORE, HSTORE], BOOL), |a| contains(&a[0], &a[1])),
    routine(function(15329, "hs_contained", "hstore_contained", &[HSTORE, HSTORE], BOOL), |a| contains(&a[1], &a[0])),
    routine(function(15330, "tconvert", "hstore_from_text", &[TEXT, TEXT], HSTORE).called_on_null(), of_texts),
    routine(function(15331, "hstore", "hstore_from_text", &[TEXT, TEXT], HSTORE).called_on_null(), of_texts),
    routine(function(15332, "hstore", "hstore_from_arrays", &[TEXT_ARRAY, TEXT_ARRAY], HSTORE).called_on_null(), of_arrays),
    routine(function(15333, "hstore", "hstore_from_array", &[TEXT_ARRAY], HSTORE), of_array),
    routine(function(15334, "hstore_to_json", "hstore_to_json", &[HSTORE], JSON), |a| json(&a[0], false)),
    routine(function(15335, "hstore_to_json_loose", "hstore_to_json_loose", &[HSTORE], JSON), |a| json(&a[0], true)),
    routine(function(15336, "hstore_to_jsonb", "hstore_to_jsonb", &[HSTORE], JSONB), |a| jsonb(&a[0], false)),
    routine(function(15337, "hstore_to_jsonb_loose", "hstore_to_jsonb_loose", &[HSTORE], JSONB), |a| jsonb(&a[0], true)),
    routine(function(15338, "hstore_to_array", "hstore_to_array", &[HSTORE], TEXT_ARRAY), |a| flat(&a[0])),
    routine(function(15339, "hstore_to_matrix", "hstore_to_matrix", &[HSTORE], TEXT_ARRAY), matrix),
    routine(function(15340, "akeys", "hstore_akeys", &[HSTORE], TEXT_ARRAY), |a| {
        listed_texts(&a[0], |(key, _)| [Some(key)])
    }),
    routine(function(15341, "avals", "hstore_avals", &[HSTORE], TEXT_ARRAY), |a| {
        listed_texts(&a[0], |(_, value)| [value])
    }),
    routine(function(15355, "mote_hstore_assign", "mote_hstore_assign", &[HSTORE, TEXT, TEXT], HSTORE).called_on_null(), assigned),
];

#[rustfmt::skip]
const COMPARISONS: &[Comparisons] = &[
    comparisons!(HSTORE, "hstore_", [15346, 15347, 15342, 15345, 15344, 15343, 15348], [15378, 15379, 15374, 15377, 15376, 15375])
        .ordered_by(["#<#", "#<=#", "#>=#", "#>#"]),
];

#[rustfmt::skip]
const OPERATORS: &[OperatorRow] = &[
    operator(15360, "->", HSTORE, TEXT, TEXT, 15315, 0, 0),
    operator(15361, "->", HSTORE, TEXT_ARRAY, TEXT_ARRAY, 15316, 0, 0),
    operator(15362, "?", HSTORE, TEXT, BOOL, 15319, 0, 0),
    operator(15363, "?|", HSTORE, TEXT_ARRAY, BOOL, 15320, 0, 0),
    operator(15364, "?&", HSTORE, TEXT_ARRAY, BOOL, 15321, 0, 0),
    operator(15365, "-", HSTORE, TEXT, HSTORE, 15324, 0, 0),
    operator(15366, "-", HSTORE, TEXT_ARRAY, HSTORE, 15325, 0, 0),
    operator(15367, "-", HSTORE, HSTORE, HSTORE, 15326, 0, 0),
    operator(15368, "||", HSTORE, HSTORE, HSTORE, 15327, 0, 0),
    operator(15369, "@>", HSTORE, HSTORE, BOOL, 15328, 15370, 0),
    operator(15370, "<@", HSTORE, HSTORE, BOOL, 15329, 15369, 0),
    operator(15371, "%%", Oid(0), HSTORE, TEXT_ARRAY, 15338, 0, 0),
    operator(15372, "%#", Oid(0), HSTORE, TEXT_ARRAY, 15339, 0, 0),
];

const CASTS: &[CastRow] = &[
    cast(15380, TEXT_ARRAY, HSTORE, CastContext::Explicit, false, 15333),
    cast(15381, HSTORE, JSON, CastContext::Explicit, false, 15334),
    cast(15382, HSTORE, JSONB, CastContext::Explicit, false, 15336),
];

const CLASSES: &[OperatorClass] = &[default_class(15390, "btree_hstore_ops", 15391, HSTORE)];

fn word(datum: &Datum) -> &str {
    datum.as_str().unwrap_or_default()
}

fn shown(value: Option<&str>) -> SqlResult<Datum> {
    value.map_or(Ok(Datum::Null), |value| copy_text(value).map(Datum::Text))
}

fn truth(value: bool) -> SqlResult<Datum> {
    Ok(Datum::Bool(value))
}

fn array(datum: &Datum) -> SqlResult<&Array> {
    match datum {
        Datum::Array(array) => Ok(array),
        _ => Err(SqlError::internal("the binder gave the argument an array type")),
    }
}

/// The texts of an array, without its NULLs.
fn keys(datum: &Datum) -> SqlResult<Vec<&str>> {
    let elements = &array(datum)?.elements;
    work::spend(ELEMENT_COST * elements.len())?;
    Ok(elements.iter().filter_map(Datum::as_str).collect())
}

fn exists(a: &[Datum]) -> SqlResult<Datum> {
    truth(Pairs::of(&a[0]).find(word(&a[1])).is_some())
}

fn defined(a: &[Datum]) -> SqlResult<Datum> {
    truth(Pairs::of(&a[0]).find(word(&a[1])).flatten().is_some())
}

/// The value without the pairs that do not stay.
fn kept(value: &Datum, stays: impl Fn(Pair<'_>) -> bool) -> SqlResult<Datum> {
    let value = Pairs::of(value);
    let mut left = work::list(value.len())?;
    let mut meter = Meter::default();
    for pair in value.iter() {
        meter.tick(ELEMENT_COST)?;
        left.extend(stays(pair).then_some(pair));
    }
    of_sorted(&left)
}

fn contains(whole: &Datum, part: &Datum) -> SqlResult<Datum> {
    let whole = Pairs::of(whole);
    let mut meter = Meter::default();
    for (key, value) in Pairs::of(part).iter() {
        meter.tick(ELEMENT_COST)?;
        if whole.find(key) != Some(value) {
            return truth(false);
        }
    }
    truth(true)
}

/// The values of the keys in an array, each at the place of its key.
fn slice_to_array(a: &[Datum]) -> SqlResult<Datum> {
    let (value, wanted) = (Pairs::of(&a[0]), array(&a[1])?);
    let mut values = work::list(wanted.elements.len())?;
    let mut meter = Meter::default();
    for key in &wanted.elements {
        meter.tick(ELEMENT_COST)?;
        let found = key.as_str().and_then(|key| value.find(key).flatten());
        values.push(shown(found)?);
    }
    Ok(Datum::Array(Box::new(Array {
        element: TEXT,
        dims: wanted.dims.clone(),
        elements: values.into(),
    })))
}

fn of_texts(a: &[Datum]) -> SqlResult<Datum> {
    match a[0].as_str() {
        Some(key) => of_sorted(&[(key, a[1].as_str())]),
        None => Ok(Datum::Null),
    }
}

/// `column['key'] = value`: a column without a value gets one.
fn assigned(a: &[Datum]) -> SqlResult<Datum> {
    let Some(key) = a[1].as_str() else {
        let message = "hstore subscript in assignment must not be null";
        return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message));
    };
    let pair = of_sorted(&[(key, a[2].as_str())])?;
    match a[0].is_null() {
        true => Ok(pair),
        false => of_sorted(&merged(Pairs::of(&a[0]), Pairs::of(&pair))?),
    }
}

fn wrong_subscripts(message: &str) -> SqlError {
    SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message)
}

fn key(datum: &Datum) -> SqlResult<&str> {
    datum.as_str().ok_or_else(text::null_key)
}

fn check_count(pairs: usize) -> SqlResult<()> {
    match pairs > text::PAIRS_MAX {
        true => Err(text::too_many(pairs as i64)),
        false => Ok(()),
    }
}

fn of_arrays(a: &[Datum]) -> SqlResult<Datum> {
    if a[0].is_null() {
        return Ok(Datum::Null);
    }
    let keys = array(&a[0])?;
    if keys.dims.len() > 1 {
        return Err(wrong_subscripts("wrong number of array subscripts"));
    }
    check_count(keys.elements.len())?;
    let values = match &a[1] {
        Datum::Null => None,
        values => Some(array(values)?),
    };
    if let Some(values) = values {
        if values.dims.len() > 1 {
            return Err(wrong_subscripts("wrong number of array subscripts"));
        }
        if values.dims != keys.dims {
            return Err(wrong_subscripts("arrays must have same bounds"));
        }
    }
    let mut pairs = work::list(keys.elements.len())?;
    for (position, element) in keys.elements.iter().enumerate() {
        pairs.push((
            key(element)?,
            values.and_then(|values| values.elements[position].as_str()),
        ));
    }
    of_pairs(pairs)
}

/// Of keys and values in turn, or of rows of both.
fn of_array(a: &[Datum]) -> SqlResult<Datum> {
    let given = array(&a[0])?;
    match given.dims.as_slice() {
        [] => return of_sorted(&[]),
        [one] if one.length % 2 != 0 => {
            return Err(wrong_subscripts("array must have even number of elements"));
        }
        [_, columns] if columns.length != 2 => return Err(wrong_subscripts("array must have two columns")),
        [_] | [_, _] => {}
        _ => return Err(wrong_subscripts("wrong number of array subscripts")),
    }
    check_count(given.elements.len() / 2)?;
    let mut pairs = work::list(given.elements.len() / 2)?;
    for pair in given.elements.chunks_exact(2) {
        pairs.push((key(&pair[0])?, pair[1].as_str()));
    }
    of_pairs(pairs)
}

fn json(value: &Datum, loose: bool) -> SqlResult<Datum> {
    text::to_json(value, loose).map(Datum::from)
}

fn jsonb(value: &Datum, loose: bool) -> SqlResult<Datum> {
    Ok(Datum::Jsonb(Box::new(Json::parse(&text::to_json(
        value, loose,
    )?)?)))
}

/// An array of what is said of each pair.
fn listed_texts<const N: usize>(
    value: &Datum,
    of: impl Fn(Pair<'_>) -> [Option<&str>; N],
) -> SqlResult<Datum> {
    Ok(Datum::array(TEXT, texts(value, of)?))
}

/// What is said of each pair, as texts.
pub fn texts<const N: usize>(
    value: &Datum,
    of: impl Fn(Pair<'_>) -> [Option<&str>; N],
) -> SqlResult<Vec<Datum>> {
    let value = Pairs::of(value);
    let mut all = work::list(N * value.len())?;
    let mut meter = Meter::default();
    for pair in value.iter() {
        for text in of(pair) {
            meter.tick(ELEMENT_COST)?;
            all.push(shown(text)?);
        }
    }
    Ok(all)
}

fn flat(value: &Datum) -> SqlResult<Datum> {
    listed_texts(value, |(key, value)| [Some(key), value])
}

fn matrix(a: &[Datum]) -> SqlResult<Datum> {
    let mut made = flat(&a[0])?;
    if let Datum::Array(array) = &mut made
        && let [one] = array.dims.as_slice()
    {
        let mut rows = *one;
        let mut columns = *one;
        rows.length /= 2;
        columns.length = 2;
        array.dims = vec![rows, columns];
    }
    Ok(made)
}
