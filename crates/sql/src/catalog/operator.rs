//! The built-in operators: name and operand types to the function that computes them.

use mote_common::Oid;

use super::function::FunctionId;

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
