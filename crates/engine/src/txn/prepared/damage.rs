//! What may be wrong with the log of a prepared transaction.

use crate::recovery::ApplyError;
use mote_common::TableId;

pub(super) fn damaged(what: &str) -> ApplyError {
    ApplyError::Other(what.into())
}

pub(super) fn gone(table: TableId) -> ApplyError {
    ApplyError::Other(format!("table {} is gone", table.0))
}
