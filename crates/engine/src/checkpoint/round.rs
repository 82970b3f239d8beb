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

use super::image::{
    IMAGE_DIRECTORY, IMAGE_FILE_HEADER_BYTES, ImageBuilder, ImageFile, image_path, parse_image_name,
};
use super::manifest::{ImageEntry, Manifest, SegmentKey};
use super::{CheckpointOutcome, CheckpointReport, Checkpointer, TableSource};

pub(super) struct State {
    /// As on disk.
    written: Manifest,
    /// As it will be.
    next: Manifest,
    round: Option<Round>,
    file: Option<ImageFile>,
    builder: ImageBuilder,
    /// Image bytes since the last manifest.
    unlisted_bytes: u64,
    last_round_ns: u64,
    report: CheckpointReport,
    /// Manifests whose files backups still read.
    pub held: Vec<Weak<Manifest>>,
}

struct Round {
    /// `stable` when the round began.
    start: Lsn,
    /// Oldest image first.
    pending: VecDeque<Pending>,
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
            file: None,
            builder: ImageBuilder::new(),
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
            ..self.report
        }
    }

    /// After a failure.
    pub fn give_up(&mut self) {
        // The number of a file that failed is not used again within this life.
        let next_image_file = self.next.next_image_file;
        self.next = self.written.clone();
        self.next.next_image_file = next_image_file;
        self.round = None;
        self.file = None;
        self.unlisted_bytes = 0;
        self.report.failures += 1;
    }
}

impl Checkpointer {
    pub(super) fn advance(&self, state: &mut State) -> io::Result<CheckpointOutcome> {
        if self.log.is_stopped() {
            return Ok(CheckpointOutcome::Stopped);
        }
        let Some(round) = &mut state.round else {
            return self.begin(state);
        };
        if let Some(pending) = round.pending.pop_front() {
            let bytes = self.image(state, &pending)?;
            if state.unlisted_bytes >= self.config.manifest_bytes {
                self.list(state)?;
            }
            return Ok(CheckpointOutcome::Imaged { bytes });
        }
        if !self.list(state)? {
            return Ok(CheckpointOutcome::Stopped);
        }
        state.round = None;
        state.report.rounds += 1;
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
        let sparse = sparse_files(&state.next);
        let mut pending = Vec::new();
        for table in &tables {
            for segment in 0..table.segment_count() {
                let image = state.next.images.get(&SegmentKey {
                    table: table.id(),
                    segment,
                });
                let floor = image.map_or(Lsn::ZERO, |image| image.ts).max(state.next.covered);
                let dirty = table.segment_last_change(segment) > floor;
                if dirty || image.is_some_and(|image| sparse.contains(&image.file)) {
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
            return Ok(CheckpointOutcome::Idle);
        }
        pending.sort_by_key(|pending| pending.floor);
        let segments = pending.len();
        state.round = Some(Round {
            start,
            pending: pending.into(),
        });
        Ok(CheckpointOutcome::Started { segments })
    }

    /// Even when no row changed (PADs, aborted fragments, sequences) old log should go once it fills a file.
    fn log_would_shrink(&self, state: &State, start: Lsn) -> bool {
        start.0.saturating_sub(state.written.covered.0) >= state.written.segment_bytes
    }

    /// Writes the image of one segment.
    fn image(&self, state: &mut State, pending: &Pending) -> io::Result<u64> {
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
        state.builder.clear();
        pending.table.visit_segment(pending.segment, ts, &mut |row| {
            debug_assert!(row.commit_ts <= ts && row.row.segment() == pending.segment);
            state.builder.push(&row);
        });
        drop(snapshot);
        let rows = state.builder.rows();
        let entry = if rows == 0 {
            ImageEntry {
                ts,
                file: 0,
                offset: 0,
                bytes: 0,
                rows: 0,
            }
        } else {
            let mut file = match state.file.take() {
                Some(file) => file,
                None => self.create_file(state)?,
            };
            let entry = file.append(state.builder.finish(key, ts), ts, rows)?;
            if file.bytes() >= self.config.file_bytes {
                file.sync()?; // closed: later manifests may name it without a thought
            } else {
                state.file = Some(file);
            }
            entry
        };
        state.next.images.insert(key, entry);
        state.unlisted_bytes += entry.bytes;
        state.report.images += 1;
        state.report.image_bytes += entry.bytes;
        Ok(entry.bytes)
    }

    fn create_file(&self, state: &mut State) -> io::Result<ImageFile> {
        self.env.disk.create_dir_all(IMAGE_DIRECTORY)?;
        let number = state.next.next_image_file;
        state.next.next_image_file += 1;
        ImageFile::create(&*self.env.disk, number, self.log.system_id())
    }

    /// Writes a manifest with the images so far, then lets go of log and files. False: the log has stopped.
    fn list(&self, state: &mut State) -> io::Result<bool> {
        if let Some(file) = &state.file {
            file.sync()?;
        }
        self.env.disk.create_dir_all(IMAGE_DIRECTORY)?;
        self.env.disk.sync_dir(IMAGE_DIRECTORY)?;
        let live: BTreeSet<TableId> = self.source.tables().iter().map(|table| table.id()).collect();
        state.next.sequences = self.source.sequences();
        state.next.counters = self.source.counters();
        // A table that is gone and a sequence that moved may be so by commits that are not stable yet.
        if !self.log.flush_to(self.log.tail()) {
            return Ok(false);
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
        state.next.stable = self.log.stable();
        state.next.term = self.log.term();
        state.next.generation = state.written.generation + 1;
        state.next.write(&*self.env.disk)?;
        state.written = state.next.clone();
        state.unlisted_bytes = 0;
        self.log.release_below(state.written.log_start)?;
        self.remove_dead_files(state)?;
        Ok(true)
    }

    fn remove_dead_files(&self, state: &mut State) -> io::Result<()> {
        state.held.retain(|held| held.strong_count() > 0);
        let held: Vec<Arc<Manifest>> = state.held.iter().filter_map(Weak::upgrade).collect();
        let named = held
            .iter()
            .flat_map(|held| held.images.values())
            .chain(state.written.images.values());
        let live: BTreeSet<u64> = named.map(|image| image.file).collect();
        let open = state.file.as_ref().map(|file| file.number);
        remove_image_files(&self.env, |number| {
            !live.contains(&number) && Some(number) != open
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
fn sparse_files(manifest: &Manifest) -> BTreeSet<u64> {
    let mut files: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for image in manifest.images.values().filter(|image| image.file != 0) {
        let (live, end) = files.entry(image.file).or_insert((0, 0));
        *live += image.bytes;
        // Images behind the last live one are dead too, but unknown here; they only make the file look denser.
        *end = (*end).max(image.offset + image.bytes - IMAGE_FILE_HEADER_BYTES);
    }
    files
        .into_iter()
        .filter(|(_, (live, end))| live * 2 < *end)
        .map(|(file, _)| file)
        .collect()
}
