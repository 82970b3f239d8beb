//! Columns of a table that is being defined: found by name, their defaults as kept texts, how the engine stores them.
//!
//! Leaves out: making a column from its definition (`create_table`), changing one (`alter_column`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::ColumnStorage;
use mote_grammar::ast::{self, deparse};
use mote_grammar::rewrite;
use mote_sql::catalog::CatalogView;
use mote_sql::expr::Expr;
use mote_types::catalog::type_shape;
use mote_types::{ColumnType, StorageClass, format_type, oid, storage_class};

use crate::{internal, qualify};
use mote_catalog::catalog_store::stored::{StoredColumn, StoredRelation};
use mote_executor::context::StatementContext;

/// The position of a column by its name; 42703 where there is none, or where it was dropped.
pub(crate) fn existing(table: &StoredRelation, name: &str) -> SqlResult<usize> {
    table
        .columns
        .iter()
        .position(|c| !c.dropped && c.name == name)
        .ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_COLUMN,
                format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
            )
        })
}

/// SET STORAGE. Rows in memory are kept in one way; the catalog and dumps show what was asked for.
pub(crate) fn set_storage(table: &mut StoredRelation, column: &str, storage: &str) -> SqlResult<()> {
    const PLAIN: char = 'p';
    let mode = match storage.to_ascii_lowercase().as_str() {
        "plain" => PLAIN,
        "external" => 'e',
        "extended" => 'x',
        "main" => 'm',
        _ => {
            let message = format!("invalid storage type \"{storage}\"");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
    };
    let position = existing(table, column)?;
    let column = &mut table.columns[position];
    let ty = Oid(column.type_oid);
    if mode != PLAIN && type_shape(ty).is_some_and(|info| info.storage == PLAIN as u8) {
        let message = format!(
            "column data type {} can only have storage PLAIN",
            format_type(ty, -1)
        );
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    column.storage = Some(mode);
    Ok(())
}

/// Position of a column named in a key.
pub(crate) fn column_position(table: &StoredRelation, name: &str) -> SqlResult<u16> {
    table
        .columns
        .iter()
        .position(|c| !c.dropped && c.name == name)
        .map(|i| i as u16)
        .ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_COLUMN,
                format!("column \"{name}\" named in key does not exist"),
            )
        })
}

/// Positions of the columns that an expression over a relation's row reads, each once.
pub(crate) fn columns_of(expression: &Expr) -> Vec<u16> {
    let mut columns = Vec::new();
    // `any` visits all parts as long as the answer is no.
    expression.any(&mut |part| {
        if let Expr::Column { index, .. } = part
            && !columns.contains(index)
        {
            columns.push(*index);
        }
        false
    });
    columns
}

/// Position of a column that a partition has because its parent has it.
pub(crate) fn position_of(child: &StoredRelation, name: &str) -> SqlResult<u16> {
    let found = child.columns.iter().position(|c| !c.dropped && c.name == name);
    found
        .map(|position| position as u16)
        .ok_or_else(|| SqlError::internal(format!("partition \"{}\" has no column \"{name}\"", child.name)))
}

/// 42P16 for types without values to store.
pub(crate) fn refuse_pseudo_type(column: &str, ty: ColumnType) -> SqlResult<()> {
    let pseudo =
        mote_types::type_info(ty.oid).is_some_and(|info| info.kind == b'p') || ty.oid == oid::UNKNOWN;
    if pseudo {
        return Err(SqlError::new(
            state::INVALID_TABLE_DEFINITION,
            format!("column \"{column}\" has pseudo-type {}", ty.name()),
        ));
    }
    Ok(())
}

/// The text of a default, after making sure that it can be assigned to the column.
pub(crate) fn default_text(
    value: &ast::Expr,
    column: &str,
    ty: ColumnType,
    context: &mut StatementContext<'_>,
) -> SqlResult<String> {
    internal::on_large_stack(context, |session| {
        mote_sql::bind_default(value, column, ty, &session.statement_text, &session.catalog)
    })?;
    // The default is kept as text. Names in it are made to mean later what they mean now: relations of nextval and
    // its kin are qualified, and so are calls of routines.
    let mut value = value.clone();
    let qualified = |name: &str| {
        let (schema, bare) = mote_catalog::name_text::split_name(name);
        let found = context
            .session
            .catalog
            .relation_by_name(schema.as_deref(), &bare)?;
        Some(mote_catalog::views::text::qualified(&found.schema, &found.name))
    };
    rewrite::expression(
        &mut value,
        &mut rewrite::Regclass {
            qualified: &qualified,
        },
    );
    let catalog = &context.session.catalog;
    rewrite::expression(&mut value, &mut qualify::Calls { catalog });
    Ok(deparse::expression(&value))
}

/// Forgets a default that is the same as none, as PostgreSQL does: one that a domain's would take the place of stays, and so
/// does one of a type with a length, which PostgreSQL keeps as a call.
pub(crate) fn settle_default(column: &mut StoredColumn) {
    let is_null = column.default.as_deref() == Some("NULL");
    if is_null && column.domain.is_none() && column.typmod < 0 {
        column.default = None;
    }
}

/// How the engine stores a column. All columns may be NULL there: NOT NULL is a rule of this layer.
pub(crate) fn column_storage(column: &StoredColumn) -> ColumnStorage {
    let ty = ColumnType::with_typmod(Oid(column.type_oid), column.typmod);
    ColumnStorage::new(engine_class(storage_class(ty)), true)
}

/// The engine's classes are those of the types, under names of its own: it knows no types.
fn engine_class(class: StorageClass) -> mote_engine::StorageClass {
    match class {
        StorageClass::Fixed1 => mote_engine::StorageClass::Fixed1,
        StorageClass::Fixed2 => mote_engine::StorageClass::Fixed2,
        StorageClass::Fixed4 => mote_engine::StorageClass::Fixed4,
        StorageClass::Fixed8 => mote_engine::StorageClass::Fixed8,
        StorageClass::Fixed16 => mote_engine::StorageClass::Fixed16,
        StorageClass::Variable => mote_engine::StorageClass::Variable,
    }
}
