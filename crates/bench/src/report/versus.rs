//! What a comparison of systems found.

use serde::Serialize;

use super::Summary;
use mote_measure::statistics::{Block, Comparison};

/// A system and what it did, a block per round.
pub struct System {
    pub name: String,
    pub server_version: String,
    pub blocks: Vec<Block>,
    /// Of the last round.
    pub summary: Option<Summary>,
}

/// How a system compares with the first.
#[derive(Serialize)]
pub struct Outcome {
    pub system: String,
    pub figures: Vec<Comparison>,
}
