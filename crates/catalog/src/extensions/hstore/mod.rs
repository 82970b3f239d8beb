//! hstore: sets of pairs of texts. Everything but what is about rows is in `mote_types::family::hstore`; rows are read and
//! written by `executor/src/functions/extension/hstore.rs`. The script has nothing to make.

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    name: "hstore",
    version: "1.8",
    comment: "data type for storing sets of (key, value) pairs",
    trusted: true,
    relocatable: true,
    script: include_str!("install.sql"),
    privileges: &[],
    builtin: None,
};
