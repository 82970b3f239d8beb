//! Prepared transactions while they wait for their decision: what is left of each, and all of them by gid. What comes and goes
//! here: `prepared`.

use super::lent::Lent;
use super::work::Work;
use crate::slots::TransactionId;
use mote_common::Lsn;
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use mote_log::LogUnavailable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// PostgreSQL's GIDSIZE is 200 with the closing zero.
pub const GID_BYTES_MAX: usize = 199;
/// A prepared transaction, as others see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreparedInfo {
    pub gid: String,
    /// Another one after a restart.
    pub transaction: TransactionId,
    /// What the caller of `prepare` wants to know again, also after a restart.
    pub note: Vec<u8>,
}

/// Why a transaction was not prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrepareError {
    GidTooLong,
    /// `prepared_max` is 0.
    Disabled,
    GidInUse,
    TooMany {
        maximum: usize,
    },
    /// The transaction did something that cannot be prepared.
    Unsupported(&'static str),
    /// An advisory key is locked both by the session and by the transaction.
    LockedAtBothLevels,
    /// The transaction's locks do not fit into a frame.
    TooManyLocks {
        bytes: usize,
        maximum_bytes: usize,
    },
    LogUnavailable(LogUnavailable),
}

/// What is left of a transaction between PREPARE and the decision.
pub(super) struct Dormant {
    pub(super) slot: u32,
    pub(super) work: Lent<Work>,
    pub(super) seen: Lsn,
    /// Written again: from where, and where the new PREPARE ends. Until that is stable the old frames count.
    pub(super) relogged: Option<(Lsn, Lsn)>,
}

pub(super) struct Entry {
    pub(super) info: PreparedInfo,
    /// PREPARE is over.
    pub(super) ready: AtomicBool,
    /// `None` before PREPARE is over, and after the decision.
    pub(super) dormant: Mutex<Option<Dormant>>,
}

/// All prepared transactions of an engine, by gid. Lock order: `entries` is never held while `dormant` is taken.
pub(crate) struct PreparedTransactions {
    /// Relaxed: changes while nobody else has the engine.
    pub(super) maximum: AtomicUsize,
    pub(super) log_bytes: u64,
    pub(super) entries: Mutex<BTreeMap<String, Arc<Entry>>>,
}

impl PreparedTransactions {
    pub(crate) fn new(maximum: usize, log_bytes: u64) -> PreparedTransactions {
        PreparedTransactions {
            maximum: AtomicUsize::new(maximum),
            log_bytes,
            entries: Mutex::default(),
        }
    }

    /// So many from now on; those that are there stay.
    pub(crate) fn set_maximum(&self, maximum: usize) {
        self.maximum.store(maximum, Ordering::Relaxed);
    }

    /// Takes a gid for a transaction that is being prepared.
    pub(super) fn reserve(&self, info: PreparedInfo) -> Result<Arc<Entry>, PrepareError> {
        if info.gid.len() > GID_BYTES_MAX {
            return Err(PrepareError::GidTooLong);
        }
        let maximum = self.maximum.load(Ordering::Relaxed);
        if maximum == 0 {
            return Err(PrepareError::Disabled);
        }
        let mut entries = self.entries.lock();
        if entries.contains_key(&info.gid) {
            return Err(PrepareError::GidInUse);
        }
        if entries.len() >= maximum {
            return Err(PrepareError::TooMany { maximum });
        }
        Ok(insert(&mut entries, info))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.lock().is_empty()
    }

    pub(super) fn forget(&self, gid: &str) {
        self.entries.lock().remove(gid);
    }

    /// Those whose PREPARE is over.
    pub(super) fn ready(&self) -> Vec<Arc<Entry>> {
        let entries = self.entries.lock();
        // Acquire pairs with the Release in `Entry::settle`.
        let ready = entries
            .values()
            .filter(|entry| entry.ready.load(Ordering::Acquire));
        ready.cloned().collect()
    }
}

pub(super) fn insert(entries: &mut BTreeMap<String, Arc<Entry>>, info: PreparedInfo) -> Arc<Entry> {
    let entry = Arc::new(Entry {
        info: info.clone(),
        ready: AtomicBool::new(false),
        dormant: Mutex::new(None),
    });
    entries.insert(info.gid, entry.clone());
    entry
}

impl Entry {
    pub(super) fn settle(&self, dormant: Dormant) {
        *self.dormant.lock() = Some(dormant);
        self.ready.store(true, Ordering::Release);
    }
}
