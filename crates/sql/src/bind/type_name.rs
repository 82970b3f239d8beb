//! Types by name: what stands behind `::`, in column definitions, in CREATE FUNCTION.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::catalog::user::{is_composite, is_domain, is_user_type, type_of_stored_name, user_range_of};
use mote_types::catalog::{typmod_from_args, unsupported_type_name, unsupported_type_number};
use mote_types::{ColumnType, format_type, oid, type_by_catalog_name};

use super::Binder;
use crate::access::Dependency;
use crate::catalog::CatalogView;
use crate::catalog::array_names::element_of_array_named;
use mote_grammar::ast;
use mote_grammar::ast::{ExprKind, TypeName};

impl Binder<'_> {
    /// What a cast names: the type of the values, and the domain if it is one.
    pub(super) fn declared_type(&mut self, name: &TypeName) -> SqlResult<(ColumnType, Option<Oid>)> {
        let resolved = resolve_declared_type(name, self.catalog);
        let (ty, domain) = resolved.map_err(|error| error.at(self.position(name.location)))?;
        self.refuse_domains_within(ty.element().unwrap_or(ty).oid)?;
        self.depend_on_type(ty);
        Ok((ty, domain))
    }

    pub(super) fn type_name(&mut self, name: &TypeName) -> SqlResult<ColumnType> {
        let resolved = resolve_type_name(name, self.catalog);
        let ty = resolved.map_err(|error| error.at(self.position(name.location)))?;
        self.depend_on_type(ty);
        Ok(ty)
    }

    /// A type of users may be dropped, or have other labels, while the plan is kept.
    pub(super) fn depend_on_type(&mut self, ty: ColumnType) {
        let ty = ty.element().unwrap_or(ty).oid;
        if !is_user_type(ty) || self.dependencies.iter().any(|known| known.object == ty) {
            return;
        }
        if let Some(version) = self.catalog.version_of(ty) {
            let dependency = Dependency { object: ty, version };
            self.dependencies.push(dependency);
        }
        if let Some(row) = self.catalog.row_type(ty) {
            row.types
                .iter()
                .for_each(|attribute| self.depend_on_type(*attribute));
        }
        let range = user_range_of(ty).unwrap_or(ty);
        if range != ty {
            self.depend_on_type(ColumnType::new(range));
        }
        if let Some(subtype) = self.catalog.user_type(range).and_then(|range| range.subtype) {
            self.depend_on_type(ColumnType::new(subtype));
        }
    }
}

/// The type a name stands for, where nothing can be declared to be of a domain.
pub fn resolve_type_name(name: &TypeName, catalog: &dyn CatalogView) -> SqlResult<ColumnType> {
    match resolve_declared_type(name, catalog)? {
        (ty, None) => Ok(ty),
        (_, Some(domain)) => Err(SqlError::unsupported(format_args!(
            "domain {} in this place",
            format_type(domain, -1)
        ))),
    }
}

/// The type of the values that a name stands for, and the domain if it is the name of one.
pub fn resolve_declared_type(
    name: &TypeName,
    catalog: &dyn CatalogView,
) -> SqlResult<(ColumnType, Option<Oid>)> {
    let named = resolve_name(name, catalog)?;
    if !is_domain(named.oid) {
        return Ok((named, None));
    }
    if !name.array_bounds.is_empty() {
        return Err(SqlError::unsupported("arrays of domains"));
    }
    let found = catalog.user_type(named.oid);
    let described = found.as_ref().and_then(|found| found.domain.as_ref());
    let described = described.ok_or_else(|| SqlError::internal("a domain has a base type"))?;
    Ok((described.base, Some(named.oid)))
}

/// The type of this name, which may be a domain.
fn resolve_name(name: &TypeName, catalog: &dyn CatalogView) -> SqlResult<ColumnType> {
    if name.set_of {
        return Err(SqlError::unsupported("SETOF"));
    }
    if name.percent_type {
        return column_type(name, catalog);
    }
    let array = if name.array_bounds.is_empty() { "" } else { "[]" };
    let written = format!("{}{array}", name.name.parts.join("."));
    let known_schema = matches!(name.name.qualifier(), None | Some("pg_catalog"));
    let bare = name.name.last();
    // The grammar has turned keyword types into catalog names; what is still `char` was quoted.
    let found = match bare {
        _ if !known_schema => None,
        "char" => Some(oid::CHAR),
        _ => type_by_catalog_name(bare),
    };
    let found = found.or_else(|| user_type(name.name.qualifier(), bare, catalog));
    if found.is_none() && known_schema && unsupported_type_name(bare) {
        return Err(SqlError::unsupported(format_args!("type {bare}")));
    }
    let Some(base) = found else {
        return Err(match name.name.qualifier() {
            Some(schema) if !catalog.schema_exists(schema) => SqlError::new(
                state::INVALID_SCHEMA_NAME,
                format!("schema \"{schema}\" does not exist"),
            ),
            _ => no_such_type(&written),
        });
    };
    let mut arguments = Vec::with_capacity(name.modifiers.len());
    for modifier in &name.modifiers {
        match &modifier.kind {
            ExprKind::Constant(ast::Constant::Integer(value)) => arguments.push(*value),
            ExprKind::Operator {
                name,
                left: None,
                right,
            } if &*name.name == "-" => match &right.kind {
                ExprKind::Constant(ast::Constant::Integer(value)) => arguments.push(-*value),
                _ => return Err(bad_modifier()),
            },
            _ => return Err(bad_modifier()),
        }
    }
    let typmod = if arguments.is_empty() {
        -1
    } else {
        typmod_from_args(base, &arguments)?
    };
    let ty = ColumnType::with_typmod(base, typmod);
    if name.array_bounds.is_empty() || is_domain(base) {
        return Ok(ty);
    }
    ty.array_of().ok_or_else(|| no_such_type(&written))
}

fn no_such_type(written: &str) -> SqlError {
    SqlError::new(
        state::UNDEFINED_OBJECT,
        format!("type \"{written}\" does not exist"),
    )
}

/// A type that a user made, the array over one (`_name`), or one that a stored definition names by its OID.
fn user_type(schema: Option<&str>, name: &str, catalog: &dyn CatalogView) -> Option<Oid> {
    if let Some(found) = named_type(schema, name, catalog) {
        return Some(found);
    }
    if let Some(element) = array_element(schema, name, catalog) {
        return ColumnType::new(element).array_of().map(|array| array.oid);
    }
    type_of_stored_name(name).filter(|_| schema.is_none())
}

/// The type of a user over which the array type of this name is: of one schema, or the first along the search path.
pub fn array_element(schema: Option<&str>, name: &str, catalog: &dyn CatalogView) -> Option<Oid> {
    if !name.starts_with('_') {
        return None;
    }
    let in_schema =
        |schema: &str| element_of_array_named(name, |name| named_type(Some(schema), name, catalog));
    match schema {
        Some(schema) => in_schema(schema),
        None => catalog.search_path().iter().find_map(|schema| in_schema(schema)),
    }
}

/// A type that a user made, or the row type of a relation. A schema has one of both at most.
pub fn named_type(schema: Option<&str>, name: &str, catalog: &dyn CatalogView) -> Option<Oid> {
    let made = catalog.user_type_named(schema, name);
    let relation = catalog.relation_by_name(schema, name);
    let row = relation.map(|relation| (relation.row_value_type().oid, relation.schema.clone()));
    let row = row.filter(|(ty, _)| is_composite(*ty));
    match (made, row) {
        (Some(made), Some((row, in_schema))) => {
            let path = catalog.search_path();
            let place = |schema: &str| path.iter().position(|known| known == schema);
            Some(match place(&in_schema) < place(&made.schema) {
                true => row,
                false => made.oid,
            })
        }
        (made, row) => made.map(|made| made.oid).or(row.map(|(ty, _)| ty)),
    }
}

fn bad_modifier() -> SqlError {
    SqlError::new(
        state::SYNTAX_ERROR,
        "type modifiers must be simple constants or identifiers",
    )
}

/// `table.column%TYPE`.
fn column_type(name: &TypeName, catalog: &dyn CatalogView) -> SqlResult<ColumnType> {
    let parts: Vec<&str> = name.name.parts.iter().map(|part| &**part).collect();
    let (schema, table, column) = match parts.as_slice() {
        [table, column] => (None, *table, *column),
        [schema, table, column] => (Some(*schema), *table, *column),
        _ => {
            let message = format!(
                "improper %TYPE reference (too few dotted names): {}",
                parts.join(".")
            );
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
    };
    let Some(relation) = catalog.relation_by_name(schema, table) else {
        let message = format!("relation \"{table}\" does not exist");
        return Err(SqlError::new(state::UNDEFINED_TABLE, message));
    };
    let found = relation
        .columns
        .iter()
        .find(|known| !known.dropped && known.name == column);
    found.map(|known| known.ty).ok_or_else(|| {
        let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
        SqlError::new(state::UNDEFINED_COLUMN, message)
    })
}

/// A type from text, as the grammar spells it. Errors of the grammar point into the text.
pub fn parse_type_name(text: &str, catalog: &dyn CatalogView) -> SqlResult<ColumnType> {
    resolve_type_name(&mote_grammar::parser::parse_type(text)?, catalog)
}

/// The type, which may be a domain, that the text of a `regtype` names. The text is a value and no part of a statement:
/// errors have no place in it.
pub fn type_of_text(text: &str, catalog: &dyn CatalogView) -> SqlResult<Oid> {
    let invalid = || format!("invalid type name \"{text}\"");
    if text.trim_ascii().is_empty() {
        return Err(SqlError::new(state::SYNTAX_ERROR, invalid()));
    }
    let name =
        mote_grammar::parser::parse_type(text).map_err(|error| error.moved_to(0).context(invalid()))?;
    if name.set_of {
        return Err(SqlError::new(state::SYNTAX_ERROR, invalid()));
    }
    let named = match resolve_name(&name, catalog) {
        // Queries ask whether a column's type is one of several, and name those that mote does not have, too.
        Err(error) if error.state() == state::FEATURE_NOT_SUPPORTED && name.array_bounds.is_empty() => {
            let number = name
                .name
                .parts
                .last()
                .and_then(|last| unsupported_type_number(last));
            return number.ok_or(error);
        }
        found => found?,
    };
    match name.array_bounds.is_empty() || !is_domain(named.oid) {
        true => Ok(named.oid),
        // There are no arrays of domains.
        false => Err(no_such_type(&format!("{}[]", name.name.parts.join(".")))),
    }
}
