//! An expression as a nondeterministic automaton over characters, forward or backward.

use std::sync::Arc;

use mote_common::SqlResult;

use super::charset::CharSet;
use super::syntax::{Place, Syntax};
use super::too_complex;

/// Instructions of one program, those of its look-arounds included.
const LENGTH_MAX: usize = 100_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Forward,
    Backward,
}

pub enum Instruction {
    /// Takes this character and goes on behind it.
    Char(char),
    Set(Arc<CharSet>),
    Place(Place),
    Look(usize),
    Fork(usize, usize),
    Jump(usize),
    Match,
}

/// A look-around: matches when `program`, run from the place in its own direction, matches or does not.
pub struct Look {
    pub program: Program,
    pub direction: Direction,
    pub negative: bool,
}

pub struct Program {
    pub instructions: Vec<Instruction>,
    pub looks: Vec<Look>,
    size: usize,
}

impl Program {
    pub fn compile(syntax: &Syntax, direction: Direction) -> SqlResult<Program> {
        let mut program = Program {
            instructions: Vec::new(),
            looks: Vec::new(),
            size: 0,
        };
        program.add(syntax, direction)?;
        program.push(Instruction::Match)?;
        Ok(program)
    }

    fn push(&mut self, instruction: Instruction) -> SqlResult<usize> {
        self.size += 1;
        if self.size > LENGTH_MAX {
            return Err(too_complex());
        }
        self.instructions.push(instruction);
        Ok(self.instructions.len() - 1)
    }

    fn add(&mut self, syntax: &Syntax, direction: Direction) -> SqlResult<()> {
        match syntax {
            Syntax::Char(c) => self.push(Instruction::Char(*c)).map(drop),
            Syntax::Set(set) => self.push(Instruction::Set(Arc::clone(set))).map(drop),
            Syntax::Place(place) => self.push(Instruction::Place(*place)).map(drop),
            Syntax::Look {
                ahead,
                negative,
                inner,
            } => self.add_look(*ahead, *negative, inner),
            Syntax::Group { inner, .. } => self.add(inner, direction),
            Syntax::Backreference { shape, .. } => self.add(shape, direction),
            Syntax::Repeat { inner, quantifier } => {
                self.add_repeat(inner, quantifier.min, quantifier.max, direction)
            }
            Syntax::Sequence(parts) => match direction {
                Direction::Forward => parts.iter().try_for_each(|part| self.add(part, direction)),
                Direction::Backward => parts.iter().rev().try_for_each(|part| self.add(part, direction)),
            },
            Syntax::Choice(branches) => self.add_choice(branches, direction),
        }
    }

    fn add_look(&mut self, ahead: bool, negative: bool, inner: &Syntax) -> SqlResult<()> {
        let direction = match ahead {
            true => Direction::Forward,
            false => Direction::Backward,
        };
        let program = Program::compile(inner, direction)?;
        self.size += program.size;
        self.looks.push(Look {
            program,
            direction,
            negative,
        });
        self.push(Instruction::Look(self.looks.len() - 1)).map(drop)
    }

    fn add_choice(&mut self, branches: &[Syntax], direction: Direction) -> SqlResult<()> {
        let mut ends = Vec::with_capacity(branches.len());
        for (at, branch) in branches.iter().enumerate() {
            if at + 1 == branches.len() {
                self.add(branch, direction)?;
                break;
            }
            let fork = self.push(Instruction::Fork(0, 0))?;
            self.add(branch, direction)?;
            ends.push(self.push(Instruction::Jump(0))?);
            self.instructions[fork] = Instruction::Fork(fork + 1, self.instructions.len());
        }
        let behind = self.instructions.len();
        ends.into_iter()
            .for_each(|end| self.instructions[end] = Instruction::Jump(behind));
        Ok(())
    }

    fn add_repeat(
        &mut self,
        inner: &Syntax,
        min: u32,
        max: Option<u32>,
        direction: Direction,
    ) -> SqlResult<()> {
        for _ in 0..min {
            self.add(inner, direction)?;
        }
        let Some(max) = max else {
            let fork = self.push(Instruction::Fork(0, 0))?;
            self.add(inner, direction)?;
            self.push(Instruction::Jump(fork))?;
            self.instructions[fork] = Instruction::Fork(fork + 1, self.instructions.len());
            return Ok(());
        };
        let mut forks = Vec::new();
        for _ in min..max {
            forks.push(self.push(Instruction::Fork(0, 0))?);
            self.add(inner, direction)?;
        }
        let behind = self.instructions.len();
        for fork in forks {
            self.instructions[fork] = Instruction::Fork(fork + 1, behind);
        }
        Ok(())
    }
}
