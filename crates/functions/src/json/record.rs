//! Rows from `json` and `jsonb`: `json_to_record`, `json_populate_record`, those of sets, and their twins.
//!
//! A row takes its structure from the first argument, or from the query's column definition list: the binder hands that one
//! over as a row of NULLs behind the arguments (`describe_record` in `mote_sql`).
//!
//! Source: PostgreSQL's jsonfuncs.c (populate_record and what it calls), by behaviour.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult};
use mote_types::catalog::user::{is_row, row_type};
use mote_types::datum::ELEMENT_COST;
use mote_types::{
    Array, CastContext, ColumnType, Datum, Dimension, FormatSettings, Record, RowType, cast, oid,
};

use super::value::Value;
use super::{checked_escapes, tree};
use crate::argument::{jsonb, text};
use crate::{Body, CallSite};

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "json_to_record" | "jsonb_to_record" | "json_populate_record" | "jsonb_populate_record" => {
            Body::Typed(record)
        }
        _ => return None,
    })
}

/// As many dimensions as an array can have.
const DIMENSIONS_MAX: usize = 6;

/// Where the arguments of one of the functions are.
struct Arguments<'a> {
    base: Option<&'a Datum>,
    json: &'a Datum,
    /// A row of NULLs that the query's column definition list describes.
    described: Option<&'a Datum>,
}

impl<'a> Arguments<'a> {
    fn of(site: &CallSite, a: &'a [Datum]) -> Arguments<'a> {
        let is_populating = site.name.contains("_populate_");
        let (base, place) = match is_populating {
            true => (a.first(), 1),
            false => (None, 0),
        };
        // `use_json_as_text`, which may stand between, says nothing any more.
        let further = a.iter().zip(&site.arguments).skip(place + 1);
        let described = further.into_iter().find(|(_, ty)| ty.oid == oid::RECORD);
        let (json, described) = (&a[place], described.map(|(row, _)| row));
        Arguments {
            base,
            json,
            described,
        }
    }

    /// The structure of the rows.
    fn structure(&self, site: &CallSite) -> SqlResult<Arc<RowType>> {
        let declared = site.arguments.first().map(|ty| ty.oid);
        if self.base.is_some() && !declared.is_some_and(is_row) {
            let message = format!("first argument of {} must be a row type", site.name);
            return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
        }
        if let Some(Datum::Record(record)) = self.base {
            return Ok(Arc::clone(&record.ty));
        }
        let named = declared.filter(|_| self.base.is_some()).and_then(row_type);
        match (named, self.described) {
            (Some(named), _) => Ok(named),
            (None, Some(Datum::Record(described))) => Ok(Arc::clone(&described.ty)),
            _ => {
                let message = format!("could not determine row type for result of {}", site.name);
                Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).hint(
                    "Provide a non-null record argument, or call the function in the FROM clause using a column \
                     definition list.",
                ))
            }
        }
    }
}

/// The row that one object makes.
fn record(format: &FormatSettings, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let arguments = Arguments::of(site, a);
    let ty = arguments.structure(site)?;
    if arguments.json.is_null() {
        return arguments.base.map_or(Ok(Datum::Null), Datum::try_clone);
    }
    composite(&ty, arguments.base, &whole(arguments.json)?, format)
}

/// The rows that the objects of an array make.
pub fn recordset(format: &FormatSettings, site: &CallSite, a: &[Datum]) -> SqlResult<Vec<Datum>> {
    let arguments = Arguments::of(site, a);
    let ty = arguments.structure(site)?;
    if arguments.json.is_null() {
        return Ok(Vec::new());
    }
    let refused = |message: String| SqlError::new(state::INVALID_PARAMETER_VALUE, message);
    let list = whole(arguments.json)?;
    let Some(elements) = list.elements() else {
        let kind = match (&list, list.is_object()) {
            (Value::Tree(_), _) => "a non-array",
            (Value::Raw(_), true) => "an object",
            (Value::Raw(_), false) => "a scalar",
        };
        return Err(refused(format!("cannot call {} on {kind}", site.name)));
    };
    let mut rows = Vec::new();
    let mut meter = Meter::default();
    for element in elements {
        meter.keep(2 * ELEMENT_COST, ELEMENT_COST)?;
        if !element.is_object() {
            let message = format!("argument of {} must be an array of objects", site.name);
            return Err(refused(message));
        }
        rows.push(composite(&ty, arguments.base, &element, format)?);
    }
    Ok(rows)
}

fn whole(json: &Datum) -> SqlResult<Value<'_>> {
    Ok(match json {
        Datum::Jsonb(_) => Value::Tree(jsonb(json)),
        _ => Value::Raw(checked_escapes(text(json))?),
    })
}

/// A row whose fields are the members of these names. Where the object has none of a name the field is as in `base`.
fn composite(
    ty: &Arc<RowType>,
    base: Option<&Datum>,
    json: &Value<'_>,
    format: &FormatSettings,
) -> SqlResult<Datum> {
    let Some(members) = json.members() else {
        let kind = if json.elements().is_some() {
            "an array"
        } else {
            "a scalar"
        };
        let message = format!("cannot call populate_composite on {kind}");
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    };
    let before = match base {
        Some(Datum::Record(record)) => Some(&record.fields),
        _ => None,
    };
    let mut meter = Meter::default();
    let mut fields = Vec::with_capacity(ty.types.len());
    for (position, field) in ty.types.iter().enumerate() {
        meter.tick(ELEMENT_COST)?;
        let name = ty.name(position);
        let before = before.and_then(|before| before.get(position));
        fields.push(match (members.get(&name), before) {
            (None, None) => Datum::Null,
            (None, Some(before)) => before.try_clone()?,
            (Some(member), before) => value(*field, Some(&name), before, &member, format)?,
        });
    }
    let ty = Arc::clone(ty);
    Ok(Datum::Record(Box::new(Record { ty, fields })))
}

/// JSON as a value of a type. `key` says where it stands, for errors.
fn value(
    ty: ColumnType,
    key: Option<&str>,
    before: Option<&Datum>,
    json: &Value<'_>,
    format: &FormatSettings,
) -> SqlResult<Datum> {
    if json.is_null() {
        return Ok(Datum::Null);
    }
    // A string is read as any text of the type is.
    if json.is_string() {
        return scalar(ty, json, format);
    }
    let row = if is_row(ty.oid) { row_type(ty.oid) } else { None };
    match (ty.element(), row) {
        (Some(element), _) => array(element, key, json, format),
        (None, Some(row)) => composite(&row, before, json, format),
        (None, None) => scalar(ty, json, format),
    }
}

fn scalar(ty: ColumnType, json: &Value<'_>, format: &FormatSettings) -> SqlResult<Datum> {
    let (shown, from) = match (ty.oid, json) {
        (oid::JSONB, Value::Tree(part)) => (tree(Some(part))?, oid::JSONB),
        (oid::JSON | oid::JSONB, _) => (json.json_text()?, oid::TEXT),
        _ => (json.plain_text()?, oid::TEXT),
    };
    // As the type's input function does it: a text that is too long is refused.
    cast(&shown, ColumnType::new(from), ty, CastContext::Assignment, format)
}

/// An array under construction. How many dimensions it has, its first element that is no array tells.
struct Filling<'a> {
    element: ColumnType,
    key: Option<&'a str>,
    /// Of each dimension the length of the arrays so far, outermost first; None: there was none yet.
    lengths: Vec<Option<usize>>,
    /// Of each dimension how many elements the array has that is being read.
    counts: Vec<usize>,
    elements: Vec<Datum>,
    meter: Meter,
}

fn array(
    element: ColumnType,
    key: Option<&str>,
    json: &Value<'_>,
    format: &FormatSettings,
) -> SqlResult<Datum> {
    let dimensions = depth_of(json)?;
    let mut filling = Filling {
        element,
        key,
        lengths: vec![None; dimensions],
        counts: vec![0; dimensions],
        elements: Vec::new(),
        meter: Meter::default(),
    };
    filling.fill(json, 0, format)?;
    let mut dims = Vec::new();
    // Without elements it is the empty array, however it was written.
    if !filling.elements.is_empty() {
        dims.extend(filling.lengths.iter().map(|length| Dimension {
            length: length.unwrap_or(0) as i32,
            lower_bound: 1,
        }));
    }
    Ok(Datum::Array(Box::new(Array {
        element: element.oid,
        dims,
        elements: filling.elements.into(),
    })))
}

/// How many arrays begin before the first element that is none. What is no array is one of the first dimension all the same:
/// it is told when it is read.
fn depth_of(json: &Value<'_>) -> SqlResult<usize> {
    let mut depth = 1;
    let mut first = json.elements().and_then(|elements| elements.into_iter().next());
    while depth <= DIMENSIONS_MAX
        && let Some(inner) = first.filter(Value::is_array)
    {
        depth += 1;
        first = inner.elements().and_then(|elements| elements.into_iter().next());
    }
    if depth > DIMENSIONS_MAX {
        let message =
            format!("number of array dimensions ({depth}) exceeds the maximum allowed ({DIMENSIONS_MAX})");
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(depth)
}

impl Filling<'_> {
    /// Takes the elements of an array of this dimension, the outermost being 0.
    fn fill(&mut self, json: &Value<'_>, dimension: usize, format: &FormatSettings) -> SqlResult<()> {
        let Some(elements) = json.elements() else {
            return Err(self.expected_array(dimension));
        };
        for element in elements {
            self.meter.keep(2 * ELEMENT_COST, ELEMENT_COST)?;
            if dimension + 1 < self.lengths.len() {
                self.fill(&element, dimension + 1, format)?;
            } else {
                let taken = value(self.element, None, None, &element, format)?;
                self.elements.push(taken);
            }
            self.counts[dimension] += 1;
        }
        let length = std::mem::take(&mut self.counts[dimension]);
        match self.lengths[dimension].replace(length) {
            Some(known) if known != length => {
                let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
                Err(SqlError::new(state::INVALID_TEXT_REPRESENTATION, "malformed JSON array").detail(detail))
            }
            _ => Ok(()),
        }
    }

    /// What stands at this place of a dimension is no array.
    fn expected_array(&self, dimension: usize) -> SqlError {
        let error = SqlError::new(state::INVALID_TEXT_REPRESENTATION, "expected JSON array");
        let place: String = self.counts[..dimension]
            .iter()
            .map(|count| format!("[{count}]"))
            .collect();
        match (self.key, dimension) {
            (Some(key), 0) => error.hint(format!("See the value of key \"{key}\".")),
            (Some(key), _) => error.hint(format!("See the array element {place} of key \"{key}\".")),
            (None, 0) => error,
            (None, _) => error.hint(format!("See the array element {place}.")),
        }
    }
}
