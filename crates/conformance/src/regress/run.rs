//! One file on the reference, recorded; then the record on mote.
//!
//! The reference decides what the file's statements are: only it knows after which COPY data follows.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::script::{Script, Statement};
use super::servers::{Mote, Postgres};
use super::session::{Answer, End, Place, Session};

/// A statement may take this long on the reference: it is only ever exceeded by a mistake of this program.
const REFERENCE_PATIENCE: Duration = Duration::from_secs(30);

/// The suite's directories.
pub struct Suite {
    /// sql/ and parallel_schedule.
    pub directory: PathBuf,
    /// A directory with data/ that both servers may read.
    pub source: PathBuf,
    pub libraries: PathBuf,
}

/// Statements with the reference's answers.
pub type Record = Vec<(Statement, Answer)>;

pub fn record(suite: &Suite, postgres: &Postgres, build: &Path, file: &str) -> Result<Record, String> {
    let path = suite.directory.join("sql").join(format!("{file}.sql"));
    let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = String::from_utf8_lossy(&text);
    let mut session = Session::start(&place(suite, postgres.address, build, file))?;
    let mut script = Script::new(&text);
    let mut record = Vec::new();
    while let Some(mut statement) = script.next(session.conforming) {
        let mut data = Vec::new();
        let answer = session.execute(&statement, REFERENCE_PATIENCE, || {
            data.push(script.data());
            data.last().cloned().unwrap_or_default()
        });
        statement.data = data;
        let end = answer.end;
        if end == End::Hung || end == End::Cancelled {
            // A mistake of this program; the other files still say something.
            let line = statement.line;
            eprintln!("mote-conformance: {file}.sql:{line}: PostgreSQL did not answer, the file ends here");
            break;
        }
        record.push((statement, answer));
        if end != End::Answered {
            break;
        }
    }
    Ok(record)
}

/// How long things may take on mote.
#[derive(Clone, Copy)]
pub struct Patience {
    pub statement: Duration,
    pub file: Duration,
}

/// mote's answers, one for each statement; `None` for those left when the file's time was over.
pub fn replay(
    suite: &Suite,
    mote: &mut Mote,
    build: &Path,
    file: &str,
    record: &Record,
    patience: Patience,
) -> Result<Vec<Option<Answer>>, String> {
    let deadline = Instant::now() + patience.file;
    let mut session: Option<Session> = None;
    let mut answers = Vec::with_capacity(record.len());
    for (at, (statement, reference)) in record.iter().enumerate() {
        if Instant::now() > deadline {
            answers.push(None);
            continue;
        }
        let current = match &mut session {
            Some(session) => session,
            None => session.insert(resume(
                &place(suite, mote.address, build, file),
                &record[..at],
                patience,
            )?),
        };
        let mut data = statement.data.iter();
        // A COPY that PostgreSQL refuses has no data: then there is none here either.
        let answer = current.execute(statement, patience.statement, || {
            data.next().cloned().unwrap_or_else(|| "\\.\n".to_string())
        });
        let end = answer.end;
        answers.push(Some(answer));
        if end == End::Answered || end == End::Cancelled || end == reference.end {
            continue;
        }
        session = None;
        if end == End::Hung || !mote.answers() {
            mote.restart()?;
        }
    }
    if Instant::now() > deadline {
        // Its last statement may have left locks behind that nobody else can wait for.
        drop(session);
    }
    Ok(answers)
}

/// A session in the middle of a file: psql's own variables as they were; the server's settings are lost.
fn resume(place: &Place<'_>, before: &[(Statement, Answer)], patience: Patience) -> Result<Session, String> {
    let mut session = Session::start(place)?;
    let variable = |text: &str| {
        ["\\set ", "\\getenv ", "\\pset ", "\\unset "]
            .iter()
            .any(|word| text.starts_with(word))
    };
    for (statement, _) in before.iter().filter(|(statement, _)| variable(statement.body())) {
        session.execute(statement, patience.statement, String::new);
    }
    Ok(session)
}

fn place<'a>(suite: &'a Suite, server: std::net::SocketAddr, build: &'a Path, file: &'a str) -> Place<'a> {
    Place {
        server,
        file,
        build,
        source: &suite.source,
        libraries: &suite.libraries,
    }
}
