//! Rows of COPY FROM on their way into the table: the same steps as INSERT's, without a plan per row.
//!
//! Values of the copied columns are read straight into the row; only what nobody gave is computed: defaults,
//! identities, generated columns. The order is PostgreSQL's: defaults, WHERE, generated columns, NOT NULL and CHECK,
//! unique keys with the write, foreign keys at the end of the statement.

use std::collections::HashSet;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{RowId, SqlError, SqlResult};
use mote_engine::{RowBuffers, RowWriter, Table};
use mote_grammar::ast;
use mote_grammar::ast::deparse;
use mote_sql::catalog::{CatalogView, Relation};
use mote_sql::expr::{Expr, SequenceCall};
use mote_sql::{
    RelationExpression, bind_checks, bind_expression_over_relation, bind_insert_triggers, column_default,
};
use mote_types::{ColumnType, Datum, oid};

use mote_executor::context::calls::TriggerOperation;
use mote_executor::expr::{Expression, compile};
use mote_executor::node::modify::insert_target::InsertTarget;
use mote_executor::node::modify::open_table::OpenTable;
use mote_executor::node::modify::routing::{Router, Routing};
use mote_executor::node::modify::trigger::{RowTriggers, Stage, StatementTriggers};
use mote_executor::node::modify::{Target, after};
use mote_executor::runtime::Runtime;

/// What turns field values into stored rows.
pub struct Sink {
    into: InsertTarget,
    table: Arc<Table>,
    /// Columns that no field is for, with their defaults.
    defaults: Vec<(usize, Expression)>,
    filter: Option<Expression>,
    scratch: Vec<u8>,
    /// No row conflicts: stays empty.
    touched: HashSet<RowId>,
    /// Of a partitioned table.
    router: Option<Router>,
    /// The row on its way to a partition; the caller's is used again for the next one.
    routed: Vec<Datum>,
    buffers: RowBuffers,
    statement_triggers: StatementTriggers,
    stage: Stage,
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
        // Bound once; a row costs what evaluating costs.
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
            // A field, even an empty one, stands in the way of the default.
            } else if given.contains(&position) {
                continue;
            // Identity ALWAYS does not keep COPY from giving values, as it keeps INSERT.
            } else if let (Some(_), Some(sequence)) = (column.identity, column.owned_sequence) {
                defaults.push((position, compile(&next_value(sequence, column.ty))?));
            } else if let Some(text) = column_default(column, catalog) {
                defaults.push((
                    position,
                    compile(&bind(&text, RelationExpression::Default, target)?)?,
                ));
            }
        }
        let checks = bind_checks(relation, catalog)?;
        let filter = match filter {
            None => None,
            Some(filter) => {
                let text = deparse::expression(filter);
                let bound = bind(&text, RelationExpression::CopyFilter, None)?;
                refuse_generated(&bound, relation)?;
                Some(compile(&bound)?)
            }
        };
        let columns: Vec<u16> = given.iter().map(|&position| position as u16).collect();
        let target = Target::compile(relation, &checks)?.giving(&columns);
        Ok(Sink {
            into: InsertTarget::new(target, generated.into()),
            table,
            defaults,
            filter,
            scratch: Vec::new(),
            touched: HashSet::new(),
            router: Routing::of(relation, &columns, None)?.as_ref().map(Router::new),
            routed: Vec::new(),
            buffers: RowBuffers::default(),
            statement_triggers: StatementTriggers::compile(relation, &[], &[TriggerOperation::Insert])?,
            stage: Stage::default(),
        })
    }

    /// Rows fire the table's triggers: not where they are only moved.
    pub fn with_triggers(mut self, relation: &Arc<Relation>, catalog: &dyn CatalogView) -> SqlResult<Sink> {
        if relation.triggers.is_empty() {
            return Ok(self);
        }
        let triggers = bind_insert_triggers(relation, catalog)?;
        let operations = &[TriggerOperation::Insert];
        self.statement_triggers = StatementTriggers::compile(relation, &triggers.statement, operations)?;
        self.into = self.into.firing(RowTriggers::compile(relation, &triggers.row)?);
        Ok(self)
    }

    /// Before the first row.
    pub fn begin(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        self.statement_triggers.begin(&mut self.stage, runtime)
    }

    /// After the last row: what was put off to the end of the statement is done.
    pub fn end(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        // AFTER statement triggers, then row events and foreign keys that were put off to here.
        self.statement_triggers.end(&mut self.stage, runtime)?;
        after::end_statement(runtime)
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Completes, checks and stores a row. False: the WHERE condition, or a trigger, left it out.
    pub fn insert(
        &mut self,
        row: &mut Vec<Datum>,
        writer: &mut RowWriter<'_>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        // For each row anew: a default may be volatile.
        for (position, value) in &self.defaults {
            row[*position] = value.evaluate(row, runtime)?;
        }
        // Before the row is routed, and before BEFORE triggers see it.
        if let Some(filter) = &self.filter
            && !filter.holds(row, runtime)?
        {
            return Ok(false);
        }
        let Some(router) = &mut self.router else {
            // Generated columns, BEFORE triggers, NOT NULL and CHECK.
            if !self.into.complete(row, runtime)? {
                return Ok(false);
            }
            let mut open = OpenTable {
                table: &self.table,
                writer,
                scratch: &mut self.scratch,
                touched: &mut self.touched,
                updated: false,
            };
            return self.into.insert(&mut open, row, runtime);
        };
        // A partition may order its columns otherwise: the row is changed on its way.
        self.routed.clear();
        self.routed.extend_from_slice(row);
        let opened = router.route(&mut self.routed, runtime)?;
        let (leaf, table) = (Arc::clone(&opened.leaf), Arc::clone(&opened.table));
        if !leaf.into.complete(&mut self.routed, runtime)? {
            return Ok(false);
        }
        // Each row may go to another partition, with a layout of its own; the buffers go along.
        let mut writer = RowWriter::with_buffers(table.newest_layout(), std::mem::take(&mut self.buffers));
        let mut open = OpenTable {
            table: &table,
            writer: &mut writer,
            scratch: &mut self.scratch,
            touched: &mut self.touched,
            updated: false,
        };
        let inserted = leaf.into.insert(&mut open, &mut self.routed, runtime);
        self.buffers = writer.into_buffers();
        inserted
    }
}

/// nextval of an identity column's sequence, in the column's type.
fn next_value(sequence: mote_common::Oid, ty: ColumnType) -> Expr {
    let argument = Expr::Constant(Datum::oid(sequence), ColumnType::new(oid::REGCLASS));
    let next = Expr::Sequence {
        call: SequenceCall::NextIdentity,
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
pub fn table_of(
    relation: &Relation,
    context: &mote_executor::context::StatementContext<'_>,
) -> SqlResult<Arc<Table>> {
    context
        .database
        .engine()
        .table(relation.table)
        .ok_or_else(|| SqlError::internal(format!("storage of \"{}\" does not exist", relation.name)))
}

/// The filter is asked before generated columns are computed.
fn refuse_generated(filter: &Expr, relation: &Relation) -> SqlResult<()> {
    let mut generated = None;
    filter.any(&mut |inner| {
        if let Expr::Column { index, .. } = inner {
            let column = relation.columns.get(*index as usize);
            generated = column.filter(|column| column.generated.is_some());
        }
        generated.is_some()
    });
    match generated {
        None => Ok(()),
        Some(column) => {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            let detail = format!("Column \"{}\" is a generated column.", column.name);
            Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message).detail(detail))
        }
    }
}
