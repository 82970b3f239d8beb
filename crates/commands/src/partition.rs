//! Partition keys and bounds as statements write them, and what a new bound does to the partitions there are.
//!
//! Messages and their order are PostgreSQL's (`transformPartitionSpec`, `transformPartitionBound`,
//! `check_new_partition_bound`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_engine::{Access, TableLockMode};
use mote_grammar::ast;
use mote_grammar::ast::{
    ExprKind, PartitionBoundKind as WrittenBound, PartitionBy, PartitionElement, PartitionRangeDatum, deparse,
};
use mote_sql::catalog::partition::{
    BoundConflict, PartitionBound, PartitionKey, PartitionScheme, PartitionStrategy, RangeDatum, same_value,
};
use mote_sql::catalog::{IndexKeyTarget, Relation};
use mote_sql::{RelationExpression, bind_partition_value, bind_written_expression};
use mote_types::{ColumnType, Datum};

use super::{columns, internal, schema};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::partitions::describe_plain;
use mote_catalog::catalog_store::stored::{
    StoredPartitionKey, StoredPartitioning, StoredRelation, StoredStrategy,
};
use mote_catalog::views::partition_text;
use mote_executor::context::StatementContext;
use mote_executor::expr::compile;
use mote_executor::node::modify::partition::{KeyExpressions, PartitionTest};
use mote_executor::row_codec::RowCodec;
use mote_executor::runtime::{Runtime, Values};

/// PostgreSQL's PARTITION_MAX_KEYS.
const KEYS_MAX: usize = 32;
const INVALID: SqlState = state::INVALID_OBJECT_DEFINITION;

/// PARTITION BY of a table whose columns are known.
pub(super) fn partitioning(
    by: &PartitionBy,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredPartitioning> {
    let strategy = match by.strategy {
        ast::PartitionStrategy::List => StoredStrategy::List,
        ast::PartitionStrategy::Range => StoredStrategy::Range,
        ast::PartitionStrategy::Hash => StoredStrategy::Hash,
    };
    // A list tells single values apart; PostgreSQL knows no list of rows.
    if strategy == StoredStrategy::List && by.elements.len() != 1 {
        let message = "cannot use \"list\" partition strategy with more than one column";
        return Err(SqlError::new(INVALID, message));
    }
    if by.elements.len() > KEYS_MAX {
        let message = format!("cannot partition using more than {KEYS_MAX} columns");
        return Err(SqlError::new(state::TOO_MANY_COLUMNS, message));
    }
    // Described without its place in the catalog, where the table does not stand yet.
    let relation = Arc::new(describe_plain(table));
    let keys = by
        .elements
        .iter()
        .map(|element| key_of(element, strategy, table, &relation, context))
        .collect::<SqlResult<_>>()?;
    Ok(StoredPartitioning { strategy, keys })
}

/// One key: a column, or an expression over columns of the row.
fn key_of(
    element: &PartitionElement,
    strategy: StoredStrategy,
    table: &StoredRelation,
    relation: &Arc<Relation>,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredPartitionKey> {
    let place = element.value.location.position(&context.session.statement_text);
    let key = match &element.value.kind {
        ExprKind::Column(reference) if reference.parts.len() == 1 && !reference.star => {
            column_key(&reference.parts[0], table).map_err(|error| error.at(place))?
        }
        _ => expression_key(&element.value, table, relation, context)?,
    };
    let ty = ColumnType::with_typmod(Oid(key.type_oid), key.typmod);
    let described = mote_catalog::catalog_store::partitions::describe_strategy(strategy);
    // Keys are compared, or hashed for HASH.
    if !PartitionKey::supports(ty, described) {
        let method = match strategy {
            StoredStrategy::Hash => "hash",
            _ => "btree",
        };
        return Err(SqlError::new(
            state::UNDEFINED_OBJECT,
            format!(
                "data type {} has no default operator class for access method \"{method}\"",
                ColumnType::new(ty.oid).name()
            ),
        )
        .hint(format!(
            "You must specify a {method} operator class or define a default {method} operator class for the data type."
        )));
    }
    Ok(key)
}

/// A key that is a column by itself.
fn column_key(name: &str, table: &StoredRelation) -> SqlResult<StoredPartitionKey> {
    let Some(position) = table.columns.iter().position(|c| !c.dropped && c.name == name) else {
        if ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"].contains(&name) {
            let message = format!("cannot use system column \"{name}\" in partition key");
            return Err(SqlError::new(INVALID, message));
        }
        let message = format!("column \"{name}\" named in partition key does not exist");
        return Err(SqlError::new(state::UNDEFINED_COLUMN, message));
    };
    let column = &table.columns[position];
    if column.generated.is_some() {
        return Err(generated_column(name));
    }
    Ok(StoredPartitionKey {
        column: Some(position as u16),
        expression: None,
        type_oid: column.type_oid,
        typmod: column.typmod,
    })
}

/// 42P17: a generated column is computed after the row has found its partition.
fn generated_column(name: &str) -> SqlError {
    SqlError::new(INVALID, "cannot use generated column in partition key")
        .detail(format!("Column \"{name}\" is a generated column."))
}

/// A key that is computed. It decides where a row is for as long as the row lives: immutable, and not the same for
/// all.
fn expression_key(
    expr: &ast::Expr,
    table: &StoredRelation,
    relation: &Arc<Relation>,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredPartitionKey> {
    let bound = internal::on_large_stack(context, |session| {
        let (text, purpose) = (&session.statement_text, RelationExpression::PartitionKey);
        bind_written_expression(expr, text, relation, purpose, None, &session.catalog)
    })?;
    let columns = columns::columns_of(&bound);
    for &column in &columns {
        let column = &table.columns[column as usize];
        if column.generated.is_some() {
            return Err(generated_column(&column.name));
        }
    }
    if !bound.is_immutable() {
        let message = "functions in partition key expression must be marked IMMUTABLE";
        return Err(SqlError::new(INVALID, message));
    }
    if columns.is_empty() {
        return Err(SqlError::new(
            INVALID,
            "cannot use constant expression as partition key",
        ));
    }
    let ty = bound.ty();
    Ok(StoredPartitionKey {
        column: None,
        expression: Some(deparse::expression(expr)),
        type_oid: ty.oid.0,
        typmod: ty.typmod,
    })
}

/// The scheme that partitions are added to.
pub(super) fn scheme_of(parent: &RelationEntry) -> SqlResult<Arc<PartitionScheme>> {
    let name = &parent.stored.name;
    parent
        .described
        .partitioning
        .clone()
        .ok_or_else(|| SqlError::new(INVALID, format!("\"{name}\" is not partitioned")))
}

/// FOR VALUES of a partition named `partition`, not in conflict with those there are.
pub(super) fn new_bound(
    written: &ast::PartitionBound,
    partition: &str,
    parent: &RelationEntry,
    context: &mut StatementContext<'_>,
) -> SqlResult<PartitionBound> {
    let scheme = scheme_of(parent)?;
    // First what it means by itself, then what it means beside the others.
    let bound = transform(written, &scheme, &parent.described, context)?;
    check_against(&bound, written, partition, &scheme, context)?;
    Ok(bound)
}

/// FOR VALUES as values of the key's types (transformPartitionBound).
fn transform(
    bound: &ast::PartitionBound,
    scheme: &PartitionScheme,
    parent: &Relation,
    context: &mut StatementContext<'_>,
) -> SqlResult<PartitionBound> {
    let invalid = |message: String| Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    let place = bound.location.position(&context.session.statement_text);
    let mismatch = || {
        let message = format!(
            "invalid bound specification for a {} partition",
            scheme.strategy.name()
        );
        Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message).at(place))
    };
    match (&bound.kind, scheme.strategy) {
        // A hash partition is chosen by remainders, which leave nothing over.
        (WrittenBound::Default, PartitionStrategy::Hash) => {
            invalid("a hash-partitioned table may not have a default partition".into())
        }
        (WrittenBound::Default, _) => Ok(PartitionBound::Default),
        (WrittenBound::Hash { modulus, remainder }, PartitionStrategy::Hash) => {
            if *modulus <= 0 {
                return invalid(
                    "modulus for hash partition must be an integer value greater than zero".into(),
                );
            }
            if *remainder < 0 {
                return invalid(
                    "remainder for hash partition must be an integer value greater than or equal to zero"
                        .into(),
                );
            }
            if remainder >= modulus {
                return invalid("remainder for hash partition must be less than modulus".into());
            }
            // Both fit: the grammar has read them as 32-bit integers, and they are not negative here.
            Ok(PartitionBound::Hash {
                modulus: *modulus as u32,
                remainder: *remainder as u32,
            })
        }
        (WrittenBound::In(values), PartitionStrategy::List) => {
            let mut list: Vec<Datum> = Vec::with_capacity(values.len());
            for expr in values {
                let value = value_of(expr, &scheme.keys[0], parent, context)?;
                // A value written twice counts once; NULL is a value of a list.
                if !list.iter().any(|known| same_value(known, &value)) {
                    list.push(value);
                }
            }
            Ok(PartitionBound::List(list))
        }
        (WrittenBound::Range { from, to }, PartitionStrategy::Range) => {
            for (datums, word) in [(from, "FROM"), (to, "TO")] {
                if datums.len() != scheme.keys.len() {
                    return invalid(format!(
                        "{word} must specify exactly one value per partitioning column"
                    ));
                }
            }
            Ok(PartitionBound::Range {
                from: range_datums(from, scheme, parent, context)?,
                to: range_datums(to, scheme, parent, context)?,
            })
        }
        _ => mismatch(),
    }
}

/// One end of a range, a datum per key.
fn range_datums(
    written: &[PartitionRangeDatum],
    scheme: &PartitionScheme,
    parent: &Relation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<RangeDatum>> {
    let mut datums: Vec<RangeDatum> = Vec::with_capacity(written.len());
    for (written, key) in written.iter().zip(&scheme.keys) {
        let datum = match written {
            PartitionRangeDatum::MinValue => RangeDatum::MinValue,
            PartitionRangeDatum::MaxValue => RangeDatum::MaxValue,
            PartitionRangeDatum::Value(expr) => {
                let value = value_of(expr, key, parent, context)?;
                if value.is_null() {
                    return Err(SqlError::new(INVALID, "cannot specify NULL in range bound"));
                }
                RangeDatum::Value(value)
            }
        };
        // Behind MINVALUE or MAXVALUE no further key decides: they must all say the same.
        let unbounded = match (datums.last(), &datum) {
            (Some(RangeDatum::MinValue), RangeDatum::Value(_) | RangeDatum::MaxValue) => Some("MINVALUE"),
            (Some(RangeDatum::MaxValue), RangeDatum::Value(_) | RangeDatum::MinValue) => Some("MAXVALUE"),
            _ => None,
        };
        if let Some(word) = unbounded {
            return Err(SqlError::new(
                state::DATATYPE_MISMATCH,
                format!("every bound following {word} must also be {word}"),
            )
            .at(range_expr(std::slice::from_ref(written))
                .map_or(0, |value| value.start().position(&context.session.statement_text))));
        }
        datums.push(datum);
    }
    Ok(datums)
}

/// A value of a bound, in the key's type. Any expression without columns is evaluated here and now.
fn value_of(
    expr: &ast::Expr,
    key: &PartitionKey,
    parent: &Relation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Datum> {
    let bound = internal::on_large_stack(context, |session| {
        bind_partition_value(expr, key.ty, &session.statement_text, &session.catalog)
    })?;
    let Some(bound) = bound else {
        let name = match &key.target {
            IndexKeyTarget::Column(column) => parent.columns[*column as usize].name.clone(),
            IndexKeyTarget::Expression(text, _) => text.clone(),
        };
        let message = format!(
            "specified value cannot be cast to type {} for column \"{name}\"",
            ColumnType::new(key.ty.oid).name()
        );
        return Err(SqlError::new(state::DATATYPE_MISMATCH, message)
            .at(expr.start().position(&context.session.statement_text)));
    };
    let expression = compile(&bound)?;
    // A bound may read the clock or call functions; it is evaluated once, and kept as a value.
    let snapshot = context.transaction.begin_statement(Access::Write);
    let mut values = Values::default();
    expression.evaluate(&[], &mut Runtime::new(context, &snapshot, &mut values))
}

/// Refuses an empty bound, and one that takes what another partition takes.
fn check_against(
    bound: &PartitionBound,
    written: &ast::PartitionBound,
    partition: &str,
    scheme: &PartitionScheme,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let name = |oid: Oid| {
        let entry = catalog.relation(oid);
        entry.map(|entry| entry.stored.name.clone()).unwrap_or_default()
    };
    let text = &context.session.statement_text;
    let place = |value: Option<&ast::Expr>| value.map_or(0, |value| value.start().position(text));
    // FROM not below TO: no row would ever fit.
    if scheme.is_empty_range(bound)
        && let PartitionBound::Range { from, to } = bound
    {
        let format = &context.session.settings.effective.format;
        let shown = |datums: &[RangeDatum]| partition_text::range(datums, &scheme.keys, format);
        let written = match &written.kind {
            WrittenBound::Range { from, .. } => range_expr(from),
            _ => None,
        };
        return Err(SqlError::new(
            INVALID,
            format!("empty range bound specified for partition \"{partition}\""),
        )
        .detail(format!(
            "Specified lower bound {} is greater than or equal to upper bound {}.",
            shown(from),
            shown(to)
        ))
        .at(place(written)));
    }
    match scheme.conflict(bound) {
        None => Ok(()),
        Some(BoundConflict::Default(with)) => Err(SqlError::new(
            INVALID,
            format!(
                "partition \"{partition}\" conflicts with existing default partition \"{}\"",
                name(with)
            ),
        )
        .at(written.location.position(text))),
        Some(BoundConflict::Modulus {
            neighbour,
            of,
            greater,
        }) => {
            let PartitionBound::Hash { modulus, .. } = bound else {
                return Err(SqlError::internal("only hash partitions have a modulus"));
            };
            let relation = if greater { "a factor of" } else { "divisible by" };
            Err(SqlError::new(
                INVALID,
                "every hash partition modulus must be a factor of the next larger modulus",
            )
            .detail(format!(
                "The new modulus {modulus} is not {relation} {neighbour}, the modulus of existing partition \"{}\".",
                name(of)
            )))
        }
        Some(BoundConflict::Overlap { with, value }) => {
            // The error points at the value that overlaps, where the statement has one.
            let value = match &written.kind {
                WrittenBound::In(values) => values.get(value),
                WrittenBound::Range { from, .. } if value == 0 => range_expr(from),
                WrittenBound::Range { to, .. } => range_expr(to),
                _ => None,
            };
            let place = value.map_or(written.location, ast::Expr::start).position(text);
            Err(SqlError::new(
                INVALID,
                format!(
                    "partition \"{partition}\" would overlap partition \"{}\"",
                    name(with)
                ),
            )
            .at(place))
        }
    }
}

/// The first value of a range's end, which errors point at; None for MINVALUE and MAXVALUE.
fn range_expr(datums: &[PartitionRangeDatum]) -> Option<&ast::Expr> {
    match datums.first() {
        Some(PartitionRangeDatum::Value(expr)) => Some(expr),
        _ => None,
    }
}

/// The default partition of a table, locked so that no row gets into it any more, if there is one.
pub(super) fn lock_default(
    scheme: &PartitionScheme,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<Arc<RelationEntry>>> {
    let Some(position) = scheme.default else {
        return Ok(None);
    };
    let oid = scheme.partitions[position].oid;
    match context.session.catalog.entry(oid) {
        Some(entry) => schema::lock_entry(&entry, TableLockMode::AccessExclusive, context),
        None => Ok(None),
    }
}

/// Which table the error names where the default partition is partitioned itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Default,
    Leaf,
}

/// No row of the default partition may be one that the new bound takes.
pub(super) fn check_default(
    default: &RelationEntry,
    bound: &PartitionBound,
    parent: &RelationEntry,
    named: Named,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let scheme = scheme_of(parent)?;
    let only = mote_sql::catalog::partition::Partition {
        oid: Oid::INVALID,
        bound: bound.clone(),
    };
    // A scheme of the new partition alone: does it find a place for the row?
    let taken = PartitionScheme::new(scheme.strategy, scheme.keys.clone(), vec![only]);
    let parent = &parent.stored;
    for leaf in leaves_of(default, context)? {
        let keys =
            // The leaf may have its columns at other positions than the parent.
            mote_catalog::catalog_store::partitions::keys_over(scheme.keys.clone(), parent, &leaf.described)?;
        // Compiled once per leaf, evaluated once per row.
        let keys = KeyExpressions::compile(&keys)?;
        let (mut key, mut scratch) = (Vec::new(), Vec::new());
        let found = any_row(&leaf.described, context, &mut |row, runtime| {
            keys.evaluate(row, runtime, &mut key)?;
            Ok(taken.find(&key, &mut scratch).is_some())
        })?;
        if found {
            let default = match named {
                Named::Default => &default.stored,
                Named::Leaf => &leaf.stored,
            };
            return Err(SqlError::new(
                state::CHECK_VIOLATION,
                format!(
                    "updated partition constraint for default partition \"{}\" would be violated by some row",
                    default.name
                ),
            )
            .table(schema::schema_name(default, context), default.name.as_str()));
        }
    }
    Ok(())
}

/// Every row of a table, and of those below it, must be one that its (new) place in the tree takes.
pub(super) fn check_rows(attached: &RelationEntry, context: &mut StatementContext<'_>) -> SqlResult<()> {
    for leaf in leaves_of(attached, context)? {
        // The bounds of all levels above: a row must fit each of them.
        let Some(test) = PartitionTest::compile(&leaf.described.partition_levels)? else {
            continue;
        };
        if any_row(&leaf.described, context, &mut |row, runtime| {
            Ok(!test.holds(row, runtime)?)
        })? {
            return Err(SqlError::new(
                state::CHECK_VIOLATION,
                format!(
                    "partition constraint of relation \"{}\" is violated by some row",
                    leaf.stored.name
                ),
            )
            .table(
                schema::schema_name(&leaf.stored, context),
                leaf.stored.name.as_str(),
            ));
        }
    }
    Ok(())
}

/// A table that holds rows, or all those below a partitioned one, locked like it.
fn leaves_of(
    table: &RelationEntry,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<Arc<RelationEntry>>> {
    let oid = Oid(table.stored.oid);
    let mut leaves = Vec::new();
    let tables = std::iter::once(oid).chain(context.session.catalog.current().descendants_of(oid));
    for oid in tables.collect::<Vec<_>>() {
        let Some(entry) = context.session.catalog.entry(oid) else {
            continue;
        };
        let locked = schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
        leaves.extend(locked.filter(|entry| entry.stored.partitioning.is_none()));
    }
    Ok(leaves)
}

/// Whether any row there is passes a test. The caller's lock keeps writers away.
fn any_row(
    relation: &Arc<Relation>,
    context: &mut StatementContext<'_>,
    test: &mut dyn FnMut(&[Datum], &mut Runtime<'_, '_>) -> SqlResult<bool>,
) -> SqlResult<bool> {
    // A row that a transaction's first snapshot does not see must not be missed.
    internal::require_newest(context)?;
    let Some(table) = context.database.engine().table(relation.table) else {
        return Ok(false);
    };
    let codec = RowCodec::new(relation);
    let transaction = context.transaction;
    let snapshot = transaction.begin_statement(Access::Write);
    let mut values = Values::default();
    let mut runtime = Runtime::new(context, &snapshot, &mut values);
    let mut row = Vec::new();
    let mut scan = table.scan();
    while let Some(version) = scan.next(&table, transaction, &snapshot) {
        row.clear();
        codec.read_row(&table.view(version.layout(), version.bytes()), &mut row);
        if test(&row, &mut runtime)? {
            return Ok(true);
        }
        // A long scan yields, though nothing is emitted.
        runtime.burn(1)?;
    }
    Ok(false)
}
