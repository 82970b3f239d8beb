//! The lock word in a version's header.
//!
//! ```text
//! 0                                   no explicit lock
//! bit 31                              the lock table has holders or waiters of this row
//! bit 30 | strength (2) | slot (28)   locked by the transaction in that slot, alone; the lock table knows nothing
//! ```
//! Only the word of the newest version counts. It changes from alone to table under the row latch; its owner may clear
//! it without (a compare-exchange decides). Words on older versions are leftovers, except that a transaction's own
//! word may stand below its own uncommitted versions.

use super::mode::RowLockStrength;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowLockWord(pub(crate) u32);

impl RowLockWord {
    pub(crate) const NONE: RowLockWord = RowLockWord(0);
    pub(crate) const TABLE: RowLockWord = RowLockWord(1 << 31);
    const ALONE: u32 = 1 << 30;
    const SLOT: u32 = (1 << 28) - 1;

    pub(crate) fn alone(slot: u32, strength: RowLockStrength) -> RowLockWord {
        debug_assert!(slot <= Self::SLOT);
        RowLockWord(Self::ALONE | (strength as u32) << 28 | slot)
    }

    pub(crate) fn in_table(self) -> bool {
        self.0 & Self::TABLE.0 != 0
    }

    /// Slot and strength of a lone owner.
    pub(crate) fn owner(self) -> Option<(u32, RowLockStrength)> {
        (self.0 & Self::ALONE != 0)
            .then(|| (self.0 & Self::SLOT, RowLockStrength::from_bits(self.0 >> 28 & 3)))
    }
}
