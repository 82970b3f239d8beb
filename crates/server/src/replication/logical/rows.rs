//! Rows of the log as texts: the layout and the types come from the log itself, names of users' types from today's
//! catalog.

use mote_common::SqlResult;
use mote_engine::told::{ToldRelation, ToldView};
use mote_engine::{ColumnStorage, Layout, RowView, StorageClass};
use mote_executor::row_codec::{ColumnCodec, storage_class};
use mote_types::encoding::Converter;
use mote_types::format::{output_text, utf8};
use mote_types::{ColumnType, Datum, FormatSettings};

/// What values look like to the subscriber.
pub struct TextForm {
    pub format: FormatSettings,
    /// Of its `client_encoding`; `None`: that is UTF-8, or it takes the bytes as they are.
    pub converter: Option<Converter>,
}

/// How the rows of one table are told, from a RELATION on.
pub struct TableRows {
    layout: Layout,
    columns: Vec<(ColumnCodec, ColumnType)>,
    /// For each column: rows are found by it.
    old: Vec<bool>,
}

impl TableRows {
    /// `None`: the log's classes and types do not fit each other.
    pub fn new(relation: &ToldRelation, view: &ToldView) -> Option<TableRows> {
        let storage = relation.storage.iter().map(|column| {
            let class = StorageClass::from_code(column.class)?;
            Some(ColumnStorage::new(class, column.nullable))
        });
        let storage: Vec<ColumnStorage> = storage.collect::<Option<_>>()?;
        let columns = view.columns.iter().map(|column| {
            let ty = ColumnType::with_typmod(column.ty, column.typmod);
            let position = column.position as usize;
            let fits = storage.get(position)?.class == storage_class(ty);
            fits.then(|| (ColumnCodec::new(position, ty), ty))
        });
        Some(TableRows {
            columns: columns.collect::<Option<_>>()?,
            old: view.columns.iter().map(|column| column.old).collect(),
            layout: Layout::new(relation.layout, storage),
        })
    }

    /// A tuple of pgoutput. `only_old`: columns by which rows are not found are null.
    pub fn put(&self, row: &[u8], only_old: bool, form: &TextForm, out: &mut Vec<u8>) -> SqlResult<()> {
        let view = RowView::new(&self.layout, row);
        out.extend_from_slice(&(self.columns.len() as u16).to_be_bytes());
        for ((codec, ty), old) in self.columns.iter().zip(&self.old) {
            let value = match only_old && !old {
                true => Datum::Null,
                false => codec.read(&view),
            };
            if value.is_null() {
                out.push(b'n');
                continue;
            }
            out.push(b't');
            let length_at = out.len();
            out.extend_from_slice(&[0; 4]);
            output_text(&value, *ty, &form.format, out);
            if let Some(converter) = form.converter
                && !out[length_at + 4..].is_ascii()
            {
                let text = out.split_off(length_at + 4);
                converter.encode(utf8(&text)?, out)?;
            }
            let length = (out.len() - length_at - 4) as u32;
            out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    }
}
