//! DROP SCHEMA.

use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::DropBehavior;
use mote_types::catalog::user::number_of;

use crate::{cascade, default_privileges, dropping, extension_members, schema, user_type, uses};
use mote_catalog::catalog_store::stored::StoredExtension;
use mote_catalog::catalog_store::{RelationEntry, RoutineEntry, TypeEntry};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// A schema that is there; with CASCADE all that is in it.
pub(crate) fn drop(name: &str, behavior: DropBehavior, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let stored = schema::schema_to_change(name, context)?;
    // From here on nobody makes anything in it, and who did has committed: what is inside is complete.
    schema::lock_schema_for_drop(Oid(stored.oid), context)?;
    let content = SchemaContent::of(stored.oid, context);
    let subject = format!("schema {}", stored.name);
    let named = content.named(context).into_iter();
    let descriptions: Vec<(String, String)> = named.map(|what| (what, subject.clone())).collect();
    if !descriptions.is_empty() && behavior == DropBehavior::Restrict {
        return Err(dropping::refused(&subject, &descriptions));
    }
    content.drop_all(&subject, descriptions, context)?;
    // ALTER DEFAULT PRIVILEGES IN SCHEMA.
    default_privileges::forget_schema(Oid(stored.oid), context)?;
    write::remove(Oid(stored.oid), context)
}

/// What is in a schema.
struct SchemaContent {
    relations: Vec<Arc<RelationEntry>>,
    routines: Vec<Arc<RoutineEntry>>,
    types: Vec<Arc<TypeEntry>>,
    extensions: Vec<StoredExtension>,
}

impl SchemaContent {
    fn of(schema: u32, context: &StatementContext<'_>) -> SchemaContent {
        let catalog = context.session.catalog.current();
        let relations = catalog.relations_using(Oid(schema));
        let routines = catalog.routines_using(Oid(schema));
        SchemaContent {
            relations: relations
                .filter(|entry| entry.stored.schema == schema)
                .cloned()
                .collect(),
            routines: routines
                .filter(|entry| entry.stored.schema == schema)
                .cloned()
                .collect(),
            types: user_type::in_schema(schema, context),
            extensions: extension_members::in_schema(schema, context),
        }
    }

    /// What a table owns is not named, nor is a partition of one that is: they are parts.
    fn is_part(&self, relation: &RelationEntry) -> bool {
        let stored = &relation.stored;
        let owned = stored.sequence.as_ref().is_some_and(|s| s.owned_by.is_some());
        let parent = stored.partition.as_ref().and(stored.parents.first());
        let is_here = |parent: &u32| self.relations.iter().any(|known| known.stored.oid == *parent);
        owned || parent.is_some_and(is_here)
    }

    /// All that goes, in words, in the order in which it was made. Members go with their extension, which is named.
    fn named(&self, context: &StatementContext<'_>) -> Vec<String> {
        let is_member = |oid: u32| {
            let mut extensions = self.extensions.iter();
            extensions.any(|extension| extension.members.contains(&oid))
        };
        let is_part_of_range = |oid: u32| user_type::is_part_of_range(oid, context);
        let mut named: Vec<(u32, String)> = Vec::new();
        named.extend(
            self.relations
                .iter()
                .filter(|entry| !self.is_part(entry) && !is_member(entry.stored.oid))
                .map(|entry| (entry.stored.oid, dropping::described(&entry.stored, context))),
        );
        named.extend(
            self.routines
                .iter()
                .filter(|entry| !is_member(entry.stored.oid) && !is_part_of_range(entry.stored.oid))
                .map(|entry| (entry.stored.oid, uses::texts::described(entry, context))),
        );
        named.extend(
            self.types
                .iter()
                .filter(|entry| !is_part_of_range(entry.stored.oid))
                .map(|entry| (number_of(Oid(entry.stored.oid)).0, uses::types::described(entry))),
        );
        let extensions = self.extensions.iter();
        named.extend(extensions.map(|extension| (extension.oid, format!("extension {}", extension.name))));
        named.sort();
        named.into_iter().map(|(_, what)| what).collect()
    }

    /// With what depends on it from outside. `descriptions`: what the notice names.
    fn drop_all(
        mut self,
        subject: &str,
        descriptions: Vec<(String, String)>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let mut relations = Vec::with_capacity(self.relations.len());
        for entry in &self.relations {
            let locked = schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
            relations.extend(locked.map(|entry| entry.stored.clone()));
        }
        let behavior = DropBehavior::Cascade;
        cascade::relations::drop_all(relations, subject, Some(descriptions), behavior, context)?;
        let current = context.session.catalog.current();
        // Some went with the relations that they depended on.
        self.routines
            .retain(|entry| current.routine(Oid(entry.stored.oid)).is_some());
        cascade::routines::drop_all(&self.routines, subject, behavior, context)?;
        let current = context.session.catalog.current();
        // And some types with the tables or routines.
        self.types
            .retain(|entry| current.user_type(Oid(entry.stored.oid)).is_some());
        cascade::types::drop_all(&self.types, subject, behavior, context)?;
        for extension in &self.extensions {
            write::remove(Oid(extension.oid), context)?;
        }
        Ok(())
    }
}
