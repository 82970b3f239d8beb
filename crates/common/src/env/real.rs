//! The operating system behind [`Env`](super::Env).

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::{Clock, Disk, Env, File};

/// An environment whose disk is the directory `root`.
pub fn env(root: &Path) -> Env {
    Env {
        disk: disk(root),
        clock: Arc::new(RealClock {
            start: Instant::now(),
        }),
        seed: entropy_u64(),
    }
}

/// The directory `root` as a disk.
pub fn disk(root: &Path) -> Arc<dyn Disk> {
    Arc::new(RealDisk {
        root: root.to_path_buf(),
        writable: true,
    })
}

/// The directory `root` as a disk that refuses every change: for backups, archives and `mote check`.
pub fn read_only_disk(root: &Path) -> Arc<dyn Disk> {
    Arc::new(RealDisk {
        root: root.to_path_buf(),
        writable: false,
    })
}

/// Eight bytes from the kernel's generator.
pub fn entropy_u64() -> u64 {
    let mut bytes = [0u8; 8];
    fill_entropy(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Fills `buffer` with bytes fit for secrets.
pub fn fill_entropy(buffer: &mut [u8]) {
    let file = fs::File::open("/dev/urandom").expect("the kernel's random device is present");
    file.read_exact_at(buffer, 0)
        .expect("the kernel's random device never ends");
}

struct RealClock {
    start: Instant,
}

impl Clock for RealClock {
    fn monotonic_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn wall_us(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => after.as_micros() as i64,
            Err(before) => -(before.duration().as_micros() as i64),
        }
    }
}

struct RealDisk {
    root: PathBuf,
    writable: bool,
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

struct RealFile(fs::File);

impl File for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn will_read(&self, offset: u64, bytes: u64) {
        // A hint: where it is refused the read takes longer, and that is all.
        let _ = rustix::fs::fadvise(
            &self.0,
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
        Ok(Arc::new(RealFile(file)))
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(self.place(path)?)?;
        Ok(Arc::new(RealFile(file)))
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
