//! citext: text that compares without regard to case. The type, its operators and what they are made of are in
//! `mote_types::family::citext`, the functions over other functions in the script.

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    name: "citext",
    version: "1.6",
    comment: "data type for case-insensitive character strings",
    trusted: true,
    relocatable: true,
    script: include_str!("install.sql"),
    privileges: &[],
    builtin: None,
};
