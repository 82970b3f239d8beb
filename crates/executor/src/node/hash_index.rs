//! Where rows with a given hash are, for those who keep rows in a list: numbers by hash.
//!
//! A hash table grows all at once, which takes a tenth of a second where it has some millions of entries, and nothing can
//! end the statement meanwhile. So a large index is many tables, each for a part of the hashes, which grow one by one.

use hashbrown::HashTable;

/// An index of more entries is divided.
const UNDIVIDED_MAX: usize = 128 << 10;
/// Tables of a divided index: each has a hundred thousand entries when there are six millions.
const PARTS: usize = 64;

/// A hash and the number of the row that has it.
type Entry = (u64, u32);

/// Row numbers by hash. Who keeps the rows compares them.
#[derive(Default)]
pub struct HashIndex {
    first: HashTable<Entry>,
    /// Empty, or [`PARTS`] tables, and then `first` is empty.
    parts: Box<[HashTable<Entry>]>,
}

impl HashIndex {
    /// The number of the row with this hash that `is_same`.
    pub fn find(&self, hash: u64, mut is_same: impl FnMut(usize) -> bool) -> Option<usize> {
        let table = match self.parts.is_empty() {
            true => &self.first,
            false => &self.parts[part_of(hash)],
        };
        // The whole hash first: `is_same` compares rows, which may be long.
        let found = table.find(hash, |&(other, number)| other == hash && is_same(number as usize));
        found.map(|&(_, number)| number as usize)
    }

    /// Adds a row that [`HashIndex::find`] has not found.
    pub fn insert(&mut self, hash: u64, number: usize) {
        if self.parts.is_empty() {
            if self.first.len() < UNDIVIDED_MAX {
                insert_into(&mut self.first, (hash, number as u32));
                return;
            }
            self.divide();
        }
        insert_into(&mut self.parts[part_of(hash)], (hash, number as u32));
    }

    pub fn clear(&mut self) {
        self.first.clear();
        self.parts = Box::default();
    }

    /// Moves all entries into parts, with room for as many again.
    #[cold]
    fn divide(&mut self) {
        let room = 2 * UNDIVIDED_MAX / PARTS;
        self.parts = (0..PARTS).map(|_| HashTable::with_capacity(room)).collect();
        for entry in std::mem::take(&mut self.first) {
            insert_into(&mut self.parts[part_of(entry.0)], entry);
        }
    }
}

fn insert_into(table: &mut HashTable<Entry>, entry: Entry) {
    table.insert_unique(entry.0, entry, |entry| entry.0);
}

/// By bits that the tables do not use: they take the lowest for the place and the highest seven for the tag.
fn part_of(hash: u64) -> usize {
    (hash >> 50) as usize % PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_before_and_after_the_division() {
        // Few hashes, so that rows share them.
        let hash = |number: usize| (number as u64 % 50_000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut index = HashIndex::default();
        let count = UNDIVIDED_MAX + 10_000;
        for number in 0..count {
            assert_eq!(index.find(hash(number), |other| other == number), None);
            index.insert(hash(number), number);
            if number % 1000 == 0 {
                assert_eq!(
                    index.find(hash(number / 2), |other| other == number / 2),
                    Some(number / 2)
                );
            }
        }
        assert!(!index.parts.is_empty());
        for number in 0..count {
            assert_eq!(index.find(hash(number), |other| other == number), Some(number));
        }
        index.clear();
        assert_eq!(index.find(hash(1), |_| true), None);
    }
}
