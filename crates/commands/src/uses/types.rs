//! What uses the types of users, in the order in which DROP .. CASCADE tells it.
//!
//! The order is that of PostgreSQL (dependency.c, findDependentObjects): the dependents of an object are looked at from
//! the youngest to the oldest, each behind its own dependents, and what was found is told from the end. It depends on
//! nothing but the numbers of the objects, so that two servers tell the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_sql::expr::Expr;
use mote_types::catalog::extension::extension_type;
use mote_types::catalog::user::{number_of, user_multirange_of, user_range_of};
use mote_types::{ColumnType, Datum, format_type};

use super::casts;
use super::dependent::Made;
pub(crate) use super::dependent::type_described as described;
use super::texts::{self, Dependent, Search};
use crate::dropping;
use mote_catalog::catalog_store::stored::StoredCast;
use mote_catalog::catalog_store::{Catalog, RelationEntry, RoutineEntry, TypeEntry};
use mote_executor::context::StatementContext;

/// Something that cannot do without a type.
pub(crate) enum User {
    Column(Arc<RelationEntry>, usize),
    View(Arc<RelationEntry>),
    Routine(Arc<RoutineEntry>),
    Expression(Dependent),
    /// A domain or a range that is made of it.
    Domain(Arc<TypeEntry>),
    /// An attribute of a composite type, by its place.
    Attribute(Arc<TypeEntry>, usize),
    Cast(Box<StoredCast>),
}

impl User {
    /// As messages about dependencies name it.
    pub fn described(&self, context: &StatementContext<'_>) -> String {
        match self {
            User::Column(entry, position) => format!(
                "column {} of {}",
                entry.stored.columns[*position].name,
                dropping::described(&entry.stored, context)
            ),
            User::View(entry) => dropping::described(&entry.stored, context),
            User::Routine(entry) => texts::described(entry, context),
            User::Expression(dependent) => dependent.described(context),
            User::Domain(entry) => described(entry),
            User::Cast(cast) => casts::described(cast),
            User::Attribute(entry, position) => {
                let attributes = entry.stored.attributes.as_deref().unwrap_or_default();
                let name = format_type(Oid(entry.stored.oid), -1);
                format!("column {} of composite type {name}", attributes[*position].name)
            }
        }
    }

    /// Its place among what uses the same type.
    fn made(&self) -> Made {
        let whole = |number: u32| (number, Reverse(0));
        match self {
            User::Column(entry, position) => (entry.stored.oid, Reverse(position + 1)),
            User::View(entry) => whole(entry.stored.oid),
            User::Routine(entry) => whole(entry.stored.oid),
            User::Cast(cast) => whole(cast.oid),
            User::Expression(dependent) => dependent.made(),
            User::Domain(entry) => whole(number_of(Oid(entry.stored.oid)).0),
            User::Attribute(entry, position) => (number_of(Oid(entry.stored.oid)).0, Reverse(position + 1)),
        }
    }
}

/// What uses the types, with the type it uses, in the order in which it is told: each behind what it is made of. `types`
/// are told from the last to the first.
pub(crate) fn users(types: &[u32], context: &mut StatementContext<'_>) -> SqlResult<Vec<(User, u32)>> {
    // What uses a domain over the type uses the type.
    let domains = domains_over(types, context);
    let with_domains: Vec<u32> = types
        .iter()
        .copied()
        .chain(domains.iter().map(|(entry, _)| entry.stored.oid))
        .collect();
    let mut found = other_users(&with_domains, context)?;
    let catalog = context.session.catalog.current();
    // Composite types whose attributes are of the types.
    let others = catalog.user_types();
    for entry in others.filter(|entry| !types.contains(&entry.stored.oid)) {
        let attributes = entry.stored.attributes.as_deref().unwrap_or_default();
        for (position, attribute) in attributes.iter().enumerate() {
            let ty = ColumnType::new(Oid(attribute.type_oid));
            let base = ty.element().unwrap_or(ty).oid.0;
            if !attribute.dropped && with_domains.contains(&base) {
                found.push((User::Attribute(entry.clone(), position), attribute.type_oid));
            }
        }
    }
    found.extend(domains.into_iter().map(|(entry, of)| (User::Domain(entry), of)));
    let casts = casts::of_types(&with_domains, context).into_iter();
    found.extend(casts.map(|(cast, of)| (User::Cast(Box::new(cast)), of)));
    Ok(as_told(found, types))
}

/// Puts each user behind the type it uses, and users of one type in order of making; those of its array and of its
/// multirange, which are made along with it, before others.
fn as_told(found: Vec<(User, u32)>, types: &[u32]) -> Vec<(User, u32)> {
    let mut users: BTreeMap<u32, Vec<(User, u32)>> = BTreeMap::new();
    for (user, of) in found {
        users.entry(of).or_default().push((user, of));
    }
    // The next to be told stands at the end, be it a type or what uses one.
    let mut told = Vec::new();
    let mut open: Vec<(Option<User>, u32)> = types.iter().map(|&ty| (None, ty)).collect();
    loop {
        let ty = match open.pop() {
            Some((Some(user), of)) => {
                let made = match &user {
                    User::Domain(entry) => Some(entry.stored.oid),
                    _ => None,
                };
                // A multirange goes with its range without a word.
                if made.is_none_or(|made| user_range_of(Oid(made)).is_none()) {
                    told.push((user, of));
                }
                made
            }
            Some((None, ty)) => Some(ty),
            // What hangs on none of the types that were reached is told, too.
            None => users.keys().next().copied(),
        };
        let Some(ty) = ty else {
            if users.is_empty() && open.is_empty() {
                break;
            }
            continue;
        };
        let mut of_type = users.remove(&ty).unwrap_or_default();
        of_type.sort_by_key(|(user, _)| Reverse(user.made()));
        open.extend(of_type.into_iter().map(|(user, of)| (Some(user), of)));
        open.extend(user_multirange_of(Oid(ty)).map(|multirange| (None, multirange.0)));
        open.extend(
            ColumnType::new(Oid(ty))
                .array_of()
                .map(|array| (None, array.oid.0)),
        );
    }
    // A routine of several types goes with the one that is looked at first, and that is told last.
    let mut routines = BTreeSet::new();
    let mut kept: Vec<_> = told
        .into_iter()
        .rev()
        .filter(|(user, _)| match user {
            User::Routine(entry) => routines.insert(entry.stored.oid),
            _ => true,
        })
        .collect();
    kept.reverse();
    kept
}

/// The type that a domain, a range or a multirange is made of, which may be an array.
fn made_of(entry: &TypeEntry) -> Option<Oid> {
    if let Some(domain) = &entry.stored.domain {
        let of_domain = domain.of != 0;
        return Some(Oid(if of_domain { domain.of } else { domain.type_oid }));
    }
    let subtype = entry.stored.range.as_ref().map(|range| Oid(range.subtype));
    user_range_of(Oid(entry.stored.oid)).or(subtype)
}

/// The type, or that of its elements.
fn without_array(ty: Oid) -> Oid {
    ColumnType::new(ty).element().map_or(ty, |element| element.oid)
}

/// Domains and ranges that are made of the types or of arrays over them, of those domains, and so on, each with what it
/// is made of.
fn domains_over(types: &[u32], context: &StatementContext<'_>) -> Vec<(Arc<TypeEntry>, u32)> {
    let catalog = context.session.catalog.current();
    let mut found: Vec<(Arc<TypeEntry>, u32)> = Vec::new();
    // Until nothing new is found: a domain may be over a domain over an array. `as_told` orders them.
    loop {
        let known = |oid: u32| types.contains(&oid) || found.iter().any(|(entry, _)| entry.stored.oid == oid);
        let next = catalog.user_types().find_map(|entry| {
            let of = made_of(entry).filter(|&of| known(without_array(of).0))?;
            (!known(entry.stored.oid)).then(|| (entry.clone(), of.0))
        });
        match next {
            Some(next) => found.push(next),
            None => return found,
        }
    }
}

/// What uses the types, other than domains that are made of them.
pub(crate) fn other_users(types: &[u32], context: &mut StatementContext<'_>) -> SqlResult<Vec<(User, u32)>> {
    let used = |ty: u32| {
        let element = ColumnType::new(Oid(ty)).element();
        let base = element.map_or(ty, |element| element.oid.0);
        types.contains(&base).then_some(ty)
    };
    let catalog = context.session.catalog.current();
    // Only what the catalog knows to use one of them is looked at.
    let direct: BTreeSet<Oid> = types.iter().flat_map(|&ty| catalog.users_of(Oid(ty))).collect();
    let mut found = Vec::new();
    for entry in direct.iter().filter_map(|&oid| catalog.relation(oid)) {
        if entry.stored.kind.has_query() {
            let types = entry.stored.columns.iter().map(|column| column.type_oid);
            let depends = entry.stored.depends_on.iter().copied();
            if let Some(ty) = types.chain(depends).find_map(used) {
                found.push((User::View(entry.clone()), ty));
            }
            continue;
        }
        for (position, column) in entry.stored.columns.iter().enumerate() {
            let of_domain = column.domain.and_then(used);
            if let Some(ty) = of_domain.or(used(column.type_oid)).filter(|_| !column.dropped) {
                found.push((User::Column(entry.clone(), position), ty));
            }
        }
    }
    for entry in direct.iter().filter_map(|&oid| catalog.routine(oid)) {
        let maker = type_of_constructor(entry.stored.oid, &catalog);
        if maker.is_some_and(|ty| types.contains(&ty.0)) {
            continue;
        }
        let arguments = entry
            .stored
            .arguments
            .iter()
            .map(|argument| argument.ty.type_oid().0);
        // Once for each type; `as_told` keeps the one that counts.
        let used: BTreeSet<u32> = arguments
            .chain([entry.stored.result.type_oid().0])
            .filter_map(used)
            .collect();
        found.extend(used.into_iter().map(|ty| (User::Routine(entry.clone()), ty)));
    }
    let expressions = texts::in_expressions(
        &Search {
            may_name: &|_| true,
            find: &|expr| {
                // Each expression is told once, by the first type it has a part of.
                let of = |ty: &&u32| part_of(expr, &[**ty]);
                types.iter().find(of).copied()
            },
        },
        &possible_users(types, &direct, &catalog),
        context,
    )?;
    for (dependent, ty) in expressions {
        // Not told by itself, and not removed twice.
        if !goes_along(&dependent, types) {
            found.push((User::Expression(dependent), ty));
        }
    }
    Ok(found)
}

/// Objects of which a text may have a part of the types: it names one of them or a routine that answers one, alone or in
/// a row of `direct` users, or it is over columns of theirs.
fn possible_users(types: &[u32], direct: &BTreeSet<Oid>, catalog: &Catalog) -> BTreeSet<Oid> {
    let mut found = direct.clone();
    let name = |&ty: &u32| match extension_type(Oid(ty)) {
        Some(known) => Some(known.name),
        None => catalog.user_type(Oid(ty)).map(|entry| &*entry.stored.name),
    };
    let mut names: BTreeSet<&str> = types.iter().filter_map(name).collect();
    for &user in direct {
        let over_rows = catalog.routines_using(user);
        let routines = catalog.routine(user).into_iter().chain(over_rows);
        names.extend(routines.map(|entry| &*entry.stored.name));
    }
    found.extend(names.into_iter().flat_map(|name| catalog.naming(name)));
    found
}

/// An expression over columns of the types goes with the columns.
fn goes_along(dependent: &Dependent, types: &[u32]) -> bool {
    match dependent {
        Dependent::Default(entry, position) | Dependent::Generated(entry, position) => {
            is_or_holds(Oid(entry.stored.columns[*position].type_oid), types)
        }
        Dependent::Check(entry, _) | Dependent::Trigger(entry, _) => {
            let mut columns = entry.stored.columns.iter().filter(|column| !column.dropped);
            columns.any(|column| is_or_holds(Oid(column.type_oid), types))
        }
        Dependent::View(_) | Dependent::Routine(_) | Dependent::Type(_) | Dependent::Cast(_) => false,
    }
}

/// Whether a type is one of these, or an array of one.
pub(crate) fn is_or_holds(ty: Oid, wanted: &[u32]) -> bool {
    let element = ColumnType::new(ty).element();
    wanted.contains(&element.map_or(ty, |element| element.oid).0)
}

/// Does any part of the expression have one of the types?
pub(crate) fn part_of(expr: &Expr, wanted: &[u32]) -> bool {
    let mut found = false;
    expr.visit(&mut |part| {
        // What a bound expression shows of an element's type.
        let constant =
            matches!(part, Expr::Constant(Datum::Array(array), _) if is_or_holds(array.element, wanted));
        let checked = matches!(part, Expr::Domain(domain) if wanted.contains(&domain.rules.domain.0));
        found |= constant || checked || is_or_holds(part.ty().oid, wanted);
    });
    found
}

/// The type of whose definition a function is a part.
pub(crate) fn type_of_constructor(routine: u32, catalog: &Catalog) -> Option<Oid> {
    let mut users = catalog.users_of(Oid(routine));
    users.find_map(|user| {
        let range = catalog.user_type(user)?.stored.range.as_ref()?;
        match range.multirange_constructors.contains(&routine) {
            true => user_multirange_of(user),
            false => range.constructors.contains(&routine).then_some(user),
        }
    })
}
