//! Names as text: what functions and `reg*` types are given.

use mote_grammar::ast::deparse::identifier;

/// `schema.name`, quoted where needed.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

/// Splits `schema.name` at the first point outside of quotes; unquoted parts are folded to lower case.
pub fn split_name(text: &str) -> (Option<String>, String) {
    let mut parts: Vec<String> = vec![String::new()];
    let mut quoted = false;
    let mut characters = text.trim().chars().peekable();
    while let Some(c) = characters.next() {
        let part = parts.last_mut().expect("there is always a part");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c if quoted => part.push(c),
            // Other letters than ASCII's stay as they are.
            c => part.push(c.to_ascii_lowercase()),
        }
    }
    let name = parts.pop().unwrap_or_default();
    (parts.pop(), name)
}

/// Is it a name, or several with points between them, as PostgreSQL's SplitIdentifierString wants it: each quoted, or not
/// empty and without blanks?
pub fn is_name(text: &str) -> bool {
    let mut rest = text.trim_matches(is_blank);
    loop {
        let length = match rest.strip_prefix('"') {
            Some(quoted) => match closing_quote(quoted) {
                Some(end) => end + 2,
                None => return false,
            },
            None => rest.find(|c: char| c == '.' || is_blank(c)).unwrap_or(rest.len()),
        };
        if length == 0 {
            return false;
        }
        rest = rest[length..].trim_start_matches(is_blank);
        match rest.strip_prefix('.') {
            Some(next) => rest = next.trim_start_matches(is_blank),
            None => return rest.is_empty(),
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

/// Where the quote is that ends a name; two in a row stand for one.
fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', Some(b'"')) => at += 2,
            (b'"', _) => return Some(at),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_other_texts() {
        for name in [
            "a",
            " a ",
            "a.b",
            "a . b",
            "\"a b\".c",
            "\"a\"\"b\"",
            "%s",
            "a\u{e9}",
            "a$1.b.c",
            "\"\"",
        ] {
            assert!(is_name(name), "{name}");
        }
        for other in ["", " ", "a b", "a..b", ".a", "a.", "\"a", "%s %1$I %%", "\"a\" b"] {
            assert!(!is_name(other), "{other}");
        }
    }
}
