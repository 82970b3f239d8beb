//! Which old parts of the log unfinished transactions still need.
//!
//! The operations of a transaction with fragments, or of a prepared one, stand in the log before its commit. A segment
//! image whose timestamp lies between them and the commit does not contain them, so the log must be kept from the first
//! of them until every image is newer than the commit.
//!
//! An open transaction that would keep more than the limit is given up: its log may go, and it can only roll back. Who is
//! about to commit or to prepare says so first (`pin_until_end`), and from then on is not given up any more.

use std::collections::HashMap;

use mote_common::Lsn;
use mote_common::sync::Mutex;

use super::record::{CommitHeader, FragmentHeader, PrepareHeader};
use super::varint::Cursor;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PinOwner {
    Fragmented { term: u32, transaction: u64 },
    Prepared { gid: Vec<u8> },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pin {
    /// Not above its first frame.
    pub first: Lsn,
    /// Its commit timestamp, once it has one.
    pub committed: Option<Lsn>,
}

/// How far a transaction with fragments has got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Growing,
    /// Its last frame is being appended, or it is prepared.
    Ending,
    /// The log does not wait for it any more.
    GivenUp,
}

#[derive(Default)]
pub(super) struct Pins {
    /// Prepared transactions whose gid was used again stand here under their commit, no longer under their name.
    pins: Mutex<(HashMap<PinOwner, (Pin, Stage)>, Vec<Pin>)>,
}

impl Pins {
    pub fn new(recovered: Vec<(PinOwner, Pin)>) -> Pins {
        let pins = Pins::default();
        {
            let mut inner = pins.pins.lock();
            for (owner, pin) in recovered {
                match pin.committed {
                    None => _ = inner.0.insert(owner, (pin, Stage::Ending)),
                    Some(_) => inner.1.push(pin),
                }
            }
        }
        pins
    }

    /// Before the position of a frame is reserved; `lower_bound` is not above it.
    pub fn open(&self, owner: PinOwner, lower_bound: Lsn) {
        let pin = Pin {
            first: lower_bound,
            committed: None,
        };
        self.pins.lock().0.entry(owner).or_insert((pin, Stage::Growing));
    }

    /// Before one more fragment: whether the log from the first one on is still kept. One whose first frame lies below
    /// `oldest` is given up here. `Err` has that first frame.
    pub fn may_grow(&self, owner: &PinOwner, oldest: Lsn) -> Result<(), Lsn> {
        match self.pins.lock().0.get_mut(owner) {
            Some((pin, stage)) if *stage == Stage::GivenUp || pin.first < oldest => {
                *stage = Stage::GivenUp;
                Err(pin.first)
            }
            _ => Ok(()),
        }
    }

    /// Before the frame that ends the transaction: what it has sent is kept from here on. `Err` as for `may_grow`.
    pub fn pin_until_end(&self, owner: &PinOwner) -> Result<(), Lsn> {
        match self.pins.lock().0.get_mut(owner) {
            Some((pin, Stage::GivenUp)) => Err(pin.first),
            Some((_, stage)) => {
                *stage = Stage::Ending;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn commit(&self, owner: &PinOwner, ts: Lsn) {
        let mut inner = self.pins.lock();
        if let Some((pin, _)) = inner.0.remove(owner) {
            inner.1.push(Pin {
                committed: Some(ts),
                ..pin
            });
        }
    }

    pub fn abort(&self, owner: &PinOwner) {
        self.pins.lock().0.remove(owner);
    }

    /// A prepared transaction that had sent fragments needs the log from the first of those. One that is written again
    /// needs what it needed before until it is told otherwise (`moved`).
    pub fn prepare(&self, gid: &[u8], fragmented: Option<&PinOwner>, lower_bound: Lsn) {
        let mut inner = self.pins.lock();
        let first = fragmented
            .and_then(|owner| inner.0.remove(owner))
            .map_or(lower_bound, |(pin, _)| pin.first);
        let fresh = Pin {
            first,
            committed: None,
        };
        let (pin, _) = inner
            .0
            .entry(PinOwner::Prepared { gid: gid.to_vec() })
            .or_insert((fresh, Stage::Ending));
        pin.first = pin.first.min(first);
    }

    /// From where an undecided prepared transaction needs the log.
    pub fn prepared(&self, gid: &[u8]) -> Option<Lsn> {
        let inner = self.pins.lock();
        let (pin, _) = inner.0.get(&PinOwner::Prepared { gid: gid.to_vec() })?;
        Some(pin.first)
    }

    /// An undecided prepared transaction was written again: the frames from `first` on are stable and say everything.
    pub fn moved(&self, gid: &[u8], first: Lsn) {
        if let Some((pin, _)) = self
            .pins
            .lock()
            .0
            .get_mut(&PinOwner::Prepared { gid: gid.to_vec() })
        {
            pin.first = first;
        }
    }

    /// The lowest first frame of the transactions that end above `end`, as far as they have begun to be logged; `None`:
    /// there is none.
    pub fn open_from(&self, end: Lsn) -> Option<Lsn> {
        let inner = self.pins.lock();
        let open = inner.0.values().map(|(pin, _)| pin.first);
        let ended = inner.1.iter().filter(|pin| pin.committed > Some(end));
        open.chain(ended.map(|pin| pin.first)).min()
    }

    /// From where the log must be kept if images need it from `images`. Gives up open transactions that alone would keep
    /// log below `oldest`; forgets transactions that need it no longer.
    pub fn keep_from(&self, images: Lsn, oldest: Lsn) -> Lsn {
        let mut inner = self.pins.lock();
        let mut keep = images;
        for (pin, stage) in inner.0.values_mut() {
            if *stage == Stage::Growing && pin.first < oldest.min(images) {
                *stage = Stage::GivenUp;
            }
            if *stage != Stage::GivenUp {
                keep = keep.min(pin.first);
            }
        }
        inner.1.retain(|pin| pin.committed > Some(images));
        keep = inner.1.iter().map(|pin| pin.first).fold(keep, Lsn::min);
        keep
    }
}

/// How a frame's payload changes the pins; `None` for frames that do not.
pub(super) enum PinChange {
    Open(PinOwner),
    Commit(PinOwner),
    Abort(PinOwner),
    Prepare {
        gid: Vec<u8>,
        fragmented: Option<PinOwner>,
    },
}

impl PinChange {
    pub fn of_fragment(term: u32, payload: &[u8]) -> Option<PinChange> {
        let (header, _) = FragmentHeader::decode(payload)?;
        Some(PinChange::Open(PinOwner::Fragmented {
            term,
            transaction: header.transaction,
        }))
    }

    pub fn of_commit(term: u32, payload: &[u8]) -> Option<PinChange> {
        let transaction = Cursor::new(payload).varint()?;
        (transaction != 0).then_some(PinChange::Commit(PinOwner::Fragmented { term, transaction }))
    }

    pub fn of_abort(term: u32, payload: &[u8]) -> Option<PinChange> {
        let transaction = Cursor::new(payload).varint()?;
        Some(PinChange::Abort(PinOwner::Fragmented { term, transaction }))
    }

    pub fn of_prepare(term: u32, payload: &[u8]) -> Option<PinChange> {
        let (header, rest) = PrepareHeader::decode(payload)?;
        let (commit, _) = CommitHeader::decode(rest)?;
        let fragmented = (commit.transaction != 0).then_some(PinOwner::Fragmented {
            term,
            transaction: commit.transaction,
        });
        Some(PinChange::Prepare {
            gid: header.gid.to_vec(),
            fragmented,
        })
    }

    pub fn of_decision(gid: &[u8], commit: bool) -> PinChange {
        let owner = PinOwner::Prepared { gid: gid.to_vec() };
        if commit {
            PinChange::Commit(owner)
        } else {
            PinChange::Abort(owner)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No limit.
    const ALL: Lsn = Lsn::ZERO;

    fn fragmented(transaction: u64) -> PinOwner {
        PinOwner::Fragmented { term: 1, transaction }
    }

    #[test]
    fn who_keeps_too_much_is_given_up_unless_it_is_ending() {
        let pins = Pins::default();
        pins.open(fragmented(1), Lsn(100));
        pins.open(fragmented(2), Lsn(150));
        pins.open(fragmented(3), Lsn(400));
        assert_eq!(pins.pin_until_end(&fragmented(2)), Ok(()));
        // The images need this log themselves: nobody keeps it alone.
        assert_eq!(pins.keep_from(Lsn(90), Lsn(300)), Lsn(90));
        assert_eq!(pins.may_grow(&fragmented(1), Lsn(100)), Ok(()));
        assert_eq!(pins.keep_from(Lsn(500), Lsn(300)), Lsn(150));
        assert_eq!(pins.may_grow(&fragmented(1), ALL), Err(Lsn(100)));
        assert_eq!(pins.pin_until_end(&fragmented(1)), Err(Lsn(100)));
        // A fragment that was under way does not bring it back.
        pins.open(fragmented(1), Lsn(600));
        assert_eq!(pins.pin_until_end(&fragmented(1)), Err(Lsn(100)));
        // Its own next fragment finds a transaction out as well.
        assert_eq!(pins.may_grow(&fragmented(3), Lsn(401)), Err(Lsn(400)));
        pins.abort(&fragmented(1));
        pins.abort(&fragmented(3));
        pins.commit(&fragmented(2), Lsn(700));
        assert_eq!(pins.keep_from(Lsn(699), Lsn(650)), Lsn(150));
        assert_eq!(pins.keep_from(Lsn(700), Lsn(650)), Lsn(700));
    }

    #[test]
    fn the_log_is_kept_until_images_pass_the_commit() {
        let pins = Pins::default();
        assert_eq!(pins.keep_from(Lsn(500), ALL), Lsn(500));
        pins.open(fragmented(1), Lsn(100));
        pins.open(fragmented(1), Lsn(200));
        assert_eq!(pins.keep_from(Lsn(500), ALL), Lsn(100));
        pins.commit(&fragmented(1), Lsn(600));
        assert_eq!(pins.keep_from(Lsn(599), ALL), Lsn(100));
        assert_eq!(pins.keep_from(Lsn(600), ALL), Lsn(600));
        pins.open(fragmented(2), Lsn(700));
        pins.abort(&fragmented(2));
        assert_eq!(pins.keep_from(Lsn(900), ALL), Lsn(900));
    }

    #[test]
    fn a_prepared_transaction_keeps_its_fragments() {
        let pins = Pins::default();
        pins.open(fragmented(1), Lsn(100));
        pins.prepare(b"g", Some(&fragmented(1)), Lsn(300));
        assert_eq!(pins.keep_from(Lsn(900), ALL), Lsn(100));
        pins.commit(&PinOwner::Prepared { gid: b"g".to_vec() }, Lsn(1000));
        pins.prepare(b"g", None, Lsn(1200));
        assert_eq!(pins.keep_from(Lsn(999), ALL), Lsn(100));
        assert_eq!(pins.keep_from(Lsn(2000), ALL), Lsn(1200));
        // Written again: the old frames count until the new ones are stable.
        pins.prepare(b"g", None, Lsn(1900));
        assert_eq!(pins.keep_from(Lsn(2000), ALL), Lsn(1200));
        pins.moved(b"g", Lsn(1900));
        assert_eq!(pins.keep_from(Lsn(2000), ALL), Lsn(1900));
    }
}
