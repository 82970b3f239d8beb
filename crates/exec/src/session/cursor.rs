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
use mote_sql::ast::{ClosePortal, DeclareCursor, Fetch, FetchDirection, ParsedStatement};
use mote_sql::plan::node::Node;
use mote_sql::plan::{Command, OutputColumn, PlanBody, QueryPlan};
use mote_types::Datum;

use super::statements::{Collect, new_portal};
use super::{CommandTag, Portal, PortalState, Session};
use crate::host::Host;

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

#[derive(Debug)]
pub struct Cursor {
    scroll: Scroll,
    pub hold: bool,
    pub binary: bool,
    /// Rows `kept_from + 1 ..`, where rows are kept.
    kept: Option<Vec<Vec<Datum>>>,
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
        if self.portals.contains(&declare.name) {
            return Err(SqlError::new(
                state::DUPLICATE_CURSOR,
                format!("cursor \"{}\" already exists", declare.name),
            ));
        }
        let statement = ParsedStatement {
            statement: declare.query.clone(),
            range: 0..text.len(),
        };
        let prepared = self.plan_prepared(text.clone(), Some(Arc::new(statement)), &[], host)?;
        let plan = prepared.current();
        let PlanBody::Query(query) = &plan.plan.body else {
            return Err(SqlError::new(
                state::INVALID_CURSOR_DEFINITION,
                "DECLARE CURSOR must specify a query",
            ));
        };
        refuse_locking(declare, query)?;
        let scroll = match declare.scroll {
            Some(true) => Scroll::Kept,
            None if query.command == Command::Select && !query.writes && scans_backward(&query.root) => {
                // What is held has no query to run again.
                if declare.hold { Scroll::Kept } else { Scroll::Again }
            }
            _ => Scroll::Never,
        };
        let mut portal = new_portal(
            prepared.clone(),
            plan.clone(),
            Vec::new(),
            self.state.savepoint_depth,
        );
        portal.made_us = self.state.statement_start_us;
        portal.cursor = Some(Box::new(Cursor {
            scroll,
            hold: declare.hold,
            binary: declare.binary,
            kept: (scroll == Scroll::Kept).then(Vec::new),
            kept_from: 0,
            produced: 0,
            total: None,
            at: 0,
            held: false,
            failed: false,
        }));
        portal.result_formats = if declare.binary { vec![1] } else { Vec::new() };
        // DECLARE fixes the snapshot: the query begins here, rows come with FETCH.
        self.start_query(&mut portal, host)?;
        self.portals.put(&declare.name, portal);
        Ok(CommandTag::Word("DECLARE CURSOR"))
    }

    fn require_cursor(&self, name: &str) -> SqlResult<()> {
        if self.portals.contains(name) {
            return Ok(());
        }
        Err(SqlError::new(
            state::INVALID_CURSOR_NAME,
            format!("cursor \"{name}\" does not exist"),
        ))
    }

    pub(crate) fn describe_fetch(&self, fetch: &Fetch) -> SqlResult<Option<Vec<OutputColumn>>> {
        if fetch.moves {
            return Ok(None);
        }
        self.output_of(&self.portal(&fetch.cursor)?.plan.plan)
    }

    pub(crate) fn fetch(&mut self, fetch: &Fetch, host: &mut dyn Host) -> SqlResult<CommandTag> {
        self.require_cursor(&fetch.cursor)?;
        let mut portal = self.portals.take(&fetch.cursor).expect("looked up above");
        // A portal of the protocol is fetched from as a cursor that only goes forward.
        if portal.cursor.is_none() {
            portal.cursor = Some(Box::new(Cursor::of_protocol(portal.state == PortalState::Done)));
        }
        if cursor(&mut portal).failed {
            self.portals.put(&fetch.cursor, portal);
            return Err(SqlError::new(
                state::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("portal \"{}\" cannot be run", fetch.cursor),
            ));
        }
        let rows = self.fetch_rows(&mut portal, fetch, host);
        cursor(&mut portal).failed = rows.is_err();
        self.portals.put(&fetch.cursor, portal);
        let rows = rows?;
        Ok(if fetch.moves {
            CommandTag::Move(rows)
        } else {
            CommandTag::Fetch(rows)
        })
    }

    /// Execute of the protocol on a cursor: forward from where it stands.
    pub(super) fn execute_cursor(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        host: &mut dyn Host,
    ) -> SqlResult<u64> {
        let count = if max_rows == 0 { ALL } else { max_rows as i64 };
        self.forward(portal, count, false, host)
    }

    fn fetch_rows(&mut self, portal: &mut Portal, fetch: &Fetch, host: &mut dyn Host) -> SqlResult<u64> {
        let (count, moves) = (fetch.count, fetch.moves);
        let at = cursor(portal).at;
        match fetch.direction {
            FetchDirection::Forward | FetchDirection::Backward if count == 0 => {
                self.again(portal, moves, host)
            }
            FetchDirection::Relative if count == 0 => self.again(portal, moves, host),
            FetchDirection::Forward if count < 0 => {
                self.backward(portal, count.saturating_neg(), moves, host)
            }
            FetchDirection::Backward if count < 0 => {
                self.forward(portal, count.saturating_neg(), moves, host)
            }
            FetchDirection::Forward => self.forward(portal, count, moves, host),
            FetchDirection::Backward => self.backward(portal, count, moves, host),
            FetchDirection::Relative => self.go_to(portal, at.saturating_add(count), moves, host),
            FetchDirection::Absolute if count < 0 => {
                let total = self.count_rows(portal, host)?;
                self.go_to(portal, total + 1 + count, moves, host)
            }
            FetchDirection::Absolute => self.go_to(portal, count, moves, host),
        }
    }

    /// The row it stands on, once more.
    fn again(&mut self, portal: &mut Portal, moves: bool, host: &mut dyn Host) -> SqlResult<u64> {
        if !cursor(portal).is_on_row() {
            return emit(self, portal, &[], moves, host);
        }
        if moves {
            return Ok(1);
        }
        let at = cursor(portal).at;
        let rows = self.rows_between(portal, at, at, host)?;
        emit(self, portal, &rows, moves, host)
    }

    fn forward(
        &mut self,
        portal: &mut Portal,
        count: i64,
        moves: bool,
        host: &mut dyn Host,
    ) -> SqlResult<u64> {
        let from = cursor(portal).at;
        let streams = cursor(portal).kept.is_none() && from == cursor(portal).produced;
        let found = if streams {
            // As they come, without keeping them.
            if moves {
                self.skip(portal, count, host)?
            } else {
                self.pull(portal, count, host)?
            }
        } else {
            let rows = self.rows_between(portal, from + 1, from.saturating_add(count), host)?;
            emit(self, portal, &rows, moves, host)? as i64
        };
        let cursor = cursor(portal);
        cursor.at = match cursor.total {
            Some(total) if found < count => total + 1,
            _ => from + found,
        };
        Ok(found as u64)
    }

    fn backward(
        &mut self,
        portal: &mut Portal,
        count: i64,
        moves: bool,
        host: &mut dyn Host,
    ) -> SqlResult<u64> {
        if !cursor(portal).is_scrollable() {
            return Err(cannot_go_back());
        }
        let at = cursor(portal).at;
        let last = at - 1;
        let first = at.saturating_sub(count).max(1);
        let mut rows = match last >= first {
            true => self.rows_between(portal, first, last, host)?,
            false => Vec::new(),
        };
        rows.reverse();
        let found = rows.len() as i64;
        cursor(portal).at = if found < count { 0 } else { first };
        emit(self, portal, &rows, moves, host)
    }

    /// To a row by its number; one beyond either end is no row.
    fn go_to(&mut self, portal: &mut Portal, row: i64, moves: bool, host: &mut dyn Host) -> SqlResult<u64> {
        if row <= cursor(portal).at && !cursor(portal).is_scrollable() {
            return Err(cannot_go_back());
        }
        let rows = match row > 0 {
            true => self.rows_between(portal, row, row, host)?,
            false => Vec::new(),
        };
        let cursor = cursor(portal);
        cursor.at = match (rows.is_empty(), cursor.total) {
            (false, _) => row,
            (true, Some(total)) if row > 0 => total + 1,
            _ => 0,
        };
        emit(self, portal, &rows, moves, host)
    }

    /// How many rows there are: runs the query to its end.
    fn count_rows(&mut self, portal: &mut Portal, host: &mut dyn Host) -> SqlResult<i64> {
        if let Some(total) = cursor(portal).total {
            return Ok(total);
        }
        if cursor(portal).kept.is_some() {
            self.keep_up_to(portal, ALL, host)?;
        } else if cursor(portal).is_scrollable() {
            self.skip(portal, ALL, host)?;
        } else {
            return Err(cannot_go_back());
        }
        Ok(cursor(portal).total.unwrap_or(cursor(portal).produced))
    }

    /// Rows by number, as many of them as there are.
    fn rows_between(
        &mut self,
        portal: &mut Portal,
        first: i64,
        last: i64,
        host: &mut dyn Host,
    ) -> SqlResult<Vec<Vec<Datum>>> {
        if cursor(portal).kept.is_some() {
            self.keep_up_to(portal, last, host)?;
            let cursor = cursor(portal);
            let kept = cursor.kept.as_deref().unwrap_or_default();
            if first <= cursor.kept_from {
                return Err(cannot_go_back());
            }
            let place = |row: i64| ((row - cursor.kept_from) as usize).min(kept.len());
            return Ok(kept[place(first - 1)..place(last).max(place(first - 1))].to_vec());
        }
        if first <= cursor(portal).produced {
            self.run_again(portal)?;
        }
        let before = first - 1 - cursor(portal).produced;
        if before > 0 {
            self.skip(portal, before, host)?;
        }
        let wanted = last - first + 1;
        let room = self.state.settings.effective.work_mem_bytes;
        let mut collected = Collect::new(host, true, room);
        self.pull(portal, wanted, &mut collected)?;
        Ok(collected.rows)
    }

    /// Makes a cursor that keeps its rows have them up to a number.
    fn keep_up_to(&mut self, portal: &mut Portal, last: i64, host: &mut dyn Host) -> SqlResult<()> {
        let missing = last.saturating_sub(cursor(portal).produced);
        if missing <= 0 || cursor(portal).held || cursor(portal).total.is_some() {
            return Ok(());
        }
        let bytes = |row: &Vec<Datum>| {
            let heap: usize = row.iter().map(Datum::heap_bytes).sum();
            size_of::<Vec<Datum>>() + size_of_val(&**row) + heap
        };
        let kept: usize = cursor(portal).kept.iter().flatten().map(bytes).sum();
        let room = self.state.settings.effective.work_mem_bytes.saturating_sub(kept);
        let mut collected = Collect::new(host, true, room);
        self.pull(portal, missing, &mut collected)?;
        let rows = collected.rows;
        cursor(portal).kept.get_or_insert_default().extend(rows);
        Ok(())
    }

    fn skip(&mut self, portal: &mut Portal, count: i64, host: &mut dyn Host) -> SqlResult<i64> {
        let mut nowhere = Collect::new(host, false, 0);
        self.pull(portal, count, &mut nowhere)
    }

    /// The query's next rows, at most so many; answers how many there were.
    fn pull(&mut self, portal: &mut Portal, count: i64, host: &mut dyn Host) -> SqlResult<i64> {
        let Cursor {
            held,
            total,
            produced,
            ..
        } = *cursor(portal);
        if held || total == Some(produced) {
            host.start_rows(&portal.plan.plan.output)?;
            return Ok(0);
        }
        let max_rows = if count == ALL { 0 } else { count as u64 };
        let (outcome, _) = self.run_query(portal, max_rows, host)?;
        let cursor = cursor(portal);
        cursor.produced += outcome.rows as i64;
        if outcome.finished {
            cursor.total = Some(cursor.produced);
        }
        Ok(outcome.rows as i64)
    }

    /// Begins the query once more, at the snapshot it has.
    fn run_again(&mut self, portal: &mut Portal) -> SqlResult<()> {
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

    pub(crate) fn close_cursor(&mut self, close: &ClosePortal) -> SqlResult<CommandTag> {
        match close {
            ClosePortal::All => {
                self.portals.retain(|portal| portal.cursor.is_none());
                Ok(CommandTag::Word("CLOSE CURSOR ALL"))
            }
            ClosePortal::Name(name) => {
                self.require_cursor(name)?;
                self.close_portal(name);
                Ok(CommandTag::Word("CLOSE CURSOR"))
            }
        }
    }

    /// Before a commit: cursors WITH HOLD run to their end and keep what they find.
    pub(super) fn hold_cursors(&mut self, host: &mut dyn Host) -> SqlResult<()> {
        for name in self.portals.to_hold() {
            let Some(mut portal) = self.portals.take(&name) else {
                continue;
            };
            let at = cursor(&mut portal).at;
            if cursor(&mut portal).kept.is_none() {
                let cursor = cursor(&mut portal);
                cursor.kept_from = cursor.produced;
                cursor.kept = Some(Vec::new());
            }
            self.keep_up_to(&mut portal, ALL, host)?;
            let cursor = cursor(&mut portal);
            cursor.held = true;
            cursor.at = at;
            portal.savepoint_depth = 0;
            if let Some(mut execution) = portal.execution.take() {
                execution.reset();
            }
            self.portals.put(&name, portal);
        }
        Ok(())
    }
}

impl Cursor {
    fn of_protocol(ended: bool) -> Cursor {
        Cursor {
            scroll: Scroll::Never,
            hold: false,
            binary: false,
            kept: None,
            kept_from: 0,
            produced: 0,
            total: ended.then_some(0),
            at: 0,
            held: false,
            failed: false,
        }
    }
}

fn cursor(portal: &mut Portal) -> &mut Cursor {
    portal.cursor.as_mut().expect("cursors are fetched from")
}

/// Sends rows, or counts them.
fn emit(
    session: &Session,
    portal: &Portal,
    rows: &[Vec<Datum>],
    moves: bool,
    host: &mut dyn Host,
) -> SqlResult<u64> {
    if !moves {
        host.start_rows(&portal.plan.plan.output)?;
        for row in rows {
            host.row(row, &session.state.settings.effective.format)?;
        }
    }
    Ok(rows.len() as u64)
}
