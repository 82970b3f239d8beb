//! What every reader of texts needs: the error for one that is no value, and what may stand around a value.

use mote_common::SqlError;
use mote_common::error::state;

#[cold]
pub(crate) fn invalid_syntax(type_name: &str, text: &str) -> SqlError {
    SqlError::new(
        state::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {type_name}: \"{text}\""),
    )
}

/// Blanks as C's `isspace` counts them.
pub(crate) fn trim_blanks(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b')
}
