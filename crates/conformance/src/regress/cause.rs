//! Which gap is behind a difference: causes are counted, so that work goes where most statements are.
//!
//! A cause is mote's first error that PostgreSQL does not print, its names and numbers taken out. What fails because an
//! earlier statement failed - its table was never made, its transaction is aborted - counts for that one's cause, as
//! something that follows.

use std::collections::HashMap;

use super::classify::{Class, Pair};

#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    pub text: String,
    /// An earlier statement is behind it.
    pub follows: bool,
}

/// What earlier statements left behind.
#[derive(Default)]
pub struct Causes {
    /// Objects that are missing, by name, and why.
    missing: HashMap<String, String>,
    /// Why the session's transaction is aborted.
    aborted: Option<String>,
}

const IN_FAILED_TRANSACTION: &str = "25P02";
const MISSING: [&str; 7] = ["42P01", "42704", "42883", "3F000", "42703", "34000", "26000"];

impl Causes {
    /// A new file is a new session.
    pub fn new_file(&mut self) {
        self.aborted = None;
    }

    /// Takes every pair in order, the identical ones too: what they make is there.
    pub fn judge(&mut self, pair: &Pair<'_>, class: Class) -> Cause {
        let error = pair.answer.and_then(|answer| {
            let known =
                |error: &&(String, String)| pair.reference.errors.iter().any(|(_, text)| *text == error.1);
            answer.errors.iter().find(|error| !known(error))
        });
        let cause = self.cause(class, error, pair);
        let created = created_name(pair.statement.body());
        let failed = matches!(
            class,
            Class::NotSupported | Class::Refused | Class::Panic | Class::Library
        );
        match created {
            Some(name) if failed => drop(self.missing.insert(name, cause.text.clone())),
            Some(name) if class == Class::Identical => drop(self.missing.remove(&name)),
            _ => {}
        }
        if error.is_some_and(|error| error.0 != IN_FAILED_TRANSACTION) {
            self.aborted = Some(cause.text.clone());
        }
        cause
    }

    fn cause(&self, class: Class, error: Option<&(String, String)>, pair: &Pair<'_>) -> Cause {
        let direct = |text: String| Cause { text, follows: false };
        if let Some((sqlstate, message)) = error {
            let earlier = match sqlstate.as_str() {
                IN_FAILED_TRANSACTION => self.aborted.clone(),
                state if MISSING.contains(&state) => {
                    named(message).find_map(|name| self.missing.get(&name).cloned())
                }
                _ => None,
            };
            if let Some(text) = earlier {
                return Cause { text, follows: true };
            }
        }
        let refused = || pair.reference.errors.first().map_or("", |error| &error.1);
        direct(match (class, error) {
            (Class::NotSupported | Class::Refused, Some((_, message))) => generalised(message),
            (Class::OtherError, Some((_, message))) => format!("other error text: {}", generalised(message)),
            (Class::Panic, Some((_, message))) => format!("panic: {}", generalised(message)),
            (Class::Panic, None) => "the connection ended".to_string(),
            (Class::Accepted, _) => format!("accepts: {}", generalised(refused())),
            (Class::Detail, _) => "only position, DETAIL, HINT or CONTEXT".to_string(),
            (Class::OtherRows, _) => "other rows or text, no error".to_string(),
            (Class::RowOrder, _) => "order of rows".to_string(),
            (Class::Explain, _) => "text of a plan".to_string(),
            (Class::Display, _) => "what \\d and its kin show".to_string(),
            (Class::Notice, _) => "notices".to_string(),
            (Class::Library, _) => "C functions of regress.so".to_string(),
            (class, _) => class.name().to_string(),
        })
    }
}

/// The name a CREATE gives, without its schema and in lower case.
fn created_name(body: &str) -> Option<String> {
    const FILLERS: [&str; 16] = [
        "or",
        "replace",
        "temp",
        "temporary",
        "unlogged",
        "global",
        "local",
        "if",
        "not",
        "exists",
        "unique",
        "recursive",
        "materialized",
        "foreign",
        "default",
        "trusted",
    ];
    let body = body.to_ascii_lowercase();
    let end = body.find(['(', ';']).unwrap_or(body.len());
    let mut words = body[..end].split_whitespace();
    if words.next()? != "create" {
        return None;
    }
    let mut words = words.filter(|word| !FILLERS.contains(word));
    words.next()?; // The kind of object.
    let name = words.next()?.rsplit('.').next()?.trim_matches('"');
    (!name.is_empty()).then(|| name.to_string())
}

/// The names a message quotes, without schemas, and the name of `function name(..)`.
fn named(message: &str) -> impl Iterator<Item = String> + '_ {
    let last = |name: &str| {
        name.rsplit('.')
            .next()
            .unwrap_or(name)
            .trim_end_matches("[]")
            .to_ascii_lowercase()
    };
    let quoted = message.split('"').skip(1).step_by(2);
    let called = message
        .split(['(', ' '])
        .skip_while(|word| !matches!(*word, "function" | "aggregate" | "procedure"));
    quoted.chain(called.skip(1).take(1)).map(last)
}

/// Without what differs from case to case: quoted names, numbers, types of arguments.
pub fn generalised(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message.lines().next().unwrap_or_default();
    while let Some(first) = rest.chars().next() {
        let close = match first {
            '"' => rest[1..].find('"').map(|at| (at + 2, "\"…\"")),
            '(' => rest[1..].find(')').map(|at| (at + 2, "(..)")),
            '0'..='9' => Some((
                rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
                "N",
            )),
            _ => None,
        };
        let (length, text) = close.unwrap_or((first.len_utf8(), &rest[..first.len_utf8()]));
        out.push_str(text);
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::script::Statement;
    use super::super::session::{Answer, End};
    use super::*;

    fn judge(causes: &mut Causes, class: Class, text: &str, error: Option<(&str, &str)>) -> Cause {
        let answer = |errors: Option<(&str, &str)>| Answer {
            text: String::new(),
            errors: errors
                .into_iter()
                .map(|(a, b)| (a.to_string(), b.to_string()))
                .collect(),
            end: End::Answered,
        };
        let statement = Statement {
            line: 1,
            text: text.to_string(),
            data: Vec::new(),
        };
        let pair = Pair {
            statement: &statement,
            reference: &answer(None),
            reference_build: Path::new("a"),
            answer: Some(&answer(error)),
            build: Path::new("b"),
        };
        causes.judge(&pair, class)
    }

    #[test]
    fn messages_lose_what_differs() {
        assert_eq!(
            generalised("function f(int, text) of \"x\" has 12\nmore"),
            "function f(..) of \"…\" has N"
        );
        assert_eq!(generalised("an \"open quote"), "an \"open quote");
    }

    #[test]
    fn what_follows_counts_for_its_cause() {
        let mut causes = Causes::default();
        let refused = Some(("0A000", "type point is not supported"));
        let cause = judge(
            &mut causes,
            Class::NotSupported,
            "CREATE TEMP TABLE public.T1(a point)",
            refused,
        );
        assert_eq!(
            (cause.text.as_str(), cause.follows),
            ("type point is not supported", false)
        );
        let missing = Some(("42P01", "relation \"t1\" does not exist"));
        let cause = judge(&mut causes, Class::Refused, "select * from t1", missing);
        assert_eq!(
            (cause.text.as_str(), cause.follows),
            ("type point is not supported", true)
        );
        let aborted = Some(("25P02", "current transaction is aborted"));
        assert!(judge(&mut causes, Class::Refused, "select 1", aborted).follows);
        causes.new_file();
        assert!(!judge(&mut causes, Class::Refused, "select 1", aborted).follows);
        judge(&mut causes, Class::Identical, "create table t1 (a int)", None);
        assert!(!judge(&mut causes, Class::Refused, "select * from t1", missing).follows);
    }

    #[test]
    fn names_of_created_objects() {
        let name = |text: &str| created_name(text);
        assert_eq!(
            name("create or replace function s.\"f\" (int)").as_deref(),
            Some("f")
        );
        assert_eq!(name("CREATE UNIQUE INDEX i ON t (a)").as_deref(), Some("i"));
        assert_eq!(name("select 1"), None);
        assert_eq!(named("function g(int) does not exist").collect::<Vec<_>>(), ["g"]);
    }
}
