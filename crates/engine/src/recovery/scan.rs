//! The first reading of the log: its end, the fate of every transaction, and the catalog's operations.
//!
//! The fate of a transaction with fragments, or of a prepared one, stands behind its operations; the second reading
//! (`replay`) therefore needs this one. A transaction whose fragments began before the log's start is in the images as
//! a whole (the log is kept for all others), so it is marked headless and skipped.

use std::collections::{BTreeMap, HashMap};

use mote_common::Lsn;

use super::error::RecoveryError;
use super::{CATALOG_TABLE, Phase, Progress};
use crate::checkpoint::Manifest;
use mote_log::frame::{FrameHeader, FrameKind};
use mote_log::reader::{Frame, LogFiles, LogReader};
use mote_log::record::{CommitHeader, FragmentHeader, Malformed, Operation, OperationStream, PrepareHeader};
use mote_log::varint::Cursor;
use mote_log::{Pin, PinOwner, SequenceState};

/// Names a transaction whose operations and fate stand in different frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum TransactionKey {
    Fragmented {
        term: u32,
        transaction: u64,
    },
    /// By the start of its PREPARE frame.
    Prepared(Lsn),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Committed(Lsn),
    /// Aborted, rolled back, or running when the server died.
    Lost,
    /// Prepared and not decided: the index into `Scan::prepared`.
    Undecided(usize),
}

#[derive(Debug)]
pub(super) struct Transaction {
    pub header: CommitHeader,
    pub fate: Fate,
    first: Lsn,
    headless: bool,
    stream: OperationStream,
}

#[derive(Debug)]
pub(super) struct Prepared {
    pub gid: Vec<u8>,
    pub state: Vec<u8>,
    pub tells: bool,
    decided: bool,
    first: Lsn,
    key: TransactionKey,
}

/// An operation on the catalog table; `ts` is known at the end of the scan.
#[derive(Debug)]
struct CatalogOperation {
    key: Option<TransactionKey>,
    ts: Lsn,
    ordinal: u64,
    body: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Scan {
    pub end: Lsn,
    /// There is log behind `end`, above the bound.
    pub cut_short: bool,
    pub term: u32,
    /// First fragments of the last term's transactions that are not over, by their numbers.
    pub open: BTreeMap<u64, Lsn>,
    pub sequences: Vec<SequenceState>,
    pub transactions: HashMap<TransactionKey, Transaction>,
    pub prepared: Vec<Prepared>,
    /// Commits of prepared transactions, for the pins: (first frame, commit).
    decided: Vec<Pin>,
    catalog: Vec<CatalogOperation>,
}

impl Scan {
    /// The catalog's operations in log order, with the timestamps of their commits.
    pub fn catalog_operations(&self) -> impl Iterator<Item = (Lsn, &[u8])> {
        self.catalog.iter().filter_map(|operation| {
            let ts = match operation.key {
                None => operation.ts,
                Some(key) => self.committed(key, operation.ordinal)?,
            };
            Some((ts, operation.body.as_slice()))
        })
    }

    /// The commit timestamp of an operation of a transaction with a key, if it counts.
    pub fn committed(&self, key: TransactionKey, ordinal: u64) -> Option<Lsn> {
        let transaction = self.transactions.get(&key)?;
        match transaction.fate {
            Fate::Committed(ts) if !transaction.header.is_rolled_back(ordinal) => Some(ts),
            _ => None,
        }
    }

    pub fn is_undecided(&self, prepared: &Prepared) -> bool {
        !prepared.decided
    }

    /// For the log: what it must keep for these transactions.
    pub fn pins(&self) -> Vec<(PinOwner, Pin)> {
        let fragmented =
            self.transactions
                .iter()
                .filter_map(|(key, transaction)| match (key, transaction.fate) {
                    (
                        &TransactionKey::Fragmented {
                            term,
                            transaction: number,
                        },
                        Fate::Committed(ts),
                    ) => Some((
                        PinOwner::Fragmented {
                            term,
                            transaction: number,
                        },
                        Pin {
                            first: transaction.first,
                            committed: Some(ts),
                        },
                    )),
                    _ => None,
                });
        let open = self
            .prepared
            .iter()
            .filter(|prepared| !prepared.decided)
            .map(|prepared| {
                (
                    PinOwner::Prepared {
                        gid: prepared.gid.clone(),
                    },
                    Pin {
                        first: prepared.first,
                        committed: None,
                    },
                )
            });
        let decided = self
            .decided
            .iter()
            .map(|&pin| (PinOwner::Prepared { gid: Vec::new() }, pin));
        let mut pins: Vec<_> = fragmented.chain(open).chain(decided).collect();
        pins.sort_by_key(|(_, pin)| pin.first); // maps have no order of their own; the simulator needs one
        pins
    }
}

/// Reads the log once, as far as it counts.
pub(super) fn scan(
    files: &LogFiles,
    manifest: &Manifest,
    upto: Lsn,
    progress: &mut dyn FnMut(Progress),
) -> Result<Scan, RecoveryError> {
    let mut scan = Scan {
        end: manifest.log_start,
        cut_short: false,
        term: 0,
        open: BTreeMap::new(),
        sequences: Vec::new(),
        transactions: HashMap::new(),
        prepared: Vec::new(),
        decided: Vec::new(),
        catalog: Vec::new(),
    };
    let mut reader = LogReader::new(files, manifest.log_start);
    let mut report = ProgressSteps::new(Phase::ReadLog, manifest.log_start, files.end());
    while let Some(frame) = reader.next_frame()? {
        if frame.header.end() > upto {
            scan.cut_short = true;
            break;
        }
        (scan.end, scan.term) = (frame.header.end(), frame.header.term);
        scan.frame(&frame)
            .map_err(|what| place(files, frame.header.lsn, what))?;
        report.at(frame.header.end(), progress);
    }
    if !scan.cut_short && scan.end < manifest.stable {
        let (path, offset) = files.place(scan.end);
        return Err(RecoveryError::LogTooShort {
            end: scan.end,
            needed: manifest.stable,
            path,
            offset,
        });
    }
    scan.finish(files, manifest)?;
    Ok(scan)
}

fn place(files: &LogFiles, lsn: Lsn, what: &'static str) -> RecoveryError {
    let (path, offset) = files.place(lsn);
    RecoveryError::Payload {
        lsn,
        path,
        offset,
        what,
    }
}

impl Scan {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), &'static str> {
        let (header, payload) = (&frame.header, frame.payload);
        match header.kind {
            FrameKind::Commit => {
                let (commit, body) = CommitHeader::decode(payload).ok_or("its header is malformed")?;
                self.commit(header.term, header.lsn, commit, body, header.end())
            }
            FrameKind::Fragment => {
                let (fragment, body) = FragmentHeader::decode(payload).ok_or("its header is malformed")?;
                self.fragment(header.term, header.lsn, fragment, body)
            }
            FrameKind::Abort => {
                let transaction = Cursor::new(payload).varint().ok_or("its header is malformed")?;
                self.open.remove(&transaction);
                self.transactions.remove(&TransactionKey::Fragmented {
                    term: header.term,
                    transaction,
                });
                Ok(())
            }
            FrameKind::Void => {
                let (commit, _) = CommitHeader::decode(payload).ok_or("its header is malformed")?;
                self.open.remove(&commit.transaction);
                let key = TransactionKey::Fragmented {
                    term: header.term,
                    transaction: commit.transaction,
                };
                self.transactions.remove(&key);
                Ok(())
            }
            FrameKind::Prepare => self.prepare(header, payload),
            FrameKind::CommitPrepared => self.decide(payload, Some(header.end())),
            FrameKind::RollbackPrepared => self.decide(payload, None),
            FrameKind::Sequence => {
                self.sequences
                    .push(SequenceState::decode(payload).ok_or("its state is malformed")?);
                Ok(())
            }
            FrameKind::Term => {
                // Nobody goes on with what the term before left open.
                self.open.clear();
                Ok(())
            }
            FrameKind::Pad | FrameKind::RestorePoint => Ok(()),
        }
    }

    fn fragment(
        &mut self,
        term: u32,
        lsn: Lsn,
        header: FragmentHeader,
        body: &[u8],
    ) -> Result<(), &'static str> {
        let key = TransactionKey::Fragmented {
            term,
            transaction: header.transaction,
        };
        let transaction = self.transactions.entry(key).or_insert_with(|| Transaction {
            header: CommitHeader {
                transaction: header.transaction,
                ..CommitHeader::default()
            },
            fate: Fate::Lost,
            first: lsn,
            headless: header.sequence != 0,
            stream: OperationStream::default(),
        });
        if transaction.headless {
            return Ok(());
        }
        self.open.entry(header.transaction).or_insert(lsn);
        if header.sequence != transaction.header.fragments {
            return Err("a fragment before it is missing");
        }
        transaction.header.fragments += 1;
        collect_catalog(
            &mut self.catalog,
            &mut transaction.stream,
            Some(key),
            Lsn::ZERO,
            body,
        )
    }

    fn commit(
        &mut self,
        term: u32,
        lsn: Lsn,
        header: CommitHeader,
        body: &[u8],
        ts: Lsn,
    ) -> Result<(), &'static str> {
        if header.transaction == 0 {
            let mut stream = OperationStream::default();
            collect_catalog(&mut self.catalog, &mut stream, None, ts, body)?;
            return if stream.is_complete() {
                Ok(())
            } else {
                Err("its last operation is cut off")
            };
        }
        self.end_of_operations(term, lsn, header, body, Fate::Committed(ts))
            .map(|_| ())
    }

    /// The frame that carries the last operations of a fragmented transaction. Answers its key and first frame.
    fn end_of_operations(
        &mut self,
        term: u32,
        lsn: Lsn,
        header: CommitHeader,
        body: &[u8],
        fate: Fate,
    ) -> Result<(TransactionKey, Lsn), &'static str> {
        let key = TransactionKey::Fragmented {
            term,
            transaction: header.transaction,
        };
        let fresh = || Transaction {
            header: CommitHeader::default(),
            fate,
            first: lsn,
            headless: header.fragments != 0,
            stream: OperationStream::default(),
        };
        self.open.remove(&header.transaction);
        let transaction = self.transactions.entry(key).or_insert_with(fresh);
        transaction.fate = fate;
        if !transaction.headless {
            if header.fragments != transaction.header.fragments {
                return Err("some of its fragments are missing");
            }
            collect_catalog(
                &mut self.catalog,
                &mut transaction.stream,
                Some(key),
                Lsn::ZERO,
                body,
            )?;
            if !transaction.stream.is_complete() {
                return Err("its last operation is cut off");
            }
        }
        transaction.header = header;
        Ok((key, transaction.first))
    }

    fn prepare(&mut self, frame: &FrameHeader, payload: &[u8]) -> Result<(), &'static str> {
        let (term, lsn, tells) = (frame.term, frame.lsn, frame.tells);
        let (prepare, rest) = PrepareHeader::decode(payload).ok_or("its header is malformed")?;
        let (commit, body) = CommitHeader::decode(rest).ok_or("its header is malformed")?;
        let fate = Fate::Undecided(self.prepared.len());
        let (key, first) = if commit.transaction != 0 {
            self.end_of_operations(term, lsn, commit, body, fate)?
        } else {
            let key = TransactionKey::Prepared(lsn);
            let mut stream = OperationStream::default();
            collect_catalog(&mut self.catalog, &mut stream, Some(key), Lsn::ZERO, body)?;
            self.transactions.insert(
                key,
                Transaction {
                    header: commit,
                    fate,
                    first: lsn,
                    headless: false,
                    stream,
                },
            );
            (key, lsn)
        };
        let (gid, state) = (prepare.gid.to_vec(), prepare.state.to_vec());
        self.supersede(&gid)?;
        self.prepared.push(Prepared {
            gid,
            state,
            tells,
            decided: false,
            first,
            key,
        });
        Ok(())
    }

    /// An undecided transaction is written again, whole, so that the log before can go: the earlier frames do not count.
    fn supersede(&mut self, gid: &[u8]) -> Result<(), &'static str> {
        let open = self
            .prepared
            .iter_mut()
            .rev()
            .find(|prepared| prepared.gid == gid && !prepared.decided);
        let Some(earlier) = open else { return Ok(()) };
        earlier.decided = true;
        self.transactions
            .get_mut(&earlier.key)
            .ok_or("its earlier PREPARE is missing")?
            .fate = Fate::Lost;
        Ok(())
    }

    /// COMMIT PREPARED and ROLLBACK PREPARED. A gid that is not known was prepared before the log's start and is in
    /// the images; a gid may be used again after its decision.
    fn decide(&mut self, gid: &[u8], commit: Option<Lsn>) -> Result<(), &'static str> {
        let open = self
            .prepared
            .iter_mut()
            .rev()
            .find(|prepared| prepared.gid == gid && !prepared.decided);
        let Some(prepared) = open else { return Ok(()) };
        prepared.decided = true;
        let transaction = self
            .transactions
            .get_mut(&prepared.key)
            .ok_or("its PREPARE is missing")?;
        transaction.fate = commit.map_or(Fate::Lost, Fate::Committed);
        if commit.is_some() {
            self.decided.push(Pin {
                first: prepared.first,
                committed: commit,
            });
        }
        Ok(())
    }

    /// Headless transactions must be in the images; nothing else of them is known.
    fn finish(&mut self, files: &LogFiles, manifest: &Manifest) -> Result<(), RecoveryError> {
        for transaction in self.transactions.values_mut() {
            transaction.stream = OperationStream::default();
            if transaction.headless {
                match transaction.fate {
                    Fate::Committed(ts) if ts > manifest.covered => {
                        return Err(place(files, transaction.first, "its first fragments are missing"));
                    }
                    Fate::Undecided(_) => {
                        return Err(place(
                            files,
                            transaction.first,
                            "the fragments of a PREPARE are missing",
                        ));
                    }
                    _ => transaction.fate = Fate::Lost,
                }
            }
        }
        Ok(())
    }
}

fn collect_catalog(
    catalog: &mut Vec<CatalogOperation>,
    stream: &mut OperationStream,
    key: Option<TransactionKey>,
    ts: Lsn,
    body: &[u8],
) -> Result<(), &'static str> {
    stream
        .feed_bodies::<Malformed>(body, |ordinal, body| {
            if Operation::decode(body).ok_or(Malformed)?.table() == CATALOG_TABLE {
                catalog.push(CatalogOperation {
                    key,
                    ts,
                    ordinal,
                    body: body.to_vec(),
                });
            }
            Ok(())
        })
        .map_err(|Malformed| "an operation is malformed")
}

/// Tells progress in steps of one percent.
pub(super) struct ProgressSteps {
    phase: Phase,
    start: u64,
    total: u64,
    next: u64,
}

impl ProgressSteps {
    pub fn new(phase: Phase, start: Lsn, end: Lsn) -> ProgressSteps {
        ProgressSteps {
            phase,
            start: start.0,
            total: end.0.saturating_sub(start.0).max(1),
            next: 0,
        }
    }

    pub fn at(&mut self, lsn: Lsn, progress: &mut dyn FnMut(Progress)) {
        let done = lsn.0.saturating_sub(self.start);
        if done >= self.next {
            progress(Progress {
                phase: self.phase,
                done,
                total: self.total,
            });
            self.next = done + self.total.div_ceil(100);
        }
    }
}
