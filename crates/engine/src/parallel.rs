//! Pieces of work for several threads: each takes the next piece when it has done one, the caller among them.
//!
//! With one thread everything runs on the caller's, in order: what the simulator needs. A panic of a thread becomes one
//! of the caller. Leaves out: long-lived threads.

use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicUsize, Ordering};

/// Does all `pieces` with up to `threads` threads, each with a state of its own, and answers the states. After the first
/// error nobody begins another piece. `between` is called on the caller's thread after each piece it did itself.
pub(crate) fn share<T: Sync, S: Send, E: Send>(
    threads: usize,
    pieces: &[T],
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> Result<(), E> + Sync,
    between: &mut dyn FnMut(),
) -> Result<Vec<S>, E> {
    // Relaxed: each number is taken once, and the end of the scope orders everything else.
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let run = |between: &mut dyn FnMut()| {
        let mut state = state();
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(&mut state, piece) {
                failure.lock().get_or_insert(error);
                next.store(pieces.len(), Ordering::Relaxed);
            }
            between();
        }
        state
    };
    let helpers = threads.min(pieces.len()).saturating_sub(1);
    let states = std::thread::scope(|scope| {
        let others: Vec<_> = (0..helpers).map(|_| scope.spawn(|| run(&mut || {}))).collect();
        let mut states = vec![run(between)];
        for other in others {
            states.push(
                other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        states
    });
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(states),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_and_the_first_error_ends_it() {
        let pieces: Vec<u64> = (0..10_000).collect();
        for threads in [0, 1, 3] {
            let mut seen = 0;
            let sums = share(
                threads,
                &pieces,
                || 0,
                |sum, piece| {
                    *sum += piece;
                    Ok::<(), ()>(())
                },
                &mut || seen += 1,
            );
            assert_eq!(sums.expect("no piece fails").iter().sum::<u64>(), 49_995_000);
            assert!(threads > 1 || seen == pieces.len());
            let failed = share(
                threads,
                &pieces,
                || (),
                |(), piece| if *piece == 70 { Err(*piece) } else { Ok(()) },
                &mut || {},
            );
            assert_eq!(failed, Err(70));
        }
    }
}
