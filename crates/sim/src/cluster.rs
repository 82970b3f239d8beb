//! Three to five nodes, each with a disk of its own, one network and one coordinator, driven by a seed through everything
//! that can go wrong between them; the log and the replication are the real ones.
//!
//! Faults: power failures and kills at any step, also in the middle of a flush whose bytes are on their way already;
//! directions that are blocked, one way or both; connections reset or lost; slow pieces; clocks that drift; nodes that
//! stop for a while and go on; disks whose syncs fail, that are full, that hang, that are replaced; a coordinator that some
//! node cannot reach, that loses the record, or is set back to an older one. Streams are TCP's: what a network loses, repeats or
//! reorders shows as a delay, or as a connection that ends and is opened again.
//!
//! What must hold:
//!  1. What a primary calls stable is never lost and never changes: every later primary has it, byte by byte.
//!  2. Logs are prefixes of one another as far as they are stable; when all is healed they are equal.
//!  3. Two nodes never serve at one moment: each believes in its lease by its own clock.
//!  4. Nodes let go of log that nobody needs; whoever comes back finds what it lacks at whoever leads.
//!  5. When all is healed, one primary comes forth, commits, and the others follow.
//!  6. A slot that was answered is on every later primary.
//!
//! `node`: one node's lives; `life`: what it has in one; `following`, `leading`: its roles; `coordinator`: the store that keeps the record; `oracle`:
//! what was stable, and the comparison; `script`: troubles in the order of a [`Trace`] instead of at random. [`Planted`] faults are put into what a node tells the protocol, never into the protocol: each must be found.

mod coordinator;
mod following;
mod leading;
mod life;
mod node;
mod oracle;
mod script;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use mote_common::env::net::sim::{SimNetwork, Weather};
use mote_common::prng::Prng;
use mote_replication::NodeId;
use mote_replication::record::Record;

use node::Node;
use oracle::Oracle;
use script::Script;
pub use script::Trace;

/// Where the numbers of directories begin again: what is left tells the machine.
const MACHINES: u64 = 16;
const SYSTEM_ID: u64 = 0x7e57;
const SEGMENT_BYTES: u64 = 128 << 10;
/// How long a voter waits for a silent primary; the other times follow from it.
const PATIENCE_NS: u64 = 60_000_000;
/// Steps after healing within which the cluster must be whole.
const HEALING_STEPS: u64 = 4_000;

/// A mistake in what a node says, to see that it would be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    Nothing,
    /// Followers call flushed what they have received.
    AcknowledgesBeforeSync,
    /// The leader's own flush is enough.
    LeaderIsAVoter,
    /// Acknowledgements of frames of older terms move the horizon.
    OldTermsCount,
    /// A candidate asks nobody.
    PromotesWithoutPromises,
    /// A leader goes on counting the voters that it began with.
    CountsFormerVoters,
    /// Followers let go of the log that they do not need themselves.
    KeepsLogForNobody,
    /// A machine with a new disk calls itself by the number of the directory that it has lost.
    KeepsItsNumber,
    /// Who makes a slot is answered when it is on the leader's own disk.
    AnswersSlotsAtOnce,
    /// A machine's clock does not count the time for which the machine sleeps.
    ClockStopsInSuspend,
}

#[derive(Clone, Copy, Debug)]
pub struct ClusterOptions {
    /// 3 to 5.
    pub nodes: u64,
    pub steps: u64,
    pub planted: Planted,
    /// `None`: whatever goes wrong does so at random.
    pub trace: Option<Trace>,
    /// In every other cluster disks are full for a while, or hang, and the store is set back.
    pub further_troubles: bool,
}

impl Default for ClusterOptions {
    fn default() -> ClusterOptions {
        ClusterOptions {
            nodes: 3,
            steps: 1_500,
            planted: Planted::Nothing,
            trace: None,
            further_troubles: true,
        }
    }
}

/// What happened, so that a run that tried nothing is seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterReport {
    pub commits: u64,
    pub acknowledged: u64,
    pub promotions: u64,
    pub cuts: u64,
    pub power_failures: u64,
    pub failures_in_flush: u64,
    pub abandoned: u64,
    pub voter_changes: u64,
    pub records_rebuilt: u64,
    pub set_back: u64,
    pub full: u64,
    pub hung: u64,
    /// Slots that somebody was answered to have.
    pub slots: u64,
    /// How often the events of a trace came about to their end.
    pub played: u64,
    pub served: u64,
    pub stable_bytes: u64,
}

impl ClusterReport {
    pub fn figures(&mut self) -> [(&'static str, &mut u64); 16] {
        [
            ("commits", &mut self.commits),
            ("acknowledged", &mut self.acknowledged),
            ("promotions", &mut self.promotions),
            ("cuts", &mut self.cuts),
            ("power_failures", &mut self.power_failures),
            ("failures_in_flush", &mut self.failures_in_flush),
            ("abandoned", &mut self.abandoned),
            ("voter_changes", &mut self.voter_changes),
            ("records_rebuilt", &mut self.records_rebuilt),
            ("set_back", &mut self.set_back),
            ("full", &mut self.full),
            ("hung", &mut self.hung),
            ("slots", &mut self.slots),
            ("played", &mut self.played),
            ("served", &mut self.served),
            ("stable_bytes", &mut self.stable_bytes),
        ]
    }

    pub fn add(&mut self, other: &ClusterReport) {
        let mut other = *other;
        for ((_, sum), (_, value)) in self.figures().into_iter().zip(other.figures()) {
            *sum += *value;
        }
    }
}

/// What nodes see of the world around them.
struct Around {
    prng: Prng,
    now_ns: u64,
    network: SimNetwork,
    /// The directory of each machine.
    ids: Vec<NodeId>,
    record: Record,
    /// What stood there last, before the store lost it or was set back.
    newest: Record,
    /// What stood there before that.
    older: Vec<Record>,
    /// Other voters that somebody wants, and how many count.
    wish: Option<(BTreeSet<NodeId>, usize)>,
    /// What enough have received is in the oracle, too: no voter loses what it has not synced.
    receivers_last: bool,
    /// Nobody lets go of log: a new disk has an old copy, for which no slot keeps any.
    keeps_all_log: bool,
    /// The store has forgotten it; here it stands as it was.
    record_is_lost: bool,
    oracle: Oracle,
    report: ClusterReport,
    planted: Planted,
    /// In every other cluster the operator cannot make up his mind.
    voters_change: bool,
    /// The last steps: nothing fails any more, but everything that failed is there.
    healing: bool,
    next_commit: u64,
    /// When slots are made: drawn apart, as the further troubles are.
    slot_prng: Prng,
    piece_bytes: usize,
    /// When the record was changed last.
    swapped_ns: u64,
}

fn address(node: NodeId) -> SocketAddr {
    SocketAddr::new(host(node), 5432)
}

/// Its machine, whatever directory that has by now.
fn machine(node: NodeId) -> u64 {
    node.0 % MACHINES
}

fn host(node: NodeId) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, machine(node) as u8))
}

fn index(node: NodeId) -> usize {
    machine(node) as usize - 1
}

impl Around {
    fn others(&self, id: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let ids = self.ids.clone();
        ids.into_iter().filter(move |other| *other != id)
    }

    /// The store has another record; whoever asks is told of this one.
    fn set_record(&mut self, record: Record) {
        let before = std::mem::replace(&mut self.record, record.clone());
        if record.changes > self.newest.changes {
            self.older.push(before);
            self.newest = record;
        }
    }
}

/// Runs one seed; an error says what did not hold.
pub fn run_cluster(seed: u64, options: ClusterOptions) -> Result<ClusterReport, String> {
    let mut world = World::new(seed, options);
    for step in 0..options.steps {
        let stepped = world.step().and_then(|()| world.trouble());
        stepped.map_err(|error| format!("step {step}: {error}"))?;
    }
    world.heal()?;
    world.compare()?;
    Ok(world.around.report)
}

struct World {
    around: Around,
    nodes: Vec<Node>,
    /// How much goes wrong, of a thousand steps: little, so that much is done, up to something in every fifth.
    troubles: u64,
    script: Option<Script>,
    /// Draws the troubles that came later, so that the seeds of the others still mean the same.
    further: Option<Prng>,
}

impl World {
    fn new(seed: u64, options: ClusterOptions) -> World {
        let mut prng = Prng::fork(seed, 0xc105);
        let network = SimNetwork::new(prng.next_u64());
        network.set_weather(Weather {
            delay_least_ns: 20_000,
            delay_most_ns: 100_000 + prng.below(2_000_000),
            slow_ppm: prng.below(20_000),
            // Small windows let a follower answer in the middle of what it lacks.
            window_bytes: 4500 << prng.below(4),
        });
        let ids: Vec<NodeId> = (1..=options.nodes).map(NodeId).collect();
        // The last of four is to become a voter by the script.
        let voting = options.trace.map_or(ids.len(), |trace| trace.voting(ids.len()));
        let voters: BTreeSet<NodeId> = ids[1..voting].iter().copied().collect();
        let record = Record {
            system_id: SYSTEM_ID,
            term: 0,
            leader: NodeId(1),
            count: voters.len().div_ceil(2),
            voters,
            changes: 0,
        };
        let mut around = Around {
            now_ns: 1_000_000,
            network,
            newest: record.clone(),
            older: Vec::new(),
            wish: None,
            receivers_last: options.trace == Some(Trace::Levels),
            keeps_all_log: options.trace == Some(Trace::Amnesia),
            record,
            record_is_lost: false,
            oracle: Oracle::new(),
            report: ClusterReport::default(),
            planted: options.planted,
            ids: Vec::new(),
            // A script counts on the voters that there are.
            voters_change: prng.chance(1, 2) && options.trace.is_none(),
            healing: false,
            next_commit: 1,
            slot_prng: Prng::fork(seed, 0x5107),
            piece_bytes: 4096 << prng.below(3),
            swapped_ns: 0,
            prng,
        };
        let nodes = ids.iter().map(|id| Node::new(*id, &ids, &mut around)).collect();
        around.ids = ids;
        let mut further = Prng::fork(seed, 0xf075);
        let wanted = options.further_troubles && options.trace.is_none();
        World {
            further: (wanted && further.chance(1, 2)).then_some(further),
            troubles: 5 + (around.prng.below(50) << around.prng.below(3)),
            around,
            nodes,
            script: options.trace.map(Script::new),
        }
    }

    /// A little time passes, and nodes get on.
    fn step(&mut self) -> Result<(), String> {
        let passed = 20_000 + self.around.prng.below(2_000_000);
        self.around.now_ns += passed;
        let now_ns = self.around.now_ns;
        self.nodes
            .iter_mut()
            .for_each(|node| node.time_passes(passed, now_ns));
        self.around.network.advance_to(self.around.now_ns);
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        self.around.prng.shuffle(&mut order);
        for index in order {
            if self.around.healing || self.around.prng.chance(4, 5) {
                self.nodes[index].step(&mut self.around)?;
            }
        }
        self.one_serves()
    }

    /// A node that stands still answers nobody; one that runs must be the only one that would.
    fn one_serves(&mut self) -> Result<(), String> {
        let now_ns = self.around.now_ns;
        let serving = self
            .nodes
            .iter()
            .filter(|node| node.is_running(now_ns) && node.serves());
        let serving: Vec<NodeId> = serving.map(|node| node.id).collect();
        self.around.report.served += serving.len() as u64;
        match serving.len() {
            0 | 1 => Ok(()),
            _ => Err(format!("{serving:?} serve at one moment")),
        }
    }

    /// Perhaps something goes wrong, or right again: more so while leaders change, and then most of all for them.
    fn trouble(&mut self) -> Result<(), String> {
        if let Some(script) = &mut self.script {
            return script.step(&mut self.around, &mut self.nodes);
        }
        self.further_trouble();
        self.random_trouble();
        Ok(())
    }

    fn random_trouble(&mut self) {
        let around = &mut self.around;
        let changing = around.now_ns < around.swapped_ns + PATIENCE_NS / 2;
        let chance = if changing {
            2 * self.troubles
        } else {
            self.troubles
        };
        if !around.prng.chance(chance, 1000) {
            return;
        }
        let nodes = self.nodes.len() as u64;
        let index = match changing && around.prng.chance(2, 3) {
            true => index(around.record.leader),
            false => around.prng.below(nodes) as usize,
        };
        let (one, other) = (host(NodeId(1 + index as u64)), {
            let further = 1 + around.prng.below(nodes - 1);
            host(NodeId(1 + (index as u64 + further) % nodes))
        });
        let node = &mut self.nodes[index];
        match around.prng.below(13) {
            0 | 1 => node.power_fails(around),
            2 => node.is_killed(around),
            3 => node.fails_in_next_flush(),
            4 => node.stands_still_until(around.now_ns + 1 + around.prng.below(3 * PATIENCE_NS)),
            5 => around.network.set_blocked(one, other, true),
            6 => {
                for peer in (1..=nodes).map(|id| host(NodeId(id))).filter(|peer| *peer != one) {
                    around.network.set_blocked(one, peer, true);
                    around.network.set_blocked(peer, one, true);
                }
            }
            7 | 8 => around.network.open_all_ways(),
            9 => _ = around.network.break_one(),
            10 => node.coordinator_is_away_until(around.now_ns + around.prng.below(3 * PATIENCE_NS)),
            11 => around.record_is_lost = around.prng.chance(1, 4),
            _ => node.disk_fails_for_a_while(around),
        }
    }

    /// Troubles of the disk that last, and a store that comes back from a backup.
    fn further_trouble(&mut self) {
        let Some(further) = &mut self.further else {
            return;
        };
        if !further.chance(self.troubles, 4000) {
            return;
        }
        let around = &mut self.around;
        // A backup is older than what every node reads each second.
        let known = self.nodes.iter().all(|node| node.has_read(&around.newest));
        let node = &mut self.nodes[further.below(around.ids.len() as u64) as usize];
        match further.below(5) {
            0 | 1 => node.is_full_until(around.now_ns + further.below(3 * PATIENCE_NS), around),
            2 | 3 => node.hangs_until(around.now_ns + further.below(4 * PATIENCE_NS)),
            _ if known && !around.older.is_empty() => {
                let back = further.below(around.older.len().min(3) as u64) as usize;
                around.record = around.older[around.older.len() - 1 - back].clone();
                around.report.set_back += 1;
            }
            _ => {}
        }
    }

    /// Everything works again, and within a bound the cluster is whole.
    fn heal(&mut self) -> Result<(), String> {
        self.around.healing = true;
        self.around.network.open_all_ways();
        // Who led is gone, and could not write it again: an operator does.
        self.around.record_is_lost = false;
        if self.around.record.changes < self.around.newest.changes {
            self.around.record = self.around.newest.clone();
        }
        self.nodes.iter_mut().for_each(|node| node.heal(&mut self.around));
        let acknowledged = self.around.report.acknowledged;
        for _ in 0..HEALING_STEPS {
            self.step()?;
            let progress = self.around.report.acknowledged >= acknowledged + 5;
            if progress
                && self
                    .nodes
                    .iter_mut()
                    .all(|node| node.is_at_rest(&self.around.record))
            {
                let ends: BTreeSet<_> = self.nodes.iter().map(|node| node.flushed()).collect();
                if ends.len() == 1 {
                    return Ok(());
                }
            }
        }
        let states: Vec<String> = self.nodes.iter().map(Node::describe).collect();
        Err(format!(
            "the cluster is not whole {HEALING_STEPS} steps after healing: {}; {:?}",
            states.join("; "),
            self.around.record
        ))
    }

    /// All logs are equal, and hold everything that was ever stable.
    fn compare(&mut self) -> Result<(), String> {
        let logs: Vec<Vec<u8>> = self.nodes.iter().map(Node::log_bytes).collect();
        for (node, log) in self.nodes.iter().zip(&logs) {
            if *log != logs[0] {
                return Err(format!(
                    "{:?} and {:?} have different logs",
                    node.id, self.nodes[0].id
                ));
            }
            self.around.oracle.holds(&node.disk, node.flushed(), node.id)?;
        }
        let commits = self.nodes[0].commits()?;
        self.around.oracle.all_acknowledged(&commits)
    }
}

#[cfg(test)]
#[path = "cluster/tests.rs"]
mod tests;
