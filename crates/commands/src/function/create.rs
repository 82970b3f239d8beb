//! CREATE [OR REPLACE] FUNCTION and PROCEDURE: PostgreSQL's CreateFunction (functioncmds.c) and ProcedureCreate
//! (pg_proc.c).

use crate::new_privileges;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{CreateFunction, Persistence, RelationName};
use mote_sql::catalog::CatalogView;
use mote_types::oid;

use super::super::acl::AclKind;
use super::super::schema;
use super::invalid;
use super::options::Options;
use super::signature::{arguments, check_polymorphic, check_sql_result, result};
use crate::routine::{self, standard_body};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::Revision;
use mote_catalog::catalog_store::stored::{StoredArgument, StoredObject, StoredRoutine, StoredType};
use mote_catalog::routine_text::{DEFAULT_ROWS, default_cost};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateFunction {
    fn name(&self) -> &'static str {
        match self.procedure {
            true => "CREATE PROCEDURE",
            false => "CREATE FUNCTION",
        }
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

/// Makes or replaces a routine, and lets its language look at the body.
pub(in super::super) fn create(
    create: &CreateFunction,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let name = RelationName {
        catalog: None,
        schema: create.name.qualifier().map(Into::into),
        name: create.name.last().into(),
        location: create.name.location,
    };
    let (schema_oid, _) = schema::schema_for_new(&name, Persistence::Permanent, context)?;
    let mut new = define(create, schema_oid, context)?;
    let signature: Vec<u32> = input_types(&new).collect();
    // Name and input types are what tells routines apart: two of the same wait for one another.
    schema::reserve_name(schema_oid, &format!("{}({signature:?})", new.name), context)?;
    let catalog = context.session.catalog.current();
    let existing = catalog.routines_named(&new.name).find(|known| {
        known.stored.schema == schema_oid.0 && input_types(&known.stored).eq(signature.iter().copied())
    });
    if let Some(existing) = existing {
        if !create.or_replace {
            return Err(already_exists(&new.name));
        }
        replace(&existing.stored, &mut new, context)?;
    }
    let oid = Oid(new.oid);
    // Before the body is looked at: it may call itself.
    write::put(StoredObject::Routine(new), context)?;
    validate(oid, context)?;
    Ok(CommandTag::Word(create.name()))
}

/// Stores a routine that comes with another object; 42723 where there is one that takes the same.
pub(in super::super) fn put_new(new: StoredRoutine, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let signature: Vec<u32> = input_types(&new).collect();
    schema::reserve_name(Oid(new.schema), &format!("{}({signature:?})", new.name), context)?;
    let catalog = context.session.catalog.current();
    let mut named = catalog.routines_named(&new.name);
    let is_same = |known: &StoredRoutine| {
        known.schema == new.schema && input_types(known).eq(signature.iter().copied())
    };
    let known = named.any(|known| is_same(&known.stored));
    drop(named);
    if known {
        return Err(already_exists(&new.name));
    }
    write::put(StoredObject::Routine(new), context)
}

fn already_exists(name: &str) -> SqlError {
    let message = format!("function \"{name}\" already exists with same argument types");
    SqlError::new(state::DUPLICATE_FUNCTION, message)
}

/// What tells routines of one name apart.
fn input_types(routine: &StoredRoutine) -> impl Iterator<Item = u32> {
    let inputs = routine
        .arguments
        .iter()
        .filter(|argument| matches!(argument.mode, 'i' | 'b' | 'v'));
    // Row types are told apart by their relation.
    inputs.map(|argument| argument.ty.row_of.unwrap_or(argument.ty.oid))
}

/// Lets the language look at the body, unless it was told not to.
fn validate(oid: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    if context.session.settings.get("check_function_bodies")? == "off" {
        return Ok(());
    }
    let routine = context
        .session
        .catalog
        .routine(oid)
        .ok_or_else(|| SqlError::internal("a new function is in the catalog"))?;
    let text = context.session.statement_text.clone();
    routine::validate(&routine, context).map_err(|error| in_body(error, &routine.body, &text))
}

/// Places in a body become places in the statement that holds it, if it holds it once.
fn in_body(error: SqlError, body: &str, statement: &str) -> SqlError {
    let Some(position) = error.fields().position else {
        return error;
    };
    // The text must stand in the statement once: elsewhere the place could be another's.
    let only = |text: &str| {
        let mut places = statement.match_indices(text);
        let first = places
            .next()
            .map(|(start, _)| statement[..start].chars().count() as u32);
        first.filter(|_| places.next().is_none())
    };
    if let Some(start) = only(body) {
        return error.moved_to(start + position);
    }
    // Between single quotes, those inside are doubled.
    let before = body
        .chars()
        .take(position as usize)
        .filter(|c| *c == '\'')
        .count() as u32;
    match only(&body.replace('\'', "''")) {
        Some(start) => error.moved_to(start + position + before),
        None => error.moved_to(0),
    }
}

/// The routine as the statement describes it, under a new OID.
fn define(
    create: &CreateFunction,
    schema: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredRoutine> {
    let options = Options::read(create, context)?;
    let language = match &options.language {
        Some(language) => language.to_lowercase(),
        // A body in SQL's own syntax tells its language.
        None if create.body.is_some() => "sql".to_string(),
        None => return Err(invalid("no language specified")),
    };
    // Code of the server itself cannot be added.
    if matches!(language.as_str(), "c" | "internal") {
        return Err(SqlError::unsupported(format_args!("LANGUAGE {language}")));
    }
    // There must be a language of the name.
    routine::language(&language, context)?;
    if options.several_bodies {
        let message = format!("only one AS item needed for language \"{language}\"");
        return Err(invalid(message));
    }
    let arguments = arguments(create, &language, context)?;
    let (result, returns_set) = result(create, &arguments, context)?;
    check_polymorphic(&arguments, result)?;
    if language == "sql" {
        check_sql_result(result)?;
    }
    let (body, standard_body) = match (&create.body, options.body) {
        (Some(_), Some(_)) => return Err(invalid("duplicate function body specified")),
        (Some(_), None) if language != "sql" => {
            return Err(invalid("inline SQL function body only valid for language SQL"));
        }
        (Some(body), None) => (standard_body::text(body)?, true),
        (None, Some(body)) => (body, false),
        (None, None) => return Err(invalid("no function body specified")),
    };
    if options.rows.is_some() && !returns_set {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "ROWS is not applicable when function does not return a set",
        ));
    }
    let owner = context.session.identity().user_oid.0;
    Ok(StoredRoutine {
        revision: Revision::default(),
        oid: context.database.catalog().allocate_oid().0,
        schema: schema.0,
        name: create.name.last().to_string(),
        procedure: create.procedure,
        cost: options.cost.unwrap_or_else(|| default_cost(&language)),
        rows: options
            .rows
            .unwrap_or(if returns_set { DEFAULT_ROWS } else { 0.0 }),
        language,
        arguments,
        result,
        returns_set,
        // PostgreSQL's defaults: volatile, unsafe in parallel, called with NULL.
        volatility: options.volatility.unwrap_or('v'),
        strict: options.strict.unwrap_or(false),
        security_definer: options.security_definer.unwrap_or(false),
        leakproof: options.leakproof.unwrap_or(false),
        parallel: options.parallel.unwrap_or('u'),
        settings: options
            .settings
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        body,
        standard_body,
        owner,
        acl: new_privileges::of_new(AclKind::Function, owner, schema, context),
        comment: None,
    })
}

/// CREATE OR REPLACE: what may not change, and what stays.
fn replace(
    old: &StoredRoutine,
    new: &mut StoredRoutine,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let described = |stored: &StoredRoutine, context: &StatementContext<'_>| {
        let catalog = context.session.catalog.current();
        let entry = catalog
            .routine(Oid(stored.oid))
            .expect("it exists")
            .described
            .clone();
        let word = if stored.procedure { "PROCEDURE" } else { "FUNCTION" };
        let signature = mote_catalog::routine_text::plain_signature(&entry, &context.session.catalog);
        format!("Use DROP {word} {signature} first.")
    };
    // Before anything is told of the routine that is there.
    super::find::require_owner(old, context)?;
    new.revision = old.revision;
    if old.procedure != new.procedure {
        let kind = if old.procedure { "procedure" } else { "function" };
        return Err(
            SqlError::new(state::WRONG_OBJECT_TYPE, "cannot change routine kind")
                .detail(format!("\"{}\" is a {kind}.", old.name)),
        );
    }
    let outputs = |routine: &StoredRoutine| -> Vec<(String, StoredType)> {
        let outputs = routine
            .arguments
            .iter()
            .filter(|argument| matches!(argument.mode, 'o' | 'b' | 't'));
        outputs
            .map(|argument| (argument.name.clone(), argument.ty))
            .collect()
    };
    // Whoever calls it has planned with the result as it is.
    if old.result != new.result || old.returns_set != new.returns_set {
        let message = if old.procedure {
            "cannot change whether a procedure has output parameters"
        } else {
            "cannot change return type of existing function"
        };
        return Err(invalid(message).hint(described(old, context)));
    }
    if new.result.oid == oid::RECORD.0 && outputs(old) != outputs(new) {
        return Err(invalid("cannot change return type of existing function")
            .detail("Row type defined by OUT parameters is different.")
            .hint(described(old, context)));
    }
    let inputs = |routine: &StoredRoutine| -> Vec<StoredArgument> {
        let inputs = routine
            .arguments
            .iter()
            .filter(|argument| matches!(argument.mode, 'i' | 'b' | 'v'));
        inputs.cloned().collect()
    };
    // Calls by name, and calls that leave arguments out, must go on to mean the same.
    for (before, after) in inputs(old).iter().zip(&inputs(new)) {
        if !before.name.is_empty() && before.name != after.name {
            return Err(invalid(format!(
                "cannot change name of input parameter \"{}\"",
                before.name
            ))
            .hint(described(old, context)));
        }
        if before.default.is_some() && after.default.is_none() {
            return Err(invalid("cannot remove parameter defaults from existing function")
                .hint(described(old, context)));
        }
    }
    // The routine stays itself: who may call it, and what depends on it.
    new.oid = old.oid;
    new.owner = old.owner;
    new.acl.clone_from(&old.acl);
    new.comment.clone_from(&old.comment);
    Ok(())
}
