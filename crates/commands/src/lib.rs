//! Statements that are no queries (definitions, settings, COPY, cursors, maintenance), and the bodies of routines.
//!
//! Read in this order:
//!  1. `utility`: what a command is, and what commands, bodies of routines and the session agree upon; [`of`] here is the one
//!     match over all statements.
//!  2. `routine`: the one door through which functions and procedures run, whatever their language.
//!  3. `schema` (names, owners and locks of what a definition is about), `internal` (queries and texts that commands run).
//!  4. One file or folder per family of statements; the description stands at its top.
//!  5. What goes along with a DROP: `uses` (who uses a routine, a type, a relation), `cascade` (taking it away), `dropping`
//!     (words and small changes that every DROP shares), `drop` (the statement).
//!
//! Promises: a definition is checked, locked and written within the caller's transaction and rolls back with it; a command
//! finds what it may use in its context and never the session itself; a clause that is not implemented answers 0A000 by name;
//! every failure is an `SqlError` with PostgreSQL's SQLSTATE. A family uses families of lower layers only
//! (`tests/layers/layers.txt`); a cascade that ends in ALTER TABLE asks [`of`], as a session does.
//! Leaves out: transaction control and prepared statements (the session's, `mote_exec`), portals (`mote_portals`), PL/pgSQL
//! (`mote_plpgsql`), operators and expressions (`mote_executor`), privileges of queries (checked when they run).

#![forbid(unsafe_code)]

mod acl_change;
mod alter_children;
mod alter_column;
mod alter_one_table;
mod alter_system;
mod alter_table;
mod analyze;
pub mod attach_partition;
mod cascade;
mod cast;
mod cluster;
mod columns;
mod comment;
mod composite_type;
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
mod dropping;
mod enum_type;
mod existing_index;
mod explain;
mod extension;
mod extension_members;
mod filling;
mod function;
mod grant;
mod in_use;
mod index_build;
mod index_keys;
mod index_options;
mod inherit;
mod internal;
mod kept_settings;
mod large_object;
mod like;
mod maintenance;
mod materialized_view;
mod moving;
mod new_privileges;
mod not_null;
mod notify;
pub mod on_commit;
mod owned;
mod ownership;
mod partition;
mod partition_index;
mod partition_keys;
mod prepared_statement;
mod publication;
mod qualify;
mod query_names;
mod range_type;
mod rebuild;
mod reindex;
mod rename;
mod replica_identity;
mod role;
pub mod routine;
mod row_checks;
mod schema;
mod schema_elements;
mod security_label;
mod sequence;
mod set;
mod set_constraints;
mod temporary;
mod trigger;
mod trigger_clones;
mod truncate;
mod unbuilt;
pub mod utility;
mod user_type;
mod uses;
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
        Statement::CreateCast(statement) => &**statement,
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
        Statement::SecurityLabel(statement) => statement,
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
