//! Large objects themselves: made, deleted, described, and who may do what with them.

use mote_catalog::catalog_store::stored::{StoredAcl, acl_from_bytes, acl_to_bytes};
use mote_catalog::privileges;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{AdvisoryMode, RowLockStrength, RowView, RowWriter, Snapshot};
use mote_sql::access::privilege;

use super::store::{IndexedTable, Store, object_column};
use super::undefined;
use crate::catalog_change::object_locks::lock_name;
use crate::context::StatementContext;

/// What is kept of a large object besides its bytes.
#[derive(Clone, Debug)]
pub struct LargeObject {
    pub oid: u32,
    pub owner: u32,
    /// Empty: the defaults, everything for the owner alone.
    pub acl: Vec<StoredAcl>,
    pub comment: Option<String>,
}

impl LargeObject {
    fn read(view: &RowView<'_>) -> SqlResult<LargeObject> {
        let comment = (!view.is_null(object_column::COMMENT))
            .then(|| String::from_utf8_lossy(view.variable(object_column::COMMENT)).into_owned());
        Ok(LargeObject {
            oid: view.fixed4(object_column::OID),
            owner: view.fixed4(object_column::OWNER),
            acl: acl_from_bytes(view.variable(object_column::PRIVILEGES))?,
            comment,
        })
    }

    fn write(&self, writer: &mut RowWriter<'_>) {
        writer.set_fixed4(object_column::OID, self.oid);
        writer.set_fixed4(object_column::OWNER, self.owner);
        writer.set_variable(object_column::PRIVILEGES, &acl_to_bytes(&self.acl));
        match &self.comment {
            Some(comment) => writer.set_variable(object_column::COMMENT, comment.as_bytes()),
            None => writer.set_null(object_column::COMMENT),
        }
    }

    /// Whether the role owns it, or is a member of the role that does, or a superuser.
    pub fn is_owned(&self, context: &StatementContext<'_>) -> bool {
        is_unguarded(context) || privileges::is_member(&context.session.catalog, Oid(self.owner))
    }

    /// An error unless the current user has the privileges.
    pub fn require(&self, wanted: u32, context: &StatementContext<'_>) -> SqlResult<()> {
        let catalog = &context.session.catalog;
        let role = catalog.identity.user_oid;
        let held = || privileges::large_object_privileges(catalog, Oid(self.owner), &self.acl, role);
        if is_unguarded(context) || held() & wanted == wanted {
            return Ok(());
        }
        let message = format!("permission denied for large object {}", self.oid);
        Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
    }

    /// Whether a role owns it or stands in its privileges.
    pub fn names(&self, role: u32) -> bool {
        let mut items = self.acl.iter();
        self.owner == role || items.any(|item| item.grantee == role || item.grantor == role)
    }
}

/// Before PostgreSQL 9.0 nobody was asked.
fn is_unguarded(context: &StatementContext<'_>) -> bool {
    matches!(context.session.settings.get("lo_compat_privileges"), Ok("on"))
}

/// The key bytes of an object: as the index would make them of the oid.
fn key(object: u32) -> [u8; 4] {
    object.to_be_bytes()
}

/// The object as a snapshot sees it.
pub fn seen(object: u32, snapshot: &Snapshot, context: &StatementContext<'_>) -> SqlResult<LargeObject> {
    let store = Store::existing(context)?.ok_or_else(|| undefined(object))?;
    let transaction = context.transaction;
    let found = store.objects.find(&key(object), snapshot, transaction);
    let version = found.ok_or_else(|| undefined(object))?;
    LargeObject::read(&store.objects.view(&version))
}

/// The object in its newest state; nobody deletes it before the transaction has ended.
pub fn held(object: u32, context: &mut StatementContext<'_>) -> SqlResult<LargeObject> {
    locked(object, RowLockStrength::KeyShare, context).map(|(_, found)| found)
}

/// Locks the object's row in its newest version; 42704 where there is none any more.
fn locked(
    object: u32,
    strength: RowLockStrength,
    context: &mut StatementContext<'_>,
) -> SqlResult<(Store, LargeObject)> {
    let store = Store::existing(context)?.ok_or_else(|| undefined(object))?;
    let version = store.objects.lock(&key(object), strength, context)?;
    let version = version.ok_or_else(|| undefined(object))?;
    let found = LargeObject::read(&store.objects.view(&version))?;
    Ok((store, found))
}

/// Makes an object under the number, or under a free one for 0.
pub fn create(wanted: u32, context: &mut StatementContext<'_>) -> SqlResult<u32> {
    let store = Store::make(context)?;
    let owner = context.session.identity().user_oid;
    // Whoever drops the role holds it exclusively, and looks for what it owns.
    lock_name(owner, "", AdvisoryMode::Shared, context)?;
    loop {
        let oid = match wanted {
            // The numbers of objects are not remembered over a restart: some may be taken.
            0 => context.database.catalog().allocate_oid().0,
            wanted => wanted,
        };
        let made = LargeObject {
            oid,
            owner: owner.0,
            acl: Vec::new(),
            comment: None,
        };
        let mut writer = RowWriter::new(store.objects.table.newest_layout());
        made.write(&mut writer);
        // False: the number is taken. With a number of our own choice the next one is tried.
        if store.objects.insert(&mut writer, context)? {
            return Ok(oid);
        }
        if wanted != 0 {
            return Err(taken(oid));
        }
        context.burn(1)?;
    }
}

#[cold]
fn taken(oid: u32) -> SqlError {
    let index = "pg_largeobject_metadata_oid_index";
    let message = format!("duplicate key value violates unique constraint \"{index}\"");
    SqlError::new(state::UNIQUE_VIOLATION, message)
        .detail(format!("Key (oid)=({oid}) already exists."))
        .table("pg_catalog", "pg_largeobject_metadata")
        .constraint(index)
}

/// Deletes an object of the current user with its pages.
pub fn delete(object: u32, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let (store, found) = locked(object, RowLockStrength::Update, context)?;
    if !found.is_owned(context) {
        return Err(not_owner(object));
    }
    // Found again: the lock is had, so that this version is the newest, and it is borrowed anew.
    let version = store
        .objects
        .lock(&key(object), RowLockStrength::Update, context)?;
    // The object first: who waits for its row finds it gone, and adds no page to it.
    store
        .objects
        .delete(&version.ok_or_else(|| undefined(object))?, context)?;
    super::pages::cut(&store, object, 0, context)
}

/// 42501, where owning the object is asked for.
#[cold]
pub fn not_owner(object: u32) -> SqlError {
    let message = format!("must be owner of large object {object}");
    SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
}

/// Changes what is kept of an object: its owner, privileges or comment.
pub fn change(
    object: u32,
    context: &mut StatementContext<'_>,
    change: impl FnOnce(&mut LargeObject, &mut StatementContext<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    let (store, mut found) = locked(object, RowLockStrength::NoKeyUpdate, context)?;
    change(&mut found, context)?;
    let version = store
        .objects
        .lock(&key(object), RowLockStrength::NoKeyUpdate, context)?;
    let version = version.ok_or_else(|| undefined(object))?;
    let mut writer = RowWriter::new(store.objects.table.newest_layout());
    found.write(&mut writer);
    store.objects.update(&version, &mut writer, context)
}

/// All objects of a table of them, as a snapshot sees them.
pub fn all(
    objects: &IndexedTable,
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<LargeObject>> {
    let mut found = Vec::new();
    let mut rows = objects.rows(mote_engine::index::KeyRange::all(), false, context.transaction);
    while let Some(version) = rows.next(objects, snapshot, context.transaction) {
        found.push(LargeObject::read(&objects.view(&version))?);
        context.burn(1)?;
    }
    Ok(found)
}

/// What may be read of an object, and what may be written.
pub const READ: u32 = privilege::SELECT;
pub const WRITE: u32 = privilege::UPDATE;
