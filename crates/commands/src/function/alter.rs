//! ALTER FUNCTION, PROCEDURE, ROUTINE: clauses of the definition, RENAME, OWNER TO, SET SCHEMA; COMMENT.
//!
//! Views, defaults, checks and conditions of triggers name routines by text: a routine that one of them calls cannot be
//! renamed or moved (0A000).

use crate::uses::texts::{Dependent, Search};
use crate::{ownership, uses};
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{AlterFunction, AlterObjectSchema, AlterOwner, ObjectKind, ObjectReference, Rename};

use super::super::{acl, privileges, schema};
use super::find::{find, find_held, require_owner, signature_of};
use super::options::Options;
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::RoutineEntry;
use mote_catalog::catalog_store::stored::StoredRoutine;
use mote_catalog::routine_text as text;
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;
use mote_sql::expr::Expr;

impl Command for AlterFunction {
    fn name(&self) -> &'static str {
        match self.kind {
            ObjectKind::Procedure => "ALTER PROCEDURE",
            ObjectKind::Routine => "ALTER ROUTINE",
            _ => "ALTER FUNCTION",
        }
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter(self, context)
    }
}

/// The tag of an ALTER about a routine.
pub(in super::super) fn tag(kind: ObjectKind) -> CommandTag {
    CommandTag::Word(match kind {
        ObjectKind::Procedure => "ALTER PROCEDURE",
        ObjectKind::Routine => "ALTER ROUTINE",
        _ => "ALTER FUNCTION",
    })
}

/// Whether a statement is about functions, procedures or either.
pub(in super::super) fn is_routine(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine
    )
}

/// The routine that a statement names, held and owned.
fn find_own(
    reference: &ObjectReference,
    kind: ObjectKind,
    context: &mut StatementContext<'_>,
) -> SqlResult<Arc<RoutineEntry>> {
    let entry = find_held(signature_of(reference)?, kind, context)?;
    require_owner(&entry.stored, context)?;
    Ok(entry)
}

/// ALTER FUNCTION f .. clauses.
pub(in super::super) fn alter(
    alter: &AlterFunction,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let entry = find(&alter.signature, alter.kind, context)?;
    require_owner(&entry.stored, context)?;
    let options = Options::from_list(&alter.options, entry.stored.procedure, context)?;
    // As in CREATE: only sets have a number of rows.
    if options.rows.is_some() && !entry.stored.returns_set {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "ROWS is not applicable when function does not return a set",
        ));
    }
    super::change::change(&entry, context, |routine| options.apply_to(routine))?;
    Ok(tag(alter.kind))
}

impl Options {
    /// What was written takes the place of what was there; the rest stays.
    fn apply_to(self, routine: &mut StoredRoutine) {
        fn put<T>(slot: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *slot = new;
            }
        }
        put(&mut routine.volatility, self.volatility);
        put(&mut routine.strict, self.strict);
        put(&mut routine.security_definer, self.security_definer);
        put(&mut routine.leakproof, self.leakproof);
        put(&mut routine.parallel, self.parallel);
        put(&mut routine.cost, self.cost);
        put(&mut routine.rows, self.rows);
        for (name, value) in self.settings {
            match value {
                // RESET ALL, and RESET of one.
                None if name == "all" => routine.settings.clear(),
                None => routine.settings.retain(|(known, _)| *known != name),
                Some(value) => match routine.settings.iter_mut().find(|(known, _)| *known == name) {
                    Some(known) => known.1 = value,
                    None => routine.settings.push((name, value)),
                },
            }
        }
    }
}

/// Refuses what would leave texts behind that name the routine as it was: views, defaults, checks, conditions and the like.
/// Triggers, casts and range types know it by its number, and follow.
fn refuse_dependents(
    entry: &Arc<RoutineEntry>,
    what: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let oid = entry.stored.oid;
    let refused = |dependent: &Dependent, context: &StatementContext<'_>| {
        SqlError::unsupported(format_args!(
            "{what} of a function that {} calls",
            dependent.described(context)
        ))
    };
    let readers = catalog
        .users_of(Oid(oid))
        .filter_map(|user| catalog.relation(user));
    let mut views = readers.filter(|reader| reader.stored.depends_on.contains(&oid));
    if let Some(view) = views.next() {
        return Err(refused(&Dependent::View(view.clone()), context));
    }
    let search = Search {
        may_name: &|text: &str| text.contains(&entry.stored.name),
        find: &|bound: &Expr| {
            let mut calls = false;
            bound.visit(&mut |expr| {
                calls |= matches!(expr, Expr::Routine(call) if call.routine.oid == Oid(oid));
            });
            calls.then_some(())
        },
    };
    let users = catalog
        .users_of(Oid(oid))
        .chain(catalog.naming(&entry.stored.name));
    let candidates = users.collect();
    let found = uses::texts::in_expressions(&search, &candidates, context)?;
    match found.first() {
        None => Ok(()),
        Some((dependent, ())) => Err(refused(dependent, context)),
    }
}

/// Refuses a name that another routine with the same arguments has.
fn check_free(
    entry: &RoutineEntry,
    schema_oid: Oid,
    name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let types = entry.described.input_types();
    schema::reserve_name(schema_oid, &format!("{name}({types:?})"), context)?;
    let catalog = context.session.catalog.current();
    let taken = catalog.routines_named(name).any(|other| {
        other.stored.schema == schema_oid.0
            && other.stored.oid != entry.stored.oid
            && other.described.input_types() == types
    });
    if !taken {
        return Ok(());
    }
    let mut shown = (*entry.described).clone();
    shown.name = name.to_string();
    let signature = text::plain_signature(&shown, &context.session.catalog);
    let schema = catalog
        .schemas
        .get(&schema_oid)
        .map(|schema| schema.object.name.clone());
    Err(SqlError::new(
        state::DUPLICATE_FUNCTION,
        format!(
            "function {signature} already exists in schema \"{}\"",
            schema.unwrap_or_default()
        ),
    ))
}

/// ALTER FUNCTION .. RENAME TO.
pub(in super::super) fn rename(rename: &Rename, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let entry = find_own(&rename.object, rename.kind, context)?;
    check_free(&entry, Oid(entry.stored.schema), &rename.new_name, context)?;
    refuse_dependents(&entry, "RENAME", context)?;
    super::change::change(&entry, context, |routine| {
        routine.name = rename.new_name.to_string()
    })?;
    Ok(tag(rename.kind))
}

/// ALTER FUNCTION .. OWNER TO: a SECURITY DEFINER function acts as the new owner from then on.
pub(in super::super) fn owner(
    alter: &AlterOwner,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let entry = find_own(&alter.object, alter.kind, context)?;
    let new = schema::role_oid(&alter.owner, context)?;
    if entry.stored.owner == new.0 {
        return Ok(tag(alter.kind));
    }
    privileges::require_member(&context.session.catalog, new)?;
    ownership::require_schema(entry.stored.schema, new, context)?;
    super::change::change(&entry, context, |routine| {
        acl::change_owner(&mut routine.acl, routine.owner, new.0);
        routine.owner = new.0;
    })?;
    Ok(tag(alter.kind))
}

/// ALTER FUNCTION .. SET SCHEMA.
pub(in super::super) fn set_schema(
    alter: &AlterObjectSchema,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let entry = find_own(&alter.object, alter.kind, context)?;
    let catalog = &context.session.catalog;
    let is_temporary = catalog.is_temporary_schema(Oid(entry.stored.schema));
    let target = schema::schema_to_move_to(&alter.schema, is_temporary, context)?;
    if entry.stored.schema != target.0 {
        move_to_schema(&entry, target, context)?;
    }
    Ok(tag(alter.kind))
}

/// Moves a routine; ALTER EXTENSION .. SET SCHEMA does so with its members.
pub(in super::super) fn move_to_schema(
    entry: &Arc<RoutineEntry>,
    target: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    check_free(entry, target, &entry.stored.name, context)?;
    refuse_dependents(entry, "SET SCHEMA", context)?;
    super::change::change(entry, context, |routine| routine.schema = target.0)
}

/// COMMENT ON FUNCTION, PROCEDURE and ROUTINE.
pub(in super::super) fn comment(
    reference: &ObjectReference,
    kind: ObjectKind,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let entry = find_own(reference, kind, context)?;
    super::change::change(&entry, context, |routine| routine.comment = text)
}
