//! Functions and procedures of users: their rows of pg_proc, and of information_schema.routines and parameters.

use mote_common::{Oid, SqlResult};
use mote_sql::builtin::function::Volatility;
use mote_sql::routine::{ParallelSafety, Routine, RoutineKind, RoutineMode};
use mote_types::{ColumnType, Datum, oid};

use super::acl::acl;
use super::schema_types::{TypeDescription, yes_or_no};
use crate::privileges::{is_member, may_execute};
use crate::routine_text as text;
use crate::views::builtin::LANGUAGE_INTERNAL;
use crate::views::facts::Facts;
use crate::views::parameters::mode_letter;
use crate::views::row::{NULL, oid_array, oid_vector, row, text_array, text_array_or_null};

const LANGUAGE_SQL: Oid = Oid(14);
/// PostgreSQL 15's own number for it.
pub const LANGUAGE_PLPGSQL: Oid = Oid(13563);

fn language(name: &str) -> Oid {
    match name {
        "sql" => LANGUAGE_SQL,
        "internal" => LANGUAGE_INTERNAL,
        _ => LANGUAGE_PLPGSQL,
    }
}

/// Rows of pg_proc.
pub fn procs(facts: &Facts<'_>) -> impl Iterator<Item = Vec<Datum>> {
    facts.routines().into_iter().map(|routine| proc(facts, routine))
}

fn proc(facts: &Facts<'_>, routine: &Routine) -> Vec<Datum> {
    let inputs = routine.input_types();
    let has_outputs = routine
        .arguments
        .iter()
        .any(|argument| argument.mode != RoutineMode::In);
    let variadic = routine
        .arguments
        .iter()
        .find(|argument| argument.mode == RoutineMode::Variadic)
        .and_then(|argument| argument.ty.ty.element());
    let named = routine.arguments.iter().any(|argument| !argument.name.is_empty());
    let defaults: Vec<&str> = routine
        .inputs()
        .filter_map(|input| input.default.as_deref())
        .collect();
    let settings: Vec<String> = routine
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    row![
        routine.oid,
        &routine.name,
        routine.schema_oid,
        routine.owner,
        language(&routine.language),
        routine.cost as f32,
        routine.rows as f32,
        variadic.map_or(Oid::INVALID, |element| element.oid),
        Oid::INVALID,
        match routine.kind {
            RoutineKind::Function => 'f',
            RoutineKind::Procedure => 'p',
        },
        routine.security_definer,
        routine.leakproof,
        routine.strict,
        routine.returns_set,
        match routine.volatility {
            Volatility::Immutable => 'i',
            Volatility::Stable => 's',
            Volatility::Volatile => 'v',
        },
        match routine.parallel {
            ParallelSafety::Safe => 's',
            ParallelSafety::Restricted => 'r',
            ParallelSafety::Unsafe => 'u',
        },
        inputs.len() as i16,
        defaults.len() as i16,
        routine.result.ty.oid,
        oid_vector(inputs),
        match has_outputs {
            true => oid_array(routine.arguments.iter().map(|argument| argument.ty.ty.oid)),
            false => NULL,
        },
        match has_outputs {
            true => modes(routine),
            false => NULL,
        },
        match named {
            true => text_array(routine.arguments.iter().map(|argument| &argument.name)),
            false => NULL,
        },
        (!defaults.is_empty()).then(|| defaults.join(", ")),
        NULL,
        if routine.standard_body { "" } else { &routine.body },
        NULL,
        routine.standard_body.then_some(&routine.body),
        text_array_or_null(&settings),
        acl(facts, &routine.acl),
    ]
}

fn modes(routine: &Routine) -> Datum {
    let letters = routine
        .arguments
        .iter()
        .map(|argument| Datum::text(mode_letter(argument.mode)));
    Datum::array(oid::CHAR, letters.collect())
}

fn specific_name(routine: &Routine) -> String {
    format!("{}_{}", routine.name, routine.oid)
}

/// Routines that the user owns or may execute.
fn accessible<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = &'f Routine> {
    let catalog = facts.session.catalog;
    facts
        .routines()
        .into_iter()
        .filter(|routine| may_execute(catalog, routine, catalog.identity.user_oid))
}

/// Rows of information_schema.routines.
pub fn routines(facts: &Facts<'_>) -> Vec<Vec<Datum>> {
    const COLUMNS: usize = 82;
    let catalog = facts.database_name();
    let rows = accessible(facts).map(|routine| {
        let result = TypeDescription::of(routine.result.ty, facts);
        let is_function = routine.kind == RoutineKind::Function;
        let (kind, data_type) = match is_function {
            true => ("FUNCTION", Some(result.data_type)),
            false => ("PROCEDURE", None),
        };
        let mut row = row![
            catalog,
            &routine.schema,
            specific_name(routine),
            catalog,
            &routine.schema,
            &routine.name,
            kind,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            data_type,
        ];
        row.extend(std::iter::repeat_n(NULL, 14));
        row.extend(row![
            is_function.then_some(catalog),
            is_function.then_some(result.udt_schema),
            is_function.then_some(result.udt_name),
            NULL,
            NULL,
            NULL,
            NULL,
            is_function.then_some("0"),
        ]);
        let is_sql = routine.language == "sql";
        // The body is its owner's business.
        let body = is_member(facts.session.catalog, routine.owner).then_some(&routine.body);
        row.extend(row![
            if is_sql { "SQL" } else { "EXTERNAL" },
            body,
            NULL,
            routine.language.to_uppercase(),
            "GENERAL",
        ]);
        row.extend(row![
            yes_or_no(routine.volatility == Volatility::Immutable),
            "MODIFIES",
            is_function.then(|| yes_or_no(routine.strict)),
            NULL,
            "YES",
            0,
            NULL,
            NULL,
            if routine.security_definer {
                "DEFINER"
            } else {
                "INVOKER"
            },
            NULL,
            NULL,
            NULL,
            "NO",
            NULL,
            NULL,
            NULL,
            "NO",
        ]);
        row.resize(COLUMNS, NULL);
        row
    });
    rows.collect()
}

/// information_schema.parameters.
pub fn parameters(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let mut rows = Vec::new();
    for routine in accessible(facts) {
        for (position, argument) in routine.arguments.iter().enumerate() {
            let ty = TypeDescription::of(ColumnType::new(argument.ty.ty.oid), facts);
            let mode = match argument.mode {
                RoutineMode::In | RoutineMode::Variadic => "IN",
                RoutineMode::Out | RoutineMode::Table => "OUT",
                RoutineMode::InOut => "INOUT",
            };
            let mut row = row![
                catalog,
                &routine.schema,
                specific_name(routine),
                position as i32 + 1,
                mode,
                "NO",
                "NO",
                (!argument.name.is_empty()).then_some(&argument.name),
                ty.data_type,
            ];
            row.extend(std::iter::repeat_n(NULL, 14));
            row.extend(row![
                catalog,
                ty.udt_schema,
                ty.udt_name,
                NULL,
                NULL,
                NULL,
                NULL,
                (position + 1).to_string(),
                is_member(facts.session.catalog, routine.owner)
                    .then(|| argument.default.clone())
                    .flatten(),
            ]);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// pg_get_function_arguments and its kin.
pub fn shown(facts: &Facts<'_>, oid: Oid, what: Shown) -> Option<String> {
    let routine = facts.routine(oid)?;
    let catalog = facts.session.catalog;
    match what {
        Shown::Arguments => Some(text::arguments(routine, catalog)),
        Shown::IdentityArguments => Some(text::identity_arguments(routine, catalog)),
        Shown::Result => text::result(routine, catalog),
        Shown::Definition => Some(text::definition(routine, catalog)),
        Shown::StandardBody => routine.standard_body.then(|| routine.body.clone()),
    }
}

/// What to show of a routine.
#[derive(Clone, Copy)]
pub enum Shown {
    Arguments,
    IdentityArguments,
    Result,
    Definition,
    StandardBody,
}
