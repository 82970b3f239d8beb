//! The session, the server, advisory locks, sizes, the write-ahead log's positions.
//!
//! What shows the catalog as SQL text is in `catalog_text`, the text itself in `mote_catalog::views::text`.

use mote_catalog::views::object_text;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{AdvisoryKey, AdvisoryMode, AdvisoryScope, RowChanges, WaitPolicy, WriteError};
use mote_sql::access::privilege;
use mote_sql::catalog::{CatalogView, Relation};
use mote_types::datetime::arithmetic::timestamptz_plus;
use mote_types::family::network::Address;
use mote_types::{Datum, Numeric, oid};

use super::restricted::{refuse_in_recovery, require_superuser};
use super::{
    Body, CallSite, array_of, boolean, catalog_text, float8, index_property, int4, int8, interval, lsn,
    numeric, oid as oid_value, recovery, slots, text,
};
use crate::context::StatementContext;
use crate::runtime::Runtime;
use mote_catalog::catalog_store::predefined_roles::PG_SIGNAL_BACKEND;
use mote_catalog::database::Database;
use mote_catalog::directory::SessionDirectory;
use mote_catalog::privileges;
use mote_catalog::settings::is_identity;
use mote_catalog::settings::{self, SETTINGS, Settings, parse_bool};
use mote_catalog::shared_resets::SharedStatistics;
use mote_catalog::upkeep::{Done, TableUpkeep};
use mote_catalog::views::partitions;
use mote_catalog::write_error;

pub fn body(name: &str) -> Option<Body> {
    let own = advisory(name).or_else(|| session(name)).or_else(|| storage(name));
    if let Some(body) = own.or_else(|| recovery::body(name)).or_else(|| slots::body(name)) {
        return Some(body);
    }
    catalog_text::body(name).or_else(|| index_property::body(name))
}

/// Functions about the session, other sessions and the transaction.
fn session(name: &str) -> Option<Body> {
    Some(match name {
        "pgsql_version" => Body::Runtime(|runtime, _, _| {
            let version = runtime.session().settings.get("server_version")?.to_string();
            let (machine, system) = (std::env::consts::ARCH, std::env::consts::OS);
            Ok(Datum::from(format!("PostgreSQL {version} on {machine}-{system}")))
        }),
        "getdatabaseencoding" => Body::Pure(|_| Ok(Datum::from("UTF8"))),
        "pg_client_encoding" => Body::Runtime(|runtime, _, _| {
            let encoding = runtime.session().settings.effective.client_encoding;
            Ok(Datum::from(encoding.name()))
        }),
        "current_schemas" => Body::Runtime(|runtime, _, a| {
            let implicit = boolean(&a[0]);
            let catalog = &runtime.session().catalog;
            let listed = catalog.search_path.iter().any(|schema| schema == "pg_catalog");
            let temporary = catalog
                .search_path
                .iter()
                .any(|schema| schema.starts_with("pg_temp"));
            // Schemas that are searched without being named are shown where the argument asks for them.
            let path = catalog.search_path().into_iter().filter(|schema| {
                let named = match schema.as_str() {
                    "pg_catalog" => listed,
                    schema => temporary || !schema.starts_with("pg_temp"),
                };
                (implicit || named) && catalog.schema_exists(schema)
            });
            Ok(Datum::array(oid::NAME, path.map(Datum::from).collect()))
        }),
        "pg_trigger_depth" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::Int4(runtime.session().trigger_depth as i32)))
        }
        "pg_backend_pid" => Body::Runtime(|runtime, _, _| Ok(Datum::Int4(runtime.session().pid as i32))),
        "show_config_by_name" => {
            Body::Runtime(|runtime, _, a| Ok(Datum::from(runtime.session().shown_setting(text(&a[0]))?)))
        }
        "show_config_by_name_missing_ok" => {
            Body::Runtime(
                |runtime, _, a| match runtime.session().shown_setting(text(&a[0])) {
                    Ok(value) => Ok(Datum::from(value)),
                    Err(error) if boolean(&a[1]) && error.state() == state::UNDEFINED_OBJECT => {
                        Ok(Datum::Null)
                    }
                    Err(error) => Err(error),
                },
            )
        }
        "set_config_by_name" => Body::Runtime(set_config),
        "pg_typeof" => Body::Runtime(|_, site, _| Ok(Datum::Oid(site.arguments[0].oid.0))),
        "pg_num_nulls" => Body::Typed(|_, site, a| Ok(count_nulls(site, a, true))),
        "pg_num_nonnulls" => Body::Typed(|_, site, a| Ok(count_nulls(site, a, false))),
        // The bytes of the value alone, as a row stores it.
        "pg_column_size" => Body::Runtime(|_, site, a| {
            let mut stored = Vec::new();
            mote_types::encode_storage(&a[0], site.arguments[0], &mut stored);
            Ok(Datum::Int4(stored.len() as i32))
        }),
        "pg_sleep" => Body::Runtime(|runtime, _, a| sleep(runtime, float8(&a[0]))),
        "pg_sleep_for" => Body::Runtime(|runtime, _, a| {
            let now = runtime.session().clock_us();
            let end = timestamptz_plus(now, interval(&a[0]), &runtime.format().time_zone)?;
            sleep(runtime, (end as f64 - now as f64) / 1e6)
        }),
        "pg_sleep_until" => Body::Runtime(|runtime, _, a| {
            let now = runtime.session().clock_us();
            let Datum::TimestampTz(end) = a[0] else {
                return Ok(Datum::Null);
            };
            sleep(runtime, (end as f64 - now as f64) / 1e6)
        }),
        // As much of the text as `pg_stat_activity` shows.
        "current_query" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::from(runtime.session().activity.doing().query.as_str())))
        }
        "pg_stat_reset" => Body::Runtime(|runtime, site, _| {
            require_superuser(runtime, site)?;
            let database = runtime.session().catalog.database;
            let now = runtime.database().now_us();
            runtime.database().sessions().reset_counts(database, now);
            let catalog = runtime.session().catalog.current();
            let is_here = |table| {
                let table = catalog.relation(table)?;
                let schema = catalog.schemas.get(&Oid(table.stored.schema))?;
                Some(schema.object.database == database.0)
            };
            runtime
                .database()
                .upkeep()
                .forget(|table| is_here(table) == Some(true));
            let tables = catalog
                .relations()
                .filter(|entry| is_here(entry.described.oid) == Some(true));
            for table in tables.filter_map(|entry| runtime.database().engine().table(entry.described.table)) {
                table.forget_row_changes();
            }
            Ok(Datum::from(""))
        }),
        "pg_stat_reset_shared" => Body::Runtime(reset_shared),
        "pg_reload_conf" => Body::Runtime(|runtime, site, _| {
            require_superuser(runtime, site)?;
            runtime.database().ask_reload();
            Ok(Datum::Bool(true))
        }),
        "pg_postmaster_start_time" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::TimestampTz(runtime.database().started_us())))
        }
        "pg_conf_load_time" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::TimestampTz(runtime.database().reloaded_us())))
        }
        "gen_random_uuid" => Body::Pure(|_| random_uuid()),
        "inet_server_addr" => Body::Runtime(|runtime, _, _| {
            let server = runtime.session().activity.doing().server;
            Ok(server.map_or(Datum::Null, |server| Address::of_host(server.ip()).to_datum()))
        }),
        "inet_client_addr" => Body::Runtime(|runtime, _, _| {
            let client = runtime.session().activity.doing().client;
            Ok(client.map_or(Datum::Null, |client| Address::of_host(client.ip()).to_datum()))
        }),
        "inet_server_port" => Body::Runtime(|runtime, _, _| {
            let server = runtime.session().activity.doing().server;
            Ok(server.map_or(Datum::Null, |server| Datum::Int4(server.port() as i32)))
        }),
        "inet_client_port" => Body::Runtime(|runtime, _, _| {
            let client = runtime.session().activity.doing().client;
            Ok(client.map_or(Datum::Null, |client| Datum::Int4(client.port() as i32)))
        }),
        // There is no row security.
        "row_security_active" | "row_security_active_name" => Body::Pure(|_| Ok(Datum::Bool(false))),
        "pg_my_temp_schema" => Body::Runtime(|runtime, _, _| {
            let schema = runtime.session().catalog.temporary_schema();
            Ok(Datum::Oid(schema.map_or(0, |(oid, _)| oid.0)))
        }),
        "pg_is_other_temp_schema" => Body::Pure(|_| Ok(Datum::Bool(false))),
        "pg_notify" => Body::Runtime(|runtime, _, a| {
            refuse_command_in_recovery(runtime.database(), "NOTIFY")?;
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
    // What it shows may rest on commits that are not stable yet: the reply waits for them.
    runtime.transaction().note_view();
    let blockers = runtime.database().engine().blockers(pid as u32).into_iter();
    blockers.map(|(session, _)| session as i32)
}

/// pg_stat_reset_shared: counts go on, and are shown from here on as if they had begun at zero.
fn reset_shared(runtime: &mut Runtime<'_, '_>, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
    require_superuser(runtime, site)?;
    let name = text(&arguments[0]);
    let what = SharedStatistics::named(name).ok_or_else(|| {
        let message = format!("unrecognized reset target: \"{name}\"");
        let targets = "Target must be \"archiver\", \"bgwriter\", \"recovery_prefetch\", or \"wal\".";
        SqlError::new(state::INVALID_PARAMETER_VALUE, message).hint(targets)
    })?;
    let database = runtime.database();
    let engine = database.engine();
    let archived = engine.archive_report().unwrap_or_default();
    let archived = (archived.archived_count, archived.failed_count);
    let resets = database.shared_resets();
    resets.reset(what, database.now_us(), archived, engine.horizons().stable);
    Ok(Datum::from(""))
}

/// pg_cancel_backend and pg_terminate_backend: allowed to superusers, to members of the session's role, and to those of
/// pg_signal_backend where the session is no superuser's.
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
    if is_superuser && !session.identity().superuser {
        return denied(format!("must be a superuser to {what}"));
    }
    let may = |role| privileges::is_member(&session.catalog, role);
    if !may(user) && !may(PG_SIGNAL_BACKEND) {
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

/// set_config(name, value, is_local): SET as a function, with the checks of SET.
fn set_config(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let Some(name) = a[0].as_str() else {
        return Err(SqlError::new(
            state::NULL_VALUE_NOT_ALLOWED,
            "SET requires parameter name",
        ));
    };
    let local = a[2].as_bool().unwrap_or(false);
    let context = runtime.context();
    Settings::check_may_set(name, context.session.identity().superuser)?;
    let depth = context.session.savepoint_depth;
    let mut value = match a[1].as_str() {
        Some(value) => value.to_string(),
        None => context.session.settings.default_of(name)?,
    };
    if set_characteristic(context, name, &value)? {
        return Ok(Datum::from(context.session.settings.get(name)?));
    }
    if is_identity(name) {
        value = context.session.check_identity(name, &value)?;
    }
    let settings = &mut context.session.settings;
    // The client hears of a change as it does after SET: some settings are reported by ParameterStatus.
    if let Some(reported) = settings.set(name, &value, local, depth)? {
        context.host.parameter_status(reported.name, &reported.value);
    }
    let was_superuser = context.session.identity().superuser;
    context.session.settings_changed();
    if context.session.identity().superuser != was_superuser {
        let value = context.session.settings.get("is_superuser")?.to_string();
        context.host.parameter_status("is_superuser", &value);
    }
    Ok(Datum::from(context.session.settings.get(name)?))
}

/// What SET TRANSACTION answers while a query runs, which is too late for all but READ ONLY. False: the name is no
/// characteristic of the transaction.
fn set_characteristic(context: &mut StatementContext<'_>, name: &str, value: &str) -> SqlResult<bool> {
    let Some(index) = settings::lookup(name) else {
        return Ok(false);
    };
    let name = SETTINGS[index].name;
    let chosen = &mut context.session.settings.transaction;
    let refuse = |message: &str| Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
    let invalid = |message: String| SqlError::new(state::INVALID_PARAMETER_VALUE, message);
    let flag = || {
        let message = format!("parameter \"{name}\" requires a Boolean value");
        parse_bool(value).ok_or_else(|| invalid(message))
    };
    match name {
        "transaction_isolation" => {
            let level = settings::isolation_named(value).ok_or_else(|| {
                let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
                invalid(message).hint(settings::ISOLATION_HINT)
            })?;
            // The same level again is no change, and allowed.
            if level != chosen.isolation {
                return refuse("SET TRANSACTION ISOLATION LEVEL must be called before any query");
            }
        }
        "transaction_read_only" => match (chosen.read_only, flag()?) {
            (true, false) if context.session.savepoint_depth > 0 => {
                return refuse("cannot set transaction read-write mode inside a read-only transaction");
            }
            (true, false) => return refuse("transaction read-write mode must be set before any query"),
            (false, true) => {
                let made = context.transaction.set_read_only(true);
                made.map_err(write_error::begin_error)?;
                chosen.read_only = true;
            }
            _ => {}
        },
        "transaction_deferrable" => {
            flag()?;
            let message = match context.session.savepoint_depth {
                0 => "SET TRANSACTION [NOT] DEFERRABLE must be called before any query",
                _ => "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction",
            };
            return refuse(message);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// num_nulls and num_nonnulls. A VARIADIC array has been spread by then.
fn count_nulls(site: &CallSite, arguments: &[Datum], nulls: bool) -> Datum {
    debug_assert_eq!(site.arguments.len(), arguments.len());
    Datum::Int4(arguments.iter().filter(|value| value.is_null() == nulls).count() as i32)
}

/// pg_sleep and its kin. The session is parked; a cancel or statement_timeout ends it.
fn sleep(runtime: &mut Runtime<'_, '_>, seconds: f64) -> SqlResult<Datum> {
    let seconds = seconds.max(0.0);
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

/// What an advisory lock function does, as its name tells.
struct AdvisoryCall {
    mode: AdvisoryMode,
    scope: AdvisoryScope,
    tries: bool,
    unlocks: bool,
}

fn advisory(name: &str) -> Option<Body> {
    if name == "pg_advisory_unlock_all" {
        return Some(Body::Runtime(|runtime, _, _| {
            runtime.transaction().unlock_all_advisory();
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
        // A key of one int8 never meets one of two int4, even with the same bits.
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
        let taken =
            runtime.retry(|transaction| transaction.lock_advisory(key, self.mode, self.scope, policy))?;
        match taken {
            Ok(()) if self.tries => Ok(Datum::Bool(true)),
            Ok(()) => Ok(Datum::from("")),
            Err(WriteError::WouldBlock) => Ok(Datum::Bool(false)),
            Err(error) => Err(write_error::lock_error(error)),
        }
    }
}

// Sizes and log positions.

/// What assigns numbers or speaks to other sessions, on a node that only follows.
pub(super) fn refuse_command_in_recovery(database: &Database, name: &str) -> SqlResult<()> {
    match database.is_following() {
        true => Err(write_error::recovery_error(name)),
        false => Ok(()),
    }
}

/// Functions about sizes, the log, sequences, partitions and names of objects.
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
        "pg_stat_get_numscans" => Body::Pure(|_| Ok(Datum::Null)),
        // Versions that nobody sees any more are collected, and are no rows of the table meanwhile.
        "pg_stat_get_dead_tuples" => Body::Pure(|_| Ok(Datum::Int8(0))),
        "pg_stat_get_tuples_inserted" => {
            Body::Runtime(|runtime, _, a| Ok(Datum::Int8(row_changes(runtime, &a[0]).inserted as i64)))
        }
        "pg_stat_get_tuples_updated" => {
            Body::Runtime(|runtime, _, a| Ok(Datum::Int8(row_changes(runtime, &a[0]).updated as i64)))
        }
        "pg_stat_get_tuples_deleted" => {
            Body::Runtime(|runtime, _, a| Ok(Datum::Int8(row_changes(runtime, &a[0]).deleted as i64)))
        }
        "pg_stat_get_last_vacuum_time" => {
            Body::Runtime(|runtime, _, a| Ok(last_done(runtime, &a[0], |upkeep| upkeep.vacuumed)))
        }
        "pg_stat_get_last_analyze_time" => {
            Body::Runtime(|runtime, _, a| Ok(last_done(runtime, &a[0], |upkeep| upkeep.analyzed)))
        }
        "pg_stat_get_last_autoanalyze_time" => {
            Body::Runtime(|runtime, _, a| Ok(last_done(runtime, &a[0], |upkeep| upkeep.analyzed_by_itself)))
        }
        // The collector runs all the time, and table by table it is nobody's.
        "pg_stat_get_last_autovacuum_time" => Body::Pure(|_| Ok(Datum::Null)),
        "pg_stat_get_db_stat_reset_time" => Body::Runtime(|runtime, _, a| {
            let (_, reset) = runtime.database().sessions().counts(Oid(oid_value(&a[0])));
            Ok(reset.map_or(Datum::Null, Datum::TimestampTz))
        }),
        // Rows that several transactions lock need no number of their own: the next one is ever the first.
        "mxid_age" => Body::Pure(|a| {
            let number = oid_value(&a[0]);
            Ok(Datum::Int4(match number {
                0 => i32::MAX,
                number => FIRST_MULTIXACT.wrapping_sub(number) as i32,
            }))
        }),
        // Relations have no files: the OID stands for one.
        "pg_relation_filenode" => Body::Pure(|a| Ok(a[0].clone())),
        "pg_indexes_size" => Body::Runtime(|runtime, _, a| Ok(relation_bytes(runtime, &a[0], false, true))),
        "pg_total_relation_size" => {
            Body::Runtime(|runtime, _, a| Ok(relation_bytes(runtime, &a[0], true, true)))
        }
        // Memory is not kept apart by database: each shows what all take.
        "pg_database_size_name"
        | "pg_database_size_oid"
        | "pg_tablespace_size_oid"
        | "pg_tablespace_size_name" => Body::Runtime(|runtime, _, _| {
            let report = runtime.database().engine().memory();
            Ok(Datum::Int8(report.used_bytes as i64))
        }),
        "pg_current_wal_lsn" | "pg_current_wal_insert_lsn" => Body::Runtime(|runtime, _, _| {
            refuse_in_recovery(runtime.database())?;
            runtime.transaction().note_view();
            Ok(Datum::Unsigned8(runtime.database().engine().horizons().tail.0))
        }),
        "pg_wal_lsn_diff" | "pg_lsn_mi" => Body::Pure(|a| {
            let difference = lsn(&a[0]) as i128 - lsn(&a[1]) as i128;
            Ok(Datum::Numeric(Numeric::from_scaled_i128(difference, 0)))
        }),
        "numeric_pg_lsn" => Body::Pure(|a| lsn_of(numeric(&a[0]))),
        "pg_lsn_pli" => Body::Pure(|a| move_lsn(lsn(&a[0]), numeric(&a[1]), false)),
        "numeric_pl_pg_lsn" => Body::Pure(|a| move_lsn(lsn(&a[1]), numeric(&a[0]), false)),
        "pg_lsn_mii" => Body::Pure(|a| move_lsn(lsn(&a[0]), numeric(&a[1]), true)),
        "pg_sequence_last_value" => Body::Runtime(|runtime, _, a| {
            let session = runtime.session();
            let Some(entry) = session.catalog.entry(Oid(oid_value(&a[0]))) else {
                return Ok(Datum::Null);
            };
            runtime.transaction().note_view();
            let Some(stored) = &entry.stored.sequence else {
                return Ok(Datum::Null);
            };
            privileges::check_sequence(
                &session.catalog,
                &entry.described,
                privilege::USAGE | privilege::SELECT,
            )?;
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
        "to_regclass" => Body::Runtime(|runtime, _, a| to_reg(runtime, &a[0], oid::REGCLASS)),
        "to_regtype" => Body::Runtime(|runtime, _, a| to_reg(runtime, &a[0], oid::REGTYPE)),
        "to_regproc" => Body::Runtime(|runtime, _, a| to_reg(runtime, &a[0], oid::REGPROC)),
        "to_regprocedure" => Body::Runtime(|runtime, _, a| to_reg(runtime, &a[0], oid::REGPROCEDURE)),
        "to_regcollation" => Body::Runtime(|runtime, _, a| to_reg(runtime, &a[0], oid::REGCOLLATION)),
        "to_regnamespace" => Body::Runtime(|runtime, _, a| to_reg(runtime, &a[0], oid::REGNAMESPACE)),
        "to_regrole" => Body::Runtime(|runtime, _, a| to_reg(runtime, &a[0], oid::REGROLE)),
        _ => return None,
    })
}

/// to_regclass and its kin: the OID, or NULL where the name names nothing. A malformed name is an error.
fn to_reg(runtime: &mut Runtime<'_, '_>, name: &Datum, ty: Oid) -> SqlResult<Datum> {
    let name = text(name);
    object_text::require_name(ty, name)?;
    let known = &runtime.session().catalog;
    let found = match ty {
        oid::REGTYPE => object_text::type_if_any(name, known)?,
        _ => object_text::find(ty, name, known),
    };
    Ok(found.map_or(Datum::Null, |oid| Datum::Oid(oid.0)))
}

/// Bytes a row takes on average besides its own, and an index entry: what the memory budget counts per item is not
/// kept per table, so sizes are estimated from row counts and from the widths that ANALYZE has found.
const ROW_OVERHEAD_BYTES: i64 = 32;
const INDEX_ENTRY_BYTES: i64 = 24;

/// Rows of a table as the engine counts them; 0 for anything else.
fn live_rows(runtime: &Runtime<'_, '_>, relation: &Datum) -> i64 {
    runtime.transaction().note_view();
    let relation = runtime.session().catalog.relation(Oid(oid_value(relation)));
    let table = relation.and_then(|relation| runtime.database().engine().table(relation.table));
    table.map_or(0, |table| table.row_count_estimate() as i64)
}

/// What commits have done to the rows of a table; nothing to anything else.
fn row_changes(runtime: &Runtime<'_, '_>, relation: &Datum) -> RowChanges {
    runtime.transaction().note_view();
    let relation = runtime.session().catalog.relation(Oid(oid_value(relation)));
    let table = relation.and_then(|relation| runtime.database().engine().table(relation.table));
    table.map_or_else(RowChanges::default, |table| table.row_changes())
}

/// When a table was last looked after.
fn last_done(runtime: &Runtime<'_, '_>, table: &Datum, which: impl Fn(TableUpkeep) -> Done) -> Datum {
    let done = which(runtime.database().upkeep().of(Oid(oid_value(table))));
    done.last_us.map_or(Datum::Null, Datum::TimestampTz)
}

/// The number of PostgreSQL's first multixact.
const FIRST_MULTIXACT: u32 = 1;

/// Bytes of a column's value on average. Of a value of no fixed width nothing is known before ANALYZE: sixteen bytes.
fn column_width(relation: &Relation, position: usize) -> f64 {
    let column = &relation.columns[position];
    if column.dropped {
        return 0.0;
    }
    if let Some(width) = mote_types::storage_class(column.ty).width() {
        return width as f64;
    }
    let known = relation
        .statistics
        .as_ref()
        .and_then(|known| known.columns.get(position)?.as_ref());
    known.map_or(16.0, |known| {
        f64::from(known.width) * f64::from(1.0 - known.null_fraction)
    })
}

/// An estimate, see above; NULL where there is no such relation.
fn relation_bytes(runtime: &Runtime<'_, '_>, relation: &Datum, rows: bool, indexes: bool) -> Datum {
    let (number, catalog) = (Oid(oid_value(relation)), &runtime.session().catalog);
    let rows_of = |relation: &Relation| {
        let table = runtime.database().engine().table(relation.table);
        table.map_or(0, |table| table.row_count_estimate() as i64)
    };
    if let Some(table) = catalog.relation_of_index(number) {
        // An index has no indexes of its own.
        return Datum::Int8(if rows {
            rows_of(&table) * INDEX_ENTRY_BYTES
        } else {
            0
        });
    }
    let Some(relation) = catalog.relation(number) else {
        return Datum::Null;
    };
    let count = rows_of(&relation);
    let widths = (0..relation.columns.len()).map(|position| column_width(&relation, position));
    let width = widths.sum::<f64>() as i64;
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

/// A log position a number of bytes on or back.
fn move_lsn(lsn: u64, by: &Numeric, back: bool) -> SqlResult<Datum> {
    if by.is_nan() {
        let message = match back {
            false => "cannot add NaN to pg_lsn",
            true => "cannot subtract NaN from pg_lsn",
        };
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    let from = Numeric::from_scaled_i128(lsn as i128, 0);
    lsn_of(&if back { from.sub(by)? } else { from.add(by)? })
}

/// A number of bytes as a log position, rounded.
fn lsn_of(value: &Numeric) -> SqlResult<Datum> {
    if !value.is_finite() {
        let kind = if value.is_nan() { "NaN" } else { "infinity" };
        let message = format!("cannot convert {kind} to pg_lsn");
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    let refuse = || SqlError::new(state::INVALID_PARAMETER_VALUE, "pg_lsn out of range");
    value.to_u64().map(Datum::Unsigned8).ok_or_else(refuse)
}
