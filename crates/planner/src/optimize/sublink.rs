//! Sub-queries in conditions turned into joins.
//!
//! `IN (query)` becomes a join with the distinct rows of the query where that lets an index of the outer relation be
//! used, else a semi join; EXISTS, NOT EXISTS and an IN that reads the level around it become semi and anti joins, at any
//! depth. What cannot become a join stays a condition, computed row by row.

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
use mote_sql::expr::{Expr, SubPlanKind, simplify};

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
                if self.in_join(plan, &left, &functions, body)
                    || self.correlated_in_join(plan, &left, &functions, body)
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

    /// `left IN (query)`: the query must not read this level.
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
        let distinct = self.index_would_help(left, body);
        // The order says which rows LIMIT and DISTINCT ON leave.
        let chooses = inner.limit.is_some()
            || inner.offset.is_some()
            || matches!(inner.distinct, Some(BoundDistinct::On(_)));
        if !chooses {
            inner.order_by.clear();
        }
        let types: Vec<ColumnType> = inner.targets.iter().map(|target| target.expr.ty()).collect();
        let item = self.derived(inner, distinct);
        let condition =
            left.iter()
                .zip(functions)
                .zip(&types)
                .enumerate()
                .map(|(position, ((left, function), ty))| {
                    let right = Expr::Variable {
                        relation: item,
                        column: position as u16,
                        ty: *ty,
                        location: -1,
                    };
                    Expr::Call {
                        function: *function,
                        arguments: vec![left.clone(), right],
                        variadic: false,
                        ty: ColumnType::BOOL,
                        location: -1,
                    }
                });
        let condition: Vec<Expr> = condition.collect();
        if distinct {
            add_item(body, item);
            body.filter.extend(condition);
        } else {
            add_late_join(body, FromJoin::Semi, FromTree::Item(item), condition);
        }
        true
    }

    /// A derived table over a bound query, its duplicate rows dropped if asked.
    pub(super) fn derived(&mut self, mut inner: BoundQuery, distinct: bool) -> u16 {
        let columns = |query: &BoundQuery| {
            let column = |target: &BoundTarget| ItemColumn {
                name: target.name.clone(),
                ty: target.expr.ty(),
                origin: target.origin,
            };
            query.targets.iter().map(column).collect::<Vec<_>>()
        };
        if distinct {
            let plain = inner.has_plain_rows() && inner.distinct.is_none();
            if plain {
                inner.distinct = Some(BoundDistinct::All);
            } else if !matches!(inner.distinct, Some(BoundDistinct::All)) {
                let own = columns(&inner);
                let types: Vec<_> = inner.targets.iter().map(|target| target.expr.ty()).collect();
                let item = self.new_item(ItemKind::Subquery(Some(Box::new(inner))));
                self.items[item as usize].columns = own;
                let targets = types.iter().enumerate().map(|(position, ty)| BoundTarget {
                    name: "".into(),
                    expr: Expr::Variable {
                        relation: item,
                        column: position as u16,
                        ty: *ty,
                        location: -1,
                    },
                    origin: (mote_common::Oid::INVALID, 0),
                    location: mote_grammar::ast::Location::NONE,
                });
                let targets = targets.collect();
                let body = SelectBody {
                    from: vec![FromTree::Item(item)],
                    ..SelectBody::default()
                };
                inner = BoundQuery::new(QueryBody::Select(Box::new(body)), targets);
                inner.distinct = Some(BoundDistinct::All);
            }
        }
        let own = columns(&inner);
        let item = self.new_item(ItemKind::Subquery(Some(Box::new(inner))));
        self.items[item as usize].columns = own;
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

    /// `left IN (query)` over a plain query that reads this level: EXISTS with the comparisons among its conditions.
    fn correlated_in_join(
        &mut self,
        plan: u16,
        left: &[Expr],
        functions: &[FunctionId],
        body: &mut SelectBody,
    ) -> bool {
        let Some(inner) = &self.subqueries[plan as usize] else {
            return false;
        };
        let kept = inner.clone();
        let mut compared = inner.clone();
        let QueryBody::Select(select) = &mut compared.body else {
            return false;
        };
        let targets = || kept.targets.iter().map(|target| &target.expr);
        if targets().any(|target| target.is_volatile() || target.contains_subplan()) {
            return false;
        }
        let comparisons = left
            .iter()
            .zip(functions)
            .zip(targets())
            .map(|((left, function), right)| Expr::Call {
                function: *function,
                arguments: vec![left.clone(), right.clone()],
                variadic: false,
                ty: ColumnType::BOOL,
                location: -1,
            });
        select.filter.extend(comparisons);
        // Equal rows are one to EXISTS, and their order is nothing.
        compared.order_by.clear();
        if matches!(compared.distinct, Some(BoundDistinct::All)) {
            compared.distinct = None;
        }
        self.subqueries[plan as usize] = Some(compared);
        let joined = self.exists_join(plan, false, body);
        if !joined {
            self.subqueries[plan as usize] = Some(kept);
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
        let conditions = match &mut inner.body {
            QueryBody::Select(select) if plain => {
                self.exists_conditions(select, negated, &items_of(&body.from))
            }
            _ => None,
        };
        let (Some(conditions), QueryBody::Select(select)) = (conditions, &mut inner.body) else {
            self.subqueries[plan as usize] = Some(inner);
            return false;
        };
        select.filter.clear();
        for conjunct in conditions.own {
            let rest = self.sublink(conjunct, select);
            select.filter.extend(rest);
        }
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
        let folder = self.folder;
        let mut conditions = ExistsConditions::default();
        for mut expr in select.filter.clone() {
            simplify(&mut expr, folder);
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

/// Joins an item with the rows of a FROM list, below the EXISTS and IN that stand on top of it: they keep rows of their left
/// side by those alone, and only the top ones take part in the order of joins.
fn add_item(body: &mut SelectBody, item: u16) {
    let [FromTree::Join { kind, .. }] = body.from.as_slice() else {
        body.from.push(FromTree::Item(item));
        return;
    };
    if !matches!(kind, FromJoin::Semi | FromJoin::Anti) {
        body.from.push(FromTree::Item(item));
        return;
    }
    let mut at = &mut body.from[0];
    while let FromTree::Join {
        kind: FromJoin::Semi | FromJoin::Anti,
        left,
        ..
    } = at
    {
        at = left;
    }
    let below = std::mem::replace(at, FromTree::Item(item));
    *at = FromTree::Join {
        kind: FromJoin::Inner,
        left: Box::new(below),
        right: Box::new(FromTree::Item(item)),
        condition: Vec::new(),
    };
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
