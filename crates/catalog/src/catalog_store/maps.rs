//! Persistent maps: a copy shares every node with its original, and a change copies the nodes on its path alone.
//!
//! So a transaction's working copy of a catalog of 10,000 tables costs what one of ten costs. The structure is `imbl`'s
//! hash array mapped trie (Bagwell 2001, the CHAMP layout of Steindorfer and Vinju 2015) under the process's fast hash;
//! docs/design/0026 has the figures. Values are shared pointers: copying a node copies pointers, not objects.
//!
//! Leaves out: sets of pairs that are read by range, which are `imbl::OrdSet` as it is.

use std::hash::Hash;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, Equivalent};
use imbl::shared_ptr::DefaultSharedPtr;
use mote_common::Oid;

pub type Map<K, V> = imbl::GenericHashMap<K, V, DefaultHashBuilder, DefaultSharedPtr>;

/// Pairs of OIDs, read by their first half.
pub(super) type Pairs = imbl::OrdSet<(Oid, Oid)>;

/// The second halves of the pairs that begin with `first`, ascending.
pub(super) fn seconds(pairs: &Pairs, first: Oid) -> impl Iterator<Item = Oid> {
    let all = (first, Oid(0))..=(first, Oid(u32::MAX));
    pairs.range(all).map(|&(_, second)| second)
}

/// A name and what it is unique in: the schema of a relation, the database of a schema; nothing for roles and databases.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ScopedName {
    scope: Oid,
    name: Arc<str>,
}

/// The same for a look-up, which allocates nothing. Hashes as `ScopedName` does: its fields in the same order.
#[derive(Hash)]
struct Wanted<'a> {
    scope: Oid,
    name: &'a str,
}

impl Equivalent<ScopedName> for Wanted<'_> {
    fn equivalent(&self, key: &ScopedName) -> bool {
        self.scope == key.scope && *self.name == *key.name
    }
}

/// Objects by name.
#[derive(Clone, Default)]
pub(super) struct Names(Map<ScopedName, Oid>);

impl Names {
    pub fn get(&self, scope: Oid, name: &str) -> Option<Oid> {
        self.0.get(&Wanted { scope, name }).copied()
    }

    pub fn insert(&mut self, scope: Oid, name: &str, oid: Oid) {
        let name = name.into();
        self.0.insert(ScopedName { scope, name }, oid);
    }

    /// Takes the name away if it is this object's: another one may have got it since.
    pub fn remove(&mut self, scope: Oid, name: &str, oid: Oid) {
        if self.get(scope, name) == Some(oid) {
            self.0.remove(&Wanted { scope, name });
        }
    }
}
