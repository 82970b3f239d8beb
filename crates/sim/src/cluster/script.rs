//! Troubles that follow a trace instead of coming at random: for what needs several of them in one order, within milliseconds.
//!
//! The traces are those that the design was judged by; docs/design/0023 says for each where it is tried. The nodes are the
//! same and the weather is the seed's; so each seed tries the trace at other moments. A step of a trace that does not come
//! about in time ends the attempt: all is opened, and the next one begins; where the trace says that something must come about
//! in time, that is an error.
//!
//! A trace is a function that looks at the stage, does what comes next, and sets the next stage. What must hold all the time
//! is judged as in every other run.

mod changes;
mod elections;
mod stranger;

use mote_common::env::sim::SimDisk;
use mote_replication::NodeId;

use super::{Around, Node, PATIENCE_NS, host, index};
use stranger::Stranger;

/// What a script does, apart from leaving everything to chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trace {
    /// 1: the successor's own flush is no vote; it is cut off as soon as it is recorded, and dies.
    Successor,
    /// 2: a leader is cut off with log that nobody else has; its successor is cut off as soon as it is recorded, with its
    /// term's first frame; the first leads again, sends its log, and loses power somewhere in between; then the successor and
    /// the third node find each other.
    OldTerms,
    /// 3: a leader loses power before its own sync, with its voters ahead of it, and is back at once.
    Restart,
    /// 4: a voter that alone has a commit gets a new disk, with a copy of one that has not.
    Amnesia,
    /// 5: a leader that is cut off writes on, and comes back; a stranger reports under a voter's name meanwhile.
    Strangers,
    /// 6: other voters are recorded, the leader sees the former ones only, and dies with them.
    Voters,
    /// 7: the store is set back to what it kept before a change of leaders, and everybody starts anew.
    Store,
    /// 8: a leader dies when others have received its last commits and perhaps not synced them.
    Levels,
    /// 12: a leader's machine sleeps, perhaps a voter's, too; the leader is succeeded, and its machine wakes.
    Suspend,
    /// 13: a leader stands still, is succeeded, and goes on.
    Pause,
    /// 16: one voter is gone for good; the leader and the other voter start anew.
    LeaderBack,
    /// 17: a leader that nobody hears serves nobody, reads neither.
    Alone,
    /// 19: a voter that hears nobody and is heard by all.
    Deaf,
    /// 20: the leader's disk hangs, and its network works.
    HangingDisk,
}

impl Trace {
    pub const ALL: [(u64, Trace); 14] = [
        (1, Trace::Successor),
        (2, Trace::OldTerms),
        (3, Trace::Restart),
        (4, Trace::Amnesia),
        (5, Trace::Strangers),
        (6, Trace::Voters),
        (7, Trace::Store),
        (8, Trace::Levels),
        (12, Trace::Suspend),
        (13, Trace::Pause),
        (16, Trace::LeaderBack),
        (17, Trace::Alone),
        (19, Trace::Deaf),
        (20, Trace::HangingDisk),
    ];

    /// By the number that the designs give it.
    pub fn numbered(number: u64) -> Option<Trace> {
        let mut all = Trace::ALL.into_iter();
        all.find(|(known, _)| *known == number).map(|(_, trace)| trace)
    }

    pub fn number(self) -> u64 {
        let mut all = Trace::ALL.into_iter();
        all.find(|(_, trace)| *trace == self)
            .map_or(0, |(number, _)| number)
    }

    /// How many of so many nodes belong to the cluster at first.
    pub(super) fn voting(self, nodes: usize) -> usize {
        match self {
            Trace::Voters => nodes - 1,
            _ => nodes,
        }
    }

    /// Of the nodes that a script of it is written for.
    pub fn nodes(self) -> u64 {
        match self {
            Trace::Voters => 4,
            _ => 3,
        }
    }
}

pub(super) struct Script {
    trace: Trace,
    /// How far the attempt is; 0: someone leads and commits.
    stage: u32,
    since_ns: u64,
    /// Who plays which part in this attempt.
    first: NodeId,
    second: NodeId,
    third: NodeId,
    term: u32,
    stranger: Option<Stranger>,
}

/// An attempt that is over by then is given up.
const ATTEMPT_NS: u64 = 24 * PATIENCE_NS;
/// So long after its cause an election must be over. Patience, an answer to a slow question, a swap that is late, a second
/// candidate: each costs a patience at most.
const ELECTION_NS: u64 = 10 * PATIENCE_NS;

impl Script {
    pub fn new(trace: Trace) -> Script {
        let nobody = NodeId(0);
        Script {
            trace,
            stage: 0,
            since_ns: 0,
            first: nobody,
            second: nobody,
            third: nobody,
            term: 0,
            stranger: None,
        }
    }

    /// After each step of the world.
    pub fn step(&mut self, around: &mut Around, nodes: &mut [Node]) -> Result<(), String> {
        if self.stage > 0 && around.now_ns > self.since_ns + ATTEMPT_NS {
            self.end(around, nodes);
        }
        let mut scene = Scene { around, nodes };
        match self.trace {
            Trace::Successor => self.successor(&mut scene),
            Trace::OldTerms => self.old_terms(&mut scene),
            Trace::Restart => self.restart(&mut scene),
            Trace::Amnesia => self.amnesia(&mut scene),
            Trace::Strangers => self.strangers(&mut scene),
            Trace::Voters => self.voters(&mut scene),
            Trace::Store => return self.store(&mut scene),
            Trace::Levels => self.levels(&mut scene),
            Trace::Suspend => return self.suspend(&mut scene),
            Trace::Pause => return self.pause(&mut scene),
            Trace::LeaderBack => return self.leader_back(&mut scene),
            Trace::Alone => return self.alone(&mut scene),
            Trace::Deaf => return self.deaf(&mut scene),
            Trace::HangingDisk => return self.hanging_disk(&mut scene),
        }
        Ok(())
    }

    fn go_on(&mut self, around: &Around, stage: u32) {
        (self.stage, self.since_ns) = (stage, around.now_ns);
    }

    /// The attempt is over, whatever came of it.
    fn end(&mut self, around: &mut Around, nodes: &mut [Node]) {
        around.network.open_all_ways();
        self.stranger = None;
        for node in nodes {
            node.is_left_alone();
        }
        self.go_on(around, 0);
    }

    /// The events came about to their end.
    fn played(&mut self, scene: &mut Scene<'_>) {
        scene.around.report.played += 1;
        self.end(scene.around, scene.nodes);
    }

    /// Someone leads and commits, all are there, and it is time for an attempt: the leader is the first, the others the
    /// second and the third, in any order.
    fn begins(&mut self, scene: &mut Scene<'_>) -> bool {
        let leader = scene.leader();
        if !scene.node(leader).serves() || !scene.around.prng.chance(1, 40) {
            return false;
        }
        let mut voters: Vec<NodeId> = scene.around.record.voters.iter().copied().collect();
        // One whose directory is gone may still be among them.
        if voters.len() < 2 || !voters.iter().all(|id| scene.around.ids.contains(id)) {
            return false;
        }
        scene.around.prng.shuffle(&mut voters);
        (self.first, self.second, self.third) = (leader, voters[0], voters[1]);
        self.term = scene.around.record.term;
        true
    }

    fn waited(&self, around: &Around, ns: u64) -> bool {
        around.now_ns >= self.since_ns + ns
    }
}

/// The world as a script sees it.
struct Scene<'a> {
    around: &'a mut Around,
    nodes: &'a mut [Node],
}

impl Scene<'_> {
    /// As it is recorded.
    fn leader(&self) -> NodeId {
        self.around.record.leader
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[index(id)]
    }

    /// Of the recorded leader's clients.
    fn serves(&mut self) -> bool {
        let leader = self.leader();
        let now_ns = self.around.now_ns;
        let leader = self.node(leader);
        leader.is_running(now_ns) && leader.serves()
    }

    fn set_blocked(&self, one: NodeId, other: NodeId, blocked: bool) {
        self.around.network.set_blocked(host(one), host(other), blocked);
        self.around.network.set_blocked(host(other), host(one), blocked);
    }

    fn cut_off(&self, id: NodeId) {
        self.around
            .others(id)
            .for_each(|other| self.set_blocked(id, other, true));
    }

    /// Loses power, and is not back for so long.
    fn is_off_for(&mut self, id: NodeId, ns: u64) {
        let node = &mut self.nodes[index(id)];
        node.power_fails(self.around);
        node.stays_off_until(self.around.now_ns + ns);
    }

    /// The disk of `id` as others could copy it.
    fn copy_of(&mut self, id: NodeId) -> SimDisk {
        self.node(id).disk.copy()
    }
}
