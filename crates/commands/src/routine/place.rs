//! Where an error in a body is for the client: in the statement that brought the body, if that can be found.
//!
//! PostgreSQL moves the cursor likewise (function_parse_error_transpose, pg_proc.c): it looks for the body's constant
//! in the text of CREATE FUNCTION or DO, and otherwise shows the body as an internal query.

use mote_common::SqlError;
use mote_grammar::lexer::{Lexer, TokenKind};

/// An error of parsing or compiling a body, whose position counts characters of the body.
#[cold]
pub fn in_statement(error: SqlError, function: &str, body: &str, statement: Option<&str>) -> SqlError {
    // An error without a position has its line in the context, or none.
    let Some(position) = error.fields().position else {
        let near = error
            .fields()
            .context
            .clone()
            .unwrap_or_else(|| "near line 1".into());
        return error.replace_context(format!("compilation of PL/pgSQL function \"{function}\" {near}"));
    };
    if let Some(moved) = statement.and_then(|statement| moved(position, body, statement)) {
        return error.moved_to(moved);
    }
    let before: String = body.chars().take(position as usize - 1).collect();
    let line = before.matches('\n').count() + 1;
    // The body becomes the internal query that the position counts in.
    error.within(body).replace_context(format!(
        "compilation of PL/pgSQL function \"{function}\" near line {line}"
    ))
}

/// The position in the statement of a character of the body: None where the body is not the one constant of its text.
fn moved(position: u32, body: &str, statement: &str) -> Option<u32> {
    let mut lexer = Lexer::new(statement);
    let mut found = None;
    // Every constant of the statement is compared with the body, with its quotes undone. E'' strings are not looked
    // at.
    while let Some(Ok(token)) = lexer.next_token() {
        let text = token.text(statement);
        let (start, doubled) = match token.kind {
            TokenKind::String => (1, true),
            TokenKind::SpecialString if text.starts_with('$') => (text[1..].find('$')? + 2, false),
            _ => continue,
        };
        let inner = &text[start..text.len() - start];
        let same = match doubled {
            true => inner.replace("''", "'") == body,
            false => inner == body,
        };
        // Two constants with the same text: which of them is the body cannot be told.
        if same && found.replace((token.start + start, doubled)).is_some() {
            return None;
        }
    }
    let (start, doubled) = found?;
    let before = statement[..start].chars().count() as u32;
    // Each quote in front of the place stands twice in the statement.
    let quotes = match doubled {
        true => body
            .chars()
            .take(position as usize - 1)
            .filter(|&c| c == '\'')
            .count() as u32,
        false => 0,
    };
    Some(before + position + quotes)
}

#[cfg(test)]
mod tests {
    use super::moved;

    #[test]
    fn places_are_found_in_the_statement() {
        assert_eq!(moved(3, "abc", "do $$abc$$"), Some(8));
        assert_eq!(moved(3, "abc", "do $x$abc$x$ -- é"), Some(9));
        assert_eq!(moved(3, "a'c", "do 'a''c'"), Some(8));
        assert_eq!(moved(1, "abc", "do 'abc' || 'abc'"), None);
        assert_eq!(moved(1, "abc", "do 'x'"), None);
    }
}
