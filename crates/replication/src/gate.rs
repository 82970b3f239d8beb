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
    /// A bit for each level whose queue is not empty.
    awaited: u8,
}

impl<T> Default for Gate<T> {
    fn default() -> Gate<T> {
        Gate {
            waiting: Default::default(),
            awaited: 0,
        }
    }
}

impl<T> Gate<T> {
    /// `reply` leaves when `level` has reached `until`.
    pub fn hold(&mut self, level: Level, until: Lsn, reply: T) {
        self.waiting[level as usize].push_back((until, reply));
        self.awaited |= 1 << level as u8;
    }

    /// Takes out what may leave.
    pub fn release(&mut self, levels: &Levels, leave: impl FnMut(Level, Lsn, T)) {
        self.release_reached(|level| levels.of(level), leave);
    }

    /// The primary is none any more: nobody may be told that these commits count, nor that they do not.
    pub fn abandon(&mut self) -> usize {
        self.awaited = 0;
        self.waiting.iter_mut().map(|queue| queue.drain(..).count()).sum()
    }

    /// As [`release`](Self::release), with each level looked at only where something waits for it.
    #[inline]
    pub fn release_reached(&mut self, reached: impl Fn(Level) -> Lsn, leave: impl FnMut(Level, Lsn, T)) {
        if self.awaited != 0 {
            self.release_some(reached, leave);
        }
    }

    fn release_some(&mut self, reached: impl Fn(Level) -> Lsn, mut leave: impl FnMut(Level, Lsn, T)) {
        for (level, queue) in LEVELS.into_iter().zip(&mut self.waiting) {
            if queue.is_empty() {
                continue;
            }
            let reached = reached(level);
            while let Some((until, reply)) = queue.pop_front_if(|(until, _)| *until <= reached) {
                leave(level, until, reply);
            }
            if queue.is_empty() {
                self.awaited &= !(1 << level as u8);
            }
        }
    }

    /// Whether something may leave.
    #[inline]
    pub fn is_due(&self, reached: impl Fn(Level) -> Lsn) -> bool {
        let may_leave = |(level, queue): (Level, &VecDeque<(Lsn, T)>)| {
            queue.front().is_some_and(|(until, _)| *until <= reached(level))
        };
        self.awaited != 0 && LEVELS.into_iter().zip(&self.waiting).any(may_leave)
    }

    /// A bit for each level that something waits for.
    #[inline]
    pub fn awaited(&self) -> u8 {
        self.awaited
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
