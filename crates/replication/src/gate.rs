//! Replies that wait for their commit to count, each at the level its own session asked for.
//!
//! One queue per level, in the order of arrival: a reply at a weak level never waits for one at a strong level, however
//! many stand there, and nothing is searched. Within a level the first one holds the others back, as replies of one
//! worker leave in order; positions in a queue hardly ever fall.

use std::collections::VecDeque;

use mote_common::Lsn;

pub use mote_log::{LEVELS, Level};

/// How far the log is, for each level. All levels from `Local` up include the flush here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    pub filled: Lsn,
    pub local: Lsn,
    pub received: Lsn,
    pub stable: Lsn,
    pub applied: Lsn,
}

impl Levels {
    pub fn of(&self, level: Level) -> Lsn {
        match level {
            Level::Off => self.filled,
            Level::Local => self.local,
            Level::RemoteWrite => self.received,
            Level::On => self.stable,
            Level::RemoteApply => self.applied,
        }
    }
}

pub struct Gate<T> {
    waiting: [VecDeque<(Lsn, T)>; 5],
}

impl<T> Default for Gate<T> {
    fn default() -> Gate<T> {
        Gate {
            waiting: Default::default(),
        }
    }
}

impl<T> Gate<T> {
    /// `reply` leaves when `level` has reached `until`.
    pub fn hold(&mut self, level: Level, until: Lsn, reply: T) {
        self.waiting[level as usize].push_back((until, reply));
    }

    /// Takes out what may leave.
    pub fn release(&mut self, levels: &Levels, mut leave: impl FnMut(Level, Lsn, T)) {
        for (level, queue) in LEVELS.into_iter().zip(&mut self.waiting) {
            let reached = levels.of(level);
            while let Some((until, reply)) = queue.pop_front_if(|(until, _)| *until <= reached) {
                leave(level, until, reply);
            }
        }
    }

    /// The primary is none any more: nobody may be told that these commits count, nor that they do not.
    pub fn abandon(&mut self) -> usize {
        self.waiting.iter_mut().map(|queue| queue.drain(..).count()).sum()
    }

    /// As [`release`](Self::release), with each level looked at only where something waits for it.
    pub fn release_reached(&mut self, reached: impl Fn(Level) -> Lsn, mut leave: impl FnMut(T)) {
        for (level, queue) in LEVELS.into_iter().zip(&mut self.waiting) {
            if queue.is_empty() {
                continue;
            }
            let reached = reached(level);
            while let Some((_, reply)) = queue.pop_front_if(|(until, _)| *until <= reached) {
                leave(reply);
            }
        }
    }

    /// Whether something may leave.
    pub fn is_due(&self, reached: impl Fn(Level) -> Lsn) -> bool {
        let mut queues = LEVELS.into_iter().zip(&self.waiting);
        queues.any(|(level, queue)| queue.front().is_some_and(|(until, _)| *until <= reached(level)))
    }

    /// A bit for each level that something waits for.
    pub fn awaited(&self) -> u8 {
        let queues = self.waiting.iter().enumerate();
        queues.fold(0, |mask, (level, queue)| {
            mask | u8::from(!queue.is_empty()) << level
        })
    }

    pub fn held(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn released(gate: &mut Gate<u32>, levels: &Levels) -> Vec<u32> {
        let mut out = Vec::new();
        gate.release(levels, |_, _, reply| out.push(reply));
        out
    }

    #[test]
    fn a_reply_waits_for_its_own_level_only() {
        let mut gate = Gate::default();
        for (reply, level) in LEVELS.into_iter().enumerate() {
            gate.hold(level, Lsn(100), reply as u32);
        }
        let mut levels = Levels::default();
        assert!(released(&mut gate, &levels).is_empty());
        levels.filled = Lsn(150);
        assert_eq!(released(&mut gate, &levels), [0]);
        levels.local = Lsn(100);
        levels.received = Lsn(99);
        assert_eq!(released(&mut gate, &levels), [1]);
        levels.received = Lsn(120);
        levels.stable = Lsn(120);
        assert_eq!(released(&mut gate, &levels), [2, 3]);
        gate.hold(Level::On, Lsn(110), 7);
        assert_eq!(
            released(&mut gate, &levels),
            [7],
            "behind nobody of another level"
        );
        assert_eq!(gate.abandon(), 1);
        levels.applied = Lsn(500);
        assert!(released(&mut gate, &levels).is_empty());
    }
}
