//! Faults under order entry on a cluster of three, whose clients name all nodes: the primary is killed, stands still for five
//! seconds, hands over, is cut off; a follower is cut off or starts anew; etcd loses its leader; all nodes are killed. After
//! each of them every order that a client was told of is there, once and whole, the twelve consistency conditions hold, and
//! all nodes have the same rows at one position of the log.
//!
//! A seed decides the order of the faults (each comes once in eight), their moments, and how long they last. `make
//! ledger-cluster CYCLES=200 SEED=7` runs more of them than `make test` does.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::clients::mote;
use mote_it::cluster::{Further, NAMES, Nodes};
use mote_it::ledger::{
    acknowledged, await_end, await_orders, drive, from_environment, load, milliseconds, orders_in, prove,
};
use mote_it::nodes::value;
use rustix::process::Signal;
use tokio_postgres::NoTls;

const CYCLES_DEFAULT: u64 = 8;
const SEED_DEFAULT: u64 = 1;
/// After so many cycles a new cluster begins: else checking the orders of all earlier cycles takes most of the time.
const CYCLES_PER_CLUSTER: u64 = 40;
/// How long a driver runs, unless waiting for a primary took longer: beyond the fault and what follows from it.
const DRIVER_SECONDS: u64 = 12;
/// For a server that stands still, as seen by a client.
const PATIENCE: &str = "connect_timeout=2&answer_timeout=3";
const STANDS_STILL: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    KillPrimary,
    FreezePrimary,
    HandOver,
    CutPrimaryOff,
    CutFollowerOff,
    RestartFollower,
    KillEtcdLeader,
    KillAll,
}

const FAULTS: [Fault; 8] = [
    Fault::KillPrimary,
    Fault::FreezePrimary,
    Fault::HandOver,
    Fault::CutPrimaryOff,
    Fault::CutFollowerOff,
    Fault::RestartFollower,
    Fault::KillEtcdLeader,
    Fault::KillAll,
];

#[test]
fn no_fault_of_a_cluster_loses_an_acknowledged_order() {
    let cycles = from_environment("MOTE_LEDGER_CYCLES", CYCLES_DEFAULT);
    let seed = from_environment("MOTE_LEDGER_SEED", SEED_DEFAULT);
    eprintln!("ledger-cluster: {cycles} cycles, seed {seed}");
    let mut random = Prng::new(seed);
    let (mut faults, mut orders, mut cluster) = (Vec::new(), 0, None);
    for cycle in 1..=cycles {
        if (cycle - 1) % CYCLES_PER_CLUSTER == 0 {
            // The old one goes before the new one is made.
            drop(cluster.take());
        }
        let cluster = cluster.get_or_insert_with(Cluster::new);
        if faults.is_empty() {
            faults = FAULTS.to_vec();
            random.shuffle(&mut faults);
        }
        let fault = faults.pop().expect("filled above");
        let before = cluster.orders;
        let told = cluster.cycle(cycle, fault, &mut random);
        orders += cluster.orders - before;
        eprintln!(
            "cycle {cycle}: {told}; {} orders acknowledged",
            cluster.orders - before
        );
    }
    eprintln!("ledger-cluster: {cycles} cycles, {orders} orders acknowledged, none lost");
}

/// Three nodes, and what their clients have been told.
struct Cluster {
    nodes: Nodes,
    ledger: PathBuf,
    /// At least so many orders are there.
    orders: usize,
}

impl Cluster {
    fn new() -> Cluster {
        let nodes = Nodes::start_with(
            "ledger-cluster",
            Further {
                etcd_members: 3,
                cuts: true,
                // Of CYCLES_PER_CLUSTER cycles: some 5 MB each, and what queries over all of that take.
                memory: "1GB",
                options: vec!["--checkpoint-log-size".into(), "16MB".into()],
            },
        );
        // One COPY may take longer than any answer later.
        load(&nodes.url("connect_timeout=10"));
        Cluster {
            orders: orders_in(nodes.node(nodes.leader())),
            ledger: nodes.directory().join("ledger.txt"),
            nodes,
        }
    }

    /// Load, a fault in it, and the proof. Answers what happened.
    fn cycle(&mut self, cycle: u64, fault: Fault, random: &mut Prng) -> String {
        let ledger = self.ledger.clone();
        let mut driver = drive(&self.nodes.url(PATIENCE), &ledger, DRIVER_SECONDS, cycle);
        await_orders(&ledger, &mut driver, cycle);
        let after = milliseconds(random, 0, 1500);
        std::thread::sleep(after);
        let (began, before) = (Instant::now(), acknowledged(&ledger));
        let whom = self.strike(fault, random);
        let lasted = began.elapsed();
        await_end(&mut driver, cycle);
        let orders = acknowledged(&ledger);
        assert!(
            orders > before,
            "cycle {cycle}: {fault:?}: no order after it\n{}",
            self.nodes.logs()
        );
        self.orders += orders;
        let leader = self.nodes.leader();
        prove(self.nodes.node(leader), &ledger, self.orders, cycle);
        let position = self.compare();
        self.nodes.settle();
        for index in self.nodes.up() {
            let log = self.nodes.node(index).log();
            assert!(!log.contains("panicked at"), "cycle {cycle}:\n{log}");
        }
        format!(
            "{fault:?} of {whom} after {} ms, {} ms; \"{}\" leads, all equal at {position}",
            after.as_millis(),
            lasted.as_millis(),
            NAMES[leader]
        )
    }

    /// Answers who was struck.
    fn strike(&mut self, fault: Fault, random: &mut Prng) -> &'static str {
        let leader = self.nodes.leader();
        let other = (leader + 1 + random.below(2) as usize) % 3;
        match fault {
            Fault::KillPrimary => self.restart(leader, milliseconds(random, 0, 3000)),
            Fault::RestartFollower => self.restart(other, milliseconds(random, 0, 3000)),
            Fault::FreezePrimary => {
                self.nodes.node(leader).signal(Signal::STOP);
                std::thread::sleep(STANDS_STILL);
                self.nodes.node(leader).signal(Signal::CONT);
            }
            Fault::HandOver => {
                self.hand_over(other);
                return NAMES[other];
            }
            Fault::CutPrimaryOff => {
                self.cut(&[(leader, (leader + 1) % 3), (leader, (leader + 2) % 3)], random);
            }
            Fault::CutFollowerOff => {
                self.cut(&[(other, leader)], random);
                return NAMES[other];
            }
            Fault::KillEtcdLeader => {
                self.nodes.etcd.kill_leader();
                std::thread::sleep(milliseconds(random, 0, 2000));
                // The primary dies with it: its successor finds etcd between two leaders.
                self.restart(leader, milliseconds(random, 0, 2000));
                self.nodes.etcd.resume();
            }
            Fault::KillAll => {
                for index in 0..NAMES.len() {
                    self.nodes.running[index].take().expect("it runs").kill();
                }
                for index in 0..NAMES.len() {
                    self.nodes.run(index);
                }
            }
        }
        match fault {
            Fault::KillAll => "all",
            Fault::RestartFollower => NAMES[other],
            _ => NAMES[leader],
        }
    }

    fn restart(&mut self, index: usize, away: Duration) {
        self.nodes.running[index].take().expect("it runs").kill();
        std::thread::sleep(away);
        self.nodes.run(index);
    }

    /// Refused while the voters change: then again.
    fn hand_over(&self, to: usize) {
        let since = Instant::now();
        loop {
            let cluster = self.nodes.cluster();
            let said = mote(&["switchover", "--cluster", &cluster, "--to", NAMES[to]]);
            if said.ok || said.err.contains("leads already") {
                return;
            }
            assert!(since.elapsed() < TIMEOUT, "{}\n{}", said.err, self.nodes.logs());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn cut(&self, pairs: &[(usize, usize)], random: &mut Prng) {
        let cuts = self.nodes.cuts.as_ref().expect("asked for");
        pairs.iter().for_each(|(one, other)| cuts.cut(*one, *other));
        std::thread::sleep(milliseconds(random, 300, 5000));
        cuts.mend();
    }

    /// All nodes have the same rows; answers up to where they have the log.
    fn compare(&self) -> String {
        let position = self.nodes.await_replay();
        let leader = self.nodes.node(self.nodes.leader());
        let tables = value(
            leader,
            "select relname from pg_class where relkind = 'r' and relname like 'bmsql%' order by 1",
        );
        for table in tables.lines() {
            let sums: Vec<_> = self
                .nodes
                .up()
                .map(|index| (NAMES[index], sum(self.nodes.node(index), table)))
                .collect();
            assert_eq!(sums.len(), NAMES.len(), "all nodes run");
            assert!(
                sums.iter().all(|(_, found)| *found == sums[0].1),
                "{table} at {position}: rows and their sum: {sums:?}"
            );
        }
        position
    }
}

/// How many rows a table has, and a sum over them that does not depend on their order.
fn sum(server: &TestServer, table: &str) -> (u64, u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let text = runtime.expect("a runtime").block_on(async {
        let (client, connection) = server.config().connect(NoTls).await.expect("it answers");
        let connection = tokio::spawn(connection);
        let rows = client
            .copy_out(&format!("copy {table} to stdout"))
            .await
            .expect("it reads");
        let text = rows.try_fold(Vec::new(), |mut text, part| async move {
            text.extend_from_slice(&part);
            Ok(text)
        });
        let text = text.await.expect("it reads to the end");
        drop(client);
        let _ = connection.await;
        text
    });
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.fold((0, 0u64), |(rows, sum), line| {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        (rows + 1, sum.wrapping_add(hasher.finish()))
    })
}
