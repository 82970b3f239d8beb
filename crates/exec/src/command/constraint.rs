//! Constraints of tables: keys, checks, foreign keys; when a table is made and by ALTER TABLE ADD CONSTRAINT.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_sql::ast::{self, Constraint, ConstraintKind, KeyConstraint, MatchType, deparse};
use mote_sql::plan::expr::Expr;
use mote_sql::{RelationExpression, bind_expression_over_relation, bind_written_expression};
use mote_types::{ColumnType, can_cast};

use super::create_index::{self, IndexSpecification};
use super::{internal, schema};
use crate::catalog_store::stored::{
    StoredAction, StoredConstraint, StoredConstraintKind, StoredForeignKey, StoredIndex, StoredIndexKey,
    StoredRelation,
};
use crate::context::StatementContext;

/// A foreign key of CREATE TABLE that waits until the table's own keys exist.
pub(super) struct PendingForeignKey(pub Constraint);

/// A column's constraint, with the column it is about written into it.
pub(super) fn with_column(constraint: &Constraint, column: &str) -> Constraint {
    let mut constraint = constraint.clone();
    match &mut constraint.kind {
        ConstraintKind::PrimaryKey(key) | ConstraintKind::Unique(key) if key.columns.is_empty() => {
            key.columns.push(column.into());
        }
        ConstraintKind::ForeignKey(key) if key.columns.is_empty() => key.columns.push(column.into()),
        _ => {}
    }
    constraint
}

/// A primary key makes its columns NOT NULL before the table's storage is made.
pub(super) fn note_not_null(constraint: &Constraint, table: &mut StoredRelation) -> SqlResult<()> {
    if let ConstraintKind::PrimaryKey(key) = &constraint.kind {
        for name in &key.columns {
            let position = column_position(table, name)?;
            table.columns[position as usize].not_null = true;
        }
    }
    Ok(())
}

/// Position of a column named in a key.
pub(super) fn column_position(table: &StoredRelation, name: &str) -> SqlResult<u16> {
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

/// Adds a constraint to a table whose lock the caller holds. Existing rows are checked. The caller writes `table`.
pub(super) fn add(
    constraint: &Constraint,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if constraint.not_enforced {
        return Err(SqlError::unsupported("NOT ENFORCED"));
    }
    if constraint.deferrable || constraint.initially_deferred {
        return Err(SqlError::unsupported("DEFERRABLE constraints"));
    }
    match &constraint.kind {
        ConstraintKind::PrimaryKey(key) => add_key(constraint, key, true, table, context),
        ConstraintKind::Unique(key) => add_key(constraint, key, false, table, context),
        ConstraintKind::Check(expression) => add_check(constraint, expression, table, context),
        ConstraintKind::ForeignKey(key) => add_foreign_key(constraint, key, table, context),
        ConstraintKind::Exclude(_) => Err(SqlError::unsupported("EXCLUDE constraints")),
        ConstraintKind::NotNull { column } => {
            let name = column.as_deref().unwrap_or_default();
            let position = column_position(table, name)?;
            super::alter_table::set_not_null(table, position, context)
        }
        _ => Err(SqlError::internal("not a table constraint")),
    }
}

fn constraint_name_taken(table: &StoredRelation, name: &str) -> bool {
    table.constraints.iter().any(|c| c.name == name)
}

fn require_new_name(table: &StoredRelation, name: &str) -> SqlResult<()> {
    if constraint_name_taken(table, name) {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!(
                "constraint \"{name}\" for relation \"{}\" already exists",
                table.name
            ),
        ));
    }
    Ok(())
}

fn add_key(
    constraint: &Constraint,
    key: &KeyConstraint,
    primary: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if key.existing_index.is_some() {
        return Err(SqlError::unsupported("USING INDEX"));
    }
    if key.without_overlaps {
        return Err(SqlError::unsupported("WITHOUT OVERLAPS"));
    }
    if primary && table.indexes.iter().any(|index| index.primary) {
        let message = format!(
            "multiple primary keys for table \"{}\" are not allowed",
            table.name
        );
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    let mut keys = Vec::with_capacity(key.columns.len());
    for name in &key.columns {
        let position = column_position(table, name)
            .map_err(|error| error.at(constraint.location.position(&context.session.statement_text)))?;
        if keys.iter().any(|k: &StoredIndexKey| k.column == Some(position)) {
            let kind = if primary { "primary key" } else { "unique" };
            return Err(SqlError::new(
                state::DUPLICATE_COLUMN,
                format!("column \"{name}\" appears twice in {kind} constraint"),
            ));
        }
        if primary && !table.columns[position as usize].not_null {
            super::alter_table::set_not_null(table, position, context)?;
        }
        let column = &table.columns[position as usize];
        keys.push(StoredIndexKey {
            column: Some(position),
            expression: None,
            type_oid: column.type_oid,
            typmod: column.typmod,
            descending: false,
            nulls_first: false,
        });
    }
    let include = key
        .include
        .iter()
        .map(|name| column_position(table, name))
        .collect::<SqlResult<Vec<_>>>()?;
    let schema_oid = Oid(table.schema);
    let name = match &constraint.name {
        Some(name) => {
            require_new_name(table, name)?;
            schema::reserve_name(schema_oid, name, context)?;
            if schema::relation_exists(schema_oid, name, context) {
                return Err(schema::already_exists(name));
            }
            name.to_string()
        }
        None => {
            let taken = |name: &str| constraint_name_taken(table, name) || name == table.name;
            let columns: Vec<&str> = key.columns.iter().map(|c| &**c).collect();
            let mut parts = vec![table.name.as_str()];
            if !primary {
                parts.extend(columns);
            }
            schema::choose_name(
                schema_oid,
                &parts,
                if primary { "pkey" } else { "key" },
                taken,
                context,
            )
        }
    };
    let specification = IndexSpecification {
        name: name.clone(),
        keys,
        include,
        unique: true,
        primary,
        nulls_not_distinct: key.nulls_not_distinct,
    };
    let index = create_index::build(specification, table, context)?;
    let oid = context.database.catalog().allocate_oid().0;
    let kind = if primary {
        StoredConstraintKind::PrimaryKey { index: index.oid }
    } else {
        StoredConstraintKind::Unique { index: index.oid }
    };
    table.indexes.push(index);
    table.constraints.push(StoredConstraint {
        oid,
        name,
        kind,
        deferrable: false,
        initially_deferred: false,
        validated: true,
        comment: None,
    });
    Ok(())
}

fn add_check(
    constraint: &Constraint,
    expression: &ast::Expr,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let text = deparse::expression(expression);
    let entry = context
        .session
        .catalog
        .entry(Oid(table.oid))
        .ok_or_else(|| SqlError::internal("a table is in the catalog before its checks are added"))?;
    let condition = internal::on_large_stack(context, |session| {
        let (relation, purpose, catalog) = (&entry.described, RelationExpression::Check, &session.catalog);
        // A constraint that was copied from another table does not stand in the statement.
        if constraint.location.0 < 0 {
            return bind_expression_over_relation(&text, relation, purpose, None, catalog);
        }
        let statement = &session.statement_text;
        bind_written_expression(expression, statement, relation, purpose, None, catalog)
    })?;
    let columns = columns_of(&condition);
    let name = match &constraint.name {
        Some(name) => {
            require_new_name(table, name)?;
            name.to_string()
        }
        None => {
            let taken = |name: &str| constraint_name_taken(table, name);
            let mut parts = vec![table.name.as_str()];
            if let [only] = columns[..] {
                parts.push(&table.columns[only as usize].name);
            }
            schema::choose_name(Oid(table.schema), &parts, "check", taken, context)
        }
    };
    if !constraint.not_valid {
        super::row_checks::check_rows(table, &name, &text, context)?;
    }
    table.constraints.push(StoredConstraint {
        oid: context.database.catalog().allocate_oid().0,
        name,
        kind: StoredConstraintKind::Check { expression: text },
        deferrable: false,
        initially_deferred: false,
        validated: !constraint.not_valid,
        comment: None,
    });
    Ok(())
}

/// Positions of the columns that an expression over a relation's row reads, each once.
pub(super) fn columns_of(expression: &Expr) -> Vec<u16> {
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

fn add_foreign_key(
    constraint: &Constraint,
    key: &ast::ForeignKey,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if key.match_type == MatchType::Partial {
        return Err(SqlError::unsupported("MATCH PARTIAL"));
    }
    if !key.on_delete_columns.is_empty() {
        return Err(SqlError::unsupported("ON DELETE SET NULL (columns)"));
    }
    // Writers of both ends wait while rows are checked, readers do not.
    let referenced = schema::lock_relation(&key.referenced_table, TableLockMode::ShareRowExclusive, context)?
        .ok_or_else(|| schema::undefined_table(&key.referenced_table))?;
    let own = referenced.stored.oid == table.oid;
    let target = if own {
        table.clone()
    } else {
        referenced.stored.clone()
    };
    let columns = key
        .columns
        .iter()
        .map(|c| referencing_column(table, c))
        .collect::<SqlResult<Vec<_>>>()?;
    let (referenced_columns, index) = referenced_key(key, &target)?;
    if columns.len() != referenced_columns.len() {
        return Err(SqlError::new(
            state::INVALID_FOREIGN_KEY,
            "number of referencing and referenced columns for foreign key disagree",
        ));
    }
    let name = match &constraint.name {
        Some(name) => {
            require_new_name(table, name)?;
            name.to_string()
        }
        None => {
            let taken = |name: &str| constraint_name_taken(table, name);
            let mut parts = vec![table.name.as_str()];
            parts.extend(key.columns.iter().map(|c| &**c));
            schema::choose_name(Oid(table.schema), &parts, "fkey", taken, context)
        }
    };
    check_comparable(&name, table, &columns, &target, &referenced_columns)?;
    let stored = StoredForeignKey {
        columns,
        referenced: target.oid,
        referenced_columns,
        referenced_index: index,
        on_update: action(key.on_update),
        on_delete: action(key.on_delete),
        match_full: key.match_type == MatchType::Full,
    };
    if !constraint.not_valid {
        super::row_checks::check_foreign_key_rows(table, &name, &stored, &target, context)?;
    }
    table.constraints.push(StoredConstraint {
        oid: context.database.catalog().allocate_oid().0,
        name,
        kind: StoredConstraintKind::ForeignKey(stored),
        deferrable: false,
        initially_deferred: false,
        validated: !constraint.not_valid,
        comment: None,
    });
    Ok(())
}

fn referencing_column(table: &StoredRelation, name: &str) -> SqlResult<u16> {
    table
        .columns
        .iter()
        .position(|c| !c.dropped && c.name == name)
        .map(|i| i as u16)
        .ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_COLUMN,
                format!("column \"{name}\" referenced in foreign key constraint does not exist"),
            )
        })
}

/// The referenced columns, in the order written, and the unique index over them.
fn referenced_key(key: &ast::ForeignKey, target: &StoredRelation) -> SqlResult<(Vec<u16>, u32)> {
    if key.referenced_columns.is_empty() {
        let primary = target.indexes.iter().find(|index| index.primary).ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_OBJECT,
                format!("there is no primary key for referenced table \"{}\"", target.name),
            )
        })?;
        return Ok((key_columns(primary), primary.oid));
    }
    let columns = key
        .referenced_columns
        .iter()
        .map(|c| referencing_column(target, c))
        .collect::<SqlResult<Vec<_>>>()?;
    let mut sorted = columns.clone();
    sorted.sort();
    let index = target
        .indexes
        .iter()
        .filter(|i| i.unique && i.predicate.is_none() && i.valid)
        .find(|index| {
            let mut keys = key_columns(index);
            keys.sort();
            keys == sorted
        });
    match index {
        Some(index) => Ok((columns, index.oid)),
        None => Err(SqlError::new(
            state::INVALID_FOREIGN_KEY,
            format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                target.name
            ),
        )),
    }
}

fn key_columns(index: &StoredIndex) -> Vec<u16> {
    index.keys.iter().filter_map(|key| key.column).collect()
}

/// Each pair of columns must have an equality operator: the same type, or an implicit cast between them.
pub(super) fn check_comparable(
    name: &str,
    table: &StoredRelation,
    columns: &[u16],
    target: &StoredRelation,
    referenced: &[u16],
) -> SqlResult<()> {
    for (&own, &other) in columns.iter().zip(referenced) {
        let (own, other) = (&table.columns[own as usize], &target.columns[other as usize]);
        let same = own.type_oid == other.type_oid
            || can_cast(Oid(own.type_oid), Oid(other.type_oid)) == Some(mote_types::CastContext::Implicit)
            || both_integers(own.type_oid, other.type_oid);
        if !same {
            let type_name = |c: &crate::catalog_store::stored::StoredColumn| {
                ColumnType::with_typmod(Oid(c.type_oid), -1).name()
            };
            return Err(SqlError::new(
                state::DATATYPE_MISMATCH,
                format!("foreign key constraint \"{name}\" cannot be implemented"),
            )
            .detail(format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                own.name,
                other.name,
                type_name(own),
                type_name(other)
            )));
        }
    }
    Ok(())
}

/// Integers of all widths compare with each other.
fn both_integers(a: u32, b: u32) -> bool {
    use mote_types::oid::{INT2, INT4, INT8};
    [a, b].iter().all(|ty| [INT2, INT4, INT8].contains(&Oid(*ty)))
}

fn action(action: ast::ReferentialAction) -> StoredAction {
    match action {
        ast::ReferentialAction::NoAction => StoredAction::NoAction,
        ast::ReferentialAction::Restrict => StoredAction::Restrict,
        ast::ReferentialAction::Cascade => StoredAction::Cascade,
        ast::ReferentialAction::SetNull => StoredAction::SetNull,
        ast::ReferentialAction::SetDefault => StoredAction::SetDefault,
    }
}
