//! Triggers: which of them a write fires, and what they are told.
//!
//! BEFORE triggers run in the middle of the write: those of a statement before its first row, those of a row when its
//! newest version is locked and its new one computed; they may change the new row or refuse it. AFTER triggers are events
//! (`after`): WHEN is judged when they are queued, over the rows as they were written.
//! A relation without triggers has no [`RowTriggers`] and an empty [`StatementTriggers`]; nothing is asked per row then.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::catalog::trigger::{Trigger, TriggerEvents, TriggerFiring, TriggerTiming};
use mote_sql::catalog::{CatalogView, Relation};
use mote_sql::clause::FiredTrigger;
use mote_types::{ColumnType, Datum, oid};

use super::after::{self, AfterEvent, AfterEvents, Deferral, Room};
use super::partition::PartitionTest;
use crate::context::calls::{self, Returned, RoutineCall, TriggerCall, TriggerOperation};
use crate::expr::{Expression, compile_option};
use crate::memory::heap_bytes;
use crate::runtime::Runtime;

/// A trigger with its condition compiled.
pub struct Compiled {
    trigger: Arc<Trigger>,
    /// What the statement may do of what it waits for.
    events: TriggerEvents,
    condition: Option<Expression>,
}

fn events_of(operation: TriggerOperation) -> TriggerEvents {
    match operation {
        TriggerOperation::Insert => TriggerEvents::INSERT,
        TriggerOperation::Update => TriggerEvents::UPDATE,
        TriggerOperation::Delete => TriggerEvents::DELETE,
        TriggerOperation::Truncate => TriggerEvents::TRUNCATE,
    }
}

fn compile(fired: &[FiredTrigger]) -> SqlResult<Vec<Arc<Compiled>>> {
    let compile = |fired: &FiredTrigger| {
        Ok(Arc::new(Compiled {
            trigger: Arc::clone(&fired.trigger),
            events: fired.events,
            condition: compile_option(&fired.condition)?,
        }))
    };
    fired.iter().map(compile).collect()
}

/// The triggers of a written table that fire for each row.
pub struct RowTriggers {
    relation: Arc<Relation>,
    fired: Vec<Arc<Compiled>>,
    /// What rows they want to see as tables, by operation.
    captures: Captures,
    /// Of a partition with clones of its parent's triggers: these may not send a new row elsewhere.
    bound: Option<PartitionTest>,
}

/// A row as a write left it: what AFTER ROW triggers see.
pub struct RowChange {
    old: Option<Vec<Datum>>,
    new: Option<Vec<Datum>>,
}

/// Operations whose rows some AFTER trigger of the relation sees as transition tables.
#[derive(Clone, Copy, Default)]
struct Captures {
    old: TriggerEvents,
    new: TriggerEvents,
}

impl Captures {
    /// Every trigger that is not disabled counts: whether `ENABLE REPLICA` or `ALWAYS` fires depends on the session's
    /// setting when the statement runs.
    fn of(relation: &Relation) -> Captures {
        let mut captures = Captures::default();
        let add = |to: &mut TriggerEvents, events: TriggerEvents| {
            to.insert |= events.insert;
            to.update |= events.update;
            to.delete |= events.delete;
        };
        for trigger in &relation.triggers {
            if trigger.firing == TriggerFiring::Disabled {
                continue;
            }
            if trigger.old_table.is_some() {
                add(&mut captures.old, trigger.events);
            }
            if trigger.new_table.is_some() {
                add(&mut captures.new, trigger.events);
            }
        }
        captures
    }

    /// Whether rows of this operation have to be kept at all.
    fn any(self, operation: TriggerOperation) -> bool {
        let events = events_of(operation);
        self.old.intersects(events) || self.new.intersects(events)
    }
}

impl RowTriggers {
    /// None: nothing fires, and nothing is collected.
    pub fn compile(relation: &Arc<Relation>, fired: &[FiredTrigger]) -> SqlResult<Option<RowTriggers>> {
        if relation.triggers.is_empty() {
            return Ok(None);
        }
        let captures = Captures::of(relation);
        let collects = captures.old != TriggerEvents::NONE || captures.new != TriggerEvents::NONE;
        if fired.is_empty() && !collects {
            return Ok(None);
        }
        RowTriggers::with_captures(relation, fired, captures).map(Some)
    }

    /// The same for a partition that rows are routed to. Transition tables are the business of the relation that the
    /// statement names.
    pub fn compile_routed(
        relation: &Arc<Relation>,
        fired: &[FiredTrigger],
    ) -> SqlResult<Option<RowTriggers>> {
        if fired.is_empty() {
            return Ok(None);
        }
        RowTriggers::with_captures(relation, fired, Captures::default()).map(Some)
    }

    fn with_captures(
        relation: &Arc<Relation>,
        fired: &[FiredTrigger],
        captures: Captures,
    ) -> SqlResult<RowTriggers> {
        let clones = fired.iter().any(|fired| fired.trigger.parent.is_some());
        Ok(RowTriggers {
            relation: Arc::clone(relation),
            fired: compile(fired)?,
            captures,
            bound: match clones {
                true => PartitionTest::compile(&relation.partition_levels)?,
                false => None,
            },
        })
    }

    /// Whether the row is locked, and shown to a trigger, before it is written.
    pub fn has_before(&self, operation: TriggerOperation) -> bool {
        let events = events_of(operation);
        let mut all = self.fired.iter();
        all.any(|fired| fired.trigger.timing == TriggerTiming::Before && fired.events.intersects(events))
    }

    /// BEFORE ROW: may change `new`. False: the row is left alone.
    pub fn before(
        &self,
        operation: TriggerOperation,
        old: Option<&[Datum]>,
        new: Option<&mut Vec<Datum>>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        self.in_the_write(TriggerTiming::Before, operation, old, new, runtime)
    }

    fn in_the_write(
        &self,
        timing: TriggerTiming,
        operation: TriggerOperation,
        old: Option<&[Datum]>,
        mut new: Option<&mut Vec<Datum>>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let events = events_of(operation);
        for fired in &self.fired {
            if fired.trigger.timing != timing
                || !fired.events.intersects(events)
                // WHEN sees the row as the triggers before this one left it.
                || !fired.wants(&self.relation, old, new.as_deref().map(Vec::as_slice), runtime)?
            {
                continue;
            }
            let call = Call {
                trigger: &fired.trigger,
                relation: &self.relation,
                operation,
                old,
                new: new.as_deref().map(Vec::as_slice),
                old_table: None,
                new_table: None,
            };
            // A BEFORE trigger that returns NULL suppresses the row; the triggers behind it are not asked.
            let Some(returned) = call.run(runtime)? else {
                return Ok(false);
            };
            if let Some(new) = &mut new {
                // A trigger of the partition itself may move the row: the bound is tested behind it, and the error is
                // another.
                let inserted = operation == TriggerOperation::Insert && fired.trigger.parent.is_some();
                if inserted && self.sends_elsewhere(new, &returned, runtime)? {
                    return Err(self.moves_row(&fired.trigger));
                }
                **new = returned;
            }
        }
        Ok(true)
    }

    /// Whether a clone's function made of a row that belongs here one that does not.
    fn sends_elsewhere(
        &self,
        row: &[Datum],
        returned: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        match &self.bound {
            Some(bound) => Ok(!bound.holds(returned, runtime)? && bound.holds(row, runtime)?),
            None => Ok(false),
        }
    }

    #[cold]
    fn moves_row(&self, trigger: &Trigger) -> SqlError {
        let message = "moving row to another partition during a BEFORE FOR EACH ROW trigger is not supported";
        SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(format!(
            "Before executing trigger \"{}\", the row was to be in partition \"{}.{}\".",
            trigger.name, self.relation.schema, self.relation.name
        ))
    }

    /// The row is written: AFTER ROW triggers are queued, and transition tables get the row.
    pub fn after(
        &self,
        operation: TriggerOperation,
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        let table = self.collect(operation, old, new, runtime)?;
        let events = events_of(operation);
        // One copy of the row serves all its events; it is made when the first trigger wants it.
        let mut change = None;
        for fired in &self.fired {
            if fired.trigger.timing != TriggerTiming::After
                || !fired.events.intersects(events)
                || !fired.wants(&self.relation, old, new, runtime)?
            {
                continue;
            }
            let change = change.get_or_insert_with(|| {
                Arc::new(RowChange {
                    old: old.map(<[Datum]>::to_vec),
                    new: new.map(<[Datum]>::to_vec),
                })
            });
            let event = TriggerEvent {
                fired: Arc::clone(fired),
                relation: Arc::clone(&self.relation),
                operation,
                change: Some(Arc::clone(change)),
                table,
            };
            after::push(event, runtime)?;
        }
        Ok(())
    }

    /// Adds the row to the transition tables; answers their number.
    fn collect(
        &self,
        operation: TriggerOperation,
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<usize>> {
        if !self.captures.any(operation) {
            return Ok(None);
        }
        let events = events_of(operation);
        // An UPDATE of which nobody asks for OLD TABLE keeps no old rows.
        let old = old.filter(|_| self.captures.old.intersects(events));
        let new = new.filter(|_| self.captures.new.intersects(events));
        let room = Room::new(runtime);
        let queue = AfterEvents::of(runtime.values);
        queue
            .collect((self.relation.oid, operation), old, new, &room)
            .map(Some)
    }
}

/// The triggers of the relation that a statement names: once for each kind of change that it may make.
pub struct StatementTriggers {
    relation: Arc<Relation>,
    fired: Vec<Arc<Compiled>>,
    /// In the order in which BEFORE triggers fire; AFTER triggers the other way round.
    operations: &'static [TriggerOperation],
}

/// How far a run of a statement is.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    #[default]
    New,
    Begun,
    Ended,
}

impl StatementTriggers {
    pub fn compile(
        relation: &Arc<Relation>,
        fired: &[FiredTrigger],
        operations: &'static [TriggerOperation],
    ) -> SqlResult<StatementTriggers> {
        Ok(StatementTriggers {
            relation: Arc::clone(relation),
            fired: compile(fired)?,
            operations,
        })
    }

    /// Before the first row.
    #[inline]
    pub fn begin(&self, stage: &mut Stage, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        if *stage != Stage::New {
            return Ok(());
        }
        // Set before the triggers run: `next` is called once per row of RETURNING.
        *stage = Stage::Begun;
        if self.fired.is_empty() {
            return Ok(());
        }
        self.operations
            .iter()
            .try_for_each(|&operation| self.before(operation, runtime))
    }

    /// After the last row.
    #[inline]
    pub fn end(&self, stage: &mut Stage, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        if *stage != Stage::Begun {
            return Ok(());
        }
        *stage = Stage::Ended;
        if self.fired.is_empty() {
            return Ok(());
        }
        // As fireASTriggers of nodeModifyTable.c: for ON CONFLICT DO UPDATE first UPDATE, then INSERT.
        let operations = self.operations.iter().rev();
        operations
            .copied()
            .try_for_each(|operation| self.after(operation, runtime))
    }

    fn before(&self, operation: TriggerOperation, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let key = (self.relation.oid, operation);
        if !AfterEvents::of(runtime.values).begin_changes(key) {
            // Another part of the statement, or a cascade, came by before.
            return Ok(());
        }
        for fired in self.of(TriggerTiming::Before, operation) {
            if fired.wants(&self.relation, None, None, runtime)? {
                let call = Call {
                    trigger: &fired.trigger,
                    relation: &self.relation,
                    operation,
                    old: None,
                    new: None,
                    old_table: None,
                    new_table: None,
                };
                // What a statement trigger returns is ignored: it cannot suppress the statement.
                call.run(runtime)?;
            }
        }
        Ok(())
    }

    fn after(&self, operation: TriggerOperation, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let key = (self.relation.oid, operation);
        // Before anything is queued: a writing WITH query or a cascade may have queued the same triggers already.
        AfterEvents::of(runtime.values).cancel_statement_events(key);
        for fired in self.of(TriggerTiming::After, operation) {
            if !fired.wants(&self.relation, None, None, runtime)? {
                continue;
            }
            let sees_tables = fired.trigger.old_table.is_some() || fired.trigger.new_table.is_some();
            // The number names the rows that were collected so far; the tables themselves are taken when the trigger
            // fires.
            let table = sees_tables.then(|| AfterEvents::of(runtime.values).table_number(key));
            let event = TriggerEvent {
                fired: Arc::clone(fired),
                relation: Arc::clone(&self.relation),
                operation,
                change: None,
                table,
            };
            after::push(event, runtime)?;
        }
        Ok(())
    }

    fn of(&self, timing: TriggerTiming, operation: TriggerOperation) -> impl Iterator<Item = &Arc<Compiled>> {
        let events = events_of(operation);
        let matches =
            move |fired: &&Arc<Compiled>| fired.trigger.timing == timing && fired.events.intersects(events);
        self.fired.iter().filter(matches)
    }
}

impl Compiled {
    /// session_replication_role and WHEN.
    fn wants(
        &self,
        relation: &Relation,
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let replica = runtime.session().settings.effective.replica;
        if !self.trigger.firing.fires(replica) {
            return Ok(false);
        }
        let Some(condition) = &self.condition else {
            return Ok(true);
        };
        let width = relation.columns.len();
        let mut rows = Vec::with_capacity(2 * width);
        for row in [old, new] {
            match row {
                // The condition is bound over OLD's columns, then NEW's; a side that the operation does not have is all
                // NULL.
                Some(row) => rows.extend_from_slice(&row[..width]),
                None => rows.resize(rows.len() + width, Datum::Null),
            }
        }
        condition.holds(&rows, runtime)
    }
}

/// An AFTER trigger that waits to be fired.
struct TriggerEvent {
    fired: Arc<Compiled>,
    relation: Arc<Relation>,
    operation: TriggerOperation,
    /// None: a trigger of the statement.
    change: Option<Arc<RowChange>>,
    /// The number of its transition tables.
    table: Option<usize>,
}

impl AfterEvent for TriggerEvent {
    /// Only constraint triggers can be deferred; all others have none.
    fn deferral(&self) -> Option<Deferral> {
        let constraint = self.fired.trigger.constraint?;
        constraint.deferrable.then_some(Deferral {
            constraint: constraint.oid,
            initially_deferred: constraint.initially_deferred,
        })
    }

    fn relation(&self) -> Oid {
        self.relation.oid
    }

    /// Whether it is what `after` of this statement has queued.
    fn is_of_statement(&self, key: (Oid, TriggerOperation)) -> bool {
        self.change.is_none() && (self.relation.oid, self.operation) == key
    }

    /// What SET CONSTRAINTS puts off is told by `deferral`; the trigger itself is no constraint.
    fn constraint(&self) -> Option<(Oid, Oid)> {
        None
    }

    fn heap_bytes(&self) -> usize {
        // Several triggers of one row share it: counted for each, which errs on the safe side.
        self.change.as_ref().map_or(0, |change| {
            let rows = [&change.old, &change.new].into_iter().flatten();
            rows.map(|row| heap_bytes(row)).sum::<usize>() + size_of::<RowChange>()
        })
    }

    /// Calls the trigger's function. From then on its transition tables take no more rows.
    fn fire(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let queue = AfterEvents::of(runtime.values);
        let tables = self.table.map(|number| queue.transition_tables(number));
        let trigger = &self.fired.trigger;
        let change = self.change.as_deref();
        let named = |name: &'_ Option<String>| name.is_some();
        let call = Call {
            trigger,
            relation: &self.relation,
            operation: self.operation,
            old: change.and_then(|change| change.old.as_deref()),
            new: change.and_then(|change| change.new.as_deref()),
            old_table: tables
                .as_ref()
                .filter(|_| named(&trigger.old_table))
                .map(|tables| &tables.old),
            new_table: tables
                .as_ref()
                .filter(|_| named(&trigger.new_table))
                .map(|tables| &tables.new),
        };
        // What an AFTER trigger returns is nobody's business.
        call.run(runtime).map(|_| ())
    }
}

/// One call of a trigger function.
struct Call<'a> {
    trigger: &'a Trigger,
    relation: &'a Arc<Relation>,
    operation: TriggerOperation,
    old: Option<&'a [Datum]>,
    new: Option<&'a [Datum]>,
    old_table: Option<&'a Arc<Vec<Vec<Datum>>>>,
    new_table: Option<&'a Arc<Vec<Vec<Datum>>>>,
}

impl Call<'_> {
    /// Calls the function; under EXPLAIN ANALYZE also measures it. None: the trigger returned NULL.
    fn run(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<Vec<Datum>>> {
        if runtime.values.run.is_none() {
            return self.call_function(runtime);
        }
        let begun_ns = runtime.session().clock.monotonic_ns();
        let returned = self.call_function(runtime);
        let passed_ns = runtime.session().clock.monotonic_ns().saturating_sub(begun_ns);
        if let Some(run) = &mut runtime.values.run {
            let constraint = self.trigger.constraint.is_some();
            run.note_trigger(&self.trigger.name, constraint, &self.relation.name, passed_ns);
        }
        returned
    }

    fn call_function(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<Vec<Datum>>> {
        let trigger = self.trigger;
        let function = runtime.session().catalog.routine(trigger.function);
        let function = function.ok_or_else(|| {
            SqlError::internal(format!("cache lookup failed for function {}", trigger.function))
        })?;
        let named = |name: &'_ Option<String>| name.as_deref().unwrap_or_default().to_string();
        let (old_name, new_name) = (named(&trigger.old_table), named(&trigger.new_table));
        let told = TriggerCall {
            name: &trigger.name,
            oid: trigger.oid,
            timing: match trigger.timing {
                TriggerTiming::Before => calls::TriggerTiming::Before,
                TriggerTiming::After => calls::TriggerTiming::After,
                TriggerTiming::InsteadOf => calls::TriggerTiming::InsteadOf,
            },
            operation: self.operation,
            for_each_row: trigger.for_each_row,
            relation: self.relation,
            arguments: &trigger.arguments,
            old: self.old,
            new: self.new,
            old_table: self.old_table.map(|rows| (old_name.as_str(), rows.as_slice())),
            new_table: self.new_table.map(|rows| (new_name.as_str(), rows.as_slice())),
        };
        let call = RoutineCall {
            routine: &function,
            arguments: &[],
            types: &[],
            result: ColumnType::new(oid::TRIGGER),
            columns: None,
            trigger: Some(&told),
        };
        let mut tables = Vec::new();
        // The tables are relations of the session's catalog while the function runs, so that queries in its body find
        // them by name; what an outer trigger has shown is put back behind the call, also when it fails.
        let names = &mut runtime.context().session.catalog.transition_tables;
        for (name, rows) in [
            (&trigger.old_table, self.old_table),
            (&trigger.new_table, self.new_table),
        ] {
            if let (Some(name), Some(rows)) = (name, rows) {
                tables.push(names.table(name, self.relation, rows.clone())?);
            }
        }
        let snapshot = runtime.snapshot();
        let context = runtime.context();
        let outer = context.session.catalog.transition_tables.show(tables);
        context.session.trigger_depth += 1;
        let run = context.calls.routine();
        let returned = run(&call, snapshot, context);
        context.session.trigger_depth -= 1;
        context.session.catalog.transition_tables.show(outer);
        // After the catalog and the depth are put back: an error must leave both as it found them.
        match returned? {
            Returned::Trigger(row) => Ok(row),
            Returned::Value(_) | Returned::Rows(_) => Err(SqlError::new(
                state::TRIGGER_PROTOCOL_VIOLATED,
                format!("trigger function {} returned no row", function.name),
            )),
        }
    }
}
