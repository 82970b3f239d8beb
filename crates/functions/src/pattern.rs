//! LIKE, ILIKE, SIMILAR TO and POSIX regular expressions.
//!
//! The engines are `mote_types::pattern` and `mote_types::are`. Compiled patterns are kept per thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::are::{Match, Options, Regex};
use mote_types::datum::ELEMENT_COST;
use mote_types::pattern::{Escape, LikePattern, similar_to_regex};
use mote_types::{Datum, FormatSettings, oid};

use crate::argument::{bytes, int4, text};
use crate::text::{char_count, char_offset, copied};
use crate::{Body, CallSite};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "textlike" | "namelike" => Body::Pure(|a| like(a, false).map(Datum::Bool)),
        "textnlike" | "namenlike" => Body::Pure(|a| like(a, false).map(|matched| Datum::Bool(!matched))),
        "texticlike" | "nameiclike" => Body::Pure(|a| like(a, true).map(Datum::Bool)),
        "texticnlike" | "nameicnlike" => Body::Pure(|a| like(a, true).map(|matched| Datum::Bool(!matched))),
        "bpcharlike" => Body::Typed(|format, site, a| like(&padded(format, site, a), false).map(Datum::Bool)),
        "bpcharnlike" => {
            Body::Typed(|format, site, a| like(&padded(format, site, a), false).map(|is| Datum::Bool(!is)))
        }
        "bpchariclike" => {
            Body::Typed(|format, site, a| like(&padded(format, site, a), true).map(Datum::Bool))
        }
        "bpcharicnlike" => {
            Body::Typed(|format, site, a| like(&padded(format, site, a), true).map(|is| Datum::Bool(!is)))
        }
        "bpcharregexeq" => {
            Body::Typed(|format, site, a| matches(&padded(format, site, a), "").map(Datum::Bool))
        }
        "bpcharregexne" => {
            Body::Typed(|format, site, a| matches(&padded(format, site, a), "").map(|is| Datum::Bool(!is)))
        }
        "bpcharicregexeq" => {
            Body::Typed(|format, site, a| matches(&padded(format, site, a), "i").map(Datum::Bool))
        }
        "bpcharicregexne" => {
            Body::Typed(|format, site, a| matches(&padded(format, site, a), "i").map(|is| Datum::Bool(!is)))
        }
        "bytealike" => Body::Pure(|a| bytes_like(bytes(&a[0]), bytes(&a[1])).map(Datum::Bool)),
        "byteanlike" => Body::Pure(|a| bytes_like(bytes(&a[0]), bytes(&a[1])).map(|is| Datum::Bool(!is))),
        "like_escape" => Body::Pure(|a| like_escape(text(&a[0]), text(&a[1])).map(Datum::from)),
        "like_escape_bytea" => Body::Pure(|a| {
            // Byte by byte: each is a character of its own.
            let wide = |bytes: &[u8]| bytes.iter().map(|&byte| byte as char).collect::<String>();
            let escaped = like_escape(&wide(bytes(&a[0])), &wide(bytes(&a[1])))?;
            Ok(Datum::bytea(
                escaped.chars().map(|c| c as u8).collect::<Vec<u8>>(),
            ))
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
            let pattern = similar_to_regex(text(&a[1]), Escape::parse(text(&a[2]))?)?;
            first_match(text(&a[0]), &pattern)
        }),
        "textregexreplace_noopt" => {
            Body::Pure(|a| replace(text(&a[0]), text(&a[1]), text(&a[2]), "", 1, None))
        }
        "textregexreplace" => Body::Pure(|a| {
            forbid_number(text(&a[3]))?;
            replace(text(&a[0]), text(&a[1]), text(&a[2]), text(&a[3]), 1, None)
        }),
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

/// LIKE and ILIKE, with the pattern compiled or found in the thread's cache.
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
    compiled.matches(text(&arguments[0]))
}

/// A value of `character(n)` with the blanks it is held without: patterns see them.
fn padded(format: &FormatSettings, site: &CallSite, arguments: &[Datum]) -> [Datum; 2] {
    let value = mote_types::format::output_to_string(&arguments[0], site.arguments[0], format);
    [Datum::from(value), arguments[1].clone()]
}

/// LIKE over bytes, with the default escape. Only the last `%` is ever backed up to.
fn bytes_like(value: &[u8], pattern: &[u8]) -> SqlResult<bool> {
    let mut meter = Meter::default();
    let (mut value, mut pattern) = (value, pattern);
    // What follows the last `%`, and where its next attempt begins.
    let mut resume: Option<(&[u8], &[u8])> = None;
    loop {
        meter.tick(4)?;
        (value, pattern) = match (pattern, value) {
            ([], []) => return Ok(true),
            // Tried with an empty run first; `resume` lengthens it where the rest does not match.
            ([b'%', rest @ ..], _) => {
                resume = Some((rest, value));
                (value, rest)
            }
            ([b'_', rest @ ..], [_, behind @ ..]) => (behind, rest),
            ([b'\\', literal, rest @ ..], [first, behind @ ..]) if literal == first => (behind, rest),
            ([literal, rest @ ..], [first, behind @ ..])
                if literal == first && !matches!(literal, b'\\' | b'_') =>
            {
                (behind, rest)
            }
            _ => match resume {
                Some((rest, [_, behind @ ..])) => {
                    resume = Some((rest, behind));
                    (behind, rest)
                }
                _ => return Ok(false),
            },
        };
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
    let key = (pattern.to_string(), flags.to_string());
    if let Some(found) = REGEXES.with(|regexes| regexes.borrow().get(&key).cloned()) {
        return Ok(found);
    }
    // Not within the borrow: work may be suspended.
    let compiled = Arc::new(Regex::new(pattern, options(flags)?)?);
    REGEXES.with(|regexes| {
        let mut regexes = regexes.borrow_mut();
        if regexes.len() >= CACHED_PATTERNS_MAX {
            regexes.clear();
        }
        regexes.insert(key, Arc::clone(&compiled));
    });
    Ok(compiled)
}

/// The option letters of the regexp functions.
fn options(flags: &str) -> SqlResult<Options> {
    let mut options = Options::default();
    // `g` is the caller's.
    for letter in flags.chars().filter(|&letter| letter != 'g') {
        if !options.apply(letter) {
            let message = format!("invalid regular expression option: \"{letter}\"");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
    }
    Ok(options)
}

/// `g` where a function has one answer only.
pub fn forbid_global(flags: &str, function: &str) -> SqlResult<()> {
    if flags.contains('g') {
        let message = format!("{function} does not support the \"global\" option");
        let error = SqlError::new(state::INVALID_PARAMETER_VALUE, message);
        return Err(match function {
            "regexp_match()" => error.hint("Use the regexp_matches function instead."),
            _ => error,
        });
    }
    Ok(())
}

fn matches(arguments: &[Datum], flags: &str) -> SqlResult<bool> {
    compile(text(&arguments[1]), flags)?.is_match(text(&arguments[0]))
}

/// The error of a regular expression that is none.
pub fn check_regex(pattern: &str) -> SqlResult<()> {
    compile(pattern, "").map(drop)
}

/// The first group of the first match, or the whole match where the pattern has no group.
fn first_match(value: &str, pattern: &str) -> SqlResult<Datum> {
    let regex = compile(pattern, "")?;
    let group = usize::from(regex.group_count() > 0);
    let range = regex.find_at(value, 0)?.and_then(|found| found.group(group));
    part(value, range)
}

/// A part of a text, or NULL where there is none.
fn part(value: &str, range: Option<Range<usize>>) -> SqlResult<Datum> {
    range.map_or(Ok(Datum::Null), |range| copied(&value[range]))
}

/// The byte offset of a 1-based character position; None where it lies beyond the end, behind which nothing matches.
fn offset(value: &str, start: i32) -> SqlResult<Option<usize>> {
    if start < 1 {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"start\": {start}"),
        ));
    }
    let skipped = start as usize - 1;
    let offset = char_offset(value, skipped)?;
    let beyond = offset == value.len() && skipped > char_count(value)?;
    Ok((!beyond).then_some(offset))
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
    // PostgreSQL judges the positions first.
    let from = offset(value, start)?;
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
    let regex = compile(pattern, flags)?;
    let Some(from) = from else {
        return copied(value);
    };
    let mut out = String::new();
    let mut done = 0;
    // Matches are looked for one at a time: the first is enough for most calls.
    for (number, found) in regex.matches(value, from).enumerate() {
        let found = found?;
        if which != 0 && number + 1 != which {
            continue;
        }
        work::grow(&mut out, &value[done..found.range.start])?;
        expand(value, &found, replacement, &mut out)?;
        done = found.range.end;
        if which != 0 {
            break;
        }
    }
    work::grow(&mut out, &value[done..])?;
    Ok(Datum::from(out))
}

/// Options that begin with a digit are a start position whose type was guessed wrong.
fn forbid_number(flags: &str) -> SqlResult<()> {
    if !flags.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(());
    }
    let message = format!("invalid regular expression option: \"{}\"", &flags[..1]);
    Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message).hint(
        "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.",
    ))
}

/// `\1` to `\9` and `\&` stand for groups and the match, `\\` for a backslash.
fn expand(value: &str, found: &Match, replacement: &str, out: &mut String) -> SqlResult<()> {
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        work::grow(out, &rest[..at])?;
        let mut behind = rest[at + 1..].chars();
        match behind.next() {
            Some('&') => work::grow(out, &value[found.range.clone()])?,
            Some(digit @ '1'..='9') => {
                let group = found.group(digit as usize - '0' as usize);
                work::grow(out, group.map_or("", |range| &value[range]))?;
            }
            Some('\\') => work::grow(out, "\\")?,
            // Any other character keeps its backslash.
            Some(other) => {
                work::grow(out, "\\")?;
                work::grow(out, other.encode_utf8(&mut [0; 4]))?;
            }
            None => work::grow(out, "\\")?,
        }
        rest = behind.as_str();
    }
    work::grow(out, rest)
}

/// regexp_count.
fn count(value: &str, pattern: &str, start: i32, flags: &str) -> SqlResult<Datum> {
    let from = offset(value, start)?;
    forbid_global(flags, "regexp_count()")?;
    let regex = compile(pattern, flags)?;
    let Some(from) = from else {
        return Ok(Datum::Int4(0));
    };
    let count = regex
        .matches(value, from)
        .try_fold(0, |count, found| found.map(|_| count + 1))?;
    Ok(Datum::Int4(count))
}

/// Which match, from where on, which end of it, and which of its groups.
struct Wanted {
    start: i32,
    n: i32,
    end: i32,
    group: i32,
}

/// The n-th match from a position on, or one of its groups: its byte range.
fn nth_match(
    arguments: &[Datum],
    Wanted { start, n, end, group }: Wanted,
    flags: &str,
    function: &str,
) -> SqlResult<Option<Range<usize>>> {
    let invalid = |parameter: &str, value: i32| {
        let message = format!("invalid value for parameter \"{parameter}\": {value}");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    };
    let value = text(&arguments[0]);
    let from = offset(value, start)?;
    if n < 1 {
        return Err(invalid("n", n));
    }
    if !(0..=1).contains(&end) {
        return Err(invalid("endoption", end));
    }
    if group < 0 {
        return Err(invalid("subexpr", group));
    }
    forbid_global(flags, function)?;
    let regex = compile(text(&arguments[1]), flags)?;
    let Some(from) = from else {
        return Ok(None);
    };
    let found = regex.matches(value, from).nth(n as usize - 1).transpose()?;
    Ok(found.and_then(|found| found.group(group as usize)))
}

/// `regexp_instr`: the place of the match, or the one behind it; 0 for none.
fn instr(arguments: &[Datum], start: i32, n: i32, end: i32, flags: &str, group: i32) -> SqlResult<Datum> {
    let wanted = Wanted { start, n, end, group };
    let found = nth_match(arguments, wanted, flags, "regexp_instr()")?;
    let place = found.map(|range| if end == 0 { range.start } else { range.end });
    let value = text(&arguments[0]);
    Ok(Datum::Int4(match place {
        Some(place) => char_count(&value[..place])? as i32 + 1,
        None => 0,
    }))
}

/// regexp_substr: the match, or one of its groups; NULL for none.
fn substr(arguments: &[Datum], start: i32, n: i32, flags: &str, group: i32) -> SqlResult<Datum> {
    let wanted = Wanted {
        start,
        n,
        end: 0,
        group,
    };
    let found = nth_match(arguments, wanted, flags, "regexp_substr()")?;
    part(text(&arguments[0]), found)
}

/// A match's groups as an array; the whole match where the pattern has no group.
fn groups_of(value: &str, found: &Match) -> SqlResult<Datum> {
    let mut groups: Vec<Datum> = found
        .groups()
        .map(|range| part(value, range))
        .collect::<SqlResult<_>>()?;
    if groups.is_empty() {
        groups.push(part(value, found.group(0))?);
    }
    Ok(Datum::array(oid::TEXT, groups))
}

fn regexp_match(value: &str, pattern: &str, flags: &str) -> SqlResult<Datum> {
    let found = compile(pattern, flags)?.find_at(value, 0)?;
    found.map_or(Ok(Datum::Null), |found| groups_of(value, &found))
}

/// All matches (with `g`) or the first, each as an array of its groups.
pub fn regexp_matches(value: &str, pattern: &str, flags: &str) -> SqlResult<Vec<Datum>> {
    let regex = compile(pattern, flags)?;
    let limit = if flags.contains('g') { usize::MAX } else { 1 };
    let mut all = Vec::new();
    let mut meter = Meter::default();
    for found in regex.matches(value, 0).take(limit) {
        let groups = groups_of(value, &found?)?;
        meter.keep(ELEMENT_COST, groups.heap_bytes())?;
        work::push(&mut all, groups)?;
    }
    Ok(all)
}

/// The pieces between matches. An empty match at the start, at the end or right behind a match splits nothing.
pub fn split(value: &str, pattern: &str, flags: &str) -> SqlResult<Vec<String>> {
    let regex = compile(pattern, flags)?;
    let mut pieces = Vec::new();
    let mut meter = Meter::default();
    let mut from = 0;
    let mut previous_end = 0;
    for found in regex.matches(value, 0) {
        let range = found?.range;
        if range.start < value.len() && range.end > previous_end {
            let piece = &value[from..range.start];
            meter.keep(piece.len(), piece.len())?;
            work::push(&mut pieces, piece.to_string())?;
            from = range.end;
        }
        previous_end = range.end;
    }
    pieces.push(value[from..].to_string());
    Ok(pieces)
}

pub fn text_array(pieces: Vec<String>) -> Datum {
    Datum::array(oid::TEXT, pieces.into_iter().map(Datum::from).collect())
}
