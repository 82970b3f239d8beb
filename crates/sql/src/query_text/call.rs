//! Calls: what a function is called here, and its arguments with the conversions that they have.

use mote_common::Oid;
use mote_grammar::ast::*;
use mote_types::oid;

use super::Writer;
use super::constant::node;
use crate::expr::{Expr as Bound, WindowFunction};
use crate::routine::Routine;

/// What a call gives its arguments to.
struct Callee<'c> {
    declared: &'c [Oid],
    /// From here on the arguments are elements of the last.
    variadic: Option<Oid>,
    arguments: &'c [Bound],
}

impl Writer<'_> {
    pub(super) fn function(&mut self, call: &FunctionCall, own: &Bound) -> Option<Expr> {
        let trace = self.trace;
        if call.over.is_some() {
            let window = trace.window(call)?;
            let declared = match window.function {
                WindowFunction::Window(id) => id.signature().arguments,
                WindowFunction::Aggregate(id) => id.signature().arguments,
            };
            return self.called(call, &Callee::fixed(declared, &window.arguments));
        }
        match own {
            Bound::Variable { .. } => match (trace.aggregate(call), trace.set(call)) {
                (Some(found), _) => self.called(
                    call,
                    &Callee::fixed(found.aggregate.signature().arguments, &found.arguments),
                ),
                (None, Some(set)) => self.function(call, set),
                (None, None) => None,
            },
            Bound::Call {
                function, arguments, ..
            } => {
                let signature = function.signature();
                let variadic = signature.variadic.filter(|_| !call.variadic);
                let callee = Callee {
                    declared: signature.arguments,
                    variadic,
                    arguments,
                };
                // SQL's own words are PostgreSQL's for numbers, not for patterns.
                let is_pattern =
                    signature.name == "substring" && signature.arguments == [oid::TEXT, oid::TEXT];
                if is_pattern && call.sql_syntax {
                    let plain = FunctionCall {
                        sql_syntax: false,
                        ..call.clone()
                    };
                    return self.called(&plain, &callee);
                }
                self.called(call, &callee)
            }
            Bound::Routine(found) => {
                let mut shown = self.called(call, &Callee::fixed(&[], &found.arguments))?;
                if let ExprKind::Function(call) = &mut shown.kind {
                    call.name.parts = self.routine_name(&found.routine);
                }
                Some(shown)
            }
            Bound::Sequence { arguments, .. } => self.called(call, &Callee::fixed(&[], arguments)),
            Bound::SessionValue { .. } => self.called(call, &Callee::fixed(&[], &[])),
            // A type's name in the place of a function's: PostgreSQL has a function for most of them.
            Bound::Cast { ty, .. } => match call.arguments.as_slice() {
                [only] if ty.oid == oid::TEXT => self.cast_of(&only.value, own, false),
                [only] => {
                    let value = self.expr(&only.value)?;
                    Some(node(ExprKind::Function(Box::new(FunctionCall {
                        arguments: vec![Argument { name: None, value }],
                        ..call.clone()
                    }))))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// With its schema where the bare name would find another function, or none.
    fn routine_name(&self, routine: &Routine) -> Vec<Name> {
        let types = routine.input_types();
        let found = self.catalog.routines_named(None, &routine.name);
        let first = found.iter().find(|found| found.input_types() == types);
        let name: Name = routine.name.as_str().into();
        match first.is_some_and(|first| first.oid == routine.oid) {
            true => vec![name],
            false => vec![routine.schema.as_str().into(), name],
        }
    }

    fn called(&mut self, call: &FunctionCall, callee: &Callee<'_>) -> Option<Expr> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for (position, argument) in call.arguments.iter().enumerate() {
            let value = self.argument(call, argument, position, callee)?;
            let name = argument.name.clone();
            arguments.push(Argument { name, value });
        }
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for (position, sort) in call.order_by.iter().enumerate() {
            let behind = call.arguments.len() + position;
            let value = match callee.arguments.get(behind).filter(|_| call.within_group) {
                Some(bound) => self.slot(&sort.value, bound, Oid::INVALID)?,
                None => self.expr(&sort.value)?,
            };
            order_by.push(SortBy {
                value,
                ..sort.clone()
            });
        }
        let over = match &call.over {
            Some(window) => Some(self.window(window)?),
            None => None,
        };
        Some(node(ExprKind::Function(Box::new(FunctionCall {
            arguments,
            order_by,
            filter: self.optional(call.filter.as_ref())?,
            over,
            ..call.clone()
        }))))
    }

    fn argument(
        &mut self,
        call: &FunctionCall,
        argument: &Argument,
        position: usize,
        callee: &Callee<'_>,
    ) -> Option<Expr> {
        let expr = &argument.value;
        // The field is a word, not a value; the rows of OVERLAPS are shown as they are.
        let as_written = match call.name.last() {
            "extract" => position == 0 && call.sql_syntax,
            "overlaps" => call.sql_syntax,
            _ => false,
        };
        let is_literal = matches!(
            expr.kind,
            ExprKind::Constant(Constant::String(_) | Constant::Null)
        );
        if as_written && is_literal {
            return Some(expr.clone());
        }
        if as_written || argument.name.is_some() {
            return self.expr(expr);
        }
        let from = callee.declared.len().saturating_sub(1);
        match callee.variadic {
            // An argument of any type is passed without one, if it has none.
            Some(oid::ANY) if position >= from => match is_literal {
                true => Some(expr.clone()),
                false => self.expr(expr),
            },
            Some(element) if position >= from => match callee.arguments.get(from)? {
                Bound::Array { elements, .. } => self.slot(expr, elements.get(position - from)?, element),
                _ => None,
            },
            _ => {
                let declared = callee.declared.get(position).copied().unwrap_or(Oid::INVALID);
                // Whatever takes anything is given literals as texts, and PostgreSQL says nothing of it.
                if declared == oid::ANY && is_literal {
                    return Some(expr.clone());
                }
                self.slot(expr, callee.arguments.get(position)?, declared)
            }
        }
    }
}

impl<'c> Callee<'c> {
    fn fixed(declared: &'c [Oid], arguments: &'c [Bound]) -> Callee<'c> {
        Callee {
            declared,
            variadic: None,
            arguments,
        }
    }
}
