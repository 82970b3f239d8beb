//! The schemas that every database has for its own relations, and how a catalog finds these.

use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_sql::catalog::{CatalogView, Relation};

pub const CATALOG_SCHEMA: Oid = Oid(11);
pub const INFORMATION_SCHEMA: Oid = Oid(13207);

/// The schemas whose relations are made by code.
pub fn is_system_schema(name: &str) -> bool {
    schema_oid(name).is_some()
}

/// The OID of a built-in schema.
pub fn schema_oid(name: &str) -> Option<Oid> {
    match name {
        "pg_catalog" => Some(CATALOG_SCHEMA),
        "information_schema" => Some(INFORMATION_SCHEMA),
        _ => None,
    }
}

/// The name of a built-in schema.
pub fn schema_name(oid: Oid) -> Option<&'static str> {
    match oid {
        CATALOG_SCHEMA => Some("pg_catalog"),
        INFORMATION_SCHEMA => Some("information_schema"),
        _ => None,
    }
}

/// Whether PostgreSQL has this relation of its own as a view rather than a table.
pub fn shown_as_view(oid: Oid) -> bool {
    // Tables of pg_catalog have fixed numbers below 10000; views and information_schema get theirs at initdb.
    oid.0 >= 10_000
}

/// What a session finds by name, of all kinds of objects that `reg*` types stand for.
pub trait ObjectNames: CatalogView {
    /// The relation or index that the name alone means.
    fn first_named(&self, name: &str) -> Option<Oid>;
    fn index_named(&self, schema: Option<&str>, name: &str) -> Option<Oid>;
    /// A schema of users.
    fn schema_named(&self, name: &str) -> Option<Oid>;
    fn schema_name(&self, oid: Oid) -> Option<String>;
    fn role_named(&self, name: &str) -> Option<Oid>;
    fn role_name(&self, oid: Oid) -> Option<String>;
}

/// The relations of the built-in schemas, and how objects are written as values of `reg*` types. Implemented by `views`.
pub trait SystemRelations: Sync {
    /// A relation of pg_catalog or information_schema.
    fn by_name(&self, schema: &str, name: &str) -> Option<Arc<Relation>>;

    fn relation(&self, oid: Oid) -> Option<Arc<Relation>>;

    /// The object that a text names as a value of a `reg*` type.
    fn object_number(&self, ty: Oid, text: &str, known: &dyn ObjectNames) -> SqlResult<Oid>;

    /// An object as a value of a `reg*` type is written.
    fn object_name(&self, ty: Oid, object: Oid, known: &dyn ObjectNames) -> Option<String>;
}
