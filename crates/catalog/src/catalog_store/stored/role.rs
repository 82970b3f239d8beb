//! Roles.

use serde::{Deserialize, Serialize};

use crate::catalog_store::membership::StoredMembership;
use crate::catalog_store::revision::Revision;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRole {
    pub oid: u32,
    pub name: String,
    pub superuser: bool,
    pub can_login: bool,
    pub create_database: bool,
    pub create_role: bool,
    pub inherit: bool,
    #[serde(default)]
    pub replication: bool,
    #[serde(default)]
    pub bypass_row_security: bool,
    /// -1 = no limit.
    pub connection_limit: i32,
    /// SCRAM-SHA-256 verifier in PostgreSQL's form; None = no password.
    pub password: Option<String>,
    /// When the password ends to be good, microseconds since 2000-01-01 UTC.
    #[serde(default)]
    pub valid_until: Option<i64>,
    #[serde(default)]
    pub member_of: Vec<StoredMembership>,
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

impl StoredRole {
    /// As CREATE ROLE makes one that is told nothing else: it may do nothing, and inherits from its groups.
    pub fn new(oid: u32, name: impl Into<String>) -> StoredRole {
        StoredRole {
            oid,
            name: name.into(),
            superuser: false,
            can_login: false,
            create_database: false,
            create_role: false,
            inherit: true,
            replication: false,
            bypass_row_security: false,
            connection_limit: -1,
            password: None,
            valid_until: None,
            member_of: Vec::new(),
            settings: Vec::new(),
            comment: None,
            revision: Revision::default(),
        }
    }

    /// Directly, not through another role.
    pub fn belongs_to(&self, role: u32) -> bool {
        self.membership_of(role).is_some()
    }

    pub fn membership_of(&self, role: u32) -> Option<&StoredMembership> {
        self.member_of.iter().find(|membership| membership.role == role)
    }
}
