//! A session's state that statements may read and change: who, settings, clock values, sequences, catalog overlay.
//!
//! Leaves out what only the layers above the executor keep with a session (`calls`).

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use mote_common::env::Clock;
use mote_common::{Oid, SqlError, SqlResult, error::state};
use mote_engine::{DrawnNumbers, SessionMemory};
use mote_grammar::ast::Statement;
use mote_types::Datum;

use super::in_use::InUse;
use super::large_objects::LargeObjectDescriptors;
use super::notifications::SessionNotifications;
use mote_catalog::activity::Activity;
use mote_catalog::catalog_store::stored::StoredSequence;
use mote_catalog::catalog_store::{Identity, SessionCatalog};
use mote_catalog::host::statement_timeout;
use mote_catalog::privileges::sees_files;
use mote_catalog::settings::{Reported, Settings, names_files};
use mote_catalog::signals::SessionSignals;
use mote_catalog::views::{Reader, SessionObjects};
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;

/// currval and lastval, and the numbers that the session has drawn ahead (CACHE).
#[derive(Default)]
pub struct SequenceValues {
    pub current: HashMap<Oid, i64>,
    /// The sequence that nextval was last called for.
    pub last: Option<Oid>,
    ahead: HashMap<Oid, Ahead>,
}

/// Numbers of a sequence that are this session's alone.
struct Ahead {
    /// The engine's counter they come from: an altered sequence has another one, and they are void.
    counter: u32,
    next: i64,
    left: u64,
}

impl SequenceValues {
    /// The next number drawn ahead, if there is one.
    pub fn take(&mut self, sequence: Oid, stored: &StoredSequence) -> Option<i64> {
        let ahead = self.ahead.get_mut(&sequence)?;
        if ahead.left == 0 || ahead.counter != stored.id {
            self.ahead.remove(&sequence);
            return None;
        }
        let value = ahead.next;
        ahead.left -= 1;
        ahead.next = value.wrapping_add(stored.increment);
        Some(value)
    }

    /// Keeps what was drawn besides the first number.
    pub fn keep(&mut self, sequence: Oid, stored: &StoredSequence, drawn: DrawnNumbers) {
        if drawn.count > 1 {
            let ahead = Ahead {
                counter: stored.id,
                next: drawn.first.wrapping_add(stored.increment),
                left: drawn.count - 1,
            };
            self.ahead.insert(sequence, ahead);
        }
    }

    /// setval: what was drawn before it does not count any more.
    pub fn forget(&mut self, sequence: Oid) {
        self.ahead.remove(&sequence);
    }
}

/// Values for the query that a utility statement runs, with their types.
#[derive(Default)]
pub struct UtilityParameters {
    pub types: Vec<Oid>,
    pub values: Vec<Datum>,
}

/// What a transaction puts off to its end. What stands in it is known to those who write rows
/// (`crate::node::modify::after`), who take it back by its type.
pub trait DeferredWork: Any + Send {
    /// Nothing waits for the end of the transaction.
    fn is_empty(&self) -> bool;

    /// RELEASE: what was done since belongs to the savepoint around it, of which `depth` are open now.
    fn release_to(&mut self, depth: u32);

    /// ROLLBACK TO: what was done with `depth` or more savepoints open is undone.
    fn rollback_to(&mut self, depth: u32);

    /// The transaction is over.
    fn clear(&mut self);
}

/// What a session keeps for the executor, from its start to its end. One thread uses it at a time.
pub struct SessionState {
    /// Number shown as pid: unique among live sessions, what CancelRequest names.
    pub pid: u32,
    pub settings: Settings,
    pub catalog: SessionCatalog,
    pub sequences: SequenceValues,
    pub signals: Arc<SessionSignals>,
    /// What the session keeps is charged here.
    pub memory: Arc<SessionMemory>,
    pub activity: Arc<Activity>,
    /// Gathered for a statement that reads them.
    pub objects: SessionObjects,
    pub clock: Arc<dyn Clock>,
    /// now(): start of the current transaction, microseconds since 2000-01-01 UTC.
    pub transaction_start_us: i64,
    pub statement_start_us: i64,
    /// Text of the utility statement that runs: its errors point into it.
    pub statement_text: Arc<str>,
    /// The tree of the statement that runs, where that is one with a body: whoever runs it takes it.
    pub statement_tree: Option<Arc<Statement>>,
    /// What was bound to the parameters of the query in the utility statement that is about to run, which takes them.
    pub utility_parameters: UtilityParameters,
    /// Monotonic deadline of the running statement.
    pub statement_deadline_ns: Option<u64>,
    /// The same for the messages of the extended protocol that belong together: from the first of them to the end of an
    /// Execute or to Sync.
    pub messages_deadline_ns: Option<u64>,
    /// How many savepoints are open: settings remember at which depth they were changed.
    pub savepoint_depth: u32,
    /// Trigger functions that run inside of each other: pg_trigger_depth().
    pub trigger_depth: u32,
    /// What waits for the end of the transaction, and what SET CONSTRAINTS said; None until there is any.
    pub deferred: Option<Box<dyn DeferredWork>>,
    pub notifications: SessionNotifications,
    pub large_objects: LargeObjectDescriptors,
    pub in_use: InUse,
    /// Which of the databases in this process: part of the key of cached plans.
    pub instance: u64,
    /// The server's own: what it does for tables was nobody's command.
    pub is_unattended: bool,
}

impl SessionState {
    /// In whose name it acts.
    #[inline]
    pub fn identity(&self) -> &Identity {
        &self.catalog.identity
    }

    /// A setting's value for whoever asks (SHOW, current_setting).
    pub fn shown_setting(&self, name: &str) -> SqlResult<&str> {
        if names_files(name) && !sees_files(&self.catalog) {
            return Err(SqlError::new(
                state::INSUFFICIENT_PRIVILEGE,
                format!(
                    "must be superuser or have privileges of pg_read_all_settings to examine \"{}\"",
                    name.to_ascii_lowercase()
                ),
            ));
        }
        self.settings.get(name)
    }

    /// What the relations of pg_catalog may see of it.
    pub fn reader(&self) -> Reader<'_> {
        Reader {
            catalog: &self.catalog,
            settings: &self.settings,
            objects: &self.objects,
            transaction_start_us: self.transaction_start_us,
            pid: self.pid,
            activity: &self.activity,
        }
    }

    /// Microseconds since 2000-01-01 UTC.
    #[inline]
    pub fn clock_us(&self) -> i64 {
        self.clock.wall_us() - POSTGRES_EPOCH_UNIX_US
    }

    /// Notes the start of a statement: its timestamp and its deadline.
    #[inline]
    pub fn start_statement(&mut self) {
        let now = self.clock_us();
        self.statement_start_us = now;
        self.statement_deadline_ns = self.messages_deadline_ns.or_else(|| self.new_deadline_ns());
        self.signals.set_deadline(self.statement_deadline_ns);
    }

    #[inline]
    fn new_deadline_ns(&self) -> Option<u64> {
        let timeout_ms = self.settings.effective.statement_timeout_ms;
        (timeout_ms > 0).then(|| self.clock.monotonic_ns() + timeout_ms * 1_000_000)
    }

    /// A message of the extended protocol: statement_timeout runs on from the first of those that belong together. The
    /// client's own pauses count, and a limit that passed in one is noticed when the next message comes.
    #[inline]
    pub fn begin_message(&mut self) -> SqlResult<()> {
        match self.messages_deadline_ns {
            None => self.messages_deadline_ns = self.new_deadline_ns(),
            Some(deadline) if self.clock.monotonic_ns() >= deadline => return Err(statement_timeout()),
            Some(_) => {}
        }
        self.statement_deadline_ns = self.messages_deadline_ns;
        Ok(())
    }

    /// What messages belonged together is over: the next one is given the whole time.
    #[inline]
    pub fn end_messages(&mut self) {
        self.messages_deadline_ns = None;
    }

    /// Notes the start of a transaction: now() stands still from here to its end.
    #[inline]
    pub fn start_transaction(&mut self) {
        self.transaction_start_us = self.statement_start_us;
        self.settings.effective.format.now_us = self.transaction_start_us;
    }

    /// The same for a transaction that a procedure begins: its statement goes on, now() does not.
    pub fn start_transaction_within(&mut self) {
        self.transaction_start_us = self.clock_us();
        self.settings.effective.format.now_us = self.transaction_start_us;
        self.activity.doing().transaction_start_us = Some(self.transaction_start_us);
    }

    /// Refreshes what is derived from settings.
    pub fn settings_changed(&mut self) {
        self.follow_identity();
        self.settings.effective.format.now_us = self.transaction_start_us;
        self.catalog
            .search_path
            .clone_from(&self.settings.effective.search_path);
        self.catalog.search_path_changed();
        let application = self.settings.get("application_name").unwrap_or_default();
        self.activity.doing().application = application.to_string();
    }

    /// Whether something waits for the end of the transaction.
    #[inline]
    pub fn has_deferred(&self) -> bool {
        self.deferred
            .as_ref()
            .is_some_and(|deferred| !deferred.is_empty())
    }

    /// The transaction is over, or what it has put off was given up.
    #[inline]
    pub fn clear_deferred(&mut self) {
        if let Some(deferred) = &mut self.deferred {
            deferred.clear();
        }
    }

    /// RELEASE: `depth` savepoints stay open.
    pub fn release_savepoints(&mut self, depth: u32) {
        self.savepoint_depth = depth;
        self.catalog.release_to(depth);
        self.settings.release_to(depth);
        if let Some(deferred) = &mut self.deferred {
            deferred.release_to(depth);
        }
        self.notifications.release_to(depth);
        self.large_objects.release_to(depth);
    }

    /// ROLLBACK TO: takes back what was done with `depth` or more savepoints open. Answers with the settings to report.
    pub fn roll_back_savepoints(&mut self, depth: u32) -> SqlResult<Vec<Reported>> {
        self.savepoint_depth = depth;
        self.catalog.rollback_to(depth)?;
        if let Some(deferred) = &mut self.deferred {
            deferred.rollback_to(depth);
        }
        self.notifications.rollback_to(depth);
        self.large_objects.rollback_to(depth);
        Ok(self.settings.rollback_to(depth))
    }

    /// Whether statement_timeout has run out. Asked when fuel runs out, since nobody interrupts a running statement.
    #[inline]
    pub fn statement_deadline_passed(&self) -> bool {
        self.statement_deadline_ns
            .is_some_and(|deadline| self.clock.monotonic_ns() >= deadline)
    }

    /// When a wait for a lock that starts now has to end: the nearer of statement_timeout and lock_timeout.
    #[inline]
    pub fn wait_deadline_ns(&self) -> Option<u64> {
        let lock_timeout_ms = self.settings.effective.lock_timeout_ms;
        let lock = (lock_timeout_ms > 0).then(|| self.clock.monotonic_ns() + lock_timeout_ms * 1_000_000);
        match (self.statement_deadline_ns, lock) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The error for a wait that timed out: which of the two limits it was.
    pub fn timeout_error(&self) -> SqlError {
        if self.statement_deadline_passed() {
            statement_timeout()
        } else {
            SqlError::new(
                state::LOCK_NOT_AVAILABLE,
                "canceling statement due to lock timeout",
            )
        }
    }
}
