//! Rows and cost of nodes as EXPLAIN shows them.
//!
//! Those of scans, joins and groups are the optimiser's own ([`Expected`]); what stands above them is guessed from its inputs, with
//! few rules: they explain choices, nothing more.

use crate::plan::node::*;
use mote_sql::expr::Expr;
use mote_types::Datum;

/// Rows and cost as shown.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    pub rows: f64,
    /// In rows read.
    pub cost: f64,
}

const NOTHING: Estimate = Estimate { rows: 1.0, cost: 0.0 };

/// Of a node over inputs with these.
pub(super) fn estimate(node: &Node, inputs: &[Estimate]) -> Estimate {
    let guessed = guess(node, inputs);
    let rows = match returns_nothing(node) {
        true => 0.0,
        false => guessed.rows.max(1.0),
    };
    Estimate { rows, ..guessed }
}

/// Writes without RETURNING.
fn returns_nothing(node: &Node) -> bool {
    match node {
        Node::Insert(insert) => insert.returning.is_none(),
        Node::Update(update) => update.targets.iter().all(|target| target.returning.is_none()),
        Node::Delete(delete) => delete.targets.iter().all(|target| target.returning.is_none()),
        Node::Merge(_) => true,
        _ => false,
    }
}

fn guess(node: &Node, inputs: &[Estimate]) -> Estimate {
    let first = inputs.first().copied().unwrap_or(NOTHING);
    let filtered = |rows: f64, filter: &Option<Expr>| {
        if filter.is_some() {
            (rows * 0.1).max(1.0)
        } else {
            rows
        }
    };
    let expected = |expected: Expected| Estimate {
        rows: expected.rows,
        cost: expected.cost,
    };
    match node {
        Node::SeqScan(scan) => expected(scan.expected),
        Node::IndexScan(scan) => expected(scan.expected),
        Node::IndexUnion(union) => expected(union.expected),
        Node::NestedLoop(join) => expected(join.expected),
        Node::HashJoin(join) => expected(join.expected),
        // Shown as what it measures.
        Node::Measured(_) => first,
        Node::VirtualScan(scan) => {
            let rows = scan.relation.rows.get().max(1.0);
            Estimate {
                rows: filtered(rows, &scan.filter),
                cost: rows,
            }
        }
        Node::Values { rows } => Estimate {
            rows: rows.len() as f64,
            cost: rows.len() as f64,
        },
        Node::FunctionScan(_) | Node::CteScan { .. } | Node::WorkTableScan { .. } => Estimate {
            rows: 100.0,
            cost: 100.0,
        },
        Node::Sort { .. } => Estimate {
            rows: first.rows,
            cost: first.cost + first.rows * (first.rows + 1.0).log2() * 0.2,
        },
        Node::Limit {
            count: Some(Expr::Constant(Datum::Int8(count), _)),
            ..
        } => Estimate {
            rows: first.rows.min(*count as f64),
            cost: first.cost,
        },
        Node::Append(_) | Node::SetOperation { .. } => Estimate {
            rows: inputs.iter().map(|input| input.rows).sum(),
            cost: inputs.iter().map(|input| input.cost).sum(),
        },
        Node::Aggregate(aggregate) => Estimate {
            rows: aggregate.expected.rows,
            cost: first.cost + first.rows,
        },
        _ => Estimate {
            rows: first.rows,
            cost: inputs.iter().map(|input| input.cost).sum::<f64>() + first.rows * 0.1,
        },
    }
}
