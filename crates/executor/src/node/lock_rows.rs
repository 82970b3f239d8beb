//! SELECT ... FOR UPDATE and its kin: locks the rows behind each joined row; stands above the sort, below the limit.
//!
//! A row that changed before it could be locked is evaluated again (READ COMMITTED) and left out if it no longer
//! qualifies. Rows that an outer EvalPlanQual holds in place pass: the first run has locked them. A sub-plan that an outer
//! EvalPlanQual evaluates again reads its own rows anew, as of the snapshot, and they are locked and evaluated anew.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::{RowLockStrength, Table, WaitPolicy, WriteError};
use mote_planner::plan::node::{Node, RowLock, RowMark, ScanId};
use mote_sql::clause::{LockStrength, LockWait};
use mote_types::Datum;

use super::scan::mark_of;
use super::{NodeProgram, Operator, compile_node};
use crate::node::modify::recheck::{Locked, Rechecker, lock};
use crate::runtime::Mark;
use crate::runtime::Runtime;
use mote_catalog::write_error;

/// A compiled locking clause: which relations' rows are locked, how, and what stands still in a recheck.
pub struct Program {
    input: NodeProgram,
    locks: Vec<RowLock>,
    /// All marked relations, the locked ones included.
    marks: Vec<RowMark>,
}

impl Program {
    pub fn compile(input: &Node, locks: &[RowLock], marks: &[RowMark]) -> SqlResult<Arc<Program>> {
        let mut marks = marks.to_vec();
        // A recheck must find the locked relations among the marks, to show their newest versions.
        for lock in locks {
            if marks.iter().all(|mark| mark.scan != lock.scan) {
                marks.push(RowMark {
                    scan: lock.scan,
                    mark: lock.mark,
                });
            }
        }
        Ok(Arc::new(Program {
            input: compile_node(input)?,
            locks: locks.to_vec(),
            marks,
        }))
    }
}

/// The tables whose rows are locked, opened with the first row.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// For each lock its tables, by member number.
    tables: Vec<Vec<Arc<Table>>>,
    rechecker: Rechecker,
    /// The row as EvalPlanQual made it anew; None: it is the input's.
    changed: Option<Vec<Datum>>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        let input = program.input.instantiate();
        State {
            program,
            input,
            tables: Vec::new(),
            rechecker: Rechecker::default(),
            changed: None,
        }
    }

    /// Whether an outer EvalPlanQual put the locked rows in place, which are locked already.
    fn held(&self, runtime: &Runtime<'_, '_>) -> bool {
        let recheck = runtime.values.recheck.as_ref();
        recheck.is_some_and(|recheck| self.program.locks.iter().any(|lock| recheck.holds(lock.scan)))
    }

    /// Locks what the current row names. Answers whether the row goes out.
    fn lock_all(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let program = &*self.program;
        let mut changed: Vec<ScanId> = Vec::new();
        for (request, tables) in program.locks.iter().zip(&self.tables) {
            // The null-extended side of an outer join has no row to lock.
            let Some(Mark { member, row: id }) = mark_of(&self.input.row()[request.mark as usize]) else {
                continue;
            };
            let member = member.0 as usize;
            let (relation, table) = (&request.relations[member], &tables[member]);
            let transaction = runtime.transaction();
            let snapshot = runtime.snapshot();
            let seen = transaction.fetch(table, id, snapshot);
            let policy = match request.wait {
                LockWait::Block => WaitPolicy::Block,
                // SKIP LOCKED asks without waiting, too; only what `Busy` means differs.
                LockWait::NoWait | LockWait::SkipLocked => WaitPolicy::NoWait,
            };
            let strength = strength_of(request.strength);
            let locked = lock(table, relation, id, seen.as_ref(), strength, policy, runtime);
            match locked.map_err(locking_error)? {
                Locked::Unchanged(_) => {}
                Locked::Changed(_) => changed.push(request.scan),
                // As nodeLockRows.c: a row that is deleted by now, or that this command has written itself, is left
                // out.
                Locked::Gone | Locked::SelfModified => return Ok(false),
                Locked::Moved => return Err(locking_error(write_error::moved_row())),
                Locked::Busy if request.wait == LockWait::SkipLocked => return Ok(false),
                Locked::Busy => {
                    return Err(write_error::sql_error(WriteError::WouldBlock, relation));
                }
            }
        }
        if changed.is_empty() {
            return Ok(true);
        }
        let locked = |scan| program.locks.iter().any(|lock| lock.scan == scan);
        // The input's row is left as it is; `row` answers the one that was evaluated anew.
        let row = self.changed.insert(self.input.row().to_vec());
        self.rechecker
            .run(&program.input, &program.marks, &locked, row, runtime)
    }
}

/// A row that is gone is a concurrent update to SELECT .. FOR, in PostgreSQL's words.
#[cold]
fn locking_error(error: SqlError) -> SqlError {
    if error.fields().state == state::SERIALIZATION_FAILURE && error.message() != write_error::MOVED {
        write_error::serialization_failure(false)
    } else {
        error
    }
}

/// The engine's strength for the clause's: FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE, FOR KEY SHARE.
pub fn strength_of(strength: LockStrength) -> RowLockStrength {
    match strength {
        LockStrength::KeyShare => RowLockStrength::KeyShare,
        LockStrength::Share => RowLockStrength::Share,
        LockStrength::NoKeyUpdate => RowLockStrength::NoKeyUpdate,
        LockStrength::Update => RowLockStrength::Update,
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if self.tables.is_empty() {
            for request in &self.program.locks {
                let tables = request
                    .relations
                    .iter()
                    .map(|relation| runtime.table(relation.table));
                self.tables.push(tables.collect::<SqlResult<_>>()?);
            }
        }
        loop {
            if !self.input.next(runtime)? {
                return Ok(false);
            }
            self.changed = None;
            if self.held(runtime) || self.lock_all(runtime)? {
                return Ok(true);
            }
        }
    }

    fn row(&self) -> &[Datum] {
        self.changed.as_deref().unwrap_or_else(|| self.input.row())
    }

    fn reset(&mut self) {
        self.input.reset();
        self.changed = None;
        self.rechecker.reset();
    }
}
