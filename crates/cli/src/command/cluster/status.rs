//! `mote cluster status`.

use std::process::ExitCode;

use clap::Args;
use mote_driver::Target;
use mote_driver::url::Host;
use mote_replication::coordinator::Coordinator;
use mote_server::etcd::Etcd;

use super::nodes;
use super::report::Report;

/// The cluster stands still.
const STANDS_STILL: u8 = 2;

/// Show who leads a cluster, how far the others are, and what the next failure costs
///
/// Reads the record and the nodes' addresses from etcd, and asks each node. Ends with 0 where clients are
/// answered, with 2 where the cluster stands still, with 1 where that could not be found out.
///
/// Examples:
///   mote cluster status --cluster etcd://127.0.0.1:2379/shop
///   mote cluster status --cluster etcd://e1,e2,e3/shop --login postgres://admin:secret@any/postgres --json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArguments {
    /// The cluster, as etcd://HOST:PORT[,HOST:PORT...]/NAME
    #[arg(long, value_name = "URL")]
    cluster: String,

    /// How to log in at each node; the host that stands there does not matter
    #[arg(long, value_name = "URL", default_value = "postgres://postgres@any/postgres")]
    login: String,

    /// Everything as one JSON object; positions and lags in bytes
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &StatusArguments) -> ExitCode {
    match look(&arguments.cluster, &arguments.login) {
        Ok(report) => {
            match arguments.json {
                true => println!("{}", report.json()),
                false => print!("{report}"),
            }
            match report.serves() {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(STANDS_STILL),
            }
        }
        Err(error) => {
            eprintln!("mote: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What etcd and the nodes tell now.
pub(super) fn look(cluster: &str, login: &str) -> Result<Report, String> {
    let mut etcd = Etcd::new(cluster)?;
    let login = Target::parse(login).map_err(|error| format!("--login: {error}"))?;
    if !matches!(login.host, Host::Name(_)) {
        return Err("--login is for hosts and ports, not for a socket's directory".into());
    }
    let failed = |error| format!("could not ask etcd for the cluster: {error}");
    let record = etcd.read().map_err(failed)?.ok_or_else(|| {
        format!("{cluster} has no record: its first node is started with mote serve --cluster {cluster} --cluster-init")
    })?;
    let roster = etcd.roster().map_err(failed)?;
    let answers = nodes::ask_all(&roster, &login);
    Ok(Report::new(cluster, record, &roster, answers))
}
