//! The start-up packet: who wants to connect to what, and with which settings.
//!
//! `options` holds the command line that PostgreSQL would start a backend with. Its switches are short names of settings;
//! those that concern what is not here (`-O`, `-P`, `-W`) are settings without effect, too.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use crate::pgwire::frontend::Fields;

/// What a start-up packet asks for.
#[derive(Default)]
pub struct StartUp {
    pub user: String,
    pub database: String,
    /// Switches, to be read once the client is known.
    pub options: String,
    pub settings: Vec<(String, String)>,
    pub newer_minor: bool,
    /// The client speaks the replication protocol.
    pub replication: bool,
    /// Of changes of the database's tables.
    pub logical: bool,
    pub unknown_options: Vec<String>,
}

impl StartUp {
    pub fn read(packet: &[u8]) -> SqlResult<StartUp> {
        let mut fields = Fields::new(packet);
        let version = fields.i32()? as u32;
        let (major, minor) = (version >> 16, version & 0xffff);
        if major != 3 {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"),
            ));
        }
        let mut start = StartUp {
            newer_minor: minor > 0,
            ..StartUp::default()
        };
        loop {
            let name = fields.string()?;
            if name.is_empty() {
                break;
            }
            let value = fields.string()?;
            match name {
                "user" => start.user = value.to_string(),
                "database" => start.database = value.to_string(),
                "options" => start.options = value.to_string(),
                "replication" => {
                    start.replication = match value {
                        "true" | "on" | "yes" | "1" => true,
                        "false" | "off" | "no" | "0" => false,
                        "database" => {
                            start.logical = true;
                            true
                        }
                        other => {
                            let message = format!("invalid value for parameter \"replication\": \"{other}\"");
                            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message)
                                .hint("Valid values are: \"false\", 0, \"true\", 1, \"database\"."));
                        }
                    };
                }
                _ if name.starts_with("_pq_.") => start.unknown_options.push(name.to_string()),
                _ => start.settings.push((name.to_string(), value.to_string())),
            }
        }
        fields.end()?;
        if start.user.is_empty() {
            return Err(SqlError::new(
                state::INVALID_AUTHORIZATION_SPECIFICATION,
                "no PostgreSQL user name specified in startup packet",
            ));
        }
        Ok(start)
    }
}

impl StartUp {
    /// The database asked for: by default the one that is called as the user.
    pub fn database(&self) -> &str {
        match self.database.as_str() {
            "" => &self.user,
            name => name,
        }
    }
}

/// The settings that a command line asks for.
pub fn switches(text: &str) -> SqlResult<Vec<(String, String)>> {
    let words = words(text);
    let mut rest = words.iter();
    let mut settings = Vec::new();
    while let Some(word) = rest.next() {
        let invalid = || {
            let message = format!("invalid command-line argument for server process: {word}");
            SqlError::new(state::SYNTAX_ERROR, message).hint("Try \"postgres --help\" for more information.")
        };
        if word == "--" {
            return match rest.next() {
                None => Ok(settings),
                Some(extra) => {
                    let message = format!("invalid command-line argument for server process: {extra}");
                    let error = SqlError::new(state::SYNTAX_ERROR, message);
                    Err(error.hint("Try \"postgres --help\" for more information."))
                }
            };
        }
        if let Some(assignment) = word.strip_prefix("--") {
            settings.push(assigned(assignment, "--")?);
            continue;
        }
        let mut letters = word
            .strip_prefix('-')
            .filter(|letters| !letters.is_empty())
            .ok_or_else(invalid)?;
        // Letters without an argument may share a word. An argument is the rest of the word, or the next one.
        while let Some(letter) = letters.chars().next() {
            letters = &letters[letter.len_utf8()..];
            if let Some(found) = flag(letter) {
                settings.extend(found.map(|(name, value)| (name.to_string(), value.to_string())));
                continue;
            }
            if !TAKE_ARGUMENT.contains(letter) {
                return Err(invalid());
            }
            let argument = match std::mem::take(&mut letters) {
                "" => rest.next().ok_or_else(invalid)?,
                argument => argument,
            };
            with_argument(letter, argument, &mut settings)?.ok_or_else(invalid)?;
        }
    }
    Ok(settings)
}

/// Words between blanks, which a backslash can protect.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        let last = words.last_mut().expect("never empty");
        match c {
            '\\' => last.extend(characters.next()),
            c if c.is_ascii_whitespace() => words.push(String::new()),
            c => last.push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A letter that stands alone: the setting it means, if there is one. `None`: it is no such letter.
fn flag(letter: char) -> Option<Option<(&'static str, &'static str)>> {
    Some(match letter {
        'e' => Some(("datestyle", "euro")),
        'F' => Some(("fsync", "false")),
        'i' => Some(("listen_addresses", "*")),
        'l' => Some(("ssl", "true")),
        'O' => Some(("allow_system_table_mods", "true")),
        'P' => Some(("ignore_system_indexes", "true")),
        's' => Some(("log_statement_stats", "true")),
        // For a backend that reads its statements from a terminal, or without a meaning by now.
        'b' | 'E' | 'j' | 'n' | 'T' => None,
        _ => return None,
    })
}

const TAKE_ARGUMENT: &str = "BcCDdfhkNprStvW";

/// A letter that has an argument; `None` if the argument has no meaning.
fn with_argument(
    letter: char,
    argument: &str,
    settings: &mut Vec<(String, String)>,
) -> SqlResult<Option<()>> {
    let name = match letter {
        'c' => {
            settings.push(assigned(argument, "-c ")?);
            return Ok(Some(()));
        }
        'd' => {
            let settings_of_level = debug_level(argument);
            settings.extend(settings_of_level.map(|(name, value)| (name.to_string(), value)));
            return Ok(Some(()));
        }
        'f' | 't' => {
            let (found, value) = match letter {
                'f' => (forbidden_plan(argument), "false"),
                _ => (timed_part(argument), "true"),
            };
            settings.extend(found.map(|name| (name.to_string(), value.to_string())));
            return Ok(found.map(|_| ()));
        }
        // Where a server keeps its data, where a terminal's output goes, a version of the protocol.
        'C' | 'D' | 'r' | 'v' => return Ok(Some(())),
        'B' => "shared_buffers",
        'h' => "listen_addresses",
        'k' => "unix_socket_directories",
        'N' => "max_connections",
        'p' => "port",
        'S' => "work_mem",
        _ => "post_auth_delay",
    };
    settings.push((name.to_string(), argument.to_string()));
    Ok(Some(()))
}

fn assigned(assignment: &str, option: &str) -> SqlResult<(String, String)> {
    let (name, value) = assignment.split_once('=').ok_or_else(|| {
        SqlError::new(
            state::SYNTAX_ERROR,
            format!("{option}{assignment} requires a value"),
        )
    })?;
    Ok((name.replace('-', "_"), value.to_string()))
}

/// `-d`: how much the log shall tell. What is no number counts as zero.
fn debug_level(argument: &str) -> impl Iterator<Item = (&'static str, String)> {
    let digits = argument.trim_start().split(|c: char| !c.is_ascii_digit()).next();
    let level: u32 = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let least = match level {
        0 => "notice".to_string(),
        _ => format!("debug{level}"),
    };
    let from_level = [
        (2, "log_statement", "all"),
        (3, "debug_print_parse", "true"),
        (4, "debug_print_plan", "true"),
        (5, "debug_print_rewritten", "true"),
    ];
    let more = from_level.into_iter().filter(move |(least, ..)| level >= *least);
    std::iter::once(("log_min_messages", least)).chain(more.map(|(_, name, value)| (name, value.to_string())))
}

/// `-f`: a way of reading or joining that PostgreSQL's planner shall avoid.
fn forbidden_plan(letter: &str) -> Option<&'static str> {
    Some(match letter.chars().next()? {
        's' => "enable_seqscan",
        'i' => "enable_indexscan",
        'o' => "enable_indexonlyscan",
        'b' => "enable_bitmapscan",
        't' => "enable_tidscan",
        'n' => "enable_nestloop",
        'm' => "enable_mergejoin",
        'h' => "enable_hashjoin",
        _ => return None,
    })
}

/// `-t`: a part of a statement whose time the log shall tell.
fn timed_part(name: &str) -> Option<&'static str> {
    match (name.as_bytes().first()?, name.as_bytes().get(1)) {
        (b'p', Some(b'a')) => Some("log_parser_stats"),
        (b'p', Some(b'l')) => Some("log_planner_stats"),
        (b'e', _) => Some("log_executor_stats"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgwire::frontend;

    fn packet(parts: &[&str]) -> Vec<u8> {
        let mut bytes = frontend::PROTOCOL_3_0.to_be_bytes().to_vec();
        for part in parts {
            bytes.extend_from_slice(part.as_bytes());
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn start_up_packets() {
        let parts = [
            "user",
            "joe",
            "database",
            "shop",
            "options",
            "-e",
            "DateStyle",
            "ISO",
        ];
        let start = StartUp::read(&packet(&parts)).unwrap();
        assert_eq!((start.user.as_str(), start.database.as_str()), ("joe", "shop"));
        assert_eq!(start.options, "-e");
        assert_eq!(start.settings, [("DateStyle".to_string(), "ISO".to_string())]);
        assert!(StartUp::read(&packet(&["database", "x"])).is_err());
        assert!(StartUp::read(&[0, 2, 0, 0, 0]).is_err());
        let replication = |value| StartUp::read(&packet(&["user", "x", "replication", value]));
        assert!(replication("true").is_ok_and(|start| start.replication));
        assert!(replication("off").is_ok_and(|start| !start.replication));
        assert!(replication("database").is_ok_and(|start| start.replication && start.logical));
        assert!(replication("maybe").is_err());
    }

    /// As PostgreSQL 15 reads them; its errors begin with `!`.
    #[test]
    fn command_lines() {
        for (text, expected) in [
            ("-c a=b\\ c --work-mem=1MB", "a=b c;work_mem=1MB"),
            ("-ca=1 -S 64 -S65", "a=1;work_mem=64;work_mem=65"),
            (
                "-sOP -E -T",
                "log_statement_stats=true;allow_system_table_mods=true;ignore_system_indexes=true",
            ),
            (
                "-fs -f m -tpl",
                "enable_seqscan=false;enable_mergejoin=false;log_planner_stats=true",
            ),
            ("-d 2", "log_min_messages=debug2;log_statement=all"),
            ("-d x", "log_min_messages=notice"),
            ("-D /tmp -r out -v 3 -W 0", "post_auth_delay=0"),
            ("-B 16 -p 1", "shared_buffers=16;port=1"),
            ("--", ""),
            ("-- x", "!invalid command-line argument for server process: x"),
            ("-x", "!invalid command-line argument for server process: -x"),
            ("word", "!invalid command-line argument for server process: word"),
            ("-c", "!invalid command-line argument for server process: -c"),
            ("-f q", "!invalid command-line argument for server process: -f"),
            ("-c a", "!-c a requires a value"),
            ("--a", "!--a requires a value"),
        ] {
            let read = match switches(text) {
                Ok(settings) => {
                    let settings: Vec<String> = settings
                        .iter()
                        .map(|(name, value)| format!("{name}={value}"))
                        .collect();
                    settings.join(";")
                }
                Err(error) => format!("!{}", error.message()),
            };
            assert_eq!(read, expected, "{text}");
        }
    }
}
