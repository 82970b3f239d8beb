//! Tree to text, as `jsonb` prints it: one blank behind `:` and `,`, strings escaped where JSON demands it.

use super::{ITEM_COST, Json};
use mote_common::SqlResult;
use mote_common::work::{self, Meter};

impl Json {
    /// Appends the text form `jsonb` prints: one blank behind `:` and `,`. Cannot fail: others run meanwhile, and what
    /// ends the statement is met behind it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut meter = Meter::default();
        let passed: SqlResult<()> = self.write_paid(out, &mut |units| {
            meter.pass(units);
            Ok(())
        });
        passed.expect("nobody refuses what is passed");
    }

    /// The same, ended when the statement is.
    pub fn try_write(&self, out: &mut Vec<u8>) -> SqlResult<()> {
        let mut meter = Meter::default();
        self.write_paid(out, &mut |units| meter.tick(units))
    }

    fn write_paid(&self, out: &mut Vec<u8>, pay: Pay<'_>) -> SqlResult<()> {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Json::Number(value) => value.write(out),
            Json::String(value) => return write_quoted_paid(value, out, pay),
            Json::Array(items) => {
                out.push(b'[');
                for (slot, item) in items.iter().enumerate() {
                    if slot > 0 {
                        out.extend_from_slice(b", ");
                    }
                    pay(ITEM_COST)?;
                    item.write_paid(out, pay)?;
                }
                out.push(b']');
            }
            Json::Object(pairs) => {
                out.push(b'{');
                for (slot, (key, value)) in pairs.iter().enumerate() {
                    if slot > 0 {
                        out.extend_from_slice(b", ");
                    }
                    pay(ITEM_COST)?;
                    write_quoted_paid(key, out, pay)?;
                    out.extend_from_slice(b": ");
                    value.write_paid(out, pay)?;
                }
                out.push(b'}');
            }
        }
        Ok(())
    }
}

/// Who pays for what is written, by units.
type Pay<'a> = &'a mut dyn FnMut(usize) -> SqlResult<()>;

/// Appends a string as a JSON string literal.
pub fn write_quoted(text: &str, out: &mut Vec<u8>) -> SqlResult<()> {
    work::grow_bytes(out, b"\"")?;
    for chunk in work::chunks(text.as_bytes()) {
        let chunk = chunk?;
        work::make_room_for_bytes(out, ESCAPED_BYTES_MAX * chunk.len() + 1)?;
        write_escaped(chunk, out);
    }
    work::grow_bytes(out, b"\"")
}

/// What a byte becomes at most: `\\u0001`.
const ESCAPED_BYTES_MAX: usize = 6;

fn write_quoted_paid(text: &str, out: &mut Vec<u8>, pay: Pay<'_>) -> SqlResult<()> {
    out.reserve(text.len() + 2);
    out.push(b'"');
    for chunk in text.as_bytes().chunks(work::GRAIN_BYTES) {
        pay(chunk.len())?;
        write_escaped(chunk, out);
    }
    out.push(b'"');
    Ok(())
}

fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[plain..]);
}
