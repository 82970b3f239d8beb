//! Casts of users in a catalog: by what they lead from and to, of a database, of a type or a function.

use std::sync::Arc;

use mote_common::Oid;
use mote_sql::builtin::cast::CastUse;
use mote_sql::catalog::UserCast;

use super::catalog::{Catalog, Entry};
use super::stored::{StoredCast, StoredCastContext};

fn key_of(cast: &StoredCast) -> (Oid, Oid, Oid) {
    (Oid(cast.database), Oid(cast.source), Oid(cast.target))
}

impl Catalog {
    pub(super) fn put_cast(&mut self, entry: Entry<StoredCast>) {
        self.cast_keys
            .insert(key_of(&entry.object), Oid(entry.object.oid));
        self.casts.insert(Oid(entry.object.oid), Arc::new(entry));
    }

    /// Takes back what was derived from it. Another one may be there for the same types by now.
    pub(super) fn forget_cast(&mut self, old: &StoredCast) {
        let key = key_of(old);
        if self.cast_keys.get(&key) == Some(&Oid(old.oid)) {
            self.cast_keys.remove(&key);
        }
    }

    pub fn cast(&self, oid: Oid) -> Option<&StoredCast> {
        self.casts.get(&oid).map(|entry| &entry.object)
    }

    pub fn cast_between(&self, database: Oid, source: Oid, target: Oid) -> Option<&StoredCast> {
        self.cast(*self.cast_keys.get(&(database, source, target))?)
    }

    /// The casts of a database in the order of their OIDs.
    pub fn casts_of(&self, database: Oid) -> Vec<&StoredCast> {
        let all = self.casts.values().map(|entry| &entry.object);
        let mut here: Vec<_> = all.filter(|cast| cast.database == database.0).collect();
        here.sort_by_key(|cast| cast.oid);
        here
    }

    /// The casts that a type is a side of, or that a function does.
    pub fn casts_using(&self, object: Oid) -> impl Iterator<Item = &StoredCast> {
        self.users_of(object).filter_map(|user| self.cast(user))
    }
}

/// As the binder sees it.
pub(super) fn described(cast: &StoredCast) -> UserCast {
    UserCast {
        function: (cast.function != 0).then_some(Oid(cast.function)),
        context: match cast.context {
            StoredCastContext::Implicit => CastUse::Implicit,
            StoredCastContext::Assignment => CastUse::Assignment,
            StoredCastContext::Explicit => CastUse::Explicit,
        },
    }
}
