//! Statements that are not queries: definitions, settings, COPY, cursors, maintenance.
//!
//! Read `utility::Command` first (what is said of a command), `context of a definition` in `schema`, then one file per
//! family of statements: the description stands at its top. Transaction control is the
//! session's (`session::transaction`).
//!
//! Promises: a definition is checked, locked and written within the caller's transaction and rolls back with it;
//! a clause that is not implemented answers 0A000 by name. Leaves out: privileges of queries (checked when they run).

mod alter_children;
mod analyze;
mod alter_column;
mod alter_system;
mod alter_table;
pub mod attach_partition;
mod cluster;
mod composite_type;
mod comment;
mod constraint;
mod copy;
mod create_index;
mod create_partition;
mod create_table;
mod create_table_as;
mod cursor;
mod database;
mod default_privileges;
mod domain;
mod drop;
mod enum_type;
mod explain;
mod extension;
mod grant;
mod in_use;
mod index_keys;
mod index_options;
mod internal;
mod inherit;
mod large_object;
mod like;
mod maintenance;
mod materialized_view;
mod notify;
mod owned;
mod partition;
mod partition_index;
mod prepared_statement;
mod publication;
mod range_type;
mod query_names;
mod rebuild;
mod reindex;
mod rename;
mod replica_identity;
mod role;
mod routine;
mod row_checks;
pub mod schema;
mod schema_elements;
mod sequence;
mod set;
mod set_constraints;
pub mod temporary;
mod trigger;
mod trigger_clones;
mod truncate;
mod unbuilt;
mod type_users;
mod user_type;
mod vacuum;
mod view;
mod view_columns;
mod view_follow;

use mote_catalog::{acl, privileges};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{DefinitionOption, Statement};

use crate::utility::Command;

/// The description of a statement: the one place that knows them all.
pub fn of(statement: &Statement) -> &dyn Command {
    match statement {
        Statement::Query(statement) => &**statement,
        Statement::Insert(statement) => &**statement,
        Statement::Update(statement) => &**statement,
        Statement::Delete(statement) => &**statement,
        Statement::Merge(statement) => &**statement,
        Statement::CreateTable(statement) => &**statement,
        Statement::CreateTableAs(statement) => &**statement,
        Statement::AlterTable(statement) => &**statement,
        Statement::CreateIndex(statement) => &**statement,
        Statement::CreateSchema(statement) => &**statement,
        Statement::CreateSequence(statement) => &**statement,
        Statement::AlterSequence(statement) => &**statement,
        Statement::CreateView(statement) => &**statement,
        Statement::CreateFunction(statement) => &**statement,
        Statement::AlterFunction(statement) => &**statement,
        Statement::CreateTrigger(statement) => &**statement,
        Statement::CreateRole(statement) => &**statement,
        Statement::AlterRole(statement) => &**statement,
        Statement::AlterRoleSet(statement) => &**statement,
        Statement::DropRole(statement) => &**statement,
        Statement::DropOwned(statement) => &**statement,
        Statement::ReassignOwned(statement) => &**statement,
        Statement::CreateDatabase(statement) => &**statement,
        Statement::DropDatabase(statement) => &**statement,
        Statement::AlterDatabase(statement) => &**statement,
        Statement::AlterDatabaseSet(statement) => &**statement,
        Statement::AlterSystem(statement) => &**statement,
        Statement::CreateExtension(statement) => &**statement,
        Statement::AlterExtension(statement) => &**statement,
        Statement::CreatePublication(statement) => &**statement,
        Statement::AlterPublication(statement) => &**statement,
        Statement::CreateEnum(statement) => &**statement,
        Statement::CreateRangeType(statement) => &**statement,
        Statement::AlterEnum(statement) => &**statement,
        Statement::CreateCompositeType(statement) => &**statement,
        Statement::CreateDomain(statement) => &**statement,
        Statement::AlterDomain(statement) => &**statement,
        Statement::Drop(statement) => &**statement,
        Statement::Truncate(statement) => &**statement,
        Statement::Comment(statement) => &**statement,
        Statement::Grant(statement) => &**statement,
        Statement::GrantRole(statement) => &**statement,
        Statement::AlterDefaultPrivileges(statement) => &**statement,
        Statement::Rename(statement) => &**statement,
        Statement::AlterOwner(statement) => &**statement,
        Statement::AlterObjectSchema(statement) => &**statement,
        Statement::RefreshMaterializedView(statement) => &**statement,
        Statement::Transaction(statement) => statement,
        Statement::Set(statement) => &**statement,
        Statement::Show(statement) => statement,
        Statement::SetConstraints(statement) => &**statement,
        Statement::Prepare(statement) => &**statement,
        Statement::Execute(statement) => &**statement,
        Statement::Deallocate(statement) => statement,
        Statement::DeclareCursor(statement) => &**statement,
        Statement::Fetch(statement) => statement,
        Statement::ClosePortal(statement) => statement,
        Statement::Copy(statement) => &**statement,
        Statement::Explain(statement) => &**statement,
        Statement::Vacuum(statement) => &**statement,
        Statement::Checkpoint => &maintenance::Checkpoint,
        Statement::Cluster(statement) => &**statement,
        Statement::Reindex(statement) => &**statement,
        Statement::Lock(statement) => &**statement,
        Statement::Listen(statement) => statement,
        Statement::Notify(statement) => statement,
        Statement::Unlisten(statement) => statement,
        Statement::Discard(statement) => statement,
        Statement::Do(statement) => &**statement,
        Statement::Call(statement) => &**statement,
        Statement::Unsupported(statement) => statement,
    }
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

/// 42601 for an option in brackets that the command does not have, at its place.
fn unrecognized_option(command: &str, option: &DefinitionOption, text: &str) -> SqlError {
    let message = format!("unrecognized {command} option \"{}\"", option.name);
    SqlError::new(state::SYNTAX_ERROR, message).at(option.location.position(text))
}
