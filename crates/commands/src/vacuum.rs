//! VACUUM and ANALYZE: who may run them, the locks they take, what they skip and say about it.
//!
//! There is nothing to vacuum: writers prune. What ANALYZE finds out: `analyze`.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_engine::{TableLockMode, WaitPolicy};
use mote_grammar::ast::{DefinitionOption, Name, OptionValue, Vacuum, VacuumTable};

use super::{analyze, privileges, refuse_block, schema, unrecognized_option};
use crate::utility::{Command, Issued, Steps};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::system_schemas::ObjectNames;
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;
use mote_sql::catalog::CatalogView;

impl Command for Vacuum {
    fn name(&self) -> &'static str {
        if self.analyze_only { "ANALYZE" } else { "VACUUM" }
    }

    fn runs_in_recovery(&self) -> bool {
        false
    }

    fn steps(&self, issued: Issued<'_>) -> SqlResult<Option<Steps>> {
        steps(self, issued.text, issued.in_block).map(Some)
    }

    /// In a function, where ANALYZE has no transactions of its own.
    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        let options = Options::read(self, issued.text)?;
        if options.vacuum {
            return Err(SqlError::new(
                state::ACTIVE_SQL_TRANSACTION,
                "VACUUM cannot be executed from a function",
            ));
        }
        for target in targets(&self.tables, options, context)? {
            run(&target, options, context)?;
        }
        Ok(CommandTag::Word("ANALYZE"))
    }
}

/// The options that make a difference.
#[derive(Clone, Copy, Default)]
struct Options {
    vacuum: bool,
    analyze: bool,
    full: bool,
    skip_locked: bool,
}

impl Options {
    /// Options as PostgreSQL knows them, in its order of refusals. Most have nothing to act upon here.
    fn read(vacuum: &Vacuum, text: &str) -> SqlResult<Options> {
        let mut options = Options {
            vacuum: !vacuum.analyze_only,
            analyze: vacuum.analyze_only,
            ..Options::default()
        };
        let mut parallel = None;
        let mut toast = true;
        for option in &vacuum.options {
            match (&*option.name, vacuum.analyze_only) {
                ("verbose", _) => {
                    option.flag()?;
                }
                ("skip_locked", _) => options.skip_locked = option.flag()?,
                ("analyze", false) => options.analyze = option.flag()?,
                ("full", false) => options.full = option.flag()?,
                ("freeze" | "disable_page_skipping" | "truncate", false) => {
                    option.flag()?;
                }
                ("process_toast", false) => toast = option.flag()?,
                ("parallel", false) => parallel = Some(parallel_workers(option, text)?),
                // Whether indexes are looked at: there is nothing to do.
                ("index_cleanup", false) => {}
                (_, true) => return Err(unrecognized_option("ANALYZE", option, text)),
                (_, false) => return Err(unrecognized_option("VACUUM", option, text)),
            }
        }
        let refused = |message: &str| Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        if options.full && parallel.is_some_and(|workers| workers > 0) {
            return refused("VACUUM FULL cannot be performed in parallel");
        }
        if options.full && !toast {
            return refused("PROCESS_TOAST required with VACUUM FULL");
        }
        if !options.analyze && vacuum.tables.iter().any(|table| !table.columns.is_empty()) {
            return refused("ANALYZE option must be specified when a column list is provided");
        }
        Ok(options)
    }
}

/// PARALLEL's processes; there is no work for them, but the option is held to its form.
fn parallel_workers(option: &DefinitionOption, text: &str) -> SqlResult<i64> {
    let refused = |message: &str| {
        let error = SqlError::new(state::SYNTAX_ERROR, message);
        Err(error.at(option.location.position(text)))
    };
    match option.value {
        None => refused("parallel option requires a value between 0 and 1024"),
        Some(OptionValue::Integer(workers @ 0..=1024)) => Ok(workers.into()),
        Some(OptionValue::Integer(_)) => refused("parallel workers for vacuum must be between 0 and 1024"),
        Some(_) => refused("parallel requires an integer value"),
    }
}

/// A table to look at, in a transaction of its own.
struct Target {
    oid: Oid,
    /// As the statement names it; None for those found behind another or for want of a name.
    name: Option<String>,
    columns: Vec<Name>,
}

/// What VACUUM and ANALYZE do: the tables are found in the first step, and each is looked at in a transaction of its
/// own.
pub(super) fn steps(vacuum: &Vacuum, text: &str, in_block: bool) -> SqlResult<Steps> {
    let options = Options::read(vacuum, text)?;
    // ANALYZE alone may run in a block.
    if options.vacuum {
        refuse_block("VACUUM", in_block)?;
    }
    let named = vacuum.tables.clone();
    Ok(Steps::first(move |steps, context| {
        for target in targets(&named, options, context)? {
            steps.add(move |_, context| run(&target, options, context));
        }
        Ok(())
    }))
}

/// The named tables with their partitions; where none is named, all that the user may look at.
fn targets(
    named: &[VacuumTable],
    options: Options,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<Target>> {
    let mut targets = Vec::new();
    for table in named {
        expand(table, options, &mut targets, context)?;
    }
    if named.is_empty() {
        for entry in schema::all_tables(context) {
            if may_run(&entry, options.vacuum, context) {
                targets.push(Target {
                    oid: Oid(entry.stored.oid),
                    name: None,
                    columns: Vec::new(),
                });
            }
        }
    }
    Ok(targets)
}

/// A named table, and its partitions.
fn expand(
    table: &VacuumTable,
    options: Options,
    targets: &mut Vec<Target>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let name = &table.table.name;
    let catalog = &context.session.catalog;
    let found = catalog.relation_by_name(name.schema.as_deref(), &name.name);
    if let Some(builtin) = found.filter(|found| found.oid < Oid::FIRST_USER) {
        look_at_builtin(&builtin.name, options, context);
        return Ok(());
    }
    let Some(entry) = schema::find_relation(name, context)? else {
        let index = context
            .session
            .catalog
            .index_named(name.schema.as_deref(), &name.name);
        if index.is_none() {
            return Err(schema::undefined_table(name));
        }
        is_no_table(&name.name, options, context);
        return Ok(());
    };
    if !lock(&entry, true, TableLockMode::AccessShare, options, context)? {
        return Ok(());
    }
    if !may_run(&entry, options.vacuum, context) {
        return Ok(());
    }
    let oid = Oid(entry.stored.oid);
    targets.push(Target {
        oid,
        name: Some(entry.stored.name.clone()),
        columns: table.columns.clone(),
    });
    for partition in schema::partitions_of(oid, context) {
        targets.push(Target {
            oid: partition,
            name: None,
            columns: table.columns.clone(),
        });
    }
    Ok(())
}

/// Relations of pg_catalog are made by code: there is nothing to clean, and the planner knows them.
fn look_at_builtin(name: &str, options: Options, context: &mut StatementContext<'_>) {
    if !context.session.identity().superuser {
        let word = if options.vacuum { "vacuum" } else { "analyze" };
        let message = format!("skipping \"{name}\" --- only superuser can {word} it");
        schema::warning(state::WARNING, message, context);
    }
}

/// Owners of the table or the database may; others are told.
fn may_run(entry: &RelationEntry, vacuum: bool, context: &mut StatementContext<'_>) -> bool {
    let owner = Oid(entry.stored.owner);
    if privileges::is_member(&context.session.catalog, owner) || schema::owns_database(context) {
        return true;
    }
    let word = if vacuum { "vacuum" } else { "analyze" };
    let message = format!(
        "skipping \"{}\" --- only table or database owner can {word} it",
        entry.stored.name
    );
    schema::warning(state::WARNING, message, context);
    false
}

/// False: skipped, since somebody else has it; that is said of tables that the statement names.
fn lock(
    entry: &RelationEntry,
    named: bool,
    mode: TableLockMode,
    options: Options,
    context: &mut StatementContext<'_>,
) -> SqlResult<bool> {
    // SKIP_LOCKED.
    let policy = match options.skip_locked && entry.stored.kind.has_rows() {
        true => WaitPolicy::NoWait,
        false => WaitPolicy::Block,
    };
    match schema::lock_entry_with(entry, mode, policy, context) {
        Ok(_) => Ok(true),
        Err(error) if policy == WaitPolicy::NoWait && error.state() == state::LOCK_NOT_AVAILABLE => {
            if named {
                let (name, code) = (&entry.stored.name, state::LOCK_NOT_AVAILABLE);
                skipping(options, name, "lock not available", code, context);
            }
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// A WARNING that names the table.
fn skipping(options: Options, name: &str, reason: &str, code: SqlState, context: &mut StatementContext<'_>) {
    let word = if options.vacuum { "vacuum" } else { "analyze" };
    schema::warning(
        code,
        format!("skipping {word} of \"{name}\" --- {reason}"),
        context,
    );
}

/// One table: it may have gone since the first step.
fn is_no_table(name: &str, options: Options, context: &mut StatementContext<'_>) {
    let word = if options.vacuum { "vacuum" } else { "analyze" };
    let message = format!("skipping \"{name}\" --- cannot {word} non-tables or special system tables");
    schema::warning(state::WARNING, message, context);
}

fn run(target: &Target, options: Options, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let gone = |context: &mut StatementContext<'_>| {
        if let Some(name) = &target.name {
            let reason = "relation no longer exists";
            skipping(options, name, reason, state::UNDEFINED_TABLE, context);
        }
        Ok(())
    };
    let Some(entry) = context.session.catalog.entry(target.oid) else {
        return gone(context);
    };
    // FULL rewrites the table in PostgreSQL; here only its lock is left of that.
    let mode = match options.full {
        true => TableLockMode::AccessExclusive,
        false => TableLockMode::ShareUpdateExclusive,
    };
    if !lock(&entry, target.name.is_some(), mode, options, context)? {
        return Ok(());
    }
    // It may have been dropped, or given to somebody else, while we waited.
    let Some(entry) = context.session.catalog.entry(target.oid) else {
        return gone(context);
    };
    if !may_run(&entry, options.vacuum, context) {
        return Ok(());
    }
    if !entry.stored.kind.has_rows() {
        is_no_table(&entry.stored.name, options, context);
        return Ok(());
    }
    let now_us = context.database.now_us();
    // There is nothing to do; pg_stat_user_tables shows that it was asked for.
    if options.vacuum && entry.stored.partitioning.is_none() {
        context.database.upkeep().vacuumed(target.oid, now_us);
    }
    if !options.analyze {
        return Ok(());
    }
    // A sample of the parent is one of its tables too: these are waited for, whatever is to be skipped.
    for oid in context.session.catalog.current().descendants_of(target.oid) {
        if let Some(below) = context.session.catalog.entry(oid) {
            schema::lock_entry(&below, TableLockMode::AccessShare, context)?;
        }
    }
    // Behind the locks, as in PostgreSQL: a table that is skipped is not told of its columns.
    check_columns(target, &entry)?;
    analyze::run(&entry, &target.columns, context)?;
    // ANALYZE by the server itself is counted apart.
    let by_itself = context.session.is_unattended;
    context.database.upkeep().analyzed(target.oid, by_itself, now_us);
    Ok(())
}

/// The columns that are named: there, and each once.
fn check_columns(target: &Target, entry: &RelationEntry) -> SqlResult<()> {
    for (position, name) in target.columns.iter().enumerate() {
        let table = &entry.stored;
        if !table.columns.iter().any(|c| !c.dropped && c.name == **name) {
            return Err(SqlError::new(
                state::UNDEFINED_COLUMN,
                format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
            ));
        }
        if target.columns[..position].contains(name) {
            return Err(SqlError::new(
                state::DUPLICATE_COLUMN,
                format!(
                    "column \"{name}\" of relation \"{}\" appears more than once",
                    table.name
                ),
            ));
        }
    }
    Ok(())
}
