//! Somebody who takes the log under a node's name and says at once that he has synced it; he has no disk.

use mote_common::Lsn;
use mote_log::scan::scan_log;
use mote_replication::NodeId;
use mote_replication::history::History;
use mote_replication::message::{Hello, MARKS_MAX, Message, PROTOCOL_VERSION, Progress};
use mote_replication::wire::Wire;

use super::super::life::name_of;
use super::super::{Around, MACHINES, Node, SEGMENT_BYTES, SYSTEM_ID, address};

/// The machine that is none of the cluster's.
const ELSEWHERE: u64 = MACHINES - 1;

pub(super) struct Stranger {
    wire: Wire,
    has: Lsn,
}

impl Stranger {
    /// Asks `leader` for the log, with the name of `node` and from where that one's ends.
    pub fn greets(around: &Around, leader: NodeId, node: &Node) -> Option<Stranger> {
        let known = scan_log(&node.disk.copy(), SYSTEM_ID, SEGMENT_BYTES, Lsn(SEGMENT_BYTES)).ok()?;
        let clock = std::sync::Arc::new(mote_common::env::sim::SimClock::default());
        let network = around.network.host(super::host(NodeId(ELSEWHERE)), clock);
        let mut wire = Wire::new(network.connect(address(leader)).ok()?);
        let hello = Hello {
            version: PROTOCOL_VERSION,
            system_id: SYSTEM_ID,
            id: NodeId(ELSEWHERE),
            name: name_of(node.id),
            promised: 0,
            end: known.end,
            stable: Lsn::ZERO,
            marks: History::new(known.terms).newest(MARKS_MAX).to_vec(),
        };
        wire.say(&Message::Hello(hello)).ok()?;
        Some(Stranger { wire, has: known.end })
    }

    pub fn step(&mut self) {
        // Whatever becomes of his stream is nobody's business but the leader's.
        let _ = self.wire.flush().and_then(|()| self.wire.fill());
        loop {
            let beat_ns = match self.wire.next_message() {
                Ok(Some(Message::Wal { from, bytes, .. })) => {
                    self.has = self.has.max(Lsn(from.0 + bytes.len() as u64));
                    0
                }
                Ok(Some(Message::Beat { beat_ns, .. })) => beat_ns,
                Ok(Some(_)) => continue,
                Ok(None) | Err(_) => return,
            };
            let progress = Progress {
                received: self.has,
                flushed: self.has,
                applied: self.has,
            };
            let _ = self.wire.say(&Message::Report { progress, beat_ns });
        }
    }
}
