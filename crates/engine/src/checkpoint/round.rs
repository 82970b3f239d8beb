//! One round: which segments need an image, and when the log may go.
//!
//! Invariants:
//! 1. `next` differs from `written` only by images that were written since; a failure throws `next` away, and with it
//!    the file, since after a failed sync nobody knows what the file holds.
//! 2. `floor` of a pending segment: everything committed to it up to there is in images (its own, or it was empty).
//! 3. Files are removed only when the manifest on disk names them no longer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Weak};

use mote_common::env::Env;
use mote_common::{Lsn, TableId};

use mote_log::FlushedTo;

use super::image::{
    IMAGE_DIRECTORY, IMAGE_FILE_HEADER_BYTES, ImageBuilder, ImageFile, image_path, parse_image_name,
};
use super::manifest::{ImageEntry, Manifest, SegmentKey};
use super::{CheckpointOutcome, CheckpointReport, Checkpointer, TableSource};

/// Images a thread writes between two looks at the round.
const IMAGES_PER_THREAD: usize = 8;
/// A file shorter than this takes the images of the next round, too.
const SHARED_FILE_BYTES: u64 = 4 << 20;

pub(super) struct State {
    /// As on disk.
    written: Manifest,
    /// As it will be.
    next: Manifest,
    round: Option<Round>,
    /// One for each thread that writes images.
    lanes: Vec<Lane>,
    /// Image bytes since the last manifest.
    unlisted_bytes: u64,
    last_round_ns: u64,
    report: CheckpointReport,
    /// Manifests whose files backups still read.
    pub held: Vec<Weak<Manifest>>,
}

/// One thread's way to the disk.
#[derive(Default)]
struct Lane {
    file: Option<ImageFile>,
    builder: ImageBuilder,
    /// Written in this batch.
    images: Vec<(SegmentKey, ImageEntry)>,
}

struct Round {
    /// `stable` when the round began.
    start: Lsn,
    /// Oldest image first.
    pending: VecDeque<Pending>,
    /// What this round left of old files was looked for.
    swept: bool,
}

struct Pending {
    table: Arc<dyn TableSource>,
    segment: u32,
    floor: Lsn,
}

impl State {
    pub fn new(manifest: Manifest, now_ns: u64) -> State {
        State {
            next: manifest.clone(),
            written: manifest,
            round: None,
            lanes: Vec::new(),
            unlisted_bytes: 0,
            last_round_ns: now_ns,
            report: CheckpointReport::default(),
            held: Vec::new(),
        }
    }

    pub fn in_round(&self) -> bool {
        self.round.is_some()
    }

    /// The manifest on the disk.
    pub fn written(&self) -> &Manifest {
        &self.written
    }

    pub fn covered(&self) -> Lsn {
        self.written.covered
    }

    pub fn last_round_ns(&self) -> u64 {
        self.last_round_ns
    }

    pub fn report(&self) -> CheckpointReport {
        CheckpointReport {
            covered: self.written.covered,
            log_start: self.written.log_start,
            ..self.report.clone()
        }
    }

    /// After a round. Were the next one to go on in the same files, its images would share them with those it replaces,
    /// and the space of these would stay taken. Small rounds share a file all the same.
    fn close_files(&mut self) {
        for lane in &mut self.lanes {
            lane.file.take_if(|file| file.bytes() >= SHARED_FILE_BYTES);
        }
    }

    /// After a failure.
    pub fn give_up(&mut self, error: &io::Error) {
        // The number of a file that failed is not used again within this life.
        let next_image_file = self.next.next_image_file;
        self.next = self.written.clone();
        self.next.next_image_file = next_image_file;
        self.round = None;
        self.lanes.clear();
        self.unlisted_bytes = 0;
        self.report.running = false;
        self.report.failures += 1;
        self.report.last_error = Some(error.to_string());
    }
}

impl Checkpointer {
    /// One piece of work, with up to `threads` threads where it is about images.
    pub(super) fn advance(&self, state: &mut State, threads: usize) -> io::Result<CheckpointOutcome> {
        if self.log.is_stopped() {
            return Ok(CheckpointOutcome::Stopped);
        }
        let Some(round) = &mut state.round else {
            return self.begin(state);
        };
        if !round.pending.is_empty() {
            let batch = if threads > 1 {
                threads * IMAGES_PER_THREAD
            } else {
                1
            };
            let batch: Vec<Pending> = round.pending.drain(..batch.min(round.pending.len())).collect();
            let bytes = self.images(state, &batch, threads)?;
            if state.unlisted_bytes >= self.config.manifest_bytes {
                // Not agreed yet: all of it stays to be listed, and the next step tries again.
                if self.list(state)? == FlushedTo::Stopped {
                    return Ok(CheckpointOutcome::Stopped);
                }
            }
            return Ok(CheckpointOutcome::Imaged { bytes });
        }
        if !round.swept {
            round.swept = true;
            let sparse = self.sparse_segments(&state.next)?;
            if !sparse.is_empty() {
                state.report.segments_total += sparse.len() as u64;
                round.pending.extend(sparse);
                return Ok(CheckpointOutcome::Imaged { bytes: 0 });
            }
        }
        match self.list(state)? {
            FlushedTo::Stable => {}
            FlushedTo::NotAgreed => return Ok(CheckpointOutcome::Waits),
            FlushedTo::Stopped => return Ok(CheckpointOutcome::Stopped),
        }
        state.close_files();
        state.round = None;
        state.report.rounds += 1;
        state.report.running = false;
        state.report.finished_us = Some(self.env.clock.wall_us());
        state.report.last_error = None;
        state.last_round_ns = self.env.clock.monotonic_ns();
        Ok(CheckpointOutcome::Finished {
            covered: state.written.covered,
            log_start: state.written.log_start,
        })
    }

    fn begin(&self, state: &mut State) -> io::Result<CheckpointOutcome> {
        // First the horizon, then the tables: what is clean below has no commit up to `start` that its image lacks.
        let start = self.log.stable();
        let tables = self.source.tables();
        let mut pending = Vec::new();
        for table in &tables {
            for segment in 0..table.segment_count() {
                let image = state.next.images.get(&SegmentKey {
                    table: table.id(),
                    segment,
                });
                let floor = image.map_or(Lsn::ZERO, |image| image.ts).max(state.next.covered);
                if table.segment_last_change(segment) > floor {
                    pending.push(Pending {
                        table: table.clone(),
                        segment,
                        floor,
                    });
                }
            }
        }
        let live: BTreeSet<TableId> = tables.iter().map(|table| table.id()).collect();
        let dropped = state.next.images.keys().any(|key| !live.contains(&key.table));
        if pending.is_empty() && !dropped && !self.log_would_shrink(state, start) {
            state.last_round_ns = self.env.clock.monotonic_ns();
            // Somebody may have held files at the end of the last round, and not any more: a slot that is lost since.
            self.log.release_below(state.written.log_start)?;
            return Ok(CheckpointOutcome::Idle);
        }
        pending.sort_by_key(|pending| pending.floor);
        let segments = pending.len();
        state.report.running = true;
        state.report.started_us = Some(self.env.clock.wall_us());
        (state.report.segments_total, state.report.segments_done) = (segments as u64, 0);
        state.report.round_bytes = 0;
        state.round = Some(Round {
            start,
            pending: pending.into(),
            swept: false,
        });
        Ok(CheckpointOutcome::Started { segments })
    }

    /// Segments that did not change, but whose images keep files alive that are mostly dead: after a round over nearly
    /// everything, the few images of quiet tables.
    fn sparse_segments(&self, next: &Manifest) -> io::Result<Vec<Pending>> {
        let sparse = sparse_files(&self.env, next)?;
        if sparse.is_empty() {
            return Ok(Vec::new());
        }
        let tables: BTreeMap<TableId, Arc<dyn TableSource>> = self
            .source
            .tables()
            .into_iter()
            .map(|table| (table.id(), table))
            .collect();
        let images = next
            .images
            .iter()
            .filter(|(_, image)| sparse.contains(&image.file));
        Ok(images
            .filter_map(|(key, image)| {
                Some(Pending {
                    table: tables.get(&key.table)?.clone(),
                    segment: key.segment,
                    floor: image.ts.max(next.covered),
                })
            })
            .collect())
    }

    /// Even when no row changed (PADs, aborted fragments, sequences) old log should go once it fills a file.
    fn log_would_shrink(&self, state: &State, start: Lsn) -> bool {
        start.0.saturating_sub(state.written.covered.0) >= state.written.segment_bytes
    }

    /// Writes the images of a batch.
    fn images(&self, state: &mut State, batch: &[Pending], threads: usize) -> io::Result<u64> {
        let lanes = threads.clamp(1, batch.len().max(1));
        while state.lanes.len() < lanes {
            state.lanes.push(Lane::default());
        }
        // Numbers are given out here: which lane meets a full file first must not decide them.
        let first_number = state.next.next_image_file;
        state.next.next_image_file += batch.len() as u64;
        let write = |number: usize, lane: &mut Lane| {
            for (at, pending) in batch.iter().enumerate().skip(number).step_by(lanes) {
                self.image(lane, pending, first_number + at as u64)?;
            }
            io::Result::Ok(())
        };
        let (first, others) = state.lanes[..lanes].split_first_mut().expect("there is a lane");
        std::thread::scope(|scope| {
            let write = &write;
            let others: Vec<_> = others
                .iter_mut()
                .enumerate()
                .map(|(at, lane)| scope.spawn(move || write(at + 1, lane)))
                .collect();
            let result = write(0, first);
            others.into_iter().fold(result, |result, other| {
                let ended = other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                result.and(ended)
            })
        })?;
        let written = state.lanes.iter_mut().flat_map(|lane| lane.images.drain(..));
        let mut bytes = 0;
        for (key, entry) in written {
            bytes += entry.bytes;
            state.next.images.insert(key, entry);
        }
        state.unlisted_bytes += bytes;
        state.report.images += batch.len() as u64;
        state.report.segments_done += batch.len() as u64;
        state.report.image_bytes += bytes;
        state.report.round_bytes += bytes;
        Ok(bytes)
    }

    /// Writes the image of one segment; into the file `number` if the lane has none.
    fn image(&self, lane: &mut Lane, pending: &Pending, number: u64) -> io::Result<()> {
        let key = SegmentKey {
            table: pending.table.id(),
            segment: pending.segment,
        };
        let snapshot = self.source.image_snapshot();
        let ts = snapshot.lsn();
        assert!(
            ts <= self.log.stable(),
            "an image would hold what the log does not"
        );
        lane.builder.clear();
        pending.table.visit_segment(pending.segment, ts, &mut |row| {
            debug_assert!(row.commit_ts <= ts && row.row.segment() == pending.segment);
            lane.builder.push(&row);
        });
        drop(snapshot);
        let rows = lane.builder.rows();
        let mut entry = ImageEntry {
            ts,
            file: 0,
            offset: 0,
            bytes: 0,
            rows: 0,
        };
        if rows > 0 {
            let mut file = match lane.file.take() {
                Some(file) => file,
                None => {
                    self.env.disk.create_dir_all(IMAGE_DIRECTORY)?;
                    ImageFile::create(&*self.env.disk, number, self.log.system_id())?
                }
            };
            entry = file.append(lane.builder.finish(key, ts), ts, rows)?;
            if file.bytes() >= self.config.file_bytes {
                file.sync()?; // closed: later manifests may name it without a thought
            } else {
                lane.file = Some(file);
            }
        }
        lane.images.push((key, entry));
        Ok(())
    }

    /// Writes a manifest with the images so far, then lets go of log and files; unless what it tells of is not stable yet:
    /// then everything is read again at the next call.
    fn list(&self, state: &mut State) -> io::Result<FlushedTo> {
        for file in state.lanes.iter_mut().filter_map(|lane| lane.file.as_mut()) {
            file.sync()?;
        }
        self.env.disk.create_dir_all(IMAGE_DIRECTORY)?;
        self.env.disk.sync_dir(IMAGE_DIRECTORY)?;
        let live: BTreeSet<TableId> = self.source.tables().iter().map(|table| table.id()).collect();
        state.next.sequences = self.source.sequences();
        state.next.counters = self.source.counters();
        // A table that is gone and a sequence that moved may be so by commits that are not stable yet.
        match self.await_stable(self.log.tail()) {
            FlushedTo::Stable => {}
            other => return Ok(other),
        }
        state.next.images.retain(|key, _| live.contains(&key.table));
        let round = state
            .round
            .as_ref()
            .expect("a manifest is written within a round");
        let covered = round
            .pending
            .iter()
            .map(|pending| pending.floor)
            .fold(round.start, Lsn::min);
        state.next.covered = covered.max(state.written.covered);
        state.next.log_start = self
            .log
            .keep_from(state.next.covered)
            .max(state.written.log_start);
        state.next.stable = self.log.durable();
        state.next.term = self.log.term();
        state.next.generation = state.written.generation + 1;
        state.next.write(&*self.env.disk)?;
        state.written = state.next.clone();
        state.unlisted_bytes = 0;
        state.report.live_bytes = state.written.images.values().map(|image| image.bytes).sum();
        self.log.release_below(state.written.log_start)?;
        self.remove_dead_files(state)?;
        Ok(FlushedTo::Stable)
    }

    fn remove_dead_files(&self, state: &mut State) -> io::Result<()> {
        state.held.retain(|held| held.strong_count() > 0);
        let held: Vec<Arc<Manifest>> = state.held.iter().filter_map(Weak::upgrade).collect();
        let named = held
            .iter()
            .flat_map(|held| held.images.values())
            .chain(state.written.images.values());
        let live: BTreeSet<u64> = named.map(|image| image.file).collect();
        let files = state.lanes.iter().filter_map(|lane| lane.file.as_ref());
        let open: BTreeSet<u64> = files.map(|file| file.number).collect();
        remove_image_files(&self.env, |number| {
            !live.contains(&number) && !open.contains(&number)
        })
    }
}

fn remove_image_files(env: &Env, dead: impl Fn(u64) -> bool) -> io::Result<()> {
    let names = env.disk.list(IMAGE_DIRECTORY)?;
    for number in names
        .iter()
        .filter_map(|name| parse_image_name(name))
        .filter(|&number| dead(number))
    {
        env.disk.remove(&image_path(number))?;
    }
    Ok(())
}

/// Files of which less than half is alive: their images are written again, elsewhere, and the files go.
fn sparse_files(env: &Env, manifest: &Manifest) -> io::Result<BTreeSet<u64>> {
    let mut files: BTreeMap<u64, u64> = BTreeMap::new();
    for image in manifest.images.values().filter(|image| image.file != 0) {
        *files.entry(image.file).or_insert(0) += image.bytes;
    }
    let mut sparse = BTreeSet::new();
    for (number, live) in files {
        let length = env.disk.open(&image_path(number))?.len()?;
        if live * 2 < length.saturating_sub(IMAGE_FILE_HEADER_BYTES) {
            sparse.insert(number);
        }
    }
    Ok(sparse)
}
