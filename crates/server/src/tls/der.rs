//! Reads DER, the encoding of certificates: a tag, a length, the content.

pub const INTEGER: u8 = 0x02;
pub const OBJECT_IDENTIFIER: u8 = 0x06;
pub const UTF8_STRING: u8 = 0x0c;
pub const PRINTABLE_STRING: u8 = 0x13;
pub const TELETEX_STRING: u8 = 0x14;
pub const IA5_STRING: u8 = 0x16;
pub const BMP_STRING: u8 = 0x1e;
pub const SEQUENCE: u8 = 0x30;
pub const SET: u8 = 0x31;
/// `[0] EXPLICIT`, as the version of a certificate has it.
pub const CONTEXT_0: u8 = 0xa0;

/// The elements of a content, one after the other. Whatever is malformed ends it.
#[derive(Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(content: &'a [u8]) -> Reader<'a> {
        Reader(content)
    }

    /// The content of the next element, if it has this tag.
    pub fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        match ahead.next()? {
            (found, content) if found == tag => {
                *self = ahead;
                Some(content)
            }
            _ => None,
        }
    }

    pub fn open(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.expect(tag).map(Reader)
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // Four bytes of length are more than any certificate has.
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let length = bytes
                    .iter()
                    .fold(0usize, |sum, &byte| sum << 8 | usize::from(byte));
                (length, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_their_lengths() {
        let mut bytes = vec![INTEGER, 1, 7, SET, 0, SEQUENCE, 0x82, 1, 2];
        bytes.extend_from_slice(&[9; 258]);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.expect(SET), None);
        assert_eq!(reader.expect(INTEGER), Some(&[7][..]));
        assert_eq!(reader.next(), Some((SET, &[][..])));
        assert_eq!(reader.expect(SEQUENCE).map(<[u8]>::len), Some(258));
        assert_eq!(reader.next(), None);
        for cut in [
            &[2][..],
            &[2, 2, 0],
            &[2, 0x81],
            &[2, 0x80, 0],
            &[2, 0x85, 0, 0, 0, 0, 0],
        ] {
            assert_eq!(Reader::new(cut).next(), None, "{cut:?}");
        }
    }
}
