//! Conditions: true, false or unknown.
//!
//! Operands are sequences of items; a condition holds if it holds for any pair. An item that cannot be judged makes it
//! unknown: in strict mode at once, in lax mode unless another pair fulfils it.

use std::cmp::Ordering;

use mote_common::work;

use super::run::{Failure, Outcome, Runner, STEP_UNITS, Scope, Truth};
use super::*;
use crate::json::Json;

/// Soft errors make a condition unknown.
fn known<T>(result: Outcome<T>) -> Outcome<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Failure::Soft(_)) => Ok(None),
        Err(hard) => Err(hard),
    }
}

impl Runner<'_> {
    pub(super) fn truth(&mut self, condition: &Condition, json: &Json, scope: Scope<'_>) -> Outcome<Truth> {
        Ok(match condition {
            Condition::And(both) => match self.truth(&both.0, json, scope)? {
                Truth::False => Truth::False,
                first => match self.truth(&both.1, json, scope)? {
                    Truth::True => first,
                    second => second,
                },
            },
            Condition::Or(both) => match self.truth(&both.0, json, scope)? {
                Truth::True => Truth::True,
                first => match self.truth(&both.1, json, scope)? {
                    Truth::False => first,
                    second => second,
                },
            },
            Condition::Not(inner) => match self.truth(inner, json, scope)? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            },
            Condition::IsUnknown(inner) => (self.truth(inner, json, scope)? == Truth::Unknown).into(),
            Condition::Exists(chain) => {
                // In strict mode only the whole list of results shows that there is no error.
                let mut all = Vec::new();
                let lax = self.lax;
                let found = (!lax).then_some(&mut all);
                match known(self.items(chain, json, scope, found))? {
                    None => Truth::Unknown,
                    Some(found) if lax => found.into(),
                    Some(_) => (!all.is_empty()).into(),
                }
            }
            Condition::Compare(comparison, left, right) => {
                let Some(left) = known(self.operand(left, json, scope))? else {
                    return Ok(Truth::Unknown);
                };
                let Some(right) = known(self.operand(right, json, scope))? else {
                    return Ok(Truth::Unknown);
                };
                let pairs = left
                    .iter()
                    .flat_map(|left| right.iter().map(move |right| (left, right)));
                self.any(pairs.map(|(left, right)| Ok(compare(*comparison, left, right))))?
            }
            Condition::StartsWith(whole, initial) => {
                let Some(whole) = known(self.operand(whole, json, scope))? else {
                    return Ok(Truth::Unknown);
                };
                let mut initials = Vec::new();
                if known(self.items(initial, json, scope, Some(&mut initials)))?.is_none() {
                    return Ok(Truth::Unknown);
                }
                let pairs = whole
                    .iter()
                    .flat_map(|whole| initials.iter().map(move |initial| (whole, initial)));
                self.any(pairs.map(|pair| {
                    Ok(match pair {
                        (Json::String(whole), Json::String(initial)) => {
                            whole.starts_with(initial.as_str()).into()
                        }
                        _ => Truth::Unknown,
                    })
                }))?
            }
            Condition::LikeRegex(chain, pattern) => {
                let Some(values) = known(self.operand(chain, json, scope))? else {
                    return Ok(Truth::Unknown);
                };
                self.any(values.iter().map(|value| {
                    Ok(match value {
                        Json::String(text) => pattern.regex.is_match(text)?.into(),
                        _ => Truth::Unknown,
                    })
                }))?
            }
        })
    }

    /// Whether any is true.
    fn any(&self, each: impl Iterator<Item = Outcome<Truth>>) -> Outcome<Truth> {
        let (mut unknown, mut found) = (false, false);
        for truth in each {
            work::spend(STEP_UNITS)?;
            match truth? {
                Truth::Unknown if !self.lax => return Ok(Truth::Unknown),
                Truth::Unknown => unknown = true,
                Truth::True if self.lax => return Ok(Truth::True),
                Truth::True => found = true,
                Truth::False => {}
            }
        }
        Ok(match (found, unknown) {
            (true, _) => Truth::True,
            (false, true) => Truth::Unknown,
            (false, false) => Truth::False,
        })
    }
}

fn compare(comparison: Comparison, left: &Json, right: &Json) -> Truth {
    let order = match (left, right) {
        (Json::Null, Json::Null) => Ordering::Equal,
        // A null is unequal to everything else, and neither less nor greater.
        (Json::Null, _) | (_, Json::Null) => return (comparison == Comparison::NotEqual).into(),
        (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
        (Json::Number(left), Json::Number(right)) => left.cmp(right),
        (Json::String(left), Json::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        _ => return Truth::Unknown,
    };
    Truth::from(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::Greater => order.is_gt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}
