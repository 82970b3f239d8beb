//! pg_type, pg_enum and pg_range; pg_cast, pg_am, pg_opclass, pg_opfamily, pg_collation, pg_language: constants of the binary.

use mote_common::{Oid, SqlResult};
use mote_sql::access::AclItem;
use mote_sql::builtin::cast::{CastRow, CastUse, casts as all_casts};
use mote_sql::catalog::Relation;
use mote_sql::catalog::index_method::IndexMethod;
use mote_types::catalog::extension::{extension_type, is_extension_type};
use mote_types::catalog::range::RANGE_TYPES;
use mote_types::catalog::user::{is_composite, number_of, user_multirange_of, user_range_of};
use mote_types::catalog::{BUILTIN_TYPES, type_shape};
use mote_types::signature::OperatorClass;
use mote_types::{ColumnType, Datum, TypeInfo};

use super::acl::acl;
use super::domains;
use super::routines::LANGUAGE_PLPGSQL;
use crate::catalog_store::stored::{StoredCastContext, StoredUserType};
use crate::system_schemas::CATALOG_SCHEMA;
use crate::views::builtin::{
    BOOTSTRAP_ROLE, COLLATIONS, HEAP, LANGUAGE_INTERNAL, operator_classes, support_function,
};
use crate::views::facts::Facts;
use crate::views::row::{NULL, row};

pub fn types(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let place = |info: &TypeInfo| Place {
        oid: info.oid,
        name: info.name.to_string(),
        schema: CATALOG_SCHEMA,
        owner: BOOTSTRAP_ROLE,
        element: info.elem,
        array: info.array,
        acl: NULL,
    };
    let mut rows: Vec<_> = BUILTIN_TYPES
        .iter()
        .filter(|info| !is_extension_type(info.oid))
        .map(|info| type_row(info, place(info)))
        .collect();
    for info in BUILTIN_TYPES {
        let extension = extension_type(info.oid).and_then(|ty| facts.extension_of(ty.oid));
        rows.extend(extension.map(|extension| {
            let own = Place {
                schema: Oid(extension.schema),
                ..place(info)
            };
            type_row(info, own)
        }));
    }
    for entry in facts.user_types() {
        let stored = &entry.stored;
        if let Some(domain) = &stored.domain {
            rows.extend(domains::type_row(facts, stored, domain, type_acl(facts, stored)));
            continue;
        }
        if stored.attributes.is_some() {
            let kind = RowKind {
                oid: Oid(stored.oid),
                name: &stored.name,
                array_name: facts.catalog.array_name(Oid(stored.schema), &stored.name),
                schema: Oid(stored.schema),
                owner: Oid(stored.owner),
                acl: type_acl(facts, stored),
            };
            rows.extend(row_types(kind));
            continue;
        }
        let ty = ColumnType::new(Oid(stored.oid));
        let array = ty.array_of().map_or(Oid::INVALID, |array| array.oid);
        let array_name = facts.catalog.array_name(Oid(stored.schema), &stored.name);
        let own = |oid: Oid, name: String, element, array, acl| Place {
            oid,
            name,
            schema: Oid(stored.schema),
            owner: Oid(stored.owner),
            element,
            array,
            acl,
        };
        let wide = stored.range.as_ref().or_else(|| {
            let range = facts.catalog.user_type(user_range_of(ty.oid)?)?;
            range.stored.range.as_ref()
        });
        let wide = wide.is_some_and(|range| has_wide_alignment(Oid(range.subtype)));
        for place in [
            own(
                ty.oid,
                stored.name.clone(),
                Oid::INVALID,
                array,
                type_acl(facts, stored),
            ),
            own(array, array_name, ty.oid, Oid::INVALID, NULL),
        ] {
            let row = type_shape(place.oid).map(|shape| type_row(shape, place));
            rows.extend(row.map(|mut row| {
                if wide {
                    row[ALIGNMENT] = Datum::text("d");
                }
                row
            }));
        }
    }
    for known in facts.relations() {
        rows.extend(relation_types(known.relation, facts));
    }
    Ok(rows)
}

/// The place of `typalign` among the columns of pg_type.
const ALIGNMENT: usize = 22;

/// Ranges over such a type are aligned as it is.
fn has_wide_alignment(subtype: Oid) -> bool {
    type_shape(subtype).is_some_and(|shape| shape.align == b'd')
}

/// What there is to say of a composite type or of the row type of a relation.
struct RowKind<'f> {
    oid: Oid,
    name: &'f str,
    array_name: String,
    schema: Oid,
    owner: Oid,
    acl: Datum,
}

/// An array has none of its own.
fn type_acl(facts: &Facts<'_>, stored: &StoredUserType) -> Datum {
    let items: Vec<AclItem> = stored.acl.iter().map(Into::into).collect();
    acl(facts, &items)
}

fn relation_types(relation: &Relation, facts: &Facts<'_>) -> Vec<Vec<Datum>> {
    let ty = relation.row_value_type().oid;
    if !is_composite(ty) {
        return Vec::new();
    }
    let kind = RowKind {
        oid: ty,
        name: &relation.name,
        array_name: facts.catalog.array_name(relation.schema_oid, &relation.name),
        schema: relation.schema_oid,
        owner: relation.owner,
        acl: NULL,
    };
    row_types(kind).collect()
}

/// The rows of a row type and of the arrays over it.
fn row_types(kind: RowKind<'_>) -> impl Iterator<Item = Vec<Datum>> {
    let array = ColumnType::new(kind.oid)
        .array_of()
        .map_or(Oid::INVALID, |array| array.oid);
    let place = |oid: Oid, name: String, element, array, acl| Place {
        oid,
        name,
        schema: kind.schema,
        owner: kind.owner,
        element,
        array,
        acl,
    };
    let places = [
        place(
            kind.oid,
            kind.name.to_string(),
            Oid::INVALID,
            array,
            kind.acl.clone(),
        ),
        place(array, kind.array_name, kind.oid, Oid::INVALID, NULL),
    ];
    places
        .into_iter()
        .filter_map(|place| type_shape(place.oid).map(|shape| type_row(shape, place)))
}

/// pg_enum.
pub fn enums(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for entry in facts.user_types() {
        for label in &entry.stored.labels {
            rows.push(row![
                Oid(label.oid),
                Oid(entry.stored.oid),
                label.sort_order,
                &label.label
            ]);
        }
    }
    Ok(rows)
}

/// pg_range.
pub fn ranges(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = RANGE_TYPES.iter().map(|known| {
        row![
            known.range,
            known.subtype,
            known.multirange,
            Oid::INVALID,
            known.operator_class,
            known.canonical,
            known.difference,
        ]
    });
    let made = facts.user_types().into_iter().filter_map(|entry| {
        let (oid, range) = (Oid(entry.stored.oid), entry.stored.range.as_ref()?);
        Some(row![
            oid,
            Oid(range.subtype),
            user_multirange_of(oid).unwrap_or(Oid::INVALID),
            Oid(range.collation),
            Oid(range.operator_class),
            Oid::INVALID,
            Oid(range.difference),
        ])
    });
    Ok(rows.chain(made).collect())
}

/// What a type has for itself, whatever its kind.
struct Place {
    oid: Oid,
    name: String,
    schema: Oid,
    owner: Oid,
    element: Oid,
    array: Oid,
    acl: Datum,
}

/// The OID of a support function; `-` is shown for none.
fn support(name: &str) -> Oid {
    support_function(name).unwrap_or(Oid::INVALID)
}

fn type_row(info: &TypeInfo, place: Place) -> Vec<Datum> {
    let is_array = info.input == "array_in";
    row![
        place.oid,
        place.name,
        place.schema,
        place.owner,
        info.len,
        info.by_value,
        info.kind as char,
        info.category as char,
        info.preferred,
        true,
        info.delim as char,
        if is_composite(place.oid) {
            number_of(place.oid)
        } else {
            Oid::INVALID
        },
        support(info.subscript),
        place.element,
        place.array,
        support(info.input),
        support(info.output),
        support(info.receive),
        support(info.send),
        support(info.modin),
        support(info.modout),
        match info.kind {
            _ if is_array => support("array_typanalyze"),
            b'r' => support("range_typanalyze"),
            b'm' => support("multirange_typanalyze"),
            _ => Oid::INVALID,
        },
        info.align as char,
        info.storage as char,
        false,
        Oid::INVALID,
        -1,
        0,
        info.collation,
        NULL,
        NULL,
        place.acl,
    ]
}

pub fn casts(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let here = |cast: &&CastRow| facts.schema_of_builtin([cast.source, cast.target]).is_some();
    let rows = all_casts().filter(here).map(|cast| {
        let context = match cast.context {
            CastUse::Implicit => 'i',
            CastUse::Assignment => 'a',
            CastUse::Explicit => 'e',
        };
        let method = match (cast.binary, cast.function) {
            (true, _) => 'b',
            (false, Oid::INVALID) => 'i',
            _ => 'f',
        };
        row![cast.oid, cast.source, cast.target, cast.function, context, method]
    });
    // From the range types of users to their multiranges.
    let made = facts.user_types().into_iter().filter_map(|entry| {
        let (oid, range) = (Oid(entry.stored.oid), entry.stored.range.as_ref()?);
        let function = *range.multirange_constructors.get(1)?;
        Some(row![
            Oid(range.cast),
            oid,
            user_multirange_of(oid)?,
            Oid(function),
            'e',
            'f'
        ])
    });
    let of_users = facts.catalog.casts_of(facts.database()).into_iter();
    let of_users = of_users.map(|cast| {
        let context = match cast.context {
            StoredCastContext::Implicit => 'i',
            StoredCastContext::Assignment => 'a',
            StoredCastContext::Explicit => 'e',
        };
        let method = if cast.function == 0 { 'i' } else { 'f' };
        row![
            Oid(cast.oid),
            Oid(cast.source),
            Oid(cast.target),
            Oid(cast.function),
            context,
            method
        ]
    });
    Ok(rows.chain(made).chain(of_users).collect())
}

pub fn access_methods(_: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let heap = row![HEAP, "heap", support("heap_tableam_handler"), 't'];
    let methods = IndexMethod::ALL.into_iter().map(|method| {
        let can = method.abilities();
        row![can.oid, can.name, support(can.handler), 'i']
    });
    Ok([heap].into_iter().chain(methods).collect())
}

/// The operator classes of all methods.
pub(super) fn classes() -> impl Iterator<Item = (IndexMethod, &'static OperatorClass)> {
    let methods = IndexMethod::ALL.into_iter();
    methods.flat_map(|method| operator_classes(method).map(move |class| (method, class)))
}

pub fn opclasses(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = classes().filter_map(|(method, class)| {
        let schema = facts.schema_of_builtin([class.input])?;
        Some(row![
            class.oid,
            method.oid(),
            class.name,
            schema,
            BOOTSTRAP_ROLE,
            class.family,
            class.input,
            class.default,
            class.key,
        ])
    });
    Ok(rows.collect())
}

pub fn opfamilies(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let place = |class: &OperatorClass| facts.schema_of_builtin([class.input]);
    let family = |(method, class): (IndexMethod, &'static OperatorClass)| {
        Some((class.family, method.oid(), class.family_name, place(class)?))
    };
    let mut families: Vec<(Oid, Oid, &str, Oid)> = classes().filter_map(family).collect();
    families.sort_unstable();
    families.dedup();
    let rows = families
        .into_iter()
        .map(|(oid, method, name, schema)| row![oid, method, name, schema, BOOTSTRAP_ROLE]);
    Ok(rows.collect())
}

pub fn collations(_: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = COLLATIONS.iter().map(|collation| {
        row![
            collation.oid,
            collation.name,
            CATALOG_SCHEMA,
            BOOTSTRAP_ROLE,
            collation.provider,
            true,
            collation.encoding,
            collation.locale,
            collation.locale,
            NULL,
            NULL,
        ]
    });
    Ok(rows.collect())
}

pub fn languages(_: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let language = |oid: Oid, name: &str, trusted: bool| {
        row![
            oid,
            name,
            BOOTSTRAP_ROLE,
            oid == LANGUAGE_PLPGSQL,
            trusted,
            Oid::INVALID,
            Oid::INVALID,
            Oid::INVALID,
            NULL
        ]
    };
    Ok(vec![
        language(LANGUAGE_INTERNAL, "internal", false),
        language(Oid(13), "c", false),
        language(Oid(14), "sql", true),
        language(LANGUAGE_PLPGSQL, "plpgsql", true),
    ])
}
