//! The tables of a parent merged: every input yields its rows in the wanted order, and so does the whole.
//!
//! A binary heap of the inputs by the keys of their current rows; ties go to the earlier input, so that the merge is
//! stable. An input is first asked when the merge starts, and again only after its row has gone out.

use std::cmp::Ordering;
use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::node;
use mote_types::Datum;

use super::Operator;
use super::append::{Inputs, InputsProgram};
use super::sort::{Key, compare_keys, compile_keys};
use crate::runtime::Runtime;

/// Inputs that are sorted alike, and by what.
pub struct Program {
    inputs: InputsProgram,
    /// Of the wanted order, over an input's row.
    keys: Box<[Key]>,
}

impl Program {
    pub fn compile(node: &node::Append) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            inputs: InputsProgram::compile(node)?,
            keys: compile_keys(&node.merge)?,
        }))
    }
}

/// A heap over the inputs' current rows.
pub struct State {
    program: Arc<Program>,
    inputs: Inputs,
    /// For each input that is read the key values of its current row.
    keys: Vec<Vec<Datum>>,
    /// Inputs that have a current row; the first is the least.
    heap: Vec<usize>,
    started: bool,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            inputs: Inputs::new(&program.inputs),
            program,
            keys: Vec::new(),
            heap: Vec::new(),
            started: false,
        }
    }

    /// Moves an input to its next row; false at its end.
    fn advance(&mut self, position: usize, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let input = self.inputs.get(&self.program.inputs, position);
        if !input.next(runtime)? {
            return Ok(false);
        }
        let keys = &mut self.keys[position];
        keys.clear();
        for key in &self.program.keys {
            keys.push(key.expression.evaluate(self.inputs.row(position), runtime)?);
        }
        Ok(true)
    }

    /// Whether the current row of one input goes out before that of another.
    fn is_before(&self, left: usize, right: usize) -> bool {
        let (a, b) = (&self.keys[left], &self.keys[right]);
        let order = compare_keys(&self.program.keys, a, b);
        order.then(left.cmp(&right)) == Ordering::Less
    }

    /// Restores the heap after an input was put at its end.
    fn sift_up(&mut self, mut child: usize) {
        while child > 0 {
            let parent = (child - 1) / 2;
            if !self.is_before(self.heap[child], self.heap[parent]) {
                return;
            }
            self.heap.swap(child, parent);
            child = parent;
        }
    }

    /// Restores the heap after the input on top has moved on or was replaced.
    fn sift_down(&mut self) {
        let mut parent = 0;
        loop {
            let left = 2 * parent + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let least = match right < self.heap.len() && self.is_before(self.heap[right], self.heap[left]) {
                true => right,
                false => left,
            };
            if !self.is_before(self.heap[least], self.heap[parent]) {
                return;
            }
            self.heap.swap(least, parent);
            parent = least;
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !self.started {
            self.started = true;
            self.inputs.start(&self.program.inputs, runtime)?;
            self.keys.resize_with(self.inputs.len(), Vec::new);
            // Pruning has decided which inputs there are; each is positioned on its first row, or left out if it has
            // none.
            for position in 0..self.inputs.len() {
                if self.advance(position, runtime)? {
                    self.heap.push(position);
                    self.sift_up(self.heap.len() - 1);
                }
            }
            return Ok(!self.heap.is_empty());
        }
        let Some(&first) = self.heap.first() else {
            return Ok(false);
        };
        // At its end the last input of the heap takes its place and sinks; otherwise its own new keys do.
        if !self.advance(first, runtime)? {
            self.heap.swap_remove(0);
        }
        self.sift_down();
        Ok(!self.heap.is_empty())
    }

    fn row(&self) -> &[Datum] {
        let first = self.heap.first();
        first.map_or(&[], |&input| self.inputs.row(input))
    }

    fn reset(&mut self) {
        self.started = false;
        self.heap.clear();
        self.inputs.reset();
    }
}
