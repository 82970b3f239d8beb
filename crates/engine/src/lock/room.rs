//! Sessions that wait for room, in the log or in memory.
//!
//! The ring is full when the disk does not keep up, or hangs; memory is full until the collector has taken old versions
//! away. Then a session waits as it waits for a lock: it gets a ticket and gives its thread away.

use super::ticket::{Room, Ticket, Wake};
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicBool, Ordering::SeqCst, fence};
use mote_log::{HorizonListener, Horizons, Moved};
use std::sync::Arc;

/// Sessions that wait for one kind of room. All are woken when some may have come free, and ask again.
pub(crate) struct RoomQueue {
    room: Room,
    /// So that the flusher or the collector, when nobody waits, reads one line that nobody writes.
    waited_for: AtomicBool,
    waiting: Mutex<Waiting>,
}

struct Waiting {
    next: u64,
    sessions: Vec<(Ticket, Arc<dyn Wake>)>,
}

impl RoomQueue {
    pub(crate) fn new(room: Room) -> Arc<RoomQueue> {
        Arc::new(RoomQueue {
            room,
            waited_for: AtomicBool::new(false),
            waiting: Mutex::new(Waiting {
                next: room.first_ticket(),
                sessions: Vec::new(),
            }),
        })
    }

    /// Queues a session. It asks for room once more before it waits: that look, or the wake-up, sees what comes free.
    pub(crate) fn join(&self, wake: Arc<dyn Wake>) -> Ticket {
        let ticket = {
            let mut waiting = self.waiting.lock();
            let ticket = Ticket(waiting.next);
            waiting.next += 1;
            waiting.sessions.push((ticket, wake));
            self.waited_for.store(true, SeqCst);
            ticket
        };
        // Pairs with the fence in `wake_all`.
        fence(SeqCst);
        ticket
    }

    /// True if the ticket is one of this queue's.
    pub(crate) fn leave(&self, ticket: Ticket) -> bool {
        if ticket.room() != Some(self.room) {
            return false;
        }
        self.waiting
            .lock()
            .sessions
            .retain(|(queued, _)| *queued != ticket);
        true
    }

    pub(crate) fn wake_all(&self) {
        // Pairs with the fence in `join`: either we see who waits, or it sees the room that we announce.
        fence(SeqCst);
        if !self.waited_for.load(SeqCst) {
            return;
        }
        let sessions = {
            let mut waiting = self.waiting.lock();
            self.waited_for.store(false, SeqCst);
            std::mem::take(&mut waiting.sessions)
        };
        for (ticket, wake) in sessions {
            wake.wake(ticket);
        }
    }
}

impl HorizonListener for RoomQueue {
    fn horizon_moved(&self, _: Horizons, _: Moved) {
        self.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Woken(Mutex<Vec<Ticket>>);

    impl Wake for Woken {
        fn wake(&self, ticket: Ticket) {
            self.0.lock().push(ticket);
        }
    }

    #[test]
    fn who_has_left_is_not_woken() {
        let queue = RoomQueue::new(Room::Log);
        let woken = Arc::new(Woken::default());
        let first = queue.join(woken.clone());
        let second = queue.join(woken.clone());
        assert!(queue.leave(first));
        assert!(!queue.leave(Ticket(7)), "a ticket of the lock manager");
        let other = RoomQueue::new(Room::Memory).join(woken.clone());
        assert!(!queue.leave(other), "a ticket of the other room");
        queue.wake_all();
        queue.wake_all();
        assert_eq!(*woken.0.lock(), [second]);
    }
}
