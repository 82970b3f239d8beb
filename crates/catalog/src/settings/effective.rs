//! The settings that hot paths read, parsed once per change.

use mote_common::{SqlError, SqlResult};
use mote_engine::Level;
use mote_grammar::ast::IsolationLevel;
use mote_grammar::lexer::StringRules;
use mote_types::encoding::Encoding;
use mote_types::time_zone::TimeZone;
use mote_types::{ByteaOutput, FormatSettings, IntervalStyle};

use super::{
    PlanKey, Severity, StatementSettings, date_style, isolation_named, lookup, parse_name_list, value,
};

/// The settings that are read for every statement, parsed.
#[derive(Clone, Debug)]
pub struct Effective {
    pub statement_timeout_ms: u64,
    pub lock_timeout_ms: u64,
    pub idle_in_transaction_timeout_ms: u64,
    pub idle_session_timeout_ms: u64,
    pub synchronous_commit: Level,
    pub work_mem_bytes: usize,
    pub search_path: Vec<String>,
    /// Views of users may not be read.
    pub restricts_views: bool,
    /// What of all these shapes a plan: part of the key of cached plans.
    pub(super) plan_key: PlanKey,
    pub default_isolation: IsolationLevel,
    pub default_read_only: bool,
    pub default_deferrable: bool,
    /// session_replication_role: triggers and foreign keys stand back.
    pub replica: bool,
    pub format: FormatSettings,
    /// Lowest severity sent to the client: 0 = debug5 ... 9 = error.
    pub client_min_messages: Severity,
    pub client_encoding: Encoding,
    pub statements: StatementSettings,
    pub strings: StringRules,
}

impl Effective {
    /// Of the texts of all settings, in the table's order; they have been checked.
    pub(super) fn parse(values: &[String]) -> SqlResult<Effective> {
        let get = |name: &str| values[lookup(name).expect("named settings are in the table")].as_str();
        let milliseconds = |name: &str| value::integer(get(name), "ms").unwrap_or(0).max(0) as u64;
        let (date_style, date_order) = date_style::parse_canonical(get("DateStyle"));
        let format = FormatSettings {
            time_zone: TimeZone::named(get("TimeZone"))
                .ok_or_else(|| SqlError::internal("the setting TimeZone names no zone"))?,
            date_style,
            date_order,
            interval_style: match get("IntervalStyle") {
                "postgres_verbose" => IntervalStyle::PostgresVerbose,
                "sql_standard" => IntervalStyle::SqlStandard,
                "iso_8601" => IntervalStyle::Iso8601,
                _ => IntervalStyle::Postgres,
            },
            bytea_output: match get("bytea_output") {
                "escape" => ByteaOutput::Escape,
                _ => ByteaOutput::Hex,
            },
            extra_float_digits: value::integer(get("extra_float_digits"), "").unwrap_or(1) as i32,
            now_us: 0,
        };
        let restricted = parse_name_list(get("restrict_nonsystem_relation_kind"));
        let restricts_views = restricted.iter().any(|kind| kind == "view");
        Ok(Effective {
            restricts_views,
            plan_key: match restricts_views {
                false => PlanKey::of(get("search_path")),
                // No name holds a zero byte.
                true => PlanKey::of(&format!("{}\0", get("search_path"))),
            },
            statement_timeout_ms: milliseconds("statement_timeout"),
            lock_timeout_ms: milliseconds("lock_timeout"),
            idle_in_transaction_timeout_ms: milliseconds("idle_in_transaction_session_timeout"),
            idle_session_timeout_ms: milliseconds("idle_session_timeout"),
            synchronous_commit: match get("synchronous_commit") {
                "off" => Level::Off,
                "local" => Level::Local,
                "remote_write" => Level::RemoteWrite,
                "remote_apply" => Level::RemoteApply,
                _ => Level::On,
            },
            work_mem_bytes: value::integer(get("work_mem"), "kB").unwrap_or(4096).max(64) as usize * 1024,
            search_path: parse_name_list(get("search_path")),
            default_isolation: isolation_named(get("default_transaction_isolation"))
                .unwrap_or(IsolationLevel::ReadCommitted),
            default_read_only: get("default_transaction_read_only") == "on",
            default_deferrable: get("default_transaction_deferrable") == "on",
            replica: get("session_replication_role") == "replica",
            format,
            client_min_messages: match get("client_min_messages") {
                "error" => Severity::Error,
                "warning" => Severity::Warning,
                // What is said at INFO is always heard.
                "notice" | "info" => Severity::Notice,
                "log" => Severity::Log,
                _ => Severity::Debug,
            },
            client_encoding: Encoding::from_name(get("client_encoding")).unwrap_or(Encoding::UTF8),
            statements: StatementSettings::read(get),
            strings: string_rules(get),
        })
    }
}

fn string_rules<'v>(get: impl Fn(&str) -> &'v str) -> StringRules {
    // In these the second byte of a character may look like a backslash.
    const CLIENT_ONLY: [&str; 7] = ["SJIS", "BIG5", "GBK", "UHC", "GB18030", "JOHAB", "SHIFT_JIS_2004"];
    StringRules {
        conforming: get("standard_conforming_strings") == "on",
        escaped_quotes: match get("backslash_quote") {
            "on" => true,
            "off" => false,
            _ => !CLIENT_ONLY.contains(&get("client_encoding")),
        },
        warns: get("escape_string_warning") == "on",
    }
}
