//! A disk whose changes stay in memory: a database can be opened over it, recovered and asked, and nothing on the disk
//! below changes.
//!
//! Files are kept in blocks; a block is copied when it is first written, and zeros behind the file's old end take no
//! memory. Leaves out: the directory's lock, which is the caller's to take on the disk below.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Disk, File};

const BLOCK_BYTES: usize = 4096;

/// See the module's head.
pub struct OverlayDisk {
    base: Arc<dyn Disk>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Opened or made here.
    files: BTreeMap<String, Arc<OverlayFile>>,
    /// Names of the base that are gone.
    hidden: BTreeSet<String>,
}

impl OverlayDisk {
    /// `base` is only read.
    pub fn new(base: Arc<dyn Disk>) -> OverlayDisk {
        OverlayDisk {
            base,
            state: Mutex::default(),
        }
    }

    fn find(&self, state: &mut State, path: &str) -> io::Result<Arc<OverlayFile>> {
        if let Some(file) = state.files.get(path) {
            return Ok(file.clone());
        }
        if state.hidden.contains(path) {
            return Err(not_found(path));
        }
        let base = self.base.open_to_read(path)?;
        let length = base.len()?;
        let file = Arc::new(OverlayFile {
            base: Some(base),
            content: Mutex::new(Content {
                blocks: HashMap::new(),
                length,
                base_length: length,
            }),
        });
        state.files.insert(path.into(), file.clone());
        Ok(file)
    }

    fn is_there(&self, state: &State, path: &str) -> io::Result<bool> {
        Ok(state.files.contains_key(path) || !state.hidden.contains(path) && self.base.exists(path)?)
    }
}

fn not_found(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no file {path}"))
}

impl Disk for OverlayDisk {
    fn open(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let file = self.find(&mut self.state.lock(), path)?;
        Ok(file)
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let mut state = self.state.lock();
        if self.is_there(&state, path)? {
            let what = format!("file {path} is there already");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
        }
        let file = Arc::new(OverlayFile {
            base: None,
            content: Mutex::default(),
        });
        state.files.insert(path.into(), file.clone());
        Ok(file)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.is_there(&self.state.lock(), path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        let file = self.find(&mut state, from)?;
        state.files.remove(from);
        state.hidden.insert(from.into());
        state.files.insert(to.into(), file);
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if !self.is_there(&state, path)? {
            return Err(not_found(path));
        }
        state.files.remove(path);
        state.hidden.insert(path.into());
        Ok(())
    }

    fn create_dir_all(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let state = self.state.lock();
        let prefix = if dir.is_empty() {
            String::new()
        } else {
            format!("{dir}/")
        };
        let mut names: BTreeSet<String> = match self.base.list(dir) {
            Ok(names) => names
                .into_iter()
                .filter(|name| !state.hidden.contains(&format!("{prefix}{name}")))
                .collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        let own = state.files.keys().filter_map(|path| path.strip_prefix(&prefix));
        names.extend(own.filter(|name| !name.contains('/')).map(str::to_string));
        Ok(names.into_iter().collect())
    }

    fn sync_dir(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn lock_exclusive(&self, _: &str) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }
}

struct OverlayFile {
    base: Option<Arc<dyn File>>,
    content: Mutex<Content>,
}

#[derive(Default)]
struct Content {
    /// Blocks that were written, by number.
    blocks: HashMap<u64, Box<[u8]>>,
    length: u64,
    /// Up to here the base counts where no block does.
    base_length: u64,
}

impl OverlayFile {
    /// A block as it is now, whole.
    fn block(&self, content: &Content, number: u64) -> io::Result<Box<[u8]>> {
        if let Some(block) = content.blocks.get(&number) {
            return Ok(block.clone());
        }
        let mut block = vec![0; BLOCK_BYTES].into_boxed_slice();
        let start = number * BLOCK_BYTES as u64;
        if let Some(base) = &self.base
            && start < content.base_length
        {
            let there = (content.base_length - start).min(BLOCK_BYTES as u64) as usize;
            base.read_at(&mut block[..there], start)?;
        }
        Ok(block)
    }
}

impl File for OverlayFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = self.content.lock();
        let wanted = (content.length.saturating_sub(offset)).min(buffer.len() as u64) as usize;
        if let (true, Some(base)) = (content.blocks.is_empty(), &self.base)
            && offset + wanted as u64 <= content.base_length
        {
            return base.read_at(&mut buffer[..wanted], offset);
        }
        let mut done = 0;
        while done < wanted {
            let at = offset + done as u64;
            let (number, within) = (at / BLOCK_BYTES as u64, (at % BLOCK_BYTES as u64) as usize);
            let part = (BLOCK_BYTES - within).min(wanted - done);
            let block = self.block(&content, number)?;
            buffer[done..done + part].copy_from_slice(&block[within..within + part]);
            done += part;
        }
        Ok(done)
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let mut content = self.content.lock();
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let (number, within) = (at / BLOCK_BYTES as u64, (at % BLOCK_BYTES as u64) as usize);
            let part = (BLOCK_BYTES - within).min(data.len() - done);
            let piece = &data[done..done + part];
            let nothing_there =
                number * BLOCK_BYTES as u64 >= content.base_length && !content.blocks.contains_key(&number);
            if !nothing_there || piece.iter().any(|&byte| byte != 0) {
                let mut block = self.block(&content, number)?;
                block[within..within + part].copy_from_slice(piece);
                content.blocks.insert(number, block);
            }
            done += part;
        }
        content.length = content.length.max(offset + data.len() as u64);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().length)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut content = self.content.lock();
        if len < content.length {
            let (last, within) = (len / BLOCK_BYTES as u64, (len % BLOCK_BYTES as u64) as usize);
            if within > 0 {
                let mut block = self.block(&content, last)?;
                block[within..].fill(0);
                content.blocks.insert(last, block);
            }
            content
                .blocks
                .retain(|&number, _| number * (BLOCK_BYTES as u64) < len);
            content.base_length = content.base_length.min(len);
        }
        content.length = len;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sim::SimDisk;
    use crate::prng::Prng;

    const PATHS: [&str; 4] = ["a", "b", "dir/c", "dir/d"];

    fn content_of(disk: &dyn Disk) -> Vec<(String, Option<Vec<u8>>)> {
        let read = |path: &str| {
            let file = disk.open(path).ok()?;
            let mut bytes = vec![0; file.len().ok()? as usize];
            let read = file.read_at(&mut bytes, 0).ok()?;
            bytes.truncate(read);
            Some(bytes)
        };
        PATHS.iter().map(|path| (path.to_string(), read(path))).collect()
    }

    /// Random calls on an overlay and on a plain disk: both answer the same, and the base stays as it is.
    #[test]
    fn an_overlay_is_a_disk_and_its_base_is_untouched() {
        for seed in 0..60 {
            let mut prng = Prng::new(seed);
            let (base, plain) = (SimDisk::new(seed), SimDisk::new(seed));
            for disk in [&base, &plain] {
                let file = disk.create("a").expect("a new file");
                file.write_all_at(&[7; 10_000], 0).expect("written");
            }
            let before = content_of(&base);
            let overlay = OverlayDisk::new(Arc::new(base.clone()));
            for step in 0..80 {
                let path = PATHS[prng.below(4) as usize];
                let other = PATHS[prng.below(4) as usize];
                let (at, length) = (prng.below(20_000), prng.below(9_000));
                let fill = prng.below(2) as u8;
                let act = prng.below(6);
                let results = [&plain as &dyn Disk, &overlay].map(|disk| match act {
                    0 => disk.create(path).is_ok(),
                    1 if path != other => disk.rename(path, other).is_ok(),
                    2 => disk.remove(path).is_ok(),
                    3 => disk.open(path).and_then(|file| file.set_len(at)).is_ok(),
                    _ => disk
                        .open(path)
                        .and_then(|file| file.write_all_at(&vec![fill; length as usize], at))
                        .is_ok(),
                });
                assert_eq!(results[0], results[1], "seed {seed}, step {step}");
                assert_eq!(
                    content_of(&plain),
                    content_of(&overlay),
                    "seed {seed}, step {step}"
                );
                for dir in ["", "dir"] {
                    let listed = overlay.list(dir).expect("listed");
                    assert_eq!(
                        plain.list(dir).expect("listed"),
                        listed,
                        "seed {seed}, step {step}"
                    );
                }
            }
            assert_eq!(content_of(&base), before, "seed {seed}");
        }
    }
}
