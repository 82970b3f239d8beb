//! Row functions by theme.
//!
//! Read in this order: `relations`, `attributes`, `constraints`, `descriptions`, `publications` (objects of users), `routines` (functions of users), `types`, `domains`,
//! `functions` (constants of the binary), `cluster`, `settings` (what all databases share), `listings` (views for people),
//! `activity` (statistics and locks), `statistics` (of columns), `access` (who may connect, and how), then `schema`, `schema_columns`, `schema_constraints` (information_schema).
//!
//! Promise: a row has exactly its relation's columns, in order; `tests` checks variants and NOT NULL for every row.

pub mod access;
pub mod acl;
pub mod activity;
pub mod attributes;
pub mod cluster;
pub mod nodes;
pub mod constraints;
pub mod descriptions;
pub mod domains;
pub mod durability;
pub mod extensions;
pub mod functions;
pub mod inheritance;
pub mod listings;
pub mod objects;
pub mod partitions;
pub mod publications;
pub mod relations;
pub mod routines;
pub mod schema;
pub mod schema_columns;
pub mod schema_constraints;
pub mod schema_privileges;
pub mod schema_types;
pub mod settings;
pub mod statistics;
pub mod triggers;
pub mod types;
