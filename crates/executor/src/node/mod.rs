//! Plan nodes at work: each is a program (compiled once, shared) and an operator (the state of one run).
//!
//! Read in this order: `crate::runtime::operator` (the contract), this file, `program` (a whole plan), `scan` (what the table
//! scans share), then any node: one file each; `modify` holds those that write rows.
//!
//! Source: nodes that are asked for the next row, after Volcano (Graefe, TKDE 1994) and PostgreSQL's execProcnode.c, node by node
//! (nodeIndexscan.c, nodeHashjoin.c, ..). Other than there what is compiled (`Program`) is shared by sessions and apart from the
//! state of a run. Promises: a node that waits answers as any call of the engine does and can be asked again; a node that keeps
//! rows charges them (`memory`). Leaves out: choosing nodes (the planner).

pub mod scan;
mod aggregate;
pub mod append;
pub mod cte_scan;
mod distinct;
mod filter;
mod function_scan;
mod grouping;
mod hash_index;
mod hash_join;
pub mod index_scan;
mod index_union;
mod limit;
mod lock_rows;
mod measured;
mod merge_append;
pub mod modify;
mod nested_loop;
mod project;
mod program;
mod project_set;
mod recursive_union;
mod result;
mod seq_scan;
mod set_operation;
pub mod sort;
mod values;
pub mod virtual_scan;
mod stored_filter;
mod window;
mod window_range;

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::node::Node;
use mote_types::Datum;

pub use program::Program;

use crate::runtime::Operator;
use modify::{delete, insert, merge, update};

macro_rules! node_programs {
    ($($name:ident($module:ident),)*) => {
        /// A compiled node. Cloning shares it.
        #[derive(Clone)]
        pub enum NodeProgram {
            $($name(Arc<$module::Program>),)*
        }

        impl NodeProgram {
            /// A fresh operator with its whole sub-tree.
            pub fn instantiate(&self) -> Box<dyn Operator> {
                match self {
                    $(NodeProgram::$name(program) => Box::new($module::State::new(Arc::clone(program))),)*
                }
            }
        }
    };
}

node_programs! {
    Result(result),
    Values(values),
    SeqScan(seq_scan),
    IndexScan(index_scan),
    IndexUnion(index_union),
    VirtualScan(virtual_scan),
    FunctionScan(function_scan),
    CteScan(cte_scan),
    WorkTableScan(recursive_union_scan),
    Filter(filter),
    Project(project),
    ProjectSet(project_set),
    NestedLoop(nested_loop),
    HashJoin(hash_join),
    Sort(sort),
    Limit(limit),
    Distinct(distinct),
    Aggregate(aggregate),
    Window(window),
    Append(append),
    MergeAppend(merge_append),
    SetOperation(set_operation),
    RecursiveUnion(recursive_union),
    LockRows(lock_rows),
    Insert(insert),
    Update(update),
    Delete(delete),
    Merge(merge),
    Measured(measured),
}

// The scan of a recursive query's work table lives with the query itself: both know one table.
use recursive_union::work_table_scan as recursive_union_scan;

impl NodeProgram {
    /// Marks the statement's own modifying node: its rows are what the command tag counts.
    pub fn count_affected_rows(&mut self) {
        const FRESH: &str = "a program is not shared while it is compiled";
        match self {
            NodeProgram::Insert(program) => Arc::get_mut(program).expect(FRESH).counted = true,
            NodeProgram::Update(program) => Arc::get_mut(program).expect(FRESH).counted = true,
            NodeProgram::Delete(program) => Arc::get_mut(program).expect(FRESH).counted = true,
            NodeProgram::Merge(program) => Arc::get_mut(program).expect(FRESH).counted = true,
            // EXPLAIN ANALYZE wraps every node: the modifying one stands right below.
            NodeProgram::Measured(program) => {
                Arc::get_mut(program).expect(FRESH).input.count_affected_rows();
            }
            _ => {}
        }
    }
}

/// Compiles a node and all below it.
pub fn compile_node(node: &Node) -> SqlResult<NodeProgram> {
    Ok(match node {
        Node::Result { columns, filter } => NodeProgram::Result(result::Program::compile(columns, filter)?),
        // What the planner has found to yield no row: a VALUES list without rows, of the width that its parents expect.
        Node::Empty { width } => NodeProgram::Values(values::Program::empty(*width as usize)),
        Node::Values { rows } => NodeProgram::Values(values::Program::compile(rows)?),
        Node::SeqScan(node) => NodeProgram::SeqScan(seq_scan::Program::compile(node)?),
        Node::IndexScan(node) => NodeProgram::IndexScan(index_scan::Program::compile(node)?),
        Node::IndexUnion(node) => NodeProgram::IndexUnion(index_union::Program::compile(node)?),
        Node::VirtualScan(node) => NodeProgram::VirtualScan(virtual_scan::Program::compile(node)?),
        Node::FunctionScan(node) => NodeProgram::FunctionScan(function_scan::Program::compile(node)?),
        Node::CteScan {
            cte,
            arguments,
            columns,
            filter,
        } => NodeProgram::CteScan(cte_scan::Program::compile(*cte, arguments, columns, filter)?),
        Node::WorkTableScan { cte } => {
            NodeProgram::WorkTableScan(recursive_union_scan::Program::compile(*cte))
        }
        Node::Filter { input, condition } => NodeProgram::Filter(filter::Program::compile(input, condition)?),
        Node::Project { input, columns } => NodeProgram::Project(project::Program::compile(input, columns)?),
        Node::ProjectSet { input, columns } => {
            NodeProgram::ProjectSet(project_set::Program::compile(input, columns)?)
        }
        Node::NestedLoop(node) => NodeProgram::NestedLoop(nested_loop::Program::compile(node)?),
        Node::HashJoin(node) => NodeProgram::HashJoin(hash_join::Program::compile(node)?),
        Node::Sort { input, keys, limit } => NodeProgram::Sort(sort::Program::compile(input, keys, limit)?),
        Node::Limit {
            input,
            count,
            offset,
            with_ties,
        } => NodeProgram::Limit(limit::Program::compile(input, count, offset, with_ties)?),
        Node::Distinct { input, on } => NodeProgram::Distinct(distinct::Program::compile(input, on)?),
        Node::Aggregate(node) => NodeProgram::Aggregate(aggregate::Program::compile(node)?),
        Node::Window(node) => NodeProgram::Window(window::Program::compile(node)?),
        // One plan node, two operators: with merge keys the inputs' order has to be kept.
        Node::Append(node) if node.merge.is_empty() => NodeProgram::Append(append::Program::compile(node)?),
        Node::Append(node) => NodeProgram::MergeAppend(merge_append::Program::compile(node)?),
        Node::SetOperation { kind, all, inputs } => {
            NodeProgram::SetOperation(set_operation::Program::compile(*kind, *all, inputs)?)
        }
        Node::RecursiveUnion {
            cte,
            distinct,
            base,
            step,
            renewed,
        } => NodeProgram::RecursiveUnion(recursive_union::Program::compile(
            *cte, *distinct, base, step, renewed,
        )?),
        Node::LockRows { input, locks, marks } => {
            NodeProgram::LockRows(lock_rows::Program::compile(input, locks, marks)?)
        }
        Node::Insert(node) => NodeProgram::Insert(insert::Program::compile(node)?),
        Node::Update(node) => NodeProgram::Update(update::Program::compile(node)?),
        Node::Delete(node) => NodeProgram::Delete(delete::Program::compile(node)?),
        Node::Merge(node) => NodeProgram::Merge(merge::Program::compile(node)?),
        Node::Measured(node) => NodeProgram::Measured(measured::Program::compile(node)?),
    })
}

/// Copies a row into a buffer that keeps its allocation.
pub fn copy_row(from: &[Datum], to: &mut Vec<Datum>) {
    to.clear();
    to.extend_from_slice(from);
}
