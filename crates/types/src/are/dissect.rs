//! Divides a match among the parts of its expression.
//!
//! A part's program tells where it can end and its neighbour's, run backward, where that can begin: the division is
//! the most preferred place that both name. Only back references can refuse a division that the programs allow;
//! then the next place is tried.

use std::collections::HashSet;

use mote_common::SqlResult;

use super::Match;
use super::charset::lower;
use super::program::Direction;
use super::scan::Scanner;
use super::tree::{Division, Node};

pub struct Matcher<'a> {
    scanner: Scanner<'a>,
    ignore_case: bool,
    groups: Vec<Option<(usize, usize)>>,
}

impl<'a> Matcher<'a> {
    /// A matcher that gives up after so many steps.
    pub fn new(text: &'a str, ignore_case: bool, groups: usize, steps: u64) -> Matcher<'a> {
        Matcher {
            scanner: Scanner::new(text, steps),
            ignore_case,
            groups: vec![None; groups],
        }
    }

    /// Is there a match, as far as the program knows? Back references may still refuse it.
    pub fn may_match(&mut self, tree: &Node) -> SqlResult<bool> {
        Ok(self
            .scanner
            .first_match(tree.program(Direction::Forward)?, 0)?
            .is_some())
    }

    pub fn find(&mut self, tree: &Node, mut from: usize) -> SqlResult<Option<Match>> {
        let length = self.scanner.text.len();
        while let Some(first) = self
            .scanner
            .first_match(tree.program(Direction::Forward)?, from)?
        {
            let mut start = first.start;
            while start <= first.nearest_end {
                if let Some(found) = self.match_at(tree, start)? {
                    return Ok(Some(found));
                }
                start += self.character_length(start);
            }
            // PostgreSQL does not look at the end of the text again when the references have refused all before it.
            from = first.nearest_end + self.character_length(first.nearest_end);
            if from >= length {
                break;
            }
        }
        Ok(None)
    }

    fn character_length(&self, at: usize) -> usize {
        self.scanner.text[at..].chars().next().map_or(1, char::len_utf8)
    }

    /// The match that starts at `start`, with the preferred end.
    pub fn match_at(&mut self, tree: &Node, start: usize) -> SqlResult<Option<Match>> {
        let limit = self.scanner.text.len();
        let program = tree.program(Direction::Forward)?;
        if !tree.has_backreference() {
            let end = match tree.prefers_short() {
                true => self.scanner.shortest(program, start, limit)?,
                false => self.scanner.longest(program, start, limit)?,
            };
            let Some(end) = end else {
                return Ok(None);
            };
            self.dissect(tree, start, end)?;
            return Ok(Some(self.found(start, end)));
        }
        let mut ends = self.scanner.ends(program, Direction::Forward, start, limit)?;
        if !tree.prefers_short() {
            ends.reverse();
        }
        for end in ends {
            self.groups.fill(None);
            if self.dissect(tree, start, end)? {
                return Ok(Some(self.found(start, end)));
            }
        }
        Ok(None)
    }

    fn found(&self, start: usize, end: usize) -> Match {
        let groups = self
            .groups
            .iter()
            .map(|group| group.map(|(start, end)| start..end));
        Match {
            range: start..end,
            groups: groups.collect(),
        }
    }

    /// Divides `start..end`, which the node's program matches. False: a back reference refuses it.
    fn dissect(&mut self, node: &Node, start: usize, end: usize) -> SqlResult<bool> {
        self.scanner.spend(1)?;
        let matched = match &node.division {
            Division::Leaf => true,
            // Nothing below asks for its part.
            _ if !node.captures() && !node.has_backreference() => true,
            Division::Wrapper(inner) => self.dissect(inner, start, end)?,
            Division::Sequence(left, right) => self.dissect_sequence(left, right, start, end)?,
            Division::Choice(branches) => self.dissect_choice(branches, start, end)?,
            Division::Iteration { inner, min, max } => {
                self.dissect_iteration(inner, *min, *max, start, end)?
            }
            Division::Backreference { group, min, max } => self.refers(*group, *min, *max, start, end)?,
        };
        if let (Some(group), true) = (node.group, matched) {
            self.groups[group - 1] = Some((start, end));
        }
        Ok(matched)
    }

    fn dissect_sequence(&mut self, left: &Node, right: &Node, start: usize, end: usize) -> SqlResult<bool> {
        let ends = self
            .scanner
            .ends(left.program(Direction::Forward)?, Direction::Forward, start, end)?;
        let mut starts = self.scanner.ends(
            right.program(Direction::Backward)?,
            Direction::Backward,
            end,
            start,
        )?;
        starts.reverse();
        let mut middles: Vec<usize> = ends
            .into_iter()
            .filter(|place| starts.binary_search(place).is_ok())
            .collect();
        if !left.prefers_short() {
            middles.reverse();
        }
        for middle in middles {
            if self.dissect(left, start, middle)? {
                if self.dissect(right, middle, end)? {
                    return Ok(true);
                }
                self.forget(left);
            }
        }
        Ok(false)
    }

    fn dissect_choice(&mut self, branches: &[Node], start: usize, end: usize) -> SqlResult<bool> {
        for branch in branches {
            let longest = self
                .scanner
                .longest(branch.program(Direction::Forward)?, start, end)?;
            if longest == Some(end) && self.dissect(branch, start, end)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn dissect_iteration(
        &mut self,
        inner: &Node,
        min: u32,
        max: Option<u32>,
        start: usize,
        end: usize,
    ) -> SqlResult<bool> {
        if start == end && min == 0 {
            // One iteration is preferred to none, where long matches are: it sets the groups inside.
            if !inner.prefers_short() {
                let longest = self
                    .scanner
                    .longest(inner.program(Direction::Forward)?, start, end)?;
                if longest == Some(end) && self.dissect(inner, start, end)? {
                    return Ok(true);
                }
                self.forget(inner);
            }
            return Ok(true);
        }
        let length = self.scanner.text[start..end].chars().count();
        let min = (min as usize).max(1);
        let unbounded = max.is_none_or(|max| max as usize >= length);
        let max = max.map_or(length, |max| length.min(max as usize)).max(min);
        self.iterate(
            inner,
            Iterations {
                start,
                end,
                min,
                max,
                unbounded,
            },
        )
    }

    /// Finds the ends of the iterations, the most preferred first, and goes back to the last that has another.
    fn iterate(&mut self, inner: &Node, limits: Iterations) -> SqlResult<bool> {
        let refers = inner.has_backreference();
        let mut levels = vec![self.level(inner, limits, 1, limits.start)?];
        let mut verified = 0;
        // Without references below, a place from which the end was not reached once is not reached ever.
        let mut dead: HashSet<(usize, usize)> = HashSet::new();
        while !levels.is_empty() {
            let number = levels.len();
            let level = &mut levels[number - 1];
            let start = level.start;
            verified = verified.min(number - 1);
            let Some(end) = level.ends.pop() else {
                dead.insert((limits.rank(number), start));
                levels.pop();
                continue;
            };
            level.taken = end;
            if end != limits.end {
                let known = !refers && dead.contains(&(limits.rank(number + 1), end));
                if number < limits.max && !known {
                    levels.push(self.level(inner, limits, number + 1, end)?);
                }
                continue;
            }
            if number < limits.min {
                continue;
            }
            // What earlier iterations took is forgotten in any case: only references have to see it.
            let from = if refers { verified } else { number - 1 };
            match self.refused(inner, &levels, from)? {
                None => return Ok(true),
                Some(number) => {
                    levels.truncate(number + 1);
                    verified = number;
                }
            }
        }
        Ok(false)
    }

    /// An iteration from a place: the ends it may take. An empty one counts only to reach the least number.
    fn level(&mut self, inner: &Node, limits: Iterations, number: usize, start: usize) -> SqlResult<Level> {
        let program = inner.program(Direction::Forward)?;
        let mut ends = self
            .scanner
            .ends(program, Direction::Forward, start, limits.end)?;
        let missing = limits.min.saturating_sub(number);
        let left = self.scanner.text[start..limits.end]
            .chars()
            .take(missing + 1)
            .count();
        if start != limits.end && (missing == 0 || missing < left) {
            ends.retain(|&end| end != start);
        }
        // The next to try is taken from the back.
        if inner.prefers_short() {
            ends.reverse();
        }
        Ok(Level {
            start,
            ends,
            taken: start,
        })
    }

    /// The first iteration, from a number on, that a reference refuses.
    fn refused(&mut self, inner: &Node, levels: &[Level], from: usize) -> SqlResult<Option<usize>> {
        for (number, level) in levels.iter().enumerate().skip(from) {
            self.forget(inner);
            if !self.dissect(inner, level.start, level.taken)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// True when `start..end` is `min` to `max` repetitions of what a group took.
    fn refers(
        &mut self,
        group: usize,
        min: u32,
        max: Option<u32>,
        start: usize,
        end: usize,
    ) -> SqlResult<bool> {
        let Some((from, to)) = self.groups[group - 1] else {
            return Ok(false);
        };
        let (taken, wanted) = (&self.scanner.text[from..to], &self.scanner.text[start..end]);
        if taken.is_empty() || wanted.is_empty() {
            // Nothing is any number of repetitions of nothing.
            return Ok(wanted.is_empty() && (taken.is_empty() || min == 0));
        }
        let folds = self.ignore_case;
        let fold = |c: char| if folds { lower(c) } else { c };
        let unit = taken.chars().count();
        let length = wanted.chars().count();
        let times = length / unit;
        let possible = length.is_multiple_of(unit)
            && times >= min as usize
            && max.is_none_or(|max| times <= max as usize);
        let matched = possible
            && taken
                .chars()
                .cycle()
                .zip(wanted.chars())
                .all(|(a, b)| fold(a) == fold(b));
        self.scanner.spend(length)?;
        Ok(matched)
    }

    /// Clears the groups of a node and below.
    fn forget(&mut self, node: &Node) {
        if let Some(group) = node.group {
            self.groups[group - 1] = None;
        }
        match &node.division {
            Division::Leaf | Division::Backreference { .. } => {}
            Division::Sequence(left, right) => {
                self.forget(left);
                self.forget(right);
            }
            Division::Choice(branches) => branches.iter().for_each(|branch| self.forget(branch)),
            Division::Iteration { inner, .. } | Division::Wrapper(inner) => self.forget(inner),
        }
    }
}

/// What an iteration has to cover, and in how many times.
#[derive(Clone, Copy)]
struct Iterations {
    start: usize,
    end: usize,
    min: usize,
    max: usize,
    /// As many iterations are allowed as there are characters.
    unbounded: bool,
}

impl Iterations {
    /// The number of an iteration, as far as it decides what may follow.
    fn rank(&self, number: usize) -> usize {
        match self.unbounded {
            true => number.min(self.min),
            false => number,
        }
    }
}

/// One iteration under way: where it starts, the ends it has not tried, the one it takes.
struct Level {
    start: usize,
    ends: Vec<usize>,
    taken: usize,
}
