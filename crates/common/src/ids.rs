//! Newtypes for the things that must not be mixed up.

use std::fmt;

/// A position in the log, in bytes from its start. The end of a commit frame is also its commit timestamp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

/// A commit timestamp: the end LSN of the commit frame. Log order, visibility order and time are one number.
pub type Timestamp = Lsn;

impl Lsn {
    pub const ZERO: Lsn = Lsn(0);
    /// Later than every commit: "read the newest".
    pub const MAX: Lsn = Lsn(u64::MAX >> 1);
}

impl fmt::Display for Lsn {
    /// PostgreSQL's form: high and low half in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 as u32)
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lsn({self})")
    }
}

/// Names a storage table of the engine: what PostgreSQL calls a relfilenode. TRUNCATE gives a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TableId(pub u32);

/// Names an index of the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexId(pub u32);

/// A row's identity within its table, stable across updates: 32 bits of segment, 16 bits of offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub u64);

impl RowId {
    /// Rows in one segment. Offsets 4,096..65,535 are never used; the width leaves room without a format change.
    pub const SEGMENT_ROWS: u32 = 4096;

    pub fn new(segment: u32, offset: u16) -> RowId {
        debug_assert!((offset as u32) < Self::SEGMENT_ROWS);
        RowId((segment as u64) << 16 | offset as u64)
    }

    pub fn segment(self) -> u32 {
        (self.0 >> 16) as u32
    }

    pub fn offset(self) -> u16 {
        self.0 as u16
    }

    /// Six bytes, big-endian: sorts as the number does.
    pub fn to_bytes(self) -> [u8; 6] {
        let b = self.0.to_be_bytes();
        [b[2], b[3], b[4], b[5], b[6], b[7]]
    }

    pub fn from_bytes(b: [u8; 6]) -> RowId {
        RowId(u64::from_be_bytes([0, 0, b[0], b[1], b[2], b[3], b[4], b[5]]))
    }
}

/// Counts the commands of a transaction, so that a statement does not see its own writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CommandId(pub u32);

/// PostgreSQL's object identifier. Objects of users start at [`Oid::FIRST_USER`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Oid(pub u32);

impl Oid {
    pub const INVALID: Oid = Oid(0);
    /// Below this, object ids are constants of the binary; from here on they are stored.
    pub const FIRST_USER: Oid = Oid(16384);
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({})", self.0)
    }
}
