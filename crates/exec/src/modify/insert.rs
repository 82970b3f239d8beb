//! INSERT.

use std::collections::HashSet;
use std::sync::Arc;

use mote_common::{RowId, SqlResult};
use mote_engine::{RowBuffers, RowWriter, Table, WriteError};
use mote_sql::plan::node;
use mote_types::Datum;

use super::on_conflict::{Conflict, Resolution};
use super::{Target, compile_returning, project, resolve};
use crate::expr::{Expression, compile_all};
use crate::node::{NodeProgram, Operator, compile_node};
use crate::query::runtime::Runtime;

pub struct Program {
    pub(super) target: Target,
    input: NodeProgram,
    values: Box<[Expression]>,
    on_conflict: Option<Conflict>,
    returning: Option<Box<[Expression]>>,
    pub(crate) counted: bool,
}

impl Program {
    pub fn compile(node: &node::Insert) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            target: Target::compile(&node.relation, &node.checks)?,
            input: compile_node(&node.input)?,
            values: compile_all(&node.values)?,
            on_conflict: node
                .on_conflict
                .as_ref()
                .map(|c| Conflict::compile(c, &node.relation))
                .transpose()?,
            returning: compile_returning(&node.returning)?,
            counted: false,
        }))
    }
}

pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    table: Option<Arc<Table>>,
    /// The row to insert, or what ON CONFLICT DO UPDATE made of the existing one.
    new: Vec<Datum>,
    row: Vec<Datum>,
    scratch: Vec<u8>,
    buffers: RowBuffers,
    /// Rows this statement inserted or updated: ON CONFLICT DO UPDATE must not touch one twice.
    touched: HashSet<RowId>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            program,
            table: None,
            new: Vec::new(),
            row: Vec::new(),
            scratch: Vec::new(),
            buffers: RowBuffers::default(),
            touched: HashSet::new(),
        }
    }

    /// Inserts `self.new`, or resolves the conflict. Answers whether a row was written.
    fn insert(
        &mut self,
        table: &Arc<Table>,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let program = Arc::clone(&self.program);
        let target = &program.target;
        target.check_row(&self.new, runtime)?;
        let transaction = runtime.transaction();
        loop {
            let bytes = target.codec.write_row(&self.new, writer, &mut self.scratch)?;
            let id = loop {
                match transaction.insert(table, bytes) {
                    Ok(id) => break Ok(id),
                    Err(WriteError::MustWait(ticket)) => runtime.context().wait(ticket)?,
                    Err(error) => break Err(error),
                }
            };
            match (id, &program.on_conflict) {
                (Ok(id), conflict) => {
                    if conflict.is_some() {
                        self.touched.insert(id);
                    }
                    target
                        .foreign_keys
                        .row_inserted(&target.relation, id, &self.new, runtime)?;
                    return Ok(true);
                }
                (Err(WriteError::Duplicate { index, existing }), Some(conflict))
                    if conflict.arbitrates(&target.relation, index) =>
                {
                    let resolution = conflict.resolve(
                        target,
                        table,
                        (index, existing),
                        &mut self.new,
                        &mut self.touched,
                        writer,
                        runtime,
                    )?;
                    match resolution {
                        Resolution::Updated => return Ok(true),
                        Resolution::Nothing => return Ok(false),
                        Resolution::TryAgain => {}
                    }
                }
                (Err(error), _) => return Err(target.write_error(error, &self.new, runtime)),
            }
        }
    }

    /// Inserts until a row has to be handed up, or to the end.
    fn run(
        &mut self,
        table: &Arc<Table>,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        while self.input.next(runtime)? {
            runtime.burn(1)?;
            self.new.clear();
            for value in &self.program.values {
                self.new.push(value.evaluate(self.input.row(), runtime)?);
            }
            if !self.insert(table, writer, runtime)? {
                continue;
            }
            if self.program.counted {
                runtime.values.affected += 1;
            }
            if let Some(returning) = &self.program.returning {
                project(returning, &self.new, runtime, &mut self.row)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let table = resolve(&mut self.table, &self.program.target.relation, runtime)?;
        let mut writer = RowWriter::with_buffers(table.newest_layout(), std::mem::take(&mut self.buffers));
        let result = self.run(&table, &mut writer, runtime);
        self.buffers = writer.into_buffers();
        result
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.input.reset();
        self.touched.clear();
    }
}
