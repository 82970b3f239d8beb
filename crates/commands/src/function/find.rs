//! Which routine a statement about routines means: `f(int, text)`, or `f` where there is only one.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{ObjectKind, ObjectReference, ObjectSignature};
use mote_sql::catalog::CatalogView;
use mote_sql::routine::{Routine, RoutineKind};

use super::super::privileges;
use super::signature::resolve_type;
use mote_catalog::catalog_store::RoutineEntry;
use mote_catalog::catalog_store::stored::StoredRoutine;
use mote_catalog::routine_text as text;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// The kind's word in messages.
pub(crate) fn word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Procedure => "procedure",
        ObjectKind::Routine => "routine",
        _ => "function",
    }
}

/// The signature in a statement about a routine.
pub(crate) fn signature_of(reference: &ObjectReference) -> SqlResult<&ObjectSignature> {
    match reference {
        ObjectReference::Signature(signature) => Ok(signature),
        _ => Err(SqlError::internal("a routine has a signature")),
    }
}

/// The routine of this signature; an error where there is none.
pub(in super::super) fn find(
    signature: &ObjectSignature,
    kind: ObjectKind,
    context: &StatementContext<'_>,
) -> SqlResult<Arc<RoutineEntry>> {
    look_up(signature, kind, context)?.ok_or_else(|| missing(signature, kind, context))
}

/// The same, once nobody else is changing it, and kept from others.
pub(super) fn find_held(
    signature: &ObjectSignature,
    kind: ObjectKind,
    context: &mut StatementContext<'_>,
) -> SqlResult<Arc<RoutineEntry>> {
    look_up_held(signature, kind, context)?.ok_or_else(|| missing(signature, kind, context))
}

/// As [`find_held`], where it may be that there is none.
pub(crate) fn look_up_held(
    signature: &ObjectSignature,
    kind: ObjectKind,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<Arc<RoutineEntry>>> {
    let mut held = None;
    loop {
        let found = look_up(signature, kind, context)?;
        let oid = found.as_ref().map(|entry| Oid(entry.stored.oid));
        // Who waited looks again: the name may lead elsewhere by now.
        let Some(oid) = oid.filter(|&oid| held != Some(oid)) else {
            return Ok(found);
        };
        // As in PostgreSQL, whoever may not change it does not wait for it.
        require_owner(&found.expect("it has an OID").stored, context)?;
        write::hold(oid, context)?;
        held = Some(oid);
    }
}

/// The routine of this signature, if there is one.
pub(crate) fn look_up(
    signature: &ObjectSignature,
    kind: ObjectKind,
    context: &StatementContext<'_>,
) -> SqlResult<Option<Arc<RoutineEntry>>> {
    let catalog = &context.session.catalog;
    let name = &signature.name;
    if let Some(schema) = name.qualifier()
        && !catalog.schema_exists(schema)
    {
        return Err(SqlError::new(
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{schema}\" does not exist"),
        ));
    }
    // Of the search path, or of the schema that is named.
    let named = catalog.routines_named(name.qualifier(), name.last());
    let fits_kind = |routine: &Routine| match kind {
        ObjectKind::Function => routine.kind == RoutineKind::Function,
        ObjectKind::Procedure => routine.kind == RoutineKind::Procedure,
        _ => true,
    };
    let found = match &signature.arguments {
        // A bare name is enough where it is the only one of its kind.
        None => {
            let mut fitting = named.iter().filter(|routine| fits_kind(routine));
            let first = fitting.next();
            if first.is_some() && fitting.next().is_some() {
                return Err(SqlError::new(
                    state::AMBIGUOUS_FUNCTION,
                    format!("{} name \"{}\" is not unique", word(kind), name.parts.join(".")),
                )
                .hint(format!(
                    "Specify the argument list to select the {} unambiguously.",
                    word(kind)
                )));
            }
            first.cloned()
        }
        Some(arguments) => {
            let mut types = Vec::with_capacity(arguments.len());
            for argument in arguments.iter().flatten() {
                types.push(resolve_type(argument, context)?);
            }
            // By input types, which tell routines apart.
            let same = |routine: &&Arc<Routine>| {
                let inputs: Vec<_> = routine.inputs().collect();
                inputs.len() == types.len()
                    && inputs
                        .iter()
                        .zip(&types)
                        .all(|(input, ty)| input.ty.ty.oid == ty.type_oid())
            };
            // A procedure may also be named with its OUT arguments.
            let all_arguments = |routine: &&Arc<Routine>| {
                routine.kind == RoutineKind::Procedure
                    && routine.arguments.len() == types.len()
                    && routine
                        .arguments
                        .iter()
                        .zip(&types)
                        .all(|(a, ty)| a.ty.ty.oid == ty.type_oid())
            };
            let found = named
                .iter()
                .find(same)
                .or_else(|| named.iter().find(all_arguments));
            // The types fit, the kind does not: told as such rather than as missing.
            if let Some(found) = found
                && !fits_kind(found)
            {
                let shown = text::plain_signature(found, catalog);
                return Err(SqlError::new(
                    state::WRONG_OBJECT_TYPE,
                    format!("{shown} is not a {}", word(kind)),
                ));
            }
            found.cloned()
        }
    };
    // The entry, by which it can be changed; None if it was dropped a moment ago.
    let current = catalog.current();
    Ok(found.and_then(|routine| current.routine(routine.oid).cloned()))
}

/// No such routine.
pub(crate) fn missing(
    signature: &ObjectSignature,
    kind: ObjectKind,
    context: &StatementContext<'_>,
) -> SqlError {
    let word = word(kind);
    let name = signature.name.parts.join(".");
    match &signature.arguments {
        None => SqlError::new(
            state::UNDEFINED_FUNCTION,
            format!("could not find a {word} named \"{name}\""),
        ),
        Some(_) => SqlError::new(
            state::UNDEFINED_FUNCTION,
            format!("{word} {} does not exist", shown(signature, context)),
        ),
    }
}

/// `name(types)`, as it was written but with types by their SQL names.
pub(crate) fn shown(signature: &ObjectSignature, context: &StatementContext<'_>) -> String {
    let name = signature.name.parts.join(".");
    let Some(arguments) = &signature.arguments else {
        return format!("{name}()");
    };
    let types = arguments
        .iter()
        .flatten()
        .map(|argument| match resolve_type(argument, context) {
            Ok(ty) => mote_types::ColumnType::new(ty.type_oid()).name(),
            _ => argument.name.last().to_string(),
        });
    format!("{name}({})", types.collect::<Vec<_>>().join(", "))
}

/// Only an owner may change a routine.
pub(crate) fn require_owner(routine: &StoredRoutine, context: &StatementContext<'_>) -> SqlResult<()> {
    if privileges::is_member(&context.session.catalog, Oid(routine.owner)) {
        return Ok(());
    }
    let kind = if routine.procedure {
        "procedure"
    } else {
        "function"
    };
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("must be owner of {kind} {}", routine.name),
    ))
}
