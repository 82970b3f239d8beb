//! CREATE TABLE AS and SELECT INTO: a table of a query's rows. CREATE MATERIALIZED VIEW is the same statement to the grammar.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableDefinition;
use mote_grammar::ast::{CreateTableAs, ParsedStatement, Persistence, Statement};

use super::{columns, create_table, filling, internal, materialized_view, schema, temporary, view};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredKind, StoredObject};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateTableAs {
    fn name(&self) -> &'static str {
        match self.materialized_view {
            true => materialized_view::TAG,
            false => "CREATE TABLE AS",
        }
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        match self.materialized_view {
            true => materialized_view::create(self, issued.text, context),
            false => run(self, issued.text, context),
        }
    }
}

/// CREATE TABLE AS and SELECT INTO.
pub(super) fn run(
    create: &CreateTableAs,
    text: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    const NO_DATA: CommandTag = CommandTag::Word("CREATE TABLE AS");
    refuse_unsupported(create)?;
    let (schema_oid, _) = schema::schema_for_new(&create.name, create.persistence, context)?;
    // Ahead of the query: it may run long, and the name is looked for only once.
    schema::reserve_name(schema_oid, &create.name.name, context)?;
    if schema::relation_exists(schema_oid, &create.name.name, context) {
        if create.if_not_exists {
            let message = format!("relation \"{}\" already exists, skipping", create.name.name);
            schema::notice(state::DUPLICATE_TABLE, message, context);
            return Ok(NO_DATA);
        }
        return Err(schema::already_exists(&create.name.name));
    }
    schema::require_free_row_type(schema_oid, &create.name.name, context)?;
    let statement = ParsedStatement {
        statement: create.source.clone(),
        range: 0..text.len(),
        warnings: Vec::new(),
    };
    // Privileges are checked and locks taken; the query runs when the table is there.
    let mut query = internal::Query::prepare(&statement, text, context)?;
    if create.columns.len() > query.output().len() {
        return Err(SqlError::new(
            state::SYNTAX_ERROR,
            "too many column names were specified",
        ));
    }
    let columns = view::columns_of(query.output(), &create.columns)?;
    let owner = context.session.identity().user_oid.0;
    let mut table = schema::new_relation(
        schema_oid,
        &create.name.name,
        StoredKind::Table,
        owner,
        columns,
        context,
    );
    table.options = create_table::storage_options(&create.options)?;
    table.unlogged = create.persistence == Persistence::Unlogged;
    table.on_commit = temporary::on_commit(create.on_commit, &table)?;
    let definition = TableDefinition::new(table.columns.iter().map(columns::column_storage).collect());
    table.table = schema::make_storage(&table, &definition, context)?.0;
    let oid = Oid(table.oid);
    // The rows are written by the description in the catalog.
    write::put(StoredObject::Relation(table), context)?;
    if !create.with_data {
        return Ok(NO_DATA);
    }
    filling::fill(oid, &mut query, context).map(CommandTag::SelectInto)
}

/// 0A000 for what is parsed and not implemented.
fn refuse_unsupported(create: &CreateTableAs) -> SqlResult<()> {
    if let Statement::Execute(_) = create.source {
        return Err(SqlError::unsupported("CREATE TABLE AS EXECUTE"));
    }
    create_table::check_storage(create.tablespace.as_deref(), create.access_method.as_deref())
}
