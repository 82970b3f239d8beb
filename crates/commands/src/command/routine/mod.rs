//! Functions and procedures: CREATE, ALTER, DROP, CALL, DO.
//!
//! Read in this order: `create` with `signature` and `options`, `find` (which routine a signature means), `alter`, `dependents`, `drop`, `run` (CALL and
//! DO).

mod alter;
mod create;
mod dependents;
mod drop;
mod find;
mod options;
mod qualify;
mod run;
mod signature;

use mote_common::SqlError;
use mote_common::error::state;

pub(super) use alter::{comment, is_routine, move_to_schema, owner, rename, set_schema};
pub(super) use create::put_new;
pub(super) use dependents::{Dependent, Search, described, in_expressions, users_of_rows};
pub(super) use drop::{drop, drop_all};
pub(super) use find::{find, signature_of};
pub(super) use qualify::{Calls, kept_text, qualify_call};

/// A routine that cannot be as it is written.
fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(state::INVALID_FUNCTION_DEFINITION, message)
}
