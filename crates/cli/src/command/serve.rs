//! `mote serve`: opens or creates a data directory, listens, stops cleanly on SIGTERM and SIGINT.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use mote_catalog::database::{Database, InitialNames};
use mote_common::env::descriptors;
use mote_common::env::real::resident_bytes;
use mote_common::work::{self, MemoryLimit};
use mote_engine::EngineConfig;
use mote_engine::backup::{ArchiveConfig, LABEL_PATH};
use mote_engine::checkpoint::CheckpointConfig;
use mote_engine::checkpoint::manifest::MANIFEST_PATH;
use mote_executor::index_keys::EVALUATION;
use mote_executor::plans::planning::forget_discarded_plans;
use mote_log::LogConfig;
use mote_replication::message::NAME_BYTES_MAX;
use mote_replication::node;
use mote_replication::slots::Slots;
use mote_server::replication::follower::Follower;
use mote_server::{AuthMethod, Capacity, Server, ServerConfig, Starting, TlsFiles};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::copying::{self, COPYING};
use super::follow::{self, KeptLog, Primary};
use super::node::{ClusterArguments, Node};
use super::recovery_report::{self, RecoveryReport};
use super::units::{parse_bytes_from, parse_duration};

/// Raised by `pg_promote()` and by a cluster's thread, for the thread that waits for signals.
pub const PROMOTE: i32 = SIGUSR1;

#[derive(Clone, Copy, ValueEnum)]
enum Auth {
    /// Anybody on this machine may be any role (loopback addresses only)
    Trust,
    /// Passwords, checked by SCRAM-SHA-256; roles without one cannot connect
    #[value(name = "scram-sha-256")]
    ScramSha256,
    /// The same, and MD5 for roles whose stored password is an MD5 hash
    Md5,
}

/// Run a server on a data directory
///
/// The directory is created on the first start and recovered on later ones. SIGTERM and SIGINT
/// end all sessions and stop cleanly, SIGHUP reads certificates, rules and settings again; after anything else the next start recovers from the log.
/// Clients are PostgreSQL's.
///
/// Examples:
///   mote serve --data ./data
///   mote serve --data ./data --listen 0.0.0.0:5432 --auth scram-sha-256 --password-file ./password \
///       --tls-cert server.crt --tls-key server.key
///   mote serve --data ./data --socket-dir /var/run/postgresql
///   mote serve --data ./data --memory 64GB --archive-dir /mnt/archive
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct ServeArguments {
    /// Directory of the database; created, with everything in it, if it does not exist
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5432")]
    listen: String,

    /// How clients prove who they are [default: trust on loopback]
    #[arg(long, value_enum)]
    auth: Option<Auth>,

    /// Rules that say who may connect from where and how he proves who he is, in the form of pg_hba.conf; instead of --auth
    ///
    /// Read again on SIGHUP and pg_reload_conf(); a file with a mistake leaves the former rules in force. The view
    /// pg_hba_file_rules shows them.
    #[arg(long, value_name = "FILE", conflicts_with = "auth")]
    hba_file: Option<PathBuf>,

    /// Directory of a Unix socket, which gets PostgreSQL's name for the port: .s.PGSQL.5432
    ///
    /// Who connects there is the role of his user on this machine ("peer"), unless --hba-file says otherwise.
    #[arg(long, value_name = "DIR")]
    socket_dir: Option<PathBuf>,

    /// The server's certificate in PEM, and those between it and a root: clients may use TLS (1.2 and 1.3)
    ///
    /// With an address that other machines can reach, they must. Certificate, key and roots are read again on SIGHUP and
    /// pg_reload_conf(); connections go on with what they began with.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The certificate's private key in PEM, without a passphrase; others may not read the file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Roots in PEM that certificates of clients must lead to; without it clients are asked for none
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,

    /// Let clients of other machines connect without TLS: what they send and get can be read on the way
    #[arg(long)]
    allow_unencrypted: bool,

    /// Name of the first role, a superuser; used when the directory is created
    #[arg(long, value_name = "NAME", default_value = "postgres")]
    superuser: String,

    /// File that holds the first role's password; used when the directory is created
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// Memory for rows and indexes, as in 512MB or 16GB [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<u64>,

    /// Directory to which the log is copied before it is recycled, for point-in-time recovery; created if it does not exist
    ///
    /// Several databases may share one. Where it cannot be written, the log is kept and grows until its disk is full; then
    /// writers get 53100 and readers go on. pg_stat_archiver tells of failures.
    #[arg(long, value_name = "DIR")]
    archive_dir: Option<PathBuf>,

    /// Time after which a log segment that is not full is archived all the same; 0: only when pg_switch_wal() asks
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_timeout)]
    archive_timeout: Duration,

    /// Worker threads, each with its own event loop [default: one per core]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    workers: usize,

    /// Most sessions at a time; one more is refused with "too many clients" [default: 2000, or what the limit of open files
    /// allows]
    ///
    /// Each takes a file descriptor. The last three are for superusers. Connections that have not authenticated yet count
    /// apart: 256 of them, or a quarter of what the limit allows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=262_143))]
    max_connections: Option<u32>,

    /// Time a client has to authenticate
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    authentication_timeout: Duration,

    /// Memory between committing transactions and the log's disk; larger transactions pass through it in pieces
    #[arg(long, value_name = "SIZE", default_value = "16MB", value_parser = |text: &str| parse_bytes_from(text, 4))]
    log_buffer: u64,

    /// Log kept because of one open transaction that has changed more than fits into a frame of the log, as in 64GB
    ///
    /// A transaction that needs more gets 53400 at its next change or at its end; others go on. What it has changed itself
    /// counts, and what others have written meanwhile [default: as --memory, at least 16GB]
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| parse_bytes_from(text, 4))]
    max_log_kept: Option<u64>,

    /// Log in one file, a power of two from 4MB to 1GB; used when the directory is created
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = parse_segment_size)]
    log_segment_size: u64,

    /// A checkpoint begins when this much log has been written since the last one
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = |text: &str| parse_bytes_from(text, 1))]
    checkpoint_log_size: u64,

    /// ... or when this much time has passed and something changed
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = parse_duration)]
    checkpoint_interval: Duration,

    /// Bytes a second that checkpoints in the background write; the command CHECKPOINT is not held back
    #[arg(long, value_name = "SIZE", default_value = "100MB", value_parser = |text: &str| parse_bytes_from(text, 1))]
    checkpoint_rate: u64,

    /// Threads that write images for the command CHECKPOINT; in the background there is one [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    checkpoint_threads: Option<u16>,

    /// Threads that recover the database at the start [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    recovery_threads: Option<u16>,

    /// Most prepared transactions (two-phase commit) at a time; 0 refuses PREPARE TRANSACTION
    #[arg(long, value_name = "N", default_value_t = 200)]
    max_prepared_transactions: usize,

    /// Follow the server at this URL: copy its database if the directory is empty, take its log, serve read-only sessions
    ///
    /// The role must be a superuser's. mote promote, or SELECT pg_promote(), makes this server a primary, which it
    /// stays.
    #[arg(long, value_name = "URL", conflicts_with = "archive_dir")]
    follow: Option<String>,

    #[command(flatten)]
    cluster: ClusterArguments,

    /// Name of this server among those that follow the same one [default: one drawn for the directory], or in its cluster
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,

    /// Which servers that follow this one commits wait for: 'FIRST n (a, b)', 'ANY n (a, b)', 'a, b', '*'
    ///
    /// As PostgreSQL's setting of this name. What is given here holds for the life of the process; without it ALTER SYSTEM
    /// sets the list, and SIGHUP or pg_reload_conf() puts it into force. An empty list: commits wait for nobody.
    #[arg(long, value_name = "LIST", value_parser = parse_synchronous)]
    synchronous_standby_names: Option<String>,

    /// Log kept for a server that follows this one and is away; beyond that it must be copied anew
    #[arg(long, value_name = "SIZE", default_value = "16GB", value_parser = |text: &str| parse_bytes_from(text, 4))]
    max_slot_log: u64,
}

pub fn run(arguments: &ServeArguments) -> ExitCode {
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mote: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &ServeArguments) -> Result<(), String> {
    let primary = arguments
        .follow
        .as_deref()
        .map(|url| Primary::new(url, arguments.name.clone()))
        .transpose()?;
    let engine = engine_config(arguments)?;
    let config = server_config(arguments, &engine)?;
    let mut node = Node::new(
        &arguments.cluster,
        arguments.name.as_deref(),
        &arguments.superuser,
        &config,
    )?;
    if arguments.name.is_some() && node.is_none() && primary.is_none() {
        return Err(
            "--name is for a server that follows another one (--follow), or a node of a cluster (--cluster)"
                .into(),
        );
    }
    let names = InitialNames {
        superuser: arguments.superuser.clone(),
        password: arguments
            .password_file
            .as_deref()
            .map(read_password)
            .transpose()?,
        ..InitialNames::default()
    };
    // Before anything is opened: a signal during recovery must end in a clean stop, too. And the door first, so that a
    // mistake in the address leaves no directory behind.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, PROMOTE])
        .map_err(|e| format!("could not watch for signals: {e}"))?;
    let door = Starting::listen(&config).map_err(|e| e.to_string())?;
    std::fs::create_dir_all(&arguments.data)
        .map_err(|e| format!("could not create directory {}: {e}", arguments.data.display()))?;
    refuse_foreign_directory(&arguments.data)?;
    let part = match &mut node {
        Some(node) => Part::Node(node.join(&arguments.data, &engine, &names, &mut signals)?),
        None => Part::find(&arguments.data, primary)?,
    };
    crate::allocator::give_back_at_once();
    crate::allocator::give_back_in_background().map_err(|e| format!("could not start a thread: {e}"))?;
    let started = Instant::now();
    let database = open(arguments, engine, &names, &door, &mut signals)?;
    database
        .engine()
        .start_background()
        .map_err(|e| format!("could not start a thread: {e}"))?;
    if let Some(summary) = recovery_report::summary(&database.engine().recovery_stats()) {
        eprintln!("{summary}");
    }
    eprintln!(
        "mote: opened {} in {:.1} s",
        arguments.data.display(),
        started.elapsed().as_secs_f64()
    );
    limit_values(&database);
    mote_server::free_elsewhere().map_err(|e| format!("could not start a thread: {e}"))?;
    let result = match (part, node) {
        (Part::Node(kept), Some(node)) => node.serve(&database, &config, door, kept, &mut signals),
        (part, _) => part
            .follow(&database, &arguments.data)
            .and_then(|follower| serve_sessions(&database, &config, door, follower, &mut signals)),
    };
    database.close();
    drop(database);
    result?;
    eprintln!("mote: stopped");
    Ok(())
}

/// Until somebody stops the server, as a follower first if it is one.
fn serve_sessions(
    database: &Arc<Database>,
    config: &ServerConfig,
    door: Starting,
    mut follower: Option<Follower>,
    signals: &mut Signals,
) -> Result<(), String> {
    let mut door = door;
    while let Ended::Promoted(opened) = listen_until_signal(database, config.clone(), door, signals)? {
        if let Some(follower) = follower.take() {
            become_primary(database, follower)?;
        }
        door = opened;
    }
    Ok(())
}

/// What this server is to its directory.
enum Part {
    Primary,
    Follower(Primary, Option<KeptLog>),
    /// Of a cluster.
    Node(Option<KeptLog>),
}

impl Part {
    /// Copies the primary's database where there is none yet. A directory that follows is nobody else's.
    fn find(data: &Path, primary: Option<Primary>) -> Result<Part, String> {
        if let Some(primary) = primary {
            let kept = primary.prepare(data, node::Part::Follows)?;
            return Ok(Part::Follower(primary, kept));
        }
        if copying::is_unfinished(data) {
            return Err(copying::unfinished(data));
        }
        if data.join(MANIFEST_PATH).exists() {
            let disk = mote_common::env::real::disk(data);
            let part = node::part(&*disk, follow::system_id(data)?).map_err(|error| error.to_string())?;
            match part {
                node::Part::Alone => {}
                node::Part::Follows => {
                    return Err(format!(
                        "{} follows another server. Start it with --follow URL, or make it a primary with mote promote --data DIR",
                        data.display()
                    ));
                }
                node::Part::Cluster => return Err(in_cluster(data)),
            }
        }
        Ok(Part::Primary)
    }

    fn follow(self, database: &Arc<Database>, data: &Path) -> Result<Option<Follower>, String> {
        let Part::Follower(primary, kept) = self else {
            return Ok(None);
        };
        let system_id = database.engine().log().system_id();
        let disk = mote_common::env::real::disk(data);
        let failed = |error: std::io::Error| format!("could not begin to follow: {error}");
        let draw = mote_common::env::real::entropy_u64;
        let id = node::number(&*disk, system_id, draw).map_err(failed)?;
        if node::part(&*disk, system_id).map_err(failed)? == node::Part::Cluster {
            return Err(in_cluster(data));
        }
        node::set_part(&*disk, system_id, node::Part::Follows).map_err(failed)?;
        database.cluster().on_promote(Arc::new(|| {
            if let Err(error) = signal_hook::low_level::raise(PROMOTE) {
                eprintln!("mote: could not begin to promote this server: {error}");
            }
        }));
        Follower::start(database, primary.config(id.0, kept))
            .map(Some)
            .map_err(failed)
    }
}

fn in_cluster(data: &Path) -> String {
    format!(
        "{} belongs to a cluster. Start it with --cluster and --name",
        data.display()
    )
}

/// What was received is applied to its end, and a term begins; all rows are in memory already.
fn become_primary(database: &Arc<Database>, follower: Follower) -> Result<(), String> {
    let began = Instant::now();
    eprintln!("mote: becomes a primary");
    let failed = |error: &dyn std::fmt::Display| {
        format!(
            "could not become a primary: {error}. mote promote --data DIR makes its directory a primary's"
        )
    };
    let engine = database.engine();
    let followed = follower.finish().map_err(|error| failed(&error))?;
    node::set_part(&*engine.disk(), engine.log().system_id(), node::Part::Alone)
        .map_err(|error| failed(&error))?;
    database.lead(followed, None).map_err(|error| failed(&error))?;
    eprintln!(
        "mote: leads term {} after {:.3} s",
        engine.log().term(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn parse_synchronous(text: &str) -> Result<String, String> {
    mote_server::replication::synchronous::parse(text)?;
    Ok(text.into())
}

fn parse_name(text: &str) -> Result<String, String> {
    match text.len() {
        1..=NAME_BYTES_MAX => Ok(text.into()),
        _ => Err(format!("a name has 1 to {NAME_BYTES_MAX} bytes")),
    }
}

/// Functions may take for values what the data leaves of the memory limit, and a tenth of the limit at any time. What the
/// process has besides the data (log buffer, code) is not theirs to pay for.
fn limit_values(database: &Database) {
    let memory = database.engine().memory();
    let besides = resident_bytes().saturating_sub(memory.used_bytes);
    work::limit_memory(MemoryLimit {
        limit_bytes: memory.limit_bytes + memory.limit_bytes / 10 + besides,
        resident_bytes,
        // SAFETY: asks the process's own allocator to give back pages that hold nothing; any thread may.
        trim: || unsafe { libmimalloc_sys::mi_collect(true) },
        trim_thread: || {
            forget_discarded_plans();
            // SAFETY: as above; without force it looks at the calling thread's own pages.
            unsafe { libmimalloc_sys::mi_collect(false) };
        },
    });
}

/// Recovers the database. A signal meanwhile ends the process: nothing was begun that needs an end.
fn open(
    arguments: &ServeArguments,
    engine: EngineConfig,
    names: &InitialNames,
    door: &Starting,
    signals: &mut Signals,
) -> Result<Arc<Database>, String> {
    eprintln!(
        "mote: opening {}; until that is done, {} answers that the database system is starting up",
        arguments.data.display(),
        door.address()
    );
    let mut report = RecoveryReport::new();
    let mut progress = |progress| {
        if let Some(signal) = signals.pending().find(|&signal| signal != SIGHUP) {
            eprintln!("mote: {} received during recovery, stopped", signal_name(signal));
            std::process::exit(0);
        }
        report.progress(progress);
    };
    Database::open_with_progress(&arguments.data, engine, names, &EVALUATION, &mut progress)
        .map_err(|e| e.to_string())
}

fn listen_until_signal(
    database: &Arc<Database>,
    config: ServerConfig,
    door: Starting,
    signals: &mut Signals,
) -> Result<Ended, String> {
    let socket = door.socket_path().map(Path::to_path_buf);
    let mut server = Server::start(database.clone(), config, door).map_err(|e| e.to_string())?;
    eprintln!("mote: listening on {}", server.address());
    if let Some(socket) = socket {
        eprintln!("mote: and on the Unix socket {}", socket.display());
    }
    // Asked twice: it leads already.
    if await_order(&server, signals, || database.is_following().then_some(())).is_some() {
        let door = server.begin_anew().map_err(|e| e.to_string())?;
        return Ok(Ended::Promoted(door));
    }
    server.stop();
    Ok(Ended::Stopped)
}

/// Until somebody stops the server (`None`), or has it become something else: `order` says what, once it is called.
pub fn await_order<T>(
    server: &Server,
    signals: &mut Signals,
    mut order: impl FnMut() -> Option<T>,
) -> Option<T> {
    for signal in signals.forever() {
        match signal {
            SIGHUP => {
                eprintln!("mote: SIGHUP received, reading settings, certificates and rules again");
                server.reload();
            }
            PROMOTE => {
                if let Some(order) = order() {
                    return Some(order);
                }
            }
            signal => {
                eprintln!("mote: {} received, ending sessions", signal_name(signal));
                break;
            }
        }
    }
    None
}

/// Why a server has no more sessions.
enum Ended {
    Stopped,
    /// To become a primary; its sockets are kept.
    Promoted(Starting),
}

fn signal_name(signal: i32) -> &'static str {
    if signal == SIGINT { "SIGINT" } else { "SIGTERM" }
}

fn server_config(arguments: &ServeArguments, engine: &EngineConfig) -> Result<ServerConfig, String> {
    let listen = resolve(&arguments.listen)?;
    let auth = match arguments.auth {
        Some(Auth::ScramSha256) => AuthMethod::ScramSha256,
        Some(Auth::Md5) => AuthMethod::Md5,
        Some(Auth::Trust) | None => AuthMethod::Trust,
    };
    let tls = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
    Ok(ServerConfig {
        // As others would have to name it, who do not stand where the server does.
        data_directory: std::path::absolute(&arguments.data).unwrap_or_else(|_| arguments.data.clone()),
        listen,
        socket_directory: arguments.socket_dir.clone(),
        auth,
        hba_file: arguments.hba_file.clone(),
        tls: tls.map(|(certificate, key)| TlsFiles {
            certificate,
            key,
            client_ca: arguments.tls_client_ca.clone(),
        }),
        allow_unencrypted: arguments.allow_unencrypted,
        workers: arguments.workers,
        capacity: capacity(arguments, engine)?,
        authentication_timeout: arguments.authentication_timeout,
        slot_log_bytes_max: arguments.max_slot_log,
        synchronous_standby_names: arguments.synchronous_standby_names.clone(),
    })
}

/// Raises the process's limit of open files, and divides what it allows.
fn capacity(arguments: &ServeArguments, engine: &EngineConfig) -> Result<Capacity, String> {
    let limit = descriptors::raise_limit();
    let workers = match arguments.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let asked = arguments.max_connections.map(|asked| asked as usize);
    let capacity =
        Capacity::of(limit, engine.descriptors_max(), workers, asked).map_err(|error| error.to_string())?;
    if asked.is_none() && capacity.is_reduced() {
        eprintln!(
            "mote: at most {} sessions, since the process may have {limit} open files (ulimit -n)",
            capacity.sessions_max
        );
    }
    Ok(capacity)
}

fn resolve(listen: &str) -> Result<SocketAddr, String> {
    listen
        .to_socket_addrs()
        .map_err(|e| format!("--listen {listen}: {e}. Give an address and a port, as in 127.0.0.1:5432."))?
        .next()
        .ok_or_else(|| format!("--listen {listen}: the name has no address"))
}

pub fn read_password(file: &Path) -> Result<String, String> {
    let text =
        std::fs::read_to_string(file).map_err(|e| format!("could not read {}: {e}", file.display()))?;
    let password = text.lines().next().unwrap_or_default();
    if password.is_empty() {
        Err(format!("{} holds no password", file.display()))
    } else {
        Ok(password.into())
    }
}

fn engine_config(arguments: &ServeArguments) -> Result<EngineConfig, String> {
    let defaults = EngineConfig::default();
    let memory_limit_bytes = arguments.memory.unwrap_or_else(default_memory_bytes);
    Ok(EngineConfig {
        memory_limit_bytes,
        recovery_threads: arguments
            .recovery_threads
            .map_or(defaults.recovery_threads, usize::from),
        log: LogConfig {
            // Whole blocks.
            ring_bytes: arguments.log_buffer.next_multiple_of(4096),
            segment_bytes: arguments.log_segment_size,
            kept_bytes_max: arguments
                .max_log_kept
                .unwrap_or(memory_limit_bytes.max(defaults.log.kept_bytes_max)),
            ..defaults.log
        },
        checkpoint: CheckpointConfig {
            log_bytes: arguments.checkpoint_log_size,
            interval: arguments.checkpoint_interval,
            bytes_per_s: arguments.checkpoint_rate,
            threads: arguments
                .checkpoint_threads
                .map_or(defaults.checkpoint.threads, usize::from),
            ..defaults.checkpoint
        },
        prepared_max: arguments.max_prepared_transactions,
        following: arguments.follow.is_some() || arguments.cluster.cluster.is_some(),
        keep_log_from: Some(Slots::kept_from),
        archive: arguments
            .archive_dir
            .as_deref()
            .map(|directory| archive_config(directory, arguments.archive_timeout))
            .transpose()?,
        ..defaults
    })
}

fn archive_config(directory: &Path, timeout: Duration) -> Result<ArchiveConfig, String> {
    let failed = |e| format!("could not create directory {}: {e}", directory.display());
    std::fs::create_dir_all(directory).map_err(failed)?;
    Ok(ArchiveConfig {
        disk: mote_common::env::real::disk(directory),
        name: directory.display().to_string(),
        timeout,
    })
}

/// A directory that holds something, but no database of mote's, is somebody else's.
fn refuse_foreign_directory(data: &Path) -> Result<(), String> {
    let entries =
        std::fs::read_dir(data).map_err(|e| format!("could not read directory {}: {e}", data.display()))?;
    let names: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .collect();
    if names.iter().any(|name| name == LABEL_PATH) {
        return Err(format!(
            "{0} is a base backup, to which no server may write. Restore it: mote restore --backup {0} --data DIR",
            data.display()
        ));
    }
    let own = [
        "MANIFEST",
        "LOCK",
        COPYING,
        "log",
        "image",
        "replication",
        "lost+found",
    ];
    match names
        .iter()
        .find(|name| !own.iter().any(|known| name.to_string_lossy().starts_with(known)))
    {
        Some(foreign) if !names.iter().any(|name| name == "MANIFEST") => Err(format!(
            "will not create a database in {}: the directory is not empty ({} is there, for one). \
             Name an empty or a new directory.",
            data.display(),
            foreign.to_string_lossy()
        )),
        _ => Ok(()),
    }
}

/// Three quarters of the machine's.
pub fn default_memory_bytes() -> u64 {
    machine_memory_bytes() / 4 * 3
}

/// What the kernel calls MemTotal; a quarter of a guess where it does not say.
fn machine_memory_bytes() -> u64 {
    const UNKNOWN: u64 = 4 << 30;
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes: Option<u64> = total.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    kilobytes.map_or(UNKNOWN, |kb| kb * 1024)
}

/// Memory: at least what an empty database needs.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    parse_bytes_from(text, 64)
}

/// A log file's size: what it is divided by must divide it.
fn parse_segment_size(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes_from(text, 4)?;
    if bytes.is_power_of_two() && bytes <= 1 << 30 {
        Ok(bytes)
    } else {
        Err("must be a power of two from 4MB to 1GB".into())
    }
}

/// A time, or `0` for never.
fn parse_timeout(text: &str) -> Result<Duration, String> {
    match text {
        "0" => Ok(Duration::ZERO),
        text => parse_duration(text),
    }
}
