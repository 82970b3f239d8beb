//! The loop of one seed: lives of an engine, each ended by a crash, each begun by a recovery that is checked.

use std::sync::Arc;

use mote_common::env::Env;
use mote_common::env::sim::{FaultPlan, SimDisk, env};
use mote_common::prng::Prng;
use mote_common::{Lsn, SqlError, TableId};
use mote_engine::checkpoint::{CheckpointConfig, Manifest};
use mote_engine::log::reader::{LogFiles, LogReader};
use mote_engine::log::{FlushOutcome, LogConfig};
use mote_engine::{BuildProgress, Engine, EngineConfig, Isolation, KeyExpressionProvider, KeyExpressions, OpenError};

use crate::check;
use crate::model::Model;
use crate::schema;
use crate::session::{Session, Step};

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
    /// Lives that ended by a failed write or sync.
    pub failed_disks: u64,
}

impl Report {
    pub fn add(&mut self, other: &Report) {
        self.commits += other.commits;
        self.waits += other.waits;
        self.crashes += other.crashes;
        self.checkpoints += other.checkpoints;
        self.lost_commits += other.lost_commits;
        self.failed_disks += other.failed_disks;
    }
}

const SEGMENT_BYTES: u64 = 256 << 10;
const SESSIONS_MAX: usize = 5;

/// Runs one seed. The error says what did not hold.
pub fn run(seed: u64, options: Options) -> Result<Report, String> {
    let mut world = World::new(seed)?;
    for _ in 0..options.lives {
        world.live(options.steps)?;
        world.crash()?;
    }
    Ok(world.report)
}

/// The simulator's indexes have plain columns only.
struct NoExpressions;

impl KeyExpressionProvider for NoExpressions {
    fn compile(&self, _definition: &[u8]) -> Result<Arc<dyn KeyExpressions>, SqlError> {
        Err(SqlError::unsupported("index expressions in the simulator"))
    }
}

fn open(world: Env) -> Result<Arc<Engine>, OpenError> {
    Engine::open(world, config(), Arc::new(NoExpressions))
}

fn config() -> EngineConfig {
    EngineConfig {
        log: LogConfig { segment_bytes: SEGMENT_BYTES, ring_bytes: 2 << 20, segments_ahead: 1, writers_max: 4 },
        checkpoint: CheckpointConfig { file_bytes: 100_000, manifest_bytes: 300_000, ..CheckpointConfig::default() },
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
    model: Model,
    report: Report,
}

impl World {
    fn new(seed: u64) -> Result<World, String> {
        let disk = SimDisk::new(seed);
        let (world, _clock) = env(&disk, seed);
        let engine = open(world).map_err(|error| format!("a new database: {error}"))?;
        let mut tables = Vec::new();
        for _ in 0..2 {
            tables.push(create_table(&engine)?);
        }
        engine.log().flush_and_seal();
        Ok(World {
            seed,
            prng: Prng::new(seed),
            disk,
            engine,
            sessions: Vec::new(),
            session_numbers: 0,
            tables,
            model: Model::default(),
            report: Report::default(),
        })
    }

    fn live(&mut self, steps: u64) -> Result<(), String> {
        if self.prng.chance(1, 4) {
            self.disk.set_faults(FaultPlan { sync_fails_ppm: 8_000, ..FaultPlan::default() });
        }
        for _ in 0..self.prng.below(steps) {
            if !self.step()? {
                self.report.failed_disks += 1;
                break;
            }
        }
        Ok(())
    }

    /// False: the engine has stopped.
    fn step(&mut self) -> Result<bool, String> {
        match self.prng.below(100) {
            0..6 => _ = self.engine.log().flush_step(),
            6..8 => _ = self.engine.log().prepare_step(),
            8 => _ = self.engine.log().seal_step(),
            9..17 => _ = self.engine.checkpoint_step(),
            17..20 => _ = self.engine.collect(64),
            20 => self.acknowledge_early(),
            _ => return self.step_session(),
        }
        Ok(!self.engine.log().is_stopped())
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
        let awake: Vec<usize> = (0..self.sessions.len()).filter(|&i| !self.sessions[i].is_asleep()).collect();
        if awake.is_empty() {
            return Err(format!("all {} sessions wait and nobody wakes them", self.sessions.len()));
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
            Step::Ended { committed: Some((ts, changes)) } => {
                self.report.commits += 1;
                self.model.commit(ts, &changes);
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
        // What the dead process still does reaches no disk.
        self.sessions.clear();
        let (world, _clock) = env(&self.disk, self.seed);
        let end = log_end(&world)?;
        if end < stable {
            return Err(format!("the log ends at {end}, but {stable} was stable"));
        }
        self.engine = open(world).map_err(|error| format!("recovery: {error}"))?;
        self.report.crashes += 1;
        self.report.lost_commits += self.model.cut(end) as u64;
        check::contents(&self.engine, &self.model, &self.tables, end).map_err(|e| format!("after recovery: {e}"))?;
        self.model.forget_history();
        Ok(())
    }
}

/// Where the surviving log ends, found without the engine.
fn log_end(world: &Env) -> Result<Lsn, String> {
    let manifest = Manifest::read(&*world.disk).map_err(|e| e.to_string())?.ok_or("no MANIFEST after a crash")?;
    let files = LogFiles::open(&*world.disk, manifest.system_id, manifest.segment_bytes).map_err(|e| e.to_string())?;
    let mut reader = LogReader::new(&files, manifest.log_start);
    while reader.next_frame().map_err(|e| e.to_string())?.is_some() {}
    Ok(reader.position())
}

fn create_table(engine: &Arc<Engine>) -> Result<TableId, String> {
    let transaction = engine.begin(Isolation::ReadCommitted, false).map_err(|e| format!("begin: {e:?}"))?;
    let id = transaction.create_table(&schema::table()).map_err(|e| format!("create table: {e:?}"))?;
    for definition in [schema::key_index(id), schema::group_index(id)] {
        let mut build = transaction.create_index(&definition).map_err(|e| format!("create index: {e:?}"))?;
        let built = transaction.build_index(&mut build, usize::MAX).map_err(|e| format!("build index: {e:?}"))?;
        if built != BuildProgress::Done {
            return Err("the index of an empty table was not built at once".into());
        }
    }
    transaction.commit().map_err(|e| format!("commit: {e:?}"))?;
    match engine.log().flush_step() {
        FlushOutcome::Stopped => Err("the log stopped on a healthy disk".into()),
        _ => Ok(id),
    }
}
