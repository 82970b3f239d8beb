//! The tree under the model checker: optimistic readers against latches, splits and merges, in schedules that a seed
//! chooses (`sync`); `make model-check` runs them.

use super::{add, collect, empty};
use crate::index::ordered::OrderedIndex;
use crate::index::{Direction, KeyRange, RowId};
use mote_common::sync::model::{explore, in_one_step, spawn};
use std::sync::Arc;

/// Long keys make small leaves: a split is one insert away, and a scan has few steps. Heads and prefixes differ.
fn key_of(number: u64) -> Vec<u8> {
    let mut key = format!("{:02}-{number:04}", number % 7).into_bytes();
    key.resize(300, b'x');
    key
}

/// Even numbers, as many as one leaf takes (`leaves` = 1), or as two do: the next insert splits.
fn full(leaves: usize) -> (Arc<OrderedIndex>, u64) {
    in_one_step(|| {
        let fill = |count: u64| {
            let index = empty();
            (0..count).for_each(|number| _ = add(&index, &key_of(2 * number), 2 * number));
            index
        };
        let one_leaf = (1..)
            .find(|&count| fill(count).height() > 1)
            .expect("leaves are finite")
            - 1;
        let count = one_leaf * leaves as u64;
        (Arc::new(fill(count)), count)
    })
}

fn check_stable(entries: &[super::Entry], count: u64, direction: Direction) {
    let ordered = entries.is_sorted_by(|one, two| match direction {
        Direction::Forward => one < two,
        Direction::Backward => one > two,
    });
    assert!(ordered, "{entries:?}");
    let stable = entries.iter().filter(|(_, row)| row % 2 == 0).count() as u64;
    assert_eq!(stable, count, "{direction:?}");
    for (key, row) in entries {
        assert_eq!(*key, key_of(*row), "key and row belong together");
    }
}

/// Writers of odd numbers split and empty leaves; the even ones are there for every scan and every look-up.
fn readers_beside_writers(leaves: usize) {
    let (index, count) = full(leaves);
    let mut threads = Vec::new();
    for writer in [1, 5] {
        let index = index.clone();
        threads.push(spawn(move || {
            for number in [writer, writer + 2] {
                assert!(add(&index, &key_of(number), number));
            }
            for number in [writer, writer + 2] {
                assert!(index.remove(&key_of(number), RowId(number)));
            }
        }));
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let index = index.clone();
        threads.push(spawn(move || {
            check_stable(&collect(&index, KeyRange::all(), direction), count, direction);
            let number = 2 * (count / 2);
            assert_eq!(index.get_first(&key_of(number)), Some(RowId(number)));
        }));
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("no panic"));
    in_one_step(|| {
        index.check().expect("sound");
        check_stable(
            &collect(&index, KeyRange::all(), Direction::Forward),
            count,
            Direction::Forward,
        );
    });
}

#[test]
fn readers_find_everything_while_the_root_splits() {
    explore(200, || readers_beside_writers(1));
}

#[test]
fn readers_find_everything_while_a_leaf_splits() {
    explore(200, || readers_beside_writers(2));
}

/// Of two that insert the same entry one adds it.
#[test]
fn an_entry_is_added_once() {
    explore(200, || {
        let (index, _) = full(1);
        let threads = [0, 1].map(|_| {
            let index = index.clone();
            spawn(move || u32::from(add(&index, &key_of(1), 1)))
        });
        let added: u32 = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum();
        assert_eq!(added, 1);
        in_one_step(|| index.check().expect("sound"));
    });
}
