//! What a relation made by code is: OID, name, columns, row function.
//!
//! A line of `tables`, `system_views`, `statistics` or `information_schema` lists the columns as `name:type`, blank
//! between them, `!` behind a type for NOT NULL; `name` alone is a `sql_identifier` of information_schema. Types are
//! named as in pg_type. Where mote lacks a type, the column has the nearest one: see [`column_type`].

mod information_schema;
mod own;
mod statistics;
mod system_views;
mod tables;

use mote_common::{Oid, SqlResult, TableId};
use mote_sql::catalog::{Column, Inheritance, Relation, RelationKind, RowCount};
use mote_types::{ColumnType, Datum, oid, type_by_name};

use super::builtin::BOOTSTRAP_ROLE;
use super::facts::Facts;
use crate::system_schemas::{CATALOG_SCHEMA, INFORMATION_SCHEMA};

/// Makes all rows of a relation.
pub type RowFunction = fn(&Facts<'_>) -> SqlResult<Vec<Vec<Datum>>>;

pub struct Definition {
    oid: Oid,
    pub name: &'static str,
    columns: &'static str,
    pub rows: Option<RowFunction>,
}

/// A relation of which mote has no objects.
const fn empty(oid: u32, name: &'static str, columns: &'static str) -> Definition {
    Definition {
        oid: Oid(oid),
        name,
        columns,
        rows: None,
    }
}

const fn filled(oid: u32, name: &'static str, columns: &'static str, rows: RowFunction) -> Definition {
    Definition {
        oid: Oid(oid),
        name,
        columns,
        rows: Some(rows),
    }
}

/// Every relation with the OID of its schema.
pub fn all() -> impl Iterator<Item = (Oid, &'static Definition)> {
    let catalog = [
        tables::RELATIONS,
        system_views::RELATIONS,
        statistics::RELATIONS,
        own::RELATIONS,
    ];
    let catalog = catalog
        .into_iter()
        .flatten()
        .map(|definition| (CATALOG_SCHEMA, definition));
    catalog.chain(
        information_schema::RELATIONS
            .iter()
            .map(|definition| (INFORMATION_SCHEMA, definition)),
    )
}

impl Definition {
    pub fn relation(&self, schema: Oid) -> Relation {
        Relation {
            oid: self.oid,
            schema_oid: schema,
            schema: crate::system_schemas::schema_name(schema)
                .expect("definitions belong to built-in schemas")
                .into(),
            name: self.name.into(),
            kind: RelationKind::Virtual,
            owner: BOOTSTRAP_ROLE,
            table: TableId(0),
            columns: self.columns.split_ascii_whitespace().map(column).collect(),
            indexes: Vec::new(),
            constraints: Vec::new(),
            parents: Vec::new(),
            children: Vec::new(),
            partitioning: None,
            partition_levels: Vec::new(),
            partition_bound: None,
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            foreign_key_firing: mote_sql::catalog::trigger::TriggerFiring::Origin,
            view_query: None,
            populated: true,
            rows: RowCount::new(100.0),
            statistics: None,
            inherited_statistics: None,
            temporary: false,
            acl: Vec::new(),
            comment: None,
            published: None,
            options: Vec::new(),
            version: 0,
        }
    }
}

fn column(text: &str) -> Column {
    let (text, not_null) = match text.strip_suffix('!') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (name, ty) = text.split_once(':').unwrap_or((text, "sql_identifier"));
    Column {
        name: name.into(),
        ty: column_type(ty),
        domain: None,
        not_null,
        dropped: false,
        default: None,
        identity: None,
        generated: None,
        owned_sequence: None,
        comment: None,
        inheritance: Inheritance::LOCAL,
        statistics_target: None,
        storage: None,
    }
}

/// A type by its name in pg_type. The domains of information_schema are shown as what they are made of.
pub(super) fn column_type(name: &str) -> ColumnType {
    match name {
        "sql_identifier" => ColumnType::NAME,
        "cardinal_number" => ColumnType::INT4,
        "character_data" => ColumnType::new(oid::VARCHAR),
        "yes_or_no" => ColumnType::varchar(3),
        "time_stamp" => ColumnType::with_typmod(oid::TIMESTAMPTZ, 2),
        "anyarray" => ColumnType::new(oid::ANYARRAY),
        // Types without values here.
        "pg_ndistinct" | "pg_dependencies" | "pg_mcv_list" => ColumnType::BYTEA,
        "_pg_statistic" => ColumnType::new(oid::TEXT_ARRAY),
        "char" => ColumnType::new(oid::CHAR),
        _ => ColumnType::new(type_by_name(name).expect("definitions name types of the built-in table")),
    }
}
