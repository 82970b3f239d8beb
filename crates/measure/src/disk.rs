//! What the disk alone does: sequential reads past the page cache, and durable writes of one block.
//!
//! Leaves out: random access, which the server never waits for.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::fs::{Advice, OFlags, fadvise};

use super::collector::run_histogram;

/// Bytes of one read.
const READ_BYTES: usize = 4 << 20;
/// What O_DIRECT wants buffers, places and lengths to be multiples of.
const ALIGNMENT: usize = 4096;

/// All files below a directory with their lengths, sorted by name.
pub fn files_below(directory: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else if kind.is_file() {
            files.push((entry.path(), entry.metadata()?.len()));
        }
    }
    files.sort();
    Ok(files)
}

/// Makes the kernel forget what it holds of these files, so that the next reader waits for the disk.
pub fn forget(files: &[(PathBuf, u64)]) -> io::Result<()> {
    for (path, _) in files {
        let file = File::open(path)?;
        // Only clean pages can be forgotten.
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// Reads files once from end to end with `threads` readers that share them block by block, past the page cache.
/// Answers bytes and seconds; an error where the file system cannot read that way.
pub fn sequential_read(files: &[(PathBuf, u64)], threads: usize) -> io::Result<(u64, f64)> {
    let direct = OFlags::DIRECT.bits() as i32;
    let mut blocks = Vec::new();
    for (path, bytes) in files {
        let file = OpenOptions::new().read(true).custom_flags(direct).open(path)?;
        let file = std::sync::Arc::new(file);
        blocks.extend(
            (0..*bytes)
                .step_by(READ_BYTES)
                .map(|offset| (file.clone(), offset)),
        );
    }
    let next = AtomicUsize::new(0); // hands out blocks; Relaxed: each number is taken once, nothing else is ordered
    let outcome = Mutex::new(Ok(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut buffer = vec![0; READ_BYTES + ALIGNMENT];
                let from = buffer.as_ptr().align_offset(ALIGNMENT);
                let buffer = &mut buffer[from..from + READ_BYTES];
                while let Some((file, offset)) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let read = file.read_at(buffer, *offset);
                    let mut outcome = outcome.lock().expect("no panic while held");
                    match (read, &mut *outcome) {
                        (Ok(bytes), Ok(total)) => *total += bytes as u64,
                        (Err(error), Ok(_)) => *outcome = Err(error),
                        (_, Err(_)) => return,
                    }
                }
            });
        }
    });
    let bytes = outcome.into_inner().expect("no panic while held")?;
    Ok((bytes, started.elapsed().as_secs_f64()))
}

/// Writes 4 KiB and syncs, again and again, into a file that was zeroed before: what a log does at best when it
/// flushes for every commit. Answers how long each took, in nanoseconds.
pub fn durable_writes(directory: &Path, duration: Duration) -> io::Result<Histogram<u64>> {
    const FILE_BYTES: u64 = 16 << 20;
    const BLOCK: [u8; 4096] = [0x5a; 4096];
    let path = directory.join("mote-bench-durable-writes");
    let measured = (|| {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)?;
        file.write_all_at(&vec![0; FILE_BYTES as usize], 0)?;
        file.sync_all()?;
        let (mut latencies, mut offset) = (run_histogram(), 0);
        let started = Instant::now();
        while started.elapsed() < duration {
            let begun = Instant::now();
            file.write_all_at(&BLOCK, offset)?;
            file.sync_data()?;
            latencies.saturating_record(begun.elapsed().as_nanos() as u64);
            offset = (offset + BLOCK.len() as u64) % FILE_BYTES;
        }
        Ok(latencies)
    })();
    // It may not even have been created; the measurement's own error says more.
    let _ = fs::remove_file(&path);
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_read_whole_and_forgotten() {
        let directory = std::env::temp_dir().join(format!("mote-bench-disk-{}", std::process::id()));
        fs::create_dir_all(directory.join("deeper")).expect("made");
        let content = vec![7; READ_BYTES + 12_345];
        fs::write(directory.join("deeper/b"), &content).expect("written");
        fs::write(directory.join("a"), b"small").expect("written");
        let files = files_below(&directory).expect("listed");
        let lengths: Vec<u64> = files.iter().map(|(_, bytes)| *bytes).collect();
        assert_eq!(lengths, [5, content.len() as u64]);
        forget(&files).expect("forgotten");
        match sequential_read(&files, 2) {
            Ok((bytes, seconds)) => assert!(bytes == content.len() as u64 + 5 && seconds > 0.0),
            // tmpfs of older kernels.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidInput),
        }
        let latencies = durable_writes(&directory, Duration::from_millis(50)).expect("written");
        assert!(!latencies.is_empty());
        assert!(!directory.join("mote-bench-durable-writes").exists());
        fs::remove_dir_all(&directory).expect("removed");
    }
}
