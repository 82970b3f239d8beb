//! Functions and procedures.

use serde::{Deserialize, Serialize};

use super::acl::StoredAcl;
use super::user_type::StoredType;
use crate::catalog_store::revision::Revision;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRoutine {
    pub oid: u32,
    pub schema: u32,
    pub name: String,
    pub procedure: bool,
    pub language: String,
    pub arguments: Vec<StoredArgument>,
    pub result: StoredType,
    #[serde(default)]
    pub returns_set: bool,
    /// As in pg_proc: i, s, v.
    pub volatility: char,
    #[serde(default)]
    pub strict: bool,
    #[serde(default)]
    pub security_definer: bool,
    #[serde(default)]
    pub leakproof: bool,
    /// As in pg_proc: u, r, s.
    pub parallel: char,
    pub cost: f64,
    pub rows: f64,
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    pub body: String,
    #[serde(default)]
    pub standard_body: bool,
    pub owner: u32,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredArgument {
    #[serde(default)]
    pub name: String,
    /// As in pg_proc: i, o, b (INOUT), v, t (a column of RETURNS TABLE).
    pub mode: char,
    pub ty: StoredType,
    #[serde(default)]
    pub default: Option<String>,
}
