//! The second reading: operations into tables, in parallel, on top of the images.
//!
//! Work is partitioned by (table, segment): each partition applies its operations in log order. One thread reads the log
//! and hands batches to the partitions through bounded queues; with one partition everything runs on the calling thread.
//! An operation whose commit the segment's image holds is skipped.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use mote_common::env::Env;
use mote_common::{Lsn, TableId};

use super::error::RecoveryError;
use super::scan::{Fate, ProgressSteps, Scan, TransactionKey};
use super::{
    CATALOG_TABLE, Phase, PreparedTransaction, Progress, RecoveryStats, TableTarget, Target, images,
};
use crate::checkpoint::{Manifest, SegmentKey};
use mote_log::frame::FrameKind;
use mote_log::reader::{Frame, LogFiles, LogReader};
use mote_log::record::{CommitHeader, FragmentHeader, Malformed, Operation, OperationStream, PrepareHeader};

const BATCH_BYTES: usize = 256 * 1024;
/// Batches that may wait in front of one partition.
const QUEUE_BATCHES: usize = 8;

/// Operations on their way to a partition.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Commit timestamp and end in `bytes`.
    operations: Vec<(Lsn, usize)>,
}

impl Batch {
    fn push(&mut self, ts: Lsn, body: &[u8]) {
        self.bytes.extend_from_slice(body);
        self.operations.push((ts, self.bytes.len()));
    }
}

/// One partition: knows its tables and counts what it does.
struct Applier<'a> {
    manifest: &'a Manifest,
    target: &'a dyn Target,
    tables: HashMap<TableId, Option<Arc<dyn TableTarget>>>,
    stats: RecoveryStats,
}

impl<'a> Applier<'a> {
    fn new(manifest: &'a Manifest, target: &'a dyn Target) -> Applier<'a> {
        Applier {
            manifest,
            target,
            tables: HashMap::new(),
            stats: RecoveryStats::default(),
        }
    }

    fn table(&mut self, id: TableId) -> Option<Arc<dyn TableTarget>> {
        self.tables
            .entry(id)
            .or_insert_with(|| self.target.table(id))
            .clone()
    }

    fn apply(&mut self, ts: Lsn, body: &[u8]) -> Result<(), RecoveryError> {
        let operation = Operation::decode(body).ok_or(Malformed)?;
        let key = SegmentKey {
            table: operation.table(),
            segment: operation.row().segment(),
        };
        let image = self.manifest.images.get(&key).map_or(Lsn::ZERO, |image| image.ts);
        let table = self.table(key.table);
        let Some(table) = table.filter(|_| ts > image.max(self.manifest.covered)) else {
            self.stats.operations_skipped += 1;
            return Ok(());
        };
        self.stats.operations += 1;
        // A version of the transaction itself carries its commit timestamp by now.
        let base = |base_ts: Lsn| if base_ts == Lsn::ZERO { ts } else { base_ts };
        match operation {
            Operation::Insert {
                row, layout, bytes, ..
            } => table.apply_insert(row, layout, ts, bytes),
            Operation::Update {
                row,
                layout,
                base_ts,
                patch,
                ..
            } => table.apply_patch(row, layout, base(base_ts), ts, patch),
            Operation::UpdateWhole {
                row,
                layout,
                base_ts,
                bytes,
                ..
            } => table.apply_update_whole(row, layout, base(base_ts), ts, bytes),
            Operation::Delete { row, base_ts, .. } => table.apply_delete(row, base(base_ts), ts),
        }
        .map_err(|error| RecoveryError::Apply {
            table: key.table,
            row: operation.row(),
            ts,
            error,
        })
    }

    fn apply_batch(&mut self, batch: &Batch) -> Result<(), RecoveryError> {
        let mut start = 0;
        for &(ts, end) in &batch.operations {
            self.apply(ts, &batch.bytes[start..end])?;
            start = end;
        }
        Ok(())
    }
}

impl RecoveryStats {
    fn add(&mut self, other: &RecoveryStats) {
        self.operations += other.operations;
        self.operations_skipped += other.operations_skipped;
    }
}

/// Table 1, from its images and from the operations the scan has collected.
pub(super) fn catalog(
    env: &Env,
    manifest: &Manifest,
    scan: &Scan,
    target: &dyn Target,
    stats: &mut RecoveryStats,
) -> Result<(), RecoveryError> {
    let catalog = |table| table == CATALOG_TABLE;
    images::load(env, manifest, target, catalog, 1, stats, &mut |_| {})?;
    let mut applier = Applier::new(manifest, target);
    for (ts, body) in scan.catalog_operations() {
        applier.apply(ts, body)?;
    }
    stats.add(&applier.stats);
    Ok(())
}

/// All other tables, and the prepared transactions.
pub(super) fn tables(
    manifest: &Manifest,
    files: &LogFiles,
    scan: &Scan,
    target: &dyn Target,
    stats: &mut RecoveryStats,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), RecoveryError> {
    let partitions = stats.threads;
    let mut dispatch = Dispatch {
        scan,
        streams: HashMap::new(),
        prepared: Vec::new(),
        transactions: 0,
    };
    dispatch.prepared.resize_with(scan.prepared.len(), Vec::new);
    let applied = if partitions == 1 {
        let mut applier = Applier::new(manifest, target);
        dispatch.read(files, manifest, scan.end, progress, &mut |ts, body| {
            applier.apply(ts, body)
        })?;
        applier.stats
    } else {
        let make = || Applier::new(manifest, target);
        in_parallel(partitions, make, |send| {
            dispatch.read(files, manifest, scan.end, progress, send)
        })?
    };
    stats.add(&applied);
    stats.transactions = dispatch.transactions;
    for (prepared, operations) in scan.prepared.iter().zip(dispatch.prepared) {
        if scan.is_undecided(prepared) {
            stats.prepared += 1;
            let (gid, state) = (prepared.gid.clone(), prepared.state.clone());
            let restored = PreparedTransaction {
                gid,
                state,
                operations,
                tells: prepared.tells,
            };
            target
                .restore_prepared(restored)
                .map_err(RecoveryError::Prepared)?;
        }
    }
    Ok(())
}

fn partition_of(key: SegmentKey, partitions: usize) -> usize {
    let mixed = ((key.table.0 as u64) << 32 | key.segment as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) as usize * partitions) >> 32
}

type Send<'s> = dyn FnMut(Lsn, &[u8]) -> Result<(), RecoveryError> + 's;

/// Runs the partitions on threads of their own while `read` feeds them.
fn in_parallel<'a>(
    partitions: usize,
    make: impl Fn() -> Applier<'a>,
    read: impl FnOnce(&mut Send<'_>) -> Result<(), RecoveryError>,
) -> Result<RecoveryStats, RecoveryError> {
    std::thread::scope(|scope| {
        let mut queues = Vec::new();
        let mut threads = Vec::new();
        for _ in 0..partitions {
            let (sender, receiver) = sync_channel::<Batch>(QUEUE_BATCHES);
            let mut applier = make();
            queues.push((sender, Batch::default()));
            threads.push(scope.spawn(move || run_partition(&mut applier, receiver).map(|()| applier.stats)));
        }
        let fed = read(&mut |ts, body| route(&mut queues, ts, body)).and_then(|()| flush_all(&mut queues));
        drop(queues);
        let mut total = RecoveryStats::default();
        for thread in threads {
            // A partition's own error comes first: the reader only saw that its queue was closed.
            total.add(&thread.join().map_err(|_| RecoveryError::ThreadPanicked)??);
        }
        fed.map(|()| total)
    })
}

fn run_partition(applier: &mut Applier<'_>, batches: Receiver<Batch>) -> Result<(), RecoveryError> {
    batches.iter().try_for_each(|batch| applier.apply_batch(&batch))
}

fn route(queues: &mut [(SyncSender<Batch>, Batch)], ts: Lsn, body: &[u8]) -> Result<(), RecoveryError> {
    let operation = Operation::decode(body).ok_or(Malformed)?;
    let key = SegmentKey {
        table: operation.table(),
        segment: operation.row().segment(),
    };
    let partitions = queues.len();
    let (queue, batch) = &mut queues[partition_of(key, partitions)];
    batch.push(ts, body);
    if batch.bytes.len() >= BATCH_BYTES {
        // Closed only when the partition has failed; its own error replaces this one.
        queue
            .send(std::mem::take(batch))
            .map_err(|_| RecoveryError::ThreadPanicked)?;
    }
    Ok(())
}

fn flush_all(queues: &mut [(SyncSender<Batch>, Batch)]) -> Result<(), RecoveryError> {
    queues.iter_mut().try_for_each(|(queue, batch)| {
        queue
            .send(std::mem::take(batch))
            .map_err(|_| RecoveryError::ThreadPanicked)
    })
}

/// Reads the log and finds out which operations count, and when.
struct Dispatch<'a> {
    scan: &'a Scan,
    streams: HashMap<TransactionKey, OperationStream>,
    /// Operations of prepared transactions, by their index.
    prepared: Vec<Vec<Vec<u8>>>,
    transactions: u64,
}

impl Dispatch<'_> {
    fn read(
        &mut self,
        files: &LogFiles,
        manifest: &Manifest,
        end: Lsn,
        progress: &mut dyn FnMut(Progress),
        send: &mut Send<'_>,
    ) -> Result<(), RecoveryError> {
        let mut reader = LogReader::new(files, manifest.log_start);
        let mut report = ProgressSteps::new(Phase::Replay, manifest.log_start, end);
        while reader.position() < end {
            let Some(frame) = reader.next_frame()? else { break };
            self.frame(&frame, send).map_err(|error| match error {
                RecoveryError::Payload { what, .. } => {
                    let (path, offset) = files.place(frame.header.lsn);
                    RecoveryError::Payload {
                        lsn: frame.header.lsn,
                        path,
                        offset,
                        what,
                    }
                }
                other => other,
            })?;
            report.at(frame.header.end(), progress);
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, send: &mut Send<'_>) -> Result<(), RecoveryError> {
        let (header, payload) = (&frame.header, frame.payload);
        match header.kind {
            FrameKind::Commit => {
                let (commit, body) = CommitHeader::decode(payload).ok_or(Malformed)?;
                self.transactions += 1;
                if commit.transaction == 0 {
                    return OperationStream::default()
                        .feed_bodies(body, |_, body| send_data(send, header.end(), body));
                }
                let key = TransactionKey::Fragmented {
                    term: header.term,
                    transaction: commit.transaction,
                };
                self.part(key, body, send)?;
                self.streams.remove(&key);
                Ok(())
            }
            FrameKind::Fragment => {
                let (fragment, body) = FragmentHeader::decode(payload).ok_or(Malformed)?;
                let key = TransactionKey::Fragmented {
                    term: header.term,
                    transaction: fragment.transaction,
                };
                self.part(key, body, send)
            }
            FrameKind::Prepare => {
                let (_, rest) = PrepareHeader::decode(payload).ok_or(Malformed)?;
                let (commit, body) = CommitHeader::decode(rest).ok_or(Malformed)?;
                let key = match commit.transaction {
                    0 => TransactionKey::Prepared(header.lsn),
                    transaction => TransactionKey::Fragmented {
                        term: header.term,
                        transaction,
                    },
                };
                self.part(key, body, send)?;
                self.streams.remove(&key);
                Ok(())
            }
            FrameKind::CommitPrepared => {
                self.transactions += 1;
                Ok(())
            }
            FrameKind::Abort
            | FrameKind::RollbackPrepared
            | FrameKind::Sequence
            | FrameKind::Pad
            | FrameKind::Void
            | FrameKind::Term
            | FrameKind::RestorePoint => Ok(()),
        }
    }

    /// A part of the operations of a transaction whose fate stands elsewhere.
    fn part(&mut self, key: TransactionKey, body: &[u8], send: &mut Send<'_>) -> Result<(), RecoveryError> {
        let Some(transaction) = self.scan.transactions.get(&key) else {
            return Ok(());
        };
        if transaction.fate == Fate::Lost {
            return Ok(());
        }
        let stream = self.streams.entry(key).or_default();
        match transaction.fate {
            Fate::Lost => Ok(()), // returned above, before a stream was made for it
            Fate::Committed(ts) => stream.feed_bodies(body, |ordinal, body| {
                if transaction.header.is_rolled_back(ordinal) {
                    Ok(())
                } else {
                    send_data(send, ts, body)
                }
            }),
            Fate::Undecided(index) => stream.feed_bodies(body, |ordinal, body| {
                if !transaction.header.is_rolled_back(ordinal) {
                    self.prepared[index].push(body.to_vec());
                }
                Ok(())
            }),
        }
    }
}

/// The catalog was recovered before.
fn send_data(send: &mut Send<'_>, ts: Lsn, body: &[u8]) -> Result<(), RecoveryError> {
    if Operation::decode(body).ok_or(Malformed)?.table() == CATALOG_TABLE {
        Ok(())
    } else {
        send(ts, body)
    }
}
