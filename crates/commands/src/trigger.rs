//! CREATE TRIGGER, DROP TRIGGER, ALTER TRIGGER .. RENAME, and ALTER TABLE .. ENABLE / DISABLE TRIGGER.
//!
//! A trigger is part of its table's description. Those of foreign keys are not kept as triggers: the constraint
//! stands for them. Leaves out: when triggers fire (`mote_executor::node::modify::trigger`), their clones
//! (`trigger_clones`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast;
use mote_grammar::ast::{CreateTrigger, Drop, Name, QualifiedName, RelationName, TriggerMode, TriggerTarget};
use mote_sql::access::privilege;
use mote_sql::builtin::function::FUNCTIONS;
use mote_sql::catalog::CatalogView;
use mote_sql::catalog::trigger::{TriggerEvents, TriggerTiming};
use mote_sql::{TriggerCondition, bind_trigger_condition, trigger_condition_columns};
use mote_types::oid;

use super::{in_use, internal, privileges, qualify, schema, trigger_clones};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{
    StoredConstraintKind, StoredConstraintTrigger, StoredKind, StoredObject, StoredRelation, StoredTiming,
    StoredTrigger,
};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateTrigger {
    fn name(&self) -> &'static str {
        "CREATE TRIGGER"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

/// CREATE TRIGGER: PostgreSQL's CreateTriggerFiringOn (trigger.c).
pub(super) fn create(create: &CreateTrigger, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if create.or_replace && create.constraint {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported",
        ));
    }
    // Writers wait, since the trigger belongs to rows that are written; readers go on.
    let entry = schema::lock_relation(&create.table, TableLockMode::ShareRowExclusive, context)?
        .ok_or_else(|| schema::undefined_table(&create.table))?;
    check_relation(create, &entry)?;
    require_trigger_privilege(&entry, context)?;
    let referenced = referenced_table(create, context)?;
    // Refusals in PostgreSQL's order: the relation and the right to it come before the form.
    check_form(create)?;
    check_transition_tables(create, &entry)?;
    // Bound over the table as it is under the lock.
    let condition = condition(create, &entry, context)?;
    // Behind the condition, as in PostgreSQL: a condition that does not bind is told first.
    let function = function(&create.function, context)?;
    let mut table = entry.stored.clone();
    let columns = columns(create, &table)?;
    let known = table
        .triggers
        .iter()
        .position(|known| *known.name == *create.name);
    if let Some(at) = known {
        refuse_duplicate(create, &table.triggers[at], &table, context)?;
    }
    // OR REPLACE keeps the OID, the comment, and whether the trigger is enabled.
    let oid = match known {
        Some(at) => table.triggers[at].oid,
        None => context.database.catalog().allocate_oid().0,
    };
    let constraint = create.constraint.then(|| StoredConstraintTrigger {
        oid: context.database.catalog().allocate_oid().0,
        referenced,
        deferrable: create.deferrable || create.initially_deferred,
        initially_deferred: create.initially_deferred,
    });
    let trigger = StoredTrigger {
        oid,
        name: create.name.to_string(),
        function: function.0,
        timing: match create.timing {
            ast::TriggerTiming::Before => StoredTiming::Before,
            ast::TriggerTiming::After => StoredTiming::After,
            ast::TriggerTiming::InsteadOf => StoredTiming::InsteadOf,
        },
        for_each_row: create.for_each_row,
        events: event_letters(create),
        columns,
        condition,
        arguments: create.arguments.iter().map(|text| text.to_string()).collect(),
        enabled: known.map_or('O', |at| table.triggers[at].enabled),
        old_table: create.old_table.as_ref().map(|name| name.to_string()),
        new_table: create.new_table.as_ref().map(|name| name.to_string()),
        constraint,
        parent: None,
        comment: known.and_then(|at| table.triggers[at].comment.clone()),
    };
    // Partitions get a copy of each row trigger, and so do those that come later.
    let cloned = (create.for_each_row && table.partitioning.is_some()).then(|| trigger.clone());
    match known {
        Some(at) => table.triggers[at] = trigger,
        None => table.triggers.push(trigger),
    }
    write::put(StoredObject::Relation(table), context)?;
    if let Some(trigger) = cloned {
        trigger_clones::create(&trigger, entry.stored.oid, create.or_replace, context)?;
    }
    Ok(CommandTag::Word("CREATE TRIGGER"))
}

/// FROM of a constraint trigger: the other table is only remembered.
fn referenced_table(create: &CreateTrigger, context: &mut StatementContext<'_>) -> SqlResult<Option<u32>> {
    let Some(name) = &create.referenced_table else {
        return Ok(None);
    };
    let other = schema::lock_relation(name, TableLockMode::AccessShare, context)?;
    let other = other.ok_or_else(|| schema::undefined_table(name))?;
    require_trigger_privilege(&other, context)?;
    Ok(Some(other.stored.oid))
}

/// What it waits for: one letter each, in this order, the form in which the catalog keeps them.
fn event_letters(create: &CreateTrigger) -> String {
    let letters = [
        (create.insert, 'i'),
        (create.update, 'u'),
        (create.delete, 'd'),
        (create.truncate, 't'),
    ];
    let waited_for = letters.iter().filter(|(is, _)| *is);
    waited_for.map(|(_, letter)| letter).collect()
}

/// 42809 for a kind of relation that cannot have the trigger.
fn wrong_kind(entry: &RelationEntry, kind: &str, detail: &str) -> SqlError {
    let message = format!("\"{}\" is a {kind}", entry.stored.name);
    SqlError::new(state::WRONG_OBJECT_TYPE, message).detail(detail)
}

/// Which triggers a relation of this kind can have.
fn check_relation(create: &CreateTrigger, entry: &RelationEntry) -> SqlResult<()> {
    let instead = create.timing == ast::TriggerTiming::InsteadOf;
    match entry.stored.kind {
        StoredKind::Table if instead => Err(wrong_kind(
            entry,
            "table",
            "Tables cannot have INSTEAD OF triggers.",
        )),
        StoredKind::Table => Ok(()),
        StoredKind::View if create.truncate => {
            Err(wrong_kind(entry, "view", "Views cannot have TRUNCATE triggers."))
        }
        StoredKind::View if !instead && create.for_each_row => Err(wrong_kind(
            entry,
            "view",
            "Views cannot have row-level BEFORE or AFTER triggers.",
        )),
        StoredKind::View => Err(SqlError::unsupported("triggers of views")),
        kind @ (StoredKind::MaterializedView | StoredKind::Sequence) => Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("relation \"{}\" cannot have triggers", entry.stored.name),
        )
        .detail(kind.not_supported())),
    }
}

/// TRIGGER on the table, which its owner has.
fn require_trigger_privilege(entry: &RelationEntry, context: &StatementContext<'_>) -> SqlResult<()> {
    let user = context.session.identity().user_oid;
    if privileges::has_privileges(
        &context.session.catalog,
        &entry.described,
        user,
        privilege::TRIGGER,
    ) {
        return Ok(());
    }
    Err(privileges::denied(entry.stored.kind.word(), &entry.stored.name))
}

/// What does not go together whatever the table is.
fn check_form(create: &CreateTrigger) -> SqlResult<()> {
    let unsupported = |message: &str| Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    if create.truncate && create.for_each_row {
        return unsupported("TRUNCATE FOR EACH ROW triggers are not supported");
    }
    if create.timing == ast::TriggerTiming::InsteadOf {
        if !create.for_each_row {
            return unsupported("INSTEAD OF triggers must be FOR EACH ROW");
        }
        if create.condition.is_some() {
            return unsupported("INSTEAD OF triggers cannot have WHEN conditions");
        }
        if !create.update_columns.is_empty() {
            return unsupported("INSTEAD OF triggers cannot have column lists");
        }
    }
    Ok(())
}

/// REFERENCING OLD TABLE and NEW TABLE: when they are possible, in PostgreSQL's order of refusals.
fn check_transition_tables(create: &CreateTrigger, entry: &RelationEntry) -> SqlResult<()> {
    if create.old_table.is_none() && create.new_table.is_none() {
        return Ok(());
    }
    if create.for_each_row && entry.described.is_partitioned() {
        let message = format!("\"{}\" is a partitioned table", entry.stored.name);
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
            .detail("ROW triggers with transition tables are not supported on partitioned tables."));
    }
    let invalid = |message: &str| Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
    let unsupported = |message: &str| Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    if create.timing != ast::TriggerTiming::After {
        return invalid("transition table name can only be specified for an AFTER trigger");
    }
    if create.truncate {
        return unsupported("TRUNCATE triggers with transition tables are not supported");
    }
    let events = [create.insert, create.update, create.delete];
    if events.iter().filter(|event| **event).count() > 1 {
        return unsupported("transition tables cannot be specified for triggers with more than one event");
    }
    if !create.update_columns.is_empty() {
        return unsupported("transition tables cannot be specified for triggers with column lists");
    }
    if create.new_table.is_some() && create.delete {
        return invalid("NEW TABLE can only be specified for an INSERT or UPDATE trigger");
    }
    if create.old_table.is_some() && create.insert {
        return invalid("OLD TABLE can only be specified for a DELETE or UPDATE trigger");
    }
    if create.old_table == create.new_table {
        return invalid("OLD TABLE name and NEW TABLE name cannot be the same");
    }
    if create.for_each_row && entry.stored.partition.is_some() {
        return unsupported("ROW triggers with transition tables are not supported on partitions");
    }
    if create.for_each_row && !entry.stored.parents.is_empty() {
        return unsupported("ROW triggers with transition tables are not supported on inheritance children");
    }
    // PostgreSQL gathers the rows of all children; that is not implemented.
    if !entry.described.children.is_empty() || entry.described.is_partitioned() {
        return Err(SqlError::unsupported(
            "transition tables of a table with children",
        ));
    }
    Ok(())
}

/// The WHEN condition, checked, as text.
fn condition(
    create: &CreateTrigger,
    entry: &RelationEntry,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<String>> {
    let Some(written) = &create.condition else {
        return Ok(None);
    };
    let trigger = TriggerCondition {
        for_each_row: create.for_each_row,
        timing: match create.timing {
            ast::TriggerTiming::Before => TriggerTiming::Before,
            ast::TriggerTiming::After => TriggerTiming::After,
            ast::TriggerTiming::InsteadOf => TriggerTiming::InsteadOf,
        },
        events: TriggerEvents {
            insert: create.insert,
            update: create.update,
            delete: create.delete,
            truncate: create.truncate,
        },
    };
    internal::on_large_stack(context, |session| {
        let text = &session.statement_text;
        bind_trigger_condition(written, trigger, text, &entry.described, &session.catalog)
    })?;
    // Kept as text, and bound again when rows are written, by whom and under whatever search path.
    Ok(Some(qualify::kept_text(written, &context.session.catalog)))
}

/// The trigger function of this name: one without arguments.
fn function(name: &QualifiedName, context: &StatementContext<'_>) -> SqlResult<Oid> {
    let shown = || {
        let parts: Vec<&str> = name.parts.iter().map(|part| &**part).collect();
        parts.join(".")
    };
    let schema = name.parts.len().checked_sub(2).map(|at| &*name.parts[at]);
    let named = context.session.catalog.routines_named(schema, name.last());
    // A trigger function takes its arguments through TG_ARGV.
    let found = named.iter().find(|routine| routine.inputs().next().is_none());
    let wrong_result = || {
        SqlError::new(
            state::INVALID_OBJECT_DEFINITION,
            format!("function {} must return type trigger", shown()),
        )
    };
    let Some(routine) = found else {
        // A function of the system that is no trigger is told as such, not as unknown.
        let builtin = schema.is_none_or(|schema| schema == "pg_catalog")
            && FUNCTIONS
                .iter()
                .any(|known| known.name == name.last() && known.arguments.is_empty());
        if builtin {
            return Err(wrong_result());
        }
        return Err(SqlError::new(
            state::UNDEFINED_FUNCTION,
            format!("function {}() does not exist", shown()),
        ));
    };
    // EXECUTE is asked of whoever makes the trigger, not of those who fire it.
    privileges::check_routine(&context.session.catalog, routine)?;
    if routine.result.ty.oid != oid::TRIGGER {
        return Err(wrong_result());
    }
    Ok(routine.oid)
}

/// UPDATE OF.
fn columns(create: &CreateTrigger, table: &StoredRelation) -> SqlResult<Vec<u16>> {
    let mut columns = Vec::with_capacity(create.update_columns.len());
    for name in &create.update_columns {
        let known = table
            .columns
            .iter()
            .position(|column| !column.dropped && *column.name == **name);
        let position = known.ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
            SqlError::new(state::UNDEFINED_COLUMN, message)
        })? as u16;
        if columns.contains(&position) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        columns.push(position);
    }
    Ok(columns)
}

/// What OR REPLACE may not replace, and a second trigger of the name without it.
fn refuse_duplicate(
    create: &CreateTrigger,
    known: &StoredTrigger,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let (name, relation) = (&create.name, &table.name);
    if !create.or_replace {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("trigger \"{name}\" for relation \"{relation}\" already exists"),
        ));
    }
    if known.parent.is_some() {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("trigger \"{name}\" for relation \"{relation}\" is an internal or a child trigger"),
        ));
    }
    if known.constraint.is_some() {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("trigger \"{name}\" for relation \"{relation}\" is a constraint trigger"),
        ));
    }
    // Queued events remember their trigger.
    in_use::refuse_pending_events("CREATE OR REPLACE TRIGGER", table, context)
}

/// 42704 for a trigger that the table does not have.
fn undefined(name: &str, table: &str) -> SqlError {
    SqlError::new(
        state::UNDEFINED_OBJECT,
        format!("trigger \"{name}\" for table \"{table}\" does not exist"),
    )
}

/// DROP TRIGGER name ON table.
pub(super) fn drop(name: &QualifiedName, drop: &Drop, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let relation = schema::relation_of_part(name);
    let Some(entry) = schema::lock_relation(&relation, TableLockMode::AccessExclusive, context)? else {
        if !drop.if_exists {
            return Err(schema::undefined_table(&relation));
        }
        let message = format!(
            "relation \"{}\" does not exist, skipping",
            schema::shown_name(&relation)
        );
        schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
        return Ok(());
    };
    schema::require_owner(&entry.stored, context)?;
    let mut table = entry.stored.clone();
    let Some(at) = table.triggers.iter().position(|known| known.name == name.last()) else {
        if !drop.if_exists {
            return Err(undefined(name.last(), &table.name));
        }
        let message = format!(
            "trigger \"{}\" for relation \"{}\" does not exist, skipping",
            name.last(),
            schema::shown_name(&relation)
        );
        schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
        return Ok(());
    };
    if let Some(parent) = table.triggers[at].parent {
        return Err(trigger_clones::required(
            &table.triggers[at],
            parent,
            &table,
            context,
        ));
    }
    let dropped = table.triggers.remove(at).oid;
    let oid = table.oid;
    write::put(StoredObject::Relation(table), context)?;
    trigger_clones::drop(&[dropped], oid, context)
}

/// ALTER TRIGGER name ON table RENAME TO.
pub(super) fn rename(
    relation: &RelationName,
    name: &str,
    new_name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let entry = schema::lock_relation(relation, TableLockMode::AccessExclusive, context)?
        .ok_or_else(|| schema::undefined_table(relation))?;
    schema::require_owner(&entry.stored, context)?;
    let mut table = entry.stored.clone();
    let Some(at) = table.triggers.iter().position(|known| known.name == name) else {
        return Err(undefined(name, &table.name));
    };
    if table.triggers[at].parent.is_some() {
        return Err(trigger_clones::renamed_with_parent(name, &table, context));
    }
    trigger_clones::refuse_taken(new_name, &table)?;
    table.triggers[at].name = new_name.to_string();
    let (trigger, oid) = (table.triggers[at].oid, table.oid);
    write::put(StoredObject::Relation(table), context)?;
    trigger_clones::rename(trigger, oid, new_name, context)
}

/// Triggers that cannot do without a column: its name stands in UPDATE OF or in WHEN.
pub(super) fn reading(
    table: &StoredRelation,
    position: u16,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<String>> {
    if table.triggers.is_empty() {
        return Ok(Vec::new());
    }
    let relation = context
        .relation(Oid(table.oid))
        .ok_or_else(|| SqlError::internal("a table is in the catalog"))?;
    internal::on_large_stack(context, |session| {
        let mut found = Vec::new();
        for trigger in &table.triggers {
            let in_condition = match &trigger.condition {
                None => false,
                Some(text) => {
                    trigger_condition_columns(text, &relation, &session.catalog)?.contains(&position)
                }
            };
            if in_condition || trigger.columns.contains(&position) {
                found.push(trigger.name.clone());
            }
        }
        Ok(found)
    })
}

/// ENABLE and DISABLE TRIGGER: `mode` None disables. Clones in partitions follow, unless `only`.
pub(super) fn enable(
    target: &TriggerTarget,
    mode: Option<TriggerMode>,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // The letters of pg_trigger.tgenabled.
    let letter = match mode {
        None => 'D',
        Some(TriggerMode::Origin) => 'O',
        Some(TriggerMode::Replica) => 'R',
        Some(TriggerMode::Always) => 'A',
    };
    // None: all triggers of the table that users have made.
    let wanted: Option<&Name> = match target {
        TriggerTarget::Name(name) => Some(name),
        TriggerTarget::User => None,
        TriggerTarget::All => {
            // Those of foreign keys among them.
            if has_foreign_keys(table, context) {
                require_superuser(table, context)?;
                table.foreign_key_firing = Some(letter);
            }
            None
        }
    };
    let (mut found, mut changed) = (false, Vec::new());
    for trigger in &mut table.triggers {
        if wanted.is_none_or(|name| *trigger.name == **name) {
            trigger.enabled = letter;
            found = true;
            // Statement triggers have no clones.
            if trigger.for_each_row {
                changed.push(trigger.oid);
            }
        }
    }
    match wanted {
        Some(name) if !found => Err(undefined(name, &table.name)),
        _ if only || changed.is_empty() || table.partitioning.is_none() => Ok(()),
        _ => trigger_clones::enable(&changed, table.oid, letter, context),
    }
}

/// At either end.
fn has_foreign_keys(table: &StoredRelation, context: &StatementContext<'_>) -> bool {
    let described = context.relation(Oid(table.oid));
    let mut constraints = table.constraints.iter();
    described.is_some_and(|relation| !relation.referenced_by.is_empty())
        || constraints.any(|constraint| matches!(constraint.kind, StoredConstraintKind::ForeignKey(_)))
}

/// What looks after foreign keys are the system's triggers.
fn require_superuser(table: &StoredRelation, context: &StatementContext<'_>) -> SqlResult<()> {
    if context.session.identity().superuser {
        return Ok(());
    }
    let message = format!(
        "permission denied: \"RI_ConstraintTrigger_{}\" is a system trigger",
        table.oid
    );
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
}
