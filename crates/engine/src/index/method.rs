//! The contract of an index method: what becomes of a row's key before it is entered, and what an entry then says.
//!
//! An index is a set of (entry key, row id), ordered by bytes, in one concurrent structure (`ordered`). A method decides
//! what the entry key is. So every method has snapshots, rollback, pruning, phantom validation, builds among writers, bulk
//! load at recovery, memory accounting and structural checks from that structure, and adds none of its own:
//! docs/design/0027.
//!
//! ```text
//! row ── KeyProgram ──► value key (comparable as the values are) ── method ──► entry key ──► the ordered set
//! ```
//! What a method must keep: equal value keys have equal entry keys. Whoever looks up by a method that is not `exact`
//! compares the value key of the row that it found: the entry promises less than its key.
//!
//! A new method is a folder beside `hash`, an arm of each match here, a descriptor for the binder and the planner
//! (`mote_sql::catalog::index_method`) and its operator classes.
//!
//! Leaves out: which statements may use a method and how the catalog shows it: `mote_sql::catalog::index_method`.

use super::hash;

/// How an index makes its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IndexMethod {
    /// The value key itself: equality, ranges, order, uniqueness.
    #[default]
    Ordered,
    /// A hash of the value key: equality alone, on keys of any length.
    Hash,
}

impl IndexMethod {
    const ALL: [IndexMethod; 2] = [IndexMethod::Ordered, IndexMethod::Hash];

    /// The number that stands for the method on disk.
    pub fn code(self) -> u8 {
        match self {
            IndexMethod::Ordered => 0,
            IndexMethod::Hash => 1,
        }
    }

    pub fn from_code(code: u8) -> Option<IndexMethod> {
        IndexMethod::ALL.into_iter().find(|method| method.code() == code)
    }

    /// Does an entry key tell its value key? If not, a row found by it must be looked at.
    #[inline]
    pub fn is_exact(self) -> bool {
        match self {
            IndexMethod::Ordered => true,
            IndexMethod::Hash => false,
        }
    }

    /// Can entries be judged for uniqueness?
    pub fn can_be_unique(self) -> bool {
        self.is_exact()
    }

    /// Turns a row's value key into its entry key. False: the method has no entry for the row.
    #[inline]
    pub(crate) fn enter(self, has_null: bool, key: &mut Vec<u8>) -> bool {
        match self {
            IndexMethod::Ordered => true,
            IndexMethod::Hash => hash::enter(has_null, key),
        }
    }

    /// The entry key under which rows of a value key stand.
    #[inline]
    pub(crate) fn entry_key<'k>(self, value_key: &'k [u8], scratch: &'k mut Vec<u8>) -> &'k [u8] {
        match self {
            IndexMethod::Ordered => value_key,
            IndexMethod::Hash => hash::entry_key(value_key, scratch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_back() {
        for method in IndexMethod::ALL {
            assert_eq!(IndexMethod::from_code(method.code()), Some(method));
        }
        assert_eq!(IndexMethod::from_code(IndexMethod::ALL.len() as u8), None);
    }

    #[test]
    fn a_key_is_looked_up_where_its_row_was_entered() {
        let value_key = b"\x01some key\0\0".to_vec();
        for method in IndexMethod::ALL {
            let mut entered = value_key.clone();
            assert!(method.enter(false, &mut entered));
            assert_eq!(method.entry_key(&value_key, &mut Vec::new()), entered);
            assert_eq!(method.is_exact(), entered == value_key);
        }
    }
}
