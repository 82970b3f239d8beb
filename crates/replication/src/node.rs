//! What a directory knows of itself among others: its number, the terms of its log, whether it follows.
//!
//! The number is drawn once for each directory, so that a copy under the same name is told from it. The terms are kept
//! because the log that they begin in is recycled long before two nodes need them to find where their logs part.

use std::io;

use mote_common::Lsn;
use mote_common::env::Disk;
use mote_engine::log::TermMark;

use crate::history::History;
use crate::{NodeId, small_file};

const NUMBER: &str = "node";
const TERMS: &str = "terms";
const FOLLOWS: &str = "follows";
const MARK_BYTES: usize = 28;

/// The directory's number; `draw` makes that of a new one.
pub fn number(disk: &dyn Disk, system_id: u64, draw: impl FnOnce() -> u64) -> io::Result<NodeId> {
    if let Some(bytes) = small_file::read(disk, system_id, NUMBER)? {
        let bytes = bytes.try_into().map_err(|_| malformed(NUMBER))?;
        return Ok(NodeId(u64::from_le_bytes(bytes)));
    }
    let number = draw();
    small_file::write(disk, system_id, NUMBER, &number.to_le_bytes())?;
    Ok(NodeId(number))
}

/// The terms of the log, as far as anybody has noted them.
pub fn terms(disk: &dyn Disk, system_id: u64) -> io::Result<History> {
    let Some(bytes) = small_file::read(disk, system_id, TERMS)? else {
        return Ok(History::default());
    };
    let (marks, rest) = bytes.as_chunks::<MARK_BYTES>();
    match rest.is_empty() {
        true => Ok(History::new(marks.iter().map(decode).collect())),
        false => Err(malformed(TERMS)),
    }
}

pub fn note_terms(disk: &dyn Disk, system_id: u64, history: &History) -> io::Result<()> {
    let bytes: Vec<u8> = history.marks().iter().flat_map(encode).collect();
    small_file::write(disk, system_id, TERMS, &bytes)
}

/// Does this directory hold another node's log? It must not be written to by a primary before it is promoted.
pub fn follows(disk: &dyn Disk, system_id: u64) -> io::Result<bool> {
    let file = small_file::read(disk, system_id, FOLLOWS)?;
    Ok(file.is_some_and(|bytes| bytes == [1]))
}

pub fn set_follows(disk: &dyn Disk, system_id: u64, follows: bool) -> io::Result<()> {
    small_file::write(disk, system_id, FOLLOWS, &[follows.into()])
}

fn encode(mark: &TermMark) -> [u8; MARK_BYTES] {
    let mut bytes = [0; MARK_BYTES];
    bytes[..4].copy_from_slice(&mark.term.to_le_bytes());
    bytes[4..12].copy_from_slice(&mark.start.0.to_le_bytes());
    bytes[12..20].copy_from_slice(&mark.previous_end.0.to_le_bytes());
    bytes[20..].copy_from_slice(&mark.nonce.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8; MARK_BYTES]) -> TermMark {
    let eight = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("the chunk is long enough"));
    TermMark {
        term: u32::from_le_bytes(*bytes.first_chunk().expect("the chunk is long enough")),
        start: Lsn(eight(4)),
        previous_end: Lsn(eight(12)),
        nonce: eight(20),
    }
}

fn malformed(name: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("replication/{name}: it is malformed"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::env::sim::{SimDisk, env};

    #[test]
    fn a_directory_keeps_its_number_its_terms_and_its_part() {
        let disk = SimDisk::new(3);
        let world = env(&disk, 1).0;
        assert_eq!(
            number(&*world.disk, 7, || 42).expect("the disk works"),
            NodeId(42)
        );
        assert!(!follows(&*world.disk, 7).expect("the disk works"));
        assert_eq!(
            terms(&*world.disk, 7).expect("the disk works"),
            History::default()
        );
        let mark = |term: u32| TermMark {
            term,
            start: Lsn(4096 * u64::from(term)),
            previous_end: Lsn(4096 * u64::from(term) - 8),
            nonce: u64::MAX - u64::from(term),
        };
        let history = History::new(vec![mark(1), mark(3)]);
        note_terms(&*world.disk, 7, &history).expect("the disk works");
        set_follows(&*world.disk, 7, true).expect("the disk works");
        let disk = disk.crash();
        let world = env(&disk, 1).0;
        assert_eq!(
            number(&*world.disk, 7, || 43).expect("the disk works"),
            NodeId(42)
        );
        assert_eq!(terms(&*world.disk, 7).expect("the disk works"), history);
        assert!(follows(&*world.disk, 7).expect("the disk works"));
        set_follows(&*world.disk, 7, false).expect("the disk works");
        assert!(!follows(&*world.disk, 7).expect("the disk works"));
    }
}
