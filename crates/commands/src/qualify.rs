//! Schemas for calls of users' functions and names of their types in texts that are kept: they must mean the same under any search path.
//!
//! Leaves out: a name that built-in functions bear as well, which stays as it was written.

use mote_grammar::ast::{Constant, Expr, ExprKind, TypeName};
use mote_grammar::rewrite;
use mote_sql::builtin::function::callables_named;
use mote_sql::catalog::CatalogView;
use mote_types::type_by_name;

use mote_catalog::catalog_store::SessionCatalog;
use mote_catalog::views::object_text;

/// Gives a call or a cast the schema in which its function or type is found now.
pub(crate) fn qualify_call(expr: &mut Expr, catalog: &SessionCatalog) {
    if let ExprKind::Cast { operand, target } = &mut expr.kind {
        if let ExprKind::Constant(Constant::String(text)) = &mut operand.kind {
            object_text::complete(text, target, catalog);
        }
        return qualify_type(target, catalog);
    }
    let ExprKind::Function(call) = &mut expr.kind else {
        return;
    };
    let [name] = call.name.parts.as_slice() else {
        return;
    };
    let callables = callables_named(name);
    let mut types = callables.iter().map(|callable| callable.extension_type());
    if let Some(Some(ty)) = types.next()
        && types.all(|other| other == Some(ty))
        && catalog.has_extension_type(ty, None)
        && let Some(found) = catalog.user_type(ty)
    {
        // All of the name are an extension's.
        call.name.parts.insert(0, found.schema.as_str().into());
        return;
    }
    if !callables.is_empty() {
        return;
    }
    if let Some(found) = catalog.routines_named(None, name).first() {
        call.name.parts.insert(0, found.schema.as_str().into());
    }
}

fn qualify_type(target: &mut TypeName, catalog: &SessionCatalog) {
    let [name] = target.name.parts.as_slice() else {
        return;
    };
    if target.percent_type || type_by_name(name).is_some() {
        return;
    }
    if let Some(found) = catalog.user_type_named(None, name) {
        target.name.parts.insert(0, found.schema.as_str().into());
    }
}

/// The same for all calls and casts in an expression.
pub(crate) struct Calls<'a> {
    pub catalog: &'a SessionCatalog,
}

impl rewrite::Names for Calls<'_> {
    fn expression(&mut self, expr: &mut Expr) {
        qualify_call(expr, self.catalog);
    }
}

/// An expression as it is kept.
pub(crate) fn kept_text(expr: &Expr, catalog: &SessionCatalog) -> String {
    let mut expr = expr.clone();
    rewrite::expression(&mut expr, &mut Calls { catalog });
    mote_grammar::ast::deparse::expression(&expr)
}
