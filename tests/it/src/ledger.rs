//! Order entry by `mote bench tpcc` as a child, with a ledger of what its clients were told, for tests that hurt the server
//! meanwhile.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mote_common::prng::Prng;

use crate::TestServer;
use crate::clients::{mote, psql};
use crate::server::mote_binary;

/// Orders acknowledged before each fault, at least: one that hits an idle server proves nothing.
const ORDERS_MIN: usize = 50;
/// How long a driver may need to begin, and to notice that the server is gone.
pub const DRIVER_TIMEOUT: Duration = Duration::from_secs(60);

/// A number in the environment, for runs that are longer than those of `make test`.
pub fn from_environment(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty());
    text.map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number"))
    })
}

pub fn milliseconds(random: &mut Prng, from: u64, to: u64) -> Duration {
    Duration::from_millis(from + random.below(to - from))
}

pub fn orders_in(server: &TestServer) -> usize {
    psql(server, "select count(*) from bmsql_oorder")
        .good()
        .trim()
        .parse()
        .expect("a number")
}

/// One warehouse.
pub fn load(url: &str) {
    let arguments = "--warehouses 1 --connections 2 --warmup 0 --duration 1 --no-check --quiet";
    let mut line = vec!["bench", "tpcc", "--target", url];
    line.extend(arguments.split(' '));
    let said = mote(&line);
    assert!(said.ok, "the load failed:\n{}\n{}", said.out, said.err);
}

/// A driver that lives longer than the fault. It tries to come back until its time is over.
pub fn drive(url: &str, ledger: &Path, seconds: u64, seed: u64) -> Child {
    let _ = std::fs::remove_file(ledger);
    Command::new(mote_binary())
        .args(["bench", "tpcc", "--target", url])
        .args("--warehouses 1 --connections 8 --warmup 0 --no-check --quiet".split(' '))
        .args(["--duration", &seconds.to_string(), "--seed", &seed.to_string()])
        .arg("--ledger")
        .arg(ledger)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs")
}

/// Acknowledged orders in the part of the ledger that is on disk; the driver buffers, so there may be more.
pub fn acknowledged(ledger: &Path) -> usize {
    let text = std::fs::read_to_string(ledger).unwrap_or_default();
    text.lines().filter(|l| l.starts_with("A ")).count()
}

pub fn await_orders(ledger: &Path, driver: &mut Child, cycle: u64) {
    let deadline = Instant::now() + DRIVER_TIMEOUT;
    while acknowledged(ledger) < ORDERS_MIN {
        let ended = driver.try_wait().expect("a child can be waited for");
        assert!(
            ended.is_none(),
            "the driver of cycle {cycle} ended by itself: {ended:?}"
        );
        assert!(Instant::now() < deadline, "no orders in cycle {cycle}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn await_end(driver: &mut Child, cycle: u64) {
    let deadline = Instant::now() + DRIVER_TIMEOUT;
    while driver.try_wait().expect("a child can be waited for").is_none() {
        if Instant::now() > deadline {
            let _ = driver.kill();
            panic!("the driver of cycle {cycle} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every order that a client was told of is there, no half one is, none twice, and the twelve conditions hold; `orders`: so
/// many were told of in all cycles.
pub fn prove(server: &TestServer, ledger: &Path, orders: usize, cycle: u64) {
    let ledger = ledger.display().to_string();
    let said = mote(&["bench", "verify", "--target", &server.url(), "--ledger", &ledger]);
    assert!(said.ok, "cycle {cycle}:\n{}\n{}", said.out, said.err);
    // A ledger tells of its own run; the count tells that the orders of all earlier runs are still there.
    assert!(
        orders_in(server) >= orders,
        "cycle {cycle}: fewer than {orders} orders"
    );
}
