//! What a session keeps for routines: compiled bodies, and what bounds and guards nested calls.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult, error::state};
use mote_types::ColumnType;

use super::kept_call::KeptCalls;
use super::running::Running;

/// Bodies that a session keeps compiled. At the bound all are dropped, and compiled again as they are called.
const COMPILED_MAX: usize = 1024;

/// What tells compiled bodies apart: a changed routine has another version, a polymorphic one is compiled for each set
/// of types, a trigger function for each table.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CompiledKey {
    pub routine: Oid,
    pub version: u64,
    pub types: Box<[ColumnType]>,
    /// The relation of a trigger, with its version.
    pub relation: Option<(Oid, u64)>,
}

/// What a session's routines have compiled, and what runs. Reached through `Holdings::routines`.
#[derive(Default)]
pub struct RoutineState {
    compiled: HashMap<CompiledKey, Arc<dyn Any + Send + Sync>>,
    /// Where the stack stood when the outermost of the running routines was called; 0: none runs.
    pub(super) stack_base: usize,
    /// Queries that loops of running bodies read from, outermost first; None while one is read.
    pub loops: Vec<Option<Running>>,
    pub calls: KeptCalls,
}

impl RoutineState {
    /// What a language compiled a body to.
    pub fn compiled<T: Any + Send + Sync>(&self, key: &CompiledKey) -> Option<Arc<T>> {
        // Another type under the key cannot be: a routine has one language, and a change of it is another version.
        self.compiled.get(key)?.clone().downcast().ok()
    }

    /// No body runs any more, however the last one ended: one that failed may have left entries.
    pub fn all_ended(&mut self) {
        self.loops.clear();
        self.stack_base = 0;
    }

    pub fn keep(&mut self, key: CompiledKey, compiled: Arc<dyn Any + Send + Sync>) {
        if self.compiled.len() >= COMPILED_MAX {
            self.compiled.clear();
        }
        // A routine that was changed leaves its former self behind.
        self.compiled
            .retain(|known, _| known.routine != key.routine || known.version == key.version);
        self.compiled.insert(key, compiled);
    }
}

/// About where the stack stands.
#[inline(never)]
// A local's address: good for distances within one stack, and for nothing else.
pub(super) fn stack_position() -> usize {
    let here = 0u8;
    std::ptr::from_ref(&here) as usize
}

/// Refuses a call that nests deeper than the session's stack allows.
pub(super) fn check_stack(base: usize, limit_bytes: usize) -> SqlResult<()> {
    // Stacks grow downwards, but nothing here depends on it.
    if base.abs_diff(stack_position()) <= limit_bytes {
        return Ok(());
    }
    Err(too_deep())
}

#[cold]
fn too_deep() -> SqlError {
    SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(
        "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.",
    )
}
