//! What ALTER DEFAULT PRIVILEGES says: privileges that objects of a kind have from the start if a role makes them, in one
//! schema or anywhere in a database.
//!
//! Leaves out: how a list is changed, and what a new object gets (`mote_commands`).

use mote_common::Oid;
use mote_common::error::{SqlState, state};

use super::object::{Object, uses_roles};
use super::revision::Revision;
use super::stored::{StoredAcl, StoredDefaultAcl, StoredObject};

impl Object for StoredDefaultAcl {
    fn oid(&self) -> Oid {
        Oid(self.oid)
    }

    fn stored(&self) -> StoredObject {
        StoredObject::DefaultAcl(self.clone())
    }

    fn noun(&self) -> &'static str {
        "default privileges"
    }

    fn undefined(&self) -> SqlState {
        state::UNDEFINED_OBJECT
    }

    /// They are found by their key.
    fn name(&self) -> &str {
        ""
    }

    fn owner(&self) -> Option<u32> {
        Some(self.key.role)
    }

    fn privileges(&self) -> &[StoredAcl] {
        &self.acl
    }

    fn revision(&self) -> Revision {
        self.revision
    }

    fn renew(&mut self) {
        self.revision = Revision::default();
    }

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_roles(self, each);
        each(Oid(self.key.database));
        each(Oid(self.key.schema));
    }
}
