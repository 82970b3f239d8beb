//! Troubles that follow a trace instead of coming at random: for what needs several of them in one order, within milliseconds.
//!
//! The nodes are the same and the weather is the seed's; so each seed tries the trace at other moments. A step of the trace
//! that does not come about in time ends the attempt: all is opened, and the next one begins.

use mote_replication::NodeId;

use super::{Around, NODES, Node, PATIENCE_NS, host};

/// What a script does, apart from leaving everything to chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trace {
    /// The second of `docs/design/0022`: a leader is cut off with log that nobody else has; its successor is cut off as soon
    /// as it is recorded, with its term's first frame; the first leads again, sends its log, and loses power somewhere in
    /// between; then the successor and the third node find each other.
    OldTerms,
}

/// How far the attempt is.
#[derive(Clone, Copy)]
enum Stage {
    /// Someone leads and commits.
    Calm,
    CutOff {
        first: NodeId,
    },
    /// The successor is cut off as well, and the first one reaches the third.
    Succeeded {
        first: NodeId,
        second: NodeId,
    },
    LeadsAgain {
        first: NodeId,
        second: NodeId,
    },
    /// The first is gone.
    Over,
}

pub(super) struct Script {
    stage: Stage,
    since_ns: u64,
}

impl Script {
    /// Of the only trace there is.
    pub fn new(trace: Trace) -> Script {
        match trace {
            Trace::OldTerms => Script {
                stage: Stage::Calm,
                since_ns: 0,
            },
        }
    }

    /// After each step of the world.
    pub fn step(&mut self, around: &mut Around, nodes: &mut [Node]) {
        if around.now_ns > self.since_ns + 8 * PATIENCE_NS {
            around.network.open_all_ways();
            self.go_on(around, Stage::Calm);
        }
        let leader = around.record.leader;
        match self.stage {
            Stage::Calm => {
                if node(nodes, leader).serves() && around.prng.chance(1, 40) {
                    cut_off(around, leader);
                    self.go_on(around, Stage::CutOff { first: leader });
                }
            }
            Stage::CutOff { first } if leader != first => {
                cut_off(around, leader);
                let third = third(first, leader);
                set_blocked(around, first, third, false);
                self.go_on(
                    around,
                    Stage::Succeeded {
                        first,
                        second: leader,
                    },
                );
            }
            Stage::Succeeded { first, second } if leader == first && node(nodes, first).leads() => {
                self.go_on(around, Stage::LeadsAgain { first, second });
            }
            Stage::LeadsAgain { first, second } => {
                if around.prng.chance(1, 20) {
                    let first = &mut nodes[index(first)];
                    first.power_fails(around);
                    first.stays_off_until(around.now_ns + 4 * PATIENCE_NS);
                    set_blocked(around, second, third(first.id, second), false);
                    self.go_on(around, Stage::Over);
                }
            }
            Stage::CutOff { .. } | Stage::Succeeded { .. } | Stage::Over => {}
        }
    }

    fn go_on(&mut self, around: &Around, stage: Stage) {
        (self.stage, self.since_ns) = (stage, around.now_ns);
    }
}

fn index(id: NodeId) -> usize {
    id.0 as usize - 1
}

fn node(nodes: &[Node], id: NodeId) -> &Node {
    &nodes[index(id)]
}

fn third(one: NodeId, other: NodeId) -> NodeId {
    let rest = (1..=NODES).map(NodeId).find(|id| *id != one && *id != other);
    rest.expect("there are three nodes")
}

fn cut_off(around: &Around, id: NodeId) {
    let others = (1..=NODES).map(NodeId).filter(|other| *other != id);
    others.for_each(|other| set_blocked(around, id, other, true));
}

fn set_blocked(around: &Around, one: NodeId, other: NodeId, blocked: bool) {
    around.network.set_blocked(host(one), host(other), blocked);
    around.network.set_blocked(host(other), host(one), blocked);
}
