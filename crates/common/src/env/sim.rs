//! A disk and a clock that one seed decides, with the faults that real ones have.
//!
//! The disk keeps, for each file, what is on the medium and the writes since the last sync; for names, what is on the
//! medium and what the running process sees. `crash` gives the disk after a power failure: of the unsynced writes each
//! sector (or each 4 KiB) is there or not, on its own - so they are lost, torn and reordered - and of the unsynced name
//! changes a prefix. Faults are switched on by a [`FaultPlan`]: a failing sync or write, a full disk; `flip_bit` is rot.
//!
//! Promises: the same seed and the same calls give the same bytes. Leaves out: directories as objects (they all exist).

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::{Clock, Disk, Env, File};
use crate::prng::Prng;

/// What a medium writes as one: below this nothing tears.
pub const SECTOR_BYTES: usize = 512;

/// Faults to come. Chances are per call, in 1 of 1,000,000; zero never.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultPlan {
    pub sync_fails_ppm: u64,
    pub write_fails_ppm: u64,
    /// Total bytes of all files; writes that would make a file longer than this allows fail with `StorageFull`.
    pub capacity_bytes: Option<u64>,
}

/// A simulated disk; clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

/// A simulated clock: moves only when told to.
#[derive(Default)]
pub struct SimClock {
    now_ns: AtomicU64,
}

impl SimClock {
    pub fn advance_ns(&self, ns: u64) {
        // Relaxed: a number by itself; nothing else is published with it.
        self.now_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn monotonic_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    fn wall_us(&self) -> i64 {
        // 2026-01-01: any date will do, as long as it is always the same.
        1_767_225_600_000_000 + (self.monotonic_ns() / 1000) as i64
    }
}

/// An environment on `disk`, with its clock in hand.
pub fn env(disk: &SimDisk, seed: u64) -> (Env, Arc<SimClock>) {
    let clock = Arc::new(SimClock::default());
    (
        Env {
            disk: Arc::new(disk.clone()),
            clock: clock.clone(),
            seed,
        },
        clock,
    )
}

struct State {
    prng: Prng,
    faults: FaultPlan,
    /// Set by `crash`: whoever still holds this disk can do nothing with it.
    crashed: bool,
    next_file: u64,
    files: HashMap<u64, FileState>,
    /// Path to file, as the process sees it.
    names: BTreeMap<String, u64>,
    /// Path to file, on the medium.
    durable_names: BTreeMap<String, u64>,
    /// Changes of names since the parent directory's last sync, in order.
    name_changes: Vec<NameChange>,
    locks: Vec<String>,
    syncs: u64,
}

struct NameChange {
    path: String,
    file: Option<u64>,
}

#[derive(Default, Clone)]
struct FileState {
    /// As the process reads it.
    current: Vec<u8>,
    durable: Vec<u8>,
    /// Since the last sync.
    writes: Vec<Write>,
}

#[derive(Clone)]
enum Write {
    Data { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

impl SimDisk {
    pub fn new(seed: u64) -> SimDisk {
        SimDisk {
            state: Arc::new(Mutex::new(State {
                prng: Prng::new(seed),
                faults: FaultPlan::default(),
                crashed: false,
                next_file: 1,
                files: HashMap::new(),
                names: BTreeMap::new(),
                durable_names: BTreeMap::new(),
                name_changes: Vec::new(),
                locks: Vec::new(),
                syncs: 0,
            })),
        }
    }

    pub fn set_faults(&self, faults: FaultPlan) {
        self.state.lock().faults = faults;
    }

    /// Successful syncs of file data so far.
    pub fn syncs(&self) -> u64 {
        self.state.lock().syncs
    }

    /// Bytes of all files that have a name.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().used_bytes()
    }

    /// The power fails. This disk is dead from now on; the answer is what a machine finds when it starts again.
    pub fn crash(&self) -> SimDisk {
        let mut state = self.state.lock();
        state.crashed = true;
        let mut prng = Prng::new(state.prng.next_u64());
        let names = state.names_after_crash(&mut prng);
        let mut files = HashMap::new();
        for &id in names.values() {
            files.entry(id).or_insert_with(|| {
                let bytes = state.files[&id].after_crash(&mut prng);
                FileState {
                    current: bytes.clone(),
                    durable: bytes,
                    writes: Vec::new(),
                }
            });
        }
        SimDisk {
            state: Arc::new(Mutex::new(State {
                prng,
                faults: FaultPlan::default(),
                crashed: false,
                next_file: state.next_file,
                files,
                durable_names: names.clone(),
                names,
                name_changes: Vec::new(),
                locks: Vec::new(),
                syncs: 0,
            })),
        }
    }

    /// Another disk with the same contents, all of it on the medium: to try something without consequences.
    pub fn copy(&self) -> SimDisk {
        let mut state = self.state.lock();
        let prng = Prng::new(state.prng.next_u64());
        let files = state.names.values().map(|&id| {
            let bytes = state.files[&id].current.clone();
            let file = FileState {
                current: bytes.clone(),
                durable: bytes,
                writes: Vec::new(),
            };
            (id, file)
        });
        SimDisk {
            state: Arc::new(Mutex::new(State {
                prng,
                faults: FaultPlan::default(),
                crashed: false,
                next_file: state.next_file,
                files: files.collect(),
                durable_names: state.names.clone(),
                names: state.names.clone(),
                name_changes: Vec::new(),
                locks: Vec::new(),
                syncs: 0,
            })),
        }
    }

    /// The length of a file, by its path.
    pub fn file_bytes(&self, path: &str) -> Option<u64> {
        let state = self.state.lock();
        let id = state.names.get(path)?;
        Some(state.files[id].current.len() as u64)
    }

    /// Bit rot: flips one bit on the medium and in what is read. False: there is no such byte.
    pub fn flip_bit(&self, path: &str, offset: u64, bit: u8) -> bool {
        let mut state = self.state.lock();
        let Some(&id) = state.names.get(path) else {
            return false;
        };
        let file = state.files.get_mut(&id).expect("a named file exists");
        let offset = offset as usize;
        if let Some(byte) = file.durable.get_mut(offset) {
            *byte ^= 1 << (bit % 8);
        }
        file.current
            .get_mut(offset)
            .map(|byte| *byte ^= 1 << (bit % 8))
            .is_some()
    }

    /// All files with a name, for tests that look around.
    pub fn paths(&self) -> Vec<String> {
        self.state.lock().names.keys().cloned().collect()
    }
}

impl State {
    fn used_bytes(&self) -> u64 {
        self.names
            .values()
            .map(|id| self.files[id].current.len() as u64)
            .sum()
    }

    fn alive(&self) -> io::Result<()> {
        if self.crashed {
            Err(io::Error::other("this disk has lost power"))
        } else {
            Ok(())
        }
    }

    fn change_name(&mut self, path: &str, file: Option<u64>) {
        match file {
            Some(id) => self.names.insert(path.into(), id),
            None => self.names.remove(path),
        };
        self.name_changes.push(NameChange {
            path: path.into(),
            file,
        });
    }

    /// Unsynced changes of names reach the medium in their order, up to some point. A rename is one change: the new
    /// name is written before the old one goes, and a journal keeps them together.
    fn names_after_crash(&self, prng: &mut Prng) -> BTreeMap<String, u64> {
        let mut names = self.durable_names.clone();
        let survive = prng.below(self.name_changes.len() as u64 + 1) as usize;
        for change in &self.name_changes[..survive] {
            apply_change(&mut names, change);
        }
        // A file has one name here: a rename cut in half keeps the new one.
        if let Some(cut) = survive.checked_sub(1).map(|last| &self.name_changes[last])
            && let Some(id) = cut.file
        {
            names.retain(|path, other| *other != id || *path == cut.path);
        }
        names
    }
}

fn apply_change(names: &mut BTreeMap<String, u64>, change: &NameChange) {
    match change.file {
        Some(id) => names.insert(change.path.clone(), id),
        None => names.remove(&change.path),
    };
}

impl FileState {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        put(&mut self.current, offset, bytes);
        self.writes.push(Write::Data {
            offset,
            bytes: bytes.to_vec(),
        });
    }

    fn set_len(&mut self, length: usize) {
        self.current.resize(length, 0);
        self.writes.push(Write::Length(length));
    }

    fn sync(&mut self) {
        for write in std::mem::take(&mut self.writes) {
            match write {
                Write::Data { offset, bytes } => put(&mut self.durable, offset, &bytes),
                Write::Length(length) => self.durable.resize(length, 0),
            }
        }
    }

    /// Every sector of every unsynced write is there or not. Three moods: nothing, everything, a mixture.
    fn after_crash(&self, prng: &mut Prng) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        let chance = match prng.below(4) {
            0 => 0,
            1 => 100,
            _ => 1 + prng.below(99),
        };
        // Ext4 tears at blocks, disks at sectors.
        let unit = if prng.chance(1, 2) {
            SECTOR_BYTES
        } else {
            8 * SECTOR_BYTES
        };
        for write in &self.writes {
            match write {
                Write::Length(length) if prng.chance(chance, 100) => bytes.resize(*length, 0),
                Write::Length(_) => {}
                Write::Data { offset, bytes: data } => {
                    let (mut at, end) = (*offset, offset + data.len());
                    while at < end {
                        let next = (at / unit + 1).saturating_mul(unit).min(end);
                        if prng.chance(chance, 100) {
                            put(&mut bytes, at, &data[at - offset..next - offset]);
                        }
                        at = next;
                    }
                }
            }
        }
        bytes
    }
}

fn put(target: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if target.len() < offset + bytes.len() {
        target.resize(offset + bytes.len(), 0);
    }
    target[offset..offset + bytes.len()].copy_from_slice(bytes);
}

struct SimFile {
    state: Arc<Mutex<State>>,
    id: u64,
}

impl SimFile {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state.lock();
        state.alive()?;
        act(&mut state)
    }
}

impl File for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|state| {
            let bytes = &state.files[&self.id].current;
            let from = (offset as usize).min(bytes.len());
            let length = buffer.len().min(bytes.len() - from);
            buffer[..length].copy_from_slice(&bytes[from..from + length]);
            Ok(length)
        })
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.with(|state| {
            let chance = state.faults.write_fails_ppm;
            if chance > 0 && state.prng.chance(chance, 1_000_000) {
                return Err(io::Error::other("simulated write error"));
            }
            let growth =
                (offset + data.len() as u64).saturating_sub(state.files[&self.id].current.len() as u64);
            if growth > 0
                && state
                    .faults
                    .capacity_bytes
                    .is_some_and(|most| state.used_bytes() + growth > most)
            {
                return Err(io::Error::new(io::ErrorKind::StorageFull, "simulated full disk"));
            }
            state
                .files
                .get_mut(&self.id)
                .expect("an open file exists")
                .write(offset as usize, data);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|state| {
            let chance = state.faults.sync_fails_ppm;
            if chance > 0 && state.prng.chance(chance, 1_000_000) {
                return Err(io::Error::other("simulated sync error"));
            }
            state.syncs += 1;
            state.files.get_mut(&self.id).expect("an open file exists").sync();
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|state| Ok(state.files[&self.id].current.len() as u64))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|state| {
            state
                .files
                .get_mut(&self.id)
                .expect("an open file exists")
                .set_len(len as usize);
            Ok(())
        })
    }
}

/// Gives the lock back when dropped.
struct SimLock {
    state: Arc<Mutex<State>>,
    path: String,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.state.lock().locks.retain(|path| *path != self.path);
    }
}

fn not_found(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{path}: no such file"))
}

impl SimDisk {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state.lock();
        state.alive()?;
        act(&mut state)
    }

    fn file(&self, id: u64) -> Arc<dyn File> {
        Arc::new(SimFile {
            state: self.state.clone(),
            id,
        })
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let id = self.with(|state| state.names.get(path).copied().ok_or_else(|| not_found(path)))?;
        Ok(self.file(id))
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn File>> {
        let id = self.with(|state| {
            if state.names.contains_key(path) {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    format!("{path}: exists already"),
                ));
            }
            let id = state.next_file;
            state.next_file += 1;
            state.files.insert(id, FileState::default());
            state.change_name(path, Some(id));
            Ok(id)
        })?;
        Ok(self.file(id))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.with(|state| Ok(state.names.contains_key(path)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.with(|state| {
            let id = state.names.get(from).copied().ok_or_else(|| not_found(from))?;
            state.change_name(to, Some(id));
            state.change_name(from, None);
            Ok(())
        })
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.with(|state| {
            if !state.names.contains_key(path) {
                return Err(not_found(path));
            }
            state.change_name(path, None);
            Ok(())
        })
    }

    fn create_dir_all(&self, _path: &str) -> io::Result<()> {
        self.with(|_| Ok(()))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let prefix = if dir.is_empty() || dir == "." {
            String::new()
        } else {
            format!("{dir}/")
        };
        self.with(|state| {
            let names = state.names.keys().filter_map(|path| path.strip_prefix(&prefix));
            Ok(names
                .filter(|name| !name.contains('/'))
                .map(String::from)
                .collect())
        })
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        let inside = |path: &str| match path.rsplit_once('/') {
            Some((parent, _)) => parent == dir,
            None => dir.is_empty() || dir == ".",
        };
        self.with(|state| {
            let changes = std::mem::take(&mut state.name_changes);
            for change in changes {
                if inside(&change.path) {
                    apply_change(&mut state.durable_names, &change);
                } else {
                    state.name_changes.push(change);
                }
            }
            Ok(())
        })
    }

    fn lock_exclusive(&self, path: &str) -> io::Result<Box<dyn Send + Sync>> {
        self.with(|state| {
            if state.locks.iter().any(|held| held == path) {
                return Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    format!("{path}: locked by another"),
                ));
            }
            state.locks.push(path.into());
            Ok(())
        })?;
        Ok(Box::new(SimLock {
            state: self.state.clone(),
            path: path.into(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(disk: &SimDisk, path: &str) -> io::Result<Vec<u8>> {
        let file = disk.open(path)?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    #[test]
    fn what_was_synced_survives_and_what_was_not_may_tear() {
        let (mut lost, mut kept, mut torn) = (0, 0, 0);
        for seed in 0..200 {
            let disk = SimDisk::new(seed);
            let file = disk.create("a").expect("created");
            file.write_all_at(&[1; 4096], 0).expect("written");
            file.sync_data().expect("synced");
            disk.sync_dir("").expect("synced");
            file.write_all_at(&[2; 4096], 0).expect("written");
            let bytes = read(&disk.crash(), "a").expect("the name was synced");
            assert!(
                bytes.iter().all(|&b| b == 1 || b == 2) && bytes.len() == 4096,
                "seed {seed}"
            );
            assert!(
                bytes
                    .chunks(SECTOR_BYTES)
                    .all(|sector| sector.iter().all(|b| *b == sector[0])),
                "seed {seed}"
            );
            match bytes.iter().filter(|b| **b == 2).count() {
                0 => lost += 1,
                4096 => kept += 1,
                _ => torn += 1,
            }
            assert!(file.sync_data().is_err(), "a crashed disk answers nobody");
        }
        assert!(lost > 20 && kept > 20 && torn > 20, "{lost} {kept} {torn}");
    }

    #[test]
    fn names_survive_a_crash_only_for_certain_when_the_directory_was_synced() {
        let mut outcomes = [0; 3];
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            let old = disk.create("d/new").expect("created");
            old.write_all_at(b"old", 0).expect("written");
            old.sync_data().expect("synced");
            disk.rename("d/new", "d/live").expect("renamed");
            disk.sync_dir("d").expect("synced");
            let new = disk.create("d/new").expect("created");
            new.write_all_at(b"new", 0).expect("written");
            new.sync_data().expect("synced");
            disk.rename("d/new", "d/live").expect("renamed");
            let after = disk.crash();
            match read(&after, "d/live")
                .expect("a rename never loses the target")
                .as_slice()
            {
                b"old" => outcomes[after.exists("d/new").expect("alive") as usize] += 1,
                b"new" => outcomes[2] += 1,
                other => panic!("seed {seed}: {other:?}"),
            }
        }
        assert!(outcomes.iter().all(|&n| n > 5), "{outcomes:?}");
    }

    #[test]
    fn a_full_disk_says_so_and_recovers() {
        let disk = SimDisk::new(1);
        disk.set_faults(FaultPlan {
            capacity_bytes: Some(100),
            ..FaultPlan::default()
        });
        let file = disk.create("a").expect("created");
        file.write_all_at(&[0; 100], 0).expect("fits");
        let error = file.write_all_at(&[0; 1], 100).expect_err("does not fit");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        disk.remove("a").expect("removed");
        disk.create("b")
            .expect("created")
            .write_all_at(&[0; 100], 0)
            .expect("there is room again");
    }
}
