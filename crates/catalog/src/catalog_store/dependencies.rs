//! Who uses whom: for every object those that name it, so that a change looks at what it touches and at nothing else.
//!
//! Two relations are kept, both computed from the stored form of an object when it is put and taken back when it goes:
//!  - *uses*: an object names another by its OID (its schema, owner, the target of a foreign key, what a view reads);
//!  - *words*: an expression that is kept as text contains a word. Texts name routines, types and sequences, and what a
//!    name means is known only when the text is bound; so whoever looks for users of `f` binds the few texts that contain
//!    the word `f`. A word stands as its hash: a collision makes a text be bound in vain.
//!
//! Promise: both answer with a superset of the users. Callers look at each of them again.

use imbl::OrdSet;
use mote_common::Oid;

use super::maps::{Pairs, seconds};
use super::object::Object;

#[derive(Clone, Default)]
pub(super) struct Dependencies {
    /// (used, user).
    uses: Pairs,
    /// (hash of a word, whose text has it).
    words: OrdSet<(u64, Oid)>,
}

impl Dependencies {
    pub fn add(&mut self, object: &dyn Object) {
        let user = object.oid();
        object.uses(&mut |used| {
            if used != Oid::INVALID {
                self.uses.insert((used, user));
            }
        });
        object.texts(&mut |text| {
            for word in words(text) {
                self.words.insert((hash(word), user));
            }
        });
    }

    /// `object` as it was added.
    pub fn remove(&mut self, object: &dyn Object) {
        let user = object.oid();
        object.uses(&mut |used| {
            self.uses.remove(&(used, user));
        });
        object.texts(&mut |text| {
            for word in words(text) {
                self.words.remove(&(hash(word), user));
            }
        });
    }

    /// Objects that use `oid`, in the order of their OIDs.
    pub fn users_of(&self, oid: Oid) -> impl Iterator<Item = Oid> {
        seconds(&self.uses, oid)
    }

    /// Objects whose texts may contain `name`, in the order of their OIDs. None: any may, since the name has no word.
    pub fn naming(&self, name: &str) -> Option<impl Iterator<Item = Oid>> {
        // Every word of the name stands in a text that has the name; the longest one is likely the rarest.
        let word = hash(words(name).max_by_key(|word| word.len())?);
        let all = (word, Oid(0))..=(word, Oid(u32::MAX));
        Some(self.words.range(all).map(|&(_, user)| user))
    }
}

/// The longest pieces of a text that could be, or be in, an identifier: whatever quotes it, its words are the same.
fn words(text: &str) -> impl Iterator<Item = &[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii();
    let pieces = text.as_bytes().split(move |byte| !is_part(byte));
    pieces.filter(|piece| !piece.is_empty())
}

/// FNV-1a of the word in lower case: a text may write `Numbers` where it means `numbers`.
fn hash(word: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325u64;
    word.iter().fold(start, |hash, &byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_name_has_the_words_of_the_text_that_names_it() {
        let in_text: Vec<&[u8]> = words("nextval('public.\"My Séq\"'::regclass) + f$1(a_b)").collect();
        for word in words("My Séq").chain(words("f$1")).chain(words("a_b")) {
            assert!(in_text.contains(&word));
        }
        assert_eq!(hash(b"numbers"), hash(b"Numbers"));
        assert_eq!(words("+ -").count(), 0);
    }
}
