//! `mote cluster demo`: an etcd and some nodes on this machine, to be killed at will.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use mote_replication::coordinator::Coordinator;
use mote_server::etcd::Etcd;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::children::{Running, find_program};
use super::report::Report;
use super::status;
use crate::command::units::parse_duration;

const CLUSTER: &str = "demo";
const LOGIN: &str = "postgres://postgres@any/postgres";
/// For etcd to answer, for the first node to lead, for the others to follow.
const START_LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);
/// For a node to end by itself.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Try a cluster out: start an etcd and some nodes on this machine
///
/// Needs etcd in the search path (Debian and Ubuntu: apt-get install etcd-server). Prints an address for
/// clients and the nodes' process numbers. Kill -9 one of them and watch: another one leads within
/// seconds, and the killed one comes back as a follower. Ctrl-C ends everything. Not for data that
/// matter: it all runs on one machine, and anybody here may log in.
///
/// Examples:
///   mote cluster demo
///   mote cluster demo --nodes 5 --port 6000 --dir ./demo
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct DemoArguments {
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=9))]
    nodes: u16,

    /// Directory of everything, kept for another time [default: one that goes at the end]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Port of the first node; the others have the next ones
    #[arg(long, value_name = "PORT", default_value_t = 5432, value_parser = clap::value_parser!(u16).range(1..=65_000))]
    port: u16,

    /// Memory for each node's rows and indexes
    #[arg(long, value_name = "SIZE", default_value = "1GB")]
    memory: String,

    /// Time after which a node that has ended is started again
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    restart_after: Duration,
}

pub fn run(arguments: &DemoArguments) -> ExitCode {
    match demonstrate(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mote: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demonstrate(arguments: &DemoArguments) -> Result<(), String> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM]).map_err(|error| format!("could not watch for signals: {error}"))?;
    let directory = Directory::of(arguments)?;
    let mut demo = Demo::start_etcd(arguments, &directory.path, &mut signals)?;
    demo.start_nodes(&mut signals)?;
    demo.tell();
    demo.watch(&mut signals);
    demo.end();
    Ok(())
}

/// Where everything is.
struct Directory {
    path: PathBuf,
    /// Made for this time only.
    passing: bool,
}

impl Directory {
    fn of(arguments: &DemoArguments) -> Result<Directory, String> {
        let passing = arguments.dir.is_none();
        let made = || std::env::temp_dir().join(format!("mote-demo-{}", std::process::id()));
        let path = arguments.dir.clone().unwrap_or_else(made);
        std::fs::create_dir_all(&path)
            .and_then(|()| path.canonicalize())
            .map(|path| Directory { path, passing })
            .map_err(|error| format!("could not create directory {}: {error}", path.display()))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.passing
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            eprintln!("mote: {} is left: {error}", self.path.display());
        }
    }
}

struct Node {
    name: String,
    address: String,
    directory: PathBuf,
    running: Option<Running>,
    /// When it was seen to have ended.
    ended: Option<Instant>,
}

struct Demo {
    /// Before etcd: fields are dropped in their order.
    nodes: Vec<Node>,
    etcd: Running,
    store: Etcd,
    url: String,
    binary: PathBuf,
    memory: String,
    restart_after: Duration,
    /// The term that was shown last.
    term: u32,
}

impl Demo {
    fn start_etcd(
        arguments: &DemoArguments,
        directory: &Path,
        signals: &mut Signals,
    ) -> Result<Demo, String> {
        let program = find_program("etcd").ok_or(
            "etcd is not in the search path. Debian and Ubuntu: apt-get install etcd-server; elsewhere: \
             https://etcd.io/docs/latest/install",
        )?;
        let binary = std::env::current_exe().map_err(|error| format!("this program's file: {error}"))?;
        let name_of = |index: u16| char::from(b'a' + index as u8).to_string();
        let nodes: Vec<Node> = (0..arguments.nodes)
            .map(|index| Node {
                name: name_of(index),
                address: format!("127.0.0.1:{}", arguments.port + index),
                directory: directory.join(name_of(index)),
                running: None,
                ended: None,
            })
            .collect();
        // Here a mistake is told at once; a node would tell it in its log.
        for node in &nodes {
            TcpListener::bind(&node.address)
                .map_err(|error| format!("{}: {error}; --port takes other ones", node.address))?;
        }
        let ports = free_ports().map_err(|error| format!("no port is free for etcd: {error}"))?;
        let running = run_etcd(&program, directory, ports)
            .map_err(|error| format!("could not start {}: {error}", program.display()))?;
        let url = format!("etcd://127.0.0.1:{}/{CLUSTER}", ports[0]);
        let mut demo = Demo {
            nodes,
            etcd: running,
            store: Etcd::new(&url)?,
            url,
            binary,
            memory: arguments.memory.clone(),
            restart_after: arguments.restart_after,
            term: 0,
        };
        let log = directory.join("etcd.log");
        demo.wait_for("starting etcd", signals, &log, |demo| match demo.etcd.ended() {
            Some(status) => Err(format!(
                "etcd has ended ({status}). The end of its log:\n{}",
                last_lines(&log)
            )),
            None => Ok(demo.store.read().is_ok()),
        })?;
        Ok(demo)
    }

    /// The first one makes the database; the others copy it.
    fn start_nodes(&mut self, signals: &mut Signals) -> Result<(), String> {
        let begins = !matches!(self.store.read(), Ok(Some(_)));
        self.start_node(0, begins)?;
        if begins {
            let log = self.nodes[0].directory.join("log");
            self.wait_for("starting the first node", signals, &log, |demo| {
                demo.look_for_end()?;
                Ok(demo.report().is_ok_and(|report| report.serves()))
            })?;
        }
        for index in 1..self.nodes.len() {
            self.start_node(index, false)?;
        }
        let last = self.nodes.len() - 1;
        let log = self.nodes[last].directory.join("log");
        self.wait_for("the others copy it and follow", signals, &log, |demo| {
            demo.look_for_end()?;
            let whole = |report: Report| report.serves() && report.is_complete(demo.nodes.len());
            Ok(demo.report().is_ok_and(whole))
        })
    }

    fn start_node(&mut self, index: usize, begins: bool) -> Result<(), String> {
        let (binary, url, memory) = (&self.binary, &self.url, &self.memory);
        let node = &mut self.nodes[index];
        let failed = |error| format!("could not start node {}: {error}", node.name);
        std::fs::create_dir_all(&node.directory).map_err(failed)?;
        let data = node.directory.join("data");
        let mut arguments: Vec<OsString> = Vec::new();
        arguments.extend(["serve", "--listen", &node.address, "--memory", memory].map(OsString::from));
        arguments.extend(["--cluster", url, "--name", &node.name].map(OsString::from));
        arguments.extend(["--data".into(), data.into_os_string()]);
        if begins {
            arguments.push("--cluster-init".into());
        }
        let log = node.directory.join("log");
        node.running = Some(Running::start(binary, &arguments, &log).map_err(failed)?);
        node.ended = None;
        Ok(())
    }

    fn report(&self) -> Result<Report, String> {
        status::look(&self.url, LOGIN)
    }

    /// A node that ends while the cluster starts has not understood its arguments, or its disk is full.
    fn look_for_end(&mut self) -> Result<(), String> {
        for node in &mut self.nodes {
            if let Some(status) = node.running.as_mut().and_then(Running::ended) {
                let log = node.directory.join("log");
                return Err(format!(
                    "node {} has ended ({status}). The end of {}:\n{}",
                    node.name,
                    log.display(),
                    last_lines(&log)
                ));
            }
        }
        Ok(())
    }

    /// Looks until `done`; `log` tells why it never was.
    fn wait_for(
        &mut self,
        what: &'static str,
        signals: &mut Signals,
        log: &Path,
        mut done: impl FnMut(&mut Demo) -> Result<bool, String>,
    ) -> Result<(), String> {
        let spinner = spinner(what);
        let deadline = Instant::now() + START_LIMIT;
        while !done(self)? {
            if signals.pending().next().is_some() {
                return Err("stopped".into());
            }
            if Instant::now() >= deadline {
                return Err(format!(
                    "{what}: not done after {START_LIMIT:?}. The end of {}:\n{}",
                    log.display(),
                    last_lines(log)
                ));
            }
            spinner.tick();
            std::thread::sleep(LOOK);
        }
        spinner.finish_and_clear();
        Ok(())
    }

    /// For clients: all nodes, of which they take the one that writes.
    fn client_url(&self) -> String {
        let addresses: Vec<&str> = self.nodes.iter().map(|node| &*node.address).collect();
        format!(
            "postgresql://postgres@{}/postgres?target_session_attrs=read-write",
            addresses.join(",")
        )
    }

    fn tell(&mut self) {
        let leader = self.leader();
        let directory = self.nodes[0].directory.parent().unwrap_or(Path::new("/"));
        println!(
            "A cluster of {} nodes runs, with all its files in {}\n",
            self.nodes.len(),
            directory.display()
        );
        for node in &self.nodes {
            let part = match leader.as_deref() == Some(&node.name) {
                true => "leads",
                false => "follows",
            };
            println!(
                "  {}  pid {:<7}  {}  {part:<7}  log {}",
                node.name,
                node.running.as_ref().map_or(0, Running::pid),
                node.address,
                node.directory.join("log").display()
            );
        }
        let led = |node: &&Node| leader.as_deref() == Some(&node.name);
        let pid = self.nodes.iter().find(led).and_then(|node| node.running.as_ref());
        println!(
            "\nClients find the leader by themselves:\n  psql '{}'\n",
            self.client_url()
        );
        println!("Try:");
        if let Some(pid) = pid.map(Running::pid) {
            println!("  kill -9 {pid}        the leader dies, and another one leads within seconds");
            println!("  kill -STOP {pid}     it stands still; kill -CONT {pid} lets it find out");
        }
        println!("  mote cluster status --cluster {}", self.url);
        println!("\nCtrl-C ends everything.");
    }

    fn leader(&mut self) -> Option<String> {
        let record = self.store.read().ok()??;
        self.term = record.term;
        let roster = self.store.roster().ok()?;
        Some(roster.entry_of(record.leader)?.0.to_string())
    }

    /// Until a signal comes: tells who ends and who leads, starts again who has ended.
    fn watch(&mut self, signals: &mut Signals) {
        let (mut lost, mut etcd_told) = (None, false);
        while signals.pending().next().is_none() {
            std::thread::sleep(LOOK);
            for index in 0..self.nodes.len() {
                if self.look_after(index) {
                    lost = Some(Instant::now());
                }
            }
            if !etcd_told && let Some(status) = self.etcd.ended() {
                etcd_told = true;
                println!("etcd has ended ({status}): the nodes go on, but nobody can be elected any more");
            }
            let before = self.term;
            if let Some(leader) = self.leader()
                && self.term != before
            {
                let after = lost.take().map_or_else(String::new, |lost: Instant| {
                    format!(", {:.1} s after a node was lost", lost.elapsed().as_secs_f64())
                });
                println!("{leader} leads term {}{after}", self.term);
            }
        }
    }

    /// True: the node has just ended.
    fn look_after(&mut self, index: usize) -> bool {
        let restart_after = self.restart_after;
        let node = &mut self.nodes[index];
        if let Some(ended) = node.ended {
            if ended.elapsed() >= restart_after {
                match self.start_node(index, false) {
                    Ok(()) => {
                        let node = &self.nodes[index];
                        let pid = node.running.as_ref().map_or(0, Running::pid);
                        println!("{} is started again, pid {pid}", node.name);
                    }
                    Err(error) => {
                        eprintln!("mote: {error}");
                        self.nodes[index].ended = Some(Instant::now());
                    }
                }
            }
            return false;
        }
        let Some(status) = node.running.as_mut().and_then(Running::ended) else {
            return false;
        };
        println!(
            "{} has ended ({status}); it comes back in {} s",
            node.name,
            restart_after.as_secs()
        );
        node.ended = Some(Instant::now());
        true
    }

    /// The nodes first, all at once; etcd when nobody asks it any more.
    fn end(mut self) {
        eprintln!("mote: ending the nodes");
        let mut running: Vec<Running> = self
            .nodes
            .iter_mut()
            .filter_map(|node| node.running.take())
            .collect();
        running.iter_mut().for_each(Running::ask_to_end);
        let deadline = Instant::now() + END_LIMIT;
        for node in &mut running {
            // Who does not end in time is killed when it is dropped: what it has acknowledged is on its disk.
            node.wait_until(deadline);
        }
    }
}

fn free_ports() -> std::io::Result<[u16; 2]> {
    let port = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let free = [port()?, port()?];
    Ok([free[0].local_addr()?.port(), free[1].local_addr()?.port()])
}

fn run_etcd(program: &Path, directory: &Path, ports: [u16; 2]) -> std::io::Result<Running> {
    let [clients, peers] = ports.map(|port| format!("http://127.0.0.1:{port}"));
    let mut arguments: Vec<OsString> = vec!["--data-dir".into(), directory.join("etcd").into()];
    for (option, value) in [
        ("--listen-client-urls", clients.clone()),
        ("--advertise-client-urls", clients),
        ("--listen-peer-urls", peers.clone()),
        ("--initial-advertise-peer-urls", peers.clone()),
        ("--initial-cluster", format!("default={peers}")),
    ] {
        arguments.extend([option.into(), value.into()]);
    }
    Running::start(program, &arguments, &directory.join("etcd.log"))
}

fn spinner(what: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        spinner.set_style(style);
    }
    spinner.set_message(what);
    spinner
}

/// What a log says last.
fn last_lines(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(2000)..]).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}
