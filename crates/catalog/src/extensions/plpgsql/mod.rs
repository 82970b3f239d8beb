//! plpgsql: the language is part of the server, and the extension of every database.

use mote_common::Oid;

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    name: "plpgsql",
    version: "1.0",
    comment: "PL/pgSQL procedural language",
    trusted: true,
    relocatable: false,
    script: "",
    privileges: &[],
    builtin: Some(Oid(13559)),
};
