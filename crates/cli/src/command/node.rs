//! `mote serve --cluster`: a node of a cluster, from its directory's start to the changes of its part.
//!
//! Every node starts as a follower, whatever it was; who is elected leads in place. Who leads no more starts anew: the
//! process replaces itself, as nothing of a primary that was deposed may be told to anybody.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use mote_catalog::database::{Database, InitialNames};
use mote_common::Lsn;
use mote_driver::Target;
use mote_engine::EngineConfig;
use mote_engine::checkpoint::manifest::MANIFEST_PATH;
use mote_executor::index_keys::EVALUATION;
use mote_log::LogHold;
use mote_replication::coordinator::Coordinator;
use mote_replication::message::Ask;
use mote_replication::record::Record;
use mote_replication::slots::Slots;
use mote_replication::{NodeId, node};
use mote_server::cluster::{ClusterThread, HandOver, Order, Prepared, Reach, Seat, Settings};
use mote_server::etcd::Etcd;
use mote_server::lease::PATIENCE;
use mote_server::replication::follower::{FollowConfig, Follower, Place};
use mote_server::replication::link::Link;
use mote_server::replication::promise;
use mote_server::{Server, ServerConfig, Starting};
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;

use super::copying;
use super::follow::{self, KeptLog, Primary};

/// Between two attempts to join a cluster that is not there yet.
const RETRY: Duration = Duration::from_millis(300);
/// For another node's answer, and for a connection to it.
const ANSWER: Duration = Duration::from_millis(PATIENCE.as_millis() as u64 / 2);
/// For the node that shall lead to get the end of the log.
const HAND_OVER: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(1);

#[derive(Args)]
pub struct ClusterArguments {
    /// Be a node of this cluster, whose record etcd keeps: who leads, and whose word counts
    ///
    /// The nodes elect a primary; the others follow it, and one of them takes its place when it is gone. An empty directory
    /// becomes a copy of the primary's. Start three nodes, so that any one may be lost.
    #[arg(
        long,
        value_name = "etcd://HOST:PORT[,..]/CLUSTER",
        conflicts_with_all = ["follow", "archive_dir", "synchronous_standby_names"],
        requires = "name"
    )]
    pub cluster: Option<String>,

    /// Begin the cluster with this node, if there is none yet: its directory, or a new database, becomes the cluster's
    #[arg(long, requires = "cluster")]
    cluster_init: bool,

    /// Where the other nodes reach this one [default: the address of --listen]
    #[arg(long, value_name = "HOST:PORT", requires = "cluster")]
    advertise: Option<String>,

    /// Role by which the nodes connect to each other, a superuser [default: --superuser]
    #[arg(long, value_name = "NAME", requires = "cluster")]
    cluster_role: Option<String>,

    /// File that holds its password
    #[arg(long, value_name = "FILE", requires = "cluster")]
    cluster_password_file: Option<std::path::PathBuf>,

    /// Encrypt what the nodes tell each other: require, or verify-full, which wants certificates for what they advertise
    ///
    /// All nodes need --tls-cert. docs/operations.md says how a cluster that runs gets there.
    #[arg(long, value_name = "MODE", requires = "cluster")]
    cluster_sslmode: Option<String>,

    /// Roots in PEM that certificates of the other nodes must lead to; for verify-full
    #[arg(long, value_name = "FILE", requires = "cluster_sslmode")]
    cluster_sslrootcert: Option<String>,
}

/// This node, and how it reaches the others.
pub struct Node {
    name: String,
    place: Place,
    etcd: Etcd,
    initialises: bool,
    others: Others,
}

/// The other nodes, by the role that all know.
#[derive(Clone)]
struct Others {
    name: String,
    role: String,
    password: Option<String>,
    sslmode: Option<String>,
    sslrootcert: Option<String>,
}

impl Others {
    fn target(&self, place: &Place) -> Result<Target, String> {
        let mut target = Target::parse(&format!("postgres://{place}/postgres"))?;
        target.user = self.role.clone();
        target.password = self.password.clone();
        match &self.sslmode {
            // Reads the roots each time: a file that was replaced counts from the next connection on.
            Some(mode) => target.with_sslmode(mode, self.sslrootcert.as_deref()),
            None => Ok(target),
        }
    }

    /// For what must not wait for a node that is gone.
    fn impatient(&self, place: &Place) -> Result<Target, String> {
        let mut target = self.target(place)?;
        (target.connect_timeout, target.answer_timeout) = (ANSWER, Some(ANSWER));
        Ok(target)
    }
}

impl Reach for Others {
    fn stream(&self, place: &Place) -> Result<Link, String> {
        follow::start_replication(&self.impatient(place)?, &self.name)
    }

    fn ask(&self, place: &Place, command: &str) -> Result<Vec<String>, String> {
        let mut session = follow::open(&self.impatient(place)?, &self.name)?;
        let rows = follow::query(&mut session, command)?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }
}

impl Node {
    /// `None`: the server is of no cluster.
    pub fn new(
        arguments: &ClusterArguments,
        name: Option<&str>,
        superuser: &str,
        config: &ServerConfig,
    ) -> Result<Option<Node>, String> {
        let Some(url) = &arguments.cluster else {
            return Ok(None);
        };
        let name = name.ok_or("--cluster needs --name")?.to_string();
        let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !name.chars().all(sound) {
            return Err(format!(
                "--name {name}: a node's name has letters, digits, hyphens, underscores and dots"
            ));
        }
        let password = arguments.cluster_password_file.as_deref();
        let place = place_of(arguments.advertise.as_deref(), config)?;
        let others = Others {
            name: name.clone(),
            role: arguments.cluster_role.clone().unwrap_or_else(|| superuser.into()),
            password: password.map(super::serve::read_password).transpose()?,
            sslmode: arguments.cluster_sslmode.clone(),
            sslrootcert: arguments.cluster_sslrootcert.clone(),
        };
        // A mistake in them is told now.
        others
            .target(&place)
            .map_err(|error| format!("--cluster-sslmode: {error}"))?;
        Ok(Some(Node {
            place,
            etcd: Etcd::new(url)?,
            initialises: arguments.cluster_init,
            others,
            name,
        }))
    }

    /// Sees to it that the directory has the cluster's database: its own, a copy, or a new one. Waits for what is not there
    /// yet; a signal meanwhile ends the process.
    pub fn join(
        &mut self,
        data: &Path,
        engine: &EngineConfig,
        names: &InitialNames,
        signals: &mut Signals,
    ) -> Result<Option<KeptLog>, String> {
        let mut told = String::new();
        let mut wait = |why: String, signals: &mut Signals| {
            if why != told {
                eprintln!("mote: {why}; tries again");
                told = why;
            }
            if signals.pending().any(|signal| signal != SIGHUP) {
                eprintln!("mote: stopped before it had joined the cluster");
                std::process::exit(0);
            }
            std::thread::sleep(RETRY);
        };
        loop {
            let part = part_of(data)?;
            match part {
                // Whatever the store says later: it goes on where it was.
                Some(node::Part::Cluster) => {
                    self.has_no_twin(data, Some(number_of(data)?))?;
                    return Ok(None);
                }
                Some(node::Part::Follows) => {
                    return Err(format!(
                        "{} follows another server: it has no place in a cluster. Start the node on an empty directory",
                        data.display()
                    ));
                }
                _ => {}
            }
            match self.etcd.read() {
                Err(error) => wait(format!("etcd does not answer: {error}"), signals),
                Ok(None) if self.initialises => self.initialise(data, engine, names)?,
                Ok(None) => wait(
                    "the cluster has not begun: one node is to be started with --cluster-init".into(),
                    signals,
                ),
                Ok(Some(record)) if part.is_some() => self.belongs(data, &record)?,
                Ok(Some(record)) => {
                    self.has_no_twin(data, None)?;
                    match self.copy(data, &record) {
                        Ok(kept) => return Ok(kept),
                        Err(error) => {
                            wait(format!("could not copy the cluster's database: {error}"), signals)
                        }
                    }
                }
            }
        }
    }

    /// No other process has this directory's number, or this node's name: neither of both would be told from the other, and a
    /// word that one gives the other does not know of. Whom etcd does not name, or who does not answer, is not there.
    fn has_no_twin(&mut self, data: &Path, own: Option<NodeId>) -> Result<(), String> {
        let Ok(roster) = self.etcd.roster() else {
            return Ok(());
        };
        let here = (&self.place.host, self.place.port);
        for (name, entry) in &roster.0 {
            if (*name != self.name && Some(entry.id) != own) || (&entry.host, entry.port) == here {
                continue;
            }
            let place = Place {
                host: entry.host.clone(),
                port: entry.port,
            };
            let Some(there) = self.number_at(&place) else {
                continue;
            };
            if Some(there) == own {
                return Err(format!(
                    "{} is a copy of the directory of the node \"{name}\", which runs at {place}. Stop one of both, and \
                     start it on an empty directory",
                    data.display()
                ));
            }
            if *name == self.name {
                return Err(format!(
                    "the cluster's node \"{name}\" runs already, at {place}. Give this one another --name, or stop that one"
                ));
            }
        }
        Ok(())
    }

    /// The number of the directory whose server answers there.
    fn number_at(&self, place: &Place) -> Option<NodeId> {
        let nothing = Ask {
            term: 0,
            candidate: NodeId(0),
            firm: false,
        };
        let row = self.others.ask(place, &promise::question(&nothing)).ok()?;
        Some(promise::answer_of(&row)?.id)
    }

    /// The directory's database, or a new one, is the cluster's from here on, and this node its leader.
    fn initialise(&mut self, data: &Path, engine: &EngineConfig, names: &InitialNames) -> Result<(), String> {
        if copying::is_unfinished(data) {
            return Err(copying::unfinished(data));
        }
        let alone = EngineConfig {
            following: false,
            ..engine.clone()
        };
        let database = Database::open_with_progress(data, alone, names, &EVALUATION, &mut |_| {})
            .map_err(|error| error.to_string())?;
        let (log, disk) = (database.engine().log().clone(), database.engine().disk());
        let (system_id, term) = (log.system_id(), log.term());
        let draw = mote_common::env::real::entropy_u64;
        let leader = node::number(&*disk, system_id, draw).map_err(|error| error.to_string())?;
        database.close();
        drop((log, disk, database));
        let first = Record {
            system_id,
            term,
            leader,
            voters: Default::default(),
            count: 0,
            changes: 1,
        };
        // Without an answer, or with another node's record, the next turn finds out what stands there.
        if let Ok(true) = self.etcd.swap(None, &first) {
            eprintln!("mote: the cluster begins with this node's database");
        }
        Ok(())
    }

    /// A directory with a database of its own is of the cluster if it is its first leader's.
    fn belongs(&self, data: &Path, record: &Record) -> Result<(), String> {
        let system_id = follow::system_id(data)?;
        if record.system_id != system_id || record.leader != number_of(data)? {
            return Err(format!(
                "{} holds another database than the cluster's. Start the node on an empty directory",
                data.display()
            ));
        }
        let disk = mote_common::env::real::disk(data);
        node::set_part(&*disk, system_id, node::Part::Cluster).map_err(|error| error.to_string())
    }

    fn copy(&mut self, data: &Path, record: &Record) -> Result<Option<KeptLog>, String> {
        let roster = self.etcd.roster().map_err(|error| error.to_string())?;
        let (_, entry) = roster
            .entry_of(record.leader)
            .ok_or("nobody knows where the cluster's leader is")?;
        let place = Place {
            host: entry.host.clone(),
            port: entry.port,
        };
        let primary = Primary::at(self.others.target(&place)?, Some(self.name.clone()));
        let kept = primary.prepare(data, node::Part::Cluster)?;
        Ok(kept)
    }

    /// Serves until somebody stops the server.
    pub fn serve(
        self,
        database: &Arc<Database>,
        config: &ServerConfig,
        door: Starting,
        kept: Option<KeptLog>,
        signals: &mut Signals,
    ) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("could not begin to take part in the cluster: {error}");
        database.cluster().set_elects();
        let call = Box::new(|| {
            if let Err(error) = signal_hook::low_level::raise(super::serve::PROMOTE) {
                eprintln!("mote: could not tell that the server's part changes: {error}");
            }
        });
        let prepared = ClusterThread::prepare(database, &self.name, call).map_err(failed)?;
        let follower = Follower::start(database, self.follows(config, &prepared, kept)).map_err(failed)?;
        let seat = prepared.seat().clone();
        let etcd = self.etcd.clone();
        let settings = Settings {
            name: self.name,
            place: self.place,
            etcd: self.etcd,
            reach: Arc::new(self.others),
        };
        let thread = ClusterThread::start(database, settings, prepared, follower.helm()).map_err(failed)?;
        let mut serving = Serving {
            database,
            config,
            seat,
            etcd,
            follower: Some(follower),
            hold: None,
        };
        let result = serving.run(door, signals);
        drop(thread);
        result
    }

    fn follows(&self, config: &ServerConfig, prepared: &Prepared, kept: Option<KeptLog>) -> FollowConfig {
        let others = self.others.clone();
        FollowConfig {
            name: self.name.clone(),
            primary: None,
            connect: Box::new(move |place| others.stream(place)),
            silence: PATIENCE,
            promised: prepared.promised(),
            kept_bytes_max: Some(config.slot_log_bytes_max),
            until_begun: kept.map(|kept| -> Box<dyn Send> { Box::new(kept) }),
        }
    }
}

/// A node whose database is open.
struct Serving<'a> {
    database: &'a Arc<Database>,
    config: &'a ServerConfig,
    seat: Arc<Seat>,
    etcd: Etcd,
    /// `None` when it leads.
    follower: Option<Follower>,
    /// Keeps the log for other nodes from when it follows no more until its slots do.
    hold: Option<LogHold>,
}

impl Serving<'_> {
    fn run(&mut self, mut door: Starting, signals: &mut Signals) -> Result<(), String> {
        loop {
            let (database, config) = (self.database.clone(), self.config.clone());
            let lease = self.seat.lease().clone();
            let server = Server::start_under(database, config, door, lease, Some(self.seat.clone()));
            let mut server = server.map_err(|error| error.to_string())?;
            self.hold = None;
            eprintln!("mote: listening on {}", server.address());
            door = match super::serve::await_order(&server, signals, || self.seat.take_order()) {
                None => {
                    server.stop();
                    return Ok(());
                }
                Some(Order::Lead(record)) => {
                    let door = server.begin_anew().map_err(|error| error.to_string())?;
                    self.lead(&record)?;
                    door
                }
                Some(Order::Anew) => return Err(start_anew()),
                Some(Order::HandOver(hand_over)) => {
                    self.hand_over(&mut server, &hand_over)?;
                    server.begin_anew().map_err(|error| error.to_string())?
                }
            }
        }
    }

    /// What was received is applied to its end, and the record's term begins.
    fn lead(&mut self, record: &Record) -> Result<(), String> {
        let began = Instant::now();
        let failed = |error: &dyn std::fmt::Display| format!("could not become the primary: {error}");
        self.seat.bound_lease(self.database.clock().monotonic_ns());
        let follower = self.follower.take().ok_or("it does not follow")?;
        self.hold = follower.hold();
        let followed = follower.finish().map_err(|error| failed(&error))?;
        let engine = self.database.engine();
        // The slots that the primary before told of are its own now; it needs none for itself.
        Slots::open(engine.disk(), engine.log().system_id(), u64::MAX, 0)
            .and_then(|mut slots| slots.drop_slot(self.seat.name()))
            .map_err(|error| failed(&error))?;
        self.database
            .lead(followed, Some(record.term))
            .map_err(|error| failed(&error))?;
        eprintln!(
            "mote: leads term {} after {:.3} s",
            record.term,
            began.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Does not come back once the other node may lead. `Ok`: it does not have the log's end in time, and this node goes on.
    fn hand_over(&mut self, server: &mut Server, hand_over: &HandOver) -> Result<(), String> {
        eprintln!("mote: ends sessions, so that \"{}\" may lead", hand_over.name);
        let hub = server.hub().ok_or("it does not lead")?;
        // Commits that count are told of meanwhile; from here on there are none.
        server.end_sessions();
        let log = self.database.engine().log();
        let deadline = Instant::now() + HAND_OVER;
        let has_all = |flushed: Lsn| {
            let progress = hub.look(|primary| primary.quorum().progress(hand_over.to));
            progress.is_some_and(|progress| progress.flushed >= flushed)
        };
        while log.tail() > log.flushed() || !has_all(log.flushed()) {
            if Instant::now() >= deadline {
                eprintln!(
                    "mote: \"{}\" does not have the end of the log after {HAND_OVER:?}; goes on to lead",
                    hand_over.name
                );
                return Ok(());
            }
            log.request_flush();
            std::thread::sleep(LOOK);
        }
        self.seat.lease().depose();
        match self.etcd.swap(Some(&hand_over.expected), &hand_over.next) {
            Ok(true) => {
                hub.hand_over();
                eprintln!("mote: \"{}\" may lead; starts anew", hand_over.name);
            }
            Ok(false) => eprintln!("mote: the record has changed meanwhile; starts anew"),
            Err(error) => eprintln!("mote: etcd does not answer: {error}; starts anew"),
        }
        Err(start_anew())
    }
}

/// Replaces the process by a new one with the same arguments; answers why that failed.
fn start_anew() -> String {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    let itself = std::env::current_exe().ok().filter(|path| path.exists());
    let mut command = Command::new(itself.unwrap_or_else(|| called.into()));
    let error = command.args(arguments).exec();
    format!("could not start anew: {error}")
}

/// What the directory is, if it holds a database.
fn part_of(data: &Path) -> Result<Option<node::Part>, String> {
    if !data.join(MANIFEST_PATH).exists() {
        return Ok(None);
    }
    let disk = mote_common::env::real::disk(data);
    let part = node::part(&*disk, follow::system_id(data)?);
    part.map(Some).map_err(|error| error.to_string())
}

/// The number of a directory that holds a database.
fn number_of(data: &Path) -> Result<NodeId, String> {
    let disk = mote_common::env::real::disk(data);
    let number = node::number(
        &*disk,
        follow::system_id(data)?,
        mote_common::env::real::entropy_u64,
    );
    number.map_err(|error| error.to_string())
}

fn place_of(advertised: Option<&str>, config: &ServerConfig) -> Result<Place, String> {
    let Some(text) = advertised else {
        let address = config.listen;
        if address.ip().is_unspecified() || address.port() == 0 {
            return Err(format!(
                "--listen {address} does not say where other nodes reach this one; give --advertise HOST:PORT"
            ));
        }
        return Ok(Place {
            host: address.ip().to_string(),
            port: address.port(),
        });
    };
    let wrong = || format!("--advertise {text}: expected HOST:PORT");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match (host, port.parse()) {
        ("", _) | (_, Err(_) | Ok(0)) => Err(wrong()),
        (host, Ok(port)) => Ok(Place {
            host: host.into(),
            port,
        }),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use crate::command::serve::ServeArguments;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        _serve: ServeArguments,
    }

    /// Trace 11: names of an archive's files do not tell terms apart, so whoever may be succeeded has none.
    #[test]
    fn a_node_of_a_cluster_takes_no_archive() {
        let refused = |more: &[&str]| {
            let line = [
                "serve",
                "--data",
                "d",
                "--cluster",
                "etcd://h:2379/c",
                "--name",
                "a",
            ];
            Line::try_parse_from([&line[..], more].concat())
                .err()
                .map(|error| error.kind())
        };
        assert_eq!(refused(&[]), None);
        assert_eq!(
            refused(&["--archive-dir", "x"]),
            Some(ErrorKind::ArgumentConflict)
        );
    }
}
