//! openGauss's memory-optimized tables (MOT), `opengauss://..?engine=mot`.
//!
//! The method comes from the documentation of MOT's SQL coverage and from its adapter's checks (`mot_fdw.cpp`, `mot_internal.cpp`). A
//! table is a foreign table of the server `mot_server`. Its primary key stands in its definition, since one can be added to an empty
//! table only. Columns of an index are NOT NULL. There are no foreign keys. A transaction cannot change tables in memory and others
//! together, so the loader's own table is one in memory, too.

use super::{Definitions, Key, Phase, is_foreign_key, table_of};

const SERVER: &str = " SERVER mot_server";

pub(super) fn in_memory(said: Definitions, holds_null: impl Fn(&str) -> bool) -> Definitions {
    let follow: Vec<&str> = said
        .phases
        .iter()
        .flat_map(|phase| phase.statements.iter().map(String::as_str))
        .collect();
    let (kept, refused): (Vec<Key<'_>>, Vec<Key<'_>>) = follow
        .iter()
        .filter_map(|sql| Key::read(sql))
        .partition(|key| !key.columns.iter().any(|column| holds_null(column)));
    let create = said
        .create
        .iter()
        .map(|sql| match table_of(sql) {
            Some((name, _)) => keyed(sql, kept.iter().filter(|key| key.table == name)),
            None => sql.clone(),
        })
        .collect();
    let mut notes: Vec<String> = refused
        .iter()
        .map(|key| {
            format!(
                "no index over {} ({}): MOT has none over columns that hold NULL",
                key.table,
                key.columns.join(", ")
            )
        })
        .collect();
    if follow.iter().any(|sql| is_foreign_key(sql)) {
        notes.push("no foreign keys: MOT has none".into());
    }
    let is_kept = |sql: &str| match Key::read(sql) {
        Some(key) => !key.primary && kept.contains(&key),
        None => !is_foreign_key(sql),
    };
    let phases = said
        .phases
        .iter()
        .map(|phase| Phase {
            name: phase.name,
            statements: phase
                .statements
                .iter()
                .filter(|sql| is_kept(sql))
                .cloned()
                .collect(),
        })
        .filter(|phase: &Phase| !phase.statements.is_empty())
        .collect();
    Definitions {
        create,
        phases,
        notes,
    }
}

/// A table that names its keys itself.
pub(super) fn table(sql: &str) -> String {
    keyed(sql, [].into_iter())
}

fn keyed<'a>(sql: &str, keys: impl Iterator<Item = &'a Key<'a>>) -> String {
    let Some((_, items)) = table_of(sql) else {
        return sql.to_string();
    };
    let head = sql.split_once('(').map_or(sql, |(head, _)| head).trim_end();
    let head = head.replacen("CREATE TABLE", "CREATE FOREIGN TABLE", 1);
    let (mut indexed, mut primary) = (Vec::new(), None);
    for key in keys {
        indexed.extend(key.columns.iter().copied());
        if key.primary {
            primary = Some(format!("PRIMARY KEY ({})", key.columns.join(", ")));
        }
    }
    let columns = items.iter().map(|item| {
        let name = item.split(' ').next().unwrap_or_default();
        match indexed.contains(&name) && !item.contains("NOT NULL") && !item.contains("PRIMARY KEY") {
            true => format!("{item} NOT NULL"),
            false => item.to_string(),
        }
    });
    let items: Vec<String> = columns.chain(primary).collect();
    format!("{head} ({}){SERVER}", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &'static str, statements: &[&str]) -> Phase {
        Phase {
            name,
            statements: statements.iter().map(|sql| sql.to_string()).collect(),
        }
    }

    #[test]
    fn keys_move_into_their_tables_and_what_is_not_there_is_named() {
        let said = Definitions {
            create: vec!["CREATE TABLE t (a integer NOT NULL, b varchar(3), c integer)".into()],
            phases: vec![
                phase(
                    "keys",
                    &[
                        "ALTER TABLE t ADD CONSTRAINT p PRIMARY KEY (a)",
                        "CREATE INDEX i ON t (b)",
                        "CREATE INDEX j ON t (a, c)",
                    ],
                ),
                phase(
                    "foreign keys",
                    &["ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES s (a)"],
                ),
            ],
            notes: Vec::new(),
        };
        let defined = in_memory(said, |column| column == "c");
        assert_eq!(
            defined.create,
            [
                "CREATE FOREIGN TABLE t (a integer NOT NULL, b varchar(3) NOT NULL, c integer, PRIMARY KEY (a)) \
                 SERVER mot_server"
            ]
        );
        assert_eq!(defined.phases.len(), 1);
        assert_eq!(defined.phases[0].statements, ["CREATE INDEX i ON t (b)"]);
        assert_eq!(defined.notes.len(), 2, "{:?}", defined.notes);
    }

    #[test]
    fn a_table_keeps_the_keys_that_it_names() {
        assert_eq!(
            table("CREATE TABLE IF NOT EXISTS t (a integer, PRIMARY KEY (a))"),
            "CREATE FOREIGN TABLE IF NOT EXISTS t (a integer, PRIMARY KEY (a)) SERVER mot_server"
        );
    }
}
