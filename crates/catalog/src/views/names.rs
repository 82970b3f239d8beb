//! Built-in objects by name and by OID, for `reg*` types and for what the binder's tables do not hold.

use mote_common::Oid;
use mote_grammar::ast::deparse::identifier;
use mote_sql::builtin::function::{AGGREGATES, FUNCTIONS, WINDOWS, function_by_oid};
use mote_types::format_type;

use super::builtin::{COLLATIONS, SUPPORT_FUNCTIONS, support_function};
use super::internals::INTERNALS;
use super::parameters::{Parameters, returns_set};

/// The OID of the function of this name: the first one where several bear it.
pub fn function_oid(name: &str) -> Option<Oid> {
    let scalar = FUNCTIONS
        .iter()
        .find(|function| function.name == name)
        .map(|function| function.oid);
    scalar
        .or_else(|| {
            AGGREGATES
                .iter()
                .find(|aggregate| aggregate.name == name)
                .map(|aggregate| aggregate.oid)
        })
        .or_else(|| {
            WINDOWS
                .iter()
                .find(|window| window.name == name)
                .map(|window| window.oid)
        })
        .or_else(|| support_function(name))
        .or_else(|| internal_function(name))
}

fn internal_function(name: &str) -> Option<Oid> {
    let found = INTERNALS.iter().find(|function| function.name == name);
    found.map(|function| Oid(function.oid))
}

/// Do several built-in functions bear the name?
pub fn is_overloaded(name: &str) -> bool {
    let scalars = FUNCTIONS.iter().filter(|function| function.name == name).count();
    let aggregates = AGGREGATES.iter().filter(|function| function.name == name).count();
    let windows = WINDOWS.iter().filter(|function| function.name == name).count();
    let internals = INTERNALS.iter().filter(|function| function.name == name).count();
    let supports = SUPPORT_FUNCTIONS
        .iter()
        .filter(|function| function.name == name)
        .count();
    scalars + aggregates + windows + internals + supports > 1
}

/// The OID of the function of this name with exactly these arguments.
pub fn function_oid_of(name: &str, arguments: &[Oid]) -> Option<Oid> {
    let scalar = FUNCTIONS
        .iter()
        .find(|f| f.name == name && f.arguments == arguments);
    let aggregate = || {
        AGGREGATES
            .iter()
            .find(|f| f.name == name && f.arguments == arguments)
    };
    let window = || {
        WINDOWS
            .iter()
            .find(|f| f.name == name && f.arguments == arguments)
    };
    scalar
        .map(|function| function.oid)
        .or_else(|| aggregate().map(|function| function.oid))
        .or_else(|| window().map(|function| function.oid))
        .or_else(|| uncalled_function_of(name, arguments))
}

/// Those that no plan calls are found by name all the same: clients tell array types by `array_in`'s number.
fn uncalled_function_of(name: &str, arguments: &[Oid]) -> Option<Oid> {
    let takes = |listed: &[u32]| listed.iter().copied().map(Oid).eq(arguments.iter().copied());
    let support = SUPPORT_FUNCTIONS
        .iter()
        .find(|f| f.name == name && takes(f.arguments))
        .map(|function| function.oid);
    support.or_else(|| {
        INTERNALS
            .iter()
            .find(|f| f.name == name && takes(f.arguments))
            .map(|function| Oid(function.oid))
    })
}

/// Name, arguments and result of a function of any kind.
pub fn function(oid: Oid) -> Option<FunctionFacts> {
    if let Some(id) = function_by_oid(oid) {
        let found = id.signature();
        return Some(FunctionFacts {
            name: found.name,
            arguments: found.arguments.to_vec(),
            parameters: Parameters::of(found),
            result: found.result,
            returns_set: returns_set(found),
        });
    }
    if let Some(found) = AGGREGATES.iter().find(|aggregate| aggregate.oid == oid) {
        let by_position = FunctionFacts::by_position(found.name, found.arguments.to_vec(), found.result);
        return Some(match found.direct {
            Some(direct) => FunctionFacts {
                parameters: Parameters::of_ordered_set(found.arguments, direct),
                ..by_position
            },
            None => by_position,
        });
    }
    if let Some(found) = WINDOWS.iter().find(|window| window.oid == oid) {
        return Some(FunctionFacts::by_position(
            found.name,
            found.arguments.to_vec(),
            found.result,
        ));
    }
    let types = |listed: &[u32]| listed.iter().copied().map(Oid).collect();
    if let Some(found) = INTERNALS.iter().find(|function| function.oid == oid.0) {
        return Some(FunctionFacts::by_position(
            found.name,
            types(found.arguments),
            Oid(found.result),
        ));
    }
    let position = SUPPORT_FUNCTIONS
        .binary_search_by_key(&oid, |function| function.oid)
        .ok()?;
    let found = &SUPPORT_FUNCTIONS[position];
    Some(FunctionFacts::by_position(
        found.name,
        types(found.arguments),
        found.result,
    ))
}

/// The text form of a regproc: with its schema where others bear the name.
pub fn function_name(oid: Oid) -> Option<String> {
    let name = function(oid)?.name;
    let bearers = (FUNCTIONS.iter().map(|function| function.name))
        .chain(AGGREGATES.iter().map(|aggregate| aggregate.name))
        .chain(WINDOWS.iter().map(|window| window.name))
        .chain(INTERNALS.iter().map(|function| function.name))
        .chain(SUPPORT_FUNCTIONS.iter().map(|function| function.name));
    let alone = bearers.filter(|bearer| *bearer == name).count() == 1;
    let quoted = identifier(name);
    Some(if alone {
        quoted
    } else {
        format!("pg_catalog.{quoted}")
    })
}

pub struct FunctionFacts {
    pub name: &'static str,
    pub arguments: Vec<Oid>,
    pub parameters: Parameters,
    pub result: Oid,
    pub returns_set: bool,
}

impl FunctionFacts {
    fn by_position(name: &'static str, arguments: Vec<Oid>, result: Oid) -> FunctionFacts {
        FunctionFacts {
            name,
            parameters: Parameters::unnamed(&arguments),
            arguments,
            result,
            returns_set: false,
        }
    }

    /// The types as regprocedure shows them: without a modifier, so `character` and not `bpchar`.
    pub fn type_list(&self) -> String {
        let types: Vec<String> = self.arguments.iter().map(|&ty| format_type(ty, -2)).collect();
        types.join(",")
    }

    /// pg_get_function_result.
    pub fn result_text(&self) -> String {
        let set = if self.returns_set { "SETOF " } else { "" };
        format!("{set}{}", format_type(self.result, -2))
    }
}

pub fn collation_name(oid: Oid) -> Option<&'static str> {
    let found = COLLATIONS.iter().find(|collation| collation.oid == oid);
    found.map(|collation| collation.name)
}

pub fn collation_oid(name: &str) -> Option<Oid> {
    COLLATIONS
        .iter()
        .find(|collation| collation.name == name)
        .map(|collation| collation.oid)
}
