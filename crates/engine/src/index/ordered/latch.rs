//! The exclusive latch of a node, and all that may be done to a node under it.
//!
//! Only code in this file stores into nodes, and all of it takes `&mut Latched`. The ordering argument is at the head of
//! `node`: taking the latch is [A] there, dropping it [B]. While the latch is held readers may see any mix of the old and
//! the new contents; they find out when they validate.

use super::image::Image;
use super::node::{
    HEAD_BYTES, HEADER, HINT, HINTS, HINTS_AT, Header, LEAF_VERSION, Node, NodeId, ROW_BYTES, SLOT_BYTES,
    Slot, VERSION_STEP, entry_bytes,
};

/// The exclusive right to change a node. Dropping it publishes the changes under a new version.
pub(super) struct Latched<'a> {
    node: &'a Node,
    version: u64,
    changed: bool,
}

/// An entry of a leaf that is to stand before the one that is at `position` now.
pub(super) struct Placed<'k> {
    pub(super) position: usize,
    /// Of the key, behind the node's prefix.
    pub(super) suffix: &'k [u8],
    pub(super) row: u64,
}

impl Node {
    /// Takes the latch if the node is still at `version`. Never waits.
    pub(super) fn try_latch(&self, version: u64) -> Option<Latched<'_>> {
        // A `Latched` that is dropped publishes a version: it may be made only of a latch that was won.
        self.set_latch(version).then(|| Latched {
            node: self,
            version,
            changed: false,
        })
    }
}

impl<'a> Latched<'a> {
    pub(super) fn node(&self) -> &'a Node {
        self.node
    }

    /// Stores an image over the node's contents; the leaf version moves on.
    pub(super) fn write(&mut self, image: &Image) {
        self.changed = true;
        for (index, word) in image.words().enumerate().skip(HEADER) {
            if index != LEAF_VERSION {
                self.node.set_word(index, word);
            }
        }
        self.refresh_hints(image.header(), 0);
        self.advance_leaf_version();
    }

    /// Makes notes of scans over this node stale.
    pub(super) fn advance_leaf_version(&mut self) {
        self.changed = true;
        self.node.set_word(LEAF_VERSION, self.node.leaf_version() + 1);
    }

    /// Puts an entry at `position` if the space between slots and heap takes it.
    pub(super) fn insert_at(&mut self, position: usize, suffix: &[u8], row: u64, child: NodeId) -> bool {
        let mut header = self.node.header();
        debug_assert!(position <= header.count);
        if header.free_bytes() < entry_bytes(header.level, suffix.len()) {
            return false;
        }
        self.changed = true;
        let cell_bytes = entry_bytes(header.level, suffix.len()) - SLOT_BYTES;
        let offset = header.heap_start - cell_bytes;
        self.store_bytes(offset, &row.to_be_bytes()[2..]);
        if header.level > 0 {
            self.store_bytes(offset + ROW_BYTES, &child.to_be_bytes());
        }
        if suffix.len() > HEAD_BYTES {
            self.store_bytes(offset + header.cell_head(), &suffix[HEAD_BYTES..]);
        }
        let slots = header.slots();
        for index in (slots + position..slots + header.count).rev() {
            self.node.set_word(index + 1, self.node.word(index));
        }
        self.node.set_word(slots + position, Slot::new(suffix, offset).0);
        let old_step = header.hint_step();
        header.count += 1;
        header.heap_start = offset;
        self.node.set_word(HEADER, header.pack());
        self.refresh_hints(
            header,
            if header.hint_step() == old_step {
                position
            } else {
                0
            },
        );
        self.note_insert(position);
        self.advance_leaf_version();
        true
    }

    /// Puts entries into a leaf, given in ascending order; there is room for all of them.
    pub(super) fn insert_all(&mut self, entries: &[Placed<'_>]) {
        let mut header = self.node.header();
        debug_assert!(header.level == 0 && !entries.is_empty());
        self.changed = true;
        let slots = header.slots();
        let mut end = header.count;
        // From the right, so that each slot moves once.
        for (before, entry) in entries.iter().enumerate().rev() {
            for index in (slots + entry.position..slots + end).rev() {
                self.node.set_word(index + before + 1, self.node.word(index));
            }
            end = entry.position;
            let cell_bytes = entry_bytes(header.level, entry.suffix.len()) - SLOT_BYTES;
            header.heap_start -= cell_bytes;
            self.store_bytes(header.heap_start, &entry.row.to_be_bytes()[2..]);
            if entry.suffix.len() > HEAD_BYTES {
                self.store_bytes(
                    header.heap_start + header.cell_head(),
                    &entry.suffix[HEAD_BYTES..],
                );
            }
            let slot = Slot::new(entry.suffix, header.heap_start);
            self.node.set_word(slots + entry.position + before, slot.0);
        }
        header.count += entries.len();
        self.node.set_word(HEADER, header.pack());
        self.refresh_hints(header, 0);
        for (before, entry) in entries.iter().enumerate() {
            self.note_insert(entry.position + before);
        }
        self.advance_leaf_version();
    }

    /// Takes the entry at `position` out; its cell becomes garbage until the node is rewritten.
    pub(super) fn remove_at(&mut self, position: usize) {
        let mut header = self.node.header();
        debug_assert!(position < header.count);
        self.changed = true;
        let slots = header.slots();
        let slot = self.node.slot(header, position);
        let cell_bytes = entry_bytes(header.level, slot.suffix_bytes()) - SLOT_BYTES;
        for index in slots + position + 1..slots + header.count {
            self.node.set_word(index - 1, self.node.word(index));
        }
        let old_step = header.hint_step();
        header.count -= 1;
        self.refresh_hints(
            header,
            if header.hint_step() == old_step {
                position
            } else {
                0
            },
        );
        let (last, run) = self.node.insert_run();
        self.set_hint(
            self.node.garbage_bytes() + cell_bytes,
            if position <= last {
                last.saturating_sub(1)
            } else {
                last
            },
            run,
        );
        self.node.set_word(HEADER, header.pack());
    }

    /// Samples the heads again, for slots from `position` on.
    fn refresh_hints(&self, header: Header, position: usize) {
        let step = header.hint_step();
        if step == 0 {
            return;
        }
        let first = (position / step).saturating_sub(1) / 2;
        for index in first..HINTS / 2 {
            let even = self.node.slot(header, (2 * index + 1) * step).head();
            let odd = self.node.slot(header, (2 * index + 2) * step).head();
            self.node
                .set_word(HINTS_AT + index, even as u64 | (odd as u64) << 32);
        }
    }

    /// Keeps count of inserts that go right behind the one before: the sign of an ascending key.
    pub(super) fn note_insert(&mut self, position: usize) {
        let (last, run) = self.node.insert_run();
        let run = if position == last + 1 {
            (run + 1).min(u16::MAX as usize)
        } else {
            0
        };
        self.set_hint(self.node.garbage_bytes(), position, run);
    }

    /// Carries an ascending run over a rewrite of the node.
    pub(super) fn set_insert_run(&mut self, last: usize, run: usize) {
        self.set_hint(self.node.garbage_bytes(), last, run);
    }

    fn set_hint(&mut self, garbage_bytes: usize, last: usize, run: usize) {
        self.changed = true;
        self.node.set_word(
            HINT,
            garbage_bytes as u64 | (last as u64) << 16 | (run as u64) << 32,
        );
    }

    fn store_bytes(&self, offset: usize, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let within = (offset + at) % 8;
            let length = (8 - within).min(bytes.len() - at);
            let index = (offset + at) / 8;
            let mut word = self.node.word(index).to_ne_bytes();
            word[within..within + length].copy_from_slice(&bytes[at..at + length]);
            self.node.set_word(index, u64::from_ne_bytes(word));
            at += length;
        }
    }
}

impl Drop for Latched<'_> {
    fn drop(&mut self) {
        // Unchanged: readers that started before may go on.
        let version = if self.changed {
            self.version + VERSION_STEP
        } else {
            self.version
        };
        self.node.publish(version);
    }
}
