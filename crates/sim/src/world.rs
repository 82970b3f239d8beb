//! The loop of one seed: lives of an engine, each ended by a crash, each begun by a recovery that is checked.

use std::sync::Arc;

use mote_common::env::Env;
use mote_common::env::sim::{FaultPlan, SimDisk, env};
use mote_common::prng::Prng;
use mote_common::{Lsn, TableId};
use mote_engine::checkpoint::{CheckpointConfig, Manifest};
use mote_engine::{
    Engine, EngineConfig, FinishError, Isolation, LogUnavailable, OpenError, SequenceError, SequenceId,
};
use mote_log::LogConfig;
use mote_log::reader::{LogFiles, LogReader};

use crate::check;
use crate::model::Model;
use crate::prepared::{Prepared, Undecided};
use crate::schema;
use crate::session::{Session, Step};

mod tables;
use tables::create_table;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Crashes and recoveries.
    pub lives: u32,
    /// At most so many steps between two of them.
    pub steps: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { lives: 3, steps: 600 }
    }
}

/// What happened, so that a run that did nothing is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub commits: u64,
    pub waits: u64,
    pub crashes: u64,
    pub checkpoints: u64,
    /// Commits that the crash took: they were not stable.
    pub lost_commits: u64,
    /// Transactions prepared.
    pub prepared: u64,
    /// Of them, those that made or dropped tables.
    pub prepared_tables: u64,
    /// Transactions found prepared after a crash.
    pub restored: u64,
    /// Lives that ended by a failed write or sync.
    pub failed_disks: u64,
    /// SERIALIZABLE transactions that could not commit.
    pub refused: u64,
    /// Transactions for which the log was not kept any longer.
    pub given_up: u64,
    /// Recoveries that a failing disk ended, and that were begun again.
    pub failed_recoveries: u64,
    /// Flipped bits: those that made the engine refuse to start, and those in bytes that nobody needs.
    pub rot_refused: u64,
    pub rot_harmless: u64,
    /// Times in which the disk did nothing.
    pub stalls: u64,
}

impl Report {
    pub fn add(&mut self, other: &Report) {
        self.commits += other.commits;
        self.waits += other.waits;
        self.refused += other.refused;
        self.given_up += other.given_up;
        self.crashes += other.crashes;
        self.checkpoints += other.checkpoints;
        self.lost_commits += other.lost_commits;
        self.prepared += other.prepared;
        self.prepared_tables += other.prepared_tables;
        self.restored += other.restored;
        self.failed_disks += other.failed_disks;
        self.failed_recoveries += other.failed_recoveries;
        self.rot_refused += other.rot_refused;
        self.rot_harmless += other.rot_harmless;
        self.stalls += other.stalls;
    }

    /// Its figures with their names, always in the same order.
    pub fn figures(&mut self) -> [(&'static str, &mut u64); 15] {
        [
            ("commits", &mut self.commits),
            ("waits", &mut self.waits),
            ("crashes", &mut self.crashes),
            ("checkpoints", &mut self.checkpoints),
            ("lost_commits", &mut self.lost_commits),
            ("prepared", &mut self.prepared),
            ("prepared_tables", &mut self.prepared_tables),
            ("restored", &mut self.restored),
            ("refused", &mut self.refused),
            ("given_up", &mut self.given_up),
            ("failed_disks", &mut self.failed_disks),
            ("failed_recoveries", &mut self.failed_recoveries),
            ("rot_refused", &mut self.rot_refused),
            ("rot_harmless", &mut self.rot_harmless),
            ("stalls", &mut self.stalls),
        ]
    }
}

const SEGMENT_BYTES: u64 = 256 << 10;
const SESSIONS_MAX: usize = 5;
/// So little that prepared transactions are written again often.
const PREPARED_LOG_BYTES: u64 = 60_000;
/// Small, so that some open transactions are given up.
const KEPT_LOG_BYTES: u64 = 10_000;

/// Runs one seed. The error says what did not hold.
pub fn run(seed: u64, options: Options) -> Result<Report, String> {
    let mut world = World::new(seed)?;
    for _ in 0..options.lives {
        world.live(options.steps)?;
        world.crash()?;
    }
    Ok(world.report)
}

fn open(world: Env) -> Result<Arc<Engine>, OpenError> {
    Engine::open(world, config(), Arc::new(schema::Expressions))
}

fn config() -> EngineConfig {
    EngineConfig {
        log: LogConfig {
            segment_bytes: SEGMENT_BYTES,
            ring_bytes: 2 << 20,
            segments_ahead: 1,
            writers_max: 4,
            kept_bytes_max: KEPT_LOG_BYTES,
            ..LogConfig::default()
        },
        checkpoint: CheckpointConfig {
            file_bytes: 100_000,
            manifest_bytes: 300_000,
            threads: 1,
            ..CheckpointConfig::default()
        },
        prepared_log_bytes: PREPARED_LOG_BYTES,
        recovery_threads: 1,
        // A failed disk ends the life, not the process; every later call answers Stopped.
        fail_stop: Arc::new(|_| {}),
        ..EngineConfig::default()
    }
}

struct World {
    seed: u64,
    prng: Prng,
    disk: SimDisk,
    engine: Arc<Engine>,
    sessions: Vec<Session>,
    session_numbers: u32,
    tables: Vec<TableId>,
    sequence: SequenceId,
    /// Values that nextval gave, with what the reply that told them waited for.
    values: Vec<(i64, Lsn)>,
    model: Model,
    prepared: Prepared,
    report: Report,
    /// Steps for which the disk still does nothing.
    stalled: u64,
}

const TABLES_MAX: usize = 4;

impl World {
    fn new(seed: u64) -> Result<World, String> {
        let disk = SimDisk::new(seed);
        let (world, _clock) = env(&disk, seed);
        let engine = open(world).map_err(|error| format!("a new database: {error}"))?;
        let mut model = Model::default();
        for _ in 0..2 {
            let (table, ts) = create_table(&engine)?;
            model.commit_table(ts, table, true);
        }
        let sequence = create_sequence(&engine)?;
        engine.log().flush_and_seal();
        Ok(World {
            seed,
            prng: Prng::new(seed),
            disk,
            engine,
            sessions: Vec::new(),
            session_numbers: 0,
            tables: model.tables(Lsn::MAX),
            sequence,
            values: Vec::new(),
            model,
            prepared: Prepared::default(),
            report: Report::default(),
            stalled: 0,
        })
    }

    fn live(&mut self, steps: u64) -> Result<(), String> {
        let fault = self.prng.below(12);
        match fault {
            0 | 1 => self.disk.set_faults(FaultPlan {
                sync_fails_ppm: 8_000,
                ..FaultPlan::default()
            }),
            2 => self.disk.set_faults(FaultPlan {
                write_fails_ppm: 4_000,
                ..FaultPlan::default()
            }),
            _ => {}
        }
        for _ in 0..self.prng.below(steps) {
            if (3..6).contains(&fault) && self.prng.chance(1, 80) {
                self.fill_or_empty_disk();
            }
            if fault == 6 && self.stalled == 0 && self.prng.chance(1, 40) {
                self.stalled = self.prng.below(120);
                self.report.stalls += 1;
            }
            if !self.step()? {
                self.report.failed_disks += 1;
                break;
            }
        }
        Ok(())
    }

    /// Somebody else fills the disk, or frees space: writers get errors meanwhile, and nothing else happens.
    fn fill_or_empty_disk(&mut self) {
        let room = self.disk.used_bytes() + self.prng.below(400_000);
        let capacity_bytes = self.prng.chance(1, 2).then_some(room);
        self.disk.set_faults(FaultPlan {
            capacity_bytes,
            ..FaultPlan::default()
        });
    }

    /// False: the engine has stopped.
    fn step(&mut self) -> Result<bool, String> {
        let choice = self.prng.below(100);
        if self.stalled > 0 {
            // A slow disk: who needs it waits, everybody else goes on.
            self.stalled -= 1;
            if choice < 17 {
                return Ok(true);
            }
        }
        match choice {
            0..6 => _ = self.engine.log().flush_step(),
            6..8 => _ = self.engine.log().prepare_step(),
            8 => _ = self.engine.log().seal_step(),
            9..17 => _ = self.engine.checkpoint_step(),
            17..20 => _ = self.engine.collect(64),
            20 => self.acknowledge_early(),
            21 => self.next_value()?,
            23 if self.prepared.len() > 0 => return self.decide(),
            22 if self.prng.chance(1, 3) => self.change_tables()?,
            _ => return self.step_session(),
        }
        Ok(!self.engine.log().is_stopped())
    }

    /// COMMIT PREPARED or ROLLBACK PREPARED of any of them. False: the engine has stopped.
    fn decide(&mut self) -> Result<bool, String> {
        let which = self.prng.below(self.prepared.len() as u64) as usize;
        let commit = self.prng.chance(2, 3);
        let gid = self.prepared.get(which).gid.clone();
        let decided = self.engine.finish_prepared(&gid, commit, None, |undecided| {
            // What was given with the PREPARE came back.
            (undecided.info.note == gid.as_bytes()).then_some(()).ok_or(())
        });
        let receipt = match decided {
            Ok((receipt, ())) => receipt,
            Err(FinishError::LogUnavailable(LogUnavailable::Stopped)) => return Ok(false),
            Err(FinishError::LogUnavailable(LogUnavailable::DiskFull)) => return Ok(true),
            Err(other) => return Err(format!("the decision on {gid:?}: {other:?}")),
        };
        if receipt.commit_ts.is_some() != commit {
            return Err(format!("the decision on {gid:?} has the receipt {receipt:?}"));
        }
        let undecided = self.prepared.decide(which, receipt.seen);
        if let Some(ts) = receipt.commit_ts {
            for &(table, exists) in &undecided.tables {
                self.model.commit_table(ts, table, exists);
            }
            if !undecided.changes.is_empty() {
                self.report.commits += 1;
                self.model.commit(ts, &undecided.changes);
            }
        }
        self.tables = self.usable_tables();
        Ok(!self.engine.log().is_stopped())
    }

    /// nextval: values are never handed out twice, not even over a crash.
    fn next_value(&mut self) -> Result<(), String> {
        let Ok(transaction) = self.engine.begin(Isolation::ReadCommitted, false) else {
            return Ok(());
        };
        let sequence = self
            .engine
            .sequence(self.sequence)
            .ok_or("the sequence is gone")?;
        let value = match transaction.sequence_next(&sequence) {
            Ok(value) => value,
            Err(SequenceError::LogUnavailable(_)) => return Ok(()),
            Err(other) => return Err(format!("nextval: {other:?}")),
        };
        let seen = transaction.abort().seen;
        if let Some((last, _)) = self.values.last()
            && value <= *last
        {
            return Err(format!("nextval gave {value} after {last}"));
        }
        self.values.push((value, seen));
        Ok(())
    }

    /// No transaction runs: when the collector is done, the indexes hold what the tables hold.
    fn check_when_quiet(&mut self) -> Result<(), String> {
        for _ in 0..20 {
            let tail = self.engine.log().tail();
            if !self.engine.log().flush_to(tail).is_stable() {
                return Ok(());
            }
            self.engine.collect(usize::MAX);
            if self.engine.collector_backlog() == 0 {
                break;
            }
            // What is left waits for a later horizon.
            if !self.move_log()? {
                return Ok(());
            }
        }
        let backlog = self.engine.collector_backlog();
        if backlog != 0 {
            return Err(format!(
                "{backlog} rows stay with the collector though nobody runs"
            ));
        }
        let now = self.engine.log().stable();
        check::contents(
            &self.engine,
            &self.model,
            &self.tables,
            &self.prepared.rows(),
            now,
        )
        .map_err(|error| format!("when quiet: {error}"))
    }

    /// setval to where the sequence is: a frame that changes nothing. False: the disk has no room for it.
    fn move_log(&mut self) -> Result<bool, String> {
        let Ok(transaction) = self.engine.begin(Isolation::ReadCommitted, false) else {
            return Ok(false);
        };
        let sequence = self
            .engine
            .sequence(self.sequence)
            .ok_or("the sequence is gone")?;
        let (value, is_called) = self.values.last().map_or((1, false), |&(value, _)| (value, true));
        match transaction.sequence_set(&sequence, value, is_called) {
            Ok(()) => Ok(true),
            Err(SequenceError::LogUnavailable(_)) => Ok(false),
            Err(other) => Err(format!("setval: {other:?}")),
        }
    }

    /// synchronous_commit = off: readers may see what is not stable.
    fn acknowledge_early(&mut self) {
        self.engine.raise_acked(self.engine.log().filled());
    }

    fn step_session(&mut self) -> Result<bool, String> {
        if self.sessions.len() < SESSIONS_MAX && (self.sessions.is_empty() || self.prng.chance(1, 6)) {
            self.session_numbers += 1;
            match Session::begin(&self.engine, &mut self.prng, self.session_numbers) {
                Some(session) => self.sessions.push(session),
                None => return Ok(false),
            }
        }
        let awake: Vec<usize> = (0..self.sessions.len())
            .filter(|&i| !self.sessions[i].is_asleep())
            .collect();
        if awake.is_empty() && self.prepared.len() > 0 {
            return self.decide();
        }
        if awake.is_empty() {
            return Err(format!(
                "all {} sessions wait and nobody wakes them",
                self.sessions.len()
            ));
        }
        let which = if self.prng.chance(1, 100) {
            self.prng.below(self.sessions.len() as u64) as usize
        } else {
            awake[self.prng.below(awake.len() as u64) as usize]
        };
        let session = self.sessions.swap_remove(which);
        let (session, outcome) = session.step(&self.engine, &self.model, &mut self.prng, &self.tables);
        self.sessions.extend(session);
        match outcome? {
            Step::Done => {}
            Step::Waits => self.report.waits += 1,
            Step::Ended { committed: None } => {}
            Step::Refused => self.report.refused += 1,
            Step::GivenUp => self.report.given_up += 1,
            Step::Ended {
                committed: Some((ts, changes)),
            } => {
                self.report.commits += 1;
                self.model.commit(ts, &changes);
            }
            Step::Prepared { gid, at, changes } => {
                self.report.prepared += 1;
                let tables = Vec::new();
                self.prepared.add(Undecided {
                    gid,
                    at,
                    changes,
                    tables,
                });
            }
            Step::Stopped => return Ok(false),
        }
        Ok(true)
    }

    /// The power fails, the engine is opened on what is left, and must show exactly the commits that the log kept.
    fn crash(&mut self) -> Result<(), String> {
        let stable = self.engine.log().stable();
        self.report.checkpoints += self.engine.checkpoint_report().rounds;
        self.disk = self.disk.crash();
        self.stalled = 0;
        // What the dead process still does reaches no disk.
        self.sessions.clear();
        if self.prng.chance(1, 8) {
            self.rot()?;
        }
        if self.prng.chance(1, 8) {
            self.fail_recovery(stable)?;
        }
        let (world, _clock) = env(&self.disk, self.seed);
        let end = log_end(&world)?;
        if end < stable {
            return Err(format!("the log ends at {end}, but {stable} was stable"));
        }
        self.engine = open(world).map_err(|error| format!("recovery: {error}"))?;
        self.report.crashes += 1;
        self.report.lost_commits += self.model.cut(end) as u64;
        self.values.retain(|(_, seen)| *seen <= end);
        self.prepared.cut(end);
        self.tables = self.usable_tables();
        self.report.restored += self.prepared.len() as u64;
        check::prepared(&self.engine, &self.prepared.all()).map_err(|e| format!("after recovery: {e}"))?;
        let in_flight = self.prepared.rows();
        let tables = self.model.tables(end);
        check::contents(&self.engine, &self.model, &tables, &in_flight, end)
            .map_err(|e| format!("after recovery: {e}"))?;
        self.model.forget_history();
        Ok(())
    }

    /// The disk fails, or the power again, while the engine starts: the next start must not notice.
    fn fail_recovery(&mut self, stable: Lsn) -> Result<(), String> {
        self.disk.set_faults(FaultPlan {
            sync_fails_ppm: 200_000,
            write_fails_ppm: 100_000,
            ..FaultPlan::default()
        });
        let (world, _clock) = env(&self.disk, self.seed);
        let before = log_end(&world)?;
        // A start that gets far enough writes behind the log's end: over positions that commits had which are lost.
        self.report.lost_commits += self.model.cut(before) as u64;
        self.values.retain(|(_, seen)| *seen <= before);
        self.prepared.cut(before);
        let opened = open(world);
        if opened.is_err() {
            self.report.failed_recoveries += 1;
        }
        drop(opened);
        self.disk = self.disk.crash();
        let (world, _clock) = env(&self.disk, self.seed);
        let end = log_end(&world)?;
        if end < before || before < stable {
            return Err(format!(
                "after a failed start the log ends at {end}, before it at {before}; {stable} was stable"
            ));
        }
        Ok(())
    }

    /// One flipped bit somewhere on a copy of the disk: the engine refuses to start and names the file, or nobody needs
    /// the byte, and everything is as if nothing had happened. Except in the last flush, which no later frame vouches
    /// for: that one is cut like a torn tail, and what is before it must be whole.
    fn rot(&mut self) -> Result<(), String> {
        let copy = self.disk.copy();
        let paths: Vec<String> = copy.paths().into_iter().filter(|path| path != "LOCK").collect();
        let path = &paths[self.prng.below(paths.len() as u64) as usize];
        let Some(bytes) = copy.file_bytes(path).filter(|&bytes| bytes > 0) else {
            return Ok(());
        };
        // Most of a prepared log file is zeros: look where something stands.
        let reach = if self.prng.chance(1, 2) {
            bytes
        } else {
            bytes.min(20_000)
        };
        let (offset, bit) = (self.prng.below(reach), self.prng.below(8) as u8);
        copy.flip_bit(path, offset, bit);
        let place = format!("bit {bit} of byte {offset} of {path} flipped");
        let (world, _clock) = env(&copy, self.seed);
        match open(world.clone()) {
            Err(error) => {
                self.report.rot_refused += 1;
                let said = error.to_string();
                let name = path.rsplit('/').next().unwrap_or(path);
                if !said.contains(name) && !said.contains("log/") && !said.contains("MANIFEST") {
                    return Err(format!("{place}: the refusal names no file: {said}"));
                }
            }
            Ok(engine) => {
                self.report.rot_harmless += 1;
                // Opening appends a frame; what was recovered ends where that one begins.
                let end = engine.recovered_end();
                let mut model = self.model.clone();
                model.cut(end);
                let mut prepared = self.prepared.clone();
                prepared.cut(end);
                check::prepared(&engine, &prepared.all())
                    .and_then(|()| {
                        check::contents(&engine, &model, &model.tables(end), &prepared.rows(), end)
                    })
                    .map_err(|error| format!("{place}, and the engine started on it: {error}"))?;
            }
        }
        Ok(())
    }
}

/// Where the surviving log ends, found without the engine.
fn log_end(world: &Env) -> Result<Lsn, String> {
    let manifest = Manifest::read(&*world.disk)
        .map_err(|e| e.to_string())?
        .ok_or("no MANIFEST after a crash")?;
    let files = LogFiles::open(&*world.disk, manifest.system_id, manifest.segment_bytes)
        .map_err(|e| e.to_string())?;
    let mut reader = LogReader::new(&files, manifest.log_start);
    while reader.next_frame().map_err(|e| e.to_string())?.is_some() {}
    Ok(reader.position())
}

fn create_sequence(engine: &Arc<Engine>) -> Result<SequenceId, String> {
    let transaction = engine
        .begin(Isolation::ReadCommitted, false)
        .map_err(|e| format!("begin: {e:?}"))?;
    let id = transaction
        .create_sequence(&schema::sequence())
        .map_err(|e| format!("create sequence: {e:?}"))?;
    transaction.commit().map_err(|e| format!("commit: {e:?}"))?;
    Ok(id)
}
