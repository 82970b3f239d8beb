//! The grammar, by recursive descent.
//!
//! Parentheses may hold a value or a condition, and only what follows tells which was wanted: both are read by the same
//! functions, and whoever needs one of them asks for it.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::scan::{Scanner, Token};
use super::*;
use crate::are::{Flavor, Options};

/// Parentheses, filters and subscripts inside of each other, each of which costs frames of the parser.
const DEPTH_MAX: usize = 64;
/// Items of a path, each of which may cost frames of a run.
const ITEMS_MAX: usize = 300;

enum Parsed {
    Value(Chain),
    Condition(Condition),
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    token: Token,
    depth: usize,
    items: usize,
    filters: usize,
    subscripts: usize,
    /// `@` or `last` where nothing gives them a meaning: told once the syntax has proved right.
    misplaced: Option<&'static str>,
}

pub(super) fn parse(text: &str) -> SqlResult<Path> {
    let mut scanner = Scanner::new(text);
    let token = scanner.next()?;
    if token == Token::End {
        return Err(SqlError::new(
            state::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type jsonpath: \"{text}\""),
        ));
    }
    let mut parser = Parser {
        scanner,
        token,
        depth: 0,
        items: 0,
        filters: 0,
        subscripts: 0,
        misplaced: None,
    };
    let strict = parser.take_word("strict")?;
    if !strict {
        parser.take_word("lax")?;
    }
    let chain = match parser.disjunction()? {
        Parsed::Value(chain) => chain,
        Parsed::Condition(condition) => vec![Item::Condition(Box::new(condition))],
    };
    if parser.token != Token::End {
        return Err(parser.scanner.unexpected());
    }
    match parser.misplaced {
        Some(message) => Err(SqlError::new(state::SYNTAX_ERROR, message)),
        None => Ok(Path { lax: !strict, chain }),
    }
}

#[cold]
fn too_deep() -> SqlError {
    SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .detail("The jsonpath is nested too deeply, or too long.")
}

impl Parser<'_> {
    fn advance(&mut self) -> SqlResult<Token> {
        let next = self.scanner.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(&self.token, Token::Sign(known) if *known == sign)
    }

    fn take_sign(&mut self, sign: &str) -> SqlResult<bool> {
        let found = self.is_sign(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect_sign(&mut self, sign: &str) -> SqlResult<()> {
        match self.take_sign(sign)? {
            true => Ok(()),
            false => Err(self.scanner.unexpected()),
        }
    }

    /// A keyword in any case.
    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(known) if known.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> SqlResult<bool> {
        let found = self.is_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect_word(&mut self, word: &str) -> SqlResult<()> {
        match self.take_word(word)? {
            true => Ok(()),
            false => Err(self.scanner.unexpected()),
        }
    }

    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        if self.depth == DEPTH_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    fn value_of(&self, parsed: Parsed) -> SqlResult<Chain> {
        match parsed {
            Parsed::Value(chain) => Ok(chain),
            Parsed::Condition(_) => Err(self.scanner.unexpected()),
        }
    }

    fn condition_of(&self, parsed: Parsed) -> SqlResult<Condition> {
        match parsed {
            Parsed::Condition(condition) => Ok(condition),
            Parsed::Value(_) => Err(self.scanner.unexpected()),
        }
    }

    fn disjunction(&mut self) -> SqlResult<Parsed> {
        self.deeper(|this| {
            let mut left = this.conjunction()?;
            while this.is_sign("||") {
                let first = this.condition_of(left)?;
                this.advance()?;
                let second = this.conjunction()?;
                let second = this.condition_of(second)?;
                left = Parsed::Condition(Condition::Or(Box::new((first, second))));
            }
            Ok(left)
        })
    }

    fn conjunction(&mut self) -> SqlResult<Parsed> {
        let mut left = self.comparison()?;
        while self.is_sign("&&") {
            let first = self.condition_of(left)?;
            self.advance()?;
            let second = self.comparison()?;
            let second = self.condition_of(second)?;
            left = Parsed::Condition(Condition::And(Box::new((first, second))));
        }
        Ok(left)
    }

    fn condition(&mut self) -> SqlResult<Condition> {
        let parsed = self.disjunction()?;
        self.condition_of(parsed)
    }

    fn value(&mut self) -> SqlResult<Chain> {
        let parsed = self.deeper(Self::sum)?;
        self.value_of(parsed)
    }

    fn comparison(&mut self) -> SqlResult<Parsed> {
        if self.take_sign("!")? {
            let inner = match self.is_word("exists") {
                true => self.exists()?,
                false => {
                    self.expect_sign("(")?;
                    let inner = self.condition()?;
                    self.expect_sign(")")?;
                    inner
                }
            };
            return Ok(Parsed::Condition(Condition::Not(Box::new(inner))));
        }
        if self.is_word("exists") {
            return self.exists().map(Parsed::Condition);
        }
        let left = match self.sum()? {
            Parsed::Value(left) => left,
            condition => return Ok(condition),
        };
        let comparison = match &self.token {
            Token::Sign("==") => Comparison::Equal,
            Token::Sign("!=" | "<>") => Comparison::NotEqual,
            Token::Sign("<") => Comparison::Less,
            Token::Sign(">") => Comparison::Greater,
            Token::Sign("<=") => Comparison::LessOrEqual,
            Token::Sign(">=") => Comparison::GreaterOrEqual,
            _ => return self.word_condition(left),
        };
        self.advance()?;
        let right = self.value()?;
        Ok(Parsed::Condition(Condition::Compare(comparison, left, right)))
    }

    fn exists(&mut self) -> SqlResult<Condition> {
        self.advance()?;
        self.expect_sign("(")?;
        let value = self.value()?;
        self.expect_sign(")")?;
        Ok(Condition::Exists(value))
    }

    /// `starts with` and `like_regex`.
    fn word_condition(&mut self, left: Chain) -> SqlResult<Parsed> {
        if self.take_word("starts")? {
            self.expect_word("with")?;
            let initial = match self.advance()? {
                Token::String(string) => Item::String(string),
                Token::Variable(name) => Item::Variable(name),
                other => return self.refuse(other),
            };
            return Ok(Parsed::Condition(Condition::StartsWith(left, vec![initial])));
        }
        if self.take_word("like_regex")? {
            let text = self.string()?;
            let flags = match self.take_word("flag")? {
                true => read_flags(&self.string()?)?,
                false => Flags::default(),
            };
            let regex = Regex::new(&text, regex_options(flags)?)?;
            let pattern = Box::new(Pattern { text, flags, regex });
            return Ok(Parsed::Condition(Condition::LikeRegex(left, pattern)));
        }
        Ok(Parsed::Value(left))
    }

    /// The error for a token that was taken and does not fit: the scanner must show it, so it becomes the current one.
    fn refuse<T>(&mut self, token: Token) -> SqlResult<T> {
        self.token = token;
        Err(self.scanner.unexpected())
    }

    fn string(&mut self) -> SqlResult<Box<str>> {
        if !matches!(self.token, Token::String(_)) {
            return Err(self.scanner.unexpected());
        }
        match self.advance()? {
            Token::String(string) => Ok(string),
            other => self.refuse(other),
        }
    }

    fn sum(&mut self) -> SqlResult<Parsed> {
        let mut left = self.product()?;
        loop {
            let operator = match &self.token {
                Token::Sign("+") => Arithmetic::Add,
                Token::Sign("-") => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            left = self.operation(operator, left, Self::product)?;
        }
    }

    fn product(&mut self) -> SqlResult<Parsed> {
        let mut left = self.signed()?;
        loop {
            let operator = match &self.token {
                Token::Sign("*") => Arithmetic::Multiply,
                Token::Sign("/") => Arithmetic::Divide,
                Token::Sign("%") => Arithmetic::Modulo,
                _ => return Ok(left),
            };
            left = self.operation(operator, left, Self::signed)?;
        }
    }

    fn operation(
        &mut self,
        operator: Arithmetic,
        left: Parsed,
        operand: fn(&mut Self) -> SqlResult<Parsed>,
    ) -> SqlResult<Parsed> {
        let left = self.value_of(left)?;
        self.advance()?;
        let right = operand(self)?;
        let right = self.value_of(right)?;
        Ok(Parsed::Value(vec![Item::Arithmetic(
            operator,
            Box::new((left, right)),
        )]))
    }

    /// Signs before a number are part of it.
    fn signed(&mut self) -> SqlResult<Parsed> {
        let minus = self.is_sign("-");
        if !minus && !self.is_sign("+") {
            return self.accessors();
        }
        self.advance()?;
        let operand = self.deeper(Self::signed)?;
        let operand = self.value_of(operand)?;
        Ok(Parsed::Value(match (operand.as_slice(), minus) {
            ([Item::Number(number)], true) => vec![Item::Number(number.neg())],
            ([Item::Number(_)], false) => operand,
            (_, true) => vec![Item::Minus(operand)],
            (_, false) => vec![Item::Plus(operand)],
        }))
    }

    /// A primary and the accessors that follow it.
    fn accessors(&mut self) -> SqlResult<Parsed> {
        let mut chain = match self.primary()? {
            Parsed::Value(chain) => chain,
            Parsed::Condition(condition) => {
                if self.is_word("is") {
                    self.advance()?;
                    self.expect_word("unknown")?;
                    return Ok(Parsed::Condition(Condition::IsUnknown(Box::new(condition))));
                }
                if !self.at_accessor() {
                    return Ok(Parsed::Condition(condition));
                }
                vec![Item::Condition(Box::new(condition))]
            }
        };
        while self.at_accessor() {
            let item = self.accessor()?;
            chain.push(item);
        }
        Ok(Parsed::Value(chain))
    }

    fn count_item(&mut self) -> SqlResult<()> {
        self.items += 1;
        match self.items > ITEMS_MAX {
            true => Err(too_deep()),
            false => Ok(()),
        }
    }

    fn primary(&mut self) -> SqlResult<Parsed> {
        self.count_item()?;
        if self.take_sign("(")? {
            let inner = self.disjunction()?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        let item = match &self.token {
            Token::String(string) => Item::String(string.clone()),
            Token::Variable(name) => Item::Variable(name.clone()),
            Token::Integer(text) | Token::Decimal(text) => Item::Number(Numeric::parse(text)?),
            Token::Sign("$") => Item::Root,
            Token::Sign("@") => {
                if self.filters == 0 {
                    self.misplaced
                        .get_or_insert("@ is not allowed in root expressions");
                }
                Item::Current
            }
            Token::Word(word) => match &**word {
                "null" => Item::Null,
                "true" => Item::Bool(true),
                "false" => Item::Bool(false),
                last if last.eq_ignore_ascii_case("last") => {
                    if self.subscripts == 0 {
                        self.misplaced
                            .get_or_insert("LAST is allowed only in array subscripts");
                    }
                    Item::Last
                }
                _ => return Err(self.scanner.unexpected()),
            },
            _ => return Err(self.scanner.unexpected()),
        };
        self.advance()?;
        Ok(Parsed::Value(vec![item]))
    }

    fn at_accessor(&self) -> bool {
        matches!(&self.token, Token::Sign("." | "[" | "?"))
    }

    fn accessor(&mut self) -> SqlResult<Item> {
        self.count_item()?;
        if self.take_sign("?")? {
            self.expect_sign("(")?;
            self.filters += 1;
            let condition = self.condition()?;
            self.filters -= 1;
            self.expect_sign(")")?;
            return Ok(Item::Filter(Box::new(condition)));
        }
        if self.take_sign("[")? {
            let item = match self.take_sign("*")? {
                true => Item::AnyArray,
                false => self.subscripts()?,
            };
            self.expect_sign("]")?;
            return Ok(item);
        }
        self.expect_sign(".")?;
        if self.take_sign("*")? {
            return Ok(Item::AnyKey);
        }
        if self.take_sign("**")? {
            return self.levels();
        }
        let quoted = matches!(self.token, Token::String(_));
        if !quoted && !matches!(self.token, Token::Word(_)) {
            return Err(self.scanner.unexpected());
        }
        match self.advance()? {
            Token::Word(word) if self.is_sign("(") => self.method(&word),
            Token::Word(name) | Token::String(name) => Ok(Item::Key(name)),
            other => self.refuse(other),
        }
    }

    fn subscripts(&mut self) -> SqlResult<Item> {
        let mut subscripts = Vec::new();
        self.subscripts += 1;
        loop {
            let from = self.value()?;
            let to = match self.take_word("to")? {
                true => Some(self.value()?),
                false => None,
            };
            subscripts.push((from, to));
            if !self.take_sign(",")? {
                break;
            }
        }
        self.subscripts -= 1;
        Ok(Item::Subscripts(subscripts))
    }

    /// `{2}`, `{2 to last}` or nothing, behind `**`.
    fn levels(&mut self) -> SqlResult<Item> {
        if !self.take_sign("{")? {
            return Ok(Item::AnyLevel(0, LAST_LEVEL));
        }
        let first = self.level()?;
        let last = match self.take_word("to")? {
            true => self.level()?,
            false => first,
        };
        self.expect_sign("}")?;
        Ok(Item::AnyLevel(first, last))
    }

    fn level(&mut self) -> SqlResult<u32> {
        if self.take_word("last")? {
            return Ok(LAST_LEVEL);
        }
        let Token::Integer(text) = &self.token else {
            return Err(self.scanner.unexpected());
        };
        let level: i32 = text.parse().map_err(|_| {
            let message = format!("value \"{text}\" is out of range for type integer");
            SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })?;
        self.advance()?;
        Ok(level as u32)
    }

    /// The parentheses of a method.
    fn method(&mut self, name: &str) -> SqlResult<Item> {
        let lower = name.to_ascii_lowercase();
        let method = match lower.as_str() {
            "abs" => Method::Abs,
            "size" => Method::Size,
            "type" => Method::Type,
            "floor" => Method::Floor,
            "double" => Method::Double,
            "ceiling" => Method::Ceiling,
            "keyvalue" => Method::KeyValue,
            "datetime" => {
                self.expect_sign("(")?;
                let template = match self.token {
                    Token::String(_) => Some(self.string()?),
                    _ => None,
                };
                self.expect_sign(")")?;
                return Ok(Item::Datetime(template));
            }
            _ => return Err(self.scanner.unexpected()),
        };
        self.expect_sign("(")?;
        self.expect_sign(")")?;
        Ok(Item::Method(method))
    }
}

fn read_flags(letters: &str) -> SqlResult<Flags> {
    let mut flags = Flags::default();
    for letter in letters.chars() {
        match letter {
            'i' => flags.ignore_case = true,
            's' => flags.dot_all = true,
            'm' => flags.multi_line = true,
            'x' => flags.white_space = true,
            'q' => flags.quote = true,
            other => {
                let message = "invalid input syntax for type jsonpath";
                return Err(SqlError::new(state::SYNTAX_ERROR, message).detail(format!(
                    "Unrecognized flag character \"{other}\" in LIKE_REGEX predicate."
                )));
            }
        }
    }
    Ok(flags)
}

/// XQuery's flags as those of regular expressions: `.` stops at newlines unless told otherwise.
fn regex_options(flags: Flags) -> SqlResult<Options> {
    let mut options = Options {
        ignore_case: flags.ignore_case,
        ..Options::default()
    };
    if flags.quote {
        options.flavor = Flavor::Literal;
    } else if flags.white_space {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "XQuery \"x\" flag (expanded regular expressions) is not implemented",
        ));
    } else {
        options.newline_stops = !flags.dot_all;
        options.newline_anchors = flags.multi_line;
    }
    Ok(options)
}
