//! A database in memory for the tests of this folder.

use std::sync::Arc;

use crate::database::{Database, InitialNames};

/// A new, empty database.
pub(super) fn database() -> Arc<Database> {
    let env = mote_common::env::sim::memory_env();
    Database::open_in(env, mote_engine::EngineConfig::default(), &InitialNames::default())
        .expect("a new database opens in memory")
}
