//! `synchronous_standby_names`: from where it comes, and what it must be.
//!
//! The command line says it for the life of the process; else the server's file of settings does, which a reload reads again.

use mote_catalog::database::Database;
use mote_common::standby_names::{NamesError, SyncNames};

pub const NAME: &str = "synchronous_standby_names";

/// Whom commits wait for, by the command line's list if there is one; `None`: nobody. The error is for the server's log.
pub fn read(commanded: Option<&str>, database: &Database) -> Result<Option<SyncNames>, String> {
    match commanded {
        Some(text) => parse(text),
        None => parse(&database.server_settings().value(NAME)),
    }
}

/// Reads a list, for who starts a server with one.
pub fn parse(text: &str) -> Result<Option<SyncNames>, String> {
    SyncNames::parse(text).map_err(|error| {
        let why = match error {
            NamesError::Grammar(detail) => detail,
            NamesError::Count(count) => {
                format!("number of synchronous standbys ({count}) must be greater than zero")
            }
        };
        format!("invalid value for parameter \"{NAME}\": \"{text}\": {why}")
    })
}
