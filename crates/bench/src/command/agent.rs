//! `mote bench agent`: a host that drives a share of another host's terminals.

use std::net::TcpListener;

use super::args::AgentArgs;
use mote_measure::agents::{Leader, Task};
use mote_workload::tpcc::remote;

pub fn run(args: &AgentArgs) -> Result<bool, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", args.listen);
    let listener = TcpListener::bind(args.listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    eprintln!("mote bench agent: listening on {address}");
    loop {
        // One run after the other: two would take the processors from each other.
        let (stream, from) = listener.accept().map_err(failed)?;
        match Leader::hear(stream).and_then(|(leader, task)| serve(&leader, task)) {
            Ok(counted) => eprintln!("mote bench agent: {counted} transactions for {from}"),
            Err(error) => eprintln!("mote bench agent: {from}: {error}"),
        }
        if args.once {
            return Ok(true);
        }
    }
}

fn serve(leader: &Leader, task: Task) -> Result<u64, String> {
    let Task {
        share,
        workload,
        work,
    } = task;
    let served = match workload.as_str() {
        remote::WORKLOAD => remote::serve(leader, share, work),
        _ => Err(format!("this agent knows no workload \"{workload}\"")),
    };
    if let Err(why) = &served {
        leader.fail(why);
    }
    served
}
