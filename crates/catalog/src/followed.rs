//! Catalog changes of another node, as its log is replayed here.
//!
//! As for a prepared transaction (`catalog_store::prepared`), the rows that a transaction wrote are its list of changes.

use std::sync::Arc;

use mote_engine::PreparedWrite;
use mote_engine::follow::{FollowedCatalog, Published};

use crate::catalog_store::prepared;
use crate::database::Database;

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
