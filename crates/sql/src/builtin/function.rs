//! Signatures of the built-in functions, aggregates and window functions: constants of the binary.
//!
//! A [`FunctionId`] is the position in [`FUNCTIONS`]; `executor::functions` finds the body of each name, and its tests that none
//! is missing (but see [`SPECIAL_BODIES`]). Families live in `function/*.rs` slices that are concatenated
//! here, with those of types that have a folder of their own (`mote_types::family`); to add a signature, add a line to its family.

use std::sync::LazyLock;

use hashbrown::HashMap;
use mote_common::Oid;
use mote_types::catalog::extension::of_extension;
use mote_types::family::{self, Comparisons, TypeFamily};
use mote_types::signature::{aggregate, function};

mod aggregate;
mod array;
mod comparison;
mod datetime;
mod enums;
mod geometry;
mod helper;
mod hstore;
mod information;
mod integer;
mod json;
mod large_object;
mod numeric;
mod range;
mod record;
mod set_returning;
mod system;
mod text;
mod type_io;
mod window;

pub use mote_types::signature::{AggregateSignature, FunctionSignature, Volatility};
pub use record::{makes_rows_of_json, only_output, out_columns, record_columns};

/// Position in the table of scalar and set-returning functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FunctionId(pub u16);

/// Position in the table of aggregates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AggregateId(pub u16);

/// Position in the table of window functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WindowId(pub u16);

/// One window function.
#[derive(Clone, Copy, Debug)]
pub struct WindowSignature {
    pub oid: Oid,
    pub name: &'static str,
    pub body: &'static str,
    pub arguments: &'static [Oid],
    pub result: Oid,
}

/// Bodies that no call ever reaches: the binder turns these functions into expressions of their own
/// (`SessionValue`, `Sequence`), because they need the session. They are listed for `pg_proc`.
pub const SPECIAL_BODIES: &[&str] = &[
    "now",
    "statement_timestamp",
    "clock_timestamp",
    "current_database",
    "current_schema",
    "current_user",
    "session_user",
    "nextval_oid",
    "currval_oid",
    "lastval",
    "setval_oid",
    "setval3_oid",
];

const fn ordered(
    oid: u32,
    name: &'static str,
    body: &'static str,
    arguments: &'static [Oid],
    result: Oid,
    direct: u8,
) -> AggregateSignature {
    let mut signature = aggregate(oid, name, body, arguments, result);
    signature.direct = Some(direct);
    signature
}

const fn window(
    oid: u32,
    name: &'static str,
    body: &'static str,
    arguments: &'static [Oid],
    result: Oid,
) -> WindowSignature {
    WindowSignature {
        oid: Oid(oid),
        name,
        body,
        arguments,
        result,
    }
}

const FAMILIES: &[&[FunctionSignature]] = &[
    integer::SIGNATURES,
    numeric::SIGNATURES,
    geometry::SIGNATURES,
    comparison::SIGNATURES,
    text::SIGNATURES,
    datetime::SIGNATURES,
    enums::SIGNATURES,
    array::SIGNATURES,
    range::SIGNATURES,
    json::SIGNATURES,
    set_returning::SIGNATURES,
    system::SIGNATURES,
    large_object::SIGNATURES,
    type_io::SIGNATURES,
    helper::SIGNATURES,
    hstore::SIGNATURES,
    information::SIGNATURES,
];

/// The functions by which types are read and written.
pub fn type_io() -> impl Iterator<Item = &'static FunctionSignature> {
    let families = family::FAMILIES.iter().flat_map(|family| family.input_output);
    type_io::SIGNATURES.iter().chain(families)
}

const fn count_functions() -> usize {
    let (mut next, mut total) = (0, 0);
    while next < FAMILIES.len() {
        total += FAMILIES[next].len();
        next += 1;
    }
    next = 0;
    while next < family::FAMILIES.len() {
        let types: &TypeFamily = family::FAMILIES[next];
        total += types.routines.len() + types.input_output.len();
        total += types.comparisons.len() * Comparisons::FUNCTIONS;
        next += 1;
    }
    total
}

/// The functions of types with a folder of their own, behind `next` rows that are there already.
const fn concatenate_types<const N: usize>(
    mut all: [FunctionSignature; N],
    mut next: usize,
) -> [FunctionSignature; N] {
    let mut position = 0;
    while position < family::FAMILIES.len() {
        let types: &TypeFamily = family::FAMILIES[position];
        let mut row = 0;
        while row < types.routines.len() {
            all[next] = types.routines[row].signature;
            (next, row) = (next + 1, row + 1);
        }
        let mut ty = 0;
        while ty < types.comparisons.len() {
            let functions = &types.comparisons[ty].functions;
            row = 0;
            while row < functions.len() {
                all[next] = functions[row].signature;
                (next, row) = (next + 1, row + 1);
            }
            ty += 1;
        }
        row = 0;
        while row < types.input_output.len() {
            all[next] = types.input_output[row];
            (next, row) = (next + 1, row + 1);
        }
        position += 1;
    }
    all
}

const fn concatenate() -> [FunctionSignature; count_functions()] {
    let mut all = [function(0, "", "", &[], Oid::INVALID); count_functions()];
    let (mut family, mut next) = (0, 0);
    while family < FAMILIES.len() {
        let mut position = 0;
        while position < FAMILIES[family].len() {
            all[next] = FAMILIES[family][position];
            next += 1;
            position += 1;
        }
        family += 1;
    }
    concatenate_types(all, next)
}

static CONCATENATED: [FunctionSignature; count_functions()] = concatenate();

const fn count_aggregates() -> usize {
    let (mut next, mut total) = (0, aggregate::AGGREGATE_TABLE.len());
    while next < family::FAMILIES.len() {
        total += family::FAMILIES[next].aggregates.len();
        next += 1;
    }
    total
}

const fn concatenate_aggregates() -> [AggregateSignature; count_aggregates()] {
    let mut all = [aggregate(0, "", "", &[], Oid::INVALID); count_aggregates()];
    let mut next = 0;
    while next < aggregate::AGGREGATE_TABLE.len() {
        all[next] = aggregate::AGGREGATE_TABLE[next];
        next += 1;
    }
    let mut position = 0;
    while position < family::FAMILIES.len() {
        let mut row = 0;
        while row < family::FAMILIES[position].aggregates.len() {
            all[next] = family::FAMILIES[position].aggregates[row];
            (next, row) = (next + 1, row + 1);
        }
        position += 1;
    }
    all
}

static CONCATENATED_AGGREGATES: [AggregateSignature; count_aggregates()] = concatenate_aggregates();

/// Scalar and set-returning functions, indexed by [`FunctionId`].
pub static FUNCTIONS: &[FunctionSignature] = &CONCATENATED;
/// Aggregates, indexed by [`AggregateId`].
pub static AGGREGATES: &[AggregateSignature] = &CONCATENATED_AGGREGATES;
/// Window functions, indexed by [`WindowId`].
pub static WINDOWS: &[WindowSignature] = window::WINDOW_TABLE;

impl FunctionId {
    pub fn signature(self) -> &'static FunctionSignature {
        &FUNCTIONS[self.0 as usize]
    }
}

impl AggregateId {
    pub fn signature(self) -> &'static AggregateSignature {
        &AGGREGATES[self.0 as usize]
    }
}

impl WindowId {
    pub fn signature(self) -> &'static WindowSignature {
        &WINDOWS[self.0 as usize]
    }
}

/// A callable of any of the three kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callable {
    Function(FunctionId),
    Aggregate(AggregateId),
    Window(WindowId),
}

impl Callable {
    /// The type for whose sake it is an extension's; None: every database has it.
    pub fn extension_type(self) -> Option<Oid> {
        let (arguments, result) = match self {
            Callable::Function(id) => (id.signature().arguments, id.signature().result),
            Callable::Aggregate(id) => (id.signature().arguments, id.signature().result),
            Callable::Window(id) => (id.signature().arguments, id.signature().result),
        };
        of_extension(arguments.iter().copied().chain([result])).map(|known| known.oid)
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, Vec<Callable>>> = LazyLock::new(|| {
    let mut map: HashMap<&'static str, Vec<Callable>> = HashMap::new();
    for (position, signature) in FUNCTIONS.iter().enumerate() {
        map.entry(signature.name)
            .or_default()
            .push(Callable::Function(FunctionId(position as u16)));
    }
    for (position, signature) in AGGREGATES.iter().enumerate() {
        map.entry(signature.name)
            .or_default()
            .push(Callable::Aggregate(AggregateId(position as u16)));
    }
    for (position, signature) in WINDOWS.iter().enumerate() {
        map.entry(signature.name)
            .or_default()
            .push(Callable::Window(WindowId(position as u16)));
    }
    map
});

static BY_OID: LazyLock<HashMap<Oid, FunctionId>> = LazyLock::new(|| {
    let ids = FUNCTIONS.iter().enumerate();
    ids.map(|(position, signature)| (signature.oid, FunctionId(position as u16)))
        .collect()
});

/// Everything that bears this name.
pub fn callables_named(name: &str) -> &'static [Callable] {
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

pub fn function_by_oid(oid: Oid) -> Option<FunctionId> {
    BY_OID.get(&oid).copied()
}

/// The first aggregate with this name and exactly these arguments.
pub fn aggregate_by_signature(name: &str, arguments: &[Oid]) -> Option<AggregateId> {
    callables_named(name).iter().find_map(|callable| match callable {
        Callable::Aggregate(id) if id.signature().arguments == arguments => Some(*id),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_ids_are_unique() {
        let mut oids: Vec<u32> = FUNCTIONS.iter().map(|f| f.oid.0).collect();
        oids.extend(AGGREGATES.iter().map(|a| a.oid.0));
        oids.extend(WINDOWS.iter().map(|w| w.oid.0));
        oids.sort_unstable();
        let count = oids.len();
        oids.dedup();
        assert_eq!(oids.len(), count);
    }

    #[test]
    fn special_bodies_exist() {
        for body in SPECIAL_BODIES {
            let known = FUNCTIONS.iter().any(|function| function.body == *body);
            assert!(
                known || matches!(*body, "current_user" | "session_user"),
                "{body}"
            );
        }
    }
}
