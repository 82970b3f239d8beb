//! Who holds a lock, or waits for it.

use crate::slots::TransactionId;

/// Who holds or waits. A session's own locks and those of its transaction never conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    /// 0 for locks of the session itself.
    pub(crate) id: TransactionId,
    /// 0 = no session.
    pub(crate) session: u32,
    /// Of the transaction; `NO_SLOT` for a session.
    pub(crate) slot: u32,
}

pub(crate) const NO_SLOT: u32 = u32::MAX;

impl Owner {
    pub(crate) fn session(session: u32) -> Owner {
        Owner {
            id: TransactionId(0),
            session,
            slot: NO_SLOT,
        }
    }

    pub(super) fn is_same_party(&self, other: &Owner) -> bool {
        self.party() == other.party()
    }

    /// Who would wait: a session runs one transaction at a time.
    pub(super) fn party(&self) -> Party {
        if self.session != 0 {
            Party::Session(self.session)
        } else {
            Party::Transaction(self.id)
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Party {
    Session(u32),
    Transaction(TransactionId),
}
