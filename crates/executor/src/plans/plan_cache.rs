//! The plans that a worker keeps: bounded in number and bytes, least recently used first out.
//!
//! The cache has an account of its own, as a session has: where memory is short it shrinks, and nobody fails for it.
//! Leaves out: what makes a plan current, and which plans may be shared (`planning`).

use std::sync::Arc;

use hashbrown::HashMap;
use mote_catalog::settings::PlanKey;
use mote_common::Oid;
use mote_engine::{MemoryCharge, SessionMemory};

use super::Prepared;

/// Statements a worker keeps planned.
const PLANS_MAX: usize = 4096;
/// Bytes of them, where the memory limit is large; less is a part of the limit.
const BYTES_MAX: usize = 64 << 20;
const BYTES_MIN: usize = 1 << 20;
const LIMIT_DIVISOR: u64 = 64;
/// At a bound this part of the plans goes at once.
const EVICTED_DIVISOR: usize = 8;
/// What an entry takes beside its key's text and its statement.
const ENTRY_BYTES: usize = 256;

/// What decides what a text means: two sessions with equal keys may run one plan.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub text: Arc<str>,
    pub types: Vec<Oid>,
    /// Which of the databases in this process: their objects may have the same ids and names.
    pub instance: u64,
    pub database: Oid,
    pub user: Oid,
    pub plan_key: PlanKey,
    /// Of a session with temporary objects: nobody else can use its plans, nor it theirs.
    pub temporary: u64,
}

/// A statement, or that a text without its literals does not plan (see `stripped`).
pub(super) type Found = Option<Arc<Prepared>>;

struct Entry {
    found: Found,
    bytes: usize,
    /// When it was used last, by the cache's own clock.
    used: u64,
}

/// The plans of one database on one thread.
pub(super) struct PlanCache {
    entries: HashMap<Key, Entry>,
    bytes: usize,
    bytes_max: usize,
    clock: u64,
    memory: Arc<SessionMemory>,
    charge: Option<MemoryCharge>,
}

impl PlanCache {
    /// A cache that is charged to the budget of `session`'s memory.
    pub fn new(session: &SessionMemory) -> PlanCache {
        let part = session.limit_bytes() / LIMIT_DIVISOR;
        PlanCache {
            entries: HashMap::new(),
            bytes: 0,
            bytes_max: (part as usize).clamp(BYTES_MIN, BYTES_MAX),
            clock: 0,
            memory: session.sibling(),
            charge: None,
        }
    }

    /// What is kept under a key; counts as a use.
    pub fn get(&mut self, key: &Key) -> Option<Found> {
        let entry = self.entries.get_mut(key)?;
        self.clock += 1;
        entry.used = self.clock;
        Some(entry.found.clone())
    }

    /// Keeps a statement, at the expense of those not used for longest. Without memory for it, it is not kept: the
    /// caller has its plan either way.
    pub fn insert(&mut self, key: Key, found: Found) {
        let statement_bytes = found.as_ref().map_or(0, |prepared| prepared.bytes);
        let bytes = ENTRY_BYTES + key.text.len() + statement_bytes;
        // One large statement must not push out all others.
        if bytes > self.bytes_max / EVICTED_DIVISOR {
            return;
        }
        self.remove(&key);
        while self.entries.len() >= PLANS_MAX
            || self.bytes + bytes > self.bytes_max
            || self.recharge(self.bytes + bytes).is_none()
        {
            if self.entries.is_empty() {
                return;
            }
            self.evict();
        }
        self.clock += 1;
        self.bytes += bytes;
        let used = self.clock;
        self.entries.insert(key, Entry { found, bytes, used });
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
        }
    }

    /// None: there is no memory for so much.
    fn recharge(&mut self, bytes: usize) -> Option<()> {
        match &mut self.charge {
            Some(charge) => charge.resize(bytes).ok(),
            None => {
                self.charge = Some(self.memory.charge(bytes).ok()?);
                Some(())
            }
        }
    }

    /// Forgets the plans that were not used for the longest time.
    fn evict(&mut self) {
        // Selecting the oldest eighth is linear, and happens once per eighth of the entries.
        let mut used: Vec<u64> = self.entries.values().map(|entry| entry.used).collect();
        let last = used.len() / EVICTED_DIVISOR;
        let (_, &mut oldest, _) = used.select_nth_unstable(last);
        self.entries.retain(|_, entry| entry.used > oldest);
        self.bytes = self.entries.values().map(|entry| entry.bytes).sum();
        // Less than before: never refused.
        self.recharge(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use mote_catalog::database::Database;

    use super::*;
    use crate::index_keys::EVALUATION;

    fn key(text: &str) -> Key {
        Key {
            text: text.into(),
            types: Vec::new(),
            instance: 0,
            database: Oid(1),
            user: Oid(1),
            plan_key: PlanKey::default(),
            temporary: 0,
        }
    }

    #[test]
    fn plans_that_are_used_stay_and_memory_is_bounded() {
        let (env, _clock) = mote_common::env::sim::env(&mote_common::env::sim::SimDisk::new(1), 1);
        let database = Database::open_in(env, Default::default(), &Default::default(), &EVALUATION)
            .expect("a new database opens in memory");
        let memory = database.engine().session_memory();
        let mut cache = PlanCache::new(&memory);
        cache.bytes_max = 1 << 20;
        let filler = "x".repeat(1000);
        cache.insert(key("used all the time"), None);
        for number in 0..10_000 {
            cache.insert(key(&format!("{filler}{number}")), None);
            assert!(cache.get(&key("used all the time")).is_some(), "{number}");
            assert!(cache.bytes <= cache.bytes_max);
            assert_eq!(cache.memory.used_bytes(), cache.bytes as u64);
        }
        assert!(cache.get(&key(&format!("{filler}0"))).is_none());
        assert!(cache.get(&key(&format!("{filler}9999"))).is_some());
        assert!(cache.entries.len() > 500);
        // One that would push everything else out is not kept.
        cache.insert(key(&"y".repeat(200_000)), None);
        assert!(cache.entries.len() > 500 && cache.get(&key(&"y".repeat(200_000))).is_none());
        // The same text again takes the place of the old one.
        let before = cache.bytes;
        cache.insert(key("used all the time"), None);
        assert_eq!(cache.bytes, before);
    }

    #[test]
    fn the_number_is_bounded_too() {
        let (env, _clock) = mote_common::env::sim::env(&mote_common::env::sim::SimDisk::new(1), 1);
        let database = Database::open_in(env, Default::default(), &Default::default(), &EVALUATION)
            .expect("a new database opens in memory");
        let memory = database.engine().session_memory();
        let mut cache = PlanCache::new(&memory);
        for number in 0..PLANS_MAX + 10 {
            cache.insert(key(&number.to_string()), None);
        }
        assert!(cache.entries.len() <= PLANS_MAX && cache.entries.len() > PLANS_MAX / 2);
    }
}
