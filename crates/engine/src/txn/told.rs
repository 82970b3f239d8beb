//! What subscribers are told of a published table (`tell`).

use mote_common::IndexId;
use mote_log::told::ToldView;

/// What subscribers get of the row as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OldRow {
    Nothing,
    /// Before each update and delete.
    Whole,
    /// Before deletes, and before updates that change this index's key.
    Key(IndexId),
}

/// A published table as it is told of. Made once for each of its descriptions.
#[derive(PartialEq, Eq, Debug)]
pub struct Told {
    pub views: Vec<ToldView>,
    pub old: OldRow,
}
