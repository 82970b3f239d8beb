//! pg_constraint and pg_depend.

use mote_common::{Oid, SqlResult};
use mote_sql::builtin::operator::exact_operator;
use mote_sql::catalog::trigger::Trigger;
use mote_sql::catalog::{
    Constraint, ConstraintKind, ForeignKey, IndexKeyTarget, ReferentialAction, Relation,
};
use mote_types::catalog::extension::is_extension_type;
use mote_types::catalog::user::{
    is_composite, is_user_multirange, is_user_range, is_user_type, number_of, user_multirange_of,
};
use mote_types::{ColumnType, Datum, oid};

use crate::catalog_store::stored::StoredKind;
use crate::views::facts::Facts;
use crate::views::row::{NULL, int2_array, oid_array, row};
use crate::views::rows::{domains, extensions};
use crate::views::text::named_relations;

pub fn constraint(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for known in facts.relations() {
        for constraint in &known.relation.constraints {
            rows.push(constraint_row(facts, known.relation, constraint));
        }
        let triggers = known.relation.triggers.iter();
        rows.extend(triggers.filter_map(|trigger| trigger_constraint_row(known.relation, trigger)));
    }
    rows.extend(domains::constraints(facts));
    Ok(rows)
}

fn constraint_row(facts: &Facts<'_>, table: &Relation, constraint: &Constraint) -> Vec<Datum> {
    let key = match &constraint.kind {
        ConstraintKind::ForeignKey(key) => Some(key),
        _ => None,
    };
    let columns = constrained_columns(table, constraint);
    let check = match &constraint.kind {
        ConstraintKind::Check(text) => Some(text.as_str()),
        _ => None,
    };
    let equalities = key.map(|key| equality_operators(facts, table, key));
    let equalities = || equalities.clone().unwrap_or(NULL);
    row![
        constraint.oid,
        &constraint.name,
        table.schema_oid,
        kind_letter(&constraint.kind),
        constraint.deferrable,
        constraint.initially_deferred,
        constraint.validated,
        table.oid,
        Oid::INVALID,
        index_of(constraint),
        constraint.parent.unwrap_or(Oid::INVALID),
        key.map_or(Oid::INVALID, |key| key.referenced),
        key.map_or(' ', |key| action_letter(key.on_update)),
        key.map_or(' ', |key| action_letter(key.on_delete)),
        key.map_or(' ', |key| if key.match_full { 'f' } else { 's' }),
        constraint.inheritance.local,
        i32::from(constraint.inheritance.parents),
        constraint.no_inherit || check.is_none(),
        if columns.is_empty() {
            NULL
        } else {
            numbers(&columns)
        },
        key.map(|key| numbers(&key.referenced_columns)),
        equalities(),
        equalities(),
        equalities(),
        key.filter(|key| !key.on_delete_columns.is_empty())
            .map(|key| numbers(&key.on_delete_columns)),
        NULL,
        check,
    ]
}

/// A constraint trigger is a constraint, too.
fn trigger_constraint_row(table: &Relation, trigger: &Trigger) -> Option<Vec<Datum>> {
    let constraint = trigger.constraint?;
    Some(row![
        constraint.oid,
        &trigger.name,
        table.schema_oid,
        't',
        constraint.deferrable,
        constraint.initially_deferred,
        true,
        table.oid,
        Oid::INVALID,
        Oid::INVALID,
        Oid::INVALID,
        constraint.referenced.unwrap_or(Oid::INVALID),
        ' ',
        ' ',
        ' ',
        true,
        0,
        true,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
    ])
}

fn numbers(positions: &[u16]) -> Datum {
    int2_array(positions.iter().map(|&position| position as i16 + 1))
}

/// pg_constraint.contype.
pub fn kind_letter(kind: &ConstraintKind) -> char {
    match kind {
        ConstraintKind::Check(_) => 'c',
        ConstraintKind::Unique { .. } => 'u',
        ConstraintKind::PrimaryKey { .. } => 'p',
        ConstraintKind::ForeignKey(_) => 'f',
    }
}

fn action_letter(action: ReferentialAction) -> char {
    match action {
        ReferentialAction::NoAction => 'a',
        ReferentialAction::Restrict => 'r',
        ReferentialAction::Cascade => 'c',
        ReferentialAction::SetNull => 'n',
        ReferentialAction::SetDefault => 'd',
    }
}

/// The index that a constraint rests on.
pub fn index_of(constraint: &Constraint) -> Oid {
    match &constraint.kind {
        ConstraintKind::Check(_) => Oid::INVALID,
        ConstraintKind::Unique { index } | ConstraintKind::PrimaryKey { index } => *index,
        ConstraintKind::ForeignKey(key) => key.referenced_index,
    }
}

/// Positions of the columns that a constraint is about. Of a check, those that its text names.
pub fn constrained_columns(table: &Relation, constraint: &Constraint) -> Vec<u16> {
    match &constraint.kind {
        ConstraintKind::ForeignKey(key) => key.columns.clone(),
        ConstraintKind::Unique { index } | ConstraintKind::PrimaryKey { index } => {
            let found = table.indexes.iter().find(|candidate| candidate.oid == *index);
            let keys = found.map_or(&[][..], |index| &index.keys);
            let column = |key: &mote_sql::catalog::IndexKey| match key.target {
                IndexKeyTarget::Column(position) => Some(position),
                IndexKeyTarget::Expression(..) => None,
            };
            keys.iter().filter_map(column).collect()
        }
        ConstraintKind::Check(text) => {
            let words = words(text);
            let named = table
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| !column.dropped && words.iter().any(|word| *word == column.name));
            named.map(|(position, _)| position as u16).collect()
        }
    }
}

/// The identifiers of an expression's text, quoted ones without their quotes; string literals are left out.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic() || matches!(c, '_' | '"' | '\'')) {
        rest = &rest[start..];
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (word, after) = match quote {
            Some(quote) => {
                let inner = &rest[1..];
                let end = inner.find(quote).unwrap_or(inner.len());
                (&inner[..end], inner.get(end + 1..).unwrap_or(""))
            }
            None => {
                let end = rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        if quote != Some('\'') {
            words.push(word);
        }
        rest = after;
    }
    words
}

/// The equality of each pair of columns; one of the referenced type where the pair has none of its own.
fn equality_operators(facts: &Facts<'_>, table: &Relation, key: &ForeignKey) -> Datum {
    let types = |relation: &Relation, positions: &[u16]| -> Vec<ColumnType> {
        positions
            .iter()
            .filter_map(|&p| relation.columns.get(p as usize))
            .map(|column| column.ty)
            .collect()
    };
    let referencing = types(table, &key.columns);
    let referenced = match facts.relation(key.referenced) {
        Some(known) => types(known.relation, &key.referenced_columns),
        None => referencing.clone(),
    };
    let as_text = |ty: ColumnType| if ty.oid == oid::VARCHAR { oid::TEXT } else { ty.oid };
    oid_array(referenced.iter().zip(&referencing).map(|(&right, &left)| {
        let (right, left) = (as_text(right), as_text(left));
        let operator = exact_operator("=", right, left).or_else(|| exact_operator("=", right, right));
        operator.map_or(Oid::INVALID, |operator| operator.oid)
    }))
}

const CLASS: Oid = Oid(1259);
const CONSTRAINT: Oid = Oid(2606);
const TRIGGER: Oid = Oid(2620);
const REWRITE: Oid = Oid(2618);
const EXTENSION: Oid = Oid(3079);
const PROCEDURE: Oid = Oid(1255);
const NAMESPACE: Oid = Oid(2615);
/// pg_type.
const TYPE: Oid = Oid(1247);
const CAST: Oid = Oid(2605);
const DEFAULTS: Oid = Oid(2604);

/// One dependency: class, object, column; on class, object, column; how.
fn depends(object: (Oid, Oid, i32), on: (Oid, Oid, i32), how: char) -> Vec<Datum> {
    row![object.0, object.1, object.2, on.0, on.1, on.2, how]
}

/// What psql and pg_dump ask for: relations on schemas, indexes and constraints on tables, sequences on their columns.
pub fn depend(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for (domain, of) in domains::made_of_domains(facts) {
        rows.push(depends((TYPE, domain, 0), (TYPE, of, 0), 'n'));
    }
    rows.extend(type_dependencies(facts));
    for extension in extensions::of_database(facts) {
        let this = (EXTENSION, Oid(extension.oid), 0);
        rows.push(depends(this, (NAMESPACE, Oid(extension.schema), 0), 'n'));
        let members = extension.members.iter();
        rows.extend(members.map(|&member| {
            let class = match facts.routine(Oid(member)) {
                Some(_) => PROCEDURE,
                None => CLASS,
            };
            depends((class, Oid(member), 0), this, 'e')
        }));
        let builtin = extensions::builtin_members(extension);
        rows.extend(builtin.map(|(class, member)| depends((class, member, 0), this, 'e')));
    }
    for cast in facts.catalog.casts_of(facts.database()) {
        let this = (CAST, Oid(cast.oid), 0);
        // What is built in is not recorded.
        let types = [cast.source, cast.target].map(Oid);
        let types = types
            .into_iter()
            .filter(|ty| is_user_type(*ty) && !is_extension_type(*ty));
        for ty in types {
            rows.push(depends(this, (TYPE, ty, 0), 'n'));
            // The row type belongs to its relation, of which dumps put the cast behind.
            let relation =
                Some(number_of(ty)).filter(|number| is_composite(ty) && facts.relation(*number).is_some());
            rows.extend(relation.map(|relation| depends((TYPE, ty, 0), (CLASS, relation, 0), 'i')));
        }
        if facts.routine(Oid(cast.function)).is_some() {
            rows.push(depends(this, (PROCEDURE, Oid(cast.function), 0), 'n'));
        }
    }
    for routine in facts.routines() {
        let this = (PROCEDURE, routine.oid, 0);
        rows.push(depends(this, (NAMESPACE, routine.schema_oid, 0), 'n'));
        // PostgreSQL names the row type, which belongs to the relation.
        let types = routine
            .arguments
            .iter()
            .map(|argument| argument.ty)
            .chain([routine.result]);
        let mut relations: Vec<Oid> = types.filter_map(|ty| ty.row_of).collect();
        relations.sort();
        relations.dedup();
        rows.extend(
            relations
                .into_iter()
                .map(|relation| depends(this, (CLASS, relation, 0), 'n')),
        );
    }
    for known in facts.relations() {
        let table = known.relation;
        rows.push(depends(
            (CLASS, table.oid, 0),
            (NAMESPACE, table.schema_oid, 0),
            'n',
        ));
        let how = if table.is_partition() { 'a' } else { 'n' };
        let parents = table.parents.iter();
        rows.extend(parents.map(|parent| depends((CLASS, table.oid, 0), (CLASS, *parent, 0), how)));
        for constraint in &table.constraints {
            rows.extend(constraint_dependencies(table, constraint));
        }
        for trigger in &table.triggers {
            rows.extend(trigger_dependencies(table, trigger));
        }
        for index in &table.indexes {
            let owner = table.constraints.iter().find(|constraint| match constraint.kind {
                ConstraintKind::Unique { index: of } | ConstraintKind::PrimaryKey { index: of } => {
                    of == index.oid
                }
                _ => false,
            });
            if let Some(parent) = index.parent {
                rows.push(depends((CLASS, index.oid, 0), (CLASS, parent, 0), 'P'));
                rows.push(depends((CLASS, index.oid, 0), (CLASS, table.oid, 0), 'S'));
            }
            rows.push(match owner {
                Some(owner) => depends((CLASS, index.oid, 0), (CONSTRAINT, owner.oid, 0), 'i'),
                None => depends((CLASS, index.oid, 0), (CLASS, table.oid, 0), 'a'),
            });
        }
        rows.extend(column_dependencies(facts, table));
        if known.stored.kind.has_query() {
            let rule = (REWRITE, table.oid, 0);
            rows.push(depends(rule, (CLASS, table.oid, 0), 'i'));
            let used = facts.used_directly(known.stored);
            let read = used.iter().filter(|oid| facts.relation(**oid).is_some());
            rows.extend(read.map(|read| depends(rule, (CLASS, *read, 0), 'n')));
            let called = used.iter().filter(|oid| facts.routine(**oid).is_some());
            rows.extend(called.map(|called| depends(rule, (PROCEDURE, *called, 0), 'n')));
        }
        if let (StoredKind::Sequence, Some(sequence)) = (known.stored.kind, &known.stored.sequence)
            && let Some((owner, position)) = sequence.owned_by
        {
            // Identity sequences belong to the column's definition, serial ones only follow it.
            let identity = facts.relation(Oid(owner)).is_some_and(|owner| {
                let column = owner.relation.columns.get(position as usize);
                column.is_some_and(|column| column.identity.is_some())
            });
            let how = if identity { 'i' } else { 'a' };
            rows.push(depends(
                (CLASS, table.oid, 0),
                (CLASS, Oid(owner), position as i32 + 1),
                how,
            ));
        }
    }
    Ok(rows)
}

/// Range types on what they are made of, what was made with them on the types, and composite types on those of their attributes.
fn type_dependencies(facts: &Facts<'_>) -> Vec<Vec<Datum>> {
    // The type of users that something is of, or whose arrays it is of.
    let made = |ty: u32| {
        let element = ColumnType::new(Oid(ty)).element();
        let base = element.map_or(Oid(ty), |element| element.oid);
        (is_user_type(base) && !is_extension_type(base)).then_some(base)
    };
    let mut rows = Vec::new();
    for entry in facts.user_types() {
        let (oid, schema) = (Oid(entry.stored.oid), Oid(entry.stored.schema));
        let this = (TYPE, oid, 0);
        if is_composite(oid) {
            rows.push(depends((CLASS, number_of(oid), 0), this, 'i'));
        }
        for (number, attribute) in entry.stored.live_attributes() {
            let column = (CLASS, number_of(oid), i32::from(number));
            rows.extend(made(attribute.type_oid).map(|ty| depends(column, (TYPE, ty, 0), 'n')));
        }
        if let Some(domain) = entry.stored.domain.as_ref().filter(|domain| domain.of == 0) {
            rows.extend(made(domain.type_oid).map(|ty| depends(this, (TYPE, ty, 0), 'n')));
        }
        let arrays = ColumnType::new(oid).array_of().map(|array| array.oid);
        if is_user_range(oid) || is_user_multirange(oid) {
            rows.push(depends(this, (NAMESPACE, schema, 0), 'n'));
            rows.extend(arrays.map(|array| depends((TYPE, array, 0), this, 'i')));
        }
        let (Some(range), Some(multirange)) = (&entry.stored.range, user_multirange_of(oid)) else {
            continue;
        };
        rows.extend(made(range.subtype).map(|ty| depends(this, (TYPE, ty, 0), 'n')));
        if facts.routine(Oid(range.difference)).is_some() {
            rows.push(depends(this, (PROCEDURE, Oid(range.difference), 0), 'n'));
        }
        rows.push(depends((TYPE, multirange, 0), this, 'i'));
        let constructors = range.constructors.iter().map(|routine| (routine, oid));
        let of_multiranges = range
            .multirange_constructors
            .iter()
            .map(|routine| (routine, multirange));
        for (&routine, ty) in constructors.chain(of_multiranges) {
            rows.push(depends((PROCEDURE, Oid(routine), 0), (TYPE, ty, 0), 'i'));
        }
        let cast = (CAST, Oid(range.cast), 0);
        for ty in [oid, multirange] {
            rows.push(depends(cast, (TYPE, ty, 0), 'i'));
        }
        let function = range.multirange_constructors.get(1);
        rows.extend(function.map(|&routine| depends(cast, (PROCEDURE, Oid(routine), 0), 'i')));
    }
    rows
}

fn constraint_dependencies(table: &Relation, constraint: &Constraint) -> Vec<Vec<Datum>> {
    let this = (CONSTRAINT, constraint.oid, 0);
    let columns = constrained_columns(table, constraint);
    let mut rows: Vec<Vec<Datum>> = columns
        .iter()
        .map(|&position| depends(this, (CLASS, table.oid, position as i32 + 1), 'a'))
        .collect();
    if let Some(parent) = constraint.parent {
        rows.push(depends(this, (CONSTRAINT, parent, 0), 'P'));
        rows.push(depends(this, (CLASS, table.oid, 0), 'S'));
    }
    if let ConstraintKind::ForeignKey(key) = &constraint.kind {
        let referenced = key.referenced_columns.iter();
        rows.extend(referenced.map(|&p| depends(this, (CLASS, key.referenced, p as i32 + 1), 'n')));
        rows.push(depends(this, (CLASS, key.referenced_index, 0), 'n'));
    }
    rows
}

fn trigger_dependencies(table: &Relation, trigger: &Trigger) -> Vec<Vec<Datum>> {
    let this = (TRIGGER, trigger.oid, 0);
    let mut rows = vec![depends(this, (PROCEDURE, trigger.function, 0), 'n')];
    match trigger.constraint {
        None => rows.push(depends(this, (CLASS, table.oid, 0), 'a')),
        Some(constraint) => {
            rows.push(depends(this, (CONSTRAINT, constraint.oid, 0), 'i'));
            rows.push(depends(
                (CONSTRAINT, constraint.oid, 0),
                (CLASS, table.oid, 0),
                'a',
            ));
        }
    }
    let columns = trigger.columns.iter();
    rows.extend(columns.map(|&column| depends(this, (CLASS, table.oid, column as i32 + 1), 'n')));
    rows
}

fn column_dependencies(facts: &Facts<'_>, table: &Relation) -> Vec<Vec<Datum>> {
    let mut rows = Vec::new();
    for (position, column) in table.columns.iter().enumerate() {
        if column.dropped || (column.default.is_none() && column.generated.is_none()) {
            continue;
        }
        let number = position as i16 + 1;
        let default = (DEFAULTS, super::attributes::default_oid(table.oid, number), 0);
        rows.push(depends(default, (CLASS, table.oid, number as i32), 'a'));
        let named = named_relations(facts, column.default.as_deref().unwrap_or(""));
        rows.extend(
            named
                .into_iter()
                .map(|sequence| depends(default, (CLASS, sequence, 0), 'n')),
        );
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_identifiers() {
        assert_eq!(
            words("((a > 0) AND (\"B c\" <> 'a b'::text))"),
            ["a", "AND", "B c", "text"]
        );
    }
}
