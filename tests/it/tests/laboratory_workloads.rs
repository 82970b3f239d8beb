//! The workloads of the contract, as a user runs them: on mote and on PostgreSQL, with their proofs; loads that are
//! interrupted; and the proofs themselves, which must find what is broken on purpose.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use mote_it::TestServer;
use mote_it::clients::{Said, psql, psql_strict, run_with_input};
use mote_it::postgres::PostgresServer;
use mote_it::process::await_that;
use mote_it::server::mote_binary;

/// Each workload with a size that loads in a moment.
const SMALL: [&[&str]; 9] = [
    &["tpcb", "-b", "3", "--accounts-per-branch", "200"],
    &["ycsb", "a", "--records", "300"],
    &["ycsb", "b", "--records", "300"],
    &["ycsb", "c", "--records", "300"],
    &["ycsb", "d", "--records", "300"],
    &["ycsb", "e", "--records", "300"],
    &["ycsb", "f", "--records", "300"],
    &["tatp", "--subscribers", "500"],
    &["smallbank", "--customers", "500", "--hot-customers", "10"],
];

fn bench(arguments: &[&str]) -> Said {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments);
    run_with_input(&mut command, "", "the mote binary itself")
}

/// Long enough for a disk that stands still for a second: a run without any transaction is refused.
fn short(workload: &[&str], url: &str, more: &[&str]) -> Said {
    let mut arguments = workload.to_vec();
    arguments.extend(["-c", "6", "-d", "2", "--warmup", "0.1", "-q", "--target", url]);
    arguments.extend(more);
    bench(&arguments)
}

fn all_pass(url: &str) {
    for workload in SMALL {
        // Each letter of YCSB finds what the one before has left, inserted records included.
        let out = short(workload, url, &[]).good();
        assert!(out.contains("PASS condition  1"), "{workload:?}: {out}");
        assert!(
            out.contains("the database holds exactly what they add"),
            "{workload:?}: {out}"
        );
    }
}

#[test]
fn workloads_run_and_prove_themselves_on_mote() {
    let server = TestServer::start("workloads");
    all_pass(&server.url());
    // At a level that runs transactions again, nothing is counted twice. On fresh rows: READ COMMITTED may overdraw an
    // account, and did so above.
    for workload in [SMALL[0], SMALL[8]] {
        let out = short(
            workload,
            &server.url(),
            &[
                "--isolation",
                "serializable",
                "--retries",
                "200",
                "--load",
                "always",
            ],
        )
        .good();
        assert!(out.contains("the database holds exactly what they add"), "{out}");
    }
}

#[test]
fn workloads_run_and_prove_themselves_on_postgres() {
    let postgres = PostgresServer::start();
    all_pass(&postgres.url());
}

#[test]
fn what_is_broken_is_found() {
    let server = TestServer::start("workloads-broken");
    let broken = [
        (
            0,
            "UPDATE tpcb_teller SET t_balance = t_balance + 1 WHERE t_id = 7",
            &[1, 3][..],
        ),
        (
            1,
            "UPDATE usertable SET field3 = (SELECT max(field4) FROM usertable) WHERE ycsb_key = (SELECT min(ycsb_key) FROM usertable)",
            &[1],
        ),
        (7, "UPDATE tatp_subscriber SET sub_nbr = '7' WHERE s_id = 8", &[1]),
        (8, "DELETE FROM sb_checking WHERE custid = 3", &[1]),
    ];
    for (number, statement, conditions) in broken {
        let workload = SMALL[number];
        short(workload, &server.url(), &["--load", "only"]).good();
        psql_strict(&server, &format!("{statement};")).good();
        // The broken customer cannot pay, so nothing is run: the data alone is judged.
        let said = short(workload, &server.url(), &["--load", "never", "--rate", "0.001"]);
        for condition in 1..=4 {
            let failed = said.out.contains(&format!("FAIL condition  {condition}"));
            assert_eq!(
                failed,
                conditions.contains(&condition),
                "{workload:?}: {}",
                said.out
            );
        }
    }
}

/// A way to the server that can be cut.
struct Wire {
    address: SocketAddr,
    cut: std::sync::Arc<std::sync::Mutex<Vec<TcpStream>>>,
}

impl Wire {
    fn to(server: &TestServer) -> Wire {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let cut = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let (port, streams) = (server.port(), std::sync::Arc::clone(&cut));
        // Lives as long as the test's process, as do its copies.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let there = TcpStream::connect(format!("127.0.0.1:{port}")).expect("the server listens");
                let copy = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
                streams
                    .lock()
                    .expect("no panic while held")
                    .extend([copy(&client), copy(&there)]);
                for (mut from, mut to) in [(copy(&client), copy(&there)), (there, client)] {
                    std::thread::spawn(move || {
                        // A copy that ends has lost one of its sides; the other hears of it.
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Wire { address, cut }
    }

    fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.address)
    }

    /// Cuts all connections; answers how many there were.
    fn cut(&self) -> usize {
        let streams = std::mem::take(&mut *self.cut.lock().expect("no panic while held"));
        for stream in &streams {
            // It may have ended by itself.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        streams.len() / 2
    }
}

const LOADED: [&str; 6] = ["tatp", "--subscribers", "60000", "-c", "2", "--load-connections"];

/// Units that are loaded; none before the loader has made its table.
fn steps(server: &TestServer) -> usize {
    let said = psql(server, "SELECT count(*) FROM bench_load WHERE step LIKE 'unit%';");
    said.out.trim().parse().unwrap_or(0)
}

#[test]
fn a_load_survives_lost_connections_and_its_own_end() {
    let server = TestServer::start("workloads-load");
    let wire = Wire::to(&server);
    let load = |url: &str, more: &[&str]| {
        let mut command = Command::new(mote_binary());
        command
            .arg("bench")
            .args(LOADED)
            .args(["2", "-q", "--target", url])
            .args(more);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("the mote binary starts")
    };
    // The program ends in the middle.
    let mut first = load(&server.url(), &[]);
    await_that("some units are loaded", Duration::from_secs(60), || {
        steps(&server) >= 2
    });
    first.kill().expect("it runs");
    first.wait().expect("it has ended");
    let had = steps(&server);
    // The next one goes on, and loses its connections on the way.
    let second = load(&wire.url(), &["--load", "resume", "-d", "0.3", "--warmup", "0"]);
    await_that("a unit more is loaded", Duration::from_secs(60), || {
        steps(&server) > had
    });
    let cut = wire.cut();
    let output = second.wait_with_output().expect("it ends");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{out}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        out.contains(&format!("resumed: {had} of 12 units were there")),
        "{had}: {out}"
    );
    assert!(cut > 0 && out.contains("the server was lost"), "{cut}: {out}");
    assert_eq!(out.matches("PASS condition").count(), 4, "{out}");
    // All is there once.
    let counts = "SELECT count(*) FROM tatp_subscriber; SELECT step FROM bench_load WHERE step = 'complete';";
    assert_eq!(psql_strict(&server, counts).good().trim(), "60000\ncomplete");
    // Nothing is left to do, and another size is not mixed in.
    let again = bench(&[
        "tatp",
        "--subscribers",
        "60000",
        "--load",
        "resume",
        "-d",
        "0.2",
        "--warmup",
        "0",
        "-q",
        "--target",
        &server.url(),
    ])
    .good();
    assert!(!again.contains("loaded "), "{again}");
    let other = bench(&[
        "tatp",
        "--subscribers",
        "70000",
        "--load",
        "resume",
        "-q",
        "--target",
        &server.url(),
    ]);
    assert!(other.err.contains("60000 subscribers"), "{}", other.err);
}

#[test]
fn two_systems_are_compared_under_a_workload() {
    let server = TestServer::start("workloads-versus");
    let postgres = PostgresServer::start();
    let json = std::env::temp_dir().join(format!("mote-it-{}-workload.json", std::process::id()));
    let systems = [format!("mote={}", server.url()), format!("pg={}", postgres.url())];
    let mut command = Command::new(mote_binary());
    command
        .args([
            "bench",
            "versus",
            "--workload",
            "smallbank",
            "--size",
            "400",
            "--rounds",
            "4",
            "-c",
            "4",
        ])
        .args([
            "-d",
            "0.3",
            "--warmup",
            "0.1",
            "-q",
            "--system",
            &systems[0],
            "--system",
            &systems[1],
            "--json",
        ])
        .arg(&json);
    let said = run_with_input(&mut command, "", "the mote binary itself");
    let text =
        std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}: {} {}", said.out, said.err));
    std::fs::remove_file(&json).expect("it is ours");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["workload"], "SmallBank, 400 customers");
    for system in document["systems"].as_array().expect("systems") {
        assert_eq!(system["rounds"].as_array().map(Vec::len), Some(4), "{system}");
        let conditions = system["consistency"].as_array().expect("conditions");
        assert!(
            !conditions.is_empty() && conditions.iter().all(|one| one["pass"] == true),
            "{system}"
        );
    }
}

/// Round trips of each type of transaction, by its name.
fn round_trips(document: &serde_json::Value) -> Vec<(String, f64)> {
    let kinds = document["summary"]["kinds"].as_array().expect("kinds");
    let each = kinds.iter().map(|kind| {
        let name = kind["name"].as_str().expect("a name").to_string();
        (
            name,
            kind["round_trips_per_transaction"].as_f64().unwrap_or(f64::NAN),
        )
    });
    each.collect()
}

/// Loads once, then runs the same transactions in batches and as functions; the conditions hold after both.
fn order_entry_in_every_execution(url: &str, name: &str) {
    let json = std::env::temp_dir().join(format!("mote-it-{}-{name}.json", std::process::id()));
    let common = [
        "tpcc", "-w", "1", "-c", "4", "-q", "--warmup", "0", "-d", "2", "--target", url,
    ];
    bench(
        &[
            &common[..],
            &["--no-foreign-keys", "--no-check", "--load", "only"],
        ]
        .concat(),
    )
    .good();
    // New orders, payments, order statuses, stock levels, queued deliveries, and deliveries, whose claims may be lost.
    let expected = [
        (
            "pipelined",
            [2.0..=2.0, 2.0..=3.0, 2.0..=3.0, 1.0..=1.0, 0.0..=0.0, 3.0..=30.0],
        ),
        (
            "procedures",
            [1.0..=1.0, 1.0..=1.0, 1.0..=1.0, 1.0..=1.0, 0.0..=0.0, 1.0..=1.0],
        ),
    ];
    for (execution, trips) in expected {
        let mut command = Command::new(mote_binary());
        command
            .arg("bench")
            .args(common)
            .args(["--load", "never", "--mix", "35,35,10,10,10"]);
        command.args(["--execution", execution, "--json"]).arg(&json);
        let said = run_with_input(&mut command, "", "the mote binary itself");
        let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        std::fs::remove_file(&json).expect("it is ours");
        assert!(
            !said.out.contains("FAIL condition") && said.out.contains("PASS condition 12"),
            "{}",
            said.out
        );
        assert_eq!(
            document["summary"]["errors"]
                .as_array()
                .map(|errors| errors.iter().filter(|error| error["failed"] != 0).count()),
            Some(0),
            "{}",
            said.out
        );
        let found = round_trips(&document);
        assert_eq!(found.len(), trips.len(), "{found:?}");
        for ((kind, found), allowed) in found.iter().zip(trips) {
            assert!(
                allowed.contains(found),
                "{execution} {kind} {found}: {}",
                said.out
            );
        }
    }
}

#[test]
fn order_entry_runs_in_batches_and_as_functions_on_mote() {
    let server = TestServer::start("workloads-execution");
    order_entry_in_every_execution(&server.url(), "execution-mote");
}

#[test]
fn order_entry_runs_in_batches_and_as_functions_on_postgres() {
    let postgres = PostgresServer::start();
    order_entry_in_every_execution(&postgres.url(), "execution-postgres");
}
