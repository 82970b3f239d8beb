//! Test specifications: setup and teardown, sessions with named steps, and the permutations to run.
//!
//! The grammar is that of PostgreSQL's `src/test/isolation/README`. SQL blocks keep their line breaks; a `}` ends
//! them, always. A parsed specification is checked: names resolve, steps are unique, nothing blocks on its own session.

use std::collections::BTreeSet;
use std::str::CharIndices;

#[derive(Debug, Default, PartialEq)]
pub struct Spec {
    /// Each is one submission, before every permutation.
    pub setups: Vec<String>,
    pub teardown: Option<String>,
    pub sessions: Vec<Session>,
    /// What to run; all interleavings where the file names none.
    pub permutations: Vec<Vec<PermutationStep>>,
    /// Steps that no named permutation uses, by name: isolationtester warns about them.
    pub unused_steps: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub struct Session {
    pub name: String,
    pub setup: Option<String>,
    pub steps: Vec<Step>,
    pub teardown: Option<String>,
}

#[derive(Debug, PartialEq)]
pub struct Step {
    pub name: String,
    pub sql: String,
}

/// A step's place: session and step, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepId {
    pub session: usize,
    pub step: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PermutationStep {
    pub id: StepId,
    /// What else must have happened before the step's end is reported.
    pub blockers: Vec<Blocker>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Blocker {
    /// `(*)`: the step is reported as waiting once, whether it waits or not.
    Once,
    /// `(other)`: not before the other step has been reported.
    Step(StepId),
    /// `(other notices n)`: not before the other step's session has received so many notices more.
    Notices(StepId, usize),
}

impl Spec {
    pub fn parse(text: &str) -> Result<Spec, String> {
        let tokens = Scanner::new(text).tokens()?;
        Parser { tokens, at: 0 }.spec()
    }

    pub fn step(&self, id: StepId) -> &Step {
        &self.sessions[id.session].steps[id.step]
    }

    /// Every interleaving of the sessions' steps, each session's in their order; earlier sessions' steps first.
    pub fn all_interleavings(&self) -> Vec<Vec<PermutationStep>> {
        let mut taken = vec![0; self.sessions.len()];
        let (mut all, mut prefix) = (Vec::new(), Vec::new());
        self.interleave(&mut taken, &mut prefix, &mut all);
        all
    }

    fn interleave(
        &self,
        taken: &mut [usize],
        prefix: &mut Vec<PermutationStep>,
        all: &mut Vec<Vec<PermutationStep>>,
    ) {
        let mut complete = true;
        for session in 0..self.sessions.len() {
            let step = taken[session];
            if step == self.sessions[session].steps.len() {
                continue;
            }
            complete = false;
            taken[session] += 1;
            prefix.push(PermutationStep {
                id: StepId { session, step },
                blockers: Vec::new(),
            });
            self.interleave(taken, prefix, all);
            prefix.pop();
            taken[session] -= 1;
        }
        if complete {
            all.push(prefix.clone());
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Keyword(&'static str),
    Name(String),
    Sql(String),
    Number(usize),
    Punctuation(char),
}

const KEYWORDS: [&str; 6] = ["notices", "permutation", "session", "setup", "step", "teardown"];

struct Scanner<'a> {
    text: &'a str,
    characters: std::iter::Peekable<CharIndices<'a>>,
    line: usize,
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\x0c')
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Scanner<'a> {
        Scanner {
            text,
            characters: text.char_indices().peekable(),
            line: 1,
        }
    }

    /// All tokens with their lines.
    fn tokens(mut self) -> Result<Vec<(Token, usize)>, String> {
        let mut tokens = Vec::new();
        while let Some((at, c)) = self.characters.next() {
            let line = self.line;
            let token = match c {
                '\n' => {
                    self.line += 1;
                    continue;
                }
                c if is_space(c) => continue,
                '#' => {
                    self.take_while(|c| c != '\n');
                    continue;
                }
                '"' => self.quoted_name()?,
                '{' => self.sql_block()?,
                '0'..='9' => {
                    let end = self.take_while(|c| c.is_ascii_digit());
                    let digits = &self.text[at..end];
                    Token::Number(
                        digits
                            .parse()
                            .map_err(|e| format!("line {line}: {digits}: {e}"))?,
                    )
                }
                ',' | '(' | ')' | '*' => Token::Punctuation(c),
                c if c.is_ascii_alphabetic() || c == '_' || !c.is_ascii() => {
                    let end = self
                        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii());
                    let word = &self.text[at..end];
                    match KEYWORDS.iter().find(|keyword| **keyword == word) {
                        Some(keyword) => Token::Keyword(keyword),
                        None => Token::Name(word.to_string()),
                    }
                }
                other => return Err(format!("line {line}: unexpected character \"{other}\"")),
            };
            tokens.push((token, line));
        }
        Ok(tokens)
    }

    /// Skips what belongs to the token; where the rest begins.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> usize {
        while let Some(&(at, c)) = self.characters.peek() {
            if !belongs(c) {
                return at;
            }
            self.characters.next();
        }
        self.text.len()
    }

    fn quoted_name(&mut self) -> Result<Token, String> {
        let mut name = String::new();
        loop {
            match self.characters.next() {
                Some((_, '"')) if self.characters.peek().is_some_and(|(_, c)| *c == '"') => {
                    self.characters.next();
                    name.push('"');
                }
                Some((_, '"')) => return Ok(Token::Name(name)),
                Some((_, '\n')) | None => return Err(format!("line {}: unterminated name", self.line)),
                Some((_, c)) => name.push(c),
            }
        }
    }

    /// Blanks next to the braces go; line breaks stay.
    fn sql_block(&mut self) -> Result<Token, String> {
        let first = self.line;
        let mut sql = String::new();
        for (_, c) in self.characters.by_ref() {
            match c {
                '}' => return Ok(Token::Sql(sql.trim_matches(is_space).to_string())),
                '\n' => self.line += 1,
                _ => {}
            }
            sql.push(c);
        }
        Err(format!("line {first}: unterminated SQL block"))
    }
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
}

/// A permutation before its names are resolved.
type NamedStep = (String, Vec<NamedBlocker>);

enum NamedBlocker {
    Once,
    Step(String),
    Notices(String, usize),
}

impl Parser {
    fn spec(mut self) -> Result<Spec, String> {
        let mut spec = Spec::default();
        while let Some(sql) = self.block("setup")? {
            spec.setups.push(sql);
        }
        spec.teardown = self.block("teardown")?;
        while self.accept(&Token::Keyword("session")) {
            spec.sessions.push(self.session()?);
        }
        if spec.sessions.is_empty() {
            return Err(self.unexpected("session"));
        }
        let mut permutations = Vec::new();
        while self.accept(&Token::Keyword("permutation")) {
            permutations.push(self.permutation()?);
        }
        if self.at < self.tokens.len() {
            return Err(self.unexpected("permutation or the end"));
        }
        resolve(spec, permutations)
    }

    fn session(&mut self) -> Result<Session, String> {
        let name = self.name()?;
        let setup = self.block("setup")?;
        let mut steps = Vec::new();
        while self.accept(&Token::Keyword("step")) {
            let name = self.name()?;
            let sql = self.sql()?;
            steps.push(Step { name, sql });
        }
        if steps.is_empty() {
            return Err(self.unexpected("step"));
        }
        let teardown = self.block("teardown")?;
        Ok(Session {
            name,
            setup,
            steps,
            teardown,
        })
    }

    fn permutation(&mut self) -> Result<Vec<NamedStep>, String> {
        let mut steps = vec![self.permutation_step()?];
        while matches!(self.peek(), Some(Token::Name(_))) {
            steps.push(self.permutation_step()?);
        }
        Ok(steps)
    }

    fn permutation_step(&mut self) -> Result<NamedStep, String> {
        let name = self.name()?;
        let mut blockers = Vec::new();
        if self.accept(&Token::Punctuation('(')) {
            loop {
                blockers.push(self.blocker()?);
                if self.accept(&Token::Punctuation(')')) {
                    break;
                }
                if !self.accept(&Token::Punctuation(',')) {
                    return Err(self.unexpected("\",\" or \")\""));
                }
            }
        }
        Ok((name, blockers))
    }

    fn blocker(&mut self) -> Result<NamedBlocker, String> {
        if self.accept(&Token::Punctuation('*')) {
            return Ok(NamedBlocker::Once);
        }
        let name = self.name()?;
        if !self.accept(&Token::Keyword("notices")) {
            return Ok(NamedBlocker::Step(name));
        }
        match self.next() {
            Some(Token::Number(count)) => Ok(NamedBlocker::Notices(name, count)),
            _ => Err(self.unexpected("a number of notices")),
        }
    }

    fn block(&mut self, keyword: &'static str) -> Result<Option<String>, String> {
        if !self.accept(&Token::Keyword(keyword)) {
            return Ok(None);
        }
        self.sql().map(Some)
    }

    fn sql(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Sql(sql)) => Ok(sql),
            _ => Err(self.unexpected("an SQL block")),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Name(name)) => Ok(name),
            _ => Err(self.unexpected("a name")),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn accept(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, wanted: &str) -> String {
        let line = self
            .tokens
            .get(self.at.saturating_sub(1))
            .map_or(0, |(_, line)| *line);
        format!("near line {line}: expected {wanted}")
    }
}

fn resolve(mut spec: Spec, permutations: Vec<Vec<NamedStep>>) -> Result<Spec, String> {
    let mut places: Vec<(&str, StepId)> = Vec::new();
    for (session, definition) in spec.sessions.iter().enumerate() {
        for (step, Step { name, .. }) in definition.steps.iter().enumerate() {
            places.push((name, StepId { session, step }));
        }
    }
    places.sort_by_key(|(name, _)| *name);
    if let Some(twice) = places.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("duplicate step name: {}", twice[0].0));
    }
    let place = |name: &str| {
        let found = places.binary_search_by_key(&name, |(name, _)| *name);
        found
            .map(|at| places[at].1)
            .map_err(|_| format!("undefined step \"{name}\" specified in permutation"))
    };
    let mut resolved = Vec::new();
    let mut used = BTreeSet::new();
    for permutation in &permutations {
        used.extend(permutation.iter().map(|(name, _)| name.as_str()));
        let blocking = |own: StepId, name: &str| {
            let id = place(name)?;
            if !permutation.iter().any(|(other, _)| other == name) {
                return Err(format!("undefined blocking step \"{name}\""));
            }
            if id.session == own.session {
                return Err(format!("a step cannot block on \"{name}\" of its own session"));
            }
            Ok(id)
        };
        let mut steps = Vec::with_capacity(permutation.len());
        for (name, named) in permutation {
            let id = place(name)?;
            let mut blockers = Vec::with_capacity(named.len());
            for blocker in named {
                blockers.push(match blocker {
                    NamedBlocker::Once => Blocker::Once,
                    NamedBlocker::Step(other) => Blocker::Step(blocking(id, other)?),
                    NamedBlocker::Notices(other, count) => Blocker::Notices(blocking(id, other)?, *count),
                });
            }
            steps.push(PermutationStep { id, blockers });
        }
        resolved.push(steps);
    }
    if !resolved.is_empty() {
        let unused = places.iter().filter(|(name, _)| !used.contains(name));
        spec.unused_steps = unused.map(|(name, _)| name.to_string()).collect();
    }
    spec.permutations = resolved;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_SESSIONS: &str = "
        # a comment
        setup { create table t (a int); }
        setup {  vacuum t;  }
        teardown { drop table t; }
        session s1
        setup { begin; }
        step a { select 1;
 }
        step \"odd \"\"name\" { select 2; }
        teardown { commit; }
        session \"s2\"
        step c { select 3; }
        permutation a \"odd \"\"name\"(c) c (*, a notices 2)
        permutation a
    ";

    #[test]
    fn parses_everything_the_grammar_has() {
        let spec = Spec::parse(TWO_SESSIONS).expect("well formed");
        assert_eq!(spec.setups, ["create table t (a int);", "vacuum t;"]);
        assert_eq!(spec.teardown.as_deref(), Some("drop table t;"));
        assert_eq!(spec.sessions[0].setup.as_deref(), Some("begin;"));
        assert_eq!(spec.sessions[0].steps[0].sql, "select 1;\n");
        assert_eq!(spec.sessions[0].steps[1].name, "odd \"name");
        let (a, odd) = (StepId { session: 0, step: 0 }, StepId { session: 0, step: 1 });
        let c = StepId { session: 1, step: 0 };
        assert_eq!(spec.permutations[0][1].id, odd);
        assert_eq!(spec.permutations[0][1].blockers, [Blocker::Step(c)]);
        assert_eq!(
            spec.permutations[0][2].blockers,
            [Blocker::Once, Blocker::Notices(a, 2)]
        );
        assert!(spec.unused_steps.is_empty());
    }

    #[test]
    fn interleaves_in_the_order_of_the_sessions() {
        let spec =
            Spec::parse("session s1 step a {A} step b {B} session s2 step c {C}").expect("well formed");
        let names = |steps: &Vec<PermutationStep>| -> String {
            steps
                .iter()
                .map(|step| spec.step(step.id).name.as_str())
                .collect()
        };
        let all: Vec<String> = spec.all_interleavings().iter().map(names).collect();
        assert_eq!(all, ["abc", "acb", "cab"]);
    }

    #[test]
    fn refuses_what_cannot_run() {
        let refused = |text: &str| Spec::parse(text).expect_err("malformed");
        assert!(refused("session s1 step a {A} step a {B}").contains("duplicate"));
        assert!(refused("session s1 step a {A} permutation b").contains("undefined step"));
        assert!(refused("session s1 step a {A} step b {B} permutation a(b) b").contains("own session"));
        assert!(refused("session s1 step a {A} session s2 step b {B} permutation a(b)").contains("blocking"));
        assert!(refused("session s1 step a {A").contains("unterminated"));
        assert!(refused("setup {A}").contains("session"));
        assert!(refused("session s1 step a {A} ;").contains("unexpected character"));
    }

    #[test]
    fn names_unused_steps_only_beside_named_permutations() {
        let unused = |text: &str| Spec::parse(text).expect("well formed").unused_steps;
        assert_eq!(
            unused("session s1 step b {B} step a {A} step c {C} permutation b"),
            ["a", "c"]
        );
        assert!(unused("session s1 step b {B}").is_empty());
    }
}
