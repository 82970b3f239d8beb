//! Tables that come and go: by transactions that commit at once, and by prepared ones that are decided later.
//!
//! They change while no session runs. Until a prepared one is decided no session uses the tables that it drops: the locks
//! that keep others away are the executor's business.

use std::sync::Arc;

use mote_common::{Lsn, TableId};
use mote_engine::{
    Access, BuildProgress, Engine, Isolation, LogUnavailable, PrepareError, PrepareFailure, Transaction,
    WriteError,
};

use super::{TABLES_MAX, World};
use crate::model::{Row, RowKey, Version};
use crate::prepared::Undecided;
use crate::schema;

/// Keys of rows that prepared transactions put into new tables: sessions use others.
const KEYS: i64 = 1_000_000;
/// The same of rows that a savepoint takes back.
const LOST_KEYS: i64 = 2_000_000;

impl World {
    /// CREATE TABLE or DROP TABLE, while nobody else does anything: their locks are the executor's business.
    pub(super) fn change_tables(&mut self) -> Result<(), String> {
        self.sessions.clear();
        for _ in 0..self.prepared.len() {
            if !self.decide()? {
                return Ok(());
            }
        }
        if self.prepared.len() > 0 {
            return Ok(()); // the disk is full
        }
        self.check_when_quiet()?;
        if self.prng.chance(1, 2) {
            self.prepare_tables()?;
            self.tables = self.usable_tables();
            return Ok(());
        }
        if self.tables.len() < TABLES_MAX && self.prng.chance(1, 2) {
            if let Ok((table, ts)) = create_table(&self.engine) {
                self.model.commit_table(ts, table, true);
            }
        } else if self.tables.len() > 1 {
            let victim = self.tables[self.prng.below(self.tables.len() as u64) as usize];
            let Ok(transaction) = self.engine.begin(Isolation::ReadCommitted, false) else {
                return Ok(());
            };
            let dropped = transaction.drop_table(victim);
            if dropped.is_ok()
                && let Ok(receipt) = transaction.commit()
            {
                let ts = receipt
                    .commit_ts
                    .ok_or("DROP TABLE committed without a timestamp")?;
                self.model.commit_table(ts, victim, false);
            }
        }
        self.tables = self.model.tables(Lsn::MAX);
        Ok(())
    }

    /// CREATE TABLE, DROP TABLE or TRUNCATE, prepared: decided some time later, perhaps in another life.
    fn prepare_tables(&mut self) -> Result<(), String> {
        let Ok(transaction) = self.engine.begin(Isolation::ReadCommitted, false) else {
            return Ok(());
        };
        let gid = format!("tables {}", self.tables.len());
        let (mut changes, mut tables) = (Vec::new(), Vec::new());
        let makes = self.tables.len() < TABLES_MAX && self.prng.chance(1, 2);
        let truncates = !makes && self.prng.chance(1, 2);
        if makes {
            let Ok(table) = self.make_filled_table(&transaction, &mut changes) else {
                return Ok(());
            };
            tables.push((table, true));
        } else if self.tables.len() > 1 {
            let victim = self.tables[self.prng.below(self.tables.len() as u64) as usize];
            if truncates {
                let Ok(fresh) = transaction.truncate_table(victim) else {
                    return Ok(());
                };
                self.fill(&transaction, fresh.table, KEYS, &mut changes)?;
                tables.push((fresh.table, true));
            } else if transaction.drop_table(victim).is_err() {
                return Ok(());
            }
            tables.push((victim, false));
        }
        match transaction.prepare(&gid, gid.as_bytes()) {
            Ok(receipt) => {
                self.report.prepared += 1;
                self.report.prepared_tables += 1;
                self.prepared.add(Undecided {
                    gid,
                    at: receipt.seen,
                    changes,
                    tables,
                });
                Ok(())
            }
            Err(PrepareFailure {
                error:
                    PrepareError::LogUnavailable(
                        LogUnavailable::DiskFull
                        | LogUnavailable::Stopped
                        | LogUnavailable::KeepsTooMuch { .. },
                    ),
                ..
            }) => Ok(()),
            Err(other) => Err(format!("prepare of tables: {other:?}")),
        }
    }

    /// A table with rows from before its indexes and from after, and some that a savepoint took back.
    fn make_filled_table(
        &mut self,
        transaction: &Transaction,
        changes: &mut Vec<(RowKey, Version)>,
    ) -> Result<TableId, String> {
        let id = transaction
            .create_table(&schema::table())
            .map_err(|e| format!("create table: {e:?}"))?;
        self.fill(transaction, id, KEYS, changes)?;
        let savepoint = transaction.savepoint();
        self.fill(transaction, id, LOST_KEYS, &mut Vec::new())?;
        if self.prng.chance(1, 2) {
            create_indexes(transaction, id)?;
        }
        transaction.rollback_to(savepoint);
        create_indexes(transaction, id)?;
        self.fill(transaction, id, KEYS, changes)?;
        Ok(id)
    }

    /// Rows under keys from `first_key` on that no row of `changes` has.
    fn fill(
        &mut self,
        transaction: &Transaction,
        id: TableId,
        first_key: i64,
        changes: &mut Vec<(RowKey, Version)>,
    ) -> Result<(), String> {
        let table = self.engine.table(id).ok_or("the new table is gone")?;
        transaction.begin_statement(Access::Write);
        for _ in 0..self.prng.below(6) {
            let row = Row {
                key: first_key + changes.len() as i64,
                group: self.prng.chance(2, 3).then(|| self.prng.below(8) as i64),
                text: vec![b'x'; self.prng.below(200) as usize],
            };
            match transaction.insert(&table, &schema::encode(&table, &row)) {
                Ok(id) => changes.push((
                    RowKey {
                        table: table.id(),
                        row: id,
                    },
                    Some(row),
                )),
                Err(WriteError::LogUnavailable(_)) => return Ok(()),
                Err(other) => return Err(format!("insert into a new table: {other:?}")),
            }
        }
        Ok(())
    }

    /// Those that no prepared transaction drops.
    pub(super) fn usable_tables(&self) -> Vec<TableId> {
        let dropped = self.prepared.dropped_tables();
        let mut tables = self.model.tables(Lsn::MAX);
        tables.retain(|table| !dropped.contains(table));
        tables
    }
}

pub(super) fn create_table(engine: &Arc<Engine>) -> Result<(TableId, Lsn), String> {
    let transaction = engine
        .begin(Isolation::ReadCommitted, false)
        .map_err(|e| format!("begin: {e:?}"))?;
    let id = transaction
        .create_table(&schema::table())
        .map_err(|e| format!("create table: {e:?}"))?;
    create_indexes(&transaction, id)?;
    let receipt = transaction.commit().map_err(|e| format!("commit: {e:?}"))?;
    Ok((
        id,
        receipt
            .commit_ts
            .ok_or("CREATE TABLE committed without a timestamp")?,
    ))
}

fn create_indexes(transaction: &Transaction, id: TableId) -> Result<(), String> {
    let definitions = [
        schema::key_index(id),
        schema::group_index(id),
        schema::length_index(id),
        schema::text_index(id),
    ];
    for definition in definitions {
        let mut build = transaction
            .create_index(&definition)
            .map_err(|e| format!("create index: {e:?}"))?;
        let built = transaction
            .build_index(&mut build, usize::MAX)
            .map_err(|e| format!("build index: {e:?}"))?;
        if built != BuildProgress::Done {
            return Err("the index of an empty table was not built at once".into());
        }
    }
    Ok(())
}
