//! Types of extensions: built in, but only where a database has the extension do names mean them (docs/design/0054).
//!
//! Their OIDs are fixed, so storage, keys and recovery need no catalog. Which schema they are in, and whether they are there
//! at all, the catalog of a database knows (`Catalog::extension_type`).

use super::ColumnType;
use crate::oid::Oid;

pub const CITEXT: Oid = Oid(15200);
pub const CITEXT_ARRAY: Oid = Oid(15201);
pub const HSTORE: Oid = Oid(15300);
pub const HSTORE_ARRAY: Oid = Oid(15301);

/// A type with its name and the extension that uncovers it.
pub struct ExtensionType {
    pub oid: Oid,
    pub name: &'static str,
    pub extension: &'static str,
}

/// All of them, without the arrays over them.
pub const EXTENSION_TYPES: &[ExtensionType] = &[
    ExtensionType {
        oid: CITEXT,
        name: "citext",
        extension: "citext",
    },
    ExtensionType {
        oid: HSTORE,
        name: "hstore",
        extension: "hstore",
    },
];

/// A type of an extension, or the array over one.
#[inline]
pub fn is_extension_type(ty: Oid) -> bool {
    matches!(ty, CITEXT | CITEXT_ARRAY | HSTORE | HSTORE_ARRAY)
}

/// The type, or that of the elements of an array.
pub fn extension_type(ty: Oid) -> Option<&'static ExtensionType> {
    if !is_extension_type(ty) {
        return None;
    }
    let element = ColumnType::new(ty).element().map_or(ty, |element| element.oid);
    EXTENSION_TYPES.iter().find(|known| known.oid == element)
}

/// The type for whose sake something that names these types is an extension's; None: it is everybody's.
pub fn of_extension(types: impl IntoIterator<Item = Oid>) -> Option<&'static ExtensionType> {
    types.into_iter().find_map(extension_type)
}
