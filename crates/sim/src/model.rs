//! The oracle: every committed version of every row, with its timestamp.
//!
//! It is told of a commit when the engine has named its timestamp, and can then say what any snapshot must show. After a
//! crash it is cut to what the log still held: the engine must show exactly that.

use std::collections::BTreeMap;

use mote_common::{Lsn, RowId, TableId};

/// The columns of the simulator's tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Unique in its table.
    pub key: i64,
    /// Indexed, not unique, may be NULL.
    pub group: Option<i64>,
    pub text: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RowKey {
    pub table: TableId,
    pub row: RowId,
}

/// `None`: deleted.
pub type Version = Option<Row>;

#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Oldest first.
    rows: BTreeMap<RowKey, Vec<(Lsn, Version)>>,
    /// Since when a table is there, or not.
    tables: BTreeMap<TableId, Vec<(Lsn, bool)>>,
    /// Timestamps of commits that wrote.
    commits: Vec<Lsn>,
}

impl Model {
    /// The changes of one transaction, in order: the last one of a row counts.
    pub fn commit(&mut self, ts: Lsn, changes: &[(RowKey, Version)]) {
        for (key, version) in changes {
            let history = self.rows.entry(*key).or_default();
            match history.last_mut() {
                Some((last, newest)) if *last == ts => *newest = version.clone(),
                _ => history.push((ts, version.clone())),
            }
        }
        self.commits.push(ts);
    }

    /// A table was created, or dropped, by the commit at `ts`.
    pub fn commit_table(&mut self, ts: Lsn, table: TableId, exists: bool) {
        self.tables.entry(table).or_default().push((ts, exists));
        self.commits.push(ts);
    }

    /// The tables that exist at `ts`.
    pub fn tables(&self, ts: Lsn) -> Vec<TableId> {
        let exists = |history: &Vec<(Lsn, bool)>| {
            history
                .iter()
                .rev()
                .find(|(at, _)| *at <= ts)
                .is_some_and(|e| e.1)
        };
        self.tables
            .iter()
            .filter(|(_, history)| exists(history))
            .map(|(&table, _)| table)
            .collect()
    }

    /// The version a snapshot at `ts` sees of a row, a deletion included, and its timestamp.
    pub fn version_at(&self, key: RowKey, ts: Lsn) -> Option<(Lsn, &Version)> {
        let history = self.rows.get(&key)?;
        history
            .iter()
            .rev()
            .find(|(version, _)| *version <= ts)
            .map(|(at, version)| (*at, version))
    }

    /// What a snapshot at `ts` sees of a row.
    pub fn version(&self, key: RowKey, ts: Lsn) -> Option<&Row> {
        self.version_at(key, ts)?.1.as_ref()
    }

    /// Everything a snapshot at `ts` sees in `tables`.
    pub fn contents(&self, tables: &[TableId], ts: Lsn) -> BTreeMap<RowKey, &Row> {
        let rows = self.rows.keys().filter(|key| tables.contains(&key.table));
        rows.filter_map(|&key| Some((key, self.version(key, ts)?)))
            .collect()
    }

    /// A row of `tables` that was there at some time, chosen by `pick` from their number.
    pub fn some_row(&self, tables: &[TableId], pick: impl FnOnce(u64) -> u64) -> Option<RowKey> {
        let rows = || self.rows.keys().filter(|key| tables.contains(&key.table));
        let count = rows().count() as u64;
        if count == 0 {
            None
        } else {
            rows().nth(pick(count) as usize).copied()
        }
    }

    /// Forgets what committed after `end`. Answers how many commits that were.
    pub fn cut(&mut self, end: Lsn) -> usize {
        for history in self.rows.values_mut() {
            history.retain(|(ts, _)| *ts <= end);
        }
        self.rows.retain(|_, history| !history.is_empty());
        for history in self.tables.values_mut() {
            history.retain(|(ts, _)| *ts <= end);
        }
        let before = self.commits.len();
        self.commits.retain(|ts| *ts <= end);
        before - self.commits.len()
    }

    /// Versions that no snapshot will ask for again.
    pub fn forget_history(&mut self) {
        for history in self.rows.values_mut() {
            history.drain(..history.len() - 1);
        }
        self.rows.retain(|_, history| history[0].1.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_see_what_was_committed_before_them() {
        let key = RowKey {
            table: TableId(1),
            row: RowId(0),
        };
        let row = |key| Row {
            key,
            group: None,
            text: Vec::new(),
        };
        let mut model = Model::default();
        model.commit(Lsn(10), &[(key, Some(row(1))), (key, Some(row(2)))]);
        model.commit(Lsn(20), &[(key, None)]);
        assert_eq!(model.version(key, Lsn(9)), None);
        assert_eq!(model.version(key, Lsn(15)), Some(&row(2)));
        assert_eq!(model.version(key, Lsn(20)), None);
        assert_eq!(model.cut(Lsn(15)), 1);
        assert_eq!(model.contents(&[TableId(1)], Lsn::MAX).len(), 1);
    }
}
