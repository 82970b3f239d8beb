//! The database as all its sessions share it: objects, names, privileges, settings, and the relations of pg_catalog.
//!
//! Read in this order:
//!  1. `host`: what a session asks of the thing that hosts it (rows out, COPY data in, waiting, notices); `tag`: what a
//!     command answers.
//!  2. `database`: the engine and the catalog that all sessions share; `directory`, `activity`, `signals`: who is
//!     connected, what he does, what others ask of him; `notifications`, `backups`, `exported_snapshots`: what one session
//!     leaves for others; `cluster`: what sessions may know of other nodes.
//!  3. `catalog_store`: objects of users as rows of the engine, and the view of them that a session's binder reads;
//!     `system_schemas`: those that are built in; `name_text` and `routine_text`: names and signatures as texts.
//!  4. `privileges`: what a role may do; `acl`: the lists that say so; `password`: how it proves who it is; `hba`: from where
//!     it may connect.
//!  5. `settings`: what a session can be told; `write_error`: the engine's refusals as SQL errors; `prepared_note`: what a
//!     prepared transaction says of itself; `extensions`: those that the binary carries.
//!  6. `views`: pg_catalog and its kin as tables made by code; `statement_statistics`, `upkeep`, `shared_resets`: what they
//!     count.
//!  7. `followed`: a catalog that follows another node's.
//!
//! Promises: a reader sees a catalog before or after a transaction, never between; every failure is an `SqlError` with
//! PostgreSQL's SQLSTATE. Leaves out: running statements, and evaluating expressions: whoever opens a database brings what
//! evaluates those of indexes (`catalog_store::index_texts::Evaluation`).

#![forbid(unsafe_code)]

pub mod acl;
pub mod activity;
pub mod backups;
pub mod catalog_store;
pub mod cluster;
pub mod database;
pub mod directory;
pub mod exported_snapshots;
pub mod extensions;
pub mod followed;
pub mod hba;
pub mod host;
pub mod name_text;
pub mod notifications;
pub mod password;
pub mod prepared_note;
pub mod privileges;
pub mod routine_text;
pub mod settings;
pub mod shared_resets;
pub mod signals;
pub mod statement_statistics;
pub mod system_schemas;
pub mod tag;
pub mod upkeep;
pub mod views;
pub mod write_error;
