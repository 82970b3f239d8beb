//! A path over a document.
//!
//! Items go depth first: each result of an item is handed to the rest of its chain before the next one is looked for, so
//! that who asks only whether there is one stops at the first. An error is *soft* where PostgreSQL lets a condition or
//! `silent` pass over it; what was found before it stays found.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState, work};

use super::*;
use crate::float_text::parse_float8;
use crate::json::Json;

pub(super) const MEMBER_NOT_FOUND: SqlState = SqlState::new("2203A");
pub(super) const OBJECT_NOT_FOUND: SqlState = SqlState::new("2203C");
const ARRAY_NOT_FOUND: SqlState = SqlState::new("22039");
const NUMBER_NOT_FOUND: SqlState = SqlState::new("2203B");
const SINGLETON_REQUIRED: SqlState = SqlState::new("22038");
const NON_NUMERIC: SqlState = SqlState::new("22036");
const INVALID_SUBSCRIPT: SqlState = SqlState::new("22033");

/// What a step costs, of a path at an item or of a comparison: a path goes over a document once for each item of another
/// path inside of it.
pub(super) const STEP_UNITS: usize = 64;

pub(super) enum Failure {
    /// Unknown to a condition around it, nothing to a `silent` caller.
    Soft(Box<SqlError>),
    Hard(Box<SqlError>),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        Failure::Hard(Box::new(error))
    }
}

pub(super) type Outcome<T> = Result<T, Failure>;

/// Where results go. None: the caller only asks whether there is one.
pub(super) type Found<'f> = Option<&'f mut Vec<Json>>;

#[cold]
pub(super) fn soft<T>(state: SqlState, message: String) -> Outcome<T> {
    Err(Failure::Soft(Box::new(SqlError::new(state, message))))
}

/// A path with what it is asked of.
pub struct Query<'q> {
    pub path: &'q Path,
    pub document: &'q Json,
    /// An object. None: an operator, for which all variables are null.
    pub variables: Option<&'q Json>,
    pub silent: bool,
}

/// All results; those before an error that `silent` passes over.
pub fn query(query: &Query<'_>) -> SqlResult<Vec<Json>> {
    let mut found = Vec::new();
    match run(query, Some(&mut found)) {
        Err(Failure::Soft(error)) if !query.silent => Err(*error),
        Err(Failure::Hard(error)) => Err(*error),
        _ => Ok(found),
    }
}

/// Whether there is a result; None for an error that `silent` passes over.
pub fn exists(query: &Query<'_>) -> SqlResult<Option<bool>> {
    // In strict mode only the whole list of results shows that there is no error.
    let mut all = Vec::new();
    let found = match query.path.lax {
        true => None,
        false => Some(&mut all),
    };
    match run(query, found) {
        Ok(found) if query.path.lax => Ok(Some(found)),
        Ok(_) => Ok(Some(!all.is_empty())),
        Err(Failure::Soft(_)) if query.silent => Ok(None),
        Err(Failure::Soft(error) | Failure::Hard(error)) => Err(*error),
    }
}

/// The truth of a path that yields one boolean or null.
pub fn matches(asked: &Query<'_>) -> SqlResult<Option<bool>> {
    match query(asked)?.as_slice() {
        [Json::Bool(value)] => Ok(Some(*value)),
        [Json::Null] => Ok(None),
        _ if asked.silent => Ok(None),
        _ => Err(SqlError::new(
            SINGLETON_REQUIRED,
            "single boolean result is expected",
        )),
    }
}

fn run(query: &Query<'_>, found: Found<'_>) -> Outcome<bool> {
    if query
        .variables
        .is_some_and(|json| !matches!(json, Json::Object(_)))
    {
        let message = "\"vars\" argument is not an object";
        let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message)
            .detail(detail)
            .into());
    }
    let mut runner = Runner {
        lax: query.path.lax,
        forgiving: query.path.lax,
        root: query.document,
        variables: query.variables,
        generated: if query.variables.is_some() { 2 } else { 1 },
        array_size: None,
    };
    let scope = Scope {
        current: query.document,
        base: Base::document(query.document),
    };
    runner.items(&query.path.chain, query.document, scope, found)
}

pub(super) struct Runner<'q> {
    pub(super) lax: bool,
    /// Structural errors are overlooked: in lax mode, and below `**`.
    forgiving: bool,
    root: &'q Json,
    variables: Option<&'q Json>,
    /// The next number for an object that `.keyvalue()` makes.
    pub(super) generated: i64,
    /// Of the innermost array that is subscripted.
    array_size: Option<usize>,
}

/// The document that items lie in.
#[derive(Clone, Copy)]
pub(super) struct Base<'b> {
    pub(super) document: &'b Json,
    /// By which `.keyvalue()` tells documents apart.
    pub(super) id: i64,
}

impl<'b> Base<'b> {
    fn document(document: &'b Json) -> Base<'b> {
        Base { document, id: 0 }
    }

    fn variables(document: &'b Json) -> Base<'b> {
        Base { document, id: 1 }
    }
}

/// What a condition comes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

impl From<bool> for Truth {
    fn from(value: bool) -> Truth {
        if value { Truth::True } else { Truth::False }
    }
}

/// What changes from item to item.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    /// `@`
    pub(super) current: &'s Json,
    pub(super) base: Base<'s>,
}

impl Runner<'_> {
    /// Applies a chain to a value, whose arrays are unwrapped in lax mode.
    pub(super) fn items(
        &mut self,
        chain: &[Item],
        json: &Json,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome<bool> {
        self.items_unwrapping(chain, json, scope, found, self.lax)
    }

    /// Hands a result to the rest of the chain.
    pub(super) fn next(
        &mut self,
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome<bool> {
        if !rest.is_empty() {
            return self.items(rest, json, scope, found);
        }
        if let Some(found) = found {
            found.push(json.try_clone()?);
        }
        Ok(true)
    }

    fn items_unwrapping(
        &mut self,
        chain: &[Item],
        json: &Json,
        scope: Scope<'_>,
        found: Found<'_>,
        unwrap: bool,
    ) -> Outcome<bool> {
        work::spend(STEP_UNITS)?;
        let (item, rest) = (&chain[0], &chain[1..]);
        // These look into the elements of an array themselves.
        if let (true, Json::Array(elements)) = (unwrap && item.unwraps(), json) {
            return self.each(chain, elements.iter(), scope, found, false);
        }
        match item {
            Item::Null => self.next(rest, &Json::Null, scope, found),
            Item::Bool(value) => self.next(rest, &Json::Bool(*value), scope, found),
            Item::Number(value) => self.next(rest, &Json::Number(value.clone()), scope, found),
            Item::String(text) => self.next(rest, &Json::String((&**text).into()), scope, found),
            Item::Variable(name) => self.variable(name, rest, scope, found),
            Item::Root => {
                let root = self.root;
                let base = Base::document(root);
                self.next(rest, root, Scope { base, ..scope }, found)
            }
            Item::Current => self.next(rest, scope.current, scope, found),
            Item::Last => {
                let size = self.array_size.ok_or_else(|| {
                    SqlError::internal("evaluating jsonpath LAST outside of array subscript")
                })?;
                self.next(rest, &number(size as i64 - 1), scope, found)
            }
            Item::Condition(condition) => {
                let value = match self.truth(condition, json, scope)? {
                    Truth::True => Json::Bool(true),
                    Truth::False => Json::Bool(false),
                    Truth::Unknown => Json::Null,
                };
                self.next(rest, &value, scope, found)
            }
            Item::Filter(condition) => {
                let inner = Scope {
                    current: json,
                    ..scope
                };
                match self.truth(condition, json, inner)? {
                    Truth::True => self.next(rest, json, scope, found),
                    _ => Ok(false),
                }
            }
            Item::Arithmetic(operator, operands) => {
                let value = self.arithmetic(*operator, operands, json, scope)?;
                self.next(rest, &value, scope, found)
            }
            Item::Plus(of) => self.sign(false, of, rest, json, scope, found),
            Item::Minus(of) => self.sign(true, of, rest, json, scope, found),
            Item::Key(key) => self.member(key, rest, json, scope, found),
            Item::AnyKey => match json {
                Json::Object(pairs) => {
                    let values = pairs.iter().map(|pair| &pair.1);
                    self.each(rest, values, scope, found, self.lax)
                }
                _ if self.forgiving => Ok(false),
                _ => soft(
                    OBJECT_NOT_FOUND,
                    "jsonpath wildcard member accessor can only be applied to an object".into(),
                ),
            },
            Item::AnyArray => match json {
                Json::Array(elements) => self.each(rest, elements.iter(), scope, found, self.lax),
                _ if self.lax => self.next(rest, json, scope, found),
                _ if self.forgiving => Ok(false),
                _ => soft(
                    ARRAY_NOT_FOUND,
                    "jsonpath wildcard array accessor can only be applied to an array".into(),
                ),
            },
            Item::Subscripts(subscripts) => self.subscripts(subscripts, rest, json, scope, found),
            Item::AnyLevel(first, last) => self.any_level((*first, *last), rest, json, scope, found),
            Item::Method(method) => self.method(*method, rest, json, scope, found),
            Item::Datetime(_) => Err(SqlError::unsupported("jsonpath item method .datetime()").into()),
        }
    }

    /// Applies a chain to each of several values, or takes the values themselves.
    pub(super) fn each<'v>(
        &mut self,
        chain: &[Item],
        values: impl Iterator<Item = &'v Json>,
        scope: Scope<'_>,
        mut found: Found<'_>,
        unwrap: bool,
    ) -> Outcome<bool> {
        let mut any = false;
        for value in values {
            let result = match chain.is_empty() {
                true => self.next(chain, value, scope, found.as_deref_mut())?,
                false => self.items_unwrapping(chain, value, scope, found.as_deref_mut(), unwrap)?,
            };
            any |= result;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }

    fn variable(&mut self, name: &str, rest: &[Item], scope: Scope<'_>, found: Found<'_>) -> Outcome<bool> {
        let Some(variables) = self.variables else {
            return self.next(rest, &Json::Null, scope, found);
        };
        match variables.get(name) {
            Some(value) => {
                let base = Base::variables(variables);
                self.next(rest, value, Scope { base, ..scope }, found)
            }
            None => Err(SqlError::new(
                state::UNDEFINED_OBJECT,
                format!("could not find jsonpath variable \"{name}\""),
            )
            .into()),
        }
    }

    fn member(
        &mut self,
        key: &str,
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome<bool> {
        match json {
            Json::Object(_) => match json.get(key) {
                Some(value) => self.next(rest, value, scope, found),
                None if self.forgiving => Ok(false),
                None => soft(
                    MEMBER_NOT_FOUND,
                    format!("JSON object does not contain key \"{key}\""),
                ),
            },
            _ if self.forgiving => Ok(false),
            _ => soft(
                MEMBER_NOT_FOUND,
                "jsonpath member accessor can only be applied to an object".into(),
            ),
        }
    }

    fn subscripts(
        &mut self,
        subscripts: &[(Chain, Option<Chain>)],
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome<bool> {
        let elements = match json {
            Json::Array(elements) => elements.as_slice(),
            _ if self.lax => std::slice::from_ref(json),
            _ if self.forgiving => return Ok(false),
            _ => {
                return soft(
                    ARRAY_NOT_FOUND,
                    "jsonpath array accessor can only be applied to an array".into(),
                );
            }
        };
        let outer = self.array_size.replace(elements.len());
        let result = self.subscripted(subscripts, elements, rest, json, scope, found);
        self.array_size = outer;
        result
    }

    fn subscripted(
        &mut self,
        subscripts: &[(Chain, Option<Chain>)],
        elements: &[Json],
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        mut found: Found<'_>,
    ) -> Outcome<bool> {
        let mut any = false;
        for (from, to) in subscripts {
            let from = self.subscript(from, json, scope)?;
            let to = match to {
                Some(to) => self.subscript(to, json, scope)?,
                None => from,
            };
            let outside = from < 0 || from > to || to as i64 >= elements.len() as i64;
            if outside && !self.forgiving {
                return soft(
                    INVALID_SUBSCRIPT,
                    "jsonpath array subscript is out of bounds".into(),
                );
            }
            let wanted = (from.max(0) as usize)..((to as i64 + 1).clamp(0, elements.len() as i64) as usize);
            for element in elements.get(wanted).unwrap_or_default() {
                any |= self.next(rest, element, scope, found.as_deref_mut())?;
                if any && found.is_none() {
                    return Ok(true);
                }
            }
        }
        Ok(any)
    }

    fn subscript(&mut self, chain: &Chain, json: &Json, scope: Scope<'_>) -> Outcome<i32> {
        let mut values = Vec::new();
        self.items(chain, json, scope, Some(&mut values))?;
        let [Json::Number(value)] = values.as_slice() else {
            return soft(
                INVALID_SUBSCRIPT,
                "jsonpath array subscript is not a single numeric value".into(),
            );
        };
        match value.trunc(0).to_i32() {
            Ok(subscript) => Ok(subscript),
            Err(_) => soft(
                INVALID_SUBSCRIPT,
                "jsonpath array subscript is out of integer range".into(),
            ),
        }
    }

    fn any_level(
        &mut self,
        levels: (u32, u32),
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome<bool> {
        let outer = std::mem::replace(&mut self.forgiving, true);
        let result = self.levels(levels, 0, rest, json, scope, found);
        self.forgiving = outer;
        result
    }

    /// A value, if its level is wanted, and everything below it. The values of a level go one after the other, each with
    /// what is below it.
    fn levels(
        &mut self,
        levels: (u32, u32),
        level: u32,
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        mut found: Found<'_>,
    ) -> Outcome<bool> {
        work::spend(STEP_UNITS)?;
        let (first, last) = levels;
        let is_container = matches!(json, Json::Array(_) | Json::Object(_));
        let leaves = first == LAST_LEVEL && last == LAST_LEVEL;
        let wanted = level >= first || (leaves && !is_container && level > 0);
        let mut any = false;
        if wanted {
            any = self.next(rest, json, scope, found.as_deref_mut())?;
            if any && found.is_none() {
                return Ok(true);
            }
        }
        if level >= last {
            return Ok(any);
        }
        let below: Vec<&Json> = match json {
            Json::Array(elements) => elements.iter().collect(),
            Json::Object(pairs) => pairs.iter().map(|pair| &pair.1).collect(),
            _ => return Ok(any),
        };
        for value in below {
            any |= self.levels(levels, level + 1, rest, value, scope, found.as_deref_mut())?;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }

    /// The results of an operand, arrays among them unwrapped in lax mode.
    pub(super) fn operand(&mut self, chain: &Chain, json: &Json, scope: Scope<'_>) -> Outcome<Vec<Json>> {
        let mut values = Vec::new();
        self.items(chain, json, scope, Some(&mut values))?;
        if !self.lax || !values.iter().any(|value| matches!(value, Json::Array(_))) {
            return Ok(values);
        }
        let mut unwrapped = Vec::with_capacity(values.len());
        for value in values {
            match value {
                Json::Array(elements) => unwrapped.extend(elements),
                other => unwrapped.push(other),
            }
        }
        Ok(unwrapped)
    }

    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        operands: &(Chain, Chain),
        json: &Json,
        scope: Scope<'_>,
    ) -> Outcome<Json> {
        let left = self.operand(&operands.0, json, scope)?;
        let right = self.operand(&operands.1, json, scope)?;
        let refused = |side: &str| {
            let sign = operator.sign();
            let message = format!("{side} operand of jsonpath operator {sign} is not a single numeric value");
            soft(SINGLETON_REQUIRED, message)
        };
        let [Json::Number(left)] = left.as_slice() else {
            return refused("left");
        };
        let [Json::Number(right)] = right.as_slice() else {
            return refused("right");
        };
        let result = match operator {
            Arithmetic::Add => left.add(right),
            Arithmetic::Subtract => left.sub(right),
            Arithmetic::Multiply => left.mul(right),
            Arithmetic::Divide => left.div(right),
            Arithmetic::Modulo => left.modulo(right),
        };
        match result {
            Ok(value) => Ok(Json::Number(value)),
            Err(error) => Err(Failure::Soft(Box::new(error))),
        }
    }

    fn sign(
        &mut self,
        minus: bool,
        of: &Chain,
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        mut found: Found<'_>,
    ) -> Outcome<bool> {
        let mut any = false;
        for value in self.operand(of, json, scope)? {
            let Json::Number(value) = value else {
                if found.is_none() && rest.is_empty() {
                    continue;
                }
                let sign = if minus { "-" } else { "+" };
                let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                return soft(NUMBER_NOT_FOUND, message);
            };
            let value = Json::Number(if minus { value.neg() } else { value });
            any |= self.next(rest, &value, scope, found.as_deref_mut())?;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }

    fn method(
        &mut self,
        method: Method,
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome<bool> {
        let value = match method {
            Method::Type => Json::String(type_name(json).into()),
            Method::Size => match json {
                Json::Array(elements) => number(elements.len() as i64),
                _ if self.lax => number(1),
                _ if self.forgiving => return Ok(false),
                _ => {
                    return soft(
                        ARRAY_NOT_FOUND,
                        "jsonpath item method .size() can only be applied to an array".into(),
                    );
                }
            },
            Method::Abs => Json::Number(numeric(method, json)?.abs()),
            Method::Floor => Json::Number(numeric(method, json)?.floor()),
            Method::Ceiling => Json::Number(numeric(method, json)?.ceil()),
            Method::Double => double(json)?,
            Method::KeyValue => return self.key_values(rest, json, scope, found),
        };
        self.next(rest, &value, scope, found)
    }
}

impl Item {
    /// Whether it is applied to the elements of an array in lax mode.
    fn unwraps(&self) -> bool {
        match self {
            Item::Key(_) | Item::AnyKey | Item::Filter(_) | Item::Datetime(_) => true,
            Item::Method(method) => !matches!(method, Method::Type | Method::Size),
            _ => false,
        }
    }
}

pub(super) fn number(value: i64) -> Json {
    Json::Number(Numeric::from(value))
}

fn numeric(method: Method, json: &Json) -> Outcome<&Numeric> {
    match json {
        Json::Number(value) => Ok(value),
        _ => soft(
            NON_NUMERIC,
            format!(
                "jsonpath item method .{}() can only be applied to a numeric value",
                method.name()
            ),
        ),
    }
}

fn double(json: &Json) -> Outcome<Json> {
    let finite = |text: &str| parse_float8(text).ok().filter(|value| value.is_finite());
    match json {
        Json::Number(value) => match finite(&value.to_string()) {
            Some(_) => Ok(json.try_clone()?),
            None => soft(
                NON_NUMERIC,
                "numeric argument of jsonpath item method .double() is out of range for type double precision".into(),
            ),
        },
        Json::String(text) => match finite(text) {
            Some(value) => Ok(Json::Number(Numeric::from_f64(value))),
            None => soft(
                NON_NUMERIC,
                "string argument of jsonpath item method .double() is not a valid representation of a double precision number"
                    .into(),
            ),
        },
        _ => soft(
            NON_NUMERIC,
            "jsonpath item method .double() can only be applied to a string or numeric value".into(),
        ),
    }
}

fn type_name(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}
