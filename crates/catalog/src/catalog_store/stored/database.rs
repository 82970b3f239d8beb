//! Databases, and what stands in one beside relations: schemas, extensions, the count of large objects.

use std::collections::BTreeMap;

use mote_common::Oid;
use serde::{Deserialize, Serialize};

use super::acl::StoredAcl;
use crate::catalog_store::revision::Revision;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDatabase {
    pub oid: u32,
    pub name: String,
    pub owner: u32,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default = "super::yes")]
    pub allow_connections: bool,
    /// -1 = no limit.
    #[serde(default = "no_limit")]
    pub connection_limit: i32,
    #[serde(default)]
    pub is_template: bool,
    /// What its sessions begin with.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// What the sessions of some roles begin with in it.
    #[serde(default)]
    pub role_settings: BTreeMap<u32, Vec<(String, String)>>,
    #[serde(default)]
    pub comment: Option<String>,
    /// None: it never had a large object.
    #[serde(default)]
    pub large_objects: Option<StoredLargeObjects>,
    #[serde(skip)]
    pub revision: Revision,
}

/// The engine's tables of a database's large objects, each with the index of its key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoredLargeObjects {
    pub objects: u32,
    pub objects_key: u32,
    pub pages: u32,
    pub pages_key: u32,
}

impl StoredDatabase {
    pub fn new(oid: Oid, name: String, owner: Oid) -> StoredDatabase {
        StoredDatabase {
            oid: oid.0,
            name,
            owner: owner.0,
            acl: Vec::new(),
            allow_connections: true,
            connection_limit: no_limit(),
            is_template: false,
            settings: Vec::new(),
            role_settings: BTreeMap::new(),
            comment: None,
            large_objects: None,
            revision: Revision::default(),
        }
    }
}

fn no_limit() -> i32 {
    -1
}

/// An extension that CREATE EXTENSION made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredExtension {
    pub oid: u32,
    pub database: u32,
    pub name: String,
    pub owner: u32,
    pub schema: u32,
    pub version: String,
    /// Its routines: dropped and moved with it alone.
    pub members: Vec<u32>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredSchema {
    pub oid: u32,
    pub database: u32,
    pub name: String,
    pub owner: u32,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}
