//! The `regex` crate, for expressions whose answers it gives too: whether there is a match, and where the first one starts, in
//! short texts by one call and in long ones by `long`. Where that match ends and what its groups took, `dissect` decides.
//!
//! Look-around and back references it does not know; word boundaries it knows by another definition of words.

use std::fmt::Write;

use mote_common::SqlResult;

use super::long::{LONG_BYTES, LongSearch};
use super::syntax::{Place, Syntax};

/// Characters of the translated pattern: longer ones are compiled at too high a price.
const LENGTH_MAX: usize = 200_000;

pub struct Prefilter {
    short: regex::Regex,
    long: LongSearch,
}

impl Prefilter {
    /// Where the first match at `from` or behind it starts.
    pub fn find_start(&self, text: &str, from: usize) -> SqlResult<Option<usize>> {
        if text.len() - from >= LONG_BYTES
            && let Some(found) = self.long.find_start(text, from)?
        {
            return Ok(found);
        }
        Ok(self.short.find_at(text, from).map(|found| found.start()))
    }

    #[cfg(test)]
    pub fn both(&self, text: &str, from: usize) -> (Option<usize>, Option<usize>) {
        let short = self.short.find_at(text, from).map(|found| found.start());
        let long = self.long.find_start(text, from).expect("nobody ends it");
        (short, long.expect("the automata do not give up"))
    }

    pub fn is_match(&self, text: &str) -> SqlResult<bool> {
        if text.len() >= LONG_BYTES {
            return Ok(self.find_start(text, 0)?.is_some());
        }
        Ok(self.short.is_match(text))
    }
}

pub fn build(syntax: &Syntax) -> Option<Prefilter> {
    let mut pattern = String::new();
    translate(syntax, &mut pattern)?;
    // A pattern that the crate finds too large is matched without it.
    let short = regex::Regex::new(&pattern).ok()?;
    Some(Prefilter {
        short,
        long: LongSearch::new(pattern),
    })
}

/// None: there is no translation. Quantifiers prefer short matches, which start where long ones do and are known sooner.
fn translate(syntax: &Syntax, out: &mut String) -> Option<()> {
    if out.len() > LENGTH_MAX {
        return None;
    }
    match syntax {
        Syntax::Char(c) => write!(out, "\\x{{{:x}}}", *c as u32).ok()?,
        Syntax::Set(set) => {
            if set.ranges().is_empty() {
                return None;
            }
            out.push('[');
            for &(first, last) in set.ranges() {
                write_range(first, last, out)?;
            }
            out.push(']');
        }
        Syntax::Place(place) => out.push_str(match place {
            Place::TextStart => "\\A",
            Place::TextEnd => "\\z",
            Place::LineStart => "(?m:^)",
            Place::LineEnd => "(?m:$)",
            Place::WordStart | Place::WordEnd | Place::WordBoundary | Place::NoWordBoundary => return None,
        }),
        Syntax::Look { .. } | Syntax::Backreference { .. } => return None,
        Syntax::Group { inner, .. } => {
            out.push_str("(?:");
            translate(inner, out)?;
            out.push(')');
        }
        Syntax::Repeat { inner, quantifier } => {
            out.push_str("(?:");
            translate(inner, out)?;
            out.push(')');
            match (quantifier.min, quantifier.max) {
                (0, None) => out.push_str("*?"),
                (1, None) => out.push_str("+?"),
                (min, None) => write!(out, "{{{min},}}?").ok()?,
                (min, Some(max)) => write!(out, "{{{min},{max}}}?").ok()?,
            }
        }
        Syntax::Sequence(parts) => parts.iter().try_for_each(|part| translate(part, out))?,
        Syntax::Choice(branches) => {
            out.push_str("(?:");
            for (at, branch) in branches.iter().enumerate() {
                if at > 0 {
                    out.push('|');
                }
                translate(branch, out)?;
            }
            out.push(')');
        }
    }
    Some(())
}

/// A range of characters, without the surrogates, which no text has and the crate does not take.
fn write_range(first: u32, last: u32, out: &mut String) -> Option<()> {
    const SURROGATES: (u32, u32) = (0xd800, 0xdfff);
    let mut write = |first: u32, last: u32| match first <= last {
        true => write!(out, "\\x{{{first:x}}}-\\x{{{last:x}}}").ok(),
        false => Some(()),
    };
    if last < SURROGATES.0 || first > SURROGATES.1 {
        return write(first, last);
    }
    if first < SURROGATES.0 {
        write(first, SURROGATES.0 - 1)?;
    }
    match last > SURROGATES.1 {
        true => write(SURROGATES.1 + 1, last),
        false => Some(()),
    }
}
