//! Extensions that the binary carries: what CREATE EXTENSION can make.
//!
//! An extension is a folder here: its description (`mod.rs`) and the SQL script that makes its objects (`install.sql`).
//! What the script's functions compute beyond SQL is written in `executor/src/functions/extension`, as built-in functions
//! that only these scripts name. docs/design/0032 says why.
//! Leaves out: making and dropping them (`mote_commands`).

mod citext;
mod hstore;
pub mod pg_stat_statements;
mod pgcrypto;
mod plpgsql;
mod uuid_ossp;

use mote_common::Oid;

/// What is known of an extension before anybody has made it.
pub struct Extension {
    pub name: &'static str,
    pub version: &'static str,
    pub comment: &'static str,
    /// Who may make schemas in the database may make it: it then belongs to him, and its objects to the first superuser.
    pub trusted: bool,
    /// It can move to another schema.
    pub relocatable: bool,
    /// Statements that make its objects in the first schema of the search path.
    pub script: &'static str,
    /// What everybody may do with members whose privileges the script says: by kind (`acldefault`'s letter) and name.
    pub privileges: &'static [(&'static str, &'static str, u32)],
    /// It is in every database from the beginning, under this number.
    pub builtin: Option<Oid>,
}

/// All of them, by name.
pub static EXTENSIONS: &[Extension] = &[
    citext::EXTENSION,
    hstore::EXTENSION,
    pg_stat_statements::EXTENSION,
    pgcrypto::EXTENSION,
    plpgsql::EXTENSION,
    uuid_ossp::EXTENSION,
];

pub fn find(name: &str) -> Option<&'static Extension> {
    EXTENSIONS.iter().find(|extension| extension.name == name)
}
