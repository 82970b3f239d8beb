//! The operating system behind [`Env`](super::Env).

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_gettime};

use super::read_pool::ReadPool;
use super::{Clock, DIRECT_ALIGNMENT, Disk, Env, File};

/// An environment whose disk is the directory `root`.
pub fn env(root: &Path) -> Env {
    Env {
        disk: disk(root),
        clock: Arc::new(RealClock {
            start_ns: raw_ns(ClockId::Boottime),
        }),
        seed: entropy_u64(),
    }
}

/// Bytes of this process that are resident, mapped files apart; 0 where the system does not tell.
pub fn resident_bytes() -> u64 {
    // Pages: total, resident, of them shared with files, ...
    let Ok(text) = fs::read_to_string("/proc/self/statm") else {
        return 0;
    };
    let mut pages = text.split(' ').skip(1).map(|field| field.parse().unwrap_or(0));
    let (resident, shared): (u64, u64) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}

/// The directory `root` as a disk.
pub fn disk(root: &Path) -> Arc<dyn Disk> {
    Arc::new(RealDisk {
        root: root.to_path_buf(),
        writable: true,
        reading: ReadPool::new(),
    })
}

/// The directory `root` as a disk that refuses every change: for backups, archives and `mote check`.
pub fn read_only_disk(root: &Path) -> Arc<dyn Disk> {
    Arc::new(RealDisk {
        root: root.to_path_buf(),
        writable: false,
        reading: ReadPool::new(),
    })
}

/// Eight bytes from the kernel's generator.
pub fn entropy_u64() -> u64 {
    let mut bytes = [0u8; 8];
    fill_entropy(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Fills `buffer` with bytes fit for secrets. Asks the kernel itself: opening its device would need a descriptor.
pub fn fill_entropy(buffer: &mut [u8]) {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::rand::getrandom(&mut buffer[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("the kernel's random generator failed: {error}"),
        }
    }
}

struct RealClock {
    start_ns: i64,
}

/// Nanoseconds of a clock of the system; 64 bits hold them until the year 2262.
fn raw_ns(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

impl Clock for RealClock {
    fn monotonic_ns(&self) -> u64 {
        // The clock that goes on while the machine sleeps: whoever promised something until then has to know that it is
        // over. Asked directly: an `Instant` checks and carries twice what is subtracted here once.
        (raw_ns(ClockId::Boottime) - self.start_ns) as u64
    }

    fn wall_us(&self) -> i64 {
        raw_ns(ClockId::Realtime).div_euclid(1_000)
    }
}

struct RealDisk {
    root: PathBuf,
    writable: bool,
    reading: Arc<ReadPool>,
}

impl RealDisk {
    /// Where a change is to be made, if changes may be made.
    fn place(&self, path: &str) -> io::Result<PathBuf> {
        if self.writable {
            Ok(self.root.join(path))
        } else {
            let what = format!("{path} was opened for reading only");
            Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
        }
    }
}

struct RealFile {
    file: fs::File,
    /// The same file, opened with O_DIRECT.
    direct: Option<fs::File>,
}

impl RealFile {
    fn buffered(file: fs::File) -> Arc<dyn File> {
        Arc::new(RealFile { file, direct: None })
    }

    /// One read, past the cache if it can be.
    fn read_once(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let aligned = |number: usize| number.is_multiple_of(DIRECT_ALIGNMENT);
        match &self.direct {
            Some(direct) if aligned(buffer.as_ptr() as usize | buffer.len() | offset as usize) => {
                match direct.read_at(buffer, offset) {
                    // A device that wants larger multiples.
                    Err(e) if e.kind() == io::ErrorKind::InvalidInput => self.file.read_at(buffer, offset),
                    read => read,
                }
            }
            _ => self.file.read_at(buffer, offset),
        }
    }
}

impl File for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            // The rest of a short read is not aligned any more, or lies beyond the end.
            match self.read_once(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn will_read(&self, offset: u64, bytes: u64) {
        if self.direct.is_some() {
            return; // it would be read into the cache, and then again
        }
        // A hint: where it is refused the read takes longer, and that is all.
        let _ = rustix::fs::fadvise(
            &self.file,
            offset,
            std::num::NonZeroU64::new(bytes),
            rustix::fs::Advice::WillNeed,
        );
    }
}

/// Keeps an flock for as long as it lives.
struct DirectoryLock(#[allow(dead_code)] fs::File);

impl Disk for RealDisk {
    fn open(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(self.writable)
            .open(self.root.join(path))?;
        Ok(RealFile::buffered(file))
    }

    fn open_direct(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let place = self.root.join(path);
        let mut options = fs::OpenOptions::new();
        options.read(true).write(self.writable);
        let file = options.open(&place)?;
        // tmpfs and some others refuse O_DIRECT; then everything goes through the cache.
        let direct = options
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(&place)
            .ok();
        Ok(Arc::new(RealFile { file, direct }))
    }

    fn open_to_read(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let place = self.root.join(path);
        let open = move || {
            let direct = fs::OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::DIRECT.bits() as i32)
                .open(&place);
            let file: Arc<dyn File> = Arc::new(RealFile {
                file: fs::File::open(&place)?,
                direct: direct.ok(),
            });
            Ok(file)
        };
        self.reading.open(Box::new(open))
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(self.place(path)?)?;
        Ok(RealFile::buffered(file))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.root.join(path).try_exists()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.place(from)?, self.place(to)?)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.place(path)?)
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        fs::create_dir_all(self.place(path)?)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join(dir))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        fs::File::open(self.root.join(dir))?.sync_all()
    }

    fn lock_exclusive(&self, path: &str) -> io::Result<Box<dyn Send + Sync>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.root.join(path))?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        Ok(Box::new(DirectoryLock(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Aligned or not, with O_DIRECT or without, at the end of the file and beyond: the same bytes.
    #[test]
    fn direct_files_read_and_write_like_others() {
        let directory = std::env::temp_dir().join(format!("mote-direct-{:016x}", entropy_u64()));
        fs::create_dir_all(&directory).expect("the temporary directory can be written");
        let disk = disk(&directory);
        let content: Vec<u8> = (0..3 * DIRECT_ALIGNMENT + 100)
            .map(|at| (at * 7 % 251) as u8)
            .collect();
        disk.create("file")
            .expect("new")
            .write_all_at(&content, 0)
            .expect("written");
        let file = disk.open_direct("file").expect("it is there");
        let mut memory = vec![0; 5 * DIRECT_ALIGNMENT];
        let start = memory.as_ptr().align_offset(DIRECT_ALIGNMENT);
        let places = [
            (0, 4096),
            (4096, 8192),
            (8192, 8192),
            (12_288, 4096),
            (5, 10),
            (16_384, 4096),
        ];
        for (shift, (offset, length)) in [0, 1, 512]
            .into_iter()
            .flat_map(|shift| places.map(|place| (shift, place)))
        {
            let buffer = &mut memory[start + shift..start + shift + length];
            let read = file.read_at(buffer, offset as u64).expect("readable");
            let expected = &content[offset.min(content.len())..(offset + length).min(content.len())];
            assert_eq!(
                &buffer[..read],
                expected,
                "{length} bytes at {offset}, shifted by {shift}"
            );
        }
        let block = &mut memory[start..start + DIRECT_ALIGNMENT];
        block.fill(9);
        file.write_all_at(block, DIRECT_ALIGNMENT as u64)
            .expect("writable");
        file.write_all_at(&[8; 10], 4090).expect("writable");
        file.sync_data().expect("synced");
        let mut all = vec![0; content.len()];
        let other = disk.open("file").expect("it is there");
        assert_eq!(other.read_at(&mut all, 0).expect("readable"), content.len());
        assert_eq!(
            (all[4089], &all[4090..4100], all[4100]),
            (content[4089], &[8; 10][..], 9)
        );
        assert_eq!((all[8191], all[8192]), (9, content[8192]));
        fs::remove_dir_all(&directory).expect("removable");
    }
}
