//! Expressions and predicates of indexes as texts: what they mean, and how a definition keeps them.
//!
//! The engine asks for keys where there is no statement and no session: when it writes, prunes, recovers, and in
//! `mote check`. What it keeps of an index is therefore complete in itself: the expressions as canonical SQL, and the names
//! and types of the columns that they read, as they were when the index was made. Renaming a column changes nothing there;
//! another type makes a new index.
//!
//! Leaves out: how the engine gets keys computed (`index_keys` of the executor), and which expressions CREATE INDEX takes
//! (`mote_commands::index_keys`). What evaluates expressions stands above the catalog, which reaches it through [`Evaluation`].

use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_engine::KeyExpressionProvider;
use mote_planner::plan::deparse::deparse;
use mote_sql::catalog::{CatalogView, Column, Relation};
use mote_sql::expr::{ConstantFolder, Expr, simplify};
use mote_sql::{RelationExpression, bind_expression_over_relation};
use mote_types::catalog::user::without;
use mote_types::{ColumnType, Datum};
use serde::{Deserialize, Serialize};

pub use super::bound_index::{BoundIndex, columns_of};
use super::stored::StoredRelation;
use crate::host::run_on_large_stack;

/// What the texts of indexes ask of whoever evaluates expressions.
pub trait Evaluation: ConstantFolder + Sync {
    /// The value of a literal under a cast, as it is without a session.
    fn literal(&self, cast: &Expr) -> SqlResult<Datum>;
    /// What the engine gets its keys from.
    fn key_provider(&self) -> Arc<dyn KeyExpressionProvider>;
}

/// An expression as the planner compares it with those of a query.
pub fn folded(expr: &Expr, folder: &dyn ConstantFolder) -> Expr {
    let mut expr = expr.clone();
    simplify(&mut expr, Some(folder));
    expr
}

/// Literals whose meaning the session decides (`'today'::date`, `'t'::regclass`) become what `evaluate` says they mean now.
pub fn fix_literals(expr: &mut Expr, evaluate: &mut dyn FnMut(&Expr) -> SqlResult<Datum>) -> SqlResult<()> {
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
        match evaluate(part) {
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
    evaluation: &dyn Evaluation,
) -> SqlResult<BoundIndex> {
    let one = |text: &str, purpose| {
        let mut expr = bind_expression_over_relation(text, relation, purpose, None, catalog)?;
        fix_literals(&mut expr, &mut |cast| evaluation.literal(cast))?;
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
pub fn is_call(text: &str) -> bool {
    text.ends_with(')') && !text.starts_with('(')
}

/// Does a canonical text mention a type of users? Then it is not what users are shown.
pub fn mentions_user_type(text: &str) -> bool {
    text.contains("::\"type ")
}

/// What the engine keeps of an index's expressions: JSON, so that a later release can add fields.
#[derive(Serialize, Deserialize)]
pub struct Definition {
    pub columns: Vec<DefinitionColumn>,
    pub expressions: Vec<String>,
    pub predicate: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct DefinitionColumn {
    pub position: u16,
    pub name: String,
    pub type_oid: u32,
    pub typmod: i32,
}

/// The definition that the engine keeps; None for an index whose keys all stand in the row. `computed` are the columns
/// among `expressions` whose stored bytes hold no key.
pub fn definition(
    bound: &BoundIndex,
    expressions: Vec<String>,
    computed: impl Iterator<Item = u16>,
    predicate: Option<String>,
    table: &StoredRelation,
) -> Option<Box<[u8]>> {
    if expressions.is_empty() && predicate.is_none() {
        return None;
    }
    let mut read: Vec<u16> = bound.parts().flat_map(columns_of).chain(computed).collect();
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
pub fn relation_of(definition: &Definition) -> Arc<Relation> {
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

/// No objects of users: what expressions of indexes and of partition keys may name.
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

    /// A text that was kept when they were there.
    fn has_extension_type(&self, _: Oid, _: Option<&str>) -> bool {
        true
    }

    fn schema_exists(&self, name: &str) -> bool {
        crate::system_schemas::is_system_schema(name)
    }

    fn search_path(&self) -> Vec<String> {
        vec!["pg_catalog".into()]
    }
}

/// The type of an expression's key: without a modifier, which the values of an expression need not obey.
pub fn key_type(expr: &Expr) -> ColumnType {
    ColumnType::new(expr.ty().oid)
}
