//! SQL of systems that have no wire here and are reached through ODBC: what Oracle and Db2 say differently.
//!
//! The laboratory's statements are generic SQL. What is not is translated here, word by word outside of quotes, and nowhere else;
//! anything else goes as it is, and the server judges it. The words of both systems are kept in golden files beside the workloads
//! (`mote_workload::tpcc`), since neither server stands beside every build.
//!
//! Read in this order: this file (what both need), `oracle`, `db2`.

pub mod db2;
pub mod oracle;

use super::error::ServerError;

/// A whole statement in pieces that, put together, are the statement: words, quoted texts, runs of spaces, single characters.
fn pieces(sql: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let length = match first {
            '\'' | '"' => quoted_length(rest, first),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c if c.is_whitespace() => rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// With both quotes. A doubled quote is two texts in a row, which changes nothing when they are put together again.
fn quoted_length(text: &str, quote: char) -> usize {
    text[1..].find(quote).map_or(text.len(), |end| end + 2)
}

fn is(piece: &str, word: &str) -> bool {
    piece.eq_ignore_ascii_case(word)
}

fn is_space(piece: &str) -> bool {
    piece.starts_with(char::is_whitespace)
}

/// The places of pieces that are no spaces.
fn words(pieces: &[&str]) -> Vec<usize> {
    (0..pieces.len()).filter(|&at| !is_space(pieces[at])).collect()
}

/// `LIMIT 5` as the standard has it.
fn fetch_first(pieces: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = pieces.iter().map(|piece| piece.to_string()).collect();
    let places = words(pieces);
    for pair in places.windows(2) {
        if is(pieces[pair[0]], "LIMIT") {
            out[pair[0]] = "FETCH FIRST".into();
            out[pair[1]] = format!("{} ROWS ONLY", pieces[pair[1]]);
        }
    }
    out
}

/// `(a IS NULL) <> (b IS NULL)`: a predicate is no value in these systems.
fn predicates_as_values(sql: &str) -> String {
    let pieces = pieces(sql);
    let places = words(&pieces);
    let mut out: Vec<String> = pieces.iter().map(|piece| piece.to_string()).collect();
    for at in 0..places.len().saturating_sub(4) {
        let word = |offset: usize| pieces[places[at + offset]];
        let predicate = word(0) == "(" && is(word(2), "IS") && is(word(3), "NULL") && word(4) == ")";
        let before = at >= 2 && pieces[places[at - 2]] == "<" && pieces[places[at - 1]] == ">";
        let after = at + 6 < places.len() && word(5) == "<" && word(6) == ">";
        if predicate && (before || after) {
            out[places[at]] = "CASE WHEN ".into();
            out[places[at + 4]] = " THEN 1 ELSE 0 END".into();
        }
    }
    out.concat()
}

/// `CREATE TABLE name (..)` taken apart: what stands before the columns, and the columns and constraints.
pub fn create_table(sql: &str) -> Option<(&str, Vec<&str>)> {
    let open = sql.find('(')?;
    let close = sql.rfind(')')?;
    let body = sql.get(open + 1..close)?;
    let (mut items, mut depth, mut start) = (Vec::new(), 0u32, 0);
    for (at, letter) in body.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(body[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(body[start..].trim());
    Some((sql[..open].trim_end(), items))
}

/// A text as a literal of SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn error(severity: &str, sqlstate: &str, message: String) -> ServerError {
    ServerError {
        severity: severity.into(),
        sqlstate: sqlstate.into(),
        message,
        detail: None,
        hint: None,
    }
}

/// What a server has said under its own number, under the code that PostgreSQL has for it, if there is one.
fn known(states: &[(i32, &str)], number: i32, message: &str) -> Option<ServerError> {
    let (_, state) = states.iter().find(|(known, _)| *known == number)?;
    let severity = match state.starts_with("57P") || state.starts_with("08") || state.starts_with("28") {
        true => "FATAL",
        false => "ERROR",
    };
    Some(error(severity, state, format!("{message} [{number}]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_statement() {
        let sql = "SELECT a AS \"x y\", 'it''s $1' FROM t WHERE a<>$1 LIMIT 5";
        assert_eq!(pieces(sql).concat(), sql);
        assert!(pieces(sql).contains(&"$1") && pieces(sql).contains(&"\"x y\""));
        assert_eq!(pieces("'open"), ["'open"]);
        let limited = "SELECT 1 FROM t LIMIT 5";
        assert_eq!(
            fetch_first(&pieces(limited)).concat(),
            "SELECT 1 FROM t FETCH FIRST 5 ROWS ONLY"
        );
    }

    #[test]
    fn predicates_become_values_where_they_are_compared() {
        assert_eq!(
            predicates_as_values("SELECT 1 FROM t WHERE (a IS NULL) <> (b IS NULL)"),
            "SELECT 1 FROM t WHERE CASE WHEN a IS NULL THEN 1 ELSE 0 END <> CASE WHEN b IS NULL THEN 1 ELSE 0 END"
        );
        let plain = "SELECT 1 FROM t WHERE (a IS NULL) AND b <> 1";
        assert_eq!(predicates_as_values(plain), plain);
    }

    #[test]
    fn tables_are_taken_apart() {
        let (head, items) =
            create_table("CREATE TABLE t (a decimal(12,2), PRIMARY KEY (a, b))").expect("one");
        assert_eq!(head, "CREATE TABLE t");
        assert_eq!(items, ["a decimal(12,2)", "PRIMARY KEY (a, b)"]);
        assert!(create_table("CREATE TABLE t").is_none());
        assert!(create_table(")(").is_none());
    }
}
