//! CREATE, ALTER and DROP SEQUENCE, and the sequences behind serial and identity columns.
//!
//! The engine's counter stands outside of transactions; which counter a sequence uses is a fact of the catalog. Changed
//! parameters make a new counter that takes over the value, so that ALTER SEQUENCE rolls back like any definition.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{SequenceDefinition, SequenceId, TableLockMode};
use mote_grammar::ast::{
    AlterSequence, CreateSequence, DefinitionOption, OptionValue, Persistence, QualifiedName, RelationName,
};
use mote_types::{ColumnType, oid};

use super::schema;
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredInheritance, StoredKind, StoredObject, StoredRelation, StoredSequence,
};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;
use mote_executor::expr::ask_sequence;

impl Command for CreateSequence {
    fn name(&self) -> &'static str {
        "CREATE SEQUENCE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

impl Command for AlterSequence {
    fn name(&self) -> &'static str {
        "ALTER SEQUENCE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter(self, context)
    }
}

/// Options as written; the outer `None` is "not written".
#[derive(Default)]
struct Options<'a> {
    ty: Option<u32>,
    increment: Option<i64>,
    minimum: Option<Option<i64>>,
    maximum: Option<Option<i64>>,
    start: Option<i64>,
    restart: Option<Option<i64>>,
    cache: Option<i64>,
    cycle: Option<bool>,
    owned_by: Option<&'a QualifiedName>,
    /// `SEQUENCE NAME` of an identity column.
    name: Option<&'a QualifiedName>,
}

/// CREATE SEQUENCE.
pub(super) fn create(create: &CreateSequence, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    const TAG: CommandTag = CommandTag::Word("CREATE SEQUENCE");
    let (schema_oid, _) = schema::schema_for_new(&create.name, create.persistence, context)?;
    schema::reserve_name(schema_oid, &create.name.name, context)?;
    if schema::relation_exists(schema_oid, &create.name.name, context) {
        if create.if_not_exists {
            let message = format!("relation \"{}\" already exists, skipping", create.name.name);
            schema::notice(state::DUPLICATE_TABLE, message, context);
            return Ok(TAG);
        }
        return Err(schema::already_exists(&create.name.name));
    }
    // Read after the name is free: IF NOT EXISTS does not look at them.
    let options = read_options(&create.options, context)?;
    let owner = context.session.identity().user_oid.0;
    let mut relation = make(schema_oid, &create.name.name, owner, &options, oid::INT8, context)?;
    relation.unlogged = create.persistence == Persistence::Unlogged;
    // OWNED BY is looked at when the sequence has its owner and schema, which must be the table's.
    if let Some(name) = options.owned_by {
        set_owner_column(&mut relation, name, context)?;
    }
    write::put(StoredObject::Relation(relation), context)?;
    Ok(TAG)
}

/// The sequence of a serial or identity column of a table that is being made or changed. The caller names it in the
/// column (`owned_sequence`).
pub(super) fn create_owned(
    table: &StoredRelation,
    column: &str,
    position: u16,
    ty: ColumnType,
    options: &[DefinitionOption],
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredRelation> {
    let options = read_options(options, context)?;
    // The sequence lies beside its table, and goes where that goes.
    let schema_oid = Oid(table.schema);
    let name = match options.name {
        Some(name) => {
            // Identity may name its sequence; it lies in the table's schema in any case.
            if schema::relation_exists(schema_oid, name.last(), context) {
                return Err(schema::already_exists(name.last()));
            }
            name.last().to_string()
        }
        None => {
            let taken = |name: &str| name == table.name;
            schema::choose_name(schema_oid, &[&table.name, column], "seq", taken, context)
        }
    };
    // Also of a name that was chosen: another session may have chosen it, too.
    schema::reserve_name(schema_oid, &name, context)?;
    tell_of_owned(&name, table, column, context);
    let mut relation = make(schema_oid, &name, table.owner, &options, ty.oid, context)?;
    relation.unlogged = table.unlogged;
    if let Some(sequence) = &mut relation.sequence {
        sequence.owned_by = Some((table.oid, position));
    }
    write::put(StoredObject::Relation(relation.clone()), context)?;
    Ok(relation)
}

/// Clients that ask for DEBUG messages read here what the sequence of a serial column is called.
fn tell_of_owned(name: &str, table: &StoredRelation, column: &str, context: &mut StatementContext<'_>) {
    // A new table gets its columns before the catalog gets the table.
    let statement = match context.session.catalog.current().relation(Oid(table.oid)) {
        Some(_) => "ALTER TABLE",
        None => "CREATE TABLE",
    };
    let message = format!(
        "{statement} will create implicit sequence \"{name}\" for serial column \"{}.{column}\"",
        table.name
    );
    schema::debug(message, context);
}

/// ALTER SEQUENCE, with new parameters, RESTART and OWNED BY.
pub(super) fn alter(alter: &AlterSequence, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    const TAG: CommandTag = CommandTag::Word("ALTER SEQUENCE");
    let Some(entry) = find(&alter.name, context)? else {
        if alter.if_exists {
            let message = format!("relation \"{}\" does not exist, skipping", alter.name.name);
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(TAG);
        }
        return Err(schema::undefined_table(&alter.name));
    };
    schema::require_owner(&entry.stored, context)?;
    let mut relation = entry.stored.clone();
    let options = read_options(&alter.options, context)?;
    change(&mut relation, &options, context)?;
    if let Some(name) = options.owned_by {
        if is_identity(&relation, context) {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cannot change ownership of identity sequence",
            ));
        }
        set_owner_column(&mut relation, name, context)?;
    }
    write::put(StoredObject::Relation(relation), context)?;
    Ok(TAG)
}

/// ALTER COLUMN .. SET (sequence options) of an identity column.
pub(super) fn alter_owned(
    sequence: Oid,
    options: &[DefinitionOption],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let options = read_options(options, context)?;
    change_owned(sequence, &options, context)
}

/// The sequence of an identity column whose type changes goes with it.
pub(super) fn retype_owned(
    sequence: Oid,
    ty: ColumnType,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let options = Options {
        ty: Some(ty.oid.0),
        ..Options::default()
    };
    change_owned(sequence, &options, context)
}

fn change_owned(sequence: Oid, options: &Options<'_>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = context.session.catalog.entry(sequence) else {
        return Ok(());
    };
    let Some(entry) = schema::lock_entry(&entry, TableLockMode::ShareRowExclusive, context)? else {
        return Ok(());
    };
    let mut relation = entry.stored.clone();
    change(&mut relation, options, context)?;
    write::put(StoredObject::Relation(relation), context)
}

/// TRUNCATE RESTART IDENTITY: all sequences that columns of the table own begin anew, with the transaction.
pub(super) fn restart_owned(table: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    for entry in owned_by_table(table, context) {
        let Some(entry) = schema::lock_entry(&entry, TableLockMode::ShareRowExclusive, context)? else {
            continue;
        };
        let mut relation = entry.stored.clone();
        let options = Options {
            restart: Some(None),
            ..Options::default()
        };
        change(&mut relation, &options, context)?;
        write::put(StoredObject::Relation(relation), context)?;
    }
    Ok(())
}

/// Sequences that a table's columns own.
pub(super) fn owned_by_table(
    table: Oid,
    context: &StatementContext<'_>,
) -> Vec<std::sync::Arc<RelationEntry>> {
    let catalog = context.session.catalog.current();
    let owned = |entry: &&std::sync::Arc<RelationEntry>| {
        let sequence = entry.stored.sequence.as_ref();
        sequence
            .and_then(|s| s.owned_by)
            .is_some_and(|(owner, _)| owner == table.0)
    };
    catalog.relations_using(table).filter(owned).cloned().collect()
}

/// Removes a sequence from engine and catalog.
pub(super) fn remove(relation: &StoredRelation, context: &mut StatementContext<'_>) -> SqlResult<()> {
    if let Some(sequence) = &relation.sequence {
        let id = SequenceId(sequence.id);
        context.engine_call(|transaction| transaction.drop_sequence(id))?;
    }
    write::remove(Oid(relation.oid), context)
}

/// `nextval('schema.name'::regclass)`: the default of a serial column.
pub(super) fn default_text(relation: &StoredRelation, context: &StatementContext<'_>) -> String {
    format!("nextval({})", constant(relation, context))
}

/// `'schema.name'::regclass`: how stored expressions name a relation.
pub(super) fn constant(relation: &StoredRelation, context: &StatementContext<'_>) -> String {
    let name = schema::qualified_name(relation, context);
    format!("'{}'::regclass", name.replace('\'', "''"))
}

/// A sequence by its name, locked for a change.
fn find(
    name: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<std::sync::Arc<RelationEntry>>> {
    let Some(entry) = schema::lock_relation(name, TableLockMode::ShareRowExclusive, context)? else {
        return Ok(None);
    };
    if entry.stored.kind != StoredKind::Sequence {
        return Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a sequence", entry.stored.name),
        ));
    }
    Ok(Some(entry))
}

/// Whether an identity column owns it: then it has no life of its own.
pub(super) fn is_identity(relation: &StoredRelation, context: &StatementContext<'_>) -> bool {
    let owner = relation.sequence.as_ref().and_then(|sequence| sequence.owned_by);
    owner.is_some_and(|(table, position)| {
        let entry = context.session.catalog.entry(Oid(table));
        entry.is_some_and(|entry| {
            let column = entry.stored.columns.get(position as usize);
            column.is_some_and(|column| column.identity_always.is_some())
        })
    })
}

/// A new sequence, with its counter in the engine. The caller writes it to the catalog.
fn make(
    schema_oid: Oid,
    name: &str,
    owner: u32,
    options: &Options<'_>,
    default_type: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredRelation> {
    // RESTART has no meaning in CREATE.
    if options.restart.is_some() {
        return Err(SqlError::new(
            state::SYNTAX_ERROR,
            "conflicting or redundant options",
        ));
    }
    let mut sequence = StoredSequence {
        id: 0,
        type_oid: options.ty.unwrap_or(default_type.0),
        start: 0,
        increment: 1,
        minimum: 0,
        maximum: 0,
        cycle: false,
        cache: 1,
        owned_by: None,
    };
    apply(&mut sequence, options, true)?;
    let definition = definition_of(&sequence);
    let temporary = context.session.catalog.is_temporary_schema(schema_oid);
    sequence.id = make_counter(temporary, &definition, context)?.0;
    let column = |name: &str, ty: Oid| StoredColumn {
        name: name.into(),
        type_oid: ty.0,
        typmod: -1,
        domain: None,
        not_null: true,
        dropped: false,
        default: None,
        identity_always: None,
        generated: None,
        owned_sequence: None,
        comment: None,
        inheritance: StoredInheritance::default(),
        statistics_target: None,
        storage: None,
    };
    // The columns that SELECT from a sequence shows; they have no storage.
    let columns = vec![
        column("last_value", oid::INT8),
        column("log_cnt", oid::INT8),
        column("is_called", oid::BOOL),
    ];
    let relation = schema::new_relation(schema_oid, name, StoredKind::Sequence, owner, columns, context);
    Ok(StoredRelation {
        sequence: Some(sequence),
        ..relation
    })
}

/// The engine's counter behind a sequence.
fn make_counter(
    temporary: bool,
    definition: &SequenceDefinition,
    context: &mut StatementContext<'_>,
) -> SqlResult<SequenceId> {
    context.engine_call(|transaction| match temporary {
        true => transaction.create_temporary_sequence(definition),
        false => transaction.create_sequence(definition),
    })
}

/// What the engine counts by.
fn definition_of(sequence: &StoredSequence) -> SequenceDefinition {
    SequenceDefinition {
        id: SequenceId(0),
        start: sequence.start,
        increment: sequence.increment,
        minimum: sequence.minimum,
        maximum: sequence.maximum,
        cycle: sequence.cycle,
    }
}

/// Applies changed parameters: a new counter that goes on where the old one stands, or begins anew.
fn change(
    relation: &mut StoredRelation,
    options: &Options<'_>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let name = relation.name.clone();
    let Some(sequence) = &mut relation.sequence else {
        return Err(SqlError::internal(format!(
            "sequence \"{name}\" has no parameters"
        )));
    };
    // Without a counter of this number catalog and engine do not belong together.
    let counter = context
        .database
        .engine()
        .sequence(SequenceId(sequence.id))
        .ok_or_else(|| SqlError::internal(format!("storage sequence {} does not exist", sequence.id)))?;
    let before = definition_of(sequence);
    apply(sequence, options, false)?;
    let after = definition_of(sequence);
    // OWNED BY alone leaves the counter as it is.
    if after == before && options.restart.is_none() {
        return Ok(());
    }
    let (mut value, mut is_called) = counter.peek();
    if let Some(restart) = options.restart {
        (value, is_called) = (restart.unwrap_or(sequence.start), false);
    }
    // The value must lie within the new bounds; the error names the sequence's own parameter.
    check_value("RESTART", value, sequence)?;
    let fresh = make_counter(relation.temporary, &after, context)?;
    let new_counter = context
        .database
        .engine()
        .sequence(fresh)
        .ok_or_else(|| SqlError::internal(format!("storage sequence {} does not exist", fresh.0)))?;
    // A fresh counter stands at its start.
    if (value, is_called) != (after.start, false) {
        ask_sequence(context, &relation.name, |transaction| {
            transaction.sequence_set(&new_counter, value, is_called)
        })?;
    }
    // Dropped with the commit; a rollback leaves it in its place.
    let old = SequenceId(sequence.id);
    context.engine_call(|transaction| transaction.drop_sequence(old))?;
    sequence.id = fresh.0;
    Ok(())
}

/// What values of the sequence's type can be.
fn type_bounds(ty: u32) -> (i64, i64) {
    match Oid(ty) {
        oid::INT2 => (i16::MIN as i64, i16::MAX as i64),
        oid::INT4 => (i32::MIN as i64, i32::MAX as i64),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Puts the written options over the parameters; what was not written keeps its value, or gets its default in a new
/// sequence.
fn apply(sequence: &mut StoredSequence, options: &Options<'_>, new: bool) -> SqlResult<()> {
    let old_bounds = type_bounds(sequence.type_oid);
    let (reset_maximum, reset_minimum) = match options.ty {
        // Bounds that were those of the old type follow the new one.
        Some(_) if !new => (sequence.maximum == old_bounds.1, sequence.minimum == old_bounds.0),
        _ => (false, false),
    };
    if let Some(ty) = options.ty {
        sequence.type_oid = ty;
    }
    // Defaults and bounds are those of the new type from here on.
    let (lowest, highest) = type_bounds(sequence.type_oid);
    let type_name = ColumnType::new(Oid(sequence.type_oid)).name();
    let invalid = |message: String| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    if let Some(increment) = options.increment {
        if increment == 0 {
            return invalid("INCREMENT must not be zero".into());
        }
        sequence.increment = increment;
    }
    if let Some(cycle) = options.cycle {
        sequence.cycle = cycle;
    }
    // A sequence that counts down begins at -1, as in PostgreSQL's init_params.
    let ascending = sequence.increment > 0;
    match options.maximum {
        Some(Some(maximum)) => sequence.maximum = maximum,
        Some(None) => sequence.maximum = if ascending { highest } else { -1 },
        None if reset_maximum => sequence.maximum = highest,
        None if new => sequence.maximum = if ascending { highest } else { -1 },
        None => {}
    }
    if sequence.maximum < lowest || sequence.maximum > highest {
        let value = sequence.maximum;
        return invalid(format!(
            "MAXVALUE ({value}) is out of range for sequence data type {type_name}"
        ));
    }
    match options.minimum {
        Some(Some(minimum)) => sequence.minimum = minimum,
        Some(None) => sequence.minimum = if ascending { 1 } else { lowest },
        None if reset_minimum => sequence.minimum = lowest,
        None if new => sequence.minimum = if ascending { 1 } else { lowest },
        None => {}
    }
    if sequence.minimum < lowest || sequence.minimum > highest {
        let value = sequence.minimum;
        return invalid(format!(
            "MINVALUE ({value}) is out of range for sequence data type {type_name}"
        ));
    }
    if sequence.minimum >= sequence.maximum {
        return invalid(format!(
            "MINVALUE ({}) must be less than MAXVALUE ({})",
            sequence.minimum, sequence.maximum
        ));
    }
    match options.start {
        Some(start) => sequence.start = start,
        None if new => {
            sequence.start = if ascending {
                sequence.minimum
            } else {
                sequence.maximum
            }
        }
        None => {}
    }
    // After the bounds, which may have moved past the start.
    check_value("START", sequence.start, sequence)?;
    if let Some(cache) = options.cache {
        if cache <= 0 {
            return invalid(format!("CACHE ({cache}) must be greater than zero"));
        }
        sequence.cache = cache;
    }
    Ok(())
}

/// START and RESTART lie within the bounds.
fn check_value(word: &str, value: i64, sequence: &StoredSequence) -> SqlResult<()> {
    let invalid = |message: String| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    if value < sequence.minimum {
        return invalid(format!(
            "{word} value ({value}) cannot be less than MINVALUE ({})",
            sequence.minimum
        ));
    }
    if value > sequence.maximum {
        return invalid(format!(
            "{word} value ({value}) cannot be greater than MAXVALUE ({})",
            sequence.maximum
        ));
    }
    Ok(())
}

/// The options as written, each once.
fn read_options<'a>(
    written: &'a [DefinitionOption],
    context: &StatementContext<'_>,
) -> SqlResult<Options<'a>> {
    let mut options = Options::default();
    for option in written {
        let redundant = match &*option.name {
            "as" => {
                let Some(OptionValue::Type(name)) = &option.value else {
                    return Err(SqlError::new(state::SYNTAX_ERROR, "as requires a type name"));
                };
                let ty = mote_sql::resolve_type_name(name, &context.session.catalog)?;
                if ![oid::INT2, oid::INT4, oid::INT8].contains(&ty.oid) {
                    return Err(SqlError::new(
                        state::INVALID_PARAMETER_VALUE,
                        "sequence type must be smallint, integer, or bigint",
                    ));
                }
                options.ty.replace(ty.oid.0).is_some()
            }
            "increment" => options.increment.replace(required(option)?).is_some(),
            "minvalue" => options.minimum.replace(number(option)?).is_some(),
            "maxvalue" => options.maximum.replace(number(option)?).is_some(),
            "start" => options.start.replace(required(option)?).is_some(),
            "restart" => options.restart.replace(number(option)?).is_some(),
            "cache" => options.cache.replace(required(option)?).is_some(),
            "cycle" => options
                .cycle
                .replace(!matches!(option.value, Some(OptionValue::Boolean(false))))
                .is_some(),
            "owned_by" | "sequence_name" => {
                let Some(OptionValue::Name(name)) = &option.value else {
                    return Err(invalid_owned_by());
                };
                let slot = if &*option.name == "owned_by" {
                    &mut options.owned_by
                } else {
                    &mut options.name
                };
                slot.replace(name).is_some()
            }
            // Every sequence is logged (COMPAT.md).
            "logged" | "unlogged" => false,
            other => {
                return Err(SqlError::new(
                    state::SYNTAX_ERROR,
                    format!("option \"{other}\" not recognized"),
                ));
            }
        };
        if redundant {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                "conflicting or redundant options",
            ));
        }
    }
    Ok(options)
}

/// A numeric option; None without a value (NO MINVALUE, RESTART).
fn number(option: &DefinitionOption) -> SqlResult<Option<i64>> {
    match &option.value {
        None => Ok(None),
        Some(OptionValue::Integer(value)) => Ok(Some(*value as i64)),
        Some(OptionValue::Number(digits)) => mote_types::format::text::parse_int8(digits).map(Some),
        Some(_) => Err(SqlError::new(
            state::SYNTAX_ERROR,
            format!("{} requires a numeric value", option.name),
        )),
    }
}

/// A numeric option that must have a value.
fn required(option: &DefinitionOption) -> SqlResult<i64> {
    number(option)?.ok_or_else(|| {
        SqlError::new(
            state::SYNTAX_ERROR,
            format!("{} requires a numeric value", option.name),
        )
    })
}

fn invalid_owned_by() -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, "invalid OWNED BY option")
        .hint("Specify OWNED BY table.column or OWNED BY NONE.")
}

/// OWNED BY table.column | NONE.
fn set_owner_column(
    relation: &mut StoredRelation,
    name: &QualifiedName,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let Some(sequence) = &mut relation.sequence else {
        return Ok(());
    };
    // OWNED BY NONE.
    if name.parts.len() == 1 {
        if name.last() != "none" {
            return Err(invalid_owned_by());
        }
        sequence.owned_by = None;
        return Ok(());
    }
    let table = schema::relation_of_part(name);
    let entry = schema::find_relation(&table, context)?.ok_or_else(|| schema::undefined_table(&table))?;
    let prerequisite = |message: &str| Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    // Only columns of tables can own one.
    if entry.stored.kind != StoredKind::Table {
        return Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("sequence cannot be owned by relation \"{}\"", entry.stored.name),
        ));
    }
    // They are dropped together, so that one owner must decide about both.
    if entry.stored.owner != relation.owner {
        return prerequisite("sequence must have same owner as table it is linked to");
    }
    if entry.stored.schema != relation.schema {
        return prerequisite("sequence must be in same schema as table it is linked to");
    }
    let position = entry
        .stored
        .columns
        .iter()
        .position(|c| !c.dropped && c.name == name.last());
    let position = position.ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_COLUMN,
            format!(
                "column \"{}\" of relation \"{}\" does not exist",
                name.last(),
                entry.stored.name
            ),
        )
    })?;
    sequence.owned_by = Some((entry.stored.oid, position as u16));
    Ok(())
}
