//! LIKE and NOT LIKE with a constant pattern, which is compiled with the expression: the value is matched where it stands.
//!
//! Leaves out: patterns that are computed, and ILIKE (`mote_functions::pattern`); how a pattern matches (`mote_types::pattern`).

use mote_common::SqlResult;
use mote_types::Datum;
use mote_types::pattern::LikePattern;

use super::Expression;
use crate::runtime::Runtime;

/// `argument [NOT] LIKE pattern`.
pub struct Like {
    pub argument: Expression,
    pub pattern: LikePattern,
    pub negated: bool,
}

/// Whether the function of this body is NOT LIKE; None: it is neither.
pub(super) fn is_negated(body: &str) -> Option<bool> {
    match body {
        "textlike" => Some(false),
        "textnlike" => Some(true),
        _ => None,
    }
}

impl Like {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<bool>> {
        if let Some(value) = self.argument.borrow(row, runtime) {
            return self.matches(value);
        }
        let value = self.argument.evaluate(row, runtime)?;
        self.matches(&value)
    }

    #[inline]
    fn matches(&self, value: &Datum) -> SqlResult<Option<bool>> {
        match value.as_str() {
            Some(text) => Ok(Some(self.pattern.matches(text)? != self.negated)),
            None => Ok(None),
        }
    }
}
