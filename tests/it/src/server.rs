//! A server process of its own for a test, on a free port and a temporary directory.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};

const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// The binary under test.
pub fn mote_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("MOTE_BIN") {
        return PathBuf::from(path);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let modified = |path: &PathBuf| path.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let newest = ["target/release/mote", "target/debug/mote"].map(|p| root.join(p)).into_iter().max_by_key(modified);
    let path = newest.expect("two candidates");
    assert!(path.exists(), "build the binary first: cargo build --release -p mote-cli, or set MOTE_BIN");
    path
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

/// A running `mote serve`.
pub struct TestServer {
    child: Child,
    pub address: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
    directory: Option<TemporaryDirectory>,
    data: PathBuf,
}

impl TestServer {
    /// On a new database.
    pub fn start(name: &str) -> TestServer {
        TestServer::start_with(name, &[])
    }

    /// On a new database, with more options.
    pub fn start_with(name: &str, options: &[&str]) -> TestServer {
        let directory = TemporaryDirectory::new(name);
        let data = directory.path().join("data");
        let mut server = TestServer::open(&data, options).unwrap_or_else(|said| panic!("no server: {said}"));
        server.directory = Some(directory);
        server
    }

    /// On a given directory. An error holds what the server said.
    pub fn open(data: &Path, options: &[&str]) -> Result<TestServer, String> {
        let mut child = Command::new(mote_binary())
            .arg("serve")
            .arg("--data")
            .arg(data)
            .args(["--listen", "127.0.0.1:0"])
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
                if let Some(address) = line.strip_prefix("mote: listening on ") {
                    let _ = sender.send(address.parse::<SocketAddr>().expect("an address"));
                }
                lines.lock().expect("no panic while logging").push(line);
            }
        });
        match receiver.recv_timeout(START_TIMEOUT) {
            Ok(address) => Ok(TestServer { child, address, log, directory: None, data: data.to_path_buf() }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                let said = log.lock().expect("no panic while logging").join("\n");
                Err(said)
            }
        }
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn port(&self) -> String {
        self.address.port().to_string()
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.address)
    }

    /// What the server wrote to its standard error so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("no panic while logging").join("\n")
    }

    /// kill -9, and the directory for another start.
    pub fn kill(mut self) -> (PathBuf, Option<TemporaryDirectory>) {
        self.child.kill().expect("the server runs");
        self.child.wait().expect("a child can be waited for");
        (self.data.clone(), self.directory.take())
    }

    /// SIGTERM; panics if the server does not end well in time.
    pub fn stop(mut self) -> (PathBuf, Option<TemporaryDirectory>) {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + STOP_TIMEOUT;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                break status;
            }
            assert!(Instant::now() < deadline, "the server did not stop; it said:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(status.success(), "the server ended with {status}; it said:\n{}", self.log());
        (self.data.clone(), self.directory.take())
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process number");
        kill_process(pid, signal).expect("the server runs");
    }

    /// False once the process has ended.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_none()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the server said:\n{}", self.log());
        }
    }
}
