//! uuid-ossp: identifiers by time, by name and at random.

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    name: "uuid-ossp",
    version: "1.1",
    comment: "generate universally unique identifiers (UUIDs)",
    trusted: true,
    relocatable: true,
    script: include_str!("install.sql"),
    privileges: &[],
    builtin: None,
};
