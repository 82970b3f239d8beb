//! Cursors of a body: portals of the session, so that a client can fetch from what a function opened.
//!
//! A cursor variable holds nothing but the portal's name. PostgreSQL: exec_stmt_open, exec_stmt_fetch,
//! exec_stmt_close (`pl_exec.c`).

use mote_commands::routine::Holdings;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{Fetch, FetchDirection};
use mote_types::{ColumnType, Datum, RowType};

use super::frame::{Frame, NULL_NOT_ALLOWED};
use super::query::{check_returns_rows, failed};
use crate::code::expression::{Expression, row_type};
use crate::code::*;
use crate::compile::REFCURSOR;
use mote_commands::routine::fetch_from;
use mote_commands::routine::nested;
use mote_executor::context::StatementContext;
use mote_portals::collect;

/// A loop reads from this cursor from now on.
pub fn pin(name: &str, context: &mut StatementContext<'_>) {
    let portal = Holdings::of(context.calls).portals.get_mut(name);
    if let Some(cursor) = portal.and_then(|portal| portal.cursor.as_mut()) {
        cursor.pinned = true;
    }
}

impl<'c> Frame<'c> {
    /// OPEN. The name must be free: unlike a client's Bind it never replaces a portal.
    pub fn open(
        &mut self,
        cursor: VariableId,
        how: &'c Open,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        match how {
            Open::Bound(arguments) => self.open_bound(cursor, arguments.as_ref(), context).map(|_| ()),
            Open::Query { scroll, query } => {
                let name = self.new_cursor_name(cursor, context)?;
                self.open_portal(&name, query, *scroll, context)
            }
        }
    }

    /// Opens a bound cursor; answers with its name.
    pub fn open_bound(
        &mut self,
        cursor: VariableId,
        arguments: Option<&'c Expression>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<String> {
        let variable = self.variable(cursor);
        let definition = variable
            .cursor
            .as_deref()
            .ok_or_else(|| SqlError::internal("an unbound cursor was opened as a bound one"))?;
        // PostgreSQL, too, looks at the name before it computes arguments.
        let name = self.new_cursor_name(cursor, context)?;
        if let Some(arguments) = arguments {
            self.assign_cursor_arguments(definition, arguments, context)?;
        }
        self.open_static(&name, &definition.query, definition.scroll, context)?;
        Ok(name)
    }

    /// The values of a bound cursor's arguments, as one row.
    fn assign_cursor_arguments(
        &mut self,
        definition: &'c CursorDefinition,
        arguments: &'c Expression,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let kept = self.take_kept(arguments, context)?;
        let mut values = Vec::new();
        // One query of all arguments: they are computed before the first one is assigned.
        self.run_kept(&kept, 1, context, &mut |_, row| {
            values = row.to_vec();
            Ok(())
        })
        .map_err(|error| arguments.failed(error))?;
        let types = kept.planned.plan.plan.output.iter().map(|column| column.ty);
        for ((&id, value), ty) in definition.parameters.iter().zip(values).zip(types) {
            self.assign_variable(id, value, ty, context)?;
        }
        self.keep(arguments, kept);
        Ok(())
    }

    fn open_portal(
        &mut self,
        name: &str,
        query: &'c Query,
        scroll: Option<bool>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        match query {
            Query::Static(query) => self.open_static(name, query, scroll, context),
            Query::Dynamic { text, using } => {
                let computed = self.only_statement(text, using, context)?;
                // Planned ahead of opening: what yields no rows is refused in the words for cursors.
                let plan = computed.statement.plan(context);
                let plan = plan.map_err(|error| failed(&computed.text, error))?;
                check_returns_rows(&computed.statement, &plan, context)?;
                let portal = nested::open_portal(
                    &computed.statement,
                    computed.parameters,
                    self.volatile,
                    scroll,
                    context,
                );
                let portal = portal.map_err(|error| failed(&computed.text, error))?;
                Holdings::of(context.calls).portals.put(name, portal);
                Ok(())
            }
        }
    }

    /// Opens a query of the body as a portal. Its parameters are copies: later assignments do not change the query.
    fn open_static(
        &mut self,
        name: &str,
        query: &'c Expression,
        scroll: Option<bool>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let planned = self.planned(query, context)?;
        check_returns_rows(&planned.statement, &planned.plan, context)?;
        let parameters = self.parameters(&planned);
        let portal = nested::open_portal(&planned.statement, parameters, self.volatile, scroll, context);
        let portal = portal.map_err(|error| query.failed(error))?;
        Holdings::of(context.calls).portals.put(name, portal);
        Ok(())
    }

    /// The name that a cursor variable holds, or a new one; nothing may be open under it.
    fn new_cursor_name(
        &mut self,
        cursor: VariableId,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<String> {
        let name = match self.value(cursor).as_str() {
            Some(name) => name.to_string(),
            None => {
                let name = Holdings::of(context.calls).portals.new_name();
                self.assign_variable(cursor, Datum::from(name.as_str()), REFCURSOR, context)?;
                name
            }
        };
        if Holdings::of(context.calls).portals.contains(&name) {
            let message = format!("cursor \"{name}\" already in use");
            return Err(SqlError::new(state::DUPLICATE_CURSOR, message));
        }
        Ok(name)
    }

    /// The portal that a cursor variable stands for; NULL before it is opened.
    fn cursor_name(&self, cursor: VariableId) -> SqlResult<String> {
        match self.value(cursor).as_str() {
            Some(name) => Ok(name.to_string()),
            None => {
                let message = format!("cursor variable \"{}\" is null", self.variable(cursor).name);
                Err(SqlError::new(NULL_NOT_ALLOWED, message))
            }
        }
    }

    /// FETCH and MOVE. ROW_COUNT and FOUND tell how far it went.
    pub fn fetch(
        &mut self,
        cursor: VariableId,
        direction: &'c Direction,
        into: Option<&'c Destination>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let name = self.cursor_name(cursor)?;
        // Before the direction is computed; `fetch_from` asks again, since the expression may have closed the cursor.
        Holdings::seen(context.calls).require_cursor(&name)?;
        let (direction, count) = self.direction(direction, context)?;
        let fetch = Fetch {
            direction,
            count,
            cursor: name.as_str().into(),
            moves: into.is_none(),
        };
        let mut moved = 0;
        // FETCH of a body takes one row into its targets: the portal's rows go to a host that keeps them.
        let room = context.session.settings.effective.work_mem_bytes;
        let mut rows = collect(context, true, room, |context| {
            moved = fetch_from(&fetch, context)?;
            Ok(())
        })?;
        self.row_count = moved;
        self.set_found(moved > 0);
        let Some(into) = into else {
            return Ok(());
        };
        // Also without a row: a record gets the structure of the cursor's rows.
        let ty = self.cursor_row(&name, context)?;
        let row = (!rows.is_empty()).then(|| rows.swap_remove(0));
        self.assign_row(&into.targets, row, &ty, context)
    }

    /// The structure of a cursor's rows.
    fn cursor_row(&self, name: &str, context: &StatementContext<'_>) -> SqlResult<Arc<RowType>> {
        Holdings::seen(context.calls).require_cursor(name)?;
        let portal = Holdings::seen(context.calls).portals.get(name);
        Ok(portal.map_or_else(Arc::default, |portal| row_type(&portal.plan.plan.output)))
    }

    /// Direction and count in the terms of SQL's FETCH.
    fn direction(
        &mut self,
        direction: &'c Direction,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<(FetchDirection, i64)> {
        Ok(match direction {
            Direction::Forward(count) => (FetchDirection::Forward, self.count_of(count, context)?),
            Direction::Backward(count) => (FetchDirection::Backward, self.count_of(count, context)?),
            Direction::Absolute(place) => (FetchDirection::Absolute, self.place_in(place, context)?),
            Direction::Relative(place) => (FetchDirection::Relative, self.place_in(place, context)?),
            Direction::First => (FetchDirection::Absolute, 1),
            Direction::Last => (FetchDirection::Absolute, -1),
        })
    }

    fn count_of(&mut self, count: &'c Count, context: &mut StatementContext<'_>) -> SqlResult<i64> {
        match count {
            Count::One => Ok(1),
            // FETCH counts in 64 bits; so many rows there are not.
            Count::All => Ok(i64::MAX),
            Count::Computed(count) => self.place_in(count, context),
        }
    }

    fn place_in(&mut self, place: &'c Expression, context: &mut StatementContext<'_>) -> SqlResult<i64> {
        let value = self.evaluate_as(place, ColumnType::INT4, context)?;
        value
            .as_i64()
            .ok_or_else(|| SqlError::new(NULL_NOT_ALLOWED, "relative or absolute cursor position is null"))
    }

    /// The next row of an open cursor, and what its rows are.
    pub fn fetch_one(
        &mut self,
        name: &str,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<(Option<Vec<Datum>>, Arc<RowType>)> {
        let fetch = Fetch {
            direction: FetchDirection::Forward,
            count: 1,
            cursor: name.into(),
            moves: false,
        };
        let ty = self.cursor_row(name, context)?;
        let room = context.session.settings.effective.work_mem_bytes;
        let rows = collect(context, true, room, |context| fetch_from(&fetch, context))?;
        Ok((rows.into_iter().next(), ty))
    }

    pub fn close(&mut self, cursor: VariableId, context: &mut StatementContext<'_>) -> SqlResult<()> {
        let name = self.cursor_name(cursor)?;
        self.close_named(&name, context)
    }

    /// Closes a cursor; 34000 if nothing is open under the name.
    pub fn close_named(&mut self, name: &str, context: &mut StatementContext<'_>) -> SqlResult<()> {
        Holdings::seen(context.calls).require_cursor(name)?;
        Holdings::of(context.calls).portals.take(name);
        Ok(())
    }
}
