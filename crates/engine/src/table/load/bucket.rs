//! Buckets: parts of the key space, into which threads throw entries as they meet rows.

use super::entry::{Entry, HEAD_BYTES, head};
use crate::memory::scratch::{Block, BlockPool};
use mote_common::RowId;

/// The keys between the buckets, ascending.
#[derive(Default)]
pub(super) struct Cuts(Vec<(u128, Vec<u8>)>);

impl Cuts {
    /// Cuts the key space into about `buckets` parts with as many samples each.
    pub(super) fn new(mut samples: Vec<Vec<u8>>, buckets: usize) -> Cuts {
        samples.sort_unstable();
        let mut cuts: Vec<Vec<u8>> = (1..buckets)
            .filter_map(|bucket| samples.get(samples.len() * bucket / buckets).cloned())
            .collect();
        cuts.dedup();
        Cuts(cuts.into_iter().map(|cut| (head(&cut), cut)).collect())
    }

    pub(super) fn buckets(&self) -> usize {
        self.0.len() + 1
    }

    /// Does the key sort behind cut `cut`, or is it that one?
    fn reaches(&self, cut: usize, key_head: u128, key: &[u8]) -> bool {
        let (cut_head, cut) = &self.0[cut];
        *cut_head < key_head || *cut_head == key_head && cut.as_slice() <= key
    }

    /// The bucket of a key. Neighbours mostly belong together, so `near`, the bucket of the last one, is looked at first.
    fn bucket(&self, key: &[u8], near: usize) -> usize {
        let head = head(key);
        let above = near == 0 || self.reaches(near - 1, head, key);
        if above && (near == self.0.len() || !self.reaches(near, head, key)) {
            return near;
        }
        self.0
            .partition_point(|(cut_head, cut)| *cut_head < head || *cut_head == head && cut.as_slice() <= key)
    }
}

/// What one thread found.
pub(super) struct Buckets<'a> {
    pool: &'a BlockPool<Entry>,
    cuts: &'a Cuts,
    buckets: Vec<Bucket<'a>>,
    /// Where the last key went.
    near: usize,
}

/// Keys of one bucket that one thread found.
#[derive(Default)]
struct Bucket<'a> {
    blocks: Vec<Block<'a, Entry>>,
    /// Keys that are longer than an entry's head.
    long: Vec<u8>,
}

impl<'a> Buckets<'a> {
    pub(super) fn new(pool: &'a BlockPool<Entry>, cuts: &'a Cuts) -> Buckets<'a> {
        Buckets {
            pool,
            cuts,
            buckets: (0..cuts.buckets()).map(|_| Bucket::default()).collect(),
            near: 0,
        }
    }

    pub(super) fn push(&mut self, key: &[u8], row: RowId) {
        self.near = self.cuts.bucket(key, self.near);
        self.buckets[self.near].push(self.pool, key, row);
    }

    pub(super) fn entries(&self) -> usize {
        self.buckets.iter().map(Bucket::entries).sum()
    }
}

impl<'a> Bucket<'a> {
    fn push(&mut self, pool: &'a BlockPool<Entry>, key: &[u8], row: RowId) {
        let place = self.long.len() as u64;
        if key.len() > HEAD_BYTES {
            self.long.extend_from_slice(key);
        }
        let entry = Entry::new(key, row, place);
        match self.blocks.last_mut() {
            Some(block) if !block.is_full() => block.push(entry),
            _ => {
                let mut block = pool.block();
                block.push(entry);
                self.blocks.push(block);
            }
        }
    }

    fn entries(&self) -> usize {
        self.blocks.iter().map(|block| block.values().len()).sum()
    }
}

/// Makes `entries` those of one bucket from all threads, in order; answers where their long keys are.
pub(super) fn sort<'a>(found: &'a [Buckets<'_>], bucket: usize, entries: &mut Vec<Entry>) -> Vec<&'a [u8]> {
    let parts = || found.iter().map(|buckets| &buckets.buckets[bucket]);
    let long: Vec<&[u8]> = parts().map(|part| part.long.as_slice()).collect();
    entries.clear();
    entries.reserve(parts().map(Bucket::entries).sum());
    for (thread, part) in parts().enumerate() {
        for block in &part.blocks {
            entries.extend(block.values().iter().map(|entry| entry.of_thread(thread)));
        }
    }
    // Stable, because that one makes use of what is in order already: each thread met rows in row-id order.
    entries.sort_by(|a, b| a.compare(b, &long));
    long
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::prng::Prng;

    /// Keys of any length, with beginnings in common and zeros at their ends, from three threads, more than a block takes:
    /// the buckets one after the other are all of them, in the order of key bytes and row ids.
    #[test]
    fn buckets_in_order_hold_everything_in_order() {
        for seed in 0..20 {
            let mut prng = Prng::new(seed);
            let mut key = || -> Vec<u8> {
                let length = prng.below(20) as usize;
                let mut key: Vec<u8> = (0..length).map(|_| prng.below(3) as u8).collect();
                if prng.chance(1, 3) {
                    key.splice(0..0, *b"begins alike");
                }
                key
            };
            let samples: Vec<Vec<u8>> = (0..500).map(|_| key()).collect();
            let keys: Vec<Vec<u8>> = (0..9_000).map(|_| key()).collect();
            let pool = BlockPool::default();
            let cuts = Cuts::new(samples, 1 + seed as usize);
            let mut found: Vec<Buckets<'_>> = (0..3).map(|_| Buckets::new(&pool, &cuts)).collect();
            let mut expected = Vec::new();
            for (at, key) in keys.iter().enumerate() {
                let row = RowId(at as u64 % 4_000);
                found[at * 3 / keys.len()].push(key, row);
                expected.push((key.clone(), row));
            }
            expected.sort();
            let (mut sorted, mut entries) = (Vec::new(), Vec::new());
            for bucket in 0..cuts.buckets() {
                let long = sort(&found, bucket, &mut entries);
                for entry in &entries {
                    let mut head = [0; HEAD_BYTES];
                    sorted.push((entry.key(&long, &mut head).to_vec(), entry.row()));
                }
            }
            assert!(sorted == expected, "seed {seed}");
            assert_eq!(found.iter().map(Buckets::entries).sum::<usize>(), keys.len());
        }
    }
}
