//! CREATE TABLE: columns, keys, checks and foreign keys of a new table.
//!
//! The order is PostgreSQL's (transformCreateStmt, DefineRelation): what is inherited or copied comes in first,
//! columns in the order in which they are written, then the storage, then constraints, foreign keys last. The table
//! is in the catalog of the transaction before its expressions are bound, since they name it; nobody else sees it
//! until the commit.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableDefinition;
use mote_grammar::ast::{
    ColumnDefinition, Constraint, ConstraintKind, CreateTable, DefinitionOption, Expr, OptionValue,
    Persistence, QualifiedName, TableElement, TypeName,
};
use mote_sql::{RelationExpression, bind_expression_over_relation, bind_written_expression};
use mote_types::{ColumnType, oid};

use super::constraint::{self, PendingForeignKey};
use super::{
    columns, composite_type, create_partition, inherit, internal, like, partition, qualify, schema, sequence,
    temporary,
};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredInheritance, StoredKind, StoredObject, StoredRelation,
};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateTable {
    fn name(&self) -> &'static str {
        "CREATE TABLE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, context)
    }
}

/// PostgreSQL's limit on the columns of a table.
const COLUMNS_MAX: usize = 1600;
const TAG: CommandTag = CommandTag::Word("CREATE TABLE");

pub(super) fn run(create: &CreateTable, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    // What is not implemented is refused before anything is locked.
    refuse_unsupported(create)?;
    let (schema_oid, _) = schema::schema_for_new(&create.name, create.persistence, context)?;
    // Locked before it is looked for: nobody else makes the name until we end.
    schema::reserve_name(schema_oid, &create.name.name, context)?;
    if schema::relation_exists(schema_oid, &create.name.name, context) {
        if create.if_not_exists {
            let message = format!("relation \"{}\" already exists, skipping", create.name.name);
            schema::notice(state::DUPLICATE_TABLE, message, context);
            return Ok(TAG);
        }
        return Err(schema::already_exists(&create.name.name));
    }
    // Each table brings a type of its name.
    schema::require_free_row_type(schema_oid, &create.name.name, context)?;
    let owner = context.session.identity().user_oid.0;
    let mut table = schema::new_relation(
        schema_oid,
        &create.name.name,
        StoredKind::Table,
        owner,
        Vec::new(),
        context,
    );
    table.options = storage_options(&create.options)?;
    table.unlogged = create.persistence == Persistence::Unlogged;
    table.on_commit = temporary::on_commit(create.on_commit, &table)?;
    // Parents first: their columns come before the table's own.
    let mut inherited = inherit::take_over(&create.inherits, &mut table, context)?;
    let place = match &create.partition_of {
        Some(partition_of) => Some(create_partition::place(partition_of, &mut table, context)?),
        None => None,
    };
    let mut constraints: Vec<Constraint> = Vec::new();
    for element in &create.element_order {
        match element {
            TableElement::Column(i) => {
                let column = &create.columns[*i];
                if place.is_some() {
                    create_partition::override_column(column, &mut table, &mut constraints, context)?;
                    continue;
                }
                // A column that is written and inherited is one column, whose definitions must agree.
                let known = inherited.position(&column.name, &table);
                let position = known.unwrap_or(table.columns.len());
                if known.is_none() && table.columns.iter().any(|c| c.name == *column.name) {
                    return Err(SqlError::new(
                        state::DUPLICATE_COLUMN,
                        format!("column \"{}\" specified more than once", column.name),
                    ));
                }
                let stored = define_column(column, position as u16, &table, &mut constraints, context)?;
                match known {
                    Some(position) => inherited.merge(stored, position, &mut table, context)?,
                    None => inherited.push(stored, &mut table),
                }
            }
            TableElement::Like(i) => {
                // Its columns stand where LIKE does among the others.
                let like = &create.like[*i];
                like::add(like, &mut table, &mut inherited, &mut constraints, context)?;
            }
        }
    }
    // Parents with different defaults leave a conflict that only the table's own default settles.
    inherited.require_decided(&table)?;
    table.columns.iter_mut().for_each(columns::settle_default);
    check_column_count(table.columns.len())?;
    // Constraints of columns first, then those of the table: names are chosen in this order.
    constraints.extend(create.constraints.iter().cloned());
    if let Some(by) = &create.partition_by {
        table.partitioning = Some(partition::partitioning(by, &table, context)?);
    }
    let oid = Oid(table.oid);
    store(table, &constraints, &create.columns, context)?;
    // Indexes of LIKE .. INCLUDING INDEXES are built over the finished, empty table.
    for copied in &create.like {
        like::add_indexes(copied, &create.name, context)?;
        like::add_comments(copied, &create.name, context)?;
    }
    if let Some(parent) = place {
        create_partition::inherit_keys(parent, oid, context)?;
    }
    Ok(TAG)
}

/// 54011 beyond PostgreSQL's bound, dropped columns included.
pub(super) fn check_column_count(count: usize) -> SqlResult<()> {
    if count > COLUMNS_MAX {
        return Err(SqlError::new(
            state::TOO_MANY_COLUMNS,
            format!("tables can have at most {COLUMNS_MAX} columns"),
        ));
    }
    Ok(())
}

/// A table that is being made has no index yet.
fn refuse_existing_index(constraint: &Constraint) -> SqlResult<()> {
    match &constraint.kind {
        ConstraintKind::PrimaryKey(key) | ConstraintKind::Unique(key) if key.existing_index.is_some() => {
            let message = "cannot use an existing index in CREATE TABLE";
            Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
        }
        _ => Ok(()),
    }
}

/// Makes the storage, then the constraints, then writes the object.
fn store(
    mut table: StoredRelation,
    constraints: &[Constraint],
    written: &[ColumnDefinition],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    for (position, constraint) in constraints.iter().enumerate() {
        // NOT NULL of a primary key is in the description before the storage is made.
        constraint::note_not_null(constraint, &mut table)
            .map_err(|error| error.at(constraint.location.position(&context.session.statement_text)))?;
        refuse_existing_index(constraint)
            .map_err(|error| error.at(constraint.location.position(&context.session.statement_text)))?;
        let is_primary = |constraint: &Constraint| matches!(constraint.kind, ConstraintKind::PrimaryKey(_));
        if is_primary(constraint) && constraints[..position].iter().any(is_primary) {
            let message = format!(
                "multiple primary keys for table \"{}\" are not allowed",
                table.name
            );
            return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message)
                .at(constraint.location.position(&context.session.statement_text)));
        }
        let is_check = |constraint: &&Constraint| matches!(constraint.kind, ConstraintKind::Check(_));
        if let Some(name) = constraint.name.as_ref().filter(|_| is_check(&constraint))
            && constraints[..position]
                .iter()
                .filter(is_check)
                .any(|known| known.name.as_ref() == Some(name))
        {
            let message = format!("check constraint \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
        }
    }
    // Storage knows nothing of defaults, checks or NOT NULL.
    let definition = TableDefinition::new(table.columns.iter().map(columns::column_storage).collect());
    table.table = schema::make_storage(&table, &definition, context)?.0;
    // The relation must be in the catalog before checks and foreign keys to itself can be bound.
    write::put(StoredObject::Relation(table.clone()), context)?;
    // Generation expressions may read any column, those behind them included.
    for position in 0..table.columns.len() {
        check_generated(&table, position, written, context)?;
    }
    let mut foreign_keys: Vec<PendingForeignKey> = Vec::new();
    for constraint in &merge_equal_keys(constraints) {
        // They may reference a key of this very table, which must exist by then.
        if let ConstraintKind::ForeignKey(_) = constraint.kind {
            foreign_keys.push(PendingForeignKey(of_new_table(constraint)));
        } else {
            constraint::add(&of_new_table(constraint), &mut table, context)?;
        }
    }
    if !table.constraints.is_empty() || !table.indexes.is_empty() {
        // Written before the foreign keys are looked at: they find the table's own keys in the catalog.
        write::put(StoredObject::Relation(table.clone()), context)?;
    }
    for PendingForeignKey(constraint) in &foreign_keys {
        constraint::add(constraint, &mut table, context)?;
        write::put(StoredObject::Relation(table.clone()), context)?;
    }
    Ok(())
}

/// NOT VALID says nothing of a table without rows: all that will be there is checked.
fn of_new_table(constraint: &Constraint) -> Constraint {
    Constraint {
        not_valid: false,
        ..constraint.clone()
    }
}

/// Keys that are written twice become one, a primary key if one of them is, under the first name that one of them has.
/// PostgreSQL: transformIndexConstraints, for CREATE TABLE alone.
fn merge_equal_keys(constraints: &[Constraint]) -> Vec<Constraint> {
    let is_equal = |a: &Constraint, b: &Constraint| match (&a.kind, &b.kind) {
        (
            ConstraintKind::PrimaryKey(x) | ConstraintKind::Unique(x),
            ConstraintKind::PrimaryKey(y) | ConstraintKind::Unique(y),
        ) => {
            x.columns == y.columns
                && x.include == y.include
                && x.nulls_not_distinct == y.nulls_not_distinct
                && a.deferrable == b.deferrable
                && a.initially_deferred == b.initially_deferred
        }
        _ => false,
    };
    let is_primary = |constraint: &Constraint| matches!(constraint.kind, ConstraintKind::PrimaryKey(_));
    let mut merged: Vec<Constraint> = Vec::with_capacity(constraints.len());
    for constraint in constraints {
        let Some(prior) = merged.iter_mut().find(|prior| is_equal(prior, constraint)) else {
            merged.push(constraint.clone());
            continue;
        };
        // A primary key comes before all others, and so does its name.
        let other = match is_primary(constraint) {
            true => std::mem::replace(prior, constraint.clone()),
            false => constraint.clone(),
        };
        prior.name = prior.name.take().or(other.name);
    }
    merged
}

/// 0A000 for clauses that are parsed and not implemented.
fn refuse_unsupported(create: &CreateTable) -> SqlResult<()> {
    let unsupported = |what: &str| Err(SqlError::unsupported(what));
    let partitions = create.partition_by.is_some() || create.partition_of.is_some();
    if partitions && create.persistence == Persistence::Temporary {
        return unsupported("a temporary table with partitions");
    }
    if create.of_type.is_some() {
        return unsupported("CREATE TABLE OF");
    }
    check_storage(create.tablespace.as_deref(), create.access_method.as_deref())
}

/// There is one tablespace and one access method.
pub(super) fn check_storage(tablespace: Option<&str>, access_method: Option<&str>) -> SqlResult<()> {
    if let Some(tablespace) = tablespace.filter(|name| *name != "pg_default") {
        return Err(SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("tablespace \"{tablespace}\" does not exist"),
        ));
    }
    match access_method {
        // PostgreSQL's name for what tables are, so that its dumps are taken.
        None | Some("heap" | "mote") => Ok(()),
        Some(method) => Err(SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("access method \"{method}\" does not exist"),
        )),
    }
}

/// Storage options that PostgreSQL knows are kept for the catalog; they have no effect here (COMPAT.md).
pub(super) fn storage_options(options: &[DefinitionOption]) -> SqlResult<Vec<String>> {
    let mut kept = Vec::new();
    for option in options {
        let known = option.namespace.as_deref() == Some("toast")
            || option.name.starts_with("autovacuum_")
            || [
                "fillfactor",
                "parallel_workers",
                "toast_tuple_target",
                "vacuum_truncate",
                "log_autovacuum_min_duration",
                "user_catalog_table",
                "deduplicate_items",
            ]
            .contains(&&*option.name);
        if !known {
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("unrecognized parameter \"{}\"", option.name),
            ));
        }
        if option.namespace.as_deref() == Some("toast") {
            continue; // There is no TOAST table that could show it.
        }
        let value = match &option.value {
            Some(OptionValue::Integer(n)) => n.to_string(),
            Some(OptionValue::Number(n)) => n.to_string(),
            Some(OptionValue::Boolean(b)) => b.to_string(),
            Some(OptionValue::String(s)) => s.to_string(),
            None => "true".into(),
            Some(_) => {
                return Err(SqlError::new(
                    state::INVALID_PARAMETER_VALUE,
                    format!("invalid value for option \"{}\"", option.name),
                ));
            }
        };
        kept.push(format!("{}={value}", option.name));
    }
    Ok(kept)
}

/// serial and its kin: the integer type they stand for. Only the bare word counts: they are no types that pg_catalog
/// has.
fn serial_type(name: &TypeName) -> Option<ColumnType> {
    if name.name.parts.len() != 1 {
        return None;
    }
    Some(ColumnType::new(match name.name.last() {
        "serial" | "serial4" => oid::INT4,
        "bigserial" | "serial8" => oid::INT8,
        "smallserial" | "serial2" => oid::INT2,
        _ => return None,
    }))
}

/// Columns of tables are not called as those that every table has.
pub(super) fn refuse_system_name(name: &str) -> SqlResult<()> {
    match name {
        "ctid" | "xmin" | "xmax" | "cmin" | "cmax" | "tableoid" => {
            let message = format!("column name \"{name}\" conflicts with a system column name");
            Err(SqlError::new(state::DUPLICATE_COLUMN, message))
        }
        _ => Ok(()),
    }
}

/// A column as stored, at `position`; that the table has no other of its name is the caller's care. Its constraints, completed with the column's name, go to `constraints`.
pub(super) fn define_column(
    column: &ColumnDefinition,
    position: u16,
    table: &StoredRelation,
    constraints: &mut Vec<Constraint>,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredColumn> {
    refuse_system_name(&column.name)?;
    refuse_collation(column)?;
    let Some(type_name) = &column.type_name else {
        return Err(SqlError::unsupported("a column without a type"));
    };
    let serial = serial_type(type_name);
    let (ty, domain) = match serial {
        Some(ty) => (ty, None),
        None => mote_sql::resolve_declared_type(type_name, &context.session.catalog)
            .map_err(|error| error.at(type_name.location.position(&context.session.statement_text)))?,
    };
    // `record` and the like have no values that could be stored.
    columns::refuse_pseudo_type(&column.name, ty)?;
    composite_type::refuse_own_rows(table.oid, ty.oid, context)?;
    let mut stored = StoredColumn {
        name: column.name.to_string(),
        type_oid: ty.oid.0,
        typmod: ty.typmod,
        domain: domain.map(|domain| domain.0),
        // serial is NOT NULL with a default from a sequence that goes with the column.
        not_null: serial.is_some(),
        dropped: false,
        default: None,
        identity_always: None,
        generated: None,
        owned_sequence: None,
        comment: None,
        inheritance: StoredInheritance::default(),
        statistics_target: None,
        storage: None,
    };
    if serial.is_some() {
        if !type_name.array_bounds.is_empty() {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "array of serial is not implemented",
            ));
        }
        // The sequence is made before the table is written; both are of this transaction.
        let sequence = sequence::create_owned(table, &column.name, position, ty, &[], context)?;
        stored.default = Some(sequence::default_text(&sequence, context));
        stored.owned_sequence = Some(sequence.oid);
    }
    apply_column_constraints(column, position, table, &mut stored, constraints, context)?;
    Ok(stored)
}

/// 0A000 for a collation other than those that mean the one order of text that there is.
fn refuse_collation(column: &ColumnDefinition) -> SqlResult<()> {
    match column.collation.as_ref().map(QualifiedName::last) {
        None | Some("C" | "POSIX" | "default" | "ucs_basic" | "C.UTF-8" | "C.utf8") => Ok(()),
        Some(other) => Err(SqlError::unsupported(format_args!("collation \"{other}\""))),
    }
}

/// What stands behind a column's type: properties go to `stored`, constraints of the table to `constraints`.
fn apply_column_constraints(
    column: &ColumnDefinition,
    position: u16,
    table: &StoredRelation,
    stored: &mut StoredColumn,
    constraints: &mut Vec<Constraint>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let ty = ColumnType::with_typmod(Oid(stored.type_oid), stored.typmod);
    // As declared: nothing, NULL or NOT NULL.
    let mut not_null: Option<bool> = None;
    for constraint in &column.constraints {
        match &constraint.kind {
            ConstraintKind::Null | ConstraintKind::NotNull { .. } => {
                let wanted = constraint.kind != ConstraintKind::Null;
                declare_null(&mut not_null, wanted, constraint, &column.name, table, context)?;
                stored.not_null |= wanted;
            }
            ConstraintKind::Default(value) => {
                refuse_second_value(stored, "default", table)?;
                stored.default = Some(columns::default_text(value, &column.name, ty, context)?);
            }
            ConstraintKind::Identity { always, options } => {
                refuse_second_value(stored, "identity", table)?;
                require_identity_type(ty)?;
                let sequence = sequence::create_owned(table, &column.name, position, ty, options, context)?;
                // Identity implies NOT NULL, and contradicts a declared NULL.
                stored.identity_always = Some(*always);
                stored.owned_sequence = Some(sequence.oid);
                declare_null(&mut not_null, true, constraint, &column.name, table, context)?;
                stored.not_null = true;
            }
            ConstraintKind::Generated {
                expression,
                stored: true,
            } => {
                refuse_second_value(stored, "generation expression", table)?;
                // Bound later (`check_generated`), when the table is in the catalog.
                stored.generated = Some(qualify::kept_text(expression, &context.session.catalog));
            }
            ConstraintKind::Generated { stored: false, .. } => {
                return Err(SqlError::unsupported("GENERATED ALWAYS AS (..) VIRTUAL"));
            }
            // Keys, checks and foreign keys become constraints of the table.
            _ => constraints.push(constraint::with_column(constraint, &column.name)),
        }
    }
    Ok(())
}

/// Notes what a constraint says of NULL; another one may have said the opposite.
fn declare_null(
    not_null: &mut Option<bool>,
    wanted: bool,
    constraint: &Constraint,
    column: &str,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    if not_null.replace(wanted).is_none_or(|known| known == wanted) {
        return Ok(());
    }
    let message = format!(
        "conflicting NULL/NOT NULL declarations for column \"{column}\" of table \"{}\"",
        table.name
    );
    Err(SqlError::new(state::SYNTAX_ERROR, message)
        .at(constraint.location.position(&context.session.statement_text)))
}

/// A column has at most one of: default, identity, generation expression.
fn refuse_second_value(column: &StoredColumn, second: &str, table: &StoredRelation) -> SqlResult<()> {
    let first = if column.identity_always.is_some() {
        "identity"
    } else if column.generated.is_some() {
        "generation expression"
    } else if column.default.is_some() {
        "default"
    } else {
        return Ok(());
    };
    let message = if first == second {
        let what = if first == "identity" {
            "multiple identity specifications"
        } else {
            "multiple default values"
        };
        format!(
            "{what} specified for column \"{}\" of table \"{}\"",
            column.name, table.name
        )
    } else {
        let (a, b) = if second == "identity" || (first, second) == ("generation expression", "default") {
            (second, first)
        } else {
            (first, second)
        };
        let (a, b) = if a == "identity" { (b, a) } else { (a, b) };
        format!(
            "both {a} and {b} specified for column \"{}\" of table \"{}\"",
            column.name, table.name
        )
    };
    Err(SqlError::new(state::SYNTAX_ERROR, message))
}

/// 22023 for a type that no sequence counts in.
pub(super) fn require_identity_type(ty: ColumnType) -> SqlResult<()> {
    if [oid::INT2, oid::INT4, oid::INT8].contains(&ty.oid) {
        return Ok(());
    }
    Err(SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        "identity column type must be smallint, integer, or bigint",
    ))
}

/// A generation expression is immutable and reads ordinary columns of its own row. The table is in the catalog.
pub(super) fn check_generated(
    table: &StoredRelation,
    position: usize,
    written: &[ColumnDefinition],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let column = &table.columns[position];
    let Some(text) = &column.generated else {
        return Ok(());
    };
    let entry = context.session.catalog.entry(Oid(table.oid));
    let relation = entry
        .ok_or_else(|| SqlError::internal("a table is in the catalog"))?
        .described
        .clone();
    let ty = ColumnType::with_typmod(Oid(column.type_oid), column.typmod);
    let bound = internal::on_large_stack(context, |session| {
        let target = Some((column.name.as_str(), ty));
        let (purpose, catalog) = (RelationExpression::Generated, &session.catalog);
        // As written where the statement has it, so that errors point at the place; else from the stored text (LIKE,
        // INHERITS).
        match generation_expression(written, &column.name) {
            Some(expr) => {
                bind_written_expression(expr, &session.statement_text, &relation, purpose, target, catalog)
            }
            None => bind_expression_over_relation(text, &relation, purpose, target, catalog),
        }
    })?;
    let invalid = |message: String| Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
    // No order of computation among generated columns: each reads stored ones.
    for read in columns::columns_of(&bound) {
        let read = &table.columns[read as usize];
        if read.generated.is_some() {
            return invalid(format!(
                "cannot use generated column \"{}\" in column generation expression",
                read.name
            ))
            .map_err(|error: SqlError| {
                error.detail("A generated column cannot reference another generated column.")
            });
        }
    }
    // Its value is stored once and must be what a later computation would give.
    if !bound.is_immutable() {
        return invalid("generation expression is not immutable".into());
    }
    Ok(())
}

/// How the statement defines a generated column, if it does.
fn generation_expression<'a>(written: &'a [ColumnDefinition], name: &str) -> Option<&'a Expr> {
    let column = written.iter().find(|column| *column.name == *name)?;
    column
        .constraints
        .iter()
        .find_map(|constraint| match &constraint.kind {
            ConstraintKind::Generated { expression, .. } => Some(expression),
            _ => None,
        })
}
