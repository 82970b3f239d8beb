//! Names, places in the text, and type names.
//!
//! Identifiers arrive folded to lower case and cut to 63 bytes, as PostgreSQL's scanner does; a quoted identifier
//! keeps its case. Leaves out: any lookup.

use super::Expr;

/// An identifier after case folding.
pub type Name = Box<str>;

/// Byte offset of a node's first byte in the text given to the parser, or `NONE` when there is none.
///
/// Clients want a 1-based position in *characters*: `position` converts, and only on the way to an error, because
/// it scans the text. All locations are equal to each other, so that comparing trees compares what they say.
#[derive(Clone, Copy, Debug)]
pub struct Location(pub i32);

impl Location {
    pub const NONE: Location = Location(-1);

    /// The 1-based position in characters within `text`, or 0 when unknown (which `SqlError::at` ignores).
    pub fn position(self, text: &str) -> u32 {
        let Ok(offset) = usize::try_from(self.0) else {
            return 0;
        };
        let prefix = &text.as_bytes()[..offset.min(text.len())];
        let characters = prefix.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        u32::try_from(characters + 1).unwrap_or(0)
    }
}

impl PartialEq for Location {
    fn eq(&self, _: &Location) -> bool {
        true
    }
}

impl Eq for Location {}

/// A dotted name whose parts are not yet told apart: functions, types, collations, objects of DDL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QualifiedName {
    /// At least one part; the last is the object's own name.
    pub parts: Vec<Name>,
    pub location: Location,
}

impl QualifiedName {
    /// The object's own name.
    pub fn last(&self) -> &str {
        self.parts.last().map_or("", |part| part)
    }

    /// The part before the last, which names a schema (or, in a comment on a column, a table).
    pub fn qualifier(&self) -> Option<&str> {
        let count = self.parts.len();
        if count < 2 {
            None
        } else {
            Some(&self.parts[count - 2])
        }
    }
}

/// The name of a table, view, index or sequence: `[[catalog.]schema.]name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationName {
    pub catalog: Option<Name>,
    pub schema: Option<Name>,
    pub name: Name,
    pub location: Location,
}

/// An operator: `+`, or `OPERATOR(schema.+)` with its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorName {
    pub schema: Option<Name>,
    pub name: Name,
}

/// A type as written: `numeric(10,2)[]`, `timestamp with time zone`, `setof t`, `t.c%TYPE`.
///
/// SQL's keyword types arrive under PostgreSQL's names in `pg_catalog`: `int` is `pg_catalog.int4`,
/// `character varying(10)` is `pg_catalog.varchar` with the modifier 10, `char` is `pg_catalog.bpchar` with 1.
/// `interval day to second(3)` has two modifiers: the bit mask of its fields and the precision.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    pub name: QualifiedName,
    pub modifiers: Vec<Expr>,
    /// One entry a dimension; -1 for `[]`.
    pub array_bounds: Vec<i32>,
    pub set_of: bool,
    /// `name%TYPE`: the type of a column.
    pub percent_type: bool,
    pub location: Location,
}
