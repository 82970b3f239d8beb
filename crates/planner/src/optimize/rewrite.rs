//! Queries rewritten into flatter ones of the same meaning, before any path is chosen.
//!
//!  1. Constants fold, conjunctions flatten, what all arms of an OR share leaves it (`disjunction`).
//!  2. Derived tables that only select, project and join move into their parent.
//!  3. Row lists `(a, b) IN ((1, 2), ..)` become joins with their distinct values, IN and EXISTS joins (`sublink`).
//!  4. Outer joins whose null-extended rows a condition rejects become inner joins.
//!  5. Equality with a constant spreads over columns that are equal (`equality`).

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{ColumnType, Datum};

use super::Planner;
use super::disjunction::{conjuncts_with_common, factor_joins, has_parts, row_list_parts};
use super::join::is_equal_to_one;
use mote_sql::bind::items_of;
use mote_sql::bind::query::{
    BoundDistinct, BoundLock, BoundQuery, BoundTarget, FromJoin, FromTree, ItemKind, QueryBody, SelectBody,
    collect_subplans, visit_deep,
};
use mote_sql::builtin::operator::comparison_of;
use mote_sql::expr::Expr;
use mote_sql::expr::simplify;

impl Planner<'_> {
    /// All rewrites of one level. The query's body is `body`, taken out of it.
    pub(super) fn rewrite(&mut self, query: &mut BoundQuery, body: &mut SelectBody) {
        self.flatten(query, body);
        self.filter_rewrites(body);
    }

    /// Smaller expressions and fewer derived tables.
    pub(super) fn flatten(&mut self, query: &mut BoundQuery, body: &mut SelectBody) {
        let folder = self.folder;
        query.for_each_expr_mut(&mut |expr| simplify(expr, folder));
        body.for_each_expr_mut(&mut |expr| simplify(expr, folder));
        self.pull_up(query, body);
    }

    /// The rewrites of FROM and WHERE, for SELECT and for modifying statements.
    pub(super) fn filter_rewrites(&mut self, body: &mut SelectBody) {
        if body.filter.iter().any(has_parts) {
            let conditions = std::mem::take(&mut body.filter).into_iter();
            body.filter = conditions.flat_map(conjuncts_with_common).collect();
        }
        body.from.iter_mut().for_each(factor_joins);
        if body.from.is_empty() {
            return;
        }
        for position in 0..body.filter.len() {
            self.row_list(position, body);
        }
        for conjunct in std::mem::take(&mut body.filter) {
            if let Some(rest) = self.sublink(conjunct, body) {
                body.filter.push(rest);
            }
        }
        let filter = std::mem::take(&mut body.filter);
        let above = Above {
            conditions: &filter,
            further: None,
        };
        body.from.iter_mut().for_each(|tree| reduce_outer(tree, &above));
        body.filter = filter;
        self.spread_equality(body);
    }

    /// Moves simple derived tables into this level.
    fn pull_up(&mut self, query: &mut BoundQuery, body: &mut SelectBody) {
        let mut position = 0;
        while position < body.from.len() {
            let mut candidates = Vec::new();
            inner_items(&body.from[position], &mut candidates);
            let movable = candidates
                .into_iter()
                .find(|item| self.is_movable(*item) && self.subplans_move(*item, query, body));
            let Some(item) = movable else {
                position += 1;
                continue;
            };
            let ItemKind::Subquery(slot) = &mut self.items[item as usize].kind else {
                continue;
            };
            let Some(inner) = slot.take() else { continue };
            self.items[item as usize].kind = ItemKind::Computed;
            let BoundQuery {
                body: inner_body,
                targets,
                ..
            } = *inner;
            let QueryBody::Select(inner_body) = inner_body else {
                continue;
            };
            let SelectBody { from, filter, .. } = *inner_body;
            let mut trees = from.into_iter();
            let first = trees.next().expect("movable queries have a FROM clause");
            let combined = trees.fold(first, |left, right| FromTree::Join {
                kind: FromJoin::Inner,
                left: Box::new(left),
                right: Box::new(right),
                condition: Vec::new(),
            });
            replace_item(&mut body.from[position], item, combined);
            let folder = self.folder;
            body.filter.extend(filter.into_iter().map(|mut expr| {
                simplify(&mut expr, folder);
                expr
            }));
            let substitute = |expr: &mut Expr| {
                expr.rewrite(&mut |inner| match inner {
                    Expr::Variable { relation, column, .. } if *relation == item => {
                        targets.get(*column as usize).map(|target| target.expr.clone())
                    }
                    _ => None,
                });
            };
            self.substitute(query, body, item, &substitute);
        }
    }

    /// Applies the substitution of an item to everything of this level, derived tables and sub-queries included.
    fn substitute(
        &mut self,
        query: &mut BoundQuery,
        body: &mut SelectBody,
        item: u16,
        substitute: &dyn Fn(&mut Expr),
    ) {
        self.visit_level(query, body, &mut |expr| substitute(expr));
        self.note_readers_of(item);
    }

    /// Visits what [`visit_deep`] visits, while the query's body is out of it.
    fn visit_level(
        &mut self,
        query: &mut BoundQuery,
        body: &mut SelectBody,
        visit: &mut dyn FnMut(&mut Expr),
    ) {
        let placeholder = QueryBody::Values {
            item: 0,
            rows: Vec::new(),
        };
        let outer = std::mem::replace(&mut query.body, placeholder);
        query.body = QueryBody::Select(Box::new(std::mem::take(body)));
        visit_deep(query, &mut self.items, &mut self.subqueries, visit);
        if let QueryBody::Select(inner) = std::mem::replace(&mut query.body, outer) {
            *body = *inner;
        }
    }

    /// Sub-queries in targets of a derived table move with it when each is read once, by a target: then they run for the
    /// rows that this level keeps, not for all rows of the derived table. A second reader would run them again, and a
    /// condition would run them for more rows than the derived table has.
    fn subplans_move(&mut self, item: u16, query: &mut BoundQuery, body: &mut SelectBody) -> bool {
        let ItemKind::Subquery(Some(inner)) = &self.items[item as usize].kind else {
            return false;
        };
        let mut called = Vec::new();
        let mut columns = Vec::new();
        for (position, target) in inner.targets.iter().enumerate() {
            if target.expr.contains_subplan() {
                collect_subplans(&target.expr, &mut called);
                columns.push(position as u16);
            }
        }
        if columns.is_empty() {
            return true;
        }
        if self.calls_volatile(&called) {
            return false;
        }
        let note = |expr: &Expr, reads: &mut Vec<u16>| {
            expr.visit(&mut |inner| match inner {
                Expr::Variable { relation, column, .. } if *relation == item && columns.contains(column) => {
                    reads.push(*column);
                }
                _ => {}
            });
        };
        let (mut by_targets, mut reads) = (Vec::new(), Vec::new());
        query
            .targets
            .iter()
            .for_each(|target| note(&target.expr, &mut by_targets));
        self.visit_level(query, body, &mut |expr| note(expr, &mut reads));
        let read = reads.len();
        reads.sort_unstable();
        reads.dedup();
        by_targets.len() == read && reads.len() == read
    }

    fn is_movable(&mut self, item: u16) -> bool {
        self.is_simple(item) && !self.outer_join_reads_beyond(item)
    }

    /// Does an outer join inside of a derived table compare with what is outside of it, through LATERAL? Its condition
    /// cannot become one among units that are joined in any order.
    fn outer_join_reads_beyond(&mut self, item: u16) -> bool {
        let ItemKind::Subquery(Some(inner)) = &self.items[item as usize].kind else {
            return false;
        };
        let QueryBody::Select(body) = &inner.body else {
            return false;
        };
        let own = items_of(&body.from);
        let mut conditions = Vec::new();
        body.from
            .iter()
            .for_each(|tree| outer_conditions(tree, &mut conditions));
        let conditions: Vec<Expr> = conditions.into_iter().cloned().collect();
        conditions
            .iter()
            .any(|condition| self.items_read(condition).iter().any(|read| !own.contains(read)))
    }

    /// A derived table that only selects, projects and joins.
    fn is_simple(&self, item: u16) -> bool {
        let ItemKind::Subquery(Some(inner)) = &self.items[item as usize].kind else {
            return false;
        };
        let QueryBody::Select(body) = &inner.body else {
            return false;
        };
        // Row locks below stay below, as in PostgreSQL. So does an order: what reads the rows may show or depend on it.
        inner.has_plain_rows()
            && inner.locks.is_empty()
            && inner.order_by.is_empty()
            && inner.distinct.is_none()
            && !body.from.is_empty()
            && !body.from.iter().any(has_semi_join)
            && inner.targets.iter().all(|target| !target.expr.is_volatile())
    }

    /// `(a, b) IN ((1, 2), (3, 4))` over one relation with an index on those columns: a join with the distinct values.
    fn row_list(&mut self, position: usize, body: &mut SelectBody) {
        let Expr::Or(arms) = &body.filter[position] else {
            return;
        };
        let Some((columns, functions, rows)) = row_list_parts(arms) else {
            return;
        };
        let finds_one = |function| {
            comparison_of(function)
                .is_some_and(|(_, operator)| is_equal_to_one(operator.left, operator.right))
        };
        if !functions.iter().copied().all(finds_one) || !self.index_would_help(&columns, body) {
            return;
        }
        let types: Vec<ColumnType> = rows[0].iter().map(Expr::ty).collect();
        let values_item = self.new_item(ItemKind::Computed);
        let variable = |item: u16, position: usize| Expr::Variable {
            relation: item,
            column: position as u16,
            ty: types[position],
            location: -1,
        };
        let targets = (0..types.len()).map(|position| BoundTarget {
            name: "".into(),
            expr: variable(values_item, position),
            origin: (mote_common::Oid::INVALID, 0),
            location: mote_grammar::ast::Location::NONE,
        });
        let mut values = BoundQuery::new(
            QueryBody::Values {
                item: values_item,
                rows,
            },
            targets.collect(),
        );
        values.distinct = Some(BoundDistinct::All);
        let item = self.derived(values);
        let conditions =
            columns
                .into_iter()
                .zip(functions)
                .enumerate()
                .map(|(position, (column, function))| Expr::Call {
                    function,
                    arguments: vec![column, variable(item, position)],
                    variadic: false,
                    ty: ColumnType::BOOL,
                    location: -1,
                });
        let conditions: Vec<Expr> = conditions.collect();
        body.filter[position] = Expr::Constant(Datum::Bool(true), ColumnType::BOOL);
        body.filter.extend(conditions);
        body.from.push(FromTree::Item(item));
    }
}

/// Conditions of outer joins, and of the joins inside of them.
fn outer_conditions<'t>(tree: &'t FromTree, conditions: &mut Vec<&'t Expr>) {
    match tree {
        FromTree::Item(_) => {}
        FromTree::Join {
            kind: FromJoin::Inner,
            left,
            right,
            ..
        } => {
            outer_conditions(left, conditions);
            outer_conditions(right, conditions);
        }
        // What stands inside of an outer join stays there, conditions of inner joins too.
        FromTree::Join { .. } => all_conditions(tree, conditions),
    }
}

fn all_conditions<'t>(tree: &'t FromTree, conditions: &mut Vec<&'t Expr>) {
    if let FromTree::Join {
        left,
        right,
        condition,
        ..
    } = tree
    {
        conditions.extend(condition);
        all_conditions(left, conditions);
        all_conditions(right, conditions);
    }
}

/// Items reached through inner joins alone (and the kept side of left joins).
fn inner_items(tree: &FromTree, items: &mut Vec<u16>) {
    match tree {
        FromTree::Item(item) => items.push(*item),
        FromTree::Join {
            kind: FromJoin::Inner,
            left,
            right,
            ..
        } => {
            inner_items(left, items);
            inner_items(right, items);
        }
        FromTree::Join {
            kind: FromJoin::Left | FromJoin::Semi | FromJoin::Anti,
            left,
            ..
        } => {
            inner_items(left, items);
        }
        FromTree::Join {
            kind: FromJoin::Right,
            right,
            ..
        } => inner_items(right, items),
        FromTree::Join {
            kind: FromJoin::Full, ..
        } => {}
    }
}

fn has_semi_join(tree: &FromTree) -> bool {
    match tree {
        FromTree::Item(_) => false,
        FromTree::Join {
            kind, left, right, ..
        } => matches!(kind, FromJoin::Semi | FromJoin::Anti) || has_semi_join(left) || has_semi_join(right),
    }
}

fn replace_item(tree: &mut FromTree, item: u16, new: FromTree) {
    fn walk(tree: &mut FromTree, item: u16, new: &mut Option<FromTree>) {
        match tree {
            FromTree::Item(number) if *number == item => {
                if let Some(new) = new.take() {
                    *tree = new;
                }
            }
            FromTree::Item(_) => {}
            FromTree::Join { left, right, .. } => {
                walk(left, item, new);
                walk(right, item, new);
            }
        }
    }
    walk(tree, item, &mut Some(new));
}

/// The conditions that a join stands under: WHERE, and those of the inner joins around it.
struct Above<'a> {
    conditions: &'a [Expr],
    further: Option<&'a Above<'a>>,
}

impl Above<'_> {
    /// True if one of them cannot be true when all columns of these items are NULL.
    fn reject(&self, items: &[u16]) -> bool {
        self.conditions
            .iter()
            .any(|condition| is_strict_on(condition, items))
            || self.further.is_some_and(|further| further.reject(items))
    }
}

/// Outer joins become inner where a condition above is false or NULL for null-extended rows. Each join is visited once,
/// under all conditions at a time: a visit for each would double at every level.
fn reduce_outer(tree: &mut FromTree, above: &Above<'_>) {
    let FromTree::Join {
        kind,
        left,
        right,
        condition,
    } = tree
    else {
        return;
    };
    let rejects = |side: &FromTree| {
        let mut items = Vec::new();
        side.for_each_item(&mut |item| items.push(item));
        above.reject(&items)
    };
    match kind {
        FromJoin::Left if rejects(right) => *kind = FromJoin::Inner,
        FromJoin::Right if rejects(left) => *kind = FromJoin::Inner,
        FromJoin::Full => match (rejects(left), rejects(right)) {
            (true, true) => *kind = FromJoin::Inner,
            (true, false) => *kind = FromJoin::Left,
            (false, true) => *kind = FromJoin::Right,
            (false, false) => {}
        },
        _ => {}
    }
    let own = Above {
        conditions: condition.as_slice(),
        further: Some(above),
    };
    let above = if *kind == FromJoin::Inner { &own } else { above };
    reduce_outer(left, above);
    reduce_outer(right, above);
}

/// Refuses to lock rows that an outer join may not have: a row without a partner there has none to lock. Asked behind
/// `reduce_outer`, as PostgreSQL does (make_outerjoininfo).
pub(super) fn refuse_missing_rows(locks: &[BoundLock], from: &[FromTree]) -> SqlResult<()> {
    if locks.is_empty() {
        return Ok(());
    }
    from.iter()
        .try_for_each(|tree| refuse_on_nullable_side(locks, tree, false))
}

fn refuse_on_nullable_side(locks: &[BoundLock], tree: &FromTree, nullable: bool) -> SqlResult<()> {
    match tree {
        FromTree::Item(item) => match locks.iter().find(|lock| nullable && lock.item == *item) {
            Some(lock) => Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                format!(
                    "{} cannot be applied to the nullable side of an outer join",
                    lock.strength.clause()
                ),
            )),
            None => Ok(()),
        },
        FromTree::Join {
            kind, left, right, ..
        } => {
            let left_missing = matches!(kind, FromJoin::Right | FromJoin::Full);
            let right_missing = matches!(kind, FromJoin::Left | FromJoin::Full);
            refuse_on_nullable_side(locks, left, nullable || left_missing)?;
            refuse_on_nullable_side(locks, right, nullable || right_missing)
        }
    }
}

/// True if the condition cannot be true when all columns of these items are NULL.
fn is_strict_on(condition: &Expr, items: &[u16]) -> bool {
    fn value_strict(expr: &Expr, items: &[u16]) -> bool {
        match expr {
            Expr::Variable { relation, .. } => items.contains(relation),
            Expr::Call {
                function, arguments, ..
            } => {
                function.signature().strict && arguments.iter().any(|argument| value_strict(argument, items))
            }
            Expr::Cast { argument, .. } => value_strict(argument, items),
            _ => false,
        }
    }
    match condition {
        Expr::IsNotNull(argument) => value_strict(argument, items),
        Expr::InList { argument, .. } => value_strict(argument, items),
        // ALL over an empty array is true whatever is compared.
        Expr::ArrayComparison {
            argument, all: false, ..
        } => value_strict(argument, items),
        Expr::ArrayComparison { .. } => false,
        Expr::And(list) => list.iter().any(|inner| is_strict_on(inner, items)),
        Expr::Or(list) => list.iter().all(|inner| is_strict_on(inner, items)),
        _ => value_strict(condition, items),
    }
}
