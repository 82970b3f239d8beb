//! What a directory knows of itself among others: its number, the terms of its log, whether it follows.
//!
//! The number is drawn once for each directory, so that a copy under the same name is told from it. The terms are kept
//! because the log that they begin in is recycled long before two nodes need them to find where their logs part.

use std::io;

use mote_common::Lsn;
use mote_common::env::Disk;
use mote_log::TermMark;

use crate::history::History;
use crate::{NodeId, small_file};

const NUMBER: &str = "node";
const TERMS: &str = "terms";
const FOLLOWS: &str = "follows";
const MARK_BYTES: usize = 28;

/// The directory's number; `draw` makes that of a new one.
pub fn number(disk: &dyn Disk, system_id: u64, draw: impl FnOnce() -> u64) -> io::Result<NodeId> {
    if let Some(number) = noted_number(disk, system_id)? {
        return Ok(number);
    }
    let number = NodeId(draw());
    note_number(disk, system_id, number)?;
    Ok(number)
}

fn noted_number(disk: &dyn Disk, system_id: u64) -> io::Result<Option<NodeId>> {
    let Some(bytes) = small_file::read(disk, system_id, NUMBER)? else {
        return Ok(None);
    };
    let bytes = bytes.try_into().map_err(|_| malformed(NUMBER))?;
    Ok(Some(NodeId(u64::from_le_bytes(bytes))))
}

fn note_number(disk: &dyn Disk, system_id: u64, number: NodeId) -> io::Result<()> {
    small_file::write(disk, system_id, NUMBER, &number.0.to_le_bytes())
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

/// A primary's number and the terms of its log. The disk must know them before a follower hears of them, and not sooner:
/// a server begins on a full disk too.
pub struct Identity {
    id: NodeId,
    history: History,
    id_noted: bool,
    history_noted: bool,
}

impl Identity {
    /// What the directory says, and what it does not say yet: a number from `draw`, the term that `began` last.
    pub fn read(
        disk: &dyn Disk,
        system_id: u64,
        began: TermMark,
        draw: impl FnOnce() -> u64,
    ) -> io::Result<Identity> {
        let noted = noted_number(disk, system_id)?;
        let mut history = terms(disk, system_id)?;
        let history_noted = history.last_term() >= began.term;
        if !history_noted {
            history.begin(began);
        }
        Ok(Identity {
            id: noted.unwrap_or_else(|| NodeId(draw())),
            history,
            id_noted: noted.is_some(),
            history_noted,
        })
    }

    pub fn id(&self) -> NodeId {
        self.id
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    /// The disk knows all of it when this returns.
    pub fn note(&mut self, disk: &dyn Disk, system_id: u64) -> io::Result<()> {
        if !self.id_noted {
            note_number(disk, system_id, self.id)?;
            self.id_noted = true;
        }
        if !self.history_noted {
            note_terms(disk, system_id, &self.history)?;
            self.history_noted = true;
        }
        Ok(())
    }
}

/// Whose log a directory holds, and so who may write to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Part {
    /// Its own.
    Alone = 0,
    /// Another node's: no primary writes to it before it is promoted.
    Follows = 1,
    /// That of whoever leads a cluster, as its record says.
    Cluster = 2,
}

pub fn part(disk: &dyn Disk, system_id: u64) -> io::Result<Part> {
    match small_file::read(disk, system_id, FOLLOWS)?.as_deref() {
        None | Some([0]) => Ok(Part::Alone),
        Some([1]) => Ok(Part::Follows),
        Some([2]) => Ok(Part::Cluster),
        Some(_) => Err(malformed(FOLLOWS)),
    }
}

pub fn set_part(disk: &dyn Disk, system_id: u64, part: Part) -> io::Result<()> {
    small_file::write(disk, system_id, FOLLOWS, &[part as u8])
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
    fn a_primary_is_noted_when_it_is_asked_to_and_says_the_same_before() {
        let disk = SimDisk::new(4);
        let world = env(&disk, 1).0;
        let began = TermMark {
            term: 2,
            start: Lsn(4096),
            previous_end: Lsn(4000),
            nonce: 9,
        };
        let read = |draw: u64| Identity::read(&*world.disk, 7, began, || draw).expect("the disk works");
        let mut first = read(42);
        assert_eq!((first.id(), first.history().last_term()), (NodeId(42), 2));
        // Nothing was written: another start draws again.
        assert_eq!(read(43).id(), NodeId(43));
        first.note(&*world.disk, 7).expect("the disk works");
        let again = read(44);
        assert_eq!((again.id(), again.history()), (NodeId(42), first.history()));
        assert!(again.id_noted && again.history_noted);
    }

    #[test]
    fn a_directory_keeps_its_number_its_terms_and_its_part() {
        let disk = SimDisk::new(3);
        let world = env(&disk, 1).0;
        assert_eq!(
            number(&*world.disk, 7, || 42).expect("the disk works"),
            NodeId(42)
        );
        assert_eq!(part(&*world.disk, 7).expect("the disk works"), Part::Alone);
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
        set_part(&*world.disk, 7, Part::Follows).expect("the disk works");
        let disk = disk.crash();
        let world = env(&disk, 1).0;
        assert_eq!(
            number(&*world.disk, 7, || 43).expect("the disk works"),
            NodeId(42)
        );
        assert_eq!(terms(&*world.disk, 7).expect("the disk works"), history);
        assert_eq!(part(&*world.disk, 7).expect("the disk works"), Part::Follows);
        for other in [Part::Cluster, Part::Alone] {
            set_part(&*world.disk, 7, other).expect("the disk works");
            assert_eq!(part(&*world.disk, 7).expect("the disk works"), other);
        }
    }
}
