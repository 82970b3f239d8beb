//! Window functions: definitions, frames, and the grouping of calls that share a definition.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::{ColumnType, oid};

use super::coerce::implicitly_coercible;
use super::modifier::spelled_out;
use super::query::BoundWindow;
use super::scope::Clause;
use super::{Binder, type_label};
use crate::builtin::cast::CastUse;
use crate::builtin::function::{AggregateId, WindowId};
use crate::expr::same_list;
use crate::expr::{
    Expr, FrameBound, FrameExclusion, FrameMode, SortKey, WindowCall, WindowFrame, WindowFunction,
};
use mote_grammar::ast;

impl Binder<'_> {
    pub(super) fn window_aggregate(
        &mut self,
        call: &ast::FunctionCall,
        aggregate: AggregateId,
        arguments: Vec<Expr>,
        ty: ColumnType,
    ) -> SqlResult<Expr> {
        if call.distinct {
            return Err(self.error(
                state::FEATURE_NOT_SUPPORTED,
                call.location,
                "DISTINCT is not implemented for window functions",
            ));
        }
        if !call.order_by.is_empty() {
            return Err(self.error(
                state::FEATURE_NOT_SUPPORTED,
                call.location,
                "aggregate ORDER BY is not implemented for window functions",
            ));
        }
        let arguments = match ty.oid {
            oid::BPCHAR => arguments
                .into_iter()
                .map(|value| spelled_out(value, call.location))
                .collect(),
            _ => arguments,
        };
        self.window_call(call, WindowFunction::Aggregate(aggregate), arguments, ty)
    }

    pub(super) fn window_function(
        &mut self,
        call: &ast::FunctionCall,
        function: WindowId,
        arguments: Vec<Expr>,
        ty: ColumnType,
    ) -> SqlResult<Expr> {
        if call.over.is_none() {
            let message = format!("window function {} requires an OVER clause", call.name.last());
            return Err(self.error(state::WRONG_OBJECT_TYPE, call.location, message));
        }
        if call.filter.is_some() {
            return Err(self.error(
                state::FEATURE_NOT_SUPPORTED,
                call.location,
                "FILTER is not implemented for non-aggregate window functions",
            ));
        }
        self.window_call(call, WindowFunction::Window(function), arguments, ty)
    }

    fn window_call(
        &mut self,
        call: &ast::FunctionCall,
        function: WindowFunction,
        arguments: Vec<Expr>,
        ty: ColumnType,
    ) -> SqlResult<Expr> {
        let location = call.location;
        let Some(level) = self.levels.last() else {
            let message = "window functions are not allowed in this context";
            return Err(self.error(state::WINDOWING_ERROR, location, message));
        };
        if level.in_aggregate {
            let message = "aggregate function calls cannot contain window function calls";
            return Err(self.error(state::GROUPING_ERROR, location, message));
        }
        if level.in_window {
            let message = "window function calls cannot be nested";
            return Err(self.error(state::WINDOWING_ERROR, location, message));
        }
        let clause = level.clause;
        if !clause.allows_windows() {
            let message = format!("window functions are not allowed in {}", clause.name());
            return Err(self.error(state::WINDOWING_ERROR, location, message));
        }
        let filter = match &call.filter {
            Some(filter) => Some(self.in_clause(Clause::Filter, |this| this.condition(filter, "FILTER"))?),
            None => None,
        };
        let specification = call
            .over
            .as_ref()
            .ok_or_else(|| SqlError::internal("a window call has OVER"))?;
        let specification = self.complete_window(specification)?;
        let (partition_by, order_by) =
            self.in_clause(Clause::Window, |this| this.window_keys(&specification))?;
        let frame = self.in_clause(Clause::Window, |this| {
            this.window_frame(&specification, &order_by)
        })?;
        let new = WindowCall {
            function,
            arguments,
            filter,
            frame,
            ty,
        };
        self.trace_window(location, &new);
        let same = self.level().windows.iter().position(|window| {
            same_list(&window.partition_by, &partition_by) && same_order(&window.order_by, &order_by)
        });
        let position = match same {
            Some(position) => position,
            None => {
                let item = self.computed_item()?;
                let window = BoundWindow {
                    item,
                    partition_by,
                    order_by,
                    calls: Vec::new(),
                };
                self.level().windows.push(window);
                self.level().windows.len() - 1
            }
        };
        let window = &mut self.level().windows[position];
        window.calls.push(new);
        let column = window.calls.len() - 1;
        Ok(Expr::Variable {
            relation: window.item,
            column: column as u16,
            ty,
            location: location.0,
        })
    }

    /// Merges a named window into the specification that refers to it.
    fn complete_window(
        &mut self,
        specification: &ast::WindowSpecification,
    ) -> SqlResult<ast::WindowSpecification> {
        let Some(base) = &specification.base else {
            return Ok(specification.clone());
        };
        let (name, refined) = match base {
            ast::WindowBase::Same(name) => (name, false),
            ast::WindowBase::Refined(name) => (name, true),
        };
        let named = self.level().named_windows.iter().find(|window| window.0 == *name);
        let Some((_, parent)) = named.cloned() else {
            let message = format!("window \"{name}\" does not exist");
            return Err(self.error(state::UNDEFINED_OBJECT, specification.location, message));
        };
        let parent = self.complete_window(&parent)?;
        if !refined {
            return Ok(parent);
        }
        let complaint = if !specification.partition_by.is_empty() {
            Some(format!(
                "cannot override PARTITION BY clause of window \"{name}\""
            ))
        } else if !specification.order_by.is_empty() && !parent.order_by.is_empty() {
            Some(format!("cannot override ORDER BY clause of window \"{name}\""))
        } else if parent.frame.is_some() {
            Some(format!(
                "cannot copy window \"{name}\" because it has a frame clause"
            ))
        } else {
            None
        };
        if let Some(message) = complaint {
            return Err(self.error(state::WINDOWING_ERROR, specification.location, message));
        }
        let order_by = match specification.order_by.is_empty() {
            true => parent.order_by,
            false => specification.order_by.clone(),
        };
        Ok(ast::WindowSpecification {
            base: None,
            partition_by: parent.partition_by,
            order_by,
            frame: specification.frame.clone(),
            location: specification.location,
        })
    }

    fn window_keys(
        &mut self,
        specification: &ast::WindowSpecification,
    ) -> SqlResult<(Vec<Expr>, Vec<SortKey>)> {
        let mut partition_by = Vec::with_capacity(specification.partition_by.len());
        for expr in &specification.partition_by {
            partition_by.push(self.settled(expr)?);
        }
        let mut order_by = Vec::with_capacity(specification.order_by.len());
        for sort in &specification.order_by {
            let expr = self.settled(&sort.value)?;
            order_by.push(self.sort_key(expr, sort)?);
        }
        Ok((partition_by, order_by))
    }

    fn window_frame(
        &mut self,
        specification: &ast::WindowSpecification,
        order_by: &[SortKey],
    ) -> SqlResult<WindowFrame> {
        let Some(frame) = &specification.frame else {
            return Ok(WindowFrame {
                mode: FrameMode::Range,
                start: FrameBound::UnboundedPreceding,
                end: FrameBound::CurrentRow,
                exclude: FrameExclusion::NoOthers,
            });
        };
        let mode = match frame.unit {
            ast::FrameUnit::Rows => FrameMode::Rows,
            ast::FrameUnit::Range => FrameMode::Range,
            ast::FrameUnit::Groups => FrameMode::Groups,
        };
        let exclude = match frame.exclude {
            ast::FrameExclusion::None => FrameExclusion::NoOthers,
            ast::FrameExclusion::CurrentRow => FrameExclusion::CurrentRow,
            ast::FrameExclusion::Group => FrameExclusion::Group,
            ast::FrameExclusion::Ties => FrameExclusion::Ties,
        };
        if mode == FrameMode::Groups && order_by.is_empty() {
            let message = "GROUPS mode requires an ORDER BY clause";
            return Err(self.error(state::WINDOWING_ERROR, specification.location, message));
        }
        let start = self.frame_bound(&frame.start, mode, order_by, specification.location)?;
        let end = self.frame_bound(&frame.end, mode, order_by, specification.location)?;
        Ok(WindowFrame {
            mode,
            start,
            end,
            exclude,
        })
    }

    /// Converts the offset of a RANGE frame to what keys of the type can be moved by.
    fn range_offset(&mut self, value: Expr, key: ColumnType, location: ast::Location) -> SqlResult<Expr> {
        let offsets: &[Oid] = match key.oid {
            oid::INT2 | oid::INT4 => &[oid::INT8, oid::INT2, oid::INT4],
            oid::INT8 => &[oid::INT8],
            oid::FLOAT4 | oid::FLOAT8 => &[oid::FLOAT8],
            oid::NUMERIC => &[oid::NUMERIC],
            oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::TIME | oid::INTERVAL => &[oid::INTERVAL],
            _ => &[],
        };
        let found = self.type_of(&value).oid;
        let preferred = if found == oid::UNKNOWN { key.oid } else { found };
        let mut fitting = offsets
            .iter()
            .filter(|offset| implicitly_coercible(found, **offset, self.catalog));
        let chosen = match fitting.clone().find(|offset| **offset == preferred) {
            None => fitting.next(),
            preferred => preferred,
        };
        if let Some(chosen) = chosen
            && let Some(value) =
                self.try_coerce(value, ColumnType::new(*chosen), CastUse::Implicit, location)?
        {
            return Ok(value);
        }
        let clause = "RANGE with offset PRECEDING/FOLLOWING is not supported for column type";
        // Keys of type varchar are ordered as text.
        let key = if key.oid == oid::VARCHAR {
            oid::TEXT
        } else {
            key.oid
        };
        let key = type_label(key);
        if offsets.is_empty() {
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, location, format!("{clause} {key}")));
        }
        let message = format!("{clause} {key} and offset type {}", type_label(found));
        Err(self
            .error(state::FEATURE_NOT_SUPPORTED, location, message)
            .hint("Cast the offset value to an appropriate type."))
    }

    fn frame_bound(
        &mut self,
        bound: &ast::FrameBound,
        mode: FrameMode,
        order_by: &[SortKey],
        location: ast::Location,
    ) -> SqlResult<FrameBound> {
        let (expr, preceding) = match bound {
            ast::FrameBound::UnboundedPreceding => return Ok(FrameBound::UnboundedPreceding),
            ast::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::FrameBound::UnboundedFollowing => return Ok(FrameBound::UnboundedFollowing),
            ast::FrameBound::Preceding(expr) => (expr, true),
            ast::FrameBound::Following(expr) => (expr, false),
        };
        let value = self.expression(expr)?;
        let value = if mode == FrameMode::Range {
            let [key] = order_by else {
                let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
                return Err(self.error(state::WINDOWING_ERROR, location, message));
            };
            self.range_offset(value, key.expr.ty(), expr.location)?
        } else {
            let word = if mode == FrameMode::Rows { "ROWS" } else { "GROUPS" };
            self.coerce_count(value, word, expr.location)?
        };
        let has_columns = value.any(&mut |expr| matches!(expr, Expr::Variable { .. }));
        if has_columns {
            let word = if mode == FrameMode::Rows { "ROWS" } else { "RANGE" };
            let message = format!("argument of {word} must not contain variables");
            return Err(self.error(state::INVALID_COLUMN_REFERENCE, expr.location, message));
        }
        let value = Box::new(value);
        Ok(if preceding {
            FrameBound::Preceding(value)
        } else {
            FrameBound::Following(value)
        })
    }
}

fn same_order(left: &[SortKey], right: &[SortKey]) -> bool {
    let same = |(a, b): (&SortKey, &SortKey)| {
        a.descending == b.descending && a.nulls_first == b.nulls_first && a.expr.same(&b.expr)
    };
    left.len() == right.len() && left.iter().zip(right).all(same)
}
