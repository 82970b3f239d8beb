//! The built-in operators: name and operand types to the function that computes them.
//!
//! Leaves out: the choice among operators of one name, which is the binder's (`bind::resolve`).

use std::sync::LazyLock;

use hashbrown::HashMap;
use mote_common::Oid;
use mote_types::family::FAMILIES;
use mote_types::signature::OperatorRow;

use super::function::{FunctionId, function_by_oid};

mod table;

/// One operator, as in pg_operator. `left` is `Oid(0)` for prefix operators.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    pub oid: Oid,
    pub name: &'static str,
    pub left: Oid,
    pub right: Oid,
    pub result: Oid,
    pub function: FunctionId,
    pub commutator: Oid,
    pub negator: Oid,
}

/// All operators, ordered by name. The rows name functions by OID: positions are not known while the tables are constants.
pub static OPERATORS: LazyLock<Vec<Operator>> = LazyLock::new(|| {
    let families = FAMILIES.iter().flat_map(|family| family.all_operators());
    let rows = table::OPERATOR_TABLE.iter().chain(families);
    let mut operators: Vec<Operator> = rows.map(operator_of_row).collect();
    operators.sort_by_key(|operator| operator.name);
    operators
});

fn operator_of_row(row: &OperatorRow) -> Operator {
    Operator {
        oid: row.oid,
        name: row.name,
        left: row.left,
        right: row.right,
        result: row.result,
        function: function_by_oid(row.function).expect("every operator's function is in the table"),
        commutator: row.commutator,
        negator: row.negator,
    }
}

struct Lookup {
    exact: HashMap<(&'static str, Oid, Oid), usize>,
    by_name: HashMap<&'static str, Vec<usize>>,
    by_function: HashMap<FunctionId, Vec<usize>>,
    by_oid: HashMap<Oid, usize>,
}

static LOOKUP: LazyLock<Lookup> = LazyLock::new(|| {
    let mut lookup = Lookup {
        exact: HashMap::new(),
        by_name: HashMap::new(),
        by_function: HashMap::new(),
        by_oid: HashMap::new(),
    };
    for (position, operator) in OPERATORS.iter().enumerate() {
        lookup
            .exact
            .insert((operator.name, operator.left, operator.right), position);
        lookup.by_name.entry(operator.name).or_default().push(position);
        lookup
            .by_function
            .entry(operator.function)
            .or_default()
            .push(position);
        lookup.by_oid.insert(operator.oid, position);
    }
    lookup
});

/// The operator with exactly these operand types.
pub fn exact_operator(name: &str, left: Oid, right: Oid) -> Option<&'static Operator> {
    LOOKUP
        .exact
        .get(&(name, left, right))
        .map(|position| &OPERATORS[*position])
}

/// All operators of this name.
pub fn operators_named(name: &str) -> impl Iterator<Item = &'static Operator> + Clone {
    let positions = LOOKUP.by_name.get(name).map_or(&[] as &[usize], Vec::as_slice);
    positions.iter().map(|position| &OPERATORS[*position])
}

/// The operators that a function computes (usually one).
pub fn operators_of_function(function: FunctionId) -> impl Iterator<Item = &'static Operator> {
    let positions = LOOKUP
        .by_function
        .get(&function)
        .map_or(&[] as &[usize], Vec::as_slice);
    positions.iter().map(|position| &OPERATORS[*position])
}

pub fn operator_by_oid(oid: Oid) -> Option<&'static Operator> {
    LOOKUP.by_oid.get(&oid).map(|position| &OPERATORS[*position])
}

/// What a comparison function means, for those that order a type as its index does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn of_name(name: &str) -> Option<Comparison> {
        Some(match name {
            "=" => Comparison::Equal,
            "<>" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    /// The comparison with its operands exchanged.
    pub fn commuted(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }
}

/// The comparison a function computes, with the operator that names its operand types.
pub fn comparison_of(function: FunctionId) -> Option<(Comparison, &'static Operator)> {
    operators_of_function(function)
        .find_map(|operator| Comparison::of_name(operator.name).map(|comparison| (comparison, operator)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_types::oid::*;

    #[test]
    fn every_operator_has_its_function() {
        assert!(OPERATORS.len() > 400);
        let equal = exact_operator("=", INT4, INT4).expect("int4 = int4 exists");
        assert_eq!(equal.function.signature().body, "int4eq");
    }

    #[test]
    fn operand_types_agree_with_the_function() {
        for operator in OPERATORS.iter() {
            let signature = operator.function.signature();
            let arguments = signature.arguments.len();
            assert_eq!(
                arguments,
                if operator.left == Oid::INVALID { 1 } else { 2 },
                "{}",
                operator.name
            );
        }
    }
}
