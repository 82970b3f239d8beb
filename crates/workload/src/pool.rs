//! Sessions shared by the terminals of one driver thread.
//!
//! In a closed loop every terminal has a pool of one session, its own; true terminals, which mostly think, share
//! fewer sessions than there are terminals. Waiting for a session is part of a transaction's latency.
//!
//! Invariant: `opened` counts the sessions in `free` plus those that are lent out, and is at most `capacity`.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use mote_driver::{DriverResult, Session, StatementSet, Target, Wait};

pub struct Pool {
    target: Target,
    statements: Arc<StatementSet>,
    capacity: usize,
    opened: Cell<usize>,
    free: RefCell<Vec<Session>>,
    /// Fibers that wait for a session, longest first.
    waiters: RefCell<VecDeque<usize>>,
}

impl Pool {
    pub fn new(target: Target, statements: Arc<StatementSet>, capacity: usize) -> Pool {
        Pool {
            target,
            statements,
            capacity,
            opened: Cell::new(0),
            free: RefCell::new(Vec::new()),
            waiters: RefCell::new(VecDeque::new()),
        }
    }

    /// A session of the pool: a free one, a new one, or the next to be released.
    pub fn acquire(&self, wait: &Wait<'_>) -> DriverResult<Session> {
        loop {
            if let Some(session) = self.free.borrow_mut().pop() {
                return Ok(session);
            }
            if self.opened.get() < self.capacity {
                self.opened.set(self.opened.get() + 1);
                return Session::open(&self.target, Arc::clone(&self.statements), wait)
                    .inspect_err(|_| self.forget(wait));
            }
            self.waiters.borrow_mut().push_back(wait.id());
            wait.park();
        }
    }

    /// Gives a session back; a lost one is dropped and makes room for another.
    pub fn release(&self, session: Session, wait: &Wait<'_>) {
        if !session.is_usable() {
            return self.forget(wait);
        }
        self.free.borrow_mut().push(session);
        self.wake_one(wait);
    }

    fn forget(&self, wait: &Wait<'_>) {
        self.opened.set(self.opened.get() - 1);
        self.wake_one(wait);
    }

    fn wake_one(&self, wait: &Wait<'_>) {
        if let Some(id) = self.waiters.borrow_mut().pop_front() {
            wait.wake(id);
        }
    }
}
