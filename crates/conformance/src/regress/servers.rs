//! The two servers: a PostgreSQL 15 cluster and a mote, each with pg_regress's database and settings.
//!
//! PostgreSQL refuses to run as root, so root hands the cluster to the user `postgres`, whom Debian's package creates.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mote_bench::{EmbeddedServer, RunningServer, SpawnedServer};
use mote_driver::{Admin, Target};

const ADVICE: &str =
    "install PostgreSQL 15's server (apt-get install postgresql-15), or set MOTE_IT_POSTGRES_BIN";
/// What pg_regress makes before the first file.
const DATABASE: &str = "create database regression template template0 lc_collate 'C' lc_ctype 'C'";
const DATABASE_SETTINGS: [(&str, &str); 6] = [
    ("lc_messages", "C"),
    ("lc_monetary", "C"),
    ("lc_numeric", "C"),
    ("lc_time", "C"),
    ("bytea_output", "hex"),
    ("timezone_abbreviations", "Default"),
];

/// A directory that everybody may write and that goes with the value.
pub struct Workplace(PathBuf);

impl Workplace {
    pub fn make() -> Result<Workplace, String> {
        let path = std::env::temp_dir().join(format!("mote-regress-{}", std::process::id()));
        open_directory(&path)?;
        Ok(Workplace(path))
    }

    /// A directory in it, open to everybody too.
    pub fn directory(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        open_directory(&path)?;
        Ok(path)
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // What is left lies in the system's temporary directory.
    }
}

fn open_directory(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o777)))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// PostgreSQL, stopped with the value.
pub struct Postgres {
    binaries: PathBuf,
    data: PathBuf,
    pub address: SocketAddr,
    pub version: String,
}

impl Postgres {
    pub fn start(workplace: &Workplace) -> Result<Postgres, String> {
        let directory = workplace.directory("postgres")?;
        let port = free_port()?;
        let mut server = Postgres {
            binaries: binaries()?,
            data: directory.join("data"),
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            version: String::new(),
        };
        let data = server.data.display().to_string();
        let cluster = [
            "-D",
            &data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ];
        server.run("initdb", &cluster)?;
        // The settings of pg_regress's own cluster; without jit, which only takes time here, and without fsync.
        let settings = format!(
            "-p {port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off -c jit=off -c max_prepared_transactions=2"
        );
        let log = directory.join("log").display().to_string();
        server.run(
            "pg_ctl",
            &[
                "-D", &data, "-l", &log, "-o", &settings, "-w", "-t", "60", "start",
            ],
        )?;
        server.version = prepare(&target(server.address))?;
        Ok(server)
    }

    /// Where the server's own modules lie; regress.so is not among them.
    pub fn libraries(&self) -> PathBuf {
        self.binaries.with_file_name("lib")
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let path = self.binaries.join(program);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(&path);
            command
        } else {
            Command::new(&path)
        };
        let parent = self.data.parent().expect("it lies in the work place");
        // Not piped: the server that pg_ctl starts would keep the pipe open.
        let said = parent.join(program).with_extension("out");
        let file = fs::File::create(&said).map_err(|error| format!("{}: {error}", said.display()))?;
        let clone = file
            .try_clone()
            .map_err(|error| format!("{}: {error}", said.display()))?;
        let status = command
            .args(arguments)
            .current_dir(parent)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(clone)
            .status()
            .map_err(|error| format!("{}: {error}; {ADVICE}", path.display()))?;
        if status.success() {
            return Ok(());
        }
        let said = fs::read_to_string(&said).unwrap_or_default();
        Err(format!("{program}: {status}\n{said}"))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.data.display().to_string();
        if let Err(error) = self.run("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]) {
            eprintln!("mote-conformance: {error}");
        }
    }
}

fn binaries() -> Result<PathBuf, String> {
    let path = match std::env::var_os("MOTE_IT_POSTGRES_BIN") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from("/usr/lib/postgresql/15/bin"),
    };
    if path.join("initdb").exists() {
        Ok(path)
    } else {
        Err(format!("no PostgreSQL 15 in {}: {ADVICE}", path.display()))
    }
}

/// Free at the moment; PostgreSQL cannot be told to choose one.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("loopback: {error}"))?;
    let address = listener
        .local_addr()
        .map_err(|error| format!("loopback: {error}"))?;
    Ok(address.port())
}

/// mote, with its data in the work place, so that it can be killed and started again on it.
pub struct Mote {
    program: PathBuf,
    data: PathBuf,
    process: Option<Box<dyn RunningServer>>,
    pub address: SocketAddr,
    pub version: String,
}

impl Mote {
    pub fn start(program: &Path, workplace: &Workplace) -> Result<Mote, String> {
        let mut server = Mote {
            program: program.to_path_buf(),
            data: workplace.directory("mote")?.join("data"),
            process: None,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            version: String::new(),
        };
        server.launch()?;
        server.version = prepare(&target(server.address))?;
        Ok(server)
    }

    /// Ends it as a crash would and recovers: what hangs goes, what was committed stays.
    pub fn restart(&mut self) -> Result<(), String> {
        if let Some(process) = self.process.take() {
            process.kill()?;
        }
        self.launch()
    }

    /// Whether a new session gets an answer. Only a server that has died fails here: one that hangs is restarted
    /// without asking.
    pub fn answers(&self) -> bool {
        Admin::connect(&target(self.address)).is_ok_and(|mut admin| admin.execute("select 1").is_ok())
    }

    fn launch(&mut self) -> Result<(), String> {
        let starter = SpawnedServer {
            program: self.program.clone(),
        };
        let options = ["--max-prepared-transactions".to_string(), "2".to_string()];
        let process = starter.start(Some(&self.data), &options)?;
        let target = Target::parse(process.url())?;
        self.address = SocketAddr::from(([127, 0, 0, 1], target.port));
        self.process = Some(process);
        Ok(())
    }
}

fn target(address: SocketAddr) -> Target {
    Target::parse(&format!("postgres://postgres@{address}/postgres")).expect("an address makes a URL")
}

/// Makes the database as pg_regress does and tells the server's version.
fn prepare(target: &Target) -> Result<String, String> {
    let failed = |error| format!("{target}: {error}");
    let mut admin = Admin::connect(target).map_err(failed)?;
    admin.execute(DATABASE).map_err(failed)?;
    for (name, value) in DATABASE_SETTINGS {
        // A server without the setting shows it in the answers.
        if let Err(error) = admin.execute(&format!("alter database regression set {name} to '{value}'")) {
            eprintln!("mote-conformance: {target}: {name}: {error}");
        }
    }
    let version = admin.value("select version()").map_err(failed)?;
    Ok(version.unwrap_or_default())
}
