//! Parameters and rows, from PostgreSQL's form to MySQL's and back.
//!
//! Invariant: a value has the type on this side that the same column has on PostgreSQL: integer, bigint, double precision,
//! numeric, timestamp in binary, anything as text. A statement whose type differs between systems says so with a CAST.

use mysql_common::constants::ColumnType;
use mysql_common::io::ParseBuf;

use super::super::error::{DriverError, DriverResult};
use super::super::wire;
use super::dialect::{self, Tag};
use super::{is_unsigned, malformed};

/// PostgreSQL's types of parameters, as Parse names them.
const INT8: u32 = 20;
const INT4: u32 = 23;
const FLOAT8: u32 = 701;
/// Days and seconds between 1970 and PostgreSQL's year 2000.
const EPOCH_DAYS: i64 = 10_957;
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
    /// Of the Bind under way: where its values are, and the formats that it wants columns in.
    values: Vec<Option<(usize, usize)>>,
    binary: Vec<bool>,
}

impl Statement {
    /// From the body of a Parse message; also answers the text as MySQL wants it.
    pub fn of_parse(body: &[u8]) -> DriverResult<(Statement, String)> {
        let mut fields = Fields(body);
        fields.text()?;
        let sql = std::str::from_utf8(fields.text()?).map_err(|_| malformed())?;
        let count = fields.short()?;
        let types = (0..count).map(|_| fields.int().map(|oid| oid as u32));
        let types = types.collect::<DriverResult<Vec<u32>>>()?;
        let (text, order) = dialect::question_marks(sql);
        if order.iter().any(|&param| param >= types.len()) {
            return Err(DriverError::protocol(format!(
                "a parameter of \"{sql}\" has no type"
            )));
        }
        let statement = Statement {
            tag: Tag::of(sql),
            id: 0,
            types,
            order,
            values: Vec::new(),
            binary: Vec::new(),
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
        self.read_bind(bind)?;
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
            let value = self.values.get(param).ok_or_else(malformed)?;
            let Some((start, end)) = *value else {
                out[nulls + position / 8] |= 1 << (position % 8);
                continue;
            };
            let value = &bind[start..end];
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

    fn read_bind(&mut self, bind: &[u8]) -> DriverResult<()> {
        let mut fields = Fields(bind);
        fields.text()?;
        fields.text()?;
        let formats = fields.short()?;
        fields.bytes(2 * formats)?;
        let count = fields.short()?;
        self.values.clear();
        for _ in 0..count {
            let length = fields.int()?;
            let start = bind.len() - fields.0.len();
            self.values.push(match length {
                0.. => Some((start, start + fields.bytes(length as usize)?.len())),
                _ => None,
            });
        }
        let results = fields.short()?;
        self.binary.clear();
        for _ in 0..results {
            self.binary.push(fields.short()? == 1);
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
            match self.binary.get(number) {
                Some(true) => value.write_binary(answer)?,
                _ => value.write_text(answer),
            }
            wire::finish_value(answer, start);
        }
        wire::finish(answer, at);
        Ok(())
    }
}

/// The number in a Bind message's `S_<number>`.
pub fn statement_number(bind: &[u8]) -> DriverResult<usize> {
    let mut fields = Fields(bind);
    fields.text()?;
    let name = std::str::from_utf8(fields.text()?).map_err(|_| malformed())?;
    let number = name.strip_prefix("S_").and_then(|number| number.parse().ok());
    number.ok_or_else(malformed)
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
            Value::Decimal(text) => return put_numeric(text, out),
            Value::Time(bytes) => {
                let [year, month, day, hour, minute, second, micros] = time_fields(bytes);
                let days = days_of(year, month, day) - EPOCH_DAYS;
                let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
                out.extend_from_slice(&(seconds * 1_000_000 + micros).to_be_bytes());
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

/// Days since 1970-01-01 in the Gregorian calendar; its years begin in March here, so that a leap day is their last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A decimal's text as PostgreSQL's binary numeric.
fn put_numeric(text: &[u8], out: &mut Vec<u8>) -> DriverResult<()> {
    let (sign, text) = match text {
        [b'-', rest @ ..] => (0x4000u16, rest),
        rest => (0, rest),
    };
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    if !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return Err(DriverError::protocol("a decimal is not a number"));
    }
    let groups = whole.len().div_ceil(4);
    let head = out.len();
    out.extend_from_slice(&[0; 8]);
    let digit = |at: isize| match at {
        at if at < 0 => whole
            .len()
            .checked_add_signed(at)
            .map_or(0, |at| whole[at] - b'0'),
        at => fraction.get(at as usize).map_or(0, |byte| byte - b'0'),
    };
    let (mut weight, mut count, mut used) = (groups as i16 - 1, 0u16, out.len());
    for group in -(groups as isize)..fraction.len().div_ceil(4) as isize {
        let value = (0..4).fold(0u16, |sum, place| sum * 10 + digit(group * 4 + place) as u16);
        if value == 0 && count == 0 {
            weight -= 1;
            continue;
        }
        wire::put_i16(out, value as i16);
        count += 1;
        if value != 0 {
            used = out.len();
        }
    }
    out.truncate(used);
    let count = ((used - head - 8) / 2) as u16;
    let weight = if count == 0 { 0 } else { weight };
    let header = [count, weight as u16, sign, fraction.len() as u16];
    for (place, field) in header.iter().enumerate() {
        out[head + 2 * place..head + 2 * place + 2].copy_from_slice(&field.to_be_bytes());
    }
    Ok(())
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

/// The fields of one of the driver's own messages.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> DriverResult<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn short(&mut self) -> DriverResult<usize> {
        Ok(self
            .bytes(2)?
            .iter()
            .fold(0, |sum, byte| sum << 8 | *byte as usize))
    }

    fn int(&mut self) -> DriverResult<i32> {
        let bytes = self.bytes(4)?.first_chunk::<4>().ok_or_else(malformed)?;
        Ok(i32::from_be_bytes(*bytes))
    }

    fn text(&mut self) -> DriverResult<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0).ok_or_else(malformed)?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_numerics() {
        for (text, value) in [
            ("0", 0.0),
            ("0.00", 0.0),
            ("12.34", 12.34),
            ("-10.00", -10.0),
            ("300000.00", 300_000.0),
            ("0.1234", 0.1234),
            ("0.0005", 0.0005),
            ("123456789.5", 123_456_789.5),
            ("-0.01", -0.01),
            ("10000", 10_000.0),
        ] {
            let mut bytes = Vec::new();
            put_numeric(text.as_bytes(), &mut bytes).expect("a number");
            assert_eq!(
                wire::decode_numeric(&bytes).expect("well formed"),
                value,
                "{text}"
            );
        }
        // As PostgreSQL sends 12.34.
        let mut bytes = Vec::new();
        put_numeric(b"12.34", &mut bytes).expect("a number");
        assert_eq!(bytes, [0, 2, 0, 0, 0, 0, 0, 2, 0, 12, 0x0d, 0x48]);
        assert!(put_numeric(b"1e5", &mut Vec::new()).is_err());
    }

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
