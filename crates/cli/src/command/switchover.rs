//! `mote switchover`: another node of a cluster leads, on purpose.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use mote_driver::Target;
use mote_driver::url::Host;
use mote_replication::coordinator::Coordinator;
use mote_replication::roster::Entry;
use mote_server::etcd::Etcd;

use super::follow;
use super::units::parse_duration;

/// Between two looks at the record, and at the new primary.
const LOOK: Duration = Duration::from_millis(5);
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
    let mut session = follow::open(&at(&login, leader), "mote switchover")?;
    match follow::query(&mut session, &format!("SWITCHOVER {}", arguments.to)) {
        // The primary ends its sessions, this one perhaps before it has the answer.
        Err(error) if error.contains("57P01") => {}
        asked => drop(asked?),
    }
    let next = at(&login, next);
    while !takes_writes(&next) {
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
