//! The contents of a node, built as plain bytes before they are stored over a node under its latch.
//!
//! The layout is that of `node`; latch word, leaf version and hints are left to the node they go into.

use super::node::{
    FIRST_CHILD, HEAD_BYTES, HEADER, Header, NODE_BYTES, NodeId, PREFIX_AT, ROW_BYTES, SLOT_BYTES, Slot,
    entry_bytes,
};

/// The contents of a node, built privately and then stored over one. Entries are pushed in order.
pub(super) struct Image {
    bytes: [u8; NODE_BYTES],
    header: Header,
}

impl Image {
    pub(super) fn new(level: u8, first_child: NodeId, prefix: &[u8]) -> Image {
        let header = Header {
            count: 0,
            heap_start: NODE_BYTES,
            prefix_bytes: prefix.len(),
            level,
        };
        let mut image = Image {
            bytes: [0; NODE_BYTES],
            header,
        };
        image.put_word(FIRST_CHILD, first_child as u64);
        image.put(PREFIX_AT, prefix);
        image.put_word(HEADER, header.pack());
        image
    }

    /// Appends an entry. The caller has computed that it fits.
    pub(super) fn push(&mut self, suffix: &[u8], row: u64, child: NodeId) {
        let header = self.header;
        assert!(
            header.free_bytes() >= entry_bytes(header.level, suffix.len()),
            "entry does not fit its node image"
        );
        let offset = header.heap_start + SLOT_BYTES - entry_bytes(header.level, suffix.len());
        self.put(offset, &row.to_be_bytes()[2..]);
        if header.level > 0 {
            self.put(offset + ROW_BYTES, &child.to_be_bytes());
        }
        if suffix.len() > HEAD_BYTES {
            self.put(offset + header.cell_head(), &suffix[HEAD_BYTES..]);
        }
        self.put_word(header.slots() + header.count, Slot::new(suffix, offset).0);
        self.header.count += 1;
        self.header.heap_start = offset;
        self.put_word(HEADER, self.header.pack());
    }

    pub(super) fn header(&self) -> Header {
        self.header
    }

    /// The contents as a node stores them.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn put_word(&mut self, index: usize, word: u64) {
        self.put(8 * index, &word.to_ne_bytes());
    }
}
