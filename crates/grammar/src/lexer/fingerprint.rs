//! Fingerprints: the text of a statement with its literals taken out, as the key of a plan that serves all of them.
//!
//! A literal is taken out only where a parameter of its type means the same, whatever its value. It stays in the key:
//! - in select lists, RETURNING, HAVING, GROUP BY, ORDER BY, PARTITION BY and WINDOW, where expressions are matched with
//!   each other, an integer may be a position, and a bare string is a column of type text;
//! - in the target of ON CONFLICT, which is matched with an index's expressions and predicate;
//! - in VALUES other than INSERT's own, whose column types come from the values;
//! - behind AS and `::`, where numbers are type modifiers (`CAST(x AS numeric(10,2))`);
//! - behind a word that could be a type (`date '2020-01-01'`, `interval '1' day`) and behind FETCH FIRST;
//! - when it is no plain string or decimal number (`E''`, `B''`, `$$..$$`).
//!
//! LIMIT and OFFSET do give theirs: the plan is the same and the count is read when it runs.
//!
//! There is no fingerprint for anything but SELECT, INSERT, UPDATE, DELETE, WITH and VALUES, for SELECT INTO, for more
//! than one statement, for a text with parameters of its own, and for what the lexer cannot read.
//!
//! The caller's part: parse and bind the text of the fingerprint with the parameter types of its literals, a quoted
//! string being of type unknown; if that fails in any way, or if a string does not convert to the type its parameter
//! was given, run the statement as it was written, so that errors are the same as without fingerprints. Settings that
//! change parsing belong in the cache's key beside this one. Where a literal might have opened a
//! partial or expression index, the plan says so (`Plan::constants_matter`) and the statement is planned as written.

use super::{Lexer, Token, TokenKind};

/// Longer texts are not worth a fingerprint: they rarely come twice.
pub const MAX_FINGERPRINT_BYTES: usize = 64 << 10;

/// The most literals taken out of one statement.
pub const MAX_LITERALS: usize = 1024;

/// A reusable buffer for one statement's fingerprint: filling it allocates only until it has grown to its size.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint {
    key: String,
    text_length: usize,
    literals: Vec<Literal>,
}

/// A literal that was taken out; parameter `$n` is number n - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    pub kind: LiteralKind,
    /// Bytes of the statement's text; a string's quotes are not included, a number's sign is not either.
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// An integer that fits int4, its sign applied.
    Int4(i32),
    /// One that fits int8 only.
    Int8(i64),
    /// Any other number, as decimal text.
    Numeric { negative: bool },
    /// A quoted string, whose type is unknown. `quotes`: it holds doubled quotes, which stand for one.
    String { quotes: bool },
}

impl LiteralKind {
    /// Literals of one letter have parameters of one type.
    fn letter(self) -> char {
        match self {
            LiteralKind::Int4(_) => 'i',
            LiteralKind::Int8(_) => 'l',
            LiteralKind::Numeric { .. } => 'n',
            LiteralKind::String { .. } => 's',
        }
    }
}

impl Literal {
    /// The literal's bytes in the statement's text.
    pub fn text<'t>(&self, statement: &'t str) -> &'t str {
        &statement[self.start as usize..self.end as usize]
    }
}

impl Fingerprint {
    pub fn new() -> Fingerprint {
        Fingerprint::default()
    }

    /// What to look a plan up by: the text, and the types of its parameters.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The statement with `$1`, `$2` .. in place of its literals, without comments: what to parse when there is no plan.
    pub fn text(&self) -> &str {
        &self.key[..self.text_length]
    }

    pub fn literals(&self) -> &[Literal] {
        &self.literals
    }

    /// Fills the buffer from a statement. False: the statement has no fingerprint, and the buffer is of no use.
    pub fn fill(&mut self, statement: &str) -> bool {
        self.key.clear();
        self.literals.clear();
        self.text_length = 0;
        if statement.len() > MAX_FINGERPRINT_BYTES {
            return false;
        }
        let walked = Walk {
            statement,
            buffer: self,
            levels: Levels::new(),
            previous: Previous::start(),
        }
        .run();
        if walked.is_none() {
            return false;
        }
        self.text_length = self.key.len();
        self.key.push('\0');
        for index in 0..self.literals.len() {
            let letter = self.literals[index].kind.letter();
            self.key.push(letter);
        }
        true
    }
}

/// Whether literals of the clause at hand are taken out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    Strip,
    Keep,
    /// Between ON CONFLICT and DO: not even WHERE changes it.
    ConflictTarget,
}

/// The clause at each open parenthesis. Deeper nesting than this has no fingerprint.
struct Levels {
    clauses: [Clause; 64],
    depth: usize,
}

impl Levels {
    fn new() -> Levels {
        Levels {
            clauses: [Clause::Keep; 64],
            depth: 0,
        }
    }

    fn clause(&self) -> Clause {
        self.clauses[self.depth]
    }

    fn set(&mut self, clause: Clause) {
        self.clauses[self.depth] = clause;
    }

    fn open(&mut self, clause: Clause) -> Option<()> {
        self.depth += 1;
        *self.clauses.get_mut(self.depth)? = clause;
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        Some(())
    }
}

/// What the walk remembers of the token before.
#[derive(Clone, Copy)]
struct Previous {
    kind: Option<TokenKind>,
    end: usize,
    word: Word,
    /// Inside a type's name behind `::`.
    in_type: bool,
    /// It became a parameter and the next token, a word, touches it.
    after_parameter: bool,
}

impl Previous {
    fn start() -> Previous {
        Previous {
            kind: None,
            end: 0,
            word: Word::Other,
            in_type: false,
            after_parameter: false,
        }
    }

    /// An operand, not an operator, comes next: a `-` here is a sign, a string here belongs to no type's name.
    fn expects_operand(&self) -> bool {
        match self.kind {
            Some(TokenKind::Operator | TokenKind::Open | TokenKind::Comma | TokenKind::Colon) => true,
            Some(TokenKind::Identifier) => self.word.precedes_operand(),
            _ => false,
        }
    }
}

struct Walk<'a> {
    statement: &'a str,
    buffer: &'a mut Fingerprint,
    levels: Levels,
    previous: Previous,
}

impl Walk<'_> {
    /// None: no fingerprint.
    fn run(mut self) -> Option<()> {
        let mut lexer = Lexer::new(self.statement);
        let mut insert = false;
        let mut first = true;
        while let Some(token) = lexer.next_token() {
            let token = token.ok()?;
            let word = self.word(token);
            if first {
                first = false;
                insert = word == Word::Insert;
                let opening = matches!(
                    word,
                    Word::Select | Word::Update | Word::Delete | Word::With | Word::Values
                );
                if !(insert || opening) {
                    return None;
                }
            }
            match token.kind {
                TokenKind::Parameter => return None,
                // A string in two pieces: the grammar joins them.
                TokenKind::String if self.previous.kind == Some(TokenKind::String) => return None,
                TokenKind::Semicolon => {
                    return if lexer.next_token().is_none() {
                        Some(())
                    } else {
                        None
                    };
                }
                TokenKind::Open => {
                    let clause = if self.previous.in_type {
                        Clause::Keep
                    } else {
                        self.levels.clause()
                    };
                    self.levels.open(clause)?;
                }
                TokenKind::Close => self.levels.close()?,
                TokenKind::Identifier => self.enter_clause(word, insert)?,
                _ => {}
            }
            if !self.take_literal(token, &mut lexer)? {
                self.emit(token);
            }
            self.advance(token, word);
        }
        if first { None } else { Some(()) }
    }

    fn word(&self, token: Token) -> Word {
        // A word behind a dot is a column's name, whatever it says.
        if token.kind == TokenKind::Identifier && self.previous.kind != Some(TokenKind::Dot) {
            Word::of(token.text(self.statement))
        } else {
            Word::Other
        }
    }

    /// A keyword may start another clause. None: the statement is of a kind that has no fingerprint.
    fn enter_clause(&mut self, word: Word, insert: bool) -> Option<()> {
        let conflict = self.levels.clause() == Clause::ConflictTarget;
        match word {
            Word::Into if !matches!(self.previous.word, Word::Insert) => return None,
            Word::Where if conflict => {}
            Word::From if self.previous.word == Word::Distinct => {}
            Word::Values if insert && self.levels.depth == 0 => self.levels.set(Clause::Strip),
            Word::Select | Word::Returning | Word::Keep | Word::Values => self.levels.set(Clause::Keep),
            Word::Conflict => self.levels.set(Clause::ConflictTarget),
            Word::Where | Word::From | Word::Set | Word::On | Word::Limit => self.levels.set(Clause::Strip),
            _ => {}
        }
        Some(())
    }

    /// Takes the token out if it is a literal that may go. None: too many, or a number PostgreSQL refuses.
    fn take_literal(&mut self, token: Token, lexer: &mut Lexer<'_>) -> Option<bool> {
        let open = self.levels.clause() == Clause::Strip && self.previous.expects_operand();
        if !open {
            return Some(false);
        }
        let literal = match token.kind {
            TokenKind::Integer | TokenKind::Number => self.number(token, false)?,
            TokenKind::Operator if token.text(self.statement) == "-" => match self.signed(lexer) {
                Some(number) => self.number(number, true)?,
                None => return Some(false),
            },
            TokenKind::String => {
                let (start, end) = (token.start + 1, token.end - 1);
                let quotes = memchr::memchr(b'\'', &self.statement.as_bytes()[start..end]).is_some();
                literal(LiteralKind::String { quotes }, start, end)
            }
            _ => return Some(false),
        };
        if self.buffer.literals.len() == MAX_LITERALS {
            return None;
        }
        self.previous.after_parameter = false;
        self.separate(token.start);
        self.previous.after_parameter = true;
        self.buffer.literals.push(literal);
        push_parameter(&mut self.buffer.key, self.buffer.literals.len());
        // The sign and its number went together.
        self.previous.end = token.end.max(literal.end as usize);
        Some(true)
    }

    /// The number behind a sign, read past it. A sign binds tighter than all but `::` and subscripts: there it stays.
    fn signed(&self, lexer: &mut Lexer<'_>) -> Option<Token> {
        let mut ahead = *lexer;
        let number = ahead.next_token()?.ok()?;
        if !matches!(number.kind, TokenKind::Integer | TokenKind::Number) {
            return None;
        }
        let after_number = ahead;
        match ahead.next_token() {
            Some(Ok(Token {
                kind: TokenKind::Cast | TokenKind::Open | TokenKind::Dot,
                ..
            }))
            | Some(Err(_)) => None,
            _ => {
                *lexer = after_number;
                Some(number)
            }
        }
    }

    fn number(&self, token: Token, negative: bool) -> Option<Literal> {
        let text = token.text(self.statement);
        let kind = match token.kind {
            TokenKind::Integer => {
                // Twenty digits and more do not fit i128's part that is of interest, but then they are numeric anyway.
                let magnitude = text.parse::<i128>().ok();
                let value = magnitude.map(|value| if negative { -value } else { value });
                match value.map(|value| (i32::try_from(value), i64::try_from(value))) {
                    Some((Ok(value), _)) => LiteralKind::Int4(value),
                    Some((_, Ok(value))) => LiteralKind::Int8(value),
                    _ => LiteralKind::Numeric { negative },
                }
            }
            // Other bases and underscores are for the grammar to read.
            _ if text.bytes().any(|byte| byte == b'_') || is_based(text) => return None,
            _ => LiteralKind::Numeric { negative },
        };
        Some(literal(kind, token.start, token.end))
    }

    /// Copies the token, with one space if there was any, or a comment, in front of it.
    fn emit(&mut self, token: Token) {
        self.previous.after_parameter &= token.kind == TokenKind::Identifier;
        self.separate(token.start);
        self.previous.after_parameter = false;
        self.buffer.key.push_str(token.text(self.statement));
        self.previous.end = token.end;
    }

    /// A parameter needs the space that a closing quote did not: `'x'and` is two tokens, `$1and` is not.
    fn separate(&mut self, start: usize) {
        let needed = start > self.previous.end || self.previous.after_parameter;
        if needed && !self.buffer.key.is_empty() {
            self.buffer.key.push(' ');
        }
    }

    fn advance(&mut self, token: Token, word: Word) {
        let previous = &mut self.previous;
        previous.in_type = match token.kind {
            TokenKind::Cast => true,
            TokenKind::Identifier | TokenKind::QuotedIdentifier | TokenKind::Dot | TokenKind::Close => {
                previous.in_type && !word.precedes_operand()
            }
            _ => false,
        };
        // A sign that was taken with its number leaves a number behind.
        let taken_sign = token.kind == TokenKind::Operator && previous.end > token.end;
        previous.kind = Some(if taken_sign { TokenKind::Number } else { token.kind });
        previous.word = word;
    }
}

fn is_based(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 1 && bytes[0] == b'0' && bytes[1].is_ascii_alphabetic() && !matches!(bytes[1], b'e' | b'E')
}

fn literal(kind: LiteralKind, start: usize, end: usize) -> Literal {
    // Texts are bounded by `MAX_FINGERPRINT_BYTES`.
    Literal {
        kind,
        start: start as u32,
        end: end as u32,
    }
}

fn push_parameter(key: &mut String, number: usize) {
    let mut digits = [0u8; 4];
    let mut at = digits.len();
    let mut rest = number;
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key.push('$');
    digits[at..].iter().for_each(|digit| key.push(char::from(*digit)));
}

const _: () = assert!(
    MAX_LITERALS < 10_000,
    "a parameter's number has at most four digits"
);

/// The words that matter here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Select,
    Insert,
    Update,
    Delete,
    With,
    Values,
    Into,
    From,
    Where,
    Set,
    On,
    Limit,
    Returning,
    Conflict,
    Distinct,
    /// Starts a clause whose literals stay: AS, GROUP, ORDER, HAVING, WINDOW, PARTITION, FETCH, TABLESAMPLE.
    Keep,
    /// Stands in front of an operand: AND, OR, NOT, LIKE, BETWEEN, WHEN, ..
    BeforeOperand,
    Other,
}

impl Word {
    fn of(text: &str) -> Word {
        let mut buffer = [0u8; 12];
        let Some(lower) = buffer.get_mut(..text.len()) else {
            return Word::Other;
        };
        lower.copy_from_slice(text.as_bytes());
        lower.make_ascii_lowercase();
        match &*lower {
            b"select" => Word::Select,
            b"insert" => Word::Insert,
            b"update" => Word::Update,
            b"delete" => Word::Delete,
            b"with" => Word::With,
            b"values" => Word::Values,
            b"into" => Word::Into,
            b"from" => Word::From,
            b"where" => Word::Where,
            b"set" => Word::Set,
            b"on" => Word::On,
            b"limit" | b"offset" => Word::Limit,
            b"returning" => Word::Returning,
            b"conflict" => Word::Conflict,
            b"distinct" => Word::Distinct,
            b"as" | b"group" | b"order" | b"having" | b"window" | b"partition" | b"fetch"
            | b"tablesample" => Word::Keep,
            b"and" | b"or" | b"not" | b"like" | b"ilike" | b"between" | b"symmetric" | b"when" | b"then"
            | b"else" | b"case" | b"for" => Word::BeforeOperand,
            _ => Word::Other,
        }
    }

    fn precedes_operand(self) -> bool {
        matches!(
            self,
            Word::BeforeOperand | Word::From | Word::Where | Word::On | Word::Limit | Word::Set
        )
    }
}
