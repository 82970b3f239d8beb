//! Names as text: what functions and `reg*` types are given.

use mote_grammar::ast::deparse::identifier;
use mote_types::catalog::split_names;

/// `schema.name`, quoted where needed.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

/// The last two of the names in a text, `schema.name`. What is no list of names (`is_name`) is split at points outside of
/// quotes.
pub fn split_name(text: &str) -> (Option<String>, String) {
    let mut parts = names_of(text).unwrap_or_else(|| split_anyhow(text));
    let name = parts.pop().unwrap_or_default();
    (parts.pop(), name)
}

fn split_anyhow(text: &str) -> Vec<String> {
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
            c => part.push(c.to_ascii_lowercase()),
        }
    }
    parts
}

/// Is it a name, or several with points between them?
pub fn is_name(text: &str) -> bool {
    names_of(text).is_some()
}

/// The names of a text with points between them.
fn names_of(text: &str) -> Option<Vec<String>> {
    split_names(text, '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_what_is_theirs() {
        let long = "n".repeat(70);
        let cut = "n".repeat(63);
        for (text, name) in [
            ("A\"B", "a\"b"),
            ("x\"\"", "x\"\""),
            ("\"A\"\"B\"", "A\"B"),
            (long.as_str(), cut.as_str()),
            (format!("\"{long}\"").as_str(), cut.as_str()),
        ] {
            assert_eq!(split_name(text), (None, name.to_string()), "{text}");
        }
        let (schema, name) = split_name("d . S. \"T.U\"");
        assert_eq!((schema.as_deref(), name.as_str()), (Some("s"), "T.U"));
    }

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
