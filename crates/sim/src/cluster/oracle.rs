//! What was stable once, byte by byte, and what was acknowledged to clients: commits, and slots.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::Disk;
use mote_common::env::sim::SimDisk;
use mote_log::range::LogRanges;
use mote_replication::NodeId;
use mote_replication::slots::Slots;

use super::{SEGMENT_BYTES, SYSTEM_ID};

pub(super) struct Oracle {
    /// The log from its start, as far as any primary has called it stable.
    stable: Vec<u8>,
    /// Commits that clients were told of, and their timestamps.
    acknowledged: BTreeMap<u64, Lsn>,
    /// Slots that somebody was answered to have, and those that somebody has dropped, or was about to.
    slots: BTreeSet<String>,
    dropped: BTreeSet<String>,
}

impl Oracle {
    pub fn new() -> Oracle {
        Oracle {
            stable: Vec::new(),
            acknowledged: BTreeMap::new(),
            slots: BTreeSet::new(),
            dropped: BTreeSet::new(),
        }
    }

    pub fn end(&self) -> Lsn {
        Lsn(SEGMENT_BYTES + self.stable.len() as u64)
    }

    /// A primary calls `[from, to)` stable, and has it on `disk`.
    pub fn became_stable(&mut self, disk: &SimDisk, from: Lsn, to: Lsn, by: NodeId) -> Result<(), String> {
        let bytes = read_log(disk, from, to)?;
        let at = (from.0 - SEGMENT_BYTES) as usize;
        let known = self.stable.len().saturating_sub(at).min(bytes.len());
        if self.stable.get(at..at + known) != Some(&bytes[..known]) {
            return Err(format!(
                "{by:?} calls log stable from {from} on that was stable with other bytes"
            ));
        }
        self.stable.extend_from_slice(&bytes[known..]);
        Ok(())
    }

    /// The node's log, which ends at `end`, holds all that was ever stable.
    pub fn holds(&self, disk: &SimDisk, end: Lsn, node: NodeId) -> Result<(), String> {
        if end < self.end() {
            return Err(format!(
                "{node:?} ends at {end}, but the log was stable up to {}",
                self.end()
            ));
        }
        self.agrees(disk, self.end(), node)
    }

    /// The node's log is what was stable, up to `end`.
    pub fn agrees(&self, disk: &SimDisk, end: Lsn, node: NodeId) -> Result<(), String> {
        let end = end.min(self.end());
        let bytes = read_log(disk, Lsn(SEGMENT_BYTES), end)?;
        let stable = &self.stable[..bytes.len()];
        if stable == bytes {
            return Ok(());
        }
        let at = stable.iter().zip(&bytes).take_while(|(a, b)| a == b).count();
        Err(format!(
            "{node:?} has other bytes at {} than were stable",
            Lsn(SEGMENT_BYTES + at as u64)
        ))
    }

    pub fn acknowledged(&mut self, commit: u64, ts: Lsn) {
        self.acknowledged.insert(commit, ts);
    }

    /// The answer may be late: another leader may have dropped the slot meanwhile.
    pub fn slot_answered(&mut self, name: String) {
        if !self.dropped.contains(&name) {
            self.slots.insert(name);
        }
    }

    pub fn slot_dropped(&mut self, name: &str) {
        self.slots.remove(name);
        self.dropped.insert(name.into());
    }

    /// The node comes to lead with these slots.
    pub fn has_slots(&self, slots: &Slots, node: NodeId) -> Result<(), String> {
        match self.slots.iter().find(|name| slots.get(name).is_none()) {
            None => Ok(()),
            Some(name) => Err(format!(
                "{node:?} leads without the slot {name}, which was answered"
            )),
        }
    }

    pub fn all_acknowledged(&self, commits: &BTreeSet<(u64, Lsn)>) -> Result<(), String> {
        match self
            .acknowledged
            .iter()
            .find(|(commit, ts)| !commits.contains(&(**commit, **ts)))
        {
            None => Ok(()),
            Some((commit, ts)) => Err(format!("commit {commit} at {ts} was acknowledged and is gone")),
        }
    }
}

/// Raw log out of a disk's files.
pub(super) fn read_log(disk: &SimDisk, from: Lsn, to: Lsn) -> Result<Vec<u8>, String> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut ranges = LogRanges::new(disk, SYSTEM_ID, SEGMENT_BYTES);
    let mut bytes = vec![0; to.0.saturating_sub(from.0) as usize];
    let mut done = 0;
    while done < bytes.len() {
        let at = Lsn(from.0 + done as u64);
        match ranges.read(at, &mut bytes[done..]) {
            Ok(Some(read)) => done += read,
            Ok(None) => return Err(format!("there is no log at {at}")),
            Err(error) => return Err(format!("the log at {at} cannot be read: {error}")),
        }
    }
    Ok(bytes)
}
