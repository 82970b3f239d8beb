//! Which names may be set where: names that clients make up, settings that only a start or a file changes, those of
//! PostgreSQL that have no counterpart here.

use mote_common::standby_names::{NamesError, SyncNames};
use mote_common::{SqlError, SqlResult, error::state};

use super::server_facts::SERVER_FACTS;
use super::{Context, SETTINGS, Setting, foreign, is_identity, lookup};

/// Names with a dot belong to clients, but for those of extensions.
pub(super) fn is_custom(name: &str) -> bool {
    name.contains('.') && lookup(name).is_none()
}

pub(super) fn check_custom_name(name: &str) -> SqlResult<()> {
    let identifier = |part: &str| {
        let mut characters = part.chars();
        let first = characters
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii());
        first && characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii())
    };
    if name.split('.').all(identifier) {
        return Ok(());
    }
    Err(SqlError::new(
        state::INVALID_NAME,
        format!("invalid configuration parameter name \"{name}\""),
    )
    .detail("Custom parameter names must be two or more simple identifiers separated by dots."))
}

/// Whom commits wait for is said in a grammar of its own.
pub(super) fn check_standby_names(text: &str) -> SqlResult<()> {
    let refusal = match SyncNames::parse(text) {
        Ok(_) => return Ok(()),
        Err(NamesError::Grammar(detail)) => SqlError::new(
            state::SYNTAX_ERROR,
            format!("invalid value for parameter \"synchronous_standby_names\": \"{text}\""),
        )
        .detail(detail),
        Err(NamesError::Count(count)) => SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("number of synchronous standbys ({count}) must be greater than zero"),
        ),
    };
    Err(refusal)
}

/// Refuses what no session may change.
pub(super) fn check_context(setting: &Setting, starting: bool) -> SqlResult<()> {
    let when = match setting.context {
        Context::Internal => "cannot be changed",
        Context::Server => "cannot be changed without restarting the server",
        Context::Reload => "cannot be changed now",
        Context::Backend | Context::SuperuserBackend if !starting => "cannot be set after connection start",
        _ => return Ok(()),
    };
    Err(unchangeable(setting.name, when))
}

pub(super) fn unchangeable(name: &str, when: &str) -> SqlError {
    SqlError::new(
        state::CANT_CHANGE_RUNTIME_PARAM,
        format!("parameter \"{name}\" {when}"),
    )
}

/// As `find`, to change it: settings of PostgreSQL's server that have no counterpart here are refused as there.
pub(super) fn find_to_set(name: &str) -> SqlResult<usize> {
    let folded = name.to_ascii_lowercase();
    let among = |names: &str| names.split_whitespace().any(|known| known == folded);
    if lookup(name).is_some() {
        return find(name);
    }
    for (names, when) in [
        (foreign::INTERNAL, "cannot be changed"),
        (
            foreign::POSTMASTER,
            "cannot be changed without restarting the server",
        ),
        (foreign::RELOADED, "cannot be changed now"),
    ] {
        if among(names) {
            return Err(unchangeable(&folded, when));
        }
    }
    find(name)
}

/// The setting, if its value for all sessions can stand in the server's file.
pub(super) fn to_keep_in_file(name: &str) -> SqlResult<&'static Setting> {
    let folded = name.to_ascii_lowercase();
    let among = |names: &str| names.split_whitespace().any(|known| known == folded);
    if among("data_directory config_file hba_file ident_file external_pid_file") {
        return Err(unchangeable(&folded, "cannot be changed"));
    }
    if lookup(name).is_none() {
        if among(foreign::INTERNAL) {
            return Err(unchangeable(&folded, "cannot be changed"));
        }
        if among(foreign::POSTMASTER) || among(foreign::RELOADED) {
            return Err(SqlError::unsupported(format_args!("ALTER SYSTEM SET {folded}")));
        }
    }
    let setting = &SETTINGS[find(name)?];
    let of_session = is_identity(setting.name) || setting.name == "seed";
    if setting.context == Context::Internal || of_session || setting.name.starts_with("transaction_") {
        return Err(unchangeable(setting.name, "cannot be changed"));
    }
    if setting.context == Context::Server || SERVER_FACTS.iter().any(|fact| fact.name == setting.name) {
        // The command line says what they are, or nothing does.
        return Err(SqlError::unsupported(format_args!(
            "ALTER SYSTEM SET {}",
            setting.name
        )));
    }
    Ok(setting)
}

pub(super) fn find(name: &str) -> SqlResult<usize> {
    lookup(name).ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("unrecognized configuration parameter \"{name}\""),
        )
    })
}
