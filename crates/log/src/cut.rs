//! Taking the end off a log: what a deposed leader wrote and its successor does not have.
//!
//! The files are whole blocks of frames that look valid, and some of them vouch for others; so zeros alone will not do in
//! just any order. Files behind the cut go first, the last one first: a power failure in between leaves a log that ends
//! earlier, as a torn one does. Then the segment with the cut is written anew beside the old one and renamed over it: no
//! durable block is written twice. Leaves out: whether anything may be cut (`mote_replication::history`).

use std::io;

use mote_common::Lsn;
use mote_common::env::Disk;

use super::segment::{LOG_DIRECTORY, SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_name, segment_path};

const COPY_BYTES: usize = 1 << 20;

/// Nothing stands in the log from `at` on when this returns, and never will again. Nobody else has the log open.
pub fn cut_log(disk: &dyn Disk, system_id: u64, segment_bytes: u64, at: Lsn) -> io::Result<()> {
    let names = disk.list(LOG_DIRECTORY)?;
    let starts: Vec<u64> = names.iter().filter_map(|name| parse_segment_name(name)).collect();
    for &start in starts.iter().rev().filter(|start| **start >= at.0) {
        disk.remove(&segment_path(start))?;
        disk.sync_dir(LOG_DIRECTORY)?;
    }
    let start = at.0 / segment_bytes * segment_bytes;
    if start < at.0 && starts.contains(&start) {
        let header = SegmentHeader {
            system_id,
            start: Lsn(start),
            segment_bytes,
        };
        write_anew(disk, header, at.0 - start)?;
    }
    Ok(())
}

/// The segment with its first `keep` bytes of log, and zeros behind them.
fn write_anew(disk: &dyn Disk, header: SegmentHeader, keep: u64) -> io::Result<()> {
    let path = segment_path(header.start.0);
    let new = format!("{LOG_DIRECTORY}/{:016x}.new", header.start.0);
    if disk.exists(&new)? {
        disk.remove(&new)?;
    }
    let (from, to) = (disk.open(&path)?, disk.create(&new)?);
    to.write_all_at(&header.encode(), 0)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut done = 0;
    while done < header.segment_bytes {
        let part = &mut buffer[..(header.segment_bytes - done).min(COPY_BYTES as u64) as usize];
        part.fill(0);
        let kept = keep.saturating_sub(done).min(part.len() as u64) as usize;
        if kept > 0 && from.read_at(&mut part[..kept], SEGMENT_HEADER_BYTES + done)? < kept {
            return Err(io::Error::other(format!("{path} is shorter than a log segment")));
        }
        to.write_all_at(part, SEGMENT_HEADER_BYTES + done)?;
        done += part.len() as u64;
    }
    to.sync_data()?;
    disk.rename(&new, &path)?;
    disk.sync_dir(LOG_DIRECTORY)
}
