//! What ALTER ROLE ALL SET has set.

use serde::{Deserialize, Serialize};

use crate::catalog_store::revision::Revision;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StoredClusterSettings {
    pub settings: Vec<(String, String)>,
    #[serde(skip)]
    pub revision: Revision,
}
