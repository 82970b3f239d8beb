//! pg_proc, pg_operator, pg_aggregate: what the binder can resolve, and the functions that read and write types.

use mote_common::{Oid, SqlResult};
use mote_sql::builtin::function::{
    AGGREGATES, AggregateSignature, FUNCTIONS, FunctionSignature, Volatility, WINDOWS,
};
use mote_sql::builtin::operator::OPERATORS;
use mote_types::{ColumnType, Datum, oid};

use crate::system_schemas::{CATALOG_SCHEMA, INFORMATION_SCHEMA};
use crate::views::builtin::{BOOTSTRAP_ROLE, LANGUAGE_INTERNAL, SUPPORT_FUNCTIONS, SupportFunction};
use crate::views::facts::Facts;
use crate::views::internals::{Folding, INTERNALS, Internal};
use crate::views::parameters::{Parameters, returns_set};
use crate::views::row::{NULL, oid_vector, row};

/// What pg_proc says about one function.
struct Procedure<'f> {
    oid: Oid,
    name: &'f str,
    kind: char,
    arguments: Vec<Oid>,
    /// More than their types: only of functions that have it.
    parameters: Parameters,
    variadic: Oid,
    defaults: i16,
    result: Oid,
    returns_set: bool,
    strict: bool,
    volatility: char,
    source: &'f str,
}

/// The types that a function names.
fn types_of<'t>(arguments: &'t [Oid], result: &'t Oid) -> impl Iterator<Item = Oid> + 't {
    arguments.iter().chain([result]).copied()
}

impl Procedure<'_> {
    fn row(self, schema: Oid) -> Vec<Datum> {
        // The type of a variadic parameter is the array of its elements.
        let array = ColumnType::new(self.variadic).array_of().map(|array| array.oid);
        let mut arguments = self.arguments;
        if let (Some(last), Some(array)) = (arguments.last_mut(), array) {
            *last = array;
        }
        let (all_types, modes) = self.parameters.types_and_modes();
        row![
            self.oid,
            self.name,
            if self.name.starts_with("_pg_") {
                INFORMATION_SCHEMA
            } else {
                schema
            },
            BOOTSTRAP_ROLE,
            LANGUAGE_INTERNAL,
            1.0f32,
            if self.returns_set { 1000.0f32 } else { 0.0 },
            self.variadic,
            Oid::INVALID,
            self.kind,
            false,
            false,
            self.strict,
            self.returns_set,
            self.volatility,
            's',
            arguments.len() as i16,
            self.defaults,
            self.result,
            oid_vector(arguments),
            all_types,
            modes,
            self.parameters.names(),
            self.parameters.defaults(),
            NULL,
            self.source,
            NULL,
            NULL,
            NULL,
            NULL,
        ]
    }
}

pub fn procs(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows: Vec<Vec<Datum>> = Vec::with_capacity(FUNCTIONS.len() + AGGREGATES.len());
    for function in FUNCTIONS {
        let schema = facts.schema_of_builtin(types_of(function.arguments, &function.result));
        rows.extend(schema.map(|schema| scalar(function).row(schema)));
    }
    for aggregate in AGGREGATES {
        let arguments = aggregate.arguments.to_vec();
        let schema = facts.schema_of_builtin(types_of(&arguments, &aggregate.result));
        let row = folding(aggregate.oid, aggregate.name, 'a', arguments, aggregate.result);
        rows.extend(schema.map(|schema| row.row(schema)));
    }
    for window in WINDOWS {
        let arguments = window.arguments.to_vec();
        rows.push(folding(window.oid, window.name, 'w', arguments, window.result).row(CATALOG_SCHEMA));
    }
    rows.extend(
        SUPPORT_FUNCTIONS
            .iter()
            .map(|function| support(function).row(CATALOG_SCHEMA)),
    );
    rows.extend(
        INTERNALS
            .iter()
            .map(|function| internal(function).row(CATALOG_SCHEMA)),
    );
    rows.extend(super::routines::procs(facts));
    Ok(rows)
}

fn scalar(function: &FunctionSignature) -> Procedure<'_> {
    Procedure {
        oid: function.oid,
        name: function.name,
        kind: 'f',
        arguments: function.arguments.to_vec(),
        parameters: Parameters::of(function),
        variadic: function.variadic.unwrap_or(Oid::INVALID),
        defaults: function.defaults as i16,
        result: function.result,
        returns_set: returns_set(function),
        strict: function.strict,
        volatility: match function.volatility {
            Volatility::Immutable => 'i',
            Volatility::Stable => 's',
            Volatility::Volatile => 'v',
        },
        source: function.body,
    }
}

/// An aggregate or window function.
fn folding(oid: Oid, name: &str, kind: char, arguments: Vec<Oid>, result: Oid) -> Procedure<'_> {
    Procedure {
        oid,
        name,
        kind,
        arguments,
        parameters: Parameters::default(),
        variadic: Oid::INVALID,
        defaults: 0,
        result,
        returns_set: false,
        strict: false,
        volatility: 'i',
        source: if kind == 'a' { "aggregate_dummy" } else { name },
    }
}

fn support(function: &SupportFunction) -> Procedure<'_> {
    Procedure {
        oid: function.oid,
        name: function.name,
        kind: 'f',
        arguments: function.arguments.iter().map(|&argument| Oid(argument)).collect(),
        parameters: Parameters::default(),
        variadic: Oid::INVALID,
        defaults: 0,
        result: function.result,
        returns_set: false,
        strict: true,
        volatility: if function.stable { 's' } else { 'i' },
        source: function.name,
    }
}

fn internal(function: &Internal) -> Procedure<'_> {
    Procedure {
        oid: Oid(function.oid),
        name: function.name,
        kind: 'f',
        arguments: function.arguments.iter().map(|&argument| Oid(argument)).collect(),
        parameters: Parameters::default(),
        variadic: Oid::INVALID,
        defaults: 0,
        result: Oid(function.result),
        returns_set: false,
        strict: function.strict,
        volatility: function.volatility,
        source: function.source,
    }
}

pub fn operators(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = OPERATORS.iter().filter_map(|operator| {
        let schema = facts.schema_of_builtin([operator.left, operator.right, operator.result])?;
        let is_equality = operator.name == "=" && operator.result == oid::BOOL;
        Some(row![
            operator.oid,
            operator.name,
            schema,
            BOOTSTRAP_ROLE,
            if operator.left == Oid::INVALID { 'l' } else { 'b' },
            is_equality,
            is_equality,
            operator.left,
            operator.right,
            operator.result,
            operator.commutator,
            operator.negator,
            operator.function.signature().oid,
            Oid::INVALID,
            Oid::INVALID,
        ])
    });
    Ok(rows.collect())
}

/// Aggregates are code here. Their rows name the functions that PostgreSQL folds with, as far as one server alone needs
/// them; the columns for parts of sums and for moving windows are `-`.
pub fn aggregates(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let none = Oid::INVALID;
    let here = |aggregate: &&AggregateSignature| {
        let schema = facts.schema_of_builtin(types_of(aggregate.arguments, &aggregate.result));
        schema.is_some()
    };
    let rows = AGGREGATES.iter().filter(here).map(|aggregate| {
        let folding = Folding::of(aggregate.oid).expect("every aggregate is listed");
        row![
            aggregate.oid,
            if aggregate.direct.is_some() { 'o' } else { 'n' },
            aggregate.direct.unwrap_or(0) as i16,
            Oid(folding.transition),
            Oid(folding.last),
            none,
            none,
            none,
            none,
            none,
            none,
            folding.last_extra,
            false,
            folding.last_modifies,
            'r',
            Oid(folding.sort_operator),
            Oid(folding.state),
            0,
            none,
            0,
            folding.initial.map_or(NULL, Datum::from),
            NULL,
        ]
    });
    Ok(rows.collect())
}
