//! The arms of an OR over one table, each a scan by an index: one after the other. A row counts for the first arm whose test it
//! passes, so that it comes once and nothing is remembered (`planner/optimize/union` argues why that is exact).

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::node;
use mote_planner::plan::node::{MemberNumber, ScanId};
use mote_types::Datum;

use super::scan::replacement;
use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile_all};
use crate::runtime::Runtime;

/// Scans of one table, and for each what the rows that count for it satisfy.
pub struct Program {
    scan: ScanId,
    member: MemberNumber,
    inputs: Box<[NodeProgram]>,
    /// One for each input, over its row.
    tests: Box<[Expression]>,
    /// The inputs yield rows that do not pass their own test, too.
    own_test: bool,
}

impl Program {
    pub fn compile(node: &node::IndexUnion) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            scan: node.scan,
            member: node.member,
            inputs: node.inputs.iter().map(compile_node).collect::<SqlResult<_>>()?,
            tests: compile_all(&node.tests)?,
            own_test: node.own_test,
        }))
    }

    /// Is this row of an input that input's to yield?
    fn counts(&self, input: usize, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        for test in &self.tests[..input] {
            if test.holds(row, runtime)? {
                return Ok(false);
            }
        }
        Ok(!self.own_test || self.tests[input].holds(row, runtime)?)
    }
}

/// The scans, and the one whose row is current.
pub struct State {
    program: Arc<Program>,
    inputs: Box<[Box<dyn Operator>]>,
    at: usize,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            inputs: program.inputs.iter().map(NodeProgram::instantiate).collect(),
            program,
            at: 0,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        // The first scan knows all conditions of the statement, and the row in place comes from no index.
        if replacement(runtime, self.program.scan, self.program.member).is_some() {
            self.at = 0;
            return self.inputs[0].next(runtime);
        }
        while let Some(input) = self.inputs.get_mut(self.at) {
            while input.next(runtime)? {
                if self.program.counts(self.at, input.row(), runtime)? {
                    return Ok(true);
                }
            }
            self.at += 1;
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.inputs.get(self.at).map_or(&[], |input| input.row())
    }

    fn reset(&mut self) {
        self.at = 0;
        self.inputs.iter_mut().for_each(|input| input.reset());
    }
}
