//! After-events: what a write leaves to be done when its statement, or its transaction, is through.
//!
//! Every statement has a queue of its own ([`AfterEvents`]), in the order of the writes. At its end an event fires, or
//! moves to the transaction's queue ([`DeferredEvents`]) if its constraint is deferred by then. A statement that an event
//! runs hands what it leaves to the queue that is being worked off: the stack stays flat however long a chain of cascades
//! is. The transaction's queue fires at COMMIT, at PREPARE TRANSACTION and at SET CONSTRAINTS IMMEDIATE.
//!
//! ROLLBACK TO takes back what a savepoint's successors queued, fired and set: events that fired stay in the queue, marked,
//! as long as a savepoint is open. Marks are made when a depth first changes something, so that a savepoint costs nothing
//! here.
//! Bound: the events of a statement and those of a transaction take at most `work_mem` each; beyond it 53200.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{Access, SessionMemory};
use mote_sql::catalog::{CatalogView, Constraint};
use mote_types::Datum;

use crate::context::calls::TriggerOperation;
use crate::context::state::DeferredWork;
use crate::context::{SessionState, StatementContext};
use crate::memory::{Kept, heap_bytes};
use crate::runtime::{AfterWork, Runtime, Values};

/// How far a constraint's check can be put off. What is not deferrable has none.
#[derive(Clone, Copy, Debug)]
pub struct Deferral {
    pub constraint: Oid,
    pub initially_deferred: bool,
}

impl Deferral {
    /// None: the constraint is not deferrable, and checked with the statement.
    pub fn of(constraint: &Constraint) -> Option<Deferral> {
        constraint.deferrable.then_some(Deferral {
            constraint: constraint.oid,
            initially_deferred: constraint.initially_deferred,
        })
    }
}

/// Something to be done after a write: what a foreign key, a deferrable key or an AFTER trigger leaves.
pub trait AfterEvent: Send + Sync {
    fn deferral(&self) -> Option<Deferral>;

    /// The table whose row was written.
    fn relation(&self) -> Oid;

    /// The constraint that it checks, with the table that has it.
    fn constraint(&self) -> Option<(Oid, Oid)>;

    /// What it keeps besides itself.
    fn heap_bytes(&self) -> usize;

    fn fire(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()>;

    /// Whether it is an AFTER STATEMENT trigger of this kind of change.
    fn is_of_statement(&self, _key: (Oid, TriggerOperation)) -> bool {
        false
    }
}

/// Allocated once, by whoever queues it: the transaction's queue takes it over as it is, and shares it with the firing
/// that ROLLBACK TO may take back.
type Event = Arc<dyn AfterEvent>;

fn bytes_of(event: &dyn AfterEvent) -> usize {
    size_of::<Event>() + size_of_val(event) + event.heap_bytes()
}

/// The queue of one statement, those it runs itself included.
#[derive(Default)]
pub struct AfterEvents {
    queue: VecDeque<Event>,
    kept: Kept,
    /// What happened to relations whose triggers ask for the whole of it.
    changes: Vec<Changes>,
}

/// One kind of change of one relation, by all parts of the statement and by its cascades.
struct Changes {
    key: (Oid, TriggerOperation),
    /// BEFORE STATEMENT triggers have run.
    begun: bool,
    /// AFTER STATEMENT triggers were queued.
    ended: bool,
    /// A trigger has seen the tables: what comes later goes to new ones.
    closed: bool,
    tables: TransitionTables,
}

/// What REFERENCING OLD TABLE and NEW TABLE name.
#[derive(Clone, Default)]
pub struct TransitionTables {
    pub old: Arc<Vec<Vec<Datum>>>,
    pub new: Arc<Vec<Vec<Datum>>>,
}

impl AfterWork for AfterEvents {
    fn clear(&mut self) {
        self.queue.clear();
        self.changes.clear();
        self.kept.clear();
    }
}

/// Nobody else makes such a queue.
const OTHER_QUEUE: &str = "the queue of a statement is one of after-events";

impl AfterEvents {
    /// The queue of a statement, made when it is first asked for.
    pub fn of(values: &mut Values) -> &mut AfterEvents {
        let queue = values
            .after_events
            .get_or_insert_with(|| Box::new(AfterEvents::default()));
        let queue: &mut dyn Any = queue.as_mut();
        queue.downcast_mut().expect(OTHER_QUEUE)
    }

    /// The next event of a statement, if it has left any.
    fn next(values: &mut Values) -> Option<Event> {
        values.after_events.as_ref()?;
        AfterEvents::of(values).pop()
    }

    /// The number of the changes of this kind that are still being collected.
    pub fn table_number(&mut self, key: (Oid, TriggerOperation)) -> usize {
        let open = |changes: &Changes| changes.key == key && !changes.closed;
        self.changes.iter().position(open).unwrap_or_else(|| {
            self.changes.push(Changes {
                key,
                begun: false,
                ended: false,
                closed: false,
                tables: TransitionTables::default(),
            });
            self.changes.len() - 1
        })
    }

    /// False: its BEFORE STATEMENT triggers have run.
    pub fn begin_changes(&mut self, key: (Oid, TriggerOperation)) -> bool {
        let number = self.table_number(key);
        !std::mem::replace(&mut self.changes[number].begun, true)
    }

    /// Of the AFTER STATEMENT triggers of several statements on one relation only the last ones fire.
    pub fn cancel_statement_events(&mut self, key: (Oid, TriggerOperation)) {
        let number = self.table_number(key);
        // What is queued under this key came from an earlier part of the statement. The part that ends last queues the
        // triggers once, behind all rows.
        if std::mem::replace(&mut self.changes[number].ended, true) {
            let mut gone = 0;
            self.queue.retain(|event| {
                let cancelled = event.is_of_statement(key);
                gone += usize::from(cancelled) * bytes_of(&**event);
                !cancelled
            });
            self.kept.shrink_to(self.kept.bytes() - gone);
        }
    }

    /// Adds a row to the transition tables; answers their number.
    pub fn collect(
        &mut self,
        key: (Oid, TriggerOperation),
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
        room: &Room,
    ) -> SqlResult<usize> {
        let number = self.table_number(key);
        let rows = [old, new].into_iter().flatten();
        let bytes = rows.map(|row| heap_bytes(row) + size_of::<Vec<Datum>>()).sum();
        // Charged before the rows are copied: beyond work_mem nothing grows.
        room.take(&mut self.kept, bytes)?;
        // Nobody shares them before they are closed.
        let tables = &mut self.changes[number].tables;
        Arc::make_mut(&mut tables.old).extend(old.map(<[Datum]>::to_vec));
        Arc::make_mut(&mut tables.new).extend(new.map(<[Datum]>::to_vec));
        Ok(number)
    }

    /// The tables as a trigger sees them; they change no more.
    pub fn transition_tables(&mut self, number: usize) -> TransitionTables {
        let changes = &mut self.changes[number];
        // Rows of the same kind that come later, from what the trigger itself runs, open new tables (`table_number`).
        changes.closed = true;
        changes.tables.clone()
    }

    fn pop(&mut self) -> Option<Event> {
        let event = self.queue.pop_front()?;
        self.kept.shrink_to(self.kept.bytes() - bytes_of(&*event));
        Some(event)
    }
}

/// What the memory is for, in words.
const EVENTS: &str = "the events of a transaction";

/// What events may take: work_mem, of the session's account.
pub struct Room {
    memory: Arc<SessionMemory>,
    limit_bytes: usize,
}

impl Room {
    pub fn new(runtime: &Runtime<'_, '_>) -> Room {
        Room {
            memory: runtime.session().memory.clone(),
            limit_bytes: runtime.work_memory_bytes(),
        }
    }

    fn take(&self, kept: &mut Kept, bytes: usize) -> SqlResult<()> {
        kept.add(bytes, &self.memory, EVENTS)?;
        within(kept.bytes(), self.limit_bytes)
    }
}

/// 53200 beyond the limit: events do not spill.
fn within(bytes: usize, limit_bytes: usize) -> SqlResult<()> {
    if bytes <= limit_bytes {
        return Ok(());
    }
    Err(SqlError::new(state::OUT_OF_MEMORY, "out of memory")
        .detail(format!(
            "The events that wait for the end of the statement or transaction need more than {} kB.",
            limit_bytes / 1024
        ))
        .hint("Increase work_mem, or write fewer rows at a time."))
}

/// Queues an event for the end of the running statement.
pub fn push(event: impl AfterEvent + 'static, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
    let limit_bytes = runtime.work_memory_bytes();
    let AfterEvents { queue, kept, .. } = AfterEvents::of(runtime.values);
    // Noted in batches: the session's shared account is asked for more only when the last grant is used up.
    let must_grow = kept.note(bytes_of(&event));
    let bytes = kept.bytes();
    queue.push_back(Arc::new(event));
    if must_grow {
        let memory = runtime.session().memory.clone();
        AfterEvents::of(runtime.values).kept.grow(&memory, EVENTS)?;
    }
    within(bytes, limit_bytes)
}

/// The end of a statement: its events fire, or are put off to the end of the transaction. Firing may queue more.
pub fn end_statement(runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
    // From the front, while firing appends: the queue ends when a chain of cascades does. An error leaves the rest,
    // which `Execution::reset` clears.
    while let Some(event) = AfterEvents::next(runtime.values) {
        runtime.burn(1)?;
        if let Some(deferral) = event.deferral()
            && DeferredEvents::defer(runtime.session(), deferral)
        {
            // Whoever commits is somebody else.
            runtime.session().require_unrestricted("fire deferred trigger")?;
            let room = Room::new(runtime);
            let session = &mut *runtime.context().session;
            let depth = session.savepoint_depth;
            DeferredEvents::of(session).push(event, depth, &room)?;
            continue;
        }
        event.fire(runtime)?;
    }
    Ok(())
}

/// Fires what waits in the transaction's queue: all of it at its end, else what is not deferred any more.
pub fn fire_deferred(at_end: bool, context: &mut StatementContext<'_>) -> SqlResult<()> {
    loop {
        if !context.session.has_deferred() {
            return Ok(());
        }
        let depth = context.session.savepoint_depth;
        // Taken out at once: what fires may queue more, and run SET CONSTRAINTS itself. The loop takes those in its
        // next turn.
        let due = DeferredEvents::of(context.session).take_due(at_end, depth);
        if due.is_empty() {
            return Ok(());
        }
        for event in due {
            // The transaction may have dropped it, or its table, since.
            let session = &context.session;
            let is_there = |(relation, constraint): (Oid, Oid)| {
                let relation = session.catalog.relation(relation);
                relation
                    .is_some_and(|relation| relation.constraints.iter().any(|known| known.oid == constraint))
            };
            if event.constraint().is_some_and(|constraint| !is_there(constraint)) {
                continue;
            }
            // Each event sees what the ones before it wrote.
            context.transaction.start_statement(Access::Write);
            let snapshot = context.transaction.snapshot();
            let mut values = Values::default();
            let mut runtime = Runtime::new(context, &snapshot, &mut values);
            event.fire(&mut runtime)?;
            // What this event left behind comes before the next one; what is deferred goes into the transaction's
            // queue.
            end_statement(&mut runtime)?;
            context.burn(1)?;
        }
    }
}

/// What SET CONSTRAINTS has said in this transaction.
#[derive(Clone, Default)]
struct Modes {
    /// ALL DEFERRED or ALL IMMEDIATE.
    all: Option<bool>,
    single: HashMap<Oid, bool>,
}

impl Modes {
    fn defer(&self, deferral: Deferral) -> bool {
        let single = self.single.get(&deferral.constraint).copied();
        // The more specific command counts, whichever came last: SET CONSTRAINTS ALL clears the single ones.
        single.or(self.all).unwrap_or(deferral.initially_deferred)
    }
}

/// An event with what became of it. One that fired stays while ROLLBACK TO may want it back.
struct Waiting {
    event: Event,
    /// The number of the firing that did it.
    fired: Option<u64>,
}

/// How things stood before a savepoint depth changed any of them.
struct Mark {
    depth: u32,
    queued: usize,
    firings: u64,
    modes: Modes,
}

/// The events of a transaction that wait for its end, and how SET CONSTRAINTS stands.
#[derive(Default)]
pub struct DeferredEvents {
    waiting: Vec<Waiting>,
    /// Events that have not fired.
    open: usize,
    kept: Kept,
    /// How often events were taken out to be fired; numbers them for ROLLBACK TO.
    firings: u64,
    modes: Modes,
    marks: Vec<Mark>,
}

/// Nobody else makes such a queue.
const OTHER_DEFERRED: &str = "what a session puts off are after-events";

impl DeferredEvents {
    /// The queue of a session's transaction, made when it is first asked for.
    pub fn of(session: &mut SessionState) -> &mut DeferredEvents {
        let queue = session
            .deferred
            .get_or_insert_with(|| Box::new(DeferredEvents::default()));
        let queue: &mut dyn Any = queue.as_mut();
        queue.downcast_mut().expect(OTHER_DEFERRED)
    }

    /// The same to look at; None: nothing was ever put off.
    pub fn seen(session: &SessionState) -> Option<&DeferredEvents> {
        let queue: &dyn Any = session.deferred.as_deref()?;
        Some(queue.downcast_ref().expect(OTHER_DEFERRED))
    }

    /// Whether a check is put off as SET CONSTRAINTS stands.
    pub fn defer(session: &SessionState, deferral: Deferral) -> bool {
        let queue = DeferredEvents::seen(session);
        queue.map_or(deferral.initially_deferred, |queue| queue.is_deferred(deferral))
    }

    /// Whether a check is put off, as SET CONSTRAINTS and the constraint's own default say.
    pub fn is_deferred(&self, deferral: Deferral) -> bool {
        self.modes.defer(deferral)
    }

    /// SET CONSTRAINTS ALL.
    pub fn set_all(&mut self, deferred: bool, depth: u32) {
        self.mark(depth);
        self.modes.single.clear();
        self.modes.all = Some(deferred);
    }

    /// SET CONSTRAINTS of one of them.
    pub fn set(&mut self, constraint: Oid, deferred: bool, depth: u32) {
        self.mark(depth);
        self.modes.single.insert(constraint, deferred);
    }

    /// Whether an event of this table waits: it must not be altered, emptied or dropped then.
    pub fn concern(&self, relation: Oid) -> bool {
        self.open > 0
            && self
                .waiting
                .iter()
                .any(|waiting| waiting.fired.is_none() && waiting.event.relation() == relation)
    }

    fn push(&mut self, event: Event, depth: u32, room: &Room) -> SqlResult<()> {
        self.mark(depth);
        room.take(&mut self.kept, bytes_of(&*event) + size_of::<Waiting>())?;
        self.open += 1;
        self.waiting.push(Waiting { event, fired: None });
        Ok(())
    }

    /// The events that have to fire now, in their order. They count as fired.
    fn take_due(&mut self, at_end: bool, depth: u32) -> Vec<Event> {
        if self.open == 0 {
            return Vec::new();
        }
        self.mark(depth);
        self.firings += 1;
        let mut due = Vec::new();
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.fired.is_none()) {
            let deferral = waiting.event.deferral();
            if at_end || !deferral.is_some_and(|deferral| self.modes.defer(deferral)) {
                waiting.fired = Some(self.firings);
                due.push(waiting.event.clone());
            }
        }
        self.open -= due.len();
        if self.marks.is_empty() {
            // Nobody can ask for them back.
            self.waiting.retain(|waiting| waiting.fired.is_none());
            self.count_bytes();
        }
        due
    }

    /// Notes how things stand, if nothing at this depth has changed any of them yet. Depth 0 is outside of all
    /// savepoints and needs no mark: a rollback of the whole transaction clears the queue.
    fn mark(&mut self, depth: u32) {
        if self.marks.last().map_or(0, |mark| mark.depth) < depth {
            self.marks.push(Mark {
                depth,
                queued: self.waiting.len(),
                firings: self.firings,
                modes: self.modes.clone(),
            });
        }
    }

    fn count_bytes(&mut self) {
        let bytes = |waiting: &Waiting| bytes_of(&*waiting.event) + size_of::<Waiting>();
        self.kept.shrink_to(self.waiting.iter().map(bytes).sum());
    }
}

impl DeferredWork for DeferredEvents {
    fn is_empty(&self) -> bool {
        self.open == 0
    }

    fn rollback_to(&mut self, depth: u32) {
        // No mark at this depth or deeper: nothing was queued, fired or set since the savepoint.
        let Some(first) = self.marks.iter().position(|mark| mark.depth >= depth) else {
            return;
        };
        // The first of them is the oldest state; the deeper ones describe what is taken back anyway.
        let mark = self.marks.drain(first..).next().expect("found above");
        self.waiting.truncate(mark.queued);
        for waiting in &mut self.waiting {
            waiting.fired = waiting.fired.filter(|&firing| firing <= mark.firings);
        }
        self.open = self
            .waiting
            .iter()
            .filter(|waiting| waiting.fired.is_none())
            .count();
        self.modes = mark.modes;
        self.count_bytes();
    }

    /// What happened at the released depths belongs to the depth around from here on. Of several marks of one depth the
    /// oldest stays: it has the state that a rollback of that depth goes back to.
    fn release_to(&mut self, depth: u32) {
        let mut last = 0;
        self.marks.retain_mut(|mark| {
            mark.depth = mark.depth.min(depth);
            let kept = mark.depth > last;
            last = mark.depth;
            kept
        });
    }

    fn clear(&mut self) {
        // A transaction that put nothing off leaves the buffers alone.
        if !self.waiting.is_empty() || !self.marks.is_empty() || self.modes.all.is_some() {
            *self = DeferredEvents::default();
        }
        self.modes.single.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deferral(constraint: u32) -> Deferral {
        Deferral {
            constraint: Oid(constraint),
            initially_deferred: false,
        }
    }

    #[test]
    fn modes_end_with_their_savepoint() {
        let mut deferred = DeferredEvents::default();
        deferred.set_all(true, 0);
        deferred.set(Oid(1), false, 1);
        assert!(!deferred.is_deferred(deferral(1)));
        assert!(deferred.is_deferred(deferral(2)));
        deferred.set_all(false, 2);
        assert!(!deferred.is_deferred(deferral(2)));
        deferred.release_to(1);
        assert!(!deferred.is_deferred(deferral(2)));
        deferred.rollback_to(1);
        assert!(deferred.is_deferred(deferral(1)));
        deferred.clear();
        assert!(!deferred.is_deferred(deferral(1)));
    }

    #[test]
    fn a_released_savepoint_is_undone_with_the_one_around_it() {
        let mut deferred = DeferredEvents::default();
        deferred.set_all(true, 1);
        deferred.set_all(false, 2);
        deferred.release_to(1);
        deferred.rollback_to(1);
        assert!(!deferred.is_deferred(deferral(1)));
        // With no savepoint left there is nothing to go back to.
        deferred.set_all(true, 1);
        deferred.release_to(0);
        deferred.rollback_to(1);
        assert!(deferred.is_deferred(deferral(1)));
    }
}
