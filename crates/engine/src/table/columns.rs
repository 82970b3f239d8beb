//! Sets of columns: what of a row a SERIALIZABLE transaction has read.
//!
//! One bit a column, and the last bit for every column from the 64th on: a set may name more columns than were meant,
//! never fewer. With all bits set it is the whole row: its very version, and not what is in its columns.

use super::row::RowView;

/// Columns of one table's rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ColumnSet(u64);

/// The column that shares its bit with all behind it.
const LAST_BIT: usize = 63;

impl ColumnSet {
    /// No column: that the row is there at all.
    pub const NONE: ColumnSet = ColumnSet(0);
    /// Everything about the row: any newer version of it is another one.
    pub const WHOLE: ColumnSet = ColumnSet(u64::MAX);

    #[inline]
    pub fn is_whole(self) -> bool {
        self == ColumnSet::WHOLE
    }

    #[inline]
    #[must_use]
    pub const fn with(self, column: usize) -> ColumnSet {
        let bit = if column < LAST_BIT { column } else { LAST_BIT };
        ColumnSet(self.0 | 1 << bit)
    }

    #[inline]
    #[must_use]
    pub fn union(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 | other.0)
    }

    /// Are all columns of `other` in this set?
    #[inline]
    pub fn contains(self, other: ColumnSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Have two versions of a row the same values in all columns of the set?
    pub(crate) fn agree(self, one: &RowView<'_>, other: &RowView<'_>) -> bool {
        let count = one.column_count();
        let mut bits = self.0;
        while bits != 0 {
            let column = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let end = if column == LAST_BIT { count } else { column + 1 };
            if (column..end.min(count)).any(|column| !one.same_value(other, column)) {
                return false;
            }
        }
        true
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> ColumnSet {
        columns.into_iter().fold(ColumnSet::NONE, ColumnSet::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::layout::{ColumnStorage, Layout, StorageClass};
    use crate::table::row::RowWriter;

    #[test]
    fn columns_from_the_64th_on_share_a_bit() {
        let layout = Layout::new(
            0,
            (0..70)
                .map(|_| ColumnStorage::new(StorageClass::Fixed4, true))
                .collect(),
        );
        let row = |different: Option<usize>| {
            let mut writer = RowWriter::new(&layout);
            (0..70).for_each(|column| writer.set_fixed4(column, 7));
            if let Some(column) = different {
                writer.set_null(column);
            }
            writer.finish().expect("small").to_vec()
        };
        let base = row(None);
        let agree = |set: ColumnSet, different| {
            let other = row(Some(different));
            set.agree(&RowView::new(&layout, &base), &RowView::new(&layout, &other))
        };
        let early: ColumnSet = [0, 62].into_iter().collect();
        assert!(agree(early, 1) && agree(early, 63) && agree(early, 69));
        assert!(!agree(early, 0) && !agree(early, 62));
        let late = ColumnSet::NONE.with(66);
        assert!(agree(late, 62) && !agree(late, 66) && !agree(late, 69));
        assert!(!late.is_whole() && late.contains(ColumnSet::NONE) && ColumnSet::WHOLE.contains(late));
        let all: ColumnSet = (0..70).collect();
        assert!(all.is_whole());
    }
}
