//! A node that leads a term: it commits, flushes, sends, and tells its clients what counts.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mote_common::Lsn;
use mote_common::env::sim::SimDisk;
use mote_log::range::LogRanges;
use mote_log::scan::LogScan;
use mote_log::{FrameKind, Log, LogPosition, LogTap};
use mote_replication::NodeId;
use mote_replication::gate::{Gate, LEVELS, Level, Levels};
use mote_replication::history::History;
use mote_replication::member::{Act, lease_end_ns};
use mote_replication::message::Hello;
use mote_replication::primary::{Primary, PrimaryConfig};
use mote_replication::quorum::Quorum;
use mote_replication::record::Record;
use mote_replication::roster::{Entry, Roster};
use mote_replication::slots::SlotError;
use mote_replication::wire::Wire;
use mote_replication::wish::Wish;

use super::life::{Life, Trouble, log_config, name_of, open_slots};
use super::{Around, MACHINES, PATIENCE_NS, Planted, SEGMENT_BYTES, SYSTEM_ID, address};

/// Commits that wait at most: a client waits for its answer before it goes on.
const CLIENTS: usize = 20;
/// What the names of slots that clients make begin with.
const MADE: &str = "made";

pub(super) struct Leading {
    log: Log,
    hub: Arc<Mutex<Primary>>,
    source: LogRanges,
    /// Commits that were appended and not told of.
    gate: Gate<u64>,
    /// What was stable up to here has been compared.
    compared: Lsn,
    /// A slot that was made, and the end of a frame behind it: whoever wants it is answered when that is stable.
    slot: Option<(String, Lsn)>,
}

struct Tap {
    hub: Arc<Mutex<Primary>>,
    disk: SimDisk,
    fails: Arc<AtomicBool>,
    left: Arc<Mutex<Option<SimDisk>>>,
}

impl LogTap for Tap {
    fn flushing(&self, from: Lsn, parts: [&[u8]; 2]) {
        self.hub.lock().expect("unpoisoned").flushing(from, parts, 0);
        // The bytes are on their way, and will not be on this disk.
        if self.fails.swap(false, Ordering::Relaxed) {
            *self.left.lock().expect("unpoisoned") = Some(self.disk.crash());
        }
    }
}

impl Leading {
    pub fn begin(
        life: &Life,
        around: &Around,
        record: &Record,
        scan: LogScan,
        stable: Lsn,
    ) -> Result<Leading, Trouble> {
        let position = LogPosition {
            system_id: SYSTEM_ID,
            term: record.term,
            log_start: Lsn(SEGMENT_BYTES),
            end: scan.end,
            pins: Vec::new(),
        };
        let log = Log::open_agreed(&life.env, log_config(), position, stable, Arc::new(|_| {}))?;
        let mut history = History::new(scan.terms);
        history.begin(log.began());
        let rules = match around.planted {
            Planted::LeaderIsAVoter => vec![],
            _ => record.rule().into_iter().collect(),
        };
        let term_end = match around.planted {
            Planted::OldTermsCount => Lsn::ZERO,
            _ => log.flushed(),
        };
        let config = PrimaryConfig {
            system_id: SYSTEM_ID,
            id: life.id,
            member: Some(name_of(life.id)),
            heartbeat_ns: PATIENCE_NS / 10,
            silence_ns: 2 * PATIENCE_NS,
            piece_bytes: around.piece_bytes,
        };
        let mut slots = open_slots(life.env.disk.clone())?;
        slots.drop_slot(&name_of(life.id))?;
        slots.raise_to(life.released)?;
        let term_is_even = history.last_term().is_multiple_of(2);
        let mut hub = Primary::new(
            config,
            history,
            life.released,
            log.flushed(),
            Quorum::new(life.id, term_end, rules),
            slots,
        );
        hub.limit_flush(PATIENCE_NS);
        // Both ways: at once, and put off.
        hub.set_eager(term_is_even);
        let hub = Arc::new(Mutex::new(hub));
        log.set_tap(Some(Arc::new(Tap {
            hub: hub.clone(),
            disk: life.disk.clone(),
            fails: life.fails_in_flush.clone(),
            left: life.left.clone(),
        })));
        Ok(Leading {
            log,
            hub,
            source: LogRanges::new(life.env.disk.clone(), SYSTEM_ID, SEGMENT_BYTES),
            gate: Gate::default(),
            compared: Lsn(SEGMENT_BYTES),
            slot: None,
        })
    }

    fn hub(&self) -> std::sync::MutexGuard<'_, Primary> {
        self.hub.lock().expect("unpoisoned")
    }

    pub fn term(&self) -> u32 {
        self.log.term()
    }

    pub fn flushed(&self) -> Lsn {
        self.log.flushed()
    }

    pub fn describe(&self) -> String {
        let levels = self.levels();
        format!(
            "leads term {}, {levels:?}, holds {}",
            self.term(),
            self.gate.held()
        )
    }

    pub fn is_at_rest(&self) -> bool {
        self.levels().stable == self.log.tail() && self.gate.held() == 0
    }

    /// Would it answer a read now?
    pub fn serves(&self, now_ns: u64) -> bool {
        let hub = self.hub();
        let leased = lease_end_ns(&hub, PATIENCE_NS).is_some_and(|end_ns| now_ns < end_ns);
        hub.levels().stable > Lsn::ZERO && leased
    }

    fn levels(&self) -> Levels {
        Levels {
            filled: self.log.filled(),
            ..self.hub().levels()
        }
    }

    pub fn accept(&mut self, wire: Wire, hello: &Hello, now_ns: u64) -> Result<(), Trouble> {
        Ok(self.hub().accept(wire, hello, now_ns)?)
    }

    /// None: it does not lead any more.
    pub fn step(
        mut self: Box<Self>,
        life: &mut Life,
        around: &mut Around,
    ) -> Result<Option<Box<Leading>>, Trouble> {
        self.perhaps_change_voters(life, around);
        let act = life.member.lead(life.now_ns(), &self.hub());
        match act {
            Some(Act::StepDown) => {
                self.step_down(around);
                return Ok(None);
            }
            Some(Act::Rules(_))
                if matches!(
                    around.planted,
                    Planted::LeaderIsAVoter | Planted::CountsFormerVoters
                ) => {}
            Some(Act::Rules(rules)) => self.hub().set_rules(rules),
            Some(act) => life.request(act, around),
            None => {}
        }
        self.commit(around);
        self.perhaps_make_slot(around)?;
        let flushes = around.prng.chance(1, 2) && self.log.tail() != self.log.flushed();
        if flushes && life.disk_hangs {
            self.hub().flush_begun(self.log.tail());
            around.report.hung += 1;
        } else if flushes {
            while self.log.prepare_step() {}
            self.log.flush_step();
        }
        // As in the server, whatever found the disk broken: also a segment that could not be prepared while nothing waited
        // to be flushed, which no flush would find.
        if self.log.is_stopped() {
            return Err(Trouble::Disk);
        }
        {
            let mut hub = self.hub.lock().expect("unpoisoned");
            hub.flushed(self.log.flushed());
            hub.step(life.now_ns(), 0, &mut self.source)?;
            let (stable, kept) = (self.log.stable(), hub.keep_from()?);
            life.perhaps_checkpoints(around, stable, kept);
            hub.released_below(life.released);
        }
        self.tell(life, around).map_err(Trouble::Wrong)?;
        Ok(Some(self))
    }

    /// Nobody is told anything any more: commits that wait may count in the next term, or not.
    fn step_down(mut self, around: &mut Around) {
        around.report.abandoned += self.gate.abandon() as u64;
        self.log.set_tap(None);
    }

    /// Now and then some of the others, and some number of them; those that a script wants; and whoever has a new directory.
    fn perhaps_change_voters(&self, life: &mut Life, around: &mut Around) {
        if let Some((voters, count)) = around.wish.take() {
            life.member.change_voters(&voters, count, life.now_ns());
        }
        if around.ids.iter().any(|id| id.0 > MACHINES) {
            self.replace_lost_directories(life, around);
        }
        if around.healing || !around.voters_change || !around.prng.chance(1, 50) {
            return;
        }
        let others = around.others(life.id);
        let voters: BTreeSet<NodeId> = others.filter(|_| around.prng.chance(2, 3)).collect();
        let count = 1 + around.prng.below(around.ids.len() as u64 - 1) as usize;
        life.member.change_voters(&voters, count, life.now_ns());
    }

    /// As in the server: what has the log's end takes the place of the directory that had its name.
    fn replace_lost_directories(&self, life: &mut Life, around: &Around) {
        let Some(record) = life.member.leads() else {
            return;
        };
        let entries = around.ids.iter().map(|id| {
            let at = address(*id);
            let entry = Entry {
                id: *id,
                host: at.ip().to_string(),
                port: at.port(),
            };
            (name_of(*id), entry)
        });
        let hub = self.hub();
        let streaming = hub.streams().filter(|stream| stream.streaming);
        let up_to_date = streaming.map(|stream| stream.id).collect();
        if let Some((voters, count)) = Roster(entries.collect()).voters(record, &up_to_date, &Wish::default())
        {
            life.member.change_voters(&voters, count, life.now_ns());
        }
    }

    fn commit(&mut self, around: &mut Around) {
        let wanted = match around.healing {
            true => self.gate.held() == 0 && around.prng.chance(1, 20),
            false => self.gate.held() < CLIENTS && around.prng.chance(1, 3),
        };
        if !wanted {
            return;
        }
        let most = if around.prng.chance(1, 4) { 6000 } else { 200 };
        let mut payload = vec![0x5a; 8 + around.prng.below(most) as usize];
        payload[..8].copy_from_slice(&around.next_commit.to_le_bytes());
        let writer = self.log.writer();
        while self.log.prepare_step() {}
        // A full log refuses its clients, who come again.
        let Ok(admission) = writer.admit(payload.len()) else {
            return;
        };
        let end = writer.append(admission, FrameKind::RestorePoint, &payload, |_| {});
        let level = match around.healing {
            true => Level::On,
            false => LEVELS[around.prng.below(5) as usize],
        };
        self.gate.hold(level, end, around.next_commit);
        around.next_commit += 1;
        around.report.commits += 1;
    }

    /// Now and then somebody wants a slot in place of the last one, which keeps no log, so that nodes need one another's.
    fn perhaps_make_slot(&mut self, around: &mut Around) -> Result<(), Trouble> {
        if let Some((name, mark)) = self.slot.take() {
            let known = self.hub().levels().stable >= mark;
            if known || around.planted == Planted::AnswersSlotsAtOnce {
                around.report.slots += 1;
                around.oracle.slot_answered(name);
            } else {
                self.slot = Some((name, mark));
            }
            return Ok(());
        }
        if around.healing || !around.slot_prng.chance(1, 60) {
            return Ok(());
        }
        let name = format!("{MADE}{:x}", around.slot_prng.next_u64());
        {
            let mut hub = self.hub();
            let slots = hub.slots_mut();
            let made = slots.iter().filter(|(name, _)| name.starts_with(MADE));
            let made: Vec<String> = made.map(|(name, _)| name.into()).collect();
            for former in made {
                around.oracle.slot_dropped(&former);
                slots.drop_slot(&former)?;
            }
            match slots.create(&name, Lsn::ZERO, None) {
                Ok(()) => {}
                Err(SlotError::Disk(error)) => return Err(error.into()),
                Err(SlotError::TooMany | SlotError::Exists) => return Ok(()),
            }
        }
        let writer = self.log.writer();
        // Else nobody is answered: the log is full.
        if let Ok(admission) = writer.admit(0) {
            let mark = writer.append(admission, FrameKind::Pad, &[], |_| {});
            self.slot = Some((name, mark));
        }
        Ok(())
    }

    /// Clients hear of what counts; and what is stable is compared with what ever was.
    fn tell(&mut self, life: &Life, around: &mut Around) -> Result<(), String> {
        let levels = self.levels();
        self.log.raise_agreed(levels.stable);
        if self.log.stable() < levels.stable {
            return Err(format!("{} is stable, but not to the log", levels.stable));
        }
        if levels.stable > self.compared {
            let from = around.oracle.end();
            around
                .oracle
                .became_stable(&life.disk, self.compared, levels.stable, life.id)?;
            around.report.stable_bytes += around.oracle.end().0 - from.0;
            self.compared = levels.stable;
        }
        self.gate.release(&levels, |level, ts, commit| {
            // Weaker levels promise less, where those who have received something may lose it.
            if level >= Level::On || around.receivers_last && level == Level::RemoteWrite {
                around.report.acknowledged += 1;
                around.oracle.acknowledged(commit, ts);
            }
        });
        Ok(())
    }
}
