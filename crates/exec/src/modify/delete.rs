//! DELETE.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_engine::{Isolation, RowLockStrength, Table, WaitPolicy, WriteError};
use mote_sql::plan::node::{self, RowMark, ScanId};
use mote_types::Datum;

use super::recheck::{Locked, Rechecker, lock, serialization_error, target_row};
use super::{Target, compile_returning, project, resolve, write_error};
use crate::expr::Expression;
use crate::node::{NodeProgram, Operator, compile_node, copy_row};
use crate::query::runtime::Runtime;

pub struct Program {
    target: Target,
    scan: ScanId,
    input: NodeProgram,
    mark: usize,
    marks: Vec<RowMark>,
    returning: Option<Box<[Expression]>>,
    /// The statement's own node: its rows are the command tag's number.
    pub(crate) counted: bool,
}

impl Program {
    pub fn compile(node: &node::Delete) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            target: Target::compile(&node.relation, &[])?,
            scan: node.scan,
            input: compile_node(&node.input)?,
            mark: node.mark as usize,
            marks: super::update::with_target(&node.marks, node.scan, node.mark),
            returning: compile_returning(&node.returning)?,
            counted: false,
        }))
    }
}

pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    table: Option<Arc<Table>>,
    rechecker: Rechecker,
    /// The joined row, replaced when it was evaluated again.
    joined: Vec<Datum>,
    /// The deleted row, then the joined row: what RETURNING reads.
    old: Vec<Datum>,
    row: Vec<Datum>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            program,
            table: None,
            rechecker: Rechecker::default(),
            joined: Vec::new(),
            old: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Deletes the row that `self.joined` names; false if it is not ours to delete any more.
    fn delete(&mut self, table: &Table, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let program = Arc::clone(&self.program);
        let Some(id) = target_row(&self.joined, program.mark)? else {
            return Ok(false);
        };
        let transaction = runtime.transaction();
        let Some(mut version) = transaction.fetch(table, id, runtime.snapshot()) else {
            return Ok(false);
        };
        loop {
            self.old.clear();
            let needed = program.returning.is_some() || program.target.foreign_keys.is_referenced();
            if needed {
                let view = table.view(version.layout(), version.bytes());
                program.target.codec.read_row(&view, &mut self.old);
            }
            match transaction.delete(table, &version) {
                Ok(()) => break,
                Err(WriteError::MustWait(ticket)) => runtime.context().wait(ticket)?,
                Err(WriteError::SelfModified) => return Ok(false),
                Err(WriteError::Changed | WriteError::Deleted)
                    if transaction.isolation() == Isolation::ReadCommitted =>
                {
                    let relation = &program.target.relation;
                    let strength = RowLockStrength::Update;
                    match lock(
                        table,
                        relation,
                        id,
                        Some(&version),
                        strength,
                        WaitPolicy::Block,
                        runtime,
                    )? {
                        Locked::Unchanged(newest) => version = newest,
                        Locked::Changed(newest) => {
                            let locked = |scan| scan == program.scan;
                            let rechecker = &mut self.rechecker;
                            if !rechecker.run(
                                &program.input,
                                &program.marks,
                                &locked,
                                &mut self.joined,
                                runtime,
                            )? {
                                return Ok(false);
                            }
                            version = newest;
                        }
                        Locked::Gone | Locked::Busy => return Ok(false),
                    }
                }
                Err(WriteError::Serialization) => return Err(serialization_error(table, id, runtime)),
                Err(error) => return Err(write_error::sql_error(error, &program.target.relation)),
            }
        }
        program
            .target
            .foreign_keys
            .row_deleted(&program.target.relation, &self.old, runtime)?;
        Ok(true)
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let table = resolve(&mut self.table, &self.program.target.relation, runtime)?;
        while self.input.next(runtime)? {
            runtime.burn(1)?;
            copy_row(self.input.row(), &mut self.joined);
            if !self.delete(&table, runtime)? {
                continue;
            }
            if self.program.counted {
                runtime.values.affected += 1;
            }
            if let Some(returning) = &self.program.returning {
                self.old.extend_from_slice(&self.joined);
                project(returning, &self.old, runtime, &mut self.row)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.input.reset();
        self.rechecker.reset();
    }
}
