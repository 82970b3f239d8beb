//! LISTEN and NOTIFY across sessions: the queue of what committed transactions have said, and who listens.
//!
//! Order. What listeners get is in commit order, though sessions come here after their commits, in any order: before its
//! commit a transaction *announces* itself with the log's tail of that moment, which its commit timestamp will be
//! above. A batch is *released* to listeners when no announced transaction can still commit below it.
//!
//! Cost. Who neither listens nor notifies never comes here. A batch stays until every listener whom it concerns has
//! taken it; a listener who takes nothing (an open transaction, a client that does not read) keeps what is behind it,
//! up to [`QUEUE_BYTES_MAX`], and delays nobody else. At the bound it is the notifier who fails, as in PostgreSQL.
//!
//! One mutex, held for look-ups and never across a wait. Leaves out: what a transaction has said so far
//! (`mote_executor::context::notifications`), and the wire.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Lsn, Oid, SqlError, SqlResult};
use mote_engine::Awaited;
use parking_lot::Mutex;

/// Bytes of notifications that wait for their listeners.
pub const QUEUE_BYTES_MAX: usize = 64 << 20;
/// What a notification takes besides its texts.
const NOTIFICATION_BYTES: usize = 64;

/// One message, for whoever listens to the channel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Notification {
    pub channel: String,
    pub payload: String,
}

/// What one transaction said.
#[derive(Debug)]
pub struct Batch {
    pub database: Oid,
    /// Who said it.
    pub pid: u32,
    pub notifications: Vec<Notification>,
    /// What the transaction wrote and saw: a listener that knows of it shall see no less.
    pub known: Lsn,
    /// What the log must have reached before anybody is told.
    pub gate: Awaited,
}

impl Notification {
    pub fn bytes(&self) -> usize {
        self.channel.len() + self.payload.len() + NOTIFICATION_BYTES
    }
}

impl Batch {
    fn bytes(&self) -> usize {
        self.notifications.iter().map(Notification::bytes).sum()
    }
}

/// A transaction that is about to commit with something to say. Dropped without `publish`: it has said nothing.
#[must_use]
pub struct Announced<'h> {
    hub: &'h Notifications,
    number: u64,
    bytes: usize,
    /// How full the queue is, in percent, if somebody should be told.
    pub warn_percent: Option<u8>,
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        let woken = {
            let mut inner = self.hub.inner.lock();
            inner.in_flight.remove(&self.number);
            inner.reserved_bytes -= self.bytes;
            inner.release()
        };
        self.hub.wake(woken);
    }
}

struct Listener {
    database: Oid,
    channels: HashSet<String>,
    /// Number of the first released batch that it has not taken.
    next: u64,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Listener {
    fn wants(&self, batch: &Batch) -> bool {
        self.database == batch.database
            && batch
                .notifications
                .iter()
                .any(|notification| self.channels.contains(&notification.channel))
    }
}

#[derive(Default)]
struct Inner {
    /// Announced transactions, each with a bound that its commit will be above.
    in_flight: BTreeMap<u64, Lsn>,
    /// Committed, and not yet released: by commit timestamp, then by arrival.
    pending: BTreeMap<(Lsn, u64), Arc<Batch>>,
    released: VecDeque<Arc<Batch>>,
    /// Number of the first batch in `released`.
    first: u64,
    listeners: HashMap<u32, Listener>,
    /// Numbers for announcements and arrivals.
    counter: u64,
    /// Of `pending` and `released`.
    queued_bytes: usize,
    /// Of announced transactions.
    reserved_bytes: usize,
    /// When it was last said that the queue fills up, monotonic.
    warned_ns: u64,
}

type Woken = Vec<Arc<dyn Fn() + Send + Sync>>;

/// The sessions of one server.
#[derive(Default)]
pub struct Notifications {
    inner: Mutex<Inner>,
}

impl Inner {
    /// Moves what nobody can commit below any more to the listeners. Answers whom to wake.
    fn release(&mut self) -> Woken {
        let bound = self.in_flight.values().min().copied();
        let mut woken = Woken::new();
        while let Some(entry) = self.pending.first_entry() {
            if bound.is_some_and(|bound| entry.key().0 > bound) {
                break;
            }
            let batch = entry.remove();
            let number = self.first + self.released.len() as u64;
            for listener in self.listeners.values_mut() {
                if listener.wants(&batch) {
                    woken.push(listener.wake.clone());
                } else if listener.next == number {
                    listener.next += 1;
                }
            }
            self.released.push_back(batch);
        }
        self.trim();
        woken
    }

    /// Drops what every listener has behind it.
    fn trim(&mut self) {
        let end = self.first + self.released.len() as u64;
        let needed = self.listeners.values().map(|listener| listener.next).min();
        while self.first < needed.unwrap_or(end) {
            let Some(batch) = self.released.pop_front() else {
                break;
            };
            self.queued_bytes -= batch.bytes();
            self.first += 1;
        }
    }
}

impl Notifications {
    fn wake(&self, woken: Woken) {
        for wake in woken {
            wake();
        }
    }

    /// Before the commit of a transaction that notifies; `bound` is at or below the log's tail. 54000 if there is no room.
    pub fn announce(&self, bytes: usize, bound: Lsn, now_ns: u64) -> SqlResult<Announced<'_>> {
        const WARN_EVERY_NS: u64 = 5_000_000_000;
        let mut inner = self.inner.lock();
        let used = inner.queued_bytes + inner.reserved_bytes + bytes;
        if used > QUEUE_BYTES_MAX {
            return Err(SqlError::new(
                state::PROGRAM_LIMIT_EXCEEDED,
                "too many notifications in the NOTIFY queue",
            ));
        }
        let percent = (used * 100 / QUEUE_BYTES_MAX) as u8;
        let due = inner.warned_ns == 0 || now_ns >= inner.warned_ns + WARN_EVERY_NS;
        let warn_percent = (percent >= 50 && due).then_some(percent);
        if warn_percent.is_some() {
            inner.warned_ns = now_ns;
        }
        inner.counter += 1;
        let number = inner.counter;
        inner.in_flight.insert(number, bound);
        inner.reserved_bytes += bytes;
        Ok(Announced {
            hub: self,
            number,
            bytes,
            warn_percent,
        })
    }

    /// After the commit at `at`.
    pub fn publish(&self, announced: Announced<'_>, at: Lsn, batch: Batch) {
        {
            let mut inner = self.inner.lock();
            inner.counter += 1;
            let arrival = inner.counter;
            inner.queued_bytes += batch.bytes();
            inner.pending.insert((at, arrival), Arc::new(batch));
        }
        // Its end releases what waited for it, this batch included.
        drop(announced);
    }

    /// A session listens to these channels from now on; `wake` makes it look. None left: it listens no more.
    pub fn listen(
        &self,
        pid: u32,
        database: Oid,
        channels: HashSet<String>,
        wake: impl FnOnce() -> Arc<dyn Fn() + Send + Sync>,
    ) {
        let mut inner = self.inner.lock();
        if channels.is_empty() {
            inner.listeners.remove(&pid);
            return inner.trim();
        }
        let next = inner.first + inner.released.len() as u64;
        match inner.listeners.get_mut(&pid) {
            Some(listener) => listener.channels = channels,
            None => {
                let listener = Listener {
                    database,
                    channels,
                    next,
                    wake: wake(),
                };
                inner.listeners.insert(pid, listener);
            }
        }
    }

    /// The next batch that concerns a listener; None when there is none for now.
    pub fn take(&self, pid: u32) -> Option<Arc<Batch>> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let listener = inner.listeners.get_mut(&pid)?;
        let mut found = None;
        while found.is_none() {
            let Some(batch) = inner.released.get((listener.next - inner.first) as usize) else {
                break;
            };
            listener.next += 1;
            found = listener.wants(batch).then(|| Arc::clone(batch));
        }
        inner.trim();
        found
    }

    /// pg_notification_queue_usage: the part of the queue that is in use.
    pub fn usage(&self) -> f64 {
        self.inner.lock().queued_bytes as f64 / QUEUE_BYTES_MAX as f64
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const DATABASE: Oid = Oid(5);

    fn batch(pid: u32, payload: &str) -> Batch {
        Batch {
            database: DATABASE,
            pid,
            notifications: vec![Notification {
                channel: "c".into(),
                payload: payload.into(),
            }],
            known: Lsn::ZERO,
            gate: Awaited::NOTHING,
        }
    }

    fn listen(hub: &Notifications, pid: u32, channel: &str) -> Arc<AtomicUsize> {
        let rung = Arc::new(AtomicUsize::new(0));
        let bell = rung.clone();
        hub.listen(pid, DATABASE, HashSet::from([channel.to_string()]), || {
            Arc::new(move || {
                bell.fetch_add(1, Ordering::SeqCst);
            })
        });
        rung
    }

    fn taken(hub: &Notifications, pid: u32) -> Vec<String> {
        std::iter::from_fn(|| hub.take(pid))
            .map(|batch| batch.notifications[0].payload.clone())
            .collect()
    }

    #[test]
    fn batches_come_in_commit_order() {
        let hub = Notifications::default();
        let rung = listen(&hub, 1, "c");
        let early = hub.announce(10, Lsn(100), 1).expect("room");
        let late = hub.announce(10, Lsn(100), 1).expect("room");
        hub.publish(late, Lsn(300), batch(2, "late"));
        assert_eq!(
            taken(&hub, 1),
            Vec::<String>::new(),
            "the other may still commit at 200"
        );
        assert_eq!(rung.load(Ordering::SeqCst), 0);
        hub.publish(early, Lsn(200), batch(3, "early"));
        assert_eq!(rung.load(Ordering::SeqCst), 2);
        assert_eq!(taken(&hub, 1), ["early", "late"]);
        assert_eq!(hub.usage(), 0.0);
    }

    #[test]
    fn who_does_not_commit_holds_nobody_up() {
        let hub = Notifications::default();
        listen(&hub, 1, "c");
        let lost = hub.announce(10, Lsn(100), 1).expect("room");
        let kept = hub.announce(10, Lsn(150), 1).expect("room");
        hub.publish(kept, Lsn(200), batch(2, "kept"));
        drop(lost);
        assert_eq!(taken(&hub, 1), ["kept"]);
    }

    #[test]
    fn listeners_begin_with_what_is_said_afterwards_and_keep_what_they_did_not_take() {
        let hub = Notifications::default();
        listen(&hub, 1, "c");
        let say = |payload| {
            let announced = hub.announce(10, Lsn(1), 1).expect("room");
            hub.publish(announced, Lsn(2), batch(9, payload));
        };
        say("first");
        listen(&hub, 2, "c");
        let deaf = listen(&hub, 3, "other");
        say("second");
        assert_eq!(taken(&hub, 2), ["second"]);
        assert_eq!(taken(&hub, 3), Vec::<String>::new());
        assert_eq!(deaf.load(Ordering::SeqCst), 0);
        assert!(hub.usage() > 0.0);
        hub.listen(1, DATABASE, HashSet::new(), || unreachable!("it only leaves"));
        assert_eq!(hub.usage(), 0.0);
        assert_eq!(taken(&hub, 1), Vec::<String>::new());
    }

    #[test]
    fn the_notifier_fails_at_the_bound() {
        let hub = Notifications::default();
        listen(&hub, 1, "c");
        let half = hub.announce(QUEUE_BYTES_MAX / 2, Lsn(1), 1).expect("room");
        assert_eq!(half.warn_percent, Some(50));
        let again = hub.announce(1, Lsn(1), 2).expect("room");
        assert_eq!(again.warn_percent, None, "it was said a moment ago");
        let error = hub
            .announce(QUEUE_BYTES_MAX / 2, Lsn(1), 1)
            .err()
            .expect("no room");
        assert_eq!(error.fields().state, state::PROGRAM_LIMIT_EXCEEDED);
        drop((half, again));
        drop(hub.announce(QUEUE_BYTES_MAX, Lsn(1), 1).expect("room again"));
    }
}
