//! The simulator's tables: a unique key, an indexed column that may be NULL, a text of any length, whose length is the
//! key of an index with a predicate, and which a hash index is over.

use mote_common::{IndexId, SqlError, TableId};
use mote_engine::{
    ColumnStorage, IndexDefinition, IndexMethod, KeyClass, KeyColumn, KeyExpressionProvider, KeyExpressions,
    KeySource, KeyValue, RowView, RowWriter, StorageClass, Table, TableDefinition,
};
use mote_engine::{SequenceDefinition, SequenceId};
use std::sync::Arc;

use crate::model::Row;

pub fn table() -> TableDefinition {
    TableDefinition::new(vec![
        ColumnStorage::new(StorageClass::Fixed8, false),
        ColumnStorage::new(StorageClass::Fixed8, true),
        ColumnStorage::new(StorageClass::Variable, false),
    ])
}

pub fn key_index(table: TableId) -> IndexDefinition {
    index(table, KeyColumn::ascending(0, KeyClass::Signed8, false), true)
}

pub fn group_index(table: TableId) -> IndexDefinition {
    index(table, KeyColumn::ascending(1, KeyClass::Signed8, true), false)
}

fn index(table: TableId, column: KeyColumn, unique: bool) -> IndexDefinition {
    let (id, columns) = (IndexId(0), vec![column]);
    IndexDefinition {
        id,
        table,
        method: IndexMethod::Ordered,
        columns,
        unique,
        deferrable: false,
        nulls_not_distinct: false,
        expressions: None,
    }
}

/// A hash index on the text.
pub fn text_index(table: TableId) -> IndexDefinition {
    IndexDefinition {
        method: IndexMethod::Hash,
        ..index(table, KeyColumn::ascending(2, KeyClass::Variable, false), false)
    }
}

const LENGTH_OF_EVEN_GROUPS: &[u8] = b"length of the text, where the group is even";

/// An index on an expression, with a predicate that is unknown where the group is NULL.
pub fn length_index(table: TableId) -> IndexDefinition {
    let column = KeyColumn {
        source: KeySource::Expression(0),
        ..KeyColumn::ascending(0, KeyClass::Signed8, true)
    };
    IndexDefinition {
        expressions: Some(LENGTH_OF_EVEN_GROUPS.into()),
        ..index(table, column, false)
    }
}

/// Compiles the one definition there is.
pub struct Expressions;

struct LengthOfEvenGroups;

impl KeyExpressionProvider for Expressions {
    fn compile(&self, definition: &[u8]) -> Result<Arc<dyn KeyExpressions>, SqlError> {
        match definition == LENGTH_OF_EVEN_GROUPS {
            true => Ok(Arc::new(LengthOfEvenGroups)),
            false => Err(SqlError::internal("the simulator has one definition only")),
        }
    }
}

impl KeyExpressions for LengthOfEvenGroups {
    fn columns(&self) -> &[u16] {
        &[1, 2]
    }

    fn append(
        &self,
        _number: u16,
        column: &KeyColumn,
        row: &RowView<'_>,
        key: &mut Vec<u8>,
    ) -> Result<bool, SqlError> {
        let length = row.variable(2).len() as i64;
        Ok(column.append(KeyValue::Signed(length), key))
    }

    fn covers(&self, row: &RowView<'_>) -> Result<bool, SqlError> {
        Ok(!row.is_null(1) && row.fixed8(1).is_multiple_of(2))
    }
}

pub fn sequence() -> SequenceDefinition {
    let (minimum, maximum) = (1, i64::MAX);
    SequenceDefinition {
        id: SequenceId(0),
        start: 1,
        increment: 1,
        minimum,
        maximum,
        cycle: false,
    }
}

pub fn encode(table: &Table, row: &Row) -> Vec<u8> {
    let mut writer = RowWriter::new(table.newest_layout());
    writer.set_fixed8(0, row.key as u64);
    match row.group {
        Some(group) => writer.set_fixed8(1, group as u64),
        None => writer.set_null(1),
    }
    writer.set_variable(2, &row.text);
    writer.finish().expect("the simulator's rows are short").to_vec()
}

pub fn decode(view: &RowView<'_>) -> Row {
    Row {
        key: view.fixed8(0) as i64,
        group: (!view.is_null(1)).then(|| view.fixed8(1) as i64),
        text: view.variable(2).to_vec(),
    }
}
