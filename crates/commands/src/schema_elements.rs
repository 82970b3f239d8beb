//! The statements inside of CREATE SCHEMA: objects of the new schema, made as its owner, with it in front of the
//! search path.
//!
//! As in PostgreSQL they run by their kind (sequences, tables, views, indexes, triggers, grants), so that a statement
//! may come before those that make what it uses.

use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_engine::Access;
use mote_grammar::ast::{RelationName, Statement, deparse};

use crate::routine::call;
use crate::utility::Issued;
use mote_executor::context::StatementContext;

const INVALID_SCHEMA_DEFINITION: SqlState = SqlState::new("42P15");

/// Runs the elements by their kind, within the transaction of CREATE SCHEMA.
pub(super) fn run(
    schema: &str,
    owner: Oid,
    elements: &[Statement],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut ordered = elements.to_vec();
    // Before anything runs: an element for another schema refuses the whole statement.
    for element in &mut ordered {
        if let Some(name) = relation_of(element) {
            put_into(name, schema)?;
        }
    }
    // Stable: elements of one kind keep their order.
    ordered.sort_by_key(order);
    let path = context.session.settings.get("search_path")?.trim_start();
    let first = deparse::identifier(schema);
    let path = match path.is_empty() {
        true => first,
        false => format!("{first}, {path}"),
    };
    let settings = [("search_path".to_string(), path)];
    let owner = (owner != context.session.identity().user_oid).then_some(owner);
    call::changed(owner, &settings, context, |context| {
        let text = context.session.statement_text.clone();
        for element in &ordered {
            // Each element sees what those before it have made.
            context.transaction.start_statement(Access::Write);
            let issued = Issued {
                text: &text,
                in_block: true,
            };
            super::of(element).run(issued, context)?;
        }
        Ok(())
    })
}

/// The name that must lie in the new schema.
fn relation_of(element: &mut Statement) -> Option<&mut RelationName> {
    match element {
        Statement::CreateSequence(create) => Some(&mut create.name),
        Statement::CreateTable(create) => Some(&mut create.name),
        Statement::CreateView(create) => Some(&mut create.name),
        Statement::CreateIndex(create) => Some(&mut create.table),
        Statement::CreateTrigger(create) => Some(&mut create.table),
        _ => None,
    }
}

/// Completes a name with the schema; 42P15 for another one.
fn put_into(name: &mut RelationName, schema: &str) -> SqlResult<()> {
    match &name.schema {
        Some(other) if **other != *schema => Err(SqlError::new(
            INVALID_SCHEMA_DEFINITION,
            format!("CREATE specifies a schema ({other}) different from the one being created ({schema})"),
        )),
        Some(_) => Ok(()),
        None => {
            name.schema = Some(schema.into());
            Ok(())
        }
    }
}

/// The place of an element's kind: what others are made from comes first.
fn order(element: &Statement) -> u8 {
    match element {
        Statement::CreateSequence(_) => 0,
        Statement::CreateTable(_) => 1,
        Statement::CreateView(_) => 2,
        Statement::CreateIndex(_) => 3,
        Statement::CreateTrigger(_) => 4,
        _ => 5,
    }
}
