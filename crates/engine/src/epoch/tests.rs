//! Tests of reclamation. The global epoch is shared by all tests of the process, and other tests pin at will, so
//! each waits for progress instead of counting steps.

use super::{MAX_ITEMS, flush, is_pinned, pending_items, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// `free` for the tests: counts.
unsafe fn count_free(pointer: *mut u8, size: usize) {
    // SAFETY: each test hands over a leaked `Arc<AtomicUsize>` reference count it owns.
    let counter = unsafe { Arc::from_raw(pointer.cast::<AtomicUsize>()) };
    counter.fetch_add(size, Ordering::SeqCst);
}

fn defer_count(counter: &Arc<AtomicUsize>) {
    let pointer = Arc::into_raw(counter.clone()).cast_mut().cast::<u8>();
    // SAFETY: the reference count was made for this hand-over and is not used otherwise.
    unsafe { pin().defer_free(count_free, pointer, 1) };
}

fn flush_until(done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        flush();
        thread::yield_now();
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "reclamation made no progress"
        );
    }
}

#[test]
fn pins_nest() {
    assert!(!is_pinned());
    let outer = pin();
    let inner = pin();
    drop(outer);
    assert!(is_pinned());
    drop(inner);
    assert!(!is_pinned());
}

#[test]
fn flush_frees_everything_when_nobody_reads() {
    let freed = Arc::new(AtomicUsize::new(0));
    for _ in 0..1000 {
        defer_count(&freed);
    }
    flush_until(|| freed.load(Ordering::SeqCst) == 1000);
    assert_eq!(pending_items(), 0);
}

#[test]
fn a_guard_holds_back_what_was_unlinked_after_it() {
    let freed = Arc::new(AtomicUsize::new(0));
    let (pinned, wait_pinned) = channel();
    let (release, wait_release) = channel::<()>();
    let reader = thread::spawn(move || {
        let guard = pin();
        pinned.send(()).expect("the test waits for this");
        wait_release.recv().expect("the test sends this");
        drop(guard);
    });
    wait_pinned.recv().expect("the reader sends this");
    for _ in 0..200 {
        defer_count(&freed);
    }
    for _ in 0..50 {
        flush();
    }
    assert_eq!(freed.load(Ordering::SeqCst), 0);
    release.send(()).expect("the reader waits for this");
    reader.join().expect("the reader does not panic");
    flush_until(|| freed.load(Ordering::SeqCst) == 200);
}

#[test]
fn garbage_stays_bounded_without_flush() {
    const BAGS: usize = if cfg!(miri) { 8 } else { 200 };
    thread::spawn(|| {
        let freed = Arc::new(AtomicUsize::new(0));
        let mut most = 0;
        for _ in 0..BAGS * MAX_ITEMS {
            defer_count(&freed);
            if pending_items() > 8 * MAX_ITEMS {
                thread::yield_now(); // another test's guard: let it end
            }
            most = most.max(pending_items());
        }
        assert!(most < BAGS / 2 * MAX_ITEMS, "{most} items in limbo");
        assert!(freed.load(Ordering::SeqCst) > BAGS / 4 * MAX_ITEMS);
    })
    .join()
    .expect("no panic in the thread");
}

#[test]
fn garbage_of_exited_threads_is_adopted() {
    let freed = Arc::new(AtomicUsize::new(0));
    for _ in 0..4 {
        let freed = freed.clone();
        thread::spawn(move || (0..10).for_each(|_| defer_count(&freed)))
            .join()
            .expect("no panic");
    }
    flush_until(|| freed.load(Ordering::SeqCst) == 40);
}

#[test]
fn free_may_hand_over_more() {
    unsafe fn chain(pointer: *mut u8, size: usize) {
        if size > 0 {
            // SAFETY: `chain` owns nothing but the counter, which it passes on.
            unsafe { pin().defer_free(chain, pointer, size - 1) };
        } else {
            // SAFETY: the end of the chain: the count is released as in `count_free`.
            unsafe { count_free(pointer, 1) };
        }
    }
    let freed = Arc::new(AtomicUsize::new(0));
    let pointer = Arc::into_raw(freed.clone()).cast_mut().cast::<u8>();
    // SAFETY: as in `defer_count`.
    unsafe { pin().defer_free(chain, pointer, 5) };
    flush_until(|| freed.load(Ordering::SeqCst) == 1);
}

/// Readers follow a pointer that a writer swaps; freed cells are poisoned, so a use after free shows.
#[test]
fn readers_never_meet_freed_memory() {
    const LIVE: usize = 0x11fe;
    const ROUNDS: usize = if cfg!(miri) { 300 } else { 60_000 };
    struct Cell(AtomicUsize);
    unsafe fn poison(pointer: *mut u8, _size: usize) {
        // SAFETY: the box was leaked into `shared` and unlinked by the swap that handed it over.
        let cell = unsafe { Box::from_raw(pointer.cast::<Cell>()) };
        cell.0.store(0xdead, Ordering::Relaxed);
    }
    let shared = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(Cell(AtomicUsize::new(
        LIVE,
    ))))));
    let done = Arc::new(AtomicUsize::new(0));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (shared, done) = (shared.clone(), done.clone());
            thread::spawn(move || {
                while done.load(Ordering::Relaxed) == 0 {
                    let _guard = pin();
                    // SAFETY: reached under a guard; that is what is tested.
                    let cell = unsafe { &*shared.load(Ordering::Acquire) };
                    for _ in 0..8 {
                        assert_eq!(cell.0.load(Ordering::Relaxed), LIVE);
                    }
                }
            })
        })
        .collect();
    for _ in 0..ROUNDS {
        let fresh = Box::into_raw(Box::new(Cell(AtomicUsize::new(LIVE))));
        let guard = pin();
        let old = shared.swap(fresh, Ordering::AcqRel);
        // SAFETY: the swap unlinked it, and this thread alone swaps.
        unsafe { guard.defer_free(poison, old.cast(), size_of::<Cell>()) };
    }
    done.store(1, Ordering::Relaxed);
    readers
        .into_iter()
        .for_each(|reader| reader.join().expect("no reader panics"));
    // SAFETY: the threads are gone; the last cell belongs to this test.
    unsafe { poison(shared.load(Ordering::Relaxed).cast(), 0) };
}
