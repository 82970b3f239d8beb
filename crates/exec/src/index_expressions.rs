//! Expressions and predicates of indexes: how a definition keeps them, and how the engine gets them computed.
//!
//! The engine asks for keys where there is no statement and no session: when it writes, prunes, recovers, and in
//! `mote check`. What it keeps of an index is therefore complete in itself: the expressions as canonical SQL, and the names
//! and types of the columns that they read, as they were when the index was made. Renaming a column changes nothing there;
//! another type makes a new index.
//!
//! Promises: only immutable expressions, evaluated without a session, so that a row has the same key whenever one asks.
//! Leaves out: which expressions CREATE INDEX takes (`command::index_keys`).

use std::cell::Cell;
use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{KeyColumn, KeyExpressionProvider, KeyExpressions, RowView};
use mote_planner::plan::deparse::deparse;
use mote_sql::catalog::{CatalogView, Column, Relation};
use mote_sql::expr::Expr;
use mote_sql::expr::simplify;
use mote_sql::{RelationExpression, bind_expression_over_relation};
use mote_types::catalog::user::without;
use mote_types::{ColumnType, Datum};
use serde::{Deserialize, Serialize};

use crate::catalog_store::stored::StoredRelation;
use crate::expr::{Expression, FOLDER, compile};
use crate::host::run_on_large_stack;
use crate::query::runtime::{Runtime, Values};
use crate::row_codec::{ColumnCodec, append_key};

/// What an index's texts mean, over the relation's row; not folded, so that it can be shown as it was written.
#[derive(Clone, Debug, Default)]
pub struct BoundIndex {
    /// Of the keys that are no plain columns, in their order.
    pub expressions: Vec<Expr>,
    pub predicate: Option<Expr>,
}

impl BoundIndex {
    pub fn is_plain(&self) -> bool {
        self.expressions.is_empty() && self.predicate.is_none()
    }

    fn parts(&self) -> impl Iterator<Item = &Expr> {
        self.expressions.iter().chain(&self.predicate)
    }

    /// Does anything but a key column itself read this column?
    pub fn reads(&self, column: u16) -> bool {
        self.parts().any(|part| columns_of(part).contains(&column))
    }
}

/// An expression as the planner compares it with those of a query.
pub fn folded(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    simplify(&mut expr, Some(&FOLDER));
    expr
}

/// Columns that an expression over a relation's row reads, ascending.
fn columns_of(expr: &Expr) -> Vec<u16> {
    let mut columns = Vec::new();
    expr.any(&mut |part| {
        if let Expr::Column { index, .. } = part {
            columns.push(*index);
        }
        false
    });
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Literals whose meaning the session decides (`'today'::date`, `'t'::regclass`) become what they mean now.
pub fn fix_literals(expr: &mut Expr, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
    let mut failure = None;
    expr.rewrite(&mut |part| {
        let Expr::Cast {
            argument, from, ty, ..
        } = part
        else {
            return None;
        };
        if from.oid != mote_types::oid::UNKNOWN || !matches!(**argument, Expr::Constant(..)) {
            return None;
        }
        match compile(part).and_then(|literal| literal.evaluate(&[], runtime)) {
            Ok(value) => Some(Expr::Constant(value, *ty)),
            Err(error) => {
                failure.get_or_insert(error);
                None
            }
        }
    });
    failure.map_or(Ok(()), Err)
}

/// Binds canonical texts over a relation, where a parser may need a large stack.
pub fn bind(
    expressions: &[&str],
    predicate: Option<&str>,
    relation: &Arc<Relation>,
    catalog: &dyn CatalogView,
) -> SqlResult<BoundIndex> {
    let one = |text: &str, purpose| {
        let mut expr = bind_expression_over_relation(text, relation, purpose, None, catalog)?;
        fix_literals(&mut expr, &mut Runtime::detached(&mut Values::default()))?;
        Ok(expr)
    };
    let all = || {
        Ok(BoundIndex {
            expressions: expressions
                .iter()
                .map(|text| one(text, RelationExpression::IndexKey))
                .collect::<SqlResult<_>>()?,
            predicate: predicate
                .map(|text| one(text, RelationExpression::IndexPredicate))
                .transpose()?,
        })
    };
    let mut bound = None;
    run_on_large_stack(&mut || bound = Some(without(all)));
    bound.expect("the work was run")
}

/// The canonical text of an expression: types of users stand in it by OID and their values by key, which outlive renames.
pub fn stored_text(expr: &Expr, names: &[String]) -> String {
    without(|| deparse(expr, names, false))
}

/// Whether an expression's text is the call of a function.
pub(crate) fn is_call(text: &str) -> bool {
    text.ends_with(')') && !text.starts_with('(')
}

/// Does a canonical text mention a type of users? Then it is not what users are shown.
pub fn mentions_user_type(text: &str) -> bool {
    text.contains("::\"type ")
}

/// What the engine keeps of an index's expressions: JSON, so that a later release can add fields.
#[derive(Serialize, Deserialize)]
struct Definition {
    columns: Vec<DefinitionColumn>,
    expressions: Vec<String>,
    predicate: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct DefinitionColumn {
    position: u16,
    name: String,
    type_oid: u32,
    typmod: i32,
}

/// The definition that the engine keeps; None for an index of plain columns.
pub fn definition(
    bound: &BoundIndex,
    expressions: Vec<String>,
    predicate: Option<String>,
    table: &StoredRelation,
) -> Option<Box<[u8]>> {
    if bound.is_plain() {
        return None;
    }
    let mut read: Vec<u16> = bound.parts().flat_map(columns_of).collect();
    read.sort_unstable();
    read.dedup();
    let columns = read.into_iter().map(|position| {
        let column = &table.columns[position as usize];
        DefinitionColumn {
            position,
            name: column.name.clone(),
            type_oid: column.type_oid,
            typmod: column.typmod,
        }
    });
    let definition = Definition {
        columns: columns.collect(),
        expressions,
        predicate,
    };
    let bytes = serde_json::to_vec(&definition).expect("a definition holds nothing that JSON cannot");
    Some(bytes.into())
}

/// The relation that a definition speaks of, as far as it does.
fn relation_of(definition: &Definition) -> Arc<Relation> {
    let mut columns: Vec<Column> = Vec::new();
    for known in &definition.columns {
        while columns.len() < known.position as usize {
            columns.push(Column {
                dropped: true,
                ..Column::new("", ColumnType::TEXT)
            });
        }
        let ty = ColumnType::with_typmod(Oid(known.type_oid), known.typmod);
        columns.push(Column::new(&known.name, ty));
    }
    Arc::new(Relation::of_columns("", columns))
}

/// No objects of users: what an index's expressions may name.
pub struct Builtins;

impl CatalogView for Builtins {
    fn relation_by_name(&self, _: Option<&str>, _: &str) -> Option<Arc<Relation>> {
        None
    }

    fn relation(&self, _: Oid) -> Option<Arc<Relation>> {
        None
    }

    fn relation_of_index(&self, _: Oid) -> Option<Arc<Relation>> {
        None
    }

    fn schema_exists(&self, name: &str) -> bool {
        crate::system_schemas::is_system_schema(name)
    }

    fn search_path(&self) -> Vec<String> {
        vec!["pg_catalog".into()]
    }

    fn database_name(&self) -> String {
        String::new()
    }

    fn current_user(&self) -> String {
        String::new()
    }

    fn current_user_oid(&self) -> Oid {
        Oid::INVALID
    }

    fn session_user(&self) -> String {
        String::new()
    }

    fn generation(&self) -> u64 {
        0
    }
}

struct Provider;

/// Compiles definitions for the engine.
pub fn provider() -> Arc<dyn KeyExpressionProvider> {
    Arc::new(Provider)
}

impl KeyExpressionProvider for Provider {
    fn compile(&self, definition: &[u8]) -> SqlResult<Arc<dyn KeyExpressions>> {
        let definition: Definition = serde_json::from_slice(definition).map_err(|error| {
            SqlError::internal(format!("the definition of an index could not be read: {error}"))
        })?;
        let relation = relation_of(&definition);
        let texts: Vec<&str> = definition.expressions.iter().map(String::as_str).collect();
        let bound = bind(&texts, definition.predicate.as_deref(), &relation, &Builtins)?;
        if let Some(part) = bound.parts().find(|part| !part.is_immutable()) {
            let message = format!("an expression of an index is not immutable: {part:?}");
            return Err(SqlError::internal(message));
        }
        let part = |expr: &Expr| Part::compile(expr, &relation);
        Ok(Arc::new(Compiled {
            columns: definition.columns.iter().map(|column| column.position).collect(),
            width: relation.columns.len(),
            expressions: bound.expressions.iter().map(part).collect::<SqlResult<_>>()?,
            predicate: bound.predicate.as_ref().map(part).transpose()?,
        }))
    }
}

/// An expression with the columns it reads.
struct Part {
    columns: Box<[(usize, ColumnCodec)]>,
    expression: Expression,
    ty: ColumnType,
}

struct Compiled {
    columns: Box<[u16]>,
    width: usize,
    expressions: Box<[Part]>,
    predicate: Option<Part>,
}

/// Buffers of an evaluation.
#[derive(Default)]
struct Scratch {
    row: Vec<Datum>,
    values: Values,
    bytes: Vec<u8>,
}

mote_common::per_thread! {
    /// Taken out while it is used: an evaluation inside another would find none and begin with empty buffers.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCH.with(Cell::take).unwrap_or_default();
    let result = work(&mut scratch);
    SCRATCH.with(|kept| kept.set(Some(scratch)));
    result
}

impl Part {
    fn compile(expr: &Expr, relation: &Relation) -> SqlResult<Part> {
        let codec = |position: u16| {
            let position = position as usize;
            (
                position,
                ColumnCodec::new(position, relation.columns[position].ty),
            )
        };
        let expr = folded(expr);
        Ok(Part {
            columns: columns_of(&expr).into_iter().map(codec).collect(),
            expression: compile(&expr)?,
            ty: key_type(&expr),
        })
    }

    fn evaluate(&self, width: usize, row: &RowView<'_>, scratch: &mut Scratch) -> SqlResult<Datum> {
        scratch.row.resize(width, Datum::Null);
        for (position, codec) in &self.columns {
            scratch.row[*position] = codec.read(row);
        }
        let mut runtime = Runtime::detached(&mut scratch.values);
        self.expression.evaluate(&scratch.row, &mut runtime)
    }
}

/// The type of an expression's key: without a modifier, which the values of an expression need not obey.
pub fn key_type(expr: &Expr) -> ColumnType {
    ColumnType::new(expr.ty().oid)
}

impl KeyExpressions for Compiled {
    fn columns(&self) -> &[u16] {
        &self.columns
    }

    fn append(
        &self,
        number: u16,
        column: &KeyColumn,
        row: &RowView<'_>,
        key: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        let part = &self.expressions[number as usize];
        with_scratch(|scratch| {
            let value = part.evaluate(self.width, row, scratch)?;
            Ok(append_key(column, part.ty, &value, key, &mut scratch.bytes))
        })
    }

    fn covers(&self, row: &RowView<'_>) -> SqlResult<bool> {
        let Some(predicate) = &self.predicate else {
            return Ok(true);
        };
        with_scratch(|scratch| {
            let value = predicate.evaluate(self.width, row, scratch)?;
            Ok(value.as_bool() == Some(true))
        })
    }
}
