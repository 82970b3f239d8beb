//! What uses a routine: views, defaults, checks, generated columns, defaults of other routines' arguments. And the routines
//! that take or return rows of a relation.
//!
//! Expressions are kept as text: whether one calls a routine is found by binding it again. The catalog knows which texts
//! have the routine's name in them; the others are not looked at.
//! Leaves out: what stands in bodies, which PostgreSQL looks into for SQL-standard bodies only.

use std::collections::BTreeSet;
use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_sql::RelationExpression;
use mote_sql::expr::Expr;

pub(crate) use super::dependent::{Dependent, routine_described as described};
use crate::{internal, schema};
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredRoutine};
use mote_catalog::catalog_store::{RelationEntry, RoutineEntry};
use mote_executor::context::StatementContext;

/// What is looked for in stored expressions.
pub(crate) struct Search<'a, T> {
    /// Only texts that may name it are bound.
    pub may_name: &'a dyn Fn(&str) -> bool,
    pub find: &'a dyn Fn(&Expr) -> Option<T>,
}

/// What was found, and in what.
type Found<T> = Vec<(Dependent, T)>;

/// What uses one of the routines, in order of making.
pub(crate) fn dependents(
    dropped: &[Arc<RoutineEntry>],
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<(Dependent, Arc<RoutineEntry>)>> {
    let does_cast = dropped
        .iter()
        .any(|routine| !super::casts::by_function(routine.stored.oid, context).is_empty());
    // A text without the name cannot call it, unless a cast does. With it, only binding tells.
    let may_name =
        |text: &str| does_cast || dropped.iter().any(|routine| text.contains(&routine.stored.name));
    let find = |bound: &Expr| {
        let mut oids = Vec::new();
        bound.visit(&mut |expr| {
            if let Expr::Routine(call) = expr {
                oids.push(call.routine.oid.0);
            }
        });
        let mut routines = dropped.iter();
        routines
            .find(|routine| oids.contains(&routine.stored.oid))
            .cloned()
    };
    let search = Search {
        may_name: &may_name,
        find: &find,
    };
    let called = |function: Oid| {
        dropped
            .iter()
            .find(|routine| routine.stored.oid == function.0)
            .cloned()
    };
    let catalog = context.session.catalog.current();
    // By what the catalog knows to use or name one; all others are not looked at.
    let mut candidates = BTreeSet::new();
    for routine in dropped {
        candidates.extend(catalog.users_of(Oid(routine.stored.oid)));
        candidates.extend(catalog.naming(&routine.stored.name));
    }
    if does_cast {
        candidates.extend(catalog.relations().map(|entry| Oid(entry.stored.oid)));
        candidates.extend(catalog.routines().map(|entry| Oid(entry.stored.oid)));
    }
    let candidates = in_this_database(&candidates, context);
    let mut found = Vec::new();
    for entry in candidates.iter().filter_map(|&oid| catalog.relation(oid)) {
        let mut routines = dropped.iter();
        if let Some(routine) = routines.find(|routine| entry.stored.depends_on.contains(&routine.stored.oid))
        {
            found.push((Dependent::View(entry.clone()), routine.clone()));
        }
        in_columns(entry, &search, &mut found, context)?;
        in_checks(entry, &search, &mut found, context)?;
        in_triggers(entry, &called, &search, &mut found, context)?;
    }
    for routine in dropped {
        let users = catalog.users_of(Oid(routine.stored.oid));
        let types = users.filter_map(|oid| catalog.user_type(oid));
        let types = types.filter(|entry| {
            let range = entry.stored.range.as_ref();
            range.is_some_and(|range| range.difference == routine.stored.oid)
        });
        found.extend(types.map(|entry| (Dependent::Type(entry.clone()), routine.clone())));
        let casts = super::casts::by_function(routine.stored.oid, context).into_iter();
        found.extend(casts.map(|cast| (Dependent::Cast(Box::new(cast)), routine.clone())));
    }
    let gone: Vec<u32> = dropped.iter().map(|routine| routine.stored.oid).collect();
    in_routines(&gone, &candidates, &search, &mut found, context)?;
    found.sort_by_key(|(dependent, _)| dependent.made().0);
    Ok(found)
}

/// Texts in other databases name what is there.
fn in_this_database(candidates: &BTreeSet<Oid>, context: &StatementContext<'_>) -> BTreeSet<Oid> {
    let catalog = context.session.catalog.current();
    let schema = |oid| {
        let relation = catalog.relation(oid).map(|entry| entry.stored.schema);
        relation.or_else(|| catalog.routine(oid).map(|entry| entry.stored.schema))
    };
    let is_here = |oid: &Oid| schema(*oid).is_none_or(|schema| schema::is_in_this_database(schema, context));
    candidates.iter().copied().filter(is_here).collect()
}

/// Defaults, generated columns, checks, conditions of triggers and defaults of arguments of the `candidates` in which
/// something is found.
pub(crate) fn in_expressions<T>(
    search: &Search<'_, T>,
    candidates: &BTreeSet<Oid>,
    context: &mut StatementContext<'_>,
) -> SqlResult<Found<T>> {
    let catalog = context.session.catalog.current();
    let candidates = &in_this_database(candidates, context);
    let mut found = Vec::new();
    for entry in candidates.iter().filter_map(|&oid| catalog.relation(oid)) {
        in_columns(entry, search, &mut found, context)?;
        in_checks(entry, search, &mut found, context)?;
        in_triggers(entry, &|_| None, search, &mut found, context)?;
    }
    in_routines(&[], candidates, search, &mut found, context)?;
    Ok(found)
}

/// Defaults of the arguments of other routines.
fn in_routines<T>(
    dropped: &[u32],
    candidates: &BTreeSet<Oid>,
    search: &Search<'_, T>,
    found: &mut Found<T>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    for other in candidates.iter().filter_map(|&oid| catalog.routine(oid)) {
        if dropped.contains(&other.stored.oid) {
            continue;
        }
        for argument in &other.stored.arguments {
            let Some(text) = &argument.default else { continue };
            if let Some(what) = found_in(text, search, context, free)? {
                found.push((Dependent::Routine(other.clone()), what));
            }
        }
    }
    Ok(())
}

/// Defaults and generation expressions.
fn in_columns<T>(
    entry: &Arc<RelationEntry>,
    search: &Search<'_, T>,
    found: &mut Found<T>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    for (position, column) in entry
        .stored
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.dropped)
    {
        if let Some(text) = &column.default {
            let target = entry.described.columns[position].ty;
            let bind = over(
                entry,
                RelationExpression::Default,
                Some((column.name.clone(), target)),
            );
            if let Some(what) = found_in(text, search, context, bind)? {
                found.push((Dependent::Default(entry.clone(), position), what));
            }
        }
        if let Some(text) = &column.generated {
            let target = entry.described.columns[position].ty;
            let bind = over(
                entry,
                RelationExpression::Generated,
                Some((column.name.clone(), target)),
            );
            if let Some(what) = found_in(text, search, context, bind)? {
                found.push((Dependent::Generated(entry.clone(), position), what));
            }
        }
    }
    Ok(())
}

/// CHECK constraints of tables.
fn in_checks<T>(
    entry: &Arc<RelationEntry>,
    search: &Search<'_, T>,
    found: &mut Found<T>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    for constraint in &entry.stored.constraints {
        if let StoredConstraintKind::Check { expression } = &constraint.kind
            && let Some(what) = found_in(
                expression,
                search,
                context,
                over(entry, RelationExpression::Check, None),
            )?
        {
            found.push((Dependent::Check(entry.clone(), constraint.name.clone()), what));
        }
    }
    Ok(())
}

/// Triggers by their function (`called`) or their condition.
fn in_triggers<T>(
    entry: &Arc<RelationEntry>,
    called: &dyn Fn(Oid) -> Option<T>,
    search: &Search<'_, T>,
    found: &mut Found<T>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let relation = &entry.described;
    // A clone goes with the trigger above it.
    for trigger in relation
        .triggers
        .iter()
        .filter(|trigger| trigger.parent.is_none())
    {
        let mut what = called(trigger.function);
        if let (None, Some(text)) = (&what, &trigger.condition) {
            what = found_in(text, search, context, |text, catalog| {
                mote_sql::bind_stored_trigger_condition(text, relation, catalog)
            })?;
        }
        if let Some(what) = what {
            found.push((Dependent::Trigger(entry.clone(), trigger.name.clone()), what));
        }
    }
    Ok(())
}

/// How a text of its kind is bound.
type Bind = dyn Fn(&str, &mote_catalog::catalog_store::SessionCatalog) -> SqlResult<Expr>;

/// Binds a text over the rows of a relation.
fn over(
    entry: &Arc<RelationEntry>,
    purpose: RelationExpression,
    target: Option<(String, mote_types::ColumnType)>,
) -> Box<Bind> {
    let relation = entry.described.clone();
    Box::new(move |text, catalog| {
        let target = target.as_ref().map(|(name, ty)| (name.as_str(), *ty));
        mote_sql::bind_expression_over_relation(text, &relation, purpose, target, catalog)
    })
}

/// Binds a text that reads no row.
fn free(text: &str, catalog: &mote_catalog::catalog_store::SessionCatalog) -> SqlResult<Expr> {
    mote_sql::bind::bind_free_text(text, catalog)
}

/// What the search finds in an expression.
fn found_in<T>(
    text: &str,
    search: &Search<'_, T>,
    context: &mut StatementContext<'_>,
    bind: impl Fn(&str, &mote_catalog::catalog_store::SessionCatalog) -> SqlResult<Expr>,
) -> SqlResult<Option<T>> {
    // Cheap: most texts end here.
    if !(search.may_name)(text) {
        return Ok(None);
    }
    let bound = internal::on_large_stack(context, |session| Ok(bind(text, &session.catalog)))?;
    // What does not bind any more uses nothing.
    Ok(bound.ok().and_then(|bound| (search.find)(&bound)))
}

/// Routines that take or return rows of one of these relations, in order of making.
pub(crate) fn users_of_rows(
    relations: &[u32],
    context: &StatementContext<'_>,
) -> Vec<(Arc<RoutineEntry>, u32)> {
    let row_of = |routine: &StoredRoutine| {
        let types = routine
            .arguments
            .iter()
            .map(|argument| argument.ty)
            .chain([routine.result]);
        types
            .filter_map(|ty| ty.row_number())
            .find(|relation| relations.contains(relation))
    };
    let catalog = context.session.catalog.current();
    let users: BTreeSet<Oid> = relations
        .iter()
        .flat_map(|&relation| catalog.users_of(Oid(relation)))
        .collect();
    let users = users.iter().filter_map(|&oid| catalog.routine(oid));
    users
        .filter_map(|entry| Some((entry.clone(), row_of(&entry.stored)?)))
        .collect()
}
