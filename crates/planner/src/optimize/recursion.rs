//! What a recursive query must compute anew in each round, besides its step itself.
//!
//! A WITH query or sub-plan is computed once per execution and read by any number of scans. One that stands in a
//! recursive term and reads the rows of the round before, directly or through another one, is void when the next round
//! begins. What reads the finished recursive query (`CteScan` of it) is not among them.

use crate::plan::QueryPlan;
use crate::plan::node::{Node, Renewed};
use mote_sql::expr::Expr;

/// What a WITH query or sub-plan reads directly.
#[derive(Default)]
struct Reads {
    work_tables: Vec<u16>,
    ctes: Vec<u16>,
    subplans: Vec<u16>,
}

impl Reads {
    fn of(node: &mut Node) -> Reads {
        let mut reads = Reads::default();
        reads.add_scans(node);
        node.visit_exprs_mut(&mut |root| {
            root.visit(&mut |expr| {
                if let Expr::SubPlan(call) = expr {
                    reads.subplans.push(call.plan);
                }
            });
        });
        reads
    }

    fn add_scans(&mut self, node: &Node) {
        match node {
            Node::WorkTableScan { cte } => self.work_tables.push(*cte),
            Node::CteScan { cte, .. } => self.ctes.push(*cte),
            _ => {}
        }
        node.for_each_input(&mut |input| self.add_scans(input));
    }

    fn any_of(&self, renewed: &Renewed) -> bool {
        self.ctes.iter().any(|cte| renewed.ctes.contains(cte))
            || self.subplans.iter().any(|plan| renewed.subplans.contains(plan))
    }
}

/// Fills [`Renewed`] of every recursive union. They are the roots of WITH queries.
pub(super) fn note_renewed(query: &mut QueryPlan) {
    let is_recursive = |node: &Node| matches!(node, Node::RecursiveUnion { .. });
    if !query.ctes.iter().any(|cte| is_recursive(&cte.node)) {
        return;
    }
    let ctes: Vec<Reads> = query
        .ctes
        .iter_mut()
        .map(|cte| Reads::of(&mut cte.node))
        .collect();
    let subplans: Vec<Reads> = query.subplans.iter_mut().map(Reads::of).collect();
    for cte in &mut query.ctes {
        if let Node::RecursiveUnion { cte, renewed, .. } = &mut cte.node {
            *renewed = renewed_by(*cte, &ctes, &subplans);
        }
    }
}

fn renewed_by(recursive: u16, ctes: &[Reads], subplans: &[Reads]) -> Renewed {
    let mut renewed = Renewed::default();
    loop {
        let reads = |reads: &Reads, renewed: &Renewed| {
            reads.work_tables.contains(&recursive) || reads.any_of(renewed)
        };
        let known = renewed.ctes.len() + renewed.subplans.len();
        for (number, cte) in (0..).zip(ctes) {
            if number != recursive && !renewed.ctes.contains(&number) && reads(cte, &renewed) {
                renewed.ctes.push(number);
            }
        }
        for (number, subplan) in (0..).zip(subplans) {
            if !renewed.subplans.contains(&number) && reads(subplan, &renewed) {
                renewed.subplans.push(number);
            }
        }
        if renewed.ctes.len() + renewed.subplans.len() == known {
            return renewed;
        }
    }
}
