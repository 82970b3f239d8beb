//! What functions of extensions compute beyond SQL. The scripts of the extensions (catalog/src/extensions) name them; users
//! call them through the functions that the scripts make. `mote_functions` has pgcrypto's.

mod hstore;
mod pg_stat_statements;
mod uuid_ossp;

use super::{Body, SetFunction};

pub fn body(name: &str) -> Option<Body> {
    uuid_ossp::body(name)
        .or_else(|| hstore::body(name))
        .or_else(|| pg_stat_statements::body(name))
}

pub fn set_body(name: &str) -> Option<SetFunction> {
    pg_stat_statements::set_body(name).or_else(|| hstore::set_body(name))
}
