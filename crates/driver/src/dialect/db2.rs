//! Db2 for Linux, from 11.1 on. Never run against a live server here: the words are those of its SQL Reference, and the golden files keep
//! them.

use std::borrow::Cow;

use super::{create_table, fetch_first, is, known, literal, pieces, predicates_as_values, words};
use crate::error::ServerError;

/// Statements that bring a new session into the state that the driver promises. The error names what has no counterpart.
pub fn settings(wanted: &[(&'static str, String)]) -> Result<Vec<String>, String> {
    let mut statements = vec!["SET CURRENT LOCK TIMEOUT 20".to_string()];
    for (name, value) in wanted {
        if *name != "default_transaction_isolation" {
            return Err(format!("the setting \"{name}\" has no counterpart in Db2"));
        }
        let level = LEVELS
            .iter()
            .find(|(_, level)| value.eq_ignore_ascii_case(level))
            .ok_or_else(|| format!("Db2 has no isolation level \"{value}\""))?;
        statements.push(format!("SET CURRENT ISOLATION = {}", level.0));
    }
    Ok(statements)
}

/// Db2's own names, and those of the standard.
const LEVELS: [(&str, &str); 4] = [
    ("UR", "read uncommitted"),
    ("CS", "read committed"),
    ("RS", "repeatable read"),
    ("RR", "serializable"),
];

/// A whole statement; an error says what there is no counterpart of.
pub fn translate(sql: &str) -> Result<Cow<'_, str>, String> {
    if let Some(rest) = sql.strip_prefix("CREATE TABLE IF NOT EXISTS ") {
        let table = table(&format!("CREATE TABLE {rest}"));
        return Ok(Cow::Owned(unless(&table, "42710")));
    }
    if sql.starts_with("CREATE TABLE ") {
        return Ok(Cow::Owned(table(sql)));
    }
    if let Some(name) = sql.strip_prefix("DROP TABLE IF EXISTS ") {
        return Ok(Cow::Owned(unless(
            &format!("DROP TABLE {}", name.trim()),
            "42704",
        )));
    }
    if let Some(tables) = sql.strip_prefix("VACUUM ANALYZE") {
        return match tables.trim() {
            "" => Err("Db2 counts the rows of tables by name only".into()),
            table => Ok(Cow::Owned(format!(
                "CALL SYSPROC.ADMIN_CMD({})",
                literal(&format!(
                    "RUNSTATS ON TABLE {table} WITH DISTRIBUTION AND INDEXES ALL"
                ))
            ))),
        };
    }
    if sql == "SHOW default_transaction_isolation" {
        return Ok("SELECT CASE CURRENT ISOLATION WHEN 'UR' THEN 'read uncommitted' WHEN 'RS' THEN 'repeatable read' \
             WHEN 'RR' THEN 'serializable' ELSE 'read committed' END FROM SYSIBM.SYSDUMMY1"
            .into());
    }
    if sql.starts_with("SHOW ") {
        return Err(format!("{sql}: Db2 does not tell a session its settings"));
    }
    if sql.starts_with("SELECT ") {
        return Ok(Cow::Owned(query(sql)));
    }
    Ok(Cow::Borrowed(sql))
}

/// Done unless the server answers with this code that there is nothing to do.
fn unless(sql: &str, state: &str) -> String {
    format!(
        "BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '{state}' BEGIN END; EXECUTE IMMEDIATE {}; END",
        literal(sql)
    )
}

/// The columns of a primary key must say that they are never NULL.
fn table(sql: &str) -> String {
    let Some((head, items)) = create_table(sql) else {
        return sql.to_string();
    };
    let key = items.iter().find_map(|item| {
        item.strip_prefix("PRIMARY KEY (")
            .and_then(|rest| rest.strip_suffix(')'))
    });
    let in_key = |name: &str| key.is_some_and(|key| key.split(',').any(|column| column.trim() == name));
    let columns: Vec<String> = items
        .iter()
        .map(|item| {
            let Some((name, rest)) = item.split_once(' ') else {
                return item.to_string();
            };
            let rest = match rest {
                "text" => "clob".to_string(),
                rest => rest.replacen("double precision", "double", 1).replacen(
                    "text NOT NULL",
                    "clob NOT NULL",
                    1,
                ),
            };
            match rest.strip_suffix(" PRIMARY KEY") {
                Some(kind) if !kind.ends_with("NOT NULL") => format!("{name} {kind} NOT NULL PRIMARY KEY"),
                None if in_key(name) && !rest.ends_with("NOT NULL") => format!("{name} {rest} NOT NULL"),
                _ => format!("{name} {rest}"),
            }
        })
        .collect();
    format!("{head} ({})", columns.join(", "))
}

/// FOR UPDATE alone locks nothing before the row is changed; a query needs a table.
fn query(sql: &str) -> String {
    let plain = predicates_as_values(sql);
    let pieces = pieces(&plain);
    let places = words(&pieces);
    let mut out = fetch_first(&pieces);
    for pair in places.windows(2) {
        if is(pieces[pair[0]], "FOR") && is(pieces[pair[1]], "UPDATE") {
            out[pair[0]] = "FOR READ ONLY WITH RS USE AND".into();
            out[pair[1]] = "KEEP UPDATE LOCKS".into();
        }
    }
    let mut text = out.concat();
    if !places.iter().any(|&at| is(pieces[at], "FROM")) {
        text.push_str(" FROM SYSIBM.SYSDUMMY1");
    }
    text
}

/// Db2's SQLCODEs.
const STATES: [(i32, &str); 17] = [
    (-30082, "28P01"), // wrong password
    (-30081, "08006"), // the connection is lost
    (-1224, "57P01"),  // the database has ended its agents
    (-1034, "57P01"),  // the database has gone
    (-952, "57014"),   // cancelled
    (-913, "40P01"),   // deadlock or waited too long; the statement is undone
    (-911, "40P01"),   // deadlock or waited too long; the transaction is undone
    (-803, "23505"),   // duplicate key
    (-801, "22012"),   // division by zero
    (-601, "42P07"),   // the name is in use
    (-545, "23514"),   // a CHECK that fails
    (-532, "23503"),   // a row that others refer to
    (-530, "23503"),   // a reference to no row
    (-433, "22001"),   // a text longer than its column
    (-413, "22003"),   // a number out of its column's range
    (-407, "23502"),   // NULL where none may be
    (-204, "42P01"),   // unknown table
];

/// What the server has said under this number; `None` where PostgreSQL has no code of its own for it.
pub fn state_of(number: i32, message: &str) -> Option<ServerError> {
    known(&STATES, number, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_become_those_of_db2() {
        for (sql, db2) in [
            ("SELECT 1", "SELECT 1 FROM SYSIBM.SYSDUMMY1"),
            (
                "SELECT a FROM t WHERE b = 1 FOR UPDATE",
                "SELECT a FROM t WHERE b = 1 FOR READ ONLY WITH RS USE AND KEEP UPDATE LOCKS",
            ),
            (
                "SELECT a AS b FROM t LIMIT 1",
                "SELECT a AS b FROM t FETCH FIRST 1 ROWS ONLY",
            ),
            (
                "CREATE TABLE t (a varchar(3), b integer, c text, PRIMARY KEY (a, b))",
                "CREATE TABLE t (a varchar(3) NOT NULL, b integer NOT NULL, c clob, PRIMARY KEY (a, b))",
            ),
            (
                "CREATE TABLE t (a varchar(3) PRIMARY KEY)",
                "CREATE TABLE t (a varchar(3) NOT NULL PRIMARY KEY)",
            ),
            (
                "DROP TABLE IF EXISTS t",
                "BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE t'; END",
            ),
            ("DELETE FROM t", "DELETE FROM t"),
        ] {
            assert_eq!(translate(sql).expect("known"), db2);
        }
        assert!(translate("VACUUM ANALYZE").is_err());
        assert!(translate("SHOW work_mem").is_err());
    }

    #[test]
    fn sessions_begin_alike_or_not_at_all() {
        let level = |level: &str| settings(&[("default_transaction_isolation", level.to_string())]);
        assert_eq!(
            level("repeatable read").expect("known")[1],
            "SET CURRENT ISOLATION = RS"
        );
        assert!(level("snapshot").is_err());
        assert!(settings(&[("work_mem", "1GB".into())]).is_err());
    }

    #[test]
    fn numbers_have_the_states_of_sql() {
        assert!(STATES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let lost = state_of(-30081, "a communication error").expect("known");
        assert_eq!(
            (lost.severity.as_str(), lost.sqlstate.as_str()),
            ("FATAL", "08006")
        );
        assert_eq!(state_of(-911, "deadlock").expect("known").sqlstate, "40P01");
        assert!(state_of(i32::MIN, "").is_none() && state_of(-7, "").is_none());
    }
}
