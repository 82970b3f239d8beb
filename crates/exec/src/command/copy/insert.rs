//! Rows of COPY FROM on their way into the table: the same steps as INSERT's, without a plan per row.
//!
//! Values of the copied columns are read straight into the row; only what nobody gave is computed: defaults,
//! identities, generated columns. The order is PostgreSQL's: defaults, WHERE, generated columns, NOT NULL and CHECK,
//! unique keys with the write, foreign keys at the end of the statement.

use std::sync::Arc;

use mote_common::{SqlError, SqlResult};
use mote_engine::{RowWriter, Table, WriteError};
use mote_sql::ast::{self, deparse};
use mote_sql::catalog::{CatalogView, ConstraintKind, Relation};
use mote_sql::plan::expr::{Expr, SequenceCall};
use mote_sql::plan::node::Check;
use mote_sql::{RelationExpression, bind_expression_over_relation};
use mote_types::{ColumnType, Datum, oid};

use crate::expr::{Expression, compile};
use crate::modify::Target;
use crate::query::runtime::Runtime;

/// What turns field values into stored rows.
pub(in crate::command) struct Sink {
    target: Target,
    table: Arc<Table>,
    /// Columns that no field is for, with their defaults.
    defaults: Vec<(usize, Expression)>,
    filter: Option<Expression>,
    generated: Vec<(usize, Expression)>,
    scratch: Vec<u8>,
}

impl Sink {
    /// `given`: positions of the columns that fields are for.
    pub fn new(
        relation: &Arc<Relation>,
        table: Arc<Table>,
        given: &[usize],
        filter: Option<&ast::Expr>,
        catalog: &dyn CatalogView,
    ) -> SqlResult<Sink> {
        let bind = |text: &str, purpose, target: Option<(&str, ColumnType)>| {
            bind_expression_over_relation(text, relation, purpose, target, catalog)
        };
        let mut defaults = Vec::new();
        let mut generated = Vec::new();
        for (position, column) in relation
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.dropped)
        {
            let target = Some((column.name.as_str(), column.ty));
            if let Some(text) = &column.generated {
                generated.push((
                    position,
                    compile(&bind(text, RelationExpression::Generated, target)?)?,
                ));
            } else if given.contains(&position) {
                continue;
            } else if let (Some(_), Some(sequence)) = (column.identity, column.owned_sequence) {
                defaults.push((position, compile(&next_value(sequence, column.ty))?));
            } else if let Some(text) = &column.default {
                defaults.push((
                    position,
                    compile(&bind(text, RelationExpression::Default, target)?)?,
                ));
            }
        }
        let mut checks = Vec::new();
        for constraint in &relation.constraints {
            if let ConstraintKind::Check(text) = &constraint.kind {
                let condition = bind(text, RelationExpression::Check, None)?;
                checks.push(Check {
                    name: constraint.name.clone(),
                    condition,
                });
            }
        }
        let filter = match filter {
            None => None,
            Some(filter) => {
                let text = deparse::expression(filter);
                Some(compile(&bind(&text, RelationExpression::IndexPredicate, None)?)?)
            }
        };
        Ok(Sink {
            target: Target::compile(relation, &checks)?,
            table,
            defaults,
            filter,
            generated,
            scratch: Vec::new(),
        })
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Completes, checks and stores a row. False: the WHERE condition left it out.
    pub fn insert(
        &mut self,
        row: &mut [Datum],
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        for (position, value) in &self.defaults {
            row[*position] = value.evaluate(row, runtime)?;
        }
        if let Some(filter) = &self.filter
            && !filter.holds(row, runtime)?
        {
            return Ok(false);
        }
        for (position, value) in &self.generated {
            row[*position] = value.evaluate(row, runtime)?;
        }
        self.target.check_row(row, runtime)?;
        let transaction = runtime.transaction();
        let bytes = self.target.codec.write_row(row, writer, &mut self.scratch)?;
        let id = loop {
            match transaction.insert(&self.table, bytes) {
                Ok(id) => break id,
                Err(WriteError::MustWait(ticket)) => runtime.context().wait(ticket)?,
                Err(error) => return Err(self.target.write_error(error, row, runtime)),
            }
        };
        self.target
            .foreign_keys
            .row_inserted(&self.target.relation, id, row, runtime)?;
        Ok(true)
    }
}

/// nextval of an identity column's sequence, in the column's type.
fn next_value(sequence: mote_common::Oid, ty: ColumnType) -> Expr {
    let argument = Expr::Constant(Datum::oid(sequence), ColumnType::new(oid::REGCLASS));
    let next = Expr::Sequence {
        call: SequenceCall::NextValue,
        arguments: vec![argument],
        ty: ColumnType::new(oid::INT8),
    };
    if ty.oid == oid::INT8 {
        return next;
    }
    Expr::Cast {
        argument: Box::new(next),
        from: ColumnType::new(oid::INT8),
        ty,
        explicit: false,
        location: -1,
    }
}

/// The storage of a relation that rows are copied into.
pub(super) fn table_of(
    relation: &Relation,
    context: &crate::context::StatementContext<'_>,
) -> SqlResult<Arc<Table>> {
    context
        .database
        .engine()
        .table(relation.table)
        .ok_or_else(|| SqlError::internal(format!("storage of \"{}\" does not exist", relation.name)))
}
