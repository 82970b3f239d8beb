//! MERGE: for each joined row the first WHEN clause that applies, carried out by INSERT, UPDATE and DELETE.
//!
//! A target row that somebody else changed meanwhile (READ COMMITTED) is locked; the joined row then keeps its source
//! columns and takes the target's newest ones, and ON decides whether it still matches. If so the WHEN MATCHED clauses
//! are tried again from the first, if not those of WHEN NOT MATCHED: the input is never run again. A row that this
//! very statement has written is a cardinality violation, since which of the source rows came last would be chance.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::{RowVersion, Table};
use mote_planner::plan::node;
use mote_planner::plan::node::{MemberNumber, MergeAction};
use mote_sql::catalog::Relation;
use mote_types::Datum;

use super::recheck::{Written, target_row};
use super::trigger::{Stage, StatementTriggers};
use super::{delete, insert, resolve, update};
use crate::context::calls::TriggerOperation;
use crate::expr::{Expression, compile_option};
use crate::node::scan::ScanColumns;
use crate::node::{NodeProgram, Operator, compile_node, copy_row};
use crate::runtime::Runtime;

/// A compiled MERGE: the join of source and target, and one program per WHEN clause.
pub struct Program {
    /// By the member number of the mark.
    targets: Box<[TargetProgram]>,
    input: NodeProgram,
    mark: usize,
    /// Where the target's columns stand in the joined row.
    target_positions: Box<[usize]>,
    /// The join condition over the joined row, for the recheck: the input itself was joined by the plan. None: always
    /// true.
    on: Option<Expression>,
    matched: Box<[Branch]>,
    unmatched: Box<[Branch]>,
    statement_triggers: StatementTriggers,
    pub counted: bool,
}

/// A table whose rows are updated or deleted.
struct TargetProgram {
    relation: Arc<Relation>,
    /// How to read what the joined row has of it.
    columns: ScanColumns,
}

/// A WHEN clause. Without a condition it always applies, and no later clause of its kind is reached.
struct Branch {
    condition: Option<Expression>,
    action: Action,
}

enum Action {
    Nothing,
    Insert(Arc<insert::Program>),
    Update(Arc<update::Program>),
    Delete(Arc<delete::Program>),
}

impl Program {
    pub fn compile(node: &node::Merge) -> SqlResult<Arc<Program>> {
        let branches = |matched: bool| {
            let wanted = node.branches.iter().filter(|branch| branch.matched == matched);
            wanted.map(Branch::compile).collect::<SqlResult<Box<[_]>>>()
        };
        let target = |(number, target): (usize, &node::MergeTarget)| TargetProgram {
            relation: Arc::clone(&target.relation),
            columns: ScanColumns::compile(&target.relation, MemberNumber(number as u16), &target.columns),
        };
        let positions = node.target_positions.iter();
        Ok(Arc::new(Program {
            targets: node.targets.iter().enumerate().map(target).collect(),
            input: compile_node(&node.input)?,
            mark: node.mark as usize,
            target_positions: positions.map(|&position| position as usize).collect(),
            on: compile_option(&node.on)?,
            matched: branches(true)?,
            unmatched: branches(false)?,
            statement_triggers: StatementTriggers::compile(
                &node.relation,
                &node.triggers,
                &[
                    TriggerOperation::Insert,
                    TriggerOperation::Update,
                    TriggerOperation::Delete,
                ],
            )?,
            counted: false,
        }))
    }

    /// Subscribers find the rows that any clause changes.
    fn require_found(&self) -> SqlResult<()> {
        let mut branches = self.matched.iter().chain(&self.unmatched);
        branches.try_for_each(|branch| match &branch.action {
            Action::Update(program) => program.require_found(),
            Action::Delete(program) => program.require_found(),
            Action::Nothing | Action::Insert(_) => Ok(()),
        })
    }
}

impl Branch {
    fn compile(node: &node::MergeBranch) -> SqlResult<Branch> {
        Ok(Branch {
            condition: compile_option(&node.condition)?,
            action: match &node.action {
                MergeAction::Nothing => Action::Nothing,
                MergeAction::Insert(node) => Action::Insert(insert::Program::compile(node)?),
                MergeAction::Update(node) => Action::Update(update::Program::compile(node)?),
                MergeAction::Delete(node) => Action::Delete(delete::Program::compile(node)?),
            },
        })
    }
}

/// The state behind one WHEN clause.
enum Doer {
    Nothing,
    Insert(Box<insert::State>),
    Update(Box<update::State>),
    Delete(Box<delete::State>),
}

impl Doer {
    fn reset(&mut self) {
        match self {
            Doer::Nothing => {}
            Doer::Insert(insert) => insert.reset(),
            Doer::Update(update) => update.reset(),
            Doer::Delete(delete) => delete.reset(),
        }
    }
}

fn doers(branches: &[Branch]) -> Vec<Doer> {
    let doer = |branch: &Branch| match &branch.action {
        Action::Nothing => Doer::Nothing,
        Action::Insert(program) => Doer::Insert(Box::new(insert::State::new(Arc::clone(program)))),
        Action::Update(program) => Doer::Update(Box::new(update::State::new(Arc::clone(program)))),
        Action::Delete(program) => Doer::Delete(Box::new(delete::State::new(Arc::clone(program)))),
    };
    branches.iter().map(doer).collect()
}

/// What the WHEN MATCHED clauses made of a row.
enum Matched {
    Written,
    /// No clause applied, or DO NOTHING.
    Left,
    /// There is no matching row any more.
    Lost,
}

/// A MERGE at work: its clauses' own states are driven from here.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// By member number, found when first written to.
    tables: Box<[Option<Arc<Table>>]>,
    matched: Vec<Doer>,
    unmatched: Vec<Doer>,
    joined: Vec<Datum>,
    /// The target's columns as they are now.
    fresh: Vec<Datum>,
    stage: Stage,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            matched: doers(&program.matched),
            unmatched: doers(&program.unmatched),
            tables: vec![None; program.targets.len()].into(),
            program,
            joined: Vec::new(),
            fresh: Vec::new(),
            stage: Stage::default(),
        }
    }

    /// Carries out what `self.joined` asks for. Answers whether a row was written.
    fn merge_row(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if let Some(mark) = target_row(&self.joined, self.program.mark)? {
            let number = mark.member.0 as usize;
            let relation = &self.program.targets[number].relation;
            let table = resolve(&mut self.tables[number], relation, runtime)?;
            let transaction = runtime.transaction();
            let Some(version) = transaction.fetch(&table, mark.row, runtime.snapshot()) else {
                return Ok(false);
            };
            match self.matched(version, mark.member, &table, runtime)? {
                Matched::Written => return Ok(true),
                Matched::Left => return Ok(false),
                Matched::Lost => {}
            }
        }
        self.not_matched(runtime)
    }

    /// Tries the WHEN MATCHED clauses on the target row, again after every change by others that this transaction
    /// waited for.
    fn matched<'v, 'c: 'v>(
        &mut self,
        mut version: RowVersion<'v>,
        member: MemberNumber,
        table: &Table,
        runtime: &mut Runtime<'_, 'c>,
    ) -> SqlResult<Matched> {
        let program = Arc::clone(&self.program);
        loop {
            let Some(chosen) = choose(&program.matched, &self.joined, runtime)? else {
                return Ok(Matched::Left);
            };
            let written = match &mut self.matched[chosen] {
                Doer::Update(update) => update.write_joined(&self.joined, version, member, table, runtime)?,
                Doer::Delete(delete) => delete.write_joined(version, member, table, runtime)?,
                // Parsing allows INSERT for WHEN NOT MATCHED alone.
                Doer::Nothing | Doer::Insert(_) => return Ok(Matched::Left),
            };
            match written {
                Written::Done => return Ok(Matched::Written),
                // As ExecMergeMatched: a row that was merged already matches a second source row.
                Written::SelfModified => return Err(second_time()),
                Written::Refused => return Ok(Matched::Left),
                // Deleted by others: the source row has no match any more, and NOT MATCHED clauses get it.
                Written::Gone => return Ok(Matched::Lost),
                Written::Changed(newest) => {
                    let columns = &program.targets[member.0 as usize].columns;
                    if !self.still_matches(columns, table, &newest, runtime)? {
                        return Ok(Matched::Lost);
                    }
                    version = newest;
                }
            }
        }
    }

    /// Puts the newest version of the target row into the joined row and evaluates ON again.
    fn still_matches(
        &mut self,
        columns: &ScanColumns,
        table: &Table,
        newest: &RowVersion<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let program = &self.program;
        let view = table.view(newest.layout(), newest.bytes());
        // Only the target's columns are replaced: the source row stays the one that was joined.
        self.fresh.resize(columns.width(), Datum::Null);
        columns.read(newest, &view, &mut self.fresh);
        for (position, value) in program.target_positions.iter().zip(self.fresh.drain(..)) {
            self.joined[*position] = value;
        }
        match &program.on {
            Some(on) => on.holds(&self.joined, runtime),
            None => Ok(true),
        }
    }

    /// Tries the WHEN NOT MATCHED clauses on a source row without a target row.
    fn not_matched(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let Some(chosen) = choose(&self.program.unmatched, &self.joined, runtime)? else {
            return Ok(false);
        };
        match &mut self.unmatched[chosen] {
            Doer::Insert(insert) => insert.insert_joined(&self.joined, runtime),
            Doer::Nothing | Doer::Update(_) | Doer::Delete(_) => Ok(false),
        }
    }
}

/// The first clause whose condition holds.
fn choose(branches: &[Branch], joined: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<usize>> {
    for (position, branch) in branches.iter().enumerate() {
        let applies = match &branch.condition {
            Some(condition) => condition.holds(joined, runtime)?,
            None => true,
        };
        if applies {
            return Ok(Some(position));
        }
    }
    Ok(None)
}

fn second_time() -> SqlError {
    let message = "MERGE command cannot affect row a second time";
    SqlError::new(state::CARDINALITY_VIOLATION, message)
        .hint("Ensure that not more than one source row matches any one target row.")
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let program = Arc::clone(&self.program);
        // The clauses' own nodes fire no statement triggers: MERGE drives them row by row, not through their `next`.
        program.require_found()?;
        program.statement_triggers.begin(&mut self.stage, runtime)?;
        while self.input.next(runtime)? {
            runtime.burn(1)?;
            copy_row(self.input.row(), &mut self.joined);
            if self.merge_row(runtime)? && self.program.counted {
                runtime.values.affected += 1;
            }
        }
        program.statement_triggers.end(&mut self.stage, runtime)?;
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &[]
    }

    fn reset(&mut self) {
        self.input.reset();
        self.stage = Stage::default();
        // A clause's router opened and locked leaves for the transaction of this run; the next one locks its own.
        for doer in self.matched.iter_mut().chain(&mut self.unmatched) {
            doer.reset();
        }
    }
}
