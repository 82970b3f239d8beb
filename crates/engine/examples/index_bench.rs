//! Measures the ordered index: nanoseconds per operation and bytes per entry for keys like those of TPC-C.
//!
//! `cargo run --release -p mote-engine --example index_bench [entries]`

use mote_common::prng::Prng;
use mote_engine::UnlimitedMemory;
use mote_engine::index::{Cursor, Direction, KeyRange, OrderedIndex, RowId};
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

const DEFAULT_ENTRIES: usize = 1_000_000;

fn empty() -> OrderedIndex {
    OrderedIndex::new(Arc::new(UnlimitedMemory)).expect("no limit")
}

/// Keys inline in one array: the benchmark must not measure cache misses of its own keys.
type Key<const PARTS: usize> = [[u8; 4]; PARTS];

fn key_of<const PARTS: usize>(parts: [u32; PARTS]) -> Key<PARTS> {
    parts.map(u32::to_be_bytes)
}

/// (warehouse, district, customer): 12 bytes, 30,000 per warehouse.
fn customer_keys(count: usize) -> Vec<Key<3>> {
    (0..count as u32)
        .map(|n| key_of([n / 30_000, n / 3_000 % 10, n % 3_000]))
        .collect()
}

/// (warehouse, district, order, line): 16 bytes, ten lines an order.
fn order_line_keys(count: usize) -> Vec<Key<4>> {
    (0..count as u32)
        .map(|n| key_of([n / 300_000, n / 30_000 % 10, n / 10 % 3_000, n % 10]))
        .collect()
}

fn random_keys(count: usize, random: &mut Prng) -> Vec<Key<3>> {
    let mut part = || (random.next_u64() >> 32) as u32;
    (0..count).map(|_| key_of([part(), part(), part()])).collect()
}

fn report(what: &str, operations: usize, start: Instant) {
    let elapsed = start.elapsed();
    println!(
        "{what:<44} {:>8.0} ns/op",
        elapsed.as_nanos() as f64 / operations as f64
    );
}

fn report_size(what: &str, index: &OrderedIndex) {
    let per_entry = index.memory_bytes() as f64 / index.len_estimate() as f64;
    println!(
        "{what:<44} {per_entry:>8.1} bytes/entry, height {}",
        index.height()
    );
}

fn insert_all<const PARTS: usize>(keys: &[Key<PARTS>]) -> OrderedIndex {
    let index = empty();
    for (row, key) in keys.iter().enumerate() {
        index
            .insert(key.as_flattened(), RowId(row as u64))
            .expect("no limit");
    }
    index
}

fn speed(count: usize) {
    let mut random = Prng::new(1);
    let mut keys = random_keys(count, &mut random);
    let start = Instant::now();
    let index = insert_all(&keys);
    report("insert, random 12-byte keys", count, start);
    report_size("  after it", &index);

    random.shuffle(&mut keys);
    let start = Instant::now();
    let found = keys
        .iter()
        .filter(|key| index.get_first(key.as_flattened()).is_some())
        .count();
    report("look-up, random order", count, start);
    assert_eq!(found, count);

    let start = Instant::now();
    let mut cursor = Cursor::new(KeyRange::all(), Direction::Forward);
    let mut met = 0;
    while let Some(entry) = cursor.next(&index) {
        black_box(entry);
        met += 1;
    }
    report("full scan, per entry", met, start);

    let start = Instant::now();
    let ranges = count / 10;
    let mut cursor = Cursor::new(KeyRange::all(), Direction::Forward);
    for key in &keys[..ranges] {
        let range = KeyRange {
            lower: Bound::Included(key.as_flattened().to_vec()),
            upper: Bound::Unbounded,
        };
        cursor.restart(range, Direction::Forward);
        for _ in 0..10 {
            black_box(cursor.next(&index));
        }
    }
    report("short range of 10 entries, per range", ranges, start);

    let fresh = random_keys(count / 4, &mut random);
    let start = Instant::now();
    for key in &fresh {
        black_box(index.insert_checked(key.as_flattened(), RowId(1), ControlFlow::Break)).expect("no limit");
    }
    report("checked insert of a new key", fresh.len(), start);

    let start = Instant::now();
    for key in &fresh {
        assert!(index.remove(key.as_flattened(), RowId(1)));
    }
    report("remove", fresh.len(), start);

    let threads = thread::available_parallelism().map_or(2, |n| n.get());
    let start = Instant::now();
    thread::scope(|scope| {
        for part in keys.chunks(count.div_ceil(threads)) {
            scope.spawn(|| {
                part.iter()
                    .for_each(|key| assert!(index.get_first(key.as_flattened()).is_some()))
            });
        }
    });
    report(
        &format!("look-up, {threads} threads (wall time per key)"),
        count,
        start,
    );
}

fn sizes<const PARTS: usize>(name: &str, keys: &[Key<PARTS>]) {
    let entries = keys
        .iter()
        .enumerate()
        .map(|(row, key)| (key.as_flattened(), RowId(row as u64)));
    let start = Instant::now();
    let index = OrderedIndex::bulk_load(entries, Arc::new(UnlimitedMemory)).expect("no limit");
    report(&format!("{name}: bulk load"), keys.len(), start);
    report_size("  after it", &index);

    let mut shuffled = keys.to_vec();
    let start = Instant::now();
    let index = insert_all(keys);
    report(&format!("{name}: insert, ascending"), keys.len(), start);
    report_size("  after it", &index);

    let mut random = Prng::new(2);
    random.shuffle(&mut shuffled);
    let start = Instant::now();
    let index = insert_all(&shuffled);
    report(&format!("{name}: insert, random order"), keys.len(), start);
    report_size("  after it", &index);
    let start = Instant::now();
    let found = shuffled
        .iter()
        .filter(|key| index.get_first(key.as_flattened()).is_some())
        .count();
    report(&format!("{name}: look-up, random order"), found, start);
}

fn main() {
    let count = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(DEFAULT_ENTRIES);
    speed(count);
    sizes("customer", &customer_keys(count));
    sizes("order_line", &order_line_keys(count));
}
