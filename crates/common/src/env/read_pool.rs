//! Files that are read, of which only so many are open at a time: a recovery reads hundreds.
//!
//! A file is opened when it is read, and closed when others are read and it was not for the longest time. Leaves out
//! writing: an error of a write is told to the descriptor it was made through, so those stay open.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{File, descriptors};

/// Files open at a time; each may take two descriptors, one of them past the cache.
const OPEN_MAX: usize = 16;

type Open = Box<dyn Fn() -> io::Result<Arc<dyn File>> + Send + Sync>;

/// The files that are open, least recently used first.
pub(super) struct ReadPool {
    open: Mutex<State>,
}

struct State {
    next_number: u64,
    files: VecDeque<(u64, Arc<dyn File>)>,
}

/// A file that may be closed now and open again later.
struct PooledFile {
    pool: Arc<ReadPool>,
    number: u64,
    open: Open,
}

impl ReadPool {
    pub fn new() -> Arc<ReadPool> {
        let state = State {
            next_number: 0,
            files: VecDeque::new(),
        };
        Arc::new(ReadPool {
            open: Mutex::new(state),
        })
    }

    /// Opens a file by `open`, which is called again whenever it was closed meanwhile.
    pub fn open(self: &Arc<ReadPool>, open: Open) -> io::Result<Arc<dyn File>> {
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number += 1;
        drop(state);
        let pool = self.clone();
        let file = PooledFile { pool, number, open };
        file.file()?;
        Ok(Arc::new(file))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change of the list is one call: a panic leaves it whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledFile {
    /// The open file. Who reads from it keeps it open, whatever the pool does meanwhile.
    fn file(&self) -> io::Result<Arc<dyn File>> {
        let mut state = self.pool.lock();
        if let Some(at) = state.files.iter().position(|(number, _)| *number == self.number) {
            let found = state.files.remove(at).expect("a place that was just found");
            let file = found.1.clone();
            state.files.push_back(found);
            return Ok(file);
        }
        drop(state);
        let file = match (self.open)() {
            Err(error) if descriptors::are_exhausted(&error) => {
                self.pool.lock().files.clear();
                (self.open)()?
            }
            opened => opened?,
        };
        let mut state = self.pool.lock();
        // Two threads may have opened it: the second one's goes when it has read.
        if state.files.iter().all(|(number, _)| *number != self.number) {
            state.files.push_back((self.number, file.clone()));
        }
        let closed = (state.files.len() > OPEN_MAX).then(|| state.files.pop_front());
        drop(state);
        drop(closed);
        Ok(file)
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        self.pool
            .lock()
            .files
            .retain(|(number, _)| *number != self.number);
    }
}

impl File for PooledFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file()?.read_at(buffer, offset)
    }

    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(reading_only())
    }

    fn sync_data(&self) -> io::Result<()> {
        Err(reading_only())
    }

    fn len(&self) -> io::Result<u64> {
        self.file()?.len()
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(reading_only())
    }

    fn will_read(&self, offset: u64, bytes: u64) {
        // A hint: where the file cannot be opened, the read will tell.
        if let Ok(file) = self.file() {
            file.will_read(offset, bytes);
        }
    }
}

fn reading_only() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "the file was opened for reading only",
    )
}

#[cfg(test)]
mod tests {
    use super::super::real;
    use super::*;
    use std::path::Path;

    fn open_files_below(directory: &Path) -> usize {
        let entries = std::fs::read_dir("/proc/self/fd").expect("Linux tells");
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.starts_with(directory)).count()
    }

    /// Many threads read many files: all bytes are right, and few are open.
    #[test]
    fn many_files_take_few_descriptors() {
        const FILES: usize = 5 * OPEN_MAX;
        let directory = std::env::temp_dir().join(format!("mote-pool-{:016x}", real::entropy_u64()));
        std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
        let disk = real::disk(&directory);
        let name = |number: usize| format!("file{number}");
        for number in 0..FILES {
            std::fs::write(directory.join(name(number)), number.to_le_bytes()).expect("written");
        }
        let files: Vec<_> = (0..FILES)
            .map(|number| disk.open_to_read(&name(number)).expect("it is there"))
            .collect();
        assert!(open_files_below(&directory) <= 2 * OPEN_MAX);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let files = &files;
                scope.spawn(move || {
                    for round in 0..10 * FILES {
                        let number = (round * (2 * thread + 1) + thread) % FILES;
                        let mut bytes = [0; size_of::<usize>()];
                        let read = files[number].read_at(&mut bytes, 0).expect("readable");
                        assert_eq!((read, usize::from_le_bytes(bytes)), (bytes.len(), number));
                    }
                });
            }
        });
        assert!(open_files_below(&directory) <= 2 * OPEN_MAX);
        assert!(files[0].write_all_at(&[0], 0).is_err() && disk.open_to_read("missing").is_err());
        drop(files);
        assert_eq!(open_files_below(&directory), 0);
        std::fs::remove_dir_all(&directory).expect("removable");
    }
}
