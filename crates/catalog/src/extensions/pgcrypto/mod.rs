//! pgcrypto: digests, password hashes, random bytes. Encryption (`encrypt`, `pgp_*`, `armor`) is refused by name.

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    name: "pgcrypto",
    version: "1.3",
    comment: "cryptographic functions",
    trusted: true,
    relocatable: true,
    script: include_str!("install.sql"),
    privileges: &[],
    builtin: None,
};
