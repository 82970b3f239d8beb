//! CREATE [OR REPLACE] FUNCTION and PROCEDURE.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{
    Constant, CreateFunction, ExprKind, FunctionParameter, OptionValue, ParameterMode, RelationName,
    SetAction, SetVariable, TypeName,
};
use mote_sql::catalog::CatalogView;
use mote_types::catalog::user::{is_composite, number_of};
use mote_types::catalog::{Polymorphism, polymorphism};
use mote_types::{ColumnType, oid};

use super::super::{create_table, internal, schema, set};
use crate::plpgsql::place;
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
    let (schema_oid, _) = schema::schema_for_creation(&name, context)?;
    let mut new = define(create, schema_oid, context)?;
    let signature: Vec<u32> = input_types(&new).collect();
    schema::reserve_name(schema_oid, &format!("{}({signature:?})", new.name), context)?;
    let catalog = context.session.catalog.current();
    let existing = catalog.routines_named(&new.name).find(|known| {
        known.stored.schema == schema_oid.0 && input_types(&known.stored).eq(signature.iter().copied())
    });
    if let Some(existing) = existing {
        if !create.or_replace {
            return Err(SqlError::new(
                state::DUPLICATE_FUNCTION,
                format!(
                    "function \"{}\" already exists with same argument types",
                    new.name
                ),
            ));
        }
        replace(&existing.stored, &mut new, context)?;
    }
    let oid = Oid(new.oid);
    write::put(StoredObject::Routine(new), context)?;
    validate(oid, context)?;
    Ok(CommandTag::Word(create.name()))
}

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

fn define(
    create: &CreateFunction,
    schema: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredRoutine> {
    let options = Options::read(create, context)?;
    let language = match &options.language {
        Some(language) => language.to_lowercase(),
        None if create.body.is_some() => "sql".to_string(),
        None => return Err(invalid("no language specified")),
    };
    if matches!(language.as_str(), "c" | "internal") {
        return Err(SqlError::unsupported(format_args!("LANGUAGE {language}")));
    }
    routine::language(&language, context)?;
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
        owner: context.session.identity().user_oid.0,
        acl: Vec::new(),
        comment: None,
    })
}

fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(state::INVALID_FUNCTION_DEFINITION, message)
}

/// The clauses of CREATE and ALTER; None where one was not written.
#[derive(Default)]
pub(super) struct Options {
    pub language: Option<String>,
    pub body: Option<String>,
    pub volatility: Option<char>,
    pub strict: Option<bool>,
    pub security_definer: Option<bool>,
    pub leakproof: Option<bool>,
    pub parallel: Option<char>,
    pub cost: Option<f64>,
    pub rows: Option<f64>,
    /// SET; None for RESET. RESET ALL has the name `all`.
    pub settings: Vec<(String, Option<String>)>,
}

impl Options {
    fn read(create: &CreateFunction, context: &StatementContext<'_>) -> SqlResult<Options> {
        Options::from_list(&create.options, create.procedure, context)
    }

    pub fn from_list(
        list: &[mote_grammar::ast::DefinitionOption],
        procedure: bool,
        context: &StatementContext<'_>,
    ) -> SqlResult<Options> {
        let mut options = Options::default();
        for option in list {
            let value = option.value.as_ref();
            let for_functions = !matches!(&*option.name, "as" | "language" | "security" | "set");
            if procedure && for_functions {
                return Err(invalid("invalid attribute in procedure definition"));
            }
            let place = |error: SqlError| error.at(option.location.position(&context.session.statement_text));
            options.take(&option.name, value).map_err(place)?;
        }
        Ok(options)
    }

    fn take(&mut self, name: &str, value: Option<&OptionValue>) -> SqlResult<()> {
        let conflicting = || SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options");
        fn once<T>(slot: &mut Option<T>, value: T, error: impl FnOnce() -> SqlError) -> SqlResult<()> {
            match slot.replace(value) {
                None => Ok(()),
                Some(_) => Err(error()),
            }
        }
        match (name, value) {
            ("language", Some(value)) => once(&mut self.language, word(value), conflicting),
            ("as", Some(value)) => once(&mut self.body, body_text(value)?, conflicting),
            ("volatility", Some(value)) => once(
                &mut self.volatility,
                word(value).chars().next().unwrap_or('v'),
                conflicting,
            ),
            ("strict", Some(value)) => once(&mut self.strict, flag(value), conflicting),
            ("security", Some(value)) => once(&mut self.security_definer, flag(value), conflicting),
            ("leakproof", Some(value)) => once(&mut self.leakproof, flag(value), conflicting),
            ("parallel", Some(value)) => {
                let parallel = match word(value).to_lowercase().as_str() {
                    "safe" => 's',
                    "restricted" => 'r',
                    "unsafe" => 'u',
                    _ => {
                        return Err(SqlError::new(
                            state::SYNTAX_ERROR,
                            "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE",
                        ));
                    }
                };
                once(&mut self.parallel, parallel, conflicting)
            }
            ("cost", Some(value)) => once(&mut self.cost, positive(value, "COST")?, conflicting),
            ("rows", Some(value)) => once(&mut self.rows, positive(value, "ROWS")?, conflicting),
            ("set", Some(OptionValue::Set(set))) => self.setting(set),
            (other, _) => Err(SqlError::unsupported(format_args!(
                "CREATE FUNCTION {}",
                other.to_uppercase()
            ))),
        }
    }

    fn setting(&mut self, set: &SetVariable) -> SqlResult<()> {
        let (name, value) = match &set.action {
            SetAction::Value { name, values } => (name.to_string(), Some(set::join(name, values)?)),
            SetAction::Reset { name } | SetAction::Default { name } => (name.to_string(), None),
            SetAction::ResetAll => ("all".to_string(), None),
            _ => return Err(SqlError::unsupported("SET FROM CURRENT")),
        };
        if let Some(value) = &value {
            mote_catalog::settings::Settings::new().swap(&name, value)?;
        }
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value));
        Ok(())
    }
}

fn word(value: &OptionValue) -> String {
    match value {
        OptionValue::String(text) => text.to_string(),
        OptionValue::Name(name) => name.last().to_string(),
        OptionValue::Type(name) => name.name.last().to_string(),
        _ => String::new(),
    }
}

fn flag(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Boolean(true) | OptionValue::Integer(1))
}

fn positive(value: &OptionValue, clause: &str) -> SqlResult<f64> {
    let number = match value {
        OptionValue::Integer(number) => f64::from(*number),
        OptionValue::Number(text) => text.parse().unwrap_or(0.0),
        _ => 0.0,
    };
    if number > 0.0 {
        return Ok(number);
    }
    Err(SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!("{clause} must be positive"),
    ))
}

fn body_text(value: &OptionValue) -> SqlResult<String> {
    match value {
        OptionValue::String(text) => Ok(text.to_string()),
        OptionValue::List(parts) => match parts.as_slice() {
            [OptionValue::String(text)] => Ok(text.to_string()),
            _ => Err(invalid("only one AS item needed for language \"sql\"")),
        },
        _ => Err(SqlError::internal("AS has a text")),
    }
}

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

fn arguments(
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
        return Ok(super::kept_text(value, &context.session.catalog));
    }
    let text = create_table::default_text(value, "", ColumnType::new(oid), context)?;
    // A literal is shown with the type that it took.
    Ok(match &value.kind {
        ExprKind::Constant(Constant::String(_) | Constant::Null) => {
            format!("{text}::{}", ColumnType::new(oid).name())
        }
        _ => text,
    })
}

/// What the routine returns, and whether as a set.
fn result(
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

fn check_sql_result(result: StoredType) -> SqlResult<()> {
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
fn check_polymorphic(arguments: &[StoredArgument], result: StoredType) -> SqlResult<()> {
    let outputs = arguments
        .iter()
        .filter(|argument| matches!(argument.mode, 'o' | 'b' | 't'));
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
    new.oid = old.oid;
    new.owner = old.owner;
    new.acl.clone_from(&old.acl);
    new.comment.clone_from(&old.comment);
    Ok(())
}
