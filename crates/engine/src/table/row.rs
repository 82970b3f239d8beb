//! Row bytes: how values lie inside a version's payload, and the reader and writer of that format.
//!
//! ```text
//! flag byte      bit 0: a null bitmap follows; bits 1-2: width of the end offsets (0: 1 byte, 1: 2 bytes, 2: 4 bytes)
//! null bitmap    one bit per column, set = NULL; only if some column is NULL
//! fixed columns  in column order, unaligned, little-endian; NULLs occupy their place as zeros
//! end offsets    one per variable column: end of its bytes, counted from the start of the variable bytes
//! variable bytes in column order; a NULL has none
//! ```
//! The row may be followed by padding (a version is a multiple of 8 bytes long); nothing here depends on where the
//! slice ends. Places of fixed columns do not depend on other columns' NULLs: one addition finds them.
//!
//! Leaves out: what values mean, and large values by reference.

use super::layout::{Layout, Place};

/// The longest row: PostgreSQL's limit of 1 GiB for one tuple, less a margin for headers.
pub const ROW_BYTES_MAX: usize = (1 << 30) - 4096;

const FLAG_NULLS: u8 = 1;
const OFFSET_WIDTH_SHIFT: u8 = 1;

/// A row under the layout it was written with.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    layout: &'a Layout,
    /// Tells what columns read as that were added after the row was written.
    newest: &'a Layout,
    bytes: &'a [u8],
    /// Start of the fixed part.
    fixed: usize,
}

impl<'a> RowView<'a> {
    #[inline]
    pub fn new(layout: &'a Layout, bytes: &'a [u8]) -> RowView<'a> {
        let has_nulls = bytes[0] & FLAG_NULLS != 0;
        let fixed = if has_nulls {
            1 + layout.null_bitmap_bytes()
        } else {
            1
        };
        RowView {
            layout,
            newest: layout,
            bytes,
            fixed,
        }
    }

    /// The same row, seen under a newer layout: columns the row does not have read as its `missing`.
    #[inline]
    pub fn under(self, newest: &'a Layout) -> RowView<'a> {
        debug_assert!(newest.column_count() >= self.layout.column_count());
        RowView { newest, ..self }
    }

    pub fn column_count(&self) -> usize {
        self.newest.column_count()
    }

    /// The bytes as stored, padding included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub fn is_null(&self, column: usize) -> bool {
        if column >= self.layout.column_count() {
            return self.newest.columns()[column].missing.is_none();
        }
        self.fixed > 1 && self.bytes[1 + column / 8] & (1 << (column % 8)) != 0
    }

    #[inline]
    pub fn fixed1(&self, column: usize) -> u8 {
        self.fixed_array::<1>(column)[0]
    }

    #[inline]
    pub fn fixed2(&self, column: usize) -> u16 {
        u16::from_le_bytes(self.fixed_array(column))
    }

    #[inline]
    pub fn fixed4(&self, column: usize) -> u32 {
        u32::from_le_bytes(self.fixed_array(column))
    }

    #[inline]
    pub fn fixed8(&self, column: usize) -> u64 {
        u64::from_le_bytes(self.fixed_array(column))
    }

    #[inline]
    pub fn fixed16(&self, column: usize) -> [u8; 16] {
        self.fixed_array(column)
    }

    #[inline]
    fn fixed_array<const N: usize>(&self, column: usize) -> [u8; N] {
        if column >= self.layout.column_count() {
            let missing = self.newest.columns()[column]
                .missing
                .as_deref()
                .unwrap_or(&[0; N]);
            return missing
                .try_into()
                .expect("a layout checks the length of `missing`");
        }
        let Place::Fixed { offset } = self.layout.places[column] else {
            panic!("column {column} is variable");
        };
        let start = self.fixed + offset as usize;
        self.bytes[start..start + N]
            .try_into()
            .expect("the range has N bytes")
    }

    /// A fixed column's bytes, or None for NULL: one look at the column's place for both.
    ///
    /// # Panics
    /// When the column is variable, or its class is not N bytes wide.
    #[inline]
    pub fn read_fixed<const N: usize>(&self, column: usize) -> Option<[u8; N]> {
        let Some(place) = self.layout.places.get(column) else {
            return (!self.is_null(column)).then(|| self.fixed_array(column));
        };
        if self.fixed > 1 && self.bytes[1 + column / 8] & (1 << (column % 8)) != 0 {
            return None;
        }
        let Place::Fixed { offset } = *place else {
            panic!("column {column} is variable");
        };
        let start = self.fixed + offset as usize;
        let bytes = self.bytes[start..].first_chunk::<N>();
        Some(*bytes.expect("a row has the bytes that its layout names"))
    }

    /// A variable column's bytes; empty for NULL.
    #[inline]
    pub fn variable(&self, column: usize) -> &'a [u8] {
        if column >= self.layout.column_count() {
            return self.newest.columns()[column].missing.as_deref().unwrap_or(&[]);
        }
        let Place::Variable { ordinal } = self.layout.places[column] else {
            panic!("column {column} is fixed");
        };
        let (start, end, base) = self.variable_bounds(ordinal as usize);
        &self.bytes[base + start..base + end]
    }

    #[inline]
    fn variable_bounds(&self, ordinal: usize) -> (usize, usize, usize) {
        let width = 1usize << (self.bytes[0] >> OFFSET_WIDTH_SHIFT & 3);
        let table = self.fixed + self.layout.fixed_bytes as usize;
        let base = table + width * self.layout.variable_count as usize;
        let end_of = |ordinal: usize| {
            let at = table + ordinal * width;
            match width {
                1 => self.bytes[at] as usize,
                2 => u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]) as usize,
                _ => u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes")) as usize,
            }
        };
        let start = if ordinal == 0 { 0 } else { end_of(ordinal - 1) };
        (start, end_of(ordinal), base)
    }

    /// Have two rows of a table, maybe of different layouts, the same bytes (or NULL) in this column?
    pub fn same_value(&self, other: &RowView<'_>, column: usize) -> bool {
        if self.is_null(column) || other.is_null(column) {
            return self.is_null(column) == other.is_null(column);
        }
        match self.newest.columns()[column].class.width() {
            Some(1) => self.fixed1(column) == other.fixed1(column),
            Some(2) => self.fixed2(column) == other.fixed2(column),
            Some(4) => self.fixed4(column) == other.fixed4(column),
            Some(8) => self.fixed8(column) == other.fixed8(column),
            Some(_) => self.fixed16(column) == other.fixed16(column),
            None => self.variable(column) == other.variable(column),
        }
    }

    /// Bytes of the row without padding.
    pub fn exact_length(&self) -> usize {
        match self.layout.variable_count {
            0 => self.fixed + self.layout.fixed_bytes as usize,
            count => {
                let (_, end, base) = self.variable_bounds(count as usize - 1);
                base + end
            }
        }
    }
}

/// The row would be longer than [`ROW_BYTES_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowTooLarge {
    pub row_bytes: usize,
    pub maximum_bytes: usize,
}

/// Builds rows of one layout, one after the other, in buffers that are reused. Columns may be set in any order and
/// begin as NULL.
pub struct RowWriter<'a> {
    layout: &'a Layout,
    null_count: usize,
    buffers: RowBuffers,
}

/// The memory of a [`RowWriter`], for a caller that writes now and then and wants to allocate once.
#[derive(Default)]
pub struct RowBuffers {
    nulls: Vec<u8>,
    fixed: Vec<u8>,
    /// Variable values in the order they were set.
    scratch: Vec<u8>,
    /// (start, end) in `scratch`, by ordinal.
    spans: Vec<(u32, u32)>,
    row: Vec<u8>,
}

impl<'a> RowWriter<'a> {
    pub fn new(layout: &'a Layout) -> RowWriter<'a> {
        RowWriter::with_buffers(layout, RowBuffers::default())
    }

    /// A writer in memory that an earlier one, of any layout, gave back.
    pub fn with_buffers(layout: &'a Layout, buffers: RowBuffers) -> RowWriter<'a> {
        let mut writer = RowWriter {
            layout,
            null_count: 0,
            buffers,
        };
        writer.clear();
        writer
    }

    pub fn into_buffers(self) -> RowBuffers {
        self.buffers
    }

    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// Begins a row: every column NULL.
    pub fn clear(&mut self) {
        let (layout, buffers) = (self.layout, &mut self.buffers);
        self.null_count = layout.column_count();
        buffers.nulls.clear();
        buffers.nulls.resize(layout.null_bitmap_bytes(), 0xff);
        if let (Some(last), used @ 1..) = (buffers.nulls.last_mut(), self.null_count % 8) {
            // Bits behind the last column are zero in every row.
            *last = (1 << used) - 1;
        }
        buffers.fixed.clear();
        buffers.fixed.resize(layout.fixed_bytes as usize, 0);
        buffers.scratch.clear();
        buffers.spans.clear();
        buffers.spans.resize(layout.variable_count as usize, (0, 0));
    }

    pub fn set_null(&mut self, column: usize) {
        let bit = 1u8 << (column % 8);
        if self.buffers.nulls[column / 8] & bit != 0 {
            return;
        }
        self.buffers.nulls[column / 8] |= bit;
        self.null_count += 1;
        match self.layout.places[column] {
            Place::Fixed { offset } => {
                let width = self.layout.columns()[column]
                    .class
                    .width()
                    .expect("a fixed place has a width");
                self.buffers.fixed[offset as usize..offset as usize + width].fill(0);
            }
            Place::Variable { ordinal } => self.buffers.spans[ordinal as usize] = (0, 0),
        }
    }

    pub fn set_fixed1(&mut self, column: usize, value: u8) {
        self.set_fixed(column, [value]);
    }

    pub fn set_fixed2(&mut self, column: usize, value: u16) {
        self.set_fixed(column, value.to_le_bytes());
    }

    pub fn set_fixed4(&mut self, column: usize, value: u32) {
        self.set_fixed(column, value.to_le_bytes());
    }

    pub fn set_fixed8(&mut self, column: usize, value: u64) {
        self.set_fixed(column, value.to_le_bytes());
    }

    pub fn set_fixed16(&mut self, column: usize, value: [u8; 16]) {
        self.set_fixed(column, value);
    }

    fn set_fixed<const N: usize>(&mut self, column: usize, value: [u8; N]) {
        let Place::Fixed { offset } = self.layout.places[column] else {
            panic!("column {column} is variable");
        };
        debug_assert_eq!(self.layout.columns()[column].class.width(), Some(N));
        self.buffers.fixed[offset as usize..offset as usize + N].copy_from_slice(&value);
        self.mark_present(column);
    }

    pub fn set_variable(&mut self, column: usize, value: &[u8]) {
        let Place::Variable { ordinal } = self.layout.places[column] else {
            panic!("column {column} is fixed");
        };
        let start = self.buffers.scratch.len();
        self.buffers.scratch.extend_from_slice(value);
        self.buffers.spans[ordinal as usize] = (start as u32, self.buffers.scratch.len() as u32);
        self.mark_present(column);
    }

    fn mark_present(&mut self, column: usize) {
        let bit = 1u8 << (column % 8);
        if self.buffers.nulls[column / 8] & bit != 0 {
            self.buffers.nulls[column / 8] &= !bit;
            self.null_count -= 1;
        }
    }

    /// Copies column by column from a row, which may be of an older layout.
    pub fn set_from(&mut self, column: usize, row: &RowView<'_>) {
        if row.is_null(column) {
            return self.set_null(column);
        }
        match self.layout.columns()[column].class.width() {
            Some(1) => self.set_fixed1(column, row.fixed1(column)),
            Some(2) => self.set_fixed2(column, row.fixed2(column)),
            Some(4) => self.set_fixed4(column, row.fixed4(column)),
            Some(8) => self.set_fixed8(column, row.fixed8(column)),
            Some(_) => self.set_fixed16(column, row.fixed16(column)),
            None => self.set_variable(column, row.variable(column)),
        }
    }

    /// The row's bytes, valid until the next call that writes.
    pub fn finish(&mut self) -> Result<&[u8], RowTooLarge> {
        let variable_bytes: usize = self
            .buffers
            .spans
            .iter()
            .map(|&(start, end)| (end - start) as usize)
            .sum();
        let row_bytes = 1
            + self.buffers.nulls.len()
            + self.buffers.fixed.len()
            + 4 * self.buffers.spans.len()
            + variable_bytes;
        if row_bytes > ROW_BYTES_MAX || self.buffers.scratch.len() > u32::MAX as usize {
            return Err(RowTooLarge {
                row_bytes,
                maximum_bytes: ROW_BYTES_MAX,
            });
        }
        let width_code: u8 = match variable_bytes {
            0..=0xff => 0,
            0x100..=0xffff => 1,
            _ => 2,
        };
        self.buffers.row.clear();
        let has_nulls = self.null_count > 0;
        let nulls_flag = if has_nulls { FLAG_NULLS } else { 0 };
        self.buffers
            .row
            .push(nulls_flag | (width_code << OFFSET_WIDTH_SHIFT));
        if has_nulls {
            self.buffers.row.extend_from_slice(&self.buffers.nulls);
        }
        self.buffers.row.extend_from_slice(&self.buffers.fixed);
        let mut end = 0u32;
        for &(from, to) in &self.buffers.spans {
            end += to - from;
            match width_code {
                0 => self.buffers.row.push(end as u8),
                1 => self.buffers.row.extend_from_slice(&(end as u16).to_le_bytes()),
                _ => self.buffers.row.extend_from_slice(&end.to_le_bytes()),
            }
        }
        for &(from, to) in &self.buffers.spans {
            self.buffers
                .row
                .extend_from_slice(&self.buffers.scratch[from as usize..to as usize]);
        }
        Ok(&self.buffers.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::layout::{ColumnStorage, StorageClass};
    use mote_common::prng::Prng;

    fn mixed() -> Layout {
        Layout::new(
            0,
            vec![
                ColumnStorage::new(StorageClass::Fixed4, false),
                ColumnStorage::new(StorageClass::Variable, true),
                ColumnStorage::new(StorageClass::Fixed8, true),
                ColumnStorage::new(StorageClass::Fixed16, true),
                ColumnStorage::new(StorageClass::Variable, true),
                ColumnStorage::new(StorageClass::Fixed1, true),
                ColumnStorage::new(StorageClass::Fixed2, true),
            ],
        )
    }

    #[test]
    fn what_is_written_is_read_for_every_offset_width_and_null_pattern() {
        let layout = mixed();
        let mut prng = Prng::new(3);
        let mut writer = RowWriter::new(&layout);
        for round in 0..500 {
            writer.clear();
            let lengths = [0, 5, 200, 300, 70_000];
            let first = vec![7u8; lengths[prng.below(5) as usize]];
            let second = vec![9u8; lengths[prng.below(4) as usize]];
            let present = prng.next_u64();
            if present & 1 != 0 {
                writer.set_variable(4, &second);
            }
            if present & 2 != 0 {
                writer.set_variable(1, &first);
            }
            writer.set_fixed4(0, round);
            if present & 4 != 0 {
                writer.set_fixed8(2, present);
                writer.set_fixed16(3, [present as u8; 16]);
            }
            writer.set_fixed1(5, 200);
            writer.set_fixed2(6, 60_000);
            let mut bytes = writer.finish().expect("small enough").to_vec();
            let exact = bytes.len();
            bytes.resize(exact.next_multiple_of(8), 0);
            let row = RowView::new(&layout, &bytes);
            assert_eq!(row.exact_length(), exact);
            assert_eq!(row.fixed4(0), round);
            assert_eq!(row.is_null(1), present & 2 == 0);
            assert_eq!(row.is_null(4), present & 1 == 0);
            assert_eq!(row.variable(1), if present & 2 != 0 { &first[..] } else { &[] });
            assert_eq!(row.variable(4), if present & 1 != 0 { &second[..] } else { &[] });
            assert_eq!(row.is_null(2), present & 4 == 0);
            if present & 4 != 0 {
                assert_eq!(row.fixed8(2), present);
                assert_eq!(row.fixed16(3), [present as u8; 16]);
            }
            assert_eq!((row.fixed1(5), row.fixed2(6)), (200, 60_000));
        }
    }

    #[test]
    fn columns_added_later_read_as_their_default() {
        let old = Layout::new(0, vec![ColumnStorage::new(StorageClass::Fixed4, false)]);
        let new = Layout::new(
            1,
            vec![
                ColumnStorage::new(StorageClass::Fixed4, false),
                ColumnStorage::new(StorageClass::Fixed8, true)
                    .with_missing(Some(42u64.to_le_bytes().to_vec().into())),
                ColumnStorage::new(StorageClass::Variable, true).with_missing(Some(b"dflt"[..].into())),
                ColumnStorage::new(StorageClass::Variable, true),
            ],
        );
        let mut writer = RowWriter::new(&old);
        writer.set_fixed4(0, 1);
        let bytes = writer.finish().expect("small enough").to_vec();
        let row = RowView::new(&old, &bytes).under(&new);
        assert_eq!(row.fixed8(1), 42);
        assert_eq!(row.variable(2), b"dflt");
        assert!(row.is_null(3) && !row.is_null(1));
        let mut rewritten = RowWriter::new(&new);
        (0..4).for_each(|column| rewritten.set_from(column, &row));
        let bytes = rewritten.finish().expect("small enough").to_vec();
        assert_eq!(RowView::new(&new, &bytes).variable(2), b"dflt");
    }
}
