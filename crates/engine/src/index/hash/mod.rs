//! Hash indexes: an entry is the hash of a key.
//!
//! As in PostgreSQL's (`src/backend/access/hash`), an entry holds the hash alone, so that a long key costs eight bytes and keys have no
//! greatest length; rows found are looked at again, and rows whose key has a NULL have no entry, since nothing equals NULL.
//! Unlike there, the hashes stand in the ordered set, not in buckets of pages: two rows with one key are neighbours, a key
//! that half the table has is no chain to be walked, nothing is ever split or rehashed, and a scan under SERIALIZABLE guards
//! the gap around one hash instead of a bucket. A look-up descends as many levels as that of an ordered index over a bigint.
//!
//! The hash is SipHash-1-3 under a fixed key. It is in no file: indexes are built when the database opens, so another
//! hash is a change of this file. Fixed, so that a seed decides a simulated run.

use std::hash::{DefaultHasher, Hasher};

fn hash(value_key: &[u8]) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    hasher.write(value_key);
    hasher.finish().to_be_bytes()
}

/// The key becomes its hash; a row with a NULL has no entry.
pub(super) fn enter(has_null: bool, key: &mut Vec<u8>) -> bool {
    if !has_null {
        let hash = hash(key);
        key.clear();
        key.extend_from_slice(&hash);
    }
    !has_null
}

pub(super) fn entry_key<'k>(value_key: &[u8], scratch: &'k mut Vec<u8>) -> &'k [u8] {
    scratch.clear();
    scratch.extend_from_slice(&hash(value_key));
    scratch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_makes_a_short_entry_and_a_null_none() {
        let mut key = vec![7; 100_000];
        assert!(enter(false, &mut key));
        assert_eq!(key.len(), 8);
        let mut null = vec![2];
        assert!(!enter(true, &mut null));
    }

    #[test]
    fn keys_differ_in_their_hashes() {
        let count = if cfg!(miri) { 100 } else { 10_000u32 };
        let hashes: std::collections::HashSet<_> = (0..count).map(|n| hash(&n.to_be_bytes())).collect();
        assert_eq!(hashes.len(), count as usize);
    }
}
