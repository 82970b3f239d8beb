//! Large objects in pg_catalog: pg_largeobject_metadata, pg_largeobject, and their part of pg_description. Only a running
//! statement can read them, since they are rows of tables.

use mote_catalog::views::Facts;
use mote_catalog::views::text::acl_item;
use mote_common::{Oid, SqlResult};
use mote_engine::Snapshot;
use mote_engine::index::KeyRange;
use mote_sql::access::AclItem;
use mote_types::{Datum, oid};

use super::object::{self, LargeObject};
use super::store::{Store, page_column};
use crate::context::StatementContext;

const PG_DESCRIPTION: Oid = Oid(2609);
/// Comments and dependencies name this relation as that of large objects.
pub const PG_LARGEOBJECT: Oid = Oid(2613);
const PG_LARGEOBJECT_METADATA: Oid = Oid(2995);

/// Appends what a relation shows of large objects.
pub fn append(
    relation: Oid,
    rows: &mut Vec<Vec<Datum>>,
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if ![PG_DESCRIPTION, PG_LARGEOBJECT, PG_LARGEOBJECT_METADATA].contains(&relation) {
        return Ok(());
    }
    let Some(store) = Store::existing(context)? else {
        return Ok(());
    };
    if relation == PG_LARGEOBJECT {
        return append_pages(&store, rows, snapshot, context);
    }
    for found in object::all(&store.objects, snapshot, context)? {
        match relation {
            PG_LARGEOBJECT_METADATA => rows.push(metadata(&found, context)),
            _ => rows.extend(description(&found)),
        }
    }
    Ok(())
}

/// A row of pg_largeobject_metadata: oid, lomowner, lomacl.
fn metadata(found: &LargeObject, context: &StatementContext<'_>) -> Vec<Datum> {
    let facts = Facts::new(context.session.reader(), context.database.engine());
    let items = found.acl.iter().map(AclItem::from);
    let items = items.map(|item| Datum::from(acl_item(&facts, &item)));
    let acl = match found.acl.is_empty() {
        true => Datum::Null,
        false => Datum::array(oid::ACLITEM, items.collect()),
    };
    vec![Datum::Oid(found.oid), Datum::Oid(found.owner), acl]
}

/// A row of pg_description, for an object with a comment.
fn description(found: &LargeObject) -> Option<Vec<Datum>> {
    let comment = found.comment.as_deref()?;
    Some(vec![
        Datum::Oid(found.oid),
        Datum::oid(PG_LARGEOBJECT),
        Datum::Int4(0),
        Datum::from(comment),
    ])
}

/// The rows of pg_largeobject: the pages of all objects.
fn append_pages(
    store: &Store,
    rows: &mut Vec<Vec<Datum>>,
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut pages = store.pages.rows(KeyRange::all(), false, context.transaction);
    while let Some(version) = pages.next(&store.pages, snapshot, context.transaction) {
        let view = store.pages.view(&version);
        let bytes = view.variable(page_column::BYTES);
        mote_common::work::reserve(bytes.len())?;
        rows.push(vec![
            Datum::Oid(view.fixed4(page_column::OBJECT)),
            Datum::Int4(view.fixed4(page_column::NUMBER) as i32),
            Datum::Bytea(bytes.into()),
        ]);
        context.burn(1)?;
    }
    Ok(())
}

/// The comment on an object, as a snapshot sees it.
pub fn comment(object: u32, snapshot: &Snapshot, context: &StatementContext<'_>) -> Option<String> {
    object::seen(object, snapshot, context).ok()?.comment
}
