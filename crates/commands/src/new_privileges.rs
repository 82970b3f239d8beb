//! The privileges that a new object begins with.

use mote_common::Oid;

use mote_catalog::acl;
use mote_catalog::acl::AclKind;
use mote_catalog::catalog_store::stored::{DefaultAclKey, StoredAcl};
use mote_executor::context::StatementContext;

/// The letter of pg_default_acl.defaclobjtype; None for kinds without defaults.
pub(super) fn letter(kind: AclKind) -> Option<char> {
    match kind {
        AclKind::Table => Some('r'),
        AclKind::Sequence => Some('S'),
        AclKind::Function | AclKind::Procedure => Some('f'),
        AclKind::Schema => Some('n'),
        AclKind::Type => Some('T'),
        AclKind::Database | AclKind::LargeObject => None,
    }
}

/// The order in which lists are kept and compared: PUBLIC first, then by the grantee's number.
pub(super) fn sorted(mut list: Vec<StoredAcl>) -> Vec<StoredAcl> {
    list.retain(|item| item.privileges != 0 || item.grant_options != 0);
    list.sort_by_key(|item| (item.grantee, item.grantor, item.privileges, item.grant_options));
    list
}

/// What a new object of this kind begins with; empty: the defaults that are built in.
pub(crate) fn of_new(
    kind: AclKind,
    owner: u32,
    schema: Oid,
    context: &StatementContext<'_>,
) -> Vec<StoredAcl> {
    let catalog = context.session.catalog.current();
    let list_of = |schema: Oid| {
        let key = DefaultAclKey {
            database: context.session.catalog.database.0,
            role: owner,
            schema: schema.0,
            kind: letter(kind)?,
        };
        catalog.default_acl(&key)
    };
    let everywhere = list_of(Oid::INVALID);
    let here = list_of(schema).filter(|_| schema != Oid::INVALID);
    if everywhere.is_none() && here.is_none() {
        return Vec::new();
    }
    let built_in = sorted(acl::with_defaults(&[], owner, kind, kind.everybody()));
    // The database's list takes the place of what is built in, the schema's is added to it.
    let mut list = everywhere.map_or_else(|| built_in.clone(), |entry| entry.object.acl.clone());
    for item in here.iter().flat_map(|entry| &entry.object.acl) {
        acl::merge(&mut list, *item);
    }
    let list = sorted(list);
    // As in PostgreSQL, to take everything from everybody by default is to say nothing.
    match list == built_in || list.is_empty() {
        true => Vec::new(),
        false => acl::settled(list, owner),
    }
}
