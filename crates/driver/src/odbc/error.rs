//! What drivers of ODBC say went wrong, under the codes that PostgreSQL has for it.

use odbc_api::Error;

use super::super::dialect::{db2, oracle};
use super::super::error::ServerError;
use super::super::mysql::error::state_of;
use super::super::url::System;

/// A connection that is lost or cannot be had, in ODBC's classes and in MySQL's numbers.
const LOST_CLASS: &str = "08";
const LOST: [i32; 5] = [2002, 2003, 2006, 2013, 2055];
/// What a server says that goes away.
const GOING: [&str; 3] = ["57P01", "57P02", "57P03"];

fn error(severity: &str, sqlstate: &str, message: String) -> ServerError {
    ServerError {
        severity: severity.into(),
        sqlstate: sqlstate.into(),
        message,
        detail: None,
        hint: None,
    }
}

pub fn decode(said: &Error, system: System) -> ServerError {
    let record = match said {
        Error::Diagnostics { record, .. } => record,
        other => return error("ERROR", "HV000", other.to_string()),
    };
    let own = match system {
        System::Oracle => oracle::state_of(record.native_error, &record.to_string()),
        System::Db2 => db2::state_of(record.native_error, &record.to_string()),
        System::Postgres | System::Mysql => None,
    };
    if let Some(error) = own {
        return error;
    }
    let state = String::from_utf8_lossy(&record.state.0[..5]).into_owned();
    let known = match system {
        System::Mysql => u16::try_from(record.native_error).ok().and_then(state_of),
        _ => None,
    };
    let state = known.map_or(state, str::to_string);
    let message = record.to_string();
    let lost = state.starts_with(LOST_CLASS)
        || GOING.contains(&state.as_str())
        || (system == System::Mysql && LOST.contains(&record.native_error))
        // psqlodbc says so under a general code.
        || message.contains("server closed the connection")
        || message.contains("no connection to the server");
    match lost {
        true if state.starts_with(LOST_CLASS) => error("FATAL", "08006", message),
        true => error(
            "FATAL",
            if state.starts_with("HY") { "08006" } else { &state },
            message,
        ),
        false => error("ERROR", &state, message),
    }
}

/// Something that cannot be said in ODBC.
pub fn refused(what: &str) -> ServerError {
    error("ERROR", "0A000", what.to_string())
}

pub fn in_failed_transaction() -> ServerError {
    error(
        "ERROR",
        "25P02",
        "an error has ended the transaction; only ROLLBACK goes on".to_string(),
    )
}
