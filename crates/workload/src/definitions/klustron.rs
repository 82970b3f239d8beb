//! Klustron's tables over shards, `klustron://..?partitions=N`.
//!
//! The method comes from Klustron's own comparison with Oracle: hash partitions by warehouse, which the system spreads over its shards by
//! itself. The compute node's grammar is PostgreSQL 11's, so a partition is a statement of its own, and keys of the whole table
//! are those of all partitions. A table is partitioned by the first column of its primary key; one without a key, by the first
//! column whose name is that of a key of another table behind the table's own prefix (`h_w_id` as `c_w_id`); one whose key is
//! a text, and one without such a column, stays whole. There are no foreign keys.

use super::{Definitions, Key, Phase, is_foreign_key, table_of};

pub(super) fn partitioned(said: Definitions, partitions: u32) -> Definitions {
    let primary: Vec<(String, String)> = said
        .phases
        .iter()
        .flat_map(|phase| phase.statements.iter())
        .filter_map(|sql| Key::read(sql).filter(|key| key.primary))
        .map(|key| (key.table.to_string(), key.columns[0].to_string()))
        .collect();
    let mut create = Vec::new();
    for sql in &said.create {
        let column = table_of(sql).and_then(|(name, items)| Some((name, column_of(name, &items, &primary)?)));
        match column {
            None => create.push(sql.clone()),
            Some((name, column)) => {
                create.push(format!("{sql} PARTITION BY HASH ({column})"));
                create.extend((0..partitions).map(|part| {
                    format!(
                        "CREATE TABLE {name}_p{part} PARTITION OF {name} FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
                    )
                }));
            }
        }
    }
    let foreign = said
        .phases
        .iter()
        .any(|phase| phase.statements.iter().any(|sql| is_foreign_key(sql)));
    let phases = said
        .phases
        .into_iter()
        .map(|phase| Phase {
            statements: phase
                .statements
                .into_iter()
                .filter(|sql| !is_foreign_key(sql))
                .collect(),
            ..phase
        })
        .filter(|phase| !phase.statements.is_empty())
        .collect();
    let notes = foreign
        .then(|| "no foreign keys: Klustron has none".to_string())
        .into_iter()
        .collect();
    Definitions {
        create,
        phases,
        notes,
    }
}

/// What a table is partitioned by.
fn column_of<'a>(table: &str, items: &[&'a str], primary: &[(String, String)]) -> Option<&'a str> {
    let name = |item: &'a str| item.split(' ').next().unwrap_or_default();
    match primary.iter().find(|(keyed, _)| keyed == table) {
        Some((_, column)) => items
            .iter()
            .find(|item| name(item) == column)
            .filter(|item| !item.contains("char"))
            .map(|item| name(item)),
        None => {
            let behind = |column: &str| column.split_once('_').map(|(_, rest)| rest.to_string());
            let keys: Vec<String> = primary
                .iter()
                .filter_map(|(_, column)| behind(column))
                .filter(|rest| rest.contains('_'))
                .collect();
            items
                .iter()
                .map(|item| name(item))
                .find(|column| behind(column).is_some_and(|rest| keys.contains(&rest)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_spread_by_the_first_column_of_their_keys() {
        let said = Definitions {
            create: vec![
                "CREATE TABLE t (a_w_id integer NOT NULL, b integer)".into(),
                "CREATE TABLE h (h_x integer, h_w_id integer)".into(),
                "CREATE TABLE c (name varchar(3) PRIMARY KEY)".into(),
            ],
            phases: vec![Phase {
                name: "keys",
                statements: vec![
                    "ALTER TABLE t ADD CONSTRAINT p PRIMARY KEY (a_w_id, b)".into(),
                    "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES s (a)".into(),
                ],
            }],
            notes: Vec::new(),
        };
        let defined = partitioned(said, 2);
        assert_eq!(
            defined.create,
            [
                "CREATE TABLE t (a_w_id integer NOT NULL, b integer) PARTITION BY HASH (a_w_id)",
                "CREATE TABLE t_p0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
                "CREATE TABLE t_p1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
                "CREATE TABLE h (h_x integer, h_w_id integer) PARTITION BY HASH (h_w_id)",
                "CREATE TABLE h_p0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
                "CREATE TABLE h_p1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
                "CREATE TABLE c (name varchar(3) PRIMARY KEY)",
            ]
        );
        assert_eq!(defined.phases[0].statements.len(), 1);
        assert_eq!(defined.notes.len(), 1);
    }
}
