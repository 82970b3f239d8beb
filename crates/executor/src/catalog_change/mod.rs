//! Changes of the catalog: objects written by statements, and the locks that keep them in order.
//!
//! Read `write` (objects in and out), then `object_locks`. Leaves out: what commands make of objects (`mote_commands`).
//!
//! Source: PostgreSQL's indexing.c (CatalogTupleInsert and its kin) and the locks of objects in objectaddress.c.

pub mod object_locks;
pub mod write;
