//! A regular expression as a tree, as its text is bracketed.

use std::sync::Arc;

use super::charset::CharSet;

/// What a quantifier prefers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefer {
    Long,
    Short,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantifier {
    pub min: u32,
    /// None: without end.
    pub max: Option<u32>,
    /// None for `{m}`, which takes its atom's preference.
    pub prefer: Option<Prefer>,
}

/// A place between characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordBoundary,
    NoWordBoundary,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Syntax {
    Char(char),
    Set(Arc<CharSet>),
    Place(Place),
    Look {
        ahead: bool,
        negative: bool,
        inner: Arc<Syntax>,
    },
    Group {
        /// Groups are numbered from 1; None for `(?:..)`.
        number: Option<usize>,
        inner: Arc<Syntax>,
    },
    Backreference {
        group: usize,
        /// What the group's text can look like: the group's expression without its constraints.
        shape: Arc<Syntax>,
    },
    Repeat {
        inner: Arc<Syntax>,
        quantifier: Quantifier,
    },
    Sequence(Vec<Syntax>),
    /// Two or more branches.
    Choice(Vec<Syntax>),
}

impl Syntax {
    /// The expression without anything that looks at its surroundings: what a back reference to it may consume.
    pub fn without_constraints(&self) -> Syntax {
        let all = |parts: &[Syntax]| parts.iter().map(Syntax::without_constraints).collect();
        match self {
            Syntax::Char(_) | Syntax::Set(_) => self.clone(),
            Syntax::Place(_) | Syntax::Look { .. } => Syntax::Sequence(Vec::new()),
            Syntax::Group { inner, .. } => inner.without_constraints(),
            // Shared, not copied: references to references would double with each one.
            Syntax::Backreference { shape, .. } => Syntax::Group {
                number: None,
                inner: Arc::clone(shape),
            },
            Syntax::Repeat { inner, quantifier } => Syntax::Repeat {
                inner: Arc::new(inner.without_constraints()),
                quantifier: *quantifier,
            },
            Syntax::Sequence(parts) => Syntax::Sequence(all(parts)),
            Syntax::Choice(parts) => Syntax::Choice(all(parts)),
        }
    }
}
