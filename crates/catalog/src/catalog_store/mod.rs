//! Objects of users: schemas, relations, roles, databases, as rows of one engine table.
//!
//! Read in this order: `stored` (what a row holds; `index_texts` and `bound_index` for expressions of indexes), `object` (what every kind of
//! object says of itself), `catalog` (one immutable state of everything) over `maps` and `dependencies` (who uses whom),
//! `change` (how the next state is made of it),
//! `describe` and `partitions` (what the binder reads of a relation), `identity` (who asks), `revision` (which state of an
//! object a statement began with), `store` (the
//! committed state and how a transaction's changes become it), `session` (a session's view: committed state plus its
//! own changes), `prepared` (the changes of a transaction that has no session any more). Kinds of objects that need more have a
//! file each: `routine`, `triggers`, `types` with `extension_types`, `publication`, `cast`, `statistics`, `default_acl`, `membership` with
//! `predefined_roles`, `cluster_settings`, `temporary`, `transition`; `visits` counts for tests what a change looks at.
//!
//! Source: PostgreSQL's caches of the catalog (syscache.c, relcache.c, inval.c) do what one immutable state does here: persistent maps
//! (Bagwell: Ideal Hash Trees, 2001; the crate `imbl`), published by a commit, dependencies derived from stored forms where
//! PostgreSQL has rows of pg_depend (docs/design/0026).
//!
//! Promises: DDL is as transactional as data, since an object *is* a row of the engine's table 2, written, logged,
//! rolled back and recovered like any other; a reader sees a catalog before or after a transaction, never between.
//! Leaves out: built-in objects (constants in `views`, `mote_sql::builtin` and `mote_types::catalog`), and the engine's own definitions of
//! tables and indexes, which the engine keeps in its table 1 within the same transaction.

mod bound_index;
mod cast;
mod catalog;
mod change;
pub mod cluster_settings;
pub mod default_acl;
mod identity;
pub mod index_texts;
mod dependencies;
mod describe;
mod extension_types;
mod maps;
pub mod membership;
pub mod object;
mod routine;
pub mod partitions;
pub mod predefined_roles;
pub mod prepared;
pub mod publication;
pub mod publishable;
pub mod published;
mod session;
pub mod rows;
mod revision;
mod store;
pub mod statistics;
mod temporary;
pub use temporary::NO_ROW;
pub mod transition;
mod triggers;
mod types;
mod visits;
pub mod stored;

use mote_common::SqlError;
use mote_common::error::state;

pub use catalog::{Catalog, RelationEntry, RoutineEntry, TypeEntry};
pub use identity::Identity;
pub use revision::Revision;
pub use session::{NotPublished, SessionCatalog};
pub use store::CatalogStore;
pub use temporary::PG_TEMP;

/// Under which number a sequence is locked: that of a table which cannot be, since tables count up from the bottom.
pub fn sequence_lock(sequence: mote_common::Oid) -> mote_common::TableId {
    const SEQUENCES: u32 = 1 << 31;
    mote_common::TableId(SEQUENCES | sequence.0)
}

/// A row of the catalog's table is not what this release or an earlier one writes.
pub(crate) fn damaged(what: &str) -> SqlError {
    let message = format!("a catalog row could not be read: {what}");
    SqlError::new(state::DATA_CORRUPTED, message)
}
