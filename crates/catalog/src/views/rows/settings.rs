//! pg_settings and time zones.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;
use mote_types::datetime::TimeZone;

use crate::privileges::sees_files;
use crate::settings::{
    Context, FILE_NAME, FileLine, Kind, SETTINGS, ServerSettings, Setting, Source, general, in_own_unit,
};
use crate::settings::{is_unlisted, names_files};
use crate::views::facts::Facts;
use crate::views::row::{NULL, row, text_array};

pub fn settings(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let sees_files = sees_files(facts.session.catalog);
    // Those that clients made up are not listed, as PostgreSQL does not list its placeholders.
    let listed = SETTINGS
        .iter()
        .enumerate()
        .filter(|(_, setting)| !is_unlisted(setting.name) && (sees_files || !names_files(setting.name)));
    Ok(listed
        .map(|(index, setting)| setting_row(facts, index, setting, sees_files))
        .collect())
}

fn setting_row(facts: &Facts<'_>, index: usize, setting: &Setting, sees_files: bool) -> Vec<Datum> {
    let values = &facts.session.settings;
    let current = values.value(index);
    // Where the file is said to be is not for everybody.
    let from_file = values.source(index) == Source::File && sees_files;
    let file = facts
        .server_settings
        .filter(|_| from_file)
        .map(ServerSettings::in_force);
    let line = file.as_ref().and_then(|file| file.line(setting.name));
    let (kind, unit, low, high, words) = describe(setting.kind);
    // Numbers are shown in the setting's unit, without its name.
    let plain = |value: &str| unit.map_or_else(|| value.to_string(), |unit| in_own_unit(value, unit));
    row![
        setting.name,
        plain(current),
        unit,
        setting.category,
        setting.description,
        NULL,
        match setting.context {
            Context::Internal => "internal",
            Context::Server => "postmaster",
            Context::Reload => "sighup",
            Context::Backend => "backend",
            Context::SuperuserBackend => "superuser-backend",
            Context::Superuser => "superuser",
            Context::User => "user",
        },
        kind,
        values.source(index).name(),
        low,
        high,
        words,
        plain(setting.default),
        plain(values.default_value(index)),
        line.map(|_| FILE_NAME),
        line.map(|line| line.number),
        false,
    ]
}

/// The lines of the server's file, as read or written last.
pub fn file_settings(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    if !facts.session.catalog.identity.superuser {
        let message = "permission denied for view pg_file_settings";
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    let Some(settings) = facts.server_settings else {
        return Ok(Vec::new());
    };
    let file = settings.on_disk();
    let rows = (file.lines().iter().zip(1..)).map(|(line, number): (&FileLine, i32)| {
        let named = !line.name.is_empty();
        row![
            FILE_NAME,
            line.number,
            number,
            named.then_some(line.name.as_str()),
            named.then_some(line.value.as_str()),
            line.error.is_none() && !line.overruled,
            line.error.as_deref(),
        ]
    });
    Ok(rows.collect())
}

/// Type name, unit, bounds and words of a setting.
fn describe(
    kind: Kind,
) -> (
    &'static str,
    Option<&'static str>,
    Option<String>,
    Option<String>,
    Datum,
) {
    match kind {
        Kind::Bool => ("bool", None, None, None, NULL),
        Kind::Integer(low, high, unit) => {
            let unit = Some(unit).filter(|unit| !unit.is_empty());
            (
                "integer",
                unit,
                Some(low.to_string()),
                Some(high.to_string()),
                NULL,
            )
        }
        Kind::Real(low, high, unit) => {
            let unit = Some(unit).filter(|unit| !unit.is_empty());
            ("real", unit, Some(general(low)), Some(general(high)), NULL)
        }
        Kind::Enum(words) => ("enum", None, None, None, text_array(words)),
        Kind::String => ("string", None, None, None, NULL),
    }
}

/// Names of the tz database, one per line.
const ZONE_NAMES: &str = include_str!("zones.txt");
/// Abbreviations that AT TIME ZONE knows.
const ABBREVIATIONS: &[&str] = &[
    "ACDT", "ACST", "AEDT", "AEST", "AKDT", "AKST", "AWST", "BST", "CDT", "CEST", "CET", "CST", "EDT",
    "EEST", "EET", "EST", "GMT", "HKT", "HST", "IDT", "IST", "JST", "KST", "MDT", "MSK", "MST", "NDT", "NST",
    "NZDT", "NZST", "PDT", "PST", "SAST", "UCT", "UT", "UTC", "WET", "WEST", "Z", "ZULU",
];
const SECOND_US: i64 = 1_000_000;

pub fn timezone_names(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let now = facts.session.transaction_start_us;
    let rows = ZONE_NAMES.lines().filter_map(|name| {
        let zone = TimeZone::find(name)?;
        let offset = zone.offset_at_utc_s(now);
        // Summer time is in force when half a year away the clocks stand further west.
        let half_year_us = 182 * 86_400 * SECOND_US;
        let summer = zone.offset_at_utc_s(now + half_year_us) < offset;
        Some(row![
            name,
            zone.abbreviation_at(now),
            offset_interval(offset),
            summer
        ])
    });
    Ok(rows.collect())
}

pub fn timezone_abbreviations(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let now = facts.session.transaction_start_us;
    let rows = ABBREVIATIONS.iter().filter_map(|name| {
        let offset = TimeZone::parse_for_at(name).ok()?.offset_at_utc_s(now);
        let summer =
            name.len() > 2 && (name.ends_with("DT") || matches!(*name, "BST" | "CEST" | "EEST" | "WEST"));
        Some(row![*name, offset_interval(offset), summer])
    });
    Ok(rows.collect())
}

fn offset_interval(seconds: i32) -> Datum {
    Datum::interval(0, 0, seconds as i64 * SECOND_US)
}
