//! Lock modes and what conflicts with what: PostgreSQL's two matrices.

/// PostgreSQL's eight table lock modes, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum TableLockMode {
    AccessShare = 1,
    RowShare = 2,
    RowExclusive = 3,
    ShareUpdateExclusive = 4,
    Share = 5,
    ShareRowExclusive = 6,
    Exclusive = 7,
    AccessExclusive = 8,
}

impl TableLockMode {
    pub const ALL: [TableLockMode; 8] = [
        TableLockMode::AccessShare,
        TableLockMode::RowShare,
        TableLockMode::RowExclusive,
        TableLockMode::ShareUpdateExclusive,
        TableLockMode::Share,
        TableLockMode::ShareRowExclusive,
        TableLockMode::Exclusive,
        TableLockMode::AccessExclusive,
    ];

    pub(crate) const fn bit(self) -> u16 {
        1 << self as u8
    }

    /// The modes that conflict with this one, as bits.
    pub(crate) const fn conflicts(self) -> u16 {
        const AS: u16 = TableLockMode::AccessShare.bit();
        const RS: u16 = TableLockMode::RowShare.bit();
        const RX: u16 = TableLockMode::RowExclusive.bit();
        const SUX: u16 = TableLockMode::ShareUpdateExclusive.bit();
        const S: u16 = TableLockMode::Share.bit();
        const SRX: u16 = TableLockMode::ShareRowExclusive.bit();
        const X: u16 = TableLockMode::Exclusive.bit();
        const AX: u16 = TableLockMode::AccessExclusive.bit();
        match self {
            TableLockMode::AccessShare => AX,
            TableLockMode::RowShare => X | AX,
            TableLockMode::RowExclusive => S | SRX | X | AX,
            TableLockMode::ShareUpdateExclusive => SUX | S | SRX | X | AX,
            TableLockMode::Share => RX | SUX | SRX | X | AX,
            TableLockMode::ShareRowExclusive => RX | SUX | S | SRX | X | AX,
            TableLockMode::Exclusive => RS | RX | SUX | S | SRX | X | AX,
            TableLockMode::AccessExclusive => AS | RS | RX | SUX | S | SRX | X | AX,
        }
    }

    /// Modes that never conflict among each other take the fast path.
    pub(crate) const fn is_weak(self) -> bool {
        self.bit() & TableLockMode::WEAK != 0
    }

    /// The bits of the weak modes.
    pub(crate) const WEAK: u16 = (TableLockMode::RowExclusive.bit() << 1) - 1;

    /// The name in pg_locks.
    pub const fn name(self) -> &'static str {
        match self {
            TableLockMode::AccessShare => "AccessShareLock",
            TableLockMode::RowShare => "RowShareLock",
            TableLockMode::RowExclusive => "RowExclusiveLock",
            TableLockMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            TableLockMode::Share => "ShareLock",
            TableLockMode::ShareRowExclusive => "ShareRowExclusiveLock",
            TableLockMode::Exclusive => "ExclusiveLock",
            TableLockMode::AccessExclusive => "AccessExclusiveLock",
        }
    }
}

/// The four strengths of a row lock, weakest first; each includes what the weaker ones protect from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum RowLockStrength {
    KeyShare = 0,
    Share = 1,
    NoKeyUpdate = 2,
    Update = 3,
}

impl RowLockStrength {
    pub const ALL: [RowLockStrength; 4] = [
        RowLockStrength::KeyShare,
        RowLockStrength::Share,
        RowLockStrength::NoKeyUpdate,
        RowLockStrength::Update,
    ];

    pub(crate) fn from_bits(bits: u32) -> RowLockStrength {
        Self::ALL[(bits & 3) as usize]
    }

    pub const fn conflicts_with(self, other: RowLockStrength) -> bool {
        // PostgreSQL, table 13.3: with the strengths numbered 0 to 3, two conflict when they add up to 3 or more,
        // except that Share does not conflict with Share (1 + 1 = 2).
        self as u8 + other as u8 >= 3
    }

    /// The name in pg_locks for the tuple lock that stands for it.
    pub const fn name(self) -> &'static str {
        match self {
            RowLockStrength::KeyShare => "AccessShareLock",
            RowLockStrength::Share => "RowShareLock",
            RowLockStrength::NoKeyUpdate => "ExclusiveLock",
            RowLockStrength::Update => "AccessExclusiveLock",
        }
    }
}

/// What to do when a lock is not free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitPolicy {
    /// Queue, and answer `MustWait`.
    Block,
    /// NOWAIT and SKIP LOCKED: answer `WouldBlock`.
    NoWait,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_matrices_are_symmetric() {
        for a in TableLockMode::ALL {
            for b in TableLockMode::ALL {
                assert_eq!(
                    a.conflicts() & b.bit() != 0,
                    b.conflicts() & a.bit() != 0,
                    "{a:?} {b:?}"
                );
            }
        }
        for a in RowLockStrength::ALL {
            for b in RowLockStrength::ALL {
                assert_eq!(a.conflicts_with(b), b.conflicts_with(a));
            }
        }
    }

    #[test]
    fn row_matrix_is_postgresqls() {
        use RowLockStrength::*;
        let conflicts = [
            (KeyShare, vec![Update]),
            (Share, vec![NoKeyUpdate, Update]),
            (NoKeyUpdate, vec![Share, NoKeyUpdate, Update]),
            (Update, vec![KeyShare, Share, NoKeyUpdate, Update]),
        ];
        for (strength, expect) in conflicts {
            let found: Vec<_> = RowLockStrength::ALL
                .into_iter()
                .filter(|&other| strength.conflicts_with(other))
                .collect();
            assert_eq!(found, expect);
        }
    }

    #[test]
    fn weak_modes_do_not_conflict_with_each_other() {
        for a in TableLockMode::ALL.into_iter().filter(|mode| mode.is_weak()) {
            for b in TableLockMode::ALL.into_iter().filter(|mode| mode.is_weak()) {
                assert_eq!(a.conflicts() & b.bit(), 0);
            }
        }
    }
}
