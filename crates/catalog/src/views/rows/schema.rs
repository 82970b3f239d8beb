//! information_schema: relations, schemata, sequences, views, routines, privileges, what the catalog is.
//!
//! As the standard wants, only what the current user may use is shown: what the user owns or was granted something on.

use mote_common::{Oid, SqlResult};
use mote_sql::builtin::function::{FUNCTIONS, FunctionSignature};
use mote_sql::catalog::{CheckOption, Relation};
use mote_types::catalog::extension::of_extension;
use mote_types::{ColumnType, Datum, format_type};

use crate::catalog_store::stored::StoredKind;
use crate::privileges::has_privileges;
use crate::system_schemas::shown_as_view;
use crate::views::builtin::COLLATIONS;
use crate::views::facts::{Facts, Known};
use crate::views::row::{NULL, row};
use crate::views::rows::schema_types::{TypeDescription, integer_precision, yes_or_no};
use crate::views::view_text::{Layout, view_definition};
use crate::views::{all_relations, updatable};

/// Whether the user may do anything with the relation.
pub fn is_accessible(facts: &Facts<'_>, relation: &Relation) -> bool {
    (0..7).any(|bit| {
        has_privileges(
            facts.session.catalog,
            relation,
            facts.session.catalog.identity.user_oid,
            1 << bit,
        )
    })
}

/// Tables and views of users that the session may see. The standard knows no materialized views.
pub fn accessible<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = Known<'f>> {
    facts.relations().into_iter().filter(|known| {
        let listed = matches!(known.stored.kind, StoredKind::Table | StoredKind::View);
        listed && is_accessible(facts, known.relation)
    })
}

pub fn tables(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let line = |schema: &str, name: &str, kind: &str, insertable: bool| {
        row![
            catalog,
            schema,
            name,
            kind,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            yes_or_no(insertable),
            "NO",
            NULL,
        ]
    };
    let mut rows: Vec<Vec<Datum>> = all_relations()
        .iter()
        .map(|relation| {
            let view = shown_as_view(relation.oid);
            line(
                &relation.schema,
                &relation.name,
                if view { "VIEW" } else { "BASE TABLE" },
                !view,
            )
        })
        .collect();
    for Known { stored, relation } in accessible(facts) {
        let kind = match (stored.kind, relation.temporary) {
            (StoredKind::View, _) => "VIEW",
            (_, true) => "LOCAL TEMPORARY",
            (_, false) => "BASE TABLE",
        };
        rows.push(line(
            &relation.schema,
            &relation.name,
            kind,
            updatable::of(relation.oid, facts.session.catalog).is_insertable(),
        ));
    }
    Ok(rows)
}

pub fn views(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = accessible(facts)
        .filter(|known| known.stored.kind == StoredKind::View)
        .map(|known| {
            let view = known.relation;
            let events = updatable::of(view.oid, facts.session.catalog);
            row![
                facts.database_name(),
                &view.schema,
                &view.name,
                view_definition(view, facts.session.catalog, Layout::Plain),
                match view.check_option() {
                    None => "NONE",
                    Some(CheckOption::Local) => "LOCAL",
                    Some(CheckOption::Cascaded) => "CASCADED",
                },
                yes_or_no(events.is_updatable()),
                yes_or_no(events.is_insertable()),
                "NO",
                "NO",
                "NO",
            ]
        });
    Ok(rows.collect())
}

pub fn schemata(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let line = |name: &str, owner: Oid| {
        row![
            facts.database_name(),
            name,
            facts.role_or_unknown(owner),
            NULL,
            NULL,
            NULL,
            NULL
        ]
    };
    let builtin = crate::views::builtin::BOOTSTRAP_ROLE;
    let mut rows = vec![line("pg_catalog", builtin), line("information_schema", builtin)];
    for schema in facts.schemas() {
        if facts.session.catalog.identity.superuser
            || schema.owner == facts.session.catalog.identity.user_oid.0
        {
            rows.push(line(&schema.name, Oid(schema.owner)));
        }
    }
    Ok(rows)
}

pub fn sequences(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = facts.relations_of_kind(StoredKind::Sequence).filter_map(|known| {
        let sequence = known.stored.sequence.as_ref()?;
        // Sequences of identity columns are part of their tables.
        let identity = sequence.owned_by.is_some_and(|(table, position)| {
            let columns = facts.relation(Oid(table)).map(|owner| &owner.relation.columns);
            columns
                .and_then(|columns| columns.get(position as usize))
                .is_some_and(|c| c.identity.is_some())
        });
        if identity || !is_accessible(facts, known.relation) {
            return None;
        }
        let ty = Oid(sequence.type_oid);
        Some(row![
            facts.database_name(),
            &known.relation.schema,
            &known.relation.name,
            format_type(ty, -1),
            integer_precision(ty),
            2,
            0,
            sequence.start.to_string(),
            sequence.minimum.to_string(),
            sequence.maximum.to_string(),
            sequence.increment.to_string(),
            yes_or_no(sequence.cycle),
        ])
    });
    Ok(rows.collect())
}

/// The columns from specific_catalog to security_type carry facts; the rest of the standard's list is NULL here, as in
/// PostgreSQL.
pub fn routines(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    const COLUMNS: usize = 82;
    let catalog = facts.database_name();
    let own = |function: &&FunctionSignature| {
        let types = function.arguments.iter().chain([&function.result]);
        of_extension(types.copied()).is_none()
    };
    let rows = FUNCTIONS.iter().filter(own).map(|function| {
        let result = TypeDescription::of(ColumnType::new(function.result), facts);
        let mut row = row![
            catalog,
            "pg_catalog",
            format!("{}_{}", function.name, function.oid),
            catalog,
            "pg_catalog",
            function.name,
            "FUNCTION",
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            result.data_type,
        ];
        row.extend(std::iter::repeat_n(NULL, 14));
        row.extend(row![
            catalog,
            result.udt_schema,
            result.udt_name,
            NULL,
            NULL,
            NULL,
            NULL,
            "0"
        ]);
        row.extend(row!["EXTERNAL", NULL, function.body, "INTERNAL", "GENERAL"]);
        row.extend(row![
            yes_or_no(function.volatility == mote_sql::builtin::function::Volatility::Immutable),
            "MODIFIES",
            yes_or_no(function.strict),
            NULL,
            "YES",
            0,
            NULL,
            NULL,
            "INVOKER",
            NULL,
            NULL,
            NULL,
            "NO",
            NULL,
            NULL,
            NULL,
            "NO",
        ]);
        row.resize(COLUMNS, NULL);
        row
    });
    Ok(rows.chain(super::routines::routines(facts)).collect())
}

pub fn character_sets(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    Ok(vec![row![
        NULL,
        NULL,
        "UTF8",
        "UCS",
        "UTF8",
        catalog,
        "pg_catalog",
        "C.UTF-8"
    ]])
}

pub fn collations(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let named = COLLATIONS.iter().filter(|collation| collation.provider != 'd');
    Ok(named
        .map(|c| row![facts.database_name(), "pg_catalog", c.name, "NO PAD"])
        .collect())
}

pub fn collation_applicability(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let named = COLLATIONS.iter().filter(|collation| collation.provider != 'd');
    let catalog = facts.database_name();
    Ok(named
        .map(|c| row![catalog, "pg_catalog", c.name, NULL, NULL, "UTF8"])
        .collect())
}

pub fn catalog_name(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    Ok(vec![row![facts.database_name()]])
}

pub fn enabled_roles(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let roles = facts.roles().into_iter();
    let enabled = roles.filter(|role| {
        facts.session.catalog.identity.superuser
            || facts.is_member(facts.session.catalog.identity.user_oid, Oid(role.oid))
    });
    Ok(enabled.map(|role| row![&role.name]).collect())
}

pub fn applicable_roles(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for member in facts.roles() {
        let identity = &facts.session.catalog.identity;
        if !identity.superuser && !facts.is_member(identity.user_oid, Oid(member.oid)) {
            continue;
        }
        for membership in &member.member_of {
            let role = facts.role_or_unknown(Oid(membership.role));
            rows.push(row![
                &member.name,
                role,
                if membership.admin { "YES" } else { "NO" }
            ]);
        }
    }
    Ok(rows)
}

/// Those that whoever has may hand on.
pub fn administrable_roles(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let with_option = |row: &Vec<Datum>| row.last().and_then(Datum::as_str) == Some("YES");
    Ok(applicable_roles(facts)?.into_iter().filter(with_option).collect())
}
