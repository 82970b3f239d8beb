//! `mote cluster sync`.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use mote_replication::coordinator::Coordinator;
use mote_replication::record::Record;
use mote_replication::roster::Roster;
use mote_replication::wish::Wish;
use mote_server::etcd::Etcd;

use crate::command::units::parse_duration;

/// Between two looks at the record.
const LOOK: Duration = Duration::from_millis(50);

/// Show or change whom commits wait for
///
/// Commits wait for half of the voters, rounded up, and every node votes that has the log's end. --wait-for has
/// them wait for another number of voters: more survive the loss of more machines, and stop when fewer answer.
/// --voters says which nodes may vote; the others have a copy that nobody waits for, and never lead. It holds
/// for nodes that come later, too, until it is changed; --default takes it back. The leader changes the record
/// when the new voters have everything; the command returns when that is done. Without an option: what is.
///
/// Examples:
///   mote cluster sync --cluster etcd://10.0.0.9:2379/shop
///   mote cluster sync --cluster etcd://10.0.0.9:2379/shop --wait-for 2
///   mote cluster sync --cluster etcd://10.0.0.9:2379/shop --voters a,b,c
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct SyncArguments {
    /// The cluster, as etcd://HOST:PORT[,HOST:PORT...]/NAME
    #[arg(long, value_name = "URL")]
    cluster: String,

    /// Voters that a commit waits for: as many as there are beside the leader at most
    ///
    /// If nodes leave the cluster later, as many as are left.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=64))]
    wait_for: Option<u32>,

    /// Names of the nodes that may vote, with commas between them; the leader's, too
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    voters: Option<Vec<String>>,

    /// All nodes vote, and commits wait for half of the voters, rounded up
    #[arg(long, conflicts_with_all = ["wait_for", "voters"])]
    default: bool,

    /// How long to wait until it is so; what was wished for stands after that, too
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
}

pub fn run(arguments: &SyncArguments) -> ExitCode {
    match sync(arguments) {
        Ok(told) => {
            println!("{told}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("mote: {error}");
            ExitCode::FAILURE
        }
    }
}

fn sync(arguments: &SyncArguments) -> Result<String, String> {
    let mut etcd = Etcd::new(&arguments.cluster)?;
    let failed = |error| format!("could not ask etcd for the cluster: {error}");
    let roster = etcd.roster().map_err(failed)?;
    let mut wish = etcd.wish().map_err(failed)?;
    if arguments.wait_for.is_none() && arguments.voters.is_none() && !arguments.default {
        return Ok(format!("{}{}", told(&read(&mut etcd)?, &roster), wished(&wish)));
    }
    if arguments.default {
        wish = Wish::default();
    }
    if let Some(count) = arguments.wait_for {
        wish.count = Some(count as usize);
    }
    if let Some(names) = &arguments.voters {
        wish.voters = Some(known(names, &roster)?);
    }
    refuse_too_many(&wish, &read(&mut etcd)?, &roster)?;
    etcd.set_wish(&wish).map_err(failed)?;
    let since = Instant::now();
    loop {
        let record = read(&mut etcd)?;
        let roster = etcd.roster().map_err(failed)?;
        if is_met(&wish, &record, &roster) {
            return Ok(told(&record, &roster));
        }
        if since.elapsed() >= arguments.timeout {
            return Err(format!(
                "it is noted, and not so after {:?}: {}; mote cluster status says who is missing",
                arguments.timeout,
                told(&record, &roster)
            ));
        }
        std::thread::sleep(LOOK);
    }
}

fn read(etcd: &mut Etcd) -> Result<Record, String> {
    let record = etcd
        .read()
        .map_err(|error| format!("could not ask etcd for the cluster: {error}"))?;
    record.ok_or_else(|| "the cluster has no record: its first node is started with --cluster-init".into())
}

fn known(names: &[String], roster: &Roster) -> Result<BTreeSet<String>, String> {
    if let Some(unknown) = names.iter().find(|name| !roster.0.contains_key(*name)) {
        return Err(format!("the cluster has no node \"{unknown}\""));
    }
    match names.len() {
        0 | 1 => Err("one node alone has nobody to vote with; name two at least".into()),
        _ => Ok(names.iter().cloned().collect()),
    }
}

/// A wish that the cluster's nodes cannot meet would be met by fewer without a word. Those that are away count: they come back.
fn refuse_too_many(wish: &Wish, record: &Record, roster: &Roster) -> Result<(), String> {
    let others = roster.0.iter().filter(|(_, entry)| entry.id != record.leader);
    let others = others.filter(|(name, _)| wish.may_vote(name)).count();
    match wish.count {
        Some(count) if count > others => Err(format!(
            "commits cannot wait for {count} voters: the cluster has {others} that may vote beside its leader"
        )),
        _ => Ok(()),
    }
}

/// Whoever may vote does, and nobody else but directories that no node has any more.
fn is_met(wish: &Wish, record: &Record, roster: &Roster) -> bool {
    let votes = |id| record.voters.contains(&id);
    let others = roster.0.iter().filter(|(_, entry)| entry.id != record.leader);
    let mut others = others.map(|(name, entry)| (wish.may_vote(name), votes(entry.id)));
    record.count == wish.count_of(record.voters.len()) && others.all(|(may, does)| may == does)
}

fn told(record: &Record, roster: &Roster) -> String {
    let name = |id| roster.entry_of(id).map_or("a lost directory", |(name, _)| name);
    let mut voters: Vec<&str> = record.voters.iter().map(|id| name(*id)).collect();
    voters.sort_unstable();
    let leader = name(record.leader);
    match record.count {
        0 => format!("\"{leader}\" leads, and commits wait for nobody"),
        count => format!(
            "\"{leader}\" leads, and commits wait for any {count} of {}",
            voters.join(", ")
        ),
    }
}

fn wished(wish: &Wish) -> String {
    let mut parts = Vec::new();
    if let Some(count) = wish.count {
        parts.push(format!("to wait for {count}"));
    }
    if let Some(voters) = &wish.voters {
        let names: Vec<&str> = voters.iter().map(String::as_str).collect();
        parts.push(format!("that only {} vote", names.join(", ")));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("; it is wished {}", parts.join(" and ")),
    }
}
