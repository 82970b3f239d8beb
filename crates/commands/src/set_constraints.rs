//! SET CONSTRAINTS: when the deferrable constraints of this transaction are checked. PostgreSQL:
//! AfterTriggerSetState.

use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{RelationName, SetConstraints};
use mote_sql::catalog::CatalogView;

use super::schema;
use crate::utility::{Command, Issued};
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;
use mote_executor::node::modify::after::{self, DeferredEvents};

impl Command for SetConstraints {
    fn name(&self) -> &'static str {
        NAME
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, issued.in_block, context)
    }
}

const NAME: &str = "SET CONSTRAINTS";

/// SET CONSTRAINTS ALL or by name. It holds until the transaction ends, or the savepoint that it stands in is rolled
/// back.
pub(super) fn run(
    set: &SetConstraints,
    in_block: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    // PostgreSQL only warns: the implicit transaction ends with the statement.
    if !in_block {
        let message = format!("{NAME} can only be used in transaction blocks");
        let warning = SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, message);
        context.host.notice(warning.severity(Severity::Warning));
    }
    let depth = context.session.savepoint_depth;
    if set.constraints.is_empty() {
        DeferredEvents::of(context.session).set_all(set.deferred, depth);
    } else {
        let mut found = Vec::new();
        for name in &set.constraints {
            found.extend(deferrable(name, set.deferred, context)?);
        }
        for constraint in with_those_of_partitions(found, context) {
            DeferredEvents::of(context.session).set(constraint, set.deferred, depth);
        }
    }
    // IMMEDIATE: what was put off is checked here, and an error is this statement's.
    if !set.deferred {
        after::fire_deferred(false, context)?;
    }
    Ok(CommandTag::Word(NAME))
}

/// What is said of a constraint of a partitioned table holds for its parts in the partitions, which bear other names.
fn with_those_of_partitions(mut constraints: Vec<Oid>, context: &StatementContext<'_>) -> Vec<Oid> {
    let catalog = context.session.catalog.current();
    let mut next = 0;
    // The list grows by the parts of each; a part may have parts itself.
    while let Some(&above) = constraints.get(next) {
        next += 1;
        let parts = catalog
            .relations_using(above)
            .flat_map(|relation| &relation.described.constraints)
            .filter(|constraint| constraint.parent == Some(above) && constraint.deferrable);
        constraints.extend(parts.map(|constraint| constraint.oid));
    }
    constraints
}

/// The deferrable constraints of this name in its schema, or in the first schema of the search path that has one.
fn deferrable(name: &RelationName, deferred: bool, context: &StatementContext<'_>) -> SqlResult<Vec<Oid>> {
    let catalog = &context.session.catalog;
    let schemas: Vec<Oid> = match &name.schema {
        Some(schema) => vec![catalog.schema_oid(schema).ok_or_else(|| {
            SqlError::new(
                state::INVALID_SCHEMA_NAME,
                format!("schema \"{schema}\" does not exist"),
            )
        })?],
        None => {
            let path = catalog.search_path();
            path.iter()
                .filter_map(|schema| catalog.schema_oid(schema))
                .collect()
        }
    };
    let current = catalog.current();
    let naming = current.naming(&name.name);
    // The first schema with such a constraint counts, and all of the name in it, whatever table they belong to.
    for schema in schemas {
        let relations = naming
            .iter()
            .filter_map(|&oid| current.relation(oid))
            .filter(|relation| relation.described.schema_oid == schema);
        // (constraint, whether it is deferrable).
        let mut named: Vec<(Oid, bool)> = Vec::new();
        for relation in relations {
            let constraints = relation.described.constraints.iter();
            let constraints = constraints.filter(|constraint| *constraint.name == *name.name);
            named.extend(constraints.map(|constraint| (constraint.oid, constraint.deferrable)));
            // Constraint triggers are constraints, too.
            let triggers = relation.described.triggers.iter();
            let triggers = triggers.filter(|trigger| *trigger.name == *name.name);
            let constraints = triggers.filter_map(|trigger| trigger.constraint);
            named.extend(constraints.map(|constraint| (constraint.oid, constraint.deferrable)));
        }
        if named.is_empty() {
            continue;
        }
        // IMMEDIATE is nothing new for those that are not deferrable.
        if deferred && named.iter().any(|(_, deferrable)| !deferrable) {
            return Err(SqlError::new(
                state::WRONG_OBJECT_TYPE,
                format!("constraint \"{}\" is not deferrable", name.name),
            ));
        }
        let deferrable = named.iter().filter(|(_, deferrable)| *deferrable);
        return Ok(deferrable.map(|(constraint, _)| *constraint).collect());
    }
    Err(SqlError::new(
        state::UNDEFINED_OBJECT,
        format!("constraint \"{}\" does not exist", schema::shown_name(name)),
    ))
}
