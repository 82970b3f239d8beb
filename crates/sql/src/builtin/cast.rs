//! Which type converts to which, and when without being asked: `pg_cast`, plus the rules that need no row of it.
//!
//! Leaves out: the rows and the conversions themselves (`mote_types::cast`).

use mote_common::Oid;
use mote_types::cast::find_cast;
use mote_types::catalog::user::{is_composite, user_multirange_of};
use mote_types::catalog::{category, category_of};
use mote_types::{ColumnType, oid::*};

pub use mote_types::CastContext as CastUse;
pub use mote_types::cast::{CastRow, casts};

use CastUse::*;

/// The weakest context in which `source` converts to `target`; `None` where nothing leads there.
pub fn cast_context(source: Oid, target: Oid) -> Option<CastUse> {
    if source == target || source == UNKNOWN {
        return Some(Implicit);
    }
    if let Some(row) = find_cast(source, target) {
        return Some(row.context);
    }
    // Arrays convert as their elements do.
    if let (Some(from), Some(to)) = (
        ColumnType::new(source).element(),
        ColumnType::new(target).element(),
    ) && let Some(context) = cast_context(from.oid, to.oid)
        && target != INT2VECTOR
        && target != OIDVECTOR
    {
        return Some(context);
    }
    if user_multirange_of(source) == Some(target) {
        return Some(Explicit);
    }
    if (is_composite(source) && target == RECORD) || (source == RECORD && is_composite(target)) {
        return Some(Implicit);
    }
    // Whatever has a text form goes to strings by assignment, and from strings when asked.
    if category_of(target) == category::STRING {
        return Some(Assignment);
    }
    if target == RECORD || target == VOID || source == VOID {
        return None;
    }
    (category_of(source) == category::STRING).then_some(Explicit)
}
