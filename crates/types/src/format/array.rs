//! Array text: braces, quotes, backslashes, NULL, and explicit bounds (`[0:1]={1,2}`); vectors, which are numbers between blanks.

use super::text::{input_text, output_text};
use crate::catalog::ColumnType;
use crate::datum::{Array, Datum, Dimension, ELEMENT_COST};
use crate::input_errors::invalid_syntax;
use crate::oid;
use crate::settings::FormatSettings;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use std::io::Write;

/// PostgreSQL's MAXDIM.
pub const DIMENSIONS_MAX: usize = 6;
/// Elements an array can have (PostgreSQL's MaxArraySize for pointers).
pub const ELEMENTS_MAX: usize = 134_217_727;

#[cold]
fn malformed(text: &str, detail: &str) -> SqlError {
    let message = format!("malformed array literal: \"{text}\"");
    SqlError::new(state::INVALID_TEXT_REPRESENTATION, message).detail(detail)
}

#[cold]
pub(crate) fn too_many_dimensions(found: usize) -> SqlError {
    SqlError::new(
        state::PROGRAM_LIMIT_EXCEEDED,
        format!("number of array dimensions ({found}) exceeds the maximum allowed ({DIMENSIONS_MAX})"),
    )
}

/// What stands between elements: `pg_type.typdelim`, which only `box` has another of.
fn delimiter(element: oid::Oid) -> u8 {
    if element == oid::BOX { b';' } else { b',' }
}

pub fn parse(ty: ColumnType, text: &str, settings: &FormatSettings) -> SqlResult<Datum> {
    let element = ty.element().expect("only array types come here");
    let (bounds, body) = parse_bounds(text)?;
    let mut parser = ArrayParser {
        text,
        rest: body,
        element,
        delimiter: delimiter(element.oid),
        settings,
        elements: Vec::new(),
        lengths: Vec::new(),
        leaf: None,
        meter: Meter::default(),
    };
    if !parser.skip_blanks().starts_with('{') {
        let detail = if bounds.is_some() {
            "Array contents must start with \"{\"."
        } else {
            "Array value must start with \"{\" or dimension information."
        };
        return Err(malformed(text, detail));
    }
    parser.braces(0)?;
    if !parser.skip_blanks().is_empty() {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    let lengths = std::mem::take(&mut parser.lengths);
    let elements = parser.elements;
    let dims = match bounds {
        _ if elements.is_empty() && bounds.is_none() => Vec::new(),
        None => lengths
            .iter()
            .map(|&length| Dimension {
                length,
                lower_bound: 1,
            })
            .collect(),
        Some(bounds) => {
            if bounds.iter().map(|dim| dim.length).ne(lengths.iter().copied()) {
                return Err(malformed(
                    text,
                    "Specified array dimensions do not match array contents.",
                ));
            }
            bounds
        }
    };
    Dimension::check_bounds(&dims)?;
    Ok(Datum::Array(Box::new(Array {
        element: element.oid,
        dims,
        elements: elements.into(),
    })))
}

/// `[lower:upper]...=` in front of the braces.
fn parse_bounds(text: &str) -> SqlResult<(Option<Vec<Dimension>>, &str)> {
    let mut rest = text.trim_start();
    let mut dims = Vec::new();
    while let Some(inner) = rest.strip_prefix('[') {
        let (bounds, behind) = inner
            .split_once(']')
            .ok_or_else(|| malformed(text, "Missing \"]\" after array dimensions."))?;
        let (lower, upper) = match bounds.split_once(':') {
            Some((lower, upper)) => (lower.trim().parse::<i32>(), upper.trim().parse::<i32>()),
            None => (Ok(1), bounds.trim().parse::<i32>()),
        };
        let (Ok(lower_bound), Ok(upper)) = (lower, upper) else {
            return Err(malformed(
                text,
                "\"[\" must introduce explicitly-specified array dimensions.",
            ));
        };
        if upper < lower_bound {
            return Err(SqlError::new(
                state::ARRAY_SUBSCRIPT_ERROR,
                "upper bound cannot be less than lower bound",
            ));
        }
        let length = upper
            .checked_sub(lower_bound)
            .and_then(|length| length.checked_add(1))
            .ok_or_else(|| {
                SqlError::new(
                    state::PROGRAM_LIMIT_EXCEEDED,
                    format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"),
                )
            })?;
        dims.push(Dimension { length, lower_bound });
        if dims.len() > DIMENSIONS_MAX {
            return Err(too_many_dimensions(dims.len()));
        }
        rest = behind.trim_start();
    }
    if dims.is_empty() {
        return Ok((None, rest));
    }
    match rest.strip_prefix('=') {
        Some(body) => Ok((Some(dims), body)),
        None => Err(malformed(text, "Missing \"=\" after array dimensions.")),
    }
}

struct ArrayParser<'a> {
    text: &'a str,
    rest: &'a str,
    element: ColumnType,
    delimiter: u8,
    settings: &'a FormatSettings,
    elements: Vec<Datum>,
    /// Length of each dimension, known when its first braces close.
    lengths: Vec<i32>,
    /// The depth at which elements stand.
    leaf: Option<usize>,
    meter: Meter,
}

impl<'a> ArrayParser<'a> {
    fn skip_blanks(&mut self) -> &'a str {
        self.rest = self
            .rest
            .trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        self.rest
    }

    fn ragged(&self) -> SqlError {
        malformed(
            self.text,
            "Multidimensional arrays must have sub-arrays with matching dimensions.",
        )
    }

    fn unexpected(&self, what: &str) -> SqlError {
        malformed(self.text, &format!("Unexpected {what}."))
    }

    /// One `{...}` at a depth, the brace still ahead.
    fn braces(&mut self, depth: usize) -> SqlResult<()> {
        if depth >= DIMENSIONS_MAX {
            return Err(too_many_dimensions(depth + 1));
        }
        self.rest = &self.rest[1..];
        let known = self.lengths.get(depth).copied().filter(|&length| length >= 0);
        if known.is_none() {
            self.lengths.push(-1);
        }
        let mut count = 0;
        if self.skip_blanks().starts_with('}') {
            if depth > 0 {
                return Err(self.unexpected("\"}\" character"));
            }
            self.rest = &self.rest[1..];
        } else {
            loop {
                self.item(depth)?;
                count += 1;
                match self.skip_blanks().as_bytes().first() {
                    Some(byte) if *byte == self.delimiter => self.rest = &self.rest[1..],
                    Some(b'}') => {
                        self.rest = &self.rest[1..];
                        break;
                    }
                    Some(_) => return Err(self.unexpected("array element")),
                    None => return Err(malformed(self.text, "Unexpected end of input.")),
                }
            }
        }
        match known {
            Some(length) if length != count => Err(self.ragged()),
            Some(_) => Ok(()),
            None => {
                self.lengths[depth] = count;
                if count == 0 && depth == 0 {
                    self.lengths.clear();
                }
                Ok(())
            }
        }
    }

    fn item(&mut self, depth: usize) -> SqlResult<()> {
        match self.skip_blanks().as_bytes().first() {
            Some(b'{') => {
                if self.leaf.is_some_and(|leaf| leaf <= depth) {
                    return Err(self.unexpected("\"{\" character"));
                }
                self.braces(depth + 1)
            }
            Some(b'}') => Err(self.unexpected("\"}\" character")),
            Some(byte) if *byte == self.delimiter => {
                Err(self.unexpected(&format!("\"{}\" character", self.delimiter as char)))
            }
            None => Err(malformed(self.text, "Unexpected end of input.")),
            Some(_) => {
                if *self.leaf.get_or_insert(depth) != depth {
                    return Err(self.ragged());
                }
                let element = self.element()?;
                let heap_bytes = element.heap_bytes().min(work::GRAIN_BYTES);
                self.meter.keep(2 * ELEMENT_COST, heap_bytes)?;
                work::push(&mut self.elements, element)
            }
        }
    }

    fn element(&mut self) -> SqlResult<Datum> {
        let (value, quoted) = if self.rest.starts_with('"') {
            (self.quoted()?, true)
        } else {
            self.bare()?
        };
        if !quoted && value.eq_ignore_ascii_case("null") {
            return Ok(Datum::Null);
        }
        input_text(self.element, &value, self.settings)
    }

    fn quoted(&mut self) -> SqlResult<String> {
        let mut value = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            self.meter.tick(1)?;
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, escaped)) => value.push(escaped),
                    None => break,
                },
                _ => value.push(c),
            }
        }
        Err(malformed(self.text, "Unexpected end of input."))
    }

    /// An unquoted element, and whether a backslash made it immune to being NULL.
    fn bare(&mut self) -> SqlResult<(String, bool)> {
        let mut value = String::new();
        let mut escaped_any = false;
        // Trailing blanks do not belong to the element, escaped ones do.
        let mut kept = 0;
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            self.meter.tick(1)?;
            match c {
                end if end == self.delimiter as char || end == '}' => {
                    self.rest = &self.rest[at..];
                    value.truncate(kept);
                    return Ok((value, escaped_any));
                }
                '{' => return Err(self.unexpected("\"{\" character")),
                '"' => return Err(self.unexpected("array element")),
                '\\' => {
                    let Some((_, escaped)) = chars.next() else { break };
                    value.push(escaped);
                    escaped_any = true;
                    kept = value.len();
                }
                _ => {
                    value.push(c);
                    if !c.is_ascii_whitespace() {
                        kept = value.len();
                    }
                }
            }
        }
        Err(malformed(self.text, "Unexpected end of input."))
    }
}

/// `int2vector` and `oidvector`: numbers with blanks between, subscripts from 0.
pub fn parse_vector(ty: ColumnType, text: &str, settings: &FormatSettings) -> SqlResult<Datum> {
    let element = ty.element().expect("vector types have elements");
    let mut elements = Vec::new();
    let mut meter = Meter::default();
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        meter.tick(2 * ELEMENT_COST)?;
        let length = match ty.oid {
            // Numbers need no blank between them, as C's strtoul reads them.
            oid::OIDVECTOR => number_length(rest).ok_or_else(|| invalid_syntax(&element.name(), rest))?,
            _ => rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len()),
        };
        let (item, behind) = rest.split_at(length);
        work::push(&mut elements, input_text(element, item, settings)?)?;
        rest = behind.trim_ascii_start();
    }
    Ok(vector(element.oid, elements))
}

/// Of the number that a text begins with, its sign counted.
fn number_length(text: &str) -> Option<usize> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some(sign + digits)
}

/// A vector datum of its elements.
pub fn vector(element: oid::Oid, elements: Vec<Datum>) -> Datum {
    let dims = vec![Dimension {
        length: elements.len() as i32,
        lower_bound: 0,
    }];
    Datum::Array(Box::new(Array {
        element,
        dims,
        elements: elements.into(),
    }))
}

pub fn write(array: &Array, ty: ColumnType, settings: &FormatSettings, out: &mut Vec<u8>) {
    let element = ColumnType {
        oid: array.element,
        typmod: ty.typmod,
    };
    if matches!(ty.oid, oid::INT2VECTOR | oid::OIDVECTOR) {
        for (slot, item) in array.elements.iter().enumerate() {
            if slot > 0 {
                out.push(b' ');
            }
            output_text(item, element, settings, out);
        }
        return;
    }
    if array.elements.is_empty() {
        return out.extend_from_slice(b"{}");
    }
    if array.dims.iter().any(|dim| dim.lower_bound != 1) {
        for dim in &array.dims {
            let _ = write!(
                out,
                "[{}:{}]",
                dim.lower_bound,
                dim.lower_bound as i64 + dim.length as i64 - 1
            );
        }
        out.push(b'=');
    }
    write_dimension(&array.elements, &array.dims, element, settings, out);
}

fn write_dimension(
    elements: &[Datum],
    dims: &[Dimension],
    ty: ColumnType,
    settings: &FormatSettings,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    let mut meter = Meter::default();
    let stride: usize = dims[1..].iter().map(|dim| dim.length as usize).product();
    for (slot, part) in elements.chunks(stride).enumerate() {
        if slot > 0 {
            out.push(delimiter(ty.oid));
        }
        match part {
            [element] if dims.len() == 1 => {
                meter.pass(2 * ELEMENT_COST);
                write_element(element, ty, settings, out)
            }
            _ => write_dimension(part, &dims[1..], ty, settings, out),
        }
    }
    out.push(b'}');
}

fn write_element(element: &Datum, ty: ColumnType, settings: &FormatSettings, out: &mut Vec<u8>) {
    if element.is_null() {
        return out.extend_from_slice(b"NULL");
    }
    let start = out.len();
    output_text(element, ty, settings, out);
    let value = &out[start..];
    let delimiter = delimiter(ty.oid);
    let special =
        |byte: &u8| *byte == delimiter || matches!(byte, b'"' | b'\\' | b'{' | b'}' | b' ' | b'\t'..=b'\r');
    if value.is_empty() || value.eq_ignore_ascii_case(b"null") || value.iter().any(special) {
        let value = value.to_vec();
        out.truncate(start);
        out.push(b'"');
        let mut meter = Meter::default();
        for byte in value {
            meter.pass(1);
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.push(b'"');
    }
}
