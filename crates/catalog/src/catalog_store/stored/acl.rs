//! Privileges as objects hold them.

use mote_common::{Oid, SqlResult};
use mote_sql::access::AclItem;
use serde::{Deserialize, Serialize};

use crate::catalog_store::damaged;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAcl {
    pub grantee: u32,
    pub grantor: u32,
    pub privileges: u32,
    pub grant_options: u32,
}

/// A list where it is a column of its own.
pub fn acl_to_bytes(acl: &[StoredAcl]) -> Vec<u8> {
    serde_json::to_vec(acl).expect("stored lists hold nothing that JSON cannot")
}

pub fn acl_from_bytes(bytes: &[u8]) -> SqlResult<Vec<StoredAcl>> {
    serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))
}

impl From<&StoredAcl> for AclItem {
    fn from(item: &StoredAcl) -> AclItem {
        AclItem {
            grantee: Oid(item.grantee),
            grantor: Oid(item.grantor),
            privileges: item.privileges,
            grant_options: item.grant_options,
        }
    }
}
