//! Oracle Database from 12c on. Never run against a live server here: the words are those of its SQL Language Reference, and the golden
//! files keep them.
//!
//! What no translation can mend: an empty text is NULL there, and a statement of DDL commits.

use std::borrow::Cow;

use super::{create_table, fetch_first, is, is_space, known, literal, pieces, predicates_as_values, words};
use crate::error::ServerError;

/// Statements that bring a new session into the state that the driver promises. The error names what has no counterpart.
pub fn settings(wanted: &[(&'static str, String)]) -> Result<Vec<String>, String> {
    let mut statements = vec![
        "ALTER SESSION SET TIME_ZONE = 'UTC'".to_string(),
        // A load writes times as texts.
        "ALTER SESSION SET NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF'".to_string(),
        "ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,'".to_string(),
    ];
    for (name, value) in wanted {
        let level = match (*name, value.to_ascii_lowercase().as_str()) {
            ("default_transaction_isolation", "read committed") => "READ COMMITTED",
            ("default_transaction_isolation", "serializable") => "SERIALIZABLE",
            ("default_transaction_isolation", level) => {
                return Err(format!("Oracle has no isolation level \"{level}\""));
            }
            (name, _) => return Err(format!("the setting \"{name}\" has no counterpart in Oracle")),
        };
        statements.push(format!("ALTER SESSION SET ISOLATION_LEVEL = {level}"));
    }
    Ok(statements)
}

/// A whole statement; an error says what there is no counterpart of.
pub fn translate(sql: &str) -> Result<Cow<'_, str>, String> {
    if let Some(rest) = sql.strip_prefix("CREATE TABLE IF NOT EXISTS ") {
        let table = table(&format!("CREATE TABLE {rest}"));
        return Ok(Cow::Owned(unless(&table, -955)));
    }
    if sql.starts_with("CREATE TABLE ") {
        return Ok(Cow::Owned(table(sql)));
    }
    if let Some(name) = sql.strip_prefix("DROP TABLE IF EXISTS ") {
        let drop = format!("DROP TABLE {} CASCADE CONSTRAINTS PURGE", name.trim());
        return Ok(Cow::Owned(unless(&drop, -942)));
    }
    if let Some(tables) = sql.strip_prefix("VACUUM ANALYZE") {
        return Ok(Cow::Owned(match tables.trim() {
            "" => "BEGIN DBMS_STATS.GATHER_SCHEMA_STATS(USER); END;".into(),
            table => format!(
                "BEGIN DBMS_STATS.GATHER_TABLE_STATS(USER, {}); END;",
                literal(&table.to_ascii_uppercase())
            ),
        }));
    }
    if sql.starts_with("SHOW ") {
        return Err(format!("{sql}: Oracle does not tell a session its settings"));
    }
    if sql.starts_with("SELECT ") {
        return query(sql).map(Cow::Owned);
    }
    Ok(Cow::Borrowed(sql))
}

/// Done unless the server answers that there is nothing to do, under this number.
fn unless(sql: &str, number: i32) -> String {
    format!(
        "BEGIN EXECUTE IMMEDIATE {}; EXCEPTION WHEN OTHERS THEN IF SQLCODE <> {number} THEN RAISE; END IF; END;",
        literal(sql)
    )
}

fn table(sql: &str) -> String {
    let Some((head, items)) = create_table(sql) else {
        return sql.to_string();
    };
    let columns: Vec<String> = items.iter().map(|item| column(item)).collect();
    format!("{head} ({})", columns.join(", "))
}

/// The second word of a column is its type.
fn column(item: &str) -> String {
    let Some((name, rest)) = item.split_once(' ') else {
        return item.to_string();
    };
    let types = [
        ("varchar", "varchar2"),
        ("bigint", "number(19)"),
        ("smallint", "number(5)"),
        ("integer", "number(10)"),
        ("double precision", "binary_double"),
        ("text", "clob"),
    ];
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let known = types
        .iter()
        .find_map(|(from, to)| Some((rest.strip_prefix(from).filter(|rest| ends(rest))?, to)));
    match known {
        Some((rest, to)) => format!("{name} {to}{rest}"),
        None => item.to_string(),
    }
}

/// No AS before the name of a table, no query without a table, no first rows that are locked.
fn query(sql: &str) -> Result<String, String> {
    let plain = predicates_as_values(sql);
    let pieces = pieces(&plain);
    let places = words(&pieces);
    let says = |word: &str| places.iter().any(|&at| is(pieces[at], word));
    let locks = places
        .windows(2)
        .any(|pair| is(pieces[pair[0]], "FOR") && is(pieces[pair[1]], "UPDATE"));
    if locks && says("LIMIT") {
        return Err(format!("{sql}: Oracle does not lock the first rows of a query"));
    }
    let mut out = fetch_first(&pieces);
    for at in names_after_as(&pieces, &places) {
        out[at].clear();
        if pieces.get(at + 1).is_some_and(|piece| is_space(piece)) {
            out[at + 1].clear();
        }
    }
    let mut text = out.concat();
    if !says("FROM") {
        text.push_str(" FROM dual");
    }
    Ok(text)
}

/// The places of AS, but for those of CAST and of WITH.
fn names_after_as(pieces: &[&str], places: &[usize]) -> Vec<usize> {
    let (mut found, mut casts) = (Vec::new(), Vec::new());
    for (number, &at) in places.iter().enumerate() {
        let before = number.checked_sub(1).map_or("", |before| pieces[places[before]]);
        let after = places.get(number + 1).map_or("", |&after| pieces[after]);
        match pieces[at] {
            "(" => casts.push(is(before, "CAST")),
            ")" => {
                casts.pop();
            }
            word if is(word, "AS") && after != "(" && casts.last() != Some(&true) => found.push(at),
            _ => {}
        }
    }
    found
}

/// Oracle's numbers, which its driver hands over without the letters ORA.
const STATES: [(i32, &str); 26] = [
    (1, "23505"),     // unique constraint violated
    (54, "55P03"),    // resource busy, NOWAIT
    (60, "40P01"),    // deadlock
    (904, "42703"),   // unknown column
    (942, "42P01"),   // unknown table
    (955, "42P07"),   // the name is in use
    (1013, "57014"),  // cancelled
    (1017, "28P01"),  // wrong password
    (1033, "57P03"),  // starting or stopping
    (1034, "57P03"),  // not available
    (1089, "57P01"),  // shutting down
    (1092, "57P01"),  // the instance has ended
    (1400, "23502"),  // NULL where none may be
    (1438, "22003"),  // a number out of its column's range
    (1476, "22012"),  // division by zero
    (2290, "23514"),  // a CHECK that fails
    (2291, "23503"),  // a reference to no row
    (2292, "23503"),  // a row that others refer to
    (3113, "08006"),  // end of the channel
    (3114, "08006"),  // not connected
    (3135, "08006"),  // the connection is lost
    (8177, "40001"),  // cannot serialize
    (12170, "08006"), // connecting took too long
    (12541, "08006"), // nobody listens
    (12899, "22001"), // a text longer than its column
    (30006, "55P03"), // resource busy, WAIT
];

/// What the server has said under this number; `None` where PostgreSQL has no code of its own for it.
pub fn state_of(number: i32, message: &str) -> Option<ServerError> {
    known(&STATES, number.checked_abs()?, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_become_those_of_oracle() {
        for (sql, oracle) in [
            ("SELECT 1", "SELECT 1 FROM dual"),
            ("SELECT a AS b FROM t AS u", "SELECT a b FROM t u"),
            (
                "SELECT CAST(a AS integer) AS b FROM t",
                "SELECT CAST(a AS integer) b FROM t",
            ),
            (
                "SELECT a FROM t LIMIT 1",
                "SELECT a FROM t FETCH FIRST 1 ROWS ONLY",
            ),
            (
                "SELECT ' AS ' FROM t FOR UPDATE",
                "SELECT ' AS ' FROM t FOR UPDATE",
            ),
            ("UPDATE t SET a = 1", "UPDATE t SET a = 1"),
            (
                "CREATE TABLE t (a varchar(3) PRIMARY KEY, b bigint NOT NULL, varchar_2 timestamp)",
                "CREATE TABLE t (a varchar2(3) PRIMARY KEY, b number(19) NOT NULL, varchar_2 timestamp)",
            ),
            (
                "DROP TABLE IF EXISTS t",
                "BEGIN EXECUTE IMMEDIATE 'DROP TABLE t CASCADE CONSTRAINTS PURGE'; EXCEPTION WHEN OTHERS THEN \
                 IF SQLCODE <> -942 THEN RAISE; END IF; END;",
            ),
        ] {
            assert_eq!(translate(sql).expect("known"), oracle);
        }
        assert!(translate("SELECT a FROM t LIMIT 1 FOR UPDATE").is_err());
        assert!(translate("SHOW default_transaction_isolation").is_err());
    }

    #[test]
    fn sessions_begin_alike_or_not_at_all() {
        let level = |level: &str| settings(&[("default_transaction_isolation", level.to_string())]);
        let statements = level("serializable").expect("known");
        assert_eq!(statements[3], "ALTER SESSION SET ISOLATION_LEVEL = SERIALIZABLE");
        assert!(level("repeatable read").is_err());
        assert!(settings(&[("work_mem", "1GB".into())]).is_err());
    }

    #[test]
    fn numbers_have_the_states_of_sql() {
        assert!(STATES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let lost = state_of(3113, "end-of-file on communication channel").expect("known");
        assert_eq!(
            (lost.severity.as_str(), lost.sqlstate.as_str()),
            ("FATAL", "08006")
        );
        let deadlock = state_of(60, "deadlock detected").expect("known");
        assert_eq!(deadlock.message, "deadlock detected [60]");
        assert_eq!(deadlock.sqlstate, "40P01");
        assert!(state_of(i32::MIN, "").is_none() && state_of(7, "").is_none());
    }
}
