//! What functions of extensions compute beyond SQL. The scripts of the extensions (catalog/src/extensions) name them; users
//! call them through the functions that the scripts make.

mod password;
mod pgcrypto;
mod uuid_ossp;

use super::Body;

pub fn body(name: &str) -> Option<Body> {
    pgcrypto::body(name).or_else(|| uuid_ossp::body(name))
}
