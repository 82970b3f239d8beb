//! Rows that an UPDATE moves from one partition to another: what happens behind the delete.
//!
//! The row goes through the routing of the relation that the statement names, as an INSERT into it would. Who waited for
//! the old row is told that it moved (`mote_engine`'s `delete_moved`); foreign keys that point to it see an update.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use mote_common::{Oid, SqlResult};
use mote_engine::{RowBuffers, RowWriter};
use mote_planner::plan::node;
use mote_sql::catalog::Relation;
use mote_sql::catalog::inheritance::AttributeMap;
use mote_types::Datum;

use super::changed_keys::assigned_in_root;
use super::open_table::OpenTable;
use super::routing::{Router, Routing};
use super::{ViewChecks, compile_returning};
use crate::expr::Expression;
use crate::runtime::Runtime;

/// How rows move below one partitioned table.
pub(super) struct Moving {
    routing: Arc<Routing>,
    root: Arc<Relation>,
    /// For partitions that rows left: their columns in the root, made when first needed.
    to_root: Mutex<HashMap<Oid, Arc<AttributeMap>>>,
    /// RETURNING over the new row in the root's columns, the OID of its table, and the joined row.
    pub returning: Option<Box<[Expression]>>,
    /// WITH CHECK OPTION, over the same.
    pub view_checks: ViewChecks,
}

impl Moving {
    /// None: the statement names no partitioned table, so that a row that does not fit is an error.
    pub fn compile(node: &node::Update) -> SqlResult<Option<Moving>> {
        let given = assigned_in_root(node);
        let Some(routing) = Routing::of(&node.relation, &given, None)? else {
            return Ok(None);
        };
        Ok(Some(Moving {
            routing,
            root: Arc::clone(&node.relation),
            to_root: Mutex::new(HashMap::new()),
            returning: compile_returning(&node.moved_returning)?,
            view_checks: ViewChecks::compile(&node.moved_view_checks, &given)?,
        }))
    }

    /// A router of its own for each run: which leaves are open is the statement's business.
    pub fn router(&self) -> Router {
        Router::new(&self.routing)
    }

    /// The columns in which rows that moved are left.
    pub fn root(&self) -> &Arc<Relation> {
        &self.root
    }

    fn map(&self, from: &Relation) -> SqlResult<Arc<AttributeMap>> {
        let mut maps = self.to_root.lock();
        if let Some(map) = maps.get(&from.oid) {
            return Ok(Arc::clone(map));
        }
        let map = Arc::new(AttributeMap::new(&self.root, from)?);
        maps.insert(from.oid, Arc::clone(&map));
        Ok(map)
    }

    /// Inserts a row that has left `from`. `new` comes in that partition's columns and goes out in the root's, with the
    /// OID of its table behind. False: a trigger left it out.
    pub fn insert(
        &self,
        router: &mut Router,
        from: &Relation,
        new: &mut Vec<Datum>,
        scratch: &mut Vec<u8>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let map = self.map(from)?;
        let width = self.root.columns.len();
        let own = (0..width).map(|position| map.get(position as u16));
        *new = own
            .map(|own| own.map_or(Datum::Null, |own| new[own as usize].clone()))
            .collect();
        let opened = router.route(new, runtime)?;
        let (leaf, table) = (Arc::clone(&opened.leaf), Arc::clone(&opened.table));
        if !leaf.into.complete(new, runtime)? {
            return Ok(false);
        }
        let mut writer = RowWriter::with_buffers(table.newest_layout(), RowBuffers::default());
        let mut touched = HashSet::new();
        let mut open = OpenTable {
            table: &table,
            writer: &mut writer,
            scratch,
            touched: &mut touched,
            updated: false,
        };
        leaf.into.insert(&mut open, new, runtime)?;
        leaf.to_root(new, width);
        new.push(Datum::oid(leaf.into.target.relation.oid));
        Ok(true)
    }
}
