//! Changes of the catalog: objects written by statements, and the locks that keep them in order.
//!
//! Read `write` (objects in and out), then `object_locks`. Leaves out: what commands make of objects (`command`).

pub mod object_locks;
pub mod write;
