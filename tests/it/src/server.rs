//! A server for a test: a process of its own, on a free port and a temporary directory.
//!
//! `MOTE_IT_TARGET=postgres://user@host:port/database` is the oracle: tests that need no process of their own
//! (`TestServer::start`) then run against that server, each in a database of its own. An expectation that PostgreSQL
//! itself does not meet is the test's mistake. Tests that stop, kill or configure a server always start mote.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};

use crate::clients;
use crate::process::await_standstill;

const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a server's words are waited for, which may tell of an event that is still to come.
const LOG_TIMEOUT: Duration = Duration::from_secs(60);

/// The binary under test.
pub fn mote_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("MOTE_BIN") {
        return PathBuf::from(path);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let modified = |path: &PathBuf| {
        path.metadata()
            .and_then(|m| m.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let newest = ["target/release/mote", "target/debug/mote"]
        .map(|p| root.join(p))
        .into_iter()
        .max_by_key(modified);
    let path = newest.expect("two candidates");
    assert!(
        path.exists(),
        "build the binary first: cargo build --release -p mote-cli, or set MOTE_BIN"
    );
    path
}

/// Whether tests that need no process of their own run against somebody else's server.
pub fn is_oracle() -> bool {
    std::env::var_os("MOTE_IT_TARGET").is_some()
}

/// A directory under the system's temporary one, removed when dropped.
pub struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    pub fn new(name: &str) -> TemporaryDirectory {
        let unique = mote_common::env::real::entropy_u64();
        let path = std::env::temp_dir().join(format!("mote-it-{name}-{unique:016x}"));
        std::fs::create_dir_all(&path).expect("the temporary directory can be written");
        TemporaryDirectory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // Left-overs of a failed removal are the temporary directory's business.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Who runs the server.
enum Keeper {
    /// This test: a mote process.
    Process {
        child: Child,
        data: PathBuf,
        directory: Option<TemporaryDirectory>,
    },
    /// Somebody else; the database is this test's, and is dropped with the value if the flag is set.
    Other { drop_database: bool },
}

/// A server to talk to.
pub struct TestServer {
    keeper: Keeper,
    pub address: SocketAddr,
    user: String,
    database: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl TestServer {
    /// A new database; in the oracle where there is one.
    pub fn start(name: &str) -> TestServer {
        match std::env::var("MOTE_IT_TARGET") {
            Ok(url) => TestServer::in_server(&url),
            Err(_) => TestServer::start_with(name, &[]),
        }
    }

    /// A new database of its own in a server that runs already.
    pub fn in_server(url: &str) -> TestServer {
        let (user, address) = url
            .strip_prefix("postgres://")
            .and_then(|rest| rest.split('/').next())
            .and_then(|authority| authority.split_once('@'))
            .unwrap_or_else(|| panic!("{url}: expected postgres://user@host:port/database"));
        let mut addresses = address.to_socket_addrs().unwrap_or_else(|e| panic!("{url}: {e}"));
        let mut server = TestServer {
            keeper: Keeper::Other { drop_database: false },
            address: addresses.next().expect("a name that resolves has an address"),
            user: user.to_string(),
            database: "postgres".to_string(),
            log: Arc::default(),
        };
        let database = format!("mote_it_{:016x}", mote_common::env::real::entropy_u64());
        clients::psql(&server, &format!("create database {database}")).good();
        server.database = database;
        server.keeper = Keeper::Other { drop_database: true };
        server
    }

    /// A mote process with a new database, with more options.
    pub fn start_with(name: &str, options: &[&str]) -> TestServer {
        let directory = TemporaryDirectory::new(name);
        let data = directory.path().join("data");
        let server = TestServer::open(&data, options).unwrap_or_else(|said| panic!("no server: {said}"));
        server.keeping(directory)
    }

    /// A mote process on a given directory. An error holds what the server said.
    pub fn open(data: &Path, options: &[&str]) -> Result<TestServer, String> {
        TestServer::open_in(data, options, &[])
    }

    /// The same, with variables in its environment.
    pub fn open_in(
        data: &Path,
        options: &[&str],
        environment: &[(&str, &Path)],
    ) -> Result<TestServer, String> {
        let mut command = Command::new(mote_binary());
        command.envs(environment.iter().copied());
        TestServer::spawn(command, data, options)
    }

    /// A mote process that may have so many open files. An error holds what the server said.
    pub fn open_limited(data: &Path, options: &[&str], open_files: u64) -> Result<TestServer, String> {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {open_files} && exec \"$0\" \"$@\"");
        command.arg("-c").arg(script).arg(mote_binary());
        TestServer::spawn(command, data, options)
    }

    /// The same on a new database.
    pub fn start_limited(name: &str, options: &[&str], open_files: u64) -> TestServer {
        let directory = TemporaryDirectory::new(name);
        let data = directory.path().join("data");
        let server = TestServer::open_limited(&data, options, open_files);
        server
            .unwrap_or_else(|said| panic!("no server: {said}"))
            .keeping(directory)
    }

    /// Removes the directory with the server.
    pub fn keeping(mut self, directory: TemporaryDirectory) -> TestServer {
        if let Keeper::Process { directory: place, .. } = &mut self.keeper {
            *place = Some(directory);
        }
        self
    }

    /// A server that a command of the test's own starts: one that ends in the binary's name.
    pub fn open_command(command: Command, data: &Path, options: &[&str]) -> Result<TestServer, String> {
        TestServer::spawn(command, data, options)
    }

    fn spawn(mut command: Command, data: &Path, options: &[&str]) -> Result<TestServer, String> {
        let listen: &[&str] = if options.contains(&"--listen") {
            &[]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        let mut child = command
            .arg("serve")
            .arg("--data")
            .arg(data)
            .args(listen)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("could not start: {e}"))?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let (sender, receiver) = mpsc::channel();
        let stderr = child.stderr.take().expect("piped above");
        let lines = log.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let address = line
                    .strip_prefix("mote: listening on ")
                    .map(|a| a.parse().expect("an address"));
                lines.lock().expect("no panic while logging").push(line);
                if let Some(address) = address {
                    // The receiver is gone once the start has timed out.
                    let _ = sender.send(address);
                }
            }
        });
        match receiver.recv_timeout(START_TIMEOUT) {
            Ok(address) => Ok(TestServer {
                keeper: Keeper::Process {
                    child,
                    data: data.to_path_buf(),
                    directory: None,
                },
                address,
                user: "postgres".to_string(),
                database: "postgres".to_string(),
                log,
            }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                let said = log.lock().expect("no panic while logging").join("\n");
                Err(said)
            }
        }
    }

    fn child(&mut self) -> &mut Child {
        match &mut self.keeper {
            Keeper::Process { child, .. } => child,
            Keeper::Other { .. } => {
                panic!("the test needs a server process of its own: TestServer::start_with")
            }
        }
    }

    pub fn pid(&self) -> u32 {
        match &self.keeper {
            Keeper::Process { child, .. } => child.id(),
            Keeper::Other { .. } => {
                panic!("the test needs a server process of its own: TestServer::start_with")
            }
        }
    }

    pub fn data(&self) -> &Path {
        match &self.keeper {
            Keeper::Process { data, .. } => data,
            Keeper::Other { .. } => {
                panic!("the test needs a server process of its own: TestServer::start_with")
            }
        }
    }

    pub fn port(&self) -> String {
        self.address.port().to_string()
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    pub fn url(&self) -> String {
        format!("postgres://{}@{}/{}", self.user, self.address, self.database)
    }

    /// For tokio-postgres.
    pub fn config(&self) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config
            .host(self.address.ip().to_string())
            .port(self.address.port())
            .user(&self.user)
            .dbname(&self.database);
        config
    }

    /// What the server wrote to its standard error so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("no panic while logging").join("\n")
    }

    /// Waits until the server has said something; panics if it does not in time.
    #[track_caller]
    pub fn await_log(&self, words: &str) {
        let deadline = Instant::now() + LOG_TIMEOUT;
        while !self.log().contains(words) {
            assert!(
                Instant::now() < deadline,
                "the server did not say {words:?}; it said:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn into_place(mut self) -> (PathBuf, Option<TemporaryDirectory>) {
        match &mut self.keeper {
            Keeper::Process { data, directory, .. } => (data.clone(), directory.take()),
            Keeper::Other { .. } => unreachable!("only processes are ended"),
        }
    }

    /// kill -9, and the directory for another start.
    pub fn kill(mut self) -> (PathBuf, Option<TemporaryDirectory>) {
        self.child().kill().expect("the server runs");
        self.child().wait().expect("a child can be waited for");
        self.into_place()
    }

    /// SIGTERM; panics if the server does not end well in time.
    pub fn stop(self) -> (PathBuf, Option<TemporaryDirectory>) {
        self.stop_with(Signal::TERM)
    }

    /// A signal that asks for a clean end; panics if the server does not end well in time.
    pub fn stop_with(mut self, signal: Signal) -> (PathBuf, Option<TemporaryDirectory>) {
        self.signal(signal);
        self.await_end();
        self.into_place()
    }

    /// Waits until a server that was asked to stop has ended well.
    pub fn await_end(&mut self) {
        let deadline = Instant::now() + STOP_TIMEOUT;
        let status = loop {
            if let Some(status) = self.child().try_wait().expect("a child can be waited for") {
                break status;
            }
            assert!(
                Instant::now() < deadline,
                "the server did not stop; it said:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(
            status.success(),
            "the server ended with {status}; it said:\n{}",
            self.log()
        );
    }

    /// Waits until a server that must fail has ended, and answers how.
    pub fn await_failure(&mut self) -> std::process::ExitStatus {
        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            if let Some(status) = self.child().try_wait().expect("a child can be waited for") {
                assert!(
                    !status.success(),
                    "the server ended well; it said:\n{}",
                    self.log()
                );
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "the server goes on; it said:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid() as i32).expect("a process number");
        kill_process(pid, signal).expect("the server runs");
        if signal == Signal::STOP {
            await_standstill(self.pid());
        }
    }

    /// False once the process has ended.
    pub fn is_running(&mut self) -> bool {
        match &mut self.keeper {
            Keeper::Process { child, .. } => child.try_wait().expect("a child can be waited for").is_none(),
            Keeper::Other { .. } => true,
        }
    }

    /// The server answers, and has reported no bug of its own: asserted at the end of tests that mistreat it.
    #[track_caller]
    pub fn assert_unharmed(&mut self) {
        assert!(self.is_running(), "the server ended; it said:\n{}", self.log());
        assert_eq!(clients::psql(self, "select 40 + 2").good().trim(), "42");
        let log = self.log();
        assert!(
            !log.contains("panicked at"),
            "a thread of the server panicked:\n{log}"
        );
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let drop_database = match &mut self.keeper {
            Keeper::Process { child, .. } => {
                let _ = child.kill();
                let _ = child.wait();
                if std::thread::panicking() {
                    eprintln!("the server said:\n{}", self.log());
                }
                false
            }
            Keeper::Other { drop_database } => *drop_database,
        };
        if drop_database {
            let database = std::mem::replace(&mut self.database, "postgres".to_string());
            // A left-over database of the oracle harms nobody.
            let _ = clients::psql(self, &format!("drop database {database} with (force)"));
        }
    }
}
