//! Columns of existing tables: added, dropped, given another type, made an identity.
//!
//! A column whose value is the same for all rows that exist is added without touching them: the layout answers for it. A
//! dropped column keeps its place, since positions are attribute numbers. What cannot be done this way, or would be one layout
//! too many, rewrites the table (`rebuild`).
//!
//! `dropped`: DROP COLUMN, and who depends on a column.

mod dropped;

pub(super) use dropped::drop_column;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{ColumnStorage, TableLockMode};
use mote_grammar::ast::Constant as Literal;
use mote_grammar::ast::{ColumnDefinition, Constraint, DefinitionOption, Expr, ExprKind, TypeName, deparse};
use mote_grammar::rewrite;
use mote_sql::expr::Expr as Bound;
use mote_sql::{RelationExpression, bind_expression_over_relation, bind_written_expression};
use mote_types::catalog::user::composite_oid;
use mote_types::{CastContext, ColumnType, Datum, can_cast, encode_storage, format_type, oid};

use super::{
    analyze, columns, composite_type, constraint, create_table, dropping, internal, publication, rebuild,
    row_checks, schema, sequence, trigger,
};
use dropped::{generated_from, views_reading};
use mote_catalog::catalog_store::stored::{StoredColumn, StoredConstraintKind, StoredObject, StoredRelation};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;
use mote_executor::expr::{Expression, compile};

/// Adds a column. Answers the constraints that it comes with and that are still to be added; None where IF NOT EXISTS
/// has found it.
pub(super) fn add(
    column: &ColumnDefinition,
    if_not_exists: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<Vec<Constraint>>> {
    if table.columns.iter().any(|c| !c.dropped && c.name == *column.name) {
        let message = format!(
            "column \"{}\" of relation \"{}\" already exists",
            column.name, table.name
        );
        if if_not_exists {
            schema::notice(state::DUPLICATE_COLUMN, format!("{message}, skipping"), context);
            return Ok(None);
        }
        return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
    }
    create_table::check_column_count(table.columns.len() + 1)?;
    let mut constraints: Vec<Constraint> = Vec::new();
    let position = table.columns.len() as u16;
    let mut stored = create_table::define_column(column, position, table, &mut constraints, context)?;
    columns::settle_default(&mut stored);
    add_defined(stored, table, context)?;
    Ok(Some(constraints))
}

/// Adds a column that has been defined already.
pub(super) fn add_defined(
    column: StoredColumn,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    create_table::check_column_count(table.columns.len() + 1)?;
    // The table as it stands in storage: what rows are read with.
    let old = table.clone();
    table.columns.push(column);
    let position = table.columns.len() - 1;
    // An empty table takes any column by its layout alone, whatever the default is.
    let empty = row_checks::is_empty(&old, context);
    let engine = context.database.engine();
    let takes_layout = engine
        .table(TableId(table.table))
        .is_some_and(|table| table.takes_layout());
    if !takes_layout && !empty {
        refuse_nulls(&old, table, &table.columns[position], context)?;
    }
    if !takes_layout || !empty && differs_by_row(&table.columns[position], context)? {
        // The expression is bound over a table that has the column.
        write::put(StoredObject::Relation(table.clone()), context)?;
        create_table::check_generated(table, position, &[], context)?;
        write::put(StoredObject::Relation(old.clone()), context)?;
        rebuild::rebuild(&old, table, &[], context)
    } else {
        add_layout(&old, table, empty, context)?;
        write::put(StoredObject::Relation(table.clone()), context)?;
        create_table::check_generated(table, position, &[], context)
    }
}

/// Rows that exist would have NULL in a column that takes none.
fn refuse_nulls(
    old: &StoredRelation,
    table: &StoredRelation,
    column: &StoredColumn,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let has_value = column.generated.is_some()
        || column.identity_always.is_some()
        || column.owned_sequence.is_some()
        || default_of(column, context).is_some();
    if !column.not_null || has_value {
        return Ok(());
    }
    let error = row_checks::contains_nulls(table, &column.name, context);
    row_checks::refuse_rows(old, context, || error)
}

/// A column's default: its own, else that of its domain.
fn default_of(column: &StoredColumn, context: &StatementContext<'_>) -> Option<String> {
    let of_domain = || {
        let catalog = context.session.catalog.current();
        let entry = catalog.user_type(Oid(column.domain?))?;
        entry.stored.domain.as_ref()?.default.clone()
    };
    column.default.clone().or_else(of_domain)
}

/// Whether rows that exist need values of their own: nextval for each, a generation expression, or a default that is
/// volatile (now() is not, clock_timestamp() is).
fn differs_by_row(column: &StoredColumn, context: &mut StatementContext<'_>) -> SqlResult<bool> {
    if column.generated.is_some() || column.identity_always.is_some() || column.owned_sequence.is_some() {
        return Ok(true);
    }
    let Some(text) = default_of(column, context) else {
        return Ok(false);
    };
    internal::on_large_stack(context, |session| {
        let expression = rewrite::parse_expression(&text)?;
        Ok(mote_sql::bind_free_expression(&expression, None, "", &session.catalog)?.is_volatile())
    })
}

/// The last column of `table` becomes part of the layout; rows that exist read its default as it is now.
fn add_layout(
    old: &StoredRelation,
    table: &StoredRelation,
    empty: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let column = &table.columns[old.columns.len()];
    let ty = ColumnType::with_typmod(Oid(column.type_oid), column.typmod);
    // Without rows there is nothing to compute a default for; it may even fail.
    let text = default_of(column, context).filter(|_| !empty);
    let value = match (text, column.domain.filter(|_| !empty)) {
        (None, None) => Datum::Null,
        (text, domain) => {
            // A domain holds the value to its rules, the lack of one too.
            let text = text.unwrap_or_else(|| "NULL".to_string());
            let name = domain.map_or_else(|| ty.name(), |domain| format_type(Oid(domain), -1));
            let row = internal::evaluate(&format!("SELECT CAST(({text}) AS {name})"), context)?;
            row.and_then(|row| row.into_iter().next()).unwrap_or(Datum::Null)
        }
    };
    // NULL for all rows that exist: refused if there is one.
    if column.not_null && matches!(value, Datum::Null) {
        let error = row_checks::contains_nulls(table, &column.name, context);
        row_checks::refuse_rows(old, context, || error)?;
    }
    // PostgreSQL keeps such a value as pg_attribute.attmissingval, for the same purpose.
    let missing = (!matches!(value, Datum::Null)).then(|| {
        let mut bytes = Vec::new();
        encode_storage(&value, ty, &mut bytes);
        bytes.into()
    });
    let id = TableId(table.table);
    let storage = context.database.engine().table(id);
    let storage = storage.ok_or_else(|| SqlError::internal("a table has its storage"))?;
    // Columns that were added before keep what rows older than they read.
    let mut columns: Vec<ColumnStorage> = storage.newest_layout().columns().to_vec();
    columns.push(columns::column_storage(column).with_missing(missing));
    context
        .engine_call(|transaction| transaction.add_layout(id, columns.clone()))
        .map(|_| ())
}

/// ALTER COLUMN .. TYPE.
pub(super) fn set_type(
    name: &str,
    type_name: &TypeName,
    using: Option<&Expr>,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = columns::existing(table, name)?;
    let ty = mote_sql::resolve_type_name(type_name, &context.session.catalog)
        .map_err(|error| error.at(type_name.location.position(&context.session.statement_text)))?;
    columns::refuse_pseudo_type(name, ty)?;
    composite_type::refuse_own_rows(table.oid, ty.oid, context)?;
    // Columns of other tables that hold rows of this one would hold rows of another structure.
    if let Some(row) = composite_oid(mote_common::Oid(table.oid)) {
        composite_type::refuse_holders(row, "table", &table.name, context)?;
    }
    // PostgreSQL rebuilds indexes, constraints and defaults, but refuses for views, triggers and generated columns.
    refuse_type_dependents(position as u16, table, context)?;
    if let Some(publication) = publication::listing(position as u16, table, context).first() {
        let message = "cannot alter type of a column used by a publication WHERE clause";
        let detail = format!("{publication} depends on column \"{name}\"");
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(detail));
    }
    // Bound over the old table: USING reads columns as they were.
    let conversion = conversion(name, using, ty, table, context)?;
    if let (Some(_), Some(owned)) = (
        table.columns[position].identity_always,
        table.columns[position].owned_sequence,
    ) {
        create_table::require_identity_type(ty)?;
        sequence::retype_owned(Oid(owned), ty, context)?;
    }
    // Statistics tell of values that are gone.
    analyze::forget_column(Oid(table.oid), position as u16, context)?;
    let old = table.clone();
    let column = &mut table.columns[position];
    (column.type_oid, column.typmod, column.domain) = (ty.oid.0, ty.typmod, None);
    column.storage = None;
    // The default stays as text, and must fit the new type.
    if let Some(text) = column.default.clone() {
        let of = Oid(old.columns[position].type_oid);
        check_default(name, &text, (of, ty), context)?;
    }
    // Functions in index expressions may be others for another type.
    let is_computed_from = table
        .indexes
        .iter()
        .any(|index| index.bound.reads(position as u16));
    let same_bytes = using.is_none() && !is_computed_from && is_relabeling(&old.columns[position], ty);
    // No row changes, no index either: only descriptions do.
    if same_bytes {
        for key in table.indexes.iter_mut().flat_map(|index| &mut index.keys) {
            if key.column == Some(position as u16) {
                (key.type_oid, key.typmod) = (ty.oid.0, ty.typmod);
            }
        }
        return Ok(());
    }
    // All rows are written anew, and with them all indexes.
    rebuild::rebuild(&old, table, &[(position, conversion)], context)?;
    check_foreign_keys(position as u16, table, context)
}

/// A column by which a table is partitioned stays what it is.
pub(super) fn refuse_partition_key(
    action: &str,
    position: u16,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    use mote_sql::catalog::IndexKeyTarget;
    let entry = context.session.catalog.entry(Oid(table.oid));
    let scheme = entry
        .as_ref()
        .and_then(|entry| entry.described.partitioning.as_ref());
    let reads = scheme.is_some_and(|scheme| {
        scheme.keys.iter().any(|key| match &key.target {
            IndexKeyTarget::Column(column) => *column == position,
            IndexKeyTarget::Expression(_, expr) => columns::columns_of(expr).contains(&position),
        })
    });
    if !reads {
        return Ok(());
    }
    let message = format!(
        "cannot {action} column \"{}\" because it is part of the partition key of relation \"{}\"",
        table.columns[position as usize].name, table.name
    );
    Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message))
}

/// varchar and text differ in what they accept: values of the narrower one are values of the wider one as they stand.
fn is_relabeling(column: &StoredColumn, ty: ColumnType) -> bool {
    let text_like = |ty: Oid| ty == oid::TEXT || ty == oid::VARCHAR;
    let wider = ty.typmod == -1 || (column.typmod != -1 && ty.typmod >= column.typmod);
    text_like(Oid(column.type_oid)) && text_like(ty.oid) && wider
        || (Oid(column.type_oid) == ty.oid && column.typmod == ty.typmod)
}

/// What depends on the type of a column and is not made anew by ALTER TYPE.
fn refuse_type_dependents(
    position: u16,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let column = &table.columns[position as usize].name;
    if let Some(view) = views_reading(table, position, context)?.first() {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used by a view or rule",
        )
        .detail(format!(
            "rule _RETURN on {} {} depends on column \"{column}\"",
            view.kind.word(),
            view.name
        )));
    }
    if let Some(name) = trigger::reading(table, position, context)?.first() {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used in a trigger definition",
        )
        .detail(format!(
            "trigger {name} on {} depends on column \"{column}\"",
            dropping::described(table, context)
        )));
    }
    if let Some(&other) = generated_from(table, position, context)?.first() {
        let other = &table.columns[other as usize].name;
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used by a generated column",
        )
        .detail(format!(
            "Column \"{column}\" is used by generated column \"{other}\"."
        )));
    }
    Ok(())
}

/// Foreign keys that the column takes part in, at either end: both ends must still be comparable, and rows find their
/// partners as before. The table is in the catalog with its new type.
fn check_foreign_keys(
    position: u16,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // A key stands with the referencing table; the other end is found by who uses this table.
    let catalog = context.session.catalog.current();
    let own = catalog.relation(Oid(table.oid)).into_iter();
    let users = catalog.relations_using(Oid(table.oid));
    for entry in own.chain(users.filter(|entry| entry.stored.oid != table.oid)) {
        for found in &entry.stored.constraints {
            let StoredConstraintKind::ForeignKey(key) = &found.kind else {
                continue;
            };
            let own = entry.stored.oid == table.oid;
            let concerned = own && key.columns.contains(&position)
                || key.referenced == table.oid && key.referenced_columns.contains(&position);
            if !concerned {
                continue;
            }
            let target = catalog.relation(Oid(key.referenced));
            let target = target.ok_or_else(|| SqlError::internal("a foreign key has its table"))?;
            let (columns, referenced) = (&key.columns, &key.referenced_columns);
            constraint::check_comparable(&found.name, &entry.stored, columns, &target.stored, referenced)?;
            let other = if own { target } else { entry };
            let Some(other) = schema::lock_entry(other, TableLockMode::ShareRowExclusive, context)? else {
                continue;
            };
            let (referencing, target) = if own { (entry, &other) } else { (&other, target) };
            row_checks::check_foreign_key_rows(
                &referencing.stored,
                &found.name,
                key,
                &target.stored,
                context,
            )?;
        }
    }
    Ok(())
}

/// The new value, over the old row.
fn conversion(
    name: &str,
    using: Option<&Expr>,
    ty: ColumnType,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Expression> {
    let relation = context
        .relation(Oid(table.oid))
        .ok_or_else(|| SqlError::internal("a table is in the catalog"))?;
    let bound = internal::on_large_stack(context, |session| {
        let (target, catalog) = (Some((name, ty)), &session.catalog);
        let purpose = RelationExpression::NewValue;
        // An assignment cast in both cases; without USING the column itself is the expression.
        match using {
            Some(using) => {
                let text = &session.statement_text;
                bind_written_expression(using, text, &relation, purpose, target, catalog)
            }
            None => {
                let text = deparse::identifier(name);
                bind_expression_over_relation(&text, &relation, purpose, target, catalog)
            }
        }
    });
    let bound = bound.map_err(|error| {
        if error.state() != state::DATATYPE_MISMATCH {
            return error;
        }
        let shown = ty.name();
        if using.is_some() {
            SqlError::new(
                state::DATATYPE_MISMATCH,
                format!("result of USING clause for column \"{name}\" cannot be cast automatically to type {shown}"),
            )
            .hint("You might need to add an explicit cast.")
        } else {
            let quoted = deparse::identifier(name);
            SqlError::new(
                state::DATATYPE_MISMATCH,
                format!("column \"{name}\" cannot be cast automatically to type {shown}"),
            )
            .hint(format!("You might need to specify \"USING {quoted}::{shown}\"."))
        }
    })?;
    // The row of a child has its columns at other places.
    let is_whole_row = |part: &Bound| matches!(part, Bound::Row { names, .. } if !names.is_empty());
    if !relation.children.is_empty() && bound.any(&mut |part| is_whole_row(part)) {
        let error = SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot convert whole-row table reference",
        );
        return Err(error.detail("USING expression contains a whole-row table reference."));
    }
    compile(&bound)
}

/// The default, if it can be assigned to the new type; PostgreSQL's words if it cannot.
fn check_default(
    name: &str,
    text: &str,
    (of, ty): (Oid, ColumnType),
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let bound = internal::on_large_stack(context, |session| {
        let expression = rewrite::parse_expression(text)?;
        // A literal was read as a value of the old type.
        let is_literal = matches!(expression.kind, ExprKind::Constant(Literal::String(_)));
        if is_literal
            && !matches!(
                can_cast(of, ty.oid),
                Some(CastContext::Implicit | CastContext::Assignment)
            )
        {
            return Err(SqlError::new(state::DATATYPE_MISMATCH, ""));
        }
        mote_sql::bind_free_expression(&expression, Some(ty), "", &session.catalog)
    });
    bound.map(|_| ()).map_err(|error| {
        if error.state() != state::DATATYPE_MISMATCH {
            return error;
        }
        SqlError::new(
            state::DATATYPE_MISMATCH,
            format!(
                "default for column \"{name}\" cannot be cast automatically to type {}",
                ty.name()
            ),
        )
    })
}

/// ADD GENERATED AS IDENTITY.
pub(super) fn add_identity(
    name: &str,
    always: bool,
    options: &[DefinitionOption],
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = columns::existing(table, name)?;
    let column = &table.columns[position];
    let prerequisite = |message: String| Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    if column.identity_always.is_some() {
        return prerequisite(format!(
            "column \"{name}\" of relation \"{}\" is already an identity column",
            table.name
        ));
    }
    if column.default.is_some() {
        return prerequisite(format!(
            "column \"{name}\" of relation \"{}\" already has a default value",
            table.name
        ));
    }
    // Unlike in CREATE TABLE identity does not imply NOT NULL here.
    if !column.not_null {
        return prerequisite(format!(
            "column \"{name}\" of relation \"{}\" must be declared NOT NULL before identity can be added",
            table.name
        ));
    }
    let ty = ColumnType::new(Oid(column.type_oid));
    create_table::require_identity_type(ty)?;
    // Rows that exist keep their values; the sequence begins as its options say.
    let made = sequence::create_owned(table, name, position as u16, ty, options, context)?;
    let column = &mut table.columns[position];
    column.identity_always = Some(always);
    column.owned_sequence = Some(made.oid);
    Ok(())
}

/// SET GENERATED, and options of the identity's sequence.
pub(super) fn set_identity(
    name: &str,
    options: &[DefinitionOption],
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = columns::existing(table, name)?;
    let (Some(_), Some(owned)) = (
        table.columns[position].identity_always,
        table.columns[position].owned_sequence,
    ) else {
        return Err(not_identity(name, table));
    };
    let mut of_sequence = Vec::new();
    for option in options {
        match (&*option.name, &option.value) {
            ("generated", Some(mote_grammar::ast::OptionValue::Integer(code))) => {
                // `a` is ALWAYS, `d` is BY DEFAULT: the codes of pg_attribute.attidentity.
                table.columns[position].identity_always = Some(*code == i32::from(b'a'));
            }
            ("generated", _) => return Err(SqlError::unsupported("this form of SET GENERATED")),
            _ => of_sequence.push(option.clone()),
        }
    }
    if of_sequence.is_empty() {
        Ok(())
    } else {
        sequence::alter_owned(Oid(owned), &of_sequence, context)
    }
}

/// DROP IDENTITY: the column keeps its values and NOT NULL, and loses its sequence.
pub(super) fn drop_identity(
    name: &str,
    if_exists: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = columns::existing(table, name)?;
    if table.columns[position].identity_always.is_none() {
        let error = not_identity(name, table);
        if if_exists {
            schema::notice(
                state::SUCCESSFUL_COMPLETION,
                format!("{}, skipping", error.message()),
                context,
            );
            return Ok(());
        }
        return Err(error);
    }
    let column = &mut table.columns[position];
    column.identity_always = None;
    if let Some(owned) = column.owned_sequence.take()
        && let Some(entry) = context.session.catalog.entry(Oid(owned))
    {
        sequence::remove(&entry.stored, context)?;
    }
    Ok(())
}

/// 55000, in PostgreSQL's words.
fn not_identity(name: &str, table: &StoredRelation) -> SqlError {
    SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "column \"{name}\" of relation \"{}\" is not an identity column",
            table.name
        ),
    )
}

/// DROP EXPRESSION: what was computed becomes an ordinary value.
pub(super) fn drop_expression(
    name: &str,
    if_exists: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = columns::existing(table, name)?;
    // Values that rows hold stay as they were computed.
    if table.columns[position].generated.take().is_some() {
        return Ok(());
    }
    let message = format!(
        "column \"{name}\" of relation \"{}\" is not a stored generated column",
        table.name
    );
    if if_exists {
        schema::notice(
            state::SUCCESSFUL_COMPLETION,
            format!("{message}, skipping"),
            context,
        );
        return Ok(());
    }
    Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
}
