//! The encodings of East Asia: ASCII below 0x80, characters of two or three bytes, half-width Katakana of one.
//!
//! A table (`tables/*.txt`) is a list of runs: a code in hexadecimal, a blank, and the characters that this code and those
//! after it stand for. Where several codes have the same character the last one is its own, unless a line `=CODE character`
//! names another, or one that is read as something else.
//!
//! Invariant: a code fits 16 bits. The three-byte codes of EUC_JP, `8F a b`, are kept as `a (b & 7F)`: both bytes of a
//! two-byte code have their high bit set, so no such code is that.

use super::Encoding;

pub(super) struct MultiByte {
    form: Form,
    /// By code; 0 for none. No character of these sets is outside of the first plane.
    characters: Vec<u16>,
    /// By character; 0 for none.
    codes: Vec<u16>,
}

/// Which bytes can follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Two bytes from A1 to FE.
    Euc,
    /// The same, 8E with a half-width Katakana, 8F with two more.
    EucJp,
    /// Katakana of one byte; a first byte from 81 to 9F or E0 to FC, a second from 40 to 7E or 80 to FC.
    Sjis,
    /// A second byte that is not NUL.
    Lax,
}

/// Single shift: what follows is half-width Katakana.
const SHIFT_2: u8 = 0x8e;
/// Single shift: what follows is of JIS X 0212.
const SHIFT_3: u8 = 0x8f;

/// Made once for the life of the process, for the encodings that are used; `None` if it is none of these.
pub(super) fn table(encoding: Encoding) -> Option<&'static MultiByte> {
    let (form, text) = match encoding.name() {
        "EUC_JP" => (Form::EucJp, include_str!("tables/euc_jp.txt")),
        "EUC_CN" => (Form::Euc, include_str!("tables/euc_cn.txt")),
        "EUC_KR" => (Form::Euc, include_str!("tables/uhc.txt")),
        "SJIS" => (Form::Sjis, include_str!("tables/sjis.txt")),
        "BIG5" => (Form::Lax, include_str!("tables/big5.txt")),
        "GBK" => (Form::Lax, include_str!("tables/gbk.txt")),
        "UHC" => (Form::Lax, include_str!("tables/uhc.txt")),
        _ => return None,
    };
    // UHC is EUC_KR with more: other second bytes, and two rows for users.
    let is_part = |code: u16| {
        let [row, cell] = code.to_be_bytes();
        form != Form::Euc
            || (cell >= 0xa1 && row >= 0xa1 && (encoding.name() != "EUC_KR" || !matches!(row, 0xc9 | 0xfe)))
    };
    Some(Box::leak(Box::new(MultiByte::new(form, text, is_part))))
}

impl MultiByte {
    fn new(form: Form, text: &str, is_part: impl Fn(u16) -> bool) -> MultiByte {
        let mut table = MultiByte {
            form,
            characters: vec![0; 1 << 16],
            codes: vec![0; 1 << 16],
        };
        for line in text.lines() {
            let (code, characters) = line.split_once(' ').expect("a code and its characters");
            let (written_only, code) = match code.strip_prefix('=') {
                Some(code) => (true, code),
                None => (false, code),
            };
            let first = short(u32::from_str_radix(code, 16).expect("hexadecimal"));
            for (code, character) in (first..)
                .zip(characters.chars())
                .filter(|(code, _)| is_part(*code))
            {
                let character = u16::try_from(character as u32).expect("the first plane");
                table.codes[character as usize] = code;
                if !written_only {
                    table.characters[code as usize] = character;
                }
            }
        }
        table
    }

    /// How many bytes the character has that begins with `bytes[0]`, which is not ASCII. If they are in no such form: how
    /// many PostgreSQL would show of them.
    pub fn length(&self, bytes: &[u8]) -> Result<usize, usize> {
        let high = |byte: &u8| (0xa1..=0xfe).contains(byte);
        let (length, valid) = match (self.form, bytes[0]) {
            (Form::EucJp, SHIFT_2) => (2, bytes.get(1).is_some_and(|byte| (0xa1..=0xdf).contains(byte))),
            (Form::EucJp, SHIFT_3) => (3, bytes.len() >= 3 && bytes[1..3].iter().all(high)),
            (Form::Euc | Form::EucJp, first) => (2, high(&first) && bytes.get(1).is_some_and(high)),
            (Form::Sjis, 0xa1..=0xdf) => (1, true),
            (Form::Sjis, first) => (
                2,
                matches!(first, 0x81..=0x9f | 0xe0..=0xfc)
                    && bytes
                        .get(1)
                        .is_some_and(|byte| matches!(byte, 0x40..=0x7e | 0x80..=0xfc)),
            ),
            (Form::Lax, _) => (2, bytes.get(1).is_some_and(|&byte| byte != 0)),
        };
        if valid { Ok(length) } else { Err(length) }
    }

    /// The character of these bytes, whose form has been checked.
    pub fn character(&self, bytes: &[u8]) -> Option<char> {
        let code = bytes.iter().fold(0, |code, &byte| code << 8 | byte as u32);
        match self.characters[short(code) as usize] {
            0 => None,
            character => char::from_u32(character as u32),
        }
    }

    /// Appends the character's bytes; `None` if it has none.
    pub fn append(&self, character: char, out: &mut Vec<u8>) -> Option<()> {
        let code = self
            .codes
            .get(character as usize)
            .copied()
            .filter(|&code| code != 0)?;
        let [first, second] = code.to_be_bytes();
        if first == 0 {
            out.push(second);
        } else if self.form == Form::EucJp && second < 0x80 {
            out.extend_from_slice(&[SHIFT_3, first, second | 0x80]);
        } else {
            out.extend_from_slice(&[first, second]);
        }
        Some(())
    }
}

/// A code in 16 bits.
fn short(code: u32) -> u16 {
    if code > 0xffff {
        code as u16 & 0xff7f
    } else {
        code as u16
    }
}
