//! Which objects belong to an extension: they go with it only.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use mote_catalog::catalog_store::stored::StoredExtension;
use mote_executor::context::StatementContext;

/// Extensions in a schema, which go with it.
pub(crate) fn in_schema(schema: u32, context: &StatementContext<'_>) -> Vec<StoredExtension> {
    let catalog = context.session.catalog.current();
    let all = catalog.extensions.values().map(|entry| &entry.object);
    all.filter(|extension| extension.schema == schema)
        .cloned()
        .collect()
}

/// A member goes with its extension only. `described` tells what it is.
pub(crate) fn refuse_member(
    dropped: u32,
    described: impl FnOnce() -> String,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let mut all = catalog.extensions.values().map(|entry| &entry.object);
    let Some(extension) = all.find(|extension| extension.members.contains(&dropped)) else {
        return Ok(());
    };
    let name = &extension.name;
    let what = described();
    let message = format!("cannot drop {what} because extension {name} requires it");
    Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .hint(format!("You can drop extension {name} instead.")))
}
