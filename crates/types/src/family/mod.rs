//! Types that are one folder each: a [`TypeFamily`] says everything about the types of a folder, [`FAMILIES`] registers it.
//!
//! To add a type: write a folder with a `FAMILY`, name it in `FAMILIES`, and put its rows of pg_type into
//! `catalog::builtin` (types are told by OID below this module). Nothing else has to know: `format`, `storage`, `key`,
//! `cast`, `mote_sql::builtin`, `executor::functions` and the system catalogs ask here for what they do not know themselves
//! (docs/design/0025).
//!
//! Read `comparisons` for the rows that every type with an order has.
//!
//! Promises: the types that most statements handle (numbers, strings, times) are not here; they are told apart before anybody
//! asks here, so that nothing is called through a pointer for their values.
//! Leaves out: types that users make (`catalog::user`), types whose text needs a database (`regclass`).

pub mod bits;
pub mod citext;
mod comparisons;
pub mod hstore;
mod mac_address;
mod money;
pub mod network;
pub mod range;
pub mod snapshot;
pub mod time_tz;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use comparisons::Comparisons;

use crate::catalog::ColumnType;
use crate::datum::Datum;
use crate::oid::Oid;
use crate::settings::FormatSettings;
use crate::signature::{AggregateSignature, CastRow, FunctionSignature, OperatorClass, OperatorRow};
use mote_common::SqlResult;

/// The families. The order is that in which their rows follow one another in catalogs.
pub const FAMILIES: &[&TypeFamily] = &[
    &bits::FAMILY,
    &citext::FAMILY,
    &hstore::FAMILY,
    &mac_address::FAMILY,
    &money::FAMILY,
    &network::FAMILY,
    &range::FAMILY,
    &snapshot::FAMILY,
    &time_tz::FAMILY,
];

/// Types that belong together, and all that SQL can do with them.
pub struct TypeFamily {
    pub types: &'static [TypeDescriptor],
    /// What comparison functions are named after: with `"network"`, `network_eq` compares its arguments as they are.
    pub compared: &'static [&'static str],
    /// How values of each type with an order compare.
    pub comparisons: &'static [Comparisons],
    /// All other functions.
    pub routines: &'static [Routine],
    /// The functions by which the types are read and written.
    pub input_output: &'static [FunctionSignature],
    /// All other operators.
    pub operators: &'static [OperatorRow],
    pub aggregates: &'static [AggregateSignature],
    pub casts: &'static [CastRow],
    /// Of B-trees, and of hash indexes.
    pub classes: &'static [OperatorClass],
    pub hash_classes: &'static [OperatorClass],
}

impl TypeFamily {
    /// All functions but those by which the types are read and written.
    pub fn all_routines(&self) -> impl Iterator<Item = &'static Routine> + use<> {
        let compared = self.comparisons.iter().flat_map(|ty| &ty.functions);
        self.routines.iter().chain(compared)
    }

    pub fn all_operators(&self) -> impl Iterator<Item = &'static OperatorRow> + use<> {
        let compared = self.comparisons.iter().flat_map(|ty| &ty.operators);
        self.operators.iter().chain(compared)
    }
}

/// One type: how its values are held, read and written. Its row of pg_type is in `catalog::builtin`.
pub struct TypeDescriptor {
    pub oid: Oid,
    pub representation: Representation,
    pub input: fn(&str, &FormatSettings) -> SqlResult<Datum>,
    pub output: fn(&Datum, &FormatSettings, &mut Vec<u8>),
    /// Takes all bytes that it is given.
    pub receive: fn(&[u8]) -> SqlResult<Datum>,
    pub send: fn(&Datum, &mut Vec<u8>),
}

/// How values are held in memory, in rows and in index keys. Each has an order and a hash already (`compare`), which are
/// those of the type: a type whose order is another finds bytes that sort as it wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Representation {
    /// `Datum::Unsigned8`: eight bytes, in the order of unsigned numbers.
    Unsigned8,
    /// `Datum::Bytea`: bytes whose order is that of the values.
    OrderedBytes,
    /// `Datum::Folded`: a text in the order of its lower case.
    FoldedText,
}

/// What computes a function from its arguments, none of which is NULL.
pub type PureFunction = fn(&[Datum]) -> SqlResult<Datum>;

/// A function with its signature.
pub struct Routine {
    pub signature: FunctionSignature,
    /// None for comparisons, which expressions compute themselves.
    pub code: Option<PureFunction>,
}

pub const fn routine(signature: FunctionSignature, code: PureFunction) -> Routine {
    Routine {
        signature,
        code: Some(code),
    }
}

/// A function whose signature says all.
pub const fn listed(signature: FunctionSignature) -> Routine {
    Routine {
        signature,
        code: None,
    }
}

/// The type's descriptor, if it has a folder.
#[inline]
pub fn descriptor(oid: Oid) -> Option<&'static TypeDescriptor> {
    // A handful of families: a scan is faster than a map.
    FAMILIES
        .iter()
        .flat_map(|family| family.types)
        .find(|ty| ty.oid == oid)
}

fn routines() -> impl Iterator<Item = &'static Routine> {
    FAMILIES.iter().flat_map(|family| family.all_routines())
}

/// The code of a function by the name of its body.
pub fn body(name: &str) -> Option<PureFunction> {
    routines().find(|routine| routine.signature.body == name)?.code
}

/// True if functions of this name and the name of a comparison compare their arguments as they are.
pub fn compares(name: &str) -> bool {
    FAMILIES.iter().any(|family| family.compared.contains(&name))
}

/// A cast's function, which may take the modifier of the target behind the value.
struct Conversion {
    code: PureFunction,
    takes_modifier: bool,
}

/// How each pair of types converts: by the function that pg_cast names, or as it is.
static CONVERSIONS: LazyLock<HashMap<(Oid, Oid), Option<Conversion>>> = LazyLock::new(|| {
    let casts = FAMILIES.iter().flat_map(|family| family.casts);
    let code = |row: &CastRow| {
        let named = routines().find(|routine| routine.signature.oid == row.function)?;
        Some(Conversion {
            code: named.code?,
            takes_modifier: named.signature.arguments.len() > 1,
        })
    };
    casts.map(|row| ((row.source, row.target), code(row))).collect()
});

/// Converts a value from or to a type of a family; None if there is no cast of its own for the pair.
pub(crate) fn convert(datum: &Datum, from: ColumnType, to: ColumnType) -> Option<SqlResult<Datum>> {
    if descriptor(from.oid).is_none() && descriptor(to.oid).is_none() {
        return None;
    }
    Some(match CONVERSIONS.get(&(from.oid, to.oid))? {
        Some(cast) if cast.takes_modifier => (cast.code)(&[datum.clone(), Datum::Int4(to.typmod)]),
        Some(cast) => (cast.code)(std::slice::from_ref(datum)),
        None => Ok(datum.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_registered_once() {
        let mut oids: Vec<Oid> = FAMILIES
            .iter()
            .flat_map(|family| family.types)
            .map(|ty| ty.oid)
            .collect();
        let count = oids.len();
        oids.sort_unstable();
        oids.dedup();
        assert_eq!(oids.len(), count);
        for oid in oids {
            let info = crate::type_info(oid).expect("a type of a family has its row of pg_type");
            assert_eq!(crate::type_info(info.array).map(|array| array.elem), Some(oid));
        }
    }

    #[test]
    fn operators_and_casts_name_their_functions() {
        for family in FAMILIES {
            let known = |oid: Oid| {
                let mut routines = family.all_routines();
                routines.find(|routine| routine.signature.oid == oid)
            };
            for operator in family.all_operators() {
                let routine = known(operator.function).unwrap_or_else(|| panic!("operator {}", operator.oid));
                assert_eq!(
                    routine.signature.result, operator.result,
                    "operator {}",
                    operator.oid
                );
            }
            for cast in family.casts.iter().filter(|cast| !cast.binary) {
                let routine = known(cast.function).unwrap_or_else(|| panic!("cast {}", cast.oid));
                assert!(routine.code.is_some(), "cast {}", cast.oid);
            }
        }
    }

    #[test]
    fn a_routine_has_code_or_is_a_comparison() {
        // Those that strings have already.
        let shared = |body: &str| body.starts_with("textic");
        let without = routines().filter(|routine| routine.code.is_none());
        for routine in without.filter(|routine| !shared(routine.signature.body)) {
            let body = routine.signature.body;
            let prefix = &body[..body.len() - 2];
            assert!(compares(prefix.trim_end_matches('_')), "{body}");
        }
    }
}
