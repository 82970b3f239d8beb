//! Values on their way into a domain.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::{Datum, format_type};

use super::Expression;
use crate::runtime::Runtime;

/// The value of an expression held against the rules of a domain, those of the domains below it included.
pub struct DomainCheck {
    pub(super) argument: Expression,
    pub(super) domain: Oid,
    /// For the fields of errors, with `name`.
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) rules: Box<[Rule]>,
    /// Only asked whether it passes: a value that does answers true, one that does not is an error.
    pub(super) is_test: bool,
}

pub(super) enum Rule {
    NotNull,
    /// Over a row of the value alone.
    Check {
        name: String,
        condition: Expression,
    },
}

impl DomainCheck {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        // CHECK conditions name VALUE, which is the only column of this row.
        let value = [self.argument.evaluate(row, runtime)?];
        for rule in &self.rules {
            match rule {
                Rule::NotNull if value[0].is_null() => return Err(self.null_refused()),
                Rule::NotNull => {}
                // The rules in the order the binder gives; NULL passes a CHECK.
                Rule::Check { name, condition } => {
                    if condition.truth(&value, runtime)? == Some(false) {
                        return Err(self.check_violated(name));
                    }
                }
            }
        }
        let [value] = value;
        Ok(if self.is_test { Datum::Bool(true) } else { value })
    }

    #[cold]
    fn null_refused(&self) -> SqlError {
        let message = format!(
            "domain {} does not allow null values",
            format_type(self.domain, -1)
        );
        SqlError::new(state::NOT_NULL_VIOLATION, message)
            .relation_names(Some(self.schema.clone()), None)
            .data_type(self.name.as_str())
    }

    #[cold]
    fn check_violated(&self, constraint: &str) -> SqlError {
        let message = format!(
            "value for domain {} violates check constraint \"{constraint}\"",
            format_type(self.domain, -1)
        );
        SqlError::new(state::CHECK_VIOLATION, message)
            .relation_names(Some(self.schema.clone()), None)
            .data_type(self.name.as_str())
            .constraint(constraint)
    }
}
