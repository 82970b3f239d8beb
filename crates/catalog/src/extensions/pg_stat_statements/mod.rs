//! pg_stat_statements: what statements have cost.
//!
//! Where some database has it, statements of all databases are counted (docs/design/0051).

use mote_sql::access::privilege;

use super::Extension;

pub const NAME: &str = "pg_stat_statements";

pub(super) const EXTENSION: Extension = Extension {
    name: NAME,
    version: "1.10",
    comment: "track planning and execution statistics of all SQL statements executed",
    trusted: false,
    relocatable: true,
    script: include_str!("install.sql"),
    privileges: &[
        ("f", "pg_stat_statements_reset", 0),
        ("r", "pg_stat_statements_info", privilege::SELECT),
        ("r", "pg_stat_statements", privilege::SELECT),
    ],
    builtin: None,
};
