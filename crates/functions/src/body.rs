//! How a body looks that needs no statement, and how it is found: each family answers by the name that a signature has.

use mote_common::SqlResult;
use mote_types::{ColumnType, Datum, FormatSettings};

/// The place of a call: what bodies of polymorphic and variadic functions need to know.
pub struct CallSite {
    pub name: &'static str,
    pub arguments: Box<[ColumnType]>,
    pub result: ColumnType,
}

/// Looks at its arguments alone. It gets the variants that its signature names; a strict one sees no null.
pub type Pure = fn(&[Datum]) -> SqlResult<Datum>;

/// The same, that looks also at the types of the call, or writes and reads values as the session does.
pub type Typed = fn(&FormatSettings, &CallSite, &[Datum]) -> SqlResult<Datum>;

/// The body of a function that needs no statement.
#[derive(Clone, Copy)]
pub enum Body {
    Pure(Pure),
    Typed(Typed),
}
