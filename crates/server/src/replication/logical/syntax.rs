//! The replication commands that name a slot, read as PostgreSQL 15's replication grammar does.
//!
//! Takes untrusted text: answers errors, never panics.

use mote_common::error::state;
use mote_common::{Lsn, SqlError, SqlResult};
use mote_replication::message::NAME_BYTES_MAX;

/// CREATE_REPLICATION_SLOT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateSlot {
    pub name: String,
    pub temporary: bool,
    /// `None`: PHYSICAL.
    pub plugin: Option<String>,
    pub options: Vec<SlotOption>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotOption {
    pub name: String,
    pub value: Option<String>,
}

/// START_REPLICATION SLOT .. LOGICAL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartLogical {
    pub slot: String,
    pub start: Lsn,
    pub options: Vec<SlotOption>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    /// Folded, and as it was written.
    Word(String),
    /// In double quotes.
    Quoted(String),
    Text(String),
    Mark(char),
}

/// What stands behind the command's first word.
struct Tokens {
    tokens: std::vec::IntoIter<Token>,
    text: String,
}

pub fn create_slot(text: &str) -> SqlResult<CreateSlot> {
    let mut tokens = Tokens::of(text)?;
    let name = tokens.name()?;
    let mut kind = tokens.word()?;
    let temporary = kind == "temporary";
    if temporary {
        kind = tokens.word()?;
    }
    let plugin = match &*kind {
        "physical" => None,
        "logical" => Some(tokens.name()?),
        _ => return Err(tokens.wrong()),
    };
    let options = match tokens.tokens.as_slice().first() {
        Some(Token::Mark('(')) => tokens.options(false)?,
        _ => tokens.old_options(plugin.is_some())?,
    };
    tokens.end()?;
    Ok(CreateSlot {
        name,
        temporary,
        plugin,
        options,
    })
}

/// `name [WAIT]`.
pub fn drop_slot(text: &str) -> SqlResult<(String, bool)> {
    let mut tokens = Tokens::of(text)?;
    let name = tokens.name()?;
    let wait = match tokens.tokens.next() {
        None => return Ok((name, false)),
        Some(Token::Word(word)) => word == "wait",
        Some(_) => false,
    };
    tokens.end()?;
    match wait {
        true => Ok((name, true)),
        false => Err(tokens.wrong()),
    }
}

pub fn read_slot(text: &str) -> SqlResult<String> {
    let mut tokens = Tokens::of(text)?;
    let name = tokens.name()?;
    tokens.end()?;
    Ok(name)
}

/// What a START_REPLICATION that is not logical names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartPhysical {
    pub slot: bool,
    pub timeline: bool,
}

/// `[SLOT name] [PHYSICAL] X/X [TIMELINE n]`.
pub fn start_physical(text: &str) -> SqlResult<StartPhysical> {
    let mut tokens = Tokens::of(text)?;
    let slot = tokens.takes("slot");
    if slot {
        tokens.name()?;
    }
    tokens.takes("physical");
    tokens.position()?;
    let timeline = tokens.takes("timeline");
    if timeline && !tokens.word()?.parse().is_ok_and(|number: u32| number > 0) {
        return Err(tokens.wrong());
    }
    tokens.end()?;
    Ok(StartPhysical { slot, timeline })
}

/// `SLOT name LOGICAL X/X [(option ['value'], ..)]`; `None`: it is not logical.
pub fn start_logical(text: &str) -> SqlResult<Option<StartLogical>> {
    let mut tokens = Tokens::of(text)?;
    match tokens.tokens.as_slice() {
        [
            Token::Word(slot),
            Token::Word(_) | Token::Quoted(_),
            Token::Word(kind),
            ..,
        ] if slot == "slot" && kind == "logical" => {}
        _ => return Ok(None),
    }
    tokens.word()?;
    let slot = tokens.name()?;
    tokens.word()?;
    let start = tokens.position()?;
    let options = match tokens.tokens.as_slice().first() {
        Some(_) => tokens.options(true)?,
        None => Vec::new(),
    };
    tokens.end()?;
    Ok(Some(StartLogical { slot, start, options }))
}

impl SlotOption {
    /// As PostgreSQL's defGetBoolean.
    pub fn flag(&self) -> SqlResult<bool> {
        let Some(value) = &self.value else {
            return Ok(true);
        };
        match value.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(not_boolean(&self.name)),
        }
    }

    /// As defGetString.
    pub fn text(&self) -> SqlResult<&str> {
        self.value
            .as_deref()
            .ok_or_else(|| SqlError::new(state::SYNTAX_ERROR, format!("{} requires a parameter", self.name)))
    }
}

pub fn not_boolean(name: &str) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, format!("{name} requires a Boolean value"))
}

pub fn redundant() -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options")
}

impl Tokens {
    fn of(text: &str) -> SqlResult<Tokens> {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let (token, length) = match first {
                '"' | '\'' => {
                    let (content, length) = quoted(rest, first)
                        .ok_or_else(|| SqlError::new(state::SYNTAX_ERROR, "unterminated quoted string"))?;
                    match first {
                        '"' => (Token::Quoted(content), length),
                        _ => (Token::Text(content), length),
                    }
                }
                _ if is_word(first) => {
                    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                    (Token::Word(rest[..end].to_ascii_lowercase()), end)
                }
                _ => (Token::Mark(first), first.len_utf8()),
            };
            tokens.push(token);
            rest = rest[length..].trim_start();
        }
        if tokens.last() == Some(&Token::Mark(';')) {
            tokens.pop();
        }
        Ok(Tokens {
            tokens: tokens.into_iter(),
            text: text.into(),
        })
    }

    fn wrong(&self) -> SqlError {
        let message = format!("syntax error in the replication command at \"{}\"", self.text);
        SqlError::new(state::SYNTAX_ERROR, message)
    }

    /// Cut as all names are.
    fn name(&mut self) -> SqlResult<String> {
        match self.tokens.next() {
            Some(Token::Word(mut name) | Token::Quoted(mut name)) => {
                name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
                Ok(name)
            }
            _ => Err(self.wrong()),
        }
    }

    /// The next word, if it is this one.
    fn takes(&mut self, word: &str) -> bool {
        let is_it = matches!(self.tokens.as_slice().first(), Some(Token::Word(next)) if next == word);
        if is_it {
            self.tokens.next();
        }
        is_it
    }

    fn word(&mut self) -> SqlResult<String> {
        match self.tokens.next() {
            Some(Token::Word(word)) => Ok(word),
            _ => Err(self.wrong()),
        }
    }

    /// `X/X`, in hexadecimal digits.
    fn position(&mut self) -> SqlResult<Lsn> {
        let high = self.word()?;
        let slash = self.tokens.next();
        let low = self.word()?;
        let half = |text: &str| u32::from_str_radix(text, 16).ok();
        match (half(&high), half(&low)) {
            (Some(high), Some(low)) if slash == Some(Token::Mark('/')) => {
                Ok(Lsn(u64::from(high) << 32 | u64::from(low)))
            }
            _ => Err(self.wrong()),
        }
    }

    /// `(name ['value'], ..)`: a plugin's values are texts, those of slots may be words as well.
    fn options(&mut self, of_plugin: bool) -> SqlResult<Vec<SlotOption>> {
        if self.tokens.next() != Some(Token::Mark('(')) {
            return Err(self.wrong());
        }
        let mut options = Vec::new();
        loop {
            let name = self.name()?;
            let value = match self.tokens.as_slice().first() {
                Some(Token::Word(_) | Token::Quoted(_)) if of_plugin => return Err(self.wrong()),
                Some(Token::Word(value) | Token::Quoted(value) | Token::Text(value)) => {
                    let value = value.clone();
                    self.tokens.next();
                    Some(value)
                }
                _ => None,
            };
            options.push(SlotOption { name, value });
            match self.tokens.next() {
                Some(Token::Mark(',')) => {}
                Some(Token::Mark(')')) => return Ok(options),
                _ => return Err(self.wrong()),
            }
        }
    }

    /// As releases before 15 wrote them.
    fn old_options(&mut self, logical: bool) -> SqlResult<Vec<SlotOption>> {
        let mut options = Vec::new();
        while !self.tokens.as_slice().is_empty() {
            let word = self.word()?;
            let (name, value) = match (&*word, logical) {
                ("export_snapshot", true) => ("snapshot", Some("export")),
                ("noexport_snapshot", true) => ("snapshot", Some("nothing")),
                ("use_snapshot", true) => ("snapshot", Some("use")),
                ("two_phase", true) => ("two_phase", None),
                ("reserve_wal", false) => ("reserve_wal", None),
                _ => return Err(self.wrong()),
            };
            options.push(SlotOption {
                name: name.into(),
                value: value.map(str::to_string),
            });
        }
        Ok(options)
    }

    fn end(&mut self) -> SqlResult<()> {
        match self.tokens.next() {
            None => Ok(()),
            Some(_) => Err(self.wrong()),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// What stands in quotes, which are doubled inside, and the length with them.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c != quote {
            content.push(c);
        } else if characters.peek().is_some_and(|(_, next)| *next == quote) {
            characters.next();
            content.push(quote);
        } else {
            return Some((content, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(name: &str, value: Option<&str>) -> SlotOption {
        SlotOption {
            name: name.into(),
            value: value.map(str::to_string),
        }
    }

    #[test]
    fn slots_are_made_as_old_and_new_clients_write_it() {
        let new = create_slot(r#""Sub" LOGICAL pgoutput (SNAPSHOT 'nothing')"#).expect("it is well-formed");
        assert_eq!((&*new.name, new.temporary), ("Sub", false));
        assert_eq!(new.plugin.as_deref(), Some("pgoutput"));
        assert_eq!(new.options, [option("snapshot", Some("nothing"))]);
        let old = create_slot("Sub TEMPORARY LOGICAL pgoutput USE_SNAPSHOT;").expect("it is well-formed");
        assert_eq!((&*old.name, old.temporary), ("sub", true));
        assert_eq!(old.options, [option("snapshot", Some("use"))]);
        let physical = create_slot("s PHYSICAL (RESERVE_WAL false)").expect("it is well-formed");
        assert_eq!(physical.plugin, None);
        assert_eq!(physical.options, [option("reserve_wal", Some("false"))]);
        let long = "n".repeat(70);
        let cut = create_slot(&format!("{long} PHYSICAL")).expect("it is well-formed");
        assert_eq!(cut.name, long[..63]);
        for wrong in [
            "",
            "s",
            "s PHYSICAL ()",
            "s LOGICAL",
            "s PHYSICAL use_snapshot",
            "s LOGICAL p (a",
            "s LOGICAL p ()x",
            "\"s",
        ] {
            assert!(create_slot(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_stream_is_asked_for_with_options() {
        let text =
            r#"SLOT "sub" LOGICAL 1A/2b (proto_version '3', publication_names '"p ""q""", r', binary)"#;
        let start = start_logical(text)
            .expect("it is well-formed")
            .expect("it is logical");
        assert_eq!((&*start.slot, start.start), ("sub", Lsn(0x1A_0000_002B)));
        let expected = [
            option("proto_version", Some("3")),
            option("publication_names", Some(r#""p ""q""", r"#)),
            option("binary", None),
        ];
        assert_eq!(start.options, expected);
        assert_eq!(start_logical("PHYSICAL 0/0"), Ok(None));
        assert_eq!(start_logical("SLOT a PHYSICAL 0/0"), Ok(None));
        assert!(start_logical("SLOT a LOGICAL 0").is_err());
        assert!(start_logical("SLOT a LOGICAL 0/0 ()").is_err());
        assert!(start_logical("SLOT a LOGICAL 0/0 (a 1)").is_err());
        assert!(start_logical("SLOT a LOGICAL 0/0 (a 'x' 'y')").is_err());
        let bare = start_logical("SLOT a LOGICAL 0/0").expect("it is well-formed");
        assert_eq!(bare.map(|start| start.options), Some(Vec::new()));
    }
}
