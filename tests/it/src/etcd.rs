//! An etcd for a test: one member, in a temporary directory.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::process::await_that;
use crate::server::TemporaryDirectory;

const ADVICE: &str = "install etcd (apt-get install etcd-server)";

/// Stopped and removed with the value.
pub struct EtcdServer {
    process: Option<Child>,
    directory: TemporaryDirectory,
    ports: [u16; 2],
}

impl EtcdServer {
    /// Panics with advice where etcd is not installed.
    pub fn start() -> EtcdServer {
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
        let ports = free
            .each_ref()
            .map(|port| port.local_addr().expect("it is bound").port());
        drop(free);
        let mut server = EtcdServer {
            process: None,
            directory: TemporaryDirectory::new("etcd"),
            ports,
        };
        server.resume();
        server
    }

    /// As `etcd://HOST:PORT`; a cluster's name comes behind it.
    pub fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.ports[0])
    }

    /// Ends it at once; what it has answered stays on its disk.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it runs");
            process.wait().expect("it has ended");
        }
    }

    /// Starts it (again), and waits until it answers.
    pub fn resume(&mut self) {
        let [clients, peers] = self.ports.map(|port| format!("http://127.0.0.1:{port}"));
        let log = std::fs::File::create(self.directory.path().join("log")).expect("the directory is ours");
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(self.directory.path().join("data"))
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
            .args(["--initial-cluster", &format!("default={peers}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("could not start etcd ({error}): {ADVICE}"));
        self.process = Some(process);
        let mut client = mote_server::etcd::Etcd::new(&format!("{}/ready", self.url())).expect("it is sound");
        await_that("etcd answers", Duration::from_secs(30), || {
            mote_replication::coordinator::Coordinator::read(&mut client).is_ok()
        });
    }
}

impl Drop for EtcdServer {
    fn drop(&mut self) {
        self.kill();
    }
}
