//! UNION ALL: the inputs one after the other.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_sql::plan::node::Node;
use mote_types::Datum;

use super::{NodeProgram, Operator, compile_node};
use crate::query::runtime::Runtime;

pub struct Program {
    inputs: Vec<NodeProgram>,
}

impl Program {
    pub fn compile(inputs: &[Node]) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            inputs: inputs.iter().map(compile_node).collect::<SqlResult<_>>()?,
        }))
    }
}

pub struct State {
    inputs: Vec<Box<dyn Operator>>,
    position: usize,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            inputs: program.inputs.iter().map(NodeProgram::instantiate).collect(),
            position: 0,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        while let Some(input) = self.inputs.get_mut(self.position) {
            if input.next(runtime)? {
                return Ok(true);
            }
            self.position += 1;
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.inputs.get(self.position).map_or(&[], |input| input.row())
    }

    fn reset(&mut self) {
        self.position = 0;
        self.inputs.iter_mut().for_each(|input| input.reset());
    }
}
