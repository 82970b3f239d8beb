//! WITH: plain, recursive and data-modifying common table expressions.
//!
//! A recursive query is bound base first: its columns get the base's types, and while the step is bound the name
//! means the rows of the previous round.

use std::collections::HashSet;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{ColumnType, format_type};

use super::Binder;
use super::query::{BoundCte, BoundCteStatement, BoundQuery, BoundTarget};
use super::select::Tail;
use mote_grammar::ast;
use mote_grammar::ast::{Materialization, Name, QueryBody, SetOperator, Statement};

impl Binder<'_> {
    pub(super) fn with_clause(&mut self, with: &ast::With) -> SqlResult<()> {
        let mut names = HashSet::with_capacity(with.tables.len());
        for table in &with.tables {
            if !names.insert(&*table.name) {
                let message = format!("WITH query name \"{}\" specified more than once", table.name);
                return Err(self.error(state::DUPLICATE_ALIAS, table.location, message));
            }
        }
        // CTEs do not see the FROM items of the level they belong to, but they see outer levels.
        for table in &with.tables {
            let number = self.common_table(table, with.recursive)?;
            self.cte_names.push((table.name.clone(), number));
        }
        Ok(())
    }

    fn common_table(&mut self, table: &ast::CommonTable, recursive: bool) -> SqlResult<u16> {
        let number = u16::try_from(self.ctes.len())
            .map_err(|_| SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "too many WITH queries"))?;
        let materialized = match table.materialized {
            Materialization::Default => None,
            Materialization::Always => Some(true),
            Materialization::Never => Some(false),
        };
        self.ctes.push(BoundCte {
            name: table.name.clone(),
            columns: Vec::new(),
            statement: BoundCteStatement::Pending,
            references: 0,
            materialized,
            inner_end: 0,
            levels: 0,
        });
        let around = std::mem::replace(&mut self.deepest, self.depth);
        let (statement, columns) = match &table.statement {
            Statement::Query(query) if recursive && is_recursive(query, &table.name) => {
                self.recursive_table(table, query, number)?
            }
            Statement::Query(query) => {
                let bound = self.query(query)?;
                let columns = self.cte_columns(table, &bound.targets)?;
                (BoundCteStatement::Query(Some(Box::new(bound))), columns)
            }
            Statement::Merge(_) => {
                let message = "MERGE not supported in WITH query";
                return Err(self.error(state::FEATURE_NOT_SUPPORTED, table.location, message));
            }
            modifying => {
                if self.levels.iter().any(|level| !level.items.is_empty()) || self.levels.len() > 1 {
                    let message =
                        "WITH clause containing a data-modifying statement must be at the top level";
                    return Err(self.error(state::FEATURE_NOT_SUPPORTED, table.location, message));
                }
                let bound = self.modifying_statement(modifying)?;
                let targets = bound.returning.as_deref().unwrap_or(&[]);
                let columns = self.cte_columns(table, targets)?;
                (BoundCteStatement::Modify(Some(Box::new(bound))), columns)
            }
        };
        let inner_end = self.ctes.len() as u16;
        let levels = std::mem::replace(&mut self.deepest, around) - self.depth;
        let cte = &mut self.ctes[number as usize];
        cte.statement = statement;
        cte.inner_end = inner_end;
        cte.levels = levels;
        cte.columns = columns;
        Ok(number)
    }

    fn cte_columns(
        &self,
        table: &ast::CommonTable,
        targets: &[BoundTarget],
    ) -> SqlResult<Vec<(Name, ColumnType)>> {
        if table.columns.len() > targets.len() {
            let message = format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                table.name,
                targets.len(),
                table.columns.len()
            );
            return Err(self.error(state::INVALID_COLUMN_REFERENCE, table.location, message));
        }
        let column = |(position, target): (usize, &BoundTarget)| {
            let name = table.columns.get(position).unwrap_or(&target.name).clone();
            (name, target.expr.ty())
        };
        Ok(targets.iter().enumerate().map(column).collect())
    }

    fn recursive_table(
        &mut self,
        table: &ast::CommonTable,
        query: &ast::Query,
        number: u16,
    ) -> SqlResult<(BoundCteStatement, Vec<(Name, ColumnType)>)> {
        let name = &table.name;
        // All arms but the last are the base.
        let parts = match &query.body {
            QueryBody::SetOperation { first, rest } => {
                let union = rest
                    .split_last()
                    .filter(|(step, _)| step.operator == SetOperator::Union);
                union.map(|(step, base)| (first, base, step))
            }
            _ => None,
        };
        let Some((first, base, step)) = parts else {
            let message = format!(
                "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
            );
            return Err(self.error(state::INVALID_RECURSION, table.location, message));
        };
        let above = [
            (!query.order_by.is_empty(), "ORDER BY"),
            (query.offset.is_some(), "OFFSET"),
            (query.limit.is_some(), "LIMIT"),
            (!query.locking.is_empty(), "FOR UPDATE/SHARE"),
        ];
        if let Some((_, clause)) = above.iter().find(|(present, _)| *present) {
            let message = format!("{clause} in a recursive query is not implemented");
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, table.location, message));
        }
        if is_recursive(first, name) || base.iter().any(|arm| is_recursive(&arm.query, name)) {
            let message = format!(
                "recursive reference to query \"{name}\" must not appear within its non-recursive term"
            );
            return Err(self.error(state::INVALID_RECURSION, table.location, message));
        }
        let known = self.cte_names.len();
        if let Some(with) = &query.with {
            self.with_clause(with)?;
        }
        let all = step.all;
        let base = match base {
            [] => self.query(first)?,
            base => self.set_operation(first, base, &Tail::NONE)?,
        };
        let columns = self.cte_columns(table, &base.targets)?;
        self.ctes[number as usize].columns = columns.clone();
        self.cte_names.push((name.clone(), number));
        let mut step = self.query_with(&step.query, false)?;
        self.cte_names.truncate(known);
        self.match_step(name, &base, &mut step)?;
        let pair = Box::new((base, step));
        Ok((BoundCteStatement::Recursive(Some(pair), !all), columns))
    }

    /// Runs `work`, which may not refer to a recursive query that is being bound.
    pub(super) fn without_recursion<T>(
        &mut self,
        place: &str,
        work: impl FnOnce(&mut Self) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let before = self.recursive_references.len();
        let result = work(self)?;
        // Queries that are bound by now may have been recursive inside of themselves.
        let misplaced = self.recursive_references[before..].iter().find(|(name, _)| {
            let number = self.cte_names.iter().rev().find(|(known, _)| known == name);
            number.is_some_and(|(_, number)| {
                matches!(self.ctes[*number as usize].statement, BoundCteStatement::Pending)
            })
        });
        match misplaced {
            Some((name, location)) => {
                Err(self.misplaced_recursion(name, *location, &format!("must not appear {place}")))
            }
            None => Ok(result),
        }
    }

    pub(super) fn misplaced_recursion(&self, name: &str, location: ast::Location, place: &str) -> SqlError {
        let message = format!("recursive reference to query \"{name}\" {place}");
        self.error(state::INVALID_RECURSION, location, message)
    }

    /// The step must yield exactly the base's types.
    fn match_step(&mut self, name: &str, base: &BoundQuery, step: &mut BoundQuery) -> SqlResult<()> {
        if base.targets.len() != step.targets.len() {
            let message = "each UNION query must have the same number of columns";
            let place = step
                .targets
                .first()
                .map_or(ast::Location::NONE, |target| target.location);
            return Err(self.error(state::SYNTAX_ERROR, place, message));
        }
        for position in 0..base.targets.len() {
            let wanted = base.targets[position].expr.ty();
            let found = self.type_of(&step.targets[position].expr);
            let places = [&base.targets[position], &step.targets[position]].map(|target| target.location);
            let pairs = [(wanted, places[0]), (found, places[1])];
            let common = self.common_type(&pairs, "UNION")?;
            if common.oid != wanted.oid {
                let message = format!(
                    "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                    position + 1,
                    format_type(wanted.oid, wanted.typmod),
                    format_type(common.oid, common.typmod)
                );
                return Err(self
                    .error(state::DATATYPE_MISMATCH, places[0], message)
                    .hint("Cast the output of the non-recursive term to the correct type."));
            }
            self.retype(step, position, ColumnType::new(wanted.oid), "UNION")?;
        }
        Ok(())
    }
}

/// Does a FROM clause somewhere inside name the table?
fn is_recursive(query: &ast::Query, name: &str) -> bool {
    if let Some(with) = &query.with {
        for table in &with.tables {
            if let Statement::Query(inner) = &table.statement
                && is_recursive(inner, name)
            {
                return true;
            }
        }
    }
    match &query.body {
        QueryBody::Values(_) => false,
        QueryBody::SetOperation { first, rest } => {
            is_recursive(first, name) || rest.iter().any(|arm| is_recursive(&arm.query, name))
        }
        QueryBody::Select(select) => {
            select.from.iter().any(|item| item_names(item, name))
                || select
                    .filter
                    .as_ref()
                    .is_some_and(|filter| expression_names(filter, name))
        }
    }
}

fn item_names(item: &ast::FromItem, name: &str) -> bool {
    match item {
        ast::FromItem::Relation(reference) => {
            reference.name.schema.is_none() && *reference.name.name == *name
        }
        ast::FromItem::Subquery { query, .. } => is_recursive(query, name),
        ast::FromItem::Function(_) => false,
        ast::FromItem::Join(join) => item_names(&join.left, name) || item_names(&join.right, name),
    }
}

/// Sub-queries of a WHERE clause.
fn expression_names(expr: &ast::Expr, name: &str) -> bool {
    match &expr.kind {
        ast::ExprKind::And(list) | ast::ExprKind::Or(list) => {
            list.iter().any(|expr| expression_names(expr, name))
        }
        ast::ExprKind::Not(inner) => expression_names(inner, name),
        ast::ExprKind::InQuery { query, .. }
        | ast::ExprKind::Exists(query)
        | ast::ExprKind::ScalarQuery(query)
        | ast::ExprKind::QuantifiedQuery { query, .. } => is_recursive(query, name),
        _ => false,
    }
}
