//! Key programs: how the key of an index is made from the bytes of a row.
//!
//! A key is the concatenation of its columns' encodings, built so that comparing keys as unsigned bytes compares the
//! rows. Per column:
//! ```text
//! marker   only for nullable columns: 0x01 = a value follows; NULL is 0x00 (nulls first) or 0x02 (nulls last), alone
//! value    Bool: one byte. Signed2/4/8: big-endian, sign bit flipped. Unsigned1/2/4/8: big-endian. Float4/8: IEEE total
//!          order, -0 as 0, every NaN as the greatest. Raw16: as is.
//!          Variable: 0x00 becomes 0x00 0xFF, the end is 0x00 0x00. PrefixedVariable: the column's bytes begin with the
//!          length (u16, little-endian) of order-preserving bytes that follow; those are encoded like Variable.
//!          UnpaddedVariable: without the blanks (0x20) at the end, encoded like Variable.
//! DESC     inverts every byte of the value; the marker stays, since nulls first or last is said apart.
//! ```
//! Expressions and partial predicates come from above through [`KeyExpressions`]; recovery needs them as well, so the
//! engine is opened with a provider (`Engine::open`).
//!
//! The index's method may make another entry key of it (`index::method`).
//!
//! Leaves out: decoding. A key is compared and never read back.

use super::columns::ColumnSet;
use super::row::RowView;
use crate::index::IndexMethod;
use mote_common::SqlError;
use std::fmt;
use std::sync::Arc;

/// How a key column's stored bytes become comparable ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyClass {
    Bool,
    Signed2,
    Signed4,
    Signed8,
    Unsigned1,
    Unsigned2,
    Unsigned4,
    Unsigned8,
    Float4,
    Float8,
    Raw16,
    Variable,
    PrefixedVariable,
    UnpaddedVariable,
}

impl KeyClass {
    const ALL: [KeyClass; 14] = [
        KeyClass::Bool,
        KeyClass::Signed2,
        KeyClass::Signed4,
        KeyClass::Signed8,
        KeyClass::Unsigned1,
        KeyClass::Unsigned2,
        KeyClass::Unsigned4,
        KeyClass::Unsigned8,
        KeyClass::Float4,
        KeyClass::Float8,
        KeyClass::Raw16,
        KeyClass::Variable,
        KeyClass::PrefixedVariable,
        KeyClass::UnpaddedVariable,
    ];

    /// The byte that stands for the class on disk.
    pub fn code(self) -> u8 {
        Self::ALL
            .iter()
            .position(|&class| class == self)
            .expect("ALL lists every class") as u8
    }

    pub fn from_code(code: u8) -> Option<KeyClass> {
        Self::ALL.get(code as usize).copied()
    }
}

/// Where a key column's value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeySource {
    /// A column of the row, counted from 0.
    Column(u16),
    /// An expression of the index, counted from 0; see [`KeyExpressions`].
    Expression(u16),
}

/// One column of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyColumn {
    pub source: KeySource,
    pub class: KeyClass,
    /// A nullable column has a marker byte.
    pub nullable: bool,
    pub descending: bool,
    pub nulls_first: bool,
}

impl KeyColumn {
    /// A column in PostgreSQL's default order: ascending, nulls last.
    pub fn ascending(column: u16, class: KeyClass, nullable: bool) -> KeyColumn {
        KeyColumn {
            source: KeySource::Column(column),
            class,
            nullable,
            descending: false,
            nulls_first: false,
        }
    }
}

/// A value on its way into a key: what a scan compares with, or an expression's result.
#[derive(Clone, Copy, Debug)]
pub enum KeyValue<'a> {
    Null,
    Bool(bool),
    /// For `Signed2`, `Signed4`, `Signed8`; must fit the class.
    Signed(i64),
    /// For `Unsigned1` to `Unsigned8`; must fit the class.
    Unsigned(u64),
    /// For `Float4` (exactly representable) and `Float8`.
    Float(f64),
    Raw16([u8; 16]),
    /// For `Variable`: the value; for `PrefixedVariable`: the order-preserving bytes alone; for `UnpaddedVariable`: the
    /// value without blanks at the end.
    Bytes(&'a [u8]),
}

const MARKER_NULL_FIRST: u8 = 0x00;
const MARKER_VALUE: u8 = 0x01;
const MARKER_NULL_LAST: u8 = 0x02;

impl KeyColumn {
    /// Appends the column's part of a key. Answers whether the value was NULL.
    pub fn append(&self, value: KeyValue<'_>, key: &mut Vec<u8>) -> bool {
        if let KeyValue::Null = value {
            debug_assert!(self.nullable, "NULL in a NOT NULL key column");
            key.push(if self.nulls_first {
                MARKER_NULL_FIRST
            } else {
                MARKER_NULL_LAST
            });
            return true;
        }
        if self.nullable {
            key.push(MARKER_VALUE);
        }
        let start = key.len();
        match (self.class, value) {
            (KeyClass::Bool, KeyValue::Bool(value)) => key.push(value as u8),
            (KeyClass::Signed2, KeyValue::Signed(value)) => {
                key.extend_from_slice(&(value as i16 as u16 ^ 1 << 15).to_be_bytes());
            }
            (KeyClass::Signed4, KeyValue::Signed(value)) => {
                key.extend_from_slice(&(value as i32 as u32 ^ 1 << 31).to_be_bytes());
            }
            (KeyClass::Signed8, KeyValue::Signed(value)) => {
                key.extend_from_slice(&(value as u64 ^ 1 << 63).to_be_bytes());
            }
            (KeyClass::Unsigned1, KeyValue::Unsigned(value)) => key.push(value as u8),
            (KeyClass::Unsigned2, KeyValue::Unsigned(value)) => {
                key.extend_from_slice(&(value as u16).to_be_bytes());
            }
            (KeyClass::Unsigned4, KeyValue::Unsigned(value)) => {
                key.extend_from_slice(&(value as u32).to_be_bytes());
            }
            (KeyClass::Unsigned8, KeyValue::Unsigned(value)) => key.extend_from_slice(&value.to_be_bytes()),
            (KeyClass::Float4, KeyValue::Float(value)) => {
                key.extend_from_slice(&total_order_4(value as f32).to_be_bytes());
            }
            (KeyClass::Float8, KeyValue::Float(value)) => {
                key.extend_from_slice(&total_order_8(value).to_be_bytes());
            }
            (KeyClass::Raw16, KeyValue::Raw16(value)) => key.extend_from_slice(&value),
            (
                KeyClass::Variable | KeyClass::PrefixedVariable | KeyClass::UnpaddedVariable,
                KeyValue::Bytes(value),
            ) => append_escaped(value, key),
            (class, value) => panic!("key class {class:?} does not take {value:?}"),
        }
        if self.descending {
            key[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        false
    }

    fn value_of<'a>(&self, row: &RowView<'a>, column: usize) -> KeyValue<'a> {
        if row.is_null(column) {
            return KeyValue::Null;
        }
        match self.class {
            KeyClass::Bool => KeyValue::Bool(row.fixed1(column) != 0),
            KeyClass::Signed2 => KeyValue::Signed(row.fixed2(column) as i16 as i64),
            KeyClass::Signed4 => KeyValue::Signed(row.fixed4(column) as i32 as i64),
            KeyClass::Signed8 => KeyValue::Signed(row.fixed8(column) as i64),
            KeyClass::Unsigned1 => KeyValue::Unsigned(row.fixed1(column) as u64),
            KeyClass::Unsigned2 => KeyValue::Unsigned(row.fixed2(column) as u64),
            KeyClass::Unsigned4 => KeyValue::Unsigned(row.fixed4(column) as u64),
            KeyClass::Unsigned8 => KeyValue::Unsigned(row.fixed8(column)),
            KeyClass::Float4 => KeyValue::Float(f32::from_bits(row.fixed4(column)) as f64),
            KeyClass::Float8 => KeyValue::Float(f64::from_bits(row.fixed8(column))),
            KeyClass::Raw16 => KeyValue::Raw16(row.fixed16(column)),
            KeyClass::Variable => KeyValue::Bytes(row.variable(column)),
            KeyClass::UnpaddedVariable => KeyValue::Bytes(unpadded(row.variable(column))),
            KeyClass::PrefixedVariable => {
                let stored = row.variable(column);
                let length = u16::from_le_bytes([stored[0], stored[1]]) as usize;
                KeyValue::Bytes(&stored[2..2 + length])
            }
        }
    }
}

fn total_order_4(value: f32) -> u32 {
    if value.is_nan() {
        return u32::MAX;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

fn total_order_8(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn unpadded(value: &[u8]) -> &[u8] {
    let blanks = value.iter().rev().take_while(|&&byte| byte == b' ').count();
    &value[..value.len() - blanks]
}

fn append_escaped(value: &[u8], key: &mut Vec<u8>) {
    if value.contains(&0) {
        for &byte in value {
            key.push(byte);
            if byte == 0 {
                key.push(0xff);
            }
        }
    } else {
        key.extend_from_slice(value);
    }
    key.extend_from_slice(&[0, 0]);
}

/// The expressions and the predicate of an index, compiled by a layer that knows expressions. Both depend on nothing but
/// the row: whoever asks again, at recovery or in a check, gets the same answer.
pub trait KeyExpressions: Send + Sync {
    /// Columns of the row that expressions and predicate read, counted from 0.
    fn columns(&self) -> &[u16];

    /// Appends expression `number` of `row` as `column` says (through [`KeyColumn::append`]); answers whether NULL.
    fn append(
        &self,
        number: u16,
        column: &KeyColumn,
        row: &RowView<'_>,
        key: &mut Vec<u8>,
    ) -> Result<bool, SqlError>;

    /// Is the row in the index? `true` for an index without a predicate.
    fn covers(&self, row: &RowView<'_>) -> Result<bool, SqlError>;
}

/// Makes [`KeyExpressions`] from what an index definition says, at creation and at recovery.
pub trait KeyExpressionProvider: Send + Sync {
    fn compile(&self, definition: &[u8]) -> Result<Arc<dyn KeyExpressions>, SqlError>;
}

/// What a row has in an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyOutcome {
    /// The predicate leaves the row out.
    NotCovered,
    Key {
        /// Some column is NULL: a unique index takes it as distinct from every other (unless NULLS NOT DISTINCT).
        has_null: bool,
    },
}

/// Makes an index's keys.
#[derive(Clone)]
pub struct KeyProgram {
    method: IndexMethod,
    columns: Box<[KeyColumn]>,
    expressions: Option<Arc<dyn KeyExpressions>>,
}

impl KeyProgram {
    pub fn new(columns: Vec<KeyColumn>, expressions: Option<Arc<dyn KeyExpressions>>) -> KeyProgram {
        debug_assert!(
            expressions.is_some()
                || columns
                    .iter()
                    .all(|column| matches!(column.source, KeySource::Column(_)))
        );
        KeyProgram {
            method: IndexMethod::Ordered,
            columns: columns.into(),
            expressions,
        }
    }

    /// The same for an index of this method.
    pub fn with_method(self, method: IndexMethod) -> KeyProgram {
        KeyProgram { method, ..self }
    }

    #[inline]
    pub fn method(&self) -> IndexMethod {
        self.method
    }

    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// Writes the key of the row's entry into `key`, which is cleared first.
    pub fn key(&self, row: &RowView<'_>, key: &mut Vec<u8>) -> Result<KeyOutcome, SqlError> {
        let outcome = self.value_key(row, key)?;
        Ok(match outcome {
            KeyOutcome::Key { has_null } if self.method.enter(has_null, key) => outcome,
            _ => KeyOutcome::NotCovered,
        })
    }

    /// The entry key of a value key, which a look-up has made column by column.
    #[inline]
    pub fn entry_key<'k>(&self, value_key: &'k [u8], scratch: &'k mut Vec<u8>) -> &'k [u8] {
        self.method.entry_key(value_key, scratch)
    }

    /// Writes the row's values into `key` as they compare.
    fn value_key(&self, row: &RowView<'_>, key: &mut Vec<u8>) -> Result<KeyOutcome, SqlError> {
        key.clear();
        if let Some(expressions) = &self.expressions
            && !expressions.covers(row)?
        {
            return Ok(KeyOutcome::NotCovered);
        }
        let mut has_null = false;
        for column in &self.columns {
            has_null |= match column.source {
                KeySource::Column(number) => column.append(column.value_of(row, number as usize), key),
                KeySource::Expression(number) => self
                    .expressions
                    .as_ref()
                    .expect("a program with expression columns has expressions")
                    .append(number, column, row, key)?,
            };
        }
        Ok(KeyOutcome::Key { has_null })
    }

    /// Does `row` have exactly these values? Asked of every row that an entry of a method led to which is not exact.
    pub fn has_values(&self, row: &RowView<'_>, value_key: &[u8], scratch: &mut Vec<u8>) -> bool {
        matches!(self.value_key(row, scratch), Ok(KeyOutcome::Key { .. })) && scratch == value_key
    }

    /// Does the entry of `row` have exactly this key? A row whose expressions fail has no key: it never got into the index.
    pub fn matches(&self, row: &RowView<'_>, key: &[u8], scratch: &mut Vec<u8>) -> bool {
        matches!(self.key(row, scratch), Ok(KeyOutcome::Key { .. })) && scratch == key
    }

    /// The columns that keys are made of, and those that decide whether there is one.
    pub(crate) fn columns_read(&self) -> ColumnSet {
        let plain = self.columns.iter().filter_map(|column| match column.source {
            KeySource::Column(number) => Some(number as usize),
            KeySource::Expression(_) => None,
        });
        let expressions = self.expressions.iter().flat_map(|made| made.columns());
        plain.chain(expressions.map(|&number| number as usize)).collect()
    }

    /// Is a column of the key nullable?
    pub(crate) fn may_be_null(&self) -> bool {
        self.columns.iter().any(|column| column.nullable)
    }

    /// Has the index expressions or a predicate?
    pub fn has_expressions(&self) -> bool {
        self.expressions.is_some()
    }

    /// Does an update from `old` to `new` surely leave the index as it is? For plain columns cheaper than two keys.
    pub fn surely_same(&self, old: &RowView<'_>, new: &RowView<'_>) -> bool {
        match &self.expressions {
            None => self.same_columns(old, new),
            Some(expressions) => self.same_outcome(&**expressions, old, new),
        }
    }

    fn same_columns(&self, old: &RowView<'_>, new: &RowView<'_>) -> bool {
        self.columns.iter().all(|column| {
            let KeySource::Column(number) = column.source else {
                return true;
            };
            let number = number as usize;
            if old.is_null(number) || new.is_null(number) {
                return old.is_null(number) == new.is_null(number);
            }
            match column.class {
                KeyClass::Bool | KeyClass::Unsigned1 => old.fixed1(number) == new.fixed1(number),
                KeyClass::Signed2 | KeyClass::Unsigned2 => old.fixed2(number) == new.fixed2(number),
                KeyClass::Signed4 | KeyClass::Unsigned4 | KeyClass::Float4 => {
                    old.fixed4(number) == new.fixed4(number)
                }
                KeyClass::Signed8 | KeyClass::Unsigned8 | KeyClass::Float8 => {
                    old.fixed8(number) == new.fixed8(number)
                }
                KeyClass::Raw16 => old.fixed16(number) == new.fixed16(number),
                KeyClass::Variable | KeyClass::PrefixedVariable => {
                    old.variable(number) == new.variable(number)
                }
                KeyClass::UnpaddedVariable => {
                    unpadded(old.variable(number)) == unpadded(new.variable(number))
                }
            }
        })
    }

    /// Both keys are computed only where a column that they depend on has changed. What fails has changed: the new
    /// row's entry says how.
    #[inline(never)]
    fn same_outcome(&self, expressions: &dyn KeyExpressions, old: &RowView<'_>, new: &RowView<'_>) -> bool {
        let mut inputs = expressions.columns().iter();
        if self.same_columns(old, new) && inputs.all(|&column| old.same_value(new, column as usize)) {
            return true;
        }
        let (mut before, mut after) = (Vec::new(), Vec::new());
        match (self.key(old, &mut before), self.key(new, &mut after)) {
            (Ok(old), Ok(new)) => old == new && before == after,
            _ => false,
        }
    }
}

impl fmt::Debug for KeyProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyProgram")
            .field("method", &self.method)
            .field("columns", &self.columns)
            .field("expressions", &self.expressions.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests;
