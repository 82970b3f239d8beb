//! `mote restore`: a data directory from a base backup and an archive, as of a moment.
//!
//! Leaves out: reading and cutting the log (`mote_engine::backup::restore`), and the replay (the next `mote serve`).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mote_common::Lsn;
use mote_common::env::real;
use mote_engine::backup::restore::display_us;
use mote_engine::backup::{RestoreReport, RestoreTarget, restore};
use mote_types::{ColumnType, Datum, FormatSettings, input_text, oid};

use super::backup::{is_backup, make_empty_directory};
use super::progress::bytes_bar;

/// Microseconds between the Unix epoch and PostgreSQL's (2000-01-01).
const POSTGRES_EPOCH_UNIX_US: i64 = 946_684_800_000_000;

/// Make a data directory from a backup, as of its end or any later moment
///
/// A base backup is needed and, for any moment behind its end, the archive of the log (mote
/// serve --archive-dir). Without a target everything is restored: to the end of the archive, or
/// of the backup. With one, exactly the commits up to it: --to-time takes in every commit whose
/// clock is not later, --to-lsn every commit whose position is not above, --to-name everything
/// up to the first pg_create_restore_point of that name; --exclusive makes "not later"
/// "earlier".
///
/// The log is read and checked first; a gap, damage, a target before the backup or behind the
/// log's end is refused before anything is written. The result is a database of its own (a new
/// system id): the archive of the old one goes on untouched and its later log can never be
/// mixed in. Take a new base backup after the start.
///
/// Examples:
///   mote restore --backup ./backups/monday --data ./restored
///   mote restore --backup ./backups/monday --archive ./archive --data ./restored --to-time "2026-03-01 12:00:00+01"
///   mote restore --backup ./backups/monday --archive ./archive --data ./restored --to-name before_the_mistake
///   mote serve --data ./restored
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct RestoreArguments {
    /// Directory of the base backup
    #[arg(long, value_name = "DIR")]
    backup: PathBuf,

    /// Directory that the server was given as --archive-dir
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,

    /// New or empty directory for the restored database
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// Moment to restore to, as PostgreSQL reads a timestamptz; UTC unless it names a zone
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with_all = ["to_lsn", "to_name"])]
    to_time: Option<i64>,

    /// Log position to restore to, as pg_current_wal_lsn() tells it
    #[arg(long, value_name = "LSN", value_parser = parse_lsn, conflicts_with = "to_name")]
    to_lsn: Option<Lsn>,

    /// Restore point to restore to
    #[arg(long, value_name = "NAME")]
    to_name: Option<String>,

    /// Leave out what is exactly at the time or position
    #[arg(long, conflicts_with = "to_name")]
    exclusive: bool,

    /// No progress bar and no summary
    #[arg(long)]
    quiet: bool,
}

/// Microseconds since 1970 UTC.
fn parse_time(text: &str) -> Result<i64, String> {
    let ty = ColumnType::new(oid::TIMESTAMPTZ);
    match input_text(ty, text, &FormatSettings::default()) {
        Ok(Datum::TimestampTz(us)) if us != i64::MAX && us != i64::MIN => Ok(us + POSTGRES_EPOCH_UNIX_US),
        Ok(_) => Err("a moment is needed".into()),
        Err(error) => Err(error.message().to_string()),
    }
}

fn parse_lsn(text: &str) -> Result<Lsn, String> {
    match input_text(ColumnType::new(oid::PG_LSN), text, &FormatSettings::default()) {
        Ok(Datum::Unsigned8(lsn)) => Ok(Lsn(lsn)),
        Ok(_) => Err("a log position is needed".into()),
        Err(error) => Err(error.message().to_string()),
    }
}

pub fn run(arguments: &RestoreArguments) -> ExitCode {
    match run_restore(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mote: {error}");
            ExitCode::FAILURE
        }
    }
}

fn target_of(arguments: &RestoreArguments) -> Result<RestoreTarget, String> {
    let exclusive = arguments.exclusive;
    match (&arguments.to_time, &arguments.to_lsn, &arguments.to_name) {
        (Some(us), ..) => Ok(RestoreTarget::Time { us: *us, exclusive }),
        (_, Some(lsn), _) => Ok(RestoreTarget::Lsn { lsn: *lsn, exclusive }),
        (.., Some(name)) => Ok(RestoreTarget::Name(name.clone())),
        _ if exclusive => Err("--exclusive needs --to-time or --to-lsn".into()),
        _ => Ok(RestoreTarget::Latest),
    }
}

fn run_restore(arguments: &RestoreArguments) -> Result<(), String> {
    let target = target_of(arguments)?;
    if !is_backup(&arguments.backup) {
        return Err(format!(
            "{} is no base backup, or one that was not finished: it has no file BACKUP",
            arguments.backup.display()
        ));
    }
    let made = make_empty_directory(&arguments.data)?;
    let backup = real::read_only_disk(&arguments.backup);
    let archive = arguments.archive.as_deref().map(real::read_only_disk);
    let bar = bytes_bar(arguments.quiet);
    let env = real::env(&arguments.data);
    let result = restore(&env, &*backup, archive.as_deref(), &target, &mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        Ok(())
    });
    bar.finish_and_clear();
    match result {
        Ok(report) => {
            if !arguments.quiet {
                eprintln!("mote: {}", describe(&report, arguments));
            }
            Ok(())
        }
        Err(error) => {
            if made {
                // Half a restore has no manifest and would not start; it is no use to anybody.
                let _ = std::fs::remove_dir_all(&arguments.data);
            }
            Err(error.to_string())
        }
    }
}

fn describe(report: &RestoreReport, arguments: &RestoreArguments) -> String {
    let last = report.last_commit_us.map_or(String::new(), |us| {
        format!("; the last commit that was read is of {}", display_us(us))
    });
    format!(
        "restored up to {} ({} segments from the archive){last}. It is system {:016x} now. Start it with: mote serve --data {}",
        report.end,
        report.archived_segments,
        report.system_id,
        arguments.data.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_postgresql_reads_them() {
        assert_eq!(parse_time("1970-01-01 00:00:01"), Ok(1_000_000));
        assert_eq!(parse_time("1970-01-01 01:00:00+01"), Ok(0));
        assert!(parse_time("soon").is_err() && parse_time("infinity").is_err());
        assert_eq!(parse_lsn("1/2A"), Ok(Lsn(0x1_0000_002a)));
        assert!(parse_lsn("12").is_err());
    }
}
