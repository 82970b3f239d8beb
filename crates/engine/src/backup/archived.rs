//! Log out of an archive, for who needs more than is kept beside the database.
//!
//! Only whole segments are read: what is in a partial one is in the log's own files still. Leaves out: whether they are of this
//! history; whoever takes the bytes checks each frame.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::Disk;
use mote_log::range::LogRanges;
use mote_log::segment::parse_segment_name;

/// The segments of one database in an archive.
pub struct ArchivedLog {
    disk: Arc<dyn Disk>,
    name: String,
    directory: String,
    segment_bytes: u64,
    ranges: LogRanges,
}

impl ArchivedLog {
    /// `directory` is the database's in the archive on `disk`, which messages call `name`.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        name: String,
        directory: String,
        system_id: u64,
        segment_bytes: u64,
    ) -> ArchivedLog {
        ArchivedLog {
            ranges: LogRanges::in_directory(disk.clone(), directory.clone(), system_id, segment_bytes),
            disk,
            name,
            directory,
            segment_bytes,
        }
    }

    /// For messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// From where on the archive has everything below the segment of `lsn`, without a gap; that segment's start, if it has
    /// nothing there.
    /// Files are opened anew from here on: a damaged one may have been replaced.
    pub fn reaches_below(&mut self, lsn: Lsn) -> io::Result<Lsn> {
        self.ranges.close();
        let names = self.disk.list(&self.directory)?;
        let archived: BTreeSet<u64> = names.iter().filter_map(|name| parse_segment_name(name)).collect();
        let mut start = lsn.0 / self.segment_bytes * self.segment_bytes;
        while let Some(before) = start.checked_sub(self.segment_bytes)
            && archived.contains(&before)
        {
            start = before;
        }
        Ok(Lsn(start))
    }

    /// As [`LogRanges::read`]. Nobody recycles a file here: one that is there and not of this log is an error.
    pub fn read(&mut self, from: Lsn, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let read = self.ranges.read(from, buffer)?;
        let path = self.ranges.path_of(from);
        match read {
            None if self.disk.exists(&path)? => Err(io::Error::other(format!(
                "{path} is no segment of this database's log"
            ))),
            read => Ok(read),
        }
    }
}
