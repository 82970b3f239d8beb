//! A thread that reads the log for one subscriber and makes pgoutput's messages of it.
//!
//! It reads what is stable, out of the files, and waits while a few pieces of messages are untaken: so a subscriber that
//! does not read costs neither memory nor a worker. Who drops the [`Source`] ends the thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use mote_catalog::catalog_store::{CatalogStore, SessionCatalog};
use mote_catalog::directory::Nudge;
use mote_common::error::state;
use mote_common::{Lsn, Oid, SqlError};
use mote_engine::{Engine, HorizonListener, Horizons, Moved};
use mote_log::range::LogRanges;
use mote_log::stream::FrameStream;
use mote_replication::decoder::{DecodeError, Decoder};
use mote_replication::history::History;
use parking_lot::{Condvar, Mutex};

use super::output::Output;

/// Log that is read at once.
const PIECE_BYTES: usize = 128 << 10;
/// Messages are handed over when they are so many bytes, or the log has no more.
const HANDED_BYTES: usize = 64 << 10;
/// Pieces of messages that may wait for the subscriber.
const WAITING_MAX: usize = 4;
/// A thread that waits for the log looks this often whether it is still wanted.
const LOOK: Duration = Duration::from_millis(500);

/// What the thread has made.
pub struct Piece {
    /// CopyData messages.
    pub messages: Vec<u8>,
    /// All that ends up to here was told, or is of no concern to the subscriber.
    pub position: Lsn,
    /// From where the log must be read by a subscriber that has everything up to there; `None`: it ends in the midst of a
    /// transaction.
    pub needs: Option<Lsn>,
}

/// What the thread needs to know.
pub struct Order {
    pub engine: Arc<Engine>,
    pub history: History,
    /// From where the log is read, and what the subscriber has already.
    pub from: Lsn,
    pub start: Lsn,
    pub output: Output,
    /// For names of types and objects.
    pub store: Arc<CatalogStore>,
    pub database: Oid,
    pub search_path: Vec<String>,
}

pub struct Source {
    pieces: Receiver<Result<Piece, SqlError>>,
    bell: Arc<Bell>,
    engine: Arc<Engine>,
}

impl Source {
    /// `nudge` is called when there is a piece, or the thread has ended.
    pub fn start(order: Order, nudge: Arc<dyn Nudge>) -> io::Result<Source> {
        let bell = Arc::new(Bell::default());
        let engine = order.engine.clone();
        engine.on_horizon(bell.clone());
        let (sender, pieces) = sync_channel(WAITING_MAX);
        let source = Source {
            pieces,
            bell: bell.clone(),
            engine,
        };
        std::thread::Builder::new()
            .name("mote-decoder".into())
            .spawn(move || {
                let (store, engine) = (order.store.clone(), order.engine.clone());
                let mut catalog = SessionCatalog::new(store, engine, &mote_catalog::views::TABLES);
                catalog.database = order.database;
                catalog.search_path = order.search_path.clone();
                catalog.search_path_changed();
                let _types = catalog.enter_types();
                let run = Run {
                    ranges: ranges(&order.engine),
                    sender: sender.clone(),
                    nudge: nudge.clone(),
                    bell,
                    order,
                };
                if let Err(error) = run.run() {
                    let _ = sender.send(Err(error));
                }
                drop(sender);
                nudge.nudge();
            })?;
        Ok(source)
    }

    /// The next piece; `None`: there is none yet.
    pub fn take(&self) -> Result<Option<Piece>, SqlError> {
        match self.pieces.try_recv() {
            Ok(piece) => piece.map(Some),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                Err(SqlError::internal("the thread that reads the log has ended"))
            }
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let listener: Arc<dyn HorizonListener> = self.bell.clone();
        self.engine.forget_listener(&listener);
        self.bell.quit();
    }
}

/// Rings when the log has more that is stable.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
    quit: AtomicBool,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock() = true;
        self.changed.notify_one();
    }

    fn quit(&self) {
        self.quit.store(true, Ordering::Release); // pairs with the Acquire in `is_over`
        self.ring();
    }

    fn is_over(&self) -> bool {
        self.quit.load(Ordering::Acquire)
    }

    fn wait(&self) {
        let mut rung = self.rung.lock();
        if !*rung {
            self.changed.wait_for(&mut rung, LOOK);
        }
        *rung = false;
    }
}

impl HorizonListener for Bell {
    fn horizon_moved(&self, _: Horizons, _: Moved) {
        self.ring();
    }
}

fn ranges(engine: &Engine) -> LogRanges {
    let log = engine.log();
    LogRanges::new(engine.disk(), log.system_id(), log.segment_bytes())
}

struct Run {
    order: Order,
    ranges: LogRanges,
    sender: SyncSender<Result<Piece, SqlError>>,
    nudge: Arc<dyn Nudge>,
    bell: Arc<Bell>,
}

impl Run {
    fn run(mut self) -> Result<(), SqlError> {
        let from = self.order.from;
        let mut decoder = Decoder::new(from, self.order.start);
        let mut frames = FrameStream::new(from);
        let mut piece = vec![0; PIECE_BYTES];
        let mut told = Lsn::ZERO;
        while !self.bell.is_over() {
            let stable = self.order.engine.log().stable();
            self.take_frames(&mut frames, &mut decoder)?;
            if self.bell.is_over() {
                return Ok(());
            }
            let fed = frames.fed_to();
            if fed < stable {
                let length = (stable.0 - fed.0).min(PIECE_BYTES as u64) as usize;
                match self.ranges.read(fed, &mut piece[..length]) {
                    Ok(Some(read)) => frames.feed(&piece[..read]),
                    Ok(None) => return Err(gone()),
                    Err(error) => return Err(failed(&DecodeError::Io(error))),
                }
                continue;
            }
            if decoder.position() > told {
                told = decoder.position();
                self.hand_over(&decoder);
                continue;
            }
            self.bell.wait();
        }
        Ok(())
    }

    fn take_frames(&mut self, frames: &mut FrameStream, decoder: &mut Decoder) -> Result<(), SqlError> {
        loop {
            self.skip_torn(frames);
            let frame = frames.next_frame();
            let Some(frame) = frame.map_err(|fault| failed(&DecodeError::Fault(fault)))? else {
                return Ok(());
            };
            let mut refused = None;
            let (output, sender, nudge, bell) =
                (&mut self.order.output, &self.sender, &self.nudge, &self.bell);
            let before = decoder.position();
            let decoded = decoder.frame(&frame, &mut self.ranges, &mut |at, event| {
                if let Err(error) = output.take(at, event) {
                    refused = Some(error);
                    return Err(DecodeError::Ended);
                }
                // In the midst of a transaction, too: it may be long.
                if output.ready.len() >= HANDED_BYTES {
                    let piece = Piece {
                        messages: std::mem::take(&mut output.ready),
                        position: before,
                        needs: None,
                    };
                    hand(sender, nudge, piece);
                }
                match bell.is_over() {
                    true => Err(DecodeError::Ended),
                    false => Ok(()),
                }
            });
            match (decoded, refused) {
                (_, Some(error)) => return Err(error),
                (Ok(()), None) => {}
                (Err(DecodeError::Ended), None) => return Ok(()),
                (Err(DecodeError::Gone(_)), None) => return Err(gone()),
                (Err(error), None) => return Err(failed(&error)),
            }
            if self.order.output.ready.len() >= HANDED_BYTES {
                self.hand_over(decoder);
            }
        }
    }

    /// Where a term ended in a torn frame, the next one begins on the next block.
    fn skip_torn(&self, frames: &mut FrameStream) {
        let marks = self.order.history.marks().iter();
        let mut ended = marks.filter(|mark| mark.previous_end == frames.position());
        if let Some(mark) = ended.next() {
            frames.skip_to(mark.start);
        }
    }

    fn hand_over(&mut self, decoder: &Decoder) {
        let piece = Piece {
            messages: std::mem::take(&mut self.order.output.ready),
            position: decoder.position(),
            needs: Some(decoder.needed_from()),
        };
        hand(&self.sender, &self.nudge, piece);
    }
}

fn hand(sender: &SyncSender<Result<Piece, SqlError>>, nudge: &Arc<dyn Nudge>, piece: Piece) {
    // Nobody takes it any more: the loop ends by the bell.
    let _ = sender.send(Ok(piece));
    nudge.nudge();
}

fn gone() -> SqlError {
    let message = "requested WAL segment has already been removed";
    SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

fn failed(error: &DecodeError) -> SqlError {
    SqlError::new(
        state::DATA_CORRUPTED,
        format!("the log could not be decoded: {error}"),
    )
}
