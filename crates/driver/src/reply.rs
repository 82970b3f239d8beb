//! A round trip's answer, looked at in place: frames, rows, and the answers of a batch one by one.

use super::error::{DriverError, DriverResult};
use super::wire::{self, Frames, Row};

/// Cuts the answer to a batch behind each statement's CommandComplete.
pub struct Answers<'a>(&'a [u8]);

impl<'a> Iterator for Answers<'a> {
    type Item = Reply<'a>;

    fn next(&mut self) -> Option<Reply<'a>> {
        let mut rest = Frames(self.0);
        while rest.next()?.kind != b'C' {}
        let (bytes, rest) = self.0.split_at(self.0.len() - rest.0.len());
        self.0 = rest;
        Some(Reply { bytes })
    }
}

/// A complete answer, in place in the session's receive buffer.
#[derive(Clone, Copy)]
pub struct Reply<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Reply<'a> {
    pub fn frames(&self) -> Frames<'a> {
        Frames(self.bytes)
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        Frames(self.bytes)
            .filter(|frame| frame.kind == b'D')
            .map(|frame| Row::new(frame.body))
    }

    /// The answers to the batch's statements, one after the other.
    pub fn answers(&self) -> Answers<'a> {
        Answers(self.bytes)
    }

    /// The first row of any statement in the batch.
    pub fn first_row(&self) -> Option<Row<'a>> {
        self.rows().next()
    }

    /// The first row, which the data guarantees to exist.
    pub fn row(&self, what: &'static str) -> DriverResult<Row<'a>> {
        self.first_row()
            .ok_or_else(|| DriverError::protocol(format!("{what} does not exist in the database")))
    }

    /// Whether the last statement of the batch was this command, as its tag has it with its final zero.
    pub fn ended_with(&self, tag: &[u8]) -> bool {
        let commands = Frames(self.bytes).filter(|frame| frame.kind == b'C');
        commands.last().is_some_and(|frame| frame.body == tag)
    }

    /// Rows affected by the last statement of the batch.
    pub fn affected(&self) -> u64 {
        Frames(self.bytes)
            .filter(|frame| frame.kind == b'C')
            .last()
            .map_or(0, |frame| wire::tag_rows(frame.body))
    }
}
