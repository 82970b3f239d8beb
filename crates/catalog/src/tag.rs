//! Command tags: what CommandComplete says.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandTag {
    Select(u64),
    Insert(u64),
    Update(u64),
    Delete(u64),
    Merge(u64),
    Copy(u64),
    Fetch(u64),
    Move(u64),
    /// SELECT INTO and CREATE TABLE AS.
    SelectInto(u64),
    /// Commands that count nothing.
    Word(&'static str),
}

impl fmt::Display for CommandTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandTag::Select(n) | CommandTag::SelectInto(n) => write!(f, "SELECT {n}"),
            CommandTag::Insert(n) => write!(f, "INSERT 0 {n}"),
            CommandTag::Update(n) => write!(f, "UPDATE {n}"),
            CommandTag::Delete(n) => write!(f, "DELETE {n}"),
            CommandTag::Merge(n) => write!(f, "MERGE {n}"),
            CommandTag::Copy(n) => write!(f, "COPY {n}"),
            CommandTag::Fetch(n) => write!(f, "FETCH {n}"),
            CommandTag::Move(n) => write!(f, "MOVE {n}"),
            CommandTag::Word(word) => f.write_str(word),
        }
    }
}
