//! Bytes of COPY FROM in text and CSV form: where they come from, and how they fall into lines.
//!
//! Invariants
//!  1. `buffer[start..]` is read but not yet consumed; a line is handed out as a range of the buffer and stays valid
//!     until the next call.
//!  2. The first line end decides which kind the input has (`\n`, `\r\n` or `\r`); another kind later is an error, as
//!     it is in PostgreSQL, because it is far more often a broken file than data.
//!
//! Leaves out: fields (`fields`), and the binary form (`binary`), which uses `Input` only.

use std::ops::Range;

use memchr::{memchr, memchr2, memrchr};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::encoding::Converter;

use crate::options::{CopyOptions, Format};
use mote_executor::context::StatementContext;
use mote_executor::server_files::FileReader;

/// PostgreSQL's bound on a line (a `StringInfo`), less what nobody needs: a line must be held in memory whole.
pub const LINE_BYTES_MAX: usize = 256 << 20;

/// Where the bytes come from.
pub enum Origin {
    Client,
    File { file: FileReader, path: String },
}

/// Unconsumed input.
pub struct Input {
    origin: Origin,
    buffer: Vec<u8>,
    start: usize,
    chunk: Vec<u8>,
    ended: bool,
    recoding: Option<Recoding>,
}

/// Text that is not UTF-8 becomes it before it is cut into lines: in some encodings a second byte may look like a
/// backslash.
struct Recoding {
    converter: Converter,
    /// Bytes of a character that the last piece ended in.
    cut: Vec<u8>,
    /// What is wrong behind all that was handed out: an error for whoever wants more.
    wrong: Option<SqlError>,
}

impl Input {
    /// Without a converter the bytes stay as they are.
    pub fn new(origin: Origin, converter: Option<Converter>) -> Input {
        Input {
            origin,
            buffer: Vec::new(),
            start: 0,
            chunk: Vec::new(),
            ended: false,
            recoding: converter.map(|converter| Recoding {
                converter,
                cut: Vec::new(),
                wrong: None,
            }),
        }
    }

    /// What can be looked at without reading more.
    pub fn available(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.buffer.len());
    }

    /// Reads one more piece behind what is available. False at the end of the input.
    pub fn fill(&mut self, context: &mut StatementContext<'_>) -> SqlResult<bool> {
        if let Some(error) = self.recoding.as_mut().and_then(|recoding| recoding.wrong.take()) {
            return Err(error);
        }
        if self.ended {
            return Ok(false);
        }
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        } else if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.available().len() > LINE_BYTES_MAX {
            return Err(
                SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "out of memory").detail(format!(
                    "Cannot enlarge string buffer containing {} bytes.",
                    self.available().len()
                )),
            );
        }
        let length = self.buffer.len();
        let more = self.read_piece(context)?;
        self.ended = !more;
        match &mut self.recoding {
            Some(recoding) => recoding.recode(&mut self.buffer, length, more),
            None => Ok(more),
        }
    }

    fn read_piece(&mut self, context: &mut StatementContext<'_>) -> SqlResult<bool> {
        Ok(match &mut self.origin {
            Origin::Client => {
                let more = context.host.copy_in(&mut self.chunk)?;
                if more {
                    if self.buffer.is_empty() {
                        std::mem::swap(&mut self.buffer, &mut self.chunk);
                    } else {
                        self.buffer.extend_from_slice(&self.chunk);
                    }
                }
                more
            }
            Origin::File { file, path } => {
                let piece = file.next(context)?.transpose().map_err(|error| {
                    SqlError::new(
                        state::IO_ERROR,
                        format!("could not read from COPY file \"{path}\": {error}"),
                    )
                })?;
                self.buffer.extend_from_slice(piece.as_deref().unwrap_or(&[]));
                piece.is_some()
            }
        })
    }

    /// Reads to the end and forgets everything: what follows an end-of-data marker is nobody's business.
    pub fn drain(&mut self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        self.recoding = None;
        while !self.ended {
            self.start = self.buffer.len();
            self.fill(context)?;
        }
        self.start = self.buffer.len();
        Ok(())
    }
}

impl Recoding {
    /// Rewrites what was read: `buffer` from `start` on. False at the end of the input.
    fn recode(&mut self, buffer: &mut Vec<u8>, start: usize, more: bool) -> SqlResult<bool> {
        let mut bytes = std::mem::take(&mut self.cut);
        if bytes.is_empty() && buffer[start..].is_ascii() && !buffer[start..].contains(&0) {
            return Ok(more);
        }
        bytes.extend_from_slice(&buffer[start..]);
        buffer.truncate(start);
        let mut text = String::new();
        let (valid, wrong) = self.converter.decode_onto(&bytes, &mut text)?;
        buffer.extend_from_slice(text.as_bytes());
        let rest = &bytes[valid..];
        if more && self.converter.is_cut(rest) {
            self.cut = rest.to_vec();
        } else if let Some(error) = wrong {
            if text.is_empty() {
                return Err(error);
            }
            self.wrong = Some(error);
        }
        Ok(more)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LineEnd {
    Unknown,
    Lf,
    CrLf,
    Cr,
}

/// Cuts the input into lines.
pub struct Lines {
    pub input: Input,
    line_end: LineEnd,
    csv: bool,
    quote: u8,
    /// The escape character where it differs from the quote.
    escape: Option<u8>,
    /// The current line, a range of the input's buffer.
    line: Range<usize>,
    /// 1-based number of the current line; what a message names.
    pub number: u64,
    done: bool,
}

/// What a look at the buffered bytes found.
enum Found {
    /// The line's length, and the length of the line end behind it.
    Line(usize, usize),
    /// Go on looking with more bytes; what was seen so far need not be looked at again.
    More,
}

/// Where a search for the line's end stands.
#[derive(Default)]
struct Search {
    /// Bytes looked at already.
    at: usize,
    in_quotes: bool,
    after_escape: bool,
}

impl Lines {
    pub fn new(input: Input, options: &CopyOptions) -> Lines {
        Lines {
            input,
            line_end: LineEnd::Unknown,
            csv: options.format == Format::Csv,
            quote: options.quote,
            escape: (options.escape != options.quote).then_some(options.escape),
            line: 0..0,
            number: 0,
            done: false,
        }
    }

    pub fn line(&self) -> &[u8] {
        &self.input.buffer[self.line.clone()]
    }

    /// Steps to the next line. False at the end of the data.
    pub fn next(&mut self, context: &mut StatementContext<'_>) -> SqlResult<bool> {
        if self.done {
            return Ok(false);
        }
        self.line = 0..0;
        self.number += 1;
        let mut search = Search::default();
        loop {
            if let Found::Line(length, end) = self.find(&mut search)? {
                self.take(length, end);
                break;
            }
            if !self.input.fill(context)? {
                let rest = self.input.available().len();
                self.done = true;
                if rest == 0 {
                    return Ok(false);
                }
                // A `\r` that was the last byte could not be told from half a `\r\n` before.
                let ends_with_cr = self.line_end != LineEnd::Lf
                    && !search.in_quotes
                    && self.input.available().last() == Some(&b'\r');
                self.take(rest - usize::from(ends_with_cr), usize::from(ends_with_cr));
                break;
            }
        }
        if self.line().starts_with(b"\\.") {
            return self.end_marker(context);
        }
        Ok(true)
    }

    fn take(&mut self, length: usize, end: usize) {
        let start = self.input.start;
        self.line = start..start + length;
        self.input.consume(length + end);
    }

    /// A line that begins with `\.`: alone it ends the data.
    fn end_marker(&mut self, context: &mut StatementContext<'_>) -> SqlResult<bool> {
        if self.line().len() > 2 {
            // In CSV it is a value like any other.
            return if self.csv {
                Ok(true)
            } else {
                Err(malformed("end-of-copy marker corrupt"))
            };
        }
        self.done = true;
        self.line = 0..0;
        self.input.drain(context)?;
        Ok(false)
    }

    fn find(&mut self, search: &mut Search) -> SqlResult<Found> {
        if self.csv {
            self.find_csv(search)
        } else {
            self.find_text(search)
        }
    }

    /// A line of the text form ends at a line end that no backslash precedes.
    fn find_text(&mut self, search: &mut Search) -> SqlResult<Found> {
        loop {
            let bytes = &self.input.buffer[self.input.start..];
            let Some(offset) = memchr2(b'\n', b'\r', &bytes[search.at..]) else {
                search.at = bytes.len();
                return Ok(Found::More);
            };
            let at = search.at + offset;
            if is_escaped(&bytes[..at]) {
                search.at = at + 1;
                continue;
            }
            return self.line_end_at(at, search);
        }
    }

    /// A line of CSV ends at a line end outside of quotes.
    fn find_csv(&mut self, search: &mut Search) -> SqlResult<Found> {
        let bytes = &self.input.buffer[self.input.start..];
        // The usual line has no quotes at all.
        if search.at == 0
            && let Some(end) = memchr2(b'\n', b'\r', bytes)
            && memchr(self.quote, &bytes[..end]).is_none()
        {
            return self.line_end_at(end, search);
        }
        while let Some(&byte) = bytes.get(search.at) {
            if !search.in_quotes && (byte == b'\n' || byte == b'\r') {
                return self.line_end_at(search.at, search);
            }
            let escapes = self.escape == Some(byte);
            if search.in_quotes && escapes {
                search.after_escape = !search.after_escape;
            }
            if byte == self.quote && !search.after_escape {
                search.in_quotes = !search.in_quotes;
            }
            if !escapes {
                search.after_escape = false;
            }
            search.at += 1;
        }
        Ok(Found::More)
    }

    /// A `\n` or `\r` that is not part of a value, at `at` behind the line's start.
    fn line_end_at(&mut self, at: usize, search: &mut Search) -> SqlResult<Found> {
        let bytes = &self.input.buffer[self.input.start..];
        if bytes[at] == b'\n' {
            return match self.line_end {
                LineEnd::Unknown | LineEnd::Lf => {
                    self.line_end = LineEnd::Lf;
                    Ok(Found::Line(at, 1))
                }
                LineEnd::CrLf | LineEnd::Cr => Err(self.foreign_line_end("newline", "\\n")),
            };
        }
        let Some(&next) = bytes.get(at + 1) else {
            search.at = at;
            return match self.line_end {
                LineEnd::Lf => Err(self.foreign_line_end("carriage return", "\\r")),
                LineEnd::Cr => Ok(Found::Line(at, 1)),
                _ => Ok(Found::More),
            };
        };
        match (self.line_end, next == b'\n') {
            (LineEnd::Unknown | LineEnd::CrLf, true) => {
                self.line_end = LineEnd::CrLf;
                Ok(Found::Line(at, 2))
            }
            (LineEnd::Unknown | LineEnd::Cr, false) | (LineEnd::Cr, true) => {
                self.line_end = LineEnd::Cr;
                Ok(Found::Line(at, 1))
            }
            (LineEnd::Lf, _) | (LineEnd::CrLf, false) => Err(self.foreign_line_end("carriage return", "\\r")),
        }
    }

    #[cold]
    fn foreign_line_end(&self, name: &str, escape: &str) -> SqlError {
        if self.csv {
            malformed(format!("unquoted {name} found in data"))
                .hint(format!("Use quoted CSV field to represent {name}."))
        } else {
            malformed(format!("literal {name} found in data"))
                .hint(format!("Use \"{escape}\" to represent {name}."))
        }
    }
}

/// Whether an odd number of backslashes ends these bytes.
fn is_escaped(bytes: &[u8]) -> bool {
    if bytes.last() != Some(&b'\\') {
        return false;
    }
    let line_start = memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    bytes[line_start..]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count()
        % 2
        == 1
}

#[cold]
pub fn malformed(message: impl Into<String>) -> SqlError {
    SqlError::new(state::BAD_COPY_FILE_FORMAT, message)
}
