//! What every database has, as rows of constants: functions, operators, aggregates, casts and operator classes, with the
//! facts that PostgreSQL's catalogs show of them.
//!
//! A table of such rows stands where its family is: with a type that has a folder of its own (`family`), else in
//! `mote_sql::builtin`, which puts all of them together.
//! Leaves out: what the rows do (`family::Routine`, the crates `functions` and `executor`), look-ups by name (`mote_sql::builtin`).

use mote_common::Oid;

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
    /// Name of the body in the crates `functions` and `executor`: PostgreSQL's prosrc where that names a routine.
    pub body: &'static str,
    pub arguments: &'static [Oid],
    /// The last argument's element type repeats.
    pub variadic: Option<Oid>,
    /// How many trailing arguments may be left out (the body supplies PostgreSQL's default).
    pub defaults: u8,
    /// Names for named notation, where PostgreSQL gives some that calls use, and the defaults of the last of them as SQL.
    pub names: &'static [&'static str],
    pub default_texts: &'static [&'static str],
    pub result: Oid,
    pub returns_set: bool,
    /// NULL in, NULL out, without a call.
    pub strict: bool,
    pub volatility: Volatility,
}

/// One aggregate. `body` is unique per signature; of a type with a folder of its own it may be that of the function which makes
/// one value of two, as pg_aggregate.aggtransfn has it.
#[derive(Clone, Copy, Debug)]
pub struct AggregateSignature {
    pub oid: Oid,
    pub name: &'static str,
    pub body: &'static str,
    pub arguments: &'static [Oid],
    pub result: Oid,
    /// An ordered-set aggregate: how many of the arguments stand in parentheses; the last one is what WITHIN GROUP
    /// orders by.
    pub direct: Option<u8>,
}

/// One operator, as in pg_operator, with its function named by OID. `left` is `Oid(0)` for prefix operators.
#[derive(Clone, Copy, Debug)]
pub struct OperatorRow {
    pub oid: Oid,
    pub name: &'static str,
    pub left: Oid,
    pub right: Oid,
    pub result: Oid,
    pub function: Oid,
    pub commutator: Oid,
    pub negator: Oid,
}

/// Where a conversion may happen without being asked for; later contexts include earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastContext {
    /// Anywhere in an expression.
    Implicit,
    /// Storing into a column.
    Assignment,
    /// Only by `CAST` or `::`.
    Explicit,
}

/// One row of `pg_cast`.
#[derive(Clone, Copy, Debug)]
pub struct CastRow {
    pub oid: Oid,
    pub source: Oid,
    pub target: Oid,
    pub context: CastContext,
    /// Both types have the same representation in PostgreSQL.
    pub binary: bool,
    /// `castfunc`, zero for binary and I/O conversions.
    pub function: Oid,
}

/// An operator class of B-trees or of hash indexes.
pub struct OperatorClass {
    pub oid: Oid,
    pub name: &'static str,
    pub family: Oid,
    pub family_name: &'static str,
    pub input: Oid,
    pub default: bool,
    pub key: Oid,
}

pub const fn function(
    oid: u32,
    name: &'static str,
    body: &'static str,
    arguments: &'static [Oid],
    result: Oid,
) -> FunctionSignature {
    FunctionSignature {
        oid: Oid(oid),
        name,
        body,
        arguments,
        variadic: None,
        defaults: 0,
        names: &[],
        default_texts: &[],
        result,
        returns_set: false,
        strict: true,
        volatility: Volatility::Immutable,
    }
}

impl FunctionSignature {
    pub const fn set(mut self) -> FunctionSignature {
        self.returns_set = true;
        self
    }

    pub const fn called_on_null(mut self) -> FunctionSignature {
        self.strict = false;
        self
    }

    pub const fn stable(mut self) -> FunctionSignature {
        self.volatility = Volatility::Stable;
        self
    }

    pub const fn volatile(mut self) -> FunctionSignature {
        self.volatility = Volatility::Volatile;
        self
    }

    pub const fn variadic(mut self, element: Oid) -> FunctionSignature {
        self.variadic = Some(element);
        self
    }

    pub const fn defaults(mut self, count: u8) -> FunctionSignature {
        self.defaults = count;
        self
    }

    pub const fn named(
        mut self,
        names: &'static [&'static str],
        default_texts: &'static [&'static str],
    ) -> FunctionSignature {
        self.names = names;
        self.default_texts = default_texts;
        self.defaults = default_texts.len() as u8;
        self
    }
}

pub const fn aggregate(
    oid: u32,
    name: &'static str,
    body: &'static str,
    arguments: &'static [Oid],
    result: Oid,
) -> AggregateSignature {
    AggregateSignature {
        oid: Oid(oid),
        name,
        body,
        arguments,
        result,
        direct: None,
    }
}

#[allow(
    clippy::too_many_arguments,
    reason = "one argument per catalog column keeps the tables readable"
)]
pub const fn operator(
    oid: u32,
    name: &'static str,
    left: Oid,
    right: Oid,
    result: Oid,
    function: u32,
    commutator: u32,
    negator: u32,
) -> OperatorRow {
    OperatorRow {
        oid: Oid(oid),
        name,
        left,
        right,
        result,
        function: Oid(function),
        commutator: Oid(commutator),
        negator: Oid(negator),
    }
}

pub const fn cast(
    oid: u32,
    source: Oid,
    target: Oid,
    context: CastContext,
    binary: bool,
    function: u32,
) -> CastRow {
    CastRow {
        oid: Oid(oid),
        source,
        target,
        context,
        binary,
        function: Oid(function),
    }
}

/// The class that indexes over a type have by default, the only one of its family.
pub const fn default_class(oid: u32, name: &'static str, family: u32, input: Oid) -> OperatorClass {
    class(oid, name, family, input.0, true, 0, name)
}

pub const fn class(
    oid: u32,
    name: &'static str,
    family: u32,
    input: u32,
    default: bool,
    key: u32,
    family_name: &'static str,
) -> OperatorClass {
    OperatorClass {
        oid: Oid(oid),
        name,
        family: Oid(family),
        family_name,
        input: Oid(input),
        default,
        key: Oid(key),
    }
}
