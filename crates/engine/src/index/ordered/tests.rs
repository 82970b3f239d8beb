//! Single-threaded tests: every operation against a `BTreeSet`, over several shapes of keys, and the named edges.
//! Concurrent tests are in `stress`, and in `model` for builds with the model checker.

#[cfg(mote_shuttle)]
mod model;
mod stress;

use super::node::NODE_BYTES;
use super::{Cursor, OrderedIndex};
use crate::index::{
    CheckedInsert, Direction, IndexError, Inserted, KeyRange, LeafVisit, MAX_KEY_BYTES, MAX_ROW_ID,
    PieceRead, RowId,
};
use crate::memory::{MemoryAccount, UnlimitedMemory};
use mote_common::prng::Prng;
use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const _: () = {
    const fn shared_between_threads<T: Send + Sync>() {}
    const fn moved_between_threads<T: Send>() {}
    shared_between_threads::<OrderedIndex>();
    moved_between_threads::<Cursor>();
};

type Entry = (Vec<u8>, u64);
type Model = BTreeSet<Entry>;

fn empty() -> OrderedIndex {
    OrderedIndex::new(Arc::new(UnlimitedMemory)).expect("no limit")
}

fn add(index: &OrderedIndex, key: &[u8], row: u64) -> bool {
    matches!(
        index.insert(key, RowId(row)).expect("within limits"),
        Inserted::Added(_)
    )
}

fn collect(index: &OrderedIndex, range: KeyRange, direction: Direction) -> Vec<Entry> {
    let mut cursor = Cursor::new(range, direction);
    let mut entries = Vec::new();
    while let Some((key, row)) = cursor.next(index) {
        entries.push((key.to_vec(), row.0));
    }
    entries
}

fn expected(model: &Model, range: &KeyRange, direction: Direction) -> Vec<Entry> {
    let inside = |key: &Vec<u8>| {
        (match &range.lower {
            Bound::Included(low) => key >= low,
            Bound::Excluded(low) => key > low,
            Bound::Unbounded => true,
        }) && match &range.upper {
            Bound::Included(high) => key <= high,
            Bound::Excluded(high) => key < high,
            Bound::Unbounded => true,
        }
    };
    let mut entries: Vec<Entry> = model.iter().filter(|(key, _)| inside(key)).cloned().collect();
    if direction == Direction::Backward {
        entries.reverse();
    }
    entries
}

/// How a test draws its keys.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Uniform,
    /// Few keys, many rows each: runs of duplicates span leaves.
    Duplicates,
    /// Long common prefixes and tiny differences, with zero bytes, so that padding of heads matters.
    Prefixes,
    /// Up to the longest key.
    Long,
    /// 16-byte composite keys like (warehouse, district, order, line).
    Composite,
    /// Keys that are prefixes of each other.
    Nested,
}

const SHAPES: [Shape; 6] = [
    Shape::Uniform,
    Shape::Duplicates,
    Shape::Prefixes,
    Shape::Long,
    Shape::Composite,
    Shape::Nested,
];

impl Shape {
    fn key(self, random: &mut Prng) -> Vec<u8> {
        match self {
            Shape::Uniform => random.next_u64().to_be_bytes().to_vec(),
            Shape::Duplicates => format!("name{}", random.below(12)).into_bytes(),
            Shape::Prefixes => {
                let mut key = vec![b'p'; [0, 3, 40, 300][random.below(4) as usize]];
                (0..random.below(7)).for_each(|_| key.push(random.below(3) as u8));
                key
            }
            Shape::Long => {
                let mut key = vec![random.below(3) as u8; random.below(MAX_KEY_BYTES as u64 + 1) as usize];
                if let Some(last) = key.last_mut() {
                    *last = random.below(256) as u8;
                }
                key
            }
            Shape::Composite => [
                random.below(3),
                random.below(10),
                random.below(400),
                random.below(15),
            ]
            .iter()
            .flat_map(|&part| (part as u32).to_be_bytes())
            .collect(),
            Shape::Nested => vec![0; random.below(600) as usize],
        }
    }

    fn row(self, random: &mut Prng) -> u64 {
        match self {
            Shape::Duplicates | Shape::Nested => random.below(400),
            _ => random.below(3) * (MAX_ROW_ID / 2),
        }
    }
}

fn bound(shape: Shape, random: &mut Prng) -> Bound<Vec<u8>> {
    match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(shape.key(random)),
        _ => Bound::Excluded(shape.key(random)),
    }
}

fn compare_everything(index: &OrderedIndex, model: &Model, shape: Shape, random: &mut Prng) {
    index.check().expect("the structure holds");
    assert_eq!(index.len_estimate(), model.len());
    for _ in 0..few(6) {
        let range = KeyRange {
            lower: bound(shape, random),
            upper: bound(shape, random),
        };
        for direction in [Direction::Forward, Direction::Backward] {
            let found = collect(index, range.clone(), direction);
            assert!(
                found == expected(model, &range, direction),
                "{direction:?} over {range:?}"
            );
        }
    }
    for _ in 0..few(20) {
        let key = shape.key(random);
        let rows: Vec<RowId> = expected(model, &KeyRange::exactly(&key), Direction::Forward)
            .iter()
            .map(|entry| RowId(entry.1))
            .collect();
        let mut found = Vec::new();
        index.get_all(&key, &mut found);
        assert_eq!(found, rows, "get_all of {key:?}");
        assert_eq!(
            index.get_first(&key),
            rows.first().copied(),
            "get_first of {key:?}"
        );
    }
}

fn random_operations(shape: Shape, seed: u64, operations: usize) {
    let mut random = Prng::new(seed);
    let index = empty();
    let mut model = Model::new();
    for step in 0..operations {
        // Phases of growth and of shrinking, so that merges happen too.
        let growing = (step / (operations / 6)).is_multiple_of(2);
        let (key, row) = (shape.key(&mut random), shape.row(&mut random));
        let dice = random.below(10);
        if dice < if growing { 7 } else { 2 } {
            assert_eq!(add(&index, &key, row), model.insert((key, row)));
        } else if dice < 8 {
            // Mostly something that is there.
            let victim = model
                .range((key.clone(), row)..)
                .next()
                .cloned()
                .unwrap_or((key, row));
            assert_eq!(index.remove(&victim.0, RowId(victim.1)), model.remove(&victim));
        } else if dice == 8 {
            let mut seen = Vec::new();
            let outcome = index.insert_checked(&key, RowId(row), |other| {
                seen.push((key.clone(), other.0));
                if other.0 == row + 1 {
                    ControlFlow::Break(other)
                } else {
                    ControlFlow::Continue(())
                }
            });
            seen.dedup();
            let all = expected(&model, &KeyRange::exactly(&key), Direction::Forward);
            match outcome.expect("within limits") {
                CheckedInsert::Stopped(other) => assert_eq!(seen.last(), Some(&(key.clone(), other.0))),
                added => {
                    let existed = matches!(added, CheckedInsert::Existed);
                    assert!(
                        seen.len() % all.len().max(1) == 0 && seen.ends_with(&all),
                        "all were shown"
                    );
                    assert_eq!(model.insert((key, row)), !existed);
                }
            }
        } else {
            assert!(!index.remove_if(&key, RowId(row), || false));
        }
        if step % (operations / 12) == 0 {
            compare_everything(&index, &model, shape, &mut random);
        }
    }
    compare_everything(&index, &model, shape, &mut random);
    for (key, row) in &model {
        assert!(index.remove(key, RowId(*row)));
    }
    index.check().expect("the structure holds");
    assert_eq!(index.len_estimate(), 0);
    // Separators of thousands of bytes may keep almost empty inner nodes from merging.
    let nodes_left = if matches!(shape, Shape::Long) { 128 } else { 24 };
    assert!(
        index.memory_bytes() <= nodes_left * NODE_BYTES,
        "{} bytes are left",
        index.memory_bytes()
    );
}

/// Miri looks at every access: it gets a fiftieth, which still splits and merges leaves.
fn few(steps: usize) -> usize {
    if cfg!(miri) { steps.div_ceil(50) } else { steps }
}

#[test]
fn behaves_like_a_sorted_set() {
    for shape in SHAPES {
        for seed in 1..=if cfg!(miri) { 1 } else { 2 } {
            let operations = few(if matches!(shape, Shape::Long) {
                3_000
            } else {
                12_000
            });
            eprintln!("shape {shape:?}, seed {seed}"); // shown when the test fails
            random_operations(shape, seed, operations);
        }
    }
}

#[test]
fn bulk_load_equals_inserts() {
    for shape in SHAPES {
        for count in [0, 1, 2, few(300), few(8_000)] {
            eprintln!("shape {shape:?}, count {count}");
            let mut random = Prng::new(count as u64);
            let model: Model = (0..count)
                .map(|_| (shape.key(&mut random), shape.row(&mut random)))
                .collect();
            let entries = model.iter().map(|(key, row)| (key, RowId(*row)));
            let twice = entries.flat_map(|entry| [entry, entry]);
            let index = OrderedIndex::bulk_load(twice, Arc::new(UnlimitedMemory)).expect("no limit");
            compare_everything(&index, &model, shape, &mut random);
            let (key, row) = (shape.key(&mut random), 7);
            let mut model = model;
            assert_eq!(add(&index, &key, row), model.insert((key, row)));
            compare_everything(&index, &model, shape, &mut random);
        }
    }
}

/// Batches of all sizes, with entries that are there and entries that come twice, between removals.
#[test]
fn sorted_inserts_equal_single_ones() {
    for shape in SHAPES {
        eprintln!("shape {shape:?}");
        let mut random = Prng::new(5);
        let index = empty();
        let mut model = Model::new();
        for round in 0..few(60) {
            let count = [1, 3, 40, 600][round % 4];
            let mut batch: Vec<Entry> = (0..count)
                .map(|_| (shape.key(&mut random), shape.row(&mut random)))
                .collect();
            batch.extend(model.iter().take(round).cloned());
            batch.extend_from_within(..batch.len() / 5);
            batch.sort();
            let entries: Vec<(&[u8], RowId)> =
                batch.iter().map(|(key, row)| (&key[..], RowId(*row))).collect();
            index.insert_sorted(&entries).expect("within limits");
            model.extend(batch);
            if round % 3 == 2 {
                let victims: Vec<Entry> = model.iter().step_by(2).cloned().collect();
                for victim in victims {
                    assert!(index.remove(&victim.0, RowId(victim.1)));
                    model.remove(&victim);
                }
            }
            if round % 10 == 9 {
                compare_everything(&index, &model, shape, &mut random);
            }
        }
        compare_everything(&index, &model, shape, &mut random);
    }
}

#[test]
fn sorted_inserts_fill_leaves_and_refuse_what_is_too_long() {
    let index = empty();
    let numbers: Vec<[u8; 8]> = (0..50_000u64).map(u64::to_be_bytes).collect();
    for batch in numbers.chunks(1 << 10) {
        let entries: Vec<(&[u8], RowId)> = batch.iter().map(|key| (&key[..], RowId(1))).collect();
        index.insert_sorted(&entries).expect("within limits");
    }
    index.check().expect("the structure holds");
    assert!(bytes_per_entry(&index) <= 20.0, "{}", bytes_per_entry(&index));
    let long = vec![0xff; MAX_KEY_BYTES + 1];
    let entries: [(&[u8], RowId); 2] = [(&[0xfe], RowId(1)), (&long, RowId(2))];
    let refused = index.insert_sorted(&entries);
    assert!(
        matches!(refused, Err(IndexError::KeyTooLong { .. })),
        "{refused:?}"
    );
}

fn order_line_key(order: u32, district: u32, line: u32) -> Vec<u8> {
    [1, district, order, line]
        .iter()
        .flat_map(|part| part.to_be_bytes())
        .collect()
}

fn bytes_per_entry(index: &OrderedIndex) -> f64 {
    index.memory_bytes() as f64 / index.len_estimate() as f64
}

#[test]
fn entries_of_composite_keys_take_at_most_24_bytes() {
    let entries = (1..=10).flat_map(|district| {
        (0..300).flat_map(move |order| (1..=10).map(move |line| order_line_key(order, district, line)))
    });
    let entries = entries.enumerate().map(|(row, key)| (key, RowId(row as u64)));
    let loaded = OrderedIndex::bulk_load(entries, Arc::new(UnlimitedMemory)).expect("no limit");
    assert!(
        bytes_per_entry(&loaded) <= 18.0,
        "bulk load: {}",
        bytes_per_entry(&loaded)
    );

    // As TPC-C inserts: orders of ten districts in turn, ascending within each.
    let grown = empty();
    for order in 0..300 {
        for district in 1..=10 {
            for line in 1..=10 {
                add(
                    &grown,
                    &order_line_key(order, district, line),
                    (order * 1000 + district * 20 + line) as u64,
                );
            }
        }
    }
    grown.check().expect("the structure holds");
    assert!(
        bytes_per_entry(&grown) <= 24.0,
        "by inserts: {}",
        bytes_per_entry(&grown)
    );
}

#[test]
fn ascending_inserts_fill_leaves() {
    let index = empty();
    for number in 0..50_000u64 {
        add(&index, &number.to_be_bytes(), number);
    }
    index.check().expect("the structure holds");
    // 8 slot + 6 row id; the suffix fits the head.
    assert!(
        bytes_per_entry(&index) < 14.0 / 0.9,
        "{}",
        bytes_per_entry(&index)
    );
}

#[test]
fn the_longest_keys_fit_and_longer_ones_are_refused() {
    let index = empty();
    let mut model = Model::new();
    for last in 0..60u8 {
        for first in [0, 1] {
            let mut key = vec![first; MAX_KEY_BYTES];
            key[MAX_KEY_BYTES - 1] = last;
            add(&index, &key, last as u64);
            model.insert((key.clone(), last as u64));
            key[0] = last; // nothing in common
            add(&index, &key, 1);
            model.insert((key, 1));
        }
        add(&index, &[], last as u64);
        model.insert((Vec::new(), last as u64));
    }
    index.check().expect("the structure holds");
    assert_eq!(
        collect(&index, KeyRange::all(), Direction::Forward),
        model.into_iter().collect::<Vec<_>>()
    );
    let refused = IndexError::KeyTooLong {
        key_bytes: MAX_KEY_BYTES + 1,
        maximum_bytes: MAX_KEY_BYTES,
    };
    assert_eq!(index.insert(&vec![0; MAX_KEY_BYTES + 1], RowId(0)), Err(refused));
}

/// An account with room for so many nodes.
struct Limited {
    nodes: usize,
    taken_bytes: AtomicUsize,
}

impl MemoryAccount for Limited {
    fn charge(&self, bytes: usize) -> bool {
        let fits = |taken: usize| (taken + bytes <= self.nodes * NODE_BYTES).then_some(taken + bytes);
        self.taken_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok()
    }

    fn release(&self, bytes: usize) {
        self.taken_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[test]
fn a_refused_node_leaves_the_index_whole() {
    let account = Arc::new(Limited {
        nodes: if cfg!(miri) { 3 } else { 7 },
        taken_bytes: AtomicUsize::new(0),
    });
    let index = OrderedIndex::new(account.clone()).expect("room for the root");
    let mut random = Prng::new(3);
    let mut model = Model::new();
    loop {
        let (key, row) = (Shape::Uniform.key(&mut random), 1);
        match index.insert(&key, RowId(row)) {
            Ok(_) => model.insert((key, row)),
            Err(error) => {
                assert_eq!(error, IndexError::OutOfMemory);
                break;
            }
        };
    }
    compare_everything(&index, &model, Shape::Uniform, &mut random);
    assert_eq!(account.taken_bytes.load(Ordering::Relaxed), index.memory_bytes());
    drop(index);
    assert_eq!(account.taken_bytes.load(Ordering::Relaxed), 0);
    let nothing = Arc::new(Limited {
        nodes: 0,
        taken_bytes: AtomicUsize::new(0),
    });
    assert!(matches!(OrderedIndex::new(nothing), Err(IndexError::OutOfMemory)));
}

#[test]
fn leaf_versions_tell_inserts_from_removals() {
    let index = empty();
    for number in 0..2_000u32 {
        add(&index, &number.to_be_bytes(), 0);
    }
    let range = KeyRange {
        lower: Bound::Included(500u32.to_be_bytes().to_vec()),
        upper: Bound::Excluded(900u32.to_be_bytes().to_vec()),
    };
    let mut cursor = Cursor::new(range.clone(), Direction::Forward).record_pieces();
    while cursor.next(&index).is_some() {}
    let pieces: Vec<PieceRead> = cursor.take_pieces().collect();
    let mut visited: Vec<LeafVisit> = pieces.iter().map(|piece| piece.visit).collect();
    visited.dedup();
    assert!(!visited.is_empty());
    assert_eq!(pieces[0].range.lower, range.lower);
    assert_eq!(pieces[pieces.len() - 1].range.upper, range.upper);
    let stale = |index: &OrderedIndex| {
        visited
            .iter()
            .filter(|v| index.leaf_version(v.leaf) != v.version)
            .count()
    };
    for number in 590..610u32 {
        assert!(index.remove(&number.to_be_bytes(), RowId(0)));
    }
    assert_eq!(stale(&index), 0, "a removal is no phantom");
    add(&index, &1_999u32.to_be_bytes(), 1);
    assert_eq!(stale(&index), 0, "far away");
    let Ok(Inserted::Added(change)) = index.insert(&600u32.to_be_bytes(), RowId(9)) else {
        panic!("it is new")
    };
    assert_eq!(stale(&index), 1);
    assert!(
        visited
            .iter()
            .any(|v| v.leaf == change.leaf && v.version == change.before)
    );
    assert_eq!(index.leaf_version(change.leaf), change.after);
}

#[test]
fn a_suspended_cursor_goes_on_where_it_was() {
    for direction in [Direction::Forward, Direction::Backward] {
        let index = empty();
        let numbers = few(20_000) as u32;
        for number in (0..numbers).step_by(2) {
            add(&index, &number.to_be_bytes(), 0);
        }
        let mut cursor = Cursor::new(KeyRange::all(), direction);
        let mut met = Vec::new();
        let mut random = Prng::new(11);
        while let Some((key, _)) = cursor.next(&index) {
            met.push(u32::from_be_bytes(key.try_into().expect("four bytes")));
            for _ in 0..3 {
                add(
                    &index,
                    &(random.below(numbers as u64 / 2) as u32 * 2 + 1).to_be_bytes(),
                    0,
                );
                index.remove(
                    &(random.below(numbers as u64 / 2) as u32 * 2 + 1).to_be_bytes(),
                    RowId(0),
                );
            }
        }
        if direction == Direction::Backward {
            met.reverse();
        }
        assert!(met.is_sorted_by(|a, b| a < b));
        let stable = met.iter().copied().filter(|number| number % 2 == 0);
        assert!(stable.eq((0..numbers).step_by(2)), "{direction:?}");
        index.check().expect("the structure holds");
    }
}

#[test]
fn a_restarted_cursor_forgets_its_former_range() {
    let index = empty();
    let numbers = if cfg!(miri) { 120 } else { 3_000u32 };
    for number in 0..numbers {
        add(&index, &number.to_be_bytes(), 0);
    }
    let mut cursor = Cursor::new(KeyRange::all(), Direction::Forward);
    for taken in [0, 1, 16, 17, numbers / 4] {
        (0..taken).for_each(|_| assert!(cursor.next(&index).is_some()));
        cursor.restart(KeyRange::exactly(&77u32.to_be_bytes()), Direction::Backward);
        assert_eq!(cursor.next(&index), Some((&77u32.to_be_bytes()[..], RowId(0))));
        assert_eq!(cursor.next(&index), None);
        cursor.restart(KeyRange::all(), Direction::Forward);
    }
}

#[test]
fn prefix_ranges_end_at_the_next_prefix() {
    assert_eq!(KeyRange::prefix(&[1, 255, 255]).upper, Bound::Excluded(vec![2]));
    assert_eq!(KeyRange::prefix(&[255]).upper, Bound::Unbounded);
    assert_eq!(KeyRange::prefix(&[]).upper, Bound::Unbounded);
    assert_eq!(KeyRange::prefix(&[7, 8]).upper, Bound::Excluded(vec![7, 9]));
}

#[test]
fn a_panicking_check_leaves_no_latch() {
    let index = empty();
    add(&index, b"k", 1);
    let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        index.insert_checked(b"k", RowId(2), |_| -> ControlFlow<()> {
            panic!("from the check")
        })
    }));
    assert!(attempt.is_err());
    assert!(add(&index, b"k", 2));
    assert_eq!(index.get_first(b"k"), Some(RowId(1)));
}
