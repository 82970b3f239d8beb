//! SELECT: targets, WHERE, ORDER BY, DISTINCT, LIMIT; and VALUES. FOR UPDATE is in `locking`.
//!
//! Of several errors the first one in the order of binding is told: FROM, targets, WHERE, HAVING, ORDER BY, DISTINCT, LIMIT, GROUP BY
//! with the grouping check, windows, locks. It is PostgreSQL's order, but that there GROUP BY comes before DISTINCT, and the
//! grouping check last.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::cast::relabelled;
use mote_types::catalog::extension::HSTORE;
use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::user::is_row;
use mote_types::{ColumnType, oid};

use super::query::{
    BoundDistinct, BoundQuery, BoundTarget, FromTree, ItemColumn, ItemKind, QueryBody, SelectBody,
};
use super::scope::{Clause, Level};
use super::{Binder, type_label};
use crate::builtin::operator::exact_operator;
use crate::expr::{Expr, SortKey};
use mote_grammar::ast;
use mote_grammar::ast::{ExprKind, Name, NullsOrder, SortBy, SortDirection};

/// Columns of a target list, as in PostgreSQL.
const TARGETS_MAX: usize = 1664;

/// The clauses of a query that stand above its body.
pub(super) struct Tail<'q> {
    pub order_by: &'q [SortBy],
    pub limit: Option<&'q ast::Limit>,
    pub offset: Option<&'q ast::Expr>,
    pub locking: &'q [ast::Locking],
}

impl Tail<'static> {
    pub const NONE: Tail<'static> = Tail {
        order_by: &[],
        limit: None,
        offset: None,
        locking: &[],
    };
}

/// Values of the type have an order: ORDER BY takes them.
pub fn is_ordered(ty: ColumnType) -> bool {
    ty.is_array()
        || is_row(ty.oid)
        || ty.oid == oid::VARCHAR
        || mote_types::catalog::is_reg_type(ty.oid)
        || mote_types::catalog::user::is_enum(ty.oid)
        // Its order has operators of other names.
        || ty.oid == HSTORE
        || is_range(ty.oid)
        || is_multirange(ty.oid)
        || exact_operator("<", ty.oid, ty.oid).is_some()
        || relabelled(ty.oid).any(|other| exact_operator("<", other, other).is_some())
}

/// The place of a DISTINCT ON expression that ORDER BY does not name before others: rows that belong together would not follow
/// one another.
fn behind_another(on: &[Expr], order_by: &[SortKey]) -> Option<usize> {
    let place_of = |key: &SortKey| on.iter().position(|expr| expr.same(&key.expr));
    let places: Vec<Option<usize>> = order_by.iter().map(place_of).collect();
    let other = places.iter().position(Option::is_none)?;
    let late = places[other..].iter().copied().flatten().next();
    let named = |expr: &Expr| order_by[..other].iter().any(|key| key.expr.same(expr));
    late.or_else(|| on.iter().position(|expr| !named(expr)))
}

impl Binder<'_> {
    /// Binds a query whose outputs all have types.
    pub(super) fn query(&mut self, query: &ast::Query) -> SqlResult<BoundQuery> {
        self.query_with(query, true)
    }

    /// Binds a query; with `settle` false, literals in its target list may stay without a type for the context to decide.
    pub(super) fn query_with(&mut self, query: &ast::Query, settle: bool) -> SqlResult<BoundQuery> {
        self.deeper(|this| {
            let known = this.cte_names.len();
            if let Some(with) = &query.with {
                this.with_clause(with)?;
            }
            let tail = Tail {
                order_by: &query.order_by,
                limit: query.limit.as_ref(),
                offset: query.offset.as_ref(),
                locking: &query.locking,
            };
            let bound = match &query.body {
                ast::QueryBody::Select(select) => this.select(select, &tail, settle),
                ast::QueryBody::Values(rows) => this.values(rows, &tail, settle),
                ast::QueryBody::SetOperation { first, rest } => this.set_operation(first, rest, &tail),
            };
            this.cte_names.truncate(known);
            bound
        })
    }

    fn select(&mut self, select: &ast::Select, tail: &Tail<'_>, settle: bool) -> SqlResult<BoundQuery> {
        self.levels.push(Level::new(Clause::From));
        let result = self.select_in_level(select, tail, settle);
        self.levels.pop();
        result
    }

    fn select_in_level(
        &mut self,
        select: &ast::Select,
        tail: &Tail<'_>,
        settle: bool,
    ) -> SqlResult<BoundQuery> {
        let from = self.from_clause(&select.from)?;
        for window in &select.windows {
            if self
                .level()
                .named_windows
                .iter()
                .any(|(name, _)| *name == window.name)
            {
                let message = format!("window \"{}\" is already defined", window.name);
                return Err(self.error(state::WINDOWING_ERROR, window.specification.location, message));
            }
            let named = (window.name.clone(), window.specification.clone());
            self.level().named_windows.push(named);
        }
        let mut targets = self.in_clause(Clause::Select, |this| this.targets(&select.targets, settle))?;
        let filter = match &select.filter {
            Some(filter) => conjuncts(self.in_clause(Clause::Where, |this| this.condition(filter, "WHERE"))?),
            None => Vec::new(),
        };
        let having = match &select.having {
            Some(having) => {
                conjuncts(self.in_clause(Clause::Having, |this| this.condition(having, "HAVING"))?)
            }
            None => Vec::new(),
        };
        let order_by = self.in_clause(Clause::OrderBy, |this| this.order_by(tail.order_by, &mut targets))?;
        let group_by = self.group_by(select, &mut targets)?;
        let distinct = match &select.distinct {
            None => None,
            Some(ast::Distinct::All) => Some(BoundDistinct::All),
            Some(ast::Distinct::On(exprs)) => {
                Some(self.in_clause(Clause::DistinctOn, |this| this.distinct_on(exprs, &mut targets))?)
            }
        };
        self.check_distinct(distinct.as_ref(), select, &targets, &order_by, tail)?;
        let body = SelectBody {
            from,
            filter,
            ..SelectBody::default()
        };
        let mut query = BoundQuery::new(QueryBody::Select(Box::new(body)), targets);
        query.order_by = order_by;
        query.distinct = distinct;
        self.limits(tail, &mut query)?;
        self.grouping(select, tail.order_by, having, group_by, &mut query)?;
        self.locks(tail.locking, &mut query, Some(select))?;
        Ok(query)
    }

    /// A target list or RETURNING list.
    pub(super) fn targets(&mut self, targets: &[ast::Target], settle: bool) -> SqlResult<Vec<BoundTarget>> {
        let mut bound = Vec::with_capacity(targets.len());
        for target in targets {
            if let Some(columns) = self.star_target(&target.value)? {
                self.trace_star(target.value.location, &columns);
                for (name, expr) in columns {
                    let origin = self.origin(&expr);
                    let location = target.value.location;
                    bound.push(BoundTarget {
                        name,
                        expr,
                        origin,
                        location,
                    });
                }
                continue;
            }
            let expr = match settle {
                true => self.settled(&target.value)?,
                false => self.expression(&target.value)?,
            };
            let name = target.name.clone().or_else(|| implied_name(&target.value));
            let name = name.or_else(|| self.name_of_subquery(&target.value, &expr));
            let name = name.unwrap_or_else(|| "?column?".into());
            let origin = self.origin(&expr);
            bound.push(BoundTarget {
                name,
                expr,
                origin,
                location: target.value.start(),
            });
        }
        // The protocol counts columns in 16 bits; PostgreSQL's bound is lower.
        if bound.len() > TARGETS_MAX {
            return Err(SqlError::new(
                state::TOO_MANY_COLUMNS,
                format!("target lists can have at most {TARGETS_MAX} entries"),
            ));
        }
        Ok(bound)
    }

    /// The name that a scalar sub-query's column got by a star.
    fn name_of_subquery(&self, written: &ast::Expr, bound: &Expr) -> Option<Name> {
        match (&written.kind, bound) {
            (ExprKind::ScalarQuery(_), Expr::SubPlan(call)) => {
                let query = self.subqueries[call.plan as usize].as_ref()?;
                query.targets.first().map(|target| target.name.clone())
            }
            _ => None,
        }
    }

    /// The columns of `*`, `t.*` and `(row).*`.
    fn star_target(&mut self, expr: &ast::Expr) -> SqlResult<Option<Vec<(Name, Expr)>>> {
        match &expr.kind {
            ExprKind::Column(reference) if reference.star => {
                let qualifier = reference.parts.last().map(|name| &**name);
                self.star_columns(qualifier, expr.location).map(Some)
            }
            ExprKind::Indirection { base, steps }
                if matches!(steps.as_slice(), [ast::IndirectionStep::Star]) =>
            {
                let row = self.settled(base)?;
                match self.fields(&row, expr.location) {
                    Some(fields) => Ok(Some(fields)),
                    None => Err(SqlError::unsupported("expansion of a computed record")),
                }
            }
            _ => Ok(None),
        }
    }

    /// ORDER BY: output names first, then positions, then expressions over the input.
    pub(super) fn order_by(
        &mut self,
        sorts: &[SortBy],
        targets: &mut [BoundTarget],
    ) -> SqlResult<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(sorts.len());
        for sort in sorts {
            let expr = match self.output_reference(&sort.value, targets, "ORDER BY", true)? {
                Some(position) => {
                    let target = &mut targets[position];
                    let expr = target.expr.clone();
                    let settled = self.settle_unknown(expr, sort.value.location)?;
                    targets[position].expr = settled.clone();
                    settled
                }
                None => self.settled(&sort.value)?,
            };
            keys.push(self.sort_key(expr, sort)?);
        }
        Ok(keys)
    }

    /// The target that a bare name or an integer literal refers to.
    pub(super) fn output_reference(
        &mut self,
        expr: &ast::Expr,
        targets: &[BoundTarget],
        clause: &str,
        names_first: bool,
    ) -> SqlResult<Option<usize>> {
        if let ExprKind::Constant(constant) = &expr.kind {
            let ast::Constant::Integer(position) = constant else {
                let message = format!("non-integer constant in {clause}");
                return Err(self.error(state::SYNTAX_ERROR, expr.location, message));
            };
            let slot = usize::try_from(*position)
                .ok()
                .and_then(|position| position.checked_sub(1));
            if let Some(slot) = slot.filter(|slot| *slot < targets.len()) {
                return Ok(Some(slot));
            }
            let message = format!("{clause} position {position} is not in select list");
            return Err(self.error(state::INVALID_COLUMN_REFERENCE, expr.location, message));
        }
        let Some(name) = Self::bare_name(expr) else {
            return Ok(None);
        };
        if !names_first && self.unqualified_column(name, expr.location)?.is_some() {
            return Ok(None);
        }
        let mut found: Option<usize> = None;
        for (position, target) in targets.iter().enumerate() {
            if target.name != *name {
                continue;
            }
            match found {
                Some(known) if !targets[known].expr.same(&target.expr) => {
                    let message = format!("{clause} \"{name}\" is ambiguous");
                    return Err(self.error(state::AMBIGUOUS_COLUMN, expr.location, message));
                }
                Some(_) => {}
                None => found = Some(position),
            }
        }
        Ok(found)
    }

    /// Direction and place of NULLs; the type must have an order.
    pub(super) fn sort_key(&mut self, expr: Expr, sort: &SortBy) -> SqlResult<SortKey> {
        let descending = match &sort.direction {
            SortDirection::Default | SortDirection::Ascending => false,
            SortDirection::Descending => true,
            SortDirection::Using(operator) => match &*operator.name {
                "<" => false,
                ">" => true,
                other => {
                    let message = format!("operator {other} is not a valid ordering operator");
                    return Err(self.error(state::WRONG_OBJECT_TYPE, sort.location, message).hint(
                        "Ordering operators must be \"<\" or \">\" members of btree operator families.",
                    ));
                }
            },
        };
        let nulls_first = match sort.nulls {
            NullsOrder::Default => descending,
            NullsOrder::First => true,
            NullsOrder::Last => false,
        };
        self.check_ordering(&expr, sort.value.location)?;
        Ok(SortKey {
            expr,
            descending,
            nulls_first,
        })
    }

    fn check_ordering(&self, expr: &Expr, location: ast::Location) -> SqlResult<()> {
        let ty = expr.ty();
        if is_ordered(ty) {
            return Ok(());
        }
        let name = type_label(ty.oid);
        let message = format!("could not identify an ordering operator for type {name}");
        Err(self
            .error(state::UNDEFINED_FUNCTION, location, message)
            .hint("Use an explicit ordering operator or modify the query."))
    }

    /// Types of GROUP BY, DISTINCT and set operations need an equality.
    pub(super) fn check_equality(&self, expr: &Expr, location: ast::Location) -> SqlResult<()> {
        let ty = expr.ty().oid;
        if mote_types::catalog::has_equality(ty) {
            return Ok(());
        }
        let message = format!(
            "could not identify an equality operator for type {}",
            type_label(ty)
        );
        Err(self.error(state::UNDEFINED_FUNCTION, location, message))
    }

    fn distinct_on(&mut self, exprs: &[ast::Expr], targets: &mut [BoundTarget]) -> SqlResult<BoundDistinct> {
        let mut on = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let bound = match self.output_reference(expr, targets, "DISTINCT ON", true)? {
                Some(position) => targets[position].expr.clone(),
                None => self.settled(expr)?,
            };
            on.push(bound);
        }
        Ok(BoundDistinct::On(on))
    }

    fn check_distinct(
        &self,
        distinct: Option<&BoundDistinct>,
        select: &ast::Select,
        targets: &[BoundTarget],
        order_by: &[SortKey],
        tail: &Tail<'_>,
    ) -> SqlResult<()> {
        match distinct {
            None => Ok(()),
            Some(BoundDistinct::All) => {
                for target in targets {
                    self.check_equality(&target.expr, target.location)?;
                }
                for (key, sort) in order_by.iter().zip(tail.order_by) {
                    if !targets.iter().any(|target| target.expr.same(&key.expr)) {
                        let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                        return Err(self.error(
                            state::INVALID_COLUMN_REFERENCE,
                            Self::sort_location(sort),
                            message,
                        ));
                    }
                }
                Ok(())
            }
            Some(BoundDistinct::On(on)) => {
                let Some(place) = behind_another(on, order_by) else {
                    return Ok(());
                };
                let written = match &select.distinct {
                    Some(ast::Distinct::On(exprs)) => exprs.get(place).map(ast::Expr::start),
                    _ => None,
                };
                let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                let written = written.unwrap_or(ast::Location::NONE);
                Err(self.error(state::INVALID_COLUMN_REFERENCE, written, message))
            }
        }
    }

    /// OFFSET, LIMIT, WITH TIES: bound in the level, but free of its columns.
    pub(super) fn limits(&mut self, tail: &Tail<'_>, query: &mut BoundQuery) -> SqlResult<()> {
        if let Some(offset) = tail.offset {
            query.offset =
                Some(self.in_clause(Clause::Offset, |this| this.count_expression(offset, "OFFSET"))?);
        }
        if let Some(limit) = tail.limit {
            let expr = self.in_clause(Clause::Limit, |this| this.count_expression(&limit.count, "LIMIT"))?;
            // LIMIT ALL and LIMIT NULL: no limit.
            query.limit = (!matches!(expr, Expr::Constant(mote_types::Datum::Null, _))).then_some(expr);
            query.with_ties = limit.with_ties;
            if limit.with_ties && query.order_by.is_empty() {
                return Err(SqlError::new(
                    state::SYNTAX_ERROR,
                    "WITH TIES cannot be specified without ORDER BY clause",
                ));
            }
        }
        Ok(())
    }

    fn count_expression(&mut self, expr: &ast::Expr, construct: &str) -> SqlResult<Expr> {
        let hidden = std::mem::take(&mut self.level().items);
        let bound = self.expression(expr);
        self.level().items = hidden;
        let bound = match bound {
            Err(error) if error.state() == state::UNDEFINED_COLUMN => {
                // Nobody has such a column, or those have it that may not be named.
                self.expression(expr)?;
                let message = format!("argument of {construct} must not contain variables");
                return Err(self.error(state::INVALID_COLUMN_REFERENCE, expr.location, message));
            }
            other => other?,
        };
        self.coerce_count(bound, construct, expr.start())
    }

    /// VALUES as a query.
    fn values(&mut self, rows: &[Vec<ast::Expr>], tail: &Tail<'_>, settle: bool) -> SqlResult<BoundQuery> {
        if !tail.locking.is_empty() {
            return Err(self.not_applicable(&tail.locking[0], "VALUES", ast::Location::NONE));
        }
        self.levels.push(Level::new(Clause::Values));
        let result = self.values_in_level(rows, tail, settle);
        self.levels.pop();
        result
    }

    /// A row of VALUES with `x.*` written out as the columns of `x`.
    pub(super) fn with_stars_expanded<'r>(
        &self,
        row: &'r [ast::Expr],
    ) -> SqlResult<std::borrow::Cow<'r, [ast::Expr]>> {
        let qualifier = |expr: &ast::Expr| match &expr.kind {
            ExprKind::Column(reference) if reference.star => reference.parts.last().cloned(),
            _ => None,
        };
        if !row.iter().any(|expr| qualifier(expr).is_some()) {
            return Ok(row.into());
        }
        let mut expanded = Vec::new();
        for expr in row {
            let Some(qualifier) = qualifier(expr) else {
                expanded.push(expr.clone());
                continue;
            };
            for (name, _) in self.star_columns(Some(&qualifier), expr.location)? {
                let column = ast::ColumnReference {
                    parts: vec![qualifier.clone(), name],
                    star: false,
                };
                expanded.push(ast::Expr {
                    kind: ExprKind::Column(column),
                    location: expr.location,
                });
            }
        }
        Ok(expanded.into())
    }

    fn values_in_level(
        &mut self,
        rows: &[Vec<ast::Expr>],
        tail: &Tail<'_>,
        settle: bool,
    ) -> SqlResult<BoundQuery> {
        let mut expanded = Vec::with_capacity(rows.len());
        for row in rows {
            expanded.push(self.with_stars_expanded(row)?);
        }
        let width = expanded.first().map_or(0, |row| row.len());
        let mut bound: Vec<Vec<_>> = (0..width).map(|_| Vec::with_capacity(rows.len())).collect();
        for row in &expanded {
            if row.len() != width {
                let place = row.first().map_or(ast::Location::NONE, |expr| expr.location);
                return Err(self.error(
                    state::SYNTAX_ERROR,
                    place,
                    "VALUES lists must all be the same length",
                ));
            }
            for (column, expr) in bound.iter_mut().zip(row.iter()) {
                column.push((self.expression(expr)?, expr.location));
            }
        }
        let mut columns = Vec::with_capacity(width);
        let mut unified: Vec<Vec<Expr>> = rows.iter().map(|_| Vec::with_capacity(width)).collect();
        for (position, column) in bound.into_iter().enumerate() {
            let unknown = !settle
                && column
                    .iter()
                    .all(|(expr, _)| self.type_of(expr).oid == oid::UNKNOWN);
            let (exprs, ty) = match unknown {
                true => (
                    column.into_iter().map(|(expr, _)| expr).collect(),
                    mote_types::ColumnType::UNKNOWN,
                ),
                false => self.unify(column, "VALUES")?,
            };
            let name = format!("column{}", position + 1).into();
            columns.push(ItemColumn {
                name,
                ty,
                origin: (Oid::INVALID, 0),
            });
            for (row, expr) in unified.iter_mut().zip(exprs) {
                row.push(expr);
            }
        }
        let item = self.add_item("*VALUES*".into(), ItemKind::Computed, columns)?;
        let mut targets: Vec<BoundTarget> = (0..width)
            .map(|position| BoundTarget {
                name: format!("column{}", position + 1).into(),
                expr: self.variable(item, position, ast::Location::NONE),
                origin: (Oid::INVALID, 0),
                location: expanded[0][position].start(),
            })
            .collect();
        self.level()
            .items
            .push(super::scope::ScopeItem::item("*VALUES*".into(), item));
        let order_by = self.in_clause(Clause::OrderBy, |this| this.order_by(tail.order_by, &mut targets))?;
        let mut query = BoundQuery::new(QueryBody::Values { item, rows: unified }, targets);
        query.order_by = order_by;
        self.limits(tail, &mut query)?;
        Ok(query)
    }
}

/// Takes AND apart.
pub fn conjuncts(expr: Expr) -> Vec<Expr> {
    fn take_apart(expr: Expr, found: &mut Vec<Expr>) {
        match expr {
            Expr::And(list) => list.into_iter().for_each(|part| take_apart(part, found)),
            Expr::Constant(mote_types::Datum::Bool(true), _) => {}
            other => found.push(other),
        }
    }
    let mut found = Vec::new();
    take_apart(expr, &mut found);
    found
}

/// All the items of FROM trees.
pub fn items_of(trees: &[FromTree]) -> Vec<u16> {
    let mut items = Vec::new();
    trees
        .iter()
        .for_each(|tree| tree.for_each_item(&mut |item| items.push(item)));
    items
}

/// The name PostgreSQL gives an output column without an alias.
pub fn implied_name(expr: &ast::Expr) -> Option<Name> {
    implied_name_with_strength(expr).map(|(name, _)| name)
}

/// Strength 1 names (of types) give way to the name of what is inside a cast.
fn implied_name_with_strength(expr: &ast::Expr) -> Option<(Name, u8)> {
    let strong = |name: &str| Some((name.into(), 2));
    match &expr.kind {
        ExprKind::Column(reference) => reference.parts.last().map(|name| (name.clone(), 2)),
        ExprKind::Indirection { base, steps } => {
            let field = steps.iter().rev().find_map(|step| match step {
                ast::IndirectionStep::Field(name) => Some(name.clone()),
                _ => None,
            });
            match field {
                Some(name) => Some((name, 2)),
                None => implied_name_with_strength(base),
            }
        }
        ExprKind::Function(call) => strong(call.name.last()),
        ExprKind::Cast { operand, target } => match implied_name_with_strength(operand) {
            Some(found @ (_, 2)) => Some(found),
            _ => Some((target.name.last().into(), 1)),
        },
        ExprKind::Collate { operand, .. } => implied_name_with_strength(operand),
        ExprKind::Case { otherwise, .. } => {
            let inner = otherwise.as_deref().and_then(implied_name_with_strength);
            match inner {
                Some(found @ (_, 2)) => Some(found),
                _ => Some(("case".into(), 1)),
            }
        }
        ExprKind::Coalesce(_) => strong("coalesce"),
        ExprKind::Greatest(_) => strong("greatest"),
        ExprKind::Least(_) => strong("least"),
        ExprKind::NullIf(..) => strong("nullif"),
        ExprKind::Array(_) | ExprKind::ArrayQuery(_) => strong("array"),
        ExprKind::Row {
            form: ast::RowForm::Explicit,
            ..
        } => strong("row"),
        ExprKind::Row { .. } => strong("row"),
        ExprKind::Exists(_) => strong("exists"),
        ExprKind::Grouping(_) => strong("grouping"),
        ExprKind::ScalarQuery(query) => {
            let mut query = &**query;
            loop {
                match &query.body {
                    ast::QueryBody::Select(select) => {
                        let target = select.targets.first()?;
                        let named = target.name.clone().map(|name| (name, 2));
                        return match &target.value.kind {
                            // The first of its columns, whose name is not known here.
                            ExprKind::Column(reference) if reference.star => named,
                            _ => named.or_else(|| implied_name_with_strength(&target.value)),
                        };
                    }
                    ast::QueryBody::SetOperation { first, .. } => query = first,
                    ast::QueryBody::Values(_) => return strong("column1"),
                }
            }
        }
        ExprKind::SqlValue { function, .. } => strong(match function {
            ast::SqlValueFunction::CurrentDate => "current_date",
            ast::SqlValueFunction::CurrentTime => "current_time",
            ast::SqlValueFunction::CurrentTimestamp => "current_timestamp",
            ast::SqlValueFunction::LocalTime => "localtime",
            ast::SqlValueFunction::LocalTimestamp => "localtimestamp",
            ast::SqlValueFunction::CurrentRole => "current_role",
            ast::SqlValueFunction::CurrentUser => "current_user",
            ast::SqlValueFunction::User => "user",
            ast::SqlValueFunction::SessionUser => "session_user",
            ast::SqlValueFunction::CurrentCatalog => "current_catalog",
            ast::SqlValueFunction::CurrentSchema => "current_schema",
        }),
        _ => None,
    }
}
