//! Sub-plans in expressions: EXISTS, scalar and ARRAY sub-queries, IN and quantified comparison.
//!
//! Invariants
//!  1. Without bindings the result is computed once per execution; `= ANY` is then answered from a hash table.
//!  2. With bindings the tree is reset and run again for every evaluation.
//!  3. The tree of a running sub-plan is taken out of `Values`, so that it can be handed the runtime.

use hashbrown::HashTable;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Datum, Oid};

use super::comparison::Predicate;
use super::{Expression, boolean};
use crate::functions::array::subarray;
use crate::runtime::{Operator, RowSet, Runtime, WorkMemory};
use crate::value::{Operation, accumulate_arrays, equal_rows, hash_row};

/// A call of a sub-plan.
pub struct SubPlan {
    /// The number of its tree in `Values::subplans`.
    pub plan: usize,
    pub kind: Kind,
    /// What it reads of the row around: parameters, with their expressions over that row.
    pub bindings: Box<[(usize, Expression)]>,
}

/// What is asked of the rows.
pub enum Kind {
    Exists,
    Scalar,
    /// The element type, and whether the rows are arrays that become its parts.
    Array {
        element: Oid,
        stacked: bool,
    },
    Quantified(Quantified),
}

/// `left operator ANY/ALL (subquery)`.
pub struct Quantified {
    /// One expression per column of the sub-query that is compared.
    pub left: Box<[Expression]>,
    pub predicates: Box<[Predicate]>,
    pub all: bool,
    /// NOT IN: the answer turned round, unknown as it is.
    pub negated: bool,
}

impl SubPlan {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        if let Kind::Quantified(quantified) = &self.kind {
            return Ok(boolean(self.quantified(quantified, row, runtime)?));
        }
        if self.bindings.is_empty()
            && let Some(value) = &runtime.values.subplans[self.plan].cached
        {
            return Ok(value.clone());
        }
        self.bind(row, runtime)?;
        let value = self.with_tree(runtime, |tree, runtime| match &self.kind {
            // One row answers it; the tree is reset before it runs again.
            Kind::Exists => Ok(Datum::Bool(tree.next(runtime)?)),
            Kind::Scalar => scalar(tree, runtime),
            Kind::Array { element, stacked } => {
                // Charged while the array grows; what becomes of it is its reader's to account for, as for any value.
                let mut memory = WorkMemory::default();
                let mut elements = Vec::new();
                while tree.next(runtime)? {
                    memory.charge_row(&tree.row()[..1], runtime)?;
                    let value = &tree.row()[0];
                    elements.push(if *stacked { subarray(value)? } else { value.clone() });
                }
                match stacked {
                    true => accumulate_arrays(*element, elements),
                    false => Ok(Datum::array(*element, elements)),
                }
            }
            Kind::Quantified(_) => unreachable!("answered above"),
        })?;
        if self.bindings.is_empty() {
            runtime.values.subplans[self.plan].cached = Some(value.clone());
        }
        Ok(value)
    }

    /// Sets the parameters, before the tree is reset and started: scans read them when they start.
    fn bind(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        for (id, expression) in &self.bindings {
            let value = expression.evaluate(row, runtime)?;
            runtime.values.exec_parameters[*id] = value;
        }
        Ok(())
    }

    /// Lends the tree, reset, and puts it back also after an error.
    fn with_tree<T>(
        &self,
        runtime: &mut Runtime<'_, '_>,
        work: impl FnOnce(&mut dyn Operator, &mut Runtime<'_, '_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let mut tree = runtime.values.subplans[self.plan]
            .tree
            .take()
            .ok_or_else(|| SqlError::internal("a sub-plan was evaluated inside itself"))?;
        tree.reset();
        let result = work(tree.as_mut(), runtime);
        runtime.values.subplans[self.plan].tree = Some(tree);
        result
    }

    fn quantified(
        &self,
        quantified: &Quantified,
        row: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<bool>> {
        let mut left = Vec::with_capacity(quantified.left.len());
        for expression in &quantified.left {
            left.push(expression.evaluate(row, runtime)?);
        }
        let result = if self.bindings.is_empty() {
            self.fill_rows(quantified, runtime)?;
            let set = runtime.values.subplans[self.plan]
                // Taken out while it is asked: the operators run with the whole runtime.
                .rows
                .take()
                .expect("filled above");
            let result = set.judge(quantified, &left, runtime);
            runtime.values.subplans[self.plan].rows = Some(set);
            result?
        } else {
            self.bind(row, runtime)?;
            self.with_tree(runtime, |tree, runtime| {
                let mut result = Some(quantified.all);
                while tree.next(runtime)? {
                    match quantified.judge(&left, tree.row(), runtime)? {
                        Some(value) if value != quantified.all => return Ok(Some(value)),
                        Some(_) => {}
                        None => result = None,
                    }
                }
                Ok(result)
            })?
        };
        Ok(result.map(|value| value != quantified.negated))
    }

    /// Runs the tree to its end, once per execution.
    fn fill_rows(&self, quantified: &Quantified, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        if runtime.values.subplans[self.plan].rows.is_some() {
            return Ok(());
        }
        let width = quantified.left.len();
        let set = self.with_tree(runtime, |tree, runtime| {
            let mut set = RowSet {
                rows: Vec::new().into(),
                table: HashTable::new(),
                has_null: false,
                memory: WorkMemory::default(),
            };
            while tree.next(runtime)? {
                set.insert(&tree.row()[..width], quantified.hashable(), runtime)?;
            }
            Ok(set)
        })?;
        runtime.values.subplans[self.plan].rows = Some(set);
        Ok(())
    }
}

/// The one column of the one row; no row is NULL, two are an error.
fn scalar(tree: &mut dyn Operator, runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
    if !tree.next(runtime)? {
        return Ok(Datum::Null);
    }
    // Copied before the next row is asked for: `row` holds until then.
    let value = tree.row()[0].clone();
    if tree.next(runtime)? {
        return Err(SqlError::new(
            state::CARDINALITY_VIOLATION,
            "more than one row returned by a subquery used as an expression",
        ));
    }
    Ok(value)
}

impl Quantified {
    /// Whether a hash table can answer: `= ANY` in all columns.
    fn hashable(&self) -> bool {
        !self.all
            && self
                .predicates
                .iter()
                .all(|p| matches!(p, Predicate::Operation(Operation::Equal)))
    }

    /// The comparison of one row: the columns' results joined by AND.
    fn judge(
        &self,
        left: &[Datum],
        right: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<bool>> {
        let mut result = Some(true);
        for ((left, right), predicate) in left.iter().zip(right).zip(&self.predicates) {
            match predicate.judge(left, right, runtime)? {
                Some(true) => {}
                Some(false) => return Ok(Some(false)),
                None => result = None,
            }
        }
        Ok(result)
    }
}

impl RowSet {
    /// Keeps a row. Hashed, an equal one is kept once: a repeated row changes no answer.
    fn insert(&mut self, row: &[Datum], hashed: bool, runtime: &Runtime<'_, '_>) -> SqlResult<()> {
        self.has_null |= row.iter().any(Datum::is_null);
        if !hashed {
            self.memory.charge_row(row, runtime)?;
            self.rows.push(row.to_vec());
            return Ok(());
        }
        let hash = hash_row(row);
        if self
            .table
            .find(hash, |&position| equal_rows(&self.rows[position], row))
            .is_none()
        {
            self.memory.charge_row(row, runtime)?;
            let rows = &self.rows;
            let position = rows.len();
            self.table
                .insert_unique(hash, position, |&other| hash_row(&rows[other]));
            self.rows.push(row.to_vec());
        }
        Ok(())
    }

    /// ANY or ALL over the kept rows.
    fn judge(
        &self,
        quantified: &Quantified,
        left: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<bool>> {
        if quantified.hashable() && !left.iter().any(Datum::is_null) {
            if self
                .table
                .find(hash_row(left), |&position| equal_rows(&self.rows[position], left))
                .is_some()
            {
                return Ok(Some(true));
            }
            // No row has a null, so that none of them can compare as unknown.
            if !self.has_null {
                return Ok(Some(false));
            }
        }
        // One by one where a null, in a row or on the left, may make the answer unknown.
        let mut result = Some(quantified.all);
        for row in &self.rows {
            match quantified.judge(left, row, runtime)? {
                Some(value) if value != quantified.all => return Ok(Some(value)),
                Some(_) => {}
                None => result = None,
            }
        }
        Ok(result)
    }
}
