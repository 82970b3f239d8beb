//! Parameters and rows, from PostgreSQL's form to MySQL's and back.
//!
//! Invariant: a value has the type on this side that the same column has on PostgreSQL: integer, bigint, double precision,
//! numeric, timestamp in binary, anything as text. A statement whose type differs between systems says so with a CAST.

use mysql_common::constants::ColumnType;
use mysql_common::io::ParseBuf;

use super::super::error::{DriverError, DriverResult};
use super::super::form::{self, Bound, FLOAT8, INT4, INT8, Parsed, Tag};
use super::super::wire;
use super::{is_unsigned, malformed};

/// A text row's NULL.
const NULL: u8 = 0xfb;

/// What a session knows of one prepared statement.
pub struct Statement {
    pub tag: Tag,
    id: u32,
    /// By parameter of the driver.
    types: Vec<u32>,
    /// By question mark: the driver's parameter.
    order: Vec<usize>,
    /// The Bind under way.
    bound: Bound,
}

impl Statement {
    /// From the body of a Parse message; also answers the text as MySQL wants it.
    pub fn of_parse(body: &[u8]) -> DriverResult<(Statement, String)> {
        let Parsed {
            tag,
            text,
            types,
            order,
        } = Parsed::read(body)?;
        let statement = Statement {
            tag,
            id: 0,
            types,
            order,
            bound: Bound::default(),
        };
        Ok((statement, text))
    }

    pub fn is_control(&self) -> bool {
        self.tag.control().is_some()
    }

    pub fn prepared_as(&mut self, id: u32, params: usize) -> DriverResult<()> {
        if params != self.order.len() {
            return Err(DriverError::protocol(format!(
                "the server counts {params} parameters where {} are written",
                self.order.len()
            )));
        }
        self.id = id;
        Ok(())
    }

    /// The body of COM_STMT_EXECUTE behind its command.
    pub fn write_execute(&mut self, bind: &[u8], out: &mut Vec<u8>) -> DriverResult<()> {
        self.bound.read(bind)?;
        out.extend_from_slice(&self.id.to_le_bytes());
        // No cursor, one execution.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if self.order.is_empty() {
            return Ok(());
        }
        let nulls = out.len();
        out.resize(nulls + self.order.len().div_ceil(8), 0);
        // Types follow.
        out.push(1);
        for &param in &self.order {
            let kind = match self.types[param] {
                INT4 => ColumnType::MYSQL_TYPE_LONG,
                INT8 => ColumnType::MYSQL_TYPE_LONGLONG,
                FLOAT8 => ColumnType::MYSQL_TYPE_DOUBLE,
                _ => ColumnType::MYSQL_TYPE_VAR_STRING,
            };
            out.extend_from_slice(&[kind as u8, 0]);
        }
        for (position, &param) in self.order.iter().enumerate() {
            let Some(value) = self.bound.value(bind, param)? else {
                out[nulls + position / 8] |= 1 << (position % 8);
                continue;
            };
            match self.types[param] {
                // The other end of the bytes first.
                INT4 | INT8 | FLOAT8 => out.extend(value.iter().rev()),
                _ => {
                    put_length(out, value.len());
                    out.extend_from_slice(value);
                }
            }
        }
        Ok(())
    }

    /// A row of a prepared statement.
    pub fn binary_row(&self, body: &[u8], columns: &[Column], answer: &mut Vec<u8>) -> DriverResult<()> {
        let bitmap = (columns.len() + 2).div_ceil(8);
        let nulls = body.get(1..1 + bitmap).ok_or_else(malformed)?;
        let mut fields = ParseBuf(&body[1 + bitmap..]);
        let at = wire::begin(answer, b'D');
        wire::put_i16(answer, columns.len() as i16);
        for (number, column) in columns.iter().enumerate() {
            if nulls[(number + 2) / 8] & 1 << ((number + 2) % 8) != 0 {
                wire::put_i32(answer, -1);
                continue;
            }
            let start = answer.len();
            wire::put_i32(answer, 0);
            let value = column.value(&mut fields)?;
            match self.bound.is_binary(number) {
                true => value.write_binary(answer)?,
                false => value.write_text(answer),
            }
            wire::finish_value(answer, start);
        }
        wire::finish(answer, at);
        Ok(())
    }
}

/// What is known of a column before its values.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    kind: ColumnType,
    unsigned: bool,
}

impl Column {
    pub fn of_definition(body: &[u8]) -> DriverResult<Column> {
        let mut fields = ParseBuf(body);
        // Catalog, schema, table twice, name twice.
        for _ in 0..6 {
            fields.checked_eat_lenenc_str().ok_or_else(malformed)?;
        }
        // A length, the character set, the width.
        fields.checked_eat(1 + 2 + 4).ok_or_else(malformed)?;
        let kind = fields.checked_eat_u8().ok_or_else(malformed)?;
        let flags = fields.checked_eat_u16_le().ok_or_else(malformed)?;
        let kind = ColumnType::try_from(kind)
            .map_err(|_| DriverError::protocol(format!("a column of an unknown type {kind}")))?;
        Ok(Column {
            kind,
            unsigned: is_unsigned(flags),
        })
    }

    /// Reads a value of a binary row.
    fn value<'a>(&self, fields: &mut ParseBuf<'a>) -> DriverResult<Value<'a>> {
        use ColumnType::*;
        let value = match (self.kind, self.unsigned) {
            (MYSQL_TYPE_TINY, false) => fields.checked_eat_i8().map(|value| Value::Short(value.into())),
            (MYSQL_TYPE_TINY, true) => fields.checked_eat_u8().map(|value| Value::Short(value.into())),
            (MYSQL_TYPE_SHORT | MYSQL_TYPE_YEAR, false) => fields.checked_eat_i16_le().map(Value::Short),
            (MYSQL_TYPE_SHORT | MYSQL_TYPE_YEAR, true) => {
                fields.checked_eat_u16_le().map(|value| Value::Int(value.into()))
            }
            (MYSQL_TYPE_LONG | MYSQL_TYPE_INT24, false) => fields.checked_eat_i32_le().map(Value::Int),
            (MYSQL_TYPE_LONG | MYSQL_TYPE_INT24, true) => {
                fields.checked_eat_u32_le().map(|value| Value::Long(value.into()))
            }
            (MYSQL_TYPE_LONGLONG, false) => fields.checked_eat_i64_le().map(Value::Long),
            (MYSQL_TYPE_LONGLONG, true) => {
                let value = fields.checked_eat_u64_le().ok_or_else(malformed)?;
                let value = i64::try_from(value)
                    .map_err(|_| DriverError::protocol(format!("{value} does not fit a bigint")))?;
                Some(Value::Long(value))
            }
            (MYSQL_TYPE_DOUBLE, _) => fields.checked_eat_f64_le().map(Value::Double),
            (MYSQL_TYPE_FLOAT, _) => fields
                .checked_eat_f32_le()
                .map(|value| Value::Double(value.into())),
            (MYSQL_TYPE_DECIMAL | MYSQL_TYPE_NEWDECIMAL, _) => {
                fields.checked_eat_lenenc_str().map(Value::Decimal)
            }
            (MYSQL_TYPE_DATE | MYSQL_TYPE_DATETIME | MYSQL_TYPE_TIMESTAMP, _) => {
                fields.checked_eat_u8_str().map(Value::Time)
            }
            (MYSQL_TYPE_TIME, _) => {
                return Err(DriverError::protocol("columns of type TIME are not supported"));
            }
            _ => fields.checked_eat_lenenc_str().map(Value::Bytes),
        };
        value.ok_or_else(malformed)
    }
}

enum Value<'a> {
    Short(i16),
    Int(i32),
    Long(i64),
    Double(f64),
    /// As text.
    Decimal(&'a [u8]),
    /// Year, month, day, hour, minute, second, microseconds, as many as are not zero.
    Time(&'a [u8]),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    fn write_binary(&self, out: &mut Vec<u8>) -> DriverResult<()> {
        match self {
            Value::Short(value) => out.extend_from_slice(&value.to_be_bytes()),
            Value::Int(value) => out.extend_from_slice(&value.to_be_bytes()),
            Value::Long(value) => out.extend_from_slice(&value.to_be_bytes()),
            Value::Double(value) => out.extend_from_slice(&value.to_be_bytes()),
            Value::Decimal(text) => return form::put_numeric(text, out),
            Value::Time(bytes) => {
                form::put_timestamp(time_fields(bytes), out);
            }
            Value::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Value::Short(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Value::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Value::Long(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Value::Double(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Value::Decimal(bytes) | Value::Bytes(bytes) => out.extend_from_slice(bytes),
            Value::Time(bytes) => {
                let [year, month, day, hour, minute, second, micros] = time_fields(bytes);
                let text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
                out.extend_from_slice(text.as_bytes());
                if micros != 0 {
                    out.extend_from_slice(format!(".{micros:06}").as_bytes());
                }
            }
        }
    }
}

fn time_fields(bytes: &[u8]) -> [i64; 7] {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0) as i64;
    let micros = u32::from_le_bytes([7, 8, 9, 10].map(|at| byte(at) as u8));
    [
        byte(0) | byte(1) << 8,
        byte(2),
        byte(3),
        byte(4),
        byte(5),
        byte(6),
        micros as i64,
    ]
}

/// A row of a text's answer.
pub fn text_row(body: &[u8], columns: usize, answer: &mut Vec<u8>) -> DriverResult<()> {
    let mut fields = ParseBuf(body);
    let at = wire::begin(answer, b'D');
    wire::put_i16(answer, columns as i16);
    for _ in 0..columns {
        if fields.0.first() == Some(&NULL) {
            fields.checked_skip(1);
            wire::put_i32(answer, -1);
            continue;
        }
        let value = fields.checked_eat_lenenc_str().ok_or_else(malformed)?;
        wire::put_i32(answer, value.len() as i32);
        answer.extend_from_slice(value);
    }
    wire::finish(answer, at);
    Ok(())
}

/// A length before a text.
fn put_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        _ => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_timestamps() {
        let mut bytes = Vec::new();
        Value::Time(&[0xd0, 7, 1, 1])
            .write_binary(&mut bytes)
            .expect("a date");
        assert_eq!(bytes, [0; 8]);
        let time = Value::Time(&[0xd1, 7, 3, 1, 12, 30, 1, 0x40, 0xe2, 1, 0]);
        let (mut binary, mut text) = (Vec::new(), Vec::new());
        time.write_binary(&mut binary).expect("a time");
        time.write_text(&mut text);
        let micros = i64::from_be_bytes(binary.try_into().expect("eight bytes"));
        // 2000 was a leap year.
        assert_eq!(micros, ((366 + 59) * 86_400 + 45_001) * 1_000_000 + 123_456);
        assert_eq!(text, b"2001-03-01 12:30:01.123456");
    }

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        for length in [0usize, 250, 251, 65_535, 65_536, 1 << 20] {
            let mut out = Vec::new();
            put_length(&mut out, length);
            assert_eq!(ParseBuf(&out).checked_eat_lenenc_int(), Some(length as u64));
        }
    }
}
