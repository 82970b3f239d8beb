//! Catalog changes of another node, as its log is replayed here; and the end of that, when this node comes to lead.
//!
//! As for a prepared transaction (`catalog_store::prepared`), the rows that a transaction wrote are its list of changes.

use std::sync::Arc;

use mote_engine::PreparedWrite;
use mote_engine::follow::{Followed, FollowedCatalog, Published};

use crate::catalog_store::prepared;
use crate::database::{Database, DatabaseError};

/// Keeps a database's catalog at what is replayed.
pub struct ReplayedCatalog(pub Arc<Database>);

impl FollowedCatalog for ReplayedCatalog {
    fn changes<'a>(&'a self, writes: Vec<PreparedWrite>) -> Result<Option<Published<'a>>, String> {
        let (store, engine) = (self.0.catalog(), self.0.engine());
        let changes =
            prepared::begin_changes(store, engine, writes).map_err(|error| error.message().to_string())?;
        Ok(changes
            .map(|changes| -> Published<'a> { Box::new(move |ts| changes.publish(Some(ts), store, engine)) }))
    }
}

impl Database {
    /// This node, which has followed, writes from here on. All sessions have ended. What `term` means, and what follows an
    /// error: [`Engine::lead`](mote_engine::Engine::lead).
    pub fn lead(self: &Arc<Database>, followed: Followed, term: Option<u32>) -> Result<(), DatabaseError> {
        let catalog = ReplayedCatalog(self.clone());
        let led = self.engine().lead(followed, term, &catalog);
        led.map_err(DatabaseError::Promotion)?;
        let evaluation = self.catalog().committed().evaluation();
        let highest_prepared = prepared::highest_oid(self.engine(), evaluation);
        self.catalog()
            .go_on_behind(highest_prepared.map_err(DatabaseError::Catalog)?);
        self.cluster().leads();
        Ok(())
    }
}
