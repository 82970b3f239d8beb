//! Layouts: which bytes of a row belong to which column.
//!
//! The engine knows how wide a column is and whether it may be NULL, never what it means. A table has up to 256
//! layouts; each version names the one it was written with, so that ADD COLUMN rewrites nothing. Columns are only
//! ever appended: column `i` is the same column in every layout that has it, and a row written before it existed
//! reads as `missing`.
//!
//! Leaves out: reading and writing rows (`row`), where definitions are kept (`definition`).

use std::sync::Arc;

/// Layouts a table can have: their numbers are bytes.
pub const LAYOUTS_MAX: usize = 256;
/// Columns a layout can have; more than PostgreSQL's 1,600.
pub const COLUMNS_MAX: usize = 2048;

/// How a column is stored. Fixed widths are little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StorageClass {
    Fixed1,
    Fixed2,
    Fixed4,
    Fixed8,
    Fixed16,
    Variable,
}

impl StorageClass {
    /// Bytes of a fixed class.
    pub const fn width(self) -> Option<usize> {
        match self {
            StorageClass::Fixed1 => Some(1),
            StorageClass::Fixed2 => Some(2),
            StorageClass::Fixed4 => Some(4),
            StorageClass::Fixed8 => Some(8),
            StorageClass::Fixed16 => Some(16),
            StorageClass::Variable => None,
        }
    }

    /// The byte that stands for the class on disk.
    pub const fn code(self) -> u8 {
        match self {
            StorageClass::Variable => 0,
            StorageClass::Fixed1 => 1,
            StorageClass::Fixed2 => 2,
            StorageClass::Fixed4 => 4,
            StorageClass::Fixed8 => 8,
            StorageClass::Fixed16 => 16,
        }
    }

    pub const fn from_code(code: u8) -> Option<StorageClass> {
        Some(match code {
            0 => StorageClass::Variable,
            1 => StorageClass::Fixed1,
            2 => StorageClass::Fixed2,
            4 => StorageClass::Fixed4,
            8 => StorageClass::Fixed8,
            16 => StorageClass::Fixed16,
            _ => return None,
        })
    }
}

/// One column, as storage sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnStorage {
    pub class: StorageClass,
    pub nullable: bool,
    /// What rows of older layouts read as: the stored bytes, or `None` for NULL.
    /// Layouts of one table share them.
    pub missing: Option<Arc<[u8]>>,
}

impl ColumnStorage {
    pub fn new(class: StorageClass, nullable: bool) -> ColumnStorage {
        ColumnStorage {
            class,
            nullable,
            missing: None,
        }
    }

    pub fn with_missing(mut self, missing: Option<Arc<[u8]>>) -> ColumnStorage {
        self.missing = missing;
        self
    }
}

/// Where a column's bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Bytes from the start of the fixed part.
    Fixed { offset: u32 },
    /// Number among the variable columns.
    Variable { ordinal: u32 },
}

/// The columns of a row, numbered from 0, and the places of their bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    number: u8,
    columns: Box<[ColumnStorage]>,
    pub(super) places: Box<[Place]>,
    pub(super) fixed_bytes: u32,
    pub(super) variable_count: u32,
}

impl Layout {
    /// # Panics
    /// With more than [`COLUMNS_MAX`] columns, or a `missing` value whose length does not fit its class: both are
    /// bugs of the caller, which checked what the user said.
    pub fn new(number: u8, columns: Vec<ColumnStorage>) -> Layout {
        assert!(columns.len() <= COLUMNS_MAX);
        let mut fixed_bytes = 0;
        let mut variable_count = 0;
        let places = columns
            .iter()
            .map(|column| match column.class.width() {
                Some(width) => {
                    let missing_fits = column.missing.as_ref().is_none_or(|bytes| bytes.len() == width);
                    assert!(missing_fits);
                    let offset = fixed_bytes;
                    fixed_bytes += width as u32;
                    Place::Fixed { offset }
                }
                None => {
                    let ordinal = variable_count;
                    variable_count += 1;
                    Place::Variable { ordinal }
                }
            })
            .collect();
        Layout {
            number,
            columns: columns.into(),
            places,
            fixed_bytes,
            variable_count,
        }
    }

    /// The number that versions carry.
    pub fn number(&self) -> u8 {
        self.number
    }

    pub fn columns(&self) -> &[ColumnStorage] {
        &self.columns
    }

    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn null_bitmap_bytes(&self) -> usize {
        self.columns.len().div_ceil(8)
    }
}
