//! The note that a prepared transaction carries: who prepared it, where and when.

use mote_common::Oid;
use mote_engine::PreparedInfo;

/// What pg_prepared_xacts and the decision must know of a prepared transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreparedNote {
    pub owner: Oid,
    pub database: Oid,
    /// Microseconds since 2000-01-01 UTC.
    pub prepared_us: i64,
}

impl PreparedNote {
    pub fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.owner.0.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.database.0.to_le_bytes());
        bytes[8..].copy_from_slice(&self.prepared_us.to_le_bytes());
        bytes
    }

    /// `None`: whoever prepared uses the engine without this layer.
    pub fn of(info: &PreparedInfo) -> Option<PreparedNote> {
        let note: &[u8; 16] = info.note.as_slice().try_into().ok()?;
        let (owner, rest) = note.split_first_chunk::<4>()?;
        let (database, rest) = rest.split_first_chunk::<4>()?;
        let (prepared_us, _) = rest.split_first_chunk::<8>()?;
        Some(PreparedNote {
            owner: Oid(u32::from_le_bytes(*owner)),
            database: Oid(u32::from_le_bytes(*database)),
            prepared_us: i64::from_le_bytes(*prepared_us),
        })
    }
}
