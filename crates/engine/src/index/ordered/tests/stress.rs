//! Threads against one index. Each test states what must hold at every moment and checks it while the tree moves.

use super::{Entry, add, collect, empty};
use crate::index::ordered::{Cursor, OrderedIndex};
use crate::index::{CheckedInsert, Direction, KeyRange, RowId};
use mote_common::prng::Prng;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

const WRITERS: u64 = 3;

/// Keys with everything that moves nodes about: a shared prefix, duplicates of a key, varying length.
fn key_of(number: u64) -> Vec<u8> {
    let mut key = format!("k{:07}", number / 5).into_bytes();
    key.resize(key.len() + (number / 5 % 40) as usize, b'x');
    key
}

/// Entries with an even number are there for ever; odd ones come and go.
fn is_stable(number: u64) -> bool {
    number.is_multiple_of(2)
}

fn churn(index: &OrderedIndex, writer: u64, numbers: u64, rounds: usize) {
    let mut random = Prng::new(writer);
    // Each writer owns the odd numbers of its residue, so it knows what must be there.
    let mut present = vec![false; numbers as usize];
    for _ in 0..rounds {
        // Runs in one place make leaves fill and empty.
        let start = random.below(numbers);
        let inserting = random.below(2) == 0;
        if inserting && random.below(2) == 0 {
            insert_run(index, writer, start..numbers.min(start + 300), &mut present);
            continue;
        }
        for number in
            (start..numbers.min(start + 300)).filter(|&n| !is_stable(n) && n / 2 % WRITERS == writer)
        {
            let slot = &mut present[number as usize];
            if inserting {
                assert_eq!(add(index, &key_of(number), number), !*slot, "insert {number}");
            } else {
                assert_eq!(
                    index.remove(&key_of(number), RowId(number)),
                    *slot,
                    "remove {number}"
                );
            }
            *slot = inserting;
        }
    }
    for number in (0..numbers).filter(|&number| present[number as usize]) {
        assert!(index.remove(&key_of(number), RowId(number)));
    }
}

/// All at once, those that are there among them.
fn insert_run(index: &OrderedIndex, writer: u64, numbers: std::ops::Range<u64>, present: &mut [bool]) {
    let own = numbers.filter(|&n| !is_stable(n) && n / 2 % WRITERS == writer);
    let mut keys: Vec<(Vec<u8>, RowId)> = own
        .inspect(|&number| present[number as usize] = true)
        .map(|number| (key_of(number), RowId(number)))
        .collect();
    keys.sort();
    let entries: Vec<(&[u8], RowId)> = keys.iter().map(|(key, row)| (&key[..], *row)).collect();
    index.insert_sorted(&entries).expect("within limits");
}

fn check_scan(index: &OrderedIndex, direction: Direction, numbers: u64, random: &mut Prng) {
    let low = random.below(numbers) / 5 * 5;
    let high = (low + random.below(3_000)).min(numbers) / 5 * 5;
    let range = KeyRange {
        lower: std::ops::Bound::Included(key_of(low)),
        upper: std::ops::Bound::Excluded(key_of(high)),
    };
    let mut cursor = Cursor::new(range, direction);
    let mut last: Option<Entry> = None;
    let mut stable = 0;
    while let Some((key, row)) = cursor.next(index) {
        let entry = (key.to_vec(), row.0);
        assert_eq!(entry.0, key_of(entry.1), "key and row id belong together");
        if let Some(last) = &last {
            let ordered = if direction == Direction::Forward {
                *last < entry
            } else {
                *last > entry
            };
            assert!(ordered, "{last:?} then {entry:?}");
        }
        stable += is_stable(entry.1) as u64;
        last = Some(entry);
    }
    let expected = (low..high.max(low)).filter(|&number| is_stable(number)).count() as u64;
    assert_eq!(stable, expected, "{direction:?} from {low} to {high}");
}

#[test]
fn readers_find_what_is_never_removed() {
    const NUMBERS: u64 = 12_000;
    const ROUNDS: usize = 150;
    let index = empty();
    for number in (0..NUMBERS).filter(|&number| is_stable(number)) {
        add(&index, &key_of(number), number);
    }
    let writing = AtomicUsize::new(WRITERS as usize);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (index, writing) = (&index, &writing);
            scope.spawn(move || {
                churn(index, writer, NUMBERS, ROUNDS);
                writing.fetch_sub(1, Ordering::Relaxed);
            });
        }
        for reader in 0..2 {
            let (index, writing) = (&index, &writing);
            scope.spawn(move || {
                let mut random = Prng::new(100 + reader);
                let mut rows = Vec::new();
                while writing.load(Ordering::Relaxed) > 0 {
                    for _ in 0..50 {
                        let number = random.below(NUMBERS) & !1;
                        rows.clear();
                        index.get_all(&key_of(number), &mut rows);
                        assert!(rows.contains(&RowId(number)), "{number} in {rows:?}");
                        assert!(index.get_first(&key_of(number)).is_some(), "{number}");
                    }
                    check_scan(index, Direction::Forward, NUMBERS, &mut random);
                    check_scan(index, Direction::Backward, NUMBERS, &mut random);
                }
            });
        }
    });
    index.check().expect("the structure holds");
    let left: Vec<u64> = collect(&index, KeyRange::all(), Direction::Forward)
        .iter()
        .map(|e| e.1)
        .collect();
    assert!(
        left.iter()
            .copied()
            .eq((0..NUMBERS).filter(|&number| is_stable(number)))
    );
}

/// Threads race to own keys: the check stops at any equal key, so each key gets exactly one owner.
#[test]
fn checked_inserts_have_one_winner_per_key() {
    const THREADS: u64 = 4;
    const KEYS: u64 = 6_000;
    let index = empty();
    let wins: Vec<AtomicUsize> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (index, wins) = (&index, &wins);
            scope.spawn(move || {
                for number in 0..KEYS {
                    // All walk the same way, so they collide; row ids decide where in the key's run each would go.
                    let row = RowId(if number % 2 == 0 { thread } else { THREADS - thread });
                    let outcome = index.insert_checked(&key_of(number * 5), row, ControlFlow::Break);
                    match outcome.expect("within limits") {
                        CheckedInsert::Added(_) => {
                            wins[number as usize].fetch_add(1, Ordering::Relaxed);
                        }
                        CheckedInsert::Stopped(_) => {}
                        CheckedInsert::Existed => panic!("the check stops at every equal key"),
                    }
                }
            });
        }
    });
    index.check().expect("the structure holds");
    assert!(wins.iter().all(|wins| wins.load(Ordering::Relaxed) == 1));
    assert_eq!(index.len_estimate(), KEYS as usize);
}

/// One key whose entries span many leaves; "live" entries (odd row ids) are unique by the check, dead ones (even)
/// pile up around them. Never may two live entries exist.
#[test]
fn checked_inserts_see_entries_in_leaves_to_the_right() {
    const THREADS: u64 = 3;
    let index = empty();
    for dead in 0..1_500 {
        add(&index, b"key", dead * 2);
    }
    assert!(index.height() > 1);
    let live = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (index, live) = (&index, &live);
            scope.spawn(move || {
                let mut random = Prng::new(thread);
                for _ in 0..150 {
                    let row = random.below(500) * 6 + thread * 2 + 1;
                    let check = |other: RowId| {
                        if other.0 % 2 == 1 {
                            ControlFlow::Break(other)
                        } else {
                            ControlFlow::Continue(())
                        }
                    };
                    let outcome = index
                        .insert_checked(b"key", RowId(row), check)
                        .expect("within limits");
                    if let CheckedInsert::Added(_) = outcome {
                        assert_eq!(live.fetch_add(1, Ordering::SeqCst), 0, "two live entries");
                        thread::yield_now();
                        live.fetch_sub(1, Ordering::SeqCst);
                        assert!(index.remove(b"key", RowId(row)));
                    }
                    // Other entries of the key come and go, and with them leaves.
                    let dead = random.below(1_500) * 2;
                    if index.remove(b"key", RowId(dead)) {
                        add(index, b"key", dead);
                    }
                }
            });
        }
    });
    index.check().expect("the structure holds");
}

/// Appenders at the end and removers at the head: the life of a queue table such as new_order.
#[test]
fn a_queue_keeps_its_size() {
    const LENGTH: u64 = 40_000;
    let index = empty();
    let done = AtomicBool::new(false);
    let tail = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..LENGTH {
                add(&index, &number.to_be_bytes(), number);
                tail.store(number as usize + 1, Ordering::Release);
            }
            done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            let mut head = 0;
            while !done.load(Ordering::Acquire) || head < LENGTH - 100 {
                if head + 100 < tail.load(Ordering::Acquire) as u64 {
                    let mut cursor = Cursor::new(KeyRange::all(), Direction::Forward);
                    let first = cursor.next(&index).map(|(_, row)| row);
                    assert_eq!(first, Some(RowId(head)), "the oldest entry comes first");
                    assert!(index.remove(&head.to_be_bytes(), RowId(head)));
                    head += 1;
                } else {
                    thread::yield_now();
                }
            }
        });
    });
    index.check().expect("the structure holds");
    assert_eq!(index.len_estimate(), 100);
    assert!(
        index.memory_bytes() <= 40 * 4096,
        "{} bytes for 100 entries",
        index.memory_bytes()
    );
}
