//! Runs programs over a text: at which places can a match from here end, and where does the first match start.
//!
//! All states a program can be in move together, character by character, so that a run takes time proportional to
//! text times program.

use std::ops::ControlFlow;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, work};

use super::charset::CharSet;
use super::program::{Direction, Instruction, Look, Program};
use super::syntax::Place;

/// The work that one search may still do. Every loop of this module and of `dissect` pays here.
pub struct Budget {
    left: u64,
    /// Steps that were taken and not paid for yet.
    unpaid: usize,
}

/// Steps between two payments: some 50 microseconds.
const STEPS_PER_PAYMENT: usize = 4 << 10;
/// What a step costs in units of `work`.
const STEP_UNITS: usize = 16;

impl Budget {
    fn spend(&mut self, steps: usize) -> SqlResult<()> {
        match self.left.checked_sub(steps as u64) {
            Some(left) => {
                self.left = left;
                self.unpaid += steps;
                if self.unpaid >= STEPS_PER_PAYMENT {
                    work::spend(std::mem::take(&mut self.unpaid) * STEP_UNITS)?;
                }
                Ok(())
            }
            None => {
                let message = "regular expression failed: regular expression is too complex";
                Err(SqlError::new(state::INVALID_REGULAR_EXPRESSION, message))
            }
        }
    }
}

/// The states a program is in, each once, with the place where its thread started.
#[derive(Default)]
struct States {
    list: Vec<(usize, usize)>,
    /// For each instruction, the number of the round that added it.
    seen: Vec<u64>,
    round: u64,
    /// The start of the first thread that has matched.
    matched: Option<usize>,
    stack: Vec<usize>,
}

impl States {
    fn clear(&mut self, length: usize) {
        self.list.clear();
        self.matched = None;
        self.round += 1;
        if self.seen.len() < length {
            self.seen.resize(length, 0);
        }
    }
}

/// Where the leftmost match starts, and where the match that ends first does.
pub struct FirstMatch {
    pub start: usize,
    pub nearest_end: usize,
}

pub struct Scanner<'a> {
    pub text: &'a str,
    budget: Budget,
    /// State lists that no run uses now: look-arounds run inside runs.
    spare: Vec<States>,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str, steps: u64) -> Scanner<'a> {
        Scanner {
            text,
            budget: Budget {
                left: steps,
                unpaid: 0,
            },
            spare: Vec::new(),
        }
    }

    pub fn spend(&mut self, steps: usize) -> SqlResult<()> {
        self.budget.spend(steps)
    }

    /// Tells `visit` of each place, from near to far and at most `limit`, where a match from `from` can end.
    pub fn run(
        &mut self,
        program: &Program,
        direction: Direction,
        from: usize,
        limit: usize,
        mut visit: impl FnMut(usize) -> ControlFlow<()>,
    ) -> SqlResult<()> {
        let mut current = self.spare.pop().unwrap_or_default();
        let mut next = self.spare.pop().unwrap_or_default();
        current.clear(program.instructions.len());
        self.enter(program, &mut current, 0, from, from)?;
        let mut at = from;
        loop {
            if current.matched.is_some() && visit(at).is_break() {
                break;
            }
            if at == limit || current.list.is_empty() {
                break;
            }
            let Some((c, behind)) = self.step(at, direction) else {
                break;
            };
            at = behind;
            next.clear(program.instructions.len());
            self.advance(program, &current, &mut next, c, at, usize::MAX)?;
            std::mem::swap(&mut current, &mut next);
        }
        self.spare.extend([current, next]);
        Ok(())
    }

    /// All the places, nearest first, where a match from `from` can end.
    pub fn ends(
        &mut self,
        program: &Program,
        direction: Direction,
        from: usize,
        limit: usize,
    ) -> SqlResult<Vec<usize>> {
        let mut ends = Vec::new();
        self.run(program, direction, from, limit, |at| {
            ends.push(at);
            ControlFlow::Continue(())
        })?;
        Ok(ends)
    }

    pub fn longest(&mut self, program: &Program, from: usize, limit: usize) -> SqlResult<Option<usize>> {
        let mut longest = None;
        self.run(program, Direction::Forward, from, limit, |at| {
            longest = Some(at);
            ControlFlow::Continue(())
        })?;
        Ok(longest)
    }

    pub fn shortest(&mut self, program: &Program, from: usize, limit: usize) -> SqlResult<Option<usize>> {
        let mut shortest = None;
        self.run(program, Direction::Forward, from, limit, |at| {
            shortest = Some(at);
            ControlFlow::Break(())
        })?;
        Ok(shortest)
    }

    /// The leftmost match, at `from` or behind it.
    pub fn first_match(&mut self, program: &Program, from: usize) -> SqlResult<Option<FirstMatch>> {
        let mut current = self.spare.pop().unwrap_or_default();
        let mut next = self.spare.pop().unwrap_or_default();
        current.clear(program.instructions.len());
        let mut best: Option<usize> = None;
        let mut nearest_end = from;
        let mut at = from;
        loop {
            // Threads stand in the order of their starts, so the newest comes last and yields to older ones.
            if best.is_none() {
                self.enter(program, &mut current, 0, at, at)?;
            }
            if let Some(start) = current.matched {
                if best.is_none() {
                    nearest_end = at;
                }
                best = Some(best.map_or(start, |best| best.min(start)));
            }
            let older = current
                .list
                .first()
                .is_some_and(|&(_, start)| best.is_none_or(|best| start < best));
            if best.is_some() && !older {
                break;
            }
            let Some((c, behind)) = self.step(at, Direction::Forward) else {
                break;
            };
            at = behind;
            next.clear(program.instructions.len());
            self.advance(program, &current, &mut next, c, at, best.unwrap_or(usize::MAX))?;
            std::mem::swap(&mut current, &mut next);
        }
        self.spare.extend([current, next]);
        Ok(best.map(|start| FirstMatch { start, nearest_end }))
    }

    /// Moves every thread that started before `bound` over one character, behind which `at` is.
    fn advance(
        &mut self,
        program: &Program,
        current: &States,
        next: &mut States,
        c: char,
        at: usize,
        bound: usize,
    ) -> SqlResult<()> {
        self.spend(current.list.len() + 1)?;
        for &(instruction, start) in current.list.iter().filter(|(_, start)| *start < bound) {
            let taken = match &program.instructions[instruction] {
                Instruction::Char(expected) => *expected == c,
                Instruction::Set(set) => set.contains(c),
                _ => false,
            };
            if taken {
                self.enter(program, next, instruction + 1, at, start)?;
            }
        }
        Ok(())
    }

    /// Adds an instruction, and all that follow it without taking a character.
    fn enter(
        &mut self,
        program: &Program,
        states: &mut States,
        instruction: usize,
        at: usize,
        start: usize,
    ) -> SqlResult<()> {
        states.stack.push(instruction);
        while let Some(instruction) = states.stack.pop() {
            if std::mem::replace(&mut states.seen[instruction], states.round) == states.round {
                continue;
            }
            self.spend(1)?;
            match &program.instructions[instruction] {
                Instruction::Char(_) | Instruction::Set(_) => states.list.push((instruction, start)),
                Instruction::Place(place) => {
                    if self.is_at(*place, at) {
                        states.stack.push(instruction + 1);
                    }
                }
                Instruction::Look(look) => {
                    if self.looks(&program.looks[*look], at)? {
                        states.stack.push(instruction + 1);
                    }
                }
                Instruction::Fork(first, second) => states.stack.extend([*second, *first]),
                Instruction::Jump(target) => states.stack.push(*target),
                Instruction::Match => {
                    states.matched.get_or_insert(start);
                }
            }
        }
        Ok(())
    }

    fn looks(&mut self, look: &Look, at: usize) -> SqlResult<bool> {
        let limit = match look.direction {
            Direction::Forward => self.text.len(),
            Direction::Backward => 0,
        };
        let mut found = false;
        self.run(&look.program, look.direction, at, limit, |_| {
            found = true;
            ControlFlow::Break(())
        })?;
        Ok(found != look.negative)
    }

    fn is_at(&self, place: Place, at: usize) -> bool {
        let before = || self.text[..at].chars().next_back();
        let behind = || self.text[at..].chars().next();
        let is_word = |c: Option<char>| {
            let word = CharSet::class("word", false).expect("a class of the table");
            c.is_some_and(|c| word.contains(c))
        };
        match place {
            Place::TextStart => at == 0,
            Place::TextEnd => at == self.text.len(),
            Place::LineStart => before().is_none_or(|c| c == '\n'),
            Place::LineEnd => behind().is_none_or(|c| c == '\n'),
            Place::WordStart => !is_word(before()) && is_word(behind()),
            Place::WordEnd => is_word(before()) && !is_word(behind()),
            Place::WordBoundary => is_word(before()) != is_word(behind()),
            Place::NoWordBoundary => is_word(before()) == is_word(behind()),
        }
    }

    /// The next character in a direction, and the place behind it.
    fn step(&self, at: usize, direction: Direction) -> Option<(char, usize)> {
        match direction {
            Direction::Forward => {
                let c = self.text[at..].chars().next()?;
                Some((c, at + c.len_utf8()))
            }
            Direction::Backward => {
                let c = self.text[..at].chars().next_back()?;
                Some((c, at - c.len_utf8()))
            }
        }
    }
}
