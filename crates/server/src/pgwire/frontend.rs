//! Messages from the client, taken in place from the read buffer.
//!
//! Lengths are checked against named bounds before anything is allocated; a malformed message is `08P01`.

use mote_common::{Oid, SqlError, SqlResult, error::state};
pub use mote_types::format::utf8;

/// Largest message a client may send once it is authenticated. Larger ones end the connection: 08P01.
pub const MESSAGE_BYTES_MAX: usize = 256 << 20;
/// Largest message before authentication: start-up packet, password.
pub const STARTUP_BYTES_MAX: usize = 10_000;

pub const PROTOCOL_3_0: u32 = 196_608;
pub const CANCEL_REQUEST: u32 = 80_877_102;
pub const SSL_REQUEST: u32 = 80_877_103;
pub const GSSENC_REQUEST: u32 = 80_877_104;

/// Bytes read from the socket and not consumed yet.
#[derive(Default)]
pub struct ReadBuffer {
    data: Vec<u8>,
    start: usize,
}

impl ReadBuffer {
    pub fn unread(&self) -> &[u8] {
        &self.data[self.start..]
    }

    /// Forgets `n` bytes.
    pub fn consume(&mut self, n: usize) {
        self.start += n;
        if self.start == self.data.len() {
            self.data.clear();
            self.start = 0;
        }
    }

    /// Space for a read of at least `n` bytes; `filled` says how many arrived.
    pub fn space(&mut self, n: usize) -> &mut Vec<u8> {
        if self.start > 0 && self.start >= self.data.len() / 2 {
            self.data.drain(..self.start);
            self.start = 0;
        }
        self.data.reserve(n);
        &mut self.data
    }

    pub fn capacity(&self) -> usize {
        self.data.capacity()
    }

    /// Gives memory back after a large message.
    pub fn shrink(&mut self, keep: usize) {
        if self.data.is_empty() && self.data.capacity() > keep {
            self.data = Vec::with_capacity(keep);
        }
    }

    /// The first complete message: (type, body's place in `unread`). `None`: more bytes are needed.
    pub fn peek(&self, limit: usize) -> SqlResult<Option<(u8, std::ops::Range<usize>)>> {
        let unread = self.unread();
        let Some(head) = unread.get(..5) else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length < 4 || length > limit {
            return Err(protocol_violation(format!("invalid message length {length}")));
        }
        let end = 1 + length;
        Ok((unread.len() >= end).then_some((head[0], 5..end)))
    }

    /// Terminate (`X`) where a start-up packet should be: the client has thought better of it. Read as a length it would be
    /// far too long for one.
    pub fn is_good_bye(&self) -> bool {
        self.unread() == [b'X', 0, 0, 0, 4]
    }

    /// The first complete start-up packet: its body's place in `unread`.
    pub fn peek_startup(&self) -> SqlResult<Option<std::ops::Range<usize>>> {
        let unread = self.unread();
        let Some(head) = unread.get(..4) else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if !(8..=STARTUP_BYTES_MAX).contains(&length) {
            return Err(protocol_violation("invalid length of startup packet"));
        }
        Ok((unread.len() >= length).then_some(4..length))
    }
}

#[cold]
pub fn unsupported_format(code: i16) -> SqlError {
    let message = format!("unsupported format code: {code}");
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

pub fn protocol_violation(message: impl Into<String>) -> SqlError {
    SqlError::new(state::PROTOCOL_VIOLATION, message)
}

/// Reads the fields of one message body.
#[derive(Clone, Copy)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub fn new(body: &'a [u8]) -> Fields<'a> {
        Fields(body)
    }

    pub fn bytes(&mut self, n: usize) -> SqlResult<&'a [u8]> {
        if n > self.0.len() {
            return Err(protocol_violation("insufficient data left in message"));
        }
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(head)
    }

    pub fn u8(&mut self) -> SqlResult<u8> {
        Ok(self.bytes(1)?[0])
    }

    pub fn i16(&mut self) -> SqlResult<i16> {
        let b = self.bytes(2)?;
        Ok(i16::from_be_bytes([b[0], b[1]]))
    }

    pub fn i32(&mut self) -> SqlResult<i32> {
        let b = self.bytes(4)?;
        Ok(i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// A count of 16 bits, which PostgreSQL reads as unsigned.
    pub fn count(&mut self) -> SqlResult<usize> {
        Ok(self.i16()? as u16 as usize)
    }

    pub fn raw_string(&mut self) -> SqlResult<&'a [u8]> {
        // Most names are empty: the unnamed portal.
        if let Some((0, rest)) = self.0.split_first() {
            self.0 = rest;
            return Ok(&[]);
        }
        match memchr::memchr(0, self.0) {
            Some(end) => {
                let string = &self.0[..end];
                self.0 = &self.0[end + 1..];
                Ok(string)
            }
            None => Err(protocol_violation("invalid string in message")),
        }
    }

    /// A string in the client's encoding, which is UTF-8.
    pub fn string(&mut self) -> SqlResult<&'a str> {
        utf8(self.raw_string()?)
    }

    pub fn end(&self) -> SqlResult<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(protocol_violation("invalid message format"))
        }
    }
}

/// Parse: a statement to prepare.
pub struct Parse<'a> {
    pub name: &'a str,
    pub text: &'a str,
    types: Fields<'a>,
    count: usize,
}

impl<'a> Parse<'a> {
    pub fn read(body: &'a [u8]) -> SqlResult<Parse<'a>> {
        let mut fields = Fields::new(body);
        let name = fields.string()?;
        let text = fields.string()?;
        let count = fields.count()?;
        let types = Fields(fields.bytes(count * 4)?);
        fields.end()?;
        Ok(Parse {
            name,
            text,
            types,
            count,
        })
    }

    pub fn types(&self) -> Vec<Oid> {
        let mut fields = self.types;
        (0..self.count)
            .map(|_| Oid(fields.i32().expect("counted by read") as u32))
            .collect()
    }
}

/// Bind: parameters for a prepared statement, and the formats of its results.
pub struct Bind<'a> {
    pub portal: &'a str,
    pub statement: &'a str,
    pub parameters: Values<'a>,
    result_formats: &'a [u8],
}

impl<'a> Bind<'a> {
    pub fn read(body: &'a [u8]) -> SqlResult<Bind<'a>> {
        let mut fields = Fields::new(body);
        let portal = fields.string()?;
        let statement = fields.string()?;
        let parameters = Values::read(&mut fields, |fault| match fault {
            Fault::Formats(formats, count) => {
                format!("bind message has {formats} parameter formats but {count} parameters")
            }
            Fault::Length(_) => "insufficient data left in message".to_owned(),
        })?;
        let results = fields.count()?;
        let result_formats = fields.bytes(results * 2)?;
        fields.end()?;
        Ok(Bind {
            portal,
            statement,
            parameters,
            result_formats,
        })
    }

    pub fn result_formats(&self) -> impl Iterator<Item = i16> + 'a {
        let formats = self.result_formats;
        (0..formats.len() / 2).map(move |i| format_at(formats, i))
    }
}

/// FunctionCall: a function by its OID.
pub struct FunctionCall<'a> {
    pub function: u32,
    pub arguments: Values<'a>,
    pub result_format: i16,
}

impl<'a> FunctionCall<'a> {
    pub fn read(body: &'a [u8]) -> SqlResult<FunctionCall<'a>> {
        let mut fields = Fields::new(body);
        let function = fields.i32()? as u32;
        let arguments = Values::read(&mut fields, |fault| match fault {
            Fault::Formats(formats, count) => {
                format!("function call message contains {formats} argument formats but {count} arguments")
            }
            Fault::Length(length) => format!("invalid argument size {length} in function call message"),
        })?;
        let result_format = fields.i16()?;
        fields.end()?;
        Ok(FunctionCall {
            function,
            arguments,
            result_format,
        })
    }
}

/// Values with their formats, as Bind and FunctionCall have them.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub count: usize,
    formats: &'a [u8],
    values: Fields<'a>,
}

/// What can be wrong with values that came with a message.
enum Fault {
    /// So many formats for so many values.
    Formats(usize, usize),
    /// A value's length.
    Length(i32),
}

impl<'a> Values<'a> {
    /// `wording` is the message's, for what is wrong.
    fn read(fields: &mut Fields<'a>, wording: impl Fn(Fault) -> String) -> SqlResult<Values<'a>> {
        let formats = fields.count()?;
        let format_bytes = fields.bytes(formats * 2)?;
        let count = fields.count()?;
        if formats > 1 && formats != count {
            return Err(protocol_violation(wording(Fault::Formats(formats, count))));
        }
        let values = *fields;
        for _ in 0..count {
            let length = fields.i32()?;
            if length >= 0 {
                fields.bytes(length as usize)?;
            } else if length != -1 {
                return Err(protocol_violation(wording(Fault::Length(length))));
            }
        }
        Ok(Values {
            count,
            formats: format_bytes,
            values,
        })
    }

    /// (value or NULL, format) for each.
    pub fn iter(self) -> impl Iterator<Item = (Option<&'a [u8]>, i16)> {
        let mut fields = self.values;
        (0..self.count).map(move |i| {
            let length = fields.i32().expect("checked by read");
            let value = (length >= 0).then(|| fields.bytes(length as usize).expect("checked by read"));
            let format = match self.formats.len() / 2 {
                0 => 0,
                1 => format_at(self.formats, 0),
                _ => format_at(self.formats, i),
            };
            (value, format)
        })
    }
}

fn format_at(formats: &[u8], i: usize) -> i16 {
    i16::from_be_bytes([formats[i * 2], formats[i * 2 + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(bytes: &[u8]) -> ReadBuffer {
        let mut buffer = ReadBuffer::default();
        buffer.space(bytes.len()).extend_from_slice(bytes);
        buffer
    }

    #[test]
    fn incomplete_messages_wait() {
        assert!(buffer(b"Q\0\0").peek(100).unwrap().is_none());
        assert!(buffer(b"Q\0\0\0\x06a").peek(100).unwrap().is_none());
        assert_eq!(buffer(b"Q\0\0\0\x06a\0").peek(100).unwrap(), Some((b'Q', 5..7)));
    }

    #[test]
    fn lengths_are_bounded() {
        assert!(buffer(b"Q\0\0\0\x03").peek(100).is_err());
        assert!(buffer(b"Q\x7f\xff\xff\xff").peek(100).is_err());
        assert!(buffer(&[0xff; 8]).peek_startup().is_err());
    }

    #[test]
    fn bind_rejects_what_does_not_add_up() {
        // One parameter of 5 bytes of which 2 are there.
        let body = b"\0\0\0\0\0\x01\0\0\0\x05ab\0\0";
        assert!(Bind::read(body).is_err());
        let good = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01a\xff\xff\xff\xff\0\0";
        let bind = Bind::read(good).unwrap();
        let parameters: Vec<_> = bind.parameters.iter().collect();
        assert_eq!(parameters, [(Some(&b"a"[..]), 1), (None, 1)]);
    }

    #[test]
    fn random_bytes_never_panic() {
        let seed = mote_common::env::real::entropy_u64();
        let mut prng = mote_common::prng::Prng::new(seed);
        for round in 0..20_000 {
            let length = prng.below(64) as usize;
            let bytes: Vec<u8> = (0..length)
                .map(|_| prng.below(256) as u8 & if prng.chance(1, 2) { 3 } else { 255 })
                .collect();
            let result = std::panic::catch_unwind(|| {
                if let Ok(bind) = Bind::read(&bytes) {
                    bind.parameters.iter().for_each(drop);
                    bind.result_formats().for_each(drop);
                }
                if let Ok(parse) = Parse::read(&bytes) {
                    parse.types();
                }
                if let Ok(call) = FunctionCall::read(&bytes) {
                    call.arguments.iter().for_each(drop);
                }
                let _ = buffer(&bytes).peek(1000);
            });
            assert!(result.is_ok(), "seed {seed} round {round}");
        }
    }
}
