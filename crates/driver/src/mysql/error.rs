//! Errors of MySQL under the codes that SQL and PostgreSQL have for them, so that tables of outcomes can stand side by side.

use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::ErrPacket;

use super::super::error::{DriverResult, ServerError};
use super::super::form::write_error;
use super::malformed;

/// Numbers that have another SQLSTATE here than the server sends, mostly HY000, and why.
const STATES: [(u16, &str); 20] = [
    (1020, "40001"), // record has changed since last read, under snapshot isolation
    (1040, "53300"), // too many connections
    (1044, "42501"), // access to the database denied
    (1048, "23502"), // NULL where none may be
    (1049, "3D000"), // unknown database
    (1050, "42P07"), // the table is there already
    (1051, "42P01"), // DROP of an unknown table
    (1053, "57P01"), // shutting down
    (1062, "23505"), // duplicate key
    (1146, "42P01"), // unknown table
    (1205, "55P03"), // lock wait timeout
    (1213, "40P01"), // deadlock
    (1264, "22003"), // a number out of its column's range
    (1317, "57014"), // interrupted
    (1406, "22001"), // a text longer than its column
    (1451, "23503"), // a row that others refer to
    (1452, "23503"), // a reference to no row
    (1927, "57P01"), // connection killed
    (3024, "57014"), // execution time exceeded
    (4025, "23514"), // a CHECK that fails
];
/// After which the connection is closed.
const FATAL: [&str; 3] = ["57P01", "53300", "3D000"];

/// The code of an error that the server sends under another one.
pub fn state_of(number: u16) -> Option<&'static str> {
    let known = STATES.iter().find(|(known, _)| *known == number);
    known.map(|(_, state)| *state)
}

pub fn decode(body: &[u8]) -> DriverResult<ServerError> {
    let packet: ErrPacket<'_> = ParseBuf(body)
        .parse(CapabilityFlags::CLIENT_PROTOCOL_41)
        .map_err(|_| malformed())?;
    let ErrPacket::Error(error) = packet else {
        return Err(malformed());
    };
    let number = error.error_code();
    let sent = error
        .sql_state_ref()
        .map_or("HY000".into(), |state| state.as_str().into_owned());
    let sqlstate = state_of(number).map_or(sent, str::to_string);
    let severity = if FATAL.contains(&sqlstate.as_str()) {
        "FATAL"
    } else {
        "ERROR"
    };
    Ok(ServerError {
        severity: severity.into(),
        sqlstate,
        message: format!("{} [{number}]", error.message_str()),
        detail: None,
        hint: None,
    })
}

/// Whether the server has rolled the transaction back.
pub fn ends_transaction(error: &ServerError) -> bool {
    matches!(error.sqlstate.as_str(), "40P01" | "40001")
}

fn own(answer: &mut Vec<u8>, sqlstate: &str, message: String) {
    let (severity, sqlstate) = ("ERROR".into(), sqlstate.into());
    let (detail, hint) = (None, None);
    write_error(
        answer,
        &ServerError {
            severity,
            sqlstate,
            message,
            detail,
            hint,
        },
    );
}

/// Something that the dialect does not have.
pub fn refuse(answer: &mut Vec<u8>, what: &str) {
    own(answer, "0A000", what.to_string());
}

/// A load that did not store what it was given.
pub fn rows_changed(answer: &mut Vec<u8>, warnings: u16) {
    own(
        answer,
        "22000",
        format!("LOAD DATA had {warnings} warnings: rows were changed or left out"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_states_of_sql() {
        let deadlock =
            b"\xff\xbd\x04#40001Deadlock found when trying to get lock; try restarting transaction";
        let error = decode(deadlock).expect("well formed");
        assert_eq!(
            (error.sqlstate.as_str(), error.severity.as_str()),
            ("40P01", "ERROR")
        );
        assert!(error.message.ends_with("[1213]"), "{}", error.message);
        assert!(ends_transaction(&error));
        let mut answer = Vec::new();
        write_error(&mut answer, &error);
        assert_eq!(super::super::super::wire::decode_error(&answer[5..]), error);
        let other = decode(b"\xff\x28\x04#42000You have an error").expect("well formed");
        assert_eq!(other.sqlstate, "42000");
        assert!(decode(b"\xff").is_err());
        assert!(STATES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
