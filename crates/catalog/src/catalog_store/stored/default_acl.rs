//! What ALTER DEFAULT PRIVILEGES has said.

use serde::{Deserialize, Serialize};

use super::acl::StoredAcl;
use crate::catalog_store::revision::Revision;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDefaultAcl {
    pub oid: u32,
    pub key: DefaultAclKey,
    /// Of the whole database: instead of what is built in, so that an empty list leaves nothing to anybody. Of one schema:
    /// besides it.
    pub acl: Vec<StoredAcl>,
    #[serde(skip)]
    pub revision: Revision,
}

/// Whose objects of which kind: there is one list of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DefaultAclKey {
    pub database: u32,
    pub role: u32,
    /// 0: any schema of the database.
    pub schema: u32,
    /// As in pg_default_acl.defaclobjtype.
    pub kind: char,
}
