//! Command tags: what CommandComplete says.

use std::fmt;

use mote_types::integer_text::write_int;

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

impl CommandTag {
    /// What stands before the count, and the count.
    fn parts(self) -> (&'static str, Option<u64>) {
        match self {
            CommandTag::Select(n) | CommandTag::SelectInto(n) => ("SELECT ", Some(n)),
            CommandTag::Insert(n) => ("INSERT 0 ", Some(n)),
            CommandTag::Update(n) => ("UPDATE ", Some(n)),
            CommandTag::Delete(n) => ("DELETE ", Some(n)),
            CommandTag::Merge(n) => ("MERGE ", Some(n)),
            CommandTag::Copy(n) => ("COPY ", Some(n)),
            CommandTag::Fetch(n) => ("FETCH ", Some(n)),
            CommandTag::Move(n) => ("MOVE ", Some(n)),
            CommandTag::Word(word) => (word, None),
        }
    }

    /// Rows that the statement returned or wrote.
    pub fn rows(self) -> u64 {
        match self {
            CommandTag::Move(_) | CommandTag::Word(_) => 0,
            counted => counted.parts().1.unwrap_or(0),
        }
    }

    /// Appends what `Display` shows, without the machinery of `fmt`: every statement ends with a tag.
    pub fn write(self, out: &mut Vec<u8>) {
        let (word, count) = self.parts();
        out.extend_from_slice(word.as_bytes());
        if let Some(count) = count {
            // Rows in memory are fewer than 2^63.
            write_int(count as i64, out);
        }
    }
}

impl fmt::Display for CommandTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, count) = self.parts();
        f.write_str(word)?;
        count.map_or(Ok(()), |count| write!(f, "{count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_one() {
        for tag in [
            CommandTag::Select(0),
            CommandTag::SelectInto(7),
            CommandTag::Insert(10),
            CommandTag::Update(u32::MAX.into()),
            CommandTag::Move(123),
            CommandTag::Word("CREATE TABLE"),
        ] {
            let mut written = Vec::new();
            tag.write(&mut written);
            assert_eq!(String::from_utf8(written).unwrap(), tag.to_string());
        }
    }
}
