//! REINDEX: each index is built anew from the table's rows and takes the place of the old one.
//!
//! Plain: writers wait while the new indexes are built, readers at the end, for the moment of the exchange.
//! CONCURRENTLY: nobody waits. The new index is built among writers and exchanged; the old one, which statements under
//! way still read, stays behind as an invalid index `.._ccold` until everybody is over who held the table. If the
//! statement fails in between, it remains and can be dropped, as in PostgreSQL.

use mote_common::error::{Severity, state};
use mote_common::{IndexId, Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{QualifiedName, Reindex, ReindexTarget, RelationName};

use super::{dropping, in_use, index_build, privileges, rebuild, refuse_block, schema, unrecognized_option};
use crate::utility::{Command, Issued, Steps};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{StoredIndex, StoredObject, StoredRelation};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for Reindex {
    fn name(&self) -> &'static str {
        "REINDEX"
    }

    fn runs_in_recovery(&self) -> bool {
        false
    }

    fn steps(&self, issued: Issued<'_>) -> SqlResult<Option<Steps>> {
        steps(self, issued.text, issued.in_block).map(Some)
    }
}

/// Options in brackets.
#[derive(Clone, Copy, Default)]
struct Options {
    concurrently: bool,
    verbose: bool,
}

impl Options {
    /// 42601 for options that REINDEX has not.
    fn read(reindex: &Reindex, text: &str) -> SqlResult<Options> {
        let mut options = Options::default();
        for option in &reindex.options {
            match &*option.name {
                "concurrently" => options.concurrently = option.flag()?,
                "verbose" => options.verbose = option.flag()?,
                "tablespace" => return Err(SqlError::unsupported("REINDEX TABLESPACE")),
                _ => return Err(unrecognized_option("REINDEX", option, text)),
            }
        }
        Ok(options)
    }
}

/// Which indexes of a table.
#[derive(Clone, Copy)]
enum Which {
    All,
    One(Oid),
}

/// What REINDEX does, a transaction per table where it is about several.
pub(super) fn steps(reindex: &Reindex, text: &str, in_block: bool) -> SqlResult<Steps> {
    let options = Options::read(reindex, text)?;
    if options.concurrently {
        refuse_block("REINDEX CONCURRENTLY", in_block)?;
    }
    let target = reindex.target.clone();
    match &target {
        ReindexTarget::Schema(_) => refuse_block("REINDEX SCHEMA", in_block)?,
        ReindexTarget::Database(_) => refuse_block("REINDEX DATABASE", in_block)?,
        ReindexTarget::System(_) => refuse_block("REINDEX SYSTEM", in_block)?,
        ReindexTarget::Index(_) | ReindexTarget::Table(_) => {}
    }
    Ok(Steps::first(move |steps, context| match &target {
        ReindexTarget::Index(name) => index(name, options, in_block, steps, context),
        ReindexTarget::Table(name) => table(name, options, in_block, steps, context),
        ReindexTarget::Schema(name) => schema_tables(name, options, steps, context),
        ReindexTarget::Database(name) => database(name.as_deref(), options, steps, context),
        ReindexTarget::System(name) => system(name.as_deref(), options, context),
    }))
}

/// REINDEX INDEX. That of a partitioned table holds no rows: those of its partitions are built.
fn index(
    name: &RelationName,
    options: Options,
    in_block: bool,
    steps: &mut Steps,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let parts = name.schema.iter().chain([&name.name]).cloned().collect();
    let qualified = QualifiedName {
        parts,
        location: name.location,
    };
    // A table of this name is told as such.
    let Some((table, index)) = dropping::find_index(&qualified, context) else {
        return Err(match schema::find_relation(name, context)? {
            Some(entry) => SqlError::new(
                state::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not an index", entry.stored.name),
            ),
            None => schema::undefined_table(name),
        });
    };
    let entry = context.session.catalog.entry(table);
    let entry = entry.ok_or_else(|| SqlError::internal("an index has a table"))?;
    if !privileges::is_member(&context.session.catalog, Oid(entry.stored.owner)) {
        let message = format!("must be owner of index {}", name.name);
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    if entry.stored.partitioning.is_some() {
        refuse_block("REINDEX INDEX", in_block)?;
        // Partitions come level by level, so that an index's parent is known before it.
        let mut belonging = vec![index.0];
        for partition in schema::partitions_of(table, context) {
            let Some(entry) = context.session.catalog.entry(partition) else {
                continue;
            };
            for index in &entry.stored.indexes {
                if index.parent.is_some_and(|parent| belonging.contains(&parent)) {
                    belonging.push(index.oid);
                    if entry.stored.partitioning.is_none() {
                        let which = Which::One(Oid(index.oid));
                        steps.add(move |steps, context| one_table(partition, which, options, steps, context));
                    }
                }
            }
        }
        return Ok(());
    }
    one_table(table, Which::One(index), options, steps, context)
}

/// REINDEX TABLE, or all partitions of one.
fn table(
    name: &RelationName,
    options: Options,
    in_block: bool,
    steps: &mut Steps,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Whoever may not shall not make others wait behind him.
    let entry = schema::find_relation(name, context)?.ok_or_else(|| schema::undefined_table(name))?;
    schema::require_owner(&entry.stored, context)?;
    if !entry.stored.kind.has_rows() {
        let message = format!("\"{}\" is not a table or materialized view", entry.stored.name);
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    let oid = Oid(entry.stored.oid);
    if entry.stored.partitioning.is_some() {
        refuse_block("REINDEX TABLE", in_block)?;
        for partition in schema::partitions_of(oid, context) {
            steps.add(move |steps, context| one_table(partition, Which::All, options, steps, context));
        }
        return Ok(());
    }
    if entry.stored.indexes.is_empty() {
        let message = match options.concurrently {
            true => format!(
                "table \"{}\" has no indexes that can be reindexed concurrently",
                entry.stored.name
            ),
            false => format!("table \"{}\" has no indexes to reindex", entry.stored.name),
        };
        schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
        return Ok(());
    }
    one_table(oid, Which::All, options, steps, context)
}

/// REINDEX SCHEMA, for its owner.
fn schema_tables(
    name: &str,
    options: Options,
    steps: &mut Steps,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let oid = context.session.catalog.schema_oid(name).ok_or_else(|| {
        let message = format!("schema \"{name}\" does not exist");
        SqlError::new(state::INVALID_SCHEMA_NAME, message)
    })?;
    let owner = context
        .session
        .catalog
        .current()
        .schemas
        .get(&oid)
        .map(|s| s.object.owner);
    if !owner.is_some_and(|owner| privileges::is_member(&context.session.catalog, Oid(owner))) {
        let message = format!("must be owner of schema {name}");
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    many(options, steps, context, |entry| entry.stored.schema == oid.0)
}

/// REINDEX DATABASE, for its owner.
fn database(
    name: Option<&str>,
    options: Options,
    steps: &mut Steps,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    check_database(name, context)?;
    many(options, steps, context, |_| true)
}

/// System catalogs are code and rows without indexes of SQL: nothing to do, for those who may.
fn system(name: Option<&str>, options: Options, context: &mut StatementContext<'_>) -> SqlResult<()> {
    if options.concurrently {
        let message = "cannot reindex system catalogs concurrently";
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    check_database(name, context)
}

fn check_database(name: Option<&str>, context: &StatementContext<'_>) -> SqlResult<()> {
    let current = &context.session.catalog.database_name;
    if name.is_some_and(|name| name != current) {
        let message = "can only reindex the currently open database";
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    if !schema::owns_database(context) {
        let message = format!("must be owner of database {current}");
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(())
}

/// Each table in a transaction of its own, partitions by themselves.
fn many(
    options: Options,
    steps: &mut Steps,
    context: &mut StatementContext<'_>,
    wanted: impl Fn(&RelationEntry) -> bool,
) -> SqlResult<()> {
    for entry in schema::all_tables(context) {
        if wanted(&entry) && entry.stored.partitioning.is_none() {
            let oid = Oid(entry.stored.oid);
            steps.add(move |steps, context| one_table(oid, Which::All, options, steps, context));
        }
    }
    Ok(())
}

/// Rebuilds indexes of a table that may have gone meanwhile.
fn one_table(
    oid: Oid,
    which: Which,
    options: Options,
    steps: &mut Steps,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // ShareRowExclusive rather than PostgreSQL's Share: two builds must not write the table's description at once.
    let (mode, writers) = match options.concurrently {
        true => (TableLockMode::ShareUpdateExclusive, index_build::Writers::GoOn),
        false => (TableLockMode::ShareRowExclusive, index_build::Writers::Wait),
    };
    let Some(entry) = locked(oid, mode, context)? else {
        return Ok(());
    };
    let mut table = entry.stored.clone();
    if !options.concurrently {
        in_use::refuse_pending_events("REINDEX INDEX", &table, context)?;
    }
    let mut replaced: Vec<(usize, IndexId)> = Vec::new();
    for (at, index) in table.indexes.iter().enumerate() {
        let wanted = match which {
            // An invalid index of an earlier failure is left alone by CONCURRENTLY, as in PostgreSQL.
            Which::All => !options.concurrently || index.valid,
            Which::One(oid) => index.oid == oid.0,
        };
        if wanted {
            if !options.concurrently {
                in_use::refuse("REINDEX INDEX", index.oid, &index.name, context)?;
            }
            // A fresh index of the engine beside the old one, under a description that is not yet written.
            let made = rebuild::rebuild_index(index.clone(), &table, writers, context)?;
            replaced.push((at, IndexId(made.index)));
        }
    }
    if options.concurrently {
        // The old ones go in later steps, when nobody reads them.
        let old = exchange_among_readers(&mut table, &replaced, context);
        write::put(StoredObject::Relation(table.clone()), context)?;
        remove_unread(oid, old, steps);
    } else {
        exchange(&mut table, &replaced, context)?;
        write::put(StoredObject::Relation(table.clone()), context)?;
    }
    if options.verbose {
        for (at, _) in replaced {
            let message = format!("index \"{}\" was reindexed", table.indexes[at].name);
            let notice = SqlError::new(state::SUCCESSFUL_COMPLETION, message);
            context.host.notice(notice.severity(Severity::Info));
        }
    }
    Ok(())
}

/// The table as it is after its lock was taken; None if it is gone.
fn locked(
    oid: Oid,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<std::sync::Arc<RelationEntry>>> {
    let Some(entry) = context.session.catalog.entry(oid) else {
        return Ok(None);
    };
    schema::lock_entry(&entry, mode, context)
}

/// The new indexes take the places of the old ones, which nobody reads any more once we have the table to ourselves.
fn exchange(
    table: &mut StoredRelation,
    replaced: &[(usize, IndexId)],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let storage = mote_common::TableId(table.table);
    // The only moment at which readers wait.
    context.engine_call(|transaction| {
        transaction.lock_table(
            storage,
            TableLockMode::AccessExclusive,
            mote_engine::WaitPolicy::Block,
        )
    })?;
    for &(at, made) in replaced {
        let index = &mut table.indexes[at];
        let old = IndexId(std::mem::replace(&mut index.index, made.0));
        index.valid = true;
        context.engine_call(|transaction| transaction.drop_index(old))?;
    }
    Ok(())
}

/// The new indexes take the names and numbers of the old ones, which stay behind as invalid ones. Answers their OIDs.
fn exchange_among_readers(
    table: &mut StoredRelation,
    replaced: &[(usize, IndexId)],
    context: &mut StatementContext<'_>,
) -> Vec<u32> {
    let mut old = Vec::with_capacity(replaced.len());
    for &(at, made) in replaced {
        let name = table.indexes[at].name.clone();
        let taken = |name: &str| table.indexes.iter().any(|index| index.name == name);
        // Under a new OID: the old OID stays with the index that works.
        let left = schema::choose_name(Oid(table.schema), &[&name], "ccold", taken, context);
        let index = StoredIndex {
            oid: context.database.catalog().allocate_oid().0,
            name: left,
            valid: false,
            clustered: false,
            parent: None,
            comment: None,
            ..table.indexes[at].clone()
        };
        old.push(index.oid);
        table.indexes[at].index = made.0;
        table.indexes.push(index);
    }
    old
}

/// Drops indexes that statements do not begin to read any more, once everybody is over who may have: two steps, as in
/// PostgreSQL, of which the first waits for readers, the second for those who came meanwhile and wrote.
pub(super) fn remove_unread(table: Oid, indexes: Vec<u32>, steps: &mut Steps) {
    steps.add_next(move |_, context| remove_now(table, &indexes, context));
    steps.add_next(move |_, context| wait_for_all(table, context).map(|_| ()));
}

/// The table as it is when all are over who hold it now; None if it is gone.
fn wait_for_all(
    table: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<std::sync::Arc<RelationEntry>>> {
    let Some(entry) = locked(table, TableLockMode::ShareUpdateExclusive, context)? else {
        return Ok(None);
    };
    schema::wait_for_lockers(entry.described.table, TableLockMode::AccessExclusive, context)?;
    Ok(context.session.catalog.entry(table))
}

/// Drops the old indexes; a table that is gone has taken them along.
fn remove_now(table: Oid, old: &[u32], context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = wait_for_all(table, context)? else {
        return Ok(());
    };
    let mut table = entry.stored.clone();
    for oid in old {
        let Some(at) = table.indexes.iter().position(|index| index.oid == *oid) else {
            continue;
        };
        let id = IndexId(table.indexes.remove(at).index);
        context.engine_call(|transaction| transaction.drop_index(id))?;
    }
    write::put(StoredObject::Relation(table), context)
}
