//! Where a view's columns come from.

use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast;

use super::Binder;
use crate::catalog::{CatalogView, Relation};

/// By column of a view: relation and attribute number of what it shows, zero where it is computed. A view that it reads
/// stands for itself. Binding recurses: callers see to a stack that suits it.
pub fn view_origins(view: &Relation, catalog: &dyn CatalogView) -> SqlResult<Vec<(Oid, i16)>> {
    let missing = || SqlError::internal(format!("view \"{}\" has no query", view.name));
    let parsed = mote_grammar::parser::parse(view.view_query.as_deref().ok_or_else(missing)?)?;
    let Some(ast::Statement::Query(query)) = parsed.first().map(|parsed| &parsed.statement) else {
        return Err(missing());
    };
    let mut binder = Binder::new(catalog, "", &[]);
    binder.check_as = view.owner;
    let bound = binder.query(query)?;
    Ok(bound.targets.iter().map(|target| target.origin).collect())
}
