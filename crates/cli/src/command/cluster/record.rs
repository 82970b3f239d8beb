//! `mote cluster record`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mote_replication::coordinator::Coordinator;
use mote_replication::record::Record;
use mote_replication::vote;
use mote_server::etcd::Etcd;

use crate::command::follow;

/// Show the record that a stopped node has read last, and write it to an etcd that has lost it
///
/// The record says who leads, who votes and for how many commits wait. While the primary lives it writes it again by
/// itself. If etcd has lost it, or has come back from a backup, and the primary is gone as well, nobody is elected. Then
/// ask all directories of the cluster with this command, and write the record with most changes. It is not written
/// over one that has as many changes.
///
/// Examples:
///   mote cluster record --data ./b
///   mote cluster record --data ./b --write --cluster etcd://10.0.0.9:2379/shop
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct RecordArguments {
    /// Directory of a node that does not run
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// Write it, if etcd has none or one with fewer changes
    #[arg(long, requires = "cluster")]
    write: bool,

    /// The cluster, as etcd://HOST:PORT[,HOST:PORT...]/NAME
    #[arg(long, value_name = "URL")]
    cluster: Option<String>,
}

pub fn run(arguments: &RecordArguments) -> ExitCode {
    match record(arguments) {
        Ok(told) => {
            print!("{told}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("mote: {error}");
            ExitCode::FAILURE
        }
    }
}

fn record(arguments: &RecordArguments) -> Result<String, String> {
    let disk = mote_common::env::real::disk(&arguments.data);
    let system_id = follow::system_id(&arguments.data)?;
    let seen = vote::seen(&*disk, system_id).map_err(|error| error.to_string())?;
    let seen = seen.ok_or_else(|| format!("{} has read no record", arguments.data.display()))?;
    match &arguments.cluster {
        Some(cluster) if arguments.write => write(cluster, &seen),
        _ => Ok(seen.encode()),
    }
}

fn write(cluster: &str, seen: &Record) -> Result<String, String> {
    let mut etcd = Etcd::new(cluster)?;
    let failed = |error| format!("could not ask etcd for the cluster: {error}");
    let found = etcd.read().map_err(failed)?;
    if let Some(found) = &found {
        if found.system_id != seen.system_id {
            return Err(format!(
                "{cluster} is of system {:016x}, the directory of {:016x}",
                found.system_id, seen.system_id
            ));
        }
        if found.changes >= seen.changes {
            return Err(format!(
                "etcd has a record with {} changes, the directory's has {}: it is left as it is",
                found.changes, seen.changes
            ));
        }
    }
    match etcd.swap(found.as_ref(), seen).map_err(failed)? {
        true => Ok(format!("written:\n{}", seen.encode())),
        false => Err("the record has changed meanwhile; look again".into()),
    }
}
