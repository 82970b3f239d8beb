//! What a log on disk is, told without its contents: where it ends, its terms, how far it was durable.

use mote_common::Lsn;
use mote_common::env::Disk;

use super::frame::FrameKind;
use super::reader::{LogDamage, LogFiles, LogReader, TermStart};

/// Where a term begins. Two logs that have the same mark agree in every byte of the term that both have, since one node
/// wrote it once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TermMark {
    pub term: u32,
    /// Of the TERM frame.
    pub start: Lsn,
    /// Where the term before ended; less than a block below `start`.
    pub previous_end: Lsn,
    pub nonce: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogScan {
    /// The end of the last frame that counts.
    pub end: Lsn,
    /// Of the last frame; `None`: there is none.
    pub term: Option<u32>,
    /// The terms that begin at or behind the position the scan began at.
    pub terms: Vec<TermMark>,
    /// The highest position that a frame vouches for: it was stable when that frame was filled.
    pub durable: Lsn,
    /// No header of a frame stands from here on, not even of one that does not count.
    pub reach: Lsn,
}

/// Reads the log from `from` on, the start of a frame, to its end.
pub fn scan_log(
    disk: &dyn Disk,
    system_id: u64,
    segment_bytes: u64,
    from: Lsn,
) -> Result<LogScan, LogDamage> {
    scan_log_to(disk, system_id, segment_bytes, from, Lsn(u64::MAX))
}

/// The same for whoever knows that nothing was ever written from `reach` on: most of a segment is room that was made in advance,
/// and reading all of that takes a while.
pub fn scan_log_to(
    disk: &dyn Disk,
    system_id: u64,
    segment_bytes: u64,
    from: Lsn,
    reach: Lsn,
) -> Result<LogScan, LogDamage> {
    let files = LogFiles::open(disk, system_id, segment_bytes)?;
    let mut reader = LogReader::new(&files, from).bounded(reach);
    let mut scan = LogScan {
        end: from,
        term: None,
        terms: Vec::new(),
        durable: Lsn::ZERO,
        reach: from,
    };
    while let Some(frame) = reader.next_frame()? {
        scan.durable = scan.durable.max(frame.header.durable);
        scan.term = Some(frame.header.term);
        scan.end = frame.header.end();
        if frame.header.kind == FrameKind::Term
            && let Some(mark) = term_mark(frame.header.term, frame.header.lsn, frame.payload)
        {
            scan.terms.push(mark);
        }
    }
    scan.reach = reader.reach();
    Ok(scan)
}

/// What a TERM frame at `start` says; `None`: it is malformed.
pub(super) fn term_mark(term: u32, start: Lsn, payload: &[u8]) -> Option<TermMark> {
    let said = TermStart::decode(payload)?;
    Some(TermMark {
        term,
        start,
        previous_end: said.previous_end,
        nonce: said.nonce,
    })
}
