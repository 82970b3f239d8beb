//! Tokens to a tree.

use std::sync::Arc;

use mote_common::SqlResult;

use super::charset::CharSet;
use super::lexer::{Lexer, Token};
use super::syntax::Syntax;
use super::{Flavor, Options, syntax_error, too_complex};

/// Parentheses in parentheses: the tree is walked recursively.
const DEPTH_MAX: usize = 250;
/// Groups that capture: each is a level of the tree, or of what a back reference means.
const GROUPS_MAX: usize = 500;

pub struct Parsed {
    pub syntax: Syntax,
    pub groups: usize,
    pub ignore_case: bool,
}

pub fn parse(pattern: &str, options: Options) -> SqlResult<Parsed> {
    let mut lexer = Lexer::new(pattern, options)?;
    let token = lexer.next()?;
    let mut parser = Parser {
        lexer,
        token,
        shapes: Vec::new(),
        depth: 0,
        looking: false,
    };
    let syntax = parser.choice()?;
    if parser.token != Token::End {
        return Err(syntax_error("parentheses () not balanced"));
    }
    Ok(Parsed {
        syntax,
        groups: parser.lexer.groups,
        ignore_case: parser.lexer.options.ignore_case,
    })
}

struct Parser {
    lexer: Lexer,
    token: Token,
    /// For each group that was closed, what a back reference to it may consume.
    shapes: Vec<Option<Arc<Syntax>>>,
    depth: usize,
    /// Inside a look-around, where nothing captures and nothing refers back.
    looking: bool,
}

impl Parser {
    fn advance(&mut self) -> SqlResult<()> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    fn choice(&mut self) -> SqlResult<Syntax> {
        let mut branches = vec![self.branch()?];
        while self.token == Token::Or {
            self.advance()?;
            branches.push(self.branch()?);
        }
        Ok(match branches.len() {
            1 => branches.remove(0),
            _ => Syntax::Choice(branches),
        })
    }

    fn branch(&mut self) -> SqlResult<Syntax> {
        let mut parts = Vec::new();
        loop {
            let stray = self.depth == 0 && self.lexer.options.flavor == Flavor::Extended;
            match self.token {
                Token::Or | Token::End => break,
                // POSIX takes a stray parenthesis of an extended expression for itself.
                Token::Close if !stray => break,
                _ => parts.extend(self.quantified()?),
            }
        }
        Ok(Syntax::Sequence(parts))
    }

    /// An atom with its quantifier, or a constraint, which takes none. None for `x{0}`.
    fn quantified(&mut self) -> SqlResult<Option<Syntax>> {
        let atom = self.atom()?;
        if matches!(atom, Syntax::Place(_) | Syntax::Look { .. }) {
            return Ok(Some(atom));
        }
        let Token::Quantifier(quantifier) = self.token else {
            return Ok(Some(atom));
        };
        self.advance()?;
        if quantifier.max == Some(0) {
            return Ok(None);
        }
        let inner = Arc::new(atom);
        Ok(Some(Syntax::Repeat { inner, quantifier }))
    }

    fn atom(&mut self) -> SqlResult<Syntax> {
        let atom = match std::mem::replace(&mut self.token, Token::End) {
            Token::Quantifier(_) => return Err(syntax_error("quantifier operand invalid")),
            Token::Place(place) => Syntax::Place(place),
            Token::Char(c) => Syntax::Char(c),
            Token::Close => Syntax::Char(')'),
            Token::Set(set) => Syntax::Set(set),
            Token::Any => {
                let excluded = match self.lexer.options.newline_stops {
                    true => CharSet::single('\n', false),
                    false => CharSet::default(),
                };
                Syntax::Set(Arc::new(excluded.complement()))
            }
            Token::Look { ahead, negative } => {
                let outer = std::mem::replace(&mut self.looking, true);
                let inner = Arc::new(self.parenthesised()?);
                self.looking = outer;
                Syntax::Look {
                    ahead,
                    negative,
                    inner,
                }
            }
            Token::Open { captures } => self.group(captures && !self.looking)?,
            Token::Backreference(group) => {
                let shape = match self.looking {
                    true => None,
                    false => self.shapes.get(group.wrapping_sub(1)).cloned().flatten(),
                };
                let shape = shape.ok_or_else(|| syntax_error("invalid backreference number"))?;
                Syntax::Backreference { group, shape }
            }
            Token::Or | Token::End => unreachable!("a branch ends before these"),
        };
        self.advance()?;
        Ok(atom)
    }

    fn group(&mut self, captures: bool) -> SqlResult<Syntax> {
        if captures && self.lexer.groups == GROUPS_MAX {
            return Err(too_complex());
        }
        let number = captures.then(|| {
            self.lexer.groups += 1;
            self.shapes.push(None);
            self.lexer.groups
        });
        let inner = Arc::new(self.parenthesised()?);
        if let Some(number) = number {
            self.shapes[number - 1] = Some(Arc::new(inner.without_constraints()));
        }
        Ok(Syntax::Group { number, inner })
    }

    /// What stands between parentheses; the closing one stays the current token.
    fn parenthesised(&mut self) -> SqlResult<Syntax> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_complex());
        }
        self.advance()?;
        let inner = self.choice()?;
        if self.token != Token::Close {
            return Err(syntax_error("parentheses () not balanced"));
        }
        self.depth -= 1;
        Ok(inner)
    }
}
