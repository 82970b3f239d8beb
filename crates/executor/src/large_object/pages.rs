//! The bytes of large objects, in pages. A page that is not there, and what is missing at the end of one that is not the
//! last, reads as zeros: holes take no room.

use std::ops::Bound;

use mote_common::SqlError;
use mote_common::work;
use mote_common::{SqlResult, error::state};
use mote_engine::index::KeyRange;
use mote_engine::{RowLockStrength, RowWriter, Snapshot};

use super::store::{Store, page_column};
use super::{OBJECT_BYTES_MAX, PAGE_BYTES};
use crate::context::StatementContext;

/// What a page costs of a statement's slice: about as much as five rows.
const FUEL_PER_PAGE: u32 = 5;

fn key(object: u32, page: u32) -> [u8; 8] {
    (u64::from(object) << 32 | u64::from(page)).to_be_bytes()
}

/// The keys of an object's pages `first..=last`.
fn pages(object: u32, first: u32, last: u32) -> KeyRange {
    KeyRange {
        lower: Bound::Included(key(object, first).to_vec()),
        upper: Bound::Included(key(object, last).to_vec()),
    }
}

/// Bytes up to the end of the last page.
pub fn size(store: &Store, object: u32, snapshot: &Snapshot, context: &StatementContext<'_>) -> u64 {
    let range = pages(object, 0, u32::MAX);
    // The last page that is there, found from behind.
    let mut rows = store.pages.rows(range, true, context.transaction);
    let last = rows.next(&store.pages, snapshot, context.transaction);
    last.map_or(0, |last| {
        let view = store.pages.view(&last);
        let page = u64::from(view.fixed4(page_column::NUMBER));
        page * PAGE_BYTES + view.variable(page_column::BYTES).len() as u64
    })
}

/// At most `length` bytes from a position on, fewer where the object ends before.
pub fn read(
    store: &Store,
    object: u32,
    from: u64,
    length: u64,
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<u8>> {
    // Cut to the object's size before room is made: a client may ask for two gigabytes of a small object.
    let length = length.min(size(store, object, snapshot, context).saturating_sub(from)) as usize;
    if length == 0 {
        return Ok(Vec::new());
    }
    work::reserve(length)?;
    let mut out = Vec::with_capacity(length);
    let last = (from + length as u64 - 1) / PAGE_BYTES;
    let range = pages(object, (from / PAGE_BYTES) as u32, last as u32);
    let mut rows = store.pages.rows(range, false, context.transaction);
    while let Some(version) = rows.next(&store.pages, snapshot, context.transaction) {
        let view = store.pages.view(&version);
        let start = u64::from(view.fixed4(page_column::NUMBER)) * PAGE_BYTES;
        let hole = start.saturating_sub(from + out.len() as u64) as usize;
        out.resize(out.len() + hole, 0);
        // Only the first page can begin before what is wanted.
        let skipped = (from + out.len() as u64 - start) as usize;
        let bytes = view.variable(page_column::BYTES);
        let bytes = bytes.get(skipped..).unwrap_or_default();
        out.extend_from_slice(&bytes[..bytes.len().min(length - out.len())]);
        context.burn(FUEL_PER_PAGE)?;
    }
    // A hole behind the last page of the range: the object goes on behind it.
    out.resize(length, 0);
    Ok(out)
}

/// Writes bytes at a position, beyond the end too.
pub fn write(
    store: &Store,
    object: u32,
    from: u64,
    mut bytes: &[u8],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if from + bytes.len() as u64 > OBJECT_BYTES_MAX {
        let message = format!("invalid large object write request size: {}", bytes.len());
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    let mut at = from;
    while !bytes.is_empty() {
        // Page by page: only the first and the last keep bytes that stood there.
        let offset = (at % PAGE_BYTES) as usize;
        let (now, later) = bytes.split_at(bytes.len().min(PAGE_BYTES as usize - offset));
        change_page(store, object, (at / PAGE_BYTES) as u32, context, |page| {
            page.resize(page.len().max(offset + now.len()), 0);
            page[offset..offset + now.len()].copy_from_slice(now);
        })?;
        at += now.len() as u64;
        bytes = later;
    }
    Ok(())
}

/// Makes an object exactly as long: what is beyond goes, what is missing is zeros.
pub fn truncate(
    store: &Store,
    object: u32,
    length: u64,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Written even where the length ends a page: an empty page marks how long the object is.
    let page = (length / PAGE_BYTES) as u32;
    change_page(store, object, page, context, |bytes| {
        bytes.resize((length % PAGE_BYTES) as usize, 0);
    })?;
    cut(store, object, page + 1, context)
}

/// Deletes the pages from one on. The object's row is locked.
pub(super) fn cut(
    store: &Store,
    object: u32,
    first: u32,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // A command of its own: pages that this statement has just written are found, too.
    let snapshot = context.transaction.advance_command();
    let range = pages(object, first, u32::MAX);
    let mut rows = store.pages.rows(range, false, context.transaction);
    while let Some(version) = rows.next(&store.pages, &snapshot, context.transaction) {
        let strength = RowLockStrength::Update;
        if let Some(page) = store
            .pages
            .lock_row(version.row(), strength, &snapshot, context)?
        {
            store.pages.delete(&page, context)?;
        }
        context.burn(FUEL_PER_PAGE)?;
    }
    Ok(())
}

/// Changes a page in its newest state, an empty one if there is none.
fn change_page(
    store: &Store,
    object: u32,
    page: u32,
    context: &mut StatementContext<'_>,
    change: impl Fn(&mut Vec<u8>),
) -> SqlResult<()> {
    loop {
        context.burn(FUEL_PER_PAGE)?;
        let strength = RowLockStrength::NoKeyUpdate;
        let locked = store.pages.lock(&key(object, page), strength, context)?;
        let mut bytes = locked.as_ref().map_or_else(Vec::new, |locked| {
            store.pages.view(locked).variable(page_column::BYTES).to_vec()
        });
        change(&mut bytes);
        let mut writer = RowWriter::new(store.pages.table.newest_layout());
        writer.set_fixed4(page_column::OBJECT, object);
        writer.set_fixed4(page_column::NUMBER, page);
        writer.set_variable(page_column::BYTES, &bytes);
        match locked {
            Some(locked) => return store.pages.update(&locked, &mut writer, context),
            None if store.pages.insert(&mut writer, context)? => return Ok(()),
            // Somebody has made the page meanwhile: it is changed as he left it.
            None => {}
        }
    }
}
