//! The type of a row value: its fields' types, names and attribute numbers.

use compact_str::CompactString;

use super::ColumnType;
use crate::oid::Oid;

/// What the fields of a row value are, shared by all rows of one origin.
#[derive(Debug, Default)]
pub struct RowType {
    /// The composite type; zero for a `record`.
    pub of: Oid,
    pub types: Vec<ColumnType>,
    /// Empty for rows whose fields nobody named: they are `f1`, `f2`, ...
    pub names: Vec<CompactString>,
    /// The attribute numbers of the fields, ascending, which leave out those that were dropped. Empty: 1, 2, ... Stored
    /// rows keep the numbers, so that a row written before its type changed still says which field is which.
    pub numbers: Vec<i16>,
}

impl RowType {
    pub fn anonymous(types: Vec<ColumnType>) -> RowType {
        RowType {
            types,
            ..RowType::default()
        }
    }

    /// Fields with names, none of them dropped.
    pub fn named(types: Vec<ColumnType>, names: Vec<CompactString>) -> RowType {
        RowType {
            types,
            names,
            ..RowType::default()
        }
    }

    /// The SQL type of such rows.
    pub fn ty(&self) -> ColumnType {
        match self.of {
            Oid::INVALID => ColumnType::RECORD,
            of => ColumnType::new(of),
        }
    }

    /// The attribute number of the field at a position.
    pub fn number(&self, position: usize) -> i16 {
        let told = self.numbers.get(position).copied();
        told.unwrap_or(position as i16 + 1)
    }

    pub fn name(&self, position: usize) -> CompactString {
        let named = self.names.get(position).cloned();
        named.unwrap_or_else(|| compact_str::format_compact!("f{}", position + 1))
    }
}
