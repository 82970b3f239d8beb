//! What a client may ask for that connects with `replication=true`.
//!
//! PostgreSQL's commands, as far as they make sense here; the rest is refused by name. START_REPLICATION hands the socket
//! to the hub: what goes over it from there on is the stream of `docs/formats/replication.md`.

use mote_catalog::database::Database;
use mote_catalog::host::OutputColumn;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_replication::history::History;
use mote_types::{ColumnType, oid};

/// A command of the replication protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    IdentifySystem,
    /// Of this term.
    TimelineHistory(u32),
    Start,
    /// SHOW is the only command of SQL.
    Show,
}

/// Reads a command. The position that START_REPLICATION names is not looked at: hello says where the follower is.
pub fn parse(text: &str) -> SqlResult<Command> {
    let text = text.trim().trim_end_matches(';').trim();
    let mut words = text.split_ascii_whitespace();
    let first = words.next().unwrap_or_default().to_ascii_uppercase();
    match first.as_str() {
        "IDENTIFY_SYSTEM" if words.next().is_none() => Ok(Command::IdentifySystem),
        "TIMELINE_HISTORY" => match (words.next().and_then(|word| word.parse().ok()), words.next()) {
            (Some(term), None) => Ok(Command::TimelineHistory(term)),
            _ => Err(syntax_error(text)),
        },
        "START_REPLICATION" => start(words),
        "SHOW" => Ok(Command::Show),
        "BASE_BACKUP" => {
            Err(SqlError::unsupported("BASE_BACKUP").hint("Use mote backup, or mote serve --follow."))
        }
        "CREATE_REPLICATION_SLOT" | "DROP_REPLICATION_SLOT" | "READ_REPLICATION_SLOT" => {
            Err(SqlError::unsupported(first).hint("A follower has a slot from its first connection on."))
        }
        _ => Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot execute SQL commands in WAL sender for physical replication",
        )),
    }
}

fn start<'a>(words: impl Iterator<Item = &'a str>) -> SqlResult<Command> {
    let words: Vec<String> = words.map(str::to_ascii_uppercase).collect();
    let refused = |what: &str| Err(SqlError::unsupported(what));
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["PHYSICAL", _] | [_] => Ok(Command::Start),
        ["SLOT", ..] => refused("START_REPLICATION SLOT"),
        [.., "LOGICAL", _] | ["LOGICAL", ..] => refused("START_REPLICATION LOGICAL"),
        _ => refused("START_REPLICATION with options"),
    }
}

fn columns(columns: &[(&str, Oid)]) -> Vec<OutputColumn> {
    let column = |&(name, ty): &(&str, Oid)| OutputColumn {
        name: name.to_string(),
        ty: ColumnType::new(ty),
        table: Oid::INVALID,
        attribute: 0,
    };
    columns.iter().map(column).collect()
}

/// IDENTIFY_SYSTEM.
pub fn identify_system(database: &Database) -> (Vec<OutputColumn>, Vec<Option<String>>) {
    let log = database.engine().log();
    let columns = columns(&[
        ("systemid", oid::TEXT),
        ("timeline", oid::INT4),
        ("xlogpos", oid::TEXT),
        ("dbname", oid::TEXT),
    ]);
    let row = vec![
        Some(log.system_id().to_string()),
        Some(log.term().to_string()),
        Some(log.flushed().to_string()),
        None,
    ];
    (columns, row)
}

/// TIMELINE_HISTORY: the terms up to `term`, a line each.
pub fn timeline_history(history: &History, term: u32) -> (Vec<OutputColumn>, Vec<Option<String>>) {
    let columns = columns(&[("filename", oid::TEXT), ("content", oid::TEXT)]);
    let marks = history.marks().iter().filter(|mark| mark.term <= term);
    let lines = marks.map(|mark| {
        let (start, before) = (mark.start.0, mark.previous_end.0);
        format!("{}\t{start}\t{before}\t{}\n", mark.term, mark.nonce)
    });
    let content: String = lines.collect();
    (columns, vec![Some(format!("{term:08X}.history")), Some(content)])
}

fn syntax_error(text: &str) -> SqlError {
    SqlError::new(
        state::SYNTAX_ERROR,
        format!("syntax error in the replication command {text}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        assert_eq!(parse(" identify_system; "), Ok(Command::IdentifySystem));
        assert_eq!(parse("TIMELINE_HISTORY 3"), Ok(Command::TimelineHistory(3)));
        assert_eq!(parse("START_REPLICATION PHYSICAL 0/0"), Ok(Command::Start));
        assert_eq!(parse("SHOW server_version"), Ok(Command::Show));
        for (text, code) in [
            ("TIMELINE_HISTORY x", "42601"),
            ("TIMELINE_HISTORY", "42601"),
            ("START_REPLICATION SLOT a LOGICAL 0/0", "0A000"),
            ("START_REPLICATION PHYSICAL 0/0 TIMELINE 1", "0A000"),
            ("BASE_BACKUP", "0A000"),
            ("CREATE_REPLICATION_SLOT a PHYSICAL", "0A000"),
            ("select 1", "0A000"),
            ("", "0A000"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.state().as_str(), code, "{text}");
        }
    }
}
