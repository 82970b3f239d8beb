//! What the sessions of all roles begin with in all databases: ALTER ROLE ALL SET.
//!
//! One object of the whole cluster, under a number of its own; there is none while nothing is set.

use mote_common::Oid;
use mote_common::error::{SqlState, state};

use super::object::Object;
use super::revision::Revision;
use super::stored::{StoredClusterSettings, StoredObject};

/// The number of pg_db_role_setting, which has its row: no object has it otherwise.
pub const CLUSTER_SETTINGS: Oid = Oid(2964);

impl Object for StoredClusterSettings {
    fn oid(&self) -> Oid {
        CLUSTER_SETTINGS
    }

    fn stored(&self) -> StoredObject {
        StoredObject::ClusterSettings(self.clone())
    }

    fn noun(&self) -> &'static str {
        "settings"
    }

    fn undefined(&self) -> SqlState {
        state::UNDEFINED_OBJECT
    }

    fn name(&self) -> &str {
        "all roles"
    }

    fn revision(&self) -> Revision {
        self.revision
    }

    fn renew(&mut self) {
        self.revision = Revision::default();
    }

    fn uses(&self, _: &mut dyn FnMut(Oid)) {}
}
