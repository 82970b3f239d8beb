//! pg_attribute and pg_attrdef.

use mote_common::{Oid, SqlResult};
use mote_sql::catalog::{Column, Identity, Inheritance};
use mote_types::catalog::type_shape;
use mote_types::catalog::user::number_of;
use mote_types::{ColumnType, Datum, TypeInfo, oid};

use crate::catalog_store::TypeEntry;
use crate::catalog_store::stored::StoredKind;
use crate::views::all_relations;
use crate::views::facts::{Facts, KnownIndex};
use crate::views::row::{NONE, NULL, row};
use crate::views::rows::relations::{attribute_numbers, collation_of_key};
use crate::views::text::shown_default;

/// What pg_attribute says about one column.
struct Attribute<'f> {
    relation: Oid,
    name: &'f str,
    ty: ColumnType,
    domain: Option<Oid>,
    number: i16,
    not_null: bool,
    has_default: bool,
    identity: &'static str,
    generated: &'static str,
    dropped: bool,
    inheritance: Inheritance,
    statistics_target: i32,
    storage: Option<char>,
    /// None: that of the type.
    collation: Option<Oid>,
}

impl<'f> Attribute<'f> {
    fn of_column(relation: Oid, number: i16, column: &'f Column) -> Attribute<'f> {
        Attribute {
            relation,
            name: &column.name,
            ty: column.ty,
            domain: column.domain,
            number,
            not_null: column.not_null,
            has_default: column.default.is_some() || column.generated.is_some(),
            identity: match column.identity {
                Some(Identity::Always) => "a",
                Some(Identity::ByDefault) => "d",
                None => NONE,
            },
            generated: if column.generated.is_some() { "s" } else { NONE },
            dropped: column.dropped,
            inheritance: column.inheritance,
            statistics_target: column.statistics_target.unwrap_or(-1),
            storage: column.storage,
            collation: None,
        }
    }

    fn plain(relation: Oid, number: i16, name: &'f str, ty: ColumnType, not_null: bool) -> Attribute<'f> {
        Attribute {
            relation,
            name,
            ty,
            domain: None,
            number,
            not_null,
            has_default: false,
            identity: NONE,
            generated: NONE,
            dropped: false,
            inheritance: Inheritance::LOCAL,
            statistics_target: -1,
            storage: None,
            collation: None,
        }
    }

    fn row(self) -> Vec<Datum> {
        let info: Option<&TypeInfo> = type_shape(self.ty.oid);
        let is_array = info.is_some_and(|info| info.input == "array_in");
        let dropped_name = format!("........pg.dropped.{}........", self.number);
        row![
            self.relation,
            if self.dropped {
                dropped_name.as_str()
            } else {
                self.name
            },
            if self.dropped {
                Oid::INVALID
            } else {
                self.domain.unwrap_or(self.ty.oid)
            },
            if self.number < 0 || self.dropped {
                0
            } else {
                self.statistics_target
            },
            info.map_or(-1, |info| info.len),
            self.number,
            is_array as i32,
            -1,
            if self.domain.is_some() { -1 } else { self.ty.typmod },
            info.is_some_and(|info| info.by_value),
            info.map_or('i', |info| info.align as char),
            self.storage
                .unwrap_or_else(|| info.map_or('x', |info| info.storage as char)),
            NONE,
            self.not_null && !self.dropped,
            self.has_default && !self.dropped,
            false,
            self.identity,
            self.generated,
            self.dropped,
            self.inheritance.local,
            i32::from(self.inheritance.parents),
            self.collation
                .unwrap_or_else(|| info.map_or(Oid::INVALID, |info| info.collation)),
            NULL,
            NULL,
            NULL,
            NULL,
        ]
    }
}

/// Columns that every table has and nobody declared.
const SYSTEM_COLUMNS: &[(i16, &str, Oid)] = &[
    (-6, "tableoid", oid::OID),
    (-2, "xmin", oid::XID),
    (-1, "ctid", oid::TID),
];

pub fn attribute(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for relation in all_relations() {
        for (position, column) in relation.columns.iter().enumerate() {
            rows.push(Attribute::of_column(relation.oid, position as i16 + 1, column).row());
        }
    }
    for known in facts.relations() {
        let relation = known.relation;
        if known.stored.kind == StoredKind::Sequence {
            rows.extend(sequence_attributes(relation.oid));
            continue;
        }
        if known.stored.kind.has_rows() {
            for &(number, name, ty) in SYSTEM_COLUMNS {
                rows.push(Attribute::plain(relation.oid, number, name, ColumnType::new(ty), true).row());
            }
        }
        for (position, column) in relation.columns.iter().enumerate() {
            rows.push(Attribute::of_column(relation.oid, position as i16 + 1, column).row());
        }
    }
    for known in facts.indexes() {
        rows.extend(index_attributes(known));
    }
    for entry in facts.user_types() {
        rows.extend(composite_attributes(entry));
    }
    Ok(rows)
}

/// The attributes of a composite type, dropped ones included.
fn composite_attributes(entry: &TypeEntry) -> impl Iterator<Item = Vec<Datum>> {
    let relation = number_of(Oid(entry.stored.oid));
    let attributes = entry.stored.attributes.iter().flatten().zip(1..);
    attributes.map(move |(attribute, number)| {
        let ty = ColumnType::with_typmod(Oid(attribute.type_oid), attribute.typmod);
        let plain = Attribute::plain(relation, number, &attribute.name, ty, false);
        let shown = Attribute {
            dropped: attribute.dropped,
            ..plain
        };
        shown.row()
    })
}

fn sequence_attributes(relation: Oid) -> impl Iterator<Item = Vec<Datum>> {
    let columns = [
        ("last_value", ColumnType::INT8),
        ("log_cnt", ColumnType::INT8),
        ("is_called", ColumnType::BOOL),
    ];
    columns
        .into_iter()
        .enumerate()
        .map(move |(position, (name, ty))| {
            Attribute::plain(relation, position as i16 + 1, name, ty, true).row()
        })
}

fn index_attributes(KnownIndex { table, index }: KnownIndex<'_>) -> Vec<Vec<Datum>> {
    let mut rows = Vec::new();
    for (position, number) in attribute_numbers(index).enumerate() {
        let column = usize::try_from(number - 1)
            .ok()
            .and_then(|column| table.columns.get(column));
        let key_name = index.keys.get(position).and_then(|key| key.name.as_deref());
        let name = key_name.or(column.map(|column| column.name.as_str()));
        let name = name.unwrap_or("expr");
        let ty = index
            .keys
            .get(position)
            .map(|key| key.ty)
            .or(column.map(|column| column.ty));
        let ty = index
            .method
            .abilities()
            .column_type
            .or(ty)
            .unwrap_or(ColumnType::TEXT);
        // A hash of a text is a number, and the attribute still has the text's collation; what is only kept has none.
        let collation = index.keys.get(position).map_or(Oid::INVALID, collation_of_key);
        let plain = Attribute::plain(index.oid, position as i16 + 1, name, ty, false);
        let shown = Attribute {
            collation: Some(collation),
            ..plain
        };
        rows.push(shown.row());
    }
    rows
}

/// A default has no OID of its own in mote: it is known by its relation's OID and column number. psql and drivers join
/// on (adrelid, adnum).
pub fn attrdef(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for known in facts.relations() {
        for (position, column) in known.relation.columns.iter().enumerate() {
            let text = column.default.as_ref().or(column.generated.as_ref());
            if let Some(text) = text.filter(|_| !column.dropped) {
                let number = position as i16 + 1;
                let shown = shown_default(facts, known.relation, column, text);
                rows.push(row![
                    default_oid(known.relation.oid, number),
                    known.relation.oid,
                    number,
                    shown
                ]);
            }
        }
    }
    Ok(rows)
}

/// Unique within the catalog: above what the OID counter reaches in practice.
pub fn default_oid(relation: Oid, number: i16) -> Oid {
    Oid(0x8000_0000 | (relation.0 << 11) & 0x7fff_f800 | number as u32 & 0x7ff)
}

/// The column of a default's number; `None` if it is no such number.
pub fn default_column(default: Oid) -> Option<i16> {
    (default.0 & 0x8000_0000 != 0).then_some((default.0 & 0x7ff) as i16)
}
