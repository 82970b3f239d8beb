//! pg_tables, pg_indexes, pg_views, pg_sequences.

use mote_common::{Oid, SqlResult};
use mote_engine::SequenceId;
use mote_sql::catalog::ConstraintKind;
use mote_types::Datum;

use crate::catalog_store::stored::{StoredKind, StoredSequence};
use crate::system_schemas::shown_as_view;
use crate::views::all_relations;
use crate::views::facts::Facts;
use crate::views::row::{NULL, row};
use crate::views::text::index_definition;
use crate::views::view_text::{Layout, view_definition};

pub fn tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let builtin = all_relations()
        .iter()
        .filter(|relation| !shown_as_view(relation.oid));
    let mut rows: Vec<Vec<Datum>> = builtin
        .map(|relation| {
            let owner = facts.role_or_unknown(relation.owner);
            row![
                &relation.schema,
                &relation.name,
                owner,
                NULL,
                false,
                false,
                false,
                false
            ]
        })
        .collect();
    for known in facts.tables() {
        let table = known.relation;
        let foreign = table
            .constraints
            .iter()
            .any(|c| matches!(c.kind, ConstraintKind::ForeignKey(_)));
        rows.push(row![
            &table.schema,
            &table.name,
            facts.role_or_unknown(table.owner),
            NULL,
            !table.indexes.is_empty(),
            false,
            foreign || !table.referenced_by.is_empty(),
            false,
        ]);
    }
    Ok(rows)
}

pub fn indexes(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.indexes().map(|known| {
        let definition = index_definition(facts, known, false);
        row![
            &known.table.schema,
            &known.table.name,
            &known.index.name,
            NULL,
            definition
        ]
    });
    Ok(rows.collect())
}

pub fn views(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let builtin = all_relations()
        .iter()
        .filter(|relation| shown_as_view(relation.oid));
    let mut rows: Vec<Vec<Datum>> = builtin
        .map(|view| row![&view.schema, &view.name, facts.role_or_unknown(view.owner), NULL])
        .collect();
    for known in facts.relations_of_kind(StoredKind::View) {
        let view = known.relation;
        rows.push(row![
            &view.schema,
            &view.name,
            facts.role_or_unknown(view.owner),
            view_definition(view, facts.session.catalog, Layout::Plain)
        ]);
    }
    Ok(rows)
}

pub fn materialized_views(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts
        .relations_of_kind(StoredKind::MaterializedView)
        .map(|known| {
            let view = known.relation;
            row![
                &view.schema,
                &view.name,
                facts.role_or_unknown(view.owner),
                NULL,
                !view.indexes.is_empty(),
                view.populated,
                view_definition(view, facts.session.catalog, Layout::Plain)
            ]
        });
    Ok(rows.collect())
}

/// The last value handed out, if any was.
pub fn last_value(facts: &Facts<'_>, sequence: &StoredSequence) -> Option<i64> {
    let (value, is_called) = facts.engine.sequence(SequenceId(sequence.id))?.peek();
    is_called.then_some(value)
}

pub fn sequences(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.relations_of_kind(StoredKind::Sequence).filter_map(|known| {
        let sequence = known.stored.sequence.as_ref()?;
        Some(row![
            &known.relation.schema,
            &known.relation.name,
            facts.role_or_unknown(known.relation.owner),
            Oid(sequence.type_oid),
            sequence.start,
            sequence.minimum,
            sequence.maximum,
            sequence.increment,
            sequence.cycle,
            sequence.cache,
            last_value(facts, sequence),
        ])
    });
    Ok(rows.collect())
}
