//! The session, the server, advisory locks, sizes, the write-ahead log's positions.
//!
//! What shows the catalog as SQL text is in `catalog_text`, the text itself in `crate::views::text`.

use mote_common::error::state;
use mote_common::{Lsn, Oid, SqlError, SqlResult};
use mote_engine::{AdvisoryKey, AdvisoryMode, AdvisoryScope, WaitPolicy, WriteError};
use mote_sql::catalog::CatalogView;
use mote_types::{Datum, Numeric, oid};

use super::{
    Body, CallSite, array_of, boolean, catalog_text, float8, int4, int8, numeric, oid as oid_value, text,
};
use crate::command::privileges;
use crate::expr::{reg_lookup, split_name};
use crate::modify::write_error;
use crate::query::runtime::Runtime;
use crate::session::SessionDirectory;
use crate::session::identity::is_identity;
use crate::views::{names, partitions};

pub fn body(name: &str) -> Option<Body> {
    if let Some(body) = advisory(name).or_else(|| session(name)).or_else(|| storage(name)) {
        return Some(body);
    }
    catalog_text::body(name)
}

fn session(name: &str) -> Option<Body> {
    Some(match name {
        "pgsql_version" => Body::Runtime(|runtime, _, _| {
            let version = runtime.session().settings.get("server_version")?.to_string();
            let (machine, system) = (std::env::consts::ARCH, std::env::consts::OS);
            Ok(Datum::from(format!("PostgreSQL {version} on {machine}-{system}")))
        }),
        "pg_client_encoding" | "getdatabaseencoding" => Body::Pure(|_| Ok(Datum::from("UTF8"))),
        "PG_encoding_to_char" => Body::Pure(|a| Ok(Datum::from(if int4(&a[0]) == 6 { "UTF8" } else { "" }))),
        "PG_char_to_encoding" => Body::Pure(|a| {
            let utf8 = matches!(
                text(&a[0]).to_ascii_lowercase().as_str(),
                "utf8" | "utf-8" | "unicode"
            );
            Ok(Datum::Int4(if utf8 { 6 } else { -1 }))
        }),
        "current_schemas" => Body::Runtime(|runtime, _, a| {
            let implicit = boolean(&a[0]);
            let catalog = &runtime.session().catalog;
            let listed = catalog.search_path.iter().any(|schema| schema == "pg_catalog");
            let path = catalog.search_path().into_iter().filter(|schema| {
                (implicit || listed || schema != "pg_catalog") && catalog.schema_exists(schema)
            });
            Ok(Datum::array(oid::NAME, path.map(Datum::from).collect()))
        }),
        "pg_trigger_depth" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::Int4(runtime.session().trigger_depth as i32)))
        }
        "pg_backend_pid" => Body::Runtime(|runtime, _, _| Ok(Datum::Int4(runtime.session().pid as i32))),
        "show_config_by_name" => {
            Body::Runtime(|runtime, _, a| Ok(Datum::from(runtime.session().settings.get(text(&a[0]))?)))
        }
        "show_config_by_name_missing_ok" => {
            Body::Runtime(
                |runtime, _, a| match runtime.session().settings.get(text(&a[0])) {
                    Ok(value) => Ok(Datum::from(value)),
                    Err(_) if boolean(&a[1]) => Ok(Datum::Null),
                    Err(error) => Err(error),
                },
            )
        }
        "set_config_by_name" => Body::Runtime(set_config),
        "pg_typeof" => Body::Runtime(|_, site, _| Ok(Datum::Oid(site.arguments[0].oid.0))),
        "pg_num_nulls" => Body::Runtime(|_, site, a| Ok(count_nulls(site, a, true))),
        "pg_num_nonnulls" => Body::Runtime(|_, site, a| Ok(count_nulls(site, a, false))),
        "pg_column_size" => Body::Runtime(|_, site, a| {
            let mut stored = Vec::new();
            mote_types::encode_storage(&a[0], site.arguments[0], &mut stored);
            Ok(Datum::Int4(stored.len() as i32))
        }),
        "hashtext" => Body::Pure(|a| Ok(Datum::Int4(super::hash::hash_any(text(&a[0]).as_bytes()) as i32))),
        "pg_sleep" => Body::Runtime(sleep),
        "pg_is_in_recovery" => Body::Pure(|_| Ok(Datum::Bool(false))),
        "pg_reload_conf" => Body::Pure(|_| Ok(Datum::Bool(true))),
        "pg_postmaster_start_time" | "pg_conf_load_time" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::TimestampTz(runtime.database().started_us())))
        }
        "pg_current_xact_id" | "pg_current_xact_id_if_assigned" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::Int8(runtime.transaction().id().0 as i64)))
        }
        "xid_age" => Body::Runtime(|runtime, _, a| {
            let now = runtime.transaction().id().0 as u32;
            Ok(Datum::Int4(now.wrapping_sub(oid_value(&a[0])) as i32))
        }),
        "gen_random_uuid" => Body::Pure(|_| random_uuid()),
        "inet_server_port" => Body::Pure(|_| Ok(Datum::Null)),
        "inet_client_port" => Body::Runtime(|runtime, _, _| {
            let client = runtime.session().activity.doing().client;
            Ok(client.map_or(Datum::Null, |client| Datum::Int4(client.port() as i32)))
        }),
        "row_security_active" | "row_security_active_name" => Body::Pure(|_| Ok(Datum::Bool(false))),
        "pg_my_temp_schema" => Body::Runtime(|runtime, _, _| {
            let schema = runtime.session().catalog.temporary_schema();
            Ok(Datum::Oid(schema.map_or(0, |(oid, _)| oid.0)))
        }),
        "pg_is_other_temp_schema" => Body::Pure(|_| Ok(Datum::Bool(false))),
        "pg_notify" => Body::Runtime(|runtime, _, a| {
            let word = |value: &Datum| value.as_str().unwrap_or_default().to_string();
            let (channel, payload) = (word(&a[0]), word(&a[1]));
            let session = &mut *runtime.context().session;
            let depth = session.savepoint_depth;
            session.notifications.say(depth, &channel, &payload)?;
            Ok(Datum::from(""))
        }),
        "pg_notification_queue_usage" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::Float8(runtime.database().notifications().usage())))
        }
        "pg_cancel_backend" => {
            Body::Runtime(|runtime, _, a| signal(runtime, int4(&a[0]), "cancel", SessionDirectory::cancel))
        }
        "pg_terminate_backend" => Body::Runtime(|runtime, _, a| {
            let told = signal(runtime, int4(&a[0]), "terminate", SessionDirectory::terminate)?;
            match a.get(1).map(int8) {
                Some(timeout_ms) if timeout_ms < 0 => Err(SqlError::new(
                    state::NUMERIC_VALUE_OUT_OF_RANGE,
                    "\"timeout\" must not be negative",
                )),
                Some(timeout_ms) if timeout_ms > 0 && told.as_bool() == Some(true) => {
                    await_end(runtime, int4(&a[0]), timeout_ms)
                }
                _ => Ok(told),
            }
        }),
        "pg_blocking_pids" => Body::Runtime(|runtime, _, a| {
            let blockers = blocking_pids(runtime, int4(&a[0]));
            Ok(Datum::array(oid::INT4, blockers.map(Datum::Int4).collect()))
        }),
        // Nobody waits for a safe snapshot: READ ONLY DEFERRABLE transactions have one from the start.
        "pg_safe_snapshot_blocking_pids" => Body::Pure(|_| Ok(Datum::array(oid::INT4, Vec::new()))),
        "pg_isolation_test_session_is_blocked" => Body::Runtime(|runtime, _, a| {
            let interesting: Vec<i64> = array_of(&a[1])
                .elements
                .iter()
                .filter_map(Datum::as_i64)
                .collect();
            let mut blockers = blocking_pids(runtime, int4(&a[0]));
            Ok(Datum::Bool(
                blockers.any(|pid| interesting.contains(&(pid as i64))),
            ))
        }),
        _ => return None,
    })
}

/// The sessions in whose way another one stands, as pids: holders of what it waits for, and who queues before it.
fn blocking_pids(runtime: &Runtime<'_, '_>, pid: i32) -> impl Iterator<Item = i32> + use<> {
    let blockers = runtime.database().engine().blockers(pid as u32).into_iter();
    blockers.map(|(session, _)| session as i32)
}

/// pg_cancel_backend and pg_terminate_backend: allowed to superusers and to members of the session's role.
fn signal(
    runtime: &mut Runtime<'_, '_>,
    pid: i32,
    verb: &str,
    send: fn(&SessionDirectory, u32) -> bool,
) -> SqlResult<Datum> {
    let sessions = runtime.database().sessions();
    let Some(activity) = sessions.activity(pid as u32) else {
        let message = format!("PID {pid} is not a PostgreSQL backend process");
        let warning = SqlError::new(state::WARNING, message);
        let severity = mote_common::error::Severity::Warning;
        runtime.context().host.notice(warning.severity(severity));
        return Ok(Datum::Bool(false));
    };
    let user = activity.doing().user;
    let session = runtime.session();
    let is_superuser = (session.catalog.current().roles)
        .get(&user)
        .is_some_and(|role| role.object.superuser);
    let (what, of) = match verb {
        "cancel" => ("cancel superuser query", "query is being canceled"),
        _ => ("terminate superuser process", "process is being terminated"),
    };
    let denied = |message: String| Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    if is_superuser && !session.superuser {
        return denied(format!("must be a superuser to {what}"));
    }
    if !privileges::is_member(session, user) {
        return denied(format!(
            "must be a member of the role whose {of} or member of pg_signal_backend"
        ));
    }
    let told = send(sessions, pid as u32);
    if pid as u32 == runtime.session().pid {
        // As in PostgreSQL the statement itself is what ends.
        runtime.context().act_on_signals()?;
    }
    Ok(Datum::Bool(told))
}

/// How often pg_terminate_backend looks whether the session is gone.
const LOOK_AGAIN_NS: u64 = 5_000_000;

/// Waits until a session is gone; false, with a warning, if it is not in time.
fn await_end(runtime: &mut Runtime<'_, '_>, pid: i32, timeout_ms: i64) -> SqlResult<Datum> {
    let context = runtime.context();
    let now = |context: &crate::context::StatementContext<'_>| context.session.clock.monotonic_ns();
    let deadline = now(context).saturating_add((timeout_ms as u64).saturating_mul(1_000_000));
    while context.database.sessions().activity(pid as u32).is_some() {
        if now(context) >= deadline {
            let plural = if timeout_ms == 1 { "" } else { "s" };
            let message =
                format!("backend with PID {pid} did not terminate within {timeout_ms} millisecond{plural}");
            let warning = SqlError::new(state::WARNING, message);
            context
                .host
                .notice(warning.severity(mote_common::error::Severity::Warning));
            return Ok(Datum::Bool(false));
        }
        let next = now(context) + LOOK_AGAIN_NS;
        context.sleep_until(next.min(deadline))?;
    }
    Ok(Datum::Bool(true))
}

fn set_config(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let Some(name) = a[0].as_str() else {
        return Err(SqlError::new(
            state::NULL_VALUE_NOT_ALLOWED,
            "SET requires parameter name",
        ));
    };
    let local = a[2].as_bool().unwrap_or(false);
    let context = runtime.context();
    let depth = context.session.savepoint_depth;
    let mut value = match a[1].as_str() {
        Some(value) => value.to_string(),
        None => context.session.settings.default_of(name)?,
    };
    if is_identity(name) {
        value = context.session.check_identity(name, &value)?;
    }
    let settings = &mut context.session.settings;
    if let Some(reported) = settings.set(name, &value, local, depth)? {
        context.host.parameter_status(reported.name, &reported.value);
    }
    let was_superuser = context.session.superuser;
    context.session.settings_changed();
    if context.session.superuser != was_superuser {
        let value = context.session.settings.get("is_superuser")?.to_string();
        context.host.parameter_status("is_superuser", &value);
    }
    Ok(Datum::from(context.session.settings.get(name)?))
}

fn count_nulls(site: &CallSite, arguments: &[Datum], nulls: bool) -> Datum {
    debug_assert_eq!(site.arguments.len(), arguments.len());
    Datum::Int4(arguments.iter().filter(|value| value.is_null() == nulls).count() as i32)
}

fn sleep(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let seconds = float8(&a[0]).max(0.0);
    let context = runtime.context();
    let until = context
        .session
        .clock
        .monotonic_ns()
        .saturating_add((seconds * 1e9) as u64);
    context.sleep_until(until)?;
    Ok(Datum::from(""))
}

/// Version 4, from the operating system's entropy.
fn random_uuid() -> SqlResult<Datum> {
    let mut bytes = [0u8; 16];
    mote_common::env::real::fill_entropy(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Datum::Uuid(bytes))
}

// Advisory locks.

struct AdvisoryCall {
    mode: AdvisoryMode,
    scope: AdvisoryScope,
    tries: bool,
    unlocks: bool,
}

fn advisory(name: &str) -> Option<Body> {
    if name == "pg_advisory_unlock_all" {
        return Some(Body::Runtime(|runtime, _, _| {
            let pid = runtime.session().pid;
            runtime.database().engine().release_session_locks(pid);
            Ok(Datum::from(""))
        }));
    }
    let known = name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_");
    known.then_some(Body::Runtime(|runtime, site, a| {
        let name = site.name;
        let call = AdvisoryCall {
            mode: if name.ends_with("_shared") {
                AdvisoryMode::Shared
            } else {
                AdvisoryMode::Exclusive
            },
            scope: if name.contains("_xact_") {
                AdvisoryScope::Transaction
            } else {
                AdvisoryScope::Session
            },
            tries: name.starts_with("pg_try_"),
            unlocks: name.contains("_unlock"),
        };
        call.run(runtime, a)
    }))
}

impl AdvisoryCall {
    fn run(&self, runtime: &mut Runtime<'_, '_>, a: &[Datum]) -> SqlResult<Datum> {
        let database = runtime.session().catalog.database.0;
        let key = match a {
            [Datum::Int8(key)] => AdvisoryKey {
                database,
                key: *key as u64,
                two_parts: false,
            },
            _ => {
                let (high, low) = (int4(&a[0]) as u32, int4(&a[1]) as u32);
                AdvisoryKey {
                    database,
                    key: (high as u64) << 32 | low as u64,
                    two_parts: true,
                }
            }
        };
        let transaction = runtime.transaction();
        if self.unlocks {
            let held = transaction.unlock_advisory(key, self.mode);
            if !held {
                let lock = if self.mode == AdvisoryMode::Shared {
                    "ShareLock"
                } else {
                    "ExclusiveLock"
                };
                let warning = SqlError::new(state::WARNING, format!("you don't own a lock of type {lock}"));
                runtime
                    .context()
                    .host
                    .notice(warning.severity(mote_common::error::Severity::Warning));
            }
            return Ok(Datum::Bool(held));
        }
        let policy = if self.tries {
            WaitPolicy::NoWait
        } else {
            WaitPolicy::Block
        };
        loop {
            match transaction.lock_advisory(key, self.mode, self.scope, policy) {
                Ok(()) if self.tries => return Ok(Datum::Bool(true)),
                Ok(()) => return Ok(Datum::from("")),
                Err(WriteError::WouldBlock) => return Ok(Datum::Bool(false)),
                Err(WriteError::MustWait(ticket)) => runtime.context().wait(ticket)?,
                Err(error) => return Err(write_error::lock_error(error)),
            }
        }
    }
}

// Sizes and log positions.

fn storage(name: &str) -> Option<Body> {
    Some(match name {
        "pg_relation_size_regclass" | "pg_relation_size" | "pg_table_size" => {
            Body::Runtime(|runtime, _, a| Ok(relation_bytes(runtime, &a[0], true, false)))
        }
        "mote_memory_bytes" => Body::Runtime(|runtime, _, _| {
            Ok(Datum::Int8(
                runtime.database().engine().memory().used_bytes as i64,
            ))
        }),
        "pg_stat_get_live_tuples" => {
            Body::Runtime(|runtime, _, a| Ok(Datum::Int8(live_rows(runtime, &a[0]))))
        }
        // Scans are not counted.
        "pg_stat_get_numscans" => Body::Pure(|_| Ok(Datum::Int8(0))),
        "pg_relation_filenode" => Body::Pure(|a| Ok(a[0].clone())),
        "pg_indexes_size" => Body::Runtime(|runtime, _, a| Ok(relation_bytes(runtime, &a[0], false, true))),
        "pg_total_relation_size" => {
            Body::Runtime(|runtime, _, a| Ok(relation_bytes(runtime, &a[0], true, true)))
        }
        "pg_database_size_name"
        | "pg_database_size_oid"
        | "pg_tablespace_size_oid"
        | "pg_tablespace_size_name" => Body::Runtime(|runtime, _, _| {
            let report = runtime.database().engine().memory();
            Ok(Datum::Int8(report.used_bytes as i64))
        }),
        "pg_size_pretty" => Body::Pure(|a| Ok(Datum::from(size_pretty(int8(&a[0]) as i128)))),
        "pg_size_pretty_numeric" => Body::Pure(|a| {
            let bytes = numeric(&a[0]).trunc(0).to_scaled_i64(0).unwrap_or(i64::MAX);
            Ok(Datum::from(size_pretty(bytes as i128)))
        }),
        "pg_current_wal_lsn" | "pg_current_wal_insert_lsn" => Body::Runtime(|runtime, _, _| {
            Ok(Datum::Int8(runtime.database().engine().horizons().tail.0 as i64))
        }),
        "pg_last_wal_receive_lsn" | "pg_last_wal_replay_lsn" => Body::Pure(|_| Ok(Datum::Null)),
        "pg_wal_lsn_diff" | "pg_lsn_mi" => Body::Pure(|a| {
            let difference = int8(&a[0]) as u64 as i128 - int8(&a[1]) as u64 as i128;
            Ok(Datum::Numeric(Numeric::from_scaled_i128(difference, 0)))
        }),
        "pg_lsn_pli" => Body::Pure(|a| move_lsn(int8(&a[0]), numeric(&a[1]), 1)),
        "numeric_pl_pg_lsn" => Body::Pure(|a| move_lsn(int8(&a[1]), numeric(&a[0]), 1)),
        "pg_lsn_mii" => Body::Pure(|a| move_lsn(int8(&a[0]), numeric(&a[1]), -1)),
        "pg_sequence_last_value" => Body::Runtime(|runtime, _, a| {
            let entry = runtime.session().catalog.entry(Oid(oid_value(&a[0])));
            let Some(stored) = entry.and_then(|entry| entry.stored.sequence.clone()) else {
                return Ok(Datum::Null);
            };
            let sequence = runtime
                .database()
                .engine()
                .sequence(mote_engine::SequenceId(stored.id));
            Ok(match sequence.map(|sequence| sequence.peek()) {
                Some((value, true)) => Datum::Int8(value),
                _ => Datum::Null,
            })
        }),
        "pg_partition_root" => Body::Runtime(|runtime, _, a| {
            let catalog = runtime.session().catalog.current();
            let above = partitions::ancestors(&catalog, Oid(oid_value(&a[0])));
            Ok(above.last().map_or(Datum::Null, |root| Datum::oid(*root)))
        }),
        "to_regclass" => Body::Runtime(|runtime, _, a| Ok(to_reg(runtime, &a[0], oid::REGCLASS))),
        "to_regtype" => Body::Runtime(|runtime, _, a| Ok(to_reg(runtime, &a[0], oid::REGTYPE))),
        "to_regproc" | "to_regprocedure" => Body::Pure(|a| {
            let (_, name) = split_name(text(&a[0]));
            let bare = name.split('(').next().unwrap_or(&name);
            Ok(names::function_oid(bare).map_or(Datum::Null, Datum::oid))
        }),
        "to_regcollation" => Body::Pure(|a| {
            let (_, name) = split_name(text(&a[0]));
            Ok(names::collation_oid(&name).map_or(Datum::Null, Datum::oid))
        }),
        "to_regnamespace" => Body::Runtime(|runtime, _, a| Ok(to_reg(runtime, &a[0], oid::REGNAMESPACE))),
        "to_regrole" => Body::Runtime(|runtime, _, a| Ok(to_reg(runtime, &a[0], oid::REGROLE))),
        _ => return None,
    })
}

fn to_reg(runtime: &mut Runtime<'_, '_>, name: &Datum, ty: Oid) -> Datum {
    reg_lookup(runtime, text(name), ty).map_or(Datum::Null, |oid| Datum::Oid(oid.0))
}

/// Bytes a row takes on average besides its own, and an index entry: what the memory budget counts per item is not
/// kept per table, so sizes are estimated from row counts and widths.
const ROW_OVERHEAD_BYTES: i64 = 32;
const INDEX_ENTRY_BYTES: i64 = 24;

/// Rows of a table as the engine counts them; 0 for anything else.
fn live_rows(runtime: &Runtime<'_, '_>, relation: &Datum) -> i64 {
    let relation = runtime.session().catalog.relation(Oid(oid_value(relation)));
    let table = relation.and_then(|relation| runtime.database().engine().table(relation.table));
    table.map_or(0, |table| table.row_count_estimate() as i64)
}

fn relation_bytes(runtime: &Runtime<'_, '_>, relation: &Datum, rows: bool, indexes: bool) -> Datum {
    let Some(relation) = runtime.session().catalog.relation(Oid(oid_value(relation))) else {
        return Datum::Null;
    };
    let count = runtime
        .database()
        .engine()
        .table(relation.table)
        .map_or(0, |table| table.row_count_estimate() as i64);
    let width: i64 = relation
        .columns
        .iter()
        .map(|column| mote_types::storage_class(column.ty).width().unwrap_or(16) as i64)
        .sum();
    let own = if rows {
        count * (width + ROW_OVERHEAD_BYTES)
    } else {
        0
    };
    let index = if indexes {
        count * INDEX_ENTRY_BYTES * relation.indexes.len() as i64
    } else {
        0
    };
    Datum::Int8(own + index)
}

/// Powers of 1024, each up to ten of the next, rounded half away from zero.
fn size_pretty(bytes: i128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let (mut value, mut unit) = (bytes, 0);
    if value.abs() < 10 * 1024 {
        return format!("{value} bytes");
    }
    // One bit more than the unit is kept for the rounding.
    value /= 512;
    unit += 1;
    while unit + 1 < UNITS.len() && value.abs() >= 20 * 1024 - 1 {
        value /= 1024;
        unit += 1;
    }
    let rounded = if value >= 0 {
        (value + 1) / 2
    } else {
        (value - 1) / 2
    };
    format!("{rounded} {}", UNITS[unit])
}

fn move_lsn(lsn: i64, by: &Numeric, sign: i128) -> SqlResult<Datum> {
    let refuse = || SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "pg_lsn out of range");
    let by = by.trunc(0).to_scaled_i64(0).ok_or_else(refuse)?;
    let moved = lsn as u64 as i128 + sign * by as i128;
    let moved = u64::try_from(moved).map_err(|_| refuse())?;
    Ok(Datum::Int8(Lsn(moved).0 as i64))
}
