//! Prepared transactions as the simulator knows them: which are undecided, and which a crash makes undecided again.

use std::collections::BTreeSet;

use mote_common::{Lsn, TableId};

use crate::model::{RowKey, Version};

#[derive(Clone)]
pub struct Undecided {
    pub gid: String,
    /// Where its PREPARE frame ends.
    pub at: Lsn,
    pub changes: Vec<(RowKey, Version)>,
    /// Tables that its commit makes (true) or drops.
    pub tables: Vec<(TableId, bool)>,
}

#[derive(Clone, Default)]
pub struct Prepared {
    open: Vec<Undecided>,
    /// With the end of the frame that decided it, since the last crash.
    decided: Vec<(Lsn, Undecided)>,
}

impl Prepared {
    pub fn add(&mut self, undecided: Undecided) {
        self.open.push(undecided);
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn get(&self, which: usize) -> &Undecided {
        &self.open[which]
    }

    pub fn all(&self) -> Vec<&Undecided> {
        self.open.iter().collect()
    }

    pub fn decide(&mut self, which: usize, end: Lsn) -> &Undecided {
        let undecided = self.open.swap_remove(which);
        self.decided.push((end, undecided));
        &self.decided.last().expect("pushed above").1
    }

    /// The log ends at `end`: later decisions were not taken, later PREPAREs were not made.
    pub fn cut(&mut self, end: Lsn) {
        let forgotten = self.decided.drain(..).filter(|(decision, _)| *decision > end);
        self.open.extend(forgotten.map(|(_, undecided)| undecided));
        self.open.retain(|undecided| undecided.at <= end);
    }

    /// Tables that are there and will be dropped by their commit: nobody gets past the locks that the executor takes.
    pub fn dropped_tables(&self) -> Vec<TableId> {
        let tables = self.open.iter().flat_map(|undecided| &undecided.tables);
        let dropped = tables.filter(|(_, exists)| !exists);
        dropped.map(|(table, _)| *table).collect()
    }

    /// Rows that they changed.
    pub fn rows(&self) -> BTreeSet<RowKey> {
        let changes = self.open.iter().flat_map(|undecided| &undecided.changes);
        changes.map(|(key, _)| *key).collect()
    }
}
