//! The settings that exist: one line each, in PostgreSQL's names and meanings.

use std::sync::OnceLock;

use mote_common::{SqlError, SqlResult, error::state};

/// Who may change a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// Facts about the server.
    Internal,
    /// Fixed at start.
    Server,
    /// Sessions of superusers.
    Superuser,
    /// Any session.
    User,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Bool,
    /// Range, and the unit a bare number has: "" | "ms" | "kB".
    Integer(i64, i64, &'static str),
    Real(f64, f64),
    Enum(&'static [&'static str]),
    String,
}

pub struct Setting {
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub context: Context,
    /// The client is told of changes.
    pub reported: bool,
    /// Part of `Effective`.
    pub effective: bool,
    /// Transaction characteristics are not touched by RESET ALL.
    pub keeps_on_reset_all: bool,
    pub category: &'static str,
    pub description: &'static str,
}

const CLIENT: &str = "Client Connection Defaults / Statement Behavior";
const LOCALE: &str = "Client Connection Defaults / Locale and Formatting";
const PRESET: &str = "Preset Options";
const RESOURCE: &str = "Resource Usage";
const LOG: &str = "Write-Ahead Log / Settings";
const PLANNER: &str = "Query Tuning / Planner Method Configuration";
const LOCKS: &str = "Lock Management";
const COMPATIBILITY: &str = "Version and Platform Compatibility";

const fn user(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    category: &'static str,
    description: &'static str,
) -> Setting {
    Setting {
        name,
        kind,
        default,
        context: Context::User,
        reported: false,
        effective: false,
        keeps_on_reset_all: false,
        category,
        description,
    }
}

const fn fact(name: &'static str, default: &'static str, description: &'static str) -> Setting {
    Setting {
        context: Context::Internal,
        ..user(name, Kind::String, default, PRESET, description)
    }
}

const fn reported(setting: Setting) -> Setting {
    Setting {
        reported: true,
        ..setting
    }
}

const fn effective(setting: Setting) -> Setting {
    Setting {
        effective: true,
        ..setting
    }
}

const fn superuser(setting: Setting) -> Setting {
    Setting {
        context: Context::Superuser,
        ..setting
    }
}

const fn server(setting: Setting) -> Setting {
    Setting {
        context: Context::Server,
        ..setting
    }
}

/// PostgreSQL's advice to its own planner. mote's plans do not follow it: the settings are kept and shown.
const fn planner_switch(name: &'static str) -> Setting {
    user(
        name,
        Kind::Bool,
        "on",
        PLANNER,
        "No effect: advice to PostgreSQL's planner.",
    )
}

const fn planner_cost(name: &'static str, default: &'static str) -> Setting {
    let kind = Kind::Real(0.0, f64::MAX);
    user(
        name,
        kind,
        default,
        PLANNER,
        "No effect: advice to PostgreSQL's planner.",
    )
}

const MILLISECONDS: Kind = Kind::Integer(0, i32::MAX as i64, "ms");
const ISOLATION: Kind = Kind::Enum(&[
    "serializable",
    "repeatable read",
    "read committed",
    "read uncommitted",
]);
const LEVELS: Kind = Kind::Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "notice", "warning", "error",
]);

/// The version of PostgreSQL whose behaviour clients may expect, and mote's own.
pub const SERVER_VERSION: &str = concat!("15.0 (mote ", env!("CARGO_PKG_VERSION"), ")");

pub static SETTINGS: &[Setting] = &[
    reported(user(
        "application_name",
        Kind::String,
        "",
        "Reporting and Logging",
        "Name of the client program.",
    )),
    server(user(
        "authentication_timeout",
        Kind::Integer(1, 600_000, "ms"),
        "1min",
        "Connections and Authentication",
        "A client has this long to authenticate.",
    )),
    effective(user(
        "bytea_output",
        Kind::Enum(&["escape", "hex"]),
        "hex",
        CLIENT,
        "Text form of bytea.",
    )),
    fact("block_size", "4096", "Unit of log writes, in bytes."),
    user(
        "check_function_bodies",
        Kind::Bool,
        "on",
        CLIENT,
        "Checks bodies at CREATE FUNCTION.",
    ),
    reported(user(
        "client_encoding",
        Kind::Enum(&["UTF8", "SQL_ASCII"]),
        "UTF8",
        LOCALE,
        "Encoding of the client's text. UTF8 only.",
    )),
    effective(user(
        "client_min_messages",
        LEVELS,
        "notice",
        CLIENT,
        "Lowest severity sent to the client.",
    )),
    effective(reported(user(
        "DateStyle",
        Kind::String,
        "ISO, MDY",
        LOCALE,
        "Text form of dates.",
    ))),
    superuser(user(
        "deadlock_timeout",
        Kind::Integer(1, i32::MAX as i64, "ms"),
        "1s",
        LOCKS,
        "No effect: a deadlock is found when the wait that closes it begins.",
    )),
    planner_cost("cpu_tuple_cost", "0.01"),
    user(
        "default_table_access_method",
        Kind::Enum(&["heap", "mote"]),
        "heap",
        CLIENT,
        "Every table is kept in memory, whatever the name.",
    ),
    user(
        "default_tablespace",
        Kind::Enum(&["", "pg_default"]),
        "",
        CLIENT,
        "There is one tablespace.",
    ),
    user(
        "default_toast_compression",
        Kind::Enum(&["pglz", "lz4"]),
        "pglz",
        CLIENT,
        "No effect: rows are not compressed.",
    ),
    effective(user(
        "default_transaction_deferrable",
        Kind::Bool,
        "off",
        CLIENT,
        "New transactions are DEFERRABLE.",
    )),
    effective(user(
        "default_transaction_isolation",
        ISOLATION,
        "read committed",
        CLIENT,
        "Isolation level of new transactions.",
    )),
    effective(reported(user(
        "default_transaction_read_only",
        Kind::Bool,
        "off",
        CLIENT,
        "New transactions are READ ONLY.",
    ))),
    planner_switch("enable_bitmapscan"),
    planner_switch("enable_hashagg"),
    planner_switch("enable_hashjoin"),
    planner_switch("enable_indexonlyscan"),
    planner_switch("enable_indexscan"),
    planner_switch("enable_material"),
    planner_switch("enable_memoize"),
    planner_switch("enable_mergejoin"),
    planner_switch("enable_nestloop"),
    planner_switch("enable_seqscan"),
    planner_switch("enable_sort"),
    effective(user(
        "extra_float_digits",
        Kind::Integer(-15, 3, ""),
        "1",
        LOCALE,
        "Digits of floats; above 0: shortest exact.",
    )),
    user(
        "force_parallel_mode",
        Kind::Enum(&["off", "on", "regress"]),
        "off",
        PLANNER,
        "No effect: a statement runs on one thread.",
    ),
    user(
        "idle_session_timeout",
        MILLISECONDS,
        "0",
        CLIENT,
        "Ends sessions idle outside a transaction.",
    ),
    effective(user(
        "idle_in_transaction_session_timeout",
        MILLISECONDS,
        "0",
        CLIENT,
        "Ends sessions idle inside a transaction.",
    )),
    reported(fact("in_hot_standby", "off", "Whether this server is a standby.")),
    reported(fact("integer_datetimes", "on", "Datetimes are 64-bit integers.")),
    effective(reported(user(
        "IntervalStyle",
        Kind::Enum(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
        LOCALE,
        "Text form of intervals.",
    ))),
    reported(fact(
        "is_superuser",
        "on",
        "Whether the current user is a superuser.",
    )),
    user(
        "jit",
        Kind::Bool,
        "off",
        PLANNER,
        "No effect: there is no compiler.",
    ),
    fact("lc_collate", "C.UTF-8", "Order of text."),
    fact("lc_ctype", "C.UTF-8", "Character classes of text."),
    superuser(user(
        "lc_messages",
        Kind::String,
        "C",
        LOCALE,
        "Language of messages.",
    )),
    user("lc_monetary", Kind::String, "C", LOCALE, "Locale of money."),
    user("lc_numeric", Kind::String, "C", LOCALE, "Locale of to_char."),
    user("lc_time", Kind::String, "C", LOCALE, "Locale of to_char."),
    effective(user(
        "lock_timeout",
        MILLISECONDS,
        "0",
        CLIENT,
        "Longest wait for a lock.",
    )),
    server(user(
        "max_connections",
        Kind::Integer(1, 262_143, ""),
        "2000",
        "Connections and Authentication",
        "Most sessions at a time.",
    )),
    fact("max_identifier_length", "63", "Bytes in a name."),
    fact("max_index_keys", "32", "Columns in an index key."),
    user(
        "max_parallel_workers_per_gather",
        Kind::Integer(0, 1024, ""),
        "0",
        PLANNER,
        "No effect: a statement runs on one thread.",
    ),
    server(user(
        "max_prepared_transactions",
        Kind::Integer(0, 262_143, ""),
        "200",
        RESOURCE,
        "Most prepared transactions.",
    )),
    user(
        "min_parallel_index_scan_size",
        Kind::Integer(0, i32::MAX as i64 / 3, "kB"),
        "512kB",
        PLANNER,
        "No effect: a statement runs on one thread.",
    ),
    user(
        "min_parallel_table_scan_size",
        Kind::Integer(0, i32::MAX as i64 / 3, "kB"),
        "8MB",
        PLANNER,
        "No effect: a statement runs on one thread.",
    ),
    planner_switch("parallel_leader_participation"),
    planner_cost("parallel_setup_cost", "1000"),
    planner_cost("parallel_tuple_cost", "0.1"),
    user(
        "password_encryption",
        Kind::Enum(&["scram-sha-256"]),
        "scram-sha-256",
        "Connections and Authentication",
        "How passwords are kept.",
    ),
    user(
        "quote_all_identifiers",
        Kind::Bool,
        "off",
        COMPATIBILITY,
        "Quotes every name in generated SQL.",
    ),
    planner_cost("random_page_cost", "4"),
    user(
        "row_security",
        Kind::Bool,
        "on",
        CLIENT,
        "No table has row security.",
    ),
    Setting {
        keeps_on_reset_all: true,
        ..user(
            "role",
            Kind::String,
            "none",
            PRESET,
            "The current role; none: the session's user.",
        )
    },
    effective(user(
        "search_path",
        Kind::String,
        "\"$user\", public",
        CLIENT,
        "Schemas searched for names without one.",
    )),
    planner_cost("seq_page_cost", "1"),
    effective(superuser(user(
        "session_replication_role",
        Kind::Enum(&["origin", "replica", "local"]),
        "origin",
        CLIENT,
        "With replica, triggers and foreign keys stand back, except those that are enabled for it.",
    ))),
    reported(fact("server_encoding", "UTF8", "Encoding of stored text.")),
    reported(fact("server_version", SERVER_VERSION, "Version.")),
    fact("server_version_num", "150000", "Version as a number."),
    Setting {
        keeps_on_reset_all: true,
        ..reported(user(
            "session_authorization",
            Kind::String,
            "",
            PRESET,
            "The session's user.",
        ))
    },
    reported(user(
        "standard_conforming_strings",
        Kind::Enum(&["on"]),
        "on",
        COMPATIBILITY,
        "Backslashes in '...' are ordinary. Always on.",
    )),
    effective(user(
        "statement_timeout",
        MILLISECONDS,
        "0",
        CLIENT,
        "Longest run of a statement.",
    )),
    server(user(
        "superuser_reserved_connections",
        Kind::Integer(0, 262_143, ""),
        "3",
        "Connections and Authentication",
        "Sessions that only superusers get.",
    )),
    effective(user(
        "synchronous_commit",
        Kind::Enum(&["off", "local", "remote_write", "on", "remote_apply"]),
        "on",
        LOG,
        "What an acknowledged commit has survived.",
    )),
    user(
        "synchronize_seqscans",
        Kind::Bool,
        "on",
        COMPATIBILITY,
        "No effect: scans are in row order.",
    ),
    effective(reported(user(
        "TimeZone",
        Kind::String,
        "UTC",
        LOCALE,
        "Zone for timestamps.",
    ))),
    Setting {
        keeps_on_reset_all: true,
        ..user(
            "transaction_deferrable",
            Kind::Bool,
            "off",
            CLIENT,
            "The current transaction is DEFERRABLE.",
        )
    },
    Setting {
        keeps_on_reset_all: true,
        ..user(
            "transaction_isolation",
            ISOLATION,
            "read committed",
            CLIENT,
            "The current transaction's isolation level.",
        )
    },
    Setting {
        keeps_on_reset_all: true,
        ..user(
            "transaction_read_only",
            Kind::Bool,
            "off",
            CLIENT,
            "The current transaction is READ ONLY.",
        )
    },
    user(
        "vacuum_freeze_min_age",
        Kind::Integer(0, 1_000_000_000, ""),
        "50000000",
        CLIENT,
        "No effect: there are no transaction ids to freeze.",
    ),
    user(
        "vacuum_freeze_table_age",
        Kind::Integer(0, 2_000_000_000, ""),
        "150000000",
        CLIENT,
        "No effect: there are no transaction ids to freeze.",
    ),
    user(
        "vacuum_multixact_freeze_min_age",
        Kind::Integer(0, 1_000_000_000, ""),
        "5000000",
        CLIENT,
        "No effect: there are no transaction ids to freeze.",
    ),
    user(
        "vacuum_multixact_freeze_table_age",
        Kind::Integer(0, 2_000_000_000, ""),
        "150000000",
        CLIENT,
        "No effect: there are no transaction ids to freeze.",
    ),
    fact("wal_block_size", "4096", "Unit of log writes, in bytes."),
    fact("wal_segment_size", "64MB", "Size of a log segment."),
    effective(user(
        "work_mem",
        Kind::Integer(64, i32::MAX as i64, "kB"),
        "1GB",
        RESOURCE,
        "Memory of one sort or hash; beyond it the statement fails.",
    )),
    user(
        "xmloption",
        Kind::Enum(&["content", "document"]),
        "content",
        CLIENT,
        "There is no XML type.",
    ),
];

/// Position of `search_path`.
pub(super) struct Position(OnceLock<usize>);
pub(super) static SEARCH_PATH: Position = Position(OnceLock::new());

impl Position {
    pub(super) fn get(&self) -> usize {
        *self
            .0
            .get_or_init(|| lookup("search_path").expect("in the table"))
    }
}

/// Position in [`SETTINGS`], names compared without case.
pub fn lookup(name: &str) -> Option<usize> {
    SETTINGS.iter().position(|s| s.name.eq_ignore_ascii_case(name))
}

/// The number at the start of a canonical value.
pub(super) fn integer(value: &str) -> Option<i64> {
    let end = value
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || i == 0 && c == '-'))
        .map_or(value.len(), |(i, _)| i);
    let number: i64 = value[..end].parse().ok()?;
    Some(match &value[end..] {
        "s" => number * 1000,
        "min" => number * 60_000,
        "h" => number * 3_600_000,
        "d" => number * 86_400_000,
        "MB" => number * 1024,
        "GB" => number * 1024 * 1024,
        _ => number,
    })
}

/// Checks a value and brings it to the form that SHOW prints.
pub(super) fn canonical(setting: &Setting, value: &str) -> SqlResult<String> {
    let invalid = || {
        SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{}\": \"{value}\"", setting.name),
        )
    };
    match setting.kind {
        Kind::String => Ok(value.to_string()),
        Kind::Bool => match parse_bool(value) {
            Some(true) => Ok("on".into()),
            Some(false) => Ok("off".into()),
            None => Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("parameter \"{}\" requires a Boolean value", setting.name),
            )),
        },
        Kind::Enum(words) => canonical_word(setting, words, value)
            .ok_or_else(|| invalid().hint(format!("Available values: {}.", words.join(", ")))),
        Kind::Integer(low, high, unit) => {
            let number = parse_integer(value, unit).ok_or_else(invalid)?;
            if number < low || number > high {
                let unit = if unit.is_empty() {
                    String::new()
                } else {
                    format!(" {unit}")
                };
                return Err(SqlError::new(
                    state::INVALID_PARAMETER_VALUE,
                    format!(
                        "{number}{unit} is outside the valid range for parameter \"{}\" ({low} .. {high})",
                        setting.name
                    ),
                ));
            }
            Ok(show_integer(number, unit))
        }
        Kind::Real(low, high) => {
            let number: f64 = value.trim().parse().map_err(|_| invalid())?;
            if (low..=high).contains(&number) {
                Ok(number.to_string())
            } else {
                Err(invalid())
            }
        }
    }
}

fn letters_and_digits(text: &str) -> String {
    let kept = text.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

fn canonical_word(setting: &Setting, words: &[&str], value: &str) -> Option<String> {
    let value = value.trim();
    if let Some(word) = words.iter().find(|w| w.eq_ignore_ascii_case(value)) {
        return Some(word.to_string());
    }
    // Spellings that PostgreSQL takes as well.
    let alias = match setting.name {
        // Letters and digits count, as in PostgreSQL: drivers send 'utf-8' with its quotes.
        "client_encoding" => match letters_and_digits(value).as_str() {
            "utf8" | "unicode" => "UTF8",
            "sqlascii" => "SQL_ASCII",
            _ => return None,
        },
        "synchronous_commit" => {
            if parse_bool(value)? {
                "on"
            } else {
                "off"
            }
        }
        "standard_conforming_strings" if parse_bool(value) == Some(true) => "on",
        _ => return None,
    };
    Some(alias.to_string())
}

/// PostgreSQL's words for true and false, unique prefixes included.
pub fn parse_bool(value: &str) -> Option<bool> {
    let value = value.trim().to_ascii_lowercase();
    let prefix_of = |word: &str, least: usize| value.len() >= least && word.starts_with(value.as_str());
    if prefix_of("true", 1) || prefix_of("yes", 1) || value == "on" || value == "1" {
        Some(true)
    } else if prefix_of("false", 1) || prefix_of("no", 1) || prefix_of("off", 2) || value == "0" {
        Some(false)
    } else {
        None
    }
}

fn parse_integer(value: &str, unit: &str) -> Option<i64> {
    let value = value.trim();
    let end = value
        .find(|c: char| !(c.is_ascii_digit() || c == '-' || c == '+' || c == '.'))
        .unwrap_or(value.len());
    let number: f64 = value[..end].parse().ok()?;
    let scale: f64 = match (unit, value[end..].trim()) {
        (_, "") => 1.0,
        ("ms", "us") => 0.001,
        ("ms", "ms") => 1.0,
        ("ms", "s") => 1e3,
        ("ms", "min") => 6e4,
        ("ms", "h") => 3.6e6,
        ("ms", "d") => 8.64e7,
        ("kB", "B") => 1.0 / 1024.0,
        ("kB", "kB") => 1.0,
        ("kB", "MB") => 1024.0,
        ("kB", "GB") => 1024.0 * 1024.0,
        ("kB", "TB") => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((number * scale).round() as i64)
}

/// The largest unit that leaves a whole number.
pub fn show_integer(number: i64, unit: &str) -> String {
    let units: &[(i64, &str)] = match unit {
        "ms" => &[
            (86_400_000, "d"),
            (3_600_000, "h"),
            (60_000, "min"),
            (1000, "s"),
            (1, "ms"),
        ],
        "kB" => &[(1024 * 1024, "GB"), (1024, "MB"), (1, "kB")],
        _ => &[],
    };
    match units.iter().find(|(size, _)| number != 0 && number % size == 0) {
        Some((size, name)) => format!("{}{name}", number / size),
        None => number.to_string(),
    }
}
