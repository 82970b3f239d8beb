//! `mote cluster demo` and `mote cluster status`, as somebody uses them who tries a cluster out.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mote_it::process::await_that;
use mote_it::server::{TemporaryDirectory, mote_binary};
use rustix::process::{Pid, Signal, kill_process};

const START: Duration = Duration::from_secs(120);
const FAIL_OVER: Duration = Duration::from_secs(30);

/// The demonstration under way. Killed with the value, and all it has started with it.
struct Demo {
    process: Child,
    said: PathBuf,
}

impl Demo {
    fn start(directory: &Path, first_port: u16) -> Demo {
        let said = directory.join("said");
        let out = File::create(&said).expect("the directory is ours");
        let process = Command::new(mote_binary())
            .args(["cluster", "demo", "--memory", "256MB", "--restart-after", "1s"])
            .args(["--port", &first_port.to_string()])
            .arg("--dir")
            .arg(directory.join("demo"))
            .stdin(Stdio::null())
            .stderr(out.try_clone().expect("a descriptor is free"))
            .stdout(out)
            .spawn()
            .expect("it starts");
        let mut demo = Demo { process, said };
        await_that("the cluster is ready", START, || {
            let ended = demo.process.try_wait().expect("it is ours");
            assert!(ended.is_none(), "{}", demo.text());
            demo.text().contains("Ctrl-C ends everything")
        });
        demo
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.said).expect("it was created")
    }

    /// Between `before` and `after`, the first time.
    fn told(&self, before: &str, after: &str) -> String {
        let text = self.text();
        let (_, rest) = text
            .split_once(before)
            .unwrap_or_else(|| panic!("no {before}: {text}"));
        let (told, _) = rest.split_once(after).expect("it goes on");
        told.to_string()
    }

    /// The processes of the nodes, as printed at the start.
    fn nodes(&self) -> Vec<Pid> {
        let text = self.text();
        let lines = text.lines().filter_map(|line| line.split_once("  pid "));
        let numbers = lines.filter_map(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        numbers.filter_map(Pid::from_raw).collect()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // Fails where it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn psql(url: &str, sql: &str) -> Result<String, String> {
    let output = Command::new("psql")
        .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
        .env("PGCONNECT_TIMEOUT", "5")
        .output()
        .expect("psql is installed");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

fn status(cluster: &str) -> serde_json::Value {
    let output = Command::new(mote_binary())
        .args(["cluster", "status", "--json", "--cluster", cluster])
        .output()
        .expect("it runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Three ports in a row that nobody has at the moment, from a range of each test's own.
fn ports(range: u16) -> u16 {
    (23_000 + range * 3_000..26_000 + range * 3_000)
        .step_by(7)
        .map(|first| first + std::process::id() as u16 % 7)
        .find(|first| (*first..first + 3).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()))
        .expect("three ports are free")
}

/// Ended, though perhaps nobody has asked how.
fn is_gone(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
    let state = stat.as_ref().ok().and_then(|stat| stat.rsplit_once(") "));
    state.is_none_or(|(_, state)| state.starts_with('Z'))
}

#[test]
fn after_the_leaders_end_another_node_writes_at_the_same_address() {
    let directory = TemporaryDirectory::new("cluster-demo");
    let demo = Demo::start(directory.path(), ports(0));
    let url = demo.told("psql '", "'");
    let cluster = demo.told("status --cluster ", "\n");
    psql(
        &url,
        "create table t (a int primary key); insert into t values (1)",
    )
    .expect("the leader writes");
    let before = status(&cluster);
    assert_eq!(before["serves"], true, "{before}");
    assert_eq!(before["nodes_answering"], 3, "{before}");
    assert_eq!(before["survives_loss_of_leader"], true, "{before}");

    let leader: i32 = demo.told("kill -9 ", " ").parse().expect("a number");
    let leader = Pid::from_raw(leader).expect("a process");
    kill_process(leader, Signal::KILL).expect("it runs");
    let killed = Instant::now();
    await_that("another node writes", FAIL_OVER, || {
        psql(&url, "insert into t values (2)").is_ok()
    });
    println!("writes again after {:.2} s", killed.elapsed().as_secs_f64());
    assert_eq!(psql(&url, "select count(*) from t").as_deref(), Ok("2"));
    assert!(status(&cluster)["term"].as_u64() > before["term"].as_u64());
    // The killed one comes back and follows.
    await_that("all are there again", START, || {
        status(&cluster)["nodes_answering"] == 3
    });
    assert!(demo.text().contains("is started again"), "{}", demo.text());
}

#[test]
fn nothing_is_left_when_the_demonstration_is_killed() {
    let directory = TemporaryDirectory::new("cluster-demo-killed");
    let demo = Demo::start(directory.path(), ports(1));
    let nodes = demo.nodes();
    assert_eq!(nodes.len(), 3, "{}", demo.text());
    assert!(!nodes.iter().any(|pid| is_gone(*pid)));
    drop(demo);
    await_that("the nodes have ended", Duration::from_secs(60), || {
        nodes.iter().all(|pid| is_gone(*pid))
    });
}
