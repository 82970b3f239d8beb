//! Nodes that change rows: INSERT, UPDATE, DELETE and MERGE.
//!
//! UPDATE and DELETE find their rows by row marks of the input; MERGE's actions are the same nodes, over the row that the
//! MERGE has joined.

use super::*;

#[derive(Clone, Debug)]
pub struct Insert {
    pub relation: Arc<Relation>,
    /// Positions of the columns that the statement gives values to.
    pub assigned: Vec<u16>,
    /// Yields rows of the *inserted* columns in `targets` order.
    pub input: Node,
    /// For each column of the relation (dropped and generated ones: a NULL constant): an expression over the input
    /// row, casts and defaults resolved.
    pub values: Vec<Expr>,
    /// Generated columns, computed over the new row (all columns by position).
    pub generated: Vec<(u16, Expr)>,
    pub checks: Vec<Check>,
    pub triggers: Triggers,
    pub on_conflict: Option<OnConflict>,
    /// Over the inserted row (all columns by position; where the relation is partitioned, the OID of the row's partition
    /// follows).
    pub returning: Option<Vec<Expr>>,
    /// WITH CHECK OPTION of the views that the statement names, over the same. NULL fails.
    pub view_checks: Vec<Check>,
}

impl Insert {
    pub fn fires_triggers(&self) -> bool {
        !self.triggers.statement.is_empty() || !self.triggers.row.is_empty()
    }

    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.values.iter_mut().for_each(&mut *visit);
        self.generated.iter_mut().for_each(|(_, expr)| visit(expr));
        self.checks
            .iter_mut()
            .for_each(|check| visit(&mut check.condition));
        visit_conditions(&mut self.triggers.statement, visit);
        visit_conditions(&mut self.triggers.row, visit);
        if let Some(OnConflict {
            action:
                ConflictAction::Update {
                    visible,
                    assignments,
                    condition,
                },
            ..
        }) = &mut self.on_conflict
        {
            visible.iter_mut().for_each(|check| visit(&mut check.condition));
            assignments.iter_mut().for_each(|(_, expr)| visit(expr));
            condition.iter_mut().for_each(&mut *visit);
        }
        self.returning.iter_mut().flatten().for_each(&mut *visit);
        self.view_checks
            .iter_mut()
            .for_each(|check| visit(&mut check.condition));
    }
}

#[derive(Clone, Debug)]
pub struct Update {
    /// What the statement names: a table, or the parent of those in `targets`.
    pub relation: Arc<Relation>,
    pub scan: ScanId,
    /// Joined rows; the target's row mark is among them.
    pub input: Node,
    pub mark: u16,
    pub marks: Vec<RowMark>,
    /// Assigned values, over the input row. The target's old columns are part of the input row where expressions need
    /// them; unassigned columns are taken from the stored row.
    pub values: Vec<Expr>,
    /// Triggers of `relation` that fire once.
    pub triggers: Vec<FiredTrigger>,
    /// The tables whose rows change, by the member number of the mark.
    pub targets: Vec<UpdateTarget>,
    /// RETURNING of rows that move to another partition: over the new row in the named relation's columns, the OID of
    /// the partition, and the input row.
    pub moved_returning: Option<Vec<Expr>>,
    /// WITH CHECK OPTION for these rows, over the same.
    pub moved_view_checks: Vec<Check>,
}

impl Update {
    pub fn fires_triggers(&self) -> bool {
        !self.triggers.is_empty() || self.targets.iter().any(|target| !target.triggers.is_empty())
    }

    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let moved = self.moved_returning.iter_mut().flatten();
        self.values.iter_mut().chain(moved).for_each(&mut *visit);
        let moved = self.moved_view_checks.iter_mut();
        moved.for_each(|check| visit(&mut check.condition));
        visit_conditions(&mut self.triggers, visit);
        for target in &mut self.targets {
            target.generated.iter_mut().for_each(|(_, expr)| visit(expr));
            let checks = target.checks.iter_mut().chain(&mut target.view_checks);
            checks.for_each(|check| visit(&mut check.condition));
            visit_conditions(&mut target.triggers, visit);
            target.returning.iter_mut().flatten().for_each(&mut *visit);
        }
    }

    /// Whether the tables it changes are those below the one it names.
    pub fn is_over_members(&self) -> bool {
        self.targets.len() != 1 || self.targets[0].relation.oid != self.relation.oid
    }
}

/// A table that UPDATE changes. Columns are its own.
#[derive(Clone, Debug)]
pub struct UpdateTarget {
    pub relation: Arc<Relation>,
    /// For each of the values the position of its column.
    pub assigned: Vec<u16>,
    /// Generated columns, recomputed over the new row (all columns by position).
    pub generated: Vec<(u16, Expr)>,
    pub checks: Vec<Check>,
    /// Those that fire for each row.
    pub triggers: Vec<FiredTrigger>,
    /// Over the new row (all columns by position), followed by the input row.
    pub returning: Option<Vec<Expr>>,
    /// WITH CHECK OPTION of the views that the statement names, over the same. NULL fails.
    pub view_checks: Vec<Check>,
}

#[derive(Clone, Debug)]
pub struct Delete {
    /// What the statement names: a table, or the parent of those in `targets`.
    pub relation: Arc<Relation>,
    pub scan: ScanId,
    pub input: Node,
    pub mark: u16,
    pub marks: Vec<RowMark>,
    /// Triggers of `relation` that fire once.
    pub triggers: Vec<FiredTrigger>,
    /// The tables whose rows go, by the member number of the mark.
    pub targets: Vec<DeleteTarget>,
}

impl Delete {
    pub fn fires_triggers(&self) -> bool {
        !self.triggers.is_empty() || self.targets.iter().any(|target| !target.triggers.is_empty())
    }

    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit_conditions(&mut self.triggers, visit);
        for target in &mut self.targets {
            visit_conditions(&mut target.triggers, visit);
            target.returning.iter_mut().flatten().for_each(&mut *visit);
        }
    }

    /// Whether the tables it takes rows from are those below the one it names.
    pub fn is_over_members(&self) -> bool {
        self.targets.len() != 1 || self.targets[0].relation.oid != self.relation.oid
    }
}

/// A table that DELETE takes rows from.
#[derive(Clone, Debug)]
pub struct DeleteTarget {
    pub relation: Arc<Relation>,
    /// Those that fire for each row.
    pub triggers: Vec<FiredTrigger>,
    /// Over the old row (all columns by position), followed by the input row.
    pub returning: Option<Vec<Expr>>,
}

/// The source joined with the target, and what happens to each joined row.
#[derive(Clone, Debug)]
pub struct Merge {
    /// What the statement names: a table, or the parent of those in `targets`.
    pub relation: Arc<Relation>,
    /// Source rows, each with the target row it matches; without one (outer join) the target's columns are NULL.
    pub input: Node,
    /// The target's row mark.
    pub mark: u16,
    /// Where the target's columns stand in the input row: they are read again when the target row has changed.
    pub target_positions: Vec<u16>,
    /// The tables whose rows are changed, by the member number of the mark.
    pub targets: Vec<MergeTarget>,
    /// ON over the input row: whether a changed target row still matches.
    pub on: Option<Expr>,
    /// In the order written. The first that applies is taken.
    pub branches: Vec<MergeBranch>,
    /// Triggers of `relation` that fire once for each kind of action.
    pub triggers: Vec<FiredTrigger>,
}

impl Merge {
    pub fn fires_triggers(&self) -> bool {
        let branches = || self.branches.iter().map(|branch| &branch.action);
        !self.triggers.is_empty()
            || branches().any(|action| match action {
                MergeAction::Nothing => false,
                MergeAction::Insert(insert) => insert.fires_triggers(),
                MergeAction::Update(update) => update.fires_triggers(),
                MergeAction::Delete(delete) => delete.fires_triggers(),
            })
    }

    /// Whether the tables it changes are those below the one it names.
    pub fn is_over_members(&self) -> bool {
        self.targets.len() != 1 || self.targets[0].relation.oid != self.relation.oid
    }

    /// Calls `visit` for each expression, those of the actions included.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.on.iter_mut().for_each(&mut *visit);
        visit_conditions(&mut self.triggers, visit);
        for branch in &mut self.branches {
            branch.condition.iter_mut().for_each(&mut *visit);
            match &mut branch.action {
                MergeAction::Nothing => {}
                MergeAction::Insert(insert) => insert.for_each_expr_mut(visit),
                MergeAction::Update(update) => update.for_each_expr_mut(visit),
                MergeAction::Delete(delete) => delete.for_each_expr_mut(visit),
            }
        }
    }
}

/// A table that MERGE changes.
#[derive(Clone, Debug)]
pub struct MergeTarget {
    pub relation: Arc<Relation>,
    /// What stands at `target_positions`.
    pub columns: Vec<ScanColumn>,
}

#[derive(Clone, Debug)]
pub struct MergeBranch {
    pub matched: bool,
    /// Over the input row.
    pub condition: Option<Expr>,
    pub action: MergeAction,
}

/// Actions read the input row of the MERGE: their own input is empty.
#[derive(Clone, Debug)]
pub enum MergeAction {
    Nothing,
    Insert(Insert),
    Update(Update),
    Delete(Delete),
}

fn visit_conditions(triggers: &mut [FiredTrigger], visit: &mut dyn FnMut(&mut Expr)) {
    let conditions = triggers.iter_mut().filter_map(|fired| fired.condition.as_mut());
    conditions.for_each(visit);
}
