//! Literals with their types: ruleutils.c's get_const_expr.

use mote_grammar::ast;
use mote_grammar::ast::{Constant, Expr, ExprKind, Location, Statement, TypeName};
use mote_types::{ColumnType, Datum, FormatSettings, format, oid};

pub(super) fn node(kind: ExprKind) -> Expr {
    Expr {
        kind,
        location: Location::NONE,
    }
}

/// The type's name as a tree.
pub(super) fn type_name(ty: ColumnType) -> Option<TypeName> {
    // What the name consists of is the grammar's to say.
    let parsed = mote_grammar::parser::parse(&format!("SELECT NULL::{}", ty.name())).ok()?;
    let Statement::Query(query) = parsed.into_iter().next()?.statement else {
        return None;
    };
    let ast::QueryBody::Select(select) = query.body else {
        return None;
    };
    match select.targets.into_iter().next()?.value.kind {
        ExprKind::Cast { target, .. } => Some(target),
        _ => None,
    }
}

pub(super) fn cast(operand: Expr, ty: ColumnType) -> Option<Expr> {
    Some(node(ExprKind::Cast {
        operand: Box::new(operand),
        target: type_name(ty)?,
    }))
}

/// A text that is read as a value of the type.
pub(super) fn typed(text: &str, ty: ColumnType) -> Option<Expr> {
    cast(node(ExprKind::Constant(Constant::String(text.into()))), ty)
}

/// A value with its type, where its form does not say it.
pub(super) fn constant(value: &Datum, ty: ColumnType) -> Option<Expr> {
    if value.is_null() {
        return cast(node(ExprKind::Constant(Constant::Null)), ty);
    }
    let text = format::output_to_string(value, ColumnType::new(ty.oid), &FormatSettings::default());
    let is_fraction = text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    Some(match value {
        Datum::Bool(value) => node(ExprKind::Constant(Constant::Boolean(*value))),
        Datum::Int4(value) if ty.oid == oid::INT4 && *value >= 0 => {
            node(ExprKind::Constant(Constant::Integer(*value)))
        }
        _ if ty.oid == oid::NUMERIC && is_fraction => node(ExprKind::Constant(Constant::Number(text.into()))),
        _ => return typed(&text, ty),
    })
}
