//! A database on a simulated disk for tests.

use std::sync::Arc;

use mote_common::env::sim::{self, SimDisk};
use mote_engine::EngineConfig;

use crate::embedded::LocalSession;
use mote_catalog::database::{Database, InitialNames};

/// A new, empty database.
pub(crate) fn database() -> Arc<Database> {
    let (env, _) = sim::env(&SimDisk::new(1), 1);
    let config = EngineConfig {
        memory_limit_bytes: 1 << 30,
        ..EngineConfig::default()
    };
    Database::open_in(
        env,
        config,
        &InitialNames::default(),
        &mote_executor::index_keys::EVALUATION,
    )
    .expect("a new database opens in memory")
}

/// A session of the first role in a database of its own.
pub(crate) fn session() -> LocalSession {
    LocalSession::open(&database(), "postgres", "postgres").expect("the first role may log in")
}
