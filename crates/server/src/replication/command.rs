//! What a client may ask for that connects with `replication=true`.
//!
//! PostgreSQL's commands, as far as they make sense here; the rest is refused by name. START_REPLICATION hands the socket
//! to the hub: what goes over it from there on is the stream of `docs/formats/replication.md`.

use mote_catalog::cluster::SlotFacts;
use mote_catalog::database::Database;
use mote_catalog::host::OutputColumn;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_replication::history::History;
use mote_replication::message::Ask;
use mote_types::{ColumnType, oid};

use super::logical::syntax::{self, CreateSlot, StartLogical};
use super::promise::ask_of;

/// A command of the replication protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    IdentifySystem,
    /// Of this term.
    TimelineHistory(u32),
    Start,
    CreateSlot {
        name: String,
        temporary: bool,
        reserve: bool,
    },
    /// With its plugin.
    CreateLogicalSlot(CreateSlot, String),
    StartLogical(StartLogical),
    /// Perhaps waiting until nobody uses it.
    DropSlot(String, bool),
    ReadSlot(String),
    /// Another node of the cluster asks for this one's word.
    Promise(Ask),
    /// The node of this name shall lead the cluster.
    Switchover(String),
    /// SHOW is the only command of SQL.
    Show,
    /// Anything else, on a connection to a database.
    Sql,
}

/// Reads a command. The position that START_REPLICATION names is not looked at: hello says where the follower is.
/// `database`: the connection is to one, and takes SQL as well.
pub fn parse(text: &str, database: bool) -> SqlResult<Command> {
    let text = text.trim().trim_end_matches(';').trim();
    let behind = text
        .find(|c: char| c.is_whitespace())
        .map_or("", |end| &text[end..]);
    let mut words = text.split_ascii_whitespace();
    let first = words.next().unwrap_or_default().to_ascii_uppercase();
    match first.as_str() {
        "IDENTIFY_SYSTEM" if words.next().is_none() => Ok(Command::IdentifySystem),
        "TIMELINE_HISTORY" => match (words.next().and_then(|word| word.parse().ok()), words.next()) {
            (Some(0), None) => Err(SqlError::new(state::SYNTAX_ERROR, "invalid timeline 0")),
            (Some(term), None) => Ok(Command::TimelineHistory(term)),
            _ => Err(syntax_error(text)),
        },
        "START_REPLICATION" => match syntax::start_logical(behind)? {
            Some(logical) => Ok(Command::StartLogical(logical)),
            None => start_physical(behind),
        },
        "PROMISE" => match ask_of(words) {
            Some(ask) => Ok(Command::Promise(ask)),
            None => Err(syntax_error(text)),
        },
        "SWITCHOVER" => match (words.next(), words.next()) {
            (Some(name), None) => Ok(Command::Switchover(name.into())),
            _ => Err(syntax_error(text)),
        },
        "SHOW" => Ok(Command::Show),
        "BASE_BACKUP" => {
            Err(SqlError::unsupported("BASE_BACKUP").hint("Use mote backup, or mote serve --follow."))
        }
        "CREATE_REPLICATION_SLOT" => create_slot(behind),
        "DROP_REPLICATION_SLOT" => {
            let (name, wait) = syntax::drop_slot(behind)?;
            Ok(Command::DropSlot(name, wait))
        }
        "READ_REPLICATION_SLOT" => Ok(Command::ReadSlot(syntax::read_slot(behind)?)),
        _ if database => Ok(Command::Sql),
        _ => Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot execute SQL commands in WAL sender for physical replication",
        )),
    }
}

fn create_slot(text: &str) -> SqlResult<Command> {
    let mut command = syntax::create_slot(text)?;
    if let Some(plugin) = command.plugin.take() {
        return Ok(Command::CreateLogicalSlot(command, plugin));
    }
    let mut reserve = None;
    for option in &command.options {
        match &*option.name {
            "reserve_wal" if reserve.is_none() => reserve = Some(option.flag()?),
            _ => return Err(syntax::redundant()),
        }
    }
    Ok(Command::CreateSlot {
        name: command.name,
        temporary: command.temporary,
        reserve: reserve.unwrap_or(false),
    })
}

/// What CREATE_REPLICATION_SLOT answers.
pub fn slot_created(name: &str) -> (Vec<OutputColumn>, Vec<Option<String>>) {
    let columns = columns(&[
        ("slot_name", oid::TEXT),
        ("consistent_point", oid::TEXT),
        ("snapshot_name", oid::TEXT),
        ("output_plugin", oid::TEXT),
    ]);
    // A physical slot has no point at which it is consistent.
    (columns, vec![Some(name.into()), Some("0/0".into()), None, None])
}

/// READ_REPLICATION_SLOT: all NULL where there is none.
pub fn read_slot(slot: Option<&SlotFacts>) -> SqlResult<(Vec<OutputColumn>, Vec<Option<String>>)> {
    if slot.is_some_and(|slot| slot.logical.is_some()) {
        let message = "cannot use READ_REPLICATION_SLOT with a logical replication slot";
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    let columns = columns(&[
        ("slot_type", oid::TEXT),
        ("restart_lsn", oid::TEXT),
        ("restart_tli", oid::INT8),
    ]);
    let kept = slot.filter(|slot| slot.status.is_some());
    let row = vec![
        slot.map(|_| "physical".into()),
        kept.map(|slot| slot.position.to_string()),
        kept.map(|slot| slot.term.to_string()),
    ];
    Ok((columns, row))
}

fn start_physical(text: &str) -> SqlResult<Command> {
    let asked = syntax::start_physical(text)?;
    match (asked.slot, asked.timeline) {
        (false, false) => Ok(Command::Start),
        (true, _) => Err(SqlError::unsupported("START_REPLICATION SLOT .. PHYSICAL")),
        (false, true) => Err(SqlError::unsupported("START_REPLICATION with options")),
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
pub fn identify_system(database: &Database, name: Option<&str>) -> (Vec<OutputColumn>, Vec<Option<String>>) {
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
        name.map(str::to_string),
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
        assert_eq!(parse(" identify_system; ", false), Ok(Command::IdentifySystem));
        assert_eq!(
            parse("TIMELINE_HISTORY 3", false),
            Ok(Command::TimelineHistory(3))
        );
        assert_eq!(parse("START_REPLICATION PHYSICAL 0/0", false), Ok(Command::Start));
        assert_eq!(parse("SHOW server_version", false), Ok(Command::Show));
        let slot = |name: &str, temporary, reserve| {
            Ok(Command::CreateSlot {
                name: name.into(),
                temporary,
                reserve,
            })
        };
        for (text, expected) in [
            ("CREATE_REPLICATION_SLOT A PHYSICAL", slot("a", false, false)),
            (
                "create_replication_slot \"A\" temporary physical reserve_wal",
                slot("A", true, true),
            ),
            (
                "CREATE_REPLICATION_SLOT a PHYSICAL (RESERVE_WAL true)",
                slot("a", false, true),
            ),
            (
                "DROP_REPLICATION_SLOT a;",
                Ok(Command::DropSlot("a".into(), false)),
            ),
            (
                "DROP_REPLICATION_SLOT \"A\" WAIT",
                Ok(Command::DropSlot("A".into(), true)),
            ),
            ("READ_REPLICATION_SLOT a", Ok(Command::ReadSlot("a".into()))),
            (
                "READ_REPLICATION_SLOT \"no such\"",
                Ok(Command::ReadSlot("no such".into())),
            ),
            ("START_REPLICATION 0/0", Ok(Command::Start)),
        ] {
            assert_eq!(parse(text, false), expected, "{text}");
        }
        for (text, code) in [
            ("TIMELINE_HISTORY x", "42601"),
            ("TIMELINE_HISTORY", "42601"),
            ("START_REPLICATION SLOT a LOGICAL 0", "42601"),
            ("START_REPLICATION SLOT a PHYSICAL 0/0", "0A000"),
            ("START_REPLICATION PHYSICAL 0/0 TIMELINE 1", "0A000"),
            ("START_REPLICATION PHYSICAL 0/0 TIMELINE", "42601"),
            ("START_REPLICATION PHYSICAL nonsense", "42601"),
            ("START_REPLICATION nonsense", "42601"),
            ("START_REPLICATION SLOT a", "42601"),
            ("START_REPLICATION", "42601"),
            ("TIMELINE_HISTORY 0", "42601"),
            ("CREATE_REPLICATION_SLOT a PHYSICAL ()", "42601"),
            ("BASE_BACKUP", "0A000"),
            ("CREATE_REPLICATION_SLOT a LOGICAL", "42601"),
            ("CREATE_REPLICATION_SLOT a", "42601"),
            ("CREATE_REPLICATION_SLOT a PHYSICAL TWO_PHASE", "42601"),
            ("DROP_REPLICATION_SLOT a WAIT b", "42601"),
            ("DROP_REPLICATION_SLOT", "42601"),
            ("PROMISE 7 9", "42601"),
            ("SWITCHOVER", "42601"),
            ("READ_REPLICATION_SLOT", "42601"),
            ("select 1", "0A000"),
            ("", "0A000"),
        ] {
            let error = parse(text, false).expect_err(text);
            assert_eq!(error.state().as_str(), code, "{text}");
        }
    }
}
