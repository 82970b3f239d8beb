//! kill -9 under `mote bench tpcc`, twenty times in a row on one database: after each restart every order that a client
//! was told of is there, no half transaction is, and the twelve consistency conditions hold.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{mote, psql};
use mote_it::server::{TemporaryDirectory, mote_binary};

const KILLS: u64 = 20;
/// How long a driver runs: beyond the last moment at which its server is killed.
const DRIVER_SECONDS: &str = "4";
/// Orders acknowledged before each kill, at least: a kill of an idle server proves nothing.
const ORDERS_MIN: usize = 50;
/// How long a driver may need to notice that the server is gone.
const DRIVER_TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn twenty_kills_lose_no_acknowledged_order() {
    let directory = TemporaryDirectory::new("ledger");
    let data = directory.path().join("data");
    let ledger = directory.path().join("ledger.txt");
    let server = TestServer::open(&data, &[]).expect("it starts");
    load(&server);
    let mut orders = orders_in(&server);
    drop(server.stop());
    for kill in 1..=KILLS {
        let server =
            TestServer::open(&data, &[]).unwrap_or_else(|said| panic!("no start before kill {kill}: {said}"));
        let mut driver = drive(&server, &ledger, kill);
        // Somewhere in the run, each time elsewhere: the moments are spread over flushes and checkpoints.
        std::thread::sleep(Duration::from_millis(600 + 137 * (kill % 7)));
        await_orders(&ledger, &mut driver, kill);
        drop(server.kill());
        await_end(&mut driver, kill);
        orders += acknowledged(&ledger);
        let server = TestServer::open(&data, &[])
            .unwrap_or_else(|said| panic!("no recovery after kill {kill}: {said}"));
        let said = mote(&[
            "bench",
            "verify",
            "--target",
            &server.url(),
            "--ledger",
            &ledger.display().to_string(),
        ]);
        assert!(said.ok, "after kill {kill}:\n{}\n{}", said.out, said.err);
        // A ledger tells of its own run; the count tells that the orders of all earlier runs are still there.
        assert!(
            orders_in(&server) >= orders,
            "after kill {kill}: fewer than {orders} orders"
        );
        // Every second time the server stops cleanly in between, else it is killed again at once.
        if kill % 2 == 0 {
            drop(server.stop());
        } else {
            drop(server.kill());
        }
    }
}

fn orders_in(server: &TestServer) -> usize {
    psql(server, "select count(*) from bmsql_oorder")
        .good()
        .trim()
        .parse()
        .expect("a number")
}

fn load(server: &TestServer) {
    let url = server.url();
    let said = mote(&[
        "bench",
        "tpcc",
        "--target",
        &url,
        "--warehouses",
        "1",
        "--connections",
        "2",
        "--warmup",
        "0",
        "--duration",
        "1",
        "--no-check",
        "--quiet",
    ]);
    assert!(said.ok, "the load failed:\n{}\n{}", said.out, said.err);
}

/// A driver that runs for longer than the server will live. It tries to come back until its time is over.
fn drive(server: &TestServer, ledger: &Path, seed: u64) -> Child {
    let _ = std::fs::remove_file(ledger);
    Command::new(mote_binary())
        .args([
            "bench",
            "tpcc",
            "--target",
            &server.url(),
            "--warehouses",
            "1",
            "--connections",
            "8",
        ])
        .args([
            "--warmup",
            "0",
            "--duration",
            DRIVER_SECONDS,
            "--no-check",
            "--quiet",
        ])
        .args(["--seed", &seed.to_string()])
        .arg("--ledger")
        .arg(ledger)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs")
}

/// Acknowledged orders in the part of the ledger that is on disk; the driver buffers, so there may be more.
fn acknowledged(ledger: &Path) -> usize {
    let text = std::fs::read_to_string(ledger).unwrap_or_default();
    text.lines().filter(|l| l.starts_with("A ")).count()
}

fn await_orders(ledger: &Path, driver: &mut Child, kill: u64) {
    let deadline = Instant::now() + DRIVER_TIMEOUT;
    while acknowledged(ledger) < ORDERS_MIN {
        let ended = driver.try_wait().expect("a child can be waited for");
        assert!(
            ended.is_none(),
            "the driver of kill {kill} ended by itself: {ended:?}"
        );
        assert!(Instant::now() < deadline, "no orders before kill {kill}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn await_end(driver: &mut Child, kill: u64) {
    let deadline = Instant::now() + DRIVER_TIMEOUT;
    while driver.try_wait().expect("a child can be waited for").is_none() {
        if Instant::now() > deadline {
            let _ = driver.kill();
            panic!("the driver of kill {kill} did not notice that the server is gone");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
