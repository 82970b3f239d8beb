//! The simulator's tables: a unique key, an indexed column that may be NULL, a text of any length.

use mote_common::{IndexId, TableId};
use mote_engine::{
    ColumnStorage, IndexDefinition, KeyClass, KeyColumn, RowView, RowWriter, StorageClass, Table,
    TableDefinition,
};
use mote_engine::{SequenceDefinition, SequenceId};

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
        columns,
        unique,
        nulls_not_distinct: false,
        expressions: None,
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
