//! A statement's words: enough of SQL's scanner to tell names, literals and psql's variables apart.

#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// An identifier or keyword, in lower case unless it was quoted.
    Name(String),
    /// What a quoted or dollar-quoted literal says.
    Literal(String),
    /// `:name`, `:'name'` and `:"name"`.
    Variable(String),
    Symbol(char),
    /// `::`.
    Cast,
}

impl Word {
    pub fn is(&self, name: &str) -> bool {
        matches!(self, Word::Name(word) if word == name)
    }

    pub fn symbol(&self, symbol: char) -> bool {
        matches!(self, Word::Symbol(found) if *found == symbol)
    }
}

pub fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (word, length) = word(rest, first);
        words.extend(word);
        rest = &rest[length..];
    }
    words
}

/// The first word, if it is one, and how long it is.
fn word(rest: &str, first: char) -> (Option<Word>, usize) {
    let one = first.len_utf8();
    if first.is_whitespace() {
        return (None, one);
    }
    if rest.starts_with("--") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (None, rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if rest.starts_with("::") {
        return (Some(Word::Cast), 2);
    }
    if first == ':' {
        return variable(rest);
    }
    if first == '"' {
        let (text, length) = quoted(rest, '"', false);
        return (Some(Word::Name(text)), length);
    }
    if first == '\'' {
        let (text, length) = quoted(rest, '\'', false);
        return (Some(Word::Literal(text)), length);
    }
    if matches!(first, 'e' | 'E') && rest[1..].starts_with('\'') {
        let (text, length) = quoted(&rest[1..], '\'', true);
        return (Some(Word::Literal(text)), length + 1);
    }
    if first == '$'
        && let Some((text, length)) = dollar_quoted(rest)
    {
        return (Some(Word::Literal(text)), length);
    }
    if first.is_alphabetic() || first == '_' {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
        let end = end.unwrap_or(rest.len());
        return (Some(Word::Name(rest[..end].to_lowercase())), end);
    }
    if first.is_ascii_digit() {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        return (None, end.unwrap_or(rest.len()));
    }
    (Some(Word::Symbol(first)), one)
}

fn variable(rest: &str) -> (Option<Word>, usize) {
    let after = &rest[1..];
    let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let name = &after[quote.map_or(0, char::len_utf8)..];
    let length = name.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    let length = length.unwrap_or(name.len());
    let closed = quote.is_none_or(|quote| name[length..].starts_with(quote));
    if length == 0 || !closed || name.starts_with(|c: char| c.is_ascii_digit()) {
        return (Some(Word::Symbol(':')), 1);
    }
    let quotes = if quote.is_some() { 2 } else { 0 };
    (
        Some(Word::Variable(name[..length].to_lowercase())),
        1 + quotes + length,
    )
}

/// What stands between quotes, a doubled quote counting as one; and the length with its quotes.
fn quoted(rest: &str, quote: char, escapes: bool) -> (String, usize) {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            if chars.next_if(|(_, next)| *next == quote).is_none() {
                return (text, at + 1);
            }
        } else if escapes && c == '\\' {
            text.extend(chars.next().map(|(_, escaped)| escaped));
            continue;
        }
        text.push(c);
    }
    (text, rest.len())
}

fn dollar_quoted(rest: &str) -> Option<(String, usize)> {
    let tag = rest[1..].find('$')? + 2;
    let (opening, body) = rest.split_at(tag);
    let inner = &opening[1..tag - 1];
    let named = !inner.starts_with(|c: char| c.is_ascii_digit())
        && inner.chars().all(|c| c.is_alphanumeric() || c == '_');
    let end = body.find(opening).filter(|_| named)?;
    Some((body[..end].to_string(), tag + end + tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Word {
        Word::Name(text.to_string())
    }

    #[test]
    fn names_literals_and_variables_are_told_apart() {
        let literal = |text: &str| Word::Literal(text.to_string());
        assert_eq!(
            words("SELECT \"A\"\"b\", 'it''s' /* x */ FROM T -- t\n"),
            [
                name("select"),
                name("A\"b"),
                Word::Symbol(','),
                literal("it's"),
                name("from"),
                name("t")
            ]
        );
        assert_eq!(words("$f$ a $$ b $f$"), [literal(" a $$ b ")]);
        assert_eq!(words("e'\\'a'"), [literal("'a")]);
        assert_eq!(
            words(":x :'y'::int a[1:2]"),
            [
                Word::Variable("x".into()),
                Word::Variable("y".into()),
                Word::Cast,
                name("int"),
                name("a"),
                Word::Symbol('['),
                Word::Symbol(':'),
                Word::Symbol(']')
            ]
        );
        assert_eq!(words("$1 'open"), [Word::Symbol('$'), literal("open")]);
    }
}
