//! Functions that yield rows: generate_series, unnest, regular expressions, json members.

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{Oid, SqlError, SqlResult};
use mote_functions::json::{
    checked_escapes, not_an_array, raw_elements, raw_members, raw_text, tree, tree_text,
};
use mote_functions::text::copied;
use mote_functions::{json_path, pattern, range};
use mote_types::datetime::{TimeZone, arithmetic};
use mote_types::datum::{ELEMENT_COST, try_clone_all};
use mote_types::json::Json;
use mote_types::{Datum, Interval, Numeric, compare::compare_intervals, oid};

use super::row_source::{list, rows};
use super::{
    RowSource, SetFunction, array_of, boolean, int4, int8, interval, jsonb, numeric, oid as oid_value, slots,
    text,
};
use mote_catalog::views::partitions;

pub fn body(name: &str) -> Option<SetFunction> {
    Some(match name {
        "pg_listening_channels" => {
            |runtime, _, _| Ok(texts(runtime.session().notifications.listening().to_vec()))
        }
        "generate_series_int4" => |_, _, a| integers(int4(&a[0]) as i64, int4(&a[1]) as i64, 1, false),
        "generate_series_step_int4" => {
            |_, _, a| integers(int4(&a[0]) as i64, int4(&a[1]) as i64, int4(&a[2]) as i64, false)
        }
        "generate_series_int8" => |_, _, a| integers(int8(&a[0]), int8(&a[1]), 1, true),
        "generate_series_step_int8" => |_, _, a| integers(int8(&a[0]), int8(&a[1]), int8(&a[2]), true),
        "generate_series_numeric" => |_, _, a| numerics(numeric(&a[0]), numeric(&a[1]), &Numeric::ONE),
        "generate_series_step_numeric" => |_, _, a| numerics(numeric(&a[0]), numeric(&a[1]), numeric(&a[2])),
        "generate_series_timestamp" => |_, _, a| timestamps(&a[0], &a[1], interval(&a[2]), None),
        "generate_series_timestamptz" => |runtime, _, a| {
            let zone = runtime.format().time_zone.clone();
            timestamps(&a[0], &a[1], interval(&a[2]), Some(zone))
        },
        "generate_subscripts" => |_, _, a| subscripts(a, boolean(&a[2])),
        "generate_subscripts_nodir" => |_, _, a| subscripts(a, false),
        "array_unnest" => |_, _, a| Ok(list(try_clone_all(&array_of(&a[0]).elements)?)),
        "multirange_unnest" => |_, _, a| Ok(list(range::unnested(&a[0])?)),
        "regexp_matches_no_flags" => {
            |_, _, a| Ok(list(pattern::regexp_matches(text(&a[0]), text(&a[1]), "")?))
        }
        "regexp_matches" => |_, _, a| {
            Ok(list(pattern::regexp_matches(
                text(&a[0]),
                text(&a[1]),
                text(&a[2]),
            )?))
        },
        "regexp_split_to_table_no_flags" => {
            |_, _, a| Ok(texts(pattern::split(text(&a[0]), text(&a[1]), "")?))
        }
        "regexp_split_to_table" => |_, _, a| {
            pattern::forbid_global(text(&a[2]), "regexp_split_to_table()")?;
            Ok(texts(pattern::split(text(&a[0]), text(&a[1]), text(&a[2]))?))
        },
        "text_to_table" => |_, _, a| {
            Ok(list(
                super::array::pieces(&a[0], &a[1], None)?.unwrap_or_default(),
            ))
        },
        "text_to_table_null" => |_, _, a| {
            Ok(list(
                super::array::pieces(&a[0], &a[1], a[2].as_str())?.unwrap_or_default(),
            ))
        },
        "jsonb_path_query" | "jsonb_path_query_tz" => |_, _, a| Ok(list(json_path::results(a)?)),
        "jsonb_array_elements" => |_, _, a| {
            let elements = elements(jsonb(&a[0]))?.iter();
            Ok(list(paid(elements, |element| tree(Some(element)))?))
        },
        "jsonb_array_elements_text" => |_, _, a| {
            let elements = elements(jsonb(&a[0]))?.iter();
            Ok(list(paid(elements, |element| tree_text(Some(element)))?))
        },
        "jsonb_object_keys" => |_, site, a| {
            let members = members(jsonb(&a[0]), site.name)?.iter();
            Ok(list(paid(members, |(key, _)| Ok(Datum::Text(key.clone())))?))
        },
        "jsonb_each" => |_, site, a| {
            let pairs = members(jsonb(&a[0]), site.name)?.iter();
            Ok(rows(paid(pairs, |(key, value)| {
                Ok(vec![Datum::Text(key.clone()), tree(Some(value))?])
            })?))
        },
        "jsonb_each_text" => |_, site, a| {
            let pairs = members(jsonb(&a[0]), site.name)?.iter();
            Ok(rows(paid(pairs, |(key, value)| {
                Ok(vec![Datum::Text(key.clone()), tree_text(Some(value))?])
            })?))
        },
        "json_array_elements" => |_, site, a| {
            let elements = raw_list(text(&a[0]), site.name)?.into_iter();
            Ok(list(paid(elements, copied)?))
        },
        "json_array_elements_text" => |_, site, a| {
            let elements = raw_list(text(&a[0]), site.name)?.into_iter();
            Ok(list(paid(elements, |raw| raw_text(Some(raw)))?))
        },
        "json_object_keys" => |_, site, a| {
            let pairs = raw_pairs(text(&a[0]), site.name)?.into_iter();
            Ok(list(paid(pairs, |(key, _)| Ok(Datum::from(key)))?))
        },
        "json_each" => |_, site, a| {
            let pairs = raw_pairs(text(&a[0]), site.name)?.into_iter();
            Ok(rows(paid(pairs, |(key, raw)| {
                Ok(vec![Datum::from(key), copied(raw)?])
            })?))
        },
        "json_each_text" => |_, site, a| {
            let pairs = raw_pairs(text(&a[0]), site.name)?.into_iter();
            Ok(rows(paid(pairs, |(key, raw)| {
                Ok(vec![Datum::from(key), raw_text(Some(raw))?])
            })?))
        },
        "json_to_recordset"
        | "jsonb_to_recordset"
        | "json_populate_recordset"
        | "jsonb_populate_recordset" => {
            |runtime, site, a| Ok(list(mote_functions::json::recordset(runtime.format(), site, a)?))
        }
        "pg_create_physical_replication_slot"
        | "pg_copy_physical_replication_slot_a"
        | "pg_copy_physical_replication_slot_b" => |runtime, _, a| slots::made(runtime, a).map(rows),
        "pg_create_logical_replication_slot" => |runtime, _, a| slots::made_logical(runtime, a).map(rows),
        "pg_get_publication_tables" => |runtime, _, a| {
            let facts = super::catalog_text::facts(runtime);
            mote_catalog::views::publication_tables(text(&a[0]), &facts).map(rows)
        },
        "aclexplode" => |runtime, _, a| super::acl::explode(runtime, &a[0]),
        "pg_get_keywords" => |_, _, _| Ok(super::keywords::keywords()),
        "pg_identify_object" => |runtime, _, a| {
            let found = super::catalog_text::object_identity(runtime, a)?;
            let text = |text: Option<String>| text.map_or(Datum::Null, Datum::from);
            let shown = found.map(|found| match found.known {
                Some(known) => vec![
                    Datum::from(found.kind),
                    text(known.schema),
                    text(known.name),
                    Datum::from(known.identity),
                ],
                None => vec![Datum::from(found.kind), Datum::Null, Datum::Null, Datum::Null],
            });
            Ok(rows(vec![shown.unwrap_or_else(|| vec![Datum::Null; 4])]))
        },
        "pg_identify_object_as_address" => |runtime, _, a| {
            let found = super::catalog_text::object_identity(runtime, a)?;
            let texts =
                |texts: Vec<String>| Datum::array(oid::TEXT, texts.into_iter().map(Datum::from).collect());
            let shown = found.map(|found| match found.known {
                Some(known) => vec![
                    Datum::from(found.kind),
                    texts(known.object_names),
                    texts(known.object_args),
                ],
                None => vec![Datum::from(found.kind), Datum::Null, Datum::Null],
            });
            Ok(rows(vec![shown.unwrap_or_else(|| vec![Datum::Null; 3])]))
        },
        "pg_options_to_table" => |_, _, a| Ok(options(array_of(&a[0]).elements.iter())),
        "_pg_expandarray" => |_, _, a| numbered(&array_of(&a[0]).elements),
        "pg_partition_ancestors" => |runtime, _, a| {
            let catalog = runtime.session().catalog.current();
            let above = partitions::ancestors(&catalog, Oid(oid_value(&a[0])));
            Ok(list(above.into_iter().map(Datum::oid).collect()))
        },
        "pg_partition_tree" => |runtime, _, a| {
            let catalog = runtime.session().catalog.current();
            let tree = partitions::tree(&catalog, Oid(oid_value(&a[0])));
            let shown = tree.into_iter().map(|(relation, parent, leaf, level)| {
                let parent = parent.map_or(Datum::Null, Datum::oid);
                vec![
                    Datum::oid(relation),
                    parent,
                    Datum::Bool(leaf),
                    Datum::Int4(level),
                ]
            });
            Ok(rows(shown.collect()))
        },
        _ => return super::extension::set_body(name),
    })
}

/// `name=value` taken apart; an option without a value has NULL.
fn options<'a>(options: impl Iterator<Item = &'a Datum>) -> Box<dyn RowSource> {
    let pairs = options
        .filter_map(Datum::as_str)
        .map(|option| match option.split_once('=') {
            Some((name, value)) => vec![Datum::from(name), Datum::from(value)],
            None => vec![Datum::from(option), Datum::Null],
        });
    rows(pairs.collect())
}

/// The elements of an array with their ordinals, from 1.
fn numbered(elements: &[Datum]) -> SqlResult<Box<dyn RowSource>> {
    Ok(rows(paid(elements.iter().enumerate(), |(place, element)| {
        Ok(vec![element.try_clone()?, Datum::Int4(place as i32 + 1)])
    })?))
}

/// What `make` makes of each item, paid for.
fn paid<I: ExactSizeIterator, T>(
    items: I,
    mut make: impl FnMut(I::Item) -> SqlResult<T>,
) -> SqlResult<Vec<T>> {
    let mut made = work::list(items.len())?;
    let mut meter = Meter::default();
    for item in items {
        meter.keep(2 * ELEMENT_COST, ELEMENT_COST)?;
        made.push(make(item)?);
    }
    Ok(made)
}

/// The same for texts.
fn texts(values: Vec<String>) -> Box<dyn RowSource> {
    list(values.into_iter().map(Datum::from).collect())
}

/// generate_series would never end.
fn zero_step() -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

/// generate_series of integers.
struct Integers {
    /// None: the step has left int8, and with it the range to `stop`.
    next: Option<i64>,
    stop: i64,
    step: i64,
    wide: bool,
}

impl RowSource for Integers {
    fn next(&mut self, row: &mut Vec<Datum>) -> SqlResult<bool> {
        let Some(value) = self.next else { return Ok(false) };
        if if self.step > 0 {
            value > self.stop
        } else {
            value < self.stop
        } {
            return Ok(false);
        }
        self.next = value.checked_add(self.step);
        row.push(if self.wide {
            Datum::Int8(value)
        } else {
            Datum::Int4(value as i32)
        });
        Ok(true)
    }
}

/// `wide`: int8 rather than int4.
fn integers(start: i64, stop: i64, step: i64, wide: bool) -> SqlResult<Box<dyn RowSource>> {
    if step == 0 {
        return Err(zero_step());
    }
    Ok(Box::new(Integers {
        next: Some(start),
        stop,
        step,
        wide,
    }))
}

struct Numerics {
    /// `None`: beyond what a numeric can be, and so beyond `stop`.
    next: Option<Numeric>,
    stop: Numeric,
    step: Numeric,
}

impl RowSource for Numerics {
    fn next(&mut self, row: &mut Vec<Datum>) -> SqlResult<bool> {
        let past = |next: &Numeric| match self.step.is_negative() {
            true => *next < self.stop,
            false => *next > self.stop,
        };
        let Some(value) = self.next.take().filter(|next| !past(next)) else {
            return Ok(false);
        };
        self.next = match value.add(&self.step) {
            Ok(following) => Some(following),
            Err(error) if error.state() == state::NUMERIC_VALUE_OUT_OF_RANGE => None,
            Err(error) => return Err(error),
        };
        row.push(Datum::Numeric(value));
        Ok(true)
    }
}

fn numerics(start: &Numeric, stop: &Numeric, step: &Numeric) -> SqlResult<Box<dyn RowSource>> {
    for (value, name) in [(start, "start"), (stop, "stop"), (step, "step size")] {
        if !value.is_finite() {
            let what = if value.is_nan() { "NaN" } else { "infinity" };
            let name = if name == "step size" {
                name.to_string()
            } else {
                format!("{name} value")
            };
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("{name} cannot be {what}"),
            ));
        }
    }
    if step.is_zero() {
        return Err(zero_step());
    }
    Ok(Box::new(Numerics {
        next: Some(start.clone()),
        stop: stop.clone(),
        step: step.clone(),
    }))
}

/// generate_series of timestamps, in the session's zone with one: a day is then as long as the zone makes it.
struct Timestamps {
    next: i64,
    stop: i64,
    step: Interval,
    ascending: bool,
    zone: Option<TimeZone>,
}

impl RowSource for Timestamps {
    fn next(&mut self, row: &mut Vec<Datum>) -> SqlResult<bool> {
        let value = self.next;
        if if self.ascending {
            value > self.stop
        } else {
            value < self.stop
        } {
            return Ok(false);
        }
        // Always from the last value: a month's end that a shorter month has moved stays moved, as in PostgreSQL.
        self.next = match &self.zone {
            Some(zone) => arithmetic::timestamptz_plus(value, &self.step, zone)?,
            None => arithmetic::timestamp_plus(value, &self.step)?,
        };
        row.push(if self.zone.is_some() {
            Datum::TimestampTz(value)
        } else {
            Datum::Timestamp(value)
        });
        Ok(true)
    }
}

fn timestamps(
    start: &Datum,
    stop: &Datum,
    step: &Interval,
    zone: Option<TimeZone>,
) -> SqlResult<Box<dyn RowSource>> {
    let us = |value: &Datum| match value {
        Datum::Timestamp(us) | Datum::TimestampTz(us) => *us,
        _ => 0,
    };
    // By the order of intervals, which counts a month as 30 days.
    let sign = compare_intervals(step, &Interval::default());
    if sign.is_eq() {
        return Err(zero_step());
    }
    Ok(Box::new(Timestamps {
        next: us(start),
        stop: us(stop),
        step: *step,
        ascending: sign.is_gt(),
        zone,
    }))
}

/// generate_subscripts: none for a dimension that the array does not have.
fn subscripts(a: &[Datum], reverse: bool) -> SqlResult<Box<dyn RowSource>> {
    let number = usize::try_from(int4(&a[1]))
        .ok()
        .and_then(|number| number.checked_sub(1));
    let Some(dim) = number.and_then(|number| array_of(&a[0]).dims.get(number)) else {
        return Ok(list(Vec::new()));
    };
    let (first, last) = (dim.lower_bound as i64, (dim.lower_bound + dim.length - 1) as i64);
    if reverse {
        integers(last, first, -1, false)
    } else {
        integers(first, last, 1, false)
    }
}

/// The elements of an array; an error for anything else, in words that say what it is.
fn elements(json: &Json) -> SqlResult<&[Json]> {
    match json {
        Json::Array(elements) => Ok(elements),
        Json::Object(_) => Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "cannot extract elements from an object",
        )),
        _ => Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "cannot extract elements from a scalar",
        )),
    }
}

/// jsonb_each and jsonb_each_text do not tell what it is instead, json_each and json_each_text do not tell who asks.
fn not_an_object(function: &str, is_array: bool) -> SqlError {
    let message = match (function, is_array) {
        ("jsonb_each" | "jsonb_each_text", _) => format!("cannot call {function} on a non-object"),
        ("json_each" | "json_each_text", true) => "cannot deconstruct an array as an object".to_string(),
        ("json_each" | "json_each_text", false) => "cannot deconstruct a scalar".to_string(),
        (_, true) => format!("cannot call {function} on an array"),
        (_, false) => format!("cannot call {function} on a scalar"),
    };
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// The members of an object, in the order in which jsonb keeps them.
fn members<'a>(json: &'a Json, function: &str) -> SqlResult<&'a [(compact_str::CompactString, Json)]> {
    match json {
        Json::Object(members) => Ok(members),
        other => Err(not_an_object(function, matches!(other, Json::Array(_)))),
    }
}

/// The elements of a `json` text, as they are written.
fn raw_list<'a>(json: &'a str, function: &str) -> SqlResult<Vec<&'a str>> {
    let verb = format!("call {function} on");
    raw_elements(json).ok_or_else(|| not_an_array(&verb, json.trim_start().starts_with('{')))
}

/// The members of a `json` text, values as they are written; members of one key are all there.
fn raw_pairs<'a>(json: &'a str, function: &str) -> SqlResult<Vec<(String, &'a str)>> {
    raw_members(checked_escapes(json)?)
        .ok_or_else(|| not_an_object(function, json.trim_start().starts_with('[')))
}
