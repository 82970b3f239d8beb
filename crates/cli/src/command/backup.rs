//! `mote backup`: a base backup of a running server over its ordinary port, and `mote backup verify`.
//!
//! Everything that arrives is checked before it is written. Leaves out: the files themselves (`mote_engine::backup`).

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use mote_common::Lsn;
use mote_common::env::real;
use mote_driver::{Definition, DriverError, Format, Param, Session, StatementId, StatementSet, Target, Wait};
use mote_engine::backup::{
    BackupError, BackupLabel, BackupSink, BackupSource, DirectorySink, LABEL_PATH, Progress, copy_backup,
    verify_backup,
};
use mote_engine::checkpoint::Manifest;

use super::progress::bytes_bar;
use super::units::parse_bytes;

/// Take a base backup of a running server, or verify one
///
/// The backup goes into a new directory, or as a tar archive to standard output. The server
/// goes on working; nothing is locked. The backup is consistent as of its end, and every byte
/// is checked on its way. The role must be a superuser. A backup and the archive of the log
/// (mote serve --archive-dir) together give any later moment back: see mote restore.
///
/// Examples:
///   mote backup --to ./backups/monday --label "before the upgrade"
///   mote backup --target postgres://admin:secret@db:5432/postgres --to - | zstd > monday.tar.zst
///   mote backup --to ./backups/monday --throttle 50MB
///   mote backup verify ./backups/monday
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct BackupArguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// Server, as postgres://user:password@host:port/database
    #[arg(
        long,
        value_name = "URL",
        default_value = "postgres://postgres@127.0.0.1:5432/postgres"
    )]
    target: String,

    /// New or empty directory for the backup; "-" writes a tar archive to standard output
    #[arg(long, value_name = "DIR", required = true)]
    to: Option<PathBuf>,

    /// Words to know the backup by
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,

    /// Most bytes a second, as in 50MB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    throttle: Option<u64>,

    /// Have the server make a checkpoint first, so that the backup has less log to replay
    #[arg(long)]
    checkpoint: bool,

    /// No progress bar and no summary
    #[arg(long)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Check every byte of a backup's directory; exit code 1 if anything is wrong
    Verify(VerifyArguments),
}

#[derive(Args)]
struct VerifyArguments {
    /// The backup's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// No progress bar; only faults are told
    #[arg(long)]
    quiet: bool,
}

pub fn run(arguments: &BackupArguments) -> ExitCode {
    let result = match &arguments.action {
        Some(Action::Verify(verify)) => run_verify(verify),
        None => run_backup(arguments).map(|()| true),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mote: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_verify(arguments: &VerifyArguments) -> Result<bool, String> {
    let bar = bytes_bar(arguments.quiet);
    let disk = real::read_only_disk(&arguments.directory);
    let (label, faults) = verify_backup(&*disk, &mut |progress| {
        draw(&bar, progress);
        Ok(())
    })
    .map_err(|error| error.to_string())?;
    bar.finish_and_clear();
    for fault in &faults {
        eprintln!("mote: {fault}");
    }
    if faults.is_empty() && !arguments.quiet {
        println!("{}", describe(&label));
        println!("sound: {} files, every byte checked", label.files.len() + 1);
    }
    Ok(faults.is_empty())
}

fn describe(label: &BackupLabel) -> String {
    let bytes: u64 = label.files.iter().map(|file| file.bytes).sum();
    let name = match label.label.as_str() {
        "" => String::new(),
        label => format!(" \"{label}\""),
    };
    format!(
        "backup{name} of system {:016x}: {:.1} MB, can be restored from {} on, its own log ends at {}",
        label.system_id,
        bytes as f64 / 1e6,
        label.consistent,
        label.end
    )
}

fn draw(bar: &ProgressBar, progress: Progress) {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
}

fn run_backup(arguments: &BackupArguments) -> Result<(), String> {
    let target = Target::parse(&arguments.target)?;
    let to = arguments.to.as_deref().ok_or("--to DIR is needed")?;
    if to == Path::new("-") {
        let mut sink = TarSink::new(io::stdout().lock());
        return copy(arguments, &target, &mut sink);
    }
    let made = make_empty_directory(to)?;
    let disk = real::disk(to);
    let result = DirectorySink::create(&*disk)
        .map_err(|error| format!("{}: {error}", to.display()))
        .and_then(|mut sink| copy(arguments, &target, &mut sink));
    if result.is_err() && made {
        // What is there is no backup. If it cannot go, it stays without a label.
        let _ = std::fs::remove_dir_all(to);
    }
    result
}

/// Answers whether the directory is new.
pub fn make_empty_directory(directory: &Path) -> Result<bool, String> {
    let shown = directory.display();
    match std::fs::read_dir(directory) {
        Ok(mut entries) => match entries.next() {
            None => Ok(false),
            Some(_) => Err(format!(
                "directory {shown} is not empty: name a new or an empty one"
            )),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::create_dir_all(directory)
            .map(|()| true)
            .map_err(|error| format!("could not create directory {shown}: {error}")),
        Err(error) => Err(format!("could not read directory {shown}: {error}")),
    }
}

/// Copies a server's database as a base backup does: what a node begins with. Answers where the copied log ends.
pub(super) fn clone_into(target: &Target, sink: &mut dyn BackupSink) -> Result<Lsn, String> {
    let mut server = Server::connect(target)?;
    server.to_the_last = false;
    let manifest = server.start()?;
    let bar = bytes_bar(false);
    let label = copy_backup(
        &manifest,
        "follower",
        &wall_us,
        &mut server,
        sink,
        &mut |progress| {
            draw(&bar, progress);
            Ok(())
        },
    )
    .map_err(|error| error.to_string())?;
    bar.finish_and_clear();
    server.run(STOP)?;
    Ok(label.end)
}

fn copy(arguments: &BackupArguments, target: &Target, sink: &mut dyn BackupSink) -> Result<(), String> {
    let mut server = Server::connect(target)?;
    if arguments.checkpoint {
        server.run(CHECKPOINT)?;
    }
    let manifest = server.start()?;
    let bar = bytes_bar(arguments.quiet);
    let started = Instant::now();
    let label = copy_backup(
        &manifest,
        &arguments.label,
        &wall_us,
        &mut server,
        sink,
        &mut |progress| {
            draw(&bar, progress);
            throttle(arguments.throttle, progress.done, started);
            Ok(())
        },
    )
    .map_err(|error| error.to_string())?;
    bar.finish_and_clear();
    server.run(STOP)?;
    if !arguments.quiet {
        eprintln!("mote: {}", describe(&label));
    }
    Ok(())
}

/// Sleeps until `done` bytes are not more than the rate allows.
fn throttle(bytes_per_s: Option<u64>, done: u64, started: Instant) {
    if let Some(rate) = bytes_per_s.filter(|&rate| rate > 0) {
        let due = Duration::from_secs_f64(done as f64 / rate as f64);
        std::thread::sleep(due.saturating_sub(started.elapsed()));
    }
}

fn wall_us() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_micros() as i64)
}

// The server's side, see `mote_executor::functions::backup`.

const START: StatementId = StatementId(0);
const READ: StatementId = StatementId(1);
const STOP: StatementId = StatementId(2);
const SWITCH: StatementId = StatementId(3);
const FLUSHED: StatementId = StatementId(4);
const CHECKPOINT: StatementId = StatementId(5);

fn statements() -> StatementSet {
    let statement = |sql: &'static str, params: &'static [Param], results: &'static [Format]| Definition {
        sql: sql.into(),
        params: params.into(),
        results,
    };
    StatementSet::new(vec![
        statement("select mote_backup_start()", &[], &[Format::Binary]),
        statement(
            "select mote_backup_read($1, $2, $3)",
            &[Param::Text, Param::Long, Param::Int],
            &[Format::Binary],
        ),
        statement("select mote_backup_stop()", &[], &[Format::Text]),
        statement("select pg_switch_wal()", &[], &[Format::Binary]),
        statement("select pg_current_wal_flush_lsn()", &[], &[Format::Binary]),
        statement("checkpoint", &[], &[]),
    ])
}

/// A session with a running server.
struct Server {
    session: Session,
    /// What was committed when the copy ends belongs to it. A follower's copy ends with what is stable: it gets the rest as
    /// log, and commits may wait for this very follower.
    to_the_last: bool,
}

impl Server {
    fn connect(target: &Target) -> Result<Server, String> {
        let session = Session::open(target, Arc::new(statements()), &Wait::Blocking).map_err(|error| {
            // 42883: the functions of a backup are not there.
            let hint = match error.sqlstate() {
                "42883" => ". This server is not mote, or an older release of it",
                _ => "",
            };
            format!("{target}: {error}{hint}")
        })?;
        Ok(Server {
            session,
            to_the_last: true,
        })
    }

    fn run(&mut self, statement: StatementId) -> Result<(), String> {
        self.session.send(statement, |bind| bind);
        self.session
            .round_trip(&Wait::Blocking)
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    fn start(&mut self) -> Result<Manifest, String> {
        self.session.send(START, |bind| bind);
        let bytes = value(&mut self.session).map_err(|error| error.to_string())?;
        Manifest::decode(&bytes).map_err(|error| error.to_string())
    }
}

/// The only value of the answer.
fn value(session: &mut Session) -> Result<Vec<u8>, DriverError> {
    let reply = session.round_trip(&Wait::Blocking)?;
    let bytes = reply.row("the answer")?.bytes()?;
    Ok(bytes.unwrap_or_default().to_vec())
}

fn refused(error: DriverError) -> BackupError {
    BackupError::Refused(error.to_string())
}

impl BackupSource for Server {
    fn read(&mut self, path: &str, offset: u64, bytes: usize) -> Result<Vec<u8>, BackupError> {
        let (at, length) = (offset as i64, bytes as i32);
        self.session
            .send(READ, |bind| bind.text(path).long(at).int(length));
        value(&mut self.session).map_err(refused)
    }

    fn log_end(&mut self) -> Result<Lsn, BackupError> {
        if self.to_the_last {
            self.run(SWITCH).map_err(BackupError::Refused)?;
        }
        self.session.send(FLUSHED, |bind| bind);
        let bytes = value(&mut self.session).map_err(refused)?;
        let lsn: [u8; 8] = bytes
            .try_into()
            .map_err(|_| BackupError::Refused("the server's log position has no eight bytes".into()))?;
        Ok(Lsn(u64::from_be_bytes(lsn)))
    }
}

/// A tar archive, written as it comes.
struct TarSink<W: Write> {
    out: W,
    /// Bytes of the file in work.
    written: u64,
    mtime_s: u64,
}

const TAR_BLOCK_BYTES: u64 = 512;

impl<W: Write> TarSink<W> {
    fn new(out: W) -> TarSink<W> {
        TarSink {
            out,
            written: 0,
            mtime_s: (wall_us() / 1_000_000).max(0) as u64,
        }
    }
}

impl<W: Write> BackupSink for TarSink<W> {
    fn begin(&mut self, path: &str, bytes: u64) -> io::Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_path(path)?;
        header.set_size(bytes);
        header.set_mode(0o600);
        header.set_mtime(self.mtime_s);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        self.written = 0;
        self.out.write_all(header.as_bytes())
    }

    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        self.written += data.len() as u64;
        self.out.write_all(data)
    }

    fn zeros(&mut self, mut bytes: u64) -> io::Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        self.written += bytes;
        while bytes > 0 {
            let part = bytes.min(ZEROS.len() as u64);
            self.out.write_all(&ZEROS[..part as usize])?;
            bytes -= part;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let padding = self.written.next_multiple_of(TAR_BLOCK_BYTES) - self.written;
        self.out
            .write_all(&[0; TAR_BLOCK_BYTES as usize][..padding as usize])
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.write_all(&[0; 2 * TAR_BLOCK_BYTES as usize])?;
        self.out.flush()
    }
}

/// Whether the directory holds the label of a backup.
pub fn is_backup(directory: &Path) -> bool {
    directory.join(LABEL_PATH).exists()
}
