//! Objects of users: schemas, relations, roles, databases, as rows of one engine table.
//!
//! Read in this order: `stored` (what a row holds), `catalog` (one immutable state of everything), `store` (the
//! committed state and how a transaction's changes become it), `session` (a session's view: committed state plus its
//! own changes).
//!
//! Promises: DDL is as transactional as data, since an object *is* a row of the engine's table 2, written, logged,
//! rolled back and recovered like any other; a reader sees a catalog before or after a transaction, never between.
//! Leaves out: built-in objects (constants in `views` and `mote_sql::catalog`), and the engine's own definitions of
//! tables and indexes, which the engine keeps in its table 1 within the same transaction.

mod catalog;
mod session;
mod store;
pub(crate) mod write;
pub mod stored;

pub use catalog::{Catalog, RelationEntry};
pub use session::SessionCatalog;
pub use store::CatalogStore;
