//! Casts of users: CREATE CAST.

use serde::{Deserialize, Serialize};

use crate::catalog_store::revision::Revision;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredCast {
    pub oid: u32,
    pub database: u32,
    pub source: u32,
    pub target: u32,
    /// 0: WITH INOUT, by the text.
    pub function: u32,
    pub context: StoredCastContext,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

/// Where it happens without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredCastContext {
    Implicit,
    Assignment,
    Explicit,
}
