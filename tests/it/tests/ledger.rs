//! Faults under `mote bench tpcc`, one after the other on one database: kill -9, SIGSTOP, a full disk, an orderly
//! restart. After each of them every order that a client was told of is there, no half transaction is, and the twelve
//! consistency conditions hold.
//!
//! A seed decides the order of the faults (each comes once in four), their moments, and whether a frozen server or one
//! with a full disk goes on or is killed. `make ledger CYCLES=200 SEED=7` runs more of them than `make test` does.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::clients::{psql, psql_strict};
use mote_it::ledger::{
    DRIVER_TIMEOUT, acknowledged, await_end, await_orders, drive, from_environment, load, milliseconds,
    orders_in, prove,
};
use mote_it::server::TemporaryDirectory;
use mote_it::small_disk::SmallDisk;
use rustix::process::Signal;

const CYCLES_DEFAULT: u64 = 8;
const SEED_DEFAULT: u64 = 1;
/// After so many cycles a new database begins: else checking the orders of all earlier cycles takes most of the time.
const CYCLES_PER_DATABASE: u64 = 40;
/// How long a driver runs, unless waiting for its server took longer: beyond the fault.
const DRIVER_SECONDS: u64 = 4;
const DISK_MB: u32 = 4096;
/// Small files of log, so that the disk is full soon after it has no space; and checkpoints in every cycle.
const OPTIONS: [&str; 4] = ["--log-segment-size", "4MB", "--checkpoint-log-size", "16MB"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Kill,
    Freeze,
    FullDisk,
    Restart,
}

/// What was done in a cycle, to be told.
struct Done {
    fault: Fault,
    killed: bool,
    after: Duration,
    lasted: Duration,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.fault {
            Fault::Kill => "kill -9",
            Fault::Freeze => "SIGSTOP",
            Fault::FullDisk => "full disk",
            Fault::Restart => "restart",
        };
        let end = if self.killed && self.fault != Fault::Kill {
            ", then kill -9"
        } else {
            ""
        };
        let (after, lasted) = (self.after.as_millis(), self.lasted.as_millis());
        write!(f, "{name}{end} after {after} ms, {lasted} ms")
    }
}

#[test]
fn no_fault_loses_an_acknowledged_order() {
    let cycles = from_environment("MOTE_LEDGER_CYCLES", CYCLES_DEFAULT);
    let seed = from_environment("MOTE_LEDGER_SEED", SEED_DEFAULT);
    eprintln!("ledger: {cycles} cycles, seed {seed}");
    let mut random = Prng::new(seed);
    let (mut faults, mut orders, mut kills) = (Vec::new(), 0, 0);
    let mut database = None;
    for cycle in 1..=cycles {
        if (cycle - 1) % CYCLES_PER_DATABASE == 0 {
            // The old one goes before the new one is made.
            drop(database.take());
        }
        let database = database.get_or_insert_with(Database::new);
        if faults.is_empty() {
            faults = vec![Fault::Kill, Fault::Freeze, Fault::Restart];
            faults.extend(database.disk.is_some().then_some(Fault::FullDisk));
            random.shuffle(&mut faults);
        }
        let fault = faults.pop().expect("filled above");
        let before = database.orders;
        let done = database.cycle(cycle, fault, &mut random);
        orders += database.orders - before;
        kills += u64::from(done.killed);
        eprintln!(
            "cycle {cycle}: {done}; {} orders acknowledged",
            database.orders - before
        );
    }
    eprintln!("ledger: {cycles} cycles, {kills} kills, {orders} orders acknowledged, none lost");
}

/// One database, and what its clients have been told.
struct Database {
    server: Option<TestServer>,
    /// Where the driver finds every server of this database.
    address: SocketAddr,
    data: PathBuf,
    ledger: PathBuf,
    /// At least so many orders are there.
    orders: usize,
    /// None where nothing can be mounted: then no disk is full.
    disk: Option<SmallDisk>,
    _directory: TemporaryDirectory,
}

impl Database {
    fn new() -> Database {
        let directory = TemporaryDirectory::new("ledger");
        let disk = SmallDisk::mount(DISK_MB);
        let data = disk
            .as_ref()
            .map_or_else(|| directory.path().join("data"), SmallDisk::data);
        let server = TestServer::open(&data, &OPTIONS).expect("it starts");
        load(&server.url());
        psql(&server, "create table ballast (v text)").good();
        Database {
            address: server.address,
            orders: orders_in(&server),
            data,
            ledger: directory.path().join("ledger.txt"),
            server: Some(server),
            disk,
            _directory: directory,
        }
    }

    fn server(&mut self) -> &mut TestServer {
        self.server
            .as_mut()
            .expect("it runs between the steps of a cycle")
    }

    /// Load, a fault in it, and the proof.
    fn cycle(&mut self, cycle: u64, fault: Fault, random: &mut Prng) -> Done {
        let ledger = self.ledger.clone();
        let mut driver = drive(&self.server().url(), &ledger, DRIVER_SECONDS, cycle);
        await_orders(&ledger, &mut driver, cycle);
        let after = milliseconds(random, 0, 1500);
        std::thread::sleep(after);
        let began = Instant::now();
        let killed = match fault {
            Fault::Kill => {
                self.kill();
                true
            }
            Fault::Freeze => self.freeze(random),
            Fault::FullDisk => self.fill_disk(random),
            Fault::Restart => {
                self.server.take().expect("it runs").stop();
                false
            }
        };
        let lasted = began.elapsed();
        if self.server.is_none() {
            self.open(cycle);
        }
        await_end(&mut driver, cycle);
        self.orders += acknowledged(&ledger);
        self.prove(cycle);
        Done {
            fault,
            killed,
            after,
            lasted,
        }
    }

    fn kill(&mut self) {
        self.server.take().expect("it runs").kill();
    }

    /// At the same address, where the driver looks for it.
    fn open(&mut self, cycle: u64) {
        let address = self.address.to_string();
        let options = [&OPTIONS[..], &["--listen", &address]].concat();
        let opened = TestServer::open(&self.data, &options);
        self.server = Some(opened.unwrap_or_else(|said| panic!("cycle {cycle}: no recovery: {said}")));
    }

    /// Stops the processes' clock for a while; answers whether it was killed instead of going on.
    fn freeze(&mut self, random: &mut Prng) -> bool {
        self.server().signal(Signal::STOP);
        std::thread::sleep(milliseconds(random, 50, 1500));
        let kill = random.below(2) == 0;
        if kill {
            self.kill();
        } else {
            self.server().signal(Signal::CONT);
        }
        kill
    }

    /// Leaves no space until writers are told so, and then for a while longer; answers whether the server was killed
    /// before there was space again.
    fn fill_disk(&mut self, random: &mut Prng) -> bool {
        let disk = self
            .disk
            .take()
            .expect("this fault is drawn only where there is such a disk");
        disk.fill();
        let full = Instant::now();
        let insert = "insert into ballast select repeat(md5(g::text), 1000) from generate_series(1, 30) g";
        let refused = loop {
            let said = psql_strict(self.server(), insert);
            if !said.ok {
                break said.err;
            }
            assert!(
                full.elapsed() < DRIVER_TIMEOUT,
                "the disk is full, and nobody is told"
            );
        };
        assert!(refused.contains("No space left on device"), "{refused}");
        // Who reads goes on.
        assert!(orders_in(self.server()) >= self.orders);
        std::thread::sleep(milliseconds(random, 0, 700));
        let kill = random.below(2) == 0;
        if kill {
            self.kill();
        }
        disk.resize(DISK_MB);
        self.disk = Some(disk);
        if !kill {
            let space = Instant::now();
            while !psql_strict(self.server(), "truncate ballast").ok {
                assert!(
                    space.elapsed() < DRIVER_TIMEOUT,
                    "there is space, and writing does not go on"
                );
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        kill
    }

    fn prove(&mut self, cycle: u64) {
        let (orders, ledger) = (self.orders, self.ledger.clone());
        let server = self.server();
        prove(server, &ledger, orders, cycle);
        server.assert_unharmed();
    }
}
