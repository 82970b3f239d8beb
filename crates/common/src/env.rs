//! The only door to clock, disk, randomness and entropy.
//!
//! Everything below the SQL layer that depends on the world takes an [`Env`]; under the simulator one seed then
//! decides every outcome. `real` answers from the operating system, `sim` from a seed and a fault plan; `overlay`
//! keeps all changes to another disk in memory; `descriptors` is about the process's limit of open files, `read_pool` keeps
//! to it where many files are read; `net` is the network, which the engine does not see: whoever replicates takes it
//! beside the `Env`.

use std::io;
use std::sync::Arc;

pub mod descriptors;
pub mod net;
pub mod overlay;
mod read_pool;
pub mod real;
pub mod sim;

/// What direct reads (`Disk::open_direct`) want places, lengths and addresses to be multiples of.
pub const DIRECT_ALIGNMENT: usize = 4096;

/// A file opened through an [`Env`]. All offsets are bytes; short reads happen only at the end of the file.
pub trait File: Send + Sync {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `data` or fails. Not durable before `sync_data`.
    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()>;
    /// fdatasync: what was written is on the medium when this returns `Ok`. After an error nothing is known.
    fn sync_data(&self) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Soon these bytes will be read: a hint that starts the reading and waits for nothing.
    fn will_read(&self, _offset: u64, _bytes: u64) {}
}

/// A directory tree, addressed by paths relative to the data directory with `/` between parts.
pub trait Disk: Send + Sync {
    /// Opens an existing file for reading and writing.
    fn open(&self, path: &str) -> io::Result<Arc<dyn File>>;
    /// The same, but reads whose place, length and address are multiples of `DIRECT_ALIGNMENT` go past the operating
    /// system's cache where the file system can do that. All other access, and all where it cannot, is as `open`'s.
    fn open_direct(&self, path: &str) -> io::Result<Arc<dyn File>> {
        self.open(path)
    }
    /// The same for reading only, and for any number of files: of those, few are open at a time. The file must stay where
    /// it is as long as it is read.
    fn open_to_read(&self, path: &str) -> io::Result<Arc<dyn File>> {
        self.open_direct(path)
    }
    /// Creates a file that must not exist.
    fn create(&self, path: &str) -> io::Result<Arc<dyn File>>;
    fn exists(&self, path: &str) -> io::Result<bool>;
    /// Renames over whatever stands at `to`. Durable after `sync_dir` of the parent.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, path: &str) -> io::Result<()>;
    fn create_dir_all(&self, path: &str) -> io::Result<()>;
    /// File names (not paths) in a directory, sorted.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;
    /// fsync of a directory: creations, renames and removals in it are on the medium.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
    /// Takes the directory for this process, or says who has it. Held until the disk is dropped.
    fn lock_exclusive(&self, path: &str) -> io::Result<Box<dyn Send + Sync>>;
}

/// Time. Monotonic time never goes back and goes on while the machine sleeps; wall time is what people call the date.
pub trait Clock: Send + Sync {
    /// Nanoseconds since an arbitrary start.
    fn monotonic_ns(&self) -> u64;
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    fn wall_us(&self) -> i64;
}

/// The world, as the engine sees it.
#[derive(Clone)]
pub struct Env {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    /// Seeds every non-secret random choice below the SQL layer.
    pub seed: u64,
}
