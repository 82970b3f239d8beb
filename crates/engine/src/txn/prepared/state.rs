//! What a PREPARE frame says beside the redo: the caller's note and the locks.
//!
//! Row locks are written as runs of neighbouring rows, since a transaction that locks many rows mostly locks neighbours.
//! The bytes: docs/formats/log.md. Decoding takes untrusted bytes and never panics.

use crate::lock::{AdvisoryKey, AdvisoryMode, RowLockStrength, TableLockMode};
use crate::table::store::{ordinal_of_row, row_of_ordinal};
use mote_common::{RowId, TableId};
use mote_log::varint::{self, Cursor};

const VERSION: u8 = 1;
const TWO_PARTS: u8 = 1;
const EXCLUSIVE: u8 = 2;
/// Row ids are 48 bits.
const ORDINALS_END: u64 = 1 << 44;

/// A locked row. The row is known by its place in the table, so that neighbours are numbers that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RowLock {
    pub table: TableId,
    ordinal: u64,
    pub strength: RowLockStrength,
}

impl RowLock {
    pub fn new(table: TableId, row: RowId, strength: RowLockStrength) -> RowLock {
        RowLock {
            table,
            ordinal: ordinal_of_row(row),
            strength,
        }
    }

    pub fn row(&self) -> RowId {
        row_of_ordinal(self.ordinal)
    }

    fn follows(&self, previous: &RowLock) -> bool {
        self.table == previous.table
            && self.strength == previous.strength
            && self.ordinal == previous.ordinal + 1
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct State {
    pub note: Vec<u8>,
    pub tables: Vec<(TableId, TableLockMode)>,
    pub rows: Vec<RowLock>,
    pub advisory: Vec<(AdvisoryKey, AdvisoryMode)>,
}

impl State {
    /// Sorts, and keeps the strongest of several locks on a row: it includes the others.
    pub fn tidy(&mut self) {
        self.tables.sort_unstable();
        self.tables.dedup();
        self.rows.sort_unstable();
        self.rows.reverse();
        self.rows.dedup_by_key(|lock| (lock.table, lock.ordinal));
        self.rows.reverse();
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        varint::put_bytes(&mut out, &self.note);
        varint::put(&mut out, self.tables.len() as u64);
        for (table, mode) in &self.tables {
            varint::put(&mut out, u64::from(table.0));
            out.push(*mode as u8);
        }
        let runs: Vec<&[RowLock]> = self
            .rows
            .chunk_by(|previous, lock| lock.follows(previous))
            .collect();
        varint::put(&mut out, runs.len() as u64);
        let mut last = (TableId(0), 0);
        for run in runs {
            let (first, end) = (run[0], run[0].ordinal + run.len() as u64);
            let from = if first.table == last.0 { last.1 } else { 0 };
            varint::put(&mut out, u64::from(first.table.0));
            varint::put(&mut out, first.ordinal - from);
            varint::put(&mut out, run.len() as u64);
            out.push(first.strength as u8);
            last = (first.table, end);
        }
        varint::put(&mut out, self.advisory.len() as u64);
        for (key, mode) in &self.advisory {
            varint::put(&mut out, u64::from(key.database));
            varint::put(&mut out, key.key);
            let exclusive = if *mode == AdvisoryMode::Exclusive {
                EXCLUSIVE
            } else {
                0
            };
            out.push(exclusive | if key.two_parts { TWO_PARTS } else { 0 });
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<State> {
        let mut cursor = Cursor::new(bytes);
        if cursor.byte()? != VERSION {
            return None;
        }
        let mut state = State {
            note: cursor.bytes()?.to_vec(),
            ..State::default()
        };
        for _ in 0..cursor.varint()? {
            let table = TableId(cursor.varint_u32()?);
            let number = cursor.byte()?;
            let mode = TableLockMode::ALL
                .into_iter()
                .find(|mode| *mode as u8 == number)?;
            state.tables.push((table, mode));
        }
        let mut last = (TableId(0), 0u64);
        for _ in 0..cursor.varint()? {
            let table = TableId(cursor.varint_u32()?);
            let from = if table == last.0 { last.1 } else { 0 };
            let first = from.checked_add(cursor.varint()?)?;
            let end = first.checked_add(cursor.varint()?)?;
            let strength = *RowLockStrength::ALL.get(cursor.byte()? as usize)?;
            if end > ORDINALS_END {
                return None;
            }
            state.rows.extend((first..end).map(|ordinal| RowLock {
                table,
                ordinal,
                strength,
            }));
            last = (table, end);
        }
        for _ in 0..cursor.varint()? {
            let (database, key, flags) = (cursor.varint_u32()?, cursor.varint()?, cursor.byte()?);
            let key = AdvisoryKey {
                database,
                key,
                two_parts: flags & TWO_PARTS != 0,
            };
            let exclusive = flags & EXCLUSIVE != 0;
            let mode = if exclusive {
                AdvisoryMode::Exclusive
            } else {
                AdvisoryMode::Shared
            };
            state.advisory.push((key, mode));
        }
        cursor.is_empty().then_some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(table: u32, ordinal: u64, strength: RowLockStrength) -> RowLock {
        RowLock::new(TableId(table), row_of_ordinal(ordinal), strength)
    }

    #[test]
    fn what_is_written_is_read() {
        let mut state = State {
            note: b"who and when".to_vec(),
            tables: vec![
                (TableId(7), TableLockMode::RowExclusive),
                (TableId(7), TableLockMode::RowExclusive),
            ],
            rows: (4_000..4_200)
                .map(|ordinal| lock(9, ordinal, RowLockStrength::KeyShare))
                .collect(),
            advisory: vec![(
                AdvisoryKey {
                    database: 5,
                    key: u64::MAX,
                    two_parts: true,
                },
                AdvisoryMode::Exclusive,
            )],
        };
        state.rows.push(lock(9, 4_100, RowLockStrength::Update));
        state.rows.push(lock(8, 1 << 40, RowLockStrength::Share));
        state.tidy();
        assert_eq!(state.tables.len(), 1);
        assert_eq!(state.rows.len(), 201);
        assert!(state.rows.contains(&lock(9, 4_100, RowLockStrength::Update)));
        assert!(!state.rows.contains(&lock(9, 4_100, RowLockStrength::KeyShare)));
        let bytes = state.encode();
        assert!(bytes.len() < 80, "runs of neighbours are short: {}", bytes.len());
        assert_eq!(State::decode(&bytes), Some(state));
        for cut in 0..bytes.len() {
            assert_eq!(State::decode(&bytes[..cut]), None);
        }
    }
}
