//! A text that is shown as it was written and compares without regard to case.

use mote_common::SqlResult;
use mote_common::work;

use super::copy_text;
use compact_str::CompactString;

/// Invariant: `folded` is `lower` of `shown`, or None where that is `shown` itself.
#[derive(Clone, Debug)]
pub struct FoldedText {
    shown: CompactString,
    folded: Option<CompactString>,
}

impl FoldedText {
    pub fn new(shown: CompactString) -> SqlResult<FoldedText> {
        let mut is_folded = true;
        for piece in work::pieces(&shown) {
            let piece = piece?;
            is_folded = is_folded && piece.chars().all(|c| lower(c) == c);
        }
        let folded = match is_folded {
            true => None,
            false => Some(folded(&shown)?.into()),
        };
        Ok(FoldedText { shown, folded })
    }

    /// What a row holds. The parts were made by `new` before they were stored.
    pub fn of_parts(shown: CompactString, folded: CompactString) -> FoldedText {
        let folded = (folded != shown).then_some(folded);
        FoldedText { shown, folded }
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// What the value compares and hashes by.
    pub fn folded(&self) -> &str {
        self.folded.as_ref().unwrap_or(&self.shown)
    }

    pub fn try_clone(&self) -> SqlResult<FoldedText> {
        Ok(FoldedText {
            shown: copy_text(&self.shown)?,
            folded: self.folded.as_deref().map(copy_text).transpose()?,
        })
    }

    pub fn heap_bytes(&self) -> usize {
        let behind = |text: &CompactString| {
            if text.is_heap_allocated() {
                text.capacity()
            } else {
                0
            }
        };
        size_of::<FoldedText>() + behind(&self.shown) + self.folded.as_ref().map_or(0, behind)
    }
}

fn folded(text: &str) -> SqlResult<String> {
    let mut out = work::text_buffer(text.len())?;
    let mut buffer = [0; 4];
    for piece in work::pieces(text) {
        for c in piece?.chars() {
            match out.capacity() - out.len() < 4 {
                true => work::grow(&mut out, lower(c).encode_utf8(&mut buffer))?,
                false => out.push(lower(c)),
            }
        }
    }
    Ok(out)
}

/// The character's one lower-case form; one that would become several stays, as in PostgreSQL's C.UTF-8.
pub fn lower(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let mut mapped = c.to_lowercase();
    match (mapped.next(), mapped.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_keeps_what_is_shown() {
        for (shown, folded) in [("", ""), ("abc", "abc"), ("ÀbC", "àbc"), ("İ", "İ")] {
            let value = FoldedText::new(shown.into()).unwrap();
            assert_eq!((value.shown(), value.folded()), (shown, folded));
        }
    }
}
