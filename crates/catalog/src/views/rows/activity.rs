//! Statistics and locks: pg_stat_*, pg_statio_*, pg_locks.
//!
//! The engine counts rows, not scans: counters that nobody keeps are 0, as they are in PostgreSQL after a reset.

use std::collections::HashMap;
use std::sync::Arc;

use mote_common::{Oid, SqlResult, TableId};
use mote_engine::{AdvisoryKey, Level, LockInfo, LockTag, TransactionId};
use mote_sql::catalog::Relation;
use mote_types::family::network::Address;
use mote_types::{Datum, Numeric};

use crate::activity::{Activity, ActivityState, Doing, Waiting};
use crate::prepared_note::PreparedNote;
use crate::system_schemas::shown_as_view;
use crate::upkeep::Done;
use crate::views::all_relations;
use crate::views::facts::{Facts, Known};
use crate::views::row::{NULL, row, xid};
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;

const NO_COUNT: i64 = 0;

/// What those see of a statement who may not know what its role does.
const HIDDEN_QUERY: &str = "<insufficient privilege>";

/// One row per session: the own one first where the host registered none (in process).
pub fn activity(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let own = facts.session;
    let awaited: HashMap<u32, &str> = (facts.engine.locks().iter())
        .filter(|lock| !lock.granted)
        .map(|lock| (lock.session, wait_event(lock.tag)))
        .collect();
    let row = |pid: u32, activity: &Activity| {
        let doing = activity.doing().clone();
        activity_row(
            facts,
            pid,
            &doing,
            activity.query_id(),
            awaited.get(&pid).copied(),
        )
    };
    let mut rows: Vec<Vec<Datum>> = (facts.sessions.iter())
        .map(|(pid, activity)| row(*pid, activity))
        .collect();
    if facts.sessions.iter().all(|&(pid, _)| pid != own.pid) {
        rows.insert(0, row(own.pid, own.activity));
    }
    Ok(rows)
}

fn wait_event(tag: LockTag) -> &'static str {
    match tag {
        LockTag::Table(_) => "relation",
        LockTag::Row(..) => "tuple",
        LockTag::Transaction(_) => "transactionid",
        LockTag::Advisory(_) => "advisory",
    }
}

/// A commit is on this node's disk, and not yet where its session wants it to be.
fn waits_for_followers(facts: &Facts<'_>, doing: &Doing) -> bool {
    let (log, until) = (facts.engine.log(), doing.held_until);
    !until.is_nothing()
        && log.has_quorum()
        && log.reached(until.level) < until.lsn
        && log.reached(Level::Local) >= until.lsn
}

fn activity_row(
    facts: &Facts<'_>,
    pid: u32,
    doing: &Doing,
    query_id: Option<i64>,
    awaited: Option<&str>,
) -> Vec<Datum> {
    let started = doing.user != Oid::INVALID;
    let database = facts.catalog.databases.get(&doing.database);
    let user = started.then_some(doing.user);
    let mut row = row![
        started.then_some(doing.database),
        database.map(|entry| &entry.object.name),
        pid as i32,
        NULL,
        user,
        user.and_then(|user| facts.role_name(user)),
        &doing.application,
    ];
    if !facts.sees_statistics_of(doing.user) {
        row.extend(std::iter::repeat_n(NULL, 13));
        row.push(Datum::text(HIDDEN_QUERY));
        row.push(NULL);
        return row;
    }
    let at = |us: Option<i64>| us.map_or(NULL, Datum::TimestampTz);
    let (kind, event) = match (doing.state, doing.waiting) {
        (ActivityState::Active, Some((Waiting::Lock, _))) => (Some("Lock"), awaited),
        (ActivityState::Active, Some((Waiting::Log, _))) => (Some("IO"), Some("WALWrite")),
        (ActivityState::Active, Some((Waiting::Memory, _))) => (Some("IPC"), Some("VersionCleanup")),
        (ActivityState::Active, Some((Waiting::Sleep, _))) => (Some("Timeout"), Some("PgSleep")),
        (ActivityState::Active, Some((Waiting::Client, _))) => (Some("Client"), Some("ClientRead")),
        (ActivityState::Active | ActivityState::Unknown, _) => (None, None),
        _ => (Some("Client"), Some("ClientRead")),
    };
    // A lock that was granted between the two looks is no longer waited for.
    let kind = event.and(kind);
    // The session has done its part, the client still waits: as in PostgreSQL, where the session itself waits.
    let (kind, event, state) = match waits_for_followers(facts, doing) {
        true => (Some("IPC"), Some("SyncRep"), ActivityState::Active),
        false => (kind, event, doing.state),
    };
    row.extend(row![
        doing
            .client
            .map_or(NULL, |client| Address::of_host(client.ip()).to_datum()),
        NULL,
        // PostgreSQL's number for a Unix socket.
        doing.client.map_or(-1, |client| i32::from(client.port())),
        at((doing.backend_start_us != 0).then_some(doing.backend_start_us)),
        at(doing.transaction_start_us),
        at(doing.query_start_us),
        at((doing.state_change_us != 0).then_some(doing.state_change_us)),
        kind,
        event,
        state.name(),
        NULL,
        NULL,
        query_id.map_or(NULL, Datum::Int8),
        &doing.query,
        "client backend",
    ]);
    row
}

pub fn locks(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let tables: HashMap<TableId, Oid> = facts
        .relations()
        .iter()
        .map(|known| (known.relation.table, known.relation.oid))
        .collect();
    let since: HashMap<u32, i64> = (facts.sessions.iter())
        .filter_map(|(pid, activity)| Some((*pid, activity.doing().waiting?.1)))
        .collect();
    let locks = facts.engine.locks();
    let mut rows: Vec<Vec<Datum>> = locks
        .iter()
        .map(|lock| lock_row(facts, &tables, lock, since.get(&lock.session).copied()))
        .collect();
    let transactions = facts.engine.transactions().into_iter();
    rows.extend(transactions.map(|(session, id)| virtual_transaction_row(session, id)));
    Ok(rows)
}

/// A prepared transaction has no session.
fn virtual_transaction(session: u32, id: TransactionId) -> String {
    match session {
        0 => format!("-1/{id}"),
        session => format!("{session}/{id}"),
    }
}

/// Every transaction holds its own virtual number.
fn virtual_transaction_row(session: u32, id: TransactionId) -> Vec<Datum> {
    let name = virtual_transaction(session, id);
    let mut row = row!["virtualxid", NULL, NULL, NULL, NULL, &name];
    row.extend(std::iter::repeat_n(NULL, 4));
    row.extend(row![&name, session as i32, "ExclusiveLock", true, true, NULL]);
    row
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

fn lock_row(
    facts: &Facts<'_>,
    tables: &HashMap<TableId, Oid>,
    lock: &LockInfo,
    since_us: Option<i64>,
) -> Vec<Datum> {
    let locked = Locked::new(lock.tag, tables);
    let database = match lock.tag {
        LockTag::Transaction(_) => NULL,
        LockTag::Advisory(key) => Datum::Oid(key.database),
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
        virtual_transaction(lock.session, lock.transaction),
        (lock.session != 0).then_some(lock.session as i32),
        lock.mode.name(),
        lock.granted,
        lock.fast_path,
        since_us
            .filter(|_| !lock.granted)
            .map_or(NULL, Datum::TimestampTz),
    ]
}

/// Of all databases, as in PostgreSQL.
pub fn prepared_transactions(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.engine.prepared().into_iter().filter_map(|info| {
        let note = PreparedNote::of(&info)?;
        let owner = facts.catalog.roles.get(&note.owner);
        let database = facts.catalog.databases.get(&note.database);
        Some(row![
            xid(info.transaction.0 as u32),
            &info.gid,
            Datum::TimestampTz(note.prepared_us),
            owner.map(|role| role.object.name.as_str()),
            database.map(|database| database.object.name.as_str()),
        ])
    });
    Ok(rows.collect())
}

pub fn databases(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.databases().into_iter().map(|database| {
        let here = |(_, activity): &&(u32, Arc<Activity>)| activity.doing().database == Oid(database.oid);
        let backends = facts.sessions.iter().filter(here).count() as i32;
        let mut row = row![Oid(database.oid), &database.name, backends];
        let counts = facts
            .directory
            .map(|directory| directory.counts(Oid(database.oid)));
        let (counts, reset) = counts.unwrap_or_default();
        row.extend(row![counts.committed as i64, counts.rolled_back as i64]);
        // blks_read to deadlocks, then checksums and times.
        row.extend(std::iter::repeat_n(Datum::Int8(NO_COUNT), 11));
        row.extend([NULL, NULL]);
        row.extend(std::iter::repeat_n(Datum::Float8(0.0), 5));
        row.push(Datum::Int8(counts.sessions as i64));
        // sessions_abandoned to sessions_killed.
        row.extend(std::iter::repeat_n(Datum::Int8(NO_COUNT), 3));
        row.push(reset.map_or(NULL, Datum::TimestampTz));
        row
    });
    Ok(rows.collect())
}

/// A row for each database, as monitors expect. What the replay of a follower ends is not counted.
pub fn database_conflicts(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.databases().into_iter().map(|database| {
        let mut row = row![Oid(database.oid), &database.name];
        row.extend(std::iter::repeat_n(NULL, 5));
        row
    });
    Ok(rows.collect())
}

pub fn all_tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let builtin = all_relations()
        .iter()
        .filter(|relation| !shown_as_view(relation.oid));
    let mut rows: Vec<Vec<Datum>> = builtin.map(|relation| table_row(facts, relation, 0)).collect();
    rows.extend(user_tables(facts)?);
    Ok(rows)
}

pub fn user_tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts
        .with_rows()
        .map(|Known { relation, .. }| table_row(facts, relation, facts.rows_of(relation)));
    Ok(rows.collect())
}

fn table_row(facts: &Facts<'_>, relation: &Relation, live: i64) -> Vec<Datum> {
    let changes = facts.changes_of(relation);
    let done = facts
        .upkeep
        .map(|upkeep| upkeep.of(relation.oid))
        .unwrap_or_default();
    let at = |done: Done| done.last_us.map_or(NULL, Datum::TimestampTz);
    let mut row = row![relation.oid, &relation.schema, &relation.name];
    // seq_scan to idx_tup_fetch: who reads a table is not counted, which zero would not say.
    row.extend(std::iter::repeat_n(NULL, 4));
    row.extend(row![
        changes.inserted as i64,
        changes.updated as i64,
        changes.deleted as i64,
        NO_COUNT,
        live,
        NO_COUNT,
        NO_COUNT,
        NO_COUNT,
        at(done.vacuumed),
        NULL,
        at(done.analyzed),
        at(done.analyzed_by_itself),
        done.vacuumed.times,
        NO_COUNT,
        done.analyzed.times,
        done.analyzed_by_itself.times,
    ]);
    row
}

pub fn indexes(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    // Who reads through an index is not counted: zero would call it unused.
    counted_indexes(facts, [NULL, NULL, NULL])
}

pub fn io_indexes(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    // There are no blocks.
    counted_indexes(facts, [Datum::Int8(0), Datum::Int8(0)])
}

/// Of tables that have rows themselves.
fn counted_indexes<const N: usize>(facts: &Facts<'_>, counters: [Datum; N]) -> SqlResult<Vec<Vec<Datum>>> {
    let indexes = facts.indexes().filter(|known| !known.table.is_partitioned());
    let rows = indexes.map(|known| {
        let (table, index) = (known.table, known.index);
        let mut row = row![table.oid, index.oid, &table.schema, &table.name, &index.name];
        row.extend(counters.iter().cloned());
        row
    });
    Ok(rows.collect())
}

pub fn io_tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let own = facts.with_rows().filter(|known| !known.relation.is_partitioned());
    let rows = own.map(|Known { relation, .. }| {
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

pub fn bgwriter(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let count = NO_COUNT;
    Ok(vec![row![
        count,
        count,
        0.0f64,
        0.0f64,
        count,
        count,
        count,
        count,
        count,
        count,
        moment(facts.resets.background_us)
    ]])
}

pub fn wal(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let since = facts.resets;
    let bytes = facts.engine.horizons().stable.0.saturating_sub(since.log.0);
    let written = Datum::Numeric(Numeric::from(bytes as i64));
    let count = NO_COUNT;
    Ok(vec![row![
        count,
        count,
        written,
        count,
        count,
        count,
        0.0f64,
        0.0f64,
        moment(since.log_us)
    ]])
}

fn moment(us: Option<i64>) -> Datum {
    us.map_or(NULL, Datum::TimestampTz)
}

pub fn archiver(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let report = facts.engine.archive_report().unwrap_or_default();
    let since = facts.resets;
    let is_new = |(_, us): &(String, i64)| {
        since
            .archiver_us
            .is_none_or(|reset| us - POSTGRES_EPOCH_UNIX_US > reset)
    };
    let name_and_time = |last: Option<(String, i64)>| match last.filter(is_new) {
        Some((name, us)) => [
            Datum::text(&name),
            Datum::TimestampTz(us - POSTGRES_EPOCH_UNIX_US),
        ],
        None => [NULL, NULL],
    };
    let [archived, archived_at] = name_and_time(report.last_archived);
    let [failed, failed_at] = name_and_time(report.last_failed);
    let done = report.archived_count.saturating_sub(since.archived) as i64;
    let failures = report.failed_count.saturating_sub(since.failed) as i64;
    Ok(vec![row![
        done,
        archived,
        archived_at,
        failures,
        failed,
        failed_at,
        moment(since.archiver_us)
    ]])
}
