//! DELETE.

use std::sync::Arc;

use mote_common::{RowId, SqlError, SqlResult};
use mote_engine::{Isolation, RowLockStrength, RowVersion, Table, WriteError};
use mote_planner::plan::node;
use mote_planner::plan::node::{MemberNumber, RowMark, ScanId};
use mote_types::Datum;

use super::recheck::{
    Rechecker, Written, lock_newest, refuse_modified_inside, self_modified, serialization_error, target_row,
};
use super::trigger::{RowTriggers, Stage, StatementTriggers};
use super::update::refused;
use super::{Target, compile_returning, project, resolve, write_error};
use crate::context::calls::TriggerOperation;
use crate::expr::Expression;
use crate::node::{NodeProgram, Operator, compile_node, copy_row};
use crate::runtime::Mark;
use crate::runtime::Runtime;

/// How a row is locked that goes.
const EXCLUSIVE: RowLockStrength = RowLockStrength::Update;

/// A compiled DELETE of a table and of all tables below it that the plan names.
pub struct Program {
    /// By the member number of the mark.
    targets: Box<[TargetProgram]>,
    scan: ScanId,
    input: NodeProgram,
    mark: usize,
    marks: Vec<RowMark>,
    statement_triggers: StatementTriggers,
    /// Subscribers could not find the rows of one of the tables.
    refused: Option<SqlError>,
    /// The statement's own node: its rows are the command tag's number.
    pub counted: bool,
}

/// A table that rows are deleted from.
struct TargetProgram {
    target: Target,
    returning: Option<Box<[Expression]>>,
    triggers: Option<RowTriggers>,
    /// The row is locked first, and shown to triggers.
    before_row: bool,
}

impl Program {
    pub fn compile(node: &node::Delete) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            targets: node
                .targets
                .iter()
                .map(TargetProgram::compile)
                .collect::<SqlResult<_>>()?,
            scan: node.scan,
            input: compile_node(&node.input)?,
            mark: node.mark as usize,
            marks: super::update::with_target(&node.marks, node.scan, node.mark),
            statement_triggers: StatementTriggers::compile(
                &node.relation,
                &node.triggers,
                &[TriggerOperation::Delete],
            )?,
            refused: refused(node.targets.iter().map(|target| target.relation.check_deletes())),
            counted: false,
        }))
    }

    /// Subscribers find the rows that the statement changes.
    pub fn require_found(&self) -> SqlResult<()> {
        self.refused.clone().map_or(Ok(()), Err)
    }
}

impl TargetProgram {
    fn compile(node: &node::DeleteTarget) -> SqlResult<TargetProgram> {
        let triggers = RowTriggers::compile(&node.relation, &node.triggers)?;
        let before_row = |triggers: &RowTriggers| triggers.has_before(TriggerOperation::Delete);
        Ok(TargetProgram {
            before_row: triggers.as_ref().is_some_and(before_row),
            triggers,
            target: Target::compile(&node.relation, &[])?,
            returning: compile_returning(&node.returning)?,
        })
    }
}

/// A DELETE at work.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// By member number, found when first written to.
    tables: Box<[Option<Arc<Table>>]>,
    rechecker: Rechecker,
    /// The joined row, replaced when it was evaluated again.
    joined: Vec<Datum>,
    /// The deleted row, then the joined row: what RETURNING reads.
    old: Vec<Datum>,
    row: Vec<Datum>,
    stage: Stage,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            tables: vec![None; program.targets.len()].into(),
            program,
            rechecker: Rechecker::default(),
            joined: Vec::new(),
            old: Vec::new(),
            row: Vec::new(),
            stage: Stage::default(),
        }
    }

    /// Deletes the row `id`, which `self.joined` names; false if it is not ours to delete any more.
    fn delete(
        &mut self,
        id: RowId,
        written: &TargetProgram,
        table: &Table,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let transaction = runtime.transaction();
        // The version that the scan has read, by the statement's snapshot: the write compares with it.
        let Some(mut version) = transaction.fetch(table, id, runtime.snapshot()) else {
            return Ok(false);
        };
        loop {
            match self.write(version, written, table, runtime)? {
                Written::Done => return Ok(true),
                // Deleted for an earlier row of the join, kept by a trigger, or deleted by another transaction.
                Written::SelfModified | Written::Refused | Written::Gone => return Ok(false),
                Written::Changed(newest) => {
                    let program = &self.program;
                    let locked = |scan| scan == program.scan;
                    let (input, marks) = (&program.input, &program.marks);
                    let (rechecker, joined) = (&mut self.rechecker, &mut self.joined);
                    // The newest version is locked. It is deleted only if the plan still yields it.
                    if !rechecker.run(input, marks, &locked, joined, runtime)? {
                        return Ok(false);
                    }
                    version = newest;
                }
            }
        }
    }

    /// One attempt at a row on behalf of MERGE.
    pub(super) fn write_joined<'v, 'c: 'v>(
        &mut self,
        version: RowVersion<'v>,
        member: MemberNumber,
        table: &Table,
        runtime: &mut Runtime<'_, 'c>,
    ) -> SqlResult<Written<'v>> {
        let program = Arc::clone(&self.program);
        self.write(version, &program.targets[member.0 as usize], table, runtime)
    }

    /// Deletes one row, unless it was changed since `version`.
    fn write<'v, 'c: 'v>(
        &mut self,
        mut version: RowVersion<'v>,
        written: &TargetProgram,
        table: &Table,
        runtime: &mut Runtime<'_, 'c>,
    ) -> SqlResult<Written<'v>> {
        let target = &written.target;
        let transaction = runtime.transaction();
        let id = version.row();
        if let Some(triggers) = written.triggers.as_ref().filter(|_| written.before_row) {
            match lock_newest(&version, (&target.relation, table), EXCLUSIVE, "deleted", runtime)? {
                Ok(newest) => version = newest,
                Err(ended) => return Ok(ended),
            }
            self.old.clear();
            let view = table.view(version.layout(), version.bytes());
            target.codec.read_row(&view, &mut self.old);
            if !triggers.before(TriggerOperation::Delete, Some(&self.old), None, runtime)? {
                return Ok(Written::Refused);
            }
            // The trigger may have written this very row: deleting it regardless would lose what it did.
            refuse_modified_inside("deleted", table, id, runtime)?;
        }
        loop {
            // Read in every turn: after a wait the version is another one, and RETURNING shows the one that goes.
            self.old.clear();
            let keys = &target.foreign_keys;
            // Without any of these the row is deleted by its id alone and never decoded.
            let needed = written.returning.is_some() || written.triggers.is_some() || keys.is_referenced();
            if needed {
                let view = table.view(version.layout(), version.bytes());
                target.codec.read_row(&view, &mut self.old);
            }
            let telling = &target.telling;
            match runtime.retry(|transaction| telling.delete(transaction, table, &version, false))? {
                Ok(()) => break,
                Err(WriteError::SelfModified) => return self_modified("deleted", table, id, runtime),
                Err(WriteError::Changed | WriteError::Deleted)
                    if transaction.isolation() == Isolation::ReadCommitted =>
                {
                    match lock_newest(&version, (&target.relation, table), EXCLUSIVE, "deleted", runtime)? {
                        Ok(newest) => version = newest,
                        Err(ended) => return Ok(ended),
                    }
                }
                Err(WriteError::Serialization) => return Err(serialization_error(table, id, runtime)),
                Err(error) => return Err(write_error::sql_error(error, &target.relation)),
            }
        }
        let keys = &target.foreign_keys;
        // Before AFTER triggers, so that constraints of the same statement fire first: both stand in one queue.
        keys.row_deleted(&target.relation, &self.old, runtime)?;
        if let Some(triggers) = &written.triggers {
            triggers.after(TriggerOperation::Delete, Some(&self.old), None, runtime)?;
        }
        Ok(Written::Done)
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let program = Arc::clone(&self.program);
        program.require_found()?;
        program.statement_triggers.begin(&mut self.stage, runtime)?;
        // Rows of one table mostly follow each other: the handle of the last one is kept at hand.
        let mut current: Option<(MemberNumber, Arc<Table>)> = None;
        while self.input.next(runtime)? {
            runtime.burn(1)?;
            // Copied: a recheck replaces it, and the input's own row must hold until the input's next.
            copy_row(self.input.row(), &mut self.joined);
            let Some(Mark { member, row: id }) = target_row(&self.joined, program.mark)? else {
                continue;
            };
            let number = member.0 as usize;
            let written = &program.targets[number];
            let (_, table) = match current.take() {
                Some(known) if known.0 == member => current.insert(known),
                _ => {
                    let table = resolve(&mut self.tables[number], &written.target.relation, runtime)?;
                    current.insert((member, table))
                }
            };
            if !self.delete(id, written, table, runtime)? {
                continue;
            }
            if program.counted {
                runtime.values.affected += 1;
            }
            if let Some(returning) = &written.returning {
                // RETURNING reads the deleted row, then the columns of USING.
                self.old.extend_from_slice(&self.joined);
                project(returning, &self.old, runtime, &mut self.row)?;
                return Ok(true);
            }
        }
        program.statement_triggers.end(&mut self.stage, runtime)?;
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.input.reset();
        self.stage = Stage::default();
        self.rechecker.reset();
    }
}
