//! Whole queries and concurrent writes, through sessions in process on a database in memory.

mod blocks;
mod concurrency;
mod joins;
mod merge;
mod plans;
mod serializable;
mod serializable_columns;

use std::sync::Arc;

use crate::embedded::LocalSession;
use mote_catalog::database::{Database, InitialNames};
use mote_common::env::sim::SimClock;

/// A new, empty database.
pub(crate) fn database() -> Arc<Database> {
    database_and_clock().0
}

/// The clock stands still but for what the test does to it.
fn database_and_clock() -> (Arc<Database>, Arc<SimClock>) {
    let (env, clock) = mote_common::env::sim::env(&mote_common::env::sim::SimDisk::new(1), 1);
    let database = Database::open_in(
        env,
        mote_engine::EngineConfig::default(),
        &InitialNames::default(),
        &mote_executor::index_keys::EVALUATION,
    )
    .expect("a new database opens in memory");
    database.engine().start_background().expect("threads start");
    (database, clock)
}

pub(crate) fn session(database: &Arc<Database>) -> LocalSession {
    LocalSession::open(database, "postgres", "postgres").expect("the first role can log in")
}

/// Rows in psql's unaligned form: `a|b` per row, joined by blanks; an error as `!` and its SQLSTATE.
pub(crate) fn shown(session: &mut LocalSession, text: &str) -> String {
    match session.rows(text) {
        Err(error) => format!("!{} {}", error.state(), error.message()),
        Ok(rows) => {
            let rows = rows.iter().map(|row| {
                let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("~")).collect();
                cells.join("|")
            });
            rows.collect::<Vec<_>>().join(" ")
        }
    }
}
