//! Domains of users: their rows of pg_type and pg_constraint, and of information_schema.

use mote_common::{Oid, SqlResult};
use mote_sql::catalog::Column;
use mote_types::catalog::type_shape;
use mote_types::{ColumnType, Datum};

use crate::catalog_store::TypeEntry;
use crate::catalog_store::stored::{StoredDomain, StoredDomainCheck, StoredUserType};
use crate::views::builtin::support_function;
use crate::views::condition;
use crate::views::facts::Facts;
use crate::views::row::{NULL, row};
use crate::views::rows::schema_types::TypeDescription;
use crate::views::text::check;

/// The domains of the database, in order of making.
fn domains<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (&'f TypeEntry, &'f StoredDomain)> {
    let types = facts.user_types().into_iter();
    types.filter_map(|entry| Some((entry, entry.stored.domain.as_ref()?)))
}

/// The row of pg_type: the base type's facts, but for what makes it a domain.
pub fn type_row(
    facts: &Facts<'_>,
    stored: &StoredUserType,
    domain: &StoredDomain,
    acl: Datum,
) -> Option<Vec<Datum>> {
    let default = shown_default(facts, domain);
    let base = type_shape(Oid(domain.type_oid))?;
    let support = |name: &str| support_function(name).unwrap_or(Oid::INVALID);
    let (of, typmod) = match domain.of {
        0 => (domain.type_oid, domain.typmod),
        below => (below, -1),
    };
    Some(row![
        Oid(stored.oid),
        &stored.name,
        Oid(stored.schema),
        Oid(stored.owner),
        base.len,
        base.by_value,
        'd',
        base.category as char,
        false,
        true,
        base.delim as char,
        Oid::INVALID,
        Oid::INVALID,
        Oid::INVALID,
        Oid::INVALID,
        support("domain_in"),
        support(base.output),
        support("domain_recv"),
        support(base.send),
        Oid::INVALID,
        Oid::INVALID,
        Oid::INVALID,
        base.align as char,
        base.storage as char,
        domain.not_null,
        Oid(of),
        typmod,
        0,
        base.collation,
        default.as_deref(),
        default.as_deref(),
        acl,
    ])
}

fn shown_default(facts: &Facts<'_>, domain: &StoredDomain) -> Option<String> {
    let text = domain.default.as_ref()?;
    let spelled = condition::of_default(facts, ColumnType::new(Oid(domain.type_oid)), text);
    Some(spelled.unwrap_or_else(|| text.clone()))
}

/// What CHECK constraints of domains say, with their schemas and names.
pub fn checks(facts: &Facts<'_>) -> Vec<(Oid, String, String)> {
    let mut found = Vec::new();
    for (entry, domain) in domains(facts) {
        for check in &domain.checks {
            if let Some(text) = definition(facts, check.oid, false) {
                found.push((Oid(entry.stored.schema), check.name.clone(), text));
            }
        }
    }
    found
}

/// Domains with the domain that each is made of.
pub fn made_of_domains(facts: &Facts<'_>) -> Vec<(Oid, Oid)> {
    let nested = domains(facts).filter(|(_, domain)| domain.of != 0);
    nested
        .map(|(entry, domain)| (Oid(entry.stored.oid), Oid(domain.of)))
        .collect()
}

/// Rows of pg_constraint.
pub fn constraints(facts: &Facts<'_>) -> Vec<Vec<Datum>> {
    let rows = domains(facts).flat_map(|(entry, domain)| {
        let checks = domain.checks.iter();
        checks.map(|check| constraint_row(facts, (&entry.stored, domain), check))
    });
    rows.collect()
}

fn constraint_row(
    facts: &Facts<'_>,
    (stored, domain): (&StoredUserType, &StoredDomain),
    check: &StoredDomainCheck,
) -> Vec<Datum> {
    let base = ColumnType::with_typmod(Oid(domain.type_oid), domain.typmod);
    let shown = condition::of_domain(facts, base, &check.expression, false);
    let mut row = row![
        Oid(check.oid),
        &check.name,
        Oid(stored.schema),
        'c',
        false,
        false,
        check.validated,
        Oid::INVALID,
        Oid(stored.oid),
        Oid::INVALID,
        Oid::INVALID,
        Oid::INVALID,
        ' ',
        ' ',
        ' ',
        true,
        0,
        false,
    ];
    row.extend(std::iter::repeat_n(NULL, 7));
    row.push(Datum::from(
        shown.unwrap_or_else(|| with_value_in_capitals(&check.expression)),
    ));
    row
}

/// What pg_get_constraintdef shows.
pub fn definition(facts: &Facts<'_>, constraint: u32, pretty: bool) -> Option<String> {
    let mut checks =
        domains(facts).flat_map(|(_, domain)| domain.checks.iter().map(move |check| (domain, check)));
    let (domain, found) = checks.find(|(_, check)| check.oid == constraint)?;
    let base = ColumnType::with_typmod(Oid(domain.type_oid), domain.typmod);
    let shown = condition::of_domain(facts, base, &found.expression, pretty);
    let valid = if found.validated { "" } else { " NOT VALID" };
    Some(format!(
        "{}{valid}",
        check(shown, &with_value_in_capitals(&found.expression), pretty)
    ))
}

/// Kept texts call the value `value`, as any column; PostgreSQL shows the word of the grammar.
fn with_value_in_capitals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let length = match (quote, first) {
            (Some(open), _) => {
                quote = (first != open).then_some(open);
                first.len_utf8()
            }
            (None, '\'' | '"') => {
                quote = Some(first);
                1
            }
            (None, _) if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            (None, _) => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        out.push_str(if word == "value" && quote.is_none() {
            "VALUE"
        } else {
            word
        });
        rest = behind;
    }
    out
}

/// Catalog, schema and name of a column's domain.
pub fn names_of(domain: Option<Oid>, facts: &Facts<'_>) -> Vec<Datum> {
    let types = facts.user_types();
    let found = domain.and_then(|domain| types.into_iter().find(|entry| Oid(entry.stored.oid) == domain));
    match found {
        Some(entry) => row![facts.database_name(), &entry.described.schema, &entry.stored.name],
        None => row![NULL, NULL, NULL],
    }
}

/// A domain over a domain is a type of a user to information_schema.
fn described_below(domain: &StoredDomain, base: TypeDescription, facts: &Facts<'_>) -> TypeDescription {
    let below = facts
        .user_types()
        .into_iter()
        .find(|entry| entry.stored.oid == domain.of);
    match below {
        Some(below) => TypeDescription {
            data_type: "USER-DEFINED".to_string(),
            udt_schema: below.described.schema.clone(),
            udt_name: below.stored.name.clone(),
            character_maximum_length: None,
            character_octet_length: None,
            numeric_precision: None,
            numeric_precision_radix: None,
            numeric_scale: None,
            datetime_precision: None,
            interval_type: None,
        },
        None => base,
    }
}

/// The description of a column's type.
pub fn described_column(column: &Column, facts: &Facts<'_>) -> TypeDescription {
    let base = TypeDescription::of(column.ty, facts);
    match domain_of(column, facts) {
        Some(domain) => described_below(domain, base, facts),
        None => base,
    }
}

/// A column of a domain that is NOT NULL takes no nulls either.
pub fn refuses_nulls(column: &Column, facts: &Facts<'_>) -> bool {
    column.not_null || domain_of(column, facts).is_some_and(|domain| domain.not_null)
}

fn domain_of<'f>(column: &Column, facts: &'f Facts<'_>) -> Option<&'f StoredDomain> {
    facts.catalog.user_type(column.domain?)?.stored.domain.as_ref()
}

/// information_schema.domains.
pub fn all(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let rows = domains(facts).map(|(entry, domain)| {
        let ty = ColumnType::with_typmod(Oid(domain.type_oid), domain.typmod);
        let described = described_below(domain, TypeDescription::of(ty, facts), facts);
        let mut row = row![
            catalog,
            &entry.described.schema,
            &entry.stored.name,
            described.data_type,
            described.character_maximum_length,
            described.character_octet_length,
        ];
        // Character set and collation.
        row.extend(std::iter::repeat_n(NULL, 6));
        row.extend(row![
            described.numeric_precision,
            described.numeric_precision_radix,
            described.numeric_scale,
            described.datetime_precision,
            described.interval_type,
            NULL,
            shown_default(facts, domain),
            catalog,
            described.udt_schema,
            described.udt_name,
            NULL,
            NULL,
            NULL,
            NULL,
            "1",
        ]);
        row
    });
    Ok(rows.collect())
}

/// information_schema.domain_constraints.
pub fn all_constraints(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let rows = domains(facts).flat_map(|(entry, domain)| {
        let (schema, name) = (&entry.described.schema, &entry.stored.name);
        domain
            .checks
            .iter()
            .map(move |check| row![catalog, schema, &check.name, catalog, schema, name, "NO", "NO"])
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_value_is_in_capitals() {
        let shown = super::with_value_in_capitals("value > 0 AND value_of('value') <> \"value\" + (value)");
        assert_eq!(shown, "VALUE > 0 AND value_of('value') <> \"value\" + (VALUE)");
    }
}
