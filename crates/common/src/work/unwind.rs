//! Ending work that knows no errors: comparing, printing, what the standard library calls back.
//!
//! Such work pays by [`pass`](super::pass) and goes on, though nobody waits for its result any more. Where it owns all that
//! it changes, whoever calls it can have it unwound instead and makes an error of that. No panic hook hears of it.

use std::panic::{self, AssertUnwindSafe};

use super::STATE;
use crate::{SqlError, SqlResult};

/// What the work unwinds with.
struct Ended(SqlError);

/// Runs `work`, which is left in the middle when the payer ends it. What it was given to change holds anything then.
pub fn or_unwound<T>(work: impl FnOnce() -> T) -> SqlResult<T> {
    struct Former(bool);
    impl Drop for Former {
        fn drop(&mut self) {
            STATE.with(|state| state.may_unwind.set(self.0));
        }
    }
    let _former = Former(STATE.with(|state| state.may_unwind.replace(true)));
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Ended>() {
        Ok(ended) => ended.0,
        // A panic, or a coroutine that is unwound because its session is over.
        Err(other) => panic::resume_unwind(other),
    })
}

/// Leaves the work that [`or_unwound`] runs.
#[cold]
pub(super) fn unwind(error: SqlError) -> ! {
    panic::resume_unwind(Box::new(Ended(error)))
}
