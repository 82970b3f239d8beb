//! The files of the log: prepared ahead, written once, recycled.
//!
//! A segment file is a header block and `segment_bytes` of log; it is named by the LSN of its first byte. Files are
//! zeroed and synced before any frame goes into them: a write then changes no metadata (fdatasync stays one disk
//! operation) and cannot meet a full disk. A file whose log is no longer needed becomes `*.free` and is renamed to be a
//! later segment; frames in it are told from new ones by the LSN they name.
//!
//! Invariants: a file has a `.log` name only when its header and length are on disk; `prepared` never runs ahead of
//! that. Leaves out: what the bytes mean (`frame`, `reader`).

use mote_common::sync::atomic::{AtomicBool, AtomicU8, Ordering::*};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::{Disk, File, descriptors};
use mote_common::sync::Mutex;

use super::varint::Cursor;

pub const LOG_DIRECTORY: &str = "log";
/// In front of the log bytes of each file.
pub const SEGMENT_HEADER_BYTES: u64 = 4096;
pub const LOG_FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"moteLOG\0";
const ZERO_CHUNK_BYTES: usize = 1 << 20;
const ZERO_SYNC_BYTES: u64 = 4 << 20;
/// Free files kept for later segments; the rest are removed.
const FREE_FILES_MAX: usize = 4;

/// What the header of a segment file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentHeader {
    pub system_id: u64,
    pub start: Lsn,
    pub segment_bytes: u64,
}

impl SegmentHeader {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SEGMENT_HEADER_BYTES as usize);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&LOG_FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.system_id.to_le_bytes());
        bytes.extend_from_slice(&self.start.0.to_le_bytes());
        bytes.extend_from_slice(&self.segment_bytes.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes.resize(SEGMENT_HEADER_BYTES as usize, 0);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<SegmentHeader, String> {
        if bytes.len() < 44 || bytes[0..8] != MAGIC {
            return Err("this is no log segment of mote".into());
        }
        let mut cursor = Cursor::new(&bytes[8..44]);
        let read = (|| {
            let (version, _reserved) = (cursor.u32()?, cursor.u32()?);
            let header = SegmentHeader {
                system_id: cursor.u64()?,
                start: Lsn(cursor.u64()?),
                segment_bytes: cursor.u64()?,
            };
            Some((version, header, cursor.u32()?))
        })();
        let (version, header, crc) = read.expect("44 bytes hold every field");
        if version != LOG_FORMAT_VERSION {
            return Err(format!(
                "log format {version}; this release reads format {LOG_FORMAT_VERSION}"
            ));
        }
        if crc != crc32fast::hash(&bytes[0..40]) {
            return Err("the header fails its checksum".into());
        }
        Ok(header)
    }
}

/// `log/0000000004000000.log`
pub fn segment_path(start: u64) -> String {
    format!("{LOG_DIRECTORY}/{}", segment_name(start))
}

pub fn segment_name(start: u64) -> String {
    format!("{start:016x}.log")
}

/// The start a segment's file name gives; `None` for other files.
pub fn parse_segment_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    // One spelling only: `from_str_radix` would also take a sign and capitals.
    let start = u64::from_str_radix(digits, 16).ok()?;
    (digits == format!("{start:016x}")).then_some(start)
}

/// A segment in use.
#[derive(Clone)]
pub(super) struct Segment {
    pub start: u64,
    /// `None`: everything in it is durable. It is not written any more, and takes no descriptor.
    pub file: Option<Arc<dyn File>>,
}

/// Why the last attempt to prepare a segment failed, where that goes away by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scarcity {
    None = 0,
    Space = 1,
    Descriptors = 2,
}

impl Scarcity {
    fn of(error: &io::Error) -> Scarcity {
        if descriptors::are_exhausted(error) {
            return Scarcity::Descriptors;
        }
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Scarcity::Space,
            _ => Scarcity::None,
        }
    }
}

/// What became of a request for the next segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prepared {
    Already,
    Now,
    /// For want of space, or of a descriptor.
    Refused,
}

struct State {
    /// Contiguous, ascending; the last ones hold nothing yet.
    live: VecDeque<Segment>,
    /// Paths of files to be used again.
    free: Vec<String>,
}

pub(super) struct Segments {
    disk: Arc<dyn Disk>,
    system_id: u64,
    segment_bytes: u64,
    state: Mutex<State>,
    /// One preparation at a time; not the lock of `state`, which the flusher takes.
    preparing: Mutex<()>,
    /// A `Scarcity`.
    scarcity: AtomicU8,
    /// Nobody wants a segment any more, not even one that is half made.
    given_up: AtomicBool,
}

impl Segments {
    /// Takes over the files found at start. `live` begins with the segment that holds the log's end, or before it.
    pub fn new(
        disk: Arc<dyn Disk>,
        system_id: u64,
        segment_bytes: u64,
        live: Vec<Segment>,
        free: Vec<String>,
    ) -> Segments {
        Segments {
            disk,
            system_id,
            segment_bytes,
            state: Mutex::new(State {
                live: live.into(),
                free,
            }),
            preparing: Mutex::new(()),
            scarcity: AtomicU8::new(Scarcity::None as u8),
            given_up: AtomicBool::new(false),
        }
    }

    /// Takes over the files that somebody else has written meanwhile, instead of those it knew.
    pub fn take_over(&self, live: Vec<Segment>, free: Vec<String>) {
        *self.state.lock() = State {
            live: live.into(),
            free,
        };
    }

    /// Where the oldest file begins; `None` when there is no file at all.
    pub fn oldest(&self) -> Option<u64> {
        self.state.lock().live.front().map(|segment| segment.start)
    }

    /// The end of the last prepared segment; `None` when there is no file at all.
    pub fn prepared_end(&self) -> Option<u64> {
        self.state
            .lock()
            .live
            .back()
            .map(|segment| segment.start + self.segment_bytes)
    }

    /// What the last attempt to prepare a segment lacked.
    pub fn scarcity(&self) -> Scarcity {
        // Relaxed: a hint, which error a writer gets, not whether it gets one.
        match self.scarcity.load(Relaxed) {
            0 => Scarcity::None,
            1 => Scarcity::Space,
            _ => Scarcity::Descriptors,
        }
    }

    /// Makes the segment that begins at `start` (the end of the last one) ready for frames. False: it cannot be had now,
    /// for want of space or of a descriptor. What is durable, up to `flushed`, is closed.
    pub fn prepare(&self, start: u64, flushed: u64) -> io::Result<bool> {
        let _one = self.preparing.lock();
        self.prepare_alone(start, flushed)
    }

    /// The same for several that may want the next segment at one time: it is made unless the log is ready up to `until`. The
    /// first one begins at `first`, where there is none. Who has enough does not wait for whoever makes more.
    pub fn prepare_next(&self, until: u64, first: u64, flushed: u64) -> io::Result<Prepared> {
        if self.prepared_end().is_some_and(|end| end >= until) {
            return Ok(Prepared::Already);
        }
        let _one = self.preparing.lock();
        let start = self.prepared_end().unwrap_or(first);
        if start >= until {
            return Ok(Prepared::Already);
        }
        Ok(match self.prepare_alone(start, flushed)? {
            true => Prepared::Now,
            false => Prepared::Refused,
        })
    }

    /// Whoever makes a segment stops at once.
    pub fn give_up(&self) {
        // Relaxed: who asks waits for the other thread's end next.
        self.given_up.store(true, Relaxed);
    }

    /// Of whoever has `preparing`.
    fn prepare_alone(&self, start: u64, flushed: u64) -> io::Result<bool> {
        self.close_below(flushed);
        let result = self.prepare_file(start);
        let scarcity = result.as_ref().err().map_or(Scarcity::None, Scarcity::of);
        let before = self.scarcity();
        self.scarcity.store(scarcity as u8, Relaxed);
        let file = match result {
            Ok(file) => file,
            Err(error) if scarcity != Scarcity::None => {
                if before != scarcity {
                    eprintln!(
                        "mote: warning: no further log segment can be prepared: {error}; writers are refused until it can"
                    );
                }
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if before != Scarcity::None {
            eprintln!("mote: log segments can be prepared again");
        }
        let mut state = self.state.lock();
        debug_assert!(
            state
                .live
                .back()
                .is_none_or(|last| last.start + self.segment_bytes == start)
        );
        let file = Some(file);
        state.live.push_back(Segment { start, file });
        Ok(true)
    }

    /// Closes the files that nobody writes or syncs any more.
    fn close_below(&self, flushed: u64) {
        let mut state = self.state.lock();
        let done = state
            .live
            .iter_mut()
            .filter(|segment| segment.start + self.segment_bytes <= flushed);
        let closed: Vec<_> = done.filter_map(|segment| segment.file.take()).collect();
        drop(state);
        drop(closed);
    }

    fn prepare_file(&self, start: u64) -> io::Result<Arc<dyn File>> {
        let header = SegmentHeader {
            system_id: self.system_id,
            start: Lsn(start),
            segment_bytes: self.segment_bytes,
        };
        let recycled = self.state.lock().free.pop();
        let path = recycled
            .clone()
            .unwrap_or_else(|| format!("{LOG_DIRECTORY}/{start:016x}.new"));
        let written = (|| {
            let file = match &recycled {
                Some(_) => {
                    // That it is free must be durable before it gets another header: after a power failure it would
                    // else stand there under its old name and belong elsewhere.
                    self.disk.sync_dir(LOG_DIRECTORY)?;
                    self.disk.open(&path)?
                }
                None => self.zeroed_file(&path)?,
            };
            file.write_all_at(&header.encode(), 0)?;
            file.sync_data()?;
            self.disk.rename(&path, &segment_path(start))?;
            self.disk.sync_dir(LOG_DIRECTORY)?;
            Ok(file)
        })();
        match &written {
            Ok(_) => {}
            // Nothing was written to it: the next attempt takes it again.
            Err(error)
                if recycled.is_some() && descriptors::are_exhausted(error) && self.disk.exists(&path)? =>
            {
                self.state.lock().free.push(path);
            }
            // Half a file gives back its space; if even that fails it is removed at the next start.
            Err(_) => _ = self.disk.remove(&path),
        }
        written
    }

    fn zeroed_file(&self, path: &str) -> io::Result<Arc<dyn File>> {
        if self.disk.exists(path)? {
            self.disk.remove(path)?;
        }
        let file = self.disk.create(path)?;
        let zeros = vec![0; ZERO_CHUNK_BYTES];
        let (mut at, end) = (0, SEGMENT_HEADER_BYTES + self.segment_bytes);
        while at < end {
            if self.given_up.load(Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let chunk = (end - at).min(ZERO_CHUNK_BYTES as u64);
            file.write_all_at(&zeros[..chunk as usize], at)?;
            at += chunk;
            // In portions, so that a flush of the log never queues behind a whole file of zeros.
            if at.is_multiple_of(ZERO_SYNC_BYTES) {
                file.sync_data()?;
            }
        }
        Ok(file)
    }

    /// Writes whole blocks. They may cross a segment's end. Remembers in `touched` what must be synced.
    pub fn write(&self, mut lsn: u64, mut data: &[u8], touched: &mut Vec<Arc<dyn File>>) -> io::Result<()> {
        while !data.is_empty() {
            let (start, file) = self.open_segment_of(lsn)?;
            let within = lsn - start;
            let part = data.len().min((self.segment_bytes - within) as usize);
            file.write_all_at(&data[..part], SEGMENT_HEADER_BYTES + within)?;
            if !touched.iter().any(|other| Arc::ptr_eq(other, &file)) {
                touched.push(file);
            }
            lsn += part as u64;
            data = &data[part..];
        }
        Ok(())
    }

    fn open_segment_of(&self, lsn: u64) -> io::Result<(u64, Arc<dyn File>)> {
        let state = self.state.lock();
        let first = state.live.front().map_or(0, |segment| segment.start);
        let index = (lsn.wrapping_sub(first) / self.segment_bytes) as usize;
        let segment = state.live.get(index).ok_or_else(|| {
            io::Error::other(format!(
                "no log segment is prepared for {}; admission let too much in",
                Lsn(lsn)
            ))
        })?;
        let file = segment.file.clone().ok_or_else(|| {
            io::Error::other(format!(
                "{} lies in a log segment that is durable already",
                Lsn(lsn)
            ))
        })?;
        Ok((segment.start, file))
    }

    pub fn sync_all(&self) -> io::Result<()> {
        let files: Vec<_> = self
            .state
            .lock()
            .live
            .iter()
            .filter_map(|segment| segment.file.clone())
            .collect();
        files.iter().try_for_each(|file| file.sync_data())
    }

    /// Frees the files that hold only log below `lsn`. The manifest no longer needs them when this is called.
    pub fn release_below(&self, lsn: u64) -> io::Result<usize> {
        let mut released = 0;
        loop {
            let (start, keep) = {
                let mut state = self.state.lock();
                match state.live.front() {
                    Some(segment) if state.live.len() > 1 && segment.start + self.segment_bytes <= lsn => {}
                    _ => break,
                }
                let segment = state.live.pop_front().expect("the front was just seen");
                (segment.start, state.free.len() < FREE_FILES_MAX)
            };
            let path = segment_path(start);
            if keep {
                let free = format!("{LOG_DIRECTORY}/{start:016x}.free");
                self.disk.rename(&path, &free)?;
                self.state.lock().free.push(free);
            } else {
                self.disk.remove(&path)?;
            }
            released += 1;
        }
        Ok(released)
    }

    /// Bytes of files that hold log.
    pub fn live_bytes(&self) -> u64 {
        self.state.lock().live.len() as u64 * self.segment_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::env::sim::SimDisk;

    /// A follower's commits would else wait, each segment anew, for the zeros of a segment that they do not need yet.
    #[test]
    fn who_has_room_does_not_wait_for_the_next_segment() {
        const BYTES: u64 = 1 << 16;
        let disk = Arc::new(SimDisk::new(1));
        disk.create_dir_all(LOG_DIRECTORY).expect("the disk works");
        let segments = Segments::new(disk, 7, BYTES, Vec::new(), Vec::new());
        assert_eq!(
            segments.prepare_next(2 * BYTES, BYTES, 0).ok(),
            Some(Prepared::Now)
        );
        let makes_the_next = segments.preparing.lock();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = tell.send(segments.prepare_next(2 * BYTES, BYTES, 0).ok());
            });
            let answer = told.recv_timeout(std::time::Duration::from_secs(10));
            drop(makes_the_next);
            assert_eq!(answer, Ok(Some(Prepared::Already)));
        });
    }

    #[test]
    fn headers_and_names_survive_and_damage_is_found() {
        let header = SegmentHeader {
            system_id: 7,
            start: Lsn(1 << 26),
            segment_bytes: 1 << 26,
        };
        let bytes = header.encode();
        assert_eq!(bytes.len() as u64, SEGMENT_HEADER_BYTES);
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
        for at in 0..44 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(SegmentHeader::decode(&damaged).is_err(), "byte {at}");
        }
        assert_eq!(parse_segment_name("0000000004000000.log"), Some(1 << 26));
        assert_eq!(segment_path(1 << 26), "log/0000000004000000.log");
        for name in [
            "0000000004000000.free",
            "4.log",
            "000000000400000g.log",
            "+000000004000000.log",
        ] {
            assert_eq!(parse_segment_name(name), None, "{name}");
        }
    }
}
