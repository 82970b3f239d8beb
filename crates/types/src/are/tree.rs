//! Who prefers what: the tree that says how the text of a match is divided among the parts of an expression.
//!
//! A run of parts that capture nothing, refer to nothing and prefer the same is one leaf, whose match needs no
//! dividing. Everything else splits the text in two or iterates. Where the borders fall decides PostgreSQL's
//! answers, so this follows its documentation to the letter: a branch prefers what its first quantified atom
//! prefers, a choice between branches prefers long, and a part with another preference than what stands before it
//! is divided from it.

use std::sync::Arc;
use std::sync::OnceLock;

use mote_common::SqlResult;

use super::program::{Direction, Program};
use super::syntax::{Prefer, Quantifier, Syntax};
use super::too_complex;

/// Nodes below one another: they are built and walked recursively.
const DEPTH_MAX: usize = 600;

/// What a node is known for when it becomes a part of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Traits {
    prefer: Option<Prefer>,
    /// Parts inside it prefer differently.
    mixed: bool,
    captures: bool,
    refers: bool,
}

impl Traits {
    /// True when the node's match has to be divided to know what its parts took.
    fn needs_dividing(self) -> bool {
        self.mixed || self.captures || self.refers
    }

    /// Two parts as one: the first preference counts, and different ones are mixed.
    fn and(self, other: Traits) -> Traits {
        let differs = matches!((self.prefer, other.prefer), (Some(a), Some(b)) if a != b);
        Traits {
            prefer: self.prefer.or(other.prefer),
            mixed: self.mixed || other.mixed || differs,
            captures: self.captures || other.captures,
            refers: self.refers || other.refers,
        }
    }

    fn preferring(prefer: Option<Prefer>) -> Traits {
        Traits {
            prefer,
            ..Traits::default()
        }
    }
}

pub enum Division {
    /// Nothing to divide.
    Leaf,
    Sequence(Box<Node>, Box<Node>),
    Choice(Vec<Node>),
    Iteration {
        inner: Box<Node>,
        min: u32,
        max: Option<u32>,
    },
    /// A group that is nothing but another group.
    Wrapper(Box<Node>),
    Backreference {
        group: usize,
        min: u32,
        max: Option<u32>,
    },
}

pub struct Node {
    pub division: Division,
    traits: Traits,
    /// The group this node is.
    pub group: Option<usize>,
    /// What strings it matches.
    syntax: Arc<Syntax>,
    forward: OnceLock<Program>,
    backward: OnceLock<Program>,
}

impl Node {
    fn new(division: Division, traits: Traits, syntax: Arc<Syntax>) -> Node {
        Node {
            division,
            traits,
            group: None,
            syntax,
            forward: OnceLock::new(),
            backward: OnceLock::new(),
        }
    }

    pub fn prefers_short(&self) -> bool {
        self.traits.prefer == Some(Prefer::Short)
    }

    pub fn has_backreference(&self) -> bool {
        self.traits.refers
    }

    pub fn captures(&self) -> bool {
        self.traits.captures
    }

    pub fn program(&self, direction: Direction) -> SqlResult<&Program> {
        let cell = match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        };
        if let Some(program) = cell.get() {
            return Ok(program);
        }
        let program = Program::compile(&self.syntax, direction)?;
        Ok(cell.get_or_init(|| program))
    }
}

/// The tree of an expression. Its program is compiled here, so that one that is too large is refused at once.
pub fn build(syntax: &Syntax) -> SqlResult<Node> {
    let tree = choice(syntax, 0)?;
    tree.program(Direction::Forward)?;
    Ok(tree)
}

fn choice(syntax: &Syntax, depth: usize) -> SqlResult<Node> {
    let Syntax::Choice(branches) = syntax else {
        let parts = match syntax {
            Syntax::Sequence(parts) => parts.as_slice(),
            single => std::slice::from_ref(single),
        };
        return branch(parts, depth);
    };
    let mut traits = Traits::preferring(Some(Prefer::Long));
    let mut nodes = Vec::with_capacity(branches.len());
    for part in branches {
        let node = choice(part, depth + 1)?;
        traits = traits.and(node.traits);
        nodes.push(node);
    }
    let division = match traits.needs_dividing() {
        true => Division::Choice(nodes),
        false => Division::Leaf,
    };
    Ok(Node::new(division, traits, Arc::new(syntax.clone())))
}

fn sequence(parts: &[Syntax]) -> Arc<Syntax> {
    Arc::new(Syntax::Sequence(parts.to_vec()))
}

fn branch(parts: &[Syntax], depth: usize) -> SqlResult<Node> {
    if depth >= DEPTH_MAX {
        return Err(too_complex());
    }
    let mut before = Traits::default();
    for (at, part) in parts.iter().enumerate() {
        let (atom, quantifier) = match part {
            Syntax::Place(_) | Syntax::Look { .. } => continue,
            Syntax::Repeat { inner, quantifier } => (&**inner, *quantifier),
            atom => (
                atom,
                Quantifier {
                    min: 1,
                    max: Some(1),
                    prefer: None,
                },
            ),
        };
        let node = atom_node(atom, depth + 1)?;
        let outer = Traits::preferring(quantifier.prefer);
        let whole = before.and(outer).and(node.traits);
        let plain = node.group.is_none() && !matches!(atom, Syntax::Backreference { .. });
        if plain && !whole.needs_dividing() {
            before = whole;
            continue;
        }
        let divided = quantified(node, quantifier, part);
        let tail = match &parts[at + 1..] {
            [] => divided,
            rest => {
                let rest = branch(rest, depth + 1)?;
                join(divided, outer, rest, at > 0, sequence(&parts[at..]))
            }
        };
        if at == 0 {
            return Ok(tail);
        }
        let head = Node::new(Division::Leaf, before, sequence(&parts[..at]));
        let traits = before.and(tail.traits);
        let division = Division::Sequence(Box::new(head), Box::new(tail));
        return Ok(Node::new(division, traits, sequence(parts)));
    }
    Ok(Node::new(Division::Leaf, before, sequence(parts)))
}

/// A part that needs dividing and the rest of its branch. `outer` is what the part's quantifier prefers.
fn join(part: Node, outer: Traits, rest: Node, has_prefix: bool, syntax: Arc<Syntax>) -> Node {
    let leaves = matches!((&part.division, &rest.division), (Division::Leaf, Division::Leaf));
    let both = part.traits.and(rest.traits);
    // Such a part was divided only because it prefers otherwise than what stands before it.
    if has_prefix && leaves && !both.needs_dividing() {
        return Node::new(Division::Leaf, both, syntax);
    }
    let division = Division::Sequence(Box::new(part), Box::new(rest));
    Node::new(division, outer.and(both), syntax)
}

fn atom_node(atom: &Syntax, depth: usize) -> SqlResult<Node> {
    Ok(match atom {
        Syntax::Group { number, inner } => {
            let mut node = choice(inner, depth)?;
            let Some(number) = *number else {
                return Ok(node);
            };
            if node.group.is_some() {
                let traits = node.traits;
                node = Node::new(Division::Wrapper(Box::new(node)), traits, Arc::clone(inner));
            }
            node.group = Some(number);
            node.traits.captures = true;
            node
        }
        Syntax::Backreference { group, shape } => {
            let division = Division::Backreference {
                group: *group,
                min: 1,
                max: Some(1),
            };
            let traits = Traits {
                refers: true,
                ..Traits::default()
            };
            Node::new(division, traits, Arc::clone(shape))
        }
        other => Node::new(Division::Leaf, Traits::default(), Arc::new(other.clone())),
    })
}

/// An atom that needs dividing, with its quantifier. `part` is both, as parsed.
fn quantified(atom: Node, quantifier: Quantifier, part: &Syntax) -> Node {
    let Quantifier { min, max, prefer } = quantifier;
    let traits = Traits::preferring(prefer).and(atom.traits);
    let syntax = Arc::new(part.clone());
    let bare = match part {
        Syntax::Repeat { inner, .. } => &**inner,
        atom => atom,
    };
    // A reference counts its own repetitions; one in parentheses is an atom like others.
    if let &Syntax::Backreference { group, .. } = bare {
        return Node::new(Division::Backreference { group, min, max }, traits, syntax);
    }
    let own = atom.traits;
    let agrees = prefer.is_none() || !own.mixed && own.prefer.is_none_or(|own| Some(own) == prefer);
    if (min, max) == (1, Some(1)) && agrees {
        return atom;
    }
    if !own.captures && !own.refers {
        return Node::new(Division::Leaf, traits, syntax);
    }
    if min == 0 || own.refers {
        let inner = Box::new(atom);
        return Node::new(Division::Iteration { inner, min, max }, traits, syntax);
    }
    // Only the last iteration's groups are wanted: all the others are one leaf before it.
    let inner = match part {
        Syntax::Repeat { inner, .. } => Arc::clone(inner),
        atom => Arc::new(atom.clone()),
    };
    let quantifier = Quantifier {
        min: min - 1,
        max: max.map(|max| max - 1),
        prefer,
    };
    let others = Arc::new(Syntax::Repeat { inner, quantifier });
    let others = Node::new(Division::Leaf, Traits::preferring(traits.prefer), others);
    Node::new(
        Division::Sequence(Box::new(others), Box::new(atom)),
        traits,
        syntax,
    )
}
