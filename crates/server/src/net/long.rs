//! Threads for long statements. A statement that has used several slices goes on here, at a lower priority, and returns
//! to its event loop when it waits or ends; so short statements find the loops free.
//!
//! As many threads as there are loops take turns, a slice each. A thread that does not come back from a call is replaced
//! by another one (`crew`).

use mote_engine::Awaited;
use std::collections::VecDeque;
use std::sync::Arc;

use mote_common::work;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::fiber::{Fiber, Ran};
use super::post::{Post, lower_priority};
use crate::interruption::Interruption;
use crate::net::inbox::{Inbox, Message};
use crate::suspension::{Reason, Suspend};
use crate::waker::Place;

/// A statement that goes on here, and where it belongs.
pub struct Long {
    pub fiber: Fiber,
    pub place: Place,
    pub inbox: Arc<Inbox>,
    pub interruption: Arc<Interruption>,
}

impl Long {
    /// Back to its loop. Ending a statement is work too: values are freed, changes undone. Somebody waits for it, and at
    /// this thread's priority it may take ten times as long.
    fn go_home(self) {
        let suspend = Suspend {
            reason: Reason::End,
            gate: Awaited::NOTHING,
            deadline_ns: None,
        };
        let ran = Ran::Suspended(self.fiber, suspend);
        self.inbox.send(Message::Back(self.place, ran));
    }
}

#[derive(Default)]
struct State {
    queue: VecDeque<Long>,
    threads: usize,
    ended: bool,
}

pub struct LongStatements {
    state: Mutex<State>,
    bell: Condvar,
    /// Threads beyond this many leave when there is nothing to do.
    threads_kept: usize,
}

impl LongStatements {
    pub fn new(threads_kept: usize) -> LongStatements {
        LongStatements {
            state: Mutex::new(State::default()),
            bell: Condvar::new(),
            threads_kept,
        }
    }

    pub fn push(&self, long: Long) {
        self.state.lock().queue.push_back(long);
        self.bell.notify_one();
    }

    pub fn is_waiting(&self) -> bool {
        !self.state.lock().queue.is_empty()
    }

    /// Makes the threads leave; drops what waits, which rolls it back.
    pub fn end(&self) {
        let dropped = {
            let mut state = self.state.lock();
            state.ended = true;
            std::mem::take(&mut state.queue)
        };
        self.bell.notify_all();
        drop(dropped);
    }

    /// A thread's life.
    pub fn serve<L>(&self, post: &Post<L>) {
        lower_priority(None);
        self.state.lock().threads += 1;
        while let Some(long) = self.next() {
            self.run(long, post);
        }
        self.state.lock().threads -= 1;
    }

    fn next(&self) -> Option<Long> {
        let mut state = self.state.lock();
        loop {
            if let Some(long) = state.queue.pop_front() {
                return Some(long);
            }
            if state.ended || state.threads > self.threads_kept {
                return None;
            }
            if self.bell.wait_for(&mut state, work::TRIM_INTERVAL).timed_out() {
                MutexGuard::unlocked(&mut state, work::trim_thread);
            }
        }
    }

    /// Runs slices of a statement, and of those that wait for their turn.
    fn run<L>(&self, mut long: Long, post: &Post<L>) {
        loop {
            if long.interruption.is_ending() {
                return long.go_home();
            }
            post.begin();
            let ran = long.fiber.resume();
            post.end();
            match ran {
                Ran::Suspended(
                    fiber,
                    Suspend {
                        reason: Reason::Yield(_) | Reason::Aside(_),
                        ..
                    },
                ) => {
                    long.fiber = fiber;
                    match self.take_turns(long) {
                        Some(next) => long = next,
                        None => return,
                    }
                }
                ran => return long.inbox.send(Message::Back(long.place, ran)),
            }
        }
    }

    /// The statement whose turn it is. None: all of them are over.
    fn take_turns(&self, long: Long) -> Option<Long> {
        let mut state = self.state.lock();
        if state.ended {
            drop(state);
            drop(long);
            return None;
        }
        // One that is to end does not wait for its turn.
        if let Some(ending) = state.queue.iter().position(|long| long.interruption.is_ending()) {
            let ending = state.queue.remove(ending);
            state.queue.push_back(long);
            return ending;
        }
        match state.queue.pop_front() {
            Some(next) => {
                state.queue.push_back(long);
                Some(next)
            }
            None => Some(long),
        }
    }
}
