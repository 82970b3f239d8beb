//! UPDATE.
//!
//! The new row is made from the stored bytes: columns that are not assigned are copied without being decoded, unless a
//! check, a generated column, a foreign key, a partition key or RETURNING needs the whole row.
//!
//! A row of a partition whose new key belongs elsewhere moves: deleted here, and inserted where routing takes it
//! (`moving`).

use std::sync::Arc;

use mote_common::{RowId, SqlError, SqlResult};
use mote_engine::{Isolation, RowBuffers, RowLockStrength, RowVersion, RowWriter, Table, WriteError};
use mote_planner::plan::node;
use mote_planner::plan::node::{MemberNumber, RowMark, ScanId};
use mote_sql::catalog::Relation;
use mote_types::Datum;

use super::moving::Moving;
use super::recheck::{
    Rechecker, Written, lock_newest, refuse_modified_inside, self_modified, serialization_error, target_row,
};
use super::routing::Router;
use super::trigger::{Stage, StatementTriggers};
use super::update_target::{UpdateTarget, complete_update};
use super::{project, resolve, write_error};
use crate::context::calls::TriggerOperation;
use crate::expr::{Expression, compile_all};
use crate::node::{NodeProgram, Operator, compile_node, copy_row};
use crate::runtime::Mark;
use crate::runtime::Runtime;

/// A compiled UPDATE of a table and of all tables below it that the plan names.
pub struct Program {
    /// By the member number of the mark.
    targets: Box<[UpdateTarget]>,
    /// What the statement names.
    root: Arc<Relation>,
    scan: ScanId,
    input: NodeProgram,
    mark: usize,
    marks: Vec<RowMark>,
    /// Assigned values, over the joined row.
    values: Box<[Expression]>,
    /// Of partitions: how rows move among them.
    moving: Option<Moving>,
    /// They fire for the named relation alone, never for its partitions or children.
    statement_triggers: StatementTriggers,
    /// Subscribers could not find the rows of one of the tables.
    refused: Option<SqlError>,
    pub counted: bool,
}

/// The marks with the written relation's own among them.
/// EvalPlanQual must find the target row in the list, too: it is the one whose newest version counts.
pub(super) fn with_target(marks: &[RowMark], scan: ScanId, mark: u16) -> Vec<RowMark> {
    let mut marks = marks.to_vec();
    if marks.iter().all(|other| other.scan != scan) {
        marks.push(RowMark { scan, mark });
    }
    marks
}

/// The first refusal, to be told when the statement runs.
pub(super) fn refused(mut checks: impl Iterator<Item = SqlResult<()>>) -> Option<SqlError> {
    checks.find_map(Result::err)
}

impl Program {
    pub fn compile(node: &node::Update) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            targets: node
                .targets
                .iter()
                .map(|target| UpdateTarget::compile(node, target))
                .collect::<SqlResult<_>>()?,
            root: Arc::clone(&node.relation),
            scan: node.scan,
            input: compile_node(&node.input)?,
            mark: node.mark as usize,
            marks: with_target(&node.marks, node.scan, node.mark),
            values: compile_all(&node.values)?,
            moving: Moving::compile(node)?,
            statement_triggers: StatementTriggers::compile(
                &node.relation,
                &node.triggers,
                &[TriggerOperation::Update],
            )?,
            refused: refused(node.targets.iter().map(|target| target.relation.check_updates())),
            counted: false,
        }))
    }

    /// Subscribers find the rows that the statement changes.
    pub fn require_found(&self) -> SqlResult<()> {
        self.refused.clone().map_or(Ok(()), Err)
    }
}

/// An UPDATE at work.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// By member number, found when first written to.
    tables: Box<[Option<Arc<Table>>]>,
    rechecker: Rechecker,
    joined: Vec<Datum>,
    /// The row to update that `joined` names, until it is done.
    pending: Option<Mark>,
    old: Vec<Datum>,
    /// The new row; for RETURNING the joined row follows.
    new: Vec<Datum>,
    /// The assigned values, evaluated once per attempt, in the order of `UpdateTarget::assigned`.
    values: Vec<Datum>,
    row: Vec<Datum>,
    scratch: Vec<u8>,
    buffers: RowBuffers,
    /// Where rows that move go.
    router: Option<Router>,
    /// The last row has moved: `new` holds it as RETURNING of moved rows reads it.
    moved: bool,
    stage: Stage,
}

/// What came of computing a new row.
enum Made {
    Row,
    /// A BEFORE trigger leaves the row alone.
    Refused,
    /// Nothing is checked: the row is not one of this table any more.
    Elsewhere,
}

/// Why [`State::run`] stopped.
enum Stop {
    /// A row of RETURNING.
    Row,
    /// The next row is one of another table.
    OtherTable,
    End,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            tables: vec![None; program.targets.len()].into(),
            program,
            rechecker: Rechecker::default(),
            joined: Vec::new(),
            pending: None,
            old: Vec::new(),
            new: Vec::new(),
            values: Vec::new(),
            row: Vec::new(),
            scratch: Vec::new(),
            buffers: RowBuffers::default(),
            router: None,
            moved: false,
            stage: Stage::default(),
        }
    }

    /// Fetches the next row to update; false at the end.
    fn fetch(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        while self.input.next(runtime)? {
            runtime.burn(1)?;
            copy_row(self.input.row(), &mut self.joined);
            self.pending = target_row(&self.joined, self.program.mark)?;
            // A null mark is the null-extended side of an outer join: no row of the target is there to update.
            if self.pending.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Updates the row `id`, which `self.joined` names; false if it is not ours to update any more.
    fn update(
        &mut self,
        id: RowId,
        written: &UpdateTarget,
        table: &Table,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let transaction = runtime.transaction();
        let Some(mut version) = transaction.fetch(table, id, runtime.snapshot()) else {
            return Ok(false);
        };
        // Every turn starts from a newer version that this transaction has locked, so that nobody can change it again
        // before the second attempt.
        loop {
            match self.write(version, written, table, writer, runtime)? {
                Written::Done => return Ok(true),
                // A row that a join yields twice is updated once, by the first match (PostgreSQL's TM_SelfModified).
                Written::SelfModified | Written::Refused | Written::Gone => return Ok(false),
                Written::Changed(newest) => {
                    let program = &self.program;
                    let locked = |scan| scan == program.scan;
                    let (input, marks) = (&program.input, &program.marks);
                    let (rechecker, joined) = (&mut self.rechecker, &mut self.joined);
                    if !rechecker.run(input, marks, &locked, joined, runtime)? {
                        return Ok(false);
                    }
                    // The joined row was replaced by the recheck; the values are computed from it anew.
                    version = newest;
                }
            }
        }
    }

    /// One attempt at a row on behalf of MERGE, whose input row is `joined`.
    pub(super) fn write_joined<'v, 'c: 'v>(
        &mut self,
        joined: &[Datum],
        version: RowVersion<'v>,
        member: MemberNumber,
        table: &Table,
        runtime: &mut Runtime<'_, 'c>,
    ) -> SqlResult<Written<'v>> {
        copy_row(joined, &mut self.joined);
        let program = Arc::clone(&self.program);
        let written = &program.targets[member.0 as usize];
        let mut writer = RowWriter::with_buffers(table.newest_layout(), std::mem::take(&mut self.buffers));
        let result = self.write(version, written, table, &mut writer, runtime);
        self.buffers = writer.into_buffers();
        result
    }

    /// Updates one row from `self.joined`, unless it was changed since `version`.
    fn write<'v, 'c: 'v>(
        &mut self,
        mut version: RowVersion<'v>,
        written: &UpdateTarget,
        table: &Table,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, 'c>,
    ) -> SqlResult<Written<'v>> {
        let target = &written.target;
        let transaction = runtime.transaction();
        let id = version.row();
        // A row before this one may have moved; `run` asks per row.
        self.moved = false;
        if written.before_row {
            // A BEFORE trigger is shown the newest version, and nobody changes it behind its back.
            match lock_newest(
                &version,
                (&target.relation, table),
                written.lock_strength(),
                "updated",
                runtime,
            )? {
                Ok(newest) => version = newest,
                Err(ended) => return Ok(ended),
            }
        }
        match self.make_row(written, table, &version, writer, runtime)? {
            Made::Row => {}
            Made::Refused => return Ok(Written::Refused),
            Made::Elsewhere => return self.move_row(version, written, table, runtime),
        }
        // No lock is taken first: `update` locks the row and answers `Changed` when `version` is not the newest one.
        loop {
            let bytes = writer.finish().map_err(write_error::row_too_large)?;
            let telling = &target.telling;
            match runtime.retry(|transaction| telling.update(transaction, table, &version, bytes))? {
                Ok(()) => break,
                Err(WriteError::SelfModified) => return self_modified("updated", table, id, runtime),
                Err(WriteError::Changed | WriteError::Deleted)
                    // With BEFORE triggers the row is locked already, so that nobody else can have changed it.
                    if transaction.isolation() == Isolation::ReadCommitted && !written.before_row =>
                {
                    match lock_newest(
                        &version,
                        (&target.relation, table),
                        written.lock_strength(),
                        "updated",
                        runtime,
                    )? {
                        Ok(newest) => version = newest,
                        Err(ended) => return Ok(ended),
                    }
                    // Made again from the version that is locked: the bytes of the first attempt came from another one.
                    match self.make_row(written, table, &version, writer, runtime)? {
                        Made::Row => {}
                        Made::Refused => return Ok(Written::Refused),
                        Made::Elsewhere => return self.move_row(version, written, table, runtime),
                    }
                }
                Err(WriteError::Serialization) => return Err(serialization_error(table, id, runtime)),
                // The row as datums is needed for the message only (the key of a duplicate).
                Err(error) => {
                    let row = self.whole_new_row(written, table, &version);
                    return Err(target.write_error(error, &row, runtime));
                }
            }
        }
        if written.needs_row {
            target.row_updated(id, (&self.old, &self.new), written.triggers.as_ref(), runtime)?;
        } else {
            // Foreign keys and triggers would have set `needs_row`: they do not concern this update.
            target.deferrable_keys.row_written(&target.relation, runtime)?;
        }
        Ok(Written::Done)
    }

    /// Moves the row, whose new form `self.new` its table does not take, to the partition that does.
    fn move_row<'v, 'c: 'v>(
        &mut self,
        mut version: RowVersion<'v>,
        written: &UpdateTarget,
        table: &Table,
        runtime: &mut Runtime<'_, 'c>,
    ) -> SqlResult<Written<'v>> {
        let program = Arc::clone(&self.program);
        let target = &written.target;
        // The statement names the partition itself: its rows may not leave it.
        let Some(moving) = &program.moving else {
            return Err(target.partition_violation(&self.new, runtime));
        };
        let transaction = runtime.transaction();
        let id = version.row();
        // The delete of a move is one to BEFORE ROW and AFTER ROW triggers of the old partition, as in
        // ExecCrossPartitionUpdate; statement triggers see an UPDATE alone.
        if let Some(triggers) = written.triggers.as_ref().filter(|_| written.before_delete) {
            match lock_newest(
                &version,
                (&target.relation, table),
                RowLockStrength::Update,
                "deleted",
                runtime,
            )? {
                Ok(newest) => version = newest,
                Err(ended) => return Ok(ended),
            }
            if !triggers.before(TriggerOperation::Delete, Some(&self.old), None, runtime)? {
                return Ok(Written::Refused);
            }
            refuse_modified_inside("deleted", table, id, runtime)?;
        }
        loop {
            // Deleted before it is inserted: a unique key that the row keeps would otherwise meet its own old version.
            let telling = &target.telling;
            match runtime.retry(|transaction| telling.delete(transaction, table, &version, true))? {
                Ok(()) => break,
                Err(WriteError::SelfModified) => return self_modified("deleted", table, id, runtime),
                Err(WriteError::Changed | WriteError::Deleted)
                    if transaction.isolation() == Isolation::ReadCommitted =>
                {
                    match lock_newest(
                        &version,
                        (&target.relation, table),
                        RowLockStrength::Update,
                        "deleted",
                        runtime,
                    )? {
                        Ok(newest) => version = newest,
                        Err(ended) => return Ok(ended),
                    }
                }
                Err(WriteError::Serialization) => return Err(serialization_error(table, id, runtime)),
                Err(error) => return Err(write_error::sql_error(error, &target.relation)),
            }
        }
        if let Some(triggers) = &written.triggers {
            triggers.after(TriggerOperation::Delete, Some(&self.old), None, runtime)?;
        }
        let keys = &target.foreign_keys;
        // Copied before `insert` turns `self.new` into the root's columns: the foreign keys here read the partition's.
        let moved = keys.is_referenced().then(|| self.new.clone());
        let router = self.router.get_or_insert_with(|| moving.router());
        let (relation, scratch) = (&target.relation, &mut self.scratch);
        // A BEFORE INSERT trigger of the new partition refused the row: the delete stands, and to those who refer to it
        // the row is gone.
        if !moving.insert(router, relation, &mut self.new, scratch, runtime)? {
            keys.row_deleted(relation, &self.old, runtime)?;
            return Ok(Written::Refused);
        }
        if let Some(moved) = &moved {
            keys.row_moved(relation, &self.old, moved, runtime)?;
        }
        self.moved = true;
        Ok(Written::Done)
    }

    /// Computes the new row from the joined row and the stored one, checks it, and leaves it in the writer.
    fn make_row(
        &mut self,
        written: &UpdateTarget,
        table: &Table,
        version: &RowVersion<'_>,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Made> {
        let codec = &written.target.codec;
        let view = table.view(version.layout(), version.bytes());
        self.values.clear();
        for expression in &self.program.values {
            self.values.push(expression.evaluate(&self.joined, runtime)?);
        }
        if written.needs_row {
            self.old.clear();
            codec.read_row(&view, &mut self.old);
            copy_row(&self.old, &mut self.new);
            for (position, value) in written.assigned.iter().zip(&self.values) {
                self.new[*position] = value.clone();
            }
            let before = written.triggers.as_ref().filter(|_| written.before_row);
            let (place, rules) = ((table, version.row()), (before, &*written.generated));
            if !complete_update(place, rules, &self.old, &mut self.new, runtime)? {
                return Ok(Made::Refused);
            }
            // Before NOT NULL and CHECK: those of the partition that will take the row judge it, not those of this one.
            if written.may_leave && written.target.leaves_partition(&self.new, runtime)? {
                return Ok(Made::Elsewhere);
            }
            written.target.check_row(&self.new, runtime)?;
            codec.write_row(&self.new, writer, &mut self.scratch)?;
            return Ok(Made::Row);
        }
        let columns = &written.target.relation.columns;
        // Columns that are not assigned met NOT NULL when they were stored: only the assigned ones can break it.
        for (position, value) in written.assigned.iter().zip(&self.values) {
            if value.is_null() && columns[*position].not_null {
                let row = self.whole_new_row(written, table, version);
                written.target.check_row(&row, runtime)?;
            }
        }
        writer.clear();
        // The stored bytes first, then the new values over them; the writer keeps the last value set for a column.
        for position in 0..codec.width() {
            writer.set_from(position, &view);
        }
        for (position, value) in written.assigned.iter().zip(&self.values) {
            codec.column(*position).write(value, writer, &mut self.scratch);
        }
        Ok(Made::Row)
    }

    /// The new row as datums, for messages.
    #[cold]
    fn whole_new_row(&self, written: &UpdateTarget, table: &Table, version: &RowVersion<'_>) -> Vec<Datum> {
        let mut row = Vec::new();
        let codec = &written.target.codec;
        codec.read_row(&table.view(version.layout(), version.bytes()), &mut row);
        for (position, value) in written.assigned.iter().zip(&self.values) {
            row[*position] = value.clone();
        }
        row
    }

    /// Updates rows of one table, the pending one first, until a row has to be handed up.
    fn run(
        &mut self,
        member: MemberNumber,
        table: &Table,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Stop> {
        let program = Arc::clone(&self.program);
        let written = &program.targets[member.0 as usize];
        while let Some(Mark { row: id, .. }) = self.pending.take() {
            if self.update(id, written, table, writer, runtime)? {
                if program.counted {
                    runtime.values.affected += 1;
                }
                let moved = program.moving.as_ref().filter(|_| self.moved);
                // A moved row is held in the root's columns, with the table's OID behind; the others in their
                // partition's.
                let (checks, relation) = match moved {
                    Some(moving) => (&moving.view_checks, moving.root()),
                    None => (&written.view_checks, &written.target.relation),
                };
                checks.check(&self.new, relation, &program.root, runtime)?;
                let returning = match moved {
                    Some(moving) => moving.returning.as_deref(),
                    None => written.returning.as_deref(),
                };
                if let Some(returning) = returning {
                    // RETURNING reads the new row, then the columns of FROM; both in one row for the compiled
                    // expressions.
                    self.new.extend_from_slice(&self.joined);
                    project(returning, &self.new, runtime, &mut self.row)?;
                    return Ok(Stop::Row);
                }
            }
            if !self.fetch(runtime)? {
                return Ok(Stop::End);
            }
            // The writer has the layout of one table: the caller makes another one.
            if self.pending.is_some_and(|mark| mark.member != member) {
                return Ok(Stop::OtherTable);
            }
        }
        Ok(Stop::End)
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let program = Arc::clone(&self.program);
        program.require_found()?;
        program.statement_triggers.begin(&mut self.stage, runtime)?;
        if self.next_row(runtime)? {
            return Ok(true);
        }
        program.statement_triggers.end(&mut self.stage, runtime)?;
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.input.reset();
        self.pending = None;
        self.stage = Stage::default();
        self.rechecker.reset();
        if let Some(router) = &mut self.router {
            router.reset();
        }
    }
}

impl State {
    /// Updates until a row has to be handed up, or to the end.
    fn next_row(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if self.pending.is_none() && !self.fetch(runtime)? {
            return Ok(false);
        }
        while let Some(Mark { member, .. }) = self.pending {
            let number = member.0 as usize;
            let relation = &self.program.targets[number].target.relation;
            // The buffers go from one writer to the next: a writer borrows the layout and cannot outlive this call.
            let table = resolve(&mut self.tables[number], relation, runtime)?;
            let mut writer =
                RowWriter::with_buffers(table.newest_layout(), std::mem::take(&mut self.buffers));
            let result = self.run(member, &table, &mut writer, runtime);
            self.buffers = writer.into_buffers();
            match result? {
                Stop::Row => return Ok(true),
                Stop::OtherTable => {}
                Stop::End => return Ok(false),
            }
        }
        Ok(false)
    }
}
