//! Raw bytes of the log out of its files, or out of copies of them, for a follower or a subscriber that is behind.
//!
//! A file may be recycled while it is read, where nobody holds the log. A recycled file gets its new header before new
//! log; so bytes that were read before the header was seen unchanged are the old ones.

use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::{Disk, File};

use super::segment::{LOG_DIRECTORY, SEGMENT_HEADER_BYTES, SegmentHeader, segment_name};

/// Reads ranges of a log that is being written. Keeps one file open.
pub struct LogRanges {
    disk: Arc<dyn Disk>,
    directory: String,
    system_id: u64,
    segment_bytes: u64,
    open: Option<(u64, Arc<dyn File>)>,
}

impl LogRanges {
    pub fn new(disk: Arc<dyn Disk>, system_id: u64, segment_bytes: u64) -> LogRanges {
        LogRanges::in_directory(disk, LOG_DIRECTORY.into(), system_id, segment_bytes)
    }

    /// Of copies of segments that stand elsewhere, by the same names.
    pub fn in_directory(
        disk: Arc<dyn Disk>,
        directory: String,
        system_id: u64,
        segment_bytes: u64,
    ) -> LogRanges {
        LogRanges {
            disk,
            directory,
            system_id,
            segment_bytes,
            open: None,
        }
    }

    /// Fills `buffer` from `from` on, up to its end or the segment's; answers how far. `None`: the log from there is not
    /// here any more. The caller asks for what is written only.
    pub fn read(&mut self, from: Lsn, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let start = from.0 / self.segment_bytes * self.segment_bytes;
        let Some(file) = self.file(start)? else {
            return Ok(None);
        };
        let within = from.0 - start;
        let length = buffer.len().min((self.segment_bytes - within) as usize);
        let read = file.read_at(&mut buffer[..length], SEGMENT_HEADER_BYTES + within)?;
        if read < length {
            return Err(io::Error::other(format!(
                "{} is shorter than a log segment",
                self.path(start)
            )));
        }
        if !self.is_segment(&*file, start)? {
            self.open = None;
            return Ok(None);
        }
        Ok(Some(length))
    }

    /// The file that has the log at `lsn`, if there is one.
    pub fn path_of(&self, lsn: Lsn) -> String {
        self.path(lsn.0 / self.segment_bytes * self.segment_bytes)
    }

    /// The next read opens its file, which another one may have taken the place of.
    pub fn close(&mut self) {
        self.open = None;
    }

    fn path(&self, start: u64) -> String {
        format!("{}/{}", self.directory, segment_name(start))
    }

    fn file(&mut self, start: u64) -> io::Result<Option<Arc<dyn File>>> {
        if let Some((open, file)) = &self.open
            && *open == start
        {
            return Ok(Some(file.clone()));
        }
        let file = match self.disk.open(&self.path(start)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        self.open = Some((start, file.clone()));
        Ok(Some(file))
    }

    fn is_segment(&self, file: &dyn File, start: u64) -> io::Result<bool> {
        let mut bytes = [0; 64];
        let read = file.read_at(&mut bytes, 0)?;
        let expected = SegmentHeader {
            system_id: self.system_id,
            start: Lsn(start),
            segment_bytes: self.segment_bytes,
        };
        Ok(SegmentHeader::decode(&bytes[..read]) == Ok(expected))
    }
}
