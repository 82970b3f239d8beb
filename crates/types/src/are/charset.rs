//! Sets of characters: bracket expressions, class escapes, single characters that ignore case.
//!
//! A set is a list of ranges, sorted and apart from each other. The named classes are what a C library with a
//! UTF-8 locale calls them: digits are ASCII's, letters are all the others that count as alphanumeric.

use std::sync::LazyLock;

const LAST: u32 = char::MAX as u32;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CharSet {
    ranges: Vec<(u32, u32)>,
    /// The members below 128 again, one bit each.
    ascii: u128,
}

impl CharSet {
    pub fn from_ranges(mut ranges: Vec<(u32, u32)>) -> CharSet {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => previous.1 = previous.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        let mut ascii = 0;
        for &(first, last) in merged.iter().take_while(|range| range.0 < 128) {
            (first..=last.min(127)).for_each(|code| ascii |= 1u128 << code);
        }
        CharSet {
            ranges: merged,
            ascii,
        }
    }

    pub fn single(c: char, ignore_case: bool) -> CharSet {
        CharSet::range(c as u32, c as u32, ignore_case)
    }

    /// The characters of a range of codes, with their other cases where case is ignored.
    pub fn range(first: u32, last: u32, ignore_case: bool) -> CharSet {
        let mut ranges = vec![(first, last)];
        if ignore_case {
            let other_cases = (first..=last)
                .filter_map(char::from_u32)
                .flat_map(|c| [lower(c), upper(c)]);
            ranges.extend(other_cases.map(|c| (c as u32, c as u32)));
        }
        CharSet::from_ranges(ranges)
    }

    pub fn union(&self, other: &CharSet) -> CharSet {
        CharSet::from_ranges(self.ranges.iter().chain(&other.ranges).copied().collect())
    }

    pub fn complement(&self) -> CharSet {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for &(first, last) in &self.ranges {
            if first > next {
                ranges.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        CharSet::from_ranges(ranges)
    }

    pub fn contains(&self, c: char) -> bool {
        let code = c as u32;
        if code < 128 {
            return self.ascii >> code & 1 == 1;
        }
        let at = self.ranges.partition_point(|range| range.1 < code);
        self.ranges.get(at).is_some_and(|range| range.0 <= code)
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// A named class, as in `[:alpha:]`.
    pub fn class(name: &str, ignore_case: bool) -> Option<&'static CharSet> {
        let name = match name {
            "upper" | "lower" if ignore_case => "alpha",
            other => other,
        };
        let at = CLASSES.iter().position(|(class, _)| *class == name)?;
        Some(&CLASS_SETS[at])
    }
}

/// The lower case of a character, where that is one character.
pub fn lower(c: char) -> char {
    let mut cases = c.to_lowercase();
    match (cases.next(), cases.next()) {
        (Some(single), None) => single,
        _ => c,
    }
}

fn upper(c: char) -> char {
    let mut cases = c.to_uppercase();
    match (cases.next(), cases.next()) {
        (Some(single), None) => single,
        _ => c,
    }
}

type Member = fn(char) -> bool;

const CLASSES: &[(&str, Member)] = &[
    ("alnum", char::is_alphanumeric),
    ("alpha", |c| c.is_alphanumeric() && !c.is_ascii_digit()),
    ("ascii", |c| c.is_ascii()),
    ("blank", |c| c == '\t' || c == ' '),
    ("cntrl", is_control),
    ("digit", |c| c.is_ascii_digit()),
    ("graph", |c| is_printed(c) && !is_space(c)),
    ("lower", char::is_lowercase),
    ("print", is_printed),
    ("punct", |c| is_printed(c) && !is_space(c) && !c.is_alphanumeric()),
    ("space", is_space),
    ("upper", char::is_uppercase),
    ("xdigit", |c| c.is_ascii_hexdigit()),
    ("word", |c| c.is_alphanumeric() || c == '_'),
];

/// The classes as sets, in the order of `CLASSES`.
static CLASS_SETS: LazyLock<Vec<CharSet>> = LazyLock::new(|| {
    let set = |&(_, member): &(&str, Member)| {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for code in (0..=LAST).filter(|&code| char::from_u32(code).is_some_and(member)) {
            match ranges.last_mut() {
                Some(range) if range.1 + 1 == code => range.1 = code,
                _ => ranges.push((code, code)),
            }
        }
        CharSet::from_ranges(ranges)
    };
    CLASSES.iter().map(set).collect()
});

/// White space but for the spaces that never break.
fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}')
}

fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

fn is_printed(c: char) -> bool {
    !is_control(c)
}
