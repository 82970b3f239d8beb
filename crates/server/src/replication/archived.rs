//! Where the hub takes log for followers that are behind: this server's files, and below them its archive.
//!
//! An archive may be another machine's, and slow or gone. So a thread of its own reads it, a piece at a time for each follower,
//! and the hub waits for nothing: a follower whose piece is not there yet gets it with a later step. The thread begins with
//! the first follower that needs it. It is not waited for at the end, either; what it still reads nobody takes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_engine::Engine;
use mote_engine::backup::ArchivedLog;
use mote_log::range::LogRanges;
use mote_replication::message::Hello;
use mote_replication::primary::{LogPiece, LogSource, Primary};
use mote_replication::wire::{PIECE_BYTES_MAX, Wire};
use parking_lot::{Condvar, Mutex};

/// Pieces that were read and not taken, or asked for and not read: one for each of the followers that there can be.
const PIECES_MAX: usize = 64;
/// Connections that have asked for the log and not said hello, or whose hello waits for what an archive has. They count as
/// sessions no more: beyond this the oldest is closed, since a follower says hello at once.
pub const PENDING_MAX: usize = 128;
/// A follower that is to be told whether the archive has its log waits for so long.
const LOOK_NS: u64 = 5_000_000_000;

/// A follower that has said hello.
type Arrival = (Wire, Hello);

pub struct Sources {
    here: LogRanges,
    archive: Option<ArchiveReader>,
    /// Who needs log below what is here, and until when he waits for what the archive has.
    asking: Vec<(Arrival, u64)>,
}

impl Sources {
    /// `nudge` is called when the archive has answered.
    pub fn new(engine: &Engine, nudge: impl Fn() + Send + Sync + 'static) -> Sources {
        let log = engine.log();
        Sources {
            here: LogRanges::new(engine.disk(), log.system_id(), log.segment_bytes()),
            archive: engine
                .archived_log()
                .map(|archive| ArchiveReader::new(archive, nudge)),
            asking: Vec::new(),
        }
    }

    /// Of those who say hello, who is to be judged now: who may need log that is in the archive only waits until that was
    /// looked through, since somebody may have removed some of it.
    pub fn arrive(&mut self, hellos: Vec<Arrival>, primary: &mut Primary, now_ns: u64) -> Vec<Arrival> {
        let Some(archive) = &mut self.archive else {
            return hellos;
        };
        let mut ready = Vec::new();
        for arrival in hellos {
            if arrival.1.end >= primary.log_start() {
                ready.push(arrival);
            } else {
                archive.look_below(primary.log_start());
                self.asking.push((arrival, now_ns + LOOK_NS));
            }
        }
        // As in the hub: whoever is closed comes again.
        let beyond = self.asking.len().saturating_sub(PENDING_MAX);
        self.asking
            .drain(..beyond)
            .for_each(|((mut wire, _), _)| wire.close());
        let found = archive.take_found();
        if let Some(from) = found {
            primary.archived_from(from);
        }
        let asking = std::mem::take(&mut self.asking).into_iter();
        let (judged, wait): (Vec<_>, Vec<_>) =
            asking.partition(|(_, until_ns)| found.is_some() || now_ns >= *until_ns);
        self.asking = wait;
        ready.extend(judged.into_iter().map(|(arrival, _)| arrival));
        ready
    }
}

impl LogSource for Sources {
    fn read(&mut self, from: Lsn, buffer: &mut [u8]) -> io::Result<LogPiece> {
        match (self.here.read(from, buffer)?, &mut self.archive) {
            (Some(bytes), _) => Ok(LogPiece::Bytes(bytes)),
            (None, Some(archive)) => Ok(archive.read(from, buffer)),
            (None, None) => Ok(LogPiece::Gone),
        }
    }
}

/// What the archive was asked, and has answered.
#[derive(Default)]
struct Asked {
    quit: bool,
    /// How far down it reaches below this position.
    look: Option<Lsn>,
    found: Option<Lsn>,
    wanted: VecDeque<Lsn>,
    reading: Option<Lsn>,
    ready: VecDeque<(Lsn, Option<Vec<u8>>)>,
    /// Said last, and of which position: the same is not said again before that could be read.
    told: (String, Lsn),
}

struct Shared {
    asked: Mutex<Asked>,
    changed: Condvar,
    nudge: Box<dyn Fn() + Send + Sync>,
}

/// The thread that reads the archive, and what it is asked.
struct ArchiveReader {
    shared: Arc<Shared>,
    /// Until the thread has it.
    archive: Option<ArchivedLog>,
}

impl ArchiveReader {
    fn new(archive: ArchivedLog, nudge: impl Fn() + Send + Sync + 'static) -> ArchiveReader {
        ArchiveReader {
            shared: Arc::new(Shared {
                asked: Mutex::default(),
                changed: Condvar::new(),
                nudge: Box::new(nudge),
            }),
            archive: Some(archive),
        }
    }

    fn look_below(&mut self, lsn: Lsn) {
        self.shared.asked.lock().look = Some(lsn);
        self.rouse();
    }

    /// From where on it has everything below what is here.
    fn take_found(&self) -> Option<Lsn> {
        self.shared.asked.lock().found.take()
    }

    fn read(&mut self, from: Lsn, buffer: &mut [u8]) -> LogPiece {
        let mut asked = self.shared.asked.lock();
        if let Some(at) = asked.ready.iter().position(|(lsn, _)| *lsn == from) {
            return match asked.ready.remove(at) {
                Some((_, Some(piece))) => {
                    let length = piece.len().min(buffer.len());
                    buffer[..length].copy_from_slice(&piece[..length]);
                    LogPiece::Bytes(length)
                }
                _ => LogPiece::Gone,
            };
        }
        if asked.reading != Some(from) && !asked.wanted.contains(&from) {
            asked.wanted.push_back(from);
            // Of followers that have gone meanwhile.
            while asked.wanted.len() > PIECES_MAX {
                asked.wanted.pop_front();
            }
        }
        drop(asked);
        self.rouse();
        LogPiece::Later
    }

    fn rouse(&mut self) {
        if let Some(archive) = self.archive.take() {
            let shared = self.shared.clone();
            let named = std::thread::Builder::new().name("mote-archived".into());
            // Without a thread nobody is answered: who asks is refused in time, or asks again.
            if let Err(error) = named.spawn(move || shared.run(archive)) {
                eprintln!("mote: no thread could be started to read the archive: {error}");
            }
        }
        self.shared.changed.notify_one();
    }
}

impl Drop for ArchiveReader {
    fn drop(&mut self) {
        self.shared.asked.lock().quit = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn run(&self, mut archive: ArchivedLog) {
        let mut buffer = vec![0; PIECE_BYTES_MAX];
        let mut asked = self.asked.lock();
        while !asked.quit {
            if let Some(lsn) = asked.look.take() {
                drop(asked);
                let found = archive.reaches_below(lsn);
                asked = self.asked.lock();
                // Of before: what was wrong there may have been put right.
                asked.ready.clear();
                asked.found = Some(found.unwrap_or_else(|error| {
                    asked.tell(&archive, &error, Lsn::ZERO);
                    lsn
                }));
            } else if let Some(from) = asked.wanted.pop_front() {
                asked.reading = Some(from);
                drop(asked);
                let read = archive.read(from, &mut buffer);
                asked = self.asked.lock();
                asked.reading = None;
                let piece = read.unwrap_or_else(|error| {
                    asked.tell(&archive, &error, from);
                    None
                });
                if piece.is_some() && from >= asked.told.1 {
                    asked.told.0.clear();
                }
                asked
                    .ready
                    .push_back((from, piece.map(|length| buffer[..length].to_vec())));
                while asked.ready.len() > PIECES_MAX {
                    asked.ready.pop_front();
                }
            } else {
                self.changed.wait(&mut asked);
                continue;
            }
            (self.nudge)();
        }
    }
}

impl Asked {
    fn tell(&mut self, archive: &ArchivedLog, error: &io::Error, at: Lsn) {
        let told = format!(
            "the archive {} could not be read for a follower, which waits: {error}. Put a good copy there, or start the \
             follower on an empty directory",
            archive.name()
        );
        if self.told.0 != told {
            eprintln!("mote: warning: {told}");
            self.told = (told, at);
        }
    }
}
