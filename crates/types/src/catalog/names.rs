//! SQL spellings of types: `format_type`, look-up by name with the standard's aliases, type modifiers.

use super::*;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::fmt::Write;

/// SQL names that differ from `pg_type.typname`, all lower case with single blanks.
const ALIASES: &[(&str, Oid)] = &[
    ("bigint", oid::INT8),
    ("bit varying", oid::VARBIT),
    ("boolean", oid::BOOL),
    ("char varying", oid::VARCHAR),
    ("character", oid::BPCHAR),
    ("character varying", oid::VARCHAR),
    ("dec", oid::NUMERIC),
    ("decimal", oid::NUMERIC),
    ("double precision", oid::FLOAT8),
    ("float", oid::FLOAT8),
    ("int", oid::INT4),
    ("integer", oid::INT4),
    ("national char", oid::BPCHAR),
    ("national character", oid::BPCHAR),
    ("national character varying", oid::VARCHAR),
    ("nchar", oid::BPCHAR),
    ("real", oid::FLOAT4),
    ("smallint", oid::INT2),
    ("time with time zone", oid::TIMETZ),
    ("time without time zone", oid::TIME),
    ("timestamp with time zone", oid::TIMESTAMPTZ),
    ("timestamp without time zone", oid::TIMESTAMP),
];

/// PostgreSQL types mote does not have: they answer 0A000, not "does not exist".
const UNSUPPORTED: &[(&str, Oid)] = &[("tsquery", Oid(3615)), ("tsvector", Oid(3614)), ("xml", Oid(142))];

/// True for a type PostgreSQL has and mote does not.
pub fn unsupported_type_name(name: &str) -> bool {
    unsupported_type_number(name).is_some()
}

/// The number of such a type in PostgreSQL: queries that ask whether a column is one of several types name it.
pub fn unsupported_type_number(name: &str) -> Option<Oid> {
    UNSUPPORTED.iter().find(|ty| ty.0 == name).map(|ty| ty.1)
}

/// The name of such a type by its number.
pub fn unsupported_type_named_by(oid: Oid) -> Option<&'static str> {
    UNSUPPORTED.iter().find(|ty| ty.1 == oid).map(|ty| ty.0)
}

/// Finds a built-in type, but none of an extension, by catalog name (`int4`, `bpchar`, `_int4`) or SQL alias (`integer`, `double precision`).
///
/// `name` is already folded as identifiers are. `char` finds `character`, as the grammar has it: the one-byte
/// type is spelled `"char"` with its quotes.
pub fn type_by_name(name: &str) -> Option<Oid> {
    if name == "char" {
        return Some(oid::BPCHAR);
    }
    if name == "\"char\"" {
        return Some(oid::CHAR);
    }
    if name == "\"bit\"" {
        return Some(oid::BIT);
    }
    match ALIASES.binary_search_by_key(&name, |alias| alias.0) {
        Ok(slot) => Some(ALIASES[slot].1),
        Err(_) => type_by_catalog_name(name),
    }
}

/// Finds a built-in type, but none of an extension, by the name that pg_type has: what stands in quotes or behind `pg_catalog.`, and
/// every name that the grammar has read.
pub fn type_by_catalog_name(name: &str) -> Option<Oid> {
    BUILTIN_TYPES
        .iter()
        .find(|info| info.name == name && !extension::is_extension_type(info.oid))
        .map(|info| info.oid)
}

/// The SQL name of a type, with its modifier unless that is -1.
pub fn format_type(oid: Oid, typmod: i32) -> String {
    if oid == Oid::INVALID {
        return "-".to_owned();
    }
    let Some(info) = type_info(oid) else {
        return match user::user_element(oid) {
            Some(element) => format!("{}[]", user::user_type_name(element)),
            None if user::is_user_type(oid) => user::user_type_name(oid),
            None => "???".to_owned(),
        };
    };
    if info.category == category::ARRAY && info.input == "array_in" {
        return format!("{}[]", format_type(info.elem, typmod));
    }
    if extension::is_extension_type(oid) {
        return user::user_type_name(oid);
    }
    // Without a length, `bpchar` must not read as `character`, which would mean `character(1)`.
    if oid == oid::BPCHAR && typmod < 0 {
        return if typmod == -1 {
            "bpchar".to_owned()
        } else {
            "character".to_owned()
        };
    }
    // Nor `bit` as `bit(1)`: in quotes it is a name like others.
    if oid == oid::BIT && typmod == -1 {
        return "\"bit\"".to_owned();
    }
    let modifier = typmod_out(oid, typmod);
    match info.sql_name.split_once(' ') {
        // `timestamp(3) without time zone`: the modifier follows the first word.
        Some((first, rest)) if matches!(first, "timestamp" | "time") => format!("{first}{modifier} {rest}"),
        _ => format!("{}{modifier}", info.sql_name),
    }
}

/// The modifier as it is written behind the type's name: `(16)`, `(12,2)`, or nothing.
pub fn typmod_out(oid: Oid, typmod: i32) -> String {
    if typmod < 0 {
        return String::new();
    }
    match oid {
        oid::VARCHAR | oid::BPCHAR if typmod > VARHDRSZ => format!("({})", typmod - VARHDRSZ),
        oid::NUMERIC => match numeric_precision_scale(typmod) {
            Some((precision, scale)) => format!("({precision},{scale})"),
            None => String::new(),
        },
        oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => format!("({typmod})"),
        oid::BIT | oid::VARBIT => format!("({typmod})"),
        oid::INTERVAL => interval_typmod_out(typmod),
        _ => String::new(),
    }
}

/// Bits of an interval modifier's upper half, one per field the declaration keeps.
pub mod interval_mask {
    pub const MONTH: i32 = 1 << 1;
    pub const YEAR: i32 = 1 << 2;
    pub const DAY: i32 = 1 << 3;
    pub const HOUR: i32 = 1 << 10;
    pub const MINUTE: i32 = 1 << 11;
    pub const SECOND: i32 = 1 << 12;
    pub const FULL_RANGE: i32 = 0x7fff;
    pub const FULL_PRECISION: i32 = 0xffff;
}

fn interval_typmod_out(typmod: i32) -> String {
    use interval_mask::*;
    let (range, precision) = ((typmod >> 16) & 0x7fff, typmod & 0xffff);
    let fields = [
        (YEAR, " year"),
        (MONTH, " month"),
        (DAY, " day"),
        (HOUR, " hour"),
        (MINUTE, " minute"),
        (SECOND, " second"),
    ];
    let mut out = String::new();
    if range != FULL_RANGE {
        let mut named = fields.iter().filter(|(bit, _)| range & bit != 0);
        if let Some((_, first)) = named.next() {
            out.push_str(first);
        }
        if let Some((_, last)) = named.next_back() {
            let _ = write!(out, " to{last}");
        }
    }
    if precision != FULL_PRECISION {
        let _ = write!(out, "({precision})");
    }
    out
}

/// The modifier for what is written in parentheses behind a type's name.
pub fn typmod_from_args(oid: Oid, args: &[i32]) -> SqlResult<i32> {
    let element = element_type(oid).unwrap_or(oid);
    match element {
        oid::VARCHAR => string_typmod("varchar", args),
        oid::BPCHAR => string_typmod("char", args),
        oid::NUMERIC => numeric_typmod_from_args(args),
        oid::TIME => precision_typmod("TIME", "", args),
        oid::TIMETZ => precision_typmod("TIME", " WITH TIME ZONE", args),
        oid::TIMESTAMP => precision_typmod("TIMESTAMP", "", args),
        oid::TIMESTAMPTZ => precision_typmod("TIMESTAMP", " WITH TIME ZONE", args),
        oid::INTERVAL => interval_typmod(args),
        oid::BIT => bit_typmod("bit", args),
        oid::VARBIT => bit_typmod("varbit", args),
        _ => Err(SqlError::new(
            state::SYNTAX_ERROR,
            format!(
                "type modifier is not allowed for type \"{}\"",
                type_info(oid).map_or("???", |i| i.name)
            ),
        )),
    }
}

fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

fn string_typmod(name: &str, args: &[i32]) -> SqlResult<i32> {
    const LENGTH_MAX: i32 = 10 * 1024 * 1024;
    match *args {
        [length] if length < 1 => Err(invalid(format!("length for type {name} must be at least 1"))),
        [length] if length > LENGTH_MAX => Err(invalid(format!(
            "length for type {name} cannot exceed {LENGTH_MAX}"
        ))),
        [length] => Ok(length + VARHDRSZ),
        _ => Err(invalid("invalid type modifier")),
    }
}

fn bit_typmod(name: &str, args: &[i32]) -> SqlResult<i32> {
    const LENGTH_MAX: i32 = 8 * 10 * 1024 * 1024;
    match *args {
        [length] if length < 1 => Err(invalid(format!("length for type {name} must be at least 1"))),
        [length] if length > LENGTH_MAX => Err(invalid(format!(
            "length for type {name} cannot exceed {LENGTH_MAX}"
        ))),
        [length] => Ok(length),
        _ => Err(invalid("invalid type modifier")),
    }
}

fn numeric_typmod_from_args(args: &[i32]) -> SqlResult<i32> {
    let (precision, scale) = match *args {
        [precision] => (precision, 0),
        [precision, scale] => (precision, scale),
        _ => return Err(invalid("invalid NUMERIC type modifier")),
    };
    if !(1..=1000).contains(&precision) {
        return Err(invalid(format!(
            "NUMERIC precision {precision} must be between 1 and 1000"
        )));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!(
            "NUMERIC scale {scale} must be between -1000 and 1000"
        )));
    }
    Ok(numeric_typmod(precision, scale))
}

/// Above six digits the precision is lowered; whoever parses a client's text warns of it (`grammar::parser`).
fn precision_typmod(name: &str, suffix: &str, args: &[i32]) -> SqlResult<i32> {
    match *args {
        [precision] if precision < 0 => Err(invalid(format!(
            "{name}({precision}){suffix} precision must not be negative"
        ))),
        [precision] => Ok(precision.min(6)),
        _ => Err(invalid("invalid type modifier")),
    }
}

/// Arguments as the grammar gives them: the field mask, then the precision of seconds.
fn interval_typmod(args: &[i32]) -> SqlResult<i32> {
    use interval_mask::*;
    match *args {
        [range] if range != FULL_RANGE => Ok(((range & 0x7fff) << 16) | FULL_PRECISION),
        [_] => Ok(-1),
        [_, precision] if precision < 0 => Err(invalid(format!(
            "INTERVAL({precision}) precision must not be negative"
        ))),
        [range, precision] => Ok(((range & 0x7fff) << 16) | precision.min(6)),
        _ => Err(invalid("invalid INTERVAL type modifier")),
    }
}

/// The fields behind `interval`: `year`, `day to second`.
fn interval_range(fields: &str) -> Option<i32> {
    use interval_mask::*;
    const ORDER: [(&str, i32); 6] = [
        ("year", YEAR),
        ("month", MONTH),
        ("day", DAY),
        ("hour", HOUR),
        ("minute", MINUTE),
        ("second", SECOND),
    ];
    let slot = |name: &str| ORDER.iter().position(|field| field.0 == name);
    let (first, last) = match fields.split_once(" to ") {
        Some((first, last)) => (slot(first)?, slot(last)?),
        None => (slot(fields)?, slot(fields)?),
    };
    (first <= last).then(|| ORDER[first..=last].iter().fold(0, |mask, field| mask | field.1))
}

/// Reads a type as SQL writes it: `numeric(12,2)`, `timestamp(3) with time zone`, `int[]`, `pg_catalog.int4`.
pub fn parse_type(text: &str) -> SqlResult<ColumnType> {
    let mut name = fold(text);
    let mut is_array = false;
    while let Some(open) = name.rfind('[').filter(|_| name.ends_with(']')) {
        is_array = true;
        name.truncate(open);
        name.truncate(name.trim_end().len());
    }
    if let Some(rest) = name.strip_suffix(" array") {
        is_array = true;
        name = rest.to_owned();
    }
    let mut args = Vec::new();
    if let (Some(open), Some(close)) = (name.find('('), name.find(')')) {
        if open > close {
            return Err(no_such_type(text));
        }
        for arg in name[open + 1..close].split(',') {
            let value = arg.trim().parse::<i32>();
            args.push(value.map_err(|_| invalid("invalid type modifier"))?);
        }
        name.replace_range(open..=close, " ");
        name = fold(&name);
    }
    let qualified = name.strip_prefix("pg_catalog.");
    let bare = qualified.unwrap_or(&name);
    if unsupported_type_name(bare) {
        return Err(SqlError::unsupported(format_args!("type {bare}")));
    }
    let (bare, range) = match bare.strip_prefix("interval ").map(interval_range) {
        Some(range) => ("interval", Some(range.ok_or_else(|| no_such_type(text.trim()))?)),
        None => (bare, None),
    };
    if bare == "interval" && (range.is_some() || !args.is_empty()) {
        args.insert(0, range.unwrap_or(interval_mask::FULL_RANGE));
    }
    let oid = match (bare, args.as_slice()) {
        _ if qualified.is_some() => type_by_catalog_name(bare),
        ("float", [1..=24]) => Some(oid::FLOAT4),
        _ => type_by_name(bare),
    };
    let oid = oid.ok_or_else(|| no_such_type(text.trim()))?;
    if bare == "float" {
        args.clear();
    }
    let typmod = match args.is_empty() {
        // `char` without a length means `char(1)`, `bit` means `bit(1)`; `bpchar` means any length.
        true if oid == oid::BPCHAR && bare != "bpchar" => 1 + VARHDRSZ,
        true if bare == "bit" => 1,
        true => -1,
        false => typmod_from_args(oid, &args)?,
    };
    let ty = ColumnType { oid, typmod };
    if is_array {
        ty.array_of().ok_or_else(|| no_such_type(text.trim()))
    } else {
        Ok(ty)
    }
}

fn no_such_type(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

/// Lower case with runs of blanks made one, except inside the quotes of `"char"`.
fn fold(text: &str) -> String {
    text.to_ascii_lowercase()
        .split_ascii_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Names hold 63 bytes; what is longer is cut at a character's border.
pub fn truncate_name(text: &str) -> &str {
    const NAME_BYTES_MAX: usize = 63;
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}
