//! What every match of a pattern begins with: where an index has to look.
//!
//! A prefix may be shorter than it could be, never longer: who reads by it tests the pattern as well.

/// The ways to ask for a beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternKind {
    /// `LIKE`, `\` being its escape character.
    Like,
    /// `~`.
    Regex,
    /// `^@` and `starts_with`: the pattern is the beginning.
    StartsWith,
}

impl PatternKind {
    pub fn operator(self) -> &'static str {
        match self {
            PatternKind::Like => "~~",
            PatternKind::Regex => "~",
            PatternKind::StartsWith => "^@",
        }
    }

    pub fn prefix(self, pattern: &str) -> String {
        match self {
            PatternKind::Like => like_prefix(pattern),
            PatternKind::Regex => regex_prefix(pattern),
            PatternKind::StartsWith => pattern.to_string(),
        }
    }
}

/// What every text begins with that is LIKE the pattern.
pub fn like_prefix(pattern: &str) -> String {
    let mut prefix = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' | '_' => break,
            '\\' => prefix.extend(chars.next()),
            _ => prefix.push(c),
        }
    }
    prefix
}

/// What every text begins with that matches an advanced regular expression: the letters behind `^` that stand for themselves.
/// Options can only be given before it (`(?i)^a`, `***=^a`), so behind a leading `^` the syntax is the usual one.
fn regex_prefix(pattern: &str) -> String {
    let mut prefix = String::new();
    // One of several branches may begin otherwise; where a bar separates branches is not looked into.
    let Some(rest) = pattern.strip_prefix('^').filter(|rest| !rest.contains('|')) else {
        return prefix;
    };
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        let letter = match c {
            '.' | '^' | '$' | '(' | ')' | '[' | ']' | '{' | '}' | '*' | '+' | '?' => break,
            // Letters and digits behind a backslash mean something else.
            '\\' => match chars.next() {
                Some(escaped) if escaped.is_ascii_punctuation() && escaped != '_' => escaped,
                _ => break,
            },
            letter => letter,
        };
        match chars.peek() {
            // It may be there or not.
            Some('*' | '?' | '{') => break,
            _ => prefix.push(letter),
        }
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::are::{Options, Regex};

    #[test]
    fn what_matches_begins_with_the_prefix() {
        for (pattern, prefix) in [
            ("abc%", "abc"),
            ("a_c", "a"),
            ("%c", ""),
            ("a\\%b%", "a%b"),
            ("abc", "abc"),
            ("ab\\", "ab"),
            ("\u{e9}t\u{e9}_", "\u{e9}t\u{e9}"),
        ] {
            assert_eq!(PatternKind::Like.prefix(pattern), prefix, "{pattern}");
        }
        for (pattern, prefix) in [
            ("^abc", "abc"),
            ("abc", ""),
            ("^ab*c", "a"),
            ("^ab+c", "ab"),
            ("^ab{2}", "a"),
            ("^ab?", "a"),
            ("^a\\.b", "a.b"),
            ("^a\\.*b", "a"),
            ("^a\\d", "a"),
            ("^a\\_", "a"),
            ("^a|^b", ""),
            ("^a(b|c)", ""),
            ("(?i)^ab", ""),
            ("***=^ab", ""),
            ("^[ab]c", ""),
            ("^ab$", "ab"),
            ("^^ab", ""),
            ("^\u{e9}t.", "\u{e9}t"),
        ] {
            assert_eq!(PatternKind::Regex.prefix(pattern), prefix, "{pattern}");
        }
        assert_eq!(PatternKind::StartsWith.prefix("a%^"), "a%^");
    }

    /// Whatever matches one of many short patterns begins as it should.
    #[test]
    fn no_match_of_a_regular_expression_begins_otherwise() {
        const PIECES: [&str; 14] = [
            "^", "a", "b", ".", "*", "+", "?", "{2}", "\\.", "\\b", "[ab]", "(b)", "|", "$",
        ];
        let texts: Vec<String> = (0..4usize.pow(5))
            .map(|number| {
                let letter = |at: u32| ['a', 'b', '.', 'x'][number / 4usize.pow(at) % 4];
                (0..5).map(letter).collect()
            })
            .collect();
        let count = PIECES.len();
        for number in 0..count.pow(3) {
            let piece = |at: u32| PIECES[number / count.pow(at) % count];
            let pattern = format!("^{}{}{}", piece(0), piece(1), piece(2));
            let prefix = PatternKind::Regex.prefix(&pattern);
            let Ok(regex) = Regex::new(&pattern, Options::default()) else {
                continue;
            };
            if prefix.is_empty() {
                continue;
            }
            for text in texts.iter().filter(|text| !text.starts_with(&prefix)) {
                assert!(!regex.is_match(text).expect("it is short"), "{pattern} {text}");
            }
        }
    }
}
