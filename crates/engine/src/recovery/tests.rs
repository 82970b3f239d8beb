//! Random lives of the toy engine on a simulated disk: work, flush, checkpoint, crash, recover, compare.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mote_common::env::sim::{FaultPlan, SimDisk, env};
use mote_common::prng::Prng;
use mote_common::{Lsn, RowId, TableId};

use super::toy::*;
use super::*;
use mote_log::{FrameKind, SequenceState};

/// What the outside knows across crashes.
pub(super) struct World {
    seed: u64,
    prng: Prng,
    pub(super) life: Life,
    pub(super) disk: SimDisk,
    open: Vec<(ToyTransaction, Vec<(mote_log::Mark, usize)>)>,
    prepared: BTreeMap<Vec<u8>, ToyTransaction>,
    /// Rows of prepared transactions that a crash took out of our hands: nobody may touch them.
    frozen: BTreeMap<Vec<u8>, BTreeSet<(TableId, RowId)>>,
    next_gid: u32,
    next_table: u32,
    sequence: SequenceState,
}

const SEQUENCE: u32 = 3;

impl World {
    pub(super) fn new(seed: u64) -> World {
        let disk = SimDisk::new(seed);
        let (world, _) = env(&disk, seed);
        let life = Life::begin(&world, 1, Arc::new(|_| {})).expect("a new database starts");
        World {
            seed,
            prng: Prng::new(seed),
            life,
            disk,
            open: Vec::new(),
            prepared: BTreeMap::new(),
            frozen: BTreeMap::new(),
            next_gid: 0,
            next_table: 2,
            sequence: SequenceState {
                id: SEQUENCE,
                logged_value: 0,
                is_called: false,
            },
        }
    }

    fn locked(&self) -> BTreeSet<(TableId, RowId)> {
        let open = self.open.iter().map(|(transaction, _)| transaction);
        let mut rows: BTreeSet<_> = open
            .chain(self.prepared.values())
            .flat_map(|t| t.rows())
            .collect();
        rows.extend(self.frozen.values().flatten());
        rows
    }

    /// One random action. Returns false when the log has stopped.
    pub(super) fn act(&mut self) -> bool {
        match self.prng.below(100) {
            0..50 => self.write(),
            50..54 => self.savepoint(),
            54..68 => return self.end(),
            68..71 => return self.prepare(),
            71..73 => return self.decide(),
            73..75 => return self.next_value(),
            75..77 => return self.create_or_drop_table(),
            77..87 => _ = self.life.log.flush_step(),
            87..90 => _ = self.life.log.prepare_step(),
            90..91 => _ = self.life.log.seal_step(),
            91 if self.prng.chance(1, 4) => _ = self.life.checkpointer.run(),
            _ => _ = self.life.checkpointer.step(),
        }
        !self.life.log.is_stopped()
    }

    fn write(&mut self) {
        if self.open.len() < 3 && (self.open.is_empty() || self.prng.chance(1, 5)) {
            self.open.push((ToyTransaction::default(), Vec::new()));
        }
        let which = self.prng.below(self.open.len() as u64) as usize;
        let tables: Vec<_> = self
            .life
            .toy
            .table_ids()
            .into_iter()
            .filter(|id| *id != CATALOG_TABLE)
            .collect();
        if tables.is_empty() {
            return;
        }
        let table = tables[self.prng.below(tables.len() as u64) as usize];
        let row = RowId::new(self.prng.below(3) as u32, self.prng.below(15) as u16);
        if self.locked().contains(&(table, row)) && !self.open[which].0.rows().contains(&(table, row)) {
            return;
        }
        let length = if self.prng.chance(1, 25) {
            50_000
        } else {
            self.prng.below(120)
        };
        let new = self.prng.chance(4, 5).then(|| {
            let fill = self.prng.below(4) as u8;
            let mut bytes = vec![fill; length as usize];
            if let Some(byte) = bytes.last_mut() {
                *byte = self.prng.next_u64() as u8;
            }
            bytes
        });
        self.open[which].0.set(&self.life.toy, table, row, new);
        self.life.send_fragments(&mut self.open[which].0);
    }

    fn savepoint(&mut self) {
        let Some((transaction, marks)) = self.open.last_mut() else {
            return;
        };
        if self.prng.chance(1, 2) || marks.is_empty() {
            marks.push(transaction.savepoint());
        } else {
            let keep = self.prng.below(marks.len() as u64) as usize;
            transaction.rollback_to(marks[keep]);
            marks.truncate(keep);
        }
    }

    fn end(&mut self) -> bool {
        if self.open.is_empty() {
            return true;
        }
        let which = self.prng.below(self.open.len() as u64) as usize;
        let (transaction, _) = self.open.swap_remove(which);
        if self.prng.chance(1, 6) {
            self.life.abort(transaction);
            return true;
        }
        self.life.commit(transaction).is_some()
    }

    fn prepare(&mut self) -> bool {
        let Some((mut transaction, _)) = self.open.pop() else {
            return true;
        };
        let gid = self.next_gid.to_le_bytes().to_vec();
        self.next_gid += 1;
        let done = self.life.prepare(&mut transaction, &gid);
        self.prepared.insert(gid, transaction);
        done
    }

    fn decide(&mut self) -> bool {
        let Some((gid, transaction)) = self.prepared.pop_first() else {
            return true;
        };
        let commit = self.prng.chance(2, 3);
        self.life.decide(transaction, &gid, commit).is_some()
    }

    fn next_value(&mut self) -> bool {
        self.sequence.logged_value += 32;
        self.life.toy.set_sequence(self.sequence);
        self.life
            .append(FrameKind::Sequence, &self.sequence.encode())
            .is_some()
    }

    fn create_or_drop_table(&mut self) -> bool {
        let locked = self.locked();
        let free = |id: &TableId| *id != CATALOG_TABLE && locked.iter().all(|(table, _)| table != id);
        let droppable: Vec<_> = self.life.toy.table_ids().into_iter().filter(free).collect();
        let mut transaction = ToyTransaction::default();
        if droppable.len() > 2 && self.prng.chance(1, 2) {
            let victim = droppable[self.prng.below(droppable.len() as u64) as usize];
            transaction.set(&self.life.toy, CATALOG_TABLE, RowId(victim.0 as u64), None);
        } else {
            transaction.set(
                &self.life.toy,
                CATALOG_TABLE,
                RowId(self.next_table as u64),
                Some(vec![1]),
            );
            self.next_table += 1;
        }
        self.life.commit(transaction).is_some()
    }

    /// The power fails; the next life must know everything stable, and nothing that was not committed.
    pub(super) fn crash_and_compare(&mut self, threads: usize) {
        let seed = self.seed;
        let stable = self.life.log.stable();
        let sequence_logged = self.sequence;
        self.disk = self.disk.crash();
        let (world, _) = env(&self.disk, seed);
        let next = Life::begin(&world, threads, Arc::new(|_| {}))
            .unwrap_or_else(|error| panic!("seed {seed}: recovery failed: {error}"));
        let end = next.recovered.end;
        assert!(
            end >= stable,
            "seed {seed}: the log ends at {end}, stable was {stable}"
        );
        let mut expected = self.life.toy.contents(end);
        // A table dropped in the lost tail is back; the toy has forgotten its rows, so compare without them.
        let known: BTreeSet<_> = self.life.toy.table_ids().into_iter().collect();
        let mut found = next.toy.contents(Lsn::MAX);
        let listed = |contents: &Contents| {
            contents
                .keys()
                .filter(|key| key.0 == CATALOG_TABLE)
                .map(|key| TableId(key.1.0 as u32))
                .collect()
        };
        let tables: BTreeSet<TableId> = listed(&found);
        found.retain(|(table, _), _| known.contains(table));
        expected.retain(|(table, _), _| *table == CATALOG_TABLE || tables.contains(table));
        assert!(
            found == expected,
            "seed {seed}: contents differ at {end}: {}",
            difference(&found, &expected)
        );
        self.compare_prepared(&next, stable);
        self.sequence = next.toy.sequence(SEQUENCE).unwrap_or(SequenceState {
            logged_value: 0,
            ..sequence_logged
        });
        self.open.clear();
        self.life = next;
    }

    fn compare_prepared(&mut self, next: &Life, _stable: Lsn) {
        let restored: BTreeMap<_, _> = next
            .toy
            .prepared()
            .into_iter()
            .map(|p| (p.gid.clone(), p))
            .collect();
        for (gid, prepared) in &restored {
            assert_eq!(prepared.state, b"locks", "seed {}", self.seed);
            if let Some(transaction) = self.prepared.get(gid) {
                assert!(
                    transaction.rows().is_subset(&rows_of(prepared)),
                    "seed {}",
                    self.seed
                );
            }
        }
        self.prepared.clear();
        self.frozen = restored
            .iter()
            .map(|(gid, prepared)| (gid.clone(), rows_of(prepared)))
            .collect();
    }
}

fn difference(found: &Contents, expected: &Contents) -> String {
    let keys: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
    let wrong = keys.into_iter().filter(|key| found.get(key) != expected.get(key));
    let describe = |key: &(TableId, RowId)| {
        format!(
            "{key:?}: found {:?} expected {:?}",
            found.get(key).map(Vec::len),
            expected.get(key).map(Vec::len)
        )
    };
    wrong.take(5).map(describe).collect::<Vec<_>>().join("; ")
}

fn live_and_crash(seed: u64, lives: u32, actions: u64, threads: usize) -> u64 {
    let mut world = World::new(seed);
    let mut rounds = 0;
    for _ in 0..lives {
        if world.prng.chance(1, 3) {
            world.disk.set_faults(FaultPlan {
                sync_fails_ppm: 5_000,
                ..FaultPlan::default()
            });
        }
        for _ in 0..world.prng.below(actions) {
            if !world.act() {
                break;
            }
        }
        rounds += world.life.checkpointer.report().rounds;
        world.crash_and_compare(threads);
    }
    rounds
}

#[test]
fn every_stable_commit_survives_any_crash() {
    let rounds: u64 = (0..60).map(|seed| live_and_crash(seed, 5, 400, 1)).sum();
    assert!(rounds > 100, "only {rounds} checkpoint rounds were finished");
}

#[test]
fn parallel_replay_gives_the_same() {
    for seed in 1_000..1_010 {
        live_and_crash(seed, 3, 600, 3);
    }
}

#[test]
fn long_lives_recycle_their_log() {
    let mut world = World::new(77);
    for _ in 0..6_000 {
        assert!(world.act());
    }
    let report = world.life.checkpointer.report();
    assert!(report.log_start.0 > 4 * SEGMENT_BYTES, "{report:?}");
    world.crash_and_compare(2);
}

/// Damaged directories: an error that names a file, never a panic, never a silent loss of stable commits.
#[test]
fn rot_anywhere_is_an_error_or_harmless() {
    let mut refused = 0;
    for seed in 0..60u64 {
        let mut world = World::new(seed);
        for _ in 0..300 {
            assert!(world.act());
        }
        world.life.log.flush_and_seal();
        let stable = world.life.log.stable();
        let expected = world.life.toy.contents(stable);
        let prepared = world.prepared.len();
        let disk = world.disk.crash();
        let mut prng = Prng::new(seed);
        let paths = disk.paths();
        let path = &paths[prng.below(paths.len() as u64) as usize];
        let length = mote_common::env::Disk::open(&disk, path)
            .expect("there")
            .len()
            .expect("alive");
        disk.flip_bit(path, prng.below(length.clamp(1, 100_000)), prng.next_u64() as u8);
        let (damaged, _) = env(&disk, seed);
        match Life::begin(&damaged, 1, Arc::new(|_| {})) {
            Err(error) => {
                refused += 1;
                let text = error.to_string();
                assert!(text.contains("file"), "seed {seed}: {text}");
            }
            Ok(life) => {
                assert!(
                    life.toy.contents(stable) == expected,
                    "seed {seed}: rot in {path} lost data silently"
                );
                assert_eq!(life.toy.prepared().len(), prepared, "seed {seed}");
            }
        }
    }
    assert!(refused > 10, "{refused} directories were refused");
}

#[test]
fn a_directory_without_manifest_or_of_another_format_is_refused() {
    let disk = SimDisk::new(1);
    let (world, _) = env(&disk, 1);
    drop(Life::begin(&world, 1, Arc::new(|_| {})).expect("a new database starts"));
    mote_common::env::Disk::rename(&disk, "MANIFEST", "elsewhere").expect("renamed");
    let error = Life::begin(&world, 1, Arc::new(|_| {})).err().expect("refused");
    assert!(matches!(error, RecoveryError::ManifestMissing), "{error}");
    mote_common::env::Disk::rename(&disk, "elsewhere", "MANIFEST").expect("renamed");
    disk.flip_bit("MANIFEST", 8, 2);
    let error = Life::begin(&world, 1, Arc::new(|_| {})).err().expect("refused");
    assert!(
        error.to_string().contains("this release reads format 1"),
        "{error}"
    );
}

#[test]
fn a_missing_segment_is_noticed() {
    let mut world = World::new(5);
    for _ in 0..1_500 {
        assert!(world.act());
    }
    world.life.log.flush_and_seal();
    let disk = world.disk.crash();
    let (after, _) = env(&disk, 5);
    let start = manifest_of(&after).log_start.0 / SEGMENT_BYTES * SEGMENT_BYTES;
    mote_common::env::Disk::remove(&disk, &mote_log::segment::segment_path(start)).expect("there was one");
    let error = Life::begin(&after, 1, Arc::new(|_| {})).err().expect("refused");
    assert!(
        matches!(error, RecoveryError::Log(_) | RecoveryError::LogTooShort { .. }),
        "{error}"
    );
}
