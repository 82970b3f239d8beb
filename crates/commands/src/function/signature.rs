//! What a routine takes and what it answers with: modes, types and defaults of its arguments, and the result that follows
//! from RETURNS and the outputs.

use crate::columns;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{Constant, CreateFunction, ExprKind, FunctionParameter, ParameterMode, TypeName};
use mote_sql::catalog::CatalogView;
use mote_types::catalog::user::{is_composite, number_of};
use mote_types::catalog::{Polymorphism, polymorphism};
use mote_types::{ColumnType, oid};

use super::super::internal;
use super::invalid;
use crate::routine::place;
use mote_catalog::catalog_store::stored::{StoredArgument, StoredType};
use mote_executor::context::StatementContext;

/// A type of an argument or result: a type, or the name of a relation for its row.
pub(super) fn resolve_type(name: &TypeName, context: &StatementContext<'_>) -> SqlResult<StoredType> {
    let catalog = &context.session.catalog;
    let place = name.location.position(&context.session.statement_text);
    let ty = mote_sql::resolve_type_name(name, catalog).map_err(|error| error.at(place))?;
    // The rows of a relation are kept by its own number.
    let relation = number_of(ty.oid);
    Ok(
        match is_composite(ty.oid) && catalog.user_type(ty.oid).is_none() {
            true => StoredType {
                oid: oid::RECORD.0,
                row_of: Some(relation.0),
            },
            false => StoredType {
                oid: ty.oid.0,
                row_of: None,
            },
        },
    )
}

/// The arguments, in the order written, with what each may be beside the others checked.
pub(super) fn arguments(
    create: &CreateFunction,
    language: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<StoredArgument>> {
    let mut arguments: Vec<StoredArgument> = Vec::with_capacity(create.parameters.len());
    let mut default_seen = false;
    for parameter in &create.parameters {
        let argument = argument(parameter, create.procedure, language, &mut default_seen, context)?;
        let is_input = matches!(argument.mode, 'i' | 'b' | 'v');
        if is_input && arguments.iter().any(|known| known.mode == 'v') {
            return Err(invalid("VARIADIC parameter must be the last input parameter"));
        }
        // A CALL gives outputs places in the list, so they cannot stand behind what takes any number of them.
        if create.procedure && argument.mode == 'o' {
            if arguments.iter().any(|known| known.mode == 'v') {
                return Err(invalid("VARIADIC parameter must be the last parameter"));
            }
            if default_seen {
                return Err(invalid(
                    "procedure OUT parameters cannot appear after one with a default value",
                ));
            }
        }
        // An input and an output may share a name, but not as variables of PL/pgSQL.
        let same = |known: &&StoredArgument| !known.name.is_empty() && known.name == argument.name;
        if let Some(known) = arguments.iter().find(same) {
            let differ = matches!(
                (known.mode, argument.mode),
                ('i' | 'v', 'o' | 't') | ('o' | 't', 'i' | 'v')
            );
            let error = invalid(format!(
                "parameter name \"{}\" used more than once",
                argument.name
            ));
            match language {
                "plpgsql" if differ => {
                    return Err(place::in_statement(error, create.name.last(), "", None));
                }
                _ if differ => {}
                _ => return Err(error),
            }
        }
        arguments.push(argument);
    }
    let inputs = arguments
        .iter()
        .filter(|argument| matches!(argument.mode, 'i' | 'b' | 'v'))
        .count();
    if inputs > ARGUMENTS_MAX {
        return Err(SqlError::new(
            state::TOO_MANY_ARGUMENTS,
            format!("functions cannot have more than {ARGUMENTS_MAX} arguments"),
        ));
    }
    Ok(arguments)
}

/// PostgreSQL's FUNC_MAX_ARGS.
const ARGUMENTS_MAX: usize = 100;

/// One argument: mode, type and default. Modes are PostgreSQL's letters of pg_proc.proargmodes.
fn argument(
    parameter: &FunctionParameter,
    procedure: bool,
    language: &str,
    default_seen: &mut bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredArgument> {
    if parameter.type_name.set_of {
        let what = if procedure { "procedures" } else { "functions" };
        return Err(invalid(format!("{what} cannot accept set arguments")));
    }
    let ty = resolve_type(&parameter.type_name, context)?;
    let mode = match parameter.mode {
        ParameterMode::Default | ParameterMode::In => 'i',
        ParameterMode::Out => 'o',
        ParameterMode::InOut => 'b',
        ParameterMode::Variadic => 'v',
        ParameterMode::Table => 't',
    };
    let oid = Oid(ty.oid);
    let is_input = matches!(mode, 'i' | 'b' | 'v');
    // Types that no value of SQL has.
    if matches!(oid, oid::VOID | oid::TRIGGER) || (matches!(oid, oid::CSTRING | oid::INTERNAL | oid::ANY)) {
        let shown = ColumnType::new(oid).name();
        return Err(match language {
            "sql" => invalid(format!("SQL functions cannot have arguments of type {shown}")),
            _ => SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                format!("PL/pgSQL functions cannot accept type {shown}"),
            ),
        });
    }
    if oid == oid::RECORD && ty.row_of.is_none() && is_input && language == "sql" {
        return Err(invalid("SQL functions cannot have arguments of type record"));
    }
    let is_array = ColumnType::new(oid).is_array() || matches!(oid, oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY);
    if mode == 'v' && !is_array {
        return Err(invalid("VARIADIC parameter must be an array"));
    }
    let default = match &parameter.default {
        Some(_) if !is_input => return Err(invalid("only input parameters can have default values")),
        Some(value) => {
            *default_seen = true;
            Some(default_text(value, ty, context)?)
        }
        // Arguments are left out from the end.
        None if *default_seen && is_input => {
            return Err(invalid(
                "input parameters after one with a default value must also have defaults",
            ));
        }
        None => None,
    };
    Ok(StoredArgument {
        name: parameter.name.as_deref().unwrap_or_default().to_string(),
        mode,
        ty,
        default,
    })
}

/// The text of an argument's default. A polymorphic one has no type to be converted to yet.
fn default_text(
    value: &mote_grammar::ast::Expr,
    ty: StoredType,
    context: &mut StatementContext<'_>,
) -> SqlResult<String> {
    let oid = Oid(ty.oid);
    if polymorphism(oid).is_some() {
        internal::on_large_stack(context, |session| {
            mote_sql::bind_free_expression(value, None, &session.statement_text, &session.catalog)
        })?;
        return Ok(crate::qualify::kept_text(value, &context.session.catalog));
    }
    let text = columns::default_text(value, "", ColumnType::new(oid), context)?;
    // A literal is shown with the type that it took.
    Ok(match &value.kind {
        ExprKind::Constant(Constant::String(_) | Constant::Null) => {
            format!("{text}::{}", ColumnType::new(oid).name())
        }
        _ => text,
    })
}

/// What the routine returns, and whether as a set.
pub(super) fn result(
    create: &CreateFunction,
    arguments: &[StoredArgument],
    context: &StatementContext<'_>,
) -> SqlResult<(StoredType, bool)> {
    let plain = |oid: Oid| StoredType {
        oid: oid.0,
        row_of: None,
    };
    let outputs: Vec<&StoredArgument> = arguments
        .iter()
        .filter(|argument| matches!(argument.mode, 'o' | 'b' | 't'))
        .collect();
    // One output is the result itself, several make a record; of a procedure always a record.
    let of_outputs = match outputs.as_slice() {
        [] => None,
        [only] if !create.procedure => Some(only.ty),
        _ => Some(plain(oid::RECORD)),
    };
    if create.procedure {
        return Ok((of_outputs.unwrap_or(plain(oid::VOID)), false));
    }
    let Some(written) = &create.returns else {
        let is_table = outputs.iter().any(|argument| argument.mode == 't');
        return match of_outputs {
            Some(ty) => Ok((ty, is_table)),
            None => Err(invalid("function result type must be specified")),
        };
    };
    let mut single = written.clone();
    single.set_of = false;
    let is_table = outputs.iter().any(|argument| argument.mode == 't');
    if is_table {
        // The grammar gives RETURNS TABLE a result type of its own.
        return Ok((of_outputs.expect("there are columns"), true));
    }
    let ty = resolve_type(&single, context)?;
    // RETURNS beside outputs must say what they make.
    if let Some(wanted) = of_outputs
        && wanted != ty
    {
        let shown = ColumnType::new(Oid(wanted.oid)).name();
        return Err(invalid(format!(
            "function result type must be {shown} because of OUT parameters"
        )));
    }
    Ok((ty, written.set_of))
}

/// Results that a body in SQL cannot give.
pub(super) fn check_sql_result(result: StoredType) -> SqlResult<()> {
    let oid = Oid(result.oid);
    if matches!(oid, oid::TRIGGER | oid::CSTRING | oid::INTERNAL | oid::ANY) {
        return Err(invalid(format!(
            "SQL functions cannot return type {}",
            ColumnType::new(oid).name()
        )));
    }
    Ok(())
}

/// A polymorphic result needs an argument that tells what it is.
pub(super) fn check_polymorphic(arguments: &[StoredArgument], result: StoredType) -> SqlResult<()> {
    let outputs = arguments
        .iter()
        .filter(|argument| matches!(argument.mode, 'o' | 'b' | 't'));
    // Each output by itself, and the result.
    for ty in outputs.map(|argument| argument.ty.oid).chain([result.oid]) {
        let inputs = arguments
            .iter()
            .filter(|argument| matches!(argument.mode, 'i' | 'b' | 'v'));
        if inputs
            .map(|input| Oid(input.ty.oid))
            .any(|input| tells(input, Oid(ty)))
        {
            continue;
        }
        let Some(needed) = needed_for(Oid(ty)) else {
            continue;
        };
        let shown = ColumnType::new(Oid(ty)).name();
        return Err(invalid("cannot determine result data type").detail(format!(
            "A result of type {shown} requires at least one input of type {needed}."
        )));
    }
    Ok(())
}

/// Does an argument of a polymorphic type say what a result is? No element says which range is meant.
fn tells(input: Oid, result: Oid) -> bool {
    let is_range = |ty: Oid| {
        use oid::{ANYCOMPATIBLEMULTIRANGE, ANYCOMPATIBLERANGE, ANYMULTIRANGE, ANYRANGE};
        matches!(
            ty,
            ANYRANGE | ANYMULTIRANGE | ANYCOMPATIBLERANGE | ANYCOMPATIBLEMULTIRANGE
        )
    };
    polymorphism(input).is_some()
        && polymorphism(input) == polymorphism(result)
        && (is_range(input) || !is_range(result))
}

/// What says a polymorphic result.
fn needed_for(result: Oid) -> Option<&'static str> {
    Some(match (result, polymorphism(result)?) {
        (oid::ANYRANGE | oid::ANYMULTIRANGE, _) => "anyrange or anymultirange",
        (oid::ANYCOMPATIBLERANGE | oid::ANYCOMPATIBLEMULTIRANGE, _) => {
            "anycompatiblerange or anycompatiblemultirange"
        }
        (_, Polymorphism::Exact) => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
        (_, Polymorphism::Common) => {
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
        }
    })
}
