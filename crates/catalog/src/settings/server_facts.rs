//! How the server was started and what it always does, in PostgreSQL's names: monitoring asks for these before anything else.
//!
//! What its options decide is set when a session begins (`Settings::set_fact`); the rest is the same for every server.
//! Names, kinds and contexts are PostgreSQL's; each value says what holds here.

use super::setting::{Context, Kind, Setting, user};

const PRESET: &str = "Preset Options";
const CONNECTIONS: &str = "Connections and Authentication / Connection Settings";
const LOG: &str = "Write-Ahead Log / Settings";
const FILES: &str = "File Locations";

const fn in_context(context: Context, setting: Setting) -> Setting {
    Setting { context, ..setting }
}

const fn preset(name: &'static str, default: &'static str, description: &'static str) -> Setting {
    in_context(
        Context::Internal,
        user(name, Kind::Bool, default, PRESET, description),
    )
}

/// Fixed while the server runs: its options say what it is, or it is never otherwise.
const fn fixed(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    category: &'static str,
    description: &'static str,
) -> Setting {
    in_context(Context::Server, user(name, kind, default, category, description))
}

/// The same of what PostgreSQL reads again on a reload, and a session hears about when it tries to set it.
const fn fixed_on_reload(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    category: &'static str,
    description: &'static str,
) -> Setting {
    in_context(Context::Reload, user(name, kind, default, category, description))
}

pub(super) const SERVER_FACTS: &[Setting] = &[
    preset(
        "data_checksums",
        "on",
        "Log, checkpoints and backups carry checksums.",
    ),
    preset(
        "debug_assertions",
        "off",
        "Whether assertions of debug builds are on.",
    ),
    fixed(
        "autovacuum_freeze_max_age",
        Kind::Integer(100_000, 2_000_000_000, ""),
        "2000000000",
        "Autovacuum",
        "Transaction numbers have 64 bits: no age has to be kept below this.",
    ),
    fixed(
        "autovacuum_max_workers",
        Kind::Integer(1, 262_143, ""),
        "1",
        "Autovacuum",
        "One thread analyzes tables.",
    ),
    fixed(
        "config_file",
        Kind::String,
        "",
        FILES,
        "The server's file of settings.",
    ),
    fixed(
        "data_directory",
        Kind::String,
        "",
        FILES,
        "Where the log and the checkpoints are.",
    ),
    fixed(
        "hba_file",
        Kind::String,
        "",
        FILES,
        "The file of rules for connections, if there is one.",
    ),
    fixed_on_reload(
        "fsync",
        Kind::Bool,
        "on",
        LOG,
        "Commits wait until the log is on disk.",
    ),
    fixed_on_reload(
        "full_page_writes",
        Kind::Bool,
        "on",
        LOG,
        "No page is written in place, so none can be torn.",
    ),
    fixed(
        "hot_standby",
        Kind::Bool,
        "on",
        "Replication / Standby Servers",
        "Followers answer queries.",
    ),
    fixed(
        "listen_addresses",
        Kind::String,
        "localhost",
        CONNECTIONS,
        "The address that the server listens on.",
    ),
    fixed_on_reload(
        "log_destination",
        Kind::String,
        "stderr",
        "Reporting and Logging / Where to Log",
        "The server's log goes to its standard error.",
    ),
    fixed(
        "logging_collector",
        Kind::Bool,
        "off",
        "Reporting and Logging / Where to Log",
        "Nobody collects it into files.",
    ),
    fixed(
        "max_worker_processes",
        Kind::Integer(0, 262_143, ""),
        "0",
        "Resource Usage / Asynchronous Behavior",
        "There are threads, and no processes for extensions.",
    ),
    fixed(
        "port",
        Kind::Integer(1, 65_535, ""),
        "5432",
        CONNECTIONS,
        "The port that the server listens on.",
    ),
    fixed(
        "shared_preload_libraries",
        Kind::String,
        "pg_stat_statements",
        "Client Connection Defaults / Shared Library Preloading",
        "What other servers load at their start and is part of this binary.",
    ),
    fixed_on_reload(
        "ssl",
        Kind::Bool,
        "off",
        "Connections and Authentication / SSL",
        "Whether clients may use TLS.",
    ),
    fixed(
        "track_activity_query_size",
        Kind::Integer(100, 1_048_576, "B"),
        "1kB",
        "Statistics / Cumulative Query and Index Statistics",
        "Bytes of a session's statement that pg_stat_activity shows.",
    ),
    fixed(
        "track_commit_timestamp",
        Kind::Bool,
        "off",
        "Replication / Sending Servers",
        "Times of commits are not kept.",
    ),
    fixed(
        "unix_socket_directories",
        Kind::String,
        "",
        CONNECTIONS,
        "The directory of the server's Unix socket.",
    ),
];
