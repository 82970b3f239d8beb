//! What binder and planner see of a session's catalog: built-in objects first, then those of users along the search path.

use super::*;

/// Rows that a catalog has for each relation of users, at least.
fn rows_per_relation(catalog: &str) -> f64 {
    match catalog {
        "pg_attribute" | "pg_depend" | "columns" => 4.0,
        "pg_class" | "pg_type" | "pg_index" | "pg_constraint" => 2.0,
        "tables" => 1.0,
        _ => 0.0,
    }
}

impl CatalogView for SessionCatalog {
    fn note_rows(&self, relation: &Relation) {
        if relation.table == TableId(0) {
            // How many there were when somebody read them is known, but not what has been created since.
            if is_system_schema(&relation.schema) {
                let least = rows_per_relation(&relation.name) * self.current().relations.len() as f64;
                if relation.rows.get() < least {
                    relation.rows.note(least);
                }
            }
            return;
        }
        let table = self.engine.table(relation.table);
        if let Some(count) = table.map(|table| table.row_count_estimate() as f64) {
            // What is empty now is planned for rows to come.
            relation.rows.note(if count > 0.0 { count } else { UNKNOWN_ROWS });
        }
    }

    fn relation_by_name(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>> {
        if let Some(table) = self.transition_tables.named(schema, name) {
            return Some(table);
        }
        let catalog = self.current();
        let in_schema = |schema: &str| {
            if let Some(relation) = self.system.by_name(schema, name) {
                return Some(relation);
            }
            let schema = self.resolve(schema);
            let schema = Oid(catalog.schema_by_name(self.database, schema)?.object.oid);
            let relation = catalog.relation(catalog.name(schema, name)?)?;
            Some(relation.described.clone())
        };
        match schema {
            Some(schema) => in_schema(schema),
            None => self.effective_path().iter().find_map(|schema| in_schema(schema)),
        }
    }

    fn rowless_by_name(&self, schema: Option<&str>, name: &str) -> Option<&'static str> {
        if self.index_oid(schema, name).is_some() {
            return Some("an index");
        }
        let ty = self.user_type_named(schema, name)?;
        ty.row.is_some().then_some("a composite type")
    }

    fn relation(&self, oid: Oid) -> Option<Arc<Relation>> {
        if let Some(table) = self.transition_tables.relation(oid) {
            return Some(table);
        }
        if oid < Oid::FIRST_USER {
            return self.system.relation(oid);
        }
        Some(self.current().relation(oid)?.described.clone())
    }

    fn relation_of_index(&self, oid: Oid) -> Option<Arc<Relation>> {
        let catalog = self.current();
        Some(catalog.relation(catalog.index_owner(oid)?)?.described.clone())
    }

    fn routines_named(&self, schema: Option<&str>, name: &str) -> Vec<Arc<Routine>> {
        let catalog = self.current();
        let mut named = catalog.routines_named(name).peekable();
        if named.peek().is_none() {
            return Vec::new();
        }
        let named: Vec<_> = named.collect();
        let path = match schema {
            Some(schema) => vec![self.resolve(schema).to_string()],
            // A name alone never means a routine of the temporary schema: anybody may make one that shadows another.
            None => self.lasting_path(),
        };
        let mut found = Vec::new();
        for schema in path {
            let Some(schema) = catalog.schema_by_name(self.database, &schema) else {
                continue;
            };
            let here = named
                .iter()
                .filter(|routine| routine.stored.schema == schema.object.oid);
            found.extend(here.map(|routine| routine.described.clone()));
        }
        found
    }

    fn routine(&self, oid: Oid) -> Option<Arc<Routine>> {
        Some(self.current().routine(oid)?.described.clone())
    }

    fn user_type_named(&self, schema: Option<&str>, name: &str) -> Option<Arc<UserType>> {
        let catalog = self.current();
        let in_schema = |schema: &str| {
            let schema = catalog.schema_by_name(self.database, schema)?;
            let schema = Oid(schema.object.oid);
            let made = catalog.user_type_named(schema, name);
            let made = made.map(|found| found.described.clone());
            made.or_else(|| catalog.extension_type_named(schema, name))
        };
        match schema {
            Some(schema) => in_schema(schema),
            None => self.effective_path().iter().find_map(|schema| in_schema(schema)),
        }
    }

    fn user_type(&self, oid: Oid) -> Option<Arc<UserType>> {
        let catalog = self.current();
        let made = catalog.user_type(oid).map(|found| found.described.clone());
        made.or_else(|| catalog.extension_type(self.database, oid))
    }

    fn cast(&self, source: Oid, target: Oid) -> Option<UserCast> {
        let catalog = self.current();
        let found = catalog.cast_between(self.database, source, target)?;
        Some(cast::described(found))
    }

    fn schema_exists(&self, name: &str) -> bool {
        is_system_schema(name) || self.schema_oid(name).is_some()
    }

    fn search_path(&self) -> Vec<String> {
        self.effective_path()
    }

    fn database_name(&self) -> String {
        self.database_name.clone()
    }
}
