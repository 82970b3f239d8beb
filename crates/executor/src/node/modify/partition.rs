//! Partition keys of rows: evaluated, looked up, and held against what a partition takes.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{TableLockMode, WaitPolicy};
use mote_grammar::ast::deparse;
use mote_sql::catalog::partition::{PartitionKey, PartitionLevel, PartitionScheme};
use mote_sql::catalog::{CatalogView, IndexKeyTarget, Relation};
use mote_types::Datum;

use super::disclosure::may_read;
use super::{shown, with_detail};
use crate::expr::{Expression, compile};
use crate::runtime::Runtime;
use mote_catalog::catalog_store::index_texts::is_call;

/// A partition key as it is evaluated over a row.
pub struct KeyExpressions(Box<[KeyPart]>);

enum KeyPart {
    /// The usual case: no expression to evaluate.
    Column(usize),
    Expression(Expression),
}

impl KeyExpressions {
    /// The keys are bound over the columns of the row that they will be evaluated on.
    pub fn compile(keys: &[PartitionKey]) -> SqlResult<KeyExpressions> {
        let parts = keys.iter().map(|key| {
            Ok(match &key.target {
                IndexKeyTarget::Column(column) => KeyPart::Column(*column as usize),
                IndexKeyTarget::Expression(_, expr) => KeyPart::Expression(compile(expr)?),
            })
        });
        Ok(KeyExpressions(parts.collect::<SqlResult<_>>()?))
    }

    /// The key of a row, into `key`.
    pub fn evaluate(
        &self,
        row: &[Datum],
        runtime: &mut Runtime<'_, '_>,
        key: &mut Vec<Datum>,
    ) -> SqlResult<()> {
        key.clear();
        for part in &self.0 {
            key.push(match part {
                KeyPart::Column(column) => row[*column].clone(),
                KeyPart::Expression(expression) => expression.evaluate(row, runtime)?,
            });
        }
        Ok(())
    }
}

/// What every row of a partition must meet, at each level of its ancestry.
pub struct PartitionTest(Box<[LevelTest]>);

struct LevelTest {
    keys: KeyExpressions,
    scheme: Arc<PartitionScheme>,
    /// Of the partition in the scheme.
    position: usize,
}

impl PartitionTest {
    /// None: no partition.
    pub fn compile(levels: &[PartitionLevel]) -> SqlResult<Option<PartitionTest>> {
        if levels.is_empty() {
            return Ok(None);
        }
        let tests = levels.iter().map(|level| {
            Ok(LevelTest {
                keys: KeyExpressions::compile(&level.scheme.keys)?,
                scheme: Arc::clone(&level.scheme),
                position: level.position,
            })
        });
        Ok(Some(PartitionTest(tests.collect::<SqlResult<_>>()?)))
    }

    /// Whether the row would be routed here at every level. By look-up rather than by bounds: a default partition's
    /// bound is what the others leave.
    pub fn holds(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let (mut key, mut scratch) = (Vec::new(), Vec::new());
        for level in &self.0 {
            level.keys.evaluate(row, runtime, &mut key)?;
            if level.scheme.find(&key, &mut scratch) != Some(level.position) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// No partition takes a row.
#[cold]
pub fn no_partition(
    relation: &Relation,
    scheme: &PartitionScheme,
    key: &[Datum],
    runtime: &Runtime<'_, '_>,
) -> SqlError {
    let values: Vec<String> = key
        .iter()
        .zip(&scheme.keys)
        // Cut to 64 bytes each, as in other messages that quote rows.
        .map(|(value, key)| shown(value, key.ty, runtime.format()))
        .collect();
    let error = SqlError::new(
        state::CHECK_VIOLATION,
        format!("no partition of relation \"{}\" found for row", relation.name),
    );
    let detail = || {
        let (key, values) = (key_text(relation, scheme), values.join(", "));
        format!("Partition key of the failing row contains ({key}) = ({values}).")
    };
    with_detail(error, may_read(relation.oid, runtime).then(detail))
        .table(relation.schema.as_str(), relation.name.as_str())
}

/// The key as PARTITION BY lists it.
fn key_text(relation: &Relation, scheme: &PartitionScheme) -> String {
    let keys = scheme.keys.iter().map(|key| match &key.target {
        IndexKeyTarget::Column(column) => deparse::identifier(&relation.columns[*column as usize].name),
        IndexKeyTarget::Expression(text, _) => expression_text(text),
    });
    keys.collect::<Vec<_>>().join(", ")
}

/// Function calls stand as they are, other expressions in parentheses.
fn expression_text(text: &str) -> String {
    if is_call(text) || text.starts_with('(') && text.ends_with(')') {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// Whether an index with this parent belongs, over however many levels, to `wanted`.
pub(super) fn index_descends_from(parent: Option<Oid>, wanted: Oid, catalog: &dyn CatalogView) -> bool {
    let mut parent = parent;
    while let Some(index) = parent {
        if index == wanted {
            return true;
        }
        let owner = catalog.relation_of_index(index);
        parent = owner.and_then(|owner| owner.indexes.iter().find(|i| i.oid == index)?.parent);
    }
    false
}

/// Locks a partition and looks at it as it is from then on.
pub(super) fn lock_partition(
    oid: Oid,
    mode: TableLockMode,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Arc<Relation>> {
    let mut relation = runtime.relation(oid)?;
    loop {
        let storage = relation.table;
        runtime
            .context()
            .engine_call(|transaction| transaction.lock_table(storage, mode, WaitPolicy::Block))?;
        relation = runtime.relation(oid)?;
        // TRUNCATE may have given it other storage while this statement waited.
        if relation.table == storage {
            return Ok(relation);
        }
    }
}
