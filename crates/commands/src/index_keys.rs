//! What an index is over: columns, expressions, a predicate; resolved from a statement, or again after the table changed.
//!
//! Expressions are bound over the table's row, their literals fixed, and kept as canonical text, so that they mean the same
//! in every session and at recovery (`index_texts`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{
    CreateIndex, Expr, IndexElement, IndexValue, NullsOrder, QualifiedName, SortDirection,
};
use mote_sql::bind::implied_name;
use mote_sql::bind::query::WHOLE_ROW;
use mote_sql::builtin::function::{FunctionId, Volatility};
use mote_sql::catalog::Relation;
use mote_sql::catalog::index_method::IndexMethod;
use mote_sql::expr::Expr as Bound;
use mote_sql::{RelationExpression, bind_written_expression};
use mote_types::catalog::extension::CITEXT;
use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::user::{is_enum, is_user_multirange, is_user_range};
use mote_types::catalog::{is_text_like, polymorphism};
use mote_types::signature::OperatorClass;
use mote_types::{ColumnType, oid};

use super::internal;
use mote_catalog::catalog_store::index_texts::{self, BoundIndex, fix_literals, key_type, stored_text};
use mote_catalog::catalog_store::stored::{StoredIndex, StoredIndexKey, StoredRelation};
use mote_catalog::views::builtin;
use mote_executor::context::StatementContext;
use mote_executor::expr::compile;
use mote_executor::index_keys::EVALUATION;
use mote_executor::runtime::{Runtime, Values};

/// Names that every table has columns by, though no index can be over them.
const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"];

/// What an index is over.
#[derive(Clone, Default)]
pub(super) struct IndexKeys {
    /// In order, each a column or an expression.
    pub keys: Vec<StoredIndexKey>,
    /// The text of WHERE.
    pub predicate: Option<String>,
    /// The expressions of the keys, in their order, and the predicate: bound over the table's row.
    pub bound: Arc<BoundIndex>,
}

impl IndexKeys {
    /// Plain columns.
    pub fn of_columns(keys: Vec<StoredIndexKey>) -> IndexKeys {
        IndexKeys {
            keys,
            ..IndexKeys::default()
        }
    }
}

/// The keys and the predicate that a statement names.
pub(super) fn resolve(
    create: &CreateIndex,
    method: IndexMethod,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<IndexKeys> {
    let relation = described(table, context)?;
    let predicate = match &create.filter {
        Some(filter) => Some(bind(
            filter,
            RelationExpression::IndexPredicate,
            &relation,
            context,
        )?),
        None => None,
    };
    let mut elements = Vec::with_capacity(create.elements.len());
    for element in &create.elements {
        let expr = match &element.value {
            IndexValue::Column(_) => None,
            IndexValue::Expr(expr) => Some(bind(expr, RelationExpression::IndexKey, &relation, context)?),
        };
        elements.push((element, expr));
    }
    // Rows would be in the index or not by something else than their values.
    if predicate
        .as_ref()
        .is_some_and(|predicate| !predicate.is_immutable())
    {
        return Err(not_immutable("predicate"));
    }
    let names = relation.quoted_column_names();
    let mut bound = BoundIndex {
        expressions: Vec::new(),
        predicate,
    };
    let mut keys: Vec<StoredIndexKey> = Vec::with_capacity(elements.len());
    for (element, expr) in elements {
        let key = match expr {
            None => key_of_column(element, table)?,
            // An expression that is nothing but a column.
            Some(Bound::Column { index, .. }) => {
                StoredIndexKey::of_column(index, &table.columns[index as usize])
            }
            Some(expr) => {
                let key = key_of_expression(element, &expr, method, &names)?;
                bound.expressions.push(expr);
                key
            }
        };
        let key = with_properties(key, element, method)?;
        keys.push(with_unused_name(key, &keys, table));
    }
    Ok(IndexKeys {
        predicate: bound.predicate.as_ref().map(|expr| stored_text(expr, &names)),
        keys,
        bound: Arc::new(bound),
    })
}

/// The keys of an index over a table like its own, whose columns are where `moved` says.
pub(super) fn moved(
    index: &StoredIndex,
    table: &StoredRelation,
    moved: impl Fn(u16) -> Option<u16>,
) -> SqlResult<IndexKeys> {
    let lost = || SqlError::internal("a copied index lost a column");
    let mut keys = index.keys.clone();
    // By the caller's map: LIKE and partitions have the same columns at other places.
    for key in &mut keys {
        if let Some(column) = key.column {
            key.column = Some(moved(column).ok_or_else(lost)?);
        }
    }
    let mut bound = (*index.bound).clone();
    let mut complete = true;
    for part in bound.expressions.iter_mut().chain(&mut bound.predicate) {
        part.rewrite(&mut |part| match part {
            Bound::Column { index, ty } => {
                let position = moved(*index);
                complete &= position.is_some();
                position.map(|index| Bound::Column { index, ty: *ty })
            }
            _ => None,
        });
    }
    if !complete {
        return Err(lost());
    }
    // The texts follow, since columns may be called otherwise.
    let (expressions, predicate) = texts(&bound, &quoted_names(table));
    let of_expressions = keys.iter_mut().filter(|key| key.column.is_none());
    for (key, text) in of_expressions.zip(expressions) {
        key.expression = Some(text);
    }
    Ok(IndexKeys {
        keys,
        predicate,
        bound: Arc::new(bound),
    })
}

/// The keys of an index whose table has other types now.
pub(super) fn again(
    index: &StoredIndex,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<IndexKeys> {
    let method = index.method()?;
    let check_class = |key: &StoredIndexKey| check_class(key, method);
    let mut keys = index.keys.clone();
    for key in &mut keys {
        // The column's type may be another than when the index was made.
        if let Some(column) = key.column {
            let column = &table.columns[column as usize];
            (key.type_oid, key.typmod) = (column.type_oid, column.typmod);
        }
    }
    if index.is_plain() {
        keys.iter().try_for_each(check_class)?;
        return Ok(IndexKeys::of_columns(keys));
    }
    let relation = described(table, context)?;
    let catalog = &context.session.catalog;
    // From the texts: functions and operators are found anew for the new types.
    let bound = index_texts::bind(
        &index.expressions(),
        index.predicate.as_deref(),
        &relation,
        catalog,
        &EVALUATION,
    )?;
    // What is called now may be another function.
    if bound.expressions.iter().any(|expr| !expr.is_immutable()) {
        return Err(not_immutable("expression"));
    }
    if bound.predicate.as_ref().is_some_and(|expr| !expr.is_immutable()) {
        return Err(not_immutable("predicate"));
    }
    let (texts, predicate) = texts(&bound, &quoted_names(table));
    let of_expressions = keys.iter_mut().filter(|key| key.column.is_none());
    for ((key, expr), text) in of_expressions.zip(&bound.expressions).zip(texts) {
        key.expression = Some(text);
        (key.type_oid, key.typmod) = type_of(expr, method)?;
    }
    keys.iter().try_for_each(check_class)?;
    Ok(IndexKeys {
        predicate,
        keys,
        bound: Arc::new(bound),
    })
}

/// The names of a table's columns, as texts write them.
fn quoted_names(table: &StoredRelation) -> Vec<String> {
    let names = table.columns.iter().map(|column| column.name.as_str());
    names.map(mote_grammar::ast::deparse::identifier).collect()
}

/// Canonical texts of the expressions, and of the predicate.
fn texts(bound: &BoundIndex, names: &[String]) -> (Vec<String>, Option<String>) {
    let text = |expr: &Bound| stored_text(expr, names);
    (
        bound.expressions.iter().map(text).collect(),
        bound.predicate.as_ref().map(text),
    )
}

/// Texts of the table's indexes with the names that its columns have now.
pub(super) fn refresh_texts(table: &mut StoredRelation) {
    let names = quoted_names(table);
    for index in &mut table.indexes {
        let (expressions, predicate) = texts(&index.bound, &names);
        let of_expressions = index.keys.iter_mut().filter(|key| key.column.is_none());
        for (key, text) in of_expressions.zip(expressions) {
            key.expression = Some(text);
        }
        index.predicate = predicate;
    }
}

/// The table as expressions are bound over it.
fn described(table: &StoredRelation, context: &StatementContext<'_>) -> SqlResult<Arc<Relation>> {
    context
        .relation(Oid(table.oid))
        .ok_or_else(|| SqlError::internal("a table is in the catalog before its indexes are made"))
}

/// Binds what the statement says, its literals read as this session reads them.
fn bind(
    expr: &Expr,
    purpose: RelationExpression,
    relation: &Arc<Relation>,
    context: &mut StatementContext<'_>,
) -> SqlResult<Bound> {
    let mut bound = internal::on_large_stack(context, |session| {
        let (text, catalog) = (&session.statement_text, &session.catalog);
        bind_written_expression(expr, text, relation, purpose, None, catalog)
    })?;
    let mut refused = None;
    // What an index cannot be over, whatever its method is.
    bound.any(&mut |part| {
        match part {
            Bound::Variable { column, .. } if *column == WHOLE_ROW => {
                refused = Some(SqlError::unsupported("a whole-row reference in an index"));
            }
            Bound::Variable { .. } => refused = Some(on_system_column()),
            // The engine asks for keys where there is no session, in recovery for one.
            Bound::Routine(call) if call.routine.volatility == Volatility::Immutable => {
                refused = Some(SqlError::unsupported("a function of a user in an index"));
            }
            // Nor a dictionary that knows what the bounds are, which polymorphic functions ask.
            Bound::Call {
                function, arguments, ..
            } if asks_for_bounds(*function) && arguments.iter().any(is_of_users_range) => {
                let what = "a function or operator over a range type of a user in an index";
                refused = Some(SqlError::unsupported(what));
            }
            Bound::Parameter { index, .. } => {
                let message = format!("there is no parameter ${}", index + 1);
                refused = Some(SqlError::new(state::UNDEFINED_PARAMETER, message));
            }
            _ => {}
        }
        refused.is_some()
    });
    if let Some(error) = refused {
        return Err(error);
    }
    let snapshot = context.transaction.snapshot();
    let mut values = Values::default();
    let mut runtime = Runtime::new(context, &snapshot, &mut values);
    // A literal such as '1 Jan'::date is read once: later sessions may read it otherwise.
    fix_literals(&mut bound, &mut |cast| compile(cast)?.evaluate(&[], &mut runtime))?;
    Ok(bound)
}

/// Does a function of ranges take or give what their bounds are?
fn asks_for_bounds(function: FunctionId) -> bool {
    let signature = function.signature();
    let types = signature.arguments.iter().chain([&signature.result]);
    let of_ranges = [oid::ANYRANGE, oid::ANYMULTIRANGE];
    types
        .into_iter()
        .any(|ty| polymorphism(*ty).is_some() && !of_ranges.contains(ty))
}

fn is_of_users_range(expr: &Bound) -> bool {
    let ty = expr.ty();
    let ty = ty.element().unwrap_or(ty).oid;
    is_user_range(ty) || is_user_multirange(ty)
}

/// 0A000, as in PostgreSQL.
fn on_system_column() -> SqlError {
    SqlError::new(
        state::FEATURE_NOT_SUPPORTED,
        "index creation on system columns is not supported",
    )
}

/// 42P17: an index whose keys could change would lose its rows.
fn not_immutable(part: &str) -> SqlError {
    SqlError::new(
        state::INVALID_OBJECT_DEFINITION,
        format!("functions in index {part} must be marked IMMUTABLE"),
    )
}

/// A key that is a column.
fn key_of_column(element: &IndexElement, table: &StoredRelation) -> SqlResult<StoredIndexKey> {
    let IndexValue::Column(name) = &element.value else {
        return Err(SqlError::internal("an expression is bound"));
    };
    let found = table
        .columns
        .iter()
        .position(|column| !column.dropped && column.name == **name);
    match found {
        Some(position) => Ok(StoredIndexKey::of_column(
            position as u16,
            &table.columns[position],
        )),
        None if SYSTEM_COLUMNS.contains(&&**name) => Err(on_system_column()),
        None => Err(SqlError::new(
            state::UNDEFINED_COLUMN,
            format!("column \"{name}\" does not exist"),
        )),
    }
}

/// A key that is computed: immutable, of a type that can be a key.
fn key_of_expression(
    element: &IndexElement,
    expr: &Bound,
    method: IndexMethod,
    names: &[String],
) -> SqlResult<StoredIndexKey> {
    if !expr.is_immutable() {
        return Err(not_immutable("expression"));
    }
    let (type_oid, typmod) = type_of(expr, method)?;
    // The index's column is called as a target of SELECT would be.
    let implied = match &element.value {
        IndexValue::Expr(written) => implied_name(written),
        IndexValue::Column(_) => None,
    };
    Ok(StoredIndexKey {
        column: None,
        expression: Some(stored_text(expr, names)),
        name: Some(implied.as_deref().unwrap_or("expr").to_string()),
        type_oid,
        typmod,
        collation: None,
        operator_class: None,
        descending: false,
        nulls_first: false,
    })
}

/// The name of a key among the index's columns.
pub(super) fn name_of<'t>(key: &'t StoredIndexKey, table: &'t StoredRelation) -> &'t str {
    let column = key
        .column
        .map(|column| table.columns[column as usize].name.as_str());
    key.name.as_deref().or(column).unwrap_or("expr")
}

/// As PostgreSQL tells the columns of an index apart: by a number behind the name.
fn with_unused_name(
    key: StoredIndexKey,
    before: &[StoredIndexKey],
    table: &StoredRelation,
) -> StoredIndexKey {
    let name = name_of(&key, table);
    let is_used = |name: &str| before.iter().any(|key| name_of(key, table) == name);
    if !is_used(name) {
        return key;
    }
    let mut numbered = (1..).map(|number| format!("{name}{number}"));
    let name = numbered.find(|name| !is_used(name));
    StoredIndexKey { name, ..key }
}

/// The type of an expression's keys; an error if no key can be made of it.
fn type_of(expr: &Bound, method: IndexMethod) -> SqlResult<(u32, i32)> {
    let ty = key_type(expr);
    if !mote_types::has_key(ty) {
        return Err(no_key(ty, method));
    }
    Ok((ty.oid.0, ty.typmod))
}

/// What an index of the method cannot be or have.
pub(super) fn not_supported_by(method: IndexMethod, what: &str) -> SqlError {
    let message = format!("access method \"{}\" does not support {what}", method.name());
    SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
}

/// A type has no operator class where the method cannot compare it; some have one that mote lacks.
pub(super) fn no_key(ty: ColumnType, method: IndexMethod) -> SqlError {
    let has_class = ty.is_array() || builtin::default_operator_class(method, ty.oid) != Oid::INVALID;
    if has_class {
        return SqlError::unsupported(format_args!("an index on a value of type {}", ty.name()));
    }
    let (name, method) = (ColumnType::new(ty.oid).name(), method.name());
    SqlError::new(
        state::UNDEFINED_OBJECT,
        format!("data type {name} has no default operator class for access method \"{method}\""),
    )
    .hint(
        "You must specify an operator class for the index or define a default operator class for the data type.",
    )
}

/// Collation, operator class and order, as written.
fn with_properties(
    key: StoredIndexKey,
    element: &IndexElement,
    method: IndexMethod,
) -> SqlResult<StoredIndexKey> {
    let ty = ColumnType::new(Oid(key.type_oid));
    let descending = element.direction == SortDirection::Descending;
    let collation = match &element.collation {
        Some(collation) => collation_of(collation, ty)?,
        None => None,
    };
    // Without a class the type must have one of its own for the method.
    let operator_class = match &element.operator_class {
        Some(class) => class_of(class, ty, method)?,
        None if builtin::default_operator_class(method, ty.oid) == Oid::INVALID => {
            return Err(no_key(ty, method));
        }
        None => None,
    };
    if !method.abilities().ordered {
        if element.direction != SortDirection::Default {
            return Err(not_supported_by(method, "ASC/DESC options"));
        }
        if element.nulls != NullsOrder::Default {
            return Err(not_supported_by(method, "NULLS FIRST/LAST options"));
        }
    }
    if !element.operator_class_options.is_empty() {
        let class = element.operator_class.as_ref().map_or("", |class| class.last());
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("operator class {class} has no options"),
        ));
    }
    Ok(StoredIndexKey {
        collation,
        operator_class: operator_class.map(|oid| oid.0),
        descending,
        // As in PostgreSQL: NULLs count as larger than all values.
        nulls_first: match element.nulls {
            NullsOrder::First => true,
            NullsOrder::Last => false,
            NullsOrder::Default => descending,
        },
        ..key
    })
}

/// All collations there are sort alike; None is that of the column.
fn collation_of(written: &QualifiedName, ty: ColumnType) -> SqlResult<Option<String>> {
    if !is_text_like(ty.oid) && ty.oid != CITEXT {
        return Err(SqlError::new(
            state::DATATYPE_MISMATCH,
            format!("collations are not supported by type {}", ty.name()),
        ));
    }
    match written.last() {
        "default" => Ok(None),
        name @ ("C" | "POSIX" | "C.UTF-8" | "ucs_basic") => Ok(Some(name.to_string())),
        name => Err(SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("collation \"{name}\" for encoding \"UTF8\" does not exist"),
        )),
    }
}

/// The class of this name, if it takes the type; None is the type's own. Text sorts by code point in all of them.
pub(super) fn class_of(
    written: &QualifiedName,
    ty: ColumnType,
    method: IndexMethod,
) -> SqlResult<Option<Oid>> {
    let name = written.last();
    let mut classes = builtin::operator_classes(method);
    let class = classes.find(|class| class.name == name).ok_or_else(|| {
        let method = method.name();
        SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("operator class \"{name}\" does not exist for access method \"{method}\""),
        )
    })?;
    require_class(class, ty)?;
    let is_own = class.oid == builtin::default_operator_class(method, ty.oid);
    Ok((!is_own).then_some(class.oid))
}

/// 42804 if the class takes other types. Classes over pseudo-types take all types of their kind.
fn require_class(class: &OperatorClass, ty: ColumnType) -> SqlResult<()> {
    let takes = match class.input {
        oid::ANYARRAY => ty.is_array(),
        oid::ANYENUM => is_enum(ty.oid),
        oid::ANYRANGE => is_range(ty.oid),
        oid::ANYMULTIRANGE => is_multirange(ty.oid),
        oid::TEXT => matches!(ty.oid, oid::TEXT | oid::VARCHAR),
        input => input == ty.oid || input == oid::OID && mote_types::catalog::is_oid_like(ty.oid),
    };
    if takes {
        return Ok(());
    }
    let (name, ty) = (class.name, ty.name());
    Err(SqlError::new(
        state::DATATYPE_MISMATCH,
        format!("operator class \"{name}\" does not accept data type {ty}"),
    ))
}

/// A key that changed its type must still suit the class it was given.
fn check_class(key: &StoredIndexKey, method: IndexMethod) -> SqlResult<()> {
    let ty = ColumnType::new(Oid(key.type_oid));
    if builtin::default_operator_class(method, ty.oid) == Oid::INVALID {
        return Err(no_key(ty, method));
    }
    match key
        .operator_class
        .and_then(|class| builtin::operator_class(Oid(class)))
    {
        Some(class) => require_class(class, ty),
        None => Ok(()),
    }
}
