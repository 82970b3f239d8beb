//! What a server says of its own settings, so that a figure can be told from one under other settings.

use std::collections::BTreeMap;

use mote_driver::{Admin, DriverResult, System};

/// All settings with their units, by name.
pub fn settings(admin: &mut Admin) -> DriverResult<BTreeMap<String, String>> {
    let rows = admin.query(match admin.system() {
        System::Postgres => "SELECT name, setting, unit FROM pg_settings",
        System::Mysql => "SHOW GLOBAL VARIABLES",
        // Whoever may look: others are told that the table does not exist.
        System::Oracle => "SELECT name, value FROM v$parameter",
        System::Db2 => "SELECT name, value FROM SYSIBMADM.DBCFG",
    })?;
    // A server that only pretends (canned bytes) answers anything with one column.
    let each = rows.iter().filter_map(|row| {
        let (name, setting, unit) = match row.as_slice() {
            [name, setting, unit] => (name, setting, unit.as_deref()),
            [name, setting] => (name, setting, None),
            _ => return None,
        };
        let setting = setting.clone().unwrap_or_default();
        let shown = match unit {
            None | Some("") => setting,
            Some(unit) => format!("{setting} x {unit}"),
        };
        Some((name.clone()?, shown))
    });
    Ok(each.collect())
}

/// Those that decide whether commits are durable, and those that decide most about speed; what a report shows first.
pub const TELLING: [&str; 24] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "wal_level",
    "commit_delay",
    "synchronous_standby_names",
    "default_transaction_isolation",
    "shared_buffers",
    "work_mem",
    "max_wal_size",
    "checkpoint_timeout",
    "max_connections",
    "autovacuum",
    "jit",
    "data_checksums",
    "data_directory",
    // MariaDB's and MySQL's.
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "tx_isolation",
];
