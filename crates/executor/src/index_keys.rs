//! Keys of expression indexes: how the engine gets them computed.
//!
//! The engine asks for keys where there is no statement and no session; what it hands over for an index is the whole of its
//! definition (`index_texts`).
//!
//! Promises: only immutable expressions, evaluated without a session, so that a row has the same key whenever one asks.

use std::cell::Cell;
use std::sync::Arc;

use mote_common::{SqlError, SqlResult};
use mote_engine::{KeyColumn, KeyExpressionProvider, KeyExpressions, RowView};
use mote_sql::catalog::Relation;
use mote_sql::expr::{ConstantFolder, Expr};
use mote_types::{ColumnType, Datum};

use crate::expr::{Expression, FOLDER, compile};
use crate::row_codec::{ColumnCodec, append_key};
use crate::runtime::{Runtime, Values};
use mote_catalog::catalog_store::index_texts::{
    Builtins, Definition, Evaluation, bind, columns_of, folded, key_type, relation_of,
};

/// Hands the catalog and the engine the executor's evaluation.
pub struct Evaluator;

/// The one evaluator: it has no state.
pub static EVALUATION: Evaluator = Evaluator;

impl ConstantFolder for Evaluator {
    fn fold(&self, expr: &Expr) -> Option<Datum> {
        FOLDER.fold(expr)
    }
}

impl Evaluation for Evaluator {
    fn literal(&self, cast: &Expr) -> SqlResult<Datum> {
        let mut values = Values::default();
        compile(cast)?.evaluate(&[], &mut Runtime::detached(&mut values))
    }

    fn key_provider(&self) -> Arc<dyn KeyExpressionProvider> {
        Arc::new(Provider)
    }
}

/// Compiles definitions for the engine.
struct Provider;

impl KeyExpressionProvider for Provider {
    fn compile(&self, definition: &[u8]) -> SqlResult<Arc<dyn KeyExpressions>> {
        // What the catalog has written as the index's definition; the engine keeps it as bytes and hands it back at
        // recovery.
        let definition: Definition = serde_json::from_slice(definition).map_err(|error| {
            SqlError::internal(format!("the definition of an index could not be read: {error}"))
        })?;
        let relation = relation_of(&definition);
        let texts: Vec<&str> = definition.expressions.iter().map(String::as_str).collect();
        let predicate = definition.predicate.as_deref();
        let bound = bind(&texts, predicate, &relation, &Builtins, &EVALUATION)?;
        // Checked when the index was made. Again, since a key that changes would leave entries that nothing finds.
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
        let expr = folded(expr, &FOLDER);
        Ok(Part {
            columns: columns_of(&expr).into_iter().map(codec).collect(),
            expression: compile(&expr)?,
            ty: key_type(&expr),
        })
    }

    fn evaluate(&self, width: usize, row: &RowView<'_>, scratch: &mut Scratch) -> SqlResult<Datum> {
        // Columns that the expression does not read keep whatever stood there.
        scratch.row.resize(width, Datum::Null);
        for (position, codec) in &self.columns {
            scratch.row[*position] = codec.read(row);
        }
        let mut runtime = Runtime::detached(&mut scratch.values);
        self.expression.evaluate(&scratch.row, &mut runtime)
    }
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
            // As in a WHERE: a row for which the predicate is NULL is not in the index.
            Ok(value.as_bool() == Some(true))
        })
    }
}
