//! Settings of what is kept of statements: `compute_query_id` and those of pg_stat_statements.

use super::setting::{Context, Kind, Setting, effective, superuser, supporting, user};

const MONITORING: &str = "Statistics / Monitoring";
const EXTENSION: &str = "Customized Options";

pub(super) const STATEMENTS: &[Setting] = &[
    superuser(effective(user(
        "compute_query_id",
        Kind::Enum(&["auto", "regress", "on", "off"]),
        "auto",
        MONITORING,
        "Whether statements get a number; auto: where some database has pg_stat_statements.",
    ))),
    Setting {
        context: Context::Reload,
        ..effective(user(
            "pg_stat_statements.max",
            Kind::Integer(100, i32::MAX as i64 / 2, ""),
            "5000",
            EXTENSION,
            "The most statements that are kept, by each thread.",
        ))
    },
    Setting {
        context: Context::Reload,
        ..supporting(
            &["off"],
            user(
                "pg_stat_statements.save",
                Kind::Bool,
                "off",
                EXTENSION,
                "Statistics of statements end with the server.",
            ),
        )
    },
    superuser(effective(user(
        "pg_stat_statements.track",
        Kind::Enum(&["none", "top", "all"]),
        "top",
        EXTENSION,
        "Which statements are counted: none, those of clients, or also those inside of functions.",
    ))),
    superuser(effective(user(
        "pg_stat_statements.track_planning",
        Kind::Bool,
        "off",
        EXTENSION,
        "Whether planning is counted.",
    ))),
    superuser(effective(user(
        "pg_stat_statements.track_utility",
        Kind::Bool,
        "on",
        EXTENSION,
        "Whether statements other than SELECT, INSERT, UPDATE, DELETE and MERGE are counted.",
    ))),
];

/// Who asks for numbers of statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryIds {
    /// Whoever shows statistics of statements. `shown`: EXPLAIN tells them too.
    Auto {
        shown: bool,
    },
    On,
    Off,
}

/// Which statements are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub enum Track {
    Nothing,
    Top,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatementSettings {
    pub query_ids: QueryIds,
    pub track: Track,
    pub planning: bool,
    pub utility: bool,
    /// How many a table keeps.
    pub statements_max: usize,
}

impl StatementSettings {
    pub(super) fn read<'v>(get: impl Fn(&str) -> &'v str) -> StatementSettings {
        StatementSettings {
            query_ids: match get("compute_query_id") {
                "on" => QueryIds::On,
                "off" => QueryIds::Off,
                other => QueryIds::Auto {
                    shown: other == "auto",
                },
            },
            track: match get("pg_stat_statements.track") {
                "none" => Track::Nothing,
                "all" => Track::All,
                _ => Track::Top,
            },
            planning: get("pg_stat_statements.track_planning") == "on",
            utility: get("pg_stat_statements.track_utility") == "on",
            statements_max: get("pg_stat_statements.max").parse().unwrap_or(5000),
        }
    }
}
