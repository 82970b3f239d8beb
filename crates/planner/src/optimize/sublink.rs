//! Sub-queries in conditions turned into joins.
//!
//! EXISTS, IN and NOT EXISTS become semi and anti joins, at any depth; what an IN over a plain query asks is an EXISTS. Whether a
//! semi join becomes one with the distinct keys of the query is found out with the order of joins (`join/unique`). What cannot
//! become a join stays a condition, computed row by row.

use mote_types::ColumnType;

use super::Planner;
use super::join::has_room;
use mote_sql::bind::query::{
    BoundDistinct, BoundQuery, BoundTarget, FromJoin, FromTree, ItemColumn, ItemKind, QueryBody, SelectBody,
    visit_deep,
};
use mote_sql::bind::{conjuncts, items_of};
use mote_sql::builtin::function::FunctionId;
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::catalog::IndexKeyTarget;
use mote_sql::expr::{Expr, SubPlanKind};

/// EXISTS and IN of a statement that become joins. Each makes the tree of the plan deeper by one, and who walks over that
/// needs stack for each: a server must not end of a statement with thousands of them.
const SUBLINKS_JOINED_MAX: usize = 256;

impl Planner<'_> {
    /// Turns IN and EXISTS into joins where possible; gives back what stays a condition.
    pub(super) fn sublink(&mut self, conjunct: Expr, body: &mut SelectBody) -> Option<Expr> {
        if self.sublinks_joined >= SUBLINKS_JOINED_MAX || !has_room(&body.from) {
            return Some(conjunct);
        }
        let rest = self.sublink_joined(conjunct, body);
        self.sublinks_joined += usize::from(rest.is_none());
        rest
    }

    fn sublink_joined(&mut self, conjunct: Expr, body: &mut SelectBody) -> Option<Expr> {
        let (call, negated) = match &conjunct {
            Expr::SubPlan(call) => (call, false),
            Expr::Not(inner) => match &**inner {
                Expr::SubPlan(call) => (call, true),
                _ => return Some(conjunct),
            },
            _ => return Some(conjunct),
        };
        let plan = call.plan;
        match &call.kind {
            SubPlanKind::Any {
                left,
                functions,
                negated: false,
            } if !negated => {
                let equality = |function| matches!(comparison_of(function), Some((Comparison::Equal, _)));
                if !functions.iter().copied().all(equality) || left.iter().any(Expr::contains_subplan) {
                    return Some(conjunct);
                }
                let (left, functions) = (left.clone(), functions.clone());
                if self.plain_in_join(plan, &left, &functions, body)
                    || self.in_join(plan, &left, &functions, body)
                {
                    return None;
                }
                Some(conjunct)
            }
            SubPlanKind::Exists => match self.exists_join(plan, negated, body) {
                true => None,
                false => Some(conjunct),
            },
            _ => Some(conjunct),
        }
    }

    /// `left IN (query)` over any query that does not read this level: a derived table.
    fn in_join(&mut self, plan: u16, left: &[Expr], functions: &[FunctionId], body: &mut SelectBody) -> bool {
        let own = items_of(&body.from);
        let Some(mut inner) = self.subqueries[plan as usize].take() else {
            return false;
        };
        let mut correlated = false;
        visit_deep(&mut inner, &mut self.items, &mut self.subqueries, &mut |expr| {
            correlated |=
                expr.any(&mut |e| matches!(e, Expr::Variable { relation, .. } if own.contains(relation)));
        });
        let reads_own = |expr: &Expr| {
            expr.any(&mut |e| matches!(e, Expr::Variable { relation, .. } if own.contains(relation)))
        };
        if correlated || !left.iter().any(reads_own) || !inner.locks.is_empty() {
            self.subqueries[plan as usize] = Some(inner);
            return false;
        }
        // The order says which rows LIMIT and DISTINCT ON leave.
        let chooses = inner.limit.is_some()
            || inner.offset.is_some()
            || matches!(inner.distinct, Some(BoundDistinct::On(_)));
        if !chooses {
            inner.order_by.clear();
        }
        let types: Vec<ColumnType> = inner.targets.iter().map(|target| target.expr.ty()).collect();
        let item = self.derived(inner);
        let columns = types.iter().enumerate().map(|(position, ty)| Expr::Variable {
            relation: item,
            column: position as u16,
            ty: *ty,
            location: -1,
        });
        let condition = compared(left, functions, columns).collect();
        add_late_join(body, FromJoin::Semi, FromTree::Item(item), condition);
        true
    }

    /// A derived table over a bound query.
    pub(super) fn derived(&mut self, inner: BoundQuery) -> u16 {
        let column = |target: &BoundTarget| ItemColumn {
            name: target.name.clone(),
            ty: target.expr.ty(),
            origin: target.origin,
        };
        let columns = inner.targets.iter().map(column).collect();
        let item = self.new_item(ItemKind::Subquery(Some(Box::new(inner))));
        self.items[item as usize].columns = columns;
        item
    }

    /// Are the compared columns keys of an index whose earlier keys are bound too?
    pub(super) fn index_would_help(&self, left: &[Expr], body: &SelectBody) -> bool {
        let Some(Expr::Variable { relation: item, .. }) = left.first() else {
            return false;
        };
        let ItemKind::Relation(relation) = &self.items[*item as usize].kind else {
            return false;
        };
        let compared = |column: u16| {
            left.iter().any(|expr| matches!(expr, Expr::Variable { relation, column: c, .. } if relation == item && *c == column))
        };
        let bound = |column: u16| {
            body.filter.iter().any(|condition| {
                let Expr::Call { function, arguments, .. } = condition else { return false };
                let equal = matches!(comparison_of(*function), Some((Comparison::Equal, _)));
                let is_column = |expr: &Expr| matches!(expr, Expr::Variable { relation, column: c, .. } if relation == item && *c == column);
                equal && arguments.iter().any(is_column)
            })
        };
        relation
            .indexes
            .iter()
            .filter(|index| index.valid && index.predicate.is_none())
            .any(|index| {
                let mut any = false;
                for key in &index.keys {
                    let IndexKeyTarget::Column(column) = key.target else {
                        break;
                    };
                    if compared(column) {
                        any = true;
                    } else if !bound(column) {
                        break;
                    }
                }
                any
            })
    }

    /// `left IN (query)` over a plain query: EXISTS with the comparisons among its conditions.
    fn plain_in_join(
        &mut self,
        plan: u16,
        left: &[Expr],
        functions: &[FunctionId],
        body: &mut SelectBody,
    ) -> bool {
        let Some(inner) = &mut self.subqueries[plan as usize] else {
            return false;
        };
        let chooses = matches!(inner.distinct, Some(BoundDistinct::On(_)));
        if chooses || !inner.has_plain_rows() || !inner.locks.is_empty() {
            return false;
        }
        let QueryBody::Select(select) = &mut inner.body else {
            return false;
        };
        let targets = || inner.targets.iter().map(|target| &target.expr);
        if targets().any(|target| target.is_volatile() || target.contains_subplan()) {
            return false;
        }
        let own = select.filter.len();
        select
            .filter
            .extend(compared(left, functions, targets().cloned()));
        // Equal rows are one to EXISTS, and to IN as well; their order is nothing to either.
        inner.order_by.clear();
        inner.distinct = None;
        let joined = self.exists_join(plan, false, body);
        // What became of the query meanwhile stays: derived tables have moved into it, their conditions behind these.
        if !joined
            && let Some(inner) = &mut self.subqueries[plan as usize]
            && let QueryBody::Select(select) = &mut inner.body
        {
            select.filter.drain(own..own + left.len());
        }
        joined
    }

    /// EXISTS and NOT EXISTS over a plain query whose references to this level stand in its WHERE clause. Its own EXISTS
    /// and IN become joins too: those that read nothing else of it stand beside it, the others below it.
    fn exists_join(&mut self, plan: u16, negated: bool, body: &mut SelectBody) -> bool {
        let Some(mut inner) = self.subqueries[plan as usize].take() else {
            return false;
        };
        let plain = inner.has_plain_rows() && inner.distinct.is_none() && inner.locks.is_empty();
        let QueryBody::Select(select) = &mut inner.body else {
            self.subqueries[plan as usize] = Some(inner);
            return false;
        };
        let mut select = std::mem::take(&mut **select);
        let conditions = match plain {
            true => {
                self.flatten(&mut inner, &mut select);
                self.exists_conditions(&mut select, negated, &items_of(&body.from))
            }
            false => None,
        };
        let Some(conditions) = conditions else {
            inner.body = QueryBody::Select(Box::new(select));
            self.subqueries[plan as usize] = Some(inner);
            return false;
        };
        select.filter = conditions.own;
        self.filter_rewrites(&mut select);
        let mut linking = conditions.linking;
        linking.append(&mut select.filter);
        let mut trees = std::mem::take(&mut select.from).into_iter();
        let Some(first) = trees.next() else { return false };
        let right = trees.fold(first, |left, right| FromTree::Join {
            kind: FromJoin::Inner,
            left: Box::new(left),
            right: Box::new(right),
            condition: Vec::new(),
        });
        let kind = if negated { FromJoin::Anti } else { FromJoin::Semi };
        add_late_join(body, kind, right, linking);
        for conjunct in conditions.outer {
            let rest = self.sublink(conjunct, body);
            body.filter.extend(rest);
        }
        true
    }

    /// The conditions of an EXISTS by what they read; `None` if it cannot become a join. `outer` are the items of the
    /// level around it.
    fn exists_conditions(
        &mut self,
        select: &mut SelectBody,
        negated: bool,
        outer: &[u16],
    ) -> Option<ExistsConditions> {
        let reads_outer = |expr: &Expr| {
            expr.any(&mut |e| matches!(e, Expr::Variable { relation, .. } if outer.contains(relation)))
        };
        let inner = items_of(&select.from);
        let mut elsewhere = inner.is_empty();
        for tree in &mut select.from {
            // Sub-queries in them count, too.
            tree.for_each_expr_mut(&mut |expr| {
                elsewhere |= self.items_read(expr).iter().any(|read| outer.contains(read));
            });
        }
        for item in &inner {
            elsewhere |= self
                .items_read_inside(*item)
                .iter()
                .any(|read| outer.contains(read));
        }
        if elsewhere {
            return None;
        }
        let mut conditions = ExistsConditions::default();
        for expr in select.filter.clone() {
            for conjunct in conjuncts(expr) {
                let read = self.items_read(&conjunct);
                let of = |items: &[u16]| read.iter().any(|item| items.contains(item));
                if reads_outer(&conjunct) {
                    conditions.linking.push(conjunct);
                } else if !of(outer) {
                    conditions.own.push(conjunct);
                } else if of(&inner) || negated {
                    return None; // Only a sub-query below reads this level, together with its own.
                } else {
                    conditions.outer.push(conjunct);
                }
            }
        }
        (!conditions.linking.is_empty()).then_some(conditions)
    }
}

#[derive(Default)]
struct ExistsConditions {
    /// They read both levels, and join them.
    linking: Vec<Expr>,
    own: Vec<Expr>,
    /// EXISTS and IN that read only the level around: `EXISTS (.. AND q)` is `EXISTS (..) AND q`.
    outer: Vec<Expr>,
}

/// `left = right`, pair by pair, by the functions of an IN.
fn compared<'a>(
    left: &'a [Expr],
    functions: &'a [FunctionId],
    right: impl Iterator<Item = Expr> + 'a,
) -> impl Iterator<Item = Expr> + 'a {
    let call = |((left, function), right): ((&Expr, &FunctionId), Expr)| Expr::Call {
        function: *function,
        arguments: vec![left.clone(), right],
        variadic: false,
        ty: ColumnType::BOOL,
        location: -1,
    };
    left.iter().zip(functions).zip(right).map(call)
}

/// Joins the whole FROM list with one more tree.
fn add_late_join(body: &mut SelectBody, kind: FromJoin, right: FromTree, condition: Vec<Expr>) {
    let mut trees = std::mem::take(&mut body.from).into_iter();
    let Some(first) = trees.next() else { return };
    let left = trees.fold(first, |left, right| FromTree::Join {
        kind: FromJoin::Inner,
        left: Box::new(left),
        right: Box::new(right),
        condition: Vec::new(),
    });
    body.from = vec![FromTree::Join {
        kind,
        left: Box::new(left),
        right: Box::new(right),
        condition,
    }];
}
