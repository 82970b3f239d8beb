//! Searching in long byte strings, a window at a time.

use memchr::memmem;

use super::pieces::GRAIN_BYTES;
use super::spend;
use crate::SqlResult;

/// A window: what is searched between two payments.
const WINDOW_BYTES: usize = 64 << 10;

/// A needle prepared for many searches.
pub struct Finder<'n>(memmem::Finder<'n>);

impl<'n> Finder<'n> {
    pub fn new(needle: &'n [u8]) -> Finder<'n> {
        Finder(memmem::Finder::new(needle))
    }

    /// The first place at which the needle begins.
    pub fn find(&self, haystack: &[u8]) -> SqlResult<Option<usize>> {
        let overlap = self.0.needle().len().saturating_sub(1);
        // A long needle needs windows in which there is more than itself, or the search would be quadratic.
        let step = WINDOW_BYTES.max(overlap);
        let mut from = 0;
        loop {
            let end = haystack.len().min(from + step + overlap);
            if let Some(at) = self.0.find(&haystack[from..end]) {
                return Ok(Some(from + at));
            }
            if end - from >= GRAIN_BYTES {
                spend(end - from)?;
            }
            if end == haystack.len() {
                return Ok(None);
            }
            from += step;
        }
    }
}

/// The first place at which `needle` begins.
pub fn find(haystack: &[u8], needle: &[u8]) -> SqlResult<Option<usize>> {
    Finder::new(needle).find(haystack)
}
