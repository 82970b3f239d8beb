//! mote: engine (see ARCHITECTURE.md)

pub mod epoch;
pub mod index;
pub mod log;
pub mod checkpoint;
pub mod recovery;
