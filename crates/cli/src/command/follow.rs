//! `mote serve --follow`: how a node gets its copy, and how it asks for the log.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mote_common::Lsn;
use mote_driver::url::Host;
use mote_driver::{DriverError, Handed, Session, StatementSet, Target, Wait, wire};
use mote_engine::checkpoint::Manifest;
use mote_engine::checkpoint::manifest::MANIFEST_PATH;
use mote_log::TermMark;
use mote_replication::history::History;
use mote_replication::node;
use mote_server::replication::follower::{self, FollowConfig, Place};
use mote_server::replication::link::Link;

use super::copying::{self, Copying};

/// A primary that says nothing for so long in the midst of a copy is given up.
const COPY_SILENCE: Duration = Duration::from_secs(60);

/// The primary, and this node's name there.
#[derive(Clone)]
pub struct Primary {
    target: Target,
    name: Option<String>,
}

/// A session at the primary with a temporary slot: while it lives, the primary keeps its log from that moment on, up to
/// `--max-slot-log`. It ends with this process, whatever ends that.
pub struct KeptLog(#[expect(dead_code, reason = "held for its socket")] Session);

impl Primary {
    pub fn new(url: &str, name: Option<String>) -> Result<Primary, String> {
        let mut target = Target::parse(url).map_err(|error| format!("--follow {url}: {error}"))?;
        // What a follower is told of objects must not wait until followers have it: then none could come.
        target.settings.push(("synchronous_commit", "local".into()));
        Ok(Primary { target, name })
    }

    /// A cluster's leader, which has a host.
    pub fn at(mut target: Target, name: Option<String>) -> Primary {
        target.settings.push(("synchronous_commit", "local".into()));
        Primary { target, name }
    }

    /// Makes an empty directory, or one with an unfinished copy, a copy of the primary's database, whose log is `part`'s; answers
    /// what keeps the log that the copy needs until its first stream has begun. One that has a database stays as it is.
    pub fn prepare(&self, data: &Path, part: node::Part) -> Result<Option<KeptLog>, String> {
        if data.join(MANIFEST_PATH).exists() {
            return copying::is_done(data).map(|()| None);
        }
        eprintln!("mote: copying {} into {}", self.target, data.display());
        let mut target = self.target.clone();
        // A primary whose machine is gone does not end the connection.
        target.answer_timeout.get_or_insert(COPY_SILENCE);
        let kept = self.keep_log()?;
        let copying = Copying::begin(data)?;
        let mut sink = copying.sink()?;
        let end = super::backup::clone_into(&target, &mut sink)?;
        let manifest = sink.manifest;
        copying.finish(&manifest, &self.terms_below(end)?, part)?;
        Ok(Some(kept))
    }

    /// From before the copy on: a checkpoint between its end and the first stream would let go of log else.
    fn keep_log(&self) -> Result<KeptLog, String> {
        let mut session = open(&self.target, "mote clone")?;
        let number = mote_common::env::real::entropy_u64();
        let create =
            format!("CREATE_REPLICATION_SLOT mote_clone_{number:016x} TEMPORARY PHYSICAL RESERVE_WAL");
        query(&mut session, &create)?;
        Ok(KeptLog(session))
    }

    pub fn config(&self, id: u64, kept: Option<KeptLog>) -> FollowConfig {
        let name = self.name.clone().unwrap_or_else(|| format!("node{id:016x}"));
        let (host, port) = match &self.target.host {
            Host::Name(host) => (host.clone(), self.target.port),
            Host::SocketDirectory(directory) => (directory.display().to_string(), self.target.port),
        };
        let target = self.target.clone();
        FollowConfig {
            connect: Box::new({
                let name = name.clone();
                // Roots that were replaced count from the next connection on.
                move |_| start_replication(&target.renewed()?, &name)
            }),
            name,
            primary: Some(Place { host, port }),
            silence: follower::SILENCE,
            promised: 0,
            kept_bytes_max: None,
            until_begun: kept.map(|kept| -> Box<dyn Send> { Box::new(kept) }),
        }
    }

    /// The primary's terms that begin in a log which ends at `end`.
    fn terms_below(&self, end: Lsn) -> Result<History, String> {
        let mut session = open(&self.target, "mote clone")?;
        let rows = query(&mut session, "TIMELINE_HISTORY 4294967295")?;
        let content = rows
            .first()
            .and_then(|row| row.get(1))
            .cloned()
            .unwrap_or_default();
        let marks: Option<Vec<TermMark>> = content.lines().map(mark).collect();
        let marks = marks.ok_or_else(|| format!("{}: its terms are malformed", self.target))?;
        Ok(History::new(
            marks.into_iter().filter(|mark| mark.start < end).collect(),
        ))
    }
}

/// Of the database in a directory.
pub fn system_id(data: &Path) -> Result<u64, String> {
    let manifest = Manifest::read(&*mote_common::env::real::disk(data)).map_err(|error| error.to_string())?;
    let manifest = manifest.ok_or_else(|| format!("{} holds no database", data.display()))?;
    Ok(manifest.system_id)
}

/// A line of TIMELINE_HISTORY.
fn mark(line: &str) -> Option<TermMark> {
    let mut fields = line.split('\t');
    Some(TermMark {
        term: fields.next()?.parse().ok()?,
        start: Lsn(fields.next()?.parse().ok()?),
        previous_end: Lsn(fields.next()?.parse().ok()?),
        nonce: fields.next()?.parse().ok()?,
    })
}

/// A session that replicates.
pub fn open(target: &Target, name: &str) -> Result<Session, String> {
    let mut target = target.clone();
    target.settings.push(("replication", "true".into()));
    open_plain(&target, name)
}

pub fn open_plain(target: &Target, name: &str) -> Result<Session, String> {
    let mut target = target.clone();
    target.settings.push(("application_name", name.into()));
    let statements = Arc::new(StatementSet::new(Vec::new()));
    let failed = |error| format!("{target}: {error}{}", advice(&target, &error));
    Session::open(&target, statements, &Wait::Blocking).map_err(failed)
}

/// What to do where the other side wants encryption.
fn advice(target: &Target, error: &DriverError) -> &'static str {
    match error {
        DriverError::Server(error) if target.tls().is_none() && error.message.ends_with("no encryption") => {
            "; add sslmode=require or sslmode=verify-full to the URL (--cluster-sslmode for a node of a cluster)"
        }
        _ => "",
    }
}

pub fn start_replication(target: &Target, name: &str) -> Result<Link, String> {
    let failed = |error: DriverError| format!("{target}: {error}");
    // A server that accepts and then stands still is asked again later; the stream itself has another patience.
    let mut target = target.clone();
    target.answer_timeout.get_or_insert(target.connect_timeout);
    let mut session = open(&target, name)?;
    session
        .send_simple("START_REPLICATION PHYSICAL 0/0", &Wait::Blocking)
        .map_err(failed)?;
    loop {
        let frame = session.next_frame(&Wait::Blocking).map_err(failed)?;
        match frame.kind {
            b'W' => return session.hand_over().map(link).map_err(failed),
            b'E' => {
                return Err(format!(
                    "{target}: {}",
                    DriverError::Server(Box::new(wire::decode_error(frame.body)))
                ));
            }
            _ => {}
        }
    }
}

fn link(handed: Handed) -> Link {
    match handed {
        Handed::Tcp(stream) => Link::tcp(stream),
        Handed::Unix(stream) => Link::unix(stream),
        Handed::Tls(stream, encryption) => Link::tcp(stream).encrypted(*encryption),
    }
}

/// The rows of a simple query, as text.
pub fn query(session: &mut Session, text: &str) -> Result<Vec<Vec<String>>, String> {
    let failed = |error: DriverError| error.to_string();
    session.send_simple(text, &Wait::Blocking).map_err(failed)?;
    let mut rows = Vec::new();
    loop {
        let frame = session.next_frame(&Wait::Blocking).map_err(failed)?;
        match frame.kind {
            b'D' => rows.push(texts(frame.body).ok_or("a row of the server is malformed")?),
            b'E' => return Err(DriverError::Server(Box::new(wire::decode_error(frame.body))).to_string()),
            b'Z' => return Ok(rows),
            _ => {}
        }
    }
}

/// The values of a DataRow; NULL is empty.
fn texts(mut body: &[u8]) -> Option<Vec<String>> {
    let (count, rest) = body.split_first_chunk::<2>()?;
    body = rest;
    let mut values = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, rest) = body.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length).max(0) as usize;
        let (value, rest) = rest.split_at_checked(length)?;
        values.push(String::from_utf8(value.to_vec()).ok()?);
        body = rest;
    }
    Some(values)
}
