//! Frames back from the files: where the log ends, and whether it ends there rightly.
//!
//! A frame counts if its header and payload pass their checksums, it names the position it stands at, and its term is
//! that of the frame before; only a TERM frame changes the term, upwards, and names where the log before it ended. What
//! does not count ends the log. Then the rest of the files is searched: a frame that stands where it says and was filled
//! when the log was durable beyond the end proves that acknowledged commits are missing, and nothing may start.
//!
//! Takes untrusted bytes: answers errors, never panics. Leaves out: what payloads mean (`record`).

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::{Disk, File};

use super::frame::*;
use super::segment::{LOG_DIRECTORY, SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_name, segment_path};
use super::varint::Cursor;

const WINDOW_BYTES: usize = 1 << 20;

/// Why a log is not read to its end, with the place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogDamage {
    pub lsn: Lsn,
    pub path: String,
    pub offset: u64,
    pub what: String,
}

impl fmt::Display for LogDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "log damaged at {} (file {}, byte {}): {}",
            self.lsn, self.path, self.offset, self.what
        )
    }
}

impl std::error::Error for LogDamage {}

/// The segment files of a log, open for reading.
pub struct LogFiles {
    segment_bytes: u64,
    files: BTreeMap<u64, Arc<dyn File>>,
}

impl LogFiles {
    /// Opens every segment and checks its header against the manifest's system and segment size.
    pub fn open(disk: &dyn Disk, system_id: u64, segment_bytes: u64) -> Result<LogFiles, LogDamage> {
        let damage = |path: &str, lsn: u64, what: String| LogDamage {
            lsn: Lsn(lsn),
            path: path.into(),
            offset: 0,
            what,
        };
        let names = disk
            .list(LOG_DIRECTORY)
            .map_err(|e| damage(LOG_DIRECTORY, 0, format!("the directory cannot be read: {e}")))?;
        let mut files = BTreeMap::new();
        for start in names.iter().filter_map(|name| parse_segment_name(name)) {
            let path = segment_path(start);
            let file = disk
                .open_to_read(&path)
                .map_err(|e| damage(&path, start, format!("the file cannot be opened: {e}")))?;
            let mut bytes = [0; 64];
            let read = file
                .read_at(&mut bytes, 0)
                .map_err(|e| damage(&path, start, e.to_string()))?;
            let header = SegmentHeader::decode(&bytes[..read]).map_err(|what| damage(&path, start, what))?;
            let expected = SegmentHeader {
                system_id,
                start: Lsn(start),
                segment_bytes,
            };
            if header != expected || !start.is_multiple_of(segment_bytes) {
                let what = format!("the file belongs elsewhere: it says {header:x?}, expected {expected:x?}");
                return Err(damage(&path, start, what));
            }
            files.insert(start, file);
        }
        Ok(LogFiles { segment_bytes, files })
    }

    /// Start and file of each segment, ascending.
    pub fn segments(&self) -> impl Iterator<Item = (u64, &Arc<dyn File>)> {
        self.files.iter().map(|(&start, file)| (start, file))
    }

    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Where the last file ends.
    pub fn end(&self) -> Lsn {
        Lsn(self
            .files
            .last_key_value()
            .map_or(0, |(start, _)| start.saturating_add(self.segment_bytes)))
    }

    /// File and byte of a position, for messages.
    pub fn place(&self, lsn: Lsn) -> (String, u64) {
        let start = lsn.0 / self.segment_bytes * self.segment_bytes;
        (segment_path(start), SEGMENT_HEADER_BYTES + lsn.0 - start)
    }

    fn damage(&self, lsn: Lsn, what: String) -> LogDamage {
        let (path, offset) = self.place(lsn);
        LogDamage {
            lsn,
            path,
            offset,
            what,
        }
    }

    /// Reads up to the first missing byte.
    fn read(&self, mut lsn: u64, mut buffer: &mut [u8]) -> Result<usize, LogDamage> {
        let mut total = 0;
        while !buffer.is_empty() {
            let start = lsn / self.segment_bytes * self.segment_bytes;
            let Some(file) = self.files.get(&start) else { break };
            let within = lsn - start;
            let part = buffer.len().min((self.segment_bytes - within) as usize);
            let read = file
                .read_at(&mut buffer[..part], SEGMENT_HEADER_BYTES + within)
                .map_err(|e| self.damage(Lsn(lsn), format!("cannot be read: {e}")))?;
            total += read;
            if read < part {
                break;
            }
            lsn += part as u64;
            buffer = &mut buffer[part..];
        }
        Ok(total)
    }
}

/// A frame that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    pub header: FrameHeader,
    pub payload: &'a [u8],
}

/// What a TERM frame carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TermStart {
    pub previous_end: Lsn,
    pub system_id: u64,
    /// Tells two terms of one number apart, which nodes that cannot ask each other may begin; 0 in logs of older releases.
    pub nonce: u64,
}

impl TermStart {
    pub fn encode(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.previous_end.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.system_id.to_le_bytes());
        bytes[16..].copy_from_slice(&self.nonce.to_le_bytes());
        bytes
    }

    pub fn decode(payload: &[u8]) -> Option<TermStart> {
        let mut cursor = Cursor::new(payload);
        Some(TermStart {
            previous_end: Lsn(cursor.u64()?),
            system_id: cursor.u64()?,
            nonce: cursor.u64().unwrap_or(0),
        })
    }
}

/// Reads frames in order from a position on.
pub struct LogReader<'a> {
    files: &'a LogFiles,
    position: Lsn,
    /// Of the last frame; `None` before the first.
    term: Option<u32>,
    window: Vec<u8>,
    window_start: u64,
    ended: bool,
    /// No header of a frame stands from here on.
    bound: Lsn,
    /// Where the last header that was found begins, of a frame that counts or not.
    last_named: Lsn,
}

enum Candidate {
    Valid(FrameHeader),
    Invalid,
}

impl<'a> LogReader<'a> {
    /// `start` is the start of a frame, or the end of the log.
    pub fn new(files: &'a LogFiles, start: Lsn) -> LogReader<'a> {
        LogReader {
            files,
            position: start,
            term: None,
            window: Vec::new(),
            window_start: 0,
            ended: false,
            bound: files.end(),
            last_named: start,
        }
    }

    /// For whoever knows that nothing was ever written from `reach` on: what stands behind the end is searched up to there.
    pub fn bounded(mut self, reach: Lsn) -> LogReader<'a> {
        self.bound = self.bound.min(reach);
        self
    }

    /// The end of the last frame returned.
    pub fn position(&self) -> Lsn {
        self.position
    }

    /// Once the end is reached: no header of a frame stands from here on, counts it or not.
    pub fn reach(&self) -> Lsn {
        Lsn(self.last_named.0 + FRAME_HEADER_BYTES as u64).max(self.position)
    }

    /// The term of the last frame returned.
    pub fn term(&self) -> Option<u32> {
        self.term
    }

    /// The next frame; `None` where the log ends rightly.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, LogDamage> {
        if self.ended {
            return Ok(None);
        }
        let header = match self.candidate(self.position)? {
            Candidate::Valid(header) if self.continues(&header) => Some(header),
            _ => self.next_term()?,
        };
        let Some(header) = header else {
            self.ended = true;
            self.search_beyond_end()?;
            return Ok(None);
        };
        self.position = header.end();
        self.term = Some(header.term);
        let payload = self.view(
            header.lsn.0 + FRAME_HEADER_BYTES as u64,
            header.payload_bytes as usize,
        )?;
        Ok(Some(Frame { header, payload }))
    }

    fn continues(&mut self, header: &FrameHeader) -> bool {
        match self.term {
            None => true,
            Some(term) if header.kind == FrameKind::Term => header.term > term,
            Some(term) => header.term == term,
        }
    }

    /// A torn tail was cut inside a block: the next term begins at the block's end and says where the cut is.
    fn next_term(&mut self) -> Result<Option<FrameHeader>, LogDamage> {
        let border = self.position.0.next_multiple_of(BLOCK_BYTES);
        let Candidate::Valid(header) = self.candidate(Lsn(border))? else {
            return Ok(None);
        };
        if header.kind != FrameKind::Term || self.term.is_some_and(|term| header.term <= term) {
            return Ok(None);
        }
        let payload = self.view(border + FRAME_HEADER_BYTES as u64, header.payload_bytes as usize)?;
        let cut = TermStart::decode(payload).map(|start| start.previous_end);
        Ok((cut == Some(self.position)).then_some(header))
    }

    /// Checks everything about a frame at `lsn` but its term.
    fn candidate(&mut self, lsn: Lsn) -> Result<Candidate, LogDamage> {
        let bytes = self.view(lsn.0, FRAME_HEADER_BYTES)?;
        let Some(bytes) = bytes.first_chunk() else {
            return Ok(Candidate::Invalid);
        };
        let header = match FrameHeader::decode(bytes) {
            Ok(header) => header,
            Err(HeaderError::Unknown { version, kind }) if bytes[8..16] == lsn.0.to_le_bytes() => {
                let what = format!(
                    "frame version {version}, kind {kind}: written by a later release; start that release instead"
                );
                return Err(self.files.damage(lsn, what));
            }
            Err(_) => return Ok(Candidate::Invalid),
        };
        if header.lsn != lsn {
            return Ok(Candidate::Invalid);
        }
        let length = header.payload_bytes as usize;
        let payload = self.view(lsn.0 + FRAME_HEADER_BYTES as u64, length)?;
        let intact = payload.len() == length && crc32fast::hash(payload) == header.payload_crc;
        Ok(if intact {
            Candidate::Valid(header)
        } else {
            Candidate::Invalid
        })
    }

    /// Bytes at `lsn`, fewer than asked for only at the end of the files.
    fn view(&mut self, lsn: u64, length: usize) -> Result<&[u8], LogDamage> {
        let window_end = self.window_start + self.window.len() as u64;
        if lsn < self.window_start || lsn + length as u64 > window_end {
            self.window.resize(WINDOW_BYTES.max(length), 0);
            self.window_start = lsn;
            let read = self.files.read(lsn, &mut self.window)?;
            self.window.truncate(read);
        }
        let from = (lsn - self.window_start) as usize;
        let to = (from + length).min(self.window.len());
        Ok(&self.window[from.min(to)..to])
    }

    /// Looks for a frame that proves that the log was durable beyond its end.
    fn search_beyond_end(&mut self) -> Result<(), LogDamage> {
        let end = self.bound.0;
        let mut lsn = self.position.0;
        while lsn < end {
            let position = self.position;
            let chunk = self.view(lsn, WINDOW_BYTES.min((end - lsn) as usize))?;
            let length = chunk.len();
            if length < FRAME_HEADER_BYTES {
                // A hole between files, or a file cut short: go on behind it.
                lsn = (lsn / self.files.segment_bytes + 1) * self.files.segment_bytes;
                continue;
            }
            let (last, proof) = look_through(chunk, lsn, position);
            self.last_named = self.last_named.max(last.unwrap_or_default());
            if let Some(proof) = proof {
                return Err(self.files.damage(
                    position,
                    format!(
                        "no valid frame here, but the frame at {} was written when the log was durable up to {}: \
                         acknowledged commits are missing. Restore from a backup or promote a standby; do not delete \
                         log files",
                        proof.lsn, proof.durable
                    ),
                ));
            }
            let step = (length - FRAME_HEADER_BYTES) as u64 + 1;
            lsn += step.next_multiple_of(FRAME_ALIGNMENT);
        }
        Ok(())
    }
}

/// A frame in `chunk` that was filled when the log was durable beyond `end`.
pub fn find_proof(chunk: &[u8], chunk_lsn: u64, end: Lsn) -> Option<FrameHeader> {
    look_through(chunk, chunk_lsn, end).1
}

/// Where the last header in `chunk` stands that names its own place, up to the first that was filled when the log was durable
/// beyond `end`; and that one.
fn look_through(chunk: &[u8], chunk_lsn: u64, end: Lsn) -> (Option<Lsn>, Option<FrameHeader>) {
    let (mut at, mut last) = (0, None);
    while at + FRAME_HEADER_BYTES <= chunk.len() {
        let lsn = chunk_lsn + at as u64;
        let bytes = chunk[at..]
            .first_chunk()
            .expect("the loop left room for a header");
        // The position is compared first: cheap, and true for hardly anything but a frame.
        if bytes[8..16] == lsn.to_le_bytes() {
            last = Some(Lsn(lsn));
            if let Ok(header) = FrameHeader::decode(bytes)
                && header.durable > end
            {
                return (last, Some(header));
            }
        }
        at += FRAME_ALIGNMENT as usize;
    }
    (last, None)
}

/// Wraps an I/O error that met the log's directory.
pub(super) fn cannot(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
