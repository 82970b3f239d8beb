//! The text inside of values in binary form: as in PostgreSQL it is in the client's encoding, like all text on the wire.
//!
//! What a value is follows from its type, and inside of arrays and records from the types that their bytes name. Bytes
//! that are not in the form of their type pass as they are: whoever reads the value says what is wrong with them.

use mote_common::{Oid, SqlResult};

use super::Converter;
use crate::ColumnType;
use crate::catalog::{
    is_text_like,
    user::{is_enum, is_row},
};
use crate::oid;

type Recode<'r> = &'r dyn Fn(&[u8], &mut Vec<u8>) -> SqlResult<()>;

/// Appends a value of the client's as the server reads it.
pub fn binary_from_client(converter: Converter, ty: Oid, value: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
    let recode = |text: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(converter.decode(text)?.as_bytes());
        Ok(())
    };
    recoded(ty, value, &recode, out)
}

/// Appends a value that the server wrote as the client reads it.
pub fn binary_to_client(converter: Converter, ty: Oid, value: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
    let recode = |text: &[u8], out: &mut Vec<u8>| converter.encode(crate::format::utf8(text)?, out);
    recoded(ty, value, &recode, out)
}

fn recoded(ty: Oid, value: &[u8], recode: Recode<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    if value.is_ascii() {
        out.extend_from_slice(value);
        return Ok(());
    }
    let rest = if ty == oid::JSONB {
        // Behind the number of the format's version.
        let (version, text) = value.split_at(1);
        out.extend_from_slice(version);
        return recode(text, out);
    } else if (is_text_like(ty) && ty != oid::CHAR) || is_enum(ty) {
        return recode(value, out);
    } else if is_row(ty) {
        record(value, recode, out)?
    } else if ColumnType::new(ty).is_array() {
        array(value, recode, out)?
    } else {
        value
    };
    out.extend_from_slice(rest);
    Ok(())
}

/// Number of dimensions, flags, element type, two numbers for each dimension, then the elements. Answers with what is
/// behind them, or in another form.
fn array<'v>(value: &'v [u8], recode: Recode<'_>, out: &mut Vec<u8>) -> SqlResult<&'v [u8]> {
    let (Some(dimensions), Some(element)) = (int4_at(value, 0), int4_at(value, 8)) else {
        return Ok(value);
    };
    let header = 12 + 8 * (dimensions as usize).min(value.len());
    let Some((header, mut rest)) = value.split_at_checked(header) else {
        return Ok(value);
    };
    out.extend_from_slice(header);
    while let Some(after) = sized(Oid(element), rest, recode, out)? {
        rest = after;
    }
    Ok(rest)
}

/// The number of fields, then for each its type and its value.
fn record<'v>(value: &'v [u8], recode: Recode<'_>, out: &mut Vec<u8>) -> SqlResult<&'v [u8]> {
    let Some((count, mut rest)) = value.split_at_checked(4) else {
        return Ok(value);
    };
    out.extend_from_slice(count);
    while let Some(ty) = int4_at(rest, 0) {
        out.extend_from_slice(&rest[..4]);
        rest = &rest[4..];
        match sized(Oid(ty), rest, recode, out)? {
            Some(after) => rest = after,
            None => break,
        }
    }
    Ok(rest)
}

/// A value behind its length; `None` if there is none.
fn sized<'v>(ty: Oid, value: &'v [u8], recode: Recode<'_>, out: &mut Vec<u8>) -> SqlResult<Option<&'v [u8]>> {
    let Some(length) = int4_at(value, 0) else {
        return Ok(None);
    };
    let rest = &value[4..];
    if length as i32 == -1 {
        out.extend_from_slice(&value[..4]);
        return Ok(Some(rest));
    }
    let Some((value, rest)) = rest.split_at_checked(length as usize) else {
        return Ok(None);
    };
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    recoded(ty, value, recode, out)?;
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    Ok(Some(rest))
}

fn int4_at(value: &[u8], at: usize) -> Option<u32> {
    let bytes = value.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().expect("four bytes")))
}
