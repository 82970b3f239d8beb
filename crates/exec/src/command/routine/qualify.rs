//! Schemas for calls of users' functions in texts that are kept: they must mean the same under any search path.
//!
//! Leaves out: a name that built-in functions bear as well, which stays as it was written.

use mote_sql::ast::{Expr, ExprKind};
use mote_sql::catalog::CatalogView;
use mote_sql::catalog::function::callables_named;

use super::super::rewrite;
use crate::catalog_store::SessionCatalog;

/// Gives a call the schema in which its function is found now.
pub(in super::super) fn qualify_call(expr: &mut Expr, catalog: &SessionCatalog) {
    let ExprKind::Function(call) = &mut expr.kind else {
        return;
    };
    let [name] = call.name.parts.as_slice() else {
        return;
    };
    if !callables_named(name).is_empty() {
        return;
    }
    if let Some(found) = catalog.routines_named(None, name).first() {
        call.name.parts.insert(0, found.schema.as_str().into());
    }
}

/// The same for all calls in an expression.
pub(in super::super) struct Calls<'a> {
    pub catalog: &'a SessionCatalog,
}

impl rewrite::Names for Calls<'_> {
    fn expression(&mut self, expr: &mut Expr) {
        qualify_call(expr, self.catalog);
    }
}

/// An expression as it is kept.
pub(in super::super) fn kept_text(expr: &Expr, catalog: &SessionCatalog) -> String {
    let mut expr = expr.clone();
    rewrite::expression(&mut expr, &mut Calls { catalog });
    mote_sql::ast::deparse::expression(&expr)
}
