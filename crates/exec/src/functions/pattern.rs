//! LIKE, ILIKE, SIMILAR TO and POSIX regular expressions.
//!
//! Regular expressions run on the `regex` crate: advanced constructs that it lacks (back references, look-around) are
//! refused with 2201B, never approximated. Compiled patterns are kept per thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::pattern::{Escape, LikePattern, similar_to_regex, substring_regex};
use mote_types::{Datum, oid};
use regex::{Captures, Regex, RegexBuilder};

use super::{Body, CallSite, bytes, int4, text};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "textlike" | "namelike" => Body::Pure(|a| like(a, false).map(Datum::Bool)),
        "textnlike" | "namenlike" => Body::Pure(|a| like(a, false).map(|matched| Datum::Bool(!matched))),
        "texticlike" | "nameiclike" => Body::Pure(|a| like(a, true).map(Datum::Bool)),
        "texticnlike" | "nameicnlike" => Body::Pure(|a| like(a, true).map(|matched| Datum::Bool(!matched))),
        "bpcharlike" => Body::Runtime(|_, site, a| like(&padded(site, a), false).map(Datum::Bool)),
        "bpcharnlike" => Body::Runtime(|_, site, a| like(&padded(site, a), false).map(|is| Datum::Bool(!is))),
        "bpchariclike" => Body::Runtime(|_, site, a| like(&padded(site, a), true).map(Datum::Bool)),
        "bpcharicnlike" => {
            Body::Runtime(|_, site, a| like(&padded(site, a), true).map(|is| Datum::Bool(!is)))
        }
        "bpcharregexeq" => Body::Runtime(|_, site, a| matches(&padded(site, a), "").map(Datum::Bool)),
        "bpcharregexne" => {
            Body::Runtime(|_, site, a| matches(&padded(site, a), "").map(|is| Datum::Bool(!is)))
        }
        "bpcharicregexeq" => Body::Runtime(|_, site, a| matches(&padded(site, a), "i").map(Datum::Bool)),
        "bpcharicregexne" => {
            Body::Runtime(|_, site, a| matches(&padded(site, a), "i").map(|is| Datum::Bool(!is)))
        }
        "bytealike" => Body::Pure(|a| Ok(Datum::Bool(bytes_like(bytes(&a[0]), bytes(&a[1]))))),
        "byteanlike" => Body::Pure(|a| Ok(Datum::Bool(!bytes_like(bytes(&a[0]), bytes(&a[1]))))),
        "like_escape" => Body::Pure(|a| like_escape(text(&a[0]), text(&a[1])).map(Datum::from)),
        "like_escape_bytea" => Body::Pure(|a| {
            let pattern = String::from_utf8_lossy(bytes(&a[0])).into_owned();
            let escape = String::from_utf8_lossy(bytes(&a[1])).into_owned();
            Ok(Datum::bytea(like_escape(&pattern, &escape)?.into_bytes()))
        }),
        "similar_to_escape_1" => {
            Body::Pure(|a| similar_to_regex(text(&a[0]), Escape::default()).map(Datum::from))
        }
        "similar_to_escape_2" => {
            Body::Pure(|a| similar_to_regex(text(&a[0]), Escape::parse(text(&a[1]))?).map(Datum::from))
        }
        "textregexeq" | "nameregexeq" => Body::Pure(|a| matches(a, "").map(Datum::Bool)),
        "textregexne" | "nameregexne" => Body::Pure(|a| matches(a, "").map(|matched| Datum::Bool(!matched))),
        "texticregexeq" | "nameicregexeq" => Body::Pure(|a| matches(a, "i").map(Datum::Bool)),
        "texticregexne" | "nameicregexne" => {
            Body::Pure(|a| matches(a, "i").map(|matched| Datum::Bool(!matched)))
        }
        "regexp_like_no_flags" => Body::Pure(|a| matches(a, "").map(Datum::Bool)),
        "regexp_like" => Body::Pure(|a| {
            forbid_global(text(&a[2]), "regexp_like()")?;
            matches(a, text(&a[2])).map(Datum::Bool)
        }),
        "textregexsubstr" => Body::Pure(|a| first_match(text(&a[0]), text(&a[1]))),
        "substring" => Body::Pure(|a| {
            let pattern = substring_regex(text(&a[1]), Escape::parse(text(&a[2]))?)?;
            first_match(text(&a[0]), &pattern)
        }),
        "textregexreplace_noopt" => {
            Body::Pure(|a| replace(text(&a[0]), text(&a[1]), text(&a[2]), "", 1, None))
        }
        "textregexreplace" => {
            Body::Pure(|a| replace(text(&a[0]), text(&a[1]), text(&a[2]), text(&a[3]), 1, None))
        }
        "textregexreplace_extended" => Body::Pure(|a| {
            let n = int4(&a[4]);
            replace(
                text(&a[0]),
                text(&a[1]),
                text(&a[2]),
                text(&a[5]),
                int4(&a[3]),
                Some(n),
            )
        }),
        "textregexreplace_extended_no_flags" => Body::Pure(|a| {
            let n = int4(&a[4]);
            replace(text(&a[0]), text(&a[1]), text(&a[2]), "", int4(&a[3]), Some(n))
        }),
        "textregexreplace_extended_no_n" => {
            Body::Pure(|a| replace(text(&a[0]), text(&a[1]), text(&a[2]), "", int4(&a[3]), Some(1)))
        }
        "regexp_count_no_start" => Body::Pure(|a| count(text(&a[0]), text(&a[1]), 1, "")),
        "regexp_count_no_flags" => Body::Pure(|a| count(text(&a[0]), text(&a[1]), int4(&a[2]), "")),
        "regexp_count" => Body::Pure(|a| count(text(&a[0]), text(&a[1]), int4(&a[2]), text(&a[3]))),
        "regexp_instr_no_start" => Body::Pure(|a| instr(a, 1, 1, 0, "", 0)),
        "regexp_instr_no_n" => Body::Pure(|a| instr(a, int4(&a[2]), 1, 0, "", 0)),
        "regexp_instr_no_endoption" => Body::Pure(|a| instr(a, int4(&a[2]), int4(&a[3]), 0, "", 0)),
        "regexp_instr_no_flags" => Body::Pure(|a| instr(a, int4(&a[2]), int4(&a[3]), int4(&a[4]), "", 0)),
        "regexp_instr_no_subexpr" => {
            Body::Pure(|a| instr(a, int4(&a[2]), int4(&a[3]), int4(&a[4]), text(&a[5]), 0))
        }
        "regexp_instr" => {
            Body::Pure(|a| instr(a, int4(&a[2]), int4(&a[3]), int4(&a[4]), text(&a[5]), int4(&a[6])))
        }
        "regexp_substr_no_start" => Body::Pure(|a| substr(a, 1, 1, "", 0)),
        "regexp_substr_no_n" => Body::Pure(|a| substr(a, int4(&a[2]), 1, "", 0)),
        "regexp_substr_no_flags" => Body::Pure(|a| substr(a, int4(&a[2]), int4(&a[3]), "", 0)),
        "regexp_substr_no_subexpr" => Body::Pure(|a| substr(a, int4(&a[2]), int4(&a[3]), text(&a[4]), 0)),
        "regexp_substr" => Body::Pure(|a| substr(a, int4(&a[2]), int4(&a[3]), text(&a[4]), int4(&a[5]))),
        "regexp_match_no_flags" => Body::Pure(|a| regexp_match(text(&a[0]), text(&a[1]), "")),
        "regexp_match" => Body::Pure(|a| {
            forbid_global(text(&a[2]), "regexp_match()")?;
            regexp_match(text(&a[0]), text(&a[1]), text(&a[2]))
        }),
        "regexp_split_to_array_no_flags" => {
            Body::Pure(|a| Ok(text_array(split(text(&a[0]), text(&a[1]), "")?)))
        }
        "regexp_split_to_array" => Body::Pure(|a| {
            forbid_global(text(&a[2]), "regexp_split_to_array()")?;
            Ok(text_array(split(text(&a[0]), text(&a[1]), text(&a[2]))?))
        }),
        _ => return None,
    })
}

/// Patterns kept per thread; all are dropped when there are more.
const CACHED_PATTERNS_MAX: usize = 256;

mote_common::per_thread! {
    static LIKE_PATTERNS: RefCell<HashMap<(String, bool), Arc<LikePattern>>> = RefCell::default();
}
mote_common::per_thread! {
    static REGEXES: RefCell<HashMap<(String, String), Arc<Regex>>> = RefCell::default();
}

fn like(arguments: &[Datum], fold_case: bool) -> SqlResult<bool> {
    let pattern = text(&arguments[1]);
    let compiled = LIKE_PATTERNS.with(|patterns| -> SqlResult<Arc<LikePattern>> {
        let mut patterns = patterns.borrow_mut();
        // The key is owned; patterns are short and the look-up is far cheaper than compiling one.
        let key = (pattern.to_string(), fold_case);
        if let Some(found) = patterns.get(&key) {
            return Ok(Arc::clone(found));
        }
        let compiled = Arc::new(match fold_case {
            true => LikePattern::new_case_insensitive(pattern, Escape::default())?,
            false => LikePattern::new(pattern, Escape::default())?,
        });
        if patterns.len() >= CACHED_PATTERNS_MAX {
            patterns.clear();
        }
        patterns.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    })?;
    Ok(compiled.matches(text(&arguments[0])))
}

/// A value of `character(n)` with the blanks it is held without: patterns see them.
fn padded(site: &CallSite, arguments: &[Datum]) -> [Datum; 2] {
    let value =
        mote_types::format::output_to_string(&arguments[0], site.arguments[0], &super::PLAIN_SETTINGS);
    [Datum::from(value), arguments[1].clone()]
}

/// LIKE over bytes, with the default escape.
fn bytes_like(value: &[u8], pattern: &[u8]) -> bool {
    match pattern {
        [] => value.is_empty(),
        [b'%', rest @ ..] => (0..=value.len()).any(|skip| bytes_like(&value[skip..], rest)),
        [b'_', rest @ ..] => !value.is_empty() && bytes_like(&value[1..], rest),
        [b'\\', literal, rest @ ..] => value.first() == Some(literal) && bytes_like(&value[1..], rest),
        [literal, rest @ ..] => value.first() == Some(literal) && bytes_like(&value[1..], rest),
    }
}

/// A pattern with another escape character, rewritten to the default one.
fn like_escape(pattern: &str, escape: &str) -> SqlResult<String> {
    let Escape(escape) = Escape::parse(escape)?;
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        if Some(c) == escape {
            out.push('\\');
            out.extend(characters.next());
        } else if c == '\\' {
            out.push_str("\\\\");
        } else {
            out.push(c);
        }
    }
    Ok(out)
}

/// Compiles a pattern with PostgreSQL's option letters, or finds it in the thread's cache.
fn compile(pattern: &str, flags: &str) -> SqlResult<Arc<Regex>> {
    REGEXES.with(|regexes| {
        let mut regexes = regexes.borrow_mut();
        let key = (pattern.to_string(), flags.to_string());
        if let Some(found) = regexes.get(&key) {
            return Ok(Arc::clone(found));
        }
        let compiled = Arc::new(build(pattern, flags)?);
        if regexes.len() >= CACHED_PATTERNS_MAX {
            regexes.clear();
        }
        regexes.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    })
}

fn build(pattern: &str, flags: &str) -> SqlResult<Regex> {
    let mut literal = false;
    let mut options = (false, false, true, false); // case-insensitive, multi-line, dot matches newline, extended
    for flag in flags.chars() {
        match flag {
            'g' | 'c' | 'e' | 's' | 't' | 'b' => {}
            'i' => options.0 = true,
            'm' | 'n' => (options.1, options.2) = (true, false),
            'p' => options.2 = false,
            'w' => options.1 = true,
            'x' => options.3 = true,
            'q' => literal = true,
            other => {
                return Err(SqlError::new(
                    state::INVALID_PARAMETER_VALUE,
                    format!("invalid regular expression option: \"{other}\""),
                ));
            }
        }
    }
    // A leading *** director picks the flavour.
    let pattern = match pattern.strip_prefix("***=") {
        Some(rest) => {
            literal = true;
            rest
        }
        None => pattern.strip_prefix("***:").unwrap_or(pattern),
    };
    let source = if literal {
        regex::escape(pattern)
    } else {
        translate(pattern)
    };
    RegexBuilder::new(&source)
        .case_insensitive(options.0)
        .multi_line(options.1)
        .dot_matches_new_line(options.2)
        .ignore_whitespace(options.3)
        .build()
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason
                .lines()
                .last()
                .unwrap_or("")
                .trim_start_matches("error: ")
                .to_string();
            SqlError::new(
                state::INVALID_REGULAR_EXPRESSION,
                format!("invalid regular expression: {}", in_other_words(&reason)),
            )
        })
}

/// PostgreSQL's words for what the regex crate complains about, where it has words for it.
fn in_other_words(reason: &str) -> &str {
    const WORDS: [(&str, &str); 8] = [
        ("unclosed group", "parentheses () not balanced"),
        ("unopened group", "parentheses () not balanced"),
        ("unclosed character class", "brackets [] not balanced"),
        (
            "repetition operator missing expression",
            "quantifier operand invalid",
        ),
        ("invalid repetition count range", "invalid repetition count(s)"),
        ("invalid character class range", "invalid character range"),
        ("incomplete escape sequence", "invalid escape \\ sequence"),
        ("unrecognized escape sequence", "invalid escape \\ sequence"),
    ];
    let known = WORDS.iter().find(|(theirs, _)| reason.starts_with(theirs));
    known.map_or(reason, |(_, words)| words)
}

/// PostgreSQL's word escapes, which the regex crate spells differently. Everything else is common ground.
fn translate(pattern: &str) -> String {
    if !pattern.contains('\\') && !pattern.contains("[[:") {
        return pattern.to_string();
    }
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("[[:<:]]") {
            out.push_str("\\b{start}");
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("[[:>:]]") {
            out.push_str("\\b{end}");
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escaped) = rest.chars().next() else {
            out.push('\\');
            break;
        };
        rest = &rest[escaped.len_utf8()..];
        match escaped {
            'm' => out.push_str("\\b{start}"),
            'M' => out.push_str("\\b{end}"),
            'y' => out.push_str("\\b"),
            'Y' => out.push_str("\\B"),
            'A' => out.push_str("\\A"),
            'Z' => out.push_str("\\z"),
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out
}

fn forbid_global(flags: &str, function: &str) -> SqlResult<()> {
    if flags.contains('g') {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("{function} does not support the \"global\" option"),
        )
        .hint(format!(
            "Use the regexp_matches function instead, where {function} takes one match."
        )));
    }
    Ok(())
}

fn matches(arguments: &[Datum], flags: &str) -> SqlResult<bool> {
    Ok(compile(text(&arguments[1]), flags)?.is_match(text(&arguments[0])))
}

/// The first group of the first match, or the whole match where the pattern has no group.
fn first_match(value: &str, pattern: &str) -> SqlResult<Datum> {
    let regex = compile(pattern, "")?;
    Ok(match regex.captures(value) {
        None => Datum::Null,
        Some(captures) if captures.len() > 1 => {
            captures.get(1).map_or(Datum::Null, |m| Datum::from(m.as_str()))
        }
        Some(captures) => Datum::from(&captures[0]),
    })
}

/// The byte offset of a 1-based character position.
fn offset(value: &str, start: i32) -> SqlResult<usize> {
    if start < 1 {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"start\": {start}"),
        ));
    }
    let position = value.char_indices().nth(start as usize - 1);
    Ok(position.map_or(value.len(), |(offset, _)| offset))
}

/// `n`: which match to replace, 0 for all; None: the first, or all with the option `g`.
fn replace(
    value: &str,
    pattern: &str,
    replacement: &str,
    flags: &str,
    start: i32,
    n: Option<i32>,
) -> SqlResult<Datum> {
    let regex = compile(pattern, flags)?;
    let which = match n {
        Some(n) if n < 0 => {
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"n\": {n}"),
            ));
        }
        Some(n) => n as usize,
        None if flags.contains('g') => 0,
        None => 1,
    };
    let from = offset(value, start)?;
    let mut out = String::with_capacity(value.len());
    let mut copied = 0;
    let mut at = from;
    let mut number = 0;
    while at <= value.len() {
        let Some(captures) = regex.captures_at(value, at) else {
            break;
        };
        let whole = captures.get(0).expect("a match has group 0");
        number += 1;
        if which == 0 || number == which {
            out.push_str(&value[copied..whole.start()]);
            expand(&captures, replacement, &mut out);
            copied = whole.end();
            if which != 0 {
                break;
            }
        }
        at = match whole.end() == whole.start() {
            false => whole.end(),
            true => match value[whole.end()..].chars().next() {
                Some(c) => whole.end() + c.len_utf8(),
                None => break,
            },
        };
    }
    out.push_str(&value[copied..]);
    Ok(Datum::from(out))
}

/// `\1` to `\9` and `\&` stand for groups and the match, `\\` for a backslash.
fn expand(captures: &Captures<'_>, replacement: &str, out: &mut String) {
    let mut characters = replacement.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next() {
            Some('&') => out.push_str(&captures[0]),
            Some(digit @ '1'..='9') => {
                let group = digit as usize - '0' as usize;
                out.push_str(captures.get(group).map_or("", |m| m.as_str()));
            }
            Some('\\') => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
}

fn count(value: &str, pattern: &str, start: i32, flags: &str) -> SqlResult<Datum> {
    forbid_global(flags, "regexp_count()")?;
    let regex = compile(pattern, flags)?;
    let from = offset(value, start)?;
    Ok(Datum::Int4(
        regex.find_iter(value).filter(|m| m.start() >= from).count() as i32,
    ))
}

/// The n-th match from a position on, or one of its groups: its byte range.
fn nth_match(
    arguments: &[Datum],
    (start, n, group): (i32, i32, i32),
    flags: &str,
    function: &str,
) -> SqlResult<Option<std::ops::Range<usize>>> {
    let invalid = |parameter: &str, value: i32| {
        let message = format!("invalid value for parameter \"{parameter}\": {value}");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    };
    let value = text(&arguments[0]);
    let from = offset(value, start)?;
    if n < 1 {
        return Err(invalid("n", n));
    }
    if group < 0 {
        return Err(invalid("subexpr", group));
    }
    forbid_global(flags, function)?;
    let regex = compile(text(&arguments[1]), flags)?;
    let mut found = regex
        .captures_iter(value)
        .filter(|captures| captures.get_match().start() >= from);
    let captures = found.nth(n as usize - 1);
    Ok(captures.and_then(|captures| captures.get(group as usize).map(|part| part.range())))
}

/// `regexp_instr`: the place of the match, or the one behind it; 0 for none.
fn instr(arguments: &[Datum], start: i32, n: i32, end: i32, flags: &str, group: i32) -> SqlResult<Datum> {
    if !(0..=1).contains(&end) {
        let message = format!("invalid value for parameter \"endoption\": {end}");
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    let found = nth_match(arguments, (start, n, group), flags, "regexp_instr()")?;
    let place = found.map(|range| if end == 0 { range.start } else { range.end });
    let value = text(&arguments[0]);
    Ok(Datum::Int4(
        place.map_or(0, |place| value[..place].chars().count() as i32 + 1),
    ))
}

fn substr(arguments: &[Datum], start: i32, n: i32, flags: &str, group: i32) -> SqlResult<Datum> {
    let found = nth_match(arguments, (start, n, group), flags, "regexp_substr()")?;
    Ok(found.map_or(Datum::Null, |range| Datum::from(&text(&arguments[0])[range])))
}

fn groups_of(captures: &Captures<'_>) -> Datum {
    let group = |m: Option<regex::Match<'_>>| m.map_or(Datum::Null, |m| Datum::from(m.as_str()));
    let groups = match captures.len() {
        1 => vec![group(captures.get(0))],
        _ => captures.iter().skip(1).map(group).collect(),
    };
    Datum::array(oid::TEXT, groups)
}

fn regexp_match(value: &str, pattern: &str, flags: &str) -> SqlResult<Datum> {
    Ok(compile(pattern, flags)?
        .captures(value)
        .map_or(Datum::Null, |captures| groups_of(&captures)))
}

/// All matches (with `g`) or the first, each as an array of its groups.
pub(crate) fn regexp_matches(value: &str, pattern: &str, flags: &str) -> SqlResult<Vec<Datum>> {
    let regex = compile(pattern, flags)?;
    let limit = if flags.contains('g') { usize::MAX } else { 1 };
    Ok(regex
        .captures_iter(value)
        .take(limit)
        .map(|captures| groups_of(&captures))
        .collect())
}

/// The pieces between matches. An empty match at the start, at the end or right behind a match splits nothing.
pub(crate) fn split(value: &str, pattern: &str, flags: &str) -> SqlResult<Vec<String>> {
    let regex = compile(pattern, flags)?;
    let mut pieces = Vec::new();
    let mut from = 0;
    for found in regex.find_iter(value) {
        if found.is_empty() && (found.start() == from || found.start() == value.len()) {
            continue;
        }
        pieces.push(value[from..found.start()].to_string());
        from = found.end();
    }
    pieces.push(value[from..].to_string());
    Ok(pieces)
}

pub(crate) fn text_array(pieces: Vec<String>) -> Datum {
    Datum::array(oid::TEXT, pieces.into_iter().map(Datum::from).collect())
}
