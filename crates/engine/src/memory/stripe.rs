//! Spreads counters and lists over cache lines, by thread.

use mote_common::sync::atomic::{AtomicUsize, Ordering};
use std::cell::Cell;

/// Stripes of every striped structure. More threads than this share.
pub(crate) const STRIPES: usize = 32;

static NEXT: AtomicUsize = AtomicUsize::new(0);

mote_common::sync::thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// This thread's stripe: threads take turns, so the first 32 have one each.
#[inline]
pub(crate) fn current() -> usize {
    STRIPE.with(|stripe| match stripe.get() {
        usize::MAX => {
            // Relaxed: only the number matters.
            let number = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
            stripe.set(number);
            number
        }
        number => number,
    })
}

/// A value alone on its cache lines (two: the adjacent-line prefetcher pairs them).
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub T);
