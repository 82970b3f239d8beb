//! A part of a document, of `json` as it is spelled or of `jsonb` as a tree, for what does the same with both.

use std::collections::HashMap;

use mote_common::{SqlResult, work};
use mote_types::Datum;
use mote_types::json::{Json, write_quoted};

use super::json_text;
use super::scan::{raw_elements, raw_members, raw_text};
use super::tree::tree_text;

#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    /// Checked text of `json`.
    Raw(&'a str),
    Tree(&'a Json),
}

/// The members of an object. Of several of one name the last one counts.
pub(super) enum Members<'a> {
    Raw(HashMap<String, &'a str>),
    Tree(&'a Json),
}

impl<'a> Members<'a> {
    pub(super) fn get(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Members::Raw(members) => members.get(name).copied().map(Value::Raw),
            Members::Tree(object) => object.get(name).map(Value::Tree),
        }
    }
}

impl<'a> Value<'a> {
    fn begins_with(&self, first: char) -> bool {
        matches!(self, Value::Raw(raw) if raw.trim_start().starts_with(first))
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Value::Tree(Json::Null)) || self.begins_with('n')
    }

    pub(super) fn is_string(&self) -> bool {
        matches!(self, Value::Tree(Json::String(_))) || self.begins_with('"')
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self, Value::Tree(Json::Object(_))) || self.begins_with('{')
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self, Value::Tree(Json::Array(_))) || self.begins_with('[')
    }

    /// The members, if it is an object.
    pub(super) fn members(&self) -> Option<Members<'a>> {
        match *self {
            Value::Raw(raw) => Some(Members::Raw(raw_members(raw)?.into_iter().collect())),
            Value::Tree(json) => matches!(json, Json::Object(_)).then_some(Members::Tree(json)),
        }
    }

    /// The elements, if it is an array.
    pub(super) fn elements(&self) -> Option<Vec<Value<'a>>> {
        match *self {
            Value::Raw(raw) => Some(raw_elements(raw)?.into_iter().map(Value::Raw).collect()),
            Value::Tree(Json::Array(elements)) => Some(elements.iter().map(Value::Tree).collect()),
            Value::Tree(_) => None,
        }
    }

    /// A string without its quotes; anything else as JSON shows it.
    pub(super) fn plain_text(&self) -> SqlResult<Datum> {
        match self {
            Value::Raw(raw) => raw_text(Some(raw)),
            Value::Tree(json) => tree_text(Some(json)),
        }
    }

    /// As JSON shows it; of `json` a string with its escapes settled, anything else as it is spelled.
    pub(super) fn json_text(&self) -> SqlResult<Datum> {
        if !self.is_string() {
            return self.plain_text();
        }
        let plain = self.plain_text()?;
        let plain = plain.as_str().unwrap_or_default();
        let mut out = work::bytes_buffer(plain.len() + 2)?;
        write_quoted(plain, &mut out)?;
        json_text(out)
    }
}
