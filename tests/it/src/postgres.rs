//! A real PostgreSQL 15 for a test that compares: a cluster of its own in a temporary directory.
//!
//! PostgreSQL refuses to run as root, so root hands the cluster to the user `postgres`, whom Debian's package creates.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use mote_common::env::real::entropy_u64;

use crate::clients::{Said, run_with_input};
use crate::server::TemporaryDirectory;

/// Below those that the system gives away, and above those that services have.
const PORTS: Range<u16> = 12_000..22_000;

const ADVICE: &str =
    "install PostgreSQL 15's server (apt-get install postgresql-15), or set MOTE_IT_POSTGRES_BIN";

/// A cluster that is stopped and removed with the value.
pub struct PostgresServer {
    binaries: PathBuf,
    directory: TemporaryDirectory,
    port: u16,
}

impl PostgresServer {
    /// Panics with advice where PostgreSQL is not installed.
    pub fn start() -> PostgresServer {
        PostgresServer::start_with("")
    }

    /// With more options for the server.
    pub fn start_with(options: &str) -> PostgresServer {
        let directory = TemporaryDirectory::new("postgres");
        let everybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.path(), everybody).expect("the directory is ours");
        let port = free_port();
        let server = PostgresServer {
            binaries: binaries(),
            directory,
            port,
        };
        let data = server.data();
        server.run(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
            ],
        );
        server.begin(options);
        server
    }

    /// A standby of this one, with its own port.
    pub fn standby(&self) -> PostgresServer {
        let directory = TemporaryDirectory::new("postgres-standby");
        let everybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.path(), everybody).expect("the directory is ours");
        let standby = PostgresServer {
            binaries: binaries(),
            directory,
            port: free_port(),
        };
        let (data, from) = (
            standby.data(),
            format!("host=127.0.0.1 port={} user=postgres", self.port),
        );
        standby.run(
            "pg_basebackup",
            &["-D", &data, "-d", &from, "-R", "-c", "fast", "-X", "stream"],
        );
        standby.begin("");
        standby
    }

    fn begin(&self, options: &str) {
        let (port, data) = (self.port, self.data());
        // Without jit: on a busy machine the compiler takes seconds for a query of milliseconds.
        let settings = format!(
            "-p {port} -k '' -c fsync=off -c listen_addresses=127.0.0.1 -c timezone=UTC -c log_timezone=UTC \
             -c shared_buffers=32MB -c jit=off -c datestyle=ISO,MDY -c max_prepared_transactions=200 {options}"
        );
        let log = self.directory.path().join("log").display().to_string();
        self.run(
            "pg_ctl",
            &[
                "-D", &data, "-l", &log, "-o", &settings, "-w", "-t", "60", "start",
            ],
        );
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Which minor release of PostgreSQL 15 this is: 20 of 15.20.
    pub fn minor_release(&self) -> u32 {
        let said = self.command("postgres", &["--version"]).good();
        let number = said
            .split_whitespace()
            .find_map(|word| word.strip_prefix("15."))
            .unwrap_or_else(|| panic!("not a PostgreSQL 15: {said}"));
        let digits = number
            .chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>();
        digits.parse().expect("a minor release is a number")
    }

    /// Runs one statement as the superuser.
    pub fn execute(&self, sql: &str) {
        self.execute_in("postgres", sql);
    }

    pub fn execute_in(&self, database: &str, sql: &str) {
        self.psql(database, &[], sql).good();
    }

    /// The answer to a query, its columns between bars.
    pub fn value(&self, sql: &str) -> String {
        self.value_in("postgres", sql)
    }

    pub fn value_in(&self, database: &str, sql: &str) -> String {
        self.psql(database, &["-A", "-t"], sql)
            .good()
            .trim_end()
            .to_string()
    }

    fn psql(&self, database: &str, options: &[&str], sql: &str) -> Said {
        let port = self.port.to_string();
        // These sources are in UTF-8, whatever the database is in.
        let database = format!("dbname={database} client_encoding=UTF8");
        let place = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-d", &database];
        let asked = ["-v", "ON_ERROR_STOP=1", "-c", sql];
        self.command("psql", &[&["-X", "-q"], options, &place, &asked].concat())
    }

    /// What the server has written to its log so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.directory.path().join("log")).expect("the server writes one");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn data(&self) -> String {
        self.directory.path().join("data").display().to_string()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        self.command(program, arguments).good();
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Said {
        let path = self.binaries.join(program);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(&path);
            command
        } else {
            Command::new(&path)
        };
        run_with_input(
            command.args(arguments).current_dir(self.directory.path()),
            "",
            ADVICE,
        )
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // Not `run`: a panic here, during another one, would hide the first.
        let _ = self.command("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }
}

fn binaries() -> PathBuf {
    if let Some(path) = std::env::var_os("MOTE_IT_POSTGRES_BIN") {
        return PathBuf::from(path);
    }
    let path = Path::new("/usr/lib/postgresql/15/bin");
    assert!(
        path.join("initdb").exists(),
        "no PostgreSQL 15 in {}: {ADVICE}",
        path.display()
    );
    path.to_path_buf()
}

/// Free at the moment, for a server that cannot choose one, or that has to come back to it. It is none of those that the system
/// gives away by itself (from 32768 on, where nobody has changed that), so that no client's end of a connection and no server
/// that chooses takes it meanwhile; and nobody else in this process gets it.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().expect("no panic while held");
    let candidates = std::iter::repeat_with(|| PORTS.start + (entropy_u64() % PORTS.len() as u64) as u16);
    let port = candidates
        .take(10_000)
        .find(|port| !given.contains(port) && TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("loopback has free ports");
    given.insert(port);
    port
}
