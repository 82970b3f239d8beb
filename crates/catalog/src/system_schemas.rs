//! The schemas that every database has for its own relations, and how a catalog finds these.

use std::sync::Arc;

use mote_common::Oid;
use mote_sql::catalog::Relation;

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

/// The relations of the built-in schemas. Implemented by `views`, which makes their rows.
pub trait SystemRelations: Sync {
    /// A relation of pg_catalog or information_schema.
    fn by_name(&self, schema: &str, name: &str) -> Option<Arc<Relation>>;

    fn relation(&self, oid: Oid) -> Option<Arc<Relation>>;
}
