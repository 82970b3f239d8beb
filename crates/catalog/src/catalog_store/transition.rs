//! Transition tables as relations: what REFERENCING OLD TABLE and NEW TABLE name, while the trigger function runs.
//!
//! They are virtual relations that only the session knows. A name has the same OID for the whole session, so that a plan
//! of a function's body finds the rows of every run; the OIDs are from a range of built-in objects that none has.
//! Bound: [`NAMES_MAX`] different names in a session; one more is 54000.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_sql::catalog::{Relation, RelationKind, RowCount};
use mote_types::Datum;

/// Names of transition tables that a session can have met.
const NAMES_MAX: usize = 256;
const FIRST_OID: u32 = Oid::FIRST_USER.0 - NAMES_MAX as u32;

/// One of the tables, with its rows.
#[derive(Clone)]
pub struct TransitionTable {
    relation: Arc<Relation>,
    rows: Arc<Vec<Vec<Datum>>>,
}

#[derive(Default)]
pub struct TransitionNames {
    names: Vec<String>,
    visible: Vec<TransitionTable>,
}

impl TransitionNames {
    /// The table that a trigger of `relation` calls `name`.
    pub fn table(
        &mut self,
        name: &str,
        relation: &Relation,
        rows: Arc<Vec<Vec<Datum>>>,
    ) -> SqlResult<TransitionTable> {
        let known = self.names.iter().position(|known| known == name);
        let number = match known {
            Some(number) => number,
            None if self.names.len() == NAMES_MAX => {
                let message =
                    format!("a session cannot use more than {NAMES_MAX} names of transition tables");
                return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
            }
            None => {
                self.names.push(name.to_string());
                self.names.len() - 1
            }
        };
        let described = Relation {
            oid: Oid(FIRST_OID + number as u32),
            name: name.to_string(),
            kind: RelationKind::Virtual,
            table: TableId(0),
            indexes: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            parents: Vec::new(),
            children: Vec::new(),
            partitioning: None,
            partition_levels: Vec::new(),
            partition_bound: None,
            published: None,
            rows: RowCount::new(rows.len() as f64),
            statistics: None,
            inherited_statistics: None,
            ..relation.clone()
        };
        Ok(TransitionTable {
            relation: Arc::new(described),
            rows,
        })
    }

    /// Shows these tables and hides those that were visible, which are handed back.
    pub fn show(&mut self, tables: Vec<TransitionTable>) -> Vec<TransitionTable> {
        std::mem::replace(&mut self.visible, tables)
    }

    pub fn named(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>> {
        let mut visible = self.visible.iter().filter(|_| schema.is_none());
        let found = visible.find(|table| table.relation.name == name);
        found.map(|table| table.relation.clone())
    }

    pub fn relation(&self, oid: Oid) -> Option<Arc<Relation>> {
        let found = self.visible.iter().find(|table| table.relation.oid == oid);
        found.map(|table| table.relation.clone())
    }

    /// The rows of a visible table.
    pub fn rows(&self, oid: Oid) -> Option<Vec<Vec<Datum>>> {
        let found = self.visible.iter().find(|table| table.relation.oid == oid);
        found.map(|table| table.rows.to_vec())
    }
}
