//! `jsonpath`: the path language of SQL/JSON over `jsonb`.
//!
//!  1. `scan`, `parse`: text to tree, with PostgreSQL's messages.
//!  2. `print`: the canonical text. A value of the type is kept as that text.
//!  3. `run`: a path over a document, item by item; `predicate`: what is true, false or unknown; `key_value`: the ids that
//!     `.keyvalue()` gives to objects.
//!
//! Source: PostgreSQL's jsonpath_gram.y and jsonpath_exec.c.
//!
//! Leaves out: `.datetime()` (0A000 when it is run).

mod key_value;
mod parse;
mod predicate;
mod print;
mod run;
mod scan;
#[cfg(test)]
mod tests;

use crate::are::Regex;
use crate::numeric::Numeric;
use mote_common::SqlResult;

pub use run::{Query, exists, matches, query};

/// A path that was read.
pub struct Path {
    /// Structural errors are overlooked and arrays unwrapped.
    lax: bool,
    chain: Chain,
}

/// An item and those applied to its results, one after the other. Never empty.
type Chain = Vec<Item>;

enum Item {
    Null,
    Bool(bool),
    Number(Numeric),
    String(Box<str>),
    Variable(Box<str>),
    /// `$`
    Root,
    /// `@`
    Current,
    Last,
    Arithmetic(Arithmetic, Box<(Chain, Chain)>),
    Plus(Chain),
    Minus(Chain),
    Condition(Box<Condition>),
    Key(Box<str>),
    AnyKey,
    AnyArray,
    /// `[from to to, ..]`
    Subscripts(Vec<(Chain, Option<Chain>)>),
    /// `.**{first to last}`; [`LAST_LEVEL`] is the level of leaves.
    AnyLevel(u32, u32),
    Filter(Box<Condition>),
    Method(Method),
    /// `.datetime()` with its template.
    Datetime(Option<Box<str>>),
}

const LAST_LEVEL: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Abs,
    Size,
    Type,
    Floor,
    Double,
    Ceiling,
    KeyValue,
}

/// What is true, false or unknown of an item.
enum Condition {
    And(Condition2),
    Or(Condition2),
    Not(Box<Condition>),
    IsUnknown(Box<Condition>),
    Exists(Chain),
    Compare(Comparison, Chain, Chain),
    StartsWith(Chain, Chain),
    LikeRegex(Chain, Box<Pattern>),
}

type Condition2 = Box<(Condition, Condition)>;

struct Pattern {
    text: Box<str>,
    flags: Flags,
    regex: Regex,
}

/// XQuery's flags of a regular expression.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    dot_all: bool,
    multi_line: bool,
    white_space: bool,
    quote: bool,
}

impl Path {
    pub fn parse(text: &str) -> SqlResult<Path> {
        parse::parse(text)
    }
}

impl Arithmetic {
    fn sign(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

impl Comparison {
    fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::Greater => ">",
            Comparison::LessOrEqual => "<=",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Method::Abs => "abs",
            Method::Size => "size",
            Method::Type => "type",
            Method::Floor => "floor",
            Method::Double => "double",
            Method::Ceiling => "ceiling",
            Method::KeyValue => "keyvalue",
        }
    }
}
