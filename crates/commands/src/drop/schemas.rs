//! DROP SCHEMA.

use std::collections::BTreeMap;
use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::DropBehavior;
use mote_types::catalog::user::number_of;

use crate::{cascade, default_privileges, dropping, extension_members, schema, user_type, uses};
use mote_catalog::catalog_store::stored::{StoredCast, StoredExtension};
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
    let descriptions = content.named(&subject, context);
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
    /// Of its types and functions, each with the number of the youngest of them.
    casts: Vec<(StoredCast, u32)>,
}

impl SchemaContent {
    fn of(schema: u32, context: &StatementContext<'_>) -> SchemaContent {
        let catalog = context.session.catalog.current();
        let relations = catalog.relations_using(Oid(schema));
        let routines = catalog.routines_using(Oid(schema));
        let mut content = SchemaContent {
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
            casts: Vec::new(),
        };
        content.casts = content.casts(context);
        content
    }

    fn casts(&self, context: &StatementContext<'_>) -> Vec<(StoredCast, u32)> {
        let catalog = context.session.catalog.current();
        let relations = self.relations.iter().map(|entry| entry.stored.oid);
        let routines = self.routines.iter().map(|entry| entry.stored.oid);
        let types = self.types.iter().map(|entry| entry.stored.oid);
        let mut youngest: BTreeMap<u32, (StoredCast, u32)> = BTreeMap::new();
        for object in relations.chain(routines).chain(types) {
            let number = number_of(Oid(object)).0;
            for cast in catalog.casts_using(Oid(object)) {
                let known = youngest.entry(cast.oid).or_insert((cast.clone(), number));
                known.1 = known.1.max(number);
            }
        }
        youngest.into_values().collect()
    }

    /// What a table owns is not named, nor is a partition of one that is: they are parts.
    fn is_part(&self, relation: &RelationEntry) -> bool {
        let stored = &relation.stored;
        let owned = stored.sequence.as_ref().is_some_and(|s| s.owned_by.is_some());
        let parent = stored.partition.as_ref().and(stored.parents.first());
        let is_here = |parent: &u32| self.relations.iter().any(|known| known.stored.oid == *parent);
        owned || parent.is_some_and(is_here)
    }

    /// All that goes, in words, in the order in which it was made, each with what it depends on: the schema, or, for a cast,
    /// a type or a function. Members go with their extension, which is named.
    fn named(&self, subject: &str, context: &StatementContext<'_>) -> Vec<(String, String)> {
        let is_member = |oid: u32| {
            let mut extensions = self.extensions.iter();
            extensions.any(|extension| extension.members.contains(&oid))
        };
        let is_part_of_range = |oid: u32| user_type::is_part_of_range(oid, context);
        // With what it stands behind, itself where it stands alone, and its own number.
        let alone = |(oid, what): (u32, String)| (oid, 0, what);
        let mut named: Vec<(u32, u32, String)> = Vec::new();
        named.extend(
            self.relations
                .iter()
                .filter(|entry| !self.is_part(entry) && !is_member(entry.stored.oid))
                .map(|entry| alone((entry.stored.oid, dropping::described(&entry.stored, context)))),
        );
        named.extend(
            self.routines
                .iter()
                .filter(|entry| !is_member(entry.stored.oid) && !is_part_of_range(entry.stored.oid))
                .map(|entry| alone((entry.stored.oid, uses::texts::described(entry, context)))),
        );
        named.extend(
            self.types
                .iter()
                .filter(|entry| !is_part_of_range(entry.stored.oid))
                .map(|entry| (number_of(Oid(entry.stored.oid)).0, uses::types::described(entry)))
                .map(alone),
        );
        let extensions = self.extensions.iter();
        let extensions = extensions.map(|extension| (extension.oid, format!("extension {}", extension.name)));
        named.extend(extensions.map(alone));
        let casts = self.casts.iter();
        named.extend(casts.map(|(cast, behind)| (*behind, cast.oid, uses::casts::described(cast))));
        named.sort();
        let mut told: Vec<(String, String)> = Vec::with_capacity(named.len());
        let mut behind = String::new();
        for (_, cast, what) in named {
            let on = if cast == 0 { subject } else { &behind };
            told.push((what.clone(), on.to_string()));
            if cast == 0 {
                behind = what;
            }
        }
        told
    }

    /// With what depends on it from outside. `descriptions`: what the notice names.
    fn drop_all(
        mut self,
        subject: &str,
        descriptions: Vec<(String, String)>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        for (cast, _) in &self.casts {
            cascade::routines::remove_cast(Oid(cast.oid), context)?;
        }
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
