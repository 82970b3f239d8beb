//! `mote switchover`: another node of a cluster leads, on purpose.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use mote_driver::Target;
use mote_driver::url::Host;
use mote_replication::NodeId;
use mote_replication::coordinator::Coordinator;
use mote_replication::roster::{Entry, Roster};
use mote_server::etcd::Etcd;

use super::follow;
use super::units::parse_duration;

/// Between two looks at the new primary.
const LOOK: Duration = Duration::from_millis(5);
/// Between two looks at the record while a switchover is under way.
const LOOK_AT_RECORD: Duration = Duration::from_millis(100);
/// For a leader that hands over to have done so, or to go on to lead: its own bound, and some.
const SWITCHOVER: Duration = Duration::from_secs(4);
/// What a node says that leads no more, or not yet.
const NOT_YET: &str = "does not lead";
/// For each answer, unless the login says otherwise.
const ANSWER: Duration = Duration::from_secs(2);

/// Let another node of a cluster lead
///
/// The primary ends its sessions, waits until the other node has all of its log, and lets it lead; nothing
/// that was acknowledged is lost, and nothing is loaded again. The command returns when the other node
/// takes writes. The role must have REPLICATION.
///
/// Examples:
///   mote switchover --cluster etcd://10.0.0.9:2379/shop --to b
///   mote switchover --cluster etcd://10.0.0.9:2379/shop --to b --login postgres://admin:secret@any/postgres
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct SwitchoverArguments {
    /// The cluster, as etcd://HOST:PORT[,HOST:PORT...]/NAME
    #[arg(long, value_name = "URL")]
    cluster: String,

    /// Name of the node that shall lead
    #[arg(long, value_name = "NAME")]
    to: String,

    /// How to log in at each node, with sslmode and sslrootcert where they encrypt; the host that stands there does not matter
    #[arg(long, value_name = "URL", default_value = "postgres://postgres@any/postgres")]
    login: String,

    /// How long to wait until it takes writes
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    timeout: Duration,
}

pub fn run(arguments: &SwitchoverArguments) -> ExitCode {
    match switch(arguments) {
        Ok(done) => {
            println!("{done}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("mote: {error}");
            ExitCode::FAILURE
        }
    }
}

fn switch(arguments: &SwitchoverArguments) -> Result<String, String> {
    let mut etcd = Etcd::new(&arguments.cluster)?;
    let login = Target::parse(&arguments.login).map_err(|error| format!("--login: {error}"))?;
    if !matches!(login.host, Host::Name(_)) {
        return Err("--login is for hosts and ports, not for a socket's directory".into());
    }
    let failed = |error| format!("could not ask etcd for the cluster: {error}");
    let record = etcd.read().map_err(failed)?;
    let record = record.ok_or_else(|| format!("{} has no record", arguments.cluster))?;
    let roster = etcd.roster().map_err(failed)?;
    let next = roster.0.get(&arguments.to);
    let next = next.ok_or_else(|| format!("the cluster has no node \"{}\"", arguments.to))?;
    if next.id == record.leader {
        return Err(format!("\"{}\" leads already", arguments.to));
    }
    let (_, leader) = roster
        .entry_of(record.leader)
        .ok_or("nobody knows where the cluster's leader is")?;
    let began = Instant::now();
    let (from, to) = (record.leader, next.id);
    if let Err(error) = ask(&at(&login, leader), &arguments.to) {
        if !may_be_under_way(&error) {
            return Err(error);
        }
        // Of this switchover or of another one: the record tells.
        let leader = match error.contains(NOT_YET) {
            true => read(&mut etcd)?,
            false => leader_after(&mut etcd, from)?,
        };
        if leader == from {
            let name = roster.entry_of(from).map_or("another node", |(name, _)| name);
            return Err(still_recorded(name, error));
        }
    }
    let next = at(&login, next);
    let mut looked_at_record = Instant::now();
    while !takes_writes(&next) {
        if looked_at_record.elapsed() >= LOOK_AT_RECORD {
            refuse_another(&mut etcd, &roster, from, to)?;
            looked_at_record = Instant::now();
        }
        if began.elapsed() >= arguments.timeout {
            return Err(format!(
                "\"{}\" does not lead after {:?}; the nodes' logs say why",
                arguments.to, arguments.timeout
            ));
        }
        std::thread::sleep(LOOK);
    }
    Ok(format!(
        "\"{}\" leads after {:.2} s",
        arguments.to,
        began.elapsed().as_secs_f64()
    ))
}

/// Asks the leader. `Ok`: it has begun.
fn ask(leader: &Target, to: &str) -> Result<(), String> {
    let mut session = follow::open(leader, "mote switchover")?;
    follow::query(&mut session, &format!("SWITCHOVER {to}")).map(drop)
}

/// A leader that hands over ends its sessions, perhaps before they have their answers, lets nobody in, and starts anew.
fn may_be_under_way(error: &str) -> bool {
    ["57P01", "57P03", "connection: ", NOT_YET]
        .iter()
        .any(|words| error.contains(words))
}

/// Why the node that the record names did nothing.
fn still_recorded(name: &str, error: String) -> String {
    if error.contains(NOT_YET) || error.contains("57P03") {
        return format!(
            "\"{name}\" is recorded as leader and does not lead yet: another switchover or an election is under way; ask again \
             when it is over"
        );
    }
    match error.contains("57P01") {
        true => format!(
            "\"{name}\" leads on: a switchover was under way and was given up, as its log says; ask again"
        ),
        false => error,
    }
}

/// Who leads by the record, once that is another one than `from`, or after a switchover's time.
fn leader_after(etcd: &mut Etcd, from: NodeId) -> Result<NodeId, String> {
    let began = Instant::now();
    loop {
        let leader = read(etcd)?;
        if leader != from || began.elapsed() >= SWITCHOVER {
            return Ok(leader);
        }
        std::thread::sleep(LOOK_AT_RECORD);
    }
}

/// Neither the leader of before nor the one that was asked for leads: that one will not by this switchover.
fn refuse_another(etcd: &mut Etcd, roster: &Roster, from: NodeId, to: NodeId) -> Result<(), String> {
    // The store may be away for a moment; the deadline ends the wait.
    let Ok(leader) = read(etcd) else {
        return Ok(());
    };
    if leader == from || leader == to {
        return Ok(());
    }
    let name = roster.entry_of(leader).map_or("another node", |(name, _)| name);
    Err(format!(
        "another switchover or an election was under way, and \"{name}\" leads now; ask again if another one shall"
    ))
}

fn read(etcd: &mut Etcd) -> Result<NodeId, String> {
    let record = etcd
        .read()
        .map_err(|error| format!("could not ask etcd for the cluster: {error}"))?;
    record
        .map(|record| record.leader)
        .ok_or_else(|| "the cluster has no record any more".into())
}

/// As the login says, encryption, too.
fn at(login: &Target, entry: &Entry) -> Target {
    let mut target = login.at(&entry.host, entry.port);
    target.answer_timeout.get_or_insert(ANSWER);
    target
}

/// It leads, and its clients are answered: so it has its lease.
fn takes_writes(target: &Target) -> bool {
    let leads = follow::open_plain(target, "mote switchover")
        .and_then(|mut session| follow::query(&mut session, "SELECT pg_is_in_recovery()"));
    leads.is_ok_and(|rows| rows == [["f"]])
}
