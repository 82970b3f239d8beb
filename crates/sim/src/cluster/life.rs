//! What a node has while it runs, whatever its role.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use mote_common::Lsn;
use mote_common::env::net::{Listener, Network};
use mote_common::env::sim::SimDisk;
use mote_common::env::{Disk, Env};
use mote_log::LogConfig;
use mote_log::scan::{LogScan, scan_log};
use mote_replication::NodeId;
use mote_replication::member::{Act, Member};
use mote_replication::slots::Slots;
use mote_replication::wire::Wire;

use super::{Around, Planted, SEGMENT_BYTES, SYSTEM_ID, machine};

const BLOCK_BYTES: u64 = mote_log::frame::BLOCK_BYTES;

/// Why a node does not go on.
pub(super) enum Trouble {
    /// Its disk failed, or lost power: it stops, and starts again.
    Disk,
    /// What must hold does not.
    Wrong(String),
}

impl From<io::Error> for Trouble {
    fn from(_: io::Error) -> Trouble {
        Trouble::Disk
    }
}

/// What a node has while it runs, whatever its role.
pub(super) struct Life {
    pub id: NodeId,
    pub env: Env,
    pub disk: SimDisk,
    pub network: Arc<dyn Network>,
    pub member: Member,
    /// What it has asked the coordinator, and when that comes there.
    pub requests: Vec<(Act, u64)>,
    /// Its checkpoints have let go of the log below. The bytes stay, for the comparison; nobody is sent them.
    pub released: Lsn,
    /// A flush that begins does not end.
    pub disk_hangs: bool,
    pub fails_in_flush: Arc<AtomicBool>,
    pub left: Arc<Mutex<Option<SimDisk>>>,
    pub listener: Box<dyn Listener>,
    /// Who has connected and said nothing yet, and since when.
    pub knocking: Vec<(Wire, u64)>,
}

impl Life {
    /// Now and then a checkpoint: the log below `stable` that is not kept for others goes.
    pub fn perhaps_checkpoints(&mut self, around: &mut Around, stable: Lsn, kept: Lsn) {
        if around.prng.chance(1, 20) && !around.keeps_all_log {
            let from = if around.planted == Planted::KeepsLogForNobody {
                stable
            } else {
                kept.min(stable)
            };
            self.released = self.released.max(from);
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.env.clock.monotonic_ns()
    }
}

pub(super) fn log_config() -> LogConfig {
    LogConfig {
        segment_bytes: SEGMENT_BYTES,
        ring_bytes: 2 << 20,
        segments_ahead: 1,
        writers_max: 2,
        ..LogConfig::default()
    }
}

/// The name by which a node is known to the others.
pub(super) fn name_of(id: NodeId) -> String {
    format!("node{}", machine(id))
}

pub(super) fn open_slots(disk: Arc<dyn Disk>) -> io::Result<Slots> {
    Slots::open(disk, SYSTEM_ID, 1 << 30, BLOCK_BYTES)
}

pub(super) fn scan(life: &Life) -> Result<LogScan, Trouble> {
    life.env.disk.create_dir_all("log")?;
    // A log that is refused has lost what somebody vouched for.
    scan_log(&*life.env.disk, SYSTEM_ID, SEGMENT_BYTES, Lsn(SEGMENT_BYTES))
        .map_err(|damage| Trouble::Wrong(damage.to_string()))
}
