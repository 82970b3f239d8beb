//! information_schema.columns.

use mote_common::{Oid, SqlResult};
use mote_sql::catalog::{Column, Identity, Relation};
use mote_types::Datum;

use super::domains;
use super::schema::accessible;
use super::schema_types::yes_or_no;
use crate::catalog_store::stored::StoredSequence;
use crate::views::facts::{Facts, live_columns};
use crate::views::row::{NULL, row};
use crate::views::text::shown_default;
use crate::views::{all_relations, updatable};

pub fn columns(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for relation in all_relations() {
        for (number, column) in live_columns(relation) {
            rows.push(column_row(facts, relation, number, column, false));
        }
    }
    for known in accessible(facts) {
        let events = updatable::of(known.relation.oid, facts.session.catalog);
        for (number, column) in live_columns(known.relation) {
            // Of a view whoever writes a column asks for it; a generated one of a table is as updatable as the table.
            let updatable = events.column(number as usize - 1);
            rows.push(column_row(facts, known.relation, number, column, updatable));
        }
    }
    Ok(rows)
}

fn column_row(
    facts: &Facts<'_>,
    relation: &Relation,
    number: i16,
    column: &Column,
    updatable: bool,
) -> Vec<Datum> {
    let catalog = facts.database_name();
    let described = domains::described_column(column, facts);
    let default = column.default.as_deref().filter(|_| column.identity.is_none());
    let default = default.map(|text| shown_default(facts, relation, column, text));
    let generated = column.generated.as_deref();
    let generated = generated.map(|text| shown_default(facts, relation, column, text));
    let mut row = row![
        catalog,
        &relation.schema,
        &relation.name,
        &column.name,
        number as i32,
        default,
        yes_or_no(!domains::refuses_nulls(column, facts)),
        described.data_type,
        described.character_maximum_length,
        described.character_octet_length,
        described.numeric_precision,
        described.numeric_precision_radix,
        described.numeric_scale,
        described.datetime_precision,
        described.interval_type,
        NULL,
    ];
    // Character set and collation.
    row.extend(std::iter::repeat_n(NULL, 6));
    row.extend(domains::names_of(column.domain, facts));
    row.extend(row![
        catalog,
        described.udt_schema,
        described.udt_name,
        NULL,
        NULL,
        NULL,
        NULL
    ]);
    row.extend(row![number.to_string(), "NO"]);
    row.extend(identity_columns(facts, column));
    row.extend(row![
        if column.generated.is_some() {
            "ALWAYS"
        } else {
            "NEVER"
        },
        generated,
        yes_or_no(updatable),
    ]);
    row
}

/// is_identity to identity_cycle.
fn identity_columns(facts: &Facts<'_>, column: &Column) -> Vec<Datum> {
    let Some(identity) = column.identity else {
        return row!["NO", NULL, NULL, NULL, NULL, NULL, "NO"];
    };
    let generation = match identity {
        Identity::Always => "ALWAYS",
        Identity::ByDefault => "BY DEFAULT",
    };
    let owned: Option<Oid> = column.owned_sequence;
    let known = owned.and_then(|oid| facts.relation(oid));
    let sequence: Option<&StoredSequence> = known.and_then(|known| known.stored.sequence.as_ref());
    let text = |value: fn(&StoredSequence) -> i64| sequence.map(|sequence| value(sequence).to_string());
    row![
        "YES",
        generation,
        text(|s| s.start),
        text(|s| s.increment),
        text(|s| s.maximum),
        text(|s| s.minimum),
        yes_or_no(sequence.is_some_and(|s| s.cycle)),
    ]
}
