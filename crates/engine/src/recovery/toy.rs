//! A small engine in memory for the tests of log, checkpoint and recovery: rows are chains of committed versions, kept
//! for ever; a transaction is a list of changes under row locks. It is its own oracle: it can say what any earlier
//! moment looked like.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mote_common::env::Env;
use mote_common::{Lsn, RowId, TableId};
use parking_lot::Mutex;

use super::*;
use crate::checkpoint::{CheckpointConfig, Checkpointer, ImageSnapshot, Manifest, Source, TableSource};
use mote_log::{
    FailStop, FlushOutcome, FrameKind, Log, LogConfig, LogError, LogWriter, Mark, Operation, RedoBuffer,
    patch,
};

type Bytes = Option<Vec<u8>>;

/// Commit timestamp and bytes (`None`: deleted), oldest first.
type Chain = Vec<(Lsn, Bytes)>;

pub struct ToyTable {
    id: TableId,
    rows: Mutex<BTreeMap<RowId, Chain>>,
}

#[derive(Default)]
struct ToyState {
    tables: BTreeMap<TableId, Arc<ToyTable>>,
    sequences: BTreeMap<u32, SequenceState>,
    prepared: Vec<PreparedTransaction>,
}

#[derive(Clone)]
pub struct Toy {
    state: Arc<Mutex<ToyState>>,
    log: Arc<Mutex<Option<Log>>>,
}

/// Table, row and bytes of everything visible.
pub type Contents = BTreeMap<(TableId, RowId), Vec<u8>>;

impl Toy {
    pub fn new() -> Toy {
        let toy = Toy {
            state: Arc::default(),
            log: Arc::default(),
        };
        toy.add_table(CATALOG_TABLE);
        toy
    }

    fn add_table(&self, id: TableId) {
        let table = ToyTable {
            id,
            rows: Mutex::default(),
        };
        self.state
            .lock()
            .tables
            .entry(id)
            .or_insert_with(|| Arc::new(table));
    }

    /// Everything as of `ts`.
    pub fn contents(&self, ts: Lsn) -> Contents {
        let mut contents = Contents::new();
        for table in self.state.lock().tables.values() {
            for (&row, chain) in table.rows.lock().iter() {
                if let Some((_, Some(bytes))) = chain.iter().rev().find(|(version, _)| *version <= ts) {
                    contents.insert((table.id, row), bytes.clone());
                }
            }
        }
        contents
    }

    pub fn sequence(&self, id: u32) -> Option<SequenceState> {
        self.state.lock().sequences.get(&id).copied()
    }

    pub fn set_sequence(&self, state: SequenceState) {
        self.state.lock().sequences.insert(state.id, state);
    }

    pub fn prepared(&self) -> Vec<PreparedTransaction> {
        self.state.lock().prepared.clone()
    }

    fn install(&self, table: TableId, row: RowId, ts: Lsn, bytes: Bytes) {
        if table == CATALOG_TABLE {
            let made = TableId(row.0 as u32);
            match bytes {
                Some(_) => self.add_table(made),
                None => _ = self.state.lock().tables.remove(&made),
            }
        }
        let table = self.state.lock().tables.get(&table).cloned();
        if let Some(table) = table {
            table.rows.lock().entry(row).or_default().push((ts, bytes));
        }
    }

    fn newest(&self, table: TableId, row: RowId) -> Option<(Lsn, Bytes)> {
        let state = self.state.lock();
        state.tables.get(&table)?.rows.lock().get(&row)?.last().cloned()
    }

    pub fn table_ids(&self) -> Vec<TableId> {
        self.state.lock().tables.keys().copied().collect()
    }
}

impl ToyTable {
    fn change(
        &self,
        row: RowId,
        base: Lsn,
        ts: Lsn,
        make: impl FnOnce(&[u8]) -> Bytes,
    ) -> Result<(), ApplyError> {
        let mut rows = self.rows.lock();
        let chain = rows.entry(row).or_default();
        match chain.last() {
            Some((found, Some(old))) if *found == base => {
                let new = make(old);
                chain.push((ts, new));
                Ok(())
            }
            other => Err(ApplyError::BaseMismatch {
                found: other.map(|(found, _)| *found),
            }),
        }
    }
}

impl TableTarget for ToyTable {
    fn load_image(&self, rows: &[RowImage<'_>]) -> Result<(), (usize, ApplyError)> {
        let mut chains = self.rows.lock();
        for row in rows {
            chains
                .entry(row.row)
                .or_default()
                .push((row.commit_ts, Some(row.bytes.to_vec())));
        }
        Ok(())
    }

    fn apply_insert(&self, row: RowId, _: u8, ts: Lsn, bytes: &[u8]) -> Result<(), ApplyError> {
        let mut rows = self.rows.lock();
        let chain = rows.entry(row).or_default();
        match chain.last() {
            Some((found, Some(_))) => Err(ApplyError::AlreadyThere { found: *found }),
            _ => {
                chain.push((ts, Some(bytes.to_vec())));
                Ok(())
            }
        }
    }

    fn apply_update_whole(
        &self,
        row: RowId,
        _: u8,
        base: Lsn,
        ts: Lsn,
        bytes: &[u8],
    ) -> Result<(), ApplyError> {
        self.change(row, base, ts, |_| Some(bytes.to_vec()))
    }

    fn apply_patch(&self, row: RowId, _: u8, base: Lsn, ts: Lsn, bytes: &[u8]) -> Result<(), ApplyError> {
        let mut patched = Ok(());
        self.change(row, base, ts, |old| {
            let mut new = Vec::new();
            patched = patch::apply(old, bytes, &mut new);
            Some(new)
        })?;
        patched.map_err(|_| ApplyError::Other("the patch does not fit".into()))
    }

    fn apply_delete(&self, row: RowId, base: Lsn, ts: Lsn) -> Result<(), ApplyError> {
        self.change(row, base, ts, |_| None)
    }
}

impl Target for Toy {
    fn table(&self, id: TableId) -> Option<Arc<dyn TableTarget>> {
        self.state
            .lock()
            .tables
            .get(&id)
            .map(|table| table.clone() as Arc<dyn TableTarget>)
    }

    fn catalog_recovered(&self, _: &[u64; COUNTERS]) -> Result<(), ApplyError> {
        for ((table, row), _) in self.contents(Lsn::MAX) {
            assert_eq!(table, CATALOG_TABLE);
            self.add_table(TableId(row.0 as u32));
        }
        Ok(())
    }

    fn restore_sequence(&self, state: SequenceState) {
        self.set_sequence(state);
    }

    fn restore_prepared(&self, prepared: PreparedTransaction) -> Result<(), ApplyError> {
        self.state.lock().prepared.push(prepared);
        Ok(())
    }

    fn build_indexes(&self, _: usize, _: &mut dyn FnMut(u64, u64)) -> Result<(), ApplyError> {
        Ok(())
    }
}

struct ToySnapshot(Lsn);

impl ImageSnapshot for ToySnapshot {
    fn lsn(&self) -> Lsn {
        self.0
    }
}

impl Source for Toy {
    fn tables(&self) -> Vec<Arc<dyn TableSource>> {
        self.state
            .lock()
            .tables
            .values()
            .map(|table| table.clone() as Arc<dyn TableSource>)
            .collect()
    }

    fn image_snapshot(&self) -> Box<dyn ImageSnapshot> {
        Box::new(ToySnapshot(
            self.log.lock().as_ref().expect("the log is open").stable(),
        ))
    }

    fn sequences(&self) -> Vec<SequenceState> {
        self.state.lock().sequences.values().copied().collect()
    }

    fn counters(&self) -> [u64; COUNTERS] {
        [7; COUNTERS]
    }
}

impl TableSource for ToyTable {
    fn id(&self) -> TableId {
        self.id
    }

    fn segment_count(&self) -> u32 {
        self.rows.lock().keys().last().map_or(0, |row| row.segment() + 1)
    }

    fn segment_last_change(&self, segment: u32) -> Lsn {
        let rows = self.rows.lock();
        let range = RowId::new(segment, 0)..RowId::new(segment + 1, 0);
        rows.range(range)
            .filter_map(|(_, chain)| chain.last())
            .map(|(ts, _)| *ts)
            .max()
            .unwrap_or_default()
    }

    fn visit_segment(&self, segment: u32, snapshot: Lsn, visit: &mut dyn FnMut(RowImage<'_>)) {
        let rows = self.rows.lock();
        for (&row, chain) in rows.range(RowId::new(segment, 0)..RowId::new(segment + 1, 0)) {
            let version = chain.iter().rev().find(|(ts, _)| *ts <= snapshot);
            if let Some((commit_ts, Some(bytes))) = version {
                visit(RowImage {
                    row,
                    layout: 0,
                    revision: 1,
                    commit_ts: *commit_ts,
                    bytes,
                });
            }
        }
    }
}

/// A transaction: what it changed, in order, and its redo.
#[derive(Default)]
pub struct ToyTransaction {
    redo: RedoBuffer,
    changes: Vec<(TableId, RowId, Bytes)>,
}

impl ToyTransaction {
    fn own(&self, table: TableId, row: RowId) -> Option<&Bytes> {
        self.changes
            .iter()
            .rev()
            .find(|(t, r, _)| (*t, *r) == (table, row))
            .map(|(_, _, bytes)| bytes)
    }

    /// Makes the row `new` (`None`: deletes it), with the operation that its present state asks for.
    pub fn set(&mut self, toy: &Toy, table: TableId, row: RowId, new: Bytes) {
        let (base, old) = match self.own(table, row) {
            Some(bytes) => (Lsn::ZERO, bytes.clone()),
            None => toy.newest(table, row).unwrap_or_default(),
        };
        match (&old, &new) {
            (None, Some(new)) => self.redo.insert(table, row, 0, new),
            (Some(old), Some(new)) => self.redo.update(table, row, 0, base, old, new),
            (Some(_), None) => self.redo.delete(table, row, base),
            (None, None) => return,
        }
        self.changes.push((table, row, new));
    }

    pub fn savepoint(&self) -> (Mark, usize) {
        (self.redo.mark(), self.changes.len())
    }

    pub fn rollback_to(&mut self, (mark, changes): (Mark, usize)) {
        self.redo.truncate(mark);
        self.changes.truncate(changes);
    }

    pub fn rows(&self) -> BTreeSet<(TableId, RowId)> {
        self.changes
            .iter()
            .map(|(table, row, _)| (*table, *row))
            .collect()
    }
}

/// A toy with its log and checkpointer on some disk.
pub struct Life {
    pub toy: Toy,
    pub log: Log,
    pub writer: LogWriter,
    pub checkpointer: Checkpointer,
    pub recovered: Recovered,
}

pub const SEGMENT_BYTES: u64 = 256 << 10;

pub fn log_config() -> LogConfig {
    LogConfig {
        segment_bytes: SEGMENT_BYTES,
        ring_bytes: 2 << 20,
        segments_ahead: 1,
        writers_max: 2,
        ..LogConfig::default()
    }
}

pub fn checkpoint_config() -> CheckpointConfig {
    CheckpointConfig {
        file_bytes: 60_000,
        manifest_bytes: 200_000,
        threads: 1,
        ..CheckpointConfig::default()
    }
}

impl Life {
    pub fn begin(env: &Env, threads: usize, fail_stop: FailStop) -> Result<Life, RecoveryError> {
        let manifest = open_manifest(env, SEGMENT_BYTES)?;
        let toy = Toy::new();
        let recovered = recover(
            env,
            &manifest,
            &toy,
            RecoveryOptions { threads, upto: None },
            &mut |_| {},
        )?;
        let log = Log::open(env, log_config(), recovered.position.clone(), fail_stop).map_err(|error| {
            RecoveryError::Io {
                what: "log".into(),
                error,
            }
        })?;
        *toy.log.lock() = Some(log.clone());
        let source = Arc::new(toy.clone());
        let checkpointer = Checkpointer::new(env, &log, source, manifest, checkpoint_config());
        Ok(Life {
            writer: log.writer(),
            toy,
            log,
            checkpointer,
            recovered,
        })
    }

    /// Appends, flushing when there is no room; `None` when the log has stopped.
    pub fn append(&self, kind: FrameKind, payload: &[u8]) -> Option<Lsn> {
        self.append_and(kind, payload, |_| {})
    }

    /// The same, and makes the change seen before the frame is filled: who flushes meanwhile, as a checkpointer in the
    /// background may, must find it in the rows when it finds it in the log.
    fn append_and(&self, kind: FrameKind, payload: &[u8], decide: impl Fn(Lsn)) -> Option<Lsn> {
        loop {
            match self.writer.admit(payload.len()) {
                Ok(admission) => return Some(self.writer.append(admission, kind, payload, &decide)),
                Err(LogError::RingFull { .. }) => {
                    self.log.prepare_step();
                    if self.log.flush_step() == FlushOutcome::Stopped {
                        return None;
                    }
                }
                Err(_) => return None,
            }
        }
    }

    /// Sends the fragments that are due; false when the log has stopped.
    pub fn send_fragments(&self, transaction: &mut ToyTransaction) -> bool {
        loop {
            match self.writer.send_fragments(&mut transaction.redo) {
                Ok(()) => return true,
                Err(LogError::RingFull { .. }) => {
                    self.log.prepare_step();
                    self.log.flush_step();
                }
                Err(_) => return false,
            }
        }
    }

    pub fn commit(&self, mut transaction: ToyTransaction) -> Option<Lsn> {
        if !self.send_fragments(&mut transaction) {
            return None;
        }
        let ToyTransaction { redo, changes, .. } = &mut transaction;
        let Some(payload) = redo.commit_payload().expect("few rollbacks") else {
            return Some(Lsn::ZERO);
        };
        self.append_and(FrameKind::Commit, payload, |ts| self.install(changes, ts))
    }

    fn install(&self, changes: &[(TableId, RowId, Bytes)], ts: Lsn) {
        for (table, row, bytes) in changes {
            self.toy.install(*table, *row, ts, bytes.clone());
        }
    }

    pub fn abort(&self, transaction: ToyTransaction) {
        if let Some(payload) = transaction.redo.abort_payload() {
            self.append(FrameKind::Abort, &payload);
        }
    }

    pub fn prepare(&self, transaction: &mut ToyTransaction, gid: &[u8]) -> bool {
        self.send_fragments(transaction)
            && self
                .append(
                    FrameKind::Prepare,
                    &transaction.redo.prepare_payload(gid, b"locks").expect("it fits"),
                )
                .is_some()
    }

    pub fn decide(&self, transaction: ToyTransaction, gid: &[u8], commit: bool) -> Option<Lsn> {
        let kind = if commit {
            FrameKind::CommitPrepared
        } else {
            FrameKind::RollbackPrepared
        };
        self.append_and(kind, gid, |ts| {
            if commit {
                self.install(&transaction.changes, ts);
            }
        })
    }
}

/// What a restored prepared transaction would do, for comparison.
pub fn rows_of(prepared: &PreparedTransaction) -> BTreeSet<(TableId, RowId)> {
    let decode =
        |body: &Vec<u8>| Operation::decode(body).map(|operation| (operation.table(), operation.row()));
    prepared
        .operations
        .iter()
        .map(|body| decode(body).expect("restored operations decode"))
        .collect()
}

pub fn manifest_of(env: &Env) -> Manifest {
    Manifest::read(&*env.disk)
        .expect("readable")
        .expect("there is one")
}
