//! CREATE CAST, DROP CAST and COMMENT ON CAST.
//!
//! A cast has no name, schema or owner: its two types tell it, and who owns one of them may do with it what owners may.
//! Types and function are depended upon by OID (`uses`, `cascade`). Expressions are kept as text and bound when they are needed,
//! where PostgreSQL keeps what they meant: a cast that would change what one of them means is refused (`meanings`).
//! PostgreSQL: CreateCast (functioncmds.c), CastCreate (pg_cast.c). Leaves out: what a cast does in expressions
//! (`mote_sql::bind`), and casts WITHOUT FUNCTION: values of two types are the same bytes nowhere but where a built-in cast says so.

mod drop;
mod meanings;

use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    CastContext, CastMethod, CreateCast, ObjectKind, ObjectReference, ObjectSignature, TypeName,
};
use mote_sql::bind::user_cast;
use mote_sql::builtin::cast::casts;
use mote_sql::builtin::function::{Callable, callables_named};
use mote_sql::catalog::CatalogView;
use mote_sql::routine::{Routine, RoutineKind};
use mote_types::catalog::category;
use mote_types::catalog::user::{is_composite, is_domain, number_of, user_multirange_of};
use mote_types::{ColumnType, format_type, oid, type_info};

use super::{function, privileges, schema};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredCast, StoredCastContext, StoredObject};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

pub(super) use drop::{comment, drop};

/// The name space of casts among the reserved ones: one from a type to another in a database.
const CASTS: Oid = Oid(2605);

impl Command for CreateCast {
    fn name(&self) -> &'static str {
        "CREATE CAST"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

/// In the order of PostgreSQL's CreateCast.
fn create(create: &CreateCast, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let source = resolve(&create.source, context)?;
    let target = resolve(&create.target, context)?;
    refuse_pseudo(source, "source", &create.source)?;
    refuse_pseudo(target, "target", &create.target)?;
    require_owner(source, target, context)?;
    require_usage(source, context)?;
    require_usage(target, context)?;
    warn_of_domain(source, target, context);
    let (function, arguments) = match &create.method {
        CastMethod::Function(named) => {
            let routine = cast_function(named, source, target, context)?;
            (routine.oid.0, routine.inputs().count())
        }
        CastMethod::Text => (0, 0),
        CastMethod::Binary => {
            refuse_binary(source, target, context)?;
            (0, 0)
        }
    };
    if source == target {
        if arguments < 2 {
            return Err(invalid("source data type and target data type are the same"));
        }
        return Err(SqlError::unsupported(
            "a cast that gives values of a type a length",
        ));
    }
    let database = context.session.catalog.database;
    schema::reserve_name(CASTS, &format!("{database}.{source}.{target}"), context)?;
    if exists(source, target, context) {
        let message = format!("{} already exists", described(source, target));
        return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
    }
    if matches!(create.method, CastMethod::Binary) {
        return Err(SqlError::unsupported("CREATE CAST .. WITHOUT FUNCTION"));
    }
    hold_relations([source, target], context)?;
    let stored = StoredCast {
        revision: Default::default(),
        oid: context.database.catalog().allocate_oid().0,
        database: database.0,
        source: source.0,
        target: target.0,
        function,
        context: match create.context {
            CastContext::Implicit => StoredCastContext::Implicit,
            CastContext::Assignment => StoredCastContext::Assignment,
            CastContext::Explicit => StoredCastContext::Explicit,
        },
        comment: None,
    };
    meanings::keep("CREATE CAST", context, |context| {
        write::put(StoredObject::Cast(stored), context)
    })?;
    Ok(CommandTag::Word("CREATE CAST"))
}

fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(state::INVALID_OBJECT_DEFINITION, message.into())
}

/// `cast from type a to type b`, as errors about one call it.
fn described(source: Oid, target: Oid) -> String {
    let (source, target) = (format_type(source, -1), format_type(target, -1));
    format!("cast from type {source} to type {target}")
}

/// The type that is named, which may be a domain; a modifier does not count.
fn resolve(name: &TypeName, context: &StatementContext<'_>) -> SqlResult<Oid> {
    if let Some(schema) = name.name.qualifier()
        && !context.session.catalog.schema_exists(schema)
    {
        let message = format!("schema \"{schema}\" does not exist");
        return Err(SqlError::new(state::INVALID_SCHEMA_NAME, message));
    }
    let (base, domain) = mote_sql::resolve_declared_type(name, &context.session.catalog)?;
    Ok(domain.unwrap_or(base.oid))
}

/// As the grammar has it, with the names of built-in types in full.
fn written(name: &TypeName) -> String {
    let brackets = if name.array_bounds.is_empty() { "" } else { "[]" };
    format!("{}{brackets}", name.name.parts.join("."))
}

fn refuse_pseudo(ty: Oid, side: &str, name: &TypeName) -> SqlResult<()> {
    if type_info(ty).is_none_or(|info| info.category != category::PSEUDO) {
        return Ok(());
    }
    let message = format!("{side} data type {} is a pseudo-type", written(name));
    Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
}

/// The type, or that of its elements.
fn without_array(ty: Oid) -> Oid {
    ColumnType::new(ty).element().map_or(ty, |element| element.oid)
}

fn owner_of(ty: Oid, context: &StatementContext<'_>) -> Option<Oid> {
    let catalog = context.session.catalog.current();
    let base = without_array(ty);
    let made = catalog.user_type(base).map(|entry| entry.stored.owner);
    let of_rows = || {
        let relation = is_composite(base).then(|| catalog.relation(number_of(base)))?;
        relation.map(|entry| entry.stored.owner)
    };
    made.or_else(of_rows).map(Oid)
}

/// Who owns one of the types may; the built-in ones are a superuser's.
fn require_owner(source: Oid, target: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    let owns = |ty: Oid| match owner_of(ty, context) {
        Some(owner) => privileges::is_member(&context.session.catalog, owner),
        None => context.session.identity().superuser,
    };
    if owns(source) || owns(target) {
        return Ok(());
    }
    let (source, target) = (format_type(source, -1), format_type(target, -1));
    let message = format!("must be owner of type {source} or type {target}");
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
}

fn require_usage(ty: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    let catalog = &context.session.catalog;
    match catalog.current().user_type(without_array(ty)) {
        Some(entry) => privileges::require_type(catalog, &entry.stored),
        None => Ok(()),
    }
}

/// Values of domains convert as those of their types do.
fn warn_of_domain(source: Oid, target: Oid, context: &mut StatementContext<'_>) {
    let side = match (is_domain(source), is_domain(target)) {
        (true, _) => "source",
        (false, true) => "target",
        (false, false) => return,
    };
    let message = format!("cast will be ignored because the {side} data type is a domain");
    let warning = SqlError::new(state::WRONG_OBJECT_TYPE, message).severity(Severity::Warning);
    context.host.notice(warning);
}

/// The function of WITH FUNCTION, once nobody drops it.
fn cast_function(
    named: &ObjectReference,
    source: Oid,
    target: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<std::sync::Arc<Routine>> {
    let signature = function::signature_of(named)?;
    let kind = ObjectKind::Function;
    let find = |context: &StatementContext<'_>| {
        let Some(entry) = function::find::look_up(signature, kind, context)? else {
            refuse_builtin(signature, context)?;
            return Err(function::find::missing(signature, kind, context));
        };
        check_function(&entry.described, source, target, context)?;
        Ok(entry.described.clone())
    };
    write::hold(find(context)?.oid, context)?;
    // Dropped, or made anew with another result, while we waited.
    find(context)
}

fn check_function(
    routine: &Routine,
    source: Oid,
    target: Oid,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let inputs = routine.input_types();
    let Some(&first) = inputs.first().filter(|_| inputs.len() <= 3) else {
        return Err(invalid("cast function must take one to three arguments"));
    };
    let fits = |from: Oid, to: Oid| user_cast::is_same_value(from, to, &context.session.catalog);
    if !fits(source, first) {
        let what = "argument of cast function must match or be binary-coercible from source data type";
        return Err(invalid(what));
    }
    if inputs.get(1).is_some_and(|&second| second != oid::INT4) {
        return Err(invalid("second argument of cast function must be type integer"));
    }
    if inputs.get(2).is_some_and(|&third| third != oid::BOOL) {
        return Err(invalid("third argument of cast function must be type boolean"));
    }
    if !fits(routine.result.ty.oid, target) {
        let what = "return data type of cast function must match or be binary-coercible to target data type";
        return Err(invalid(what));
    }
    if routine.kind != RoutineKind::Function {
        return Err(invalid("cast function must be a normal function"));
    }
    if routine.returns_set {
        return Err(invalid("cast function must not return a set"));
    }
    Ok(())
}

/// What is built in calls no function of users, and the other way round.
fn refuse_builtin(signature: &ObjectSignature, context: &StatementContext<'_>) -> SqlResult<()> {
    let Some(arguments) = &signature.arguments else {
        return Ok(());
    };
    let types: SqlResult<Vec<Oid>> = arguments
        .iter()
        .flatten()
        .map(|name| resolve(name, context))
        .collect();
    let types = types?;
    let takes = |callable: &Callable| match callable {
        Callable::Function(id) => id.signature().arguments == types,
        Callable::Aggregate(id) => id.signature().arguments == types,
        Callable::Window(id) => id.signature().arguments == types,
    };
    match callables_named(signature.name.last()).iter().any(takes) {
        true => Err(SqlError::unsupported(
            "CREATE CAST .. WITH FUNCTION of a built-in function",
        )),
        false => Ok(()),
    }
}

/// What WITHOUT FUNCTION is refused for.
fn refuse_binary(source: Oid, target: Oid, context: &StatementContext<'_>) -> SqlResult<()> {
    if !context.session.identity().superuser {
        let message = "must be superuser to create a cast WITHOUT FUNCTION";
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    match user_cast::why_not_binary(source, target, &context.session.catalog) {
        Some(why) => Err(invalid(why)),
        None => Ok(()),
    }
}

fn exists(source: Oid, target: Oid, context: &StatementContext<'_>) -> bool {
    find(source, target, context).is_some() || is_builtin(source, target) || of_range(source, target, context)
}

fn find(source: Oid, target: Oid, context: &StatementContext<'_>) -> Option<StoredCast> {
    let catalog = context.session.catalog.current();
    let database = context.session.catalog.database;
    catalog.cast_between(database, source, target).cloned()
}

fn is_builtin(source: Oid, target: Oid) -> bool {
    casts().any(|row| row.source == source && row.target == target)
}

/// The cast that comes with a range type, to its multirange.
fn of_range(source: Oid, target: Oid, context: &StatementContext<'_>) -> bool {
    let catalog = context.session.catalog.current();
    let is_range = catalog
        .user_type(source)
        .is_some_and(|entry| entry.stored.range.is_some());
    is_range && user_multirange_of(source) == Some(target)
}

/// Nobody drops the tables whose rows it is about meanwhile.
fn hold_relations(types: [Oid; 2], context: &mut StatementContext<'_>) -> SqlResult<()> {
    for ty in types.map(without_array) {
        let current = context.session.catalog.current();
        let relation = is_composite(ty).then(|| current.relation(number_of(ty)).cloned());
        if let Some(entry) = relation.flatten() {
            schema::lock_entry(&entry, TableLockMode::AccessShare, context)?;
        }
    }
    Ok(())
}
