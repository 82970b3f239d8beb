//! From text to statement tree, by PostgreSQL 18's own grammar.
//!
//! Reading order: this file (entry, guards, errors), `convert` (the walker's state, names, types, shared leaves), then
//! by statement class `expr`, `select`, `dml`, `ddl`, `alter_table`, `object`, `publication`, `utility`; `precision`, what is told of
//! types; last `normalized`, a text without its constants. The grammar's nodes are seen in this folder and nowhere else.
//!
//! Invariants: no field of a node is dropped in silence: what the tree cannot hold is refused with `0A000` by the name
//! of its clause. The tree is at most `MAX_DEPTH` deep, so later walkers may recurse.
//!
//! The grammar's C code has no stack guard (its tables live on the heap, but see `MAX_NESTING`), and the walker
//! recurses: call `parse` on a stack of at least `PARSE_STACK_BYTES`.
//!
//! Leaves out: meaning; caching of parsed statements.

mod alter_table;
mod cast;
mod convert;
mod ddl;
mod dml;
mod expr;
pub mod normalized;
mod object;
mod precision;
mod publication;
mod select;
mod utility;

#[cfg(test)]
mod tests;

use std::ffi::CString;

use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult, SqlState};
use pg_raw_parse::raw;

use crate::ast::{ExprKind, Location, ParsedStatement, QueryBody, Statement, TypeName};
use crate::lexer::{Lexer, TokenKind};
use convert::Converter;

/// The least stack that `parse` needs, whatever the text says.
pub const PARSE_STACK_BYTES: usize = 8 << 20;

/// The longest text that is handed to the grammar. Its nodes take some 30 times the text's bytes.
pub const MAX_STATEMENT_BYTES: usize = 64 << 20;

/// The deepest tree: nested expressions, queries and joins together, and the length of operator chains such as
/// `1 + 1 + ..`, which nest to the left. AND and OR chains are flat and do not count.
pub const MAX_DEPTH: u32 = 1000;

/// Operators in a row beyond which the grammar is not even asked.
const MAX_NESTING: usize = MAX_DEPTH as usize;

/// Open parentheses and brackets beyond which it is not asked either. They need not make the tree deep, and the grammar's
/// table holds this many symbols.
const MAX_BRACKETS: usize = 10_000;

/// What a token costs to read, in units of `work`.
const TOKEN_UNITS: usize = 32;

/// Parses a text of any number of statements. Empty statements are left out; a text of comments alone gives none.
pub fn parse(text: &str) -> SqlResult<Vec<ParsedStatement>> {
    check_size(text)?;
    check_nesting(text)?;
    // As in PostgreSQL nothing ends the grammar itself, which takes some 40 ns a byte.
    let parsed = pg_raw_parse::parse(text).map_err(|error| grammar_error(text, &error))?;
    let mut statements = Vec::with_capacity(parsed.len());
    for raw_statement in parsed.iter() {
        let range = statement_range(text, raw_statement.stmt_location, raw_statement.stmt_len);
        let mut converter = Converter::new(text);
        let statement = converter.statement(raw_statement.stmt())?;
        let warnings = converter.into_warnings();
        statements.push(ParsedStatement {
            statement,
            range,
            warnings,
        });
    }
    Ok(statements)
}

/// The name of a type, as it stands behind `::`, from a text of its own. Safe on any stack.
pub fn parse_type(text: &str) -> SqlResult<TypeName> {
    // By way of a cast: the grammar has no entry for a type. The line's end closes a comment.
    const BEFORE: &str = "SELECT CAST(NULL AS ";
    let within = check_type_text(text)?;
    let whole = match within {
        true => format!("{BEFORE}{text}\n)"),
        // A bracket of the text's own would close the cast's. This is wrong anywhere.
        false => format!("{:width$}{text}", "SELECT NULL::", width = BEFORE.len()),
    };
    let parsed = parse(&whole).map_err(|error| of_type_text(error, BEFORE.len(), text));
    if let [
        ParsedStatement {
            statement: Statement::Query(query),
            ..
        },
    ] = parsed?.as_mut_slice()
        && let QueryBody::Select(select) = &mut query.body
        && let [target] = select.targets.as_mut_slice()
        && let ExprKind::Cast { target, .. } = &mut target.value.kind
        && within
    {
        return Ok(target.clone());
    }
    Err(SqlError::new(
        state::SYNTAX_ERROR,
        format!("invalid type name \"{text}\""),
    ))
}

/// Whether all brackets in a type's text are closed, and by those of their own. Refuses what no type is as long as, so that
/// the walker's recursion needs no large stack.
fn check_type_text(text: &str) -> SqlResult<bool> {
    const MAX_TOKENS: usize = 200;
    let mut lexer = Lexer::new(text);
    let (mut open, mut tokens) = (0, 0);
    while let Some(Ok(token)) = lexer.next_token() {
        tokens += 1;
        match token.kind {
            TokenKind::Open => open += 1,
            TokenKind::Close if open == 0 => return Ok(false),
            TokenKind::Close => open -= 1,
            _ => {}
        }
        if tokens > MAX_TOKENS {
            return Err(too_deep());
        }
    }
    Ok(open == 0)
}

/// An error of the grammar in a type's text: its place is one of that text, whose end is the end.
fn of_type_text(error: SqlError, before: usize, text: &str) -> SqlError {
    let position = error.fields().position.unwrap_or(0);
    let position = position.saturating_sub(before as u32);
    if position as usize <= text.chars().count() {
        return error.moved_to(position);
    }
    SqlError::new(error.state(), "syntax error at end of input").at(position)
}

fn check_size(text: &str) -> SqlResult<()> {
    if text.len() > MAX_STATEMENT_BYTES {
        return Err(
            SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "statement is too long").detail(format!(
                "The statement has {} bytes, the limit is {MAX_STATEMENT_BYTES}.",
                text.len()
            )),
        );
    }
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(SqlError::new(
            state::CHARACTER_NOT_IN_REPERTOIRE,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        ));
    }
    Ok(())
}

/// Refuses texts that nest too deep before the grammar builds them. A first sieve: the walker's count decides.
fn check_nesting(text: &str) -> SqlResult<()> {
    if text.len() <= MAX_NESTING {
        return Ok(());
    }
    // Operators since the last separator, one count for each open parenthesis.
    let mut chains: Vec<usize> = vec![0];
    let mut lexer = Lexer::new(text);
    // What the lexer cannot read, the grammar refuses in PostgreSQL's words.
    let mut work = Meter::default();
    while let Some(Ok(token)) = lexer.next_token() {
        work.tick(TOKEN_UNITS)?;
        match token.kind {
            TokenKind::Open => {
                chains.push(0);
                if chains.len() > MAX_BRACKETS {
                    return Err(too_deep());
                }
            }
            TokenKind::Close if chains.len() > 1 => {
                chains.pop();
            }
            TokenKind::Comma | TokenKind::Semicolon => {
                chains.last_mut().into_iter().for_each(|count| *count = 0)
            }
            TokenKind::Operator | TokenKind::Cast => {
                let count = chains.last_mut().expect("the outermost chain is never popped");
                *count += 1;
                if *count > MAX_NESTING {
                    return Err(too_deep());
                }
            }
            TokenKind::Identifier if is_chain_separator(token.text(text)) => {
                chains.last_mut().into_iter().for_each(|count| *count = 0);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Words that end a chain of operators without nesting it.
fn is_chain_separator(word: &str) -> bool {
    [
        "and", "or", "then", "else", "when", "select", "union", "on", "where",
    ]
    .iter()
    .any(|separator| word.eq_ignore_ascii_case(separator))
}

pub(crate) fn too_deep() -> SqlError {
    SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(
        "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the \
         platform's stack depth limit is adequate.",
    )
}

/// The statement's bytes without surrounding space and comments in front.
fn statement_range(text: &str, location: i32, length: i32) -> std::ops::Range<usize> {
    let start = usize::try_from(location).unwrap_or(0).min(text.len());
    let length = usize::try_from(length).unwrap_or(0);
    let end = if length == 0 {
        text.len()
    } else {
        (start + length).min(text.len())
    };
    let body = text.get(start..end).unwrap_or("");
    let first = match Lexer::new(body).next_token() {
        Some(Ok(token)) => token.start,
        _ => body.len() - body.trim_start().len(),
    };
    let body = body[first..].trim_end_matches(|c: char| c.is_ascii_whitespace() || c == ';');
    start + first..start + first + body.len()
}

#[cold]
fn grammar_error(text: &str, error: &pg_raw_parse::Error) -> SqlError {
    let message = error.to_string();
    let message = match error {
        pg_raw_parse::Error::Parse(_) => message.strip_prefix("Invalid statement: ").unwrap_or(&message),
        _ => &message,
    };
    if message.starts_with("memory exhausted") {
        // The grammar's own table of pending symbols is full: nesting that no bracket shows, as in NOT NOT NOT ..
        return too_deep();
    }
    let error = SqlError::new(state_of_message(message), message);
    let error = match hint_of_message(message) {
        Some(hint) => error.hint(hint),
        None => error,
    };
    match is_unsupported_clause(message) {
        // PostgreSQL 15 shows no place here, but for four that the grammar does not tell.
        true => error.at(refused_clause(text, message)),
        false => error.at(error_position(text)),
    }
}

/// "CHECK constraints cannot be marked DEFERRABLE" and its kin.
fn is_unsupported_clause(message: &str) -> bool {
    message.contains(" constraints cannot be marked ")
        || message.ends_with("is only supported for ON DELETE actions")
        || message.ends_with("not yet implemented")
        || message.ends_with("is no longer supported")
        || message.ends_with("are not supported")
        || matches!(
            message,
            "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported"
                | "CREATE SCHEMA IF NOT EXISTS cannot include schema elements"
                | "WITH CHECK OPTION not supported on recursive views"
                | "current database cannot be changed"
                | "dropping an enum value is not implemented"
        )
}

/// Where MATCH PARTIAL, a column list of ON UPDATE, a schema's first element or a recursive view's WITH CHECK OPTION stands that is
/// refused; 0 for what is shown without a place.
fn refused_clause(text: &str, message: &str) -> u32 {
    let clauses: &[&[&str]] = match message {
        "MATCH PARTIAL not yet implemented" => &[&["match", "partial"]],
        message if message.ends_with("is only supported for ON DELETE actions") => &[
            &["on", "update", "set", "null", "("],
            &["on", "update", "set", "default", "("],
        ],
        "CREATE SCHEMA IF NOT EXISTS cannot include schema elements" => &[
            &["create", "table"],
            &["create", "view"],
            &["create", "index"],
            &["create", "unique"],
            &["create", "sequence"],
            &["create", "trigger"],
            &["grant"],
        ],
        "WITH CHECK OPTION not supported on recursive views" => &[
            &["with", "check", "option"],
            &["with", "local", "check", "option"],
            &["with", "cascaded", "check", "option"],
        ],
        _ => return 0,
    };
    let mut lexer = Lexer::new(text);
    let tokens: Vec<_> = std::iter::from_fn(|| lexer.next_token()?.ok()).collect();
    let is_clause = |place: &usize| {
        clauses.iter().any(|words| {
            let tokens = tokens[*place..].iter().map(|token| token.text(text));
            words.len()
                == tokens
                    .clone()
                    .zip(*words)
                    .filter(|(token, word)| token.eq_ignore_ascii_case(word))
                    .count()
                && tokens.len() >= words.len()
        })
    };
    let found = (0..tokens.len()).find(is_clause);
    found.map_or(0, |place| position(text, tokens[place].start as i32))
}

/// The grammar hands out messages without their SQLSTATE: these are the ones that are not 42601.
fn state_of_message(message: &str) -> SqlState {
    const NOT_SYNTAX: &[(&str, SqlState)] = &[
        ("unsafe use of \\' in a string literal", SqlState::new("22P06")),
        ("invalid Unicode escape value", state::SYNTAX_ERROR),
        ("invalid Unicode surrogate pair", state::SYNTAX_ERROR),
        (
            "invalid byte sequence for encoding",
            state::CHARACTER_NOT_IN_REPERTOIRE,
        ),
        ("conversion between", state::FEATURE_NOT_SUPPORTED),
        ("interval precision specified twice", state::SYNTAX_ERROR),
        ("precision for type float must be", state::INVALID_PARAMETER_VALUE),
        ("SELECT FOR UPDATE", state::FEATURE_NOT_SUPPORTED),
        ("too many grouping sets", state::STATEMENT_TOO_COMPLEX),
        ("stack depth limit exceeded", state::STATEMENT_TOO_COMPLEX),
        ("out of memory", state::OUT_OF_MEMORY),
        ("frame starting from", state::WINDOWING_ERROR),
        ("frame start cannot be", state::WINDOWING_ERROR),
        ("frame end cannot be", state::WINDOWING_ERROR),
        ("aggregates cannot", state::FEATURE_NOT_SUPPORTED),
        (
            "an ordered-set aggregate with a VARIADIC",
            state::FEATURE_NOT_SUPPORTED,
        ),
        ("role name \"", state::RESERVED_NAME),
        ("unrecognized row security option", state::SYNTAX_ERROR),
    ];
    if is_unsupported_clause(message) {
        return state::FEATURE_NOT_SUPPORTED;
    }
    let known = NOT_SYNTAX.iter().find(|(prefix, _)| message.starts_with(prefix));
    known.map_or(state::SYNTAX_ERROR, |(_, code)| *code)
}

/// Hints are not handed out either.
fn hint_of_message(message: &str) -> Option<&'static str> {
    match message {
        "invalid Unicode escape" => Some("Unicode escapes must be \\uXXXX or \\UXXXXXXXX."),
        "unsafe use of \\' in a string literal" => {
            Some("Use '' to write quotes in strings. \\' is insecure in client-only encodings.")
        }
        _ => None,
    }
}

/// Asks the grammar once more, by a door that tells where the error is; 0 when it does not.
fn error_position(text: &str) -> u32 {
    let Ok(text) = CString::new(text) else { return 0 };
    // SAFETY: `text` is NUL-terminated and lives until the call returns; the function catches PostgreSQL's errors in C,
    // and the parse fails as it did before, so it never walks a tree.
    let result = unsafe { raw::pg_query_normalize(text.as_ptr()) };
    // SAFETY: `error` is null or points to an error that is freed below and not before.
    let position = unsafe { result.error.as_ref() }.map_or(0, |error| error.cursorpos);
    // SAFETY: `result` came from `pg_query_normalize` and is not used afterwards.
    unsafe { raw::pg_query_free_normalize_result(result) };
    u32::try_from(position).unwrap_or(0)
}

/// A place in the text as the error edge wants it.
pub(crate) fn position(text: &str, location: i32) -> u32 {
    Location(location).position(text)
}
