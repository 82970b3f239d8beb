//! Writing rows: INSERT, UPDATE, DELETE, MERGE, what they check, and what happens when somebody else wrote first.
//!
//! Read in this order: this file (what all three share; outcomes of the engine become SQL errors in
//! `mote_catalog::write_error` alone), `disclosure` (what of a row an error may show), `recheck` (EvalPlanQual), `insert` with `insert_target`, `open_table`, `generated` and `on_conflict`, `routing` with `partition` and `moving`, `update`
//! with `update_target` and `changed_keys`, `delete`, `merge` (drives these three),
//! `foreign_key`, `deferred_key`, and `after` (what happens at the end of the statement or transaction).
//!
//! Order of a write, as in PostgreSQL: lock the newest version, re-check, compute the row, NOT NULL, CHECK, the
//! partition's bound, unique keys (with the write), foreign keys (at the end of the statement). A statement is never restarted.
//! `trigger`: what BEFORE triggers do to a row, and which AFTER triggers it queues.
//!
//! Source: PostgreSQL's nodeModifyTable.c with execIndexing.c, execPartition.c, trigger.c and execMain.c (EvalPlanQual). Other than
//! there the new version and its unique keys are one call of the engine, which answers who is in the way.

pub mod after;
mod changed_keys;
mod deferred_key;
mod disclosure;
pub mod delete;
pub mod foreign_key;
mod generated;
pub mod insert;
pub mod insert_target;
pub mod merge;
mod moving;
mod on_conflict;
pub mod open_table;
pub mod partition;
pub mod recheck;
pub mod routing;
mod telling;
pub mod trigger;
pub mod update;
mod update_target;
use mote_catalog::write_error;

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{IndexId, RowId, SqlError, SqlResult, SqlState};
use mote_engine::{Table, WriteError};
use mote_sql::catalog::{Column, IndexKeyTarget, Relation};
use mote_sql::clause::Check;
use mote_sql::expr::Expr;
use mote_types::format::output_to_string;
use mote_types::{Datum, FormatSettings};

use crate::context::calls::TriggerOperation;
use crate::expr::{Expression, compile, compile_all};
use crate::row_codec::RowCodec;
use crate::runtime::Runtime;
use deferred_key::DeferrableKeys;
use disclosure::{Disclosure, may_read};
use foreign_key::ForeignKeys;
use partition::PartitionTest;
pub use telling::Telling;
use trigger::RowTriggers;

/// A relation that is written to: what all kinds of writes know about it.
pub struct Target {
    pub relation: Arc<Relation>,
    pub codec: RowCodec,
    checks: Box<[(String, Expression)]>,
    partition: Option<PartitionTest>,
    pub foreign_keys: ForeignKeys,
    pub deferrable_keys: DeferrableKeys,
    disclosure: Disclosure,
    pub telling: Telling,
}

impl Target {
    /// `checks` are bound over the relation's own columns. Errors show no column as given until
    /// [`giving`](Self::giving) or [`named_as`](Self::named_as) says which ones the statement names.
    pub fn compile(relation: &Arc<Relation>, checks: &[Check]) -> SqlResult<Target> {
        let checks = checks
            .iter()
            .map(|check| Ok((check.name.clone(), compile(&check.condition)?)))
            .collect::<SqlResult<_>>()?;
        Ok(Target {
            codec: RowCodec::new(relation),
            checks,
            partition: PartitionTest::compile(&relation.partition_levels)?,
            foreign_keys: ForeignKeys::of(relation),
            deferrable_keys: DeferrableKeys::of(relation),
            disclosure: Disclosure::new(relation, &[]),
            telling: Telling::of(relation),
            relation: Arc::clone(relation),
        })
    }

    /// Whether a write needs the whole row as datums for CHECK; NOT NULL alone can be judged on the assigned columns.
    pub fn has_checks(&self) -> bool {
        !self.checks.is_empty()
    }

    /// NOT NULL of all columns, then CHECK constraints.
    pub fn check_row(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        for (position, column) in self.relation.columns.iter().enumerate() {
            if column.not_null && !column.dropped && row[position].is_null() {
                return Err(self.null_violation(position, row, runtime));
            }
        }
        for (name, condition) in &self.checks {
            // NULL passes a CHECK, as the SQL standard wants it; WITH CHECK OPTION (`ViewChecks::check`) asks for true.
            if condition.truth(row, runtime)? == Some(false) {
                return Err(self.check_violation(name, row, runtime));
            }
        }
        Ok(())
    }

    /// Whether the written relation is a partition that does not take the row.
    pub fn leaves_partition(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        match &self.partition {
            None => Ok(false),
            Some(partition) => Ok(!partition.holds(row, runtime)?),
        }
    }

    /// What follows the write of a new row: keys that are judged later, foreign keys, AFTER triggers.
    #[inline]
    fn row_inserted(
        &self,
        id: RowId,
        new: &[Datum],
        triggers: Option<&RowTriggers>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        self.deferrable_keys.row_written(&self.relation, runtime)?;
        self.foreign_keys.row_inserted(&self.relation, id, new, runtime)?;
        match triggers {
            Some(triggers) => triggers.after(TriggerOperation::Insert, None, Some(new), runtime),
            None => Ok(()),
        }
    }

    /// The same after an update.
    fn row_updated(
        &self,
        id: RowId,
        (old, new): (&[Datum], &[Datum]),
        triggers: Option<&RowTriggers>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        self.deferrable_keys.row_written(&self.relation, runtime)?;
        self.foreign_keys
            .row_updated(&self.relation, id, old, new, runtime)?;
        match triggers {
            Some(triggers) => triggers.after(TriggerOperation::Update, Some(old), Some(new), runtime),
            None => Ok(()),
        }
    }

    /// A row that is written to a partition must be one that the partition takes.
    pub fn check_partition(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        if self.leaves_partition(row, runtime)? {
            return Err(self.partition_violation(row, runtime));
        }
        Ok(())
    }

    /// 23514: the row is not one of this partition's.
    #[cold]
    pub fn partition_violation(&self, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlError {
        let name = &self.relation.name;
        let message = format!("new row for relation \"{name}\" violates partition constraint");
        self.refused(SqlError::new(state::CHECK_VIOLATION, message), row, runtime)
    }

    #[cold]
    fn null_violation(&self, position: usize, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlError {
        let relation = &self.relation;
        let column = &relation.columns[position].name;
        let message = format!(
            "null value in column \"{column}\" of relation \"{}\" violates not-null constraint",
            relation.name
        );
        self.refused(SqlError::new(state::NOT_NULL_VIOLATION, message), row, runtime)
            .column(column.as_str())
    }

    #[cold]
    fn check_violation(&self, name: &str, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlError {
        let relation = &self.relation;
        let message = format!(
            "new row for relation \"{}\" violates check constraint \"{name}\"",
            relation.name
        );
        self.refused(SqlError::new(state::CHECK_VIOLATION, message), row, runtime)
            .constraint(name)
    }

    /// The same target of a statement that gives values to these columns.
    pub fn giving(mut self, given: &[u16]) -> Target {
        self.disclosure = Disclosure::new(&self.relation, given);
        self
    }

    /// The same target of a statement that names the table `root`, which is this one or above it.
    pub fn named_as(mut self, root: &Arc<Relation>, given: &[u16]) -> Target {
        self.disclosure = Disclosure::new(root, given);
        self
    }

    /// Adds to an error of this table what of the row may be shown, and the table's name for the client's fields.
    fn refused(&self, error: SqlError, row: &[Datum], runtime: &Runtime<'_, '_>) -> SqlError {
        with_detail(error, self.disclosure.failing_row(&self.relation, row, runtime))
            .table(self.relation.schema.as_str(), self.relation.name.as_str())
    }

    /// Turns the engine's refusal of a write into the statement's error.
    #[cold]
    pub fn write_error(&self, error: WriteError, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlError {
        match error {
            WriteError::Duplicate { index, .. } => unique_violation(&self.relation, index, row, runtime),
            other => write_error::sql_error(other, &self.relation),
        }
    }
}

fn with_detail(error: SqlError, detail: Option<String>) -> SqlError {
    match detail {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

/// The row's key in this index is another row's already.
#[cold]
pub fn unique_violation(
    relation: &Relation,
    index: IndexId,
    row: &[Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlError {
    let Some(description) = relation.indexes.iter().find(|candidate| candidate.index == index) else {
        return SqlError::internal(format!(
            "unique index {} of \"{}\" is unknown",
            index.0, relation.name
        ));
    };
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for key in &description.keys {
        match &key.target {
            IndexKeyTarget::Column(position) => {
                names.push(relation.columns[*position as usize].name.clone());
                values.push(full_text(&row[*position as usize], key.ty, runtime.format()));
            }
            IndexKeyTarget::Expression(_, expr) => {
                names.push(mote_catalog::views::text::index_key(relation, key, true));
                // The expression gave a key when the row was written; if it fails here, the message shows null rather
                // than replace the violation by another error.
                let value = compile(expr).and_then(|expression| expression.evaluate(row, runtime));
                values.push(full_text(&value.unwrap_or_default(), key.ty, runtime.format()));
            }
        }
    }
    let error = SqlError::new(
        state::UNIQUE_VIOLATION,
        format!(
            "duplicate key value violates unique constraint \"{}\"",
            description.name
        ),
    );
    let key = || {
        format!(
            "Key ({})=({}) already exists.",
            names.join(", "),
            values.join(", ")
        )
    };
    // Whoever may not read the table does not learn that the key is there under which name.
    with_detail(error, may_read(relation.oid, runtime).then(key))
        .table(relation.schema.as_str(), relation.name.as_str())
        .constraint(description.name.as_str())
}

const CHECK_OPTION_VIOLATION: SqlState = SqlState::new("44000");

/// Bytes of a value that "Failing row contains" shows.
const SHOWN_BYTES_MAX: usize = 64;

fn shown(value: &Datum, ty: mote_types::ColumnType, format: &FormatSettings) -> String {
    let mut text = full_text(value, ty, format);
    if text.len() > SHOWN_BYTES_MAX {
        let mut end = SHOWN_BYTES_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// A value as the session's settings show it, in full, whatever its length.
pub fn full_text(value: &Datum, ty: mote_types::ColumnType, format: &FormatSettings) -> String {
    if value.is_null() {
        "null".into()
    } else {
        output_to_string(value, ty, format)
    }
}

/// Conditions of the views that a statement names: WITH CHECK OPTION, and what ON CONFLICT may update.
pub struct ViewChecks {
    checks: Vec<(String, Expression)>,
    /// Positions in the table that the statement names.
    given: Box<[u16]>,
}

impl ViewChecks {
    /// `given`: the columns that the statement gives values to.
    pub fn compile(checks: &[Check], given: &[u16]) -> SqlResult<ViewChecks> {
        let compiled = checks
            .iter()
            .map(|check| Ok((check.name.clone(), compile(&check.condition)?)));
        Ok(ViewChecks {
            checks: compiled.collect::<SqlResult<_>>()?,
            given: given.into(),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// A row written to `relation` must be one of the views', which are views of `root`: that table or one above it.
    pub fn check(
        &self,
        row: &[Datum],
        relation: &Relation,
        root: &Arc<Relation>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        for (view, condition) in &self.checks {
            // Unlike CHECK, a view's condition that is NULL refuses the row: the view would not show it.
            if condition.truth(row, runtime)? != Some(true) {
                let message = format!("new row violates check option for view \"{view}\"");
                let detail = Disclosure::new(root, &self.given).failing_row(relation, row, runtime);
                return Err(with_detail(
                    SqlError::new(CHECK_OPTION_VIOLATION, message),
                    detail,
                ));
            }
        }
        Ok(())
    }
}

impl ViewChecks {
    /// ON CONFLICT DO UPDATE has locked `row`: it must be one that the views show.
    pub fn require_visible(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        for (view, condition) in &self.checks {
            if !condition.holds(row, runtime)? {
                let message = format!("conflicting row is not visible through view \"{view}\"");
                return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
            }
        }
        Ok(())
    }
}

/// A row in the columns of a table above its own: they have the same names.
#[cold]
fn in_root(row: &[Datum], relation: &Relation, root: &Relation) -> Vec<Datum> {
    if relation.oid == root.oid {
        return row.to_vec();
    }
    let named = |wanted: &Column| {
        let mut own = relation.columns.iter().zip(row);
        let found = own.find(|(column, _)| !column.dropped && column.name == wanted.name);
        found.map_or(Datum::Null, |(_, value)| value.clone())
    };
    root.columns.iter().map(named).collect()
}

/// Values by the positions of the columns that they go to.
fn compile_assignments(list: &[(u16, Expr)]) -> SqlResult<Box<[(usize, Expression)]>> {
    list.iter()
        .map(|(position, expr)| Ok((*position as usize, compile(expr)?)))
        .collect()
}

/// RETURNING lists.
pub fn compile_returning(list: &Option<Vec<Expr>>) -> SqlResult<Option<Box<[Expression]>>> {
    list.as_deref().map(compile_all).transpose()
}

/// Evaluates a RETURNING list into `out`.
pub fn project(
    list: &[Expression],
    row: &[Datum],
    runtime: &mut Runtime<'_, '_>,
    out: &mut Vec<Datum>,
) -> SqlResult<()> {
    out.clear();
    for expression in list {
        out.push(expression.evaluate(row, runtime)?);
    }
    Ok(())
}

/// The table of a target, resolved once per operator.
pub fn resolve(
    table: &mut Option<Arc<Table>>,
    relation: &Relation,
    runtime: &Runtime<'_, '_>,
) -> SqlResult<Arc<Table>> {
    if let Some(table) = table {
        return Ok(Arc::clone(table));
    }
    let found = runtime.table(relation.table)?;
    *table = Some(Arc::clone(&found));
    Ok(found)
}
