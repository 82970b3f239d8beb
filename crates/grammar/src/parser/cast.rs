//! CREATE CAST.

use mote_common::SqlResult;
use pg_raw_parse::{nodes, raw};

use super::convert::Converter;
use super::precision::Told;
use crate::ast::*;

impl Converter<'_> {
    pub(super) fn create_cast(&mut self, node: &nodes::CreateCastStmt) -> SqlResult<CreateCast> {
        let method = match node.func() {
            Some(function) => CastMethod::Function(ObjectReference::Signature(self.signature(function)?)),
            None if node.inout => CastMethod::Text,
            None => CastMethod::Binary,
        };
        Ok(CreateCast {
            source: self.told(Told::Unplaced, |this| this.required_type(node.sourcetype()))?,
            target: self.told(Told::Unplaced, |this| this.required_type(node.targettype()))?,
            method,
            context: match node.context {
                raw::CoercionContext::COERCION_IMPLICIT => CastContext::Implicit,
                raw::CoercionContext::COERCION_ASSIGNMENT => CastContext::Assignment,
                _ => CastContext::Explicit,
            },
        })
    }
}
