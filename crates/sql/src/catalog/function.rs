//! Signatures of the built-in functions, aggregates and window functions: constants of the binary.
//!
//! A [`FunctionId`] is the position in [`FUNCTIONS`]; `exec::functions` keeps a body for each name and checks at start
//! that none is missing. Families live in `function/*.rs` slices that are concatenated here.

use mote_common::Oid;

/// Position in the table of scalar and set-returning functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FunctionId(pub u16);

/// Position in the table of aggregates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AggregateId(pub u16);

/// Position in the table of window functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WindowId(pub u16);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Volatility {
    /// Same result for ever: folded at plan time when the arguments are constant.
    Immutable,
    /// Same result within a statement.
    Stable,
    Volatile,
}

/// One signature, as in pg_proc.
#[derive(Clone, Copy, Debug)]
pub struct FunctionSignature {
    pub oid: Oid,
    pub name: &'static str,
    /// Name of the body in `exec::functions`: unique per signature, PostgreSQL's prosrc.
    pub body: &'static str,
    pub arguments: &'static [Oid],
    /// The last argument's element type repeats.
    pub variadic: Option<Oid>,
    /// How many trailing arguments may be left out (the body supplies PostgreSQL's default).
    pub defaults: u8,
    pub result: Oid,
    pub returns_set: bool,
    /// NULL in, NULL out, without a call.
    pub strict: bool,
    pub volatility: Volatility,
}
