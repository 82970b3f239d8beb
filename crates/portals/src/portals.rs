//! The session's portals by name.
//!
//! Portals are boxed: one is taken out and put back by each run, and moved through several functions on its way.
//! The unnamed portal, through which drivers run nearly every statement, has a place of its own: no look-up, no key to
//! allocate. Buffers of ended portals are kept for the next Bind.

use std::collections::{HashMap, HashSet};

use mote_types::Datum;

use super::Portal;

/// Parameter vectors kept for portals to come.
const SPARE_PARAMETERS: usize = 4;
/// A longer vector than this is given back.
const SPARE_PARAMETERS_CAPACITY: usize = 256;

/// A cursor WITH HOLD whose transaction has committed.
fn is_held(portal: &Portal) -> bool {
    portal.cursor.as_ref().is_some_and(|cursor| cursor.held)
}

#[derive(Default)]
pub struct Portals {
    unnamed: Option<Box<Portal>>,
    named: HashMap<String, Box<Portal>>,
    spare_parameters: Vec<Vec<Datum>>,
    /// Cursors so far that nobody named.
    nameless: u64,
    /// Names of those that a transaction block had when it failed: until it ends they are refused as all it is asked.
    lost: HashSet<String>,
}

impl Portals {
    /// How many there are, for the bound on them.
    pub fn len(&self) -> usize {
        self.named.len() + self.unnamed.is_some() as usize
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    #[inline]
    pub fn get(&self, name: &str) -> Option<&Portal> {
        if name.is_empty() {
            return self.unnamed.as_deref();
        }
        self.named.get(name).map(|portal| &**portal)
    }

    /// The transaction block failed: its portals are gone, and their names remembered.
    pub fn lose_all(&mut self) {
        if self.unnamed.take().is_some() {
            self.lose("");
        }
        // A held cursor has no transaction that could fail.
        let lost = self.named.extract_if(|_, portal| !is_held(portal));
        self.lost.extend(lost.map(|(name, _)| name));
    }

    /// The same of one that was taken out to run, and failed.
    pub fn lose(&mut self, name: &str) {
        self.lost.insert(name.to_owned());
    }

    pub fn has_lost(&self, name: &str) -> bool {
        self.lost.contains(name)
    }

    /// No block waits for its end any more.
    pub fn forget_lost(&mut self) {
        if !self.lost.is_empty() {
            self.lost = HashSet::new();
        }
    }

    /// A name for a cursor that has none.
    pub fn new_name(&mut self) -> String {
        loop {
            self.nameless += 1;
            let name = format!("<unnamed portal {}>", self.nameless);
            // A client may have used a name of this form.
            if !self.contains(&name) {
                return name;
            }
        }
    }

    /// Takes a portal out, for good or while it runs.
    #[inline]
    pub fn take(&mut self, name: &str) -> Option<Box<Portal>> {
        if name.is_empty() {
            return self.unnamed.take();
        }
        self.named.remove(name)
    }

    /// Puts a portal in; answers with the one that had the name.
    #[inline]
    pub fn put(&mut self, name: &str, portal: Box<Portal>) -> Option<Box<Portal>> {
        if name.is_empty() {
            return self.unnamed.replace(portal);
        }
        self.named.insert(name.to_string(), portal)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Portal)> {
        let unnamed = self.unnamed.iter().map(|portal| ("", &**portal));
        unnamed.chain(self.named.iter().map(|(name, portal)| (name.as_str(), &**portal)))
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Portal> {
        if name.is_empty() {
            return self.unnamed.as_deref_mut();
        }
        self.named.get_mut(name).map(|portal| &mut **portal)
    }

    /// Names of cursors WITH HOLD whose transaction is about to commit, or of those that loops read from.
    pub fn to_hold(&self, pinned: bool) -> Vec<String> {
        let waits = |portal: &Portal| {
            portal
                .cursor
                .as_ref()
                .is_some_and(|cursor| (if pinned { cursor.pinned } else { cursor.hold }) && !cursor.held)
        };
        // The unnamed portal is none that DECLARE or OPEN has made.
        let names = self.named.iter().filter(|(_, portal)| waits(portal));
        names.map(|(name, _)| name.clone()).collect()
    }

    /// Drops all portals that do not outlive their transaction.
    pub fn end_transaction(&mut self) {
        self.unnamed = None;
        self.named.retain(|_, portal| is_held(portal));
    }

    /// Drops all, those that are held as well: DISCARD.
    pub fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }

    /// Drops what `keep` does not want.
    pub fn retain(&mut self, keep: impl Fn(&Portal) -> bool) {
        self.unnamed.take_if(|portal| !keep(portal));
        self.named.retain(|_, portal| keep(portal));
    }

    /// Takes out some portal that does not outlive its transaction; None when there is none.
    pub fn pop(&mut self) -> Option<Box<Portal>> {
        if let Some(portal) = self.unnamed.take() {
            return Some(portal);
        }
        let (name, _) = self.named.iter().find(|(_, portal)| !is_held(portal))?;
        let name = name.clone();
        self.named.remove(&name)
    }

    /// An empty vector for the parameters of a Bind.
    pub fn spare_parameters(&mut self) -> Vec<Datum> {
        self.spare_parameters.pop().unwrap_or_default()
    }

    /// Keeps the memory of an ended portal's parameters.
    pub fn recycle(&mut self, mut parameters: Vec<Datum>) {
        // Without an allocation there is nothing to keep.
        let worth_it = (1..=SPARE_PARAMETERS_CAPACITY).contains(&parameters.capacity());
        if worth_it && self.spare_parameters.len() < SPARE_PARAMETERS {
            parameters.clear();
            self.spare_parameters.push(parameters);
        }
    }
}
