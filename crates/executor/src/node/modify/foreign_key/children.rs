//! A relation that refers to the written one, as its checks and actions need it.

use std::sync::Arc;

use mote_engine::{Table, TableIndex};
use mote_sql::catalog::{ForeignKey, Relation};
use mote_types::{ColumnType, Datum};

use crate::node::modify::after::Deferral;
use crate::runtime::Runtime;
use crate::value::convert;

/// The other relation's end, as far as checks and actions of the written one need it.
pub(super) struct Referencing {
    pub relation: Arc<Relation>,
    pub key: ForeignKey,
    /// The referenced columns as they stand in the written relation.
    pub referenced_columns: Vec<u16>,
    /// The table and the constraint that violations name.
    pub reported: (Arc<Relation>, String),
    /// A partition's part of a foreign key: the action is that of the key above.
    pub inherited: bool,
    pub deferral: Option<Deferral>,
    pub table: Arc<Table>,
    /// An index that begins with the foreign key's columns, and for each of them the position in the key.
    pub index: Option<(Arc<TableIndex>, Vec<usize>)>,
}

impl Referencing {
    /// The old key in the types of the referencing columns; None if one of them cannot hold it.
    pub fn own_values(
        &self,
        values: &[Datum],
        parent: &Relation,
        runtime: &mut Runtime<'_, '_>,
    ) -> Option<Vec<Datum>> {
        let columns = self.key.columns.iter().zip(&self.referenced_columns);
        let mut converted = Vec::with_capacity(values.len());
        for ((&own, &referenced), value) in columns.zip(values) {
            let own = self.relation.columns[own as usize].ty;
            let from = parent.columns[referenced as usize].ty;
            let value = if own.oid == from.oid {
                value.clone()
            } else {
                convert(runtime, value, from, ColumnType::new(own.oid), false).ok()?
            };
            converted.push(value);
        }
        Some(converted)
    }
}
