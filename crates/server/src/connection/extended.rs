//! The extended query protocol: a statement is parsed, bound to its parameters, described and run, message by message.

use std::borrow::Cow;

use corosensei::Yielder;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_exec::session::ExecuteEnd;
use mote_types::encoding::{Converter, binary_from_client};
use mote_types::{ColumnType, Datum, FormatSettings, input_binary, input_text, oid};

use super::Connection;
use crate::pgwire::frontend::{self, Bind, Fields, Parse, protocol_violation, unsupported_format};
use crate::pgwire::{backend, descriptions};
use crate::suspension::Suspend;

impl Connection {
    /// Ends a series of messages that has outlasted statement_timeout.
    pub(super) fn begin_message(&mut self) -> SqlResult<()> {
        let session = self.session.as_mut();
        session.map_or(Ok(()), |session| session.begin_message())
    }

    pub(super) fn sync(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        self.with_host(yielder, false, |session, host| session.sync(host))?;
        self.ready();
        Ok(())
    }

    pub(super) fn parse(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let parse = Parse::read(body)?;
        let types = parse.types();
        self.with_host(yielder, false, |session, host| {
            session.parse(parse.name, parse.text, &types, host)
        })?;
        backend::parse_complete(&mut self.wire.output);
        Ok(())
    }

    pub(super) fn bind(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let bind = Bind::read(body)?;
        let converter = self.wire.converter;
        self.with_host(yielder, false, |session, host| {
            let target = session.bind_target(bind.statement, bind.portal, host)?;
            let types = target.parameters();
            if types.len() != bind.parameters.count {
                return Err(protocol_violation(format!(
                    "bind message supplies {} parameters, but prepared statement \"{}\" requires {}",
                    bind.parameters.count,
                    bind.statement,
                    types.len()
                )));
            }
            let mut parameters = session.parameter_buffer();
            let settings = session.format();
            for (value, ty) in bind.parameters.iter().zip(types) {
                let read = parameter(value, *ty, converter, settings);
                let number = parameters.len();
                parameters.push(read.map_err(|(error, shown)| match value.1 {
                    0 | 1 => in_parameter(error, bind.portal, number, shown),
                    // No value was looked at.
                    _ => error,
                })?);
            }
            session.bind(bind.portal, target, parameters, bind.result_formats().collect())
        })?;
        backend::bind_complete(&mut self.wire.output);
        Ok(())
    }

    pub(super) fn describe(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let mut fields = Fields::new(body);
        let kind = fields.u8()?;
        let name = fields.string()?;
        match kind {
            b'S' => {
                let (types, columns) = self.with_host(yielder, false, |session, host| {
                    session.describe_statement(name, host)
                })?;
                backend::parameter_description(&mut self.wire.output, &types);
                match columns {
                    Some(columns) => self
                        .wire
                        .send(|out| backend::row_description(out, &columns, &[]))?,
                    None => backend::no_data(&mut self.wire.output),
                }
            }
            b'P' => {
                let (columns, formats) =
                    self.with_host(yielder, false, |session, _| session.describe_portal(name))?;
                match columns {
                    Some(columns) => {
                        self.wire
                            .send(|out| descriptions::row_description(out, &columns, formats.as_slice()))?;
                    }
                    None => backend::no_data(&mut self.wire.output),
                }
            }
            other => {
                return Err(protocol_violation(format!(
                    "invalid DESCRIBE message subtype {other}"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn execute(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let mut fields = Fields::new(body);
        let name = fields.string()?;
        // Zero and below mean no limit.
        let max_rows = fields.i32()?.max(0) as u64;
        fields.end()?;
        let session = self
            .session
            .as_ref()
            .expect("messages are handled after start-up");
        let shape = &mut self.wire.result;
        shape.formats.clear();
        shape
            .formats
            .extend_from_slice(session.portal(name)?.result_formats.as_slice());
        let end = self.with_host(yielder, false, |session, host| {
            session.execute(name, max_rows, host)
        })?;
        if end == ExecuteEnd::Suspended {
            backend::portal_suspended(&mut self.wire.output);
        }
        Ok(())
    }

    pub(super) fn close_object(&mut self, body: &[u8]) -> SqlResult<()> {
        let mut fields = Fields::new(body);
        let kind = fields.u8()?;
        let name = fields.string()?;
        let session = self
            .session
            .as_mut()
            .expect("messages are handled after start-up");
        match kind {
            b'S' => session.close_statement(name),
            b'P' => session.close_portal(name),
            other => {
                return Err(protocol_violation(format!(
                    "invalid CLOSE message subtype {other}"
                )));
            }
        }
        backend::close_complete(&mut self.wire.output);
        Ok(())
    }
}

/// A value that came with a message; else why it is none of the type, and what a message shows of it.
pub(super) fn parameter(
    (value, format): (Option<&[u8]>, i16),
    ty: ColumnType,
    converter: Option<Converter>,
    settings: &FormatSettings,
) -> Result<Datum, (SqlError, &'static str)> {
    let unseen = |error| (error, "");
    // What most parameters are: digits, which are the same bytes in all encodings of clients.
    if let (Some(bytes), 0, oid::INT4) = (value, format, ty.oid)
        && let Some(value) = short_integer(bytes)
    {
        return Ok(Datum::Int4(value));
    }
    match (value, format) {
        (None, _) => Ok(Datum::Null),
        (Some(bytes), 0) => {
            let text = match converter {
                None => frontend::utf8(bytes).map(Cow::Borrowed),
                Some(converter) => converter.decode(bytes),
            }
            .map_err(unseen)?;
            // PostgreSQL shows as much of it as log_parameter_max_length_on_error allows: nothing, unless a superuser
            // wants it.
            input_text(ty, &text, settings).map_err(|error| (error, " = '...'"))
        }
        (Some(bytes), 1) => match converter {
            None => input_binary(ty, bytes),
            Some(converter) => recoded_binary(ty, bytes, converter),
        }
        .map_err(unseen),
        (Some(_), other) => Err(unseen(unsupported_format(other))),
    }
}

/// An integer of nine digits at most, which no type of four bytes refuses; whatever looks otherwise is for the type to read.
#[inline]
fn short_integer(bytes: &[u8]) -> Option<i32> {
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if !matches!(digits.len(), 1..=9) {
        return None;
    }
    let mut value = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i32::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// A parameter in binary form of a client whose text is not UTF-8.
fn recoded_binary(ty: ColumnType, bytes: &[u8], converter: Converter) -> SqlResult<Datum> {
    let mut recoded = Vec::with_capacity(bytes.len() * 2);
    binary_from_client(converter, ty.oid, bytes, &mut recoded)?;
    input_binary(ty, &recoded)
}

/// Of bytes that are no value of their type, says where they stood: the error of a type alone does not.
pub(super) fn malformed_in(place: &str, error: &SqlError) -> Option<SqlError> {
    const MALFORMED: &str = "incorrect binary data format";
    let is_it = error.state() == state::INVALID_BINARY_REPRESENTATION && error.message() == MALFORMED;
    is_it.then(|| SqlError::new(error.state(), format!("{MALFORMED} in {place}")))
}

/// Says which parameter had bytes that are no value of its type, and what is shown of them.
fn in_parameter(error: SqlError, portal: &str, index: usize, value: &str) -> SqlError {
    let number = index + 1;
    if let Some(error) = malformed_in(&format!("bind parameter {number}"), &error) {
        return error;
    }
    error.context(match portal {
        "" => format!("unnamed portal parameter ${number}{value}"),
        name => format!("portal \"{name}\" parameter ${number}{value}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_integers_are_what_their_type_reads() {
        let settings = FormatSettings::default();
        for text in [
            "0",
            "7",
            "-7",
            "007",
            "-0",
            "999999999",
            "-999999999",
            "123456789",
            "1000000000",
            "2147483647",
            "-2147483648",
            "2147483648",
            "",
            "-",
            "--1",
            "+1",
            " 1",
            "1 ",
            "1_000",
            "0x10",
            "1.5",
            "1e3",
            "a",
            "\u{663}",
        ] {
            let read = input_text(ColumnType::INT4, text, &settings);
            if let Some(short) = short_integer(text.as_bytes()) {
                assert_eq!(read.expect(text).as_i64(), Some(short.into()), "{text}");
            }
            let parameter = parameter((Some(text.as_bytes()), 0), ColumnType::INT4, None, &settings);
            let read = input_text(ColumnType::INT4, text, &settings);
            assert_eq!(
                parameter.ok().and_then(|value| value.as_i64()),
                read.ok().and_then(|value| value.as_i64())
            );
        }
        assert_eq!(short_integer(b"-120"), Some(-120));
        assert_eq!(short_integer(b"1234567890"), None);
    }
}
