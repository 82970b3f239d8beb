//! User-defined functions and procedures as the binder and the executor see them.
//!
//! Promises: a [`Routine`] is immutable and shared by `Arc`; `CREATE OR REPLACE` and `ALTER FUNCTION` make a new one with
//! a higher `version`. Plans that call it keep the `Arc` and list it among their dependencies.
//! Leaves out: how a body runs (`mote_commands::routine`, `mote_plpgsql`), built-in functions (`builtin::function`).

use mote_common::Oid;
use mote_types::{ColumnType, oid};

use crate::access::AclItem;
use crate::builtin::function::Volatility;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutineKind {
    Function,
    Procedure,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutineMode {
    In,
    Out,
    InOut,
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

impl RoutineMode {
    /// The caller gives a value for it.
    pub fn is_input(self) -> bool {
        matches!(self, RoutineMode::In | RoutineMode::InOut | RoutineMode::Variadic)
    }

    /// It is a column of the result.
    pub fn is_output(self) -> bool {
        matches!(self, RoutineMode::Out | RoutineMode::InOut | RoutineMode::Table)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParallelSafety {
    Unsafe,
    Restricted,
    Safe,
}

/// The type of an argument or of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoutineType {
    /// Never has a modifier, as in PostgreSQL.
    pub ty: ColumnType,
    /// The row type of this relation.
    pub row_of: Option<Oid>,
}

#[derive(Clone, Debug)]
pub struct RoutineArgument {
    /// Empty where none was given.
    pub name: String,
    pub ty: RoutineType,
    pub mode: RoutineMode,
    /// The default as text; bound again at each call that needs it.
    pub default: Option<String>,
}

/// A function or procedure.
#[derive(Clone, Debug)]
pub struct Routine {
    pub oid: Oid,
    pub schema_oid: Oid,
    pub schema: String,
    pub name: String,
    pub kind: RoutineKind,
    /// "sql", "plpgsql".
    pub language: String,
    /// All of them, OUT and TABLE ones included, in the order they were written.
    pub arguments: Vec<RoutineArgument>,
    /// RECORD for several OUT parameters or TABLE columns, the type of the only one, VOID, TRIGGER, or what RETURNS says.
    pub result: RoutineType,
    pub returns_set: bool,
    pub volatility: Volatility,
    pub strict: bool,
    pub security_definer: bool,
    pub leakproof: bool,
    pub parallel: ParallelSafety,
    pub cost: f64,
    /// Estimated rows of a set; 0 for others.
    pub rows: f64,
    /// SET name = value of the definition: in force while it runs.
    pub settings: Vec<(String, String)>,
    /// The text between the quotes of AS; for an SQL-standard body its own text, RETURN .. or BEGIN ATOMIC .. END.
    pub body: String,
    /// `body` is an SQL-standard body.
    pub standard_body: bool,
    pub owner: Oid,
    /// Empty: nothing was ever granted or revoked, so that PUBLIC may execute it.
    pub acl: Vec<AclItem>,
    pub comment: Option<String>,
    /// Grows with every change of this object; cached plans compare it.
    pub version: u64,
}

impl Routine {
    /// The arguments that a caller gives, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &RoutineArgument> {
        self.arguments.iter().filter(|argument| argument.mode.is_input())
    }

    /// The columns that OUT, INOUT and TABLE arguments make.
    pub fn outputs(&self) -> impl Iterator<Item = &RoutineArgument> {
        self.arguments.iter().filter(|argument| argument.mode.is_output())
    }

    /// Types of the inputs: what tells overloads apart.
    pub fn input_types(&self) -> Vec<Oid> {
        self.inputs().map(|argument| argument.ty.ty.oid).collect()
    }

    pub fn is_trigger(&self) -> bool {
        self.result.ty.oid == oid::TRIGGER
    }
}
