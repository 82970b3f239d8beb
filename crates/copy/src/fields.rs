//! A line of COPY FROM cut into fields: the text form with its backslashes, and CSV with its quotes.
//!
//! Where nothing is escaped the fields are ranges of the line itself; otherwise they are ranges of a scratch buffer
//! that is used again for the next line.

use std::ops::Range;

use memchr::memchr;
use mote_common::SqlResult;
use mote_types::format::utf8;

use crate::lines::malformed;
use crate::options::{CopyOptions, Format};

/// A field of the line, in the line's bytes or in those of the scratch buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    range: Range<usize>,
    pub null: bool,
}

/// The fields of the current line.
pub struct Fields {
    format: Format,
    delimiter: u8,
    null: Box<[u8]>,
    quote: u8,
    escape: u8,
    fields: Vec<Field>,
    scratch: Vec<u8>,
    /// The ranges are those of the scratch buffer.
    unescaped: bool,
}

impl Fields {
    /// For lines in the form that the options tell.
    pub fn new(options: &CopyOptions) -> Fields {
        Fields {
            format: options.format,
            delimiter: options.delimiter,
            null: options.null.clone(),
            quote: options.quote,
            escape: options.escape,
            fields: Vec::new(),
            scratch: Vec::new(),
            unescaped: false,
        }
    }

    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether the field is the NULL string as written: in CSV not if it was quoted.
    pub fn is_null(&self, position: usize) -> bool {
        self.fields[position].null
    }

    /// A field's value. `line` is the line that was split, known to be UTF-8; escapes may make bytes that are not.
    pub fn text<'a>(&'a self, position: usize, line: &'a str) -> SqlResult<&'a str> {
        let range = self.fields[position].range.clone();
        if self.unescaped {
            utf8(&self.scratch[range])
        } else {
            Ok(&line[range])
        }
    }

    /// Whether a text is the NULL string, whatever its quotes: FORCE_NULL asks.
    pub fn is_null_text(&self, text: &str) -> bool {
        text.as_bytes() == &*self.null
    }

    /// Cuts a line. The fields hold until the next one is cut.
    pub fn split(&mut self, line: &[u8]) -> SqlResult<()> {
        self.fields.clear();
        self.scratch.clear();
        // One look for the escape decides for the whole line; most lines have none.
        let special = if self.format == Format::Csv {
            self.quote
        } else {
            b'\\'
        };
        self.unescaped = memchr(special, line).is_some();
        match (self.unescaped, self.format) {
            (false, _) => self.split_plain(line),
            (true, Format::Csv) => self.split_csv(line)?,
            (true, _) => self.split_text(line),
        }
        Ok(())
    }

    /// Without escapes: fields are what stands between delimiters.
    fn split_plain(&mut self, line: &[u8]) {
        let mut start = 0;
        loop {
            let end = memchr(self.delimiter, &line[start..]).map_or(line.len(), |offset| start + offset);
            let null = line[start..end] == *self.null;
            self.fields.push(Field {
                range: start..end,
                null,
            });
            if end == line.len() {
                return;
            }
            start = end + 1;
        }
    }

    /// The text form with escapes.
    fn split_text(&mut self, line: &[u8]) {
        let mut at = 0;
        loop {
            let raw = at;
            let start = self.scratch.len();
            while at < line.len() && line[at] != self.delimiter {
                // A backslash at the end of the line stands for itself.
                if line[at] == b'\\' && at + 1 < line.len() {
                    at = unescape(line, at + 1, &mut self.scratch);
                } else {
                    self.scratch.push(line[at]);
                    at += 1;
                }
            }
            // The null string is compared before escapes are undone: `\N` is NULL, `\\N` is a value.
            let null = line[raw..at] == *self.null;
            self.fields.push(Field {
                range: start..self.scratch.len(),
                null,
            });
            if at == line.len() {
                return;
            }
            at += 1;
        }
    }

    /// CSV with quotes, which may begin and end within a field.
    fn split_csv(&mut self, line: &[u8]) -> SqlResult<()> {
        let mut at = 0;
        loop {
            let raw = at;
            let start = self.scratch.len();
            let mut quoted = false;
            while at < line.len() && line[at] != self.delimiter {
                if line[at] == self.quote {
                    quoted = true;
                    at = self.quoted_part(line, at + 1)?;
                } else {
                    self.scratch.push(line[at]);
                    at += 1;
                }
            }
            // Quoted, the NULL string is a value.
            let null = !quoted && line[raw..at] == *self.null;
            self.fields.push(Field {
                range: start..self.scratch.len(),
                null,
            });
            if at == line.len() {
                return Ok(());
            }
            at += 1;
        }
    }

    /// Copies what stands between quotes; answers where to go on behind the closing one.
    fn quoted_part(&mut self, line: &[u8], mut at: usize) -> SqlResult<usize> {
        while let Some(&byte) = line.get(at) {
            // The escape is the quote itself by default: two of them are one.
            if byte == self.escape
                && let Some(&next) = line.get(at + 1)
                && (next == self.escape || next == self.quote)
            {
                self.scratch.push(next);
                at += 2;
            } else if byte == self.quote {
                return Ok(at + 1);
            } else {
                self.scratch.push(byte);
                at += 1;
            }
        }
        Err(malformed("unterminated CSV quoted field"))
    }
}

/// Undoes the escape whose first byte behind the backslash is at `at`; answers where to go on.
fn unescape(line: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let digits = |from: usize, most: usize, radix: u32| {
        let digit = |byte: &u8| (*byte as char).to_digit(radix);
        let values = line[from.min(line.len())..].iter().map_while(digit).take(most);
        values.fold((0u32, 0), |(value, count), digit| {
            (value * radix + digit, count + 1)
        })
    };
    match line[at] {
        // Up to three octal digits, of which the byte takes the lower eight bits, as in PostgreSQL.
        b'0'..=b'7' => {
            let (value, count) = digits(at, 3, 8);
            out.push(value as u8);
            return at + count;
        }
        b'x' => {
            let (value, count) = digits(at + 1, 2, 16);
            if count > 0 {
                out.push(value as u8);
                return at + 1 + count;
            }
            out.push(b'x');
        }
        b'b' => out.push(0x08),
        b'f' => out.push(0x0c),
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'v' => out.push(0x0b),
        // The delimiter and the backslash among them.
        other => out.push(other),
    }
    at + 1
}
