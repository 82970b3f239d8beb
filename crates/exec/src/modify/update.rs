//! UPDATE.
//!
//! The new row is made from the stored bytes: columns that are not assigned are copied without being decoded, unless a
//! check, a generated column, a foreign key or RETURNING needs the whole row.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_engine::{
    Isolation, RowBuffers, RowLockStrength, RowVersion, RowWriter, Table, WaitPolicy, WriteError,
};
use mote_sql::plan::expr::Expr;
use mote_sql::plan::node::{self, RowMark, ScanId};
use mote_types::Datum;

use super::recheck::{Locked, Rechecker, lock, serialization_error, target_row};
use super::{Target, compile_returning, project, resolve, write_error};
use crate::expr::{Expression, compile};
use crate::node::{NodeProgram, Operator, compile_node, copy_row};
use crate::query::runtime::Runtime;

pub struct Program {
    target: Target,
    scan: ScanId,
    input: NodeProgram,
    mark: usize,
    marks: Vec<RowMark>,
    assignments: Box<[(usize, Expression)]>,
    generated: Box<[(usize, Expression)]>,
    returning: Option<Box<[Expression]>>,
    /// The whole row is needed as datums.
    needs_row: bool,
    /// A key column of a unique index is assigned: the lock must keep KEY SHARE out.
    changes_key: bool,
    pub(crate) counted: bool,
}

/// The marks with the written relation's own among them.
pub(super) fn with_target(marks: &[RowMark], scan: ScanId, mark: u16) -> Vec<RowMark> {
    let mut marks = marks.to_vec();
    if marks.iter().all(|other| other.scan != scan) {
        marks.push(RowMark { scan, mark });
    }
    marks
}

pub(super) fn compile_assignments(list: &[(u16, Expr)]) -> SqlResult<Box<[(usize, Expression)]>> {
    list.iter()
        .map(|(position, expr)| Ok((*position as usize, compile(expr)?)))
        .collect()
}

impl Program {
    pub fn compile(node: &node::Update) -> SqlResult<Arc<Program>> {
        let target = Target::compile(&node.relation, &node.checks)?;
        let changed = |position: usize| {
            node.assignments
                .iter()
                .chain(&node.generated)
                .any(|(other, _)| *other as usize == position)
        };
        let needs_row = target.has_checks()
            || !node.generated.is_empty()
            || node.returning.is_some()
            || target.foreign_keys.concern(&changed, &node.relation);
        Ok(Arc::new(Program {
            needs_row,
            changes_key: changes_key(&node.relation, &changed),
            target,
            scan: node.scan,
            input: compile_node(&node.input)?,
            mark: node.mark as usize,
            marks: with_target(&node.marks, node.scan, node.mark),
            assignments: compile_assignments(&node.assignments)?,
            generated: compile_assignments(&node.generated)?,
            returning: compile_returning(&node.returning)?,
            counted: false,
        }))
    }
}

/// Whether a column of a unique index is among the changed ones.
pub(super) fn changes_key(relation: &mote_sql::catalog::Relation, changed: &dyn Fn(usize) -> bool) -> bool {
    use mote_sql::catalog::IndexKeyTarget;
    relation.indexes.iter().filter(|index| index.unique).any(|index| {
        index.keys.iter().any(|key| match &key.target {
            IndexKeyTarget::Column(position) => changed(*position as usize),
            IndexKeyTarget::Expression(..) => true,
        })
    })
}

pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    table: Option<Arc<Table>>,
    rechecker: Rechecker,
    joined: Vec<Datum>,
    old: Vec<Datum>,
    /// The new row; for RETURNING the joined row follows.
    new: Vec<Datum>,
    assigned: Vec<Datum>,
    row: Vec<Datum>,
    scratch: Vec<u8>,
    buffers: RowBuffers,
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
            new: Vec::new(),
            assigned: Vec::new(),
            row: Vec::new(),
            scratch: Vec::new(),
            buffers: RowBuffers::default(),
        }
    }

    /// Updates the row that `self.joined` names; false if it is not ours to update any more.
    fn update(
        &mut self,
        table: &Table,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let program = Arc::clone(&self.program);
        let Some(id) = target_row(&self.joined, program.mark)? else {
            return Ok(false);
        };
        let transaction = runtime.transaction();
        let Some(mut version) = transaction.fetch(table, id, runtime.snapshot()) else {
            return Ok(false);
        };
        self.make_row(table, &version, writer, runtime)?;
        loop {
            let bytes = writer.finish().map_err(write_error::row_too_large)?;
            match transaction.update(table, &version, bytes) {
                Ok(()) => break,
                Err(WriteError::MustWait(ticket)) => runtime.context().wait(ticket)?,
                Err(WriteError::SelfModified) => return Ok(false),
                Err(WriteError::Changed | WriteError::Deleted)
                    if transaction.isolation() == Isolation::ReadCommitted =>
                {
                    let relation = &program.target.relation;
                    let strength = match program.changes_key {
                        true => RowLockStrength::Update,
                        false => RowLockStrength::NoKeyUpdate,
                    };
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
                    self.make_row(table, &version, writer, runtime)?;
                }
                Err(WriteError::Serialization) => return Err(serialization_error(table, id, runtime)),
                Err(error) => {
                    let row = self.whole_new_row(table, &version);
                    return Err(program.target.write_error(error, &row, runtime));
                }
            }
        }
        if program.needs_row {
            program.target.foreign_keys.row_updated(
                &program.target.relation,
                id,
                &self.old,
                &self.new,
                runtime,
            )?;
        }
        Ok(true)
    }

    /// Computes the new row from the joined row and the stored one, checks it, and leaves it in the writer.
    fn make_row(
        &mut self,
        table: &Table,
        version: &RowVersion<'_>,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        let program = Arc::clone(&self.program);
        let codec = &program.target.codec;
        let view = table.view(version.layout(), version.bytes());
        self.assigned.clear();
        for (_, expression) in &program.assignments {
            self.assigned.push(expression.evaluate(&self.joined, runtime)?);
        }
        if program.needs_row {
            self.old.clear();
            codec.read_row(&view, &mut self.old);
            copy_row(&self.old, &mut self.new);
            for ((position, _), value) in program.assignments.iter().zip(&self.assigned) {
                self.new[*position] = value.clone();
            }
            for (position, expression) in &program.generated {
                self.new[*position] = expression.evaluate(&self.new, runtime)?;
            }
            program.target.check_row(&self.new, runtime)?;
            codec.write_row(&self.new, writer, &mut self.scratch)?;
            return Ok(());
        }
        let columns = &program.target.relation.columns;
        for ((position, _), value) in program.assignments.iter().zip(&self.assigned) {
            if value.is_null() && columns[*position].not_null {
                let row = self.whole_new_row(table, version);
                program.target.check_row(&row, runtime)?;
            }
        }
        writer.clear();
        for position in 0..codec.width() {
            writer.set_from(position, &view);
        }
        for ((position, _), value) in program.assignments.iter().zip(&self.assigned) {
            codec.column(*position).write(value, writer, &mut self.scratch);
        }
        Ok(())
    }

    /// The new row as datums, for messages.
    #[cold]
    fn whole_new_row(&self, table: &Table, version: &RowVersion<'_>) -> Vec<Datum> {
        let mut row = Vec::new();
        self.program
            .target
            .codec
            .read_row(&table.view(version.layout(), version.bytes()), &mut row);
        for ((position, _), value) in self.program.assignments.iter().zip(&self.assigned) {
            row[*position] = value.clone();
        }
        row
    }

    /// Updates until a row has to be handed up, or to the end.
    fn run(
        &mut self,
        table: &Table,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        while self.input.next(runtime)? {
            runtime.burn(1)?;
            copy_row(self.input.row(), &mut self.joined);
            if !self.update(table, writer, runtime)? {
                continue;
            }
            if self.program.counted {
                runtime.values.affected += 1;
            }
            if let Some(returning) = &self.program.returning {
                self.new.extend_from_slice(&self.joined);
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
        self.rechecker.reset();
    }
}
