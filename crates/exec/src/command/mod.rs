//! Statements that are not queries: definitions, settings, COPY, cursors, maintenance.
//!
//! Read `context of a definition` in `schema` first, then one file per statement family. Transaction control is the
//! session's (`session::transaction`).
//!
//! Promises: a definition is checked, locked and written within the caller's transaction and rolls back with it;
//! a clause that is not implemented answers 0A000 by name. Leaves out: privileges of queries (checked when they run).

mod acl;
mod alter_children;
mod alter_column;
mod alter_table;
pub(crate) mod attach_partition;
mod cluster;
mod comment;
mod constraint;
mod copy;
mod create_index;
mod create_partition;
mod create_table;
mod create_table_as;
mod database;
mod domain;
mod drop;
mod enum_type;
mod grant;
mod index_keys;
mod internal;
mod inherit;
mod like;
mod maintenance;
mod notify;
mod partition;
mod partition_index;
use mote_catalog::privileges;
use mote_engine::TableLockMode;
use mote_grammar::ast::TransactionStatement;
mod rebuild;
mod reindex;
mod rename;
mod rewrite;
mod role;
mod routine;
mod row_checks;
pub(crate) mod schema;
mod schema_elements;
mod sequence;
mod set;
mod set_constraints;
#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;
pub(crate) mod temporary;
mod trigger;
mod trigger_clones;
mod truncate;
mod user_type;
mod vacuum;
mod view;

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{DefinitionOption, Discard, OptionValue, Statement};
use mote_planner::plan::OutputColumn;
use mote_types::{ColumnType, oid};

use crate::session::{BodyContext, Session, Steps};
use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;

/// Statements that act on the session itself rather than within its transaction. None: not one of them.
pub(crate) fn run_on_session(
    session: &mut Session,
    statement: &Statement,
    text: &Arc<str>,
    host: &mut dyn Host,
) -> SqlResult<Option<CommandTag>> {
    let tag = match statement {
        Statement::Set(set) => set::set(session, set, host)?,
        Statement::Show(show) => set::show(session, show, host)?,
        Statement::Prepare(prepare) => session.prepare_statement(prepare, text, host)?,
        Statement::Execute(execute) => session.execute_statement(execute, text, host)?,
        Statement::Deallocate(deallocate) => session.deallocate(deallocate)?,
        Statement::DeclareCursor(declare) => session.declare_cursor(declare, text, host)?,
        Statement::Fetch(fetch) => session.fetch(fetch, host)?,
        Statement::ClosePortal(close) => session.close_cursor(close)?,
        Statement::Explain(explain) => session.explain(explain, text, host)?,
        Statement::AlterTable(alter) => match session.detach_concurrently(alter, text, host)? {
            Some(tag) => tag,
            None => return Ok(None),
        },
        Statement::Discard(discard) => session.discard(*discard, host)?,
        _ => return Ok(None),
    };
    Ok(Some(tag))
}

/// Statements that run in transactions of their own, and what their tag says. None: not one of them.
pub(crate) fn steps(
    statement: &Statement,
    text: &str,
    in_block: bool,
) -> SqlResult<Option<(Steps, CommandTag)>> {
    let steps = match statement {
        Statement::Vacuum(vacuum) => vacuum::steps(vacuum, text, in_block)?,
        Statement::Cluster(cluster) => cluster::steps(cluster, text, in_block)?,
        Statement::Reindex(reindex) => reindex::steps(reindex, text, in_block)?,
        Statement::Drop(drop) if drop.concurrently => drop::concurrently(drop, in_block)?,
        _ => return Ok(None),
    };
    Ok(Some((steps, CommandTag::Word(name(statement)))))
}

/// Not inside a transaction block: the statement commits on its way.
fn refuse_block(what: &str, in_block: bool) -> SqlResult<()> {
    if !in_block {
        return Ok(());
    }
    Err(SqlError::new(
        state::ACTIVE_SQL_TRANSACTION,
        format!("{what} cannot run inside a transaction block"),
    ))
}

fn unrecognized_option(command: &str, option: &DefinitionOption, text: &str) -> SqlError {
    let message = format!("unrecognized {command} option \"{}\"", option.name);
    SqlError::new(state::SYNTAX_ERROR, message).at(option.location.position(text))
}

/// Whether an option of a maintenance statement is on.
fn flag(option: &DefinitionOption) -> SqlResult<bool> {
    let word = match &option.value {
        None => return Ok(true),
        Some(OptionValue::Boolean(value)) => return Ok(*value),
        Some(OptionValue::Integer(0)) => return Ok(false),
        Some(OptionValue::Integer(1)) => return Ok(true),
        Some(OptionValue::String(word)) => word.to_ascii_lowercase(),
        Some(_) => String::new(),
    };
    match word.as_str() {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => Err(SqlError::new(
            state::SYNTAX_ERROR,
            format!("{} requires a Boolean value", option.name),
        )),
    }
}

/// Runs a statement within the transaction of the context.
pub(crate) fn run(
    statement: &Statement,
    text: &Arc<str>,
    in_block: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    match statement {
        Statement::Set(set) => set::set_within(set, context),
        Statement::CreateTable(create) => create_table::run(create, context),
        Statement::AlterTable(alter) => alter_table::run(alter, context),
        Statement::CreateTableAs(create) => create_table_as::run(create, text, context),
        Statement::CreateIndex(create) => create_index::run(create, in_block, context),
        Statement::CreateSequence(create) => sequence::create(create, context),
        Statement::AlterSequence(alter) => sequence::alter(alter, context),
        Statement::CreateTrigger(create) => trigger::create(create, context),
        Statement::CreateView(create) => view::create(create, text, context),
        Statement::CreateFunction(create) => routine::create(create, context),
        Statement::AlterFunction(alter) => routine::alter(alter, context),
        Statement::Call(_) | Statement::Do(_) => run_body(statement, &mut BodyContext::Statement(context)),
        Statement::CreateEnum(create) => enum_type::create(create, context),
        Statement::AlterEnum(alter) => enum_type::alter(alter, context),
        Statement::CreateDomain(create) => domain::create(create, context),
        Statement::AlterDomain(alter) => domain::alter(alter, context),
        Statement::CreateRole(create) => role::create(create, context),
        Statement::AlterRole(alter) => role::alter(alter, context),
        Statement::AlterRoleSet(alter) => role::alter_settings(alter, context),
        Statement::DropRole(drop) => role::drop(drop, context),
        Statement::CreateDatabase(create) => database::create(create, in_block, context),
        Statement::DropDatabase(drop) => database::drop(drop, in_block, context),
        Statement::Comment(comment) => comment::run(comment, context),
        Statement::Grant(grant) => grant::run(grant, context),
        Statement::GrantRole(grant) => grant::role(grant, context),
        Statement::Rename(rename) => rename::run(rename, context),
        Statement::AlterOwner(alter) => rename::owner(alter, context),
        Statement::AlterObjectSchema(alter) => rename::set_schema(alter, context),
        Statement::CreateSchema(create) => schema::create(create, context),
        Statement::Drop(drop) => drop::run(drop, context),
        Statement::Truncate(truncate) => truncate::run(truncate, context),
        Statement::Copy(copy) => copy::run(copy, text, context),
        Statement::SetConstraints(set) => set_constraints::run(set, in_block, context),
        Statement::Listen(channel) => notify::listen(channel, context),
        Statement::Unlisten(unlisten) => notify::unlisten(unlisten, context),
        Statement::Notify(notify) => notify::notify(notify, context),
        Statement::Lock(lock) => maintenance::lock(lock, in_block, context),
        Statement::Checkpoint => maintenance::checkpoint(context),
        Statement::Unsupported(name) => Err(SqlError::unsupported(name)),
        other => Err(SqlError::unsupported(name(other))),
    }
}

/// CALL and DO, which may end the transaction of what they run in.
pub(crate) fn run_body(statement: &Statement, body: &mut BodyContext<'_, '_>) -> SqlResult<CommandTag> {
    match statement {
        Statement::Call(call) => routine::call(call, body),
        Statement::Do(block) => routine::execute_block(block, body),
        other => Err(SqlError::unsupported(name(other))),
    }
}

/// What a READ ONLY transaction may run besides queries.
pub(crate) fn allowed_read_only(statement: &Statement) -> bool {
    match statement {
        Statement::Copy(copy) => !copy.from,
        // What they run is checked statement by statement.
        Statement::Call(_) | Statement::Do(_) => true,
        Statement::Lock(_) | Statement::Checkpoint | Statement::Set(_) | Statement::SetConstraints(_) => true,
        Statement::Listen(_) | Statement::Unlisten(_) | Statement::Notify(_) => true,
        _ => false,
    }
}

/// What a node that follows runs at all. Most of the rest is refused because its transactions are READ ONLY.
pub(crate) fn allowed_in_recovery(statement: &Statement) -> bool {
    match statement {
        Statement::Listen(_) | Statement::Notify(_) | Statement::Vacuum(_) => false,
        Statement::Lock(lock) => maintenance::mode(lock) <= TableLockMode::RowExclusive,
        _ => true,
    }
}

/// The command that makes or decides a prepared transaction.
pub(crate) fn prepared_transaction_name(statement: &TransactionStatement) -> Option<&'static str> {
    match statement {
        TransactionStatement::PrepareTransaction { .. } => Some("PREPARE TRANSACTION"),
        TransactionStatement::CommitPrepared { .. } => Some("COMMIT PREPARED"),
        TransactionStatement::RollbackPrepared { .. } => Some("ROLLBACK PREPARED"),
        _ => None,
    }
}

/// The columns of a utility statement that yields rows.
pub(crate) fn describe(statement: &Statement, session: &Session) -> SqlResult<Option<Arc<[OutputColumn]>>> {
    match statement {
        Statement::Show(show) => Ok(Some(set::show_columns(show).into())),
        Statement::Explain(_) => Ok(Some([text_column("QUERY PLAN")].into())),
        Statement::Execute(execute) => session.describe_execute(execute),
        Statement::Fetch(fetch) => session.describe_fetch(fetch),
        Statement::Call(call) => Ok(routine::describe_call(call, &session.state)?.map(Arc::from)),
        _ => Ok(None),
    }
}

/// A column of a utility's result.
pub(crate) fn text_column(name: &str) -> OutputColumn {
    OutputColumn {
        name: name.to_string(),
        ty: ColumnType::new(oid::TEXT),
        table: mote_common::Oid::INVALID,
        attribute: 0,
    }
}

pub(super) fn name_of_routine_command(procedure: bool) -> &'static str {
    if procedure {
        "CREATE PROCEDURE"
    } else {
        "CREATE FUNCTION"
    }
}

/// The command's name, as in its tag and in errors.
pub(crate) fn name(statement: &Statement) -> &'static str {
    match statement {
        Statement::Explain(_) => "EXPLAIN",
        Statement::Show(_) => "SHOW",
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateTableAs(_) => "CREATE TABLE AS",
        Statement::AlterTable(_) => "ALTER TABLE",
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::CreateSchema(_) => "CREATE SCHEMA",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::CreateView(_) => "CREATE VIEW",
        Statement::CreateFunction(create) => name_of_routine_command(create.procedure),
        Statement::AlterFunction(alter) => match alter.kind {
            mote_grammar::ast::ObjectKind::Procedure => "ALTER PROCEDURE",
            mote_grammar::ast::ObjectKind::Routine => "ALTER ROUTINE",
            _ => "ALTER FUNCTION",
        },
        Statement::CreateTrigger(_) => "CREATE TRIGGER",
        Statement::CreateRole(_) => "CREATE ROLE",
        Statement::AlterRole(_) | Statement::AlterRoleSet(_) => "ALTER ROLE",
        Statement::DropRole(_) => "DROP ROLE",
        Statement::CreateDatabase(_) => "CREATE DATABASE",
        Statement::DropDatabase(_) => "DROP DATABASE",
        Statement::AlterDatabaseSet(_) => "ALTER DATABASE",
        Statement::CreateExtension(_) => "CREATE EXTENSION",
        Statement::CreateEnum(_) | Statement::CreateCompositeType(_) => "CREATE TYPE",
        Statement::AlterEnum(_) => "ALTER TYPE",
        Statement::CreateDomain(_) => "CREATE DOMAIN",
        Statement::AlterDomain(_) => "ALTER DOMAIN",
        Statement::Drop(drop) => drop::command_name(drop.kind),
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Comment(_) => "COMMENT",
        Statement::Grant(grant) if grant.revoke => "REVOKE",
        Statement::Grant(_) => "GRANT",
        Statement::GrantRole(grant) if grant.revoke => "REVOKE ROLE",
        Statement::GrantRole(_) => "GRANT ROLE",
        Statement::AlterDefaultPrivileges(_) => "ALTER DEFAULT PRIVILEGES",
        Statement::Rename(_) => "ALTER RENAME",
        Statement::AlterOwner(_) => "ALTER OWNER",
        Statement::AlterObjectSchema(_) => "ALTER SET SCHEMA",
        Statement::RefreshMaterializedView(_) => "REFRESH MATERIALIZED VIEW",
        Statement::SetConstraints(_) => "SET CONSTRAINTS",
        Statement::Copy(copy) if copy.from => "COPY FROM",
        Statement::Copy(_) => "COPY TO",
        Statement::Vacuum(vacuum) if vacuum.analyze_only => "ANALYZE",
        Statement::Vacuum(_) => "VACUUM",
        Statement::Cluster(_) => "CLUSTER",
        Statement::Reindex(_) => "REINDEX",
        Statement::Listen(_) => "LISTEN",
        Statement::Notify(_) => "NOTIFY",
        Statement::Unlisten(_) => "UNLISTEN",
        Statement::Do(_) => "DO",
        Statement::Call(_) => "CALL",
        Statement::Merge(_) => "MERGE",
        Statement::Discard(Discard::All) => "DISCARD ALL",
        Statement::Discard(_) => "DISCARD",
        Statement::Lock(_) => "LOCK TABLE",
        Statement::Checkpoint => "CHECKPOINT",
        Statement::Unsupported(name) => name,
        _ => "this statement",
    }
}
