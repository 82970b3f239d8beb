//! `pg_snapshot`, and `txid_snapshot`, its older name: which transactions somebody saw, by their numbers.
//!
//! A value is held as it is sent: how many transactions ran, the lowest of them, the number that nobody had yet, and those who
//! ran, ascending. Source: PostgreSQL's xid8funcs.c. Leaves out: functions (they ask the session, or yield types of two names;
//! `executor::functions::snapshot`), an order, which PostgreSQL has none of.

mod text;

use super::{Representation, TypeDescriptor, TypeFamily};
use crate::datum::Datum;
use crate::oid::*;
use crate::signature::{FunctionSignature, function};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// The number of running transactions, and the two bounds.
const HEAD: usize = 20;
/// PostgreSQL's: what fits into a value of a gigabyte.
const IDS_MAX: usize = ((1 << 30) - 1 - 24) / 8;

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[described(PG_SNAPSHOT), described(TXID_SNAPSHOT)],
    compared: &[],
    comparisons: &[],
    routines: &[],
    input_output: INPUT_OUTPUT,
    operators: &[],
    aggregates: &[],
    casts: &[],
    classes: &[],
    hash_classes: &[],
};

const fn described(oid: Oid) -> TypeDescriptor {
    TypeDescriptor {
        oid,
        representation: Representation::OrderedBytes,
        input: |text, _| text::parse(text).map(|snapshot| snapshot.to_datum()),
        output: |datum, _, out| text::write(&SnapshotValue::of(datum), out),
        receive: |bytes| received(bytes).map(|snapshot| snapshot.to_datum()),
        send: |datum, out| out.extend_from_slice(bytes_of(datum)),
    }
}

#[rustfmt::skip]
const INPUT_OUTPUT: &[FunctionSignature] = &[
    function(2939, "txid_snapshot_in", "pg_snapshot_in", &[CSTRING], TXID_SNAPSHOT),
    function(2940, "txid_snapshot_out", "pg_snapshot_out", &[TXID_SNAPSHOT], CSTRING),
    function(2941, "txid_snapshot_recv", "pg_snapshot_recv", &[INTERNAL], TXID_SNAPSHOT),
    function(2942, "txid_snapshot_send", "pg_snapshot_send", &[TXID_SNAPSHOT], BYTEA),
    function(5055, "pg_snapshot_in", "pg_snapshot_in", &[CSTRING], PG_SNAPSHOT),
    function(5056, "pg_snapshot_out", "pg_snapshot_out", &[PG_SNAPSHOT], CSTRING),
    function(5057, "pg_snapshot_recv", "pg_snapshot_recv", &[INTERNAL], PG_SNAPSHOT),
    function(5058, "pg_snapshot_send", "pg_snapshot_send", &[PG_SNAPSHOT], BYTEA),
];

/// Who is seen: below `xmin` all, from `xmax` on nobody, between them who does not stand in `running`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapshotValue {
    pub xmin: u64,
    pub xmax: u64,
    /// Ascending, each once.
    pub running: Vec<u64>,
}

impl SnapshotValue {
    pub fn of(datum: &Datum) -> SnapshotValue {
        let bytes = bytes_of(datum);
        let mut numbers = bytes[4..].chunks_exact(8).map(number);
        SnapshotValue {
            xmin: numbers.next().expect("a snapshot has two bounds"),
            xmax: numbers.next().expect("a snapshot has two bounds"),
            running: numbers.collect(),
        }
    }

    pub fn to_datum(&self) -> Datum {
        let mut bytes = Vec::with_capacity(HEAD + 8 * self.running.len());
        bytes.extend_from_slice(&(self.running.len() as u32).to_be_bytes());
        for number in [self.xmin, self.xmax].iter().chain(&self.running) {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        Datum::Bytea(bytes.into())
    }

    pub fn sees(&self, id: u64) -> bool {
        id < self.xmin || id < self.xmax && self.running.binary_search(&id).is_err()
    }

    /// None if these are no bounds: of each the lower half counts, as in PostgreSQL, and 0 is nobody.
    fn bounded(xmin: u64, xmax: u64) -> Option<SnapshotValue> {
        let valid = |id: u64| id as u32 != 0;
        (valid(xmin) && valid(xmax) && xmin <= xmax).then(|| SnapshotValue {
            xmin,
            xmax,
            running: Vec::new(),
        })
    }

    /// Adds one that is not below those before; one that is there already counts once.
    fn add(&mut self, id: u64) {
        if self.running.last() != Some(&id) {
            self.running.push(id);
        }
    }
}

fn bytes_of(datum: &Datum) -> &[u8] {
    match datum {
        Datum::Bytea(bytes) => bytes,
        other => panic!(
            "a snapshot is held as bytes, not as {}: the binder resolves argument types",
            other.variant_name()
        ),
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().expect("eight bytes"))
}

fn received(bytes: &[u8]) -> SqlResult<SnapshotValue> {
    let missing = || SqlError::new(state::PROTOCOL_VIOLATION, "insufficient data left in message");
    let refused = || {
        SqlError::new(
            state::INVALID_BINARY_REPRESENTATION,
            "invalid external pg_snapshot data",
        )
    };
    let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(missing)?;
    let count = u32::from_be_bytes(*count) as usize;
    if count > IDS_MAX {
        return Err(refused());
    }
    let mut numbers = rest.chunks_exact(8).map(number);
    let (xmin, xmax) = match (numbers.next(), numbers.next()) {
        (Some(xmin), Some(xmax)) => (xmin, xmax),
        _ => return Err(missing()),
    };
    let mut snapshot = SnapshotValue::bounded(xmin, xmax).ok_or_else(refused)?;
    let mut last = 0;
    for _ in 0..count {
        let id = numbers.next().ok_or_else(missing)?;
        if id < last || id < xmin || id > xmax {
            return Err(refused());
        }
        snapshot.add(id);
        last = id;
    }
    match rest.len() == HEAD - 4 + 8 * count {
        true => Ok(snapshot),
        false => Err(SqlError::new(
            state::INVALID_BINARY_REPRESENTATION,
            "incorrect binary data format",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received() {
        let snapshot = text::parse("10:20:10,14,14,15").unwrap();
        assert_eq!(snapshot.running, [10, 14, 15]);
        let bytes = bytes_of(&snapshot.to_datum()).to_vec();
        assert_eq!(received(&bytes).unwrap(), snapshot);
        for cut in 0..bytes.len() {
            assert_eq!(
                received(&bytes[..cut]).unwrap_err().state(),
                state::PROTOCOL_VIOLATION
            );
        }
        let longer = [bytes, vec![0]].concat();
        assert_eq!(
            received(&longer).unwrap_err().state(),
            state::INVALID_BINARY_REPRESENTATION
        );
    }

    #[test]
    fn who_runs_and_who_is_younger_is_not_seen() {
        let snapshot = text::parse("10:20:10,14").unwrap();
        let seen: Vec<u64> = (8..22).filter(|id| snapshot.sees(*id)).collect();
        assert_eq!(seen, [8, 9, 11, 12, 13, 15, 16, 17, 18, 19]);
    }
}
