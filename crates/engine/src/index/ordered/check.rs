//! The full structural check: for tests, `mote check` and simulated crashes. Wants a quiet index.
//!
//! Checked: levels, order within and between nodes, entries inside their parent's fences, prefixes, heads and hints, heap cells
//! that neither overlap nor leave the heap, the count of garbage bytes, the count of entries, and that exactly the
//! nodes in use are reachable.

use super::list::EntryList;
use super::node::{FIRST_CHILD, Header, NODE_BYTES, Node, NodeId, SLOT_BYTES, entry_bytes, head_of};
use super::search::{Cut, Key, OwnedCut};
use super::{OrderedIndex, ROOT};

/// Sums over the tree.
#[derive(Default)]
struct Totals {
    nodes: usize,
    entries: usize,
}

impl OrderedIndex {
    /// Checks the whole tree. No other thread may change the index meanwhile.
    pub fn check(&self) -> Result<(), String> {
        let mut totals = Totals::default();
        let level = self.arena.node(ROOT).header().level;
        self.check_subtree(
            ROOT,
            level,
            &OwnedCut::lowest(),
            &OwnedCut::highest(),
            &mut totals,
        )?;
        let in_use = self.arena.nodes_in_use();
        if totals.nodes != in_use {
            return Err(format!(
                "{} nodes are reachable, {in_use} are in use",
                totals.nodes
            ));
        }
        let counted = self.len_estimate();
        if totals.entries != counted {
            return Err(format!(
                "{} entries are stored, {counted} were counted",
                totals.entries
            ));
        }
        Ok(())
    }

    fn check_subtree(
        &self,
        id: NodeId,
        level: u8,
        low: &OwnedCut,
        high: &OwnedCut,
        totals: &mut Totals,
    ) -> Result<(), String> {
        let node = self
            .arena
            .get(id)
            .ok_or_else(|| format!("node {id} is outside the arena"))?;
        let header = node.header();
        if header.level != level {
            return Err(format!("node {id} has level {}, not {level}", header.level));
        }
        check_layout(node, header).map_err(|why| format!("node {id}: {why}"))?;
        let list = EntryList::from_node(node);
        check_order(&list, low, high).map_err(|why| format!("node {id}: {why}"))?;
        check_heads(node, header, &list).map_err(|why| format!("node {id}: {why}"))?;
        totals.nodes += 1;
        if level == 0 {
            totals.entries += header.count;
            return Ok(());
        }
        let cut_before = |position: usize| {
            let mut cut = OwnedCut::lowest();
            let key = list.key(position);
            cut.set_before(key.bytes, key.row);
            cut
        };
        for position in 0..=header.count {
            let from = if position == 0 {
                low.clone()
            } else {
                cut_before(position - 1)
            };
            let to = if position == header.count {
                high.clone()
            } else {
                cut_before(position)
            };
            self.check_subtree(node.child(header, position), level - 1, &from, &to, totals)?;
        }
        Ok(())
    }
}

fn check_layout(node: &Node, header: Header) -> Result<(), String> {
    let slots_end = (header.slots() + header.count) * SLOT_BYTES;
    if slots_end > header.heap_start || header.heap_start > NODE_BYTES {
        return Err(format!(
            "slots end at {slots_end}, heap starts at {}",
            header.heap_start
        ));
    }
    let mut cells: Vec<(usize, usize)> = (0..header.count)
        .map(|position| {
            let slot = node.slot(header, position);
            (
                slot.offset(),
                entry_bytes(header.level, slot.suffix_bytes()) - SLOT_BYTES,
            )
        })
        .collect();
    cells.sort_unstable();
    let mut end = header.heap_start;
    let mut live_bytes = 0;
    for (offset, bytes) in cells {
        if offset < end || offset + bytes > NODE_BYTES {
            return Err(format!("heap cell {offset}+{bytes} overlaps or leaves the heap"));
        }
        end = offset + bytes;
        live_bytes += bytes;
    }
    let garbage_bytes = NODE_BYTES - header.heap_start - live_bytes;
    if garbage_bytes != node.garbage_bytes() {
        return Err(format!(
            "{garbage_bytes} bytes of garbage, {} noted",
            node.garbage_bytes()
        ));
    }
    if header.level == 0 && node.word(FIRST_CHILD) != 0 {
        return Err("a leaf has a child".to_owned());
    }
    Ok(())
}

fn check_order(list: &EntryList, low: &OwnedCut, high: &OwnedCut) -> Result<(), String> {
    for position in 0..list.len() {
        let key = list.key(position);
        if Cut::Before(key) < low.as_cut() || Cut::Before(key) >= high.as_cut() {
            return Err(format!("entry {position} is outside the node's fences"));
        }
        if position > 0 && list.key(position - 1) >= key {
            return Err(format!("entry {position} is not above its predecessor"));
        }
    }
    Ok(())
}

/// Heads agree with keys, and the search finds each entry where it is.
fn check_heads(node: &Node, header: Header, list: &EntryList) -> Result<(), String> {
    if !node.hints_hold(header) {
        return Err("the hints do not match the slots".to_owned());
    }
    for position in 0..list.len() {
        let Key { bytes, row } = list.key(position);
        if node.slot(header, position).head() != head_of(&bytes[header.prefix_bytes..]) {
            return Err(format!("the head of entry {position} does not match its key"));
        }
        let found = node.find(header, Key { bytes, row });
        if !found.exact || found.position != position {
            return Err(format!("the search finds entry {position} at {}", found.position));
        }
    }
    Ok(())
}
