//! What the engine keeps about tables, indexes and sequences, and the bytes it keeps it in.
//!
//! Definitions are rows of the engine's own catalog table ([`CATALOG_TABLE`]), written in the transaction that makes the
//! change: rollback, recovery and standbys need nothing special. One row per object:
//! ```text
//! 0 1 format (1 or 2)   1 1 kind (1 table, 2 index, 3 sequence)   2 ... fields in the order of the structs below;
//! integers little-endian, lists with a u16 count in front, byte strings with a u32 length in front
//! layout: u8 number, u16 columns; of format 2: u16 leading columns that are those of the layout before, left out here;
//!         then per column u8 class, u8 nullable, u8 1 and the bytes that older rows read as, or u8 0
//! ```
//! Format 2 is that of tables with several layouts: each differs from the one before by its last column, mostly, and a
//! definition with all columns of all of them would take megabytes after some hundred ADD COLUMN.
//! Names, types and constraints are the SQL layer's rows in [`SQL_CATALOG_TABLE`]; the engine never reads those.

use std::sync::Arc;

use super::key_program::{KeyClass, KeyColumn, KeySource};
use super::layout::{ColumnStorage, LAYOUTS_MAX, Layout, StorageClass};
use crate::index::IndexMethod;
use mote_common::{IndexId, TableId};

/// The engine's own catalog: one variable column with a definition's bytes.
pub const CATALOG_TABLE: TableId = TableId(1);
/// Reserved for the SQL layer's catalog, created with the database: one variable column.
pub const SQL_CATALOG_TABLE: TableId = TableId(2);
/// Tables of users begin here.
pub const FIRST_USER_TABLE: TableId = TableId(16);

const FORMAT: u8 = 1;
/// Layouts leave out what they share with the one before.
const FORMAT_SHARING: u8 = 2;
/// The method of an index stands above three flags.
const METHOD_SHIFT: u8 = 3;

/// Names a sequence of the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SequenceId(pub u32);

/// A table: an id and the layouts its versions may have. The last layout is the one to write with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableDefinition {
    /// Given by the engine; ignored by `create_table`.
    pub id: TableId,
    pub layouts: Vec<Layout>,
}

impl TableDefinition {
    /// A new table with one layout.
    pub fn new(columns: Vec<ColumnStorage>) -> TableDefinition {
        TableDefinition {
            id: TableId(0),
            layouts: vec![Layout::new(0, columns)],
        }
    }
}

/// An index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexDefinition {
    /// Given by the engine; ignored by `create_index`.
    pub id: IndexId,
    pub table: TableId,
    pub method: IndexMethod,
    pub columns: Vec<KeyColumn>,
    pub unique: bool,
    /// A write with a key that is taken goes through and is noted: its transaction looks again later
    /// (`Transaction::check_key`).
    pub deferrable: bool,
    pub nulls_not_distinct: bool,
    /// What `KeyExpressionProvider::compile` makes expressions and predicate from.
    pub expressions: Option<Box<[u8]>>,
}

/// A sequence, with PostgreSQL's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceDefinition {
    /// Given by the engine; ignored by `create_sequence`.
    pub id: SequenceId,
    pub start: i64,
    pub increment: i64,
    pub minimum: i64,
    pub maximum: i64,
    pub cycle: bool,
}

/// A row of the catalog table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    Table(TableDefinition),
    Index(IndexDefinition),
    Sequence(SequenceDefinition),
}

/// The bytes are not a definition of a format this binary knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefinitionCorrupt(pub &'static str);

impl Definition {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        match self {
            Definition::Table(table) => encode_table(table, &mut out),
            Definition::Index(index) => {
                out.push(2);
                put_u32(&mut out, index.id.0);
                put_u32(&mut out, index.table.0);
                put_count(&mut out, index.columns.len());
                index
                    .columns
                    .iter()
                    .for_each(|column| encode_key_column(column, &mut out));
                let distinct = (index.nulls_not_distinct as u8) << 1;
                let flags = index.unique as u8 | distinct | (index.deferrable as u8) << 2;
                out.push(flags | index.method.code() << METHOD_SHIFT);
                put_optional_bytes(&mut out, index.expressions.as_deref());
            }
            Definition::Sequence(sequence) => {
                out.push(3);
                put_u32(&mut out, sequence.id.0);
                for value in [
                    sequence.start,
                    sequence.increment,
                    sequence.minimum,
                    sequence.maximum,
                ] {
                    out.extend_from_slice(&value.to_le_bytes());
                }
                out.push(sequence.cycle as u8);
            }
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Definition, DefinitionCorrupt> {
        let mut input = Input(bytes);
        let definition = match (input.u8()?, input.u8()?) {
            (format @ (FORMAT | FORMAT_SHARING), 1) => {
                Definition::Table(decode_table(format == FORMAT_SHARING, &mut input)?)
            }
            (FORMAT, 2) => {
                let id = IndexId(input.u32()?);
                let table = TableId(input.u32()?);
                let count = input.u16()?;
                let columns = (0..count)
                    .map(|_| decode_key_column(&mut input))
                    .collect::<Result<_, _>>()?;
                let flags = input.u8()?;
                let method = IndexMethod::from_code(flags >> METHOD_SHIFT)
                    .ok_or(DefinitionCorrupt("unknown index method"))?;
                let expressions = input.optional_bytes()?.map(Box::from);
                Definition::Index(IndexDefinition {
                    id,
                    table,
                    method,
                    columns,
                    unique: flags & 1 != 0,
                    nulls_not_distinct: flags & 2 != 0,
                    deferrable: flags & 4 != 0,
                    expressions,
                })
            }
            (FORMAT, 3) => Definition::Sequence(SequenceDefinition {
                id: SequenceId(input.u32()?),
                start: input.i64()?,
                increment: input.i64()?,
                minimum: input.i64()?,
                maximum: input.i64()?,
                cycle: input.u8()? != 0,
            }),
            (FORMAT, _) => return Err(DefinitionCorrupt("unknown kind of object")),
            _ => return Err(DefinitionCorrupt("unknown format")),
        };
        if input.0.is_empty() {
            Ok(definition)
        } else {
            Err(DefinitionCorrupt("bytes after the definition"))
        }
    }
}

fn encode_table(table: &TableDefinition, out: &mut Vec<u8>) {
    let sharing = table.layouts.len() > 1;
    if sharing {
        out[0] = FORMAT_SHARING;
    }
    out.push(1);
    put_u32(out, table.id.0);
    put_count(out, table.layouts.len());
    let mut before: &[ColumnStorage] = &[];
    for layout in &table.layouts {
        let columns = layout.columns();
        out.push(layout.number());
        put_count(out, columns.len());
        let mut left_out = 0;
        if sharing {
            left_out = before.iter().zip(columns).take_while(|(a, b)| a == b).count();
            put_count(out, left_out);
        }
        columns[left_out..]
            .iter()
            .for_each(|column| encode_column(column, out));
        before = columns;
    }
}

fn decode_table(sharing: bool, input: &mut Input<'_>) -> Result<TableDefinition, DefinitionCorrupt> {
    let id = TableId(input.u32()?);
    let count = input.u16()? as usize;
    if !(1..=LAYOUTS_MAX).contains(&count) {
        return Err(DefinitionCorrupt("a table without a layout, or with too many"));
    }
    let mut layouts: Vec<Layout> = Vec::with_capacity(count);
    for _ in 0..count {
        let before = layouts.last().map_or(&[][..], Layout::columns);
        let layout = decode_layout(sharing, before, input)?;
        layouts.push(layout);
    }
    Ok(TableDefinition { id, layouts })
}

fn decode_layout(
    sharing: bool,
    before: &[ColumnStorage],
    input: &mut Input<'_>,
) -> Result<Layout, DefinitionCorrupt> {
    let number = input.u8()?;
    let count = input.u16()? as usize;
    if count > super::layout::COLUMNS_MAX {
        return Err(DefinitionCorrupt("too many columns"));
    }
    let left_out = if sharing { input.u16()? as usize } else { 0 };
    let shared = before.get(..left_out).filter(|_| left_out <= count);
    let mut columns = Vec::with_capacity(count);
    columns.extend_from_slice(shared.ok_or(DefinitionCorrupt("columns of no layout before"))?);
    for _ in left_out..count {
        columns.push(decode_column(input)?);
    }
    Ok(Layout::new(number, columns))
}

fn encode_column(column: &ColumnStorage, out: &mut Vec<u8>) {
    out.push(column.class.code());
    out.push(column.nullable as u8);
    put_optional_bytes(out, column.missing.as_deref());
}

fn decode_column(input: &mut Input<'_>) -> Result<ColumnStorage, DefinitionCorrupt> {
    let class = StorageClass::from_code(input.u8()?).ok_or(DefinitionCorrupt("unknown storage class"))?;
    let nullable = input.u8()? != 0;
    let missing: Option<Arc<[u8]>> = input.optional_bytes()?.map(Arc::from);
    if let (Some(width), Some(bytes)) = (class.width(), &missing)
        && bytes.len() != width
    {
        return Err(DefinitionCorrupt("a default of the wrong width"));
    }
    Ok(ColumnStorage {
        class,
        nullable,
        missing,
    })
}

fn encode_key_column(column: &KeyColumn, out: &mut Vec<u8>) {
    let (kind, number) = match column.source {
        KeySource::Column(number) => (0, number),
        KeySource::Expression(number) => (1, number),
    };
    out.push(kind);
    out.extend_from_slice(&number.to_le_bytes());
    out.push(column.class.code());
    out.push(column.nullable as u8 | (column.descending as u8) << 1 | (column.nulls_first as u8) << 2);
}

fn decode_key_column(input: &mut Input<'_>) -> Result<KeyColumn, DefinitionCorrupt> {
    let kind = input.u8()?;
    let number = input.u16()?;
    let source = match kind {
        0 => KeySource::Column(number),
        1 => KeySource::Expression(number),
        _ => return Err(DefinitionCorrupt("unknown key source")),
    };
    let class = KeyClass::from_code(input.u8()?).ok_or(DefinitionCorrupt("unknown key class"))?;
    let flags = input.u8()?;
    Ok(KeyColumn {
        source,
        class,
        nullable: flags & 1 != 0,
        descending: flags & 2 != 0,
        nulls_first: flags & 4 != 0,
    })
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(
        &u16::try_from(count)
            .expect("lists are bounded below 65,536")
            .to_le_bytes(),
    );
}

fn put_optional_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        None => out.push(0),
        Some(bytes) => {
            out.push(1);
            put_u32(
                out,
                u32::try_from(bytes.len()).expect("definitions are far below 4 GiB"),
            );
            out.extend_from_slice(bytes);
        }
    }
}

/// What is left to decode.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DefinitionCorrupt> {
        if self.0.len() < count {
            return Err(DefinitionCorrupt("too short"));
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8, DefinitionCorrupt> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<u16, DefinitionCorrupt> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into().expect("two bytes")))
    }

    fn u32(&mut self) -> Result<u32, DefinitionCorrupt> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn i64(&mut self) -> Result<i64, DefinitionCorrupt> {
        Ok(i64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }

    fn optional_bytes(&mut self) -> Result<Option<&'a [u8]>, DefinitionCorrupt> {
        match self.u8()? {
            0 => Ok(None),
            1 => {
                let length = self.u32()? as usize;
                self.take(length).map(Some)
            }
            _ => Err(DefinitionCorrupt("bad option byte")),
        }
    }
}

/// An object of the catalog, by kind and id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ObjectKey {
    Table(TableId),
    Index(IndexId),
    Sequence(SequenceId),
}

impl Definition {
    pub(crate) fn key(&self) -> ObjectKey {
        match self {
            Definition::Table(table) => ObjectKey::Table(table.id),
            Definition::Index(index) => ObjectKey::Index(index.id),
            Definition::Sequence(sequence) => ObjectKey::Sequence(sequence.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_survive_encoding_and_damage_is_an_error() {
        let definitions = [
            Definition::Table(TableDefinition {
                id: TableId(17),
                layouts: vec![
                    Layout::new(0, vec![ColumnStorage::new(StorageClass::Fixed4, false)]),
                    Layout::new(
                        3,
                        vec![
                            ColumnStorage::new(StorageClass::Fixed4, false),
                            ColumnStorage::new(StorageClass::Variable, true)
                                .with_missing(Some(b"x"[..].into())),
                        ],
                    ),
                ],
            }),
            Definition::Index(IndexDefinition {
                id: IndexId(4),
                table: TableId(17),
                method: IndexMethod::Hash,
                columns: vec![
                    KeyColumn::ascending(1, KeyClass::PrefixedVariable, true),
                    KeyColumn {
                        source: KeySource::Expression(0),
                        class: KeyClass::Float8,
                        nullable: true,
                        descending: true,
                        nulls_first: true,
                    },
                ],
                unique: true,
                deferrable: true,
                nulls_not_distinct: true,
                expressions: Some(b"lower(a)"[..].into()),
            }),
            Definition::Sequence(SequenceDefinition {
                id: SequenceId(9),
                start: 1,
                increment: -2,
                minimum: i64::MIN,
                maximum: i64::MAX,
                cycle: true,
            }),
        ];
        for definition in definitions {
            let bytes = definition.encode();
            assert_eq!(Definition::decode(&bytes), Ok(definition));
            for cut in 0..bytes.len() {
                assert!(Definition::decode(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn many_layouts_take_little_more_than_one_and_the_form_before_is_read() {
        let column =
            |i: u8| ColumnStorage::new(StorageClass::Variable, true).with_missing(Some([i; 100].into()));
        let mut columns = Vec::new();
        let layouts = (0..=255u8).map(|number| {
            columns.push(column(number));
            // A column that was added and taken back: the next one stands in its place.
            let stands = number % 7 != 3;
            let layout = Layout::new(number, columns.clone());
            columns.truncate(columns.len() - usize::from(!stands));
            layout
        });
        let definition = Definition::Table(TableDefinition {
            id: TableId(17),
            layouts: layouts.collect(),
        });
        let bytes = definition.encode();
        assert!(bytes.len() < 256 * 120, "{}", bytes.len());
        assert_eq!(Definition::decode(&bytes), Ok(definition));
        // Two layouts of one column each, and of two, with all columns in both.
        let old = [
            &[1, 1, 17, 0, 0, 0, 2, 0][..],
            &[0, 1, 0, 4, 0, 0][..],
            &[1, 2, 0, 4, 0, 0, 0, 1, 1, 1, 0, 0, 0, b'x'][..],
        ];
        let Ok(Definition::Table(table)) = Definition::decode(&old.concat()) else {
            panic!("the form before is read");
        };
        let [first, second] = &table.layouts[..] else {
            panic!("two layouts");
        };
        assert_eq!(first.columns()[0], second.columns()[0]);
        assert_eq!(second.columns()[1].missing.as_deref(), Some(&b"x"[..]));
    }

    #[test]
    fn a_layout_that_shares_more_than_there_is_is_refused() {
        let head = [2, 1, 17, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 4, 0, 0];
        for (count, shared) in [(2, 2), (1, 2), (0, 1)] {
            let bytes = [&head[..], &[1, count, 0, shared, 0, 4, 0, 0, 4, 0, 0]].concat();
            assert_eq!(
                Definition::decode(&bytes),
                Err(DefinitionCorrupt("columns of no layout before"))
            );
        }
    }
}
