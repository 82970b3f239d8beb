//! Which log the followers still need: one slot for each, on disk, so that a restart of the primary forgets nobody.
//!
//! A command makes slots, too: for a follower that is yet to come, or, a temporary one, for as long as its session. That one
//! stands nowhere on disk: a restart ends the session.
//!
//! A slot keeps the log from its position on, up to a bound: a follower that is further behind than that must not fill
//! the primary's disk. Then the slot is *lost*: that is on disk before any log goes, the log is free, and the follower
//! is refused with what to do when it comes back (an archive or a new copy). A lost slot stays until it is dropped, or its
//! follower begins anew at a position that is here, or the server starts with a higher bound and the log is here still.
//!
//! The nodes of a cluster keep log for one another: whoever leads tells its followers of its slots, and they take them over
//! (`adopt`), so that a node which was away finds its log at whoever leads when it comes back (docs/design/0057). A slot's
//! position is never above what was stable: what is not may be cut off the node's log when it comes back.
//!
//! On disk positions are saved when they have moved a segment's worth, not with each acknowledgement; an older position
//! only keeps more.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::env::Disk;

use crate::message::{KEPT_MAX, KeptFor, Logical};
use crate::small_file;

const FILE: &str = "slots";
/// The file's version with subscribers' slots in it, which earlier releases refuse.
const VERSION_LOGICAL: u32 = 2;
/// Followers that one primary keeps log for.
pub const SLOTS_MAX: usize = KEPT_MAX - 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The follower has everything below. Zero: nothing is kept yet.
    pub position: Lsn,
    /// What it needs is not kept any more.
    pub lost: bool,
    /// Goes with this session.
    pub temporary: Option<u32>,
    /// A subscriber's; its `position` is where the log must be read from: the lowest first frame of a transaction that
    /// was open at `confirmed`.
    pub logical: Option<Logical>,
    /// The session that streams from it. Nodes have streams of their own.
    pub user: Option<u32>,
}

impl Slot {
    fn keeps_log(&self) -> bool {
        !self.lost && self.position > Lsn::ZERO
    }
}

/// Why there is no slot.
#[derive(Debug)]
pub enum SlotError {
    Disk(io::Error),
    TooMany,
    /// There is one of this name.
    Exists,
}

pub struct Slots {
    disk: Arc<dyn Disk>,
    system_id: u64,
    kept_bytes_max: u64,
    /// Positions may move that far before they are saved.
    saved_every: u64,
    slots: BTreeMap<String, Slot>,
    saved: BTreeMap<String, Slot>,
    /// Raised by whatever changes what is saved.
    changes: u64,
}

impl Slots {
    pub fn open(
        disk: Arc<dyn Disk>,
        system_id: u64,
        kept_bytes_max: u64,
        saved_every: u64,
    ) -> io::Result<Slots> {
        let slots = match small_file::read_version(&*disk, system_id, FILE, VERSION_LOGICAL)? {
            None => BTreeMap::new(),
            Some(bytes) => decode(&bytes).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "replication/slots: it is malformed")
            })?,
        };
        Ok(Slots {
            disk,
            system_id,
            kept_bytes_max,
            saved_every,
            saved: slots.clone(),
            slots,
            changes: 0,
        })
    }

    /// The log from here on is kept for somebody, as the disk says: for who opens the log.
    pub fn kept_from(disk: &Arc<dyn Disk>, system_id: u64) -> io::Result<Option<Lsn>> {
        Ok(Slots::open(disk.clone(), system_id, 0, 0)?.keep_from())
    }

    /// Another number than before: what [`kept_for`](Slots::kept_for) tells has changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// For whom others are to keep log, too: as the disk has it.
    pub fn kept_for(&self) -> impl Iterator<Item = KeptFor> {
        self.saved.iter().map(|(name, slot)| KeptFor {
            name: name.clone(),
            position: slot.position,
            lost: slot.lost,
            logical: slot.logical,
        })
    }

    /// The slots are those that the primary told of, and no others; `tail`: the log ends there. Those that would keep more
    /// than this node's bound are lost here.
    pub fn adopt(&mut self, told: Vec<KeptFor>, tail: Lsn) -> io::Result<()> {
        let least = tail.0.saturating_sub(self.kept_bytes_max);
        let told = told.into_iter().take(KEPT_MAX);
        self.slots = told
            .map(|kept| {
                let slot = Slot {
                    position: kept.position,
                    lost: kept.lost || kept.position > Lsn::ZERO && kept.position.0 < least,
                    temporary: None,
                    logical: kept.logical,
                    user: None,
                };
                (kept.name, slot)
            })
            .collect();
        match self.slots == self.saved {
            true => Ok(()),
            false => self.save(),
        }
    }

    /// The same, told by a primary of whose term nothing is stable yet: another one may lead next, so what was kept before is
    /// kept on.
    pub fn adopt_more(&mut self, mut told: Vec<KeptFor>, tail: Lsn) -> io::Result<()> {
        for (name, slot) in &self.slots {
            let known = told.iter_mut().find(|kept| kept.name == *name);
            match known {
                Some(kept) if slot.keeps_log() => {
                    let keeps = !kept.lost && kept.position > Lsn::ZERO;
                    let position = if keeps { kept.position } else { slot.position };
                    (kept.position, kept.lost) = (position.min(slot.position), false);
                }
                Some(_) => {}
                None => told.push(KeptFor {
                    name: name.clone(),
                    position: slot.position,
                    lost: slot.lost,
                    logical: slot.logical,
                }),
            }
        }
        self.adopt(told, tail)
    }

    /// The log begins at `lsn`: what is here is kept for those that are known to have less, and they are not lost. What a
    /// slot tells is the least that its follower has, and perhaps old: this node may have been told of it by one that
    /// knew less, after it let go of log that the follower has had since.
    pub fn raise_to(&mut self, lsn: Lsn) -> io::Result<()> {
        let mut any = false;
        for slot in self.slots.values_mut() {
            if slot.keeps_log() && slot.position < lsn {
                (slot.position, any) = (lsn, true);
            }
        }
        match any {
            true => self.save(),
            false => Ok(()),
        }
    }

    /// The log is here from `oldest` to `tail`: a slot that was lost to a lower bound, and whose log is here still, keeps it again.
    pub fn take_back(&mut self, oldest: Lsn, tail: Lsn) -> io::Result<()> {
        let least = oldest.0.max(tail.0.saturating_sub(self.kept_bytes_max));
        let mut any = false;
        for slot in self.slots.values_mut() {
            if slot.lost && slot.position.0 >= least {
                (slot.lost, any) = (false, true);
            }
        }
        match any {
            true => self.save(),
            false => Ok(()),
        }
    }

    pub fn get(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, Slot)> {
        self.slots.iter().map(|(name, slot)| (name.as_str(), *slot))
    }

    /// The follower `name` goes on at `position`, from which on the log is here. Kept from now on.
    pub fn begin(&mut self, name: &str, position: Lsn) -> Result<(), SlotError> {
        // Not counted is what will never last: the slot that keeps the log for this very follower's copy goes when its stream has
        // begun, and would keep that from beginning. `create_with` counts them all, so there are never more than twice as many.
        let counts = |slot: &&Slot| slot.temporary.is_none() || slot.logical.is_some();
        if !self.slots.contains_key(name) && self.slots.values().filter(counts).count() >= SLOTS_MAX {
            return Err(SlotError::TooMany);
        }
        if self.slots.get(name).is_some_and(|slot| slot.logical.is_some()) {
            return Err(SlotError::Exists);
        }
        let slot = Slot {
            position,
            lost: false,
            temporary: None,
            logical: None,
            user: None,
        };
        self.slots.insert(name.into(), slot);
        // What the disk says keeps as much or more: commits of a new primary wait for its first follower.
        let kept = |saved: &Slot| saved.keeps_log() && saved.position <= position;
        match self.saved.get(name).is_some_and(kept) {
            true => Ok(()),
            false => self.save().map_err(SlotError::Disk),
        }
    }

    /// A slot that nobody uses yet. The log is here from `position` on, if that is not zero.
    pub fn create(&mut self, name: &str, position: Lsn, temporary: Option<u32>) -> Result<(), SlotError> {
        self.create_with(name, position, temporary, None)
    }

    /// The same for a subscriber: `position` is where the log must be read from.
    pub fn create_logical(
        &mut self,
        name: &str,
        position: Lsn,
        temporary: Option<u32>,
        logical: Logical,
    ) -> Result<(), SlotError> {
        self.create_with(name, position, temporary, Some(logical))
    }

    fn create_with(
        &mut self,
        name: &str,
        position: Lsn,
        temporary: Option<u32>,
        logical: Option<Logical>,
    ) -> Result<(), SlotError> {
        if self.slots.contains_key(name) {
            return Err(SlotError::Exists);
        }
        if self.slots.len() >= SLOTS_MAX {
            return Err(SlotError::TooMany);
        }
        let slot = Slot {
            position,
            lost: false,
            temporary,
            logical,
            user: None,
        };
        self.slots.insert(name.into(), slot);
        if temporary.is_some() {
            return Ok(());
        }
        self.save().map_err(|error| {
            // Not on disk: a restart would not find what was answered.
            self.slots.remove(name);
            SlotError::Disk(error)
        })
    }

    /// The session is over, and its temporary slots with it.
    pub fn end_session(&mut self, session: u32) {
        self.slots.retain(|_, slot| slot.temporary != Some(session));
        for slot in self.slots.values_mut() {
            slot.user.take_if(|user| *user == session);
        }
    }

    /// A subscriber's slot that was made for a session begins behind `confirmed`, and lasts unless it is temporary.
    pub fn settle(&mut self, name: &str, confirmed: Lsn, temporary: bool) -> io::Result<()> {
        let Some(slot) = self.slots.get_mut(name) else {
            return Ok(());
        };
        if let Some(logical) = &mut slot.logical {
            logical.confirmed = confirmed;
        }
        if temporary {
            return Ok(());
        }
        let owner = slot.temporary.take();
        self.save().inspect_err(|_| {
            // Not on disk: a restart would not find what was answered.
            if let Some(slot) = self.slots.get_mut(name) {
                slot.temporary = owner;
            }
        })
    }

    /// The session streams from the slot from now on, or no more.
    pub fn set_user(&mut self, name: &str, user: Option<u32>) {
        if let Some(slot) = self.slots.get_mut(name) {
            slot.user = user;
        }
    }

    /// The subscriber has everything up to `confirmed`; the log is read from `position` on if it comes back. Not saved
    /// yet: see [`save_confirmed`](Slots::save_confirmed).
    pub fn confirm(&mut self, name: &str, confirmed: Lsn, position: Lsn) -> io::Result<()> {
        let Some(slot) = self.slots.get_mut(name).filter(|slot| !slot.lost) else {
            return Ok(());
        };
        let Some(logical) = &mut slot.logical else {
            return Ok(());
        };
        logical.confirmed = logical.confirmed.max(confirmed);
        self.advance(name, position)
    }

    /// Writes down what subscribers have confirmed, if anything has changed: what is not is sent to them again.
    pub fn save_confirmed(&mut self) -> io::Result<()> {
        let confirmed = |slot: &Slot| slot.logical.map(|logical| logical.confirmed);
        let lasting = self.slots.iter().filter(|(_, slot)| slot.temporary.is_none());
        let mut changed = lasting.filter(|(name, slot)| {
            self.saved
                .get(*name)
                .is_some_and(|saved| confirmed(saved) != confirmed(slot))
        });
        match changed.next().is_some() {
            true => self.save(),
            false => Ok(()),
        }
    }

    /// The follower has everything below `position`.
    pub fn advance(&mut self, name: &str, position: Lsn) -> io::Result<()> {
        let Some(slot) = self.slots.get_mut(name).filter(|slot| !slot.lost) else {
            return Ok(());
        };
        slot.position = slot.position.max(position);
        let saved = self.saved.get(name).map_or(0, |slot| slot.position.0);
        match slot.position.0 >= saved + self.saved_every {
            true => self.save(),
            false => Ok(()),
        }
    }

    /// The slot of a follower that has everything below `position` and gets the log from there on, though it was lost. Not
    /// before that is well within the bound: else it would be lost again at once.
    pub fn revive(&mut self, name: &str, position: Lsn, tail: Lsn) -> io::Result<()> {
        let least = tail.0.saturating_sub(self.kept_bytes_max / 2);
        match self.slots.get_mut(name) {
            Some(slot) if slot.lost && slot.logical.is_none() && position.0 >= least => {
                (slot.position, slot.lost) = (position, false);
                self.save()
            }
            _ => Ok(()),
        }
    }

    pub fn drop_slot(&mut self, name: &str) -> io::Result<bool> {
        let Some(slot) = self.slots.remove(name) else {
            return Ok(false);
        };
        if slot.temporary.is_none()
            && let Err(error) = self.save()
        {
            self.slots.insert(name.into(), slot);
            return Err(error);
        }
        Ok(true)
    }

    /// Gives up the slots that keep more log than the bound, now that the log ends at `tail`; answers their names.
    pub fn enforce(&mut self, tail: Lsn) -> io::Result<Vec<String>> {
        let least = tail.0.saturating_sub(self.kept_bytes_max);
        let mut lost = Vec::new();
        for (name, slot) in &mut self.slots {
            if slot.keeps_log() && slot.position.0 < least {
                slot.lost = true;
                lost.push(name.clone());
            }
        }
        if !lost.is_empty() {
            self.save()?;
        }
        Ok(lost)
    }

    /// How much more log may be written before the slot is lost.
    pub fn room(&self, slot: Slot, tail: Lsn) -> Option<u64> {
        let end = slot.position.0.saturating_add(self.kept_bytes_max);
        slot.keeps_log().then(|| end.saturating_sub(tail.0))
    }

    /// The log from here on is kept for somebody; `None`: for nobody. Of what is on disk, which a restart will find, and of
    /// temporary slots.
    pub fn keep_from(&self) -> Option<Lsn> {
        let temporary = self.slots.values().filter(|slot| slot.temporary.is_some());
        let kept = self
            .saved
            .values()
            .chain(temporary)
            .filter(|slot| slot.keeps_log());
        kept.map(|slot| slot.position).min()
    }

    fn save(&mut self) -> io::Result<()> {
        let mut lasting = self.slots.clone();
        lasting.retain(|_, slot| slot.temporary.is_none());
        let version = match lasting.values().any(|slot| slot.logical.is_some()) {
            true => VERSION_LOGICAL,
            false => 1,
        };
        let bytes = encode(&lasting);
        small_file::write_version(&*self.disk, self.system_id, FILE, version, &bytes)?;
        self.saved = lasting;
        self.changes += 1;
        Ok(())
    }
}

/// Set beside `lost` where the slot is a subscriber's.
const LOGICAL: u8 = 2;

/// Per slot: a byte length and the name, 8 bytes position, 1 byte lost; of a subscriber's 4 bytes database and 8 bytes
/// confirmed.
fn encode(slots: &BTreeMap<String, Slot>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, slot) in slots {
        bytes.push(name.len() as u8);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&slot.position.0.to_le_bytes());
        bytes.push(slot.lost as u8 | slot.logical.map_or(0, |_| LOGICAL));
        if let Some(logical) = &slot.logical {
            bytes.extend_from_slice(&logical.database.to_le_bytes());
            bytes.extend_from_slice(&logical.confirmed.0.to_le_bytes());
        }
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<BTreeMap<String, Slot>> {
    let mut slots = BTreeMap::new();
    while let Some((&length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at_checked(length.into())?;
        let (position, rest) = rest.split_first_chunk()?;
        let (&flags, mut rest) = rest.split_first()?;
        let mut logical = None;
        if flags & LOGICAL != 0 {
            let (database, behind) = rest.split_first_chunk()?;
            let (confirmed, behind) = behind.split_first_chunk()?;
            logical = Some(Logical {
                database: u32::from_le_bytes(*database),
                confirmed: Lsn(u64::from_le_bytes(*confirmed)),
            });
            rest = behind;
        }
        let slot = Slot {
            position: Lsn(u64::from_le_bytes(*position)),
            lost: flags & 1 != 0,
            temporary: None,
            logical,
            user: None,
        };
        slots.insert(String::from_utf8(name.to_vec()).ok()?, slot);
        bytes = rest;
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::env::sim::{SimDisk, env};

    fn open(disk: &SimDisk) -> Slots {
        Slots::open(env(disk, 1).0.disk, 7, 1000, 100).expect("the disk works")
    }

    #[test]
    fn a_slot_outlives_a_crash_and_keeps_no_less_than_was_saved() {
        let disk = SimDisk::new(4);
        let mut slots = open(&disk);
        slots.begin("b", Lsn(500)).expect("there is room");
        slots.begin("c", Lsn(700)).expect("there is room");
        slots.advance("b", Lsn(590)).expect("the disk works");
        assert_eq!(
            slots.keep_from(),
            Some(Lsn(500)),
            "not saved yet: a crash would ask for it"
        );
        slots.advance("b", Lsn(605)).expect("the disk works");
        assert_eq!(slots.keep_from(), Some(Lsn(605)));
        let slots = open(&disk.crash());
        assert_eq!(slots.keep_from(), Some(Lsn(605)));
        assert_eq!(slots.get("c").map(|slot| slot.position), Some(Lsn(700)));
    }

    #[test]
    fn a_slot_that_keeps_too_much_is_lost_for_good_and_says_so() {
        let disk = SimDisk::new(5);
        let mut slots = open(&disk);
        slots.begin("b", Lsn(500)).expect("there is room");
        slots.begin("c", Lsn(1400)).expect("there is room");
        assert!(slots.enforce(Lsn(1500)).expect("the disk works").is_empty());
        assert_eq!(slots.enforce(Lsn(1501)).expect("the disk works"), ["b"]);
        assert_eq!(slots.keep_from(), Some(Lsn(1400)));
        slots.advance("b", Lsn(1501)).expect("the disk works");
        let mut slots = open(&disk.crash());
        assert!(slots.get("b").is_some_and(|slot| slot.lost));
        slots.begin("b", Lsn(1450)).expect("there is room");
        assert!(slots.get("b").is_some_and(|slot| !slot.lost));
        assert!(slots.drop_slot("c").expect("the disk works"));
        assert_eq!(slots.keep_from(), Some(Lsn(1450)));
    }

    #[test]
    fn a_lost_slot_keeps_its_log_again_where_the_bound_was_raised_in_time() {
        let disk = SimDisk::new(6);
        let mut slots = open(&disk);
        slots.begin("b", Lsn(500)).expect("there is room");
        slots.begin("c", Lsn(700)).expect("there is room");
        slots.enforce(Lsn(1800)).expect("the disk works");
        let lost = |slots: &Slots| ["b", "c"].map(|name| slots.get(name).is_none_or(|slot| slot.lost));
        assert_eq!(lost(&slots), [true, true]);
        slots.take_back(Lsn(100), Lsn(1800)).expect("the disk works");
        assert_eq!(lost(&slots), [true, true], "with the bound as it was");
        let disk = disk.crash();
        let raised = Slots::open(env(&disk, 1).0.disk, 7, 2000, 100);
        let mut slots = raised.expect("the disk works");
        slots.take_back(Lsn(600), Lsn(1800)).expect("the disk works");
        assert_eq!(lost(&slots), [true, false], "the log from 600 on is here");
        let slots = open(&disk.crash());
        assert_eq!(lost(&slots), [true, false]);
        assert_eq!(slots.keep_from(), Some(Lsn(700)));
    }

    #[test]
    fn who_comes_to_lead_keeps_what_it_has_for_a_follower_of_which_it_was_told_too_little() {
        let disk = SimDisk::new(8);
        // This node led: "b" has the log up to 900, and what lies below is gone.
        let mut slots = open(&disk);
        slots.begin("b", Lsn(900)).expect("there is room");
        // The next to lead had been away, and knows of "b" what was true before.
        let told = |name: &str, position, lost| KeptFor {
            name: name.into(),
            position: Lsn(position),
            lost,
            logical: None,
        };
        let old = vec![told("b", 400, false), told("c", 950, false), told("d", 300, true)];
        slots.adopt(old, Lsn(1000)).expect("the disk works");
        // Then this node leads again.
        slots.raise_to(Lsn(900)).expect("the disk works");
        let mut slots = open(&disk.crash());
        let state = |slots: &Slots, name| slots.get(name).map(|slot| (slot.position, slot.lost));
        assert_eq!(state(&slots, "b"), Some((Lsn(900), false)));
        assert_eq!(state(&slots, "c"), Some((Lsn(950), false)));
        assert_eq!(state(&slots, "d"), Some((Lsn(300), true)), "given up before");
        assert_eq!(slots.keep_from(), Some(Lsn(900)));
        // The bound holds from there on.
        assert!(slots.enforce(Lsn(1900)).expect("the disk works").is_empty());
        assert_eq!(slots.enforce(Lsn(1901)).expect("the disk works"), ["b"]);
    }

    #[test]
    fn what_was_kept_is_kept_on_until_something_of_the_next_term_is_stable() {
        let mut slots = open(&SimDisk::new(11));
        let told = |name: &str, position, lost| KeptFor {
            name: name.into(),
            position: Lsn(position),
            lost,
            logical: None,
        };
        let before = vec![
            told("b", 400, false),
            told("c", 300, false),
            told("d", 500, false),
        ];
        slots.adopt(before, Lsn(1000)).expect("the disk works");
        let next = vec![told("a", 450, false), told("b", 700, false), told("c", 350, true)];
        slots.adopt_more(next.clone(), Lsn(1000)).expect("the disk works");
        let all: Vec<_> = slots
            .iter()
            .map(|(name, slot)| (name.to_string(), slot.position.0, slot.lost))
            .collect();
        let expected = [("a", 450), ("b", 400), ("c", 300), ("d", 500)];
        assert_eq!(
            all,
            expected.map(|(name, position)| (name.to_string(), position, false))
        );
        slots.adopt(next, Lsn(1000)).expect("the disk works");
        assert_eq!(slots.keep_from(), Some(Lsn(450)));
    }

    #[test]
    fn a_slot_made_by_command_keeps_what_was_reserved_and_a_temporary_one_goes_with_its_session() {
        let disk = SimDisk::new(7);
        let mut slots = open(&disk);
        slots.create("later", Lsn::ZERO, None).expect("there is room");
        assert_eq!(slots.keep_from(), None, "nothing is reserved");
        slots.create("clone", Lsn(300), Some(9)).expect("there is room");
        slots.create("now", Lsn(500), None).expect("there is room");
        assert!(matches!(
            slots.create("now", Lsn(1), Some(9)),
            Err(SlotError::Exists)
        ));
        assert_eq!(slots.keep_from(), Some(Lsn(300)));
        let disk = disk.crash();
        let mut slots = open(&disk);
        assert_eq!(slots.keep_from(), Some(Lsn(500)));
        let names: Vec<&str> = slots.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["later", "now"]);
        slots.create("clone", Lsn(300), Some(9)).expect("there is room");
        slots.end_session(8);
        assert_eq!(slots.keep_from(), Some(Lsn(300)));
        let clone = slots.get("clone").expect("it is there");
        assert_eq!(slots.room(clone, Lsn(1200)), Some(100));
        // A follower of the name takes it over; its first session's end does not concern it any more.
        slots.begin("clone", Lsn(400)).expect("it has one");
        slots.end_session(9);
        assert_eq!(slots.keep_from(), Some(Lsn(400)));
        assert_eq!(
            slots.enforce(Lsn(9000)).expect("the disk works"),
            ["clone", "now"]
        );
        assert_eq!(slots.keep_from(), None);
    }

    #[test]
    fn a_subscribers_slot_outlives_a_crash_with_what_was_confirmed() {
        let disk = SimDisk::new(9);
        let mut slots = open(&disk);
        let logical = |confirmed| Logical {
            database: 5,
            confirmed: Lsn(confirmed),
        };
        slots
            .create_logical("sub", Lsn(300), Some(6), logical(0))
            .expect("there is room");
        slots.settle("sub", Lsn(350), false).expect("the disk works");
        slots
            .create_logical("sync", Lsn(310), Some(7), logical(350))
            .expect("there is room");
        slots.set_user("sub", Some(8));
        slots.confirm("sub", Lsn(380), Lsn(320)).expect("the disk works");
        assert_eq!(slots.keep_from(), Some(Lsn(300)), "not saved yet");
        slots.save_confirmed().expect("the disk works");
        let saves = slots.changes();
        slots.save_confirmed().expect("the disk works");
        assert_eq!(slots.changes(), saves, "nothing has changed since");
        assert!(matches!(slots.begin("sub", Lsn(1)), Err(SlotError::Exists)));
        slots.end_session(8);
        assert_eq!(slots.get("sub").and_then(|slot| slot.user), None);
        let slots = open(&disk.crash());
        let slot = slots.get("sub").expect("it is there");
        assert_eq!((slot.position, slot.logical), (Lsn(320), Some(logical(380))));
        assert!(slots.get("sync").is_none());
    }

    #[test]
    fn slots_are_bounded_and_damage_is_told() {
        let disk = SimDisk::new(6);
        let mut slots = open(&disk);
        for i in 0..SLOTS_MAX {
            slots.begin(&format!("f{i}"), Lsn(1)).expect("there is room");
        }
        assert!(matches!(slots.begin("one more", Lsn(1)), Err(SlotError::TooMany)));
        slots.begin("f3", Lsn(9)).expect("it has one");
        assert!(disk.flip_bit("replication/slots", 40, 3));
        let damaged = Slots::open(env(&disk, 1).0.disk, 7, 1000, 100);
        assert!(damaged.is_err());
    }

    #[test]
    fn a_slot_that_keeps_enough_already_is_not_written_again() {
        let disk = SimDisk::new(9);
        let mut slots = open(&disk);
        slots.begin("b", Lsn(500)).expect("there is room");
        let before = slots.changes();
        slots.begin("b", Lsn(560)).expect("there is room");
        assert_eq!((slots.changes(), slots.keep_from()), (before, Some(Lsn(500))));
        assert_eq!(slots.get("b").map(|slot| slot.position), Some(Lsn(560)));
        // Its log was cut: it needs more.
        slots.begin("b", Lsn(400)).expect("there is room");
        assert_eq!((slots.changes(), slots.keep_from()), (before + 1, Some(Lsn(400))));
        assert_eq!(open(&disk.crash()).keep_from(), Some(Lsn(400)));
    }

    /// A follower that was copied while one place was left has that place for its copy until its stream has begun.
    #[test]
    fn a_copys_slot_is_not_in_the_way_of_its_stream() {
        let disk = SimDisk::new(8);
        let mut slots = open(&disk);
        for number in 0..SLOTS_MAX - 1 {
            let name = format!("s{number}");
            slots.create(&name, Lsn(100), None).expect("there is a place");
        }
        slots
            .create("mote_clone", Lsn(100), Some(7))
            .expect("the last place");
        let refused = slots.create("more", Lsn(100), None);
        assert!(matches!(refused, Err(SlotError::TooMany)), "{refused:?}");
        slots.begin("b", Lsn(100)).expect("its copy's place is its own");
        assert!(matches!(slots.begin("c", Lsn(100)), Err(SlotError::TooMany)));
        slots.end_session(7);
        assert!(slots.get("mote_clone").is_none() && slots.get("b").is_some());
        assert_eq!(slots.kept_for().count(), SLOTS_MAX);
    }
}
