//! Statistics and locks: pg_stat_*, pg_statio_*, pg_locks.
//!
//! The engine counts rows, not scans: counters that nobody keeps are 0, as they are in PostgreSQL after a reset.

use std::collections::HashMap;

use mote_common::{Oid, SqlResult, TableId};
use mote_engine::{AdvisoryKey, LockInfo, LockTag};
use mote_types::{Datum, Numeric};

use crate::views::facts::{Facts, Known};
use crate::views::row::{NULL, row, xid};
use crate::views::{all_relations, shown_as_view};

const NO_COUNT: i64 = 0;

/// The session's own row, and the numbers of the others: what they do is known to them alone.
pub fn activity(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let session = facts.session;
    let application = session.settings.get("application_name")?;
    let mut rows = vec![row![
        facts.database(),
        facts.database_name(),
        session.pid as i32,
        NULL,
        session.user_oid,
        &session.user,
        application,
        NULL,
        NULL,
        NULL,
        NULL,
        Datum::TimestampTz(session.transaction_start_us),
        Datum::TimestampTz(session.statement_start_us),
        Datum::TimestampTz(session.statement_start_us),
        NULL,
        NULL,
        "active",
        NULL,
        NULL,
        NULL,
        NULL,
        "client backend",
    ]];
    for &pid in facts.pids.iter().filter(|&&pid| pid != session.pid) {
        let mut row = row![NULL, NULL, pid as i32];
        row.extend(std::iter::repeat_n(NULL, 18));
        row.push(Datum::text("client backend"));
        rows.push(row);
    }
    Ok(rows)
}

pub fn locks(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let tables: HashMap<TableId, Oid> = facts
        .relations()
        .iter()
        .map(|known| (known.relation.table, known.relation.oid))
        .collect();
    Ok(facts
        .engine
        .locks()
        .iter()
        .map(|lock| lock_row(facts, &tables, lock))
        .collect())
}

/// The columns of pg_locks that name what is locked.
struct Locked {
    kind: &'static str,
    relation: Datum,
    page: Datum,
    tuple: Datum,
    transaction: Datum,
    class: Datum,
    object: Datum,
    part: Datum,
}

impl Locked {
    fn nothing(kind: &'static str) -> Locked {
        Locked {
            kind,
            relation: NULL,
            page: NULL,
            tuple: NULL,
            transaction: NULL,
            class: NULL,
            object: NULL,
            part: NULL,
        }
    }

    fn new(tag: LockTag, tables: &HashMap<TableId, Oid>) -> Locked {
        let relation = |table: TableId| tables.get(&table).map_or(NULL, |&oid| Datum::oid(oid));
        match tag {
            LockTag::Table(table) => Locked {
                relation: relation(table),
                ..Locked::nothing("relation")
            },
            LockTag::Row(table, row) => Locked {
                relation: relation(table),
                page: Datum::Int4(row.segment() as i32),
                tuple: Datum::Int2(row.offset() as i16),
                ..Locked::nothing("tuple")
            },
            LockTag::Transaction(id) => Locked {
                transaction: Datum::oid(xid(id.0 as u32)),
                ..Locked::nothing("transactionid")
            },
            LockTag::Advisory(AdvisoryKey { key, two_parts, .. }) => Locked {
                class: Datum::Oid((key >> 32) as u32),
                object: Datum::Oid(key as u32),
                part: Datum::Int2(if two_parts { 2 } else { 1 }),
                ..Locked::nothing("advisory")
            },
        }
    }
}

fn lock_row(facts: &Facts<'_>, tables: &HashMap<TableId, Oid>, lock: &LockInfo) -> Vec<Datum> {
    let locked = Locked::new(lock.tag, tables);
    let database = match lock.tag {
        LockTag::Transaction(_) => NULL,
        _ => Datum::oid(facts.database()),
    };
    row![
        locked.kind,
        database,
        locked.relation,
        locked.page,
        locked.tuple,
        NULL,
        locked.transaction,
        locked.class,
        locked.object,
        locked.part,
        format!("{}/{}", lock.session, lock.transaction),
        lock.session as i32,
        lock.mode.name(),
        lock.granted,
        lock.fast_path,
        NULL,
    ]
}

pub fn databases(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut databases: Vec<_> = facts
        .catalog
        .databases
        .values()
        .map(|entry| &entry.object)
        .collect();
    databases.sort_by_key(|database| database.oid);
    let rows = databases.into_iter().map(|database| {
        let backends = i32::from(database.oid == facts.database().0);
        let mut row = row![Oid(database.oid), &database.name, backends];
        // xact_commit to deadlocks, then checksums, times and sessions.
        row.extend(std::iter::repeat_n(Datum::Int8(NO_COUNT), 13));
        row.extend([NULL, NULL]);
        row.extend(std::iter::repeat_n(Datum::Float8(0.0), 5));
        row.extend(std::iter::repeat_n(Datum::Int8(NO_COUNT), 4));
        row.push(NULL);
        row
    });
    Ok(rows.collect())
}

pub fn all_tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let builtin = all_relations()
        .iter()
        .filter(|relation| !shown_as_view(relation.oid));
    let mut rows: Vec<Vec<Datum>> = builtin
        .map(|relation| table_row(relation.oid, &relation.schema, &relation.name, 0))
        .collect();
    rows.extend(user_tables(facts)?);
    Ok(rows)
}

pub fn user_tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.tables().map(|Known { relation, .. }| {
        table_row(
            relation.oid,
            &relation.schema,
            &relation.name,
            facts.rows_of(relation),
        )
    });
    Ok(rows.collect())
}

fn table_row(oid: Oid, schema: &str, name: &str, live: i64) -> Vec<Datum> {
    let mut row = row![oid, schema, name];
    // seq_scan to n_tup_hot_upd.
    row.extend(std::iter::repeat_n(Datum::Int8(NO_COUNT), 8));
    row.extend(row![live, NO_COUNT, NO_COUNT, NO_COUNT, NULL, NULL, NULL, NULL]);
    row.extend(std::iter::repeat_n(Datum::Int8(NO_COUNT), 4));
    row
}

pub fn indexes(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    counted_indexes(facts, 3)
}

pub fn io_indexes(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    counted_indexes(facts, 2)
}

fn counted_indexes(facts: &Facts<'_>, counters: usize) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.indexes().map(|known| {
        let (table, index) = (known.table, known.index);
        let mut row = row![table.oid, index.oid, &table.schema, &table.name, &index.name];
        row.extend(std::iter::repeat_n(Datum::Int8(NO_COUNT), counters));
        row
    });
    Ok(rows.collect())
}

pub fn io_tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.tables().map(|Known { relation, .. }| {
        let mut row = row![relation.oid, &relation.schema, &relation.name];
        row.extend(std::iter::repeat_n(Datum::Int8(NO_COUNT), 4));
        row.extend([NULL, NULL, NULL, NULL]);
        row
    });
    Ok(rows.collect())
}

pub fn io_sequences(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let sequences = facts.relations_of_kind(crate::catalog_store::stored::StoredKind::Sequence);
    let rows = sequences.map(|Known { relation, .. }| {
        row![relation.oid, &relation.schema, &relation.name, NO_COUNT, NO_COUNT]
    });
    Ok(rows.collect())
}

pub fn bgwriter(_: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let count = NO_COUNT;
    Ok(vec![row![
        count, count, 0.0f64, 0.0f64, count, count, count, count, count, count, NULL
    ]])
}

pub fn wal(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let written = Datum::Numeric(Numeric::from(facts.engine.horizons().stable.0 as i64));
    let count = NO_COUNT;
    Ok(vec![row![
        count, count, written, count, count, count, 0.0f64, 0.0f64, NULL
    ]])
}

pub fn archiver(_: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    Ok(vec![row![NO_COUNT, NULL, NULL, NO_COUNT, NULL, NULL, NULL]])
}
