//! Constraints of tables: keys, checks, foreign keys; when a table is made and by ALTER TABLE ADD CONSTRAINT.
//!
//! A constraint is checked over the rows that exist, under the table's lock, before it is written; from then on
//! writers check it (`mote_executor`'s modify). PostgreSQL: ATAddCheckNNConstraint, ATAddForeignKeyConstraint
//! (tablecmds.c).

use std::collections::HashSet;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast;
use mote_grammar::ast::{Constraint, ConstraintKind, KeyConstraint, MatchType};
use mote_sql::catalog::index_method::IndexMethod;
use mote_sql::expr::Expr;
use mote_sql::{RelationExpression, bind_expression_over_relation, bind_written_expression};
use mote_types::{ColumnType, can_cast};

use super::index_keys::IndexKeys;
use super::{
    columns, existing_index, index_build, index_options, internal, not_null, qualify, row_checks, schema,
};
use mote_catalog::catalog_store::stored::{
    StoredAction, StoredConstraint, StoredConstraintKind, StoredForeignKey, StoredIndex, StoredIndexKey,
    StoredInheritance, StoredKind, StoredRelation,
};
use mote_executor::context::StatementContext;

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
        // A CHECK of a column may read any column.
        _ => {}
    }
    constraint
}

/// A primary key makes its columns NOT NULL before the table's storage is made.
pub(super) fn note_not_null(constraint: &Constraint, table: &mut StoredRelation) -> SqlResult<()> {
    if let ConstraintKind::PrimaryKey(key) = &constraint.kind {
        for name in &key.columns {
            let position = columns::column_position(table, name)?;
            table.columns[position as usize].not_null = true;
        }
    }
    Ok(())
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
    match &constraint.kind {
        ConstraintKind::PrimaryKey(key) => add_key(constraint, key, true, table, context),
        ConstraintKind::Unique(key) => add_key(constraint, key, false, table, context),
        ConstraintKind::Check(expression) => {
            add_check(constraint, expression, Origin::NewTable, table, context).map(|_| ())
        }
        ConstraintKind::ForeignKey(key) => add_foreign_key(constraint, key, table, context),
        ConstraintKind::Exclude(_) => Err(SqlError::unsupported("EXCLUDE constraints")),
        // NOT NULL is a property of the column, not a constraint of its own in this catalog.
        ConstraintKind::NotNull { column } => {
            let name = column.as_deref().unwrap_or_default();
            let position = columns::column_position(table, name)?;
            not_null::set_not_null(table, position, context)
        }
        _ => Err(SqlError::internal("not a table constraint")),
    }
}

/// Names of constraints are unique per table only; those of keys are names of relations, too.
fn constraint_name_taken(table: &StoredRelation, name: &str) -> bool {
    table.constraints.iter().any(|c| c.name == name)
}

/// 42710 for a name that the table has a constraint of.
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

/// PRIMARY KEY and UNIQUE: an index and the constraint that it serves, under one name.
fn add_key(
    constraint: &Constraint,
    key: &KeyConstraint,
    primary: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if let Some(index) = &key.existing_index {
        return existing_index::add(constraint, index, primary, table, context);
    }
    if key.without_overlaps {
        return Err(SqlError::unsupported("WITHOUT OVERLAPS"));
    }
    // For ALTER TABLE. CREATE TABLE has compared its own constraints before, for the place of the error.
    if primary && table.indexes.iter().any(|index| index.primary) {
        let message = format!(
            "multiple primary keys for table \"{}\" are not allowed",
            table.name
        );
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    let keys = resolve_key(constraint, key, primary, table, context)?;
    let include = key
        .include
        .iter()
        .map(|name| columns::column_position(table, name))
        .collect::<SqlResult<Vec<_>>>()?;
    let name = key_name(constraint, key, primary, table, context)?;
    let specification = index_build::IndexSpecification {
        name: name.clone(),
        method: IndexMethod::Btree,
        over: IndexKeys::of_columns(keys),
        include,
        unique: true,
        // Duplicates are then looked for at the end of the statement or of the transaction.
        deferrable: constraint.deferrable,
        primary,
        nulls_not_distinct: key.nulls_not_distinct,
        options: index_options::read(IndexMethod::Btree, &key.options)?,
    };
    // Finds duplicates among the rows that exist.
    let index = index_build::build(specification, table, context)?;
    let oid = context.database.catalog().allocate_oid().0;
    let kind = if primary {
        StoredConstraintKind::PrimaryKey { index: index.oid }
    } else {
        StoredConstraintKind::Unique { index: index.oid }
    };
    table.indexes.push(index);
    table.constraints.push(StoredConstraint {
        deferrable: constraint.deferrable,
        initially_deferred: constraint.initially_deferred,
        ..StoredConstraint::new(oid, name, kind)
    });
    Ok(())
}

/// The columns of a key; those of a primary key become NOT NULL.
fn resolve_key(
    constraint: &Constraint,
    key: &KeyConstraint,
    primary: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<StoredIndexKey>> {
    let mut keys = Vec::with_capacity(key.columns.len());
    for name in &key.columns {
        let position = columns::column_position(table, name)
            .map_err(|error| error.at(constraint.location.position(&context.session.statement_text)))?;
        if keys.iter().any(|k: &StoredIndexKey| k.column == Some(position)) {
            let kind = if primary { "primary key" } else { "unique" };
            return Err(SqlError::new(
                state::DUPLICATE_COLUMN,
                format!("column \"{name}\" appears twice in {kind} constraint"),
            ));
        }
        // Looks through the rows if there are any; a new table's column is NOT NULL by now.
        if primary && !table.columns[position as usize].not_null {
            not_null::set_not_null(table, position, context)?;
        }
        let column = &table.columns[position as usize];
        keys.push(StoredIndexKey::of_column(position, column));
    }
    Ok(keys)
}

/// The name of a key and of its index, which is free: as written, else after the table and the columns.
fn key_name(
    constraint: &Constraint,
    key: &KeyConstraint,
    primary: bool,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<String> {
    let schema_oid = Oid(table.schema);
    if let Some(name) = &constraint.name {
        require_new_name(table, name)?;
        // The index is a relation of this name.
        schema::reserve_name(schema_oid, name, context)?;
        if schema::relation_exists(schema_oid, name, context) {
            return Err(schema::already_exists(name));
        }
        return Ok(name.to_string());
    }
    let taken = |name: &str| constraint_name_taken(table, name) || name == table.name;
    let columns = key.columns.iter().chain(&key.include).map(|name| &**name);
    let mut parts = index_build::parts_of(&table.name, columns);
    // `t_pkey`, but `t_a_b_key`.
    if primary {
        parts.truncate(1);
    }
    let label = if primary { "pkey" } else { "key" };
    Ok(schema::choose_name(schema_oid, &parts, label, taken, context))
}

/// Where a constraint comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// CREATE TABLE: what it inherits is in the table already.
    NewTable,
    Statement,
    /// The parent's statement.
    Parent,
}

/// What became of a constraint that was to be added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    New,
    /// The table had it already.
    Merged,
}

/// Adds a CHECK constraint to one table.
pub(super) fn add_check(
    constraint: &Constraint,
    expression: &ast::Expr,
    origin: Origin,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Added> {
    // Kept as text, with the names of routines qualified.
    let text = qualify::kept_text(expression, &context.session.catalog);
    let entry = context
        .session
        .catalog
        .entry(Oid(table.oid))
        .ok_or_else(|| SqlError::internal("a table is in the catalog before its checks are added"))?;
    // Bound for its errors and its columns; writers bind the text anew.
    let condition = internal::on_large_stack(context, |session| {
        let (relation, purpose, catalog) = (&entry.described, RelationExpression::Check, &session.catalog);
        // A constraint that was copied from another table does not stand in the statement.
        if constraint.location.0 < 0 {
            return bind_expression_over_relation(&text, relation, purpose, None, catalog);
        }
        let statement = &session.statement_text;
        bind_written_expression(expression, statement, relation, purpose, None, catalog)
    })?;
    let columns = columns::columns_of(&condition);
    let name = match &constraint.name {
        Some(name) => {
            // The same name again: of a parent and a child, they are one constraint; otherwise an error.
            if let Some(at) = table.constraints.iter().position(|known| known.name == **name) {
                merge_check(constraint, &text, origin, at, table)?;
                let message = format!("merging constraint \"{name}\" with inherited definition");
                schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
                return Ok(Added::Merged);
            }
            name.to_string()
        }
        None => {
            let taken = |name: &str| constraint_name_taken(table, name);
            let mut parts = vec![table.name.as_str()];
            // The whole row, and the table's own OID, are no single column.
            let whole_row =
                condition.any(&mut |part| matches!(part, Expr::Row { names, .. } if !names.is_empty()));
            // PostgreSQL names a check over a single column after it.
            if let [only] = columns[..]
                && !whole_row
                && !text.contains("tableoid")
            {
                parts.push(&table.columns[only as usize].name);
            }
            schema::choose_name(Oid(table.schema), &parts, "check", taken, context)
        }
    };
    // NOT VALID leaves the rows that exist alone.
    if !constraint.not_valid {
        row_checks::check_rows(table, &name, &text, context)?;
    }
    table.constraints.push(StoredConstraint {
        deferrable: constraint.deferrable,
        initially_deferred: constraint.initially_deferred,
        validated: !constraint.not_valid,
        inheritance: match origin {
            Origin::Parent => StoredInheritance::from_parents(1),
            Origin::NewTable | Origin::Statement => StoredInheritance::default(),
        },
        no_inherit: constraint.no_inherit,
        ..StoredConstraint::new(
            context.database.catalog().allocate_oid().0,
            name,
            StoredConstraintKind::Check { expression: text },
        )
    });
    Ok(Added::New)
}

/// A CHECK whose name is taken: the same condition, coming from the other side, counts once more.
fn merge_check(
    added: &Constraint,
    text: &str,
    origin: Origin,
    at: usize,
    table: &mut StoredRelation,
) -> SqlResult<()> {
    let relation = table.name.clone();
    let known = &mut table.constraints[at];
    let name = known.name.clone();
    let same = matches!(&known.kind, StoredConstraintKind::Check { expression } if expression == text);
    let from_parent = origin == Origin::Parent;
    // A statement may repeat what the table has inherited, not what it has declared itself.
    let mergeable = origin != Origin::Statement || !known.inheritance.local;
    if !same || !mergeable {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("constraint \"{name}\" for relation \"{relation}\" already exists"),
        ));
    }
    let conflict = |with: &str| {
        let message =
            format!("constraint \"{name}\" conflicts with {with} constraint on relation \"{relation}\"");
        Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message))
    };
    if known.no_inherit {
        return conflict("non-inherited");
    }
    if known.inheritance.parents > 0 && added.no_inherit {
        return conflict("inherited");
    }
    // Valid constraints of a parent hold for rows of its children: one that was not checked cannot stand for them.
    if !added.not_valid && !known.validated {
        return conflict("NOT VALID");
    }
    // How many parents have it, and whether the table has it by itself: what decides whether it stays when a parent's
    // goes.
    match from_parent {
        true => known.inheritance.parents += 1,
        false => known.inheritance.local = true,
    }
    Ok(())
}

/// FOREIGN KEY: finds the key that it references, and looks for partners of all rows.
fn add_foreign_key(
    constraint: &Constraint,
    key: &ast::ForeignKey,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if key.match_type == MatchType::Partial {
        return Err(SqlError::unsupported("MATCH PARTIAL"));
    }
    // Writers of both ends wait while rows are checked, readers do not.
    let referenced = schema::lock_relation(&key.referenced_table, TableLockMode::ShareRowExclusive, context)?
        .ok_or_else(|| schema::undefined_table(&key.referenced_table))?;
    let own = referenced.stored.oid == table.oid;
    // The description under way, which has keys that the catalog does not know yet.
    let target = if own {
        table.clone()
    } else {
        referenced.stored.clone()
    };
    let columns = referencing_columns(table, &key.columns)?;
    let mut on_delete_columns = referencing_columns(table, &key.on_delete_columns)?;
    if let Some(at) = on_delete_columns
        .iter()
        .position(|column| !columns.contains(column))
    {
        let message = format!(
            "column \"{}\" referenced in ON DELETE SET action must be part of foreign key",
            key.on_delete_columns[at]
        );
        return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
    }
    // Named twice is once, as in PostgreSQL 15.20.
    let mut seen = HashSet::new();
    on_delete_columns.retain(|column| seen.insert(*column));
    table.check_reference(&target)?;
    let (referenced_columns, index) = referenced_key(key, &target)?;
    if columns.len() != referenced_columns.len() {
        return Err(SqlError::new(
            state::INVALID_FOREIGN_KEY,
            "number of referencing and referenced columns for foreign key disagree",
        ));
    }
    let name = match &constraint.name {
        Some(name) => {
            // A foreign key is no relation: its name is free wherever the table has no such constraint.
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
        // By this index writers look for partners; it cannot be dropped as long as the key stands.
        referenced_index: index,
        on_update: action(key.on_update),
        on_delete: action(key.on_delete),
        match_full: key.match_type == MatchType::Full,
        on_delete_columns,
    };
    if !constraint.not_valid {
        row_checks::check_foreign_key_rows(table, &name, &stored, &target, context)?;
    }
    table.constraints.push(StoredConstraint {
        deferrable: constraint.deferrable,
        initially_deferred: constraint.initially_deferred,
        validated: !constraint.not_valid,
        ..StoredConstraint::new(
            context.database.catalog().allocate_oid().0,
            name,
            StoredConstraintKind::ForeignKey(stored),
        )
    });
    Ok(())
}

/// ALTER CONSTRAINT: when a foreign key is checked.
pub(super) fn alter(alter: &ast::AlterConstraint, table: &mut StoredRelation) -> SqlResult<()> {
    if alter.enforced.is_some() {
        return Err(SqlError::unsupported("NOT ENFORCED"));
    }
    if alter.no_inherit.is_some() {
        return Err(SqlError::unsupported("ALTER CONSTRAINT .. INHERIT"));
    }
    let (name, of) = (&*alter.name, table.name.clone());
    let Some(constraint) = table.constraints.iter_mut().find(|known| known.name == name) else {
        return Err(SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("constraint \"{name}\" of relation \"{of}\" does not exist"),
        ));
    };
    // In PostgreSQL, too, only foreign keys are made deferrable afterwards.
    if !matches!(constraint.kind, StoredConstraintKind::ForeignKey(_)) {
        return Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("constraint \"{name}\" of relation \"{of}\" is not a foreign key constraint"),
        ));
    }
    // Without a clause the constraint becomes NOT DEFERRABLE, as in PostgreSQL 15.
    let (deferrable, deferred) = alter.deferrability.unwrap_or_default();
    (constraint.deferrable, constraint.initially_deferred) = (deferrable, deferred);
    Ok(())
}

/// A column of a foreign key, of either end.
fn referencing_columns(table: &StoredRelation, names: &[ast::Name]) -> SqlResult<Vec<u16>> {
    let position = |name: &ast::Name| {
        let mut columns = table.columns.iter();
        let found = columns.position(|column| !column.dropped && column.name == **name);
        found.map(|position| position as u16).ok_or_else(|| {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            SqlError::new(state::UNDEFINED_COLUMN, message)
        })
    };
    names.iter().map(position).collect()
}

/// The referenced columns, in the order written, and the unique index over them.
fn referenced_key(key: &ast::ForeignKey, target: &StoredRelation) -> SqlResult<(Vec<u16>, u32)> {
    if target.kind != StoredKind::Table {
        let message = format!("referenced relation \"{}\" is not a table", target.name);
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    if key.referenced_columns.is_empty() {
        // Without columns the primary key is meant.
        let primary = target.indexes.iter().find(|index| index.primary).ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_OBJECT,
                format!("there is no primary key for referenced table \"{}\"", target.name),
            )
        })?;
        if primary.deferrable {
            return Err(deferrable_target("primary key", target));
        }
        return Ok((key_columns(primary), primary.oid));
    }
    let columns = referencing_columns(target, &key.referenced_columns)?;
    // The key may list its columns in another order than the index.
    let mut sorted = columns.clone();
    sorted.sort();
    let matching = |index: &&StoredIndex| {
        let mut keys = key_columns(index);
        keys.sort();
        // A partial index, or one over expressions, proves nothing about all rows; one that is being built may miss
        // some.
        index.unique && index.is_plain() && index.valid && keys == sorted
    };
    let mut found = target.indexes.iter().filter(matching);
    match found.clone().find(|index| !index.deferrable) {
        Some(index) => Ok((columns, index.oid)),
        None if found.next().is_some() => Err(deferrable_target("unique constraint", target)),
        None => Err(SqlError::new(
            state::INVALID_FOREIGN_KEY,
            format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                target.name
            ),
        )),
    }
}

/// A key that may be violated for a while proves nothing.
fn deferrable_target(what: &str, target: &StoredRelation) -> SqlError {
    SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "cannot use a deferrable {what} for referenced table \"{}\"",
            target.name
        ),
    )
}

/// The columns of an index's keys; expressions are left out.
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
            // From the referencing type to the referenced one, whose index is searched.
            || can_cast(Oid(own.type_oid), Oid(other.type_oid)) == Some(mote_types::CastContext::Implicit)
            || both_integers(own.type_oid, other.type_oid);
        if !same {
            let type_name = |c: &mote_catalog::catalog_store::stored::StoredColumn| {
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

/// From the statement to the catalog.
fn action(action: ast::ReferentialAction) -> StoredAction {
    match action {
        ast::ReferentialAction::NoAction => StoredAction::NoAction,
        ast::ReferentialAction::Restrict => StoredAction::Restrict,
        ast::ReferentialAction::Cascade => StoredAction::Cascade,
        ast::ReferentialAction::SetNull => StoredAction::SetNull,
        ast::ReferentialAction::SetDefault => StoredAction::SetDefault,
    }
}
