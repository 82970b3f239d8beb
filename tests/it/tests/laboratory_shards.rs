//! `mote bench shards`: order entry over two servers stays whole, whoever is killed between PREPARE and COMMIT PREPARED, and
//! what is not whole is found.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{Said, psql, run_with_input};
use mote_it::server::{TemporaryDirectory, mote_binary};

fn bench(arguments: &[&str]) -> Command {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments);
    command
}

fn said(mut command: Command) -> Said {
    run_with_input(&mut command, "", "the mote binary itself")
}

/// What happens instead of passing bytes on.
type Deed = Box<dyn FnOnce() + Send>;

/// When words go by, a deed is done, once.
struct Trap {
    words: &'static str,
    /// Whether the server hears the words before the deed.
    heard: bool,
    deed: Deed,
}

/// Stands between clients and a server that is killed and started again, perhaps at another address.
struct Proxy {
    address: SocketAddr,
    behind: Arc<Mutex<Option<TestServer>>>,
    trap: Arc<Mutex<Option<Trap>>>,
    /// Whether the deed of the last trap that was set has been done.
    done: Arc<AtomicBool>,
}

impl Proxy {
    fn before(server: TestServer) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let proxy = Proxy {
            address: listener.local_addr().expect("it is bound"),
            behind: Arc::new(Mutex::new(Some(server))),
            trap: Arc::default(),
            done: Arc::default(),
        };
        let (behind, trap) = (Arc::clone(&proxy.behind), Arc::clone(&proxy.trap));
        let done = Arc::clone(&proxy.done);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let address = behind
                    .lock()
                    .expect("no panic while held")
                    .as_ref()
                    .map(|one| one.address);
                // While the server is away the client is, too.
                if let Some(server) = address.and_then(|address| TcpStream::connect(address).ok()) {
                    connect(client, server, &trap, &done);
                }
            }
        });
        proxy
    }

    fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.address)
    }

    fn set(&self, words: &'static str, heard: bool, deed: Deed) {
        let trap = Trap { words, heard, deed };
        self.done.store(false, Ordering::SeqCst);
        *self.trap.lock().expect("no panic while held") = Some(trap);
    }

    /// Whether the words of the last trap were said; its deed may be under way.
    fn is_sprung(&self) -> bool {
        self.trap.lock().expect("no panic while held").is_none()
    }

    /// Waits until the words were said and the deed is done, not only begun.
    #[track_caller]
    fn wait_until_done(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.done.load(Ordering::SeqCst) {
            assert!(Instant::now() < end, "nobody said the words of the trap");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// kill -9, and a new start on the same data.
    fn kill_and_start(&self) -> Deed {
        let behind = Arc::clone(&self.behind);
        Box::new(move || {
            let mut behind = behind.lock().expect("no panic while held");
            let (data, directory) = behind.take().expect("it runs").kill();
            let directory = directory.expect("it was started with one");
            *behind = Some(
                TestServer::open(&data, &[])
                    .expect("it recovers")
                    .keeping(directory),
            );
        })
    }

    fn run(&self, sql: &str) -> String {
        let behind = self.behind.lock().expect("no panic while held");
        psql(behind.as_ref().expect("it runs"), sql).good()
    }
}

impl Drop for Proxy {
    /// Ends the server: the thread that accepts holds on to it, and ends with the process only.
    fn drop(&mut self) {
        if let Ok(mut behind) = self.behind.lock() {
            drop(behind.take());
        }
    }
}

fn connect(client: TcpStream, server: TcpStream, trap: &Arc<Mutex<Option<Trap>>>, done: &Arc<AtomicBool>) {
    let (mut from_client, mut to_client) = (client.try_clone().expect("a socket"), client);
    let (mut from_server, mut to_server) = (server.try_clone().expect("a socket"), server);
    let (trap, done) = (Arc::clone(trap), Arc::clone(done));
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from_client.read(&mut buffer) {
            let words = &buffer[..count];
            let sprung = trap.lock().expect("no panic while held").take_if(|trap| {
                let wanted = trap.words.as_bytes();
                words.windows(wanted.len()).any(|part| part == wanted)
            });
            if sprung.as_ref().is_none_or(|trap| trap.heard) && to_server.write_all(words).is_err() {
                break;
            }
            if let Some(trap) = sprung {
                (trap.deed)();
                done.store(true, Ordering::SeqCst);
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Both);
        let _ = from_client.shutdown(Shutdown::Both);
    });
}

/// Two servers with a database of two warehouses.
struct Shards {
    home: Proxy,
    other: Proxy,
    ledger: String,
    _directory: TemporaryDirectory,
}

impl Shards {
    fn loaded() -> Shards {
        let directory = TemporaryDirectory::new("shards");
        let shards = Shards {
            home: Proxy::before(TestServer::start_with("shard-1", &[])),
            other: Proxy::before(TestServer::start_with("shard-2", &[])),
            ledger: directory.path().join("ledger").display().to_string(),
            _directory: directory,
        };
        let out = said(shards.run_command("1", "always")).good();
        all_hold(&out);
        shards
    }

    fn with_targets(&self, command: &mut Command) {
        for proxy in [&self.home, &self.other] {
            command.args(["--target", &proxy.url()]);
        }
    }

    fn run_command(&self, seconds: &str, load: &str) -> Command {
        let mut command = bench(&[
            "shards", "-w", "2", "-c", "4", "--warmup", "0", "-q", "-d", seconds,
        ]);
        command.args(["--load", load, "--ledger", &self.ledger]);
        self.with_targets(&mut command);
        command
    }

    fn verify(&self, more: &[&str]) -> Said {
        let mut command = bench(&["verify"]);
        command.args(more);
        self.with_targets(&mut command);
        said(command)
    }
}

#[track_caller]
fn all_hold(out: &str) {
    let conditions = out.lines().filter(|line| line.starts_with("PASS condition"));
    assert_eq!(conditions.count(), 14, "{out}");
}

/// Conditions that do not hold, by their numbers.
fn broken(out: &str) -> Vec<u32> {
    let lines = out.lines().filter_map(|line| line.strip_prefix("FAIL condition"));
    let number = |line: &str| line.split_whitespace().next()?.parse().ok();
    lines.filter_map(number).collect()
}

#[test]
fn nothing_is_left_half_and_corruption_is_found() {
    let shards = Shards::loaded();
    killed_servers_leave_nothing_half(&shards);
    what_a_killed_driver_left_is_ended(&shards);
    corruption_is_found(&shards);
}

fn killed_servers_leave_nothing_half(shards: &Shards) {
    // The other server dies between its PREPARE and COMMIT PREPARED, and again with a PREPARE that it may have done; the home
    // dies with a verdict that it may have written.
    for (proxy, words, heard) in [
        (&shards.other, "COMMIT PREPARED", false),
        (&shards.other, "PREPARE TRANSACTION", true),
        (&shards.home, "'commit'); COMMIT", true),
    ] {
        proxy.set(words, heard, proxy.kill_and_start());
        // On a busy machine a short run may not come to the words.
        let out = ["3", "12", "48"].iter().find_map(|seconds| {
            let out = said(shards.run_command(seconds, "never"));
            proxy.is_sprung().then_some(out)
        });
        let out = out.expect("somebody says the words of the trap");
        proxy.wait_until_done();
        // Connections were lost; the exit code tells of proofs alone.
        all_hold(&out.good());
        let out = shards.verify(&["--ledger", &shards.ledger]).good();
        assert!(out.contains("left behind: 0 committed, 0 rolled back"), "{out}");
        all_hold(&out);
    }
}

fn what_a_killed_driver_left_is_ended(shards: &Shards) {
    // The driver dies when one of its transactions has committed at home and is prepared on the other server.
    let driver: Arc<Mutex<Option<Child>>> = Arc::default();
    let victim = Arc::clone(&driver);
    shards.other.set(
        "COMMIT PREPARED",
        false,
        Box::new(move || {
            let mut driver = victim.lock().expect("no panic while held");
            let driver = driver.as_mut().expect("it runs");
            driver.kill().expect("it can be killed");
        }),
    );
    {
        let mut running = driver.lock().expect("no panic while held");
        let mut command = shards.run_command("30", "never");
        *running = Some(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts"),
        );
    }
    shards.other.wait_until_done();
    let mut driver = driver
        .lock()
        .expect("no panic while held")
        .take()
        .expect("it was started");
    driver.wait().expect("a child can be waited for");
    // Another one that nobody has decided.
    shards.other.run(
        "BEGIN; UPDATE bmsql_stock SET s_ytd = s_ytd + 7 WHERE s_w_id = 2 AND s_i_id = 99999; \
         PREPARE TRANSACTION 'mote-bench 0 0000000000000000 0 1'",
    );
    let out = shards.verify(&["--ledger", &shards.ledger]).good();
    let line = out
        .lines()
        .find(|line| line.starts_with("prepared and left behind"))
        .expect("a line");
    let numbers: Vec<u32> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] >= 1 && numbers[1] >= 1, "{out}");
    all_hold(&out);
    let again = shards.verify(&["--check-only"]).good();
    assert!(
        again.contains("left behind: 0 committed, 0 rolled back"),
        "{again}"
    );
}

fn corruption_is_found(shards: &Shards) {
    // A payment's customer lies on the other server, its history row at home: only both together tell.
    for (proxy, harm, heal, expected) in [
        (
            &shards.other,
            "UPDATE bmsql_customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 \
             WHERE (c_w_id, c_d_id, c_id) = (2, 3, 4)",
            "UPDATE bmsql_customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1 \
             WHERE (c_w_id, c_d_id, c_id) = (2, 3, 4)",
            &[10][..],
        ),
        (
            &shards.other,
            "UPDATE bmsql_stock SET s_order_cnt = s_order_cnt + 1 WHERE (s_w_id, s_i_id) = (2, 5)",
            "UPDATE bmsql_stock SET s_order_cnt = s_order_cnt - 1 WHERE (s_w_id, s_i_id) = (2, 5)",
            &[13],
        ),
        (
            &shards.home,
            "INSERT INTO bmsql_warehouse (w_id, w_ytd) VALUES (2, 0)",
            "DELETE FROM bmsql_warehouse WHERE w_id = 2",
            &[14],
        ),
    ] {
        proxy.run(harm);
        let out = shards.verify(&["--check-only"]);
        assert!(!out.ok, "{}", out.out);
        assert_eq!(broken(&out.out), expected, "{harm}\n{}", out.out);
        proxy.run(heal);
    }
    all_hold(&shards.verify(&["--check-only"]).good());
}

#[test]
fn servers_of_its_own_and_what_only_one_server_can_do() {
    let directory = TemporaryDirectory::new("shards-ladder");
    let page = directory.path().join("shards.html");
    let mut command = bench(&[
        "shards",
        "--servers",
        "2",
        "-w",
        "2",
        "-c",
        "2",
        "-d",
        "1",
        "--warmup",
        "0",
        "-q",
    ]);
    command.arg("--html").arg(&page);
    let out = said(command).good();
    let steps: Vec<&str> = out
        .lines()
        .filter(|line| line.starts_with('2') && line.contains('|'))
        .collect();
    assert_eq!(steps.len(), 1, "{out}");
    assert!(markdown(&page).contains("in two phases"), "{out}");
    let refused = said(bench(&[
        "shards",
        "--execution",
        "pipelined",
        "--servers",
        "2",
        "-q",
    ]))
    .bad();
    assert!(refused.contains("interactive"), "{refused}");
    let few = said(bench(&["shards", "-w", "1", "--servers", "2", "-q"])).bad();
    assert!(few.contains("without any"), "{few}");
}

fn markdown(page: &Path) -> String {
    let path = page.with_extension("md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
