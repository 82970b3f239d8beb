//! Freeing lists of many elements, which takes a second where they are ten millions, elsewhere than in the session that
//! is done with them: who has cancelled a statement waits for its answer, not for its memory.
//!
//! A thread of the process that calls [`free_discarded`] takes what [`discard`] leaves. Without one (recovery, tests,
//! databases inside a program), and where too much is left already, whoever is done with a list frees it himself.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use parking_lot::{Condvar, Mutex};

/// Shorter lists are freed on the spot, at some 200 ns an element in a few milliseconds.
const FREED_HERE_MAX: usize = 16 << 10;
/// Lists that may wait. Beyond them sessions that discard faster than the thread frees do it themselves.
const WAITING_MAX: usize = 64;

type Discarded = Box<dyn Send>;

#[derive(Default)]
struct Waiting {
    lists: VecDeque<Discarded>,
    is_served: bool,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    lists: VecDeque::new(),
    is_served: false,
});
static BELL: Condvar = Condvar::new();

/// Frees what others discard, as long as the process lives.
pub fn free_discarded() -> ! {
    let mut waiting = WAITING.lock();
    waiting.is_served = true;
    loop {
        match waiting.lists.pop_front() {
            // Not under the lock: it takes as long as it takes.
            Some(list) => parking_lot::MutexGuard::unlocked(&mut waiting, || drop(list)),
            None => BELL.wait(&mut waiting),
        }
    }
}

/// Lets go of a list, which is freed soon.
pub fn discard<T: Send + 'static>(list: Vec<T>) {
    // Elements that own nothing go with their block, in one call of the allocator.
    if list.len() > FREED_HERE_MAX && std::mem::needs_drop::<T>() {
        leave(Box::new(list));
    }
}

/// The same of a list whose elements hold so many others together.
pub fn discard_holding<T: Send + 'static>(list: Vec<T>, held: usize) {
    if held > FREED_HERE_MAX {
        leave(Box::new(list));
    }
}

/// The same of something else that it takes long to free.
pub(super) fn discard_any(long: impl Send + 'static) {
    leave(Box::new(long));
}

#[cold]
fn leave(list: Discarded) {
    let mut waiting = WAITING.lock();
    if waiting.is_served && waiting.lists.len() < WAITING_MAX {
        waiting.lists.push_back(list);
        drop(waiting);
        BELL.notify_one();
    }
    // Else it is dropped with this frame, after the guard.
}

/// Frees what waits, for somebody who needs the memory now.
pub(super) fn free_waiting() {
    loop {
        let list = WAITING.lock().lists.pop_front();
        if list.is_none() {
            return;
        }
    }
}

/// A list that may grow long, discarded when it is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulk<T: Send + 'static>(Vec<T>);

impl<T: Send + 'static> Bulk<T> {
    pub const fn new() -> Bulk<T> {
        Bulk(Vec::new())
    }

    pub fn into_vec(mut self) -> Vec<T> {
        std::mem::take(&mut self.0)
    }

    /// As `Vec::clear`; long lists lose their room, too.
    pub fn clear(&mut self) {
        match self.0.len() > FREED_HERE_MAX {
            true => discard(std::mem::take(&mut self.0)),
            false => self.0.clear(),
        }
    }
}

impl<T: Send + 'static> Drop for Bulk<T> {
    fn drop(&mut self) {
        if self.0.len() > FREED_HERE_MAX {
            discard(std::mem::take(&mut self.0));
        }
    }
}

impl<T: Send + 'static> Default for Bulk<T> {
    fn default() -> Bulk<T> {
        Bulk::new()
    }
}

impl<T: Send + 'static> From<Vec<T>> for Bulk<T> {
    fn from(list: Vec<T>) -> Bulk<T> {
        Bulk(list)
    }
}

impl<T: Send + 'static> FromIterator<T> for Bulk<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Bulk<T> {
        Bulk(items.into_iter().collect())
    }
}

impl<T: Send + 'static> IntoIterator for Bulk<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a, T: Send + 'static> IntoIterator for &'a Bulk<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T: Send + 'static> IntoIterator for &'a mut Bulk<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl<T: Send + 'static> Deref for Bulk<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Send + 'static> DerefMut for Bulk<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}
