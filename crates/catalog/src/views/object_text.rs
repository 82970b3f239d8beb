//! Objects as values of the `reg*` types are written: relations, functions, types, schemas, roles and collations by name.
//!
//! Leaves out: numbers and `-`, which need no catalog (`mote_types::format`), and where names are looked for
//! (`system_schemas::ObjectNames`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::TypeName;
use mote_grammar::ast::deparse::identifier;
use mote_sql::catalog::CatalogView;
use mote_types::catalog::user::{composite_oid, is_composite, is_user_type, number_of, row_type};
use mote_types::catalog::{type_shape, unsupported_type_named_by};
use mote_types::{format_type, oid, type_by_name};

use super::names;
use crate::name_text::{is_name, qualified, split_name};
use crate::routine_text;
use crate::system_schemas::{ObjectNames, schema_name, schema_oid};

/// Gives the name in a literal of such a type the schema in which it is found now: it must mean the same under any search path.
pub fn complete(text: &mut Box<str>, ty: &TypeName, catalog: &dyn CatalogView) {
    if !ty.array_bounds.is_empty() || !is_name(text) {
        return;
    }
    let (None, name) = split_name(text) else {
        return;
    };
    let found = match ty.name.last() {
        "regclass" => catalog
            .relation_by_name(None, &name)
            .map(|found| qualified(&found.schema, &found.name)),
        "regtype" if type_by_name(&name).is_none() => catalog
            .user_type_named(None, &name)
            .map(|found| qualified(&found.schema, &found.name)),
        _ => None,
    };
    if let Some(found) = found {
        *text = found.into();
    }
}

/// The object that a text names, or PostgreSQL's error for its kind.
pub fn number(ty: Oid, text: &str, known: &dyn ObjectNames) -> SqlResult<Oid> {
    if ty == oid::REGTYPE {
        return mote_sql::type_of_text(text, known);
    }
    require_name(ty, text)?;
    find(ty, text, known).ok_or_else(|| {
        let (code, kind) = match ty {
            oid::REGCLASS => return no_relation(known, text),
            oid::REGPROC if is_ambiguous(known, text) => {
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

/// Refuses what cannot be the name of such an object: roles and schemas belong to no schema.
pub fn require_name(ty: Oid, text: &str) -> SqlResult<()> {
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

/// The object that a text names, if there is one.
pub fn find(ty: Oid, text: &str, known: &dyn ObjectNames) -> Option<Oid> {
    let (schema, name) = split_name(text);
    match ty {
        oid::REGCLASS => {
            let relation = known.relation_by_name(schema.as_deref(), &name);
            let composite = || {
                let found = mote_sql::bind::named_type(schema.as_deref(), &name, known)?;
                is_composite(found).then(|| number_of(found))
            };
            relation
                .map(|relation| relation.oid)
                .or_else(|| known.index_named(schema.as_deref(), &name))
                .or_else(composite)
        }
        oid::REGTYPE => type_if_any(text, known).ok().flatten(),
        oid::REGNAMESPACE => schema_oid(&name).or_else(|| known.schema_named(&name)),
        oid::REGROLE => known.role_named(&name),
        oid::REGCOLLATION if !names_builtins(&schema) => None,
        oid::REGCOLLATION => names::collation_oid(&name),
        oid::REGPROCEDURE => procedure(text, known),
        _ => {
            let mut named = known.routines_named(schema.as_deref(), &name).into_iter();
            match named.next() {
                Some(first) => named.next().is_none().then_some(first.oid),
                None if !names_builtins(&schema) || names::is_overloaded(&name) => None,
                None => names::function_oid(&name),
            }
        }
    }
}

/// The error for a name in which no relation is found, which shows how it was read.
fn no_relation(known: &dyn ObjectNames, text: &str) -> SqlError {
    let (schema, name) = split_name(text);
    let missing = |what: String| SqlError::new(state::UNDEFINED_TABLE, format!("{what} does not exist"));
    match schema {
        None => missing(format!("relation \"{name}\"")),
        Some(schema) if schema_oid(&schema).is_some() || known.schema_named(&schema).is_some() => {
            missing(format!("relation \"{schema}.{name}\""))
        }
        Some(schema) => SqlError::new(
            state::INVALID_SCHEMA_NAME,
            format!("schema \"{schema}\" does not exist"),
        ),
    }
}

/// Is there more than one function of the name?
fn is_ambiguous(known: &dyn ObjectNames, text: &str) -> bool {
    let (schema, name) = split_name(text);
    match known.routines_named(schema.as_deref(), &name).len() {
        0 => names_builtins(&schema) && names::is_overloaded(&name),
        count => count > 1,
    }
}

/// The type that a text names, if there is one; what is no type's text at all is an error.
pub fn type_if_any(text: &str, known: &dyn ObjectNames) -> SqlResult<Option<Oid>> {
    match mote_sql::type_of_text(text, known) {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.state() {
            // Types that PostgreSQL has and mote has not are none either.
            state::UNDEFINED_OBJECT | state::INVALID_SCHEMA_NAME | state::FEATURE_NOT_SUPPORTED => Ok(None),
            _ => Err(error),
        },
    }
}

/// `name(type, ..)`: a function by its name and the types of its inputs.
fn procedure(text: &str, known: &dyn ObjectNames) -> Option<Oid> {
    let (name, arguments) = text.trim().strip_suffix(')')?.split_once('(')?;
    let (schema, name) = split_name(name.trim());
    let mut types = Vec::new();
    for argument in arguments
        .split(',')
        .map(str::trim)
        .filter(|argument| !argument.is_empty())
    {
        types.push(mote_sql::parse_type_name(argument, known).ok()?.oid);
    }
    let routines = known.routines_named(schema.as_deref(), &name);
    let mut inputs = routines
        .iter()
        .map(|routine| (routine.oid, routine.input_types()));
    if let Some((found, _)) = inputs.find(|(_, inputs)| *inputs == types) {
        return Some(found);
    }
    names_builtins(&schema).then(|| names::function_oid_of(&name, &types))?
}

/// True where a name, by its schema, may be one of what is built in.
fn names_builtins(schema: &Option<String>) -> bool {
    schema.as_deref().is_none_or(|schema| schema == "pg_catalog")
}

/// The text of an object; `None` where nothing bears the number.
pub fn name(ty: Oid, object: Oid, known: &dyn ObjectNames) -> Option<String> {
    match ty {
        oid::REGCLASS => class_name(object, known),
        // The name of none, or of an array of none. A modifier of -1 would print `bpchar` for `character`.
        oid::REGTYPE if is_user_type(object) => {
            Some(format_type(object, -2)).filter(|name| !name.starts_with("???"))
        }
        oid::REGTYPE => type_shape(object)
            .map(|_| format_type(object, -2))
            .or_else(|| unsupported_type_named_by(object).map(str::to_owned)),
        oid::REGNAMESPACE => schema_name(object)
            .map(str::to_owned)
            .or_else(|| known.schema_name(object))
            .map(|name| identifier(&name)),
        oid::REGROLE => known.role_name(object).map(|name| identifier(&name)),
        oid::REGCOLLATION => names::collation_name(object).map(identifier),
        _ => match known.routine(object) {
            Some(routine) if ty == oid::REGPROCEDURE => Some(routine_text::signature(&routine, known)),
            Some(routine) => Some(routine_text::visible_name(&routine, known)),
            None if ty == oid::REGPROCEDURE => names::function(object)
                .map(|function| format!("{}({})", identifier(function.name), function.type_list())),
            None => names::function_name(object),
        },
    }
}

/// A relation of any kind or an index, with its schema unless the search path finds it.
fn class_name(object: Oid, known: &dyn ObjectNames) -> Option<String> {
    let shown = |schema: &str, name: &str| match known.first_named(name) == Some(object) {
        true => identifier(name),
        false => qualified(schema, name),
    };
    if let Some(table) = known.relation_of_index(object) {
        let index = table.indexes.iter().find(|index| index.oid == object)?;
        return Some(shown(&table.schema, &index.name));
    }
    match known.relation(object) {
        Some(relation) => Some(shown(&relation.schema, &relation.name)),
        None => composite_name(object),
    }
}

/// A composite type is a relation without rows.
fn composite_name(object: Oid) -> Option<String> {
    let ty = composite_oid(object)?;
    row_type(ty)?;
    Some(format_type(ty, -1))
}
