//! Cursors of SQL: DECLARE, FETCH and MOVE, CLOSE, and what a commit does to them. How they move stands in `mote_portals::cursor`.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{ClosePortal, DeclareCursor, Fetch, ParsedStatement};
use mote_planner::plan::{OutputColumn, PlanBody, QueryPlan};

use super::Session;
use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_commands::routine::fetch_from;
use mote_executor::context::UtilityParameters;
use mote_executor::memory;
use mote_portals::{Cursor, Portal, PortalState, ResultFormats, cursor, modifies};

/// What a cursor takes beside its statement: itself, and its query's operators.
const PORTAL_BYTES: usize = 4 << 10;

/// FOR UPDATE only goes with cursors that move forward within their transaction, as in PostgreSQL
/// (transformDeclareCursorStmt).
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
        // Without a block the transaction ends with the statement, and a cursor that is not held with it.
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
            warnings: Vec::new(),
        };
        // DECLARE in the extended protocol: Bind's parameters are those of the query.
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
        let mut portal = Portal::new(prepared.clone(), plan.clone(), values, self.state.savepoint_depth);
        portal.made_us = self.state.statement_start_us;
        let bytes = PORTAL_BYTES + portal.prepared.bytes;
        // Given back when the portal is dropped.
        portal.charge = Some(memory::charge(&self.state.memory, bytes, "a cursor")?);
        let made = Cursor::new(declare.scroll, declare.hold, declare.binary, query);
        portal.cursor = Some(Box::new(made));
        // BINARY decides for all columns.
        portal.result_formats = if declare.binary {
            ResultFormats::BINARY
        } else {
            ResultFormats::TEXT
        };
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

    /// FETCH and MOVE: the rows go to the client as rows of this statement.
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
        self.holdings.require_cursor(name)?;
        // Out of the session while its query starts, which may run functions that look at portals.
        let mut portal = self.holdings.portals.take(name).expect("looked up above");
        let fresh =
            portal.cursor.is_none() && portal.execution.is_none() && portal.state == PortalState::Ready;
        let started = match &portal.plan.plan.body {
            // A cursor has begun with DECLARE or OPEN, a suspended portal with Execute.
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
        self.ensure_transaction()?;
        let mut context = self.context(host);
        let rows = cursor::execute(portal, max_rows, &mut context);
        context.transaction.end_statement();
        rows
    }

    pub(crate) fn close_cursor(&mut self, close: &ClosePortal) -> SqlResult<CommandTag> {
        match close {
            ClosePortal::All => {
                // Portals of the protocol that were bound and not declared stay, unlike in PostgreSQL, whose CLOSE
                // ALL takes all.
                self.holdings.portals.retain(|portal| portal.cursor.is_none());
                Ok(CommandTag::Word("CLOSE CURSOR ALL"))
            }
            ClosePortal::Name(name) => {
                self.holdings.require_cursor(name)?;
                self.close_portal(name);
                Ok(CommandTag::Word("CLOSE CURSOR"))
            }
        }
    }

    /// Before a commit: cursors WITH HOLD run to their end and keep what they find. `pinned`: those that loops read from.
    pub(super) fn hold_cursors(&mut self, pinned: bool, host: &mut dyn Host) -> SqlResult<()> {
        // One after the other: running a query to its end may call functions that open others.
        for name in self.holdings.portals.to_hold(pinned) {
            let Some(mut portal) = self.holdings.portals.take(&name) else {
                continue;
            };
            // PostgreSQL refuses it in HoldPinnedPortals.
            if pinned && modifies(portal.plan.query()?) {
                return Err(cursor::loop_writes());
            }
            cursor::hold(&mut portal, &mut self.context(host))?;
            self.holdings.portals.put(&name, portal);
        }
        Ok(())
    }
}
