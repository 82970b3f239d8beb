//! Messages of a client whose text is not UTF-8: their strings are converted between the socket and everything else.
//!
//! What comes in is rewritten before it is read, but for parameters and COPY data, which only those can convert who know
//! what they are. What goes out is rewritten where it stands in the buffer. Clients with UTF-8 never come here.

use mote_common::SqlResult;
use mote_types::ColumnType;
use mote_types::encoding::{Converter, binary_to_client};

use super::backend::format_of;

/// The body of a message with its names and its statement in UTF-8; `None` if it is the same.
pub fn received(kind: u8, body: &[u8], converter: Converter) -> SqlResult<Option<Vec<u8>>> {
    let (before, strings) = match kind {
        b'Q' | b'E' => (0, 1),
        b'P' | b'B' => (0, 2),
        b'D' | b'C' => (1, 1),
        _ => return Ok(None),
    };
    let Some((head, mut rest)) = body.split_at_checked(before).filter(|_| !body.is_ascii()) else {
        return Ok(None);
    };
    let mut out = Vec::with_capacity(body.len() * 2);
    out.extend_from_slice(head);
    for _ in 0..strings {
        // A string without an end is what the reader complains of.
        let Some(end) = memchr::memchr(0, rest) else { break };
        out.extend_from_slice(converter.decode(&rest[..end])?.as_bytes());
        out.push(0);
        rest = &rest[end + 1..];
    }
    out.extend_from_slice(rest);
    Ok(Some(out))
}

/// Rewrites the one message that begins at `start`. On an error it is gone.
pub fn sent(out: &mut Vec<u8>, start: usize, converter: Converter) -> SqlResult<()> {
    if out[start..].is_ascii() {
        return Ok(());
    }
    let kind = out[start];
    rewritten(out, start, |message, out| {
        let mut body = Cursor {
            rest: message,
            converter,
            out,
        };
        match kind {
            // A length each, for columns that have names.
            b'T' => {
                let columns = body.copy(2);
                for _ in 0..u16::from_be_bytes([columns[0], columns[1]]) {
                    body.string()?;
                    body.copy(18);
                }
            }
            b'A' => {
                body.copy(4);
                body.string()?;
                body.string()?;
            }
            b'S' => {
                body.string()?;
                body.string()?;
            }
            b'E' | b'N' => {
                while body.copy(1) != [0] {
                    body.string()?;
                }
            }
            _ => {
                body.copy(message.len());
            }
        }
        Ok(())
    })
}

/// Rewrites the DataRow that begins at `start`. On an error it is gone.
pub fn sent_row(
    out: &mut Vec<u8>,
    start: usize,
    columns: &[ColumnType],
    formats: &[i16],
    converter: Converter,
) -> SqlResult<()> {
    if out[start + 5..].is_ascii() {
        return Ok(());
    }
    rewritten(out, start, |message, out| {
        let mut body = Cursor {
            rest: message,
            converter,
            out,
        };
        body.copy(2);
        for (i, ty) in columns.iter().enumerate() {
            let length = i32::from_be_bytes(body.take(4).try_into().expect("four bytes"));
            let at = body.out.len();
            body.out.extend_from_slice(&length.to_be_bytes());
            if length < 0 {
                continue;
            }
            let value = body.take(length as usize);
            if format_of(formats, i) == 1 {
                binary_to_client(converter, ty.oid, value, body.out)?;
            } else {
                converter.encode(mote_types::format::utf8(value)?, body.out)?;
            }
            let length = (body.out.len() - at - 4) as u32;
            body.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    })
}

/// Takes the body of the message at `start` away, has it written anew, and counts its bytes again.
fn rewritten(
    out: &mut Vec<u8>,
    start: usize,
    write: impl FnOnce(&[u8], &mut Vec<u8>) -> SqlResult<()>,
) -> SqlResult<()> {
    let body = out.split_off(start + 5);
    let result = write(&body, out);
    if result.is_err() {
        out.truncate(start);
        return result;
    }
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// A message of our own, which is well-formed.
struct Cursor<'m, 'o> {
    rest: &'m [u8],
    converter: Converter,
    out: &'o mut Vec<u8>,
}

impl<'m> Cursor<'m, '_> {
    fn take(&mut self, bytes: usize) -> &'m [u8] {
        let (head, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        head
    }

    fn copy(&mut self, bytes: usize) -> &'m [u8] {
        let head = self.take(bytes);
        self.out.extend_from_slice(head);
        head
    }

    fn string(&mut self) -> SqlResult<()> {
        let end = memchr::memchr(0, self.rest).expect("strings end");
        let text = mote_types::format::utf8(self.take(end))?;
        self.converter.encode(text, self.out)?;
        self.copy(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgwire::backend;
    use mote_common::SqlError;
    use mote_types::encoding::Encoding;
    use mote_types::{Datum, FormatSettings, oid};

    fn latin1() -> Converter {
        let encoding = Encoding::from_name("latin1").expect("known");
        encoding.converter().expect("has a table").expect("converts")
    }

    #[test]
    fn strings_of_what_comes_in() {
        let query = received(b'Q', b"select '\xe9'\0", latin1())
            .expect("converts")
            .expect("differs");
        assert_eq!(query, "select 'é'\0".as_bytes());
        let parse = received(b'P', b"\xe9\0\xe8\0\0\x01\xff\xff\xff\xff", latin1());
        let parse = parse.expect("converts").expect("differs");
        assert_eq!(parse, b"\xc3\xa9\0\xc3\xa8\0\0\x01\xff\xff\xff\xff");
        assert!(received(b'D', b"Sname\0", latin1()).expect("ASCII").is_none());
        assert_eq!(
            received(b'Q', b"\xe9", latin1())
                .expect("no end")
                .expect("copied"),
            b"\xe9"
        );
    }

    #[test]
    fn an_error_and_a_row() {
        let mut out = vec![b'x'];
        backend::error_response(&mut out, &SqlError::internal("naïve").detail("é").hint("ASCII"));
        sent(&mut out, 1, latin1()).expect("has equivalents");
        let text = b"Mna\xefve\0D\xe9\0HASCII\0";
        assert!(out.windows(text.len()).any(|window| window == text), "{out:?}");
        let length = u32::from_be_bytes(out[2..6].try_into().expect("four"));
        assert_eq!(length as usize + 2, out.len());

        let row = [Datum::from("é"), Datum::Null, Datum::from("üb")];
        let columns = [oid::TEXT; 3].map(ColumnType::new);
        let mut out = Vec::new();
        backend::data_row(&mut out, &row, &columns, &[0, 0, 1], &FormatSettings::default());
        sent_row(&mut out, 0, &columns, &[0, 0, 1], latin1()).expect("has equivalents");
        assert_eq!(
            out,
            b"D\0\0\0\x15\0\x03\0\0\0\x01\xe9\xff\xff\xff\xff\0\0\0\x02\xfcb"
        );

        let mut out = vec![b'x'];
        backend::parameter_status(&mut out, "a", "€");
        assert!(sent(&mut out, 1, latin1()).is_err() && out == [b'x']);
    }
}
