//! Functions and procedures: CREATE, ALTER, CALL, DO.
//!
//! Read in this order: `create` with `signature` and `options`, `find` (which routine a signature means), `alter` with `change`,
//! `run` (CALL and DO). PostgreSQL: functioncmds.c. Leaves out: DROP (`drop`), and who uses a routine (`uses::texts`).

mod alter;
mod change;
mod create;
pub(crate) mod find;
mod options;
mod run;
mod signature;

use mote_common::SqlError;
use mote_common::error::state;

pub(super) use alter::{comment, is_routine, move_to_schema, owner, rename, set_schema};
pub(super) use create::put_new;
pub(super) use find::{find, signature_of};

/// A routine that cannot be as it is written.
fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(state::INVALID_FUNCTION_DEFINITION, message)
}
