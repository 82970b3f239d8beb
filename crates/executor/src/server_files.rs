//! Files of the server, for a session: a thread of its own opens, reads and writes them.
//!
//! A disk, a FIFO or a network's file system may take for ever to answer, and the thread that a session runs on is
//! everybody's. So the session parks and looks again; it can be cancelled meanwhile. A thread whose session has gone ends
//! when the system has answered it.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use crate::context::StatementContext;

/// What is read, or handed over to be written, at a time.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces between the thread and the session.
const PIECES_AHEAD: usize = 4;
/// The session first looks again after this, and then after twice as long each time, up to the longest.
const LOOK_AGAIN_NS: u64 = 100_000;
const LOOK_AGAIN_LONGEST_NS: u64 = 10_000_000;

/// Runs `work` on a thread of its own; the session is parked until it is done.
pub fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    context: &mut StatementContext<'_>,
) -> SqlResult<T> {
    let (sender, receiver) = sync_channel(1);
    start(move || {
        // The receiver is gone when the statement was cancelled.
        let _ = sender.send(work());
    })?;
    receive(&receiver, context)?.ok_or_else(|| SqlError::internal("the thread of a file ended"))
}

/// Threads at a time in one process, those included that the system has not answered yet; beyond it 53000.
const THREADS_MAX: usize = 64;
/// A number that guards no memory: Relaxed.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// One of the threads, until it ends in whatever way.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(threads: &'static AtomicUsize) -> SqlResult<Counted> {
        // Counted first: the drop takes it back where the bound is reached.
        let before = threads.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(threads);
        if before < THREADS_MAX {
            return Ok(counted);
        }
        let message = "too many files of the server are being read or written";
        Err(SqlError::new(state::INSUFFICIENT_RESOURCES, message)
            .detail(format!("At most {THREADS_MAX} are at a time.")))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts a thread. It is never joined: whoever asked hears of its end through a channel.
fn start(work: impl FnOnce() + Send + 'static) -> SqlResult<()> {
    let counted = Counted::new(&THREADS)?;
    let started = std::thread::Builder::new()
        .name("server-file".into())
        .spawn(move || {
            let _counted = counted;
            work();
        });
    started.map(drop).map_err(|error| {
        SqlError::new(
            state::INSUFFICIENT_RESOURCES,
            format!("could not start a thread: {error}"),
        )
    })
}

/// Parks the session until something has arrived; `None` if nothing will.
fn receive<T>(receiver: &Receiver<T>, context: &mut StatementContext<'_>) -> SqlResult<Option<T>> {
    let mut pause = Pause::default();
    loop {
        match receiver.try_recv() {
            Ok(value) => return Ok(Some(value)),
            Err(TryRecvError::Disconnected) => return Ok(None),
            Err(TryRecvError::Empty) => pause.take(context)?,
        }
    }
}

/// Longer and longer pauses.
#[derive(Default)]
struct Pause {
    taken: u32,
}

impl Pause {
    fn take(&mut self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        let length_ns = (LOOK_AGAIN_NS << self.taken.min(16)).min(LOOK_AGAIN_LONGEST_NS);
        self.taken += 1;
        let at = context.session.clock.monotonic_ns() + length_ns;
        context.sleep_until(at)
    }
}

/// A file that is read ahead.
pub struct FileReader {
    pieces: Receiver<io::Result<Vec<u8>>>,
}

impl FileReader {
    /// Opens the file; a directory is an error of the kind `IsADirectory`.
    pub fn open(path: &str, context: &mut StatementContext<'_>) -> SqlResult<io::Result<FileReader>> {
        let (opened, answer) = sync_channel(1);
        let (sender, pieces) = sync_channel(PIECES_AHEAD);
        let path = path.to_string();
        // The path was checked by the caller: who may name files of the server is a privilege.
        start(move || match open_to_read(&path) {
            Ok(file) => {
                let _ = opened.send(Ok(()));
                send_pieces(file, &sender);
            }
            Err(error) => _ = opened.send(Err(error)),
        })?;
        Ok(opening(&answer, context)?.map(|()| FileReader { pieces }))
    }

    /// The next bytes; `None` at the end.
    pub fn next(&mut self, context: &mut StatementContext<'_>) -> SqlResult<Option<io::Result<Vec<u8>>>> {
        receive(&self.pieces, context)
    }
}

/// What the thread answers once it has opened the file, or has ended.
fn opening(
    answer: &Receiver<io::Result<()>>,
    context: &mut StatementContext<'_>,
) -> SqlResult<io::Result<()>> {
    receive(answer, context)?.ok_or_else(|| SqlError::internal("the thread of a file ended"))
}

fn open_to_read(path: &str) -> io::Result<File> {
    let file = File::open(path)?;
    match file.metadata()?.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false => Ok(file),
    }
}

/// Reads to the end, an error, or until nobody wants more.
fn send_pieces(mut file: File, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut piece = vec![0; PIECE_BYTES];
        let read = match file.read(&mut piece) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                let _ = sender.send(Err(error));
                return;
            }
        };
        piece.truncate(read);
        // The session has dropped its end: cancelled, or it has read enough.
        if sender.send(Ok(piece)).is_err() {
            return;
        }
    }
}

/// A file that is written behind.
pub struct FileWriter {
    buffer: Vec<u8>,
    pieces: SyncSender<Vec<u8>>,
    /// How it ended.
    end: Receiver<io::Result<()>>,
}

impl FileWriter {
    /// Creates the file, or empties it.
    pub fn create(path: &str, context: &mut StatementContext<'_>) -> SqlResult<io::Result<FileWriter>> {
        let (opened, answer) = sync_channel(1);
        let (pieces, receiver) = sync_channel(PIECES_AHEAD);
        let (ended, end) = sync_channel(1);
        let path = path.to_string();
        start(move || match File::create(path) {
            Ok(file) => {
                let _ = opened.send(Ok(()));
                let _ = ended.send(write_pieces(file, &receiver));
            }
            Err(error) => _ = opened.send(Err(error)),
        })?;
        Ok(opening(&answer, context)?.map(|()| FileWriter {
            buffer: Vec::with_capacity(PIECE_BYTES),
            pieces,
            end,
        }))
    }

    /// Buffers the bytes, and hands them over in pieces. The inner error is the file's: an earlier piece may have
    /// failed.
    pub fn write(&mut self, bytes: &[u8], context: &mut StatementContext<'_>) -> SqlResult<io::Result<()>> {
        self.buffer.extend_from_slice(bytes);
        match self.buffer.len() < PIECE_BYTES {
            true => Ok(Ok(())),
            false => self.hand_over(context),
        }
    }

    /// Gives the buffer to the thread, waiting where it is behind.
    fn hand_over(&mut self, context: &mut StatementContext<'_>) -> SqlResult<io::Result<()>> {
        let mut piece = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE_BYTES));
        let mut pause = Pause::default();
        loop {
            match self.pieces.try_send(piece) {
                Ok(()) => return Ok(Ok(())),
                Err(TrySendError::Full(back)) => piece = back,
                // The thread has ended on an error, which it has left behind.
                Err(TrySendError::Disconnected(_)) => return opening(&self.end, context),
            }
            pause.take(context)?;
        }
    }

    /// Writes what is left.
    pub fn finish(mut self, context: &mut StatementContext<'_>) -> SqlResult<io::Result<()>> {
        if let Err(error) = self.hand_over(context)? {
            return Ok(Err(error));
        }
        let FileWriter { pieces, end, .. } = self;
        // The end of the pieces is what ends the thread.
        drop(pieces);
        opening(&end, context)
    }
}

fn write_pieces(mut file: File, pieces: &Receiver<Vec<u8>>) -> io::Result<()> {
    pieces.iter().try_for_each(|piece| file.write_all(&piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_bounded_and_come_free() {
        // Its own, since other tests use files.
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        let all: Vec<Counted> = (0..THREADS_MAX)
            .map(|_| Counted::new(&THREADS).expect("below the bound"))
            .collect();
        let refused = Counted::new(&THREADS).err().expect("at the bound");
        assert_eq!(refused.state(), state::INSUFFICIENT_RESOURCES);
        drop(all);
        assert!(Counted::new(&THREADS).is_ok());
    }
}
