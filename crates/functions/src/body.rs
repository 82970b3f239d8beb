//! How a body looks that needs no statement.

use mote_common::SqlResult;
use mote_types::Datum;

/// Looks at its arguments alone. It gets the variants that its signature names; a strict one sees no null.
pub type Pure = fn(&[Datum]) -> SqlResult<Datum>;

/// A closure as a body: a match over names wants one type.
pub(crate) const fn pure(body: Pure) -> Pure {
    body
}
