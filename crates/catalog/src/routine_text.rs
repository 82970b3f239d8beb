//! Routines as text: signatures, arguments, results, definitions, as PostgreSQL's functions show them.

use mote_grammar::ast::deparse::identifier;
use mote_sql::builtin::function::Volatility;
use mote_sql::catalog::CatalogView;
use mote_sql::routine::{ParallelSafety, Routine, RoutineArgument, RoutineKind, RoutineMode, RoutineType};
use mote_types::format_type;

/// A type's name where no catalog is at hand: a row type shows as record.
pub fn type_text(ty: RoutineType) -> String {
    ty.ty.name()
}

/// A type's name, as format_type shows it.
pub fn type_name(ty: RoutineType, catalog: &dyn CatalogView) -> String {
    let Some(relation) = ty.row_of.and_then(|row| catalog.relation(row)) else {
        // Without a modifier: -1 would print `bpchar` for `character`.
        return format_type(ty.ty.oid, -2);
    };
    let visible = catalog.relation_by_name(None, &relation.name);
    match visible.is_some_and(|visible| visible.oid == relation.oid) {
        true => identifier(&relation.name),
        false => format!("{}.{}", identifier(&relation.schema), identifier(&relation.name)),
    }
}

/// pg_get_function_arguments: names, modes, types and defaults.
pub fn arguments(routine: &Routine, catalog: &dyn CatalogView) -> String {
    list(routine, catalog, true, |argument| {
        argument.mode != RoutineMode::Table
    })
}

/// pg_get_function_identity_arguments: the same without defaults; what tells functions apart.
pub fn identity_arguments(routine: &Routine, catalog: &dyn CatalogView) -> String {
    list(routine, catalog, false, |argument| {
        argument.mode != RoutineMode::Table
    })
}

/// pg_get_function_result; None for procedures.
pub fn result(routine: &Routine, catalog: &dyn CatalogView) -> Option<String> {
    if routine.kind == RoutineKind::Procedure {
        return None;
    }
    if routine
        .arguments
        .iter()
        .any(|argument| argument.mode == RoutineMode::Table)
    {
        let columns = list(routine, catalog, false, |argument| {
            argument.mode == RoutineMode::Table
        });
        return Some(format!("TABLE({columns})"));
    }
    let set = if routine.returns_set { "SETOF " } else { "" };
    Some(format!("{set}{}", type_name(routine.result, catalog)))
}

fn list(
    routine: &Routine,
    catalog: &dyn CatalogView,
    with_defaults: bool,
    shown: impl Fn(&RoutineArgument) -> bool,
) -> String {
    // Modes of plain arguments are written out where a procedure or an INOUT needs it: PostgreSQL writes IN for a
    // procedure with OUT arguments only.
    let parts = routine.arguments.iter().filter(|argument| shown(argument));
    let text = |argument: &RoutineArgument| {
        let mut text = String::new();
        text.push_str(match argument.mode {
            RoutineMode::In if routine.kind == RoutineKind::Procedure => "IN ",
            RoutineMode::In | RoutineMode::Table => "",
            RoutineMode::Out => "OUT ",
            RoutineMode::InOut => "INOUT ",
            RoutineMode::Variadic => "VARIADIC ",
        });
        if !argument.name.is_empty() {
            text.push_str(&identifier(&argument.name));
            text.push(' ');
        }
        text.push_str(&type_name(argument.ty, catalog));
        if let (true, Some(default)) = (with_defaults, &argument.default) {
            text.push_str(" DEFAULT ");
            text.push_str(default);
        }
        text
    };
    parts.map(text).collect::<Vec<_>>().join(", ")
}

/// `name(types)`, as regprocedure shows it: the schema where the name alone would not be found.
pub fn signature(routine: &Routine, catalog: &dyn CatalogView) -> String {
    let types: Vec<String> = routine
        .inputs()
        .map(|input| type_name(input.ty, catalog))
        .collect();
    format!("{}({})", visible_name(routine, catalog), types.join(","))
}

/// Whether a call by name alone can mean it.
pub fn is_visible(routine: &Routine, catalog: &dyn CatalogView) -> bool {
    let types = routine.input_types();
    let found = catalog.routines_named(None, &routine.name);
    let first = found.iter().find(|found| found.input_types() == types);
    first.is_some_and(|first| first.oid == routine.oid)
}

/// The name, with its schema where another function would be found without.
pub fn visible_name(routine: &Routine, catalog: &dyn CatalogView) -> String {
    match is_visible(routine, catalog) {
        true => identifier(&routine.name),
        false => format!("{}.{}", identifier(&routine.schema), identifier(&routine.name)),
    }
}

/// `name(types)` without a schema, as in messages about functions.
pub fn plain_signature(routine: &Routine, catalog: &dyn CatalogView) -> String {
    let types: Vec<String> = routine
        .inputs()
        .map(|input| type_name(input.ty, catalog))
        .collect();
    format!("{}({})", routine.name, types.join(","))
}

/// pg_get_functiondef.
pub fn definition(routine: &Routine, catalog: &dyn CatalogView) -> String {
    let word = match routine.kind {
        RoutineKind::Function => "FUNCTION",
        RoutineKind::Procedure => "PROCEDURE",
    };
    let mut text = format!(
        "CREATE OR REPLACE {word} {}.{}({})\n",
        identifier(&routine.schema),
        identifier(&routine.name),
        arguments(routine, catalog)
    );
    if let Some(result) = result(routine, catalog) {
        text.push_str(&format!(" RETURNS {result}\n"));
    }
    text.push_str(&format!(" LANGUAGE {}\n", identifier(&routine.language)));
    let options = options(routine);
    if !options.is_empty() {
        text.push_str(&format!(" {}\n", options.join(" ")));
    }
    for (name, value) in &routine.settings {
        text.push_str(&format!(
            " SET {} TO {}\n",
            identifier(name),
            setting_value(name, value)
        ));
    }
    if routine.standard_body {
        text.push_str(&routine.body);
        text.push('\n');
    } else {
        let quote = dollar_quote(&routine.body, word);
        text.push_str(&format!("AS {quote}{}{quote}\n", routine.body));
    }
    text
}

fn options(routine: &Routine) -> Vec<String> {
    let mut options = Vec::new();
    let mut add = |word: &str| options.push(word.to_string());
    match routine.volatility {
        Volatility::Immutable => add("IMMUTABLE"),
        Volatility::Stable => add("STABLE"),
        Volatility::Volatile => {}
    }
    match routine.parallel {
        ParallelSafety::Safe => add("PARALLEL SAFE"),
        ParallelSafety::Restricted => add("PARALLEL RESTRICTED"),
        ParallelSafety::Unsafe => {}
    }
    if routine.strict {
        add("STRICT");
    }
    if routine.security_definer {
        add("SECURITY DEFINER");
    }
    if routine.leakproof {
        add("LEAKPROOF");
    }
    if routine.cost != default_cost(&routine.language) {
        add(&format!("COST {}", routine.cost));
    }
    if routine.returns_set && routine.rows != DEFAULT_ROWS {
        add(&format!("ROWS {}", routine.rows));
    }
    options
}

/// Estimated rows of a set, unless ROWS says otherwise.
pub const DEFAULT_ROWS: f64 = 1000.0;

/// The cost of a call, unless COST says otherwise.
pub fn default_cost(language: &str) -> f64 {
    if language == "internal" {
        return 1.0;
    }
    100.0
}

fn setting_value(name: &str, value: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    // Lists of names are shown name by name.
    match name {
        "search_path" | "temp_tablespaces" | "session_preload_libraries" => {
            let names = crate::settings::parse_name_list(value);
            names
                .iter()
                .map(|name| quoted(name))
                .collect::<Vec<_>>()
                .join(", ")
        }
        _ => quoted(value),
    }
}

/// A dollar quote that the body does not contain: `$function$`, longer if need be.
fn dollar_quote(body: &str, word: &str) -> String {
    let mut tag = format!("${}", word.to_lowercase());
    while body.contains(&tag) {
        tag.push('x');
    }
    tag + "$"
}
