//! The settings that exist: an entry each, in PostgreSQL's names and meanings. Those without effect: `advice`.

use std::sync::LazyLock;

use super::advice::ADVICE;
use super::server_facts::SERVER_FACTS;
use super::setting::{Context, Kind, Setting, effective, reloaded, server, superuser, supporting, user};
use super::statements::STATEMENTS;

const CLIENT: &str = "Client Connection Defaults / Statement Behavior";
const LOCALE: &str = "Client Connection Defaults / Locale and Formatting";
const PRESET: &str = "Preset Options";
const RESOURCE: &str = "Resource Usage";
const LOG: &str = "Write-Ahead Log / Settings";
const LOCKS: &str = "Lock Management";
const AUTOVACUUM: &str = "Autovacuum";
const COMPATIBILITY: &str = "Version and Platform Compatibility";
const PREVIOUS_VERSIONS: &str = "Version and Platform Compatibility / Previous PostgreSQL Versions";

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

const MILLISECONDS: Kind = Kind::Integer(0, i32::MAX as i64, "ms");
const ISOLATION: Kind = Kind::Enum(&[
    "serializable",
    "repeatable read",
    "read committed",
    "read uncommitted",
]);
const LEVELS: Kind = Kind::Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error",
]);

/// The version of PostgreSQL whose behaviour clients may expect, and mote's own.
pub const SERVER_VERSION: &str = concat!("15.0 (mote ", env!("CARGO_PKG_VERSION"), ")");

/// What there is, in the order of names.
pub static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let mut settings = [OBEYED, ADVICE, STATEMENTS, SERVER_FACTS].concat();
    settings.sort_by_key(|setting| setting.name.to_ascii_lowercase());
    settings
});

/// Those that mean something here.
const OBEYED: &[Setting] = &[
    supporting(
        &["on"],
        user(
            "array_nulls",
            Kind::Bool,
            "on",
            COMPATIBILITY,
            "NULL in the text of an array is a null. Always on.",
        ),
    ),
    reloaded(user(
        "autovacuum",
        Kind::Bool,
        "on",
        AUTOVACUUM,
        "Tables that have changed are analyzed by themselves.",
    )),
    reloaded(user(
        "autovacuum_analyze_scale_factor",
        Kind::Real(0.0, 100.0, ""),
        "0.1",
        AUTOVACUUM,
        "The part of a table's rows that must have changed for it to be analyzed.",
    )),
    reloaded(user(
        "autovacuum_analyze_threshold",
        Kind::Integer(0, i32::MAX as i64, ""),
        "50",
        AUTOVACUUM,
        "How many rows must have changed besides.",
    )),
    reloaded(user(
        "autovacuum_naptime",
        Kind::Integer(1, 2_147_483, "s"),
        "1min",
        AUTOVACUUM,
        "Time between two looks at which tables have changed.",
    )),
    effective(user(
        "backslash_quote",
        Kind::Enum(&["safe_encoding", "on", "off"]),
        "safe_encoding",
        PREVIOUS_VERSIONS,
        "Whether \\' is a quote where backslashes escape.",
    )),
    effective(user(
        "escape_string_warning",
        Kind::Bool,
        "on",
        PREVIOUS_VERSIONS,
        "Warn of backslashes in plain strings.",
    )),
    supporting(
        &["off"],
        user(
            "exit_on_error",
            Kind::Bool,
            "off",
            "Error Handling",
            "An error ends its statement, not the session.",
        ),
    ),
    supporting(
        &["0"],
        user(
            "gin_fuzzy_search_limit",
            Kind::Integer(0, i32::MAX as i64, ""),
            "0",
            "Client Connection Defaults / Other Defaults",
            "Index scans find everything.",
        ),
    ),
    supporting(
        &["Default"],
        user(
            "timezone_abbreviations",
            Kind::String,
            "Default",
            LOCALE,
            "The abbreviations of zones that are known: PostgreSQL's default set.",
        ),
    ),
    supporting(
        &["off"],
        user(
            "transform_null_equals",
            Kind::Bool,
            "off",
            "Version and Platform Compatibility / Other Platforms and Clients",
            "x = NULL is null.",
        ),
    ),
    Setting {
        keeps_on_reset_all: true,
        ..user(
            "seed",
            Kind::Real(-1.0, 1.0, ""),
            "0",
            "Client Connection Defaults / Statement Behavior",
            "Where random() begins: see setseed().",
        )
    },
    reported(user(
        "application_name",
        Kind::String,
        "",
        "Reporting and Logging",
        "Name of the client program.",
    )),
    server(user(
        "authentication_timeout",
        Kind::Integer(1, 600, "s"),
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
    effective(reported(user(
        "client_encoding",
        Kind::String,
        "UTF8",
        LOCALE,
        "Encoding of the client's text.",
    ))),
    effective(user(
        "client_min_messages",
        LEVELS,
        "notice",
        CLIENT,
        "Lowest severity sent to the client.",
    )),
    fact("data_directory_mode", "0700", "Who may enter the data directory."),
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
        "default_statistics_target",
        Kind::Integer(1, 10000, ""),
        "100",
        "Query Tuning / Other Planner Options",
        "How many common values and parts of a histogram ANALYZE keeps of a column that has no target of its own.",
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
    effective(user(
        "extra_float_digits",
        Kind::Integer(-15, 3, ""),
        "1",
        LOCALE,
        "Digits of floats; above 0: shortest exact.",
    )),
    effective(user(
        "idle_session_timeout",
        MILLISECONDS,
        "0",
        CLIENT,
        "Ends sessions idle outside a transaction.",
    )),
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
    superuser(user(
        "lo_compat_privileges",
        Kind::Bool,
        "off",
        "Version and Platform Compatibility / Previous PostgreSQL Versions",
        "Large objects are everybody's, as before PostgreSQL 9.0.",
    )),
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
    server(user(
        "max_prepared_transactions",
        Kind::Integer(0, 262_143, ""),
        "200",
        RESOURCE,
        "Most prepared transactions.",
    )),
    server(user(
        "max_replication_slots",
        Kind::Integer(0, 262_143, ""),
        "64",
        "Replication / Sending Servers",
        "Most replication slots.",
    )),
    server(user(
        "max_wal_senders",
        Kind::Integer(0, 262_143, ""),
        "63",
        "Replication / Sending Servers",
        "Most streams of replication.",
    )),
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
    user(
        "row_security",
        Kind::Bool,
        "on",
        CLIENT,
        "No table has row security.",
    ),
    effective(user(
        "restrict_nonsystem_relation_kind",
        Kind::String,
        "",
        CLIENT,
        "Kinds of users' relations that may not be read: view, foreign-table.",
    )),
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
    effective(reported(user(
        "standard_conforming_strings",
        Kind::Bool,
        "on",
        PREVIOUS_VERSIONS,
        "Backslashes in '...' are ordinary.",
    ))),
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
        Kind::Enum(&["local", "remote_write", "remote_apply", "on", "off"]),
        "on",
        LOG,
        "What an acknowledged commit has survived.",
    )),
    Setting {
        context: Context::Reload,
        ..user(
            "synchronous_standby_names",
            Kind::String,
            "",
            "Replication / Primary Server",
            "Followers that commits wait for.",
        )
    },
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
    server(user(
        "wal_level",
        Kind::Enum(&["minimal", "replica", "logical"]),
        "logical",
        "Write-Ahead Log / Settings",
        "What the log tells besides the rows.",
    )),
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

/// Position in [`SETTINGS`], names compared without case.
pub fn lookup(name: &str) -> Option<usize> {
    SETTINGS.iter().position(|s| s.name.eq_ignore_ascii_case(name))
}
