//! What both forms of COPY FROM have of a column, and of where they are.

use mote_types::ColumnType;

/// A copied column.
pub struct Target {
    pub position: usize,
    pub name: String,
    pub ty: ColumnType,
    pub force_not_null: bool,
    pub force_null: bool,
}

/// What a failing row's CONTEXT is made from.
#[derive(Default)]
pub struct Place {
    /// The column at work, with its value unless that is NULL.
    pub column: Option<(String, Option<String>)>,
}
