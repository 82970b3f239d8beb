//! CLUSTER: a table remembers the index it was last clustered on. Rows in memory have no physical order, so nothing is
//! moved (COMPAT.md); the locks, and who may, are PostgreSQL's.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{Cluster, Name, RelationName};

use super::{in_use, privileges, refuse_block, schema, unrecognized_option};
use crate::utility::{Command, Issued, Steps};
use mote_catalog::catalog_store::stored::{StoredObject, StoredRelation};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for Cluster {
    fn name(&self) -> &'static str {
        "CLUSTER"
    }

    fn runs_in_recovery(&self) -> bool {
        false
    }

    fn steps(&self, issued: Issued<'_>) -> SqlResult<Option<Steps>> {
        steps(self, issued.text, issued.in_block).map(Some)
    }
}

/// What CLUSTER does: one table, or each that remembers an index, in a transaction of its own.
pub(super) fn steps(cluster: &Cluster, text: &str, in_block: bool) -> SqlResult<Steps> {
    for option in &cluster.options {
        if &*option.name != "verbose" {
            return Err(unrecognized_option("CLUSTER", option, text));
        }
        option.flag()?;
    }
    let index = cluster.index.clone();
    let Some(name) = cluster.table.clone() else {
        refuse_block("CLUSTER", in_block)?;
        return Ok(Steps::first(|steps, context| {
            // Those of others are left out without a word.
            for entry in schema::all_tables(context) {
                let owner = Oid(entry.stored.owner);
                let clustered = entry.stored.indexes.iter().find(|index| index.clustered);
                if let Some(index) = clustered.map(|index| index.oid)
                    && privileges::is_member(&context.session.catalog, owner)
                {
                    let oid = Oid(entry.stored.oid);
                    steps.add(move |_, context| cluster_known(oid, index, context));
                }
            }
            Ok(())
        }));
    };
    Ok(Steps::first(move |steps, context| {
        named(&name, index.as_ref(), in_block, steps, context)
    }))
}

/// CLUSTER of one table, by this index or by the one that is remembered.
fn named(
    name: &RelationName,
    index: Option<&Name>,
    in_block: bool,
    steps: &mut Steps,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Whoever may not shall not make others wait behind him.
    let entry = schema::find_relation(name, context)?.ok_or_else(|| schema::undefined_table(name))?;
    schema::require_owner(&entry.stored, context)?;
    let mut table = schema::relation_for_change(name, TableLockMode::AccessExclusive, context)?
        .ok_or_else(|| schema::undefined_table(name))?;
    if !table.kind.has_rows() {
        return Err(schema::wrong_kind(&table.name, "table or materialized view"));
    }
    let position = match index {
        Some(index) => index_position(&table, index)?,
        None => table
            .indexes
            .iter()
            .position(|index| index.clustered)
            .ok_or_else(|| {
                SqlError::new(
                    state::UNDEFINED_OBJECT,
                    format!(
                        "there is no previously clustered index for table \"{}\"",
                        table.name
                    ),
                )
            })?,
    };
    check_index(&table, position)?;
    // Its partitions are clustered, each in a transaction of its own; the table itself remembers nothing.
    if table.partitioning.is_some() {
        refuse_block("CLUSTER", in_block)?;
        cluster_partitions(&table, position, steps, context);
        return Ok(());
    }
    in_use::refuse_table("CLUSTER", &table, context)?;
    mark(&mut table, Some(position));
    write::put(StoredObject::Relation(table), context)
}

/// The place of an index of the table by its name.
fn index_position(table: &StoredRelation, index: &str) -> SqlResult<usize> {
    table
        .indexes
        .iter()
        .position(|known| known.name == *index)
        .ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_OBJECT,
                format!("index \"{index}\" for table \"{}\" does not exist", table.name),
            )
        })
}

/// Whether the table could be ordered by this index.
fn check_index(table: &StoredRelation, position: usize) -> SqlResult<()> {
    let index = &table.indexes[position];
    if !index.method()?.abilities().ordered {
        let message = format!(
            "cannot cluster on index \"{}\" because access method does not support clustering",
            index.name
        );
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    let refuse = |kind: &str| {
        let message = format!("cannot cluster on {kind} index \"{}\"", index.name);
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
    };
    if index.predicate.is_some() {
        return refuse("partial");
    }
    if !index.valid {
        return refuse("invalid");
    }
    Ok(())
}

/// ALTER TABLE .. CLUSTER ON, or SET WITHOUT CLUSTER.
pub(super) fn alter(table: &mut StoredRelation, index: Option<&str>) -> SqlResult<()> {
    if table.partitioning.is_some() {
        let message = "cannot mark index clustered in partitioned table";
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    let position = match index {
        None => None,
        Some(index) => Some(index_position(table, index)?),
    };
    if let Some(position) = position {
        check_index(table, position)?;
    }
    mark(table, position);
    Ok(())
}

/// Remembers the index to cluster on, and forgets the one before.
fn mark(table: &mut StoredRelation, position: Option<usize>) {
    for (at, index) in table.indexes.iter_mut().enumerate() {
        index.clustered = Some(at) == position;
    }
}

/// The leaves of a partitioned table that the user owns, each with the index that belongs to the parent's.
fn cluster_partitions(
    table: &StoredRelation,
    position: usize,
    steps: &mut Steps,
    context: &mut StatementContext<'_>,
) {
    // Partitions come level by level: an index's parent is known before it.
    let mut belonging = vec![table.indexes[position].oid];
    for partition in schema::partitions_of(Oid(table.oid), context) {
        let Some(entry) = context.session.catalog.entry(partition) else {
            continue;
        };
        let attached = |index: &&mote_catalog::catalog_store::stored::StoredIndex| {
            index.parent.is_some_and(|parent| belonging.contains(&parent))
        };
        let Some(index) = entry.stored.indexes.iter().find(attached).map(|index| index.oid) else {
            continue;
        };
        belonging.push(index);
        let owned = privileges::is_member(&context.session.catalog, Oid(entry.stored.owner));
        if entry.stored.partitioning.is_none() && owned {
            steps.add(move |_, context| cluster_known(partition, index, context));
        }
    }
}

/// One of many tables: skipped if it, the index or the ownership is gone by now.
fn cluster_known(table: Oid, index: u32, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = context.session.catalog.entry(table) else {
        return Ok(());
    };
    let Some(entry) = schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)? else {
        return Ok(());
    };
    let mut table = entry.stored.clone();
    let Some(position) = table.indexes.iter().position(|known| known.oid == index) else {
        return Ok(());
    };
    if !table.kind.has_rows() || !privileges::is_member(&context.session.catalog, Oid(table.owner)) {
        return Ok(());
    }
    mark(&mut table, Some(position));
    write::put(StoredObject::Relation(table), context)
}
