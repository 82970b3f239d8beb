//! INSERT.

use std::collections::HashSet;
use std::sync::Arc;

use mote_common::{RowId, SqlResult};
use mote_engine::{RowBuffers, RowWriter, Table};
use mote_planner::plan::node;
use mote_sql::clause;
use mote_types::Datum;

use super::insert_target::InsertTarget;
use super::on_conflict::Conflict;
use super::open_table::OpenTable;
use super::routing::{Router, Routing};
use super::trigger::{RowTriggers, Stage, StatementTriggers};
use super::{Target, ViewChecks, compile_assignments, compile_returning, project, resolve};
use crate::context::calls::TriggerOperation;
use crate::expr::{Expression, compile_all};
use crate::node::{NodeProgram, Operator, compile_node};
use crate::runtime::Runtime;

/// A compiled INSERT; also the WHEN NOT MATCHED THEN INSERT of a MERGE.
pub struct Program {
    pub(super) into: InsertTarget,
    input: NodeProgram,
    /// One per column of the table, over the input's row; defaults are among them.
    values: Box<[Expression]>,
    /// Of a partitioned table: where its rows go.
    routing: Option<Arc<Routing>>,
    returning: Option<Box<[Expression]>>,
    /// ON CONFLICT may update.
    updates: bool,
    view_checks: ViewChecks,
    statement_triggers: StatementTriggers,
    pub counted: bool,
}

impl Program {
    pub fn compile(node: &node::Insert) -> SqlResult<Arc<Program>> {
        let given = given(node);
        let routing = Routing::of(&node.relation, &given, node.on_conflict.as_ref())?;
        // With routing every leaf has a conflict of its own, over its own indexes.
        let on_conflict = match &node.on_conflict {
            Some(conflict) if routing.is_none() => Some(Conflict::compile(conflict, &node.relation)?),
            _ => None,
        };
        let updates = matches!(&node.on_conflict, Some(conflict) if conflict.updates());
        // DO UPDATE fires the statement triggers of UPDATE as well, whether or not a row conflicts.
        let operations: &[_] = match updates {
            true => &[TriggerOperation::Insert, TriggerOperation::Update],
            false => &[TriggerOperation::Insert],
        };
        let triggers = RowTriggers::compile(&node.relation, &node.triggers.row)?;
        let target = Target::compile(&node.relation, &node.checks)?.giving(&given);
        let generated = compile_assignments(&node.generated)?;
        Ok(Arc::new(Program {
            statement_triggers: StatementTriggers::compile(
                &node.relation,
                &node.triggers.statement,
                operations,
            )?,
            into: InsertTarget::new(target, generated)
                .firing(triggers)
                .resolving(on_conflict),
            input: compile_node(&node.input)?,
            values: compile_all(&node.values)?,
            routing,
            returning: compile_returning(&node.returning)?,
            updates,
            view_checks: ViewChecks::compile(&node.view_checks, &given)?,
            counted: false,
        }))
    }
}

/// The columns that the statement gives values to, those of ON CONFLICT DO UPDATE among them.
fn given(node: &node::Insert) -> Vec<u16> {
    // Errors may show these to whoever may not read the table: they come from the statement itself.
    let mut given = node.assigned.clone();
    if let Some(clause::OnConflict {
        action: clause::ConflictAction::Update { assignments, .. },
        ..
    }) = &node.on_conflict
    {
        given.extend(assignments.iter().map(|(position, _)| *position));
    }
    given
}

/// An INSERT at work.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    table: Option<Arc<Table>>,
    router: Option<Router>,
    /// The row to insert, or what ON CONFLICT DO UPDATE made of the existing one.
    new: Vec<Datum>,
    /// The row of RETURNING.
    row: Vec<Datum>,
    scratch: Vec<u8>,
    buffers: RowBuffers,
    /// Rows this statement inserted or updated: ON CONFLICT DO UPDATE must not touch one twice.
    touched: HashSet<RowId>,
    /// ON CONFLICT has updated the row that was written last.
    updated: bool,
    stage: Stage,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            router: program.routing.as_ref().map(Router::new),
            program,
            table: None,
            new: Vec::new(),
            row: Vec::new(),
            scratch: Vec::new(),
            buffers: RowBuffers::default(),
            touched: HashSet::new(),
            updated: false,
            stage: Stage::default(),
        }
    }

    /// The next row to insert, into `self.new`. False: there is none.
    fn next_row(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !self.input.next(runtime)? {
            return Ok(false);
        }
        runtime.burn(1)?;
        compute(&self.program, self.input.row(), &mut self.new, runtime)?;
        Ok(true)
    }

    /// What is done with a row that was written: true if it has to be handed up.
    fn written(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !self.program.view_checks.is_empty() {
            let program = Arc::clone(&self.program);
            let root = &program.into.target.relation;
            program.view_checks.check(&self.new, root, root, runtime)?;
        }
        if self.program.counted {
            runtime.values.affected += 1;
        }
        if let Some(returning) = &self.program.returning {
            if self.program.updates {
                // `xmax`, behind the columns and the OID of a partition.
                let width = self.program.into.target.relation.columns.len();
                self.new.resize(width + 1, Datum::Null);
                let own = runtime.transaction().id().0 as u32;
                self.new.push(Datum::Oid(if self.updated { own } else { 0 }));
            }
            project(returning, &self.new, runtime, &mut self.row)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Inserts the row of an input row of MERGE.
    pub(super) fn insert_joined(
        &mut self,
        joined: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        compute(&self.program, joined, &mut self.new, runtime)?;
        if let Some(mut router) = self.router.take() {
            let result = self.insert_routed(&mut router, runtime);
            self.router = Some(router);
            return result;
        }
        let table = resolve(&mut self.table, &self.program.into.target.relation, runtime)?;
        let mut writer = RowWriter::with_buffers(table.newest_layout(), std::mem::take(&mut self.buffers));
        let result = self.insert(&table, &mut writer, runtime);
        self.buffers = writer.into_buffers();
        result
    }

    /// Checks and inserts `self.new`, or resolves the conflict. Answers whether a row was written.
    #[inline]
    fn insert(
        &mut self,
        table: &Arc<Table>,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let program = Arc::clone(&self.program);
        // A BEFORE trigger left the row out.
        if !program.into.complete(&mut self.new, runtime)? {
            return Ok(false);
        }
        let mut open = OpenTable {
            table,
            writer,
            scratch: &mut self.scratch,
            touched: &mut self.touched,
            updated: false,
        };
        let written = program.into.insert(&mut open, &mut self.new, runtime);
        self.updated = open.updated;
        written
    }

    /// The same for a row of a partitioned table: it goes to the partition that takes it. For RETURNING it is left in
    /// the root's columns, the partition's OID behind them.
    fn insert_routed(&mut self, router: &mut Router, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let opened = router.route(&mut self.new, runtime)?;
        let (leaf, table) = (Arc::clone(&opened.leaf), Arc::clone(&opened.table));
        // The leaf's triggers, generated columns and checks, in its own columns.
        if !leaf.into.complete(&mut self.new, runtime)? {
            return Ok(false);
        }
        let mut writer = RowWriter::with_buffers(table.newest_layout(), std::mem::take(&mut self.buffers));
        let mut open = OpenTable {
            table: &table,
            writer: &mut writer,
            scratch: &mut self.scratch,
            touched: &mut opened.touched,
            updated: false,
        };
        let inserted = leaf.into.insert(&mut open, &mut self.new, runtime);
        self.updated = open.updated;
        self.buffers = writer.into_buffers();
        if inserted? {
            // Turned back only where somebody reads it: most statements do not.
            if self.program.returning.is_some() || !self.program.view_checks.is_empty() {
                leaf.to_root(&mut self.new, self.program.into.target.relation.columns.len());
                self.new.push(Datum::oid(leaf.into.target.relation.oid));
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Hands up a row, or ends the statement.
    fn ended(&mut self, has_row: bool, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !has_row {
            let program = Arc::clone(&self.program);
            program.statement_triggers.end(&mut self.stage, runtime)?;
        }
        Ok(has_row)
    }

    /// Inserts until a row has to be handed up, or to the end.
    fn run(
        &mut self,
        table: &Arc<Table>,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        while self.next_row(runtime)? {
            if self.insert(table, writer, runtime)? && self.written(runtime)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn run_routed(&mut self, router: &mut Router, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        while self.next_row(runtime)? {
            if self.insert_routed(router, runtime)? && self.written(runtime)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The new row of an input row, but for generated columns: they wait for BEFORE ROW triggers.
fn compute(
    program: &Program,
    input: &[Datum],
    new: &mut Vec<Datum>,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<()> {
    new.clear();
    for value in &program.values {
        new.push(value.evaluate(input, runtime)?);
    }
    Ok(())
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let program = Arc::clone(&self.program);
        // Before the input is asked for its first row, as in ExecModifyTable.
        program.statement_triggers.begin(&mut self.stage, runtime)?;
        if let Some(mut router) = self.router.take() {
            let result = self.run_routed(&mut router, runtime);
            self.router = Some(router);
            // The router is put back first, so that `reset` finds it after an error, too.
            return self.ended(result?, runtime);
        }
        let table = resolve(&mut self.table, &program.into.target.relation, runtime)?;
        let mut writer = RowWriter::with_buffers(table.newest_layout(), std::mem::take(&mut self.buffers));
        let result = self.run(&table, &mut writer, runtime);
        self.buffers = writer.into_buffers();
        self.ended(result?, runtime)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.input.reset();
        self.stage = Stage::default();
        self.touched.clear();
        if let Some(router) = &mut self.router {
            router.reset();
        }
    }
}
