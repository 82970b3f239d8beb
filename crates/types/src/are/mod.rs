//! PostgreSQL's regular expressions: advanced ones (AREs), POSIX extended and basic ones, and literals.
//!
//! Read in this order: `charset` (sets of characters), `syntax` (the expression as a tree), `lexer` and `parser`
//! (text to tree), `tree` (who prefers long and who short matches), `program` and `scan` (which strings match,
//! without who matched what), `dissect` (which part each group took), `prefilter` (the `regex` crate, where it
//! provably answers the same), `long` (the same automata, in steps that are paid for).
//!
//! A match starts as far left as it can. Where it ends, and what each group takes, follows from preferences: every
//! quantifier prefers long or short, and an expression prefers what its first quantified atom prefers (section
//! 9.7.3.5 of PostgreSQL's documentation). That is neither POSIX nor Perl, so no engine at hand answers it.
//!
//! Source: the language of PostgreSQL's src/backend/regex (Spencer), its preferences in regexec.c's `dissect`; matching by sets
//! of states (Thompson, CACM 1968), where Spencer builds a DFA as he goes.
//!
//! Promises: without back references a search takes time proportional to text times pattern, squared at most;
//! with them it stops at a limit (`scan::Budget`). Nothing recurses with the length of the text.
//! Leaves out: collations other than C's order and Unicode's letters.

mod charset;
mod dissect;
mod lexer;
mod long;
mod parser;
mod prefilter;
mod program;
mod scan;
mod syntax;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::Range;

use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult};

use dissect::Matcher;
use prefilter::Prefilter;
use tree::Node;

/// Steps of one search: a second or two of work, far more than one without back references needs.
const STEPS_MAX: u64 = 1 << 28;

/// What it costs to begin a search, in units of `work`.
const SEARCH_UNITS: usize = 256;

/// How a pattern is read: option letters, the arguments of the functions and `(?..)` at a pattern's start alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub flavor: Flavor,
    pub ignore_case: bool,
    /// White space and `#` comments in the pattern mean nothing.
    pub expanded: bool,
    /// `.` and `[^..]` stop at newlines.
    pub newline_stops: bool,
    /// `^` and `$` also match at lines.
    pub newline_anchors: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavor {
    Basic,
    Extended,
    Advanced,
    Literal,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            flavor: Flavor::Advanced,
            ignore_case: false,
            expanded: false,
            newline_stops: false,
            newline_anchors: false,
        }
    }
}

impl Options {
    /// Applies one option letter; false where there is none such.
    pub fn apply(&mut self, letter: char) -> bool {
        let newline = match letter {
            'm' | 'n' => Some((true, true)),
            'p' => Some((true, false)),
            's' => Some((false, false)),
            'w' => Some((false, true)),
            _ => None,
        };
        if let Some((stops, anchors)) = newline {
            (self.newline_stops, self.newline_anchors) = (stops, anchors);
            return true;
        }
        match letter {
            'b' => self.flavor = Flavor::Basic,
            'c' => self.ignore_case = false,
            'e' => self.flavor = Flavor::Extended,
            'i' => self.ignore_case = true,
            'q' => self.flavor = Flavor::Literal,
            't' => self.expanded = false,
            'x' => self.expanded = true,
            _ => return false,
        }
        true
    }
}

/// A compiled pattern. Lazily compiled parts make it a value of one thread.
pub struct Regex {
    tree: Node,
    groups: usize,
    ignore_case: bool,
    prefilter: Option<Prefilter>,
}

/// What one match took: the whole and each group, as byte ranges of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Match {
    pub range: Range<usize>,
    groups: Vec<Option<Range<usize>>>,
}

impl Match {
    /// Group 0 is the whole match.
    pub fn group(&self, number: usize) -> Option<Range<usize>> {
        match number {
            0 => Some(self.range.clone()),
            _ => self.groups.get(number - 1)?.clone(),
        }
    }

    /// The parenthesised groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = Option<Range<usize>>> + '_ {
        self.groups.iter().cloned()
    }
}

impl Regex {
    pub fn new(pattern: &str, options: Options) -> SqlResult<Regex> {
        // The option letters refuse this pair of flavour and white space rather than guess what is meant.
        let literal = options.flavor == Flavor::Literal;
        if literal && (options.expanded || options.newline_stops || options.newline_anchors) {
            return Err(syntax_error("invalid argument to regex function"));
        }
        let parsed = parser::parse(pattern, options)?;
        let prefilter = prefilter::build(&parsed.syntax);
        Ok(Regex {
            tree: tree::build(&parsed.syntax)?,
            groups: parsed.groups,
            ignore_case: parsed.ignore_case,
            prefilter,
        })
    }

    fn matcher<'a>(&self, text: &'a str) -> Matcher<'a> {
        Matcher::new(text, self.ignore_case, self.groups, STEPS_MAX)
    }

    /// How many parenthesised groups the pattern has.
    pub fn group_count(&self) -> usize {
        self.groups
    }

    pub fn is_match(&self, text: &str) -> SqlResult<bool> {
        if let Some(prefilter) = &self.prefilter {
            return prefilter.is_match(text);
        }
        let mut matcher = self.matcher(text);
        if self.tree.has_backreference() {
            return Ok(matcher.find(&self.tree, 0)?.is_some());
        }
        matcher.may_match(&self.tree)
    }

    /// The first match that begins at `from` or behind it; what stands before `from` is still seen by `^` and its kin.
    pub fn find_at(&self, text: &str, from: usize) -> SqlResult<Option<Match>> {
        let mut matcher = self.matcher(text);
        let Some(prefilter) = &self.prefilter else {
            return matcher.find(&self.tree, from);
        };
        match prefilter.find_start(text, from)? {
            None => Ok(None),
            Some(start) => matcher.match_at(&self.tree, start),
        }
    }

    /// All matches from `from` on, none overlapping another. Behind an empty match the search goes on one
    /// character further.
    pub fn matches<'a>(&'a self, text: &'a str, from: usize) -> impl Iterator<Item = SqlResult<Match>> + 'a {
        let mut next = Some(from);
        // A search pays for what it goes through, and not for having begun.
        let mut meter = Meter::default();
        std::iter::from_fn(move || {
            let from = next?;
            let found = match meter.tick(SEARCH_UNITS).and_then(|()| self.find_at(text, from)) {
                Ok(found) => found?,
                Err(error) => {
                    next = None;
                    return Some(Err(error));
                }
            };
            let end = found.range.end;
            next = match found.range.is_empty() {
                false => Some(end),
                true => text[end..].chars().next().map(|c| end + c.len_utf8()),
            };
            Some(Ok(found))
        })
    }
}

#[cold]
fn syntax_error(reason: &str) -> SqlError {
    let message = format!("invalid regular expression: {reason}");
    SqlError::new(state::INVALID_REGULAR_EXPRESSION, message)
}

#[cold]
fn too_complex() -> SqlError {
    syntax_error("regular expression is too complex")
}
