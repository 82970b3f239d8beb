//! Tuple routing: a row for a partitioned table finds its leaf partition.
//!
//! What is compiled for a leaf stays with the program, by OID and version; which leaves a statement has opened, and thereby
//! locked, stands in its [`Router`]. A leaf is looked up again *after* its lock is held: who waited behind ATTACH or
//! DETACH must not trust what the plan knew, and tests the row against a default partition's newest bound.
//!
//! Rows come in the columns of the routed table, the root; a leaf's own columns may stand in another order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;

use mote_common::{Oid, RowId, SqlError, SqlResult};
use mote_engine::{Table, TableLockMode};
use mote_sql::catalog::inheritance::AttributeMap;
use mote_sql::catalog::partition::{PartitionKey, PartitionScheme};
use mote_sql::catalog::{CatalogView, IndexKeyTarget, Relation};
use mote_sql::clause::{Check, ConflictAction, FiredTrigger, OnConflict};
use mote_sql::expr::Expr;
use mote_sql::{RelationExpression, bind_checks, bind_expression_over_relation, bind_routed_triggers};
use mote_types::Datum;

use super::insert_target::InsertTarget;
use super::on_conflict::Conflict;
use super::partition::{KeyExpressions, index_descends_from, lock_partition, no_partition};
use super::trigger::RowTriggers;
use super::{Target, compile_assignments};
use crate::runtime::Runtime;

/// Routing of a statement's rows: immutable but for what is compiled when a leaf is first met.
pub struct Routing {
    root: Arc<Relation>,
    /// The root is a partition itself, which takes some rows only.
    inner: Option<Target>,
    /// Positions of the root's columns that the statement gives values to.
    given: Box<[u16]>,
    on_conflict: Option<OnConflict>,
    /// By OID. The lock is held for look-ups only; two runs may compile the same leaf, and the later one stays.
    leaves: Mutex<HashMap<Oid, Arc<Leaf>>>,
}

/// A partition that takes rows.
pub struct Leaf {
    pub into: InsertTarget,
    /// For each column of the leaf its position in the root; None where all stand alike.
    from_root: Option<Box<[Option<u16>]>>,
}

impl Routing {
    /// None: rows of `relation` stay where they are.
    pub fn of(
        relation: &Arc<Relation>,
        given: &[u16],
        on_conflict: Option<&OnConflict>,
    ) -> SqlResult<Option<Arc<Routing>>> {
        if !relation.is_partitioned() {
            return Ok(None);
        }
        let inner = match relation.is_partition() {
            true => Some(Target::compile(relation, &[])?.giving(given)),
            false => None,
        };
        Ok(Some(Arc::new(Routing {
            root: Arc::clone(relation),
            inner,
            given: given.into(),
            on_conflict: on_conflict.cloned(),
            leaves: Mutex::new(HashMap::new()),
        })))
    }

    /// What a partition that is locked needs to take rows; compiled when it is first met, and again when its version
    /// has moved.
    fn leaf(&self, relation: &Arc<Relation>, runtime: &mut Runtime<'_, '_>) -> SqlResult<Arc<Leaf>> {
        if let Some(leaf) = self.leaves.lock().get(&relation.oid)
            && leaf.into.target.relation.version == relation.version
        {
            return Ok(Arc::clone(leaf));
        }
        let leaf = Arc::new(Leaf::compile(
            &self.root,
            &self.given,
            relation,
            self.on_conflict.as_ref(),
            runtime,
        )?);
        self.leaves.lock().insert(relation.oid, Arc::clone(&leaf));
        Ok(leaf)
    }
}

impl Leaf {
    fn compile(
        root: &Arc<Relation>,
        given: &[u16],
        relation: &Arc<Relation>,
        on_conflict: Option<&OnConflict>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Leaf> {
        let context = runtime.context();
        let catalog = &context.session.catalog;
        let to_leaf = AttributeMap::new(root, relation)?;
        let mapped = match on_conflict {
            Some(conflict) => Some(map_conflict(conflict, root, relation, &to_leaf, catalog)?),
            None => None,
        };
        let updated = updated_columns(mapped.as_ref());
        // The binder recurses over expressions as deep as their texts; a session's coroutine has a small stack.
        let mut bound = None;
        context
            .host
            .on_large_stack(&mut || bound = Some(Bound::of(relation, updated.as_deref(), catalog)));
        let bound = bound.expect("the host runs the work")?;
        let triggers = RowTriggers::compile_routed(relation, &bound.triggers)?;
        let on_conflict = match &mapped {
            Some(conflict) => Some(Conflict::compile(conflict, relation)?),
            None => None,
        };
        // Same positions and as many columns: rows are handed on as they are.
        let alike = to_leaf.is_identity() && root.columns.len() == relation.columns.len();
        let from_root = (!alike).then(|| {
            let mut from_root = vec![None; relation.columns.len()];
            for position in 0..root.columns.len() as u16 {
                if let Some(own) = to_leaf.get(position) {
                    from_root[own as usize] = Some(position);
                }
            }
            from_root.into()
        });
        // Errors show the row in the columns of the table that the statement names.
        let target = Target::compile(relation, &bound.checks)?.named_as(root, given);
        let generated = compile_assignments(&bound.generated)?;
        Ok(Leaf {
            into: InsertTarget::new(target, generated)
                .firing(triggers)
                .resolving(on_conflict)
                .routed(),
            from_root,
        })
    }

    /// Turns the root's row into the leaf's.
    pub fn to_leaf(&self, row: &mut Vec<Datum>) {
        if let Some(map) = &self.from_root {
            let own = map.iter().map(|position| match position {
                Some(position) => std::mem::take(&mut row[*position as usize]),
                None => Datum::Null,
            });
            *row = own.collect();
        }
    }

    /// Turns the leaf's row into one of the root's `width` columns.
    pub fn to_root(&self, row: &mut Vec<Datum>, width: usize) {
        if let Some(map) = &self.from_root {
            let mut out = vec![Datum::Null; width];
            for (own, position) in map.iter().enumerate() {
                if let Some(position) = position {
                    out[*position as usize] = std::mem::take(&mut row[own]);
                }
            }
            *row = out;
        }
    }
}

/// What a leaf's rows need, bound over its columns.
struct Bound {
    checks: Vec<Check>,
    triggers: Vec<FiredTrigger>,
    generated: Vec<(u16, Expr)>,
}

impl Bound {
    /// `updated`: what ON CONFLICT DO UPDATE assigns, in the leaf's columns; UPDATE OF triggers ask for it.
    fn of(relation: &Arc<Relation>, updated: Option<&[u16]>, catalog: &dyn CatalogView) -> SqlResult<Bound> {
        let mut generated = Vec::new();
        for (position, column) in relation.columns.iter().enumerate() {
            if let Some(text) = column.generated.as_ref().filter(|_| !column.dropped) {
                let target = Some((column.name.as_str(), column.ty));
                let purpose = RelationExpression::Generated;
                let expr = bind_expression_over_relation(text, relation, purpose, target, catalog)?;
                generated.push((position as u16, expr));
            }
        }
        Ok(Bound {
            checks: bind_checks(relation, catalog)?,
            triggers: bind_routed_triggers(relation, updated, catalog)?,
            generated,
        })
    }
}

/// What ON CONFLICT DO UPDATE sets.
fn updated_columns(conflict: Option<&OnConflict>) -> Option<Vec<u16>> {
    match &conflict?.action {
        ConflictAction::Nothing => None,
        ConflictAction::Update { assignments, .. } => {
            Some(assignments.iter().map(|(position, _)| *position).collect())
        }
    }
}

/// ON CONFLICT of the root in the leaf's columns and indexes.
fn map_conflict(
    conflict: &OnConflict,
    root: &Relation,
    leaf: &Relation,
    to_leaf: &AttributeMap,
    catalog: &dyn CatalogView,
) -> SqlResult<OnConflict> {
    let mut arbiters = Vec::with_capacity(conflict.arbiters.len());
    for &arbiter in &conflict.arbiters {
        let wanted = root.indexes[arbiter as usize].oid;
        let own = leaf
            .indexes
            .iter()
            .position(|index| index_descends_from(index.parent, wanted, catalog));
        let own = own.ok_or_else(|| {
            SqlError::internal("invalid arbiter index list: a partition lacks an index of its parent")
        })?;
        arbiters.push(own as u16);
    }
    let width = root.columns.len() as u16;
    let map = |expr: &Expr| {
        let mut expr = expr.clone();
        expr.rewrite(&mut |part| match part {
            // Behind the columns stands the OID of the table that the row is in.
            Expr::Column { index, ty } if *index == width => Some(Expr::Constant(Datum::oid(leaf.oid), *ty)),
            Expr::Column { index, ty } => Some(Expr::Column {
                index: to_leaf.get(*index)?,
                ty: *ty,
            }),
            Expr::Excluded { index, ty } => Some(Expr::Excluded {
                index: to_leaf.get(*index)?,
                ty: *ty,
            }),
            _ => None,
        });
        expr
    };
    let action = match &conflict.action {
        ConflictAction::Nothing => ConflictAction::Nothing,
        ConflictAction::Update {
            visible,
            assignments,
            condition,
        } => ConflictAction::Update {
            visible: visible
                .iter()
                .map(|check| Check {
                    name: check.name.clone(),
                    condition: map(&check.condition),
                })
                .collect(),
            assignments: assignments
                .iter()
                .filter_map(|(position, expr)| Some((to_leaf.get(*position)?, map(expr))))
                .collect(),
            condition: condition.as_ref().map(map),
        },
    };
    Ok(OnConflict { arbiters, action })
}

/// A leaf that a statement has locked.
pub struct OpenLeaf {
    pub leaf: Arc<Leaf>,
    pub table: Arc<Table>,
    /// Rows of it that the statement inserted or updated by ON CONFLICT.
    pub touched: HashSet<RowId>,
}

/// A level of partitions, keys over the root's row.
struct Level {
    relation: Arc<Relation>,
    scheme: Arc<PartitionScheme>,
    keys: KeyExpressions,
    /// By position in the scheme.
    slots: Vec<Slot>,
}

/// What stands behind one partition of a level, as far as this statement has come.
enum Slot {
    Unknown,
    Level(Box<Level>),
    /// Its position among the open leaves.
    Leaf(usize),
}

/// Routing of one statement.
pub struct Router {
    routing: Arc<Routing>,
    top: Option<Level>,
    opened: Opened,
}

#[derive(Default)]
struct Opened {
    /// In the order in which rows first came to them.
    leaves: Vec<OpenLeaf>,
    key: Vec<Datum>,
    scratch: Vec<u8>,
}

impl Router {
    pub fn new(routing: &Arc<Routing>) -> Router {
        Router {
            routing: Arc::clone(routing),
            top: None,
            opened: Opened::default(),
        }
    }

    /// The leaf for a row of the root, which becomes a row of the leaf.
    pub fn route(&mut self, row: &mut Vec<Datum>, runtime: &mut Runtime<'_, '_>) -> SqlResult<&mut OpenLeaf> {
        let root = &self.routing.root;
        // Opened with the first row: a statement that writes none locks no partition.
        if self.top.is_none() {
            self.top = Some(Level::open(Arc::clone(root), root)?);
        }
        let top = self.top.as_mut().expect("made above");
        if let Some(root) = &self.routing.inner {
            // The named table is a partition itself. What its ancestors' bounds exclude must not get in from below.
            root.check_partition(row, runtime)?;
        }
        let found = top.descend(&self.routing, &mut self.opened, row, runtime)?;
        let opened = &mut self.opened.leaves[found];
        opened.leaf.to_leaf(row);
        Ok(opened)
    }

    /// Forgets which leaves are open, and the rows they took.
    pub fn reset(&mut self) {
        self.top = None;
        self.opened.leaves.clear();
    }
}

impl Level {
    /// A level below the root evaluates its keys over the root's row, so that a row is converted once, at its leaf.
    fn open(relation: Arc<Relation>, root: &Relation) -> SqlResult<Level> {
        let scheme = relation
            .partitioning
            .clone()
            .ok_or_else(|| SqlError::internal(format!("\"{}\" is not partitioned", relation.name)))?;
        let keys = match relation.oid == root.oid {
            true => KeyExpressions::compile(&scheme.keys)?,
            false => KeyExpressions::compile(&keys_over_root(
                &scheme.keys,
                &AttributeMap::new(&relation, root)?,
            )?)?,
        };
        let slots = scheme.partitions.iter().map(|_| Slot::Unknown).collect();
        Ok(Level {
            relation,
            scheme,
            keys,
            slots,
        })
    }

    /// Position of the open leaf. A default partition tests the row when it is met: its bound may have shrunk.
    fn descend(
        &mut self,
        routing: &Routing,
        opened: &mut Opened,
        row: &[Datum],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<usize> {
        self.keys.evaluate(row, runtime, &mut opened.key)?;
        let Some(position) = self.scheme.find(&opened.key, &mut opened.scratch) else {
            return Err(no_partition(&self.relation, &self.scheme, &opened.key, runtime));
        };
        if let Slot::Unknown = self.slots[position] {
            self.slots[position] = self.open_partition(position, routing, opened, runtime)?;
        }
        if self.scheme.default == Some(position) {
            let relation = match &self.slots[position] {
                Slot::Level(level) => Arc::clone(&level.relation),
                Slot::Leaf(leaf) => Arc::clone(&opened.leaves[*leaf].leaf.into.target.relation),
                Slot::Unknown => return Err(SqlError::internal("a partition was not opened")),
            };
            let partition = routing.leaf(&relation, runtime)?;
            // A copy: the row goes on in the root's columns, to levels further down.
            let mut own = row.to_vec();
            partition.to_leaf(&mut own);
            partition.into.target.check_partition(&own, runtime)?;
        }
        match &mut self.slots[position] {
            Slot::Leaf(leaf) => Ok(*leaf),
            Slot::Level(level) => level.descend(routing, opened, row, runtime),
            Slot::Unknown => Err(SqlError::internal("a partition was not opened")),
        }
    }

    fn open_partition(
        &self,
        position: usize,
        routing: &Routing,
        opened: &mut Opened,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Slot> {
        let oid = self.scheme.partitions[position].oid;
        let relation = lock_partition(oid, TableLockMode::RowExclusive, runtime)?;
        if relation.is_partitioned() {
            return Ok(Slot::Level(Box::new(Level::open(relation, &routing.root)?)));
        }
        // The relation is the one seen after the lock was granted; what the plan knew of it may be older.
        opened.leaves.push(OpenLeaf {
            leaf: routing.leaf(&relation, runtime)?,
            table: runtime.table(relation.table)?,
            touched: HashSet::new(),
        });
        Ok(Slot::Leaf(opened.leaves.len() - 1))
    }
}

/// Keys of a sub-partitioned table over the row of the root.
fn keys_over_root(keys: &[PartitionKey], to_root: &AttributeMap) -> SqlResult<Vec<PartitionKey>> {
    let unknown = || SqlError::internal("a partition has columns that its parent lacks");
    keys.iter()
        .map(|key| {
            let target = match &key.target {
                IndexKeyTarget::Column(column) => {
                    IndexKeyTarget::Column(to_root.get(*column).ok_or_else(unknown)?)
                }
                IndexKeyTarget::Expression(text, expr) => {
                    let mut expr = expr.clone();
                    expr.rewrite(&mut |part| match part {
                        Expr::Column { index, ty } => Some(Expr::Column {
                            index: to_root.get(*index)?,
                            ty: *ty,
                        }),
                        _ => None,
                    });
                    IndexKeyTarget::Expression(text.clone(), expr)
                }
            };
            Ok(PartitionKey { target, ty: key.ty })
        })
        .collect()
}
