//! Searches in long texts, which end when the statement does.
//!
//! The `regex` crate searches a text in one call, that nothing ends. Its lazy automaton can be driven from outside as well,
//! byte by byte: forward to where the leftmost match ends, then backward to where it starts. It keeps nothing but its
//! state between two bytes, so it can pay for the text a portion at a time, wherever a match may begin or end. A byte costs
//! twice what it costs the crate, whose own loop is unrolled; short texts are left to that one.
//!
//! Where only a literal can begin a match, texts without one are skipped at the speed of memory, a window at a time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use mote_common::{SqlResult, work};
use parking_lot::Mutex;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, Span};

/// Shorter ones are searched in one call: a few milliseconds where the crate is slowest.
pub const LONG_BYTES: usize = 128 << 10;
/// Bytes between two payments.
const PORTION_BYTES: usize = 4 << 10;
/// Bytes that are looked through for a literal between two payments.
const WINDOW_BYTES: usize = 64 << 10;
/// What a byte costs, and what a state costs that is computed anew, in units of `work`.
const BYTE_UNITS: usize = 2;
const CLEARED_UNITS: usize = 1 << 20;
/// States of an automaton take so much; where that does not do they are computed again and again.
const CACHE_BYTES: usize = 4 << 20;
/// States of all patterns of the process that are kept between searches. What does not fit is computed anew.
/// Unit tests reach a small one.
const SPARE_BYTES_MAX: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// What `Automata::spare` holds in all. A bound of memory that orders nothing: Relaxed.
static SPARE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// A pattern prepared for long texts, when the first one comes.
pub struct LongSearch {
    pattern: String,
    automata: OnceLock<Option<Automata>>,
}

struct Automata {
    forward: DFA,
    backward: DFA,
    literal: Option<Prefilter>,
    /// States that no search uses now: building them anew for each match would cost more than the search.
    spare: Mutex<Vec<Spare>>,
}

struct Caches {
    forward: Cache,
    backward: Cache,
}

/// States that nobody uses, counted in [`SPARE_BYTES`] while they are kept.
struct Spare {
    caches: Option<Caches>,
    bytes: usize,
}

impl Spare {
    /// None where all patterns together keep enough.
    fn new(caches: Caches) -> Option<Spare> {
        let bytes = caches.forward.memory_usage() + caches.backward.memory_usage();
        let spare = Spare {
            caches: Some(caches),
            bytes,
        };
        let before = SPARE_BYTES.fetch_add(bytes, Ordering::Relaxed);
        (before + bytes <= SPARE_BYTES_MAX).then_some(spare)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        SPARE_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl LongSearch {
    /// `pattern` is one that the `regex` crate has taken.
    pub fn new(pattern: String) -> LongSearch {
        LongSearch {
            pattern,
            automata: OnceLock::new(),
        }
    }

    /// Where the leftmost match at `from` or behind it starts. The outer None: this pattern is for the crate to search.
    pub fn find_start(&self, text: &str, from: usize) -> SqlResult<Option<Option<usize>>> {
        let Some(automata) = self.automata.get_or_init(|| Automata::new(&self.pattern)) else {
            return Ok(None);
        };
        let mut caches = automata.take_caches();
        let found = automata.find_start(&mut caches, text.as_bytes(), from)?;
        automata.keep(caches);
        Ok(found)
    }
}

impl Automata {
    fn new(pattern: &str) -> Option<Automata> {
        let hir = syntax::parse(pattern).ok()?;
        let literal = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &hir);
        let config = |kind| {
            DFA::config()
                .match_kind(kind)
                .cache_capacity(CACHE_BYTES)
                .skip_cache_capacity_check(true)
        };
        let forward = DFA::builder()
            .configure(config(MatchKind::LeftmostFirst).specialize_start_states(literal.is_some()))
            .build(pattern)
            .ok()?;
        let backward = DFA::builder()
            .configure(config(MatchKind::All))
            .thompson(thompson::Config::new().reverse(true))
            .build(pattern)
            .ok()?;
        Some(Automata {
            forward,
            backward,
            literal,
            spare: Mutex::default(),
        })
    }

    fn take_caches(&self) -> Caches {
        let spare = self.spare.lock().pop();
        let kept = spare.and_then(|mut spare| spare.caches.take());
        kept.unwrap_or_else(|| Caches {
            forward: self.forward.create_cache(),
            backward: self.backward.create_cache(),
        })
    }

    fn keep(&self, caches: Caches) {
        // Freed, where it is too much, outside of the lock.
        if let Some(spare) = Spare::new(caches) {
            self.spare.lock().push(spare);
        }
    }

    fn find_start(&self, caches: &mut Caches, text: &[u8], from: usize) -> SqlResult<Option<Option<usize>>> {
        let Some(end) = self.leftmost_end(&mut caches.forward, text, from)? else {
            return Ok(None);
        };
        let Some(end) = end else {
            return Ok(Some(None));
        };
        let start = self.farthest_start(&mut caches.backward, text, from, end)?;
        // A match that the backward search does not know of: not one to answer with.
        Ok(start.map(Some))
    }

    /// Where the match ends that starts first.
    fn leftmost_end(&self, cache: &mut Cache, text: &[u8], from: usize) -> SqlResult<Option<Option<usize>>> {
        let input = Input::new(text).range(from..);
        let Ok(mut state) = self.forward.start_state_forward(cache, &input) else {
            return Ok(None);
        };
        let mut walk = Walk::new(cache);
        let mut end = None;
        let mut at = from;
        while at < text.len() {
            if state.is_tagged() {
                // A match is known one byte late.
                if state.is_match() {
                    end = Some(at - 1);
                } else if state.is_dead() {
                    return Ok(Some(end));
                } else if state.is_start()
                    && let Some(literal) = &self.literal
                {
                    let Some(candidate) = find_literal(literal, text, at)? else {
                        return Ok(Some(end));
                    };
                    if candidate > at {
                        at = candidate;
                        let input = Input::new(text).range(at..);
                        match self.forward.start_state_forward(cache, &input) {
                            Ok(start) => state = start,
                            Err(_) => return Ok(None),
                        }
                    }
                }
            }
            walk.pay(cache)?;
            match self.forward.next_state(cache, state, text[at]) {
                Ok(next) => state = next,
                Err(_) => return Ok(None),
            }
            at += 1;
        }
        Ok(self.end_of_text(cache, state, end, at))
    }

    fn end_of_text(
        &self,
        cache: &mut Cache,
        state: LazyStateID,
        end: Option<usize>,
        at: usize,
    ) -> Option<Option<usize>> {
        let end = match state.is_match() {
            true => Some(at - 1),
            false => end,
        };
        let last = self.forward.next_eoi_state(cache, state).ok()?;
        Some(if last.is_match() { Some(at) } else { end })
    }

    /// The first place from which a match ends at `end`.
    fn farthest_start(
        &self,
        cache: &mut Cache,
        text: &[u8],
        from: usize,
        end: usize,
    ) -> SqlResult<Option<usize>> {
        let input = Input::new(text).range(from..end).anchored(Anchored::Yes);
        let Ok(mut state) = self.backward.start_state_reverse(cache, &input) else {
            return Ok(None);
        };
        let mut walk = Walk::new(cache);
        let mut start = None;
        let mut at = end;
        while at > from {
            if state.is_match() {
                start = Some(at + 1);
            } else if state.is_dead() {
                return Ok(start);
            }
            walk.pay(cache)?;
            at -= 1;
            match self.backward.next_state(cache, state, text[at]) {
                Ok(next) => state = next,
                Err(_) => return Ok(None),
            }
        }
        if state.is_match() {
            start = Some(at + 1);
        }
        // What stands before the search's range is still seen by `^` and its kin.
        let last = match from {
            0 => self.backward.next_eoi_state(cache, state),
            _ => self.backward.next_state(cache, state, text[from - 1]),
        };
        Ok(match last {
            Ok(last) if last.is_match() => Some(from),
            Ok(_) => start,
            Err(_) => None,
        })
    }
}

/// The next place at which the literal stands.
fn find_literal(literal: &Prefilter, text: &[u8], from: usize) -> SqlResult<Option<usize>> {
    // One that begins in a window may end behind it.
    let overlap = literal.max_needle_len();
    let mut at = from;
    loop {
        let end = text.len().min(at + WINDOW_BYTES + overlap);
        if let Some(found) = literal.find(text, Span { start: at, end }) {
            work::spend((found.start - at) / 8)?;
            return Ok(Some(found.start));
        }
        work::spend(WINDOW_BYTES / 8)?;
        if end == text.len() {
            return Ok(None);
        }
        at += WINDOW_BYTES;
    }
}

/// Pays for the bytes of a search, and for states that are computed again because there are too many of them.
struct Walk {
    unpaid_bytes: usize,
    cleared: usize,
}

impl Walk {
    fn new(cache: &Cache) -> Walk {
        Walk {
            unpaid_bytes: 0,
            cleared: cache.clear_count(),
        }
    }

    #[inline]
    fn pay(&mut self, cache: &Cache) -> SqlResult<()> {
        self.unpaid_bytes += 1;
        if self.unpaid_bytes < PORTION_BYTES {
            return Ok(());
        }
        let cleared = cache.clear_count();
        let anew = cleared.saturating_sub(std::mem::replace(&mut self.cleared, cleared));
        work::spend(std::mem::take(&mut self.unpaid_bytes) * BYTE_UNITS + anew * CLEARED_UNITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_states_are_bounded_over_all_patterns() {
        let search = |n: usize| {
            let search = LongSearch::new(format!("[a-z]{{{}}}[0-9]x", n % 50 + 1));
            search.find_start(&"a1".repeat(1000), 0).unwrap();
            search
        };
        let mut kept = Vec::new();
        loop {
            let before = SPARE_BYTES.load(Ordering::Relaxed);
            assert!(before <= 2 * SPARE_BYTES_MAX, "{before} bytes are kept");
            let one = search(kept.len());
            let automata = one
                .automata
                .get()
                .and_then(Option::as_ref)
                .expect("the pattern is a plain one");
            let full = automata.spare.lock().is_empty();
            kept.push(one);
            if full {
                break;
            }
        }
        drop(kept);
        assert!(SPARE_BYTES.load(Ordering::Relaxed) <= SPARE_BYTES_MAX);
    }
}
