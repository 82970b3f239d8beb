//! Encodings of one byte per character: ASCII below 0x80, a table above.
//!
//! `tables/single_byte.txt` has for each encoding its name and eight lines of sixteen code points, 80 to FF, in
//! hexadecimal; `-` is a byte that stands for nothing.

use super::Encoding;

pub(super) struct SingleByte {
    /// By the byte less 0x80; NUL where the byte stands for nothing.
    characters: [char; 128],
    /// The characters that have a byte, ordered.
    bytes: Vec<(char, u8)>,
}

impl SingleByte {
    fn new(characters: [char; 128]) -> SingleByte {
        let known = (0x80..=0xff).zip(characters).filter(|&(_, c)| c != '\0');
        let mut bytes: Vec<(char, u8)> = known.map(|(byte, c)| (c, byte)).collect();
        bytes.sort_unstable();
        SingleByte { characters, bytes }
    }

    /// The character of a byte from 0x80 on.
    pub fn character(&self, byte: u8) -> Option<char> {
        let character = self.characters[byte as usize - 0x80];
        (character != '\0').then_some(character)
    }

    pub fn byte(&self, character: char) -> Option<u8> {
        let found = self.bytes.binary_search_by_key(&character, |&(c, _)| c);
        found.ok().map(|position| self.bytes[position].1)
    }
}

/// Made once for the life of the process, for the encodings that are used; `None` if it is none of one byte.
pub(super) fn table(encoding: Encoding) -> Option<&'static SingleByte> {
    let characters = match encoding.name() {
        "LATIN1" => std::array::from_fn(|at| (0x80 + at as u8) as char),
        name => listed(name)?,
    };
    Some(Box::leak(Box::new(SingleByte::new(characters))))
}

fn listed(name: &str) -> Option<[char; 128]> {
    let mut lines = include_str!("tables/single_byte.txt").lines();
    lines.find(|line| *line == name)?;
    let mut codes = lines.take(8).flat_map(|line| line.split(' '));
    Some(std::array::from_fn(|_| {
        match codes.next().expect("eight lines of sixteen") {
            "-" => '\0',
            code => {
                let code = u32::from_str_radix(code, 16).expect("hexadecimal");
                char::from_u32(code).expect("a code point")
            }
        }
    }))
}
