//! Functions that look objects up in the catalog: names, visibility, comments, definitions as SQL.

use mote_catalog::views::object_text;
use mote_common::{Oid, SqlError, SqlResult, error::state};
use mote_grammar::ast::deparse::identifier;
use mote_sql::builtin::operator::operator_by_oid;
use mote_sql::catalog::index_method::IndexMethod;
use mote_sql::catalog::{CatalogView, Constraint, ConstraintKind};
use mote_types::catalog::user::{is_composite, number_of};
use mote_types::{ColumnType, Datum, format_type, oid, type_info};

use super::{Body, CallSite, boolean, int4, oid as oid_value, text};
use crate::large_object;
use crate::runtime::Runtime;
use mote_catalog::catalog_store::stored::StoredRelation;
use mote_catalog::name_text::split_name;
use mote_catalog::routine_text;
use mote_catalog::views::builtin::{operator_class, operator_classes};
use mote_catalog::views::object_identity::{Identity, identify};
use mote_catalog::views::view_text::{Layout, rule_definition, view_definition};
use mote_catalog::views::{
    Facts, Shown, condition, domains, find_comment, find_shared_comment, identity_index_of, is_publishable,
    names, partitions, shown_routine, text as views_text, updatable,
};

/// pg_type_is_visible: whether the type's bare name finds it; NULL where there is none.
fn is_type_visible(runtime: &mut Runtime<'_, '_>, ty: Oid) -> Datum {
    if type_info(ty).is_some() {
        return Datum::Bool(true);
    }
    let catalog = &runtime.session().catalog;
    // An array type is seen where its element type is.
    let element = ColumnType::new(ty).element().map_or(ty, |element| element.oid);
    let Some(known) = catalog.user_type(element) else {
        // A relation's row type is seen where the relation is.
        return match is_composite(element) {
            true => is_visible(runtime, number_of(element)),
            false => Datum::Null,
        };
    };
    let found = catalog.user_type_named(None, &known.name);
    Datum::Bool(found.is_some_and(|found| found.oid == known.oid))
}

/// True of what exists, NULL otherwise.
fn visible_if(exists: bool) -> Datum {
    match exists {
        true => Datum::Bool(true),
        false => Datum::Null,
    }
}

/// oidvectortypes: the names of types with commas between, as `proargtypes` holds them.
fn type_list(types: &Datum) -> Datum {
    let Datum::Array(types) = types else {
        return Datum::Null;
    };
    let names: Vec<_> = types
        .elements
        .iter()
        .map(|ty| format_type(Oid(oid_value(ty)), -2))
        .collect();
    Datum::from(names.join(", "))
}

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "format_type" => Body::Pure(|a| {
            Ok(match (&a[0], &a[1]) {
                (Datum::Null, _) => Datum::Null,
                (ty, Datum::Null) => Datum::from(format_type(Oid(oid_value(ty)), -2)),
                (ty, typmod) => Datum::from(format_type(Oid(oid_value(ty)), int4(typmod))),
            })
        }),
        "oidvectortypes" => Body::Pure(|a| Ok(type_list(&a[0]))),
        "pg_get_userbyid" => Body::Runtime(|runtime, _, a| {
            Ok(Datum::from(facts(runtime).role_or_unknown(Oid(oid_value(&a[0])))))
        }),
        "pg_table_is_visible" => {
            Body::Runtime(|runtime, _, a| Ok(is_visible(runtime, Oid(oid_value(&a[0])))))
        }
        "pg_type_is_visible" => {
            Body::Runtime(|runtime, _, a| Ok(is_type_visible(runtime, Oid(oid_value(&a[0])))))
        }
        "pg_function_is_visible" => Body::Runtime(|runtime, _, a| {
            let oid = Oid(oid_value(&a[0]));
            let catalog = &runtime.session().catalog;
            if let Some(routine) = catalog.routine(oid) {
                return Ok(Datum::Bool(routine_text::is_visible(&routine, catalog)));
            }
            Ok(names::function(oid).map_or(Datum::Null, |_| Datum::Bool(true)))
        }),
        // What is built in stands in pg_catalog, which is always searched.
        "pg_operator_is_visible" => {
            Body::Pure(|a| Ok(visible_if(operator_by_oid(Oid(oid_value(&a[0]))).is_some())))
        }
        "pg_collation_is_visible" => {
            Body::Pure(|a| Ok(visible_if(names::collation_name(Oid(oid_value(&a[0]))).is_some())))
        }
        "pg_opclass_is_visible" => Body::Pure(|a| {
            let wanted = Oid(oid_value(&a[0]));
            Ok(visible_if(operator_class(wanted).is_some()))
        }),
        "pg_opfamily_is_visible" => Body::Pure(|a| {
            let wanted = Oid(oid_value(&a[0]));
            let mut classes = IndexMethod::ALL.into_iter().flat_map(operator_classes);
            Ok(visible_if(classes.any(|class| class.family == wanted)))
        }),
        // There are none of these.
        "pg_conversion_is_visible"
        | "pg_statistics_obj_is_visible"
        | "pg_ts_config_is_visible"
        | "pg_ts_dict_is_visible"
        | "pg_ts_parser_is_visible"
        | "pg_ts_template_is_visible" => Body::Pure(|_| Ok(Datum::Null)),
        "pg_relation_is_updatable" | "pg_column_is_updatable" => Body::Runtime(is_updatable),
        "obj_description" | "obj_description_oid_name" => Body::Runtime(comment),
        "shobj_description" => Body::Runtime(shared_comment),
        "col_description" => Body::Runtime(|runtime, _, a| {
            let relation = Oid(oid_value(&a[0]));
            let found = find_comment(&facts(runtime), relation, Some("pg_class"), int4(&a[1]));
            Ok(found.map_or(Datum::Null, Datum::from))
        }),
        "pg_describe_object" => Body::Runtime(|runtime, _, a| {
            let found = object_identity(runtime, a)?.and_then(|found| found.known);
            Ok(found.map_or(Datum::Null, |known| Datum::from(known.description)))
        }),
        "pg_get_constraintdef" => {
            Body::Runtime(|runtime, _, a| Ok(constraint(runtime, oid_value(&a[0]), false)))
        }
        "pg_get_constraintdef_ext" => {
            Body::Runtime(|runtime, _, a| Ok(constraint(runtime, oid_value(&a[0]), boolean(&a[1]))))
        }
        "pg_get_triggerdef" => Body::Runtime(|runtime, _, a| Ok(trigger(runtime, oid_value(&a[0]), false))),
        "pg_get_triggerdef_ext" => {
            Body::Runtime(|runtime, _, a| Ok(trigger(runtime, oid_value(&a[0]), boolean(&a[1]))))
        }
        "pg_get_indexdef" => Body::Runtime(|runtime, _, a| Ok(index(runtime, oid_value(&a[0]), 0, false))),
        "pg_get_indexdef_ext" => {
            Body::Runtime(|runtime, _, a| Ok(index(runtime, oid_value(&a[0]), int4(&a[1]), boolean(&a[2]))))
        }
        "pg_get_viewdef" => {
            Body::Runtime(|runtime, _, a| Ok(view(runtime, Oid(oid_value(&a[0])), Layout::Plain)))
        }
        "pg_get_viewdef_ext" => {
            Body::Runtime(|runtime, _, a| Ok(view(runtime, Oid(oid_value(&a[0])), layout(&a[1]))))
        }
        // Who says how wide lines may be wants the pretty form.
        "pg_get_viewdef_wrap" => Body::Runtime(|runtime, _, a| {
            let width = usize::try_from(int4(&a[1])).unwrap_or(0);
            Ok(view(runtime, Oid(oid_value(&a[0])), Layout::Wrapped(width)))
        }),
        "pg_get_viewdef_name" | "pg_get_viewdef_name_ext" => Body::Runtime(|runtime, _, a| {
            let relation = object_text::number(oid::REGCLASS, text(&a[0]), &runtime.session().catalog)?;
            Ok(view(runtime, relation, a.get(1).map_or(Layout::Plain, layout)))
        }),
        // Expressions are kept as text already.
        "pg_get_expr" => Body::Runtime(|runtime, _, a| Ok(expression(runtime, a, false))),
        "pg_get_expr_ext" => Body::Runtime(|runtime, _, a| Ok(expression(runtime, a, boolean(&a[2])))),
        "pg_get_serial_sequence" => {
            Body::Runtime(|runtime, _, a| serial_sequence(runtime, text(&a[0]), text(&a[1])))
        }
        "pg_get_function_arguments" => Body::Runtime(|runtime, _, a| {
            Ok(routine_shown(runtime, a, Shown::Arguments).unwrap_or_else(|| builtin_arguments(a, true)))
        }),
        "pg_get_function_identity_arguments" => Body::Runtime(|runtime, _, a| {
            Ok(routine_shown(runtime, a, Shown::IdentityArguments)
                .unwrap_or_else(|| builtin_arguments(a, false)))
        }),
        "pg_get_functiondef" => {
            Body::Runtime(
                |runtime, _, a| Ok(routine_shown(runtime, a, Shown::Definition).unwrap_or_default()),
            )
        }
        "pg_get_function_sqlbody" => Body::Runtime(|runtime, _, a| {
            Ok(routine_shown(runtime, a, Shown::StandardBody).unwrap_or_default())
        }),
        "pg_get_function_result" => Body::Runtime(|runtime, _, a| {
            if facts(runtime).routine(Oid(oid_value(&a[0]))).is_some() {
                return Ok(routine_shown(runtime, a, Shown::Result).unwrap_or_default());
            }
            let function = names::function(Oid(oid_value(&a[0])));
            Ok(function.map_or(Datum::Null, |function| Datum::from(function.result_text())))
        }),
        "pg_get_partkeydef" => Body::Runtime(|runtime, _, a| {
            let text = partitions::key_definition(&facts(runtime), Oid(oid_value(&a[0])));
            Ok(text.map_or(Datum::Null, Datum::from))
        }),
        "pg_get_partition_constraintdef" => Body::Runtime(|runtime, _, a| {
            let text = partitions::constraint_definition(&facts(runtime), Oid(oid_value(&a[0])));
            Ok(text.map_or(Datum::Null, Datum::from))
        }),
        "pg_get_ruledef" => {
            Body::Runtime(|runtime, _, a| Ok(rule(runtime, Oid(oid_value(&a[0])), Layout::Plain)))
        }
        "pg_get_ruledef_ext" => {
            Body::Runtime(|runtime, _, a| Ok(rule(runtime, Oid(oid_value(&a[0])), layout(&a[1]))))
        }
        // Statistics objects do not exist.
        "pg_get_statisticsobjdef" | "pg_get_statisticsobjdef_columns" => Body::Pure(|_| Ok(Datum::Null)),
        "pg_tablespace_location" => Body::Pure(|_| Ok(Datum::from(""))),
        "pg_get_replica_identity_index" => Body::Runtime(|runtime, _, a| {
            let index = identity_index_of(Oid(oid_value(&a[0])), &facts(runtime));
            Ok(index.map_or(Datum::Null, Datum::oid))
        }),
        "pg_relation_is_publishable" => Body::Runtime(|runtime, _, a| {
            let facts = facts(runtime);
            let oid = Oid(oid_value(&a[0]));
            let known = facts.relation(oid).map(is_publishable);
            // What is built in is there, and is not published.
            let builtin = (oid != Oid::INVALID && oid < Oid::FIRST_USER).then_some(false);
            Ok(known.or(builtin).map_or(Datum::Null, Datum::Bool))
        }),
        _ => return None,
    })
}

/// A function of a user as text; None where the OID is no such function's, or there is nothing to show.
fn routine_shown(runtime: &Runtime<'_, '_>, a: &[Datum], what: Shown) -> Option<Datum> {
    shown_routine(&facts(runtime), Oid(oid_value(&a[0])), what).map(Datum::from)
}

/// The argument list of a built-in function, as \df shows it.
fn builtin_arguments(a: &[Datum], with_defaults: bool) -> Datum {
    let function = names::function(Oid(oid_value(&a[0])));
    function.map_or(Datum::Null, |function| {
        Datum::from(function.parameters.text(with_defaults))
    })
}

/// pg_relation_is_updatable and pg_column_is_updatable. There are no INSTEAD OF triggers to ask about.
fn is_updatable(runtime: &mut Runtime<'_, '_>, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let relation = Oid(oid_value(&a[0]));
    let context = runtime.context();
    let mut events = updatable::Events::default();
    let catalog = &context.session.catalog;
    context
        .host
        .on_large_stack(&mut || events = updatable::of(relation, catalog));
    Ok(match site.name {
        "pg_column_is_updatable" => {
            let number = match &a[1] {
                Datum::Int2(number) => *number,
                _ => 0,
            };
            Datum::Bool(number > 0 && events.column(number as usize - 1))
        }
        _ => Datum::Int4(events.mask()),
    })
}

/// The object of a catalog, a number and a column.
pub(super) fn object_identity(runtime: &Runtime<'_, '_>, a: &[Datum]) -> SqlResult<Option<Identity>> {
    identify(
        &facts(runtime),
        Oid(oid_value(&a[0])),
        Oid(oid_value(&a[1])),
        int4(&a[2]),
    )
}

/// The catalog as the session sees it, with what the engine knows of it.
pub(super) fn facts<'r>(runtime: &'r Runtime<'_, '_>) -> Facts<'r> {
    Facts::new(runtime.session().reader(), runtime.database().engine())
}

/// pg_table_is_visible, for relations and indexes.
fn is_visible(runtime: &Runtime<'_, '_>, relation: Oid) -> Datum {
    let facts = facts(runtime);
    if let Some(known) = facts.relation(relation) {
        let relation = known.relation;
        return Datum::Bool(facts.is_visible(relation.oid, relation.schema_oid, &relation.name));
    }
    if let Some(known) = facts.index(relation) {
        return Datum::Bool(facts.is_visible(relation, known.table.schema_oid, &known.index.name));
    }
    match runtime.session().catalog.relation(relation) {
        Some(builtin) => Datum::Bool(facts.schema_is_searched(builtin.schema_oid)),
        None => Datum::Null,
    }
}

/// The comment on an object of the database; the catalog's name, if given, tells of which kind.
fn comment(runtime: &mut Runtime<'_, '_>, _: &super::CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let catalog = a.get(1).and_then(Datum::as_str);
    if catalog == Some("pg_largeobject") {
        let snapshot = runtime.snapshot();
        let found = large_object::shown::comment(oid_value(&a[0]), snapshot, runtime.context());
        return Ok(found.map_or(Datum::Null, Datum::from));
    }
    let found = find_comment(&facts(runtime), Oid(oid_value(&a[0])), catalog, 0);
    Ok(found.map_or(Datum::Null, Datum::from))
}

/// The comment on a role or a database.
fn shared_comment(runtime: &mut Runtime<'_, '_>, _: &super::CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let found = find_shared_comment(&facts(runtime), Oid(oid_value(&a[0])), text(&a[1]));
    Ok(found.map_or(Datum::Null, Datum::from))
}

/// pg_get_expr. An expression of the catalog is its text, mostly as it is shown; that of a CHECK is spelled out only now, so
/// that who reads pg_constraint does not bind all of them.
fn expression(runtime: &Runtime<'_, '_>, a: &[Datum], pretty: bool) -> Datum {
    let kept = text(&a[0]);
    let facts = facts(runtime);
    let spelled = facts.relation(Oid(oid_value(&a[1]))).and_then(|known| {
        let is_check = |made: &Constraint| matches!(&made.kind, ConstraintKind::Check(text) if text == kept);
        let found = known.relation.constraints.iter().any(is_check);
        found.then(|| condition::of_table(&facts, known.relation.oid, kept, pretty))?
    });
    match (spelled, pretty) {
        (Some(spelled), _) => Datum::from(spelled),
        (None, true) => Datum::from(views_text::pretty_expression(kept)),
        (None, false) => Datum::from(kept),
    }
}

/// pg_get_constraintdef: of a table, a domain, or a constraint trigger.
fn constraint(runtime: &Runtime<'_, '_>, constraint: u32, pretty: bool) -> Datum {
    let facts = facts(runtime);
    let Some(known) = facts.relation_with_part(Oid(constraint)) else {
        return domains::definition(&facts, constraint, pretty).map_or(Datum::Null, Datum::from);
    };
    let mut constraints = known.relation.constraints.iter();
    if let Some(found) = constraints.find(|candidate| candidate.oid.0 == constraint) {
        let text = views_text::constraint_definition(&facts, known.relation, found, pretty);
        return Datum::from(text);
    }
    let triggers = known.relation.triggers.iter();
    let mut constraints = triggers.filter_map(|trigger| trigger.constraint);
    let found = constraints.find(|found| found.oid.0 == constraint);
    found.map_or(Datum::Null, |found| {
        Datum::from(views_text::constraint_trigger_definition(found))
    })
}

/// pg_get_triggerdef: NULL where there is no such trigger.
fn trigger(runtime: &Runtime<'_, '_>, trigger: u32, pretty: bool) -> Datum {
    let facts = facts(runtime);
    let Some(known) = facts.relation_with_part(Oid(trigger)) else {
        return Datum::Null;
    };
    let mut triggers = known.relation.triggers.iter();
    let found = triggers.find(|candidate| candidate.oid.0 == trigger);
    found.map_or(Datum::Null, |found| {
        Datum::from(views_text::trigger_definition(
            &facts,
            known.relation,
            found,
            pretty,
        ))
    })
}

/// A whole index, or one of its columns, counted from 1.
fn index(runtime: &Runtime<'_, '_>, index: u32, column: i32, pretty: bool) -> Datum {
    let facts = facts(runtime);
    let Some(known) = facts.index(Oid(index)) else {
        return Datum::Null;
    };
    if column == 0 {
        return Datum::from(views_text::index_definition(&facts, known, pretty));
    }
    let shown = usize::try_from(column)
        .ok()
        .and_then(|column| views_text::index_column(known, column, pretty));
    Datum::from(shown.unwrap_or_default())
}

fn layout(pretty: &Datum) -> Layout {
    match boolean(pretty) {
        true => Layout::Pretty,
        false => Layout::Plain,
    }
}

/// pg_get_ruledef: the one rule of a view, which has its number.
fn rule(runtime: &Runtime<'_, '_>, view: Oid, layout: Layout) -> Datum {
    let facts = facts(runtime);
    let Some(known) = facts.relation(view) else {
        return Datum::Null;
    };
    let name = match layout {
        Layout::Plain => format!(
            "{}.{}",
            identifier(&known.relation.schema),
            identifier(&known.relation.name)
        ),
        _ => views_text::visible_name(&facts, known.relation),
    };
    rule_definition(&name, known.relation, facts.session.catalog, layout).map_or(Datum::Null, Datum::from)
}

/// pg_get_viewdef: NULL for what is no view.
fn view(runtime: &Runtime<'_, '_>, relation: Oid, layout: Layout) -> Datum {
    let catalog = &runtime.session().catalog;
    let relation = catalog.relation(relation);
    relation
        .and_then(|relation| view_definition(&relation, catalog, layout))
        .map_or(Datum::Null, Datum::from)
}

/// pg_get_serial_sequence: the sequence that the column owns, as `schema.name`.
fn serial_sequence(runtime: &mut Runtime<'_, '_>, table: &str, column: &str) -> SqlResult<Datum> {
    let relation = object_text::number(oid::REGCLASS, table, &runtime.session().catalog)?;
    let catalog = &runtime.session().catalog;
    let Some(relation) = catalog.relation(relation) else {
        return Ok(Datum::Null);
    };
    let position = relation
        .columns
        .iter()
        .position(|candidate| !candidate.dropped && candidate.name == column);
    let Some(position) = position else {
        let (_, name) = split_name(table);
        return Err(SqlError::new(
            state::UNDEFINED_COLUMN,
            format!("column \"{column}\" of relation \"{name}\" does not exist"),
        ));
    };
    // OWNED BY decides, however it came about.
    let owner = Some((relation.oid.0, position as u16));
    let owned = |stored: &StoredRelation| stored.sequence.as_ref().is_some_and(|s| s.owned_by == owner);
    let current = catalog.current();
    let mut users = current.relations_using(relation.oid);
    let sequence = users.find(|entry| owned(&entry.stored));
    let sequence = sequence.map(|entry| entry.described.clone());
    Ok(sequence.map_or(Datum::Null, |sequence| {
        Datum::from(format!(
            "{}.{}",
            identifier(&sequence.schema),
            identifier(&sequence.name)
        ))
    }))
}
