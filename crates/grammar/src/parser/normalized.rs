//! A statement without its constants: the text that statistics of statements show, and a number that all statements share
//! which differ in their constants, spaces, comments and capitals alone.
//!
//! The grammar says what a constant is, so `numeric(10, 2)`, `ORDER BY 1` and `IS NULL` keep their words. Constants become
//! `$n` in the order of the text, numbered behind the statement's own parameters.
//! Leaves out: what names mean (`executor/src/plans/identity.rs` adds the relations).

use crate::lexer::{Lexer, Token, TokenKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalized {
    pub text: String,
    /// Never of two statements with different tokens, but for collisions of 64 bits.
    pub fingerprint: u64,
}

/// Of a query or a statement that writes rows, or of the PREPARE of one. None: the grammar, or memory, refuses it.
pub fn normalized(statement: &str) -> Option<Normalized> {
    let (preparation, query) = statement.split_at(prepared_at(statement));
    let mut found = of_query(query)?;
    found.text.insert_str(0, preparation);
    Some(found)
}

/// Where the statement begins that a PREPARE prepares; 0: it is none.
fn prepared_at(text: &str) -> usize {
    let mut lexer = Lexer::new(text);
    let mut first = true;
    while let Some(Ok(token)) = lexer.next_token() {
        let is = |word: &str| token.text(text).eq_ignore_ascii_case(word);
        if first && !is("prepare") {
            return 0;
        }
        if token.kind == TokenKind::Identifier && is("as") {
            return token.end;
        }
        first = false;
    }
    0
}

fn of_query(statement: &str) -> Option<Normalized> {
    let own_parameters = highest_parameter(statement);
    let numbered = pg_raw_parse::normalize::normalize(statement).ok()?;
    let mut text = String::with_capacity(numbered.len());
    let mut hash = Fnv::new();
    // A statement with `$1` is another than one with a constant in its place.
    hash.write(&own_parameters.to_le_bytes());
    let mut constants = own_parameters;
    let mut copied = 0;
    let mut lexer = Lexer::new(&numbered);
    while let Some(token) = lexer.next_token() {
        let token = token.ok()?;
        let written = token.text(&numbered);
        match token.kind {
            // The grammar's walk does not meet constants in the order of the text.
            TokenKind::Parameter if parameter_number(token, &numbered) > own_parameters => {
                constants += 1;
                text.push_str(&numbered[copied..token.start]);
                text.push_str(&format!("${constants}"));
                copied = token.end;
                hash.write(b"$");
            }
            TokenKind::Identifier => hash.write(written.to_lowercase().as_bytes()),
            _ => hash.write(written.as_bytes()),
        }
        // No token holds a zero byte.
        hash.write(&[0]);
    }
    text.push_str(&numbered[copied..]);
    Some(Normalized {
        text,
        fingerprint: hash.0,
    })
}

/// Of any other statement, which is shown as it is written.
pub fn verbatim(statement: &str) -> Normalized {
    let mut hash = Fnv::new();
    hash.write(statement.as_bytes());
    Normalized {
        text: statement.to_owned(),
        fingerprint: hash.0,
    }
}

/// The statement that an EXPLAIN explains; any other text as it is.
pub fn explained(text: &str) -> &str {
    let mut lexer = Lexer::new(text);
    let mut depth = 0;
    let mut first = true;
    while let Some(Ok(token)) = lexer.next_token() {
        let word = token.text(text);
        let is = |expected: &str| word.eq_ignore_ascii_case(expected);
        match token.kind {
            TokenKind::Identifier if first && is("explain") => {}
            _ if first => return text,
            TokenKind::Open if depth > 0 || is_option_list(&lexer, text) => depth += 1,
            TokenKind::Close => depth -= 1,
            _ if depth > 0 => {}
            TokenKind::Identifier if is("analyze") || is("analyse") || is("verbose") => {}
            _ => return &text[token.start..],
        }
        first = false;
    }
    text
}

/// Options stand in parentheses, and so may a query.
fn is_option_list(behind: &Lexer<'_>, text: &str) -> bool {
    let mut ahead = *behind;
    let Some(Ok(next)) = ahead.next_token() else {
        return false;
    };
    let word = next.text(text);
    let opens_query = ["select", "with", "values", "table"];
    next.kind == TokenKind::Identifier
        && !opens_query
            .iter()
            .any(|opening| word.eq_ignore_ascii_case(opening))
}

fn parameter_number(token: Token, text: &str) -> u32 {
    token.text(text)[1..].parse().unwrap_or(0)
}

/// The highest `$n` that the text holds; 0: none.
fn highest_parameter(text: &str) -> u32 {
    let mut highest = 0;
    let mut lexer = Lexer::new(text);
    while let Some(Ok(token)) = lexer.next_token() {
        if token.kind == TokenKind::Parameter {
            highest = highest.max(parameter_number(token, text));
        }
    }
    highest
}

/// FNV-1a of 64 bits: the same in every process, so that numbers of statements can be compared between servers.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(statement: &str) -> String {
        normalized(statement).unwrap().text
    }

    #[test]
    fn constants_become_parameters_in_the_order_of_the_text() {
        for (statement, expected) in [
            ("select 1, 'a', null, true", "select $1, $2, $3, $4"),
            ("SELECT * FROM t WHERE a = -5", "SELECT * FROM t WHERE a = $1"),
            (
                "select * from t where a = $1 and b = 3",
                "select * from t where a = $1 and b = $2",
            ),
            (
                "select a from t order by 1 limit 5 offset 7",
                "select a from t order by 1 limit $1 offset $2",
            ),
            (
                "select a::numeric(10, 2) from t group by 1",
                "select a::numeric(10, 2) from t group by 1",
            ),
            (
                "with x as (select 1) select 2 from x",
                "with x as (select $1) select $2 from x",
            ),
            (
                "insert into t values (1, 'x'), (2, 'y')",
                "insert into t values ($1, $2), ($3, $4)",
            ),
            (
                "select a from t where b is null and c in (1, 2)",
                "select a from t where b is null and c in ($1, $2)",
            ),
            (
                "update t set a = a + 1 /* why */ where b = 'x''y'",
                "update t set a = a + $1 /* why */ where b = $2",
            ),
            (
                "prepare p (int) as select $1, 5",
                "prepare p (int) as select $1, $2",
            ),
            (
                "select interval '1 day', e'\\n', $$x$$",
                "select interval $1, $2, $3",
            ),
        ] {
            assert_eq!(text(statement), expected);
        }
    }

    #[test]
    fn one_fingerprint_for_all_constants() {
        let of = |statement: &str| normalized(statement).unwrap().fingerprint;
        let one = of("select a from t where b = 1");
        assert_eq!(one, of("SELECT a\n  FROM T -- all\n WHERE b = 'two'"));
        assert_ne!(one, of("select a from t where b = $1"));
        assert_ne!(one, of("select a from \"T\" where b = 1"));
        assert_ne!(one, of("select a from t where c = 1"));
        assert_ne!(of("select a from t order by 1"), of("select a from t order by 2"));
    }

    #[test]
    fn what_is_explained() {
        for (text, expected) in [
            ("explain select 1", "select 1"),
            ("EXPLAIN ANALYZE VERBOSE update t set a = 1", "update t set a = 1"),
            ("explain (verbose, costs off) select 1", "select 1"),
            ("explain (select 1)", "(select 1)"),
            ("select 1", "select 1"),
        ] {
            assert_eq!(explained(text), expected);
        }
    }
}
