//! Publications in a catalog: by name, of a database, of a table (docs/design/0061).

use mote_common::Oid;

use super::catalog::{Catalog, Entry};
use super::stored::StoredPublication;

impl Catalog {
    /// Few, so that the name is looked for among all.
    pub fn publication_by_name(&self, database: Oid, name: &str) -> Option<&StoredPublication> {
        let mut all = self
            .publications
            .values()
            .map(|entry: &std::sync::Arc<Entry<_>>| &entry.object);
        all.find(|publication: &&StoredPublication| {
            publication.database == database.0 && publication.name == name
        })
    }

    /// The publications of a database in the order of their OIDs.
    pub fn publications_of(&self, database: Oid) -> Vec<&StoredPublication> {
        let all = self.publications.values().map(|entry| &entry.object);
        let mut here: Vec<_> = all
            .filter(|publication| publication.database == database.0)
            .collect();
        here.sort_by_key(|publication| publication.oid);
        here
    }

    /// The publications that name a table.
    pub fn publications_naming(&self, relation: Oid) -> impl Iterator<Item = &StoredPublication> {
        let users = self.users_of(relation);
        users.filter_map(|user| self.publications.get(&user).map(|entry| &entry.object))
    }
}
