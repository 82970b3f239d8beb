//! The log's bytes on their way to the files, for whoever sends them to other nodes.
//!
//! A follower that is up to date gets each flush's range before it is written here: its sync and ours overlap, and the
//! bytes come out of the ring, not out of files.

use mote_common::Lsn;

/// Called by whoever flushes, with the flusher's lock held: must be quick, must not wait, and must not touch the log.
pub trait LogTap: Send + Sync {
    /// The bytes from `from` on that the flush is about to write, verbatim, whole blocks. They may never become durable
    /// here: a power failure in the next moment leaves them with whoever they were sent to.
    fn flushing(&self, from: Lsn, parts: [&[u8]; 2]);
}
