//! Types of extensions in a database: they are where the extension is, and nowhere where it is not (docs/design/0054).

use std::sync::Arc;

use mote_common::Oid;
use mote_types::catalog::extension::{EXTENSION_TYPES, ExtensionType, extension_type};
use mote_types::catalog::user::UserType;

use super::catalog::Catalog;
use super::stored::StoredExtension;

impl Catalog {
    /// The extension of a database that has the type.
    pub fn extension_of_type(&self, database: Oid, ty: Oid) -> Option<&StoredExtension> {
        let known = extension_type(ty)?;
        let mut all = self.extensions.values().map(|entry| &entry.object);
        all.find(|extension| extension.database == database.0 && extension.name == known.extension)
    }

    /// A type of an extension, if the database has that.
    pub fn extension_type(&self, database: Oid, ty: Oid) -> Option<Arc<UserType>> {
        let known = extension_type(ty).filter(|known| known.oid == ty)?;
        Some(self.described_as_type(known, self.extension_of_type(database, ty)?))
    }

    /// The type of an extension that has this name in a schema.
    pub fn extension_type_named(&self, schema: Oid, name: &str) -> Option<Arc<UserType>> {
        let known = EXTENSION_TYPES.iter().find(|known| known.name == name)?;
        let mut all = self.extensions.values().map(|entry| &entry.object);
        let found = all.find(|extension| extension.schema == schema.0 && extension.name == known.extension);
        Some(self.described_as_type(known, found?))
    }

    fn described_as_type(&self, known: &ExtensionType, extension: &StoredExtension) -> Arc<UserType> {
        let schema = self.schemas.get(&Oid(extension.schema));
        Arc::new(UserType {
            oid: known.oid,
            schema: schema.map_or(String::new(), |schema| schema.object.name.clone()),
            name: known.name.to_string(),
            labels: Vec::new(),
            domain: None,
            row: None,
            subtype: None,
            // What was planned before the extension was made again is stale.
            version: extension.oid.into(),
        })
    }
}
