//! The contract of an object: what each kind says of itself, and what the catalog then does for all kinds alike.
//!
//! A new kind is a stored form (`stored`), this contract for it, and a place among the maps of `catalog`.

use mote_common::Oid;
use mote_common::error::{SqlState, state};
use mote_types::ColumnType;
use mote_types::catalog::user::{is_composite, is_user_type, number_of, user_range_of};

use super::revision::Revision;
use super::stored::{
    StoredAcl, StoredCast, StoredConstraintKind, StoredDatabase, StoredExtension, StoredObject,
    StoredPublication, StoredRelation, StoredRole, StoredRoutine, StoredSchema, StoredUserType,
};

pub trait Object {
    fn oid(&self) -> Oid;

    /// As a row of the catalog holds it.
    fn stored(&self) -> StoredObject;

    /// What messages call its kind.
    fn noun(&self) -> &'static str;

    /// What is said where there is none of the name.
    fn undefined(&self) -> SqlState;

    fn name(&self) -> &str;

    /// None: its kind has no owner.
    fn owner(&self) -> Option<u32> {
        None
    }

    fn privileges(&self) -> &[StoredAcl] {
        &[]
    }

    fn revision(&self) -> Revision;

    /// It is a state of its own from here on.
    fn renew(&mut self);

    /// The objects that it names by their OIDs, also more than once; INVALID is none.
    fn uses(&self, each: &mut dyn FnMut(Oid));

    /// The texts that name objects: expressions that are bound when they are needed.
    fn texts(&self, _each: &mut dyn FnMut(&str)) {}
}

impl StoredObject {
    pub fn object(&self) -> &dyn Object {
        match self {
            StoredObject::Database(object) => object,
            StoredObject::Schema(object) => object,
            StoredObject::Role(object) => object,
            StoredObject::Relation(object) => object,
            StoredObject::Routine(object) => object,
            StoredObject::Type(object) => object,
            StoredObject::Extension(object) => object,
            StoredObject::Publication(object) => object,
            StoredObject::Cast(object) => object,
            StoredObject::DefaultAcl(object) => object,
            StoredObject::ClusterSettings(object) => object,
            StoredObject::Statistics(object) => object,
        }
    }

    pub fn object_mut(&mut self) -> &mut dyn Object {
        match self {
            StoredObject::Database(object) => object,
            StoredObject::Schema(object) => object,
            StoredObject::Role(object) => object,
            StoredObject::Relation(object) => object,
            StoredObject::Routine(object) => object,
            StoredObject::Type(object) => object,
            StoredObject::Extension(object) => object,
            StoredObject::Publication(object) => object,
            StoredObject::Cast(object) => object,
            StoredObject::DefaultAcl(object) => object,
            StoredObject::ClusterSettings(object) => object,
            StoredObject::Statistics(object) => object,
        }
    }
}

/// Owner and everybody that a privilege names.
pub(super) fn uses_roles(object: &dyn Object, each: &mut dyn FnMut(Oid)) {
    each(Oid(object.owner().unwrap_or_default()));
    for item in object.privileges() {
        each(Oid(item.grantee));
        each(Oid(item.grantor));
    }
}

/// A type that a user made, or the element type of an array of one.
fn uses_type(ty: u32, each: &mut dyn FnMut(Oid)) {
    if is_user_type(Oid(ty)) {
        let element = ColumnType::new(Oid(ty)).element();
        let base = element.map_or(Oid(ty), |element| element.oid);
        each(base);
        if is_composite(base) {
            // The relation, where it is the type of its rows.
            each(number_of(base));
        }
    }
}

/// What every stored form says of itself in the same way: its kind and noun, what is said where there is none of the name,
/// and, where it has them, its owner and privileges.
macro_rules! facts {
    ($kind:ident, $noun:literal, $undefined:ident $(, $part:ident)*) => {
        fn oid(&self) -> Oid {
            Oid(self.oid)
        }

        fn stored(&self) -> StoredObject {
            StoredObject::$kind(self.clone())
        }

        fn noun(&self) -> &'static str {
            $noun
        }

        fn undefined(&self) -> SqlState {
            state::$undefined
        }

        fn name(&self) -> &str {
            &self.name
        }

        fn revision(&self) -> Revision {
            self.revision
        }

        fn renew(&mut self) {
            self.revision = Revision::default();
        }

        $(facts!(@$part);)*
    };
    (@owner) => {
        fn owner(&self) -> Option<u32> {
            Some(self.owner)
        }
    };
    (@acl) => {
        fn privileges(&self) -> &[StoredAcl] {
            &self.acl
        }
    };
}

impl Object for StoredDatabase {
    facts!(Database, "database", INVALID_CATALOG_NAME, owner, acl);

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_roles(self, each);
    }
}

impl Object for StoredExtension {
    facts!(Extension, "extension", UNDEFINED_OBJECT, owner);

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_roles(self, each);
        each(Oid(self.schema));
        self.members.iter().for_each(|&member| each(Oid(member)));
    }
}

impl Object for StoredPublication {
    facts!(Publication, "publication", UNDEFINED_OBJECT, owner);

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_roles(self, each);
        self.tables.iter().for_each(|table| each(Oid(table.relation)));
    }
}

/// It has neither a name nor an owner: its types say which it is, and whose.
impl Object for StoredCast {
    fn oid(&self) -> Oid {
        Oid(self.oid)
    }

    fn stored(&self) -> StoredObject {
        StoredObject::Cast(self.clone())
    }

    fn noun(&self) -> &'static str {
        "cast"
    }

    fn undefined(&self) -> SqlState {
        state::UNDEFINED_OBJECT
    }

    fn name(&self) -> &str {
        ""
    }

    fn revision(&self) -> Revision {
        self.revision
    }

    fn renew(&mut self) {
        self.revision = Revision::default();
    }

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_type(self.source, each);
        uses_type(self.target, each);
        each(Oid(self.function));
    }
}

impl Object for StoredSchema {
    facts!(Schema, "schema", INVALID_SCHEMA_NAME, owner, acl);

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_roles(self, each);
        each(Oid(self.database));
    }
}

impl Object for StoredRole {
    facts!(Role, "role", UNDEFINED_OBJECT);

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        self.member_of
            .iter()
            .for_each(|membership| each(Oid(membership.role)));
    }
}

impl Object for StoredRelation {
    facts!(Relation, "relation", UNDEFINED_TABLE, owner, acl);

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_roles(self, each);
        each(Oid(self.schema));
        self.parents.iter().for_each(|&parent| each(Oid(parent)));
        self.depends_on.iter().for_each(|&read| each(Oid(read)));
        for column in &self.columns {
            uses_type(column.type_oid, each);
            each(Oid(column.domain.unwrap_or_default()));
            each(Oid(column.owned_sequence.unwrap_or_default()));
        }
        for constraint in &self.constraints {
            each(Oid(constraint.parent.unwrap_or_default()));
            if let StoredConstraintKind::ForeignKey(key) = &constraint.kind {
                each(Oid(key.referenced));
                each(Oid(key.referenced_index));
            }
        }
        for trigger in &self.triggers {
            each(Oid(trigger.function));
            each(Oid(trigger.parent.unwrap_or_default()));
            let referenced = trigger.constraint.and_then(|constraint| constraint.referenced);
            each(Oid(referenced.unwrap_or_default()));
        }
        let owned_by = self.sequence.as_ref().and_then(|sequence| sequence.owned_by);
        each(Oid(owned_by.map_or(0, |(table, _)| table)));
    }

    fn texts(&self, each: &mut dyn FnMut(&str)) {
        for column in &self.columns {
            let texts = [&column.default, &column.generated];
            texts.into_iter().flatten().for_each(|text| each(text));
        }
        for constraint in &self.constraints {
            // SET CONSTRAINTS finds constraints by their names.
            each(&constraint.name);
            if let StoredConstraintKind::Check { expression } = &constraint.kind {
                each(expression);
            }
        }
        for trigger in &self.triggers {
            each(&trigger.name);
            trigger.condition.iter().for_each(|text| each(text));
        }
    }
}

impl Object for StoredRoutine {
    facts!(Routine, "function", UNDEFINED_FUNCTION, owner, acl);

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_roles(self, each);
        each(Oid(self.schema));
        let arguments = self.arguments.iter().map(|argument| argument.ty);
        for ty in arguments.chain([self.result]) {
            uses_type(ty.oid, each);
            each(Oid(ty.row_of.unwrap_or_default()));
        }
    }

    fn texts(&self, each: &mut dyn FnMut(&str)) {
        let defaults = self
            .arguments
            .iter()
            .filter_map(|argument| argument.default.as_deref());
        defaults.for_each(&mut *each);
        if self.standard_body {
            each(&self.body);
        }
    }
}

impl Object for StoredUserType {
    facts!(Type, "type", UNDEFINED_OBJECT, owner, acl);

    fn uses(&self, each: &mut dyn FnMut(Oid)) {
        uses_roles(self, each);
        each(Oid(self.schema));
        if let Some(domain) = &self.domain {
            uses_type(domain.type_oid, each);
            each(Oid(domain.of));
        }
        for attribute in self
            .attributes
            .iter()
            .flatten()
            .filter(|attribute| !attribute.dropped)
        {
            uses_type(attribute.type_oid, each);
        }
        if let Some(range) = &self.range {
            uses_type(range.subtype, each);
            each(Oid(range.difference));
            range.all_constructors().for_each(|routine| each(Oid(routine)));
        }
        if let Some(range) = user_range_of(Oid(self.oid)) {
            each(range);
        }
    }

    fn texts(&self, each: &mut dyn FnMut(&str)) {
        if let Some(domain) = &self.domain {
            domain.default.iter().for_each(|text| each(text));
            domain.checks.iter().for_each(|check| each(&check.expression));
        }
    }
}
