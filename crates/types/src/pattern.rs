//! `LIKE`, `ILIKE` and the translation of `SIMILAR TO` patterns to regular expressions.
//!
//! Matching is by bytes where that equals matching by characters: `_` skips one whole UTF-8 character. A `%` tries
//! each place its next literal byte occurs; only the last `%` is ever backed up to, so matching is at worst
//! quadratic.

mod prefix;

pub use prefix::PatternKind;

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

/// The escape character of a pattern: backslash unless `ESCAPE` says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Escape(pub Option<char>);

impl Default for Escape {
    fn default() -> Escape {
        Escape(Some('\\'))
    }
}

impl Escape {
    /// From the text behind `ESCAPE`: one character, or none.
    pub fn parse(text: &str) -> SqlResult<Escape> {
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (first, None) => Ok(Escape(first)),
            _ => Err(
                SqlError::new(state::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                    .hint("Escape string must be empty or one character."),
            ),
        }
    }
}

/// One piece of a compiled pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    /// These bytes.
    Literal(Vec<u8>),
    /// `_`
    AnyOne,
    /// `%`
    AnyRun,
    /// The escape character at the end, with nothing behind it: an error where the text leads up to it.
    Dangling,
}

/// A pattern prepared for matching many strings.
#[derive(Clone, Debug)]
pub struct LikePattern {
    pieces: Vec<Piece>,
    fold_case: bool,
}

impl LikePattern {
    pub fn new(pattern: &str, escape: Escape) -> SqlResult<LikePattern> {
        LikePattern::compile(pattern, escape, false)
    }

    /// For `ILIKE`: both sides are folded to lower case.
    pub fn new_case_insensitive(pattern: &str, escape: Escape) -> SqlResult<LikePattern> {
        LikePattern::compile(pattern, escape, true)
    }

    fn compile(pattern: &str, escape: Escape, fold_case: bool) -> SqlResult<LikePattern> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let literal = if Some(c) == escape.0 {
                match chars.next() {
                    Some(escaped) => escaped,
                    None => {
                        pieces.push(Piece::Dangling);
                        break;
                    }
                }
            } else if c == '%' {
                if pieces.last() != Some(&Piece::AnyRun) {
                    pieces.push(Piece::AnyRun);
                }
                continue;
            } else if c == '_' {
                pieces.push(Piece::AnyOne);
                continue;
            } else {
                c
            };
            if !matches!(pieces.last(), Some(Piece::Literal(_))) {
                pieces.push(Piece::Literal(Vec::new()));
            }
            if let Some(Piece::Literal(bytes)) = pieces.last_mut() {
                push_char(literal, fold_case, bytes);
            }
        }
        Ok(LikePattern { pieces, fold_case })
    }

    pub fn matches(&self, text: &str) -> SqlResult<bool> {
        if self.fold_case {
            let mut folded = work::bytes_buffer(text.len())?;
            for piece in work::pieces(text) {
                piece?.chars().for_each(|c| push_char(c, true, &mut folded));
            }
            return match_pieces(&self.pieces, &folded);
        }
        match_pieces(&self.pieces, text.as_bytes())
    }

    /// The bytes every match begins with: what an index range can be made of. Empty for `ILIKE`.
    pub fn literal_prefix(&self) -> &[u8] {
        match self.pieces.first() {
            Some(Piece::Literal(bytes)) if !self.fold_case => bytes,
            _ => &[],
        }
    }

    /// True when the pattern has no wildcard: LIKE is then equality with the literal prefix.
    pub fn is_exact(&self) -> bool {
        !self.fold_case && matches!(self.pieces[..], [] | [Piece::Literal(_)])
    }
}

fn push_char(c: char, fold_case: bool, out: &mut Vec<u8>) {
    let mut buffer = [0; 4];
    // Characters whose lower case is several characters stay as they are, so that `_` keeps counting.
    let mut lower = c.to_lowercase();
    let c = match (fold_case, lower.next(), lower.next()) {
        (true, Some(single), None) => single,
        _ => c,
    };
    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
}

/// Length of the UTF-8 character that starts with a byte.
fn char_length(first: u8) -> usize {
    match first {
        0..=0xbf => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

fn match_pieces(pieces: &[Piece], text: &[u8]) -> SqlResult<bool> {
    let (mut piece, mut at) = (0, 0);
    let mut meter = Meter::default();
    // Where to resume when what follows the last `%` fails: its piece, and the text behind what it took.
    let mut resume: Option<(usize, usize)> = None;
    loop {
        let advanced = match pieces.get(piece) {
            None if at == text.len() => return Ok(true),
            None => None,
            Some(Piece::AnyRun) if piece + 1 == pieces.len() => return Ok(true),
            Some(Piece::AnyRun) => {
                resume = Some((piece, at));
                Some(at)
            }
            Some(Piece::AnyOne) => text.get(at).map(|&first| at + char_length(first)),
            Some(Piece::Dangling) if at < text.len() || is_behind_run(&pieces[..piece]) => {
                let message = "LIKE pattern must not end with escape character";
                return Err(SqlError::new(state::INVALID_ESCAPE_SEQUENCE, message));
            }
            Some(Piece::Dangling) => None,
            Some(Piece::Literal(bytes)) => {
                meter.tick(bytes.len() / 16)?;
                text[at..].starts_with(bytes).then(|| at + bytes.len())
            }
        };
        meter.tick(4)?;
        match (advanced, resume) {
            (Some(next), _) => {
                at = next;
                piece += 1;
            }
            (None, Some((run, from))) => match next_start(pieces.get(run + 1), text, from, &mut meter)? {
                Some(start) => {
                    resume = Some((run, start));
                    at = start;
                    piece = run + 1;
                }
                None => return Ok(false),
            },
            (None, None) => return Ok(false),
        }
    }
}

/// Nothing but `_` stands between a `%` and the end.
fn is_behind_run(pieces: &[Piece]) -> bool {
    let before = pieces.iter().rev().find(|piece| **piece != Piece::AnyOne);
    before == Some(&Piece::AnyRun)
}

/// The next place behind `from` where the piece after a `%` can begin.
fn next_start(
    piece: Option<&Piece>,
    text: &[u8],
    from: usize,
    meter: &mut Meter,
) -> SqlResult<Option<usize>> {
    let Some(&first) = text.get(from) else {
        return Ok(None);
    };
    let start = (from + char_length(first)).min(text.len());
    let Some(Piece::Literal(bytes)) = piece else {
        return Ok(Some(start));
    };
    let found = work::find(&text[start..], bytes)?;
    meter.tick(found.unwrap_or(0).min(work::GRAIN_BYTES))?;
    Ok(found.map(|offset| start + offset))
}

/// One-shot `text LIKE pattern`.
pub fn like(text: &str, pattern: &str, escape: Escape) -> SqlResult<bool> {
    LikePattern::new(pattern, escape)?.matches(text)
}

/// One-shot `text ILIKE pattern`.
pub fn ilike(text: &str, pattern: &str, escape: Escape) -> SqlResult<bool> {
    LikePattern::new_case_insensitive(pattern, escape)?.matches(text)
}

/// The regular expression a `SIMILAR TO` pattern means: anchored, `%` and `_` translated, `. ^ $` taken literally.
///
/// Two `escape"` mark the part that SUBSTRING wants: it becomes the only group, takes as much as it can, and leaves
/// as little as can be to what stands before it.
pub fn similar_to_regex(pattern: &str, escape: Escape) -> SqlResult<String> {
    let mut out = String::from("^(?:");
    let mut marks = 0;
    let mut bracket = Bracket::default();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape.0 {
            // An escape character that ends the pattern escapes nothing.
            match chars.next() {
                Some('"') if bracket.depth == 0 => {
                    out.push_str(match marks {
                        0 => "){1,1}?(",
                        1 => "){1,1}(?:",
                        _ => {
                            let message = "SQL regular expression may not contain more than two escape-double-quote separators";
                            return Err(SqlError::new(state::INVALID_USE_OF_ESCAPE_CHARACTER, message));
                        }
                    });
                    marks += 1;
                }
                Some(escaped) => {
                    out.extend(['\\', escaped]);
                    bracket.begun = true;
                }
                None => {}
            }
            continue;
        }
        if bracket.depth > 0 {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            bracket.step(c);
            continue;
        }
        match c {
            '[' => {
                out.push(c);
                bracket = Bracket {
                    depth: 1,
                    ..Bracket::default()
                };
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// How far a bracket expression was read, to know its end.
#[derive(Default)]
struct Bracket {
    depth: usize,
    negated: bool,
    /// A member was read: a `]` ends the expression now.
    begun: bool,
}

impl Bracket {
    fn step(&mut self, c: char) {
        match c {
            ']' if self.begun => self.depth -= 1,
            '[' => {
                self.depth += 1;
                self.begun = true;
            }
            '^' if !self.begun && !self.negated => self.negated = true,
            _ => self.begun = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_like_sql() {
        let cases = [
            ("hawkeye", "h%", true),
            ("hawkeye", "H%", false),
            ("hawkeye", "indio%", false),
            ("hawkeye", "h%eye", true),
            ("indio", "_ndio", true),
            ("indio", "in__o", true),
            ("indio", "in_o", false),
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("\u{e9}t\u{e9}", "_t_", true),
            ("abcabd", "%ab_%d", true),
            ("aaab", "%aab", true),
            ("aaabx", "%aab", false),
            ("be_r", "b_%r", true),
        ];
        for (text, pattern, expect) in cases {
            assert_eq!(
                like(text, pattern, Escape::default()).unwrap(),
                expect,
                "{text} {pattern}"
            );
        }
        assert!(ilike("HawkEye", "h%EYE", Escape::default()).unwrap());
        assert!(like("a%", "a#%", Escape(Some('#'))).unwrap());
        assert!(like("a\\b", "a\\b", Escape(None)).unwrap());
    }

    #[test]
    fn refuses_dangling_escapes() {
        // As in PostgreSQL, where a comparison gets as far as the end of the pattern.
        assert!(!like("abc", "abc\\", Escape::default()).unwrap());
        let error = like("abcd", "abc\\", Escape::default()).unwrap_err();
        assert_eq!(error.message(), "LIKE pattern must not end with escape character");
        assert!(Escape::parse("ab").is_err());
    }

    #[test]
    fn gives_index_prefixes() {
        let pattern = LikePattern::new("a\\_b%c", Escape::default()).unwrap();
        assert_eq!(pattern.literal_prefix(), b"a_b");
        assert!(!pattern.is_exact());
        assert!(LikePattern::new("abc", Escape::default()).unwrap().is_exact());
    }

    #[test]
    fn translates_similar_to() {
        let regex = |pattern| similar_to_regex(pattern, Escape::default()).unwrap();
        assert_eq!(regex("%(b|d)%"), "^(?:.*(?:b|d).*)$");
        assert_eq!(regex("a.c[.^]_"), "^(?:a\\.c[.^].)$");
    }

    /// Every pattern over a small alphabet agrees with the plain recursive definition.
    #[test]
    fn agrees_with_the_definition() {
        fn oracle(text: &[u8], pattern: &[u8]) -> bool {
            match pattern.first() {
                None => text.is_empty(),
                Some(b'%') => (0..=text.len()).any(|skip| oracle(&text[skip..], &pattern[1..])),
                Some(b'_') => !text.is_empty() && oracle(&text[1..], &pattern[1..]),
                Some(c) => text.first() == Some(c) && oracle(&text[1..], &pattern[1..]),
            }
        }
        let words = |alphabet: &[char], length: usize| {
            (0..alphabet.len().pow(length as u32))
                .map(move |mut n| {
                    (0..length)
                        .map(|_| {
                            let c = alphabet[n % alphabet.len()];
                            n /= alphabet.len();
                            c
                        })
                        .collect::<String>()
                })
                .collect::<Vec<_>>()
        };
        for pattern in (0..=4).flat_map(|n| words(&['a', 'b', '%', '_'], n)) {
            for text in (0..=4).flat_map(|n| words(&['a', 'b'], n)) {
                let expect = oracle(text.as_bytes(), pattern.as_bytes());
                assert_eq!(
                    like(&text, &pattern, Escape::default()).unwrap(),
                    expect,
                    "{text} {pattern}"
                );
            }
        }
    }
}
