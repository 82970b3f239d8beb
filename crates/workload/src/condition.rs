//! A condition that a workload's data must meet, as SQL that counts violations; 0 passes.

use std::time::Instant;

use serde::Serialize;

use mote_driver::{Admin, DriverResult};

pub struct Condition {
    pub number: u32,
    pub says: &'static str,
    /// A query of one value.
    pub violations: &'static str,
}

/// The outcome of one condition.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionVerdict {
    pub number: u32,
    pub says: &'static str,
    pub pass: bool,
    pub violations: Option<i64>,
    /// Why it could not be checked, which counts as a failure.
    pub error: Option<String>,
    pub seconds: f64,
}

/// Checks what SQL can say.
pub fn check(admin: &mut Admin, condition: &Condition) -> ConditionVerdict {
    judge(condition.number, condition.says, || {
        Ok(admin
            .value(condition.violations)?
            .and_then(|value| value.parse().ok()))
    })
}

/// Checks what `violations` counts; `None` is no count, and so a failure.
pub fn judge(
    number: u32,
    says: &'static str,
    violations: impl FnOnce() -> DriverResult<Option<i64>>,
) -> ConditionVerdict {
    let started = Instant::now();
    let (violations, error) = match violations() {
        Ok(violations) => (violations, None),
        Err(error) => (None, Some(error.to_string())),
    };
    ConditionVerdict {
        number,
        says,
        pass: violations == Some(0),
        violations,
        error,
        seconds: started.elapsed().as_secs_f64(),
    }
}
