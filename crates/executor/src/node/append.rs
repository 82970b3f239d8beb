//! UNION ALL, and the tables of a parent: the inputs one after the other. `merge_append` keeps their order.
//!
//! Of partitions only those are read, and only those made, that the conditions on the partition key leave over with
//! the values of this run: parameters, and the outer row of a nested loop.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::node;
use mote_planner::plan::node::{AnyOf, PruneBranch, PruneCondition};
use mote_sql::builtin::operator::Comparison;
use mote_sql::catalog::partition::{PartitionKey, PartitionScheme};
use mote_sql::catalog::partition_match::KeyCondition;
use mote_types::Datum;

use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile, compile_all};
use crate::runtime::Runtime;

/// Inputs one after the other.
pub struct Program {
    inputs: InputsProgram,
}

impl Program {
    pub fn compile(node: &node::Append) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            inputs: InputsProgram::compile(node)?,
        }))
    }
}

/// The inputs of an Append, merged or not.
pub(super) struct InputsProgram {
    inputs: Box<[NodeProgram]>,
    pruning: Option<Pruning>,
}

/// What conditions leave over of a partitioned table's inputs, level by level.
pub struct Pruning {
    scheme: Arc<PartitionScheme>,
    conditions: Box<[Condition]>,
    /// By the position of the partition in the scheme.
    branches: Box<[Branch]>,
}

/// What stands behind one partition of a scheme.
enum Branch {
    /// The planner has left it out already: no value of a parameter brings it back.
    Absent,
    Input(usize),
    Level(Pruning),
}

/// A condition on a key of the scheme, by the key's number; values are known when the run starts.
enum Condition {
    Compare(u16, Comparison, Expression),
    List(u16, Box<[Expression]>),
    Array(u16, Expression),
    IsNull(u16),
    IsNotNull(u16),
    /// Any of these lists, each of which holds as a whole.
    Or(Box<[Box<[Condition]>]>),
}

impl InputsProgram {
    pub fn compile(node: &node::Append) -> SqlResult<InputsProgram> {
        Ok(InputsProgram {
            inputs: node.inputs.iter().map(compile_node).collect::<SqlResult<_>>()?,
            pruning: node.pruning.as_deref().map(Pruning::compile).transpose()?,
        })
    }
}

impl Pruning {
    pub fn compile(node: &node::Pruning) -> SqlResult<Pruning> {
        let branch = |branch: &PruneBranch| {
            Ok(match branch {
                PruneBranch::Absent => Branch::Absent,
                PruneBranch::Input(input) => Branch::Input(*input as usize),
                PruneBranch::Level(level) => Branch::Level(Pruning::compile(level)?),
            })
        };
        Ok(Pruning {
            scheme: Arc::clone(&node.scheme),
            conditions: compile_conditions(&node.conditions)?,
            branches: node.branches.iter().map(branch).collect::<SqlResult<_>>()?,
        })
    }

    /// Adds the inputs that may have rows, in their order.
    pub fn select(&self, live: &mut Vec<usize>, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let known = evaluate(&self.conditions, &self.scheme.keys, runtime)?;
        // In the order of the scheme's partitions.
        for position in self.scheme.matching(&known).positions() {
            match &self.branches[position] {
                Branch::Absent => {}
                Branch::Input(input) => live.push(*input),
                Branch::Level(level) => level.select(live, runtime)?,
            }
        }
        Ok(())
    }
}

fn compile_conditions(conditions: &[PruneCondition]) -> SqlResult<Box<[Condition]>> {
    let condition = |condition: &PruneCondition| {
        Ok(match condition {
            PruneCondition::Compare(key, comparison, value) => {
                Condition::Compare(*key, *comparison, compile(value)?)
            }
            PruneCondition::AnyOf(key, AnyOf::List(list)) => Condition::List(*key, compile_all(list)?),
            PruneCondition::AnyOf(key, AnyOf::Array(array)) => Condition::Array(*key, compile(array)?),
            PruneCondition::IsNull(key) => Condition::IsNull(*key),
            PruneCondition::IsNotNull(key) => Condition::IsNotNull(*key),
            PruneCondition::Or(alternatives) => {
                let alternatives = alternatives.iter().map(|list| compile_conditions(list));
                Condition::Or(alternatives.collect::<SqlResult<_>>()?)
            }
        })
    };
    conditions.iter().map(condition).collect()
}

/// The conditions with their values. They are no part of any row: parameters and the outer row's bindings alone.
fn evaluate(
    conditions: &[Condition],
    keys: &[PartitionKey],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Vec<KeyCondition>> {
    let ty = |key: u16| keys[usize::from(key)].ty;
    let mut known = Vec::with_capacity(conditions.len());
    for condition in conditions {
        known.push(match condition {
            Condition::Compare(key, comparison, value) => {
                let value = value.evaluate(&[], runtime)?;
                // The session's time zone: a date or timestamp may be compared with a key of another date type.
                KeyCondition::compare(*key, *comparison, value, ty(*key), &runtime.format().time_zone)
            }
            Condition::List(key, list) => {
                let values = list.iter().map(|value| value.evaluate(&[], runtime));
                let values = values.collect::<SqlResult<Vec<_>>>()?;
                KeyCondition::any_of(*key, values, ty(*key), &runtime.format().time_zone)
            }
            Condition::Array(key, array) => {
                let elements = match array.evaluate(&[], runtime)? {
                    Datum::Array(array) => array.elements.clone(),
                    // Nothing equals an element of NULL.
                    _ => Vec::new().into(),
                };
                KeyCondition::any_of(*key, elements, ty(*key), &runtime.format().time_zone)
            }
            Condition::IsNull(key) => KeyCondition::IsNull(*key),
            Condition::IsNotNull(key) => KeyCondition::IsNotNull(*key),
            Condition::Or(alternatives) => {
                let alternatives = alternatives.iter().map(|list| evaluate(list, keys, runtime));
                KeyCondition::Or(alternatives.collect::<SqlResult<_>>()?)
            }
        });
    }
    Ok(known)
}

/// The inputs at work: each is made when it is first read.
pub(super) struct Inputs {
    operators: Box<[Option<Box<dyn Operator>>]>,
    /// Those that this run reads, once it has started.
    live: Vec<usize>,
}

impl Inputs {
    pub fn new(program: &InputsProgram) -> Inputs {
        Inputs {
            operators: program.inputs.iter().map(|_| None).collect(),
            live: Vec::new(),
        }
    }

    /// Begins a run: decides which inputs it reads.
    pub fn start(&mut self, program: &InputsProgram, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        self.live.clear();
        match &program.pruning {
            None => self.live.extend(0..program.inputs.len()),
            Some(pruning) => pruning.select(&mut self.live, runtime)?,
        }
        Ok(())
    }

    /// How many inputs this run reads.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// One of them, by its place among those that are read.
    pub fn get(&mut self, program: &InputsProgram, place: usize) -> &mut dyn Operator {
        let input = self.live[place];
        self.operators[input]
            // Made late: of a table with thousands of partitions most are never read.
            .get_or_insert_with(|| program.inputs[input].instantiate())
            .as_mut()
    }

    pub fn row(&self, place: usize) -> &[Datum] {
        let input = self
            .live
            .get(place)
            .and_then(|&input| self.operators[input].as_ref());
        input.map_or(&[], |input| input.row())
    }

    /// Only those that were read: a nested loop resets the whole for every outer row.
    pub fn reset(&mut self) {
        for input in self.live.drain(..) {
            if let Some(operator) = &mut self.operators[input] {
                operator.reset();
            }
        }
    }
}

/// The inputs of one run, and the one whose row is current.
pub struct State {
    program: Arc<Program>,
    inputs: Inputs,
    /// None before the run has started.
    place: Option<usize>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            inputs: Inputs::new(&program.inputs),
            program,
            place: None,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let mut place = match self.place {
            Some(place) => place,
            None => {
                self.inputs.start(&self.program.inputs, runtime)?;
                0
            }
        };
        while place < self.inputs.len() {
            self.place = Some(place);
            if self.inputs.get(&self.program.inputs, place).next(runtime)? {
                return Ok(true);
            }
            place += 1;
        }
        self.place = Some(place);
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.place.map_or(&[], |place| self.inputs.row(place))
    }

    fn reset(&mut self) {
        self.place = None;
        self.inputs.reset();
    }
}
