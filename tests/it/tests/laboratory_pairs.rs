//! `mote bench replication` and `mote bench failover`: mote's own pair of servers, and one that a cluster file describes.

use std::path::Path;
use std::process::Command;

use mote_it::clients::{Said, run_with_input};
use mote_it::postgres::free_port;
use mote_it::server::{TemporaryDirectory, mote_binary};
use serde_json::Value;

fn bench(arguments: &str, json: &Path, html: &Path) -> (Said, Value, String) {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments.split_whitespace());
    command.arg("--json").arg(json).arg("--html").arg(html);
    let said = run_with_input(&mut command, "", "the mote binary itself");
    let read =
        |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let document = serde_json::from_str(&read(json)).expect("JSON");
    let page = read(html);
    (said, document, page)
}

/// Whether a target is met is the machine's business here; what is proven must hold.
fn all_proven(document: &Value, said: &Said) {
    let proofs = document["proofs"].as_array().expect("proofs");
    assert!(!proofs.is_empty(), "{said:?}");
    assert!(proofs.iter().all(|proof| proof["pass"] == true), "{said:?}");
}

#[test]
fn a_standby_takes_over_and_nothing_acknowledged_is_lost() {
    let directory = TemporaryDirectory::new("pairs-failover");
    let (json, html) = (
        directory.path().join("run.json"),
        directory.path().join("run.html"),
    );
    let run = "failover --systems mote,nosuch --systems-program /bin/false --faults stop,switchover --cycles 1 -w 1 -c 4 \
               --before 1 --after 8 --decide-after 0.4 -q";
    let (said, document, page) = bench(run, &json, &html);
    all_proven(&document, &said);
    let cycles = document["cycles"].as_array().expect("cycles");
    let harms: Vec<&str> = cycles
        .iter()
        .map(|cycle| cycle["harm"].as_str().expect("a name"))
        .collect();
    assert_eq!(harms, ["stop", "switchover"], "{said:?}");
    for cycle in cycles {
        assert_eq!(cycle["missing"], 0, "{cycle}");
        assert!(cycle["acknowledged"].as_u64() > Some(0), "{cycle}");
    }
    // Nobody answers before the decision, and the decision is not what a standby is blamed for.
    let silent = cycles[0]["recovery"]["outage_s"].as_f64();
    assert!(silent.is_none_or(|silent| silent > 0.35), "{said:?}");
    if let (Some(after), Some(first)) = (
        cycles[0]["after_decision_s"].as_f64(),
        cycles[0]["recovery"]["first_answer_s"].as_f64(),
    ) {
        assert!(first - after > 0.35, "{said:?}");
    }
    assert!(said.out.contains("nosuch does not take part"), "{said:?}");
    assert!(
        page.contains("Commits around the faults") && page.contains("does not take part"),
        "the page tells of both"
    );
}

/// Servers of somebody else's, which a test's end stops.
struct Ended(Vec<std::path::PathBuf>);

impl Drop for Ended {
    fn drop(&mut self) {
        for file in &self.0 {
            // There is none of a server that the laboratory has stopped.
            if let Ok(pid) = std::fs::read_to_string(file) {
                let _ = Command::new("kill").args(["-9", pid.trim()]).status();
            }
        }
    }
}

#[test]
fn the_cost_of_a_standby_that_a_cluster_file_describes() {
    let directory = TemporaryDirectory::new("pairs-replication");
    let place = |name: &str| directory.path().join(name);
    let (binary, primary, standby) = (mote_binary(), free_port(), free_port());
    let root = directory.path().display();
    // Each returns once its server answers.
    let start = |name: &str, port: u16, more: &str| {
        format!(
            "{} serve --data {root}/{name} --listen 127.0.0.1:{port} {more} >/dev/null 2>&1 </dev/null & \
             echo $! >{root}/{name}.pid; for try in $(seq 300); do psql -X -h 127.0.0.1 -p {port} -U postgres -c 'select 1' \
             >/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1",
            binary.display()
        )
    };
    let stop = |name: &str| {
        format!(
            "pid=$(cat {root}/{name}.pid) && kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done; \
             rm -rf {root}/{name} {root}/{name}.pid"
        )
    };
    let url = |port: u16| format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let text = format!(
        "# two servers of one machine\nprimary = {}\nstandby = {}\nstart-primary = {}\nstop-primary = {}\n\
         start-standby = {}\nstop-standby = {}\n",
        url(primary),
        url(standby),
        start("a", primary, ""),
        stop("a"),
        start("b", standby, &format!("--follow {}", url(primary))),
        stop("b"),
    );
    std::fs::write(place("pair.cluster"), text).expect("the directory is ours");
    let _ended = Ended(vec![place("a.pid"), place("b.pid")]);
    let run = format!(
        "replication --systems described={} --rounds 1 -w 1 -c 4,2 -d 2 --warmup 0.5 -q",
        place("pair.cluster").display()
    );
    let (said, document, page) = bench(&run, &place("run.json"), &place("run.html"));
    assert!(said.ok, "{said:?}");
    all_proven(&document, &said);
    let costs = document["costs"].as_array().expect("costs");
    assert_eq!(costs.len(), 2, "{said:?}");
    for cost in costs {
        assert!(cost["nopm"]["with"].as_f64() > Some(0.0), "{cost}");
        assert!(cost["cpu_us"]["alone"].as_f64() > Some(0.0), "{cost}");
        // Some looks a second, however busy the machine is.
        assert!(cost["behind"]["looks"].as_u64() > Some(4), "{cost}");
    }
    // One round is no interval: nothing is decided, so nothing fails.
    assert!(said.out.contains("medians of 1 round"), "{said:?}");
    assert!(page.contains("How far the standby is behind"), "{said:?}");
    // What was started is stopped again.
    assert!(!place("a").exists() && !place("b").exists());
}
