//! The terms of a log, and where two logs part.
//!
//! A term is written by one node, once, so two logs that have a term's mark in common agree in all bytes of that term
//! that both have; what lies before it was the same log already. They part where the shorter of the two ends.

use mote_common::Lsn;
use mote_log::TermMark;

use crate::message::MARKS_MAX;

/// The terms a log holds, ascending, and where it ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    marks: Vec<TermMark>,
}

impl History {
    /// Of marks in the order of the log.
    pub fn new(marks: Vec<TermMark>) -> History {
        History { marks }
    }

    pub fn marks(&self) -> &[TermMark] {
        &self.marks
    }

    pub fn last_term(&self) -> u32 {
        self.marks.last().map_or(0, |mark| mark.term)
    }

    /// Of the frame that ends at `end`; `None`: no mark tells.
    pub fn term_at(&self, end: Lsn) -> Option<u32> {
        let before = self.marks.iter().rev().find(|mark| mark.start < end);
        before.map(|mark| mark.term)
    }

    pub fn begin(&mut self, mark: TermMark) {
        debug_assert!(mark.term > self.last_term());
        self.marks.push(mark);
    }

    /// What is left of it when the log is cut at `at`.
    pub fn cut(&mut self, at: Lsn) {
        self.marks.retain(|mark| mark.start < at);
    }

    /// The last `most` marks: enough to find where two logs part, unless one of them slept through more terms.
    pub fn newest(&self, most: usize) -> &[TermMark] {
        &self.marks[self.marks.len().saturating_sub(most)..]
    }

    /// Where the term of the mark at `index` ends in a log that ends at `end`.
    fn end_of(marks: &[TermMark], index: usize, end: Lsn) -> Lsn {
        marks.get(index + 1).map_or(end, |next| next.previous_end)
    }

    /// A term that both logs have, begun in each by another node: one record was followed by two. Neither log can be told to
    /// be the right one.
    pub fn twin(&self, theirs: &[TermMark]) -> Option<u32> {
        let mut terms = theirs.iter().rev();
        let twin = terms.find(|mark| {
            let mut ours = self.marks.iter().rev();
            ours.any(|other| other.term == mark.term && other != *mark)
        });
        twin.map(|mark| mark.term)
    }

    /// Up to where this log, ending at `end`, and one with the terms `theirs`, ending at `their_end`, are the same. `None`:
    /// nothing tells that they have anything in common.
    pub fn common_end(&self, end: Lsn, theirs: &[TermMark], their_end: Lsn) -> Option<Lsn> {
        // An empty log has no marks: it is the beginning of any log that begins there.
        if theirs.is_empty() {
            return self
                .marks
                .first()
                .filter(|first| first.previous_end == their_end)
                .map(|_| their_end);
        }
        let found = theirs.iter().enumerate().rev().find_map(|(index, mark)| {
            let ours = self.marks.iter().rposition(|other| other == mark)?;
            Some((ours, index))
        });
        let Some((ours, common)) = found else {
            // Terms that nobody else took, from the very beginning on: both logs are empty below that.
            let begins = |marks: &[TermMark]| marks.first().map(|mark| mark.previous_end);
            return begins(theirs).filter(|at| theirs.len() < MARKS_MAX && begins(&self.marks) == Some(*at));
        };
        let here = History::end_of(&self.marks, ours, end);
        Some(here.min(History::end_of(theirs, common, their_end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(term: u32, start: u64, previous_end: u64) -> TermMark {
        TermMark {
            term,
            start: Lsn(start),
            previous_end: Lsn(previous_end),
            nonce: term.into(),
        }
    }

    #[test]
    fn logs_part_where_the_last_common_term_ends_in_either() {
        let ours = History::new(vec![mark(1, 100, 100), mark(4, 500, 490), mark(6, 900, 900)]);
        let cut = |theirs: &[TermMark], end| ours.common_end(Lsn(2000), theirs, Lsn(end)).map(|lsn| lsn.0);
        // Behind, in the same term; and with more of an older term than its successor knew of.
        assert_eq!(cut(ours.marks(), 1500), Some(1500));
        assert_eq!(cut(&ours.marks()[..2], 1000), Some(900));
        assert_eq!(cut(&ours.marks()[..2], 700), Some(700));
        // A term of its own behind the common one.
        assert_eq!(
            cut(&[mark(1, 100, 100), mark(4, 500, 490), mark(5, 800, 800)], 990),
            Some(800)
        );
        assert_eq!(cut(&[mark(1, 100, 100), mark(2, 300, 300)], 9990), Some(300));
        // The same number, begun elsewhere: the term before is what they share.
        let mut twin = mark(4, 500, 490);
        twin.nonce = 77;
        assert_eq!(cut(&[mark(1, 100, 100), twin], 800), Some(490));
        // Nothing in common; nothing at all.
        assert_eq!(cut(&[mark(3, 300, 300)], 990), None);
        assert_eq!(cut(&[mark(2, 100, 100), mark(3, 300, 300)], 990), Some(100));
        assert_eq!(cut(&[], 100), Some(100));
        assert_eq!(cut(&[], 164), None);
    }

    #[test]
    fn a_term_that_two_have_begun_is_found() {
        let ours = History::new(vec![mark(1, 100, 100), mark(4, 500, 490), mark(6, 900, 900)]);
        let mut twin = mark(4, 500, 490);
        twin.nonce = 77;
        assert_eq!(ours.twin(&[mark(1, 100, 100), twin]), Some(4));
        assert_eq!(ours.twin(&[mark(1, 100, 100), mark(5, 700, 700)]), None);
        assert_eq!(ours.twin(ours.marks()), None);
    }

    #[test]
    fn a_term_has_the_frames_that_end_behind_its_mark() {
        let history = History::new(vec![mark(1, 100, 100), mark(4, 500, 490)]);
        let terms = [100, 101, 490, 500, 501, 9000].map(|end| history.term_at(Lsn(end)));
        assert_eq!(terms, [None, Some(1), Some(1), Some(1), Some(4), Some(4)]);
    }
}
