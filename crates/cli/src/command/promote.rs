//! `mote promote`: a follower becomes a primary.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use mote_common::env::real;
use mote_driver::{Admin, DriverError, Target};
use mote_replication::node;

use super::follow::system_id;
use super::units::parse_duration;

/// Between two looks at a server that is starting again.
const LOOK: Duration = Duration::from_millis(50);
/// `cannot_connect_now`.
const STARTING: &str = "57P03";
/// `insufficient_privilege`.
const NOT_ALLOWED: &str = "42501";

/// Make a server that follows another one a primary
///
/// STOP THE OLD PRIMARY FIRST, and make sure that it stays down: nothing else keeps both from taking
/// writes, and what the old one takes from then on is lost. What the old one has acknowledged is here
/// if this server was one of its synchronous ones (synchronous_standby_names), or if it shows
/// everything: compare pg_last_wal_replay_lsn() here with pg_current_wal_flush_lsn() there.
///
/// With --url the follower runs. It ends its sessions, applies what it has received, and takes writes at
/// the same address: nothing is loaded again. The command returns then. Take --follow from its command
/// line before its next start. The role must be a superuser's. SELECT pg_promote() does the same.
///
/// With --data the follower is stopped. Its directory follows nobody any more: start it without --follow.
///
/// The old primary can follow the new one afterwards (mote serve --follow on its own directory), unless
/// it has committed what the new one does not have; then it says so, and needs an empty directory.
///
/// Examples:
///   mote promote --url postgres://admin:secret@b:5432/postgres
///   mote promote --data ./b && mote serve --data ./b
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct PromoteArguments {
    /// The follower that runs, as postgres://user:password@host:port/database
    #[arg(
        long,
        value_name = "URL",
        required_unless_present = "data",
        conflicts_with = "data"
    )]
    url: Option<String>,

    /// Directory of a follower that does not run
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// How long to wait until it takes writes
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    timeout: Duration,
}

pub fn run(arguments: &PromoteArguments) -> ExitCode {
    let result = match (&arguments.url, &arguments.data) {
        (Some(url), _) => promote_running(url, arguments.timeout),
        (None, Some(data)) => promote_stopped(data),
        (None, None) => Err("--url URL or --data DIR is needed".into()),
    };
    match result {
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

fn promote_running(url: &str, timeout: Duration) -> Result<String, String> {
    let mut target = Target::parse(url)?;
    // Whoever stands still meanwhile is not waited for longer, either.
    target.answer_timeout.get_or_insert(timeout);
    let failed = |error: DriverError| {
        let hint = advice(&error);
        format!("{target} could not be promoted: {error}{hint}")
    };
    let mut admin = Admin::connect(&target).map_err(failed)?;
    if !follows(&mut admin).map_err(failed)? {
        return Err(format!(
            "{target} follows nobody: it is a primary already and takes writes; --url is the follower's that shall be one"
        ));
    }
    let deadline = Instant::now() + timeout;
    match admin.value("SELECT pg_promote()") {
        // Its sessions end, this one perhaps before it has the answer.
        Ok(_) => {}
        Err(error) if error.is_fatal() => {}
        Err(error) => return Err(failed(error)),
    }
    drop(admin);
    loop {
        let looked = Admin::connect(&target).and_then(|mut admin| follows(&mut admin));
        match looked {
            Ok(false) => return Ok(format!("{target} is a primary and takes writes")),
            Err(error) if !error.is_fatal() => return Err(failed(error)),
            _ if Instant::now() < deadline => std::thread::sleep(LOOK),
            Ok(true) => {
                return Err(format!(
                    "{target} still follows after {timeout:?}; its log says why"
                ));
            }
            Err(error) => {
                return Err(format!(
                    "{target} does not answer {timeout:?} after it was asked: {error}"
                ));
            }
        }
    }
}

/// What to do where the server is not in a state to be promoted.
fn advice(error: &DriverError) -> String {
    match error {
        DriverError::Io(_) => "; if the server is stopped: mote promote --data DIR".into(),
        DriverError::Server(error) if error.sqlstate == STARTING => "; ask again when it has started".into(),
        DriverError::Server(error) if error.sqlstate == NOT_ALLOWED => {
            "; log in as a superuser, as postgres://postgres@HOST:PORT/postgres".into()
        }
        DriverError::Server(error) => {
            let hint = error.hint.as_deref().unwrap_or_default();
            let hint = hint.trim_end_matches('.');
            match hint.is_empty() {
                true => String::new(),
                false => format!("; {hint}"),
            }
        }
        DriverError::Protocol(_) => String::new(),
    }
}

fn follows(admin: &mut Admin) -> Result<bool, DriverError> {
    Ok(admin.value("SELECT pg_is_in_recovery()")?.as_deref() == Some("t"))
}

fn promote_stopped(data: &Path) -> Result<String, String> {
    let shown = data.display();
    let system = system_id(data)?;
    let disk = real::disk(data);
    let _lock = disk.lock_exclusive("LOCK").map_err(|error| {
        format!("{shown}: a server has it open ({error}); promote that with --url, or stop it first")
    })?;
    let failed = |error| format!("{shown}: {error}");
    match node::part(&*disk, system).map_err(failed)? {
        node::Part::Follows => {}
        node::Part::Alone => {
            return Err(format!(
                "{shown} follows nobody: it is a primary's already; mote serve --data {shown} starts it as one"
            ));
        }
        node::Part::Cluster => {
            return Err(format!(
                "{shown} belongs to a cluster, whose nodes elect their primary: start it with --cluster, and let it lead \
                 with mote switchover"
            ));
        }
    }
    node::set_part(&*disk, system, node::Part::Alone).map_err(failed)?;
    Ok(format!(
        "{shown} follows nobody any more: mote serve --data {shown} starts it as a primary"
    ))
}
