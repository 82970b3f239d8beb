//! A session in process: for Rust programs that open the database themselves, and for tests.
//!
//! It drives the same methods of [`Session`] as the wire does: texts ([`LocalSession::query`]), or statements that are
//! prepared once and run with values ([`LocalSession::prepare`], [`LocalSession::execute`]). Waits block the calling thread.
//! Rows are collected; COPY data comes from and goes to memory. Leaves out: rows in parts, several portals at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mote_common::env::Clock;
use mote_common::error::state;
use mote_common::work::{self, Payer};
use mote_common::{Lsn, Oid, SqlError, SqlResult};
use mote_engine::{Awaited, Ticket, Wake};
use mote_planner::plan::OutputColumn;
use mote_types::{ColumnType, Datum, FormatSettings};
use parking_lot::{Condvar, Mutex};

use crate::session::{ResultFormats, Session, SessionIdentity};
use mote_catalog::database::Database;
use mote_catalog::host::{Host, WaitEnd};
use mote_catalog::signals::SessionSignals;
use mote_catalog::tag::CommandTag;

/// How often a waiting thread looks for signals and deadlines.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Numbers for sessions in process: above those of network sessions.
static NEXT_SESSION: AtomicU32 = AtomicU32::new(0x4000_0000);

/// Where the engine tells of a decided ticket, and the session's thread waits. A session has one ticket at a time.
#[derive(Default)]
struct Decided {
    last: Mutex<Option<Ticket>>,
    changed: Condvar,
}

impl Wake for Decided {
    // From any thread. The ticket is kept, so that a wake ahead of the wait is not lost.
    fn wake(&self, ticket: Ticket) {
        *self.last.lock() = Some(ticket);
        self.changed.notify_all();
    }
}

/// The types of a statement's parameters, and its columns if it yields rows.
pub type Described = (Vec<ColumnType>, Option<Arc<[OutputColumn]>>);

/// What a statement gave.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub columns: Vec<OutputColumn>,
    pub rows: Vec<Vec<Datum>>,
    pub tag: Option<CommandTag>,
    pub copied_out: Vec<u8>,
}

/// A session whose caller's thread does the work.
pub struct LocalSession {
    session: Session,
    host: LocalHost,
    payer: LocalPayer,
}

/// The host of a session in process: waits stop the thread, rows gather in `outcomes`.
struct LocalHost {
    database: Arc<Database>,
    decided: Arc<Decided>,
    signals: Arc<SessionSignals>,
    outcomes: Vec<Outcome>,
    current: Outcome,
    notices: Vec<SqlError>,
    /// Pieces of a COPY's input, the last one first.
    copy_input: Vec<Vec<u8>>,
    /// What the reply waits for: the highest of the statement's gates.
    gate: Lsn,
}

impl LocalSession {
    /// Opens a session for an existing role and database.
    pub fn open(database: &Arc<Database>, user: &str, name: &str) -> SqlResult<LocalSession> {
        let decided = Arc::new(Decided::default());
        let signals = Arc::new(SessionSignals::default());
        let identity = SessionIdentity {
            user: user.to_string(),
            database: name.to_string(),
            pid: NEXT_SESSION.fetch_add(1, Ordering::Relaxed),
            signals: signals.clone(),
            activity: Arc::default(),
            wake: decided.clone(),
        };
        let session = Session::new(database, identity)?;
        let payer = LocalPayer {
            signals: signals.clone(),
            clock: database.clock().clone(),
        };
        let host = LocalHost {
            database: database.clone(),
            decided,
            signals,
            outcomes: Vec::new(),
            current: Outcome::default(),
            notices: Vec::new(),
            copy_input: Vec::new(),
            gate: Lsn::ZERO,
        };
        Ok(LocalSession { session, host, payer })
    }

    /// Runs a text of any number of statements; returns when what it committed is safe.
    pub fn query(&mut self, text: &str) -> SqlResult<Vec<Outcome>> {
        self.drive(|session, host| session.query(text, host))?;
        Ok(std::mem::take(&mut self.host.outcomes))
    }

    /// Prepares one statement under a name. `types` are those of its first parameters, the others are inferred; answers the
    /// types of all, and the columns if it yields rows.
    pub fn prepare(&mut self, name: &str, text: &str, types: &[Oid]) -> SqlResult<Described> {
        self.drive(|session, host| {
            session.parse(name, text, types, host)?;
            session.describe_statement(name, host)
        })
    }

    /// Runs a prepared statement with values of its parameters' types, in a transaction of its own unless a block is open.
    pub fn execute(&mut self, name: &str, parameters: &[Datum]) -> SqlResult<Outcome> {
        self.drive(|session, host| {
            let target = session.bind_target(name, "", host)?;
            check_parameters(name, target.parameters(), parameters)?;
            session.bind("", target, parameters.to_vec(), ResultFormats::BINARY)?;
            session.execute("", 0, host)?;
            session.close_portal("");
            session.sync(host)
        })?;
        Ok(self.host.outcomes.pop().unwrap_or_default())
    }

    /// Calls the session, and does what a host owes it: whatever fails ends the statement, and what the answer may tell of is
    /// on disk first.
    fn drive<T>(&mut self, work: impl FnOnce(&mut Session, &mut LocalHost) -> SqlResult<T>) -> SqlResult<T> {
        // Names and labels of users' types, for whatever this thread reads and prints.
        let _types = self.session.enter_types();
        self.host.outcomes.clear();
        self.host.current = Outcome::default();
        self.host.signals.set_deadline(None);
        let result = work::paid_by(&self.payer, || work(&mut self.session, &mut self.host));
        if let Err(error) = &result {
            // The host's duty after any error: a block fails, an implicit transaction is rolled back.
            self.session.statement_failed(error, &mut self.host);
        }
        // Also after an error, whose words may tell of a commit that is not on disk.
        let gate = std::mem::take(&mut self.host.gate);
        self.host.wait_stable(gate);
        result
    }

    /// COPY .. FROM STDIN with the given data.
    pub fn copy_in(&mut self, text: &str, data: &[u8]) -> SqlResult<Vec<Outcome>> {
        // Taken from the end.
        self.host.copy_input = data.chunks(64 << 10).rev().map(<[u8]>::to_vec).collect();
        self.query(text)
    }

    /// The rows of a single query in text form, NULL as None.
    pub fn rows(&mut self, text: &str) -> SqlResult<Vec<Vec<Option<String>>>> {
        let outcomes = self.query(text)?;
        let _types = self.session.enter_types();
        let format = self.session.format().clone();
        let outcome = outcomes.into_iter().next_back().unwrap_or_default();
        let shown = outcome.rows.iter().map(|row| {
            let cells = row.iter().zip(&outcome.columns).map(|(datum, column)| {
                (!matches!(datum, Datum::Null)).then(|| {
                    let mut text = Vec::new();
                    mote_types::output_text(datum, column.ty, &format, &mut text);
                    String::from_utf8_lossy(&text).into_owned()
                })
            });
            cells.collect()
        });
        Ok(shown.collect())
    }

    /// Notices since the last call.
    pub fn take_notices(&mut self) -> Vec<SqlError> {
        std::mem::take(&mut self.host.notices)
    }

    /// For another thread to cancel what runs here.
    pub fn signals(&self) -> Arc<SessionSignals> {
        self.host.signals.clone()
    }

    /// The session behind it, for what only it offers.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }
}

/// Each value is of its parameter's type, or NULL: a library's mistake must not reach what relies on types.
fn check_parameters(name: &str, types: &[ColumnType], values: &[Datum]) -> SqlResult<()> {
    if types.len() != values.len() {
        let message = format!(
            "prepared statement \"{name}\" requires {} parameters, and {} were given",
            types.len(),
            values.len()
        );
        return Err(SqlError::new(state::PROTOCOL_VIOLATION, message));
    }
    let wrong = types.iter().zip(values).position(|(ty, value)| !value.fits(*ty));
    match wrong {
        None => Ok(()),
        Some(at) => Err(SqlError::new(
            state::DATATYPE_MISMATCH,
            format!("parameter ${} is no value of type {}", at + 1, types[at].name()),
        )),
    }
}

/// Ends functions under way. There is nobody to let run.
struct LocalPayer {
    signals: Arc<SessionSignals>,
    clock: Arc<dyn Clock>,
}

// A slice that is over is no reason to suspend: only cancel, termination and the time limit count.
impl Payer for LocalPayer {
    fn slice_over(&self, _: bool) -> SqlResult<()> {
        self.signals.end_of_work(&*self.clock)
    }

    fn pause(&self, _: bool) -> bool {
        self.signals.is_ending(&*self.clock)
    }
}

impl LocalHost {
    fn signal(&self) -> Option<WaitEnd> {
        if self.signals.terminated() {
            Some(WaitEnd::Terminated)
        } else if self.signals.take_cancel() {
            Some(WaitEnd::Cancelled)
        } else if self.signals.take_revocation() {
            Some(WaitEnd::Revoked)
        } else {
            None
        }
    }

    fn past(&self, deadline_ns: Option<u64>) -> bool {
        deadline_ns.is_some_and(|deadline| self.database.clock().monotonic_ns() >= deadline)
    }
}

impl Host for LocalHost {
    fn start_rows(&mut self, columns: &[OutputColumn]) -> SqlResult<()> {
        self.current.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, row: &[Datum], _: &FormatSettings) -> SqlResult<()> {
        self.current.rows.push(row.to_vec());
        Ok(())
    }

    fn start_copy_out(&mut self, _: usize, _: bool) -> SqlResult<()> {
        Ok(())
    }

    fn copy_out(&mut self, data: &[u8]) -> SqlResult<()> {
        self.current.copied_out.extend_from_slice(data);
        Ok(())
    }

    fn finish_copy_out(&mut self) -> SqlResult<()> {
        Ok(())
    }

    fn start_copy_in(&mut self, _: usize, _: bool) -> SqlResult<()> {
        Ok(())
    }

    fn copy_in(&mut self, buffer: &mut Vec<u8>) -> SqlResult<bool> {
        match self.copy_input.pop() {
            Some(data) => {
                *buffer = data;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn command_complete(&mut self, tag: CommandTag) {
        self.current.tag = Some(tag);
        self.outcomes.push(std::mem::take(&mut self.current));
    }

    // Whether the client could have seen something of this statement.
    fn has_answered(&self) -> bool {
        !(self.outcomes.is_empty() && self.current.rows.is_empty() && self.notices.is_empty())
    }

    fn empty_query(&mut self) {
        self.outcomes.push(std::mem::take(&mut self.current));
    }

    fn gate(&mut self, until: Awaited) {
        // In process there is nobody to wait for but the disk and the quorum.
        self.gate = self.gate.max(until.lsn);
    }

    fn notice(&mut self, notice: SqlError) {
        self.notices.push(notice);
    }

    fn parameter_status(&mut self, _: &str, _: &str) {}

    fn wait(&mut self, ticket: Ticket, deadline_ns: Option<u64>) -> WaitEnd {
        let decided = self.decided.clone();
        // The lock is held between the look and the wait: no wake gets lost. The timeout is for signals, which wake
        // nobody.
        let mut last = decided.last.lock();
        loop {
            if *last == Some(ticket) {
                return WaitEnd::Decided;
            }
            if let Some(end) = self.signal() {
                return end;
            }
            if self.past(deadline_ns) {
                return WaitEnd::TimedOut;
            }
            decided.changed.wait_for(&mut last, LOOK_AGAIN);
        }
    }

    fn sleep_until(&mut self, deadline_ns: u64) -> WaitEnd {
        while !self.past(Some(deadline_ns)) {
            if let Some(end) = self.signal() {
                return end;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        WaitEnd::Decided
    }

    // The thread is the caller's own: nobody else waits for it.
    fn yield_now(&mut self) -> WaitEnd {
        self.signal().unwrap_or(WaitEnd::Decided)
    }

    fn wait_stable(&mut self, lsn: Lsn) -> WaitEnd {
        self.database.engine().wait_stable(lsn);
        WaitEnd::Decided
    }

    fn on_large_stack(&mut self, work: &mut dyn FnMut()) {
        mote_catalog::host::run_on_large_stack(work);
    }
}
