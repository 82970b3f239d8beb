//! Cursors of SQL: DECLARE, FETCH and MOVE in all directions, CLOSE, and those that outlive their transaction.
//!
//! A cursor stands before its first row (0), on a row (from 1) or behind its last one. Rows come from the running query,
//! forwards only. To go back, a SCROLL cursor keeps all rows it has produced, within `work_mem`; one that says nothing of
//! SCROLL runs a query that merely scans again, under the snapshot it began with. WITH HOLD keeps what is left when its
//! transaction commits (for SCROLL, everything).
//!
//! Leaves out: WHERE CURRENT OF.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::MemoryCharge;
use mote_grammar::ast::{ClosePortal, DeclareCursor, Fetch, FetchDirection, ParsedStatement};
use mote_planner::plan::node::Node;
use mote_planner::plan::{OutputColumn, PlanBody, QueryPlan};
use mote_sql::access::Command;
use mote_types::Datum;

use super::holdings::Holdings;
use super::procedure::loop_writes;
use super::run::{modifies, run_started};
use super::statements::{Collect, new_portal};
use super::{Portal, PortalState, Session};
use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;
use mote_executor::context::UtilityParameters;
use mote_executor::memory::{self, row_bytes};

/// What a cursor takes beside its statement: itself, and its query's operators.
const PORTAL_BYTES: usize = 4 << 10;
/// All rows, in FETCH and MOVE.
const ALL: i64 = i64::MAX;

/// How a cursor can go back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scroll {
    Never,
    /// By running the query again.
    Again,
    /// By the rows it keeps.
    Kept,
}

pub struct Cursor {
    scroll: Scroll,
    pub hold: bool,
    /// A loop of PL/pgSQL reads from it: held when a procedure ends its transaction.
    pub pinned: bool,
    pub binary: bool,
    /// Rows `kept_from + 1 ..`, where rows are kept.
    kept: Option<Vec<Vec<Datum>>>,
    /// What they take.
    charge: Option<MemoryCharge>,
    kept_from: i64,
    /// Rows that the running query has produced.
    produced: i64,
    /// How many rows there are, once known.
    total: Option<i64>,
    /// Where it stands: 0, a row, or one behind the last.
    at: i64,
    /// Its transaction has committed: the kept rows are all there is.
    pub held: bool,
    /// A FETCH failed: all that is left is to close it.
    failed: bool,
}

impl Cursor {
    pub fn is_scrollable(&self) -> bool {
        self.scroll != Scroll::Never
    }

    fn is_on_row(&self) -> bool {
        self.at > 0 && self.total.is_none_or(|total| self.at <= total)
    }
}

/// Whether PostgreSQL would let a cursor over this plan go back though nobody asked for SCROLL.
fn scans_backward(node: &Node) -> bool {
    match node {
        Node::SeqScan(_)
        | Node::IndexScan(_)
        | Node::VirtualScan(_)
        | Node::FunctionScan(_)
        | Node::Values { .. }
        | Node::CteScan { .. } => true,
        Node::Sort { .. } => true,
        Node::Filter { input, .. } | Node::Project { input, .. } | Node::Limit { input, .. } => {
            scans_backward(input)
        }
        _ => false,
    }
}

fn cannot_go_back() -> SqlError {
    SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cursor can only scan forward",
    )
    .hint("Declare it with SCROLL option to enable backward scan.")
}

fn refuse_locking(declare: &DeclareCursor, query: &QueryPlan) -> SqlResult<()> {
    if !query.writes {
        return Ok(());
    }
    let (what, which) = if declare.hold {
        ("DECLARE CURSOR WITH HOLD", "Holdable")
    } else if declare.scroll == Some(true) {
        ("DECLARE SCROLL CURSOR", "Scrollable")
    } else {
        return Ok(());
    };
    Err(SqlError::new(
        state::FEATURE_NOT_SUPPORTED,
        format!("{what} ... FOR UPDATE is not supported"),
    )
    .detail(format!("{which} cursors must be READ ONLY.")))
}

impl Session {
    pub(crate) fn declare_cursor(
        &mut self,
        declare: &DeclareCursor,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        if !declare.hold && !self.in_block() {
            return Err(SqlError::new(
                state::NO_ACTIVE_SQL_TRANSACTION,
                "DECLARE CURSOR can only be used in transaction blocks",
            ));
        }
        if self.holdings.portals.contains(&declare.name) {
            return Err(SqlError::new(
                state::DUPLICATE_CURSOR,
                format!("cursor \"{}\" already exists", declare.name),
            ));
        }
        let statement = ParsedStatement {
            statement: declare.query.clone(),
            range: 0..text.len(),
        };
        let UtilityParameters { types, values } = std::mem::take(&mut self.state.utility_parameters);
        let prepared = self
            .state
            .plan_prepared(text.clone(), Some(Arc::new(statement)), &types, host)?;
        let plan = prepared.current();
        let PlanBody::Query(query) = &plan.plan.body else {
            return Err(SqlError::new(
                state::INVALID_CURSOR_DEFINITION,
                "DECLARE CURSOR must specify a query",
            ));
        };
        refuse_locking(declare, query)?;
        let mut portal = new_portal(prepared.clone(), plan.clone(), values, self.state.savepoint_depth);
        portal.made_us = self.state.statement_start_us;
        let bytes = PORTAL_BYTES + portal.prepared.bytes;
        portal.charge = Some(memory::charge(&self.state.memory, bytes, "a cursor")?);
        let made = Cursor::new(declare.scroll, declare.hold, declare.binary, query);
        portal.cursor = Some(Box::new(made));
        portal.result_formats = if declare.binary { vec![1] } else { Vec::new() };
        // DECLARE fixes the snapshot: the query begins here, rows come with FETCH.
        self.start_query(&mut portal, host)?;
        self.holdings.portals.put(&declare.name, portal);
        Ok(CommandTag::Word("DECLARE CURSOR"))
    }

    pub(crate) fn describe_fetch(&self, fetch: &Fetch) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        if fetch.moves {
            return Ok(None);
        }
        // As in PostgreSQL a cursor that is not there yet is missed when it is fetched from.
        match self.holdings.portals.get(&fetch.cursor) {
            Some(portal) => self.output_of(&portal.plan.plan),
            None => Ok(None),
        }
    }

    pub(crate) fn fetch(&mut self, fetch: &Fetch, host: &mut dyn Host) -> SqlResult<CommandTag> {
        self.start_portal(&fetch.cursor, host)?;
        // What is held outlives its transaction; its rows still go out within one.
        self.ensure_transaction()?;
        let mut context = self.context(host);
        let rows = fetch_from(fetch, &mut context);
        context.transaction.end_statement();
        let rows = rows?;
        Ok(if fetch.moves {
            CommandTag::Move(rows)
        } else {
            CommandTag::Fetch(rows)
        })
    }

    /// A portal of the protocol may have been bound and not yet executed: its query begins with the first FETCH.
    fn start_portal(&mut self, name: &str, host: &mut dyn Host) -> SqlResult<()> {
        require_cursor(&self.holdings, name)?;
        let mut portal = self.holdings.portals.take(name).expect("looked up above");
        let fresh =
            portal.cursor.is_none() && portal.execution.is_none() && portal.state == PortalState::Ready;
        let started = match &portal.plan.plan.body {
            _ if !fresh => Ok(()),
            PlanBody::Query(_) => self.start_query(&mut portal, host),
            PlanBody::Utility(_) => Err(SqlError::unsupported("FETCH from a portal of this statement")),
        };
        self.holdings.portals.put(name, portal);
        started
    }

    /// Execute of the protocol on a cursor: forward from where it stands.
    pub(super) fn execute_cursor(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        host: &mut dyn Host,
    ) -> SqlResult<u64> {
        let count = if max_rows == 0 { ALL } else { max_rows as i64 };
        self.ensure_transaction()?;
        let mut context = self.context(host);
        let rows = forward(portal, count, false, &mut context);
        context.transaction.end_statement();
        rows
    }

    pub(crate) fn close_cursor(&mut self, close: &ClosePortal) -> SqlResult<CommandTag> {
        match close {
            ClosePortal::All => {
                self.holdings.portals.retain(|portal| portal.cursor.is_none());
                Ok(CommandTag::Word("CLOSE CURSOR ALL"))
            }
            ClosePortal::Name(name) => {
                require_cursor(&self.holdings, name)?;
                self.close_portal(name);
                Ok(CommandTag::Word("CLOSE CURSOR"))
            }
        }
    }

    /// Before a commit: cursors WITH HOLD run to their end and keep what they find. `pinned`: those that loops read from.
    pub(super) fn hold_cursors(&mut self, pinned: bool, host: &mut dyn Host) -> SqlResult<()> {
        for name in self.holdings.portals.to_hold(pinned) {
            let Some(mut portal) = self.holdings.portals.take(&name) else {
                continue;
            };
            if pinned && modifies(portal.plan.query()?) {
                return Err(loop_writes());
            }
            let at = cursor(&mut portal).at;
            if cursor(&mut portal).kept.is_none() {
                let cursor = cursor(&mut portal);
                cursor.kept_from = cursor.produced;
                cursor.kept = Some(Vec::new());
            }
            keep_up_to(&mut portal, ALL, &mut self.context(host))?;
            let cursor = cursor(&mut portal);
            cursor.held = true;
            cursor.at = at;
            portal.savepoint_depth = 0;
            if let Some(mut execution) = portal.execution.take() {
                execution.reset();
            }
            self.holdings.portals.put(&name, portal);
        }
        Ok(())
    }
}

impl Cursor {
    /// A cursor over a query. `scroll` None: as far back as the query goes by itself.
    pub(crate) fn new(scroll: Option<bool>, hold: bool, binary: bool, query: &QueryPlan) -> Cursor {
        let scroll = match scroll {
            Some(true) => Scroll::Kept,
            None if query.command == Command::Select && !query.writes && scans_backward(&query.root) => {
                // What is held has no query to run again.
                if hold { Scroll::Kept } else { Scroll::Again }
            }
            _ => Scroll::Never,
        };
        Cursor {
            scroll,
            hold,
            pinned: false,
            binary,
            kept: (scroll == Scroll::Kept).then(Vec::new),
            charge: None,
            kept_from: 0,
            produced: 0,
            total: None,
            at: 0,
            held: false,
            failed: false,
        }
    }

    fn of_protocol(ended: bool) -> Cursor {
        Cursor {
            scroll: Scroll::Never,
            hold: false,
            pinned: false,
            binary: false,
            kept: None,
            charge: None,
            kept_from: 0,
            produced: 0,
            total: ended.then_some(0),
            at: 0,
            held: false,
            failed: false,
        }
    }
}

pub(crate) fn require_cursor(holdings: &Holdings, name: &str) -> SqlResult<()> {
    if holdings.portals.contains(name) {
        return Ok(());
    }
    Err(SqlError::new(
        state::INVALID_CURSOR_NAME,
        format!("cursor \"{name}\" does not exist"),
    ))
}

/// FETCH and MOVE, the rows to the host; answers how many there were.
pub(crate) fn fetch_from(fetch: &Fetch, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    require_cursor(Holdings::seen(context.calls), &fetch.cursor)?;
    // Taken out while it runs, so that what it calls may use the session.
    let portal = Holdings::of(context.calls).portals.take(&fetch.cursor);
    let mut portal = portal.expect("looked up above");
    // A portal of the protocol is fetched from as a cursor that only goes forward.
    if portal.cursor.is_none() {
        portal.cursor = Some(Box::new(Cursor::of_protocol(portal.state == PortalState::Done)));
    }
    if cursor(&mut portal).failed {
        Holdings::of(context.calls).portals.put(&fetch.cursor, portal);
        return Err(SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("portal \"{}\" cannot be run", fetch.cursor),
        ));
    }
    let rows = fetch_rows(&mut portal, fetch, context);
    cursor(&mut portal).failed = rows.is_err();
    Holdings::of(context.calls).portals.put(&fetch.cursor, portal);
    rows
}

fn fetch_rows(portal: &mut Portal, fetch: &Fetch, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    let (count, moves) = (fetch.count, fetch.moves);
    let at = cursor(portal).at;
    match fetch.direction {
        FetchDirection::Forward | FetchDirection::Backward if count == 0 => again(portal, moves, context),
        FetchDirection::Relative if count == 0 => again(portal, moves, context),
        FetchDirection::Forward if count < 0 => backward(portal, count.saturating_neg(), moves, context),
        FetchDirection::Backward if count < 0 => forward(portal, count.saturating_neg(), moves, context),
        FetchDirection::Forward => forward(portal, count, moves, context),
        FetchDirection::Backward => backward(portal, count, moves, context),
        FetchDirection::Relative => go_to(portal, at.saturating_add(count), moves, context),
        FetchDirection::Absolute if count < 0 => {
            let total = count_rows(portal, context)?;
            go_to(portal, total + 1 + count, moves, context)
        }
        FetchDirection::Absolute => go_to(portal, count, moves, context),
    }
}

/// The row it stands on, once more.
fn again(portal: &mut Portal, moves: bool, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    if !cursor(portal).is_on_row() {
        return emit(portal, &[], moves, context);
    }
    if moves {
        return Ok(1);
    }
    let at = cursor(portal).at;
    let rows = rows_between(portal, at, at, context)?;
    emit(portal, &rows, moves, context)
}

fn forward(
    portal: &mut Portal,
    count: i64,
    moves: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    let from = cursor(portal).at;
    let streams = cursor(portal).kept.is_none() && from == cursor(portal).produced;
    let found = if streams {
        // As they come, without keeping them.
        if moves {
            skip(portal, count, context)?
        } else {
            pull(portal, count, context)?
        }
    } else {
        let rows = rows_between(portal, from + 1, from.saturating_add(count), context)?;
        emit(portal, &rows, moves, context)? as i64
    };
    let cursor = cursor(portal);
    cursor.at = match cursor.total {
        Some(total) if found < count => total + 1,
        _ => from + found,
    };
    Ok(found as u64)
}

fn backward(
    portal: &mut Portal,
    count: i64,
    moves: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    if !cursor(portal).is_scrollable() {
        return Err(cannot_go_back());
    }
    let at = cursor(portal).at;
    let last = at - 1;
    let first = at.saturating_sub(count).max(1);
    let mut rows = match last >= first {
        true => rows_between(portal, first, last, context)?,
        false => Vec::new(),
    };
    rows.reverse();
    let found = rows.len() as i64;
    cursor(portal).at = if found < count { 0 } else { first };
    emit(portal, &rows, moves, context)
}

/// To a row by its number; one beyond either end is no row.
fn go_to(portal: &mut Portal, row: i64, moves: bool, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    if row <= cursor(portal).at && !cursor(portal).is_scrollable() {
        return Err(cannot_go_back());
    }
    let rows = match row > 0 {
        true => rows_between(portal, row, row, context)?,
        false => Vec::new(),
    };
    let cursor = cursor(portal);
    cursor.at = match (rows.is_empty(), cursor.total) {
        (false, _) => row,
        (true, Some(total)) if row > 0 => total + 1,
        _ => 0,
    };
    emit(portal, &rows, moves, context)
}

/// How many rows there are: runs the query to its end.
fn count_rows(portal: &mut Portal, context: &mut StatementContext<'_>) -> SqlResult<i64> {
    if let Some(total) = cursor(portal).total {
        return Ok(total);
    }
    if cursor(portal).kept.is_some() {
        keep_up_to(portal, ALL, context)?;
    } else if cursor(portal).is_scrollable() {
        skip(portal, ALL, context)?;
    } else {
        return Err(cannot_go_back());
    }
    Ok(cursor(portal).total.unwrap_or(cursor(portal).produced))
}

/// Rows by number, as many of them as there are.
fn rows_between(
    portal: &mut Portal,
    first: i64,
    last: i64,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<Vec<Datum>>> {
    if cursor(portal).kept.is_some() {
        keep_up_to(portal, last, context)?;
        let cursor = cursor(portal);
        let kept = cursor.kept.as_deref().unwrap_or_default();
        if first <= cursor.kept_from {
            return Err(cannot_go_back());
        }
        let place = |row: i64| ((row - cursor.kept_from) as usize).min(kept.len());
        return Ok(kept[place(first - 1)..place(last).max(place(first - 1))].to_vec());
    }
    if first <= cursor(portal).produced {
        run_again(portal)?;
    }
    let before = first - 1 - cursor(portal).produced;
    if before > 0 {
        skip(portal, before, context)?;
    }
    let wanted = last - first + 1;
    let room = context.session.settings.effective.work_mem_bytes;
    collect(context, true, room, |context| pull(portal, wanted, context))
}

/// Makes a cursor that keeps its rows have them up to a number.
fn keep_up_to(portal: &mut Portal, last: i64, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let missing = last.saturating_sub(cursor(portal).produced);
    if missing <= 0 || cursor(portal).held || cursor(portal).total.is_some() {
        return Ok(());
    }
    let kept: usize = cursor(portal)
        .kept
        .iter()
        .flatten()
        .map(|row| row_bytes(row))
        .sum();
    let room = context
        .session
        .settings
        .effective
        .work_mem_bytes
        .saturating_sub(kept);
    let rows = collect(context, true, room, |context| pull(portal, missing, context))?;
    let bytes = kept + rows.iter().map(|row| row_bytes(row)).sum::<usize>();
    let memory = &context.session.memory;
    let cursor = cursor(portal);
    memory::resize(&mut cursor.charge, bytes, memory, "the rows of a cursor")?;
    cursor.kept.get_or_insert_default().extend(rows);
    Ok(())
}

fn skip(portal: &mut Portal, count: i64, context: &mut StatementContext<'_>) -> SqlResult<i64> {
    let mut skipped = 0;
    collect(context, false, 0, |context| {
        skipped = pull(portal, count, context)?;
        Ok(())
    })?;
    Ok(skipped)
}

/// The query's next rows, at most so many; answers how many there were.
fn pull(portal: &mut Portal, count: i64, context: &mut StatementContext<'_>) -> SqlResult<i64> {
    let Cursor {
        held,
        total,
        produced,
        ..
    } = *cursor(portal);
    if held || total == Some(produced) {
        context.host.start_rows(&portal.plan.plan.output)?;
        return Ok(0);
    }
    let max_rows = if count == ALL { 0 } else { count as u64 };
    let (outcome, _) = run_started(portal, max_rows, None, context)?;
    let cursor = cursor(portal);
    cursor.produced += outcome.rows as i64;
    if outcome.finished {
        cursor.total = Some(cursor.produced);
    }
    Ok(outcome.rows as i64)
}

/// Begins the query once more, at the snapshot it has.
fn run_again(portal: &mut Portal) -> SqlResult<()> {
    if cursor(portal).scroll != Scroll::Again {
        return Err(cannot_go_back());
    }
    match &mut portal.execution {
        Some(execution) => execution.rewind(),
        None => return Err(SqlError::internal("a cursor without its query")),
    }
    cursor(portal).produced = 0;
    Ok(())
}

fn cursor(portal: &mut Portal) -> &mut Cursor {
    portal.cursor.as_mut().expect("cursors are fetched from")
}

/// Runs `work` with a host that keeps the rows; answers with them.
pub(crate) fn collect<T>(
    context: &mut StatementContext<'_>,
    keeps: bool,
    room_bytes: usize,
    work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<Vec<Vec<Datum>>> {
    let memory = context.session.memory.clone();
    let mut collected = Collect::new(&mut *context.host, keeps, room_bytes, memory);
    let mut inner = StatementContext {
        transaction: context.transaction,
        session: &mut *context.session,
        calls: &mut *context.calls,
        database: context.database,
        host: &mut collected,
        fuel: context.fuel,
    };
    let result = work(&mut inner);
    let fuel = inner.fuel;
    let rows = collected.rows;
    context.fuel = fuel;
    result.map(|_| rows)
}

/// Sends rows, or counts them.
fn emit(
    portal: &Portal,
    rows: &[Vec<Datum>],
    moves: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    if !moves {
        context.host.start_rows(&portal.plan.plan.output)?;
        for row in rows {
            context
                .host
                .row(row, &context.session.settings.effective.format)?;
        }
    }
    Ok(rows.len() as u64)
}
