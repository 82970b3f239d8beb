//! How the server was started and what it always does, in PostgreSQL's names: monitoring asks for these before anything else.
//!
//! What its options decide is set when a session begins (`Settings::set_fact`); the rest is the same for every server.
//! Names, kinds and contexts are PostgreSQL's; each value says what holds here.

use super::setting::{Context, Kind, Setting, reloaded, server, user};

const PRESET: &str = "Preset Options";
const CONNECTIONS: &str = "Connections and Authentication / Connection Settings";
const LOG: &str = "Write-Ahead Log / Settings";
const FILES: &str = "File Locations";

const fn preset(name: &'static str, default: &'static str, description: &'static str) -> Setting {
    Setting {
        context: Context::Internal,
        ..user(name, Kind::Bool, default, PRESET, description)
    }
}

/// Nothing changes one while the server runs, be it that PostgreSQL would read it again on a reload.
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
    server(user(
        "autovacuum_freeze_max_age",
        Kind::Integer(100_000, 2_000_000_000, ""),
        "2000000000",
        "Autovacuum",
        "Transaction numbers have 64 bits: no age has to be kept below this.",
    )),
    server(user(
        "autovacuum_max_workers",
        Kind::Integer(1, 262_143, ""),
        "1",
        "Autovacuum",
        "One thread analyzes tables.",
    )),
    server(user(
        "config_file",
        Kind::String,
        "",
        FILES,
        "The server's file of settings.",
    )),
    server(user(
        "data_directory",
        Kind::String,
        "",
        FILES,
        "Where the log and the checkpoints are.",
    )),
    server(user(
        "hba_file",
        Kind::String,
        "",
        FILES,
        "The file of rules for connections, if there is one.",
    )),
    reloaded(user(
        "fsync",
        Kind::Bool,
        "on",
        LOG,
        "Commits wait until the log is on disk.",
    )),
    reloaded(user(
        "full_page_writes",
        Kind::Bool,
        "on",
        LOG,
        "No page is written in place, so none can be torn.",
    )),
    server(user(
        "hot_standby",
        Kind::Bool,
        "on",
        "Replication / Standby Servers",
        "Followers answer queries.",
    )),
    server(user(
        "listen_addresses",
        Kind::String,
        "localhost",
        CONNECTIONS,
        "The address that the server listens on.",
    )),
    reloaded(user(
        "log_destination",
        Kind::String,
        "stderr",
        "Reporting and Logging / Where to Log",
        "The server's log goes to its standard error.",
    )),
    server(user(
        "logging_collector",
        Kind::Bool,
        "off",
        "Reporting and Logging / Where to Log",
        "Nobody collects it into files.",
    )),
    server(user(
        "max_worker_processes",
        Kind::Integer(0, 262_143, ""),
        "0",
        "Resource Usage / Asynchronous Behavior",
        "There are threads, and no processes for extensions.",
    )),
    server(user(
        "port",
        Kind::Integer(1, 65_535, ""),
        "5432",
        CONNECTIONS,
        "The port that the server listens on.",
    )),
    server(user(
        "shared_preload_libraries",
        Kind::String,
        "pg_stat_statements",
        "Client Connection Defaults / Shared Library Preloading",
        "What other servers load at their start and is part of this binary.",
    )),
    reloaded(user(
        "ssl",
        Kind::Bool,
        "off",
        "Connections and Authentication / SSL",
        "Whether clients may use TLS.",
    )),
    server(user(
        "track_activity_query_size",
        Kind::Integer(100, 1_048_576, "B"),
        "1kB",
        "Statistics / Cumulative Query and Index Statistics",
        "Bytes of a session's statement that pg_stat_activity shows.",
    )),
    server(user(
        "track_commit_timestamp",
        Kind::Bool,
        "off",
        "Replication / Sending Servers",
        "Times of commits are not kept.",
    )),
    server(user(
        "unix_socket_directories",
        Kind::String,
        "",
        CONNECTIONS,
        "The directory of the server's Unix socket.",
    )),
];
