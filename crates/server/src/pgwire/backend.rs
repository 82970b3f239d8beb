//! Messages to the client, appended to the write buffer.

use mote_catalog::activity::IdleStatus;
use mote_catalog::host::OutputColumn;
use mote_catalog::tag::CommandTag;
use mote_common::SqlError;
use mote_common::error::Severity;
use mote_types::catalog::type_shape;
use mote_types::integer_text::{INTEGER_BYTES, integer_text};
use mote_types::{ColumnType, Datum, FormatSettings, oid, output_binary, output_text};

/// Appends one message: `body` writes what follows the length.
#[inline]
pub fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn string(out: &mut Vec<u8>, text: &str) {
    // A zero byte would end the string early; it cannot come from valid text, only from a bug.
    match text.as_bytes().contains(&0) {
        false => out.extend_from_slice(text.as_bytes()),
        true => out.extend(text.bytes().map(|b| if b == 0 { b'?' } else { b })),
    }
    out.push(0);
}

pub fn authentication_ok(out: &mut Vec<u8>) {
    message(out, b'R', |out| out.extend_from_slice(&0u32.to_be_bytes()));
}

pub fn authentication_cleartext_password(out: &mut Vec<u8>) {
    message(out, b'R', |out| out.extend_from_slice(&3u32.to_be_bytes()));
}

pub fn authentication_md5_password(out: &mut Vec<u8>, salt: [u8; 4]) {
    message(out, b'R', |out| {
        out.extend_from_slice(&5u32.to_be_bytes());
        out.extend_from_slice(&salt);
    });
}

/// Offers SASL: SCRAM, and before it SCRAM bound to the channel where there is one.
pub fn authentication_sasl(out: &mut Vec<u8>, may_bind: bool) {
    message(out, b'R', |out| {
        out.extend_from_slice(&10u32.to_be_bytes());
        if may_bind {
            out.extend_from_slice(b"SCRAM-SHA-256-PLUS\0");
        }
        out.extend_from_slice(b"SCRAM-SHA-256\0\0");
    });
}

pub fn authentication_sasl_continue(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'R', |out| {
        out.extend_from_slice(&11u32.to_be_bytes());
        out.extend_from_slice(data);
    });
}

pub fn authentication_sasl_final(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'R', |out| {
        out.extend_from_slice(&12u32.to_be_bytes());
        out.extend_from_slice(data);
    });
}

pub fn backend_key_data(out: &mut Vec<u8>, pid: u32, key: u32) {
    message(out, b'K', |out| {
        out.extend_from_slice(&pid.to_be_bytes());
        out.extend_from_slice(&key.to_be_bytes());
    });
}

/// NotificationResponse: who said what, and where.
pub fn notification(out: &mut Vec<u8>, pid: u32, channel: &str, payload: &str) {
    message(out, b'A', |out| {
        out.extend_from_slice(&(pid as i32).to_be_bytes());
        string(out, channel);
        string(out, payload);
    });
}

pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        string(out, name);
        string(out, value);
    });
}

/// Answer to a start-up packet that asks for a newer minor version or unknown protocol options.
pub fn negotiate_protocol_version(out: &mut Vec<u8>, unknown_options: &[&str]) {
    message(out, b'v', |out| {
        out.extend_from_slice(&super::frontend::PROTOCOL_3_0.to_be_bytes());
        out.extend_from_slice(&(unknown_options.len() as u32).to_be_bytes());
        for option in unknown_options {
            string(out, option);
        }
    });
}

pub fn ready_for_query(out: &mut Vec<u8>, status: IdleStatus) {
    let status = match status {
        IdleStatus::Outside => b'I',
        IdleStatus::InBlock => b'T',
        IdleStatus::InFailedBlock => b'E',
    };
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

pub fn parse_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'1', 0, 0, 0, 4]);
}

pub fn bind_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'2', 0, 0, 0, 4]);
}

pub fn close_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'3', 0, 0, 0, 4]);
}

pub fn no_data(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'n', 0, 0, 0, 4]);
}

pub fn empty_query(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'I', 0, 0, 0, 4]);
}

pub fn portal_suspended(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b's', 0, 0, 0, 4]);
}

pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'c', 0, 0, 0, 4]);
}

pub fn command_complete(out: &mut Vec<u8>, tag: CommandTag) {
    message(out, b'C', |out| {
        tag.write(out);
        out.push(0);
    });
}

pub fn parameter_description(out: &mut Vec<u8>, types: &[ColumnType]) {
    message(out, b't', |out| {
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        for ty in types {
            out.extend_from_slice(&ty.oid.0.to_be_bytes());
        }
    });
}

/// `formats`: none (all text), one for all, or one each.
pub fn row_description(out: &mut Vec<u8>, columns: &[OutputColumn], formats: &[i16]) {
    message(out, b'T', |out| {
        out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        for (i, column) in columns.iter().enumerate() {
            string(out, &column.name);
            out.extend_from_slice(&column.table.0.to_be_bytes());
            out.extend_from_slice(&column.attribute.to_be_bytes());
            out.extend_from_slice(&column.ty.oid.0.to_be_bytes());
            let length = type_shape(column.ty.oid).map_or(-1, |info| info.len);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&column.ty.typmod.to_be_bytes());
            out.extend_from_slice(&format_of(formats, i).to_be_bytes());
        }
    });
}

pub fn format_of(formats: &[i16], i: usize) -> i16 {
    match formats {
        [] => 0,
        [all] => *all,
        each => each.get(i).copied().unwrap_or(0),
    }
}

/// An `int4` as text with its length in front, in one piece.
#[inline]
fn text_integer(out: &mut Vec<u8>, value: i32) {
    let mut buffer = [0u8; INTEGER_BYTES];
    let start = integer_text(value as i64, &mut buffer);
    let length = (buffer.len() - start) as u32;
    buffer[start - 4..start].copy_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&buffer[start - 4..]);
}

/// One row, each value in its column's format.
#[inline]
pub fn data_row(
    out: &mut Vec<u8>,
    row: &[Datum],
    columns: &[ColumnType],
    formats: &[i16],
    settings: &FormatSettings,
) {
    let start = out.len();
    let [high, low] = (row.len() as u16).to_be_bytes();
    out.extend_from_slice(&[b'D', 0, 0, 0, 0, high, low]);
    for (i, (datum, ty)) in row.iter().zip(columns).enumerate() {
        let binary = format_of(formats, i) == 1;
        match datum {
            Datum::Null => out.extend_from_slice(&(-1i32).to_be_bytes()),
            Datum::Int4(value) if binary => {
                let [a, b, c, d] = value.to_be_bytes();
                out.extend_from_slice(&[0, 0, 0, 4, a, b, c, d]);
            }
            Datum::Int4(value) => text_integer(out, *value),
            Datum::Text(value) if !binary && ty.oid != oid::BPCHAR && ty.oid != oid::CHAR => {
                out.extend_from_slice(&(value.len() as u32).to_be_bytes());
                out.extend_from_slice(value.as_bytes());
            }
            _ => {
                let at = out.len();
                out.extend_from_slice(&[0; 4]);
                if binary {
                    output_binary(datum, *ty, out);
                } else {
                    output_text(datum, *ty, settings, out);
                }
                let length = (out.len() - at - 4) as u32;
                out[at..at + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
    }
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

/// Makes FunctionCallResponse of the DataRow with one value that begins at `start`: the same without the count.
pub fn row_as_function_result(out: &mut Vec<u8>, start: usize) {
    let length = (out.len() - start - 3) as u32;
    out[start] = b'V';
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    out.drain(start + 5..start + 7);
}

fn copy_response(out: &mut Vec<u8>, kind: u8, columns: usize, binary: bool) {
    message(out, kind, |out| {
        out.push(binary as u8);
        out.extend_from_slice(&(columns as u16).to_be_bytes());
        for _ in 0..columns {
            out.extend_from_slice(&(binary as u16).to_be_bytes());
        }
    });
}

pub fn copy_in_response(out: &mut Vec<u8>, columns: usize, binary: bool) {
    copy_response(out, b'G', columns, binary);
}

pub fn copy_out_response(out: &mut Vec<u8>, columns: usize, binary: bool) {
    copy_response(out, b'H', columns, binary);
}

/// Both sides send CopyData from here on. No columns.
pub fn copy_both_response(out: &mut Vec<u8>) {
    message(out, b'W', |out| {
        out.push(0);
        out.extend_from_slice(&0i16.to_be_bytes());
    });
}

/// A row of values in text form.
pub fn text_row(out: &mut Vec<u8>, values: &[Option<String>]) {
    message(out, b'D', |out| {
        out.extend_from_slice(&(values.len() as i16).to_be_bytes());
        for value in values {
            match value {
                None => out.extend_from_slice(&(-1i32).to_be_bytes()),
                Some(text) => {
                    out.extend_from_slice(&(text.len() as i32).to_be_bytes());
                    out.extend_from_slice(text.as_bytes());
                }
            }
        }
    });
}

pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'd', |out| out.extend_from_slice(data));
}

/// ErrorResponse, or NoticeResponse for severities below ERROR.
pub fn error_response(out: &mut Vec<u8>, error: &SqlError) {
    let fields = error.fields();
    let kind = if fields.severity >= Severity::Error {
        b'E'
    } else {
        b'N'
    };
    message(out, kind, |out| {
        let mut field = |code: u8, text: &str| {
            out.push(code);
            string(out, text);
        };
        field(b'S', fields.severity.as_str());
        field(b'V', fields.severity.as_str());
        field(b'C', fields.state.as_str());
        field(b'M', &fields.message);
        let optional = [
            (b'D', &fields.detail),
            (b'H', &fields.hint),
            (b'q', &fields.internal_query),
            (b'W', &fields.context),
            (b's', &fields.schema),
            (b't', &fields.table),
            (b'c', &fields.column),
            (b'd', &fields.data_type),
            (b'n', &fields.constraint),
        ];
        for (code, text) in optional {
            if let Some(text) = text {
                field(code, text);
            }
        }
        if let Some(routine) = fields.routine {
            field(b'R', routine);
        }
        if let Some(position) = fields.position {
            field(b'P', &position.to_string());
        }
        if let Some(position) = fields.internal_position {
            field(b'p', &position.to_string());
        }
        out.push(0);
    });
}
