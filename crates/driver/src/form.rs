//! The driver's own form of requests and answers, which is PostgreSQL's, for those who translate it into another system's.

use super::error::{DriverError, DriverResult, ServerError};
use super::wire;

/// PostgreSQL's types of parameters, as Parse names them.
pub const INT8: u32 = 20;
pub const INT4: u32 = 23;
pub const FLOAT8: u32 = 701;
/// Days and seconds between 1970 and PostgreSQL's year 2000.
pub const EPOCH_DAYS: i64 = 10_957;

/// What a statement does, as PostgreSQL's command tags say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    Begin,
    Commit,
    Rollback,
    Select,
    Insert,
    Update,
    Delete,
    Copy,
    Other,
}

impl Tag {
    pub fn of(sql: &str) -> Tag {
        let sql = sql.trim_start();
        let end = sql.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(sql.len());
        match sql[..end].to_ascii_uppercase().as_str() {
            "BEGIN" => Tag::Begin,
            "COMMIT" => Tag::Commit,
            "ROLLBACK" => Tag::Rollback,
            "SELECT" | "SHOW" | "WITH" => Tag::Select,
            "INSERT" => Tag::Insert,
            "UPDATE" => Tag::Update,
            "DELETE" => Tag::Delete,
            "LOAD" => Tag::Copy,
            _ => Tag::Other,
        }
    }

    /// The text of a statement that begins or ends a transaction.
    pub fn control(self) -> Option<&'static str> {
        match self {
            Tag::Begin => Some("BEGIN"),
            Tag::Commit => Some("COMMIT"),
            Tag::Rollback => Some("ROLLBACK"),
            _ => None,
        }
    }

    pub fn write(self, rows: u64, out: &mut Vec<u8>) {
        let name = match self {
            Tag::Begin => "BEGIN",
            Tag::Commit => "COMMIT",
            Tag::Rollback => "ROLLBACK",
            Tag::Select => "SELECT",
            Tag::Insert => "INSERT 0",
            Tag::Update => "UPDATE",
            Tag::Delete => "DELETE",
            Tag::Copy => "COPY",
            Tag::Other => "OK",
        };
        out.extend_from_slice(name.as_bytes());
        if self.control().is_none() && self != Tag::Other {
            out.extend_from_slice(format!(" {rows}").as_bytes());
        }
    }
}

/// `$1` as question marks, and which parameter each of them is, counted from 0.
pub fn question_marks(sql: &str) -> (String, Vec<usize>) {
    let (mut text, mut order) = (String::with_capacity(sql.len()), Vec::new());
    let mut quoted = false;
    let mut rest = sql;
    while let Some(next) = rest.chars().next() {
        quoted ^= next == '\'';
        let after = &rest[next.len_utf8()..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        match (next == '$' && !quoted).then(|| after[..digits].parse::<usize>()) {
            Some(Ok(number @ 1..)) => {
                text.push('?');
                order.push(number - 1);
                rest = &after[digits..];
            }
            _ => {
                text.push(next);
                rest = after;
            }
        }
    }
    (text, order)
}

/// The body of a Parse message.
pub struct Parsed {
    pub tag: Tag,
    /// With question marks for parameters.
    pub text: String,
    /// By parameter of the driver.
    pub types: Vec<u32>,
    /// By question mark: the driver's parameter.
    pub order: Vec<usize>,
}

impl Parsed {
    pub fn read(body: &[u8]) -> DriverResult<Parsed> {
        let mut fields = Fields(body);
        fields.text()?;
        let sql = std::str::from_utf8(fields.text()?).map_err(|_| malformed())?;
        let count = fields.short()?;
        let types = (0..count).map(|_| fields.int().map(|oid| oid as u32));
        let types = types.collect::<DriverResult<Vec<u32>>>()?;
        let (text, order) = question_marks(sql);
        if order.iter().any(|&param| param >= types.len()) {
            return Err(DriverError::protocol(format!(
                "a parameter of \"{sql}\" has no type"
            )));
        }
        Ok(Parsed {
            tag: Tag::of(sql),
            text,
            types,
            order,
        })
    }
}

/// What a Bind message says beside its statement: where in it each value is, and which columns are wanted in binary.
#[derive(Default)]
pub struct Bound {
    values: Vec<Option<(usize, usize)>>,
    binary: Vec<bool>,
}

impl Bound {
    /// Reads another one, in the memory of the last.
    pub fn read(&mut self, bind: &[u8]) -> DriverResult<()> {
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

    /// The value of a parameter, in the message that was read; `None` is NULL.
    pub fn value<'a>(&self, bind: &'a [u8], param: usize) -> DriverResult<Option<&'a [u8]>> {
        let place = *self.values.get(param).ok_or_else(malformed)?;
        Ok(place.map(|(start, end)| &bind[start..end]))
    }

    pub fn is_binary(&self, column: usize) -> bool {
        self.binary.get(column) == Some(&true)
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

/// As the driver reads errors.
pub fn write_error(answer: &mut Vec<u8>, error: &ServerError) {
    wire::message(answer, b'E', |out| {
        let fields = [
            (b'S', &error.severity),
            (b'V', &error.severity),
            (b'C', &error.sqlstate),
            (b'M', &error.message),
        ];
        for (kind, text) in fields {
            out.push(kind);
            wire::put_string(out, text);
        }
        out.push(0);
    });
}

/// A time, as a timestamp in binary.
pub fn put_timestamp([year, month, day, hour, minute, second, micros]: [i64; 7], out: &mut Vec<u8>) {
    let days = days_of(year, month, day) - EPOCH_DAYS;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    out.extend_from_slice(&(seconds * 1_000_000 + micros).to_be_bytes());
}

/// Days since 1970-01-01 in the Gregorian calendar; its years begin in March here, so that a leap day is their last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A decimal's text as PostgreSQL's binary numeric.
pub fn put_numeric(text: &[u8], out: &mut Vec<u8>) -> DriverResult<()> {
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

fn malformed() -> DriverError {
    DriverError::protocol("one of the driver's own messages is cut short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_keep_their_values() {
        let (text, order) =
            question_marks("UPDATE t SET a = $2, b = '$1' WHERE c = $1 AND d = $10 AND e = $2");
        assert_eq!(
            text,
            "UPDATE t SET a = ?, b = '$1' WHERE c = ? AND d = ? AND e = ?"
        );
        assert_eq!(order, [1, 0, 9, 1]);
        assert_eq!(question_marks("COMMIT"), ("COMMIT".to_string(), Vec::new()));
    }

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
    fn tags_count_rows() {
        let said = |sql, rows| {
            let mut out = Vec::new();
            Tag::of(sql).write(rows, &mut out);
            String::from_utf8(out).expect("ASCII")
        };
        assert_eq!(said("insert into t values (1)", 1), "INSERT 0 1");
        assert_eq!(said("  SELECT 1", 7), "SELECT 7");
        assert_eq!(said("COMMIT", 0), "COMMIT");
        assert_eq!(said("ALTER TABLE t", 3), "OK");
    }
}
