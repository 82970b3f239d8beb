//! SQL that MySQL and MariaDB say differently from PostgreSQL, and the settings of a session.
//!
//! The laboratory's statements are generic SQL. What is not is translated by its beginning, here and nowhere else; anything
//! else goes as it is, and the server judges it.

use std::borrow::Cow;

use super::super::error::{DriverError, DriverResult};

/// Statements that bring a new session into the state that the driver promises: standard quotes, errors instead of changed
/// values, UTC.
pub fn settings(wanted: &[(&'static str, String)]) -> DriverResult<Vec<String>> {
    let mut statements = vec![
        "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES', time_zone = '+00:00'"
            .to_string(),
    ];
    for (name, value) in wanted {
        match *name {
            "default_transaction_isolation" => statements.push(format!(
                "SET SESSION TRANSACTION ISOLATION LEVEL {}",
                value.to_ascii_uppercase()
            )),
            name => {
                return Err(DriverError::protocol(format!(
                    "the setting \"{name}\" has no counterpart in MySQL"
                )));
            }
        }
    }
    Ok(statements)
}

/// A whole statement; an error says what there is no counterpart of.
pub fn translate<'a>(sql: &'a str, engine: Option<&str>) -> Result<Cow<'a, str>, String> {
    if let Some(rest) = sql.strip_prefix("COPY ") {
        return load_data(rest).map(Cow::Owned);
    }
    if sql.starts_with("CREATE TABLE ") {
        return Ok(Cow::Owned(create_table(sql, engine.unwrap_or("InnoDB"))));
    }
    if let Some(tables) = sql.strip_prefix("VACUUM ANALYZE") {
        return match tables.trim() {
            "" => Err("MariaDB analyzes tables by name only; InnoDB counts by itself as they grow".into()),
            table => Ok(Cow::Owned(format!("ANALYZE TABLE {table}"))),
        };
    }
    if sql == "SHOW default_transaction_isolation" {
        return Ok("SELECT replace(lower(@@SESSION.tx_isolation), '-', ' ')".into());
    }
    Ok(Cow::Borrowed(sql))
}

/// `table (columns) FROM STDIN`, with or without columns: both formats of rows are the same.
fn load_data(copy: &str) -> Result<String, String> {
    let refused = || format!("COPY {copy}: only COPY table (columns) FROM STDIN has a counterpart in MySQL");
    let target = copy.strip_suffix(" FROM STDIN").ok_or_else(refused)?;
    if target.starts_with('(') {
        return Err(refused());
    }
    let (table, columns) = target.split_at(target.find('(').unwrap_or(target.len()));
    let columns = if columns.is_empty() {
        String::new()
    } else {
        format!(" {columns}")
    };
    Ok(format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' \
         LINES TERMINATED BY '\\n'{columns}",
        table.trim()
    ))
}

/// Texts compare by their bytes, as they do in the C locale, and a timestamp knows neither zones nor the year 2038.
fn create_table(sql: &str, engine: &str) -> String {
    let columns: Vec<String> = sql
        .split_inclusive([',', '(', ')', ' '])
        .map(|word| match word.trim_end_matches([',', ')', ' ']) {
            "timestamp" => word.replacen("timestamp", "datetime(6)", 1),
            _ => word.to_string(),
        })
        .collect();
    format!(
        "{} ENGINE = {engine} DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        columns.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::form::Tag;
    use super::*;

    #[test]
    fn statements_become_those_of_mariadb() {
        let load = translate("COPY t (a, b) FROM STDIN", None).expect("known");
        assert_eq!(
            load,
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' \
             ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (a, b)"
        );
        assert_eq!(Tag::of(&load), Tag::Copy);
        let all = translate("COPY t FROM STDIN", None).expect("known");
        assert!(all.contains(" INTO TABLE t CHARACTER") && all.ends_with("LINES TERMINATED BY '\\n'"));
        let create = translate(
            "CREATE TABLE t (at timestamp, timestamp2 integer, u timestamp)",
            Some("rocksdb"),
        );
        assert_eq!(
            create.expect("known"),
            "CREATE TABLE t (at datetime(6), timestamp2 integer, u datetime(6)) ENGINE = rocksdb \
             DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        );
        assert_eq!(
            translate("VACUUM ANALYZE t", None).expect("known"),
            "ANALYZE TABLE t"
        );
        assert!(translate("VACUUM ANALYZE", None).is_err());
        assert!(translate("COPY (SELECT 1) TO STDOUT", None).is_err());
        assert!(matches!(
            translate("SELECT 1", None),
            Ok(Cow::Borrowed("SELECT 1"))
        ));
    }

    #[test]
    fn sessions_begin_alike() {
        let level = ("default_transaction_isolation", "read committed".to_string());
        let statements = settings(&[level]).expect("known");
        assert_eq!(
            statements[1],
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
        );
        assert!(settings(&[("work_mem", "1GB".into())]).is_err());
    }
}
