//! Character encodings: their names and numbers, and conversion between each of them and UTF-8, which is what all text is
//! inside.
//!
//! Read `names` for what exists and how PostgreSQL spells it, `single_byte` and `multi_byte` for the tables, then this
//! file for converting whole texts, `binary` for the text inside of binary values. The tables are those of PostgreSQL's
//! conversions, which differ from the web's (`LATIN1` is not windows-1252, what a code page leaves open is an error).
//!
//! Two errors, as there: 22021 for bytes that are no character of their encoding, 22P05 for a character that the other
//! encoding does not have.
//! Leaves out: `EUC_TW`, `EUC_JIS_2004`, `SHIFT_JIS_2004`, `MULE_INTERNAL`, `GB18030`, `JOHAB`, which have names only
//! (COMPAT.md).

mod binary;
mod multi_byte;
mod names;
mod single_byte;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

use crate::format::utf8;
pub use binary::{binary_from_client, binary_to_client};
use multi_byte::MultiByte;
pub use names::Encoding;
use single_byte::SingleByte;

/// How the bytes of an encoding become characters.
enum Scheme {
    Utf8,
    Single(&'static SingleByte),
    Multi(&'static MultiByte),
}

/// Converts between UTF-8 and one encoding.
#[derive(Clone, Copy)]
pub struct Converter {
    encoding: Encoding,
    scheme: &'static Scheme,
}

impl std::fmt::Debug for Converter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.encoding.name())
    }
}

impl Encoding {
    /// `None` where text needs no conversion: UTF-8, and SQL_ASCII, which stands for "as the server has it".
    pub fn converter(self) -> SqlResult<Option<Converter>> {
        let scheme = self.scheme().ok_or_else(|| {
            SqlError::unsupported(format_args!("conversion between {} and UTF8", self.name()))
        })?;
        let encoding = self;
        Ok((!matches!(scheme, Scheme::Utf8)).then_some(Converter { encoding, scheme }))
    }

    /// `None`: there is no table of this encoding.
    fn scheme(self) -> Option<&'static Scheme> {
        static SCHEMES: [std::sync::OnceLock<Option<Scheme>>; Encoding::COUNT] =
            [const { std::sync::OnceLock::new() }; Encoding::COUNT];
        let made = SCHEMES[self.number() as usize].get_or_init(|| match self {
            Encoding::UTF8 | Encoding::SQL_ASCII => Some(Scheme::Utf8),
            _ => single_byte::table(self)
                .map(Scheme::Single)
                .or_else(|| multi_byte::table(self).map(Scheme::Multi)),
        });
        made.as_ref()
    }

    /// The text that these bytes of this encoding are.
    pub fn decode(self, bytes: &[u8]) -> SqlResult<Cow<'_, str>> {
        match self.converter()? {
            None => utf8(bytes).map(Cow::Borrowed),
            Some(converter) => converter.decode(bytes),
        }
    }

    /// The bytes of a text in this encoding.
    pub fn encode(self, text: &str) -> SqlResult<Cow<'_, [u8]>> {
        match self.converter()? {
            Some(converter) if !text.is_ascii() => {
                let mut out = work::bytes_buffer(text.len())?;
                converter.encode(text, &mut out)?;
                Ok(Cow::Owned(out))
            }
            _ => Ok(Cow::Borrowed(text.as_bytes())),
        }
    }

    /// Refuses bytes that are no text of this encoding, whether or not its characters have an equivalent in UTF-8.
    pub fn verify(self, bytes: &[u8]) -> SqlResult<()> {
        self.character_count(bytes).map(drop)
    }

    /// How many characters these bytes are.
    pub fn character_count(self, bytes: &[u8]) -> SqlResult<usize> {
        let Some(converter) = self.converter()? else {
            if self == Encoding::SQL_ASCII {
                // No byte is wrong but the one that ends a string.
                return match memchr::memchr(0, bytes) {
                    Some(_) => Err(invalid_bytes(self, &[0])),
                    None => Ok(bytes.len()),
                };
            }
            let mut count = 0;
            for piece in work::pieces(utf8(bytes)?) {
                count += piece?.chars().count();
            }
            return Ok(count);
        };
        let (mut rest, mut count, mut meter) = (bytes, 0, Meter::default());
        while !rest.is_empty() {
            let length = converter.length(rest)?;
            meter.tick(length)?;
            rest = &rest[length..];
            count += 1;
        }
        Ok(count)
    }
}

impl Converter {
    pub fn encoding(self) -> Encoding {
        self.encoding
    }

    pub fn decode<'b>(self, bytes: &'b [u8]) -> SqlResult<Cow<'b, str>> {
        let plain = ascii_prefix(bytes);
        if plain.len() == bytes.len() {
            return Ok(Cow::Borrowed(plain));
        }
        let mut out = work::text_buffer(bytes.len() + bytes.len() / 2)?;
        out.push_str(plain);
        match self.decode_onto(&bytes[plain.len()..], &mut out)? {
            (_, None) => Ok(Cow::Owned(out)),
            (_, Some(error)) => Err(error),
        }
    }

    /// Appends the text of `bytes` as far as they are well-formed; answers how many bytes that are, and what is wrong with
    /// the others. The outer error is the end of the statement, not of the text.
    pub fn decode_onto(self, bytes: &[u8], out: &mut String) -> SqlResult<(usize, Option<SqlError>)> {
        let (mut rest, mut meter) = (bytes, Meter::default());
        while !rest.is_empty() {
            let plain = ascii_prefix(rest);
            if !plain.is_empty() {
                work::grow(out, plain)?;
                meter.tick(plain.len())?;
                rest = &rest[plain.len()..];
                continue;
            }
            let (character, length) = match self.character(rest) {
                Ok(found) => found,
                Err(error) => return Ok((bytes.len() - rest.len(), Some(error))),
            };
            work::grow(out, character.encode_utf8(&mut [0; 4]))?;
            meter.tick(length)?;
            rest = &rest[length..];
        }
        Ok((bytes.len(), None))
    }

    /// The first character, and how many bytes it has.
    fn character(self, bytes: &[u8]) -> SqlResult<(char, usize)> {
        let length = self.length(bytes)?;
        let found = match self.scheme {
            Scheme::Utf8 => unreachable!("UTF-8 has no converter"),
            _ if bytes[0] < 0x80 => Some(bytes[0] as char),
            Scheme::Single(table) => table.character(bytes[0]),
            Scheme::Multi(table) => table.character(&bytes[..length]),
        };
        let character =
            found.ok_or_else(|| no_equivalent(self.encoding, Encoding::UTF8, &bytes[..length]))?;
        Ok((character, length))
    }

    /// How many bytes the first character has, if they are in the form of one.
    fn length(self, bytes: &[u8]) -> SqlResult<usize> {
        let length = match self.scheme {
            Scheme::Multi(table) if bytes[0] >= 0x80 => table.length(bytes),
            _ => Ok(1),
        };
        match length {
            Ok(length) if bytes[0] != 0 => Ok(length),
            Ok(_) => Err(invalid_bytes(self.encoding, &[0])),
            Err(expected) => Err(invalid_bytes(self.encoding, &bytes[..expected.min(bytes.len())])),
        }
    }

    /// Whether `bytes` begin with a character whose last bytes are missing.
    pub fn is_cut(self, bytes: &[u8]) -> bool {
        match self.scheme {
            Scheme::Multi(table) => {
                bytes.first().is_some_and(|&first| first >= 0x80)
                    && table.length(bytes).is_err_and(|expected| expected > bytes.len())
            }
            _ => false,
        }
    }

    /// Appends the bytes of a text.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> SqlResult<()> {
        let mut meter = Meter::default();
        let mut rest = text;
        while !rest.is_empty() {
            let plain = ascii_prefix(rest.as_bytes());
            if !plain.is_empty() {
                work::grow_bytes(out, plain.as_bytes())?;
                meter.tick(plain.len())?;
                rest = &rest[plain.len()..];
                continue;
            }
            let character = rest.chars().next().expect("not empty");
            let written = match self.scheme {
                Scheme::Utf8 => unreachable!("UTF-8 has no converter"),
                Scheme::Single(table) => table.byte(character).map(|byte| out.push(byte)),
                Scheme::Multi(table) => table.append(character, out),
            };
            let (bytes, after) = rest.split_at(character.len_utf8());
            written.ok_or_else(|| no_equivalent(Encoding::UTF8, self.encoding, bytes.as_bytes()))?;
            meter.tick(bytes.len())?;
            rest = after;
        }
        Ok(())
    }
}

/// What is ASCII, and no NUL, at the beginning.
fn ascii_prefix(bytes: &[u8]) -> &str {
    let end = bytes
        .iter()
        .position(|&byte| byte >= 0x80 || byte == 0)
        .unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).expect("ASCII is UTF-8")
}

fn hexadecimal(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
    shown.join(" ")
}

#[cold]
fn invalid_bytes(encoding: Encoding, bytes: &[u8]) -> SqlError {
    let (name, shown) = (encoding.name(), hexadecimal(bytes));
    SqlError::new(
        state::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"{name}\": {shown}"),
    )
}

#[cold]
fn no_equivalent(from: Encoding, to: Encoding, bytes: &[u8]) -> SqlError {
    let (from, to, shown) = (from.name(), to.name(), hexadecimal(bytes));
    SqlError::new(
        state::UNTRANSLATABLE_CHARACTER,
        format!(
            "character with byte sequence {shown} in encoding \"{from}\" has no equivalent in encoding \"{to}\""
        ),
    )
}
