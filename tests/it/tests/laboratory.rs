//! The laboratory's own proofs, as a user runs them: the tests of TPC-C's clause 3 on mote and on PostgreSQL, a short run
//! with what the specification asks of it, and the instruments against servers that answer constant bytes: an open loop
//! whose server stands still, comparisons of a server with its twin, and the store of runs.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mote_it::clients::{Said, run_with_input};
use mote_it::postgres::PostgresServer;
use mote_it::process::await_standstill;
use mote_it::server::mote_binary;

fn bench(arguments: &[&str]) -> Said {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments);
    run_with_input(&mut command, "", "the mote binary itself")
}

/// The tests by their names, with PASS, FAIL or NOTE.
fn verdicts(out: &str) -> Vec<(&str, &str)> {
    let words = out
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    words
        .filter(|words| words.len() > 2 && words[1].len() == 2 && words[1].starts_with(['A', 'I']))
        .map(|words| (words[1], words[0]))
        .collect()
}

const ALL: [&str; 11] = ["A1", "A2", "I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9"];

#[test]
fn mote_passes_atomicity_and_isolation() {
    for level in ["repeatable-read", "serializable"] {
        let out = bench(&["acid", "-w", "1", "-q", "--isolation", level]).good();
        let passed: Vec<_> = ALL.iter().map(|name| (*name, "PASS")).collect();
        assert_eq!(verdicts(&out), passed, "{out}");
    }
}

#[test]
fn postgres_shows_what_read_committed_allows() {
    let postgres = PostgresServer::start();
    let out = bench(&[
        "acid",
        "-w",
        "1",
        "-q",
        "--isolation",
        "read-committed",
        "--target",
        &postgres.url(),
    ])
    .good();
    for (name, word) in verdicts(&out) {
        let expected = if matches!(name, "I7" | "I8" | "I9") {
            "NOTE"
        } else {
            "PASS"
        };
        assert_eq!(word, expected, "{name}: {out}");
    }
    assert_eq!(verdicts(&out).len(), ALL.len(), "{out}");
}

#[test]
fn a_run_has_the_mix_it_was_asked_for_and_a_delivery_result_file() {
    let results = std::env::temp_dir().join(format!("mote-it-deliveries-{}", std::process::id()));
    let path = results.display().to_string();
    let out = bench(&[
        "tpcc",
        "-w",
        "1",
        "-c",
        "4",
        "-d",
        "3",
        "--warmup",
        "0",
        "-q",
        "--mix",
        "90,0,0,10,0",
        "--delivery-results",
        &path,
    ])
    .good();
    let text = std::fs::read_to_string(&results).expect("the file was written");
    std::fs::remove_file(&results).expect("it is ours");
    // A delivery takes an order of each of ten districts, in which 900 wait and as many are entered: they do not run out,
    // however fast the machine is.
    let delivered: usize = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(4).filter(|order| !order.is_empty()).count())
        .sum();
    assert!(delivered >= 10, "{delivered} orders:\n{out}");
    assert!(out.contains("NOTE payments of all transactions"), "{out}");
}

/// A server that answers constant bytes, as a process that can be stopped.
struct Canned {
    child: Child,
    url: String,
}

impl Canned {
    fn start() -> Canned {
        let mut child = Command::new(mote_binary())
            .args(["bench", "canned", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the mote binary starts");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("it is piped");
        BufReader::new(stderr)
            .read_line(&mut line)
            .expect("it says where it listens");
        let (_, address) = line.trim().split_once("listening on ").expect("an address");
        let url = format!("postgres://{address}/x");
        Canned { child, url }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill")
            .args([name, &pid])
            .status()
            .expect("kill runs");
        assert!(status.success(), "{name}");
    }
}

impl Drop for Canned {
    fn drop(&mut self) {
        // It may be gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("mote-it-{}-{name}", std::process::id()))
}

/// Half a second before it stops and some seconds after are quiet: only the clock from the intended start shows the stop.
#[test]
fn a_server_that_stands_still_shows_in_an_open_loop() {
    let server = Canned::start();
    let json = temporary("open-loop.json");
    let mut run = Command::new(mote_binary())
        .args([
            "bench",
            "point",
            "--no-load",
            "--progress",
            "-c",
            "4",
            "-d",
            "8",
            "--warmup",
            "1",
        ])
        .args(["--rate", "500", "--target", &server.url, "--json"])
        .arg(&json)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the mote binary starts");
    let lines = BufReader::new(run.stderr.take().expect("it is piped")).lines();
    let mut measuring = lines
        .map_while(Result::ok)
        .filter(|line| line.contains("p99") && !line.contains("warm-up"));
    measuring.next().expect("a second of the measured window");
    server.signal("-STOP");
    await_standstill(server.child.id());
    std::thread::sleep(Duration::from_secs(1)); // the fault itself
    server.signal("-CONT");
    let seconds = measuring.count();
    assert!(run.wait().expect("it ends").success());
    let text = std::fs::read_to_string(&json).expect("it was written");
    std::fs::remove_file(&json).expect("it is ours");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let kind = &document["summary"]["kinds"][0];
    let ms = |name: &str| kind[name].as_f64().unwrap_or_else(|| panic!("{name} of {kind}"));
    assert!(ms("p999_ms") >= 900.0, "{seconds} seconds later: {kind}");
    // Four connections were waiting; all others had not begun, and their own time was short.
    assert!(
        ms("service_p50_ms") < 500.0 && ms("service_p99_ms") < ms("p999_ms"),
        "{kind}"
    );
    let share = document["summary"]["open_loop"]["achieved_share"].as_f64();
    assert!(share.is_some_and(|share| share >= 0.99), "{share:?}");
}

#[test]
fn of_a_server_and_its_twin_neither_is_faster_every_time() {
    // How often a comparison errs is tested with rounds that are made up (`measure/statistics`). Rounds of a real machine
    // that runs other tests are disturbed by anything, so a verdict may fall here; one that follows the place in which a
    // system stands on the command line would fall the same way each time.
    let (a, b) = (Canned::start(), Canned::start());
    let systems = [format!("a={}", a.url), format!("b={}", b.url)];
    let html = temporary("versus.html");
    let mut verdicts = Vec::new();
    for (seed, order) in [("1", [0, 1]), ("2", [1, 0]), ("3", [0, 1]), ("4", [1, 0])] {
        let mut command = Command::new(mote_binary());
        command
            .args(["bench", "versus", "--workload", "point", "--no-load", "-q"])
            .args([
                "--rounds", "6", "-c", "2", "-d", "0.3", "--warmup", "0.1", "--seed", seed,
            ])
            .args([
                "--system",
                &systems[order[0]],
                "--system",
                &systems[order[1]],
                "--html",
            ])
            .arg(&html);
        let said = run_with_input(&mut command, "", "the mote binary itself");
        verdicts.push(verdicts_by_metric(&said.out));
    }
    let page = std::fs::read_to_string(&html).expect("it was written");
    std::fs::remove_file(&html).expect("it is ours");
    assert!(page.contains("Throughput, multiples of the base"));
    for (place, (metric, first)) in verdicts[0].iter().enumerate() {
        let same = verdicts
            .iter()
            .all(|one| one[place] == (metric.clone(), first.clone()));
        assert!(
            first == "undecided" || !same,
            "the second system is {first} in {metric}, whichever of the twins it is: {verdicts:?}"
        );
    }
}

/// The figures that `versus` compared, each with its verdict: the second and the last column of the table.
fn verdicts_by_metric(said: &str) -> Vec<(String, String)> {
    let verdict = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let verdict = cells
            .last()
            .filter(|cell| ["faster", "slower", "undecided"].contains(cell))?;
        Some((cells.get(1)?.to_string(), verdict.to_string()))
    };
    let verdicts: Vec<_> = said.lines().filter_map(verdict).collect();
    let metrics: Vec<&str> = verdicts.iter().map(|(metric, _)| metric.as_str()).collect();
    assert_eq!(metrics, ["throughput", "p50", "p90", "p99"], "{said}");
    verdicts
}

#[test]
fn runs_are_kept_listed_and_compared() {
    let server = Canned::start();
    let store = temporary("runs.db");
    let path = store.display().to_string();
    for _ in 0..2 {
        let out = bench(&[
            "point",
            "--no-load",
            "-q",
            "-c",
            "2",
            "-d",
            "1",
            "--warmup",
            "0",
            "--target",
            &server.url,
            "--store",
            &path,
        ])
        .good();
        assert!(out.contains("kept as run"), "{out}");
    }
    let list = bench(&["runs", "--store", &path]).good();
    assert_eq!(
        list.lines().filter(|line| line.contains(" point ")).count(),
        2,
        "{list}"
    );
    let diff = bench(&["diff", "1", "2", "--store", &path]).good();
    assert!(
        diff.contains("throughput") && diff.contains("too little to tell"),
        "{diff}"
    );
    let missing = bench(&["diff", "1", "9", "--store", &path]);
    assert!(missing.err.contains("there is no run 9"), "{}", missing.err);
    std::fs::remove_file(&store).expect("it is ours");
}
