//! From a plan's nodes to the tree that is shown.
//!
//! Sub-plans stand below the node whose expressions call them; WITH queries, and sub-queries that are computed once,
//! below the root of the tree that reads them, as in PostgreSQL.

use std::cell::RefCell;

use mote_sql::catalog::Relation;
use mote_sql::clause::ConflictAction;
use mote_sql::expr::{Expr, SubPlanKind};

use crate::plan::QueryPlan;
use crate::plan::measured::{Measurement, Measurements, shown_with_input};
use crate::plan::node::*;

use super::ExplainOptions;
use super::estimate::{Estimate, estimate};
use super::expression::{Names, all_of, index_condition, shown, sort_keys};
use super::names::{Style, column_names};
use super::parameters::Parameters;
use super::shown::{Detail, Line, Place, Shown, Value};
use super::title::title;

pub(super) fn describe(plan: &QueryPlan, options: &ExplainOptions, run: Option<&Measurements>) -> Shown {
    let mut relations = 0;
    count_relations(&plan.root, &mut relations);
    plan.ctes
        .iter()
        .for_each(|cte| count_relations(&cte.node, &mut relations));
    plan.subplans
        .iter()
        .for_each(|node| count_relations(node, &mut relations));
    let describer = Describer {
        plan,
        verbose: options.verbose,
        run,
        style: match options.verbose || relations > 1 {
            true => Style::Qualified,
            false => Style::Bare,
        },
        output: match relations > 1 {
            true => Style::Qualified,
            false => Style::Bare,
        },
        placed: RefCell::new(vec![false; plan.subplans.len()]),
        parameters: Parameters::of(plan),
    };
    let mut root = describer.tree(&plan.root, Place::Root);
    let ctes = plan.ctes.iter().map(|cte| {
        let place = Place::InitPlan(format!("CTE {}", cte.name));
        describer.tree(&cte.node, place)
    });
    root.inputs.splice(0..0, ctes.collect::<Vec<_>>());
    root
}

fn count_relations(node: &Node, count: &mut usize) {
    *count += usize::from(matches!(
        node,
        Node::SeqScan(_)
            | Node::IndexScan(_)
            | Node::IndexUnion(_)
            | Node::VirtualScan(_)
            | Node::FunctionScan(_)
            | Node::Values { .. }
            | Node::CteScan { .. }
            | Node::Insert(_)
    ));
    // All its inputs read one relation.
    if matches!(node, Node::IndexUnion(_)) {
        return;
    }
    node.for_each_input(&mut |input| count_relations(input, count));
}

pub(super) struct Describer<'a> {
    pub plan: &'a QueryPlan,
    pub verbose: bool,
    run: Option<&'a Measurements>,
    /// Of conditions and keys.
    style: Style,
    /// Of the rows that VERBOSE shows.
    output: Style,
    /// Sub-plans that have their place already.
    placed: RefCell<Vec<bool>>,
    parameters: Parameters,
}

/// A tree of nodes under way.
struct Tree {
    /// The sub-plans that each node calls, in the order in which nodes are visited.
    calls: std::vec::IntoIter<Vec<Called>>,
    /// Those for its root.
    once: Vec<u16>,
}

#[derive(Clone, Copy)]
struct Called {
    plan: u16,
    /// Computed once: it reads nothing of the query around it.
    once: bool,
}

/// What expressions of nodes can be visited through, alas, is for rewriting: hence `&mut`, on a copy.
fn calls_of(node: &mut Node, calls: &mut Vec<Vec<Called>>) {
    let mut own = Vec::new();
    node.for_each_expr_mut(&mut |expr| {
        expr.visit(&mut |inner| {
            if let Expr::SubPlan(call) = inner {
                own.push(Called {
                    plan: call.plan,
                    once: matches!(call.kind, SubPlanKind::Scalar) && call.bindings.is_empty(),
                });
            }
        });
    });
    calls.push(own);
    node.for_each_input_mut(&mut |input| calls_of(input, calls));
}

impl Describer<'_> {
    fn tree(&self, node: &Node, place: Place) -> Shown {
        let mut calls = Vec::new();
        if !self.plan.subplans.is_empty() {
            calls_of(&mut node.clone(), &mut calls);
        }
        let mut tree = Tree {
            calls: calls.into_iter(),
            once: Vec::new(),
        };
        let mut root = self.node(&mut tree, node, place);
        let once = tree.once.iter().map(|&plan| {
            let place = Place::InitPlan(format!(
                "InitPlan {} (returns {})",
                plan + 1,
                self.parameters.result_of(plan)
            ));
            self.tree(&self.plan.subplans[plan as usize], place)
        });
        root.inputs.splice(0..0, once.collect::<Vec<_>>());
        root
    }

    fn node(&self, tree: &mut Tree, outermost: &Node, place: Place) -> Shown {
        let mut ran = None;
        let mut filters = Vec::new();
        let mut called = Vec::new();
        let mut node = outermost;
        loop {
            called.extend(tree.calls.next().unwrap_or_default());
            match node {
                Node::Measured(measured) => {
                    ran = self
                        .run
                        .and_then(|run| run.nodes.get(measured.number as usize))
                        .copied();
                    node = &measured.input;
                    continue;
                }
                Node::Filter { input, condition } if shown_with_input(node) => {
                    filters.push(self.shown(condition, &self.names(input)));
                    node = input;
                }
                Node::Project { input, .. } => node = input,
                _ => break,
            }
        }
        let mut below = Vec::new();
        node.for_each_input(&mut |input| below.push(input));
        let places = (0..below.len()).map(|position| match (node, position) {
            (Node::Append(_), _) => Place::Member,
            (_, 0) => Place::Outer,
            _ => Place::Inner,
        });
        let mut inputs: Vec<Shown> = (below.iter().zip(places))
            .map(|(input, place)| self.node(tree, input, place))
            .collect();
        let expected: Vec<Estimate> = inputs.iter().map(|input| input.estimate).collect();
        for call in called {
            if !std::mem::replace(&mut self.placed.borrow_mut()[call.plan as usize], true) {
                match call.once {
                    true => tree.once.push(call.plan),
                    false => {
                        let place = Place::SubPlan(format!("SubPlan {}", call.plan + 1));
                        inputs.push(self.tree(&self.plan.subplans[call.plan as usize], place));
                    }
                }
            }
        }
        let (title, attributes) = title(self.plan, self.verbose, node);
        let mut details = Details {
            ran,
            list: Vec::new(),
        };
        if self.verbose {
            self.output(outermost, node, &place, &mut details);
        }
        self.details(node, filters, &mut details);
        Shown {
            title,
            attributes,
            estimate: estimate(node, &expected),
            ran: self.run.map(|_| ran.unwrap_or_default()),
            details: details.list,
            inputs,
            place,
        }
    }

    fn names(&self, node: &Node) -> Vec<String> {
        column_names(node, self.style, &self.parameters)
    }

    fn with<'n>(&'n self, columns: &'n [String]) -> Names<'n> {
        Names {
            columns,
            parameters: &self.parameters,
        }
    }

    fn shown(&self, expr: &Expr, columns: &[String]) -> String {
        shown(expr, self.with(columns))
    }

    /// Of a scan's own row: its conditions name no table, but under VERBOSE.
    fn own_names(&self, node: &Node) -> Vec<String> {
        column_names(
            node,
            if self.verbose {
                Style::Qualified
            } else {
                Style::Bare
            },
            &self.parameters,
        )
    }

    fn output(&self, outermost: &Node, node: &Node, place: &Place, details: &mut Details) {
        if matches!(
            node,
            Node::Insert(_) | Node::Update(_) | Node::Delete(_) | Node::Merge(_) | Node::Append(_)
        ) {
            return;
        }
        let mut names = column_names(outermost, self.output, &self.parameters);
        if *place == Place::Root {
            names.truncate(self.plan.visible_columns as usize);
        }
        if !names.is_empty() {
            details.list.push(Detail::texts("Output", names));
        }
    }

    fn details(&self, node: &Node, filters: Vec<String>, details: &mut Details) {
        let mut below: Vec<Vec<String>> = Vec::new();
        node.for_each_input(&mut |input| below.push(self.names(input)));
        let input = below.first().map_or(&[] as &[String], Vec::as_slice);
        let own = |filter: &Option<Expr>| {
            let names = self.own_names(node);
            filter.as_ref().map(|filter| self.shown(filter, &names))
        };
        let mut filter = (!filters.is_empty()).then(|| all_of(filters));
        match node {
            Node::Empty { .. } => details.text("One-Time Filter", "false"),
            Node::Result {
                filter: Some(filter), ..
            } => details.text("One-Time Filter", self.shown(filter, &[])),
            Node::SeqScan(scan) => filter = own(&scan.filter),
            Node::VirtualScan(scan) => filter = own(&scan.filter),
            Node::FunctionScan(scan) => filter = own(&scan.filter),
            Node::CteScan {
                filter: own_filter, ..
            } => filter = own(own_filter),
            Node::IndexScan(scan) => {
                let condition = index_condition(scan, self.with(&[]));
                if !condition.is_empty() {
                    details.text("Index Cond", condition);
                }
                filter = own(&scan.filter);
            }
            Node::Filter { condition, .. } => filter = Some(self.shown(condition, input)),
            Node::NestedLoop(join) => details.join_filter(&join.condition, self.with(&below.concat())),
            Node::HashJoin(join) => {
                let right = below.get(1).map_or(&[] as &[String], Vec::as_slice);
                let pair =
                    |(a, b): &(Expr, Expr)| format!("({} = {})", self.shown(a, input), self.shown(b, right));
                details.text("Hash Cond", all_of(join.keys.iter().map(pair).collect()));
                details.join_filter(&join.condition, self.with(&below.concat()));
            }
            Node::Sort { keys, .. } => {
                details
                    .list
                    .push(Detail::texts("Sort Key", sort_keys(keys, self.with(input))));
                details.sort_method();
            }
            Node::Append(append) if !append.merge.is_empty() => {
                details.list.push(Detail::texts(
                    "Sort Key",
                    sort_keys(&append.merge, self.with(input)),
                ));
            }
            Node::Update(update) if update.is_over_members() => {
                let targets = update.targets.iter().map(|target| &*target.relation);
                details.members("Update", &update.relation, targets);
            }
            Node::Delete(delete) if delete.is_over_members() => {
                let targets = delete.targets.iter().map(|target| &*target.relation);
                details.members("Delete", &delete.relation, targets);
            }
            Node::Merge(merge) if merge.is_over_members() => {
                let targets = merge.targets.iter().map(|target| &*target.relation);
                details.members("Merge", &merge.relation, targets);
            }
            Node::Distinct { on: None, .. } if !input.is_empty() => {
                details.list.push(Detail::texts("Group Key", input.to_vec()))
            }
            Node::Aggregate(aggregate) if !aggregate.group_by.is_empty() => {
                let keys = aggregate.group_by.iter().map(|key| self.shown(key, input));
                details.list.push(Detail::texts("Group Key", keys.collect()));
            }
            Node::Insert(insert) => details.conflict(insert),
            _ => {}
        }
        if let Some(filter) = filter {
            details.text("Filter", filter);
            details.removed("Rows Removed by Filter", |ran| ran.observed.removed_by_filter);
        }
        if matches!(node, Node::HashJoin(_) | Node::Distinct { on: None, .. })
            || matches!(node, Node::Aggregate(aggregate) if !aggregate.group_by.is_empty())
        {
            details.memory();
        }
    }
}

/// The properties of one node.
struct Details {
    ran: Option<Measurement>,
    list: Vec<Detail>,
}

impl Details {
    fn text(&mut self, name: &'static str, text: impl Into<String>) {
        self.list.push(Detail::text(name, text));
    }

    fn join_filter(&mut self, condition: &Option<Expr>, names: Names<'_>) {
        if let Some(condition) = condition {
            self.text("Join Filter", shown(condition, names));
            self.removed("Rows Removed by Join Filter", |ran| {
                ran.observed.removed_by_join_filter
            });
        }
    }

    /// Rows that a condition let go, of a loop on average. The text form is silent where there were none.
    fn removed(&mut self, name: &'static str, count: impl Fn(&Measurement) -> u64) {
        let Some(ran) = &self.ran else { return };
        let removed = count(ran);
        let average = match ran.loops {
            0 => 0.0,
            loops => removed as f64 / loops as f64,
        };
        self.list.push(Detail {
            name,
            value: Value::Decimal(average, 0),
            line: if removed > 0 { Line::Plain } else { Line::Hidden },
        });
    }

    fn sort_method(&mut self) {
        let Some(ran) = self.ran.filter(|ran| ran.loops > 0) else {
            return;
        };
        let method = if ran.observed.cut {
            "top-N merge sort"
        } else {
            "merge sort"
        };
        let used = kilobytes(ran.observed.memory_bytes);
        self.list.push(Detail {
            name: "Sort Method",
            value: Value::Text(method.to_owned()),
            line: Line::Own(format!("Sort Method: {method}  Memory: {used}kB")),
        });
        self.list
            .push(Detail::hidden("Sort Space Used", Value::Integer(used)));
        self.list.push(Detail::hidden(
            "Sort Space Type",
            Value::Text("Memory".to_owned()),
        ));
    }

    /// What a hash table has taken. Nothing spills: there is one batch.
    fn memory(&mut self) {
        let Some(ran) = self.ran.filter(|ran| ran.loops > 0) else {
            return;
        };
        let used = kilobytes(ran.observed.memory_bytes);
        self.list.push(Detail {
            name: "Peak Memory Usage",
            value: Value::Integer(used),
            line: Line::Own(format!("Batches: 1  Memory Usage: {used}kB")),
        });
    }

    /// The tables below a parent that a statement changes, a line each.
    fn members<'a>(&mut self, verb: &str, parent: &Relation, targets: impl Iterator<Item = &'a Relation>) {
        let line = |(position, target): (usize, &Relation)| {
            format!("{verb} on {} {}_{}", target.name, parent.name, position + 1)
        };
        for line in targets.enumerate().map(line) {
            self.list.push(Detail {
                name: "Target Table",
                value: Value::Text(line.clone()),
                line: Line::Own(line),
            });
        }
    }

    fn conflict(&mut self, insert: &Insert) {
        let Some(conflict) = &insert.on_conflict else {
            return;
        };
        let nothing = matches!(conflict.action, ConflictAction::Nothing);
        self.text("Conflict Resolution", if nothing { "NOTHING" } else { "UPDATE" });
        let arbiters = conflict.arbiters.iter();
        let names: Vec<String> = arbiters
            .map(|index| insert.relation.indexes[*index as usize].name.clone())
            .collect();
        if !names.is_empty() {
            self.list.push(Detail::texts("Conflict Arbiter Indexes", names));
        }
    }
}

fn kilobytes(bytes: usize) -> u64 {
    bytes.div_ceil(1024) as u64
}
