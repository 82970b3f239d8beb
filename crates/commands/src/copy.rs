//! COPY: rows in bulk, between a table or query and the client or a file of the server.
//!
//! Options, formats and the way of rows into tables are `mote_copy`'s; `from` puts them together, `to` writes.
//!
//! Promises: formats, options and messages of PostgreSQL 15; a row is checked and written as INSERT would.
//! Leaves out: PROGRAM, ON_ERROR and later options.

mod from;
mod to;

use std::io::ErrorKind;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast;
use mote_grammar::ast::{CopySource, Name, RelationName};
use mote_sql::catalog::{CatalogView, Relation};

use super::{privileges, schema};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::predefined_roles::{PG_READ_SERVER_FILES, PG_WRITE_SERVER_FILES};
use mote_catalog::tag::CommandTag;
use mote_copy::options::CopyOptions;
use mote_executor::context::StatementContext;

impl Command for ast::Copy {
    fn name(&self) -> &'static str {
        if self.from { "COPY FROM" } else { "COPY TO" }
    }

    fn is_read_only(&self) -> bool {
        !self.from
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, issued.text, context)
    }
}

/// COPY in either direction. The tag tells the rows that were written or sent.
pub(super) fn run(
    copy: &ast::Copy,
    text: &Arc<str>,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let options = CopyOptions::parse(&copy.options, copy.from, text)?;
    let rows = match (&copy.source, copy.from) {
        (CopySource::Table(name), true) => from::run(copy, name, &options, context)?,
        (CopySource::Table(name), false) => to::table(copy, name, &options, context)?,
        (CopySource::Query(query), _) => to::query(query, text, copy, &options, context)?,
    };
    Ok(CommandTag::Copy(rows))
}

/// The relation of COPY TO. Tables made by code may be copied, too.
fn copied_relation(name: &RelationName, context: &StatementContext<'_>) -> SqlResult<Arc<Relation>> {
    let catalog = &context.session.catalog;
    catalog
        .relation_by_name(name.schema.as_deref(), &name.name)
        .ok_or_else(|| schema::no_rows_there(name, context))
}

/// Positions of the columns that are copied: those listed, or all but generated ones.
fn copied_columns(listed: &[Name], relation: &Relation) -> SqlResult<Vec<usize>> {
    let live = relation
        .columns
        .iter()
        .enumerate()
        // Dropped columns are no columns of the file.
        .filter(|(_, column)| !column.dropped);
    if listed.is_empty() {
        return Ok(live
            // Generated columns are computed by whoever reads the file.
            .filter(|(_, column)| column.generated.is_none())
            .map(|(position, _)| position)
            .collect());
    }
    let mut positions = Vec::with_capacity(listed.len());
    for name in listed {
        let found = live.clone().find(|(_, column)| column.name == **name);
        let (position, column) = found.ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_COLUMN,
                format!(
                    "column \"{name}\" of relation \"{}\" does not exist",
                    relation.name
                ),
            )
        })?;
        if column.generated.is_some() {
            return Err(SqlError::new(
                state::INVALID_COLUMN_REFERENCE,
                format!("column \"{name}\" is a generated column"),
            )
            .detail("Generated columns cannot be used in COPY."));
        }
        if positions.contains(&position) {
            return Err(SqlError::new(
                state::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// Files of the server are for superusers and members of a role that exists for this.
fn require_file_access(reads: bool, context: &StatementContext<'_>) -> SqlResult<()> {
    let (oid, role, direction) = if reads {
        (PG_READ_SERVER_FILES, "pg_read_server_files", "from")
    } else {
        (PG_WRITE_SERVER_FILES, "pg_write_server_files", "to")
    };
    // Superusers are members of every role.
    if privileges::is_member(&context.session.catalog, oid) {
        return Ok(());
    }
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("must be superuser or have privileges of the {role} role to COPY {direction} a file"),
    )
    .hint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."))
}

/// The operating system's reason in PostgreSQL's words, where it has an SQLSTATE of its own.
#[cold]
fn file_error(error: &std::io::Error, message: String) -> SqlError {
    let (code, reason) = match error.kind() {
        ErrorKind::NotFound => (state::UNDEFINED_FILE, "No such file or directory".to_string()),
        ErrorKind::PermissionDenied => (state::INSUFFICIENT_PRIVILEGE, "Permission denied".to_string()),
        _ => (state::IO_ERROR, error.to_string()),
    };
    SqlError::new(code, format!("{message}: {reason}"))
}
