//! Conversion of a value from one type to another, and the `reg*` types, whose text form needs the catalog.
//!
//! Leaves out: what needs no catalog (`mote_types::cast`), and casts as parts of an expression (`expr::cast`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Engine;
use mote_grammar::ast::deparse::identifier;
use mote_sql::catalog::CatalogView;
use mote_types::catalog::user::{is_composite, is_user_type, number_of};
use mote_types::catalog::{is_reg_type, is_text_like, type_shape};
use mote_types::{CastContext, ColumnType, Datum, cast, format_type, oid, parse_type};

use crate::runtime::Runtime;
use mote_catalog::catalog_store::SessionCatalog;
use mote_catalog::name_text::{is_name, split_name};
use mote_catalog::routine_text;
use mote_catalog::views::{Facts, Reader, names};

/// Converts a value between types.
pub fn convert(
    runtime: &mut Runtime<'_, '_>,
    value: &Datum,
    from: ColumnType,
    to: ColumnType,
    explicit: bool,
) -> SqlResult<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    if is_reg_type(to.oid)
        && let Some(name) = value.as_str()
    {
        return reg_input(runtime, name, to.oid).map(|oid| Datum::Oid(oid.0));
    }
    if is_reg_type(from.oid)
        && is_text_like(to.oid)
        && let Datum::Oid(value) = value
    {
        let engine = runtime.database().engine();
        let name = Datum::from(reg_output(
            runtime.session().reader(),
            engine,
            Oid(*value),
            from.oid,
        ));
        return cast(
            &name,
            ColumnType::TEXT,
            to,
            CastContext::Assignment,
            runtime.format(),
        );
    }
    let context = if explicit {
        CastContext::Explicit
    } else {
        CastContext::Assignment
    };
    cast(value, from, to, context, runtime.format())
}

/// Reads the text form of a `reg*` value.
pub fn reg_input(runtime: &mut Runtime<'_, '_>, text: &str, ty: Oid) -> SqlResult<Oid> {
    if text == "-" {
        return Ok(Oid::INVALID);
    }
    if let Ok(number) = text.parse::<u32>() {
        return Ok(Oid(number));
    }
    if ty == oid::REGTYPE {
        return regtype_input(text, &runtime.session().catalog);
    }
    require_name(text, ty)?;
    let found = reg_lookup(runtime, text, ty);
    found.ok_or_else(|| {
        let (code, kind) = match ty {
            oid::REGCLASS => return no_relation(&runtime.session().catalog, text),
            oid::REGPROC if is_ambiguous(&runtime.session().catalog, text) => {
                let message = format!("more than one function named \"{text}\"");
                return SqlError::new(state::AMBIGUOUS_FUNCTION, message);
            }
            oid::REGNAMESPACE => (state::INVALID_SCHEMA_NAME, "schema"),
            oid::REGROLE => (state::UNDEFINED_OBJECT, "role"),
            oid::REGCOLLATION => (state::UNDEFINED_OBJECT, "collation"),
            _ => (state::UNDEFINED_FUNCTION, "function"),
        };
        SqlError::new(code, format!("{kind} \"{text}\" does not exist"))
    })
}

/// The error for a name in which no relation is found, which shows how it was read.
fn no_relation(catalog: &SessionCatalog, text: &str) -> SqlError {
    let (schema, name) = split_name(text);
    let Some(schema) = schema else {
        let message = format!("relation \"{name}\" does not exist");
        return SqlError::new(state::UNDEFINED_TABLE, message);
    };
    let known = mote_catalog::system_schemas::schema_oid(&schema).or_else(|| catalog.schema_oid(&schema));
    match known {
        Some(_) => SqlError::new(
            state::UNDEFINED_TABLE,
            format!("relation \"{schema}.{name}\" does not exist"),
        ),
        None => SqlError::new(
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{schema}\" does not exist"),
        ),
    }
}

/// Is there more than one function of the name?
fn is_ambiguous(catalog: &SessionCatalog, text: &str) -> bool {
    let (schema, name) = split_name(text);
    match catalog.routines_named(schema.as_deref(), &name).len() {
        0 => names_builtins(&schema) && names::is_overloaded(&name),
        count => count > 1,
    }
}

fn regtype_input(text: &str, catalog: &SessionCatalog) -> SqlResult<Oid> {
    let refused = match parse_type(text) {
        Ok(ty) => return Ok(ty.oid),
        Err(error) => error,
    };
    // Built-in names come first, as pg_catalog does in the search path.
    let (name, is_array) = match text.trim().strip_suffix("[]") {
        Some(element) => (element, true),
        None => (text, false),
    };
    let (schema, name) = split_name(name);
    let Some(found) = mote_sql::bind::named_type(schema.as_deref(), &name, catalog) else {
        return Err(refused);
    };
    let ty = ColumnType::new(found);
    match (is_array, ty.array_of()) {
        (false, _) => Ok(ty.oid),
        (true, Some(array)) => Ok(array.oid),
        // There are no arrays of domains.
        (true, None) => Err(refused),
    }
}

/// Refuses what cannot be the name of such an object: roles and schemas belong to no schema.
pub fn require_name(text: &str, ty: Oid) -> SqlResult<()> {
    let fits = match ty {
        oid::REGCLASS | oid::REGPROC | oid::REGCOLLATION => is_name(text),
        oid::REGNAMESPACE | oid::REGROLE => is_name(text) && split_name(text).0.is_none(),
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err(SqlError::new(state::INVALID_NAME, "invalid name syntax")),
    }
}

/// The object a `reg*` text names, if there is one.
pub fn reg_lookup(runtime: &mut Runtime<'_, '_>, text: &str, ty: Oid) -> Option<Oid> {
    let (schema, name) = split_name(text);
    let catalog = &runtime.session().catalog;
    match ty {
        oid::REGCLASS => {
            let relation = catalog.relation_by_name(schema.as_deref(), &name);
            let composite = || {
                let found = mote_sql::bind::named_type(schema.as_deref(), &name, catalog)?;
                is_composite(found).then(|| number_of(found))
            };
            relation
                .map(|relation| relation.oid)
                .or_else(|| catalog.index_oid(schema.as_deref(), &name))
                .or_else(composite)
        }
        oid::REGTYPE => regtype_input(text, catalog).ok(),
        oid::REGNAMESPACE => {
            mote_catalog::system_schemas::schema_oid(&name).or_else(|| catalog.schema_oid(&name))
        }
        oid::REGROLE => catalog
            .current()
            .role_by_name(&name)
            .map(|role| Oid(role.object.oid)),
        oid::REGCOLLATION if !names_builtins(&schema) => None,
        oid::REGCOLLATION => names::collation_oid(&name),
        oid::REGPROCEDURE => procedure_lookup(text, catalog),
        _ => {
            let mut named = catalog.routines_named(schema.as_deref(), &name).into_iter();
            match named.next() {
                Some(first) => named.next().is_none().then_some(first.oid),
                None if !names_builtins(&schema) || names::is_overloaded(&name) => None,
                None => names::function_oid(&name),
            }
        }
    }
}

/// `name(type, ..)`: a function by its name and the types of its inputs.
fn procedure_lookup(text: &str, catalog: &mote_catalog::catalog_store::SessionCatalog) -> Option<Oid> {
    let (name, arguments) = text.trim().strip_suffix(')')?.split_once('(')?;
    let (schema, name) = split_name(name.trim());
    let mut types = Vec::new();
    for argument in arguments
        .split(',')
        .map(str::trim)
        .filter(|argument| !argument.is_empty())
    {
        let ty = match mote_sql::parse_type_name(argument, catalog) {
            Ok(ty) => ty.oid,
            Err(_) => return None,
        };
        types.push(ty);
    }
    let fits = |routine: &&std::sync::Arc<mote_sql::routine::Routine>| {
        routine
            .inputs()
            .map(|input| input.ty.ty.oid)
            .eq(types.iter().copied())
    };
    let routines = catalog.routines_named(schema.as_deref(), &name);
    if let Some(routine) = routines.iter().find(fits) {
        return Some(routine.oid);
    }
    names_builtins(&schema).then(|| names::function_oid_of(&name, &types))?
}

/// True where a name, by its schema, may be one of what is built in.
fn names_builtins(schema: &Option<String>) -> bool {
    schema.as_deref().is_none_or(|schema| schema == "pg_catalog")
}

/// The text form of a `reg*` value: the name, or the number where nothing bears it.
pub fn reg_output(session: Reader<'_>, engine: &Engine, value: Oid, ty: Oid) -> String {
    if value == Oid::INVALID {
        return "-".into();
    }
    let catalog = session.catalog;
    let name = match ty {
        oid::REGCLASS => names::class_name(&Facts::new(session, engine), value),
        // A modifier of -1 would print `bpchar` for `character`.
        // The name of none, or of an array of none.
        oid::REGTYPE if is_user_type(value) => {
            Some(format_type(value, -2)).filter(|name| !name.starts_with("???"))
        }
        oid::REGTYPE => type_shape(value).map(|_| format_type(value, -2)),
        oid::REGNAMESPACE => mote_catalog::system_schemas::schema_name(value)
            .map(str::to_string)
            .or_else(|| {
                catalog
                    .current()
                    .schemas
                    .get(&value)
                    .map(|schema| schema.object.name.clone())
            }),
        oid::REGROLE => catalog
            .current()
            .roles
            .get(&value)
            .map(|role| role.object.name.clone()),
        oid::REGCOLLATION => names::collation_name(value).map(identifier),
        _ => match catalog.routine(value) {
            Some(routine) if ty == oid::REGPROCEDURE => Some(routine_text::signature(&routine, catalog)),
            Some(routine) => Some(routine_text::visible_name(&routine, catalog)),
            None if ty == oid::REGPROCEDURE => names::function(value).map(|function| {
                format!(
                    "{}({})",
                    identifier(function.name),
                    function.argument_list().replace(", ", ",")
                )
            }),
            None => names::function_name(value),
        },
    };
    name.unwrap_or_else(|| value.0.to_string())
}
