//! What one node of a plan hands on to another (`parameters`): from the plan, by the names of columns.

use mote_sql::expr::{ExecParameterId, Expr, SubPlanKind};

use crate::plan::QueryPlan;
use crate::plan::node::Node;

use super::expression::{Names, shown};
use super::names::{Style, column_names};
use super::parameters::Parameters;

impl Parameters {
    /// Of all that is handed on in a plan.
    pub fn of(plan: &QueryPlan) -> Parameters {
        let mut known = Parameters::default();
        if plan.exec_parameters == 0 && plan.subplans.is_empty() {
            return known;
        }
        let mut once = Vec::new();
        let roots = plan.ctes.iter().map(|cte| &cte.node).chain([&plan.root]);
        for root in roots.clone().chain(&plan.subplans) {
            // What expressions of nodes can be visited through is for rewriting: hence a copy.
            root.clone().visit_exprs_mut(&mut |expr| {
                expr.visit(&mut |inner| {
                    if let Expr::SubPlan(call) = inner
                        && matches!(call.kind, SubPlanKind::Scalar)
                        && call.bindings.is_empty()
                    {
                        once.push(call.plan);
                    }
                });
            });
        }
        once.sort_unstable();
        once.dedup();
        let numbered = once.into_iter().zip(plan.ctes.len()..);
        known.results = numbered.collect();
        for root in roots {
            known.note(&mut root.clone(), plan);
        }
        known
    }

    /// From above, since what a node below is handed may be handed on. Changes nothing.
    fn note(&mut self, node: &mut Node, plan: &QueryPlan) {
        if let Node::NestedLoop(join) = node {
            let columns = column_names(&join.left, Style::Qualified, self);
            self.bind(&join.bindings, &columns);
        }
        let mut columns = Vec::new();
        node.for_each_input(&mut |input| columns.extend(column_names(input, Style::Qualified, self)));
        if columns.is_empty() {
            columns = column_names(node, Style::Qualified, self);
        }
        let mut called = Vec::new();
        node.for_each_expr_mut(&mut |expr| {
            expr.visit(&mut |inner| {
                if let Expr::SubPlan(call) = inner {
                    self.bind(&call.bindings, &columns);
                    called.push(call.plan);
                }
            });
        });
        for subplan in called {
            if let Some(node) = plan.subplans.get(usize::from(subplan)) {
                self.note(&mut node.clone(), plan);
            }
        }
        node.for_each_input_mut(&mut |input| self.note(input, plan));
    }

    fn bind(&mut self, bindings: &[(ExecParameterId, Expr)], columns: &[String]) {
        for (id, expr) in bindings {
            let names = Names {
                columns,
                parameters: self,
            };
            let text = shown(expr, names);
            self.texts.insert(id.0, text);
        }
    }
}
