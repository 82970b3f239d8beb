//! An engine's tables against the model, and its indexes against its tables, while no transaction runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mote_common::{Lsn, RowId, TableId};
use mote_engine::index::{Direction, KeyRange};
use mote_engine::{
    Access, Engine, Isolation, KeyOutcome, RowLockStrength, Snapshot, Table, TableIndex, Transaction,
    WaitPolicy, WriteError,
};

use crate::model::{Model, Row, RowKey};
use crate::prepared::Undecided;
use crate::schema;

/// Compares everything a new reader sees with the model at `ts`.
///
/// Rows of `in_flight` transactions, which are prepared, may have index entries of versions that nobody sees.
pub fn contents(
    engine: &Arc<Engine>,
    model: &Model,
    tables: &[TableId],
    in_flight: &BTreeSet<RowKey>,
    ts: Lsn,
) -> Result<(), String> {
    let reader = engine
        .begin(Isolation::RepeatableRead, true)
        .map_err(|error| format!("begin: {error:?}"))?;
    let snapshot = reader.begin_statement(Access::Read);
    let expected = model.contents(tables, ts);
    let mut found = BTreeMap::new();
    for &id in tables {
        let table = engine
            .table(id)
            .ok_or_else(|| format!("table {} is gone", id.0))?;
        let rows = visible_rows(&reader, &table, &snapshot);
        indexes(&reader, &table, &snapshot, &rows, in_flight)?;
        found.extend(
            rows.into_iter()
                .map(|(row, content)| (RowKey { table: id, row }, content)),
        );
    }
    for key in expected.keys().chain(found.keys()) {
        let (found, expected) = (found.get(key), expected.get(key).copied());
        if found != expected {
            return Err(format!(
                "{key:?} at {ts}: found {}, expected {}",
                show(found),
                show(expected)
            ));
        }
    }
    Ok(())
}

pub fn show(row: Option<&Row>) -> String {
    match row {
        Some(row) => format!(
            "key {}, group {:?}, {} bytes of text",
            row.key,
            row.group,
            row.text.len()
        ),
        None => "no row".into(),
    }
}

fn visible_rows(reader: &Transaction, table: &Table, snapshot: &Snapshot) -> BTreeMap<RowId, Row> {
    let ids = (0..table.segment_count())
        .flat_map(|segment| (0..RowId::SEGMENT_ROWS as u16).map(move |offset| RowId::new(segment, offset)));
    ids.filter_map(|id| {
        let row = reader.fetch(table, id, snapshot)?;
        Some((id, schema::decode(&table.view(row.layout(), row.bytes()))))
    })
    .collect()
}

/// Every visible row has its entry and there is no other - nobody runs, and everything dead was collected - and unique
/// keys are unique.
fn indexes(
    reader: &Transaction,
    table: &Table,
    snapshot: &Snapshot,
    rows: &BTreeMap<RowId, Row>,
    in_flight: &BTreeSet<RowKey>,
) -> Result<(), String> {
    let all = table.indexes();
    if all.len() != 4 {
        return Err(format!(
            "table {}: {} indexes, expected 4",
            table.id().0,
            all.len()
        ));
    }
    for index in all {
        let mut expected = BTreeSet::new();
        for &id in rows.keys() {
            let row = reader
                .fetch(table, id, snapshot)
                .ok_or("a row vanished under its snapshot")?;
            let mut key = Vec::new();
            match index
                .key_program
                .key(&table.view(row.layout(), row.bytes()), &mut key)
            {
                Ok(KeyOutcome::Key { .. }) => _ = expected.insert((key, id)),
                Ok(KeyOutcome::NotCovered) => {}
                Err(error) => return Err(format!("a key could not be made: {error:?}")),
            }
        }
        let found = entries(&index)?;
        let is_in_flight = |row: RowId| {
            in_flight.contains(&RowKey {
                table: table.id(),
                row,
            })
        };
        if let Some((_, id)) = found.difference(&expected).find(|(_, row)| !is_in_flight(*row)) {
            return Err(format!("index {}: an entry is left of row {id:?}", index.id.0));
        }
        if let Some((_, id)) = expected.difference(&found).next() {
            return Err(format!("index {}: row {id:?} has no entry", index.id.0));
        }
        let keys: BTreeSet<_> = expected.iter().map(|(key, _)| key).collect();
        if index.unique && keys.len() != expected.len() {
            return Err(format!(
                "unique index {}: two visible rows have one key",
                index.id.0
            ));
        }
    }
    Ok(())
}

/// What is prepared is there, and nobody gets past its locks.
pub fn prepared(engine: &Arc<Engine>, expected: &[&Undecided]) -> Result<(), String> {
    let found: BTreeSet<String> = engine.prepared().into_iter().map(|info| info.gid).collect();
    let gids: BTreeSet<String> = expected.iter().map(|undecided| undecided.gid.clone()).collect();
    if found != gids {
        return Err(format!("prepared are {found:?}, expected {gids:?}"));
    }
    let other = engine
        .begin(Isolation::ReadCommitted, false)
        .map_err(|error| format!("begin: {error:?}"))?;
    for undecided in expected {
        for (key, _) in &undecided.changes {
            let table = engine.table(key.table).ok_or("a table is gone")?;
            other.begin_statement(Access::Write);
            let locked = other.lock_row(&table, key.row, None, RowLockStrength::Share, WaitPolicy::NoWait);
            if !matches!(locked, Err(WriteError::WouldBlock)) {
                return Err(format!(
                    "{key:?} is not locked by the prepared {:?}: {locked:?}",
                    undecided.gid
                ));
            }
        }
    }
    other.abort();
    Ok(())
}

/// All entries of an index; none may come twice.
fn entries(index: &TableIndex) -> Result<BTreeSet<(Vec<u8>, RowId)>, String> {
    let mut cursor = index.tree.cursor(KeyRange::all(), Direction::Forward);
    let mut found = BTreeSet::new();
    while let Some((key, id)) = cursor.next(&index.tree) {
        if !found.insert((key.to_vec(), id)) {
            return Err(format!(
                "index {}: the entry of row {id:?} comes twice",
                index.id.0
            ));
        }
    }
    Ok(found)
}
