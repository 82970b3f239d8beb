//! `--faults`: what clients see of a server that is killed, started again and stopped, and that nothing acknowledged is gone.

use std::path::{Path, PathBuf};
use std::process::Command;

use mote_it::clients::{Said, run_with_input};
use mote_it::postgres::free_port;
use mote_it::server::{TemporaryDirectory, mote_binary};
use serde_json::Value;

fn bench(arguments: &[&str], json: &Path) -> (Said, Value) {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments).arg("--json").arg(json);
    let said = run_with_input(&mut command, "", "the mote binary itself");
    let text = std::fs::read_to_string(json).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    (said, serde_json::from_str(&text).expect("JSON"))
}

/// Faults with what came of them, in seconds.
fn recoveries(document: &Value) -> Vec<(&str, f64, f64)> {
    let faults = document["recoveries"]["faults"].as_array().expect("faults");
    let each = faults.iter().map(|fault| {
        let seconds = |name: &str| fault[name].as_f64().unwrap_or(f64::NAN);
        let name = fault["fault"].as_str().expect("a name");
        (name, seconds("outage_s"), seconds("first_answer_s"))
    });
    each.collect()
}

const KILL_AND_STOP: &str = "1s kill; 1500ms start; 9s stop 2s";

#[test]
fn outages_are_measured_and_nothing_acknowledged_is_gone() {
    let directory = TemporaryDirectory::new("faults");
    let (json, html) = (
        directory.path().join("run.json"),
        directory.path().join("run.html"),
    );
    let page = html.display().to_string();
    let workload = ["tpcb", "-b", "4", "--accounts-per-branch", "100", "-c", "4", "-q"];
    let times = [
        "-d",
        "16",
        "--warmup",
        "0.5",
        "--faults",
        KILL_AND_STOP,
        "--html",
        &page,
    ];
    let (said, document) = bench(&[&workload[..], &times[..]].concat(), &json);
    let out = said.good();
    let found = recoveries(&document);
    let [("kill", outage, first), ("stop", stopped, _)] = found.as_slice() else {
        panic!("{found:?}")
    };
    // Half a second dead, then it starts, before the next fault; two seconds stopped, of which the system may need some to stop
    // all threads. How long a start takes is the machine's business, and so is how soon clients are served again.
    assert!(
        *outage > 0.45 && *first >= *outage && *first < 7.9,
        "{found:?}\n{out}"
    );
    assert!((1.5..6.9).contains(stopped), "{found:?}\n{out}");
    assert_eq!(document["pass"], true);
    assert!(
        document["acknowledged"]["tally"]["acknowledged"].as_u64() > Some(50),
        "{out}"
    );
    assert!(out.contains("the database holds exactly what they add"), "{out}");
    let page = std::fs::read_to_string(&html).expect("it was written");
    assert!(page.contains("Faults and recovery") && page.contains("Commits around the faults"));
}

#[test]
fn orders_survive_a_killed_server() {
    let directory = TemporaryDirectory::new("faults-orders");
    let arguments = [
        "tpcc",
        "-w",
        "1",
        "-c",
        "4",
        "-q",
        "-d",
        "7",
        "--warmup",
        "0",
        "--faults",
        "1s kill; 1100ms start",
    ];
    let (said, document) = bench(&arguments, &directory.path().join("run.json"));
    let out = said.out;
    let ledger = &document["ledger"];
    assert!(ledger["acknowledged"].as_u64() > Some(0), "{out}");
    assert_eq!(ledger["missing"].as_array().map(Vec::len), Some(0), "{out}");
    assert_eq!(recoveries(&document).len(), 1, "{out}");
    assert!(!out.contains("FAIL condition"), "{out}");
}

/// Ends the server whose process number stands in a file.
struct Ended(PathBuf);

impl Drop for Ended {
    fn drop(&mut self) {
        let pid = std::fs::read_to_string(&self.0).unwrap_or_default();
        // It may never have been started.
        let _ = Command::new("kill").args(["-9", pid.trim()]).status();
    }
}

#[test]
fn a_server_of_somebody_else_s_is_started_by_a_command() {
    let directory = TemporaryDirectory::new("faults-other");
    let port = free_port();
    let (data, pid) = (directory.path().join("data"), directory.path().join("pid"));
    let (binary, data, pid_path) = (
        mote_binary(),
        data.display().to_string(),
        pid.display().to_string(),
    );
    let start = format!(
        "{} serve --data {data} --listen 127.0.0.1:{port} >/dev/null 2>&1 </dev/null & echo $! >{pid_path}; \
         for try in $(seq 300); do psql -X -h 127.0.0.1 -p {port} -U postgres -c 'select 1' >/dev/null 2>&1 && exit 0; \
         sleep 0.1; done; exit 1",
        binary.display()
    );
    let _ended = Ended(pid);
    assert!(
        Command::new("sh")
            .args(["-c", &start])
            .status()
            .expect("sh runs")
            .success()
    );
    let target = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let arguments = [
        "smallbank",
        "--customers",
        "200",
        "-c",
        "4",
        "-q",
        "-d",
        "10",
        "--warmup",
        "0",
        "--target",
        &target,
        "--faults",
        "500ms kill; 600ms start",
        "--restart-with",
        &start,
    ];
    let (said, document) = bench(&arguments, &directory.path().join("run.json"));
    let out = said.good();
    let found = recoveries(&document);
    assert!(found.len() == 1 && found[0].1 > 0.05, "{found:?}\n{out}");
    // Without a command there is no start, which is said before anything is killed.
    let mut refused = Command::new(mote_binary());
    refused.args([
        "bench",
        "tpcb",
        "-q",
        "--target",
        &target,
        "--faults",
        "1s kill; 2s start",
    ]);
    refused.args(["-b", "1", "--accounts-per-branch", "10", "-d", "5"]);
    let said = run_with_input(&mut refused, "", "the mote binary itself");
    assert!(!said.ok && said.err.contains("--restart-with"), "{said:?}");
}
