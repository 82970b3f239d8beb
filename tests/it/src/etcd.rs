//! An etcd for a test: one member or several, in a temporary directory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mote_replication::coordinator::Coordinator;

use crate::postgres::free_port;
use crate::process::await_that;
use crate::server::TemporaryDirectory;

const ADVICE: &str = "install etcd (apt-get install etcd-server)";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Stopped and removed with the value.
pub struct EtcdServer {
    members: Vec<Member>,
    directory: TemporaryDirectory,
}

struct Member {
    process: Option<Child>,
    clients: u16,
    peers: u16,
}

impl EtcdServer {
    /// One member. Panics with advice where etcd is not installed.
    pub fn start() -> EtcdServer {
        EtcdServer::start_members(1)
    }

    pub fn start_members(count: usize) -> EtcdServer {
        let member = |_| Member {
            process: None,
            clients: free_port(),
            peers: free_port(),
        };
        let mut server = EtcdServer {
            members: (0..count).map(member).collect(),
            directory: TemporaryDirectory::new("etcd"),
        };
        server.resume();
        server
    }

    /// As `etcd://HOST:PORT,..`; a cluster's name comes behind it.
    pub fn url(&self) -> String {
        let places: Vec<String> = self
            .members
            .iter()
            .map(|member| format!("127.0.0.1:{}", member.clients))
            .collect();
        format!("etcd://{}", places.join(","))
    }

    /// Ends all members at once; what they have answered stays on their disks.
    pub fn kill(&mut self) {
        self.members.iter_mut().for_each(Member::kill);
    }

    /// Loses everything that it has been told, and goes on with nothing.
    pub fn forget(&mut self) {
        self.kill();
        for index in 0..self.members.len() {
            let place = self.directory.path().join(format!("m{index}"));
            std::fs::remove_dir_all(place).expect("it was there");
        }
        self.resume();
    }

    /// Ends the member that leads the others.
    pub fn kill_leader(&mut self) {
        let mut led = None;
        await_that("etcd has a leader", TIMEOUT, || {
            led = self.members.iter().position(Member::leads);
            led.is_some()
        });
        self.members[led.expect("awaited")].kill();
    }

    /// Starts those that do not run (again), and waits until etcd answers.
    pub fn resume(&mut self) {
        let cluster: Vec<String> = (0..)
            .zip(&self.members)
            .map(|(index, member)| format!("m{index}=http://127.0.0.1:{}", member.peers))
            .collect();
        let cluster = cluster.join(",");
        for (index, member) in self.members.iter_mut().enumerate() {
            if member.process.is_none() {
                let place = self.directory.path().join(format!("m{index}"));
                member.process = Some(start(&place, index, member, &cluster));
            }
        }
        let mut client = mote_server::etcd::Etcd::new(&format!("{}/ready", self.url())).expect("it is sound");
        await_that("etcd answers", TIMEOUT, || client.read().is_ok());
    }
}

fn start(place: &std::path::Path, index: usize, member: &Member, cluster: &str) -> Child {
    std::fs::create_dir_all(place).expect("the directory is ours");
    let log = std::fs::File::create(place.join("log")).expect("the directory is ours");
    let [clients, peers] = [member.clients, member.peers].map(|port| format!("http://127.0.0.1:{port}"));
    Command::new("etcd")
        .args(["--name", &format!("m{index}"), "--data-dir"])
        .arg(place.join("data"))
        .args([
            "--listen-client-urls",
            &clients,
            "--advertise-client-urls",
            &clients,
        ])
        .args([
            "--listen-peer-urls",
            &peers,
            "--initial-advertise-peer-urls",
            &peers,
        ])
        .args(["--initial-cluster", cluster])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("could not start etcd ({error}): {ADVICE}"))
}

impl Member {
    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it runs");
            process.wait().expect("it has ended");
        }
    }

    /// As it says itself.
    fn leads(&self) -> bool {
        let status = self.process.as_ref().and_then(|_| self.status());
        status.is_some_and(|status| status["leader"] == status["header"]["member_id"])
    }

    fn status(&self) -> Option<serde_json::Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.clients)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        stream
            .write_all(b"POST /v3/maintenance/status HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
            .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }
}

impl Drop for EtcdServer {
    fn drop(&mut self) {
        self.kill();
    }
}
