//! Cursors: portals that FETCH and MOVE go through in all directions, and those that outlive their transaction.
//!
//! A cursor stands before its first row (0), on a row (from 1) or behind its last one. Rows come from the running query,
//! forwards only. To go back, a SCROLL cursor keeps all rows it has produced, within `work_mem`; one that says nothing of
//! SCROLL runs a query that merely scans again, under the snapshot it began with. WITH HOLD keeps what is left when
//! its transaction commits (for SCROLL, everything). PostgreSQL: PortalRunFetch and PersistHoldablePortal; its
//! executor runs plans backwards where this one begins anew.
//!
//! Leaves out: WHERE CURRENT OF, and DECLARE and CLOSE (`session::cursor`).

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::MemoryCharge;
use mote_executor::context::StatementContext;
use mote_executor::memory::{self, row_bytes};
use mote_grammar::ast::{Fetch, FetchDirection};
use mote_planner::plan::QueryPlan;
use mote_planner::plan::node::Node;
use mote_sql::access::Command;
use mote_types::Datum;

use super::{Portal, PortalState, collect, run_started};

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

/// What a portal has besides, once it is fetched from.
pub struct Cursor {
    scroll: Scroll,
    /// WITH HOLD.
    pub hold: bool,
    /// A loop of PL/pgSQL reads from it: held when a procedure ends its transaction.
    pub pinned: bool,
    /// BINARY: the rows go out in binary form.
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

    /// Neither before the first row nor behind the last.
    fn is_on_row(&self) -> bool {
        self.at > 0 && self.total.is_none_or(|total| self.at <= total)
    }
}

/// Whether PostgreSQL would let a cursor over this plan go back though nobody asked for SCROLL
/// (ExecSupportsBackwardScan). What it says decides which cursors may go back, though this executor never scans
/// backwards.
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

/// 55000, with PostgreSQL's hint.
fn cannot_go_back() -> SqlError {
    SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cursor can only scan forward",
    )
    .hint("Declare it with SCROLL option to enable backward scan.")
}

impl Cursor {
    /// A cursor over a query. `scroll` None: as far back as the query goes by itself.
    pub fn new(scroll: Option<bool>, hold: bool, binary: bool, query: &QueryPlan) -> Cursor {
        let scroll = match scroll {
            Some(true) => Scroll::Kept,
            None if query.command == Command::Select && !query.writes && scans_backward(&query.root) => {
                // What is held has no query to run again.
                if hold { Scroll::Kept } else { Scroll::Again }
            }
            // NO SCROLL, FOR UPDATE, and whatever a plan cannot do by itself.
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

    /// For a portal of Bind: forwards only; one that has ended has no rows left.
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

/// FETCH and MOVE, the rows to the host; answers how many there were. After one that failed the cursor can only be closed.
pub fn fetch(portal: &mut Portal, fetch: &Fetch, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    // A portal of the protocol is fetched from as a cursor that only goes forward.
    if portal.cursor.is_none() {
        portal.cursor = Some(Box::new(Cursor::of_protocol(portal.state == PortalState::Done)));
    }
    // Its operators may stand in the middle of a row.
    if cursor(portal).failed {
        return Err(SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("portal \"{}\" cannot be run", fetch.cursor),
        ));
    }
    let rows = fetch_rows(portal, fetch, context);
    cursor(portal).failed = rows.is_err();
    rows
}

/// Forward from where it stands, as Execute of the protocol goes; 0: to the end.
pub fn execute(portal: &mut Portal, max_rows: u64, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    let count = if max_rows == 0 { ALL } else { max_rows as i64 };
    forward(portal, count, false, context)
}

/// Runs what is left of a cursor's query and keeps the rows: its transaction is about to commit.
pub fn hold(portal: &mut Portal, context: &mut StatementContext<'_>) -> SqlResult<()> {
    // Keeping rows moves nothing: the cursor stands where it stood.
    let at = cursor(portal).at;
    if cursor(portal).kept.is_none() {
        let cursor = cursor(portal);
        // Not SCROLL: what was handed out will not be asked for again.
        cursor.kept_from = cursor.produced;
        cursor.kept = Some(Vec::new());
    }
    keep_up_to(portal, ALL, context)?;
    let cursor = cursor(portal);
    cursor.held = true;
    cursor.at = at;
    // It has left its transaction: no ROLLBACK TO drops it.
    portal.savepoint_depth = 0;
    if let Some(mut execution) = portal.execution.take() {
        // With the execution goes the snapshot.
        execution.reset();
    }
    Ok(())
}

/// A loop whose query writes cannot lose its transaction.
#[cold]
pub fn loop_writes() -> SqlError {
    SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cannot perform transaction commands inside a cursor loop that is not read-only",
    )
}

fn fetch_rows(portal: &mut Portal, fetch: &Fetch, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    let (count, moves) = (fetch.count, fetch.moves);
    let at = cursor(portal).at;
    match fetch.direction {
        // FORWARD 0, BACKWARD 0 and RELATIVE 0 mean the same row again.
        FetchDirection::Forward | FetchDirection::Backward if count == 0 => again(portal, moves, context),
        FetchDirection::Relative if count == 0 => again(portal, moves, context),
        FetchDirection::Forward if count < 0 => backward(portal, count.saturating_neg(), moves, context),
        FetchDirection::Backward if count < 0 => forward(portal, count.saturating_neg(), moves, context),
        FetchDirection::Forward => forward(portal, count, moves, context),
        FetchDirection::Backward => backward(portal, count, moves, context),
        FetchDirection::Relative => go_to(portal, at.saturating_add(count), moves, context),
        FetchDirection::Absolute if count < 0 => {
            // ABSOLUTE -1 is the last row: how many there are must be known.
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
    // MOVE 0 says whether it stands on a row.
    if moves {
        return Ok(1);
    }
    let at = cursor(portal).at;
    let rows = rows_between(portal, at, at, context)?;
    emit(portal, &rows, moves, context)
}

/// The next rows. At the end the cursor stands behind the last row.
fn forward(
    portal: &mut Portal,
    count: i64,
    moves: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    let from = cursor(portal).at;
    // Only where the query stands at the cursor: a cursor that went back reads rows by number.
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
    // Fewer rows than wanted: behind the last. Exactly as many: on the last of them, whether or not another follows.
    cursor.at = match cursor.total {
        Some(total) if found < count => total + 1,
        _ => from + found,
    };
    Ok(found as u64)
}

/// The rows before this one, nearest first.
fn backward(
    portal: &mut Portal,
    count: i64,
    moves: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    if !cursor(portal).is_scrollable() {
        return Err(cannot_go_back());
    }
    // From behind the last row the last one is the first to come.
    let at = cursor(portal).at;
    let last = at - 1;
    let first = at.saturating_sub(count).max(1);
    let mut rows = match last >= first {
        true => rows_between(portal, first, last, context)?,
        false => Vec::new(),
    };
    rows.reverse();
    let found = rows.len() as i64;
    // Fewer than wanted: before the first row.
    cursor(portal).at = if found < count { 0 } else { first };
    emit(portal, &rows, moves, context)
}

/// To a row by its number; one beyond either end is no row.
fn go_to(portal: &mut Portal, row: i64, moves: bool, context: &mut StatementContext<'_>) -> SqlResult<u64> {
    // The row it stands on counts as behind: it was handed out.
    if row <= cursor(portal).at && !cursor(portal).is_scrollable() {
        return Err(cannot_go_back());
    }
    let rows = match row > 0 {
        true => rows_between(portal, row, row, context)?,
        false => Vec::new(),
    };
    let cursor = cursor(portal);
    // Beyond the end: behind the last row. Below 1: before the first.
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
        // Handed out before the cursor was held.
        if first <= cursor.kept_from {
            return Err(cannot_go_back());
        }
        // Rows beyond the last are none: both ends are cut to what is kept.
        let place = |row: i64| ((row - cursor.kept_from) as usize).min(kept.len());
        return Ok(kept[place(first - 1)..place(last).max(place(first - 1))].to_vec());
    }
    // The query is past the first of them.
    if first <= cursor(portal).produced {
        run_again(portal)?;
    }
    let before = first - 1 - cursor(portal).produced;
    if before > 0 {
        skip(portal, before, context)?;
    }
    let wanted = last - first + 1;
    // Collected and then sent in the wanted order.
    let room = context.session.settings.effective.work_mem_bytes;
    collect(context, true, room, |context| pull(portal, wanted, context))
}

/// Makes a cursor that keeps its rows have them up to a number.
fn keep_up_to(portal: &mut Portal, last: i64, context: &mut StatementContext<'_>) -> SqlResult<()> {
    // The query has produced what is kept; rows come behind them.
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
    // The bound is on all rows of the cursor, not on those of one FETCH.
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

/// Runs the query on without its rows going anywhere; answers how many there were.
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
    // Nothing left to run. The client still gets the description of the rows.
    if held || total == Some(produced) {
        context.host.start_rows(&portal.plan.plan.output)?;
        return Ok(0);
    }
    let max_rows = if count == ALL { 0 } else { count as u64 };
    // Without a start to go back to: a cursor does not begin again.
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

/// The cursor of a portal that is one; `fetch` has made it so.
fn cursor(portal: &mut Portal) -> &mut Cursor {
    portal.cursor.as_mut().expect("cursors are fetched from")
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
