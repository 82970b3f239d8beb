//! Lists of names as text: what options and functions are given.

use super::names::truncate_name;

/// The names of a text with `separator` between them, as PostgreSQL's SplitIdentifierString reads them: each quoted, or not empty
/// and without blanks; then quotes inside of it are its own. Unquoted names are folded to lower case, letters other than
/// ASCII's stay as they are, and all names are cut to the length that a name has. `None`: it is no such list, or empty.
pub fn split_names(text: &str, separator: char) -> Option<Vec<String>> {
    let mut rest = text.trim_matches(is_blank);
    let mut names = Vec::new();
    loop {
        let (name, length) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let end = closing_quote(quoted)?;
                (quoted[..end].replace("\"\"", "\""), end + 2)
            }
            None => {
                let end = rest
                    .find(|c: char| c == separator || is_blank(c))
                    .unwrap_or(rest.len());
                (rest[..end].to_ascii_lowercase(), end)
            }
        };
        if length == 0 {
            return None;
        }
        names.push(truncate_name(&name).to_string());
        rest = rest[length..].trim_start_matches(is_blank);
        match rest.strip_prefix(separator) {
            Some(next) => rest = next.trim_start_matches(is_blank),
            None => return rest.is_empty().then_some(names),
        }
    }
}

/// `scanner_isspace`.
pub fn is_blank(c: char) -> bool {
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
