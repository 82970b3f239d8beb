//! Framing and values of protocol 3.0: pure functions over byte buffers, no sockets.
//!
//! A message is a type byte, a big-endian length that counts itself, and the body. Decoders never index past what
//! the frame holds: a malformed message is `None` or `DriverError::Protocol`, not a panic.

use super::error::{DriverError, DriverResult, ServerError};

pub const PROTOCOL_3_0: i32 = 196_608;
pub const SSL_REQUEST: i32 = 80_877_103;
pub const GSS_REQUEST: i32 = 80_877_104;
pub const CANCEL_REQUEST: i32 = 80_877_102;

/// Starts a message; pass the result to [`finish`].
pub fn begin(out: &mut Vec<u8>, kind: u8) -> usize {
    out.push(kind);
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

/// Fills the length of the message whose length field stands at `at`.
pub fn finish(out: &mut [u8], at: usize) {
    let length = (out.len() - at) as i32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Fills the length of the value whose length field stands at `at`; a value's length does not count itself.
pub fn finish_value(out: &mut [u8], at: usize) {
    let length = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

pub fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

pub fn put_i16(out: &mut Vec<u8>, value: i16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub fn put_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// A whole message around a body that `fill` writes.
pub fn message(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = begin(out, kind);
    fill(out);
    finish(out, at);
}

/// StartupMessage: no type byte.
pub fn startup(out: &mut Vec<u8>, options: &[(&str, &str)]) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    put_i32(out, PROTOCOL_3_0);
    for (name, value) in options {
        put_string(out, name);
        put_string(out, value);
    }
    out.push(0);
    finish(out, at);
}

pub fn query(out: &mut Vec<u8>, sql: &str) {
    message(out, b'Q', |out| put_string(out, sql));
}

pub fn parse(out: &mut Vec<u8>, name: &str, sql: &str, types: impl ExactSizeIterator<Item = u32>) {
    message(out, b'P', |out| {
        put_string(out, name);
        put_string(out, sql);
        put_i16(out, types.len() as i16);
        for oid in types {
            put_i32(out, oid as i32);
        }
    });
}

pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'S', 0, 0, 0, 4]);
}

/// One message inside a receive buffer.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    pub kind: u8,
    pub body: &'a [u8],
}

/// The frame at the front of `bytes` and its whole length, or `None` when it has not arrived completely.
pub fn frame(bytes: &[u8]) -> DriverResult<Option<(Frame<'_>, usize)>> {
    let Some(header) = bytes.first_chunk::<5>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes([header[1], header[2], header[3], header[4]]);
    if !(4..=0x3fff_ffff).contains(&length) {
        return Err(DriverError::protocol(format!(
            "message '{}' claims {length} bytes",
            header[0] as char
        )));
    }
    let total = 1 + length as usize;
    Ok((bytes.len() >= total).then(|| {
        (
            Frame {
                kind: header[0],
                body: &bytes[5..total],
            },
            total,
        )
    }))
}

/// Iterates over the complete frames of a buffer.
pub struct Frames<'a>(pub &'a [u8]);

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        let (frame, length) = frame(self.0).ok()??;
        self.0 = &self.0[length..];
        Some(frame)
    }
}

/// A DataRow's columns, read front to back.
#[derive(Clone)]
pub struct Row<'a> {
    rest: &'a [u8],
}

impl<'a> Row<'a> {
    pub fn new(body: &'a [u8]) -> Row<'a> {
        Row {
            rest: body.get(2..).unwrap_or(&[]),
        }
    }

    /// The next column's bytes; `None` for SQL NULL. Reading past the last column is a protocol error.
    pub fn bytes(&mut self) -> DriverResult<Option<&'a [u8]>> {
        let short = || DriverError::protocol("a row has fewer columns than its statement selects");
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = i32::from_be_bytes(*length);
        self.rest = rest;
        if length < 0 {
            return Ok(None);
        }
        let (value, rest) = rest.split_at_checked(length as usize).ok_or_else(short)?;
        self.rest = rest;
        Ok(Some(value))
    }

    pub fn skip(&mut self, columns: usize) -> DriverResult<()> {
        for _ in 0..columns {
            self.bytes()?;
        }
        Ok(())
    }

    fn required(&mut self) -> DriverResult<&'a [u8]> {
        self.bytes()?
            .ok_or_else(|| DriverError::protocol("unexpected NULL"))
    }

    pub fn text(&mut self) -> DriverResult<&'a str> {
        std::str::from_utf8(self.required()?).map_err(|_| DriverError::protocol("text is not UTF-8"))
    }

    /// A binary int4.
    pub fn int(&mut self) -> DriverResult<i32> {
        self.opt_int()?
            .ok_or_else(|| DriverError::protocol("unexpected NULL"))
    }

    pub fn opt_int(&mut self) -> DriverResult<Option<i32>> {
        let Some(bytes) = self.bytes()? else {
            return Ok(None);
        };
        let bytes: [u8; 4] = bytes
            .try_into()
            .map_err(|_| DriverError::protocol("an int4 is not 4 bytes long"))?;
        Ok(Some(i32::from_be_bytes(bytes)))
    }

    /// A binary int2.
    pub fn short(&mut self) -> DriverResult<i16> {
        let bytes = self.required()?;
        let bytes: [u8; 2] = bytes
            .try_into()
            .map_err(|_| DriverError::protocol("an int2 is not 2 bytes long"))?;
        Ok(i16::from_be_bytes(bytes))
    }

    /// A binary int8.
    pub fn long(&mut self) -> DriverResult<i64> {
        let bytes = self.required()?;
        let bytes: [u8; 8] = bytes
            .try_into()
            .map_err(|_| DriverError::protocol("an int8 is not 8 bytes long"))?;
        Ok(i64::from_be_bytes(bytes))
    }

    /// A binary float8.
    pub fn double(&mut self) -> DriverResult<f64> {
        let bytes = self.required()?;
        let bytes: [u8; 8] = bytes
            .try_into()
            .map_err(|_| DriverError::protocol("a float8 is not 8 bytes long"))?;
        Ok(f64::from_be_bytes(bytes))
    }

    /// A binary numeric as a double, as BenchmarkSQL reads amounts.
    pub fn numeric(&mut self) -> DriverResult<f64> {
        decode_numeric(self.required()?)
    }
}

/// PostgreSQL's binary numeric: digit count, weight of the first base-10000 digit, sign, display scale, digits.
pub fn decode_numeric(bytes: &[u8]) -> DriverResult<f64> {
    let bad = || DriverError::protocol("malformed numeric");
    let (header, digits) = bytes.split_first_chunk::<8>().ok_or_else(bad)?;
    let field = |i: usize| i16::from_be_bytes([header[2 * i], header[2 * i + 1]]);
    let (count, weight, sign) = (field(0) as usize, field(1), field(2) as u16);
    if digits.len() != 2 * count {
        return Err(bad());
    }
    // An integer mantissa and one division keep two-decimal amounts exact to the last bit of a double.
    let mantissa = digits.chunks_exact(2).fold(0f64, |sum, pair| {
        sum * 10_000.0 + u16::from_be_bytes([pair[0], pair[1]]) as f64
    });
    let exponent = (weight as i32 + 1 - count as i32) * 4;
    let magnitude = if exponent < 0 {
        mantissa / 10f64.powi(-exponent)
    } else {
        mantissa * 10f64.powi(exponent)
    };
    match sign {
        0x0000 => Ok(magnitude),
        0x4000 => Ok(-magnitude),
        _ => Ok(f64::NAN),
    }
}

/// The fields of an ErrorResponse or NoticeResponse.
pub fn decode_error(body: &[u8]) -> ServerError {
    let mut error = ServerError {
        severity: String::new(),
        sqlstate: String::new(),
        message: String::new(),
        detail: None,
        hint: None,
    };
    for field in body.split(|&byte| byte == 0) {
        let Some((&kind, text)) = field.split_first() else {
            continue;
        };
        let text = String::from_utf8_lossy(text).into_owned();
        match kind {
            b'S' if error.severity.is_empty() => error.severity = text,
            b'V' => error.severity = text,
            b'C' => error.sqlstate = text,
            b'M' => error.message = text,
            b'D' => error.detail = Some(text),
            b'H' => error.hint = Some(text),
            _ => {}
        }
    }
    error
}

/// The row count at the end of a command tag: `UPDATE 3`, `INSERT 0 1`, `SELECT 10`; 0 when there is none.
pub fn tag_rows(body: &[u8]) -> u64 {
    let tag = body.strip_suffix(&[0]).unwrap_or(body);
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits == tag.len() || tag[tag.len() - digits - 1] != b' ' {
        return 0;
    }
    tag[tag.len() - digits..].iter().fold(0u64, |sum, byte| {
        sum.wrapping_mul(10).wrapping_add((byte - b'0') as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_split_and_wait_for_the_rest() {
        let mut out = Vec::new();
        query(&mut out, "select 1");
        sync(&mut out);
        assert_eq!(&out[..5], &[b'Q', 0, 0, 0, 13]);
        let kinds: Vec<u8> = Frames(&out).map(|frame| frame.kind).collect();
        assert_eq!(kinds, vec![b'Q', b'S']);
        for cut in 0..14 {
            assert!(frame(&out[..cut]).expect("no error in a prefix").is_none());
        }
        assert!(frame(&[b'D', 0, 0, 0, 3]).is_err());
    }

    fn numeric(weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_i16(&mut bytes, digits.len() as i16);
        put_i16(&mut bytes, weight);
        put_i16(&mut bytes, sign as i16);
        put_i16(&mut bytes, 2);
        digits.iter().for_each(|&digit| put_i16(&mut bytes, digit as i16));
        bytes
    }

    #[test]
    fn numerics() {
        let check = |weight, sign, digits: &[u16], expect: f64| {
            assert_eq!(
                decode_numeric(&numeric(weight, sign, digits)).expect("well formed"),
                expect
            );
        };
        check(0, 0, &[], 0.0);
        check(0, 0, &[12, 3400], 12.34);
        check(1, 0, &[30], 300_000.0);
        check(-1, 0, &[1234], 0.1234);
        check(0, 0x4000, &[10], -10.0);
        assert!(decode_numeric(&[0, 1, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(decode_numeric(&[0]).is_err());
    }

    #[test]
    fn rows_and_tags() {
        let mut body = Vec::new();
        put_i16(&mut body, 3);
        put_i32(&mut body, 4);
        put_i32(&mut body, 77);
        put_i32(&mut body, -1);
        put_i32(&mut body, 2);
        body.extend_from_slice(b"ok");
        let mut row = Row::new(&body);
        assert_eq!(row.int().expect("int"), 77);
        assert_eq!(row.bytes().expect("null"), None);
        assert_eq!(row.text().expect("text"), "ok");
        assert!(row.bytes().is_err());
        assert_eq!(tag_rows(b"INSERT 0 12\0"), 12);
        assert_eq!(tag_rows(b"DELETE 0\0"), 0);
        assert_eq!(tag_rows(b"COMMIT\0"), 0);
    }

    #[test]
    fn error_fields() {
        let error = decode_error(b"SERROR\0VERROR\0C40001\0Mcould not serialize\0Hretry\0\0");
        assert_eq!(
            (error.sqlstate.as_str(), error.message.as_str()),
            ("40001", "could not serialize")
        );
        assert_eq!(error.hint.as_deref(), Some("retry"));
    }
}
