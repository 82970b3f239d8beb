//! Objects by their addresses (catalog, number, column): what they are called, in PostgreSQL's words.
//!
//! Source: PostgreSQL's objectaddress.c (getObjectDescription, getObjectTypeDescription, getObjectIdentityParts).
//!
//! Leaves out: classes of objects that mote does not have (XX000, as for numbers that are no catalog's).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::deparse::identifier;
use mote_sql::builtin::function::{Callable, callables_named};
use mote_sql::catalog::{CatalogView, RelationKind};
use mote_types::catalog::user::{composite_oid, is_composite, number_of};
use mote_types::{ColumnType, Datum, format_type, oid, type_info};

use super::facts::Facts;
use super::rows::attributes::{default_column, default_oid};
use super::text::{qualified, visible_name};
use super::{definition, names};
use crate::catalog_store::stored::StoredKind;
use crate::routine_text;

mod class {
    pub const TABLESPACE: u32 = 1213;
    pub const TYPE: u32 = 1247;
    pub const PROC: u32 = 1255;
    pub const CLASS: u32 = 1259;
    pub const AUTHID: u32 = 1260;
    pub const DATABASE: u32 = 1262;
    pub const AM: u32 = 2601;
    pub const ATTRDEF: u32 = 2604;
    pub const CAST: u32 = 2605;
    pub const CONSTRAINT: u32 = 2606;
    pub const LANGUAGE: u32 = 2612;
    pub const NAMESPACE: u32 = 2615;
    pub const OPCLASS: u32 = 2616;
    pub const OPERATOR: u32 = 2617;
    pub const REWRITE: u32 = 2618;
    pub const TRIGGER: u32 = 2620;
    pub const OPFAMILY: u32 = 2753;
    pub const EXTENSION: u32 = 3079;
    pub const COLLATION: u32 = 3456;
    pub const PUBLICATION: u32 = 6104;
    pub const PUBLICATION_REL: u32 = 6106;
}

/// What is known of an object.
pub struct Identity {
    /// The kind of object, which is told also where there is no such object.
    pub kind: &'static str,
    pub known: Option<Known>,
}

pub struct Known {
    /// `table t`, `column a of table t`: names as the search path finds them.
    pub description: String,
    pub schema: Option<String>,
    /// The bare name, quoted where it must be; None where it tells nothing without what the object belongs to.
    pub name: Option<String>,
    /// Unmistakable under any search path.
    pub identity: String,
    /// The parts of the address as pg_get_object_address takes them.
    pub object_names: Vec<String>,
    pub object_args: Vec<String>,
}

/// The object of a catalog. None inside: the address says "no object".
pub fn identify(facts: &Facts<'_>, class: Oid, object: Oid, column: i32) -> SqlResult<Option<Identity>> {
    if class == Oid::INVALID && object == Oid::INVALID {
        return Ok(None);
    }
    let internal = |message: String| SqlError::new(state::INTERNAL_ERROR, message);
    if class.0 != class::CLASS && column != 0 {
        return Err(internal(format!(
            "invalid non-zero objectSubId for object class {class}"
        )));
    }
    Ok(Some(match class.0 {
        class::CLASS if column != 0 => self::column(facts, object, column),
        class::CLASS => relation(facts, object),
        class::TYPE => named("type", ty(facts, object)),
        class::PROC => routine(facts, object),
        class::CONSTRAINT => constraint(facts, object),
        class::ATTRDEF => named("default value", default(facts, object)),
        class::TRIGGER => named("trigger", trigger(facts, object)),
        class::REWRITE => named("rule", rule(facts, object)),
        class::NAMESPACE => named(
            "schema",
            facts.schema_name(object).and_then(|name| plain("schema", name)),
        ),
        class::AUTHID => named(
            "role",
            facts.role_name(object).and_then(|name| plain("role", name)),
        ),
        class::DATABASE => by_name(facts, "database", "pg_database", object),
        class::TABLESPACE => by_name(facts, "tablespace", "pg_tablespace", object),
        class::EXTENSION => by_name(facts, "extension", "pg_extension", object),
        class::LANGUAGE => by_name(facts, "language", "pg_language", object),
        class::AM => by_name(facts, "access method", "pg_am", object),
        class::PUBLICATION => by_name(facts, "publication", "pg_publication", object),
        class::PUBLICATION_REL => named("publication relation", published(facts, object)),
        class::CAST => named("cast", cast(facts, object)),
        class::COLLATION => named("collation", collation(facts, object)),
        class::OPERATOR => named("operator", operator(facts, object)),
        class::OPCLASS => named(
            "operator class",
            of_method(facts, "operator class", "pg_opclass", object),
        ),
        class::OPFAMILY => named(
            "operator family",
            of_method(facts, "operator family", "pg_opfamily", object),
        ),
        _ => return Err(internal(format!("unrecognized object class: {class}"))),
    }))
}

fn named(kind: &'static str, known: Option<Known>) -> Identity {
    Identity { kind, known }
}

/// An object with a name of its own in the whole database or cluster.
fn plain(kind: &str, name: &str) -> Option<Known> {
    Some(Known {
        description: format!("{kind} {name}"),
        schema: None,
        name: Some(identifier(name)),
        identity: identifier(name),
        object_names: vec![name.to_string()],
        object_args: Vec::new(),
    })
}

fn by_name(facts: &Facts<'_>, kind: &'static str, catalog: &str, object: Oid) -> Identity {
    let row = row(facts, catalog, object);
    let known = row.as_ref().and_then(|row| plain(kind, row.get(1)?.as_str()?));
    named(kind, known)
}

/// The row of a catalog that begins with the number.
fn row(facts: &Facts<'_>, catalog: &str, object: Oid) -> Option<Vec<Datum>> {
    let rows = definition::all()
        .find(|(_, known)| known.name == catalog)?
        .1
        .rows?;
    let mut rows = rows(facts).ok()?.into_iter();
    rows.find(|row| number(row, 0) == Some(object))
}

fn number(row: &[Datum], position: usize) -> Option<Oid> {
    match row.get(position)? {
        Datum::Oid(number) => Some(Oid(*number)),
        _ => None,
    }
}

/// The kind, the schema and the name of a relation or an index.
fn relation_parts(facts: &Facts<'_>, object: Oid) -> Option<(&'static str, String, String)> {
    if let Some(known) = facts.index(object) {
        return Some(("index", known.table.schema.clone(), known.index.name.clone()));
    }
    if let Some(known) = facts.relation(object) {
        let kind = match known.stored.kind {
            StoredKind::View => "view",
            StoredKind::MaterializedView => "materialized view",
            StoredKind::Sequence => "sequence",
            _ => "table",
        };
        return Some((kind, known.relation.schema.clone(), known.relation.name.clone()));
    }
    let Some(builtin) = facts.session.catalog.relation(object) else {
        let (schema, name) = composite_type(facts, object)?;
        return Some(("composite type", schema, name));
    };
    let kind = match builtin.kind {
        RelationKind::View => "view",
        _ if crate::system_schemas::shown_as_view(object) => "view",
        _ => "table",
    };
    Some((kind, builtin.schema.clone(), builtin.name.clone()))
}

/// A composite type by the number that it has in pg_class.
fn composite_type(facts: &Facts<'_>, object: Oid) -> Option<(String, String)> {
    let stored = &facts.catalog.user_type(composite_oid(object)?)?.stored;
    stored.attributes.as_ref()?;
    Some((
        facts.schema_name(Oid(stored.schema))?.to_string(),
        stored.name.clone(),
    ))
}

/// As its bare name finds it, or in full.
fn shown(facts: &Facts<'_>, object: Oid, schema: &str, name: &str) -> String {
    if let Some(known) = facts.relation(object) {
        return visible_name(facts, known.relation);
    }
    let found = facts.session.catalog.relation_by_name(None, name);
    let is_found = match facts.index(object) {
        Some(known) => facts.is_visible(object, known.table.schema_oid, name),
        None => found.is_none_or(|found| found.oid == object),
    };
    match is_found {
        true => identifier(name),
        false => qualified(schema, name),
    }
}

fn described(facts: &Facts<'_>, object: Oid) -> Option<String> {
    let (kind, schema, name) = relation_parts(facts, object)?;
    Some(format!("{kind} {}", shown(facts, object, &schema, &name)))
}

fn relation(facts: &Facts<'_>, object: Oid) -> Identity {
    let Some((kind, schema, name)) = relation_parts(facts, object) else {
        return named("relation", None);
    };
    let known = Known {
        description: format!("{kind} {}", shown(facts, object, &schema, &name)),
        name: Some(identifier(&name)),
        identity: qualified(&schema, &name),
        object_names: vec![schema.clone(), name],
        object_args: Vec::new(),
        schema: Some(identifier(&schema)),
    };
    named(kind, Some(known))
}

fn column(facts: &Facts<'_>, object: Oid, column: i32) -> Identity {
    let Some((kind, schema, name)) = relation_parts(facts, object) else {
        return named("relation column", None);
    };
    let kind = match kind {
        "view" => "view column",
        "materialized view" => "materialized view column",
        "index" => "index column",
        "sequence" => "sequence column",
        "composite type" => "composite type column",
        _ => "table column",
    };
    let relation = facts.session.catalog.relation(object);
    let position = usize::try_from(column - 1).ok();
    let found = relation.as_ref().and_then(|relation| {
        let column = relation.columns.get(position?)?;
        (!column.dropped).then(|| column.name.clone())
    });
    let known = found.and_then(|column| {
        Some(Known {
            description: format!("column {column} of {}", described(facts, object)?),
            schema: Some(identifier(&schema)),
            name: Some(identifier(&name)),
            identity: format!("{}.{}", qualified(&schema, &name), identifier(&column)),
            object_names: vec![schema.clone(), name.clone(), column],
            object_args: Vec::new(),
        })
    });
    named(kind, known)
}

/// A type in full, and its schema and name. Types that SQL has words for are called by those.
fn type_parts(facts: &Facts<'_>, ty: Oid) -> Option<(String, String, String)> {
    let column_type = ColumnType::new(ty);
    if let Some(element) = column_type.element()
        && element.array_of().is_some_and(|array| array.oid == ty)
    {
        let (schema, name, identity) = type_parts(facts, element.oid)?;
        return Some((schema, format!("_{name}"), format!("{identity}[]")));
    }
    if let Some(info) = type_info(ty) {
        let shown = format_type(ty, -1);
        let has_a_word =
            shown != identifier(info.name) || matches!(ty, oid::BIT | oid::INTERVAL | oid::NUMERIC);
        let identity = match has_a_word {
            true if ty != oid::BPCHAR => shown,
            _ => format!("pg_catalog.{}", identifier(info.name)),
        };
        return Some(("pg_catalog".into(), info.name.to_string(), identity));
    }
    let catalog = facts.session.catalog;
    if let Some(known) = catalog.user_type(ty) {
        return Some((
            known.schema.clone(),
            known.name.clone(),
            qualified(&known.schema, &known.name),
        ));
    }
    if !is_composite(ty) {
        return None;
    }
    let relation = catalog.relation(number_of(ty))?;
    let identity = qualified(&relation.schema, &relation.name);
    Some((relation.schema.clone(), relation.name.clone(), identity))
}

fn ty(facts: &Facts<'_>, object: Oid) -> Option<Known> {
    let (schema, name, identity) = type_parts(facts, object)?;
    Some(Known {
        description: format!("type {}", format_type(object, -1)),
        schema: Some(identifier(&schema)),
        name: Some(identifier(&name)),
        object_names: vec![identity.clone()],
        identity,
        object_args: Vec::new(),
    })
}

fn full_types(facts: &Facts<'_>, types: &[Oid]) -> Vec<String> {
    let full = |ty: &Oid| type_parts(facts, *ty).map_or_else(|| format_type(*ty, -1), |parts| parts.2);
    types.iter().map(full).collect()
}

fn routine(facts: &Facts<'_>, object: Oid) -> Identity {
    if let Some(known) = facts.routine(object) {
        let kind = match known.kind {
            mote_sql::routine::RoutineKind::Function => "function",
            mote_sql::routine::RoutineKind::Procedure => "procedure",
        };
        let types: Vec<Oid> = known.inputs().map(|input| input.ty.ty.oid).collect();
        let plain: Vec<String> = types.iter().map(|ty| format_type(*ty, -1)).collect();
        let name = routine_text::visible_name(known, facts.session.catalog);
        let args = full_types(facts, &types);
        return named(
            kind,
            Some(Known {
                description: format!("function {name}({})", plain.join(",")),
                schema: Some(identifier(&known.schema)),
                name: None,
                identity: format!("{}({})", qualified(&known.schema, &known.name), args.join(",")),
                object_names: vec![known.schema.clone(), known.name.clone()],
                object_args: args,
            }),
        );
    }
    let Some(known) = names::function(object) else {
        return named("routine", None);
    };
    let is_aggregate = callables_named(known.name).iter().any(|callable| match callable {
        Callable::Aggregate(id) => id.signature().oid == object,
        _ => false,
    });
    let kind = if is_aggregate { "aggregate" } else { "function" };
    let plain: Vec<String> = known.arguments.iter().map(|ty| format_type(*ty, -1)).collect();
    let args = full_types(facts, &known.arguments);
    let name = identifier(known.name);
    named(
        kind,
        Some(Known {
            description: format!("function {name}({})", plain.join(",")),
            schema: Some("pg_catalog".into()),
            name: None,
            identity: format!("pg_catalog.{name}({})", args.join(",")),
            object_names: vec!["pg_catalog".into(), known.name.to_string()],
            object_args: args,
        }),
    )
}

fn constraint(facts: &Facts<'_>, object: Oid) -> Identity {
    if let Some(known) = facts.relation_with_part(object) {
        let relation = known.relation;
        let of_table = relation.constraints.iter().find(|found| found.oid == object);
        let triggers = relation.triggers.iter();
        let mut of_triggers = triggers.filter(|found| found.constraint.is_some_and(|it| it.oid == object));
        let name = of_table.map(|found| &found.name);
        let name = name.or_else(|| of_triggers.next().map(|found| &found.name));
        let known = name.and_then(|name| {
            let table = qualified(&relation.schema, &relation.name);
            Some(Known {
                description: format!("constraint {name} on {}", described(facts, relation.oid)?),
                schema: Some(identifier(&relation.schema)),
                name: None,
                identity: format!("{} on {table}", identifier(name)),
                object_names: vec![relation.schema.clone(), relation.name.clone(), name.clone()],
                object_args: Vec::new(),
            })
        });
        return named("table constraint", known);
    }
    for entry in facts.user_types() {
        let checks = entry.stored.domain.iter().flat_map(|domain| &domain.checks);
        if let Some(check) = checks.clone().find(|check| check.oid == object.0)
            && let Some((schema, _, domain)) = type_parts(facts, Oid(entry.stored.oid))
        {
            return named(
                "domain constraint",
                Some(Known {
                    description: format!("constraint {}", check.name),
                    schema: Some(identifier(&schema)),
                    name: None,
                    identity: format!("{} on {domain}", identifier(&check.name)),
                    object_names: vec![domain],
                    object_args: vec![check.name.clone()],
                }),
            );
        }
    }
    named("constraint", None)
}

fn default(facts: &Facts<'_>, object: Oid) -> Option<Known> {
    let number = default_column(object)?;
    let position = usize::try_from(number).ok()?.checked_sub(1)?;
    // Asked for each row of pg_depend: no list of relations is made for it.
    let mut relations = facts.catalog.relations().map(|entry| &entry.described);
    let relation = relations.find(|found| default_oid(found.oid, number) == object)?;
    if !facts.is_here(relation.schema_oid.0) {
        return None;
    }
    let column = relation.columns.get(position)?;
    if column.dropped || column.default.is_none() && column.generated.is_none() {
        return None;
    }
    let table = qualified(&relation.schema, &relation.name);
    let described = described(facts, relation.oid)?;
    Some(Known {
        description: format!("default value for column {} of {described}", column.name),
        schema: None,
        name: None,
        identity: format!("for {table}.{}", identifier(&column.name)),
        object_names: vec![
            relation.schema.clone(),
            relation.name.clone(),
            column.name.clone(),
        ],
        object_args: Vec::new(),
    })
}

/// Something that a relation has: its name, in front of the relation's.
fn part(facts: &Facts<'_>, kind: &str, name: &str, relation: Oid) -> Option<Known> {
    let (_, schema, table) = relation_parts(facts, relation)?;
    Some(Known {
        description: format!("{kind} {name} on {}", described(facts, relation)?),
        schema: None,
        name: None,
        identity: format!("{} on {}", identifier(name), qualified(&schema, &table)),
        object_names: vec![schema, table, name.to_string()],
        object_args: Vec::new(),
    })
}

fn trigger(facts: &Facts<'_>, object: Oid) -> Option<Known> {
    let relation = facts.relation_with_part(object)?.relation;
    let found = relation.triggers.iter().find(|found| found.oid == object)?;
    part(facts, "trigger", &found.name, relation.oid)
}

fn rule(facts: &Facts<'_>, object: Oid) -> Option<Known> {
    facts
        .relation(object)
        .filter(|known| known.stored.kind.has_query())?;
    let mut known = part(facts, "rule", "_RETURN", object)?;
    known.identity = known.identity.replacen(
        "_RETURN",
        "\"_RETURN\"",
        usize::from(!known.identity.starts_with('"')),
    );
    Some(known)
}

fn published(facts: &Facts<'_>, object: Oid) -> Option<Known> {
    let found = row(facts, "pg_publication_rel", object)?;
    let publication = row(facts, "pg_publication", number(&found, 1)?)?;
    let publication = publication.get(1)?.as_str()?.to_string();
    let (_, schema, table) = relation_parts(facts, number(&found, 2)?)?;
    Some(Known {
        description: format!(
            "publication of {} in publication {publication}",
            described(facts, number(&found, 2)?)?
        ),
        schema: None,
        name: None,
        identity: format!("{} in publication {publication}", qualified(&schema, &table)),
        object_names: vec![schema, table],
        object_args: vec![publication],
    })
}

fn cast(facts: &Facts<'_>, object: Oid) -> Option<Known> {
    let found = row(facts, "pg_cast", object)?;
    let (from, to) = (number(&found, 1)?, number(&found, 2)?);
    let full = full_types(facts, &[from, to]);
    Some(Known {
        description: format!("cast from {} to {}", format_type(from, -1), format_type(to, -1)),
        schema: None,
        name: None,
        identity: format!("({} AS {})", full[0], full[1]),
        object_names: vec![full[0].clone()],
        object_args: vec![full[1].clone()],
    })
}

fn collation(facts: &Facts<'_>, object: Oid) -> Option<Known> {
    let found = row(facts, "pg_collation", object)?;
    let name = found.get(1)?.as_str()?;
    let schema = facts.schema_name(number(&found, 2)?)?;
    Some(Known {
        description: format!("collation {}", identifier(name)),
        schema: Some(identifier(schema)),
        name: Some(identifier(name)),
        identity: qualified(schema, name),
        object_names: vec![schema.to_string(), name.to_string()],
        object_args: Vec::new(),
    })
}

fn operator(facts: &Facts<'_>, object: Oid) -> Option<Known> {
    let found = row(facts, "pg_operator", object)?;
    let name = found.get(1)?.as_str()?;
    let schema = facts.schema_name(number(&found, 2)?)?;
    let operands: Vec<Oid> = [number(&found, 7)?, number(&found, 8)?].into();
    let of = |types: Vec<String>| match operands[0] {
        Oid::INVALID => format!("{name}(NONE,{})", types[1]),
        _ => format!("{name}({})", types.join(",")),
    };
    let full = full_types(facts, &operands);
    let args = full
        .iter()
        .skip(usize::from(operands[0] == Oid::INVALID))
        .cloned();
    Some(Known {
        description: format!(
            "operator {}",
            of(operands.iter().map(|ty| format_type(*ty, -1)).collect())
        ),
        schema: Some(identifier(schema)),
        name: None,
        object_args: args.collect(),
        identity: format!("{}.{}", identifier(schema), of(full)),
        object_names: vec![schema.to_string(), name.to_string()],
    })
}

/// Operator classes and families, which belong to an access method.
fn of_method(facts: &Facts<'_>, kind: &str, catalog: &str, object: Oid) -> Option<Known> {
    let found = row(facts, catalog, object)?;
    let name = found.get(2)?.as_str()?;
    let schema = facts.schema_name(number(&found, 3)?)?;
    let method = row(facts, "pg_am", number(&found, 1)?)?;
    let method = method.get(1)?.as_str()?;
    Some(Known {
        description: format!("{kind} {} for access method {method}", identifier(name)),
        schema: Some(identifier(schema)),
        name: Some(identifier(name)),
        identity: format!("{} USING {}", qualified(schema, name), identifier(method)),
        object_names: vec![method.to_string(), schema.to_string(), name.to_string()],
        object_args: Vec::new(),
    })
}
