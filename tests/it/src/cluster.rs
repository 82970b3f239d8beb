//! A cluster of three nodes for a test, and its etcd.

use std::path::Path;
use std::time::{Duration, Instant};

use mote_replication::coordinator::Coordinator;
use mote_replication::record::Record;
use mote_server::etcd::Etcd;

use crate::TestServer;
use crate::clients::psql;
use crate::cuts::Cuts;
use crate::etcd::EtcdServer;
use crate::postgres::free_port;
use crate::process::await_that;
use crate::server::TemporaryDirectory;

pub const NAMES: [&str; 3] = ["a", "b", "c"];
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a test wants beside three nodes.
pub struct Further {
    pub etcd_members: usize,
    /// The nodes reach each other through something that can be cut.
    pub cuts: bool,
    /// Of every node.
    pub memory: &'static str,
    pub options: Vec<String>,
}

impl Default for Further {
    fn default() -> Further {
        Further {
            etcd_members: 1,
            cuts: false,
            memory: "256MB",
            options: Vec::new(),
        }
    }
}

/// A cluster of three; `None` in the place of a node that does not run.
pub struct Nodes {
    pub etcd: EtcdServer,
    pub ports: [u16; 3],
    pub running: [Option<TestServer>; 3],
    pub cuts: Option<Cuts>,
    memory: &'static str,
    options: Vec<String>,
    directory: TemporaryDirectory,
}

impl Nodes {
    pub fn start(name: &str) -> Nodes {
        Nodes::start_with(name, Further::default())
    }

    pub fn start_with(name: &str, further: Further) -> Nodes {
        let ports = [(); 3].map(|()| free_port());
        let mut nodes = Nodes {
            etcd: EtcdServer::start_members(further.etcd_members),
            ports,
            directory: TemporaryDirectory::new(name),
            running: [const { None }; 3],
            cuts: further.cuts.then(|| Cuts::between(NAMES, ports)),
            memory: further.memory,
            options: further.options,
        };
        for index in 0..NAMES.len() {
            nodes.run(index);
        }
        nodes.settle();
        nodes
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// As commands are told where it is.
    pub fn cluster(&self) -> String {
        format!("{}/shop", self.etcd.url())
    }

    pub fn options(&self, index: usize) -> Vec<String> {
        let mut options: Vec<String> = vec![
            "--listen".into(),
            format!("127.0.0.1:{}", self.ports[index]),
            "--cluster".into(),
            self.cluster(),
            "--name".into(),
            NAMES[index].into(),
            "--log-segment-size".into(),
            "4MB".into(),
            "--memory".into(),
            self.memory.into(),
        ];
        if index == 0 {
            options.push("--cluster-init".into());
        }
        if let Some(cuts) = &self.cuts {
            options.push("--advertise".into());
            options.push(format!("127.0.0.1:{}", cuts.port(index)));
        }
        options.extend(self.options.iter().cloned());
        options
    }

    pub fn run(&mut self, index: usize) {
        let options = self.options(index);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let server = TestServer::open(&self.directory.path().join(NAMES[index]), &options);
        self.running[index] = Some(server.unwrap_or_else(|said| panic!("no node: {said}")));
    }

    /// The URL that names all nodes.
    pub fn url(&self, parameters: &str) -> String {
        let hosts: Vec<String> = self
            .ports
            .iter()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        format!("postgres://postgres@{}/postgres?{parameters}", hosts.join(","))
    }

    pub fn record(&self) -> Option<Record> {
        let mut etcd = Etcd::new(&self.cluster()).expect("a sound address");
        etcd.read().expect("etcd answers")
    }

    /// Until both others vote, so that any one may be lost.
    pub fn settle(&self) {
        let since = Instant::now();
        let settled = || {
            self.record()
                .is_some_and(|record| record.voters.len() == 2 && record.count == 1)
        };
        while !settled() {
            assert!(
                since.elapsed() < TIMEOUT,
                "two nodes do not vote\n{}",
                self.logs()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn node(&self, index: usize) -> &TestServer {
        self.running[index].as_ref().expect("it runs")
    }

    /// Those that run.
    pub fn up(&self) -> impl Iterator<Item = usize> + '_ {
        (0..NAMES.len()).filter(|index| self.running[*index].is_some())
    }

    /// Which node takes writes. Waits for one that is not `other`.
    pub fn leader_but(&self, other: Option<usize>) -> usize {
        let since = Instant::now();
        loop {
            for index in self.up().filter(|index| Some(*index) != other) {
                let found = psql(self.node(index), "select pg_is_in_recovery()");
                if found.out.trim_end() == "f" {
                    return index;
                }
            }
            assert!(since.elapsed() < TIMEOUT, "nobody leads\n{}", self.logs());
        }
    }

    pub fn leader(&self) -> usize {
        self.leader_but(None)
    }

    pub fn logs(&self) -> String {
        let log = |(name, node): (&&str, &Option<TestServer>)| {
            format!("{name}: {}", node.as_ref().map_or("off".into(), TestServer::log))
        };
        NAMES
            .iter()
            .zip(&self.running)
            .map(log)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The nodes that run have everything that the leader has written; answers the position.
    pub fn await_replay(&self) -> String {
        let leader = self.node(self.leader());
        let end = crate::nodes::value(leader, "select pg_current_wal_flush_lsn()");
        let has_it = format!("select pg_is_in_recovery() and pg_last_wal_replay_lsn() >= '{end}'");
        let here = leader.address;
        for index in self.up().filter(|index| self.node(*index).address != here) {
            await_that("a follower replays what the leader has", TIMEOUT, || {
                psql(self.node(index), &has_it).out.trim_end() == "t"
            });
        }
        end
    }
}
